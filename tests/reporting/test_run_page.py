"""The page: self-contained, inert, the same bytes for the same input, and the library's numbers on it."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import calibrant as cal
from calibrant.reporting.diagram import reliability_spec
from calibrant.reporting.page import render_page, verdict
from calibrant.util.results import number

RNG = np.random.default_rng(2)
PROBS = RNG.random(400)
LABELS = (RNG.random(400) < PROBS**2).astype(int)
RESULT = cal.evaluate(LABELS, PROBS)
CURVE = cal.calibration_curve(LABELS, PROBS, bins=10)

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title><script>alert(1)</script>",
    "{{ 7 * 7 }}",
    "{% for x in range(9) %}x{% endfor %}",
    "-->",
    "<svg onload=alert(1)>",
    "javascript:alert(1)",
    "\u202eright to left",
    "\x00nul",
    "&lt;already&gt;",
]


class Structure(HTMLParser):
    """The elements and attributes of a page, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, tuple[str, ...]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, tuple(name for name, _ in attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def structure(page: str) -> Structure:
    parser = Structure()
    parser.feed(page)
    return parser


def test_numbers_on_the_page_are_the_library_s() -> None:
    text = structure(render_page(RESULT, CURVE, title="t")).text
    for found in RESULT.results:
        assert number(found.value) in text
    for rate in CURVE.rate:
        assert number(rate) in text


def test_nothing_leaves_the_page_and_nothing_runs() -> None:
    page = render_page(RESULT, CURVE, title="t")
    assert "default-src 'none'" in page
    assert "<script" not in page
    without_picture = re.sub(r"data:image/svg\+xml;base64,[A-Za-z0-9+/=]+", "", page)
    assert not re.search(r"https?:|@import|url\(|//", without_picture)
    assert len(page) < 2_000_000


def test_same_input_gives_the_same_text() -> None:
    assert render_page(RESULT, CURVE, title="t") == render_page(RESULT, CURVE, title="t")


@pytest.mark.parametrize("payload", HOSTILE)
def test_hostile_names_change_nothing_in_the_structure(payload: str) -> None:
    calm = structure(render_page(RESULT, CURVE, title="name"))
    hostile = structure(render_page(RESULT, CURVE, title=payload))
    assert hostile.seen == calm.seen


def test_picture_is_drawn_from_the_curve() -> None:
    spec = reliability_spec(CURVE)
    points = spec["vconcat"][0]["data"]["values"]
    assert [point["rate"] for point in points] == [rate for rate in CURVE.rate.tolist() if not np.isnan(rate)]
    sides = {True: "score too high", False: "score too low"}
    assert [point["side"] for point in points] == [sides[point["mean_score"] > point["rate"]] for point in points]
    picture = re.search(r"base64,([A-Za-z0-9+/=]+)", render_page(RESULT, CURVE, title="t"))
    assert picture is not None
    assert base64.b64decode(picture[1]).startswith(b"<svg")


def test_an_empty_bin_is_not_drawn_as_a_point() -> None:
    curve = cal.calibration_curve([0, 1], [0.05, 0.95], bins=10)
    spec = reliability_spec(curve)
    assert len(spec["vconcat"][0]["data"]["values"]) == 2
    assert len(spec["vconcat"][1]["data"]["values"]) == 10


def test_verdict_never_claims_calibration() -> None:
    for y, p in (([0, 1], [0.5, 0.5]), ([0, 0], [0.9, 0.9]), ([1, 1], [0.6, 0.6])):
        sentence = verdict(cal.evaluate(y, p, metrics="ece"))
        assert not re.search(r"\b(well )?calibrated\b", sentence)


def test_verdict_speaks_of_the_positive_class() -> None:
    """A shift hardly changes how often the prediction is right; 58 % said of what happens in 48 % is seen all the same."""
    rng = np.random.default_rng(6)
    true = rng.beta(2, 2, 600)
    y, p = (rng.random(600) < true).astype(int), np.minimum(true + 0.08, 1)
    header = cal.evaluate(y, p, metrics="ece").header
    event, sure = verdict(cal.evaluate(y, p, metrics="ece")).split(". ")
    assert event == f"Probabilities too high: the positive class is given {p.mean():.1%}, happens {y.mean():.1%}"
    assert sure == f"Says {header.mean_confidence:.1%}, is right {header.accuracy:.1%}: within chance."


def test_verdict_puts_what_is_off_first() -> None:
    """Scores that are too extreme on both sides: the mean of the event is right, being right is not."""
    p = np.repeat([0.05, 0.95], 200)
    y = np.tile(np.repeat([1, 0], [40, 160]), 2)
    y[200:] = 1 - y[:200]
    sentence = verdict(cal.evaluate(y, p, metrics="ece"))
    assert sentence.startswith("Overconfident: says 95.0%, is right 80.0%. The positive class is given 50.0%")


@pytest.mark.parametrize(("score", "said"), [(0.99, "99.0%"), (0.01, "1.0%")])
def test_verdict_says_one_thing_once_where_one_class_is_always_predicted(score: float, said: str) -> None:
    sentence = verdict(cal.evaluate([0, 1] * 50, [score] * 100, metrics="ece"))
    side = "high" if score > 0.5 else "low"
    assert sentence == f"Probabilities too {side}: the positive class is given {said}, happens 50.0%."


def test_verdict_of_several_classes_and_of_chance() -> None:
    probs = [[0.9, 0.05, 0.05]] * 100
    assert verdict(cal.evaluate([0, 1] * 50, probs, metrics="ece")) == "Overconfident: says 90.0%, is right 50.0%."
    assert verdict(cal.evaluate([0, 1], [0.4, 0.6], metrics="ece")).endswith(
        "Single regions can still be off; see the diagram."
    )
    labels, scores = [[0, 1], [1, 0]], [[0.2, 0.7], [0.6, 0.1]]
    assert verdict(cal.evaluate(labels, scores, metrics="ece", multilabel=True)).startswith("The table below")

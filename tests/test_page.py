"""The page: self-contained, inert, the same bytes for the same input, and the library's numbers on it."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import calibrant as cal
from calibrant._results import number
from calibrant.reporting.diagram import reliability_spec
from calibrant.reporting.page import render_page, verdict

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
    assert {point["side"] for point in points} <= {"too sure", "not sure enough"}
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
    assert verdict(cal.evaluate([0, 1], [0.99, 0.99], metrics="ece")).startswith("Overconfident")

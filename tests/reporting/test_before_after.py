"""The report after recalibration: what changed, the diagrams of both, and the calibrators and the threshold of the validation data."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

import calibrant as cal
from calibrant.cli.workflow import means_of
from calibrant.reporting import Report
from calibrant.reporting.content import BeforeAfter, Change
from calibrant.reporting.tables import changes_table
from calibrant.util.results import number
from tests.calling import call

RNG = np.random.default_rng(2)
PROBS = RNG.random(400)
LABELS = (RNG.random(400) < PROBS**2).astype(int)
CHANGED = BeforeAfter(
    ("platt was chosen.", "nll fell."),
    (Change("accuracy", 0.7, None, None, 0.75, None, None), Change("nll", 0.6, 0.5, 0.7, 0.4, 0.3, 0.45)),
)


@pytest.fixture(scope="module")
def found() -> Report:
    """Without the cells, which need seconds to draw and have tests of their own."""
    made = cal.report(LABELS, PROBS**2, metrics=["ece", "nll"], recalibration=False)
    return replace(made, before_after=CHANGED, charts=None)


def test_numbers_on_the_page_are_the_library_s(found: Report) -> None:
    text = found.to_html()
    for row in found.metrics.rows:
        assert number(row.value) in text
    for cells in changes_table(CHANGED).cells:
        assert all(cell in text for cell in cells)
    for line in CHANGED.summary:
        assert line in text


def test_nothing_leaves_the_page_and_nothing_runs(found: Report) -> None:
    page = found.to_html()
    assert "default-src 'none'" in unescape(page)
    assert "<script" not in page
    shown = re.sub(r"<a href=\"https://[^>]*>", "", page)
    assert not re.search(r"https?:|@import|url\(|//", shown)
    assert len(page) < 2_000_000
    assert page == found.to_html()


def test_every_form_has_the_section(found: Report) -> None:
    kept = found.to_dict()["before_after"]
    assert kept["values"][1]["before_low"] == 0.5
    assert kept["summary"] == list(CHANGED.summary)
    text = found.to_markdown()
    assert "## Before and after" in text
    assert "| nll | 0.6000 | 0.5000 to 0.7000 | 0.4000 | 0.3000 to 0.4500 |" in text
    plain = replace(found, before_after=None)
    assert "before_after" not in plain.to_dict()
    assert "Before and after" not in plain.to_markdown() + plain.to_html()


def means(y: object, p: object, **words: object) -> list[str]:
    return means_of(call(cal.evaluate, y, p, metrics="ece", **words).header)


def test_means_speak_of_the_positive_class() -> None:
    """A shift hardly changes the accuracy; a mean predicted probability of 58% and a rate of 48% differ significantly."""
    rng = np.random.default_rng(6)
    true = rng.beta(2, 2, 600)
    y, p = (rng.random(600) < true).astype(int), np.minimum(true + 0.08, 1)
    header = cal.evaluate(y, p, metrics="ece").header
    event, sure = means(y, p)
    assert event == (
        f"overestimates the positive class: mean predicted probability {p.mean():.1%}, observed rate {y.mean():.1%}"
    )
    assert sure == (
        f"mean confidence {header.mean_confidence:.1%}, accuracy {header.accuracy:.1%} (difference not significant)"
    )


def test_means_put_what_is_off_first() -> None:
    """Scores that are too extreme on both sides: the mean probability of the event agrees with its rate, the confidence does not."""
    p = np.repeat([0.05, 0.95], 200)
    y = np.tile(np.repeat([1, 0], [40, 160]), 2)
    y[200:] = 1 - y[:200]
    first, second = means(y, p)
    assert first == "overconfident: mean confidence 95.0%, accuracy 80.0%"
    assert second.startswith("mean predicted probability 50.0%")

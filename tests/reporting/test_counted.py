"""Reports of rows with counts: they state the number of rows that the counts represent."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.reporting.measuring import measure
from calibrant.reporting.settings import Settings
from calibrant.reporting.wording import level_text, percents
from calibrant.util.results import percent

RNG = np.random.default_rng(3)
SCORE = np.round(RNG.random(200), 2)
COUNTS = RNG.integers(1, 9, 200)
LABEL = (RNG.random(200) < SCORE**1.5).astype(int)
TOTAL = int(COUNTS.sum())
GROUP = np.where(np.arange(200) % 2, "odd", "even")


@pytest.fixture(scope="module")
def counted() -> cal.reporting.Report:
    return cal.report(cal.Predictions(LABEL, SCORE, counts=COUNTS, groups=GROUP), metrics=["ece"])


@pytest.fixture(scope="module")
def written_out() -> cal.reporting.Report:
    rows = np.repeat(np.arange(200), COUNTS)
    return cal.report(cal.Predictions(LABEL[rows], SCORE[rows], groups=GROUP[rows]), metrics=["ece"])


def test_rows_are_those_stood_for(counted: cal.reporting.Report, written_out: cal.reporting.Report) -> None:
    assert counted.header == written_out.header
    assert f"{TOTAL:,} rows" in counted.header[0]
    assert [each.rows for each in counted.diagram.bins] == [each.rows for each in written_out.diagram.bins]
    mine = {(each.kind, each.name): each.rows for each in counted.weaknesses.entries}
    assert mine == {(each.kind, each.name): each.rows for each in written_out.weaknesses.entries}
    assert (counted.recalibration.rows, counted.recalibration.of) == (TOTAL, TOTAL)
    assert counted.provenance.rows == 200
    said = f"{TOTAL:,} rows, given as 200 rows with counts"
    assert said in counted.to_markdown()
    assert said in counted.to_html()


def test_sides_of_a_comparison_count_rows_too() -> None:
    data = {"a": cal.Predictions(LABEL, SCORE, counts=COUNTS), "b": cal.Predictions(LABEL, SCORE**2, counts=COUNTS)}
    found = cal.report(data, metrics=["brier"], n_resamples=200)
    assert [side.rows for side in found.comparison.sides] == [TOTAL, TOTAL]


def test_counts_are_not_drawn_one_by_one_where_rows_would_not_be() -> None:
    many = np.full(200, 100_000)
    p = cal.Predictions(LABEL, SCORE, counts=many)
    table, _, _ = measure(p, Settings(metrics=["cwce", "ece"]))
    assert table["cwce"].low is None
    assert "too long" in table["cwce"].note
    assert table["ece"].value == cal.ece(p)
    assert table["cwce"].value == cal.cwce(p)


def test_shares_near_the_ends_are_not_rounded_to_them() -> None:
    shown = [percent(value) for value in (0.99987, 0.00012, 0.0, 1.0, 1 - 1e-14, None)]
    assert shown == ["99.987%", "0.012%", "0.0%", "100.0%", "100.0%", "-"]
    assert [percent(value, 0) for value in (0.003, 0.31, 0.998, 1.0)] == ["0.3%", "31%", "99.8%", "100%"]
    assert percents(0.0004, 0.3) == ("0.040%", "30.0%")
    assert (level_text(0.95), level_text(0.975)) == ("95%", "97.5%")


def test_rare_events_keep_their_digits_on_the_page() -> None:
    score = np.full(4000, 0.0004)
    label = np.zeros(4000, int)
    label[:8] = 1
    page = cal.report(label, score, metrics=["ece"], recalibration=False).to_html()
    assert "predicts 0.0400% on average, observed rate 0.200%" in page


def test_one_row_is_one_row_and_shows_little() -> None:
    found = cal.report([1], [0.7], metrics=["ece"])
    assert found.header[0].startswith("1 row,")
    assert found.verdict.detectable is None
    assert "With so few rows or events only large differences are detectable." in found.verdict.sentence


def test_a_difference_that_cannot_be_is_not_named() -> None:
    assert cal.report([1, 0, 1], [0.7, 0.4, 0.5], metrics=["ece"]).verdict.detectable is None
    assert cal.report([0] * 20, [0.001] * 20, metrics=["ece"]).verdict.detectable is None


def test_a_page_without_significant_miscalibration_offers_no_recalibration_at_its_head() -> None:
    drawn = cal.inference.make_calibrated(400, rng=2)
    found = cal.report(drawn.y_true, drawn.y_prob, metrics=["ece"])
    assert found.verdict.rejected is False
    assert "removed by recalibration" not in found.to_html()
    assert "percentage points or more with at least 80% power" in found.to_html()


def test_the_mean_of_few_weighted_rows_is_not_judged() -> None:
    weight = RNG.random(200)
    found = cal.report(LABEL[:60], SCORE[:60] ** 0.3, sample_weight=weight[:60] + 1e-3, metrics=["ece"])
    assert found.verdict.rejected
    assert "the mean could not be tested" in found.verdict.headline
    assert "verconfident" not in found.verdict.sentence

"""The curves of the page: each from its definition, with slow loops, and what has no room is named."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.binning.rules import EqualWidth
from calibrant.errors import LensError
from calibrant.figures.base import least_rows
from calibrant.input.predictions import Predictions
from calibrant.metrics.decomposition import decompose
from calibrant.reporting.interactive import MAX_CLASSES, MAX_GROUPS, POINTS, interactive

from .pages import binary_case, many_case, one_view

LABEL, SCORE, GROUP = binary_case(60)
SCORE = SCORE.round(1)  # ties


@pytest.fixture(scope="module")
def charts() -> dict[str, dict[str, np.ndarray]]:
    found = interactive(Predictions(LABEL, SCORE)).lenses[0].charts
    return {name: {key: np.array(values) for key, values in columns.items()} for name, columns in found.items()}


def test_the_isotonic_curve_is_the_largest_of_the_smallest_means(charts: dict[str, dict[str, np.ndarray]]) -> None:
    scores = np.unique(SCORE)
    for place, score in enumerate(scores):
        means = [
            [LABEL[(low <= SCORE) & (high >= SCORE)].mean() for high in scores[place:]] for low in scores[: place + 1]
        ]
        curve = charts["isotonic"]
        assert np.interp(score, curve["x"], curve["y"]) == pytest.approx(max(map(min, means)), abs=1e-12)
    assert (charts["isotonic"]["low"] <= charts["isotonic"]["high"]).all()


def test_discrimination_and_decisions(charts: dict[str, dict[str, np.ndarray]]) -> None:
    event, n = LABEL == 1, len(LABEL)
    roc, pr, murphy = (charts[name] for name in ("roc", "pr", "murphy"))
    for k, cut in enumerate(np.unique(SCORE)[::-1], 1):
        accepted = cut <= SCORE
        assert (roc["x"][k], roc["y"][k]) == pytest.approx((accepted[~event].mean(), accepted[event].mean()))
        assert (pr["x"][k - 1], pr["y"][k - 1]) == pytest.approx((accepted[event].mean(), event[accepted].mean()))
    assert np.trapezoid(roc["y"], roc["x"]) == pytest.approx(cal.evaluation.auroc(LABEL, SCORE))
    assert np.trapezoid(murphy["y"], murphy["x"]) == pytest.approx(cal.brier(LABEL, SCORE) / 2)
    for threshold, benefit, treat_all in zip(*(charts["benefit"][key] for key in ("x", "y", "reference")), strict=True):
        odds = threshold / (1 - threshold)
        treated = threshold <= SCORE
        expected = (treated & event).sum() / n - (treated & ~event).sum() / n * odds
        assert benefit == pytest.approx(expected, abs=1e-12)
        assert treat_all == pytest.approx(event.mean() - (1 - event.mean()) * odds, abs=1e-12)
    parts = decompose(LABEL, SCORE, method="corp")
    assert (charts["plane"]["x"][0], charts["plane"]["y"][0]) == (parts.miscalibration, parts.discrimination)


def test_coverage_scores_and_differences(charts: dict[str, dict[str, np.ndarray]]) -> None:
    sure = np.maximum(SCORE, 1 - SCORE)
    right = np.where(SCORE > 0.5, LABEL == 1, LABEL == 0)
    for cut, coverage, accuracy in zip(*(charts["coverage"][key] for key in ("threshold", "x", "y")), strict=True):
        accepted = sure >= cut - 1e-12
        assert (coverage, accuracy) == pytest.approx((accepted.mean(), right[accepted].mean()))
    for name in ("scores", "logits"):
        held = charts[name]
        assert held["events"].sum() == pytest.approx(LABEL.mean())
        assert held["others"].sum() == pytest.approx(1 - LABEL.mean())
    assert charts["cumulative"]["y"][-1] == pytest.approx((SCORE - LABEL).mean())


@pytest.mark.parametrize("n", [20, 400, 40_000])
def test_small_bins_are_merged(n: int) -> None:
    rng = np.random.default_rng(0)
    score = rng.beta(8, 1, n)
    label = (rng.random(n) < score).astype(int)
    found = cal.report(label, score, metrics=["ece"], recalibration=False, level=None)
    least = {20: 5, 400: 10, 40_000: 50}[n]
    assert found.diagram.min_rows == least == least_rows(one_view(Predictions(label, score)))
    assert min(each.rows for each in found.diagram.bins) >= least
    assert sum(each.rows for each in found.diagram.bins) == n
    assert found.charts is not None
    assert found.charts.lenses[0].charts["bins"]["x"] == [each.mean_score for each in found.diagram.bins]
    assert f"fewer than {least} rows are merged" in found.to_markdown()
    assert (
        max(len(columns["x"]) for name, columns in found.charts.lenses[0].charts.items() if "x" in columns)
        <= POINTS + 120
    )


def test_what_has_no_room_is_named() -> None:
    rng = np.random.default_rng(0)
    groups = [f"g{number:03d}" for number in rng.integers(0, 60, 2000)]
    score = rng.random(2000)
    many = interactive(Predictions(rng.random(2000) < score, score, groups=groups))
    assert len(many.groups) == MAX_GROUPS
    assert many.left_out == ("The 50 largest of 60 groups can be selected.",)
    sizes = {name: groups.count(name) for name in set(groups)}
    kept = {series.name: series.rows for series in many.groups}
    assert all(sizes[name] == rows for name, rows in kept.items())
    assert min(kept.values()) >= max(sizes[name] for name in set(sizes) - set(kept))
    probs = rng.dirichlet(np.ones(40), 500)
    classes = interactive(Predictions(rng.integers(0, 40, 500), probs))
    assert len(classes.lenses) == 1 + MAX_CLASSES
    assert classes.left_out == ("The 20 largest of 40 classes can be selected.",)


def test_kinds_of_predictions() -> None:
    label, prob = many_case(200)
    assert [series.lens for series in interactive(Predictions(label, prob)).lenses] == ["top_label"] + ["class"] * 4
    sure = interactive(Predictions(LABEL, SCORE, input="confidence"))
    assert [series.lens for series in sure.lenses] == ["top_label"]
    columns = np.column_stack([LABEL, 1 - LABEL])
    labels = interactive(Predictions(columns, np.column_stack([SCORE, SCORE]), multilabel=True))
    assert [(series.name, series.lens) for series in labels.lenses] == [("0", "class"), ("1", "class")]
    soft = interactive(Predictions(SCORE**2, SCORE, soft=True), rule=EqualWidth(5)).lenses[0].charts
    assert "roc" not in soft
    assert "low" not in soft["isotonic"]
    counted = interactive(Predictions(LABEL, SCORE, counts=np.arange(60) % 3))
    repeated = interactive(Predictions(np.repeat(LABEL, np.arange(60) % 3), np.repeat(SCORE, np.arange(60) % 3)))
    assert counted.lenses[0].charts["roc"] == repeated.lenses[0].charts["roc"]
    with pytest.raises(LensError, match="more than one event per row"):
        interactive(Predictions(label, prob), lens="canonical")

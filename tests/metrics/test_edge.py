"""Scores of 0 and 1 in coefficients of logistic recalibration: kept and truncated, or left out; values, tests, intervals, and warnings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.calling import raises

METRICS = ("cox_slope", "cox_intercept", "fixed_slope_intercept")
CITL: dict[str, Any] = {"metric": "calibration_in_the_large", "form": "logit"}


def rows(sure: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Risks and labels; the first have scores of 0 and 1, one of them with the other outcome."""
    rng = np.random.default_rng(0)
    p = rng.beta(2, 5, 400)
    y = (rng.random(400) < p).astype(int)
    p[:sure] = np.arange(sure) % 2
    y[:sure] = p[:sure]
    y[:1] = 1
    return y, p


@pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning")
@pytest.mark.parametrize("metric", METRICS)
def test_drop_is_the_value_of_the_other_rows(metric: str) -> None:
    y, p = rows()
    words: dict[str, Any] = {"metric": metric, "edge": "drop"}
    formula = cal.catalogue[metric]
    assert formula(y, p, edge="drop") == formula(y[6:], p[6:])
    assert formula(y, p, edge="drop") != formula(y, p) == formula(y, p, edge="clip")
    for method in ("wald", "profile", "sandwich"):
        found = cal.interval(y, p, method=method, **words)
        plain = cal.interval(y[6:], p[6:], metric=metric, method=method)
        assert (found.low, found.high, found.n) == (plain.low, plain.high, 394)
    drawn = cal.interval(y, p, method="percentile", n_resamples=200, rng=0, **words)
    assert drawn.low < formula(y, p, edge="drop") < drawn.high
    for method in ("normal",) if metric == "fixed_slope_intercept" else ("lr", "wald", "score", "sandwich", "profile"):
        found, plain = (
            cal.assess(*data, method=method, **keys)
            for data, keys in (((y, p), words), ((y[6:], p[6:]), {"metric": metric}))
        )
        assert (found.pvalue, found.n) == (pytest.approx(plain.pvalue, rel=1e-12), 394)
    weights = 1.0 + np.arange(400) % 3
    groups = np.arange(400) // 4
    found = cal.interval(
        cal.Predictions(y, p, groups=groups, sample_weight=weights), method="sandwich", cluster=True, **words
    )
    plain = cal.interval(
        cal.Predictions(y[6:], p[6:], groups=groups[6:], sample_weight=weights[6:]),
        metric=metric,
        method="sandwich",
        cluster=True,
    )
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), rel=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_without_such_scores_edge_changes_nothing_and_nothing_is_said(metric: str) -> None:
    y, p = rows(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cal.catalogue[metric](y, p, edge="drop") == cal.catalogue[metric](y, p)
        cal.interval(y, p, metric=metric, edge="drop")


@pytest.mark.parametrize("metric", METRICS)
def test_warnings_count_the_rows(metric: str) -> None:
    y, p = rows()
    effect = "a shift of log-odds does not" if metric == "fixed_slope_intercept" else "their log-odds are clipped"
    with pytest.warns(
        cal.errors.BoundaryScoresWarning, match=rf"{metric}: 6 of 400 rows have .*; {effect} .*edge='drop'"
    ):
        cal.catalogue[metric](y, p)
    left_out = "6 of 400 rows have a score within 1e-12 of 0 or 1 and are left out, 1 of them with the other outcome"
    for call in (
        cal.catalogue[metric],
        lambda *d, **k: cal.assess(*d, metric=metric, **k),
        lambda *d, **k: cal.interval(*d, metric=metric, **k),
    ):
        with pytest.warns(cal.errors.BoundaryScoresWarning, match=left_out):
            call(y, p, edge="drop")


@pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning")
def test_the_shift_of_kept_scores_has_the_interval_of_its_likelihood() -> None:
    """A score of 0 with an event adds its event; the limit of ever smaller scores."""
    y, p = rows()
    near = np.clip(p, 1e-12, 1 - 1e-12)
    for method in ("wald", "profile", "sandwich"):
        found, limit = (cal.interval(y, each, method=method, **CITL) for each in (p, near))
        assert (found.low, found.value, found.high) == pytest.approx((limit.low, limit.value, limit.high), abs=1e-9)


@pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning")
@pytest.mark.filterwarnings("ignore::calibrant.errors.HardPredictionsWarning")
def test_bad_input_is_named() -> None:
    y, p = rows()
    for verb in (cal.interval, cal.assess):
        with raises(cal.errors.ArgumentError, "edge"):
            verb(y, p, metric="cox_slope", edge="keep")
    with raises(cal.errors.UndefinedMetricError, "cox_slope"):
        cal.cox_slope([0, 1] * 20, [0.0, 1.0] * 20, edge="drop")
    sketch = cal.Sketch.of(y, p)
    for call in (
        cal.cox_slope,
        lambda s, **k: cal.assess(s, metric="cox_slope", **k),
        lambda s, **k: cal.interval(s, metric="cox_slope", **k),
    ):
        with pytest.raises(cal.errors.ArgumentError, match="'drop' requires the rows: a sketch does not keep"):
            call(sketch, edge="drop")
    assert cal.cox_slope(sketch) == pytest.approx(cal.cox_slope(y, p), abs=1e-2)

"""Scores of 0 and 1 in coefficients of logistic recalibration: the interval of a shift, and warnings."""

import warnings
from typing import Any

import numpy as np
import pytest

import calibrant as cal

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


@pytest.mark.parametrize("metric", METRICS)
def test_warnings_count_the_rows(metric: str) -> None:
    y, p = rows()
    effect = "a shift of log-odds does not" if metric == "fixed_slope_intercept" else "their log-odds are clipped"
    with pytest.warns(cal.errors.BoundaryScoresWarning, match=rf"{metric}: 6 of 400 rows have .*; {effect} "):
        cal.catalogue[metric](y, p)
    y, p = rows(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cal.catalogue[metric](y, p)


@pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning")
def test_the_shift_of_kept_scores_has_the_interval_of_its_likelihood() -> None:
    """A score of 0 with an event adds its event; the limit of ever smaller scores."""
    y, p = rows()
    near = np.clip(p, 1e-12, 1 - 1e-12)
    for method in ("wald", "profile", "sandwich"):
        found, limit = (cal.interval(y, each, method=method, **CITL) for each in (p, near))
        assert (found.low, found.value, found.high) == pytest.approx((limit.low, limit.value, limit.high), abs=1e-9)

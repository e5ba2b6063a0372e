"""Internal validation of a logistic regression against rms::validate, rms::calibrate and a loop over R's glm, on the same resamples."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.r.common import data, values

PREDICTORS = {"birthwt": (1, 2, 3, 6), "pima": (1, 2, 3, 4, 5, 6, 7)}
METRICS = {"auroc": "auroc", "brier": "brier", "intercept": "cox_intercept", "slope": "cox_slope", "oe": "oe"}
SETS = pytest.mark.parametrize("name", PREDICTORS)


class Logistic:
    """Maximum likelihood by Newton's method."""

    def fit(self, X: Any, y: Any) -> Logistic:
        Z = np.column_stack([np.ones(len(X)), X])
        scale = np.abs(Z).max(axis=0)
        Z = Z / scale
        b = np.zeros(Z.shape[1])
        for _ in range(50):
            p = 1 / (1 + np.exp(-Z @ b))
            step = np.linalg.solve((Z.T * (p * (1 - p))) @ Z, Z.T @ (y - p))
            b = b + step
            if np.abs(step).max() < 1e-12:
                break
        self.coefficients = b / scale
        return self

    def predict_proba(self, X: Any) -> Any:
        p = 1 / (1 + np.exp(-(self.coefficients[0] + X @ self.coefficients[1:])))
        return np.column_stack([1 - p, p])


@lru_cache
def rows_of(name: str, call: str) -> list[Any]:
    return [np.array(rows) - 1 for rows in value_of(name, call)]


def value_of(name: str, call: str) -> Any:
    return next(e["value"] for e in values("optimism") if (e["data"], e["call"]) == (name, call))


@lru_cache
def validated(name: str) -> Any:
    d = data(name)
    X = np.column_stack([getattr(d, f"x{place}") for place in PREDICTORS[name]])
    resamples = rows_of(name, "rows of the resamples")
    metrics = list(METRICS.values())
    return cal.clinical.internal_validation(Logistic(), X, d.y, metrics=metrics, resamples=resamples)


@SETS
def test_corrected_values_are_those_of_a_loop_over_glm(name: str) -> None:
    found = validated(name)
    for key, value in value_of(name, "glm on resamples, bootstrap").items():
        assert found[METRICS[key]].corrected == pytest.approx(value, rel=1e-7, abs=1e-8), key


@SETS
def test_corrected_values_are_those_of_validate(name: str) -> None:
    """lrm stops its iterations early, so fewer digits agree."""
    found = validated(name)
    for key, value in value_of(name, "validate(method = 'boot')").items():
        ours = 2 * found["auroc"].corrected - 1 if key == "dxy" else found[METRICS[key]].corrected
        assert ours == pytest.approx(value, abs=1e-4), key


@SETS
def test_curve_is_that_of_calibrate(name: str) -> None:
    curve = validated(name).curve
    expected = value_of(name, "calibrate(method = 'boot')")
    np.testing.assert_allclose(curve.score, expected["predy"], atol=1e-5)
    np.testing.assert_allclose(curve.apparent, np.clip(expected["apparent"], 0, 1), atol=1e-4)
    np.testing.assert_allclose(curve.corrected, np.clip(expected["corrected"], 0, 1), atol=5e-4)

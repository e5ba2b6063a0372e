"""Random-effects pooling: against plain loops over the restricted likelihood, identities, and coverage by simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal

SLOPES, ERRORS = [0.82, 1.05, 0.64, 0.91, 1.12], [0.10, 0.12, 0.09, 0.15, 0.11]
RNG = np.random.default_rng(5)
SETS: dict[str, tuple[list[float], list[float]]] = {
    "slopes": (SLOPES, ERRORS),
    "two": ([0.2, 0.9], [0.2, 0.1]),
    "homogeneous": ([1.0, 1.01, 1.02, 0.99], [0.1, 0.2, 0.15, 0.3]),
    "one_outlier": ([0.0, 0.01, -0.02, 5.0], [0.1, 0.1, 0.1, 0.1]),
    "tiny_numbers": ([1e-7, 3e-7, -2e-7, 8e-7, 2e-7], [1e-7, 2e-7, 1e-7, 3e-7, 1e-7]),
    "thirty": (RNG.normal(0.2, 0.4, 30).tolist(), RNG.uniform(0.05, 0.6, 30).tolist()),
}


def restricted(y: list[float], s: list[float], tau2: float) -> float:
    """The restricted log-likelihood as -2 of it is written in Harville (1977), one centre at a time."""
    weights = [1 / (error * error + tau2) for error in s]
    mean = sum(w * value for w, value in zip(weights, y, strict=True)) / sum(weights)
    loss = math.log(sum(weights))
    for w, value in zip(weights, y, strict=True):
        loss += -math.log(w) + w * (value - mean) ** 2
    return -loss / 2


@pytest.mark.parametrize("name", SETS)
def test_reml_maximizes_the_restricted_likelihood(name: str) -> None:
    y, s = SETS[name]
    found = cal.inference.pool_estimates(y, s)
    best = restricted(y, s, found.tau2)
    widest = (max(y) - min(y)) ** 2 + max(s) ** 2
    for step in range(401):
        assert restricted(y, s, widest * (step / 400) ** 3) <= best + 1e-9
    for factor in (0.999, 1.001):
        assert restricted(y, s, found.tau2 * factor) <= best + 1e-12


def test_hartung_knapp_is_not_narrower_than_normal_with_the_adhoc_rule() -> None:
    y, s = SETS["homogeneous"]
    plain, adhoc, normal = (
        cal.inference.pool_estimates(y, s, interval=how) for how in ("hartung_knapp", "hartung_knapp_adhoc", "normal")
    )
    assert plain.high - plain.low < normal.high - normal.low < adhoc.high - adhoc.low
    assert any("narrower" in note for note in plain.notes)
    assert not any("narrower" in note for note in adhoc.notes)
    assert adhoc.standard_error == normal.standard_error
    assert not cal.inference.pool_estimates(SLOPES, ERRORS).notes


def test_without_variation_between_centres_both_intervals_agree() -> None:
    y, s = SETS["homogeneous"]
    found = cal.inference.pool_estimates(y, s)
    assert found.tau2 == 0
    assert (found.prediction_low, found.prediction_high) == (found.low, found.high)
    equal = cal.inference.pool_estimates([1.0, 1.0, 1.0], [0.1, 0.2, 0.3])
    assert (equal.estimate, equal.tau2, equal.q) == (pytest.approx(1), 0, pytest.approx(0))


@pytest.mark.parametrize("transform", ["exp", "expit"])
def test_results_are_transformed_back_and_the_rest_is_not(transform: Any) -> None:
    plain = cal.inference.pool_estimates(SLOPES, ERRORS)
    found = cal.inference.pool_estimates(SLOPES, ERRORS, transform=transform)
    function = np.exp if transform == "exp" else lambda x: 1 / (1 + np.exp(-x))
    for name in ("estimate", "low", "high", "prediction_low", "prediction_high"):
        assert getattr(found, name) == pytest.approx(function(getattr(plain, name)))
    assert (found.tau2, found.standard_error, found.i2) == (plain.tau2, plain.standard_error, plain.i2)


def test_missing_prediction_interval_is_noted() -> None:
    found = cal.inference.pool_estimates([1.0, 2.0], [0.1, 0.2], interval="normal", prediction_df="k-2")
    assert np.isnan(found.prediction_low)
    assert "requires three estimates" in " ".join(found.notes)

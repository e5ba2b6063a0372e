"""Random-effects pooling: against plain loops over the restricted likelihood, identities, and coverage by simulation."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calibrant as cal
from calibrant.errors import ArgumentError, CalibrantError, ShapeError, UndefinedMetricError
from tests.calling import raises

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


@pytest.mark.parametrize("name", SETS)
def test_estimate_interval_and_heterogeneity_by_plain_sums(name: str) -> None:
    y, s = SETS[name]
    k = len(y)
    found = cal.inference.pool_estimates(y, s)
    weights = [1 / (error**2 + found.tau2) for error in s]
    mean = sum(w * value for w, value in zip(weights, y, strict=True)) / sum(weights)
    factor = sum(w * (value - mean) ** 2 for w, value in zip(weights, y, strict=True)) / (k - 1)
    error = math.sqrt(factor / sum(weights))
    t = stats.t.ppf(0.975, k - 1)
    assert (found.estimate, found.standard_error) == pytest.approx((mean, error), rel=1e-9)
    assert (found.low, found.high) == pytest.approx((mean - t * error, mean + t * error), rel=1e-7)
    ahead = math.sqrt(found.tau2 + error**2)
    assert found.prediction_high == pytest.approx(mean + t * ahead, rel=1e-9)
    assert found.weights.sum() == pytest.approx(1)
    fixed = [1 / error**2 for error in s]
    common = sum(w * value for w, value in zip(fixed, y, strict=True)) / sum(fixed)
    q = sum(w * (value - common) ** 2 for w, value in zip(fixed, y, strict=True))
    assert (found.q, found.q_pvalue) == pytest.approx((q, stats.chi2.sf(q, k - 1)))
    typical = (k - 1) * sum(fixed) / (sum(fixed) ** 2 - sum(w * w for w in fixed))
    assert found.i2 == pytest.approx(found.tau2 / (found.tau2 + typical))
    assert found.tau2_low <= found.tau2 <= found.tau2_high or found.tau2_high == 0


def test_dersimonian_laird_and_fixed_effect() -> None:
    found = cal.inference.pool_estimates(SLOPES, ERRORS, method="dersimonian_laird", interval="normal")
    w = [1 / s**2 for s in ERRORS]
    expected = (found.q - 4) / (sum(w) - sum(v * v for v in w) / sum(w))
    assert found.tau2 == pytest.approx(expected)
    assert found.i2 == pytest.approx((found.q - 4) / found.q)
    assert found.prediction_df is None
    half = stats.norm.ppf(0.975) * math.sqrt(found.tau2 + found.standard_error**2)
    assert found.prediction_high == pytest.approx(found.estimate + half)
    fixed = cal.inference.pool_estimates(SLOPES, ERRORS, method="fixed")
    assert fixed.interval == "normal"
    assert fixed.tau2 == 0
    assert math.isnan(fixed.prediction_low)
    assert fixed.standard_error == pytest.approx(sum(w) ** -0.5)
    assert "prediction" not in repr(fixed)


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


def test_degrees_of_freedom_of_the_prediction_interval() -> None:
    found = cal.inference.pool_estimates(SLOPES, ERRORS, interval="normal", prediction_df="k-2")
    half = stats.t.ppf(0.975, 3) * math.sqrt(found.tau2 + found.standard_error**2)
    assert found.prediction_low == pytest.approx(found.estimate - half)
    assert math.isnan(cal.inference.pool_estimates([0, 1], [1, 1], prediction_df="k-2").prediction_low)


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


def test_shifts_scales_and_order_of_the_centres() -> None:
    base = cal.inference.pool_estimates(SLOPES, ERRORS)
    moved = cal.inference.pool_estimates([7 + 3 * y for y in SLOPES[::-1]], [3 * s for s in ERRORS[::-1]])
    assert moved.estimate == pytest.approx(7 + 3 * base.estimate)
    assert moved.tau2 == pytest.approx(9 * base.tau2)
    assert moved.weights.tolist() == pytest.approx(base.weights.tolist()[::-1])


def test_trend_is_the_slope_of_a_weighted_regression() -> None:
    year = [2018, 2019, 2020, 2021, 2022]
    found = cal.inference.pool_estimates(SLOPES, ERRORS, covariate=year, method="fixed").trend
    assert found is not None
    w = np.diag([1 / s**2 for s in ERRORS])
    x = np.column_stack([np.ones(5), year]) - [0, 2018]
    covariance = np.linalg.inv(x.T @ w @ x)
    assert found.slope == pytest.approx((covariance @ x.T @ w @ SLOPES)[1])
    assert found.standard_error == pytest.approx(math.sqrt(covariance[1, 1]))
    assert found.pvalue == pytest.approx(2 * stats.norm.sf(abs(found.slope / found.standard_error)))
    exact = cal.inference.pool_estimates([1.0, 2.0, 3.0, 4.0], [0.1] * 4, covariate=[0, 1, 2, 3]).trend
    assert exact is not None
    assert exact.slope == pytest.approx(1)
    assert exact.pvalue < 1e-6


def test_text_json_and_names() -> None:
    found = cal.inference.pool_estimates(SLOPES, ERRORS, names="abcde", covariate=range(5))
    assert repr(found).startswith("pooled 0.8994 [0.6555, 1.143] (95%, REML, Hartung-Knapp; k = 5)")
    assert "trend" in repr(found)
    assert found.names == tuple("abcde")
    assert json.loads(json.dumps(found.to_dict()))["trend"]["slope"] == found.trend.slope  # type: ignore[union-attr]
    assert "very uncertain" in repr(cal.inference.pool_estimates([0, 1], [1, 1]))


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "words"),
    [
        (([1], [0.1]), {}, UndefinedMetricError, "at least two"),
        (([1, 2], [0.1]), {}, ShapeError, "standard_errors: "),
        (([1, 2], [0.1, 0]), {}, ArgumentError, "must be positive; got 0 for estimate 1"),
        (([1, 2], [0.1, -1]), {}, ArgumentError, "must be positive"),
        (([1, math.nan], [0.1, 1]), {}, ArgumentError, "must be finite"),
        (("ab", [0.1, 1]), {}, ArgumentError, "estimates: "),
        (([[1, 2]], [0.1, 1]), {}, ArgumentError, "estimates: "),
        ((SLOPES, ERRORS), {"method": "dl"}, ArgumentError, "dersimonian_laird"),
        ((SLOPES, ERRORS), {"interval": "knha"}, ArgumentError, "hartung_knapp"),
        ((SLOPES, ERRORS), {"level": 95}, ArgumentError, "level"),
        ((SLOPES, ERRORS), {"names": "ab"}, ShapeError, "names"),
        ((SLOPES, ERRORS), {"covariate": [1] * 5}, UndefinedMetricError, "two distinct"),
        ((SLOPES, ERRORS), {"covariate": [1, 2]}, ShapeError, "covariate"),
        ((SLOPES, ERRORS), {"method": "fixed", "interval": "hartung_knapp"}, ArgumentError, "random effects"),
        ((SLOPES, ERRORS), {"transform": "log"}, ArgumentError, "transform"),
    ],
)
def test_errors(arguments: Any, keywords: Any, error: type[CalibrantError], words: str) -> None:
    with pytest.raises(error, match=words):
        cal.inference.pool_estimates(*arguments, **keywords)


def coverage(k: int, tau: float, times: int, seed: int, **keywords: Any) -> tuple[float, float]:
    """Shares of confidence intervals that contain the mean, and of prediction intervals that contain the value of a new centre."""
    rng = np.random.default_rng(seed)
    inside, ahead = 0, 0.0
    for _ in range(times):
        s = rng.uniform(0.05, 0.3, k)
        found = cal.inference.pool_estimates(
            0.9 + tau * rng.standard_normal(k) + s * rng.standard_normal(k), s, **keywords
        )
        inside += found.low <= 0.9 <= found.high
        spread = max(tau, 1e-12)
        ahead += stats.norm.cdf((found.prediction_high - 0.9) / spread) - stats.norm.cdf(
            (found.prediction_low - 0.9) / spread
        )
    return inside / times, ahead / times


@pytest.mark.parametrize(("k", "tau"), [(10, 0.0), (10, 0.2)])
def test_intervals_cover(k: int, tau: float, deep: bool) -> None:
    confidence, prediction = coverage(k, tau, 4000 if deep else 120, 1)
    assert confidence > 0.90
    assert prediction > 0.88


def test_squares_of_standard_errors_must_not_underflow() -> None:
    with raises(cal.errors.ArgumentError, "standard_errors"):
        cal.inference.pool_estimates([1.0, 2.0, 3.0], [1e-200, 1.0, 1.0])


def test_missing_prediction_interval_is_noted() -> None:
    found = cal.inference.pool_estimates([1.0, 2.0], [0.1, 0.2], interval="normal", prediction_df="k-2")
    assert np.isnan(found.prediction_low)
    assert "requires three estimates" in " ".join(found.notes)

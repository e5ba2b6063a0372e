"""Random-effects pooling: against plain loops over the restricted likelihood, identities, and coverage by simulation."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import chi2, norm, t

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
    found = cal.inference.pool_estimates(y, s, prediction="k-1")
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


@pytest.mark.parametrize("name", SETS)
def test_prediction_limits_are_quantiles_over_the_distribution_of_tau2(name: str) -> None:
    y, s = (np.array(part) for part in SETS[name])

    def q(tau2: float) -> float:
        weight = 1 / (s**2 + tau2)
        return float(weight @ (y - weight @ y / weight.sum()) ** 2)

    def tau2_at(quantile: float) -> float:
        widest = 1e8 * float(np.ptp(y) ** 2 + s.max() ** 2)
        return 0.0 if q(0.0) <= quantile else brentq(lambda t: q(t) - quantile, 0, widest, xtol=1e-18 * widest)

    shares = (np.arange(1000) + 0.5) / 1000
    tau2 = np.array([tau2_at(each) for each in chi2.ppf(shares, len(y) - 1)])[:, None]
    weight = 1 / (s**2 + tau2)
    centre, spread = (weight @ y) / weight.sum(axis=1), np.sqrt(tau2[:, 0] + 1 / weight.sum(axis=1))
    found = cal.inference.pool_estimates(y, s)
    for end, share in ((found.prediction_low, 0.025), (found.prediction_high, 0.975)):
        assert norm.cdf((end - centre) / spread).mean() == pytest.approx(share, abs=1e-9)
    assert found.tau2_low == pytest.approx(tau2_at(chi2.ppf(0.975, len(y) - 1)), rel=1e-9)


def test_without_sampling_error_the_prediction_interval_is_that_of_a_normal_value() -> None:
    y = RNG.normal(size=5)
    found = cal.inference.pool_estimates(y, [1e-7] * 5)
    exact = t.interval(0.95, 4, y.mean(), np.sqrt(np.var(y, ddof=1) * 6 / 5))
    assert [found.prediction_low, found.prediction_high] == pytest.approx(exact, rel=1e-3)


def test_prediction_intervals_of_five_centres_contain_a_new_one() -> None:
    rng, inside = np.random.default_rng(0), []
    for _ in range(150):
        error = rng.uniform(0.2, 0.5, 5)
        found = cal.inference.pool_estimates(rng.normal(0, np.sqrt(0.3**2 + error**2)), error)
        inside.append(norm.cdf(found.prediction_high / 0.3) - norm.cdf(found.prediction_low / 0.3))
    assert np.mean(inside) > 0.93


def test_missing_prediction_interval_is_noted() -> None:
    found = cal.inference.pool_estimates([1.0, 2.0], [0.1, 0.2], interval="normal", prediction="k-2")
    assert np.isnan(found.prediction_low)
    assert "requires three estimates" in " ".join(found.notes)

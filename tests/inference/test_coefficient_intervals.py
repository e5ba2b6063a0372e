"""Intervals of intercept, slope and E/O: definitions by hand, weights, clusters, no events, errors and coverage."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit

import calibrant as cal
from tests.calling import call, raises

LINE = ("cox_intercept", "cox_slope", "fixed_slope_intercept")
RATIO = "expected_observed_ratio"


def drawn(n: int, seed: int = 0, a: float = 0.3, b: float = 0.7, beta: tuple[float, float] = (2, 8)) -> Any:
    """Labels and risks on a line in log-odds."""
    rng = np.random.default_rng([n, seed])
    p = np.clip(rng.beta(*beta, n), 1e-9, 1 - 1e-9)
    return (rng.random(n) < expit(a + b * logit(p))).astype(int), p


def deviance(y: Any, p: Any, a: float, b: float) -> float:
    """Minus twice the log-likelihood, row by row."""
    total = 0.0
    for outcome, score in zip(y, p, strict=True):
        eta = a + b * math.log(score / (1 - score))
        total += 2 * (math.log1p(math.exp(eta)) - outcome * eta)
    return total


def least(function: Any, low: float, high: float) -> float:
    """Smallest value of a convex function, by golden sections."""
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if function(left) < function(right) else (left, high)
    return float(function((low + high) / 2))


@pytest.mark.parametrize("metric", ["cox_slope", "cox_intercept"])
@pytest.mark.parametrize("seed", [1, 5])
def test_profiles_of_two_or_three_events(metric: str, seed: int) -> None:
    """Far from the maximum every fitted risk is 0 or 1, and a Newton step has no length."""
    y, p = drawn(250, seed, 0.0, 1.0, (1, 166))
    y[:] = 0
    y[[np.argmin(p), np.argsort(p)[-3 - seed]]] = 1
    found = cal.interval(y, p, metric=metric, method="profile")
    best = deviance(y, p, cal.cox_intercept(y, p), cal.cox_slope(y, p))
    for end in (found.low, found.high):
        if metric == "cox_slope":
            risen = least(lambda a, b=end: deviance(y, p, a, b), -30 + 6 * end, 30 + 6 * end)
        else:
            risen = least(lambda b, a=end: deviance(y, p, a, b), -20, 20)
        assert risen - best == pytest.approx(3.841458820694124, abs=1e-5)


@pytest.mark.parametrize("method", ["asymptotic", "wald", "exact", "sandwich"])
def test_observed_over_expected_is_the_inverse(method: str) -> None:
    y, p = drawn(150, 2)
    ours = cal.interval(y, p, metric=RATIO, method=method)
    inverse = cal.interval(y, p, metric=RATIO, method=method, form="observed_expected")
    assert inverse.value == pytest.approx(y.sum() / p.sum(), rel=1e-14)
    assert (1 / inverse.high, 1 / inverse.low) == pytest.approx((ours.low, ours.high), rel=1e-12)
    assert cal.expected_observed_ratio.direction(0.8, "binary") == "underestimates"
    assert cal.expected_observed_ratio.direction(0.8, "binary", {"form": "observed_expected"}) == "overestimates"


@pytest.mark.parametrize("method", ["wald", "profile", "sandwich", "exact"])
@pytest.mark.parametrize("metric", [*LINE, RATIO])
def test_counts_are_repeated_rows(metric: str, method: str) -> None:
    if (method == "profile") if metric == RATIO else (method == "exact"):
        with raises(cal.errors.ArgumentError, "method"):
            cal.interval(*drawn(50), metric=metric, method=method)
        return
    y, p = drawn(80, 3)
    counts = np.arange(80) % 3
    counted = cal.interval(cal.Predictions(y, p, counts=counts), metric=metric, method=method)
    written = cal.interval(np.repeat(y, counts), np.repeat(p, counts), metric=metric, method=method)
    assert (counted.low, counted.high, counted.n) == pytest.approx((written.low, written.high, written.n), rel=1e-8)
    sketched = cal.interval(cal.Sketch.of(y, p), metric=metric, method=method)
    plain = cal.interval(y, p, metric=metric, method=method)
    assert (sketched.low, sketched.high) == pytest.approx((plain.low, plain.high), abs=2e-3)


@pytest.mark.parametrize("metric", [*LINE, RATIO])
def test_weights_and_clusters_have_a_sandwich(metric: str) -> None:
    y, p = drawn(300, 4)
    w = 1.0 + np.arange(300) % 4
    words: dict[str, Any] = {"metric": metric, "method": "sandwich"}
    weighted = call(cal.interval, y, p, sample_weight=w, **words)
    scaled = call(cal.interval, y, p, sample_weight=7 * w, **words)
    assert (weighted.low, weighted.high) == pytest.approx((scaled.low, scaled.high), rel=1e-9)
    plain = call(cal.interval, y, p, **words)
    alone = call(cal.interval, y, p, groups=np.arange(300), cluster=True, **words)
    assert (alone.low, alone.high) == pytest.approx((plain.low, plain.high), rel=1e-12)
    # Every row four times in one group is one row.
    four = call(
        cal.interval, np.repeat(y, 4), np.repeat(p, 4), groups=np.repeat(np.arange(300), 4), cluster=True, **words
    )
    assert (four.low, four.high) == pytest.approx((plain.low, plain.high), rel=1e-9)
    few = call(cal.interval, y, p, groups=np.arange(300) % 7, cluster=True, **words)
    assert "only 7 groups" in few.note
    assert cal.interval(y, p, metric=metric, sample_weight=w).method == (
        "asymptotic" if metric == RATIO else "sandwich"
    )
    for method in ("wald", "exact" if metric == RATIO else "profile"):
        with pytest.raises(cal.errors.WeightsNotSupportedError, match="use method='sandwich' or method='bootstrap'"):
            cal.interval(y, p, metric=metric, method=method, sample_weight=w)
        with raises(cal.errors.ArgumentError, "method"):
            cal.interval(cal.Predictions(y, p, groups=np.arange(300) // 2), metric=metric, method=method, cluster=True)


def test_no_events() -> None:
    p = np.linspace(0.01, 0.2, 50)
    for y in (np.zeros(50, int), np.ones(50, int)):
        found = cal.interval(y, p, metric="fixed_slope_intercept")
        assert found.method == "profile"
        end = found.high if y[0] == 0 else found.low
        assert deviance(y, p, end, 1) == pytest.approx(3.841458820694124, rel=1e-9)
        assert abs(found.value) == math.inf
    ratio = cal.interval(np.zeros(50, int), p, metric=RATIO)
    assert (ratio.method, ratio.high) == ("exact", math.inf)
    assert ratio.low == pytest.approx(p.sum() / 3.688879454113936, rel=1e-12)
    assert cal.interval(np.zeros(50, int), p, metric=RATIO, form="observed_expected", method="exact").low == 0


def test_a_penalized_slope_has_a_wald_interval() -> None:
    y, p = drawn(100)
    firth = cal.interval(y, p, metric="cox_slope", penalty="firth", method="wald")
    assert firth.low < cal.cox_slope(y, p, penalty="firth") < firth.high


def test_weights_of_1_are_no_weights() -> None:
    y, p = drawn(60)
    for metric in LINE:
        for method in ("auto", "profile"):
            plain, weighted = (
                call(cal.interval, y, p, metric=metric, method=method, **w)
                for w in ({}, {"sample_weight": np.full(60, 3.0)})
            )
            assert plain == weighted

"""Measures that other packages have: identities, exact values, and the size of their tests."""

import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError
from tests.calling import call, raises


def several(seed: int = 0, n: int = 211, k: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Calibrated forecasts of several classes with text labels; some are sure, some tied."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.5), n)
    p[::7] = np.eye(k)[rng.integers(0, k, len(p[::7]))]
    p[::11] = 1 / k
    label = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, k - 1)
    return np.array([f"c{i:03d}" for i in range(k)])[label], p


def names(k: int) -> dict[str, Any]:
    return {"classes": [f"c{i:03d}" for i in range(k)]}


def test_a_predicted_class_is_required() -> None:
    assert cal.tl_ece([0, 1, 1], [0.2, 0.4, 0.9], bins=1) == pytest.approx(2 / 3 * abs(0.7 - 0.5) + 1 / 3 * 0.1)


def test_accuracy_mean_confidence_and_their_difference() -> None:
    y, p = several(4)
    difference = call(cal.mean_confidence, y, p, **names(4)) - call(cal.accuracy, y, p, **names(4))
    assert call(cal.esce, y, p, lens="top_label", **names(4)) == pytest.approx(difference, abs=1e-14)
    y, p = [0, 1, 1, 0, 1], [0.2, 0.4, 0.8, 0.5, 0.9]
    assert cal.accuracy(y, p) == 0.8  # 0.4 is wrong; 0.5 predicts the first class
    assert cal.accuracy(y, p, lens="binary") == 0.6
    found = cal.evaluate(y, p, metrics=["accuracy", "mean_confidence"])
    assert (found["accuracy"], found["mean_confidence"]) == (0.8, pytest.approx(0.72))
    with raises(ArgumentError, "metric"):
        cal.assess(y, p, metric="mean_confidence")


def test_ranked_log_score() -> None:
    y, p = np.array([0, 1, 2, 1]), np.array([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.3, 0.3, 0.4], [0.25, 0.5, 0.25]])
    assert cal.ranked_log(y, p) == pytest.approx(cal.nll(y, p, lens="ordinal"), rel=1e-14)
    # The tiny probability of the upper side keeps its digits.
    assert cal.ranked_log([2], [[1 - 2e-20, 1e-20, 1e-20]]) == pytest.approx(-np.log([2e-20, 1e-20]).mean(), rel=1e-12)


def test_norms_that_are_too_large_raise() -> None:
    p = np.linspace(0.05, 0.95, 60)
    y = (np.arange(60) % 3 == 0).astype(int)
    for metric in (cal.ece, cal.tl_ece):
        assert metric(y, p, norm=200) == pytest.approx(metric(y, p, norm=math.inf), rel=0.05)
        with raises(ArgumentError, "norm"):
            metric(y, p, norm=100_000)
        assert metric([0, 1], [0.0, 1.0], norm=100_000) == 0


def test_the_interval_of_the_accuracy_is_binomial() -> None:
    from scipy.stats import binomtest

    for right, n in ((0, 20), (19, 20), (20, 20), (1, 2)):
        y, p = np.repeat([1, 0], [right, n - right]), np.full(n, 0.8)
        exact = binomtest(right, n).proportion_ci()
        for own in ({}, {"counts": np.ones(n, int)}, {"sample_weight": np.full(n, 0.1)}):
            found = call(cal.interval, y, p, metric="accuracy", **own)
            assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-12)
            assert found.method == "exact"
            assert "too short" not in found.note
    with pytest.raises(ArgumentError, match="'exact' requires independent rows"):
        cal.interval(cal.Predictions(y, p, groups=[0, 1]), metric="accuracy", method="exact", cluster=True)
    assert (
        cal.interval(
            cal.Predictions([1] * 40, [0.8] * 40, groups=[*range(20)] * 2), metric="accuracy", cluster=True, rng=0
        ).high
        == 1
    )

"""Kernel regression and kernel density metrics: checked values, identities, limits, and fast sums against slow ones."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.metrics.kernel import bandwidths, densities, gaussian, regressions
from tests.calling import raises
from tests.checked import A, B


def draw(n: int, seed: int = 0, kind: str = "beta") -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = {"uniform": rng.random(n), "sure": 1 - 10 ** rng.uniform(-9, -0.3, n), "beta": rng.beta(0.3, 0.5, n)}[kind]
    return (rng.random(n) < p**1.3).astype(int), p


def curve_of(y: Any, p: Any, width: float) -> np.ndarray:
    kernel = np.exp(-0.5 * ((np.asarray(p)[:, None] - np.asarray(p)) / width) ** 2)
    return kernel @ np.asarray(y) / kernel.sum(axis=1)


def widths_seen(data: Any) -> dict[str, float]:
    view = cal.views.View(np.array(data[1]), np.array(data[0], np.uint8))
    score, ties = bandwidths.tie_groups(view)
    return {rule: bandwidths.rule_width(view, score, ties, rule) for rule in bandwidths.RULES}


def test_bandwidths() -> None:
    assert abs(widths_seen(A)["default"] - 0.2969786085) <= 5e-11
    assert abs(widths_seen(B)["default"] - 0.2024937321) <= 5e-11
    for data in (A, B):
        p = np.array(data[1])
        smaller = min(p.std(ddof=1), np.subtract(*np.quantile(p, [0.75, 0.25])) / 1.34)
        assert math.isclose(widths_seen(data)["silverman"], 0.9 * smaller * len(p) ** -0.2, rel_tol=1e-14)
        assert math.isclose(widths_seen(data)["scott"], 1.06 * p.std(ddof=1) * len(p) ** -0.2, rel_tol=1e-14)
    # The likelihood of so few rows takes the end of its grid.
    for data in (A, B):
        assert cal.bkde(*data) == cal.bkde(*data, bandwidth=1)


def test_equal_quartiles_leave_the_deviation() -> None:
    p = [0.5] * 8 + [0.1, 0.9]
    y = [0, 1] * 5
    assert cal.msce(y, p) == cal.msce(y, p, bandwidth="scott")


def test_leave_one_out_needs_others() -> None:
    for metric in (cal.bkde, cal.dkde):
        with pytest.raises(cal.errors.UndefinedMetricError, match="at least 2 rows"):
            metric([1], [0.3])
        with pytest.raises(cal.errors.UndefinedMetricError):
            metric([1], [0.3], sample_weight=[3.0])
        assert metric(cal.Predictions([1], [0.3], counts=[3])) == metric([1, 1, 1], [0.3, 0.3, 0.3])
    with pytest.raises(cal.errors.UndefinedMetricError):
        cal.msce([1], [0.3], bandwidth="loo_cv")
    with raises(cal.errors.UndefinedMetricError, "bkde"):
        cal.bkde([0, 1], [0.3, 0.6], norm=2, debiased="ratio")
    with raises(cal.errors.UndefinedMetricError, "bkde"):
        cal.bkde([0, 1, 1], [0.1, 0.5, 0.9], norm=2, debiased="ratio", bandwidth=1e-4)


def test_many_classes_and_zeros_do_not_underflow() -> None:
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.full(120, 0.02), 40)
    y = np.array([rng.choice(120, p=row) for row in p])
    for width in (1e-5, 0.1, 1):
        assert 0 <= cal.dkde(y, p, bandwidth=width) <= 2
    order = rng.permutation(120)
    assert math.isclose(cal.dkde(np.argsort(order)[y], p[:, order]), cal.dkde(y, p), rel_tol=1e-9)


def values_by_pairs(monkeypatch: pytest.MonkeyPatch, values: Callable[[], list[float]]) -> list[float]:
    """What the metrics are if all pairs of scores are summed, however many there are."""
    for module in (gaussian, densities, regressions):
        monkeypatch.setattr(module, "DIRECT", 10**6)
    monkeypatch.setattr(gaussian, "SEARCHED", 10**6)
    return values()


def test_fast_sums_are_plain_sums() -> None:
    y, p = draw(2500, 8)
    mean = curve_of(y, p, 0.05)
    assert abs(cal.sece(y, p) - np.mean(np.abs(mean - p))) <= 1e-9
    assert abs(cal.msce(y, p, bandwidth=0.05) - np.mean((mean - p) ** 2)) <= 1e-9


def test_bandwidth_of_many_vectors_ignores_the_order_of_rows_and_classes() -> None:
    rng = np.random.default_rng(12)
    p = rng.dirichlet(np.ones(3), 700)
    y = np.array([rng.choice(3, p=row) for row in p])
    assert len(p) > densities.JUDGED
    rows, columns = rng.permutation(700), np.array([2, 0, 1])
    wanted = cal.dkde(y, p)
    assert math.isclose(cal.dkde(y[rows], p[rows]), wanted, rel_tol=1e-12)
    assert math.isclose(cal.dkde(np.argsort(columns)[y], p[:, columns]), wanted, rel_tol=1e-10)
    counts = rng.integers(1, 3, 700)
    repeated = np.repeat(np.arange(700), counts)
    assert math.isclose(
        cal.dkde(cal.Predictions(y, p, counts=counts)), cal.dkde(y[repeated], p[repeated]), rel_tol=1e-12
    )

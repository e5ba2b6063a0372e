"""Fitted curves and their indices: checked values, what they reproduce exactly, edges, and the fast forms against the slow ones."""

import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.curves import local_regression
from calibrant.curves.local_regression import Groups, local_fits, loess, lowess, reach, tie_groups
from calibrant.views.view import View
from tests import checked
from tests.calling import raises

from . import loess_definitions as slow

Y, P = map(np.array, checked.B)
INDICES = (cal.ici, cal.e50, cal.e90, cal.emax)


def groups_of(p: Any, y: Any, **weights: Any) -> Groups:
    return tie_groups(View(np.asarray(p, dtype=float), np.asarray(y, dtype=np.uint8), **weights))


def drawn(n: int, kind: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores that are evenly spread, rare events, or confident."""
    rng = np.random.default_rng([seed, n])
    p = {
        "uniform": rng.random(n),
        "rare": 1 / (1 + np.exp(-rng.normal(-3, 1.5, n))),
        "confident": np.clip(1 - rng.exponential(0.05, n), 0.1, 1),
        "u-shaped": rng.beta(0.3, 0.5, n),
    }[kind]
    return (rng.random(n) < p**1.3).astype(int), p


@pytest.mark.parametrize("kind", ["uniform", "rare", "confident", "u-shaped"])
@pytest.mark.parametrize("n", [2500, 12000])
def test_nodes_move_the_curve_by_little(kind: str, n: int) -> None:
    y, p = drawn(n, kind)
    groups = groups_of(p, y)
    fast = loess(groups, 0.75, 2, "direct")
    some = np.unique(np.linspace(0, len(groups.score) - 1, 300).astype(int))
    at = groups.score[some]
    exact, _ = local_fits(groups, at, reach(groups, at, math.floor(0.75 * n + 1e-5)), 2)
    assert 0 < np.abs(fast[some] - exact).max() < 1e-4


def test_a_short_span_gets_more_nodes() -> None:
    y, p = drawn(20000, "uniform")
    groups = groups_of(p, y)
    fast = loess(groups, 0.02, 1, "direct")
    at = groups.score[::97]
    exact, _ = local_fits(groups, at, reach(groups, at, 400), 1)
    assert np.abs(fast[::97] - exact).max() < 5e-3  # of a curve that jumps with every row
    assert np.abs(fast[::97] - exact).mean() < 3e-4


def test_a_score_that_fills_its_neighbourhood_keeps_its_mean() -> None:
    """Most rows are sure: their curve is their own rate, and the others do not see them."""
    y, p = drawn(20000, "uniform", 3)
    p = np.where(np.arange(20000) < 17000, 1.0, p)
    groups = groups_of(p, y)
    fast = loess(groups, 0.75, 2, "direct")
    assert fast[-1] == pytest.approx(y[:17000].mean(), abs=1e-12)
    slow_fit, _ = local_fits(groups, groups.score, reach(groups, groups.score, 15000), 2)
    assert np.abs(fast - slow_fit).max() < 2e-3
    assert np.abs(fast - slow_fit).mean() < 1e-5


@pytest.mark.parametrize("kind", ["uniform", "rare", "confident"])
def test_lowess_of_many_rows(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    y, p = drawn(20000, kind)
    groups = groups_of(p, y)
    delta = 0.01 * float(np.ptp(p))
    fast = lowess(groups, 2 / 3, delta)
    with monkeypatch.context() as changed:
        changed.setattr(local_regression, "CELLS", len(p))
        assert np.abs(fast - lowess(groups, 2 / 3, delta)).max() < 3e-6
    few = groups_of(p[:400], y[:400])
    rows = [(x, r, 1.0) for x, r in zip(few.score.tolist(), few.rate.tolist(), strict=True)]
    for share in (0.01, 0.0):
        curve = slow.lowess_curve(rows, 2 / 3, share)
        found = lowess(few, 2 / 3, share * (rows[-1][0] - rows[0][0]))
        assert found == pytest.approx([curve[x] for x, _, _ in rows], abs=1e-10)


@pytest.mark.parametrize("places", [2, 3, 6])
def test_the_tree_of_many_rows(places: int) -> None:
    y, p = drawn(700, "u-shaped")
    p = np.round(p, places)
    groups = groups_of(p, y)
    rows = slow.plain_rows([(x, label, 1) for x, label in zip(p.tolist(), y.tolist(), strict=True)], False)
    curve = slow.loess_curve(rows, 0.5, 2, "interpolate")
    found = loess(groups, 0.5, 2, "interpolate")
    assert found == pytest.approx([curve[x] for x in groups.score.tolist()], abs=1e-9)


def test_reach_is_the_distance_to_the_nearest_rows() -> None:
    rng = np.random.default_rng(1)
    p = np.round(rng.random(200), 2)
    counts = rng.integers(1, 5, 200)
    groups = groups_of(p, p > 0.5, weight=counts, weight_kind="counts")
    at = rng.uniform(-0.1, 1.1, 50)
    every = np.abs(np.repeat(p, counts) - at[:, None])
    every.sort(axis=1)
    for near in (1, 2, 17, 400, int(counts.sum())):
        assert reach(groups, at, near) == pytest.approx(every[:, near - 1], abs=0)


@pytest.mark.parametrize("smoother", ["rcs", "logistic"])
def test_no_logistic_curve_of_separated_outcomes(smoother: str) -> None:
    for y in (P > 0.5, np.ones(10)):
        with raises(cal.errors.UndefinedMetricError, "ici"):
            cal.ici(y.astype(int), P, smoother=smoother)

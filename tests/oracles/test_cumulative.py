"""Cumulative metrics against literal definitions in fractions, their limit distributions against mpmath, and their null by enumeration."""

import math
from fractions import Fraction
from itertools import groupby

import mpmath
import numpy as np
import pytest

import calibrant as cal
from calibrant.metrics.cumulative.distributions import bridge_survival
from tests.calling import call

Rows = list[tuple[Fraction, Fraction, Fraction]]


def tie_groups(rows: Rows) -> list[Rows]:
    ordered = sorted(rows, key=lambda row: row[0])
    return [list(group) for _, group in groupby(ordered, key=lambda row: row[0])]


def path(rows: Rows) -> list[Fraction]:
    """Sums of weight times (score - outcome) over all weight, at the end of each tie group."""
    total = sum(w for _, _, w in rows)
    points = [Fraction(0)]
    for group in tie_groups(rows):
        points.append(points[-1] + sum(w * (p - y) for p, y, w in group) / total)
    return points


def mean_along(rows: Rows, power: int, counted: bool) -> Fraction:
    """Every row of a tie is given the group's mean residual, and an equal share of its weight."""
    total = sum(w for _, _, w in rows)
    value, now = Fraction(0), Fraction(0)
    for group in tie_groups(rows):
        mass = sum(w for _, _, w in group)
        n = int(mass) if counted else len(group)
        residual = sum(w * (p - y) for p, y, w in group) / n
        for _ in range(n):
            now += residual / total
            value += mass / n / total * abs(now) ** power
    return value


def scale(rows: Rows, importance: bool) -> float:
    total = sum(w for _, _, w in rows)
    return math.sqrt(sum((w * w if importance else w) * p * (1 - p) for p, _, w in rows)) / total


def bridge_statistics(rows: Rows, importance: bool) -> tuple[float, float]:
    time, place = [Fraction(0)], [Fraction(0)]
    for group in tie_groups(rows):
        time.append(time[-1] + sum((w * w if importance else w) * p * (1 - p) for p, _, w in group))
        place.append(place[-1] + sum(w * (p - y) for p, y, w in group))
    root = math.sqrt(time[-1])
    return abs(float(place[-1])) / root, max(
        abs(float(c - t / time[-1] * place[-1])) / root for c, t in zip(place, time, strict=True)
    )


def draw(seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    p = rng.random(n) if seed % 3 else rng.integers(1, 10, n) / 10
    y = (rng.random(n) < p).astype(int)
    words = [{}, {"counts": rng.integers(1, 4, n)}, {"sample_weight": rng.random(n) + 0.1}][seed % 4 % 3]
    return y, p, words, rng.integers(0, 3, n)


def as_rows(y: np.ndarray, p: np.ndarray, words: dict[str, np.ndarray]) -> Rows:
    weight = next(iter(words.values())) if words else np.ones(len(y), int)
    return [(Fraction(float(a)), Fraction(int(b)), Fraction(float(w))) for a, b, w in zip(p, y, weight, strict=True)]


@pytest.mark.parametrize("seed", [*range(30), *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(30, 200))])
def test_cumulative_metrics_are_their_definitions(seed: int) -> None:
    y, p, words, groups = draw(seed)
    rows = as_rows(y, p, words)
    points = path(rows)
    close = {"rel": 1e-12, "abs": 1e-13}
    assert call(cal.ecce_mad, y, p, **words) == pytest.approx(float(max(map(abs, points))), **close)
    assert call(cal.ecce_r, y, p, **words) == pytest.approx(float(max(points) - min(points)), **close)
    for power, metric in ((1, cal.ecce_mean_abs), (2, cal.ecce_l2)):
        assert call(metric, y, p, **words) == pytest.approx(float(mean_along(rows, power, "counts" in words)), **close)
    importance = "sample_weight" in words
    mean, bridge = bridge_statistics(rows, importance)
    assert call(cal.bbt, y, p, form="mean", **words) == pytest.approx(mean, rel=1e-11, abs=1e-13)
    assert call(cal.bbt, y, p, form="bridge", **words) == pytest.approx(bridge, rel=1e-11, abs=1e-13)
    chances = math.erfc(mean / math.sqrt(2)) * bridge_survival(bridge)
    assert call(cal.bbt, y, p, **words) == pytest.approx(-2 * math.log(chances), rel=1e-9, abs=1e-11)
    parts = [rows, *([row for row, g in zip(rows, groups, strict=True) if g == code] for code in set(groups.tolist()))]
    ratios = [float(max(path(part)) - min(path(part))) / scale(part, importance) for part in parts]
    assert call(cal.mcm, y, p, groups=groups, scale="sigma", **words) == pytest.approx(max(ratios), rel=1e-11)
    assert call(cal.mcm, y, p, groups=groups, **words) == pytest.approx(
        max(ratios) * scale(rows, importance), rel=1e-11
    )


@pytest.mark.parametrize("seed", range(20))
def test_ranks_are_taken_in_order_of_probability(seed: int) -> None:
    rng = np.random.default_rng(seed)
    probs = rng.multinomial(8, np.ones(4) / 4, 25) / 8
    y = rng.integers(0, 4, 25)
    for r in range(1, 5):
        top, within = [], []
        for label, row in zip(y, probs, strict=True):
            order = sorted(range(4), key=lambda k, row=row: (-row[k], k))
            top.append((Fraction(row[order[r - 1]]), Fraction(int(order[r - 1] == label)), Fraction(1)))
            within.append((sum(Fraction(row[k]) for k in order[:r]), Fraction(int(label in order[:r])), Fraction(1)))
        assert cal.ks_top_r(y, probs, r=r) == pytest.approx(float(max(map(abs, path(top)))), abs=1e-13)
        assert cal.ks_within_top_r(y, probs, r=r) == pytest.approx(float(max(map(abs, path(within)))), abs=1e-13)


@pytest.mark.parametrize("x", [0.3, 0.5, 0.8, 0.999, 1.0, 1.2, 1.499, 1.5, 2.0, 3.0, 5.0, 8.0])
def test_the_law_of_the_bridge_keeps_relative_accuracy(x: float) -> None:
    with mpmath.workdps(40):
        big = mpmath.mpf(x)
        bridge = 2 * mpmath.fsum((-1) ** (k - 1) * mpmath.exp(-2 * k * k * big**2) for k in range(1, 400))
    assert bridge_survival(x) == pytest.approx(float(bridge), rel=1e-12, abs=1e-300)

"""Subpopulations that `mcm` finds by itself, against slow forms that list the rows of each."""

import math
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.calling import call

from .definitions import cut_equal_mass

Rows = list[tuple[Fraction, int, Fraction]]


def ratio(rows: Rows, importance: bool) -> float:
    """Range of the cumulative differences at the ends of ties over their standard deviation."""
    path, now = [Fraction(0)], Fraction(0)
    for score in sorted({p for p, _, _ in rows}):
        now += sum(w * (p - y) for p, y, w in rows if p == score)
        path.append(now)
    chance = sum((w * w if importance else w) * p * (1 - p) for p, _, w in rows)
    spread = max(path) - min(path)
    return float(spread) / math.sqrt(chance) if chance else math.inf if spread else 0.0


def combined_members(features: list[list[float]], weights: list[Fraction], depth: int, cuts: int) -> list[list[int]]:
    """Rows of every combination of the values of up to `depth` features."""
    every = range(len(weights))
    parts = []
    for column in zip(*features, strict=True):
        values = sorted(set(column))
        if len(values) > cuts:
            parts.append([set(members) for members, _, _ in cut_equal_mass(list(column), weights, cuts)])
        elif len(values) > 1:
            parts.append([{i for i in every if column[i] == value} for value in values])
    found = []
    for count in range(1, depth + 1):
        for chosen in combinations(parts, count):
            found += [sorted(set.intersection(*sets)) for sets in product(*chosen)]
    return found


def tree_members(
    columns: list[list[Fraction]], weights: list[Fraction], units: list[int], depth: int, least: int
) -> list[list[int]]:
    """Rows of every node below the root: halved at the median of the feature with the largest share of its variance."""

    def variance(column: list[Fraction], rows: Any) -> float:
        total = sum(weights[i] for i in rows)
        mean = sum(weights[i] * column[i] for i in rows) / total
        return float(sum(weights[i] * (column[i] - mean) ** 2 for i in rows) / total)

    every = range(len(weights))
    varied = [column for column in columns if min(column) < max(column)]
    found: list[list[int]] = []

    def grow(rows: list[int], level: int) -> None:
        if level == depth or not varied:
            return
        spreads = [variance(column, rows) / variance(column, every) for column in varied]
        column = next(c for c, spread in zip(varied, spreads, strict=True) if spread >= max(spreads) * (1 - 1e-9))
        half, reached = sum(weights[i] for i in rows) / 2, Fraction(0)
        for i in sorted(rows, key=lambda i: column[i]):
            reached += weights[i]
            middle = column[i]
            if reached > half:
                break
        children = [[i for i in rows if column[i] < middle], [i for i in rows if column[i] >= middle]]
        if min(sum(units[i] for i in child) for child in children) >= least:
            for child in children:
                found.append(child)
                grow(child, level + 1)

    grow(list(every), 0)
    return found


def draw(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 90))
    p = rng.random(n) if seed % 3 else rng.integers(1, 10, n) / 10
    y = (rng.random(n) < p).astype(int)
    columns = [rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 7, n), np.ones(n)]
    features = np.column_stack([columns[c] for c in rng.permutation(4)[: 1 + seed % 4]]).astype(float)
    words = [{}, {"counts": rng.integers(1, 4, n)}, {"sample_weight": rng.integers(1, 16, n) / 8}][seed % 4 % 3]
    return y, p, features, words


@pytest.mark.parametrize("seed", [*range(30), *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(30, 200))])
def test_subpopulations_are_their_definitions(seed: int) -> None:
    y, p, features, words = draw(seed)
    importance = "sample_weight" in words
    weight = next(iter(words.values())) if words else np.ones(len(y), int)
    weights = [Fraction(float(w)) for w in weight]
    units = [1 if importance else int(w) for w in weight]
    rows = [(Fraction(float(a)), int(b), w) for a, b, w in zip(p, y, weights, strict=True)]
    depth, least = 1 + seed % 3, (5, 10)[seed % 2]

    def worst(members: list[list[int]]) -> float:
        parts = [part for part in members if sum(units[i] for i in part) >= least]
        return max(ratio([rows[i] for i in part], importance) for part in [range(len(rows)), *parts])

    options: dict[str, Any] = {"features": features, "scale": "sigma", "depth": depth, "min_size": least, **words}
    expected = worst(combined_members(features.tolist(), weights, depth, 3))
    assert call(cal.mcm, y, p, **options) == pytest.approx(expected, rel=1e-11)
    assert call(cal.mcm, y, p, subpopulations="combinations", **options) == pytest.approx(expected, rel=1e-11)
    columns = [[Fraction(value) for value in column] for column in features.T.tolist()]
    expected = worst(tree_members(columns, weights, units, depth, least))
    assert call(cal.mcm, y, p, subpopulations="tree", **options) == pytest.approx(expected, rel=1e-11)


def problem(n: int = 400, columns: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    p = rng.random(n)
    return (rng.random(n) < p).astype(int), p, rng.normal(size=(n, columns))


def test_groups_decide_alone_unless_features_are_asked_for() -> None:
    y, p, features = problem()
    groups = np.arange(400) % 5
    assert cal.mcm(cal.Predictions(y, p, groups=groups, features=features)) == cal.mcm(
        cal.Predictions(y, p, groups=groups)
    )
    assert cal.mcm(cal.Predictions(y, p, features=features)) == cal.mcm(
        cal.Predictions(y, p, features=features), subpopulations="combinations"
    )


def test_sure_rows_in_a_subpopulation() -> None:
    y, p, features = problem(60, 1)
    sure = features[:, 0] < np.quantile(features[:, 0], 0.3)
    p = np.where(sure, y, p)
    assert cal.mcm(cal.Predictions(y, p, features=sure * 1.0)) < math.inf
    wrong = np.where(sure, 1 - y, y)
    assert cal.mcm(cal.Predictions(wrong, p, features=sure * 1.0)) == math.inf


@pytest.mark.parametrize("subpopulations", ["tree", "combinations"])
@pytest.mark.parametrize("seed", range(8))
def test_the_worst_subpopulation_is_named_and_its_name_selects_its_rows(subpopulations: str, seed: int) -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    n = 300
    frame = pd.DataFrame({"age": rng.integers(18, 30, n), "income": np.round(rng.normal(size=n), 1), "same": 1.0})
    p = np.round(rng.uniform(0.05, 0.95, n), 2)
    y = (rng.random(n) < np.where(frame["age"] > 25, p / 2, p)).astype(int)
    options = {"subpopulations": subpopulations, "scale": "sigma"}
    whole = cal.assess(cal.Predictions(y, p, features=frame), metric="mcm", n_resamples=19, **options)
    inside = np.ones(n, bool)
    for text in [] if whole.subgroup == "all rows" else whole.subgroup.split(" and "):
        name, sign, value = (parts := text.split(" "))[-3:]
        at_most = sign == "≤"
        values = frame[name if len(parts) == 3 else parts[2]].to_numpy()
        if len(parts) == 5:
            inside &= values >= float(parts[0]) - 1e-9
        inside &= values <= float(value) + 1e-9 if at_most else values >= float(value) - 1e-9
        inside &= values <= float(value) + 1e-9 if sign == "=" else True
    rows = [(Fraction(s), int(o), Fraction(1)) for s, o in zip(p[inside].tolist(), y[inside].tolist(), strict=True)]
    assert ratio(rows, False) == pytest.approx(whole.statistic, rel=1e-9)
    assert f"largest in: {whole.subgroup}" in repr(whole)


def test_a_group_is_named_as_the_worst_subpopulation() -> None:
    y, p, groups = [0, 1] * 50 + [0] * 100, [0.5] * 200, ["right"] * 100 + ["wrong"] * 100
    assert cal.assess(cal.Predictions(y, p, groups=groups), metric="mcm", n_resamples=19).subgroup == "wrong"

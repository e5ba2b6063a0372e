"""What is computed exactly where papers draw at random, against the draws; null variances against all label vectors."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.calling import call

from .counts_of_bins import debiased_sum, dyadic, null_variance, partition
from .test_checked_values import T1, T2

DRAWS = 4000


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(40 if metafunc.config.getoption("--deep") else 6))


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng([41, seed])


def problem(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = int(rng.integers(5, 60))
    return rng.integers(0, 2, n), rng.beta(0.7, 0.9, n), rng.integers(1, 4, n)


def shifted_errors(y: np.ndarray, p: np.ndarray, w: np.ndarray, width: float, shifts: np.ndarray) -> np.ndarray:
    errors = []
    for shift in shifts:
        cell = np.floor((p + shift) / width).astype(int)
        errors.append(np.abs(np.bincount(cell, w * (p - y))).sum() / w.sum())
    return np.array(errors)


def within_noise(value: float, draws: np.ndarray) -> bool:
    return abs(value - draws.mean()) <= 5 * draws.std() / math.sqrt(len(draws)) + 1e-12


@pytest.mark.parametrize("width", [1, 0.5, 1 / 15, 0.01])
def test_random_shifts(width: float, rng: np.random.Generator) -> None:
    y, p, w = problem(rng)
    draws = shifted_errors(y, p, w, width, rng.uniform(0, width, DRAWS))
    assert within_noise(cal.rice(cal.Predictions(y, p, counts=w), width=width), draws)
    assert not within_noise(
        cal.rice(cal.Predictions(y, p, counts=w), width=width) + 10 * draws.std() / math.sqrt(DRAWS) + 1e-9, draws
    )


def test_least_over_random_shifts(rng: np.random.Generator) -> None:
    y, p, w = problem(rng)
    widths = [2.0**-k for k in range(10)]
    draws = [shifted_errors(y, p, w, width, rng.uniform(0, width, 1000)) + width for width in widths]
    best = int(np.argmin([d.mean() for d in draws]))
    value = cal.sice(cal.Predictions(y, p, counts=w))
    noise = max(d.std() for d in draws) / math.sqrt(1000)
    assert abs(value - draws[best].mean()) <= 5 * noise + 1e-12
    assert value == pytest.approx(
        min(cal.rice(cal.Predictions(y, p, counts=w), width=width) + width for width in widths), abs=1e-12
    )


@pytest.mark.parametrize("kind", ["counts", "sample_weight"])
def test_rates_drawn_again(kind: str, rng: np.random.Generator) -> None:
    y, p, w = problem(rng)
    words: dict[str, Any] = {kind: w}
    table = call(cal.calibration_curve, y, p, bins=5, binning="equal_mass", **words).table
    size = table.weight if kind == "counts" else table.weight**2 / table.square
    deviation = np.sqrt(table.rate * (1 - table.rate) / size)
    rates = table.rate + deviation * rng.normal(size=(DRAWS, len(table)))
    redrawn = (table.share * np.abs(table.mean_score - rates)).sum(axis=1)
    error = call(cal.ece, y, p, bins=5, binning="equal_mass", **words)
    value = call(cal.ece_db, y, p, bins=5, **words)
    assert within_noise(2 * error - value, redrawn)


# The debiased estimator when labels follow the forecast: mean 0 and a known variance, over all label vectors.


def all_labels(scores: list[Fraction]) -> list[tuple[tuple[int, ...], Fraction]]:
    found = []
    for labels in product((0, 1), repeat=len(scores)):
        chance = Fraction(1)
        for score, label in zip(scores, labels, strict=True):
            chance *= score if label else 1 - score
        found.append((labels, chance))
    return found


@pytest.mark.parametrize("importance", [False, True])
def test_null_moments_of_the_debiased_estimator(importance: bool, rng: np.random.Generator) -> None:
    n = int(rng.integers(3, 8))
    scores = [Fraction(int(k), 64) for k in rng.integers(1, 64, n)]
    weights = [Fraction(int(k), 8) for k in rng.integers(1, 17, n)] if importance else [Fraction(1)] * n
    words: dict[str, Any] = {"sample_weight": [float(w) for w in weights]} if importance else {}
    p = [float(score) for score in scores]
    for bins in (1, 2, 4):
        cells = partition(list(zip(scores, [0] * n, weights, strict=True)), importance, bins)
        mean = square = Fraction(0)
        for labels, chance in all_labels(scores):
            question = list(zip(scores, labels, weights, strict=True))
            value = debiased_sum(question, importance, cells) / sum(weights)
            mean += chance * value
            square += chance * value**2
        assert mean == 0
        assert square == null_variance(question, importance, cells) / sum(weights) ** 2
        # The public value of one of them, so that it is this estimator whose moments these are.
        y = list(labels)
        assert call(cal.t_cal, y, p, bins=bins, **words) == pytest.approx(float(value), abs=1e-12)


@pytest.mark.parametrize(
    ("data", "bins", "deviation"), [(T1, 2, 0.0474341649), (T2, 5, 0.0398348152), (T2, 2, 0.0292499573)]
)
def test_checked_null_deviation(data: Any, bins: int, deviation: float) -> None:
    question = [(Fraction(p), y, Fraction(1)) for y, p in zip(*data, strict=True)]
    variance = null_variance(question, False, partition(question, False, bins)) / len(question) ** 2
    assert math.sqrt(variance) == pytest.approx(deviation, abs=0.5e-10)


@pytest.mark.parametrize("kind", ["none", "counts", "sample_weight"])
@pytest.mark.parametrize("binning", ["equal_width", "equal_mass"])
def test_dyadic_choice(binning: str, kind: str, rng: np.random.Generator) -> None:
    y, p, w = problem(rng)
    weight = w if kind == "counts" else w / 8
    words: dict[str, Any] = {} if kind == "none" else {kind: weight}
    question = [
        (Fraction(score), int(label), Fraction(1 if kind == "none" else unit))
        for score, label, unit in zip(p.tolist(), y.tolist(), weight.tolist(), strict=True)
    ]
    count = dyadic(question, kind == "sample_weight", binning)
    found = call(cal.calibration_curve, y, p, bins="tcal", binning=binning, **words).table
    wanted = call(cal.calibration_curve, y, p, bins=count, binning=binning, **words).table
    assert found.edges.tolist() == wanted.edges.tolist()


def test_calibrated_labels_lower_the_debiased_squared_error() -> None:
    """Over all label vectors drawn from the forecasts of T2, two bins: the mean is minus the variance of scores in a bin."""
    scores = [Fraction(p) for p in T2[1]]
    total = 0.0
    for labels, chance in all_labels(scores):
        cells = [labels[:5], labels[5:]]
        means = [sum(scores[:5]) / 5, sum(scores[5:]) / 5]
        value = 0.0
        for ones, mean in zip(map(sum, cells), means, strict=True):
            rate = ones / 5
            value += 0.5 * ((float(mean) - rate) ** 2 - rate * (1 - rate) / 4)
        total += float(chance) * value
        if labels == tuple(T2[0]):
            assert cal.ce2_db(*T2, bins=2) == pytest.approx(value, abs=1e-12)
    assert total == pytest.approx(-0.005, abs=1e-6)


def test_influences_of_the_interval() -> None:
    """T2, five bins: the mean influence is the squared error, and its variance over N is what the interval adds."""
    y, p = map(np.array, T2)
    table = cal.calibration_curve(y, p, bins=5).table
    cell = np.searchsorted(table.right, p)
    gap = table.gap[cell]
    influence = 2 * gap * (p - y) - gap**2
    assert influence.mean() == pytest.approx(0.03, abs=1e-12)
    assert influence.mean() == pytest.approx(cal.rmsce(y, p, bins=5) ** 2, abs=1e-12)
    assert influence.var() / 10 == pytest.approx(0.001098, abs=0.5e-6)

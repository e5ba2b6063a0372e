"""gece_db: nothing is left on average where labels follow the probabilities, by enumeration, and its chance level otherwise."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import calibrant as cal
from calibrant.metrics.bin import joint
from calibrant.views.resolve import views_of

THREE = np.array([[0.5, 0.25, 0.25], [0.5, 0.5, 0.0], [0.125, 0.125, 0.75], [0.0, 1.0, 0.0], [0.25, 0.5, 0.25]])


@pytest.mark.parametrize(
    "words",
    [{}, {"gamma": 0.4, "min_size": 1}, {"distance": "l1", "gamma": 0.2, "min_size": 1}, {"lens": "top_k:2"},
     {"lens": "top_label", "bins": 3}, {"lens": "classwise", "bins": 2}, {"lens": cal.class_groups({"a": [0, 1], "b": [2]})}],
)  # fmt: skip
def test_its_expected_value_is_0_for_calibrated_forecasts(words: dict) -> None:
    expected = Fraction(0)
    for labels in product(range(3), repeat=len(THREE)):
        chance = math.prod(Fraction(THREE[i, label]) for i, label in enumerate(labels))
        if chance:
            expected += chance * Fraction(cal.gece_db(labels, THREE, **words))
    assert float(expected) == pytest.approx(0, abs=1e-13)


def deviation(chances: np.ndarray) -> float:
    """E|S - E S| of a sum of independent events, by adding one event at a time."""
    reached = np.ones(1)
    for p in chances:
        reached = np.convolve(reached, [1 - p, p])
    return float(np.abs(np.arange(len(reached)) - chances.sum()) @ reached)


@pytest.mark.parametrize(
    ("rows", "classes", "alpha", "cells", "tolerance"),
    [(157, 3, 1.0, 4, 1e-12), (203, 100, 0.05, 5, 1e-12), (61, 4, 0.02, 30, 1e-11), (1501, 3, 1.0, 2, 1e-7), (400, 2, 0.5, 1, 1e-4)],
)  # fmt: skip
def test_the_chance_level_against_its_distribution(
    rows: int, classes: int, alpha: float, cells: int, tolerance: float
) -> None:
    rng = np.random.default_rng(rows)
    probs = rng.dirichlet(np.full(classes, alpha), rows)
    if classes == 2:
        probs = np.round(2 * probs) / 2  # exact 0, 1/2 and 1
    cell = rng.integers(0, cells, rows)
    [view] = views_of(cal.Predictions(np.zeros(rows, int), probs), "canonical")
    wanted = sum(deviation(probs[cell == c, k]) for c in range(cells) for k in range(classes))
    assert joint.expected_absolute_gaps(view, cell, cells) == pytest.approx(wanted, rel=tolerance)


def test_known_values() -> None:
    assert cal.gece_db([0, 1], [0.5, 0.5]) == pytest.approx(-0.25)  # E|S - 1| = 1/2 for two fair coins
    assert cal.gece_db([0, 1], [0.5, 0.5], distance="l1") == pytest.approx(-0.5)
    for k in (3, 10, 50):  # one row of each class at equal probabilities
        assert cal.gece_db(np.arange(k), np.full((k, k), 1 / k), gamma=1) == pytest.approx(-((1 - 1 / k) ** k))
    assert cal.gece_db([0, 1, 2], np.eye(3)) == 0
    assert (
        cal.gece_db([1, 2, 0], np.eye(3), binning=cal.SimplexGrid(2)) == 1
    )  # certain forecasts leave nothing to chance

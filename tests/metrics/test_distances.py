"""Distances of gece, and the deviation and interval that come with t_cal."""

import math

import numpy as np
import pytest

import calibrant as cal

P = np.array([[0.7, 0.2, 0.1], [0.15, 0.55, 0.3], [0.2, 0.15, 0.65], [0.42, 0.48, 0.1]])
Y = [0, 1, 2, 0]
GAP = P.mean(axis=0) - np.eye(3)[Y].mean(axis=0)  # the only cell of four rows


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"distance": "lp", "norm": 3}, np.linalg.norm(GAP, 3)),
        ({"distance": "lp", "norm": math.inf}, np.abs(GAP).max()),
        ({"distance": "l2", "class_weight": [1, 0, 4]}, math.sqrt(GAP[0] ** 2 + 4 * GAP[2] ** 2)),
        ({"distance": "mahalanobis", "matrix": np.diag([1, 2, 3])}, math.sqrt(GAP**2 @ [1, 2, 3])),
    ],
)
def test_distances_of_one_cell(words: dict[str, object], expected: float) -> None:
    assert cal.gece(Y, P, **words) == pytest.approx(expected, rel=1e-12)


def test_interval_distance_asks_whether_the_promise_is_kept() -> None:
    y, p = [1, 1, 0, 1, 0], [0.62, 0.65, 0.7, 0.75, 0.79]
    rate = 3 / 5
    kept = cal.gece(y, p, lens="binary", distance="interval", interval=(0.6, 0.8), bins=1)
    missed = cal.gece(y, p, lens="binary", distance="interval", interval=(0.65, 0.8), bins=1)
    assert kept == 0
    assert missed == pytest.approx(0.65 - rate)


def test_an_indefinite_matrix_is_taken_when_told() -> None:
    matrix = np.diag([1.0, 1.0, -1e-3])
    assert cal.gece(Y, P, distance="mahalanobis", matrix=matrix, indefinite=True) == pytest.approx(
        math.sqrt(GAP**2 @ np.diag(matrix))
    )

"""The learned matrix: the conditions of its optimum, matrices that are recovered, and feedback that is refused."""

import math

import numpy as np
import pytest

import calibrant as cal
from calibrant.metrics.matrix_learning import LearnedMatrix, learn_matrix


def problem(n: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, forecasts, and their differences."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(k, 0.4), n)
    labels = rng.integers(0, k, n)
    return labels, probs, probs - np.eye(k)[labels]


def within(k: int) -> np.ndarray:
    return np.eye(k) - 1 / k


def squares(matrix: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    return np.array([float(gap @ matrix @ gap) for gap in gaps])


def assert_optimal(matrix: np.ndarray, slope: np.ndarray) -> None:
    """Karush-Kuhn-Tucker: matrix and slope are positive semi-definite among vectors of sum 0, and orthogonal."""
    slope = within(len(matrix)) @ slope @ within(len(matrix))
    scale = np.abs(matrix).max()
    assert np.linalg.eigvalsh(matrix)[0] >= -1e-10 * scale
    assert np.linalg.eigvalsh(slope)[0] >= -1e-8
    assert np.trace(slope @ matrix) == pytest.approx(0, abs=1e-8 * scale)


@pytest.mark.parametrize(
    ("n", "k", "shrinkage"), [(40, 3, 0.01), (25, 5, 0.1), (7, 4, 1.0), (30, 2, 0.01), (50, 10, 0.01)]
)
def test_ratings_at_the_optimum(n: int, k: int, shrinkage: float) -> None:
    labels, probs, gaps = problem(n, k, n)
    ratings = np.random.default_rng(k).integers(0, 6, n)  # unlike any distance, so that the constraint binds
    found = learn_matrix(labels, probs, ratings=ratings, shrinkage=shrinkage)
    unit = np.mean(ratings.astype(float) ** 2) / np.mean((gaps**2).sum(axis=1))
    core = found.matrix / unit
    slope = 2 * shrinkage * (core - within(k))
    for gap, rating in zip(gaps, ratings, strict=True):
        slope += 2 / n * (gap @ core @ gap - rating**2 / unit) * np.outer(gap, gap)
    assert_optimal(core, slope)
    assert np.abs(found.matrix.sum(axis=1)).max() < 1e-9 * np.abs(found.matrix).max()
    assert math.isfinite(cal.gece(labels, probs, distance="mahalanobis", matrix=found.matrix))


def test_a_matrix_is_recovered_from_its_own_distances() -> None:
    labels, probs, gaps = problem(200, 4, 1)
    factor = np.random.default_rng(2).normal(size=(4, 4))
    truth = factor @ factor.T
    found = learn_matrix(labels, probs, ratings=np.sqrt(squares(truth, gaps)), shrinkage=1e-7)
    np.testing.assert_allclose(found.matrix, within(4) @ truth @ within(4), rtol=1e-3, atol=1e-3 * truth.max())
    assert found.agreement == pytest.approx(1, abs=1e-6)
    want = cal.gece(labels, probs, distance="mahalanobis", matrix=truth)
    assert cal.gece(labels, probs, distance="mahalanobis", matrix=found.matrix) == pytest.approx(want, rel=1e-3)
    # Ratings in another unit, and without shrinkage towards them: strong shrinkage gives the Euclidean distance.
    scaled = learn_matrix(labels, probs, ratings=10 * np.sqrt(squares(truth, gaps)), shrinkage=1e-7)
    np.testing.assert_allclose(scaled.matrix, 100 * found.matrix, rtol=1e-6, atol=1e-6 * found.matrix.max())
    flat = learn_matrix(labels, probs, ratings=np.sqrt(squares(truth, gaps)), shrinkage=1e6).matrix
    np.testing.assert_allclose(flat / np.trace(flat), within(4) / 3, atol=1e-4)


def test_noisy_ratings_get_closer_with_more_of_them() -> None:
    truth = np.array([[1.0, -0.9, 0.0], [-0.9, 1.0, 0.0], [0.0, 0.0, 3.0]])
    wanted = within(3) @ truth @ within(3)
    away = []
    for n in (30, 3000):
        labels, probs, gaps = problem(n, 3, n)
        noise = np.random.default_rng(0).normal(0, 0.3, n)
        found = learn_matrix(labels, probs, ratings=np.abs(np.sqrt(squares(truth, gaps)) + noise)).matrix
        away.append(float(np.linalg.norm(found / np.trace(found) - wanted / np.trace(wanted))))
    assert away[1] < min(0.1, away[0])


def test_rows_classes_and_names_may_change_their_order() -> None:
    labels, probs, _ = problem(40, 4, 5)
    ratings = np.random.default_rng(1).random(40)
    found = learn_matrix(labels, probs, ratings=ratings)
    rows, order = np.random.default_rng(2).permutation(40), np.array([2, 0, 3, 1])
    names = np.array(["a", "b", "c", "d"])
    again = learn_matrix(
        cal.Predictions(names[labels[rows]], probs[rows][:, order], classes=names[order].tolist()),
        ratings=ratings[rows],
    )
    np.testing.assert_allclose(again.matrix, found.matrix[np.ix_(order, order)], atol=1e-9)
    assert again.classes == ("c", "a", "d", "b")
    counts = np.arange(40) % 3
    repeated = np.repeat(np.arange(40), counts)
    one = learn_matrix(cal.Predictions(labels, probs, counts=counts), ratings=ratings).matrix
    other = learn_matrix(labels[repeated], probs[repeated], ratings=ratings[repeated]).matrix
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_the_result_shows_its_classes() -> None:
    labels, probs, _ = problem(20, 3, 5)
    found = learn_matrix(
        cal.Predictions(np.array(["x", "y", "z"])[labels], probs, classes=["x", "y", "z"]), ratings=np.ones(20)
    )
    assert isinstance(found, LearnedMatrix)
    assert repr(found).startswith("Matrix of 3 classes from 20 ratings; variance of the ratings explained: -\nclass")
    assert list(found.to_frame().columns) == ["class", "x", "y", "z"]
    assert found.to_dict()["matrix"] == found.matrix.tolist()
    assert learn_matrix([0, 1, 1], [0.3, 0.4, 0.9], ratings=[1, 2, 0.1]).matrix.shape == (2, 2)


LABELS, PROBS, _ = problem(4, 3, 0)

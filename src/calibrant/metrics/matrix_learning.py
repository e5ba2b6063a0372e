"""The matrix of a Mahalanobis distance between forecast and label, learned from ratings of single errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError, ShapeError
from ..input.convert import column, numbers
from ..input.predictions import Predictions
from ..util.arrays import Floats
from ..util.checks import check_positive
from ..util.results import Result, number, several
from ..views.keywords import documents_keywords
from ..views.resolve import as_predictions, views_of
from ..views.view import VectorView

# Steps of the projected gradient, and the change at which it ends.
MOST_STEPS, SETTLED = 100_000, 1e-13


@dataclass(frozen=True, repr=False)
class LearnedMatrix(Result):
    """Matrix of a Mahalanobis distance that was learned from ratings.

    Returned by `learn_matrix`; ``gece(..., distance="mahalanobis", matrix=result.matrix)`` uses it.

    Parameters
    ----------
    matrix : ndarray of shape (K, K)
        Symmetric positive semi-definite matrix whose rows sum to 0.
    classes : tuple
        The classes, in the order of its rows.
    n : int
        Number of ratings.
    agreement : float
        Share of the variance of the ratings that the distance explains; NaN where all are equal.
    shrinkage : float
        Weight of the Euclidean distance.
    """

    matrix: Floats
    classes: tuple[Any, ...]
    n: int
    agreement: float
    shrinkage: float

    def _title(self) -> str:
        share = "-" if math.isnan(self.agreement) else f"{100 * self.agreement:.1f}%"
        count = several(self.n, "rating")
        return f"Matrix of {len(self.classes)} classes from {count}; variance of the ratings explained: {share}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        names = [str(name) for name in self.classes]
        return ["class", *names], [
            [name, *map(number, row)] for name, row in zip(names, self.matrix.tolist(), strict=True)
        ]

    def _columns(self) -> dict[str, list[Any]]:
        columns = {str(name): values.tolist() for name, values in zip(self.classes, self.matrix.T, strict=True)}
        return {"class": [str(name) for name in self.classes], **columns}


@documents_keywords()
def learn_matrix(y_true: Any, y_prob: Any = None, *, ratings: Any, shrinkage: float = 0.01) -> LearnedMatrix:
    r"""Learn from ratings how severe a confusion between classes is, for the distance ``"mahalanobis"`` of `gece`.

    An expert sees some forecasts with their labels and rates how bad each error is.
    The matrix :math:`M` of the distance :math:`d(\hat p, y) = \sqrt{(\hat p - y)^\top M (\hat p - y)}` is then estimated, so that
    confusions of classes that are alike count less than those of classes that are not.

    Parameters
    ----------
    y_true
    y_prob
    ratings : array-like of shape (N,)
        Severity of the error of each row, on a scale on which 0 denotes none and twice the number is twice as bad.
    shrinkage : float, default 0.01
        Weight of the Euclidean distance, to which confusions without ratings are shrunk.

    Returns
    -------
    LearnedMatrix
        Result with the attributes ``matrix``, ``classes``, ``agreement``, ``n`` and ``shrinkage``.

    Raises
    ------
    ArgumentError
        If a rating is negative, or all are 0.
    ShapeError
        If there is not one rating for each row.

    See Also
    --------
    gece : The error that uses the matrix.

    Notes
    -----
    The generalised Mahalanobis distance is that of [1]_, which leaves learning the matrix from experts to future work. The estimator
    is chosen here, as a plain form of metric learning [2]_. With :math:`\delta_i = \hat p_i - y_i`, :math:`D_i = \delta_i^\top A \delta_i`
    and ratings :math:`r_i` of weight :math:`w_i` (`sample_weight` or `counts`), :math:`M = c A` with :math:`c = \sum_i w_i r_i^2 / \sum_i w_i
    \lVert \delta_i \rVert^2` and

    .. math:: A = \arg\min_{A \succeq 0,\, A 1 = 0} \frac{\sum_i w_i (D_i - r_i^2 / c)^2}{\sum_i w_i} + \lambda \lVert A - P \rVert_F^2,

    where :math:`P = I - 1 1^\top / K` gives the Euclidean distance and :math:`\lambda` is `shrinkage`. Errors sum to 0, so that only :math:`P M P` matters for the distance: the
    solution with rows that sum to 0 is returned. The problem is convex and is solved by projected gradient steps.

    References
    ----------
    .. [1] Kirchenbauer, J., Oaks, J. and Heim, E. (2022). What is your metric telling you? Evaluating classifier calibration under
       context-specific definitions of reliability. ICLR Workshop on ML Evaluation Standards.
    .. [2] Bellet, A., Habrard, A. and Sebban, M. (2015). Metric Learning. Morgan & Claypool.

    Examples
    --------
    Confusing classes 0 and 1 is rated as a small error, and class 2 with another one as a large one:

    >>> import calibrant as cal
    >>> y_prob = [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1], [1, 0, 0], [0, 1, 0]]
    >>> y_true = [0, 1, 0, 1, 2, 2]
    >>> learned = cal.metrics.learn_matrix(y_true, y_prob, ratings=[1, 1, 5, 5, 5, 5])
    >>> round(cal.gece([0], [[0.2, 0.8, 0]], distance="mahalanobis", matrix=learned.matrix), 1)
    0.9
    >>> round(cal.gece([0], [[0.2, 0, 0.8]], distance="mahalanobis", matrix=learned.matrix), 1)
    4.0
    """
    check_positive(shrinkage, "shrinkage")
    predictions = as_predictions(y_true, y_prob)
    [view] = views_of(predictions, "canonical")
    assert isinstance(view, VectorView)
    gaps = np.concatenate([block.probs - block.targets for _, block in view.blocks()])
    classes = predictions.classes or tuple(range(view.k))
    basis = _basis(view.k)
    points = gaps @ basis
    core, count, agreement = _from_ratings(points, _ratings(ratings, predictions), view.weights, float(shrinkage))
    matrix = basis @ core @ basis.T
    return LearnedMatrix((matrix + matrix.T) / 2, tuple(classes), count, agreement, float(shrinkage))


def _basis(k: int) -> Floats:
    """Orthonormal columns that span the vectors with sum 0 (Helmert)."""
    basis = np.zeros((k, k - 1))
    for j in range(1, k):
        basis[:j, j - 1], basis[j, j - 1] = 1, -j
        basis[:, j - 1] /= math.sqrt(j * (j + 1))
    return basis


def _ratings(ratings: Any, predictions: Predictions) -> Floats:
    kept = predictions.kept  # rows of weight 0 were dropped
    n = predictions.n if kept is None else len(kept)
    values = numbers(column(ratings, "ratings").array, "ratings").astype(np.float64)
    if values.shape != (n,):
        raise ShapeError("ratings", f"expected {n} numbers, one per row; got shape {values.shape}")
    bad = np.flatnonzero(~np.isfinite(values) | (values < 0))
    if len(bad):
        raise ArgumentError(
            "ratings", f"must be finite and not negative; got {values[bad[0]]:g} in row {bad[0]}", "leave the row out"
        )
    return values if kept is None else values[kept]


def _from_ratings(points: Floats, ratings: Floats, weight: Floats, shrinkage: float) -> tuple[Floats, int, float]:
    used = weight > 0
    points, ratings, share = points[used], ratings[used], weight[used] / weight.sum()
    norm = np.square(points).sum(axis=1)
    if not (share @ norm > 0 and share @ ratings > 0):
        raise ArgumentError("ratings", "say nothing: all of them, or all errors, are 0", "rate rows with errors")
    unit = float(share @ ratings**2 / (share @ norm))
    wanted = ratings**2 / unit

    def gradient(core: Floats) -> Floats:
        away = np.einsum("ij,jk,ik->i", points, core, points) - wanted
        return 2 * (points.T * (share * away)) @ points

    core = unit * _minimize(gradient, points.shape[1], 2 * float(share @ norm**2), shrinkage)
    distance = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", points, core, points), 0))
    spread = share @ np.square(ratings - share @ ratings)
    agreement = (
        1 - share @ np.square(ratings - distance) / spread if spread > 1e-24 * (share @ ratings**2) else math.nan
    )
    return core, int(used.sum()), float(agreement)


def _minimize(gradient: Callable[[Floats], Floats], size: int, steepest: float, shrinkage: float) -> Floats:
    """Minimise a convex loss plus shrinkage ||A - I||^2 over positive semi-definite A, by accelerated projected gradient steps.

    `gradient` is that of the loss, and `steepest` bounds its Lipschitz constant.
    """
    identity = np.eye(size)
    step = 1 / (steepest + 2 * shrinkage)
    root = math.sqrt(2 * shrinkage * step)
    momentum = (1 - root) / (1 + root)
    core = ahead = identity
    for _ in range(MOST_STEPS):
        moved = ahead - step * (gradient(ahead) + 2 * shrinkage * (ahead - identity))
        values, vectors = np.linalg.eigh((moved + moved.T) / 2)
        following = (vectors * np.maximum(values, 0)) @ vectors.T
        change = float(np.abs(following - core).max())
        ahead = following + momentum * (following - core)
        core = following
        if change <= SETTLED * max(1.0, float(np.abs(core).max())):
            break
    return core

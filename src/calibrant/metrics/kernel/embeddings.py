"""Kernel calibration errors of whole distributions: pairs of rows weighted by the similarity of their probability vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ArgumentError, CalibrantWarning, UndefinedMetricError, warn_caller
from ...util.arrays import Floats
from ...util.blocks import map_blocks, rows_per_block
from ...util.checks import check_positive, check_whole
from ...views.view import VectorView
from ..registry import metric
from .pairs import (
    Cloud,
    Distance,
    Kernel,
    Shape,
    all_pairs,
    as_points,
    choose_kernel,
    cloud_of,
    evenly_spaced,
    kernel_sums,
    one_column,
)

# U^2 (K + 15) of U distinct predictions: a pair costs a distance over K classes and an exponential. Some 3 s on one core.
MOST_PAIR_WORK = 6e9
# Smallest block with an informative number of pairs.
SMALLEST_PART = 256
# A matrix of all pairs of this many predictions takes 72 MB.
EXACT_PREDICTIONS = 3000
LANDMARKS = 1000
# Few rows may be sorted by chance, and with very many classes pairs of rows are hardly informative.
ROWS_IN_ORDER = 20
MANY_CLASSES = 100


def number_of_parts(cloud: Cloud, kernel: Kernel, exact: bool | None) -> int:
    """Return the number of blocks for which pairs inside a block take some seconds."""
    if exact is not None and not isinstance(exact, bool):
        raise ArgumentError("exact", f"must be True, False or None; got {exact!r}")
    size, columns = cloud.points.shape
    if exact or (columns == 1 and kernel.shape == "exponential"):
        return 1
    parts = math.ceil(size * size * (columns + 15) / MOST_PAIR_WORK)
    return max(1, min(parts, size // SMALLEST_PART))


def without_own(cloud: Cloud, kernel: Kernel, parts: int) -> tuple[float, float]:
    """Compute the sum over pairs of different rows of weight times k <y - p, y' - p'>, and the weight of these pairs."""
    sums, weights = [], []
    for start in range(parts):
        part = cloud.every(start, parts)
        sums += [all_pairs(part.points, part.residual, kernel), -math.fsum(part.own_term)]
        weights += [math.fsum(part.share) ** 2, -math.fsum(part.own)]
    return math.fsum(sums), math.fsum(weights)


@metric(
    "Squared kernel calibration error, biased",
    range=(0, 2),
    ideal=0,
    lens="canonical",
    sketch=False,
    cite="widmann2019",
)
def skce_b(
    view: VectorView,
    *,
    kernel: Shape = "exponential",
    distance: Distance = "auto",
    bandwidth: Any = "median",
    exact: bool | None = None,
) -> float:
    """Mean over all pairs of rows of the product of their residuals weighted by a kernel of their predictions."""
    cloud = cloud_of(one_column(view))
    near = choose_kernel(cloud, kernel, distance, bandwidth)
    parts = number_of_parts(cloud, near, exact)
    if parts == 1:
        return max(0.0, all_pairs(cloud.points, cloud.residual, near))
    total, weight = without_own(cloud, near, parts)
    return max(0.0, total / weight * (1 - math.fsum(cloud.own)) + math.fsum(cloud.own_term))


@metric(
    "Squared kernel calibration error, unbiased",
    range=(-2, 2),
    ideal=0,
    lens="canonical",
    sketch=False,
    cite="widmann2019",
)
def skce_uq(
    view: VectorView,
    *,
    kernel: Shape = "exponential",
    distance: Distance = "auto",
    bandwidth: Any = "median",
    exact: bool | None = None,
) -> float:
    """Mean over pairs of different rows of the product of their residuals weighted by a kernel of their predictions."""
    cloud = cloud_of(one_column(view))
    near = choose_kernel(cloud, kernel, distance, bandwidth)
    total, weight = without_own(cloud, near, number_of_parts(cloud, near, exact))
    if weight <= 1e-12:
        raise UndefinedMetricError("skce_uq", "requires pairs of rows, and one row has all the weight", "use skce_b")
    return total / weight


@metric(
    "Squared kernel calibration error, linear time",
    range=(-2, 2),
    ideal=0,
    lens="canonical",
    counts=False,
    importance=False,
    sketch=False,
    cite="widmann2019",
)
def skce_ul(
    view: VectorView,
    *,
    kernel: Shape = "exponential",
    distance: Distance = "auto",
    bandwidth: Any = "median",
    block: int = 2,
    rng: Any = None,
) -> float:
    """Mean over consecutive pairs of rows of the product of their residuals weighted by a kernel of their predictions."""
    view = one_column(view)
    size = check_whole(block, "block", 2)
    if view.n < size:
        raise UndefinedMetricError("skce_ul", f"requires {size} rows for a block; got {view.n}", "use skce_b")
    if rng is None:
        _warn_of_order(view)
    # The median bandwidth needs all rows at once; a number does not.
    near = choose_kernel(
        cloud_of(view if bandwidth == "median" else _mixed(view, np.arange(1))), kernel, distance, bandwidth
    )
    rows = view if rng is None else _mixed(view, np.random.default_rng(rng).permutation(view.n))

    def work(start: int, stop: int) -> float:
        part = rows.block(start * size, stop * size)
        return _pairs_in_blocks(as_points(part.probs), part.targets - part.probs, near, size)

    blocks = view.n // size
    sums = map_blocks(work, blocks, max(1, view.block_rows // size), columns=size * view.k)
    return math.fsum(sums) / (blocks * size * (size - 1) / 2)


def _pairs_in_blocks(points: Floats, residual: Floats, kernel: Kernel, size: int) -> float:
    """Compute the sum over the pairs inside each block of `size` rows, by the distance of their positions."""
    place = np.arange(len(points)) % size
    sums = []
    for lag in range(1, size):
        first = np.flatnonzero(place < size - lag)
        product = np.einsum("ij,ij->i", residual[first], residual[first + lag])
        sums.append(float((product * kernel.beside(points[first], points[first + lag])).sum()))
    return math.fsum(sums)


def _mixed(view: VectorView, rows: Any) -> VectorView:
    labels = None if view.labels is None else view.labels[rows]
    soft = None if view.soft is None else view.soft[rows]
    return VectorView(view.raw_probs[rows], labels, soft, lens=view.lens)


def _warn_of_order(view: VectorView) -> None:
    probs = view.raw_probs
    columns = {"labels": view.labels, "scores": probs if probs.ndim == 1 else probs.max(axis=1)}
    for name, values in columns.items():
        if values is None or view.n < ROWS_IN_ORDER:
            continue
        before, after = values[:-1], values[1:]
        if (before != after).any() and ((before <= after).all() or (before >= after).all()):
            warn_caller(
                CalibrantWarning(
                    "skce_ul",
                    f"the rows are sorted by {name}, so only similar rows are compared",
                    "use rng=0 to shuffle them",
                )
            )
    if view.k > MANY_CLASSES:
        warn_caller(
            CalibrantWarning(
                "skce_ul",
                f"the estimate from pairs of rows has a large variance for {view.k} classes",
                "use skce_uq or use lens='top_k:5'",
            )
        )


@metric(
    "Unnormalised calibration mean embedding", range=(0, 1), ideal=0, lens="canonical", sketch=False, cite="widmann2021"
)
def ucme(
    view: VectorView,
    *,
    locations: Any = 10,
    kernel: Shape = "exponential",
    distance: Distance = "auto",
    bandwidth: Any = "median",
) -> float:
    """Mean over test locations of the squared mean residual of a class, weighted by a kernel of predictions and location."""
    cloud = cloud_of(one_column(view))
    near = choose_kernel(cloud, kernel, distance, bandwidth)
    if isinstance(locations, (tuple, list)):
        places, classes = _given_locations(locations, view)
        sums = kernel_sums(places, cloud.points, cloud.residual, near)[np.arange(len(places)), classes]
    else:
        chosen = evenly_spaced(cloud.share, check_whole(locations, "locations"))
        sums = kernel_sums(cloud.points[chosen], cloud.points, cloud.residual, near)
    return float(np.square(sums).mean())


def _given_locations(locations: Any, view: VectorView) -> tuple[Floats, NDArray[np.intp]]:
    k = view.k
    remedy = f"for example ([[{', '.join([str(round(1 / k, 2))] * min(k, 3))}{', ...' if k > 3 else ''}]], [0])"
    problem = f"must be a number, or (predictions, classes) with {k} probabilities and one class index for each"
    try:
        probs, classes = np.asarray(locations[0], dtype=np.float64), np.asarray(locations[1])
    except (TypeError, ValueError, IndexError):
        raise ArgumentError("locations", problem, remedy) from None
    if probs.ndim == 1 and k == 2:
        probs = np.column_stack([1 - probs, probs])
    fits = len(locations) == 2 and probs.ndim == 2 and probs.shape == (classes.size, k) and len(probs) > 0
    if not fits or classes.dtype.kind not in "iu" or not np.isin(classes, np.arange(k)).all():
        raise ArgumentError("locations", problem, remedy)
    if not ((probs >= 0) & (probs <= 1)).all():
        raise ArgumentError("locations", "must be probabilities, from 0 to 1", remedy)
    classes = classes.ravel().astype(np.intp)
    if k == 2 and view.score_column == 0:  # this column is the second column of `one_column`
        probs, classes = probs[:, ::-1], 1 - classes
    return np.ascontiguousarray(as_points(probs)), classes


@metric(
    "Conditional kernel calibration error",
    range=(0, math.inf),
    ideal=0,
    lens="canonical",
    sketch=False,
    cite="moskvichev2025",
)
def ckce(
    view: VectorView,
    *,
    kernel: Shape = "exponential",
    distance: Distance = "auto",
    bandwidth: Any = "median",
    ridge: float = 0.1,
    landmarks: int | None = None,
) -> float:
    """Squared norm of the kernel ridge regression of the residuals on the predictions."""
    hold = check_positive(ridge, "ridge")
    cloud = cloud_of(one_column(view))
    near = choose_kernel(cloud, kernel, distance, bandwidth)
    count = len(cloud.points)
    if landmarks is not None:
        count = min(count, check_whole(landmarks, "landmarks"))
    elif count > EXACT_PREDICTIONS:
        count = LANDMARKS
    return _ridge_norm(cloud, near, hold) if count == len(cloud.points) else _low_rank_norm(cloud, near, hold, count)


def _ridge_norm(cloud: Cloud, kernel: Kernel, ridge: float) -> float:
    """Compute tr((G + N l)^-1 G (G + N l)^-1 H) with H = <y - p, y' - p'>, in terms of distinct predictions and their shares.

    With D = diag(sqrt(share)) it is z' (D G D) z for (D G D + l) z = D^-1 (residual sums), a positive definite system.
    """
    from scipy.linalg import cho_factor, cho_solve

    root = np.sqrt(cloud.share)[:, None]
    gram = np.empty((len(root), len(root)), order="F")
    for start in range(0, len(root), 512):
        part = slice(start, start + 512)
        gram[:, part] = root * kernel.between(cloud.points, cloud.points[part]) * root[part].T
    gram.flat[:: len(root) + 1] += ridge
    solved = cho_solve(cho_factor(gram, overwrite_a=True, check_finite=False), cloud.residual / root)
    return max(0.0, all_pairs(cloud.points, root * solved, kernel))


def _low_rank_norm(cloud: Cloud, kernel: Kernel, ridge: float, count: int) -> float:
    """Compute the same in the span of the kernels at `count` landmarks."""
    from scipy.linalg import eigh, solve

    marks = cloud.points[np.unique(evenly_spaced(cloud.share, count))]
    second, first = np.zeros((len(marks), len(marks))), np.zeros((len(marks), cloud.residual.shape[1]))
    step = rows_per_block(len(marks), 1 << 20)
    for start in range(0, len(cloud.points), step):
        part = slice(start, start + step)
        near = kernel.between(marks, cloud.points[part])
        first += near @ cloud.residual[part]
        near *= np.sqrt(cloud.share[part])
        second += near @ near.T  # a product with itself takes BLAS half the time
    size, directions = eigh(kernel.between(marks, marks))
    kept = size > 1e-8 * size[-1]
    to_features = directions[:, kept] / np.sqrt(size[kept])
    matrix = to_features.T @ second @ to_features
    matrix.flat[:: len(matrix) + 1] += ridge
    return float(np.square(solve(matrix, to_features.T @ first, assume_a="pos")).sum())

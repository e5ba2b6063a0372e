"""Sums over pairs of rows with a kernel of their probability vectors, in tiles that never hold all pairs.

Rows with equal predictions are added up first, and what is left is put in an order of its own: neither the order of the
rows nor, of ordinary data, that of the classes can then change a result, and a count is as good as repeated rows.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import numpy as np

from ...errors import ArgumentError
from ...util.arrays import Array, Floats
from ...util.blocks import map_blocks, rows_per_block
from ...util.checks import check_positive
from ...views.view import VectorView
from .laplace import laplace_pair_sum
from .neighbours import weighted_median

Shape = Literal["exponential", "gaussian"]
Distance = Literal["auto", "tv", "l2"]

# The median distance is computed from all pairs up to this many rows, above that from this many of them.
MEDIAN_ROWS = 1000
# Cache of median distances: resampled labels leave the predictions unchanged, so that every resample needs the same median.
_KNOWN: dict[bytes, float] = {}
MOST_KNOWN = 4096
# A tile of distances takes half a megabyte, so that it stays in the cache of one core while the kernel is evaluated.
TILE = 256
# A pair costs several times as much as an entry of a pass over the data, so that few rows already justify a second thread.
PAIR_COST = 8
# Positions slightly before the middle of each part: with integer weights the middle is often exactly between two rows.
BEFORE_MIDDLE = 0.5 - 1e-6


class Kernel(NamedTuple):
    """Kernel exp(-d / width) or exp(-d^2 / (2 width^2)), with d = scale times a distance of points."""

    shape: Shape
    metric: Literal["cityblock", "euclidean"]
    scale: float
    width: float

    def between(self, a: Floats, b: Floats) -> Floats:
        """Evaluate the kernel of every point of `a` with every point of `b`."""
        from scipy.spatial.distance import cdist

        return self._of_distance(cdist(a, b, self.metric))

    def beside(self, a: Floats, b: Floats) -> Floats:
        """Evaluate the kernel of each point of `a` with the corresponding point of `b`."""
        gap = a - b
        length = np.abs(gap).sum(axis=1) if self.metric == "cityblock" else np.sqrt(np.square(gap).sum(axis=1))
        return self._of_distance(length)

    def _of_distance(self, values: Floats) -> Floats:
        # Underflow to 0 for distant points is intended, also for tiny bandwidths.
        with np.errstate(over="ignore", under="ignore"):
            values *= -self.scale / self.width
            if self.shape == "gaussian":
                values *= values
                values *= -0.5
            return np.exp(values, out=values)


class Cloud(NamedTuple):
    """Distinct predictions in a canonical order, and sums over the rows of each."""

    points: Floats
    """Predictions of shape (U, K), or (U, 1) in increasing order for two classes."""
    share: Floats
    """Fraction of the total weight."""
    residual: Floats
    """Sum of share times (target - probability), of shape (U, K)."""
    own: Floats
    """Weight of the self-pairs: sum of squared shares, or of shares divided by the total count."""
    own_term: Floats
    """The same, multiplied by the squared norm of the residual."""
    size: float
    """Number of rows, or sum of the counts."""

    def every(self, start: int, step: int) -> Cloud:
        """Return every `step`-th prediction beginning with `start`."""
        part = slice(start, None, step)
        points, residual = np.ascontiguousarray(self.points[part]), np.ascontiguousarray(self.residual[part])
        return Cloud(points, self.share[part], residual, self.own[part], self.own_term[part], self.size)


def one_column(view: VectorView) -> VectorView:
    """Reduce two classes to one column, so that p and (1 - p, p) give bitwise equal results."""
    if view.k != 2 or view.raw_probs.ndim == 1:
        return view
    column = 1 if view.score_column is None else view.score_column
    labels = None if view.labels is None else (view.labels == column).astype(np.uint8)
    soft = view.soft if view.soft is None or view.soft.ndim == 1 else view.soft[:, column]
    return VectorView(
        view.raw_probs[:, column], labels, soft, view.weight, view.weight_kind, lens=view.lens, score_column=1
    )


def as_points(probs: Floats) -> Floats:
    """Return the columns whose distances are computed: all, or the second of two."""
    return probs[:, 1:] if probs.shape[1] == 2 else probs


def cloud_of(view: VectorView) -> Cloud:
    """Return the distinct predictions of a view, to which `one_column` was applied."""
    block = view.block(0, view.n)
    points = as_points(block.probs) + 0.0  # a copy without negative zeros, which have different bytes
    residual = block.targets - block.probs
    del block  # free memory before the next array of the same size
    order = own_order(points)
    points, residual = points[order], residual[order]
    starts = np.flatnonzero(np.append(True, (points[1:] != points[:-1]).any(axis=1)))
    share = view.weights[order] / view.total
    own = share**2 if view.weight_kind == "importance" else share / view.total
    own_term = own * np.einsum("ij,ij->i", residual, residual)
    residual *= share[:, None]

    def added(values: Floats) -> Floats:
        return values if len(starts) == len(values) else np.asarray(np.add.reduceat(values, starts, axis=0))

    points = points if len(starts) == len(points) else points[starts]
    size = view.n if view.weight_kind == "importance" else view.total
    return Cloud(points, added(share), added(residual), added(own), added(own_term), float(size))


def own_order(points: Floats) -> Array:
    """Order rows by their largest probability, then the next, ..., then by the vector itself."""
    top = points.max(axis=1)
    order = np.argsort(top, kind="stable")
    if points.shape[1] == 1:
        return order
    same = top[order][1:] == top[order][:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    if len(tied):
        rows = points[order[tied]]
        keys = np.hstack([-np.sort(-rows, axis=1) + 0.0, rows]).astype(">f8")
        # Bytes of non-negative numbers have the same order as the numbers, so that one sort of bytes compares whole rows.
        order[tied] = order[tied][keys.view(f"V{8 * keys.shape[1]}").ravel().argsort(kind="stable")]
    return order


def evenly_spaced(share: Floats, count: int) -> Array:
    """Return the middle positions of `count` parts of equal weight."""
    path = share.cumsum()
    wanted = (np.arange(count) + BEFORE_MIDDLE) / count * path[-1]
    return np.minimum(path.searchsorted(wanted), len(path) - 1)


def choose_kernel(cloud: Cloud, shape: Shape, distance: Distance, bandwidth: Any) -> Kernel:
    """Return the kernel of the options; ``bandwidth='median'`` is the median distance of two rows."""
    if distance == "auto":
        distance = "tv" if shape == "exponential" else "l2"
    if shape == "gaussian" and distance == "tv":
        raise ArgumentError(
            "distance",
            "'tv' in a gaussian kernel is not positive definite",
            "use distance='l2' or kernel='exponential'",
        )
    two = cloud.points.shape[1] == 1
    # For two classes both columns have the same differences.
    metric: Literal["cityblock", "euclidean"] = "cityblock" if distance == "tv" else "euclidean"
    scale = (1.0 if two else 0.5) if distance == "tv" else (math.sqrt(2) if two else 1.0)
    if isinstance(bandwidth, str):
        if bandwidth != "median":
            raise ArgumentError("bandwidth", f"must be 'median' or a positive number; got {bandwidth!r}")
        return Kernel(shape, metric, scale, _median_distance(cloud, metric, scale))
    return Kernel(shape, metric, scale, check_positive(bandwidth, "bandwidth"))


def _median_distance(cloud: Cloud, metric: str, scale: float) -> float:
    """Compute the median over pairs of rows; the mean if that is 0, and infinity (a kernel of 1) if all rows are equal."""
    many = cloud.size > MEDIAN_ROWS
    points = cloud.points[evenly_spaced(cloud.share, MEDIAN_ROWS)] if many else cloud.points
    read = [points] if many else [points, cloud.share, cloud.own]
    key = blake2b(repr((points.shape, metric, scale)).encode(), digest_size=16)
    for array in read:
        key.update(array.tobytes())
    known = _KNOWN.get(key.digest())
    if known is None:
        if many:
            distance = _distances(points, metric)
            known = float(np.median(scale * distance)) or scale * float(distance.mean()) or math.inf
        else:
            known = _median_of_few(cloud, metric, scale)
        if len(_KNOWN) >= MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[key.digest()] = known
    return known


def _median_of_few(cloud: Cloud, metric: str, scale: float) -> float:
    points, share, copies = cloud.points, cloud.share, float((cloud.share**2 - cloud.own).sum()) / 2
    i, j = np.triu_indices(len(points), 1)
    distance = np.append(0.0, scale * _distances(points, metric))  # all pairs of equal rows come first
    weight = np.append(max(copies, 0.0), share[i] * share[j])
    if not distance.any():
        return math.inf
    return weighted_median(distance, weight) or float((distance * weight).sum() / weight.sum())


def _distances(points: Floats, metric: str) -> Floats:
    """Compute the distances of all pairs, beginning with those of the first row."""
    if points.shape[1] == 1:
        line = points[:, 0]
        later = ~np.tri(len(line), dtype=bool)
        return np.abs((line - line[:, None])[later])
    from scipy.spatial.distance import pdist

    return np.asarray(pdist(points, metric))


def all_pairs(points: Floats, vectors: Floats, kernel: Kernel) -> float:
    """Compute sum_ij k(p_i, p_j) <v_i, v_j> over all pairs, self-pairs included."""
    if kernel.shape == "exponential" and points.shape[1] == 1:
        # Increasing points on a line: exact in the time of a sort.
        with np.errstate(over="ignore", under="ignore"):
            width = kernel.width / kernel.scale
            return math.fsum(laplace_pair_sum(points[:, 0], vector, width) for vector in vectors.T)
    columns = np.ascontiguousarray(vectors.T)
    spans = [slice(start, start + TILE) for start in range(0, len(points), TILE)]
    tiles = [(a, b) for place, a in enumerate(spans) for b in spans[place:]]

    def work(start: int, stop: int) -> float:
        a, b = tiles[start]
        value = float((vectors[a] * _times(kernel.between(points[a], points[b]), columns[:, b])).sum())
        return value if a == b else 2 * value

    return math.fsum(map_blocks(work, len(tiles), 1, columns=PAIR_COST * TILE * TILE))


def _times(matrix: Floats, columns: Floats) -> Floats:
    """Multiply a tile with vectors given as rows.

    BLAS is avoided, since its threads would compete with ours and its sums may depend on their number.
    """
    return np.einsum("ij,kj->ik", matrix, columns)


def kernel_sums(places: Floats, points: Floats, vectors: Floats, kernel: Kernel) -> Floats:
    """Compute sum_i k(place, p_i) v_i for each of `places`."""

    columns = np.ascontiguousarray(vectors.T)

    def work(start: int, stop: int) -> Floats:
        return _times(kernel.between(places, points[start:stop]), columns[:, start:stop])

    step = rows_per_block(len(places))
    parts = map_blocks(work, len(points), step, columns=len(places))
    return np.asarray(np.sum(parts, axis=0))

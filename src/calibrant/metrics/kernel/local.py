"""Local calibration errors: in a neighbourhood of the scores, of the features, or of both."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from ...binning.rules import BinningRule
from ...errors import ArgumentError, InputTypeError, UndefinedMetricError, WeightsNotSupportedError
from ...input.predictions import Predictions
from ...util.arrays import Floats
from ...util.blocks import map_blocks
from ...util.checks import check_positive, check_whole
from ...util.sums import accurate_sum
from ...views.view import VectorView, View
from ..registry import metric
from .anchors import anchor_tests
from .laplace import laplace_sums
from .neighbours import median_distance, neighbour_products, standardised

# Rows of a tile: two tiles and their pairs fit into cache, and a thread has enough work.
TILE = 1024
# Counts are expanded to rows; beyond this many the expansion would be too large.
MAX_ROWS = 50_000_000


def _features(rows: Predictions | None) -> Floats:
    assert rows is not None
    assert rows.features is not None
    return rows.features


def _vectors(view: VectorView) -> tuple[Floats, Floats]:
    """Return probabilities and residuals of each row, with a single column for two classes."""
    first = 1 if view.k == 2 else 0
    probs, gaps = np.empty((view.n, view.k - first)), np.empty((view.n, view.k - first))
    for span, block in view.blocks():
        probs[span] = block.probs[:, first:]
        gaps[span] = block.probs[:, first:] - block.targets[:, first:]
    return probs, gaps


@metric(
    "Kernel local calibration error",
    range=(-2, 2),
    ideal=0,
    lens="canonical",
    needs=("features",),
    sketch=False,
    cite="vashistha2025",
)
def klce(
    view: VectorView,
    *,
    bandwidth: Any = "median",
    score_bandwidth: float = 0.1,
    standardise: bool | None = None,
    normalised: bool = False,
) -> float:
    """Mean product of the residuals of two rows, weighted by kernels of their forecasts and of their features."""
    weights, importance = view.weights, view.weight_kind == "importance"
    if (view.n if importance else view.total) < 2:
        raise UndefinedMetricError("klce", "requires at least two rows", "use more data")
    features = _features(view.rows)
    if standardise or (standardise is None and bandwidth == "median"):
        features = standardised(features, weights)
    if isinstance(bandwidth, str):
        if bandwidth not in ("median", "kite"):
            raise ArgumentError("bandwidth", f"must be 'median', 'kite' or a positive number; got {bandwidth!r}")
        width = median_distance(features, weights, importance) if bandwidth == "median" else 0.1
        score_bandwidth = 0.1 if bandwidth == "kite" else score_bandwidth
    else:
        width = check_positive(bandwidth, "bandwidth")
    probs, gaps = _vectors(view)
    place = np.column_stack([probs / check_positive(score_bandwidth, "score_bandwidth"), features / width])
    product, kernel = _gaussian_products(place, gaps, weights)
    pairs = 2 * float(weights[1:] @ np.cumsum(weights)[:-1])
    if not importance:  # no self-pairs, but pairs of copies
        copies = weights * (weights - 1)
        product += accurate_sum(copies * np.square(gaps).sum(axis=1))
        pairs += accurate_sum(copies)
    mean_kernel = (kernel + accurate_sum(weights**2)) / view.total**2
    return product / pairs / (mean_kernel if normalised else 1.0)


def _gaussian_products(place: Floats, gaps: Floats, weights: Floats) -> tuple[float, float]:
    """Compute sums over all pairs of different rows of weights times kernel times product of gaps, and of weights times kernel."""
    from scipy.spatial.distance import cdist

    values = np.column_stack([gaps, np.ones(len(gaps))]) * weights[:, None]

    def work(start: int, stop: int) -> tuple[float, float]:
        found = np.zeros(values.shape[1])
        for other in range(start, len(place), TILE):  # each pair of tiles once
            kernel = cdist(place[start:stop], place[other : other + TILE], "sqeuclidean")
            np.negative(kernel, out=kernel)
            np.exp(kernel, out=kernel)
            if other == start:
                np.fill_diagonal(kernel, 0)
            sums = (values[start:stop] * (kernel @ values[other : other + TILE])).sum(axis=0)
            found += sums if other == start else 2 * sums
        return float(found[:-1].sum()), float(found[-1])

    parts = map_blocks(work, len(place), TILE, columns=max(TILE, len(place)))
    return math.fsum(part[0] for part in parts), math.fsum(part[1] for part in parts)


@metric(
    "Expected conditional maximum mean discrepancy",
    range=(-2, 2),
    ideal=0,
    alternative="two-sided",
    lens="canonical",
    importance=False,
    sketch=False,
    cite="chatterjee2024",
)
def ecmmd(
    view: VectorView,
    *,
    neighbours: int | None = None,
    space: Literal["prediction", "features"] = "prediction",
    derandomised: bool = True,
    n_draws: int = 1,
    rng: Any = 0,
) -> float:
    """Mean product of the residual of each row with the mean residual of its nearest neighbours."""
    size = int(view.total)
    if size < 2:
        raise UndefinedMetricError("ecmmd", "requires at least two rows", "use more data")
    if size > MAX_ROWS:
        raise WeightsNotSupportedError(
            "counts", f"ecmmd expands counts to rows, and {size:.3g} are too many", "use fewer rows"
        )
    wanted = max(5, round(math.sqrt(size))) if neighbours is None else check_whole(neighbours, "neighbours")
    k = min(wanted, size - 1)
    probs, gaps = _vectors(view)
    position = probs
    if space == "features":
        if view.rows is None or view.rows.features is None:
            raise InputTypeError("features", "required by ecmmd in the space 'features'", "pass features")
        position = view.rows.features
    if not position.shape[1]:
        position = np.zeros((view.n, 1))
    if derandomised:
        return neighbour_products(position, gaps, view.weights, k)
    generator = np.random.default_rng(rng)
    values = []
    # In a canonical order, so that the same seed simulates the same labels for any order of the rows.
    order = np.lexsort(np.column_stack([position, probs, gaps]).T)
    order = np.repeat(order, view.weights[order].astype(np.int64))
    for _ in range(check_whole(n_draws, "n_draws")):
        drawn = _drawn_labels(probs[order], generator) - (probs - gaps)[order]
        values.append(neighbour_products(position[order], drawn, np.ones(size), k))
    return math.fsum(values) / len(values)


def _drawn_labels(probs: Floats, generator: np.random.Generator) -> Floats:
    """Simulate a label for each row from its probabilities, as a one-hot row; 0 or 1 if one column represents two classes."""
    chance = generator.random((len(probs), 1))
    if probs.shape[1] == 1:
        return (chance < probs).astype(np.float64)
    drawn = (chance >= np.cumsum(probs, axis=1)).sum(axis=1)
    return np.eye(probs.shape[1])[np.minimum(drawn, probs.shape[1] - 1)]


def _local_errors(view: View, rule: BinningRule, bandwidth: float, standardise: bool) -> Floats:
    """Compute for each row the gap of its bin, with rows weighted by the proximity of their features."""
    width = check_positive(bandwidth, "bandwidth")
    features = standardised(_features(view.rows), view.weights) if standardise else _features(view.rows)
    values = np.column_stack([view.weights * (view.score - view.outcome), view.weights])
    cell, _ = rule.cells(view)
    order = np.lexsort((features[:, 0], cell)) if features.shape[1] else np.argsort(cell, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(cell[order]) != 0))
    errors = np.empty(view.n)
    for rows in np.split(order, starts[1:]):
        if features.shape[1] == 0:
            sums = np.broadcast_to(values[rows].sum(axis=0), (len(rows), 2))
        elif features.shape[1] == 1:
            sums = np.column_stack([laplace_sums(features[rows, 0], value, width) for value in values[rows].T])
        else:
            sums = _laplace_tiles(features[rows] / width, values[rows])
        errors[rows] = np.abs(sums[:, 0]) / sums[:, 1]
    return errors


def _laplace_tiles(place: Floats, values: Floats) -> Floats:
    """Compute for each row the sums of the values of all rows weighted by exp(-distance), with the l1 distance."""
    from scipy.spatial.distance import cdist

    def work(start: int, stop: int) -> Floats:
        found = np.zeros((stop - start, values.shape[1]))
        for other in range(0, len(place), TILE):
            kernel = cdist(place[start:stop], place[other : other + TILE], "cityblock")
            np.negative(kernel, out=kernel)
            np.exp(kernel, out=kernel)
            found += kernel @ values[other : other + TILE]
        return found

    return np.concatenate(map_blocks(work, len(place), TILE, columns=max(TILE, len(place))))


LOCAL: dict[str, Any] = {"range": (0, 1), "ideal": 0, "needs": ("features",), "sketch": False, "cite": "luo2022"}


@metric("Local calibration error", **LOCAL)
def lce(
    view: View,
    *,
    rule: BinningRule,
    bandwidth: float = 1.0,
    standardise: bool = True,
) -> float:
    """Mean over rows of the calibration error among rows of the same bin with similar features."""
    errors = _local_errors(view, rule, bandwidth, standardise)
    return accurate_sum(view.weights * errors) / view.total


@metric("Maximum local calibration error", **LOCAL)
def mlce(
    view: View,
    *,
    rule: BinningRule,
    bandwidth: float = 1.0,
    standardise: bool = True,
) -> float:
    """Largest calibration error among rows of the same bin with similar features."""
    return float(_local_errors(view, rule, bandwidth, standardise).max())


@metric(
    "Nearest-neighbour chi-square statistic",
    range=(0, math.inf),
    ideal=0,
    lens="canonical",
    importance=False,
    soft=False,
    sketch=False,
    cite="gweon2023",
)
def knn_chi2(
    view: VectorView,
    *,
    anchors: Any = 6,
    neighbours: int | None = None,
    eps: float = 0.1,
    power: float = 0.8,
    alpha: float = 0.05,
    min_expected: float = 5,
) -> float:
    """Chi-square statistic of the labels near a typical forecast against that forecast, at the anchor with the smallest p-value."""
    tests = anchor_tests(view, anchors, neighbours, eps, power, alpha, min_expected)
    judged = [test for test in tests if test.degrees > 0]
    if not judged:
        raise UndefinedMetricError(
            "knn_chi2",
            f"no anchor has two classes with an expected count of {min_expected} among its neighbours",
            "use more data, or a smaller min_expected",
        )
    return min(judged, key=lambda test: (test.pvalue, -test.statistic)).statistic

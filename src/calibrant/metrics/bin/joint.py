"""Generalised calibration error: distances between mean forecast and mean label over cells, for any lens."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...binning.parse import Bins
from ...binning.partition import auto_binning, cells_of
from ...errors import ArgumentError, UndefinedMetricError, Use
from ...util.checks import weight_per_class
from ...views.view import VectorView
from ..registry import metric
from .variation import sums_by_bin

Floats = NDArray[np.float64]


Distance = Literal["tv", "l1", "l2", "lp", "mahalanobis", "interval"]


@metric(
    "Generalised expected calibration error",
    family="bin",
    subfamily="whole distribution",
    range=(0, 1),
    ideal=0,
    lens="canonical",
    sketch=False,
    cost="N K log N",
    use_cases=("multiclass",),
    aliases=("GECE", "generalized ECE"),
    cite="vaicenavicius2019",
    pros="one definition for any lens, selection, binning and distance",
    cons="cells in many dimensions contain few rows each, so that sampling noise inflates the value",
    notes="One score per row (binary, top label, one class) is divided into 15 equal-width bins, for which the value equals `ece`; vectors are "
    "divided by a k-d tree. The stopping rule of the tree (no cell with fewer than `min_size` rows) is chosen here.",
    explain={
        "distance": "Distance between mean forecast and mean label of a cell: total variation ``'tv'`` (half of ``'l1'``), ``'l1'``, ``'l2'``, "
        "``'lp'``, ``'mahalanobis'``, or ``'interval'`` (distance of the mean label from `interval`).",
        "norm": "Exponent of ``distance='lp'``.",
        "matrix": "Positive semi-definite (K, K) matrix of ``distance='mahalanobis'``.",
        "indefinite": "Whether to accept a `matrix` that is not positive semi-definite.",
        "interval": "Interval of ``distance='interval'`` as (low, high), such as a Likert category, for one score per row.",
        "binning": "``'auto'``, a binning rule if there is one score per row, or a `KDTree`.",
        "gamma": "Cells of the k-d tree with more than this fraction of the rows are split.",
        "min_size": "Smallest number of rows in a cell; a split that would leave fewer is not made.",
        "class_weight": "Weight of each class for ``distance='l2'``: the square root of the weighted sum of squared differences.",
    },
)
def gece(
    view: VectorView,
    *,
    distance: Distance = "tv",
    binning: Any = "auto",
    bins: Bins = 15,
    gamma: float = 0.1,
    min_size: int = 10,
    norm: float = 2,
    class_weight: Any = None,
    matrix: Any = None,
    indefinite: bool = False,
    interval: tuple[float, float] | None = None,
) -> float:
    """Mean distance between mean forecast and mean label over cells, for any lens."""
    cell, count = cells_of(view, auto_binning(view, binning, bins, gamma, min_size), bins)
    if distance == "interval":
        weight, sums = sums_by_bin(view, cell, count, lambda block: block.targets[:, [_score_column(view)]])
    else:
        weight, sums = sums_by_bin(view, cell, count, lambda block: block.probs - block.targets)
    full = weight > 0
    mean = sums[full] / weight[full, None]
    options = {
        "norm": norm,
        "class_weight": class_weight,
        "matrix": matrix,
        "indefinite": indefinite,
        "interval": interval,
    }
    length = _outside(mean, options) if distance == "interval" else _length(mean, distance, options)
    return math.fsum(weight[full] / view.total * length)


def _score_column(view: VectorView) -> int:
    if view.score_column is None:
        raise ArgumentError(
            "distance",
            f"'interval' requires one score per row, and {view.lens!r} has several",
            Use("lens", "top_label"),
        )
    return view.score_column


def _outside(target: Floats, options: Mapping[str, Any]) -> Floats:
    """Compute the distance of the mean label of each cell from the predicted interval."""
    bounds = options["interval"]
    if not (isinstance(bounds, (tuple, list)) and len(bounds) == 2 and 0 <= bounds[0] <= bounds[1] <= 1):
        raise ArgumentError(
            "interval", f"must be (low, high) with 0 <= low <= high <= 1; got {bounds!r}", "for example (0.6, 0.8)"
        )
    low, high = bounds
    return np.maximum(0, np.maximum(low - target[:, 0], target[:, 0] - high))


def _length(gap: Floats, distance: str, options: Mapping[str, Any]) -> Floats:
    weight = options["class_weight"]
    if weight is not None:
        if distance != "l2":
            raise ArgumentError("class_weight", f"requires the distance 'l2'; got {distance!r}")
        return np.sqrt((np.square(gap) * weight_per_class(weight, gap.shape[1])).sum(axis=1))
    if distance == "mahalanobis":
        return _mahalanobis(gap, options["matrix"], options["indefinite"])
    if distance == "lp":
        norm = options["norm"]
        return np.abs(gap).max(axis=1) if norm == math.inf else (np.abs(gap) ** norm).sum(axis=1) ** (1 / norm)
    if distance == "l2":
        return np.sqrt(np.square(gap).sum(axis=1))
    total = np.abs(gap).sum(axis=1)
    return total / 2 if distance == "tv" else total


def _mahalanobis(gap: Floats, matrix: Any, indefinite: bool) -> Floats:
    k = gap.shape[1]
    try:
        values = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape != (k, k) or not np.isfinite(values).all() or not np.allclose(values, values.T):
        raise ArgumentError(
            "matrix", f"must be a symmetric ({k}, {k}) matrix of finite numbers", "for example numpy.eye(K)"
        )
    least = float(np.linalg.eigvalsh(values)[0])
    if least < -1e-12 * max(1.0, float(np.abs(values).max())) and not indefinite:
        raise ArgumentError(
            "matrix",
            f"is not positive semi-definite: its least eigenvalue is {least:.3g}",
            Use("indefinite", True, "to use it nevertheless"),
        )
    squared = np.einsum("ij,jk,ik->i", gap, values, gap)
    if (squared < -1e-12).any():
        raise UndefinedMetricError(
            "gece", "the squared distance of a cell is negative", "use a positive semi-definite matrix"
        )
    return np.sqrt(np.maximum(squared, 0))

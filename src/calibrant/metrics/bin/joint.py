"""Binned metrics of the whole distribution: variation calibration, and the generalised error for any lens."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...binning.parse import Binning, Bins
from ...binning.partition import auto_binning, bin_of_each, cells_of
from ...binning.table import weighted_power
from ...errors import ArgumentError, UndefinedMetricError, Use
from ...util.checks import weight_per_class
from ...views.view import Block, VectorView
from ..registry import metric, norm_root

Floats = NDArray[np.float64]
Variation = Literal["entropy", "confidence", "variation_ratio", "iqv", "gini"]


def _entropy(q: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(q > 0, q * np.log(q), 0)
    return np.clip(-terms.sum(axis=1) / math.log(q.shape[1]), 0, 1)


# Each is 0 for a degenerate and at most 1 for a uniform distribution, except confidence, which is the first (largest) entry.
_VARIATIONS: dict[str, Callable[[Floats], Floats]] = {
    "entropy": _entropy,
    "confidence": lambda q: q[:, 0],
    "variation_ratio": lambda q: 1 - q.max(axis=1),
    "iqv": lambda q: q.shape[1] / (q.shape[1] - 1) * (1 - np.square(q).sum(axis=1)),
    "gini": lambda q: 1 - np.square(q).sum(axis=1),
}


def ranked(block: Block) -> tuple[Floats, Floats]:
    """Return the probabilities in decreasing order, and the labels in the same order; ties by the lowest class."""
    order = np.argsort(-block.probs, axis=1, kind="stable")
    return np.take_along_axis(block.probs, order, 1), np.take_along_axis(block.targets, order, 1)


def _sums_by_bin(
    view: VectorView, cell: NDArray[np.intp], count: int, columns: Callable[[Block], Floats]
) -> tuple[Floats, Floats]:
    """Compute the weight of each bin, and weighted sums of vectors over its rows."""
    weight = np.bincount(cell, view.weights, count).astype(np.float64)
    sums = np.zeros((count, 0))
    for span, block in view.blocks():
        values = columns(block) * view.weights[span, None]
        if sums.shape[1] == 0:
            sums = np.zeros((count, values.shape[1]))
        for j in range(values.shape[1]):
            sums[:, j] += np.bincount(cell[span], values[:, j], count)
    return weight, sums


@metric(
    "Variation calibration error",
    family="bin",
    subfamily="whole distribution",
    range=(0, 1),
    ideal=0,
    lens="canonical",
    sketch=False,
    cost="N K log N",
    recommended=True,
    aliases=("VCE",),
    cite="thompson2026",
    pros="evaluates the whole distribution; tends to 0 for calibrated forecasts as the number of rows grows",
    cons="classes are replaced by ranks, so that errors between classes of one rank cancel; different mean vectors with the same variation count as equal",
    notes="With ``variation='confidence'`` the value is the top-label expected calibration error. The paper describes it as the maximum; taken "
    "literally, the maximum of a mean rank vector need not be its first entry, and this identity would not hold.",
    explain={
        "variation": "Measure of variation: normalised ``'entropy'``, ``'confidence'``, Freeman's ``'variation_ratio'`` (1 minus the largest "
        "probability), the index of qualitative variation ``'iqv'``, or ``'gini'``.",
        "bins": "Number of bins of the variation on [0, 1], or increasing edges.",
    },
    finish=norm_root,
)
def vce(
    view: VectorView,
    *,
    variation: Variation = "entropy",
    bins: Bins = 10,
    binning: Binning = "equal_width",
    norm: float = 1,
) -> float:
    """Mean absolute difference over bins between the predicted and the observed variation."""
    measure = _VARIATIONS[variation]
    key = view.each_row(lambda block: np.clip(measure(ranked(block)[0]), 0, 1))
    cell, count = bin_of_each(view, key, binning, bins)
    weight, sums = _sums_by_bin(view, cell, count, lambda block: np.hstack(ranked(block)))
    stated, seen = np.hsplit(sums, 2)
    full = weight > 0
    share = weight[full, None]
    gap = np.abs(measure(seen[full] / share) - measure(stated[full] / share))
    return weighted_power(gap, weight[full] / view.total, norm)


@metric(
    "Uncertainty calibration error",
    family="bin",
    subfamily="whole distribution",
    range=(0, 1),
    ideal=None,
    alternative="two-sided",
    lens="canonical",
    sketch=False,
    cost="N K",
    aliases=("UCE",),
    cite="laves2019",
    pros="relates predictive entropy to the error rate directly",
    cons="in general not 0 for calibrated forecasts, even for infinitely many rows, and overconfidence can lower it; prefer `vce`",
    explain={"bins": "Number of bins of the entropy on [0, 1], or increasing edges."},
)
def uce(view: VectorView, *, bins: Bins = 10, binning: Binning = "equal_width") -> float:
    """Mean absolute difference over entropy bins between the error rate and the mean normalised entropy."""
    # Summed in decreasing order, so that permutations of the classes give bitwise equal values.
    entropy = view.each_row(lambda block: _entropy(ranked(block)[0]))
    cell, count = bin_of_each(view, entropy, binning, bins)
    _, sums = _sums_by_bin(
        view, cell, count, lambda block: np.column_stack([1 - ranked(block)[1][:, 0], _entropy(block.probs)])
    )
    return math.fsum(np.abs(sums[:, 0] - sums[:, 1])) / view.total


Distance = Literal["tv", "l1", "l2", "lp", "mahalanobis", "interval"]


@metric(
    "Generalised expected calibration error",
    family="bin",
    subfamily="whole distribution",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    full_vector=True,
    lens="canonical",
    sketch=False,
    cost="N K log N",
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
        weight, sums = _sums_by_bin(view, cell, count, lambda block: block.targets[:, [_score_column(view)]])
    else:
        weight, sums = _sums_by_bin(view, cell, count, lambda block: block.probs - block.targets)
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

"""Metrics by groups or features of the rows, inside which errors cannot cancel with those of other rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...binning.partition import bin_of_ranks
from ...binning.rules import BinningRule
from ...errors import ArgumentError, GroupError, ShapeError
from ...input.convert import numbers
from ...util.arrays import Floats
from ...util.checks import check_whole
from ...views.view import View
from ..registry import metric

Cells = NDArray[np.intp]


def cell_error(view: View, cell: Cells) -> float:
    """Compute the sum over cells of |sum of residuals| divided by the total weight: the expected calibration error of any partition."""
    return math.fsum(np.abs(np.bincount(cell, view.weights * (view.score - view.outcome)))) / view.total


def _cross_cells(first: Cells, second: Cells) -> Cells:
    return first * (int(second.max()) + 1) + second


def _floats(values: Any, argument: str) -> Floats:
    """Return numbers of an option, or raise."""
    return numbers(np.atleast_1d(np.asarray(values)), argument).astype(np.float64)


def _of_rows(view: View, values: Any) -> NDArray[Any]:
    """Return one value per input row, without rows of weight 0."""
    values = np.asarray(values)
    kept = None if view.rows is None else view.rows.kept
    return values if kept is None or values.shape != kept.shape else values[kept]


def _groups(view: View) -> Cells:
    assert view.rows is not None
    assert view.rows.groups is not None
    return view.rows.groups


def _features(view: View) -> Floats:
    assert view.rows is not None
    assert view.rows.features is not None
    return view.rows.features


@metric("Partitioned calibration error", range=(0, 1), ideal=0, needs=("groups",), sketch=False, cite="yang2023")
def pce(
    view: View,
    *,
    rule: BinningRule,
    partitions: Any = None,
    partition_weight: Any = None,
) -> float:
    """Expected calibration error over the cells of groups and bins of the score."""
    cells = [_groups(view)]
    for number, labels in enumerate(() if partitions is None else partitions):
        values = _of_rows(view, labels)
        if values.shape != (view.n,):
            raise ShapeError(
                "partitions",
                f"partition {number} must have one entry for each of {view.n} rows; got shape {values.shape}",
            )
        cells.append(np.unique(values, return_inverse=True)[1].ravel())
    if getattr(rule, "bins", 0) is not None:  # bins=None stands for groups alone
        score_cell, _ = rule.cells(view)
        cells = [_cross_cells(cell, score_cell) for cell in cells]
    weight = np.ones(len(cells)) if partition_weight is None else _floats(partition_weight, "partition_weight")
    if weight.shape != (len(cells),) or not (weight >= 0).all() or not 0 < weight.sum() < math.inf:
        raise ArgumentError(
            "partition_weight", f"must be {len(cells)} non-negative numbers, not all zero, one per partition"
        )
    return math.fsum(w * cell_error(view, cell) for w, cell in zip(weight.tolist(), cells, strict=True)) / float(
        weight.sum()
    )


@metric(
    "Field-level expected calibration error", range=(0, 1), ideal=0, needs=("groups",), sketch=False, cite="pan2020"
)
def fece(view: View, *, relative: bool = False, eps: float = 0.0) -> float:
    """Mean over groups of the absolute difference between mean score and outcome rate, weighted by the number of rows."""
    group = _groups(view)
    if not relative:
        return cell_error(view, group)
    if not eps >= 0:
        raise ArgumentError("eps", f"must not be negative; got {eps!r}")
    weight = np.bincount(group, view.weights)
    excess = np.abs(np.bincount(group, view.weights * (view.score - view.outcome)))
    # Importance weights have no unit, so that eps is in units of the mean weight.
    events = np.bincount(group, view.weights * view.outcome) + eps * view.total / view.effective_size
    terms = np.divide(weight * excess, events, out=np.where(excess > 0, np.inf, 0.0), where=events > 0)
    return float(terms.sum()) / view.total


@metric(
    "Variable-based expected calibration error",
    range=(0, 1),
    ideal=0,
    needs=("features",),
    sketch=False,
    cite="kelly2023",
)
def vece(view: View, *, feature: int = 0, bins: int = 10) -> float:
    """Expected calibration error over bins of a feature instead of the score."""
    count = _features(view).shape[1]
    if check_whole(feature, "feature", 0) >= count:
        raise ArgumentError("feature", f"must be below {count}, the number of features; got {feature}")
    return cell_error(view, bin_of_ranks(view, _features(view)[:, feature], bins))


@metric(
    "Proximity-informed expected calibration error",
    range=(0, 1),
    ideal=0,
    needs=("features",),
    instead=("proximity",),
    sketch=False,
    cite="xiong2023",
    bins=10,
    binning="equal_mass",
)
def piece(
    view: View,
    *,
    rule: BinningRule,
    proximity_bins: int = 10,
    neighbours: int = 10,
    proximity: Any = None,
) -> float:
    """Expected calibration error over cells of the score and of the proximity to other rows in feature space."""
    if proximity is None:
        near = _proximity(_features(view), check_whole(neighbours, "neighbours"))
    else:
        near = _of_rows(view, _floats(proximity, "proximity"))
        if near.shape != (view.n,) or not np.isfinite(near).all():
            raise ShapeError("proximity", f"must be {view.n} finite numbers, one per row; got shape {near.shape}")
    score_cell, _ = rule.cells(view)
    return cell_error(view, _cross_cells(bin_of_ranks(view, near, proximity_bins), score_cell))


def _proximity(features: Floats, neighbours: int) -> Floats:
    """Compute minus the mean distance to the nearest other rows; the proximity is its exponential, and only the order matters."""
    from scipy.spatial import cKDTree

    k = min(neighbours, len(features) - 1)
    if k == 0:
        return np.ones(len(features))
    distance, _ = cKDTree(features).query(features, k + 1)
    far = distance.sum(axis=1)  # includes the row itself, at distance 0
    # Rounded, so that ties do not depend on the order of the rows.
    return -np.round(far / far.max(), 12) if far.max() > 0 else far


@metric("Multi-view calibration error", range=(0, 1), ideal=0, needs=("features",), sketch=False, cite="huang2022")
def mvce(view: View, *, views: int | None = None, bins: int = 10, rng: Any = 0) -> float:
    """Expected calibration error over bins of one feature, averaged over features."""
    count = _features(view).shape[1]
    if count == 0:
        raise GroupError("features", "has no columns", "pass at least one feature")
    chosen = np.arange(count)
    if views is not None:
        chosen = np.random.default_rng(rng).integers(0, count, check_whole(views, "views"))
    errors = {int(c): cell_error(view, bin_of_ranks(view, _features(view)[:, c], bins)) for c in np.unique(chosen)}
    return math.fsum(errors[int(c)] for c in chosen) / len(chosen)

"""Metrics by groups or features of the rows, inside which errors cannot cancel with those of other rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...binning.parse import Binning, Bins, bin_cells
from ...binning.partition import bin_of_feature, bin_of_ranks
from ...errors import ArgumentError, GroupError, ShapeError
from ...util.checks import check_whole
from ...views.view import View
from ..registry import metric

Floats = NDArray[np.float64]
Cells = NDArray[np.intp]


def cell_error(view: View, cell: Cells) -> float:
    """Compute the sum over cells of |sum of residuals| divided by the total weight: the expected calibration error of any partition."""
    return math.fsum(np.abs(np.bincount(cell, view.weights * (view.score - view.outcome)))) / view.total


def _crossed(first: Cells, second: Cells) -> Cells:
    return first * (int(second.max()) + 1) + second


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


@metric(
    "Partitioned calibration error",
    family="bin",
    subfamily="groups and features",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    needs=("groups",),
    sketch=False,
    aliases=("PCE",),
    cite="yang2023",
    pros="recommended by the survey for local calibration: errors of opposite sign in two groups do not cancel; at least `ece` over the same bins",
    cons="requires meaningful groups; cells with few rows are dominated by sampling noise",
    notes="``bins`` divides the scores inside each group, with bins common to all groups; None compares the means of each group, which is `fece`. "
    "The general form averages over several partitions: ``partitions``, each an array with the group of each row.",
    explain={
        "bins": "Number of bins of the score inside each group; None for a single bin.",
        "partitions": "Further partitions, each with one value per row, averaged with the groups.",
        "partition_weight": "Weight of each partition, beginning with the groups; by default equal weights.",
    },
)
def pce(
    view: View,
    *,
    bins: Bins | None = 15,
    binning: Binning = "equal_width",
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
    if bins is not None:
        score_cell, _ = bin_cells(view, binning, bins)
        cells = [_crossed(cell, score_cell) for cell in cells]
    weight = np.ones(len(cells)) if partition_weight is None else np.asarray(partition_weight, dtype=np.float64)
    if weight.shape != (len(cells),) or not (weight >= 0).all() or not 0 < weight.sum() < math.inf:
        raise ArgumentError(
            "partition_weight", f"must be {len(cells)} non-negative numbers, not all zero, one per partition"
        )
    return math.fsum(w * cell_error(view, cell) for w, cell in zip(weight.tolist(), cells, strict=True)) / float(
        weight.sum()
    )


@metric(
    "Field-level expected calibration error",
    family="bin",
    subfamily="groups and features",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    needs=("groups",),
    sketch=False,
    aliases=("FECE", "Field-ECE"),
    cite="pan2020",
    pros="compares the mean prediction with the observed rate in every group; errors of opposite sign in two groups do not cancel",
    cons="a single bin of scores per group, so that errors of opposite sign inside a group cancel; inflated by sampling noise",
    notes="``relative=True`` is the Field-RCE of the paper: the error of each group is divided by its events, and a group without events makes "
    "the value infinite unless `eps` is above 0.",
    explain={
        "relative": "Whether to divide the error of each group by its number of events.",
        "eps": "Constant added to the number of events.",
    },
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
    family="bin",
    subfamily="groups and features",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    needs=("features",),
    sketch=False,
    cost="N log N",
    aliases=("VECE",),
    cite="kelly2023",
    pros="detects errors along a variable that cancel inside bins of the score",
    cons="one variable at a time; errors of opposite sign inside a bin of the variable cancel; inflated by sampling noise",
    explain={"feature": "Index of the column of the features.", "bins": "Number of equal-mass bins of the variable."},
)
def vece(view: View, *, feature: int = 0, bins: int = 10) -> float:
    """Expected calibration error over bins of a feature instead of the score."""
    assert view.rows is not None
    count = view.rows.feature_count
    if check_whole(feature, "feature", 0) >= count:
        raise ArgumentError("feature", f"must be below {count}, the number of features; got {feature}")
    return cell_error(view, bin_of_feature(view, feature, bins))


@metric(
    "Proximity-informed expected calibration error",
    family="bin",
    subfamily="groups and features",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    needs=("features",),
    instead=("proximity",),
    sketch=False,
    repeatable=False,
    cost="N log N",
    aliases=("PIECE",),
    cite="xiong2023",
    pros="separates rows in sparse regions, where the paper finds overconfidence; at least `ece` over the same bins",
    cons="depends on the features and their scale; cells with few rows are dominated by sampling noise",
    notes="Both kinds of bins have equal mass, as in the survey; the authors' code uses equal-width bins of the confidence. Neighbours are "
    "searched among these rows, without the row itself.",
    explain={
        "bins": "Number of bins of the score.",
        "proximity_bins": "Number of equal-mass bins of the proximity.",
        "neighbours": "Number of nearest rows that determine the proximity.",
        "proximity": "Proximity of each row, if it is not to be computed from the features.",
    },
)
def piece(
    view: View,
    *,
    bins: Bins = 10,
    binning: Binning = "equal_mass",
    proximity_bins: int = 10,
    neighbours: int = 10,
    proximity: Any = None,
) -> float:
    """Expected calibration error over cells of the score and of the proximity to other rows in feature space."""
    if proximity is None:
        near = _proximity(_features(view), check_whole(neighbours, "neighbours"))
    else:
        near = _of_rows(view, np.asarray(proximity, dtype=np.float64))
        if near.shape != (view.n,) or not np.isfinite(near).all():
            raise ShapeError("proximity", f"must be {view.n} finite numbers, one per row; got shape {near.shape}")
    score_cell, _ = bin_cells(view, binning, bins)
    return cell_error(view, _crossed(bin_of_ranks(view, near, proximity_bins), score_cell))


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


@metric(
    "Multi-view calibration error",
    family="bin",
    subfamily="groups and features",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    needs=("features",),
    sketch=False,
    cost="N log N",
    aliases=("MVCE",),
    cite="huang2022",
    pros="evaluates every feature in turn",
    cons="one feature at a time; errors of opposite sign inside a bin of a feature cancel; the choice of views is arbitrary",
    certainty="reconstructed, with low confidence: the formula was not readable",
    notes="The paper uses random views. Here each view is one feature, divided into equal-mass bins; ``views=None`` uses every feature once, "
    "which is the limit of many random views, and a number selects that many at random with `rng`.",
    explain={
        "views": "Number of features to select at random; by default every feature is used once.",
        "bins": "Number of bins of each feature.",
        "rng": "Seed or random generator of the selection.",
    },
)
def mvce(view: View, *, views: int | None = None, bins: int = 10, rng: Any = None) -> float:
    """Expected calibration error over bins of one feature, averaged over features."""
    assert view.rows is not None
    count = view.rows.feature_count
    if count == 0:
        raise GroupError("features", "has no columns", "pass at least one feature")
    chosen = np.arange(count)
    if views is not None:
        chosen = np.random.default_rng(rng).integers(0, count, check_whole(views, "views"))
    errors = {int(c): cell_error(view, bin_of_feature(view, int(c), bins)) for c in np.unique(chosen)}
    return math.fsum(errors[int(c)] for c in chosen) / len(chosen)

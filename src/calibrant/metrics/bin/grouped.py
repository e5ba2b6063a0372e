"""Metrics that look at groups or features of the rows: errors that cancel over all rows need not cancel inside a group."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...binning.parse import Binning, Bins, bin_cells
from ...binning.partition import bin_of_ranks
from ...errors import ArgumentError, GroupError, ShapeError
from ...util.checks import check_whole
from ...views.view import View
from ..registry import metric

Floats = NDArray[np.float64]
Cells = NDArray[np.intp]


def cell_error(view: View, cell: Cells) -> float:
    """Sum over cells of |sum of residuals|, over all weight: the expected calibration error of any partition."""
    return math.fsum(np.abs(np.bincount(cell, view.weights * (view.score - view.outcome)))) / view.total


def _crossed(first: Cells, second: Cells) -> Cells:
    return first * (int(second.max()) + 1) + second


def _of_rows(view: View, values: Any) -> NDArray[Any]:
    """One value for each row given, less those of rows without weight."""
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
    needs=("groups",),
    sketch=False,
    use_cases=("local",),
    aliases=("PCE",),
    cite="yang2023",
    pros="recommended by the survey for local calibration: errors of opposite sign in two groups do not cancel; at least `ece` over the same bins",
    cons="the groups must mean something; cells of few rows are mostly sampling noise",
    notes="``bins`` cuts the scores inside each group as well, with bins common to all groups; None compares the means of each group, which is "
    "`fece`. The general form averages over several partitions: ``partitions``, each an array with a group for each row.",
    explain={
        "bins": "Number of bins of the score inside each group; None for one.",
        "partitions": "Further partitions, each one value per row, averaged with the groups.",
        "partition_weight": "One weight for each partition, the groups first; None for equal weights.",
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
    """Expected calibration error over cells of group and score."""
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
    needs=("groups",),
    sketch=False,
    use_cases=("local",),
    aliases=("FECE", "Field-ECE"),
    cite="pan2020",
    pros="compares the mean forecast with the observed rate in every group; errors of opposite sign in two groups do not cancel",
    cons="one bin of scores per group, so errors of opposite sign inside a group cancel; sampling noise raises it",
    notes="``relative=True`` is the paper's Field-RCE: each group's error is divided by its events, and a group without events makes it infinite "
    "unless `eps` is above 0.",
    explain={"relative": "Divide each group's error by its number of events.", "eps": "Added to the number of events."},
)
def fece(view: View, *, relative: bool = False, eps: float = 0.0) -> float:
    """Mean over rows of the gap between mean score and outcome rate of the row's group."""
    group = _groups(view)
    if not relative:
        return cell_error(view, group)
    if not eps >= 0:
        raise ArgumentError("eps", f"must not be negative; got {eps!r}")
    weight = np.bincount(group, view.weights)
    excess = np.abs(np.bincount(group, view.weights * (view.score - view.outcome)))
    # Importance has no unit, so eps counts in rows of the mean weight.
    events = np.bincount(group, view.weights * view.outcome) + eps * view.total / view.effective_size
    terms = np.divide(weight * excess, events, out=np.where(excess > 0, np.inf, 0.0), where=events > 0)
    return float(terms.sum()) / view.total


@metric(
    "Variable-based expected calibration error",
    family="bin",
    subfamily="groups and features",
    range=(0, 1),
    ideal=0,
    needs=("features",),
    sketch=False,
    cost="N log N",
    use_cases=("local",),
    aliases=("VECE",),
    cite="kelly2023",
    pros="finds errors along a variable that cancel inside bins of the score",
    cons="one variable at a time; errors of opposite sign inside a bin of the variable cancel; sampling noise raises it",
    explain={"feature": "Which column of the features.", "bins": "Number of bins of the variable, of equal weight."},
)
def vece(view: View, *, feature: int = 0, bins: int = 10) -> float:
    """Expected calibration error over bins of a feature instead of the score."""
    features = _features(view)
    if check_whole(feature, "feature", 0) >= features.shape[1]:
        raise ArgumentError("feature", f"must be below {features.shape[1]}, the number of features; got {feature}")
    return cell_error(view, bin_of_ranks(view, features[:, feature], bins))


@metric(
    "Proximity-informed expected calibration error",
    family="bin",
    subfamily="groups and features",
    range=(0, 1),
    ideal=0,
    needs=("features",),
    instead=("proximity",),
    sketch=False,
    repeatable=False,
    cost="N log N",
    use_cases=("local",),
    aliases=("PIECE",),
    cite="xiong2023",
    pros="sets apart rows in sparse regions, where the paper finds overconfidence; at least `ece` over the same bins",
    cons="depends on the features and their scale; cells of few rows are mostly sampling noise",
    notes="Both bins hold equally many rows, as in the survey; the authors' code cuts confidence by width. Neighbours are sought among these "
    "rows, the row itself excluded.",
    explain={
        "bins": "Number of bins of the score.",
        "proximity_bins": "Number of bins of the proximity, of equal weight.",
        "neighbours": "How many nearest rows make the proximity.",
        "proximity": "A proximity for each row, given instead of computed.",
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
    """Expected calibration error over cells of score and of closeness to other rows in feature space."""
    if proximity is None:
        near = _proximity(_features(view), check_whole(neighbours, "neighbours"))
    else:
        near = _of_rows(view, np.asarray(proximity, dtype=np.float64))
        if near.shape != (view.n,) or not np.isfinite(near).all():
            raise ShapeError("proximity", f"must be {view.n} finite numbers, one per row; got shape {near.shape}")
    score_cell, _ = bin_cells(view, binning, bins)
    return cell_error(view, _crossed(bin_of_ranks(view, near, proximity_bins), score_cell))


def _proximity(features: Floats, neighbours: int) -> Floats:
    """Minus the mean distance to the nearest other rows; the proximity is its exponential, and only the order counts."""
    from scipy.spatial import cKDTree

    k = min(neighbours, len(features) - 1)
    if k == 0:
        return np.ones(len(features))
    distance, _ = cKDTree(features).query(features, k + 1)
    far = distance.sum(axis=1)  # the row itself is among the nearest, at distance 0
    # Rounded, so that ties stay ties in any order of the rows.
    return -np.round(far / far.max(), 12) if far.max() > 0 else far


@metric(
    "Multi-view calibration error",
    family="bin",
    subfamily="groups and features",
    range=(0, 1),
    ideal=0,
    needs=("features",),
    sketch=False,
    cost="N K log N",
    use_cases=("local",),
    aliases=("MVCE",),
    cite="huang2022",
    pros="looks along every feature in turn",
    cons="one feature at a time; errors of opposite sign inside a bin of a feature cancel; which views count is a choice",
    certainty="reconstructed, with low confidence: the formula was not readable",
    notes="The paper takes random views. Each view here is one feature cut into bins of equal weight; ``views=None`` takes every feature once, "
    "which is what many random views tend to, and a number takes that many at random with `rng`.",
    explain={
        "views": "How many features to take at random, or None for each once.",
        "bins": "Number of bins of each feature.",
        "rng": "Seed or Generator for the choice.",
    },
)
def mvce(view: View, *, views: int | None = None, bins: int = 10, rng: Any = None) -> float:
    """Expected calibration error over bins of one feature, averaged over features."""
    features = _features(view)
    count = features.shape[1]
    if count == 0:
        raise GroupError("features", "has no columns", "pass at least one feature")
    chosen = np.arange(count)
    if views is not None:
        chosen = np.random.default_rng(rng).integers(0, count, check_whole(views, "views"))
    errors = {int(c): cell_error(view, bin_of_ranks(view, features[:, int(c)], bins)) for c in np.unique(chosen)}
    return math.fsum(errors[int(c)] for c in chosen) / len(chosen)

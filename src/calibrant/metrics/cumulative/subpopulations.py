"""The worst of many subpopulations: given groups, combinations of feature values, or nodes of a tree over the features."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...binning.partition import bin_of_ranks
from ...errors import InputTypeError, UndefinedMetricError
from ...input.predictions import Predictions
from ...util.arrays import Floats
from ...util.checks import check_whole
from ...views.view import View
from ..kernel.neighbours import standardised
from ..registry import metric

Cells = NDArray[np.intp]

# Variances and weights this close are treated as equal, so that splits do not depend on the order of rows.
SAME = 1e-9
COMBINED = 3


@metric(
    "Multi-calibration metric",
    range=(0, math.inf),
    ideal=0,
    needs=("groups",),
    instead=("features",),
    soft=False,
    sketch=False,
    cite="guy2025",
)
def mcm(
    view: View,
    *,
    scale: Literal["absolute", "sigma", "relative"] = "absolute",
    subpopulations: Literal["auto", "combinations", "tree"] = "auto",
    depth: int | None = None,
    cuts: int = 3,
    min_size: int = 10,
) -> float:
    """Largest range of cumulative differences over all rows and each subpopulation, relative to its standard deviation."""
    rows = _SortedRows(view)
    worst = rows.worst(_one_cell(view), 0).ratio
    for cell, least in partitions_of(view, subpopulations, depth, cuts, min_size):
        worst = max(worst, rows.worst(cell, least).ratio)
    if scale == "sigma":
        return worst
    deviation = rows.deviation()
    value = worst * deviation if deviation > 0 else worst
    if scale == "absolute":
        return value
    rate = view.mean(view.outcome)
    if min(rate, 1 - rate) <= 0:
        raise UndefinedMetricError(
            "mcm", "all outcomes are equal, so the relative scale is undefined", "use scale='absolute'"
        )
    return value / min(rate, 1 - rate)


class Worst(NamedTuple):
    """The largest ratio of a path's range to its standard deviation, and the cell in which it is attained."""

    ratio: float
    cell: int


class _SortedRows:
    """Increments of the path in increasing order of the score, so that the rows of every subpopulation are sorted."""

    def __init__(self, view: View) -> None:
        self.order = view.order
        self.score = view.score[self.order]
        self.excess = self.score - view.outcome[self.order]
        self.variance = view.variance[self.order]
        self.weight = self.units = None
        if view.weight is not None:
            self.weight = view.weights[self.order]
            self.excess *= self.weight
            self.variance *= self.weight**2 if view.weight_kind == "importance" else self.weight
            self.units = self.weight if view.weight_kind == "counts" else None

    def deviation(self) -> float:
        """Compute the standard deviation of the mean difference of all rows, if predictions were calibrated."""
        mass = len(self.score) if self.weight is None else self.weight.sum()
        return float(np.sqrt(self.variance.sum()) / mass)

    def worst(self, cell: Cells, least: int) -> Worst:
        """Find the worst of the cells of at least `least` rows; rows of a negative cell belong to none."""
        rows, code = self._by_cell(cell)
        if not len(rows):
            return Worst(0.0, -1)
        start = np.append(0, np.flatnonzero(code[1:] != code[:-1]) + 1)
        size = np.diff(np.append(start, len(rows)))
        path_range = self._path_range(rows, start, size)
        mass = size if self.weight is None else np.add.reduceat(self.weight[rows], start)
        units = size if self.units is None else np.add.reduceat(self.units[rows], start)
        deviation = np.sqrt(np.add.reduceat(self.variance[rows], start))
        certain = np.where(path_range <= 1e-12 * mass, 0.0, math.inf)
        ratio = np.divide(path_range, deviation, out=certain, where=deviation > 0)
        ratio[units < least] = 0
        largest = int(ratio.argmax())
        return Worst(float(ratio[largest]), int(code[start[largest]]))

    def _by_cell(self, cell: Cells) -> tuple[Cells, Cells]:
        """Sort the rows by cell and score; return their places and cells, without those of negative cells."""
        code = cell[self.order]
        if code.itemsize > 2 and int(code.max(initial=0)) < 1 << 15 and int(code.min(initial=0)) >= -1:
            code = code.astype(np.int16)  # short integers sort fast
        rows = np.argsort(code, kind="stable")
        rows = rows[np.searchsorted(code[rows], 0) :]
        return rows, code[rows]

    def _path_range(self, rows: Cells, start: Cells, size: Cells) -> Floats:
        """Compute the range of the cumulative differences of each cell, which begin at 0."""
        path = np.cumsum(self.excess[rows])
        path -= np.repeat(np.append(0.0, path[start[1:] - 1]), size)
        # Inside a tie the path would depend on the order of rows, so that only its end counts.
        score, is_last = self.score[rows], np.zeros(len(rows), bool)
        is_last[start + size - 1] = True
        path[:-1][~is_last[:-1] & (score[1:] == score[:-1])] = 0
        highest = np.maximum(np.maximum.reduceat(path, start), 0)
        return np.asarray(highest - np.minimum(np.minimum.reduceat(path, start), 0))


def _one_cell(view: View) -> Cells:
    return np.zeros(view.n, np.intp)


def worst_subpopulation(view: View, **options: Any) -> str:
    """Return the subpopulation in which `mcm` is attained as a group or as conditions on features."""
    assert view.rows is not None
    rows = _SortedRows(view)
    worst, name = rows.worst(_one_cell(view), 0).ratio, "all rows"
    for cell, least in partitions_of(view, **{key: value for key, value in options.items() if key != "scale"}):
        ratio, code = rows.worst(cell, least)
        if ratio > worst:
            worst = ratio
            is_group = cell is view.rows.groups
            name = str(view.rows.group_names[code]) if is_group else _conditions(view.rows, cell == code)
    return name


def _conditions(rows: Predictions, inside: NDArray[np.bool_]) -> str:
    """Ranges of as few features as possible that only these rows have."""
    assert rows.features is not None
    values = rows.features
    low, high = values[inside].min(axis=0), values[inside].max(axis=0)
    outside = (values < low) | (values > high)
    violated = outside.sum(axis=1)
    kept = []
    for place in np.argsort(outside.sum(axis=0), kind="stable").tolist():
        if ((violated - outside[:, place] == 0) == inside).all():
            violated = violated - outside[:, place]
        else:
            kept.append(place)
    names = rows.feature_names or tuple(f"x{place}" for place in range(values.shape[1]))
    texts = []
    for place in sorted(kept):
        first, last = (f"{each[place]:.6g}" for each in (low, high))
        name = names[place]
        if low[place] == high[place]:
            texts.append(f"{name} = {first}")
        elif high[place] >= values[:, place].max():
            texts.append(f"{name} ≥ {first}")
        elif low[place] <= values[:, place].min():
            texts.append(f"{name} ≤ {last}")
        else:
            texts.append(f"{first} ≤ {name} ≤ {last}")
    return " and ".join(texts)


def partitions_of(
    view: View, subpopulations: str, depth: int | None, cuts: int, min_size: int
) -> Iterator[tuple[Cells, int]]:
    """Iterate over cells with the smallest allowed number of rows: the groups first, then those formed from features."""
    assert view.rows is not None
    groups = view.rows.groups
    check_whole(cuts, "cuts", 2)
    check_whole(min_size, "min_size")
    depth = None if depth is None else check_whole(depth, "depth")
    if subpopulations != "auto" and view.rows.features is None:
        raise InputTypeError("features", f"required by mcm with the subpopulations {subpopulations!r}", "pass features")
    if groups is not None:
        yield groups, 0
    if subpopulations == "auto" and groups is not None:
        return
    features = view.rows.features
    assert features is not None
    if subpopulations == "tree":
        made = _tree_levels(view, features, depth, min_size)
    else:
        made = _combined_cells(view, features, COMBINED if depth is None else depth, cuts)
    for cell in made:
        yield cell, min_size


def _combined_cells(view: View, features: Floats, depth: int, cuts: int) -> Iterator[Cells]:
    """Iterate over choices of up to `depth` features, with the cells of their parts."""
    parts = []
    for column in features.T:
        values, code = np.unique(column, return_inverse=True)
        if len(values) > 1:  # a single value is equivalent to all rows
            parts.append(code.ravel() if len(values) <= cuts else bin_of_ranks(view, column, cuts))
    for count in range(1, min(depth, len(parts)) + 1):
        for chosen in combinations(parts, count):
            cell: Any = np.zeros(view.n, np.int64)
            for part in chosen:
                cell = cell * cuts + part
            if cuts**count > 1 << 15:
                cell = np.unique(cell, return_inverse=True)[1].ravel()
            yield cell.astype(np.int16 if int(cell.max()) < 1 << 15 else np.intp)  # short integers sort fast


def _tree_levels(view: View, features: Floats, depth: int | None, min_size: int) -> Iterator[Cells]:
    """Iterate over the levels of a tree: every node is split at the median of its feature with the largest variance."""
    columns = standardised(features, view.weights)
    units = view.weights if view.weight_kind == "counts" else np.ones(view.n)
    cell = np.zeros(view.n, np.intp)
    rows = np.arange(view.n)
    level = 0
    while columns.shape[1] and len(rows) and (depth is None or level < depth):
        code, weight = cell[rows], view.weights[rows]
        variance = _variances(columns[rows], weight, code)
        # The first among the features with the largest variance of each node.
        widest = np.argmax(variance >= variance.max(axis=1, keepdims=True) * (1 - SAME), axis=1)
        value = columns[rows, widest[code]]
        half = 2 * code + (value >= _upper_medians(value, weight, code)[code])
        size = np.bincount(half, units[rows], 2 * (int(code.max()) + 1)).reshape(-1, 2)
        split = (size.min(axis=1) >= min_size)[code]
        rows = rows[split]
        cell = np.full(view.n, -1, np.intp)
        if len(rows):
            cell[rows] = np.unique(half[split], return_inverse=True)[1].ravel()
            yield cell
        level += 1


def _variances(columns: Floats, weight: Floats, code: Cells) -> Floats:
    """Return the weighted variance of every column in each node."""
    mass = np.bincount(code, weight)
    variance = np.empty((len(mass), columns.shape[1]))
    for place, column in enumerate(columns.T):
        centred = column - (np.bincount(code, weight * column) / mass)[code]
        variance[:, place] = np.bincount(code, weight * centred**2) / mass
    return variance


def _upper_medians(value: Floats, weight: Floats, code: Cells) -> Floats:
    """Return the upper weighted median of each node."""
    order = np.lexsort((value, code))
    mass = np.bincount(code, weight)
    ends = np.cumsum(np.bincount(code))
    before = np.append(0.0, np.cumsum(mass)[:-1])
    # Cumulative weights of node k run from k to k + 1, so that one search finds all medians.
    share = (np.cumsum(weight[order]) - before[code[order]]) / mass[code[order]]
    key = code[order] + np.clip(share, 0, 1 - SAME / 2)
    middle = np.searchsorted(key, np.arange(len(mass)) + 0.5 - SAME)
    even = (key[middle] <= np.arange(len(mass)) + 0.5 + SAME) & (middle + 1 < ends)
    return value[order[middle + even]]

"""The worst of many subpopulations: given groups, combinations of feature values, or nodes of a tree over the features."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...binning.partition import bin_of_ranks
from ...errors import InputTypeError, UndefinedMetricError
from ...input.predictions import Predictions
from ...util.checks import check_whole
from ...views.view import View
from ..kernel.neighbours import standardised
from ..registry import metric

Floats = NDArray[np.float64]
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
    sorted_rows = _SortedRows(view)
    worst, own, _ = sorted_rows.worst(None, 0)
    for cell, least in partitions_of(view, subpopulations, depth, cuts, min_size):
        worst = max(worst, sorted_rows.worst(cell, least)[0])
    if scale == "sigma":
        return worst
    value = worst * own if own > 0 else worst
    if scale == "absolute":
        return value
    rate = view.mean(view.outcome)
    if min(rate, 1 - rate) <= 0:
        raise UndefinedMetricError(
            "mcm", "all outcomes are equal, so the relative scale is undefined", "use scale='absolute'"
        )
    return value / min(rate, 1 - rate)


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

    def worst(self, cell: Cells | None, least: int) -> tuple[float, float, int]:
        """Compute the largest ratio of path range to standard deviation over cells of at least `least` rows, the deviation of the first cell, and the worst cell.

        Rows of a negative cell belong to none; None is one cell of all rows.
        """
        rows: Any = slice(None)
        score = self.score
        new = score[1:] != score[:-1]
        last = np.zeros(len(score), bool)
        if cell is not None:
            cell = cell[self.order]
            if cell.itemsize > 2 and int(cell.max(initial=0)) < 1 << 15 and int(cell.min(initial=0)) >= -1:
                cell = cell.astype(np.int16)  # short integers sort fast
            rows = np.argsort(cell, kind="stable")
            cell = cell[rows]
            outside = int(np.searchsorted(cell, 0))
            rows, cell = rows[outside:], cell[outside:]
            if not len(rows):
                return 0.0, 0.0, -1
            score, last = score[rows], np.append(cell[1:] != cell[:-1], True)
            new = last[:-1] | (score[1:] != score[:-1])
        last[-1] = True
        start = np.append(0, np.flatnonzero(last)[:-1] + 1)
        size = np.diff(np.append(start, len(score)))
        path = np.cumsum(self.excess[rows])
        if len(start) > 1:
            path -= np.repeat(np.append(0.0, path[start[1:] - 1]), size)
        if not new.all():
            # Inside a tie the path would depend on the order of rows, so that only its ends are used; it starts at 0.
            path[:-1][~new] = 0
        spread = np.maximum(np.maximum.reduceat(path, start), 0) - np.minimum(np.minimum.reduceat(path, start), 0)
        mass = size if self.weight is None else np.add.reduceat(self.weight[rows], start)
        units = size if self.units is None else np.add.reduceat(self.units[rows], start)
        chance = np.sqrt(np.add.reduceat(self.variance[rows], start))
        none = np.where(spread <= 1e-12 * mass, 0.0, math.inf)
        ratio = np.divide(spread, chance, out=none, where=chance > 0)
        ratio = np.where(units >= least, ratio, 0.0)
        worst = int(ratio.argmax())
        return float(ratio[worst]), float(chance[0] / mass[0]), 0 if cell is None else int(cell[start[worst]])


def worst_subpopulation(view: View, **options: Any) -> str:
    """Return the subpopulation in which `mcm` is attained as a group or as conditions on features."""
    assert view.rows is not None
    sorted_rows = _SortedRows(view)
    (worst, _, _), name = sorted_rows.worst(None, 0), "all rows"
    for cell, least in partitions_of(view, **{key: value for key, value in options.items() if key != "scale"}):
        ratio, _, code = sorted_rows.worst(cell, least)
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
        least, most = low[place] <= values[:, place].min(), high[place] >= values[:, place].max()
        between = f"{names[place]} ≤ {last}" if least else f"{first} ≤ {names[place]} ≤ {last}"
        text = f"{names[place]} ≥ {first}" if most else between
        texts.append(f"{names[place]} = {first}" if low[place] == high[place] else text)
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
        mass = np.bincount(code, weight)
        variance = np.empty((len(mass), columns.shape[1]))
        for place, column in enumerate(columns[rows].T):
            centred = column - (np.bincount(code, weight * column) / mass)[code]
            variance[:, place] = np.bincount(code, weight * centred**2) / mass
        # The first among the features with the largest variance of each node.
        widest = np.argmax(variance >= variance.max(axis=1, keepdims=True) * (1 - SAME), axis=1)
        value = columns[rows, widest[code]]
        half = 2 * code + (value >= _upper_middles(value, weight, code)[code])
        size = np.bincount(half, units[rows], 2 * (int(code.max()) + 1)).reshape(-1, 2)
        split = (size.min(axis=1) >= min_size)[code]
        rows = rows[split]
        cell = np.full(view.n, -1, np.intp)
        if len(rows):
            cell[rows] = np.unique(half[split], return_inverse=True)[1].ravel()
            yield cell
        level += 1


def _upper_middles(value: Floats, weight: Floats, code: Cells) -> Floats:
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

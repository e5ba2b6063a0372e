"""Which cell each row falls into: bins of a number computed for each row, or the cells of a k-d tree over whole vectors."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, LensError, Use
from ..input.convert import is_number
from ..util.blocks import rows_per_block
from ..views.view import VectorView, View
from .parse import EQUAL_WIDTH, Edges, are_edges, bin_cells, check_bins, is_default, refuse_two_numbers
from .rules import edge_values

__all__ = ["KDTree", "SimplexGrid", "auto_binning", "bin_of_each", "bin_of_ranks", "cells_of"]

Array = NDArray[Any]
Floats = NDArray[np.float64]

# Variances and weights this close are taken as equal, so that rounding (another row order, other units of weight) moves no cell.
SAME = 1e-9


def bin_of_each(view: VectorView, key: Floats, binning: Any, bins: Any) -> tuple[NDArray[np.intp], int]:
    """Cut one number in [0, 1] for each row into bins; gives the bin of each row and how many bins there are."""
    scalar = View(key, np.zeros(view.n, np.uint8), view.weight, view.weight_kind)
    return bin_cells(scalar, binning, bins)


def bin_of_ranks(view: View, values: Floats, bins: Any) -> NDArray[np.intp]:
    """The bin of equal weight that each row falls into by any real number, ties together."""
    distinct, place = np.unique(values, return_inverse=True)
    rank = place.ravel() / max(1, len(distinct) - 1)
    scalar = View(rank, np.zeros(view.n, np.uint8), view.weight, view.weight_kind)
    return bin_cells(scalar, "equal_mass", check_bins(bins, edges=False))[0]


def auto_binning(view: VectorView, binning: Any, bins: Any, gamma: float, min_size: int) -> Any:
    """What ``binning="auto"`` stands for: bins of equal width where a row has one score, else a k-d tree; edges cut every class."""
    if not (isinstance(binning, str) and binning == "auto"):
        return binning
    if view.score_column is not None:
        return EQUAL_WIDTH
    if are_edges(bins):
        return "simplex_grid"
    if not is_default(bins):
        raise LensError(
            "bins",
            f"has no effect for {view.lens!r}, whose vectors are partitioned by a k-d tree; got {bins!r}",
            (Use("gamma", None, "for its cells"), Use("binning", "simplex_grid", "for a grid")),
        )
    return KDTree(gamma, min_size)


def cells_of(view: VectorView, binning: Any, bins: Any) -> tuple[NDArray[np.intp], int]:
    """The cell of each row: of a k-d tree, or of bins of the score where a row has one."""
    if isinstance(binning, (KDTree, SimplexGrid)):
        refuse_two_numbers(binning, bins)
        return binning.cells(view)
    if binning == "simplex_grid":
        return SimplexGrid(tuple(edge_values(bins).tolist()) if are_edges(bins) else bins).cells(view)
    if view.score_column is None:
        raise LensError(
            "binning",
            f"{binning!r} requires one score per row, and {view.lens!r} has several",
            "use 'auto' or KDTree()",
        )
    column = view.raw_probs if view.raw_probs.ndim == 1 else view.raw_probs[:, view.score_column]
    return bin_of_each(view, column.astype(np.float64), binning, bins)


@dataclass(frozen=True)
class KDTree:
    """Cells that adapt to the data: the most spread cell is halved at its median until each holds at most `gamma` of all rows."""

    gamma: float = 0.1
    min_size: int = 10

    def __post_init__(self) -> None:
        if not (is_number(self.gamma) and 0 < self.gamma <= 1):
            raise ArgumentError("gamma", f"must be in (0, 1]; got {self.gamma!r}", "for example 0.1")
        if isinstance(self.min_size, bool) or not isinstance(self.min_size, (int, np.integer)) or self.min_size < 1:
            raise ArgumentError(
                "min_size", f"must be an integer of at least 1; got {self.min_size!r}", "for example 10"
            )

    def cells(self, view: VectorView) -> tuple[NDArray[np.intp], int]:
        """The cell of each row, numbered in the order cells became final."""
        cell = np.zeros(view.n, np.intp)
        count = 0
        root = np.arange(view.n)
        # Entries: (minus variance, age, rows, coordinate); the oldest wins among equals.
        waiting = [(-variance, 0, root, axis) for variance, axis in [self._spread(view, root)]]
        age = 1
        while waiting:
            rows, axis = _pop(waiting)
            parts = self._split(view, rows, axis)
            if parts is None:
                cell[rows] = count
                count += 1
                continue
            for part in parts:
                variance, coordinate = self._spread(view, part)
                heapq.heappush(waiting, (-variance, age, part, coordinate))
                age += 1
        return cell, count

    def _split(self, view: VectorView, rows: Array, axis: int) -> tuple[Array, Array] | None:
        if float(view.weights[rows].sum()) <= self.gamma * view.total * (1 + SAME):
            return None
        values = _coordinate(view, rows, axis)
        left = values < _upper_middle(values, view.weights[rows])
        parts = rows[left], rows[~left]
        return parts if min(self._size(view, part) for part in parts) >= self.min_size else None

    @staticmethod
    def _size(view: VectorView, rows: Array) -> float:
        return float(view.weights[rows].sum()) if view.weight_kind == "counts" else float(len(rows))

    @staticmethod
    def _spread(view: VectorView, rows: Array) -> tuple[float, int]:
        """The largest variance of a coordinate and the lowest coordinate that has it."""
        columns = view.tree_columns
        step = rows_per_block(view.k)
        weight = float(view.weights[rows].sum())
        mean = np.zeros(columns)
        square = np.zeros(columns)
        for moment in (1, 2):
            for start in range(0, len(rows), step):
                part = rows[start : start + step]
                w = view.weights[part]
                values = _matrix(view, part)[:, :columns]
                if moment == 1:
                    mean += w @ values / weight
                else:
                    square += w @ np.square(values - mean) / weight
        largest = float(square.max())
        return largest, int(np.argmax(square >= largest * (1 - SAME)))


@dataclass(frozen=True)
class SimplexGrid:
    """Cells of a grid over the simplex: bins of every class at once, equal-width ones or between given edges."""

    bins: int | tuple[float, ...] = 10

    def cells(self, view: VectorView) -> tuple[NDArray[np.intp], int]:
        """The cell of each row, and how many hold any."""
        if isinstance(self.bins, tuple):
            edges = np.asarray(Edges(self.bins).edges)[1:-1]
        else:
            count = check_bins(self.bins)
            edges = np.arange(1, count) / count
        kind = np.uint8 if len(edges) < 255 else np.uint32
        columns = view.tree_columns
        place = np.empty((view.n, columns), kind)
        for span, block in view.blocks():
            place[span] = np.searchsorted(edges, block.probs[:, :columns], side="left")
        # Whole rows as one opaque value each, so that one sort finds the cells that are used.
        keys = np.ascontiguousarray(place).view(np.dtype((np.void, columns * place.itemsize))).ravel()
        used, cell = np.unique(keys, return_inverse=True)
        return cell.astype(np.intp).ravel(), len(used)


def _pop(waiting: list[tuple[float, int, Array, int]]) -> tuple[Array, int]:
    """The most spread cell, the oldest among those within rounding of it."""
    first = heapq.heappop(waiting)
    ties = []
    while waiting and waiting[0][0] <= first[0] * (1 - SAME):
        ties.append(heapq.heappop(waiting))
    chosen = min([first, *ties], key=lambda entry: entry[1])
    for entry in [first, *ties]:
        if entry is not chosen:
            heapq.heappush(waiting, entry)
    return chosen[2], chosen[3]


def _matrix(view: VectorView, rows: Array) -> Floats:
    probs = view.raw_probs[rows].astype(np.float64, copy=False)
    return np.column_stack([1 - probs, probs]) if probs.ndim == 1 else probs


def _coordinate(view: VectorView, rows: Array, axis: int) -> Floats:
    if view.raw_probs.ndim == 2:
        return view.raw_probs[rows, axis].astype(np.float64)
    probs = view.raw_probs[rows].astype(np.float64)
    return probs if axis == 1 else 1 - probs


def _upper_middle(values: Floats, weight: Floats) -> float:
    """The middle value, the larger of two where the weight divides evenly between them.

    What lies below it is what lies below the median (their mean), but neighbouring doubles have no mean between them.
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    half = reached[-1] / 2
    position = int(np.searchsorted(reached, half * (1 - SAME), side="left"))
    if reached[position] <= half * (1 + SAME) and position + 1 < len(values):
        position += 1
    return float(values[order[position]])

"""Partitions of rows: bins of one number per row, and cells of a k-d tree or a grid over probability vectors."""

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

# Variances and weights this close are treated as equal, so that rounding (row order, units of the weights) moves no cell.
SAME = 1e-9


def bin_of_each(
    view: VectorView, key: Floats, binning: Any, bins: Any, confidences: bool = False
) -> tuple[NDArray[np.intp], int]:
    """Return the bin of each row by a number in [0, 1], and the number of bins; `confidences` lie in [1/K, 1]."""
    classes = view.rows.exclusive_classes if confidences and view.rows is not None else None
    scalar = View(key, np.zeros(view.n, np.uint8), view.weight, view.weight_kind, lens=view.lens, classes=classes)
    return bin_cells(scalar, binning, bins)


def bin_of_ranks(view: View, values: Floats, bins: Any) -> NDArray[np.intp]:
    """Return the equal-mass bin of each row by a real number, with ties in one bin."""
    distinct, place = np.unique(values, return_inverse=True)
    rank = place.ravel() / max(1, len(distinct) - 1)
    scalar = View(rank, np.zeros(view.n, np.uint8), view.weight, view.weight_kind)
    return bin_cells(scalar, "equal_mass", check_bins(bins, edges=False))[0]


def auto_binning(view: VectorView, binning: Any, bins: Any, gamma: float, min_size: int) -> Any:
    """Resolve ``binning="auto"``: equal-width bins for one score per row, else a k-d tree; edges apply to every class."""
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
    """Return the cell of each row in a k-d tree or a grid, or its bin if there is one score per row."""
    if isinstance(binning, (KDTree, SimplexGrid)):
        refuse_two_numbers(binning, bins)
        return binning.cells(view)
    if binning == "simplex_grid":
        return SimplexGrid(tuple(edge_values(bins).tolist()) if are_edges(bins) else bins).cells(view)
    if view.score_column is None:
        shown = repr(binning)
        raise LensError(
            "binning",
            f"{type(binning).__name__ if chr(10) in shown else shown} requires one score per row, and {view.lens!r} has several",
            "use 'auto' or KDTree()",
        )
    column = view.raw_probs if view.raw_probs.ndim == 1 else view.raw_probs[:, view.score_column]
    return bin_of_each(view, column.astype(np.float64), binning, bins, confidences=True)


@dataclass(frozen=True)
class KDTree:
    """Partition of probability vectors by a k-d tree.

    The cell with the largest variance is split at the median of its widest coordinate until each cell contains at most the
    fraction `gamma` of the rows.

    Parameters
    ----------
    gamma : float, default 0.1
        Largest fraction of the rows in a cell.
    min_size : int, default 10
        Smallest number of rows in a cell; a split that would leave fewer is not made.

    See Also
    --------
    SimplexGrid : A fixed grid.

    Examples
    --------
    >>> import calibrant as cal
    >>> data = cal.make_calibrated(200, distribution=(1, 1, 1), rng=0)
    >>> round(cal.gece(data.y_true, data.y_prob, binning=cal.KDTree(gamma=0.25)), 3)
    0.092
    """

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
        """Return the cell of each row.

        Parameters
        ----------
        view : VectorView
            Probability vectors and weights.

        Returns
        -------
        cells : numpy.ndarray of shape (N,)
            Index of the cell of each row, in the order in which cells became final.
        count : int
            Number of cells.
        """
        cell = np.zeros(view.n, np.intp)
        count = 0
        root = np.arange(view.n)
        # Entries: (minus variance, age, rows, coordinate); the oldest comes first among equals.
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
        """Return the largest variance of a coordinate, and the lowest coordinate with this variance."""
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
    """Partition of probability vectors by a grid on the simplex: bins of every class at once.

    Parameters
    ----------
    bins : int or tuple of float, default 10
        Number of equal-width bins of each class, or increasing edges from 0 to 1.

    See Also
    --------
    KDTree : Cells that adapt to the data.

    Examples
    --------
    >>> import calibrant as cal
    >>> y_true, y_prob = [0, 1, 2], [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8]]
    >>> round(cal.gece(y_true, y_prob, binning=cal.SimplexGrid(2)), 4)
    0.2667
    """

    bins: int | tuple[float, ...] = 10

    def cells(self, view: VectorView) -> tuple[NDArray[np.intp], int]:
        """Return the cell of each row.

        Parameters
        ----------
        view : VectorView
            Probability vectors and weights.

        Returns
        -------
        cells : numpy.ndarray of shape (N,)
            Index of the cell of each row.
        count : int
            Number of cells that contain rows.
        """
        if isinstance(self.bins, tuple):
            edges = np.asarray(Edges(self.bins).edges)
            if (edges[0], edges[-1]) != (0.0, 1.0):
                raise ArgumentError(
                    "bins",
                    f"edges of a grid must reach from 0 to 1; got {list(self.bins)[:12]}",
                    "add the edges 0 and 1",
                )
            edges = edges[1:-1]
        else:
            count = check_bins(self.bins)
            edges = np.arange(1, count) / count
        kind = np.uint8 if len(edges) < 255 else np.uint32
        columns = view.tree_columns
        place = np.empty((view.n, columns), kind)
        for span, block in view.blocks():
            place[span] = np.searchsorted(edges, block.probs[:, :columns], side="left")
        # Each row as one opaque value, so that a single sort finds the non-empty cells.
        keys = np.ascontiguousarray(place).view(np.dtype((np.void, columns * place.itemsize))).ravel()
        used, cell = np.unique(keys, return_inverse=True)
        return cell.astype(np.intp).ravel(), len(used)


def _pop(waiting: list[tuple[float, int, Array, int]]) -> tuple[Array, int]:
    """Remove and return the cell with the largest variance, the oldest among those equal up to rounding."""
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
    """Return the upper weighted median: the larger of two values if the weight divides evenly between them.

    The values below it are those below the median, which need not be representable between two neighbouring doubles.
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    half = reached[-1] / 2
    position = int(np.searchsorted(reached, half * (1 - SAME), side="left"))
    if reached[position] <= half * (1 + SAME) and position + 1 < len(values):
        position += 1
    return float(values[order[position]])

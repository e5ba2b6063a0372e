"""Partitions of rows: bins of one number per row, and cells of a k-d tree or a grid over probability vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InputTypeError, LensError
from ..input.convert import is_frame
from ..input.predictions import Predictions
from ..util.arrays import Array, Floats
from ..util.blocks import rows_per_block
from ..util.checks import is_number
from ..views.lenses import Lens
from ..views.resolve import views_of
from ..views.view import VectorView, View
from .parse import EQUAL_WIDTH, are_edges, binning_rule, is_default, refuse_two_numbers
from .rules import BinningRule, Edges, EqualMass, check_bins, edge_values

Node = tuple[int, float, int, int]

# Variances and weights this close are treated as equal, so that rounding (row order, units of the weights) moves no cell.
SAME = 1e-9


def bin_of_each(
    view: VectorView, key: Floats, rule: BinningRule, confidences: bool = False
) -> tuple[NDArray[np.intp], int]:
    """Return the bin of each row by a number in [0, 1], and the number of bins; `confidences` lie in [1/K, 1]."""
    classes = view.rows.exclusive_classes if confidences and view.rows is not None else None
    scalar = View(key, np.zeros(view.n, np.uint8), view.weight, view.weight_kind, lens=view.lens, classes=classes)
    return rule.cells(scalar)


def bin_of_ranks(view: View, values: Floats, bins: Any) -> NDArray[np.intp]:
    """Return the equal-mass bin of each row by a real number, with ties in one bin."""
    distinct, place = np.unique(values, return_inverse=True)
    rank = place.ravel() / max(1, len(distinct) - 1)
    scalar = View(rank, np.zeros(view.n, np.uint8), view.weight, view.weight_kind)
    return EqualMass(check_bins(bins, edges=False)).cells(scalar)[0]


@dataclass(frozen=True)
class Auto:
    """Bins of equal width for one score per row without `gamma`; else a grid with these edges, or a k-d tree."""

    bins: Any

    @property
    def is_fixed(self) -> bool:
        """Whether the cell of a vector does not depend on other rows."""
        return are_edges(self.bins)

    def at(self, view: VectorView, gamma: float | None) -> BinningRule | SimplexGrid | None:
        """Return the rule for these rows; None for a k-d tree."""
        if view.score_column is not None and (gamma is None or not is_default(self.bins)):
            return binning_rule(self.bins, EQUAL_WIDTH)
        grid = SimplexGrid(tuple(edge_values(self.bins).tolist())) if are_edges(self.bins) else None
        if grid is None and not is_default(self.bins):
            problem = f"has no effect for {view.lens!r}, whose vectors are partitioned by a k-d tree; got {self.bins!r}"
            raise LensError("bins", problem, "pass gamma, or binning='simplex_grid' for a grid")
        return grid


def partition_rule(bins: Any, binning: Any) -> Partition:
    """Return the rule of these keywords, which may be one for whole vectors: ``"auto"``, ``"simplex_grid"``, a tree or a grid."""
    if isinstance(binning, str) and binning == "auto":
        return Auto(bins)
    if isinstance(binning, str) and binning == "simplex_grid":
        return SimplexGrid(tuple(edge_values(bins).tolist()) if are_edges(bins) else bins)
    if isinstance(binning, (KDTree, SimplexGrid)):
        refuse_two_numbers(binning, bins)
        return binning
    return binning_rule(bins, binning)


def partition_of(
    view: VectorView, rule: Partition, gamma: float | None, min_size: int
) -> BinningRule | KDTree | SimplexGrid:
    """Return the partition of these rows: the rule, or a k-d tree of `gamma` and `min_size`, which other rules do not use."""
    resolved = rule.at(view, gamma) if isinstance(rule, Auto) else rule
    if resolved is not None:
        return resolved
    return KDTree(min_size=min_size) if gamma is None else KDTree(gamma, min_size)


def cells_of(view: VectorView, partition: Partition) -> tuple[NDArray[np.intp], int]:
    """Return the cell of each row in a k-d tree or a grid, or its bin if there is one score per row."""
    if isinstance(partition, (KDTree, SimplexGrid)):
        cell, count = partition.cells(view)
        if isinstance(partition, KDTree) and partition.nodes_ is not None:  # cells without rows are left out
            occupied, cell = np.unique(cell, return_inverse=True)
            return cell.astype(np.intp).ravel(), len(occupied)
        return cell, count
    if view.score_column is None or isinstance(partition, Auto):
        problem = f"{type(partition).__name__} requires one score per row, and {view.lens!r} has several"
        raise LensError("binning", problem, "use 'auto' or KDTree()")
    column = view.raw_probs if view.raw_probs.ndim == 1 else view.raw_probs[:, view.score_column]
    return bin_of_each(view, column.astype(np.float64), partition, confidences=True)


@dataclass(repr=False)
class KDTree:
    """Partition of probability vectors by a k-d tree.

    The cell with the largest variance is split at the median of its widest coordinate until each cell contains at most the
    fraction `gamma` of the rows. Rows with equal coordinates stay together: if fewer than `min_size` rows are below the median, as where
    most rows have the smallest value, the cell is split above the rows at the median, and if that leaves too few as well, by the next widest
    coordinate. A cell is final if no coordinate can be split. A tree that is not fitted is grown anew from the rows of each call. After `fit`
    its cells are fixed, so that errors of other rows, models and dates refer to the same cells and can be compared.

    Parameters
    ----------
    gamma : float, default 0.1
        Largest fraction of the rows in a cell.
    min_size : int, default 10
        Smallest number of rows in a cell; a split that would leave fewer is not made.

    Attributes
    ----------
    nodes_ : tuple of tuple
        Splits of a fitted tree as (coordinate, threshold, below, from): a row whose coordinate is below the threshold continues at the
        node `below`, any other at `from`; a negative number -c - 1 denotes cell c.
    columns_ : int
        Number of coordinates of the vectors that the tree was fitted on.
    lens_ : str
        Lens that the tree was fitted for.
    classes_ : tuple or None
        Names of the classes in the order of the coordinates, if they were known; predictions with these classes in another order raise an error.

    See Also
    --------
    SimplexGrid : A fixed grid.

    Examples
    --------
    >>> import calibrant as cal
    >>> data = cal.inference.make_calibrated(200, distribution=(1, 1, 1), rng=0)
    >>> round(cal.gece(data.y_true, data.y_prob, binning=cal.KDTree(gamma=0.25)), 3)
    0.092

    The same cells for another date:

    >>> later = cal.inference.make_calibrated(500, distribution=(1, 1, 1), rng=1)
    >>> tree = cal.KDTree(gamma=0.25).fit(data.y_prob)
    >>> tree
    KDTree(gamma=0.25, min_size=10), fitted: 4 cells of 'canonical'
    >>> round(cal.gece(later.y_true, later.y_prob, binning=tree), 3)
    0.05
    """

    gamma: float = 0.1
    min_size: int = 10
    nodes_: tuple[Node, ...] | None = field(default=None, init=False)
    columns_: int = field(default=0, init=False)
    lens_: str = field(default="", init=False)
    classes_: tuple[Any, ...] | None = field(default=None, init=False)

    @property
    def is_fixed(self) -> bool:
        """Whether the cell of a vector does not depend on other rows: whether the tree is fitted."""
        return self.nodes_ is not None

    def __post_init__(self) -> None:
        if not (is_number(self.gamma) and 0 < self.gamma <= 1):
            raise ArgumentError("gamma", f"must be in (0, 1]; got {self.gamma!r}", "for example 0.1")
        if isinstance(self.min_size, bool) or not isinstance(self.min_size, (int, np.integer)) or self.min_size < 1:
            raise ArgumentError(
                "min_size", f"must be an integer of at least 1; got {self.min_size!r}", "for example 10"
            )

    def __repr__(self) -> str:
        rule = f"KDTree(gamma={self.gamma!r}, min_size={self.min_size!r})"
        if self.nodes_ is None:
            return rule
        count = len(self.nodes_) + 1
        return f"{rule}, fitted: {count} cell{'s' * (count > 1)} of {self.lens_!r}"

    def fit(self, y_prob: Any, *, lens: str | Lens = "canonical") -> KDTree:
        """Fix the cells by the probabilities of these rows; labels are not used.

        Parameters
        ----------
        y_prob : array-like of shape (N,) or (N, K), Predictions, View or VectorView
            Predicted probabilities: of the positive class, or one column per class. Frames, logits and weights are read by `Predictions`.
        lens : str or Lens, default "canonical"
            Lens whose vectors are partitioned: that of the metric that will use the tree.

        Returns
        -------
        KDTree
            The tree itself, fitted.

        Raises
        ------
        InputError
            If the probabilities are not valid.
        LensError
            If the lens has one view for each class.

        Examples
        --------
        >>> import calibrant as cal
        >>> data = cal.inference.make_calibrated(200, distribution=(1, 1, 1), rng=0)
        >>> cal.KDTree(gamma=0.5).fit(data.y_prob, lens="top_k:2").nodes_
        ((0, 0.5781667687390013, -1, -2),)
        """
        if is_frame(y_prob):
            raise InputTypeError("y_prob", "is a frame, whose columns are not named", "pass Predictions(frame, ...)")
        source = y_prob
        if not isinstance(y_prob, (Predictions, View, VectorView)):
            probs = np.asarray(y_prob)
            placeholders = np.full(probs.shape, 1 / max(probs.shape[1:] or (2,)))
            source = Predictions.derived(placeholders, probs, soft=True)
        views = views_of(source, lens, usual="canonical")
        if len(views) > 1:
            raise LensError("lens", f"{lens!r} has one view for each class", "use 'canonical' or 'class:NAME'")
        view = views[0].as_vector() if isinstance(views[0], View) else views[0]
        nodes, _ = self._grown(view)
        self.nodes_, self.columns_, self.lens_, self.classes_ = nodes, view.tree_columns, view.lens, _classes_of(view)
        return self

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
            Number of cells; those of a fitted tree may be empty.

        Raises
        ------
        LensError
            If the tree was fitted for another lens, number of columns or order of the classes.
        """
        if self.nodes_ is None:
            nodes, cell = self._grown(view)
            return cell, len(nodes) + 1
        if (view.lens, view.tree_columns) != (self.lens_, self.columns_):
            raise LensError(
                "binning",
                f"the tree was fitted for {self.lens_!r} with {self.columns_} columns; got {view.lens!r} with {view.tree_columns}",
                f"fit it with lens={view.lens!r}" if view.lens != self.lens_ else "fit it on such vectors",
            )
        names = _classes_of(view)
        if self.classes_ is not None and names not in (None, self.classes_) and set(names or ()) == set(self.classes_):
            raise LensError(
                "binning",
                f"the tree was fitted on the classes {_name_list(self.classes_)} in this order; got {_name_list(names or ())}",
                "pass the columns in that order",
            )
        cell = np.zeros(view.n, np.intp)
        waiting = [(0, np.arange(view.n))] if self.nodes_ else []
        while waiting:
            place, rows = waiting.pop()
            axis, threshold, *children = self.nodes_[place]
            below = _coordinate(view, rows, axis) < threshold
            for child, part in zip(children, (rows[below], rows[~below]), strict=True):
                if child < 0:
                    cell[part] = -child - 1
                else:
                    waiting.append((child, part))
        return cell, len(self.nodes_) + 1

    def _grown(self, view: VectorView) -> tuple[tuple[Node, ...], NDArray[np.intp]]:
        """Grow the tree on these rows: its splits, and the cell of each row."""
        cell = np.zeros(view.n, np.intp)
        nodes: list[list[Any]] = []
        leaves = 0
        waiting: list[tuple[Array, tuple[int, int] | None]] = [(np.arange(view.n), None)]
        while waiting:
            rows, place = waiting.pop(0)
            split = self._split(view, rows)
            if place is not None:
                nodes[place[0]][place[1]] = -leaves - 1 if split is None else len(nodes)
            if split is None:
                cell[rows] = leaves
                leaves += 1
                continue
            axis, threshold, *halves = split
            waiting += [(half, (len(nodes), 2 + number)) for number, half in enumerate(halves)]
            nodes.append([axis, threshold, 0, 0])
        return tuple((a, t, b, c) for a, t, b, c in nodes), cell

    def _split(self, view: VectorView, rows: Array) -> tuple[int, float, Array, Array] | None:
        """Return the coordinate, the threshold and both parts of the first split that leaves enough rows; None if there is none."""
        weight = view.weights[rows]
        if float(weight.sum()) <= self.gamma * view.total * (1 + SAME) or self._size(view, rows) < 2 * self.min_size:
            return None
        # From the largest variance down, the first coordinate among those equal up to rounding.
        spread = self._spread(view, rows).copy()
        while (largest := float(spread.max())) > 0:
            axis = int(np.argmax(spread >= largest * (1 - SAME)))
            spread[axis] = 0
            values = _coordinate(view, rows, axis)
            middle = _upper_middle(values, weight)
            for threshold in (middle, float(np.min(values, initial=math.inf, where=values > middle))):
                below = values < threshold
                halves = rows[below], rows[~below]
                if min(self._size(view, half) for half in halves) >= self.min_size:
                    return axis, threshold, *halves
        return None

    @staticmethod
    def _size(view: VectorView, rows: Array) -> float:
        return float(view.weights[rows].sum()) if view.weight_kind == "counts" else float(len(rows))

    @staticmethod
    def _spread(view: VectorView, rows: Array) -> Floats:
        """Return the variance of each coordinate."""
        columns = view.tree_columns
        step = rows_per_block(view.k)
        weight = float(view.weights[rows].sum())
        mean = np.zeros(columns)
        square = np.zeros(columns)
        for moment in (1, 2):
            for start in range(0, len(rows), step):
                block = rows[start : start + step]
                w = view.weights[block]
                probs = view.raw_probs[block].astype(np.float64, copy=False)
                values = (np.column_stack([1 - probs, probs]) if probs.ndim == 1 else probs)[:, :columns]
                if moment == 1:
                    mean += w @ values / weight
                else:
                    square += w @ np.square(values - mean) / weight
        return square


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
    is_fixed: ClassVar[bool] = True

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
        occupied, cell = np.unique(keys, return_inverse=True)
        return cell.astype(np.intp).ravel(), len(occupied)


Partition = BinningRule | Auto | KDTree | SimplexGrid


def _classes_of(view: VectorView) -> tuple[Any, ...] | None:
    """Names of the classes if the coordinates are the classes themselves and their names are known."""
    names = view.rows.classes if view.rows is not None and view.lens in ("canonical", "binary") else None
    return names if names is not None and len(names) == view.tree_columns else None


def _name_list(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names[:8])) + (", ..." if len(names) > 8 else "")


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

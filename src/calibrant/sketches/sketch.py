"""Sketch: counts, outcomes and sums of scores as integers in a fixed grid of narrow cells; bounded in size, merged without rounding."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning.exact_sums import REST_BITS, BinSums, CellSums
from ..binning.parse import is_found_in_rows
from ..errors import (
    ROWS_INSTEAD,
    ArgumentError,
    CalibrantWarning,
    InputTypeError,
    LensError,
    UndefinedMetricError,
    WeightsNotSupportedError,
)
from ..input.predictions import Predictions
from ..util.arrays import Floats
from ..util.cached import cached_property
from ..util.kernels import LOW_BITS, LOW_MASK
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from ..views.resolve import resolve, views_of
from ..views.view import Summary, View, sorted_views
from .error_bound import most_moved, spread_views
from .grid import CELLS, EQUAL, cell_sums, grid, slots
from .serialization import pack, unpack, well_formed

Counts = NDArray[np.int64]

# Metrics weight counts in double precision, which represents every integer up to this one.
MOST_ROWS = 1 << 53
# Up to this number of rows with counts, sums of scores fit into 20 high and 42 low bits.
MOST_COUNTED = 1 << 40
# Absolute and relative differences due to the order of summation and to the last step of iterative fits.
ROUNDING, RELATIVE = 5e-12, 1e-11
# Tolerance of the solver of linear programs.
SOLVED, PROGRAM = 1e-7, "a linear program"
# The rows lay in none of the ways that are tried, and metrics that cut by rank jump.
SAFETY = 6
# A curve of pieces chooses how many by the rows; up to so many knots.
MOST_KNOTS = 15


class Sketch(Summary):
    """Mergeable summary of scores and outcomes, of bounded size.

    A sketch holds the number of rows, the number of positives and the sum of the scores in each cell of a fixed grid of about 20,000
    cells. Every metric of scores accepts a sketch in place of labels and probabilities, as do `assess`, `interval`, the figures and the
    report. Use it for data that do not fit into memory or are distributed over several machines; `Sketches` keeps several lenses and
    groups.

    Parameters
    ----------
    cells : ndarray of int
        Indices of the cells that contain rows.
    sums : CellSums
        Sums of these cells.
    lens : str
        Name of the lens.

    See Also
    --------
    Sketches : Sketches of several lenses and groups.
    scan : Sketches from files of any size.

    Notes
    -----
    All sums are integers (scores in units of :math:`2^{-62}`), so that the same rows give the same bits in any order, and sketches are
    merged by addition. Bins whose edges are among those of the cells (10, 15, 20, 25, 30, 50 and 100 of equal width) are exact; see
    `error_bound` for other metrics. Create a sketch with `of`; the constructor is for internal use.

    Examples
    --------
    >>> import calibrant as cal
    >>> sketch = cal.Sketch.of([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    >>> cal.ece(sketch) == cal.ece([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    True
    >>> cal.Sketch.of([0], [0.1]).merge(cal.Sketch.of([1, 1, 1], [0.4, 0.8, 0.9])) == sketch
    True
    >>> cal.Sketch.from_bytes(sketch.to_bytes()) == sketch
    True
    """

    def __init__(self, cells: Counts, sums: CellSums, lens: str) -> None:
        self._cells = cells
        self._kept = sums
        self.lens = lens

    @classmethod
    def empty(cls, lens: str) -> Sketch:
        """Create a sketch without rows.

        Parameters
        ----------
        lens : str
            Name of the lens.

        Returns
        -------
        Sketch
            Empty sketch, the neutral element of `merge`.
        """
        none = np.zeros(0, np.int64)
        return cls(none, CellSums(none, none, none, none), lens)

    @classmethod
    def of_sums(cls, sums: BinSums, lens: str) -> Sketch:
        """Create a sketch from the sums of all cells of the grid.

        Parameters
        ----------
        sums : BinSums
            Sums of all cells.
        lens : str
            Name of the lens.

        Returns
        -------
        Sketch
            Sketch of the cells that contain rows.
        """
        cells = np.flatnonzero(sums.rows)
        return cls(cells, CellSums.of(BinSums(*(np.asarray(column[cells], np.int64) for column in sums))), lens)

    @classmethod
    @documents_keywords()
    def of(
        cls,
        y_true: Any,
        y_prob: Any = None,
        *,
        lens: str | Lens = "auto",
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> Sketch:
        """Create the sketch of labels and probabilities.

        Parameters
        ----------
        y_true
        y_prob
        lens
        sample_weight
        pos_label

        Returns
        -------
        Sketch
            Sketch of the rows.

        Raises
        ------
        LensError
            If the lens has more than one score per row, as ``"classwise"``.
        WeightsNotSupportedError
            If the values of `sample_weight` differ; a sketch supports counts only, ``Predictions(..., counts=...)``.
        """
        views = views_of(resolve(y_true, y_prob, sample_weight, pos_label), lens)
        if len(views) > 1 or not isinstance(views[0], View):
            problem = "a sketch has one score for each row"
            raise LensError("lens", problem, "use 'top_label' or 'class:NAME', or Sketches for all classes")
        return cls.of_view(views[0])

    @classmethod
    def of_view(cls, view: View) -> Sketch:
        """Create the sketch of a view.

        Parameters
        ----------
        view : View
            View with hard labels, and without importance weights.

        Returns
        -------
        Sketch
            Sketch of the rows.

        Raises
        ------
        UndefinedMetricError
            If the labels are soft.
        WeightsNotSupportedError
            If the view has importance weights that differ.
        """
        if view.is_soft:
            raise UndefinedMetricError("Sketch", "is not defined for soft labels")
        if view.weight_kind == "importance" and not (view.weights == 1).all():
            raise WeightsNotSupportedError(
                "sample_weight", "sketches do not support real weights", "pass counts for integer counts"
            )
        if view.weight_kind == "counts":
            assert view.weight is not None
            if view.weight.sum(dtype=np.float64) > MOST_ROWS:
                raise WeightsNotSupportedError("counts", f"sum to more than {MOST_ROWS:,} rows")
            return _sketch_counts(view, view.weight.astype(np.int64))
        return cls.of_sums(cell_sums(view.raw_score, view.raw_outcome), view.lens)

    @documents_keywords()
    def update(self, y_true: Any, y_prob: Any = None, *, sample_weight: Any = None, pos_label: Any = None) -> Sketch:
        """Return the sketch with additional rows.

        Parameters
        ----------
        y_true
        y_prob
        sample_weight
        pos_label

        Returns
        -------
        Sketch
            New sketch; this one is not changed.
        """
        lens = "auto" if isinstance(y_true, View) else self.lens
        return self.merge(Sketch.of(y_true, y_prob, lens=lens, sample_weight=sample_weight, pos_label=pos_label))

    def merge(self, other: Sketch) -> Sketch:
        """Return the sketch of the rows of both sketches.

        Parameters
        ----------
        other : Sketch
            Sketch of the same lens.

        Returns
        -------
        Sketch
            New sketch; neither is changed.

        Raises
        ------
        LensError
            If the lenses differ.
        """
        if not isinstance(other, Sketch):
            raise InputTypeError("other", f"must be a Sketch; got {type(other).__name__}")
        if other.lens != self.lens:
            raise LensError("lens", f"cannot merge sketches of {self.lens!r} and {other.lens!r}", "use one lens")
        if self.n + other.n > MOST_ROWS:
            raise WeightsNotSupportedError("counts", f"sum to more than {MOST_ROWS:,} rows")
        is_occupied = np.zeros(CELLS, bool)
        is_occupied[self._cells] = is_occupied[other._cells] = True
        cells, number = np.flatnonzero(is_occupied), np.cumsum(is_occupied) - 1
        totals = [np.zeros(len(cells), np.int64) for _ in range(4)]
        for sketch in (self, other):
            place = number[sketch._cells]
            for total, column in zip(totals, sketch._kept, strict=True):
                total[place] += column
        return Sketch(cells, CellSums.with_carry(*totals), self.lens)

    __add__ = merge

    @cached_property
    def n(self) -> int:
        """Number of rows."""
        return int(self._kept.rows.sum())

    @property
    def positives(self) -> int:
        """Number of rows whose outcome is 1."""
        return int(self._kept.positives.sum())

    @property
    def mean_score(self) -> float:
        """Mean of all scores."""
        if not self.n:
            raise UndefinedMetricError("mean_score", "there are no rows")
        parts = zip(self.halves.whole.tolist(), self.halves.rest.tolist(), strict=True)
        return sum((whole << REST_BITS) + rest for whole, rest in parts) / (self.n << REST_BITS)

    @cached_property
    def halves(self) -> CellSums:
        """Exact sums over the scores up to one half, and over those above it."""
        return self.coarse(2)

    def coarse(self, count: int) -> CellSums:
        """Return exact sums in a coarser grid of equal width.

        Parameters
        ----------
        count : int
            Number of cells, a divisor of 19,200.

        Returns
        -------
        CellSums
            Rows, positives and sums of scores of each cell.

        Raises
        ------
        ArgumentError
            If `count` does not divide 19,200.
        """
        if count < 1 or EQUAL % count:
            raise ArgumentError("count", f"must divide {EQUAL}; got {count}", "for example 300 or 1920")
        bounds = np.searchsorted(grid().edges, np.arange(count + 1) / count)
        return self._kept.between(np.searchsorted(self._cells, bounds))

    def view(self, lens: Any = "auto") -> View:
        """Return the view of the sketch, with counts as weights.

        Each cell contributes up to two rows, with outcomes 0 and 1, at its mean score.

        Parameters
        ----------
        lens : str, default "auto"
            Name of the lens; any other than that of the sketch raises an error.

        Returns
        -------
        View
            View of the cells.

        Raises
        ------
        LensError
            If `lens` is not that of the sketch.
        """
        if lens not in ("auto", self.lens):
            raise LensError(
                "lens", f"the sketch has {self.lens!r}; got {lens!r}", f"use lens={self.lens!r} or {ROWS_INSTEAD}"
            )
        return self._view

    def predictions(self) -> Predictions:
        """Return the cells as predictions with counts.

        Returns
        -------
        Predictions
            One or two rows per cell, at its mean score.
        """
        view = self.view()
        keywords: dict[str, Any] = {} if self.lens == "binary" else {"input": "confidence"}
        return Predictions.derived(view.raw_outcome, view.score, counts=view.weight, **keywords)

    def clear_cache(self) -> None:
        """Forget the view, which takes many times the memory of a sketch with few rows."""
        vars(self).pop("_view", None)
        vars(self).pop("halves", None)

    @cached_property
    def _view(self) -> View:
        return sketch_views([self])[0]

    def error_bound(self, metric: Callable[..., float], **options: Any) -> float:
        """Estimate a bound on the difference between the value of a metric on the sketch and on the rows.

        A sketch does not keep the position of a row within its cell. The metric is recomputed for eleven placements of the rows that
        agree with the sums of every cell; the bound is six times the largest change plus the largest possible mean displacement of a row.
        If the metric selects a number of knots, the bound covers every number. It is an empirical bound, not a proven one.

        Parameters
        ----------
        metric : Metric
            Metric of scores.
        **options
            Options of the metric.

        Returns
        -------
        float
            Bound on the absolute difference; infinite if the metric is unbounded as rows move within their cells. For bins whose edges
            are among those of the cells (10, 15, 20, 25, 30, 50 and 100 of equal width) only rounding remains.

        Raises
        ------
        UndefinedMetricError
            If the number of bins is selected from the data (``bins="sweep"``, ``"search"``, ``"search_pure"``, ``"cv"``, ``"tcal"`` or ``"levels"``,
            the default of `ece_sweep` and `drmsce_bcs`), since the rows may select another number; or if the metric is undefined for one
            of the placements.

        Examples
        --------
        >>> import calibrant as cal
        >>> sketch = cal.Sketch.of([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
        >>> sketch.error_bound(cal.ece) < 1e-11
        True
        """
        if not callable(metric):
            raise InputTypeError("metric", f"must be a metric, such as cal.ece; got {metric!r}")
        name, options_used = getattr(metric, "id", "the metric"), {**getattr(metric, "options", {}), **options}
        searched = next(
            (options_used[keyword] for keyword in ("bins", "binning") if is_found_in_rows(options_used.get(keyword))),
            None,
        )
        if searched is not None:
            problem = f"unknown for {name}: the number of bins ({searched!r}) depends on the rows"
            raise UndefinedMetricError("error_bound", problem, "give a number of bins, or compute it from the rows")
        edges = grid().edges
        cells = self._kept, edges[self._cells], edges[self._cells + 1]
        value = metric(self, **options)
        # A view already has a lens and accepts no other.
        views = {keyword: value for keyword, value in options.items() if keyword != "lens"}
        try:
            with warnings.catch_warnings():
                # Warnings were issued above; scores of 0 or 1 may result from the placement.
                warnings.simplefilter("ignore", CalibrantWarning)
                spread = [metric(view, **views) for view in spread_views(*cells, self.lens)]
                change = max(0.0 if other == value else abs(other - value) for other in spread)  # both may be infinite
        except UndefinedMetricError as error:
            problem = f"unknown for {name}, which may be undefined for the rows ({error.problem})"
            raise UndefinedMetricError("error_bound", problem, "compute it from the rows") from error
        is_program = getattr(getattr(metric, "info", None), "cost", "") == PROGRAM
        rounding = SOLVED if is_program else ROUNDING
        rounding += RELATIVE * abs(value) if math.isfinite(value) else 0.0
        if change <= rounding:
            return SAFETY * change + rounding
        tipped = 0.0
        if options_used.get("knots", 0) is None:
            tipped = max(abs(metric(self, **{**options, "knots": count}) - value) for count in range(MOST_KNOTS + 1))
        return max(SAFETY * change, tipped) + most_moved(*cells) + rounding

    def to_bytes(self) -> bytes:
        """Serialize the sketch.

        Returns
        -------
        bytes
            Versioned format with a checksum, identical on every platform.
        """
        return pack("Sketch", {"lens": self.lens, "cells": CELLS}, [self._cells, *self._kept])

    @classmethod
    def from_bytes(cls, content: bytes) -> Sketch:
        """Read a sketch written by `to_bytes`.

        Parameters
        ----------
        content : bytes
            Serialized sketch.

        Returns
        -------
        Sketch
            The sketch.

        Raises
        ------
        ArgumentError
            If the content is damaged or not a sketch.
        """
        head, arrays = unpack("Sketch", content)
        with well_formed("content"):
            return cls(*checked_cells(arrays, head), str(head["lens"]))

    def __len__(self) -> int:
        return self.n

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sketch):
            return NotImplemented
        pairs = zip((self._cells, *self._kept), (other._cells, *other._kept), strict=True)
        return self.lens == other.lens and all(np.array_equal(a, b) for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Sketch({self.lens}, {self.n:,} rows in {len(self._cells):,} cells)"


def checked_cells(arrays: list[Counts], head: Mapping[str, Any]) -> tuple[Counts, CellSums]:
    """Validate cells and sums that were read."""
    where, rows, positives, whole, rest = arrays
    if head["cells"] != CELLS:
        raise ArgumentError("content", f"have a grid of {head['cells']} cells instead of {CELLS}", "write them again")
    rising = len(where) == 0 or (where[0] >= 0 and where[-1] < CELLS and (np.diff(where) > 0).all())
    counts = (rows > 0).all() and (positives >= 0).all() and (positives <= rows).all()
    sums = (whole >= 0).all() and (rest >= 0).all() and (rest < 1 << REST_BITS).all()
    if not (len({len(array) for array in arrays}) == 1 and rising and counts and sums):
        raise ArgumentError("content", "have impossible numbers", "write them again")
    return where, CellSums(rows, positives, whole, rest)


def sketch_views(sketches: Sequence[Sketch]) -> list[View]:
    """Compute the views and the halves of sketches of one lens in one pass over the cells of all; each sketch keeps its own."""
    edges = grid().edges
    cells = np.concatenate([sketch._cells for sketch in sketches])
    sums = CellSums(*map(np.concatenate, zip(*(sketch._kept for sketch in sketches), strict=True)))
    sizes = np.array([len(sketch._cells) for sketch in sketches])
    views = cell_views(sums, edges[cells], edges[cells + 1], sizes, sketches[0].lens)
    ends = np.cumsum(sizes)
    is_low = np.append(0, np.cumsum(cells < np.searchsorted(edges, 0.5)))
    middles = ends - sizes + is_low[ends] - is_low[ends - sizes]
    halves = sums.between(np.append(0, np.column_stack([middles, ends])))
    for place, (sketch, view) in enumerate(zip(sketches, views, strict=True)):
        view.has_mixed_cells = sketch._kept.are_mixed
        sketch._view = view
        sketch.halves = CellSums(*(part[2 * place : 2 * place + 2] for part in halves))
    return views


def cell_views(sums: BinSums | CellSums, low: Floats, high: Floats, sizes: Counts, lens: str) -> list[View]:
    """Views of consecutive cells, so many in each: a cell at its mean score, with outcomes 0 and 1 weighted by their counts."""
    # Rounding must not move the mean across an edge into the next bin.
    above = np.where(low > 0, np.nextafter(low, 1), 0.0)
    score = np.clip(sums.score_sum / np.maximum(sums.rows, 1), above, high)
    counts = np.column_stack([sums.rows - sums.positives, sums.positives])
    cell, outcome = np.nonzero(counts)
    ends = np.searchsorted(cell, np.cumsum(sizes))
    rows = np.diff(ends, prepend=0)
    return sorted_views(score[cell], outcome.astype(np.uint8), counts[cell, outcome], rows, lens)


def _sketch_counts(view: View, weight: Counts) -> Sketch:
    """The sketch of rows with counts. Large counts are split into high and low bits, and the sketch of the high bits is doubled repeatedly."""
    if weight.sum() <= MOST_COUNTED:
        return Sketch.of_sums(_counted_sums(view, weight), view.lens)
    bits = max(1, 40 - len(weight).bit_length())
    low, high = _sketch_counts(view, weight & ((1 << bits) - 1)), _sketch_counts(view, weight >> bits)
    for _ in range(bits):
        high = high.merge(high)
    return low.merge(high)


def _counted_sums(view: View, weight: Counts) -> BinSums:
    """Sums over rows with counts, up to 2^40 rows in total."""
    slot = slots(view.score) - 1
    fixed = np.floor(view.score * 2.0**62).astype(np.int64)
    positive = view.raw_outcome.astype(np.int64)

    def sum_by_slot(values: Counts) -> Counts:
        total = np.zeros(CELLS, np.int64)
        np.add.at(total, slot, values)
        return total

    # Parts of 21 bits, so that no product with a count overflows.
    upper = sum_by_slot((fixed >> LOW_BITS) * weight)
    middle = sum_by_slot(((fixed & LOW_MASK) >> 21) * weight)
    lower = sum_by_slot((fixed & ((1 << 21) - 1)) * weight)
    middle += lower >> 21
    low = ((middle & ((1 << 21) - 1)) << 21) + (lower & ((1 << 21) - 1))
    return BinSums(sum_by_slot(weight), sum_by_slot(weight * positive), upper + (middle >> 21), low)

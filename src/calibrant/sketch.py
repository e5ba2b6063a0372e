"""Sketch: scores and outcomes as whole numbers in a fixed grid of narrow cells; of bounded size, added without rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._binsums import BinSums
from ._cached import cached_property
from ._gather import as_predictions, views_of
from ._grid import CELLS, EQUAL, cell_sums, grid, slots
from ._kernels import LOW_BITS, LOW_MASK
from ._spread import most_moved, spread_views
from ._wire import pack, unpack, well_formed
from .errors import ArgumentError, InputTypeError, LensError, UndefinedMetricError, WeightsNotSupportedError
from .lenses import Lens
from .predictions import Predictions
from .view import View

__all__ = ["CELLS", "Sketch", "cell_view"]

Array = NDArray[Any]
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

# A cell's sum of scores is exact up to this many rows.
MOST_ROWS = 1 << 40
# Sums of a million rows in another order, and fits that end a step apart, differ by less than this and this share of the value.
ROUNDING, RELATIVE = 5e-12, 1e-11
# The rows lay in none of the ways that are tried, and metrics that cut by rank jump.
SAFETY = 6
# A curve of pieces chooses how many by the rows; up to so many knots.
MOST_KNOTS = 15


class Sketch:
    """Counts, positives and sums of scores in a fixed grid of about 20 000 cells: all that a score metric needs to know.

    Everything is a whole number (a score counts in units of 2^-62), so the same rows give the same bits in any order, and sketches
    merge by addition. Every metric of scores takes a sketch in place of labels and probabilities, as do `assess`, `interval`, the
    figures and the report. Only cells that hold rows are kept.

    >>> import calibrant as cal
    >>> sketch = cal.Sketch.of([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    >>> cal.ece(sketch) == cal.ece([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    True
    >>> cal.Sketch.of([0], [0.1]).merge(cal.Sketch.of([1, 1, 1], [0.4, 0.8, 0.9])) == sketch
    True
    >>> cal.Sketch.from_bytes(sketch.to_bytes()) == sketch
    True
    """

    def __init__(self, cells: Counts, sums: BinSums, lens: str) -> None:
        self._cells = cells
        self._kept = sums
        self.lens = lens
        """The question asked of each row."""

    @classmethod
    def empty(cls, lens: str) -> Sketch:
        """The sketch of no rows, to start a sum from."""
        none = np.zeros(0, np.int64)
        return cls(none, BinSums(none, none, none, none), lens)

    @classmethod
    def of_sums(cls, sums: BinSums, lens: str) -> Sketch:
        """The sketch of sums over all cells of the grid."""
        cells = np.flatnonzero(sums.rows)
        return cls(cells, BinSums(*(np.asarray(part[cells], np.int64) for part in sums)), lens)

    @classmethod
    def of(cls, y_true: Any, y_prob: Any = None, *, lens: str | Lens = "auto", **words: Any) -> Sketch:
        """The sketch of labels and probabilities, seen through a lens that asks one question of each row."""
        if isinstance(y_true, View):
            if y_prob is not None or words or lens != "auto":
                raise InputTypeError("y_true", "is a view, which already holds everything", "pass the view alone")
            return cls.of_view(y_true)
        views = views_of(as_predictions(y_true, y_prob, words), lens)
        if len(views) > 1 or not isinstance(views[0], View):
            raise LensError(
                "lens", "a sketch holds one score for each row", "use 'top_label' or 'class:NAME', or Sketches for all"
            )
        return cls.of_view(views[0])

    @classmethod
    def of_view(cls, view: View) -> Sketch:
        """The sketch of a view."""
        if view.is_soft:
            raise UndefinedMetricError("Sketch", "counts outcomes, and these labels are soft")
        if view.weight_kind == "importance" and not (view.weights == 1).all():
            raise WeightsNotSupportedError("sample_weight", "a sketch counts rows", "pass counts= for whole numbers")
        if view.weight_kind == "counts":
            return cls.of_sums(_counted_sums(view), view.lens)
        return cls.of_sums(cell_sums(view.raw_score, view.raw_outcome), view.lens)

    def update(self, y_true: Any, y_prob: Any = None, **words: Any) -> Sketch:
        """The sketch with more rows, seen through its own lens; this one stays as it is."""
        return self.merge(Sketch.of(y_true, y_prob, lens="auto" if isinstance(y_true, View) else self.lens, **words))

    def merge(self, other: Sketch) -> Sketch:
        """The sketch of the rows of both."""
        if not isinstance(other, Sketch):
            raise InputTypeError("other", f"must be a Sketch; got {type(other).__name__}")
        if other.lens != self.lens:
            raise LensError("lens", f"{self.lens!r} and {other.lens!r} ask different questions", "merge like with like")
        if self.n + other.n > MOST_ROWS:
            raise WeightsNotSupportedError("counts", f"sum to more than {MOST_ROWS} rows")
        held = np.zeros(CELLS, bool)
        held[self._cells] = held[other._cells] = True
        cells, number = np.flatnonzero(held), np.cumsum(held) - 1
        parts = [np.zeros(len(cells), np.int64) for _ in range(4)]
        for sketch in (self, other):
            place = number[sketch._cells]
            for part, more in zip(parts, sketch._kept, strict=True):
                part[place] += more
        rows, positives, high, low = parts
        return Sketch(cells, BinSums(rows, positives, high + (low >> LOW_BITS), low & LOW_MASK), self.lens)

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
        high, low = int(self._kept.high.sum()), int(self._kept.low.sum())
        return float(((high << LOW_BITS) + low) / (self.n << 62))

    def coarse(self, count: int) -> BinSums:
        """Rows, positives and sums of scores in `count` cells of equal width, exactly; `count` must divide 19 200."""
        if count < 1 or EQUAL % count:
            raise ArgumentError("count", f"must divide {EQUAL}; got {count}", "for example 300 or 1920")
        ends = np.searchsorted(grid().edges, np.arange(1, count + 1) / count)
        place = np.searchsorted(ends, self._cells + 1)
        parts = [np.zeros(count, np.int64) for _ in range(4)]
        for part, more in zip(parts, self._kept, strict=True):
            np.add.at(part, place, more)
        rows, positives, high, low = parts
        return BinSums(rows, positives, high + (low >> LOW_BITS), low & LOW_MASK)

    def view(self) -> View:
        """Up to two rows for each cell, with outcome 0 and 1, at its mean score; counts say how many rows each stands for."""
        return self._view

    def predictions(self) -> Predictions:
        """The cells as predictions that stand for many rows each, for what reads more than a view."""
        view = self.view()
        words: dict[str, Any] = {} if self.lens == "binary" else {"input": "confidence"}
        return Predictions.derived(view.raw_outcome, view.score, counts=view.weight, **words)

    @cached_property
    def _view(self) -> View:
        edges = grid().edges
        return cell_view(self._kept, edges[self._cells], edges[self._cells + 1], self.lens)

    def error_bound(self, metric: Callable[..., float], **options: Any) -> float:
        """How far the value of a metric can lie from that of the rows themselves.

        A sketch forgets where in its cell a row lay. The metric is computed again with the rows of every cell moved about as far
        as its sums allow, in nine ways; the answer is six times the largest change, and the distance that the average row can
        have been moved. Where a number of knots is chosen, the choice may tip: the answer covers every number. Of bins whose edges are among the cells' (10, 15, 20, 25, 30, 50 and 100 of equal width) the sketch knows
        everything, and what is left is rounding.

        >>> import calibrant as cal
        >>> sketch = cal.Sketch.of([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
        >>> sketch.error_bound(cal.ece) < 1e-11
        True
        """
        if not callable(metric):
            raise InputTypeError("metric", f"must be a metric, such as cal.ece; got {metric!r}")
        edges = grid().edges
        cells = self._kept, edges[self._cells], edges[self._cells + 1]
        value = metric(self, **options)
        # A view has its lens already, and takes no other.
        views = {word: given for word, given in options.items() if word != "lens"}
        moved = max(abs(metric(view, **views) - value) for view in spread_views(*cells, self.lens))
        rounding = ROUNDING + RELATIVE * abs(value)
        if moved <= rounding:
            return rounding
        tipped = 0.0
        if getattr(metric, "options", {}).get("knots", 0) is None and options.get("knots") is None:
            tipped = max(abs(metric(self, **{**options, "knots": count}) - value) for count in range(MOST_KNOTS + 1))
        return max(SAFETY * moved, tipped) + most_moved(*cells) + rounding

    def to_bytes(self) -> bytes:
        """The sketch as bytes: versioned, with a checksum, the same on every machine."""
        return pack("Sketch", {"lens": self.lens, "cells": CELLS}, [self._cells, *self._kept])

    @classmethod
    def from_bytes(cls, content: bytes) -> Sketch:
        """The sketch that `to_bytes` wrote."""
        head, arrays = unpack("Sketch", content)
        with well_formed("content"):
            return cls(*checked_cells(arrays, head["cells"]), str(head["lens"]))

    def __len__(self) -> int:
        return self.n

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sketch):
            return NotImplemented
        same = zip((self._cells, *self._kept), (other._cells, *other._kept), strict=True)
        return self.lens == other.lens and all(np.array_equal(a, b) for a, b in same)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Sketch({self.lens}, {self.n:,} rows in {len(self._cells):,} cells)"


def checked_cells(arrays: list[Counts], cells: int) -> tuple[Counts, BinSums]:
    """Cells and sums that were read, if they can be those of a sketch."""
    where, rows, positives, high, low = arrays
    if cells != CELLS:
        raise ArgumentError("content", f"was made with a grid of {cells} cells, and this one has {CELLS}")
    rising = len(where) == 0 or (where[0] >= 0 and where[-1] < CELLS and (np.diff(where) > 0).all())
    counts = (rows > 0).all() and (positives >= 0).all() and (positives <= rows).all()
    if not (rising and counts and len({len(array) for array in arrays}) == 1):
        raise ArgumentError("content", "holds numbers that no rows can give", "make the sketch again")
    return where, BinSums(rows, positives, high, low)


def cell_view(sums: BinSums, low: Floats, high: Floats, lens: str) -> View:
    """A view of cells: each at its mean score, once with outcome 0 and once with 1, weighed by how many rows had it."""
    full = sums.rows > 0
    rows, positives = sums.rows[full], sums.positives[full]
    # Rounding must not move the mean over an edge into the next bin.
    above = np.where(low[full] > 0, np.nextafter(low[full], 1), 0.0)
    score = np.clip(sums.score_sum[full] / rows, above, high[full])
    counts = np.column_stack([rows - positives, positives]).ravel()
    kept = counts > 0
    outcome = np.tile(np.array([0, 1], np.uint8), len(score))[kept]
    return View(np.repeat(score, 2)[kept], outcome, counts[kept], "counts", lens=lens)


def _counted_sums(view: View) -> BinSums:
    """The same sums for rows that stand for several."""
    assert view.weight is not None
    weight = view.weight.astype(np.int64)
    if weight.sum(dtype=np.float64) > MOST_ROWS:
        raise WeightsNotSupportedError("counts", f"sum to more than {MOST_ROWS} rows")
    slot = slots(view.score) - 1
    fixed = np.floor(view.score * 2.0**62).astype(np.int64)
    positive = view.raw_outcome.astype(np.int64)

    def added(values: Counts) -> Counts:
        total = np.zeros(CELLS, np.int64)
        np.add.at(total, slot, values)
        return total

    # Parts of 21 bits, so that no product with a count overflows.
    upper = added((fixed >> LOW_BITS) * weight)
    middle = added(((fixed & LOW_MASK) >> 21) * weight)
    lower = added((fixed & ((1 << 21) - 1)) * weight)
    middle += lower >> 21
    low = ((middle & ((1 << 21) - 1)) << 21) + (lower & ((1 << 21) - 1))
    return BinSums(added(weight), added(weight * positive), upper + (middle >> 21), low)

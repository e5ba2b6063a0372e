"""Sketch: scores and outcomes as whole numbers in a fixed grid of narrow cells; of bounded size, added without rounding."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._binsums import BinSums, slot_sums, uniform_slots
from ._cached import cached_property
from ._gather import as_predictions, views_of
from ._kernels import LOW_BITS, LOW_MASK
from .errors import InputTypeError, LensError, UndefinedMetricError, WeightsNotSupportedError
from .lenses import Lens
from .view import View

__all__ = ["CELLS", "Sketch", "cell_view"]

Array = NDArray[Any]
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

# Cells of equal width; a multiple of 300, so that the edges of 10, 15, 20, 25, 30, 50 and 100 bins are among theirs.
CELLS = 19_200
# Nearer to 0 and 1 than 1/300, cells shrink with the distance: 16 for each factor of two, down to one in a million.
FINEST, NEAR, PER_OCTAVE = 1e-6, 1 / 300, 16
# A cell's sum of scores is exact up to this many rows.
MOST_ROWS = 1 << 40


class _Grid(NamedTuple):
    edges: Floats
    """Rising edges from 0 to 1; cell k is (edges[k], edges[k + 1]], and the first holds 0 too."""
    first: Array
    """For each of the equal cells (numbered from 1), how many edges lie before its end."""
    crowded: Array
    """Whether an equal cell is cut further."""


@cache
def _grid() -> _Grid:
    equal = np.arange(CELLS + 1) / CELLS
    near = FINEST * 2.0 ** (np.arange(math.ceil(math.log2(NEAR / FINEST) * PER_OCTAVE)) / PER_OCTAVE)
    edges = np.unique(np.concatenate([equal, near, 1 - near]))
    first = np.searchsorted(edges, equal)
    return _Grid(edges, first, np.diff(first, prepend=-1) > 1)


def _slots(score: Floats) -> Array:
    """The cell of each score, counted from 1: one product for most, a search where cells are narrow."""
    grid = _grid()
    equal = uniform_slots(np.arange(CELLS + 1) / CELLS, "right", False)(score)
    slot = grid.first[equal]
    close = np.flatnonzero(grid.crowded[equal])
    slot[close] = np.searchsorted(grid.edges, score[close], side="left")
    return np.asarray(np.maximum(slot, 1))


class Sketch:
    """Counts, positives and sums of scores in a fixed grid of about 20 000 cells: all that a score metric needs to know.

    Everything is a whole number (a score counts in units of 2^-62), so the same rows give the same bits in any order, and sketches
    merge by addition. Every metric of scores takes a sketch in place of labels and probabilities, as do `assess` and `interval`.

    >>> import calibrant as cal
    >>> sketch = cal.Sketch.of([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    >>> cal.ece(sketch) == cal.ece([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    True
    >>> cal.Sketch.of([0], [0.1]).merge(cal.Sketch.of([1, 1, 1], [0.4, 0.8, 0.9])) == sketch
    True
    """

    def __init__(self, sums: BinSums, lens: str) -> None:
        self._sums = sums
        self.lens = lens
        """The question asked of each row."""

    @classmethod
    def of(cls, y_true: Any, y_prob: Any = None, *, lens: str | Lens = "auto", **words: Any) -> Sketch:
        """The sketch of labels and probabilities, seen through a lens that asks one question of each row."""
        if isinstance(y_true, View):
            if y_prob is not None or words or lens != "auto":
                raise InputTypeError("y_true", "is a view, which already holds everything", "pass the view alone")
            return cls.of_view(y_true)
        views = views_of(as_predictions(y_true, y_prob, words), lens)
        if len(views) > 1 or not isinstance(views[0], View):
            raise LensError("lens", "a sketch holds one score for each row", "use 'top_label' or 'class:NAME'")
        return cls.of_view(views[0])

    @classmethod
    def of_view(cls, view: View) -> Sketch:
        """The sketch of a view."""
        if view.is_soft:
            raise UndefinedMetricError("Sketch", "counts outcomes, and these labels are soft")
        if view.weight_kind == "importance" and not (view.weights == 1).all():
            raise WeightsNotSupportedError("sample_weight", "a sketch counts rows", "pass counts= for whole numbers")
        count = len(_grid().edges) - 1
        if view.weight_kind == "counts":
            return cls(_counted_sums(view, count), view.lens)
        return cls(slot_sums(view.raw_score, view.raw_outcome, _slots, count), view.lens)

    def merge(self, other: Sketch) -> Sketch:
        """The sketch of the rows of both."""
        if not isinstance(other, Sketch):
            raise InputTypeError("other", f"must be a Sketch; got {type(other).__name__}")
        if other.lens != self.lens:
            raise LensError("lens", f"{self.lens!r} and {other.lens!r} ask different questions", "merge like with like")
        rows, positives, high, low = (a + b for a, b in zip(self._sums, other._sums, strict=True))
        if int(rows.sum()) > MOST_ROWS:
            raise WeightsNotSupportedError("counts", f"sum to more than {MOST_ROWS} rows")
        return Sketch(BinSums(rows, positives, high + (low >> LOW_BITS), low & LOW_MASK), self.lens)

    __add__ = merge

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self._sums.rows.sum())

    def view(self) -> View:
        """Up to two rows for each cell, with outcome 0 and 1, at its mean score; counts say how many rows each stands for."""
        return self._view

    @cached_property
    def _view(self) -> View:
        edges = _grid().edges
        return cell_view(self._sums, edges[:-1], edges[1:], self.lens)

    def __len__(self) -> int:
        return self.n

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sketch):
            return NotImplemented
        return self.lens == other.lens and all(
            np.array_equal(a, b) for a, b in zip(self._sums, other._sums, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        used = int((self._sums.rows > 0).sum())
        return f"Sketch({self.lens}, {self.n:,} rows in {used:,} cells)"


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


def _counted_sums(view: View, count: int) -> BinSums:
    """The same sums for rows that stand for several."""
    assert view.weight is not None
    weight = view.weight.astype(np.int64)
    if weight.sum(dtype=np.float64) > MOST_ROWS:
        raise WeightsNotSupportedError("counts", f"sum to more than {MOST_ROWS} rows")
    slot = _slots(view.score) - 1
    fixed = np.floor(view.score * 2.0**62).astype(np.int64)
    positive = view.raw_outcome.astype(np.int64)

    def added(values: Counts) -> Counts:
        total = np.zeros(count, np.int64)
        np.add.at(total, slot, values)
        return total

    # Parts of 21 bits, so that no product with a count overflows.
    upper = added((fixed >> LOW_BITS) * weight)
    middle = added(((fixed & LOW_MASK) >> 21) * weight)
    lower = added((fixed & ((1 << 21) - 1)) * weight)
    middle += lower >> 21
    low = ((middle & ((1 << 21) - 1)) << 21) + (lower & ((1 << 21) - 1))
    return BinSums(added(weight), added(weight * positive), upper + (middle >> 21), low)

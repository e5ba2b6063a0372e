"""Sketch: scores and outcomes as whole numbers in a fixed grid of narrow cells; of bounded size, added without rounding."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning.exact_sums import REST_BITS, BinSums, CellSums
from ..errors import (
    PASS_ROWS,
    ArgumentError,
    CalibrantWarning,
    InputTypeError,
    LensError,
    UndefinedMetricError,
    Use,
    WeightsNotSupportedError,
)
from ..input.predictions import Predictions
from ..util.cached import cached_property
from ..util.kernels import LOW_BITS, LOW_MASK
from ..views.lenses import Lens
from ..views.resolve import resolve, views_of
from ..views.view import Summary, View
from .error_bound import most_moved, spread_views
from .grid import CELLS, EQUAL, cell_sums, grid, slots
from .serialization import pack, unpack, well_formed

__all__ = ["CELLS", "Sketch", "cell_view"]

Array = NDArray[Any]
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

# Metrics weigh counts in doubles, which tell every number of rows up to this one apart.
MOST_ROWS = 1 << 53
# Up to so many rows, bytes are those of the first version, whose sums of scores have 20 high and 42 low bits.
NARROW_ROWS = 1 << 40
# Sums of a million rows in another order, and fits that end a step apart, differ by less than this and this share of the value.
ROUNDING, RELATIVE = 5e-12, 1e-11
# A linear program ends within the tolerance of its solver.
SOLVED, PROGRAM = 1e-7, "a linear program"
# The rows lay in none of the ways that are tried, and metrics that cut by rank jump.
SAFETY = 6
# A curve of pieces chooses how many by the rows; up to so many knots.
MOST_KNOTS = 15


class Sketch(Summary):
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

    def __init__(self, cells: Counts, sums: CellSums, lens: str) -> None:
        self._cells = cells
        self._kept = sums
        self.lens = lens
        """The question asked of each row."""

    @classmethod
    def empty(cls, lens: str) -> Sketch:
        """The sketch of no rows, to start a sum from."""
        none = np.zeros(0, np.int64)
        return cls(none, CellSums(none, none, none, none), lens)

    @classmethod
    def of_sums(cls, sums: BinSums, lens: str) -> Sketch:
        """The sketch of sums over all cells of the grid."""
        cells = np.flatnonzero(sums.rows)
        return cls(cells, CellSums.of(BinSums(*(np.asarray(part[cells], np.int64) for part in sums))), lens)

    @classmethod
    def of(cls, y_true: Any, y_prob: Any = None, *, lens: str | Lens = "auto", **keywords: Any) -> Sketch:
        """The sketch of labels and probabilities, seen through a lens that asks one question of each row."""
        views = views_of(resolve(y_true, y_prob, keywords), lens)
        if len(views) > 1 or not isinstance(views[0], View):
            raise LensError(
                "lens",
                "a sketch has one score for each row",
                "use 'top_label' or 'class:NAME', or Sketches for all classes",
            )
        return cls.of_view(views[0])

    @classmethod
    def of_view(cls, view: View) -> Sketch:
        """The sketch of a view."""
        if view.is_soft:
            raise UndefinedMetricError("Sketch", "is not defined for soft labels")
        if view.weight_kind == "importance" and not (view.weights == 1).all():
            raise WeightsNotSupportedError(
                "sample_weight", "sketches do not support real weights", Use("counts", None, "for integer counts")
            )
        if view.weight_kind == "counts":
            assert view.weight is not None
            if view.weight.sum(dtype=np.float64) > MOST_ROWS:
                raise WeightsNotSupportedError("counts", f"sum to more than {MOST_ROWS:,} rows")
            return _counted(view, view.weight.astype(np.int64))
        return cls.of_sums(cell_sums(view.raw_score, view.raw_outcome), view.lens)

    def update(self, y_true: Any, y_prob: Any = None, **keywords: Any) -> Sketch:
        """The sketch with more rows, seen through its own lens; this one stays as it is."""
        return self.merge(Sketch.of(y_true, y_prob, lens="auto" if isinstance(y_true, View) else self.lens, **keywords))

    def merge(self, other: Sketch) -> Sketch:
        """The sketch of the rows of both."""
        if not isinstance(other, Sketch):
            raise InputTypeError("other", f"must be a Sketch; got {type(other).__name__}")
        if other.lens != self.lens:
            raise LensError("lens", f"cannot merge sketches of {self.lens!r} and {other.lens!r}", "use one lens")
        if self.n + other.n > MOST_ROWS:
            raise WeightsNotSupportedError("counts", f"sum to more than {MOST_ROWS:,} rows")
        held = np.zeros(CELLS, bool)
        held[self._cells] = held[other._cells] = True
        cells, number = np.flatnonzero(held), np.cumsum(held) - 1
        parts = [np.zeros(len(cells), np.int64) for _ in range(4)]
        for sketch in (self, other):
            place = number[sketch._cells]
            for part, more in zip(parts, sketch._kept, strict=True):
                part[place] += more
        return Sketch(cells, CellSums.carried(*parts), self.lens)

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
        total = self._kept.gathered(np.zeros(len(self._cells), np.intp), 1)
        return float(((int(total.whole[0]) << REST_BITS) + int(total.rest[0])) / (self.n << REST_BITS))

    def coarse(self, count: int) -> CellSums:
        """Rows, positives and sums of scores in `count` cells of equal width, exactly; `count` must divide 19 200."""
        if count < 1 or EQUAL % count:
            raise ArgumentError("count", f"must divide {EQUAL}; got {count}", "for example 300 or 1920")
        ends = np.searchsorted(grid().edges, np.arange(1, count + 1) / count)
        return self._kept.gathered(np.searchsorted(ends, self._cells + 1), count)

    def view(self, lens: Any = "auto") -> View:
        """Up to two rows for each cell, with outcome 0 and 1, at its mean score; counts say how many rows each stands for."""
        if lens not in ("auto", self.lens):
            raise LensError("lens", f"the sketch has {self.lens!r}; got {lens!r}", (Use("lens", self.lens), PASS_ROWS))
        return self._view

    def predictions(self) -> Predictions:
        """The cells as predictions that stand for many rows each, for what reads more than a view."""
        view = self.view()
        keywords: dict[str, Any] = {} if self.lens == "binary" else {"input": "confidence"}
        return Predictions.derived(view.raw_outcome, view.score, counts=view.weight, **keywords)

    @cached_property
    def _view(self) -> View:
        edges = grid().edges
        return cell_view(self._kept, edges[self._cells], edges[self._cells + 1], self.lens)

    def error_bound(self, metric: Callable[..., float], **options: Any) -> float:
        """How far the value of a metric can lie from that of the rows themselves.

        A sketch forgets where in its cell a row lay. The metric is computed again with the rows of every cell moved about as far
        as its sums allow, in eleven ways; the answer is six times the largest change, and the distance that the average row can
        have been moved. Where a number of knots is chosen, another one may be chosen from the rows: the answer covers every number.
        Of bins whose edges are among the cells' (10, 15, 20, 25, 30, 50 and 100 of equal width) the sketch knows everything, and
        what is left is rounding. It is a measured bound, not a proof.

        Parameters
        ----------
        metric
            A metric that reads scores.
        **options
            Its options.

        Returns
        -------
        float
            The bound; infinite where the metric is not bounded as rows move within their cells.

        Raises
        ------
        UndefinedMetricError
            Where the number of bins is searched for (``bins="sweep"``, ``"search"``, ``"search_pure"``, ``"cv"`` or ``"tcal"``, the
            default of `ece_sweep` and `drmsce_bcs`): the rows may choose any other number, so no bound is known. Also where the
            metric has no value for some of the ways.

        Examples
        --------
        >>> import calibrant as cal
        >>> sketch = cal.Sketch.of([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
        >>> sketch.error_bound(cal.ece) < 1e-11
        True
        """
        if not callable(metric):
            raise InputTypeError("metric", f"must be a metric, such as cal.ece; got {metric!r}")
        name, chosen = getattr(metric, "id", "the metric"), {**getattr(metric, "options", {}), **options}
        if isinstance(chosen.get("bins"), str):
            problem = f"unknown for {name}: the number of bins ({chosen['bins']!r}) depends on the rows"
            raise UndefinedMetricError("error_bound", problem, "give a number of bins, or compute it from the rows")
        edges = grid().edges
        cells = self._kept, edges[self._cells], edges[self._cells + 1]
        value = metric(self, **options)
        # A view has its lens already, and takes no other.
        views = {word: given for word, given in options.items() if word != "lens"}
        try:
            with warnings.catch_warnings():
                # What is warned about was warned about above; a score of 0 or 1 may be one that rows have been moved to.
                warnings.simplefilter("ignore", CalibrantWarning)
                moved = max(_apart(metric(view, **views), value) for view in spread_views(*cells, self.lens))
        except UndefinedMetricError as error:
            problem = f"unknown for {name}, which may be undefined for the rows ({error.problem})"
            raise UndefinedMetricError("error_bound", problem, "compute it from the rows") from error
        rounding = SOLVED if getattr(metric, "cost", "") == PROGRAM else ROUNDING
        rounding += RELATIVE * abs(value) if math.isfinite(value) else 0.0
        if moved <= rounding:
            return SAFETY * moved + rounding
        tipped = 0.0
        if chosen.get("knots", 0) is None:
            tipped = max(abs(metric(self, **{**options, "knots": count}) - value) for count in range(MOST_KNOTS + 1))
        return max(SAFETY * moved, tipped) + most_moved(*cells) + rounding

    def to_bytes(self) -> bytes:
        """The sketch as bytes: versioned, with a checksum, the same on every machine."""
        wide = self.n > NARROW_ROWS
        return pack("Sketch", {"lens": self.lens, "cells": CELLS, **written_as(wide)}, self.arrays(wide), 1 + wide)

    def arrays(self, wide: bool) -> list[Counts]:
        """What bytes hold: the cells, and their sums in the form of any number of rows or in that of the first version."""
        return [self._cells, *(self._kept if wide else self._kept.narrow)]

    @classmethod
    def from_bytes(cls, content: bytes) -> Sketch:
        """The sketch that `to_bytes` wrote."""
        head, arrays = unpack("Sketch", content)
        with well_formed("content"):
            return cls(*checked_cells(arrays, head), str(head["lens"]))

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


def _apart(one: float, other: float) -> float:
    """How far two values differ; not at all where both are infinite."""
    return 0.0 if one == other else abs(one - other)


def written_as(wide: bool) -> dict[str, Any]:
    """What the head of bytes says of the form of sums; nothing, as in the first version, where that holds them."""
    return {"rest_bits": REST_BITS} if wide else {}


def checked_cells(arrays: list[Counts], head: Mapping[str, Any]) -> tuple[Counts, CellSums]:
    """Cells and sums that were read, if they can be those of a sketch."""
    where, rows, positives, high, low = arrays
    if head["cells"] != CELLS:
        raise ArgumentError("content", f"have a grid of {head['cells']} cells instead of {CELLS}", "write them again")
    rest_bits = head.get("rest_bits", LOW_BITS)
    if rest_bits not in (LOW_BITS, REST_BITS):
        raise ArgumentError("content", f"have sums of {rest_bits!r} bits, which no version writes", "write them again")
    rising = len(where) == 0 or (where[0] >= 0 and where[-1] < CELLS and (np.diff(where) > 0).all())
    counts = (rows > 0).all() and (positives >= 0).all() and (positives <= rows).all()
    sums = (high >= 0).all() and (low >= 0).all() and (low < 1 << rest_bits).all()
    if not (len({len(array) for array in arrays}) == 1 and rising and counts and sums):
        raise ArgumentError("content", "have impossible numbers", "write them again")
    kept = (rows, positives, high, low)
    return where, CellSums(*kept) if rest_bits == REST_BITS else CellSums.of(BinSums(*kept))


def cell_view(sums: BinSums | CellSums, low: Floats, high: Floats, lens: str) -> View:
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


def _counted(view: View, weight: Counts) -> Sketch:
    """The sketch of rows that stand for several. Large counts are cut in two, the upper parts doubled as often as they were halved."""
    if weight.sum() <= NARROW_ROWS:
        return Sketch.of_sums(_counted_sums(view, weight), view.lens)
    bits = max(1, 40 - len(weight).bit_length())
    found, more = _counted(view, weight & ((1 << bits) - 1)), _counted(view, weight >> bits)
    for _ in range(bits):
        more = more.merge(more)
    return found.merge(more)


def _counted_sums(view: View, weight: Counts) -> BinSums:
    """Sums over rows that stand for several, up to 2^40 in all."""
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

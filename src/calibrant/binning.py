"""Ways to cut scores into bins, each giving a BinTable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ._blocks import map_blocks, rows_per_block
from ._convert import is_number
from ._kernels import COUNT_UNIT, LOW_BITS, LOW_MASK, compiled, fill_bins
from .bintable import BinTable, Closed
from .errors import ArgumentError, WeightsNotSupportedError
from .view import View

__all__ = ["Binning", "Bins", "Edges", "EqualMass", "EqualWidth", "bin_table", "parse_binning"]

Array = NDArray[Any]
Floats = NDArray[np.float64]
Bins = int | Sequence[float]

# Beyond this the position of a score among equal bins can no longer be told from one product.
MAX_FAST_BINS = 1_000_000
CHUNK_ROWS = 1 << 19
MILD_CHUNK_ROWS = 1 << 14


class BinningRule(Protocol):
    """A way to cut scores into bins."""

    def table(self, view: View) -> BinTable: ...

    def cells(self, view: View) -> tuple[NDArray[np.intp], int]: ...

    def with_bins(self, bins: int) -> BinningRule: ...


Binning = Literal["equal_width", "equal_mass"] | BinningRule


@dataclass(frozen=True)
class EqualWidth:
    """Bins of equal width on `range`, right-closed with the lowest score in the first bin; ``closed="left"`` on request."""

    bins: int | None = None
    closed: Closed = "right"
    range: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        _check_closed(self.closed)
        pair = isinstance(self.range, (tuple, list)) and len(self.range) == 2 and all(map(is_number, self.range))
        if not (pair and 0 <= self.range[0] < self.range[1] <= 1):
            raise ArgumentError("range", f"must satisfy 0 <= low < high <= 1; got {self.range!r}")

    def with_bins(self, bins: int) -> EqualWidth:
        return self if self.bins is not None else EqualWidth(bins, self.closed, self.range)

    def _slots(self, view: View) -> tuple[Floats, Callable[[Array], Array]]:
        count = check_bins(self.bins)
        edges = np.arange(count + 1) / count
        if self.range == (0.0, 1.0) and count <= MAX_FAST_BINS:
            return edges, _uniform_slots(count, edges, self.closed)
        low, high = self.range
        _check_inside(view, low, high)
        edges = low + (high - low) * edges
        edges[-1] = high
        return edges, _searched_slots(edges, self.closed)

    def table(self, view: View) -> BinTable:
        edges, slots = self._slots(view)
        if self.closed == "right" and self.range == (0.0, 1.0) and view.weight is None and not view.is_soft:
            sums = _compiled_sums(view, len(edges) - 1, edges)
            if sums is not None:
                return _exact_table(view, edges, sums, self.closed)
        return _table_by_slots(view, edges, slots, self.closed)

    def cells(self, view: View) -> tuple[NDArray[np.intp], int]:
        edges, slots = self._slots(view)
        return _cells_by_slots(view, slots), len(edges) - 1


@dataclass(frozen=True)
class Edges:
    """Given or fitted bins: rising edges from 0 to 1."""

    edges: tuple[float, ...]
    closed: Closed = "right"

    def __post_init__(self) -> None:
        _check_closed(self.closed)
        values = _edge_values(self.edges)
        if values.ndim != 1 or len(values) < 2 or values[0] != 0 or values[-1] != 1 or not (np.diff(values) > 0).all():
            raise ArgumentError(
                "bins",
                f"edges must rise strictly from 0 to 1; got {values.ravel()[:12].tolist()}",
                "for example [0, 0.5, 0.9, 1]",
            )

    def with_bins(self, bins: int) -> Edges:
        return self

    def table(self, view: View) -> BinTable:
        edges = np.asarray(self.edges, dtype=np.float64)
        return _table_by_slots(view, edges, _searched_slots(edges, self.closed), self.closed)

    def cells(self, view: View) -> tuple[NDArray[np.intp], int]:
        return _cells_by_slots(view, _searched_slots(np.asarray(self.edges), self.closed)), len(self.edges) - 1


@dataclass(frozen=True)
class EqualMass:
    """Bins of equal weight; tied scores stay together, so there may be fewer bins than asked for.

    ``ties="split"`` cuts through ties in row order, and ``split="array_split"`` also makes the first bins the larger ones,
    both as some published code does: for unweighted rows only, and the value then depends on the order of the rows.
    """

    bins: int | None = None
    ties: Literal["together", "split"] = "together"
    split: Literal["floor", "array_split"] = "floor"

    def __post_init__(self) -> None:
        if self.ties not in ("together", "split"):
            raise ArgumentError("ties", f"must be 'together' or 'split'; got {self.ties!r}")
        if self.split not in ("floor", "array_split"):
            raise ArgumentError("split", f"must be 'floor' or 'array_split'; got {self.split!r}")

    def with_bins(self, bins: int) -> EqualMass:
        return self if self.bins is not None else EqualMass(bins, self.ties, self.split)

    def table(self, view: View) -> BinTable:
        return _table_by_starts(view, self.starts(view))

    def cells(self, view: View) -> tuple[NDArray[np.intp], int]:
        starts = self.starts(view)
        cell = np.empty(view.n, np.intp)
        cell[view.order] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, view.n)))
        return cell, len(starts)

    def starts(self, view: View) -> Array:
        """The first row of each non-empty bin, in rising order of score."""
        count = check_bins(self.bins)
        if self.ties == "together" and self.split == "floor":
            prefix = view.prefix
            number_of_bin = equal_mass_bins(prefix.weight[:-1], prefix.weight[-1], count)
            first = np.flatnonzero(np.append(True, number_of_bin[1:] != number_of_bin[:-1]))
            return np.asarray(prefix.end[:-1][first])
        if view.weight is not None and not (view.weight == 1).all():
            raise WeightsNotSupportedError(
                "binning", "splitting ties has no meaning under weights", "use ties='together'"
            )
        if self.split == "array_split":
            size, larger = divmod(view.n, count)
            sizes = np.full(count, size) + (np.arange(count) < larger)
            return np.concatenate([[0], np.cumsum(sizes)])[:-1][sizes > 0]
        bin_of_row = np.arange(view.n) * count // view.n
        return np.flatnonzero(np.append(True, np.diff(bin_of_row) > 0))


def equal_mass_bins(before: Array, total: Any, count: int) -> Array:
    """Bin floor(M C / W) for each tie group, C the weight before it; in integers where the weights are."""
    if before.dtype.kind in "iu":
        return np.asarray(before * count // int(total))
    position = before * (count / total)
    nearest = np.rint(position)
    # Sums of scaled weights miss a whole number by rounding only; without this, scaling the weights would move bins.
    return np.where(np.abs(position - nearest) <= 1e-9 * max(1, count), nearest, np.floor(position)).astype(np.intp)


def check_bins(bins: Any) -> int:
    """A number of bins, as an int from 1 up."""
    if isinstance(bins, (bool, np.bool_)) or not isinstance(bins, (int, np.integer)):
        raise ArgumentError("bins", f"must be a whole number from 1 up, or rising edges from 0 to 1; got {bins!r}")
    if bins < 1:
        raise ArgumentError("bins", f"must be a whole number from 1 up; got {bins}")
    if bins > 10_000_000:
        raise ArgumentError("bins", f"must be at most 10 000 000; got {bins}")
    return int(bins)


def _edge_values(edges: Any) -> Floats:
    try:
        return np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError("bins", f"edges must be numbers; got {edges!r}", "for example [0, 0.5, 0.9, 1]") from None


def _check_closed(closed: str) -> None:
    if closed not in ("right", "left"):
        raise ArgumentError("closed", f"must be 'right' or 'left'; got {closed!r}")


def _check_inside(view: View, low: float, high: float) -> None:
    if view.raw_score.min() < low or view.raw_score.max() > high:
        worst = view.raw_score.min() if view.raw_score.min() < low else view.raw_score.max()
        raise ArgumentError("range", f"({low}, {high}) leaves out the score {float(worst)!r}", "widen the range")


def parse_binning(binning: Any, bins: Any) -> BinningRule:
    """The rule that `binning` and `bins` ask for: a name and a number, given edges, or a rule as it is."""
    if not isinstance(bins, (int, np.integer, str)) and np.ndim(bins) == 1:
        if isinstance(binning, str) and binning != "equal_width":
            raise ArgumentError(
                "bins", f"edges were given beside binning={binning!r}", "pass a number of bins, or drop binning"
            )
        return Edges(tuple(_edge_values(bins).tolist()))
    if isinstance(binning, str):
        if binning not in ("equal_width", "equal_mass"):
            hint = {
                "uniform": "equal_width",
                "quantile": "equal_mass",
                "adaptive": "equal_mass",
                "equal-mass": "equal_mass",
            }.get(binning)
            raise ArgumentError(
                "binning",
                f"must be 'equal_width', 'equal_mass' or a rule; got {binning!r}",
                f"use {hint!r}" if hint else "",
            )
        rule: BinningRule = EqualWidth() if binning == "equal_width" else EqualMass()
    elif isinstance(binning, BinTable):
        return Edges(tuple(binning.edges.tolist()), binning.closed)
    elif isinstance(binning, type):
        raise ArgumentError("binning", f"is the class {binning.__name__}", f"call it: {binning.__name__}()")
    elif hasattr(binning, "table") and hasattr(binning, "with_bins"):
        rule = binning
    else:
        raise ArgumentError("binning", f"must be 'equal_width', 'equal_mass' or a rule; got {binning!r}")
    return rule.with_bins(check_bins(bins))


def bin_table(view: View, binning: Binning = "equal_width", bins: Bins = 15) -> BinTable:
    """Cut the scores of `view` into bins."""
    rule = parse_binning(binning, bins)
    try:
        known: BinTable | None = view.tables.get(rule)
    except TypeError:  # a user's rule that cannot be hashed
        return rule.table(view)
    if known is None:
        known = view.tables[rule] = rule.table(view)
    return known


# Slots: slot 0 is the score 0 alone, slot k the bin that ends at edge k. 0 joins the first bin when the table is made.


def _searched_slots(edges: Floats, closed: Closed) -> Callable[[Array], Array]:
    if closed == "right":
        return lambda score: np.maximum(np.searchsorted(edges, score, side="left"), 1)
    return lambda score: np.minimum(np.searchsorted(edges, score, side="right"), len(edges) - 1)


def _uniform_slots(count: int, edges: Floats, closed: Closed) -> Callable[[Array], Array]:
    """The same as a search among k/M, by one product; scores within rounding of an edge are compared with it."""

    def slots(score: Array) -> Array:
        position = score * count
        nearest = np.rint(position)
        slot = np.ceil(position) if closed == "right" else np.floor(position) + 1
        close = np.flatnonzero(np.abs(position - nearest) < 1e-9)
        if len(close):
            edge = nearest[close].astype(np.intp)
            beyond = score[close] > edges[edge] if closed == "right" else score[close] >= edges[edge]
            slot[close] = edge + beyond
        return np.minimum(slot, count, out=slot).astype(np.intp)

    return slots


def _compiled_sums(view: View, count: int, edges: Floats) -> tuple[Array, Array, Array] | None:
    score, outcome = view.raw_score, view.raw_outcome
    if outcome.dtype != np.uint8 or count > 4096 or score.dtype.itemsize not in (4, 8):
        return None
    kernel = compiled(fill_bins, view.n)
    if kernel is None:
        return None

    def work(start: int, stop: int) -> Array:
        sums = np.zeros((4, 2 * (count + 1), 2), np.int64)
        kernel(score[start:stop], outcome[start:stop], count, edges, sums)
        return sums

    chunks = [sums.sum(axis=0) for sums in map_blocks(work, view.n, CHUNK_ROWS)]
    packed = np.array([chunk[:, 0] for chunk in chunks])
    low = np.array([chunk[:, 1] for chunk in chunks])
    return (
        (packed // COUNT_UNIT).sum(axis=0),
        (packed % COUNT_UNIT + (low >> LOW_BITS)).sum(axis=0),
        (low & LOW_MASK).sum(axis=0),
    )


def _numpy_sums(view: View, slots: Callable[[Array], Array], count: int) -> tuple[Array, Array, Array]:
    """The same integers as the compiled loop, as sums of whole numbers that float64 holds exactly."""
    cells = 2 * (count + 1)

    def work(start: int, stop: int) -> tuple[Array, Array]:
        score = view.raw_score[start:stop].astype(np.float64)
        cell = slots(score)
        cell *= 2
        cell += view.raw_outcome[start:stop]
        # 25 high and 37 low bits, and the count above the high part: 2^14 rows stay below 2^53.
        score *= 2.0**25
        high = np.floor(score)
        score -= high
        score *= 2.0**37
        np.floor(score, out=score)
        high += 2.0**39
        return np.bincount(cell, high, cells), np.bincount(cell, score, cells)

    parts = map_blocks(work, view.n, MILD_CHUNK_ROWS)
    rows = np.zeros(cells, np.int64)
    fixed = np.zeros((2, cells), np.int64)
    for packed, low in parts:
        whole = packed.astype(np.int64)
        rows += whole >> 39
        top = whole & ((1 << 39) - 1)
        # Bring 25 + 37 bits to the 20 + 42 of the compiled form.
        fixed[0] += top >> 5
        fixed[1] += ((top & 31) << 37) + low.astype(np.int64)
        fixed[0] += fixed[1] >> LOW_BITS
        fixed[1] &= LOW_MASK
    return rows, fixed[0], fixed[1]


def _exact_table(view: View, edges: Floats, sums: tuple[Array, Array, Array], closed: Closed) -> BinTable:
    rows, high, low = (part.reshape(-1, 2) for part in sums)
    for part in (rows, high, low):
        part[1] += part[0]
    rows, high, low = rows[1:], high[1:], low[1:]
    positives = rows[:, 1]
    scores, excess = [], []
    unit = 1 << 62
    for (h0, h1), (l0, l1), yes in zip(high.tolist(), low.tolist(), positives.tolist(), strict=True):
        fixed = ((h0 + h1) << LOW_BITS) + l0 + l1
        scores.append(fixed / unit)
        excess.append((fixed - yes * unit) / unit)
    count = rows.sum(axis=1)
    weight = count.astype(np.float64)
    return BinTable(
        edges[:-1],
        edges[1:],
        count,
        weight,
        positives.astype(np.float64),
        np.array(scores),
        np.array(excess),
        weight,
        float(view.n),
        closed=closed,
    )


def _cells_by_slots(view: View, slots: Callable[[Array], Array]) -> NDArray[np.intp]:
    slot = np.concatenate(map_blocks(lambda a, b: slots(view.score[a:b]), view.n, rows_per_block(1)))
    return np.maximum(slot, 1) - 1


def _table_by_slots(view: View, edges: Floats, slots: Callable[[Array], Array], closed: Closed) -> BinTable:
    count = len(edges) - 1
    if view.weight is None and not view.is_soft:
        return _exact_table(view, edges, _numpy_sums(view, slots, count), closed)
    place = _cells_by_slots(view, slots)
    w = view.weights

    def add(values: Floats | None) -> Floats:
        return np.bincount(place, values, count).astype(np.float64)

    weight = add(w)
    return BinTable(
        edges[:-1],
        edges[1:],
        np.bincount(place, minlength=count),
        weight,
        add(w * view.outcome),
        add(w * view.score),
        add(w * (view.score - view.outcome)),
        add(w * w),
        view.total,
        view.weight_kind,
        closed,
        view.is_soft,
    )


def _table_by_starts(view: View, starts: Array) -> BinTable:
    """Bins that are runs of the sorted rows; a bin ends at its largest score."""
    order = view.order
    score, outcome, w = view.score[order], view.outcome[order], view.weights[order]

    def add(values: Floats) -> Floats:
        return np.add.reduceat(values, starts)

    last = np.append(starts[1:], view.n) - 1
    high = score[last]
    high[-1] = 1.0
    return BinTable(
        np.append(0.0, high[:-1]),
        high,
        np.diff(np.append(starts, view.n)),
        add(w),
        add(w * outcome),
        add(w * score),
        add(w * (score - outcome)),
        add(w * w),
        view.total,
        view.weight_kind,
        is_soft=view.is_soft,
    )

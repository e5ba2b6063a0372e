"""Sums by group and cell in one pass over the rows: the bits that the sketch of each group's rows alone has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning.exact_sums import REST_BITS, BinSums, CellSums
from ..util.blocks import map_blocks
from ..util.kernels import LOW_BITS, LOW_MASK, compiled, fill_cells, fill_groups, read_cells
from .grid import CELLS, shortcuts, slots, tables
from .sketch import Sketch

Array = NDArray[Any]

# Rows that are sorted at once; the lowest bits of a key are their number.
ROW_BITS = 22
BUFFER_ROWS, ROW_MASK = 1 << ROW_BITS, np.uint64((1 << ROW_BITS) - 1)
# Most groups whose keys fit beside it: a cell has 15 bits, the outcome one.
MOST_GROUPS = 1 << (64 - ROW_BITS - 16)
BLOCK_ROWS = 1 << 16
# Up to this number of groups the compiled loop holds all their cells (0.3 MB for a group), and so many rows of each that wait for the
# others (0.15 MB). By a power of two the rows of groups that grow alike would compete for the same lines of cache.
FEW_GROUPS = 1024
WAITING_ROWS = 16_000
# It counts rows in 20 bits: so many twice, and those that wait.
PACKED_ROWS = (1 << 19) - WAITING_ROWS
_HALF = 31
_HALF_MASK = (1 << _HALF) - 1


class GroupCells:
    """Sums of the cells of each group, for one lens.

    Rows are collected, sorted by group and cell, and summed. Many groups with few rows each take as much memory as their sketches.
    """

    def __init__(self, groups: int) -> None:
        self.groups = groups
        self.waiting: list[tuple[Array, Array]] = []
        self.rows = 0
        self.runs: list[tuple[Array, CellSums]] = []
        self.packed: Array = np.zeros((0, CELLS + 1, 2), np.uint64)
        """The cells of the compiled loop; they are read when their group has many rows."""
        self.scores: Array = np.zeros(0)
        self.outcomes: Array = np.zeros(0, np.uint8)
        """The rows of each group that are not yet in its cells."""
        self.packed_rows: Array = np.zeros((0, 2), np.uint64)
        """The number of these, and of the rows in the cells."""

    def add(self, score: Array, outcome: Array, group: Array) -> None:
        """Add rows, given the number of the group of each."""
        fits = score.dtype in (np.float32, np.float64) and outcome.dtype in (np.uint8, np.int64)
        kernel = compiled(fill_groups, len(score)) if fits and self.groups <= FEW_GROUPS else None
        read = None if kernel is None else compiled(read_cells, 0)
        if kernel is not None and read is not None:
            self._pack(kernel, read, score, outcome, group)
            return
        for start in range(0, len(score), BUFFER_ROWS // 4):
            part = slice(start, start + BUFFER_ROWS // 4)
            pair = _keys(score[part], outcome[part], group[part])
            if self.rows + len(pair[0]) > BUFFER_ROWS:
                self._sum()
            self.waiting.append(pair)
            self.rows += len(pair[0])

    def sketches(self, lens: str) -> tuple[Sketch, list[Sketch]]:
        """The sketch of all rows, and the sketch of each group."""
        if self.waiting:
            self._sum()
        total, parts = self._summed_sketches(lens)
        if len(self.packed):
            fill = compiled(fill_cells, 0) or fill_cells
            read = compiled(read_cells, 0) or read_cells
            for group, waiting in enumerate(self.packed_rows[:, 0].tolist()):
                rows = self.scores[group, :waiting], self.outcomes[group, :waiting]
                fill(*rows, tables(), self.packed[group])
            self.scores = self.outcomes = np.zeros(0)
            sums = np.zeros((len(CellSums._fields), CELLS + 1), np.int64)
            # One array for all groups, of which what is not needed takes no memory.
            most = np.minimum(self.packed_rows.sum(axis=1), CELLS).sum()
            held, start = np.empty((1 + len(CellSums._fields), int(most)), np.int64), 0
            for group, own in enumerate(parts):
                end = start + read(self.packed[group], shortcuts()[1], sums, held[:, start:])
                cells, *each = held[:, start:end]
                more = Sketch(cells, CellSums(*each), lens)
                parts[group], start = own.merge(more) if own.n else more, end
            sums[2] += sums[3] >> LOW_BITS
            sums[3] &= LOW_MASK
            total = total.merge(Sketch.of_sums(BinSums(*sums[:, 1:]), lens))
            self.packed = self.packed[:0]
        return total, parts

    def _pack(self, kernel: Any, read: Any, score: Array, outcome: Array, group: Array) -> None:
        """Add rows to the cells of the compiled loop, which have room for fewer than 2^20 rows of a group."""
        if not len(self.packed):
            self.packed = np.zeros((self.groups, CELLS + 1, 2), np.uint64)
            self.scores = np.empty((self.groups, WAITING_ROWS))
            self.outcomes = np.empty((self.groups, WAITING_ROWS), np.uint8)
            self.packed_rows = np.zeros((self.groups, 2), np.uint64)
        for start in range(0, len(score), PACKED_ROWS):
            rows = [values[start : start + PACKED_ROWS] for values in (score, outcome, group)]
            kernel(*rows, tables(), self.scores, self.outcomes, self.packed_rows, self.packed)
            for full in np.flatnonzero(self.packed_rows[:, 1] >= PACKED_ROWS).tolist():
                sums, held = np.zeros((4, CELLS + 1), np.int64), np.empty((5, CELLS), np.int64)
                count = read(self.packed[full], shortcuts()[1], sums, held)
                cells, *each = held[:, :count]
                self._keep((cells + full * CELLS, CellSums(*each)))
                self.packed[full] = self.packed_rows[full, 1] = 0

    def _summed_sketches(self, lens: str) -> tuple[Sketch, list[Sketch]]:
        """The same of the rows outside `packed`."""
        key, sums = _merged(self.runs)
        self.runs = []
        cells = key % CELLS
        ends = np.searchsorted(key, np.arange(self.groups + 1) * CELLS)
        parts = [
            Sketch(cells[start:end], CellSums(*(part[start:end] for part in sums)), lens)
            for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
        ]
        return _total(cells, sums, lens), parts

    def _sum(self) -> None:
        """Sum the collected rows, at most 2^22, by key, in the order of the keys."""
        key, fixed = (np.concatenate(parts) for parts in zip(*self.waiting, strict=True))
        self.waiting, self.rows = [], 0
        order = key << np.uint64(ROW_BITS)
        order |= np.arange(len(key), dtype=np.uint64)
        order.sort()
        value = fixed[(order & ROW_MASK).view(np.int64)]
        order >>= np.uint64(ROW_BITS)
        positive = (order & np.uint64(1)).view(np.int64)
        order >>= np.uint64(1)
        cell = order.view(np.int64)
        first = _first(cell)
        rows = np.diff(first, append=len(cell))
        high = np.add.reduceat(value >> _HALF, first)
        low = np.add.reduceat(value & _HALF_MASK, first)
        high += low >> _HALF
        low &= _HALF_MASK
        low += (high & _HALF_MASK) << _HALF
        high >>= _HALF
        self._keep((cell[first], CellSums(rows, np.add.reduceat(positive, first), high, low)))

    def _keep(self, run: tuple[Array, CellSums]) -> None:
        """Add sums by group and cell, in the order of their keys."""
        self.runs.append(run)
        # The list is merged when it has doubled, so that a row takes part in few merges.
        if sum(len(keys) for keys, _ in self.runs[1:]) > len(self.runs[0][0]):
            self.runs = [_merged(self.runs)]


def _keys(score: Array, outcome: Array, group: Array) -> tuple[Array, Array]:
    """Group, cell and outcome of each row in one number, and its score in units of 2^-62."""
    key, fixed = np.empty(len(score), np.uint64), np.empty(len(score), np.int64)

    def work(start: int, stop: int) -> None:
        rows = slice(start, stop)
        value = score[rows].astype(np.float64)
        cell = slots(value)
        cell += group[rows].astype(np.int64) * CELLS - 1
        key[rows] = (cell << 1) + outcome[rows]
        value *= 2.0**62
        fixed[rows] = value

    map_blocks(work, len(score), BLOCK_ROWS)
    return key, fixed


def _first(key: Array) -> Array:
    """The places at which another key begins."""
    return np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else np.zeros(0, np.int64)


def _merged(runs: list[tuple[Array, CellSums]]) -> tuple[Array, CellSums]:
    """The sums of several lists as one."""
    if len(runs) == 1:
        return runs[0]
    if not runs:
        none = np.zeros(0, np.int64)
        return none, CellSums(none, none, none, none)
    key = np.concatenate([run[0] for run in runs])
    order = np.argsort(key, kind="stable")  # merges sorted lists in linear time
    key = key[order]
    first = _first(key)

    def added(values: Array) -> Array:
        return np.add.reduceat(values, first)

    rows, positives, whole, rest = (
        np.concatenate([run[1][place] for run in runs])[order] for place in range(len(CellSums._fields))
    )
    low = added(rest & _HALF_MASK)
    high = added(rest >> _HALF) + (low >> _HALF)
    whole = added(whole) + (high >> _HALF)
    return key[first], CellSums(
        added(rows), added(positives), whole, ((high & _HALF_MASK) << _HALF) + (low & _HALF_MASK)
    )


def _total(cells: Array, sums: CellSums, lens: str) -> Sketch:
    """The sketch of the rows of all groups."""
    # Double precision represents these sums: parts have 21 bits, and counts at most 53 in all.
    held = np.flatnonzero(np.bincount(cells, minlength=CELLS))
    rows, positives, whole = (np.bincount(cells, part, CELLS).astype(np.int64)[held] for part in sums[:3])
    bits, mask = 21, (1 << 21) - 1
    low, middle, high = (
        np.bincount(cells, (sums.rest >> shift) & mask, CELLS).astype(np.int64)[held] for shift in (0, bits, 2 * bits)
    )
    middle += low >> bits
    high += middle >> bits
    # The highest part of the rest has 20 bits.
    whole += high >> (REST_BITS - 2 * bits)
    high &= (1 << (REST_BITS - 2 * bits)) - 1
    rest = (high << (2 * bits)) + ((middle & mask) << bits) + (low & mask)
    return Sketch(held, CellSums(rows, positives, whole, rest), lens)

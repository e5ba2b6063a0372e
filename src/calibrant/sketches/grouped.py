"""Sketches of many groups in one pass over the rows, each with the bits of the sketch of its rows alone.

A compiled loop adds the rows of few groups to cells that are all in memory. The rows of many groups, and all without compiled
loops, are collected, sorted by group and cell, and summed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from ..binning.exact_sums import CellSums
from ..util.arrays import Array
from ..util.blocks import map_blocks
from ..util.kernels import compiled, fill_cells, fill_groups, read_cells
from .grid import CELLS, shortcuts, slots, tables
from .sketch import Sketch

# The keys of cells that have rows, group * CELLS + cell, in increasing order, and their sums.
Run = tuple[Array, CellSums]

# Rows that are sorted at once; the lowest bits of what is sorted are their number.
ROW_BITS = 22
BUFFER_ROWS, ROW_MASK = 1 << ROW_BITS, np.uint64((1 << ROW_BITS) - 1)
# Most groups whose keys fit beside it: a cell has 15 bits, the outcome one.
MOST_GROUPS = 1 << (64 - ROW_BITS - 16)
BLOCK_ROWS = 1 << 16
# Up to this number of groups all cells are in memory (0.3 MB for a group), and so many rows of each that wait for the others
# (0.15 MB). By a power of two the rows of groups that grow alike would compete for the same lines of cache.
FEW_GROUPS = 1024
WAITING_ROWS = 16_000
# The compiled loop counts rows in 20 bits: so many twice, and those that wait.
PACKED_ROWS = (1 << 19) - WAITING_ROWS
_HALF = 31
_HALF_MASK = (1 << _HALF) - 1


class GroupCells:
    """Sums of the cells of each group, for one lens.

    Many groups with few rows each take as much memory as their sketches.
    """

    def __init__(self, groups: int) -> None:
        self.groups = groups
        self.packed: _PackedCells | None = None
        self.waiting: list[tuple[Array, Array]] = []
        """Rows that are not yet summed, as `_row_keys`."""
        self.runs: list[Run] = []

    def add(self, score: Array, outcome: Array, group: Array) -> None:
        """Add rows, given the number of the group of each."""
        fits = score.dtype in (np.float32, np.float64) and outcome.dtype in (np.uint8, np.int64)
        if fits and self.groups <= FEW_GROUPS and compiled(fill_groups, len(score)) and compiled(read_cells, 0):
            self.packed = self.packed or _PackedCells(self.groups)
            for start in range(0, len(score), PACKED_ROWS):
                rows = slice(start, start + PACKED_ROWS)
                full = self.packed.add(score[rows], outcome[rows], group[rows])
                if full:
                    self._keep(self.packed.take(full))
            return
        for start in range(0, len(score), BUFFER_ROWS // 4):
            rows = slice(start, start + BUFFER_ROWS // 4)
            keys = _row_keys(score[rows], outcome[rows], group[rows])
            if sum(len(key) for key, _ in self.waiting) + len(keys[0]) > BUFFER_ROWS:
                self._sum_waiting()
            self.waiting.append(keys)

    def sketches(self, lens: str) -> tuple[Sketch, list[Sketch]]:
        """Return the sketch of all rows, and the sketch of each group; nothing is held any more."""
        if self.waiting:
            self._sum_waiting()
        if self.packed is not None:
            self._keep(self.packed.take_all())
            self.packed = None
        key, sums = _merge(self.runs)
        self.runs = []
        cells = key % CELLS
        ends = np.searchsorted(key, np.arange(self.groups + 1) * CELLS).tolist()
        parts = [
            Sketch(cells[start:end], CellSums(*(column[start:end] for column in sums)), lens)
            for start, end in pairwise(ends)
        ]

        def add(values: Array) -> Array:
            added = np.zeros(CELLS, np.int64)
            np.add.at(added, cells, values)
            return added

        total = _add_sums(sums, add)
        occupied = np.flatnonzero(total.rows)
        return Sketch(occupied, CellSums(*(column[occupied] for column in total)), lens), parts

    def _sum_waiting(self) -> None:
        """Sum the waiting rows, at most 2^22, by cell."""
        key, fixed = (np.concatenate(parts) for parts in zip(*self.waiting, strict=True))
        self.waiting = []
        order = key << np.uint64(ROW_BITS)
        order |= np.arange(len(key), dtype=np.uint64)
        order.sort()
        fixed = fixed[(order & ROW_MASK).view(np.int64)]
        order >>= np.uint64(ROW_BITS)
        positive = (order & np.uint64(1)).view(np.int64)
        order >>= np.uint64(1)
        cell = order.view(np.int64)
        first = _first(cell)
        rows = np.diff(first, append=len(cell))
        sums = CellSums(rows, np.add.reduceat(positive, first), *_add_fixed(fixed, _add_from(first)))
        self._keep((cell[first], sums))

    def _keep(self, run: Run) -> None:
        self.runs.append(run)
        # The list is merged when it has doubled, so that a row takes part in few merges.
        if sum(len(keys) for keys, _ in self.runs[1:]) > len(self.runs[0][0]):
            self.runs = [_merge(self.runs)]


class _PackedCells:
    """The cells of each group as the compiled loop fills them, which have room for fewer than 2^20 rows."""

    def __init__(self, groups: int) -> None:
        self.cells = np.zeros((groups, CELLS + 1, 2), np.uint64)
        self.scores = np.empty((groups, WAITING_ROWS))
        self.outcomes = np.empty((groups, WAITING_ROWS), np.uint8)
        """The rows of each group that are not yet in its cells."""
        self.rows = np.zeros((groups, 2), np.uint64)
        """The number of these, and of the rows in the cells."""

    def add(self, score: Array, outcome: Array, group: Array) -> list[int]:
        """Add at most `PACKED_ROWS` rows; returns the groups whose cells have to be taken before more are added."""
        fill = compiled(fill_groups, 0) or fill_groups
        fill(score, outcome, group, tables(), self.scores, self.outcomes, self.rows, self.cells)
        full: list[int] = np.flatnonzero(self.rows[:, 1] >= PACKED_ROWS).tolist()
        return full

    def take(self, groups: Sequence[int]) -> Run:
        """Return the sums of the cells of some groups, which are empty afterwards; rows that wait are not in them."""
        reader = compiled(read_cells, 0) or read_cells
        # What is not needed of this array takes no memory.
        buffer = np.empty((1 + len(CellSums._fields), int(np.minimum(self.rows[groups, 1], CELLS).sum())), np.int64)
        of_all, end = np.zeros((len(CellSums._fields), CELLS + 1), np.int64), 0
        for group in groups:
            start, end = end, end + reader(self.cells[group], shortcuts()[1], of_all, buffer[:, end:])
            buffer[0, start:end] += group * CELLS
            self.cells[group] = self.rows[group, 1] = 0
        key, *sums = buffer[:, :end]
        return key, CellSums(*sums)

    def take_all(self) -> Run:
        """Return the sums of all rows; none can be added afterwards."""
        fill = compiled(fill_cells, 0) or fill_cells
        for group, waiting in enumerate(self.rows[:, 0].tolist()):
            fill(self.scores[group, :waiting], self.outcomes[group, :waiting], tables(), self.cells[group])
        self.rows[:, 1] += self.rows[:, 0]
        self.scores, self.outcomes = np.zeros((0, 0)), np.zeros((0, 0), np.uint8)
        return self.take(range(len(self.cells)))


def _row_keys(score: Array, outcome: Array, group: Array) -> tuple[Array, Array]:
    """Return the group, cell and outcome of each row in one number, and its score in units of 2^-62."""
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
    """Return the places at which another key begins."""
    return np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else np.zeros(0, np.int64)


def _add_from(first: Array) -> Callable[[Array], Array]:
    """Return a function that adds consecutive values, from each of these places to the next."""
    return lambda values: np.add.reduceat(values, first)


def _add_fixed(fixed: Array, add: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Add numbers in units of 2^-62 up to 1; returns the whole part of each sum, and the rest in these units.

    Their halves of 31 bits are added, of which 2^32 do not overflow.
    """
    low = add(fixed & _HALF_MASK)
    high = add(fixed >> _HALF) + (low >> _HALF)
    return high >> _HALF, ((high & _HALF_MASK) << _HALF) + (low & _HALF_MASK)


def _add_sums(sums: CellSums, add: Callable[[Array], Array]) -> CellSums:
    """Add sums of cells."""
    quotient, remainder = _add_fixed(sums.rest, add)
    return CellSums(add(sums.rows), add(sums.positives), add(sums.whole) + quotient, remainder)


def _merge(runs: Sequence[Run]) -> Run:
    """Return the sums of several lists as one."""
    if len(runs) == 1:
        return runs[0]
    if not runs:
        none = np.zeros(0, np.int64)
        return none, CellSums(none, none, none, none)
    key = np.concatenate([keys for keys, _ in runs])
    order = np.argsort(key, kind="stable")  # merges sorted lists in linear time
    key = key[order]
    first = _first(key)
    sums = CellSums(*(np.concatenate(parts)[order] for parts in zip(*(sums for _, sums in runs), strict=True)))
    return key[first], _add_sums(sums, _add_from(first))

"""The fixed grid of a sketch: the edges of its cells, and the cell of each score."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..binning.exact_sums import BinSums, Totals, slot_sums, uniform_slots
from ..util.arrays import Array, Floats
from ..util.blocks import map_blocks
from ..util.kernels import compiled, fill_cells, read_cells

Counts = NDArray[np.int64]

# Number of cells of equal width; a multiple of 300, so that the edges of 10, 15, 20, 25, 30, 50 and 100 bins are included.
EQUAL = 19_200
# Within 1/300 of 0 and 1, cells shrink with the distance: 16 per factor of two, down to 1e-6.
FINEST, NEAR, PER_OCTAVE = 1e-6, 1 / 300, 16
# Powers of two may differ in the last digit between platforms; edges rounded to this many binary places do not.
PLACES = 2.0**48
_KEY = np.uint64(46)
# The compiled loop counts rows in 20 bits; blocks are large enough to amortize clearing and reading all cells.
BLOCK_ROWS = 1_000_000
# Total number of cells.
CELLS = EQUAL + 2 * 188
# Where `read_cells` need not list the cells that have rows.
NO_CELLS = np.zeros((5, 0), np.int64)


class Grid(NamedTuple):
    """Cell k is (edges[k], edges[k + 1]]; the first includes 0."""

    edges: Floats
    """Increasing edges from 0 to 1."""
    near: Floats
    """The edges that are not multiples of the equal width, below 1/2; those above are 1 minus these."""
    first: Array
    """Number of edges before the end of each equal cell, numbered from 1."""
    crowded: Array
    """Whether an equal cell is subdivided."""


@cache
def grid() -> Grid:
    """The grid of all sketches."""
    equal = np.arange(EQUAL + 1) / EQUAL
    steps = np.arange(math.ceil(math.log2(NEAR / FINEST) * PER_OCTAVE))
    near = np.round(FINEST * 2.0 ** (steps / PER_OCTAVE) * PLACES) / PLACES
    edges = np.unique(np.concatenate([equal, near, 1 - near]))
    first = np.searchsorted(edges, equal)
    return Grid(edges, near, first, np.diff(first, prepend=-1) > 1)


@cache
def shortcuts() -> tuple[Floats, Array, Array]:
    """Tables of the compiled loop besides the edges.

    First how positions become cells where all have the same width, and where that ends. Then the lower end of each cell in
    units of 2^-62. Last, for the leading bits of a distance from 0 (and one from 1), the lowest cell that has such scores.
    """
    edges, _, first, crowded = grid()
    middle = EQUAL // 2
    before = middle - int(np.argmax(crowded[middle::-1]))
    after = middle + int(np.argmax(crowded[middle:])) - 1
    near, beyond = edges[first[before]], edges[first[after]]
    keys = np.arange(_key(FINEST), _key(near) + 1, dtype=np.uint64)
    least, most = (((keys + np.uint64(step)) << _KEY).view(np.float64) for step in (0, 1))
    least[0] = 0
    starts = np.stack([np.searchsorted(edges, least), np.searchsorted(edges, 1 - most)])
    floors = np.concatenate([[0], np.floor(edges[:-1] * 2.0**62)]).astype(np.uint64)
    guide = np.array([EQUAL, first[middle] - middle, near, beyond, keys[0]], np.float64)
    return guide, floors, np.maximum(starts, 1).astype(np.uint64)


def tables() -> tuple[Floats, Floats, Array]:
    """What the compiled loop finds cells by."""
    guide, _, starts = shortcuts()
    return guide, grid().edges, starts


def _key(distance: float) -> int:
    """The exponent and six more bits."""
    return int(np.array(distance).view(np.uint64) >> _KEY)


def slots(score: Floats) -> Array:
    """The cell of each score, numbered from 1: by one product for most scores, by search where cells are narrow."""
    edges, _, first, crowded = grid()
    equal = uniform_slots(np.arange(EQUAL + 1) / EQUAL, "right", False)(score)
    slot = first[equal]
    close = np.flatnonzero(crowded[equal])
    slot[close] = np.searchsorted(edges, score[close], side="left")
    return np.asarray(np.maximum(slot, 1))


def cell_sums(score: Array, outcome: Array) -> BinSums:
    """Rows, positives and sums of scores of every cell; the compiled loop and NumPy give identical results."""
    fits = score.dtype in (np.float32, np.float64) and outcome.dtype in (np.uint8, np.int64)
    kernel, read = (compiled(fill_cells, len(score)), compiled(read_cells, 0)) if fits else (None, None)
    if kernel is None or read is None:
        return slot_sums(score, outcome, slots, CELLS)
    floors = shortcuts()[1]
    totals = Totals(CELLS + 1)

    def work(start: int, stop: int) -> None:
        cells = np.zeros((CELLS + 1, 2), np.uint64)
        sums = np.zeros((4, CELLS + 1), np.int64)
        kernel(score[start:stop], outcome[start:stop], tables(), cells)
        read(cells, floors, sums, NO_CELLS)
        rows, positives, high, low = sums
        totals.add(rows, high, low, positives)

    # An even number of equal blocks balances two threads.
    pairs = -(-len(score) // (2 * BLOCK_ROWS))
    map_blocks(work, len(score), -(-len(score) // (2 * pairs)) if len(score) > BLOCK_ROWS // 2 else BLOCK_ROWS)
    return totals.bins((CELLS + 1,))

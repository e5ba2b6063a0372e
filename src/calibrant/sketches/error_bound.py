"""Placements of rows within their cells that agree with the sums of a sketch, from which error bounds are estimated."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning.exact_sums import CellSums
from ..util.arrays import Floats
from ..views.view import View

Counts = NDArray[Any]
STREWN = 6
# Resolution of the fixed-point scores.
CUT = 2.0**-62
# Rows that move together are at most this fraction (one in LOTS) of all rows.
LOTS = 4000


def most_moved(sums: CellSums, low: Floats, high: Floats) -> float:
    """The largest possible mean distance of a row from the mean of its cell; 0 for cells of one row."""
    mean = np.clip(sums.score_sum / sums.rows, low, high)
    furthest = 2 * (mean - low) * (high - mean) / (high - low)
    return float(np.sum(np.where(sums.rows > 1, sums.rows * furthest, 0.0)) / max(int(sums.rows.sum()), 1))


def spread_views(sums: CellSums, low: Floats, high: Floats, lens: str) -> list[View]:
    """Views that agree with the rows, positives and mean score of every cell, with other positions of the rows within it.

    In the first, half the rows of each outcome lie low and half high; in two more the positives lie above the negatives, and below
    them; in two more all rows but one lie at the ends of the cell, positives first at the upper one, and at the lower one; in the last
    ones rows are strewn over the cell, positives among negatives, so that cuts by rank fall between them. A cell of one row is known
    exactly.
    """
    rows, positives = sums.rows, sums.positives
    above = np.where(low > 0, np.nextafter(low, 1), 0.0)
    mean = np.clip(sums.score_sum / rows, above, high)
    # Scores below the fixed-point resolution were rounded to 0 although they may have differed, which matters for ranks.
    mean = np.where(low == 0, np.maximum(mean, CUT / 2), mean)
    share = positives / rows
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.minimum((high - mean) / (1 - share), (mean - above) / share)
        down = np.minimum((mean - above) / (1 - share), (high - mean) / share)
    mixed = (positives > 0) & (positives < rows)
    up, down = (np.where(mixed, width, 0.0) for width in (up, down))
    pairs = [(mean + up * (1 - share), mean - up * share), (mean - down * (1 - share), mean + down * share)]
    lower = positives // 2, (rows - positives) // 2
    half = lower[0] + lower[1]
    room = np.minimum(mean - above, (high - mean) * (rows - half) / np.maximum(half, 1))
    below = np.where(half > 0, mean - room, mean)
    over = np.where(half > 0, mean + room * half / np.maximum(rows - half, 1), mean)
    parts = [(below, 1, lower[0]), (below, 0, lower[1]), (over, 1, positives - lower[0])]
    halves = _view([*parts, (over, 0, rows - positives - lower[1])], above, high, lens)
    views = [_view([(one, 1, positives), (none, 0, rows - positives)], above, high, lens) for one, none in pairs]
    ends = [_at_the_ends(mean, sums, above, high, lens, first) for first in (1, 0)]
    room = np.minimum(mean - above, high - mean)
    return [halves, *views, *ends, *(_strewn(mean, room, sums, above, high, lens, seed) for seed in range(STREWN))]


def _at_the_ends(mean: Floats, sums: CellSums, low: Floats, high: Floats, lens: str, first: int) -> View:
    """As many rows at the upper end as the mean allows, one in between, the others at the lower end; one outcome is placed first at the top."""
    rows = sums.rows
    many = np.minimum(np.floor(rows * np.clip((mean - low) / (high - low), 0, 1)).astype(np.int64), rows - 1)
    between = np.clip(low + rows * (mean - low) - many * (high - low), low, high)
    count = sums.positives if first else rows - sums.positives
    parts = []
    for place, rows_there in ((high, many), (between, np.ones_like(rows)), (low, rows - many - 1)):
        events = np.minimum(count, rows_there)
        count = count - events
        parts += [(place, first, events), (place, 1 - first, rows_there - events)]
    return _view(parts, low, high, lens)


def _strewn(mean: Floats, room: Floats, sums: CellSums, low: Floats, high: Floats, lens: str, seed: int) -> View:
    """The rows of each cell, singly or in small lots, at random positions around its mean; positives may be separated from negatives."""
    rng = np.random.default_rng(seed)
    lot = max(1, int(sums.rows.sum()) // LOTS)
    lots_drawn: list[tuple[Any, Any, Any]] = []
    for outcome, count in ((1, sums.positives), (0, sums.rows - sums.positives)):
        lots = -(-count // lot)
        cell = np.repeat(np.arange(len(mean)), lots)
        place = np.arange(len(cell)) - np.repeat(np.cumsum(lots) - lots, lots)
        lot_rows = count[cell] // lots[cell] + (place < count[cell] % lots[cell])
        lots_drawn.append((cell, np.full(len(cell), outcome, np.uint8), lot_rows))
    cells, outcomes, counts = (np.concatenate(column) for column in zip(*lots_drawn, strict=True))
    shift = rng.uniform(-1, 1, len(cells))
    # For odd seeds most rows lie near the ends of the cell.
    shift = np.sign(shift) * np.abs(shift) ** (0.1 if seed % 2 else 1.0)
    shift -= (np.bincount(cells, counts * shift, len(mean)) / sums.rows)[cells]
    furthest = np.ones(len(mean))
    np.maximum.at(furthest, cells, np.abs(shift))
    score = np.clip(mean[cells] + room[cells] * shift / furthest[cells], low[cells], high[cells])
    return View(score, outcomes, counts, "counts", lens=lens)


def _view(parts: list[tuple[Floats, int, Counts]], low: Floats, high: Floats, lens: str) -> View:
    score = np.concatenate([np.clip(place, low, high) for place, _, _ in parts])
    outcome = np.concatenate([np.full(len(place), value, np.uint8) for place, value, _ in parts])
    count = np.concatenate([count for _, _, count in parts])
    is_used = count > 0
    return View(score[is_used], outcome[is_used], count[is_used], "counts", lens=lens)

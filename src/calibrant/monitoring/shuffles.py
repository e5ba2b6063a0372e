"""P-values of differences between two samples: rows exchanged at random, counted in cells; all tables where there are few."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inference.resampling import generator, seed_of
from .samples import Cells

__all__ = ["Null", "adjust_together", "coarsened", "draw_null", "path_pvalue"]

Floats = NDArray[np.float64]
Statistic = Callable[[Floats, Floats, Floats], Floats]
"""From cell values (C,), reference rows (R, C) and window rows (R, C) to R numbers."""

# Shuffles are counted in at most this many cells, cut from both samples together, so that the level stays exact.
MOST_CELLS = 1024
# Up to this many tables are all written out.
MOST_TABLES = 5000
# NumPy draws from urns of fewer rows than this.
LARGEST_URN = 10**9
SAME = 1e-12
"""Two values that differ by less, relative to their size, differ by rounding."""


@dataclass(frozen=True)
class Null:
    """Values of statistics under exchange of rows, one column for each, with the probability of each row."""

    values: Floats
    weight: Floats
    exact: bool
    """Whether every table is there, rather than a draw."""
    law: str

    def pvalue(self, observed: float, column: int) -> float:
        """The chance of a value at least this large; with draws, the observed one counts among them."""
        slack = SAME * max(1.0, abs(observed)) if math.isfinite(observed) else 0.0
        reached = self.values[:, column] >= observed - slack
        if self.exact:
            return min(1.0, float(self.weight[reached].sum()))
        return float((1 + reached.sum()) / (1 + len(reached)))

    def threshold(self, alpha: float, column: int) -> float:
        """The smallest value whose p-value is at most `alpha`; infinite where none is."""
        order = np.argsort(-self.values[:, column], kind="stable")
        values = self.values[order, column]
        tail = np.cumsum(self.weight[order] if self.exact else np.full(len(values), 1 / (1 + len(values))))
        tail += 0 if self.exact else 1 / (1 + len(values))
        with np.errstate(invalid="ignore"):  # of two infinite values the first is not the last
            last = np.append(values[1:] < values[:-1] - SAME * np.maximum(1.0, np.abs(values[:-1])), True)
        fine = values[last & (tail <= alpha * (1 + SAME))]
        return float(fine[-1]) if len(fine) else math.inf


def coarsened(cells: Cells, keep_apart: NDArray[Any] | None = None) -> Cells:
    """Neighbouring cells put together until few are left, by rows of both samples; those kept apart stay so."""
    if len(cells.value) <= MOST_CELLS:
        return cells
    pooled = cells.reference + cells.window
    before = np.cumsum(pooled) - pooled
    key = np.floor(before * (MOST_CELLS / pooled.sum())).astype(np.int64)
    change = np.diff(key) != 0
    if keep_apart is not None:
        change |= np.diff(keep_apart) != 0
    return cells.merged(np.append(0, np.cumsum(change)))


def draw_null(cells: Cells, statistics: list[Statistic], n_resamples: int, rng: Any, known: bool) -> Null:
    """Values of the statistics where nothing changed: rows exchanged, or the window drawn from a known reference."""
    table = None if known or not cells.whole else _all_tables(cells)
    weight, exact = np.full(n_resamples, 1 / n_resamples), False
    if table is not None:
        (window, weight), law, exact = table, "every exchange of rows", True
    elif known or cells.whole:
        window, law = _drawn_windows(cells, n_resamples, generator(seed_of(rng), 0), known)
    else:
        reference, window, law = _exchanged_weights(cells, n_resamples, generator(seed_of(rng), 0))
    if known:
        reference = np.broadcast_to(cells.reference, window.shape)
    elif cells.whole:
        reference = (cells.reference + cells.window) - window
    values = np.column_stack([statistic(cells.value, reference, window) for statistic in statistics])
    return Null(values, weight, exact, law)


def _scaled(part: Floats, size: float) -> Floats:
    return np.asarray(part * (size / part.sum(axis=1, keepdims=True)))


def _drawn_windows(cells: Cells, count: int, draw: np.random.Generator, known: bool) -> tuple[Floats, str]:
    pooled = cells.reference + cells.window
    size = round(cells.window_size)
    if known:
        share = cells.reference / cells.reference.sum()
        return draw.multinomial(size, share, size=count).astype(np.float64), "draws from the reference"
    if pooled.sum() >= LARGEST_URN:
        # With so many rows drawing with and without putting back are alike, once the spread is set right.
        share = pooled / pooled.sum()
        kept = math.sqrt(1 - size / pooled.sum())
        drawn = draw.multinomial(size, share, size=count)
        return np.clip(size * share + (drawn - size * share) * kept, 0, pooled), "rows exchanged, nearly"
    urn = pooled.astype(np.int64)
    return draw.multivariate_hypergeometric(urn, size, size=count, method="marginals").astype(np.float64), (
        "rows exchanged at random"
    )


def _exchanged_weights(cells: Cells, count: int, draw: np.random.Generator) -> tuple[Floats, Floats, str]:
    """Weight of both samples in each cell after exchanges; where one of them alone has weights, these stay where they are.

    Rows that took such weights along would bring them to a side that has none, and spread less than the samples do.
    """
    assert cells.rows is not None
    (old, old_weight), (new, new_weight) = cells.rows
    weighted = [bool((weight != weight[0]).any()) for weight in (old_weight, new_weight)]
    # Each sample's weights have mean 1; in the pool both count by what their rows are worth.
    place = np.concatenate([old, new]).astype(np.intp)
    own = (old_weight * (cells.reference_size / len(old)), new_weight * (cells.window_size / len(new)))
    weight, fixed = np.concatenate(own), np.concatenate(own[::-1])
    cut, size = len(new), len(cells.value)
    reference, window = np.empty((count, size)), np.empty((count, size))
    for row in range(count):
        moved = draw.permutation(len(place))
        carried = weight[moved] if all(weighted) else fixed
        window[row] = np.bincount(place[moved[:cut]], carried[:cut], size)
        reference[row] = np.bincount(place[moved[cut:]], carried[cut:], size)
    law = (
        "rows exchanged with their weights" if all(weighted) else "scores exchanged, weights taken as unrelated to them"
    )
    return _scaled(reference, cells.reference_size), _scaled(window, cells.window_size), law


def _all_tables(cells: Cells) -> tuple[Floats, Floats] | None:
    """Every way the window's rows can be taken from the pool, with its probability; None where there are too many."""
    pooled = (cells.reference + cells.window).astype(np.int64)
    size = round(cells.window_size)
    if len(pooled) > 12 or np.prod(np.minimum(pooled, size) + 1.0) > MOST_TABLES:
        return None
    axes = [np.arange(min(int(count), size) + 1) for count in pooled]
    tables = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(pooled))
    tables = tables[tables.sum(axis=1) == size]
    ways = [math.prod(math.comb(n, k) for n, k in zip(pooled.tolist(), row, strict=True)) for row in tables.tolist()]
    total = math.comb(int(pooled.sum()), size)
    return tables.astype(np.float64), np.array([way / total for way in ways])


def adjust_together(null: Null, observed: Floats) -> Floats:
    """P-values of several statistics corrected for looking at them all: how often chance makes the smallest so small."""
    columns = range(null.values.shape[1])
    pvalues = np.array([null.pvalue(float(observed[i]), i) for i in columns])
    if null.exact:
        own = np.column_stack([[null.pvalue(float(v), i) for v in null.values[:, i]] for i in columns])
        reached = own.min(axis=1)[:, None] <= pvalues * (1 + SAME)
        return np.minimum(1.0, null.weight @ reached)
    count = len(null.values)
    ordered = np.sort(null.values, axis=0)
    rank = np.column_stack([count - np.searchsorted(ordered[:, i], null.values[:, i], "left") for i in columns])
    reached = (rank / (count + 1)).min(axis=1)[:, None] <= pvalues * (1 + SAME)
    return np.asarray((1 + reached.sum(axis=0)) / (1 + count))


def path_pvalue(cells: Cells, distance: float) -> float:
    """The exact chance that shuffled rows reach this Kolmogorov-Smirnov distance, ties included.

    A shuffle is a path from (0, 0) to (N, M), and only its points at the ends of tied rows are looked at. The chance of being
    at (i, j) without having been too far away is carried from one diagonal to the next.
    """
    n, m = round(cells.reference_size), round(cells.window_size)
    if n > m:
        n, m = m, n
    ends = np.zeros(n + m + 1, bool)
    ends[np.cumsum(cells.reference + cells.window).round().astype(np.int64)] = True
    left = np.arange(n + 1.0)
    reached, least = 0.0, round(distance * n * m) - 0.5
    first, chance = 0, np.ones(1)  # chances of i = first, first + 1, ...; all others are 0
    for total in range(1, n + m + 1):
        # What is left of each sample says how likely the next row is from it.
        here = left[first : first + len(chance)]
        moved = np.append(chance * (here + (m - total + 1)), 0.0)
        moved[1:] += chance * (n - here)
        chance = moved[: n + 1 - first] / (n + m - total + 1)
        if ends[total]:
            low = max(0, math.floor((total * n - least) / (n + m)) + 1 - first)
            high = max(low, math.ceil((total * n + least) / (n + m)) - first)
            reached += float(chance[:low].sum() + chance[high:].sum())
            first, chance = first + low, chance[low:high]
    return min(1.0, reached)

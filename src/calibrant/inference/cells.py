"""Rows counted in cells, so that drawing them again costs as much as there are cells, and how narrow the cells must be.

Cells that are too wide give wrong answers without a sign: bins of equal mass cannot be cut inside a cell, nor neighbours found.
Unless a metric reads nothing but the sums of the cells, a few samples are therefore drawn row by row first, and measured as rows
and in cells: only cells that tell the same are taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import several_bins
from ..binning.rules import BinningRule, Edges, EqualWidth, edge_values, equal_mass_cuts
from ..errors import UndefinedMetricError
from ..metrics.registry import Metric
from ..views.lenses import AnyView
from ..views.view import Rows, View

__all__ = ["CellSampler", "Drawn", "Draws", "Plan", "cells_that_tell", "first_cells", "one_view"]

Array = NDArray[Any]
Floats = NDArray[np.float64]
Generator = np.random.Generator
Plan = tuple[Metric, dict[str, Any]]
Draws = Literal["outcomes", "scores", "rows"]
"""What is drawn: outcomes for the scores as they are, scores and outcomes, or rows."""

# Cells for metrics of bins, for those that look more closely, and the most that are tried.
BIN_CELLS, FINE_CELLS, MOST_CELLS = 300, 1920, 9600
# Samples that are measured both ways: first few, more where these do not tell.
PILOTS, MOST_PILOTS = 3, 10
# So many rows show whether a metric reads anything but sums.
ENOUGH = 20_000
# Beyond so many rows every sample takes longer than finer cells do.
MANY = 1_000_000
# What cells may change, on average and as noise, as a share of the standard deviation by chance; less than SAME is rounding.
SHIFT, NOISE, SAME = 0.075, 0.2, 1e-9


class Drawn:
    """One resample: the views that a metric reads of it."""

    def __init__(self, views: Callable[[Metric, dict[str, Any]], list[AnyView]]) -> None:
        self.views = views

    def value(self, metric: Metric, keywords: dict[str, Any]) -> float:
        """The metric of this resample; NaN where it has none."""
        own = {keyword: value for keyword, value in keywords.items() if keyword not in ("lens", "where")}
        try:
            return metric.of_views(self.views(metric, keywords), **own)
        except UndefinedMetricError:
            return np.nan


def one_view(view: AnyView) -> Drawn:
    """A resample that every metric reads in the same way."""
    return Drawn(lambda metric, keywords: [view])


class CellSampler:
    """Counts in cells, each taken at its mean score."""

    exact = False
    note = ""

    def __init__(self, view: View, rule: BinningRule) -> None:
        self.rule = rule
        sums = _sums(rule, view)
        self.full = sums.weight > 0
        self.lens = view.lens
        self.rows, self.positives = _whole(sums.weight[self.full]), _whole(sums.positives[self.full])
        low, high = sums.low[self.full], sums.high[self.full]
        self.width = high - low
        mean = sums.score[self.full] / sums.weight[self.full]
        # Rounding must not move a mean over an edge, nor above 1.
        self.score = np.clip(mean, np.where(low > 0, np.nextafter(low, 1), 0.0), high)
        self.count = len(self.rows)
        self.total = int(self.rows.sum())

    def whole(self) -> Drawn:
        """The rows as they are."""
        return self._drawn(self.rows, self.positives)

    def counted(self, view: View) -> Drawn:
        """Some of the rows, in these cells."""
        sums = _sums(self.rule, view)
        return self._drawn(_whole(sums.weight[self.full]), _whole(sums.positives[self.full]))

    def null(self, rng: Generator, fixed_design: bool) -> Drawn:
        rows = self.rows if fixed_design else rng.multinomial(self.total, self.rows / self.total)
        return self._drawn(rows, rng.binomial(rows, self.score))

    def bootstrap(self, rng: Generator) -> Drawn:
        share = np.concatenate([self.rows - self.positives, self.positives]) / self.total
        counts = rng.multinomial(self.total, share)
        half = len(self.rows)
        return self._drawn(counts[:half] + counts[half:], counts[half:])

    def left_out(self) -> Iterator[tuple[float, Drawn]]:
        for outcome, counts in ((0, self.rows - self.positives), (1, self.positives)):
            for cell in np.flatnonzero(counts):
                rows, positives = self.rows.copy(), self.positives.copy()
                rows[cell] -= 1
                positives[cell] -= outcome
                yield float(counts[cell]), self._drawn(rows, positives)

    def _drawn(self, rows: Array, positives: Array) -> Drawn:
        return one_view(counted_view(self.score, rows, positives, self.lens))


class Sums(NamedTuple):
    """What is known of each cell."""

    low: Floats
    high: Floats
    weight: Array
    positives: Array
    score: Array


def _sums(rule: BinningRule, view: View) -> Sums:
    if not (isinstance(rule, Edges) and "prefix" in view.__dict__):
        table = rule.table(view)
        return Sums(table.low, table.high, table.weight, table.positives, table.score_sum)
    # The rows are in order already: it is quicker to look up the edges among them.
    edges, prefix = np.asarray(rule.edges), view.prefix
    inside = np.searchsorted(prefix.score, edges[1:-1], side="right")
    place = np.concatenate([[0], inside, [len(prefix.score)]])
    return Sums(
        edges[:-1], edges[1:], *(np.diff(part[place]) for part in (prefix.weight, prefix.outcome, prefix.total))
    )


def _whole(values: Array) -> Array:
    return np.rint(values).astype(np.int64)


def counted_view(score: Array, rows: Array, positives: Array, lens: str, extra: Rows | None = None) -> View:
    """Each score once with outcome 0 and once with 1, weighed by how many rows had it; scores must rise."""
    counts = np.column_stack([rows - positives, positives]).ravel()
    kept = np.flatnonzero(counts)
    view = View(score[kept >> 1], (kept & 1).astype(np.uint8), counts[kept], "counts", rows=extra, lens=lens)
    view.__dict__["order"] = np.arange(len(kept))  # sorted as they are
    return view


def first_cells(plans: list[Plan]) -> int:
    """The fewest cells that are tried."""
    return BIN_CELLS if all(metric.family == "bin" for metric, _ in plans) else FINE_CELLS


def grids(view: View, plans: list[Plan]) -> Iterator[BinningRule]:
    """Ways to cut the scores into cells, from coarse to fine; all are parts of the bins of equal width that are asked for."""
    first = first_cells(plans)
    numbers, given = _asked_bins(plans)
    step = math.lcm(*numbers) if math.lcm(*numbers) <= first else 1
    width = step * -(-first // step)
    edges = np.union1d(np.arange(width + 1) / width, given)
    yield Edges(tuple(edges.tolist())) if len(given) else EqualWidth(width)
    for least in sorted({first, FINE_CELLS, MOST_CELLS}):
        # Scores may lie close together: the next cells are cut by rank too.
        cuts = equal_mass_cuts(view.prefix, step * -(-least // step))
        ends = view.prefix.score[cuts[1:] - 1]
        yield Edges(tuple(np.union1d(edges, ends[(ends > 0) & (ends < 1)]).tolist()))


def _asked_bins(plans: list[Plan]) -> tuple[list[int], Floats]:
    """The numbers of bins and the edges that are asked for."""
    numbers, edges = [1], np.zeros(0)
    for metric, options in plans:
        bins = options.get("bins", metric.options.get("bins"))
        several = several_bins(bins) if bins is not None else None
        if isinstance(bins, (int, np.integer)):
            numbers.append(max(1, int(bins)))
        elif several is not None:
            numbers += several
        elif bins is not None and not isinstance(bins, str):
            edges = np.union1d(edges, edge_values(bins))
    return numbers, edges


def cells_that_tell(view: View, plans: list[Plan], draw: Callable[[int], Drawn], draws: Draws) -> CellSampler | None:
    """The coarsest cells in which all metrics are what they are of rows; None where there are none.

    `draw` gives resample number b row by row, and `draws` says what it draws.
    """
    rules = grids(view, plans)
    rule = next(rules)
    first = CellSampler(view, rule)
    if (draws == "outcomes" or _hide_little(first)) and _are_all_that_is_read(rule, view, plans):
        return first
    trial = Trial(plans, draw)
    pilots = MOST_PILOTS if view.n <= ENOUGH else PILOTS
    finer = (cells for cells in (CellSampler(view, rule) for rule in rules) if 2 * cells.count < view.n)
    if view.n > MANY:  # few samples must do: the coarsest cells that are sure, else the finest that may be
        tried = [first, *finer]
        sure, grey = trial.sort_out(tried, pilots)
        found = [*sure, *reversed(grey)] or trial.sort_out(tried[-1:], MOST_PILOTS)[0]
        return next(iter(found), None)
    sure, grey = trial.sort_out([first], pilots)
    if sure:
        return first
    sure, more = trial.sort_out(list(finer), pilots)
    # Coarser cells are worth more samples.
    grey = [cells for cells in [*grey, *more] if not sure or cells.count < sure[0].count]
    good, _ = trial.sort_out(grey, MOST_PILOTS)
    return min([*good, *sure], key=lambda cells: cells.count, default=None)


class Trial:
    """Samples drawn row by row, in which metrics are measured as rows and in cells."""

    def __init__(self, plans: list[Plan], draw: Callable[[int], Drawn]) -> None:
        self.plans = plans
        self.draw = draw
        self.rows: list[list[float]] = []

    def sort_out(self, tried: list[CellSampler], pilots: int) -> tuple[list[CellSampler], list[CellSampler]]:
        """The cells that change the metrics by little, and those of which more samples must tell."""
        if not tried:
            return [], []
        values = [self._measured(number, tried) for number in range(pilots)]
        sure, grey = [], []
        for cells, own in zip(tried, np.array(values).swapaxes(0, 1), strict=True):
            shift, noise = changes(np.array(self.rows[:pilots]), own)
            # Errors that are cut off at 0 are often 0, and tell nothing then.
            telling = (np.count_nonzero(self.rows[:pilots], axis=0) >= PILOTS).all()
            if (noise <= SHIFT / 2).all() and telling:
                sure.append(cells)
            elif (noise <= NOISE).all() and pilots < MOST_PILOTS:
                grey.append(cells)
            elif (noise <= NOISE).all() and (shift <= SHIFT).all():
                sure.append(cells)
        return sure, grey

    def _measured(self, number: int, tried: list[CellSampler]) -> list[list[float]]:
        drawn = self.draw(number)
        if number == len(self.rows):
            self.rows.append([drawn.value(*plan) for plan in self.plans])
        (view,) = drawn.views(*self.plans[0])
        assert isinstance(view, View)
        return [[counted.value(*plan) for plan in self.plans] for counted in (cells.counted(view) for cells in tried)]


def _are_all_that_is_read(rule: BinningRule, view: View, plans: list[Plan]) -> bool:
    """Whether the metrics read only sums over cells: so it is for bins made of such cells.

    That shows in a few of the rows and, where these leave most cells empty or with one row, in scores from all over.
    """
    rng = np.random.default_rng(0)
    at = rng.integers(view.n, size=min(view.n, ENOUGH))
    weight = None if view.weight is None else view.weight[at]
    for score in (view.raw_score[at], rng.random(len(at))):
        # Outcomes like chance, for gaps that all have the same sign add up to the same in any bins.
        outcome = (rng.random(len(at)) < score).view(np.uint8)
        rows = View(score, outcome, weight, view.weight_kind, lens=view.lens)
        cells = CellSampler(rows, rule).whole()
        for plan in plans:
            value = one_view(rows).value(*plan)
            if not (value != 0 and abs(cells.value(*plan) - value) <= SAME * abs(value)):
                return False
    return True


def _hide_little(cells: CellSampler) -> bool:
    """Whether scores that are drawn again vary far less inside cells than outcomes do."""
    outcomes = float(np.sum(cells.positives * (1 - cells.positives / cells.rows)))
    return float(cells.rows @ cells.width**2) / 4 <= (SHIFT / 2) ** 2 * outcomes


def changes(rows: Floats, cells: Floats) -> tuple[Floats, Floats]:
    """How far cells move the mean of each metric, and its values, in standard deviations by chance; a line is one sample."""
    known = np.isfinite(rows)
    apart = np.diff(np.sort(rows, axis=0), axis=0) > SAME * np.abs(rows).max(axis=0, initial=0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.where((rows == cells) | np.isnan(rows) & np.isnan(cells), 0.0, cells - rows)
        off = np.where(np.isnan(off), np.inf, off)
        off[np.abs(off) <= SAME * np.abs(np.where(known, rows, 0.0))] = 0.0
        spread = np.ma.masked_invalid(rows).std(axis=0).filled(0.0)
        shift = np.nan_to_num(np.abs(off.mean(axis=0)) / spread, nan=0.0, posinf=np.inf)
        noise = np.nan_to_num(np.sqrt(np.mean(off**2, axis=0)) / spread, nan=0.0, posinf=np.inf)
    # Where samples have equal values, the least change decides whether one is as large as another.
    return shift, np.where(known.all(axis=0) & ~apart.all(axis=0) & (off != 0).all(axis=0), np.inf, noise)

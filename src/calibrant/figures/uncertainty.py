"""Intervals of reliability diagrams: binomial intervals, and resampling of rows or of outcomes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..binning.rules import BinningRule
from ..binning.table import BinTable
from ..errors import UndefinedMetricError
from ..inference.bands import CalibrationBand
from ..inference.replicates import Bounds, Replicates, many, quantile_bounds
from ..util.arrays import Array
from ..util.arrays import Floats as Floats
from ..util.checks import check_whole
from ..util.hashes import content_order
from ..views.view import View

BINOMIAL = ("clopper_pearson", "jeffreys", "wilson")
# Up to this many distinct scores are resampled individually; with more, those of a narrow cell are resampled together.
MOST_SCORES, CELLS = 2000, 1920
# Least number of resamples for a quantile.
FEWEST = 20


class Resampler:
    """Rows of a view in groups of (nearly) equal score and the same bin, which are resampled together.

    ``"bootstrap"`` draws rows with their outcomes. ``"consistency"`` draws rows and then outcomes from their scores, as if those
    were right (Broecker and Smith 2007). Rows with importance weights keep them.
    """

    def __init__(self, view: View, cell: Array | None = None) -> None:
        if view.is_soft:
            raise UndefinedMetricError("uncertainty", "resampled outcomes are not defined for soft labels", "use None")
        ties = view.ties
        few = len(ties.score) <= MOST_SCORES
        place = np.searchsorted(ties.score, view.score) if few else (view.score * CELLS).astype(np.int64)
        key = place if cell is None else cell * (max(MOST_SCORES, CELLS) + 1) + place
        kinds, self._group = np.unique(key, return_inverse=True)
        self._view, self._count = view, len(kinds)
        self.weight = self._sum(view.weights)
        self.events = self._sum(view.weights * view.outcome)
        self.score = np.clip(self._sum(view.weights * view.score) / self.weight, 0, 1)
        self.bin = np.zeros(self._count, np.intp)
        if cell is not None:
            self.bin[self._group] = cell

    def _sum(self, values: Floats) -> Floats:
        return np.bincount(self._group, values, self._count).astype(np.float64)

    def draw(self, how: str, n_resamples: int, rng: Any) -> tuple[Floats, Floats]:
        """Resamples, reproducible by the seed."""
        view, count = self._view, check_whole(n_resamples, "n_resamples", FEWEST)
        single = view.weight_kind == "importance"
        rate = view.outcome if single else np.clip(self.events / self.weight, 0, 1)
        chance = rate if how == "bootstrap" else view.score if single else self.score
        replicates = Replicates(view.n if single else self.weight, count, rng)
        order = content_order(view.score, view.outcome, view.weights) if single else np.arange(len(chance))
        place = np.argsort(order)

        def sums(number: int) -> tuple[Floats, Floats]:
            rows, events = (drawn[place] for drawn in replicates.counts_and_events(number, chance[order]))
            return (self._sum(rows * view.weights), self._sum(events * view.weights)) if single else (rows, events)

        weight, events = zip(*many(sums, count), strict=True)
        return np.array(weight), np.array(events)


def standard_errors(rate: Floats, size: Floats) -> Bounds:
    """A rate plus and minus one standard error, clipped to [0, 1]."""
    error = np.sqrt(np.divide(rate * (1 - rate), size, out=np.full(len(rate), np.nan), where=size > 0))
    return Bounds(np.maximum(rate - error, 0), np.minimum(rate + error, 1))


def bin_bounds(
    view: View, table: BinTable, rule: BinningRule, how: str, level: float, n_resamples: int, rng: Any
) -> Bounds:
    """Intervals of the rates of the bins, except bands."""
    if how in BINOMIAL:
        return Bounds(*table.interval(level, how))
    if how == "standard_error":
        if table.is_soft:
            raise UndefinedMetricError("uncertainty", "standard errors are not defined for soft labels")
        size = table.weight
        if table.weight_kind == "importance":  # the effective number of rows
            size = np.divide(table.weight**2, table.square, out=np.zeros(len(table)), where=table.square > 0)
        return standard_errors(table.rate, size)
    cell, count = rule.cells(view)
    groups = Resampler(view, cell)
    drawn = groups.draw(how, n_resamples, rng)
    starts = np.flatnonzero(np.append(True, np.diff(groups.bin) > 0))
    weight, events = (np.add.reduceat(values, starts, axis=1) for values in drawn)
    rate = np.divide(events, weight, out=np.full(weight.shape, np.nan), where=weight > 0)
    low, high = np.full(count, np.nan), np.full(count, np.nan)
    low[groups.bin[starts]], high[groups.bin[starts]] = quantile_bounds(rate, level)
    return Bounds(low, high)


def band_bounds(band: CalibrationBand, score: Floats) -> Bounds:
    """The band at scores, NaN for NaN."""
    known = ~np.isnan(score)
    low, high = np.full(len(score), np.nan), np.full(len(score), np.nan)
    low[known], high[known] = band.at(score[known])
    return Bounds(low, high)

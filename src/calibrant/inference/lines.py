"""Values of a metric of one score per row on many resamples at once: along the sorted scores, or from tables of their bins.

A resample is one line: the weight of each score, and of its events. The scores are sorted and binned once for all lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import bin_table
from ..binning.rules import EqualMass, Rule, check_bins
from ..binning.searches import Searched, search_together
from ..binning.table import BinTable
from ..input.weights import WeightKind
from ..metrics.forms import Path
from ..metrics.registry import Metric
from ..util.arrays import Array, Floats
from ..util.cached import cached_property
from ..views.view import View
from .cells import CellSampler, shared
from .resampling import Resamples, RowSampler, batches
from .seeds import generators

Indices = NDArray[np.intp]
Tables = Callable[[Floats, Floats], BinTable]
"""The tables of resamples, from the weight of each score and of its events."""

# Entries of lines that are evaluated at a time, and the bytes of all lines up to which metrics share them.
LINE_ENTRIES, SHARED_LINES = 1 << 18, 1 << 24
# With more scores, lines do not fit into the cache, and one resample after the other is faster.
MOST_SCORES = 1 << 15
# Largest product of the numbers of scores and of bins.
MOST_ENTRIES = 1 << 24


@dataclass(frozen=True, eq=False)
class Lines:
    """The resamples on which a metric is evaluated."""

    metric: Metric
    keywords: dict[str, Any]
    """All arguments of the formula."""
    samples: Sequence[Resamples]
    """Resamples of the same scores."""

    @property
    def sampler(self) -> RowSampler | CellSampler:
        """A sampler of the scores."""
        sampler = self.samples[0].sampler
        assert isinstance(sampler, (RowSampler, CellSampler))
        return sampler

    def values(self) -> Floats | None:
        """Values of the metric, NaN where it is undefined; None where it is evaluated on one resample after the other."""
        if self.metric.takes != "View" or len(self.sampler.score) > MOST_SCORES:
            return None
        form = self.metric.form(None, self.keywords)
        if isinstance(form, Path):
            return np.concatenate([form.values(self.score, self._mass(*sums)) for sums in self.sums()])
        tables = self._tables()
        if tables is None:
            return None
        values = [self.metric.values_of_tables(tables(*sums), self.keywords) for sums in self.sums()]
        return np.asarray(self.metric.finished(np.concatenate(values), self.keywords))

    def _tables(self) -> Tables | None:
        """The tables of resamples; None where the metric does not depend on these alone, or bins are neither fixed nor of equal mass."""
        view, rule = self.sampler.view, self.keywords.get("rule")
        if not self.metric.reads_table or view.is_soft or view.weight_kind == "importance":
            return None
        if isinstance(rule, Rule) and rule.is_fixed:
            return self._fixed_tables(rule) if len(bin_table(view, rule)) * view.n <= MOST_ENTRIES else None
        if rule == Searched(EqualMass(), "search"):
            return partial(self._equal_mass_tables, None)
        if isinstance(rule, EqualMass) and rule == EqualMass(rule.bins):
            return partial(self._equal_mass_tables, check_bins(rule.bins))
        return None

    def _mass(self, weight: Floats, events: Floats) -> Floats:
        """The share of each row times score minus outcome."""
        return np.asarray((weight * self.score - events) / weight.sum(axis=1, keepdims=True))

    @cached_property
    def order(self) -> Indices:
        """The scores of the sampler in increasing order."""
        return self.sampler.score.argsort(kind="stable")

    @cached_property
    def score(self) -> Floats:
        """Scores in increasing order."""
        return self.sampler.score[self.order]

    def sums(self) -> Iterator[tuple[Floats, Floats]]:
        """Weight of each score, in one line where outcomes alone are resampled, and of its events, for some resamples at a time."""
        for *weight, events in batches(self.samples, max(1, LINE_ENTRIES // len(self.score)), self._drawn):
            yield weight[0] if weight else self.weight, events.astype(np.float64)

    @cached_property
    def weight(self) -> Floats:
        """Weight of each score in the data."""
        return self.sampler.sums((), "population")[0][:, self.order].astype(np.float64)

    def _drawn(self, sample: Resamples, numbers: range) -> tuple[Array, ...]:
        """The sums of some resamples, which metrics share where they are small."""

        sampler = sample.sampler
        assert isinstance(sampler, (RowSampler, CellSampler))

        def make() -> tuple[Array, ...]:
            weight, events = sampler.sums(generators(sample.seed, numbers), sample.draws)
            events = events[:, self.order]
            return (events,) if sample.draws == "outcomes" else (weight.astype(np.float64)[:, self.order], events)

        key = "lines", sample.sampler, sample.draws, sample.seed, numbers
        size = 16 * sample.size * len(self.score)
        return shared(key, make) if size <= SHARED_LINES else make()

    def _fixed_tables(self, rule: Rule) -> Tables:
        """The tables of resamples: products with the membership of the scores in the bins."""
        view, score = self.sampler.view, self.score
        like = bin_table(view, rule)

        def make() -> Floats:
            cell, _ = rule.cells(View(score, np.zeros(len(score), np.uint8), lens=view.lens, classes=view.classes))
            members = np.zeros((len(score), len(like)))
            members[np.arange(len(score)), cell] = 1
            return members

        members = shared(("members", view, rule), make, 8 * len(score) * len(like))

        def tables(weight: Floats, events: Floats) -> BinTable:
            parts = (weight, events, weight * score, weight * score - events)
            weight, events, score_sum, excess = [part @ members for part in parts]
            weight, score_sum = (np.broadcast_to(part, events.shape) for part in (weight, score_sum))
            return tables_of_sums(like, view.weight_kind, weight, events, score_sum, excess)

        return tables

    def _equal_mass_tables(self, bins: int | None, weight: Floats, events: Floats) -> BinTable:
        """The tables of resamples with so many bins, or as many as a search finds."""
        weight = np.broadcast_to(weight, events.shape)
        lines = SortedLines(self.score, weight, events)
        if bins is None:
            counts = search_together(list(zip(lines.weight, lines.events, strict=True)))
        else:
            counts = np.full(len(weight), bins)
        return lines.tables(counts, self.sampler.view.weight_kind)


def tables_of_sums(
    like: BinTable, kind: WeightKind, weight: Floats, positives: Floats, score_sum: Floats, excess: Floats
) -> BinTable:
    """Tables with the bins of another one, from one line of sums for each."""
    rows, total = weight.astype(np.int64), weight.sum(axis=1)
    return BinTable(like.left, like.right, rows, weight, positives, score_sum, excess, weight, total, kind, like.closed)


class SortedLines:
    """Weight and events up to each distinct score, one line for each resample; bins of equal mass are cut between them."""

    def __init__(self, score: Floats, weight: Floats, events: Floats) -> None:
        starts = np.flatnonzero(np.append(True, score[1:] != score[:-1]))
        if len(starts) < len(score):
            weight, events = (np.add.reduceat(part, starts, axis=1) for part in (weight, events))
        self.score, self.there = score[starts], weight > 0
        self.total = weight.sum(axis=1)
        parts = (weight, events, weight * self.score, weight * self.score - events)
        self.weight, self.events, self.score_sum, self.excess = map(_path, parts)

    def cuts(self, counts: Indices) -> Indices:
        """The first score of each bin, and the number of scores; a bin without rows begins where the next does.

        Lines with fewer bins than others have further ones without rows.
        """
        share = np.minimum(np.arange(1, counts.max()), counts[:, None])
        least = -(-share * self.total[:, None].astype(np.int64) // counts[:, None])
        # The weight before each score, one line after the other in one increasing sequence.
        offset = np.arange(len(self.total))[:, None] * (self.total.max() + 1)
        before = (self.weight[:, :-1] + offset).ravel()
        cuts = np.full((len(self.total), least.shape[1] + 2), len(self.score))
        cuts[:, 0] = 0
        cuts[:, 1:-1] = before.searchsorted(least + offset) - np.arange(len(cuts))[:, None] * len(self.score)
        return cuts

    def tables(self, counts: Indices, kind: WeightKind) -> BinTable:
        """The tables of the lines, with so many bins of equal mass each."""
        cuts = self.cuts(counts)
        last = np.maximum.accumulate(np.where(self.there, np.arange(len(self.score)), 0), axis=1)
        high = self.score[np.take_along_axis(last, np.maximum(cuts[:, 1:] - 1, 0), 1)]
        high[np.take_along_axis(self.weight, cuts[:, 1:], 1) >= self.total[:, None]] = 1.0
        low = np.column_stack([np.zeros(len(high)), high[:, :-1]])
        at = cuts + np.arange(len(cuts))[:, None] * self.weight.shape[1]
        paths = [path.ravel()[at] for path in (self.weight, self.events, self.score_sum, self.excess)]
        weight, events, score_sum, excess = [path[:, 1:] - path[:, :-1] for path in paths]
        rows = weight.astype(np.int64)
        return BinTable(low, high, rows, weight, events, score_sum, excess, weight, self.total, kind)


def _path(values: Floats) -> Floats:
    """Cumulative sums along each line, from 0."""
    path = np.zeros((len(values), values.shape[1] + 1))
    np.cumsum(values, axis=1, out=path[:, 1:])
    return path

"""Values of a metric of one score per row on many resamples at once: along the sorted scores, or from tables of their bins.

A resample is one line: the weight of each score, and of its events. The scores are sorted and binned once for all lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import bin_table
from ..binning.rules import EqualMass, Rule, check_bins
from ..binning.searches import Searched, search_together
from ..binning.table import BinTable
from ..errors import UndefinedMetricError
from ..input.weights import WeightKind
from ..metrics.forms import Path
from ..metrics.registry import Metric
from ..util.cached import cached_property
from ..views.view import View
from .cells import CellSampler, Draws, Same, shared
from .replicates import many
from .resampling import RowSampler
from .seeds import generator

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Entries of lines that are evaluated at a time, and the bytes of all lines up to which metrics share them.
LINE_ENTRIES, SHARED_LINES = 1 << 18, 1 << 24
# With more scores, lines do not fit into the cache, and one resample after the other is faster.
MOST_SCORES = 1 << 12
# Largest product of the numbers of scores and of bins.
MOST_ENTRIES = 1 << 24


@dataclass(frozen=True, eq=False)
class Lines:
    """The resamples on which a metric is evaluated."""

    metric: Metric
    keywords: dict[str, Any]
    """All arguments of the formula."""
    sampler: RowSampler | CellSampler
    draws: Draws
    count: int
    seed: int

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
        values = np.full(self.count, np.nan)
        for number, table in enumerate(tables):
            try:
                value = self.metric.value_of_table(table, self.keywords)
                values[number] = self.metric.combined([value], [], self.keywords)
            except UndefinedMetricError:  # in this resample
                continue
        return values

    def _tables(self) -> list[BinTable] | None:
        """The table of each resample; None where the metric does not depend on it alone, or bins are neither fixed nor of equal mass."""
        view, rule = self.sampler.view, self.keywords.get("rule")
        if not self.metric.reads_table or view.is_soft or view.weight_kind == "importance":
            return None
        if isinstance(rule, Rule) and rule.is_fixed:
            return self._fixed_tables(rule) if len(bin_table(view, rule)) * view.n <= MOST_ENTRIES else None
        if rule == Searched(EqualMass(), "search"):
            return self._equal_mass_tables(None)
        if isinstance(rule, EqualMass) and rule == EqualMass(rule.bins):
            return self._equal_mass_tables(check_bins(rule.bins))
        return None

    def _mass(self, weight: Floats, events: Floats) -> Floats:
        """The share of each row times score minus outcome."""
        return np.asarray((weight * self.score - events) / weight.sum(axis=1, keepdims=True))

    @cached_property
    def order(self) -> Indices:
        """The scores of the sampler in increasing order."""
        return np.argsort(self.sampler.score, kind="stable")

    @cached_property
    def score(self) -> Floats:
        """Scores in increasing order."""
        return self.sampler.score[self.order]

    def sums(self) -> Iterable[tuple[Floats, Floats]]:
        """Weight of each score, and of its events, for some resamples at a time; metrics share them where they are small."""
        size = 16 * self.count * len(self.score)
        if size > SHARED_LINES:
            return self._sums()
        key = "lines", Same(self.sampler), self.draws, self.seed, self.count
        found: list[tuple[Floats, Floats]] = shared(key, lambda: list(self._sums()), size)
        return found

    def _sums(self) -> Iterator[tuple[Floats, Floats]]:
        step = max(1, LINE_ENTRIES // len(self.score))
        for start in range(0, self.count, step):

            def work(place: int, first: int = start) -> tuple[NDArray[Any], NDArray[Any]]:
                return self.sampler.sums(generator(self.seed, first + place), self.draws)

            pairs = many(work, min(step, self.count - start))
            weight, events = (np.array(part, np.float64)[:, self.order] for part in zip(*pairs, strict=True))
            yield weight, events

    def _fixed_tables(self, rule: Rule) -> list[BinTable]:
        """The table of each resample: products with the membership of the scores in the bins."""
        view, score = self.sampler.view, self.score

        def make() -> list[BinTable]:
            like = rule.table(view)
            cell, _ = rule.cells(View(score, np.zeros(len(score), np.uint8), lens=view.lens, classes=view.classes))
            members = np.zeros((len(score), len(like)))
            members[np.arange(len(score)), cell] = 1
            tables = []
            for weight, events in self.sums():
                parts = (weight, events, weight * score, weight * score - events)
                tables += tables_of_sums(like, view.weight_kind, *(part @ members for part in parts))
            return tables

        key = "tables", Same(self.sampler), rule, self.draws, self.seed, self.count
        tables: list[BinTable] = shared(key, make)
        return tables

    def _equal_mass_tables(self, count: int | None) -> list[BinTable]:
        """The table of each resample with so many bins, or as many as a search finds."""
        tables: list[BinTable] = []
        for weight, events in self.sums():
            lines = SortedLines(self.score, weight, events)
            counts = [count] * len(weight)
            if count is None:
                counts = search_together(list(zip(lines.weight, lines.events, strict=True)))
            tables += lines.tables(counts, self.sampler.view.weight_kind)
        return tables


def tables_of_sums(
    like: BinTable, kind: WeightKind, weight: Floats, positives: Floats, score_sum: Floats, excess: Floats
) -> list[BinTable]:
    """Tables with the bins of another one, from one line of sums for each."""
    columns = (weight.astype(np.int64), weight, positives, score_sum, excess, weight.sum(axis=1).tolist())
    return [
        BinTable(like.left, like.right, rows, own, events, scores, gaps, own, total, kind, like.closed)
        for rows, own, events, scores, gaps, total in zip(*columns, strict=True)
    ]


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
        # The weight before each score, one line after the other in one increasing sequence.
        self.offset = np.arange(len(weight)) * (self.total.max() + 1)
        self.before = (self.weight[:, :-1] + self.offset[:, None]).ravel()

    def cuts(self, lines: Indices, count: int) -> Indices:
        """The first score of each bin, and the number of scores, for some lines; a bin without rows begins where the next does."""
        least = -(-np.arange(1, count) * self.total[lines, None].astype(np.int64) // count)
        cuts = np.full((len(lines), count + 1), len(self.score))
        cuts[:, 0] = 0
        cuts[:, 1:-1] = self.before.searchsorted(least + self.offset[lines, None]) - lines[:, None] * len(self.score)
        return cuts

    def tables(self, counts: Sequence[Any], kind: WeightKind) -> list[BinTable]:
        """The table of each line, with so many bins of equal mass; bins without rows are left out."""
        last = np.maximum.accumulate(np.where(self.there, np.arange(len(self.score)), 0), axis=1)
        found: dict[int, BinTable] = {}
        for count in set(counts):
            lines = np.array([line for line, own in enumerate(counts) if own == count])
            cuts = self.cuts(lines, count)
            paths = (self.weight, self.events, self.score_sum, self.excess)
            sums = np.array([_between(path, lines, cuts) for path in paths])
            high = self.score[last[lines[:, None], cuts[:, 1:] - 1]]
            for place, line in enumerate(lines.tolist()):
                full = sums[0, place] > 0
                weight, positives, score_sum, excess = sums[:, place, full]
                ends = np.concatenate([[0.0], high[place, full]])
                ends[-1] = 1.0
                rows, total = weight.astype(np.int64), float(self.total[line])
                found[line] = BinTable(
                    ends[:-1], ends[1:], rows, weight, positives, score_sum, excess, weight, total, kind
                )
        return [found[line] for line in range(len(counts))]


def _path(values: Floats) -> Floats:
    """Cumulative sums along each line, from 0."""
    path = np.zeros((len(values), values.shape[1] + 1))
    np.cumsum(values, axis=1, out=path[:, 1:])
    return path


def _between(path: Floats, lines: Indices, cuts: Indices) -> Floats:
    """The sums between cuts of some lines."""
    return np.diff(path[lines[:, None], cuts], axis=1)

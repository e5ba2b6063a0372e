"""Values of a metric of one score per row on many resamples at once: along the sorted scores, or from tables of their bins.

A resample is one line: the weight of each score, and of its events. The scores are sorted and binned once for all lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import bin_table, has_fixed_bins, parse_binning
from ..binning.rules import EqualMass
from ..binning.searches import search_together
from ..binning.table import BinTable
from ..errors import UndefinedMetricError
from ..input.weights import WeightKind
from ..metrics.registry import Metric
from ..metrics.sum_forms import Path, TableView
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
    """All options of the formula."""
    sampler: RowSampler | CellSampler
    draws: Draws
    count: int
    seed: int
    workers: int | None

    def values(self) -> Floats | None:
        """Values of the metric, NaN where it is undefined; None where it is evaluated on one resample after the other."""
        if self.metric.takes != "View" or len(self.sampler.score) > MOST_SCORES:
            return None
        form = None if self.metric.sum_form is None else self.metric.sum_form(None, **self.keywords)
        if isinstance(form, Path):
            return np.concatenate([form.values(self.score, self._mass(*sums)) for sums in self.sums()])
        if not self._is_of_tables():
            return None
        tables = self._equal_mass_tables() if self.keywords["binning"] == "equal_mass" else self._fixed_tables()
        values = np.full(self.count, np.nan)
        for number, (bins, table) in enumerate(tables):
            try:
                value = float(self.metric.formula(table, **{**self.keywords, "bins": bins}))
                values[number] = self.metric.combined([value], [], self.keywords)
            except UndefinedMetricError:  # in this resample
                continue
        return values

    def _mass(self, weight: Floats, events: Floats) -> Floats:
        """The share of each row times score minus outcome."""
        return np.asarray((weight * self.score - events) / weight.sum(axis=1, keepdims=True))

    def _is_of_tables(self) -> bool:
        """Whether the metric depends on the table of its bins alone, and these are fixed or of equal mass."""
        view, binning, bins = self.sampler.view, self.keywords.get("binning"), self.keywords.get("bins")
        if binning is None or bins is None or self.metric.needs or view.is_soft or view.weight_kind == "importance":
            return False
        equal_mass = isinstance(binning, str) and binning == "equal_mass"
        if not has_fixed_bins(binning, bins) and not (equal_mass and (isinstance(bins, int) or bins == "search")):
            return False
        return reads_table(self.metric, self.keywords, view)

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

            pairs = many(work, min(step, self.count - start), self.workers)
            weight, events = (np.array(part, np.float64)[:, self.order] for part in zip(*pairs, strict=True))
            yield weight, events

    def _fixed_tables(self) -> list[tuple[Any, TableView]]:
        """The bins and the table of each resample: products with the membership of the scores in the bins."""
        view, score = self.sampler.view, self.score
        bins = self.keywords["bins"]
        rule = parse_binning(view, self.keywords["binning"], bins)

        def make() -> list[tuple[Any, TableView]]:
            like = rule.table(view)
            cell, _ = rule.cells(View(score, np.zeros(len(score), np.uint8), lens=view.lens, classes=view.classes))
            members = np.zeros((len(score), len(like)))
            members[np.arange(len(score)), cell] = 1
            tables = []
            for weight, events in self.sums():
                parts = (weight, events, weight * score, weight * score - events)
                tables += tables_of_sums(like, view.weight_kind, *(part @ members for part in parts))
            return [(bins, TableView(rule, table)) for table in tables]

        key = "tables", Same(self.sampler), rule, self.draws, self.seed, self.count
        found: list[tuple[Any, TableView]] = shared(key, make)
        return found

    def _equal_mass_tables(self) -> list[tuple[Any, TableView]]:
        """The number of bins and the table of each resample."""
        bins, view = self.keywords["bins"], self.sampler.view
        found: list[tuple[Any, TableView]] = []
        for weight, events in self.sums():
            lines = SortedLines(self.score, weight, events)
            counts = [bins] * len(weight)
            if bins == "search":
                counts = search_together(list(zip(lines.weight, lines.events, strict=True)))
            rules = {count: parse_binning(view, "equal_mass", count) for count in set(counts)}
            tables = lines.tables(counts, view.weight_kind)
            found += [(count, TableView(rules[count], table)) for count, table in zip(counts, tables, strict=True)]
        return found


def reads_table(metric: Metric, keywords: dict[str, Any], view: View) -> bool:
    """Whether the formula of a metric reads the table of its bins and nothing else of a view."""
    rule = parse_binning(view, keywords["binning"], keywords["bins"])
    table = bin_table(view, keywords["binning"], keywords["bins"])
    if len(table) * view.n > MOST_ENTRIES:
        return False
    bins = rule.bins if isinstance(rule, EqualMass) else keywords["bins"]
    try:
        metric.formula(TableView(rule, table), **{**keywords, "bins": bins})
    except AttributeError:
        return False
    except UndefinedMetricError:  # for these rows
        return True
    return True


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

    def tables(self, counts: list[int], kind: WeightKind) -> list[BinTable]:
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

"""Data-driven numbers of bins (monotonic sweep, bin-count search, cross-validation, T-Cal's dyadic grid) and bins of equal area."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, UndefinedMetricError
from ..util.arrays import Array, Floats
from ..views.view import Prefix, View
from .rules import (
    BinningRule,
    EqualMass,
    EqualWidth,
    Rule,
    cells_by_starts,
    check_bins,
    equal_mass_cuts,
    table_by_groups,
)
from .table import BinTable

# The first tie group of each non-empty bin, for a number of bins.
Cuts = Callable[[Prefix, int], Array]

SEARCHES = ("sweep", "search", "search_pure", "cv", "tcal")
FOLDS, MOST_FOLD_BINS = 10, 40
# Rows of a bin in the bin-count search, at least.
FEWEST_ROWS = 10
# Rates closer than this are treated as equal, since sums of scaled weights differ by rounding.
SAME = 1e-12


def check_search(how: str) -> None:
    """Raise unless `how` names a search for the number of bins."""
    if how not in SEARCHES:
        raise ArgumentError(
            "bins", f"must be an integer of at least 1, edges, 'levels', or one of {', '.join(SEARCHES)}; got {how!r}"
        )


def choose_bins(view: View, rule: Any, how: str) -> int:
    """Choose the number of bins of `rule` (equal width or equal mass) by a named search."""
    check_search(how)
    if isinstance(rule, EqualMass) and rule.keeps_ties:
        cuts: Cuts = equal_mass_cuts
    elif isinstance(rule, EqualWidth) and rule.is_usual:
        cuts = equal_width_cuts
    else:
        raise ArgumentError("bins", f"{how!r} requires equal-width bins on [0, 1] or equal-mass bins; got {rule!r}")
    if how == "sweep":
        return sweep(view, cuts)
    if how == "search":
        return search(view, cuts, practical=True)
    if how == "search_pure":
        return search(view, cuts, practical=False)
    if how == "cv":
        return cross_validated(view, rule)
    return dyadic(view, cuts)


def equal_width_cuts(prefix: Prefix, count: int) -> Array:
    """Return the first tie group of each non-empty right-closed bin of equal width."""
    inner = np.searchsorted(prefix.score, np.arange(1, count) / count, side="right")
    cuts = np.zeros(count, np.intp)
    cuts[1:] = inner
    full = cuts < len(prefix.score)
    full[1:] &= cuts[1:] != cuts[:-1]
    return cuts[full]


def _between(path: Array, cuts: Array) -> Array:
    """Return the sums of bins that begin at these tie groups."""
    at = path[cuts]
    sums = np.empty_like(at)
    np.subtract(at[1:], at[:-1], out=sums[:-1])
    sums[-1] = path[-1] - at[-1]
    return sums


def _rising(prefix: Prefix, cuts: Array) -> bool:
    """Whether the outcome rates of the bins are non-decreasing."""
    rate = _between(prefix.outcome, cuts) / _between(prefix.weight, cuts)
    return bool((rate[1:] - rate[:-1] >= -SAME).all())


def _rows(view: View) -> int:
    return int(view.total) if view.weight_kind != "importance" else view.n


def sweep(view: View, cuts: Cuts) -> int:
    """Return the largest M such that rates are non-decreasing for every number of bins from 2 to M (Roelofs et al.)."""
    prefix = view.prefix
    most = max(1, _rows(view) - 1)
    # Rates that are monotone over tie groups are monotone for any bins made of them.
    if _rising(prefix, np.arange(len(prefix.score))):
        return most
    count = 1
    while count < most and _rising(prefix, cuts(prefix, count + 1)):
        count += 1
    return count


def search(view: View, cuts: Cuts, practical: bool) -> int:
    """Find the number of bins by the bin-count search of Petersen et al., which halves and doubles it."""
    prefix, n = view.prefix, _rows(view)
    if practical and n < FEWEST_ROWS:
        raise UndefinedMetricError("bins", f"the search requires at least 10 rows; got {n}", "give a number of bins")
    least = FEWEST_ROWS if practical else 0
    size = prefix.end if view.weight_kind == "importance" else prefix.weight

    def fits(count: int) -> bool:
        starts = cuts(prefix, count)
        return bool(_between(size, starts).min() >= least) and _rising(prefix, starts)

    most = max(1, min(round(n / 10), len(prefix.score), 100) if practical else round(n / 2))
    return int(_narrow(np.array([most]), 10 if practical else 15, lambda _, count: np.array([fits(int(count[0]))]))[0])


def _narrow(most: Array, first: int, fit: Callable[[Array, Array], Array]) -> Array:
    """Halve and double the numbers of bins of several data sets, from `first`, until one is left of those up to `most` for each.

    `fit` tells of some data sets whether these numbers of bins fit; one bin always does.
    """
    low, high, count = np.ones(len(most), np.int64), most.copy(), np.minimum(first, most)
    while (is_open := (low != high) | (count != high)).any():
        fits = count == 1
        (open_searches,) = (is_open & ~fits).nonzero()
        fits[open_searches] = fit(open_searches, count[open_searches])
        low, high = np.where(is_open & fits, count, low), np.where(is_open & ~fits, count - 1, high)
        middle = np.rint(low + (high - low) / 2).astype(np.int64)
        new = np.where(fits, np.minimum(2 * count, middle), middle)
        count = np.where(is_open, np.minimum(high, np.maximum(low + 1, new)), count)
    return count


def search_together(paths: Sequence[tuple[Array, Array]]) -> Array:
    """Find the numbers of bins of equal mass of several data sets by `search`; 0 for one with fewer than 10 rows.

    A data set is given by the number of rows and of events up to each distinct score, from 0; scores without rows do not count. The numbers
    that the searches try at the same time are tried in one pass over all data sets.
    """
    stacked = _StackedPaths(paths)
    (enough,) = (stacked.total >= FEWEST_ROWS).nonzero()
    most = np.minimum(np.rint(stacked.total / 10).astype(np.int64), np.minimum(stacked.levels, 100))[enough]
    counts = np.zeros(len(paths), np.int64)
    counts[enough] = _narrow(most, 10, lambda some, numbers: stacked.fit(enough[some], numbers))
    return counts


class _StackedPaths:
    """Rows and events up to each distinct score of several data sets, one after the other."""

    def __init__(self, paths: Sequence[tuple[Array, Array]]) -> None:
        weights, outcomes = zip(*paths, strict=True)
        sizes = np.array(list(map(len, weights)))
        starts = sizes.cumsum() - sizes
        weight, self.outcome = np.concatenate(weights), np.concatenate(outcomes)
        self.total = weight[starts + sizes - 1].astype(np.int64)
        # The first place with the weight of a further score.
        new = np.zeros(len(weight), np.bool_)
        new[1:] = weight[1:] != weight[:-1]
        new[starts] = False
        self.levels = np.add.reduceat(new, starts, dtype=np.int64)
        # Scores after the last row are left out.
        self.ends = np.maximum(np.maximum.reduceat(np.arange(len(weight)) * new, starts), starts) + 1
        self.base = (self.total + 1).cumsum() - self.total - 1
        self.weight = weight + self.base.repeat(sizes)

    def fit(self, numbers: Array, counts: Array) -> Array:
        """Whether every bin of equal mass of each of these views has enough rows, and rates do not decrease."""
        candidate = np.arange(len(numbers)).repeat(counts)
        view, count = numbers[candidate], counts[candidate]
        bin_number = np.arange(len(candidate)) - (counts.cumsum() - counts).repeat(counts)
        least = -(-bin_number * self.total[view] // count)
        cuts = self.weight.searchsorted(self.base[view] + least)
        full = cuts < self.ends[view] - 1
        full[1:] &= (cuts[1:] != cuts[:-1]) | (candidate[1:] != candidate[:-1])
        cuts, candidate, view = cuts[full], candidate[full], view[full]
        goes_on = candidate[1:] == candidate[:-1]
        ends = self.ends[view] - 1
        np.copyto(ends[:-1], cuts[1:], where=goes_on)
        size = self.weight[ends] - self.weight[cuts]
        rate = (self.outcome[ends] - self.outcome[cuts]) / size
        fails = size < FEWEST_ROWS
        fails[1:] |= goes_on & ~(rate[1:] - rate[:-1] >= -SAME)
        return np.asarray(np.bincount(candidate, fails, len(numbers)) == 0)


def cross_validated(view: View, rule: Any) -> int:
    """Choose the number of bins whose tilted-roof curve predicts held-out rows best; a fold is every tenth row in order of the score.

    A row with a count represents that many rows, which are assigned to the folds one by one.
    """
    score, outcome, weight = view.sorted_rows
    w = np.ones(view.n, np.int64) if weight is None else weight
    order = np.lexsort((w, outcome, score))
    score, outcome, w = score[order], outcome[order], w[order]
    rows = w if view.weight_kind == "counts" else np.ones(view.n, np.int64)
    last = np.cumsum(rows)
    loss = np.zeros(MOST_FOLD_BINS)
    for fold in range(min(FOLDS, int(last[-1]))):
        inside = (last - 1 - fold) // FOLDS - (last - rows - 1 - fold) // FOLDS
        test = inside if view.weight_kind == "counts" else inside * w
        train = w - test
        kept = train > 0
        if not kept.any():
            continue
        training = View(score[kept], outcome[kept], None if weight is None else train[kept], view.weight_kind)
        for position in range(MOST_FOLD_BINS):
            table = rule.with_bins(position + 1).table(training)
            # The tilted-roof curve: the score minus the gap of its bin, or the score itself in an empty bin.
            place = np.clip(np.searchsorted(table.right, score, side="left"), 0, len(table) - 1)
            loss[position] += math.fsum(test * np.square(score - table.gap[place] - outcome))
    return int(np.argmin(np.round(loss / math.fsum(w), 12))) + 1


def dyadic(view: View, cuts: Cuts) -> int:
    """Choose among 2, 4, 8, ... bins the number with the largest ratio of debiased squared error to its null standard deviation."""
    prefix = view.prefix
    score, outcome, weight = view.sorted_rows
    w = np.ones(view.n) if weight is None else weight.astype(np.float64)
    squared = w if view.weight_kind != "importance" else w**2
    variance = squared * score * (1 - score)
    # Contribution of the pairs of a row with itself; under counts each copy is a row.
    alone = variance**2 if view.weight_kind == "importance" else variance * score * (1 - score)

    def sums(values: Floats) -> Floats:
        return np.append(0.0, np.cumsum(values))[prefix.end]

    squares, spread, spread2 = sums(squared * np.square(score - outcome)), sums(variance), sums(alone)
    best, best_count = -math.inf, 2
    for power in range(1, max(2, math.floor(math.log2(max(view.effective_size, 2))) + 1)):
        starts = cuts(prefix, 2**power)
        ends = np.append(starts[1:], len(prefix.score))
        size = prefix.weight[ends] - prefix.weight[starts]
        excess = prefix.excess[ends] - prefix.excess[starts]
        value = math.fsum((np.square(excess) - (squares[ends] - squares[starts])) / size)
        pairs = np.square(spread[ends] - spread[starts]) - (spread2[ends] - spread2[starts])
        deviation = math.sqrt(max(2 * math.fsum(np.maximum(pairs, 0) / size**2), 0.0))
        if deviation > 0 and value / deviation > best + SAME:
            best, best_count = value / deviation, 2**power
    return best_count


@dataclass(frozen=True)
class Searched(BinningRule):
    """Bins of a rule whose number is chosen from the data by a named search."""

    rule: BinningRule
    how: str

    def with_bins(self, bins: int) -> Searched:
        return self

    def at(self, view: View) -> BinningRule:
        """Return the rule with the number of bins that the search finds for these rows."""
        key = "number", self
        if key not in view.tables:
            view.tables[key] = choose_bins(view, self.rule, self.how)
        return self.rule.with_bins(view.tables[key])

    def table(self, view: View) -> BinTable:
        return self.at(view).table(view)

    def cells(self, view: View) -> tuple[NDArray[np.intp], int]:
        return self.at(view).cells(view)


@dataclass(frozen=True)
class EqualArea(Rule):
    """Bins for which width times weight is about the same, between equal width and equal mass.

    Parameters
    ----------
    bins : int, optional
        Largest number of bins; by default the number that the metric is called with.
    min_rows : int, optional
        Bins with fewer rows are merged: from the left, such a bin joins the next one, and the last one joins the one before.

    See Also
    --------
    EqualWidth : Bins of equal width.
    EqualMass : Bins of equal weight.

    Examples
    --------
    >>> import calibrant as cal
    >>> y_true, y_prob = [0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]
    >>> round(cal.ece(y_true, y_prob, binning=cal.EqualArea(2)), 4)
    0.15
    """

    bins: int | None = None

    def _table(self, view: View) -> BinTable:
        cuts, edges = self._cuts(view)
        table = table_by_groups(view, cuts)
        return BinTable(**{**table.__dict__, "left": edges[:-1], "right": edges[1:]})

    def _cells(self, view: View) -> tuple[NDArray[np.intp], int]:
        cuts, _ = self._cuts(view)
        return cells_by_starts(view, view.prefix.end[cuts])

    def _cuts(self, view: View) -> tuple[Array, Floats]:
        """Return the first tie group of each bin, and the edges, midway between neighbouring scores."""
        most, prefix = check_bins(self.bins), view.prefix
        edges = np.append((prefix.score[:-1] + prefix.score[1:]) / 2, 1.0)
        # Of lists, single numbers are read faster.
        between, share = edges.tolist(), (prefix.weight / prefix.weight[-1]).tolist()
        groups = len(between)

        def close(area: float) -> list[int]:
            """Close a bin as soon as its width times share reaches `area`; the last ends at 1. Stop beyond `most` bins."""
            ends: list[int] = []
            start, reached, least = 0, 0.0, area * (1 - SAME)
            while start < groups and len(ends) <= most:
                low, high, before = start, groups - 1, share[start]
                while low < high:
                    middle = (low + high) // 2
                    if (between[middle] - reached) * (share[middle + 1] - before) >= least:
                        high = middle
                    else:
                        low = middle + 1
                ends.append(low + 1)
                start, reached = low + 1, between[low]
            return ends

        low, high = 0.0, 1.0
        ends = close(high)
        for _ in range(60):
            if high - low <= SAME * high:  # any closer, rounding would decide between equal areas
                break
            middle = (low + high) / 2
            wider = close(middle)
            if len(wider) <= most:
                high, ends = middle, wider
            else:
                low = middle
        cuts = np.append(0, ends[:-1]).astype(np.intp)
        return cuts, np.append(0.0, edges[np.asarray(ends) - 1])

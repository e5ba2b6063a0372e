"""Resampling of rows counted in cells of nearly equal score, and the choice of how narrow the cells must be.

Cells that are too wide give wrong results silently: bins of equal mass cannot be cut within a cell, nor neighbours found. Unless a metric
depends on the sums over cells only, a few pilot samples are therefore evaluated both row by row and in cells, and only cells that agree are
used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from copy import copy
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..binning.rules import BinningRule, Edges, EqualWidth, Rule, edge_values, equal_mass_cuts
from ..errors import UndefinedMetricError
from ..input.predictions import Predictions
from ..metrics.registry import Metric
from ..util.cached import cached_property
from ..views.lenses import AnyView, value_options
from ..views.view import View
from .replicates import draw_events
from .seeds import generator

Array = NDArray[Any]
Floats = NDArray[np.float64]
Generator = np.random.Generator
T = TypeVar("T")
Plan = tuple[Metric, dict[str, Any]]
Draws = Literal["outcomes", "scores", "rows", "population", "copies"]
"""What is resampled: outcomes given the scores, scores and outcomes, or rows.

Or the probabilities of the outcomes, as soft labels or as shares of `MANY_COPIES` of each row, which are not resampled.
"""

# Number of cells for binned metrics, for other metrics, and the maximum.
BIN_CELLS, FINE_CELLS, MOST_CELLS = 300, 1920, 9600
# Number of pilot samples: a few first, more if these are inconclusive.
PILOTS, MOST_PILOTS = 3, 10
# Number of rows on which the dependence on sums alone is checked.
ENOUGH = 20_000
# Beyond this many rows a pilot sample takes longer than finer cells.
MANY = 1_000_000
# Rows among which distinct scores are counted before all rows are sorted.
GLANCE = 2000
# Memory for resamples that several metrics share, and the approximate size of a row with what a view keeps. Resamples of which 200 do not
# fit have a share of their own, so that they do not displace small ones.
SHARED_BYTES, ROW_BYTES = 128 << 20, 64
LARGE_BYTES = SHARED_BYTES // 200
# Copies of each row, of which debiased errors have the value of the population.
MANY_COPIES = 1_000_000
# Tolerated bias and noise due to cells, in sampling standard deviations; differences below SAME are rounding errors.
SHIFT, NOISE, SAME = 0.075, 0.2, 1e-9


class Shared:
    """What several metrics need of the same resamples, as far as it fits into memory."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}
        self.room = {False: SHARED_BYTES, True: SHARED_BYTES}

    def get(self, key: Any, make: Callable[[], T], size: int = 0) -> T:
        """What `make` returns, which is kept under a key if its size in bytes leaves room; see `Same` for objects in a key."""
        try:
            is_known = key in self.known
        except TypeError:  # an option such as a list, which has no hash
            return make()
        if not is_known:
            value = make()
            if not self.has_room(size):
                return value
            self.known[key] = value
        kept: T = self.known[key]
        return kept

    def has_room(self, size: int) -> bool:
        """Whether something of this size in bytes can be kept, which takes the room."""
        large = size > LARGE_BYTES
        if size > self.room[large]:
            return False
        self.room[large] -= size
        return True


_shared: ContextVar[Shared | None] = ContextVar("shared", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """Let the metrics that are resampled inside share samplers and resamples; the values are the same."""
    token = _shared.set(Shared())
    try:
        yield
    finally:
        _shared.reset(token)


def sharing_anyway() -> AbstractContextManager[None]:
    """As `sharing`, but with those outside, if these share."""
    return sharing() if _shared.get() is None else nullcontext()


def shared(key: Any, make: Callable[[], T], size: int = 0) -> T:
    """What `make` returns, or did return for the same key."""
    store = _shared.get()
    return make() if store is None else store.get(key, make, size)


def shared_numbers(key: Any, make: Callable[[int], Any], size: int) -> Callable[[int], Any]:
    """What `make` returns for each number, or did return for the same key; each of this size in bytes."""
    store = _shared.get()
    if store is None:
        return make
    known = store.get(key, dict[int, Any])

    def get(number: int) -> Any:
        found = known.get(number)
        if found is None:
            found = make(number)
            if store.has_room(size):
                known[number] = found
        return found

    return get


class Same:
    """An object as part of a key, which stays alive with it."""

    def __init__(self, one: Any) -> None:
        self.one = one

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.one is self.one

    def __hash__(self) -> int:
        return id(self.one)


class Drawn:
    """One resample: the views that a metric evaluates."""

    def __init__(self, views: Callable[[Metric, dict[str, Any]], list[AnyView]]) -> None:
        self.views = views

    def value(self, metric: Metric, keywords: dict[str, Any]) -> float:
        """The metric of this resample; NaN where it is undefined."""
        return value_of_resample(metric, keywords)(self)


def value_of_resample(metric: Metric, keywords: dict[str, Any]) -> Callable[[Drawn], float]:
    """The metric as a function of a resample; NaN where it is undefined."""
    formula = metric.with_options(**value_options(keywords))

    def value(drawn: Drawn) -> float:
        try:
            return formula(drawn.views(metric, keywords))
        except UndefinedMetricError:
            return np.nan

    return value


def one_view(view: AnyView) -> Drawn:
    """A resample that every metric evaluates in the same view."""
    return Drawn(lambda metric, keywords: [view])


def options_of_copies(options: dict[str, Any]) -> dict[str, Any]:
    """The options for `MANY_COPIES` of each row: the least number of rows of a bin grows with them."""
    rule = options.get("binning")
    if isinstance(rule, Rule) and rule.min_rows is not None:
        return {**options, "binning": replace(rule, min_rows=rule.min_rows * MANY_COPIES)}
    return options


def has_limit(metric: Metric) -> bool:
    """Whether the value has a limit for many rows, as debiased errors do and test statistics do not."""
    return metric.counts and math.isfinite(metric.range[1])


class LabelSampler:
    """Base of samplers: labels are simulated from `chance`, the predicted probabilities unless others are stated."""

    chance: Array

    def with_chance(self, chance: Array) -> Self:
        """The same rows with labels that are simulated from other probabilities."""
        other = copy(self)
        for known in ("paths", "population"):
            other.__dict__.pop(known, None)
        other.chance = chance
        return other

    def population_value(self, metric: Metric, options: dict[str, Any]) -> float:
        """The value of a metric for the probabilities of the labels; NaN where it has none, or depends on the number of rows."""
        if metric.soft:
            return self.population.value(metric, options)
        copies = self._copies() if has_limit(metric) else None
        return math.nan if copies is None else copies.value(metric, options_of_copies(options))

    @cached_property
    def population(self) -> Drawn:
        """The rows with soft labels, the probabilities of their outcomes."""
        raise NotImplementedError

    def _copies(self) -> Drawn | None:
        """`MANY_COPIES` of each row, whose outcomes have the shares of their probabilities; None where rows are not counted."""
        return None


class CellSampler(LabelSampler):
    """Counts in cells, each represented by its mean score."""

    note = ""
    unit = "as counts per cell"
    rule: BinningRule

    def __init__(self, view: View, rule: BinningRule) -> None:
        self.rule = rule
        sums = _sums(rule, view)
        self.full = sums.weight > 0
        self.lens, self.classes = view.lens, view.classes
        self.rows, self.positives = _whole(sums.weight[self.full]), _whole(sums.positives[self.full])
        low, high = sums.low[self.full], sums.high[self.full]
        self.width = high - low
        mean = sums.score[self.full] / sums.weight[self.full]
        # Floating-point rounding must not move a mean across an edge or above 1.
        self.score = np.clip(mean, np.where(low > 0, np.nextafter(low, 1), 0.0), high)
        self.count = len(self.rows)
        self.total = int(self.rows.sum())
        self.chance = self.score

    @cached_property
    def population(self) -> Drawn:
        """The scores with soft labels, the probabilities of their outcomes."""
        return one_view(View(self.score, self.chance, self.rows, "counts", lens=self.lens, classes=self.classes))

    def _copies(self) -> Drawn:
        return self._drawn(*self.sums(generator(0, 0), "copies"))

    @cached_property
    def distinct_view(self) -> View:
        """Each score once, with the number of its rows; the outcomes are not those of the data."""
        nothing = np.zeros(self.count, np.uint8)
        return View(self.score, nothing, self.rows, "counts", lens=self.lens, classes=self.classes)

    @cached_property
    def shares(self) -> Floats:
        """Fraction of the rows in each cell with outcome 0, then with outcome 1."""
        return np.concatenate([self.rows - self.positives, self.positives]) / self.total

    @property
    def bytes(self) -> int:
        """Approximate memory of a resample."""
        return 2 * ROW_BYTES * self.count

    @cached_property
    def view(self) -> View:
        """The original data in these cells."""
        return counted_view(self.score, self.rows, self.positives, self.lens, classes=self.classes)

    def whole(self) -> Drawn:
        """The original data."""
        return self._drawn(self.rows, self.positives)

    def counted(self, view: View) -> Drawn:
        """The rows of a view, counted in these cells."""
        if isinstance(self.rule, Edges) and view.needs_no_sort:
            sums = _sums(self.rule, view)
            rows, positives = sums.weight, sums.positives
        else:  # sums of the scores are not needed
            cell, count = self.rule.cells(view)
            rows = np.bincount(cell, view.weight, count)
            positives = np.bincount(cell, view.outcome if view.weight is None else view.weight * view.outcome, count)
        return self._drawn(_whole(rows[self.full]), _whole(positives[self.full]))

    def sums(self, rng: Generator, draws: Draws) -> tuple[Array, Array]:
        """Number of rows and of events in each cell of a resample."""
        if draws == "rows":
            counts = rng.multinomial(self.total, self.shares)
            return counts[: self.count] + counts[self.count :], counts[self.count :]
        if draws == "population":
            return self.rows, self.rows * self.chance
        if draws == "copies":
            return self.rows * MANY_COPIES, _whole(self.rows * MANY_COPIES * self.chance)
        rows = self.rows if draws == "outcomes" else rng.multinomial(self.total, self.rows / self.total)
        return rows, draw_events(self.chance, rng, rows)

    def resample(self, rng: Generator, draws: Draws) -> Drawn:
        """Draw counts of rows and of events."""
        return self._drawn(*self.sums(rng, draws))

    def _drawn(self, rows: Array, positives: Array) -> Drawn:
        return one_view(counted_view(self.score, rows, positives, self.lens, classes=self.classes))


def cells_of(view: View, rule: BinningRule) -> CellSampler:
    """The cells of a view, shared between metrics."""
    return shared(("cells", Same(view), rule), lambda: CellSampler(view, rule))


class DistinctSampler(CellSampler):
    """Counts per distinct score: the same distribution as row by row, at the cost of one binomial variate per score."""

    unit = "as counts per distinct score"

    def __init__(self, view: View) -> None:
        prefix = view.prefix
        self.lens, self.classes = view.lens, view.classes
        self.score = prefix.score
        self.rows, self.positives = _whole(np.diff(prefix.weight)), _whole(np.diff(prefix.outcome))
        self.count, self.total = len(self.rows), int(self.rows.sum())
        self.chance = self.score


def has_few_scores(view: View) -> bool:
    """Whether there are at most half as many distinct scores as rows."""
    some = np.sort(view.raw_score[:: -(-view.n // GLANCE)])
    # Continuous scores are recognised by a few rows; sorting all of them may take longer than the test.
    if view.weight_kind != "counts" and (some[1:] != some[:-1]).all():
        return False
    return 2 * len(view.prefix.score) <= (view.total if view.weight_kind == "counts" else view.n)


class Sums(NamedTuple):
    """Sums over each cell."""

    low: Floats
    high: Floats
    weight: Array
    positives: Array
    score: Array


def _sums(rule: BinningRule, view: View) -> Sums:
    if not (isinstance(rule, Edges) and view.needs_no_sort):
        table = rule.table(view)
        return Sums(table.left, table.right, table.weight, table.positives, table.score_sum)
    # The rows are sorted already: looking up the edges is faster.
    edges, prefix = np.asarray(rule.edges), view.prefix
    inside = np.searchsorted(prefix.score, edges[1:-1], side="right")
    place = np.concatenate([[0], inside, [len(prefix.score)]])
    return Sums(
        edges[:-1], edges[1:], *(np.diff(part[place]) for part in (prefix.weight, prefix.outcome, prefix.total))
    )


def _whole(values: Array) -> Array:
    return np.rint(values).astype(np.int64)


def counted_view(
    score: Array, rows: Array, positives: Array, lens: str, extra: Predictions | None = None, classes: int | None = None
) -> View:
    """Each score once with outcome 0 and once with 1, weighted by the number of rows; scores must increase."""
    counts = np.empty(2 * len(rows), rows.dtype)
    counts[1::2] = positives
    np.subtract(rows, positives, out=counts[::2])
    kept = np.flatnonzero(counts)
    view = View(
        score[kept >> 1], (kept & 1).astype(np.uint8), counts[kept], "counts", rows=extra, lens=lens, classes=classes
    )
    # Already sorted.
    view.__dict__.update(order=np.arange(len(kept)), sorted_rows=(view.score, view.outcome, view.weight))
    return view


def first_cells(plans: list[Plan]) -> int:
    """The smallest number of cells that is tried."""
    return BIN_CELLS if all(metric.info.family == "bin" for metric, _ in plans) else FINE_CELLS


def grids(view: View, plans: list[Plan]) -> Iterator[BinningRule]:
    """Divisions of the scores into cells, from coarse to fine; all refine the requested bins of equal width."""
    first = first_cells(plans)
    numbers, given = _asked_bins(plans)
    step = math.lcm(*numbers) if math.lcm(*numbers) <= first else 1
    width = step * -(-first // step)
    edges = np.union1d(np.arange(width + 1) / width, given)
    yield Edges(tuple(edges.tolist())) if len(given) else EqualWidth(width)
    for least in sorted({first, FINE_CELLS, MOST_CELLS}):
        # Scores may be concentrated: further cells are cut by rank as well.
        cuts = equal_mass_cuts(view.prefix, step * -(-least // step))
        ends = view.prefix.score[cuts[1:] - 1]
        yield Edges(tuple(np.union1d(edges, ends[(ends > 0) & (ends < 1)]).tolist()))


def _asked_bins(plans: list[Plan]) -> tuple[list[int], Floats]:
    """The requested numbers of bins and edges."""
    numbers, edges = [1], np.zeros(0)
    for metric, options in plans:
        for arguments in metric.averaged(metric.arguments(options)):
            rule = arguments.get("rule", arguments.get("bins"))
            bins = rule.edges if isinstance(rule, Edges) else getattr(rule, "bins", rule)
            if isinstance(bins, (int, np.integer)):
                numbers.append(max(1, int(bins)))
            elif isinstance(bins, (Sequence, np.ndarray)):
                edges = np.union1d(edges, edge_values(bins))
    return numbers, edges


def accurate_cells(view: View, plans: list[Plan], draw: Callable[[int], Drawn], draws: Draws) -> CellSampler | None:
    """The coarsest cells in which all metrics agree with their values on rows; None if there are none.

    `draw` gives resample number b row by row, and `draws` states what is resampled.
    """
    rules = grids(view, plans)
    rule = next(rules)
    first = cells_of(view, rule)
    if (draws == "outcomes" or _are_narrow(first)) and _are_sufficient(rule, view, plans):
        return first
    trial = Trial(plans, draw)
    finer = (cells for cells in (cells_of(view, rule) for rule in rules) if 2 * cells.count < view.n)
    if view.n > MANY:  # few pilots: the coarsest accepted cells, else the finest undecided ones
        tried = [first, *finer]
        sure, grey = trial.sort_out(tried, PILOTS)
        found = [*sure, *reversed(grey)] or trial.sort_out(tried[-1:], MOST_PILOTS)[0]
        return next(iter(found), None)
    sure, grey = trial.sort_out([first], PILOTS)
    if sure:
        return first
    sure, more = trial.sort_out(list(finer), PILOTS)
    # Coarser cells justify more pilot samples.
    grey = [cells for cells in [*grey, *more] if not sure or cells.count < sure[0].count]
    good, _ = trial.sort_out(grey, MOST_PILOTS)
    return min([*good, *sure], key=lambda cells: cells.count, default=None)


class Trial:
    """Pilot samples in which metrics are evaluated row by row and in cells."""

    def __init__(self, plans: list[Plan], draw: Callable[[int], Drawn]) -> None:
        self.plans = plans
        self.draw = draw
        self.samples: list[Drawn] = []
        self.rows: list[list[float]] = []
        self.known: dict[tuple[CellSampler, int], list[float]] = {}

    def sort_out(self, tried: list[CellSampler], pilots: int) -> tuple[list[CellSampler], list[CellSampler]]:
        """The cells that change the metrics little, and those that require more pilot samples."""
        if not tried:
            return [], []
        values = [self._measured(number, tried) for number in range(pilots)]
        sure, grey = [], []
        for cells, own in zip(tried, np.array(values).swapaxes(0, 1), strict=True):
            shift, noise = changes(np.array(self.rows[:pilots]), own)
            # Errors truncated at 0 are often 0, which is not informative.
            telling = (np.count_nonzero(self.rows[:pilots], axis=0) >= PILOTS).all()
            if (noise <= SHIFT / 2).all() and telling:
                sure.append(cells)
            elif (noise <= NOISE).all() and pilots < MOST_PILOTS:
                grey.append(cells)
            elif (noise <= NOISE).all() and (shift <= SHIFT).all():
                sure.append(cells)
        return sure, grey

    def _measured(self, number: int, tried: list[CellSampler]) -> list[list[float]]:
        if number == len(self.rows):
            self.samples.append(self.draw(number))
            self.rows.append([self.samples[number].value(*plan) for plan in self.plans])
        (view,) = self.samples[number].views(*self.plans[0])
        assert isinstance(view, View)
        rows: View = view

        def counted(cells: CellSampler) -> Drawn:
            key = "counted", Same(cells), Same(rows)
            return shared(key, lambda: cells.counted(rows), ROW_BYTES * cells.count)

        for cells in tried:
            if (cells, number) not in self.known:
                self.known[cells, number] = [counted(cells).value(*plan) for plan in self.plans]
        return [self.known[cells, number] for cells in tried]


def _are_sufficient(rule: BinningRule, view: View, plans: list[Plan]) -> bool:
    """Whether the metrics depend on sums over cells only, as for bins that are unions of cells.

    This is checked on a subsample of the rows and, since these may leave most cells empty or with one row, on uniform scores.
    """
    size = 4 * ROW_BYTES * min(view.n, ENOUGH)
    for rows, cells in shared(("sufficient", Same(view), rule), lambda: _trial_rows(rule, view), size):
        for plan in plans:
            value = one_view(rows).value(*plan)
            if not (value != 0 and abs(cells.value(*plan) - value) <= SAME * abs(value)):
                return False
    return True


def _trial_rows(rule: BinningRule, view: View) -> list[tuple[View, Drawn]]:
    rng = np.random.default_rng(0)
    at = rng.integers(view.n, size=min(view.n, ENOUGH))
    weight = None if view.weight is None else view.weight[at]
    found = []
    for score in (view.raw_score[at], rng.random(len(at))):
        # Random outcomes, because residuals of equal sign add up to the same value in any bins.
        outcome = (rng.random(len(at)) < score).view(np.uint8)
        rows = View(score, outcome, weight, view.weight_kind, lens=view.lens, classes=view.classes)
        found.append((rows, CellSampler(rows, rule).whole()))
    return found


def _are_narrow(cells: CellSampler) -> bool:
    """Whether resampled scores vary far less within cells than outcomes do."""
    outcomes = float(np.sum(cells.positives * (1 - cells.positives / cells.rows)))
    return float(cells.rows @ cells.width**2) / 4 <= (SHIFT / 2) ** 2 * outcomes


def changes(rows: Floats, cells: Floats) -> tuple[Floats, Floats]:
    """Bias and root mean square difference due to cells, in sampling standard deviations of each metric; one line per sample."""
    known = np.isfinite(rows)
    apart = np.diff(np.sort(rows, axis=0), axis=0) > SAME * np.abs(rows).max(axis=0, initial=0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.where((rows == cells) | np.isnan(rows) & np.isnan(cells), 0.0, cells - rows)
        off = np.where(np.isnan(off), np.inf, off)
        off[np.abs(off) <= SAME * np.abs(np.where(known, rows, 0.0))] = 0.0
        count = known.sum(axis=0)
        mean = np.where(known, rows, 0.0).sum(axis=0) / count
        spread = np.nan_to_num(np.sqrt(np.where(known, (rows - mean) ** 2, 0.0).sum(axis=0) / count))
        shift = np.nan_to_num(np.abs(off.mean(axis=0)) / spread, nan=0.0, posinf=np.inf)
        noise = np.nan_to_num(np.sqrt(np.mean(off**2, axis=0)) / spread, nan=0.0, posinf=np.inf)
    # For tied values any change affects their order.
    return shift, np.where(known.all(axis=0) & ~apart.all(axis=0) & (off != 0).all(axis=0), np.inf, noise)

"""Resampling of rows counted in cells of nearly equal score, and what the metrics of one call share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Literal, Self, TypeVar

import numpy as np

from ..binning.rules import BinningRule, Rule
from ..errors import UndefinedMetricError
from ..metrics.registry import Metric
from ..util.arrays import Array, Floats
from ..util.cached import cached_property
from ..views.lenses import AnyView, value_options
from ..views.view import View
from .seeds import generator

Generator = np.random.Generator
T = TypeVar("T")
Plan = tuple[Metric, dict[str, Any]]
Draws = Literal["outcomes", "scores", "rows", "population", "copies"]
"""What is resampled: outcomes given the scores, scores and outcomes, or rows.

Or the probabilities of the outcomes, as soft labels or as shares of `MANY_COPIES` of each row, which are not resampled.
"""

# Number of cells for binned metrics and for other metrics.
BIN_CELLS, FINE_CELLS = 300, 1920
# Rows among which distinct scores are counted before all rows are sorted.
GLANCE = 2000
# Memory for resamples that several metrics share, and the approximate size of a row with what a view keeps. Resamples of which 200 do not
# fit have a share of their own, so that they do not displace small ones.
SHARED_BYTES, ROW_BYTES = 128 << 20, 64
LARGE_BYTES = SHARED_BYTES // 200
# Copies of each row, of which debiased errors have the value of the population.
MANY_COPIES = 1_000_000


class Shared:
    """What several metrics need of the same resamples, as far as it fits into memory."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}
        self.room = {False: SHARED_BYTES, True: SHARED_BYTES}

    def get(self, key: Any, make: Callable[[], T], size: int = 0) -> T:
        """What `make` returns, which is kept under a key if its size in bytes leaves room. Samplers, views and predictions are keys as such."""
        try:
            is_known = key in self.known
        except TypeError:  # an option such as a list, which has no hash
            return make()
        if not is_known:
            value, large = make(), size > LARGE_BYTES
            if size > self.room[large]:
                return value
            self.room[large] -= size
            self.known[key] = value
        kept: T = self.known[key]
        return kept


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
    return lambda number: shared((key, number), lambda: make(number), size)


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
    is_counted = True
    """Whether a resample may consist of copies of rows."""

    def with_chance(self, chance: Array) -> Self:
        """The same rows with labels that are simulated from other probabilities."""
        other = object.__new__(type(self))
        known = {"paths", "population"}
        vars(other).update({name: value for name, value in vars(self).items() if name not in known}, chance=chance)
        return other

    def population_value(self, metric: Metric, options: dict[str, Any]) -> float:
        """The value of a metric for the probabilities of the labels; NaN where it has none, or depends on the number of rows."""
        if metric.soft:
            return self.population.value(metric, options)
        if not (self.is_counted and has_limit(metric)):
            return math.nan
        return self.resample(generator(0, 0), "copies").value(metric, options_of_copies(options))

    def resample(self, rng: Generator, draws: Draws) -> Drawn:
        """Draw one resample, or take `MANY_COPIES` of each row, whose outcomes have the shares of their probabilities."""
        raise NotImplementedError

    @cached_property
    def population(self) -> Drawn:
        """The rows with soft labels, the probabilities of their outcomes."""
        raise NotImplementedError


class CellSampler(LabelSampler):
    """Counts in cells, each represented by its mean score."""

    note = ""
    unit = "as counts per cell"
    rule: BinningRule

    def __init__(self, view: View, rule: BinningRule) -> None:
        self.rule = rule
        table = rule.table(view)
        full = table.weight > 0
        self.lens, self.classes = view.lens, view.classes
        self.rows, self.positives = whole(table.weight[full]), whole(table.positives[full])
        low, high = table.left[full], table.right[full]
        self.width = high - low
        mean = table.score_sum[full] / table.weight[full]
        # Floating-point rounding must not move a mean across an edge or above 1.
        self.score = np.clip(mean, np.where(low > 0, np.nextafter(low, 1), 0.0), high)
        self.count = len(self.rows)
        self.total = int(self.rows.sum())
        self.chance = self.score

    @cached_property
    def population(self) -> Drawn:
        """The scores with soft labels, the probabilities of their outcomes."""
        return one_view(View(self.score, self.chance, self.rows, "counts", lens=self.lens, classes=self.classes))

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
        return counted_view(self.score, self.rows, self.positives, self.lens, self.classes)

    def whole(self) -> Drawn:
        """The original data."""
        return self._drawn(self.rows, self.positives)

    def sums(self, rngs: Iterable[Generator], draws: Draws) -> tuple[Array, Array]:
        """Number of rows and of events in each cell, one line for each resample; one line for all if rows are not resampled."""
        if draws == "outcomes":
            return self.rows[None], np.array([rng.binomial(self.rows, self.chance) for rng in rngs])
        if draws == "rows":
            counts = np.array([rng.multinomial(self.total, self.shares) for rng in rngs])
            return counts[:, : self.count] + counts[:, self.count :], counts[:, self.count :]
        if draws == "scores":
            share = self.rows / self.total
            pairs = [(rows := rng.multinomial(self.total, share), rng.binomial(rows, self.chance)) for rng in rngs]
            return np.array(pairs)[:, 0], np.array(pairs)[:, 1]
        if draws == "population":
            return self.rows[None], (self.rows * self.chance)[None]
        return self.rows[None] * MANY_COPIES, whole(self.rows * MANY_COPIES * self.chance)[None]

    def resample(self, rng: Generator, draws: Draws) -> Drawn:
        """Draw counts of rows and of events."""
        (rows,), (positives,) = self.sums([rng], draws)
        return self._drawn(rows, positives)

    def _drawn(self, rows: Array, positives: Array) -> Drawn:
        return one_view(counted_view(self.score, rows, positives, self.lens, self.classes))


def cells_of(view: View, rule: BinningRule) -> CellSampler:
    """The cells of a view, shared between metrics."""
    return shared(("cells", view, rule), lambda: CellSampler(view, rule))


class DistinctSampler(CellSampler):
    """Counts per distinct score: the same distribution as row by row, at the cost of one binomial variate per score."""

    unit = "as counts per distinct score"

    def __init__(self, view: View) -> None:
        prefix = view.prefix
        self.lens, self.classes = view.lens, view.classes
        self.score = prefix.score
        self.rows, self.positives = whole(np.diff(prefix.weight)), whole(np.diff(prefix.outcome))
        self.count, self.total = len(self.rows), int(self.rows.sum())
        self.chance = self.score


def has_few_scores(view: View) -> bool:
    """Whether there are at most half as many distinct scores as rows."""
    some = np.sort(view.raw_score[:: -(-view.n // GLANCE)])
    # Continuous scores are recognised by a few rows; sorting all of them may take longer than the test.
    if view.weight_kind != "counts" and (some[1:] != some[:-1]).all():
        return False
    return 2 * len(view.prefix.score) <= (view.total if view.weight_kind == "counts" else view.n)


def whole(values: Array) -> Array:
    """Sums of counts, rounded to integers."""
    return np.rint(values).astype(np.int64)


def counted_view(score: Array, rows: Array, positives: Array, lens: str, classes: int | None) -> View:
    """Each score once with outcome 0 and once with 1, weighted by the number of rows; scores must increase."""
    counts = np.empty(2 * len(rows), rows.dtype)
    counts[1::2] = positives
    np.subtract(rows, positives, out=counts[::2])
    kept = np.flatnonzero(counts)
    outcome = (kept & 1).astype(np.uint8)
    view = View(score[kept >> 1], outcome, counts[kept], "counts", lens=lens, classes=classes)
    # Already sorted.
    view.__dict__.update(order=np.arange(len(kept)), sorted_rows=(view.score, view.outcome, view.weight))
    return view


def first_cells(plans: list[Plan]) -> int:
    """The smallest number of cells that is tried."""
    return BIN_CELLS if all(metric.info.family == "bin" for metric, _ in plans) else FINE_CELLS

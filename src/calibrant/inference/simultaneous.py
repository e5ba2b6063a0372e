"""Values of a metric on all resamples at once, where sums over rows are linear in how often a row is drawn, or in its label.

A metric states its sums (`metrics.forms`). What depends on the predictions alone, such as the bin of a row or the loss of each label, is
computed once and not for each resample. The resamples are the same as one by one, and the values equal up to the order of additions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import bin_table
from ..binning.rules import Rule
from ..binning.table import BinTable
from ..errors import UndefinedMetricError
from ..input.predictions import Predictions
from ..metrics.forms import Binned, Linear, Sums
from ..metrics.kernel.embeddings import skce_uq
from ..metrics.registry import Metric
from ..util.arrays import Floats
from ..util.cached import cached_property
from ..util.sums import accurate_sum
from ..views.lenses import AnyView, combination
from ..views.view import VectorView, View
from .cells import CellSampler, Draws, Plan, has_limit, options_of_copies, shared
from .lines import Lines, tables_of_sums
from .pair_resampling import skce_draws, with_width_of_data
from .replicates import many
from .resampling import (
    PredictionSampler,
    Resamples,
    RowSampler,
    Sampler,
    label_lines,
    multiplicities,
    values_on_resamples,
    view_keywords,
    views_of_metric,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Places = NDArray[np.intp]

# Entries of the multiplicities held at a time, and of the values of rows; with more, resamples are evaluated one by one.
COUNT_ENTRIES = 1 << 22
MOST_ENTRIES = 1 << 24
# Bytes that the bins of all classes take for each score.
BYTES_OF_CLASS_BINS = 64
# A loss is computed for each class once instead of once for each resample.
RESAMPLES_PER_CLASS = 4
# Rows of a cell from which on a product of matrices is faster than adding them one by one.
FEW_ROWS = 32


@dataclass(frozen=True, eq=False)
class Task:
    """The resamples on which a metric is evaluated."""

    metric: Metric
    options: dict[str, Any]
    keywords: dict[str, Any]
    """All arguments of the formula."""
    samples: Sequence[Resamples]
    """Resamples of the same predictions, of each sampler equally many."""

    @property
    def draws(self) -> Draws:
        """What is resampled."""
        return self.samples[0].draws

    @property
    def count(self) -> int:
        """Number of resamples."""
        return sum(sample.size for sample in self.samples)

    @property
    def sampler(self) -> PredictionSampler:
        """A sampler of the predictions."""
        sampler = self.samples[0].sampler
        assert isinstance(sampler, PredictionSampler)
        return sampler

    @property
    def predictions(self) -> Predictions:
        return self.sampler.predictions

    @cached_property
    def views(self) -> list[AnyView]:
        """The views of the metric."""
        return views_of_metric(self.metric, self.predictions, self.options)

    def views_by_label(self) -> Iterator[list[AnyView]]:
        """The views of all rows with the same label, for each label."""
        p = self.predictions
        for label in range(p.k):
            rows = p.with_labels(np.full(p.n, label, np.uint8 if p.k == 2 else np.intp))
            yield self.metric.views(rows, **view_keywords(self.metric, self.options))

    def labels(self, entries: int = 0) -> Iterator[NDArray[Any]]:
        """The simulated labels of some resamples at a time, of which each has further entries."""
        return label_lines(self.samples, max(1, COUNT_ENTRIES // max(entries, self.predictions.n)))

    def label_counts(self, place: Places, size: int) -> Iterator[NDArray[Any]]:
        """The number of rows whose simulated label has each of `size` places, for some sets of labels at a time.

        The label k of row i has the place `place[i, k]`. In the population all labels count with their probabilities.
        """
        n, k = place.shape
        if self.draws == "population":
            chances = (cast(PredictionSampler, sample.sampler).class_chances for sample in self.samples)
            yield np.array([np.bincount(place.ravel(), chance.ravel(), size) for chance in chances])
            return
        if k > 2:
            for labels in self.labels(size):
                own = place[np.arange(n), labels] + size * np.arange(len(labels))[:, None]
                yield np.bincount(own.ravel(), minlength=size * len(labels)).reshape(-1, size)
            return
        from scipy.sparse import csr_array

        # Of two labels, the second moves a row from one place to another.
        moves = np.column_stack([np.ones(n), -np.ones(n)])
        members = csr_array((moves.ravel(), place[:, ::-1].ravel(), 2 * np.arange(n + 1)), (n, size)).T
        without = np.bincount(place[:, 0], minlength=size)
        for labels in self.labels():
            yield without + np.rint(members @ labels.T.astype(np.float64)).T

    def replicates(self, entries: int = 0) -> Iterator[NDArray[np.int32]]:
        """How often each row is drawn, for some bootstrap replicates at a time, of which each has further entries."""
        drawn = multiplicities(self.sampler, self.samples[0].seed)
        step = max(1, COUNT_ENTRIES // max(entries, self.predictions.n))
        for start in range(0, self.count, step):
            yield np.array(many(lambda number, first=start: drawn(first + number), min(step, self.count - start)))  # type: ignore[misc]

    def value(self, values: list[float], views: list[AnyView]) -> float:
        """The value of the metric from those of the views."""
        return self.metric.combined(values, views, self.keywords)

    def values(self, values: Floats, views: list[AnyView]) -> list[float]:
        """The values of the metric from those of the views, one line for each resample; all must be defined."""
        how = "max" if self.keywords.get("norm") == math.inf else self.metric.combine
        if how == "prevalence":
            return [self.value(line, views) for line in values.tolist()]
        whole = values.max(axis=1) if how == "max" else values.sum(axis=1) / (len(views) if how == "mean" else 1)
        finished = self.metric.finished(whole, self.keywords)
        if np.isnan(finished).any():
            raise UndefinedMetricError(self.metric.id, "is undefined for some resamples")
        return finished.tolist()


def resampled_values(plans: list[Plan], sampler: Sampler, draws: Draws, count: int, seed: int) -> Floats:
    """Values of each metric on resamples, one row per resample; NaN where it is undefined."""
    if draws == "rows" and isinstance(sampler, PredictionSampler):
        plans = [(metric, with_width_of_data(metric, options, sampler)) for metric, options in plans]
    columns = [draws_at_once(*plan, [Resamples(sampler, draws, count, seed)]) for plan in plans]
    rest = [plan for plan, column in zip(plans, columns, strict=True) if column is None]
    one_by_one = iter(values_on_resamples(rest, sampler, draws, range(count), seed).T if rest else ())
    return np.column_stack([next(one_by_one) if column is None else column for column in columns])


def values_of_labels(metric: Metric, options: dict[str, Any], samples: Sequence[Resamples]) -> Floats:
    """Values of a metric for the labels that some samplers of the same rows simulate, equally many, one line for each sampler."""
    values = draws_at_once(metric, options, samples)
    if values is None:
        plan = [(metric, options)]
        each = [values_on_resamples(plan, *sample[:2], range(sample.size), sample.seed) for sample in samples]
        values = np.concatenate(each)
    return values.reshape(len(samples), -1)


def population_values(metric: Metric, options: dict[str, Any], samplers: Sequence[Sampler]) -> Floats:
    """The values of a metric for the probabilities of the labels of each sampler; NaN where it has none."""
    by_copies = not metric.soft and has_limit(metric) and options_of_copies(options) == options
    if metric.soft or (by_copies and not isinstance(samplers[0], PredictionSampler)):
        samples = [Resamples(sampler, "population" if metric.soft else "copies", 1, 0) for sampler in samplers]
        at_once = draws_at_once(metric, options, samples)
        if at_once is not None:
            return at_once
    return np.array([sampler.population_value(metric, options) for sampler in samplers])


def draws_at_once(metric: Metric, options: dict[str, Any], samples: Sequence[Resamples]) -> Floats | None:
    """Values of a metric on all resamples; None where these are evaluated one by one."""
    sampler, draws, _, _ = samples[0]
    # How classes are combined, and rows that are selected, are not options of the formula.
    if not {*metric.options, "lens"}.issuperset(options) or combination(options.get("lens")):
        return None
    keywords = metric.arguments(options)
    if metric.averaged(keywords) != [keywords]:
        return None
    if isinstance(sampler, (RowSampler, CellSampler)):
        return Lines(metric, keywords, samples).values()
    if not isinstance(sampler, PredictionSampler) or draws == "scores":
        return None
    if metric.id == skce_uq.id:
        return skce_draws(metric, options, samples)
    task = Task(metric, options, keywords, samples)
    simulates = draws != "rows"
    if simulates and sampler.predictions.kind not in ("binary", "multiclass"):
        return None
    if metric.takes == "Block" and metric.finish is None:
        return _mean_draws(task) if simulates else _mean_replicates(task)
    try:
        return _classwise_draws(task) if metric.takes == "View" else _vector_draws(task)
    except UndefinedMetricError:  # for some resamples, which the formula reports
        return None


def _vector_draws(task: Task) -> Floats | None:
    """Values of a metric of whole vectors."""
    views = task.views
    view = _as_vector(views[0])
    if len(views) > 1 or (task.draws != "rows" and view.weight is not None):
        return None
    form = task.metric.form(view, task.keywords)
    if isinstance(form, Binned) and (task.draws == "rows" or not view.is_soft):
        return _binned_draws(task, form)
    canonical = isinstance(views[0], VectorView) and (task.draws == "rows" or view.lens == "canonical")
    return _linear_draws(task, form, view) if canonical and isinstance(form, Linear) else None


def _as_vector(view: AnyView) -> VectorView:
    return view.as_vector() if isinstance(view, View) else view


def _mean_replicates(task: Task) -> Floats | None:
    """Values of a mean over rows on bootstrap replicates."""
    views = task.views
    rows = task.metric.rows_of(views[0], task.keywords)
    if rows is None or len(views) > 1 or len(rows) != task.predictions.n:
        return None
    infinite, weight = np.isinf(rows), views[0].weights
    columns = np.column_stack([np.where(infinite, 0, rows) * weight, weight, infinite])
    values: list[float] = []
    for drawn in task.replicates():
        total, weights, impossible = (drawn.astype(np.float64) @ columns).T
        means = np.where(impossible > 0, np.inf, total / weights)
        values += [task.value([value], views) for value in means.tolist()]
    return np.array(values)


def _mean_draws(task: Task) -> Floats | None:
    """Values of a mean over rows for simulated labels; None where one-by-one evaluation is as fast."""
    p = task.predictions
    if p.k * RESAMPLES_PER_CLASS > task.count or p.n * p.k > MOST_ENTRIES:
        return None
    losses = []
    for views in task.views_by_label():
        found = task.metric.rows_of(views[0], task.keywords)
        if found is None or len(views) != 1 or len(found) != p.n:
            return None
        losses.append(found if views[0].weight is None else found * views[0].weights)
    loss, rows, total = np.array(losses), np.arange(p.n), views[0].total

    return np.array([accurate_sum(loss[own, rows]) / total for labels in task.labels() for own in labels])


@dataclass(frozen=True, eq=False)
class ClassBins:
    """The bins of the scores of every class, which sets of labels share; the cells of all classes are numbered one after the other."""

    views: list[AnyView]
    bins: list[BinTable]
    cells: Places
    """The cell of each score, of shape (N, K)."""
    scores: Floats

    @cached_property
    def starts(self) -> list[int]:
        """The first cell of each class, and the number of cells."""
        return list(accumulate(map(len, self.bins), initial=0))

    @cached_property
    def rows(self) -> csr_array:
        """Which cells each row is in."""
        return self._of_rows(np.ones(self.cells.shape))

    @cached_property
    def score_sums(self) -> csr_array:
        """The scores of each row in its cells."""
        return self._of_rows(self.scores)

    def _of_rows(self, values: Floats) -> csr_array:
        from scipy.sparse import csr_array

        n, k = self.cells.shape
        return csr_array((values.ravel(), self.cells.ravel(), np.arange(n + 1) * k), (n, self.starts[-1]))

    @cached_property
    def totals(self) -> tuple[Floats, Floats]:
        """The number of rows and the sum of the scores of each cell."""
        return self.rows.sum(axis=0), self.score_sums.sum(axis=0)

    def values(self, task: Task, weight: NDArray[Any], positives: NDArray[Any], scores: NDArray[Any]) -> list[float]:
        """Values from weight, events and scores of each cell, one line for each resample."""
        sums = [part.astype(np.float64) for part in (weight, positives, scores, scores - positives)]
        tables = [
            tables_of_sums(like, "unit", *(part[:, start : start + len(like)] for part in sums))
            for like, start in zip(self.bins, self.starts, strict=False)
        ]
        values = [task.metric.values_of_tables(table, task.keywords) for table in tables]
        return task.values(np.stack(values, axis=-1), self.views)


def _class_bins(task: Task, rule: Rule) -> ClassBins | None:
    """The bins of all classes; None for other lenses, and for too many rows or bins."""
    p = task.predictions
    views = task.views
    names = [f"class:{name}" for name in (range(p.k) if p.classes is None else p.classes)]
    scalars = [view for view in views if isinstance(view, View) and not view.is_soft]
    if p.k < 2 or [view.lens for view in scalars] != names or 4 * p.n * p.k > MOST_ENTRIES:
        return None
    bins = [bin_table(view, rule) for view in scalars]
    starts = np.cumsum([0, *map(len, bins)])
    if int(starts[-1]) * p.n > p.k * MOST_ENTRIES:
        return None
    cells = np.column_stack([rule.cells(view)[0] for view in scalars]) + starts[:-1]
    return ClassBins(views, bins, cells, np.column_stack([view.score for view in scalars]))


def _classwise_draws(task: Task) -> Floats | None:
    """Values of a metric of the table of each class; None for other lenses, and for bins that depend on the resample."""
    p, rule, simulates = task.predictions, task.keywords.get("rule"), task.draws != "rows"
    if p.kind not in ("binary", "multiclass") or p.labels is None or p.weight is not None:
        return None
    if not task.metric.reads_table or not (isinstance(rule, Rule) and (simulates or rule.is_fixed)):
        return None
    key = "class bins", p, rule, tuple(sorted(view_keywords(task.metric, task.options).items()))
    classes = shared(key, lambda: _class_bins(task, rule), BYTES_OF_CLASS_BINS * p.probs.size)
    if classes is None:
        return None
    size, values = classes.starts[-1], list[float]()
    if simulates:
        for events in task.label_counts(classes.cells, size):
            weight, total = (np.broadcast_to(part, events.shape) for part in classes.totals)
            values += classes.values(task, weight, events, total)
        return np.array(values, np.float64)
    from scipy.sparse import csr_array

    own_cell = classes.cells[np.arange(p.n), p.labels]
    members = csr_array((np.ones(p.n), own_cell, np.arange(p.n + 1)), (p.n, size))
    for drawn in task.replicates(4 * size):
        counts = drawn.astype(np.float64)
        values += classes.values(task, counts @ classes.rows, counts @ members, counts @ classes.score_sums)
    return np.array(values, np.float64)


class Cells(NamedTuple):
    """Cells of scores, which resamples share."""

    form: Binned
    cells: Places
    """Of shape (N, 1) or (N, M)."""
    size: int
    """Number of cells."""
    width: int
    """Number of scores that are added in each cell of a row."""
    numbers: Floats
    """What is added of the scores, of shape (N, M)."""


def _binned_draws(task: Task, form: Binned) -> Floats | None:
    """Values of a function of sums over bins; None for bins that depend on the resample."""
    view, by_score, simulates = form.view, form.cell is None, task.draws != "rows"
    if not form.is_fixed and (by_score or not simulates):
        return None
    if by_score and (view.weight is not None or view.is_soft):
        return None
    scores, _, outcomes = form.rows
    if 2 * scores.size > MOST_ENTRIES:
        return None
    cells, tables, bins = form.cells()
    width = scores.shape[1] // cells.shape[1]
    differences = form.of_excess and not simulates
    cells_of_scores = Cells(form, cells, tables * bins, width, scores - outcomes if differences else scores)
    result: list[float] = []
    for weight, positives, sums in (_relabelled if simulates else _replicated)(task, cells_of_scores):
        shape = (len(positives), tables, bins, *([] if by_score else [width]))
        parts = [np.broadcast_to(part, positives.shape).reshape(shape) for part in (sums, positives, sums - positives)]
        rows = np.broadcast_to(weight, (len(positives), tables * bins)).reshape(shape[:3])
        values = [np.atleast_1d(form.value(tables)) for tables in Sums.of_tables(rows, *parts, together=form.together)]
        result += task.values(np.concatenate(values)[:, None], [view])
    return np.array(result, np.float64)


def _relabelled(task: Task, cells: Cells) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """The weight of each cell, the sums of outcomes, and those of the scores, for some sets of simulated labels at a time."""
    form, size = cells.form, cells.size * cells.width
    view, (_, classes, _) = form.view, form.rows
    place = cells.cells * cells.width + np.arange(cells.width)
    inside = np.bincount(place.ravel(), minlength=size)
    fixed = np.bincount(place.ravel(), cells.numbers.ravel(), size)[None]
    weight = np.bincount(cells.cells.ravel(), minlength=cells.size).astype(np.float64)[None]
    everyone = np.arange(view.n)
    place_of_label = np.full((view.n, view.k), size)
    place_of_label[everyone[:, None], classes] = place
    if view.lens != "canonical":
        columns = [cast(Places, _as_vector(views[0]).labels) for views in task.views_by_label()]
        place_of_label = np.take_along_axis(place_of_label, np.column_stack(columns).astype(np.intp), 1)

    for counts in task.label_counts(place_of_label, size + 1):
        there = counts[:, :-1]
        yield weight, inside - there if form.is_error else there, fixed


def _replicated(task: Task, cells: Cells) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """The same for some bootstrap replicates at a time."""
    view, (_, _, outcomes) = cells.form.view, cells.form.rows
    added = [cells.numbers] if cells.form.of_excess else [outcomes, cells.numbers]
    columns = []
    for number, cell in enumerate(cells.cells.T):
        own = slice(number * cells.width, (number + 1) * cells.width)
        rows = np.hstack([np.ones((view.n, 1)), *(part[:, own] for part in added)])
        rows = rows if view.weight is None else rows * view.weights[:, None]
        order = np.argsort(cell, kind="stable")
        columns.append((order, np.searchsorted(cell[order], np.arange(cells.size + 1)), rows[order]))
    for drawn in task.replicates(cells.size * (1 + len(added) * cells.width)):
        sums = np.zeros((len(drawn), cells.size, 1 + len(added) * cells.width))
        small = drawn.astype(np.uint8) if drawn.max() < 256 else drawn  # fits into cache
        for order, ends, rows in columns:
            _add_cells(sums, small[:, order].astype(np.float64), ends, rows)
        numbers = sums[..., -cells.width :]
        yield sums[..., 0], sums[..., 1 : -cells.width] if len(added) > 1 else np.zeros(numbers.shape), numbers


def _add_cells(sums: Floats, drawn: Floats, ends: Places, rows: Floats) -> None:
    """Add the sums over the cells of rows that are in the order of their cells, from how often each is drawn."""
    full = np.flatnonzero(np.diff(ends)).tolist()
    if len(full) * FEW_ROWS <= len(rows):
        for cell in full:
            span = slice(ends[cell], ends[cell + 1])
            sums[:, cell] += drawn[:, span] @ rows[span]
        return
    from scipy.sparse import csr_array

    members = csr_array((drawn[0], np.arange(len(rows)), ends), shape=(sums.shape[1], len(rows)))
    for one, counts in zip(sums, drawn, strict=True):
        members.data = counts
        one += members @ rows


def _linear_draws(task: Task, form: Linear, view: VectorView) -> Floats | None:
    """Values of a function of a few sums over all rows; None where one-by-one evaluation is as fast."""
    factors = view.each_row(form.factors)
    if view.weight is not None or view.n * max(view.k, factors.shape[1]) > MOST_ENTRIES:
        return None

    def values(sums: Floats, rows: list[float]) -> list[float]:
        return [task.value([form.value(*one)], [view]) for one in zip(sums, rows, strict=True)]

    result: list[float] = []
    if task.draws == "rows":
        numbers = view.each_row(form.numbers)
        products = (numbers[:, :, None] * factors[:, None]).reshape(view.n, -1)
        for drawn in task.replicates():
            result += values(drawn.astype(np.float64) @ products, drawn.sum(axis=1, dtype=np.float64).tolist())
        return np.array(result, np.float64)
    if view.k * RESAMPLES_PER_CLASS > task.count:
        return None
    alike = (cast(VectorView, views[0]) for views in task.views_by_label())
    by_label = np.array([one.each_row(form.numbers).T for one in alike])
    everyone = np.arange(view.n)
    # Numbers that are the same for all labels are added once.
    depends = np.flatnonzero((by_label != by_label[0]).any(axis=(0, 2)))
    fixed = by_label[0] @ factors

    for labels in task.labels(view.n * len(depends)):
        sums = np.repeat(fixed[None], len(labels), axis=0)
        for column in depends:
            sums[:, column] = by_label[labels, column, everyone] @ factors
        result += values(sums.reshape(len(labels), -1), [float(view.n)] * len(labels))
    return np.array(result, np.float64)

"""Values of a metric on all resamples at once, where sums over rows are linear in how often a row is drawn, or in its label.

A metric states its sums (`metrics.sum_forms`). What depends on the predictions alone, such as the bin of a row or the loss of each label, is
computed once and not for each resample. The resamples are the same as one by one, and the values equal up to the order of additions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..binning.exact_sums import BinSums
from ..binning.parse import has_fixed_bins, parse_binning, several_bins
from ..errors import UndefinedMetricError
from ..input.predictions import Predictions
from ..metrics.registry import Metric
from ..metrics.sum_forms import Binned, Linear, Sums, TableView
from ..util.cached import cached_property
from ..util.kernels import LOW_BITS, LOW_MASK
from ..util.sums import accurate_sum
from ..views.lenses import AnyView
from ..views.view import VectorView, View
from .cells import CellSampler, Draws
from .lines import Lines, reads_table, tables_of_sums
from .replicates import many
from .resampling import PredictionSampler, RowSampler, Sampler, multiplicities, simulated_labels, view_keywords

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

# Entries of the multiplicities held at a time, and of the values of rows; with more, resamples are evaluated one by one.
COUNT_ENTRIES = 1 << 22
MOST_ENTRIES = 1 << 24
# A loss is computed for each class once instead of once for each resample.
RESAMPLES_PER_CLASS = 4
# Rows of a cell from which on a product of matrices is faster than adding them one by one.
FEW_ROWS = 32
# A score is an integer multiple of 2^-62. Its lower and upper bits are added separately, so that sums of up to so many rows are exact in
# double precision.
SCORE_BITS, LOWER_BITS, EXACT_ROWS = 62, 36, 1 << 17


@dataclass(frozen=True, eq=False)
class Task:
    """The resamples on which a metric is evaluated."""

    metric: Metric
    options: dict[str, Any]
    keywords: dict[str, Any]
    """All options of the formula."""
    sampler: PredictionSampler
    draws: Draws
    count: int
    seed: int
    workers: int | None

    @property
    def predictions(self) -> Predictions:
        return self.sampler.predictions

    def form(self, view: AnyView) -> Any:
        """The statement of the sums; None where the metric is not a function of sums with these options."""
        return None if self.metric.sum_form is None else self.metric.sum_form(view, **self.keywords)

    def views(self, predictions: Predictions) -> list[AnyView]:
        return self.metric.views(predictions, **view_keywords(self.metric, self.options))

    def views_by_label(self) -> Iterator[list[AnyView]]:
        """The views of all rows with the same label, for each label."""
        p = self.predictions
        for label in range(p.k):
            yield self.views(p.with_labels(np.full(p.n, label, np.uint8 if p.k == 2 else np.intp)))

    @cached_property
    def labels(self) -> Callable[[int], NDArray[Any]]:
        """The simulated labels of each resample."""
        return simulated_labels(self.sampler, self.seed)

    def each(self, work: Callable[[int], Any]) -> Floats:
        """The results of all resamples."""
        return np.array(many(work, self.count, self.workers), np.float64)

    def batches(self, work: Callable[[int], NDArray[Any]], entries: int) -> Iterator[NDArray[Any]]:
        """Arrays of so many entries, for some resamples at a time."""
        for start in range(0, self.count, step := max(1, COUNT_ENTRIES // entries)):

            def later(number: int, first: int = start) -> NDArray[Any]:
                return work(first + number)

            yield np.array(many(later, min(step, self.count - start), self.workers))

    def replicates(self, entries: int = 0) -> Iterator[NDArray[np.int32]]:
        """How often each row is drawn, for some bootstrap replicates at a time, of which each has further entries."""
        entries = max(entries, self.predictions.n)
        return self.batches(multiplicities(self.sampler, self.seed), entries)

    def value(self, values: list[float], views: list[AnyView]) -> float:
        """The value of the metric from those of the views."""
        return self.metric.combined(values, views, self.keywords)


def bootstrap_draws(
    metric: Metric, options: dict[str, Any], sampler: Sampler, count: int, seed: int, workers: int | None
) -> Floats | None:
    """Values of a metric on all bootstrap replicates; None where these are evaluated one by one."""
    return _draws(metric, options, sampler, "rows", count, seed, workers)


def null_draws(
    metric: Metric, options: dict[str, Any], sampler: Sampler, count: int, seed: int, workers: int | None
) -> Floats | None:
    """Values of a metric for all sets of simulated labels; None where these are evaluated one by one."""
    return _draws(metric, options, sampler, "outcomes", count, seed, workers)


def _draws(
    metric: Metric,
    options: dict[str, Any],
    sampler: Sampler,
    draws: Draws,
    count: int,
    seed: int,
    workers: int | None,
) -> Floats | None:
    # Classes that are combined, and rows that are selected, are not options of the formula.
    if not {*metric.options, "lens"}.issuperset(options):
        return None
    keywords = {keyword: options.get(keyword, default) for keyword, default in metric.options.items()}
    if several_bins(keywords.get("bins")) is not None:  # an average over numbers of bins
        return None
    if isinstance(sampler, (RowSampler, CellSampler)):
        return Lines(metric, keywords, sampler, draws, count, seed, workers).values()
    if not isinstance(sampler, PredictionSampler):
        return None
    task = Task(metric, options, keywords, sampler, draws, count, seed, workers)
    simulates = draws == "outcomes"
    if simulates and sampler.predictions.kind not in ("binary", "multiclass"):
        return None
    if simulates and metric.takes == "Block" and metric.finish is None:
        return _mean_draws(task)
    try:
        return _classwise_draws(task) if metric.takes == "View" else _vector_draws(task)
    except UndefinedMetricError:  # for some resamples, which the formula reports
        return None


def _vector_draws(task: Task) -> Floats | None:
    """Values of a metric of whole vectors."""
    views = task.views(task.predictions)
    view = views[0]
    if len(views) > 1 or not isinstance(view, VectorView):
        return None
    if task.draws == "outcomes" and (view.lens != "canonical" or view.weight is not None):
        return None
    form = task.form(view)
    if isinstance(form, Binned):
        return _binned_draws(task, form)
    return _linear_draws(task, form, view) if isinstance(form, Linear) else None


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

    def work(number: int) -> float:
        labels = task.labels(number)
        drawn = np.where(labels, loss[1], loss[0]) if p.k == 2 else loss[labels, rows]
        return accurate_sum(drawn) / total

    return task.each(work)


def _classwise_draws(task: Task) -> Floats | None:
    """Values of a metric of the bins of each class; None for other lenses.

    The bin of each score is found once. Sums are those of integers, hence the values equal those of single resamples to the last bit.
    """
    p = task.predictions
    if p.kind not in ("binary", "multiclass") or p.labels is None or p.weight is not None or p.n > EXACT_ROWS:
        return None
    views = task.views(p)
    names = [f"class:{name}" for name in (range(p.k) if p.classes is None else p.classes)]
    scalars = [view for view in views if isinstance(view, View) and not view.is_soft]
    if p.k < 2 or [view.lens for view in scalars] != names or 4 * p.n * p.k > MOST_ENTRIES:
        return None
    binning, number = task.keywords.get("binning"), task.keywords.get("bins")
    if binning is None or task.metric.needs or not has_fixed_bins(binning, number):
        return None
    if not reads_table(task.metric, task.keywords, scalars[0]):
        return None
    rule = parse_binning(scalars[0], binning, number)
    like = rule.table(scalars[0])
    found = [rule.cells(view) for view in scalars]
    bins = found[0][1]
    cells = np.column_stack([cell + number * bins for number, (cell, _) in enumerate(found)])
    own_cell = cells[np.arange(p.n), p.labels]
    integers = _as_integers(np.column_stack([view.score for view in scalars]))

    def value(upper: NDArray[Any], lower: NDArray[Any], positives: NDArray[np.int64], weight: NDArray[Any]) -> float:
        sums = _sums_of_integers(upper, lower, positives)
        tables = tables_of_sums(like, "unit", weight, positives.astype(np.float64), sums.score_sum, sums.excess)
        values = [float(task.metric.formula(TableView(rule, table), **task.keywords)) for table in tables]
        return task.value(values, views)

    if task.draws == "outcomes":
        parts = (*integers, np.ones(cells.shape))
        sums = [np.bincount(cells.ravel(), part.ravel(), p.k * bins).reshape(p.k, bins) for part in parts]

        def relabelled(number: int) -> float:
            cell = cells[np.arange(p.n), task.labels(number)]
            positives = np.bincount(cell, minlength=p.k * bins).reshape(p.k, bins)
            return value(sums[0], sums[1], positives, sums[2])

        return task.each(relabelled)
    # Most scores of a class lie in one bin, whose sums are those of the class without the other bins.
    usual = np.array([np.bincount(column, minlength=p.k * bins).argmax() for column in cells.T])
    row, column = np.nonzero(cells != usual)
    cell, few = cells[row, column], [part[row, column] for part in integers]
    values: list[float] = []
    for replicates in task.replicates():
        drawn = replicates.astype(np.float64)
        if drawn.sum(axis=1).max() > EXACT_ROWS:  # clusters of unequal size
            return None
        totals = [drawn @ part for part in integers]
        for own, upper, lower in zip(drawn, *totals, strict=True):
            there = own[row]
            sums = []
            for part, total in ((there * few[0], upper), (there * few[1], lower), (there, own.sum())):
                inside = np.bincount(cell, part, p.k * bins).reshape(p.k, bins)
                inside.ravel()[usual] = total - inside.sum(axis=1)
                sums.append(inside)
            positives = np.bincount(own_cell, own, p.k * bins).astype(np.int64).reshape(p.k, bins)
            values.append(value(sums[0], sums[1], positives, sums[2]))
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
    numbers: list[Floats]
    """What is added of the scores, of shape (N, M) each."""


def _binned_draws(task: Task, form: Binned) -> Floats | None:
    """Values of a function of sums over bins; None for bins that depend on the resample.

    Scores that are binned by themselves are added as integers, as in the tables of their bins.
    """
    view, exact, simulates = form.view, form.cell is None, task.draws == "outcomes"
    if not form.is_fixed and (exact or not simulates):
        return None
    if exact and (view.weight is not None or view.is_soft or view.n > EXACT_ROWS):
        return None
    scores, _, outcomes = form.rows
    if (4 if exact else 2) * scores.size > MOST_ENTRIES:
        return None
    cells, tables, bins = form.cells()
    width = scores.shape[1] // cells.shape[1]
    differences = form.of_excess and not simulates
    numbers = _as_integers(scores) if exact else [scores - outcomes if differences else scores]
    result: list[float] = []
    for weight, positives, *sums in (_relabelled if simulates else _replicated)(
        task, Cells(form, cells, tables * bins, width, numbers)
    ):
        if exact and weight.sum(axis=1).max() > EXACT_ROWS * cells.shape[1]:  # clusters of unequal size
            return None
        if exact:
            integers = _sums_of_integers(sums[0], sums[1], positives.astype(np.int64))
            sums = [integers.score_sum, positives, integers.excess]
        else:
            sums = [*sums, positives, sums[0] - positives]
        shape = (len(positives), tables, bins, *([] if exact else [width]))
        sums = [np.broadcast_to(part, positives.shape).reshape(shape) for part in sums]
        rows = np.broadcast_to(weight, (len(positives), tables * bins)).reshape(shape[:3])
        result += [task.value([form.value(found)], [view]) for found in Sums.of_tables(rows, *sums)]
    return np.array(result, np.float64)


def _relabelled(task: Task, cells: Cells) -> Iterator[list[NDArray[Any]]]:
    """The weight of each cell, the sums of outcomes, and those of the scores, for some sets of simulated labels at a time."""
    form, size = cells.form, cells.size * cells.width
    view, (_, classes, _) = form.view, form.rows
    place = cells.cells * cells.width + np.arange(cells.width)
    inside = np.bincount(place.ravel(), minlength=size)
    fixed = [np.bincount(place.ravel(), part.ravel(), size)[None] for part in cells.numbers]
    weight = np.bincount(cells.cells.ravel(), minlength=cells.size).astype(np.float64)[None]
    everyone = np.arange(view.n)
    place_of_label = np.full((view.n, view.k), size)
    place_of_label[everyone[:, None], classes] = place

    def positives(number: int) -> NDArray[Any]:
        there = np.bincount(place_of_label[everyone, task.labels(number)], minlength=size + 1)[:-1]
        return inside - there if form.is_error else there

    for part in task.batches(positives, size):
        yield [weight, part, *fixed]


def _replicated(task: Task, cells: Cells) -> Iterator[list[NDArray[Any]]]:
    """The same for some bootstrap replicates at a time."""
    view, (_, _, outcomes) = cells.form.view, cells.form.rows
    added = cells.numbers if cells.form.of_excess else [outcomes, *cells.numbers]
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
        parts = np.split(sums[..., 1:], len(added), axis=2)
        yield [sums[..., 0], *([np.zeros(parts[0].shape)] if cells.form.of_excess else []), *parts]


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

    def relabelled(number: int) -> Floats:
        labels = task.labels(number)
        return np.concatenate([by_label[labels, column, everyone] for column in depends])

    for part in task.batches(relabelled, view.n * len(depends)):
        sums = np.repeat(fixed[None], len(part), axis=0)
        sums[:, depends] = (part.reshape(-1, view.n) @ factors).reshape(len(part), len(depends), -1)
        result += values(sums.reshape(len(part), -1), [float(view.n)] * len(part))
    return np.array(result, np.float64)


def _as_integers(scores: Floats) -> list[Floats]:
    """The upper and the lower bits of each score, in units of 2^-26 and 2^-62."""
    scaled = scores * 2.0 ** (SCORE_BITS - LOWER_BITS)
    upper = np.floor(scaled)
    return [upper, np.floor((scaled - upper) * 2.0**LOWER_BITS)]


def _sums_of_integers(upper: NDArray[Any], lower: NDArray[Any], positives: NDArray[np.int64]) -> BinSums:
    """Sums over bins from those of upper and lower bits."""
    above = LOW_BITS - LOWER_BITS
    whole = upper.astype(np.int64)
    low = ((whole & ((1 << above) - 1)) << LOWER_BITS) + lower.astype(np.int64)
    return BinSums(np.zeros_like(positives), positives, (whole >> above) + (low >> LOW_BITS), low & LOW_MASK)

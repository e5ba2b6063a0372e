"""Resampling: simulated labels under the null hypothesis, and bootstrap replicates of rows.

Resample number b has its own random generator, determined by the seed and b alone. Samplers of single rows are made from rows in the order of
their content, so that no resample depends on the order in which the rows came. For metrics of one score per row, labels of tied scores are simulated together, and many rows are first counted in cells, if these are narrow enough
for the metric (sampler_choice.py): the cost of a resample is then proportional to the number of distinct scores or cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, GroupError, WeightsNotSupportedError
from ..input.grouping import check_one_grouping
from ..input.predictions import Predictions
from ..metrics.registry import Metric
from ..util.arrays import Array
from ..util.cached import cached_property
from ..util.hashes import content_order
from ..util.progress import track
from ..views.lenses import AnyView, value_options
from ..views.view import VectorView, View
from .cells import (
    MANY_COPIES,
    ROW_BYTES,
    CellSampler,
    Drawn,
    Draws,
    LabelSampler,
    Plan,
    one_view,
    shared,
    shared_numbers,
    value_of_resample,
)
from .replicates import choose_classes, cumulative, draw_events, draw_rows, many, rows_by_code
from .seeds import generator, generators

Generator = np.random.Generator

# Largest number of rows to which counts are expanded.
MOST_ROWS = 10_000_000
# With fewer groups the variance between groups is underestimated.
FEW_GROUPS = 20
FEW_CLUSTERS = (
    "only {} groups: with few groups intervals are too short and p-values too small; in simulations a 5% test rejected a true null "
    "hypothesis in 16% of data sets with 5 groups, 11% with 8 and 8% with 12"
)
# Options of metrics with one value per row, and alternatives that are resampled with the rows.
OPTIONS_OF_ROWS = {"proximity": "pass features", "partitions": "pass groups for one partition"}

# Cumulative probabilities are kept up to this many entries, 32 MB, and otherwise computed for each simulation.
MOST_PATHS = 1 << 22

ROW_BY_ROW = "row by row"


def few_groups(count: int) -> str:
    """A caveat for this number of clusters; empty if there are enough, or none."""
    return FEW_CLUSTERS.format(count) if 0 < count < FEW_GROUPS else ""


class RowSampler(LabelSampler):
    """Single rows of one view, for metrics that depend on nothing else; a resample has as many rows as there are, or `size`."""

    note = ""
    unit = ROW_BY_ROW

    def __init__(self, view: View, size: int | None = None) -> None:
        self.view, self.size = view, size
        self.bytes = ROW_BYTES * view.n
        self.counts = view.weight_kind == "counts"
        weight = view.weights
        self.share = weight / weight.sum()
        self.total = int(weight.sum()) if size is None else size
        self.chance = view.raw_score

    @classmethod
    def by_content(cls, view: View, size: int | None = None) -> RowSampler:
        """A sampler of the rows in the order of their content, on which resamples then depend alone."""
        order = content_order(view.raw_score, view.raw_outcome, view.weight)
        rows = None if view.rows is None else view.rows.take(order)
        return cls(view.part(order, rows=rows), size)

    @cached_property
    def population(self) -> Drawn:
        """The rows with soft labels, the probabilities of their outcomes."""
        return self._drawn(self.view.raw_score, self.chance, slice(None), keep_order=True)

    @property
    def score(self) -> NDArray[np.float64]:
        """The score of each row."""
        return self.view.score

    def sums(self, rngs: Iterable[Generator], draws: Draws) -> tuple[Array, Array]:
        """Weight of each row, and of its events, one line for each resample; one line for all if rows are not resampled."""
        weight = self.view.weights
        if draws == "outcomes" and not self.counts:
            events = (np.array([rng.random(self.view.n) for rng in rngs]) < self.chance).view(np.uint8)
            return weight[None], events if self.view.weight is None else events * weight
        if draws == "population":
            return weight[None], (weight * self.chance)[None]
        if draws == "copies":
            rows = np.rint(weight[None] * MANY_COPIES).astype(np.int64)
            return rows, np.rint(rows * self.chance).astype(np.int64)
        pairs = [self._drawn_sums(rng, draws) for rng in rngs]
        rows, events = map(np.array, zip(*pairs, strict=True))
        return rows, events

    def _drawn_sums(self, rng: Generator, draws: Draws) -> tuple[Array, Array]:
        """Weight of each row, and of its events, in one resample of rows or counts."""
        view = self.view
        if self.counts:
            rows = view.weights.astype(np.int64) if draws == "outcomes" else rng.multinomial(self.total, self.share)
            if draws == "rows":
                return rows, np.where(view.raw_outcome > 0, rows, 0)
            return rows, draw_events(self.chance.astype(np.float64), rng, rows)
        drawn = draw_rows(view.n, rng, size=self.size)
        weight = np.bincount(drawn, minlength=view.n) * view.weights
        if draws == "rows":
            return weight, weight * view.outcome
        return weight, np.bincount(drawn, draw_events(view.raw_score[drawn], rng), view.n) * view.weights

    def resample(self, rng: Generator, draws: Draws) -> Drawn:
        """Draw rows with their outcomes, outcomes for the rows, or rows and then outcomes."""
        if self.counts or draws == "copies":
            (rows,), (positives,) = self.sums([rng], draws)
            return self._counted(rows, positives)
        view = self.view
        at: Any = slice(None) if draws == "outcomes" else draw_rows(view.n, rng, size=self.size)
        if draws == "rows":
            return self._drawn(view.raw_score[at], view.raw_outcome[at], at, keep_order=False)
        return self._drawn(view.raw_score[at], draw_events(self.chance[at], rng), at, keep_order=draws == "outcomes")

    def _counted(self, rows: Array, positives: Array) -> Drawn:
        counts = np.concatenate([rows - positives, positives])
        kept = np.flatnonzero(counts)
        score = np.tile(self.view.raw_score, 2)[kept]
        view = View(
            score,
            (kept >= len(rows)).astype(np.uint8),
            counts[kept],
            "counts",
            lens=self.view.lens,
            classes=self.view.classes,
        )
        return one_view(view)

    def _drawn(self, score: Array, outcome: Array, at: Any, keep_order: bool) -> Drawn:
        return one_view(self.view.part(at, score, outcome, self.view.rows if keep_order else None))


class PredictionSampler(LabelSampler):
    """Whole rows: labels simulated from the probabilities of all classes, or rows with all their data."""

    unit = ROW_BY_ROW
    is_counted = False

    def __init__(self, predictions: Predictions, *, cluster: bool = False, size: int | None = None) -> None:
        if predictions.weight_kind == "counts":
            assert predictions.weight is not None
            if predictions.weight.sum() > MOST_ROWS:
                problem = f"represent more than {MOST_ROWS:,} rows, too many to resample"
                raise WeightsNotSupportedError("counts", problem, "use a lens with one score per row")
            predictions = predictions.take(np.repeat(np.arange(predictions.n), predictions.weight.astype(np.int64)))
            predictions.weight, predictions.weight_kind = None, "unit"
        self.predictions, self.size = predictions, size
        self.bytes = ROW_BYTES * predictions.probs.size
        self.clusters = clusters_of(predictions) if cluster else None
        self.chance = predictions.probs

    @classmethod
    def by_content(cls, p: Predictions, size: int | None = None) -> PredictionSampler:
        """A sampler of the rows in the order of their content, on which resamples then depend alone."""
        return cls(p.take(content_order(*p.content)), size=size)

    @cached_property
    def population(self) -> Drawn:
        """The rows with soft labels, the probabilities of their classes."""
        return self._drawn(self.predictions.with_soft_labels(self.chance))

    def resample(self, rng: Generator, draws: Draws) -> Drawn:
        """Draw rows with their labels, labels for the rows, or rows and then labels."""
        if draws == "rows":
            return self._drawn(self.predictions.take(self.picked(rng)))
        p = self.predictions
        if draws == "outcomes":
            return self.labelled(self.labels([rng])[0])
        p = p.take(draw_rows(p.n, rng, size=self.size))
        return self._drawn(p.with_labels(draw_labels(p, p.probs, [rng])[0]))

    def labelled(self, labels: Array) -> Drawn:
        """The original rows with these labels."""
        return self._drawn(self.predictions.with_labels(labels))

    def labels(self, rngs: Iterable[Generator]) -> Array:
        """Labels simulated for all rows, one line for each generator."""
        return draw_labels(self.predictions, self.chance, rngs, self.paths)

    @property
    def class_chances(self) -> Array:
        """The probabilities of the labels, one column for each class."""
        chance = np.asarray(self.chance, np.float64)
        return chance if chance.ndim == 2 else np.column_stack([1 - chance, chance])

    @cached_property
    def paths(self) -> Array | None:
        """The cumulative probabilities of each class, one line per class; None for two events, and for too many entries to keep."""
        p = self.predictions
        several = p.kind == "multiclass" and p.k > 2
        return np.ascontiguousarray(cumulative(self.chance).T) if several and p.probs.size <= MOST_PATHS else None

    def picked(self, rng: Generator) -> Array:
        """The row indices of one bootstrap replicate."""
        return draw_rows(self.predictions.n, rng, self.clusters, size=self.size)

    def whole(self) -> Drawn:
        """The original data."""
        return self._drawn(self.predictions)

    @property
    def note(self) -> str:
        """A caveat for few clusters, whose variation is underestimated."""
        return few_groups(0 if self.clusters is None else len(self.clusters))

    def _drawn(self, p: Predictions) -> Drawn:
        def views(metric: Metric, keywords: dict[str, Any]) -> list[AnyView]:
            return metric.views(p, **view_keywords(metric, keywords))

        return Drawn(views)


Sampler = RowSampler | PredictionSampler | CellSampler


class Resamples(NamedTuple):
    """Resamples of a sampler: what is drawn, the number of resamples, and the seed."""

    sampler: Sampler
    draws: Draws
    size: int
    seed: int


def clusters_of(rows: Predictions | None) -> list[Array]:
    """The rows of each group."""
    groups = None if rows is None else rows.groups
    if rows is None or groups is None:
        raise GroupError("groups", "are required for cluster resampling", "pass groups")
    check_one_grouping(rows, "clusters")
    parts = rows_by_code(groups)
    if len(parts) < 2:
        raise GroupError("groups", "cluster resampling requires at least two groups; all rows are in one")
    return parts


def draw_labels(p: Predictions, chance: Array, rngs: Iterable[Generator], paths: Array | None = None) -> Array:
    """One label per row, simulated from these probabilities, in the form of the labels of the predictions; one line for each generator."""
    if p.kind == "multilabel" or chance.ndim == 1:
        return (np.array([rng.random(chance.shape) for rng in rngs]) < chance).view(np.uint8)
    aims = np.array([rng.random(len(chance)) for rng in rngs])
    if p.k == 2:
        return (aims < chance[:, 1]).view(np.uint8)
    return choose_classes(chance, aims, paths).astype(np.intp)


def resamples(sampler: Sampler, draws: Draws, seed: int) -> Callable[[int], Drawn]:
    """The resample of each number, which metrics with the same sampler share; see `sharing`."""

    def make(number: int) -> Drawn:
        return sampler.resample(generator(seed, number), draws)

    return shared_numbers(("resamples", sampler, draws, seed), make, sampler.bytes)


def label_lines(samples: Sequence[Resamples], most: int) -> Iterator[Array]:
    """The simulated labels of all resamples, one line for each, at most so many at a time; metrics share them, see `sharing`."""

    def part(sample: Resamples, numbers: range) -> Array:
        sampler = sample.sampler
        assert isinstance(sampler, PredictionSampler)
        p, dtype = sampler.predictions, np.uint8 if sampler.predictions.k <= 256 else np.intp

        def make() -> Array:
            return sampler.labels(generators(sample.seed, numbers)).astype(dtype)

        return shared(("labels", sampler, sample.seed, numbers), make, len(numbers) * p.n * np.dtype(dtype).itemsize)

    return (labels for (labels,) in batches(samples, most, lambda *own: (part(*own),)))


def batches(
    samples: Sequence[Resamples], most: int, draw: Callable[[Resamples, range], tuple[Array, ...]]
) -> Iterator[tuple[Array, ...]]:
    """What is drawn for all resamples, with one line for each, at most so many at a time."""
    waiting: list[tuple[Array, ...]] = []
    count = 0
    parts = [
        (sample, range(start, min(start + most, sample.size)))
        for sample in samples
        for start in range(0, sample.size, most)
    ]
    for sample, numbers in track(parts, "batches of resamples"):
        if waiting and count + len(numbers) > most:
            yield tuple(map(np.concatenate, zip(*waiting, strict=True)))
            waiting, count = [], 0
        waiting.append(draw(sample, numbers))
        count += len(waiting[-1][0])
    yield tuple(map(np.concatenate, zip(*waiting, strict=True)))


def multiplicities(sampler: PredictionSampler, seed: int) -> Callable[[int], NDArray[np.int32]]:
    """How often each row is drawn in each bootstrap replicate, which metrics share; see `sharing`."""
    n = sampler.predictions.n

    def make(number: int) -> NDArray[np.int32]:
        return np.bincount(sampler.picked(generator(seed, number)), minlength=n).astype(np.int32)

    return shared_numbers(("multiplicities", sampler, seed), make, 4 * n)


def values_on_resamples(
    plans: list[Plan], sampler: Sampler, draws: Draws, numbers: range, seed: int
) -> NDArray[np.float64]:
    """Values of each metric on these resamples, one row per resample; NaN where it is undefined."""
    resample = resamples(sampler, draws, seed)
    metrics = [value_of_resample(metric, options) for metric, options in plans]

    def work(place: int) -> list[float]:
        drawn = resample(numbers[place])
        return [value(drawn) for value in metrics]

    return np.array(many(work, len(numbers)), np.float64).reshape(len(numbers), len(plans))


def value_of(metric: Metric, views: list[AnyView], keywords: Mapping[str, Any], known: float | None = None) -> float:
    """The value of a metric, which an interval and a test of it share; see `sharing`. A `known` value is not computed again."""

    key = "value", metric.id, tuple(views), tuple(sorted(keywords.items()))
    return shared(key, lambda: metric.of_views(views, **keywords) if known is None else known)


def remember(metric: Metric, source: Any, options: Mapping[str, Any], value: float) -> None:
    """Let the interval and the test of a metric use its value, which was computed from the same data and options."""
    value_of(metric, views_of_metric(metric, source, options), value_options(options), value)


def view_keywords(metric: Metric, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords that determine the views of a metric: lens, selection, `form`, and substitutes for data that it needs."""
    own = ("form",) if "form" in metric.options else ()
    return {keyword: keywords[keyword] for keyword in ("lens", "where", *own, *metric.instead) if keyword in keywords}


def views_of_metric(metric: Metric, source: Any, options: Mapping[str, Any]) -> list[AnyView]:
    """The views that a metric evaluates; see `sharing`."""
    keywords = view_keywords(metric, options)
    return shared(("views", metric, source, *sorted(keywords.items())), lambda: metric.views(source, **keywords))


def options_of(metric: Metric, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a metric accepts, and the lens."""
    known = {*metric.options, "lens"}
    return {keyword: value for keyword, value in options.items() if keyword in known}


def refuse_options_of_rows(metric: Metric, keywords: Mapping[str, Any]) -> None:
    """Raise for options with one value per row, which are not resampled with the rows."""
    for keyword, remedy in OPTIONS_OF_ROWS.items():
        if keyword in metric.options and keywords.get(keyword) is not None:
            raise ArgumentError(keyword, f"{metric.id} cannot be resampled with this option", remedy)


def every_outcome(view: AnyView) -> Iterator[tuple[AnyView, float]]:
    """Every possible outcome of a binary view, with its probability under the null hypothesis.

    Importance weights stay with their rows; rows with counts are expanded.
    """
    whole = view.raw_score if isinstance(view, View) else view.raw_probs
    rows = np.arange(view.n)
    if view.weight_kind == "counts":
        rows = np.repeat(rows, view.weights.astype(np.int64))
    score = np.asarray(whole if whole.ndim == 1 else whole[:, 1], dtype=np.float64)[rows]
    for outcome in product((0, 1), repeat=len(rows)):
        drawn = np.array(outcome, np.uint8)
        yield _with_outcome(view, rows, drawn), float(np.prod(np.where(drawn == 1, score, 1 - score)))


def _with_outcome(view: AnyView, rows: Array, outcome: Array) -> AnyView:
    """These rows with other outcomes, in the same form of view, since another form may give the metric another value."""
    written = view.weight_kind == "counts"
    extra = None if written else view.rows
    weight, kind = (None, "unit") if written else (view.weight, view.weight_kind)
    if isinstance(view, View):
        part = view.part(rows, outcome=outcome, rows=extra)
        part.weight, part.weight_kind = weight, kind
        return part
    return VectorView(
        view.raw_probs[rows],
        outcome.astype(np.intp),
        None,
        weight,
        kind,
        rows=extra,
        lens=view.lens,
        logits=None if view.logits is None else view.logits[rows],
        score_column=view.score_column,
        tree_columns=view.tree_columns,
    )

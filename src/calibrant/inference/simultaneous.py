"""Values of a metric on all resamples at once, where sums over rows are linear in how often a row is drawn, or in its label.

What depends on the predictions alone, such as the bin of a row or the loss of each label, is computed once and not for each resample. The
resamples are the same as one by one, and the values equal up to the order of additions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import repeat
from operator import mul
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..binning.exact_sums import BinSums, uniform_slots
from ..binning.parse import are_edges, parse_binning, several_bins
from ..binning.rules import Edges, EqualWidth
from ..binning.table import weighted_power
from ..input.predictions import Predictions
from ..metrics.bin.bins import ece
from ..metrics.bin.soft import smooth_maximum, soft_accuracy, soft_members
from ..metrics.bin.variation import bins_of_variation, entropy, measure_of, ranked, vce
from ..metrics.point.totals import surprise_and_variance
from ..metrics.registry import Metric, norm_root
from ..util.kernels import LOW_BITS, LOW_MASK
from ..util.sums import accurate_sum
from ..views.view import VectorView, View
from .resampling import Draws, PredictionSampler, Sampler, many, multiplicities, simulated_labels, view_keywords

__all__ = ["TOGETHER", "bootstrap_draws", "classwise_draws", "mean_draws", "null_draws", "vce_draws"]

Floats = NDArray[np.float64]

# Entries of the multiplicities held at a time, and of the values of rows; with more, resamples are evaluated one by one.
COUNT_ENTRIES = 1 << 22
MOST_ENTRIES = 1 << 24
# A loss is computed for each class once instead of once for each resample.
RESAMPLES_PER_CLASS = 4
# A score is an integer multiple of 2^-62. Its lower and upper bits are added separately, so that sums of up to so many rows are exact in
# double precision.
SCORE_BITS, LOWER_BITS, EXACT_ROWS = 62, 36, 1 << 17


def _only_own(metric: Metric, options: dict[str, Any]) -> bool:
    """Whether all options are those of the formula; classes that are combined, and rows that are selected, are not."""
    return {*metric.options, "lens"}.issuperset(options)


def vce_draws(
    metric: Metric, options: dict[str, Any], sampler: Sampler, count: int, seed: int, workers: int | None
) -> Floats | None:
    """Bootstrap replicates of `vce`; None for other metrics, and for bins that depend on the rows."""
    if metric.id != vce.id or not isinstance(sampler, PredictionSampler) or not _only_own(metric, options):
        return None
    keywords = {**metric.options, **options}
    bins, binning = keywords["bins"], keywords["binning"]
    given = isinstance(binning, str) and (binning == "equal_width" or are_edges(bins))
    if not (given or isinstance(binning, (EqualWidth, Edges))) or isinstance(bins, str) or several_bins(bins):
        return None
    views = metric.views(sampler.predictions, **view_keywords(metric, options))
    if len(views) != 1 or not isinstance(views[0], VectorView) or 2 * views[0].n * views[0].k > MOST_ENTRIES:
        return None
    view = views[0]
    measure = measure_of(keywords["variation"])
    _, cell, cells = bins_of_variation(view, measure, binning, bins)
    order = np.argsort(cell, kind="stable")
    ends = np.searchsorted(cell[order], np.arange(cells + 1))
    spans = [slice(*span) for span in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True) if span[0] < span[1]]
    weight = view.weights[order]
    rows = np.column_stack([view.each_row(lambda block: np.hstack(ranked(block)))[order], np.ones(view.n)])
    rows *= weight[:, None]
    values = []
    for start in range(0, count, step := max(1, COUNT_ENTRIES // view.n)):

        def draw(number: int, first: int = start) -> NDArray[Any]:
            return np.asarray(multiplicities(sampler, seed, first + number)[order])

        drawn_rows = np.array(many(draw, min(step, count - start), workers), np.float64)
        # Of shape (resamples, bins, 2 K + 1): sums of the ranked probabilities, of the labels, and of the weights.
        sums = np.stack([drawn_rows[:, span] @ rows[span] for span in spans], axis=1)
        full = sums[..., -1] > 0
        with np.errstate(invalid="ignore"):
            stated, seen = np.split((sums[..., :-1] / sums[..., -1:])[full], 2, axis=1)
        gap = np.zeros(full.shape)
        gap[full] = np.abs(measure(seen) - measure(stated))
        share = sums[..., -1] / sums[..., -1].sum(axis=1, keepdims=True)
        for own, part, there in zip(gap, share, full, strict=True):
            values.append(norm_root(weighted_power(own[there], part[there], keywords["norm"]), keywords))
    return np.clip(values, *metric.range)


def mean_draws(metric: Metric, options: dict[str, Any], sampler: Sampler, count: int, seed: int) -> Floats | None:
    """Values of a mean over rows for simulated labels; None for other metrics, and where one-by-one evaluation is as fast."""
    if metric.takes != "Block" or metric.finish is not None or not isinstance(sampler, PredictionSampler):
        return None
    p = sampler.predictions
    if p.kind not in ("binary", "multiclass") or not _only_own(metric, options):
        return None
    if p.k * RESAMPLES_PER_CLASS > count or p.n * p.k > MOST_ENTRIES:
        return None
    losses = []
    for label in range(p.k):
        everywhere = p.with_labels(np.full(p.n, label, np.uint8 if p.k == 2 else np.intp))
        views = metric.views(everywhere, **view_keywords(metric, options))
        if len(views) != 1 or views[0].n != p.n:
            return None
        keywords = {keyword: options.get(keyword, default) for keyword, default in metric.options.items()}
        found = metric.rows_of(views[0], keywords)
        if found is None:
            return None
        losses.append(found if views[0].weight is None else found * views[0].weights)
    loss, rows, total = np.array(losses), np.arange(p.n), views[0].total

    def work(number: int) -> float:
        labels = simulated_labels(sampler, seed, number)
        drawn = np.where(labels, loss[1], loss[0]) if p.k == 2 else loss[labels, rows]
        return accurate_sum(drawn) / total

    return np.array(many(work, count), np.float64)


def classwise_draws(
    metric: Metric, options: dict[str, Any], sampler: Sampler, draws: Draws, count: int, seed: int, workers: int | None
) -> Floats | None:
    """Values of `cwce`, or `ece` of each class, for bootstrap replicates or simulated labels; None for other metrics and bins.

    The bin of each score is found once. Sums are those of integers, hence the values equal those of single resamples to the last bit.
    """
    if (
        metric.formula is not ece.formula
        or not isinstance(sampler, PredictionSampler)
        or not _only_own(metric, options)
    ):
        return None
    keywords = {**metric.options, **options}
    p = sampler.predictions
    if keywords["norm"] != 1 or not isinstance(keywords["bins"], int) or draws == "scores" or p.n > EXACT_ROWS:
        return None
    if (
        p.kind not in ("binary", "multiclass")
        or p.labels is None
        or p.weight is not None
        or 4 * p.n * p.k > MOST_ENTRIES
    ):
        return None
    views = [view for view in metric.views(p, **view_keywords(metric, options)) if isinstance(view, View)]
    names = [f"class:{name}" for name in (range(p.k) if p.classes is None else p.classes)]
    if p.k < 2 or [view.lens for view in views] != names or any(view.is_soft for view in views):
        return None
    rule = parse_binning(views[0], keywords["binning"], keywords["bins"])
    edges, uniform = rule._edges(views[0]) if isinstance(rule, EqualWidth) else (np.zeros(0), False)
    if not isinstance(rule, EqualWidth) or not uniform:
        return None
    bins = len(edges) - 1
    cells = _cells_of_classes(views, edges, rule)
    own_cell = cells[np.arange(p.n), p.labels]
    integers = _scores_as_integers(views)

    def value(sums: BinSums, rows: int) -> float:
        values = [math.fsum(line) / float(rows) for line in np.abs(sums.excess).tolist()]
        return metric.combined(values, list(views), keywords)

    if draws == "outcomes":
        upper, lower = (np.bincount(cells.ravel(), part.ravel(), p.k * bins).reshape(p.k, bins) for part in integers)

        def relabelled(number: int) -> float:
            cell = cells[np.arange(p.n), simulated_labels(sampler, seed, number)]
            positives = np.bincount(cell, minlength=p.k * bins).reshape(p.k, bins)
            return value(_sums_of_integers(upper, lower, positives), p.n)

        return np.array(many(relabelled, count, workers), np.float64)
    # Most scores of a class lie in one bin, whose sums are those of the class without the other bins.
    usual = np.array([np.bincount(column, minlength=p.k * bins).argmax() for column in cells.T])
    row, column = np.nonzero(cells != usual)
    cell, parts = cells[row, column], [part[row, column] for part in integers]
    found: list[float] = []
    for start in range(0, count, step := max(1, COUNT_ENTRIES // p.n)):

        def draw(number: int, first: int = start) -> NDArray[np.int32]:
            return multiplicities(sampler, seed, first + number)

        drawn = np.array(many(draw, min(step, count - start), workers), np.float64)
        if drawn.sum(axis=1).max() > EXACT_ROWS:  # clusters of unequal size
            return None
        totals = [drawn @ part for part in integers]
        for own, *whole in zip(drawn, *totals, strict=True):
            sums = []
            for part, total in zip(parts, whole, strict=True):
                inside = np.bincount(cell, own[row] * part, p.k * bins).reshape(p.k, bins)
                inside.ravel()[usual] = total - inside.sum(axis=1)
                sums.append(inside)
            positives = np.bincount(own_cell, own, p.k * bins).astype(np.int64).reshape(p.k, bins)
            found.append(value(_sums_of_integers(sums[0], sums[1], positives), int(own.sum())))
    return np.array(found, np.float64)


def _cells_of_classes(views: list[View], edges: Floats, rule: EqualWidth) -> NDArray[np.intp]:
    """The cell of each row and class, numbered over all classes."""
    bins = len(edges) - 1
    found = np.empty((views[0].n, len(views)), np.intp)
    for number, view in enumerate(views):
        slots = uniform_slots(edges, rule.closed, view.raw_score.dtype == np.float32)
        found[:, number] = np.maximum(slots(view.score), 1) + (number * bins - 1)
    return found


def _scores_as_integers(views: list[View]) -> list[Floats]:
    """The upper and the lower bits of each score, in units of 2^-26 and 2^-62."""
    return _as_integers(np.column_stack([view.score for view in views]))


def _sums_of_integers(upper: NDArray[Any], lower: NDArray[Any], positives: NDArray[np.int64]) -> BinSums:
    """Sums over bins from those of upper and lower bits."""
    above = LOW_BITS - LOWER_BITS
    whole = upper.astype(np.int64)
    low = ((whole & ((1 << above) - 1)) << LOWER_BITS) + lower.astype(np.int64)
    return BinSums(np.zeros_like(positives), positives, (whole >> above) + (low >> LOW_BITS), low & LOW_MASK)


class Binned(NamedTuple):
    """Scores in bins, which depend on the predictions alone; the outcome is whether the label is a given class, or is not."""

    cells: NDArray[np.intp]
    """Cell of each row and score, of shape (N, M)."""
    bins: int
    scores: Floats
    classes: NDArray[np.intp]
    """Class of each row and score."""
    is_error: bool
    """Whether the outcome is a label other than the class."""
    value: Callable[[BinSums, int], float]
    """Value from the sums of all cells and the number of rows."""


def _cells_of_score(view: VectorView, score: Floats, keywords: dict[str, Any]) -> tuple[NDArray[np.intp], int] | None:
    """Bins of equal width of a score; None for other bins, which may depend on the rows."""
    classes = None if view.rows is None else view.rows.exclusive_classes
    scalar = View(score, np.zeros(view.n, np.uint8), classes=classes)
    rule = parse_binning(scalar, keywords["binning"], keywords["bins"])
    if not isinstance(rule, EqualWidth) or not rule._edges(scalar)[1]:
        return None
    return rule.cells(scalar)


def _predicted(view: VectorView) -> NDArray[np.intp]:
    return view.each_row(lambda block: block.probs.argmax(axis=1)).astype(np.intp)


def _sum_of_errors(sums: BinSums, rows: int) -> float:
    return math.fsum(np.abs(sums.excess)) / float(rows)


def _smooth_confidence(view: VectorView, keywords: dict[str, Any]) -> Binned | None:
    score = view.each_row(lambda block: smooth_maximum(block.probs, keywords["temperature"]))
    found = _cells_of_score(view, score, keywords)
    top = _predicted(view)
    return found and Binned(found[0][:, None], found[1], score[:, None], top[:, None], False, _sum_of_errors)


def _by_predicted_class(view: VectorView, keywords: dict[str, Any]) -> Binned | None:
    score = view.each_row(lambda block: block.probs.max(axis=1))
    found = _cells_of_score(view, score, keywords)
    if found is None:
        return None
    cell, bins = found
    top = _predicted(view)
    norm, is_weighted = keywords["norm"], keywords["average"] == "weighted"

    def value(sums: BinSums, rows: int) -> float:
        excess, weight = (part.reshape(view.k, bins) for part in (sums.excess, sums.rows.astype(np.float64)))
        total = weight.sum(axis=1)
        there = total > 0
        gap = np.divide(excess, weight, out=np.zeros_like(excess), where=weight > 0)[there]
        values = list(map(weighted_power, gap, weight[there] / total[there, None], repeat(norm)))
        if norm == math.inf:
            return max(values)
        shares = total[there].tolist() if is_weighted else [1.0] * len(values)
        return math.fsum(map(mul, values, shares)) / math.fsum(shares)

    return Binned((top * bins + cell)[:, None], view.k * bins, score[:, None], top[:, None], False, value)


def _ranks(view: VectorView, keywords: dict[str, Any]) -> Binned | None:
    ranks = min(5, view.k) if keywords["k"] is None else keywords["k"]
    if keywords["reading"] != "rank" or ranks > view.k:
        return None
    # The same order as in `ranked`: ties by the lowest class.
    classes = view.each_row(lambda block: np.argsort(-block.probs, axis=1, kind="stable")[:, :ranks]).astype(np.intp)
    probs = view.each_row(lambda block: block.probs)
    scores = np.clip(np.take_along_axis(probs, classes, 1), 0, 1)
    found = [_cells_of_score(view, score, keywords) for score in scores.T]
    if None in found:
        return None
    cells = np.column_stack([one[0] + number * one[1] for number, one in enumerate(found) if one is not None])
    bins = found[0][1] if found[0] is not None else 0

    def value(sums: BinSums, rows: int) -> float:
        errors = [math.fsum(line) / float(rows) for line in np.abs(sums.excess).reshape(ranks, bins)]
        return math.fsum(errors) / ranks

    return Binned(cells, ranks * bins, scores, classes, False, value)


def _uncertainty(view: VectorView, keywords: dict[str, Any]) -> Binned | None:
    found = _cells_of_score(view, view.each_row(lambda block: entropy(ranked(block)[0])), keywords)
    score = view.each_row(lambda block: entropy(block.probs))
    top = _predicted(view)
    return found and Binned(found[0][:, None], found[1], score[:, None], top[:, None], True, _sum_of_errors)


BINNED: dict[str, Callable[[VectorView, dict[str, Any]], Binned | None]] = {
    "lse_ece": _smooth_confidence,
    "tl_ece": _by_predicted_class,
    "topk_ece": _ranks,
    "uce": _uncertainty,
}


def _whole_vectors(metric: Metric, options: dict[str, Any], sampler: Sampler) -> VectorView | None:
    """The view of all classes of rows without weights; None for others, and for options that are not those of the formula."""
    if not isinstance(sampler, PredictionSampler) or not _only_own(metric, options):
        return None
    p = sampler.predictions
    if p.kind not in ("binary", "multiclass") or p.labels is None or p.weight is not None or p.n > EXACT_ROWS:
        return None
    views = metric.views(p, **view_keywords(metric, options))
    view = views[0]
    alone = len(views) == 1 and isinstance(view, VectorView) and view.lens == "canonical" and view.n == p.n
    return view if alone and isinstance(view, VectorView) and view.score_column is None and not view.is_soft else None


def binned_draws(
    metric: Metric, options: dict[str, Any], sampler: Sampler, draws: Draws, count: int, seed: int, workers: int | None
) -> Floats | None:
    """Values of metrics of whole vectors that are sums over bins, for bootstrap replicates or simulated labels; None for others.

    Scores and their bins are found once, and sums are those of integers.
    """
    if metric.id not in BINNED or draws == "scores" or not isinstance(sampler, PredictionSampler):
        return None
    view, keywords = _whole_vectors(metric, options, sampler), {**metric.options, **options}
    if view is None or not isinstance(keywords["bins"], int):
        return None
    found = BINNED[metric.id](view, keywords)
    if found is None or 4 * found.scores.size > MOST_ENTRIES:
        return None
    integers = _as_integers(found.scores)

    def value(sums: BinSums, rows: int) -> float:
        return metric.combined([found.value(sums, rows)], [view], keywords)

    if draws == "outcomes":
        upper, lower = (np.bincount(found.cells.ravel(), part.ravel(), found.bins) for part in integers)
        rows = np.bincount(found.cells.ravel(), minlength=found.bins)

        everyone = np.arange(view.n)
        cell_of_label = np.full((view.n, view.k), found.bins)
        cell_of_label[everyone[:, None], found.classes] = found.cells

        def relabelled(number: int) -> float:
            cell = cell_of_label[everyone, simulated_labels(sampler, seed, number)]
            there = np.bincount(cell, minlength=found.bins + 1)[:-1]
            positives = rows - there if found.is_error else there
            return value(_sums_of_integers(upper, lower, positives)._replace(rows=rows), view.n)

        return np.array(many(relabelled, count, workers), np.float64)
    assert view.labels is not None
    outcomes = (found.classes == view.labels[:, None]) != found.is_error
    columns = [
        _by_cell(cell, np.column_stack([*numbers, np.ones(view.n)]))
        for cell, *numbers in zip(found.cells.T, *(part.T for part in (*integers, outcomes)), strict=True)
    ]

    def values(drawn: NDArray[np.int32]) -> list[float]:
        sums = np.zeros((len(drawn), found.bins, 4))
        small = drawn.astype(np.uint8) if drawn.max() < 256 else drawn  # fits into cache
        for order, spans, rows in columns:
            picked = small[:, order].astype(np.float64)
            for cell, span in spans:
                sums[:, cell] = picked[:, span] @ rows[span]
        totals = drawn.sum(axis=1)
        whole = sums.astype(np.int64)
        return [
            value(_sums_of_integers(one[:, 0], one[:, 1], one[:, 2])._replace(rows=one[:, 3]), int(rows))
            for one, rows in zip(whole, totals, strict=True)
        ]

    return _in_batches(values, sampler, count, seed, workers)


def _by_cell(cell: NDArray[np.intp], rows: Floats) -> tuple[NDArray[np.intp], list[tuple[int, slice]], Floats]:
    """Rows in the order of their cells, and where those of each cell are."""
    order = np.argsort(cell, kind="stable")
    numbers, starts = np.unique(cell[order], return_index=True)
    ends = [*starts[1:].tolist(), len(order)]
    spans = [(int(number), slice(*span)) for number, *span in zip(numbers, starts.tolist(), ends, strict=True)]
    return order, spans, rows[order]


def _in_batches(
    values: Callable[[NDArray[np.int32]], list[float]],
    sampler: PredictionSampler,
    count: int,
    seed: int,
    workers: int | None,
) -> Floats | None:
    """Values of bootstrap replicates from how often each row is drawn; None if a replicate has too many rows for exact sums."""
    found: list[float] = []
    for start in range(0, count, step := max(1, COUNT_ENTRIES // sampler.predictions.n)):

        def draw(number: int, first: int = start) -> NDArray[np.int32]:
            return multiplicities(sampler, seed, first + number)

        drawn = np.array(many(draw, min(step, count - start), workers))
        if drawn.sum(axis=1).max() > EXACT_ROWS:  # clusters of unequal size
            return None
        found += values(drawn)
    return np.array(found, np.float64)


class Linear(NamedTuple):
    """Sums over rows of a number that depends on the label, times numbers that do not."""

    by_label: Callable[[VectorView], Floats]
    """The number of each row."""
    factors: Floats
    """Of shape (N, M)."""
    fixed: Floats
    """Numbers that are summed for themselves, of shape (N, L)."""
    value: Callable[[Floats, float], float]
    """Value from the M + L sums and the number of rows."""


def _soft_bins(view: VectorView, keywords: dict[str, Any]) -> Linear:
    score = view.each_row(lambda block: block.probs.max(axis=1))
    factors = soft_members(score, keywords["bins"], keywords["bin_temperature"])

    def lead(labelled: VectorView) -> Floats:
        return labelled.each_row(lambda block: soft_accuracy(block, keywords["rank_sharpness"])) - score

    return Linear(lead, factors, np.zeros((view.n, 0)), lambda sums, rows: math.fsum(np.abs(sums)) / rows)


def _standardised(view: VectorView, keywords: dict[str, Any]) -> Linear | None:
    if view.raw_probs.ndim == 1:
        return None
    variance = view.each_row(surprise_and_variance)[:, 1:]

    def value(sums: Floats, rows: float) -> float:
        surprise, spread = sums.tolist()
        return surprise / math.sqrt(spread) if spread > 0 else math.nan

    return Linear(lambda one: one.each_row(surprise_and_variance)[:, 0], np.ones((view.n, 1)), variance, value)


LINEAR: dict[str, Callable[[VectorView, dict[str, Any]], Linear | None]] = {
    "dece": _soft_bins,
    "spiegelhalter_z": _standardised,
}

TOGETHER = (vce.id, *BINNED, *LINEAR)
"""Metrics of whole vectors of which a resample takes far less time than a value."""


def linear_draws(
    metric: Metric, options: dict[str, Any], sampler: Sampler, draws: Draws, count: int, seed: int, workers: int | None
) -> Floats | None:
    """Values of metrics of whole vectors that are functions of a few sums over rows; None for others."""
    if metric.id not in LINEAR or draws == "scores" or not isinstance(sampler, PredictionSampler):
        return None
    view, keywords = _whole_vectors(metric, options, sampler), {**metric.options, **options}
    found = None if view is None else LINEAR[metric.id](view, keywords)
    if view is None or found is None or view.n * max(view.k, found.factors.shape[1]) > MOST_ENTRIES:
        return None

    def values(sums: Floats, rows: Floats) -> list[float]:
        return [found.value(*one) for one in zip(sums, rows.tolist(), strict=True)]

    if draws == "rows":
        rows = np.hstack([found.by_label(view)[:, None] * found.factors, found.fixed])

        def measured(drawn: NDArray[np.int32]) -> list[float]:
            return values(drawn.astype(np.float64) @ rows, drawn.sum(axis=1))

        sample = _in_batches(measured, sampler, count, seed, workers)
        return None if sample is None or np.isnan(sample).any() else np.clip(sample, *metric.range)
    if view.k * RESAMPLES_PER_CLASS > count:
        return None
    p = sampler.predictions
    numbers = np.array([found.by_label(_with_label(metric, p, label, options)) for label in range(view.k)])
    everyone, fixed = np.arange(view.n), found.fixed.sum(axis=0)
    null: list[float] = []
    for start in range(0, count, step := max(1, COUNT_ENTRIES // view.n)):

        def draw(number: int, first: int = start) -> Floats:
            return np.asarray(numbers[simulated_labels(sampler, seed, first + number), everyone])

        sums = np.array(many(draw, min(step, count - start), workers)) @ found.factors
        sums = np.hstack([sums, np.broadcast_to(fixed, (len(sums), len(fixed)))])
        null += values(sums, np.full(len(sums), float(view.n)))
    # Undefined and infinite values are left to the formula.
    return None if np.isnan(null).any() else np.clip(null, *metric.range)


def _with_label(metric: Metric, p: Predictions, label: int, options: dict[str, Any]) -> Any:
    """The view of all rows with the same label."""
    everywhere = p.with_labels(np.full(p.n, label, np.uint8 if p.k == 2 else np.intp))
    return metric.views(everywhere, **view_keywords(metric, options))[0]


def _as_integers(scores: Floats) -> list[Floats]:
    """The upper and the lower bits of each score, in units of 2^-26 and 2^-62."""
    scaled = scores * 2.0 ** (SCORE_BITS - LOWER_BITS)
    upper = np.floor(scaled)
    return [upper, np.floor((scaled - upper) * 2.0**LOWER_BITS)]


def bootstrap_draws(
    metric: Metric, options: dict[str, Any], sampler: Sampler, count: int, seed: int, workers: int | None
) -> Floats | None:
    """Values of a metric on all bootstrap replicates; None where these are evaluated one by one."""
    found = vce_draws(metric, options, sampler, count, seed, workers)
    for draws in (classwise_draws, binned_draws, linear_draws):
        if found is None:
            found = draws(metric, options, sampler, "rows", count, seed, workers)
    return found


def null_draws(
    metric: Metric, options: dict[str, Any], sampler: Sampler, count: int, seed: int, workers: int | None
) -> Floats | None:
    """Values of a metric for all sets of simulated labels; None where these are evaluated one by one."""
    found = mean_draws(metric, options, sampler, count, seed)
    for draws in (classwise_draws, binned_draws, linear_draws):
        if found is None:
            found = draws(metric, options, sampler, "outcomes", count, seed, workers)
    return found

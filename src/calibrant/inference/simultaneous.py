"""Values of a metric on all resamples at once, where sums over rows are linear in how often a row is drawn, or in its label.

What depends on the predictions alone, such as the bin of a row or the loss of each label, is computed once and not for each resample. The
resamples are the same as one by one, and the values equal up to the order of additions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning.exact_sums import BinSums, uniform_slots
from ..binning.parse import are_edges, parse_binning, several_bins
from ..binning.rules import Edges, EqualWidth
from ..binning.table import weighted_power
from ..metrics.bin.bins import ece
from ..metrics.bin.variation import bins_of_variation, measure_of, ranked, vce
from ..metrics.registry import Metric, norm_root
from ..util.kernels import LOW_BITS, LOW_MASK
from ..util.sums import accurate_sum
from ..views.view import VectorView, View
from .resampling import Draws, PredictionSampler, Sampler, many, multiplicities, simulated_labels, view_keywords

__all__ = ["classwise_draws", "mean_draws", "vce_draws"]

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
    upper, lower = (np.empty((views[0].n, len(views))) for _ in range(2))
    for number, view in enumerate(views):
        scaled = view.score * 2.0 ** (SCORE_BITS - LOWER_BITS)
        upper[:, number] = np.floor(scaled)
        lower[:, number] = np.floor((scaled - upper[:, number]) * 2.0**LOWER_BITS)
    return [upper, lower]


def _sums_of_integers(upper: NDArray[Any], lower: NDArray[Any], positives: NDArray[np.int64]) -> BinSums:
    """Sums over bins from those of upper and lower bits."""
    above = LOW_BITS - LOWER_BITS
    whole = upper.astype(np.int64)
    low = ((whole & ((1 << above) - 1)) << LOWER_BITS) + lower.astype(np.int64)
    return BinSums(np.zeros_like(positives), positives, (whole >> above) + (low >> LOW_BITS), low & LOW_MASK)

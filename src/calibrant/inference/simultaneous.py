"""Values of a metric on all resamples at once, where sums over rows are linear in how often a row is drawn, or in its label.

What depends on the predictions alone, such as the bin of a row or the loss of each label, is computed once and not for each resample. The
resamples are the same as one by one, and the values equal up to the order of additions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import are_edges, several_bins
from ..binning.rules import Edges, EqualWidth
from ..binning.table import weighted_power
from ..metrics.bin.variation import bins_of_variation, measure_of, ranked, vce
from ..metrics.registry import Metric, norm_root
from ..util.sums import accurate_sum
from ..views.view import VectorView
from .resampling import PredictionSampler, Sampler, many, multiplicities, simulated_labels, view_keywords

__all__ = ["mean_draws", "vce_draws"]

Floats = NDArray[np.float64]

# Entries of the multiplicities held at a time, and of the values of rows; with more, resamples are evaluated one by one.
COUNT_ENTRIES = 1 << 22
MOST_ENTRIES = 1 << 24
# A loss is computed for each class once instead of once for each resample.
RESAMPLES_PER_CLASS = 4


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

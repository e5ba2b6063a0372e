"""Several models on the same rows, side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import CalibrantError
from ..inference.comparison import Comparison, compare
from ..input.predictions import Predictions
from ..metrics.registry import Metric
from ..recalibration.choosing import rows_summing_to_one
from ..util.results import number
from .content import ComparedDifference, ComparedMetric, ComparedModels, Side
from .recalibration import excluded_outcomes, most_rows, sampled_rows
from .settings import Settings
from .verdict import ALPHA
from .weaknesses import adjust_known
from .wording import metric_name

if TYPE_CHECKING:
    from .building import Report

COMPARED = ("nll", "brier", "smece", "ece")
# Resamples per pair of models; with them an adjusted p-value can reach half the significance level.
RESAMPLES_PER_PAIR = 40
# Resampled entries, over all resamples, models and metrics.
MOST_WORK, LEAST_ROWS = 2e9, 2_000


def compare_models(
    models: Mapping[str, Predictions], reports: tuple[Report, ...], settings: Settings
) -> ComparedModels:
    """Compare named predictions on the same rows by each metric and all pairwise differences, on the same resamples; `reports` are theirs."""
    first = next(iter(models.values()))
    pairs = len(models) * (len(models) - 1) // 2
    draws = max(settings.n_resamples, RESAMPLES_PER_PAIR * pairs)
    most = int(MOST_WORK / (draws * len(models) * len(settings.metrics) * first.k))
    rows = sampled_rows(first, min(most_rows(first.k), max(LEAST_ROWS, most)), settings.seed)
    notes = [f"Differences are based on {draws:,} resamples."]
    if len(rows) < first.n:
        notes.append(f"Differences use {len(rows):,} of {first.n:,} rows, sampled at random with the seed.")
    used = models if len(rows) == first.n else {name: p.take(rows) for name, p in models.items()}
    compared = tuple(_compared(used, metric, settings, draws) for metric in settings.metrics)
    infinite = [name for name in models if any(math.isinf(metric.values.get(name, 0.0)) for metric in compared)]
    notes += [
        f"{name} has an infinite loss: {excluded_outcomes(models[name]) or 'its differences cannot be tested'}."
        for name in infinite
    ]
    notes += [f"{metric.name}: {metric.note}." for metric in compared if metric.note]
    level = settings.known_level
    return ComparedModels(_best(compared), _sides(reports), compared, reports, ALPHA, level, tuple(notes))


def _sides(reports: tuple[Report, ...]) -> tuple[Side, ...]:
    """Return what the table has for each side; p-values are adjusted for their number."""
    pvalues = adjust_known([report.verdict.pvalue for report in reports])
    sides = []
    for report, adjusted in zip(reports, pvalues, strict=True):
        verdict, found = report.verdict, None if adjusted is None else adjusted <= ALPHA
        # The conclusions on two classes may be about the top label or about the event; the sides are about the same.
        means = (verdict.mean_score, verdict.rate, verdict.lens)
        if verdict.event_rate is not None:
            means = (verdict.event_mean_score, verdict.event_rate, "binary")
        rows = report.provenance.row_count
        sides.append(Side(report.title, rows, *means, verdict.pvalue, adjusted, found, verdict.detectable))
    return tuple(sides)


def _compared(parts: Mapping[str, Predictions], metric: Metric, settings: Settings, n_resamples: int) -> ComparedMetric:
    one = next(iter(parts.values()))
    if one.kind in ("binary", "multiclass"):
        parts = {name: rows_summing_to_one(p) for name, p in parts.items()}
    draws: dict[str, Any] = {"level": settings.known_level, "n_resamples": n_resamples, "rng": settings.seed}
    try:
        return compared_metric(metric, compare(parts, metric=metric, lens=settings.lens, **draws))
    except CalibrantError as error:
        return ComparedMetric(**_facts(metric), values={}, differences=(), rows=one.n, reason=error.problem)


def _facts(metric: Metric) -> dict[str, Any]:
    lower_is_better = metric.ideal == 0 and not metric.info.signed
    return {"id": metric.id, "name": metric.name, "ideal": metric.ideal, "lower_is_better": lower_is_better}


def compared_metric(metric: Metric, comparison: Comparison) -> ComparedMetric:
    """Return the differences of a metric, with p-values adjusted for the number of those that can be tested."""
    own = [d for d in comparison.differences if d.metric == metric.id]
    pvalues = [d.pvalue if math.isfinite(d.difference) else None for d in own]
    differences = []
    for d, adjusted in zip(own, adjust_known(pvalues), strict=True):
        tested: tuple[Any, ...] = (None,) * 5
        if adjusted is not None:
            tested = (d.low, d.high, d.pvalue, adjusted, adjusted <= ALPHA)
        differences.append(ComparedDifference(d.first, d.second, d.difference, *tested))
    return ComparedMetric(
        **_facts(metric),
        values=dict(comparison.values[metric.id]),
        differences=tuple(differences),
        rows=comparison.n,
        n_resamples=comparison.n_resamples,
        note=comparison.note,
    )


def _best(metrics: tuple[ComparedMetric, ...]) -> str:
    """Return the best model by the first metric, and which differences from it are significant."""
    usable = [m for m in metrics if m.lower_is_better and any(map(math.isfinite, m.values.values()))]
    # An infinite loss tells nothing of the other models: the next metric that all of them have decides.
    main = next((m for m in usable if all(map(math.isfinite, m.values.values()))), next(iter(usable), None))
    if main is None:
        return "No metric for which lower values are better has a finite value; see the table."
    best = min(main.values, key=lambda name: main.values[name])
    results = {True: "significant", False: "not significant", None: "infinite"}
    others = [
        f"from {d.second if d.first == best else d.first} {results[d.found]}"
        for d in main.differences
        if best in (d.first, d.second)
    ]
    text = (
        f"{best} has the lowest {metric_name(main.id)}, {number(main.values[best])} (difference {', '.join(others)})."
    )
    infinite = [name for name, value in metrics[0].values.items() if not math.isfinite(value)]
    if main is metrics[0] or not infinite:
        return text
    return f"{text} The {metric_name(metrics[0].id)} of {', '.join(infinite)} is infinite."

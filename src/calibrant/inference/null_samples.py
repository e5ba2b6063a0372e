"""What a test of a metric reads, and its values for simulated labels, which tests and intervals share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import ArgumentError, UndefinedMetricError
from ..input.predictions import Predictions
from ..metrics.registry import Metric
from ..util.arrays import Floats
from ..views.lenses import Lens, value_options
from ..views.resolve import Source as AnySource
from ..views.view import Summary, VectorView, View
from .cells import Draws, shared
from .metric_tests import NULL_DRAWS, TestInput, usual_side
from .resampling import (
    ROW_BY_ROW,
    Sampler,
    refuse_options_of_rows,
    value_of,
    values_on_resamples,
    views_of_metric,
)
from .sampler_choice import choose_sampler
from .simultaneous import resampled_values

Source = Predictions | View | VectorView

# Where a metric is undefined for some simulated labels, at most this many times the number of resamples is simulated.
MOST_ROUNDS = 20


def read_source(
    source: AnySource, lens: str | Lens | None, options: Mapping[str, Any]
) -> tuple[Source, dict[str, Any]]:
    """Predictions or a view, and the options of a metric with the lens; a sketch becomes the view of the lens."""
    if not isinstance(source, Summary):
        return source, {**options} if lens is None else {**options, "lens": lens}
    return source.view(lens or "auto"), {**options}


def prepare_test(
    metric: Metric,
    source: Source,
    options: dict[str, Any],
    alpha: float,
    alternative: str | None,
    n_resamples: int,
    seed: int,
) -> TestInput:
    """What a test of a metric reads."""
    views = views_of_metric(metric, source, options)
    if metric.id == "mean_confidence":
        problem = "mean_confidence does not depend on the labels, so that no outcome could be significant"
        raise ArgumentError("metric", problem, "use 'esce' or 'accuracy'")
    if any(view.is_soft for view in views):
        raise UndefinedMetricError("assess", "is not defined for soft labels")
    value = value_of(metric, views, value_options(options))
    side = alternative or usual_side(metric)
    return TestInput(metric, metric.arguments(options), views, value, alpha, side, n_resamples, seed)


def simulated_null(
    asked: TestInput, source: Source, options: dict[str, Any], draws: Draws, exact: bool
) -> tuple[Floats, str]:
    """Values of a metric under the null hypothesis, and how labels were simulated; an interval and a test share them, see `sharing`."""
    metric = asked.metric

    def simulate() -> tuple[Floats, str]:
        null = NULL_DRAWS[metric.id](asked) if metric.id in NULL_DRAWS and draws == "outcomes" else None
        if null is not None:
            return null, ROW_BY_ROW
        sampler = choose_sampler([(metric, options)], source, exact, draws)
        return draw_null([(metric, options)], sampler, asked, draws)[:, 0], sampler.unit

    key = "null", metric.id, tuple(sorted(options.items())), source, draws, exact, asked.n_resamples, asked.seed
    return shared(key, simulate)


def draw_null(plans: list[tuple[Metric, dict[str, Any]]], sampler: Sampler, asked: TestInput, draws: Draws) -> Floats:
    """Values of each metric under the null hypothesis, one row per simulated data set."""
    # Labels are simulated in the order of the rows; rows with counts are expanded.
    if draws == "scores" or asked.view.weight_kind == "counts":
        for metric, options in plans:
            refuse_options_of_rows(metric, options)
    null = resampled_values(plans, sampler, draws, asked.n_resamples, asked.seed)
    while len(plans) == 1 and len(null) < MOST_ROUNDS * asked.n_resamples:
        # Where the metric is undefined for some labels, others take their place.
        missing = asked.n_resamples - int((~np.isnan(null)).sum())
        if not missing:
            break
        more = range(len(null), len(null) + missing)
        null = np.concatenate([null, values_on_resamples(plans, sampler, draws, more, asked.seed)])
    for column, (metric, _) in enumerate(plans):
        if np.isnan(null[:, column]).all():
            raise UndefinedMetricError(metric.id, "is undefined in all simulated samples", "use more resamples or rows")
    return null

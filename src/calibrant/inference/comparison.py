"""`compare`: differences of metrics between models on the same rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, cast

import numpy as np

from ..errors import ArgumentError, ShapeError, UndefinedMetricError
from ..input.frames import check_same_rows
from ..input.predictions import Predictions
from ..metrics.registry import Metric, catalogue
from ..util.arrays import Floats
from ..util.checks import check_fraction, check_whole
from ..util.hashes import content_order
from ..util.results import Result, number, pvalue_clause, pvalue_text
from ..views.keywords import check_options, documents_keywords
from ..views.lenses import Lens
from ..views.resolve import check_paired, paired_models
from ..views.selections import Selection, parse_selection
from ..views.view import View
from .resampling import PredictionSampler, RowSampler, Sampler, options_of, refuse_options_of_rows, views_of_metric
from .sampler_choice import choose_sampler
from .seeds import seed_of
from .simultaneous import resampled_values

INFINITE = "differences from an infinite value cannot be tested"


@dataclass(frozen=True)
class Difference:
    """Difference of a metric between two models on the same rows.

    Parameters
    ----------
    metric : str
        Identifier of the metric.
    first, second : str
        Names of the models.
    difference : float
        Value of the first model minus that of the second.
    low, high : float
        Ends of the confidence interval of the difference.
    pvalue : float
        P-value of the null hypothesis that the difference is 0.
    least_pvalue : float, default 0.0
        Smallest p-value that the resamples can have.

    Examples
    --------
    >>> from calibrant.inference import Difference
    >>> Difference("brier", "new", "old", -0.02, -0.035, -0.005, 0.012)
    brier, new - old: -0.02000 [-0.03500, -0.005000], p = 0.012
    """

    metric: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    pvalue: float
    least_pvalue: float = 0.0

    def _reversed(self) -> Difference:
        """The second model minus the first."""
        models = replace(self, first=self.second, second=self.first)
        return replace(models, difference=-self.difference, low=-self.high, high=-self.low)

    def __repr__(self) -> str:
        ends = f"[{number(self.low)}, {number(self.high)}]"
        clause = pvalue_clause(self.pvalue, self.least_pvalue)
        return f"{self.metric}, {self.first} - {self.second}: {number(self.difference)} {ends}, {clause}"


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Values of metrics for several models and all pairwise differences.

    ``result["ece", "a", "b"]`` is the `Difference` of two models in this order, and ``result["a", "b"]`` that of the first metric.

    Parameters
    ----------
    values : dict of str to dict of str to float
        For each metric the value of each model.
    differences : tuple of Difference
        All pairwise differences, of one metric after another.
    level : float
        Confidence level of the intervals.
    n : int
        Number of rows.
    n_resamples : int
        Number of bootstrap replicates with defined values; the smallest of the metrics.
    note : str, default ""
        Caveats, such as few groups; empty if there are none.
    """

    values: dict[str, dict[str, float]]
    differences: tuple[Difference, ...]
    level: float
    n: int
    n_resamples: int
    note: str = ""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Identifiers of the metrics."""
        return tuple(self.values)

    def __getitem__(self, pair: tuple[str, ...]) -> Difference:
        for difference in self.differences:
            for found in (difference, difference._reversed()):
                names = (found.first, found.second)
                if pair in (names, (found.metric, *names)):
                    return found
        models = [*self.values[self.metrics[0]]]
        raise ArgumentError("pair", f"{pair!r} was not compared", f"write result[a, b] with two of {models}")

    def _columns(self) -> dict[str, list[Any]]:
        rows = [vars(found) for found in self.differences]
        return {name: [row[name] for row in rows] for name in Difference.__dataclass_fields__}

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [
            [
                d.metric,
                f"{d.first} - {d.second}",
                *map(number, (d.difference, d.low, d.high)),
                pvalue_text(d.pvalue, d.least_pvalue),
            ]
            for d in self.differences
        ]
        return ["metric", "difference", "value", "low", "high", "p-value"], rows

    def _title(self) -> str:
        lines = []
        for name, values in self.values.items():
            better = ""
            if name in catalogue:
                metric = catalogue[name]
                is_error = not metric.info.signed and (metric.proper == "strictly" or metric.ideal == metric.range[0])
                better = " (lower is better)" if is_error else ""
            models = ", ".join(f"{model} {number(value)}" for model, value in values.items())
            lines.append(f"{name}{better} on {self.n:,} rows: {models}")
        return "\n".join(lines)

    def _notes(self) -> list[str]:
        return [f"  note: {self.note}"] if self.note else []


@documents_keywords()
def compare(
    y_true: Any,
    y_prob: Mapping[str, Any] | None = None,
    *,
    metric: str | Metric | Iterable[str | Metric] = "brier",
    level: float = 0.95,
    n_resamples: int = 1000,
    cluster: bool = False,
    rng: Any = 0,
    lens: str | Lens | None = None,
    where: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> Comparison:
    r"""Compare models on the same rows by a paired bootstrap.

    Estimates the difference of each metric between each pair of models, with a confidence interval and the p-value of the null hypothesis
    that the population values are equal. Every bootstrap replicate contains the same rows for all models, so the dependence between
    their predictions is accounted for.

    Parameters
    ----------
    y_true : array-like of shape (N,), or mapping of str to Predictions
        Observed labels; or, without `y_prob`, the `Predictions` of each model, by name, for the same rows.
    y_prob : mapping of str to array-like, optional
        Predicted probabilities of each model, by name, for the same rows.
    metric : str, Metric or iterable of them, default "brier"
        Identifiers or aliases of metrics; their options, such as ``bins=``, are accepted as keywords.
    level
    n_resamples : int, default 1000
        Number of bootstrap replicates.
    cluster : bool, default False
        Whether to resample whole groups (those of ``Predictions(..., groups=...)``). With fewer than 20 groups p-values are too small and intervals too short, which
        the result notes: a 5% test of equal models rejected in 11% of simulated data sets with 8 groups.
    rng
    lens
    where
    sample_weight
    pos_label
    **options
        Options of the metrics; each metric receives those it accepts.

    Returns
    -------
    Comparison
        Result with the attributes ``values`` (by metric and model) and ``differences``; ``result["a", "b"]`` is the `Difference` of two
        models, and ``result["ece", "a", "b"]`` that of one of several metrics.

    Raises
    ------
    ArgumentError
        If fewer than two models or no metric are given, or an argument is out of range.
    ShapeError
        If a selection keeps different rows for different models.
    UndefinedMetricError
        If a metric is undefined for a model or for more than a tenth of the replicates.

    See Also
    --------
    interval : Confidence interval of a single value.
    assess : Test of calibration of one model.

    Notes
    -----
    With the estimated difference :math:`d` and replicates :math:`d_1, \dots, d_B` the p-value is

    .. math:: p = \frac{1 + \#\{b : |d_b - d| \ge |d|\}}{1 + B},

    and the interval is the one that inverts this test, symmetric about :math:`d`: it excludes 0 exactly if :math:`p < 1 -` `level`. P-values
    are not corrected for the number of pairs or metrics. The rows, or groups, are assumed independent.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, good = [0, 1] * 50, [0.2, 0.8] * 50
    >>> result = cal.compare(y, {"good": good, "flat": [0.5] * 100}, metric=["brier", "nll"], rng=0)
    >>> round(result["good", "flat"].difference, 2), round(result["nll", "good", "flat"].difference, 2)
    (-0.21, -0.47)
    """
    parts = _paired_rows(y_true, y_prob, sample_weight, pos_label, where)
    check_fraction(level, "level")
    check_whole(n_resamples, "n_resamples")
    least = math.ceil(1 / (1 - level) * (1 - 1e-12)) - 1  # 1 - 0.9 is a little below 0.1
    if n_resamples < least:
        raise ArgumentError("n_resamples", f"must be at least {least} for a level of {level:g}; got {n_resamples}")
    chosen = [catalogue[each] for each in ([metric] if isinstance(metric, str | Metric) else metric)]
    if not chosen:
        raise ArgumentError("metric", "is empty", "name at least one")
    check_options(compare, options, *chosen)
    if lens is not None:
        options["lens"] = lens
    for each in chosen:
        refuse_options_of_rows(each, options)
    whole = {name: PredictionSampler(p, cluster=cluster) for name, p in parts.items()}
    any_one, samplers = next(iter(whole.values())), whole
    if not cluster:
        order = content_order(*(column for p in parts.values() for column in p.content))
        samplers = {name: PredictionSampler(p.take(order)) for name, p in parts.items()}
    seed = seed_of(rng)

    values: dict[str, dict[str, float]] = {}
    differences: list[Difference] = []
    defined = n_resamples
    for each in chosen:
        own = options_of(each, options)
        values[each.id] = known = {name: sampler.whole().value(each, own) for name, sampler in whole.items()}
        for name, value in known.items():
            if math.isnan(value):
                raise UndefinedMetricError(each.id, f"is undefined for {name!r}")
        sample = _resampled_models(each, own, samplers, [*known.values()], n_resamples, seed)
        defined = min(defined, len(sample))
        for (i, first), (j, second) in combinations(enumerate(known), 2):
            difference = Difference(each.id, first, second, known[first] - known[second], math.nan, math.nan, math.nan)
            differences.append(_tested(difference, sample[:, [i, j]], level))
    is_finite = all(math.isfinite(value) for own in values.values() for value in own.values())
    note = "; ".join(filter(None, [any_one.note, "" if is_finite else INFINITE]))
    return Comparison(values, tuple(differences), level, any_one.predictions.n, defined, note)


def _resampled_models(
    metric: Metric,
    options: dict[str, Any],
    samplers: dict[str, PredictionSampler],
    values: list[float],
    n_resamples: int,
    seed: int,
) -> Floats:
    """The metric on resamples, with a column for each model; only resamples on which it is defined for all of them."""
    columns = [
        resampled_values([(metric, options)], sampler_of(metric, options, sampler), "rows", n_resamples, seed)
        for sampler in samplers.values()  # the same seed draws the same rows for all models
    ]
    sample = np.hstack(columns)
    # Infinite replicates of a finite value are treated as undefined.
    sample = sample[(np.isfinite(sample) | np.isinf(values) & ~np.isnan(sample)).all(axis=1)]
    if len(sample) < 0.9 * n_resamples:
        raise UndefinedMetricError(metric.id, f"is undefined in {n_resamples - len(sample)} of {n_resamples} resamples")
    return sample


def sampler_of(metric: Metric, options: dict[str, Any], sampler: PredictionSampler) -> Sampler:
    """A sampler of the same rows, with as few of their columns as the metric needs."""
    p = sampler.predictions
    if sampler.clusters is None and p.weight_kind != "counts":
        single = choose_sampler([(metric, options)], p, True, "rows")
        if isinstance(single, RowSampler) and single.view.n == p.n:
            (view,) = views_of_metric(metric, p, options)
            return RowSampler(cast(View, view))
    return sampler


def _paired_rows(y_true: Any, y_prob: Any, sample_weight: Any, pos_label: Any, where: Any) -> dict[str, Predictions]:
    """The selected rows of each model, which must be the same for all: others are not paired."""
    several = y_true if y_prob is None else y_prob
    if not isinstance(several, Mapping) or len(several) < 2:
        raise ArgumentError(
            "y_prob", "must be a mapping of at least two models", 'for example {"old": p_old, "new": p_new}'
        )
    models = paired_models(y_true, y_prob, sample_weight, pos_label)
    check_paired(models)
    check_same_rows(y_true, {"where": where})
    if isinstance(where, Selection):
        (first, p), *others = models.items()
        rows = where.mask(p)
        for name, other in others:
            apart = np.flatnonzero(rows != where.mask(other))
            if len(apart):
                row = int(apart[0] if p.kept is None else np.flatnonzero(p.kept)[apart[0]])
                problem = f"{where.name} selects different rows of {first!r} and {name!r}"
                raise ShapeError("y_prob", problem, "select the same rows for all, for example by a mask", row=row)
    return {name: parse_selection(where, p) for name, p in models.items()}


def _tested(difference: Difference, pairs: Floats, level: float) -> Difference:
    """A difference with its symmetric interval from the deviations of resampled ones, and the p-value of the test that it inverts.

    Errors are biased upwards on resampled rows, by different amounts for different models; an equal-tailed interval would take that bias
    for a difference. Infinite differences are not tested.
    """
    value = difference.difference
    if not math.isfinite(value):
        return difference
    off = np.sort(np.abs(pairs[:, 0] - pairs[:, 1] - value))
    beyond = np.sum(off >= abs(value) * (1 - 1e-12))
    # The number of replicates allowed beyond the ends is such that 0 is excluded exactly if the p-value is below 1 - level.
    allowed = math.floor((1 - level) * (1 + len(off)) * (1 + 1e-12))
    reach = float(off[-allowed]) if allowed else math.inf
    pvalue, least = float((1 + beyond) / (1 + len(off))), 1 / (1 + len(off))
    return replace(difference, low=value - reach, high=value + reach, pvalue=pvalue, least_pvalue=least)

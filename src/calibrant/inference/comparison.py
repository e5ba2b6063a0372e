"""`compare`: differences of a metric between models on the same rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
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
from .resampling import PredictionSampler, RowSampler, Sampler, refuse_options_of_rows, views_of_metric
from .sampler_choice import choose_sampler
from .seeds import seed_of
from .simultaneous import resampled_values

INFINITE = "differences from an infinite value cannot be tested"


@dataclass(frozen=True)
class Difference:
    """Difference of a metric between two models on the same rows.

    Parameters
    ----------
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
    >>> Difference("new", "old", -0.02, -0.035, -0.005, 0.012)
    new - old: -0.02000 [-0.03500, -0.005000], p = 0.012
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    pvalue: float
    least_pvalue: float = 0.0

    def __repr__(self) -> str:
        ends = f"[{number(self.low)}, {number(self.high)}]"
        clause = pvalue_clause(self.pvalue, self.least_pvalue)
        return f"{self.first} - {self.second}: {number(self.difference)} {ends}, {clause}"


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Values of a metric for several models and all pairwise differences.

    ``result["a", "b"]`` is the `Difference` of two models in this order.

    Parameters
    ----------
    metric : str
        Identifier of the metric.
    values : dict of str to float
        Value of each model.
    differences : tuple of Difference
        All pairwise differences.
    level : float
        Confidence level of the intervals.
    n : int
        Number of rows.
    n_resamples : int
        Number of bootstrap replicates with defined values.
    note : str, default ""
        Caveats, such as few groups; empty if there are none.
    """

    metric: str
    values: dict[str, float]
    differences: tuple[Difference, ...]
    level: float
    n: int
    n_resamples: int
    note: str = ""

    def __getitem__(self, pair: tuple[str, str]) -> Difference:
        for found in self.differences:
            if (found.first, found.second) == pair:
                return found
            if (found.second, found.first) == pair:
                ends = -found.high, -found.low
                return Difference(*pair, -found.difference, *ends, found.pvalue, found.least_pvalue)
        raise ArgumentError("pair", f"{pair!r} was not compared", f"write result[a, b] with two of {list(self.values)}")

    def _columns(self) -> dict[str, list[Any]]:
        rows = [vars(found) for found in self.differences]
        return {name: [row[name] for row in rows] for name in Difference.__dataclass_fields__}

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [
            [
                f"{d.first} - {d.second}",
                *map(number, (d.difference, d.low, d.high)),
                pvalue_text(d.pvalue, d.least_pvalue),
            ]
            for d in self.differences
        ]
        return ["difference", self.metric, "low", "high", "p-value"], rows

    def _title(self) -> str:
        models = ", ".join(f"{name} {number(value)}" for name, value in self.values.items())
        better = ""
        if self.metric in catalogue:
            metric = catalogue[self.metric]
            is_error = not metric.info.signed and (metric.proper == "strictly" or metric.ideal == metric.range[0])
            better = " (lower is better)" if is_error else ""
        return f"{self.metric}{better} on {self.n:,} rows: {models}"

    def _notes(self) -> list[str]:
        return [f"  note: {self.note}"] if self.note else []


@documents_keywords()
def compare(
    y_true: Any,
    y_prob: Mapping[str, Any] | None = None,
    *,
    metric: str | Metric = "brier",
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

    Estimates the difference of a metric between each pair of models, with a confidence interval and the p-value of the null hypothesis
    that the population values are equal. Every bootstrap replicate contains the same rows for all models, so the dependence between
    their predictions is accounted for.

    Parameters
    ----------
    y_true : array-like of shape (N,), or mapping of str to Predictions
        Observed labels; or, without `y_prob`, the `Predictions` of each model, by name, for the same rows.
    y_prob : mapping of str to array-like, optional
        Predicted probabilities of each model, by name, for the same rows.
    metric : str or Metric, default "brier"
        Identifier or alias of a metric; its options, such as ``bins=``, are accepted as keywords.
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
        Options of the metric.

    Returns
    -------
    Comparison
        Result with the attributes ``values`` (by model) and ``differences``; ``result["a", "b"]`` is the `Difference` of two models.

    Raises
    ------
    ArgumentError
        If fewer than two models are given or an argument is out of range.
    ShapeError
        If a selection keeps different rows for different models.
    UndefinedMetricError
        If the metric is undefined for a model or for more than a tenth of the replicates.

    See Also
    --------
    interval : Confidence interval of a single value.
    assess : Test of calibration of one model.

    Notes
    -----
    With the estimated difference :math:`d` and replicates :math:`d_1, \dots, d_B` the p-value is

    .. math:: p = \frac{1 + \#\{b : |d_b - d| \ge |d|\}}{1 + B},

    and the interval is the one that inverts this test, symmetric about :math:`d`: it excludes 0 exactly if :math:`p < 1 -` `level`. P-values
    are not corrected for the number of pairs. The rows, or groups, are assumed independent.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, good = [0, 1] * 50, [0.2, 0.8] * 50
    >>> result = cal.compare(y, {"good": good, "flat": [0.5] * 100}, metric="brier", rng=0)
    >>> round(result["good", "flat"].difference, 2)
    -0.21
    """
    several = y_true if y_prob is None else y_prob
    if not isinstance(several, Mapping) or len(several) < 2:
        raise ArgumentError(
            "y_prob", "must be a mapping of at least two models", 'for example {"old": p_old, "new": p_new}'
        )
    check_fraction(level, "level")
    check_whole(n_resamples, "n_resamples")
    least = math.ceil(1 / (1 - level) * (1 - 1e-12)) - 1  # 1 - 0.9 is a little below 0.1
    if n_resamples < least:
        raise ArgumentError("n_resamples", f"must be at least {least} for a level of {level:g}; got {n_resamples}")
    chosen = catalogue[metric]
    check_options(compare, options, chosen)
    if lens is not None:
        options["lens"] = lens
    refuse_options_of_rows(chosen, options)
    given = paired_models(y_true, y_prob, sample_weight, pos_label)
    check_paired(given)
    check_same_rows(y_true, {"where": where})
    _check_same_rows(where, given)
    parts = {name: parse_selection(where, p) for name, p in given.items()}
    samplers = {name: PredictionSampler(p, cluster=cluster) for name, p in parts.items()}
    any_one = next(iter(samplers.values()))
    values = {name: sampler.whole().value(chosen, options) for name, sampler in samplers.items()}
    for name, value in values.items():
        if np.isnan(value):
            raise UndefinedMetricError(chosen.id, f"is undefined for {name!r}")
    seed = seed_of(rng)

    plan = chosen, options
    if not cluster:
        order = content_order(*(column for p in parts.values() for column in p.content))
        samplers = {name: PredictionSampler(p.take(order)) for name, p in parts.items()}
    own = [sampler_of(*plan, sampler) for sampler in samplers.values()]
    # The same seed draws the same rows for all models.
    sample = np.hstack([resampled_values([plan], sampler, "rows", n_resamples, seed) for sampler in own])
    # Infinite replicates of a finite value are treated as undefined.
    sample = sample[(np.isfinite(sample) | np.isinf(list(values.values())) & ~np.isnan(sample)).all(axis=1)]
    if len(sample) < 0.9 * n_resamples:
        raise UndefinedMetricError(chosen.id, f"is undefined in {n_resamples - len(sample)} of {n_resamples} resamples")
    names = list(values)
    found = [
        _difference(names[i], names[j], values[names[i]] - values[names[j]], sample[:, [i, j]], level)
        for i, j in combinations(range(len(names)), 2)
    ]
    notes = [any_one.note, "" if np.isfinite(list(values.values())).all() else INFINITE]
    note = "; ".join(filter(None, notes))
    return Comparison(chosen.id, values, tuple(found), level, any_one.predictions.n, len(sample), note)


def sampler_of(metric: Metric, options: dict[str, Any], sampler: PredictionSampler) -> Sampler:
    """A sampler of the same rows, with as few of their columns as the metric needs."""
    p = sampler.predictions
    if sampler.clusters is None and p.weight_kind != "counts":
        single = choose_sampler([(metric, options)], p, True, "rows")
        if isinstance(single, RowSampler) and single.view.n == p.n:
            (view,) = views_of_metric(metric, p, options)
            return RowSampler(cast(View, view))
    return sampler


def _check_same_rows(where: Any, given: dict[str, Predictions]) -> None:
    """Raise if a selection that depends on the predictions keeps different rows for different models: they are not paired then."""
    if not isinstance(where, Selection):
        return
    (first, p), *others = given.items()
    rows = where.mask(p)
    for name, other in others:
        apart = np.flatnonzero(rows != where.mask(other))
        if len(apart):
            row = int(apart[0] if p.kept is None else np.flatnonzero(p.kept)[apart[0]])
            problem = f"{where.name} selects different rows of {first!r} and {name!r}"
            raise ShapeError("y_prob", problem, "select the same rows for all, for example by a mask", row=row)


def _difference(first: str, second: str, value: float, pairs: Floats, level: float) -> Difference:
    """Symmetric interval from the deviations of resampled differences, and the p-value of the test that it inverts.

    Errors are biased upwards on resampled rows, by different amounts for different models; an equal-tailed interval would take that bias
    for a difference.
    """
    if not math.isfinite(value):
        return Difference(first, second, value, math.nan, math.nan, math.nan)
    off = np.sort(np.abs(pairs[:, 0] - pairs[:, 1] - value))
    beyond = np.sum(off >= abs(value) * (1 - 1e-12))
    # The number of replicates allowed beyond the ends is such that 0 is excluded exactly if the p-value is below 1 - level.
    allowed = math.floor((1 - level) * (1 + len(off)) * (1 + 1e-12))
    reach = float(off[-allowed]) if allowed else math.inf
    pvalue, least = float((1 + beyond) / (1 + len(off))), 1 / (1 + len(off))
    return Difference(first, second, value, value - reach, value + reach, pvalue, least)

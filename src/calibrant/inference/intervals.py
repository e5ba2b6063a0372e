"""`interval`: confidence intervals of a metric, by inversion of its test, by the bootstrap, or in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from ..binning.parse import Bins, binning_rule
from ..binning.table import binomial_interval
from ..errors import ArgumentError, UndefinedMetricError
from ..input.predictions import Predictions
from ..metrics.bin.debiased import l2ce_bounds
from ..metrics.registry import Metric, catalogue
from ..util.arrays import Floats
from ..util.checks import check_choice, check_fraction, check_whole, least_resamples
from ..util.results import Record, number
from ..views.keywords import check_options, documents_keywords
from ..views.lenses import AnyView, Lens, has_one_event, shared_name, value_options
from ..views.resolve import resolve
from ..views.selections import Selection
from ..views.view import VectorView, View
from .cells import sharing_anyway
from .coefficient_intervals import COEFFICIENT, RATIO, ROBUST, Asked, Ends
from .inversion import Inversion
from .means import gamma_limits, moments_of, surprise_of, two_sided_quantile
from .metric_tests import TestInput
from .null_samples import prepare_test, read_source, simulated_null
from .resampling import (
    PredictionSampler,
    Sampler,
    clusters_of,
    few_groups,
    refuse_options_of_rows,
    value_of,
    views_of_metric,
)
from .sampler_choice import choose_sampler
from .seeds import seed_of
from .simultaneous import resampled_values

CLOSED_FORM = ("gamma", "normal", "asymptotic", "wald", "profile", ROBUST, "exact")
NOT_INVERTED = "'inversion' requires an error that is 0 for calibrated predictions, and labels that can be simulated"
METHODS = ("auto", "inversion", "bootstrap", "percentile", *CLOSED_FORM)
RAISED = (
    "bootstrap replicates of an error are biased upwards because rows repeat, so the interval is too high; "
    "method='inversion' has no such bias"
)
ONE_BIN = (
    "{:.0%} of the rows lie in one bin, which averages errors within it: the true error may lie above the interval"
)
BELOW_ZERO = "the estimate is negative, but the error cannot be, so the interval ends at 0"
FEWEST = 5
# Below this many rows of the rarer outcome, 95% intervals that are not derived for few events undercover.
FEW_EVENTS = 30
# Intervals of metrics that are valid for few events.
HOLD_FOR_FEW = {"expected_observed_ratio": ("asymptotic", "exact"), "accuracy": ("exact",)}
# Methods that cover at their level from five events on: in simulations 95 to 97% with ten events (the sandwich of a slope 90%), and at least
# 91% with three (the sandwich 71%).
HOLD_FROM_FIVE = ("wald", "profile")
FEW = "only {} rows have the rarer outcome, so the interval is too short"
FEW_FOR = "only {} rows have the rarer outcome; with fewer than {} such rows the {} interval may be too short"


@dataclass(frozen=True, repr=False)
class Interval(Record):
    """Confidence interval of a metric.

    Parameters
    ----------
    metric : str
        Identifier of the metric.
    value : float
        Estimate on the data.
    low, high : float
        Ends of the interval.
    level : float
        Confidence level.
    method : str
        How the interval was computed.
    n : int
        Number of rows; counts are added up.
    lens : str
        The event that was evaluated.
    n_resamples : int, default 0
        Number of bootstrap replicates with a defined value, or of sets of simulated labels of the test; 0 for closed forms.
    note : str, default ""
        Caveats, such as few events or a biased bootstrap; empty if there are none.
    sample : ndarray, optional
        Values of the bootstrap replicates, or for labels simulated from the predicted probabilities.
    """

    _hidden = ("sample",)

    metric: str
    value: float
    low: float
    high: float
    level: float
    method: str
    n: int
    lens: str
    n_resamples: int = 0
    note: str = ""
    sample: Floats | None = field(default=None, repr=False, compare=False)

    def _notes(self) -> list[str]:
        return [f"  note: {self.note}"] if self.note else []

    def _title(self) -> str:
        return f"{self.metric} {number(self.value)} [{number(self.low)}, {number(self.high)}] ({100 * self.level:g}%, {self.method})"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        row = [
            self.metric,
            number(self.value),
            number(self.low),
            number(self.high),
            f"{100 * self.level:g}%",
            self.method,
        ]
        return ["metric", "value", "low", "high", "level", "method"], [row]


@documents_keywords()
def interval(
    y_true: Any,
    y_prob: Any = None,
    *,
    metric: str | Metric = "ece",
    method: str = "auto",
    level: float = 0.95,
    n_resamples: int = 1000,
    cluster: bool = False,
    exact: bool = False,
    rng: Any = 0,
    lens: str | Lens | None = None,
    where: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> Interval:
    r"""Compute a confidence interval of a metric.

    The interval estimates the value of the metric in the population from which the rows were sampled. Use it to state the precision of
    an estimate; to test calibration use `assess`, because errors that are 0 for calibrated predictions are biased upwards.

    Parameters
    ----------
    y_true
    y_prob
    metric : str or Metric, default "ece"
        Identifier or alias of a metric; its options, such as ``bins=``, are accepted as keywords.
    method : str, default "auto"
        ``"inversion"`` is the interval of calibration errors that inverts their test; ``"percentile"`` and ``"bootstrap"`` resample rows,
        the latter with a correction for the bias of resampled errors; ``"gamma"`` and ``"normal"`` are for
        metrics that are means over rows (`brier`, `nll`, `ecd`). Coefficients of logistic recalibration (`cox_intercept`, `cox_slope`,
        `fixed_slope_intercept`, `calibration_in_the_large` with ``form="logit"``) have ``"wald"``, ``"profile"`` (profile likelihood)
        and ``"sandwich"``; `expected_observed_ratio` has ``"wald"`` (on the logarithmic scale), ``"exact"`` (Poisson) and
        ``"sandwich"``; `accuracy` has ``"exact"`` (binomial). ``"asymptotic"`` is the interval derived for the metric itself, where there is one (the above, `l2ce_interval`,
        `t_cal`). ``"auto"`` is described in the Notes.
    level
    n_resamples : int, default 1000
        Number of bootstrap replicates, or of sets of simulated labels of the test; ``"inversion"`` simulates a twentieth of them, at
        least 24, at each of six sizes of up to five shapes of miscalibration. `evaluate` has 200, so that its limits differ slightly.
    cluster : bool, default False
        Whether to resample whole groups (those of ``Predictions(..., groups=...)``), for rows that are dependent within groups; ``"sandwich"`` adds up their
        contributions instead. With fewer than 20 groups the interval is too short, which its note states. Otherwise groups have no effect: ``evaluate(..., level=0.95)``
        has intervals by group.
    exact : bool, default False
        Whether to resample row by row even where counts of cells of nearly equal score are accurate enough.
    rng
    lens
    where
    sample_weight
    pos_label
    **options
        Options of the metric.

    Returns
    -------
    Interval
        Result with the attributes ``value``, ``low``, ``high``, ``level``, ``method``, ``note`` and ``sample`` (bootstrap replicates, or
        values for labels simulated from the predicted probabilities).

    Raises
    ------
    ArgumentError
        If an argument is out of range, or `method` is not available for the metric.
    UndefinedMetricError
        If the metric is infinite, or undefined for more than a tenth of the replicates.

    See Also
    --------
    assess : Test of the null hypothesis of calibration.
    compare : Confidence intervals of differences between models.

    Notes
    -----
    ``"auto"`` takes ``"asymptotic"`` where the metric has it and the lens yields one score per row, which is ``"wald"`` for
    coefficients of logistic recalibration, or ``"sandwich"`` with `sample_weight`, and ``"exact"`` for `accuracy`; else ``"gamma"`` for means over rows; else
    ``"inversion"`` for errors that are 0 for calibrated predictions, where labels can be simulated (not with ``cluster=True``, soft labels,
    or rows selected by their labels); else ``"bootstrap"`` for these errors, and where the percentile interval does not contain the
    estimate; else ``"percentile"``. Without any event it takes ``"exact"`` or ``"profile"``, whose interval has one finite end.

    Estimates of a calibration error are biased upwards, by an amount that depends on how the miscalibration is spread over the cells of the
    metric. ``"inversion"`` consists of the errors that a test with simulated labels does not reject. An error of 0 is rejected exactly where
    `assess` with ``method="consistency"`` and the same `n_resamples` and `rng` has a p-value of at most 1 - `level`: the lower limit is 0
    if and only if it does not reject. For a larger error, labels are simulated from probabilities :math:`q` that have this error
    (the value of the metric with :math:`q` as soft labels): the predicted ones changed by a logistic recalibration, by a few terms selected by
    their significance (lower limit), or by equally many standard errors in every cell (upper limit); with fewer than 10 events
    or non-events also by the same difference everywhere (upper limit). Each limit is the wider one of its shapes. The
    interval is extended to an estimate above it, which occurs where cells have few rows: the data then hardly bound the error. Errors
    within bins cancel, so that a binned error can be smaller than the mean of :math:`|P(Y = 1 \mid \hat p) - \hat p|`, which no interval of a
    binned error bounds. Test statistics without a value for soft labels (`hosmer_lemeshow`) have an interval of their expected excess over that of
    calibrated predictions.

    ``"bootstrap"`` corrects for the bias that repeated rows add: with bootstrap quantiles :math:`q_l, q_u`, bootstrap mean
    :math:`\bar t` and estimate :math:`t`, the interval of a non-negative error is

    .. math:: \left[\sqrt{\max(2 t^2 - q_u^2, 0)},\; t + (\bar t - q_l)\right].

    It is too short where cells have few rows. ``"gamma"`` matches a gamma distribution to the mean, variance and skewness of the estimate and
    remains accurate for few events; ``"normal"`` uses the standard error alone.

    Intervals of logistic recalibration, with log-likelihood :math:`\ell` and the coefficient of interest :math:`\beta`:

    - ``"wald"``: :math:`\hat\beta \pm z\,\mathrm{se}(\hat\beta)` from the Fisher information, as R's ``confint.default``;
    - ``"profile"``: all :math:`\beta` with :math:`2(\ell(\hat\beta) - \max_\alpha \ell(\alpha, \beta)) \le \chi^2_{1}`, as R's ``confint``
      of a ``glm``;
    - ``"sandwich"``: as ``"wald"`` with a covariance that is valid if the regression is misspecified, for `sample_weight`, and for
      dependent rows (``cluster=True``); it is that of ``svyglm`` in R, which multiplies the covariance (HC0) by m / (m - 1) for m
      independent rows or groups. `assess` with ``method="sandwich"`` uses the same.

    For O observed events in n rows with expected number E, ``"wald"`` is :math:`O/E \cdot \exp(\pm z\sqrt{1/O - 1/n})` and
    ``"exact"`` consists of Garwood's limits of a Poisson mean divided by E, as for a standardised mortality ratio; it treats the expected
    number as known and is conservative unless events are rare. E/O is the inverse. For `accuracy`, ``"exact"`` consists of
    the limits of Clopper and Pearson, with the effective sample size for `sample_weight`. `n_resamples` and `rng` have no effect on these
    methods.

    All methods assume independent rows, or independent groups with ``cluster=True``.

    References
    ----------
    .. [1] Efron, B. and Tibshirani, R. J. (1993). An Introduction to the Bootstrap. Chapman and Hall.
    .. [2] Fay, M. P. and Feuer, E. J. (1997). Confidence intervals for directly standardized rates: a method based on the gamma
       distribution. Statistics in Medicine 16.
    .. [3] Venzon, D. J. and Moolgavkar, S. H. (1988). A method for computing profile-likelihood-based confidence intervals. Applied
       Statistics 37.
    .. [4] Debray, T. P. A. et al. (2017). A guide to systematic review and meta-analysis of prediction model performance. BMJ 356.
    .. [5] Sun, Y. et al. (2024). A confidence interval for the l2 expected calibration error. arXiv:2408.08998.

    Examples
    --------
    >>> import calibrant as cal
    >>> result = cal.interval([0, 1, 1, 1] * 25, [0.1, 0.4, 0.8, 0.9] * 25, metric="brier")
    >>> result
    brier 0.1050 [0.07718, 0.1419] (95%, gamma)
    >>> y, p = [0, 0, 1, 0, 1] * 20, [0.05, 0.2, 0.3, 0.4, 0.5] * 20
    >>> cal.interval(y, p, metric="cox_slope", method="profile")
    cox_slope 2.139 [1.286, 3.218] (95%, profile)
    """
    chosen = catalogue[metric]
    check_options(interval, options, chosen)
    check_choice(method, "method", METHODS)
    check_fraction(level, "level")
    check_whole(n_resamples, "n_resamples")
    source, options = read_source(resolve(y_true, y_prob, sample_weight, pos_label, where), lens, options)
    refuse_options_of_rows(chosen, options)
    views = views_of_metric(chosen, source, options)
    own = own_intervals(chosen, chosen.arguments(options))
    value = value_of(chosen, views, value_options(options))
    view = views[0]
    if not math.isfinite(value):
        method = _for_infinite(method, chosen, own, view)
    n = (int(view.total) if view.weight_kind == "counts" else view.n) // getattr(view, "events", 1)
    lens = shared_name(views)
    free = not cluster
    asked = Asked(chosen, cast(View, view), chosen.arguments(options), value, level)
    if cluster and method in own:
        rows: Any = view.rows
        clusters_of(rows)
        asked, free = asked._replace(clusters=np.asarray(rows.groups)), True
    method, ends = _in_closed_form(method, asked, free and has_one_event(views))
    if ends is not None:
        note = _note_of_closed_form(method, asked, views, ends)
        return Interval(chosen.id, value, *_in_range(asked, ends), level, method, n, lens, note=note)
    check_resamples(n_resamples, level)
    by_label = isinstance(where, Selection) and where.reads_labels
    simulates = is_error(chosen) and free and not by_label and not any(view.is_soft for view in views)
    seed = seed_of(rng)
    if method == "inversion" and not simulates:
        raise ArgumentError("method", NOT_INVERTED, "use 'bootstrap'")
    if method in ("auto", "inversion") and simulates:
        test = prepare_test(chosen, source, options, 1 - level, None, n_resamples, seed)
        method, (ends, sample) = "inversion", _by_inversion(test, source, options, exact)
        note = "" if value >= ends[0] else BELOW_ZERO
    else:
        sampler = _sampler_of_rows(chosen, options, source, exact, cluster)
        values = resampled_values([(chosen, options)], sampler, "rows", n_resamples, seed)[:, 0]
        sample = values[~np.isnan(values)]
        method, ends, note = _from_replicates(method, asked, sample, n_resamples)
        note = "; ".join(filter(None, [note, _few(views, method), sampler.note]))
        n_resamples = len(sample)
    return Interval(chosen.id, value, *_in_range(asked, ends), level, method, n, lens, n_resamples, note, sample)


def _sampler_of_rows(metric: Metric, options: dict[str, Any], source: Any, exact: bool, cluster: bool) -> Sampler:
    """What draws rows, or whole clusters of rows."""
    if not cluster:
        return choose_sampler([(metric, options)], source, exact, "rows")
    if not isinstance(source, Predictions):
        raise ArgumentError("y_true", "cluster resampling requires rows", "pass labels and scores")
    return PredictionSampler(source, cluster=True)


def _in_range(asked: Asked, ends: Ends) -> Ends:
    """Limits within the range of the metric, which for a loss is that of a certain prediction, from the right to the wrong class."""
    metric, view, options, value = asked[:4]
    lowest, highest = metric.range
    if metric.takes == "Block" and metric.info.ideal_for == "sure":
        k = view.k if isinstance(view, VectorView) else 2
        certain = (VectorView(np.eye(k)[:1], np.array([label]), None) for label in (0, k - 1))
        lowest, highest = sorted(metric.of_views([each], **options) for each in certain)
    return max(ends[0], min(lowest, value)), min(ends[1], max(highest, value))


def _by_inversion(test: TestInput, source: Any, options: dict[str, Any], exact: bool) -> tuple[Ends, Floats]:
    """The errors that a test with simulated labels does not reject, and the values for these labels."""
    sample, _ = simulated_null(test, source, options, "outcomes", exact)
    sampler = choose_sampler([(test.metric, options)], source, exact)
    with sharing_anyway():  # labels of all errors are simulated for the same scores
        return Inversion(test, options, sampler, sample[~np.isnan(sample)]).limits(), sample


def _from_replicates(method: str, asked: Asked, sample: Floats, count: int) -> tuple[str, tuple[float, float], str]:
    """The method and limits from the defined ones of so many bootstrap replicates, and a caveat where percentiles are biased."""
    if len(sample) < 0.9 * count:
        raise UndefinedMetricError(asked.metric.id, f"is undefined in {count - len(sample)} of {count} resamples")
    tail, error, value = (1 - asked.level) / 2, is_error(asked.metric), asked.value
    low, high = quantiles(sample, (tail, 1 - tail))
    if method != "percentile" and (error or not low <= value <= high):
        return "bootstrap", corrected_limits(asked.metric, value, sample, low, high), ""
    is_raised = error and float(np.median(sample)) - value > (high - low) / 8
    return "percentile", (low, high), RAISED if is_raised else ""


def check_resamples(n_resamples: int, level: float) -> None:
    """Raise if there are too few resamples for the ends of an interval at this level."""
    least = least_resamples(level)
    if n_resamples < least:
        raise ArgumentError("n_resamples", f"must be at least {least} for a level of {level:g}; got {n_resamples}")


def own_intervals(metric: Metric, options: dict[str, Any]) -> dict[str, Callable[[Asked], Ends]]:
    """The intervals derived for a metric with these options, by method; the first is the default."""
    if options.get("form") == "mean":  # a mean over rows
        return {}
    return OWN_INTERVALS.get(metric.id, {})


def _note_of_closed_form(method: str, asked: Asked, views: list[AnyView], ends: Ends) -> str:
    """Caveats of an interval in closed form: few events, one bin, an estimate below 0, few groups."""
    notes = ["" if method in HOLD_FOR_FEW.get(asked.metric.id, ()) else _few(views, method)]
    view = asked.view
    if asked.metric.id in ("t_cal", "l2ce_interval") and isinstance(view, View):
        cell, count = binning_rule(_bins_of(view, asked.options)).cells(view)
        share = float(np.bincount(cell, view.weights, count).max()) / view.total
        notes += [ONE_BIN.format(share) if share > 0.5 and len(view.ties.score) > count else ""]
    notes += ["" if asked.value >= ends[0] else BELOW_ZERO]
    notes += [] if asked.clusters is None else [few_groups(len(np.unique(asked.clusters)))]
    return "; ".join(filter(None, notes))


def _in_closed_form(method: str, asked: Asked, single: bool) -> tuple[str, Ends | None]:
    """The method, which ``"auto"`` leaves open, and both ends where no resampling is needed."""
    metric, view, options, value, level, clusters = asked
    own = own_intervals(metric, options) if single and isinstance(view, View) else {}
    rows = None
    if single and clusters is None:
        rows = metric.rows_of(view, options)
    if method == "auto" and value == 0 and "exact" in own and not view.has_real_weights:
        return "exact", own["exact"](asked)  # the same as the inverse, which is infinite
    if method in ("auto", "asymptotic") and own:
        method = next(iter(own))
        if method == "wald" and view.has_real_weights:
            method = ROBUST
    elif method == "auto" and rows is not None:
        method = "gamma"
    if method in own:
        return method, own[method](asked)
    if method in ("gamma", "normal") and rows is not None:
        if view.effective_size <= 1:
            raise UndefinedMetricError(metric.id, "has no standard error with one row")
        if method == "normal":
            return method, _normal(view, rows, value, level)
        more = surprise_of(metric, view, options)
        return method, gamma_limits(moments_of(view, rows, value), level, more)
    if method in CLOSED_FORM:
        if method == "asymptotic" and metric.id in OWN_INTERVALS and isinstance(view, VectorView):
            raise ArgumentError("method", "'asymptotic' requires one score per row", "use 'percentile'")
        raise _no_closed_form(method, asked, single)
    return method, None


def _no_closed_form(method: str, asked: Asked, single: bool) -> ArgumentError:
    """The error for a method that the metric does not have."""
    if not single:
        problem = f"{method!r} applies to one lens and rows that are resampled freely"
        return ArgumentError("method", problem, "use 'auto'")
    metric, known = asked.metric, [*own_intervals(asked.metric, asked.options)]
    if asked.options.get("form") == "mean" and metric.id in OWN_INTERVALS:
        known = ["gamma", "normal"]
    problem = f"{metric.id} has no {method} interval"
    if method in ("gamma", "normal"):
        problem = f"{method!r} requires a mean over rows, and {metric.id} is not one"
    return ArgumentError(
        "method", problem, f"use {', '.join(map(repr, known))} or 'bootstrap'" if known else "use 'auto'"
    )


def _for_infinite(method: str, metric: Metric, own: Mapping[str, Any], view: Any) -> str:
    """The method for an infinite value, as without any event: one of those whose interval has one finite end."""
    known = [] if view.has_real_weights else [name for name in ("exact", "profile") if name in own]
    if known and method in ("auto", *known):
        return known[0] if method == "auto" else method
    methods = " or ".join(f"method={name!r}" for name in known)
    raise UndefinedMetricError(
        metric.id,
        "is infinite, so it has no interval",
        f"use {methods} for a one-sided interval" if known else "check for scores of 0 or 1",
    )


def _few(views: list[Any], method: str) -> str:
    """A note on few events, for which neither the variance nor resamples represent the uncertainty."""
    view = views[0]
    if not has_one_event(views) or view.is_soft or method == "gamma" or not (isinstance(view, View) or view.k == 2):
        return ""
    rows = view.weights if view.weight_kind == "counts" else np.ones(view.n)
    events = float(rows @ (view.outcome if isinstance(view, View) else view.labels))
    rarer = min(events, float(rows.sum()) - events)
    needed = FEWEST if method in HOLD_FROM_FIVE else FEW_EVENTS
    if rarer >= needed:
        return ""
    if rarer < FEWEST and method not in HOLD_FROM_FIVE:
        return FEW.format(f"{rarer:g}")
    return FEW_FOR.format(f"{rarer:g}", needed, method)


def _bins_of(view: Any, options: dict[str, Any]) -> Bins:
    bins: Bins | None = options["bins"]
    if bins is not None:
        return bins
    return max(1, math.floor(view.effective_size ** (2 / (4 * options["smoothness"] + 1)) + 1e-9))


def is_error(metric: Metric) -> bool:
    """Whether the metric is a distance from calibration: 0 for calibrated scores in the population, positive in samples."""
    return metric.ideal == 0 and not metric.info.signed and metric.info.ideal_for == "calibrated"


def _l2ce(asked: Asked) -> Ends:
    """Interval of the squared error, asymptotically valid for calibrated and miscalibrated models (Sun et al. 2024)."""
    return l2ce_bounds(asked.view, _bins_of(asked.view, asked.options), asked.level, asked.options["unbiased"])


def _ratio(asked: Asked) -> Ends:
    """Observed over expected, a weighted number of events, by gamma limits; for expected over observed both ends are exchanged."""
    view = asked.view
    inverse = asked.options["form"] == "expected_observed"
    mean = float(view.mean(view.score))
    if mean == 0:
        raise UndefinedMetricError(asked.metric.id, "no event is expected, so it has no interval")
    if view.effective_size <= 1:
        raise UndefinedMetricError(asked.metric.id, "has no standard error with one row", "use method='exact'")
    if asked.value == 0:  # no row deviates from a ratio of 0, so that its variance would be 0
        raise UndefinedMetricError(asked.metric.id, "no event was observed", "use method='exact'")
    ratio = 1 / asked.value if inverse else asked.value
    rows = (view.outcome - view.score * ratio) / mean
    difference = catalogue["calibration_in_the_large"]
    more = -surprise_of(difference, view, dict(difference.options)) / mean
    low, high = gamma_limits(replace(moments_of(view, rows, 0.0), mean=ratio), asked.level, more)
    low = max(low, 0.0)
    if not inverse:
        return low, high
    return 1 / high, 1 / low if low > 0 else math.inf


def _proportion(asked: Asked) -> Ends:
    """Limits of a binomial proportion (Clopper and Pearson 1934), with the effective number of rows for weights (Korn and Graubard 1998)."""
    if asked.clusters is not None:
        problem = "'exact' requires independent rows, so it has no cluster=True"
        raise ArgumentError("method", problem, "use method='bootstrap'")
    rows = np.array(asked.view.effective_size)
    low, high = binomial_interval(asked.value * rows, rows, 1 - asked.level, "clopper_pearson")
    return float(low), float(high)


OWN_INTERVALS: dict[str, dict[str, Callable[[Asked], Ends]]] = {
    "accuracy": {"exact": _proportion},
    "expected_observed_ratio": {"asymptotic": _ratio, **RATIO},
    "t_cal": {"asymptotic": _l2ce},
    "l2ce_interval": {"asymptotic": _l2ce},
    "cox_intercept": COEFFICIENT,
    "cox_slope": COEFFICIENT,
    "calibration_in_the_large": COEFFICIENT,
    "fixed_slope_intercept": COEFFICIENT,
}


def _normal(view: Any, rows: Floats, value: float, level: float) -> tuple[float, float]:
    """Limits from the standard error of a weighted mean."""
    half = two_sided_quantile(level) * math.sqrt(moments_of(view, rows, value).variance)
    return value - half, value + half


def corrected_limits(metric: Metric, value: float, sample: Floats, low: float, high: float) -> tuple[float, float]:
    """Limits that contain the estimate and correct for the bias of the bootstrap, whose quantiles are `low` and `high`.

    The expected square of a non-negative error estimate is the true square plus a variance, which resampling adds once more: the lower
    limit subtracts it on the squared scale. The upper limit uses the spread of the replicates without a correction. Estimates that may be
    negative are already bias-corrected; their replicates, biased by repeated rows, are centred at the estimate.
    """
    centre = float(np.median(sample)) if np.isinf(sample).any() else float(sample.mean())
    down, up = max(high - centre, 0.0), max(centre - low, 0.0)
    if is_error(metric) and metric.range[0] == 0:
        lowest = math.sqrt(max(2 * value**2 - high**2, 0.0)) if math.isfinite(high) else 0.0
        lowest = min(lowest, value)
    else:
        lowest = value - down
    return max(lowest, metric.range[0]), min(value + up, max(metric.range[1], value))


def quantiles(sample: Floats, levels: tuple[float, float]) -> tuple[float, float]:
    """Quantiles of values that may be infinite, without interpolation in that case."""
    if np.isfinite(sample).all():
        low, high = np.quantile(sample, levels).tolist()
        return low, high
    ranked = np.sort(sample)
    place = [min(max(math.ceil(level * len(sample)) - 1, 0), len(sample) - 1) for level in levels]
    return float(ranked[place[0]]), float(ranked[place[1]])

"""interval: what value would other rows from the same source have given?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import bin_cells
from ..errors import Argument, ArgumentError, UndefinedMetricError, Use
from ..input.convert import is_number
from ..input.predictions import Predictions
from ..metrics.bin.debiased import l2ce_bounds
from ..metrics.curve.coefficients import line_of
from ..metrics.registry import Metric, catalogue
from ..util.checks import check_whole
from ..util.results import Record, number
from ..views.keywords import checks_keywords
from ..views.view import VectorView, View
from .means import gamma_limits, moments_of, surprise_of
from .pair_resampling import skce_draws
from .resampling import (
    PredictionSampler,
    Sampler,
    choose_sampler,
    generator,
    given_in_vain,
    many,
    not_used,
    refuse_options_of_rows,
    seed_of,
    view_words,
)
from .significance import read_source

__all__ = ["Interval", "bootstrap_sample", "interval"]

Floats = NDArray[np.float64]

METHODS = ("auto", "corrected", "percentile", "basic", "bca", "gamma", "normal", "asymptotic")
CLOSED_FORM = ("gamma", "normal", "asymptotic")
# Quantiles of the bootstrap inherit its bias; corrected levels (bca) take some of it away.
TOO_HIGH = {"percentile": "is too high", "bca": "may still be too high"}
RAISED = (
    "the bootstrap values of an error lie above its estimate, for repeated rows add to the error, so the interval {}; "
    "method='corrected' allows for this bias"
)
CORRECTED = "the estimate is biased upwards at this number of rows; the interval is corrected for the bias"
OUTSIDE = "the estimate lies outside the interval, for the bootstrap is biased; method='corrected' allows for this bias"
ONE_BIN = "{:.0%} of the rows lie in one bin, and errors that differ inside it are averaged: the true error may lie above the interval"
BELOW_ZERO = "the estimate is negative, which the error itself cannot be, so the interval ends at 0"
FEWEST = 5
# Below so many rows of the rarer outcome, 95 % intervals that are not made for few events cover less than they should.
FEW_EVENTS = 30
# Metrics whose own interval is made for few events.
HOLD_FOR_FEW = ("expected_observed_ratio",)
FEW = "only {} rows have the rarer outcome, so the interval is too short"
FEW_FOR = "only {} rows have the rarer outcome; with fewer than 30 such rows the {} interval may cover the true value less often than its level says"
ONE_SIDE = "nearly all resampled values lie on one side of the value, so the percentile interval is given"
# Corrected levels with fewer resampled values between them tell two ends apart by chance.
FEWEST_BETWEEN = 10


@dataclass(frozen=True, repr=False)
class Interval(Record):
    """A metric with the range of values that other rows from the same source would have given."""

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
    """What to know before trusting it; empty where there is nothing."""
    sample: Floats | None = field(default=None, repr=False, compare=False)
    unused: tuple[str, ...] = ()
    """Arguments that were given and made no difference, for nothing was resampled."""

    def _columns(self) -> dict[str, Sequence[Any]]:
        return {**super()._columns(), "unused": [", ".join(self.unused)]}

    def _notes(self) -> list[str]:
        unused = not_used(self.unused, f"the {self.method} interval is not resampled")
        return [f"  note: {text}" for text in (self.note, unused) if text]

    def _title(self) -> str:
        return f"{self.metric} {number(self.value)} [{number(self.low)}, {number(self.high)}] ({self.level:.0%}, {self.method})"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        row = [self.metric, number(self.value), number(self.low), number(self.high), f"{self.level:.0%}", self.method]
        return ["metric", "value", "low", "high", "level", "method"], [row]


@checks_keywords("metric", catalogue)
def interval(
    y_true: Any,
    y_prob: Any = None,
    *,
    metric: str | Metric = "ece",
    method: str = "auto",
    level: float = 0.95,
    n_resamples: int = 1000,
    cluster: bool = False,
    stratify: bool = False,
    exact: bool = False,
    rng: Any = None,
    workers: int | None = None,
    where: Any = None,
    **keywords: Any,
) -> Interval:
    """A confidence interval for a metric, by the bootstrap or in closed form.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities, or Predictions, a View or a Sketch; keywords of `Predictions` are taken too.
    metric
        Id or alias; its options are taken as keywords.
    method
        ``"percentile"``, ``"basic"``, ``"bca"`` and ``"corrected"`` resample rows. ``"corrected"`` allows for the bias of the
        bootstrap: errors estimated from few rows come out too high, and higher still on resampled rows; it always contains the estimate.
        ``"gamma"`` is for means over rows (`brier`, `nll`, `ecd`): the limits of a gamma distribution with the skewness of the mean, which
        hold for few events too; ``"normal"`` takes the standard error alone. ``"asymptotic"`` is the metric's own interval, where it
        has one (`l2ce_interval`, `t_cal`, `cox_intercept`, `cox_slope`, `expected_observed_ratio`) and one score is read of each row.
        ``"auto"`` takes that, gamma where the metric is a mean over rows, corrected for errors that are at best 0 and wherever
        the percentile interval would not contain the estimate, and percentile otherwise.
    level
        Nominal coverage.
    n_resamples
        Number of bootstrap replicates; not used, and named in `Interval.unused`, where the interval has a closed form.
    cluster
        Resample whole groups (``groups=``), for rows that belong together; with fewer than 20 of them the interval is too short,
        which its note says.
    stratify
        Keep the number of rows of each class.
    exact
        Draw single rows also where counts in cells would do.
    rng, workers
        See `assess`.
    where
        Which rows: a mask or a Selection.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.interval([0, 1, 1, 1] * 25, [0.1, 0.4, 0.8, 0.9] * 25, metric="brier")
    >>> round(found.low, 3), round(found.value, 3), round(found.high, 3)
    (0.077, 0.105, 0.142)
    """
    chosen = catalogue[metric]
    if method not in METHODS:
        raise ArgumentError("method", f"must be one of {', '.join(METHODS)}; got {method!r}")
    if not (is_number(level) and 0 < level < 1):
        raise ArgumentError("level", f"must lie between 0 and 1; got {level!r}", "for example 0.95")
    check_whole(n_resamples, "n_resamples")
    source, options = read_source(y_true, y_prob, where, keywords)
    refuse_options_of_rows(chosen, options)
    words = {word: value for word, value in options.items() if word != "lens"}
    views = chosen.views(source, **view_words(chosen, options))
    value = chosen.of_views(views, **words)
    if not math.isfinite(value):
        raise UndefinedMetricError(chosen.id, "is infinite, so it has no interval", "check for scores of 0 or 1")
    view = views[0]
    n = int(view.total) if view.weight_kind == "counts" else view.n
    lens = view.lens if len(views) == 1 else "classwise"
    single = cluster is False and stratify is False and len(views) == 1
    method, ends = _in_closed_form(method, chosen, view, {**chosen.options, **words}, value, level, single)
    if ends is not None:
        unused = given_in_vain(interval, n_resamples=n_resamples, exact=exact, rng=rng, workers=workers)
        few = "" if chosen.id in HOLD_FOR_FEW else _few(views, method)
        notes = [few, _in_one_bin(chosen, view, words), "" if ends[0] <= value <= ends[1] else BELOW_ZERO]
        note = "; ".join(filter(None, notes))
        return Interval(chosen.id, value, *ends, level, method, n, lens, note=note, unused=unused)
    least = math.ceil(10 / (1 - level) * (1 - 1e-12))  # 1 - 0.9 is a little below 0.1
    if n_resamples < least:
        raise ArgumentError("n_resamples", f"must be at least {least} for a level of {level:g}")
    sampler = _sampler(chosen, options, source, cluster, stratify, exact)
    sample = bootstrap_sample([(chosen, options)], sampler, n_resamples, seed_of(rng), workers)[:, 0]
    sample = sample[~np.isnan(sample)]
    if len(sample) < 0.9 * n_resamples:
        raise UndefinedMetricError(chosen.id, f"is undefined in {n_resamples - len(sample)} of {n_resamples} resamples")
    if method == "auto":
        low, high = quantiles(sample, ((1 - level) / 2, (1 + level) / 2))
        method = "corrected" if _is_error(chosen) or not low <= value <= high else "percentile"
    (low, high), notes = _ends(method, chosen, value, sample, level, lambda: _jackknife(chosen, options, sampler))
    notes += [_biased(chosen, "percentile" if notes else method, value, sample, (low, high))]
    notes += [_few(views, method), sampler.note]
    note = "; ".join(filter(None, notes))
    return Interval(chosen.id, value, low, high, level, method, n, lens, len(sample), note, sample)


def _in_closed_form(
    method: str, metric: Metric, view: Any, options: dict[str, Any], value: float, level: float, single: bool
) -> tuple[str, tuple[float, float] | None]:
    """The method, which ``"auto"`` leaves open, and both ends where nothing has to be drawn for them."""
    own = OWN_INTERVALS.get(metric.id) if single else None
    rows = metric.rows_of(view, {word: options[word] for word in metric.options}) if single else None
    if method == "auto":
        method = "asymptotic" if own and isinstance(view, View) else "auto" if rows is None else "gamma"
    if method == "asymptotic" and own is not None:
        return method, own(metric, view, options, value, level)
    if method in ("gamma", "normal") and rows is not None:
        if view.effective_size <= 1:
            raise UndefinedMetricError(metric.id, "has no standard error with one row")
        if method == "normal":
            return method, _normal(metric, view, rows, value, level)
        more = surprise_of(metric, view, {word: options[word] for word in metric.options})
        low, high = gamma_limits(moments_of(view, rows, value), level, more)
        return method, (max(low, metric.range[0]), min(high, metric.range[1]))
    if method in CLOSED_FORM:
        raise ArgumentError("method", _no_closed_form(method, metric, single), "use 'auto'")
    return method, None


def _no_closed_form(method: str, metric: Metric, single: bool) -> str:
    if not single:
        return f"{method!r} is for one lens and rows that are resampled freely"
    if method != "asymptotic":
        return f"{method!r} needs a mean over rows, and {metric.id} is not one{' with these options' if metric.is_row_mean else ''}"
    return f"{metric.id} has no interval of its own"


def _few(views: list[Any], method: str) -> str:
    """A note where outcomes hardly vary, so that neither their spread nor resamples of them show how far they could have."""
    view = views[0]
    if len(views) > 1 or view.is_soft or method == "gamma" or not (isinstance(view, View) or view.k == 2):
        return ""
    rows = view.weights if view.weight_kind == "counts" else np.ones(view.n)
    events = float(rows @ (view.outcome if isinstance(view, View) else view.labels))
    rarer = min(events, float(rows.sum()) - events)
    if rarer >= FEW_EVENTS:
        return ""
    return FEW.format(f"{rarer:g}") if rarer < FEWEST else FEW_FOR.format(f"{rarer:g}", method)


def _in_one_bin(metric: Metric, view: Any, words: dict[str, Any]) -> str:
    """A note where bins of equal width hardly tell scores apart."""
    if OWN_INTERVALS.get(metric.id) is not _l2ce or not isinstance(view, View):
        return ""
    cell, count = bin_cells(view, "equal_width", _bins_of(view, {**metric.options, **words}))
    share = float(np.bincount(cell, view.weights, count).max()) / view.total
    return ONE_BIN.format(share) if share > 0.5 and len(view.ties.score) > count else ""


def _bins_of(view: Any, options: dict[str, Any]) -> int:
    bins = options["bins"]
    if bins is not None:
        return int(bins)
    return max(1, math.floor(view.effective_size ** (2 / (4 * options["smoothness"] + 1)) + 1e-9))


def _is_error(metric: Metric) -> bool:
    """Whether it is a distance from calibration: 0 for calibrated scores, and larger on average in any sample of them."""
    return metric.ideal == 0 and not metric.signed and metric.ideal_for == "calibrated"


def _biased(metric: Metric, method: str, value: float, sample: Floats, ends: tuple[float, float]) -> str:
    """A note where the bootstrap lies above the error that it is of, and on what became of that."""
    low, high = ends
    above = _is_error(metric) and float(np.median(sample)) - value > (high - low) / 8
    if method == "corrected":
        return CORRECTED if above else ""
    if above and method in TOO_HIGH:
        return RAISED.format(TOO_HIGH[method])
    return "" if low <= value <= high else OUTSIDE


def _l2ce(metric: Metric, view: Any, options: dict[str, Any], value: float, level: float) -> tuple[float, float]:
    """For the squared error, whether or not the model is calibrated (Sun et al. 2024)."""
    if isinstance(view, VectorView):
        raise ArgumentError("method", "'asymptotic' requires one score per row", "use 'percentile'")
    return l2ce_bounds(view, _bins_of(view, options), level, options["unbiased"])


def _cox(place: int) -> Callable[..., tuple[float, float]]:
    def wald(metric: Metric, view: Any, options: dict[str, Any], value: float, level: float) -> tuple[float, float]:
        from scipy.special import ndtri

        fit = line_of(view, options["penalty"])
        spread = fit.sandwich if view.weight_kind == "importance" else fit.covariance
        half = float(ndtri((1 + level) / 2)) * math.sqrt(float(spread[place, place]))
        return value - half, value + half

    return wald


def _ratio(metric: Metric, view: Any, options: dict[str, Any], value: float, level: float) -> tuple[float, float]:
    """Expected over observed: the limits of its inverse, a weighted number of events, exchanged."""
    mean = float(view.mean(view.score))
    rows = (view.outcome - view.score / value) / mean
    difference = catalogue["calibration_in_the_large"]
    more = -surprise_of(difference, view, dict(difference.options)) / mean
    low, high = gamma_limits(replace(moments_of(view, rows, 0.0), mean=1 / value), level, more)
    return 1 / high, 1 / low if low > 0 else math.inf


OWN_INTERVALS: dict[str, Callable[..., tuple[float, float]]] = {
    "expected_observed_ratio": _ratio,
    "t_cal": _l2ce,
    "l2ce_interval": _l2ce,
    "cox_intercept": _cox(0),
    "cox_slope": _cox(1),
}


def bootstrap_sample(
    plans: list[tuple[Metric, dict[str, Any]]], sampler: Sampler, count: int, seed: int, workers: int | None
) -> Floats:
    """Values of each metric on resampled rows, one row for each resample."""
    if len(plans) == 1:
        found = skce_draws(*plans[0], sampler, count, seed, workers)
        if found is not None:
            return found[:, None]

    def work(number_: int) -> list[float]:
        drawn = sampler.bootstrap(generator(seed, number_))
        return [drawn.value(metric, options) for metric, options in plans]

    return np.array(many(work, count, workers), dtype=np.float64)


def _sampler(
    metric: Metric, options: dict[str, Any], source: Any, cluster: bool, stratify: bool, exact: bool
) -> Sampler:
    if not cluster and not stratify:
        if isinstance(source, VectorView):
            raise ArgumentError("y_true", "a view of whole vectors cannot be resampled", "pass Predictions")
        return choose_sampler([(metric, options)], source, exact, "rows")
    if cluster and stratify:
        raise ArgumentError("stratify", ("cannot be combined with ", Argument("cluster")), "give one of them")
    if not isinstance(source, Predictions):
        raise ArgumentError("y_true", "cluster and stratified resampling require rows", "pass labels and scores")
    return PredictionSampler(source, cluster=cluster, stratify=stratify)


def _normal(metric: Metric, view: Any, rows: Floats, value: float, level: float) -> tuple[float, float]:
    """From the standard error of a weighted mean, inside the range of the metric."""
    from scipy.special import ndtri

    half = float(ndtri((1 + level) / 2)) * math.sqrt(moments_of(view, rows, value).variance)
    return max(value - half, metric.range[0]), min(value + half, metric.range[1])


def _jackknife(metric: Metric, options: dict[str, Any], sampler: Sampler) -> float:
    """Acceleration: skewness of the values without one row each."""
    pairs = [(weight, drawn.value(metric, options)) for weight, drawn in sampler.left_out()]
    weight, values = np.array(pairs).T
    if not np.isfinite(values).all():
        raise UndefinedMetricError(metric.id, "is not finite without one of the rows", Use("method", "percentile"))
    off = float(weight @ values) / weight.sum() - values
    spread = float(weight @ off**2)
    return float(weight @ off**3) / (6 * spread**1.5) if spread > 0 else 0.0


def _ends(
    method: str, metric: Metric, value: float, sample: Floats, level: float, acceleration: Callable[[], float]
) -> tuple[tuple[float, float], list[str]]:
    alpha = (1 - level) / 2
    low, high = quantiles(sample, (alpha, 1 - alpha))
    if method == "percentile":
        return (low, high), []
    if method == "corrected":
        return _corrected(metric, value, sample, low, high), []
    if method == "basic":
        return (2 * value - high, 2 * value - low), []
    levels = bca_levels(value, sample, level, acceleration())
    if levels is None or (levels[1] - levels[0]) * len(sample) < FEWEST_BETWEEN:
        return (low, high), [ONE_SIDE]
    found = np.quantile(sample, levels, method="inverted_cdf").tolist()
    return (found[0], found[1]), []


def _corrected(metric: Metric, value: float, sample: Floats, low: float, high: float) -> tuple[float, float]:
    """Ends that contain the value and allow for the bias of the bootstrap, whose quantiles are `low` and `high`.

    The square of an error that cannot be negative is its true square plus a variance, which resampling adds once more: the
    lower end subtracts it on the scale of squares. The upper end takes the spread of the replicates and no credit for the bias. An estimate
    that may be negative has had its bias removed, and the replicates, biased by their repeated rows, are moved back to it.
    """
    centre = float(np.median(sample)) if np.isinf(sample).any() else float(sample.mean())
    down, up = max(high - centre, 0.0), max(centre - low, 0.0)
    if _is_error(metric) and metric.range[0] == 0:
        lowest = math.sqrt(max(2 * value**2 - high**2, 0.0)) if math.isfinite(high) else 0.0
        lowest = min(lowest, value)
    else:
        lowest = value - down
    return max(lowest, metric.range[0]), min(value + up, max(metric.range[1], value))


def quantiles(sample: Floats, levels: tuple[float, float]) -> tuple[float, float]:
    """Quantiles of values that may be infinite, between which nothing can be interpolated."""
    if np.isfinite(sample).all():
        low, high = np.quantile(sample, levels).tolist()
        return low, high
    ranked = np.sort(sample)
    place = [min(max(math.ceil(level * len(sample)) - 1, 0), len(sample) - 1) for level in levels]
    return float(ranked[place[0]]), float(ranked[place[1]])


def bca_levels(value: float, sample: Floats, level: float, acceleration: float) -> tuple[float, float] | None:
    """Quantiles to read after correction for bias and acceleration (Efron 1987); None where they do not exist."""
    from scipy.special import ndtr, ndtri

    below = (np.sum(sample < value) + 0.5 * np.sum(sample == value)) / len(sample)
    if not 0 < below < 1:
        return None
    shift = float(ndtri(below))
    found = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        step = shift + float(ndtri(tail))
        if 1 - acceleration * step <= 0:
            return None
        found.append(float(ndtr(shift + step / (1 - acceleration * step))))
    return found[0], found[1]

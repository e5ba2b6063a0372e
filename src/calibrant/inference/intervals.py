"""interval: what value would other rows from the same source have given?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import check_whole
from .._convert import is_number
from .._results import frame_of, html_lines, html_table, json_values, number
from .._signature import check_words
from ..errors import ArgumentError, UndefinedMetricError
from ..metrics.coefficients import line_of
from ..metrics.debiased import l2ce_bounds
from ..predictions import Predictions
from ..registry import Metric, catalogue
from ..view import VectorView, View
from .draws import (
    PredictionSampler,
    Sampler,
    choose_sampler,
    generator,
    many,
    refuse_options_of_rows,
    seed_of,
    view_words,
)
from .pairdraws import skce_draws
from .significance import read_source

__all__ = ["Interval", "bootstrap_sample", "interval"]

Floats = NDArray[np.float64]

METHODS = ("auto", "percentile", "basic", "bca", "normal", "asymptotic")
# Quantiles of the resampled values inherit what repeated rows add; corrected levels take some of it away, mirrored ones all.
TOO_HIGH = {"percentile": "is too high", "bca": "may still be too high"}
RAISED = (
    "resampled values lie above the value itself, for rows that repeat add to the error, so the interval {}; assess says whether "
    "it is chance, and the interval of l2ce_interval how large the error may be"
)
FEWEST = 5
FEW = (
    "only {} rows have the rarer outcome, so the interval is too short; calibration_curve and grade_tests give intervals of rates that "
    "hold for few"
)
ONE_SIDE = "nearly all resampled values lie on one side of the value, so the percentile interval is given"
# Corrected levels with fewer resampled values between them tell two ends apart by chance.
FEWEST_BETWEEN = 10


@dataclass(frozen=True)
class Interval:
    """A metric with the range of values that other rows from the same source would have given."""

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

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON knows them: what is infinite is the text ``"inf"``; the resampled values are left out."""
        return json_values(self._fields())

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "sample"}

    def to_frame(self) -> Any:
        """One row, as a frame of the library at hand."""
        return frame_of({name: [value] for name, value in self._fields().items()})

    def __repr__(self) -> str:
        text = f"{self.metric} {number(self.value)} [{number(self.low)}, {number(self.high)}] ({self.level:.0%}, {self.method})"
        return text + (f"\n  note: {self.note}" if self.note else "")

    def _repr_html_(self) -> str:
        row = [self.metric, number(self.value), number(self.low), number(self.high), f"{self.level:.0%}", self.method]
        note = f"note: {self.note}" if self.note else ""
        return html_table(["metric", "value", "low", "high", "level", "method"], [row]) + html_lines(note)


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
        ``"percentile"``, ``"basic"`` or ``"bca"`` resample rows; ``"normal"`` takes the standard error of a mean over rows.
        ``"asymptotic"`` is the metric's own large-sample interval, where it has one (`l2ce_interval`, `t_cal`, `cox_intercept`,
        `cox_slope`) and one score is read of each row. ``"auto"`` takes that, normal where the metric is a mean over rows, and percentile otherwise.
    level
        Coverage aimed at.
    n_resamples
        How many samples are drawn.
    cluster
        Draw whole groups (``groups=``), for rows that belong together.
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
    (0.076, 0.105, 0.134)
    """
    chosen = metric if isinstance(metric, Metric) else catalogue[metric]
    if method not in METHODS:
        raise ArgumentError("method", f"must be one of {', '.join(METHODS)}; got {method!r}")
    if not (is_number(level) and 0 < level < 1):
        raise ArgumentError("level", f"must lie between 0 and 1; got {level!r}", "for example 0.95")
    check_whole(n_resamples, "n_resamples")
    check_words(interval, keywords, chosen)
    source, options = read_source(y_true, y_prob, where, keywords)
    refuse_options_of_rows(chosen, options)
    words = {word: value for word, value in options.items() if word != "lens"}
    views = chosen.views(source, **view_words(chosen, options))
    value = chosen.of_views(views, **words)
    if not math.isfinite(value):
        raise UndefinedMetricError(chosen.id, "is infinite, so it has no interval", "look for scores of 0 or 1")
    view = views[0]
    n = int(view.total) if view.weight_kind == "counts" else view.n
    lens = view.lens if len(views) == 1 else "classwise"
    single = cluster is False and stratify is False and len(views) == 1
    method, ends = _in_closed_form(method, chosen, view, {**chosen.options, **words}, value, level, single)
    if ends is not None:
        return Interval(chosen.id, value, *ends, level, method, n, lens, note=_few(views))
    least = math.ceil(10 / (1 - level) * (1 - 1e-12))  # 1 - 0.9 is a little below 0.1
    if n_resamples < least:
        raise ArgumentError("n_resamples", f"must be at least {least} for a level of {level:g}")
    sampler = _sampler(chosen, options, source, cluster, stratify, exact)
    sample = bootstrap_sample([(chosen, options)], sampler, n_resamples, seed_of(rng), workers)[:, 0]
    sample = sample[~np.isnan(sample)]
    if len(sample) < 0.9 * n_resamples:
        raise UndefinedMetricError(chosen.id, f"has no value in {n_resamples - len(sample)} of {n_resamples} resamples")
    (low, high), notes = _ends(method, value, sample, level, lambda: _jackknife(chosen, options, sampler))
    notes += [_raised(chosen, "percentile" if notes else method, value, sample, high - low), _few(views), sampler.note]
    note = "; ".join(filter(None, notes))
    return Interval(chosen.id, value, low, high, level, method, n, lens, len(sample), note, sample)


def _in_closed_form(
    method: str, metric: Metric, view: Any, options: dict[str, Any], value: float, level: float, single: bool
) -> tuple[str, tuple[float, float] | None]:
    """The method, which ``"auto"`` leaves open, and both ends where nothing has to be drawn for them."""
    own = OWN_INTERVALS.get(metric.id) if single else None
    rows = metric.rows_of(view, {word: options[word] for word in metric.options}) if single else None
    if method == "auto":
        method = "asymptotic" if own and isinstance(view, View) else "percentile" if rows is None else "normal"
    if method == "asymptotic" and own is not None:
        return method, own(metric, view, options, value, level)
    if method == "normal" and rows is not None:
        return method, _normal(metric, view, rows, value, level)
    if method in ("asymptotic", "normal"):
        raise ArgumentError("method", _no_closed_form(method, metric, single), "use 'percentile'")
    return method, None


def _no_closed_form(method: str, metric: Metric, single: bool) -> str:
    if not single:
        return f"{method!r} is for one question about rows that are drawn freely"
    if method == "normal":
        return f"'normal' needs a mean over rows, and {metric.id} is none{' with these options' if metric.is_row_mean else ''}"
    return f"{metric.id} has no interval of its own"


def _few(views: list[Any]) -> str:
    """A note where outcomes hardly vary, so that neither their spread nor resamples of them show how far they could have."""
    view = views[0]
    if len(views) > 1 or not isinstance(view, View) or view.is_soft:
        return ""
    rows = view.weights if view.weight_kind == "counts" else np.ones(view.n)
    events = float(rows @ view.outcome)
    rarer = min(events, float(rows.sum()) - events)
    return FEW.format(f"{rarer:g}") if rarer < FEWEST else ""


def _raised(metric: Metric, method: str, value: float, sample: Floats, width: float) -> str:
    """A note where repeated rows have lifted an error and the interval with it."""
    error = metric.ideal == 0 and not metric.signed and metric.ideal_for == "calibrated"
    if error and method in TOO_HIGH and float(np.median(sample)) - value > width / 8:
        return RAISED.format(TOO_HIGH[method])
    return ""


def _l2ce(metric: Metric, view: Any, options: dict[str, Any], value: float, level: float) -> tuple[float, float]:
    """For the squared error, whether or not the model is calibrated (Sun et al. 2024)."""
    if isinstance(view, VectorView):
        raise ArgumentError("method", "'asymptotic' needs one score for each row", "use method='percentile'")
    bins = options["bins"]
    if bins is None:
        bins = max(1, math.floor(view.effective_size ** (2 / (4 * options["smoothness"] + 1)) + 1e-9))
    return l2ce_bounds(view, bins, level, options["unbiased"])


def _cox(place: int) -> Callable[..., tuple[float, float]]:
    def wald(metric: Metric, view: Any, options: dict[str, Any], value: float, level: float) -> tuple[float, float]:
        from scipy.special import ndtri

        fit = line_of(view, options["penalty"])
        spread = fit.sandwich if view.weight_kind == "importance" else fit.covariance
        half = float(ndtri((1 + level) / 2)) * math.sqrt(float(spread[place, place]))
        return value - half, value + half

    return wald


OWN_INTERVALS: dict[str, Callable[..., tuple[float, float]]] = {
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
            raise ArgumentError("y_true", "is a view of whole vectors, which cannot be drawn again", "pass Predictions")
        return choose_sampler([(metric, options)], source, exact, "rows")
    if cluster and stratify:
        raise ArgumentError("stratify", "and cluster exclude each other", "choose one")
    if not isinstance(source, Predictions):
        raise ArgumentError("y_true", "must be rows for cluster or stratified resampling", "pass labels and scores")
    return PredictionSampler(source, cluster=cluster, stratify=stratify)


def _normal(metric: Metric, view: Any, rows: Floats, value: float, level: float) -> tuple[float, float]:
    """From the standard error of a weighted mean, inside the range of the metric."""
    from scipy.special import ndtri

    weight = view.weights if view.weight_kind != "importance" else view.weights**2
    n = view.effective_size
    if n <= 1:
        raise UndefinedMetricError(metric.id, "has no standard error with one row")
    variance = float(weight @ (rows - value) ** 2) / view.total**2 * n / (n - 1)
    half = float(ndtri((1 + level) / 2)) * math.sqrt(variance)
    return max(value - half, metric.range[0]), min(value + half, metric.range[1])


def _jackknife(metric: Metric, options: dict[str, Any], sampler: Sampler) -> float:
    """Acceleration: skewness of the values without one row each."""
    pairs = [(weight, drawn.value(metric, options)) for weight, drawn in sampler.left_out()]
    weight, values = np.array(pairs).T
    if not np.isfinite(values).all():
        raise UndefinedMetricError(metric.id, "has no finite value without one of the rows", "use method='percentile'")
    off = float(weight @ values) / weight.sum() - values
    spread = float(weight @ off**2)
    return float(weight @ off**3) / (6 * spread**1.5) if spread > 0 else 0.0


def _ends(
    method: str, value: float, sample: Floats, level: float, acceleration: Callable[[], float]
) -> tuple[tuple[float, float], list[str]]:
    alpha = (1 - level) / 2
    low, high = quantiles(sample, (alpha, 1 - alpha))
    if method == "percentile":
        return (low, high), []
    if method == "basic":
        return (2 * value - high, 2 * value - low), []
    levels = bca_levels(value, sample, level, acceleration())
    if levels is None or (levels[1] - levels[0]) * len(sample) < FEWEST_BETWEEN:
        return (low, high), [ONE_SIDE]
    found = np.quantile(sample, levels, method="inverted_cdf").tolist()
    return (found[0], found[1]), []


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

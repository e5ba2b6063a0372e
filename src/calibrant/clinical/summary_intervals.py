"""Intervals of the statistics of `clinical.summary`: closed forms, a score interval of C, and the jackknife."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning.table import binomial_interval
from ..curves.logistic_regression import logit
from ..errors import CalibrantError
from ..evaluation.discrimination import auroc_with_error, placement_values
from ..inference.intervals import interval
from ..inference.means import two_sided_quantile
from ..metrics.hints import inside
from ..util.arrays import Floats
from ..views.view import View

Codes = NDArray[np.intp]
Limits = tuple[float, float]
Methods = dict[str, tuple[str, Limits]]

# Methods of `interval`, as papers name them.
INTERVALS = {
    "wald": "Wald",
    "asymptotic": "gamma",
    "profile": "profile likelihood",
    "inversion": "test inversion",
    "bootstrap": "corrected bootstrap",
    "percentile": "percentile bootstrap",
}
COEFFICIENTS = (("intercept", "fixed_slope_intercept"), ("joint_intercept", "cox_intercept"), ("slope", "cox_slope"))
# Events for which the variance of C by Hanley and McNeil counts beside that of DeLong, which is too small with few events.
PRIOR_EVENTS = 3
# Derivative of the scale on which an estimate is closer to normal, and the way back.
LOGIT = (lambda x: 1 / (x * (1 - x)), lambda x, step: 1 / (1 + (1 - x) / x * math.exp(-step)))
LOG = (lambda x: 1 / x, lambda x, step: x * math.exp(step))
LOG_REST = (lambda x: 1 / (1 - x), lambda x, step: 1 - (1 - x) * math.exp(-step))
AS_IS = (lambda x: 1.0, lambda x, step: x + step)
Scale = tuple[Callable[[float], float], Callable[[float, float], float]]
SCALES: dict[str, Scale] = {
    **dict.fromkeys(("prevalence", "c"), LOGIT),
    **dict.fromkeys(("brier", "oe", "eo"), LOG),
    **dict.fromkeys(("scaled_brier", "r2"), LOG_REST),
}


def limits_of(view: View, values: Mapping[str, float], level: float, clusters: Codes | None) -> Methods:
    """Method and limits of each statistic with a closed form or a jackknife; `clusters` numbers the groups of dependent rows from 0."""
    limits = jackknife_limits(view, values, level, clusters)
    if clusters is None:
        limits |= closed_forms(view, values, level)
    if clusters is None and not view.has_real_weights:
        low, high = binomial_interval(np.array([values["events"]]), np.array([values["n"]]), 1 - level, "wilson")
        limits["prevalence"] = "Wilson", (float(low[0]), float(high[0]))
        if "c" in values:
            limits["c"] = "score", c_limits(view, level)
        if "u" in limits:
            low_u, high_u = _noncentral_limits(values, level)
            own = limits["u"][1]
            ends = min(low_u, max(own[0], 0.0), values["u"]), max(high_u, own[1])
            limits["u"] = "noncentral chi-square or jackknife", ends
    if "c" in limits:
        method, ends = limits["c"]
        limits["dxy"] = method, (2 * ends[0] - 1, 2 * ends[1] - 1)
    return limits


def closed_forms(view: View, values: Mapping[str, float], level: float) -> Methods:
    """Intervals of `calibrant.interval` in closed form: intercepts, slope, ratios and, without weights, the Brier score."""
    limits: Methods = {}
    tasks: list[tuple[str, str, View, dict[str, Any]]] = [
        *((id, metric, inside(view), {}) for id, metric in COEFFICIENTS if id in values),
        ("eo", "expected_observed_ratio", view, {}),
        ("oe", "expected_observed_ratio", view, {"form": "observed_expected"}),
    ]
    if not view.has_real_weights:
        tasks += [("brier", "brier", view, {})]
    for id, metric, rows, options in tasks:
        try:
            estimate = interval(rows, metric=metric, level=level, **options)
        except CalibrantError:  # undefined, or infinite
            continue
        if estimate.low == estimate.high:  # such as a Brier score of 0, whose uncertainty the rows do not show
            continue
        limits[id] = INTERVALS.get(estimate.method, estimate.method), (estimate.low, estimate.high)
    return limits


def c_limits(view: View, level: float) -> Limits:
    """Score limits of C: all values from which the estimate differs by at most the normal quantile times the standard error there.

    The variance as a function of C is that of Hanley and McNeil (1982), multiplied by the ratio of DeLong's variance to it at the
    estimate; the ratio is drawn towards 1, the more the fewer rows have the rarer outcome.
    """
    from scipy.optimize import brentq

    value, error = auroc_with_error(view)
    events = float(view.weights @ view.outcome)
    others = view.total - events
    rarer = min(events, others)
    ratio = 1.0
    if 0 < value < 1 and not math.isnan(error):
        ratio = (rarer * error**2 / hanley_variance(value, events, others) + PRIOR_EVENTS) / (rarer + PRIOR_EVENTS)
    quantile = two_sided_quantile(level)

    def excess(c: float) -> float:
        return (value - c) ** 2 - quantile**2 * ratio * hanley_variance(c, events, others)

    # At the ends and at an estimate of 0 or 1 the variance is 0.
    ends = []
    for end, step in ((0.0, 1e-9), (1.0, -1e-9)):
        is_inside = value != end and excess(end + step) > 0
        ends.append(float(brentq(excess, end + step, value - step)) if is_inside else end)
    return ends[0], ends[1]


def hanley_variance(c: float, events: Any, others: Any) -> Any:
    """Variance of the C statistic where the scores of both outcomes are exponential (Hanley and McNeil 1982)."""
    both, alone = c / (2 - c), 2 * c * c / (1 + c)
    return (c * (1 - c) + (events - 1) * (both - c * c) + (others - 1) * (alone - c * c)) / (events * others)


def _noncentral_limits(values: Mapping[str, float], level: float) -> Limits:
    """Limits of U from the noncentrality of its chi-square."""
    from scipy.special import chdtr, chndtrinc

    statistic, n = values["u_chi2"], values["n"]
    freedom = round(statistic - n * values["u"])
    if freedom == 0:
        return 0.0, 0.0
    shares = (1 + level) / 2, (1 - level) / 2
    low, high = (chndtrinc(statistic, freedom, p) if chdtr(freedom, statistic) > p else 0.0 for p in shares)
    return float(low) / n, float(high) / n


def jackknife_limits(view: View, values: Mapping[str, float], level: float, clusters: Codes | None) -> Methods:
    """Limits from the influence of rows or groups, by the t distribution with one degree of freedom less than the rarer outcome has rows."""
    from scipy.special import stdtrit

    weight = view.weights
    sizes = []
    for part in (view.outcome == 1, view.outcome == 0):
        own = weight[part]
        squares = float(np.square(own).sum()) if view.weight_kind == "importance" else float(own.sum())
        sizes.append(float(own.sum()) ** 2 / squares if squares > 0 else 0.0)
    if clusters is not None:
        sizes.append(float(clusters.max() + 1))
    if min(sizes) < 2:
        return {}
    quantile = float(stdtrit(min(sizes) - 1, (1 + level) / 2))
    limits: Methods = {}
    for id, influence in influences(view, values).items():
        value, (derivative, back) = values[id], SCALES.get(id, AS_IS)
        error = standard_error(view, influence, clusters)
        if id in (
            "u",
            "q",
        ):  # the chi-square of U has two degrees of freedom and their variance, which the influence does not show
            error = math.hypot(error, 2 / view.effective_size)
        if error > 0 and math.isfinite(value) and not (id in SCALES and value in (0, 1)):
            step = quantile * error * derivative(value)
            limits[id] = "jackknife", (back(value, -step), back(value, step))
    return limits


def standard_error(view: View, influence: Floats, clusters: Codes | None) -> float:
    """Infinitesimal jackknife; rows of a group are added up first."""
    weight, total = view.weights, view.total
    if clusters is not None:
        sums, count = np.bincount(clusters, weight * influence), float(clusters.max() + 1)
        squares = float(np.square(sums).sum())
    elif view.weight_kind == "importance":
        squares, count = float(np.square(weight * influence).sum()), float(view.n)
    else:
        squares, count = float(weight @ np.square(influence)), total
    return math.sqrt(squares * count / (count - 1)) / total


def influences(view: View, values: Mapping[str, float]) -> dict[str, Floats]:
    """Influence of each row: the derivative of a statistic with respect to the share of the row; for an event rate inside (0, 1)."""
    y, p = view.outcome.astype(np.float64), view.score
    rate = values["prevalence"]
    spread, above_rate = rate * (1 - rate), y - rate
    loss = np.square(y - p) - values["brier"]
    _, below, above = placement_values(p, y, view.weights)
    c = values["c"]
    influence_of = {
        "prevalence": above_rate,
        "brier": loss,
        "scaled_brier": ((1 - values["scaled_brier"]) * (1 - 2 * rate) * above_rate - loss) / spread,
        "c": y * (below - c) / rate + (1 - y) * (above - c) / (1 - rate),
    }
    if values["mean_risk"] > 0:
        relative = y / rate - p / values["mean_risk"]
        influence_of |= {"oe": values["oe"] * relative, "eo": -values["eo"] * relative}
    if math.isfinite(values["d"]):
        influence_of |= _likelihood_influences(view, values)
    used = (p >= 1e-12) & (p <= 1 - 1e-12)
    log_odds = logit(p)
    if "intercept" in values and math.isfinite(values["intercept"]):
        risk = _expit(values["intercept"] + log_odds)
        influence_of["intercept"] = used * (y - risk) / view.mean(used * risk * (1 - risk))
    if "slope" in values:
        risk = _expit(values["joint_intercept"] + values["slope"] * log_odds)
        columns = used[:, None] * np.column_stack([np.ones(view.n), log_odds])
        weight = view.weights * risk * (1 - risk) / view.total
        both = (columns * (y - risk)[:, None]) @ np.linalg.inv(columns.T @ (weight[:, None] * columns))
        influence_of |= {"joint_intercept": both[:, 0], "slope": both[:, 1]}
    return influence_of


def _likelihood_influences(view: View, values: Mapping[str, float]) -> dict[str, Floats]:
    """Influence on D, R2, U and Q; risks of 0 and 1 that agree with the outcome have the likelihood 1."""
    y, p, rate = view.outcome, view.score, values["prevalence"]
    used, log_odds = (p > 0) & (p < 1), logit(p)

    def log_likelihood(eta: Floats) -> Floats:
        return np.where(used, y * eta - np.logaddexp(0, eta), 0.0)

    null = np.where(y == 1, math.log(rate), math.log1p(-rate))
    own = log_likelihood(log_odds)
    gain, entropy = 2 * (own - null), -2 * null
    mean_gain, mean_entropy = view.mean(gain), view.mean(entropy)
    ceiling = -math.expm1(-mean_entropy)
    influence_of = {
        "d": gain - mean_gain,
        "r2": (
            math.exp(-mean_gain) * (gain - mean_gain)
            - values["r2"] * math.exp(-mean_entropy) * (entropy - mean_entropy)
        )
        / ceiling,
    }
    if "slope" in values:
        best = log_likelihood(values["joint_intercept"] + values["slope"] * log_odds)
        lost = 2 * (best - own)
        influence_of["u"] = lost - view.mean(lost)
        influence_of["q"] = influence_of["d"] - influence_of["u"]
    return influence_of


def _expit(x: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(x / 2)))

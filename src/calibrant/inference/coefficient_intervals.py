"""Intervals of the calibration intercept and slope and of the ratio of expected to observed events: Wald, profile likelihood, sandwich, exact."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..curves.logistic_regression import LARGEST_LOGIT, logit
from ..errors import ArgumentError, UndefinedMetricError, WeightsNotSupportedError
from ..metrics.curve.coefficients import line_of
from ..metrics.registry import Metric
from ..util.arrays import Floats
from ..util.sums import accurate_sum
from ..views.view import View
from .means import two_sided_quantile

Ends = tuple[float, float]

ROBUST = "sandwich"
# First guess of the end of a profile, in standard errors.
FIRST_STEP, MOST_STEPS = 2.5, 100


class Asked(NamedTuple):
    """What an interval is computed from."""

    metric: Metric
    view: View
    options: dict[str, Any]
    value: float
    level: float
    clusters: NDArray[Any] | None = None
    """Group of each row, where rows of a group are dependent."""

    @property
    def z(self) -> float:
        return two_sided_quantile(self.level)


class Regression(NamedTuple):
    """A logistic regression of the outcome on columns, with an offset, at its maximum."""

    columns: Floats
    offset: Floats
    weight: Floats
    outcome: Floats
    coefficients: Floats
    place: int
    """Column of the coefficient of interest."""

    def log_likelihood(self, coefficients: Floats) -> float:
        eta = self.offset + self.columns @ coefficients
        return float((self.weight * (self.outcome * eta - np.logaddexp(0, eta))).sum())

    def information(self, coefficients: Floats) -> Floats:
        mu = _sigmoid(self.offset + self.columns @ coefficients)
        return np.asarray(self.columns.T @ ((self.weight * mu * (1 - mu))[:, None] * self.columns))

    def scores(self) -> Floats:
        """Contribution of each row to the gradient, at the maximum and for weight 1."""
        mu = _sigmoid(self.offset + self.columns @ self.coefficients)
        return np.asarray((self.outcome - mu)[:, None] * self.columns)


def _sigmoid(eta: Floats) -> Floats:
    small = np.exp(-np.abs(eta))
    return np.where(eta >= 0, 1.0, small) / (1 + small)


def _regression(asked: Asked) -> Regression:
    """The regression whose coefficient the metric is: of a line in log-odds, or of a shift of all log-odds."""
    view = asked.view
    if asked.metric.id in ("cox_intercept", "cox_slope"):
        x = logit(view.score)
        columns = np.column_stack([np.ones(view.n), x])
        found = line_of(view, asked.options["penalty"]).coefficients
        return Regression(
            columns, np.zeros(view.n), view.weights, view.outcome, found, int(asked.metric.id == "cox_slope")
        )
    with np.errstate(divide="ignore"):
        x = np.log(view.score) - np.log(view.rest)
    x = np.where(np.isinf(x), np.copysign(LARGEST_LOGIT, x), x)  # no shift changes a score of 0 or 1
    return Regression(np.ones((view.n, 1)), x, view.weights, view.outcome, np.array([asked.value]), 0)


def _wald(asked: Asked) -> Ends:
    """Estimate plus and minus a multiple of the standard error from the Fisher information."""
    _counted_rows(asked, "wald")
    fit = _regression(asked)
    covariance: Floats = np.linalg.inv(fit.information(fit.coefficients)).astype(np.float64)
    if asked.options.get("penalty") == "firth":
        covariance = line_of(asked.view, "firth").covariance
    return _around(asked, math.sqrt(float(covariance[fit.place, fit.place])))


def _sandwich(asked: Asked) -> Ends:
    """The same with a covariance that is robust to misspecification, and valid for importance weights and clusters."""
    fit = _regression(asked)
    if asked.options.get("penalty") == "firth":
        raise ArgumentError("penalty", f"the {ROBUST} covariance requires maximum likelihood", "use method='wald'")
    bread = np.linalg.inv(fit.information(fit.coefficients))
    spread = bread @ _summed_squares(asked, fit.scores()) @ bread
    return _around(asked, math.sqrt(float(spread[fit.place, fit.place])))


def _summed_squares(asked: Asked, rows: Floats) -> Floats:
    """Sum of products of the contributions of independent units, times m / (m - 1) for m units (as in survey sampling)."""
    view, weight = asked.view, asked.view.weights
    if asked.clusters is not None:
        codes = np.unique(asked.clusters, return_inverse=True)[1]
        units = np.zeros((int(codes.max()) + 1, rows.shape[1]))
        np.add.at(units, codes, weight[:, None] * rows)
        total, count = units.T @ units, float(len(units))
    elif view.weight_kind == "importance":
        total, count = rows.T @ (np.square(weight)[:, None] * rows), float(len(rows))
    else:
        total, count = rows.T @ (weight[:, None] * rows), float(weight.sum())
    if count < 2:
        raise UndefinedMetricError(asked.metric.id, "has no standard error with one independent row or group")
    return np.asarray(total * (count / (count - 1)))


def _around(asked: Asked, error: float) -> Ends:
    return asked.value - asked.z * error, asked.value + asked.z * error


def _counted_rows(asked: Asked, method: str) -> None:
    """Raise where rows are not independent observations of weight 1, which the likelihood takes for granted."""
    if asked.clusters is not None:
        problem = f"{method!r} requires independent rows, so it has no cluster=True"
        raise ArgumentError("method", problem, f"use method={ROBUST!r} or method='bootstrap'")
    if asked.view.has_real_weights:
        problem = f"the {method!r} interval does not support real weights"
        raise WeightsNotSupportedError("sample_weight", problem, f"use method={ROBUST!r} or method='bootstrap'")


def _profile(asked: Asked) -> Ends:
    """Values that a likelihood-ratio test does not reject, with the other coefficient estimated anew for each of them."""
    _counted_rows(asked, "profile")
    if asked.options.get("penalty") == "firth":
        raise ArgumentError("penalty", "the profile likelihood requires maximum likelihood", "use method='wald'")
    from scipy.special import chdtri

    drop = float(chdtri(1, 1 - asked.level))
    fit = _regression(asked)
    if math.isinf(asked.value):  # no events, or events only: the likelihood tends to 1
        return _one_sided(asked, fit, drop)
    best = fit.log_likelihood(fit.coefficients)
    error = math.sqrt(float(np.linalg.inv(fit.information(fit.coefficients))[fit.place, fit.place]))

    def end(side: int) -> float:
        found = fit.coefficients  # each search starts from the previous one

        def excess(at: float) -> float:
            nonlocal found
            found = _with_fixed(fit, at, found)
            return 2 * (best - fit.log_likelihood(found)) - drop

        return asked.value + side * _root(lambda step: excess(asked.value + side * step), 0.0, FIRST_STEP * error)

    return end(-1), end(1)


def _with_fixed(fit: Regression, at: float, start: Floats) -> Floats:
    """Coefficients of greatest likelihood with that of interest fixed, by Newton steps in the other one, if there is one.

    The gradient falls as the other coefficient rises, so its sign brackets the maximum; far from it a step can be of any length.
    """
    found = start.copy()
    found[fit.place] = at
    if len(found) == 1:
        return found
    other = 1 - fit.place
    x = fit.columns[:, other]
    low, high = -math.inf, math.inf
    for _ in range(MOST_STEPS):
        mu = _sigmoid(fit.offset + fit.columns @ found)
        slope, bend = float((fit.weight * (fit.outcome - mu)) @ x), float((fit.weight * mu * (1 - mu)) @ (x * x))
        now = float(found[other])
        low, high = (now, high) if slope > 0 else (low, now)
        longest = 2 + abs(now)
        step = slope / bend if abs(slope) < longest * bend else math.copysign(longest, slope)
        ahead = now + step
        if not low < ahead < high and math.isfinite(high - low):  # an end again would be a cycle
            ahead = (low + high) / 2
        found[other] = ahead
        if abs(ahead - now) <= 1e-11 * max(1.0, abs(now)):
            break
    return found


def _root(excess: Callable[[float], float], low: float, high: float) -> float:
    """Root of an increasing function that is negative at `low`; `high` is a first guess."""
    from scipy.optimize import brentq

    for _ in range(MOST_STEPS):
        if excess(high) > 0:
            break
        low, high = high, high + 2 * (high - low)
    return brentq(excess, low, high, xtol=1e-12, rtol=1e-13)


def _one_sided(asked: Asked, fit: Regression, drop: float) -> Ends:
    """Limits without events, or with events only: the likelihood tends to 1 at infinity, and one end is there."""
    value = asked.value
    free = np.abs(fit.offset) < LARGEST_LOGIT
    if np.any(fit.outcome[free] != (value > 0)):
        raise UndefinedMetricError(asked.metric.id, "is infinite because of scores of 0 or 1", "drop these rows")
    free_rows = fit._replace(
        columns=fit.columns[free], offset=fit.offset[free], weight=fit.weight[free], outcome=fit.outcome[free]
    )
    away = -math.copysign(1.0, value)

    def excess(step: float) -> float:
        return -2 * free_rows.log_likelihood(np.array([away * step])) - drop

    low = -1.0
    while excess(low) > 0:
        low *= 2
    end = away * _root(excess, low, low + 1)
    return (value, end) if value < 0 else (end, value)


def _ratio(limits: Callable[[Asked, float, float], Ends]) -> Callable[[Asked], Ends]:
    """Limits of expected over observed from those of the observed over the expected number of events, or these themselves."""

    def ends(asked: Asked) -> Ends:
        view = asked.view
        expected, observed = accurate_sum(view.weights * view.score), accurate_sum(view.weights * view.outcome)
        if expected == 0:
            raise UndefinedMetricError(asked.metric.id, "no event is expected, so it has no interval")
        low, high = limits(asked, expected, observed)
        if asked.options["form"] == "observed_expected":
            return low, high
        return 1 / high, 1 / low if low > 0 else math.inf

    return ends


def _ratio_wald(asked: Asked, expected: float, observed: float) -> Ends:
    """On the scale of logarithms, with the binomial variance of the number of events."""
    _counted_rows(asked, "wald")
    if observed <= 0:
        raise _no_events(asked)
    half = asked.z * math.sqrt(max(0.0, 1 / observed - 1 / asked.view.total))
    return observed / expected * math.exp(-half), observed / expected * math.exp(half)


def _ratio_sandwich(asked: Asked, expected: float, observed: float) -> Ends:
    """On the scale of logarithms, from the variation of the linearised ratio between rows or clusters."""
    if observed <= 0:
        raise _no_events(asked)
    rows = asked.view.outcome / observed - asked.view.score / expected
    half = asked.z * math.sqrt(float(_summed_squares(asked, rows[:, None])[0, 0]))
    return observed / expected * math.exp(-half), observed / expected * math.exp(half)


def _ratio_exact(asked: Asked, expected: float, observed: float) -> Ends:
    """Limits of a Poisson mean (Garwood 1936) over the expected number, as for a standardised mortality ratio."""
    from scipy.special import gammaincinv

    _counted_rows(asked, "exact")
    if asked.view.is_soft:
        raise UndefinedMetricError(asked.metric.id, "an exact interval requires counts of events, not soft labels")
    low = float(gammaincinv(observed, (1 - asked.level) / 2)) if observed else 0.0
    return low / expected, float(gammaincinv(observed + 1, (1 + asked.level) / 2)) / expected


def _no_events(asked: Asked) -> UndefinedMetricError:
    return UndefinedMetricError(asked.metric.id, "no event was observed", "use method='exact'")


COEFFICIENT: dict[str, Callable[[Asked], Ends]] = {"wald": _wald, "profile": _profile, ROBUST: _sandwich}
RATIO = {
    "wald": _ratio(_ratio_wald),
    "exact": _ratio(_ratio_exact),
    ROBUST: _ratio(_ratio_sandwich),
}

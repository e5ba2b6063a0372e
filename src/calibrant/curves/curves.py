"""One curve fitted to one View: the rate of events expected at each score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, UndefinedMetricError, Use
from ..util.blocks import map_blocks, rows_per_block
from ..util.checks import check_positive, check_whole
from ..views.view import View
from .logistic_regression import (
    CLIP,
    Groups,
    LogisticFit,
    SeparatedError,
    Side,
    fit_logistic,
    groups_of,
    logit,
    positions,
    quantiles,
    rows_of,
    separating_side,
)

__all__ = [
    "Beta",
    "Interpolated",
    "Kernel",
    "Logistic",
    "PiecewiseLinear",
    "Quadratic",
    "beta",
    "centered_isotonic",
    "isotonic",
    "kernel",
    "logistic",
    "piecewise_linear",
    "quadratic",
    "smoothed_logistic",
    "spline",
]

Floats = NDArray[np.float64]
Space = Literal["probability", "logit"]

# In the directions that the data leave open the height of a node stays on the diagonal.
OPEN_DIRECTION = 1e-10
# Half the price of a squared logit, in rows: keeps a node finite where no event or nothing but events were seen.
NODE_RIDGE = 1e-3
# Rates of neighbours that differ by less than this differ by rounding only.
SAME_RATE = 1e-12
# Up to so many rows a spline is fitted to each of them, above that to lots of each group of ties.
SINGLE_ROWS, MOST_LOTS = 50_000_000, 1000
FIRTH = Use("penalty", "firth", "where available"), "use an isotonic curve"


def _separated(groups: Groups) -> SeparatedError:
    if not (groups.events.any() and groups.others.any()):
        return SeparatedError("y_true", "all outcomes are equal, so the coefficients are infinite", FIRTH)
    why = "a threshold separates the outcomes (every event scores above every non-event, or below), so the slope is infinite"
    return SeparatedError("y_true", why, FIRTH)


@dataclass(frozen=True)
class Logistic:
    """sigmoid(intercept + slope * logit(score)): Platt scaling of log-odds, Cox's calibration line."""

    intercept: float
    slope: float

    def __call__(self, scores: Any) -> Floats:
        from scipy.special import expit

        return np.asarray(expit(self.intercept + self.slope * logit(scores)))


def fit_line(groups: Groups, *, firth: bool = False) -> LogisticFit:
    """Logistic regression of the outcome on the log-odds of the score: intercept and slope."""
    feature = logit(groups.score)
    if not firth and separating_side(groups, 1 if feature[0] < feature[-1] else 0, feature):
        raise _separated(groups)
    return _converged(fit_logistic(groups, np.column_stack([np.ones(len(feature)), feature]), firth=firth))


def _converged(fit: LogisticFit) -> LogisticFit:
    if not fit.converged:
        raise UndefinedMetricError("y_prob", "the likelihood could not be maximized", "use more data")
    return fit


def logistic(view: View) -> Logistic:
    """The logistic curve of greatest likelihood; where all scores are one, the rate of events."""
    groups = groups_of(view)
    feature = logit(groups.score)
    if feature[0] == feature[-1]:
        return Logistic(_constant_logit(groups), 0.0)
    return Logistic(*map(float, fit_line(groups).coefficients))


def smoothed_logistic(view: View) -> Logistic:
    """The same for shares strictly between 0 and 1, which nothing separates, so that the rows need not be sorted."""
    groups = rows_of(view)
    feature = logit(groups.score)
    if feature.min() == feature.max():
        return Logistic(_constant_logit(groups), 0.0)
    fit = _converged(fit_logistic(groups, np.column_stack([np.ones(len(feature)), feature])))
    return Logistic(*map(float, fit.coefficients))


def _constant_logit(groups: Groups) -> float:
    events, others = math.fsum(groups.events), math.fsum(groups.others)
    if min(events, others) <= 0:
        raise _separated(groups)
    return math.log(events / others)


@dataclass(frozen=True)
class Quadratic:
    """sigmoid(constant + slope l + bend l^2) of the log-odds l; the identity is (0, 1, 0)."""

    constant: float
    slope: float
    bend: float

    def __call__(self, scores: Any) -> Floats:
        from scipy.special import expit

        feature = logit(scores)
        return np.asarray(expit(self.constant + feature * (self.slope + feature * self.bend)))


def quadratic(view: View) -> Quadratic:
    """The quadratic curve of greatest likelihood; a line where there are but two scores."""
    groups = groups_of(view)
    feature = logit(groups.score)
    if len(np.unique(feature)) < 3:
        line = logistic(view)
        return Quadratic(line.intercept, line.slope, 0.0)
    if separating_side(groups, 2, feature):
        raise _separated(groups)
    features = np.column_stack([np.ones(len(feature)), feature, feature**2])
    return Quadratic(*map(float, _converged(fit_logistic(groups, features)).coefficients))


@dataclass(frozen=True)
class Beta:
    """sigmoid(a ln p - b ln(1 - p) + c); the identity is a = b = 1, c = 0 (Kull et al. 2017)."""

    a: float
    b: float
    c: float

    def __call__(self, scores: Any) -> Floats:
        from scipy.special import expit

        low, high = beta_features(scores)
        return np.asarray(expit(self.a * low + self.b * high + self.c))


def beta_features(scores: Any) -> tuple[Floats, Floats]:
    """ln p and -ln(1 - p), with p kept within [1e-12, 1 - 1e-12]."""
    small, large = math.log(CLIP), math.log1p(-CLIP)
    with np.errstate(divide="ignore"):
        return np.clip(np.log(scores), small, large), np.clip(-np.log1p(-np.asarray(scores)), -large, -small)


def beta(view: View, constrained: bool = True) -> Beta:
    """The beta curve of greatest likelihood; `constrained` keeps it rising, by leaving out the term that came out negative."""
    groups = groups_of(view)
    low, high = beta_features(groups.score)
    distinct = len(np.unique(logit(groups.score)))
    if distinct < 3:  # two scores fix a line, one score fixes a constant
        line = Logistic(*_rising(groups, logit(groups.score))[::-1]) if constrained else logistic(view)
        return Beta(line.slope, line.slope, line.intercept)
    side = separating_side(groups, 2, logit(groups.score))
    if side and (not constrained or side.turns == 0 or (side.turns == 1 and side.first < 0)):
        raise _separated(groups)
    if side is None:
        fit = _converged(fit_logistic(groups, np.column_stack([low, high, np.ones(len(low))])))
        free = Beta(*map(float, fit.coefficients))
        if not constrained or min(free.a, free.b) >= 0:
            return free
        falls_first = free.a < 0
    else:  # the separating function has the signs that the coefficients tend to
        falls_first = side.first > 0
    slope, shift = _rising(groups, high if falls_first else low)
    return Beta(0.0, slope, shift) if falls_first else Beta(slope, 0.0, shift)


def _rising(groups: Groups, feature: Floats) -> tuple[float, float]:
    """Slope and intercept of one feature; slope 0 where it would be negative."""
    side = separating_side(groups, 1, feature) if feature[0] < feature[-1] else Side(1, 1)
    if side and (side.turns == 0 or side.first < 0):
        raise _separated(groups)
    if side is None:
        fit = _converged(fit_logistic(groups, np.column_stack([feature, np.ones(len(feature))])))
        if fit.coefficients[0] >= 0:
            return float(fit.coefficients[0]), float(fit.coefficients[1])
    return 0.0, _constant_logit(groups)


@dataclass(frozen=True)
class Interpolated:
    """Straight lines between given points, constant beyond the first and the last."""

    kind: str
    scores: tuple[float, ...]
    rates: tuple[float, ...]

    def __call__(self, scores: Any) -> Floats:
        return np.interp(scores, self.scores, self.rates)


def _pooled(groups: Groups) -> tuple[Floats, NDArray[np.intp]]:
    """Rate of each block of pooled neighbours, and the first group of each with their number at the end."""
    from scipy.optimize import isotonic_regression

    fit = isotonic_regression(groups.rate, weights=groups.weight)
    starts = fit.blocks.astype(np.intp)
    rate = _rate_of(groups, starts)
    # Equal rates are one block, also where rounding of the weights tells them apart.
    apart = np.append(True, np.diff(rate) > SAME_RATE)
    if apart.all():
        return rate, starts
    starts = np.append(starts[:-1][apart], starts[-1])
    return _rate_of(groups, starts), starts


def _rate_of(groups: Groups, starts: NDArray[np.intp]) -> Floats:
    events, weight = (np.add.reduceat(values, starts[:-1]) for values in (groups.events, groups.weight))
    return np.clip(events / weight, 0, 1)


def isotonic(view: View) -> Interpolated:
    """The rising curve of least squares: constant on blocks of pooled neighbours, straight lines between them."""
    groups = groups_of(view)
    rate, starts = _pooled(groups)
    ends = np.column_stack([groups.score[starts[:-1]], groups.score[starts[1:] - 1]]).ravel()
    kept = np.append(True, np.diff(ends) > 0)  # a block of one score has one end
    return Interpolated("isotonic", tuple(ends[kept].tolist()), tuple(np.repeat(rate, 2)[kept].tolist()))


def centered_isotonic(view: View) -> Interpolated:
    """Isotonic blocks, each placed at its mean score, with straight lines between (Oron and Flournoy 2017)."""
    groups = groups_of(view)
    rate, starts = _pooled(groups)
    weight = np.add.reduceat(groups.weight, starts[:-1])
    score = np.add.reduceat(groups.weight * groups.score, starts[:-1])
    # Scores of rate 0 or 1 are already at the bound, and stay where they are.
    block = np.repeat(np.arange(len(rate)), np.diff(starts))
    alone = ((rate <= 0) | (rate >= 1))[block]
    first = np.append(True, (block[1:] != block[:-1]) | alone[1:])
    middle, rate = np.where(alone, groups.score, (score / weight)[block])[first], rate[block][first]
    return Interpolated("centered_isotonic", tuple(middle.tolist()), tuple(rate.tolist()))


@dataclass(frozen=True)
class PiecewiseLinear:
    """Heights at knots, with straight lines between; in logit space both are log-odds."""

    space: Space
    knots: tuple[float, ...]
    heights: tuple[float, ...]
    clipped: bool = True

    def __call__(self, scores: Any) -> Floats:
        from scipy.special import expit

        knots, heights = np.array(self.knots), np.array(self.heights)
        if self.space == "logit":
            x = logit(scores)
            return np.asarray(expit(x + hats(x, knots) @ (heights - knots)))
        x = np.asarray(scores, dtype=np.float64)
        rate = x + _on_hats(x, knots, heights - knots)
        return np.clip(rate, 0, 1) if self.clipped else rate


def hats(x: Floats, knots: Floats) -> Floats:
    """(N, M) values of the functions that are 1 at one knot, 0 at the others, and linear between."""
    place, part = _between(x, knots)
    values = np.zeros((len(x), len(knots)))
    rows = np.arange(len(x))
    values[rows, place] = 1 - part
    values[rows, place + 1] += part
    return values


def _between(x: Floats, knots: Floats) -> tuple[NDArray[np.intp], Floats]:
    """The interval of each number and how far along it lies."""
    place = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
    return place, (x - knots[place]) / (knots[place + 1] - knots[place])


def _on_hats(x: Floats, knots: Floats, heights: Floats) -> Floats:
    place, part = _between(x, knots)
    return heights[place] * (1 - part) + heights[place + 1] * part


def least_squares_heights(x: Floats, knots: Floats, weight: Floats, events: Floats) -> Floats:
    """Heights above the diagonal that fit the rates best; 0 in directions that the data leave open."""
    place, part = _between(x, knots)
    count = len(knots)
    left, right = weight * (1 - part), weight * part
    excess = events - weight * x

    def sums(values: Floats, at: NDArray[np.intp]) -> Floats:
        return np.asarray(np.bincount(at, values, count), dtype=np.float64)

    middle = sums(left * (1 - part), place) + sums(right * part, place + 1)
    beside = sums(left * part, place)[:-1]
    matrix = np.diag(middle) + np.diag(beside, 1) + np.diag(beside, -1)
    wanted = sums(excess * (1 - part), place) + sums(excess * part, place + 1)
    value, vector = np.linalg.eigh(matrix)
    kept = value > OPEN_DIRECTION * value[-1]
    return np.asarray(vector[:, kept] @ ((vector.T @ wanted)[kept] / value[kept]))


def likeliest_heights(groups: Groups, feature: Floats, knots: Floats) -> Floats:
    """Log-odds above the diagonal at knots in logit space, by greatest likelihood."""
    ridge = NODE_RIDGE if len(knots) > 2 else 0.0
    if not ridge and separating_side(groups, 1, feature):
        raise _separated(groups)
    fit = fit_logistic(groups, hats(feature, knots), offset=feature, ridge=ridge)
    return _converged(fit).coefficients


def piecewise_linear(
    view: View, knots: int | Sequence[float], space: Space = "probability", clipped: bool = True
) -> PiecewiseLinear:
    """A continuous curve of straight pieces: least squares, or in logit space greatest likelihood.

    `knots` is the number of interior knots, which then lie at quantiles of the scores, or all of them with both ends.
    """
    groups = groups_of(view)
    if space == "probability":
        at = knots_of(groups, knots, groups.score, (0.0, 1.0))
        heights = least_squares_heights(groups.score, at, groups.weight, groups.events)
        return PiecewiseLinear(space, tuple(at.tolist()), tuple((at + heights).tolist()), clipped)
    feature = logit(groups.score)
    at = knots_of(groups, knots, feature, (float(feature[0]), float(feature[-1])))
    if len(at) < 2:  # one score only
        level = _constant_logit(groups)
        return PiecewiseLinear(space, (at[0], at[0] + 1), (level, level + 1), clipped)
    heights = likeliest_heights(groups, feature, at)
    return PiecewiseLinear(space, tuple(at.tolist()), tuple((at + heights).tolist()), clipped)


def knots_of(groups: Groups, knots: int | Sequence[float], x: Floats, ends: tuple[float, float]) -> Floats:
    """Rising knots with both ends, equal ones merged."""
    if isinstance(knots, (int, np.integer)) and not isinstance(knots, bool):
        inner = quantiles(groups, x, np.arange(1, check_whole(knots, "knots", 0) + 1) / (int(knots) + 1))
        return np.unique(np.concatenate([[ends[0]], inner, [ends[1]]]))
    try:
        given = np.asarray(knots, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.ndim != 1 or len(given) < 2 or not np.isfinite(given).all() or (np.diff(given) <= 0).any():
        raise ArgumentError("knots", f"must be a non-negative integer or increasing numbers; got {knots!r}")
    return given


def spline(view: View, knots: int = 6) -> Interpolated:
    """The score plus the slope of a spline through the cumulative differences (Gupta et al. 2021).

    A natural cubic spline with equispaced knots is fitted to sum(y - p) over the share of rows; tied rows share their rate.
    """
    from scipy.interpolate import CubicSpline

    groups = groups_of(view)
    rows = float(groups.rows.sum())
    if rows < check_whole(knots, "knots", 2):
        raise UndefinedMetricError("y_true", f"the spline requires at least {knots} rows; got {rows:g}")
    cardinal = CubicSpline(np.arange(knots) / (knots - 1), np.eye(knots), bc_type="natural")
    matrix, wanted = _spline_equations(groups, cardinal, knots)
    heights = np.linalg.lstsq(matrix, wanted, rcond=1e-12)[0]
    first, last = positions(groups)
    slope = cardinal.derivative()((first + last) / 2) @ heights
    rate = np.clip(groups.score + slope, 0, 1)
    return Interpolated("spline", tuple(groups.score.tolist()), tuple(rate.tolist()))


def _spline_equations(groups: Groups, cardinal: Any, knots: int) -> tuple[Floats, Floats]:
    """Normal equations over rows, block by block: a count may stand for more rows than memory holds.

    Of very many rows, those of a group are taken in lots of one size, each at its middle.
    """
    total = groups.weight.sum()
    first, last = positions(groups)
    ends = np.cumsum(groups.events - groups.weight * groups.score) / total
    lots = groups.rows if groups.rows.sum() <= SINGLE_ROWS else np.minimum(groups.rows, MOST_LOTS)
    last_lot = np.cumsum(lots.astype(np.int64))
    each = groups.weight / lots

    def work(start: int, stop: int) -> tuple[Floats, Floats]:
        lot = np.arange(start, stop)
        group = np.searchsorted(last_lot, lot, side="right")
        size = groups.rows[group] / lots[group]
        row = (lot - last_lot[group] + lots[group] + 0.5) * size - 0.5
        back = (groups.rows[group] - 1 - row) / groups.rows[group]  # how much of the group is still to come
        step = groups.rows[group] / np.maximum(groups.rows[group] - 1, 1)
        x = last[group] - (last[group] - first[group]) * back * step
        drift = (groups.events[group] - groups.weight[group] * groups.score[group]) / total
        basis = cardinal(x)
        weighed = basis * each[group][:, None]
        return weighed.T @ basis, weighed.T @ (ends[group] - drift * back)

    parts = map_blocks(work, int(last_lot[-1]), rows_per_block(4 * knots), columns=knots)
    return sum(part[0] for part in parts) / total, sum(part[1] for part in parts) / total


@dataclass(frozen=True)
class Kernel:
    """Mean of the outcomes around each score, weighed by Gaussians of the given widths."""

    scores: tuple[float, ...]
    weights: tuple[float, ...]
    events: tuple[float, ...]
    widths: tuple[float, ...]

    def __call__(self, scores: Any) -> Floats:
        x = np.atleast_1d(np.asarray(scores, dtype=np.float64))
        at, weight, events, width = map(np.array, (self.scores, self.weights, self.events, self.widths))

        def work(start: int, stop: int) -> Floats:
            exponent = -0.5 * np.square((x[start:stop, None] - at) / width) - np.log(width)
            with np.errstate(under="ignore"):  # shifted, so that a score far from all others still finds the nearest
                near = np.exp(exponent - exponent.max(axis=1, keepdims=True))
            return np.asarray((near @ events) / (near @ weight))

        rates = np.concatenate(map_blocks(work, len(x), rows_per_block(len(at)), columns=len(at)))
        return rates.reshape(np.shape(scores))


def kernel(view: View, bandwidth: float, adaptive: bool = False) -> Kernel:
    """Kernel regression (Nadaraya-Watson); `adaptive` widens the kernel where scores are rare (Abramson 1982)."""
    h = check_positive(bandwidth, "bandwidth")
    groups = groups_of(view)
    widths = np.full(len(groups.score), h)
    if adaptive:
        share = groups.weight / groups.weight.sum()

        def density(start: int, stop: int) -> Floats:
            gap = (groups.score[start:stop, None] - groups.score) / h
            with np.errstate(under="ignore"):
                return np.asarray(np.exp(-0.5 * gap * gap) @ share)

        count = len(groups.score)
        pilot = np.concatenate(map_blocks(density, count, rows_per_block(count), columns=count))
        widths = h * np.exp(-0.5 * (np.log(pilot) - share @ np.log(pilot)))
    return Kernel(*(tuple(values.tolist()) for values in (groups.score, groups.weight, groups.events, widths)))

"""Calibration curves fitted to a view: the probability of the event as a function of the score."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, UndefinedMetricError
from ..util.arrays import Floats
from ..util.blocks import map_blocks, rows_per_block
from ..util.checks import check_positive, check_whole
from ..util.sums import accurate_sum
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

Space = Literal["probability", "logit"]
BetaParameters = Literal["abm", "ab", "am", "a"]

# In directions that the data do not determine, the height of a node stays on the diagonal.
OPEN_DIRECTION = 1e-10
# Half the ridge penalty of a squared logit, in rows: keeps a node finite if only one outcome was observed there.
NODE_RIDGE = 1e-3
# Rates of neighbours that differ by less than this are equal up to rounding.
SAME_RATE = 1e-12
# Up to so many rows a spline is fitted to every row, above that to batches of each tie group.
SINGLE_ROWS, MOST_LOTS = 50_000_000, 1000
FIRTH = "use penalty='firth' where available, or an isotonic curve"


def _separation_error(groups: Groups) -> SeparatedError:
    if not (groups.events.any() and groups.others.any()):
        return SeparatedError(
            "y_true",
            "all outcomes are equal, so the coefficients are infinite",
            "use penalty='firth' where available, or evaluate more rows",
        )
    why = "a threshold separates the outcomes (every event lies above every non-event, or below), so the slope is infinite"
    return SeparatedError("y_true", why, FIRTH)


@dataclass(frozen=True)
class Logistic:
    r"""Logistic calibration curve: Platt scaling of log-odds, Cox's recalibration model.

    Parameters
    ----------
    intercept : float
        Intercept :math:`a`.
    slope : float
        Slope :math:`b`.

    Notes
    -----
    The curve is :math:`\sigma(a + b \operatorname{logit} p)` with :math:`\sigma(t) = 1 / (1 + e^{-t})`; :math:`a = 0, b = 1` is the
    identity.

    Examples
    --------
    >>> from calibrant.curves import Logistic
    >>> Logistic(0.0, 0.5)([0.2, 0.8]).round(4)
    array([0.3333, 0.6667])
    """

    intercept: float
    slope: float

    def __call__(self, scores: Any) -> Floats:
        from scipy.special import expit

        return np.asarray(expit(self.intercept + self.slope * logit(scores)))


def fit_line(groups: Groups, feature: Floats | None = None, *, firth: bool = False) -> LogisticFit:
    """Fit the logistic regression of the outcome on a feature, by default the log-odds of the score: intercept and slope."""
    x = logit(groups.score) if feature is None else feature
    if not firth and separating_side(groups, min(_distinct(x), 2) - 1, x):
        raise _separation_error(groups)
    return _check_converged(fit_logistic(groups, _columns(np.ones(len(x)), x), firth=firth))


def _columns(*features: Floats) -> Floats:
    """Return features as columns that are contiguous in memory."""
    return np.array(features).T


def _distinct(feature: Floats) -> int:
    """Return the number of distinct values, or 3 if there are more."""
    low, high = feature.min(), feature.max()
    return 1 if low == high else 3 if ((feature > low) & (feature < high)).any() else 2


def _check_converged(fit: LogisticFit) -> LogisticFit:
    if not fit.converged:
        raise UndefinedMetricError("y_prob", "the likelihood could not be maximized", "use more data")
    return fit


def logistic(view: View) -> Logistic:
    r"""Fit a logistic calibration curve by maximum likelihood.

    If all scores are equal, the curve is constant at the outcome rate.

    Parameters
    ----------
    view : View
        Scores, outcomes and weights.

    Returns
    -------
    Logistic
        Curve with the attributes `intercept` and `slope`.

    Raises
    ------
    UndefinedMetricError
        If a threshold separates the outcomes, so that no finite maximum exists.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.curves import logistic
    >>> from calibrant.views import View
    >>> view = View(np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.9]), np.array([0, 1, 0, 1, 0, 1]))
    >>> round(logistic(view).slope, 4)
    0.5805
    """
    groups = rows_of(view)
    feature = logit(groups.score)
    if feature.min() == feature.max():
        return Logistic(_constant_logit(groups), 0.0)
    return Logistic(*map(float, fit_line(groups, feature).coefficients))


def _constant_logit(groups: Groups) -> float:
    events, others = accurate_sum(groups.events), accurate_sum(groups.others)
    if min(events, others) <= 0:
        raise _separation_error(groups)
    return math.log(events / others)


@dataclass(frozen=True)
class Quadratic:
    r"""Calibration curve that is quadratic in log-odds.

    Parameters
    ----------
    constant : float
        Constant :math:`a`.
    slope : float
        Coefficient :math:`b` of the log-odds.
    bend : float
        Coefficient :math:`c` of the squared log-odds.

    Notes
    -----
    With log-odds :math:`l = \operatorname{logit} p` the curve is :math:`\sigma(a + b l + c l^2)`; :math:`(0, 1, 0)` is the identity.

    Examples
    --------
    >>> from calibrant.curves import Quadratic
    >>> Quadratic(0.0, 1.0, 0.1)([0.2, 0.8]).round(4)
    array([0.2325, 0.829 ])
    """

    constant: float
    slope: float
    bend: float

    def __call__(self, scores: Any) -> Floats:
        from scipy.special import expit

        feature = logit(scores)
        return np.asarray(expit(self.constant + feature * (self.slope + feature * self.bend)))


def quadratic(view: View) -> Quadratic:
    r"""Fit a calibration curve that is quadratic in log-odds by maximum likelihood.

    With fewer than three distinct scores the curve is logistic.

    Parameters
    ----------
    view : View
        Scores, outcomes and weights.

    Returns
    -------
    Quadratic
        Curve with the attributes `constant`, `slope` and `bend`.

    Raises
    ------
    UndefinedMetricError
        If a threshold separates the outcomes, so that no finite maximum exists.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.curves import quadratic
    >>> from calibrant.views import View
    >>> view = View(np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.9]), np.array([0, 1, 0, 1, 0, 1]))
    >>> round(quadratic(view).bend, 4)
    0.1025
    """
    groups = rows_of(view)
    feature = logit(groups.score)
    if _distinct(feature) < 3:
        line = logistic(view)
        return Quadratic(line.intercept, line.slope, 0.0)
    if separating_side(groups, 2, feature):
        raise _separation_error(groups)
    fit = fit_logistic(groups, _columns(np.ones(len(feature)), feature, feature**2))
    return Quadratic(*map(float, _check_converged(fit).coefficients))


@dataclass(frozen=True)
class Beta:
    r"""Beta calibration curve.

    Parameters
    ----------
    a : float
        Coefficient of :math:`\ln p`.
    b : float
        Coefficient of :math:`-\ln(1 - p)`.
    c : float
        Constant.

    Notes
    -----
    The curve is :math:`\sigma(a \ln p - b \ln(1 - p) + c)` [1]_; :math:`a = b = 1, c = 0` is the identity.

    References
    ----------
    .. [1] Kull, Silva Filho and Flach (2017): Beta calibration: a well-founded and easily implemented improvement on logistic
       calibration for binary classifiers. AISTATS.

    Examples
    --------
    >>> from calibrant.curves import Beta
    >>> Beta(0.5, 1.0, 0.0)([0.2, 0.8]).round(4)
    array([0.3586, 0.8173])
    """

    a: float
    b: float
    c: float

    def __call__(self, scores: Any) -> Floats:
        from scipy.special import expit

        low, high = beta_features(scores)
        return np.asarray(expit(self.a * low + self.b * high + self.c))


def beta_features(scores: Any) -> tuple[Floats, Floats]:
    """Compute ln p and -ln(1 - p), with p truncated to [1e-12, 1 - 1e-12]."""
    small, large = math.log(CLIP), math.log1p(-CLIP)
    with np.errstate(divide="ignore"):
        return np.clip(np.log(scores), small, large), np.clip(-np.log1p(-np.asarray(scores)), -large, -small)


def beta(view: View, constrained: bool = True, parameters: BetaParameters = "abm") -> Beta:
    r"""Fit a beta calibration curve by maximum likelihood.

    With fewer than three distinct scores the curve of three parameters is logistic.

    Parameters
    ----------
    view : View
        Scores, outcomes and weights.
    constrained : bool, default True
        Whether the curve must be non-decreasing; a term with a negative coefficient is then left out.
    parameters : {"abm", "ab", "am", "a"}, default "abm"
        Parameters that are estimated: all three; `a` and `b` of a curve through (1/2, 1/2); a common value of `a` and `b`, and the
        constant; or a common value alone. The last three are always non-decreasing.

    Returns
    -------
    Beta
        Curve with the attributes `a`, `b` and `c`.

    Raises
    ------
    UndefinedMetricError
        If a threshold separates the outcomes, so that no finite maximum exists.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.curves import beta
    >>> from calibrant.views import View
    >>> view = View(np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.9]), np.array([0, 1, 0, 1, 0, 1]))
    >>> round(beta(view).a, 4)
    0.072
    """
    groups = rows_of(view)
    low, high = beta_features(groups.score)
    odds = low + high
    if parameters == "am":
        slope, shift = _rising(groups, odds)
        return Beta(slope, slope, shift)
    if parameters != "abm":
        return _through_the_middle(groups, low, high, common=parameters == "a")
    if _distinct(odds) < 3:  # two scores fix a line, one score fixes a constant
        line = Logistic(*_rising(groups, odds)[::-1]) if constrained else logistic(view)
        return Beta(line.slope, line.slope, line.intercept)
    separation = separating_side(groups, 2, odds)
    if separation and (not constrained or separation.turns == 0 or (separation.turns == 1 and separation.first < 0)):
        raise _separation_error(groups)
    if separation is None:
        fit = _check_converged(fit_logistic(groups, _columns(low, high, np.ones(len(low)))))
        free = Beta(*map(float, fit.coefficients))
        if not constrained or min(free.a, free.b) >= 0:
            return free
        falls_first = free.a < 0
    else:  # the separating function has the signs that the coefficients tend to
        falls_first = separation.first > 0
    slope, shift = _rising(groups, high if falls_first else low)
    return Beta(0.0, slope, shift) if falls_first else Beta(slope, 0.0, shift)


def _through_the_middle(groups: Groups, low: Floats, high: Floats, common: bool) -> Beta:
    """Fit a non-decreasing curve through (1/2, 1/2), with a common or two separate coefficients."""
    odds = low + high
    # Such a curve is below 1/2 exactly where the score is: only scores on the other side keep it from being a step.
    if not (groups.others[odds > 0].any() or groups.events[odds < 0].any()) and odds.any():
        raise _separation_error(groups)
    low, high = low + math.log(2), high - math.log(2)
    if not odds.any():  # every score is 1/2, as is every curve there
        return Beta(1.0, 1.0, 0.0)
    if common or _distinct(odds[odds != 0]) < 2:  # one score does not determine two coefficients
        slope, _ = _slope(groups, odds)
        return Beta(slope, slope, 0.0)
    try:
        fit = fit_logistic(groups, _columns(low, high))
        a, b = map(float, fit.coefficients)
        inside = fit.converged and min(a, b) >= 0
    except UndefinedMetricError:
        inside = False
    if not inside:  # the likelihood is concave, so its maximum has a coefficient of 0
        (a, first), (b, second) = _slope(groups, low), _slope(groups, high)
        a, b = (a, 0.0) if first >= second else (0.0, b)
    return Beta(a, b, (a - b) * math.log(2))


def _slope(groups: Groups, feature: Floats) -> tuple[float, float]:
    """Fit a non-negative coefficient without an intercept, and return it with its log-likelihood."""
    fit = fit_logistic(groups, feature[:, None])
    slope = float(fit.coefficients[0])
    if fit.converged and slope >= 0:
        return slope, fit.log_likelihood
    return 0.0, -math.log(2) * math.fsum(groups.weight)


def _rising(groups: Groups, feature: Floats) -> tuple[float, float]:
    """Fit slope and intercept of one feature; the slope is 0 where it would be negative."""
    side = separating_side(groups, 1, feature) if _distinct(feature) > 1 else Side(1, 1)
    if side and (side.turns == 0 or side.first < 0):
        raise _separation_error(groups)
    if side is None:
        fit = _check_converged(fit_logistic(groups, _columns(feature, np.ones(len(feature)))))
        if fit.coefficients[0] >= 0:
            return float(fit.coefficients[0]), float(fit.coefficients[1])
    return 0.0, _constant_logit(groups)


@dataclass(frozen=True)
class Interpolated:
    r"""Piecewise linear interpolation between given points, constant beyond the first and the last.

    Parameters
    ----------
    kind : str
        Name of the method that fitted the points.
    scores : tuple of float
        Scores of the points.
    rates : tuple of float
        Probabilities at these scores.

    Examples
    --------
    >>> from calibrant.curves import Interpolated
    >>> Interpolated("isotonic", (0.2, 0.8), (0.3, 0.7))([0.1, 0.5]).round(4)
    array([0.3, 0.5])
    """

    kind: str
    scores: tuple[float, ...]
    rates: tuple[float, ...]

    def __call__(self, scores: Any) -> Floats:
        return np.interp(scores, self.scores, self.rates)


def is_increasing(curve: Any) -> bool:
    """Whether a curve never decreases; False for curves of which this is not known."""
    if isinstance(curve, Logistic):
        return curve.slope >= 0
    return isinstance(curve, Interpolated) and bool((np.diff(curve.rates) >= 0).all())


def _pool_neighbours(groups: Groups) -> tuple[Floats, NDArray[np.intp]]:
    """Return the rate of each block of pooled neighbours, and the first group of each block followed by the number of groups."""
    from scipy.optimize import isotonic_regression

    starts = isotonic_regression(groups.rate, weights=groups.weight).blocks.astype(np.intp)
    rate = _rate_of(groups, starts)
    # Blocks with equal rates are merged, also where rounding of the weights separates them.
    is_step = np.append(True, np.diff(rate) > SAME_RATE)
    if is_step.all():
        return rate, starts
    starts = np.append(starts[:-1][is_step], starts[-1])
    return _rate_of(groups, starts), starts


def _rate_of(groups: Groups, starts: NDArray[np.intp]) -> Floats:
    events, weight = (np.add.reduceat(values, starts[:-1]) for values in (groups.events, groups.weight))
    return np.clip(events / weight, 0, 1)


def isotonic(view: View) -> Interpolated:
    r"""Fit a non-decreasing calibration curve by isotonic regression.

    The curve is constant on blocks of pooled scores and linear between them.

    Parameters
    ----------
    view : View
        Scores, outcomes and weights.

    Returns
    -------
    Interpolated
        Curve with the attributes `scores` and `rates`.

    See Also
    --------
    centered_isotonic : Isotonic regression with strictly increasing interpolation.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.curves import isotonic
    >>> from calibrant.views import View
    >>> view = View(np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.9]), np.array([0, 1, 0, 1, 0, 1]))
    >>> isotonic(view).rates
    (0.0, 0.5, 0.5, 1.0)
    """
    return isotonic_of_groups(groups_of(view))


def isotonic_of_groups(groups: Groups) -> Interpolated:
    """Fit isotonic regression to tie groups, whose scores may be any numbers."""
    rate, starts = _pool_neighbours(groups)
    ends = np.column_stack([groups.score[starts[:-1]], groups.score[starts[1:] - 1]]).ravel()
    is_distinct = np.append(True, np.diff(ends) > 0)  # a block of a single score has one end point
    return Interpolated("isotonic", tuple(ends[is_distinct].tolist()), tuple(np.repeat(rate, 2)[is_distinct].tolist()))


def centered_isotonic(view: View) -> Interpolated:
    r"""Fit a calibration curve by centered isotonic regression.

    Each block of pooled scores is placed at its mean score, and the curve is linear between the blocks [1]_.

    Parameters
    ----------
    view : View
        Scores, outcomes and weights.

    Returns
    -------
    Interpolated
        Curve with the attributes `scores` and `rates`.

    See Also
    --------
    isotonic : Isotonic regression.

    References
    ----------
    .. [1] Oron and Flournoy (2017): Centered isotonic regression: point and interval estimation for dose-response studies.
       Statistics in Biopharmaceutical Research 9.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.curves import centered_isotonic
    >>> from calibrant.views import View
    >>> view = View(np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.9]), np.array([0, 1, 0, 1, 0, 1]))
    >>> centered_isotonic(view).rates
    (0.0, 0.5, 1.0)
    """
    groups = groups_of(view)
    rate, starts = _pool_neighbours(groups)
    weight = np.add.reduceat(groups.weight, starts[:-1])
    score = np.add.reduceat(groups.weight * groups.score, starts[:-1])
    # Scores with rate 0 or 1 are at the bound already and are not moved.
    block = np.repeat(np.arange(len(rate)), np.diff(starts))
    alone = ((rate <= 0) | (rate >= 1))[block]
    first = np.append(True, (block[1:] != block[:-1]) | alone[1:])
    middle, rate = np.where(alone, groups.score, (score / weight)[block])[first], rate[block][first]
    return Interpolated("centered_isotonic", tuple(middle.tolist()), tuple(rate.tolist()))


@dataclass(frozen=True)
class PiecewiseLinear:
    r"""Piecewise linear calibration curve, in probabilities or in log-odds.

    Parameters
    ----------
    space : {"probability", "logit"}
        Scale of knots and heights.
    knots : tuple of float
        Knots.
    heights : tuple of float
        Heights of the curve at the knots.
    clipped : bool, default True
        Whether the curve is clipped to [0, 1].

    Examples
    --------
    >>> from calibrant.curves import PiecewiseLinear
    >>> PiecewiseLinear("probability", (0.0, 0.5, 1.0), (0.1, 0.4, 1.0))([0.25, 0.75]).round(4)
    array([0.25, 0.7 ])
    """

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
        segment, fraction = _between(x, knots)
        above = heights - knots
        rate = x + (above[segment] * (1 - fraction) + above[segment + 1] * fraction)
        return np.clip(rate, 0, 1) if self.clipped else rate


def hats(x: Floats, knots: Floats) -> Floats:
    """Evaluate the linear B-spline basis (hat functions) at `x`: an array of shape (N, M)."""
    segment, fraction = _between(x, knots)
    values = np.zeros((len(x), len(knots)))
    rows = np.arange(len(x))
    values[rows, segment] = 1 - fraction
    values[rows, segment + 1] += fraction
    return values


def _between(x: Floats, knots: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Return the interval between knots of each number, and its relative position inside."""
    place = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
    return place, (x - knots[place]) / (knots[place + 1] - knots[place])


def least_squares_heights(x: Floats, knots: Floats, weight: Floats, events: Floats) -> Floats:
    """Compute the least-squares heights above the diagonal; 0 in directions that the data do not determine."""
    segment, fraction = _between(x, knots)
    count = len(knots)
    left_weight, right_weight = weight * (1 - fraction), weight * fraction
    excess = events - weight * x

    def sums(values: Floats, at: NDArray[np.intp]) -> Floats:
        return np.asarray(np.bincount(at, values, count), dtype=np.float64)

    middle = sums(left_weight * (1 - fraction), segment) + sums(right_weight * fraction, segment + 1)
    beside = sums(left_weight * fraction, segment)[:-1]
    matrix = np.diag(middle) + np.diag(beside, 1) + np.diag(beside, -1)
    target = sums(excess * (1 - fraction), segment) + sums(excess * fraction, segment + 1)
    value, vector = np.linalg.eigh(matrix)
    is_determined = value > OPEN_DIRECTION * value[-1]
    return np.asarray(vector[:, is_determined] @ ((vector.T @ target)[is_determined] / value[is_determined]))


def likeliest_heights(groups: Groups, feature: Floats, knots: Floats) -> Floats:
    """Compute the maximum-likelihood log-odds above the diagonal at knots in logit space."""
    ridge = NODE_RIDGE if len(knots) > 2 else 0.0
    if not ridge and separating_side(groups, 1, feature):
        raise _separation_error(groups)
    fit = fit_logistic(groups, hats(feature, knots), offset=feature, ridge=ridge)
    return _check_converged(fit).coefficients


def piecewise_linear(
    view: View, knots: int | Sequence[float], space: Space = "probability", clipped: bool = True
) -> PiecewiseLinear:
    r"""Fit a continuous piecewise linear calibration curve.

    In probability space the fit is by least squares, in logit space by maximum likelihood.

    Parameters
    ----------
    view : View
        Scores, outcomes and weights.
    knots : int or sequence of float
        Number of interior knots, placed at quantiles of the scores, or all knots including both ends.
    space : {"probability", "logit"}, default "probability"
        Scale in which the curve is linear.
    clipped : bool, default True
        Whether the curve is clipped to [0, 1].

    Returns
    -------
    PiecewiseLinear
        Curve with the attributes `knots` and `heights`.

    Raises
    ------
    ArgumentError
        If `knots` is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.curves import piecewise_linear
    >>> from calibrant.views import View
    >>> view = View(np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.9]), np.array([0, 1, 0, 1, 0, 1]))
    >>> [round(height, 4) for height in piecewise_linear(view, 0).heights]
    [0.2162, 0.8243]
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
    """Return increasing knots with both ends; equal ones are merged."""
    if isinstance(knots, (int, np.integer)) and not isinstance(knots, bool):
        inner = quantiles(groups, x, np.arange(1, check_whole(knots, "knots", 0) + 1) / (int(knots) + 1))
        return np.unique(np.concatenate([[ends[0]], inner, [ends[1]]]))
    try:
        positions = np.asarray(knots, dtype=np.float64)
    except (TypeError, ValueError):
        positions = np.empty(0)
    if positions.ndim != 1 or len(positions) < 2 or not np.isfinite(positions).all() or (np.diff(positions) <= 0).any():
        raise ArgumentError("knots", f"must be a non-negative integer or increasing numbers; got {knots!r}")
    return positions


def spline(view: View, knots: int = 6) -> Interpolated:
    r"""Fit a calibration curve by a spline of the cumulative differences.

    A natural cubic spline with equispaced knots is fitted to the cumulative sum of :math:`y - p` over the fraction of rows, and the
    curve is the score plus its slope [1]_. Tied rows share their outcome rate.

    Parameters
    ----------
    view : View
        Scores, outcomes and weights.
    knots : int, default 6
        Number of knots.

    Returns
    -------
    Interpolated
        Curve with the attributes `scores` and `rates`.

    Raises
    ------
    UndefinedMetricError
        If there are fewer rows than knots.

    References
    ----------
    .. [1] Gupta, Rahimi, Ajanthan, Mensink, Sminchisescu and Hartley (2021): Calibration of neural networks using splines. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.curves import spline
    >>> from calibrant.views import View
    >>> view = View(np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.9]), np.array([0, 1, 0, 1, 0, 1]))
    >>> [round(rate, 4) for rate in spline(view, 3).rates]
    [0.395, 0.4482, 0.4077, 0.497, 0.4565, 0.6097]
    """
    from scipy.interpolate import CubicSpline

    groups = groups_of(view)
    rows = float(groups.rows.sum())
    if rows < check_whole(knots, "knots", 2):
        raise UndefinedMetricError("y_true", f"the spline requires at least {knots} rows; got {rows:g}")
    # The natural cubic splines that are 1 at one knot and 0 at the others.
    cardinal = CubicSpline(np.arange(knots) / (knots - 1), np.eye(knots), bc_type="natural")
    matrix, target = _spline_equations(groups, cardinal, knots)
    heights = np.linalg.lstsq(matrix, target, rcond=1e-12)[0]
    first, last = positions(groups)
    slope = cardinal((first + last) / 2, 1) @ heights
    rate = np.clip(groups.score + slope, 0, 1)
    return Interpolated("spline", tuple(groups.score.tolist()), tuple(rate.tolist()))


def _spline_equations(groups: Groups, cardinal: Callable[[Floats], Floats], knots: int) -> tuple[Floats, Floats]:
    """Build the normal equations over rows, block by block, since counts may represent more rows than fit into memory.

    Very many rows of a tie group are divided into batches of equal size, each represented by its middle.
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
        back = (groups.rows[group] - 1 - row) / groups.rows[group]  # fraction of the group that follows
        step = groups.rows[group] / np.maximum(groups.rows[group] - 1, 1)
        x = last[group] - (last[group] - first[group]) * back * step
        drift = (groups.events[group] - groups.weight[group] * groups.score[group]) / total
        basis = cardinal(x)
        weighed = basis * each[group][:, None]
        return weighed.T @ basis, weighed.T @ (ends[group] - drift * back)

    blocks = map_blocks(work, int(last_lot[-1]), rows_per_block(4 * knots), columns=knots)
    return sum(block[0] for block in blocks) / total, sum(block[1] for block in blocks) / total


@dataclass(frozen=True)
class Kernel:
    r"""Kernel regression of the outcomes on the scores with Gaussian kernels.

    Parameters
    ----------
    scores : tuple of float
        Distinct scores.
    weights : tuple of float
        Weight at each score.
    events : tuple of float
        Weighted number of events at each score.
    widths : tuple of float
        Standard deviation of the kernel of each score.

    Examples
    --------
    >>> from calibrant.curves import Kernel
    >>> Kernel((0.2, 0.8), (1.0, 1.0), (0.0, 1.0), (0.2, 0.2))([0.5]).round(4)
    array([0.5])
    """

    scores: tuple[float, ...]
    weights: tuple[float, ...]
    events: tuple[float, ...]
    widths: tuple[float, ...]

    def __call__(self, scores: Any) -> Floats:
        x = np.atleast_1d(np.asarray(scores, dtype=np.float64))
        at, weight, events, width = map(np.array, (self.scores, self.weights, self.events, self.widths))

        def work(start: int, stop: int) -> Floats:
            exponent = -0.5 * np.square((x[start:stop, None] - at) / width) - np.log(width)
            with np.errstate(under="ignore"):  # shifted, so that a score far from all others still has the nearest one
                near = np.exp(exponent - exponent.max(axis=1, keepdims=True))
            return np.asarray((near @ events) / (near @ weight))

        rates = np.concatenate(map_blocks(work, len(x), rows_per_block(len(at)), columns=len(at)))
        return rates.reshape(np.shape(scores))


def kernel(view: View, bandwidth: float, adaptive: bool = False) -> Kernel:
    r"""Fit a calibration curve by kernel regression (Nadaraya-Watson).

    Parameters
    ----------
    view : View
        Scores, outcomes and weights.
    bandwidth : float
        Standard deviation of the Gaussian kernel.
    adaptive : bool, default False
        Whether the kernel is wider where scores are sparse, by Abramson's square-root rule [1]_.

    Returns
    -------
    Kernel
        The curve.

    References
    ----------
    .. [1] Abramson (1982): On bandwidth variation in kernel estimates. Annals of Statistics 10.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.curves import kernel
    >>> from calibrant.views import View
    >>> view = View(np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.9]), np.array([0, 1, 0, 1, 0, 1]))
    >>> kernel(view, 0.1)([0.2, 0.8]).round(4)
    array([0.4519, 0.5502])
    """
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

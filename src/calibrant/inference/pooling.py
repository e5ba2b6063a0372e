"""Random-effects pooling of estimates from several centres, periods or studies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ..errors import ArgumentError, ShapeError, UndefinedMetricError
from ..util.arrays import Floats
from ..util.checks import check_choice, check_fraction
from ..util.results import Result, number, percent, pvalue_text
from ..views.keywords import documents_keywords
from .means import two_sided_quantile

Method = Literal["reml", "dersimonian_laird", "fixed"]
PoolInterval = Literal["hartung_knapp", "hartung_knapp_adhoc", "normal"]
Prediction = Literal["profile", "k-1", "k-2", "normal"]
Transform = Literal[None, "exp", "expit"]

METHODS = ("reml", "dersimonian_laird", "fixed")
INTERVALS = ("hartung_knapp", "hartung_knapp_adhoc", "normal")
TRANSFORMS = (None, "exp", "expit")
PREDICTIONS = ("profile", "k-1", "k-2", "normal")
METHOD_NAMES = {
    "reml": "REML",
    "dersimonian_laird": "DerSimonian-Laird",
    "fixed": "fixed effect",
    "one_stage": "one-stage model",
}
INTERVAL_NAMES = {
    "hartung_knapp": "Hartung-Knapp",
    "hartung_knapp_adhoc": "Hartung-Knapp, not narrower than normal",
    "normal": "normal",
    "t": "t distribution",
}
# Number of values of tau2 among which the largest likelihood is bracketed, since it may have two maxima.
GRID = 80
# Of Newton's method, which needs about ten.
MOST_STEPS = 200
NARROW = (
    "the estimates vary less than their standard errors, so that the Hartung-Knapp interval{} is narrower than the normal one; "
    'in Python, interval="hartung_knapp_adhoc" prevents this'
)
TWO_FREE = "a prediction interval with k - 2 degrees of freedom requires three estimates"
# Equal parts of the distribution of tau2 over which the prediction of a new centre is averaged.
PARTS = 1000


def forth(values: Any, transform: str | None) -> Floats:
    """Transform values to the scale on which they are pooled."""
    values = np.asarray(values, dtype=np.float64)
    if transform is None:
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(values if transform == "exp" else values / (1 - values))


def back(values: Any, transform: str | None) -> Floats:
    """Transform values from the scale on which they are pooled to the scale on which they are reported."""
    values = np.asarray(values, dtype=np.float64)
    if transform is None:
        return values
    with np.errstate(over="ignore"):
        return np.exp(values) if transform == "exp" else 1 / (1 + np.exp(-values))


class Trend(NamedTuple):
    """Slope of the estimates on a covariate such as the year, on the scale on which they are pooled."""

    slope: float
    standard_error: float
    low: float
    high: float
    pvalue: float
    tau2: float
    """Variance between the estimates that the covariate does not explain."""


@dataclass(frozen=True, repr=False)
class PooledEstimate(Result):
    """Result of `pool_estimates`.

    Parameters
    ----------
    estimate : float
        Pooled estimate, back-transformed.
    standard_error : float
        Its standard error, on the scale on which the estimates are pooled.
    low, high : float
        Confidence limits, back-transformed.
    prediction_low, prediction_high : float
        Prediction limits for a new centre, back-transformed; NaN for a fixed effect.
    tau2 : float
        Variance between centres, on the scale on which the estimates are pooled.
    tau2_low, tau2_high : float
        Its confidence limits by the Q-profile method.
    i2 : float
        Share of the total variance that is between centres, from 0 to 1.
    q : float
        Cochran's Q.
    q_pvalue : float
        P-value of Q for the null hypothesis that all centres have the same value.
    k : int
        Number of estimates.
    method : {"reml", "dersimonian_laird", "fixed", "one_stage"}
        Estimator of `tau2`; ``"one_stage"`` in a result of `validate_by_group`.
    interval : {"hartung_knapp", "hartung_knapp_adhoc", "normal", "t"}
        Method of the confidence interval.
    prediction : {"profile", "k-1", "k-2", "normal", None}
        Method of the prediction interval; None for a fixed effect.
    level : float
        Level of both intervals.
    transform : {None, "exp", "expit"}
        Back-transformation.
    names : tuple
        Names of the estimates.
    estimates, standard_errors : numpy.ndarray
        The estimates that were pooled, on the scale on which they are pooled.
    weights : numpy.ndarray
        Weight of each estimate; they sum to 1.
    trend : Trend or None
        Slope on a covariate.
    notes : tuple of str
        Cautions about this result.
    """

    estimate: float
    standard_error: float
    low: float
    high: float
    prediction_low: float
    prediction_high: float
    tau2: float
    tau2_low: float
    tau2_high: float
    i2: float
    q: float
    q_pvalue: float
    k: int
    method: str
    interval: str
    prediction: str | None
    level: float
    transform: str | None
    names: tuple[Any, ...]
    estimates: Floats
    standard_errors: Floats
    weights: Floats
    trend: Trend | None = None
    notes: tuple[str, ...] = ()

    def _how(self) -> str:
        return f"{100 * self.level:.4g}%, {METHOD_NAMES[self.method]}, {INTERVAL_NAMES[self.interval]}"

    def _title(self) -> str:
        ends = f"[{number(self.low)}, {number(self.high)}]"
        return f"pooled {number(self.estimate)} {ends} ({self._how()}; k = {self.k})"

    def _notes(self) -> list[str]:
        lines = []
        if self.method != "fixed":
            lines += [
                f"prediction interval [{number(self.prediction_low)}, {number(self.prediction_high)}]",
                f"tau2 {number(self.tau2)} [{number(self.tau2_low)}, {number(self.tau2_high)}], I2 {percent(self.i2)}",
            ]
        lines.append(
            f"Q {number(self.q)} on {len(self.estimates) - 1} degrees of freedom, p = {pvalue_text(self.q_pvalue)}"
        )
        if self.trend is not None:
            slope, low, high = map(number, (self.trend.slope, self.trend.low, self.trend.high))
            lines.append(
                f"trend {slope} [{low}, {high}] per unit of the covariate, p = {pvalue_text(self.trend.pvalue)}"
            )
        return [*lines, *(f"note: {note}" for note in self.notes)]


@documents_keywords()
def pool_estimates(
    estimates: Any,
    standard_errors: Any,
    *,
    method: Method = "reml",
    interval: PoolInterval | None = None,
    level: float = 0.95,
    prediction: Prediction = "profile",
    transform: Transform = None,
    covariate: Any = None,
) -> PooledEstimate:
    r"""Pool estimates of several centres by a random-effects meta-analysis.

    Each centre has its own true value, normally distributed around a common mean with variance :math:`\tau^2`; its estimate adds sampling error with a known
    standard error. The pooled estimate with its confidence interval is the mean over centres. The prediction interval is where the true value of a new
    centre is expected, which answers whether a model can be used elsewhere.

    Parameters
    ----------
    estimates : array-like of shape (k,) or mapping
        One estimate per centre, or estimates by the name of the centre, on a scale on which it is about normal: log(O/E), logit(C), a calibration intercept or slope.
    standard_errors : array-like of shape (k,)
        Their standard errors on the same scale, all positive.
    method : {"reml", "dersimonian_laird", "fixed"}, default "reml"
        Estimator of the variance between centres: restricted maximum likelihood, or the moment estimator of DerSimonian and Laird. ``"fixed"`` assumes that
        all centres have the same true value.
    interval : {"hartung_knapp", "hartung_knapp_adhoc", "normal"}, optional
        Confidence interval. ``"hartung_knapp"``, the default, rescales the standard error by the observed variation and uses a t distribution with k - 1 degrees
        of freedom. ``"hartung_knapp_adhoc"`` does so only where this makes the standard error larger. ``"normal"`` is the Wald interval, which is too short with few
        centres; it is the default, and the only choice, for ``method="fixed"``.
    level
    prediction : {"profile", "k-1", "k-2", "normal"}, default "profile"
        Prediction interval. ``"profile"`` averages over all values of :math:`\tau^2` that the estimates support; the others insert the estimated one, with a t
        distribution of k - 1 or k - 2 degrees of freedom or a normal one, and are too short unless there are many centres. metafor has ``"k-1"`` beside
        Hartung-Knapp intervals and ``"normal"`` beside normal ones; ``interval="normal"`` with ``"k-2"`` is that of Higgins, Thompson and Spiegelhalter [3]_.
    transform : {None, "exp", "expit"}, default None
        Back-transformation of the pooled estimate and of all limits: ``"exp"`` from logarithms, ``"expit"`` from log-odds. The result is then the median over
        centres, not the mean.
    covariate : array-like of shape (k,), optional
        A number per centre, such as the year, on which the estimates are regressed in addition; the slope is ``trend``.

    Returns
    -------
    PooledEstimate
        Result with the attributes ``estimate``, ``low``, ``high``, ``prediction_low``, ``prediction_high``, ``tau2``, ``i2``, ``q``, ``q_pvalue``,
        ``weights`` and ``trend``.

    Raises
    ------
    ArgumentError
        If an option is unknown, or the options do not fit together.
    ShapeError
        If estimates, standard errors and covariate differ in length.
    UndefinedMetricError
        If fewer than two estimates are given.

    See Also
    --------
    calibrant.clinical.validate_by_group : Estimate and pool calibration and discrimination by centre.
    calibrant.figures.forest_diagram : Forest plot of the result.

    Notes
    -----
    With :math:`w_i = 1 / (s_i^2 + \tau^2)` the pooled estimate is :math:`\hat\mu = \sum w_i \hat\theta_i / \sum w_i`, with standard error
    :math:`(\sum w_i)^{-1/2}`. REML maximizes

    .. math:: -\tfrac12 \sum_i \ln(s_i^2 + \tau^2) - \tfrac12 \ln \sum_i w_i - \tfrac12 \sum_i w_i (\hat\theta_i - \hat\mu)^2

    over :math:`\tau^2 \ge 0`. Hartung and Knapp multiply the squared standard error by :math:`q = \sum w_i (\hat\theta_i - \hat\mu)^2 / (k - 1)`. :math:`I^2` is
    :math:`\tau^2 / (\tau^2 + \bar s^2)` with the typical variance :math:`\bar s^2` of Higgins and Thompson.

    At the true :math:`\tau^2` the statistic :math:`Q(\tau^2) = \sum w_i (\hat\theta_i - \hat\mu)^2`, which decreases in :math:`\tau^2`, has a chi-square distribution with
    k - 1 degrees of freedom. Solving :math:`Q(\tau^2) = x` for draws of that distribution therefore gives a distribution of :math:`\tau^2` (its quantiles are the
    Q-profile limits [4]_), and the prediction limits of ``"profile"`` are quantiles of the mixture of :math:`N(\hat\mu(\tau^2), \tau^2 + 1 / \sum w_i)` over it. Without
    sampling error this is the t interval of a new normal value, which is exact; where centres do not differ it is too long. The other intervals are
    :math:`\hat\mu \pm t \sqrt{\hat\tau^2 + \widehat{se}^2}`, as ``predict`` of R's metafor.

    Standard errors are taken as known. Estimates of small centres are not normal, and their standard errors depend on the estimates.

    References
    ----------
    .. [1] Debray, T. P. A. et al. (2019). A framework for meta-analysis of prediction model studies with binary and time-to-event outcomes. Statistical Methods in
       Medical Research 28.
    .. [2] IntHout, J., Ioannidis, J. P. A. and Borm, G. F. (2014). The Hartung-Knapp-Sidik-Jonkman method for random effects meta-analysis is straightforward and
       considerably outperforms the standard DerSimonian-Laird method. BMC Medical Research Methodology 14.
    .. [3] Higgins, J. P. T., Thompson, S. G. and Spiegelhalter, D. J. (2009). A re-evaluation of random-effects meta-analysis. JRSS A 172.
    .. [4] Viechtbauer, W. (2007). Confidence intervals for the amount of heterogeneity in meta-analysis. Statistics in Medicine 26.

    Examples
    --------
    >>> import calibrant as cal
    >>> slopes = cal.inference.pool_estimates([0.82, 1.05, 0.64, 0.91, 1.12], [0.10, 0.12, 0.09, 0.15, 0.11])
    >>> slopes
    pooled 0.8994 [0.6555, 1.143] (95%, REML, Hartung-Knapp; k = 5)
    prediction interval [0.3536, 1.455]
    tau2 0.02850 [0.002804, 0.2884], I2 70.0%
    Q 14.26 on 4 degrees of freedom, p = 0.006505
    """
    y, v, labels, x = _checked(estimates, standard_errors, covariate)
    check_choice(method, "method", METHODS)
    if interval is None:
        interval = "normal" if method == "fixed" else "hartung_knapp"
    check_choice(interval, "interval", INTERVALS)
    check_choice(prediction, "prediction", PREDICTIONS)
    check_choice(transform, "transform", TRANSFORMS)
    check_fraction(level, "level")
    if method == "fixed" and interval != "normal":
        raise ArgumentError("interval", f"{interval!r} requires random effects", "use method='reml' or drop interval")
    k = len(y)
    fit = _fit(y, v, np.ones((k, 1)), method, interval, level)
    base = _weighted(y, v, np.ones((k, 1)), 0.0)
    kind = None if method == "fixed" else prediction
    low, high = _prediction(y, v, fit, level, kind)
    estimate, below, above, *ahead = back([fit.coefficient, fit.low, fit.high, low, high], transform).tolist()
    from scipy.special import chdtrc

    trend, narrow_trend = (None, False) if x is None else _trend(y, v, x, method, interval, level)
    notes = [NARROW.format("") if fit.narrower else NARROW.format(" of the trend") if narrow_trend else ""]
    notes += [TWO_FREE if k == 2 and prediction == "k-2" else ""]
    tau2_low, tau2_high = _profile(y, v, np.array([(1 - level) / 2, (1 + level) / 2])).tolist()
    return PooledEstimate(
        estimate=estimate,
        standard_error=fit.standard_error,
        low=below,
        high=above,
        prediction_low=ahead[0],
        prediction_high=ahead[1],
        tau2=fit.tau2,
        tau2_low=tau2_low,
        tau2_high=tau2_high,
        i2=_i2(fit, base, method),
        q=base.rss,
        q_pvalue=float(chdtrc(k - 1, base.rss)),
        k=k,
        method=method,
        interval=interval,
        prediction=kind,
        level=float(level),
        transform=transform,
        names=labels,
        estimates=y,
        standard_errors=np.sqrt(v),
        weights=fit.weight / fit.weight.sum(),
        trend=trend,
        notes=tuple(filter(None, notes)),
    )


def _checked(
    estimates: Any, standard_errors: Any, covariate: Any
) -> tuple[Floats, Floats, tuple[Any, ...], Floats | None]:
    labels = tuple(estimates) if isinstance(estimates, Mapping) else None
    if isinstance(estimates, Mapping):
        estimates = list(estimates.values())
    y, s = _vector(estimates, "estimates"), _vector(standard_errors, "standard_errors")
    if len(y) != len(s):
        raise ShapeError("standard_errors", f"expected {len(y)}, one for each estimate; got {len(s)}")
    if (s <= 0).any():
        problem = f"must be positive; got {s[s <= 0][0]:g} for estimate {int(np.argmax(s <= 0))}"
        raise ArgumentError("standard_errors", problem, "leave out estimates without one")
    if not 0 < float(np.square(s).min()) <= float(np.square(s).max()) < math.inf:
        raise ArgumentError("standard_errors", f"must lie between 1e-150 and 1e150; got {s.min():g} to {s.max():g}")
    if len(y) < 2:
        raise UndefinedMetricError("estimates", "pooling requires at least two", "report the single estimate")
    labels = labels or tuple(range(1, len(y) + 1))
    if covariate is None:
        return y, s**2, labels, None
    x = _vector(covariate, "covariate")
    if len(x) != len(y):
        raise ShapeError("covariate", f"expected {len(y)} values, one for each estimate; got {len(x)}")
    if len(y) < 3 or (x == x[0]).all():
        raise UndefinedMetricError(
            "covariate", "a trend requires three estimates and two distinct values", "drop covariate"
        )
    return y, s**2, labels, x


def _vector(values: Any, argument: str) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty((0, 0))
    if array.ndim != 1 or len(array) == 0:
        raise ArgumentError(argument, "must be a sequence of numbers", "for example [0.9, 1.1, 0.8]")
    if not np.isfinite(array).all():
        place = int(np.argmax(~np.isfinite(array)))
        raise ArgumentError(argument, f"must be finite; got {array[place]} for estimate {place}", "leave it out")
    return array


class _Weighted(NamedTuple):
    """Weighted least squares with the weights 1 / (v + tau2)."""

    weight: Floats
    coefficients: Floats
    inverse: Floats
    """Inverse of X'WX: the covariance of the coefficients."""
    residual: Floats
    rss: float
    trace: float
    """Trace of P = W - WX (X'WX)^-1 X'W."""


def _weighted(y: Floats, v: Floats, columns: Floats, tau2: float) -> _Weighted:
    weight = 1 / (v + tau2)
    information = columns.T @ (weight[:, None] * columns)
    inverse = np.asarray(np.linalg.inv(information), dtype=np.float64)
    coefficients = inverse @ (columns.T @ (weight * y))
    residual = y - columns @ coefficients
    trace = float(weight.sum() - np.trace(inverse @ (columns.T @ (weight[:, None] ** 2 * columns))))
    return _Weighted(weight, coefficients, inverse, residual, float(weight @ residual**2), trace)


def _score(y: Floats, v: Floats, columns: Floats, tau2: float) -> float:
    """Twice the derivative of the restricted log-likelihood."""
    at = _weighted(y, v, columns, tau2)
    return float(np.square(at.weight * at.residual).sum()) - at.trace


def _reml(y: Floats, v: Floats, columns: Floats) -> float:
    """The tau2 with the largest restricted likelihood, bracketed on a grid."""
    from scipy.optimize import brentq

    widest = float(np.square(_weighted(y, v, columns, float(v.max())).residual).max()) * len(y)
    if widest == 0:
        return 0.0
    smallest = 1e-8 * min(widest, float(v.min()))
    grid = np.concatenate([[0.0], np.geomspace(smallest, max(widest, 10 * smallest), GRID)])
    # The restricted log-likelihood at each tau2, without constants.
    weight = 1 / (v + grid[:, None])
    information = np.einsum("gi,ij,il->gjl", weight, columns, columns)
    coefficients = np.linalg.solve(information, ((weight * y) @ columns)[:, :, None])[:, :, 0]
    rss = (weight * np.square(y - coefficients @ columns.T)).sum(axis=1)
    best = int(np.argmax((np.log(weight).sum(axis=1) - np.linalg.slogdet(information)[1] - rss) / 2))
    low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, GRID)])
    ends = _score(y, v, columns, low), _score(y, v, columns, high)
    if not ends[0] > 0 > ends[1]:
        return 0.0 if best == 0 else float(grid[best])
    return float(brentq(lambda t: _score(y, v, columns, t), low, high, xtol=1e-300, rtol=1e-13))


class _Fit(NamedTuple):
    """The last coefficient of a random-effects regression: the pooled estimate, or the slope of a covariate."""

    coefficient: float
    standard_error: float
    low: float
    high: float
    tau2: float
    weight: Floats
    narrower: bool
    """Whether the interval is narrower than the normal one."""


def _fit(y: Floats, v: Floats, columns: Floats, method: str, interval: str, level: float) -> _Fit:
    from scipy.special import stdtrit

    freedom = len(y) - columns.shape[1]
    tau2 = 0.0
    if method == "reml":
        tau2 = _reml(y, v, columns)
    elif method == "dersimonian_laird":
        fixed = _weighted(y, v, columns, 0.0)
        tau2 = max(0.0, (fixed.rss - freedom) / fixed.trace)
    at = _weighted(y, v, columns, tau2)
    plain, factor = math.sqrt(float(at.inverse[-1, -1])), at.rss / freedom
    scale = {"normal": 1.0, "hartung_knapp": factor, "hartung_knapp_adhoc": max(1.0, factor)}[interval]
    error = plain * math.sqrt(scale)
    normal = two_sided_quantile(level)
    value, half = float(at.coefficients[-1]), error * normal
    if interval != "normal":
        half = error * float(stdtrit(freedom, (1 + level) / 2))
    return _Fit(value, error, value - half, value + half, tau2, at.weight, half < plain * normal * (1 - 1e-12))


def _prediction(y: Floats, v: Floats, fit: _Fit, level: float, kind: str | None) -> tuple[float, float]:
    """Prediction limits; NaN where there are none."""
    from scipy.special import ndtri, stdtrit

    if kind == "profile":
        return _profile_prediction(y, v, level)
    freedom = {"k-1": len(y) - 1, "k-2": len(y) - 2}.get(kind or "")
    if kind is None or freedom == 0:
        return math.nan, math.nan
    tail = (1 + level) / 2
    quantile = float(ndtri(tail) if freedom is None else stdtrit(freedom, tail))
    half = quantile * math.sqrt(fit.tau2 + fit.standard_error**2)
    return fit.coefficient - half, fit.coefficient + half


def _profile_prediction(y: Floats, v: Floats, level: float) -> tuple[float, float]:
    """Prediction limits averaged over the distribution of tau2 that the generalised Q gives."""
    from scipy.optimize import brentq
    from scipy.special import ndtr

    tau2 = _profile(y, v, (np.arange(PARTS) + 0.5) / PARTS)
    weight = 1 / (v + tau2[:, None])
    total = weight.sum(axis=1)
    centre, spread = weight @ y / total, np.sqrt(tau2 + 1 / total)

    def quantile(share: float) -> float:
        ends = float((centre - 40 * spread).min()), float((centre + 40 * spread).max())
        tolerance = 1e-12 * float(spread.min())
        return float(brentq(lambda x: ndtr((x - centre) / spread).mean() - share, *ends, xtol=tolerance))

    return quantile((1 - level) / 2), quantile((1 + level) / 2)


def _i2(fit: _Fit, base: _Weighted, method: str) -> float:
    freedom = len(base.weight) - 1
    if method == "fixed":
        return max(0.0, 1 - freedom / base.rss) if base.rss > 0 else 0.0
    return fit.tau2 / (fit.tau2 + freedom / base.trace)


def _profile(y: Floats, v: Floats, tails: Floats) -> Floats:
    """The tau2 at which the generalised Q has these upper tails of its chi-square distribution, or 0.

    1 / Q is concave in tau2, so that Newton's method from 0 approaches each solution from below.
    """
    from scipy.special import chdtri

    wanted = np.asarray(chdtri(len(y) - 1, tails), dtype=np.float64)
    tau2 = np.zeros(len(tails))
    for _ in range(MOST_STEPS):
        # Relative to the largest weight, so that none overflows.
        least = v.min() + tau2
        weight = least[:, None] / (v + tau2[:, None])
        residual = y - (weight @ y / weight.sum(axis=1))[:, None]
        rss, slope = (weight * residual**2).sum(axis=1), np.square(weight * residual).sum(axis=1)
        ratio = np.divide(rss, slope, out=np.zeros(len(tails)), where=slope > 0)
        step = (rss / wanted - least) * ratio
        before, tau2 = tau2, np.maximum(tau2 + step, 0.0)
        if (np.abs(tau2 - before) <= 1e-13 * tau2).all():
            break
    return tau2


def _trend(y: Floats, v: Floats, x: Floats, method: str, interval: str, level: float) -> tuple[Trend, bool]:
    """The slope on a covariate, and whether its interval is narrower than the normal one."""
    from scipy.special import ndtr, stdtr

    centre, width = float(x.mean()), float(np.ptp(x))
    columns = np.column_stack([np.ones(len(x)), (x - centre) / width])
    fit = _fit(y, v, columns, method, interval, level)
    steps = -abs(fit.coefficient) / fit.standard_error if fit.standard_error > 0 else -math.inf
    tail = float(ndtr(steps) if interval == "normal" else stdtr(len(y) - 2, steps))
    value, error, low, high = (each / width for each in fit[:4])
    return Trend(value, error, low, high, 2 * tail, fit.tau2), fit.narrower

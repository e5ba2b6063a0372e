"""The flexible calibration curve: LOESS or spline, with a pointwise band, the distribution of risks, and a legend."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from ..clinical.performance import statistics
from ..clinical.summary_intervals import closed_forms
from ..curves.flexible import FlexibleCurve, LoessCurve, SplineCurve, fit_flexible
from ..curves.local_regression import KNOTS
from ..decision.rows import finite_column
from ..errors import ArgumentError, UndefinedMetricError
from ..evaluation.discrimination import c_statistic
from ..inference.means import two_sided_quantile
from ..inference.replicates import Bounds
from ..metrics.hints import inside, warn_of_sure_scores
from ..util.checks import check_choice, check_fraction, check_positive, check_whole
from ..util.results import percent
from ..views.keywords import check_options, documents_keywords
from ..views.lenses import Lens
from ..views.resolve import resolve
from ..views.view import View
from .base import (
    Diagram,
    Floats,
    axis_names,
    drawn,
    finish,
    halo,
    one_view,
    outcome_names,
    round_end,
    rows_of,
    series_on,
    square,
)
from .canvas import OVER, Axes, muted, new_ax
from .fits import no_bounds
from .labels import shorten
from .models import single_point
from .styling import plots, series_of

Smoother = Literal["loess", "rcs"]
Uncertainty = Literal["auto", "binomial", "residual", "wald"]

# Intervals of each smoother, the default first.
WAYS = {"loess": ("binomial", "residual"), "rcs": ("wald",)}
SMOOTHER_NAMES = {"loess": "LOESS", "rcs": "restricted cubic spline"}
# Risks at which the curve is returned, half of them equally spaced and half at quantiles.
POINTS = 200
# Number of spikes, and height of the strip below the axes relative to them.
SPIKES, STRIP = 100, 0.26


class Estimate(NamedTuple):
    """An estimate with its confidence interval; NaN where it is undefined."""

    value: float
    low: float
    high: float


class RiskDistribution(NamedTuple):
    """Number (or weight) of rows with and without the event in equal-width bins of the risk."""

    low: Floats
    high: Floats
    events: Floats
    others: Floats


@dataclass(frozen=True, repr=False)
class FlexibleCalibrationCurve(Diagram):
    """Data of a flexible calibration curve; `plot` draws it, `at` evaluates it.

    Parameters
    ----------
    smoother : str
        ``"loess"`` or ``"rcs"``.
    risk : ndarray
        Predicted risks, increasing.
    observed : ndarray
        The curve: estimated rate of the event at each risk.
    low : ndarray
        Lower end of the pointwise interval.
    high : ndarray
        Upper end.
    level : float or None
        Confidence level; None without intervals.
    how : str or None
        Kind of the intervals.
    intercept : Estimate
        Calibration intercept, at slope 1, with its Wald interval: ``value``, ``low``, ``high``.
    slope : Estimate
        Calibration slope with its Wald interval.
    c_statistic : Estimate
        C-statistic (area under the ROC curve) with the interval of DeLong's variance on the scale of its log-odds; without one for
        importance weights.
    distribution : RiskDistribution
        Rows with and without the event by risk: ``low``, ``high``, ``events`` and ``others``.
    n : int
        Number of rows; counts are added up.
    prevalence : float
        Share of events.
    lens : str
        The event.
    fit : object
        The fitted curve.
    end : float
        Upper end of the axes by default.
    notes : tuple of str
        Caveats, such as risks of exactly 0 or 1.

    See Also
    --------
    flexible_calibration_curve : The function that returns it.
    """

    _hidden = ("fit", "end")

    smoother: str
    risk: Floats
    observed: Floats
    low: Floats
    high: Floats
    level: float | None
    how: str | None
    intercept: Estimate
    slope: Estimate
    c_statistic: Estimate
    distribution: RiskDistribution = field(repr=False)
    n: int
    prevalence: float
    lens: str
    fit: FlexibleCurve = field(repr=False, compare=False)
    end: float = field(default=1.0, repr=False, compare=False)
    notes: tuple[str, ...] = ()

    def at(self, risk: Any) -> tuple[Floats, Floats, Floats]:
        """Evaluate the curve and its interval at given risks.

        Parameters
        ----------
        risk : float or array-like
            Predicted risks. Beyond the smallest and the largest risk of the data the result is NaN, since the curve is not
            extrapolated.

        Returns
        -------
        tuple of ndarray
            The curve, and the lower and upper end of the interval.
        """
        x = np.atleast_1d(finite_column(np.atleast_1d(risk), "risk"))
        inside = (x >= self.risk[0]) & (x <= self.risk[-1])
        y = np.where(inside, self.fit(np.clip(x, self.risk[0], self.risk[-1])), np.nan)
        bounds = _bounds(self.fit, x, self.how, self.level)
        return y, np.where(inside, bounds.low, np.nan), np.where(inside, bounds.high, np.nan)

    def _notes(self) -> list[str]:
        return list(self.notes)

    def _title(self) -> str:
        band = "" if self.how is None else f", {100 * self.level:g}% pointwise intervals ({self.how})"  # type: ignore[operator]
        head = f"Flexible calibration curve ({SMOOTHER_NAMES[self.smoother]}{band}; {rows_of(self.n, self.lens)}, {percent(self.prevalence)} events)"
        return "\n".join([head, *(f"  {line}" for line in self._estimates())])

    def _estimates(self) -> list[str]:
        """Lines of the legend: intercept, slope and C-statistic with their intervals."""
        lines = []
        for name, each in (("intercept", self.intercept), ("slope", self.slope), ("C-statistic", self.c_statistic)):
            if not math.isnan(each.value):
                bounds = "" if math.isnan(each.low) else f" ({each.low:.2f} to {each.high:.2f})"
                lines.append(f"{name} {each.value:.2f}{bounds}")
        return lines

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot the curve with its band, the distribution of the risks by outcome, and the legend.

        Spikes below the curve are the rows with the event (up) and without it (down), each scaled to its own largest bin, so
        that rare events are visible.
        """
        ax = new_ax(ax)
        first = series_on(ax) == 0
        (look,) = series_of(ax, style, width=1.5)
        end = square(ax, self.end, STRIP)
        drawn(ax, "diagonal")[0].set_label("ideal")
        seen = self.risk <= end
        x = self.risk[seen]
        if self.how is not None:
            band = f"{100 * self.level:g}% pointwise band"  # type: ignore[operator]
            look.shade(ax, x, self.low[seen], self.high[seen], band, alpha=0.2)
        label = "\n".join([SMOOTHER_NAMES[self.smoother] if look.label is None else look.label, *self._estimates()])
        ax.plot(x, self.observed[seen], zorder=3, gid="curve", label=label, **{**single_point(x), **look.line})
        if first:
            self._spikes(ax, end)
        label, rate = axis_names(self.lens)
        finish(ax, label.removeprefix("mean "), rate)
        return ax

    def _spikes(self, ax: Axes, end: float) -> None:
        rows = self.distribution
        middle = (rows.low + rows.high) / 2
        base, most = -STRIP / 2 * end, 0.2 * STRIP * end
        ax.axhline(base, color=muted(), linewidth=0.5, zorder=1.4)
        pairs = zip((rows.events, rows.others), outcome_names(self.lens), (1, -1), (OVER, muted()), strict=True)
        for heights, name, side, hue in pairs:
            seen = (heights > 0) & (middle <= end)
            if seen.any():
                tops = base + side * most * heights[seen] / heights[seen].max()
                ax.vlines(middle[seen], base, tops, color=hue, linewidth=1.0, zorder=1.6, gid="spikes")
            # Beyond the spikes, which it would hide.
            style: dict[str, Any] = {"ha": "right", "va": "bottom" if side > 0 else "top", "path_effects": halo(ax)}
            style |= {"fontsize": "small", "color": hue, "zorder": 4, "gid": "side"}
            ax.text(0.995 * end, base + side * 1.08 * most, shorten(name, 40), **style)


@documents_keywords()
def flexible_calibration_curve(
    y_true: Any,
    y_prob: Any = None,
    *,
    smoother: Smoother = "loess",
    level: float | None = 0.95,
    uncertainty: Uncertainty = "auto",
    lens: str | Lens = "auto",
    sample_weight: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> FlexibleCalibrationCurve:
    r"""Estimate the flexible calibration curve of a risk model: observed rate as a smooth function of predicted risk.

    This is the curve of validation studies: LOESS or a spline with a pointwise confidence band, the distribution of the risks by
    outcome, and calibration intercept, slope and C-statistic with their intervals. The mean distance of the LOESS and spline
    curves from the diagonal, over rows, is `ici`.

    Parameters
    ----------
    y_true
    y_prob
    smoother : {"loess", "rcs"}, default "loess"
        ``"loess"``: R's ``loess`` with its defaults, interpolated between the vertices of a k-d tree. ``"rcs"``: logistic
        regression on a restricted cubic spline of the log-odds of the risk.
    level : float or None, default 0.95
        Confidence level of the pointwise intervals; None for no intervals.
    uncertainty : {"auto", "binomial", "residual", "wald"}, default "auto"
        Kind of the intervals. ``"binomial"`` (LOESS): the variance of the local fit for binary outcomes, in an interval of
        Wilson's form. ``"residual"`` (LOESS): standard errors of R's ``predict(loess, se=TRUE)``, which assume the same variance
        for all outcomes, as in CalibrationCurves; too short at high risks of rare events. ``"wald"`` (rcs): on the scale of the
        log-odds. ``"auto"``: binomial or Wald, by smoother.
    lens
    sample_weight
    pos_label
    **options
        Of LOESS the `span`, the fraction of the rows in each neighbourhood (0.75), and the `degree` of the local polynomials: 0, 1 or 2
        (2); of the spline the number of `knots`: 3, 4 or 5 (5), at Harrell's quantiles of the log-odds.

    Returns
    -------
    FlexibleCalibrationCurve
        ``risk``, ``observed``, ``low``, ``high``, and ``intercept``, ``slope`` and ``c_statistic`` with their intervals.
        ``at(risk)`` evaluates the curve anywhere, ``to_frame()`` returns it as a table, and ``plot()`` draws it.

    Raises
    ------
    ArgumentError
        If an argument is out of range, or the intervals do not belong to the smoother.
    UndefinedMetricError
        If a spline cannot be fitted because the outcomes are separated, or intervals are asked for soft labels.

    See Also
    --------
    ici : Mean distance of the curve from the diagonal; `e50`, `e90` and `emax` are its quantiles.
    calibration_belt : Polynomial in the log-odds with a simultaneous band and a test.
    clinical.summary : Performance of a risk model with intervals, of which three are in the legend.
    reliability_diagram : Bins, kernel regression, or isotonic regression with a simultaneous band.

    Notes
    -----
    LOESS is linear in the outcomes, :math:`\hat f(x) = \sum_i l_i(x) y_i`, so that with :math:`p_i = \hat f(x_i)` its variance is
    :math:`\sum_i l_i(x)^2 p_i (1 - p_i)` (``"binomial"``) or :math:`\hat\sigma^2 \sum_i l_i(x)^2` (``"residual"``), with
    :math:`\hat\sigma^2` the residual sum of squares over :math:`\operatorname{tr} (I - L)(I - L)^\top`. R approximates this trace by
    default and computes it with ``statistics="exact"``. A smooth curve is biased where the true one bends, and no interval
    here accounts for that; simulated coverage is in the documentation. CalibrationCurves takes the spline of the risk itself in
    place of its log-odds, and switches to it above 5000 rows.

    References
    ----------
    .. [1] Van Calster, B. et al. (2016). A calibration hierarchy for risk models was defined: from utopia to empirical data.
       Journal of Clinical Epidemiology 74, 167-176.
    .. [2] Austin, P. C. and Steyerberg, E. W. (2019). The Integrated Calibration Index (ICI) and related metrics for quantifying the
       calibration of logistic regression models. Statistics in Medicine 38, 4051-4065.
    .. [3] Cleveland, W. S. and Devlin, S. J. (1988). Locally weighted regression. JASA 83, 596-610.

    Examples
    --------
    >>> import calibrant as cal
    >>> data = cal.inference.make_miscalibrated(500, warp=cal.inference.simulation.temperature(1.5), distribution=(2, 8), rng=0)
    >>> curve = cal.figures.flexible_calibration_curve(data.y_true, data.y_prob)
    >>> [values.round(3).tolist() for values in curve.at([0.1, 0.3])]  # curve, low, high
    [[0.217, 0.318], [0.163, 0.245], [0.283, 0.401]]
    >>> round(curve.slope.value, 2)
    0.61
    """
    if level is not None:
        check_fraction(level, "level")
    check_choice(smoother, "smoother", tuple(WAYS))
    check_choice(uncertainty, "uncertainty", ("auto", *WAYS[smoother]))
    check_options(flexible_calibration_curve, options, _read_smoothness)
    smoothness = _read_smoothness(**options)
    view = one_view(resolve(y_true, y_prob, sample_weight, pos_label), lens)
    if smoother == "rcs":
        warn_of_sure_scores(view, "flexible_calibration_curve")
    how = None if level is None else WAYS[smoother][0] if uncertainty == "auto" else uncertainty
    if how is not None and view.is_soft:
        raise UndefinedMetricError("level", "intervals are not defined for soft labels", "use level=None")
    fit = fit_flexible(view, smoother, **smoothness)
    risk = _grid(view, POINTS)
    observed, tail = np.clip(fit(risk), 0, 1), float(_quantile(view, 0.999))
    # The axes need not show the largest risks of all, which may be outliers.
    highest = max(1.05 * tail, float(observed[risk <= tail].max()))
    end = round_end(highest)
    return FlexibleCalibrationCurve(
        smoother,
        risk,
        observed,
        *_bounds(fit, risk, how, level),
        level,
        how,
        *_estimates(view, level or 0.95),
        _distribution(view, end),
        round(view.total) if view.weight_kind == "counts" else view.n,
        float((view.weights * view.outcome).sum()) / view.total,
        view.lens,
        fit,
        end,
        _boundary_notes(view),
    )


def _read_smoothness(*, span: float = 0.75, degree: int = 2, knots: int = 5) -> dict[str, Any]:
    """The checked options of both smoothers."""
    check_positive(span, "span")
    if check_whole(degree, "degree", 0) > 2:
        raise ArgumentError("degree", f"must be 0, 1 or 2; got {degree}")
    if knots not in KNOTS:
        raise ArgumentError("knots", f"must be 3, 4 or 5; got {knots!r}")
    return {"span": float(span), "degree": degree, "knots": knots}


def _boundary_notes(view: View) -> tuple[str, ...]:
    sure = view.n - inside(view).n
    some = f"{sure:,} of {view.n:,} risks are 0 or 1 (within 1e-12)"
    return (f"{some} and left out of intercept and slope, as by clinical.summary",) if sure else ()


def _quantile(view: View, share: Any) -> Floats:
    """Risks that these shares of the rows do not exceed."""
    ties = view.ties
    path = np.cumsum(ties.weight) / ties.weight.sum()
    return ties.score[np.minimum(np.searchsorted(path, np.asarray(share) - 1e-12), len(path) - 1)]


def _grid(view: View, points: int) -> Floats:
    score = view.ties.score
    if len(score) <= points:
        return score
    even = np.linspace(score[0], score[-1], max(2, points - points // 2))
    return np.union1d(even, _quantile(view, np.linspace(0, 1, points // 2)))


def _bounds(fit: FlexibleCurve, risk: Floats, how: str | None, level: float | None) -> Bounds:
    """Pointwise intervals at the risks; NaN without a level."""
    from scipy.special import expit

    if level is None:
        return no_bounds(len(risk))
    z = two_sided_quantile(level)
    if isinstance(fit, SplineCurve):
        middle, error = fit.log_odds(risk), fit.error(risk)
        return Bounds(expit(middle - z * error), expit(middle + z * error))
    assert isinstance(fit, LoessCurve)
    binomial, unit, residual = fit.variances(risk)
    middle = fit(risk)
    if how == "residual":
        half = z * np.sqrt(residual * unit)
    else:
        # Wilson's interval for 1 / unit rows, with the variance of the local fit: it does not shrink to nothing near 0 and 1.
        part = z * z * unit
        middle = (np.clip(middle, 0, 1) + part / 2) / (1 + part)
        half = z * np.sqrt(binomial + z * z * unit * unit / 4) / (1 + part)
    return Bounds(np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1))


def _estimates(view: View, level: float) -> tuple[Estimate, Estimate, Estimate]:
    """Calibration intercept at slope 1 and calibration slope, as in `clinical.summary`, and C with DeLong's interval, as in CalibrationCurves; NaN where undefined."""
    values, _ = statistics(view, "loess", ("intercept", "slope"))
    closed = closed_forms(view, values, level)
    nothing = ("", (math.nan, math.nan))
    intercept, slope = (
        Estimate(values.get(id, math.nan), *closed.get(id, nothing)[1]) for id in ("intercept", "slope")
    )
    return intercept, slope, Estimate(*c_statistic(view, level))


def _distribution(view: View, end: float) -> RiskDistribution:
    """Counts by outcome in bins up to the end of the axes; those above it in bins of the same width."""
    ties = view.ties
    width = end / SPIKES
    place = np.minimum((ties.score / width).astype(np.int64), math.ceil(1 / width) - 1)
    place = np.where(ties.score == end, SPIKES - 1, place)
    used, inverse = np.unique(place, return_inverse=True)
    events, rows = (np.bincount(inverse, values).astype(np.float64) for values in (ties.outcome, ties.weight))
    return RiskDistribution(used * width, np.minimum((used + 1) * width, 1.0), events, np.maximum(rows - events, 0.0))

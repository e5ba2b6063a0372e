"""Decision curves: net benefit of several models with intervals, interventions avoided, and differences between models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..decision.costs import BenefitRows, Rule, check_thresholds
from ..errors import ArgumentError, InputTypeError, ShapeError
from ..util.checks import check_fraction
from ..util.results import percent
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from .base import MODELS_PARAMETERS, Diagram, Floats, drawn, finish, reference, rows_of
from .canvas import PAPER_WIDTH, Axes, ink, muted, new_ax
from .labels import plain
from .models import by_model, model_named, model_views, read_models
from .styling import DASHES, plots, series_of

TREAT_ALL, TREAT_NONE = "treat all", "treat none"
# Share of the largest value from which a line can be told from 0 in a figure.
SEEN = 0.002
# Below this prevalence the default thresholds include those below 1%.
RARE = 0.05


@dataclass(frozen=True, repr=False)
class CurveDifference(Diagram):
    """Difference in net benefit of two models on the same rows at each threshold, with pointwise intervals.

    Parameters
    ----------
    first : str
        Name of the model.
    second : str
        Name of the model that is subtracted.
    threshold : ndarray
        Thresholds.
    difference : ndarray
        Value of the first minus that of the second.
    low : ndarray
        Lower end of each interval, NaN without intervals.
    high : ndarray
        Upper end.
    level : float or None
        Confidence level of each interval, None without intervals.
    """

    first: str
    second: str
    threshold: Floats
    difference: Floats
    low: Floats
    high: Floats
    level: float | None

    def _title(self) -> str:
        bounds = "" if self.level is None else f" ({100 * self.level:g}% pointwise intervals)"
        return f"Net benefit of {self.first} minus {self.second}{bounds}"

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot the difference with its intervals."""
        ax = new_ax(ax, width=PAPER_WIDTH, height=2.4)
        reference(ax)
        label = "" if self.level is None else f"{100 * self.level:g}% intervals"
        (look,) = series_of(ax, style, marker=len(self.threshold) == 1)
        ax.plot(self.threshold, self.difference, gid="series", **look.line, label=look.label)
        look.shade(ax, self.threshold, self.low, self.high, label)
        held = np.abs(self.difference)
        _limit_thresholds(ax, self.threshold, held > SEEN * held.max())
        what = f"{plain(self.first)} minus {plain(self.second)}"
        finish(ax, "threshold", f"difference in net benefit:\n{what}")
        return ax


@dataclass(frozen=True)
class BenefitCurve:
    """Decision curve of one model or of treating all, with pointwise intervals (NaN without).

    ``standardised`` is the net benefit divided by the prevalence, its maximum; ``avoided_per_100`` are the net interventions avoided per
    100 rows, compared with treating all; ``rule`` is the number of thresholds at which each row is treated.
    """

    name: str
    net_benefit: Floats
    low: Floats
    high: Floats
    standardised: Floats
    avoided_per_100: Floats
    rule: Rule = field(repr=False, compare=False)


@dataclass(frozen=True, repr=False)
class DecisionCurve(Diagram):
    """Data of decision curves; `plot` draws them.

    Parameters
    ----------
    threshold : ndarray
        Threshold probabilities.
    curves : tuple of BenefitCurve
        Curve of each model; ``curve[name]`` returns one.
    treat_all : BenefitCurve
        Curve of acting on all rows; acting on none has net benefit 0.
    prevalence : float
        Share of events.
    n : int
        Number of rows; counts are added up.
    lens : str
        The event.
    level : float or None
        Confidence level of each interval, None without intervals.
    rows : BenefitRows
        Outcomes and weights of the rows.
    """

    _hidden = ("rows",)

    threshold: Floats
    curves: tuple[BenefitCurve, ...]
    treat_all: BenefitCurve
    prevalence: float
    n: int
    lens: str
    level: float | None
    rows: BenefitRows = field(repr=False, compare=False)

    def __getitem__(self, name: str) -> BenefitCurve:
        return self.treat_all if name == TREAT_ALL else model_named(self.curves, name)

    def difference(self, first: str | None = None, second: str = TREAT_ALL) -> CurveDifference:
        """Compute the difference in net benefit between two models, with intervals for the same rows of both.

        Parameters
        ----------
        first : str, optional
            Name of a model; may be left out if there is only one.
        second : str, default "treat all"
            Name of the model to compare with, ``"treat all"`` or ``"treat none"``.

        Returns
        -------
        CurveDifference
            Result with the attributes ``difference``, ``low`` and ``high`` at each threshold.
        """
        if first is None and len(self.curves) > 1:
            names = [curve.name for curve in self.curves]
            raise ArgumentError("first", f"is required for several models; choose one of {names}")
        one = self.curves[0] if first is None else self[first]
        other = 0 if second == TREAT_NONE else self[second].rule
        bounds = self.rows.difference(one.rule, other, self.level)
        return CurveDifference(one.name, second, self.threshold, *bounds, self.level)

    def _columns(self) -> dict[str, list[Any]]:
        names = ("net_benefit", "low", "high", "standardised", "avoided_per_100")
        return by_model((*self.curves, self.treat_all), names, {"threshold": self.threshold.tolist()})

    def _title(self) -> str:
        bounds = "" if self.level is None else f", {100 * self.level:g}% pointwise intervals"
        facts = f"{rows_of(self.n, self.lens)}, {percent(self.prevalence)} events{bounds}"
        return f"Decision curve ({facts}); treating none has net benefit 0"

    _numeric = range(1, 100)

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot the net benefit of each model, of treating all and of treating none."""
        ax = new_ax(ax, width=PAPER_WIDTH, height=2.8)
        benefit = self.treat_all.net_benefit
        reference(ax, color=ink(), linestyle="-", zorder=1.4, label=TREAT_NONE)
        if not any(np.array_equal(line.get_ydata(), benefit) for line in drawn(ax, "treat all")):
            line: dict[str, Any] = {"color": muted(), "linestyle": DASHES[3], "linewidth": 1.1, "zorder": 1.5}
            line |= {"marker": "x", "markersize": 4} if len(self.threshold) == 1 else {}
            ax.plot(self.threshold, benefit, label=TREAT_ALL, gid="treat all", **line)
        label = "" if self.level is None else f"{100 * self.level:g}% intervals"
        looks = series_of(ax, style, [curve.name for curve in self.curves], marker=len(self.threshold) == 1)
        for look, curve in zip(looks, self.curves, strict=True):
            ax.plot(self.threshold, curve.net_benefit, gid="series", **look.line, label=look.label)
            look.shade(ax, self.threshold, curve.low, curve.high, label)
        # Beyond the last threshold worth showing no model has a benefit, and treating all is harmful.
        benefits = np.array([curve.net_benefit for curve in self.curves])
        seen = (np.abs(benefits) > SEEN * self.prevalence).any(axis=0) | (benefit > 0)
        _limit_thresholds(ax, self.threshold, seen)
        best = max([self.prevalence, *(float(curve.net_benefit.max()) for curve in self.curves)])
        worst = min(float(curve.net_benefit.min()) for curve in self.curves)
        if best > 0:  # a harmful model does not hide the others
            ax.set_ylim(max(min(-0.1 * best, 1.1 * worst), -0.5 * best), 1.1 * best)
        finish(ax, "threshold probability", "net benefit")
        return ax


def _limit_thresholds(ax: Axes, threshold: Floats, seen: NDArray[np.bool_]) -> None:
    """Limit the axes to the threshold after the last one with something to see."""
    last = min(int(np.flatnonzero(seen)[-1]) + 1 if seen.any() else len(seen), len(seen) - 1)
    x = threshold[: last + 1]
    room = 0.0 if len(x) > 1 else 0.05
    ax.set_xlim(max(0.0, float(x.min()) - room) if x.min() > 0.05 else 0.0, min(1.0, float(x.max()) + room))


@documents_keywords(table=MODELS_PARAMETERS)
def decision_curve(
    y_true: Any,
    y_prob: Any = None,
    *,
    thresholds: Any = None,
    level: float | None = 0.95,
    lens: str | Lens = "auto",
    sample_weight: Any = None,
    pos_label: Any = None,
) -> DecisionCurve:
    r"""Compute decision curves: the net benefit of one or several models over threshold probabilities.

    Net benefit is the rate of true positives minus the rate of false positives weighted by the odds of the threshold
    probability, at which a decision maker would act. A model is useful at thresholds where it exceeds treating all and
    treating none; the intervals show whether that could be chance.

    Parameters
    ----------
    y_true
    y_prob
    thresholds : float or array-like, optional
        Threshold probabilities between 0 and 1; by default 0.01, 0.02, ..., 0.99, and with fewer than 5% events also
        0.001, ..., 0.009.
    level : float or None, default 0.95
        Confidence level of the pointwise intervals; None for no intervals.
    lens
    sample_weight
    pos_label

    Returns
    -------
    DecisionCurve
        Thresholds and ``curves`` by model, with ``net_benefit``, ``low``, ``high``, ``standardised`` and
        ``avoided_per_100``. ``plot()`` draws the net benefit, ``difference(first, second)`` compares two models with paired
        intervals, and ``to_frame()`` returns a table.

    Raises
    ------
    ArgumentError
        If a threshold is not between 0 and 1, or a model is named like a default strategy.
    UndefinedMetricError
        If labels are soft.

    See Also
    --------
    net_benefit : Net benefit of one model with its standard error.
    murphy_diagram : Decisions at every threshold, as a proper score.

    Notes
    -----
    At threshold probability t, with n rows,

    .. math:: \mathrm{NB}(t) = \frac{\mathrm{TP}(t)}{n} - \frac{\mathrm{FP}(t)}{n} \cdot \frac{t}{1 - t},

    where rows with a risk of at least t are treated. Interventions avoided per 100 are
    :math:`100\,(\mathrm{NB}(t) - \mathrm{NB}_{all}(t))\,(1 - t) / t` [2]_. The values are those of dcurves in R. Intervals
    combine the exact limits of the shares of true and of false positives by the method of variance estimates recovery [3]_,
    and hold at each threshold, not for the whole curve. They have a width where few rows or none reach a threshold.

    References
    ----------
    .. [1] Vickers, A. J. and Elkin, E. B. (2006). Decision curve analysis. Medical Decision Making 26, 565-574.
    .. [2] Vickers, A. J., Van Calster, B. and Steyerberg, E. W. (2019). A simple, step-by-step guide to interpreting decision
       curve analysis. Diagnostic and Prognostic Research 3, 18.
    .. [3] Zou, G. Y. and Donner, A. (2008). Construction of confidence limits about effect measures: a general approach.
       Statistics in Medicine 27, 1693-1702.

    Examples
    --------
    >>> import calibrant as cal
    >>> y_true, risk = [0, 1, 0, 1, 1, 1], [0.1, 0.4, 0.6, 0.7, 0.8, 0.9]
    >>> curve = cal.figures.decision_curve(y_true, risk, thresholds=[0.2, 0.5])
    >>> curve["model"].net_benefit.round(4).tolist()
    [0.625, 0.3333]
    >>> curve.difference().difference.round(4).tolist()  # minus treating all
    [0.0417, 0.0]
    """
    if level is not None:
        check_fraction(level, "level")
    sources = read_models(y_true, y_prob, sample_weight, pos_label)
    for name in sources:
        if name in (TREAT_ALL, TREAT_NONE):
            raise ArgumentError("y_prob", f"{name!r} is the name of a default strategy", "rename the model")
    views = model_views("decision_curve", sources, lens)
    view = next(iter(views.values()))
    for name, other in views.items():
        if other.n != view.n:
            raise ShapeError("y_prob", f"model {name!r} has {other.n} rows, the first one has {view.n}")
        if not np.array_equal(other.raw_outcome, view.raw_outcome):
            problem = f"the event of model {name!r} differs from that of the first one"
            raise InputTypeError("lens", problem, "use 'class:NAME'")
        if not np.array_equal(other.weights, view.weights):
            raise ArgumentError("y_true", f"model {name!r} has other weights than the first one")
    hit = view.raw_outcome.astype(np.bool_)
    prevalence = float(view.weights[hit].sum()) / view.total
    grid = np.arange(1, 100) / 100
    if thresholds is None and prevalence < RARE:
        grid = np.concatenate([np.arange(1, 10) / 1000, grid])
    t = check_thresholds(grid if thresholds is None else thresholds)
    rows = BenefitRows(view, t)
    benefit_of_all = rows.difference(len(t), 0, None)[0]

    def curve(name: str, rule: Rule) -> BenefitCurve:
        value, low, high = rows.difference(rule, 0, level)
        avoided = 100 * (value - benefit_of_all) * (1 - t) / t
        share = value / prevalence if prevalence > 0 else np.full(len(t), np.nan)
        return BenefitCurve(name, value, low, high, share, avoided, rule)

    curves = tuple(curve(name, rows.rule(each.score)) for name, each in views.items())
    size = round(view.total) if view.weight_kind == "counts" else view.n
    return DecisionCurve(t, curves, curve(TREAT_ALL, len(t)), prevalence, size, view.lens, level, rows)

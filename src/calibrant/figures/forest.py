"""Forest plot: the estimates of all centres or periods, the pooled estimate and the prediction interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..clinical.group_validation import MEASURES, GroupValidation
from ..errors import ArgumentError, InputTypeError
from ..inference.means import two_sided_quantile
from ..inference.pooling import PooledEstimate, back
from ..util.results import number
from .base import Diagram, Floats, finish
from .canvas import Axes, ink, muted, new_ax, small_size
from .labels import plain, shorten
from .models import NAME_LETTERS
from .styling import Series, plots, series_of

# Width of the figure and height of a row in inches, and size of the largest square in points.
WIDTH, ROW, LARGEST = 4.6, 0.18, 8.0
# Intervals are cut, with an arrow, where they extend farther than this beyond the estimates, relative to the range of these.
BEYOND = 0.6


@dataclass(frozen=True, repr=False)
class ForestDiagram(Diagram):
    """Data of a forest plot.

    Parameters
    ----------
    names : tuple of str
        Names of the groups.
    counts : tuple of str
        Events and rows of each group as text; empty if unknown.
    estimate, low, high : ndarray
        Estimate of each group and its confidence limits; NaN for groups that are left out.
    weight : ndarray
        Share of each group in the pooled estimate.
    reasons : tuple of str
        Why a group is left out of the pool; empty where it is not.
    pooled : PooledEstimate
        The pooled estimate with its confidence and prediction intervals.
    kind : str
        What the groups are.
    heading : str
        Name of the measure.
    ideal : float or None
        Its value for a calibrated model.
    decimals : int or None
        Decimals of the values beside the rows.
    """

    names: tuple[str, ...]
    counts: tuple[str, ...]
    estimate: Floats
    low: Floats
    high: Floats
    weight: Floats
    reasons: tuple[str, ...]
    pooled: PooledEstimate
    kind: str
    heading: str
    ideal: float | None
    decimals: int | None = None

    def _columns(self) -> dict[str, list[Any]]:
        values = self._listed("estimate", "low", "high", "weight")
        return {self.kind: list(self.names), **values, "reason": list(self.reasons)}

    def _table(self) -> tuple[list[str], list[list[str]]]:
        headings, rows = super()._table()
        p = self.pooled
        rows.append(["pooled", number(p.estimate), number(p.low), number(p.high), "", ""])
        if not math.isnan(p.prediction_low):
            rows.append(["prediction", "", number(p.prediction_low), number(p.prediction_high), "", ""])
        return headings, rows

    def _title(self) -> str:
        return f"{self.heading} by {self.kind} ({self.pooled._how()})"

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot the forest.

        Each group is a square, with an area proportional to its weight, and its confidence interval. Below them are the pooled estimate as a diamond, with
        its confidence interval as the width, and the prediction interval as a bar. The solid line is the value of a calibrated model. Intervals that extend far
        beyond the estimates are cut and end in an arrow.
        """
        below = 1 + (not math.isnan(self.pooled.prediction_low))
        count = len(self.names) + below
        ax = new_ax(ax, width=WIDTH, height=0.75 + ROW * (count + 0.6))
        (look,) = series_of(ax, {"marker": "s", "linewidth": 0.8, **style})
        self._scale(ax, look)
        # Groups that are left out are last.
        places = sorted(range(len(self.names)), key=lambda place: bool(self.reasons[place]))
        for y, place in zip(range(count, below, -1), places, strict=True):
            self._draw_group(ax, place, y, look)
        self._draw_pooled(ax, below, look)
        ax.set_ylim(0.3, count + 0.7)
        heights = range(count, 0, -1)
        ax.set_yticks(heights, [*map(self._name, places), "pooled", "prediction"][:count])
        beside = ax.secondary_yaxis("right")
        p = self.pooled
        pooled = self._text(p.estimate, p.low, p.high), self._text(p.prediction_low, p.prediction_high)
        beside.set_yticks(heights, [*map(self._values, places), *pooled][:count])
        beside.tick_params(length=0, labelsize=small_size())
        beside.spines["right"].set_visible(False)
        scale = " (log scale)" if self.pooled.transform == "exp" else ""
        finish(ax, self.heading + scale)
        ax.tick_params(axis="y", length=0)
        ax.yaxis.grid(False)
        ax.spines["left"].set_visible(False)
        head = self.kind + (" (events/rows)" if any(self.counts) else "")
        value = f"{self.heading} [{100 * self.pooled.level:.4g}% interval]"
        for x, across, text in ((0, "right", head), (1, "left", value)):
            ax.text(x, 1, text, ha=across, va="bottom", transform=ax.transAxes, fontsize="small", gid="head")
        return ax

    def _name(self, place: int) -> str:
        counts, name = self.counts[place], shorten(plain(self.names[place]), NAME_LETTERS)
        return f"{name} ({counts})" if counts else name

    def _values(self, place: int) -> str:
        return "" if self.reasons[place] else self._text(self.estimate[place], self.low[place], self.high[place])

    def _text(self, *values: float) -> str:
        """The ends of an interval in brackets, after its estimate if there is one."""
        *start, low, high = (
            number(each, 3) if self.decimals is None else f"{each:.{self.decimals}f}" for each in values
        )
        return " ".join([*start, f"[{low}, {high}]"])

    def _scale(self, ax: Axes, look: Series) -> None:
        """Set the limits: all estimates and both pooled intervals, and the intervals of the groups as far as they are not much longer."""
        p = self.pooled
        log = p.transform == "exp"

        def on(values: Sequence[float] | Floats) -> Floats:
            array = np.asarray(values, dtype=np.float64)
            array = array[np.isfinite(array) & ((array > 0) if log else True)]
            return np.log(array) if log else array

        ideal = math.nan if self.ideal is None else self.ideal
        inner = on([*self.estimate, p.low, p.high, ideal])
        span = max(float(np.ptp(inner)), 1e-6)
        ends = on([*self.low, *self.high, p.low, p.high, p.prediction_low, p.prediction_high, ideal])
        # At most one interval in ten is cut on either side.
        tenth = float(np.quantile(on(self.low), 0.1, method="higher"))
        last = float(np.quantile(on(self.high), 0.9, method="lower"))
        low = max(float(ends.min()), min(float(inner.min()) - BEYOND * span, tenth))
        high = min(float(ends.max()), max(float(inner.max()) + BEYOND * span, last))
        pad = 0.03 * (high - low)
        limits = np.array([low - pad, high + pad])
        if log:
            from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

            ax.set_xscale("log")
            ax.set_xlim(*np.exp(limits))
            ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)) if np.ptp(limits) > math.log(10) else MaxNLocator(5))
            ax.xaxis.set_minor_locator(NullLocator())
            ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        else:
            ax.set_xlim(*limits)
        if self.ideal is not None:
            ax.axvline(self.ideal, color=muted(), linewidth=0.9, zorder=1, gid="ideal")
        ax.axvline(p.estimate, color=look.color, linewidth=0.8, linestyle=(0, (3, 2)), zorder=1, gid="pooled")

    def _draw_group(self, ax: Axes, place: int, y: int, look: Series) -> None:
        if self.reasons[place]:
            text = f"no estimate: {self.reasons[place]}"
            note: dict[str, Any] = {"va": "center", "fontsize": "small", "style": "italic", "color": muted()}
            ax.text(0.01, y, text, transform=ax.get_yaxis_transform(), gid="left out", **note)
            return
        shown: dict[str, Any] = {"color": ink(), "alpha": look.line.get("alpha")}
        ends = float(self.low[place]), float(self.high[place])
        _span(ax, ends, y, **shown, linewidth=look.line["linewidth"], zorder=2, gid="interval")
        size = LARGEST * (0.25 + 0.75 * math.sqrt(float(self.weight[place]) / (float(self.weight.max()) or 1.0)))
        shown |= {"marker": look.line["marker"], "markersize": size, "markeredgewidth": 0}
        ax.plot(self.estimate[place], y, zorder=3, gid="estimate", **shown)

    def _draw_pooled(self, ax: Axes, below: int, look: Series) -> None:
        p, color = self.pooled, look.color
        corners = [p.low, p.estimate, p.high, p.estimate], [below, below + 0.32, below, below - 0.32]
        ax.fill(*corners, color=color, linewidth=0.5, zorder=4, gid="diamond")
        if below > 1:
            bar: dict[str, Any] = {"linewidth": 3, "solid_capstyle": "butt", "alpha": 0.55, "gid": "prediction"}
            _span(ax, (p.prediction_low, p.prediction_high), 1, color=color, zorder=3, **bar)
        ax.axhline(below + 0.5, color=muted(), alpha=0.5, linewidth=0.6, zorder=1)


def _span(ax: Axes, ends: tuple[float, float], y: float, **style: Any) -> None:
    """A horizontal line between two ends; where it is cut at the limits of the axes, it ends in an arrow."""
    left, right = ax.get_xlim()
    ax.plot([max(ends[0], left), min(ends[1], right)], [y, y], **style)
    for end, cut, marker in ((left, ends[0] < left, "<"), (right, ends[1] > right, ">")):
        if cut:
            ax.plot(end, y, marker, markersize=4.5, color=style["color"], clip_on=False, zorder=3, gid="cut")


def forest_diagram(validation: GroupValidation | PooledEstimate, *, metric: str | None = None) -> ForestDiagram:
    """Compute the data of a forest plot of one measure by centre or period.

    It shows the estimate of each group with its interval and weight, those that are left out with the reason, the pooled estimate with its confidence
    interval, and the prediction interval for a new group.

    Parameters
    ----------
    validation : GroupValidation or PooledEstimate
        Result of `validate_by_group` or `pool_estimates`.
    metric : str, optional
        Measure of a `GroupValidation`, such as ``"slope"``; by default its first.

    Returns
    -------
    ForestDiagram
        ``names``, ``estimate``, ``low``, ``high``, ``weight``, ``reasons`` and ``pooled``. ``plot()`` draws them.

    Raises
    ------
    InputTypeError
        If `validation` is something else.
    UndefinedMetricError
        If fewer than two groups have an estimate.

    See Also
    --------
    calibrant.clinical.validate_by_group : Estimates by centre.
    calibrant.inference.pool_estimates : Estimates computed elsewhere.

    Examples
    --------
    >>> import calibrant as cal
    >>> pooled = cal.inference.pool_estimates({"Leuven": 0.82, "Oxford": 1.05, "Utrecht": 0.64}, [0.10, 0.12, 0.09])
    >>> cal.figures.forest_diagram(pooled).names
    ('Leuven', 'Oxford', 'Utrecht')
    """
    if isinstance(validation, PooledEstimate):
        if metric is not None:
            raise ArgumentError("metric", "applies to the result of validate_by_group", "drop metric")
        half = two_sided_quantile(validation.level) * validation.standard_errors
        value, low, high = (back(validation.estimates + sign * half, validation.transform) for sign in (0, -1, 1))
        names = tuple(map(str, validation.names))
        blank = ("",) * validation.k
        weights = validation.weights
        return ForestDiagram(names, blank, value, low, high, weights, blank, validation, "group", "estimate", None)
    if not isinstance(validation, GroupValidation):
        raise InputTypeError(
            "validation",
            f"expected the result of validate_by_group or pool_estimates; got {type(validation).__name__}",
        )
    metric = next(iter(validation.pooled)) if metric is None else metric
    pooled, measure = validation[metric], MEASURES[metric]
    estimates = [group.estimates[metric] for group in validation.groups]
    value, low, high = np.array([each[:3] for each in estimates], dtype=np.float64).T
    return ForestDiagram(
        tuple(str(group.name) for group in validation.groups),
        tuple(f"{group.events:,}/{group.rows:,}" for group in validation.groups),
        value,
        low,
        high,
        np.array([each.weight for each in estimates]),
        tuple(each.reason for each in estimates),
        pooled,
        "group",
        NAMES_OF.get(metric, measure.heading),
        measure.ideal,
        measure.decimals,
    )


NAMES_OF = {"intercept": "calibration intercept", "slope": "calibration slope", "oe": "O/E", "c": "C statistic"}

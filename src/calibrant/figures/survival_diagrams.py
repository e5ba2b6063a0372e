"""Calibration curve of predicted risks of a time to event at a horizon: smooth curve with a pointwise band, and risk groups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..binning.rules import EqualMass, check_bins
from ..clinical.censoring import WeightedOutcomes, counts_of, known_outcomes, observed_risk, read_follow_up, row_counts
from ..clinical.survival import hint_at_mistakes, read_survival, replicates, smooth_at, survival_summary
from ..errors import CalibrantError
from ..inference.replicates import Replicates
from ..util.checks import check_fraction, check_whole
from ..views.keywords import documents_keywords, parameters_of
from ..views.view import View
from .base import Diagram, Floats, finish, mark_sides, none_for_nan, round_end, series_on, square
from .canvas import PAPER_WIDTH, Axes, ink, new_ax
from .drawing import draw_histogram
from .styling import plots, series_of

# Points of the curve, and bars of the histogram of the risks.
POINTS, BARS = 101, 50
# Largest risk that is shown on axes that end below 1, as a fraction of their length.
ROOM = 0.95


class RiskGroup(NamedTuple):
    """A group of rows of similar risk: mean predicted risk, and observed risk with its interval (NaN where undefined)."""

    rows: int
    mean_risk: float
    observed: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class SurvivalDiagram(Diagram):
    """Data of a calibration curve at a horizon; `plot` draws it.

    Parameters
    ----------
    horizon : float
        The horizon.
    n : int
        Number of rows.
    n_events : int
        Rows with the event by the horizon.
    n_event_free : int
        Rows observed without an event until the horizon.
    n_competing : int
        Rows with a competing event by the horizon.
    n_censored : int
        Rows censored before the horizon.
    level : float
        Confidence level of the band and of the intervals.
    x : ndarray
        Predicted risks at which the curve is given.
    y : ndarray
        Observed risk by the smooth curve.
    low : ndarray
        Lower end of the pointwise band; NaN without one.
    high : ndarray
        Upper end.
    groups : tuple of RiskGroup
        Risk groups with ``rows``, ``mean_risk``, ``observed``, ``low`` and ``high``.
    risk : ndarray
        The predicted risks of all rows.

    See Also
    --------
    survival_diagram : The function that returns it.
    """

    _hidden = ("risk",)

    horizon: float
    n: int
    n_events: int
    n_event_free: int
    n_competing: int
    n_censored: int
    level: float
    x: Floats
    y: Floats
    low: Floats
    high: Floats
    groups: tuple[RiskGroup, ...]
    risk: Floats

    def _columns(self) -> dict[str, list[Any]]:
        rows = {"rows": [group.rows for group in self.groups]}
        return rows | {
            name: none_for_nan([getattr(group, name) for group in self.groups]) for name in RiskGroup._fields[1:]
        }

    def _title(self) -> str:
        return row_counts(self)

    def _notes(self) -> list[str]:
        lost = sum(math.isnan(group.observed) for group in self.groups)
        if not lost:
            return []
        which = "1 risk group" if lost == 1 else f"{lost} risk groups"
        return [f"{which} without a value: nobody is observed until the horizon; use fewer groups"]

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot the curve with its band, the risk groups, and a histogram of the predicted risks above."""
        ax = new_ax(ax, height=PAPER_WIDTH * 1.12)
        later = series_on(ax) > 0
        (look,) = series_of(ax, style, width=1.5)
        top = square(ax, self._limit())
        finish(ax, f"predicted risk by {self.horizon:g}", f"observed risk by {self.horizon:g}")
        mark_sides(ax, "binary")
        share = f"{100 * self.level:g}%"
        look.shade(ax, self.x, self.low, self.high, f"{share} pointwise band", alpha=0.2)
        ax.plot(self.x, self.y, zorder=3, gid="curve", label=look.label or "smooth curve", **look.line)
        known = [group for group in self.groups if not math.isnan(group.observed)]
        if known:
            color = look.color if later else ink()
            _, mean_risk, observed, low, high = zip(*known, strict=True)
            ax.vlines(mean_risk, low, high, color=color, linewidth=0.8, zorder=3.2, gid="interval")
            dots: dict[str, Any] = {"marker": "o", "markersize": 3, "linestyle": "none", "zorder": 3.3, "gid": "groups"}
            dots["label"] = f"risk groups, {share} intervals"
            ax.plot(mean_risk, observed, color=color, clip_on=False, **dots)
        counts, edges = np.histogram(self.risk, BARS, (0, top))
        draw_histogram(ax, look.color, (edges[:-1], edges[1:]), counts, "rows")
        return ax

    def _limit(self) -> float:
        """End of the axes: 1, or the next tick above the groups and 99% of the risks."""
        ends = [value for group in self.groups for value in (group.mean_risk, group.observed, group.high)]
        shown = float(np.nanmax([np.quantile(self.risk, 0.99), *ends]))
        return round_end(shown / ROOM)


@documents_keywords(table=parameters_of(survival_summary))
def survival_diagram(
    y_prob: Any,
    *,
    time: Any,
    event: Any,
    horizon: float,
    bins: int = 10,
    cause: int | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
    n_resamples: int = 200,
    rng: Any = 0,
) -> SurvivalDiagram:
    r"""Compute the calibration curve of predicted risks of a time to event at a horizon.

    A smooth curve of the observed risk over the predicted risk, with a pointwise band, and the observed risk of groups of rows with
    similar predicted risk. Points below the diagonal overestimate the risk.

    Parameters
    ----------
    y_prob : array-like of shape (N,)
        Predicted risk of the event by the horizon.
    time
    event
    horizon : float
        Time by which the event is predicted, in the unit of `time`.
    bins : int, default 10
        Number of risk groups of about equal size; equal risks are in the same group.
    cause
    groups
    sample_weight
    level : float, default 0.95
        Confidence level of the band and of the intervals.
    n_resamples : int, default 200
        Number of bootstrap replicates for the band; 0 for no band.
    rng

    Returns
    -------
    SurvivalDiagram
        The data: the curve ``x``, ``y``, ``low``, ``high`` and the risk groups ``groups``; ``plot()`` draws it.

    Raises
    ------
    InputError
        If a value is missing or invalid, or the codes of `event` are ambiguous.
    UndefinedMetricError
        If the risk at the horizon is not identified: all rows still at risk are censored before it.

    See Also
    --------
    survival_summary : The measures, with intervals.
    reliability_diagram : For outcomes that are known for all rows.

    Notes
    -----
    The curve is the LOESS of `ici` (degree 2, span 0.75) of the outcome at the horizon, weighted by the inverse probability of censoring
    (`horizon_outcomes`); the band has the percentiles of bootstrap replicates in which the weights are estimated anew, at each risk by itself. The observed
    risk of a group is one minus its Kaplan-Meier estimate, or its Aalen-Johansen estimate with competing events, with an interval on the scale
    :math:`\log(-\log(1 - O))`; censoring is then independent of the event within risk groups only.

    References
    ----------
    .. [1] Austin, P. C., Harrell, F. E. and van Klaveren, D. (2020). Graphical calibration curves and the integrated calibration index
       (ICI) for survival models. Statistics in Medicine 39.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> risk = rng.beta(2, 3, 400)
    >>> death = rng.exponential(-5 / np.log1p(-risk))
    >>> censored = rng.exponential(10, 400)
    >>> cal.figures.survival_diagram(
    ...     risk, time=np.minimum(death, censored), event=death <= censored, horizon=5, bins=4, rng=0
    ... )
    400 rows at horizon 5: 140 events, 137 event-free, 123 censored before it
    rows  mean_risk  observed   low   high
     100     0.1715    0.1835  0.1118  0.2930
     100     0.3298    0.4074  0.3077  0.5250
     100     0.4562    0.4876  0.3823  0.6047
     100     0.6539    0.6473  0.5395  0.7536
    """
    check_whole(bins, "bins")
    check_whole(n_resamples, "n_resamples", 0)
    check_fraction(level, "level")
    follow_up = read_follow_up(time, event, cause, groups, sample_weight)
    data = read_survival(y_prob, follow_up, horizon, stratify=groups is None)
    known, risk = data.outcomes(), data.risk
    hint_at_mistakes(known, risk)
    used = risk[known.weight > 0]
    x = np.unique(
        np.concatenate([np.linspace(used.min(), used.max(), POINTS), np.quantile(used, np.linspace(0, 1, POINTS))])
    )
    low = high = np.full(len(x), np.nan)
    if n_resamples:

        def drawn(rows: NDArray[np.int64]) -> Floats:
            return np.clip(smooth_at(data.outcomes(rows), risk[rows], x), 0, 1)

        sample, reason = replicates(drawn, Replicates(len(risk), n_resamples, rng), len(x))
        if not reason:
            low, high = np.quantile(sample, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return SurvivalDiagram(
        known.horizon,
        len(risk),
        **counts_of(known),
        level=float(level),
        x=x,
        y=np.clip(smooth_at(known, risk, x), 0, 1),
        low=low,
        high=high,
        groups=_risk_groups(known, risk, bins, float(level)),
        risk=risk,
    )


def _risk_groups(outcomes: WeightedOutcomes, risk: Floats, bins: int, level: float) -> tuple[RiskGroup, ...]:
    """The observed risk of each group of similar risk, with the censoring of this group."""
    follow_up = outcomes.follow_up
    cells, count = EqualMass(check_bins(bins)).cells(View(risk, np.zeros(len(risk), np.uint8)))
    groups = []
    for cell in range(count):
        rows = np.flatnonzero((cells == cell) & (follow_up.weight > 0))
        if len(rows) == 0:
            continue
        own = follow_up.weight[rows]
        mean = float(own @ risk[rows]) / float(own.sum())
        part = follow_up.take(rows)._replace(stratum=np.zeros(len(rows), np.int64), strata=())
        try:
            value, low, high, _ = observed_risk(known_outcomes(part, outcomes.horizon), level)
        except CalibrantError:
            value = low = high = math.nan
        groups.append(RiskGroup(len(rows), mean, value, low, high))
    return tuple(groups)

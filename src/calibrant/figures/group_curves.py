"""Calibration curves of centres or folds, thin, with the curve of all of them and its bands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..clinical.performance import one_event
from ..clinical.pooled_curves import PooledCurve
from ..curves.flexible import fit_flexible
from ..errors import GroupError
from ..input.grouping import check_one_grouping
from ..input.predictions import Predictions
from ..views.resolve import as_predictions
from ..views.view import View
from .base import Diagram, Floats, axis_names, finish, square
from .canvas import PAPER_WIDTH, Axes, muted, new_ax
from .styling import plots, series_of

# Shares of all risks between which the curves are given.
ENDS = 0.01, 0.99
WHAT = "curves of groups"


@dataclass(frozen=True, repr=False)
class GroupCurves(Diagram):
    """Data of the calibration curves of groups.

    Parameters
    ----------
    score : ndarray of shape (G,)
        Predicted probabilities.
    pooled : ndarray of shape (G,)
        Curve of the mean centre, or of the rows of all folds.
    low : ndarray of shape (G,) or None
        Lower end of its confidence band, of centres.
    high : ndarray of shape (G,) or None
        Upper end of its confidence band.
    prediction_low : ndarray of shape (G,) or None
        Lower end of the band of a new centre.
    prediction_high : ndarray of shape (G,) or None
        Upper end of the band of a new centre.
    curves : dict of str to ndarray of shape (G,)
        Curve of each group; NaN outside of its scores.
    level : float or None
        Level of the bands.
    """

    score: Floats
    pooled: Floats
    low: Floats | None
    high: Floats | None
    prediction_low: Floats | None
    prediction_high: Floats | None
    curves: dict[str, Floats]
    level: float | None

    def _title(self) -> str:
        bands = "" if self.level is None else f"; {100 * self.level:g}% confidence and prediction bands"
        return f"Calibration curves of {len(self.curves)} groups and of all together{bands}"

    def _columns(self) -> dict[str, list[Any]]:
        bands = ("low", "high", "prediction_low", "prediction_high") if self.low is not None else ()
        return self._listed("score", "pooled", *bands) | {name: each.tolist() for name, each in self.curves.items()}

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot the curve of each group as a thin line, the pooled one as a thick line, and its bands; keywords are those of the thick line."""
        ax = new_ax(ax, width=PAPER_WIDTH, height=PAPER_WIDTH)
        (look,) = series_of(ax, style, width=2.2)
        square(ax)
        for place, values in enumerate(self.curves.values()):
            label = "one group" if place == 0 else None
            ax.plot(self.score, values, color=muted(), linewidth=0.7, gid="groups", label=label)
        if self.level is not None:
            look.shade(ax, self.score, self.prediction_low, self.prediction_high, "prediction band", 0.15)
            look.shade(ax, self.score, self.low, self.high, "confidence band", 0.35)
        ax.plot(self.score, self.pooled, gid="curve", **look.line, label=look.named("all groups"))
        finish(ax, *axis_names("binary"))
        return ax


def curves_diagram(source: Any, y_prob: Any = None, *, knots: int = 3, points: int = 50) -> GroupCurves:
    """Show the calibration curve of each centre or fold, and that of all.

    The curves are restricted cubic splines of the log-odds. Of cross-validation folds, use it to see whether models of other folds are
    calibrated alike; the spread of the thin curves is mostly that of few rows in a fold.

    Parameters
    ----------
    source : PooledCurve, Predictions or array-like of shape (N,)
        Result of `calibrant.clinical.pooled_curve`, for centres; or predictions with groups, such as those of
        `calibrant.sklearn.cross_val_predictions`, of which the thick curve is that of all rows.
    y_prob : array-like, optional
        Predicted probabilities, if `source` are labels.
    knots : int, default 3
        Knots of the splines, of predictions.
    points : int, default 50
        Number of scores at which the curves are computed, of predictions.

    Returns
    -------
    GroupCurves
        ``score``, ``pooled``, ``curves`` and, of centres, the bands. ``plot()`` draws them.

    Raises
    ------
    GroupError
        If the predictions have no groups.

    See Also
    --------
    calibrant.clinical.pooled_curve : Curve of the mean centre.
    calibrant.reliability_diagram : One curve, or those of several models.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=1000)
    >>> preds = cal.Predictions(rng.random(1000) < p, p, groups=np.arange(1000) % 5)
    >>> sorted(cal.figures.curves_diagram(preds).curves)
    ['0', '1', '2', '3', '4']
    """
    if isinstance(source, PooledCurve):
        bands = source.low, source.high, source.prediction_low, source.prediction_high
        return GroupCurves(source.score, source.estimate, *bands, source.curves, source.level)
    p = as_predictions(source, y_prob)
    check_one_grouping(p, WHAT)
    if p.groups is None:
        raise GroupError("groups", "are required", "pass Predictions(..., groups=...)")
    shares = np.quantile(_event(p).score, ENDS)
    score = np.linspace(shares[0], shares[1], points)
    curves = {str(p.group_names[code]): _spline(p.take(p.groups == code), score, knots) for code in np.unique(p.groups)}
    return GroupCurves(score, _spline(p, score, knots), None, None, None, None, curves, None)


def _event(p: Predictions) -> View:
    return one_event(p, "auto", WHAT, ("binary", "confidence"))


def _spline(p: Predictions, score: Floats, knots: int) -> Floats:
    """Spline of predictions at scores; NaN outside of their own."""
    view = _event(p)
    fit = fit_flexible(view, "rcs", span=0.75, degree=2, knots=knots)
    return np.where((score >= view.score.min()) & (score <= view.score.max()), fit(score), np.nan)

"""The curve of a fitted calibrator of two classes, with the confidence band of its probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..recalibration.base import as_fitted
from .base import Diagram, Floats, finish, square
from .canvas import PAPER_WIDTH, Axes, new_ax
from .styling import plots, series_of


@dataclass(frozen=True, repr=False)
class CalibratorCurve(Diagram):
    """Data of the curve of a calibrator.

    Parameters
    ----------
    score : ndarray of shape (G,)
        Scores, as they are passed to the calibrator.
    probability : ndarray of shape (G,)
        Calibrated probability at each score.
    low : ndarray of shape (G,)
        Lower end of its confidence interval.
    high : ndarray of shape (G,)
        Upper end of its confidence interval.
    level : float
        Confidence level of each interval.
    input : {"prob", "logit"}
        What the scores are.
    name : str
        Class of the calibrator.
    """

    score: Floats
    probability: Floats
    low: Floats
    high: Floats
    level: float
    input: str
    name: str

    def _title(self) -> str:
        return f"Curve of {self.name} with {100 * self.level:g}% intervals"

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot the calibrated probability at each score, and its band."""
        ax = new_ax(ax, width=PAPER_WIDTH, height=PAPER_WIDTH)
        (look,) = series_of(ax, style, width=1.6)
        if self.input == "prob":
            square(ax)
        look.shade(ax, self.score, self.low, self.high, f"{100 * self.level:g}% intervals", alpha=0.25)
        ax.plot(self.score, self.probability, gid="curve", **look.line, label=look.named(self.name))
        return finish(ax, "predicted probability" if self.input == "prob" else "logit", "calibrated probability")


def calibrator_curve(calibrator: Any, scores: Any = None, **options: Any) -> CalibratorCurve:
    """Show the calibrated probability as a function of the score, with its confidence intervals.

    Use it to see what a calibrator does, and how well its rows determine this. The intervals hold at each score by itself.

    Parameters
    ----------
    calibrator : Calibrator or Recalibration
        Calibrator that was fitted on two classes, or the result of `recalibrate`.
    scores : array-like of shape (G,), optional
        Increasing scores; by default 201 from 0 to 1, or logits from -5 to 5.
    **options
        ``rows``, ``level``, ``n_resamples`` and ``rng`` of `Calibrator.predict_interval`.

    Returns
    -------
    CalibratorCurve
        ``score``, ``probability``, ``low`` and ``high``. ``plot()`` draws them.

    Raises
    ------
    ShapeError
        If the calibrator was fitted on more than two classes.

    See Also
    --------
    calibrant.recalibration.Calibrator.predict_interval : The intervals.

    Examples
    --------
    >>> import calibrant as cal
    >>> data = cal.inference.make_miscalibrated(500, warp=cal.inference.simulation.temperature(2.0), rng=0)
    >>> cal.figures.calibrator_curve(cal.PlattScaling().fit(data.y_prob, data.y_true), [0.1, 0.5, 0.9])
    Curve of PlattScaling with 95% intervals
     score  probability     low    high
    0.1000       0.2302  0.1740  0.2981
    0.5000       0.5042  0.4561  0.5523
    0.9000       0.7757  0.7103  0.8299
    """
    fitted = as_fitted(calibrator)
    if scores is None:
        scores = np.linspace(0, 1, 201) if fitted.input == "prob" else np.linspace(-5, 5, 201)
    found = fitted.predict_interval(scores, **options)
    score, ends = np.asarray(scores, dtype=np.float64), (found.probability, found.low, found.high)
    return CalibratorCurve(score, *ends, found.level, fitted.input, type(fitted).__name__)

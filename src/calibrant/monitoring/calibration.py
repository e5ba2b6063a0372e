"""Calibration of the labelled rows of one window: gap, ECE and smooth ECE, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..binning.table import binomial_interval
from ..errors import CalibrantError
from ..sketches.sketch import Sketch
from ..util.results import Record, number
from .labelfree import top_view

LEVEL = 0.95
RESAMPLES = 200


@dataclass(frozen=True, repr=False)
class WindowCalibration(Record):
    """Calibration of the labelled rows of a window.

    Parameters
    ----------
    n : int
        Number of rows.
    mean_score : float
        Mean predicted probability, or mean confidence.
    rate : float
        Observed rate of the event, or accuracy.
    gap : float
        `mean_score` minus `rate`; positive where the event is overestimated.
    gap_low : float
        Lower end of the 95% interval of the gap, given the scores.
    gap_high : float
        Upper end.
    ece : float or None
        Expected calibration error; None where it is undefined.
    ece_low : float or None
        Lower end of its bias-corrected 95% bootstrap interval.
    ece_high : float or None
        Upper end.
    smece : float or None
        Smooth calibration error.
    accuracy : float or None
        Accuracy; None if the lens is one class of several.
    bound_low : float
        Least possible gap of all rows, whatever the missing labels.
    bound_high : float
        Largest possible gap.
    note : str
        Note on the interval of the ECE.
    """

    n: int
    mean_score: float
    rate: float
    gap: float
    gap_low: float
    gap_high: float
    ece: float | None
    ece_low: float | None
    ece_high: float | None
    smece: float | None
    accuracy: float | None
    bound_low: float
    bound_high: float
    note: str = ""

    def _title(self) -> str:
        rates = f"mean score {number(self.mean_score)}, observed rate {number(self.rate)}"
        return f"Calibration of {self.n:,} labelled rows: {rates}, gap {number(self.gap)}, ece {number(self.ece)}"


def find_calibration(judged: Sketch, scores: Sketch, outcomes: Sketch) -> WindowCalibration | None:
    """Measure the calibration of a window from the labels available; None without labels.

    Parameters
    ----------
    judged : Sketch
        Rows to evaluate.
    scores : Sketch
        All rows.
    outcomes : Sketch
        Labelled rows.

    Returns
    -------
    WindowCalibration or None
        The result.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.monitoring.calibration import find_calibration
    >>> rows = cal.Sketch.of([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    >>> find_calibration(rows, rows, rows)
    Calibration of 4 labelled rows: mean score 0.5500, observed rate 0.7500, gap -0.2000, ece 0.2500
    """
    if not judged.n:
        return None
    from ..inference.intervals import interval
    from ..metrics.registry import catalogue

    mean, rate = judged.mean_score, judged.positives / judged.n
    ece_interval = _or_none(lambda: interval(judged, metric="ece", level=LEVEL, n_resamples=RESAMPLES, rng=0))
    if ece_interval is None:
        ece, low, high, note = _or_none(lambda: float(catalogue["ece"](judged))), None, None, ""
    else:
        ece, low, high, note = ece_interval.value, ece_interval.low, ece_interval.high, ece_interval.note
    smece = _or_none(lambda: float(catalogue["smece"](judged)))
    top = top_view(judged)
    accuracy = None if top is None else float(top.mean(top.outcome))
    missing, sure = scores.n - outcomes.n, scores.mean_score - outcomes.positives / scores.n
    bounds = (sure - missing / scores.n, sure)
    gap = (mean - rate, *gap_interval(judged))
    return WindowCalibration(judged.n, mean, rate, *gap, ece, low, high, smece, accuracy, *bounds, note)


def gap_interval(judged: Sketch) -> tuple[float, float]:
    """95% interval of mean score minus true rate, given the scores; valid for rare events and few rows too.

    Unexpected outcomes (events with scores up to one half, non-events above) have a Clopper-Pearson interval on each side, and
    the distances to their ends are combined by the square root of the sum of squares (Zou and Donner 2008).
    """
    view = judged.view()
    sides = (view.score <= 0.5, view.outcome == 1), (view.score > 0.5, view.outcome == 0)
    rows = np.array([view.weights[rows_of_side].sum() for rows_of_side, _ in sides])
    surprises = np.array([view.weights[rows_of_side & is_surprise].sum() for rows_of_side, is_surprise in sides])
    low, high = binomial_interval(surprises, rows, 1 - LEVEL, "clopper_pearson")
    below_fewer, above_fewer = np.where(rows > 0, surprises - low * rows, 0.0) / judged.n
    below_more, above_more = np.where(rows > 0, high * rows - surprises, 0.0) / judged.n
    mean, rate = judged.mean_score, judged.positives / judged.n
    least = max(rate - math.hypot(below_fewer, above_more), 0.0)
    most = min(rate + math.hypot(below_more, above_fewer), 1.0)
    return mean - most, mean - least


def _or_none(compute: Callable[[], Any]) -> Any:
    """The result, or None where it is undefined."""
    try:
        return compute()
    except CalibrantError:
        return None

"""Calibration of one window by the labels that have come: gap, ECE and smooth ECE, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..binning.table import _binomial_interval
from ..errors import CalibrantError
from ..inference.intervals import interval
from ..metrics.registry import catalogue
from ..sketches.sketch import Sketch
from ..util.results import Record, number
from .labelfree import top_view

__all__ = ["WindowCalibration", "find_calibration", "gap_interval"]

LEVEL = 0.95
RESAMPLES = 200


@dataclass(frozen=True, repr=False)
class WindowCalibration(Record):
    """Calibration of the rows of a window whose labels have come."""

    n: int
    mean_score: float
    rate: float
    """How often it happened, or was right."""
    gap: float
    """Mean score minus rate: above 0 where scores are too high."""
    gap_low: float
    gap_high: float
    """95 % interval of the gap: of mean score minus true rate, given the scores."""
    ece: float | None
    ece_low: float | None
    ece_high: float | None
    """95 % interval by the bootstrap, corrected for its bias; it contains the estimate."""
    smece: float | None
    accuracy: float | None
    """None where the question is about one class of several."""
    bound_low: float
    bound_high: float
    """Where the gap of all rows lies, whatever the labels are that have not come."""
    note: str = ""

    def _title(self) -> str:
        rates = f"says {number(self.mean_score)}, happens {number(self.rate)}"
        return f"Calibration of {self.n:,} labelled rows: {rates}, gap {number(self.gap)}, ece {number(self.ece)}"


def find_calibration(judged: Sketch, scores: Sketch, outcomes: Sketch) -> WindowCalibration | None:
    """How well the scores of a window fit the labels that came; None where none has.

    Parameters
    ----------
    judged
        The rows to judge.
    scores, outcomes
        All rows, and those whose labels have come.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.monitoring.calibration import find_calibration
    >>> rows = cal.Sketch.of([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    >>> find_calibration(rows, rows, rows)
    Calibration of 4 labelled rows: says 0.5500, happens 0.7500, gap -0.2000, ece 0.2500
    """
    if not judged.n:
        return None
    mean, rate = judged.mean_score, judged.positives / judged.n
    ece, low, high, note = _ece(judged)
    smece = _or_none(lambda: float(catalogue["smece"](judged)))
    top = top_view(judged)
    accuracy = None if top is None else float(top.mean(top.outcome))
    missing, sure = scores.n - outcomes.n, scores.mean_score - outcomes.positives / scores.n
    bounds = (sure - missing / scores.n, sure)
    gap = (mean - rate, *gap_interval(judged))
    return WindowCalibration(judged.n, mean, rate, *gap, ece, low, high, smece, accuracy, *bounds, note)


def gap_interval(judged: Sketch) -> tuple[float, float]:
    """The ends of a 95 % interval of mean score minus true rate, given the scores, for rare events and few rows too.

    Surprises, events below one half and their absence above, have a Clopper-Pearson interval on each side; the distances to their
    ends add as squares (Zou and Donner 2008). So scores near 0 and 1 give a narrow one, and no surprise at all gives no certainty.
    """
    view = judged.view()
    sides = (view.score <= 0.5, view.outcome == 1), (view.score > 0.5, view.outcome == 0)
    rows = np.array([view.weights[side].sum() for side, _ in sides])
    surprises = np.array([view.weights[side & wrong].sum() for side, wrong in sides])
    low, high = _binomial_interval(surprises, rows, 1 - LEVEL, "clopper_pearson")
    below_fewer, above_fewer = np.where(rows > 0, surprises - low * rows, 0.0) / judged.n
    below_more, above_more = np.where(rows > 0, high * rows - surprises, 0.0) / judged.n
    mean, rate = judged.mean_score, judged.positives / judged.n
    least = max(rate - math.hypot(below_fewer, above_more), 0.0)
    most = min(rate + math.hypot(below_more, above_fewer), 1.0)
    return mean - most, mean - least


def _ece(judged: Sketch) -> tuple[float | None, float | None, float | None, str]:
    found = _or_none(lambda: interval(judged, metric="ece", level=LEVEL, n_resamples=RESAMPLES, rng=0))
    if found is None:
        return _or_none(lambda: float(catalogue["ece"](judged))), None, None, ""
    return found.value, found.low, found.high, found.note


def _or_none(compute: Callable[[], Any]) -> Any:
    """A number, or None where too few rows have none."""
    try:
        return compute()
    except CalibrantError:
        return None

"""Which threshold to use: the one that can be promised, and what others would do."""

from __future__ import annotations

import math

import numpy as np

from ..decision.selective import OperatingPoint, RiskCoverage, risk_coverage
from ..decision.thresholds import ThresholdChoice, choose_threshold
from ..errors import CalibrantError, WeightsNotSupportedError
from ..input.predictions import Predictions
from .content import Point, Threshold

__all__ = ["find_threshold"]

# Shares of rows to answer at which the curve is shown.
COVERAGES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.5, 0.25)
NOTES = (
    "The promise holds for new rows from the same source, if these rows were used neither to train nor to repair the model. "
    "Measure the accuracy at the threshold on yet other rows.",
    "It is for the probabilities as they are: after a map, choose again on what the map gives.",
)


def find_threshold(p: Predictions, accuracy: float, confidence_level: float, level: float) -> Threshold:
    """The threshold that `choose_threshold` gives, and points of the curve of `risk_coverage`; or why there are none.

    Parameters
    ----------
    p
        The predictions.
    accuracy, confidence_level
        What is promised, and with what probability.
    level
        Of the intervals at the points.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> find_threshold(Predictions([1] * 99 + [0], [0.9] * 100), 0.9, 0.9, 0.95).threshold
    0.5
    """
    nothing = (None,) * 5
    try:
        curve = risk_coverage(p, interval=None)
    except CalibrantError as error:
        return Threshold(None, "", "", "", confidence_level, *nothing, (), None, None, "", reason=error.problem)
    choice: ThresholdChoice | None = None
    reason = ""
    try:
        choice = choose_threshold(p, accuracy=accuracy, confidence_level=confidence_level)
    except WeightsNotSupportedError:
        reason = "an exact promise counts rows, and these have importance weights"
    except CalibrantError as error:
        reason = error.problem
    chosen = choice is not None and choice.threshold is not None
    return Threshold(
        threshold=choice.threshold if choice else None,
        target=choice.target if choice else f"an accuracy of at least {accuracy:g}",
        guarantee=choice.guarantee if choice else "",
        method=choice.method if choice else "",
        confidence_level=confidence_level,
        accuracy=1 - choice.risk if choice and chosen else None,
        coverage=choice.coverage if choice and chosen else None,
        coverage_bound=choice.coverage_bound if choice and chosen else None,
        accepted=choice.accepted if choice and chosen else None,
        errors=choice.errors if choice and chosen else None,
        points=tuple(_points(curve, level)),
        aurc=curve.aurc,
        augrc=curve.augrc,
        lens=curve.lens,
        level=level if curve.judged.counts_errors else None,
        always=choice is not None and _accepts_all(choice, p),
        notes=NOTES if chosen else (),
        reason=reason,
    )


def _accepts_all(choice: ThresholdChoice, p: Predictions) -> bool:
    """Whether the confidence of every row that can occur is at least the threshold: the largest of k probabilities is 1/k or more."""
    least = 1 / p.k if p.kind in ("binary", "multiclass") else 0.0
    return choice.threshold is not None and choice.threshold <= least and choice.coverage == 1


def _points(curve: RiskCoverage, level: float) -> list[Point]:
    """For each share of rows, the strictest threshold that answers so many."""
    places = np.searchsorted(curve.coverage, np.array(COVERAGES) - 1e-12)
    thresholds = dict.fromkeys(curve.threshold[np.minimum(places, len(curve) - 1)].tolist())
    return [_point(curve.at(threshold, level=level)) for threshold in thresholds]


def _point(found: OperatingPoint) -> Point:
    low, high = found.accuracy_interval
    return Point(
        threshold=found.threshold,
        coverage=found.coverage,
        accuracy=found.selective_accuracy,
        low=None if math.isnan(low) else low,
        high=None if math.isnan(high) else high,
        accepted=found.accepted,
        errors=found.errors,
    )

"""Which threshold to use: the one that can be promised, and what others would do."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..decision.selective import OperatingPoint, RiskCoverage, risk_coverage
from ..decision.thresholds import ThresholdChoice, choose_threshold
from ..errors import CalibrantError, WeightsNotSupportedError
from ..input.predictions import Predictions
from .content import Point, Threshold

__all__ = ["find_threshold", "with_choice"]

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
    unknown = Threshold(None, "", "", "", confidence_level, *nothing, (), None, None, "")
    try:
        curve = risk_coverage(p, interval=None)
    except CalibrantError as error:
        return replace(unknown, reason=error.problem)
    choice: ThresholdChoice | None = None
    reason = ""
    try:
        choice = choose_threshold(p, accuracy=accuracy, confidence_level=confidence_level)
    except WeightsNotSupportedError:
        reason = "exact guarantees are not available with importance weights"
    except CalibrantError as error:
        reason = error.problem
    found = replace(
        unknown,
        target=f"an accuracy of at least {accuracy:g}",
        points=tuple(_points(curve, level)),
        aurc=curve.aurc,
        augrc=curve.augrc,
        lens=curve.lens,
        level=level if curve.judged.counts_errors else None,
    )
    return with_choice(found, choice, choice, p, reason, NOTES)


def with_choice(
    found: Threshold,
    choice: ThresholdChoice | None,
    seen: ThresholdChoice | None,
    p: Predictions,
    reason: str,
    notes: tuple[str, ...],
) -> Threshold:
    """The section with this choice, and what the threshold does on the data of the report, which may not be those it was chosen on."""
    found = replace(found, reason=reason, threshold=None, notes=())
    if choice is None:
        return found
    found = replace(found, target=choice.target, guarantee=choice.guarantee, method=choice.method)
    if choice.threshold is None or seen is None:
        return found
    return replace(
        found,
        threshold=choice.threshold,
        accuracy=1 - seen.risk if seen.accepted else None,
        coverage=seen.coverage,
        coverage_bound=choice.coverage_bound,
        accepted=seen.accepted,
        errors=seen.errors,
        always=_accepts_all(choice, p),
        notes=notes,
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

"""The confidence threshold: one with a guarantee, and other operating points."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..decision.selective import RiskCoverage, risk_coverage
from ..decision.thresholds import ThresholdChoice, choose_threshold
from ..errors import CalibrantError, WeightsNotSupportedError
from ..input.predictions import Predictions
from .content import Point, Threshold

# Coverages at which the curve is tabulated.
COVERAGES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.5, 0.25)
NOTES = (
    "The guarantee holds for new data from the same source, if these data were used neither to train nor to recalibrate the model. "
    "Estimate the accuracy at the threshold on separate data.",
    "It refers to the probabilities evaluated here: after recalibration, choose the threshold again on the calibrated probabilities.",
)


def find_threshold(p: Predictions, accuracy: float, guarantee: float, level: float) -> Threshold:
    """Return the threshold of `choose_threshold` and points of the curve of `risk_coverage`, or the reason why there are none.

    Parameters
    ----------
    p : Predictions
        The predictions.
    accuracy : float
        Guaranteed accuracy of the accepted rows.
    guarantee : float
        Probability with which the guarantee holds.
    level : float
        Confidence level of the intervals at the points.

    Returns
    -------
    Threshold
        The section of the report.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> find_threshold(Predictions([1] * 99 + [0], [0.9] * 100), 0.9, 0.9, 0.95).threshold
    0.9
    """
    nothing = (None,) * 5
    unknown = Threshold(None, "", "", "", guarantee, *nothing, (), None, None, "")
    try:
        curve = risk_coverage(p, level=None)
    except CalibrantError as error:
        return replace(unknown, reason=error.problem)
    choice: ThresholdChoice | None = None
    reason = ""
    try:
        choice = choose_threshold(p, accuracy=accuracy, guarantee=guarantee)
    except WeightsNotSupportedError:
        reason = "exact guarantees are not available with importance weights"
    except CalibrantError as error:
        reason = error.problem
    known = replace(
        unknown,
        target=f"an accuracy of at least {accuracy:g}",
        points=tuple(_points(curve, level)),
        aurc=curve.aurc,
        augrc=curve.augrc,
        lens=curve.lens,
        level=level if curve.judged.counts_errors else None,
    )
    return with_choice(known, choice, choice, reason, NOTES)


def with_choice(
    threshold: Threshold,
    choice: ThresholdChoice | None,
    seen: ThresholdChoice | None,
    reason: str,
    notes: tuple[str, ...],
) -> Threshold:
    """Return the section with this choice; `seen` is its performance on the data of the report, which may be other data."""
    threshold = replace(threshold, reason=reason, threshold=None, notes=())
    if choice is None:
        return threshold
    threshold = replace(threshold, target=choice.target, statement=choice.statement, method=choice.method)
    if choice.threshold is None or seen is None:
        return threshold
    return replace(
        threshold,
        threshold=choice.threshold,
        accuracy=1 - seen.risk if seen.accepted else None,
        coverage=seen.coverage,
        coverage_bound=choice.coverage_bound,
        accepted=seen.accepted,
        errors=seen.errors,
        notes=notes,
    )


def _points(curve: RiskCoverage, level: float) -> list[Point]:
    """Return, for each coverage, the largest threshold that reaches it."""
    places = np.searchsorted(curve.coverage, np.array(COVERAGES) - 1e-12)
    thresholds = dict.fromkeys(curve.threshold[np.minimum(places, len(curve) - 1)].tolist())
    points = []
    for threshold in thresholds:
        point = curve.at(threshold, level=level)
        low, high = (None if math.isnan(end) else end for end in point.accuracy_interval)
        shown = (point.threshold, point.coverage, point.selective_accuracy, low, high, point.accepted, point.errors)
        points.append(Point(*shown))
    return points

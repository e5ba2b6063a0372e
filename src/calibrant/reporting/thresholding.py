"""The confidence threshold with a guarantee."""

from __future__ import annotations

from ..decision.thresholds import ThresholdChoice, choose_threshold
from ..errors import CalibrantError, WeightsNotSupportedError
from ..input.predictions import Predictions
from .content import Threshold
from .wording import remark


def find_threshold(p: Predictions, accuracy: float, guarantee: float) -> Threshold:
    """Return the threshold of `choose_threshold`, or the reason why there is none.

    Parameters
    ----------
    p : Predictions
        The predictions.
    accuracy : float
        Guaranteed accuracy of the accepted rows.
    guarantee : float
        Probability with which the guarantee holds.

    Returns
    -------
    Threshold
        The section of the report.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> find_threshold(Predictions([1] * 99 + [0], [0.9] * 100), 0.9, 0.9).threshold
    0.9
    """
    choice: ThresholdChoice | None = None
    reason = ""
    try:
        choice = choose_threshold(p, accuracy=accuracy, guarantee=guarantee)
    except WeightsNotSupportedError:
        reason = "exact guarantees are not available with importance weights"
    except CalibrantError as error:
        reason = error.problem
    return threshold_of(choice, choice, guarantee, reason, (remark("guarantee"), remark("recalibrated")))


def threshold_of(
    choice: ThresholdChoice | None,
    seen: ThresholdChoice | None,
    guarantee: float,
    reason: str,
    notes: tuple[str, ...],
) -> Threshold:
    """Return the section with this choice; `seen` is its performance on the data of the report, which may be other data."""
    statement = "" if choice is None else choice.statement
    if choice is None or choice.threshold is None or seen is None:
        return Threshold(None, statement, guarantee, reason=reason)
    return Threshold(
        threshold=choice.threshold,
        statement=statement,
        guarantee=guarantee,
        accuracy=1 - seen.risk if seen.accepted else None,
        coverage=seen.coverage,
        coverage_bound=choice.coverage_bound,
        accepted=seen.accepted,
        errors=seen.errors,
        notes=notes,
        reason=reason,
    )

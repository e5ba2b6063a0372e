"""recommend: metrics for a use case, and the reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentError
from ..metrics.registry import catalogue
from ..util.results import Result, text_table

__all__ = ["USE_CASES", "Recommendation", "recommend"]


@dataclass(frozen=True, repr=False)
class Recommendation(Result):
    """Metrics recommended for a use case.

    Returned by `recommend`; `to_frame` has one row per metric.

    Parameters
    ----------
    use_case : str
        Name of the use case.
    question : str
        Question that it answers.
    metrics : tuple of str
        Ids of the recommended metrics.
    why : str
        Reasons and cautions.

    See Also
    --------
    recommend : Create it.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.recommend("familiar").metrics[:2]
    ('ece', 'mce')
    """

    use_case: str
    question: str
    metrics: tuple[str, ...]
    why: str

    def _columns(self) -> dict[str, Sequence[Any]]:
        rows = [catalogue[id] for id in self.metrics]
        return {"metric": self.metrics, "name": [m.name for m in rows], "summary": [m.summary for m in rows]}

    def __repr__(self) -> str:
        return "\n".join([self._title(), *(f"  {line}" for line in text_table(*self._table())), self.why])

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return ["metric", "meaning"], [[id, catalogue[id].summary] for id in self.metrics]

    def _title(self) -> str:
        return f"{self.use_case}: {self.question}"

    def _notes(self) -> tuple[str, ...]:
        return (self.why,)


# The five use cases of the survey of calibration metrics, and further ones.
_USE_CASES = {
    "classwise": (
        "How well is each class calibrated, to compare models or recalibration?",
        "A constant forecast at the base rate has no binned error, so read a proper score (brier) beside them.",
    ),
    "multiclass": (
        "Is the whole predicted distribution calibrated, not only the top label?",
        "Bins in many dimensions hold few rows each: skce_uq and dkde need no bins, and vce sorts the class probabilities first, which leaves one dimension.",
    ),
    "direction": (
        "Is the model over- or underconfident?",
        "esce is one signed number; abc_above and abc_below show both sides where they would cancel; ecd needs no bins. For one class a sign means over- or underestimation, which differs from over- or underconfidence.",
    ),
    "parameter-free": (
        "Is there any miscalibration, without choosing bins or bandwidths?",
        "ecce_mad has a test with a known asymptotic null distribution; the bandwidth of smece equals the error it estimates.",
    ),
    "local": (
        "Is the model calibrated in every group or region, not only on average?",
        "Errors of opposite sign in two groups cancel over all rows but not between groups; pass groups= or features=.",
    ),
    "safety": (
        "Could overconfidence do harm?",
        "With lens='top_label' abc_below is the overconfident part of ece, and the test of ecd has overconfidence as its alternative; mce is the error of the worst bin.",
    ),
    "comparison": (
        "Which of several models gives the better probabilities?",
        "The true probabilities have the best expected value of a strictly proper score; it measures discrimination as well as calibration.",
    ),
    "familiar": (
        "Which metrics do most papers report?",
        "ece and mce with 15 equal-width bins; both depend on the bins and on the sample size.",
    ),
}


def recommend(use_case: str) -> Recommendation:
    """Recommend metrics for a use case.

    Each use case is a question about a model; the answer names metrics of the catalogue and the reasons for them.

    Parameters
    ----------
    use_case : {"classwise", "multiclass", "direction", "parameter-free", "local", "safety", "comparison", "familiar"}
        Use case.

    Returns
    -------
    Recommendation
        With the attributes ``question``, ``metrics`` (ids) and ``why``.

    Raises
    ------
    ArgumentError
        If the use case is unknown.

    See Also
    --------
    evaluate : Compute many metrics at once.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.recommend("direction").metrics
    ('ecd', 'nses', 'expected_observed_ratio', 'spiegelhalter_z', 'esce', 'abc_above', 'abc_below', 'cox_slope')
    """
    if not isinstance(use_case, str) or use_case not in _USE_CASES:
        raise ArgumentError("use_case", f"must be one of {', '.join(map(repr, _USE_CASES))}; got {use_case!r}")
    question, why = _USE_CASES[use_case]
    return Recommendation(use_case, question, tuple(m.id for m in catalogue.find(use_cases=use_case)), why)


USE_CASES = tuple(_USE_CASES)

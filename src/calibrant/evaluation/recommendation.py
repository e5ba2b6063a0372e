"""recommend: which metrics to use for what, and why."""

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
    """Which metrics answer a use case, and why."""

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


# The five use cases of the survey of calibration metrics, and four that users ask for beside them.
_USE_CASES = {
    "classwise": (
        "How well is each class calibrated, to compare models or recalibration?",
        "A constant forecast at the base rate has no binned error, so read a proper score (brier) beside them.",
    ),
    "multiclass": (
        "Is the whole predicted distribution right, not only the predicted class?",
        "Bins in many dimensions hold few rows each: skce_uq and dkde need none, and vce orders the classes first, so that one dimension is left.",
    ),
    "direction": (
        "Is the model over- or underconfident?",
        "esce is one signed number; abc_above and abc_below show both sides where they would cancel; ecd needs no bins. For one class a sign says too high or too low, which differs from overconfidence.",
    ),
    "parameter-free": (
        "Is there any deviation at all, without choosing bins or widths?",
        "ecce_mad has a test whose large-sample distribution is known; the width of smece equals the error it finds.",
    ),
    "local": (
        "Is it right in every group or region, not only on average?",
        "Errors of opposite sign in two groups cancel over all rows but not between groups; pass groups= or features=.",
    ),
    "safety": (
        "Could overconfidence do harm?",
        "With lens='top_label' abc_below is the overconfident part of ece, and the test of ecd asks about overconfidence alone; mce is the worst bin.",
    ),
    "comparison": (
        "Which of several models gives the better probabilities?",
        "The true probabilities have the best expected value of a strictly proper score; it measures discrimination as well as calibration.",
    ),
    "familiar": (
        "Which numbers do most papers print?",
        "ece and mce with 15 equal-width bins; both depend on the bins and on the number of rows.",
    ),
}


def recommend(use_case: str) -> Recommendation:
    """Which metrics to use for ``"classwise"``, ``"multiclass"``, ``"direction"``, ``"parameter-free"``, ``"local"``, ``"safety"``, ``"comparison"`` or ``"familiar"``.

    >>> import calibrant as cal
    >>> cal.recommend("direction").metrics
    ('ecd', 'nses', 'expected_observed_ratio', 'spiegelhalter_z', 'esce', 'abc_above', 'abc_below', 'cox_slope')
    """
    if not isinstance(use_case, str) or use_case not in _USE_CASES:
        raise ArgumentError("use_case", f"must be one of {', '.join(map(repr, _USE_CASES))}; got {use_case!r}")
    question, why = _USE_CASES[use_case]
    return Recommendation(use_case, question, tuple(m.id for m in catalogue.find(use_cases=use_case)), why)


USE_CASES = tuple(_USE_CASES)

"""recommend: metrics for a use case, the best first, and the reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentError
from ..metrics.registry import catalogue
from ..metrics.use_cases import use_cases
from ..util.results import Result, text_table

# The metrics recommended for each use case, in one table.
ALL = "all"


@dataclass(frozen=True, repr=False)
class Recommendation(Result):
    """Metrics recommended for a use case, the best first.

    Returned by `recommend`; `to_frame` has one row per metric.

    Parameters
    ----------
    use_case : str
        Name of the use case.
    question : str
        Question that it answers.
    metrics : tuple of str
        Ids of the metrics: the recommendation, the runner-up, and then those for special cases.
    reasons : tuple of str
        Reason for each of them, and when to use it.
    why : str
        Reasons and cautions for all of them.
    functions : tuple of str
        Functions of calibrant to use before or beside the metrics.

    Attributes
    ----------
    best : str
        Id of the recommended metric.
    runner_up : str
        Id of the next one.

    See Also
    --------
    recommend : Create it.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.recommend("familiar")
    >>> found.best, found.runner_up
    ('ece', 'mce')
    """

    use_case: str
    question: str
    metrics: tuple[str, ...]
    reasons: tuple[str, ...]
    why: str
    functions: tuple[str, ...] = ()

    @property
    def best(self) -> str:
        """Id of the recommended metric."""
        return self.metrics[0]

    @property
    def runner_up(self) -> str:
        """Id of the metric to use if the best does not suit."""
        return self.metrics[1]

    def _ranks(self) -> list[str]:
        if self.use_case == ALL:
            return list(use_cases())
        return ["recommended", "runner-up", *[""] * len(self.metrics)][: len(self.metrics)]

    def _columns(self) -> dict[str, Sequence[Any]]:
        rows = [catalogue[id] for id in self.metrics]
        return {
            "metric": self.metrics,
            "rank": self._ranks(),
            "reason": self.reasons,
            "name": [m.name for m in rows],
            "summary": [m.summary for m in rows],
        }

    def __repr__(self) -> str:
        return "\n".join([self._title(), *(f"  {line}" for line in text_table(*self._table())), *self._notes()])

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return ["metric", "rank", "reason"], [
            list(row) for row in zip(self.metrics, self._ranks(), self.reasons, strict=True)
        ]

    def _title(self) -> str:
        return f"{self.use_case}: {self.question}"

    def _notes(self) -> tuple[str, ...]:
        return (self.why, *([f"Functions: {', '.join(self.functions)}."] if self.functions else []))


def recommend(use_case: str | int = ALL) -> Recommendation:
    """Recommend metrics for a use case, the best first.

    Each use case is a question about a model; the answer names metrics of the catalogue and the reasons for them. The first five are
    the use cases of the survey of calibration metrics by Lane (2025). Only metrics whose definition is certain are recommended.

    Parameters
    ----------
    use_case : {"all", "classwise", "multiclass", "direction", "local", "analysis", "parameter-free", "safety", "comparison", "familiar", "clinical"} or int, default "all"
        Use case, or its number, from 1; ``"all"`` has the recommended metric of each.

    Returns
    -------
    Recommendation
        With the attributes ``question``, ``metrics`` (ids, the best first), ``reasons``, ``best``, ``runner_up``, ``why`` and
        ``functions``.

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
    ('esce', 'abc_below', 'abc_above', 'cox_slope', 'ecd', 'nses', 'spiegelhalter_z', 'expected_observed_ratio')
    >>> cal.recommend("analysis").functions
    ('reliability_diagram', 'calibration_curve', 'inference.calibration_band')
    """
    names = list(use_cases())
    if use_case == ALL:
        questions = [each[0] for each in use_cases().values()]
        best = tuple(next(iter(each[1])) for each in use_cases().values())
        return Recommendation(
            ALL, "which metric for which question?", best, tuple(questions), "`recommend(NAME)` has the reasons."
        )
    if isinstance(use_case, int) and 1 <= use_case <= len(names):
        use_case = names[use_case - 1]
    if use_case not in names:
        raise ArgumentError(
            "use_case", f"must be one of {', '.join(map(repr, names))}, or its number; got {use_case!r}"
        )
    question, metrics, why, functions = use_cases()[use_case]
    return Recommendation(use_case, question, tuple(metrics), tuple(metrics.values()), why, functions)

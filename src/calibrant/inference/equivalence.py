"""Equivalence test of a metric: whether its distance from the ideal value is shown to be below a tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentError, UndefinedMetricError
from ..metrics.registry import Metric
from ..util.checks import check_positive
from ..util.results import Record, number, several
from .intervals import CLOSED_FORM, Interval, interval

RELIABLE = (*CLOSED_FORM, "inversion")
# With fewer resamples the limits of the inversion vary too much: with 200, 9% instead of 5% of errors at the tolerance were taken as smaller.
LEAST_RESAMPLES = 1999


@dataclass(frozen=True, repr=False)
class EquivalenceResult(Record):
    """Result of an equivalence test.

    Parameters
    ----------
    metric : str
        Identifier of the metric.
    value : float
        Estimate on the data.
    ideal : float
        Value of the metric for calibrated predictions.
    tolerance : float
        Distance from `ideal` that is to be ruled out.
    low, high : float
        Ends of the confidence interval of level ``1 - 2 * alpha``, each of which is a one-sided limit of level ``1 - alpha``.
    alpha : float
        Significance level.
    method : str
        Method of the interval.
    n : int
        Number of rows; counts are added up.
    lens : str
        The event that was evaluated.
    n_resamples : int
        Number of resamples of the interval, at least 1999 for errors; 0 for closed forms.
    note : str, default ""
        Caveats of the interval.
    """

    metric: str
    value: float
    ideal: float
    tolerance: float
    low: float
    high: float
    alpha: float
    method: str
    n: int
    lens: str
    n_resamples: int
    note: str = ""

    @property
    def rejected(self) -> bool:
        """Whether the null hypothesis, a distance of at least `tolerance`, is rejected: the distance is shown to be smaller."""
        return self.ideal - self.tolerance < self.low and self.high < self.ideal + self.tolerance

    @property
    def null_hypothesis(self) -> str:
        """The null hypothesis as a sentence."""
        if self.ideal == 0 and self.low >= 0:
            return f"{self.metric} is at least {number(self.tolerance)}"
        return f"{self.metric} differs from {number(self.ideal)} by at least {number(self.tolerance)}"

    @property
    def claim(self) -> str:
        """What is to be shown, such as ``"below 0.02000"``."""
        if self.ideal == 0 and self.low >= 0:
            return f"below {number(self.tolerance)}"
        return f"within {number(self.tolerance)} of {number(self.ideal)}"

    @property
    def verdict(self) -> str:
        """The conclusion in one sentence."""
        is_error = self.ideal == 0 and self.low >= 0
        limits = f"at most {number(self.high)}" if is_error else f"from {number(self.low)} to {number(self.high)}"
        shown = "shown to be" if self.rejected else "not shown to be"
        return f"{self.metric} {number(self.value)} is {shown} {self.claim}: {limits} with {100 * (1 - self.alpha):g}% confidence."

    def _fields(self) -> dict[str, Any]:
        more = {"rejected": self.rejected, "null_hypothesis": self.null_hypothesis, "verdict": self.verdict}
        return {**super()._fields(), **more}

    def _title(self) -> str:
        sets = f", {several(self.n_resamples, 'resample')}" if self.n_resamples else ""
        return f"{self.verdict}\n  null hypothesis: {self.null_hypothesis}\n  method: interval, {self.method}{sets}"

    def _notes(self) -> list[str]:
        return [f"  note: {self.note}"] if self.note else []


def equivalence_test(data: Any, metric: Metric, tolerance: float, alpha: float, **keywords: Any) -> EquivalenceResult:
    """Test the null hypothesis that a metric differs from its ideal value by at least a tolerance.

    Parameters
    ----------
    data : Predictions, View or Sketch
        Rows.
    metric : Metric
        Metric with an ideal value for calibrated predictions.
    tolerance : float
        Distance that is to be ruled out.
    alpha : float
        Significance level, below one half.
    **keywords
        Keywords of `interval`.

    Returns
    -------
    EquivalenceResult
        Result with the limits and the conclusion.
    """
    check_positive(tolerance, "tolerance")
    if alpha >= 0.5:
        raise ArgumentError("alpha", f"must be below 0.5 for an equivalence test; got {alpha:g}", "for example 0.05")
    if metric.ideal is None or not math.isfinite(metric.ideal) or metric.info.ideal_for != "calibrated":
        problem = f"{metric.id} has no ideal value for calibrated predictions, from which a tolerance could be measured"
        raise ArgumentError("tolerance", problem, "use a calibration error such as 'ece'")
    largest = max(metric.range[1] - metric.ideal, metric.ideal - metric.range[0])
    if tolerance >= largest:
        problem = (
            f"must be below {largest:g}, the largest distance of {metric.id} from its ideal value; got {tolerance:g}"
        )
        raise ArgumentError("tolerance", problem, "for example 0.02")
    if not metric.info.tolerance:
        problem = "has no interval whose upper limit held its level in simulations"
        raise UndefinedMetricError(metric.id, problem, "use a metric with catalogue[ID].info.tolerance, such as 'ece'")
    keywords["n_resamples"] = max(LEAST_RESAMPLES, keywords.get("n_resamples", 0))
    limits: Interval = interval(data, metric=metric, level=1 - 2 * alpha, **keywords)
    if limits.method not in RELIABLE:  # intervals of the bootstrap may be too short
        problem = f"the {limits.method} interval can be too short for an equivalence test"
        raise UndefinedMetricError(
            metric.id, problem, "use another metric, a one-event lens, or rows without soft labels"
        )
    own = (limits.value, float(metric.ideal), float(tolerance), limits.low, limits.high)
    return EquivalenceResult(
        metric.id, *own, alpha, limits.method, limits.n, limits.lens, limits.n_resamples, limits.note
    )

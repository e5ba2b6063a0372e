"""P-values and critical values from simulated or enumerated null distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..errors import UndefinedMetricError
from ..util.arrays import Floats
from ..views.lenses import AnyView
from .metric_tests import TestInput, TestOutcome
from .resampling import every_outcome

Mask = NDArray[np.bool_]

# Values that differ by rounding errors only count as ties.
SAME = 1e-12


def compared_with_draws(asked: TestInput, null: Floats) -> TestOutcome:
    """P-value among simulated values, with the observed value counted among them, and the critical values.

    Values that are undefined (NaN) are left out: given that it is defined, the observed value is exchangeable with the others, so that the test
    keeps its level.
    """
    null = null[~np.isnan(null)]
    pvalue = _pvalue(asked, null, lambda mask: float((1 + mask.sum()) / (1 + len(null))))
    return replace(_found(asked, pvalue, null, None), by_chance=_expected(null))


def _found(
    asked: TestInput, pvalue: float, null: Floats, weight: Floats | None, null_distribution: str = ""
) -> TestOutcome:
    """The outcome with critical values on the scale of the metric; `weight` are the probabilities of enumerated values."""
    if _has_two_tails(asked, null):
        low, high = (critical_value(side, asked.alpha / 2, weight) for side in (-null, null))
        return TestOutcome(pvalue, high, null_distribution, lower_critical_value=-low)
    limit = critical_value(_extremity(asked, null), asked.alpha, weight)
    if asked.alternative != "two-sided":
        return TestOutcome(pvalue, -limit if asked.alternative == "less" else limit, null_distribution)
    ideal = asked.metric.ideal or 0.0
    if math.isinf(limit):  # no value is significant
        return TestOutcome(pvalue, math.inf, null_distribution, lower_critical_value=-math.inf)
    low, high = (math.exp(-limit), math.exp(limit)) if _is_ratio(asked) else (ideal - limit, ideal + limit)
    return TestOutcome(
        pvalue, high, null_distribution, lower_critical_value=None if ideal == asked.metric.range[0] else low
    )  # the ideal value is the minimum


def critical_value(values: Floats, alpha: float, weight: Floats | None = None) -> float:
    """The value beyond which exactly the p-value is at most `alpha`; infinite where it never is.

    For simulated values it is the m-th largest, with m the largest number for which m / (1 + B), the smallest p-value of a tie with it, is at most
    `alpha`. For enumerated values it is the largest one with a probability of more than `alpha` at or above it.
    """
    ranked = np.sort(values)[::-1]
    if weight is None:
        most = math.floor(alpha * (1 + len(values))) + 1
        while most / (1 + len(values)) > alpha:  # the p-value is rounded
            most -= 1
        return float(ranked[most - 1]) if most > 0 else math.inf
    reach = np.cumsum(weight[np.argsort(values)[::-1]])
    # Values that differ by rounding errors only are ties.
    slack = np.where(np.isfinite(ranked), SAME * np.maximum(1, np.abs(ranked)), 0.0)
    above = reach[np.searchsorted(-ranked, slack - ranked, side="right") - 1]
    return math.inf if above[0] > alpha else float(ranked[int(np.argmax(above > alpha))])


def compared_with_every_outcome(asked: TestInput, view: AnyView) -> tuple[TestOutcome, Floats]:
    """The probability of all outcomes at least as extreme, and the values of all outcomes for which the metric is defined."""

    def value(drawn: AnyView) -> float:
        try:
            return asked.metric.value_of([drawn], asked.options)
        except UndefinedMetricError:
            return math.nan

    outcomes = [(value(drawn), chance) for drawn, chance in every_outcome(view) if chance]
    null, weight = np.array(outcomes).T
    known = ~np.isnan(null)
    missing = float(weight[~known].sum())
    if not known.any():  # the observed outcome has probability 0
        raise UndefinedMetricError(asked.metric.id, "is undefined for all outcomes of positive probability")
    rows = int(view.total) if view.weight_kind == "counts" else view.n
    null_distribution = f"all {2**rows} outcomes of {rows} rows with their probabilities"
    if not known.all():
        null_distribution += f", except {(~known).sum()} for which the metric is undefined (probability {missing:.2g})"
    null, weight = null[known], weight[known] / weight[known].sum()
    pvalue = _pvalue(asked, null, lambda mask: float(weight[mask].sum()))
    found = _found(asked, pvalue, null, weight, null_distribution)
    return replace(found, by_chance=_expected(null, weight)), null


def _expected(null: Floats, weight: Floats | None = None) -> float | None:
    """Mean of the null distribution; None where it has infinite values of both signs."""
    with np.errstate(invalid="ignore"):
        mean = float(np.average(null, weights=weight))
    return None if math.isnan(mean) else mean


def pvalues_of_draws(asked: TestInput, null: Floats) -> Floats:
    """The p-value of each simulated value among all of them and the observed one; 1 where the metric is undefined.

    The observed value is included as each simulated value is for the observed one: all are exchangeable under the null hypothesis.
    """
    known = ~np.isnan(null)
    own = asked.statistic
    if _has_two_tails(asked, null):
        ranked = np.sort(null[known])
        above = len(ranked) - np.searchsorted(ranked, null, side="left") + (own >= null - _slack(own))
        count = 2 * np.minimum(above, np.searchsorted(ranked, null, side="right") + (own <= null + _slack(own)))
    else:
        extreme = _extremity(asked, null)
        own = float(_extremity(asked, np.array([own]))[0])
        ranked = np.sort(extreme[known])
        count = len(ranked) - np.searchsorted(ranked, extreme, side="left") + (own >= extreme - _slack(own))
    return np.where(known, np.minimum(1.0, count / (len(ranked) + 1)), 1.0)


def _pvalue(asked: TestInput, null: Floats, share: Callable[[Mask], float]) -> float:
    """Probability of values at least as extreme; `share` gives the probability of a mask."""
    own = asked.statistic
    if _has_two_tails(asked, null):
        tails = (share(null >= own - _slack(own)), share(null <= own + _slack(own)))
        return min(1.0, 2 * min(tails))
    own = float(_extremity(asked, np.array([own]))[0])
    return min(1.0, share(_extremity(asked, null) >= own - _slack(own)))


def _slack(value: float) -> float:
    return SAME * max(1.0, abs(value)) if math.isfinite(value) else 0.0


def _has_two_tails(asked: TestInput, null: Floats) -> bool:
    """Whether the test is two-sided, and each tail is counted separately.

    This is the case without an ideal value, and with values infinitely far from it, such as the ratios of expected and observed events without any event:
    not improbable, they would hide every deviation to the other side.
    """
    if asked.alternative != "two-sided":
        return False
    has_ideal = asked.metric.info.ideal_for == "calibrated" and asked.metric.ideal is not None
    return not has_ideal or bool(np.isinf(_extremity(asked, np.append(null, asked.statistic))).any())


def _extremity(asked: TestInput, values: Floats) -> Floats:
    """Evidence of values against the null hypothesis: larger is more extreme."""
    if asked.alternative == "greater":
        return values
    if asked.alternative == "less":
        return -values
    ideal = asked.metric.ideal
    assert ideal is not None
    if _is_ratio(asked):
        with np.errstate(divide="ignore"):
            return np.asarray(np.abs(np.log(values)))
    return np.abs(values - ideal)


def _is_ratio(asked: TestInput) -> bool:
    """Whether deviations are measured on a logarithmic scale."""
    return asked.metric.ideal == 1 and asked.metric.range[0] == 0

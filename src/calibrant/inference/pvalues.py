"""How extreme a value is among those that chance gives, drawn or gone through one by one."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..errors import UndefinedMetricError
from ..views.lenses import AnyView
from .metric_tests import TestInput, TestOutcome
from .resampling import every_outcome, one_view

__all__ = [
    "MOST_UNDEFINED",
    "SAME",
    "compared_with_draws",
    "compared_with_every_outcome",
    "critical_value",
    "pvalues_of_draws",
]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Equal values that differ by rounding count as equal.
SAME = 1e-12
# A distribution is not told from the outcomes that have a value where more of them than this have none.
MOST_UNDEFINED = 0.1


def compared_with_draws(asked: TestInput, null: Floats) -> TestOutcome:
    """The share of draws at least as extreme, the sample itself counted among them, and the values that would be significant."""
    null = null[~np.isnan(null)]
    pvalue = _pvalue(asked, null, lambda mask: float((1 + mask.sum()) / (1 + len(null))))
    return _found(asked, pvalue, null, None)


def _found(
    asked: TestInput, pvalue: float, null: Floats, weight: Floats | None, null_distribution: str = ""
) -> TestOutcome:
    """With the critical values on the scale of the metric; `weight` are the probabilities of the values, where they are not drawn."""
    if _has_two_tails(asked):
        low, high = (critical_value(side, asked.alpha / 2, weight) for side in (-null, null))
        return TestOutcome(pvalue, high, null_distribution, lower_critical_value=-low)
    limit = critical_value(_extremity(asked, null), asked.alpha, weight)
    if asked.alternative != "two-sided":
        return TestOutcome(pvalue, -limit if asked.alternative == "less" else limit, null_distribution)
    ideal = asked.metric.ideal or 0.0
    if math.isinf(limit):  # no value is so far off that chance would not give it
        return TestOutcome(pvalue, math.inf, null_distribution, lower_critical_value=-math.inf)
    low, high = (math.exp(-limit), math.exp(limit)) if _is_ratio(asked) else (ideal - limit, ideal + limit)
    return TestOutcome(
        pvalue, high, null_distribution, lower_critical_value=None if ideal == asked.metric.range[0] else low
    )  # nothing lies below


def critical_value(values: Floats, alpha: float, weight: Floats | None = None) -> float:
    """The value beyond which, and nowhere else, the p-value is at most `alpha`; infinite where it never is.

    Of values that were drawn, a value is significant where it exceeds the m-th largest of them, m being the most for which
    m / (1 + their number), the smallest p-value that a tie with it can have, is at most `alpha`. Of values with probabilities, where it
    exceeds the largest that has more than `alpha` at or above it.
    """
    ranked = np.sort(values)[::-1]
    if weight is None:
        most = math.floor(alpha * (1 + len(values))) + 1
        while most / (1 + len(values)) > alpha:  # as the p-value is rounded
            most -= 1
        return float(ranked[most - 1]) if most > 0 else math.inf
    reach = np.cumsum(weight[np.argsort(values)[::-1]])
    # Equal values that differ by rounding are reached together.
    slack = np.where(np.isfinite(ranked), SAME * np.maximum(1, np.abs(ranked)), 0.0)
    above = reach[np.searchsorted(-ranked, slack - ranked, side="right") - 1]
    return math.inf if above[0] > alpha else float(ranked[int(np.argmax(above > alpha))])


def compared_with_every_outcome(asked: TestInput, view: AnyView) -> tuple[TestOutcome, Floats]:
    """The probability of all outcomes at least as extreme, and the values of all that have one."""
    options = dict(asked.options)
    outcomes = [
        (one_view(drawn).value(asked.metric, options), chance) for drawn, chance in every_outcome(view) if chance
    ]
    null, weight = np.array(outcomes).T
    known = ~np.isnan(null)
    missing = float(weight[~known].sum())
    if missing > MOST_UNDEFINED:
        raise UndefinedMetricError(
            asked.metric.id,
            f"is undefined for {(~known).sum()} of {len(known)} outcomes, which have total probability {missing:.2g}",
            "use more data or another method",
        )
    rows = int(view.total) if view.weight_kind == "counts" else view.n
    null_distribution = f"all {2**rows} outcomes of {rows} rows, each with its probability"
    if not known.all():
        null_distribution += f", less {(~known).sum()} without a value (probability {missing:.2g})"
    null, weight = null[known], weight[known] / weight[known].sum()
    pvalue = _pvalue(asked, null, lambda mask: float(weight[mask].sum()))
    return _found(asked, pvalue, null, weight, null_distribution), null


def pvalues_of_draws(asked: TestInput, null: Floats) -> Floats:
    """The p-value that each draw has among all of them and the sample itself; 1 for one without a value.

    The sample counts among them as each draw does among those of the sample: all are then exchangeable if the hypothesis holds.
    """
    known = ~np.isnan(null)
    own = asked.statistic
    if _has_two_tails(asked):
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
    """How much of what chance gives is at least as extreme; `share` says how much lies in a mask."""
    own = asked.statistic
    if _has_two_tails(asked):
        tails = (share(null >= own - _slack(own)), share(null <= own + _slack(own)))
        return min(1.0, 2 * min(tails))
    own = float(_extremity(asked, np.array([own]))[0])
    return min(1.0, share(_extremity(asked, null) >= own - _slack(own)))


def _slack(value: float) -> float:
    return SAME * max(1.0, abs(value)) if math.isfinite(value) else 0.0


def _has_two_tails(asked: TestInput) -> bool:
    """Whether both ends of the distribution speak against the hypothesis and no value is right: each tail is then counted for itself."""
    return asked.alternative == "two-sided" and (asked.metric.ideal_for != "calibrated" or asked.metric.ideal is None)


def _extremity(asked: TestInput, values: Floats) -> Floats:
    """How strongly values speak against the hypothesis: larger is stronger."""
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
    """Whether twice is as far off as half."""
    return asked.metric.ideal == 1 and asked.metric.range[0] == 0

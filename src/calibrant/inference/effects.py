"""Alternatives, distributions of scores, and formulas for the power of tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError, ProbabilityError, UndefinedMetricError
from ..input.convert import missing_values
from ..input.missing import missing_rows
from ..metrics.registry import Metric
from ..sketches.sketch import Sketch
from ..util.arrays import Floats
from ..util.checks import is_number
from ..views.view import View
from .asymptotic import too_few
from .metric_tests import LEAST_VARIANCE
from .resampling import Generator
from .simulation import warps
from .simulation.population import Population
from .simulation.simulate import _distribution, _scores
from .simulation.warps import Warp, as_warp

# Nodes of each piece of the distribution of scores.
NODES = 400
SLIGHT = 1e-12


@dataclass(frozen=True)
class Nodes:
    """A distribution of scores as points with shares in increasing order, with the true rate at each; `draw` samples scores."""

    score: Floats
    log_odds: Floats
    truth: Floats
    share: Floats
    draw: Callable[[Generator, int], Floats]


@dataclass(frozen=True)
class Case:
    """A test and the alternative for which its power is sought."""

    metric: Metric
    options: dict[str, Any]
    at: Nodes
    warp: Warp
    description: str
    alpha: float
    alternative: str
    tolerance: float | None = None
    """Of an equivalence test; None for a test of calibration."""

    @property
    def name(self) -> str:
        return self.metric.id if self.tolerance is None else f"{self.metric.id} within {self.tolerance:g}"


@dataclass(frozen=True)
class Plan:
    """Power as a function of the number of rows, and its inverse."""

    power: Callable[[int], float]
    rows: Callable[[float], float]


def alternative_rate(deviation: Any) -> tuple[Warp, str]:
    """The true rate as a function of the score, and its description."""
    if not is_number(deviation):
        warp = as_warp(deviation, "deviation")
        return warp, "the given calibration curve" if isinstance(warp, warps.function) else repr(warp)
    if not -1 <= deviation <= 1:
        raise ArgumentError("deviation", f"must lie in [-1, 1]; got {deviation!r}", "for example 0.02")
    bend = 1 - deviation if deviation > 0 else -deviation
    shifted = warps.function(lambda s: np.clip(s + deviation, 0, 1), (bend,))
    return shifted, f"event rate {abs(deviation):g} {'above' if deviation >= 0 else 'below'} the score"


def nodes_of(scores: Any, warp: Warp, cuts: Sequence[float] = ()) -> Nodes:
    """The distribution of scores: uniform for None, a Beta distribution with pieces between the `cuts`, or recorded scores."""
    if scores is None or isinstance(scores, tuple):
        a, b, *more = _distribution((1, 1) if scores is None else scores)
        if more:
            raise ArgumentError("scores", "must be the two numbers of a Beta distribution", "for example (2, 2)")
        at = Population(warp, (a, b))._points(NODES, [0.0, *cuts, 1.0])
        order = np.argsort(at.score, kind="stable")
        odds = np.log(at.score) - np.log(at.complement)
        share = at.weight / at.weight.sum()
        return Nodes(
            at.score[order], odds[order], at.truth[order], share[order], lambda g, n: _scores(n, a, b, warp, g)
        )
    score, weight = _recorded(scores)
    share = np.cumsum(weight) / weight.sum()

    def draw(g: Generator, n: int) -> Floats:
        return score[np.minimum(np.searchsorted(share, g.random(n), side="right"), len(score) - 1)]

    with np.errstate(divide="ignore"):
        odds = np.log(score) - np.log1p(-score)
    return Nodes(score, odds, warp.curve(score), weight / weight.sum(), draw)


def _recorded(scores: Any) -> tuple[Floats, Floats]:
    """Distinct scores with their weights."""
    if isinstance(scores, Sketch):
        scores = scores.view()
    if isinstance(scores, View):
        return scores.ties.score, scores.ties.weight
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        absent = int(missing_rows(scores).sum()) if hasattr(scores, "__len__") and not isinstance(scores, str) else 0
        values = np.full(absent, np.nan)
    if values.ndim == 1 and np.isnan(values).any():
        raise ProbabilityError("scores", missing_values(int(np.isnan(values).sum())), "drop or fill them")
    if values.ndim == 1 and len(values) and 1 < values.max() <= 100 and values.min() >= 0:
        raise ProbabilityError(
            "scores", f"must lie in [0, 1]; got {values.max():g}", "divide by 100 if these are percentages"
        )
    if values.ndim != 1 or len(values) == 0 or not ((values >= 0) & (values <= 1)).all():
        raise ProbabilityError(
            "scores", "must be an array of numbers in [0, 1], or a tuple (a, b) for a Beta distribution"
        )
    score, counts = np.unique(values, return_counts=True)
    return score, counts.astype(np.float64)


def plan_of(case: Case) -> Plan | None:
    """The power formula of a test; None where the power must be simulated."""
    plan = None if case.tolerance is not None else KNOWN_PLANS.get(case.name)
    if plan is None or (plan is _grouped_plan and case.alternative != "greater"):
        return None
    if not (case.at.share * case.at.score * (1 - case.at.score)).any():
        raise UndefinedMetricError(case.name, "every score is 0 or 1, so the statistic has no variance")
    return plan(case)


def _linear_plan(case: Case) -> Plan:
    """Standardised sums of g(s) (y - s), with the sign of the metric."""
    at = case.at
    factors = {"spiegelhalter_z": 1 - 2 * at.score, "ecd": -at.log_odds}
    options = {**case.metric.options, **case.options}
    sign = 1.0 if options.get("form") == "logit" else -1.0  # of the mean difference, as the metric reports it
    g = factors.get(case.name, np.full(len(at.score), sign))
    gap = _product(g, at.truth - at.score)
    if np.isinf(gap).any():
        raise UndefinedMetricError(case.name, "is infinite if a score of 0 or 1 is wrong", "use scores inside (0, 1)")
    shift = math.fsum(at.share * gap)
    v0 = math.fsum(at.share * _product(g * g, at.score * (1 - at.score)))
    v1 = math.fsum(at.share * _product(g * g, at.truth * (1 - at.truth)))
    if v0 == 0:
        raise UndefinedMetricError(case.name, "has no variance at these scores")
    sides = {"two-sided": (1, -1), "greater": (1,), "less": (-1,)}[case.alternative]
    limit = normal_quantile(1 - case.alpha / len(sides)) * math.sqrt(v0)
    # The shift in the direction of the test.
    effect = abs(shift) if case.alternative == "two-sided" else sides[0] * shift

    def power(n: int) -> float:
        return min(1.0, sum(_normal(side * math.sqrt(n) * shift - limit, v1) for side in sides))

    def rows(target: float) -> float:
        if effect <= SLIGHT * math.sqrt(v0):
            problem = f"has no power against this deviation ({case.alternative})"
            raise UndefinedMetricError(case.name, problem, "use ecce_mad")
        return (max(0.0, limit + normal_quantile(target) * math.sqrt(v1)) / effect) ** 2

    return Plan(power, rows)


def _grouped_plan(case: Case) -> Plan:
    """Noncentral chi-square whose noncentrality is proportional to the number of rows."""
    from scipy.optimize import brentq
    from scipy.special import chdtri, chndtr

    bins = _bins_of(case)
    df = len(bins.share)
    limit = float(chdtri(df, case.alpha))

    def power(n: float) -> float:
        return 1.0 if math.isinf(bins.noncentrality) else 1 - float(chndtr(limit, df, n * bins.noncentrality))

    def rows(target: float) -> float:
        if bins.noncentrality <= SLIGHT**2:
            raise UndefinedMetricError(case.name, "has no power against this deviation: the means agree in every bin")
        enough = 1.0
        while power(enough) < target:
            enough *= 2
        return enough if enough == 1 else float(brentq(lambda n: power(n) - target, enough / 2, enough, xtol=1e-9))

    return Plan(power, rows)


@dataclass(frozen=True)
class _Bins:
    """Shares of rows and sums of scores in the non-empty bins, and the noncentrality that a row adds to the chi-square."""

    share: Floats
    score: Floats
    noncentrality: float


def _bins_of(case: Case) -> _Bins:
    at, options = case.at, case.metric.arguments(case.options)
    counts = np.maximum(np.rint(at.share * 2.0**40), 1)  # shares as rows, so that the metric's own rule makes the bins
    view = View(at.score, np.zeros(len(at.score), np.uint8), counts, "counts")
    cell, count = options["rule"].cells(view)
    share, score, gap, exact = (
        np.bincount(cell, at.share * values, count).astype(np.float64)
        for values in (np.ones(len(at.score)), at.score, at.truth - at.score, at.score * (1 - at.score))
    )
    full = share > 0
    share, score, gap, exact = share[full], score[full], gap[full], exact[full]
    variance = exact if options.get("variance") == "exact" else score * (1 - score / share)
    if ((variance <= SLIGHT * share) & (np.abs(gap) > SLIGHT)).any():  # certain outcomes that do not occur
        return _Bins(share, score, math.inf)
    return _Bins(share, score, float(np.divide(gap**2, variance, out=np.zeros(len(gap)), where=variance > 0).sum()))


def is_too_small(case: Case, n: int) -> bool:
    """Whether there are too few rows for the null distribution of the metric's own test, so that labels are simulated."""
    if KNOWN_PLANS[case.name] is not _grouped_plan:
        return n * math.fsum(case.at.share * case.at.score * (1 - case.at.score)) < LEAST_VARIANCE
    bins = _bins_of(case)
    return not math.isinf(bins.noncentrality) and bool(
        too_few(n * np.concatenate([bins.score, bins.share - bins.score]))
    )


def _product(factor: Floats, part: Floats) -> Floats:
    """The product, 0 wherever `part` is 0."""
    return np.multiply(factor, part, out=np.zeros(len(part)), where=part != 0)


def _normal(distance: float, variance: float) -> float:
    """Probability that a centred normal variable with this variance is below the distance."""
    from scipy.special import ndtr

    return float(ndtr(distance / math.sqrt(variance))) if variance > 0 else float(distance >= 0)


def normal_quantile(level: float) -> float:
    """Quantile of the standard normal distribution."""
    from scipy.special import ndtri

    return float(ndtri(level))


KNOWN_PLANS: dict[str, Callable[[Case], Plan]] = {
    "calibration_in_the_large": _linear_plan,
    "fixed_slope_intercept": _linear_plan,
    "expected_observed_ratio": _linear_plan,
    "spiegelhalter_z": _linear_plan,
    "ecd": _linear_plan,
    "hosmer_lemeshow": _grouped_plan,
    "pigeon_heyse": _grouped_plan,
}

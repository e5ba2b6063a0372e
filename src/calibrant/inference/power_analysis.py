"""power and sample_size: how likely a test is to see a deviation, and how many rows it takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, UndefinedMetricError
from ..input.convert import is_number
from ..metrics.registry import Metric, catalogue
from ..util.checks import check_whole
from ..util.results import Record, number
from ..views.keywords import checks_keywords
from .effects import (
    SLIGHT,
    Case,
    Nodes,
    Plan,
    law_is_off,
    named_deviation,
    nodes_of,
    normal_quantile,
    plan_of,
    simulates_at,
)
from .metric_tests import DEFAULT_TESTS, TestInput
from .pvalues import compared_with_draws
from .resampling import generator, given_in_vain, many, not_used, seed_of
from .sequential import check_level
from .significance import assess
from .simulation.warps import Warp, as_warp

__all__ = ["PowerResult", "detectable_shift", "power", "sample_size"]

Floats = NDArray[np.float64]
Method = Literal["auto", "analytic", "simulated"]

# Simulated sample sizes are sought until the power is known to be within this of the one asked for, or after so many draws.
CLOSE, MOST_REPEATS = 0.02, 10_000
FIRST_ROWS, MOST_ROWS = 32, 1 << 20


@dataclass(frozen=True, repr=False)
class PowerResult(Record):
    """How likely a test is to find a deviation with `n` rows; for a sample size, `n` is what was sought."""

    test: str
    n: int
    power: float
    low: float
    high: float
    """Where the power lies: 95 % bounds of a simulation, `power` itself or up to 1 where a formula gives it or a lower bound."""
    alpha: float
    deviation: str
    method: str
    target: float | None = None
    repeats: int = 0
    note: str = ""

    def _title(self) -> str:
        least = "at least " if self.method == "analytic" and self.high > self.power else ""
        chance = f"with probability {least}{number(self.target or self.power)} at level {self.alpha:g}"
        if self.target is None:
            text = f"With {self.n:,} rows {self.test} finds {self.deviation} {chance}."
        else:
            text = f"It takes {self.n:,} rows for {self.test} to find {self.deviation} {chance}."
        how = self.method
        if self.repeats:
            how = f"simulated {self.repeats:,} times: probability {number(self.power)} [{number(self.low)}, {number(self.high)}]"
        return "\n".join([text, f"  {how}" + (f"; {self.note}" if self.note else "")])

    def _table(self) -> tuple[list[str], list[list[str]]]:
        row = [self.test, f"{self.n:,}", number(self.power), number(self.low), number(self.high), f"{self.alpha:g}"]
        return ["test", "rows", "power", "low", "high", "level"], [row]


@checks_keywords("test", catalogue, taken=("lens",), view=())
def power(
    test: str | Metric | Callable[..., Any],
    n: int,
    *,
    scores: Any = None,
    deviation: float | None = None,
    mu: Callable[[Floats], Any] | None = None,
    warp: str | Warp | None = None,
    strength: float | None = None,
    alpha: float = 0.05,
    alternative: Literal["greater", "less", "two-sided"] | None = None,
    random_scores: bool = False,
    method: Method = "auto",
    repeats: int = 1000,
    rng: Any = 0,
    workers: int | None = None,
    **options: Any,
) -> PowerResult:
    """How likely a test is to find a deviation with `n` rows.

    Parameters
    ----------
    test
        Id or alias of a metric, or a function of ``(y_true, y_prob)`` that gives a p-value or a result that has one, such as
        `safe_hosmer_lemeshow`; options of either are taken as keywords.
    n
        Number of rows.
    scores
        None for scores spread evenly, a tuple for the a and b of a Beta distribution, or scores that were recorded: an array, a View or
        a Sketch.
    deviation
        Events are this much more frequent than the scores say, kept within [0, 1].
    mu
        Or: the true rate as a function of the score.
    warp, strength
        Or: a warp of `calibrant.inference.simulation`, or the name of one with its strength: ``"temperature"``, ``"bias"``, ``"bump"``,
        ``"label_noise"``.
    alpha, alternative
        Level and side of the test; None takes the side that the metric declares.
    random_scores
        In formulas, count how far new scores stray from their distribution too. Simulation always does.
    method
        ``"analytic"`` is known for means over rows, ``hosmer_lemeshow`` and, as a lower bound, for ``ecce_mad`` and ``ecce_r``;
        ``"simulated"`` does for all. ``"auto"`` prefers the former, unless groups are too small for the distribution of its test.
    repeats, rng, workers
        Number of simulated data sets, their seed, and threads; the result says so where a formula made them superfluous.

    Examples
    --------
    >>> from calibrant.inference.power_analysis import power
    >>> power("calibration_in_the_large", 1000, scores=(2, 2), deviation=0.04)
    With 1,000 rows calibration_in_the_large finds events 0.04 more frequent than the scores say with probability 0.8071 at level 0.05.
      analytic
    """
    check_whole(n, "n")
    case = _case(test, scores, deviation, mu, warp, strength, alpha, alternative, random_scores, options)
    plan = plan_of(case, method)
    if plan is not None and not (method == "auto" and law_is_off(case, n)):
        unused = given_in_vain(power, repeats=repeats, rng=rng, workers=workers)
        return _analytic(case, plan, n, plan.power(n), None, unused)
    draws = _Draws(case, seed_of(rng), workers)
    return draws.result(n, check_whole(repeats, "repeats"), None)


@checks_keywords("test", catalogue, taken=("lens",), view=())
def sample_size(
    test: str | Metric | Callable[..., Any],
    *,
    power: float = 0.8,
    scores: Any = None,
    deviation: float | None = None,
    mu: Callable[[Floats], Any] | None = None,
    warp: str | Warp | None = None,
    strength: float | None = None,
    alpha: float = 0.05,
    alternative: Literal["greater", "less", "two-sided"] | None = None,
    random_scores: bool = False,
    method: Method = "auto",
    repeats: int = 500,
    rng: Any = 0,
    workers: int | None = None,
    **options: Any,
) -> PowerResult:
    """How many rows a test needs to find a deviation with a probability of `power`; see `power` for the rest.

    Where no formula is known, numbers of rows are tried by doubling and halving on the same random numbers, with `repeats` data
    sets or more.

    Examples
    --------
    >>> from calibrant.inference.power_analysis import sample_size
    >>> sample_size("ecce_mad", deviation=0.02)
    It takes 4,040 rows for ecce_mad to find events 0.02 more frequent than the scores say with probability at least 0.8000 at level 0.05.
      analytic; fewer may do: the formula counts one way of crossing
    """
    case = _case(test, scores, deviation, mu, warp, strength, alpha, alternative, random_scores, options)
    if not (is_number(power) and alpha < power < 1):
        raise ArgumentError("power", f"must lie between alpha and 1; got {power!r}", "for example 0.8")
    plan = plan_of(case, method)
    if plan is not None:
        n = max(1, math.ceil(plan.rows(power) * (1 - SLIGHT)))
        if not (method == "auto" and law_is_off(case, n)):
            unused = given_in_vain(sample_size, repeats=repeats, rng=rng, workers=workers)
            return _analytic(case, plan, n, plan.power(n), power, unused)
    check_whole(repeats, "repeats")
    return _search(_Draws(case, seed_of(rng), workers), power, repeats)


def detectable_shift(n: int, *, scores: Any = None, power: float = 0.8, alpha: float = 0.05) -> float:
    """Minimum detectable effect: the smallest difference of event rate and mean score that `n` rows show with probability `power`.

    The test is `calibration_in_the_large`, two-sided; the events are everywhere as much more, or less, frequent than the scores
    say, within [0, 1], as in ``power(deviation=)``. The larger of the two differences is given, each with the variance that the
    outcomes have if it is there; a direction in which no shift is large enough (the rate of a rare event can fall no further
    than 0) is left out.

    Raises
    ------
    UndefinedMetricError
        Where no shift at all is found with this probability.

    Examples
    --------
    >>> from calibrant.inference.power_analysis import detectable_shift
    >>> round(detectable_shift(1000, scores=(2, 2)), 4)
    0.0396
    """
    check_level(alpha)
    if not (is_number(power) and alpha < power < 1):
        raise ArgumentError("power", f"must lie between alpha and 1; got {power!r}", "for example 0.8")
    check_whole(n, "n")
    at = nodes_of(scores, as_warp(lambda s: s))
    found = [shift for side in (1, -1) if (shift := _smallest_shift(at, n, side, power, alpha)) is not None]
    if not found:
        raise UndefinedMetricError(
            "detectable_shift", f"no shift is detected with power {power:g} in {n:,} rows", "use more rows"
        )
    return max(found)


def _smallest_shift(at: Nodes, n: int, side: int, power: float, alpha: float) -> float | None:
    """The mean difference in one direction; None where even the largest is not found often enough."""
    from scipy.optimize import brentq

    limit = normal_quantile(1 - alpha / 2) * math.sqrt(math.fsum(at.share * at.score * (1 - at.score)) / n)

    def gap(shift: float) -> float:
        return abs(math.fsum(at.share * (np.clip(at.score + side * shift, 0, 1) - at.score)))

    def excess(shift: float) -> float:
        truth = np.clip(at.score + side * shift, 0, 1)
        spread = math.sqrt(math.fsum(at.share * truth * (1 - truth)) / n)
        return gap(shift) - limit - normal_quantile(power) * spread

    if limit == 0:  # certain scores: a single outcome against one of them rejects
        movable = math.fsum(at.share * (at.score == (0 if side > 0 else 1)))
        return movable * -math.expm1(math.log1p(-power) / (n * movable)) if movable else None
    steps = np.linspace(0, 1, 1001)
    enough = next((place for place, shift in enumerate(steps) if excess(float(shift)) >= 0), None)
    if enough is None:
        return None
    return gap(float(brentq(excess, steps[enough - 1], steps[enough], xtol=1e-12)))


def _case(
    test: Any,
    scores: Any,
    deviation: Any,
    mu: Any,
    warp: Any,
    strength: Any,
    alpha: Any,
    alternative: Any,
    random_scores: bool,
    options: dict[str, Any],
) -> Case:
    check_level(alpha)
    if alternative not in (None, "greater", "less", "two-sided"):
        raise ArgumentError("alternative", f"must be 'greater', 'less' or 'two-sided'; got {alternative!r}")
    metric = catalogue[test] if isinstance(test, (str, Metric)) else None
    if metric is None and not callable(test):
        raise ArgumentError("test", f"must be a metric or a function of (y_true, y_prob); got {test!r}")
    chosen, words = named_deviation(deviation, mu, warp, strength)
    name = metric.id if metric is not None else getattr(test, "__name__", "the test")
    side = alternative or _usual_side(metric)
    decide = None if metric is not None else test
    return Case(name, metric, decide, options, nodes_of(scores, chosen), chosen, words, alpha, side, random_scores)


def _usual_side(metric: Metric | None) -> str:
    if metric is None:
        return "greater"
    return "two-sided" if metric.proper == "strictly" else metric.alternative


def _analytic(
    case: Case, plan: Plan, n: int, found: float, target: float | None, unused: tuple[str, ...]
) -> PowerResult:
    note = "fewer may do: the formula counts one way of crossing" if plan.is_bound else ""
    if plan.is_bound and target is None:
        note = "a lower bound: the formula counts one way of crossing"
    note = "; ".join(filter(None, [note, not_used(unused, "a formula gives the power")]))
    high = 1.0 if plan.is_bound else found
    return PowerResult(case.name, n, found, found, high, case.alpha, case.keywords, "analytic", target, note=note)


class _Draws:
    """Simulated data sets of any size; number b always starts from the same random numbers."""

    def __init__(self, case: Case, seed: int, workers: int | None) -> None:
        self.case = case
        self.seed = seed
        self.workers = workers
        self.own: dict[int, str | None] = {}
        self.limits: dict[int, tuple[float, float]] = {}

    def sample(self, number_: int, n: int, is_null: bool = False) -> tuple[NDArray[np.uint8], Floats]:
        score = self.case.at.draw(generator(self.seed, 3 * number_ + (2 if is_null else 0)), n)
        rate = score if is_null else self.case.warp.curve(score)
        chance = generator(self.seed, 3 * number_ + 1).random(n)
        return (chance < rate).view(np.uint8), score

    def rejections(self, n: int, first: int, stop: int) -> int:
        if n not in self.own:
            self.own[n] = self._own_test(n)
            if self.case.metric is not None and self.own[n] is None:
                self.limits[n] = self._limits(n)
        return sum(many(lambda b: self._rejects(first + b, n), stop - first, self.workers))

    def _own_test(self, n: int) -> str | None:
        """The test that `assess` takes for so many rows; None where it would draw outcomes."""
        case = self.case
        return None if simulates_at(case, n) else DEFAULT_TESTS[case.name]

    def _rejects(self, number_: int, n: int) -> bool:
        y, s = self.sample(number_, n)
        case = self.case
        if case.decide is not None:
            found = case.decide(y, s, **case.options)
            return bool(float(getattr(found, "pvalue", found)) <= case.alpha)
        own = self.own[n]
        if own is None:
            low, high = self.limits[n]
            value = self._value(y, s)
            return bool(value > high or value < low)
        assert case.metric is not None
        words: dict[str, Any] = {"alpha": case.alpha, "alternative": case.alternative, "rng": number_, **case.options}
        try:
            return assess(y, s, metric=case.metric, method=own, **words).rejected
        except UndefinedMetricError:
            return False

    def _value(self, y: NDArray[np.uint8], s: Floats) -> float:
        assert self.case.metric is not None
        try:
            return self.case.metric(y, s, **self.case.options)
        except UndefinedMetricError:
            return math.nan

    def _limits(self, n: int) -> tuple[float, float]:
        """The values between which `assess` calls the metric chance, from data sets whose scores are right."""
        count = max(1000, math.ceil(50 / self.case.alpha))
        null = np.array(many(lambda b: self._value(*self.sample(b, n, is_null=True)), count, self.workers))
        null = null[~np.isnan(null)]
        if len(null) < 0.9 * count:
            raise UndefinedMetricError(self.case.name, f"is undefined in most samples of {n} rows", "use more rows")
        case, side = self.case, self.case.alternative
        assert case.metric is not None
        asked = TestInput(case.metric, case.options, [], case.metric.ideal or 0.0, case.alpha, side, count, self.seed)
        found = compared_with_draws(asked, null)
        low = found.critical_value if side == "less" else found.lower_critical_value
        high = None if side == "less" else found.critical_value
        return -math.inf if low is None else low, math.inf if high is None else high

    def result(self, n: int, repeats: int, target: float | None, hits: int | None = None) -> PowerResult:
        hits = self.rejections(n, 0, repeats) if hits is None else hits
        low, high = _bounds(hits, repeats)
        case = self.case
        note = "" if self.own[n] or case.metric is None else "against values drawn with right scores"
        share = hits / repeats
        return PowerResult(
            case.name, n, share, low, high, case.alpha, case.keywords, "simulated", target, repeats, note
        )


def _search(draws: _Draws, target: float, repeats: int) -> PowerResult:
    """Double until the power is enough, then halve the gap until it is close to the one asked for."""
    low, high, n = 0, 0, FIRST_ROWS
    while True:
        hits, count = _judged(draws, n, target, repeats)
        ends = _bounds(hits, count)
        if target - CLOSE <= ends[0] and ends[1] <= target + CLOSE:
            break
        if hits >= target * count:
            high = n
        else:
            low = n
        if high and high - low <= max(1, high // 100):
            n = high
            hits, count = _judged(draws, n, target, repeats)
            break
        n = (low + high) // 2 if high else 2 * n
        if n > MOST_ROWS:
            share = hits / count
            raise UndefinedMetricError(
                draws.case.name,
                f"has power {share:.2g} in {low:,} rows; larger samples were not tried",
            )
    return draws.result(n, count, target, hits)


def _judged(draws: _Draws, n: int, target: float, repeats: int) -> tuple[int, int]:
    """Draw until the power is known to be above or below the target, or close to it."""
    hits, count, goal = 0, 0, repeats
    while True:
        hits, count = hits + draws.rejections(n, count, goal), goal
        low, high = _bounds(hits, count)
        settled = low > target or high < target or (target - CLOSE <= low and high <= target + CLOSE)
        if settled or count >= MOST_REPEATS:
            return hits, count
        goal = min(2 * goal, MOST_REPEATS)


def _bounds(hits: int, count: int) -> tuple[float, float]:
    """Clopper and Pearson's 95 % bounds of a share."""
    from scipy.special import betainccinv, betaincinv

    low = 0.0 if hits == 0 else float(betaincinv(hits, count - hits + 1, 0.025))
    return low, 1.0 if hits == count else float(betainccinv(hits + 1, count - hits, 0.025))

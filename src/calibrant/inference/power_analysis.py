"""`power`, `sample_size` and `detectable_shift`: power analysis of calibration tests."""

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
from ..util.checks import check_choice, check_fraction, check_whole
from ..util.results import Record, number
from ..views.keywords import check_options, documents_keywords
from .effects import (
    SLIGHT,
    Case,
    Nodes,
    Plan,
    is_too_small,
    named_deviation,
    nodes_of,
    normal_quantile,
    plan_of,
    simulates_at,
)
from .metric_tests import ANY_SIDE, DEFAULT_TESTS, TestInput, usual_side
from .pvalues import compared_with_draws
from .replicates import many
from .seeds import generator, seed_of
from .significance import assess
from .simulation.warps import Warp, as_warp

Floats = NDArray[np.float64]
Method = Literal["auto", "analytic", "simulated"]

# The search for a sample size ends once the power is within this of the required one, or after so many data sets.
CLOSE, MOST_REPEATS = 0.02, 10_000
FIRST_ROWS, MOST_ROWS = 32, 1 << 20


@dataclass(frozen=True, repr=False)
class PowerResult(Record):
    """Power of a test for a given number of rows, or the sample size for a given power.

    Parameters
    ----------
    test : str
        Name of the test.
    n : int
        Number of rows; the result of `sample_size`.
    power : float
        Probability of rejecting the null hypothesis under the alternative.
    low, high : float
        95% confidence limits of a simulated power. For formulas both equal `power`, and `high` is 1 for a lower bound.
    alpha : float
        Significance level.
    deviation : str
        Description of the alternative.
    method : {"analytic", "simulated"}
        How the power was obtained.
    target : float, optional
        Required power, for `sample_size`.
    repeats : int, default 0
        Number of simulated data sets.
    note : str, default ""
        Caveats; empty if there are none.
    """

    test: str
    n: int
    power: float
    low: float
    high: float
    alpha: float
    deviation: str
    method: str
    target: float | None = None
    repeats: int = 0
    note: str = ""

    def _title(self) -> str:
        least = "at least " if self.method == "analytic" and self.high > self.power else ""
        size = f"{least}{number(self.target or self.power)} of {self.test}"
        if self.target is None:
            text = f"Power {size} with {self.n:,} rows at level {self.alpha:g}; alternative: {self.deviation}."
        else:
            text = f"{self.n:,} rows for power {size} at level {self.alpha:g}; alternative: {self.deviation}."
        how = self.method
        if self.repeats:
            how = f"simulated {self.repeats:,} times: power {number(self.power)} [{number(self.low)}, {number(self.high)}]"
        return "\n".join([text, f"  {how}" + (f"; {self.note}" if self.note else "")])

    def _table(self) -> tuple[list[str], list[list[str]]]:
        row = [self.test, f"{self.n:,}", number(self.power), number(self.low), number(self.high), f"{self.alpha:g}"]
        return ["test", "rows", "power", "low", "high", "level"], [row]


@documents_keywords()
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
    r"""Compute the power of a calibration test.

    The power is the probability that the test rejects the null hypothesis of calibration at level `alpha` if the true event rate is a
    given function of the score. Exactly one of `deviation`, `mu` and `warp` states that alternative.

    Parameters
    ----------
    test : str, Metric or callable
        Identifier or alias of a metric, tested as in `assess`; or a function of ``(y_true, y_prob)`` that returns a p-value or a result
        with the attribute ``pvalue``, such as `safe_hosmer_lemeshow`. Options of either are accepted as keywords.
    n : int
        Number of rows.
    scores : None, tuple, array-like, View or Sketch, optional
        Distribution of the scores: uniform by default, a tuple (a, b) for a Beta distribution, or recorded scores.
    deviation : float, optional
        Excess of the true rate over the score, clipped to [0, 1].
    mu : callable, optional
        The true rate as a function of an array of scores.
    warp : str or Warp, optional
        A warp of `calibrant.inference.simulation`, or the name of one: ``"temperature"``, ``"bias"``, ``"bump"``, ``"label_noise"``.
    strength : float, optional
        Parameter of a warp that is given by name.
    alpha
    alternative : {"greater", "less", "two-sided"}, optional
        Alternative of the test; by default the one that the metric declares.
    random_scores : bool, default False
        Whether formulas include the sampling variation of the scores. Simulations always do.
    method : {"auto", "analytic", "simulated"}, default "auto"
        ``"analytic"`` is available for means over rows, for ``hosmer_lemeshow`` and, as a lower bound, for ``ecce_mad`` and
        ``ecce_r``; ``"simulated"`` for all tests. ``"auto"`` uses a formula where its asymptotic distribution is accurate.
    repeats : int, default 1000
        Number of simulated data sets.
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator.
    workers
    **options
        Options of the test.

    Returns
    -------
    PowerResult
        Result with the attributes ``power``, ``low`` and ``high`` (confidence limits of a simulated power), ``n``, ``method`` and ``note``.

    Raises
    ------
    ArgumentError
        If the alternative is not stated exactly once, or an argument is out of range.
    UndefinedMetricError
        If the metric is undefined for most samples of this size.

    See Also
    --------
    sample_size : Number of rows for a required power.
    detectable_shift : Minimum detectable effect for a number of rows.

    Notes
    -----
    Scores are sampled from the distribution given by `scores`, labels independently with probability :math:`\mu(s)`. For a mean over rows
    with null standard deviation :math:`\sigma_0`, standard deviation :math:`\sigma_1` and mean shift :math:`\Delta` under the
    alternative, the power of the one-sided test is

    .. math:: \Phi\left(\frac{\sqrt{n}\,\Delta - z_{1 - \alpha}\sigma_0}{\sigma_1}\right),

    and both tails are added for two-sided tests. The formula for ``hosmer_lemeshow`` uses a noncentral chi-square distribution.

    Examples
    --------
    >>> from calibrant.inference import power
    >>> power("calibration_in_the_large", 1000, scores=(2, 2), deviation=0.04)
    Power 0.8071 of calibration_in_the_large with 1,000 rows at level 0.05; alternative: event rate 0.04 above the score.
      analytic
    """
    check_whole(n, "n")
    _check_options(power, test, options)
    case = _case(test, scores, deviation, mu, warp, strength, alpha, alternative, random_scores, options)
    plan = plan_of(case, method)
    if plan is not None and not (method == "auto" and is_too_small(case, n)):
        return _analytic(case, plan, n, None)
    draws = _Draws(case, seed_of(rng), workers)
    return draws.result(n, check_whole(repeats, "repeats"), None)


@documents_keywords()
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
    """Compute the number of rows that a calibration test needs for a required power.

    Finds the smallest number of rows for which the test rejects with probability `power` under the stated alternative. Where there is
    no formula, the number is found by bisection on simulated data sets with common random numbers, and is then accurate to about 1%.

    Parameters
    ----------
    test : str, Metric or callable
        Identifier or alias of a metric, or a function that returns a p-value; see `power`.
    power : float, default 0.8
        Required power.
    scores : None, tuple, array-like, View or Sketch, optional
        Distribution of the scores: uniform by default, a tuple (a, b) for a Beta distribution, or recorded scores.
    deviation : float, optional
        Excess of the true rate over the score, clipped to [0, 1].
    mu : callable, optional
        The true rate as a function of an array of scores.
    warp : str or Warp, optional
        A warp of `calibrant.inference.simulation`, or the name of one.
    strength : float, optional
        Parameter of a warp that is given by name.
    alpha
    alternative : {"greater", "less", "two-sided"}, optional
        Alternative of the test; by default the one that the metric declares.
    random_scores : bool, default False
        Whether formulas include the sampling variation of the scores.
    method : {"auto", "analytic", "simulated"}, default "auto"
        Formula or simulation; see `power`.
    repeats : int, default 500
        Number of simulated data sets per candidate size; more are used where the power is close to the required one.
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator.
    workers
    **options
        Options of the test.

    Returns
    -------
    PowerResult
        Result whose attribute ``n`` is the sample size and ``power`` the power at this size.

    Raises
    ------
    ArgumentError
        If `power` does not lie between `alpha` and 1, or the alternative is not stated exactly once.
    UndefinedMetricError
        If the required power is not reached with 1,048,576 simulated rows.

    See Also
    --------
    power : Power for a given number of rows.
    detectable_shift : Minimum detectable effect for a number of rows.

    Examples
    --------
    >>> from calibrant.inference import sample_size
    >>> sample_size("ecce_mad", deviation=0.02)
    4,040 rows for power at least 0.8000 of ecce_mad at level 0.05; alternative: event rate 0.02 above the score.
      analytic; conservative: the formula is a lower bound of the power
    """
    _check_options(sample_size, test, options)
    case = _case(test, scores, deviation, mu, warp, strength, alpha, alternative, random_scores, options)
    if not (is_number(power) and alpha < power < 1):
        raise ArgumentError("power", f"must lie between alpha and 1; got {power!r}", "for example 0.8")
    plan = plan_of(case, method)
    if plan is not None:
        n = max(1, math.ceil(plan.rows(power) * (1 - SLIGHT)))
        if not (method == "auto" and is_too_small(case, n)):
            return _analytic(case, plan, n, power)
    check_whole(repeats, "repeats")
    return _search(_Draws(case, seed_of(rng), workers), power, repeats)


def detectable_shift(n: int, *, scores: Any = None, power: float = 0.8, alpha: float = 0.05) -> float:
    r"""Compute the minimum detectable effect: the smallest shift of the event rate that a sample reveals.

    The effect is the difference between event rate and mean score at which the two-sided test `calibration_in_the_large` has the
    required power. The alternative shifts the rate by the same amount at all scores, clipped to [0, 1], as ``power(deviation=)`` does.

    Parameters
    ----------
    n : int
        Number of rows.
    scores : None, tuple, array-like, View or Sketch, optional
        Distribution of the scores: uniform by default, a tuple (a, b) for a Beta distribution, or recorded scores.
    power : float, default 0.8
        Required power.
    alpha : float, default 0.05
        Significance level of the two-sided test.

    Returns
    -------
    float
        The minimum detectable effect: the larger of those for an increase and a decrease of the rate. A direction in which the
        required power cannot be reached (the rate of a rare event cannot fall below 0) is disregarded.

    Raises
    ------
    UndefinedMetricError
        If no shift in either direction is detected with the required power.

    See Also
    --------
    power : Power for a given shift.
    sample_size : Number of rows for a required power.

    Notes
    -----
    The effect :math:`\Delta` solves

    .. math:: \Delta = z_{1 - \alpha / 2} \frac{\sigma_0}{\sqrt{n}} + z_{\text{power}} \frac{\sigma_\Delta}{\sqrt{n}},

    with :math:`\sigma_0^2` the mean of s(1 - s) and :math:`\sigma_\Delta^2` the variance under the shifted rates.

    Examples
    --------
    >>> from calibrant.inference import detectable_shift
    >>> round(detectable_shift(1000, scores=(2, 2)), 4)
    0.0396
    """
    check_fraction(alpha, "alpha", 0.05)
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
    """The minimum detectable effect in one direction; None where the required power cannot be reached."""
    from scipy.optimize import brentq

    limit = normal_quantile(1 - alpha / 2) * math.sqrt(math.fsum(at.share * at.score * (1 - at.score)) / n)

    def gap(shift: float) -> float:
        return abs(math.fsum(at.share * (np.clip(at.score + side * shift, 0, 1) - at.score)))

    def excess(shift: float) -> float:
        truth = np.clip(at.score + side * shift, 0, 1)
        spread = math.sqrt(math.fsum(at.share * truth * (1 - truth)) / n)
        return gap(shift) - limit - normal_quantile(power) * spread

    if limit == 0:  # scores of 0 and 1: a single contradicting outcome rejects
        movable = math.fsum(at.share * (at.score == (0 if side > 0 else 1)))
        return movable * -math.expm1(math.log1p(-power) / (n * movable)) if movable else None
    steps = np.linspace(0, 1, 1001)
    enough = next((place for place, shift in enumerate(steps) if excess(float(shift)) >= 0), None)
    if enough is None:
        return None
    return gap(float(brentq(excess, steps[enough - 1], steps[enough], xtol=1e-12)))


def _check_options(function: Callable[..., Any], test: Any, options: dict[str, Any]) -> None:
    """Raise for an option that the metric does not have; those of a function of the user are not known."""
    if isinstance(test, (str, Metric)):
        own = {keyword: value for keyword, value in options.items() if keyword != "lens"}
        check_options(function, own, catalogue[test])


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
    check_fraction(alpha, "alpha", 0.05)
    if alternative is not None:
        check_choice(alternative, "alternative", ANY_SIDE)
    metric = catalogue[test] if isinstance(test, (str, Metric)) else None
    if metric is None and not callable(test):
        raise ArgumentError("test", f"must be a metric or a function of (y_true, y_prob); got {test!r}")
    chosen, description = named_deviation(deviation, mu, warp, strength)
    name = metric.id if metric is not None else getattr(test, "__name__", "the test")
    side = alternative or ("greater" if metric is None else usual_side(metric))
    decide = None if metric is not None else test
    return Case(
        name, metric, decide, options, nodes_of(scores, chosen), chosen, description, alpha, side, random_scores
    )


def _analytic(case: Case, plan: Plan, n: int, target: float | None) -> PowerResult:
    found = plan.power(n)
    note = "conservative: the formula is a lower bound of the power" if plan.is_bound else ""
    if plan.is_bound and target is None:
        note = "a lower bound: the formula counts the most likely crossing only"
    high = 1.0 if plan.is_bound else found
    return PowerResult(case.name, n, found, found, high, case.alpha, case.description, "analytic", target, note=note)


class _Draws:
    """Simulated data sets of any size; data set b always starts from the same random numbers."""

    def __init__(self, case: Case, seed: int, workers: int | None) -> None:
        self.case = case
        self.seed = seed
        self.workers = workers
        self.own: dict[int, str | None] = {}
        """The test that `assess` uses for a number of rows; None where it would simulate labels."""
        self.limits: dict[int, tuple[float, float]] = {}

    def sample(self, number_: int, n: int, is_null: bool = False) -> tuple[NDArray[np.uint8], Floats]:
        score = self.case.at.draw(generator(self.seed, 3 * number_ + (2 if is_null else 0)), n)
        rate = score if is_null else self.case.warp.curve(score)
        chance = generator(self.seed, 3 * number_ + 1).random(n)
        return (chance < rate).view(np.uint8), score

    def rejections(self, n: int, first: int, stop: int) -> int:
        if n not in self.own:
            self.own[n] = None if simulates_at(self.case, n) else DEFAULT_TESTS[self.case.name]
            if self.case.metric is not None and self.own[n] is None:
                self.limits[n] = self._limits(n)
        return sum(many(lambda b: self._rejects(first + b, n), stop - first, self.workers))

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
        side: Any = case.alternative
        try:
            return assess(
                y, s, metric=case.metric, method=own, alpha=case.alpha, alternative=side, rng=number_, **case.options
            ).rejected
        except UndefinedMetricError:
            return False

    def _value(self, y: NDArray[np.uint8], s: Floats) -> float:
        assert self.case.metric is not None
        try:
            return self.case.metric(y, s, **self.case.options)
        except UndefinedMetricError:
            return math.nan

    def _limits(self, n: int) -> tuple[float, float]:
        """Critical values of the metric from data sets simulated under the null hypothesis."""
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
        note = "" if self.own[n] or case.metric is None else "critical values simulated under the null hypothesis"
        share = hits / repeats
        return PowerResult(
            case.name, n, share, low, high, case.alpha, case.description, "simulated", target, repeats, note
        )


def _search(draws: _Draws, target: float, repeats: int) -> PowerResult:
    """Double the size until the power suffices, then bisect."""
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
            problem = f"has power {share:.2g} in {low:,} rows; larger samples were not tried"
            raise UndefinedMetricError(draws.case.name, problem)
    return draws.result(n, count, target, hits)


def _judged(draws: _Draws, n: int, target: float, repeats: int) -> tuple[int, int]:
    """Simulate until the power is clearly above or below the target, or close to it."""
    hits, count, goal = 0, 0, repeats
    while True:
        hits, count = hits + draws.rejections(n, count, goal), goal
        low, high = _bounds(hits, count)
        settled = low > target or high < target or (target - CLOSE <= low and high <= target + CLOSE)
        if settled or count >= MOST_REPEATS:
            return hits, count
        goal = min(2 * goal, MOST_REPEATS)


def _bounds(hits: int, count: int) -> tuple[float, float]:
    """Clopper-Pearson 95% limits of a proportion."""
    from scipy.special import betainccinv, betaincinv

    low = 0.0 if hits == 0 else float(betaincinv(hits, count - hits + 1, 0.025))
    return low, 1.0 if hits == count else float(betainccinv(hits + 1, count - hits, 0.025))

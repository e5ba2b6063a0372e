"""`power`, `sample_size` and `detectable_shift`: power analysis of calibration tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError, UndefinedMetricError
from ..metrics.registry import Metric, catalogue
from ..util.arrays import Floats
from ..util.checks import check_choice, check_fraction, check_positive, check_whole, is_number
from ..util.results import Record, number
from ..views.keywords import check_options, documents_keywords
from .effects import (
    SLIGHT,
    Case,
    Nodes,
    Plan,
    alternative_rate,
    is_too_small,
    nodes_of,
    normal_quantile,
    plan_of,
)
from .metric_tests import ANY_SIDE, usual_side
from .replicates import many
from .seeds import generator, seed_of
from .significance import assess
from .simulation.warps import Warp, as_warp
from .verdicts import SignificanceResult

# The search for a sample size ends once the power is within this of the required one, or after so many data sets.
CLOSE, MOST_REPEATS = 0.02, 10_000
FIRST_ROWS, MOST_ROWS = 32, 1 << 20
# Least number of samples of scores, and the most samples of labels for each.
DESIGNS, LABELS_OF_A_DESIGN = 10, 50


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
        95% confidence limits of a simulated power. For formulas both equal `power`.
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

    def _title(self) -> str:
        size = f"{number(self.target or self.power)} of {self.test}"
        if self.target is None:
            text = f"Power {size} with {self.n:,} rows at level {self.alpha:g}; alternative: {self.deviation}."
        else:
            text = f"{self.n:,} rows for power {size} at level {self.alpha:g}; alternative: {self.deviation}."
        how = self.method
        if self.repeats:
            how = f"simulated {self.repeats:,} times: power {number(self.power)} [{number(self.low)}, {number(self.high)}]"
        return f"{text}\n  {how}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        row = [self.test, f"{self.n:,}", number(self.power), number(self.low), number(self.high), f"{self.alpha:g}"]
        return ["test", "rows", "power", "low", "high", "level"], [row]


@documents_keywords()
def power(
    test: str | Metric,
    n: int,
    *,
    deviation: float | Warp | Callable[[Floats], Any],
    scores: Any = None,
    alpha: float = 0.05,
    repeats: int = 1000,
    rng: Any = 0,
    **options: Any,
) -> PowerResult:
    r"""Compute the power of a calibration test.

    The power is the probability that the test rejects its null hypothesis at level `alpha` if the true event rate is a given function of
    the score.

    Parameters
    ----------
    test : str or Metric
        Identifier or alias of a metric, tested as in `assess`. Its options are accepted as keywords.
    n : int
        Number of rows.
    deviation : float, Warp or callable
        The alternative: excess of the true rate over the score, clipped to [0, 1]; a warp of `calibrant.inference.simulation`; or the
        true rate as a function of an array of scores.
    scores : None, tuple, array-like, View or Sketch, optional
        Distribution of the scores: uniform by default, a tuple (a, b) for a Beta distribution, or recorded scores.
    alpha
    repeats : int, default 1000
        Number of simulated data sets, rounded up to equal numbers for each sample of scores.
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator.
    **options
        Options of the metric, and `lens`, `alternative` and `tolerance` as in `assess`. With a tolerance the test is that of equivalence,
        and the power the probability that the error is shown to be smaller.

    Returns
    -------
    PowerResult
        Result with the attributes ``power``, ``low`` and ``high`` (confidence limits of a simulated power), ``n`` and ``method``.

    Raises
    ------
    ArgumentError
        If an argument is out of range.
    UndefinedMetricError
        If the metric is undefined for most samples of this size.

    See Also
    --------
    sample_size : Number of rows for a required power.
    detectable_shift : Minimum detectable effect for a number of rows.

    Notes
    -----
    Scores are sampled from the distribution given by `scores`, labels independently with the true rate at each score, and the data
    are tested as `assess` does: where it simulates labels, its critical values are those for the scores of the data set, one for each of
    10 or more samples of scores, and the limits of the power include their error. For a mean over rows
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
    case = _case(power, test, scores, deviation, alpha, options)
    plan = plan_of(case)
    if plan is not None and not is_too_small(case, n):
        return _analytic(case, plan, n, None)
    draws = _Draws(case, seed_of(rng), check_whole(repeats, "repeats"))
    return draws.result(n, draws.rejections(n, 0, draws.designs), None)


@documents_keywords()
def sample_size(
    test: str | Metric,
    *,
    deviation: float | Warp | Callable[[Floats], Any],
    power: float = 0.8,
    scores: Any = None,
    alpha: float = 0.05,
    repeats: int = 500,
    rng: Any = 0,
    **options: Any,
) -> PowerResult:
    """Compute the number of rows that a calibration test needs for a required power.

    Finds the smallest number of rows for which the test rejects with probability `power` under the stated alternative. Where there is
    no formula, the number is found by bisection on simulated data sets with common random numbers, and is then accurate to about 1%.

    Parameters
    ----------
    test : str or Metric
        Identifier or alias of a metric; see `power`.
    deviation : float, Warp or callable
        The alternative: excess of the true rate over the score, clipped to [0, 1]; a warp of `calibrant.inference.simulation`; or the
        true rate as a function of an array of scores.
    power : float, default 0.8
        Required power.
    scores : None, tuple, array-like, View or Sketch, optional
        Distribution of the scores: uniform by default, a tuple (a, b) for a Beta distribution, or recorded scores.
    alpha
    repeats : int, default 500
        Number of simulated data sets per candidate size; more are used where the power is close to the required one.
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator.
    **options
        Options of the metric, and `lens`, `alternative` and `tolerance` as in `assess`. With a tolerance the test is that of equivalence,
        and the power the probability that the error is shown to be smaller.

    Returns
    -------
    PowerResult
        Result whose attribute ``n`` is the sample size and ``power`` the power at this size.

    Raises
    ------
    ArgumentError
        If `power` does not lie between `alpha` and 1.
    UndefinedMetricError
        If the required power is not reached with 1,048,576 simulated rows.

    See Also
    --------
    power : Power for a given number of rows.
    detectable_shift : Minimum detectable effect for a number of rows.

    Examples
    --------
    >>> from calibrant.inference import sample_size
    >>> sample_size("calibration_in_the_large", deviation=0.02)
    3,336 rows for power 0.8000 of calibration_in_the_large at level 0.05; alternative: event rate 0.02 above the score.
      analytic
    """
    case = _case(sample_size, test, scores, deviation, alpha, options)
    if not (is_number(power) and alpha < power < 1):
        raise ArgumentError("power", f"must lie between alpha and 1; got {power!r}", "for example 0.8")
    plan = plan_of(case)
    if plan is not None:
        n = max(1, math.ceil(plan.rows(power) * (1 - SLIGHT)))
        if not is_too_small(case, n):
            return _analytic(case, plan, n, power)
    return _search(_Draws(case, seed_of(rng), check_whole(repeats, "repeats")), power)


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


def _case(
    function: Callable[..., Any], test: Any, scores: Any, deviation: Any, alpha: Any, options: dict[str, Any]
) -> Case:
    """The test and its alternative; `options` are those of the metric and of `assess`, and `function` has taken them."""
    metric = catalogue[test]
    alternative, tolerance = options.pop("alternative", None), options.pop("tolerance", None)
    check_options(function, {name: value for name, value in options.items() if name != "lens"}, metric)
    check_fraction(alpha, "alpha", 0.05)
    if alternative is not None:
        check_choice(alternative, "alternative", ANY_SIDE)
        if tolerance is not None:
            raise ArgumentError("tolerance", "cannot be combined with alternative", "drop one of them")
    if tolerance is not None:
        check_positive(tolerance, "tolerance")
    warp, description = alternative_rate(deviation)
    return Case(
        metric, options, nodes_of(scores, warp), warp, description, alpha, alternative or usual_side(metric), tolerance
    )


def _analytic(case: Case, plan: Plan, n: int, target: float | None) -> PowerResult:
    share = plan.power(n)
    return PowerResult(case.name, n, share, share, share, case.alpha, case.description, "analytic", target)


class _Draws:
    """Simulated data sets of any size: `DESIGNS` or more samples of scores, each with the same number of samples of labels.

    A test that simulates labels given the scores has one critical value for each sample of scores. Sample j always starts from the
    same random numbers.
    """

    def __init__(self, case: Case, seed: int, repeats: int) -> None:
        self.case = case
        self.seed = seed
        self.designs = max(min(repeats, DESIGNS), math.ceil(repeats / LABELS_OF_A_DESIGN))
        self.labels = math.ceil(repeats / self.designs)

    def rejections(self, n: int, first: int, stop: int) -> Floats:
        """Whether the test rejects (1 or 0), a row for each sample of scores from `first` to before `stop`."""
        rejected = np.array(many(lambda j: self._rejects(first + j, n), stop - first))
        if np.isnan(rejected).mean() > 0.1:
            raise UndefinedMetricError(self.case.name, f"is undefined in most samples of {n} rows", "use more rows")
        return np.nan_to_num(rejected)

    def _rejects(self, design: int, n: int) -> list[float]:
        """For each sample of labels at the same scores: 1 if the test rejects, else 0; NaN where the metric is undefined."""
        case = self.case
        score = case.at.draw(generator(self.seed, 2 * design), n)
        rate, chance = case.warp.curve(score), generator(self.seed, 2 * design + 1)
        kind: dict[str, Any] = {"alternative": case.alternative}
        if case.tolerance is not None:
            kind = {"tolerance": case.tolerance}
        limits: SignificanceResult | None = None
        rejected: list[float] = []
        for _ in range(self.labels):
            label = (chance.random(n) < rate).view(np.uint8)
            try:
                if limits is not None:
                    rejected.append(_is_beyond(limits, case.metric(label, score, **case.options)))
                else:
                    test = assess(
                        label, score, metric=case.metric, alpha=case.alpha, rng=design, **kind, **case.options
                    )
                    rejected.append(test.rejected)
                    if test.method == "consistency":
                        limits = test
            except UndefinedMetricError:
                rejected.append(math.nan)
        return rejected

    def result(self, n: int, rejected: Floats, target: float | None) -> PowerResult:
        low, high = _bounds(rejected)
        case, share = self.case, float(rejected.mean())
        return PowerResult(
            case.name, n, share, low, high, case.alpha, case.description, "simulated", target, rejected.size
        )


def _is_beyond(limits: SignificanceResult, value: float) -> bool:
    """Whether a value at the same scores is significant."""
    assert limits.critical_value is not None
    if limits.alternative == "less":
        return value < limits.critical_value
    low = limits.lower_critical_value
    return value > limits.critical_value or (low is not None and value < low)


def _search(draws: _Draws, target: float) -> PowerResult:
    """Double the size until the power suffices, then bisect."""
    low, high, n = 0, 0, FIRST_ROWS
    while True:
        rejected = _judged(draws, n, target)
        if _is_close(rejected, target):
            break
        share = float(rejected.mean())
        if share >= target:
            high = n
        else:
            low = n
        if high and high - low <= max(1, high // 100):
            n = high
            rejected = _judged(draws, n, target)
            break
        n = (low + high) // 2 if high else 2 * n
        if n > MOST_ROWS:
            problem = f"has power {share:.2g} in {low:,} rows; larger samples were not tried"
            raise UndefinedMetricError(draws.case.name, problem)
    return draws.result(n, rejected, target)


def _judged(draws: _Draws, n: int, target: float) -> Floats:
    """Simulate until the power is clearly above or below the target, or close to it."""
    rejected = draws.rejections(n, 0, draws.designs)
    while rejected.size < MOST_REPEATS and not _is_close(rejected, target):
        low, high = _bounds(rejected)
        if low > target or high < target:
            break
        more = draws.rejections(n, len(rejected), 2 * len(rejected))
        rejected = np.concatenate([rejected, more])
    return rejected


def _is_close(rejected: Floats, target: float) -> bool:
    low, high = _bounds(rejected)
    return target - CLOSE <= low and high <= target + CLOSE


def _bounds(rejected: Floats) -> tuple[float, float]:
    """95% limits of the power: those of a proportion, with the number of independent data sets that varies as much between the rows."""
    from scipy.special import betainccinv, betaincinv

    share, count = float(rejected.mean()), float(rejected.size)
    if 0 < share < 1 and len(rejected) > 1:
        between = float(rejected.mean(axis=1).var(ddof=1)) / len(rejected)
        count = min(count, share * (1 - share) / between) if between else count
    hits = share * count
    low = 0.0 if share == 0 else float(betaincinv(hits, count - hits + 1, 0.025))
    return low, 1.0 if share == 1 else float(betainccinv(hits + 1, count - hits, 0.025))

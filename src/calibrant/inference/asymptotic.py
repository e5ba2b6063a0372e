"""Tests with asymptotic null distributions: normal for sums over rows, chi-square for binned sums, Brownian motion for paths."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..binning.parse import bin_table
from ..errors import UndefinedMetricError
from ..metrics.bin.debiased import group_moments
from ..metrics.cumulative.cumulative import null_scale, rank_view
from ..metrics.cumulative.distributions import (
    bridge_survival,
    brownian_quantile,
    maximum_survival,
    range_survival,
    upper_quantile,
)
from ..metrics.point.totals import logit_shift
from ..util.arrays import Floats
from ..util.sums import accurate_sum
from ..views.view import Block, VectorView, View
from .cells import has_few_scores
from .metric_tests import ANY_SIDE, TestInput, TestOutcome, effective_terms, own_test, too_few_terms
from .verdicts import degrees_of_freedom


def normal_found(
    asked: TestInput, z: float, at: Callable[[float], float] | None, null_distribution: str
) -> TestOutcome:
    """Outcome of a z-test; `at` converts a standardised value to the scale of the metric, None where that is not possible."""
    from scipy.special import ndtr, ndtri

    far = -float(ndtri(asked.alpha / 2 if asked.alternative == "two-sided" else asked.alpha))
    tail = {"greater": -z, "less": z, "two-sided": -abs(z)}[asked.alternative]
    pvalue = float(ndtr(tail)) * (2 if asked.alternative == "two-sided" else 1)
    if at is None:
        return TestOutcome(pvalue, None, null_distribution, {"z": z, "critical_value": far})
    lower = at(-far) if asked.alternative == "two-sided" else None
    return TestOutcome(
        pvalue,
        at(-far if asked.alternative == "less" else far),
        null_distribution,
        {"z": z},
        lower_critical_value=lower,
        by_chance=at(0.0),
    )


def in_units_of(unit: float) -> Callable[[float], float]:
    """Conversion of standardised values for a metric with mean 0 and this standard deviation."""
    return lambda z: z * unit


def chi_square_found(asked: TestInput, statistic: float, df: float, is_the_metric: bool = True) -> TestOutcome:
    """Outcome of a chi-square test; its critical value is one of the metric only if the statistic is the metric itself."""
    from scipy.special import chdtrc, chdtri

    if df <= 0:
        raise UndefinedMetricError(asked.metric.id, "leaves no degree of freedom for a test")
    limit = float(chdtri(df, asked.alpha))
    pvalue = 0.0 if math.isinf(statistic) else float(chdtrc(df, max(statistic, 0.0)))
    return TestOutcome(
        pvalue,
        limit if is_the_metric else None,
        f"chi-square with {degrees_of_freedom(df)}",
        {"chi_square": statistic, "df": df, **({} if is_the_metric else {"critical_value": limit})},
        by_chance=df if is_the_metric else None,
    )


def vector_view(asked: TestInput) -> VectorView:
    """The view as full distributions, with a label for each row."""
    view = asked.view
    return view.as_vector() if isinstance(view, View) else view


def _squares(view: View | VectorView) -> Any:
    """Factor of the variance of each row in the variance of a weighted sum."""
    return view.weights if view.weight_kind != "importance" else view.weights**2


def _log_surprise(block: Block) -> Floats:
    return np.where(block.probs > 0, block.log_probs(), 0.0)


def _few_terms(values: Callable[[Block], Floats]) -> Callable[[TestInput], str]:
    """Condition that a mean over rows of a label-dependent value is approximately normal; a single rare label may dominate it."""

    def moments(block: Block) -> Floats:
        each = values(block)
        away = np.square(each - (block.probs * each).sum(axis=1, keepdims=True))
        return np.column_stack([(block.probs * away).sum(axis=1), (block.probs * np.square(away)).sum(axis=1)])

    def condition(asked: TestInput) -> str:
        view = vector_view(asked)
        variance, fourth = view.each_row(moments).T
        if view.weight_kind == "importance":
            weight = view.weights / view.weights.max()
            return too_few_terms(effective_terms(weight**2 * variance, weight**4 * fourth))
        return too_few_terms(effective_terms(variance, fourth, view.weights))

    return condition


@own_test("spiegelhalter_z", method="normal", sides=ANY_SIDE, off=_few_terms(lambda block: block.probs))
def _spiegelhalter(asked: TestInput) -> TestOutcome:
    return normal_found(asked, asked.statistic, in_units_of(1.0), "standard normal")


def _not_the_whole_sum(asked: TestInput) -> str:
    return "" if asked.options.get("multiclass") == "full" else "it is for the sum over all classes"


NORMAL = "normal with the variance implied by the scores"


@own_test("ecd", method="normal", sides=ANY_SIDE, form=_not_the_whole_sum, off=_few_terms(_log_surprise))
def _ecd(asked: TestInput) -> TestOutcome:
    """Log loss minus expected log loss has mean 0; each row contributes the variance of its log-probability."""
    if _not_the_whole_sum(asked):
        raise UndefinedMetricError(
            "ecd", "the asymptotic distribution is known only for the whole sum", "use method='consistency'"
        )
    view = vector_view(asked)
    variance = accurate_sum(_squares(view) * view.each_row(_log_variance))
    unit = math.sqrt(variance) / view.total
    if unit == 0:
        raise UndefinedMetricError("ecd", "every forecast is degenerate or uniform, so the statistic has no variance")
    return normal_found(asked, asked.statistic / unit, in_units_of(unit), NORMAL)


def _log_variance(block: Block) -> Any:
    logs = _log_surprise(block)
    mean = (block.probs * logs).sum(axis=1, keepdims=True)
    return (block.probs * np.square(logs - mean)).sum(axis=1)


@own_test(
    "calibration_in_the_large", "fixed_slope_intercept", "expected_observed_ratio", method="normal", sides=ANY_SIDE
)
def _mean_calibration(asked: TestInput) -> TestOutcome:
    """The standardised mean residual, with the sign of the metric on its own scale."""
    view = asked.view
    spread = math.sqrt(accurate_sum(_squares(view) * view.score * (1 - view.score)))
    total = accurate_sum(view.weights * (view.score - view.outcome))
    if spread == 0:
        raise UndefinedMetricError(asked.metric.id, "every score is 0 or 1, so the statistic has no variance")
    is_shift = asked.options.get("form") == "logit"
    sign = -1 if is_shift else 1  # the shift is positive if scores are too low
    expected = accurate_sum(view.weights * view.score)

    def at(z: float) -> float:
        if is_shift:
            return logit_shift(view.score, view.weights, expected + z * spread)
        if asked.metric.id == "expected_observed_ratio":
            return expected / (expected - z * spread) if expected > z * spread else math.inf
        return z * (spread / view.total)

    return normal_found(asked, sign * total / spread, at, "standard normal for the standardised mean residual")


def too_few(expected: Floats) -> str:
    """Why the chi-square approximation is inaccurate for these expected counts, by Cochran's rule; empty where it is accurate."""
    below = {least: int((expected < least * (1 - 1e-9)).sum()) for least in (5, 1)}
    if below[1] == 0 and below[5] <= expected.size / 5:
        return ""
    return f"{below[5]} of {expected.size} expected counts are below 5 ({below[1]} below 1)"


def _few_in_bins(asked: TestInput) -> str:
    view = asked.view
    table = bin_table(view, asked.options["rule"])
    rows = table.weight[~table.empty] * (view.effective_size / view.total if view.weight_kind == "importance" else 1)
    score = table.mean_score[~table.empty]
    return too_few(np.concatenate([rows * score, rows * (1 - score)]))


def _chi_square_of_bins(asked: TestInput, used_up: int) -> TestOutcome:
    options = asked.options
    _, variance = group_moments(asked.view, options["rule"], options["variance"])
    if math.isinf(asked.statistic):
        return TestOutcome(0.0, None, "an outcome of probability 0 occurred", {"chi_square": math.inf})
    return chi_square_found(asked, asked.statistic, int((variance > 0).sum()) - used_up)


@own_test("hosmer_lemeshow", method="chi_square", off=_few_in_bins)
def _hosmer_lemeshow(asked: TestInput) -> TestOutcome:
    """One degree of freedom per bin with varying outcomes: the scores were not fitted to them."""
    return _chi_square_of_bins(asked, 0)


@own_test("hosmer_lemeshow", method="chi_square_fitted_here", off=_few_in_bins)
def _hosmer_lemeshow_fitted(asked: TestInput) -> TestOutcome:
    """Two degrees of freedom fewer, for scores fitted to these rows."""
    return _chi_square_of_bins(asked, 2)


# Least effective number of steps of a path: with fewer it misses its extremes, and the test is conservative. For tied scores labels are
# simulated in milliseconds, so that more steps may be required.
LEAST_STEPS, LEAST_STEPS_TIED = 100.0, 400.0


def steps_of(view: View) -> float:
    """Effective number of equal variance steps of the path of cumulative differences, one step per distinct score.

    With variance shares h the maximum of the path is that of Brownian motion minus about 0.583 times a root of the local variance
    (Siegmund 1979), as for 1 / (sum h^1.5)^2 equal steps.
    """
    score, _, weight = view.sorted_rows
    share = score * (1 - score)
    if weight is not None:
        share *= np.square(weight) if view.weight_kind == "importance" else weight
    ends = view.prefix.end
    if len(ends) <= len(share):
        share = np.add.reduceat(share, ends[:-1])
    total = accurate_sum(share)
    if total == 0:
        return math.inf
    share /= total
    power = np.sqrt(share)
    power *= share
    return 1 / accurate_sum(power) ** 2


def _few_steps(view: View) -> str:
    steps, least = steps_of(view), LEAST_STEPS_TIED if has_few_scores(view) else LEAST_STEPS
    if steps >= least:
        return ""
    distinct = len(view.prefix.score)
    return f"the effective number of steps of the path over {distinct} distinct scores is {steps:.3g}, below {least:g}"


def _path_found(
    asked: TestInput, view: View, survival: Callable[[float], float], null_distribution: str
) -> TestOutcome:
    unit = null_scale(view)
    if unit == 0:
        return TestOutcome(1.0 if asked.statistic <= 1e-12 else 0.0, 0.0, "every score is 0 or 1", by_chance=0.0)
    return TestOutcome(
        survival(asked.statistic / unit),
        brownian_quantile(survival, asked.alpha) * unit,
        null_distribution,
        {"sigma": unit},
        by_chance=MEANS[survival] * unit,
    )


# Expected values: sqrt(pi / 2), 2 sqrt(2 / pi) and sqrt(pi / 2) ln 2.
MEANS: dict[Callable[[float], float], float] = {
    maximum_survival: 1.2533141373155003,
    range_survival: 1.595769121605731,
    bridge_survival: 0.8687311606361591,
}


MAXIMUM = "maximum absolute value of a Brownian motion"
RANGE = "range of a Brownian motion"


def _score_of_rank(asked: TestInput) -> View:
    rank = asked.options["r"]
    return rank_view(vector_view(asked), rank - 1, rank)


def _score_of_first_ranks(asked: TestInput) -> View:
    return rank_view(vector_view(asked), 0, asked.options["r"])


@own_test("ecce_mad", method="series", off=lambda asked: _few_steps(asked.view))
def _ecce_mad(asked: TestInput) -> TestOutcome:
    return _path_found(asked, asked.view, maximum_survival, MAXIMUM)


@own_test("ecce_r", "cce", method="series", off=lambda asked: _few_steps(asked.view))
def _ecce_r(asked: TestInput) -> TestOutcome:
    return _path_found(asked, asked.view, range_survival, RANGE)


@own_test("ks_top_r", method="series", off=lambda asked: _few_steps(_score_of_rank(asked)), reads=_score_of_rank)
def _ks_top_r(asked: TestInput) -> TestOutcome:
    return _path_found(asked, _score_of_rank(asked), maximum_survival, MAXIMUM)


@own_test(
    "ks_within_top_r",
    method="series",
    off=lambda asked: _few_steps(_score_of_first_ranks(asked)),
    reads=_score_of_first_ranks,
)
def _ks_within_top_r(asked: TestInput) -> TestOutcome:
    return _path_found(asked, _score_of_first_ranks(asked), maximum_survival, MAXIMUM)


@own_test("bbt", method="series", off=lambda asked: "" if asked.options["form"] == "mean" else _few_steps(asked.view))
def _bbt(asked: TestInput) -> TestOutcome:
    """Fisher's combination of two independent tests; alone, the mean is normal and the bridge follows Kolmogorov's distribution."""
    form = asked.options["form"]
    if form == "fisher":
        return chi_square_found(asked, asked.statistic, 4)
    if form == "mean":
        limit = upper_quantile(lambda x: math.erfc(x / math.sqrt(2)), asked.alpha)
        return TestOutcome(
            math.erfc(asked.statistic / math.sqrt(2)),
            limit,
            "absolute standard normal",
            by_chance=math.sqrt(2 / math.pi),
        )
    return TestOutcome(
        bridge_survival(asked.statistic),
        upper_quantile(bridge_survival, asked.alpha),
        "Kolmogorov's distribution",
        by_chance=MEANS[bridge_survival],
    )

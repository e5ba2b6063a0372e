"""Debiased errors and the statistics of binned tests: what bins give by chance alone is taken away or weighed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...binning.parse import EQUAL_WIDTH, Binning, Bins, bin_cells, bin_table
from ...binning.partition import cells_of
from ...binning.table import BinTable
from ...errors import UndefinedMetricError
from ...util.checks import check_positive
from ...views.view import VectorView, View
from ..registry import metric, preset

Floats = NDArray[np.float64]


def rate_variance(table: BinTable, unbiased: bool) -> Floats:
    """Variance of each bin's outcome rate; 0 where `unbiased` has no degree of freedom left.

    Counts: a(1-a)/n, or /(n-1) with one copy removed. Importance: a(1-a) V, or V/(1-V) with the row removed, V = sum w^2 / (sum w)^2.
    """
    rate = np.where(table.empty, 0.0, table.rate)
    spread = rate * (1 - rate)
    if table.weight_kind == "importance":
        spread = np.where(spread > 1e-12, spread, 0.0)  # sums of real weights miss a rate of 0 or 1 by rounding
        share = np.divide(table.square, table.weight**2, out=np.ones(len(table)), where=table.weight > 0)
        left = np.where(share < 1 - 1e-12, 1 - share, np.inf) if unbiased else 1.0
        return np.where(table.empty, 0.0, spread * share / left)
    size = np.maximum(table.weight, 1)
    return spread / (np.where(size > 1, size - 1, np.inf) if unbiased else size)


def _squared(view: View, bins: Bins, binning: Binning, single: str) -> float:
    table = bin_table(view, binning, bins)
    alone = (table.rows == 1) if table.weight_kind == "importance" else (table.weight == 1)
    if single == "raise" and alone.any():
        place = int(np.argmax(alone))
        raise UndefinedMetricError(
            "bins", f"bin {place} contains one row, so its variance is unknown", "use fewer bins"
        )
    term = np.square(table.gap) - rate_variance(table, unbiased=True)
    if single == "zero":
        term = np.where(alone, 0.0, term)
    return math.fsum(table.share * term)


SINGLE = "What a bin of one row adds: ``'keep'`` its squared gap uncorrected, ``'zero'`` nothing, or ``'raise'``."


@metric(
    "Debiased squared calibration error",
    family="bin",
    subfamily="debiased",
    range=(-0.5, 1),  # two rows, one of them with nearly all importance; with counts -1/4
    ideal=0,
    cost="N log N",
    soft=False,
    aliases=("CE2-DB", "debiased squared l2 calibration error"),
    cite="kumar2019",
    pros="unbiased for the squared gap of given bins of at least two rows each where true probabilities are equal inside a bin",
    cons="too low by the variance of the true probabilities inside a bin over its rows; errors of opposite sign inside a bin cancel; can "
    "be negative",
    explain={"single": SINGLE},
)
def ce2_db(
    view: View,
    *,
    bins: Bins = 15,
    binning: Binning = "equal_mass",
    single: Literal["keep", "zero", "raise"] = "keep",
) -> float:
    """Mean squared gap over bins minus the variance of each bin's outcome rate."""
    return _squared(view, bins, binning, single)


def _clipped_root(value: float, options: Mapping[str, Any]) -> float:
    return math.sqrt(max(value, 0.0))


@metric(
    "Debiased root mean squared calibration error",
    family="bin",
    subfamily="debiased",
    range=(0, 1),
    ideal=0,
    cost="N log N",
    soft=False,
    aliases=("DRMSCE", "debiased l2 calibration error"),
    cite="petersen2023",
    finish=_clipped_root,
    pros="on the scale of a probability; the variance of the outcome rates is subtracted",
    cons="cut at 0, so its mean is above 0 for calibrated forecasts; errors of opposite sign inside a bin cancel",
    notes="Classes are averaged as squares, cut at 0 once, then the root is taken; ``clip_each=True`` cuts each class first, as published code does.",
    explain={"single": SINGLE, "clip_each": "Cut each class at 0 before averaging."},
)
def drmsce(
    view: View,
    *,
    bins: Bins = 15,
    binning: Binning = "equal_mass",
    single: Literal["keep", "zero", "raise"] = "keep",
    clip_each: bool = False,
) -> float:
    """Root of the debiased squared calibration error, cut at 0."""
    value = _squared(view, bins, binning, single)
    return max(value, 0.0) if clip_each else value


drmsce_bcs = preset(
    drmsce,
    "drmsce_bcs",
    "Debiased root mean squared calibration error, bin count search",
    summary="Debiased root mean squared calibration error with a number of equal-mass bins at which outcome rates do not fall.",
    bins="search",
    recommended=True,
    use_cases=("classwise",),
    aliases=("DRMSCE-BCS",),
    cite="petersen2023",
    pros="recommended by the survey: the number of bins follows from the data, and the variance of the outcome rates is subtracted",
    cons="cut at 0, so its mean is above 0 for calibrated forecasts; needs at least 10 rows",
)


@metric(
    "Debiased expected calibration error",
    family="bin",
    subfamily="debiased",
    range=(-0.5 / math.sqrt(math.pi), 1),  # two rows, an event and none, at a score of one half
    ideal=0,
    cost="N log N",
    soft=False,
    aliases=("ECE-DB", "ECE-DEBIAS", "debiased ECE"),
    cite="kumar2019",
    pros="takes away part of what sampling noise adds to `ece_em`; computed in closed form, where the reference simulates 1000 samples",
    cons="not unbiased: with few rows a bin a part of the noise stays; can be negative; assumes normal rates in each bin",
)
def ece_db(view: View, *, bins: Bins = 15, binning: Binning = "equal_mass") -> float:
    """Twice the expected calibration error minus its mean over resampled outcome rates of the bins."""
    from scipy.special import ndtr

    table = bin_table(view, binning, bins)
    deviation = np.sqrt(rate_variance(table, unbiased=False))
    gap = np.abs(table.gap)
    safe = np.where(deviation > 0, deviation, 1.0)
    # Mean of |normal|: the folded normal in closed form.
    apart = np.minimum(gap / safe, 40.0)  # beyond that both terms have reached their limit
    folded = safe * math.sqrt(2 / math.pi) * np.exp(-np.square(apart) / 2) + gap * (1 - 2 * ndtr(-apart))
    redrawn = np.where(deviation > 0, folded, gap)
    return math.fsum(table.share * (2 * gap - redrawn))


@metric(
    "Hosmer-Lemeshow statistic",
    family="bin",
    subfamily="test statistic",
    range=(0, math.inf),
    ideal=0,
    cost="N log N",
    soft=False,
    aliases=("HL", "Hosmer-Lemeshow C", "hl_c", "HL C-statistic"),
    cite="hosmer1980",
    pros="the classical test of clinical models; compared with chi-square, one degree of freedom for each bin that holds rows of new data",
    cons="a test statistic, not a size of error: for miscalibrated forecasts it grows with the number of rows; depends on the bins; far from "
    "chi-square where few events are expected in a bin",
    notes="``binning='equal_mass'`` (deciles of risk) is the C statistic, ``'equal_width'`` the H statistic. ``variance='exact'`` is the "
    "statistic of Pigeon and Heyse.",
    explain={
        "variance": "Of a bin's outcomes: ``'binomial'`` at the bin's mean score, or the ``'exact'`` sum over its rows."
    },
)
def hosmer_lemeshow(
    view: View,
    *,
    bins: Bins = 10,
    binning: Binning = "equal_mass",
    variance: Literal["binomial", "exact"] = "binomial",
) -> float:
    """Squared differences of expected and observed events over bins, each divided by its variance."""
    excess, spread = group_moments(view, binning, bins, variance)
    with np.errstate(over="ignore"):  # an event of probability next to 0 may be off by more than a double holds
        terms = np.divide(np.square(excess), spread, out=np.where(excess == 0, 0.0, np.inf), where=spread > 0)
    return float(terms.sum())


def group_moments(view: View, binning: Binning, bins: Bins, variance: str) -> tuple[Floats, Floats]:
    """Expected minus observed events of each bin that holds rows, and the variance of the latter under calibration.

    Both are exactly 0 in a bin of scores 0 and 1 that were all right: they are summed row by row, for the difference of two large
    sums would leave its rounding error, which is not small beside the variance of very sure scores.
    """
    cell, count = bin_cells(view, binning, bins)
    weight, score = view.weights, view.score

    def sums(values: Floats) -> Floats:
        return np.bincount(cell, values, count).astype(np.float64)

    full = np.bincount(cell, minlength=count) > 0
    own = weight if view.weight_kind != "importance" else weight**2
    if variance == "exact":
        spread = sums(own * score * (1 - score))[full]
    else:
        mass = sums(weight)[full]
        spread = sums(own)[full] * (sums(weight * score)[full] / mass) * (sums(weight * (1 - score))[full] / mass)
    return sums(weight * (score - view.outcome))[full], spread


def debiased_cells(view: VectorView, bins: Any, smoothness: float) -> tuple[NDArray[np.intp], int]:
    """T-Cal's bins: equal width for one score per row, a grid of the simplex for the whole vector."""
    if bins is None:
        k = 2 if view.score_column is not None else view.k
        exponent = 2 / (4 * check_positive(smoothness, "smoothness") + k - 1)
        bins = max(1, math.floor(view.effective_size**exponent + 1e-9))
    return cells_of(view, "simplex_grid" if view.score_column is None else EQUAL_WIDTH, bins)


@metric(
    "T-Cal's debiased plug-in estimator",
    family="bin",
    subfamily="debiased",
    range=(-1, 2),
    ideal=0,
    cost="N K",
    soft=False,
    aliases=("T-Cal", "DPE", "debiased plug-in estimator", "TCal"),
    cite="lee2023",
    pros="its mean is exactly 0 for calibrated forecasts; the basis of a test of optimal rate (Lee et al.)",
    cons="on a squared scale; can be negative; errors of opposite sign inside a bin cancel",
    notes="The number of bins follows from the smoothness of the calibration curves to be detected; the adaptive version is a test only.",
    explain={
        "bins": "Number of equal-width bins (cells per class for the whole vector); None follows from `smoothness`.",
        "smoothness": "Hoelder smoothness that sets the number of bins.",
        "unbiased": "Divide by n - 1 instead of n in each bin.",
    },
)
def t_cal(view: VectorView, *, bins: int | None = None, smoothness: float = 1, unbiased: bool = False) -> float:
    """Sum over bins of products of residuals of different rows, so that no row meets itself."""
    cell, count = debiased_cells(view, bins, smoothness)
    weights, own = view.weights, _own_weights(view)
    mass, divisor = _divisors(cell, count, weights, own, unbiased)
    cross = np.zeros(count)
    scalar = view.score_column
    for column in range(view.k) if scalar is None else [scalar]:
        residual = view.each_row(lambda block, j=column: block.probs[:, j] - block.targets[:, j])  # type: ignore[misc]
        cross += np.square(np.bincount(cell, weights * residual, count)) - np.bincount(
            cell, own * np.square(residual), count
        )
    full = divisor > 1e-12 * mass
    return math.fsum(cross[full] / divisor[full]) / view.total


def _own_weights(view: View | VectorView) -> Floats:
    """What a row weighs when it meets itself; under counts each copy does so once."""
    return view.weights**2 if view.weight_kind == "importance" else view.weights


def _divisors(
    cell: NDArray[np.intp], count: int, weights: Floats, own: Floats, unbiased: bool
) -> tuple[Floats, Floats]:
    """The weight of each bin, and what its pairs are divided by: the same, or what is left when no row meets itself."""
    mass: Floats = np.bincount(cell, weights, count).astype(np.float64)
    if not unbiased:
        return mass, mass
    return mass, mass - np.divide(np.bincount(cell, own, count), mass, out=np.zeros(count), where=mass > 0)


def t_cal_null_deviation(view: View, bins: int, unbiased: bool = False) -> float:
    """Exact standard deviation of `t_cal` under calibration, given the scores: its mean is then 0."""
    cell, count = bin_cells(view, EQUAL_WIDTH, bins)
    own = _own_weights(view)
    variance = own * view.variance
    mass, divisor = _divisors(cell, count, view.weights, own, unbiased)
    # A row under importance meets itself once, a count each of its copies.
    alone = variance**2 if view.weight_kind == "importance" else variance**2 / own
    pairs = np.square(np.bincount(cell, variance, count)) - np.bincount(cell, alone, count)
    full = divisor > 1e-12 * mass
    return math.sqrt(max(2 * math.fsum(pairs[full] / divisor[full] ** 2), 0.0)) / view.total


def l2ce_bounds(view: View, bins: int, level: float = 0.95, unbiased: bool = False) -> tuple[float, float]:
    """An interval for the squared calibration error that holds whether or not the model is calibrated.

    Its variance adds that of the debiased estimator under calibration and that of its influence otherwise. The influence is
    the same with either divisor: n - 1 and n differ by a share that vanishes as bins fill.
    """
    from scipy.special import ndtri

    value = t_cal.formula(view.as_vector(), bins=bins, unbiased=unbiased)
    cell, count = bin_cells(view, EQUAL_WIDTH, bins)
    residual = view.score - view.outcome
    mass = np.bincount(cell, view.weights, count)
    gap = np.bincount(cell, view.weights * residual, count)[cell] / mass[cell]
    influence = 2 * gap * residual - gap**2
    spread = view.mean(np.square(influence - view.mean(influence))) / view.effective_size
    half = -float(ndtri((1 - level) / 2)) * math.sqrt(t_cal_null_deviation(view, bins, unbiased) ** 2 + spread)
    return max(0.0, value - half), max(0.0, value + half)


l2ce_interval = preset(
    t_cal,
    "l2ce_interval",
    "l2 calibration error with an interval",
    summary="Debiased squared calibration error, with a large-sample interval for calibrated and miscalibrated models alike.",
    aliases=("l2-ECE interval",),
    cite="sun2024",
    certainty="reconstructed: the paper is known, its formulas were not read",
    pros="the estimator of `t_cal`, with an interval made for both regimes",
    cons="on a squared scale; can be negative; errors of opposite sign inside a bin cancel",
)


@metric(
    "Test-based calibration error",
    family="bin",
    subfamily="test statistic",
    range=(0, 100),
    ideal=0,
    ideal_for="nothing",
    importance=False,
    soft=False,
    sketch=False,
    cost="N log N",
    aliases=("TCE", "tce_test"),
    cite="matsubara2023",
    pros="a percentage: how many forecasts a binomial test rejects",
    cons="for miscalibrated forecasts it grows with the number of rows; calibrated forecasts are rejected too, some by chance and more where a block spans distant scores",
    notes="Neighbouring rows are pooled while their block has at most `min_block` rows, or at most `max_block` and rates that do not rise; rows "
    "of one score are never parted, however many. The last `min_block` rows, and all of their scores, join the block before them, or are one of "
    "their own where `max_block` is below twice `min_block`; where more rows than that share the last score, they are pooled like any others. The "
    "exact two-sided binomial test then judges every forecast against its block.",
    explain={
        "alpha": "Level of the test of each forecast.",
        "binning": "``'pava'`` (pooled blocks), or a rule for bins.",
        "bins": "Number of bins, where `binning` is a rule.",
        "min_block": "Neighbours are pooled up to so many rows whatever their rates.",
        "max_block": "Neighbours whose rates do not rise are pooled up to so many rows.",
    },
)
def tce(
    view: View,
    *,
    alpha: float = 0.05,
    binning: Any = "pava",
    bins: Bins = 10,
    min_block: int = 10,
    max_block: int = 1000,
) -> float:
    """Percentage of rows whose forecast a binomial test on their block of neighbours rejects."""
    from .blocks import rejected_share

    return 100 * rejected_share(view, alpha, binning, bins, min_block, max_block)

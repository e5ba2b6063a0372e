"""Debiased errors and statistics of binned tests, which account for the sampling noise of bins."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...binning.parse import EQUAL_WIDTH, Bins, Blocks, binning_rule
from ...binning.partition import cells_of, partition_rule
from ...binning.rules import BinningRule
from ...binning.table import BinTable, sum_over_bins
from ...errors import UndefinedMetricError
from ...util.arrays import Floats
from ...util.checks import check_positive
from ...views.view import VectorView, View
from ..forms import OfTables
from ..registry import metric, preset


def rate_variance(table: BinTable, unbiased: bool) -> Floats:
    """Estimate the variance of the outcome rate of each bin; 0 where `unbiased` leaves no degree of freedom.

    Counts: a(1-a)/n, or /(n-1) with one copy removed. Importance: a(1-a) V, or V/(1-V) with the row removed, V = sum w^2 / (sum w)^2.
    """
    rate = np.where(table.empty, 0.0, table.rate)
    spread = rate * (1 - rate)
    if table.weight_kind == "importance":
        spread = np.where(spread > 1e-12, spread, 0.0)  # sums of real weights deviate from a rate of 0 or 1 by rounding
        share = np.divide(table.square, table.weight**2, out=np.ones(table.weight.shape), where=table.weight > 0)
        left = np.where(share < 1 - 1e-12, 1 - share, np.inf) if unbiased else 1.0
        return np.where(table.empty, 0.0, spread * share / left)
    size = np.maximum(table.weight, 1)
    return spread / (np.where(size > 1, size - 1, np.inf) if unbiased else size)


def _squared_gaps(table: BinTable, single: str) -> OfTables:
    alone = (table.rows == 1) if table.weight_kind == "importance" else (table.weight == 1)
    if single == "raise" and alone.any():
        place = int(np.argmax(alone))
        raise UndefinedMetricError(
            "bins", f"bin {place} contains one row, so its variance is unknown", "use fewer bins"
        )
    term = np.square(table.gap) - rate_variance(table, unbiased=True)
    if single == "zero":
        term = np.where(alone, 0.0, term)
    return sum_over_bins(table.share * term)


@metric(
    "Debiased squared calibration error",
    range=(-0.5, 1),  # attained by two rows, one of them with nearly all weight; -1/4 with counts
    ideal=0,
    soft=False,
    cite="kumar2019",
    binning="equal_mass",
)
def ce2_db(table: BinTable, *, single: Literal["keep", "zero", "raise"] = "keep") -> OfTables:
    """Mean squared difference between mean score and outcome rate over bins minus the estimated variance of the rate."""
    return _squared_gaps(table, single)


@metric(
    "Debiased root mean squared calibration error",
    range=(0, 1),
    ideal=0,
    soft=False,
    cite="petersen2023",
    finish=lambda value, options: np.sqrt(np.maximum(value, 0.0)),
    binning="equal_mass",
)
def drmsce(table: BinTable, *, single: Literal["keep", "zero", "raise"] = "keep", clip_each: bool = False) -> OfTables:
    """Square root of the debiased squared calibration error, truncated at 0."""
    value = _squared_gaps(table, single)
    return np.maximum(value, 0.0) if clip_each else value


drmsce_bcs = preset(
    drmsce,
    "drmsce_bcs",
    "Debiased root mean squared calibration error, bin count search",
    bins="search",
    cite="petersen2023",
)


@metric(
    "Debiased expected calibration error",
    range=(-0.5 / math.sqrt(math.pi), 1),  # attained by two rows, one of them an event, at a score of one half
    ideal=0,
    soft=False,
    cite="kumar2019",
    binning="equal_mass",
)
def ece_db(table: BinTable) -> OfTables:
    """Twice the expected calibration error minus its mean over resampled outcome rates of the bins."""
    from scipy.special import ndtr

    deviation = np.sqrt(rate_variance(table, unbiased=False))
    gap = np.abs(table.gap)
    safe = np.where(deviation > 0, deviation, 1.0)
    # Mean of |normal|: the folded normal in closed form.
    apart = np.minimum(gap / safe, 40.0)  # beyond that both terms are at their limit
    folded = safe * math.sqrt(2 / math.pi) * np.exp(-np.square(apart) / 2) + gap * (1 - 2 * ndtr(-apart))
    resampled = np.where(deviation > 0, folded, gap)
    return sum_over_bins(table.share * (2 * gap - resampled))


@metric(
    "Hosmer-Lemeshow statistic",
    range=(0, math.inf),
    ideal=0,
    soft=False,
    cite="hosmer1980",
    bins=10,
    binning="equal_mass",
)
def hosmer_lemeshow(view: View, *, rule: BinningRule, variance: Literal["binomial", "exact"] = "binomial") -> float:
    """Sum over bins of the squared difference between expected and observed events divided by its variance."""
    excess, spread = group_moments(view, rule, variance)
    with np.errstate(over="ignore"):  # an event of tiny probability may overflow
        terms = np.divide(np.square(excess), spread, out=np.where(excess == 0, 0.0, np.inf), where=spread > 0)
    return float(terms.sum())


def group_moments(view: View, rule: BinningRule, variance: str) -> tuple[Floats, Floats]:
    """Return expected minus observed events of each non-empty bin, and the variance of the latter under calibration.

    Both are exactly 0 in a bin of scores 0 and 1 that were all right: they are summed row by row, for the difference of two large
    sums would leave its rounding error, which is not small beside the variance of very sure scores.
    """
    cell, count = rule.cells(view)
    score, excess = view.score, view.score - view.outcome
    rows = np.bincount(cell, minlength=count)
    full = rows > 0

    def sums(values: Floats) -> Floats:
        return np.bincount(cell, values, count).astype(np.float64)[full]

    if view.weight is None:
        own = mass = rows[full].astype(np.float64)
        spread = (
            sums(score * (1 - score)) if variance == "exact" else own * (sums(score) / mass) * (sums(1 - score) / mass)
        )
        return sums(excess), spread
    weight = view.weights
    own = weight if view.weight_kind != "importance" else weight**2
    if variance == "exact":
        spread = sums(own * score * (1 - score))
    else:
        mass = sums(weight)
        spread = sums(own) * (sums(weight * score) / mass) * (sums(weight * (1 - score)) / mass)
    return sums(weight * excess), spread


def debiased_cells(view: VectorView, bins: Any, smoothness: float) -> tuple[NDArray[np.intp], int]:
    """Return the bins of T-Cal: equal width for one score per row, a grid of the simplex for vectors."""
    if bins is None:
        k = 2 if view.score_column is not None else view.k
        exponent = 2 / (4 * check_positive(smoothness, "smoothness") + k - 1)
        bins = max(1, math.floor(view.effective_size**exponent + 1e-9))
    binning = "simplex_grid" if view.score_column is None else EQUAL_WIDTH
    return cells_of(view, partition_rule(bins, binning))


@metric("T-Cal's debiased plug-in estimator", range=(-1, 2), ideal=0, soft=False, sketch=False, cite="lee2023")
def t_cal(view: VectorView, *, bins: int | None = None, smoothness: float = 1, unbiased: bool = False) -> float:
    """Mean over bins of products of residuals of different rows, an estimate of the squared calibration error without self-pairs."""
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
    """Return the weight of the self-pairs of each row; under counts each copy has one."""
    return view.weights**2 if view.weight_kind == "importance" else view.weights


def _divisors(
    cell: NDArray[np.intp], count: int, weights: Floats, own: Floats, unbiased: bool
) -> tuple[Floats, Floats]:
    """Return the weight of each bin and the divisor of its pairs: the same weight, or the weight without self-pairs."""
    mass: Floats = np.bincount(cell, weights, count).astype(np.float64)
    if not unbiased:
        return mass, mass
    return mass, mass - np.divide(np.bincount(cell, own, count), mass, out=np.zeros(count), where=mass > 0)


def t_cal_null_deviation(view: View, bins: Bins, unbiased: bool = False) -> float:
    """Compute the exact standard deviation of `t_cal` under calibration given the scores; its mean is then 0."""
    cell, count = binning_rule(bins).cells(view)
    own = _own_weights(view)
    variance = own * view.variance
    mass, divisor = _divisors(cell, count, view.weights, own, unbiased)
    # Under importance a row has one self-pair, under counts each copy has one.
    alone = variance**2 if view.weight_kind == "importance" else variance**2 / own
    pairs = np.square(np.bincount(cell, variance, count)) - np.bincount(cell, alone, count)
    full = divisor > 1e-12 * mass
    return math.sqrt(max(2 * math.fsum(pairs[full] / divisor[full] ** 2), 0.0)) / view.total


def l2ce_bounds(view: View, bins: Bins, level: float = 0.95, unbiased: bool = False) -> tuple[float, float]:
    """Compute an interval of the squared calibration error, asymptotically valid whether or not the model is calibrated.

    Its variance adds that of the debiased estimator under calibration and that of its influence otherwise. The influence is
    the same with either divisor: n - 1 and n differ by a share that vanishes as bins fill.
    """
    from scipy.special import ndtri

    value = t_cal.formula(view.as_vector(), bins=bins, unbiased=unbiased)
    cell, count = binning_rule(bins).cells(view)
    residual = view.score - view.outcome
    mass = np.bincount(cell, view.weights, count)
    gap = np.bincount(cell, view.weights * residual, count)[cell] / mass[cell]
    influence = 2 * gap * residual - gap**2
    spread = view.mean(np.square(influence - view.mean(influence))) / view.effective_size
    half = -float(ndtri((1 - level) / 2)) * math.sqrt(t_cal_null_deviation(view, bins, unbiased) ** 2 + spread)
    return max(0.0, value - half), max(0.0, value + half)


l2ce_interval = preset(t_cal, "l2ce_interval", "l2 calibration error with an interval", cite="sun2024")


@metric(
    "Test-based calibration error",
    range=(0, 100),
    ideal=0,
    importance=False,
    soft=False,
    sketch=False,
    cite="matsubara2023",
    bins=10,
    binning="pava",
)
def tce(
    view: View,
    *,
    alpha: float = 0.05,
    rule: Blocks,
    min_block: int = 10,
    max_block: int = 1000,
) -> float:
    """Percentage of rows whose score is rejected by a binomial test on their block of neighbouring rows."""
    from .blocks import rejected_share

    return 100 * rejected_share(view, alpha, rule, min_block, max_block)

"""Upper bounds of the calibration error that hold at any number of rows, by concentration inequalities."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..util.arrays import Floats
from ..views.view import View

# Numbers of bins that are tried; the choice reads the scores and not the labels.
NUMBERS_OF_BINS = tuple(sorted({round(1.15**power) for power in range(44)}))


class ErrorBound(NamedTuple):
    """An upper bound of a calibration error, and the estimate of the binned error that it begins with."""

    bound: float
    estimate: float
    bins: int


def mean_limit(mean: float, n: float, log_risk: float) -> float:
    """Upper limit of the expectation of a mean of n independent values in [0, 1], by the Chernoff bound: n KL(mean, limit) = log_risk.

    >>> round(mean_limit(0.1, 1000, math.log(20)), 4), round(mean_limit(0.0, 100, math.log(20)), 4)
    (0.1248, 0.0295)
    """
    from scipy.optimize import brentq

    mean = min(max(mean, 0.0), 1.0)

    def excess(limit: float) -> float:
        ones = mean * math.log(mean / limit) if mean else 0.0
        zeros = (1 - mean) * math.log((1 - mean) / (1 - limit)) if mean < 1 else 0.0
        return n * (ones + zeros) - log_risk

    top = 1 - 1e-12
    return 1.0 if mean >= top or excess(top) <= 0 else float(brentq(excess, max(mean, 1e-300), top, xtol=1e-12))


def sum_limit(variance: float, largest: float, log_risk: float) -> float:
    """Deviation of a sum of independent, centred values of at most `largest` that Bennett's inequality allows at this risk.

    >>> round(sum_limit(250.0, 1.0, math.log(20)), 2)
    39.69
    """
    from scipy.optimize import brentq

    if variance <= 0:
        return 0.0
    scale = variance / largest**2

    def excess(ratio: float) -> float:
        return scale * ((1 + ratio) * math.log1p(ratio) - ratio) - log_risk

    top = 1.0
    while excess(top) < 0:
        top *= 2
    return float(brentq(excess, 0.0, top, xtol=1e-12)) * variance / largest


class _Bins(NamedTuple):
    """Bins of rows with neighbouring scores: share of the rows, range of the scores, and difference of scores and outcomes."""

    share: Floats
    width: Floats
    gap: Floats


def _cut(view: View, count: int | None) -> _Bins:
    """About `count` bins with equal numbers of rows; equal scores stay together. None is one bin per distinct score."""
    ties = view.ties
    start = np.arange(len(ties.score))
    if count is not None:
        below = np.append(0.0, np.cumsum(ties.weight)[:-1]) / view.total
        start = np.unique(np.searchsorted(below, np.arange(count) / count * (1 - 1e-12)))
        start = start[start < len(below)]
    end = np.append(start[1:], len(ties.score)) - 1
    share = np.add.reduceat(ties.weight, start) / view.total
    return _Bins(share, ties.score[end] - ties.score[start], np.add.reduceat(ties.excess, start) / view.total)


def variation_within(share: Floats, width: Floats, variation: float | None) -> float:
    r"""Largest mean absolute deviation of the error within bins, for a calibration curve that is monotone or of bounded variation.

    The deviation is at most half of the range of the error in a bin, whose sum over bins is limited by the variation of the curve.
    """
    has_several = width > 0  # in a bin of one score the error is constant
    share, width = share[has_several], width[has_several]
    if variation is None:  # the range in a bin is at most that of the curve or that of the scores
        return 0.5 * float(share @ width + (share * (1 - width)).max(initial=0.0))
    return 0.5 * float(share @ width + variation * share.max(initial=0.0))


def bound_true_error(view: View, risk: float, variation: float | None = None, by_level: bool = False) -> ErrorBound:
    """Upper bound of E|P(Y = 1 | score) - score|, with probability at least 1 - risk, for independent rows from one population.

    `variation` is the total variation of the calibration curve; None if it is non-decreasing. With `by_level` each distinct score is a bin,
    so that nothing is assumed of the curve.
    """
    n, log_risk = view.total, math.log(3 / risk)
    noise = math.sqrt(2 / math.pi * max(view.mean(view.variance), 1e-12) / n)

    def expected(count: int) -> float:
        bins = _cut(view, count)
        return noise * float(np.sqrt(bins.share).sum()) + variation_within(bins.share, bins.width, variation)

    bins = _cut(view, None if by_level else min(NUMBERS_OF_BINS, key=expected))
    estimate = float(np.abs(bins.gap).sum())
    brier = mean_limit(view.mean(np.square(view.score - view.outcome)), n, log_risk)
    binned = estimate + sum_limit(n * brier, 1.0, log_risk) / n
    mean = min(1.0, binned + variation_within(bins.share, bins.width, variation))
    return ErrorBound(mean_limit(mean, n, log_risk), estimate, len(bins.share))


def bound_binned_error(view: View, risk: float, bins: int) -> ErrorBound:
    """Upper bound of the error over bins of equal width, with probability at least 1 - risk, for any distribution."""
    n, log_risk = view.total, math.log(2 / risk)
    place = np.clip(np.ceil(view.score * bins) - 1, 0, bins - 1).astype(np.intp)
    gaps = np.bincount(place, view.weights * (view.score - view.outcome), bins) / n
    estimate = float(np.abs(gaps).sum())
    brier = mean_limit(view.mean(np.square(view.score - view.outcome)), n, log_risk)
    return ErrorBound(min(1.0, estimate + sum_limit(n * brier, 2.0, log_risk) / n), estimate, bins)

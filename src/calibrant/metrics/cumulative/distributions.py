"""Limit distributions of cumulative differences under calibration: Brownian motion and bridge, as series with full relative accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

# Terms beyond these are negligible wherever the series is used, and the upper tail of a normal variable is 0 beyond the second.
TERMS, NO_TAIL = 60, 39.0
# Beyond this multiple of x, exp(-(k pi)^2 / (8 x^2)) is 0 in double precision.
NO_TERM = 25.0
# Up to here the survival function is 1 in double precision, and the square of a smaller number may underflow.
SURE = 0.05


def _upper_normal(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


def maximum_survival(x: float) -> float:
    """Compute P(max |B(t)| > x) on [0, 1] for Brownian motion B: the distribution of ECCE-MAD in units of its scale."""
    if x <= SURE:
        return 1.0
    if x < 1:
        odd = range(1, int(NO_TERM * x) + 2, 2)
        cdf = 4 / math.pi * math.fsum((-1) ** (k // 2) / k * math.exp(-((k * math.pi) ** 2) / (8 * x * x)) for k in odd)
        return 1 - cdf
    terms = int(NO_TAIL / (2 * x)) + 1
    return min(1.0, 4 * math.fsum((-1) ** k * _upper_normal((2 * k + 1) * x) for k in range(terms)))


def range_survival(x: float) -> float:
    """Compute P(range of B(t) > x) on [0, 1]: the distribution of ECCE-R in units of its scale."""
    if x <= SURE:
        return 1.0
    if x < 1.5:
        halves = [((k + 0.5) * math.pi) ** 2 for k in range(TERMS)]
        return 1 - math.fsum((8 / x**2 + 2 / h) * math.exp(-2 * h / x**2) for h in halves)
    terms = min(TERMS, int(NO_TAIL / x) + 2)
    return min(1.0, 8 * math.fsum((-1) ** (k - 1) * k * _upper_normal(k * x) for k in range(1, terms)))


def bridge_survival(x: float) -> float:
    """Compute P(max |bridge| > x), the Kolmogorov distribution."""
    if x <= SURE:
        return 1.0
    if x < 1:
        odd = range(1, int(NO_TERM * x) + 2, 2)
        cdf = math.sqrt(2 * math.pi) / x * math.fsum(math.exp(-((k * math.pi) ** 2) / (8 * x * x)) for k in odd)
        return 1 - cdf
    return min(1.0, 2 * math.fsum((-1) ** (k - 1) * math.exp(-2 * k * k * x * x) for k in range(1, TERMS)))


@lru_cache(maxsize=64)
def upper_quantile(survival: Callable[[float], float], alpha: float) -> float:
    """Find the value that a positive variable with this survival function exceeds with probability `alpha`."""
    from scipy.optimize import brentq

    high = 40.0
    while survival(high) > alpha:
        high *= 2
    return brentq(lambda x: survival(x) - alpha, 0.0, high, xtol=1e-12)


@lru_cache(maxsize=64)
def brownian_quantile(survival: Callable[[float], float], alpha: float) -> float:
    """Find the value that the maximum or the range of a Brownian motion exceeds with probability `alpha`.

    Both tails are close to multiples of the tail of a normal variable, so a few steps that correct the multiple suffice.
    """
    from scipy.special import ndtr, ndtri

    x = -ndtri(alpha / 8)
    for _ in range(10_000):
        before, x = x, -ndtri(ndtr(-x) * alpha / survival(x))
        if abs(x - before) <= 1e-14 * x:
            break
    return float(x)

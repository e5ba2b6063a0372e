"""Exact and limit laws of the two-sample Kolmogorov-Smirnov distance."""

from __future__ import annotations

import math

import numpy as np

from ..errors import ArgumentError
from ..metrics.cumulative.distributions import bridge_survival
from .samples import Cells
from .shuffles import path_pvalue

__all__ = ["kolmogorov_law"]

# Paths are counted up to this many pairs and rows; with fewer rows than this on a side the limit law is not used unasked.
MOST_PAIRS, MOST_STEPS, LEAST_ROWS = 10**6, 4000, 50
FINE = 2e-4


def kolmogorov_law(cells: Cells, method: str, alpha: float, known: bool) -> tuple[float, float, str] | None:
    """P-value and threshold; None where rows should rather be exchanged at random."""
    n, m = cells.reference_size, cells.window_size
    gap = np.cumsum(cells.reference / cells.reference.sum() - cells.window / cells.window.sum())
    distance = float(np.abs(gap).max())
    countable = cells.whole and not known and n * m <= MOST_PAIRS and n + m <= MOST_STEPS
    if method == "exact" and not countable:
        why = "is for counted rows of two samples, no more than a million pairs and 4000 rows"
        raise ArgumentError("method", f"'exact' {why}", "use 'permutation'")
    if method == "exact" or (method == "auto" and countable):
        return path_pvalue(cells, distance), _exact_threshold(cells, alpha), "counting all exchanges of rows"
    size = m if known else cells.harmonic_size
    if method == "kolmogorov" or (not cells.has_ties and cells.whole and min(n, m) >= LEAST_ROWS):
        scale = math.sqrt(size)
        return bridge_survival(scale * distance), _limit_quantile(alpha) / scale, "Kolmogorov's limit law"
    return None


def _exact_threshold(cells: Cells, alpha: float) -> float:
    """The smallest distance that the samples can have with a p-value of at most `alpha`; infinite where there is none.

    Where the samples can have very many distances it is larger by up to FINE.
    """
    n, m = round(cells.reference_size), round(cells.window_size)
    steps = math.lcm(n, m)

    def rare(step: int) -> bool:
        return step > steps or (step > 0 and path_pvalue(cells, step / steps) <= alpha)

    guess = round(_limit_quantile(alpha) / math.sqrt(cells.harmonic_size) * steps)
    stride = max(1, guess // 20)
    low, high = min(guess, steps), min(guess, steps)
    while not rare(high):
        low, high, stride = high, min(high + stride, steps + 1), 2 * stride
    while low == high or (low > 0 and rare(low)):
        low, high, stride = max(0, low - stride), low, 2 * stride
    while high - low > max(1, FINE * steps):
        middle = (low + high) // 2
        low, high = (low, middle) if rare(middle) else (middle, high)
    return high / steps if high <= steps else math.inf


def _limit_quantile(alpha: float) -> float:
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if bridge_survival(middle) <= alpha else (middle, high)
    return high

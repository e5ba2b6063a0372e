"""Blocks of pooled neighbours with bounds on their size (PAVA-BC), and the exact binomial test of many forecasts at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from .._checks import check_whole
from .._kernels import compiled
from ..binning import bin_cells, bin_table
from ..errors import ArgumentError, UndefinedMetricError
from ..view import View

Floats = NDArray[np.float64]


def rejected_share(view: View, alpha: float, binning: Any, bins: Any, min_block: int, max_block: int) -> float:
    """The share of rows whose score the binomial test on their block rejects at level `alpha`."""
    if not 0 < alpha < 1:
        raise ArgumentError("alpha", f"must lie between 0 and 1; got {alpha!r}", "for example 0.05")
    if isinstance(binning, str) and binning == "pava":
        score, trials, successes, weight = _pooled(
            view, check_whole(min_block, "min_block", 0), check_whole(max_block, "max_block")
        )
    else:
        table = bin_table(view, binning, bins)
        cell, _ = bin_cells(view, binning, bins)
        score, weight = view.score, view.weights
        trials, successes = table.weight[cell], table.positives[cell]
    pvalue = two_sided_binomial(successes, trials, score)
    return float(weight[pvalue <= alpha].sum() / weight.sum())


def _pooled(view: View, low: int, high: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Each row's score, its block's size and successes, and its weight, with counts laid out as rows."""
    if high < low:
        raise ArgumentError("max_block", f"must be at least min_block = {low}; got {high}")
    sizes = None if view.weight is None else view.weight[view.order].astype(np.int64)
    score, outcome = view.score[view.order], view.outcome[view.order]
    if sizes is not None:
        score, outcome = np.repeat(score, sizes), np.repeat(outcome, sizes)
    n = len(score)
    if n <= low:
        raise UndefinedMetricError("tce", f"needs more than min_block = {low} rows; there are {n}", "lower min_block")
    # Tied rows in a fixed order, so that the order of the rows given cannot move a block.
    order = np.lexsort((outcome, score))
    blocks = pool_blocks(outcome[order], low, high)
    length = np.diff(blocks)
    ones = np.add.reduceat(outcome[order], blocks[:-1])
    return score[order], np.repeat(length, length).astype(np.float64), np.repeat(ones, length), np.ones(n)


def pool_blocks(outcome: Floats, low: int, high: int) -> NDArray[np.intp]:
    """Ends of the blocks (with 0 first): neighbours are pooled while small, or while their rates do not rise and the size allows.

    The last `low` rows are one block, which joins the one before it where two of that size are allowed.
    """
    head = outcome[: len(outcome) - low]
    sizes, sums = np.empty(len(head), np.int64), np.empty(len(head))
    # In plain Python a row costs a hundred times what it costs compiled, so numba pays early.
    loop = compiled(_kernels.pool_blocks, 100 * len(head)) or _kernels.pool_blocks
    lengths = sizes[: loop(head, low, high, sizes, sums)].tolist()
    if low and lengths and 2 * low <= high:
        lengths[-1] += low
    elif low:
        lengths.append(low)
    return np.append(0, np.cumsum(lengths))


def two_sided_binomial(successes: Floats, trials: Floats, chance: Floats) -> Floats:
    """P-values of exact two-sided binomial tests: all outcomes at most as likely as the one seen, as R and SciPy define it."""
    from scipy.special import betainc, gammaln, xlog1py, xlogy

    # Seen from the side where too few happened; the other is its mirror image.
    mirrored = successes > trials * chance
    k = np.where(mirrored, trials - successes, successes)
    p = np.where(mirrored, 1 - chance, chance)
    mean = trials * p

    factorial = gammaln(np.arange(1.0, trials.max() + 2))  # logarithms of 0!, 1!, ...
    constant = factorial[trials.astype(np.intp)]

    def log_likelihood(outcome: Floats) -> Floats:
        choose = constant - factorial[outcome.astype(np.intp)] - factorial[(trials - outcome).astype(np.intp)]
        return choose + xlogy(outcome, p) + xlog1py(trials - outcome, -p)

    limit = log_likelihood(k) + 1e-7
    # Above the mean the likelihood falls: halve the range until the first outcome as unlikely as the one seen is left.
    low, high = np.ceil(mean), trials + 1
    while (low < high).any():
        middle = np.floor((low + high) / 2)
        unlikely = log_likelihood(np.minimum(middle, trials)) <= limit
        low, high = np.where(~unlikely & (low < high), middle + 1, low), np.where(unlikely & (low < high), middle, high)
    # P(X >= low) and P(X <= k) as incomplete beta functions, whose arguments must stay positive.
    above = np.where(
        low <= trials, betainc(np.maximum(np.minimum(low, trials), 1), np.maximum(trials - low + 1, 1), p), 0.0
    )
    below = np.where(k < trials, betainc(np.maximum(trials - k, 1), k + 1, 1 - p), 1.0)
    return np.where(k == mean, 1.0, np.where(p <= 0, 0.0, np.minimum(below + above, 1.0)))

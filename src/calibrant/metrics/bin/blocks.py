"""Blocks of pooled neighbours with bounds on their size (PAVA-BC), and exact binomial tests of many forecasts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...binning.parse import Blocks, Pava, bin_table
from ...errors import ArgumentError, UndefinedMetricError
from ...util import kernels
from ...util.arrays import Floats
from ...util.checks import check_whole
from ...util.kernels import compiled
from ...views.view import View


def rejected_share(view: View, alpha: float, rule: Blocks, min_block: int, max_block: int) -> float:
    """Compute the fraction of rows whose score is rejected by the binomial test of its block at level `alpha`."""
    if not 0 < alpha < 1:
        raise ArgumentError("alpha", f"must lie between 0 and 1; got {alpha!r}", "for example 0.05")
    if isinstance(rule, Pava):
        score, trials, successes, weight = _pool_blocks(
            view, check_whole(min_block, "min_block", 0), check_whole(max_block, "max_block")
        )
    else:
        table = bin_table(view, rule)
        cell, _ = rule.cells(view)
        score, weight = view.score, view.weights
        trials, successes = table.weight[cell], table.positives[cell]
    pvalue = two_sided_binomial(successes, trials, score)
    return float(weight[pvalue <= alpha].sum() / weight.sum())


def _pool_blocks(view: View, low: int, high: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return each distinct score, the size and successes of its block, and its number of rows; rows of one score stay together."""
    if high < low:
        raise ArgumentError("max_block", f"must not be below the minimum block size {low}; got {high}")
    score, outcome = view.score[view.order], view.outcome[view.order]
    rows = np.ones(len(score), np.int64) if view.weight is None else view.weight[view.order].astype(np.int64)
    starts = np.flatnonzero(np.diff(score, prepend=np.nan) != 0)
    count, ones = np.add.reduceat(rows, starts), np.add.reduceat(rows * outcome, starts)
    n = int(count.sum())
    if n <= low:
        raise UndefinedMetricError(
            "tce", f"requires more rows than the minimum block size {low}; got {n}", "use a smaller min_block"
        )
    blocks = pool_blocks(count, ones, low, high)
    lengths = np.diff(blocks)
    size, successes = (np.repeat(np.add.reduceat(part, blocks[:-1]), lengths) for part in (count, ones))
    return score[starts], size.astype(np.float64), successes, count.astype(np.float64)


def pool_blocks(count: NDArray[np.int64], ones: Floats, low: int, high: int) -> NDArray[np.intp]:
    """Ends of the blocks (with 0 first) among groups of rows: neighbours are pooled while small, or while their rates do not rise and
    the size allows.

    The last `low` rows, with those of the same score, are one block, which joins the one before it where two of that size are
    allowed; where more rows share the last score it is pooled like any other.
    """
    last = int(np.searchsorted(np.cumsum(count[::-1]), low)) + 1 if low and count[-1] <= low else 0
    head = len(count) - last
    groups, sizes, sums = np.empty(head, np.int64), np.empty(head, np.int64), np.empty(head)
    # Plain Python is a hundred times slower per row than compiled code, so that numba is worthwhile early.
    loop = compiled(kernels.pool_blocks, 100 * head) or kernels.pool_blocks
    lengths = groups[: loop(count[:head], ones[:head], low, high, groups, sizes, sums)].tolist()
    if last and lengths and 2 * low <= high:
        lengths[-1] += last
    elif last:
        lengths.append(last)
    return np.append(0, np.cumsum(lengths))


def two_sided_binomial(successes: Floats, trials: Floats, chance: Floats) -> Floats:
    """Compute p-values of exact two-sided binomial tests: the probability of all outcomes at most as likely as the observed one, as in R and SciPy."""
    from scipy.special import betainc, gammaln, xlog1py, xlogy

    # For fewer events than expected; the other case follows by symmetry.
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
    # Above the mean the likelihood decreases: bisect for the first outcome as unlikely as the observed one.
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

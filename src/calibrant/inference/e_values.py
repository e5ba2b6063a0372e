"""How bets against the scores are placed and what they win; each is fixed by the rows before it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..views.view import VectorView

__all__ = [
    "bet_gains",
    "beta_fits",
    "beta_gains",
    "impossible_rows",
    "infinite_from",
    "infinite_where_impossible",
    "isotonic_rates",
    "learnt_before",
    "likelihood_path",
    "log_mean",
    "online_bets",
    "transforms",
]

Floats = NDArray[np.float64]

# Rows on which nothing is staked, because nothing was learnt before them.
WARM_UP = 10
# Up to this many rows the curve is fitted again after every row, later whenever a fiftieth part was added.
EVERY_ROW, GROWTH = 200, 1.02
# Step of the online Newton method for bets (Cutkosky and Orabona 2018).
NEWTON_STEP = 2 / (2 - math.log(3))
# The fit of a beta distribution by maximum likelihood.
TOLERANCE, MOST_STEPS = 1e-6, 20
SMALLEST, LARGEST = 1e-3, 1e4


def likelihood_path(outcome: Floats, score: Floats, rival: Floats) -> Floats:
    """Logarithm of how much likelier `rival` made the outcomes than `score`, after each row.

    Each entry of `rival` must have been fixed before its outcome was seen. Where the scores were impossible it is infinite.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        yes = np.log(rival) - np.log(score)
        no = np.log1p(-rival) - np.log1p(-score)
    return infinite_where_impossible(
        np.cumsum(np.where(impossible_rows(outcome, score), 0.0, np.where(outcome > 0, yes, no))), outcome, score
    )


def online_bets(outcome: Floats, score: Floats) -> Floats:
    """The stake on each row, from those before it, by the online Newton step; within half of what keeps capital above 0."""
    bets = np.empty(len(score))
    with np.errstate(divide="ignore", over="ignore"):
        lowest, highest = -0.5 / (1 - score), 0.5 / score
    stake, curvature = 0.0, 1.0
    rows = zip((outcome - score).tolist(), lowest.tolist(), highest.tolist(), strict=True)
    for row, (gap, low, high) in enumerate(rows):
        stake = min(max(stake, low), high)
        bets[row] = stake
        slope = gap / (1 + stake * gap)
        curvature += slope * slope
        stake += NEWTON_STEP * slope / curvature
    return bets


def beta_fits(point: Floats) -> tuple[Floats, Floats]:
    """Both parameters of the beta distribution most likely for the points before each one: all fits at once, by Newton steps."""
    from scipy.special import digamma, polygamma

    count = np.arange(1, len(point))
    low, high, mean, square = (
        np.cumsum(values[:-1]) / count for values in (np.log(point), np.log1p(-point), point, point * point)
    )
    spread = np.maximum(square - mean * mean, 1e-12)
    scale = np.clip(mean * (1 - mean) / spread - 1, 0.1, LARGEST)
    a, b = (np.clip(part * scale, SMALLEST, LARGEST) for part in (mean, 1 - mean))
    left = np.arange(len(a))
    for _ in range(MOST_STEPS):
        x, y = a[left], b[left]
        joint, joint_slope = digamma(x + y), polygamma(1, x + y)
        at_low, at_high = low[left] - digamma(x) + joint, high[left] - digamma(y) + joint
        own_low, own_high = polygamma(1, x) - joint_slope, polygamma(1, y) - joint_slope
        det = own_low * own_high - joint_slope * joint_slope
        step_x = (own_high * at_low + joint_slope * at_high) / det
        step_y = (own_low * at_high + joint_slope * at_low) / det
        # A step may not cut a parameter to less than a half.
        a[left] = np.clip(np.maximum(x + step_x, x / 2), SMALLEST, LARGEST)
        b[left] = np.clip(np.maximum(y + step_y, y / 2), SMALLEST, LARGEST)
        left = left[np.abs(step_x) + np.abs(step_y) > TOLERANCE]
        if not len(left):
            break
    return np.append(1.0, a), np.append(1.0, b)


def beta_gains(point: Floats) -> Floats:
    """Logarithm of the density of each point under the distribution learnt before it, drawn towards 1 so that a bet is never lost."""
    from scipy.special import betaln

    row = np.arange(1, len(point) + 1)
    a, b = beta_fits(point)
    density = np.exp((a - 1) * np.log(point) + (b - 1) * np.log1p(-point) - betaln(a, b))
    density[:WARM_UP] = 1
    return np.log(1 / row + (1 - 1 / row) * density)


def transforms(view: VectorView, rng: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
    """A random point of the stretch of each row's label, and whether that stretch has no length."""

    def below(block: Any) -> Floats:
        before = np.cumsum(block.probs, axis=1) - block.probs
        return np.asarray(block.expect(before) / block.probs.sum(axis=1))

    def length(block: Any) -> Floats:
        return np.asarray(block.expect(block.probs) / block.probs.sum(axis=1))

    width = view.each_row(length)
    point = view.each_row(below) + rng.random(view.n) * width
    return np.clip(point, 2.0**-60, 1 - 2.0**-53), width == 0


def learnt_before(outcome: Floats, score: Floats) -> Floats:
    """For each row the rate of the isotonic curve of rows before it; the score itself for the first ones."""
    n = len(score)
    rival = score.copy()
    order = np.argsort(score, kind="stable")
    start = WARM_UP
    while start < n:
        stop = min(n, start + 1 if start < EVERY_ROW else int(start * GROWTH))
        known = order[order < start] if 4 * start > n else np.argsort(score[:start], kind="stable")
        rival[start:stop] = isotonic_rates(outcome[known], score[known], is_sorted=True)(score[start:stop])
        start = stop
    return rival


def isotonic_rates(outcome: Floats, score: Floats, is_sorted: bool = False) -> Callable[[Floats], Floats]:
    """The isotonic curve with straight lines between blocks, no rate being 0 or 1; the scores themselves without rows."""
    from scipy.optimize import isotonic_regression

    n = len(score)
    if n == 0:
        return lambda at: at
    if not is_sorted:
        order = np.argsort(score, kind="stable")
        outcome, score = outcome[order], score[order]
    starts = np.flatnonzero(np.append(True, score[1:] != score[:-1]))
    size = np.diff(starts, append=n).astype(np.float64)
    events = np.add.reduceat(outcome, starts)
    blocks = isotonic_regression(events / size, weights=size).blocks[:-1]
    size, events = np.add.reduceat(size, blocks), np.add.reduceat(events, blocks)
    rate = np.where((events == 0) | (events == size), (events + 0.5) / (size + 1), events / size)
    rate = np.clip(rate, 1 / (2 * n), 1 - 1 / (2 * n))
    last = np.append(blocks[1:], len(starts)) - 1
    ends = np.column_stack([score[starts[blocks]], score[starts[last]]]).ravel()
    kept = np.append(True, np.diff(ends) > 0)  # a block of one score has one end
    return lambda at: np.interp(at, ends[kept], np.repeat(rate, 2)[kept])


def bet_gains(outcome: Floats, score: Floats) -> Floats:
    """Logarithm of what each bet multiplies the capital by."""
    return np.log1p(online_bets(outcome, score) * (outcome - score))


def impossible_rows(outcome: Floats, score: Floats) -> NDArray[np.bool_]:
    """Where the outcome had probability 0 by the score."""
    return np.where(outcome > 0, score == 0, score == 1)


def infinite_where_impossible(log_path: Floats, outcome: Floats, score: Floats) -> Floats:
    """The path, infinite from the first impossible outcome on."""
    return infinite_from(log_path, impossible_rows(outcome, score))


def infinite_from(log_path: Floats, impossible: NDArray[np.bool_]) -> Floats:
    """From the first row on that the scores held impossible, the value is infinite."""
    return np.where(np.logical_or.accumulate(impossible), np.inf, log_path)


def log_mean(logs: Floats) -> Floats:
    """Logarithm of the mean over the first axis of what these are logarithms of."""
    return np.asarray(np.logaddexp.reduce(logs, axis=0) - math.log(len(logs)))

"""E-processes: likelihood ratios against the scores whose alternatives are predictable, that is fixed by earlier rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..util.arrays import Floats
from ..views.view import VectorView

# The alternative equals the null hypothesis for the first rows.
WARM_UP = 10
# Up to this many rows the curve is refitted after every row, later whenever the number of rows grew by 2%.
EVERY_ROW, GROWTH = 200, 1.02
# Step of the online Newton method (Cutkosky and Orabona 2018).
NEWTON_STEP = 2 / (2 - math.log(3))
# The fit of a beta distribution by maximum likelihood.
TOLERANCE, MOST_STEPS = 1e-6, 20
SMALLEST, LARGEST = 1e-3, 1e4


def likelihood_path(outcome: Floats, score: Floats, alternative: Floats) -> Floats:
    """Logarithm of the likelihood ratio of `alternative` to `score` after each row.

    Each entry of `alternative` must be determined by earlier rows. The ratio is infinite once an outcome of probability 0 has occurred.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        yes = np.log(alternative) - np.log(score)
        no = np.log1p(-alternative) - np.log1p(-score)
    return infinite_where_impossible(
        np.cumsum(np.where(impossible_rows(outcome, score), 0.0, np.where(outcome > 0, yes, no))), outcome, score
    )


def newton_fractions(outcome: Floats, score: Floats) -> Floats:
    """The predictable fraction for each row by the online Newton step, within half of the range that keeps the e-process positive."""
    fractions = np.empty(len(score))
    with np.errstate(divide="ignore", over="ignore"):
        lowest, highest = -0.5 / (1 - score), 0.5 / score
    fraction, curvature = 0.0, 1.0
    rows = zip((outcome - score).tolist(), lowest.tolist(), highest.tolist(), strict=True)
    for row, (gap, low, high) in enumerate(rows):
        fraction = min(max(fraction, low), high)
        fractions[row] = fraction
        slope = gap / (1 + fraction * gap)
        curvature += slope * slope
        fraction += NEWTON_STEP * slope / curvature
    return fractions


def beta_fits(point: Floats) -> tuple[Floats, Floats]:
    """Maximum-likelihood parameters of the beta distribution for the points before each one: all fits at once, by Newton's method."""
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
        # A step may at most halve a parameter.
        a[left] = np.clip(np.maximum(x + step_x, x / 2), SMALLEST, LARGEST)
        b[left] = np.clip(np.maximum(y + step_y, y / 2), SMALLEST, LARGEST)
        left = left[np.abs(step_x) + np.abs(step_y) > TOLERANCE]
        if not len(left):
            break
    return np.append(1.0, a), np.append(1.0, b)


def beta_increments(point: Floats) -> Floats:
    """Log density of each point under the beta distribution fitted to earlier points, shrunk towards 1 so that it stays positive."""
    from scipy.special import betaln

    row = np.arange(1, len(point) + 1)
    a, b = beta_fits(point)
    density = np.exp((a - 1) * np.log(point) + (b - 1) * np.log1p(-point) - betaln(a, b))
    density[:WARM_UP] = 1
    return np.log(1 / row + (1 - 1 / row) * density)


def transforms(view: VectorView, rng: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
    """Randomised probability integral transform of each label, and whether its class had probability 0."""

    def start_and_width(block: Any) -> Floats:
        """The part of [0, 1] that belongs to the class: classes follow each other, each as wide as it is probable."""
        start = block.expect(np.cumsum(block.probs, axis=1) - block.probs)
        return np.column_stack([start, block.expect(block.probs)]) / block.probs.sum(axis=1)[:, None]

    start, width = view.each_row(start_and_width).T
    point = start + rng.random(view.n) * width
    return np.clip(point, 2.0**-60, 1 - 2.0**-53), width == 0


def past_isotonic_rates(outcome: Floats, score: Floats) -> Floats:
    """For each row the rate of the isotonic curve fitted to earlier rows; the score itself for the first rows."""
    n = len(score)
    alternative = score.copy()
    order = np.argsort(score, kind="stable")
    start = WARM_UP
    while start < n:
        stop = min(n, start + 1 if start < EVERY_ROW else int(start * GROWTH))
        known = order[order < start] if 4 * start > n else np.argsort(score[:start], kind="stable")
        alternative[start:stop] = isotonic_rates(outcome[known], score[known], is_sorted=True)(score[start:stop])
        start = stop
    return alternative


def isotonic_rates(outcome: Floats, score: Floats, is_sorted: bool = False) -> Callable[[Floats], Floats]:
    """The isotonic curve, linear between blocks, with rates bounded away from 0 and 1; the identity without rows."""
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


def newton_increments(outcome: Floats, score: Floats) -> Floats:
    """Logarithm of the factor by which each row multiplies the e-process of the online Newton step."""
    return np.log1p(newton_fractions(outcome, score) * (outcome - score))


def impossible_rows(outcome: Floats, score: Floats) -> NDArray[np.bool_]:
    """Rows whose outcome had probability 0 under the score."""
    return np.where(outcome > 0, score == 0, score == 1)


def infinite_where_impossible(log_path: Floats, outcome: Floats, score: Floats) -> Floats:
    """The path, infinite from the first outcome of probability 0 on."""
    return infinite_from(log_path, impossible_rows(outcome, score))


def infinite_from(log_path: Floats, impossible: NDArray[np.bool_]) -> Floats:
    """The path, infinite from the first marked row on."""
    return np.where(np.logical_or.accumulate(impossible), np.inf, log_path)


def log_mean(logs: Floats) -> Floats:
    """Logarithm of the mean over the first axis of the exponentials."""
    return np.asarray(np.logaddexp.reduce(logs, axis=0) - math.log(len(logs)))

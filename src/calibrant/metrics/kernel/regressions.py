"""Kernel regression of the outcomes on the scores, and its distance from the diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ArgumentError
from ...util.arrays import Floats
from ...util.blocks import map_blocks
from ...util.checks import check_positive
from ...util.sums import accurate_sum
from ...views.view import View
from ..registry import metric
from .bandwidths import Ties, tie_groups
from .gauss_transform import gauss_transform, is_dense
from .gaussian import DIRECT, NODES_PER_WIDTH, Lattice, adaptive_widths, gaussian_sums, gaussian_width

Indices = NDArray[np.intp]


def _curve(view: View, bandwidth: Any, adaptive: bool) -> tuple[Floats, Ties, Floats]:
    """Return distinct scores, the rows of each, and the kernel regression of the outcomes there."""
    score, ties = tie_groups(view)
    width = gaussian_width(view, score, ties, bandwidth)
    if width == 0:
        return score, ties, np.full(len(score), view.mean(view.outcome))
    widths = adaptive_widths(score, ties.weight, width) if adaptive else width
    sums = gaussian_sums(score, np.column_stack([ties.weight, ties.outcome]), widths)
    return score, ties, np.clip(sums[:, 1] / sums[:, 0], 0.0, 1.0)


@metric("Mean squared calibration error", range=(0, 1), ideal=0, cite="galbraith2011")
def msce(view: View, *, bandwidth: float | str = "default", adaptive: bool = False) -> float:
    """Mean squared difference between the kernel regression of the outcomes and the scores."""
    score, ties, curve = _curve(view, bandwidth, adaptive)
    return accurate_sum(ties.weight * np.square(curve - score)) / view.total


@metric("Smooth expected calibration error", range=(0, 1), ideal=0, cite="wang2024")
def sece(view: View, *, bandwidth: float | str = 0.05, adaptive: bool = False) -> float:
    """Mean absolute difference between the kernel regression of the outcomes and the scores."""
    score, ties, curve = _curve(view, bandwidth, adaptive)
    return accurate_sum(ties.weight * np.abs(curve - score)) / view.total


# Logit smoothing.

SURE = 1e-12
STEPS_PER_WIDTH = 32
REACH = 9.0  # number of bandwidths beyond which the kernel is below 1e-18
STEPS_AT_ONCE = 1 << 14
# Integral of the polynomial through six values from the third to the fourth of them: an error of order 7 in the step.
SIX = np.array([11, -93, 802, 802, -93, 11]) / 1440


@metric(
    "Logit-smoothed expected calibration error",
    range=(0, 1),
    ideal=0,
    alternative="two-sided",
    cite="chidambaram2024",
    reads_log_odds=True,
)
def ls_ece(view: View, *, bandwidth: float = 1.0) -> float:
    """Expected absolute difference between the kernel regression of the outcomes and the score, after Gaussian noise on the logits."""
    width = check_positive(bandwidth, "bandwidth")
    if width > 1000:
        raise ArgumentError("bandwidth", f"must be below 1000 on the logit scale; got {bandwidth!r}")
    score, ties = tie_groups(view)
    log_odds = np.log(np.clip(score, SURE, 1 - SURE)) - np.log(np.clip(1 - score, SURE, 1 - SURE))
    parts = np.column_stack([ties.weight, ties.outcome])
    if len(score) > DIRECT:
        log_odds, parts = _thinned(log_odds, parts, width / NODES_PER_WIDTH)
    return _absolute_integral(log_odds, parts, width) / view.total


def _thinned(place: Floats, parts: Floats, step: float) -> tuple[Floats, Floats]:
    """Move sums to a lattice if it has fewer nodes than there are places."""
    nodes = (place[-1] - place[0]) / step
    if not nodes < len(place):
        return place, parts
    lattice = Lattice((place - place[0]) / step + 1)
    given = np.column_stack([lattice.give(column) for column in parts.T])
    return place[0] + step * (np.arange(lattice.size) - 1), given


def _absolute_integral(place: Floats, parts: Floats, width: float) -> float:
    """Compute the integral over t of |sum_j (outcome_j - weight_j sigmoid(t)) phi(t - place_j)| with the normal density phi of this width."""
    step = min(width, 1.0) / STEPS_PER_WIDTH
    # Steps near any place: runs of integers, merged where they overlap.
    low = np.floor((place - REACH * width) / step).astype(np.int64)
    high = np.ceil((place + REACH * width) / step).astype(np.int64)
    first = np.flatnonzero(np.append(True, low[1:] > high[:-1]))
    run_low, run_high = low[first], high[np.append(first[1:], len(low)) - 1]
    ends = np.cumsum(run_high - run_low + 1)
    count = int(ends[-1])

    def steps(start: int, stop: int) -> Floats:
        number = np.arange(max(start, 0), min(stop, count))
        run = np.searchsorted(ends, number, "right")
        return (run_high[run] - (ends[run] - 1 - number)) * step

    def work(start: int, stop: int) -> float:
        # Six values for each interval; beyond the ends, and between runs, the gap is 0.
        inside = _signed_gap(steps(start - 2, stop + 3), place, parts, width)
        gap = np.concatenate([np.zeros(max(2 - start, 0)), inside, np.zeros(max(stop + 3 - count, 0))])
        return float(_interval_integrals(gap).sum()) * step

    # Sums over pairs are distributed to threads, for which a transform of many steps at once is too fast.
    dense = is_dense(place[0], place[-1], len(place), width)
    return float(np.sum(map_blocks(work, count, STEPS_AT_ONCE if dense else 256, columns=1024)))


def _signed_gap(t: Floats, place: Floats, parts: Floats, width: float) -> Floats:
    near = slice(*np.searchsorted(place, [t[0] - REACH * width, t[-1] + REACH * width]))
    gap = np.empty(len(t))
    with np.errstate(under="ignore", over="ignore"):
        score = 1 / (1 + np.exp(-t))
        if near.start < near.stop and is_dense(t[0], t[-1], near.stop - near.start, width):
            sums = gauss_transform(t, place[near], parts[near], width)
            return (sums[:, 1] - score * sums[:, 0]) / (width * np.sqrt(2 * np.pi))
        rows = max(1, (1 << 18) // max(1, near.stop - near.start))
        for a in range(0, len(t), rows):
            some = slice(a, a + rows)
            kernel = np.exp(-0.5 * np.square((t[some, None] - place[near]) / width))
            sums = kernel @ parts[near]
            gap[some] = sums[:, 1] - score[some] * sums[:, 0]
        return gap / (width * np.sqrt(2 * np.pi))


def _interval_integrals(gap: Floats) -> Floats:
    """Compute the integral of the absolute value over each unit interval, of the polynomial through the six values around it."""
    six = np.lib.stride_tricks.sliding_window_view(gap, 6)
    whole = np.abs(six @ SIX)
    crossed = np.flatnonzero(six[:, 2] * six[:, 3] < 0)
    if len(crossed):
        whole[crossed] = _crossing_integrals(six[crossed])
    return whole


def _crossing_integrals(six: Floats) -> Floats:
    """Compute the same integral if the sign changes between the third and the fourth value."""
    at = np.arange(-2.0, 4.0)
    rising = six @ np.linalg.inv(np.vander(at, increasing=True)).T  # coefficients of the polynomial

    def value(x: Floats, coefficients: Floats) -> Floats:
        found = np.zeros(len(x))
        for column in coefficients.T[::-1]:
            found = found * x + column
        return found

    low, high = np.zeros(len(six)), np.ones(len(six))
    for _ in range(50):
        middle = (low + high) / 2
        before = value(middle, rising) * six[:, 2] > 0
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    integral = np.column_stack([np.zeros(len(six)), rising / np.arange(1, 7)])
    left, total = value(low, integral), value(np.ones(len(six)), integral)
    return np.abs(left) + np.abs(total - left)

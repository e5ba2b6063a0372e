"""The largest mean of residuals times a Lipschitz weight function, by dynamic programming."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from ...util.arrays import Floats
from ...util.kernels import compiled, lipschitz_loop

# Cost of a row in the plain implementation, in entries of a compiled loop.
COST_OF_A_ROW = 100


def largest_lipschitz_sum(score: Floats, residual: Floats) -> float:
    """Maximise sum_i w_i residual_i over |w_i| <= 1 and |w_i - w_j| <= |score_i - score_j|; scores must be strictly increasing.

    By duality this is min_f sum_i |residual_i - f_{i-1} + f_i| + sum_i gap_i |f_i| with f_0 = f_n = 0. As a function of f_i the best
    value so far is convex and piecewise linear with slopes from -1 to 1: breakpoints whose weights sum to 2. A gap adds a
    breakpoint at 0 and takes its weight from both ends, a residual shifts them all. Positions are stored without the shift, so
    that a breakpoint added at 0 is stored at the sum of the residuals so far.
    """
    gap = np.diff(score)
    path = np.cumsum(residual)
    loop = compiled(lipschitz_loop, COST_OF_A_ROW * len(score))
    if loop is not None:
        return max(0.0, float(loop(gap, path)))
    return max(0.0, _with_heaps(gap.tolist(), path.tolist()))


def _with_heaps(gap: list[float], path: list[float]) -> float:
    """Solve with two heaps and lazy deletion; the same operations in the same order as the compiled loop."""
    weight = [2.0] + [0.0] * len(gap)
    lowest, highest = [(0.0, 0)], [(0.0, 0)]
    value = 0.0
    for i, step in enumerate(gap):
        new, zero = i + 1, path[i]
        weight[new] = 2.0 * step
        heappush(lowest, (zero, new))
        left = step
        while left > 0.0:
            place, k = lowest[0]
            taken = min(left, weight[k])
            value -= taken * (place - zero)
            weight[k] -= taken
            left -= taken
            if weight[k] <= 0.0:
                heappop(lowest)
        heappush(highest, (-zero, -new))
        left = step
        while left > 0.0:
            k = -highest[0][1]
            taken = min(left, weight[k])
            weight[k] -= taken
            left -= taken
            if weight[k] <= 0.0:
                heappop(highest)
    end = path[-1]
    value -= end
    for place, held in zip([0.0, *path], weight, strict=False):
        value += held * max(0.0, end - place)
    return value

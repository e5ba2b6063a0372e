"""Root of a function of one variable by Brent's method, without the import of scipy.optimize, which takes half a second."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["brent_root"]

RTOL = 8.881784197001252e-16  # four units in the last place
MOST_STEPS = 100


def brent_root(
    function: Callable[[float], float], low: float, high: float, *, xtol: float = 2e-12, rtol: float = RTOL
) -> float:
    """Find a root between two ends at which the function has opposite signs.

    The steps are those of ``scipy.optimize.brentq``, so that the root has the same bits.

    >>> brent_root(lambda x: x * x - 2, 0, 2)
    1.4142135623731364
    """
    before, now, other = float(low), float(high), 0.0
    f_before, f_now, f_other = float(function(before)), float(function(now)), 0.0
    if f_before == 0 or f_now == 0:
        return before if f_before == 0 else now
    if math.copysign(1, f_before) == math.copysign(1, f_now):
        raise ValueError("the function must have opposite signs at both ends")
    last = step = 0.0
    for _ in range(MOST_STEPS):
        if f_before != 0 and f_now != 0 and math.copysign(1, f_before) != math.copysign(1, f_now):
            other, f_other = before, f_before
            last = step = now - before
        if abs(f_other) < abs(f_now):
            before, now, other = now, other, now
            f_before, f_now, f_other = f_now, f_other, f_now
        delta = (xtol + rtol * abs(now)) / 2
        half = (other - now) / 2
        if f_now == 0 or abs(half) < delta:
            return now
        tried = math.inf
        if abs(last) > delta and abs(f_now) < abs(f_before):
            if before == other:  # secant
                tried = -f_now * (now - before) / (f_now - f_before)
            else:  # inverse quadratic
                slope = (f_before - f_now) / (before - now)
                slope_other = (f_other - f_now) / (other - now)
                below = slope_other * slope * (f_other - f_before)
                tried = -f_now * (f_other * slope_other - f_before * slope) / below if below else math.inf
        if 2 * abs(tried) < min(abs(last), 3 * abs(half) - delta):
            last, step = step, tried
        else:
            last = step = half
        before, f_before = now, f_now
        now += step if abs(step) > delta else math.copysign(delta, half)
        f_now = float(function(now))
    raise ValueError(f"no root found in {MOST_STEPS} steps")

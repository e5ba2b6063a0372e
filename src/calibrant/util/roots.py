"""Root and minimum of a function of one variable by Brent's methods, without the import of scipy.optimize, which takes half a second."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["bounded_minimum", "brent_root"]

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


GOLDEN = 0.5 * (3.0 - math.sqrt(5.0))
MOST_EVALUATIONS = 500


def bounded_minimum(function: Callable[[float], float], low: float, high: float, *, xatol: float) -> float:
    """Find a minimum between two ends, up to `xatol`.

    The steps are those of ``scipy.optimize.minimize_scalar(method="bounded")``, so that the minimum has the same bits.

    >>> round(bounded_minimum(lambda x: (x - 1) ** 2, 0, 3, xatol=1e-8), 6)
    1.0
    """
    a, b = float(low), float(high)
    best = second = third = a + GOLDEN * (b - a)
    f_best = f_second = f_third = float(function(best))
    step = before = 0.0
    evaluations = 1
    middle = 0.5 * (a + b)
    near = math.sqrt(2.2e-16) * abs(best) + xatol / 3.0
    while abs(best - middle) > 2.0 * near - 0.5 * (b - a) and evaluations < MOST_EVALUATIONS:
        golden = True
        if abs(before) > near:
            # The minimum of a parabola through the three best points.
            r = (best - second) * (f_best - f_third)
            q = (best - third) * (f_best - f_second)
            p = (best - third) * q - (best - second) * r
            q = 2.0 * (q - r)
            p, q = (-p if q > 0.0 else p), abs(q)
            r, before = before, step
            if abs(p) < abs(0.5 * q * r) and q * (a - best) < p < q * (b - best):
                golden = False
                step = p / q
                if best + step - a < 2.0 * near or b - (best + step) < 2.0 * near:
                    step = near if middle >= best else -near
        if golden:
            before = a - best if best >= middle else b - best
            step = GOLDEN * before
        x = best + (1.0 if step >= 0 else -1.0) * max(abs(step), near)
        f_x = float(function(x))
        evaluations += 1
        if f_x <= f_best:
            a, b = (best, b) if x >= best else (a, best)
            third, f_third, second, f_second = second, f_second, best, f_best
            best, f_best = x, f_x
        else:
            a, b = (x, b) if x < best else (a, x)
            if f_x <= f_second or second == best:
                third, f_third, second, f_second = second, f_second, x, f_x
            elif f_x <= f_third or third in (best, second):
                third, f_third = x, f_x
        middle = 0.5 * (a + b)
        near = math.sqrt(2.2e-16) * abs(best) + xatol / 3.0
    return best

"""Residuals smoothed by a reflected Gaussian kernel on [0, 1] through their cosine series, and the fixed point of the bandwidth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["NARROWEST", "self_consistent_width", "smoothed_error"]

Floats = NDArray[np.float64]

# Narrower kernels are not considered: they would need more than 2^21 terms.
NARROWEST = 1e-4
# Few masses are distributed to eight nodes each, with few nodes per bandwidth; many masses to four nodes each, with many nodes per
# bandwidth (fewer for narrow kernels, which occur only for small errors in large samples, whose tenth digit is irrelevant).
FEW_MASSES = 1 << 16
NODES_OF_EIGHT, NODES_OF_FOUR, FEWER_NODES = 16, 200, 100
# Nodes per bandwidth at which the curve is evaluated; with fewer, zeros between nodes may be missed, a negligible error.
CURVE_NODES, FEWER_CURVE_NODES = 32, 8
NARROW = 0.002
# A bandwidth is as close to the fixed point as its error is to the bandwidth.
NEAR_ENOUGH, TINY = 1e-13, 1e-300
FIRST_TRIED = 1 / 16
# Bandwidths for which a series is computed, by the number of masses: it costs a pass over these and a transform whose length grows
# as the bandwidth shrinks, and small steps are worthwhile if the transform dominates.
STEPS = (
    (1 << 13, (0.004, 5e-4, NARROWEST)),
    (FEW_MASSES, (5e-4, NARROWEST)),
    (math.inf, (0.01, 0.001, NARROWEST)),
)
# exp(-9^2 / 2) is below 1e-17.
CUT = 9.0


def _cosines(values: Floats) -> Floats:
    """Compute the type-I cosine transform: twice the sum, with both ends once."""
    return np.fft.rfft(np.concatenate([values, values[-2:0:-1]])).real


def _series(cosines: Floats | None, sines: Floats, nodes: int) -> tuple[Floats | None, Floats]:
    """Compute sums of cosines and of sines with these factors at 0, 1/nodes, ..., 1 by one transform; the first factor is the constant."""
    factors = -1j * nodes * sines
    factors[0] = 0
    if cosines is not None:
        factors += nodes * cosines
        factors[0] *= 2
    both = np.fft.irfft(factors, 2 * nodes)
    there = both[: nodes + 1]
    back = np.empty(nodes + 1)  # where the sines have the opposite sign
    back[0] = both[0]
    back[1:] = both[: nodes - 1 : -1]
    even = None if cosines is None else (there + back) / 2
    np.subtract(there, back, out=back)
    back /= 2
    return even, back


def _terms_for(width: float) -> int:
    return int(CUT / (math.pi * width)) + 2


def _shares(part: Floats, points: int) -> Iterator[Floats]:
    """Return the fractions of a mass at this relative position between the middle two of equally spaced points that each point receives.

    Integrals of polynomials of a degree below the number of points are preserved.
    """
    places = [place - points // 2 + 1 for place in range(points)]
    away = [part - place for place in places]
    for own in range(points):
        first, second, *others = (distance for place, distance in enumerate(away) if place != own)
        share = first * second
        for other in others:
            share *= other
        share /= math.prod(places[own] - place for place in places if place != places[own])
        yield share


class CosineSeries:
    """Point masses on [0, 1] as a cosine series, accurate for kernels down to `width`.

    A mass is shared between the eight or four nearest nodes so that polynomials up to the seventh or third degree are integrated
    exactly; the error of a smoothed value is below 1e-10 of the absolute mass (1e-9 for many masses and a narrow kernel). Beyond an
    end the even extension takes over, which is the reflection.
    """

    def __init__(self, position: Floats, mass: Floats, width: float) -> None:
        points, per_width = 8, NODES_OF_EIGHT
        if len(position) >= FEW_MASSES:
            points, per_width = 4, NODES_OF_FOUR if width >= NARROW else FEWER_NODES
        nodes = 1 << max(6, math.ceil(math.log2(per_width / width)))
        beyond = points // 2 - 1
        place = position * nodes
        left = np.minimum(place.astype(np.int64), nodes - 1)
        part = place - left
        grid = np.zeros(nodes + 1 + 2 * beyond)
        for offset, share in enumerate(_shares(part, points)):
            grid += np.bincount(left + offset, share * mass, len(grid))
        inner = grid[beyond : len(grid) - beyond]
        inner[1 : beyond + 1] += grid[:beyond][::-1]
        inner[-beyond - 1 : -1] += grid[len(grid) - beyond :][::-1]
        inner[1:-1] /= 2
        self.terms = _cosines(inner)[: _terms_for(width)] * 2
        self.terms[0] /= 2

    def absolute_integral(self, width: float, per_width: int = CURVE_NODES) -> float:
        """Compute the integral over [0, 1] of the absolute value of the smoothed masses, with the given number of nodes per bandwidth."""
        nodes = 1 << max(6, math.ceil(math.log2(per_width / width)))
        order = math.pi * np.arange(_terms_for(width))
        terms = self.terms[: len(order)] * np.exp(-np.square(width * order) / 2)
        order[0] = 1.0  # the constant, which has no slope and whose area is added separately
        _, area = _series(None, terms / order, nodes)
        curve, slope = _series(terms, -terms * order / nodes, nodes)
        assert curve is not None
        area += terms[0] * np.linspace(0, 1, nodes + 1)
        below = curve < 0
        at = np.flatnonzero(below[1:] != below[:-1])
        after = at + 1
        steps = (area[at], area[after], *(values[ends] / nodes for values in (curve, slope) for ends in (at, after)))
        turns = steps[0] + _area_to_root(*steps)
        return float(np.abs(np.diff(np.concatenate([area[:1], turns, area[-1:]]))).sum())


def _area_to_root(
    area: Floats, next_area: Floats, first: Floats, last: Floats, rise: Floats, next_rise: Floats
) -> Floats:
    """Compute the integral from 0 to the root of a curve on [0, 1] with a sign change, given values and slopes at both ends.

    The antiderivative is approximated by the quintic polynomial with these areas, values and slopes. That is
    stationary at the root, so a root to four digits gives eight of the integral.
    """
    whole = next_area - area
    cube = 10 * whole - 6 * first - 4 * last - 1.5 * rise + 0.5 * next_rise
    fourth = -15 * whole + 8 * first + 7 * last + 1.5 * rise - next_rise
    fifth = 6 * whole - 3 * first - 3 * last - 0.5 * rise + 0.5 * next_rise
    low, high = np.zeros(len(first)), np.ones(len(first))
    root = first / (first - last)
    for _ in range(3):
        value = first + root * (rise + root * (3 * cube + root * (4 * fourth + root * 5 * fifth)))
        before = (value < 0) == (first < 0)
        low, high = np.where(before, root, low), np.where(before, high, root)
        steep = rise + root * (6 * cube + root * (12 * fourth + root * 20 * fifth))
        step = root - np.divide(value, steep, out=np.full(len(root), np.inf), where=steep != 0)
        root = np.where((step >= low) & (step <= high), step, (low + high) / 2)
    return root * (first + root * (rise / 2 + root * (cube + root * (fourth + root * fifth))))


def smoothed_error(position: Floats, mass: Floats, width: float) -> float:
    """Compute the integral of the absolute value of the masses smoothed by a reflected Gaussian of this bandwidth."""
    width = min(width, 3.0)  # from 2.8 on the reflections sum to a constant in double precision
    return CosineSeries(position, mass, width).absolute_integral(width, CURVE_NODES)


def self_consistent_width(position: Floats, mass: Floats, scale: float = 1.0) -> float:
    """Find the fixed point s at which the masses smoothed with bandwidth ``s * scale`` have the absolute integral s.

    The integral is non-increasing in s, so that s is unique. If s is below the smallest bandwidth, the integral there is returned.
    """
    position, mass = _neighbours_joined(position, mass)
    steps = next(steps for most, steps in STEPS if len(position) < most)
    series: dict[float, CosineSeries] = {}

    def error(s: float) -> float:
        width = max(s * scale, NARROWEST)
        # A coarse series first, a finer one only if the fixed point is small.
        fits = next(own for own in steps if own <= width)
        if fits not in series:
            series[fits] = CosineSeries(position, mass, fits)
        return series[fits].absolute_integral(width, CURVE_NODES if width >= NARROW else FEWER_CURVE_NODES)

    # Smoothing reduces the error from that of single scores to that of all rows together; if these agree, it is constant.
    together = abs(float(mass.sum()))
    if together < 100 * NARROWEST:
        one_each = mass
        if not (position[1:] > position[:-1]).all():
            _, score = np.unique(position, return_inverse=True)
            one_each = np.bincount(score.ravel(), mass).astype(np.float64)
        apart = float(np.abs(one_each).sum())
        if apart - together <= 1e-14:
            return apart
    return _fixed_point(error, NARROWEST / scale)


def _neighbours_joined(position: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Merge consecutive masses at the same position, such as the two outcomes of a cell of a sketch."""
    starts = np.flatnonzero(np.concatenate([[True], position[1:] != position[:-1]]))
    return (position, mass) if len(starts) == len(position) else (position[starts], np.add.reduceat(mass, starts))


def _fixed_point(function: Callable[[float], float], least: float) -> float:
    """Find the fixed point of a non-increasing function on [0, 1], or its value at `least` if that is smaller.

    Secant steps in logarithms are used, in which such errors are nearly linear. Where the function is below its argument, the two meet
    between them: each value bounds the answer.
    """
    low, high = least, 1.0
    x, before = FIRST_TRIED, None
    moved = math.inf
    for _ in range(100):
        value = max(function(x), TINY)
        above = math.log(value / x)
        if abs(above) <= NEAR_ENOUGH or (x == least and above < 0):
            return value if x == least else x
        low, high = max(low, min(x, value)), min(high, max(x, value))
        following = math.sqrt(low * high)
        if before is not None and before[1] != above:
            step = (math.log(x) - before[0]) / (above - before[1])
            guess = x * math.exp(max(min(-above * step, 50.0), -50.0))
            following = least if guess <= least else guess if low <= guess <= high else following
        # The error of a secant step is of the order of the product of the last two steps.
        step_size = abs(following / x - 1)
        if step_size <= NEAR_ENOUGH or (x > least and step_size * moved <= NEAR_ENOUGH / 100):
            return following
        moved = step_size if before is not None else math.inf
        x, before = following, (math.log(x), above)
    return x

"""Residuals smoothed by a reflected Gaussian on [0, 1], through their cosine series; the smallest width that accounts for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["NARROWEST", "self_consistent_width", "smoothed_error"]

Floats = NDArray[np.float64]

# Narrower kernels are not tried: they would need more than 2^21 terms.
NARROWEST = 1e-4
# Few masses are each shared between eight nodes, of which a width of the kernel then needs few; many between four, of which it needs
# many (fewer, where the kernel is narrow: such serve errors that only many rows can show, whose tenth digit means nothing).
FEW_MASSES = 200_000
NODES_OF_EIGHT, NODES_OF_FOUR, FEWER_NODES = 16, 200, 100
# Nodes per width on which the curve is looked at; between fewer it may touch zero unseen, which is far below a narrow error's digits.
CURVE_NODES, FEWER_CURVE_NODES = 32, 8
NARROW = 0.002
# The error never rises with the width, so a width is as near to the answer as its error is to it.
NEAR_ENOUGH, TINY = 1e-13, 1e-300
# Widths for which a series is made, by the number of masses: it costs a pass over these and a transform of as many terms as the
# width is narrow, and small steps pay where the second is longer.
STEPS = (
    (1 << 13, (0.004, 5e-4, NARROWEST)),
    (FEW_MASSES, (5e-4, NARROWEST)),
    (math.inf, (0.01, 0.001, NARROWEST)),
)
# exp(-9^2 / 2) is below 1e-17.
CUT = 9.0


def _cosines(values: Floats) -> Floats:
    """The cosine transform that keeps both ends: twice the sum, the ends once."""
    return np.fft.rfft(np.concatenate([values, values[-2:0:-1]])).real


def _sines(values: Floats) -> Floats:
    """The sine transform between two zeros."""
    odd = np.concatenate([[0.0], values, [0.0], -values[::-1]])
    return -np.fft.rfft(odd).imag[1:-1]


def _terms_for(width: float) -> int:
    return int(CUT / (math.pi * width)) + 2


def _shares(part: Floats, points: int) -> Iterator[Floats]:
    """How much of a mass that lies this part of the way between the middle two of equally spaced points goes to each.

    Polynomials of lower degree than there are points have the same integral before and after.
    """
    places = [place - points // 2 + 1 for place in range(points)]
    for own in places:
        others = [other for other in places if other != own]
        share = part - others[0]
        for other in others[1:]:
            share *= part - other
        yield share / math.prod(own - other for other in others)


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
        self.width = width
        self.terms = _cosines(inner)[: _terms_for(width)] * 2
        self.terms[0] /= 2

    def absolute_integral(self, width: float, per_width: int = CURVE_NODES) -> float:
        """Integral over [0, 1] of the absolute value of the masses smoothed with this width, looked at on so many nodes a width."""
        nodes = 1 << max(6, math.ceil(math.log2(per_width / width)))
        used = _terms_for(width)
        terms = np.zeros(nodes + 1)
        terms[:used] = self.terms[:used] * np.exp(-np.square(math.pi * width * np.arange(used)) / 2)
        frequency = math.pi * np.arange(1, nodes)
        inner = terms[1:-1] / 2
        curve = _cosines(np.concatenate([terms[:1], inner, terms[-1:]]))
        area, slope = np.zeros(nodes + 1), np.zeros(nodes + 1)
        area[1:-1] = _sines(inner / frequency)
        slope[1:-1] = -_sines(inner * frequency)
        area += terms[0] * np.linspace(0, 1, nodes + 1)
        at = np.flatnonzero((curve[1:] < 0) != (curve[:-1] < 0))
        ends = [(values[at], values[at + 1]) for values in (area, curve / nodes, slope / nodes**2)]
        turns = area[at] + _area_to_root(*(end for pair in ends for end in pair))
        return float(np.abs(np.diff(np.concatenate([area[:1], turns, area[-1:]]))).sum())


def _area_to_root(
    area: Floats, next_area: Floats, first: Floats, last: Floats, rise: Floats, next_rise: Floats
) -> Floats:
    """Integral from 0 to its root of a curve on [0, 1] that changes sign there, of which both ends are known.

    The polynomial of the fifth degree that has these areas, values and slopes stands for its antiderivative. That is
    stationary at the root, so a root to four digits gives eight of the integral.
    """
    whole = next_area - area
    cube = 10 * whole - 6 * first - 4 * last - 1.5 * rise + 0.5 * next_rise
    fourth = -15 * whole + 8 * first + 7 * last + 1.5 * rise - next_rise
    fifth = 6 * whole - 3 * first - 3 * last - 0.5 * rise + 0.5 * next_rise
    low, high = np.zeros(len(first)), np.ones(len(first))
    root = first / (first - last)
    for _ in range(4):
        value = first + root * (rise + root * (3 * cube + root * (4 * fourth + root * 5 * fifth)))
        before = (value < 0) == (first < 0)
        low, high = np.where(before, root, low), np.where(before, high, root)
        steep = rise + root * (6 * cube + root * (12 * fourth + root * 20 * fifth))
        step = root - np.divide(value, steep, out=np.full(len(root), np.inf), where=steep != 0)
        root = np.where((step >= low) & (step <= high), step, (low + high) / 2)
    return root * (first + root * (rise / 2 + root * (cube + root * (fourth + root * fifth))))


def smoothed_error(position: Floats, mass: Floats, width: float) -> float:
    """Integral of the absolute value of the masses smoothed with a reflected Gaussian of this width."""
    width = min(width, 3.0)  # from 2.8 on the reflections add up to a constant, to sixteen digits
    return CosineSeries(position, mass, width).absolute_integral(width, CURVE_NODES)


def self_consistent_width(position: Floats, mass: Floats, scale: float = 1.0) -> float:
    """The s at which the masses smoothed with width ``s * scale`` have the absolute integral s.

    That integral never rises with s, so there is one. Where s is below the narrowest width tried, the integral there is returned.
    """
    position, mass = _neighbours_joined(position, mass)
    steps = next(steps for most, steps in STEPS if len(position) < most)
    series: dict[float, CosineSeries] = {}

    @cache
    def error(s: float) -> float:
        width = max(s * scale, NARROWEST)
        # Coarse series first, a finer one only where the answer is that small.
        fits = next(own for own in steps if own <= width)
        if fits not in series:
            series[fits] = CosineSeries(position, mass, fits)
        return series[fits].absolute_integral(width, CURVE_NODES if width >= NARROW else FEWER_CURVE_NODES)

    # Smoothing shrinks the error from that of single scores to that of all rows together; where these agree, it is both.
    together = abs(float(mass.sum()))
    if together < 100 * NARROWEST:
        _, score = np.unique(position, return_inverse=True)
        apart = float(np.abs(np.bincount(score.ravel(), mass)).sum())
        if apart - together <= 1e-14:
            return apart
    low = high = 1 / 16
    while error(low) < low:
        if low * scale <= NARROWEST:
            return error(low)
        low, high = max(low / 4, NARROWEST / scale), low
    while high < 1 and error(high) >= high:
        low, high = high, high * 4
    return _fixed_point(error, low, high) if error(high) < high else high


def _neighbours_joined(position: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Masses that follow each other at the same place as one: so come the two outcomes of a cell of a sketch."""
    starts = np.flatnonzero(np.concatenate([[True], position[1:] != position[:-1]]))
    return (position, mass) if len(starts) == len(position) else (position[starts], np.add.reduceat(mass, starts))


def _fixed_point(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a positive function that never rises meets its argument, which it passes between `low` and `high`.

    By false position in logarithms, in which such errors are nearly straight; the value at an end kept twice is halved (Illinois).
    """
    at_low, at_high = (math.log(max(function(end), TINY) / end) for end in (low, high))
    moved = 0
    for _ in range(100):
        if at_low <= 0 or at_high == 0 or high - low <= NEAR_ENOUGH * high:
            break
        share = at_low / (at_low - at_high)
        middle = low * (high / low) ** share
        if not low < middle < high:
            break
        value = math.log(max(function(middle), TINY) / middle)
        if abs(value) <= NEAR_ENOUGH:
            return middle
        if value > 0:
            low, at_low = middle, value
            at_high, moved = (at_high / 2 if moved > 0 else at_high), 1
        else:
            high, at_high = middle, value
            at_low, moved = (at_low / 2 if moved < 0 else at_low), -1
    return low if abs(at_low) <= abs(at_high) else high

"""Residuals smoothed by a reflected Gaussian on [0, 1], through their cosine series; the smallest width that accounts for them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["NARROWEST", "self_consistent_width", "smoothed_error"]

Floats = NDArray[np.float64]

# Narrower kernels are not tried: they would need more than 2^21 terms.
NARROWEST = 1e-4
# Nodes per width of the kernel: of the grid that takes up the residuals, and of the one on which the curve is looked at.
SOURCE_NODES, FEWER_NODES = 200, 100
CURVE_NODES = 32
# Kernels below this serve errors that only many rows can show, whose tenth digit means nothing.
NARROW = 0.002
FEW_MASSES = 200_000
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


class CosineSeries:
    """Point masses on [0, 1] as a cosine series, accurate for kernels down to `width`.

    A mass is shared between the four nearest nodes so that cubics are integrated exactly; the error of a smoothed value is below
    0.1 / SOURCE_NODES^4 (narrow ones: FEWER_NODES) of the absolute mass. Beyond an end the even extension takes over, which is the reflection.
    """

    def __init__(self, position: Floats, mass: Floats, width: float) -> None:
        per_width = SOURCE_NODES if width >= NARROW else FEWER_NODES
        nodes = 1 << max(6, math.ceil(math.log2(per_width / width)))
        place = position * nodes
        left = np.minimum(place.astype(np.int64), nodes - 1)
        u = place - left
        grid = np.zeros(nodes + 3)
        shares = (
            -u * (u - 1) * (u - 2) / 6,
            (u + 1) * (u - 1) * (u - 2) / 2,
            -(u + 1) * u * (u - 2) / 2,
            (u + 1) * u * (u - 1) / 6,
        )
        for offset, share in enumerate(shares):
            grid += np.bincount(left + offset, share * mass, nodes + 3)
        grid[2] += grid[0]
        grid[-3] += grid[-1]
        inner = grid[1:-1]
        inner[1:-1] /= 2
        self.width = width
        self.terms = _cosines(inner)[: _terms_for(width)] * 2
        self.terms[0] /= 2

    def absolute_integral(self, width: float) -> float:
        """Integral over [0, 1] of the absolute value of the masses smoothed with this width."""
        nodes = 1 << max(6, math.ceil(math.log2(CURVE_NODES / width)))
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
        # Where the curve changes sign its antiderivative is stationary, so a root to four digits gives eight of the integral.
        at = np.flatnonzero((curve[1:] < 0) != (curve[:-1] < 0))
        turns = area[at] + _area_to_root(curve[at], curve[at + 1], slope[at] / nodes, slope[at + 1] / nodes) / nodes
        return float(np.abs(np.diff(np.concatenate([area[:1], turns, area[-1:]]))).sum())


def _area_to_root(first: Floats, last: Floats, rise: Floats, fall: Floats) -> Floats:
    """Integral from 0 to its root of the cubic on [0, 1] with these end values and end slopes; it changes sign there."""
    square = 3 * (last - first) - 2 * rise - fall
    cube = 2 * (first - last) + rise + fall
    low, high = np.zeros(len(first)), np.ones(len(first))
    root = first / (first - last)
    for _ in range(4):
        value = first + root * (rise + root * (square + root * cube))
        before = (value < 0) == (first < 0)
        low, high = np.where(before, root, low), np.where(before, high, root)
        steep = rise + root * (2 * square + root * 3 * cube)
        step = root - np.divide(value, steep, out=np.full(len(root), np.inf), where=steep != 0)
        root = np.where((step >= low) & (step <= high), step, (low + high) / 2)
    return root * (first + root * (rise / 2 + root * (square / 3 + root * cube / 4)))


def smoothed_error(position: Floats, mass: Floats, width: float) -> float:
    """Integral of the absolute value of the masses smoothed with a reflected Gaussian of this width."""
    width = min(width, 3.0)  # from 2.8 on the reflections add up to a constant, to sixteen digits
    return CosineSeries(position, mass, width).absolute_integral(width)


def self_consistent_width(position: Floats, mass: Floats, scale: float = 1.0) -> float:
    """The s at which the masses smoothed with width ``s * scale`` have the absolute integral s.

    That integral never rises with s, so there is one. Where s is below the narrowest width tried, the integral there is returned.
    """
    series: dict[float, CosineSeries] = {}
    # A series costs a pass over the masses and a transform; small steps pay where the transform is the longer of the two.
    steps = (0.01, 0.002, 5e-4, 2e-4, NARROWEST) if len(position) < FEW_MASSES else (0.01, 0.001, NARROWEST)

    def excess(s: float) -> float:
        width = max(s * scale, NARROWEST)
        # Coarse series first, a finer one only where the answer is that small.
        fits = next(own for own in steps if own <= width)
        if fits not in series:
            series[fits] = CosineSeries(position, mass, fits)
        return series[fits].absolute_integral(width) - s

    # Smoothing shrinks the error from that of single scores to that of all rows together; where these agree, it is both.
    together = abs(float(mass.sum()))
    if together < 100 * NARROWEST:
        _, score = np.unique(position, return_inverse=True)
        apart = float(np.abs(np.bincount(score.ravel(), mass)).sum())
        if apart - together <= 1e-14:
            return apart
    low = high = 1.0
    while excess(low) < 0:
        if low * scale <= NARROWEST:
            return excess(low) + low
        low, high = max(low / 4, NARROWEST / scale), low
    return _falling_root(excess, low, high) if low < high else 1.0


def _falling_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function is 0, by false position that halves the value at an end kept twice (Illinois)."""
    at_low, at_high = function(low), function(high)
    moved = 0
    for _ in range(100):
        if at_low <= 0 or at_high == 0 or high - low <= 1e-15 + 1e-14 * high:
            break
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        if not low < middle < high:
            break
        value = function(middle)
        if value == 0:
            return middle
        if value > 0:
            low, at_low = middle, value
            at_high, moved = (at_high / 2 if moved > 0 else at_high), 1
        else:
            high, at_high = middle, value
            at_low, moved = (at_low / 2 if moved < 0 else at_low), -1
    return low if abs(at_low) <= abs(at_high) else high

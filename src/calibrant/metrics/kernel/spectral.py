"""Residuals smoothed by a reflected Gaussian kernel on [0, 1] through their cosine series, and the fixed point of the bandwidth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Narrower kernels are not considered: they would need more than 2^21 terms.
NARROWEST = 1e-4
# Few masses are distributed to eight nodes each, with few nodes per bandwidth; many masses to four nodes each, with many nodes per
# bandwidth (fewer for narrow kernels, which occur only for small errors in large samples, whose tenth digit is irrelevant). The first series
# of a search, which most searches do not leave, has six: one more pass over the masses is cheaper there than a transform of four times the length.
ENOUGH_MASSES, FEW_MASSES = 1 << 13, 1 << 16
NODES_OF_EIGHT, NODES_OF_SIX, NODES_OF_FOUR, FEWER_NODES = 16, 80, 200, 100
# Nodes per bandwidth at which the curve is evaluated; with fewer, zeros between nodes may be missed, a negligible error.
CURVE_NODES, FEWER_CURVE_NODES = 32, 8
NARROW, WIDE = 0.002, 0.01
# A bandwidth is as close to the fixed point as its error is to the bandwidth. A step of Newton's method squares the relative distance:
# rough curves are as good as accurate ones up to the first of these distances, curves with few nodes up to the second, and after a step
# of the third size another would change nothing.
NEAR_ENOUGH, TINY = 1e-13, 1e-300
CLOSE = (0.02, 5e-4, 1e-7)
FIRST_TRIED = 1 / 16
# Bandwidths for which a series is computed, by the number of masses: it costs a pass over these and a transform whose length grows
# as the bandwidth shrinks, and small steps are worthwhile if the transform dominates.
STEPS = (
    (ENOUGH_MASSES, (0.004, 5e-4, NARROWEST)),
    (FEW_MASSES, (WIDE, 5e-4, NARROWEST)),
    (math.inf, (WIDE, 0.001, NARROWEST)),
)
# exp(-9^2 / 2) is below 1e-17.
CUT = 9.0
# Values of the curve at a zero, as a fraction of the largest at any, up to which they are rounding errors.
NO_AREA = 1e-12
# Coefficients of the second, third and fourth power in the polynomial with a given area, values at 0 and 1, and slopes there.
QUINTIC = np.array([[30.0, -18.0, -12.0, -4.5, 1.5], [-60.0, 32.0, 28.0, 6.0, -4.0], [30.0, -15.0, -15.0, -2.5, 2.5]])


def _cosines(values: Floats) -> Floats:
    """Compute the type-I cosine transform of each line: twice the sum, with both ends once."""
    return np.fft.rfft(np.concatenate([values, values[:, -2:0:-1]], axis=1)).real


def _sums(cosines: Floats | None, sines: Floats, nodes: int) -> Floats:
    """Compute sums of cosines and of sines with the factors of each line at 0, 1/nodes, ..., 2 by one transform; the first factor is the constant.

    Beyond 1 sines have the opposite sign of those at the place mirrored at 1; see `_odd`.
    """
    factors = -1j * nodes * sines
    factors[:, 0] = 0
    if cosines is not None:
        factors += nodes * cosines
        factors[:, 0] *= 2
    return np.fft.irfft(factors, 2 * nodes)


def _odd(sums: Floats, line: Indices, at: Indices) -> Floats:
    """Return the sums of sines at some of the nodes of some lines."""
    return (sums[line, at] - sums[line, -at]) / 2


def _line_sums(values: Floats, ends: Sequence[int]) -> Floats:
    """Add the values of each line, which end at these places, in the same order as without the other lines."""
    starts = (0, *ends[:-1])
    return np.array([np.add.reduce(values[start:end]) for start, end in zip(starts, ends, strict=True)], np.float64)


def _terms_for(width: float) -> int:
    return int(CUT / (math.pi * width)) + 2


@cache
def _lagrange_factors(points: int) -> Floats:
    """Compute the coefficients, highest power first, of the polynomials that are 1 at one of equally spaced points and 0 at the others.

    The points are integers, 0 and 1 the middle two.
    """
    places = range(1 - points // 2, points // 2 + 1)
    others = [[other for other in places if other != place] for place in places]
    pairs = zip(places, others, strict=True)
    return np.array([np.poly(roots) / math.prod(place - root for root in roots) for place, roots in pairs])


class CosineSeries:
    """Point masses on [0, 1] as a cosine series, accurate for kernels down to `width`; one series for each line of masses.

    A mass is shared between the eight, six or four nearest nodes so that polynomials of a degree below that are integrated exactly, from
    the sums of the powers of its distance to the node before it. The error of a smoothed value is below 1e-10 of the absolute mass (1e-9 for many masses and a narrow kernel). Beyond an
    end the even extension takes over, which is the reflection.
    """

    def __init__(self, position: Floats, mass: Floats, width: float, six: bool = False) -> None:
        points, per_width = 8, NODES_OF_EIGHT
        if six:
            points, per_width = 6, NODES_OF_SIX
        elif len(position) >= FEW_MASSES:
            points, per_width = 4, NODES_OF_FOUR if width >= NARROW else FEWER_NODES
        nodes = 1 << max(6, math.ceil(math.log2(per_width / width)))
        beyond, lines = points // 2 - 1, len(mass)
        part = position * nodes
        left = part.astype(np.intp)
        np.minimum(left, nodes - 1, out=left)
        part -= left
        moments = np.empty((lines, points, nodes))
        for own, power in zip(moments, mass, strict=True):  # one line after the other stays in the cache
            for place in range(points - 1, -1, -1):
                own[place] = np.bincount(left, power, nodes)
                power = power * part
        grid = np.zeros((lines, nodes + 1 + 2 * beyond))
        for first, received in enumerate(np.moveaxis(_lagrange_factors(points) @ moments, 1, 0)):
            grid[:, first : first + nodes] += received
        inner = grid[:, beyond : grid.shape[1] - beyond]
        inner[:, 1 : beyond + 1] += grid[:, :beyond][:, ::-1]
        inner[:, -beyond - 1 : -1] += grid[:, grid.shape[1] - beyond :][:, ::-1]
        inner[:, 1:-1] /= 2
        self.terms = _cosines(inner)[:, : _terms_for(width)] * 2
        self.terms[:, 0] /= 2

    def _terms(self, lines: Indices, width: Floats, per_width: int) -> tuple[Floats, Floats, int]:
        """Compute the terms of the smoothed masses of some lines, their frequencies, and the number of nodes."""
        narrowest = float(width.min())
        order = math.pi * np.arange(0.0, _terms_for(narrowest))
        terms = self.terms[lines, : len(order)] * np.exp(-np.square(width[:, None] * order) / 2)
        return terms, order, 1 << max(6, math.ceil(math.log2(per_width / narrowest)))

    def rough_integral(self, lines: Indices, width: Floats) -> tuple[Floats, Floats]:
        """Compute `absolute_integral` by the trapezoidal rule, with straight lines at the zeros; correct to about four digits."""
        terms, _, nodes = self._terms(lines, width, FEWER_CURVE_NODES)
        factors = terms * nodes
        factors[:, 0] *= 2
        curve = np.fft.irfft(factors, 2 * nodes)[:, : nodes + 1]
        size = np.abs(curve)
        below = curve < 0
        line, at = np.nonzero(below[:, 1:] != below[:, :-1])
        ends = np.cumsum(np.bincount(line, minlength=len(lines))).tolist()
        first, last = size[line, at], size[line, at + 1]
        both = first + last
        total = np.add.reduce(size, axis=1) - (size[:, 0] + size[:, -1]) / 2 - _line_sums(first * last / both, ends)
        return total / nodes, -2 * width * _line_sums(both, ends) * nodes

    def absolute_integral(self, lines: Indices, width: Floats, per_width: int = CURVE_NODES) -> tuple[Floats, Floats]:
        """Compute the integral over [0, 1] of the absolute value of the smoothed masses of some lines, and its derivative by the bandwidth.

        The smoothed masses f solve the heat equation, df/dw = w f'': the integral changes by -2 w |f'| at each of their zeros. Bandwidths
        of one call have about the same number of terms and nodes.
        """
        terms, order, nodes = self._terms(lines, width, per_width)
        order[0] = 1.0  # the constant, which has no slope and whose area is added separately
        sums = _sums(terms, -terms * order / nodes, nodes)
        curve = np.hstack([sums[:, :1], sums[:, : nodes - 1 : -1]])  # mirrored, where sines have the opposite sign
        curve += sums[:, : nodes + 1]
        curve /= 2
        below = curve < 0
        line, at = np.nonzero(below[:, 1:] != below[:, :-1])
        ends, twice = np.concatenate([at, at + 1]), np.concatenate([line, line])
        steps = np.concatenate([curve[twice, ends], _odd(sums, twice, ends)]) / nodes
        area = _odd(_sums(None, terms / order, nodes), twice, ends) + terms[twice, 0] / nodes * ends
        to_root, steep = _area_to_root(line, area.reshape(2, -1), *steps.reshape(4, -1))
        zeros = np.cumsum(np.bincount(line, minlength=len(lines)))
        # For each line: 0, the area up to each zero, and the whole.
        turns = np.zeros(len(at) + 2 * len(lines))
        last = zeros + 2 * np.arange(len(lines)) + 1
        turns[last] = terms[:, 0]
        turns[np.arange(len(at)) + 2 * line + 1] = area[: len(at)] + to_root
        jumps = np.abs(np.delete(np.diff(turns), last[:-1]))
        change = -2 * width * _line_sums(np.abs(steep), zeros.tolist()) * nodes**2
        return _line_sums(jumps, (last - np.arange(len(lines))).tolist()), change


def _area_to_root(
    line: Indices, area: Floats, first: Floats, last: Floats, rise: Floats, next_rise: Floats
) -> tuple[Floats, Floats]:
    """Compute the integral from 0 to the root of a curve on [0, 1] with a sign change, and the slope there, given values and slopes at both ends.

    The antiderivative is approximated by the quintic polynomial with these areas, values and slopes. That is
    stationary at the root, so a root to four digits gives eight of the integral. Curves are pieces of the lines that `line` numbers.
    """
    if not first.size:
        return first, first
    whole = area[1] - area[0]
    factors = np.stack([first, rise, *(QUINTIC @ np.stack([whole, first, last, rise, next_rise]))])
    root = first / (first - last)
    for _ in range(2):
        value, steep = _value_and_slope(factors, root)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = value / steep
        root = root - step
    # Where the curve is nearly flat at its root, the steps must not leave the bracket; rounding errors around 0 have no area.
    hard = ~((np.abs(step) <= 1e-3) & (root >= 0) & (root <= 1))
    if hard.any():
        size = np.abs(first) + np.abs(last)
        largest = np.zeros(line[-1] + 1)
        np.maximum.at(largest, line, size)
        flat = ~(size > NO_AREA * largest[line])
        root = np.where(hard, first / (first - last), root)
        steep = np.where(flat & np.isin(line, line[hard]), 0.0, steep)
        hard &= ~flat
        if hard.any():
            root[hard], steep[hard] = _bracketed_root(factors[:, hard])
    c0, c1, c2, c3, c4 = factors
    return root * (c0 + root * (c1 / 2 + root * (c2 / 3 + root * (c3 / 4 + root * (c4 / 5))))), steep


def _value_and_slope(factors: Floats, at: Floats) -> tuple[Floats, Floats]:
    """Compute polynomials of the fourth degree and their derivatives, each at its own place."""
    c0, c1, c2, c3, c4 = factors
    return c0 + at * (c1 + at * (c2 + at * (c3 + at * c4))), c1 + at * (2 * c2 + at * (3 * c3 + at * (4 * c4)))


def _bracketed_root(factors: Floats) -> tuple[Floats, Floats]:
    """Find the roots of polynomials with a sign change on [0, 1], by Newton's method within a bracket."""
    low, high = np.zeros(factors.shape[1]), np.ones(factors.shape[1])
    root, steep = (low + high) / 2, low
    for _ in range(8):
        value, steep = _value_and_slope(factors, root)
        before = (value < 0) == (factors[0] < 0)
        low, high = np.where(before, root, low), np.where(before, high, root)
        step = root - np.divide(value, steep, out=np.full(len(root), np.inf), where=steep != 0)
        root = np.where((step >= low) & (step <= high), step, (low + high) / 2)
    return root, steep


def smoothed_errors(position: Floats, mass: Floats, width: float) -> Floats:
    """Compute the integral of the absolute value of each line of masses, smoothed by a reflected Gaussian of this bandwidth."""
    width = min(width, 3.0)  # from 2.8 on the reflections sum to a constant in double precision
    lines = np.arange(len(mass))
    return CosineSeries(position, mass, width).absolute_integral(lines, np.full(len(mass), width))[0]


def self_consistent_widths(position: Floats, mass: Floats, scale: float = 1.0) -> Floats:
    """Find for each line of masses the fixed point s at which, smoothed with bandwidth ``s * scale``, they have the absolute integral s.

    The integral is non-increasing in s, so that s is unique. If s is below the smallest bandwidth, the integral there is returned.
    """
    position, mass = _neighbours_joined(position, mass)
    errors = _SmoothedErrors(position, mass, scale)
    # Smoothing reduces the error from that of single scores to that of all rows together; if these agree, it is constant. Any smoothed
    # error lies between them, so that one that differs clearly from that of all rows saves a sort.
    together = np.abs(np.add.reduce(mass, axis=1))
    small = np.flatnonzero(together < 100 * NARROWEST)
    constant: dict[int, float] = {}
    if len(small):
        value, _ = errors(small, np.full(len(small), FIRST_TRIED), np.zeros(len(small), np.intp))
        for line in small[value <= 1.01 * together[small] + 1e-9].tolist():
            apart = _error_of_scores(position, mass[line])
            if apart - together[line] <= 1e-14:
                constant[line] = apart
    searches = {line: _FixedPoint(NARROWEST / scale) for line in range(len(mass)) if line not in constant}
    going = list(searches)
    for _ in range(100):
        if not going:
            break
        own = [searches[line] for line in going]
        found = errors(np.array(going), np.array([one.x for one in own]), np.array([one.accuracy for one in own]))
        for search, value, elasticity in zip(own, *(part.tolist() for part in found), strict=True):
            search.step(value, elasticity)
        going = [line for line, search in zip(going, own, strict=True) if search.answer is None]
    answers = {
        **constant,
        **{line: search.x if search.answer is None else search.answer for line, search in searches.items()},
    }
    return np.array([answers[line] for line in range(len(mass))])


def _error_of_scores(position: Floats, mass: Floats) -> float:
    """Compute the sum of the absolute mass at each position."""
    if not (position[1:] > position[:-1]).all():
        _, score = np.unique(position, return_inverse=True)
        mass = np.bincount(score.ravel(), mass).astype(np.float64)
    return float(np.abs(mass).sum())


class _SmoothedErrors:
    """Smoothed errors of lines of masses, from series that are computed as narrow kernels are asked for."""

    def __init__(self, position: Floats, mass: Floats, scale: float) -> None:
        self.position, self.mass, self.scale = position, mass, scale
        self.steps = next(steps for most, steps in STEPS if len(position) < most)
        self.series: dict[float, tuple[Indices, CosineSeries]] = {}

    def __call__(self, lines: Indices, s: Floats, accuracy: Indices) -> tuple[Floats, Floats]:
        """The integral of each of these lines at its s, and its elasticity: the relative change over that of s."""
        width = np.maximum(s * self.scale, NARROWEST)
        value, change = np.empty(len(lines)), np.empty(len(lines))
        # A coarse series first, a finer one only if the fixed point is small.
        step = (width[:, None] < np.array(self.steps)).sum(axis=1)
        per_width = np.where((accuracy == 2) & (width >= NARROW), CURVE_NODES, FEWER_CURVE_NODES)
        nodes = np.ceil(np.log2(per_width / width))
        # Lines with the same series, nodes and accuracy are smoothed together.
        alike: dict[tuple[int, float, int, bool], list[int]] = {}
        for place, key in enumerate(
            zip(*(part.tolist() for part in (step, nodes, per_width, accuracy > 0)), strict=True)
        ):
            alike.setdefault(key, []).append(place)
        for (own_step, _, own_nodes, is_accurate), places in alike.items():
            at, series = self._series(self.steps[own_step], lines[places])
            if is_accurate:
                found = series.absolute_integral(at, width[places], own_nodes)
            else:
                found = series.rough_integral(at, width[places])
            value[places], change[places] = found
        return value, width * change / np.maximum(value, TINY)

    def _series(self, fits: float, lines: Indices) -> tuple[Indices, CosineSeries]:
        """The places of these lines in a series for kernels down to a bandwidth, and the series; computed for all lines that ask first."""
        known = self.series.get(fits)
        if known is None or not np.isin(lines, known[0]).all():
            wanted = lines if known is None else np.union1d(known[0], lines)
            known = self.series[fits] = wanted, CosineSeries(self.position, self.mass[wanted], fits, six=fits == WIDE)
        return np.searchsorted(known[0], lines), known[1]


def _neighbours_joined(position: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Merge consecutive masses at the same position, such as the two outcomes of a cell of a sketch."""
    new = position[1:] != position[:-1]
    if new.all():
        return position, mass
    starts = np.flatnonzero(np.concatenate([[True], new]))
    return position[starts], np.add.reduceat(mass, starts, axis=1)


class _FixedPoint:
    """Search for the fixed point of a non-increasing function on [0, 1], or its value at `least` if that is smaller.

    Each step is given the value and elasticity of the function at `x` with an accuracy from 0 to 2. Newton's method is used in logarithms,
    in which such errors are nearly linear. Where the function is below its argument, the two meet between them: each value bounds the answer.
    """

    def __init__(self, least: float) -> None:
        self.least, self.low, self.high, self.x = least, least, 1.0, FIRST_TRIED
        self.accuracy = 0
        self.answer: float | None = None

    def step(self, value: float, elasticity: float) -> None:
        """Move to the next argument, or set the answer."""
        x, least, value = self.x, self.least, max(value, TINY)
        above = math.log(value / x)
        least_is_enough = x == least and above < 0
        if self.accuracy == 2 and (abs(above) <= NEAR_ENOUGH or least_is_enough):
            self.answer = value if x == least else x
            return
        self.low, self.high = max(self.low, min(x, value)), min(self.high, max(x, value))
        guess = x * math.exp(max(above / (1 - elasticity), -50.0))
        inside = self.low <= guess <= self.high
        self.x = least if guess <= least else guess if inside else math.sqrt(self.low * self.high)
        if least_is_enough or abs(self.x / x - 1) <= CLOSE[self.accuracy]:
            if self.accuracy == 2 and x > least:
                self.answer = self.x
                return
            # Bounds from less accurate values may exclude the answer.
            self.accuracy, self.low, self.high = min(self.accuracy + 1, 2), least, 1.0

"""Residuals smoothed by a reflected Gaussian kernel on [0, 1] through their cosine series, and the fixed point of the bandwidth."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

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
ROUGH_UP_TO, FEWER_UP_TO, FINAL_STEP = 0.02, 5e-4, 1e-7
FIRST_TRIED = 1 / 16
# Bandwidths for which a series is computed, by the number of masses: it costs a pass over these and a transform whose length grows
# as the bandwidth shrinks, and small steps are worthwhile if the transform dominates.
STEPS = (
    (ENOUGH_MASSES, (0.004, 5e-4, NARROWEST)),
    (FEW_MASSES, (WIDE, 5e-4, NARROWEST)),
    (math.inf, (WIDE, 0.001, NARROWEST)),
)
# Nodes of curves that are evaluated together, few enough to stay in the processor cache.
NODES_AT_ONCE = 1 << 15
# exp(-9^2 / 2) is below 1e-17.
CUT = 9.0
# Values of the curve at a zero, as a fraction of the largest at any, up to which they are rounding errors.
NO_AREA = 1e-12
# Coefficients of the second, third and fourth power in the polynomial with a given area, values at 0 and 1, and slopes there.
QUINTIC = np.array([[30.0, -18.0, -12.0, -4.5, 1.5], [-60.0, 32.0, 28.0, 6.0, -4.0], [30.0, -15.0, -15.0, -2.5, 2.5]])


def _sums(cosines: Floats | None, sines: Floats, nodes: int) -> Floats:
    """Compute sums of cosines and of sines with the factors of each row at 0, 1/nodes, ..., 2 by one transform; the first factor is the constant.

    Beyond 1 sines have the opposite sign of those at the place mirrored at 1; see `_odd`.
    """
    factors = -1j * nodes * sines
    factors[:, 0] = 0
    if cosines is not None:
        factors += nodes * cosines
        factors[:, 0] *= 2
    return np.fft.irfft(factors, 2 * nodes)


def _odd(sums: Floats, rows: Indices, at: Indices) -> Floats:
    """Return the sums of sines at some of the nodes."""
    return (sums[rows, at] - sums[rows, -at]) / 2


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
    """Point masses on [0, 1] as a cosine series, accurate for kernels down to `width`.

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
        beyond = points // 2 - 1
        part = position * nodes
        left = part.astype(np.intp)
        np.minimum(left, nodes - 1, out=left)
        part -= left
        moments = [np.bincount(left, mass, nodes)]
        power = mass * part
        for _ in range(points - 1):
            moments.append(np.bincount(left, power, nodes))
            power *= part
        grid: Floats = np.zeros(nodes + 1 + 2 * beyond)
        if len(position) < nodes:  # most nodes receive nothing
            is_held = np.zeros(nodes, bool)
            is_held[:2] = is_held[left] = True  # one column alone would be rounded in another way
            held = np.flatnonzero(is_held)
            received = _lagrange_factors(points) @ np.array([sums[held] for sums in moments[::-1]])
            places = (np.arange(points)[:, None] + held).ravel()
            grid += np.bincount(places, received.ravel(), len(grid))
        else:
            for place, received in enumerate(_lagrange_factors(points) @ np.array(moments[::-1])):
                grid[place : place + nodes] += received
        inner = grid[beyond : len(grid) - beyond]
        inner[1 : beyond + 1] += grid[:beyond][::-1]
        inner[-beyond - 1 : -1] += grid[len(grid) - beyond :][::-1]
        inner[1:-1] /= 2
        # The type-I cosine transform: twice the sum, with both ends once.
        terms = int(CUT / (math.pi * width)) + 2
        self.terms = np.fft.rfft(np.concatenate([inner, inner[-2:0:-1]])).real[:terms] * 2
        self.terms[0] /= 2

    def rough_integral(self, width: float) -> tuple[float, float]:
        """Compute `absolute_integral` by the trapezoidal rule, with straight lines at the zeros; correct to about four digits."""
        return rough_integrals([self], [width], _nodes_for(width, FEWER_CURVE_NODES))[0]

    def absolute_integral(self, width: float, per_width: int = CURVE_NODES) -> tuple[float, float]:
        """Compute the integral over [0, 1] of the absolute value of the smoothed masses, and its derivative by the bandwidth."""
        return absolute_integrals([self], [width], _nodes_for(width, per_width))[0]


def _nodes_for(width: float, per_width: int) -> int:
    """Return the number of nodes at which a curve smoothed by this bandwidth is evaluated."""
    return 1 << max(6, math.ceil(math.log2(per_width / width)))


def _smooth(series: Sequence[CosineSeries], widths: Sequence[float]) -> tuple[Floats, Floats]:
    """Compute the terms of smoothed masses, one row for each series, and their frequencies; beyond their number they are 0."""
    counts = [int(CUT / (math.pi * width)) + 2 for width in widths]
    order = math.pi * np.arange(0.0, max(counts))
    terms = np.zeros((len(series), len(order)))
    for row, one, count in zip(terms, series, counts, strict=True):
        row[:count] = one.terms[:count]
    terms *= np.exp(-np.square(np.array(widths)[:, None] * order) / 2)
    return terms, order


def _sign_changes(curve: Floats) -> tuple[Indices, Indices, list[slice]]:
    """Return row and node before each change of sign, and the part of these that belongs to each row."""
    below = curve < 0
    changes = np.flatnonzero(below[:, 1:] != below[:, :-1])
    if len(curve) == 1:
        return np.zeros_like(changes), changes, [slice(len(changes))]
    nodes = curve.shape[1] - 1
    ends = np.searchsorted(changes, nodes * np.arange(len(curve) + 1)).tolist()
    parts = [slice(*pair) for pair in pairwise(ends)]
    rows = np.repeat(np.arange(len(parts)), np.diff(ends))
    return rows, changes - nodes * rows, parts


def rough_integrals(series: Sequence[CosineSeries], widths: Sequence[float], nodes: int) -> list[tuple[float, float]]:
    """Compute `absolute_integrals` by the trapezoidal rule, with straight lines at the zeros; correct to about four digits."""
    factors = _smooth(series, widths)[0] * nodes
    factors[:, 0] *= 2
    curve = np.fft.irfft(factors, 2 * nodes)[:, : nodes + 1]
    size = np.abs(curve)
    rows, at, parts = _sign_changes(curve)
    first, last = size[rows, at], size[rows, at + 1]
    both = first + last
    missing = first * last / both
    whole = size.sum(axis=1) - (size[:, 0] + size[:, -1]) / 2
    return [
        (float(total - np.add.reduce(missing[part])) / nodes, -2 * width * float(np.add.reduce(both[part])) * nodes)
        for total, part, width in zip(whole, parts, widths, strict=True)
    ]


def absolute_integrals(
    series: Sequence[CosineSeries], widths: Sequence[float], nodes: int
) -> list[tuple[float, float]]:
    """Compute the integrals over [0, 1] of the absolute values of smoothed masses, and their derivatives by the bandwidth.

    The smoothed masses f solve the heat equation, df/dw = w f'': the integral changes by -2 w |f'| at each of their zeros.
    """
    terms, order = _smooth(series, widths)
    order[0] = 1.0  # the constant, which has no slope and whose area is added separately
    sums = _sums(terms, -terms * order / nodes, nodes)
    curve = np.concatenate(
        [sums[:, :1], sums[:, : nodes - 1 : -1]], axis=1
    )  # mirrored, where sines have the opposite sign
    curve += sums[:, : nodes + 1]
    curve /= 2
    rows, at, parts = _sign_changes(curve)
    rows, ends = np.concatenate([rows, rows]), np.concatenate([at, at + 1])
    steps = np.concatenate([curve[rows, ends], _odd(sums, rows, ends)]) / nodes
    area = _odd(_sums(None, terms / order, nodes), rows, ends) + (terms[:, 0] / nodes)[rows] * ends
    to_root, steep = _area_to_root(parts, area.reshape(2, -1), *steps.reshape(4, -1))
    turns, steep = area[: len(at)] + to_root, np.abs(steep)
    found = []
    for part, end, width in zip(parts, terms[:, :1], widths, strict=True):
        path = np.concatenate([[0.0], turns[part], end])
        change = -2 * width * float(np.add.reduce(steep[part])) * nodes**2
        found.append((float(np.add.reduce(np.abs(path[1:] - path[:-1]))), change))
    return found


def _area_to_root(
    parts: list[slice], area: Floats, first: Floats, last: Floats, rise: Floats, next_rise: Floats
) -> tuple[Floats, Floats]:
    """Compute the integral from 0 to the root of a curve on [0, 1] with a sign change, and the slope there, given values and slopes at both ends.

    `parts` are those of one curve each. The antiderivative is approximated by the quintic polynomial with these areas, values and slopes. That is
    stationary at the root, so a root to four digits gives eight of the integral.
    """
    if not first.size:
        return first, first
    whole = area[1] - area[0]
    factors = np.array([first, rise, *(QUINTIC @ np.array([whole, first, last, rise, next_rise]))])
    root = first / (first - last)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(2):
            value, steep = _value_and_slope(factors, root)
            step = value / steep
            root = root - step
    # Where the curve is nearly flat at its root, the steps must not leave the bracket; rounding errors around 0 have no area.
    hard = ~((np.abs(step) <= 1e-3) & (root >= 0) & (root <= 1))
    if hard.any():
        size = np.abs(first) + np.abs(last)
        has_area = np.concatenate([size[part] > NO_AREA * size[part].max(initial=0) for part in parts])
        # Without steps outside of the bracket, a curve keeps the slopes of all its roots.
        is_easy = np.concatenate([np.full(size[part].shape, not hard[part].any()) for part in parts])
        root = np.where(hard, first / (first - last), root)
        hard &= has_area
        if hard.any():
            root[hard], steep[hard] = _bracketed_root(factors[:, hard])
        steep = np.where(has_area | is_easy, steep, 0.0)
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


def smoothed_error(position: Floats, mass: Floats, width: float) -> float:
    """Compute the integral of the absolute value of the masses smoothed by a reflected Gaussian of this bandwidth."""
    width = min(width, 3.0)  # from 2.8 on the reflections sum to a constant in double precision
    return CosineSeries(position, mass, width).absolute_integral(width)[0]


class Integral(NamedTuple):
    """A smoothed error that a search asks for."""

    series: CosineSeries
    width: float
    nodes: int
    is_rough: bool


Search = Generator[Integral, tuple[float, float], float]


def self_consistent_widths(masses: Iterable[tuple[Floats, Floats]], scale: float = 1.0) -> list[float]:
    """Find the fixed point s at which masses smoothed with bandwidth ``s * scale`` have the absolute integral s, for several data sets.

    The integral is non-increasing in s, so that s is unique. If s is below the smallest bandwidth, the integral there is returned. Each data
    set has its own search; smoothed errors that the searches ask for at the same time are computed together.
    """
    searches = [_width_search(position, mass, scale) for position, mass in masses]
    widths = [0.0] * len(searches)
    asked = {number: next(search) for number, search in enumerate(searches)}
    while asked:
        alike: dict[tuple[bool, int], list[int]] = {}
        for number, integral in asked.items():
            alike.setdefault((integral.is_rough, integral.nodes), []).append(number)
        for (is_rough, nodes), numbers in alike.items():
            size = max(1, NODES_AT_ONCE // nodes)
            for some in (numbers[start : start + size] for start in range(0, len(numbers), size)):
                series, each = [asked[number].series for number in some], [asked[number].width for number in some]
                values = (rough_integrals if is_rough else absolute_integrals)(series, each, nodes)
                for number, value in zip(some, values, strict=True):
                    try:
                        asked[number] = searches[number].send(value)
                    except StopIteration as end:
                        widths[number] = end.value
                        del asked[number]
    return widths


def _width_search(position: Floats, mass: Floats, scale: float) -> Search:
    """Search the fixed point of one data set."""
    position, mass = _neighbours_joined(position, mass)
    steps = next(steps for most, steps in STEPS if len(position) < most)
    series: dict[float, CosineSeries] = {}

    def error(s: float, accuracy: int) -> Generator[Integral, tuple[float, float], tuple[float, float]]:
        """The integral at s, and its elasticity: the relative change over that of s."""
        width = max(s * scale, NARROWEST)
        # A coarse series first, a finer one only if the fixed point is small.
        fits = next(filter(width.__ge__, steps))
        if fits not in series:
            series[fits] = CosineSeries(position, mass, fits, six=fits == WIDE)
        fewer = accuracy < 2 or width < NARROW
        per_width = FEWER_CURVE_NODES if fewer else CURVE_NODES
        nodes = 1 << max(6, math.ceil(math.log2(per_width / width)))
        value, change = yield Integral(series[fits], width, nodes, not accuracy)
        return value, width * change / max(value, TINY)

    # Smoothing reduces the error from that of single scores to that of all rows together; if these agree, it is constant. Any smoothed
    # error lies between them, so that one that differs clearly from that of all rows saves a sort.
    together = abs(float(mass.sum()))
    first = yield from error(FIRST_TRIED, 0)
    if together < 100 * NARROWEST and first[0] <= 1.01 * together + 1e-9:
        one_each = mass
        if not (position[1:] > position[:-1]).all():
            _, score = np.unique(position, return_inverse=True)
            one_each = np.bincount(score.ravel(), mass).astype(np.float64)
        apart = float(np.abs(one_each).sum())
        if apart - together <= 1e-14:
            return apart
    return (yield from _fixed_point(error, NARROWEST / scale, first))


def _neighbours_joined(position: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Merge consecutive masses at the same position, such as the two outcomes of a cell of a sketch."""
    new = position[1:] != position[:-1]
    if new.all():
        return position, mass
    starts = np.flatnonzero(np.concatenate([[True], new]))
    return position[starts], np.add.reduceat(mass, starts)


def _fixed_point(function: Callable[[float, int], Any], least: float, first: tuple[float, float]) -> Search:
    """Find the fixed point of a non-increasing function on [0, 1], or its value at `least` if that is smaller.

    `function` yields its value and elasticity with an accuracy from 0 to 2; `first` are those at the first argument. Newton's method is used in logarithms, in which such errors
    are nearly linear. Where the function is below its argument, the two meet between them: each value bounds the answer.
    """
    low, high, x = least, 1.0, FIRST_TRIED
    accuracy, close = 0, (ROUGH_UP_TO, FEWER_UP_TO, FINAL_STEP)
    value, elasticity = first
    for _ in range(100):
        value = max(value, TINY)
        above = math.log(value / x)
        least_is_enough = x == least and above < 0
        if accuracy == 2 and (abs(above) <= NEAR_ENOUGH or least_is_enough):
            return value if x == least else x
        low, high = max(low, min(x, value)), min(high, max(x, value))
        guess = x * math.exp(max(above / (1 - elasticity), -50.0))
        following = least if guess <= least else guess if low <= guess <= high else math.sqrt(low * high)
        if least_is_enough or abs(following / x - 1) <= close[accuracy]:
            if accuracy == 2 and x > least:
                return following
            # Bounds from less accurate values may exclude the answer.
            accuracy, low, high = min(accuracy + 1, 2), least, 1.0
        x = following
        value, elasticity = yield from function(x, accuracy)
    return x

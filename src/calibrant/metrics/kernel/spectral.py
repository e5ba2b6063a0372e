"""Residuals smoothed by a reflected Gaussian kernel on [0, 1] through their cosine series, and the fixed point of the bandwidth.

Lines of masses at the same positions, such as the residuals of resampled labels, are smoothed together, each with a bandwidth of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...util.arrays import Floats

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
CLOSE = np.array([0.02, 5e-4, 1e-7])
FIRST_TRIED, MOST_STEPS = 1 / 16, 100
# Bandwidths for which a series is computed, by the number of masses: it costs a pass over these and a transform whose length grows
# as the bandwidth shrinks, and small steps are worthwhile if the transform dominates.
STEPS = (
    (ENOUGH_MASSES, (0.004, 5e-4, NARROWEST)),
    (FEW_MASSES, (WIDE, 5e-4, NARROWEST)),
    (math.inf, (WIDE, 0.001, NARROWEST)),
)
# Lines that are transformed together, and nodes of curves that are evaluated together: few enough to stay in the processor cache.
LINES_AT_ONCE, NODES_AT_ONCE = 16, 1 << 16
# exp(-9^2 / 2) is below 1e-17.
CUT = 9.0
# Values of the curve at a zero, as a fraction of the largest at any, up to which they are rounding errors.
NO_AREA = 1e-12
# Coefficients of the second, third and fourth power in the polynomial with a given area, values at 0 and 1, and slopes there.
QUINTIC = np.array([[30.0, -18.0, -12.0, -4.5, 1.5], [-60.0, 32.0, 28.0, 6.0, -4.0], [30.0, -15.0, -15.0, -2.5, 2.5]])


@cache
def _lagrange_factors(points: int) -> Floats:
    """Compute the coefficients, highest power first, of the polynomials that are 1 at one of equally spaced points and 0 at the others.

    The points are integers, 0 and 1 the middle two.
    """
    places = range(1 - points // 2, points // 2 + 1)
    others = [[other for other in places if other != place] for place in places]
    pairs = zip(places, others, strict=True)
    return np.array([np.poly(roots) / math.prod(place - root for root in roots) for place, roots in pairs])


def cosine_terms(position: Floats, mass: Floats, width: float, six: bool = False) -> Floats:
    """Compute the cosine series of lines of point masses on [0, 1], one row for each line, accurate for kernels down to `width`.

    A mass is shared between the eight, six or four nearest nodes so that polynomials of a degree below that are integrated exactly. The error of a smoothed value is below 1e-10 of the absolute mass (1e-9 for many masses and a narrow kernel). Beyond an
    end the even extension takes over, which is the reflection.
    """
    points, per_width = 8, NODES_OF_EIGHT
    if six:
        points, per_width = 6, NODES_OF_SIX
    elif len(position) >= FEW_MASSES:
        points, per_width = 4, NODES_OF_FOUR if width >= NARROW else FEWER_NODES
    nodes = int(nodes_for(width, per_width))
    beyond = points // 2 - 1
    part = position * nodes
    left = part.astype(np.intp)
    np.minimum(left, nodes - 1, out=left)
    part -= left
    share = _share_line if len(mass) == 1 else _share_lines
    grid = share(left, part, mass, points, nodes + 1 + 2 * beyond)
    inner = grid[:, beyond : grid.shape[1] - beyond]
    inner[:, 1 : beyond + 1] += grid[:, :beyond][:, ::-1]
    inner[:, -beyond - 1 : -1] += grid[:, grid.shape[1] - beyond :][:, ::-1]
    inner[:, 1:-1] /= 2
    # The type-I cosine transform: twice the sum, with both ends once.
    both = np.concatenate([inner, inner[:, -2:0:-1]], axis=1)
    terms = np.fft.rfft(both).real[:, : number_of_terms(width)] * 2
    terms[:, 0] /= 2
    return terms


def _share_lines(left: Indices, part: Floats, mass: Floats, points: int, nodes: int) -> Floats:
    """Share masses between nodes by one product for all lines."""
    from scipy.sparse import csc_array

    shares = np.vander(part, points) @ _lagrange_factors(points).T
    places = left[:, None] + np.arange(points)
    ends = np.arange(len(part) + 1) * points
    members = csc_array((shares.ravel(), places.ravel(), ends), shape=(nodes, len(part)))
    return np.ascontiguousarray((members @ mass.T).T)


def _share_line(left: Indices, part: Floats, mass: Floats, points: int, nodes: int) -> Floats:
    """Share the masses of one line between nodes, from the sums of the powers of their distances to the node before."""
    moments, power = [], mass[0].copy()
    for _ in range(points):
        moments.append(np.bincount(left, power, nodes - points + 1))
        power *= part
    grid = np.zeros((1, nodes))
    for place, received in enumerate(_lagrange_factors(points) @ np.array(moments[::-1])):
        grid[0, place : place + len(received)] += received
    return grid


def nodes_for(width: Any, per_width: Any) -> Any:
    """Return the number of nodes at which a curve smoothed by this bandwidth is evaluated."""
    return 2 ** np.maximum(6, np.ceil(np.log2(per_width / width))).astype(np.int64)


def number_of_terms(width: float) -> int:
    """Return the number of terms of the series of masses smoothed by this bandwidth; further ones are negligible."""
    return int(CUT / (math.pi * width)) + 2


def _smooth(terms: Floats, widths: Floats) -> tuple[Floats, Floats]:
    """Compute the terms of smoothed masses, one row for each line, and their frequencies."""
    order = math.pi * np.arange(min(number_of_terms(min(widths.tolist())), terms.shape[1]), dtype=np.float64)
    return terms[:, : len(order)] * np.exp(-np.square(widths[:, None] * order) / 2), order


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


def _sign_changes(curve: Floats) -> tuple[Indices, Indices]:
    """Return row and node before each change of sign, in the order of the rows."""
    below = curve < 0
    rows, at = (below[:, 1:] != below[:, :-1]).nonzero()
    return rows, at


def rough_integrals(terms: Floats, widths: Floats, nodes: int) -> tuple[Floats, Floats]:
    """Compute `absolute_integrals` by the trapezoidal rule, with straight lines at the zeros; correct to about four digits."""
    factors = _smooth(terms, widths)[0] * nodes
    factors[:, 0] *= 2
    curve = np.fft.irfft(factors, 2 * nodes)[:, : nodes + 1]
    size = np.abs(curve)
    rows, at = _sign_changes(curve)
    first, last = size[rows, at], size[rows, at + 1]
    both = first + last
    missing, steep = (np.bincount(rows, values, len(curve)) for values in (first * last / both, both))
    whole = size.sum(axis=1) - (size[:, 0] + size[:, -1]) / 2
    return (whole - missing) / nodes, -2 * widths * steep * nodes


def absolute_integrals(terms: Floats, widths: Floats, nodes: int) -> tuple[Floats, Floats]:
    """Compute the integrals over [0, 1] of the absolute values of smoothed masses, and their derivatives by the bandwidth.

    The smoothed masses f solve the heat equation, df/dw = w f'': the integral changes by -2 w |f'| at each of their zeros.
    """
    terms, order = _smooth(terms, widths)
    order[0] = 1.0  # the constant, which has no slope and whose area is added separately
    sums = _sums(terms, -terms * order / nodes, nodes)
    curve = np.concatenate(
        [sums[:, :1], sums[:, : nodes - 1 : -1]], axis=1
    )  # mirrored, where sines have the opposite sign
    curve += sums[:, : nodes + 1]
    curve /= 2
    rows, at = _sign_changes(curve)
    twice, ends = np.concatenate([rows, rows]), np.concatenate([at, at + 1])
    steps = np.concatenate([curve[twice, ends], _odd(sums, twice, ends)]) / nodes
    area = _odd(_sums(None, terms / order, nodes), twice, ends) + (terms[:, 0] / nodes)[twice] * ends
    to_root, steep = _area_to_root(rows, area.reshape(2, -1), *steps.reshape(4, -1))
    # The antiderivative at 0, at the roots and at 1, one curve after the other.
    count = np.bincount(rows, minlength=len(terms))
    start = (count + 2).cumsum() - count - 2
    path = np.zeros(len(rows) + 2 * len(terms))
    path[np.arange(len(rows)) + 2 * rows + 1] = area[: len(at)] + to_root
    path[start + count + 1] = terms[:, 0]
    parts = np.zeros(len(path))
    np.abs(path[1:] - path[:-1], out=parts[:-1])
    parts[start + count + 1] = 0.0
    slopes = np.bincount(rows, np.abs(steep), len(terms))
    return np.add.reduceat(parts, start), -2 * widths * slopes * nodes**2


def _area_to_root(
    rows: Indices, area: Floats, first: Floats, last: Floats, rise: Floats, next_rise: Floats
) -> tuple[Floats, Floats]:
    """Compute the integral from 0 to the root of a curve on [0, 1] with a sign change, and the slope there, given values and slopes at both ends.

    `rows` are the curves to which the roots belong. The antiderivative is approximated by the quintic polynomial with these areas, values and slopes. That is
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
        size, largest = np.abs(first) + np.abs(last), np.zeros(rows[-1] + 1)
        np.maximum.at(largest, rows, size)
        has_area = size > NO_AREA * largest[rows]
        # Without steps outside of the bracket, a curve keeps the slopes of all its roots.
        is_easy = (np.bincount(rows, hard) == 0)[rows]
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


def smoothed_errors(position: Floats, mass: Floats, width: float) -> Floats:
    """Compute the integrals of the absolute values of lines of masses smoothed by a reflected Gaussian of this bandwidth."""
    width = min(width, 3.0)  # from 2.8 on the reflections sum to a constant in double precision
    terms, nodes = cosine_terms(position, mass, width), int(nodes_for(width, CURVE_NODES))
    return absolute_integrals(terms, np.full(len(mass), width), nodes)[0]


class _Masses:
    """Lines of masses, with their cosine series for some bandwidths; the lines of a data set have the same positions."""

    def __init__(self, data: Sequence[tuple[Floats, Floats]], scale: float) -> None:
        self.scale = scale
        self.data = [_join_neighbours(position, mass) for position, mass in data]
        sizes = [len(mass) for _, mass in self.data]
        self.number, self.first = np.repeat(np.arange(len(sizes)), sizes), np.cumsum(sizes) - sizes
        self.widths = np.array(
            [next(steps for most, steps in STEPS if len(position) < most) for position, _ in self.data]
        )
        self.series: dict[float, Floats] = {}
        self.known: dict[float, NDArray[np.bool_]] = {}

    def terms(self, width: float, lines: Indices) -> Floats:
        """Return the series of some lines for kernels down to `width`."""
        if width not in self.series:
            self.series[width] = np.empty((len(self.number), number_of_terms(width)))
            self.known[width] = np.zeros(len(self.number), np.bool_)
        missing = lines[~self.known[width][lines]]
        if not len(missing):
            return self.series[width][lines]
        self.known[width][missing] = True
        for number in set(self.number[missing].tolist()):
            some = missing[self.number[missing] == number]
            position, mass = self.data[number]
            for part in np.array_split(some, math.ceil(len(some) / LINES_AT_ONCE)):
                own = mass[part - self.first[number]]
                self.series[width][part] = cosine_terms(position, own, width, six=width == WIDE)
        return self.series[width][lines]

    def errors(self, lines: Indices, s: Floats, accuracy: Indices) -> tuple[Floats, Floats]:
        """Compute the integral of some lines, each at its s, and its elasticity: the relative change over that of s."""
        width = np.maximum(s * self.scale, NARROWEST)
        # A coarse series first, a finer one only if the fixed point is small.
        steps = self.widths[self.number[lines]]
        fits = steps[np.arange(len(lines)), (steps <= width[:, None]).argmax(axis=1)]
        few = (accuracy < 2) | (width < NARROW)
        nodes = nodes_for(width, np.where(few, FEWER_CURVE_NODES, CURVE_NODES))
        value, change = np.empty((2, len(lines)))
        for is_rough, count, fit in set(zip((accuracy == 0).tolist(), nodes.tolist(), fits.tolist(), strict=True)):
            integrals = rough_integrals if is_rough else absolute_integrals
            (places,) = (((accuracy == 0) == is_rough) & (nodes == count) & (fits == fit)).nonzero()
            step = max(1, NODES_AT_ONCE // count)
            for some in (places[start : start + step] for start in range(0, len(places), step)):
                value[some], change[some] = integrals(self.terms(fit, lines[some]), width[some], count)
        return value, width * change / np.maximum(value, TINY)

    def constants(self, first: Floats) -> Floats:
        """Return the error of each line that smoothing does not change, NaN for others; `first` are smoothed errors.

        Smoothing reduces the error from that of single scores to that of all rows together; if these agree, it is constant. Any smoothed error
        lies between them, so that one that differs clearly from that of all rows saves a sort.
        """
        together = np.concatenate([np.abs(mass.sum(axis=1)) for _, mass in self.data])
        found = np.full(len(first), np.nan)
        for line in np.flatnonzero((together < 100 * NARROWEST) & (first <= 1.01 * together + 1e-9)).tolist():
            number = self.number[line]
            position, mass = self.data[number]
            _, score = np.unique(position, return_inverse=True)
            apart = float(np.abs(np.bincount(score.ravel(), mass[line - self.first[number]])).sum())
            found[line] = apart if apart - together[line] <= 1e-14 else np.nan
        return found


def _join_neighbours(position: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Merge consecutive masses at the same position, such as the two outcomes of a cell of a sketch."""
    new = np.append(True, position[1:] != position[:-1])
    return (position, mass) if new.all() else (position[new], np.add.reduceat(mass, np.flatnonzero(new), axis=1))


def self_consistent_widths(data: Sequence[tuple[Floats, Floats]], scale: float = 1.0) -> Floats:
    """Find the fixed point s at which masses smoothed with bandwidth ``s * scale`` have the absolute integral s.

    Each data set consists of positions and any number of lines of masses at these; there is one s for each line.

    The integral is non-increasing in s, so that s is unique. If s is below the smallest bandwidth, the integral there is returned. Newton's method is used in
    logarithms, in which such errors are nearly linear, from rough values of the integral to accurate ones. Where the integral is below its
    argument, the two meet between them: each value bounds the answer.
    """
    masses, least = _Masses(data, scale), NARROWEST / scale
    left = np.arange(len(masses.number))
    x, low, high = np.full(len(left), FIRST_TRIED), np.full(len(left), least), np.ones(len(left))
    accuracy = np.zeros(len(left), np.intp)
    value, elasticity = masses.errors(left, x, accuracy)
    answers = masses.constants(value)
    is_open = np.isnan(answers)
    for _ in range(MOST_STEPS):
        left, accuracy = left[is_open], accuracy[is_open]
        x, low, high, value, elasticity = (state[is_open] for state in (x, low, high, value, elasticity))
        if not len(left):
            break
        value = np.maximum(value, TINY)
        above, is_last = np.log(value / x), accuracy == 2
        least_is_enough = (x == least) & (above < 0)
        is_open = ~(is_last & ((np.abs(above) <= NEAR_ENOUGH) | least_is_enough))
        answers[left] = np.where(x == least, value, x)
        low, high = np.maximum(low, np.minimum(x, value)), np.minimum(high, np.maximum(x, value))
        guess = x * np.exp(np.maximum(above / (1 - elasticity), -50.0))
        following = np.where((low <= guess) & (guess <= high), guess, np.sqrt(low * high))
        following = np.where(guess <= least, least, following)
        is_near = least_is_enough | (np.abs(following / x - 1) <= CLOSE[accuracy])
        ends = is_open & is_near & is_last & (x > least)
        answers[left[ends]] = following[ends]
        is_open &= ~ends
        # Bounds from less accurate values may exclude the answer.
        low, high = np.where(is_near, least, low), np.where(is_near, 1.0, high)
        accuracy, x = np.where(is_near, np.minimum(accuracy + 1, 2), accuracy), following
        value, elasticity = np.zeros((2, len(left)))
        if is_open.any():
            value[is_open], elasticity[is_open] = masses.errors(left[is_open], x[is_open], accuracy[is_open])
    return answers

"""Smooth calibration curves: LOESS and LOWESS as in R, and logistic regression on splines of the log-odds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UndefinedMetricError
from ..util.arrays import Floats
from ..util.blocks import map_blocks
from ..util.sums import accurate_sum
from ..views.view import View

Whole = NDArray[np.int64]

# Up to this many distinct scores each has its own fit; above, fits at nodes are interpolated.
DIRECT_SCORES = 2000
NODES = 500
# Fits at nodes use the data merged into about this many cells, each at its mean: an error of the order of
# (cell / bandwidth)^2, far below that of the interpolation.
CELLS = 4096
MOST_NEIGHBOURHOODS = 20
# Entries of one tile of nodes times rows in their windows.
TILE = 1 << 16
# Scores closer than this are treated as equal, since squares of their distances underflow.
NO_DISTANCE = 1e-150
# Smallest ratio of the eigenvalues at which the normal equations are solved directly.
SOUND = 1e-5
# Probabilities are truncated this far from 0 and 1 before taking logarithms.
LEAST = 1e-12
# Harrell's default knots, as quantiles.
KNOTS = {3: (0.1, 0.5, 0.9), 4: (0.05, 0.35, 0.65, 0.95), 5: (0.05, 0.275, 0.5, 0.725, 0.95)}
MOST_STEPS = 100
# Fraction of the rows in each neighbourhood of `lowess`, as in R.
LOWESS_SPAN = 2 / 3


class Groups(NamedTuple):
    """Tie groups: rows of equal score, in increasing order of the score."""

    score: Floats
    rate: Floats
    """Mean outcome."""
    weight: Floats
    """Fraction of the total weight times the number of rows."""
    end: Whole
    """Cumulative number of rows; a count of 3 represents three rows."""

    @property
    def rows(self) -> int:
        return int(self.end[-1])


def tie_groups(view: View) -> Groups:
    """Return the tie groups of a view; with importance weights neighbourhoods are still defined by numbers of rows."""
    ties, ends = view.ties, view.ends[1:]
    if view.weight is not None and view.weight_kind == "counts":
        ends = np.cumsum(ties.weight.astype(np.int64))
    return Groups(ties.score, ties.outcome / ties.weight, ties.weight * (float(ends[-1]) / view.total), ends)


def loess(groups: Groups, span: float, degree: int, surface: str) -> Floats:
    """Return the fitted curve at each distinct score."""
    if surface == "interpolate":
        return loess_at(groups, groups.score, span, degree)
    near, stretch = _neighbourhood(groups, span)
    nodes = max(NODES, math.ceil(200 / span))  # a short span bends more
    if len(groups.score) <= max(DIRECT_SCORES, nodes):
        return local_fits(groups, groups.score, stretch * reach(groups, groups.score, near), degree)[0]
    # A score that fills its neighbourhood alone is its own mean, which may differ from its neighbours.
    alone = np.diff(groups.end, prepend=0) >= near
    place = _place(groups)
    nearest = np.searchsorted(place, np.linspace(place[0], place[-1], nodes))
    at = groups.score[np.unique(np.minimum(nearest, len(place) - 1))]
    at = at[~alone[np.searchsorted(groups.score, at)]]
    fitted = groups.rate.copy()
    if len(at):
        value, _ = local_fits(_merge_into_cells(groups, near, CELLS), at, stretch * reach(groups, at, near), degree)
        fitted[~alone] = _hermite(at, value, _slopes(at, value), groups.score[~alone])
    return fitted


def loess_at(groups: Groups, at: Floats, span: float, degree: int) -> Floats:
    """Return the interpolated surface at any scores; those beyond the data receive its value at the nearest end."""
    if len(groups.score) == 1:
        return np.full(len(at), groups.rate[0])
    vertices, bandwidth = loess_vertices(groups, span)
    value, slope = local_fits(groups, vertices, bandwidth, degree)
    return _hermite(vertices, value, slope, np.clip(at, groups.score[0], groups.score[-1]))


def _neighbourhood(groups: Groups, span: float) -> tuple[int, float]:
    """Return the number of rows in a neighbourhood and the factor of its bandwidth: a span above 1 multiplies the squared one."""
    near = max(1, min(groups.rows, math.floor(groups.rows * span + 1e-5)))
    return near, math.sqrt(max(1.0, span))


def loess_vertices(groups: Groups, span: float) -> tuple[Floats, Floats]:
    """Return the places where R's interpolated LOESS is fitted, and their bandwidths.

    They are the cell borders of R's k-d tree: cells of more than a fifth of a window are split at their middle row, with ties kept together.
    """
    near, stretch = _neighbourhood(groups, span)
    most = math.floor(groups.rows * span * 0.2)
    low, high = groups.score[0], groups.score[-1]
    margin = 0.005 * max(high - low, 1e-10 * max(abs(low), abs(high)) + 1e-30)
    vertices = {low - margin, high + margin}
    cells = [(1, groups.rows, low - margin, high + margin)]
    while cells:
        first, last, lower, upper = cells.pop()
        if last - first + 1 <= most:
            continue
        middle = _split_row(groups.end, first, last)
        border = groups.score[np.searchsorted(groups.end, middle)]
        if border in (lower, upper):
            continue
        vertices.add(border)
        cells += [(first, middle, lower, border), (middle + 1, last, border, upper)]
    at = np.array(sorted(vertices))
    return at, stretch * reach(groups, at, near)


def loess_operator(groups: Groups, at: Floats, bandwidth: Floats, degree: int) -> tuple[Floats, Floats]:
    """Return the matrices that give value and slope of the local polynomials at each place from the rates of the groups."""
    operator = np.zeros((2, len(at), len(groups.score)))
    for place in range(len(at)):
        one_row = slice(place, place + 1)
        window, columns = _weighted_powers(groups, at[one_row], bandwidth[one_row], degree)
        powers, root = columns[0, :-1], columns[0, 0]
        length = np.sqrt(np.square(powers).sum(axis=1))
        length = np.where(length > 0, length, 1.0)
        basis, triangle = np.linalg.qr((powers / length[:, None]).T)
        inverse = np.linalg.pinv(triangle, rcond=100 * np.finfo(np.float64).eps) @ basis.T * root
        operator[0, place, window] = inverse[0] / length[0]
        if degree:
            operator[1, place, window] = inverse[1] / length[1] / max(float(bandwidth[place]), NO_DISTANCE)
    return operator[0], operator[1]


def reach(groups: Groups, at: Floats, near: int) -> Floats:
    """Return the distance from each place to its `near`-th nearest row.

    The nearest rows are neighbours in rank; the first of them is found by bisection, for the distance to it falls and that to
    the last of them rises.
    """

    def score_of(rank: Whole) -> Floats:
        return groups.score[np.searchsorted(groups.end, rank, side="right")]

    low = np.zeros(len(at), np.int64)
    high = np.full(len(at), groups.rows - near)
    while (low < high).any():
        middle = (low + high) // 2
        enough = score_of(middle + near - 1) - at >= at - score_of(middle)
        low, high = np.where(enough, low, np.minimum(middle + 1, high)), np.where(enough, middle, high)
    reaches = [
        np.maximum(at - score_of(first), score_of(first + near - 1) - at) for first in (low, np.maximum(low - 1, 0))
    ]
    distance = np.minimum(*reaches)
    return np.where(distance > NO_DISTANCE, distance, 0.0)


def _window(groups: Groups, at: Floats, bandwidth: Floats) -> tuple[slice, Floats]:
    """Return the groups within reach of any place of a tile, and their distances from each place divided by its bandwidth.

    Places of a tile are neighbours, so one slice for all of them is little longer than that of each.
    """
    bandwidth = np.maximum(bandwidth, NO_DISTANCE)
    first = int(np.searchsorted(groups.score, at - bandwidth, side="left").min())
    last = int(np.searchsorted(groups.score, at + bandwidth, side="right").max())
    window = slice(first, max(last, first + 1))
    return window, (groups.score[window] - at[:, None]) / bandwidth[:, None]


def local_fits(groups: Groups, at: Floats, bandwidth: Floats, degree: int) -> tuple[Floats, Floats]:
    """Return value and slope at each place of the polynomial in the distance over the bandwidth, fitted with tricube weights."""

    def work(start: int, stop: int) -> Floats:
        _, columns = _weighted_powers(groups, at[start:stop], bandwidth[start:stop], degree)
        coefficient = _least_squares(columns)
        width = np.maximum(bandwidth[start:stop], NO_DISTANCE)
        slope = coefficient[:, 1] / width if degree else np.zeros(len(width))
        return np.stack([coefficient[:, 0], slope])

    widest, step = _tile(groups, at, bandwidth)
    parts = map_blocks(work, len(at), step, columns=widest)
    value, slope = np.concatenate(parts, axis=1)
    return value, slope


def _tile(groups: Groups, at: Floats, bandwidth: Floats) -> tuple[int, int]:
    """Return the number of groups in the widest window, and the number of places in a tile, whose windows should overlap."""
    score = groups.score
    widths = np.searchsorted(score, at + bandwidth, "right") - np.searchsorted(score, at - bandwidth, "left") + 1
    widest = int(widths.max())
    return widest, max(1, min(TILE // widest, len(at) * widest // (4 * len(score))))


def _weighted_powers(groups: Groups, at: Floats, bandwidth: Floats, degree: int) -> tuple[slice, Floats]:
    """Return the groups in reach, and for each place the powers of their distances and their rates, times the root of the weight."""
    window, away = _window(groups, at, bandwidth)
    distance = np.minimum(np.abs(away), 1.0)
    kernel = 1 - distance * distance * distance
    root = np.sqrt(groups.weight[window] * (kernel * kernel * kernel))
    lost = ~root.any(axis=1)  # a place between rows, all of them as far away as the bandwidth
    if lost.any():
        root[lost] = np.where(np.abs(away[lost]) <= 1, np.sqrt(groups.weight[window]), 0.0)
    columns = np.empty((len(at), degree + 2, root.shape[1]))
    columns[:, 0] = root
    for power in range(degree):
        np.multiply(columns[:, power], away, out=columns[:, power + 1])
    np.multiply(root, groups.rate[window], out=columns[:, -1])
    return window, columns


def _least_squares(columns: Floats) -> Floats:
    """Solve for the coefficients of the first columns that give the last, at each place; the minimum-norm solution if there are many."""
    product = columns @ columns.transpose(0, 2, 1)
    length = np.sqrt(np.einsum("nkk->nk", product))
    length = np.where(length > 0, length, 1.0)
    product /= length[:, :, None] * length[:, None, :]
    size, turn = np.linalg.eigh(product[:, :-1, :-1])
    along = np.einsum("nij,ni->nj", turn, product[:, :-1, -1])
    sound = size[:, 0] > SOUND * size[:, -1]
    coefficients = np.einsum("nij,nj->ni", turn, along / np.where(sound[:, None], size, 1.0))
    if not sound.all():
        # By a triangular factor and its pseudo-inverse, since squaring would lose half of the digits.
        scaled = columns[~sound] / length[~sound][:, :, None]
        spare = max(0, scaled.shape[1] - scaled.shape[2])  # rows of nothing, for a square factor
        scaled = np.pad(scaled, ((0, 0), (0, 0), (0, spare)))
        factor = np.asarray(np.linalg.qr(scaled.transpose(0, 2, 1), mode="r"))
        u, s, vt = np.linalg.svd(factor[:, :-1, :-1])
        is_determined = s > 100 * np.finfo(np.float64).eps * s[:, :1]
        along = np.einsum("nij,ni->nj", u, factor[:, :-1, -1])
        inverse = np.where(is_determined, along / np.where(is_determined, s, 1.0), 0.0)
        coefficients[~sound] = np.einsum("nji,nj->ni", vt, inverse)
    return np.asarray(coefficients * length[:, -1:] / length[:, :-1])


def _place(groups: Groups) -> Floats:
    """Return the position of each score in [0, 1], half by its value and half by its rank."""
    score = groups.score
    return 0.5 * (score - score[0]) / (score[-1] - score[0]) + 0.5 * groups.end / groups.rows


def _merge_into_cells(groups: Groups, near: int, cells: int) -> Groups:
    """Merge the data into cells if these are many and small compared with a neighbourhood."""
    return groups if near * MOST_NEIGHBOURHOODS < groups.rows else merged_cells(groups, cells)[0]


def merged_cells(groups: Groups, cells: int) -> tuple[Groups, Whole]:
    """Merge the data into at most so many cells, and return the first group of each too."""
    if len(groups.score) <= cells:
        return groups, np.arange(len(groups.score))
    cell = np.minimum((_place(groups) * cells).astype(np.int64), cells - 1)
    start = np.append(0, np.flatnonzero(np.diff(cell)) + 1)
    weight = np.add.reduceat(groups.weight, start)
    score, rate = (np.add.reduceat(groups.weight * values, start) / weight for values in (groups.score, groups.rate))
    return Groups(score, rate, weight, groups.end[np.append(start[1:], len(cell)) - 1]), start


def _slopes(at: Floats, value: Floats) -> Floats:
    if len(at) < 3:
        return np.full(len(at), np.diff(value)[0] / np.diff(at)[0] if len(at) == 2 else 0.0)
    return np.asarray(np.gradient(value, at, edge_order=2))


def _hermite(at: Floats, value: Floats, slope: Floats, score: Floats) -> Floats:
    """Evaluate the cubic Hermite interpolation between places."""
    if len(at) == 1:
        return np.full(len(score), value[0])
    cell, step, t = _cells(at, score)
    first = value[cell] * (1 + 2 * t) + slope[cell] * step * t
    second = value[cell + 1] * (3 - 2 * t) - slope[cell + 1] * step * (1 - t)
    return np.asarray(first * (1 - t) ** 2 + second * t**2)


def _cells(at: Floats, score: Floats) -> tuple[Whole, Floats, Floats]:
    """Return the cell of each score between places, its width, and the position in it from 0 to 1."""
    cell = np.clip(np.searchsorted(at, score) - 1, 0, len(at) - 2)
    step = np.diff(at)[cell]
    return cell, step, (score - at[cell]) / step


def hermite_basis(at: Floats, score: Floats) -> Floats:
    """Return the coefficients of the values, then of the slopes, at each place in the interpolation at each score."""
    basis = np.zeros((len(score), 2 * len(at)))
    if len(at) == 1:
        basis[:, 0] = 1.0
        return basis
    cell, step, t = _cells(at, score)
    row = np.arange(len(score))
    basis[row, cell] = (1 + 2 * t) * (1 - t) ** 2
    basis[row, cell + 1] = (3 - 2 * t) * t**2
    basis[row, len(at) + cell] = step * t * (1 - t) ** 2
    basis[row, len(at) + cell + 1] = -step * (1 - t) * t**2
    return basis


def _split_row(end: Whole, first: int, last: int) -> int:
    """Return the last row (from 1) of the tie group whose end is nearest to the middle, the upper of two; the middle if there is none."""
    middle = (first + last) // 2
    place = int(np.searchsorted(end, middle))
    above = int(end[place]) - middle
    below = middle - int(end[place - 1]) if place > 0 else last
    if above <= below:
        return middle + above if middle + above < last else middle
    return middle - below if middle - below >= first and middle + below < last else middle


def lowess(groups: Groups, span: float, delta: float) -> Floats:
    """Fit local lines as in R's `lowess` without robustness steps: fits at places more than `delta` apart, linear between."""
    near = _lowess_neighbours(groups, span)
    score = groups.score
    fitted_rows = list(range(len(score))) if delta == 0 else [0]
    while fitted_rows[-1] < len(score) - 1:
        beyond = int(np.searchsorted(score, score[fitted_rows[-1]] + delta, side="right"))
        fitted_rows.append(max(fitted_rows[-1] + 1, beyond - 1))
    at = score[fitted_rows]
    bandwidth = reach(groups, at, near)
    source = _merge_into_cells(groups, near, 4 * CELLS)  # fewer places, so finer cells

    def work(start: int, stop: int) -> Floats:
        return _lines(source, at[start:stop], bandwidth[start:stop], float(score[-1] - score[0]))

    widest, step = _tile(source, at, bandwidth)
    fitted = np.concatenate(map_blocks(work, len(at), step, columns=widest))
    return np.interp(score, at, fitted)


def _lowess_neighbours(groups: Groups, span: float) -> int:
    return max(min(2, groups.rows), min(groups.rows, math.floor(groups.rows * span + 1e-7)))


def lowess_rows(groups: Groups, at: Floats, span: float) -> Floats:
    """Return the number of rows whose mean is as precise as the line of `lowess` at each place."""
    operator, _ = loess_operator(groups, at, reach(groups, at, _lowess_neighbours(groups, span)), 1)
    return np.asarray(1 / (operator**2 / groups.weight).sum(axis=1))


def _lines(groups: Groups, at: Floats, bandwidth: Floats, extent: float) -> Floats:
    window, away = _window(groups, at, bandwidth)
    distance = np.minimum(np.abs(away), 1.0)
    inner = 1 - distance * distance * distance
    kernel = np.where(distance <= 0.001, 1.0, np.where(distance <= 0.999, inner * inner * inner, 0.0))
    share = groups.weight[window] * kernel
    share /= share.sum(axis=1, keepdims=True)
    rate = groups.rate[window]
    centre = (share * away).sum(axis=1)
    offset = away - centre[:, None]
    mean, spread = (share * rate).sum(axis=1), (share * offset**2).sum(axis=1)
    # If the scores are nearly equal, their mean is used.
    steep = np.sqrt(spread) * bandwidth > 0.001 * extent
    slope = (share * offset * rate).sum(axis=1) / np.where(steep, spread, 1.0)
    return np.asarray(np.where(steep, mean - centre * slope, mean))


def weighted_quantile(values: Floats, mass: Floats, q: Sequence[float]) -> Floats:
    """Compute quantiles by linear interpolation between order statistics (type 7), with weights that sum to the number of rows.

    The r-th smallest value is the first up to which the weights sum to r, so a count is that many rows, and equal weights are
    none (Hmisc's `wtd.quantile` with normalised weights).
    """
    order = np.argsort(values, kind="stable")
    within = np.cumsum(mass[order])
    place = np.asarray(q) * (round(float(within[-1])) - 1)
    below = np.floor(place)
    # Sums of real weights deviate from an integer by rounding.
    rank = np.array([below + 1, below + 2]) - 1e-6
    low, high = values[order[np.minimum(np.searchsorted(within, rank), len(order) - 1)]]
    return np.asarray(low + (place - below) * (high - low))


def spline_basis(values: Floats, mass: Floats, knots: int) -> Floats:
    """Return the columns of a restricted cubic spline without its constant: the values, and one for each knot but two (Harrell)."""
    return spline_columns(values, spline_knots(values, mass, knots))


def spline_knots(values: Floats, mass: Floats, knots: int) -> Floats:
    """Return the distinct knots at Harrell's quantiles."""
    return np.unique(weighted_quantile(values, mass, KNOTS[knots]))


def spline_columns(values: Floats, at: Floats) -> Floats:
    """Return the columns for given knots; with fewer than three only the values."""
    columns = [values]
    if len(at) >= 3:
        last, before = at[-1], at[-2]
        for knot in at[:-2]:
            bend = np.maximum(values - knot, 0) ** 3
            bend -= np.maximum(values - before, 0) ** 3 * ((last - knot) / (last - before))
            bend += np.maximum(values - last, 0) ** 3 * ((before - knot) / (last - before))
            columns.append(bend / (last - at[0]) ** 2)
    return np.column_stack(columns)


class SplineFit(NamedTuple):
    """Logistic regression on the log-odds of the score, linear or as a restricted cubic spline."""

    knots: Floats
    """Knots on the scale of the log-odds; none for a line."""
    coefficients: Floats
    covariance: Floats
    """Inverse of the Fisher information."""
    fitted: Floats
    """Fitted probability of each group."""

    def design(self, score: Floats) -> Floats:
        """Return the columns of the regression at any scores."""
        columns = spline_columns(_log_odds(score), self.knots)
        return np.column_stack([np.ones(len(score)), columns])


def _log_odds(score: Floats) -> Floats:
    score = np.clip(score, LEAST, 1 - LEAST)
    return np.asarray(np.log(score) - np.log1p(-score))


def logistic_curve(groups: Groups, knots: int | None) -> Floats:
    """Return fitted probabilities of a logistic regression on the log-odds of the score, linear or as a spline."""
    return fit_spline(groups, knots).fitted


def fit_spline(groups: Groups, knots: int | None) -> SplineFit:
    """Fit a logistic regression on the log-odds of the score, linear or as a spline with so many knots."""
    logit = _log_odds(groups.score)
    knot_positions = np.empty(0) if knots is None else spline_knots(logit, groups.weight, knots)
    columns = spline_columns(logit, knot_positions)
    scale = np.append(1.0, np.maximum(np.abs(columns).max(axis=0), LEAST))
    root = np.sqrt(groups.weight)[:, None]
    design = np.column_stack([np.ones(len(logit)), columns]) / scale
    design, size, turn = np.linalg.svd(design * root, full_matrices=False)
    # Orthogonal columns of the identifiable terms.
    is_determined = size > 1e-10 * size[0]
    design = design[:, is_determined] / root
    back = (turn[is_determined] / size[is_determined][:, None]).T / scale[:, None]
    rate = float(np.average(groups.rate, weights=groups.weight))
    if not LEAST < rate < 1 - LEAST:
        raise UndefinedMetricError(
            "smoother", "a logistic curve cannot be fitted: all outcomes are equal", "use 'loess'"
        )
    start = math.log(rate / (1 - rate))
    eta, deviance = np.full(len(logit), start), math.inf
    inner, step = np.zeros(design.shape[1]), np.zeros(design.shape[1])
    for _ in range(MOST_STEPS):
        loss = accurate_sum(groups.weight * (np.logaddexp(0, eta) - groups.rate * eta))
        if loss > deviance + 1e-9 * abs(deviance):  # too far
            step = step / 2
            inner = inner - step
            eta = start + design @ inner
            continue
        deviance = loss
        fitted = np.exp(-np.logaddexp(0, -eta))
        bend = design.T @ (design * (groups.weight * fitted * (1 - fitted))[:, None])
        slope = design.T @ (groups.weight * (groups.rate - fitted))
        if np.linalg.cond(bend) > 1e14:
            break
        step = np.linalg.solve(bend, slope)
        inner = inner + step
        eta = start + design @ inner
        if np.abs(design @ step).max() < 1e-9:
            coefficients = back @ inner
            coefficients[0] += start
            covariance = back @ np.linalg.inv(bend) @ back.T
            return SplineFit(knot_positions, coefficients, covariance, np.exp(-np.logaddexp(0, -eta)))
    raise UndefinedMetricError(
        "smoother", "a logistic curve cannot be fitted: the outcomes are separated", "use 'loess'"
    )

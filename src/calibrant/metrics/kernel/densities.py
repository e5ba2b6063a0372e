"""Calibration errors from kernel density estimates of the scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import ArgumentError, UndefinedMetricError
from ...util.arrays import Floats
from ...util.blocks import map_blocks, rows_per_block
from ...util.checks import check_positive
from ...util.sums import accurate_sum
from ...views.view import VectorView, View
from ..registry import metric
from .bandwidths import Ties, first_best, group_rows, rule_width, spread, tie_groups, width_of
from .gaussian import DIRECT, SEARCHED, TILE, Lattice, check_company, convolved, left_out, other_sums, without_own

Indices = NDArray[np.intp]

SURE = 1e-12
WIDTHS = np.sort(np.concatenate([np.logspace(-5, -1, 15), np.linspace(0.2, 1, 5)]))
# Number of distinct forecasts at which the likelihood of a bandwidth is evaluated.
JUDGED = 500


class DirichletKernel:
    """Logarithms of Dirichlet densities with parameters p_j/h + 1 around each of G distinct forecasts."""

    def __init__(self, probs: Floats, width: float) -> None:
        from scipy.special import gammaln

        safe = np.clip(probs, SURE, 1 - SURE)
        self.log_probs = np.log(safe)
        self.shape = safe / width
        self.constant = gammaln((self.shape + 1).sum(axis=1)) - gammaln(self.shape + 1).sum(axis=1)

    def at(self, groups: Indices) -> Floats:
        """Evaluate all kernels at some of the forecasts, of shape (groups, G)."""
        tile: Floats = self.log_probs[groups] @ self.shape.T
        tile += self.constant
        return tile

    @property
    def at_own(self) -> Floats:
        """Evaluate each kernel at its own forecast."""
        return (self.log_probs * self.shape).sum(axis=1) + self.constant


def _exponent(norm: float) -> float:
    if math.isinf(norm):
        raise ArgumentError("norm", "must be finite, since distances are averaged", "use 1 or 2")
    return norm


def _likeliest(density: Callable[[float], tuple[Ties, Floats]]) -> float:
    """Find the bandwidth with the largest leave-one-out likelihood; `density` returns the logarithms for the rows of some ties."""

    def score(width: float) -> float:
        ties, log_density = density(width)
        return accurate_sum(ties.row_weight * log_density)

    return first_best(WIDTHS, score)


# Beta kernels.

# Cubic interpolation with this many nodes per kernel deviation has an error of 3e-6 of the peak of a kernel, and 1e-8 of sums over many.
NODES_PER_WIDTH = 12


@metric("Kernel density calibration error with Beta kernels", range=(0, 1), ideal=0, cite="popordanoska2022")
def bkde(
    view: View,
    *,
    bandwidth: float | str = "likelihood",
    norm: float = 1,
    scale: float = 1.0,
    debiased: Literal["ratio", None] = None,
) -> float:
    """Mean distance between each score and the leave-one-out Beta kernel regression of the outcomes."""
    exponent, factor = _exponent(norm), check_positive(scale, "scale")
    if debiased is not None and exponent != 2:
        raise ArgumentError("debiased", "applies to squared distances only", "use norm=2")
    if debiased is not None and view.is_soft:
        raise UndefinedMetricError("debiased", "is not defined for soft labels")
    check_company(view, 2 if debiased is None else 3)
    score, ties = tie_groups(view)
    probs = np.column_stack([1 - score, score])

    def left(width: float, direct: bool) -> tuple[Floats, Floats]:
        kernel = DirichletKernel(probs, width)
        own = kernel.at_own
        if direct:
            others = other_sums(kernel.at, ties, np.arange(len(score)))
        else:
            others = without_own(_beta_sums(probs, ties, width), np.exp(own), ties, kernel.at)
        return left_out(ties, others, own)

    few = len(score) <= SEARCHED
    width = width_of(bandwidth, ["likelihood"], lambda _: _likeliest(lambda h: (ties, left(h, few)[1])))
    if debiased is not None:
        return factor * _ratio_debiased(view, score, ties, DirichletKernel(probs, width))
    mean = left(width, len(score) <= DIRECT)[0][:, 0]
    return factor * accurate_sum(ties.row_weight * np.abs(mean - score[ties.group]) ** exponent) / view.total


def _beta_sums(probs: Floats, ties: Ties, width: float) -> Floats:
    """Compute sums of all kernels at every score, of shape (G, 2), by nodes that are dense where kernels are narrow.

    A Beta kernel has deviation sqrt(h p (1 - p)) inside and a power of p near the ends, so nodes are equally spaced in
    logit(p) + 2 arcsin(sqrt(p)) / sqrt(h), which moves by one per deviation inside and with the logit near the ends.
    """
    safe = np.clip(probs, SURE, 1 - SURE)
    warped = _warped(np.log(safe[:, 1] / safe[:, 0]), width)
    low = float(warped.min())
    lattice = Lattice((warped - low) * NODES_PER_WIDTH + 2)
    log_odds = _unwarped(low + (np.arange(lattice.size) - 2) / NODES_PER_WIDTH, width)
    log_probs = -np.logaddexp(0, np.column_stack([log_odds, -log_odds]))
    parts = np.column_stack([lattice.give(ties.weight), lattice.give(ties.outcome[:, 0])])
    sums = _node_sums(log_odds, log_probs, parts, width)
    return np.column_stack([lattice.read(column) for column in sums.T])


def _warped(log_odds: Floats, width: float) -> Floats:
    return np.asarray(log_odds + 2 / math.sqrt(width) * np.arctan(np.exp(log_odds / 2)))


def _unwarped(warped: Floats, width: float) -> Floats:
    low, high = np.full(len(warped), -40.0), np.full(len(warped), 40.0)
    for _ in range(60):
        middle = (low + high) / 2
        below = _warped(middle, width) < warped
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def _node_sums(log_odds: Floats, log_probs: Floats, parts: Floats, width: float) -> Floats:
    from scipy.special import gammaln

    with np.errstate(under="ignore"):
        shape = np.exp(log_probs) / width
    constant = gammaln((shape + 1).sum(axis=1)) - gammaln(shape + 1).sum(axis=1)
    # Kernels decay at least as exp(-x^2) with x = the difference of arcsin(sqrt(p)) over sqrt(h).
    angle = np.arctan(np.exp(log_odds / 2))
    reach = 6 * math.sqrt(width)

    def work(start: int, stop: int) -> Floats:
        near = slice(*np.searchsorted(angle, [angle[start] - reach, angle[stop - 1] + reach]))
        with np.errstate(under="ignore"):
            return np.exp(log_probs[start:stop] @ shape[near].T + constant[near]) @ parts[near]

    return np.concatenate(map_blocks(work, len(parts), 256, columns=1024))


def _ratio_debiased(view: View, score: Floats, ties: Ties, kernel: DirichletKernel) -> float:
    """Compute the mean over rows of the pair mean of other outcomes - 2 score * kernel mean + score^2, with pairs weighted by both kernels."""
    count = len(score)
    own_squares = np.add.reduceat(ties.row_weight * ties.own, ties.start[:-1])
    event_squares = np.add.reduceat(ties.row_weight * ties.own * ties.row_outcome[:, 0] ** 2, ties.start[:-1])

    def work(start: int, stop: int) -> Floats:
        tile = kernel.at(np.arange(start, stop))
        own = tile[np.arange(stop - start), np.arange(start, stop)]
        shut = np.where(ties.alone[start:stop], -np.inf, own)
        tile[np.arange(stop - start), np.arange(start, stop)] = shut
        unit = tile.max(axis=1)
        with np.errstate(under="ignore"):
            tile = np.exp(tile - unit[:, None])
            plain = tile @ np.column_stack([ties.weight, ties.outcome])
            squares = np.square(tile) @ np.column_stack([own_squares, event_squares])
            return np.column_stack([plain, squares, np.exp(shut - unit)])

    sums = np.concatenate(map_blocks(work, count, rows_per_block(count, TILE), columns=count))[ties.group]
    outcome, own = ties.row_outcome[:, 0], ties.own * sums[:, 4]
    all_, events = sums[:, 0] - own, sums[:, 1] - own * outcome
    pairs = all_**2 - (sums[:, 2] - own**2)
    event_pairs = events**2 - (sums[:, 3] - (own * outcome) ** 2)
    if not (pairs > 1e-9 * all_**2).all():
        raise UndefinedMetricError(
            "debiased",
            "requires two other rows near each row, and some have fewer at this bandwidth",
            "use a larger bandwidth",
        )
    place = score[ties.group]
    return accurate_sum(ties.row_weight * (event_pairs / pairs - 2 * place * events / all_ + place**2)) / view.total


# Dirichlet kernels.


@metric(
    "Kernel density calibration error with Dirichlet kernels",
    range=(0, 2),
    ideal=0,
    lens="canonical",
    sketch=False,
    cite="popordanoska2022",
)
def dkde(view: VectorView, *, bandwidth: float | str = "likelihood", norm: float = 1) -> float:
    """Mean distance between each forecast and the leave-one-out Dirichlet kernel regression of the labels."""
    exponent = _exponent(norm)
    check_company(view)
    # The distinct forecasts in lexicographic order, and the rows of each.
    block = view.block(0, view.n)
    order = np.lexsort(block.probs.T[::-1])
    probs = block.probs[order]
    new = np.append(True, (probs[1:] != probs[:-1]).any(axis=1))
    start = np.append(np.flatnonzero(new), view.n)
    ties = group_rows(start, view.weights[order], block.targets[order], view.weight_kind == "importance")
    probs = probs[new]
    count = len(probs)
    kernel = DirichletKernel(probs, width_of(bandwidth, ["likelihood"], lambda _: _likeliest_vector(probs, ties)))
    own = kernel.at_own

    def work(start: int, stop: int) -> float:
        some = np.arange(start, stop)
        here = ties.take(some)
        mean, _ = left_out(here, other_sums(kernel.at, ties, some), own[some])
        distance = (np.abs(mean - probs[some][here.group]) ** exponent).sum(axis=1)
        return float((here.row_weight * distance).sum())

    step = rows_per_block(max(count, view.k), TILE)
    return math.fsum(map_blocks(work, count, step, columns=count)) / view.total


def _likeliest_vector(probs: Floats, ties: Ties) -> float:
    # By sorted entries, so that the selection depends neither on the order of the rows nor on that of the classes.
    order = np.lexsort(np.sort(probs, axis=1).T)
    judges = order[np.unique(np.linspace(0, len(order) - 1, min(JUDGED, len(order))).astype(np.intp))]
    here = ties.take(judges)

    def density(width: float) -> tuple[Ties, Floats]:
        kernel = DirichletKernel(probs, width)
        return here, left_out(here, other_sums(kernel.at, ties, judges), kernel.at_own[judges])[1]

    return _likeliest(density)


# Densities of all scores and of the scores of events.

GRID = np.linspace(-0.6, 1.6, 1 << 14)


@metric("Kernel density calibration error of Mix-n-Match", range=(0, 1), ideal=0, cite="zhang2020")
def skde(view: View, *, bandwidth: float | str = "reference", norm: float = 1) -> float:
    """Mean distance between the score and the density ratio of events to all rows, integrated over the density of the scores."""
    exponent = _exponent(norm)
    score, ties = tie_groups(view)

    def choose(rule: str) -> float:
        if rule == "normal_rule":
            return rule_width(view, score, ties, "scott")
        weight = ties.outcome[:, 0]
        seen = weight > 0
        found = spread(score[seen], weight[seen]) or spread(score, ties.weight)
        return found * (2 * view.effective_size) ** -0.2

    width = width_of(bandwidth, ("reference", "normal_rule"), choose)
    if width == 0:
        return abs(view.mean(view.outcome) - float(score[0])) ** exponent
    inside = (GRID >= 0) & (GRID <= 1)
    every, events = (_mirrored_density(score, w, width)[inside] for w in (ties.weight, ties.outcome[:, 0]))
    positive = ties.outcome.sum()
    share = positive / view.total
    dense = np.maximum(every, events) > 1e-6
    place = GRID[inside]
    accuracy = np.minimum(share * events[dense] / np.maximum(every[dense], 1e-300), 1.0)
    distance = np.zeros(len(place))
    distance[dense] = np.abs(place[dense] - accuracy) ** exponent * every[dense]
    return float(np.trapezoid(distance, place) / np.trapezoid(every, place))


def _mirrored_density(score: Floats, weight: Floats, width: float) -> Floats:
    """Compute the density of the scores with reflection at the nearer end on the grid, normalised to twice the mean; 0 without weight."""
    total = accurate_sum(weight)
    if total == 0:
        return np.zeros(len(GRID))
    step = GRID[1] - GRID[0]
    place = (np.concatenate([score, np.where(score < 0.5, -score, 2 - score)]) - GRID[0]) / step
    node = np.floor(place).astype(np.intp)
    part, both = place - node, np.concatenate([weight, weight]) / total
    shared = np.bincount(node, both * (1 - part), len(GRID)) + np.bincount(node + 1, both * part, len(GRID))
    support = 3 * width  # the variance of the triweight kernel is a ninth of its squared support
    reach = int(min(support / step, len(GRID)))
    away = np.arange(-reach, reach + 1) * step / support
    kernel = 35 / 32 / support * np.maximum(1 - away**2, 0) ** 3
    return np.maximum(convolved(shared.astype(np.float64), kernel), 0.0)

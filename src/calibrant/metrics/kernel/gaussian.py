"""Gaussian kernel sums over scores, leave-one-out kernel sums, and lattices that accelerate both."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import UndefinedMetricError
from ...util.blocks import map_blocks, rows_per_block
from ...util.sums import accurate_sum
from ...views.view import View
from .bandwidths import RULES, Floats, Indices, Ties, first_best, rule_width, width_of
from .gauss_transform import gauss_transform, is_dense

# Up to this many distinct scores all pairs are summed; a bandwidth search, which does so 20 or 30 times, has a smaller limit.
DIRECT = 2048
SEARCHED = 1024
# Entries of a tile: enough rows for an efficient matrix product, and small compared with the memory of many threads.
TILE = 1 << 19
# A Gaussian is below 1e-31 of its peak at this many bandwidths.
REACH = 12.0
# Cubic interpolation of a Gaussian at this spacing has an error of 3/128 * 3 / 64^4 = 4e-9 of its peak.
NODES_PER_WIDTH = 64
MAX_NODES = 1 << 22


class Lattice:
    """Equally spaced nodes, numbered from 0; points between them are interpolated from, or distributed to, the four nearest by cubics."""

    def __init__(self, place: Floats) -> None:
        """Set the positions of the points in spacings from node 0, at least 1."""
        node = np.floor(place).astype(np.intp)
        f = place - node
        self._first = node - 1
        self._shares = (
            -f * (f - 1) * (f - 2) / 6,
            (f + 1) * (f - 1) * (f - 2) / 2,
            -(f + 1) * f * (f - 2) / 2,
            (f + 1) * f * (f - 1) / 6,
        )
        self.size = int(node.max()) + 3

    def give(self, values: Floats) -> Floats:
        """Distribute values of the points to the nodes, which preserves sums of smooth functions."""
        return np.sum(
            [np.bincount(self._first + k, share * values, self.size) for k, share in enumerate(self._shares)], axis=0
        )

    def read(self, nodes: Floats) -> Floats:
        """Interpolate a function from the nodes to the points."""
        found = self._shares[0] * nodes[self._first]
        for k in (1, 2, 3):
            found += self._shares[k] * nodes[self._first + k]
        return found


def gaussian_sums(score: Floats, parts: Floats, width: float | Floats) -> Floats:
    """Compute sum_j parts[j] exp(-(t - score[j])^2 / (2 width^2)) for every score t; scores are increasing, parts have shape (G, C).

    With one width per score the factor 1/width is included, so that every kernel has the same mass.
    """
    if not isinstance(width, float):
        return _pair_sums(score, parts / width[:, None], width)
    nodes = (score[-1] - score[0]) / width * NODES_PER_WIDTH
    if len(score) <= DIRECT or not nodes <= MAX_NODES:
        return _pair_sums(score, parts, width)
    lattice = Lattice((score - score[0]) * (NODES_PER_WIDTH / width) + 1)
    away = np.arange(-REACH * NODES_PER_WIDTH, REACH * NODES_PER_WIDTH + 1) / NODES_PER_WIDTH
    kernel = np.exp(-0.5 * away**2)
    return np.column_stack([lattice.read(convolved(lattice.give(column), kernel)) for column in parts.T])


def convolved(values: Floats, kernel: Floats) -> Floats:
    """Convolve the values with the centred kernel."""
    full = len(values) + len(kernel) - 1
    size = 1 << (full - 1).bit_length()
    spectrum = np.fft.rfft(values, size) * np.fft.rfft(kernel, size)
    half = len(kernel) // 2
    return np.fft.irfft(spectrum, size)[half : half + len(values)]


def _pair_sums(score: Floats, parts: Floats, width: float | Floats) -> Floats:
    if isinstance(width, float) and is_dense(score[0], score[-1], len(score), width):
        return gauss_transform(score, score, parts, width)
    reach = REACH * float(np.max(width))
    low, high = np.searchsorted(score, score - reach), np.searchsorted(score, score + reach, "right")
    widest = int((high - low).max())
    # The rows of a tile reach at most `widest` scores and each other.
    step = max(1, int((math.sqrt(widest**2 + 4 * TILE) - widest) / 2))

    def work(start: int, stop: int) -> Floats:
        near = slice(low[start], high[stop - 1])
        with np.errstate(under="ignore", over="ignore"):
            tile = (score[start:stop, None] - score[near]) / (width if isinstance(width, float) else width[near])
            np.square(tile, out=tile)
            tile *= -0.5
            np.exp(tile, out=tile)
            return tile @ parts[near]

    return np.concatenate(map_blocks(work, len(score), step, columns=max(widest, step)))


def adaptive_widths(score: Floats, weight: Floats, width: float) -> Floats:
    """Compute Abramson's widths, proportional to the inverse square root of a pilot density with geometric mean `width`."""
    pilot = np.log(gaussian_sums(score, weight[:, None], width)[:, 0])
    return width * np.exp((accurate_sum(weight * pilot) / accurate_sum(weight) - pilot) / 2)


# Leave-one-out sums.


class Others(NamedTuple):
    """Kernel sums at each group over the other groups."""

    unit: Floats
    """Logarithm of the unit of the sums, which may underflow in double precision."""
    weight: Floats
    outcome: Floats
    """Sums of shape (G, C)."""


LogKernel = Callable[[Indices], Floats]


def other_sums(log_kernel: LogKernel, ties: Ties, groups: Indices) -> Others:
    """Compute direct sums for some of the groups; `log_kernel` returns the logarithms of the kernels of all groups there."""
    count = len(ties.weight)
    parts = np.column_stack([ties.weight, ties.outcome])

    def work(start: int, stop: int) -> Others:
        with np.errstate(under="ignore"):
            tile = log_kernel(groups[start:stop])
            tile[np.arange(stop - start), groups[start:stop]] = -np.inf
            top = tile.max(axis=1)
            unit = np.where(top > -np.inf, top, 0.0)
            tile -= unit[:, None]
            np.exp(tile, out=tile)
            sums = tile @ parts
            return Others(unit, sums[:, 0], sums[:, 1:])

    found = map_blocks(work, len(groups), rows_per_block(count, TILE), columns=count)
    return Others(*(np.concatenate(column) for column in zip(*found, strict=True)))


def without_own(sums: Floats, own: Floats, ties: Ties, log_kernel: LogKernel) -> Others:
    """Compute sums over the other groups from approximate sums of shape (G, 1 + C) over all groups; groups that dominate their own sum are summed directly."""
    weight = sums[:, 0] - ties.weight * own
    others = Others(np.zeros(len(weight)), weight, sums[:, 1:] - ties.outcome * own[:, None])
    lonely = np.flatnonzero(~(weight > ties.weight * own))
    if len(lonely):
        for whole, some in zip(others, other_sums(log_kernel, ties, lonely), strict=True):
            whole[lonely] = some
    return others


def left_out(ties: Ties, others: Others, own_log: Floats) -> tuple[Floats, Floats]:
    """Compute for each row the kernel mean of the outcomes of all other rows, of shape (N, C), and the logarithm of their kernel sum.

    `own_log` is the logarithm of the kernel of each group at itself.
    """
    group, alone = ties.group, ties.alone
    with np.errstate(under="ignore", divide="ignore"):
        far = np.where(others.weight > 0, others.unit, -np.inf)
        unit = np.maximum(far, np.where(alone, -np.inf, own_log))
        unit = np.where(unit > -np.inf, unit, 0.0)
        outer, inner = np.exp(far - unit), np.where(alone, 0.0, np.exp(np.where(alone, 0.0, own_log - unit)))
        rest = (ties.weight[group] - ties.own) * inner[group]
        total = (others.weight * outer)[group] + rest
        kept = (ties.outcome[group] - ties.own[:, None] * ties.row_outcome) * inner[group, None]
        sums = (others.outcome * outer[:, None])[group] + kept
        mean = np.clip(sums / np.maximum(total, 1e-300)[:, None], 0.0, 1.0)
        return mean, np.log(total) + unit[group]


def check_company(view: Any, least: int = 2) -> None:
    """Raise unless there are other rows to leave one out of."""
    rows = view.n if view.weight_kind == "importance" else view.total
    if rows < least:
        raise UndefinedMetricError("leave-one-out", f"requires at least {least} rows; got {rows:g}")


def gaussian_width(view: View, score: Floats, ties: Ties, rule: Any) -> float:
    """Return the bandwidth of Gaussian kernels: a number, a rule of thumb, or by leave-one-out cross-validation."""

    def choose(name: str) -> float:
        return rule_width(view, score, ties, name) if name in RULES else _cross_validated(view, score, ties)

    return width_of(rule, (*RULES, "loo_cv"), choose)


def _cross_validated(view: View, score: Floats, ties: Ties) -> float:
    check_company(view)
    every = np.arange(len(score))
    parts = np.column_stack([ties.weight, ties.outcome])

    def fit(width: float) -> float:
        def log_kernel(groups: NDArray[np.intp]) -> Floats:
            return -0.5 * np.square((score[groups, None] - score) / width)

        if len(score) <= SEARCHED:
            others = other_sums(log_kernel, ties, every)
        else:
            others = without_own(gaussian_sums(score, parts, width), np.ones(len(score)), ties, log_kernel)
        mean, _ = left_out(ties, others, np.zeros(len(score)))
        return -accurate_sum(ties.row_weight * np.square(ties.row_outcome - mean)[:, 0])

    return first_best(np.logspace(-2, 0, 30), fit)

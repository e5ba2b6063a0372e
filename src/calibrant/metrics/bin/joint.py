"""Generalised calibration error: distances between mean forecast and mean label over cells, for any lens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...binning.partition import Auto, Partition, cells_of, partition_of
from ...binning.searches import SEARCHES, Searched
from ...binning.table import BinTable
from ...errors import ArgumentError, UndefinedMetricError
from ...util.arrays import Floats
from ...util.checks import weight_per_class
from ...views.view import Block, VectorView
from ..forms import Binned, Places, Sums
from ..registry import metric

Distance = Literal["tv", "l1", "l2", "lp", "mahalanobis", "interval"]


def _probabilities(block: Block) -> tuple[Floats, Places]:
    return block.probs, np.broadcast_to(np.arange(block.k), block.probs.shape)


@metric(
    "Generalised expected calibration error",
    range=(0, 1),
    ideal=0,
    lens="canonical",
    sketch=False,
    cite="vaicenavicius2019",
    binning="auto",
)
def gece(
    view: VectorView,
    *,
    distance: Distance = "tv",
    rule: Partition,
    gamma: float | None = None,
    min_size: int = 10,
    norm: float = 2,
    class_weight: Any = None,
    matrix: Any = None,
    indefinite: bool = False,
    interval: tuple[float, float] | None = None,
) -> Binned:
    """Mean distance between mean forecast and mean label over cells, for any lens."""
    if matrix is not None and distance != "mahalanobis":
        raise ArgumentError("matrix", f"has no effect on the distance {distance!r}", "use distance='mahalanobis'")

    def cell() -> tuple[Places, int]:
        return cells_of(view, partition_of(view, rule, gamma, min_size))

    def value(tables: Sequence[BinTable | Sums]) -> float:
        (sums,) = tables
        full = sums.weight > 0
        gap = sums.gap[full]
        if distance == "interval":
            length = _outside(sums.positives[full] / sums.weight[full, None], interval)
        elif distance == "mahalanobis":
            length = _mahalanobis(gap, matrix, indefinite)
        else:
            length = _length(gap, distance, norm, class_weight)
        return math.fsum((sums.share[full] * length).tolist())

    if distance != "interval":
        return Binned(view, _probabilities, value, rule, cell, of_excess=True)
    column = view.score_column
    if column is None:
        problem = f"'interval' requires one score per row, and {view.lens!r} has several"
        raise ArgumentError("distance", problem, "use lens='top_label'")

    def of_event(block: Block) -> tuple[Floats, Places]:
        return block.probs[:, [column]], np.full((len(block.probs), 1), column)

    return Binned(view, of_event, value, rule, cell)


@metric(
    "Debiased generalised expected calibration error",
    range=(-1 / math.e, 1),  # the limit of -(1 - 1/K)^K: K rows, one of each class, at equal probabilities
    ideal=0,
    lens="canonical",
    sketch=False,
    importance=False,
    soft=False,
    cite="vaicenavicius2019",
    binning="auto",
)
def gece_db(
    view: VectorView,
    *,
    distance: Literal["tv", "l1"] = "tv",
    rule: Partition,
    gamma: float | None = None,
    min_size: int = 10,
) -> Binned:
    """Generalised expected calibration error minus its expected value for calibrated forecasts."""
    bins = rule.how if isinstance(rule, Searched) else rule.bins if isinstance(rule, Auto) else None
    if isinstance(bins, str) and bins in SEARCHES and bins != "tcal":
        raise ArgumentError(
            "bins", f"{bins!r} chooses bins by the labels, so that the value by chance is unknown", "give a number"
        )

    @cache
    def cell() -> tuple[Places, int]:
        return cells_of(view, partition_of(view, rule, gamma, min_size))

    @cache
    def by_chance() -> float:
        return expected_absolute_gaps(view, *cell())

    def value(tables: Sequence[BinTable | Sums]) -> float:
        found = math.fsum(np.abs(tables[0].excess).sum(axis=1)) - by_chance()
        return found / tables[0].total / (2 if distance == "tv" else 1)

    return Binned(view, _probabilities, value, cell=cell, of_excess=True)


# Above this variance a Poisson binomial count is nearly normal, and its mean absolute deviation follows from an expansion.
NEARLY_NORMAL = 25.0
# Probabilities up to this enter the characteristic function through their powers.
RARE, POWERS = 0.05, 9


def expected_absolute_gaps(view: VectorView, cell: NDArray[np.intp], count: int) -> float:
    """Compute the expected sum, over cells and classes, of absolute differences between expected and simulated numbers of labels.

    The number of labels of a class in a cell is Poisson binomial. Rows with p > 1/2 are counted by the complement, so that the difference D of
    two counts has small moments.
    """
    from scipy.sparse import csr_array

    k = view.k
    moments = np.zeros((4, count, k))  # mean of D, and its second to fourth cumulants
    powers = np.zeros((2, POWERS, count, k))  # sums of powers of rare probabilities, plain and complementary
    common: list[list[NDArray[Any]]] = []
    for span, block in view.blocks():
        weight, where = view.weights[span], cell[span]
        member = csr_array((weight, (where, np.arange(len(where)))), shape=(count, len(where)))
        side = np.where(block.probs > 0.5, -1.0, 1.0)
        q = np.where(side < 0, 1 - block.probs, block.probs)
        spread = q * (1 - q)
        for place, term in enumerate((side * q, spread, side * spread * (1 - 2 * q), spread * (1 - 6 * spread))):
            moments[place] += member @ term
        for place, rare in enumerate(np.where((q <= RARE) & (side == sign), q, 0.0) for sign in (1, -1)):
            power = rare
            for r in range(POWERS):
                powers[place, r] += member @ power
                power = power * rare
        rows, columns = np.nonzero((q > RARE) & (weight[:, None] > 0))
        common.append([where[rows] * k + columns, q[rows, columns], side[rows, columns], weight[rows]])
    mean, variance, third, fourth = moments.reshape(4, -1)
    large = variance > NEARLY_NORMAL
    small = np.flatnonzero((variance > 0) & ~large)
    entries = [np.concatenate(parts) for parts in zip(*common, strict=True)]
    exact = _absolute_deviations(mean, variance, small, powers.reshape(2, POWERS, -1), entries) if len(small) else 0.0
    if not large.any():
        return exact
    sigma = np.sqrt(variance[large])
    skew, excess = third[large] / sigma**3, fourth[large] / sigma**4
    between = mean[large] - np.floor(mean[large])
    normal = sigma * math.sqrt(2 / math.pi) * (1 - excess / 24 + np.square(skew) / 24)
    lattice = (np.square(between) - between + 1 / 6) / (sigma * math.sqrt(2 * math.pi))
    return exact + math.fsum(normal - lattice)


def _absolute_deviations(
    mean: Floats, variance: Floats, small: NDArray[np.intp], powers: Floats, entries: list[NDArray[Any]]
) -> float:
    """Compute the sum of E|D - E D| over the counts `small`, from their distributions by inverting characteristic functions."""
    size = 2 * math.ceil(9 * math.sqrt(float(variance[small].max())) + 12)
    number = np.full(len(variance), -1)
    number[small] = np.arange(len(small))
    held = number[entries[0]] >= 0
    pair, q, side, weight = number[entries[0][held]], *(part[held] for part in entries[1:])
    spread = q * (1 - q)
    transform = np.ones((len(small), size // 2 + 1), complex)
    for j in range(1, size // 2 + 1):
        t = 2 * math.pi * j / size
        with np.errstate(divide="ignore"):  # log 0 where p is 1/2 and t is pi
            modulus = weight * np.log1p(-4 * spread * math.sin(t / 2) ** 2) / 2
        angle = weight * side * np.arctan2(q * math.sin(t), 1 - q + q * math.cos(t))
        exponent = np.bincount(pair, modulus, len(small)) + 1j * np.bincount(pair, angle, len(small))
        step = complex(math.cos(t) - 1, math.sin(t))
        for r in range(POWERS):
            for place, base in enumerate((step, step.conjugate())):
                exponent += (-1) ** r * base ** (r + 1) / (r + 1) * powers[place, r, small]
        transform[:, j] = np.exp(exponent)
    chance = np.fft.hfft(transform, size, axis=1) / size
    # Each residue stands for the number nearest to the mean; all others have negligible probability.
    centre, residue = mean[small, None], np.arange(size)
    away = residue + size * np.rint((centre - residue) / size) - centre
    return math.fsum((np.abs(away) * chance).sum(axis=1))


def _outside(target: Floats, bounds: Any) -> Floats:
    """Compute the distance of the mean label of each cell from the predicted interval."""
    if not (isinstance(bounds, (tuple, list)) and len(bounds) == 2 and 0 <= bounds[0] <= bounds[1] <= 1):
        raise ArgumentError(
            "interval", f"must be (low, high) with 0 <= low <= high <= 1; got {bounds!r}", "for example (0.6, 0.8)"
        )
    low, high = bounds
    return np.maximum(0, np.maximum(low - target[:, 0], target[:, 0] - high))


def _length(gap: Floats, distance: str, norm: float, class_weight: Any) -> Floats:
    if distance == "lp":
        return np.abs(gap).max(axis=1) if norm == math.inf else (np.abs(gap) ** norm).sum(axis=1) ** (1 / norm)
    if distance == "l2":
        weight = 1.0 if class_weight is None else weight_per_class(class_weight, gap.shape[1])
        return np.sqrt((np.square(gap) * weight).sum(axis=1))
    total = np.abs(gap).sum(axis=1)
    return total / 2 if distance == "tv" else total


def _mahalanobis(gap: Floats, matrix: Any, indefinite: bool) -> Floats:
    k = gap.shape[1]
    try:
        values = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape != (k, k) or not np.isfinite(values).all() or not np.allclose(values, values.T):
        raise ArgumentError(
            "matrix", f"must be a symmetric ({k}, {k}) matrix of finite numbers", "for example numpy.eye(K)"
        )
    least = float(np.linalg.eigvalsh(values)[0])
    if least < -1e-12 * max(1.0, float(np.abs(values).max())) and not indefinite:
        raise ArgumentError(
            "matrix",
            f"is not positive semi-definite: its least eigenvalue is {least:.3g}",
            "pass indefinite=True to use it nevertheless",
        )
    squared = np.einsum("ij,jk,ik->i", gap, values, gap)
    if (squared < -1e-12).any():
        raise UndefinedMetricError(
            "gece", "the squared distance of a cell is negative", "use a positive semi-definite matrix"
        )
    return np.sqrt(np.maximum(squared, 0))

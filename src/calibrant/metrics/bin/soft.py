"""Soft bins: a row belongs to several bins in part, so that the value is smooth in the scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from ...binning.parse import are_edges, several_bins
from ...binning.rules import BinningRule, Edges, check_bins, edge_values
from ...errors import ArgumentError
from ...util.arrays import Floats
from ...util.blocks import map_blocks, rows_per_block
from ...util.checks import check_positive
from ...util.sums import accurate_sum
from ...views.view import Block, VectorView, View
from ..forms import Binned, Linear, Places, predicted_class
from ..registry import metric, norm_root
from .bins import mean_absolute


def _soft_sums(n: int, bins: int, member: Callable[[int, int], tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Sum the memberships of each bin, and memberships times a number, over all rows; `member` returns both for a block."""

    def work(start: int, stop: int) -> tuple[Floats, Floats]:
        share, values = member(start, stop)
        return share.sum(axis=0), values @ share

    parts = map_blocks(work, n, rows_per_block(bins), columns=bins)
    mass = np.array([math.fsum(column) for column in np.array([part[0] for part in parts]).T])
    total = np.array([math.fsum(column) for column in np.array([part[1] for part in parts]).T])
    return mass, total


def _soft_edges(bins: Any) -> Floats:
    """Return the edges of soft bins: those of equal width for a number, or given ones from 0 to 1."""
    if are_edges(bins) and several_bins(bins) is None:
        edges = np.asarray(Edges(tuple(edge_values(bins).tolist())).edges, np.float64)
        if (edges[0], edges[-1]) != (0.0, 1.0):
            shown = f"from {edges[0]:g} to {edges[-1]:g}"
            raise ArgumentError("bins", f"edges of soft bins must extend from 0 to 1; got edges {shown}")
        return edges
    count = check_bins(bins)
    return np.arange(count + 1) / count


def _softmax(logits: Floats) -> Floats:
    share = np.exp(logits - logits.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    return share


@metric("Soft-binned expected calibration error", range=(0, 1), ideal=0, cite="karandikar2021", finish=norm_root)
def sbece(
    view: View,
    *,
    bins: int | Sequence[float] = 15,
    temperature: float = 0.01,
    norm: float = 2,
    form: Literal["soft", "label_binned"] = "soft",
) -> float:
    """Calibration error over soft bins, to which rows belong by a softmax of their distance."""
    edges, width = _soft_edges(bins), check_positive(temperature, "temperature")
    count = len(edges) - 1
    if form == "label_binned" and norm == math.inf:
        raise ArgumentError("norm", "must be finite for label-binned soft bins, to which every row contributes")
    anchors = (edges[:-1] + edges[1:]) / 2 if are_edges(bins) else (np.arange(count) + 0.5) / count
    weights = view.weights

    def share(start: int, stop: int) -> Floats:
        return _softmax(-np.square(view.score[start:stop, None] - anchors) / width) * weights[start:stop, None]

    if form == "label_binned":
        mass, positives = _soft_sums(view.n, count, lambda a, b: (share(a, b), view.outcome[a:b]))
        rate = np.divide(positives, mass, out=np.zeros(count), where=mass > 0)
        parts = map_blocks(
            lambda a, b: float((share(a, b) * np.abs(rate - view.score[a:b, None]) ** norm).sum()),
            view.n,
            rows_per_block(count),
            columns=count,
        )
        return math.fsum(parts) / view.total
    mass, excess = _soft_sums(view.n, count, lambda a, b: (share(a, b), view.score[a:b] - view.outcome[a:b]))
    gap = np.divide(np.abs(excess), mass, out=np.zeros(count), where=mass > 0)
    if norm == math.inf:
        return float(gap.max())
    return math.fsum(mass * gap**norm) / view.total


@metric(
    "Differentiable expected calibration error",
    range=(0, 1),
    ideal=0,
    lens="canonical",
    soft=False,
    sketch=False,
    cite="bohdal2023",
)
def dece(
    view: VectorView,
    *,
    bins: int | Sequence[float] = 15,
    rank_sharpness: float = 100,
    bin_temperature: float = 0.01,
) -> Linear:
    """Expected calibration error with soft bins and a soft accuracy."""
    edges = _soft_edges(bins)
    sharp, width = check_positive(rank_sharpness, "rank_sharpness"), check_positive(bin_temperature, "bin_temperature")
    count = len(edges) - 1
    number = np.arange(1, count + 1)
    # The sum of the edges below each bin.
    offset = np.cumsum(edges[:-1]) if are_edges(bins) else number * (number - 1) / (2 * count)

    def score(block: Block) -> Floats:
        return block.probs.max(axis=1) if view.score_column is None else block.probs[:, view.score_column]

    def right(block: Block) -> Floats:
        """Return 2 minus the soft rank of the true class, at least 0; each class counts by a sigmoid of its lead."""
        if view.score_column is not None:
            return block.targets[:, view.score_column]
        own = block.expect(block.probs)
        with np.errstate(over="ignore"):
            ahead = 1 / (1 + np.exp(-sharp * (block.probs - own[:, None])))
        return np.maximum(0, 1.5 - ahead.sum(axis=1))

    def numbers(block: Block) -> Floats:
        return (right(block) - score(block))[:, None]

    def factors(block: Block) -> Floats:
        return _softmax((number * score(block)[:, None] - offset) / width)

    def member(start: int, stop: int) -> tuple[Floats, Floats]:
        block = view.block(start, stop)
        return factors(block) * view.weights[start:stop, None], numbers(block)[:, 0]

    def value() -> float:
        return mean_absolute(_soft_sums(view.n, count, member)[1], view.total)

    return Linear(value, numbers, factors, mean_absolute)


@metric("LogSumExp expected calibration error", range=(0, 1), ideal=0, lens="canonical", sketch=False, cite="wang2023")
def lse_ece(view: VectorView, *, rule: BinningRule, temperature: float = 0.01) -> Binned:
    """Top-label expected calibration error with a smooth maximum as the confidence."""
    width = check_positive(temperature, "temperature")

    def scored(block: Block) -> tuple[Floats, Places]:
        if view.score_column is not None:  # a single score, without others to smooth over
            return block.probs[:, [view.score_column]], np.full((len(block.probs), 1), view.score_column)
        best = block.probs.max(axis=1)
        smooth = best + width * np.log(np.exp((block.probs - best[:, None]) / width).sum(axis=1))
        return np.minimum(smooth, 1)[:, None], predicted_class(block)

    return Binned(view, scored, lambda tables: mean_absolute(tables[0].excess, tables[0].total), rule)


@metric("Fuzzy calibration error", range=(0, 1), ideal=0, cite="bihani2023")
def fce(view: View, *, bins: int | Sequence[float] = 15) -> float:
    """Calibration error over fuzzy bins with trapezoidal memberships, normalised by the total membership."""
    edges = _soft_edges(bins)
    count = len(edges) - 1
    position = np.interp(view.score, edges, np.arange(count + 1)) if are_edges(bins) else view.score * count
    home = np.clip(np.ceil(position) - 1, 0, count - 1).astype(np.intp)
    excess = np.zeros(count)
    mass = 0.0
    residual = view.weights * (view.score - view.outcome)
    for shift in (-1, 0, 1):
        cell = home + shift
        # A trapezoid that rises from -1/4 to 1/4 of a width around the lower edge and falls likewise around the upper.
        member = np.clip(np.minimum(position - cell + 0.25, cell + 1.25 - position) * 2, 0, 1)
        member[(cell < 0) | (cell >= count)] = 0
        excess += np.bincount(np.clip(cell, 0, count - 1), member * residual, count)
        mass += accurate_sum(member * view.weights)
    return math.fsum(np.abs(excess)) / mass

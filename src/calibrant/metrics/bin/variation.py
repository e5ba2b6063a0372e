"""Variation calibration: measures of the variation of a distribution, and the binned errors that compare predicted with observed variation."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...binning.partition import bin_of_each
from ...binning.rules import BinningRule
from ...binning.table import BinTable, weighted_power
from ...errors import ArgumentError, WeightsNotSupportedError
from ...util.arrays import Floats
from ...util.checks import check_whole, is_number
from ...views.view import Block, VectorView
from ..forms import Binned, OfTables, Places, Sums, predicted_class, sums_by_bin
from ..registry import metric, norm_root
from .bins import mean_absolute

Measure = Callable[[Floats], Floats]
"""A function from probability vectors, one per row, to their variation."""
Variation = Literal[
    "entropy",
    "confidence",
    "freeman_variation_ratio",
    "wilcox_variation_ratio",
    "iqv",
    "gini",
    "avdev",
    "mndif",
    "varnc",
    "stdev",
    "hrel",
]

# Values of a user's function that exceed 0 or 1 by less are rounding errors.
SLACK = 1e-9
# Largest number of simulated rows to which counts are expanded.
MAX_ROWS = 50_000_000
# Entries of simulated rank frequencies that are evaluated at a time.
ENTRIES = 1 << 20


def entropy(q: Floats) -> Floats:
    """Compute the entropy divided by its largest value, log K."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(q > 0, q * np.log(q), 0)
    return np.clip(-terms.sum(axis=1) / math.log(q.shape[1]), 0, 1)


def _iqv(q: Floats) -> Floats:
    return q.shape[1] / (q.shape[1] - 1) * (1 - np.square(q).sum(axis=1))


def _average_deviation(q: Floats) -> Floats:
    k = q.shape[1]
    return np.clip(1 - k / (2 * (k - 1)) * np.abs(q - 1 / k).sum(axis=1), 0, 1)


def _mean_difference(q: Floats) -> Floats:
    # In increasing order, entry i is the larger one of i pairs and the smaller one of K - 1 - i.
    k = q.shape[1]
    return np.clip(1 - np.sort(q, axis=1) @ (2 * np.arange(k) - (k - 1.0)) / (k - 1), 0, 1)


def _standard_deviation(q: Floats) -> Floats:
    # Not from the sum of squares, whose rounding error the root would magnify near the uniform distribution.
    k = q.shape[1]
    return np.clip(1 - np.sqrt(k / (k - 1) * np.square(q - 1 / k).sum(axis=1)), 0, 1)


# Each is 0 for a degenerate and 1 for a uniform distribution; exceptions are Freeman's ratio and Gini's index, at most (K - 1)/K, and
# confidence, which is the first entry (of a row, the largest) and decreases with variation.
MEASURES: dict[str, Measure] = {
    "entropy": entropy,
    "confidence": lambda q: q[:, 0],
    "freeman_variation_ratio": lambda q: 1 - q.max(axis=1),
    "wilcox_variation_ratio": lambda q: q.shape[1] / (q.shape[1] - 1) * (1 - q.max(axis=1)),
    "iqv": _iqv,
    "gini": lambda q: 1 - np.square(q).sum(axis=1),
    "avdev": _average_deviation,
    "mndif": _mean_difference,
    "varnc": _iqv,
    "stdev": _standard_deviation,
    "hrel": entropy,
}


def measure_of(variation: Any) -> Measure:
    """Return the measure with this name, or a function of one probability vector as a measure."""
    if isinstance(variation, str) and variation in MEASURES:
        return MEASURES[variation]
    if callable(variation):
        return lambda q: _apply_function(variation, q)
    known = ", ".join(map(repr, MEASURES))
    problem = f"must be one of {known}, or a function of a probability vector; got {variation!r}"
    raise ArgumentError("variation", problem)


def name_of(variation: Any) -> str:
    """Return the name of a measure, or of a user's function."""
    return variation if isinstance(variation, str) else getattr(variation, "__name__", type(variation).__name__)


def _apply_function(function: Callable[[Floats], Any], q: Floats) -> Floats:
    """Apply a user's function to each vector, and check its values."""
    values = np.empty(len(q))
    for place, vector in enumerate(q):
        value = function(vector)
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        if not (is_number(value) and math.isfinite(value)):
            shown = f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)
            raise ArgumentError(
                "variation",
                f"{name_of(function)} must return one finite number for a probability vector; got {shown}",
                "for example lambda p: 1 - p.max()",
            )
        values[place] = value
    outside = (values < -SLACK) | (values > 1 + SLACK)
    if outside.any():
        raise ArgumentError(
            "variation",
            f"{name_of(function)} must return values from 0 to 1; {np.count_nonzero(outside):,} of {len(q):,} vectors lie outside, "
            f"the first with {values[int(np.argmax(outside))]:.6g}",
            "divide by its largest value",
        )
    return np.clip(values, 0, 1)


def ranking(probs: Floats) -> Places:
    """Return the classes in decreasing order of their probabilities; ties by the lowest class."""
    if probs.shape[1] == 2:
        first = (probs[:, 1] > probs[:, 0]).astype(np.intp)
        return np.column_stack([first, 1 - first])
    return np.argsort(-probs, axis=1, kind="stable")


def decreasing(probs: Floats) -> Floats:
    """Return the probabilities of each row in decreasing order."""
    if probs.shape[1] == 2:  # faster than sorting
        return np.column_stack([np.maximum(*probs.T), np.minimum(*probs.T)])
    return -np.sort(-probs, axis=1)


def rank_probs(block: Block) -> tuple[Floats, Floats]:
    """Return the probabilities in decreasing order, and the labels in the same order; ties by the lowest class."""
    order = ranking(block.probs)
    return np.take_along_axis(block.probs, order, 1), np.take_along_axis(block.targets, order, 1)


def bins_of_variation(view: VectorView, measure: Measure, rule: BinningRule) -> tuple[Floats, NDArray[np.intp], int]:
    """Return the variation of each row, its bin and the number of bins."""
    key = view.each_row(lambda block: np.clip(measure(decreasing(block.probs)), 0, 1))
    return key, *bin_of_each(view, key, rule, confidences=measure is MEASURES["confidence"])


@metric(
    "Variation calibration error",
    range=(0, 1),
    ideal=0,
    lens="canonical",
    sketch=False,
    cite="thompson2026",
    finish=norm_root,
    bins=10,
)
def vce(
    view: VectorView,
    *,
    variation: Variation | Callable[..., float] = "entropy",
    rule: BinningRule,
    norm: float = 1,
) -> Binned:
    """Mean absolute difference over bins between the predicted and the observed variation."""
    measure = measure_of(variation)

    def scored(block: Block) -> tuple[Floats, Places]:
        classes = ranking(block.probs)
        return np.take_along_axis(block.probs, classes, 1), classes

    def cell() -> tuple[Places, int]:
        return bins_of_variation(view, measure, rule)[1:]

    def value(tables: Sequence[BinTable | Sums]) -> OfTables:
        (sums,) = tables
        full = sums.weight > 0
        weight, gap = sums.weight[full][:, None], np.zeros(full.shape)
        gap[full] = np.abs(measure(sums.positives[full] / weight) - measure(sums.score_sum[full] / weight))
        return weighted_power(gap, sums.share, norm)

    return Binned(view, scored, value, rule, cell, together=True)


class SimulatedVariation:
    """Observed variation of each non-empty bin for labels that are simulated from the predicted probabilities, and the observed one.

    The bins depend on the probabilities alone, so that a simulation needs the rank of the true class of each row and nothing else. Rows
    are put in a canonical order, and counts are expanded: the same generator then gives the same values for any order of the rows.
    """

    def __init__(self, view: VectorView, variation: Any, rule: BinningRule) -> None:
        if view.weight_kind == "counts" and view.total > MAX_ROWS:
            raise WeightsNotSupportedError(
                "counts", f"simulated labels expand counts to rows, and {view.total:.3g} are too many", "use fewer rows"
            )
        self.measure = measure_of(variation)
        _, cell, count = bins_of_variation(view, self.measure, rule)
        weight, sums = sums_by_bin(view, cell, count, lambda block: np.hstack(rank_probs(block)))
        full = weight > 0
        self.k, self.weight = view.k, weight[full]
        stated, seen = np.hsplit(sums[full] / self.weight[:, None], 2)
        self.share = self.weight / view.total
        self.stated, self.observed = self.measure(stated), self.measure(seen)
        probs = view.each_row(lambda block: decreasing(block.probs))
        order = _canonical(probs, view.weights)
        if view.weight_kind == "counts":
            order = np.repeat(order, view.weights[order].astype(np.int64))
        self.row_weight = view.weights[order] if view.weight_kind == "importance" else None
        self.base = (np.cumsum(full) - 1)[cell[order]] * self.k
        rows = np.arange(len(order))
        # The cumulative probabilities of all rows in one increasing sequence, row i in [i, i + 1]: one search finds all ranks.
        self.edges = (np.minimum(np.cumsum(probs[order], axis=1)[:, :-1], 1) + rows[:, None]).ravel()
        self.rows = rows

    def reference(self, rng: Any, count: int) -> Floats:
        """Return the draws to which observed values are compared; a seed is combined with the probabilities, up to rounding.

        With the same random numbers for every data set, the error of the simulation would be nearly the same in all of them: a bias.
        """
        seed = [int(rng), zlib.crc32(np.round(self.edges, 6).tobytes())] if is_number(rng) else rng
        return self.draw(np.random.default_rng(seed), check_whole(count, "n_draws", 2))

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """Return the observed variation of each bin for `count` sets of simulated labels, one set per row."""
        bins, k = len(self.weight), self.k
        values = np.empty((count, bins))
        step = max(1, ENTRIES // (bins * k))
        for start in range(0, count, step):
            found = np.array([self._rank_sums(rng) for _ in range(min(step, count - start))])
            means = found.reshape(-1, bins, k) / self.weight[:, None]
            values[start : start + step] = self.measure(means.reshape(-1, k)).reshape(-1, bins)
        return values

    def _rank_sums(self, rng: np.random.Generator) -> Floats:
        drawn = np.searchsorted(self.edges, rng.random(len(self.rows)) + self.rows, side="right")
        place = self.base + drawn - self.rows * (self.k - 1)
        return np.bincount(place, self.row_weight, len(self.weight) * self.k).astype(np.float64)

    def corrected(self, variation: Floats, null: Floats) -> Floats:
        """Compute the squared difference from the mean of simulated values minus its expected value under calibration, by bins."""
        draws = len(null)
        return np.square(variation - null.mean(axis=0)) - (1 + 1 / draws) * null.var(axis=0, ddof=1)


def _canonical(probs: Floats, weights: Floats) -> NDArray[np.intp]:
    """Return an order of the rows that depends on their contents alone."""
    ranks = np.unique(weights, return_inverse=True)[1].ravel().astype(np.float64)
    # The bytes of non-negative doubles, most significant first, are in the order of the numbers. Rounded, so that probabilities that
    # differ in their last digits (from logits, or normalised) come in the same order.
    keys = np.ascontiguousarray(np.column_stack([probs.round(12) + 0.0, ranks]), dtype=">f8")
    return np.argsort(keys.view(np.dtype((np.void, keys.shape[1] * keys.itemsize))).ravel(), kind="stable")


@metric(
    "Debiased squared variation calibration error",
    range=(-0.75, 1),
    ideal=0,
    lens="canonical",
    soft=False,
    sketch=False,
    cite="thompson2026",
    bins=10,
)
def vce_db(
    view: VectorView,
    *,
    variation: Variation | Callable[..., float] = "entropy",
    rule: BinningRule,
    n_draws: int = 100,
    rng: Any = 0,
) -> float:
    """Mean squared difference over bins between the observed variation and that of simulated labels, minus its value under calibration."""
    simulated = SimulatedVariation(view, variation, rule)
    null = simulated.reference(rng, n_draws)
    return math.fsum(simulated.share * simulated.corrected(simulated.observed, null))


@metric(
    "Uncertainty calibration error",
    range=(0, 1),
    ideal=None,
    alternative="two-sided",
    lens="canonical",
    sketch=False,
    cite="laves2019",
    bins=10,
)
def uce(view: VectorView, *, rule: BinningRule) -> Binned:
    """Mean absolute difference over entropy bins between the error rate and the mean normalised entropy."""

    def scored(block: Block) -> tuple[Floats, Places]:
        return entropy(block.probs)[:, None], predicted_class(block)

    def cell() -> tuple[Places, int]:
        # Summed in decreasing order, so that permutations of the classes give bitwise equal values.
        return bin_of_each(view, view.each_row(lambda block: entropy(decreasing(block.probs))), rule)

    def value(tables: Sequence[BinTable | Sums]) -> float:
        return mean_absolute(tables[0].excess.ravel(), tables[0].total)

    return Binned(view, scored, value, rule, cell, is_error=True)

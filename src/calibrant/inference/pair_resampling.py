"""Values of skce_uq on all resamples simultaneously: predictions are sorted once, and each tile of pairs is computed once for all replicates.

The kernel, and the number of parts in which pairs are formed, are those of the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..metrics.kernel.embeddings import number_of_parts, without_own
from ..metrics.kernel.laplace import laplace_pair_sums
from ..metrics.kernel.pairs import Kernel, as_points, choose_kernel, cloud_of, one_column, own_order
from ..metrics.registry import Metric
from ..views.view import VectorView
from .cells import Draws, Same, shared
from .replicates import many
from .resampling import PredictionSampler, multiplicities, simulated_labels, view_keywords
from .seeds import generator

Floats = NDArray[np.float64]
OPTIONS = ("kernel", "distance", "bandwidth")

# Rows of a tile of pairs: 2 MB, large enough for efficient matrix products.
TILE = 512
# Entries of the multiplicities held at a time.
COUNT_ENTRIES = 1 << 23


class Crowd(NamedTuple):
    """The rows that are resampled, in the order of their predictions."""

    order: NDArray[np.intp]
    points: Floats
    residual: Floats
    weight: Floats
    own_weight: Floats
    """Weight of a row paired with itself."""

    @classmethod
    def of(cls, view: VectorView) -> Crowd:
        """The rows of a view."""
        block = view.block(0, view.n)
        points = as_points(block.probs) + 0.0
        order = own_order(points)
        weight = view.weights[order]
        own = weight**2 if view.weight_kind == "importance" else weight
        return cls(order, points[order], (block.targets - block.probs)[order], weight, own)


def with_width_of_data(metric: Metric, options: dict[str, Any], sampler: PredictionSampler) -> dict[str, Any]:
    """Options with the kernel width of the data, which is that of its bootstrap replicates, in place of a median."""
    keywords = {**metric.options, **options}
    if not set(OPTIONS) <= set(metric.options) or keywords["bandwidth"] != "median":
        return options
    views = metric.views(sampler.predictions, **view_keywords(metric, options))
    if len(views) > 1 or not isinstance(views[0], VectorView):
        return options
    width = choose_kernel(cloud_of(one_column(views[0])), *(keywords[option] for option in OPTIONS)).width
    return {**options, "bandwidth": width} if math.isfinite(width) else options


def skce_draws(
    metric: Metric, options: dict[str, Any], sampler: PredictionSampler, draws: Draws, count: int, seed: int
) -> Floats | None:
    """Values of `skce_uq` on resamples; None where one-by-one evaluation is as fast."""
    views = metric.views(sampler.predictions, **view_keywords(metric, options))
    if len(views) != 1 or not isinstance(views[0], VectorView) or views[0].lens != "canonical":
        return None
    view, keywords = one_column(views[0]), {**metric.options, **options}

    def make() -> tuple[Crowd, Kernel, int]:
        cloud = cloud_of(view)
        kernel = choose_kernel(cloud, *(keywords[option] for option in OPTIONS))
        return Crowd.of(view), kernel, number_of_parts(cloud, kernel, keywords["exact"])

    chosen = tuple(keywords[option] for option in (*OPTIONS, "exact"))
    crowd, kernel, parts = shared(("crowd", Same(sampler.predictions), chosen), make)
    if keywords["kernel"] == "exponential" and crowd.points.shape[1] == 1:
        return _values_on_a_line(crowd, kernel, sampler, draws, count, seed)
    if draws != "rows":
        return None
    if parts == 1:
        drawn = multiplicities(sampler, seed)
        return _values_in_tiles(crowd, kernel, lambda number: drawn(number)[crowd.order].astype(np.float64), count)

    def value_in_parts(number: int) -> float:
        rows = sampler.predictions.take(sampler.picked(generator(seed, number)))
        replicate = metric.views(rows, **view_keywords(metric, options))[0]
        assert isinstance(replicate, VectorView)
        total, weight = without_own(cloud_of(one_column(replicate)), kernel, parts)
        return total / weight if weight > 1e-12 else math.nan

    return np.array(many(value_in_parts, count), dtype=np.float64)


def _values_on_a_line(
    crowd: Crowd, kernel: Kernel, sampler: PredictionSampler, draws: Draws, count: int, seed: int
) -> Floats:
    """The mean over pairs of different rows of two classes, with an exponential kernel."""
    position = crowd.points[:, 0]
    own, pairs = np.zeros(count), np.zeros(count)
    labels, drawn = simulated_labels(sampler, seed), multiplicities(sampler, seed)

    def residuals() -> Iterator[Floats]:
        """Weighted residuals of each resample; the sums over self-pairs and the weight of the others are added to their lists."""
        weight, own_weight, residual = crowd.weight, crowd.own_weight, crowd.residual[:, 1]
        pairs[:] = _weight_of_pairs(weight, own_weight)
        for number in range(count):
            if draws == "rows":
                counts = drawn(number)[crowd.order]
                weight, own_weight = counts * crowd.weight, counts * crowd.own_weight
                pairs[number] = _weight_of_pairs(weight, own_weight)
            elif draws == "outcomes":
                residual = labels(number)[crowd.order] - position
            else:
                residual = sampler.class_chances[crowd.order, 1] - position
            own[number] = own_weight @ np.square(residual)
            yield weight * residual

    with np.errstate(over="ignore", under="ignore"):
        every = np.array(laplace_pair_sums(position, residuals(), kernel.width / kernel.scale))
    return 2 * (every - own) / pairs


def _weight_of_pairs(weight: Floats, own_weight: Floats) -> float:
    """The weight of pairs of different rows; NaN for a single row with all the weight."""
    square = float(weight.sum()) ** 2
    different = square - float(own_weight.sum())
    return different if different > 1e-12 * square else math.nan


def _values_in_tiles(crowd: Crowd, kernel: Kernel, picked: Callable[[int], Floats], count: int) -> Floats:
    """The mean over pairs of different rows of bootstrap replicates."""
    own_term = crowd.own_weight * np.einsum("ij,ij->i", crowd.residual, crowd.residual)
    step = max(1, COUNT_ENTRIES // len(crowd.order))
    values = []
    for start in range(0, count, step):
        counts = np.array([picked(number) for number in range(start, min(start + step, count))])
        own, own_terms = counts @ crowd.own_weight, counts @ own_term
        counts *= crowd.weight
        square = counts.sum(axis=1) ** 2
        every = _pair_sums(crowd, kernel, np.ascontiguousarray(counts.T)) - own_terms
        # A single row with all the weight has no pairs.
        values.append(np.where(square - own > 1e-12 * square, every, np.nan) / np.maximum(square - own, 1e-300))
    return np.concatenate(values)


def _pair_sums(crowd: Crowd, kernel: Kernel, weight: Floats) -> Floats:
    """For each column w of `weight` the sum over pairs k(p_i, p_j) w_i w_j <r_i, r_j>."""
    sums = np.zeros(weight.shape[1])
    spans = [slice(start, start + TILE) for start in range(0, len(weight), TILE)]
    for place, a in enumerate(spans):
        for b in spans[place:]:  # each pair of tiles once; BLAS is multithreaded
            tile = kernel.between(crowd.points[a], crowd.points[b])
            tile *= crowd.residual[a] @ crowd.residual[b].T
            sums += (1 if a == b else 2) * np.einsum("ij,ij->j", weight[a], tile @ weight[b])
    return sums

"""Values of skce_uq on all resamples simultaneously: predictions are sorted once, and each tile of pairs is computed once for all replicates.

The value is the sum over pairs of different rows of w_i w_j k(p_i, p_j) <r_i, r_j>, with residuals r = e_y - p, divided by the weight of these
pairs. Simulated labels change the residuals alone, bootstrap replicates the weights alone. The kernel, and the number of parts in which pairs
are formed, are those of the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..metrics.kernel.embeddings import number_of_parts, without_own
from ..metrics.kernel.laplace import laplace_pair_sums
from ..metrics.kernel.pairs import Kernel, as_points, choose_kernel, cloud_of, one_column, own_order
from ..metrics.registry import Metric
from ..util.arrays import Floats
from ..util.cached import cached_property
from ..views.view import VectorView
from .cells import shared
from .replicates import many
from .resampling import PredictionSampler, Resamples, label_lines, multiplicities, view_keywords, views_of_metric
from .seeds import generator

OPTIONS = ("kernel", "distance", "bandwidth")

# Rows of a tile of pairs: 2 MB, small enough for the processor cache, where each set of labels adds it up.
TILE = 512
# Tiles of this many bytes are kept for the next resamples.
MOST_KEPT = 1 << 26
# Entries of the multiplicities held at a time, and of lines of residuals.
COUNT_ENTRIES, LINE_ENTRIES = 1 << 23, 1 << 18
# Share of the rows from which on all pairs of a label are added by a product of matrices.
COMMON = 1 / 16


@dataclass(frozen=True, eq=False)
class Crowd:
    """The rows that are resampled, in the order of their predictions."""

    order: NDArray[np.intp]
    probs: Floats
    residual: Floats
    weight: Floats
    own_weight: Floats
    """Weight of a row paired with itself."""
    kernel: Kernel

    @classmethod
    def of(cls, view: VectorView, kernel: Kernel) -> Crowd:
        """The rows of a view."""
        block = view.block(0, view.n)
        probs = block.probs + 0.0
        order = own_order(as_points(probs))
        weight = view.weights[order]
        own = weight**2 if view.weight_kind == "importance" else weight
        return cls(order, probs[order], (block.targets - probs)[order], weight, own, kernel)

    @property
    def points(self) -> Floats:
        """The columns whose distances are computed."""
        return as_points(self.probs)

    def tiles(self) -> Iterable[Tile]:
        """All pairs, each pair of tiles once."""
        return self.few_tiles if 4 * len(self.order) ** 2 <= MOST_KEPT else self.every_tile()

    @cached_property
    def few_tiles(self) -> list[Tile]:
        """All tiles, which are kept for the next resamples."""
        return list(self.every_tile())

    def every_tile(self) -> Iterator[Tile]:
        """One tile after the other."""
        points = self.points
        spans = [slice(start, start + TILE) for start in range(0, len(points), TILE)]
        for place, a in enumerate(spans):
            for b in spans[place:]:
                times = 1 if a is b else 2
                yield Tile(
                    a, b, times * self.weight[a, None] * self.kernel.between(points[a], points[b]) * self.weight[b]
                )

    @cached_property
    def near(self) -> Floats:
        """The probabilities of all rows, weighted by their pairs with each row."""
        near = np.zeros(self.probs.shape)
        for a, b, pairs in self.tiles():
            near[a] += pairs @ self.probs[b] / 2
            near[b] += pairs.T @ self.probs[a] / 2
        return near


class Tile(NamedTuple):
    """The pairs of the rows of two spans."""

    a: slice
    b: slice
    pairs: Floats
    """The kernel of two rows times their weights, twice that where a pair of rows occurs once."""


def with_width_of_data(metric: Metric, options: dict[str, Any], sampler: PredictionSampler) -> dict[str, Any]:
    """Options with the kernel width of the data, which is that of its bootstrap replicates, in place of a median."""
    keywords = {**metric.options, **options}
    if not set(OPTIONS) <= set(metric.options) or keywords["bandwidth"] != "median":
        return options
    views = views_of_metric(metric, sampler.predictions, options)
    if len(views) > 1 or not isinstance(views[0], VectorView):
        return options
    width = choose_kernel(cloud_of(one_column(views[0])), *(keywords[option] for option in OPTIONS)).width
    return {**options, "bandwidth": width} if math.isfinite(width) else options


def skce_draws(metric: Metric, options: dict[str, Any], samples: Sequence[Resamples]) -> Floats | None:
    """Values of `skce_uq` on resamples, equally many of each sampler; None where one-by-one evaluation is as fast."""
    sampler, draws, count, seed = samples[0]
    assert isinstance(sampler, PredictionSampler)
    views = views_of_metric(metric, sampler.predictions, options)
    if len(views) != 1 or not isinstance(views[0], VectorView) or views[0].lens != "canonical":
        return None
    view, keywords = one_column(views[0]), {**metric.options, **options}

    def make() -> tuple[Crowd, int]:
        cloud = cloud_of(view)
        kernel = choose_kernel(cloud, *(keywords[option] for option in OPTIONS))
        return Crowd.of(view, kernel), number_of_parts(cloud, kernel, keywords["exact"])

    chosen = tuple(keywords[option] for option in (*OPTIONS, "exact"))
    crowd, parts = shared(("crowd", sampler.predictions, chosen), make)
    if keywords["kernel"] == "exponential" and crowd.points.shape[1] == 1:
        return _values_on_a_line(crowd, samples)
    if parts == 1:
        if draws == "population":
            chances = (cast(PredictionSampler, sample.sampler).class_chances for sample in samples)
            return _values_of_chances(crowd, [chance[crowd.order] for chance in chances])
        if draws == "outcomes":
            labels = label_lines(samples, count * len(samples))
            return _values_of_labels(crowd, next(labels)[:, crowd.order])
        picked = multiplicities(sampler, seed)
        return _values_of_counts(crowd, lambda number: picked(number)[crowd.order].astype(np.float64), count)
    if draws != "rows":
        return None

    def value_in_parts(number: int) -> float:
        rows = sampler.predictions.take(sampler.picked(generator(seed, number)))
        replicate = metric.views(rows, **view_keywords(metric, options))[0]
        assert isinstance(replicate, VectorView)
        total, weight = without_own(cloud_of(one_column(replicate)), crowd.kernel, parts)
        return total / weight if weight > 1e-12 else math.nan

    return np.array(many(value_in_parts, count), dtype=np.float64)


def _values_on_a_line(crowd: Crowd, samples: Sequence[Resamples]) -> Floats:
    """The mean over pairs of different rows of two classes, with an exponential kernel."""
    position, width = crowd.points[:, 0], crowd.kernel.width / crowd.kernel.scale
    most = max(1, LINE_ENTRIES // len(position))

    def values(residual: Floats, weight: Floats = crowd.weight, own_weight: Floats = crowd.own_weight) -> Floats:
        with np.errstate(over="ignore", under="ignore"):
            every = laplace_pair_sums(position, weight * residual, width)
        own = (own_weight * np.square(residual)).sum(axis=-1)
        return 2 * (every - own) / _weight_of_pairs(weight.sum(axis=-1), own_weight.sum(axis=-1))

    sampler, draws, count, seed = samples[0]
    if draws == "outcomes":
        return np.concatenate([values(labels[:, crowd.order] - position) for labels in label_lines(samples, most)])
    if draws == "population":
        chances = (cast(PredictionSampler, sample.sampler).class_chances[crowd.order, 1] for sample in samples)
        return np.concatenate([values(chance[None] - position) for chance in chances])
    drawn, parts = multiplicities(cast(PredictionSampler, sampler), seed), []
    for start in range(0, count, most):
        counts = np.array([drawn(number) for number in range(start, min(start + most, count))])[:, crowd.order]
        parts.append(values(crowd.residual[:, 1], counts * crowd.weight, counts * crowd.own_weight))
    return np.concatenate(parts)


def _weight_of_pairs(weight: Any, own_weight: Any) -> Floats:
    """The weight of pairs of different rows, from that of all rows and of pairs of a row with itself; NaN for a single row with all the weight."""
    different = weight**2 - own_weight
    return np.where(different > 1e-12 * weight**2, different, np.nan)


def _values_of_chances(crowd: Crowd, chances: list[Floats]) -> Floats:
    """The mean over pairs of different rows with the probabilities of the labels as soft labels, for each of several."""
    residual = np.hstack([chance - crowd.probs for chance in chances])
    every = -crowd.own_weight @ np.square(residual)
    for a, b, pairs in crowd.tiles():
        every += np.einsum("ij,ij->j", residual[a], pairs @ residual[b])
    return np.asarray(
        every.reshape(len(chances), -1).sum(axis=1) / _weight_of_pairs(crowd.weight.sum(), crowd.own_weight.sum())
    )


def _values_of_labels(crowd: Crowd, labels: NDArray[Any]) -> Floats:
    """The mean over pairs of different rows for each set of labels.

    The product of the residuals of two rows is 1{y = y'} - p[y'] - p'[y] + <p, p'>, of which only the first term needs all pairs anew.
    """
    probs, near, same = crowd.probs, crowd.near, np.zeros(len(labels))
    for a, b, pairs in crowd.tiles():
        same += sums_of_equal_labels(pairs, labels[:, a], labels[:, b], probs.shape[1])
    rows = np.arange(len(probs))
    every = same - 2 * near[rows, labels].sum(axis=1) + np.vdot(probs, near)
    own_term = (1 + np.square(probs).sum(axis=1) - 2 * probs[rows, labels]) @ crowd.own_weight
    return np.asarray((every - own_term) / _weight_of_pairs(crowd.weight.sum(), crowd.own_weight.sum()))


def sums_of_equal_labels(pairs: Floats, first: NDArray[Any], second: NDArray[Any], k: int) -> Floats:
    """The sums over the pairs of rows with the same label, for each set of labels: one product for a common label, pair by pair for others."""
    is_common = np.bincount(first.ravel(), minlength=k) > COMMON * first.size
    sums = np.zeros(len(first))
    for label in np.flatnonzero(is_common):
        sums += ((first == label).astype(np.float64) @ pairs * (second == label)).sum(axis=1)
    if is_common.all():
        return sums
    # In the order of the labels, the rows with the same label are consecutive.
    sets = k * np.arange(len(first))[:, None]
    count = np.bincount((second + sets).ravel(), minlength=k * len(first))
    times = np.where(is_common[first], 0, count[first + sets])
    start = (count.cumsum() - count)[first + sets] - times.cumsum(axis=1) + times
    order, rows, size = second.argsort(axis=1, kind="stable").ravel(), np.arange(first.shape[1]), second.shape[1]
    for number in range(len(first)):
        row = rows.repeat(times[number])
        column = order.take(np.arange(len(row)) + start[number].take(row))
        sums[number] += pairs.ravel().take(row * size + column).sum()
    return sums


def _values_of_counts(crowd: Crowd, picked: Callable[[int], Floats], count: int) -> Floats:
    """The mean over pairs of different rows of bootstrap replicates."""
    own_term = crowd.own_weight * np.einsum("ij,ij->i", crowd.residual, crowd.residual)
    step = max(1, COUNT_ENTRIES // len(crowd.order))
    values = []
    for start in range(0, count, step):
        counts = np.array([picked(number) for number in range(start, min(start + step, count))])
        times, every = np.ascontiguousarray(counts.T), -(counts @ own_term)
        for a, b, pairs in crowd.tiles():  # BLAS is multithreaded
            products = pairs * (crowd.residual[a] @ crowd.residual[b].T)
            every += np.einsum("ij,ij->j", times[a], products @ times[b])
        values.append(every / _weight_of_pairs(counts @ crowd.weight, counts @ crowd.own_weight))
    return np.concatenate(values)

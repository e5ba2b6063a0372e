"""Values of skce_uq on all resamples simultaneously: predictions are sorted once, and each tile of pairs is computed once for all replicates.

Replicates with different kernel widths are obtained from a power series in the width, which differs little between replicates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..metrics.kernel.embeddings import number_of_parts, without_own
from ..metrics.kernel.laplace import laplace_pair_sums
from ..metrics.kernel.pairs import (
    MEDIAN_ROWS,
    Cloud,
    Kernel,
    as_points,
    choose_kernel,
    cloud_of,
    evenly_spaced,
    medians_of_selections,
    one_column,
    own_order,
)
from ..metrics.registry import Metric
from ..views.view import VectorView
from .cells import Draws
from .replicates import many
from .resampling import PredictionSampler, multiplicities, simulated_labels, view_keywords
from .seeds import generator

Floats = NDArray[np.float64]

# Rows of a tile of pairs: 2 MB, large enough for efficient matrix products.
TILE = 512
# Entries of the multiplicities held at a time.
COUNT_ENTRIES = 1 << 23
# Terms of the series below this are omitted; a pair contributes at most 2.
SMALLEST_TERM = 1e-13
# With more terms, or a smaller share of distinct predictions, one-by-one evaluation is faster.
MOST_TERMS = 20
DISTINCT_SHARE = 0.5


class Crowd(NamedTuple):
    """The rows that are resampled, in the order of their predictions."""

    order: NDArray[np.intp]
    points: Floats
    residual: Floats
    weight: Floats
    own_weight: Floats
    """Weight of a row paired with itself."""
    starts: NDArray[np.intp]
    """First row of each distinct prediction."""
    is_weighted: bool

    def weighted(self, counts: Floats) -> Floats:
        """The weight of each row in a replicate."""
        return counts * self.weight if self.is_weighted else counts

    def cloud(self, counts: Floats) -> Cloud:
        """The cloud of a replicate, as far as the kernel width depends on it."""
        weight, rows = self.weighted(counts), float(counts.sum())
        if rows > MEDIAN_ROWS:  # only predictions that are evenly spaced in the order of their weight are read
            return Cloud(self.points, weight, self.points, weight, weight, rows)
        total = float(weight.sum())
        share, own = weight / total, counts * self.own_weight / total**2
        if len(self.starts) < len(weight):
            share, own = np.add.reduceat(weight, self.starts) / total, np.add.reduceat(own, self.starts)
        there = share > 0
        points = self.points[self.starts[there]]
        return Cloud(points, share[there], points, own[there], own[there], rows)


def skce_draws(
    metric: Metric, options: dict[str, Any], sampler: PredictionSampler, draws: Draws, count: int, seed: int
) -> Floats | None:
    """Values of `skce_uq` on resamples; None where one-by-one evaluation is as fast."""
    views = metric.views(sampler.predictions, **view_keywords(metric, options))
    if len(views) != 1 or not isinstance(views[0], VectorView) or views[0].lens != "canonical":
        return None
    view = one_column(views[0])
    keywords = {**metric.options, **options}
    shape = keywords["kernel"], keywords["distance"], keywords["bandwidth"]
    crowd = _crowd(view)
    quick = keywords["kernel"] == "exponential" and crowd.points.shape[1] == 1
    if draws == "outcomes" and not quick:
        return None
    cloud = crowd.cloud(np.ones(view.n)) if quick else cloud_of(view)
    kernel = choose_kernel(cloud, *shape)
    if draws == "outcomes":
        return _values_of_labels(crowd, kernel, simulated_labels(sampler, seed), count)
    parts = 1 if quick else number_of_parts(cloud, kernel, keywords["exact"])
    if parts > 1:  # of a replicate, which has fewer distinct predictions, as many as of the data

        def value_in_parts(number: int) -> float:
            rows = sampler.predictions.take(sampler.picked(generator(seed, number)))
            replicate = metric.views(rows, **view_keywords(metric, options))[0]
            assert isinstance(replicate, VectorView)
            own = cloud_of(one_column(replicate))
            total, weight = without_own(own, choose_kernel(own, *shape), parts)
            return total / weight if weight > 1e-12 else math.nan

        return np.array(many(value_in_parts, count), dtype=np.float64)
    if not quick and len(cloud.points) < DISTINCT_SHARE * view.n:
        return None

    drawn = multiplicities(sampler, seed)

    def picked(number: int) -> Floats:
        return drawn(number)[crowd.order].astype(np.float64)

    def rate(number: int) -> float:
        return _rate(choose_kernel(crowd.cloud(picked(number)), *shape))

    if quick:
        residual = np.ascontiguousarray(crowd.residual[:, 1])  # the other column has the opposite sign
        squares = np.square(residual)

        def value(number: int) -> float:
            counts = picked(number)
            near = choose_kernel(crowd.cloud(counts), *shape, kernel.width)
            return _value_on_a_line(crowd, residual, squares, counts, near.width / near.scale)

        return np.array(many(value, count), dtype=np.float64)
    fixed = not isinstance(keywords["bandwidth"], str)
    if fixed:
        rates = np.full(count, _rate(kernel))
    elif view.n > MEDIAN_ROWS and sampler.clusters is None:
        # As many rows in each replicate as there are, of which some are read for the width of the kernel.
        chosen = many(lambda number: evenly_spaced(_share(crowd, picked(number)), MEDIAN_ROWS), count)
        medians = medians_of_selections(crowd.points, chosen, kernel.metric, kernel.scale)
        rates = np.array([_rate(kernel._replace(width=median)) for median in medians.tolist()])
    else:
        rates = np.array(many(rate, count))
    return _values(crowd, kernel, rates, picked)


def _values_of_labels(crowd: Crowd, kernel: Kernel, labels: Callable[[int], NDArray[Any]], count: int) -> Floats:
    """The mean over pairs of different rows of two classes for simulated labels, with an exponential kernel."""
    position, own = crowd.points[:, 0], np.zeros(count)

    def residuals() -> Iterator[Floats]:
        for number in range(count):
            residual = labels(number)[crowd.order] - position
            own[number] = crowd.own_weight @ np.square(residual)
            yield crowd.weight * residual

    with np.errstate(over="ignore", under="ignore"):
        every = np.array(laplace_pair_sums(position, residuals(), kernel.width / kernel.scale))
    square = float(crowd.weight.sum()) ** 2
    pairs = square - float(crowd.own_weight.sum())
    return 2 * (every - own) / pairs if pairs > 1e-12 * square else np.full(count, np.nan)


def _share(crowd: Crowd, counts: Floats) -> Floats:
    weight = crowd.weighted(counts)
    return np.asarray(weight / float(weight.sum()))


def _crowd(view: VectorView) -> Crowd:
    block = view.block(0, view.n)
    points = as_points(block.probs) + 0.0
    order = own_order(points)
    points = points[order]
    starts = np.flatnonzero(np.append(True, (points[1:] != points[:-1]).any(axis=1)))
    weight = view.weights[order]
    own = weight**2 if view.weight_kind == "importance" else weight
    return Crowd(order, points, (block.targets - block.probs)[order], weight, own, starts, view.weight is not None)


def _value_on_a_line(crowd: Crowd, residual: Floats, squares: Floats, counts: Floats, width: float) -> float:
    """The mean over pairs of different rows of two classes, with an exponential kernel; `squares` are those of the residuals."""
    weight = crowd.weighted(counts)
    with np.errstate(over="ignore", under="ignore"):
        every = 2 * laplace_pair_sums(crowd.points[:, 0], [weight * residual], width)[0]
    own = counts * crowd.own_weight if crowd.is_weighted else counts
    square = float(weight.sum()) ** 2
    pairs = square - float(own.sum())
    return (every - 2 * float(own @ squares)) / pairs if pairs > 1e-12 * square else math.nan


def _rate(kernel: Kernel) -> float:
    """The kernel is exp(-rate * reach), where the reach is the distance, or its square for a Gaussian kernel."""
    return 1 / kernel.width if kernel.shape == "exponential" else 0.5 / kernel.width**2


class Series(NamedTuple):
    """exp(-rate reach) = exp(-middle reach) exp(-origin off) sum_m (-off)^m (reach - origin)^m / m!, off = rate - middle."""

    middle: float
    origin: float
    terms: int

    @classmethod
    def of(cls, rates: Floats, farthest: float) -> Series:
        """The shortest sufficient series; reaches lie between 0 and `farthest`."""
        low, high = float(rates.min()), float(rates.max())
        middle, off = (low + high) / 2, (high - low) / 2
        # Around half the largest reach, terms shrink by off * farthest / 2 over m; around 0 the kernel bounds them.
        half = _terms(lambda m: (off * farthest / 2) ** m / math.factorial(m))
        zero = _terms(
            lambda m: (off * min(farthest, m / (math.e * middle) if middle else 0.0)) ** m / math.factorial(m)
        )
        return cls(middle, farthest / 2, half) if half <= zero else cls(middle, 0.0, zero)

    def sums(self, rates: Floats, powers: Floats) -> Floats:
        """The sums over pairs for each rate, from those of each power of the reach."""
        off = self.middle - rates
        total = np.zeros(len(rates))
        for m in range(self.terms - 1, -1, -1):
            total = powers[m] + total * off / (m + 1)
        return total * np.exp(self.origin * off)


def _terms(size: Callable[[int], float]) -> int:
    return next((m for m in range(1, MOST_TERMS + 1) if size(m) <= SMALLEST_TERM), MOST_TERMS + 1)


def _values(crowd: Crowd, kernel: Kernel, rates: Floats, picked: Callable[[int], Floats]) -> Floats | None:
    """The mean over pairs of different rows, for the rate of each replicate."""
    if not np.isfinite(rates).all():
        return None
    distance = 1.0 if kernel.metric == "cityblock" else math.sqrt(2)  # the largest of two probability vectors
    series = Series.of(rates, distance if kernel.shape == "exponential" else distance**2)
    if series.terms > MOST_TERMS:
        return None
    own_term = crowd.own_weight * np.einsum("ij,ij->i", crowd.residual, crowd.residual)
    step = max(1, COUNT_ENTRIES // len(crowd.order))
    values = []
    for start in range(0, len(rates), step):
        numbers = range(start, min(start + step, len(rates)))
        counts = np.array([picked(number) for number in numbers])
        own, own_term_sum = counts @ crowd.own_weight, counts @ own_term
        counts *= crowd.weight
        square = counts.sum(axis=1) ** 2
        powers = _power_sums(crowd, kernel, series, np.ascontiguousarray(counts.T))
        pairs = series.sums(rates[numbers.start : numbers.stop], powers) - own_term_sum
        # A single row with all the weight has no pairs.
        values.append(
            np.divide(pairs, square - own, out=np.full(len(numbers), np.nan), where=square - own > 1e-12 * square)
        )
    return np.concatenate(values)


def _power_sums(crowd: Crowd, kernel: Kernel, series: Series, weight: Floats) -> Floats:
    """For each term and each column w of `weight` the sum over pairs w_i w_j <r_i, r_j> exp(-middle reach) (reach - origin)^m."""
    from scipy.spatial.distance import cdist

    sums = np.zeros((series.terms, weight.shape[1]))
    spans = [slice(start, start + TILE) for start in range(0, len(weight), TILE)]
    for place, a in enumerate(spans):
        for b in spans[place:]:  # each pair of tiles once; BLAS is multithreaded
            reach = kernel.scale * cdist(crowd.points[a], crowd.points[b], kernel.metric)
            if kernel.shape == "gaussian":
                reach *= reach
            with np.errstate(under="ignore"):
                tile = np.exp(-series.middle * reach)
                tile *= crowd.residual[a] @ crowd.residual[b].T
                reach -= series.origin
                for m in range(series.terms):
                    product = tile @ weight[b]
                    sums[m] += (1 if a == b else 2) * np.einsum("ij,ij->j", weight[a], product)
                    tile *= reach
    return sums

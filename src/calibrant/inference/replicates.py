"""What is drawn at random: rows with replacement, how often each, outcomes and classes; and replicates of a statistic from such draws.

Replicate number b has its own random generator, determined by the seed and b alone: the first 200 of 1000 replicates are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import no_warnings
from ..util.arrays import Array, Floats
from ..util.blocks import keep_freed_memory
from ..util.progress import track
from .seeds import generator, seed_of

Generator = np.random.Generator


class Bounds(NamedTuple):
    """Lower and upper ends, NaN where undefined."""

    low: Floats
    high: Floats


def quantile_bounds(values: Floats, level: float) -> Bounds:
    """Quantiles over the first axis at (1 - level) / 2 and (1 + level) / 2; NaN for columns without values."""
    missing = np.isnan(values)
    ends = np.full((2, values.shape[1]), np.nan)
    tail = (1 - level) / 2
    complete, partly = ~missing.any(axis=0), missing.any(axis=0) & ~missing.all(axis=0)
    for columns, quantile in ((complete, np.quantile), (partly, np.nanquantile)):  # the latter takes them one by one
        if columns.any():
            ends[:, columns] = quantile(values[:, columns], [tail, 1 - tail], axis=0)
    return Bounds(*ends)


class Replicates:
    """Bootstrap replicates of rows.

    Parameters
    ----------
    rows : int or ndarray
        Number of rows, or of how many rows each entry consists; not necessarily integers if `size` is given.
    count : int
        Number of replicates.
    rng : None, int or Generator
        Seed.
    size : int, optional
        Number of rows in a replicate; by default as many as there are.
    clusters : list of ndarray, optional
        Rows that are drawn together.
    """

    def __init__(
        self,
        rows: int | Array,
        count: int,
        rng: Any,
        *,
        size: int | None = None,
        clusters: list[Array] | None = None,
    ) -> None:
        self.count, self.seed = count, seed_of(rng)
        self.clusters = clusters
        self.n = rows if isinstance(rows, int) else len(rows)
        total = self.n if isinstance(rows, int) else rows.sum()
        single = isinstance(rows, int) or bool((rows == 1).all())
        self.size = round(float(total)) if size is None else size
        self.share = None if single else np.asarray(rows) / total

    def rows(self, number: int) -> Array:
        """The rows of a replicate, where each entry is one row."""
        return self._rows(generator(self.seed, number))

    def _rows(self, rng: Generator) -> Array:
        return draw_rows(self.n, rng, self.clusters, self.size)

    def counts(self, number: int) -> Floats:
        """How often each entry is drawn in a replicate."""
        return self._counts(generator(self.seed, number)).astype(np.float64)

    def _counts(self, rng: Generator) -> Array:
        if self.share is None:  # faster than one binomial variate for each row
            return np.bincount(self._rows(rng), minlength=self.n)
        return rng.multinomial(self.size, self.share)

    def counts_and_events(self, number: int, chance: Floats) -> tuple[Floats, Floats]:
        """How often each entry is drawn in a replicate, and the number of events among these, which have the given probabilities."""
        rng = generator(self.seed, number)
        counts = self._counts(rng)
        return counts.astype(np.float64), rng.binomial(counts, chance).astype(np.float64)

    def batches(self, entries: int) -> Iterator[Floats]:
        """The counts of some replicates at a time, one line for each, of at most so many entries."""
        step = max(1, entries // self.n)
        for start in track(range(0, self.count, step), "batches of resamples"):
            yield np.array([self.counts(number) for number in range(start, min(start + step, self.count))])

    def values(self, statistic: Callable[[Floats], Any]) -> Floats:
        """A statistic of the counts of each replicate."""
        return np.array(many(lambda number: statistic(self.counts(number)), self.count), np.float64)

    def band(self, curve: Callable[[Floats], Floats], level: float) -> Bounds:
        """Pointwise quantiles of a curve, which is a function of the counts."""
        return quantile_bounds(self.values(curve), level)


def draw_rows(
    n: int,
    rng: Generator,
    clusters: list[Array] | None = None,
    size: int | None = None,
) -> Array:
    """Rows drawn with replacement: so many, by default as many as there are, or whole clusters."""
    if clusters is not None:
        return np.concatenate([clusters[place] for place in rng.integers(len(clusters), size=len(clusters))])
    return rng.integers(n, size=n if size is None else size)


def rows_by_code(codes: Array) -> list[Array]:
    """The rows of each code, in increasing order of code."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def draw_events(chance: Floats, rng: Generator, rows: Array | None = None) -> Array:
    """Whether an event of this probability occurs in each row, or how often in so many rows each."""
    if rows is None:
        return (rng.random(len(chance)) < chance).view(np.uint8)
    return rng.binomial(rows, chance)


def cumulative(probs: Array) -> Array:
    """The cumulative probabilities of each row, the last of which is 1."""
    path = np.cumsum(probs, axis=1, dtype=np.float64)
    path /= path[:, -1:]
    return path


def draw_classes(probs: Array, rng: Generator, paths: Array | None = None) -> NDArray[np.intp]:
    """One class for each row, drawn with its probabilities; `paths` as in `choose_classes`."""
    return choose_classes(probs, rng.random((1, len(probs))), paths)[0].astype(np.intp)


def choose_classes(probs: Array, aims: Floats, paths: Array | None = None) -> Array:
    """The class of each row whose cumulative probability exceeds a uniform number first, for several lines of these.

    `paths` are the cumulative probabilities, one line per class, where these are known.
    """
    n, k = probs.shape
    if paths is None:
        step = max(1, (1 << 20) // k)
        parts = [slice(start, start + step) for start in range(0, n, step)]
        classes = [choose_classes(probs[part], aims[:, part], cumulative(probs[part]).T) for part in parts]
        return np.concatenate(classes, axis=1)
    passed = np.empty(aims.shape, np.bool_)
    number: Array = np.zeros(aims.shape, np.uint8 if k <= 255 else np.intp)
    for path in paths:
        number += np.less_equal(path, aims, out=passed)
    return np.minimum(number, k - 1)


def many(work: Callable[[int], Any], count: int) -> list[Any]:
    """``work(0) ... work(count - 1)``, in order.

    What a metric warns of in a resample, such as an order of its rows, concerns the resample and not the data.
    """

    keep_freed_memory()
    with no_warnings():
        return list(track(map(work, range(count)), "resamples", count))

"""Score drift: distances between the scores of reference data and of a window, with permutation p-values.

Drift is a reason to look. It does not prove that calibration was lost, and its absence does not prove that it was kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    ArgumentError,
    InputError,
    InputTypeError,
    LensError,
    UndefinedMetricError,
    UnknownArgumentError,
    WeightsNotSupportedError,
)
from ..inference.seeds import generator, seed_of
from ..input.convert import column, numbers
from ..sketches.grid import slots
from ..sketches.sketch import Sketch
from ..util.arrays import Floats
from ..util.blocks import rows_per_block
from ..util.checks import check_fraction, check_whole
from ..util.results import Record, Result, number, plain_value, pvalue_clause, pvalue_text
from ..views.view import View

NAMES = {
    "psi": "population stability index",
    "ks_2samp": "Kolmogorov-Smirnov distance",
    "wasserstein": "Wasserstein distance",
    "jensen_shannon": "Jensen-Shannon divergence (bits)",
    "energy_distance": "energy distance",
    "mean_shift": "difference of means",
}
HEADINGS = ["statistic", "value", "p-value", "adjusted", "critical value", "size of the change"]
INVESTIGATE = "This is a reason to investigate, not evidence of miscalibration."
# Number of bins of equal reference mass, and pseudo-count per bin so that empty bins have a finite index.
BINS, SMOOTHING = 10, 0.5
# Conventional limits of the population stability index; they ignore the sample size.
SMALL, LARGE = 0.1, 0.25
# Largest number of cells of the permutation tables; formed from the pooled sample, so that the level stays exact.
MOST_CELLS = 1024
# Up to this many tables are enumerated.
MOST_TABLES = 5000
# Windows are drawn row by row up to this many rows per cell, and from at most this many rows.
ROWS_PER_CELL, MOST_LISTED = 4, 4_000_000
# Limit of NumPy's multivariate hypergeometric sampler.
LARGEST_URN = 10**9
# Entries of the permutation tables that are processed together.
DRAWN_ENTRIES = 1 << 15
SAME = 1e-12
"""Relative difference below which two values are considered equal."""


@dataclass(frozen=True, repr=False)
class DriftResult(Record):
    """A distance between the scores of a window and of the reference data, with its permutation test.

    Parameters
    ----------
    statistic : str
        Name of the distance.
    value : float
        The distance.
    pvalue : float
        Permutation p-value.
    threshold : float
        Critical value at level `alpha`, for samples of these sizes.
    alpha : float
        Significance level.
    method : str
        How the p-value was computed.
    n_reference : float
        Rows of the reference data.
    n_window : float
        Rows of the window.
    effect : str
        Size of the change in words.
    details : mapping
        Further numbers of the distance.
    least_pvalue : float, default 0.0
        The smallest p-value that the permutations can have; 0 where all were enumerated.
    """

    _hidden = ("details",)

    statistic: str
    value: float
    pvalue: float
    threshold: float
    alpha: float
    method: str
    n_reference: float
    n_window: float
    effect: str
    details: Mapping[str, float] = field(default_factory=dict, compare=False)
    least_pvalue: float = field(default=0.0, repr=False, compare=False)

    @property
    def is_bound(self) -> bool:
        """Whether the p-value is the smallest that the permutations can have, and its adjusted value as well."""
        return math.isclose(self.pvalue, self.least_pvalue)

    @property
    def rejected(self) -> bool:
        """Whether the p-value is at most `alpha`."""
        return self.pvalue <= self.alpha

    @property
    def verdict(self) -> str:
        """One sentence about the scores, not about calibration."""
        chance = pvalue_clause(self.pvalue, self.least_pvalue)
        sizes = f"{self.n_window:,.6g} against {self.n_reference:,.6g} rows"
        if self.rejected:
            return f"The score distribution has changed ({chance}; {sizes}): {self.effect}. {INVESTIGATE}"
        return f"No significant score drift ({chance}; {sizes}). Calibration may have changed nevertheless."

    def _fields(self) -> dict[str, Any]:
        return {**super()._fields(), "rejected": self.rejected, **self.details}

    def _title(self) -> str:
        statistic = f"{NAMES[self.statistic]} {number(self.value)}, critical value {number(self.threshold)} at level {self.alpha:g}"
        return (
            f"{self.verdict}\n  {statistic}\n  p-value {pvalue_text(self.pvalue, self.least_pvalue)} by {self.method}"
        )


@dataclass(frozen=True, repr=False)
class DriftReport(Result):
    """Several distances between the same two samples, with p-values adjusted for multiplicity.

    Parameters
    ----------
    results : tuple of DriftResult
        The distances; ``report["psi"]`` returns one by name.
    adjusted : tuple of float
        Adjusted p-values.
    alpha : float
        Significance level.
    """

    results: tuple[DriftResult, ...]
    adjusted: tuple[float, ...]
    alpha: float

    @property
    def pvalue(self) -> float:
        """The smallest adjusted p-value."""
        return min(self.adjusted)

    @property
    def is_bound(self) -> bool:
        """Whether the smallest adjusted p-value is the smallest that the permutations can have."""
        return self.results[self.adjusted.index(self.pvalue)].is_bound

    @property
    def rejected(self) -> bool:
        """Whether any adjusted p-value is at most `alpha`; the familywise error rate is at most `alpha`."""
        return self.pvalue <= self.alpha

    def __getitem__(self, statistic: str) -> DriftResult:
        for result in self.results:
            if result.statistic == statistic:
                return result
        raise ArgumentError(
            "statistic", f"unknown statistic {statistic!r}", f"choose one of {[r.statistic for r in self.results]}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return one list per column.

        Returns
        -------
        dict
            Values by column.
        """
        return {name: plain_value(values) for name, values in self._columns().items()}

    def _columns(self) -> dict[str, list[Any]]:
        rows = [{**vars(r), "adjusted": p} for r, p in zip(self.results, self.adjusted, strict=True)]
        names = ("statistic", "value", "pvalue", "adjusted", "threshold", "effect", "method")
        return {name: [row[name] for row in rows] for name in names}

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return HEADINGS, [
            [
                NAMES[r.statistic],
                number(r.value),
                pvalue_text(r.pvalue, r.least_pvalue),
                pvalue_text(p, p if r.is_bound else 0.0),
                number(r.threshold),
                r.effect,
            ]
            for r, p in zip(self.results, self.adjusted, strict=True)
        ]

    def _title(self) -> str:
        first = self.results[0]
        return f"Scores of {first.n_window:,.6g} rows against {first.n_reference:,.6g}"


def score_drift(
    reference: Any,
    window: Any,
    *,
    statistics: Sequence[str] = ("psi", "ks_2samp", "wasserstein", "jensen_shannon", "energy_distance"),
    alpha: float = 0.05,
    n_resamples: int = 999,
    rng: Any = 0,
) -> DriftReport:
    """Compute several distances on the same permutations, with p-values adjusted for multiplicity.

    Parameters
    ----------
    reference : Sketch, View, Sample or array-like
        Scores of the reference data; labels are not used.
    window : Sketch, View, Sample or array-like
        Scores of the window, which must not share rows with the reference data.
    statistics : sequence of str
        Names of the distances. ``"psi"`` and ``"jensen_shannon"`` use ten bins of equal reference mass, formed again for each
        permutation, so that their level is exact.
    alpha : float, default 0.05
        Significance level.
    n_resamples : int, default 999
        Number of permutations.
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator.

    Returns
    -------
    DriftReport
        The distances ``results`` and their ``adjusted`` p-values.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.monitoring.drift import score_drift
    >>> rng = np.random.default_rng(0)
    >>> score_drift(rng.beta(2, 2, 500), rng.beta(4, 2, 500)).rejected
    True
    """
    if isinstance(statistics, str) or not statistics or len(set(statistics)) < len(statistics):
        raise ArgumentError("statistics", f"must be a list of different names; got {statistics!r}")
    for name in statistics:
        if name not in NAMES:
            raise UnknownArgumentError("statistics", f"unknown distance {name!r}", f"choose one of {sorted(NAMES)}")
    check_fraction(alpha, "alpha", 0.05)
    cells = lay_on_cells(reference, window, "score_drift")
    coarse = coarsen(cells)
    null = null_distances(coarse, statistics, check_whole(n_resamples, "n_resamples"), rng)
    own, values = values_of(coarse, statistics), values_of(cells, statistics).tolist()
    results = [
        replace(
            _result(
                cells, name, values[i], (null.pvalue(float(own[i]), i), null.threshold(alpha, i), alpha, null.method)
            ),
            least_pvalue=null.least_pvalue,
        )
        for i, name in enumerate(statistics)
    ]
    return DriftReport(tuple(results), tuple(adjust_together(null, own).tolist()), alpha)


def restored_report(plain: Mapping[str, Any] | None) -> DriftReport | None:
    """Return the report of the plain values of its fields; None stays None."""
    if plain is None:
        return None
    results = tuple(DriftResult(**result) for result in plain["results"])
    return DriftReport(results, tuple(plain["adjusted"]), plain["alpha"])


def mean_shift_pvalue(reference: Any, window: Any, n_resamples: int, rng: Any) -> tuple[float, float]:
    """Permutation p-value of the difference of mean scores, and the smallest that it can be."""
    cells = coarsen(lay_on_cells(reference, window, "mean_shift"))
    null = null_distances(cells, ["mean_shift"], check_whole(n_resamples, "n_resamples"), rng)
    return null.pvalue(float(values_of(cells, ["mean_shift"])[0]), 0), null.least_pvalue


def _result(cells: Cells, name: str, value: float, test: tuple[float, float, float, str]) -> DriftResult:
    details: dict[str, float] = {}
    if name == "ks_2samp":
        details = signed_extremes(cells)
    elif name == "jensen_shannon":
        details = {"nats": value * math.log(2), "distance": math.sqrt(value)}
    elif name == "energy_distance":
        details = {"root": math.sqrt(value)}
    sizes = (float(cells.reference.sum()), float(cells.window.sum()))
    return DriftResult(name, value, *test, *sizes, effect_words(name, value, cells), details)


# Samples of scores, without their labels


@dataclass(frozen=True)
class Sample:
    """Distinct scores in increasing order with their numbers of rows."""

    value: Floats = field(repr=False)
    weight: Floats = field(repr=False)
    """Rows at each value."""
    size: float
    """Number of rows."""
    lens: str = "score"
    gridded: bool = False
    """Whether values are mean scores of a sketch's cells."""

    @classmethod
    def of(
        cls, scores: Floats, counts: NDArray[Any] | None = None, *, lens: str = "score", gridded: bool = False
    ) -> Sample:
        """The sample of scores, each counted once or according to `counts`.

        >>> Sample.of(np.array([0.5, 0.9, 0.5])).weight.tolist()
        [2.0, 1.0]
        """
        value, place = np.unique(scores, return_inverse=True)
        weight = np.bincount(place, counts, len(value)).astype(np.float64)
        return cls(value[weight > 0], weight[weight > 0], float(weight.sum()), lens, gridded)

    @property
    def share(self) -> Floats:
        """The share of all rows at each value."""
        return self.weight / self.weight.sum()

    @property
    def mean(self) -> float:
        return float(self.share @ self.value)

    @property
    def variance(self) -> float:
        """Sample variance with divisor n - 1; 0 for a single row."""
        if self.size <= 1:
            return 0.0
        return float(self.share @ (self.value - self.mean) ** 2 * self.size / (self.size - 1))

    def quantile(self, share: float) -> float:
        """Quantile with linear interpolation, as NumPy's default; a value of weight k counts as k equal rows."""
        start = share * (self.size - 1)
        ends = np.cumsum(self.weight) * (self.size / self.weight.sum())
        inside = np.clip(np.append(0.0, ends) - start, 0, 1)
        inside[-1] = 1.0
        return float(np.diff(inside) @ self.value)

    def part_above(self, threshold: float) -> float:
        """The share of rows with at least this score."""
        return float(self.share[self.value >= threshold].sum())

    def folded(self) -> Sample:
        """Scores of the positive class converted to confidences of the predicted class."""
        return Sample.of(np.maximum(self.value, 1 - self.value), self.weight, lens="top_label", gridded=self.gridded)


def as_sample(source: Any, argument: str, who: str) -> Sample:
    """The scores of a Sketch, View, Sample or array; labels are not used."""
    if isinstance(source, Sample):
        sample = source
    elif isinstance(source, (Sketch, View)):
        view = source.view() if isinstance(source, Sketch) else source
        if view.weight_kind == "importance" and not (view.weights == 1).all():
            raise WeightsNotSupportedError("sample_weight", f"{who} does not support real weights", "pass counts")
        sample = Sample.of(view.score, view.weight, lens=view.lens, gridded=isinstance(source, Sketch))
    else:
        array = column(source, argument).array
        if array.ndim != 1:
            problem = f"expected one score for each row, got {array.ndim} dimensions"
            raise InputTypeError(argument, problem, "pass a Sketch, a View or scores")
        values = numbers(array, argument).astype(np.float64)
        bad = ~np.isfinite(values)
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(argument, f"scores must be finite; got {values[row]}", "drop or fill the row", row=row)
        sample = Sample.of(values)
    if not sample.size > 0:
        raise UndefinedMetricError(who, f"{argument} has no rows", "wait for more data, or use a longer window")
    return sample


@dataclass(frozen=True)
class Cells:
    """Two samples tabulated at the same increasing values."""

    value: Floats
    reference: Floats
    window: Floats
    """Rows of each at each value."""
    gridded: bool = False
    """Whether values are mean scores of a sketch's cells."""

    def merged(self, group: NDArray[Any]) -> Cells:
        """The same with adjacent cells merged; `group` numbers the new cells from 0 without gaps."""
        count = int(group[-1]) + 1
        pooled = self.reference + self.window
        reference, window = (
            np.bincount(group, part, count).astype(np.float64) for part in (self.reference, self.window)
        )
        value = np.bincount(group, pooled * self.value, count) / np.bincount(group, pooled, count)
        return Cells(value, reference, window, self.gridded)


def lay_on_cells(reference: Any, window: Any, who: str) -> Cells:
    """Two samples on common cells: distinct scores, or the cells of the sketch grid where one of them is a sketch."""
    first, second = as_sample(reference, "reference", who), as_sample(window, "window", who)
    if "score" not in (first.lens, second.lens) and first.lens != second.lens:
        raise LensError("window", f"has the lens {second.lens!r}, and the reference {first.lens!r}", "use one lens")
    gridded = first.gridded or second.gridded
    values = np.concatenate([first.value, second.value])
    if gridded and (values.min() < 0 or values.max() > 1):
        raise InputError(
            "window", "a sketch has scores in [0, 1], and these are outside", "compare scores on the same scale"
        )
    _, place = np.unique(slots(values) if gridded else values, return_inverse=True)
    count, cut = int(place.max()) + 1, len(first.value)
    old, new = np.bincount(place[:cut], first.weight, count), np.bincount(place[cut:], second.weight, count)
    weight = np.concatenate([first.weight, second.weight])
    # Clipped, because the mean of equal numbers may differ from them by rounding.
    lowest, highest = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(lowest, place, values)
    np.maximum.at(highest, place, values)
    value = np.clip(np.bincount(place, weight * values, count) / np.bincount(place, weight, count), lowest, highest)
    return Cells(value, old.astype(np.float64), new.astype(np.float64), gridded)


# Distances


def distances(names: Sequence[str], value: Floats, reference: Floats, window: Floats) -> Floats:
    """The distances between reference rows (R, C) and window rows (R, C) in cells of these values (C,); one column per name."""
    statistic: dict[str, Floats] = {}
    if not {"psi", "jensen_shannon"}.isdisjoint(names):
        old, new = _bin_tables(reference, window)
        used = old + new > 0
        p, q = (_shares(rows + SMOOTHING * used) for rows in (old, new))
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(used, (q - p) * (np.log(q) - np.log(p)), 0)
        statistic |= {"psi": terms.sum(axis=1), "jensen_shannon": _jensen_shannon(old, new)}
    if not {"psi", "jensen_shannon"}.issuperset(names):
        statistic |= _gap_distances(names, value, _shares(reference) - _shares(window))
    return np.column_stack([statistic[name] for name in names])


def _gap_distances(names: Sequence[str], value: Floats, gap: Floats) -> dict[str, Floats]:
    """The distances that follow from the differences of shares, which are overwritten."""
    statistic: dict[str, Floats] = {}
    if "mean_shift" in names:
        statistic["mean_shift"] = np.abs(gap @ value)
    if {"energy_distance", "ks_2samp", "wasserstein"}.isdisjoint(names):
        return statistic
    np.cumsum(gap, axis=1, out=gap)
    width = np.diff(value)
    if "energy_distance" in names:
        statistic["energy_distance"] = 2 * np.square(gap[:, :-1]) @ width
    np.abs(gap, out=gap)
    if "ks_2samp" in names:
        statistic["ks_2samp"] = gap.max(axis=1)
    if "wasserstein" in names:
        statistic["wasserstein"] = gap[:, :-1] @ width
    return statistic


def values_of(cells: Cells, names: Sequence[str]) -> Floats:
    """The distances of the observed samples."""
    return distances(names, cells.value, cells.reference[None], cells.window[None])[0]


def _bin_tables(reference: Floats, window: Floats) -> tuple[Floats, Floats]:
    """Rows in each bin, (R, BINS), of both; a cell lies in the bin floor(BINS C / N), C the reference rows before it."""
    ends = np.cumsum(reference, axis=1)
    place = (ends - reference) * (BINS / ends[:, -1:]) + 1e-9
    cells = reference.shape[1]
    newest = cells - 1 - (reference[:, ::-1] > 0).argmax(axis=1)
    last = np.floor(place[np.arange(len(place)), newest])
    # Places increase, so that a bin is a range of cells. Cells beyond the last row join its bin.
    inner = np.arange(1, BINS)
    first = np.zeros((len(place), BINS + 1), np.intp)
    for row, own in enumerate(place):
        first[row, 1:-1] = own.searchsorted(inner)
    first[:, 1:-1][inner > last[:, None]] = cells
    first[:, -1] = cells
    return _between(ends, first), _between(np.cumsum(window, axis=1), first)


def _between(ends: Floats, first: NDArray[np.intp]) -> Floats:
    """Sums of consecutive cells, which begin at `first`, from the cumulative sums."""
    before = np.take_along_axis(ends, np.maximum(first - 1, 0), axis=1)
    return np.diff(np.where(first > 0, before, 0.0), axis=1)


def _shares(rows: Floats) -> Floats:
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def _jensen_shannon(old: Floats, new: Floats) -> Floats:
    p, q = _shares(old), _shares(new)
    middle = (p + q) / 2

    def relative(share: Floats) -> Floats:
        ratio = np.divide(share, middle, out=np.ones_like(share), where=share > 0)
        return np.asarray((share * np.log2(ratio)).sum(axis=1))

    return np.maximum((relative(p) + relative(q)) / 2, 0)


def signed_extremes(cells: Cells) -> dict[str, float]:
    """Largest differences of the cumulative shares in both directions, their location, and a bound for sketches."""
    old, new = cells.reference / cells.reference.sum(), cells.window / cells.window.sum()
    gap = np.cumsum(old - new)
    statistic = {
        "higher": float(max(gap.max(), 0.0)),
        "lower": float(max(-gap.min(), 0.0)),
        "at": float(cells.value[np.argmax(np.abs(gap))]),
    }
    if cells.gridded:
        statistic["at_most"] = min(1.0, float(np.abs(gap).max() + np.maximum(old, new).max()))
    return statistic


def effect_words(name: str, value: float, cells: Cells) -> str:
    """Size of a change in words."""
    if name == "psi":
        size = "small" if value < SMALL else "moderate" if value < LARGE else "large"
        return f"{size} by the conventional limits {SMALL:g} and {LARGE:g}, which ignore the sample size"
    if name == "ks_2samp":
        way = signed_extremes(cells)
        up = way["higher"] >= way["lower"]
        return f"the share of rows {'above' if up else 'at or below'} {way['at']:.4g} grew by {100 * value:.3g} percentage points"
    if name == "wasserstein":
        return f"mean displacement of the scores {value:.3g}"
    if name == "jensen_shannon":
        return f"a score carries {value:.3g} bits of information about its sample"
    shift = float((cells.window / cells.window.sum() - cells.reference / cells.reference.sum()) @ cells.value)
    return f"the mean score {'rose' if shift > 0 else 'fell' if shift < 0 else 'moved'} by {abs(shift):.3g}"


# Permutations


@dataclass(frozen=True)
class Null:
    """Permutation null distribution of statistics: one column per statistic, with the probability of each row."""

    values: Floats
    weight: Floats
    exact: bool
    """Whether all tables were enumerated, rather than sampled."""
    method: str

    @property
    def least_pvalue(self) -> float:
        """The smallest p-value of sampled tables; 0 where all were enumerated."""
        return 0.0 if self.exact else 1 / (1 + len(self.values))

    def pvalue(self, observed: float, column: int) -> float:
        """Probability of a value at least this large; with random permutations the observed one is included."""
        reached = self.values[:, column] >= _lower_by_rounding(np.float64(observed))
        if self.exact:
            return min(1.0, float(self.weight[reached].sum()))
        return float((1 + reached.sum()) / (1 + len(reached)))

    def threshold(self, alpha: float, column: int) -> float:
        """The smallest value with a p-value of at most `alpha`, or infinity."""
        order = np.argsort(-self.values[:, column], kind="stable")
        values = self.values[order, column]
        tail = np.cumsum(self.weight[order] if self.exact else np.full(len(values), 1 / (1 + len(values))))
        tail += 0 if self.exact else 1 / (1 + len(values))
        last = np.append(values[1:] < values[:-1] - SAME * np.maximum(1.0, np.abs(values[:-1])), True)
        fine = values[last & (tail <= alpha * (1 + SAME))]
        return float(fine[-1]) if len(fine) else math.inf


def coarsen(cells: Cells) -> Cells:
    """Merge adjacent cells by pooled mass until few are left."""
    if len(cells.value) <= MOST_CELLS:
        return cells
    pooled = cells.reference + cells.window
    before = np.cumsum(pooled) - pooled
    key = np.floor(before * (MOST_CELLS / pooled.sum())).astype(np.int64)
    return cells.merged(np.append(0, np.cumsum(np.diff(key) != 0)))


def null_distances(cells: Cells, names: Sequence[str], n_resamples: int, rng: Any) -> Null:
    """Null distribution of the distances: all tables if they are few, else random permutations."""
    table = _all_tables(cells)
    if table is not None:
        (window, weight), method = table, "every exchange of rows"
        windows = iter([window])
    else:
        windows, method = _drawn_windows(cells, n_resamples, generator(seed_of(rng), 0))
        weight = np.full(n_resamples, 1 / n_resamples)
    pooled = cells.reference + cells.window
    values = np.concatenate([distances(names, cells.value, pooled - window, window) for window in windows])
    return Null(values, weight, table is not None, method)


def _drawn_windows(cells: Cells, count: int, draw: np.random.Generator) -> tuple[Iterator[NDArray[Any]], str]:
    """Random windows, some of them at a time so that they stay in the cache.

    Rows are drawn without replacement from both samples together, which is not a bootstrap.
    """
    pooled = cells.reference + cells.window
    size = round(float(cells.window.sum()))
    step = rows_per_block(len(pooled), DRAWN_ENTRIES)
    parts = [min(step, count - start) for start in range(0, count, step)]
    if pooled.sum() >= LARGEST_URN:
        # For so many rows sampling with replacement is equivalent after correcting the variance.
        share = pooled / pooled.sum()
        kept = math.sqrt(1 - size / pooled.sum())
        drawn = (draw.multinomial(size, share, size=part) for part in parts)
        around = (np.clip(size * share + (some - size * share) * kept, 0, pooled) for some in drawn)
        return around, "random permutations (approximate)"
    urn = pooled.astype(np.int64)
    # Drawing the rows of a small window one by one takes less time than a hypergeometric number for each of many cells.
    one_by_one = size <= ROWS_PER_CELL * len(urn) and urn.sum() <= MOST_LISTED
    way: Literal["count", "marginals"] = "count" if one_by_one else "marginals"
    exact = (draw.multivariate_hypergeometric(urn, size, size=part, method=way) for part in parts)
    return exact, "random permutations"


def _all_tables(cells: Cells) -> tuple[Floats, Floats] | None:
    """All tables of the window given the pooled sample, with their probabilities; None if there are too many."""
    pooled = (cells.reference + cells.window).astype(np.int64)
    size = round(float(cells.window.sum()))
    if len(pooled) > 12 or np.prod(np.minimum(pooled, size) + 1.0) > MOST_TABLES:
        return None
    axes = [np.arange(min(int(count), size) + 1) for count in pooled]
    tables = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(pooled))
    tables = tables[tables.sum(axis=1) == size]
    ways = [math.prod(math.comb(n, k) for n, k in zip(pooled.tolist(), row, strict=True)) for row in tables.tolist()]
    total = math.comb(int(pooled.sum()), size)
    return tables.astype(np.float64), np.array([way / total for way in ways])


def _lower_by_rounding(values: Any) -> Any:
    """Values less what rounding may have added, so that ties are found as such."""
    return values - np.where(np.isfinite(values), SAME * np.maximum(1.0, np.abs(values)), 0.0)


def adjust_together(null: Null, observed: Floats) -> Floats:
    """P-values adjusted for several statistics by the permutation distribution of the smallest p-value."""
    columns = range(null.values.shape[1])
    pvalues = np.array([null.pvalue(float(observed[i]), i) for i in columns])
    if null.exact:
        own = np.column_stack([[null.pvalue(float(v), i) for v in null.values[:, i]] for i in columns])
        reached = own.min(axis=1)[:, None] <= pvalues * (1 + SAME)
        return np.minimum(1.0, null.weight @ reached)
    count = len(null.values)
    ordered = np.sort(null.values, axis=0)
    lowered = _lower_by_rounding(null.values)
    rank = np.column_stack([count - np.searchsorted(ordered[:, i], lowered[:, i], "left") for i in columns])
    reached = (rank / (count + 1)).min(axis=1)[:, None] <= pvalues * (1 + SAME)
    return np.asarray((1 + reached.sum(axis=0)) / (1 + count))

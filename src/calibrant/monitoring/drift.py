"""Have the scores changed? Distances between the scores of a reference and of a window, with p-values by permutation.

Drift is a reason to look. It does not prove that calibration was lost, and its absence does not prove that it was kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    ArgumentError,
    InputError,
    InputTypeError,
    LensError,
    UndefinedMetricError,
    UnknownArgumentError,
    Use,
    WeightsNotSupportedError,
)
from ..inference.resampling import generator, seed_of
from ..inference.sequential import check_level
from ..input.convert import column, numbers
from ..sketches.grid import slots
from ..sketches.sketch import Sketch
from ..util.checks import check_whole
from ..util.results import Record, Result, number, plain_value, pvalue_text
from ..views.view import View

__all__ = ["DriftReport", "DriftResult", "Sample", "as_sample", "mean_shift_pvalue", "score_drift"]

Floats = NDArray[np.float64]
Statistic = Callable[[Floats, Floats, Floats], Floats]
"""From cell values (C,), reference rows (R, C) and window rows (R, C) to R numbers."""
NAMES = {
    "psi": "population stability index",
    "ks_2samp": "Kolmogorov-Smirnov distance",
    "wasserstein": "Wasserstein distance",
    "jensen_shannon": "Jensen-Shannon divergence (bits)",
    "energy_distance": "energy distance",
    "mean_shift": "difference of means",
}
HEADINGS = ["statistic", "value", "p-value", "adjusted", "threshold", "size of the change"]
# Bins that hold equal parts of the reference, and rows added to each so that an empty one has a finite index.
BINS, SMOOTHING = 10, 0.5
# Words that practice uses for a population stability index; they ignore how many rows there are.
SMALL, LARGE = 0.1, 0.25
# Permutations are counted in at most this many cells, cut from both samples together, so that the level stays exact.
MOST_CELLS = 1024
# Up to this many tables are all enumerated.
MOST_TABLES = 5000
# NumPy draws from urns of fewer rows than this.
LARGEST_URN = 10**9
SAME = 1e-12
"""Two values that differ by less, relative to their size, differ by rounding."""


@dataclass(frozen=True, repr=False)
class DriftResult(Record):
    """How far the scores of a window lie from those of a reference, and whether chance does that too."""

    _hidden = ("details",)

    statistic: str
    value: float
    pvalue: float
    threshold: float
    """Values from here on have a p-value of at most `alpha`, for samples of these sizes."""
    alpha: float
    method: str
    """How the p-value was found."""
    n_reference: float
    n_window: float
    effect: str
    """How big the change is, in words: no test."""
    details: Mapping[str, float] = field(default_factory=dict, compare=False)

    @property
    def rejected(self) -> bool:
        """Whether chance alone gives so large a value with probability at most `alpha`."""
        return self.pvalue <= self.alpha

    @property
    def verdict(self) -> str:
        """One sentence; it speaks of scores, never of calibration."""
        chance = f"p = {self.pvalue:.3g}" if self.pvalue >= 0.001 else "p < 0.001"
        sizes = f"{self.n_window:,.6g} against {self.n_reference:,.6g} rows"
        if self.rejected:
            return f"The scores have changed ({chance}; {sizes}): {self.effect}. That is a reason to look, not proof of miscalibration."
        return f"No change of the scores was found ({chance}; {sizes}). Calibration may have changed all the same."

    def _fields(self) -> dict[str, Any]:
        return {**super()._fields(), "rejected": self.rejected, **self.details}

    def _title(self) -> str:
        found = (
            f"{NAMES[self.statistic]} {number(self.value)}, threshold {number(self.threshold)} at level {self.alpha:g}"
        )
        return f"{self.verdict}\n  {found}\n  p-value {pvalue_text(self.pvalue)} by {self.method}"


@dataclass(frozen=True, repr=False)
class DriftReport(Result):
    """Several distances between the same two samples, with p-values corrected for looking at them all."""

    results: tuple[DriftResult, ...]
    adjusted: tuple[float, ...]
    alpha: float

    @property
    def rejected(self) -> bool:
        """Whether any corrected p-value is at most `alpha`: chance does that with probability at most `alpha`."""
        return min(self.adjusted) <= self.alpha

    def __getitem__(self, statistic: str) -> DriftResult:
        for result in self.results:
            if result.statistic == statistic:
                return result
        raise ArgumentError(
            "statistic", f"unknown statistic {statistic!r}", f"choose one of {[r.statistic for r in self.results]}"
        )

    def to_dict(self) -> dict[str, Any]:
        """One list for each column."""
        return {name: plain_value(values) for name, values in self._columns().items()}

    def _columns(self) -> dict[str, list[Any]]:
        rows = [{**vars(r), "adjusted": p} for r, p in zip(self.results, self.adjusted, strict=True)]
        names = ("statistic", "value", "pvalue", "adjusted", "threshold", "effect", "method")
        return {name: [row[name] for row in rows] for name in names}

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return HEADINGS, [
            [NAMES[r.statistic], number(r.value), pvalue_text(r.pvalue), pvalue_text(p), number(r.threshold), r.effect]
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
    """Several distances at once, on the same permutations of rows, with p-values corrected for looking at them all.

    Parameters
    ----------
    reference, window
        Sketches, Views, Samples or plain scores; labels are not read. They must not share rows.
    statistics
        Names of the distances. ``"psi"`` and ``"jensen_shannon"`` are of ten bins that hold equal parts of the reference, cut
        again for each permutation, so that their level is exact.
    alpha
        Level of `threshold` and `rejected`.
    n_resamples, rng
        Number of permutations; None, a seed or a Generator.

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
    check_level(alpha)
    cells = lay_on_cells(reference, window, "score_drift")
    coarse = coarsened(cells)
    formulas = [statistic_of(name) for name in statistics]
    null = permuted(coarse, formulas, check_whole(n_resamples, "n_resamples"), rng)
    own = np.array([value_of(coarse, formula) for formula in formulas])
    results = [
        _result(cells, name, (null.pvalue(float(own[i]), i), null.threshold(alpha, i), alpha, null.method))
        for i, name in enumerate(statistics)
    ]
    return DriftReport(tuple(results), tuple(adjust_together(null, own).tolist()), alpha)


def mean_shift_pvalue(reference: Any, window: Any, n_resamples: int, rng: Any) -> float:
    """P-value of the difference of mean scores by permutation."""
    cells = coarsened(lay_on_cells(reference, window, "mean_shift"))
    formula = statistic_of("mean_shift")
    null = permuted(cells, [formula], check_whole(n_resamples, "n_resamples"), rng)
    return null.pvalue(value_of(cells, formula), 0)


def _result(cells: Cells, name: str, test: tuple[float, float, float, str]) -> DriftResult:
    value = value_of(cells, statistic_of(name))
    details: dict[str, float] = {}
    if name == "ks_2samp":
        details = signed_extremes(cells)
    elif name == "jensen_shannon":
        details = {"nats": value * math.log(2), "distance": math.sqrt(value)}
    elif name == "energy_distance":
        details = {"root": math.sqrt(value)}
    sizes = (cells.reference_size, cells.window_size)
    return DriftResult(name, value, *test, *sizes, effect_words(name, value, cells), details)


# Samples of scores, without their labels


@dataclass(frozen=True)
class Sample:
    """Distinct scores in rising order, and how many rows have each."""

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
        """The sample of scores, each counted once or as `counts` says.

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
        """Of one row, with divisor n - 1; 0 for a single row."""
        if self.size <= 1:
            return 0.0
        return float(self.share @ (self.value - self.mean) ** 2 * self.size / (self.size - 1))

    def quantile(self, share: float) -> float:
        """Linear between rows, as NumPy's default; a value of weight k counts as k equal rows."""
        start = share * (self.size - 1)
        ends = np.cumsum(self.weight) * (self.size / self.weight.sum())
        inside = np.clip(np.append(0.0, ends) - start, 0, 1)
        inside[-1] = 1.0
        return float(np.diff(inside) @ self.value)

    def part_above(self, threshold: float) -> float:
        """The share of rows with at least this score."""
        return float(self.share[self.value >= threshold].sum())

    def folded(self) -> Sample:
        """Scores of the positive class as confidences in the class that is predicted."""
        return Sample.of(np.maximum(self.value, 1 - self.value), self.weight, lens="top_label", gridded=self.gridded)


def as_sample(source: Any, argument: str, who: str) -> Sample:
    """The scores of a Sketch, a View, a Sample, or plain numbers; labels are not read."""
    if isinstance(source, Sample):
        sample = source
    elif isinstance(source, (Sketch, View)):
        view = source.view() if isinstance(source, Sketch) else source
        if view.weight_kind == "importance" and not (view.weights == 1).all():
            raise WeightsNotSupportedError("sample_weight", f"{who} does not support real weights", Use("counts"))
        sample = Sample.of(view.score, view.weight, lens=view.lens, gridded=isinstance(source, Sketch))
    else:
        sample = Sample.of(_read_scores(source, argument))
    if not sample.size > 0:
        raise UndefinedMetricError(who, f"{argument} has no rows", "wait for more data, or use a longer window")
    return sample


def _read_scores(source: Any, argument: str) -> Floats:
    """Plain scores, with the argument's own name in the message if they are none."""
    array = column(source, argument).array
    if array.ndim != 1:
        raise InputTypeError(
            argument,
            f"expected one score for each row, got {array.ndim} dimensions",
            "pass a Sketch, a View or scores",
        )
    values = numbers(array, argument).astype(np.float64)
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(argument, f"scores must be finite; got {values[row]}", "drop or fill the row", row=row)
    return values


@dataclass(frozen=True)
class Cells:
    """Two samples counted at the same rising values."""

    value: Floats
    reference: Floats
    window: Floats
    """Rows of each at each value."""
    gridded: bool = False
    """Whether values are mean scores of a sketch's cells."""

    @property
    def reference_size(self) -> float:
        return float(self.reference.sum())

    @property
    def window_size(self) -> float:
        return float(self.window.sum())

    def merged(self, group: NDArray[Any]) -> Cells:
        """The same with neighbouring cells put together; `group` numbers them from 0 without gaps."""
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
    # A mean of equal numbers may miss them by rounding; a cell of one score keeps it.
    lowest, highest = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(lowest, place, values)
    np.maximum.at(highest, place, values)
    value = np.clip(np.bincount(place, weight * values, count) / np.bincount(place, weight, count), lowest, highest)
    return Cells(value, old.astype(np.float64), new.astype(np.float64), gridded)


# Distances


def statistic_of(name: str) -> Statistic:
    """The formula of a distance as a function of cells."""

    def binned(value: Floats, reference: Floats, window: Floats) -> Floats:
        old, new = _bin_tables(reference, window)
        return _psi(old, new) if name == "psi" else _jensen_shannon(old, new)

    def plain(value: Floats, reference: Floats, window: Floats) -> Floats:
        gap = _shares(reference) - _shares(window)
        if name == "mean_shift":
            return np.abs(gap @ value)
        gap = np.cumsum(gap, axis=1)
        if name == "ks_2samp":
            return np.asarray(np.abs(gap).max(axis=1))
        width = np.diff(value)
        return np.abs(gap[:, :-1]) @ width if name == "wasserstein" else 2 * np.square(gap[:, :-1]) @ width

    return binned if name in ("psi", "jensen_shannon") else plain


def value_of(cells: Cells, formula: Statistic) -> float:
    """The distance of the two samples themselves."""
    return float(formula(cells.value, cells.reference[None], cells.window[None])[0])


def _bin_tables(reference: Floats, window: Floats) -> tuple[Floats, Floats]:
    """Rows in each bin, (R, BINS), of both; a cell lies in the bin floor(BINS C / N), C the reference rows before it."""
    ends = np.cumsum(reference, axis=1)
    place = np.floor((ends - reference) * (BINS / ends[:, -1:]) + 1e-9).astype(np.intp)
    last = np.where(reference > 0, place, 0).max(axis=1, keepdims=True)  # cells beyond the last row join its bin
    place = np.minimum(np.minimum(place, last), BINS - 1)
    flat = (np.arange(len(reference))[:, None] * BINS + place).ravel()
    old, new = (np.bincount(flat, part.ravel(), len(reference) * BINS) for part in (reference, window))
    return old.reshape(-1, BINS).astype(np.float64), new.reshape(-1, BINS).astype(np.float64)


def _shares(rows: Floats) -> Floats:
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def _psi(old: Floats, new: Floats) -> Floats:
    used = old + new > 0
    p, q = (_shares(rows + SMOOTHING * used) for rows in (old, new))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(used, (q - p) * (np.log(q) - np.log(p)), 0).sum(axis=1))


def _jensen_shannon(old: Floats, new: Floats) -> Floats:
    p, q = _shares(old), _shares(new)
    middle = (p + q) / 2

    def relative(share: Floats) -> Floats:
        ratio = np.divide(share, middle, out=np.ones_like(share), where=share > 0)
        return np.asarray((share * np.log2(ratio)).sum(axis=1))

    return np.maximum((relative(p) + relative(q)) / 2, 0)


def signed_extremes(cells: Cells) -> dict[str, float]:
    """Where the cumulative shares differ most, how far each way, and how far they may differ inside a cell of a sketch."""
    old, new = cells.reference / cells.reference.sum(), cells.window / cells.window.sum()
    gap = np.cumsum(old - new)
    found = {
        "higher": float(max(gap.max(), 0.0)),
        "lower": float(max(-gap.min(), 0.0)),
        "at": float(cells.value[np.argmax(np.abs(gap))]),
    }
    if cells.gridded:
        found["at_most"] = min(1.0, float(np.abs(gap).max() + np.maximum(old, new).max()))
    return found


def effect_words(name: str, value: float, cells: Cells) -> str:
    """How big a change is, in words."""
    if name == "psi":
        size = "small" if value < SMALL else "moderate" if value < LARGE else "large"
        return f"{size} by the customary marks {SMALL:g} and {LARGE:g}, which ignore the number of rows"
    if name == "ks_2samp":
        way = signed_extremes(cells)
        up = way["higher"] >= way["lower"]
        return (
            f"{100 * value:.3g} % of rows {'above' if up else 'at or below'} {way['at']:.4g} that were not there before"
        )
    if name == "wasserstein":
        return f"scores moved by {value:.3g} on average"
    if name == "jensen_shannon":
        return f"a row tells {value:.3g} bits of which sample it is from"
    shift = float((cells.window / cells.window.sum() - cells.reference / cells.reference.sum()) @ cells.value)
    return f"the mean score {'rose' if shift > 0 else 'fell' if shift < 0 else 'moved'} by {abs(shift):.3g}"


# Permutations


@dataclass(frozen=True)
class Null:
    """The null distribution of statistics under permutation of rows: one column for each, with the probability of each row."""

    values: Floats
    weight: Floats
    exact: bool
    """Whether every table is there, rather than a random sample of them."""
    method: str

    def pvalue(self, observed: float, column: int) -> float:
        """The probability of a value at least this large; with random permutations, the observed one counts among them."""
        slack = SAME * max(1.0, abs(observed)) if math.isfinite(observed) else 0.0
        reached = self.values[:, column] >= observed - slack
        if self.exact:
            return min(1.0, float(self.weight[reached].sum()))
        return float((1 + reached.sum()) / (1 + len(reached)))

    def threshold(self, alpha: float, column: int) -> float:
        """The smallest value whose p-value is at most `alpha`; infinite where none is."""
        order = np.argsort(-self.values[:, column], kind="stable")
        values = self.values[order, column]
        tail = np.cumsum(self.weight[order] if self.exact else np.full(len(values), 1 / (1 + len(values))))
        tail += 0 if self.exact else 1 / (1 + len(values))
        last = np.append(values[1:] < values[:-1] - SAME * np.maximum(1.0, np.abs(values[:-1])), True)
        fine = values[last & (tail <= alpha * (1 + SAME))]
        return float(fine[-1]) if len(fine) else math.inf


def coarsened(cells: Cells) -> Cells:
    """Neighbouring cells put together until few are left, by rows of both samples."""
    if len(cells.value) <= MOST_CELLS:
        return cells
    pooled = cells.reference + cells.window
    before = np.cumsum(pooled) - pooled
    key = np.floor(before * (MOST_CELLS / pooled.sum())).astype(np.int64)
    return cells.merged(np.append(0, np.cumsum(np.diff(key) != 0)))


def permuted(cells: Cells, statistics: list[Statistic], n_resamples: int, rng: Any) -> Null:
    """Null distribution of the statistics: all tables where they are few, else rows permuted at random."""
    table = _all_tables(cells)
    if table is not None:
        (window, weight), method = table, "every exchange of rows"
    else:
        window, method = _drawn_windows(cells, n_resamples, generator(seed_of(rng), 0))
        weight = np.full(n_resamples, 1 / n_resamples)
    reference = (cells.reference + cells.window) - window
    values = np.column_stack([statistic(cells.value, reference, window) for statistic in statistics])
    return Null(values, weight, table is not None, method)


def _drawn_windows(cells: Cells, count: int, draw: np.random.Generator) -> tuple[Floats, str]:
    pooled = cells.reference + cells.window
    size = round(cells.window_size)
    if pooled.sum() >= LARGEST_URN:
        # With so many rows drawing with and without replacement are alike, once the spread is set right.
        share = pooled / pooled.sum()
        kept = math.sqrt(1 - size / pooled.sum())
        drawn = draw.multinomial(size, share, size=count)
        return np.clip(size * share + (drawn - size * share) * kept, 0, pooled), "rows exchanged, nearly"
    urn = pooled.astype(np.int64)
    drawn = draw.multivariate_hypergeometric(urn, size, size=count, method="marginals")
    return drawn.astype(np.float64), "rows exchanged at random"


def _all_tables(cells: Cells) -> tuple[Floats, Floats] | None:
    """Every way the window's rows can be taken from the pool, with its probability; None where there are too many."""
    pooled = (cells.reference + cells.window).astype(np.int64)
    size = round(cells.window_size)
    if len(pooled) > 12 or np.prod(np.minimum(pooled, size) + 1.0) > MOST_TABLES:
        return None
    axes = [np.arange(min(int(count), size) + 1) for count in pooled]
    tables = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(pooled))
    tables = tables[tables.sum(axis=1) == size]
    ways = [math.prod(math.comb(n, k) for n, k in zip(pooled.tolist(), row, strict=True)) for row in tables.tolist()]
    total = math.comb(int(pooled.sum()), size)
    return tables.astype(np.float64), np.array([way / total for way in ways])


def adjust_together(null: Null, observed: Floats) -> Floats:
    """P-values of several statistics corrected for looking at them all: how often chance makes the smallest so small."""
    columns = range(null.values.shape[1])
    pvalues = np.array([null.pvalue(float(observed[i]), i) for i in columns])
    if null.exact:
        own = np.column_stack([[null.pvalue(float(v), i) for v in null.values[:, i]] for i in columns])
        reached = own.min(axis=1)[:, None] <= pvalues * (1 + SAME)
        return np.minimum(1.0, null.weight @ reached)
    count = len(null.values)
    ordered = np.sort(null.values, axis=0)
    rank = np.column_stack([count - np.searchsorted(ordered[:, i], null.values[:, i], "left") for i in columns])
    reached = (rank / (count + 1)).min(axis=1)[:, None] <= pvalues * (1 + SAME)
    return np.asarray((1 + reached.sum(axis=0)) / (1 + count))

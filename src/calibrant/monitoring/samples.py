"""Scores of a window without their labels: a weighted sample of distinct values, and two samples laid on common cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, InputTypeError, LensError, ShapeError, UndefinedMetricError
from ..input.convert import column, numbers
from ..input.weights import WeightKind, read_weights
from ..sketches.grid import slots
from ..sketches.sketch import Sketch
from ..views.view import View

__all__ = ["Cells", "Sample", "as_sample", "lay_on_cells", "read_scores"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """Distinct scores in rising order, and how much each weighs."""

    value: Floats = field(repr=False)
    weight: Floats = field(repr=False)
    """Rows at each value; for importance weights their sum, scaled so that all add up to `size`."""
    size: float
    """Number of rows; for importance weights how many rows of weight 1 they are worth."""
    kind: WeightKind = "unit"
    lens: str = "score"
    gridded: bool = False
    """Whether values are mean scores of a sketch's cells."""
    rows: tuple[Floats, Floats] | None = field(default=None, repr=False, compare=False)
    """Value and weight of each row, kept for importance weights only."""

    @classmethod
    def of(cls, scores: Any, *, counts: Any = None, sample_weight: Any = None) -> Sample:
        """The sample of plain scores.

        >>> Sample.of([0.5, 0.9, 0.5]).weight.tolist()
        [2.0, 1.0]
        """
        values = numbers(column(scores, "scores").array, "scores").astype(np.float64)
        if values.ndim != 1:
            raise ShapeError("scores", f"must have one dimension; it has {values.ndim}", "pass one score for each row")
        bad = ~np.isfinite(values)
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                "scores", f"row {row} holds {values[row]}, which is not finite", "drop or fill it", row=row
            )
        weight, kind = read_weights(sample_weight, counts, len(values))
        return _sample(values, weight, kind, "score")

    @property
    def share(self) -> Floats:
        """The part of all weight at each value."""
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
        rows = None if self.rows is None else (np.maximum(self.rows[0], 1 - self.rows[0]), self.rows[1])
        value, place = np.unique(np.maximum(self.value, 1 - self.value), return_inverse=True)
        weight = np.bincount(place, self.weight, len(value)).astype(np.float64)
        return Sample(value, weight, self.size, self.kind, "top_label", self.gridded, rows)


def _sample(values: Floats, weight: NDArray[Any] | None, kind: WeightKind, lens: str, gridded: bool = False) -> Sample:
    value, place = np.unique(values, return_inverse=True)
    if weight is None:
        total = np.bincount(place, minlength=len(value)).astype(np.float64)
        return Sample(value, total, float(len(values)), kind, lens, gridded)
    total = np.bincount(place, weight, len(value)).astype(np.float64)
    value, kept = value[total > 0], total[total > 0]
    if kind != "importance":
        return Sample(value, kept, float(weight.sum()), kind, lens, gridded)
    size = float(weight.sum() ** 2 / np.square(weight).sum())
    return Sample(value, kept * (size / weight.sum()), size, kind, lens, gridded, (values, weight.astype(np.float64)))


def as_sample(source: Any, argument: str, who: str) -> Sample:
    """The scores of a Sketch, a View, a Sample, or plain numbers; labels are not read."""
    if isinstance(source, Sample):
        sample = source
    elif isinstance(source, Sketch):
        view = source.view()
        sample = _sample(view.score, view.weight, "counts", view.lens, gridded=True)
    elif isinstance(source, View):
        sample = _sample(source.score, source.weight, source.weight_kind, source.lens)
    else:
        sample = Sample.of(read_scores(source, argument))
    if not sample.size > 0:
        raise UndefinedMetricError(who, f"{argument} holds no rows", "wait for rows, or choose a longer window")
    return sample


def read_scores(source: Any, argument: str) -> Floats:
    """Plain scores, with the argument's own name in the message if they are none."""
    array = column(source, argument).array
    if array.ndim != 1:
        raise InputTypeError(
            argument,
            f"has {array.ndim} dimensions, and one score for each row is read",
            "pass a Sketch, a View or scores",
        )
    values = numbers(array, argument).astype(np.float64)
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(argument, f"row {row} holds {values[row]}, which is not finite", "drop or fill it", row=row)
    return values


@dataclass(frozen=True)
class Cells:
    """Two samples counted at the same rising values."""

    value: Floats
    reference: Floats
    window: Floats
    """Rows of each at each value."""
    reference_size: float
    window_size: float
    gridded: bool
    whole: bool
    """Whether both count rows, so that shuffling rows is drawing from an urn."""
    rows: tuple[tuple[Floats, Floats], tuple[Floats, Floats]] | None = None
    """Cell and weight of each row of both, where weights are no counts."""

    @property
    def harmonic_size(self) -> float:
        """N M / (N + M): the size of one sample whose mean varies as the difference of two does."""
        return self.reference_size * self.window_size / (self.reference_size + self.window_size)

    @property
    def has_ties(self) -> bool:
        return bool((self.reference + self.window > 1).any())

    def merged(self, group: NDArray[Any]) -> Cells:
        """The same with neighbouring cells put together; `group` numbers them from 0 without gaps."""
        count = int(group[-1]) + 1
        pooled = self.reference + self.window
        reference, window = (
            np.bincount(group, part, count).astype(np.float64) for part in (self.reference, self.window)
        )
        value = np.bincount(group, pooled * self.value, count) / np.bincount(group, pooled, count)
        rows = self.rows
        if rows is not None:
            rows = ((group[rows[0][0].astype(np.intp)], rows[0][1]), (group[rows[1][0].astype(np.intp)], rows[1][1]))
        return Cells(value, reference, window, self.reference_size, self.window_size, self.gridded, self.whole, rows)


def lay_on_cells(reference: Any, window: Any, who: str) -> Cells:
    """Two samples on common cells: distinct scores, or the cells of the sketch grid where one of them is a sketch."""
    first, second = as_sample(reference, "reference", who), as_sample(window, "window", who)
    if "score" not in (first.lens, second.lens) and first.lens != second.lens:
        raise LensError(
            "window", f"{second.lens!r} asks another question than {first.lens!r}", "compare like with like"
        )
    gridded = first.gridded or second.gridded
    values = np.concatenate([first.value, second.value])
    if gridded and (values.min() < 0 or values.max() > 1):
        raise InputError("window", "a sketch holds scores from 0 to 1, and others were given", "compare like with like")
    _, place = np.unique(slots(values) if gridded else values, return_inverse=True)
    count, cut = int(place.max()) + 1, len(first.value)
    old, new = np.bincount(place[:cut], first.weight, count), np.bincount(place[cut:], second.weight, count)
    weight = np.concatenate([first.weight, second.weight])
    # A mean of equal numbers may miss them by rounding; a cell of one score keeps it.
    lowest, highest = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(lowest, place, values)
    np.maximum.at(highest, place, values)
    value = np.clip(np.bincount(place, weight * values, count) / np.bincount(place, weight, count), lowest, highest)
    whole = "importance" not in (first.kind, second.kind)
    rows = None if whole else (_rows_of(first, place[:cut]), _rows_of(second, place[cut:]))
    return Cells(value, old.astype(np.float64), new.astype(np.float64), first.size, second.size, gridded, whole, rows)


def _rows_of(sample: Sample, place: NDArray[Any]) -> tuple[Floats, Floats]:
    """Cell and weight of each row; rows that are counted are written out."""
    if sample.rows is not None:
        value, weight = sample.rows
        kept = weight > 0
        return place[np.searchsorted(sample.value, value[kept])].astype(np.float64), weight[kept] / weight[kept].mean()
    times = sample.weight.astype(np.int64)
    return np.repeat(place, times).astype(np.float64), np.ones(int(times.sum()))

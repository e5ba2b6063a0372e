"""Metrics as functions of sums over rows, which their formulas return in place of a number.

The value of the metric is the `result` of such a form. What depends on the predictions alone is separate from the labels, so that resamples
share it and are evaluated together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import bin_table
from ..binning.table import BinTable
from ..util.arrays import Array, Floats
from ..util.blocks import map_blocks
from ..util.cached import cached_property
from ..views.view import Block, VectorView, View

Places = NDArray[np.intp]


OfTables = Any
"""What a formula of a `BinTable` returns that also takes the tables of several data sets: a number, or one for each of them."""


class Sums(NamedTuple):
    """Sums over the rows of each bin, named as in a `BinTable`; of several data sets along the first axis."""

    weight: Floats
    total: Any
    score_sum: Floats
    positives: Floats
    excess: Floats
    gap: Floats
    share: Floats

    @classmethod
    def of_tables(
        cls, weight: Floats, score_sum: Floats, positives: Floats, excess: Floats, *, together: bool
    ) -> Iterator[list[Sums]]:
        """Yield the tables that have rows; sums are of shape (R, T, B) or (R, T, B, M), for T tables in each of R samples.

        They are yielded for one sample at a time, or for all `together`, if these have rows in the same tables.
        """
        total = weight.sum(axis=2, keepdims=True)
        share = np.divide(weight, total, out=np.zeros(weight.shape), where=total > 0)
        rows = weight.reshape(weight.shape + (1,) * (excess.ndim - 3))
        gap = np.divide(excess, rows, out=np.zeros(excess.shape), where=rows > 0)
        parts = weight, total[..., 0], score_sum, positives, excess, gap, share
        full = total[..., 0] > 0
        if together and (full == full[0]).all():
            yield [cls(*(part[:, table] for part in parts)) for table in np.flatnonzero(full[0])]
            return
        for sample in zip(*parts, strict=True):
            yield [cls(*table) for table in zip(*sample, strict=True) if table[1] > 0]


@dataclass(frozen=True, eq=False)
class Binned:
    """A function of sums over bins, of scores and of the event that the label is a given class.

    Scores and classes depend on the predictions alone. Each score has a table of bins of its own, unless `cell` or `by_class` is given.
    """

    view: VectorView
    scored: Callable[[Block], tuple[Floats, Places]]
    """Scores of shape (B, M), and the class of each; a single score may have several classes."""
    value: Callable[[Sequence[BinTable | Sums]], OfTables]
    """Value from all tables that have rows."""
    rule: Any = None
    """Rule of the bins; None with a `cell` that depends on other rows."""
    cell: Callable[[], tuple[Places, int]] | None = None
    """Function that returns the bin of each row and their number, if scores are not binned by themselves; one table has the sums of all scores."""
    by_class: bool = False
    """Whether each class has a table of its own."""
    is_error: bool = False
    """Whether the event is a label other than the class."""
    of_excess: bool = False
    """Whether the value depends on sums of score minus outcome alone, which are then added as such."""
    lens: str = "binary"
    """Lens of which the scores are."""
    together: bool = False
    """Whether `value` also takes the sums of several data sets."""

    @property
    def is_fixed(self) -> bool:
        """Whether the bin of a row does not depend on other rows."""
        return getattr(self.rule, "is_fixed", False)

    def result(self) -> float:
        """Value of the metric."""
        return self.value(self.tables())

    def tables(self) -> Sequence[BinTable | Sums]:
        """The tables of bins."""
        view = self.view
        if self.cell is not None:
            cell, count = self.cell()
            weight, sums = sums_by_bin(view, cell, count, self._columns)
            score, positives = (sums, np.zeros(sums.shape)) if self.of_excess else np.hsplit(sums, 2)
            excess, rows = score - positives, weight[:, None]
            gap = np.divide(excess, rows, out=np.zeros(excess.shape), where=rows > 0)
            return [Sums(weight, view.total, score, positives, excess, gap, weight / view.total)]
        scores, classes, outcomes = self.rows
        outcomes = outcomes if view.is_soft else outcomes.astype(np.uint8)
        parts: list[tuple[Any, int]] = [(slice(None), column) for column in range(scores.shape[1])]
        if self.by_class:
            parts = [(np.flatnonzero(classes[:, 0] == number), 0) for number in np.unique(classes)]
        scalars = (self._scalar(scores[part], outcomes[part], part[0]) for part in parts)
        return [bin_table(scalar, self.rule) for scalar in scalars]

    @cached_property
    def rows(self) -> tuple[Floats, Places, Array]:
        """Scores, classes and outcomes of all rows."""
        view = self.view
        parts = map_blocks(lambda a, b: self._rows_of(view.block(a, b)), view.n, view.block_rows, columns=view.k)
        scores, classes, outcomes = (np.concatenate(part) for part in zip(*parts, strict=True))
        return scores, classes, outcomes

    def cells(self) -> tuple[Places, int, int]:
        """The bin of each row, or of each of its scores, numbered over all tables; the number of tables, and of bins in each."""
        if self.cell is not None:
            cell, count = self.cell()
            return cell[:, None], 1, count
        scores, classes, _ = self.rows
        nothing = np.zeros(self.view.n, np.uint8)
        cells_of_columns = [self.rule.cells(self._scalar(score, nothing)) for score in scores.T]
        count, cells = cells_of_columns[0][1], np.column_stack([cell for cell, _ in cells_of_columns])
        if self.by_class:
            return cells + classes * count, self.view.k, count
        return cells + np.arange(len(cells_of_columns)) * count, len(cells_of_columns), count

    def _rows_of(self, block: Block) -> tuple[Floats, Places, Array]:
        scores, classes = self.scored(block)
        outcomes: Array = (
            np.take_along_axis(block.targets, classes, 1) if block.labels is None else classes == block.labels[:, None]
        )
        if classes.shape[1] > scores.shape[1]:
            outcomes = np.clip(outcomes.sum(axis=1, keepdims=True), 0, 1)
        return scores, classes, 1 - outcomes if self.is_error else outcomes

    def _columns(self, block: Block) -> Floats:
        scores, _, outcomes = self._rows_of(block)
        return scores - outcomes if self.of_excess else np.hstack([scores, outcomes])

    def _scalar(self, score: Floats, outcome: Array, rows: Any = slice(None)) -> View:
        view = self.view
        weight = None if view.weight is None else view.weight[rows]
        classes = None if view.rows is None else view.rows.exclusive_classes
        return View(score, outcome, weight, view.weight_kind, lens=self.lens, classes=classes)


class Path(NamedTuple):
    """A function of one score per row and of its mass: the share of the row times score minus outcome."""

    result: Callable[[], float]
    """Value of the metric."""
    values: Callable[[Floats, Floats], Floats]
    """Values from scores in increasing order and any number of lines of masses."""
    fill: Callable[[Sequence[View]], None] | None = None
    """Function that computes together, for several views with counts, what the value then reads from their tables."""


def paths_of(score: Floats, mass: Floats) -> Floats:
    """Return the cumulative masses at the end of each tie group, from 0, for lines of masses at increasing scores."""
    path = np.zeros((len(mass), len(score) + 1))
    np.cumsum(mass, axis=1, out=path[:, 1:])
    return path[:, np.concatenate([[True], score[1:] != score[:-1], [True]])]


class Linear(NamedTuple):
    """A function of sums over rows: of numbers that depend on the label, times factors that do not."""

    result: Callable[[], float]
    """Value of the metric."""
    numbers: Callable[[Block], Floats]
    """Of shape (B, C)."""
    factors: Callable[[Block], Floats]
    """Of shape (B, M)."""
    value: Callable[[Floats, float], float]
    """Value from the C times M sums and the number of rows."""


class Fitted(NamedTuple):
    """A coefficient of a model, which is fitted to several views together."""

    result: Callable[[], float]
    """Value of the metric."""
    fill: Callable[[Sequence[View]], None]
    """Function that fits several views with counts together; the value then reads the fit from their tables."""


def predicted_class(block: Block) -> Places:
    """Return the class with the largest probability, the lowest of several, as a column."""
    return block.probs.argmax(axis=1)[:, None]


def sums_by_bin(
    view: VectorView, cell: Places, count: int, columns: Callable[[Block], Floats]
) -> tuple[Floats, Floats]:
    """Compute the weight of each bin, and weighted sums of vectors over its rows."""
    weight = np.bincount(cell, view.weights, count).astype(np.float64)
    sums = np.zeros((count, 0))
    for span, block in view.blocks():
        values = columns(block) * view.weights[span, None]
        if sums.shape[1] == 0:
            sums = np.zeros((count, values.shape[1]))
        for j in range(values.shape[1]):
            sums[:, j] += np.bincount(cell[span], values[:, j], count)
    return weight, sums


Form = Binned | Linear | Path | Fitted
FORMS = (Binned, Linear, Path, Fitted)

"""Bootstrap replicates of a view: how often each of its sorted rows was drawn replaces a sort of every replicate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..input.convert import frozen
from ..input.predictions import Predictions
from ..util.cached import cached_property
from .view import ClassColumns, Prefix, RestOfRows, Rows, View

Array = NDArray[Any]
Floats = NDArray[np.float64]


class Draw:
    """Rows drawn from so many with replacement; the views of several classes share how often each was drawn."""

    def __init__(self, rows: Array, size: int) -> None:
        self.rows, self.size = rows, size

    @cached_property
    def times(self) -> Array:
        """How often each row was drawn."""
        return np.bincount(self.rows, minlength=self.size)


class DrawnView(View):
    """Rows drawn from a view with replacement; they are gathered when they are read.

    Without weights and soft labels, sorted rows and prefix sums are those of the view, each row repeated as often as it was drawn.
    """

    def __init__(
        self, whole: View, draw: Draw | None, rows: Rows | None = None, column: tuple[ClassColumns, int] | None = None
    ) -> None:
        """Set the view and the drawn rows; `draw` is None where `times` will be set instead."""
        self.whole, self._draw = whole, draw
        self.is_soft, self.weight_kind, self.events = whole.is_soft, whole.weight_kind, whole.events
        self.lens, self.rows, self.column, self._classes = whole.lens, rows, column, whole.classes
        self.tables = {}
        self.has_mixed_cells = None

    def __getattr__(self, name: str) -> Any:
        if name == "n":
            found: Any = int(self.times.sum()) if self._draw is None else len(self._draw.rows)
        elif name == "complement":
            found = RestOfRows(self.whole, self.drawn)
        elif name in ("raw_score", "_outcome", "weight", "log_odds"):
            values = self.whole.raw_outcome if name == "_outcome" else getattr(self.whole, name)
            found = None if values is None else frozen(values[self.drawn])
        else:
            raise AttributeError(name)
        self.__dict__[name] = found
        return found

    @cached_property
    def drawn(self) -> Array:
        """The drawn rows."""
        return np.repeat(self.whole.order_with_outcome, self.times) if self._draw is None else self._draw.rows

    @property
    def needs_no_sort(self) -> bool:
        """Whether sums in increasing order of the score need no sort."""
        return self.whole.weight is None and not self.is_soft

    @cached_property
    def order(self) -> Array:
        """Row indices in increasing order of the score, ties in row order."""
        tables = self.whole.tables
        if "digits" not in tables:
            place = np.empty(self.whole.n, np.uint32)
            place[self.whole.order] = np.repeat(np.arange(len(self.whole.ends) - 1), np.diff(self.whole.ends))
            tables["digits"] = (place & 0xFFFF).astype(np.uint16), (place >> 16).astype(np.uint16)
        # Short integers are sorted by their digits, which takes half of the time of a sort of the scores.
        low, high = (digit.take(self.drawn) for digit in tables["digits"])
        first = np.argsort(low, kind="stable")
        return first.take(np.argsort(high.take(first), kind="stable"))

    @cached_property
    def times(self) -> Array:
        """How often each row of the view was drawn, in increasing order of score and outcome."""
        assert self._draw is not None
        return self._draw.times.take(self.whole.order_with_outcome)

    @cached_property
    def reached(self) -> Array:
        """Number of drawn rows up to each row of the view, in the same order; the first entry is 0."""
        path = np.zeros(len(self.times) + 1, np.intp)
        np.cumsum(self.times, out=path[1:])
        return path

    @cached_property
    def sorted_rows(self) -> tuple[Floats, Floats, Array | None]:
        """Scores, outcomes and weights in increasing order of the score."""
        if not self.needs_no_sort:
            return super().sorted_rows
        # The row of the view that each drawn one repeats, in less time than by np.repeat.
        at = np.cumsum(np.bincount(self.reached[1:], minlength=self.n)[: self.n])
        score, outcome, _ = self.whole.sorted_rows
        return score.take(at), outcome.take(at), None

    @cached_property
    def ends(self) -> Array:
        """Number of rows up to the end of each tie group, in increasing order of the score, from 0."""
        return self.prefix.end if self.needs_no_sort else super().ends

    @cached_property
    def prefix(self) -> Prefix:
        """Prefix sums up to the end of each tie group."""
        if not self.needs_no_sort:
            return super().prefix
        present = np.flatnonzero(self.times != 0)
        score, outcome, _ = self.whole.sorted_rows
        score = score.take(present)
        end = np.arange(len(score) + 1)
        if self.whole.has_ties:
            end = np.append(end[:-1][np.append(True, score[1:] != score[:-1])], len(score))
        return Prefix((score, outcome.take(present), None), end, times=self.times.take(present))

    @property
    def has_mixed_ties(self) -> bool:
        """Whether rows with equal scores may have different outcomes; copies of a row have not."""
        return self.whole.has_mixed_ties

    def rows_up_to(self, scores: Floats) -> Array:
        """Return how many rows have at most each of these scores."""
        if not self.needs_no_sort:
            return super().rows_up_to(scores)
        whole = self.whole
        reached = self.reached[whole.ends] if whole.has_ties else self.reached
        return reached.take(np.searchsorted(whole.prefix.score, scores, side="right"))

    def _above(self, threshold: float) -> View:
        if not self.needs_no_sort:
            return super()._above(threshold)
        part = DrawnView(self.whole.above(threshold), None)
        part.times = self.times[self.whole.n - part.whole.n :]
        return part

    def _ranked(self, feature: int) -> View:
        # The order of the rows is all that bins of ranks depend on.
        return DrawnView(self.whole.by_rank(feature), self._draw)

    def clear_cache(self) -> None:
        """Drop what was gathered, and the cached sums."""
        super().clear_cache()
        for name in ("raw_score", "_outcome", "weight", "log_odds", "drawn", "reached"):
            self.__dict__.pop(name, None)
        if self._draw is not None:
            self.__dict__.pop("times", None)


class DrawnColumns(ClassColumns):
    """Probabilities and labels of all classes of drawn rows."""

    def __init__(self, whole: ClassColumns, drawn: Array) -> None:
        self.whole, self.drawn = whole, drawn
        self.found = {}

    def __getattr__(self, name: str) -> Any:
        if name not in ("probs", "labels"):
            raise AttributeError(name)
        found = self.__dict__[name] = getattr(self.whole, name).take(self.drawn, axis=0)
        return found


def draw_views(views: Sequence[View], predictions: Predictions, drawn: Array) -> list[DrawnView]:
    """Return the drawn rows of the views of predictions."""
    draw, rows = Draw(drawn, predictions.n), Rows(predictions, drawn)
    columns: dict[int, ClassColumns] = {}

    def column_of(view: View) -> tuple[ClassColumns, int] | None:
        if view.column is None:
            return None
        classes, index = view.column
        return columns.setdefault(id(classes), DrawnColumns(classes, drawn)), index

    return [DrawnView(view, draw, rows, column_of(view)) for view in views]

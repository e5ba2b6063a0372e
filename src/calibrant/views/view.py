"""View and VectorView: what a metric's formula reads; sorted order and prefix sums are made once and kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..input.predictions import Predictions, frozen
from ..input.weights import WeightKind
from ..util.blocks import map_blocks, rows_per_block, sort_in_place
from ..util.cached import cached_property
from ..util.sums import accurate_sum

__all__ = ["Block", "ClassColumns", "Prefix", "Rows", "Summary", "Ties", "VectorView", "View"]

Array = NDArray[Any]
Floats = NDArray[np.float64]


def sigmoid(z: Floats) -> Floats:
    """1 / (1 + exp(-z)), with all digits near 0."""
    small = np.exp(-np.abs(z))
    return np.asarray(np.where(z >= 0, 1.0, small) / (1 + small))


# From here on up 1 - p comes from the other columns: where a single has four binary digits of it left, and a double 43.
NEAR_SINGLE, NEAR_DOUBLE = 1 - 2.0**-20, 1 - 2.0**-10


class Rounding(NamedTuple):
    """What the type of the probabilities means for 1 - p."""

    near: float
    """Above this, 1 - p comes from the other columns."""
    slack: float
    """As far as these may be from it: a row that misses 1 by more than rounding has other digits, not better ones."""


def rounding_of(probs: Array, logits: Array | None) -> Rounding:
    """Where 1 - p of such probabilities comes from."""
    columns = 2 if probs.ndim == 1 else probs.shape[1]
    if probs.dtype == np.float32 and logits is None:
        return Rounding(NEAR_SINGLE, columns * 2.0**-23)
    return Rounding(NEAR_DOUBLE, columns * 2.0**-52)


def rest_of(probs: Floats, rounding: Rounding) -> Floats:
    """1 - p for an (N, K) array; near 1 the sum of the other columns, where that is 1 - p up to rounding."""
    rest = 1 - probs
    if probs.shape[1] == 2:
        others = probs[:, ::-1]
        return np.where((probs > rounding.near) & (np.abs(rest - others) <= rounding.slack), others, rest)
    rows, top = np.nonzero(probs > rounding.near)
    without = probs[rows]
    without[np.arange(len(rows)), top] = 0
    others, own = without.sum(axis=1), rest[rows, top]
    rest[rows, top] = np.where(np.abs(own - others) <= rounding.slack, others, own)
    return np.asarray(rest)


def _log_sum_above_one(z: Floats) -> Floats:
    """log of the sum of exp(z), where the largest entry of each row is 0: by log1p of the others, so that no digit is lost."""
    small = np.exp(z)
    total = small.sum(axis=1)
    sure = np.flatnonzero(total < 1 + 2.0**-10)
    others = small[sure]
    others[np.arange(len(sure)), z[sure].argmax(axis=1)] = 0
    logs = np.log(total)
    logs[sure] = np.log1p(others.sum(axis=1))
    return np.asarray(logs)


class Rows:
    """What else is known of a view's rows, for the metrics that ask for it (``needs=``)."""

    def __init__(self, predictions: Predictions) -> None:
        self._predictions = predictions

    @property
    def labels(self) -> Array | None:
        """The true class of each row; None where only shares, or only whether the prediction was right, are known."""
        return None if self._predictions.kind == "confidence" else self._predictions.labels

    @property
    def classes(self) -> int:
        """How many there are."""
        return self._predictions.k

    @property
    def is_multilabel(self) -> bool:
        """Whether a row may have several classes at once."""
        return self._predictions.kind == "multilabel"

    @property
    def predicted(self) -> Array:
        return self._predictions.predicted

    @property
    def kept(self) -> Array | None:
        """Which of the rows given are here, where some had no weight."""
        return self._predictions.kept

    @property
    def least_top(self) -> float:
        """The smallest confidence that a predicted class can have: one class in k has a probability of 1/k or more."""
        return 1 / self._predictions.k if self._predictions.kind in ("binary", "multiclass") else 0.0

    @property
    def groups(self) -> Array | None:
        return self._predictions.groups

    @property
    def features(self) -> Array | None:
        return self._predictions.features

    def part(self) -> None:
        """Have the predictions forget their views: they know each other, and would wait for the collector to come round."""
        self._predictions.views.clear()


class Prefix(NamedTuple):
    """Sums over the rows before each end of a tie group, in rising order of score; the first entry is 0."""

    end: Array
    """Number of rows up to and including each tie group."""
    score: Floats
    """The score of each tie group; one entry fewer than the sums."""
    weight: Array
    outcome: Floats
    total: Floats
    """Sum of weight times score."""
    excess: Floats
    """Sum of weight times (score - outcome)."""
    square: Array
    """Sum of squared weights."""


class Ties(NamedTuple):
    """Rows with equal scores taken together, in rising order of score."""

    score: Floats
    """The distinct scores."""
    weight: Floats
    outcome: Floats
    """Sum of weight times outcome."""
    excess: Floats
    """Sum of weight times (score - outcome)."""


class ClassColumns:
    """Probabilities and labels of all classes, shared by the views of single classes; `found` keeps what one pass gave them all."""

    def __init__(self, probs: Array, labels: Array) -> None:
        self.probs = probs
        self.labels = labels
        self.found: dict[Any, Any] = {}


@dataclass(frozen=True)
class FixedRest:
    """1 - score as it is."""

    values: Array

    def __call__(self) -> Floats:
        return np.asarray(self.values, np.float64)


@dataclass(frozen=True)
class RestOfColumns:
    """1 - score from the other columns of the predictions, when asked for: of one column, or of the largest entry of each row."""

    predictions: Predictions
    column: int | None = None

    def __call__(self) -> Floats:
        p = self.predictions
        score = p.top_score if self.column is None else p.probs[:, self.column]
        assert score is not None
        rest = 1 - score.astype(np.float64)
        rounding = rounding_of(p.probs, p.logits)
        near = np.flatnonzero(score > rounding.near)
        if len(near):
            probs = p.probs[near].astype(np.float64)
            column: Any = probs.argmax(axis=1) if self.column is None else self.column
            rest[near] = rest_of(probs, rounding)[np.arange(len(near)), column]
        return rest


@dataclass(frozen=True)
class RestOfRows:
    """1 - score of a view, or of some of its rows, when asked for."""

    view: View
    rows: Any = None

    def __call__(self) -> Floats:
        return self.view.rest if self.rows is None else np.asarray(self.view.rest[self.rows])


class _Weighted:
    """The weights of a view, of either kind."""

    n: int
    weight: Array | None
    weight_kind: WeightKind

    @cached_property
    def total(self) -> float:
        """Sum of the weights; the number of rows where there are none."""
        return float(self.n if self.weight is None else self.weight.sum())

    @cached_property
    def effective_size(self) -> float:
        """How many rows of weight 1 this is worth: the sum for counts, (sum w)^2 / sum w^2 for importance."""
        if self.weight is None or self.weight_kind == "counts":
            return self.total
        return float(self.total**2 / np.square(self.weight).sum())

    @cached_property
    def weights(self) -> Floats:
        """The weight of each row as float64, ones where there are none."""
        return np.ones(self.n) if self.weight is None else self.weight.astype(np.float64)

    def mean(self, values: Array) -> float:
        """Weighted mean of one value per row."""
        if self.weight is None and values.dtype.kind in "biu":
            return int(values.sum()) / self.total  # as exact, and fast
        return accurate_sum(values if self.weight is None else values * self.weight) / self.total


class View(_Weighted):
    """A binary question about each row: `score` is the probability given to yes, `outcome` is the answer, `weight` its weight."""

    def __init__(
        self,
        score: Array,
        outcome: Array | None,
        weight: Array | None = None,
        weight_kind: WeightKind = "unit",
        *,
        rows: Rows | None = None,
        lens: str = "binary",
        log_odds: Array | None = None,
        column: tuple[ClassColumns, int] | None = None,
        rest: Callable[[], Floats] | None = None,
    ) -> None:
        self.raw_score = frozen(score) if score.flags.writeable else score
        self._outcome = outcome if outcome is None or not outcome.flags.writeable else frozen(outcome)
        self.is_soft = outcome is not None and outcome.dtype.kind == "f"
        self.column = column
        """All classes and which of them this is; `outcome` is then None and made when asked for, K of them being large."""
        self.weight = weight
        self.weight_kind: WeightKind = weight_kind
        self.rows = rows
        self.lens = lens
        self.log_odds = log_odds
        self.complement = rest
        """What gives 1 - score to more digits than the scores hold, where that is not the logits; None where nothing does."""
        self.n = len(score)
        self.tables: dict[Any, Any] = {}

    @cached_property
    def score(self) -> Floats:
        """The scores, widened to float64."""
        return self.raw_score.astype(np.float64, copy=False)

    @cached_property
    def rest(self) -> Floats:
        """1 - score, which a score near 1 holds to few digits: from the logits or the other columns where those are at hand."""
        if self.log_odds is not None:
            return sigmoid(-self.log_odds.astype(np.float64))
        return 1 - self.score if self.complement is None else self.complement()

    @property
    def variance(self) -> Floats:
        """The variance of each outcome if the score is right: score times (1 - score)."""
        return self.score * self.rest

    @cached_property
    def outcome(self) -> Floats:
        """The outcomes as float64: 0 and 1, or shares for soft labels."""
        return self.raw_outcome.astype(np.float64, copy=False)

    @property
    def raw_outcome(self) -> Array:
        """The outcomes as they came: bytes, or shares for soft labels."""
        if self._outcome is not None:
            return self._outcome
        assert self.column is not None
        classes, index = self.column
        return frozen((classes.labels == index).view(np.uint8))

    @cached_property
    def order(self) -> Array:
        """Row numbers in rising order of score, ties in row order."""
        return np.argsort(self.raw_score, kind="stable")

    @cached_property
    def sorted_rows(self) -> tuple[Floats, Floats, Array | None]:
        """Scores, outcomes and weights in rising order of score."""
        if self.weight is None and not self.is_soft and self.raw_score.dtype.itemsize in (4, 8):
            # The bits of a number in [0, 1] order as it does and leave the top two free, so the outcome rides along
            # in the lowest and one plain sort of integers does the work of an argsort and two gathers.
            kind = np.uint32 if self.raw_score.dtype.itemsize == 4 else np.uint64
            keys: Array = np.abs(self.raw_score).view(kind)
            keys <<= kind(1)
            keys |= self.raw_outcome.astype(np.uint8, copy=False)
            sort_in_place(keys)
            outcome = (keys & kind(1)).astype(np.float64)
            return (keys >> kind(1)).view(self.raw_score.dtype).astype(np.float64), outcome, None
        weight = None if self.weight is None else self.weight[self.order]
        return self.score[self.order], self.outcome[self.order], weight

    @cached_property
    def prefix(self) -> Prefix:
        """Prefix sums at the ends of the tie groups."""
        score, outcome, weight = self.sorted_rows
        ends = np.append(0, np.flatnonzero(np.append(score[1:] != score[:-1], True)) + 1)

        def sums(values: Array) -> Array:
            path = np.zeros(len(values) + 1, np.int64 if values.dtype.kind in "iu" else np.float64)
            np.cumsum(values, out=path[1:])
            return path if len(ends) == len(path) else path[ends]

        if weight is None:
            ones, excess, total = sums(outcome), sums(score - outcome), sums(score)
            mass = square = ends
        else:
            ones, excess, total = sums(weight * outcome), sums(weight * (score - outcome)), sums(weight * score)
            mass, square = sums(weight), sums(weight * weight)
        return Prefix(ends, score[ends[1:] - 1], mass, ones, total, excess, square)

    @cached_property
    def ties(self) -> Ties:
        """Sums over the rows of each distinct score."""
        score, outcome, weight = self.sorted_rows
        starts = np.flatnonzero(np.append(True, score[1:] != score[:-1]))

        def sums(values: Floats) -> Floats:
            return values if len(starts) == len(score) else np.add.reduceat(values, starts)

        if weight is None:
            mass = np.diff(starts, append=len(score)).astype(np.float64)
            return Ties(score[starts], mass, sums(outcome), sums(score - outcome))
        weight = weight.astype(np.float64)
        return Ties(score[starts], sums(weight), sums(weight * outcome), sums(weight * (score - outcome)))

    def forget(self) -> None:
        """Drop what was sorted and summed, which is several times the size of the view."""
        for name in ("score", "rest", "outcome", "order", "sorted_rows", "prefix", "ties", "weights"):
            self.__dict__.pop(name, None)
        self.tables.clear()

    def as_vector(self) -> VectorView:
        """The same question with both answers as columns: (no, yes)."""
        soft = self.raw_outcome if self.is_soft else None
        labels = None if self.is_soft else self.raw_outcome
        return VectorView(
            self.raw_score,
            labels,
            soft,
            self.weight,
            self.weight_kind,
            rows=self.rows,
            lens=self.lens,
            logits=self.log_odds,
            score_column=1,
            rest=None if self.complement is None else RestOfRows(self),
        )

    def __repr__(self) -> str:
        return f"View({self.lens}, n={self.n})"


class Summary:
    """What stands for rows without holding them, such as a sketch; it gives the views of the lenses that it was made with."""

    @property
    def n(self) -> int:
        """How many rows it stands for."""
        raise NotImplementedError

    def view(self, lens: Any = "auto") -> View:
        """The view of one lens."""
        raise NotImplementedError

    def views(self, lens: Any = "auto") -> list[View | VectorView]:
        """The views of a lens, of which ``"classwise"`` has several."""
        return [self.view(lens)]


class Block(NamedTuple):
    """Some rows of a VectorView, small enough to stay in cache."""

    probs: Floats
    """(B, K) probabilities."""
    targets: Floats
    """(B, K): one-hot rows, or shares for soft labels."""
    labels: Array | None
    """Class indices, or None for soft labels."""
    log_probs: Callable[[], Floats]
    """Logarithms of the probabilities, from the logits where those were given."""
    log_rest: Callable[[], Floats]
    """Logarithms of 1 - probability, likewise."""
    rounding: Rounding

    @property
    def k(self) -> int:
        return self.probs.shape[1]

    def rest(self) -> Floats:
        """1 - probability: near 1 from the other columns, which hold the digits that 1 - p loses there."""
        return rest_of(self.probs, self.rounding)

    def expect(self, values: Floats) -> Floats:
        """For each row the entry of `values` at the label, or its mean over the shares; 0 times infinity counts 0."""
        if self.labels is not None:
            return np.asarray(values[np.arange(len(values)), self.labels])
        return np.where(self.targets > 0, values * np.where(self.targets > 0, self.targets, 1), 0).sum(axis=1)


class VectorView(_Weighted):
    """The whole distribution of each row: `probs` against the label or the shares, read block by block.

    `probs` may have one dimension: it is then the second of two columns, and the first is what is missing to 1.
    """

    def __init__(
        self,
        probs: Array,
        labels: Array | None,
        soft: Array | None,
        weight: Array | None = None,
        weight_kind: WeightKind = "unit",
        *,
        rows: Rows | None = None,
        lens: str = "canonical",
        logits: Array | None = None,
        score_column: int | None = None,
        tree_columns: int | None = None,
        rest: Callable[[], Floats] | None = None,
    ) -> None:
        self.raw_probs = frozen(probs)
        self.labels = labels
        self.soft = soft
        self.weight = weight
        self.weight_kind: WeightKind = weight_kind
        self.rows = rows
        self.lens = lens
        self.logits = logits
        self._rest = rest
        self.n = len(probs)
        self.k = 2 if probs.ndim == 1 else probs.shape[1]
        self.score_column = score_column
        """The one column that says it all, where the lens asks a yes-or-no question."""
        self.tree_columns = self.k if tree_columns is None else tree_columns
        """How many leading columns a k-d tree looks at; a remainder that completes the row to 1 is left out."""

    @property
    def is_soft(self) -> bool:
        return self.soft is not None

    @property
    def block_rows(self) -> int:
        return rows_per_block(self.k)

    def block(self, start: int, stop: int) -> Block:
        """Rows `start` to `stop` in float64."""
        probs = self._probs(start, stop)
        labels = None if self.labels is None else self.labels[start:stop]
        if labels is not None:
            targets = np.zeros(probs.shape)
            targets[np.arange(len(targets)), labels] = 1
        else:
            assert self.soft is not None
            shares = self.soft[start:stop]
            targets = np.column_stack([1 - shares, shares]) if shares.ndim == 1 else shares
        return Block(
            probs,
            targets,
            labels,
            lambda: self._log_probs(start, stop),
            lambda: self._log_rest(start, stop),
            self.rounding,
        )

    @property
    def rounding(self) -> Rounding:
        """Where 1 - p comes from."""
        return rounding_of(self.raw_probs, self.logits)

    def _probs(self, start: int, stop: int) -> Floats:
        probs = self.raw_probs[start:stop].astype(np.float64, copy=False)
        if probs.ndim == 2:
            return probs
        if self.logits is not None:
            return np.column_stack([sigmoid(-self.logits[start:stop].astype(np.float64)), probs])
        known = self._rest is not None and probs.max() > self.rounding.near
        return np.column_stack([self._rest()[start:stop] if known and self._rest is not None else 1 - probs, probs])

    def _log_probs(self, start: int, stop: int) -> Floats:
        with np.errstate(divide="ignore"):
            if self.logits is not None:
                z = self.logits[start:stop].astype(np.float64)
                if z.ndim == 1:
                    return np.column_stack([-np.logaddexp(0, z), -np.logaddexp(0, -z)])
                z = z - z.max(axis=1, keepdims=True)
                return np.asarray(z - _log_sum_above_one(z)[:, None])
            probs = self.raw_probs[start:stop].astype(np.float64, copy=False)
            if probs.ndim == 1 and (self._rest is None or not probs.max() > self.rounding.near):
                return np.column_stack([np.log1p(-probs), np.log(probs)])
            probs = self._probs(start, stop)
            logs = np.log(probs)
            near = max(self.rounding.near, 1 - 2.0**-26)
            if probs.max() > near:  # log(p) has lost the digits that the other columns hold
                sure = probs > near
                logs[sure] = np.log1p(-rest_of(probs, self.rounding)[sure])
            return logs

    def _log_rest(self, start: int, stop: int) -> Floats:
        logs = self._log_probs(start, stop)
        if self.k == 2 and (self.logits is not None or self.raw_probs.ndim == 1):
            return logs[:, ::-1]
        probs = self._probs(start, stop)
        with np.errstate(divide="ignore"):
            if self.logits is None:
                return np.where(probs > 0.5, np.log(rest_of(probs, self.rounding)), np.log1p(-np.minimum(probs, 0.5)))
            found = np.log1p(-np.minimum(probs, 0.5))
            top = probs.argmax(axis=1)[:, None]
            others = logs.copy()
            np.put_along_axis(others, top, -np.inf, axis=1)
            most = others.max(axis=1, keepdims=True)
            rest = most + np.log(np.exp(others - most).sum(axis=1, keepdims=True))
            np.put_along_axis(found, top, rest, axis=1)
            return np.where(probs > 0.5, found, np.log1p(-np.minimum(probs, 0.5)))

    def blocks(self) -> Iterator[tuple[slice, Block]]:
        """All rows, block by block."""
        for start in range(0, self.n, self.block_rows):
            stop = min(start + self.block_rows, self.n)
            yield slice(start, stop), self.block(start, stop)

    def each_row(self, formula: Callable[[Block], Array]) -> Floats:
        """One number for each row."""
        return np.concatenate(
            map_blocks(lambda a, b: formula(self.block(a, b)), self.n, self.block_rows, columns=self.k)
        )

    def mean_of(self, formula: Callable[[Block], Array]) -> float:
        """Weighted mean over rows of one number for each row, without keeping them all."""

        def work(start: int, stop: int) -> float:
            values = formula(self.block(start, stop))
            if np.isposinf(values).any():  # one row that is infinitely bad decides, whatever the others are
                return math.inf
            return float(values.sum() if self.weight is None else (values * self.weight[start:stop]).sum())

        parts = map_blocks(work, self.n, self.block_rows, columns=self.k)
        return math.inf if math.inf in parts else math.fsum(parts) / self.total

    @cached_property
    def mean_gap(self) -> Floats:
        """Weighted mean over rows of probability minus target, for each class."""

        def work(start: int, stop: int) -> Floats:
            block = self.block(start, stop)
            gap = block.probs - block.targets
            return gap.sum(axis=0) if self.weight is None else self.weight[start:stop] @ gap

        parts = np.array(map_blocks(work, self.n, self.block_rows, columns=self.k))
        return np.array([math.fsum(column) for column in parts.T]) / self.total

    def __repr__(self) -> str:
        return f"VectorView({self.lens}, n={self.n}, k={self.k})"

"""View and VectorView: scores and outcomes as metrics read them; sorted order and prefix sums are computed once and cached."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..input.convert import frozen
from ..input.predictions import Predictions
from ..input.weights import WeightKind
from ..util.arrays import Array, Floats
from ..util.blocks import map_blocks, rows_per_block, sort_in_place, stable_order
from ..util.cached import cached_property
from ..util.sums import accurate_sum


def sigmoid(z: Floats) -> Floats:
    """Compute 1 / (1 + exp(-z)) with full precision near 0."""
    small = np.exp(-np.abs(z))
    return np.asarray(np.where(z >= 0, 1.0, small) / (1 + small))


# Above these, 1 - p is computed from the other columns: single precision then has four binary digits of it left, double 43.
NEAR_SINGLE, NEAR_DOUBLE = 1 - 2.0**-20, 1 - 2.0**-10


class Rounding(NamedTuple):
    """How 1 - p is computed for probabilities of a given precision."""

    near: float
    """Above this, 1 - p is computed from the other columns."""
    slack: float
    """Largest accepted difference between the two; in a row whose sum deviates from 1 by more, the other columns are not used."""


def rounding_of(probs: Array, logits: Array | None) -> Rounding:
    """Return how 1 - p is computed for these probabilities."""
    columns = 2 if probs.ndim == 1 else probs.shape[1]
    if probs.dtype == np.float32 and logits is None:
        return Rounding(NEAR_SINGLE, columns * 2.0**-23)
    return Rounding(NEAR_DOUBLE, columns * 2.0**-52)


def rest_of(probs: Floats, rounding: Rounding) -> Floats:
    """Compute 1 - p for an (N, K) array; near 1 as the sum of the other columns where this agrees up to rounding."""
    rest = 1 - probs
    if probs.shape[1] == 2:
        others = probs[:, ::-1]
        return np.where((probs > rounding.near) & (np.abs(rest - others) <= rounding.slack), others, rest)
    rows, top = np.nonzero(probs > rounding.near)
    rows_near_one = probs[rows]
    rows_near_one[np.arange(len(rows)), top] = 0
    others, own = rows_near_one.sum(axis=1), rest[rows, top]
    rest[rows, top] = np.where(np.abs(own - others) <= rounding.slack, others, own)
    return np.asarray(rest)


def _log_sum_above_one(z: Floats) -> Floats:
    """Compute log(sum(exp(z))) for rows whose largest entry is 0, by log1p of the others to keep full precision."""
    small = np.exp(z)
    total = small.sum(axis=1)
    is_near_one = np.flatnonzero(total < 1 + 2.0**-10)
    others = small[is_near_one]
    others[np.arange(len(is_near_one)), z[is_near_one].argmax(axis=1)] = 0
    logs = np.log(total)
    logs[is_near_one] = np.log1p(others.sum(axis=1))
    return np.asarray(logs)


class Prefix:
    """Prefix sums up to the end of each tie group, in increasing order of the score; the first entry is 0. Each is computed on first use."""

    def __init__(self, rows: tuple[Floats, Floats, Array | None], end: Array) -> None:
        """Set scores, outcomes and weights in increasing order of the score, and where each tie group ends."""
        self._rows = rows
        self.end = end
        """Number of rows up to and including each tie group."""

    @cached_property
    def score(self) -> Floats:
        """Score of each tie group; one entry fewer than the sums."""
        score = self._rows[0]
        return score if len(self.end) > len(score) else score[self.end[1:] - 1]

    def _sums(self, values: Array) -> Array:
        path = np.zeros(len(values) + 1, np.int64 if values.dtype.kind in "iu" else np.float64)
        np.cumsum(values, out=path[1:])
        return path if len(self.end) == len(path) else path[self.end]

    @cached_property
    def weight(self) -> Array:
        """Sum of the weights."""
        weight = self._rows[2]
        return self.end if weight is None else self._sums(weight)

    @cached_property
    def outcome(self) -> Floats:
        """Sum of weight times outcome."""
        _, outcome, weight = self._rows
        return self._sums(outcome if weight is None else weight * outcome)

    @cached_property
    def total(self) -> Floats:
        """Sum of weight times score."""
        score, _, weight = self._rows
        return self._sums(score if weight is None else weight * score)

    @cached_property
    def excess(self) -> Floats:
        """Sum of weight times (score - outcome)."""
        score, outcome, weight = self._rows
        return self._sums(score - outcome if weight is None else weight * (score - outcome))

    @cached_property
    def square(self) -> Array:
        """Sum of squared weights."""
        weight = self._rows[2]
        return self.end if weight is None else self._sums(weight * weight)


class Ties(NamedTuple):
    """Sums over rows with equal scores, in increasing order of the score."""

    score: Floats
    """Distinct scores."""
    weight: Floats
    outcome: Floats
    """Sum of weight times outcome."""
    excess: Floats
    """Sum of weight times (score - outcome)."""


class ClassColumns:
    """Probabilities and labels of all classes, shared by the views of single classes; `found` caches results of one pass over all."""

    def __init__(self, probs: Array, labels: Array) -> None:
        self.probs = probs
        self.labels = labels
        self.found: dict[Any, Any] = {}


@dataclass(frozen=True)
class FixedRest:
    """Given values of 1 - score."""

    values: Array

    def __call__(self) -> Floats:
        return np.asarray(self.values, np.float64)


@dataclass(frozen=True)
class RestOfColumns:
    """1 - score from the other columns of the predictions, on request: of one column, or of the largest entry of each row."""

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
    """1 - score of a view, or of some of its rows, on request."""

    view: View
    rows: Any = None

    def __call__(self) -> Floats:
        return self.view.rest if self.rows is None else np.asarray(self.view.rest[self.rows])


class _Weighted:
    """Weights of a view, of either kind."""

    n: int
    weight: Array | None
    weight_kind: WeightKind

    @cached_property
    def total(self) -> float:
        """Sum of the weights; the number of rows without weights."""
        return float(self.n if self.weight is None else self.weight.sum())

    @cached_property
    def effective_size(self) -> float:
        """Effective sample size: the sum for counts, (sum w)^2 / sum w^2 for importance weights."""
        if self.weight is None or self.weight_kind == "counts":
            return self.total
        return float(self.total**2 / np.square(self.weight).sum())

    @property
    def row_count(self) -> float:
        """Number of rows; a row with a count stands for so many."""
        return self.total if self.weight_kind == "counts" else float(self.n)

    @cached_property
    def has_real_weights(self) -> bool:
        """Whether importance weights differ from 1, so that rows do not count as observations."""
        return self.weight is not None and self.weight_kind == "importance" and not bool((self.weight == 1).all())

    @cached_property
    def weights(self) -> Floats:
        """Weight of each row as float64; ones without weights."""
        return np.ones(self.n) if self.weight is None else self.weight.astype(np.float64)

    def mean(self, values: Array) -> float:
        """Compute the weighted mean of one value per row.

        Parameters
        ----------
        values : numpy.ndarray of shape (N,)
            Values.

        Returns
        -------
        float
            Mean with the weights of the view.
        """
        if self.weight is None and values.dtype.kind in "biu":
            return int(values.sum()) / self.total  # exact and fast
        return accurate_sum(values if self.weight is None else values * self.weight) / self.total


class View(_Weighted):
    """Scores and outcomes of a binary event, one pair per row, with weights.

    A view is what the formula of a metric with one score per row reads. It caches the sorted order and prefix sums, so that
    several metrics share them. Every function of calibrant accepts a view in place of ``(y_true, y_prob)``.

    Parameters
    ----------
    score : numpy.ndarray of shape (N,)
        Predicted probability of the event.
    outcome : numpy.ndarray of shape (N,) or None
        Whether the event occurred: integers 0 and 1, or floats for soft labels. None if `column` is given.
    weight : numpy.ndarray of shape (N,), optional
        Weight of each row.
    weight_kind : {"unit", "counts", "importance"}, default "unit"
        Kind of the weights.
    rows : Predictions, optional
        Predictions that the rows are of, with labels, groups and features.
    lens : str, default "binary"
        Name of the lens.
    log_odds : numpy.ndarray of shape (N,), optional
        Log-odds of the scores, if the input was logits.
    column : tuple of ClassColumns and int, optional
        All classes and the index of this one; the outcomes are then computed on request, which saves memory for many classes.
    rest : callable, optional
        Function that returns 1 - score with more digits than the scores hold.
    classes : int, optional
        Number of classes, if it is not known from `rows`.

    Attributes
    ----------
    n : int
        Number of rows.
    tables : dict
        Cached bin tables and similar results.

    See Also
    --------
    VectorView : The whole vector of class probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.views import View
    >>> view = View(np.array([0.1, 0.4, 0.8, 0.9]), np.array([0, 1, 1, 1]))
    >>> view
    View(binary, n=4)
    >>> round(view.mean(view.score - view.outcome), 4)
    -0.2
    """

    def __init__(
        self,
        score: Array,
        outcome: Array | None,
        weight: Array | None = None,
        weight_kind: WeightKind = "unit",
        *,
        rows: Predictions | None = None,
        lens: str = "binary",
        log_odds: Array | None = None,
        column: tuple[ClassColumns, int] | None = None,
        rest: Callable[[], Floats] | None = None,
        classes: int | None = None,
    ) -> None:
        self.raw_score = frozen(score) if score.flags.writeable else score
        self._outcome = outcome if outcome is None or not outcome.flags.writeable else frozen(outcome)
        self.is_soft = outcome is not None and outcome.dtype.kind == "f"
        self.column = column
        self.weight = weight
        self.weight_kind: WeightKind = weight_kind
        self.rows = rows
        self.lens = lens
        self.log_odds = log_odds
        self.complement = rest
        self._classes = classes
        self.n = len(score)
        self.tables: dict[Any, Any] = {}
        # Outcomes of one row, which are not independent; K for flattened classes.
        self.events = 1
        # Of a sketch: whether different scores share a cell.
        self.has_mixed_cells: Callable[[], bool] | None = None

    @property
    def classes(self) -> int | None:
        """Number of classes of which each row has one; None if it is unknown."""
        return self.rows.exclusive_classes if self._classes is None and self.rows is not None else self._classes

    @cached_property
    def score(self) -> Floats:
        """Scores as float64."""
        return self.raw_score.astype(np.float64, copy=False)

    @cached_property
    def rest(self) -> Floats:
        """1 - score, computed from the logits or the other columns where available, since a score near 1 has few digits of it."""
        if self.log_odds is not None:
            return sigmoid(-self.log_odds.astype(np.float64))
        return 1 - self.score if self.complement is None else self.complement()

    @property
    def variance(self) -> Floats:
        """Variance of each outcome under calibration, score * (1 - score)."""
        return self.score * self.rest

    @cached_property
    def outcome(self) -> Floats:
        """Outcomes as float64: 0 and 1, or fractions for soft labels."""
        return self.raw_outcome.astype(np.float64, copy=False)

    @property
    def raw_outcome(self) -> Array:
        """Outcomes in their original type: integers, or fractions for soft labels."""
        if self._outcome is not None:
            return self._outcome
        assert self.column is not None
        classes, index = self.column
        return frozen((classes.labels == index).view(np.uint8))

    @cached_property
    def order(self) -> Array:
        """Row indices in increasing order of the score, ties in row order."""
        return stable_order(self.raw_score)

    @cached_property
    def sorted_rows(self) -> tuple[Floats, Floats, Array | None]:
        """Scores, outcomes and weights in increasing order of the score."""
        if self.weight is None and not self.is_soft and self.raw_score.dtype.itemsize in (4, 8):
            # The bit patterns of numbers in [0, 1] have the same order as the numbers and leave the top two bits free: with the
            # outcome in the lowest bit, one sort of integers replaces an argsort and two gathers.
            kind = np.uint32 if self.raw_score.dtype.itemsize == 4 else np.uint64
            keys: Array = np.abs(self.raw_score).view(kind)
            keys <<= kind(1)
            keys |= self.raw_outcome.astype(np.uint8, copy=False)
            sort_in_place(keys)
            outcome = (keys & kind(1)).astype(np.float64)
            keys >>= kind(1)
            return keys.view(self.raw_score.dtype).astype(np.float64, copy=False), outcome, None
        weight = None if self.weight is None else self.weight[self.order]
        return self.score[self.order], self.outcome[self.order], weight

    @cached_property
    def ends(self) -> Array:
        """Number of rows up to the end of each tie group, in increasing order of the score, from 0."""
        score, _, _ = self.sorted_rows
        is_end = np.ones(len(score) + 1, bool)
        is_end[1:-1] = score[1:] != score[:-1]
        return np.flatnonzero(is_end)

    @cached_property
    def prefix(self) -> Prefix:
        """Prefix sums up to the end of each tie group."""
        return Prefix(self.sorted_rows, self.ends)

    @property
    def needs_no_sort(self) -> bool:
        """Whether sums in increasing order of the score need no sort."""
        return "prefix" in self.__dict__

    @property
    def has_ties(self) -> bool:
        """Whether rows have equal scores."""
        return len(self.ends) <= self.n

    def rows_up_to(self, scores: Floats) -> Array:
        """Return how many rows have at most each of these scores; a count stands for as many rows.

        Parameters
        ----------
        scores : numpy.ndarray of shape (M,)
            Scores, not necessarily those of rows.

        Returns
        -------
        numpy.ndarray of shape (M,)
            Numbers of rows.
        """
        prefix = self.prefix
        path = prefix.weight.astype(np.intp, copy=False) if self.weight_kind == "counts" else prefix.end
        return np.asarray(path[np.searchsorted(prefix.score, scores, side="right")])

    @cached_property
    def ties(self) -> Ties:
        """Sums over the rows of each distinct score."""
        score, outcome, weight = self.sorted_rows
        starts = self.ends[:-1]

        def sums(values: Floats) -> Floats:
            return values if len(starts) == len(score) else np.add.reduceat(values, starts)

        if weight is None:
            mass = np.diff(starts, append=len(score)).astype(np.float64)
            return Ties(score[starts], mass, sums(outcome), sums(score - outcome))
        weight = weight.astype(np.float64)
        return Ties(score[starts], sums(weight), sums(weight * outcome), sums(weight * (score - outcome)))

    def clear_cache(self) -> None:
        """Drop the cached sorted order and sums, which are several times the size of the view."""
        for name in ("score", "rest", "outcome", "order", "sorted_rows", "ends", "prefix", "ties", "weights"):
            self.__dict__.pop(name, None)
        self.tables.clear()

    def as_vector(self) -> VectorView:
        """Return the same data as a vector view with two columns, for the complement and the event.

        Returns
        -------
        VectorView
            View with columns ``(1 - score, score)``.
        """
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

    def part(self, at: Any, score: Any = None, outcome: Any = None, rows: Any = None, rest: Any = None) -> View:
        """Return the rows at these places, with other scores or outcomes where they are given.

        Parameters
        ----------
        at : ndarray
            Places of the rows, or a mask.
        score : ndarray, optional
            Scores in place of those of the rows.
        outcome : ndarray, optional
            Outcomes in place of those of the rows.
        rows : Predictions, optional
            Predictions of the rows, for metrics that need more than scores and outcomes.
        rest : callable, optional
            Returns 1 - score; by default that of the rows.

        Returns
        -------
        View
            View of these rows.
        """
        return View(
            self.raw_score[at] if score is None else score,
            self.raw_outcome[at] if outcome is None else outcome,
            None if self.weight is None else self.weight[at],
            self.weight_kind,
            rows=rows,
            lens=self.lens,
            log_odds=None if self.log_odds is None else self.log_odds[at],
            rest=RestOfRows(self, at) if rest is None else rest,
            classes=self.classes,
        )

    def __repr__(self) -> str:
        return f"View({self.lens}, n={self.n})"


def sorted_views(score: Floats, outcome: Array, weight: Array, sizes: Array, lens: str) -> list[View]:
    """Return the views of consecutive rows with counts, so many in each; scores increase within a view.

    Sums over ties and their prefix sums are computed in one pass over the rows of all views. They are sums of integers, or of the two
    outcomes of a score, so that they do not depend on the rows before.
    """
    stop = np.cumsum(sizes)
    start = stop - sizes
    is_first = np.ones(len(score), bool)
    is_first[1:] = score[1:] != score[:-1]
    is_first[start[sizes > 0]] = True
    first = np.flatnonzero(is_first)
    last_tie = np.searchsorted(first, stop)
    first_tie = np.append(0, last_tie)[:-1]
    mass, real = weight.astype(np.float64), outcome.astype(np.float64)
    values = (mass, mass * real, mass * (score - real))
    ties = Ties(score[first], *(np.add.reduceat(each, first) if len(first) else each for each in values))
    # Each view has one end more than ties, the first one at its start.
    ends = np.insert(np.append(first, len(score))[1:], first_tie, start)
    own_ends, paths = ends - np.repeat(start, last_tie - first_tie + 1), []
    for added in (weight, values[1]):
        path = np.zeros(len(score) + 1, added.dtype)
        np.cumsum(added, out=path[1:])
        paths.append(path[ends] - path[ends - own_ends])
    score, outcome = frozen(score), frozen(outcome)
    views = []
    for number, (a, b, c, d) in enumerate(np.stack([start, stop, first_tie, last_tie], axis=1).tolist()):
        view = View(score[a:b], outcome[a:b], weight[a:b], "counts", lens=lens)
        view.score, view.outcome, view.weights = score[a:b], real[a:b], mass[a:b]
        view.sorted_rows = view.score, view.outcome, view.weight
        view.ties = Ties(*(each[c:d] for each in ties))
        of_class = slice(c + number, d + number + 1)
        view.ends = own_ends[of_class]
        view.prefix = Prefix(view.sorted_rows, view.ends)
        view.prefix.score = view.ties.score
        view.prefix.weight, view.prefix.outcome = (path[of_class] for path in paths)
        views.append(view)
    return views


class Summary:
    """Base of summaries of rows, such as sketches, which provide views of the lenses that they were made with."""

    dropped: Any = None
    """The rows that were dropped because of missing values, where some were; a file of sketches does not keep it."""

    @property
    def n(self) -> int:
        """Number of rows that are summarised."""
        raise NotImplementedError

    def view(self, lens: Any = "auto") -> View:
        """Return the view of one lens."""
        raise NotImplementedError

    def views(self, lens: Any = "auto") -> list[View | VectorView]:
        """Return the views of a lens; ``"classwise"`` has several."""
        return [self.view(lens)]


class Block(NamedTuple):
    """Some rows of a VectorView, few enough to fit into the processor cache."""

    probs: Floats
    """Probabilities of shape (B, K)."""
    targets: Floats
    """Labels of shape (B, K): one-hot rows, or fractions for soft labels."""
    labels: Array | None
    """Class indices, or None for soft labels."""
    log_probs: Callable[[], Floats]
    """Function that returns the logarithms of the probabilities, from the logits if these were given."""
    log_rest: Callable[[], Floats]
    """Function that returns the logarithms of 1 - probability, likewise."""
    rounding: Rounding

    @property
    def k(self) -> int:
        return self.probs.shape[1]

    def rest(self) -> Floats:
        """Compute 1 - probability, near 1 from the other columns, which keep the digits that 1 - p loses."""
        return rest_of(self.probs, self.rounding)

    def expect(self, values: Floats) -> Floats:
        """Return the entry of `values` at the label of each row, or its mean over a soft label, with 0 times infinity as 0."""
        if self.labels is not None:
            return np.asarray(values[np.arange(len(values)), self.labels])
        return np.where(self.targets > 0, values * np.where(self.targets > 0, self.targets, 1), 0).sum(axis=1)


class VectorView(_Weighted):
    """Vectors of class probabilities and labels, one per row, with weights; read block by block.

    A vector view is what the formula of a metric of whole distributions reads.

    Parameters
    ----------
    probs : numpy.ndarray of shape (N, K) or (N,)
        Predicted probabilities; one dimension holds the second of two columns.
    labels : numpy.ndarray of shape (N,) or None
        Class indices; None for soft labels.
    soft : numpy.ndarray of shape (N, K) or (N,) or None
        Class probabilities of soft labels.
    weight : numpy.ndarray of shape (N,), optional
        Weight of each row.
    weight_kind : {"unit", "counts", "importance"}, default "unit"
        Kind of the weights.
    rows : Predictions, optional
        Predictions that the rows are of, with groups and features.
    lens : str, default "canonical"
        Name of the lens.
    logits : numpy.ndarray, optional
        Logits, if the input was logits.
    score_column : int, optional
        Column that determines the row, if the lens evaluates a binary event.
    tree_columns : int, optional
        Number of leading columns that a k-d tree splits on; a remainder that completes the row to 1 is left out.
    rest : callable, optional
        Function that returns 1 - probability of one-dimensional `probs` with more digits.

    Attributes
    ----------
    n : int
        Number of rows.
    k : int
        Number of columns.

    See Also
    --------
    View : One score per row.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.views import VectorView
    >>> view = VectorView(np.array([[0.8, 0.1, 0.1], [0.4, 0.2, 0.4]]), np.array([0, 2]), None)
    >>> view
    VectorView(canonical, n=2, k=3)
    >>> view.mean_gap.round(4)
    array([ 0.1 ,  0.15, -0.25])
    """

    def __init__(
        self,
        probs: Array,
        labels: Array | None,
        soft: Array | None,
        weight: Array | None = None,
        weight_kind: WeightKind = "unit",
        *,
        rows: Predictions | None = None,
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
        self.complement = rest
        self.n = len(probs)
        self.k = 2 if probs.ndim == 1 else probs.shape[1]
        self.score_column = score_column
        self.tree_columns = self.k if tree_columns is None else tree_columns

    @property
    def is_soft(self) -> bool:
        return self.soft is not None

    @property
    def block_rows(self) -> int:
        return rows_per_block(self.k)

    def block(self, start: int, stop: int) -> Block:
        """Return some rows in float64.

        Parameters
        ----------
        start : int
            First row.
        stop : int
            Row after the last one.

        Returns
        -------
        Block
            Probabilities and labels of these rows.
        """
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
        """How 1 - p is computed."""
        return rounding_of(self.raw_probs, self.logits)

    def pair(self, start: int, stop: int) -> tuple[Floats, Floats]:
        """Return the probabilities of the complement and of the event in some rows of one-dimensional `probs`.

        Parameters
        ----------
        start, stop : int
            The rows.

        Returns
        -------
        tuple of numpy.ndarray
            Complement and event.
        """
        probs = self.raw_probs[start:stop].astype(np.float64, copy=False)
        if self.logits is not None:
            return sigmoid(-self.logits[start:stop].astype(np.float64)), probs
        if self.complement is not None and probs.max() > self.rounding.near:
            return self.complement()[start:stop], probs
        return 1 - probs, probs

    def _probs(self, start: int, stop: int) -> Floats:
        if self.raw_probs.ndim == 1:
            return np.column_stack(self.pair(start, stop))
        return self.raw_probs[start:stop].astype(np.float64, copy=False)

    def _log_probs(self, start: int, stop: int) -> Floats:
        with np.errstate(divide="ignore"):
            if self.logits is not None:
                z = self.logits[start:stop].astype(np.float64)
                if z.ndim == 1:
                    return np.column_stack([-np.logaddexp(0, z), -np.logaddexp(0, -z)])
                z = z - z.max(axis=1, keepdims=True)
                return np.asarray(z - _log_sum_above_one(z)[:, None])
            probs = self.raw_probs[start:stop].astype(np.float64, copy=False)
            if probs.ndim == 1 and (self.complement is None or not probs.max() > self.rounding.near):
                return np.column_stack([np.log1p(-probs), np.log(probs)])
            probs = self._probs(start, stop)
            logs = np.log(probs)
            near = max(self.rounding.near, 1 - 2.0**-26)
            if probs.max() > near:  # log(p) has lost digits that the other columns keep
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
            logs_of_rest = np.log1p(-np.minimum(probs, 0.5))
            top = probs.argmax(axis=1)[:, None]
            others = logs.copy()
            np.put_along_axis(others, top, -np.inf, axis=1)
            most = others.max(axis=1, keepdims=True)
            rest = most + np.log(np.exp(others - most).sum(axis=1, keepdims=True))
            np.put_along_axis(logs_of_rest, top, rest, axis=1)
            return np.where(probs > 0.5, logs_of_rest, np.log1p(-np.minimum(probs, 0.5)))

    def blocks(self) -> Iterator[tuple[slice, Block]]:
        """Iterate over all rows, block by block."""
        for start in range(0, self.n, self.block_rows):
            stop = min(start + self.block_rows, self.n)
            yield slice(start, stop), self.block(start, stop)

    def each_row(self, formula: Callable[[Block], Array]) -> Floats:
        """Compute one number for each row.

        Parameters
        ----------
        formula : callable
            Function of a `Block` that returns one number per row.

        Returns
        -------
        numpy.ndarray of shape (N,)
            Values of all rows.
        """
        return np.concatenate(
            map_blocks(lambda a, b: formula(self.block(a, b)), self.n, self.block_rows, columns=self.k)
        )

    def mean_of(self, formula: Callable[[Block], Array]) -> float:
        """Compute the weighted mean of one number per row, without storing them all.

        Parameters
        ----------
        formula : callable
            Function of a `Block` that returns one number per row.

        Returns
        -------
        float
            Weighted mean; infinite if any of the numbers is.
        """

        def work(start: int, stop: int) -> float:
            values = formula(self.block(start, stop))
            if np.isposinf(values).any():  # one infinite row makes the mean infinite
                return math.inf
            return float(values.sum() if self.weight is None else (values * self.weight[start:stop]).sum())

        blocks = map_blocks(work, self.n, self.block_rows, columns=self.k)
        return math.inf if math.inf in blocks else math.fsum(blocks) / self.total

    @cached_property
    def mean_gap(self) -> Floats:
        """Weighted mean over rows of probability minus target, for each class."""

        def work(start: int, stop: int) -> Floats:
            block = self.block(start, stop)
            gap = block.probs - block.targets
            return gap.sum(axis=0) if self.weight is None else self.weight[start:stop] @ gap

        blocks = np.array(map_blocks(work, self.n, self.block_rows, columns=self.k))
        return np.array([math.fsum(column) for column in blocks.T]) / self.total

    def __repr__(self) -> str:
        return f"VectorView({self.lens}, n={self.n}, k={self.k})"

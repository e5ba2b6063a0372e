"""Input of calibrators: scores and labels from arrays or frames, class names, row hashes, folds, scales of log-odds."""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..curves.logistic_regression import LARGEST_LOGIT, logit
from ..errors import (
    CalibrantError,
    ColumnError,
    SwappedArgumentsError,
)
from ..inference.seeds import seed_of
from ..input.convert import column, is_frame
from ..input.frames import class_names, column_names, positive_last
from ..input.labels import is_text
from ..input.predictions import Predictions
from ..input.weights import WeightKind
from ..util.arrays import Array as Array
from ..util.arrays import Floats as Floats
from ..util.hashes import content_order, fingerprint, row_hashes

# The smallest probability whose logarithm is taken: about the resolution of a double near 1.
SMALLEST = 1e-16
Rows = TypeVar("Rows", bound="Scores")
# Log-odds too large for a probability are divided until they lie within this bound, where nine digits are still resolved.
WELL_HELD = 16.0
FAR_BEYOND = 2.0
# Counts that sum to more rows than this are split by the multinomial distribution, without shuffling individual copies.
MOST_SHUFFLED = 1 << 22
BY_NUMBER = "pass class indices, from 0"
# Remedies with arguments of `Predictions` that calibrators do not have, and what to do instead; the first that occurs counts.
REMEDIES = {
    "with label and prob": "pass a list, array, column or tensor",
    "missing=": "drop or fill these rows",
    "normalize=": "divide each row by its sum, or use input='logit' for the calibrator if these are logits",
    "Predictions(..., input='logit')": "pass input='logit' to the calibrator if these are logits, else numbers from 0 to 1",
    "clip=": "clip them to [0, 1] if this is rounding error",
    "soft=": BY_NUMBER,
    "classes=": BY_NUMBER,
    "pass classes": BY_NUMBER,
    "pos_label": BY_NUMBER,
}


class Scores:
    """Validated scores, as probabilities and as logits.

    The argument of `Calibrator.apply` and of the method `_predict` of a calibrator.

    Parameters
    ----------
    predictions : Predictions
        Validated predictions.

    Attributes
    ----------
    n : int
        Number of rows.
    k : int
        Number of classes.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.recalibration import Scores
    >>> data = Scores(cal.Predictions([0, 1], [0.25, 0.5]))
    >>> data.probs
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """

    beside: Any = None
    """What each row has beside its scores: a group, features or a fold."""

    def __init__(self, predictions: Predictions) -> None:
        self._p = predictions
        self.n = predictions.n
        self.k = predictions.k

    @classmethod
    def read(cls, scores: Any, input: str = "prob", exclusive: bool = True) -> Scores:
        """Validate scores that have no labels.

        Parameters
        ----------
        scores : array-like of shape (N,) or (N, K)
            Probabilities or logits.
        input : {"prob", "logit"}, default "prob"
            Which of them.
        exclusive : bool, default True
            Whether each row has exactly one of the classes.

        Returns
        -------
        Scores
            Validated scores.
        """
        return cls(Predictions.unlabelled(scores, input=input, multilabel=not exclusive))

    @cached_property
    def probs(self) -> Floats:
        """Probabilities of shape (N, K)."""
        probs = self._p.probs.astype(np.float64, copy=False)
        return np.column_stack([1 - probs, probs]) if probs.ndim == 1 else probs

    @cached_property
    def score(self) -> Floats:
        """Probability of the second of two classes."""
        probs = self._p.probs.astype(np.float64, copy=False)
        return probs if probs.ndim == 1 else np.ascontiguousarray(probs[:, 1])

    @cached_property
    def logits(self) -> Floats:
        """Logits of shape (N, K): as given, or the logarithms of the probabilities."""
        given = self._p.logits
        if given is None:
            return np.log(np.maximum(self.probs, SMALLEST))
        given = given.astype(np.float64, copy=False)
        if given.ndim == 1:
            return np.column_stack([np.zeros(self.n), self.log_odds])
        if np.isneginf(given.min()):  # an excluded class: treated like a probability of 0
            top = given.max(axis=1, keepdims=True)
            given = np.where(np.isneginf(given), top + math.log(SMALLEST), given)
        return given

    @cached_property
    def log_odds(self) -> Floats:
        """Log-odds of the second of two classes; probabilities are clipped to [1e-12, 1 - 1e-12] first."""
        given = self._p.logits
        if given is None:
            return logit(self.score)
        if given.ndim == 1:
            given = given.astype(np.float64, copy=False)
            return np.where(np.isinf(given), np.copysign(-math.log(SMALLEST), given), given)
        return np.asarray(self.logits[:, 1] - self.logits[:, 0])

    def odds_of(self, c: int) -> Floats:
        """Compute the log-odds of one class against the others.

        Parameters
        ----------
        c : int
            Index of the class. Of two classes, the log-odds are those of the second.

        Returns
        -------
        ndarray of shape (N,)
            Log-odds of each row.
        """
        return self.log_odds if self.k == 2 else logit(self.probs[:, c])

    @property
    def least(self) -> float:
        """The smallest probability of any class."""
        given = self._p.probs
        return float(min(given.min(), 1 - given.astype(np.float64).max()) if given.ndim == 1 else given.min())

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the rows that does not depend on their order."""
        return fingerprint(self._p.probs if self._p.logits is None else self._p.logits)


class TrainingData(Scores):
    """Validated scores with the label and the weight of each row.

    The argument of the method `_fit` of a calibrator.

    Parameters
    ----------
    predictions : Predictions
        Validated predictions with one observed class per row.

    Attributes
    ----------
    labels : ndarray of shape (N,)
        Class index of each row.
    weight : ndarray of shape (N,)
        Weight of each row; 1 if none was given.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.recalibration import TrainingData
    >>> data = TrainingData(cal.Predictions([0, 1], [0.25, 0.5], counts=[3, 1]))
    >>> data.labels.tolist(), data.weight.tolist(), data.counted
    ([0, 1], [3.0, 1.0], True)
    """

    def __init__(self, predictions: Predictions) -> None:
        super().__init__(predictions)
        assert predictions.labels is not None
        self.labels: Array = predictions.labels
        self.weight = np.ones(self.n) if predictions.weight is None else predictions.weight.astype(np.float64)

    @property
    def rows_given(self) -> int:
        """Number of rows that were passed to `fit`; those without weight have been dropped."""
        return self.n if self._p.kept is None else len(self._p.kept)

    def kept(self, values: Array) -> Array:
        """Select the entries of the rows that were not dropped.

        Parameters
        ----------
        values : ndarray
            One entry for each row that was passed to `fit`.

        Returns
        -------
        ndarray
            One entry for each row that has a weight.
        """
        return values if self._p.kept is None else values[self._p.kept]

    @property
    def effective_weight(self) -> Floats:
        """Counts, or importance weights scaled to add up to the effective sample size."""
        if self._p.weight_kind != "importance":
            return self.weight
        return self.weight * (self.weight.sum() / np.square(self.weight).sum())

    @property
    def arrays(self) -> tuple[Any, Any, Any]:
        """Logits, labels and weights for solvers, which take tensors on a device too."""
        return self.logits, self.labels, self.weight

    @property
    def counted(self) -> bool:
        """Whether the weights are counts of rows, not importance weights."""
        return self._p.weight_kind == "counts"

    @property
    def given_weight(self) -> tuple[Array | None, WeightKind]:
        """Weights and their kind, as expected by `View`; None if all are 1."""
        if (self.weight == 1).all():
            return None, "unit"
        return self._p.weight, self._p.weight_kind


def normalised(rows: Floats, otherwise: Floats) -> Floats:
    """Rows divided by their sum; the rows of `otherwise` where the sum is 0."""
    total = rows.sum(axis=1, keepdims=True)
    return np.where(total > 0, np.divide(rows, total, out=np.zeros_like(rows), where=total > 0), otherwise)


def scale_of(data: Scores) -> float:
    """1, or the power of two by which log-odds too large for a probability must be divided."""
    if data.k != 2 or data._p.logits is None:
        return 1.0
    size = np.abs(_given_odds(data._p.logits))
    size = size[np.isfinite(size)]
    if not len(size):
        return 1.0
    # Few extreme values, such as -1e9 for an excluded class, must not compress the others: they are clipped.
    largest = float(min(size.max(), FAR_BEYOND * np.quantile(size, 0.99)))
    return 1.0 if largest <= LARGEST_LOGIT else 2.0 ** math.ceil(math.log2(largest / WELL_HELD))


def on_scale(data: Rows, scale: float) -> Rows:
    """The rows with the log-odds of two classes divided by the scale."""
    if scale == 1 or data._p.logits is None:
        return data
    from scipy.special import expit

    odds = np.clip(_given_odds(data._p.logits) / scale, math.log(SMALLEST), -math.log(SMALLEST))
    other = copy.copy(data)
    rate = expit(odds)
    vars(other).update(
        score=rate,
        probs=np.column_stack([expit(-odds), rate]),
        log_odds=odds,
        logits=np.column_stack([np.zeros(data.n), odds]),
    )
    return other


def boundary_of(data: TrainingData, least: float) -> float:
    """The probability that stands for those below `least`: half of the smallest distance from 0 or 1 among the others; 0 if there are none below.

    A random forest of 100 trees, whose scores are multiples of 0.01, has 0 votes where a probability is below 0.005.
    """
    if data._p.logits is not None or data.least >= least:
        return 0.0
    distance = np.minimum(data.probs, 1 - data.probs)
    distance = distance[distance >= least]
    rows = data.weight.sum() if data.counted else data.n
    return float(distance.min() / 2 if len(distance) else 1 / (2 * (rows + 1)))


def off_boundary(data: Rows, boundary: float) -> Rows:
    """The rows with probabilities nearer to 0 or 1 than the boundary replaced by it."""
    if boundary == 0:
        return data
    probs = np.clip(data.probs, boundary, 1 - boundary)
    other = copy.copy(data)
    vars(other).update(probs=probs, score=probs[:, 1], logits=np.log(probs), log_odds=logit(probs[:, 1]))
    return other


def _given_odds(logits: Array) -> Floats:
    """The log-odds of the second of two classes; infinite if a class is excluded."""
    given = logits.astype(np.float64, copy=False)
    return given if given.ndim == 1 else np.asarray(given[:, 1] - given[:, 0])


def with_weight(data: TrainingData, weight: Floats) -> TrainingData:
    """The rows that have a weight, with these weights in place of their own."""
    rows = weight > 0
    p = data._p.take(rows)
    if p.weight is not None:
        p.weight = weight[rows].astype(p.weight.dtype)
    part = TrainingData(p)
    given = vars(data)  # scores on another scale stay on it
    vars(part).update({name: given[name][rows] for name in ("score", "probs", "log_odds", "logits") if name in given})
    return part


def order_of_content(data: TrainingData, beside: Array | None = None) -> NDArray[np.intp]:
    """Row indices sorted by content: label, score of the label, hash of all scores, weight.

    The result does not depend on the original order, since rows that tie are identical. Small changes of the scores, such as rounding to
    single precision, change the order only slightly. `beside` holds further numeric columns by which rows are distinguished.
    """
    own, scores = _own_score(data)
    whole = scores if beside is None else np.column_stack([scores, beside.astype(np.float64)])
    return content_order(data.labels, own, row_hashes(whole, 0), data.weight)


def _own_score(data: TrainingData) -> tuple[Floats, Floats]:
    """The score of the label of each row, and all scores; logits if given, since many of them round to a probability of 1."""
    rows, given = np.arange(data.n), data._p.logits is not None
    if data.k == 2:
        scores = data.log_odds if given else data.score
        return np.where(data.labels == 1, scores, -scores), scores[:, None]
    if not given:
        return data.probs[rows, data.labels], data.probs
    scores = data.logits - data.logits.max(axis=1, keepdims=True)
    others = scores.copy()
    others[rows, data.labels] = -np.inf
    return scores[rows, data.labels] - others.max(axis=1), scores


def mixed_rows(data: TrainingData, rng: Any = 0) -> NDArray[np.intp]:
    """The rows in a random order, which depends on their content and the seed; as in `random_parts`, the data are a part of the seed."""
    draw = np.random.default_rng([seed_of(rng), seed_of_data(data)])
    return order_of_content(data)[draw.permutation(data.n)]


def fold_of_rows(data: TrainingData, folds: int, rng: Any = 0) -> NDArray[np.intp]:
    """The fold of each row; a row with a count is not split. The seed includes that of the data, for the reason stated in `random_parts`."""
    draw = np.random.default_rng([seed_of(rng), seed_of_data(data)])
    fold = np.empty(data.n, np.intp)
    fold[order_of_content(data)] = draw.permutation(data.n) % folds
    return fold


def split_cells(p: Predictions, folds: int, rng: Any = 0) -> tuple[Predictions, NDArray[np.intp]]:
    """Predictions with counts whose copies are divided among folds at random, and the fold of each row."""
    data = TrainingData(p)
    draw = np.random.default_rng([seed_of(rng), seed_of_data(data)])
    counts = dealt(data, order_of_content(data), np.full(folds, 1 / folds), draw)
    fold, row = np.nonzero(counts)
    split = data._p.take(row)
    assert split.weight is not None
    split.weight = counts[fold, row].astype(split.weight.dtype)
    return split, fold


def seed_of_data(data: TrainingData) -> int:
    """A seed that depends neither on the order of rows and classes, nor on whether copies are counted or repeated.

    It is the sequence of correct and wrong predictions by the margin of the predicted class, which rounding hardly changes.
    """
    margin, correct, _ = _margins(data)
    copies = data.weight.astype(np.int64) if data.counted else np.ones(data.n, np.int64)
    by_margin = np.lexsort((correct, margin))
    bits = correct[by_margin]
    starts = np.flatnonzero(np.append(True, bits[1:] != bits[:-1]))
    runs = np.add.reduceat(copies[by_margin], starts)
    return int.from_bytes(hashlib.sha256(repr((bool(bits[0]), runs.tolist())).encode()).digest()[:8])


def random_parts(data: TrainingData, shares: Floats) -> Floats:
    """Split the rows into parts by a seed that depends on the data, and return their weights as (parts, rows).

    The parts depend neither on the order of the rows, nor on that of the classes, nor on whether copies are counted or repeated. With a constant
    seed, rows in order of content would give parts whose mean error is nearly the same in every data set of this size: the split would not be
    random, and a bound from one part would not have its level.
    """
    margin, correct, logits = _margins(data)
    order = content_order(correct, margin, data.labels, row_hashes(logits, 0), data.weight)
    return dealt(data, order, shares, seed_of_data(data))


def _margins(data: TrainingData) -> tuple[Floats, Array, Floats]:
    """Minus the margin of the predicted class, whether it is correct, and the logits relative to it."""
    logits = data.logits - data.logits.max(axis=1, keepdims=True)
    return np.partition(logits, -2, axis=1)[:, -2], logits.argmax(axis=1) == data.labels, logits


def dealt(data: TrainingData, order: NDArray[np.intp], shares: Floats, rng: Any = 0) -> Floats:
    """Split the rows in `order` at random into parts and return their weights as (parts, rows); the copies of a count are split individually.

    Copies of a row are independent observations, so they are assigned to parts at random like repeated rows. With the constant seed and rows in
    order of content, the same ranks are in the same part for all data sets of a size. That is sufficient where parts only select a penalty by
    cross-validation or a number of rounds: every rank is about equally likely in each part, and nothing is claimed about one part. A bound from
    one part requires a seed that depends on the data (`random_parts`).
    """
    rows = data.weight[order].astype(np.int64) if data.counted else np.ones(len(order), np.int64)
    total = int(rows.sum())
    draw = np.random.default_rng(rng)
    if total > max(data.n, MOST_SHUFFLED):
        copies = draw.multinomial(rows, shares).T
    else:
        cuts = (np.cumsum(shares)[:-1] * total + 1e-9).astype(np.int64)
        part = np.searchsorted(cuts, draw.permutation(total), side="right")
        starts = np.cumsum(rows) - rows
        copies = np.array([np.add.reduceat(part == number, starts, dtype=np.int64) for number in range(len(shares))])
    weight = np.zeros((len(shares), data.n))
    weight[:, order] = copies / rows * data.weight[order]
    return weight


@contextmanager
def named_as(y_prob: str = "scores", y_true: str = "y") -> Iterator[None]:
    """Raise errors about y_true and y_prob under the names that the caller's function has."""
    try:
        yield
    except SwappedArgumentsError:
        raise SwappedArgumentsError(
            y_prob,
            f"looks swapped with {y_true}, which contains fractions instead of labels",
            f"pass ({y_prob}, {y_true}): scores first, labels second",
        ) from None
    except CalibrantError as error:
        here = error.replaced({"y_prob": y_prob, "y_true": y_true})
        remedy = next((text for name, text in REMEDIES.items() if name in error.remedy), here.remedy)
        raise here.replaced(remedy=remedy) from None


def as_rows(scores: Any) -> Any:
    """Convert a frame to an array without column names; return anything else unchanged."""
    return column(scores, "y_prob").array if is_frame(scores) else scores


def names_array(names: Sequence[Any]) -> Array:
    """An array of names with their types preserved; NumPy would convert numbers next to text into text."""
    found = np.asarray(names)
    if found.ndim == 1 and [type(name) for name in found.tolist()] == [type(name) for name in names]:
        return found
    found = np.empty(len(names), dtype=object)
    found[:] = names
    return found


def in_order(scores: Any, known: list[Any]) -> Any:
    """Reorder the columns of a frame that are named after the known classes; otherwise columns are matched by position."""
    names, rows = column_names(scores), as_rows(scores)
    if names is not None:
        names = _as_classes(names, known)
        if len(names) == len(known) and set(names) == set(known):
            return rows[:, [names.index(name) for name in known]]
    numbered = known == list(range(len(known)))  # the calibrator was fitted without class names
    if names is None or names == tuple(range(len(names))) or set(names).isdisjoint(known):
        texts = [name for name in names or () if isinstance(name, str)]
        return rows[:, ::-1] if numbered and len(texts) == 2 and positive_last(texts, "") != texts else rows
    if numbered:
        return rows
    raise ColumnError(
        "scores",
        f"the columns are {list(column_names(scores) or ())}, and the calibrator was fitted on the classes {known}",
        "name the columns after the classes, or pass an array in their order",
    )


def _as_classes(names: tuple[Any, ...], known: list[Any]) -> tuple[Any, ...]:
    """The classes that columns name as text, such as "2" or p_2 for the class 2; the columns where they do not name the known ones."""
    if not set(names).isdisjoint(known) or not all(isinstance(name, str) for name in names):
        return names
    by_text = {str(name): name for name in known}
    for told in (list(names), class_names(list(names), "") or []):
        found = tuple(by_text.get(str(name), name) for name in told)
        # Numbers may be positions: p_0, p_1 and p_2 for the classes 1, 2 and 3.
        if set(found) == set(known) or any(isinstance(name, str) and name in known for name in told):
            return found
    return names


def sorted_classes(y: Any, scores: Any) -> Array | None:
    """Names of the classes of columns without names: sorted, as in scikit-learn's ``predict_proba``.

    None if the labels are class indices from 0, or do not name every column.
    """
    labels, columns = column(y, "y_true").array, np.shape(scores)[1] if np.ndim(scores) == 2 else 2
    if labels.ndim != 1 or labels.dtype.kind == "f" or (np.ndim(scores) == 1 and is_text(labels)):
        return None
    if labels.dtype.kind in "iu" and len(labels) and labels.min() >= 0 and labels.max() < columns:
        return None
    try:
        names = np.unique(labels)
    except TypeError:  # mixed types, which Predictions reports
        return None
    return names if len(names) == columns else None


def absent_classes(names: Sequence[Any]) -> str:
    """Describe the classes that have no rows; empty if there are none."""
    if len(names) <= 1:
        return f"class {names[0]!r} has no rows" if names else ""
    return f"classes {', '.join(map(repr, names[:5]))}{', ...' if len(names) > 5 else ''} have no rows"

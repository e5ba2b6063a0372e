"""What a calibrator is given: scores and labels as arrays or frames, names of the classes, row hashes, folds, scales of log-odds."""

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
    Drop,
    InPython,
    LabelError,
    Remedy,
    SwappedArgumentsError,
    Use,
)
from ..input.convert import column, is_frame
from ..input.frames import class_names, classes_of_columns, column_names, positive_last
from ..input.labels import encode_labels
from ..input.predictions import Predictions
from ..input.weights import WeightKind
from ..util.blocks import map_blocks, rows_per_block

__all__ = [
    "SMALLEST",
    "Scores",
    "TrainingData",
    "absent_classes",
    "as_rows",
    "dealt",
    "fingerprint",
    "fold_of_rows",
    "in_order",
    "named_as",
    "names_array",
    "normalised",
    "on_scale",
    "order_of_content",
    "read_rows",
    "row_hashes",
    "scale_of",
    "scale_of_odds",
]

Array = NDArray[Any]
Floats = NDArray[np.float64]

# The smallest probability whose logarithm is taken: a 0 then costs a row no more than what a double resolves near 1.
SMALLEST = 1e-16
Rows = TypeVar("Rows", bound="Scores")
# Log-odds that a probability cannot hold are divided until they lie within this, where it still tells them apart to nine digits.
WELL_HELD = 16.0
FAR_BEYOND = 2.0
# Counts that add up to more rows than this are dealt by the multinomial distribution, without shuffling every single copy.
MOST_SHUFFLED = 1 << 22
BY_NUMBER = "pass class indices, from 0"
# Arguments of `Predictions` that calibrators do not have, and what to do instead; the first that occurs counts.
REMEDIES: dict[str, Remedy] = {
    "normalize": ("divide each row by its sum", Use("input", "logit", "for the calibrator if these are logits")),
    "clip": "clip them to [0, 1] if this is rounding error",
    "soft": BY_NUMBER,
    "classes": BY_NUMBER,
    "pos_label": BY_NUMBER,
}


class Scores:
    """Checked scores of some rows, as probabilities and as logits, whichever a map reads."""

    def __init__(self, predictions: Predictions) -> None:
        self._p = predictions
        self.n = predictions.n
        self.k = predictions.k

    @cached_property
    def probs(self) -> Floats:
        """(N, K) probabilities."""
        probs = self._p.probs.astype(np.float64, copy=False)
        return np.column_stack([1 - probs, probs]) if probs.ndim == 1 else probs

    @cached_property
    def score(self) -> Floats:
        """The probability of the second of two classes."""
        probs = self._p.probs.astype(np.float64, copy=False)
        return probs if probs.ndim == 1 else np.ascontiguousarray(probs[:, 1])

    @cached_property
    def logits(self) -> Floats:
        """(N, K) logits: those given, or logarithms of the probabilities."""
        given = self._p.logits
        if given is None:
            return np.log(np.maximum(self.probs, SMALLEST))
        given = given.astype(np.float64, copy=False)
        if given.ndim == 1:
            return np.column_stack([np.zeros(self.n), self.log_odds])
        if np.isneginf(given.min()):  # a class ruled out: as where its probability is given as 0
            top = given.max(axis=1, keepdims=True)
            given = np.where(np.isneginf(given), top + math.log(SMALLEST), given)
        return given

    @cached_property
    def log_odds(self) -> Floats:
        """Of the second of two classes, kept within those of 1e-12 and 1 - 1e-12 where they come from probabilities."""
        given = self._p.logits
        if given is None:
            return logit(self.score)
        if given.ndim == 1:
            given = given.astype(np.float64, copy=False)
            return np.where(np.isinf(given), np.copysign(-math.log(SMALLEST), given), given)
        return np.asarray(self.logits[:, 1] - self.logits[:, 0])

    @property
    def fingerprint(self) -> str:
        """A name for these rows that does not depend on their order."""
        return fingerprint(self._p.probs if self._p.logits is None else self._p.logits)


class TrainingData(Scores):
    """Scores with the label and the weight of each row."""

    def __init__(self, predictions: Predictions) -> None:
        super().__init__(predictions)
        assert predictions.labels is not None
        self.labels: Array = predictions.labels
        self.weight = np.ones(self.n) if predictions.weight is None else predictions.weight.astype(np.float64)

    @property
    def counted(self) -> bool:
        """Whether a weight is a number of rows, and not an importance."""
        return self._p.weight_kind == "counts"

    @property
    def given_weight(self) -> tuple[Array | None, WeightKind]:
        """Weights and their kind, as a `View` takes them; weights of 1 are none."""
        if (self.weight == 1).all():
            return None, "unit"
        return self._p.weight, self._p.weight_kind


def row_hashes(values: Array, seed: Any) -> NDArray[np.uint64]:
    """A hash of each row; the sign of 0 does not count."""
    rows = _bits(values)
    seeds = _odd_numbers(rows.shape[1], seed)
    parts = map_blocks(
        lambda start, stop: _mixed(rows[start:stop], seeds),
        len(rows),
        rows_per_block(rows.shape[1]),
        columns=rows.shape[1],
    )
    return np.concatenate(parts) if parts else np.empty(0, np.uint64)


def fingerprint(scores: Array) -> str:
    """A hash of the rows that does not depend on their order; the sign of 0 does not count."""
    rows = _bits(scores)
    seeds = _odd_numbers(rows.shape[1], 20_240_501)

    def added(start: int, stop: int) -> tuple[int, int]:
        row = _mixed(rows[start:stop], seeds)
        return int(row.sum(dtype=np.uint64)), int(np.square(row).sum(dtype=np.uint64))

    parts = map_blocks(added, len(rows), rows_per_block(rows.shape[1]), columns=rows.shape[1])
    total = [sum(column) % 2**64 for column in zip(*parts, strict=True)]
    return hashlib.sha256(repr((rows.shape, total)).encode()).hexdigest()[:32]


def _bits(values: Array) -> NDArray[np.uint64]:
    values = np.ascontiguousarray(values, dtype=np.float64) + 0.0
    return values.reshape(len(values), -1).view(np.uint64)


def _odd_numbers(count: int, seed: Any) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(1, 2**63, count, dtype=np.uint64) | np.uint64(1)


def _mixed(rows: NDArray[np.uint64], seeds: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Each column is multiplied by its own odd number and the row mixed once more."""
    row = np.bitwise_xor.reduce(rows * seeds, axis=1)
    for _ in range(2):
        row = (row ^ (row >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(row)


def normalised(rows: Floats, otherwise: Floats) -> Floats:
    """Rows divided by their sum; where that is 0, the rows of `otherwise`."""
    total = rows.sum(axis=1, keepdims=True)
    return np.where(total > 0, np.divide(rows, total, out=np.zeros_like(rows), where=total > 0), otherwise)


def scale_of(data: Scores) -> float:
    """1, or the power of two that brings log-odds too large for a probability within reach of one."""
    if data.k != 2 or data._p.logits is None:
        return 1.0
    return scale_of_odds(_given_odds(data._p.logits))


def scale_of_odds(odds: Floats) -> float:
    """The same for log-odds."""
    size = np.abs(odds)
    size = size[np.isfinite(size)]
    if not len(size):
        return 1.0
    # A few that are far beyond all others, such as -1e9 for a class ruled out, must not squeeze the others together: they are clipped.
    largest = float(min(size.max(), FAR_BEYOND * np.quantile(size, 0.99)))
    return 1.0 if largest <= LARGEST_LOGIT else 2.0 ** math.ceil(math.log2(largest / WELL_HELD))


def on_scale(data: Rows, scale: float) -> Rows:
    """The same rows of two classes with their log-odds divided by the scale."""
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


def _given_odds(logits: Array) -> Floats:
    """The log-odds of the second of two classes, infinite where a class is ruled out."""
    given = logits.astype(np.float64, copy=False)
    return given if given.ndim == 1 else np.asarray(given[:, 1] - given[:, 0])


def order_of_content(data: TrainingData, beside: Array | None = None) -> NDArray[np.intp]:
    """Row numbers in an order that depends on what the rows hold alone: label, score of that label, all scores, weight.

    Rows that agree in all of these stand side by side, where it does not matter which comes first. Scores that change a little, as by
    single precision, change the order a little. `beside` are further columns of numbers that tell rows apart.
    """
    own, scores = _own_score(data)
    parts = [scores]
    if beside is not None:
        parts.append(beside.astype(np.float64))
    return np.lexsort((data.weight, row_hashes(np.column_stack(parts), 0), own, data.labels))


def _own_score(data: TrainingData) -> tuple[Floats, Floats]:
    """A score of the label of each row, and all scores: of logits, where they were given, for many are a probability of 1."""
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


def fold_of_rows(data: TrainingData, folds: int, rng: Any = 0) -> NDArray[np.intp]:
    """The fold of each row, a row with a count as a whole."""
    fold = np.empty(data.n, np.intp)
    fold[order_of_content(data)] = np.random.default_rng(rng).permutation(data.n) % folds
    return fold


def dealt(data: TrainingData, order: NDArray[np.intp], shares: Floats) -> Floats:
    """The weight of each row in each of several parts, as (parts, rows): copies that a count stands for are dealt one by one.

    Copies of a row are independent of each other, so a part must get them by chance, as it would get repeated rows.
    """
    rows = data.weight[order].astype(np.int64) if data.counted else np.ones(data.n, np.int64)
    total = int(rows.sum())
    draw = np.random.default_rng(0)
    if total > max(data.n, MOST_SHUFFLED):
        copies = draw.multinomial(rows, shares).T
    else:
        cuts = (np.cumsum(shares)[:-1] * total + 1e-9).astype(np.int64)
        part = np.searchsorted(cuts, draw.permutation(total), side="right")
        starts = np.cumsum(rows) - rows
        copies = np.array([np.add.reduceat(part == number, starts, dtype=np.int64) for number in range(len(shares))])
    weight = np.empty((len(shares), data.n))
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
            f"and {y_true} look swapped: {y_true} contains fractions, which are not labels",
            InPython(f"pass ({y_prob}, {y_true}): scores first, labels second"),
        ) from None
    except CalibrantError as error:
        here = error.replaced({"y_prob": y_prob, "y_true": y_true})
        named = [remedy.argument for remedy in here.remedies if isinstance(remedy, (Use, Drop))]
        remedy = next((REMEDIES[name] for name in REMEDIES if name in named), here.remedies)
        raise here.replaced(remedy=remedy) from None


def as_rows(scores: Any) -> Any:
    """A frame as an array, whose columns have no names; anything else as it is."""
    return column(scores, "y_prob").array if is_frame(scores) else scores


def names_array(names: Sequence[Any]) -> Array:
    """Names as they are: NumPy would write a number beside text as text."""
    found = np.asarray(names)
    if found.ndim == 1 and [type(name) for name in found.tolist()] == [type(name) for name in names]:
        return found
    found = np.empty(len(names), dtype=object)
    found[:] = names
    return found


def in_order(scores: Any, known: list[Any]) -> Any:
    """Scores in the order of the classes known, where the columns of a frame are named after these; else by position."""
    names, rows = column_names(scores), as_rows(scores)
    if names is None or names in (tuple(known), tuple(range(len(names)))) or set(names).isdisjoint(known):
        return _by_class(names, rows) if known == list(range(len(known))) else rows
    if len(names) == len(known) and set(names) == set(known):
        return rows[:, [names.index(name) for name in known]]
    if known == list(range(len(known))):  # the map knows no names
        return rows
    raise ColumnError(
        "scores",
        f"the columns are {list(names)}, and the calibrator was fitted on the classes {known}",
        InPython("name the columns after the classes, or pass an array in their order"),
    )


def read_rows(y: Any, scores: Any) -> tuple[Array | None, Any, Any]:
    """Names of the classes, labels as their numbers, and scores without names.

    The columns of a frame name the classes where every label is one of them; else names are in sorted order, as the columns of
    scikit-learn's ``predict_proba`` are. Whole numbers from 0 up stay as they are, and have no names.
    """
    came, rows = column(y, "y_true"), as_rows(scores)
    columns = column_names(scores)
    names = classes_of_columns(columns, None, came.array)
    if names is not None:
        return names_array(names), encode_labels(came, len(names), names, None, np.empty(0)), rows
    if _is_text(came.array):
        _check_known_order(np.ndim(rows), columns, came.array)
    else:
        rows = _by_class(columns, rows)
    return *_sorted_classes(came.array, y, np.shape(rows)[1] if np.ndim(rows) == 2 else 2), rows


def _by_class(names: tuple[Any, ...] | None, rows: Any) -> Any:
    """Scores in the order of classes that are 0, 1, ..., where the columns of a frame tell it: p_1 after p_0, p_yes after p_no."""
    if names is None or not all(isinstance(name, str) for name in names):
        return rows
    told = class_names(list(names), "")
    places = list(range(len(names)))
    if told is not None and told != places and set(told) == set(places):
        return rows[:, [told.index(place) for place in places]]
    return rows[:, ::-1] if positive_last(list(names), "") != list(names) else rows


def _is_text(labels: Array) -> bool:
    return labels.ndim == 1 and bool(len(labels)) and isinstance(labels.item(0), str)


def _check_known_order(dimensions: int, columns: tuple[Any, ...] | None, labels: Array) -> None:
    """Refuse names of classes where nothing says which scores are theirs."""
    first = labels.item(0)
    if dimensions < 2:
        raise LabelError(
            "y",
            f"the label {first!r} is text, and the class of the scores is unknown",
            InPython(f"pass y == {first!r} if the scores are the probability of {first!r}"),
            row=0,
        )
    if columns is not None and columns != tuple(range(len(columns))):
        raise LabelError(
            "y",
            f"the label {first!r} is not one of the columns {list(columns)}",
            InPython("name the columns after the classes, or pass scores.to_numpy() with columns sorted by class name"),
            row=0,
        )


def _sorted_classes(labels: Array, y: Any, columns: int) -> tuple[Array | None, Any]:
    """Class names in sorted order and labels as their numbers; whole numbers from 0 up stay as they are."""
    if labels.ndim != 1:
        return None, y
    if labels.dtype.kind in "iu" and labels.min() >= 0 and labels.max() < columns:
        return None, y
    if labels.dtype.kind == "f":
        return None, y
    try:
        names, codes = np.unique(labels, return_inverse=True)
    except TypeError:  # values of several types, of which Predictions names the first
        return None, y
    if len(names) == columns:
        return names, codes
    if labels.dtype.kind in "US" or isinstance(names[0], str):
        raise LabelError(
            "y",
            f"{len(names)} class name{'s' * (len(names) != 1)}, such as {str(names[0])!r}, for {columns} columns of scores",
            f"if a class has no rows, {BY_NUMBER}",
        )
    return None, y  # Predictions says what is wrong


def absent_classes(names: Sequence[Any]) -> str:
    """Which classes have no rows, in words; empty where all have some."""
    if len(names) <= 1:
        return f"class {names[0]!r} has no rows" if names else ""
    return f"classes {', '.join(map(repr, names[:5]))}{', ...' if len(names) > 5 else ''} have no rows"

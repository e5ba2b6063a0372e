"""Conversion of labels (integers, booleans, -1 and 1, names, one-hot, soft, multilabel) to class indices or class probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import (
    InputTypeError,
    LabelError,
    ProbabilityError,
    ShapeError,
    SwappedArgumentsError,
)
from ..util.arrays import Array
from ..util.blocks import map_blocks, rows_per_block
from ..util.checks import is_number, suggest
from .convert import SUM_TOLERANCE, Column, _short, is_hashable, is_missing, missing_values, numbers
from .frames import classes_of_columns, two_classes
from .probabilities import check_matrix, check_vector, quick_matrix, quick_vector

if TYPE_CHECKING:
    from .columns import Columns
    from .scores import Probabilities


SOFT = "pass soft=True if the labels are class proportions"
POSITIVE_ALONE = "pass the column of the positive class alone, y_prob[:, 0] or y_prob[:, 1]"
SWAP = "pass y_true before y_prob"
PER_CLASS = "pass one 0/1 column per class"
UNLABELLED = "drop the rows without a label"


class Labels(NamedTuple):
    """Encoded labels with the names of the classes, and the predicted class of each row."""

    codes: Array | None
    """Class indices; None for soft labels."""
    soft: Array | None
    classes: tuple[Any, ...] | None
    class_order: tuple[int, ...] | None
    """Columns in increasing order of their classes, for ordered classes; None if the order is unknown."""
    top_score: Array | None = None
    """Largest probability of each row of several columns."""
    top_correct: Array | None = None
    positive: Any = None
    """Label that was taken as the positive class of two because of its name; None where this was stated."""


def read_labels(columns: Columns, probabilities: Probabilities, soft: bool) -> Labels:
    """Return the encoded labels, and check the values of the probabilities in the same pass where that is possible."""
    columns = _name_two_columns(columns, probabilities, soft)
    classes, positive = _classes_of(columns, probabilities, soft)
    order: tuple[int, ...] | None = tuple(range(probabilities.k))
    if classes is not None and probabilities.k > 2:
        order = class_order(classes, columns.categories, columns.by_columns)
    pos_label = columns.pos_label if positive is None else positive
    try:
        if soft or probabilities.kind == "multilabel":
            if columns.pos_label is not None:
                raise LabelError("pos_label", "cannot be combined with soft or multilabel labels", "drop one of them")
            probs, multilabel = probabilities.probs, probabilities.kind == "multilabel"
            if not soft:
                codes = multilabel_targets(columns.labels, probs.shape)
                return Labels(codes, None, classes, order, *_check_values(probabilities, codes))
            shares = soft_targets(columns.labels, probabilities.k, probs.ndim == 1, multilabel)
            return Labels(None, shares, classes, order, *_check_values(probabilities, None))
        if pos_label is None and classes is None:
            quick = _read_quickly(columns.labels.array, probabilities)
            if quick is not None:
                return Labels(quick[0], None, None, order, *quick[1:])
        codes = encode_labels(columns.labels, probabilities.k, classes, pos_label, probabilities.probs)
        if pos_label is not None:
            classes = names_around(columns.labels.array, classes, pos_label)
        return Labels(codes, None, classes, order, *_check_values(probabilities, codes), positive)
    except ProbabilityError as error:
        names = columns.names if columns.names is not None and len(columns.names) == probabilities.k else classes
        if names is None or not isinstance(error.column, int) or error.column >= len(names):
            raise
        raise error.replaced(column=str(names[error.column])) from None


def _classes_of(columns: Columns, probabilities: Probabilities, soft: bool) -> tuple[tuple[Any, ...] | None, Any]:
    """Return the names of the classes, and the positive one of two labels whose names alone determine it."""
    classes, pos_label, labels = columns.classes, columns.pos_label, columns.labels.array
    exclusive = not soft and probabilities.kind in ("binary", "multiclass")
    if columns.names is not None and pos_label is None and (exclusive or labels.ndim == 2):
        classes = classes_of_columns(columns.names, classes, labels)
    if classes is not None:
        return class_names(classes, probabilities.k), None
    is_one_column = exclusive and pos_label is None and probabilities.probs.ndim == 1 and labels.ndim == 1
    pair = two_classes(labels) if is_one_column and labels.dtype.kind in "USO" and is_text(labels) else None
    return pair, None if pair is None else pair[1]


def _name_two_columns(columns: Columns, probabilities: Probabilities, soft: bool) -> Columns:
    """Name two columns that have no names: in the sorted order of the labels, as in scikit-learn, if the positive class is then the last."""
    labels, is_binary = columns.labels.array, probabilities.kind == "binary" and probabilities.probs.ndim == 2
    if soft or not is_binary or labels.ndim != 1 or columns.classes is not None or columns.names is not None:
        return columns
    pair = two_classes(labels) if labels.dtype.kind in "USO" and is_text(labels) else None
    positive = columns.pos_label if pair is None else pair[1]
    if positive is None:
        return columns
    values = sorted(set(labels.tolist()) if pair is None else pair, key=str)
    if values[1:] == [positive] and columns.pos_label in (None, positive):
        return columns._replace(classes=values, pos_label=None)
    return columns


def _check_values(probabilities: Probabilities, codes: Array | None) -> tuple[Array | None, Array | None]:
    """Check the values of the probabilities; return the largest of each row of several, and whether it belongs to the label."""
    if probabilities.probs.ndim == 1 or probabilities.kind == "multilabel":
        check_vector(probabilities.probs)
        return None, None
    return check_matrix(probabilities.probs, codes, probabilities.tolerance, not probabilities.is_stated)


def _read_quickly(labels: Array, probabilities: Probabilities) -> tuple[Array, Array | None, Array | None] | None:
    """Check probabilities and labels in one pass; return None if that is not possible or something is invalid."""
    if labels.ndim != 1:
        return None
    probs = probabilities.probs
    if labels.dtype == np.bool_:
        labels = labels.view(np.uint8)
    if probs.ndim == 1:
        return (labels, None, None) if quick_vector(probs, labels) else None
    top = quick_matrix(probs, labels, probabilities.tolerance)
    if top is None:
        return None
    return labels.astype(np.uint8 if probabilities.k == 2 else np.intp, copy=False), *top


def class_names(classes: Sequence[Any] | Array | None, k: int) -> tuple[Any, ...] | None:
    """Return the names of the K classes in the order of the columns, checked for number and duplicates."""
    if classes is None:
        return None
    if isinstance(classes, (str, bytes, set, frozenset)) or not hasattr(classes, "__iter__"):
        problem = f"expected a list of names in the order of the columns, got {type(classes).__name__}"
        raise InputTypeError("classes", problem, "for example ['cat', 'dog']")
    names = tuple(value.item() if isinstance(value, np.generic) else value for value in classes)
    if len(names) != k:
        raise LabelError(
            "classes", f"has {len(names)} names for {k} classes", "name every class once, in the order of the columns"
        )
    for position, name in enumerate(names):
        if not is_hashable(name):
            raise InputTypeError(
                "classes", f"name {position} is a {type(name).__name__}", "name classes with text or numbers"
            )
        if name in names[:position]:
            raise LabelError("classes", f"{name!r} occurs twice", "name every class once, in the order of the columns")
    return names


def ordered_categories(labels: Any) -> tuple[Any, ...] | None:
    """Return the categories of labels with an ordered categorical type, in increasing order; None for other labels."""
    dtype = getattr(labels, "dtype", None)
    categories = getattr(dtype, "categories", None)
    # A pandas categorical may be unordered; an Enum of polars is ordered, and its Categorical is not.
    if categories is None or not (getattr(dtype, "ordered", False) or type(dtype).__name__ == "Enum"):
        return None
    return tuple(value.item() if isinstance(value, np.generic) else value for value in categories)


def class_order(
    classes: tuple[Any, ...], categories: tuple[Any, ...] | None, by_columns: bool
) -> tuple[int, ...] | None:
    """Return the columns in increasing order of their classes; None if the order is unknown.

    Ordered categories determine it, then numbers as names, then `classes` as given by the user. Names that were read from the columns
    do not: columns are often in alphabetical order.
    """
    k = len(classes)
    if categories is not None and set(classes) <= set(categories):
        return tuple(sorted(range(k), key=lambda column: categories.index(classes[column])))
    if all(is_number(name) for name in classes):
        return tuple(sorted(range(k), key=lambda column: classes[column]))
    return None if by_columns else tuple(range(k))


def encode_labels(labels: Column, k: int, classes: tuple[Any, ...] | None, pos_label: Any, probs: Array) -> Array:
    """Return class indices of hard labels: platform integers, or bytes for two classes that were converted."""
    y = labels.array
    is_named = pos_label is not None or (y.dtype.kind == "O" and any(isinstance(value, str) for value in y.flat))
    if is_named and y.ndim == 1 and y.dtype.kind in "Of":
        missing = np.isnan(y) if y.dtype.kind == "f" else np.array([is_missing(value) for value in y.tolist()], bool)
        if missing.any():
            count = int(missing.sum())
            raise LabelError("y_true", missing_values(count), UNLABELLED, row=int(np.argmax(missing)), count=count)
    if pos_label is not None:
        y = _codes_around_positive(y, classes, pos_label, probs)
    elif y.ndim == 2:
        y = _from_one_hot(numbers(y, "y_true"), k, probs)
    elif classes is not None:
        y = _from_names(y, classes)
    elif y.dtype.kind in "USO" and is_text(y):
        raise LabelError(
            "y_true",
            f"text labels require the names of the classes; got {_short(y[0])}",
            "pass pos_label to name the positive class, or pass classes with the positive class last"
            if probs.ndim == 1
            else "pass the names in the order of the columns: Predictions(y_true, y_prob, classes=[...])",
            row=0,
        )
    else:
        y = _from_numbers(numbers(y, "y_true"), k, probs)
    return y if y.dtype == np.intp else y.astype(np.uint8 if k == 2 else np.intp, copy=False)


def multilabel_targets(labels: Column, shape: tuple[int, ...]) -> Array:
    """Return an (N, K) array of bytes from 0/1 or boolean labels."""
    y = numbers(labels.array, "y_true")
    if y.shape != shape:
        raise ShapeError(
            "y_true", f"multilabel labels must have the shape of the probabilities, {shape}; got {y.shape}", PER_CLASS
        )
    bad = (y != 0) & (y != 1)
    if bad.any():
        row, column = map(int, np.argwhere(bad)[0])
        problem = f"multilabel labels must be 0 or 1; got {_short(y[row, column])}"
        raise LabelError("y_true", problem, SOFT if 0 < y[row, column] < 1 else PER_CLASS, row=row, column=column)
    return y.astype(np.uint8)


def soft_targets(labels: Column, k: int, one_dimensional: bool, multilabel: bool) -> Array:
    """Return class probabilities of soft labels: (N,) for the positive class of two, else (N, K)."""
    y = numbers(labels.array, "y_true")
    if y.ndim == 1 and not one_dimensional:
        raise ShapeError(
            "y_true", "soft labels must have one column per class; got one dimension", f"pass shape (N, {k})"
        )
    if y.ndim == 2 and y.shape[1] != k:
        raise ShapeError("y_true", f"has {_columns(y)} for {k} classes", f"pass shape (N, {k})")
    y = y.astype(np.float64)
    bad = ~((y >= 0) & (y <= 1))
    if bad.any():
        where = np.argwhere(bad)[0]
        row = int(where[0])
        problem = f"soft labels must be in [0, 1]; got {float(y[tuple(where)])!r}"
        raise LabelError("y_true", problem, "drop soft=True if these are class indices", row=row)
    if y.ndim == 1 or multilabel:
        return y
    off = np.abs(y.sum(axis=1) - 1) > SUM_TOLERANCE.get(labels.precision, 1e-6)
    if off.any():
        row = int(np.argmax(off))
        problem = f"soft labels must sum to 1; got a sum of {y[row].sum():.6g}"
        raise LabelError("y_true", problem, "divide each row by its sum", row=row)
    return np.ascontiguousarray(y[:, 1]) if one_dimensional else y


def is_text(y: Array) -> bool:
    """Return whether labels are text, judged by the first."""
    return y.dtype.kind in "US" or isinstance(y.flat[0], str)


def _codes_around_positive(y: Array, classes: tuple[Any, ...] | None, pos_label: Any, probs: Array) -> Array:
    if probs.ndim != 1:
        problem = "applies to one column of scores; got several"
        raise LabelError("pos_label", problem, POSITIVE_ALONE if probs.shape[1] == 2 else "drop pos_label")
    if y.ndim != 1:
        raise ShapeError(
            "y_true", f"pos_label requires one label per row; got shape {y.shape}", "drop pos_label for one-hot rows"
        )
    if classes is not None and pos_label not in classes:
        raise LabelError(
            "pos_label", f"{pos_label!r} is not one of the classes {list(classes)!r}", "check its spelling and type"
        )
    positive = np.asarray(y == pos_label)
    if positive.shape != y.shape:
        raise LabelError("pos_label", f"{pos_label!r} cannot be compared with the labels, such as {_short(y[0])}")
    negatives = y[~positive]
    if len(negatives) == 0:
        return positive
    if classes is None and not positive.any():
        problem = f"{pos_label!r} does not occur among the labels; the first label is {_short(negatives[0])}"
        raise LabelError("pos_label", problem, "check its spelling and type or pass classes")
    allowed = [name for name in classes if name != pos_label] if classes is not None else [negatives[0]]
    stray = ~np.isin(y, np.asarray([*allowed, pos_label], dtype=y.dtype if y.dtype.kind in "OUS" else None))
    if stray.any():
        row = int(np.argmax(stray))
        problem = f"labels must be one of two classes, {_short(allowed[0])} and {pos_label!r}; got {_short(y[row])}"
        raise LabelError("y_true", problem, row=row)
    return positive


def names_around(y: Array, classes: tuple[Any, ...] | None, pos_label: Any) -> tuple[Any, Any]:
    """Return the names of both classes in the order of their columns: negative, positive."""
    others = [name for name in classes if name != pos_label] if classes is not None else y[y != pos_label][:1].tolist()
    return (others[0] if others else f"not {pos_label}"), pos_label


def _columns(y: Array) -> str:
    return "1 column" if y.shape[1] == 1 else f"{y.shape[1]} columns"


def _from_names(y: Array, classes: tuple[Any, ...]) -> Array:
    values: Any
    if y.dtype.kind != "O":
        values, inverse = np.unique(y, return_inverse=True)
    else:
        number_of: dict[Any, int] = {}
        try:
            inverse = np.fromiter((number_of.setdefault(value, len(number_of)) for value in y), np.intp, len(y))
        except TypeError:
            row = next(row for row, value in enumerate(y) if not is_hashable(value))
            raise InputTypeError("y_true", f"expected text or numbers, got {type(y[row]).__name__}", row=row) from None
        values = list(number_of)
    position = {name: index for index, name in enumerate(classes)}
    codes = np.empty(len(values), np.intp)
    for place, value in enumerate(values):
        key = value.item() if isinstance(value, np.generic) else value
        if key not in position:
            row = int(np.argmax(inverse.ravel() == place))
            problem = f"labels must be among the classes {_list(classes)}; got {_short(key)}"
            remedy = suggest(str(key), map(str, classes), "pass classes with this class as well or drop the row")
            raise LabelError("y_true", problem, remedy, row=row)
        codes[place] = position[key]
    return np.asarray(codes[inverse.ravel()])


def _list(classes: tuple[Any, ...]) -> str:
    return repr(list(classes[:8]))[:-1] + (", ...]" if len(classes) > 8 else "]")


def _from_one_hot(y: Array, k: int, probs: Array) -> Array:
    if probs.ndim == 1 and np.isin(probs, (0, 1)).all() and not np.isin(y, (0, 1)).all():
        raise _swapped_error()
    if y.shape[1] != k:
        remedy = "pass y_true.ravel()" if y.shape[1] == 1 else "pass class indices, or one column per class"
        if probs.ndim == 1 and y.shape[1] > 1 and not np.isin(y, (0, 1)).all():
            problem = "has columns of fractions while the probabilities have one number per row: they look swapped"
            raise SwappedArgumentsError("y_true", problem, SWAP)
        raise ShapeError("y_true", f"has {_columns(y)} for {k} classes", remedy)
    bad = ((y != 0) & (y != 1)).any(axis=1) | (y.sum(axis=1) != 1)
    if bad.any():
        if probs.ndim == 2 and np.isin(probs, (0, 1)).all() and not np.isin(y, (0, 1)).all():
            raise _swapped_error()
        row = int(np.argmax(bad))
        entries = np.array2string(y[row], threshold=8, separator=", ")
        raise LabelError(
            "y_true",
            f"a one-hot row must have a single 1; got {entries}",
            UNLABELLED
            if np.isnan(y[row]).any()
            else f"{SOFT}, or pass multilabel=True if a row can have several classes",
            row=row,
        )
    return np.asarray(y.argmax(axis=1))


def _from_numbers(y: Array, k: int, probs: Array) -> Array:
    """Check and convert block by block, while each block is in cache."""
    if y.dtype.kind == "b":
        return y
    out = y if y.dtype == np.intp else np.empty(len(y), np.uint8 if k == 2 else np.intp)

    def work(start: int, stop: int) -> bool:
        block = y[start:stop]
        if not (block.min() >= 0 and block.max() <= k - 1):  # NaN fails
            return False
        if out is not y:
            out[start:stop] = block
        return block.dtype.kind != "f" or bool((out[start:stop] == block).all())

    if all(map_blocks(work, len(y), rows_per_block(1))):
        return out
    signed = k == 2 and y.dtype.kind != "u" and bool((y == -1).any())
    if signed and ((y == -1) | (y == 1)).all():
        return np.asarray(y == 1)
    raise _label_error(y, k, signed, probs)


def _label_error(y: Array, k: int, signed: bool, probs: Array) -> LabelError:
    values = y.astype(np.float64)
    valid = np.isin(values, (-1, 1)) if signed else (values >= 0) & (values <= k - 1) & (values == np.floor(values))
    row = int(np.argmin(valid))
    value = values[row]
    if np.isnan(value):
        count = int(np.isnan(values).sum())
        return LabelError("y_true", missing_values(count), UNLABELLED, row=row, count=count)
    fractional = bool(((values > 0) & (values < 1)).any())
    if fractional and probs.ndim == 1 and bool(np.isin(probs, (0, 1)).all()):
        return _swapped_error()
    rule = "labels must be 0 and 1, or -1 and 1" if k == 2 else f"labels must be integers from 0 to {k - 1}"
    if signed:
        rule += ", not all three"
    number = int(value) if value == np.floor(value) and np.isfinite(value) else value
    if fractional:
        remedy = SOFT
    elif k == 2 and probs.ndim == 1:
        several = len(np.unique(values)) > 2
        remedy = (
            "for more than two classes, one column of probabilities per class is required"
            if several
            else "pass pos_label to name the positive class, or pass classes with the positive class last"
        )
    elif values.min() == 1 and values.max() == k:
        from_one = list(range(1, k + 1)) if k <= 10 else f"[1, ..., {k}]"
        remedy = f"pass y_true - 1, or use classes={from_one} if they are counted from 1"
    else:
        remedy = "pass classes if these are names"
    return LabelError("y_true", f"{rule}; got {number}", remedy, row=row)


def _swapped_error() -> SwappedArgumentsError:
    return SwappedArgumentsError(
        "y_true",
        "the labels are fractions and the probabilities are only 0 and 1: they look swapped",
        SWAP,
    )

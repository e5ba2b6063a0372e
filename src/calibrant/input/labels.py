"""Labels in any spelling (integers, booleans, -1 and 1, names, one-hot, soft, multilabel) as class indices or target shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputTypeError, LabelError, ShapeError, SwappedArgumentsError
from ..util.blocks import map_blocks, rows_per_block
from .convert import SUM_TOLERANCE, Column, _short, is_hashable, is_missing, numbers

__all__ = ["class_names", "encode_labels", "soft_targets"]

Array = NDArray[Any]

SOFT = "pass soft=True if the labels are shares between classes"
POSITIVE_ALONE = "drop it, or pass the column of the positive class alone"


def class_names(classes: Sequence[Any] | Array | None, k: int) -> tuple[Any, ...] | None:
    """The names of the K classes in the order of the columns, checked for number and repetition."""
    if classes is None:
        return None
    if isinstance(classes, (str, bytes, set, frozenset)) or not hasattr(classes, "__iter__"):
        raise InputTypeError(
            "classes",
            f"is of type {type(classes).__name__}, and names in the order of the columns are needed",
            "pass a list, for example classes=['cat', 'dog']",
        )
    names = tuple(value.item() if isinstance(value, np.generic) else value for value in classes)
    if len(names) != k:
        raise LabelError(
            "classes",
            f"has {len(names)} names, and y_prob has {k} classes",
            "name every class once, in the order of the columns",
        )
    for position, name in enumerate(names):
        if not is_hashable(name):
            raise InputTypeError(
                "classes", f"holds a {type(name).__name__} as name {position}", "name classes with text or numbers"
            )
        if name in names[:position]:
            raise LabelError("classes", f"names {name!r} twice", "name every class once, in the order of the columns")
    return names


def encode_labels(came: Column, k: int, classes: tuple[Any, ...] | None, pos_label: Any, probs: Array) -> Array:
    """Class indices of hard labels: platform integers, bytes for two classes where they did not come as such."""
    y = came.array
    if pos_label is not None:
        y = _against_positive(y, classes, pos_label, probs)
    elif y.ndim == 2:
        y = _from_one_hot(numbers(y, "y_true"), k, probs)
    elif classes is not None:
        y = _from_names(y, classes)
    elif y.dtype.kind in "USO" and _is_text(y):
        raise LabelError(
            "y_true",
            f"holds text, {_short(y[0])} at row 0, and nothing says which class it is",
            "pass classes=[...] in the order of the columns" + (", or pos_label=" if k == 2 else ""),
            row=0,
        )
    else:
        y = _from_numbers(numbers(y, "y_true"), k, probs)
    return y if y.dtype == np.intp else y.astype(np.uint8 if k == 2 else np.intp, copy=False)


def multilabel_targets(came: Column, shape: tuple[int, ...]) -> Array:
    """An (N, K) array of bytes from 0/1 or boolean labels."""
    y = numbers(came.array, "y_true")
    if y.shape != shape:
        raise ShapeError(
            "y_true",
            f"has shape {y.shape}, and multilabel labels need y_prob's shape {shape}",
            "pass one 0/1 column per class",
        )
    bad = (y != 0) & (y != 1)
    if bad.any():
        row, column = map(int, np.argwhere(bad)[0])
        raise LabelError(
            "y_true",
            f"row {row}, column {column} is {_short(y[row, column])}, and multilabel labels are 0 or 1",
            SOFT if 0 < y[row, column] < 1 else "pass one 0/1 column per class",
            row=row,
        )
    return y.astype(np.uint8)


def soft_targets(came: Column, k: int, one_dimensional: bool, multilabel: bool) -> Array:
    """Shares of the classes: (N,) for the positive class of two, else (N, K)."""
    y = numbers(came.array, "y_true")
    if y.ndim == 1 and not one_dimensional:
        raise ShapeError(
            "y_true", "has one dimension, and soft labels need one column per class", f"pass shape (N, {k})"
        )
    if y.ndim == 2 and y.shape[1] != k:
        raise ShapeError("y_true", f"has {y.shape[1]} columns, and y_prob has {k} classes", f"pass shape (N, {k})")
    y = y.astype(np.float64)
    bad = ~((y >= 0) & (y <= 1))
    if bad.any():
        where = np.argwhere(bad)[0]
        row = int(where[0])
        raise LabelError(
            "y_true",
            f"row {row} holds {float(y[tuple(where)])!r}, and soft labels lie in [0, 1]",
            "pass shares of 1, or drop soft=True if these are class indices",
            row=row,
        )
    if y.ndim == 1 or multilabel:
        return y
    off = np.abs(y.sum(axis=1) - 1) > SUM_TOLERANCE.get(came.precision, 1e-6)
    if off.any():
        row = int(np.argmax(off))
        raise LabelError(
            "y_true",
            f"row {row} sums to {y[row].sum():.6g}, and soft labels sum to 1",
            "divide each row by its sum",
            row=row,
        )
    return np.ascontiguousarray(y[:, 1]) if one_dimensional else y


def _is_text(y: Array) -> bool:
    return y.dtype.kind in "US" or isinstance(y.flat[0], str)


def _against_positive(y: Array, classes: tuple[Any, ...] | None, pos_label: Any, probs: Array) -> Array:
    if probs.ndim != 1:
        raise LabelError(
            "pos_label",
            "is for one-dimensional scores, and these have columns",
            POSITIVE_ALONE if probs.shape[1] == 2 else "drop it; of several classes none is the positive one",
        )
    if y.ndim != 1:
        raise ShapeError(
            "y_true", f"has shape {y.shape}, and pos_label needs one label per row", "drop pos_label for one-hot rows"
        )
    if classes is not None and pos_label not in classes:
        raise LabelError(
            "pos_label",
            f"is {pos_label!r}, which is not one of classes={list(classes)!r}",
            "check its spelling and type",
        )
    missing = _missing(y)
    if missing.any():
        row = int(np.argmax(missing))
        raise LabelError(
            "y_true", f"row {row} is {y[row]}, and every row needs a label", "drop the rows without a label", row=row
        )
    positive = np.asarray(y == pos_label)
    if positive.shape != y.shape:
        raise LabelError("pos_label", f"{pos_label!r} cannot be compared with the labels, first label {_short(y[0])}")
    others = y[~positive]
    if len(others) == 0:
        return positive
    if classes is None and not positive.any():
        raise LabelError(
            "pos_label",
            f"{pos_label!r} occurs in no row; the first label is {_short(others[0])}",
            "check its spelling and type, or pass classes=",
        )
    allowed = [name for name in classes if name != pos_label] if classes is not None else [others[0]]
    stray = ~np.isin(y, np.asarray([*allowed, pos_label], dtype=y.dtype if y.dtype.kind in "OUS" else None))
    if stray.any():
        row = int(np.argmax(stray))
        raise LabelError(
            "y_true",
            f"row {row} is {_short(y[row])}, a third value beside {pos_label!r} and {_short(allowed[0])}",
            "two classes are needed",
            row=row,
        )
    return positive


def names_around(y: Array, classes: tuple[Any, ...] | None, pos_label: Any) -> tuple[Any, Any]:
    """The names of both classes in the order of their columns: the other one, and the positive one."""
    others = [name for name in classes if name != pos_label] if classes is not None else y[y != pos_label][:1].tolist()
    return (others[0] if others else f"not {pos_label}"), pos_label


def _missing(y: Array) -> Array:
    if y.dtype.kind == "O":
        return np.array([is_missing(value) for value in y.tolist()])
    return np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), bool)


def _from_names(y: Array, classes: tuple[Any, ...]) -> Array:
    values, inverse = np.unique(y, return_inverse=True) if y.dtype.kind != "O" else _unique_objects(y)
    position = {name: index for index, name in enumerate(classes)}
    codes = np.empty(len(values), np.intp)
    for place, value in enumerate(values):
        key = value.item() if isinstance(value, np.generic) else value
        if key not in position:
            row = int(np.argmax(inverse.ravel() == place))
            near = _near(key, classes)
            raise LabelError(
                "y_true", f"row {row} is {_short(key)}, which is not one of the classes {_list(classes)}", near, row=row
            )
        codes[place] = position[key]
    return np.asarray(codes[inverse.ravel()])


def _unique_objects(y: Array) -> tuple[list[Any], Array]:
    seen: dict[Any, int] = {}
    try:
        inverse = np.fromiter((seen.setdefault(value, len(seen)) for value in y), np.intp, len(y))
    except TypeError:
        row = next(row for row, value in enumerate(y) if not is_hashable(value))
        raise InputTypeError(
            "y_true",
            f"holds a {type(y[row]).__name__} at row {row}, which names no class",
            "pass text or numbers",
            row=row,
        ) from None
    return list(seen), inverse


def _near(key: Any, classes: tuple[Any, ...]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(str(key), [str(name) for name in classes], 1)
    return f"did you mean {near[0]!r}?" if near else "add it to classes= or drop the row"


def _list(classes: tuple[Any, ...]) -> str:
    return repr(list(classes[:8]))[:-1] + (", ...]" if len(classes) > 8 else "]")


def _from_one_hot(y: Array, k: int, probs: Array) -> Array:
    if probs.ndim == 1 and np.isin(probs, (0, 1)).all() and not np.isin(y, (0, 1)).all():
        raise _swapped()
    if y.shape[1] != k:
        remedy = "pass y_true.ravel()" if y.shape[1] == 1 else "pass class indices, or one column per class"
        if probs.ndim == 1 and y.shape[1] > 1 and not np.isin(y, (0, 1)).all():
            raise SwappedArgumentsError(
                "y_true",
                "has columns of fractions while y_prob has one number per row: they look swapped",
                "call it as (y_true, y_prob): labels first, probabilities second",
            )
        raise ShapeError("y_true", f"has {y.shape[1]} columns, and y_prob has {k} classes", remedy)
    bad = ((y != 0) & (y != 1)).any(axis=1) | (y.sum(axis=1) != 1)
    if bad.any():
        if probs.ndim == 2 and np.isin(probs, (0, 1)).all() and not np.isin(y, (0, 1)).all():
            raise _swapped()
        row = int(np.argmax(bad))
        entries = np.array2string(y[row], threshold=8, separator=", ")
        raise LabelError(
            "y_true",
            f"row {row} is {entries}, and a one-hot row has a single 1",
            "drop the rows without a label"
            if np.isnan(y[row]).any()
            else f"{SOFT}, or multilabel=True if several classes can hold",
            row=row,
        )
    return np.asarray(y.argmax(axis=1))


def _from_numbers(y: Array, k: int, probs: Array) -> Array:
    """Blocked: each block is checked and narrowed while it is in cache."""
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
        return LabelError(
            "y_true", f"row {row} is nan, and every row needs a label", "drop the rows without a label", row=row
        )
    fractional = bool(((values > 0) & (values < 1)).any())
    if fractional and probs.ndim == 1 and bool(np.isin(probs, (0, 1)).all()):
        return _swapped()
    rule = "labels are 0 and 1, or -1 and 1" if k == 2 else f"labels are whole numbers from 0 to {k - 1}"
    if signed:
        rule = "other labels are -1: " + rule + ", never all three"
    shown = int(value) if value == np.floor(value) and np.isfinite(value) else value
    if fractional:
        remedy = SOFT
    elif k == 2 and probs.ndim == 1:
        several = len(np.unique(values)) > 2
        remedy = (
            "two classes are needed; for more, pass one column of probabilities per class"
            if several
            else "pass pos_label= to say which value is positive"
        )
    elif values.min() == 1 and values.max() == k:
        remedy = f"pass y_true - 1, or classes=range(1, {k + 1}), if they are counted from 1"
    else:
        remedy = "pass classes=[...] if these are names"
    return LabelError("y_true", f"row {row} is {shown}, and {rule}", remedy, row=row)


def _swapped() -> SwappedArgumentsError:
    return SwappedArgumentsError(
        "y_true",
        "holds fractions while y_prob holds only 0 and 1: they look swapped",
        "call it as (y_true, y_prob): labels first, probabilities second",
    )

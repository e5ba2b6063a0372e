"""What a map is given: scores and labels as arrays or frames, the names of the classes, and errors in the words of the caller."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CalibrantError, ColumnError, LabelError, SwappedArgumentsError
from ..input.convert import column, is_frame
from ..input.frames import class_names, classes_of_columns, column_names, positive_last
from ..input.labels import encode_labels

__all__ = ["as_rows", "in_order", "named_as", "names_array", "read_rows"]

Array = NDArray[Any]

# What `Predictions` offers and a map does not take, and what to do here instead; the first that is named counts.
REMEDIES = (
    ("count columns from 0", "pass scores.to_numpy(), and give each row the number of its column, from 0 up"),
    ("normalize=", 'divide each row by its sum, or make the map with input="logit" if these are logits'),
    ("clip=", "clip them to [0, 1] if this is rounding"),
    ("label= and prob=", "pass a list, array, column or tensor"),
    *((word, "give each row the number of its class, from 0 up") for word in ("soft=", "classes=", "pos_label=")),
)


@contextmanager
def named_as(y_prob: str = "scores", y_true: str = "y") -> Iterator[None]:
    """Checks speak of y_true and y_prob; what they raise inside is raised under the names that the caller knows."""
    try:
        yield
    except SwappedArgumentsError:
        raise SwappedArgumentsError(
            y_prob,
            f"and {y_true} look swapped: {y_true} holds fractions, and labels are none",
            f"call fit({y_prob}, {y_true}): scores first, labels second",
        ) from None
    except CalibrantError as error:
        argument, problem, remedy = (
            text.replace("y_prob", y_prob).replace("y_true", y_true)
            for text in (error.argument, error.problem, error.remedy)
        )
        remedy = next((here for word, here in REMEDIES if word in remedy), remedy)
        raise type(error)(argument, problem, remedy, row=error.row) from None


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
        f"has the columns {list(names)}, and the map was fitted on the classes {known}",
        "name the columns after the classes, or pass an array in their order",
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
            f"holds text, {first!r} at row 0, and nothing says of which class the scores are",
            f"pass the outcomes of that class: y == {first!r} if the scores are its probability",
            row=0,
        )
    if columns is not None and columns != tuple(range(len(columns))):
        raise LabelError(
            "y",
            f"holds names that are no columns of scores, which are {list(columns)}; the first label is {first!r}",
            "name the columns after the classes, or pass scores.to_numpy() with its columns in the sorted order of the names",
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
            f"holds {len(names)} {'name' if len(names) == 1 else 'names'}, first {str(names[0])!r}, and scores have {columns} classes",
            "where a class has no rows, give each row the number of its class, from 0 up",
        )
    return None, y  # Predictions says what is wrong

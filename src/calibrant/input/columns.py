"""The arguments of `Predictions` as columns: picked from a frame, without rows that are dropped, in the order of the classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputTypeError, LabelError, ShapeError, SwappedArgumentsError
from .convert import PAIR, Column, column, is_frame, pick_columns
from .frames import ColumnNames, check_same_rows, column_names, read_columns
from .frames import class_names as names_of_columns
from .labels import SWAP, is_text, ordered_categories

if TYPE_CHECKING:
    from .missing import Dropped


class Arguments(NamedTuple):
    """Labels, scores, weights, groups and features as they were passed, or as the columns of a frame."""

    values: dict[str, Any]
    """By argument: ``y_true``, ``y_prob``, ``sample_weight``, ``counts``, ``groups`` and ``features``."""
    written: dict[str, str]
    """Columns of a frame that arguments name."""
    names: tuple[Any, ...] | None
    """Names of the columns of scores, if they are in a frame."""
    label_name: str
    dropped: Dropped | None = None


class Columns(NamedTuple):
    """Arrays of labels and of scores, with what names of columns determine."""

    labels: Column
    scores: Column
    names: tuple[Any, ...] | None
    classes: Any
    pos_label: Any
    categories: tuple[Any, ...] | None
    """Categories of the labels in increasing order, if their type is ordered."""
    by_columns: bool
    """Whether the order of the columns need not be that of the classes, as with a pattern; a list of columns is in order."""


def read_arguments(
    y_true: Any, y_prob: Any, label: str | None, prob: str | list[str] | None, beside: Mapping[str, Any]
) -> Arguments:
    """Pick the columns of a frame, and check that objects with an index have the same rows."""
    name = label if label is not None else getattr(y_true, "name", None)
    label_name = name if isinstance(name, str) else ""
    if type(y_true) is not np.ndarray:
        check_same_rows(y_true, {"y_prob": y_prob, **beside})
    if label is None and prob is None and (y_prob is not None or not is_frame(y_true)):
        names = None if type(y_prob) is np.ndarray else column_names(y_prob)
        return Arguments({"y_true": y_true, "y_prob": y_prob, **beside}, {}, names, label_name)
    if not is_frame(y_true):
        problem = "and prob are names of columns, and the first argument is not a frame"
        raise InputTypeError("label", problem, "pass a frame first, or two arrays")
    if y_prob is not None:
        raise InputTypeError("y_prob", "cannot be combined with label and prob", "pass the frame alone")
    if label is None or prob is None:
        missing = "label" if label is None else "prob"
        raise InputTypeError(missing, "is required when the first argument is a frame", "name the column")
    labels, scores = pick_columns(y_true, label, "label"), pick_columns(y_true, prob, "prob")
    rows = {argument: _column_beside(y_true, argument, value) for argument, value in beside.items()}
    columns = {**beside, "y_true": label, "y_prob": prob}
    names_of_columns = {argument: name for argument, name in columns.items() if isinstance(name, str)}
    return Arguments({"y_true": labels, "y_prob": scores, **rows}, names_of_columns, column_names(scores), label_name)


def _column_beside(frame: Any, argument: str, value: Any) -> Any:
    """The column that an argument names, or the argument itself."""
    several = isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(name, str) for name in value)
    if not (isinstance(value, str) or (several and argument in ("groups", "features"))):
        return value
    if argument == "groups":
        from .grouping import from_frame

        return from_frame(frame, value, argument)
    return pick_columns(frame, value, argument)


def named_classes(classes: Any, pos_label: Any, names: tuple[Any, ...] | None) -> set[str]:
    """Names of classes, which are not missing labels even if a class is called ``NA``."""
    class_list = list(classes) if isinstance(classes, (list, tuple, np.ndarray)) else []
    names_in_columns = [] if names is None else [*names, *(names_of_columns(list(map(str, names)), "") or ())]
    return {name for name in (*class_list, pos_label, *names_in_columns) if isinstance(name, str)}


def find_columns(arguments: Arguments, prob: Any, classes: Any, pos_label: Any, exclusive: bool) -> Columns:
    """Return the arrays of labels and scores, in the order of the classes where names of columns determine it.

    `exclusive` states that each row has one class.
    """
    # A list of columns is in the intended order; a pattern or a frame of probabilities may be in any.
    by_columns = isinstance(classes, ColumnNames) if classes is not None else not isinstance(prob, (list, tuple))
    y_true, names = arguments.values["y_true"], arguments.names
    labels, scores = _pair(y_true, arguments.values["y_prob"])
    categories = ordered_categories(y_true)
    if exclusive and names is not None and labels.array.ndim == 1:
        pattern = prob if isinstance(prob, str) else ""
        order, classes, pos_label = read_columns(names, pattern, classes, pos_label, labels.array)
        if order is not None:
            scores = Column(np.ascontiguousarray(scores.array[:, order]), scores.precision)
            names = tuple(names[index] for index in order)
    elif exclusive and names is None and classes is None and scores.array.ndim == 2:
        classes = _classes_of_categories(categories, scores.array.shape[1])
    if names is not None and labels.array.ndim == 2:
        labels = _match_columns(labels, column_names(y_true), names)
    return Columns(labels, scores, names, classes, pos_label, categories, by_columns)


def _match_columns(labels: Column, label_names: tuple[Any, ...] | None, names: tuple[Any, ...]) -> Column:
    """Return labels with one column per class in the order of the columns of scores; columns that are only numbered have no names."""
    k = len(names)
    if label_names is None or len(label_names) != k or tuple(range(k)) in (label_names, names):
        return labels
    label_classes, classes = (
        names_of_columns(texts, "") or texts for texts in (list(map(str, label_names)), list(map(str, names)))
    )
    if sorted(map(str, label_classes)) != sorted(map(str, classes)):
        problem = f"its columns {list(label_names)} are not those of y_prob, {list(names)}"
        raise LabelError("y_true", problem, "rename them, or pass y_true.to_numpy() if their order is the same")
    order = [label_classes.index(name) for name in classes]
    return Column(np.ascontiguousarray(labels.array[:, order]), labels.precision)


def _classes_of_categories(categories: tuple[Any, ...] | None, k: int) -> tuple[Any, ...] | None:
    """The classes of unnamed columns, where the labels are ordered categories whose order is alphabetical as well."""
    if not categories or len(categories) != k or not all(isinstance(name, str) for name in categories):
        return None
    if list(categories) != sorted(categories):  # scikit-learn, for one, would have sorted the columns by name
        raise LabelError(
            "y_true",
            "is an ordered categorical, and whether the columns of y_prob have its order or the alphabetical one is unknown",
            f"pass classes={list(categories)} if they have the order of the categories, or classes={sorted(categories)} "
            "if they are alphabetical, as those of scikit-learn",
        )
    return categories


def _pair(y_true: Any, y_prob: Any) -> tuple[Column, Column]:
    if hasattr(y_true, "with_labels") or hasattr(y_prob, "with_labels"):  # Predictions
        raise InputTypeError("y_true", "cannot be combined with Predictions", "pass the Predictions alone")
    if y_prob is None:
        if hasattr(y_true, "to_bytes") and hasattr(y_true, "merge"):  # importing Sketch here would be an import cycle
            problem = "a sketch keeps no rows, which are required here"
            raise InputTypeError("y_true", problem, "pass labels and probabilities")
        raise InputTypeError("y_prob", "is missing", PAIR)
    labels, scores = column(y_true, "y_true"), column(y_prob, "y_prob")
    rows, score_rows = len(labels.array), len(scores.array)
    if rows != score_rows:
        transposed = scores.array.ndim == 2 and scores.array.shape[1] == rows
        remedy = "pass y_prob.T: it has one column per row" if transposed else "one label per row is required"
        raise ShapeError("y_prob", f"has {score_rows} rows and y_true has {rows}", remedy)
    if labels.array.dtype.kind == "f" and is_text(scores.array):
        problem = "the labels are fractions and the probabilities are text: they look swapped"
        raise SwappedArgumentsError("y_true", problem, SWAP)
    return labels, scores

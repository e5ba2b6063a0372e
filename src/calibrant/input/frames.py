"""Metadata of frames: the class of each column, and the index of the rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InputError, LabelError
from ..util.checks import is_number
from .convert import index_of, is_frame, is_hashable

# Suffix of the columns that a calibrator writes.
CALIBRATED = "_calibrated"
PROB_PREFIXES = ("prob_", "probs_", "proba_", "probability_", "y_prob_", "p_", "p")
# Names of the positive class of two, and of the negative one.
_TRUTH = dict.fromkeys(("true", "t", "yes", "y", "1", "+1", "pos", "positive", "correct"), True)
_TRUTH |= dict.fromkeys(("false", "f", "no", "n", "0", "-1", "neg", "negative", "incorrect"), False)
_WORD_PAIRS = (
    ("true", "false"),
    ("t", "f"),
    ("yes", "no"),
    ("y", "n"),
    ("pos", "neg"),
    ("positive", "negative"),
    ("correct", "incorrect"),
    ("right", "wrong"),
)
_OPPOSITES = {word: other for pair in _WORD_PAIRS for word, other in (pair, pair[::-1])}


class ColumnNames(list[Any]):
    """Class names that were read from the names of columns, whose order need not be that of the classes."""


def opposite_of(name: str) -> str | None:
    """Return the counterpart of a word for true or false, in the same spelling; None for other words.

    >>> opposite_of("yes"), opposite_of("False"), opposite_of("NEG"), opposite_of("cat")
    ('no', 'True', 'POS', None)
    """
    opposite = _OPPOSITES.get(name.lower())
    return opposite and (opposite.upper() if name.isupper() else opposite.title() if name.istitle() else opposite)


def column_names(table: Any) -> tuple[Any, ...] | None:
    """Return the column names of a frame; None for other objects."""
    if not is_frame(table):
        return None
    if hasattr(table, "collect_schema"):  # polars, where a lazy frame warns of its columns
        names = table.collect_schema().names()
    else:
        names = table.column_names if hasattr(table, "column_names") else table.columns
    return tuple(name.item() if isinstance(name, np.generic) else name for name in names)


def positive_of(classes: Sequence[Any]) -> int | None:
    """Return the index of the positive one of two classes if their names determine it; None otherwise.

    Yes is positive beside no, as true beside false, pos beside neg, the larger of two numbers, and ``churn`` beside ``no_churn``.

    >>> positive_of(["yes", "no"]), positive_of([0, 1]), positive_of(["not spam", "spam"]), positive_of(["cat", "dog"])
    (0, 1, 1, None)
    """
    if len(classes) != 2:
        return None
    truth = [_TRUTH.get(str(name).lower()) for name in classes]
    if set(truth) == {True, False}:
        return truth.index(True)
    lower_names = [str(name).lower() for name in classes]
    if sorted(lower_names) == ["right", "wrong"]:  # right alone may be the opposite of left
        return lower_names.index("right")
    if all(is_number(name) for name in classes):
        return int(classes[1] > classes[0])
    for index in (0, 1):
        name, other = str(classes[index]), str(classes[1 - index])
        if name and re.fullmatch(rf"(no|not|non)[ _-]?{re.escape(name)}", other, re.IGNORECASE):
            return index
    return None


def two_classes(labels: NDArray[Any]) -> tuple[Any, Any] | None:
    """Return the negative and the positive one of two text labels, if their names determine it; None otherwise.

    >>> two_classes(np.array(["no", "yes", "no"])), two_classes(np.array(["1", "1"])), two_classes(np.array(["cat", "dog"]))
    (('no', 'yes'), ('0', '1'), None)
    """
    try:
        classes = sorted(set(labels.tolist()))
    except TypeError:  # labels of several types
        return None
    if len(classes) == 1:
        opposite = {"0": "1", "1": "0"}.get(classes[0]) or opposite_of(classes[0])
        classes += [] if opposite is None else [opposite]
    positive = positive_of(classes)
    return None if positive is None else (classes[1 - positive], classes[positive])


def positive_last(names: list[str], pattern: str) -> list[str]:
    """Return columns of scores with that of the positive class last, if there are two and their names determine it.

    >>> positive_last(["p_yes", "p_no"], ""), positive_last(["p_dog", "p_cat"], "")
    (['p_no', 'p_yes'], ['p_dog', 'p_cat'])
    >>> positive_last(["yes_prob", "no_prob"], "")
    ['no_prob', 'yes_prob']
    """
    if len(names) != 2:
        return names
    shared = re.search(r"([\W_]\w*)?\n.*\1$", "\n".join(names))  # as in yes_prob, no_prob
    end = len(shared[1] or "") if shared else 0
    readings = class_names(names, pattern), [name[: len(name) - end] for name in names]
    positive_first = any(classes is not None and positive_of(classes) == 0 for classes in readings)
    return names[::-1] if positive_first else names


def class_names(names: list[str], pattern: str) -> list[Any] | None:
    """Return the classes that the columns name: the part matched by the star of a pattern, or the part after their common prefix.

    ``p_cat, p_dog`` are the classes cat and dog, as is what ``new_*`` or ``says: *`` left open; columns that share no prefix are the classes.
    """
    if all(name.endswith(CALIBRATED) for name in names):
        names, pattern = [name.removesuffix(CALIBRATED) for name in names], pattern.removesuffix(CALIBRATED)
    star = re.fullmatch(r"([^*?\[,]*)\*([^*?\[,]*)", pattern)
    around_star = (star[1].lower(), star[2].lower()) if star and star[0] != "*" else None
    ends = [(prefix, "") for prefix in PROB_PREFIXES]
    if around_star is not None:
        # After a letter, as in "p*", the underscore of the columns belongs to one of the usual prefixes, which go first.
        ends.insert(len(ends) if around_star[0][-1:].isalnum() else 0, around_star)
    for prefix, suffix in ends:
        if all(name.lower().startswith(prefix) and name.lower().endswith(suffix) for name in names):
            middles = [name[len(prefix) : len(name) - len(suffix)] for name in names]
            if all(middle.isdigit() for middle in middles):
                return [int(middle) for middle in middles]
            if all(middles) and (prefix.endswith("_") or (prefix, suffix) == around_star):
                return middles
    first, last = min(names), max(names)
    differ_at = next((i for i, pair in enumerate(zip(first, last, strict=False)) if len(set(pair)) > 1), len(first))
    common_prefix = re.sub(r"[^\W_]*$", "", first[:differ_at])
    middles = [name[len(common_prefix) :] for name in names]
    return middles if all(middles) and not any(middle.isdigit() for middle in middles) else None


def as_booleans(names: Iterable[Any]) -> list[bool] | None:
    """Return class names as truth values, for boolean labels; None if a name is not such a word."""
    values = [_TRUTH.get(str(name).lower()) for name in names]
    return [value for value in values if value is not None] if None not in values else None


class ColumnOrder(NamedTuple):
    """What the names of columns say about the classes."""

    order: list[int] | None
    """The columns with that of the positive class last; None if they stay."""
    classes: Any
    pos_label: Any
    """Label of the positive class, unless the order of the columns says it."""


def read_columns(
    names: tuple[Any, ...], pattern: str, classes: Any, pos_label: Any, labels: NDArray[Any]
) -> ColumnOrder:
    """Return the order of the columns and the classes; what is given by `classes` stays."""
    unchanged = ColumnOrder(None, classes, pos_label)
    if len(set(names)) < max(2, len(names)) or classes is not None:
        return unchanged
    is_text = all(isinstance(name, str) for name in names)
    class_list = class_names([str(name) for name in names], pattern) if is_text else list(names)
    if len(names) == 2 and pos_label is not None:
        pair = next((pair for pair in (list(names), class_list) if pair is not None and pos_label in pair), None)
        if pair is None:
            return unchanged
        return ColumnOrder([1, 0], pair[::-1], None) if pair[0] == pos_label else ColumnOrder(None, pair, None)
    ordered = list(names)
    if len(names) == 2:
        if is_text:
            ordered = positive_last(ordered, pattern)
        elif positive_of(ordered) == 0:
            ordered = ordered[::-1]
    order = None if ordered == list(names) else [names.index(name) for name in ordered]
    numbers = list(range(len(names)))
    result = unchanged._replace(order=order)
    if not is_text or class_list is None or pos_label is not None or class_list == numbers:
        return result
    if order is not None:
        class_list = class_list[::-1]
    if class_list == numbers or set(names) == set(class_list):
        return result
    positions = {name: index for index, name in enumerate(class_list)}
    are_labels = _distinct(labels, positions) is not None or _names_some(labels, positions)
    return result._replace(classes=tuple(class_list)) if are_labels else result


def numbers_of_columns(names: Sequence[Any]) -> tuple[int, ...]:
    """Return the numbers of columns such as p_2, p_0, p_1, each of which occurs once from 0; empty for other columns."""
    texts = [name for name in names if isinstance(name, str)]
    numbers = class_names(texts, "") if len(texts) == len(names) > 1 else None
    return tuple(numbers) if numbers is not None and set(numbers) == set(range(len(names))) else ()


def in_order_of_numbers(frame: Any) -> Any:
    """Return a frame of columns such as p_2, p_0, p_1 in the order of their numbers; another one unchanged."""
    import narwhals.stable.v2 as nw

    names = column_names(frame) or ()
    numbers = numbers_of_columns(names)
    if not numbers:
        return frame
    return nw.from_native(frame).select([names[numbers.index(k)] for k in range(len(numbers))]).to_native()


def classes_of_columns(names: tuple[Any, ...] | None, classes: Any, labels: NDArray[Any]) -> Any:
    """Return the given classes, or the column names if every label, or some text among them, is one of them.

    Labels that are both names and indices of columns raise an error if the two differ, since the meaning would depend on the rows.
    """
    if names is None or len(set(names)) < max(2, len(names)):
        return classes
    if classes is not None:
        stated = tuple(classes) if isinstance(classes, (list, tuple, np.ndarray)) else ()
        for candidates in (names, numbers_of_columns(names)):
            if stated != candidates and all(map(is_hashable, stated)) and set(stated) == set(candidates):
                raise ArgumentError(
                    "classes", f"the columns of the probabilities are in another order: {list(names)}", "drop classes"
                )
        return classes
    if labels.ndim != 1 or not len(labels) or names == tuple(range(len(names))):
        return None
    positions = {name: index for index, name in enumerate(names)}
    label_values = _distinct(labels, positions)
    if label_values is None:
        # If only some labels are names, the check of labels reports the first that is not.
        return names if _names_some(labels, positions) else None
    counted = all(is_number(label) and label in range(len(names)) for label in label_values)
    if counted and any(positions[label] != label for label in label_values):
        problem = f"the labels could be names or positions of the columns {list(names)}, which differ"
        remedy = "pass classes if they are names, or pass y_prob.to_numpy() if they are positions, from 0"
        raise LabelError("y_true", problem, remedy)
    return names


def _names_some(labels: NDArray[Any], names: Mapping[Any, int]) -> bool:
    """Whether any text among the labels is a class name."""
    if labels.dtype.kind not in "OU":
        return False
    try:
        return any(isinstance(label, str) for label in names.keys() & set(labels.tolist()))
    except TypeError:  # unhashable values are not names
        return False


def _distinct(labels: NDArray[Any], names: Mapping[Any, int]) -> set[Any] | None:
    """Return the distinct labels if all are names; None otherwise, decided by the first if possible."""
    try:
        if labels.item(0) not in names:
            return None
        # A set is faster than sorting for text, and slower for numbers.
        values = set((np.unique(labels) if labels.dtype.kind in "biuf" else labels).tolist())
    except TypeError:  # unhashable values are not names
        return None
    return values if values <= names.keys() else None


def check_same_rows(first: Any, others: Mapping[str, Any], argument: str = "y_true") -> None:
    """Raise if an object has another index than `first`, since rows are matched by position.

    An index 0, 1, 2, ... states nothing about the rows, and only another order of it raises.
    """
    index = index_of(first)
    if index is None:
        return
    groups = {name: value.values() if isinstance(value, dict) else [value] for name, value in others.items()}
    for name, value in ((name, value) for name, values in groups.items() for value in values):
        row_labels = index_of(value)
        if row_labels is None or len(row_labels) != len(index) or row_labels.equals(index):
            continue
        if row_labels.is_unique and index.is_unique and row_labels.isin(index).all():
            problem = f"has the same index as {argument} in another order, but rows are matched by position"
            remedy = f"pass {name}.loc[{argument}.index], or {name}.to_numpy() if the index has no meaning"
            raise InputError(name, problem, remedy)
        if not (_is_default(index) or _is_default(row_labels)):
            problem = f"has another index than {argument}, but rows are matched by position"
            remedy = f"align them by index, or pass {name}.to_numpy() if its rows are those of {argument}"
            raise InputError(name, problem, remedy)


def _is_default(index: Any) -> bool:
    """Whether a pandas index is 0, 1, 2, ..."""
    from pandas import RangeIndex

    return bool(index.equals(RangeIndex(len(index))))

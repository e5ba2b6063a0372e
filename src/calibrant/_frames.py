"""What a frame says beside its numbers: which class a column is of, and which row is which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._convert import is_frame, is_hashable, is_number
from .errors import ArgumentError, InputError, LabelError

__all__ = ["check_same_rows", "classes_of_columns", "column_names"]


def column_names(table: Any) -> tuple[Any, ...] | None:
    """The names of the columns of a frame; None for anything else."""
    if not is_frame(table):
        return None
    if hasattr(table, "collect_schema"):  # polars, where a lazy frame warns of its columns
        names = table.collect_schema().names()
    else:
        names = table.column_names if hasattr(table, "column_names") else table.columns
    return tuple(name.item() if isinstance(name, np.generic) else name for name in names)


def classes_of_columns(names: tuple[Any, ...] | None, classes: Any, labels: NDArray[Any]) -> Any:
    """The classes given, or those that the columns are named after where every label, or some text among them, is one of them.

    Labels that are both names and numbers of columns are refused where the two differ: which it was would depend on the rows at hand.
    """
    if names is None or len(set(names)) < max(2, len(names)):
        return classes
    if classes is not None:
        given = tuple(classes) if isinstance(classes, (list, tuple, np.ndarray)) else ()
        if given != names and all(map(is_hashable, given)) and set(given) == set(names):
            raise ArgumentError(
                "classes", f"has another order than the columns of y_prob, which are {list(names)}", "drop classes="
            )
        return classes
    if labels.ndim != 1 or not len(labels) or names == tuple(range(len(names))):
        return None
    place = {name: index for index, name in enumerate(names)}
    seen = _distinct(labels, place)
    if seen is None:
        return (
            names if _names_some(labels, place) else None
        )  # where some are, the check of labels names the first that is none
    counted = all(is_number(label) and label in range(len(names)) for label in seen)
    if counted and any(place[label] != label for label in seen):
        raise LabelError(
            "y_true",
            f"could be names or numbers of the columns of y_prob, which are {list(names)}, and the two differ",
            "pass classes= if they are names, or y_prob.to_numpy() if they count columns from 0",
        )
    return names


def _names_some(labels: NDArray[Any], names: Mapping[Any, int]) -> bool:
    """Whether text among the labels is a name."""
    if labels.dtype.kind not in "OU":
        return False
    try:
        return any(isinstance(label, str) for label in names.keys() & set(labels.tolist()))
    except TypeError:  # what has no hash is no name
        return False


def _distinct(labels: NDArray[Any], names: Mapping[Any, int]) -> set[Any] | None:
    """The labels that occur, where all are names; None otherwise, told by the first where that is none."""
    try:
        if labels.item(0) not in names:
            return None
        # A set takes text faster than sorting does, and numbers slower.
        seen = set((np.unique(labels) if labels.dtype.kind in "biuf" else labels).tolist())
    except TypeError:  # what has no hash is no name
        return None
    return seen if seen <= names.keys() else None


def check_same_rows(first: Any, others: Mapping[str, Any]) -> None:
    """Refuse what has the rows of `first` by index, but in another order: rows are read by position."""
    index = _index(first)
    if index is None:
        return
    for name, other in others.items():
        own = _index(other)
        if own is None or len(own) != len(index) or own.equals(index):
            continue
        if own.is_unique and index.is_unique and own.isin(index).all():
            raise InputError(
                name,
                "has the same index as y_true in another order, and rows are read by position",
                f"pass {name}.loc[y_true.index]; if the index means nothing, pass {name}.to_numpy()",
            )


def _index(value: Any) -> Any:
    """The index of a pandas object."""
    return getattr(value, "index", None) if type(value).__module__.split(".")[0] == "pandas" else None

"""What a frame says beside its numbers: which class a column is of, and which row is which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._convert import is_frame, is_hashable
from .errors import ArgumentError, InputError

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
    """The classes given, or those that the columns are named after where every label is one of them."""
    if names is None or len(set(names)) < max(2, len(names)):
        return classes
    if classes is not None:
        given = tuple(classes) if isinstance(classes, (list, tuple, np.ndarray)) else ()
        if given != names and all(map(is_hashable, given)) and set(given) == set(names):
            raise ArgumentError(
                "classes", f"has another order than the columns of y_prob, which are {list(names)}", "drop classes="
            )
        return classes
    if labels.ndim != 1 or names == tuple(range(len(names))):
        return None
    seen = labels.tolist()
    return names if all(map(is_hashable, seen)) and set(seen) <= set(names) else None


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

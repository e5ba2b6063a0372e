"""Rows with missing values: finding and dropping them, and the error that counts them."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    CalibrantError,
    GroupError,
    InputError,
    InputTypeError,
    LabelError,
    ProbabilityError,
    ShapeError,
    WeightError,
)
from ..util.arrays import Bools
from .convert import _as_array, _from_frame_library, _native, as_entries, is_missing, is_missing_text, missing_values
from .grouping import GroupColumns, as_group_columns

if TYPE_CHECKING:
    from .predictions import Predictions


# The remedy of functions that have the keyword `missing`, and that of the others.
DROP = "use missing='drop' to drop these rows"
DROP_FIRST = "use Predictions(..., missing='drop') to drop these rows"
ERRORS: dict[str, type[InputError]] = {
    "y_true": LabelError,
    "y_prob": ProbabilityError,
    "sample_weight": WeightError,
    "counts": WeightError,
    "groups": GroupError,
}


@dataclass(frozen=True)
class Dropped:
    """Rows that were dropped because of missing values.

    Parameters
    ----------
    rows : int
        Number of rows before.
    n : int
        Number of rows dropped.
    columns : dict of str to int
        Number of rows with a missing value, by column or argument. A row may have several.
    kept : numpy.ndarray of bool, optional
        Mask of the rows that remain, where all were in memory.
    applied : bool, default False
        Whether the rows were dropped before the values became predictions.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.Predictions([0, 1, None, 1], [0.1, 0.4, 0.8, float("nan")], missing="drop")
    >>> print(found.dropped)
    2 of 4 rows dropped because of missing values (y_true 1, y_prob 1)
    >>> found.n, found.dropped.columns
    (2, {'y_true': 1, 'y_prob': 1})
    """

    rows: int
    n: int
    columns: dict[str, int]
    kept: Bools = field(default_factory=lambda: np.zeros(0, bool), repr=False, compare=False)
    applied: bool = False

    def plus(self, other: Dropped | None) -> Dropped:
        """Return the rows dropped from both of two parts of the data.

        Parameters
        ----------
        other : Dropped or None
            Those of the other part.

        Returns
        -------
        Dropped
            Their sums.
        """
        if other is None:
            return self
        names = dict.fromkeys([*self.columns, *other.columns])
        columns = {name: self.columns.get(name, 0) + other.columns.get(name, 0) for name in names}
        return Dropped(self.rows + other.rows, self.n + other.n, columns)

    def origin(self, row: int | None) -> int | None:
        """Return the number of a remaining row among all rows.

        Parameters
        ----------
        row : int or None
            Number of the row among those that remain.

        Returns
        -------
        int or None
            Its number before rows were dropped.
        """
        return row if row is None or not len(self.kept) else int(np.flatnonzero(self.kept)[row])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values.

        Returns
        -------
        dict
            The number of ``rows``, of those ``dropped``, and of those with a missing value by column, under ``missing``.
        """
        return {"rows": self.rows, "dropped": self.n, "missing": dict(self.columns)}

    def __str__(self) -> str:
        """One line, such as ``3 of 1,000 rows dropped because of missing values (label 2, p 1)``."""
        return f"{self.n:,} of {self.rows:,} rows dropped because of missing values ({_counts_text(self.columns)})"


def _counts_text(columns: Mapping[str, int]) -> str:
    counts = [f"{name} {count:,}" for name, count in columns.items()]
    return ", ".join(counts[:8]) + (f" and {len(counts) - 8} more columns" if len(counts) > 8 else "")


def missing_rows(value: Any, *, texts: bool = True) -> Bools:
    """Return the mask of the rows of an array, sequence, series or tensor with a missing entry.

    Parameters
    ----------
    value
        One or two dimensions.
    texts
        Whether text such as ``NA`` stands for a missing value, as in a column of numbers.
    """
    mask = np.zeros(0, bool)
    if isinstance(value, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(value)
        value = value.data
    array = _as_plain_array(value)
    missing = _entries(array, texts)
    if mask.size:
        missing = missing | mask
    return np.asarray(missing.reshape(len(missing), -1).any(axis=1) if missing.ndim > 1 else missing)


def _as_plain_array(value: Any) -> NDArray[Any]:
    """An array with its missing entries as None or NaN, where conversion for use would raise."""
    if isinstance(value, (list, tuple)):
        try:
            array = _as_array(value, "")[0]
        except ShapeError:  # a missing list among lists
            array = None
        if array is None or array.dtype.kind in "US":  # NumPy would turn a missing entry into text
            array = np.empty(len(value), object)
            for row, entry in enumerate(value):
                array[row] = entry
        return array
    if not isinstance(value, np.ndarray) and type(value).__module__.split(".")[0] != "torch":
        array = _from_frame_library(value, "", nulls=True)
        if array is not None:
            return array
        if hasattr(value, "to_numpy") and not hasattr(value, "__array__"):
            return np.asarray(value.to_numpy(zero_copy_only=False))
    return _as_array(value, "")[0]


def _entries(array: NDArray[Any], texts: bool) -> Bools:
    kind = array.dtype.kind
    if kind == "f":
        return np.isnan(array)
    if kind in "mM":
        return np.isnat(array)
    if kind == "O":
        missing = [_is_missing_entry(entry, texts) for entry in array.ravel().tolist()]
        return np.array(missing, bool).reshape(array.shape)
    if kind in "US" and texts:
        names, inverse = np.unique(array, return_inverse=True)
        return np.array([_is_missing_entry(name, True) for name in names.tolist()], bool)[inverse.reshape(array.shape)]
    return np.zeros(array.shape, bool)


def _is_missing_entry(entry: Any, texts: bool) -> bool:
    if isinstance(entry, str):
        return texts and is_missing_text(entry)
    if isinstance(entry, (list, tuple, np.ndarray)):
        return any(_is_missing_entry(inner, texts) for inner in entry)
    return is_missing(entry)


def _parts(values_of: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, tuple[str, Any]]:
    """The columns of all arguments by name, with the argument each belongs to."""
    import narwhals.stable.v2 as nw

    parts: dict[str, tuple[str, Any]] = {}
    for argument, value in values_of.items():
        if value is None:
            continue
        name = names.get(argument, argument)
        if isinstance(value, GroupColumns):
            parts |= {factor.name: (argument, values) for factor, values in value.values.items()}
            continue
        native = None if isinstance(value, (np.ndarray, list, tuple)) else _native(value, argument)
        if isinstance(native, nw.LazyFrame):
            native = native.collect()
        if isinstance(native, nw.DataFrame) and len(native.columns) > 1:
            for series in native.iter_columns():
                named = f"{series.name} of {argument}" if str(series.name) in parts else str(series.name)
                parts[named] = (argument, series.to_native())
        else:
            parts[name] = (argument, value)
    return parts


def find_missing(
    values_of: Mapping[str, Any], names: Mapping[str, str], known: Collection[str] = ()
) -> dict[str, tuple[str, Bools]]:
    """Return the mask of missing rows of each column that has some, with the argument it belongs to.

    In groups a text such as ``NA`` is a name. In labels it is, if it is one of the classes `known` or if it leaves fewer than two
    other labels: it is then the name of a class.
    """
    missing = {}
    for name, (argument, value) in _parts(values_of, names).items():
        mask = missing_rows(value, texts=argument not in ("y_true", "groups"))
        if argument == "y_true":
            mask = missing_labels(value, mask, known)
        if mask.any():
            missing[name] = (argument, mask)
    return missing


def missing_labels(value: Any, missing: Bools, known: Collection[str] = ()) -> Bools:
    """Return the mask of missing labels with those that are text such as ``NA``, unless that is the name of a class."""
    array = _as_plain_array(value.data if isinstance(value, np.ma.MaskedArray) else value)
    if array.ndim != 1 or array.dtype.kind not in "OU":
        return missing
    texts = [isinstance(label, str) for label in array.tolist()]
    if not any(texts):
        return missing
    labels = {str(label) for label, absent in zip(array.tolist(), missing.tolist(), strict=True) if not absent}
    missing_texts = {
        label for label in labels - set(known) if is_missing_text(label) and label.strip().lower() != "none"
    }
    if not missing_texts or len(labels - missing_texts) < 2:
        return missing
    return missing | np.array(
        [text and label in missing_texts for text, label in zip(texts, array.tolist(), strict=True)]
    )


def without_missing(
    values_of: Mapping[str, Any], names: Mapping[str, str], known: Collection[str] = ()
) -> tuple[dict[str, Any], Dropped | None]:
    """Return the arguments without the rows in which one is missing, and what was dropped; None if nothing was."""
    values_of = {**values_of, "groups": as_group_columns(values_of.get("groups"))}
    missing = find_missing(values_of, names, known)
    if not missing:
        return dict(values_of), None
    if len({len(mask) for _, mask in missing.values()}) > 1:
        return dict(values_of), None  # the lengths are compared later
    dropped = drop_rows(missing)
    kept_values = {
        argument: value if value is None or _length(value) != dropped.rows else kept_rows(value, dropped.kept)
        for argument, value in values_of.items()
    }
    for argument in {argument for argument, _ in missing.values()} - {"y_true", "groups"}:
        value = kept_values[argument]
        array = as_entries(value) if isinstance(value, (list, np.ndarray)) else np.empty(0)
        # Numbers are text because of a missing one such as ``NA``.
        if array.dtype.kind in "US" or (array.dtype.kind == "O" and isinstance(array.flat[0], str)):
            with suppress(ValueError):
                kept_values[argument] = array.astype(np.float64)
    return kept_values, dropped


def drop_rows(missing: Mapping[str, tuple[str, Bools]], *, applied: bool = False) -> Dropped:
    """What is dropped, given the argument and the mask of the missing rows of each column; raises if no row is left."""
    absent = np.logical_or.reduce([mask for _, mask in missing.values()])
    columns = {name: int(mask.sum()) for name, (_, mask) in missing.items()}
    dropped = Dropped(len(absent), int(absent.sum()), columns, ~absent, applied)
    if dropped.n == dropped.rows:
        raise all_missing(dropped, next(iter(missing.values()))[0])
    return dropped


def all_missing(dropped: Dropped, argument: str) -> InputError:
    """The error for data without a complete row."""
    problem = f"all {dropped.rows:,} rows have missing values ({_counts_text(dropped.columns)}), so none is left"
    return InputError(argument, problem, "check the columns, or the program that wrote them")


def _length(value: Any) -> int:
    if isinstance(value, GroupColumns):
        return _length(next(iter(value.values.values())))
    if hasattr(value, "collect") and not hasattr(value, "__len__"):
        return len(value.collect())
    return len(value)


def kept_rows(value: Any, kept: Bools) -> Any:
    """Some rows of an array, sequence, series, frame or tensor, of the same type."""
    import narwhals.stable.v2 as nw

    if isinstance(value, np.ndarray):
        return value[kept]
    if isinstance(value, GroupColumns):
        return GroupColumns(value.factors, {factor: kept_rows(values, kept) for factor, values in value.values.items()})
    if isinstance(value, (list, tuple)):
        return [entry for entry, keep in zip(value, kept.tolist(), strict=True) if keep]
    rows = np.flatnonzero(kept)
    if type(value).__module__.split(".")[0] == "torch":
        return value[sys.modules["torch"].as_tensor(rows, device=value.device)]
    native = _native(value, "")
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    if isinstance(native, (nw.DataFrame, nw.Series)):
        return native[rows.tolist()].to_native()
    return value.take(rows) if hasattr(value, "take") else np.asarray(value)[kept]


def missing_error(missing: Mapping[str, tuple[str, Bools]], error: CalibrantError | None = None) -> CalibrantError:
    """The one error for all missing values: how many in each column, and the first of their rows."""
    columns = {name: int(mask.sum()) for name, (_, mask) in missing.items()}
    count = sum(columns.values())
    row = min(int(np.argmax(mask)) for _, mask in missing.values())
    (name, (argument, _)), *further = missing.items()
    problem = missing_values(count)
    if further:
        counts = [f"{name} {number:,}" for name, number in columns.items()]
        problem += f" ({', '.join(counts[:8])}{', ...' if len(counts) > 8 else ''})"
    elif name != argument:
        problem += f" in column {name!r}"
    is_same = error is not None and error.argument.partition(" ")[0] == argument
    kind: Any = type(error) if is_same else ERRORS.get(argument, InputError)
    column = error.column if is_same and error is not None and error.row == row and not further else None
    return kind(argument, problem, DROP_FIRST, row=row, column=column, count=count)


def explain_error(
    error: CalibrantError,
    values_of: Mapping[str, Any],
    names: Mapping[str, str],
    known: Collection[str],
    dropped: Dropped | None,
) -> CalibrantError:
    """The error of invalid rows: that of missing values if there are any, with the number of the row among all rows."""
    if dropped is not None:
        return error if error.row is None else error.replaced(row=dropped.origin(error.row))
    if error.row is None or not isinstance(error, (InputError, InputTypeError)) or isinstance(error, ShapeError):
        return error
    try:
        missing = find_missing({**values_of, "groups": as_group_columns(values_of.get("groups"))}, names, known)
    except (CalibrantError, TypeError, ValueError):  # the values cannot be read at all
        return error
    at_fault = any(error.row < len(mask) and mask[error.row] for _, mask in missing.values())
    return missing_error(missing, error) if at_fault else error


def on_same_rows(
    parts: Mapping[str, Predictions], places: Mapping[str, NDArray[np.int64]] | None = None
) -> dict[str, Predictions]:
    """Return predictions of models on the rows that none of them dropped, so that they stay paired.

    `places` are the positions of the rows given for each model among those of the first; by default all have the same order.
    """
    if places is None and all(part.dropped is None for part in parts.values()):
        return dict(parts)
    rows = {}  # the numbers of the rows among those given
    for name, part in parts.items():
        origin = np.arange(_given_rows(part))
        if part.dropped is not None and part.dropped.applied:
            origin = origin[part.dropped.kept]
        origin = origin if part.kept is None else origin[part.kept]
        rows[name] = origin if places is None else places[name][origin]
    lengths = {_given_rows(part) for part in parts.values()}
    if len(lengths) > 1 or all(np.array_equal(each, next(iter(rows.values()))) for each in rows.values()):
        return dict(parts)
    shared = np.zeros(lengths.pop(), np.int64)
    columns: dict[str, int] = {}
    for name, part in parts.items():
        shared[rows[name]] += 1
        for column, count in ({} if part.dropped is None else part.dropped.columns).items():
            called = column if columns.get(column, count) == count else f"{column} of {name}"
            columns[called] = count
    is_shared = shared == len(parts)
    dropped = Dropped(len(is_shared), int((~is_shared).sum()), columns, is_shared)
    if not is_shared.any():
        raise all_missing(dropped, "y_prob")
    together = {}
    for name, part in parts.items():
        order = np.argsort(rows[name])
        together[name] = part.take(order[is_shared[rows[name][order]]])
        if dropped.n:
            together[name].kept, together[name].dropped = is_shared, dropped
    return together


def _given_rows(part: Predictions) -> int:
    if part.dropped is not None:
        return part.dropped.rows
    return part.n if part.kept is None else len(part.kept)

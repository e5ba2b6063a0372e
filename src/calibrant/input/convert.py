"""Conversion of lists, arrays, frames and tensors to NumPy arrays, without importing frame or tensor libraries."""

from __future__ import annotations

import math
import re
import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ColumnError, InputError, InputTypeError, ShapeError
from ..util.arrays import Array
from ..util.checks import suggest

# Text that stands for a missing value, besides blanks.
_TEXT = re.compile(r"\s*(n/?a|#n/a|nan|null|none|<na>|nat)?\s*", re.IGNORECASE)

# Largest accepted deviation of a row sum from 1, by the precision of the input.
SUM_TOLERANCE = {"float64": 1e-6, "float32": 1e-4, "float16": 1e-2, "bfloat16": 1e-2}


# Remedies for text among numbers, by its form.
FRAME_FIRST = "pass a frame as the first argument to name columns with label and prob"
PAIR = "pass (y_true, y_prob), or a frame with label and prob"
TEXT_HINTS = (
    (r"[+-]?[\d.,]+ ?%", "write probabilities from 0 to 1: 0.7 for 70%"),
    (r"[+-]?\d*,\d+", "write decimals with a point: 0.7 for 0,7"),
    (r"(?i)|-+|\?|n/?a|#n/a|null|none|missing|<na>", "drop or fill these rows"),
    (r"[^\W\d_][\w -]*", "pass probabilities if these are predicted classes, or code the text as numbers"),
)


class Column(NamedTuple):
    """An array, and the name of the precision of the input."""

    array: Array
    precision: str


def column(value: Any, argument: str) -> Column:
    """Convert `value` to an array of one or two dimensions, without copying if possible."""
    array, precision = _as_array(value, argument)
    if array.ndim == 0:
        raise ShapeError(
            argument, f"expected one entry per row, got the single value {_short(array)}", "pass a list or an array"
        )
    if array.ndim > 2:
        problem = f"expected at most 2 dimensions, got {array.ndim} (shape {array.shape})"
        raise ShapeError(argument, problem, "move the classes to the last axis and reshape to (-1, K)")
    if array.shape[0] == 0:
        raise ShapeError(argument, "is empty; at least one row is required", "check the filter or file it came from")
    return Column(array, precision)


def numbers(array: Array, argument: str) -> Array:
    """Return `array` with a numeric dtype in native byte order; float16 and long double are converted to the nearest supported type."""
    kind = array.dtype.kind
    if kind == "O":
        for position, entry in enumerate(array.ravel()):
            if isinstance(entry, (bool, int, float, np.bool_, np.integer, np.floating)):
                continue
            row = int(np.unravel_index(position, array.shape)[0])
            if entry is None or is_missing(entry):
                raise InputTypeError(argument, f"missing value ({entry})", "drop or fill these rows", row=row)
            if isinstance(entry, (str, bytes)):
                raise _text_for_numbers(array, argument)
            if not hasattr(entry, "__float__"):  # which Decimal and Fraction have
                problem = f"expected numbers, got {type(entry).__name__}"
                raise InputTypeError(argument, problem, "convert it to float first", row=row)
        array = array.astype(np.float64)
    elif kind in "US":
        raise _text_for_numbers(array, argument)
    elif kind not in "biuf":
        raise InputTypeError(argument, f"expected real numbers, got dtype {array.dtype}", "convert it to float first")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    return array


def _as_array(value: Any, argument: str) -> tuple[Array, str]:
    # The common case first: a test for masked arrays makes NumPy import them.
    if type(value) is np.ndarray:
        return value, value.dtype.name
    if isinstance(value, (list, tuple)):
        return _from_sequence(value, argument), "float64"
    if isinstance(value, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(value)
        if mask.any():
            row, count = int(np.argwhere(mask)[0][0]), int(mask.sum())
            raise InputTypeError(argument, missing_values(count), "drop or fill these rows", row=row, count=count)
        return np.asarray(value.data), value.dtype.name
    if isinstance(value, np.ndarray):
        return np.asarray(value), value.dtype.name
    if type(value).__module__.split(".")[0] == "torch":
        return _from_tensor(value, argument)
    if value is None:
        raise InputTypeError(argument, "is missing (None)", "pass a list, array, column or tensor")
    if isinstance(value, (str, bytes, dict, set, frozenset)) or callable(value):
        raise InputTypeError(
            argument,
            f"expected a list, array, column or tensor, got {type(value).__name__}",
            FRAME_FIRST
            if isinstance(value, str)
            else "call it and pass what it returns"
            if callable(value)
            else "pass its values as a list, in the order of the rows, or several models to compare, report, reliability_diagram or another figure",
        )
    array = _from_frame_library(value, argument)
    if array is None and hasattr(value, "__array__"):
        array = np.asarray(value)
    if array is None and hasattr(value, "to_numpy"):  # a pyarrow Array is not a narwhals series
        array = np.asarray(value.to_numpy(zero_copy_only=False))
    if array is None and np.isscalar(value):
        array = np.asarray(value)
    if array is None:
        problem = f"expected a list, array, column or tensor, got {type(value).__name__}"
        raise InputTypeError(argument, problem, "convert it to a list or a dense array first")
    return array, array.dtype.name


def missing_values(count: int) -> str:
    """The number of missing values in words."""
    return "missing value" if count == 1 else f"{count:,} missing values"


def _from_sequence(value: Any, argument: str) -> Array:
    types = set(map(type, value))
    if any(issubclass(kind, str) for kind in types) or (bytes in types and len(types) > 1):
        # NumPy would give every text the length of the longest, and convert numbers and a missing NaN to text.
        return np.fromiter(value, object, len(value))
    try:
        return as_entries(value)
    except ValueError:
        # NumPy's message is about inhomogeneous shapes; name the row instead.
        first = _length(value[0])
        for row, entry in enumerate(value):
            if _length(entry) != first:
                raise ShapeError(
                    argument,
                    f"rows differ in length: {first} {'entry' if first == 1 else 'entries'} in row 0, {_length(entry)}",
                    "give every row one entry per class",
                    row=row,
                ) from None
        raise ShapeError(
            argument, "rows differ in length below the second dimension", "give every row one entry per class"
        ) from None


def as_entries(values: Any) -> Array:
    """Return values as an array, of objects if there is text among them.

    An array of text has the width of its longest entry for all of them, and NumPy would convert numbers beside it, and a missing NaN, to text.

    >>> as_entries(["a", 7]).tolist(), as_entries([1, 7]).dtype.kind
    (['a', 7], 'i')
    """
    values = values.to_numpy() if hasattr(values, "to_numpy") else values
    if isinstance(values, (list, tuple)) and any(issubclass(kind, (str, bytes)) for kind in set(map(type, values))):
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return np.asarray(values)


def _length(entry: Any) -> int:
    return len(entry) if hasattr(entry, "__len__") else 1


def _from_tensor(value: Any, argument: str) -> tuple[Array, str]:
    if not hasattr(value, "detach"):
        raise InputTypeError(argument, f"expected a tensor or array, got {type(value).__name__}")
    precision = str(value.dtype).rsplit(".", 1)[-1]
    try:
        tensor = value.detach().cpu()
        if precision == "bfloat16":  # not available in NumPy; float32 represents it exactly
            tensor = tensor.float()
        return np.asarray(tensor.numpy()), precision
    except (TypeError, NotImplementedError) as error:  # sparse, quantised, or without data
        raise InputTypeError(argument, f"the tensor cannot be read: {error}", "pass a dense tensor with data") from None


def _from_frame_library(value: Any, argument: str, *, nulls: bool = False) -> Array | None:
    import narwhals.stable.v2 as nw

    native = _native(value, argument)
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    if isinstance(native, nw.Series):
        if not nulls:
            _refuse_nulls(native, argument)
        return np.asarray(native.to_numpy())
    if isinstance(native, nw.DataFrame):
        for series in native.iter_columns() if not nulls else ():  # by position: pandas has columns called 0, 1, 2
            _refuse_nulls(series, f"{argument} (column {series.name!r})")
        return np.asarray(native.to_numpy())
    return None


def _native(value: Any, argument: str) -> Any:
    """Return a narwhals frame or series, or `value` itself if it is neither."""
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    try:
        return nw.from_native(value, pass_through=True, allow_series=True)
    except DuplicateError:
        names = [str(name) for name in value.columns]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ColumnError(argument, f"has two columns named {repeated!r}", "rename one of them") from None


def _refuse_nulls(series: Any, argument: str) -> None:
    if series.null_count():
        row, count = int(np.argmax(series.is_null().to_numpy())), int(series.null_count())
        raise InputTypeError(argument, missing_values(count), "drop or fill these rows", row=row, count=count)


def _text_for_numbers(array: Array, argument: str) -> InputTypeError:
    """Raise for the entry that made a column of numbers text; the first if all could be numbers."""
    texts = [index for index, entry in enumerate(array.flat) if isinstance(entry, (str, bytes))]
    first, remedy = texts[0], "convert it with float() or read the column as numeric"
    for index in texts:
        try:
            float(array.flat[index])
        except ValueError:
            first, text = index, str(array.flat[index]).strip()
            remedy = next((hint for form, hint in TEXT_HINTS if re.fullmatch(form, text)), remedy)
            break
    row = int(np.unravel_index(first, array.shape)[0])
    return InputTypeError(argument, f"expected numbers, got the text {_short(array.flat[first])}", remedy, row=row)


def is_missing(value: Any) -> bool:
    """Whether an entry is missing: None, NaN, NaT or pandas.NA."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas.NA has no truth value
        return type(value).__name__ == "NAType"


def is_missing_text(text: str) -> bool:
    """Whether a text stands for a missing value.

    >>> [is_missing_text(text) for text in ("", " ", "NA", "n/a", "nan", "None", "null", "0", "no", "Nancy")]
    [True, True, True, True, True, True, True, False, False, False]
    """
    return _TEXT.fullmatch(text) is not None


def codes_of(values: NDArray[Any], name: str) -> NDArray[np.intp]:
    """Return a number for each distinct entry, in increasing order; missing entries raise."""
    if values.dtype.kind in "fOMm":
        entries = values.tolist() if values.dtype.kind in "fO" else values
        missing = np.array([is_missing(entry) for entry in entries], bool)
        if missing.any():
            raise InputError(name, missing_values(int(missing.sum())), "drop these rows", row=int(np.argmax(missing)))
    try:
        return np.unique(values, return_inverse=True)[1].ravel()
    except TypeError:  # entries of several types have no order
        texts = [f"{type(entry).__name__} {entry}" for entry in values.tolist()]
        return np.unique(as_entries(texts), return_inverse=True)[1].ravel()


def is_hashable(value: Any) -> bool:
    """Whether a value can be the name of a class or a group."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def as_frame(value: Any, argument: str) -> Any:
    """Return a frame of any library as one of narwhals, with its rows; None for other objects."""
    import narwhals.stable.v2 as nw

    native = _native(value, argument)
    native = native.collect() if isinstance(native, nw.LazyFrame) else native
    return native if isinstance(native, nw.DataFrame) else None


def is_frame(value: Any) -> bool:
    """Whether `value` is a table with named columns, of any library that is already loaded."""
    if isinstance(value, (np.ndarray, list, tuple)) or value is None or isinstance(value, (str, bytes)):
        return False
    if not any(
        name in sys.modules for name in ("pandas", "polars", "pyarrow", "duckdb", "modin", "dask", "ibis", "pyspark")
    ):
        return False
    import narwhals.stable.v2 as nw

    return isinstance(_native(value, "y_true"), (nw.DataFrame, nw.LazyFrame))


def pick_columns(frame: Any, names: str | list[str] | tuple[str, ...], argument: str) -> Any:
    """Return the columns of `frame` called `names`; a name may be a pattern such as ``"p_*"``."""
    native = as_frame(frame, argument)
    patterns = [names] if isinstance(names, str) else names
    if not isinstance(patterns, (list, tuple)) or not patterns or not all(isinstance(name, str) for name in patterns):
        problem = f"must be the name of a column, or a list of names; got {names!r}"
        raise ColumnError(argument, problem, f"the columns are {_list_names(native.columns)}")
    if isinstance(names, str):
        if names in native.columns:
            return native[names].to_native()
        if not any(sign in names for sign in "*?["):
            raise _no_column(argument, names, native.columns)
    matched = match_columns(native.columns, names, argument)
    return native.select(matched).to_native()


def match_columns(existing: list[str], names: str | list[str] | tuple[str, ...], argument: str) -> list[str]:
    """Expand names and patterns to existing columns, in the order of the table for a pattern."""
    from fnmatch import fnmatchcase

    selected: list[str] = []
    for name in [names] if isinstance(names, str) else names:
        if name in existing:
            selected.append(name)
            continue
        matched = (
            [column for column in existing if fnmatchcase(column, name)] if any(sign in name for sign in "*?[") else []
        )
        if not matched:
            raise _no_column(argument, name, existing)
        selected.extend(matched)
    return selected


def _no_column(argument: str, name: str, existing: list[str]) -> ColumnError:
    near = suggest(name, [column for column in existing if isinstance(column, str)])
    problem = f"no column matches {name!r}" if any(sign in name for sign in "*?[") else f"unknown column {name!r}"
    return ColumnError(argument, problem, (f"{near} The" if near else "the") + f" columns are {_list_names(existing)}")


def _list_names(existing: list[str]) -> str:
    return ", ".join(map(repr, existing[:20])) + (", ..." if len(existing) > 20 else "")


def _short(value: Any) -> str:
    text = repr(value.item() if isinstance(value, (np.generic, np.ndarray)) and value.size == 1 else value)
    return text if len(text) <= 40 else text[:37] + "..."


def index_of(value: Any) -> Any:
    """Return the index of a pandas object, or of the one that predictions were read from."""
    return getattr(value, "index" if type(value).__module__.split(".")[0] == "pandas" else "row_index", None)


def frozen(array: Array) -> Array:
    """Return a read-only view of an array."""
    view = array.view()
    view.flags.writeable = False
    return view


def rounding_of(columns: int) -> int:
    """Return the possible rounding error of the sum of a row of printed numbers, in units of the last decimal.

    Each is off by half a unit at most; of many, five standard deviations of their sum are as far as it goes.
    """
    return max(1, min(columns // 2, math.ceil(5 * math.sqrt(columns / 12))))


def summing_to_one(probs: NDArray[Any]) -> NDArray[Any]:
    """Return rows unchanged, or normalised if a wider tolerance accepted some that a calibrator would reject."""
    if probs.ndim == 1:
        return probs
    total = probs.sum(axis=1, dtype=np.float64, keepdims=True)
    off = np.abs(total - 1).max() > SUM_TOLERANCE.get(probs.dtype.name, 1e-6)
    return np.asarray(probs / total) if off else probs

"""Features of rows as columns: numbers, dates and categories, and which values are missing; ranges of numbers and frequent categories."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputTypeError, ShapeError
from ..util.arrays import Array, Bools, Floats
from .convert import as_entries, as_frame, column, is_missing

Codes = NDArray[np.intp]

NEEDED = "pass the columns themselves, such as frame[['age', 'plan']]"
NUMBERS = (Real, Decimal, np.bool_)
# A date, with a time or without, as text.
DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?Z?)?")
DAY = 86_400_000_000
"""Microseconds."""
# Share of the weight by which rounding may move the end of a range.
TIE = 1e-9


class Column(NamedTuple):
    """A feature of all rows."""

    name: str
    """Empty for a column of an array."""
    values: Array
    """Numbers, Booleans, dates, or objects; of no meaning where they are missing."""
    missing: Bools

    def numbers(self) -> Floats | None:
        """Return numbers and Booleans as numbers, and dates as days since 1970, with NaN for missing values; None for categories."""
        if self.missing.all():
            return np.full(len(self.values), np.nan)
        if self.values.dtype.kind == "O":
            return None
        unit = "datetime64[us]" if self.values.dtype.kind == "M" else "timedelta64[us]"
        values = self.values.astype(unit).astype(np.float64) / DAY if self.values.dtype.kind in "mM" else self.values
        return np.where(self.missing, np.nan, values.astype(np.float64))

    def categories(self) -> list[str]:
        """Return the values as text, in which a missing value is empty; 1 and 1.0 are one category."""
        values = (
            int(value) if isinstance(value, float) and value.is_integer() else value for value in self.values.tolist()
        )
        return ["" if hole else str(value) for value, hole in zip(values, self.missing.tolist(), strict=True)]


def read_features(features: Any, rows: int, kept: Array | None = None) -> tuple[Column, ...]:
    """Return the columns of features by name.

    Parameters
    ----------
    features : frame, mapping of str to array-like, or array-like of shape (N, d)
        Numbers, Booleans, dates (as text too, such as 2026-01-31) and text; None, NaN, NaT, empty text, nulls of frames and masked entries are missing values.
    rows : int
        Number of rows.
    kept : ndarray, optional
        Rows that are returned; all by default.

    Returns
    -------
    tuple of Column
        Columns in their order.

    Examples
    --------
    >>> age, plan = read_features({"age": [31, None], "plan": ["pro", ""]}, 2)
    >>> age.numbers().tolist(), plan.categories(), plan.missing.tolist()
    ([31.0, nan], ['pro', ''], [False, True])
    """
    columns = _columns_of(features)
    if not columns:
        raise InputTypeError("features", "have no columns", NEEDED)
    feature_columns = []
    for index, (name, entries) in enumerate(columns):
        values = as_entries(entries)
        if values.shape != (rows,):
            problem = f"column {name or index} has shape {values.shape}; expected one value for each of {rows} rows"
            raise ShapeError("features", problem, NEEDED)
        missing = np.asarray(entries.is_null() if hasattr(entries, "is_null") else np.ma.getmask(entries), bool)
        feature_columns.append(_read_column(name, values, missing | np.zeros(rows, bool)))
    if kept is None:
        return tuple(feature_columns)
    return tuple(Column(each.name, each.values[kept], each.missing[kept]) for each in feature_columns)


def _columns_of(features: Any) -> list[tuple[str, Any]]:
    """The names of the columns, and the columns as the library of a frame stores them."""
    if features is None:
        raise InputTypeError("features", "are required", NEEDED)
    if isinstance(features, Mapping):
        return [(str(name), values) for name, values in features.items()]
    frame = as_frame(features, "features")
    if frame is not None:
        return [(str(series.name), series) for series in frame.iter_columns()]
    if hasattr(features, "to_numpy"):  # a column of a frame
        return [(str(getattr(features, "name", None) or ""), features)]
    features = [features] if isinstance(features, str) else features
    values = features if isinstance(features, np.ma.MaskedArray) else column(features, "features").array
    if isinstance(features, (list, tuple)) and values.dtype.kind in "US":  # numbers beside text have become text
        values = np.array(features, dtype=object)
    return [("", each) for each in values.reshape(len(values), -1).T]


def _read_column(name: str, values: Array, missing: Bools) -> Column:
    """A column with the type of its values, and its missing values."""
    kind = values.dtype.kind
    if kind in "fmM":
        return Column(name, values, missing | (np.isnan(values) if kind == "f" else np.isnat(values)))
    if kind in "iub":
        return Column(name, values, missing)
    entries = values.tolist()
    missing = missing | [is_missing(entry) or (isinstance(entry, str) and not entry.strip()) for entry in entries]
    types = {type(entry) for entry, hole in zip(entries, missing.tolist(), strict=True) if not hole}
    known, form = values[~missing], "O"
    if types and types <= {bool, np.bool_}:
        form = "?"
    elif types and all(issubclass(each, NUMBERS) for each in types):
        form = "f8"
    elif types and all(hasattr(each, "isoformat") and hasattr(each, "year") for each in types):
        naive = [each.astimezone(UTC).replace(tzinfo=None) if getattr(each, "tzinfo", None) else each for each in known]
        known, form = np.array(naive, "M8[us]"), "M8[us]"
    elif types == {str} and (dates := _as_dates(known.tolist())) is not None:
        known, form = dates, "M8[us]"
    typed = np.zeros(len(values), form)
    typed[~missing] = known.astype(form)
    return Column(name, typed, missing)


def _as_dates(texts: list[str]) -> Array | None:
    """Dates that are written as text; None if one is not."""
    if not all(map(DATE.fullmatch, texts)):
        return None
    try:
        return np.array([text.removesuffix("Z") for text in texts], "M8[us]")
    except ValueError:  # such as 2023-02-30
        return None


def quantile_ends(weight: Array, ranges: int, shift: float = 0.0) -> Codes:
    """Return the places of the last of the distinct values in each range of about equal weight, without that of the last range.

    Parameters
    ----------
    weight : ndarray
        Weight of each distinct value, in increasing order of the values.
    ranges : int
        Number of ranges; a value of much weight is a range of its own, so that ends may be equal.
    shift : float, default 0
        What is added to the quantiles.

    Returns
    -------
    ndarray of int
        Places among the distinct values.

    Examples
    --------
    >>> quantile_ends(np.array([1.0, 1, 1, 1, 1, 5]), 5)
    array([1, 3, 4, 4])
    """
    share = np.cumsum(weight) / weight.sum()
    probabilities = np.arange(1, ranges) / ranges + shift
    return np.asarray(np.minimum(np.searchsorted(share, probabilities - TIE), len(weight) - 2))


def frequent_categories(names: Sequence[str], weight: Floats, most: int) -> tuple[str, ...]:
    """Return the categories of most weight in order of their names; empty text is none.

    >>> frequent_categories(["b", "", "a", "c", "a"], np.ones(5), 2)
    ('a', 'b')
    """
    categories = sorted(set(names) - {""})
    codes = {name: code for code, name in enumerate(categories)}
    total = np.bincount([codes.get(name, len(categories)) for name in names], weight, len(categories) + 1)[
        : len(categories)
    ]
    return tuple(categories[code] for code in np.sort(np.argsort(-total, kind="stable")[:most]))


def category_codes(names: Sequence[str], categories: Sequence[str]) -> Codes:
    """Return the place of each name among the known ones; their number for others.

    >>> category_codes(["b", "z", "a"], ["a", "b"]).tolist()
    [1, 2, 0]
    """
    codes = {name: code for code, name in enumerate(categories)}
    return np.fromiter((codes.get(name, len(codes)) for name in names), np.intp, len(names))

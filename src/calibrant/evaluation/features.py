"""Features of rows as codes: bins of numbers and dates, categories, and missing values, each with a name that a person reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import ROUND_FLOOR, Context
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputTypeError, ShapeError
from ..input.convert import as_entries, is_frame, is_missing
from ..input.predictions import Predictions

Array = NDArray[Any]
Codes = NDArray[np.int32]
Bools = NDArray[np.bool_]

# Categories beyond the most frequent ones are not conditions of their own.
MOST_CATEGORIES = 20
# Edges of bins are the shortest numbers within this share of the rows around a quantile.
NEARBY = 0.005


class Condition(NamedTuple):
    """A condition on one feature: its codes from `first` to `last`, both included."""

    feature: int
    first: int
    last: int
    text: str


class Feature(NamedTuple):
    """A feature as codes of its rows: bins in increasing order, or categories; then rare categories, then missing values."""

    name: str
    code: Codes
    bins: tuple[str, ...]
    """Text of the lower end of each bin, or of each category."""
    single: tuple[bool, ...]
    """Whether a bin holds a single value."""
    ordered: bool
    rare: int
    """Number of categories without a code of their own."""

    @property
    def missing(self) -> int:
        """Code of the rows in which the feature is missing."""
        return len(self.bins) + 1

    def labels(self) -> list[str]:
        """Names of the codes: bins or categories, rare categories, and missing."""
        count = len(self.bins)
        own = [self._range(code, code) for code in range(count)] if self.ordered else list(self.bins)
        return [*own, "other", "missing"]

    def conditions(self, place: int) -> Iterator[Condition]:
        """Iterate over the conditions that occur: all intervals of bins but the whole range, or each category; and missing values."""
        count = len(self.bins)
        present = np.bincount(self.code, minlength=count + 2) > 0
        for first in range(count):
            for last in range(first, count if self.ordered else first + 1):
                if (first, last) == (0, count - 1) and not present[count:].any():
                    continue
                text = self._range(first, last) if self.ordered else f"{self.name} = {self.bins[first]}"
                yield Condition(place, first, last, text)
        if present[self.missing] and present[: self.missing].any():
            yield Condition(place, self.missing, self.missing, f"{self.name} is missing")

    def _range(self, first: int, last: int) -> str:
        low = self.bins[first]
        if first == last and self.single[first]:
            return f"{self.name} = {low}"
        if last == len(self.bins) - 1:
            return f"{self.name} ≥ {low}" if first else f"{self.name} is known"
        above = self.bins[last + 1]
        return f"{low} ≤ {self.name} < {above}" if first else f"{self.name} < {above}"


def read_features(features: Any, p: Predictions, bins: int) -> tuple[Feature, ...]:
    """Return the features of the rows of predictions as codes.

    Parameters
    ----------
    features : frame, mapping of str to array-like, array-like of shape (N, d) or None
        One value of each feature for each row; None are the features of the predictions.
    p : Predictions
        Predictions of these rows.
    bins : int
        Number of bins of numbers and dates with more distinct values than that.

    Returns
    -------
    tuple of Feature
        Features in their order.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> p = Predictions([0, 1, 1, 0, 1, 0], [0.2, 0.6, 0.7, 0.4, 0.5, 0.1])
    >>> columns = {"age": [31, 70, None, 64, 47, 52], "plan": ["basic", "pro", "pro", None, "basic", "pro"]}
    >>> for feature in read_features(columns, p, 2):
    ...     print([condition.text for condition in feature.conditions(0)], feature.code.tolist())
    ['age < 60', 'age is known', 'age ≥ 60', 'age is missing'] [0, 1, 3, 1, 0, 0]
    ['plan = basic', 'plan = pro', 'plan is missing'] [0, 1, 1, 3, 0, 1]
    """
    if features is None:
        if p.features is None:
            raise InputTypeError("features", "is missing", "pass a frame with one column for each feature")
        columns = {f"x{place}": column for place, column in enumerate(p.features.T)}
    else:
        columns = _columns(features, p)
    if not columns:
        raise InputTypeError("features", "has no columns", "pass a frame with one column for each feature")
    units = p.weight if p.weight_kind == "counts" else None
    return tuple(_coded(str(name), values, units, bins) for name, values in columns.items())


def _columns(features: Any, p: Predictions) -> dict[Any, Array]:
    """The columns of features by name, for the rows that the predictions kept."""
    import narwhals.stable.v2 as nw

    if is_frame(features):
        frame: Any = nw.from_native(features)
        frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        columns = {series.name: _with_holes(series.to_numpy(), series.is_null()) for series in frame.iter_columns()}
    elif isinstance(features, Mapping):
        holes = {name: each.mask for name, each in features.items() if isinstance(each, np.ma.MaskedArray)}
        columns = {name: _with_holes(as_entries(each), holes.get(name, False)) for name, each in features.items()}
    else:
        values = as_entries(features)
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2:
            raise ShapeError("features", f"expected one row of features for each prediction, got shape {values.shape}")
        columns = {f"x{place}": column for place, column in enumerate(values.T)}
    rows = p.n if p.kept is None else len(p.kept)
    for name, values in columns.items():
        if values.shape != (rows,):
            raise ShapeError(
                "features", f"{name!r} has shape {values.shape}; expected one value for each of {rows} rows"
            )
    return columns if p.kept is None else {name: values[p.kept] for name, values in columns.items()}


def _with_holes(values: Array, missing: Any) -> Array:
    """Values with NaN, NaT or None where they are missing; some libraries fill holes with other values."""
    missing, values = np.asarray(missing, bool), np.asarray(values)
    if not missing.any():
        return values
    values = values.copy() if values.dtype.kind in "fmM" else values.astype(object)
    values[missing] = (
        None if values.dtype.kind == "O" else np.nan if values.dtype.kind == "f" else np.array("NaT", values.dtype)
    )
    return values


def _coded(name: str, values: Array, units: Array | None, bins: int) -> Feature:
    """A feature as codes: numbers and dates in bins, other values as categories."""
    values, missing = _typed(values)
    units = np.ones(len(values)) if units is None else units
    if values.dtype.kind in "iufmM":
        code, texts, single = _binned(values[~missing], units[~missing], bins)
        ordered, rare = True, 0
    else:
        code, texts, rare = _categories(values[~missing], units[~missing])
        ordered, single = False, (True,) * len(texts)
    full = np.full(len(values), len(texts) + 1, np.int32)
    full[~missing] = code
    return Feature(name, full, texts, single, ordered, rare)


def _typed(values: Array) -> tuple[Array, Bools]:
    """Values as numbers, dates or objects, and which of them are missing."""
    kind = values.dtype.kind
    if kind in "iubUS":
        return values, np.zeros(len(values), bool)
    if kind in "mM":
        return values, np.isnat(values)
    if kind == "f":
        return values, np.isnan(values)
    entries = values.tolist()
    missing = np.array([is_missing(entry) for entry in entries], bool)
    kinds = {type(entry) for entry, hole in zip(entries, missing.tolist(), strict=True) if not hole}
    if kinds and all(issubclass(each, (int, float, np.number)) for each in kinds) and bool not in kinds:
        numbers = np.full(len(values), np.nan)
        numbers[~missing] = values[~missing].astype(np.float64)
        return numbers, missing
    if kinds and all(hasattr(each, "isoformat") and hasattr(each, "year") for each in kinds):
        dates = np.full(len(values), "NaT", "datetime64[us]")
        dates[~missing] = values[~missing].astype("datetime64[us]")
        return dates, missing
    return values, missing


def _binned(values: Array, units: Array, bins: int) -> tuple[Codes, tuple[str, ...], tuple[bool, ...]]:
    """Bins at quantiles of numbers or dates, or one for each of few distinct values; equal values stay together."""
    distinct, place = np.unique(values, return_inverse=True)
    starts = np.arange(len(distinct))
    if len(distinct) > bins:
        below = np.append(0.0, np.cumsum(np.bincount(place, units)))[:-1] / units.sum()
        wanted = np.arange(1, bins) / bins * (1 - 1e-12)
        starts = np.searchsorted(below, wanted)
        if values.dtype.kind == "f":  # the shortest number nearby
            low, high = (np.searchsorted(below, wanted + side) for side in (-NEARBY, NEARBY))
            ends = zip(distinct[np.maximum(low - 1, 0)], distinct[np.minimum(high, len(distinct) - 1)], strict=True)
            starts = np.searchsorted(distinct, [float(_edge(*each)) if each[0] < each[1] else each[1] for each in ends])
        starts = np.unique(np.append(0, np.minimum(starts, len(distinct) - 1)))
    code = np.searchsorted(starts, place, side="right") - 1
    sizes = np.diff(np.append(starts, len(distinct)))
    single = tuple((sizes == 1).tolist())
    texts = tuple(
        _text(distinct[start]) if alone or not start else _edge(distinct[start - 1], distinct[start])
        for start, alone in zip(starts.tolist(), single, strict=True)
    )
    return code.astype(np.int32), texts, single


def _edge(below: Any, value: Any) -> str:
    """The shortest text of a number or date above `below` and up to `value`, which divides them.

    >>> _edge(64.37, 65.0214), _edge(0.123456, 0.123457), _edge(np.datetime64("2023-12-30"), np.datetime64("2024-01-02"))
    ('65', '0.123457', '2024-01-01')
    """
    if isinstance(value, np.datetime64):
        for unit in ("D", "s"):
            short = value.astype(f"datetime64[{unit}]")
            if unit == "D" and below < short.astype("datetime64[M]") <= value:
                return str(short.astype("datetime64[M]").astype("datetime64[D]"))
            if below < short <= value:
                return str(short)
        return str(value)
    if isinstance(value, (np.integer, np.timedelta64)) or not np.isfinite(value) or not np.isfinite(below):
        return _text(value)
    for digits in range(1, 17):
        short = float(Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(repr(float(value))))
        if short > below:
            return _text(short)
    return repr(float(value))


def _text(value: Any) -> str:
    """A number or date as text, without an exponent where it is not needed."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        text = str(value)
        return text.split("T")[0] if text.endswith(("T00:00:00", "T00:00:00.000000", "T00:00:00.000000000")) else text
    if isinstance(value, np.integer):
        return str(int(value))
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def _categories(values: Array, units: Array) -> tuple[Codes, tuple[str, ...], int]:
    """Codes of the most frequent categories in order of their names, with one more for all others."""
    names = np.array([str(value) for value in values.tolist()], dtype=object)
    distinct, place = np.unique(names, return_inverse=True) if len(names) else (names, np.zeros(0, np.intp))
    weight = np.bincount(place, units, len(distinct))
    kept = np.sort(np.argsort(-weight, kind="stable")[:MOST_CATEGORIES])
    code_of = np.full(len(distinct), len(kept), np.int32)
    code_of[kept] = np.arange(len(kept))
    return code_of[place], tuple(distinct[kept].tolist()), len(distinct) - len(kept)

"""Features of rows as codes: bins of numbers and dates, categories, and missing values, each with a name that a person reads."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_FLOOR, Context
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError
from ..input.features import Column, category_codes, frequent_categories, quantile_ends, read_features
from ..input.predictions import Predictions
from ..util.arrays import Array

Codes = NDArray[np.int32]

# Categories beyond the most frequent ones are not conditions of their own.
MOST_CATEGORIES = 20
# Whole numbers below it are exact as floats.
EXACT = 2**53
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


def encode_features(features: Any, p: Predictions, bins: int) -> tuple[Feature, ...]:
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
    >>> for feature in encode_features(columns, p, 2):
    ...     print([condition.text for condition in feature.conditions(0)], feature.code.tolist())
    ['age < 60', 'age is known', 'age ≥ 60', 'age is missing'] [0, 1, 3, 1, 0, 0]
    ['plan = basic', 'plan = pro', 'plan is missing'] [0, 1, 1, 3, 0, 1]
    """
    if features is None:
        own: Any = p.features
        if p.feature_names:
            own = dict(zip(p.feature_names, own.T, strict=True))
        columns = read_features(own, p.n)
    else:
        columns = read_features(features, p.n if p.kept is None else len(p.kept), p.kept)
    if p.label_name and p.label_name in [column.name for column in columns]:
        raise ArgumentError("features", f"{p.label_name!r} is the outcome", "leave it out")
    units = p.weight if p.weight is not None and p.weight_kind == "counts" else np.ones(p.n)
    return tuple(_encode(column, column.name or f"x{place}", units, bins) for place, column in enumerate(columns))


def _encode(column: Column, name: str, units: Array, bins: int) -> Feature:
    """A feature as codes: numbers and dates in bins, other values as categories."""
    known = ~column.missing
    if column.values.dtype.kind in "iufmM":
        code, texts, single = _bin_values(column.values[known], units[known], bins)
        ordered, rare = True, 0
    else:
        names = [name for name, hole in zip(column.categories(), column.missing.tolist(), strict=True) if not hole]
        texts = frequent_categories(names, units[known], MOST_CATEGORIES)
        code, rare = category_codes(names, texts), len(set(names)) - len(texts)
        ordered, single = False, (True,) * len(texts)
    full = np.full(len(known), len(texts) + 1, np.int32)
    full[known] = code
    return Feature(name, full, texts, single, ordered, rare)


def _bin_values(values: Array, units: Array, bins: int) -> tuple[Array, tuple[str, ...], tuple[bool, ...]]:
    """Bins at quantiles of numbers or dates, or one for each of few distinct values; equal values stay together."""
    if values.dtype.kind in "iu" and (np.abs(values) < EXACT).all():  # the same bins in every type of numbers
        values = values.astype(np.float64)
    distinct, place = np.unique(values, return_inverse=True)
    starts = np.arange(len(distinct))
    if len(distinct) > bins:
        weight = np.bincount(place, units)
        starts = quantile_ends(weight, bins) + 1
        if values.dtype.kind == "f":  # the shortest number nearby
            low, high = (quantile_ends(weight, bins, side) for side in (-NEARBY, NEARBY))
            ends = zip(distinct[low], distinct[high + 1], strict=True)
            starts = np.searchsorted(distinct, [float(_edge(*each)) if each[0] < each[1] else each[1] for each in ends])
        starts = np.unique(np.append(0, np.minimum(starts, len(distinct) - 1)))
    code = np.searchsorted(starts, place, side="right") - 1
    sizes = np.diff(np.append(starts, len(distinct)))
    single = tuple((sizes == 1).tolist())
    texts = tuple(
        _text(distinct[start]) if alone or not start else _edge(distinct[start - 1], distinct[start])
        for start, alone in zip(starts.tolist(), single, strict=True)
    )
    return code, texts, single


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

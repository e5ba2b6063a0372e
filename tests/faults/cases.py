"""Good input, which each bad one changes in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Call = Callable[[], object]
NAN, INF = float("nan"), float("inf")

Y = [0, 1, 1, 0]
P = [0.2, 0.8, 0.6, 0.3]
TWO = np.column_stack([1 - np.array(P), P])
Y3 = [0, 1, 2, 2]
P3 = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.3, 0.3, 0.4]])
ONE_HOT = np.eye(3)[Y3]
LABELS = [[0, 1], [1, 1]]
COLUMNS = [[0.2, 0.3], [0.1, 0.2]]


def with_entry(values: Any, place: Any, value: Any, dtype: Any = np.float64) -> NDArray[Any]:
    """A copy of `values` with one entry or row replaced."""
    array = np.array(values, dtype=dtype)
    array[place] = value
    return array


Options = Mapping[str, dict[str, Any]]


def varied(title: str, options: Options, function: Any, *arguments: Any, **keywords: Any) -> dict[str, Call]:
    """A case for each name of the options, which are passed with the keywords."""
    return {f"{title}, {name}": partial(function, *arguments, **keywords | own) for name, own in options.items()}


def each(title: str, values: Iterable[Any], function: Any, *arguments: Any, keyword: str) -> dict[str, Call]:
    """A case for each value of a keyword."""
    return {f"{title} {value!r}": partial(function, *arguments, **{keyword: value}) for value in values}

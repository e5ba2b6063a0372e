"""Good input, which each bad one changes in one place."""

from __future__ import annotations

from collections.abc import Callable
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

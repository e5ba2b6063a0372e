"""Sums that are accurate and fast: neighbouring numbers added by NumPy, the partial sums added exactly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["accurate_sum"]

RUN = 256


def accurate_sum(values: NDArray[Any]) -> float:
    """The sum of an array, to within a few units of the last digit however long it is."""
    if len(values) <= 4 * RUN:
        return math.fsum(values)
    whole = len(values) // RUN * RUN
    runs = values[:whole].reshape(-1, RUN).sum(axis=1, dtype=np.float64)
    return math.fsum([*runs.tolist(), *values[whole:].tolist()])

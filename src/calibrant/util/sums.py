"""Accurate and fast sums: blocks are summed by NumPy, their partial sums exactly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["accurate_sum"]

RUN = 256


def accurate_sum(values: NDArray[Any]) -> float:
    """Compute the sum of an array to within a few units in the last place, independent of its length."""
    if len(values) <= 4 * RUN:
        return math.fsum(values)
    whole = len(values) // RUN * RUN
    runs = values[:whole].reshape(-1, RUN).sum(axis=1, dtype=np.float64)
    return math.fsum([*runs.tolist(), *values[whole:].tolist()])

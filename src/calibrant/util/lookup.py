"""Positions in a sorted array that is searched many times."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Lookup"]

Floats = NDArray[np.float64]

# With so many intervals for each number, few intervals have several; in a narrower range there are fewer, so that every value has one.
PER_NUMBER = 4
LEAST_RANGE = 2.0**-20


class Lookup:
    """Positions of values among sorted numbers between 0 and 1, in less time than a bisection for each.

    The range of the numbers is divided into intervals of equal width, and a table has how many numbers lie before each. A comparison with the
    next one then gives the position, unless an interval has several: there a bisection finds it, so that concentrated numbers take
    longer, and all positions are exact.
    """

    def __init__(self, numbers: Floats) -> None:
        self.numbers = numbers
        self.least = float(numbers[0])
        self.scale = PER_NUMBER * len(numbers) / max(float(numbers[-1]) - self.least, LEAST_RANGE)
        held = np.bincount(self._interval(numbers))
        start = np.cumsum(held) - held
        # Past the last number, so that a comparison is false.
        start[held > 1] = len(numbers) + 1
        self.start = start
        self.next = np.append(numbers, [np.inf, np.inf])

    def _interval(self, values: Floats) -> NDArray[Any]:
        distance = values - self.least
        distance *= self.scale
        return distance.astype(np.intp)

    def up_to(self, values: Floats) -> NDArray[Any]:
        """Return how many of the numbers are at most each of the values."""
        # Monotone also after rounding: numbers in lower intervals are smaller, those in higher ones larger.
        place = self.start.take(self._interval(values), mode="clip")
        crowded = np.flatnonzero(place > len(self.numbers))
        place += self.next.take(place) <= values
        place[crowded] = np.searchsorted(self.numbers, values[crowded], side="right")
        return place

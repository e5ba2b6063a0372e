"""Positions found by a table are those of a bisection."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.util.lookup import Lookup

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "numbers",
    [
        [0.5],
        [0.0, 1.0],
        [0.0, 5e-324],
        [0.2, np.nextafter(0.2, 1), 0.3],
        [*(1 - RNG.random(300) ** 40), 0.0],
        RNG.random(1000),
    ],
    ids=["one", "ends", "subnormal", "neighbours", "concentrated", "spread"],
)
def test_positions_are_those_of_a_bisection(numbers: list[float]) -> None:
    known = np.unique(numbers)
    values = np.concatenate([known, np.nextafter(known, 2), np.nextafter(known, -1), RNG.random(500), [0.0, 1.0]])
    assert np.array_equal(Lookup(known).up_to(values), np.searchsorted(known, values, side="right"))

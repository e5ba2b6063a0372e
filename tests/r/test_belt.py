"""The GiViTI calibration belt against givitiR."""

from __future__ import annotations

from typing import Any

import numpy as np

import calibrant as cal
from tests.r.common import Compute, compare, every_call

# givitiR finds each bound by a constrained optimiser with a tolerance of 1e-5; calibrant's likelihood ratios have 9 digits.
DECIMALS = 5e-6


def bounds(**options: Any) -> Compute:
    def compute(d: Any) -> Any:
        belt = cal.figures.calibration_belt(d.y, d.risk, points=12, method="likelihood_ratio", **options)
        low, high = belt.low, belt.high
        return np.concatenate([belt.risk, low[1], high[1], low[0], high[0]])

    return compute


COMPUTED: dict[str, Compute] = {
    "belt_of(y, risk, devel = 'external')": bounds(),
    "belt_of(y, risk, devel = 'internal')": bounds(external=False),
}


@every_call("belt", COMPUTED)
def test_belt(call: str, compute: Compute) -> None:
    compare("belt", call, compute, 0, DECIMALS)

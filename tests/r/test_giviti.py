"""The GiViTI calibration test against givitiR."""

from __future__ import annotations

from typing import Any

import calibrant as cal
from tests.r.common import Compute, compare, every_call

# givitiR maximises the likelihood by glm with its default of 8 digits of the deviance.
TOLERANCE = 1e-6
# Its p-values are 1 minus a distribution function from `integrate`, with an absolute error of up to 1e-6; calibrant's have 10 digits or more
# (birthwt, internal: 2.131598e-5 by quadrature with 30 digits, 2.0748e-5 in givitiR).
DECIMALS = 1e-6


def outcome(**options: Any) -> Compute:
    def compute(d: Any) -> list[float]:
        found = cal.inference.giviti_test(d.y, d.risk, method="likelihood_ratio", **options)
        return [found.statistic, found.pvalue, found.detail["degree"]]

    return compute


COMPUTED: dict[str, Compute] = {
    "test_of(y, risk, devel = 'external')": outcome(),
    "test_of(y, risk, devel = 'internal')": outcome(external=False),
}


@every_call("giviti", COMPUTED)
def test_giviti(call: str, compute: Compute) -> None:
    compare("giviti", call, compute, TOLERANCE, DECIMALS)

"""Wald tests of a parabola, Kolmogorov-Smirnov distances, bounds of rates and kernel regression against stats and sandwich."""

from typing import Any

import numpy as np

import calibrant as cal
from calibrant.monitoring.drift import lay_on_cells, values_of
from tests.r.common import Compute, compare, every_call

# R inverts covariances of a parabola, which loses digits where the risks are close to each other (rare).
TOLERANCE = 1e-7


def distance(d: Any) -> float:
    return float(values_of(lay_on_cells(d.risk[d.y == 1], d.risk[d.y == 0], "test"), ["ks_2samp"])[0])


def bounds(d: Any) -> Any:
    names, place = np.unique(d.centre, return_inverse=True)
    rows, events = (np.bincount(place, w, len(names)).astype(int) for w in (None, d.y))
    return cal.decision.pluto_tasche(rows, events, level=0.5).bound


COMPUTED: dict[str, Compute] = {
    "wald(parabola(y, risk), NeweyWest(parabola(y, risk), lag = 3, prewhite = FALSE, adjust = FALSE))": lambda d: (
        cal.pws(d.y, d.risk, covariance="HAC", lags=3)
    ),
    "ks.test(risk[y == 1], risk[y == 0])$statistic": distance,
    "pooled(y, centre, 0.5)": bounds,
}


@every_call("regression_tests", COMPUTED)
def test_regression_tests(call: str, compute: Compute) -> None:
    compare("regression_tests", call, compute, TOLERANCE, 1e-9)

"""Wald tests of a parabola, Kolmogorov-Smirnov distances, bounds of rates and kernel regression against stats and sandwich."""

from __future__ import annotations

from typing import Any

import numpy as np

import calibrant as cal
from calibrant.monitoring.drift import lay_on_cells, values_of
from tests.r.common import Compute, compare, every_call

# R inverts covariances of a parabola, which loses digits where the risks are close to each other (rare).
TOLERANCE = 1e-7


def parabola(**options: Any) -> Compute:
    return lambda d: cal.pws(d.y, d.risk, **options)


def distance(d: Any) -> float:
    return float(values_of(lay_on_cells(d.risk[d.y == 1], d.risk[d.y == 0], "test"), ["ks_2samp"])[0])


def bounds(level: float) -> Compute:
    def compute(d: Any) -> Any:
        names, place = np.unique(d.centre, return_inverse=True)
        rows, events = (np.bincount(place, w, len(names)).astype(int) for w in (None, d.y))
        return cal.decision.pluto_tasche(rows, events, level=level).bound

    return compute


def local_mean(d: Any) -> Any:
    calibrator = cal.KernelCalibration(bandwidth=0.05).fit(d.risk, d.y)
    return calibrator.predict_proba(np.arange(1, 10) / 10)[:, 1]


COMPUTED: dict[str, Compute] = {
    "wald(parabola(y, risk), implied(parabola(y, risk), risk))": parabola(),
    "wald(parabola(y, risk), vcov(parabola(y, risk)))": parabola(covariance="ols"),
    "wald(parabola(y, risk), vcovHC(parabola(y, risk), type = 'HC0'))": parabola(covariance="HC0"),
    "wald(parabola(y, risk), NeweyWest(parabola(y, risk), lag = 3, prewhite = FALSE, adjust = FALSE))": parabola(
        covariance="HAC", lags=3
    ),
    "ks.test(risk[y == 1], risk[y == 0])$statistic": distance,
    "pooled(y, centre, 0.9)": bounds(0.9),
    "pooled(y, centre, 0.5)": bounds(0.5),
    "local_mean(y, risk, seq(0.1, 0.9, 0.1), 0.05)": local_mean,
}


@every_call("regression_tests", COMPUTED)
def test_regression_tests(call: str, compute: Compute) -> None:
    compare("regression_tests", call, compute, TOLERANCE, 1e-9)

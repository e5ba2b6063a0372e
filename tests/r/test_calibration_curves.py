"""Statistics of CalibrationCurves::val.prob.ci.2."""

from __future__ import annotations

from typing import Any

import numpy as np

import calibrant as cal
from tests.r.common import Compute, compare, every_call

# lrm stops at 8 digits of the deviance.
TOLERANCE = 1e-6


def unreliability(d: Any) -> list[float]:
    test = cal.assess(d.y, d.risk, metric="cox_slope", method="lr")
    return [test.detail["chi_square"], test.pvalue]


def briers(d: Any) -> list[float]:
    return [cal.brier(d.y, d.risk), cal.metrics.skill_score(d.y, d.risk, score="brier")]


def discrimination(d: Any) -> float:
    """The likelihood ratio of the recalibrated risks, where `val.prob` has that of the risks as given."""
    n = len(d.y)
    own = 2 * n * (cal.nll(d.y, np.full(n, d.y.mean())) - cal.nll(d.y, d.risk))
    return own + unreliability(d)[0]


def ends(metric: str) -> Compute:
    def compute(d: Any) -> list[float]:
        found = cal.interval(d.y, d.risk, metric=metric, method="wald")
        return [found.low, found.high]

    return compute


COMPUTED: dict[str, Compute] = {
    "found(y, risk)$stats[c('Intercept', 'Slope')]": lambda d: [
        cal.fixed_slope_intercept(d.y, d.risk),
        cal.cox_slope(d.y, d.risk),
    ],
    "found(y, risk)$stats[c('U:Chi-sq', 'U:p')]": unreliability,
    "found(y, risk)$stats[c('Brier', 'Brier scaled')]": briers,
    "found(y, risk)$stats[c('Eavg', 'ECI')]": lambda d: [
        cal.ici(d.y, d.risk),
        cal.eci(d.y, d.risk, smoother="loess", surface="interpolate"),
    ],
    "found(y, risk)$stats['D:Chi-sq']": discrimination,
    "found(y, risk)$Calibration$Intercept[2:3]": ends("fixed_slope_intercept"),
    "found(y, risk)$Calibration$Slope[2:3]": ends("cox_slope"),
    "found(y, risk)$Cindex[2:3]": lambda d: cal.figures.flexible_calibration_curve(d.y, d.risk, level=None).c_statistic[
        1:
    ],
}


@every_call("calibration_curves", COMPUTED)
def test_calibration_curves(call: str, compute: Compute) -> None:
    compare("calibration_curves", call, compute, TOLERANCE, 1e-9)

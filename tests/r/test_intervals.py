"""Intervals of intercept, slope and the ratio of observed to expected events against stats::glm, MASS and survey."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.r.common import Compute, compare, every_call

# Ends of profiles by uniroot and by brentq, of Wald intervals in closed form; rates are rounded to 10 digits in neither.
TOLERANCE = 1e-7
# MASS interpolates the profile by a spline through about ten points, and survey loses digits where a fitted risk is near 1.
ROUGH = 2e-3
Z = 1.959963984540054


def ends(metric: str, method: str, **options: Any) -> Compute:
    def compute(d: Any) -> list[float]:
        found = cal.interval(d.y, d.risk, metric=metric, method=method, **options)
        assert found.method == method
        return [found.low, found.high]

    return compute


def both(d: Any) -> list[float]:
    """Ends of the intercept and of the slope, as R prints the transposed matrix."""
    return [*ends("cox_intercept", "profile")(d), *ends("cox_slope", "profile")(d)]


def errors(*metrics: str) -> Compute:
    """Standard errors with rows clustered by centre."""

    def compute(d: Any) -> list[float]:
        rows = cal.Predictions(d.y, d.risk, groups=d.centre)
        found = [cal.interval(rows, metric=metric, method="sandwich", cluster=True) for metric in metrics]
        return [(each.high - each.low) / 2 / Z for each in found]

    return compute


def ratio_error(d: Any) -> float:
    """Standard error of the logarithm of the ratio."""
    found = cal.interval(
        cal.Predictions(d.y, d.risk, groups=d.centre), metric="expected_observed_ratio", method="sandwich", cluster=True
    )
    return float(np.log(found.high / found.low)) / 2 / Z


OE: dict[str, Any] = {"form": "observed_expected"}
COMPUTED: dict[str, Compute] = {
    "t(confint(line(y, risk)))": both,
    "confint(shift(y, risk))": ends("fixed_slope_intercept", "profile"),
    "slope_ends(y, risk)": ends("cox_slope", "profile"),
    "slope_ends(y, risk, 0.8)": ends("cox_slope", "profile", level=0.8),
    "intercept_ends(y, risk)": ends("cox_intercept", "profile"),
    "shift_ends(y, risk)": ends("calibration_in_the_large", "profile", form="logit"),
    "wald_shift(y, risk)": ends("fixed_slope_intercept", "wald"),
    "poisson.test(sum(y), sum(risk))$conf.int": ends("expected_observed_ratio", "exact", **OE),
    "exp(log(sum(y) / sum(risk)) + qnorm(c(0.025, 0.975)) * sqrt((1 - mean(y)) / sum(y)))": ends(
        "expected_observed_ratio", "wald", **OE
    ),
    "svy_errors(y ~ qlogis(risk), y, risk, centre)": errors("cox_intercept", "cox_slope"),
    "svy_errors(y ~ 1 + offset(qlogis(risk)), y, risk, centre)": errors("fixed_slope_intercept"),
    "SE(svyratio(~risk, ~y, clustered(y, risk, centre))) * sum(y) / sum(risk)": ratio_error,
}


@pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning")
@every_call("intervals", COMPUTED)
def test_intervals(call: str, compute: Compute) -> None:
    rough = ROUGH if "confint(" in call else 1e-6 if "svy" in call else TOLERANCE
    compare("intervals", call, compute, rough, ROUGH if "confint(" in call else 1e-9)

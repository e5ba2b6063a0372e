"""Intervals of the recalibration, of O/E and of means against MASS, survey and stats."""

from __future__ import annotations

from typing import Any

import numpy as np

import calibrant as cal
from tests.calling import call
from tests.r.common import Compute, compare, every_call, values

# Closed forms and roots; the covariance of glm is that of the step before the last.
TOLERANCE = 1e-7
# MASS interpolates the profile between a few places by a spline (up to 2e-5 here); survey takes its covariance from the last step of glm.
LOOSE = {"MASS": (1e-3, 1e-4), "survey": (1e-6, 1e-9)}


def weights(d: Any) -> Any:
    return 1 + np.arange(1, len(d.y) + 1) % 5


def ends(*metrics: str, **options: Any) -> Compute:
    """Both ends of the interval of each metric; an option may be a function of the data set."""

    def compute(d: Any) -> list[float]:
        given = {name: value(d) if callable(value) else value for name, value in options.items()}
        found = [call(cal.interval, d.y, d.risk, metric=metric, **given) for metric in metrics]
        return [end for each in found for end in (each.low, each.high)]

    return compute


LINE = ("cox_intercept", "cox_slope")
COMPUTED: dict[str, Compute] = {
    "c(t(quiet(confint(line(y, risk)))))": ends(*LINE, method="profile"),
    "c(t(quiet(confint(line(y, risk), level = 0.9))))": ends(*LINE, method="profile", level=0.9),
    "quiet(confint(shift(y, risk)))": ends("fixed_slope_intercept", method="profile"),
    "profiled(y, risk)": ends("cox_slope", method="profile"),
    "confint.default(shift(y, risk))": ends("fixed_slope_intercept", method="wald"),
    "poisson.test(sum(y), sum(risk))$conf.int": ends(
        "expected_observed_ratio", form="observed_expected", method="exact"
    ),
    "mean((risk - y)^2) + c(-1, 1) * qnorm(0.975) * sd((risk - y)^2) / sqrt(length(y))": ends("brier", method="normal"),
    "normal(robust(y, risk))": ends(*LINE, method="sandwich"),
    "normal(robust(y, risk, weights = w(y)))": ends(*LINE, method="sandwich", sample_weight=weights),
    "normal(robust(y, risk, ids = centre))": ends(*LINE, method="sandwich", groups=lambda d: d.centre, cluster=True),
}


@every_call("interval_methods", COMPUTED)
def test_interval_methods(call: str, compute: Compute) -> None:
    package = next(entry["package"] for entry in values("interval_methods") if entry["call"] == call)
    compare("interval_methods", call, compute, *LOOSE.get(package, (TOLERANCE, 1e-10)))

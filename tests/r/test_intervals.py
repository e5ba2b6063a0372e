"""Intervals of intercept, slope, means and the ratio of observed to expected events against stats, MASS and survey."""

from typing import Any

import numpy as np

import calibrant as cal
from tests.calling import call
from tests.r.common import Compute, compare, every_call, values, weights

# Closed forms, and ends of profiles by uniroot and by brentq.
USUAL = (1e-7, 1e-10)
# MASS interpolates the profile between a few places by a spline; survey takes its covariance from the last step of glm, and loses digits
# where a fitted risk is near 1.
LOOSE = {"MASS": (1e-3, 1e-4), "survey": (1e-6, 1e-9)}
LINE = ("cox_intercept", "cox_slope")
SHIFT, RATIO = "fixed_slope_intercept", "expected_observed_ratio"
Z = 1.959963984540054


def ends(*metrics: str, method: str, **options: Any) -> Compute:
    """Both ends of the interval of each metric; an option may be a function of the data set."""

    def compute(d: Any) -> list[float]:
        given = {name: value(d) if callable(value) else value for name, value in options.items()}
        found = [call(cal.interval, d.y, d.risk, metric=metric, method=method, **given) for metric in metrics]
        assert {each.method for each in found} == {method}
        return [end for each in found for end in (each.low, each.high)]

    return compute


def errors(*metrics: str) -> Compute:
    """Standard errors with rows clustered by centre; of the ratio, that of its logarithm."""

    def compute(d: Any) -> Any:
        limits = np.reshape(ends(*metrics, method="sandwich", groups=lambda d: d.centre, cluster=True)(d), (-1, 2))
        low, high = (np.log(limits) if RATIO in metrics else limits).T
        return (high - low) / 2 / Z

    return compute


INTERVALS: dict[str, Compute] = {
    "t(confint(line(y, risk)))": ends(*LINE, method="profile"),
    "confint(shift(y, risk))": ends(SHIFT, method="profile"),
    "exp(log(sum(y) / sum(risk)) + qnorm(c(0.025, 0.975)) * sqrt((1 - mean(y)) / sum(y)))": ends(
        RATIO, method="wald", form="observed_expected"
    ),
    "svy_errors(y ~ qlogis(risk), y, risk, centre)": errors(*LINE),
    "svy_errors(y ~ 1 + offset(qlogis(risk)), y, risk, centre)": errors(SHIFT),
    "SE(svyratio(~risk, ~y, clustered(y, risk, centre))) * sum(y) / sum(risk)": errors(RATIO),
}
METHODS: dict[str, Compute] = {
    "c(t(quiet(confint(line(y, risk)))))": ends(*LINE, method="profile"),
    "c(t(quiet(confint(line(y, risk), level = 0.9))))": ends(*LINE, method="profile", level=0.9),
    "quiet(confint(shift(y, risk)))": ends(SHIFT, method="profile"),
    "profiled(y, risk)": ends("cox_slope", method="profile"),
    "confint.default(shift(y, risk))": ends(SHIFT, method="wald"),
    "poisson.test(sum(y), sum(risk))$conf.int": ends(RATIO, method="exact", form="observed_expected"),
    "normal(robust(y, risk, weights = w(y)))": ends(*LINE, method="sandwich", sample_weight=weights),
}


@every_call("intervals", INTERVALS)
def test_intervals(call: str, compute: Compute) -> None:
    package = next(entry["package"] for entry in values("intervals") if entry["call"] == call)
    compare("intervals", call, compute, *{**LOOSE, "MASS": (2e-3, 2e-3)}.get(package, (1e-7, 1e-9)))


@every_call("interval_methods", METHODS)
def test_interval_methods(call: str, compute: Compute) -> None:
    package = next(entry["package"] for entry in values("interval_methods") if entry["call"] == call)
    compare("interval_methods", call, compute, *LOOSE.get(package, USUAL))

"""assess(tolerance=...): two one-sided tests by the limits of the interval, and what has no proven interval."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError, UndefinedMetricError

RNG = np.random.default_rng(0)
P = RNG.random(600)
Y = (RNG.random(600) < P).astype(int)


@pytest.mark.parametrize(
    "metric", ["cox_slope", "calibration_in_the_large", "fixed_slope_intercept", "expected_observed_ratio"]
)
def test_the_hypothesis_is_rejected_where_both_limits_lie_within_the_tolerance(metric):
    ideal = cal.catalogue[metric].ideal
    for alpha in (0.01, 0.05, 0.2):
        limits = cal.interval(Y, P, metric=metric, level=1 - 2 * alpha)
        reach = max(limits.high - ideal, ideal - limits.low)
        for tolerance, rejected in ((reach * 1.001, True), (reach * 0.999, False)):
            found = cal.assess(Y, P, metric=metric, tolerance=tolerance, alpha=alpha)
            assert (found.low, found.high, found.method) == (limits.low, limits.high, limits.method)
            assert found.rejected is rejected
            assert ("not shown" in found.verdict) is not rejected
            assert found.to_dict()["rejected"] is rejected


@pytest.mark.parametrize("metric", ["l2ce_interval", "t_cal", "atb", "dece", "esce"])
def test_a_metric_whose_limits_were_not_shown_to_hold_shows_no_tolerance(metric):
    assert not cal.catalogue[metric].info.tolerance
    with pytest.raises((UndefinedMetricError, ArgumentError), match=metric):
        cal.assess(Y, P, metric=metric, tolerance=0.02)


def test_an_error_has_one_limit_and_ece_is_the_default():
    found = cal.assess(Y, P, tolerance=0.2)
    assert (found.metric, found.method, found.rejected) == ("ece", "inversion", True)
    assert found.null_hypothesis == "ece is at least 0.2000"
    assert not cal.assess(Y, P**4, tolerance=0.05).rejected
    assert cal.assess(Y, P).metric == "ecce_mad"


def test_the_result_states_its_resamples():
    y, p = np.array([0, 1] * 50), np.array([0.4, 0.6] * 50)
    found = cal.assess(y, p, metric="ece", tolerance=0.2)
    assert found.n_resamples == 1999
    assert "method: interval, inversion, 1,999 resamples" in repr(found)
    closed = cal.assess(y, p, metric="calibration_in_the_large", tolerance=0.2)
    assert closed.n_resamples == 0
    assert "resamples" not in repr(closed)

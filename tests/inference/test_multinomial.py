"""Multinomial recalibration: gains in likelihood, two classes as logistic recalibration, invariances, degenerate data."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

import calibrant as cal
from calibrant.errors import BoundaryScoresWarning

DATA = cal.inference.make_miscalibrated(
    800, warp=cal.inference.simulation.temperature(1.6), distribution=(2, 1, 1.5, 1), rng=4
)
Y, P = np.asarray(DATA.y_true), np.asarray(DATA.y_prob)
FOUND = cal.inference.multinomial_recalibration(Y, P, reference=1)


def test_tests_are_twice_the_gains_in_log_likelihood() -> None:
    before, tests = cal.nll(Y, P) * -len(Y), FOUND.tests
    assert tests["calibration"].statistic == pytest.approx(2 * (FOUND.full.log_likelihood - before))
    assert tests["intercepts"].statistic == pytest.approx(2 * (FOUND.in_the_large.log_likelihood - before))
    assert tests["slopes"].statistic == pytest.approx(
        2 * (FOUND.own.log_likelihood - FOUND.in_the_large.log_likelihood)
    )
    assert [test.df for test in tests.values()] == [12, 3, 3, 9]
    for test in tests.values():
        assert test.pvalue == pytest.approx(chi2.sf(test.statistic, test.df))
    assert [getattr(FOUND, model).parameters for model in ("in_the_large", "own", "full")] == [3, 6, 12]


def test_two_classes_are_logistic_recalibration() -> None:
    two = cal.inference.make_miscalibrated(500, warp=cal.inference.simulation.temperature(1.5), rng=0)
    found = cal.inference.multinomial_recalibration(two.y_true, two.y_prob)
    assert found.own.slopes[0, 0] == pytest.approx(cal.cox_slope(two.y_true, two.y_prob))
    assert found.own.intercepts[0] == pytest.approx(cal.cox_intercept(two.y_true, two.y_prob))
    assert found.in_the_large.intercepts[0] == pytest.approx(cal.fixed_slope_intercept(two.y_true, two.y_prob))
    ends = cal.interval(two.y_true, two.y_prob, metric="cox_slope", method="wald")
    assert found.own.slope_errors[0, 0] == pytest.approx((ends.high - ends.low) / 2 / 1.959963985)
    joint = cal.assess(two.y_true, two.y_prob, metric="cox_slope", method="lr")
    assert found.tests["calibration"].pvalue == pytest.approx(joint.pvalue)
    other = cal.inference.multinomial_recalibration(two.y_true, two.y_prob, reference=1)
    assert other.own.slopes[0, 0] == pytest.approx(found.own.slopes[0, 0])
    assert other.own.intercepts[0] == pytest.approx(-found.own.intercepts[0])


def test_the_reference_changes_neither_calibration_in_the_large_nor_the_full_model() -> None:
    other = cal.inference.multinomial_recalibration(Y, P, reference=3)
    assert other.full.log_likelihood == pytest.approx(FOUND.full.log_likelihood)
    assert other.in_the_large.log_likelihood == pytest.approx(FOUND.in_the_large.log_likelihood)
    assert other.tests["calibration"].statistic == pytest.approx(FOUND.tests["calibration"].statistic)
    shift = dict(zip(FOUND.classes, FOUND.in_the_large.intercepts, strict=True))
    moved = dict(zip(other.classes, other.in_the_large.intercepts, strict=True))
    assert moved[0] == pytest.approx(shift[0] - shift[3])
    assert moved[1] == pytest.approx(-shift[3])


def test_names_counts_and_weights() -> None:
    names = np.array(["benign", "borderline", "invasive", "metastatic"])
    named = cal.inference.multinomial_recalibration(
        cal.Predictions(names[Y], P, classes=list(names)), reference="borderline"
    )
    assert named.reference == "borderline"
    assert named.classes == ("benign", "invasive", "metastatic")
    np.testing.assert_array_equal(named.full.slopes, FOUND.full.slopes)
    counts = 1 + np.arange(len(Y)) % 3
    repeated = np.repeat(np.arange(len(Y)), counts)
    one = cal.inference.multinomial_recalibration(cal.Predictions(Y, P, counts=counts))
    two = cal.inference.multinomial_recalibration(Y[repeated], P[repeated])
    np.testing.assert_allclose(one.own.slopes, two.own.slopes, rtol=1e-8)
    np.testing.assert_allclose(one.full.slope_errors, two.full.slope_errors, rtol=1e-8)
    assert one.n == two.n
    weighted = cal.inference.multinomial_recalibration(Y, P, sample_weight=counts.astype(float))
    np.testing.assert_allclose(weighted.own.slopes, two.own.slopes, rtol=1e-8)
    assert (weighted.own.slope_errors.diagonal() > two.own.slope_errors.diagonal()).all()
    assert weighted.tests == {}
    assert "left out" in repr(weighted)
    scaled = cal.inference.multinomial_recalibration(Y, P, sample_weight=7.0 * counts)
    np.testing.assert_allclose(scaled.own.slope_errors, weighted.own.slope_errors, rtol=1e-8)


def test_separated_classes_and_collinear_ratios_are_named_and_the_rest_is_kept() -> None:
    labels = np.arange(60) % 3
    probs = np.full((60, 3), 0.2)
    probs[np.arange(60), labels] = 0.6
    found = cal.inference.multinomial_recalibration(labels, probs)
    assert "separate" in found.own.reason
    assert np.isnan(found.own.intercepts).all()
    assert np.isfinite(found.in_the_large.intercepts).all()
    assert "note: own model: the likelihood has no maximum" in repr(found)
    assert math.isnan(found.tests["slopes"].pvalue)
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    odds = np.exp(np.column_stack([0 * x, x, 2 * x]))  # the second log-ratio is twice the first
    probs = odds / odds.sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(3, p=row) for row in probs])
    line = cal.inference.multinomial_recalibration(labels, probs)
    assert "collinear" in line.full.reason
    assert np.isfinite(line.own.slopes).all()


def test_bool_labels() -> None:
    two = cal.inference.make_miscalibrated(200, warp=cal.inference.simulation.temperature(1.5), rng=0)
    y, p = np.asarray(two.y_true), np.asarray(two.y_prob)
    as_bool, as_int = (cal.inference.multinomial_recalibration(labels, p) for labels in (y.astype(bool), y.astype(int)))
    assert as_bool.own.slopes[0, 0] == as_int.own.slopes[0, 0] == pytest.approx(cal.cox_slope(y, p))


def test_constant_probabilities_are_collinear_not_separated() -> None:
    found = cal.inference.multinomial_recalibration(Y, np.tile(P.mean(axis=0), (len(Y), 1)))
    assert "collinear" in found.own.reason
    assert "collinear" in found.full.reason
    assert not found.in_the_large.reason


def test_weighted_errors_are_those_of_interval() -> None:
    two = cal.inference.make_miscalibrated(150, warp=cal.inference.simulation.temperature(1.5), rng=1)
    weight = np.random.default_rng(0).exponential(1, 150)
    y, p = np.asarray(two.y_true), np.asarray(two.y_prob)
    found = cal.inference.multinomial_recalibration(y, p, sample_weight=weight).own
    ends = cal.interval(y, p, metric="cox_slope", method="sandwich", sample_weight=weight)
    assert 2 * 1.959963984540054 * found.slope_errors[0, 0] == pytest.approx(ends.high - ends.low)


def test_only_certain_predictions() -> None:
    with pytest.raises(cal.errors.UndefinedMetricError):
        cal.inference.multinomial_recalibration([0, 1, 2, 0], np.eye(3)[[0, 1, 2, 1]])


def test_the_first_class_is_the_reference_by_default() -> None:
    names = np.array(["benign", "borderline", "invasive", "metastatic"])
    found = cal.inference.multinomial_recalibration(cal.Predictions(names[Y], P, classes=list(names)))
    assert found.reference == "benign"
    assert (
        found.own.intercepts.tolist()
        == cal.inference.multinomial_recalibration(Y, P, reference=0).own.intercepts.tolist()
    )
    assert found.notes == ()


def test_probabilities_of_0_are_noted() -> None:
    rounded = np.round(P, 1)
    rounded = rounded / rounded.sum(axis=1, keepdims=True)
    rows = int((rounded == 0).any(axis=1).sum())
    with pytest.warns(BoundaryScoresWarning):
        found = cal.inference.multinomial_recalibration(Y, rounded)
    assert found.notes[-1].startswith(f"{rows} of {len(Y)} rows have a probability of 0 or 1")
    assert found.notes[-1] in str(found)
    assert np.isfinite(found.own.slopes).all()

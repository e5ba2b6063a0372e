"""Asymptotic null distributions are used only where they are accurate, also with confident scores and weights."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import calibrant as cal
from calibrant.errors import ArgumentError, UndefinedMetricError
from calibrant.inference.asymptotic import steps_of
from calibrant.inference.belt import giviti_test
from calibrant.inference.grades import hosmer_lemeshow_multinomial
from calibrant.inference.metric_tests import DEFAULT_TESTS, effective_terms, few_events
from calibrant.metrics.cumulative import distributions
from calibrant.views.view import View
from tests.calling import call, raises

# Scores next to 0 and 1 are what is tried here.
pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")

ASYMPTOTIC = sorted(DEFAULT_TESTS)


def drawn(p: Any, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng([seed, 1])  # not that of the scores
    if np.ndim(p) == 1:
        return (rng.random(len(p)) < p).astype(int), p
    return (np.cumsum(p[:, :-1], axis=1) <= rng.random(len(p))[:, None]).sum(axis=1), p


@pytest.mark.parametrize("metric", ASYMPTOTIC)
def test_rare_events_are_simulated(metric: str) -> None:
    data = drawn(np.random.default_rng(3).beta(0.5, 99.5, 1000), 5)
    found = cal.assess(*data, metric=metric, n_resamples=19, rng=0)
    assert found.method == "consistency"
    assert "is not used: the sum of p(1 - p) is" in found.null_distribution
    assert found.pvalue == cal.assess(*data, metric=metric, method="consistency", n_resamples=19, rng=0).pvalue
    rough = cal.assess(*data, metric=metric, method=DEFAULT_TESTS[metric], n_resamples=19, rng=0)
    assert "approximate: the sum of p(1 - p) is" in rough.null_distribution


@pytest.mark.parametrize("metric", ASYMPTOTIC)
def test_rare_events_are_simulated_for_several_classes(metric: str) -> None:
    data = drawn(np.random.default_rng(3).dirichlet([99.5, 0.25, 0.25], 600), 6)
    lens = {} if cal.catalogue[metric].lens == "canonical" else {"lens": "class:1"}
    try:
        found = call(cal.assess, *data, metric=metric, n_resamples=19, rng=0, **lens)
    except UndefinedMetricError:  # one outcome alone has no line
        assert metric.startswith("cox")
        return
    assert found.method == "consistency"
    assert "p(1 - p) is" in found.null_distribution


@pytest.mark.parametrize("metric", ASYMPTOTIC)
def test_many_rows_are_not_simulated(metric: str) -> None:
    data = drawn(np.random.default_rng(4).random(3000), 7)
    found = cal.assess(*data, metric=metric, n_resamples=19, rng=0)
    assert found.method == DEFAULT_TESTS[metric]
    assert "approximate" not in found.null_distribution


def test_tied_scores_need_more_steps() -> None:
    """200 distinct scores have about 180 effective steps: enough for a path without ties, whose simulation takes longer."""
    tied = np.repeat(np.linspace(0.01, 0.99, 200), 10)
    found = cal.assess(*drawn(tied, 3), metric="ecce_r", rng=0)
    assert found.method == "consistency"
    assert "'series' is not used: the effective number of steps of the path over 200 distinct scores is 1" in (
        found.null_distribution
    )
    assert found.null_distribution.endswith(", below 400")
    counted = cal.assess(
        cal.Predictions([0, 1] * 200, np.repeat(tied[::10], 2), counts=np.full(400, 5)), metric="ecce_r", rng=0
    )
    assert counted.method == "consistency"
    assert cal.assess(*drawn(np.linspace(0.01, 0.99, 200), 3), metric="ecce_r").method == "series"


def test_the_mean_of_the_bridge_test_needs_no_path() -> None:
    data = drawn(np.random.default_rng(1).choice([0.2, 0.3, 0.6], 1000), 2)
    assert cal.assess(*data, metric="bbt", form="mean").method == "series"


def test_steps_of_a_path() -> None:
    score = np.repeat([0.3, 0.7], 50)
    assert_allclose(steps_of(View(score, np.zeros(100, np.uint8))), 2)
    spread = np.linspace(0.3, 0.7, 400)
    steps = steps_of(View(spread, np.zeros(400, np.uint8)))
    assert 390 < steps <= 400
    counted = View(spread, np.zeros(400, np.uint8), np.full(400, 3), "counts")
    assert_allclose(steps_of(counted), steps)
    weighed = View(spread, np.zeros(400, np.uint8), np.full(400, 0.3), "importance")
    assert_allclose(steps_of(weighed), steps)


def test_effective_variance_under_weights() -> None:
    score, outcome = np.full(200, 0.5), np.zeros(200, np.uint8)
    assert few_events(View(score, outcome)) == ""
    assert few_events(View(score, outcome, np.full(200, 7.0), "importance")) == ""
    heavy = np.where(np.arange(200) < 10, 1000.0, 1.0)
    assert "is 2.5, below 30" in few_events(View(score, outcome, heavy, "importance"))
    assert "is 25, below 30" in few_events(View(score[:100], outcome[:100]))
    assert few_events(View(score[:100], outcome[:100], np.full(100, 2), "counts")) == ""


def test_effective_terms() -> None:
    assert_allclose(effective_terms(np.full(7, 0.3), np.full(7, 0.09)), 7)
    assert_allclose(effective_terms(np.array([0.3]), np.array([0.09]), np.array([7.0])), 7)
    assert effective_terms(np.zeros(3), np.zeros(3)) == math.inf


def test_weights_simulate_too() -> None:
    """A few heavy rows of many decide."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 2000)
    weight = np.where(np.arange(2000) < 20, 500.0, 1.0)
    for metric in ("calibration_in_the_large", "ecce_mad", "bbt", "pws", "spiegelhalter_z", "ecd", "hosmer_lemeshow"):
        found = cal.assess(*drawn(p, 1), metric=metric, sample_weight=weight, n_resamples=19, rng=0)
        assert found.method == "consistency", metric
        assert cal.assess(*drawn(p, 1), metric=metric, sample_weight=np.full(2000, 3.0)).method != "consistency"


def test_a_rare_label_that_decides_is_simulated() -> None:
    """Of many rows, the surprise of a few sure ones is nearly all the variance of the logarithmic score."""
    p = np.concatenate([np.full(400, 0.5), np.full(40, 1e-4)])
    assert cal.assess(*drawn(p, 0), metric="ecd", n_resamples=19, rng=0).method == "consistency"
    assert cal.assess(*drawn(p, 0), metric="calibration_in_the_large").method == "normal"


# Sure scores.


def test_sure_and_right_rows_add_nothing_to_hosmer_and_lemeshow() -> None:
    assert_allclose(cal.hosmer_lemeshow([0, 0, 0, 1], [5e-13, 1e-12, 0.3, 0.6], bins=2), 0.01 / 0.495, atol=1e-11)
    exact = cal.hosmer_lemeshow([0, 0, 0, 1], [5e-13, 1e-12, 0.3, 0.6], bins=2, variance="exact")
    assert_allclose(exact, 0.01 / 0.45, atol=1e-11)
    tiny = cal.hosmer_lemeshow([0, 0, 1, 1], [1e-300, 1e-290, 1 - 1e-16, 1.0], bins=2)
    assert 0 <= tiny < 1e-12
    assert cal.hosmer_lemeshow([0, 1, 0, 1], [0.0, 1.0, 0.0, 1.0], bins=2) == 0
    assert cal.hosmer_lemeshow([0, 1, 1, 1], [0.0, 1.0, 0.0, 1.0], bins=2) == math.inf


@pytest.mark.parametrize("variance", ["binomial", "exact"])
def test_rounding_makes_no_variance(variance: str) -> None:
    rng = np.random.default_rng(0)
    p = np.repeat([0.0, 1.0], 5000)
    weight = rng.random(10_000) * 1e6
    assert cal.hosmer_lemeshow(p.astype(int), p, sample_weight=weight, variance=variance) == 0
    near = np.where(p > 0, 1 - 1e-14, 1e-14)
    assert cal.hosmer_lemeshow(p.astype(int), near, sample_weight=weight, variance=variance) < 1e-9


def test_hosmer_and_lemeshow_of_wide_logits() -> None:
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 20, (2000, 5)).astype(np.float32)
    raw = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = raw / raw.sum(axis=1, keepdims=True)
    y, _ = drawn(p.astype(np.float64), 2)
    for lens in ("classwise", *(f"class:{c}" for c in range(5))):
        assert cal.hosmer_lemeshow(cal.Predictions(y, p, classes=range(5)), lens=lens) < 100


def test_bins_that_cannot_vary_are_no_degrees_of_freedom() -> None:
    rng = np.random.default_rng(2)
    p = np.concatenate([np.zeros(100), rng.uniform(0.2, 0.8, 300)])
    y, _ = drawn(p, 3)
    found = cal.assess(y, p, metric="hosmer_lemeshow", bins=4, method="chi_square")
    alone = cal.assess(y[100:], p[100:], metric="hosmer_lemeshow", bins=3, method="chi_square")
    assert found.detail["df"] == alone.detail["df"] == 3
    assert_allclose(found.pvalue, alone.pvalue)
    sure = cal.assess([0, 1] * 20, [0.0, 1.0] * 20, metric="hosmer_lemeshow", n_resamples=19, rng=0)
    assert sure.pvalue == 1
    with raises(UndefinedMetricError, "hosmer_lemeshow"):
        cal.assess([0, 1] * 20, [0.0, 1.0] * 20, metric="hosmer_lemeshow", method="chi_square")


# Corners.


@pytest.mark.parametrize(
    "survival", [distributions.maximum_survival, distributions.range_survival, distributions.bridge_survival]
)
def test_survival_of_next_to_nothing(survival: Any) -> None:
    assert [survival(x) for x in (0.0, 5e-324, 1e-300, 1e-160, 0.05, 0.051)] == [1.0] * 6


@pytest.mark.parametrize("metric", ASYMPTOTIC)
@pytest.mark.parametrize("tiny", [1e-300, 5e-324, 1e-17])
def test_next_to_impossible_scores_break_nothing(metric: str, tiny: float) -> None:
    y, p = [0, 1, 0, 1, 1] * 10 + [0], [0.2, 0.7, 0.4, 0.9, 0.3] * 10 + [tiny]
    cal.catalogue[metric](y, p)
    assert 0 <= cal.assess(y, p, metric=metric, n_resamples=19, rng=0).pvalue <= 1
    try:
        found = cal.assess([0] * 40, [tiny] * 40, metric=metric, n_resamples=19, rng=0)
    except UndefinedMetricError:
        return
    assert found.pvalue > 0.05


# Few rows with weights.


@pytest.mark.parametrize("metric", ["ece", "ecce_mad", "spiegelhalter_z", "brier"])
def test_few_rows_with_weights_are_enumerated(metric: str) -> None:
    rng = np.random.default_rng(5)
    p = rng.random(7)
    y = (rng.random(7) < p).astype(int)
    weight = rng.random(7) + 0.2
    found = cal.assess(y, p, metric=metric, sample_weight=weight)
    assert found.method == "enumeration"
    assert "all 128 outcomes of 7 rows" in found.null_distribution
    drawn_ = cal.assess(y, p, metric=metric, sample_weight=weight, method="consistency", rng=0, n_resamples=999)
    assert abs(found.pvalue - drawn_.pvalue) < 0.035
    same = cal.assess(y, p, metric=metric, sample_weight=np.full(7, 3.0))
    assert_allclose(same.pvalue, cal.assess(y, p, metric=metric).pvalue)


@pytest.mark.parametrize("metric", ["ece", "ecce_mad", "spiegelhalter_z", "brier", "hosmer_lemeshow"])
def test_counts_are_enumerated_as_the_rows_that_they_are(metric: str) -> None:
    y, p, counts = np.array([0, 1, 1, 0]), np.array([0.2, 0.6, 0.7, 0.4]), np.array([3, 2, 1, 2])
    one = cal.assess(cal.Predictions(y, p, counts=counts), metric=metric)
    other = cal.assess(np.repeat(y, counts), np.repeat(p, counts), metric=metric)
    assert (one.method, one.n, one.null_distribution) == ("enumeration", 8, other.null_distribution)
    assert_allclose(one.pvalue, other.pvalue)
    assert (
        cal.assess(cal.Predictions(y, p, counts=100 * counts), metric="ece", n_resamples=19, rng=0).method
        == "consistency"
    )


# Functions beside assess.


def test_the_belt_simulates_where_events_are_few() -> None:
    data = drawn(np.random.default_rng(3).beta(0.5, 99.5, 600), 5)
    found = giviti_test(*data, n_resamples=19, rng=0)
    assert found.method == "consistency"
    assert "is not used: the sum of p(1 - p) is" in found.null_distribution
    assert found == giviti_test(*data, n_resamples=19, rng=0)
    rough = giviti_test(*data, method="likelihood_ratio")
    assert "approximate: the sum of p(1 - p) is" in rough.null_distribution
    assert rough.statistic == found.statistic
    plain = giviti_test(*drawn(np.random.default_rng(3).random(600), 5))
    assert plain.method == "likelihood_ratio"
    with pytest.raises(ArgumentError, match="'auto', 'likelihood_ratio' or 'consistency'; got 'magic'"):
        giviti_test(*data, method="magic")  # type: ignore[arg-type]


def test_the_multinomial_test_simulates_where_labels_are_few() -> None:
    data = drawn(np.random.default_rng(3).dirichlet([99.5, 0.25, 0.25], 600), 6)
    found = hosmer_lemeshow_multinomial(cal.Predictions(*data, classes=range(3)), n_resamples=99, rng=0)
    assert found.method == "consistency"
    assert (
        hosmer_lemeshow_multinomial(cal.Predictions(*data, classes=range(3)), method="chi_square").method
        == "chi_square"
    )
    fitted = hosmer_lemeshow_multinomial(cal.Predictions(*data, classes=range(3)), fitted_here=True)
    assert fitted.method == "chi_square"
    assert "approximate" in fitted.null_distribution
    with raises(ArgumentError, "method"):
        hosmer_lemeshow_multinomial(cal.Predictions(*data, classes=range(3)), fitted_here=True, method="consistency")
    sure = np.array([[1.0, 0, 0], [0, 1.0, 0]] * 20)
    assert hosmer_lemeshow_multinomial(cal.Predictions([0, 1] * 20, sure, classes=range(3)), bins=2, rng=0).pvalue == 1
    assert (
        hosmer_lemeshow_multinomial(cal.Predictions([0, 1] * 19 + [0, 2], sure, classes=range(3)), bins=2).pvalue == 0
    )


# What resamples cannot show.


def test_adaptive_t_cal_can_reject_or_says_why_not() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(300)
    y = (rng.random(300) < p**3).astype(int)
    joint = cal.assess(y, p, metric="t_cal", method="adaptive_joint", n_resamples=99, rng=0)
    assert joint.pvalue == 0.01
    assert joint.rejected
    with raises(ArgumentError, "n_resamples"):
        cal.assess(y, p, metric="t_cal", method="adaptive", n_resamples=99)
    assert cal.assess(y, p, metric="t_cal", method="adaptive", n_resamples=259, rng=0).rejected
    with pytest.raises(ArgumentError, match="use at least 19"):
        cal.assess(y, p, metric="t_cal", method="adaptive_joint", n_resamples=18)


def test_verdicts_do_not_contradict_themselves() -> None:
    y, p = drawn(np.random.default_rng(2).random(60), 2)
    few = cal.assess(y, p, metric="ece", n_resamples=9, rng=0)
    assert "with 9 resamples no p-value falls below 0.1; use at least 19" in few.verdict
    assert ": not significant" not in few.verdict
    assert ": not significant at 5%" in cal.assess(y, p, metric="ece", n_resamples=19, rng=0).verdict
    ratio = cal.assess([0] * 30, [1e-12] * 30, metric="expected_observed_ratio", n_resamples=19, rng=0)
    assert (ratio.statistic, ratio.pvalue) == (math.inf, 1)
    assert "simulated labels always give this value" in ratio.verdict
    wrong = cal.assess([0, 1] * 20 + [1], [0.0, 1.0] * 20 + [0.0], metric="hosmer_lemeshow")
    assert (wrong.statistic, wrong.pvalue, wrong.rejected) == (math.inf, 0, True)
    assert "an outcome of probability 0 occurred" in wrong.null_distribution


def test_undefined_draws_leave_a_conditional_test() -> None:
    """With one event expected a third of the simulated labels have no line; the others are as the observed ones, given that they have one."""
    y, p = np.zeros(100, int), np.linspace(0.001, 0.02, 100)
    y[[20, 90]] = 1
    found = cal.assess(y, p, metric="cox_slope", n_resamples=99, rng=0)
    assert found.method == "consistency"
    assert found.null is not None
    share = float(np.isnan(found.null).mean())
    assert 0.3 < share < 0.6
    assert found.n_resamples == 99 == int((~np.isnan(found.null)).sum())  # others took the place of undefined ones
    assert f"without the {share:.0%} for which the metric is undefined" in found.null_distribution
    assert "'profile' is not used: the sum of p(1 - p) is" in found.null_distribution
    alone = np.abs(found.null[~np.isnan(found.null)] - 1)
    assert_allclose(found.pvalue, (1 + (alone >= abs(found.statistic - 1)).sum()) / (1 + len(alone)))
    with raises(UndefinedMetricError, "cox_slope"):
        cal.assess(y, p / 1e6, metric="cox_slope", n_resamples=9, rng=0)

"""P-values of up to 12 rows against enumeration by hand, tails that are counted apart, and outcomes without a value."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calibrant as cal
from calibrant.inference import metric_tests
from calibrant.inference.pvalues import compared_with_draws, compared_with_every_outcome, pvalues_of_draws
from calibrant.inference.significance import _min_p
from tests.calling import call

Floats = Any


def chances(p: Floats) -> tuple[list[tuple[int, ...]], Floats]:
    outcomes = list(product((0, 1), repeat=len(p)))
    return outcomes, np.array([np.prod(np.where(np.array(y) == 1, p, 1 - p)) for y in outcomes])


def brier_by_hand(y: Any, p: Floats) -> float:
    return float(np.mean((p - np.array(y)) ** 2))


def spherical_by_hand(y: Any, p: Floats) -> float:
    given = np.where(np.array(y) == 1, p, 1 - p)
    return float(np.mean(given / np.sqrt(p**2 + (1 - p) ** 2)))


def nll_by_hand(y: Any, p: Floats) -> float:
    return float(-np.log(np.where(np.array(y) == 1, p, 1 - p)).mean())


SCORES = [("brier", brier_by_hand), ("spherical", spherical_by_hand), ("nll", nll_by_hand)]


@pytest.mark.parametrize(("metric", "by_hand"), SCORES)
@pytest.mark.parametrize("seed", range(3))
def test_each_tail_of_a_proper_score_is_counted(metric: str, by_hand: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 3, 6)
    y = (rng.random(6) < p**0.5).astype(int)
    outcomes, chance = chances(p)
    values, own = np.array([by_hand(outcome, p) for outcome in outcomes]), by_hand(y, p)
    tails = chance[values >= own - 1e-12].sum(), chance[values <= own + 1e-12].sum()
    found = cal.assess(y, p, metric=metric)
    assert found.method == "enumeration"
    assert found.pvalue == pytest.approx(min(1, 2 * min(tails)), abs=1e-12)
    assert cal.assess(y, p, metric=metric, alternative="greater").pvalue == pytest.approx(
        chance[np.array([getattr(cal, metric)(o, p) for o in outcomes]) >= getattr(cal, metric)(y, p) - 1e-12].sum(),
        abs=1e-12,
    )


def assert_level_holds(metric: str, p: Floats) -> None:
    outcomes, chance = chances(p)
    pvalues = np.array([cal.assess(y, p, metric=metric, method="enumeration").pvalue for y in outcomes])
    for alpha in np.unique(pvalues):
        assert chance[pvalues <= alpha + 1e-12].sum() <= alpha + 1e-9


@pytest.mark.parametrize("metric", ["brier", "nll", "ecce_mad", "esce"])
def test_enumeration_holds_every_level_exactly(metric: str) -> None:
    assert_level_holds(metric, np.array([0.1, 0.35, 0.6, 0.8, 0.9]))


def test_outcomes_without_a_value_are_told() -> None:
    y, p = [0, 0, 1, 0, 1, 1], [0.2, 0.4, 0.3, 0.6, 0.7, 0.8]
    found = cal.assess(y, p, metric="cox_slope")
    assert found.method == "enumeration"
    assert "except 12 for which the metric is undefined (probability 0.35)" in found.null_distribution


class BothKinds:
    """A mean that has no value where all outcomes are alike."""

    id, proper, ideal = "both_kinds", None, 0

    def value_of(self, views: Any, arguments: Any) -> float:
        (view,) = views
        if len(set(view.outcome.tolist())) < 2:
            raise cal.errors.UndefinedMetricError(self.id, "all outcomes are alike")
        return float(np.mean(view.outcome))


def test_a_few_outcomes_without_a_value_are_left_out() -> None:
    p = np.array([0.5, 0.6, 0.7, 0.5, 0.6, 0.7])
    outcomes, chance = chances(p)
    hits = np.array([sum(outcome) for outcome in outcomes])
    mixed = (hits > 0) & (hits < 6)
    metric: Any = BothKinds()
    asked = metric_tests.TestInput(metric, {}, [], 4 / 6, 0.05, "greater", 5, 0)
    found, null = compared_with_every_outcome(asked, cal.views.View(p, np.array([0, 1, 1, 1, 0, 1], np.uint8)))
    assert len(null) == 62
    assert found.pvalue == pytest.approx(chance[mixed & (hits >= 4)].sum() / chance[mixed].sum())
    assert (
        f"except 2 for which the metric is undefined (probability {chance[~mixed].sum():.2g})"
        in found.null_distribution
    )


def test_infinite_values_tie_with_each_other() -> None:
    """No event at all is likely where few are expected, so the infinite ratio is not significant."""
    y, p = [0] * 5, [0.05] * 5
    exact = cal.assess(y, p, metric="expected_observed_ratio", method="enumeration").pvalue
    assert exact > 0.95**5 - 1e-12
    drawn = cal.assess(y, p, metric="expected_observed_ratio", method="consistency", rng=0)
    assert drawn.pvalue == pytest.approx(exact, abs=0.06)
    assert drawn.critical_value == np.inf


def test_every_draw_has_the_p_value_of_its_rank() -> None:
    metric = cal.catalogue["brier"]
    null = np.array([0.3, 0.1, 0.2, np.nan, 0.2])
    asked = metric_tests.TestInput(metric, {}, [], 0.2, 0.05, "two-sided", 5, 0)
    assert pvalues_of_draws(asked, null).tolist() == [2 / 5, 2 / 5, 1.0, 1.0, 1.0]  # the sample ties with two of them
    asked = metric_tests.TestInput(metric, {}, [], 0.2, 0.05, "greater", 5, 0)
    assert pvalues_of_draws(asked, null).tolist() == [1 / 5, 1.0, 4 / 5, 1.0, 4 / 5]


def beyond(found: cal.inference.SignificanceResult) -> bool:
    """Whether the value lies outside what the thresholds allow."""
    if found.critical_value is None:
        raise AssertionError("no threshold")
    if found.alternative == "less":
        return found.statistic < found.critical_value
    low = found.lower_critical_value is not None and found.statistic < found.lower_critical_value
    return low or found.statistic > found.critical_value


SIGNED = ["brier", "nll", "esce", "expected_observed_ratio", "calibration_in_the_large"]


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@pytest.mark.parametrize("metric", SIGNED)
def test_values_outside_the_thresholds_are_those_that_are_rejected(metric: str, alternative: Any, deep: bool) -> None:
    rejected = []
    for temperature in (0.5, 1.0, 2.0) if deep else (0.5, 2.0):
        for shift in (0.6, 0.85, 1.0, 1.5):
            drawn = cal.inference.make_miscalibrated(150, warp=cal.inference.simulation.temperature(temperature), rng=3)
            score = np.clip(drawn.y_prob**shift, 0.001, 0.999)
            words: dict[str, Any] = {"metric": metric, "alternative": alternative, "rng": 0, "n_resamples": 399}
            found = call(cal.assess, drawn.y_true, score, method="consistency", **words)
            assert (found.lower_critical_value is None) == (alternative != "two-sided")
            assert beyond(found) == found.rejected
            rejected.append(found.rejected)
    assert 0 < sum(rejected) < len(rejected)


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@pytest.mark.parametrize("weigh", [None, "counts", "sample_weight"])
@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("calibration_in_the_large", {}),
        ("calibration_in_the_large", {"form": "logit"}),
        ("expected_observed_ratio", {}),
        ("spiegelhalter_z", {}),
        ("ecd", {}),
    ],
)
def test_thresholds_of_normal_laws_have_a_p_value_of_alpha(
    metric: str, words: dict[str, Any], weigh: str | None, alternative: Any
) -> None:
    """Whatever is observed, it is rejected where it lies outside; the thresholds themselves hang on the scores alone."""
    rng = np.random.default_rng(0)
    p = rng.beta(2, 3, 200)
    weight = {} if weigh is None else {weigh: rng.integers(1, 4, 200)}
    rejected, limits = [], set()
    for power in (0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 2.0):
        y = (rng.random(200) < p**power).astype(int)
        found = call(cal.assess, y, p, metric=metric, method="normal", alternative=alternative, **words, **weight)
        assert beyond(found) == found.rejected
        rejected.append(found.rejected)
        limits.add((found.lower_critical_value, found.critical_value))
    assert len(limits) == 1
    assert (next(iter(limits))[0] is None) == (alternative != "two-sided")
    if metric not in ("ecd", "spiegelhalter_z"):
        assert 0 < sum(rejected) < len(rejected)


def test_the_threshold_of_a_mean_is_two_deviations_of_it() -> None:
    p = np.linspace(0.05, 0.95, 400)
    y = (np.arange(400) % 2 == 0).astype(int)
    found = cal.assess(y, p, metric="calibration_in_the_large")
    two = stats.norm.isf(0.025) * np.sqrt((p * (1 - p)).sum()) / 400
    assert (found.lower_critical_value, found.critical_value) == pytest.approx((-two, two))
    drawn = cal.assess(y, p, metric="calibration_in_the_large", method="consistency", n_resamples=3999, rng=0)
    assert drawn.critical_value == pytest.approx(two, rel=0.05)
    ratio = cal.assess(y, p, metric="expected_observed_ratio")
    total = p.sum()
    assert ratio.critical_value == pytest.approx(total / (total - 400 * two))
    assert ratio.lower_critical_value == pytest.approx(total / (total + 400 * two))


@pytest.mark.parametrize(
    ("metric", "low", "high"),
    [("cox_slope", 1 - 0.4755, 1 + 0.4755), ("esce", -1.4755, 1.4755), ("expected_observed_ratio", 1 / 1.4755, 1.4755)],
)
def test_thresholds_of_two_sides_are_as_far_from_the_ideal(metric: str, low: float, high: float) -> None:
    asked = metric_tests.TestInput(cal.catalogue[metric], {}, [], 1.0, 0.05, "two-sided", 1001, 0)
    found = compared_with_draws(asked, np.linspace(1, 1.5, 1001))
    assert (found.lower_critical_value, found.critical_value) == pytest.approx((low, high))


def test_an_error_has_no_values_below_its_ideal() -> None:
    drawn = cal.inference.make_calibrated(300, rng=2)
    words: dict[str, Any] = {"metric": "ece", "rng": 0, "n_resamples": 99}
    both = call(cal.assess, drawn.y_true, drawn.y_prob, alternative="two-sided", **words)
    one = call(cal.assess, drawn.y_true, drawn.y_prob, **words)
    assert both.lower_critical_value is None
    assert (both.critical_value, both.pvalue) == (one.critical_value, one.pvalue)


def test_a_threshold_that_no_value_reaches_is_infinite_on_both_sides() -> None:
    both = cal.assess([0] * 5, [0.05] * 5, metric="expected_observed_ratio")
    # Two events have probability 0.023; no event is the most probable outcome, with an infinite ratio.
    assert (both.lower_critical_value, both.critical_value) == (pytest.approx(0.25), np.inf)
    assert "a value below 0.2500 would be significant" in both.verdict
    words: dict[str, Any] = {"metric": "expected_observed_ratio", "method": "consistency", "rng": 0}
    drawn = call(cal.assess, [0] * 5, [0.05] * 5, n_resamples=29, **words)
    assert (drawn.lower_critical_value, drawn.critical_value) == (-np.inf, np.inf)
    assert "would be significant" not in drawn.verdict
    assert drawn.to_dict()["lower_critical_value"] == "-inf"


@pytest.mark.parametrize(("rows", "events"), [(12, 5), (60, 9)])
def test_both_ratios_of_events_have_one_p_value(rows: int, events: int) -> None:
    """No event at all, an infinite deviation of both logarithms, is not improbable here."""
    p, y = np.linspace(0.02, 2 / rows, rows), np.arange(rows) < events
    forms = ("expected_observed", "observed_expected")
    first, second = (cal.assess(y, p, metric="expected_observed_ratio", form=form).pvalue for form in forms)
    assert first == second < 0.05


@pytest.mark.parametrize("draws", [19, 39, 99, 200])
@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@pytest.mark.parametrize("metric", ["ece", "brier", "esce", "expected_observed_ratio"])
def test_critical_values_agree_with_p_values_for_every_value(metric: str, alternative: str, draws: int) -> None:
    """Values at, between and beyond the draws: significant just where they are beyond a critical value."""
    null = np.random.default_rng(draws).gamma(2.0, 1.0, draws)
    null[::5] = null[0]  # ties
    tried = np.concatenate([null, null + 1e-6, null - 1e-6, [0.0, 50.0]])
    for alpha in (0.01, 0.05, 0.1):
        for own in np.clip(tried, 0, None).tolist():
            asked = metric_tests.TestInput(cal.catalogue[metric], {}, [], own, alpha, alternative, draws, 0)
            found = compared_with_draws(asked, null)
            assert found.critical_value is not None
            outside = (
                own < found.critical_value - 1e-12 if alternative == "less" else own > found.critical_value + 1e-12
            )
            outside |= found.lower_critical_value is not None and own < found.lower_critical_value - 1e-12
            assert outside == (found.pvalue <= alpha)


@pytest.mark.parametrize("metric", ["ece", "brier", "esce", "expected_observed_ratio", "ecce_mad"])
def test_critical_values_of_enumeration_agree_with_p_values(metric: str, deep: bool) -> None:
    p = np.array([0.1, 0.4, 0.4, 0.65, 0.9, *((0.25, 0.8) if deep else ())])
    significant = 0
    for y in product((0, 1), repeat=len(p)):
        found = cal.assess(y, p, metric=metric, method="enumeration", alpha=0.1)
        assert found.critical_value is not None
        outside = found.statistic > found.critical_value + 1e-9
        outside |= found.lower_critical_value is not None and found.statistic < found.lower_critical_value - 1e-9
        assert outside == found.rejected
        significant += found.rejected
    assert significant > 0


def test_too_few_draws_have_no_critical_value() -> None:
    asked = metric_tests.TestInput(cal.catalogue["ece"], {}, [], 0.5, 0.01, "greater", 50, 0)
    assert compared_with_draws(asked, np.linspace(0, 0.2, 50)).critical_value == np.inf


def test_the_smallest_p_value_keeps_its_level_by_exchangeability() -> None:
    """The sample and its draws are alike, so each is rejected as often as any other: never more than at the level."""
    asked_of = [cal.catalogue["ece"], cal.catalogue["esce"], cal.catalogue["brier"]]
    rng = np.random.default_rng(3)
    draws, alpha = 39, 0.1
    rejected = 0
    for _ in range(40):
        table = rng.normal(size=(draws + 1, 3)) @ rng.normal(size=(3, 3))
        for own in range(draws + 1):
            null = np.delete(table, own, axis=0)
            asked = [
                metric_tests.TestInput(
                    m, {}, [], table[own, i], alpha, "two-sided" if m.info.signed else "greater", draws, 0
                )
                for i, m in enumerate(asked_of)
            ]
            pvalues = np.array([compared_with_draws(a, null[:, i]).pvalue for i, a in enumerate(asked)])
            rejected += _min_p(asked, null, pvalues).min() <= alpha
    assert 0.5 * alpha < rejected / (40 * (draws + 1)) <= alpha

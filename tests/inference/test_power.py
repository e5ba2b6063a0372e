"""Power and sample size: published numbers of rows, formulas against simulation, distributions of scores and errors."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calibrant as cal
from calibrant.inference import power_analysis
from calibrant.inference.power_analysis import _case, _Draws, detectable_shift, power, sample_size
from calibrant.inference.simulation.warps import bias, temperature
from tests.calling import raises

SHIFT, FLAT = bias(0.2), temperature(1.25)
SCORES = (2, 2)


def simulated(test: str, n: int, deviation: Any, repeats: int, scores: Any = None, alternative: Any = None) -> Any:
    """The power by simulation, also where there is a formula."""
    draws = _Draws(_case(power, test, scores, deviation, 0.05, {"alternative": alternative}), 0, repeats)
    return draws.result(n, draws.rejections(n, 0, draws.designs), None)


@pytest.mark.parametrize(
    ("test", "warp", "rows"),
    [
        ("calibration_in_the_large", SHIFT, 984),
        ("spiegelhalter_z", SHIFT, 691_362),
        ("ecd", SHIFT, 702_095),
        ("spiegelhalter_z", FLAT, 1105),
        ("ecd", FLAT, 1080),
    ],
)
def test_rows_for_means(test: str, warp: Any, rows: int) -> None:
    found = sample_size(test, deviation=warp, scores=SCORES, alternative="two-sided")
    assert found.n == rows
    assert found.power == pytest.approx(0.8, abs=0.001)
    assert power(test, rows - 1, deviation=warp, scores=SCORES, alternative="two-sided").power < 0.8 + 1e-6


@pytest.mark.deep
def test_smallest_shift() -> None:
    assert detectable_shift(1000, scores=SCORES) == pytest.approx(0.0396, abs=5e-5)
    assert detectable_shift(4000, scores=SCORES) == pytest.approx(detectable_shift(1000, scores=SCORES) / 2, rel=0.01)


def test_a_shift_that_cannot_be_is_refused() -> None:
    with raises(cal.errors.UndefinedMetricError, "detectable_shift"):
        detectable_shift(3, scores=[0.5], power=0.999)


def test_certain_scores_are_contradicted_by_one_outcome() -> None:
    """Of 100 rows half are at 0: with a shift s all of those stay 0 with probability (1 - s)^50, which must be 0.2."""
    shift = 1 - 0.2 ** (1 / 50)
    assert detectable_shift(100, scores=[0.0, 1.0]) == pytest.approx(shift / 2, rel=1e-12)
    assert detectable_shift(100, scores=[0.0]) == pytest.approx(1 - 0.2 ** (1 / 100), rel=1e-12)


def test_few_events_are_simulated() -> None:
    """The formula supposes a normal number of events."""
    few = power("calibration_in_the_large", 300, scores=(0.5, 99.5), deviation=bias(1.0), repeats=2)
    assert few.method == "simulated"
    assert power("calibration_in_the_large", 10_000, scores=(0.5, 99.5), deviation=bias(1.0)).method == "analytic"


def test_a_mean_is_blind_to_overconfidence() -> None:
    with raises(cal.errors.UndefinedMetricError, "calibration_in_the_large"):
        sample_size("calibration_in_the_large", deviation=FLAT, scores=SCORES)
    assert power("calibration_in_the_large", 10**6, deviation=FLAT, scores=SCORES).power < 0.06


def test_sides_are_those_of_the_metric() -> None:
    one_sided = sample_size("ecd", deviation=FLAT, scores=SCORES)
    assert one_sided.n == sample_size("ecd", deviation=FLAT, scores=SCORES, alternative="greater").n == 857
    with raises(cal.errors.UndefinedMetricError, "ecd"):
        sample_size("ecd", deviation=FLAT, scores=SCORES, alternative="less")
    # Events more frequent than the scores say make the mean score too low.
    low = power("calibration_in_the_large", 500, deviation=0.05, alternative="less").power
    high = power("calibration_in_the_large", 500, deviation=0.05, alternative="greater").power
    assert low > 0.7
    assert high < 0.001


def test_the_logit_shift_has_the_sign_of_the_metric() -> None:
    """Events more frequent than the scores say need a shift up."""
    sides = ("greater", "less")
    up, down = (
        power("calibration_in_the_large", 500, deviation=0.05, form="logit", alternative=a).power for a in sides
    )
    assert up > 0.7
    assert down < 0.02


@pytest.mark.deep
def test_the_test_that_is_simulated_is_the_one_that_assess_takes() -> None:
    """Bounds that reject seldom, and tests that reject too often, stand beside the default and not for it."""
    found = power("skce_b", 40, deviation=bias(3.0), repeats=40)
    assert found.power > 0.9
    calm = power("t_cal", 100, deviation=lambda s: s, repeats=200)
    assert calm.low < 0.05
    slope = power("cox_slope", 300, deviation=bias(0.7), repeats=100)
    assert slope.low < 0.05 < 0.2 > slope.power  # a shift leaves the slope as it is


def test_simulated_power_asks_for_the_side() -> None:
    words: dict[str, Any] = {"deviation": temperature(2.0), "repeats": 60}
    assert power("ecce_mad", 300, alternative="greater", **words).power > 0.5
    assert power("ecce_mad", 300, alternative="less", **words).power < 0.05


@pytest.mark.deep
def test_small_groups_are_simulated() -> None:
    words: dict[str, Any] = {"scores": (1, 11), "deviation": bias(0.5)}
    small = power("hosmer_lemeshow", 100, repeats=100, **words)
    assert small.method == "simulated"
    assert power("hosmer_lemeshow", 20_000, **words).method == "analytic"
    calm = power("hosmer_lemeshow", 100, scores=(1, 11), deviation=lambda s: s, repeats=300)
    assert calm.low < 0.05 < calm.high
    assert sample_size("hosmer_lemeshow", scores=(1, 11), deviation=bias(2.0), repeats=60).method == "simulated"


@pytest.mark.parametrize(
    ("test", "n", "warp", "alternative"),
    [
        ("calibration_in_the_large", 984, SHIFT, None),
        ("spiegelhalter_z", 1105, FLAT, None),
        ("ecd", 1080, FLAT, None),
        ("hosmer_lemeshow", 2000, SHIFT, None),
        *(("calibration_in_the_large", 200, bias(-0.3), side) for side in ("greater", "less")),
        *((test, 200, temperature(1.5), side) for test in ("spiegelhalter_z", "ecd") for side in ("greater", "less")),
    ],
)
def test_formulas_agree_with_simulation(test: str, n: int, warp: Any, alternative: Any) -> None:
    formula = power(test, n, deviation=warp, scores=SCORES, alternative=alternative).power
    drawn = simulated(test, n, warp, 150, SCORES, alternative)
    assert abs(formula - drawn.power) <= 3 * math.sqrt(0.25 / 150 if alternative else formula * (1 - formula) / 150)
    assert drawn.low <= drawn.power <= drawn.high


def test_bins_against_the_noncentral_law() -> None:
    scores = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 10)
    found = power("hosmer_lemeshow", 400, scores=scores, deviation=0.05, bins=5, binning="equal_width")
    each = sum(0.2 * 0.05**2 / (s * (1 - s)) for s in (0.1, 0.3, 0.5, 0.7, 0.9))
    want = stats.ncx2.sf(stats.chi2.isf(0.05, 5), 5, 400 * each)
    assert found.power == pytest.approx(want, rel=1e-9)
    n = sample_size("hosmer_lemeshow", scores=scores, deviation=0.05, bins=5, binning="equal_width").n
    cut = stats.chi2.isf(0.05, 5)
    assert stats.ncx2.sf(cut, 5, n * each) >= 0.8 > stats.ncx2.sf(cut, 5, (n - 1) * each)


def test_recorded_scores_stand_for_their_law() -> None:
    grid = stats.beta(2, 2).ppf((np.arange(1000) + 0.5) / 1000)
    distribution = sample_size("hosmer_lemeshow", deviation=SHIFT, scores=SCORES).n
    assert sample_size("hosmer_lemeshow", deviation=SHIFT, scores=grid).n == pytest.approx(distribution, rel=0.005)
    y = np.zeros(len(grid), int)
    sketch = cal.Sketch.of(y, grid)
    for scores in (sketch, cal.views.View(grid, y)):
        found = sample_size("calibration_in_the_large", deviation=SHIFT, scores=scores)
        assert found.n == pytest.approx(984, rel=0.005)
    half = power("calibration_in_the_large", 200, scores=[0.5], deviation=0.1).power
    assert half == pytest.approx(power("calibration_in_the_large", 200, scores=[0.5] * 7, deviation=0.1).power)


def test_ways_to_name_a_deviation_agree() -> None:
    def of_mean(deviation: Any) -> float:
        return power("calibration_in_the_large", 500, deviation=deviation, scores=SCORES).power

    curve = of_mean(lambda s: s * math.exp(0.2) / (1 - s + s * math.exp(0.2)))
    assert curve == pytest.approx(of_mean(bias(0.2)), abs=1e-9)
    assert of_mean(0.03) == pytest.approx(of_mean(lambda s: np.minimum(s + 0.03, 1)), abs=1e-4)
    assert of_mean(-0.03) == pytest.approx(of_mean(0.03), abs=1e-9)


@pytest.mark.parametrize("test", ["calibration_in_the_large", "spiegelhalter_z", "hosmer_lemeshow"])
def test_right_scores_are_rejected_as_often_as_the_level_says(test: str) -> None:
    assert power(test, 500, deviation=lambda s: s, alpha=0.07).power == pytest.approx(0.07, abs=1e-9)
    assert power(test, 500, deviation=0.0).power == pytest.approx(0.05, abs=1e-9)
    with pytest.raises(cal.errors.UndefinedMetricError):
        sample_size(test, deviation=lambda s: s)


def test_metrics_without_a_formula_are_simulated() -> None:
    found = power("ece", 400, deviation=0.15, repeats=40)
    assert found.method == "simulated"
    assert found.power > 0.9
    assert found == power("ece", 400, deviation=0.15, repeats=40)
    want = stats.binomtest(round(found.power * 40), 40).proportion_ci(method="exact")
    assert found.low <= want.low + 1e-9  # scores that several data sets share can only widen it
    assert found.high >= want.high - 1e-9


def test_a_simulated_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power_analysis, "CLOSE", 0.1)
    found = sample_size("ecce_mad", scores=[0.5], deviation=0.25, repeats=60)
    again = power("ecce_mad", found.n, scores=[0.5], deviation=0.25, repeats=100, rng=1)
    assert again.low <= 0.8 + 0.03
    assert again.high >= 0.8 - 0.03


def test_sure_scores() -> None:
    assert power("ecd", 1000, scores=[0.0, 0.3], deviation=lambda s: s).power == pytest.approx(0.05)
    assert power("hosmer_lemeshow", 100, scores=[0.0, 0.3], deviation=0.1).power == 1


def test_critical_values_are_those_at_the_scores_of_the_data() -> None:
    """The Brier score varies with the scores: a critical value for all samples of scores would give a power of 0.30, not 0.41."""
    rng, n, rejected = np.random.default_rng(0), 200, []
    for _ in range(400):
        score = rng.beta(0.3, 0.3, n)
        null = np.square((rng.random((400, n)) < score) - score).mean(axis=1)
        own = np.square((rng.random(n) < temperature(1.3).curve(score)) - score).mean()
        tails = (1 + (null >= own).sum(), 1 + (null <= own).sum())
        rejected.append(2 * min(tails) / 401 <= 0.05)
    found = power("brier", n, scores=(0.3, 0.3), deviation=temperature(1.3), repeats=400)
    assert found.power == pytest.approx(np.mean(rejected), abs=0.08)
    assert found.power > 0.35


@pytest.mark.deep
def test_limits_include_the_error_of_the_critical_values() -> None:
    """Estimates with other seeds lie within the limits of each as often as they should, or nearly."""
    words: dict[str, Any] = {"scores": (0.3, 0.3), "deviation": temperature(1.3), "repeats": 200}
    found = [power("brier", 100, **words, rng=seed) for seed in range(20)]
    mean = np.mean([each.power for each in found])
    assert sum(each.low <= mean <= each.high for each in found) >= 17


def test_power_of_an_equivalence_test_is_how_often_the_error_is_shown_to_be_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For calibrated scores the one-sided limits of the mean difference are those of two z-tests."""
    simulated = power("calibration_in_the_large", 1000, deviation=0, scores=(2, 2), tolerance=0.03, repeats=200)
    spread = math.sqrt(0.2 / 1000)
    exact = 2 * stats.norm.cdf(0.03 / spread - stats.norm.ppf(0.95)) - 1
    assert simulated.low - 0.02 < exact < simulated.high + 0.02
    monkeypatch.setattr(power_analysis, "CLOSE", 0.06)
    assert sample_size("calibration_in_the_large", deviation=0, scores=(2, 2), tolerance=0.03, repeats=100).n > 1000

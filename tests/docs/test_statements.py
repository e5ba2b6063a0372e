"""What the entries of metrics claim, tried: every inequality, identity and "unbiased" of the pros, cons and notes that are kept.

Claims of means are checked by enumeration of all outcomes of a few rows, which is exact; claims of order by simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import calibrant as cal

Array = np.ndarray[Any, np.dtype[Any]]


def binary(
    seed: int, n: int = 150, *, tied: bool = False, rare: bool = False, warp: float = 0.6
) -> tuple[Array, Array]:
    """Outcomes and scores, miscalibrated by a power of the odds; tied scores have one decimal, rare events a few per cent."""
    rng = np.random.default_rng([seed, n, tied, rare])
    score = rng.beta(0.5, 9, n) if rare else rng.beta(0.8, 1.1, n)
    score = np.round(score, 1) if tied else score
    with np.errstate(divide="ignore"):
        truth = 1 / (1 + np.exp(-warp * (np.log(score) - np.log1p(-score)) - 0.3))
    return (rng.random(n) < truth).astype(int), score


def several(seed: int, n: int = 150, k: int = 4) -> tuple[Array, Array]:
    rng = np.random.default_rng([seed, n, k])
    probs = rng.dirichlet(np.full(k, 0.6), n)
    truth = probs**0.6
    truth /= truth.sum(axis=1, keepdims=True)
    return (rng.random((n, 1)) > truth.cumsum(axis=1)).sum(axis=1).clip(0, k - 1), probs


SAMPLES = [
    binary(seed, n, tied=tied, rare=rare)
    for seed, n in ((0, 37), (1, 150), (2, 401))
    for tied in (0, 1)
    for rare in (0, 1)
]
samples = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{len(sample[0])} rows")
NOISE = 1e-9


def mean_over_outcomes(statistic: Callable[[Array, Array], float], score: Array, truth: Array) -> float:
    """The expected value of a statistic over all outcomes of a few rows, with the probabilities `truth`."""
    total = []
    for outcome in product((0, 1), repeat=len(score)):
        y = np.array(outcome)
        probability = float(np.prod(np.where(y == 1, truth, 1 - truth)))
        if probability > 0:
            total.append(probability * statistic(y, score))
    return math.fsum(total)


FEW = np.array([0.12, 0.18, 0.31, 0.34, 0.55, 0.61, 0.62, 0.83, 0.97])


# Bins.


@samples
@pytest.mark.parametrize("bins", [1, 4, 15])
@pytest.mark.parametrize("binning", ["equal_width", "equal_mass"])
def test_binned_errors_are_ordered(sample: tuple[Array, Array], bins: int, binning: str) -> None:
    y, p = sample
    words: dict[str, Any] = {"bins": bins, "binning": binning}
    error = cal.ece(y, p, **words)
    assert cal.abc_above(y, p, **words) + cal.abc_below(y, p, **words) == pytest.approx(error, abs=NOISE)
    assert abs(cal.esce(y, p, **words)) <= error + NOISE <= cal.rmsce(y, p, **words) + 2 * NOISE
    assert cal.rmsce(y, p, **words) <= cal.mce(y, p, **words) + NOISE
    assert cal.rmsce(y, p, norm=math.inf, **words) == cal.mce(y, p, **words)
    assert error <= cal.ece_lb(y, p, **words) + NOISE
    assert error <= cal.lp_error(y, p) + NOISE
    assert cal.rmsce(y, p, **words) <= cal.lp_error(y, p, norm=2) + NOISE
    assert cal.rmsce(y, p, **words) <= cal.root_brier(y, p) + NOISE
    groups = np.arange(len(y)) % 3
    assert error <= cal.pce(cal.Predictions(y, p, groups=groups), **words) + NOISE
    assert error <= cal.metrics.piece(cal.Predictions(y, p, features=p[::-1].copy()), **words) + NOISE
    table = cal.calibration_curve(y, p, **words).table
    resolution = math.fsum(table.share[~table.empty] * np.square(table.rate[~table.empty] - y.mean()))
    whole = cal.rmsce(y, p, **words) ** 2 - resolution + y.mean() * (1 - y.mean())
    assert cal.smbs(y, p, **words) == pytest.approx(whole, abs=NOISE)


def test_a_pointwise_error_does_not_bound_top_label_errors() -> None:
    y, p = np.zeros(50, int), np.full((50, 100), 0.5 / 99)
    p[:, 1] = 0.5  # predicted, never true
    assert cal.lp_error(y, p) < 0.05 < cal.ece(y, p) == pytest.approx(0.5)


@pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")
@pytest.mark.parametrize("id", ["cwce", "ace", "mdca"])
@pytest.mark.parametrize("k", [3, 10])
def test_means_over_classes_are_small_by_arithmetic(id: str, k: int) -> None:
    wrong = np.eye(k)[np.arange(30) % k]
    assert cal.catalogue[id]((np.arange(30) + 1) % k, wrong) <= 2 / k + NOISE
    assert cal.cwce((np.arange(30) + 1) % k, wrong) == pytest.approx(2 / k)
    y, p = several(3, 90, k)
    assert cal.catalogue[id](y, p) <= 2 / k + NOISE


@pytest.mark.parametrize(
    "id", ["ece", "rmsce", "ece_em", "mce", "abc_above", "abc_below", "rice", "ece_knn", "fce", "sbece"]
)
def test_noise_raises_plug_in_errors(id: str) -> None:
    """Of |x| the mean is at least |mean of x|, so the mean value is at least that of the true probabilities as labels."""
    words: dict[str, Any] = {"bins": 3} if "bins" in cal.catalogue[id].options else {}
    for truth in (FEW, np.clip(FEW + 0.08, 0, 1), FEW**2):
        mean = mean_over_outcomes(lambda y, p: cal.catalogue[id](y, p, **words), FEW, truth)
        assert mean >= cal.catalogue[id](cal.Predictions(truth, FEW, soft=True), **words) - NOISE


def test_equal_mass_is_neither_even_under_ties_nor_always_less_biased() -> None:
    y, p = np.arange(100) % 2, np.repeat([0.1, 0.9], [97, 3])
    weight = cal.calibration_curve(y, p, binning="equal_mass").table.weight
    assert sorted(weight[weight > 0].tolist()) == [3, 97]
    # Calibrated and concentrated: equal width puts nearly all rows into one bin, where noise averages out.
    wide, even = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p = rng.beta(60, 60, 300) * 0.06 + 0.47 - 0.03
        y = (rng.random(300) < p).astype(int)
        wide.append(cal.ece(y, p, bins=15))
        even.append(cal.ece_em(y, p, bins=15))
    assert np.mean(wide) < np.mean(even) - 0.02
    assert not any(
        word in cal.catalogue[id].info.strengths for id in ("ece_em", "ace", "ece_sweep") for word in ("bias", "empty")
    )


def test_the_sweep_can_be_more_biased_than_few_bins() -> None:
    """Of calibrated forecasts with a wide range the sweep takes many bins, and noise of few rows in each."""
    swept, fixed = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p = rng.beta(0.1, 0.1, 100)
        y = (rng.random(100) < p).astype(int)
        swept.append(cal.ece_sweep(y, p))
        fixed.append(cal.ece_em(y, p, bins=2))
    assert np.mean(swept) > np.mean(fixed)


def test_bins_of_equal_area_are_not_equal_under_ties_and_gaps() -> None:
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.uniform(0.01, 0.02, 400), [0.97, 0.98, 0.99]])
    table = cal.calibration_curve((rng.random(403) < p).astype(int), p, bins=10, binning="equal_area").table
    area = (table.right - table.left) * table.weight
    assert area.max() > 1.5 * np.median(area)


def test_debiased_squares_are_unbiased_where_they_say_so() -> None:
    two = np.array([0.2, 0.2, 0.2, 0.2, 0.7, 0.7, 0.7])
    for truth in (two, two + 0.15, np.sqrt(two)):
        gap = (two - truth)[[0, 6]]
        wanted = (4 * gap[0] ** 2 + 3 * gap[1] ** 2) / 7
        mean = mean_over_outcomes(lambda y, p: cal.ce2_db(y, p, bins=2, binning="equal_width"), two, truth)
        assert mean == pytest.approx(wanted, abs=1e-12)
    # One bin of rows with different probabilities: too low by their variance over the number of rows.
    truth = np.array([0.1, 0.3, 0.5, 0.9])
    mean = mean_over_outcomes(lambda y, p: cal.ce2_db(y, p, bins=1), truth, truth)
    assert mean == pytest.approx(-np.var(truth, ddof=1) / 4, abs=1e-12)
    assert mean_over_outcomes(lambda y, p: cal.drmsce(y, p, bins=2), FEW, FEW) > 0.02
    assert mean_over_outcomes(lambda y, p: cal.ece_db(y, p, bins=2), FEW, FEW) > 0.01
    y, p = np.arange(8) % 2, np.full(8, 0.5)
    assert cal.ece_db(y, p, bins=1) < 0 > cal.ce2_db(y, p, bins=1)


@pytest.mark.parametrize(
    "id", ["t_cal", "skce_uq", "skce_ul", "ecmmd", "ecd", "spiegelhalter_z", "calibration_in_the_large"]
)
def test_means_of_0_under_calibration_are_exact(id: str) -> None:
    metric = cal.catalogue[id]
    words: dict[str, Any] = {"neighbours": 3} if id == "ecmmd" else {"bins": 3} if id == "t_cal" else {}
    found = mean_over_outcomes(lambda y, p: metric(y, p, **words), FEW, FEW)
    assert found == pytest.approx(0, abs=1e-12)


def test_the_mean_of_klce_is_0_only_given_the_features() -> None:
    side = np.tile([-1.0, 1.0], 5)[:9]
    score = np.full(9, 0.5)
    given = np.clip(0.5 + 0.3 * side, 0, 1)  # right on average, wrong given the feature

    def statistic(y: Array, p: Array) -> float:
        return cal.klce(cal.Predictions(y, p, features=side), bandwidth=0.5)

    assert mean_over_outcomes(statistic, score, score) == pytest.approx(0, abs=1e-12)
    assert mean_over_outcomes(statistic, score, given) > 0.03


def test_expected_squares_of_kernel_errors_under_calibration() -> None:
    for id in ("mmce", "lkce"):
        mean = mean_over_outcomes(lambda y, p, own=cal.catalogue[id]: own(y, p) ** 2, FEW, FEW)  # type: ignore[misc]
        assert mean == pytest.approx((FEW * (1 - FEW)).mean() / len(FEW), abs=1e-12)
    biased = mean_over_outcomes(lambda y, p: cal.skce_b(y, p), FEW, FEW)
    assert biased == pytest.approx(2 * (FEW * (1 - FEW)).mean() / len(FEW), abs=1e-12)


def test_the_expected_value_of_nses_is_1_inside_and_less_at_the_ends() -> None:
    assert mean_over_outcomes(cal.nses, FEW, FEW) == pytest.approx(1, abs=1e-12)
    sure = np.append(FEW[:6], [0.0, 1.0, 1.0])
    assert mean_over_outcomes(cal.nses, sure, sure) == pytest.approx(6 / 9, abs=1e-12)


# Distances to calibration.


@samples
def test_smooth_errors_bound_each_other(sample: tuple[Array, Array]) -> None:
    y, p = sample
    smooth, laplace, distance = cal.smce(y, p), cal.lkce(y, p), cal.dce_lower(y, p)
    assert laplace**2 <= smooth + NOISE <= math.sqrt(2) * laplace + 2 * NOISE
    assert distance / 2 <= smooth + NOISE <= 2 * distance + 2 * NOISE
    assert distance / 2 <= cal.smece(y, p) + NOISE <= 2 * math.sqrt(distance) + 2 * NOISE
    assert distance <= cal.sice(y, p) + NOISE
    assert distance <= cal.dce(y, p, bound=True) + NOISE
    assert cal.ecce_r(y, p) == cal.cce(y, p) <= 2 * cal.ecce_mad(y, p) + NOISE


def test_laplace_and_smoothed_errors_can_grow_like_the_root_of_the_distance() -> None:
    """A row says 1/2 + d and fails, another 1/2 - d and succeeds: moving both by d calibrates them."""
    ratios = []
    for d in (1e-2, 1e-4):
        y, p = [0, 1], [0.5 + d, 0.5 - d]
        assert cal.dce_lower(y, p) == pytest.approx(d, abs=1e-9)
        ratios.append((cal.lkce(y, p) / d, cal.smece(y, p) / d))
    assert np.divide(ratios[1], ratios[0]) == pytest.approx(10, rel=0.2)


def test_smece_of_calibrated_forecasts_falls_like_the_cube_root() -> None:
    means = []
    for n in (250, 16_000):
        drawn = [cal.inference.make_calibrated(n, rng=seed) for seed in range(12)]
        means.append(np.mean([cal.smece(d.y_true, d.y_prob) for d in drawn]))
    assert means[0] / means[1] == pytest.approx(4, rel=0.25)


# Paths.


@samples
def test_paths_seen_from_the_other_class(sample: tuple[Array, Array]) -> None:
    y, p = sample
    assert cal.ecce_r(1 - y, 1 - p) == pytest.approx(cal.ecce_r(y, p), abs=1e-12)
    k = np.column_stack([1 - p, p])
    assert cal.ks_within_top_r(y, k, r=2) == 0


def test_the_maximum_differs_between_the_classes() -> None:
    y, p = [0, 0, 1, 1, 1], [0.1, 0.3, 0.4, 0.5, 0.6]
    assert cal.ecce_mad(y, p) != pytest.approx(cal.ecce_mad(np.subtract(1, y), np.subtract(1, p)), abs=1e-3)


def test_alternating_errors_cancel_along_a_path() -> None:
    p = np.linspace(0.3, 0.7, 400)
    truth = p + np.where(np.arange(400) % 2, 0.2, -0.2)
    assert cal.ecce_r(cal.Predictions(truth, p, soft=True)) < 0.001 > cal.smce(cal.Predictions(truth, p, soft=True))


# Fitted curves.


def test_a_curved_deviation_can_leave_intercept_and_slope_alone() -> None:
    """The residuals of the truth are orthogonal to 1 and to the log-odds, so the fitted line is the diagonal."""
    p = np.linspace(0.1, 0.9, 41)
    log_odds = np.log(p / (1 - p))
    basis = np.column_stack([np.ones(41), log_odds])
    bump = np.cos(3 * log_odds)
    bump -= basis @ np.linalg.lstsq(basis, bump, rcond=None)[0]
    truth = p + 0.06 * bump
    assert ((truth > 0) & (truth < 1)).all()
    assert cal.cox_intercept(cal.Predictions(truth, p, soft=True)) == pytest.approx(0, abs=1e-6)
    assert cal.cox_slope(cal.Predictions(truth, p, soft=True)) == pytest.approx(1, abs=1e-6)
    assert cal.metrics.fott_platt(cal.Predictions(truth, p, soft=True)) < 1e-6
    assert cal.ece(cal.Predictions(truth, p, soft=True), bins=40) > 0.02


def test_one_sure_mistake_moves_the_slope() -> None:
    y, p = binary(5, 400, warp=1)
    before = cal.cox_slope(y, np.clip(p, 0.01, 0.99))
    after = cal.cox_slope(np.append(y, 0), np.append(np.clip(p, 0.01, 0.99), 1 - 1e-12))
    assert before - after > 0.1


def test_fitted_curves_that_are_the_same() -> None:
    y, p = binary(6, 300)
    assert cal.metrics.fott_pl3(y, p, knots=0) == pytest.approx(cal.metrics.fott_platt(y, p), abs=1e-7)
    assert cal.metrics.fott_em(y, p) == cal.ece_em(y, p) == cal.ece_em(y, p)
    assert cal.metrics.fott_ew(y, p) == cal.ece(y, p)
    assert cal.metrics.fott_isotonic(cal.Predictions(1 - p, p, soft=True)) > 0.1  # a falling truth: pooled to one level
    corp = cal.decompose(
        y, p, method="corp"
    ).miscalibration  # the score lies in the cone onto which the outcomes are projected
    assert 0.5 * corp < cal.metrics.fott_isotonic(y, p, norm=2) <= corp
    falling = np.abs(p - 0.5)
    assert cal.metrics.fott_isotonic(cal.Predictions(falling, p, soft=True)) < np.abs(falling - p).mean() - 0.01
    for id in ("fott_isotonic", "ici", "emax", "fott_platt"):
        honest = cal.inference.make_calibrated(100, rng=1)
        assert cal.catalogue[id](honest.y_true, honest.y_prob) > 0.005


# Scores and losses.


def expected(metric: cal.metrics.Metric, forecast: Array, truth: Array, **words: Any) -> float:
    """The mean of a row's loss where the label has these probabilities."""
    k = len(truth)
    return float(truth @ metric.rows(np.arange(k), np.tile(forecast, (k, 1)), **words))


def test_focal_loss_pulls_two_classes_together_and_many_apart() -> None:
    grid = np.linspace(0.001, 0.999, 999)
    two = min(grid, key=lambda p: expected(cal.focal_loss, np.array([1 - p, p]), np.array([0.3, 0.7])))
    assert two == pytest.approx(0.5785, abs=0.002)

    def spread(top: float) -> Array:
        return np.append(top, np.full(99, (1 - top) / 99))

    many = min(grid, key=lambda p: expected(cal.focal_loss, spread(p), spread(0.10)))
    assert many > 0.105


@samples
def test_losses_bound_mean_differences(sample: tuple[Array, Array]) -> None:
    y, p = sample
    assert cal.global_squared_bias(y, p) <= cal.brier(y, p) + NOISE
    assert cal.ranked_probability(y, p) == pytest.approx(cal.brier(y, p), abs=NOISE)
    k_y, k_p = several(len(y), 60)
    assert cal.global_squared_bias(k_y, k_p) <= cal.brier(k_y, k_p) + NOISE
    alone = cal.multiclass_ce(k_y, k_p, bins=10_000)
    assert alone == pytest.approx((1 - k_p[np.arange(60), k_y]).mean(), abs=1e-9)


def test_confidence_signs_are_weighted_sums_of_confidence_minus_accuracy() -> None:
    y, p = binary(8, 200)
    sure, right = np.maximum(p, 1 - p), ((p > 0.5) == y).astype(float)
    over = sure - right
    assert cal.ecd(y, p) == pytest.approx((over * np.log(sure / (1 - sure))).mean(), abs=1e-9)
    assert cal.nses(y, p) - 1 == pytest.approx((over * (2 * sure - 1) / (sure * (1 - sure))).mean(), abs=1e-9)
    unit = math.sqrt(((2 * sure - 1) ** 2 * sure * (1 - sure)).sum())
    assert cal.spiegelhalter_z(y, p) == pytest.approx((over * (2 * sure - 1)).sum() / unit, abs=1e-9)


def test_a_level_too_high_is_not_overconfidence_for_a_rare_event() -> None:
    """The event never happens and is given 0.2: the model should have been surer of the other class."""
    y, p = np.zeros(50, int), np.full(50, 0.2)
    assert cal.esce(y, p) == pytest.approx(0.2)
    assert cal.esce.direction(0.2, "binary") == "overestimates"
    assert cal.esce(y, p, lens="top_label") == pytest.approx(-0.2)
    assert cal.ecd(y, p) < 0


# Whole distributions and neighbourhoods.


def test_mean_vectors_of_equal_variation_count_as_equal() -> None:
    p = np.tile([0.6, 0.3, 0.1], (20, 1))
    swapped = np.repeat([0, 1, 2], [2, 6, 12])  # the class of probability 0.1 comes true in 0.6 of the rows
    assert cal.vce(swapped, p) == pytest.approx(0, abs=1e-12)
    assert cal.gece(swapped, p) == pytest.approx(0.5)


def test_overconfidence_can_lower_uce() -> None:
    p = np.linspace(0.55, 0.95, 40)
    truth = 0.5 + 0.6 * (p - 0.5)
    ones = np.round(1000 * np.column_stack([p, truth])).astype(int)
    found = [
        cal.uce(cal.Predictions(np.tile([0, 1], 40), np.repeat(p, 2), counts=np.column_stack([1000 - o, o]).ravel()))
        for o in ones.T
    ]
    assert found[1] < found[0] - 0.05
    assert found[0] > 0.1
    assert cal.uce.alternative == "two-sided"


def test_kernels_of_features_between_bins_and_single_rows() -> None:
    y, p = binary(9, 120)
    features = np.random.default_rng(0).normal(size=(120, 2))
    rows = cal.Predictions(y, p, features=features)
    assert cal.lce(rows, bandwidth=1e9) == pytest.approx(cal.ece(y, p), abs=1e-7)
    assert cal.mlce(rows, bandwidth=1e9) == pytest.approx(cal.mce(y, p), abs=1e-7)
    assert cal.lce(rows, bandwidth=1e-6) == pytest.approx(np.abs(p - y).mean(), abs=1e-9)
    assert cal.mlce(rows, bandwidth=1e-6) == pytest.approx(np.abs(p - y).max(), abs=1e-9)


def test_pairs_of_neighbours_are_noisier_than_all_pairs() -> None:
    found = []
    for seed in range(30):
        data = cal.inference.make_calibrated(200, distribution=(1, 1, 1), rng=seed)
        found.append((cal.skce_uq(data.y_true, data.y_prob), cal.skce_ul(data.y_true, data.y_prob)))
    few, many = np.std(found, axis=0)
    assert many > 3 * few


def test_density_errors_of_two_classes() -> None:
    y, p = binary(10, 120)
    assert cal.dkde(y, p, bandwidth=0.05) == pytest.approx(2 * cal.bkde(y, p, bandwidth=0.05), abs=1e-9)
    tied = np.round(np.repeat(np.random.default_rng(0).beta(2, 2, 8), 40), 2)
    labels = (np.random.default_rng(1).random(320) < tied).astype(int)
    assert cal.bkde(labels, tied) == pytest.approx(cal.bkde(labels, tied, bandwidth=1e-5), abs=1e-3)
    for id in ("bkde", "dkde", "skde"):
        honest = cal.inference.make_calibrated(300, rng=0)
        assert cal.catalogue[id](honest.y_true, honest.y_prob) > 0.005


def test_rows_at_the_ends_count_less_in_fuzzy_bins() -> None:
    """At 0 a row has half a membership, so that its residual weighs half of that of a row inside."""
    assert cal.fce([1, 0], [0.0, 0.5], bins=1) == pytest.approx(abs(0.5 * -1 + 0.5) / 1.5)
    assert cal.fce([1, 1], [0.0, 0.5], bins=1) == pytest.approx((0.5 * 1 + 0.5) / 1.5)


def test_smooth_maximum_is_above_the_maximum() -> None:
    y, p = np.zeros(30, int), np.full((30, 3), 1 / 3)
    assert cal.lse_ece(y, p, temperature=0.1) < cal.lse_ece(y, p)  # the confidence rises towards the accuracy of 1
    assert cal.lse_ece(y, p, temperature=1e-6) == pytest.approx(2 / 3, abs=1e-5)

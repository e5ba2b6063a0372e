"""What the entries of metrics claim, tried: every inequality, identity and "unbiased" of the pros, cons and notes that are kept.

Claims of means are checked by enumeration of all outcomes of a few rows, which is exact; claims of order by simulation.
"""

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


@pytest.mark.parametrize(
    "id", ["ece", "rmsce", "ece_em", "mce", "abc_above", "abc_below", "rice", "ece_knn", "fce", "sbece"]
)
def test_noise_raises_plug_in_errors(id: str) -> None:
    """Of |x| the mean is at least |mean of x|, so the mean value is at least that of the true probabilities as labels."""
    words: dict[str, Any] = {"bins": 3} if "bins" in cal.catalogue[id].options else {}
    for truth in (FEW, FEW**2):
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


def test_smece_of_calibrated_forecasts_falls_like_the_cube_root() -> None:
    means = []
    for n in (250, 16_000):
        drawn = [cal.inference.make_calibrated(n, rng=seed) for seed in range(12)]
        means.append(np.mean([cal.smece(d.y_true, d.y_prob) for d in drawn]))
    assert means[0] / means[1] == pytest.approx(4, rel=0.25)


def test_pairs_of_neighbours_are_noisier_than_all_pairs() -> None:
    found = []
    for seed in range(30):
        data = cal.inference.make_calibrated(200, distribution=(1, 1, 1), rng=seed)
        found.append((cal.skce_uq(data.y_true, data.y_prob), cal.skce_ul(data.y_true, data.y_prob)))
    few, many = np.std(found, axis=0)
    assert many > 3 * few

"""Calibration bands and combined p-values: literal definitions, coverage, weights and errors."""

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import optimize, stats

import calibrant as cal
from calibrant.inference.bands import CalibrationBand, calibration_band
from calibrant.inference.multiplicity import combine_pvalues
from tests.calling import raises


def slow_band(y: Any, p: Any, alpha: float, method: str) -> tuple[list[float], list[float]]:
    """Every run of distinct scores, one by one."""
    y, p = np.asarray(y), np.asarray(p)
    scores = np.unique(p)
    m = len(scores)
    rows = np.array([(p == s).sum() for s in scores])
    events = np.array([y[p == s].sum() for s in scores])
    fit = optimize.isotonic_regression(events / rows, weights=rows).x
    level = alpha / (m * (m + 1))
    low, high = [0.0] * m, [1.0] * m
    for j in range(m):
        for k in range(j, m):
            n, ones = int(rows[j : k + 1].sum()), int(events[j : k + 1].sum())
            if method == "clopper_pearson":
                down = 0.0 if ones == 0 else float(stats.beta.ppf(level, ones, n - ones + 1))
                up = 1.0 if ones == n else float(stats.beta.isf(level, ones + 1, n - ones))
            else:
                mean = float((rows * fit)[j : k + 1].sum()) / n
                margin = math.sqrt(math.log((m * m + m) / alpha) / (2 * n))
                down, up = mean - margin, mean + margin
            for i in range(j + 1):
                high[i] = min(high[i], up)
            for i in range(k, m):
                low[i] = max(low[i], down)
    return low, high


@pytest.mark.parametrize("method", ["clopper_pearson", "yang_barber"])
@pytest.mark.parametrize("power", [0.3, 1.0, 3.0])
def test_bands_are_the_literal_ones(method: Any, power: float, deep: bool) -> None:
    rng = np.random.default_rng(0)
    sizes = ((30, 8), (300, 1), (2000, 2))
    for n, digits in sizes if deep else sizes[:2]:
        p = np.round(rng.random(n), digits)[:2000]
        y = rng.random(n) < p**power
        low, high = slow_band(y, p, 0.1, method)
        band = calibration_band(y, p, alpha=0.1, method=method)
        np.testing.assert_allclose(band.low, low, atol=1e-11)
        np.testing.assert_allclose(band.high, high, atol=1e-11)
        np.testing.assert_array_equal(band.score, np.unique(p))


def test_wrong_scores_leave_the_band() -> None:
    drawn = cal.inference.make_miscalibrated(5000, warp=cal.inference.simulation.temperature(2), rng=0)
    band = calibration_band(drawn.y_true, drawn.y_prob)
    assert not band.covers_diagonal
    assert not band.is_empty
    assert "is statistically significant at 5%" in band.verdict
    assert len(band.outside)
    assert calibration_band(drawn.y_true, drawn.truth).covers_diagonal


@pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")
def test_a_falling_curve_leaves_no_room() -> None:
    p = np.repeat([0.2, 0.8], 500)
    band = calibration_band(p < 0.5, p)
    assert band.is_empty
    assert "No increasing" in band.verdict


def test_many_scores_are_rounded_and_it_is_said() -> None:
    drawn = cal.inference.make_calibrated(3000, rng=0)
    band = calibration_band(drawn.y_true, drawn.y_prob)
    assert band.digits == 3
    assert len(band.score) <= 1001
    assert "rounded to 3 decimals" in repr(band)
    rounded = np.round(drawn.y_prob, 3)
    same = calibration_band(drawn.y_true, rounded)
    np.testing.assert_allclose(band.low, same.low, atol=1e-12)
    np.testing.assert_allclose(band.high, same.high, atol=1e-12)
    means = [drawn.y_prob[rounded == s].mean() for s in np.unique(rounded)]
    np.testing.assert_allclose(band.score, means, atol=1e-12)
    assert calibration_band(drawn.y_true[:500], drawn.y_prob[:500]).digits is None
    assert len(calibration_band(drawn.y_true, drawn.y_prob, digits=1).score) == 11


def test_between_scores_the_neighbours_hold() -> None:
    band = calibration_band([0, 0, 1, 1] * 20, [0.2, 0.4, 0.6, 0.8] * 20)
    low, high = band.at([0.1, 0.2, 0.3, 0.8, 0.9])
    np.testing.assert_array_equal(low, [0, band.low[0], band.low[0], band.low[3], band.low[3]])
    np.testing.assert_array_equal(high, [band.high[0], band.high[0], band.high[1], band.high[3], 1])


@pytest.mark.deep
@pytest.mark.parametrize("method", ["clopper_pearson", "yang_barber"])
def test_a_steep_curve_is_covered_where_scores_are_rounded(method: Any) -> None:
    """A jump inside the scores that fall together: their mean rate is far from the curve on either side of it."""
    n = 1_000_000
    rng = np.random.default_rng(0)
    p = rng.random(n)
    y = (rng.random(n) < np.where(p < 0.5, 0.2, 0.8)).astype(int)
    band = calibration_band(y, p, method=method)
    assert band.digits == 3
    jump = np.searchsorted(band.score, 0.5)
    group = np.abs(band.score - 0.5).argmin()
    assert band.low[group] > 0.2  # of the mean over the group, which the curve is not at either end
    assert band.high[group] < 0.8
    wanted = np.union1d(np.linspace(0, 1, 4001), np.r_[band.score[jump - 3 : jump + 3], 0.4999, 0.5, 0.5001])
    low, high = band.at(wanted)
    curve = np.where(wanted < 0.5, 0.2, 0.8)
    assert (low <= curve).all()
    assert (curve <= high).all()
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) >= 0).all()


@pytest.mark.parametrize("method", ["clopper_pearson", "yang_barber"])
@pytest.mark.parametrize(
    ("y", "p"), [([1], [0.3]), ([0, 0, 0], [0.2, 0.5, 0.9]), ([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0]), ([0, 1], [0.5, 0.5])]
)
def test_degenerate_data_have_a_band(method: Any, y: list[int], p: list[float]) -> None:
    band = calibration_band(y, p, method=method)
    assert isinstance(band, CalibrationBand)
    assert ((band.low >= 0) & (band.low <= band.high) & (band.high <= 1)).all()
    assert (np.diff(band.low) >= 0).all()
    assert (np.diff(band.high) >= 0).all()
    assert band.covers_diagonal


def test_a_band_is_about_one_event_and_not_too_many_scores() -> None:
    with raises(cal.errors.ArgumentError, "digits"):
        calibration_band(np.zeros(30_000, int), np.random.default_rng(0).random(30_000), digits=15)
    rows = np.full((4, 3), 1 / 3)
    assert calibration_band([0, 1, 2, 0], rows, lens="class:1").lens == "class:1"


def test_combined_p_values_are_the_known_ones() -> None:
    for values in ([0.01, 0.2, 0.6], [1e-30, 0.9], [0.5], [1e-200, 1e-180, 0.3]):
        assert combine_pvalues(values) == min(1.0, len(values) * min(values))
        want = stats.combine_pvalues(values, "fisher").pvalue
        assert combine_pvalues(values, "fisher") == pytest.approx(want, rel=1e-9, abs=0)
        with mpmath.workdps(400):
            mean = sum(mpmath.cot(mpmath.pi * mpmath.mpf(v)) for v in values) / len(values)
            cauchy = float(mpmath.acot(mean) / mpmath.pi) if mean > 0 else float(1 + mpmath.acot(mean) / mpmath.pi)
        if abs(mean) > 1e-10:
            assert combine_pvalues(values, "cauchy") == pytest.approx(cauchy, rel=1e-9, abs=0)
    assert combine_pvalues([0.5], "cauchy") == pytest.approx(0.5, abs=1e-12)


def test_combined_p_values_at_the_ends() -> None:
    for method in ("bonferroni", "fisher", "cauchy"):
        assert combine_pvalues([0, 1], method) == 0
        assert combine_pvalues([1, 1], method) == pytest.approx(1)
        assert combine_pvalues([0.3], method) == pytest.approx(0.3, rel=1e-12)
    assert combine_pvalues([0.8, 0.9]) == 1

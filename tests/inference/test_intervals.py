"""interval and compare: values checked by hand, schemes of resampling, and what is refused."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference.draws import CellSampler, RowSampler, choose_sampler
from calibrant.inference.intervals import _jackknife, bca_levels

A = ([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
B = ([0, 1, 0, 0, 1, 0, 1, 1, 1, 1], [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95])


def predictions(n: int, seed: int = 0, power: float = 1.2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([n, seed])
    p = rng.random(n)
    return (rng.random(n) < p**power).astype(int), p


def test_corrected_levels_are_those_of_the_textbook() -> None:
    """All 256 resamples of four rows, the squared errors being known."""
    errors = np.square(np.array(A[1]) - np.array(A[0]))
    sample = np.array([errors[list(rows)].mean() for rows in product(range(4), repeat=4)])
    value = float(errors.mean())
    below = (np.sum(sample < value - 1e-15) + 0.5 * np.sum(np.abs(sample - value) <= 1e-15)) / 256
    assert below == pytest.approx(0.5351563, abs=1e-6)
    view = cal.ece.views(*A)[0]
    acceleration = _jackknife(cal.brier, {}, RowSampler(view))
    assert acceleration == pytest.approx(0.09428491308, abs=1e-10)
    exact = np.where(np.abs(sample - value) <= 1e-15, value, sample)
    levels = bca_levels(value, exact, 0.9, acceleration)
    assert levels == pytest.approx((0.1021922246, 0.9846074032), abs=1e-9)
    ends = np.quantile(exact, levels, method="inverted_cdf")
    assert ends.tolist() == pytest.approx([0.0175, 0.28], abs=1e-12)
    b = cal.ece.views(*B)[0]
    assert _jackknife(cal.brier, {}, RowSampler(b)) == pytest.approx(0.08659751443, abs=1e-10)


def test_leaving_out_one_of_many_equal_rows() -> None:
    y = [0] * 8 + [1] * 3 + [0] * 2 + [1] * 6
    p = [0.2] * 11 + [0.7] * 8
    view = cal.ece.views(y, p)[0]
    cells = CellSampler(view, 10)
    assert sorted(weight for weight, _ in cells.left_out()) == [2, 3, 6, 8]
    by_cell = {weight: drawn.value(cal.ece, {"bins": 10}) for weight, drawn in cells.left_out()}
    assert by_cell[8] == pytest.approx(0.0777777778, abs=1e-10)
    assert by_cell[3] == pytest.approx(0.0222222222, abs=1e-10)
    assert by_cell[2] == pytest.approx(0.1055555556, abs=1e-10)
    assert by_cell[6] == pytest.approx(0.05, abs=1e-10)
    assert _jackknife(cal.ece, {"bins": 10}, cells) == pytest.approx(0.005777875237, abs=1e-11)
    assert _jackknife(cal.ece, {"bins": 10}, RowSampler(view)) == pytest.approx(0.005777875237, abs=1e-11)


def test_normal_intervals_are_standard_errors() -> None:
    y, p = predictions(500)
    errors = np.square(y - p)
    found = cal.interval(y, p, metric="brier")
    half = 1.959963984540054 * errors.std(ddof=1) / math.sqrt(500)
    assert found.method == "normal"
    assert (found.low, found.high) == pytest.approx((errors.mean() - half, errors.mean() + half), abs=1e-12)
    resampled = cal.interval(y, p, metric="brier", method="percentile", rng=0, n_resamples=2000)
    assert (resampled.low, resampled.high) == pytest.approx((found.low, found.high), abs=0.004)
    counts = np.arange(500) % 3
    counted = cal.interval(y, p, metric="brier", counts=counts)
    written = cal.interval(np.repeat(y, counts), np.repeat(p, counts), metric="brier")
    assert (counted.low, counted.high) == pytest.approx((written.low, written.high), abs=1e-12)


@pytest.mark.parametrize("method", ["percentile", "basic", "bca"])
@pytest.mark.parametrize("metric", ["ece", "ecce_mad", "cwce"])
def test_intervals_are_reproducible_and_ordered(metric: str, method: str) -> None:
    y, p = predictions(1500)
    found = cal.interval(y, p, metric=metric, method=method, rng=3, n_resamples=200)
    again = cal.interval(y, p, metric=metric, method=method, rng=3, n_resamples=200, workers=4)
    assert found == again
    assert found.low < found.high
    assert found.sample is not None
    assert found.low - 0.02 < found.value < found.high + 0.02
    assert metric in repr(found)
    assert len(found.to_frame()) == 1


def test_cells_and_rows_resample_alike() -> None:
    y, p = predictions(5000)
    cells = cal.interval(y, p, metric="ece", rng=1, n_resamples=2000)
    rows = cal.interval(y, p, metric="ece", rng=1, n_resamples=2000, exact=True)
    assert (cells.low, cells.high) == pytest.approx((rows.low, rows.high), abs=0.0025)


def test_whole_groups_are_drawn_together() -> None:
    y, p = predictions(60)
    twice = np.concatenate([y, y]), np.concatenate([p, p])
    groups = np.tile(np.arange(60), 2)
    single = cal.interval(y, p, metric="esce", rng=0, n_resamples=1000, exact=True)
    clustered = cal.interval(*twice, metric="esce", cluster=True, groups=groups, rng=0, n_resamples=1000)
    naive = cal.interval(*twice, metric="esce", rng=0, n_resamples=1000)
    assert clustered.high - clustered.low == pytest.approx(single.high - single.low, rel=0.15)
    assert naive.high - naive.low < 0.85 * (clustered.high - clustered.low)
    with pytest.raises(cal.GroupError, match="are needed to draw whole groups"):
        cal.interval(y, p, metric="ece", cluster=True)


def test_strata_keep_their_sizes() -> None:
    y, p = predictions(300)
    found = cal.interval(y, p, metric="expected_observed_ratio", stratify=True, rng=0, n_resamples=300)
    free = cal.interval(y, p, metric="expected_observed_ratio", rng=0, n_resamples=300)
    assert found.high - found.low < 0.8 * (free.high - free.low)  # the number of events no longer varies


def test_intervals_near_zero_carry_a_note() -> None:
    calm = cal.make_calibrated(5000, rng=0)
    found = cal.interval(calm.y_true, calm.y_prob, metric="ece", rng=0, n_resamples=300)
    assert "lie above the value itself" in found.note
    assert "note" in repr(found)
    y, p = predictions(5000, power=2)
    assert cal.interval(y, p, metric="ece", rng=0, n_resamples=300).note == ""


def test_metrics_bring_their_own_intervals() -> None:
    slope = cal.interval(*B, metric="cox_slope")
    assert slope.method == "asymptotic"
    half = 1.959963984540054 * 0.6745414033
    assert (slope.low, slope.high) == pytest.approx((0.9985078395 - half, 0.9985078395 + half), abs=1e-8)
    intercept = cal.interval(*B, metric="cox_intercept")
    assert intercept.high - intercept.low == pytest.approx(2 * 1.959963984540054 * 0.8136341578, abs=1e-8)
    squared = cal.interval(*B, metric="l2ce_interval", bins=2)
    assert squared.low == 0
    assert squared.high == pytest.approx(-0.022 + 1.959963984540054 * 0.04365272042, abs=1e-9)
    with pytest.raises(cal.ArgumentError, match="no interval of its own"):
        cal.interval(*B, metric="ece", method="asymptotic")


def test_bad_arguments_are_named() -> None:
    for words, text in [
        ({"method": "magic"}, "method: must be one of"),
        ({"level": 0}, "level: must lie between 0 and 1"),
        ({"n_resamples": 50}, "n_resamples: must be at least 200"),
        ({"method": "normal"}, "needs a mean over rows"),
        ({"cluster": True, "stratify": True}, "exclude each other"),
    ]:
        with pytest.raises(cal.ArgumentError, match=text):
            cal.interval(*B, metric="ece", **words)  # type: ignore[arg-type]


def test_models_are_compared_on_the_same_rows() -> None:
    y, p = predictions(1500, power=1.5)
    better = p**1.5
    found = cal.compare(y, {"raw": p, "mended": better, "same": p.copy()}, metric="ece", rng=0, n_resamples=300)
    gain = found["raw", "mended"]
    assert gain.difference == cal.ece(y, p) - cal.ece(y, better)
    assert gain.low <= gain.difference
    assert gain.pvalue <= 0.02
    same = found["raw", "same"]
    assert (same.difference, same.low, same.high, same.pvalue) == (0, 0, 0, 1)
    assert found.values == {"raw": cal.ece(y, p), "mended": cal.ece(y, better), "same": cal.ece(y, p)}
    again = cal.compare(
        y, {"raw": p, "mended": better, "same": p.copy()}, metric="ece", rng=0, n_resamples=300, workers=2
    )
    assert found == again
    assert len(found.to_frame()) == 3
    assert "raw - mended" in repr(found)
    with pytest.raises(cal.ArgumentError, match="at least two models"):
        cal.compare(y, {"raw": p})
    with pytest.raises(cal.ArgumentError, match="was not compared"):
        found["mended", "other"]
    with pytest.raises(cal.ArgumentError, match=r"write result\[a, b\] with two of \['raw'"):
        found[0]
    assert repr(same) == "raw - same: 0 [0, 0], p = 1"


def test_many_rows_are_counted_in_cells_and_joint_lenses_are_not() -> None:
    y, p = predictions(5000)
    data = cal.Predictions(y, p)
    assert isinstance(choose_sampler([(cal.ece, {})], data, exact=False), CellSampler)
    assert isinstance(choose_sampler([(cal.ece, {})], data, exact=True), RowSampler)
    assert not isinstance(choose_sampler([(cal.cwce, {})], data, exact=False), CellSampler)


def test_an_infinite_value_has_no_standard_error() -> None:
    with pytest.raises(cal.UndefinedMetricError, match="infinite"):
        cal.interval([0, 1, 1], [0.2, 0.0, 0.7], metric="nll", method="normal")


def test_a_difference_can_be_read_from_either_side() -> None:
    y, p = [0, 1] * 50, [0.2, 0.8] * 50
    found = cal.compare(y, {"a": p, "b": [0.3, 0.7] * 50}, n_resamples=200, rng=0)
    there, back = found["a", "b"], found["b", "a"]
    assert (back.difference, back.low, back.high) == (-there.difference, -there.high, -there.low)
    assert (back.first, back.second, back.pvalue) == ("b", "a", there.pvalue)

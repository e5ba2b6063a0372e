"""interval and compare: values checked by hand, resampling schemes and errors."""

import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference.cells import CellSampler
from calibrant.inference.intervals import quantiles
from calibrant.inference.resampling import RowSampler
from calibrant.inference.sampler_choice import choose_sampler
from tests.calling import call, raises

from .test_assess import B


def predictions(n: int, seed: int = 0, power: float = 1.2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([n, seed])
    p = rng.random(n)
    return (rng.random(n) < p**power).astype(int), p


def test_normal_intervals_are_standard_errors() -> None:
    y, p = predictions(500)
    errors = np.square(y - p)
    found = cal.interval(y, p, metric="brier", method="normal")
    half = 1.959963984540054 * errors.std(ddof=1) / math.sqrt(500)
    assert found.method == "normal"
    assert (found.low, found.high) == pytest.approx((errors.mean() - half, errors.mean() + half), abs=1e-12)
    resampled = cal.interval(y, p, metric="brier", method="percentile", rng=0, n_resamples=2000)
    assert (resampled.low, resampled.high) == pytest.approx((found.low, found.high), abs=0.004)
    counts = np.arange(500) % 3
    counted = cal.interval(cal.Predictions(y, p, counts=counts), metric="brier")
    written = cal.interval(np.repeat(y, counts), np.repeat(p, counts), metric="brier")
    assert (counted.low, counted.high) == pytest.approx((written.low, written.high), abs=1e-12)


def test_cells_and_rows_resample_alike() -> None:
    y, p = predictions(3000)
    cells, rows = (
        cal.interval(y, p, metric="ece", method="percentile", rng=1, n_resamples=400, exact=exact)
        for exact in (False, True)
    )
    assert (cells.low, cells.high) == pytest.approx((rows.low, rows.high), abs=0.004)


def test_whole_groups_are_drawn_together() -> None:
    y, p = predictions(60)
    twice = np.concatenate([y, y]), np.concatenate([p, p])
    groups = np.tile(np.arange(60), 2)
    single = cal.interval(y, p, metric="esce", rng=0, n_resamples=1000, exact=True)
    clustered = cal.interval(
        cal.Predictions(*twice, groups=groups), metric="esce", cluster=True, rng=0, n_resamples=1000
    )
    naive = cal.interval(*twice, metric="esce", rng=0, n_resamples=1000)
    assert clustered.high - clustered.low == pytest.approx(single.high - single.low, rel=0.15)
    assert naive.high - naive.low < 0.85 * (clustered.high - clustered.low)


def test_metrics_bring_their_own_intervals() -> None:
    slope = cal.interval(*B, metric="cox_slope")
    assert slope.method == "wald"
    half = 1.959963984540054 * 0.6745414033
    assert (slope.low, slope.high) == pytest.approx((0.9985078395 - half, 0.9985078395 + half), abs=1e-8)
    intercept = cal.interval(*B, metric="cox_intercept")
    assert intercept.high - intercept.low == pytest.approx(2 * 1.959963984540054 * 0.8136341578, abs=1e-8)
    squared = cal.interval(*B, metric="l2ce_interval", bins=2)
    assert squared.low == 0
    assert squared.high == pytest.approx(-0.022 + 1.959963984540054 * 0.04365272042, abs=1e-9)


@pytest.mark.parametrize("metric", ["t_cal", "l2ce_interval"])
def test_unbiased_bounds_are_those_of_the_unbiased_value(metric: str) -> None:
    """By hand: bins of 4 and 3 rows, pairs over n - 1, and both parts of the variance."""
    y, p = np.array([0, 1, 0, 0, 1, 1, 1]), np.array([0.05, 0.15, 0.25, 0.35, 0.65, 0.75, 0.85])
    value = variance = 0.0
    influence = np.zeros(7)
    for rows in (slice(0, 4), slice(4, 7)):
        off, v = (p - y)[rows], (p * (1 - p))[rows]
        size = len(off)
        value += (off.sum() ** 2 - (off**2).sum()) / (size - 1) / 7
        variance += 2 * (v.sum() ** 2 - (v**2).sum()) / (size - 1) ** 2 / 49
        influence[rows] = 2 * off.mean() * off - off.mean() ** 2
    half = 1.959963984540054 * math.sqrt(variance + influence.var() / 7)
    found = cal.interval(y, p, metric=metric, bins=2, unbiased=True)
    assert found.method == "asymptotic"
    assert found.value == pytest.approx(value, abs=1e-15)
    assert (found.low, found.high) == pytest.approx((max(0.0, value - half), value + half), abs=1e-12)
    biased = cal.interval(y, p, metric=metric, bins=2)
    assert biased.high < found.high - 0.001
    counts = 1 + np.arange(7) % 3
    counted = cal.interval(cal.Predictions(y, p, counts=counts), metric=metric, bins=2)
    written = cal.interval(np.repeat(y, counts), np.repeat(p, counts), metric=metric, bins=2)
    assert (counted.low, counted.high) == pytest.approx((written.low, written.high), abs=1e-12)


def test_bounds_of_a_very_negative_value_are_in_order() -> None:
    y, p = np.tile([0, 1], 500), np.repeat(np.linspace(0.48, 0.52, 500), 2)
    found = cal.interval(y, p, metric="l2ce_interval", bins=400)
    assert found.value < 0
    assert (found.low, found.high >= 0) == (0, True)


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
    assert found.values["ece"] == {"raw": cal.ece(y, p), "mended": cal.ece(y, better), "same": cal.ece(y, p)}
    again = cal.compare(y, {"raw": p, "mended": better, "same": p.copy()}, metric="ece", rng=0, n_resamples=300)
    assert found == again
    assert len(found.to_frame()) == 3
    assert "raw - mended" in repr(found)
    with raises(cal.errors.ArgumentError, "pair"):
        found["mended", "other"]
    with raises(cal.errors.ArgumentError, "pair"):
        found[0]
    assert repr(same) == "ece, raw - same: 0 [0, 0], p = 1"


def test_many_rows_are_counted_in_cells_and_joint_lenses_are_not() -> None:
    y, p = predictions(5000)
    data = cal.Predictions(y, p)
    assert isinstance(choose_sampler([(cal.ece, {})], data, exact=False), CellSampler)
    assert isinstance(choose_sampler([(cal.ece, {})], data, exact=True), RowSampler)
    assert not isinstance(choose_sampler([(cal.cwce, {})], data, exact=False), CellSampler)


@pytest.mark.parametrize("method", ["auto", "normal", "percentile"])
def test_an_infinite_value_has_no_interval(method: str) -> None:
    with raises(cal.errors.UndefinedMetricError, "nll"):
        cal.interval([0, 1, 1], [0.2, 0.0, 0.7], metric="nll", method=method)


@pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")
def test_hard_scores_are_evaluated_without_another_warning() -> None:
    y, hard = np.tile([0, 1, 1, 0], 25), np.tile([0.0, 1.0, 0.0, 0.0], 25)
    names = ["spiegelhalter_z", "hosmer_lemeshow", "ecd", "nll", "ecce_mad", "brier"]
    results = {r.metric: r for r in cal.evaluate(y, hard, metrics=names, level=0.95, n_resamples=200, rng=0).results}
    for name in ("spiegelhalter_z", "hosmer_lemeshow", "ecd", "nll"):
        assert results[name].low is None
        assert results[name].note == "no interval: is infinite, so it has no interval"
    assert results["brier"].low is not None


def test_infinite_resamples_of_a_finite_value() -> None:
    """Without events the ratio of expected to observed is infinite, which about one resample in twenty is."""
    sample = np.append(np.arange(1.0, 96.0), [math.inf] * 5)
    assert quantiles(sample, (0.05, 0.95)) == (5.0, 95.0)
    assert quantiles(sample, (0.025, 0.975)) == (3.0, math.inf)
    assert quantiles(sample[:95], (0.0, 1.0)) == (1.0, 95.0)
    assert quantiles(np.array([-math.inf, 1.0]), (0.0, 1.0)) == (-math.inf, 1.0)


def test_a_difference_can_be_read_from_either_side() -> None:
    y, p = [0, 1] * 50, [0.2, 0.8] * 50
    found = cal.compare(y, {"a": p, "b": [0.3, 0.7] * 50}, n_resamples=200, rng=0)
    there, back = found["a", "b"], found["b", "a"]
    assert (back.difference, back.low, back.high) == (-there.difference, -there.high, -there.low)
    assert (back.first, back.second, back.pvalue) == ("b", "a", there.pvalue)


@pytest.mark.parametrize(("metric", "beside"), [("piece", "features"), ("piece", ""), ("pce", "groups")])
def test_a_value_for_each_row_cannot_follow_rows_that_are_drawn(metric: str, beside: str) -> None:
    rng = np.random.default_rng(41)
    score = rng.random(60)
    label = (rng.random(60) < score).astype(int)
    given = {"features": {"features": score[:, None]}, "groups": {"groups": rng.integers(3, size=60)}, "": {}}[beside]
    of_rows = {"piece": {"proximity": rng.random(60)}, "pce": {"partitions": [rng.integers(2, size=60)]}}[metric]
    words: dict[str, Any] = {"metric": metric, "rng": 0, **given, **of_rows}
    problem = f"{next(iter(of_rows))}: {metric} cannot be resampled with this option; pass (features|groups for one partition)"
    with pytest.raises(cal.errors.ArgumentError, match=problem):
        call(cal.interval, label, score, **words)
    with pytest.raises(cal.errors.ArgumentError, match=problem):
        call(cal.compare, label, {"one": score, "two": score / 2}, **words)
    with pytest.raises(cal.errors.ArgumentError, match=problem):
        call(cal.assess, label, score, method="resampled_scores", **words)
    with pytest.raises(cal.errors.ArgumentError, match=problem):
        call(cal.assess, label, score, counts=np.full(60, 2), **words)


def test_a_value_for_each_row_stays_with_rows_that_are_only_given_other_outcomes() -> None:
    rng = np.random.default_rng(42)
    score, near = rng.random(80), rng.random(80)
    label = (rng.random(80) < score).astype(int)
    words: dict[str, Any] = {"metric": "piece", "rng": 0, "n_resamples": 99}
    found = call(cal.assess, label, score, proximity=near, **words)
    assert found.statistic == cal.metrics.piece(label, score, proximity=near)
    weight = np.r_[np.zeros(5), np.ones(80)]
    longer = [np.r_[values[:5], values] for values in (label, score, near)]
    again = call(cal.assess, longer[0], longer[1], sample_weight=weight, proximity=longer[2], **words)
    assert again.statistic == found.statistic
    assert again.pvalue == pytest.approx(found.pvalue, abs=0.15)
    draws = [cal.metrics.piece(np.random.default_rng(b).random(80) < score, score, proximity=near) for b in range(99)]
    assert np.mean(draws) == pytest.approx(np.mean(found.null), abs=0.02)


@pytest.mark.parametrize("metric", ["t_cal", "l2ce_interval"])
def test_whole_distributions_have_no_interval_of_the_metric_so_rows_are_drawn(metric: str) -> None:
    rng = np.random.default_rng(43)
    probs = rng.dirichlet([1, 1, 1], 100)
    label = np.array([rng.choice(3, p=row) for row in probs])
    words: dict[str, Any] = {"metric": metric, "lens": "canonical", "rng": 0, "level": 0.8, "n_resamples": 50}
    found = call(cal.interval, label, probs, **words)
    assert found.method == "inversion"
    with raises(cal.errors.ArgumentError, "method"):
        call(cal.interval, label, probs, method="asymptotic", **words)


def test_few_events_are_said() -> None:
    found = cal.interval(np.zeros(300, int), np.full(300, 0.002), metric="calibration_in_the_large", method="normal")
    assert "only 0 rows have the rarer outcome" in found.note
    y = np.arange(300) < 4
    few_bootstrap = cal.interval(y, np.full(300, 0.02), metric="ece", method="percentile", rng=0, n_resamples=200)
    assert "only 4 rows" in few_bootstrap.note
    few = cal.interval(np.arange(300) < 5, np.full(300, 0.02), metric="brier", method="normal").note
    assert "only 5 rows have the rarer outcome; with fewer than 30 such rows the normal interval" in few
    assert cal.interval(np.arange(300) < 5, np.full(300, 0.02), metric="brier").note == ""  # made for few events
    assert "rarer" not in cal.interval(np.arange(300) < 30, np.full(300, 0.1), metric="brier", method="normal").note


def test_a_shift_in_log_odds_is_no_mean_over_rows() -> None:
    y, p = predictions(400)
    words: dict[str, Any] = {"metric": "calibration_in_the_large", "form": "logit", "n_resamples": 200, "rng": 0}
    assert call(cal.interval, y, p, **words).method == "wald"
    assert call(cal.interval, y, p, method="bootstrap", **words).method == "percentile"
    with raises(cal.errors.ArgumentError, "method"):
        call(cal.interval, y, p, method="normal", **words)
    with raises(cal.errors.UndefinedMetricError, "calibration_in_the_large"):
        cal.calibration_in_the_large.rows(y, p, form="logit")
    with raises(cal.errors.InputTypeError, "y_true"):
        cal.calibration_in_the_large.rows(cal.Sketch.of(y, p))


def unfriendly(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Scores and outcomes on which plain intervals fail: no bin count divides their number, ties, rare events, exact 0 and 1."""
    rng = np.random.default_rng(len(kind))
    score = {
        "even": rng.random(997),
        "grades": rng.choice([0.0, 0.1, 0.3, 0.8, 1.0], 211),
        "rare": rng.beta(0.5, 99.5, 397),
        "single": (0.2 + 0.5 * rng.random(103)).astype(np.float32),
    }[kind]
    return (rng.random(len(score)) < score).astype(int), score


@pytest.mark.parametrize("kind", ["even", "grades", "rare", "single"])
@pytest.mark.parametrize(
    "metric",
    [
        "ece",
        "ece_em",
        "ece_sweep",
        "cwce",
        "mce",
        "rmsce",
        "ecce_mad",
        "ce2_db",
        "ece_db",
        "drmsce",
        "mmce",
        "tce",
        "dici",
        "esce",
    ],
)
def test_every_interval_contains_its_estimate(metric: str, kind: str) -> None:
    y, p = unfriendly(kind)
    found = cal.interval(y, p, metric=metric, level=0.8, rng=1, n_resamples=50)
    assert found.low <= max(found.value, 0 if found.method == "inversion" else found.value) <= found.high
    low, high = cal.catalogue[metric].range
    assert low <= found.low
    assert found.high <= max(high, found.value)


def test_class_wise_errors_contain_their_estimate_too() -> None:
    rng = np.random.default_rng(8)
    for k in (4, 30):
        probs = rng.dirichlet(np.full(k, 0.3), 301)
        label = np.array([rng.choice(k, p=row) for row in probs])
        for found in cal.evaluate(label, probs, metrics=["ece", "cwce"], level=0.8, n_resamples=50).results:
            assert found.low <= found.value <= found.high


def test_a_negative_estimate_of_a_square_is_explained() -> None:
    found = cal.interval(*B, metric="l2ce_interval", bins=2)
    assert found.value < 0 == found.low
    assert "the estimate is negative, but the error cannot be" in found.note


def test_gamma_limits_of_events_are_those_of_poisson() -> None:
    """Of k events in very many rows: the exact limits of Garwood, a quantile of gamma(k) and one of gamma(k + 1)."""
    from scipy.stats import chi2

    n, rate = 200_000, 1e-5
    for events in (0, 1, 4, 20):
        y = np.zeros(n, np.uint8)
        y[:events] = 1
        found = cal.interval(y, np.full(n, rate), metric="calibration_in_the_large")
        low, high = ((rate - end) * n for end in (found.high, found.low))
        assert high == pytest.approx(chi2.ppf(0.975, 2 * (events + 1)) / 2, rel=2e-3)
        assert low == pytest.approx(chi2.ppf(0.025, 2 * events) / 2 if events else 0, abs=2e-3 * events + 1e-9)


def test_a_ratio_has_the_limits_of_its_inverse() -> None:
    y, p = unfriendly("even")
    found = cal.interval(y, p, metric="expected_observed_ratio")
    drawn = cal.interval(y, p, metric="expected_observed_ratio", method="percentile", rng=0, n_resamples=2000)
    assert found.method == "asymptotic"
    assert (found.low, found.high) == pytest.approx((drawn.low, drawn.high), rel=0.02)
    doubled = cal.interval(y, p, metric="expected_observed_ratio", sample_weight=np.full(len(y), 2.5))
    assert (doubled.low, doubled.high) == pytest.approx((found.low, found.high), rel=1e-12)


@pytest.mark.parametrize("k", [2, 4])
def test_gamma_limits_know_weights_counts_and_classes(k: int) -> None:
    rng = np.random.default_rng(k)
    probs = rng.dirichlet(np.full(k, 0.5), 400)
    label = np.array([rng.choice(k, p=row) for row in probs])
    counts = rng.integers(0, 4, 400)
    for metric in ("brier", "nll", "ecd", "spherical"):
        counted = cal.interval(cal.Predictions(label, probs, counts=counts), metric=metric)
        written = cal.interval(np.repeat(label, counts), np.repeat(probs, counts, axis=0), metric=metric)
        assert (counted.low, counted.high) == pytest.approx((written.low, written.high), rel=1e-9)
        assert counted.method == "gamma"
        weighted = cal.interval(label, probs, metric=metric, sample_weight=1 + counts)
        scaled = cal.interval(label, probs, metric=metric, sample_weight=7.5 * (1 + counts))
        assert (weighted.low, weighted.high) == pytest.approx((scaled.low, scaled.high), rel=1e-9)


def test_no_surprise_is_no_certainty() -> None:
    """All of 300 sure predictions right: the mean loss may be larger than that of these rows."""
    probs = np.full((300, 4), 0.01)
    label = np.arange(300) % 4
    probs[np.arange(300), label] = 0.97
    found = cal.interval(label, probs, metric="nll")
    assert found.high > found.value + 0.5 * 3.7 * -math.log(0.01) / 300
    assert found.low <= found.value


def test_bins_that_hardly_tell_scores_apart_are_said() -> None:
    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 99.5, 1000)
    y = (rng.random(1000) < 5 * p).astype(int)
    assert "of the rows lie in one bin" in cal.interval(y, p, metric="l2ce_interval").note
    assert "one bin" not in cal.interval(*predictions(1000), metric="l2ce_interval").note
    grades = rng.choice([0.1, 0.9], 300)
    assert "one bin" not in cal.interval((rng.random(300) < grades).astype(int), grades, metric="l2ce_interval").note


def test_two_columns_have_the_intervals_of_one() -> None:
    p = np.linspace(0.02, 0.97, 60)
    y = (np.random.default_rng(3).random(60) < p**1.5).astype(int)
    one, two = (
        cal.evaluate(y, probs, metrics=["cwce", "gece", "skce_uq", "vce", "ece"], level=0.8, n_resamples=50).to_frame()
        for probs in (p, np.column_stack([1 - p, p]))
    )
    np.testing.assert_allclose(one[["low", "high"]], two[["low", "high"]], rtol=1e-9)


FEW = np.array([[0.1, 0.2, 0.7], [0.2, 0.5, 0.3], [0.9, 0.05, 0.05]])


@pytest.mark.parametrize(
    ("metric", "y", "p", "options", "highest"),
    [
        ("brier", [0, 1, 1], [0.1, 0.2, 0.9], {}, 1),
        ("brier", [0, 1, 1], [0.1, 0.2, 0.9], {"scale": "sum"}, 2),
        ("brier", [0, 1, 2], FEW, {}, 2),
        ("brier", [0, 1, 2], FEW, {"scale": "per_class"}, 2 / 3),
        ("huber", [0, 1, 1], [0.1, 0.2, 0.9], {}, 0.375),
        ("ranked_probability", [0, 1, 1], [0.1, 0.2, 0.9], {}, 1),
        ("nll", [0, 1, 1], [0.1, 0.001, 0.9], {"floor": 0.1}, -math.log(0.1)),
    ],
)
def test_limits_of_a_loss_end_at_that_of_a_certain_wrong_prediction(
    metric: str, y: Any, p: Any, options: dict[str, Any], highest: float
) -> None:
    found = cal.interval(y, p, metric=metric, level=0.999, **options)
    assert found.low >= 0
    assert found.high == pytest.approx(highest, rel=1e-12)

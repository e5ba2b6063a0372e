"""Intervals of errors by inversion of their test: the lower limit and the test agree, thin cells, shapes of deviations."""

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference import inversion
from calibrant.inference.inversion import Entries, entries_of
from calibrant.inference.resampling import PredictionSampler
from calibrant.inference.sampler_choice import choose_sampler
from calibrant.inference.simultaneous import values_of_labels


def binary(n: int, seed: int, power: float = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng([n, seed])
    p = rng.beta(1, 1.5, n)
    return (rng.random(n) < p**power).astype(int), p


def several(n: int, k: int, seed: int, power: float = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng([n, k, seed])
    p = np.exp(rng.normal(0, 2.5, (n, k)))
    p /= p.sum(axis=1, keepdims=True)
    q = p**power
    q /= q.sum(axis=1, keepdims=True)
    return np.minimum((q.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), k - 1), p


@pytest.mark.parametrize("metric", ["ece", "ecce_mad", "ece_db", "tl_ece", "cwce"])
def test_the_lower_limit_is_0_exactly_where_the_test_does_not_reject(metric: str) -> None:
    lows = []
    for seed in range(6):
        y, p = binary(150, seed, power=1 + 0.3 * seed)
        found = cal.interval(y, p, metric=metric, level=0.8, n_resamples=50, rng=seed)
        tested = cal.assess(y, p, metric=metric, method="consistency", n_resamples=50, rng=seed)
        assert found.method == "inversion"
        assert (found.low == 0) == (tested.pvalue > 0.2)
        assert found.low <= max(found.value, 0) <= found.high
        lows.append(found.low)
    assert min(lows) == 0 < max(lows)


def test_rare_events_without_any() -> None:
    p = np.random.default_rng(0).beta(0.4, 19.6, 50)
    found = cal.interval(np.zeros(50, int), p, metric="ece", n_resamples=200)
    assert found.low == 0
    assert found.high > 0.03


def test_errors_of_one_side_have_limits_on_either_side() -> None:
    y, p = binary(300, 1, power=1.6)
    above, below = (cal.interval(y, p, metric=metric, n_resamples=200) for metric in ("abc_above", "abc_below"))
    assert (above.low, below.low > 0) == (0, True)
    assert 0 < above.high < below.low


def test_whole_groups_and_soft_labels_are_resampled() -> None:
    y, p = binary(120, 2)
    data = cal.Predictions(y, p, groups=np.arange(120) // 3)
    assert cal.interval(data, metric="ece", cluster=True, n_resamples=200).method == "bootstrap"
    soft = cal.Predictions(0.8 * y + 0.1, p, soft=True)
    assert cal.interval(soft, metric="ece", n_resamples=200).method == "bootstrap"


def shapes(metric: str, k: int) -> tuple[Entries, Any]:
    y, p = binary(400, 3, power=1.3) if k == 2 else several(400, k, 3, power=0.6)
    data = cal.Predictions(y, p, classes=range(k))
    chosen = cal.catalogue[metric]
    sampler = choose_sampler([(chosen, {})], data, exact=False)
    return entries_of(sampler, chosen, {}), sampler


@pytest.mark.parametrize(("metric", "k"), [("ece", 2), ("tl_ece", 4), ("cwce", 4), ("mdca", 4), ("gece", 4)])
def test_shapes_are_probabilities_that_begin_at_the_predicted_ones(metric: str, k: int) -> None:
    entries, sampler = shapes(metric, k)
    for shape in (entries.smooth(), entries.spread(), entries.selected()):
        np.testing.assert_allclose(shape(0.0), entries.chance, atol=1e-7)
        errors = []
        for size in (0.3, 3.0):
            chance = shape(size)
            assert 0 <= chance.min() <= chance.max() <= 1 + 1e-12
            if k > 2:
                np.testing.assert_allclose(chance.sum(axis=1), 1)
            plain = chance if k > 2 else chance[:, 0]
            errors.append(sampler.with_chance(plain).population_value(cal.catalogue[metric], {}))
        assert 0 < errors[0] < errors[1]


def test_spread_deviations_are_equal_in_standard_errors() -> None:
    entries, _ = shapes("ece", 2)
    rows, off = entries.sums(entries.weight), entries.sums(entries.spread()(0.001) - entries.chance)
    rate = entries.sums(entries.outcome) / rows
    variance = np.maximum(entries.chance * (1 - entries.chance), (rate * (1 - rate))[entries.cell])
    np.testing.assert_allclose(np.abs(off), 0.001 * np.sqrt(entries.sums(variance)), rtol=1e-6)


def test_selected_deviations_are_concentrated_in_a_bad_bin() -> None:
    rng = np.random.default_rng(5)
    p = rng.random(5000)
    p.sort()  # samplers have the rows in the order of their scores
    bad = (p > 0.4) & (p <= 0.4 + 1 / 15)
    y = (rng.random(5000) < np.where(bad, p + 0.4, p)).astype(int)
    sampler = choose_sampler([(cal.ece, {})], cal.Predictions(y, p), exact=True)
    entries = entries_of(sampler, cal.ece, {})
    moved = np.abs(entries.selected()(0.5) - entries.chance)[:, 0]
    assert moved[bad].min() > 5 * moved[~bad].max()


def test_debiased_errors_of_many_copies_are_those_of_the_population() -> None:
    y, p = binary(300, 7)
    order = np.lexsort((y, p))  # that of a sampler
    y, p = y[order], p[order]
    q = p**1.4
    sampler = choose_sampler([(cal.ce2_db, {})], cal.Predictions(y, p), exact=True)
    population = sampler.with_chance(q).population_value(cal.ce2_db, {})
    soft = cal.rmsce(cal.Predictions(q, p, soft=True), binning="equal_mass") ** 2
    assert population == pytest.approx(soft, rel=1e-4)


def test_labels_follow_other_probabilities() -> None:
    y, p = several(3000, 3, 0)
    sampler = PredictionSampler(cal.Predictions(y, p))
    other = np.tile([0.7, 0.2, 0.1], (3000, 1))
    drawn = sampler.with_chance(other).resample(np.random.default_rng(0), "outcomes")
    labels = drawn.views(cal.mdca, {})[0].labels
    np.testing.assert_allclose(np.bincount(labels) / 3000, [0.7, 0.2, 0.1], atol=0.03)
    assert sampler.chance is sampler.predictions.probs


def test_pvalues_at_the_least_of_resamples_are_bounds() -> None:
    y, p = binary(400, 1, power=3)
    tested = cal.assess(y, p, metric="ece", n_resamples=199)
    assert tested.pvalue == tested.least_pvalue == 1 / 200
    assert "p ≤ 0.005" in tested.verdict
    assert "p-value ≤ 0.005" in repr(tested)
    summary = cal.evaluate(y, p, metrics=["ece"], assess=True, n_resamples=199)
    assert "≤ 0.005" in repr(summary)
    assert cal.assess(y, p, metric="spiegelhalter_z", method="normal").least_pvalue == 0


def test_replicates_of_skce_uq_have_as_many_parts_as_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    from calibrant.inference.simultaneous import resampled_values
    from calibrant.metrics.kernel import embeddings

    y, p = several(120, 3, 0)
    monkeypatch.setattr(embeddings, "SMALLEST_PART", 20)
    monkeypatch.setattr(embeddings, "MOST_PAIR_WORK", 120**2 * 18 / 1.5)
    parts = []
    original = embeddings.without_own

    def recorded(cloud: Any, kernel: Any, count: int) -> tuple[float, float]:
        parts.append(count)
        return original(cloud, kernel, count)

    monkeypatch.setattr("calibrant.inference.pair_resampling.without_own", recorded)
    sampler = PredictionSampler(cal.Predictions(y, p))
    values = resampled_values([(cal.metrics.skce_uq, {})], sampler, "rows", 5, 0)
    assert np.isfinite(values).all()
    assert parts == [2] * 5


def test_tied_scores_are_as_many_rows_as_they_are() -> None:
    """The events of many rows of one score vary as those of single rows: the lower limit is not that of a deviation in a few rare scores."""
    for seed in range(1):
        rng = np.random.default_rng(seed)
        p = rng.beta(1, 8, 1500).round(2)
        y = (rng.random(1500) < np.clip(1.5 * p, 0, 1)).astype(int)
        tied = cal.interval(y, p, metric="ece", n_resamples=200)
        apart = cal.interval(y, np.clip(p + 1e-6 * rng.random(1500), 0, 1), metric="ece", n_resamples=200)
        assert tied.low > 0.02
        assert tied.low == pytest.approx(apart.low, abs=0.01)
        assert tied.high == pytest.approx(apart.high, abs=0.01)


def test_shapes_and_sizes_of_deviations_are_evaluated_together() -> None:
    y, p = binary(400, 3, power=1.3)
    calls = []

    def together(*arguments: Any) -> Any:
        calls.append(arguments)
        return values_of_labels(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inversion, "values_of_labels", together)
        found = cal.interval(y, p, metric="ece", n_resamples=200)
    # One call for all shapes, and one for each further step of the pilot.
    assert 1 <= len(calls) <= 1 + inversion.STEPS
    assert len(calls[0][2]) == inversion.STEPS * (3 if found.low > 0 else 2)

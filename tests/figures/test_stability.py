"""The stability picture: values against the metric itself, the region against its definition, the picture against its data."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cal
from calibrant.figures.stability import _agreement, _longest_run, stability_diagram
from tests.calling import call

from .pictures import assert_readable, assert_same

SIM = cal.inference.make_miscalibrated(1500, warp=cal.inference.simulation.temperature(2.0), rng=6)
Y, P = SIM.y_true, SIM.y_prob
MANY = cal.inference.make_miscalibrated(
    600, warp=cal.inference.simulation.temperature(1.5), distribution=[0.4] * 4, rng=7
)


def test_values_are_those_of_the_metric() -> None:
    shown = stability_diagram(Y, P, values=[20, 2, 10], n_resamples=2, binning="equal_mass")
    assert shown.values == (2, 10, 20)
    assert_same(shown.metric_value, [cal.ece(Y, P, bins=b, binning="equal_mass") for b in (2, 10, 20)])
    gammas = stability_diagram(MANY.predictions, metric="gece", over="gamma", values=[0.5, 0.1], n_resamples=2)
    assert_same(gammas.metric_value, [cal.gece(MANY.predictions, gamma=gamma) for gamma in (0.1, 0.5)])


def test_the_spread_is_that_of_a_mean() -> None:
    low = 0.4 * P  # one bin's gap far from 0, so that its absolute value is no fold
    shown = stability_diagram(Y, low, metric="ece", values=[1], n_resamples=120, rng=1)
    gap = low - Y
    assert shown.spread[0] == pytest.approx(gap.std() / np.sqrt(1500), rel=0.25)
    assert shown.high[0] - shown.metric_value[0] == pytest.approx(1.959964 * shown.spread[0], rel=1e-6)
    counted = stability_diagram(cal.Predictions(Y, low, counts=np.full(1500, 4)), values=[1], n_resamples=120, rng=1)
    assert counted.spread[0] == pytest.approx(shown.spread[0] / 2, rel=0.25)
    weight = np.full(1500, 0.7)
    same = stability_diagram(Y, low, sample_weight=weight, values=[1], n_resamples=120, rng=1)
    assert same.spread[0] == pytest.approx(shown.spread[0], rel=1e-9)


def test_fractions_of_the_rows() -> None:
    shown = stability_diagram(Y, P, metric="brier", over="fraction", values=[0.05, 0.2, 1.0], n_resamples=200, rng=2)
    rows = (P - Y) ** 2
    for place, share in enumerate(shown.values):
        assert shown.spread[place] == pytest.approx(rows.std() / np.sqrt(share * 1500), rel=0.2)
        assert shown.metric_value[place] == pytest.approx(rows.mean(), abs=4 * shown.spread[place] / np.sqrt(200))
        assert shown.low[place] < shown.metric_value[place] < shown.high[place]
    counted = stability_diagram(
        cal.Predictions(Y, P, counts=np.full(1500, 4)),
        metric="brier",
        over="fraction",
        values=[0.25],
        n_resamples=100,
        rng=2,
    )
    assert counted.spread[0] == pytest.approx(rows.std() / np.sqrt(1500), rel=0.25)


def agrees(value: Any, chance: Any, sample: Any, null: Any, level: float, i: int, j: int) -> bool:
    """The definition, difference by difference: neither value is below three quarters of the other, by chance excluded."""
    draws, settings = len(sample), range(len(value))

    mean = [sum(column) / draws for column in np.transpose(sample)]

    def noise(b: int, k: int) -> float:
        return float(sample[b][k] - mean[k] + (null[b][k] - chance[k]) / math.sqrt(draws))

    def deviations(k: int, m: int) -> list[float]:
        return [noise(b, k) - 0.75 * noise(b, m) for b in range(draws)]

    spread = {(k, m): float(np.std(deviations(k, m), ddof=1)) for k in settings for m in settings}
    largest = sorted(max(deviations(*pair)[b] / spread[pair] for pair in spread) for b in range(draws))
    critical = largest[math.ceil(level * (draws - 1))]
    excess = [v - c for v, c in zip(value, chance, strict=True)]
    pairs = ((i, j), (j, i))
    return all(c[k] - 0.75 * c[m] > critical * spread[k, m] for c in (value, excess) for k, m in pairs)


def test_settings_agree_by_the_definition() -> None:
    rng = np.random.default_rng(0)
    seen = set()
    for number in range(2):
        value = 0.2 + 0.02 * rng.random(4)
        null = 0.01 * np.arange(1, 5) + 0.004 * rng.random((9, 4))
        sample = value + 0.008 * (1 + 3 * number) * rng.normal(size=(9, 1)) + 0.008 * rng.normal(size=(9, 4))
        result = _agreement(cal.catalogue["gece"], value, sample, null, 0.9)
        for i in range(4):
            for j in range(4):
                assert result[i, j] == agrees(value, null.mean(axis=0), sample, null, 0.9, i, j)
                seen.add(bool(result[i, j]))
    assert seen == {True, False}


def test_what_is_not_an_unsigned_error_is_judged_by_its_value() -> None:
    rng = np.random.default_rng(1)
    value = np.array([0.2, 0.21, 0.2])
    sample, null = value + 0.001 * rng.normal(size=(20, 3)), value + 0.001 * rng.normal(size=(20, 3))
    agree = {id: _agreement(cal.catalogue[id], value, sample, null, 0.95) for id in ("gece", "esce", "brier")}
    assert not agree["gece"].any()  # nothing beyond chance
    assert agree["esce"].all()
    assert agree["brier"].all()
    np.testing.assert_array_equal(_agreement(cal.catalogue["esce"], -value, -sample, null, 0.95), agree["esce"])
    assert _agreement(cal.catalogue["ece"], value, sample, np.full((20, 3), np.nan), 0.95).all()  # soft labels
    sample[:3, 1] = np.nan  # undefined in more than a tenth of the resamples
    assert not _agreement(cal.catalogue["brier"], value, sample, null, 0.95)[1].any()


@settings(max_examples=60, deadline=None)
@given(value=st.lists(st.integers(1, 6), min_size=1, max_size=8), seed=st.integers(0, 99))
def test_the_region_is_the_longest_run_of_settings_that_agree(value: list[int], seed: int) -> None:
    drawn = np.random.default_rng(seed).random((len(value), len(value))) < 0.8
    agree = drawn & drawn.T
    np.fill_diagonal(agree, True)
    region, plateau = _longest_run(np.array(value, dtype=float), value, agree)
    different = [
        len(set(value[start:end]))
        for start in range(len(value))
        for end in range(start + 3, len(value) + 1)
        if all(agree[i, j] for i in range(start, end) for j in range(start, end))
    ]
    if max(different, default=0) < 3:
        assert region is None
        assert math.isnan(plateau)
        return
    assert region is not None
    run = value[region[0] : region[1] + 1]
    assert len(set(run)) == max(different)
    assert agree[region[0] : region[1] + 1, region[0] : region[1] + 1].all()
    assert plateau == (max(run) + min(run)) / 2


@pytest.mark.parametrize("rows", [500, 1000])
def test_calibrated_predictions_have_no_stable_region(rows: int, deep: bool) -> None:
    # The error rises with the number of cells by a factor of 1.4 to 3.7 in these samples.
    for seed in range(8 if deep else 2):
        data = cal.inference.make_calibrated(rows, distribution=[0.4] * 4, rng=seed)
        shown = stability_diagram(data.predictions, metric="gece", over="gamma", rng=seed)
        assert shown.region is None
        assert shown.suggested is None


def test_the_stable_region_is_named_in_its_middle() -> None:
    drawn = replace(stability_diagram(Y, P, values=[5, 10, 15, 20], n_resamples=2), region=(1, 3), plateau=0.1)
    (note,) = [text for text in drawn.plot()[0].texts if text.get_text() == "stable at 0.100"]
    assert note.get_position()[0] == 15


def test_the_suggestion_is_the_coarsest_setting_of_the_region() -> None:
    data = cal.inference.make_miscalibrated(
        8000, warp=cal.inference.simulation.temperature(2.0), distribution=[1.0] * 3, rng=0
    )
    shown = stability_diagram(data.predictions, metric="gece", over="gamma", rng=0)
    assert shown.suggested == max(shown.stable)
    assert f"suggested gamma {shown.suggested:.3g}" in repr(shown)
    assert shown.plateau == pytest.approx(data.calibration_error(), rel=0.1)
    # One cell holds errors that cancel, and the smallest cells are noise.
    assert {0.5, 2.0**-8}.isdisjoint(shown.stable)


def test_the_tree_of_one_score_per_row() -> None:
    gammas = [0.5, 0.125, 0.02]
    lens = {"lens": "top_label"}
    trees = [cal.gece(MANY.predictions, gamma=gamma, **lens) for gamma in sorted(gammas)]
    shown = call(stability_diagram, MANY.predictions, metric="gece", over="gamma", values=gammas, n_resamples=3, **lens)
    assert_same(shown.metric_value, trees)
    assert len(set(trees)) == 3
    assert_same(trees, [cal.gece(MANY.predictions, binning=cal.KDTree(gamma), **lens) for gamma in sorted(gammas)])


def test_settings_with_the_same_cells_count_once() -> None:
    # With at least 40 rows in a cell, no tree of these 600 splits beyond 8 cells: all finer settings are one.
    gammas = [0.5, 0.1, 0.05, 0.02, 0.01, 0.001]
    words: dict[str, Any] = {"min_size": 40, "n_resamples": 20, "rng": 0, "level": 0.01}
    shown = call(stability_diagram, MANY.predictions, metric="gece", over="gamma", values=gammas, **words)
    assert len(set(shown.metric_value[:-1])) == 1
    assert shown.region is None
    assert math.isnan(shown.plateau)
    assert shown._columns()["stable"] == [False] * 6


def test_what_calibrated_labels_would_give() -> None:
    words: dict[str, Any] = {"metric": "gece", "over": "gamma", "values": [0.5, 0.1, 0.01, 0.001], "rng": 4}
    shown = call(stability_diagram, MANY.predictions, n_resamples=25, **words)
    for place, gamma in enumerate(shown.values):
        exact = cal.gece(MANY.predictions, gamma=gamma) - cal.gece_db(MANY.predictions, gamma=gamma)
        spread = (shown.chance_high[place] - shown.chance_low[place]) / (2 * 1.96)
        assert shown.by_chance[place] == pytest.approx(exact, abs=4 * spread / math.sqrt(25))
        assert shown.chance_low[place] < exact < shown.chance_high[place]
    assert shown.by_chance[0] == shown.by_chance[1]
    assert shown.to_dict()["by_chance"] == shown.by_chance.tolist()


def test_chance_of_bins_counts_and_shares() -> None:
    shown = stability_diagram(Y, P, values=[1, 10], n_resamples=60, rng=1)
    # One bin: the mean absolute value of a nearly normal mean residual.
    sigma = math.sqrt((P * (1 - P)).sum()) / 1500
    assert shown.by_chance[0] == pytest.approx(sigma * math.sqrt(2 / math.pi), rel=0.4)
    counted = stability_diagram(cal.Predictions(Y, P, counts=np.full(1500, 4)), values=[1], n_resamples=60, rng=1)
    assert counted.by_chance[0] == pytest.approx(shown.by_chance[0] / 2, rel=0.4)
    parts = stability_diagram(Y, P, over="fraction", values=[0.1, 1.0], n_resamples=30, rng=1)
    assert parts.by_chance[0] > 2 * parts.by_chance[1]
    assert parts.suggested is None
    soft = stability_diagram(
        cal.Predictions(np.full(50, 0.5), np.linspace(0.1, 0.9, 50), soft=True), values=[2, 3, 5], n_resamples=5, rng=0
    )
    assert np.isnan(soft.by_chance).all()


def test_between_too_few_and_too_many_bins() -> None:
    # A gap that changes sign twice: one bin hides it, hundreds of bins see chance.
    rng = np.random.default_rng(0)
    p = rng.random(8000)
    y = rng.random(8000) < p + 0.2 * np.sin(4 * np.pi * p) * np.minimum(p, 1 - p) * 2
    shown = stability_diagram(y, p, values=[1, 2, 8, 12, 16, 24, 1000], rng=0)
    assert shown.stable == (8, 12, 16, 24)
    assert shown.metric_value[0] < shown.plateau < shown.metric_value[-1]


def test_gamma_runs_from_coarse_to_fine() -> None:
    shown = stability_diagram(MANY.predictions, metric="gece", over="gamma", n_resamples=3, rng=0)
    axes = shown.plot()
    left, right = axes[0].get_xlim()
    assert left > right
    assert_readable(axes)


def test_intervals_stay_within_what_the_metric_can_be() -> None:
    drawn = cal.inference.make_calibrated(60, rng=3)
    shown = stability_diagram(drawn.y_true, drawn.y_prob, values=[1, 2, 5], n_resamples=40, level=0.999, rng=0)
    assert shown.low.min() == 0
    np.testing.assert_array_less(shown.low, shown.metric_value + 1e-12)
    free = stability_diagram(
        drawn.y_true, drawn.y_prob, metric="ce2_db", values=[2, 5, 10], n_resamples=40, level=0.999, rng=0
    )
    assert free.low.min() < 0

"""The stability picture: values against the metric itself, the region against its definition, the picture against its data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cal
from calibrant.figures.stability import _stable, _suggested, stability_diagram
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
    shown = stability_diagram(Y, low, metric="ece", values=[1], n_resamples=300, rng=1)
    gap = low - Y
    assert shown.spread[0] == pytest.approx(gap.std() / np.sqrt(1500), rel=0.25)
    assert shown.high[0] - shown.metric_value[0] == pytest.approx(1.959964 * shown.spread[0], rel=1e-6)
    counted = stability_diagram(cal.Predictions(Y, low, counts=np.full(1500, 4)), values=[1], n_resamples=300, rng=1)
    assert counted.spread[0] == pytest.approx(shown.spread[0] / 2, rel=0.25)
    weight = np.full(1500, 0.7)
    same = stability_diagram(Y, low, sample_weight=weight, values=[1], n_resamples=300, rng=1)
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


def brute_region(value: list[float], lower: list[float], upper: list[float]) -> int:
    """The length of the longest run that fits, by the definition."""
    best = 0
    for start in range(len(value)):
        for end in range(start + 3, len(value) + 1):
            fits = any(
                all(low <= point <= high for low, high in zip(lower[start:end], upper[start:end], strict=True))
                for point in lower[start:end]
            )
            best = max(best, end - start) if fits else best
    return best


@settings(max_examples=80, deadline=None)
@given(
    value=st.lists(st.integers(1, 40).map(lambda k: k / 32), min_size=1, max_size=9),
    half=st.integers(1, 9).map(lambda k: k / 64),
)
def test_the_region_is_the_longest_run_that_fits(value: list[float], half: float) -> None:
    lower, upper = [v - half for v in value], [v + half for v in value]
    region, plateau = _stable(np.array(value), np.array(lower), np.array(upper))
    wanted = brute_region(value, lower, upper)
    if wanted == 0:
        assert region is None
        assert math.isnan(plateau)
        return
    assert region is not None
    assert region[1] - region[0] + 1 == wanted
    run = value[region[0] : region[1] + 1]
    assert plateau == (max(run) + min(run)) / 2


def test_settings_with_the_same_cells_count_once() -> None:
    # With at least 40 rows in a cell, no tree of these 600 splits beyond 8 cells: all finer settings are one.
    gammas = [0.5, 0.1, 0.05, 0.02, 0.01, 0.001]
    words: dict[str, Any] = {"min_size": 40, "n_resamples": 20, "rng": 0, "level": 0.3}
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


def coarsest_of_the_best(settings: Any, value: Any, null: Any) -> float:
    """The rule in its own words: gamma from large to small, the first that is close to the best."""
    excess = {g: v - float(np.mean(n)) for g, v, n in zip(settings, value, np.transpose(null), strict=True)}
    best = max(excess, key=lambda g: excess[g])
    slack = float(np.std(np.transpose(null)[list(settings).index(best)], ddof=1))
    return next(g for g in sorted(settings, reverse=True) if excess[g] >= excess[best] - slack)


def test_the_suggested_setting_follows_its_rule() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        value, null = rng.random(5) * 0.1, rng.random((8, 5)) * 0.1
        settings = (0.01, 0.05, 0.1, 0.2, 0.5)
        found = _suggested(cal.catalogue["gece"], "gamma", settings, value - null.mean(axis=0), null)
        assert found == coarsest_of_the_best(settings, value, null)
        assert _suggested(cal.catalogue["gece"], "fraction", settings, value, null) is None
        assert _suggested(cal.catalogue["esce"], "bins", settings, value, null) is None
    assert _suggested(cal.catalogue["ece"], "bins", (2, 5, 9), np.array([0.1, 0.1, 0.1]), np.zeros((3, 3))) == 2


def test_the_suggestion_is_between_cancelling_and_noise(deep: bool) -> None:
    chosen, excess = [], []
    for seed in range(12 if deep else 1):
        data = cal.inference.make_miscalibrated(
            2000, warp=cal.inference.simulation.temperature(2.0), distribution=[1.0] * 3, rng=seed
        )
        words: dict[str, Any] = {"metric": "gece", "over": "gamma", "values": [2.0**-k for k in (1, 2, 3, 5, 7)]}
        shown = call(stability_diagram, data.y_true, data.y_prob, n_resamples=12, rng=seed, **words)
        chosen.append(shown.suggested)
        excess.append(shown.metric_value - shown.by_chance)
        assert f"suggested gamma {shown.suggested:.3g}"[:18] in repr(shown)
    assert {0.5, 2.0**-7}.isdisjoint(chosen)
    # No excess is above the true error, and the suggested one is the closest.
    mean = np.mean(excess, axis=0)
    assert mean.max() < data.calibration_error()
    assert mean[1:3].max() > max(mean[0], mean[-1])


def test_a_missing_value_ends_a_run() -> None:
    value = np.array([1.0, 1.0, np.nan, 1.0, 1.0, 1.0])
    region, plateau = _stable(value, value - 0.1, value + 0.1)
    assert region == (3, 5)
    assert plateau == 1


def test_between_too_few_and_too_many_bins() -> None:
    # A gap that changes sign twice: one bin hides it, hundreds of bins see chance.
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    y = rng.random(3000) < p + 0.2 * np.sin(4 * np.pi * p) * np.minimum(p, 1 - p) * 2
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

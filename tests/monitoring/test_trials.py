"""False alarms over simulated years, and how many rows a wrong temperature takes to be found."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from calibrant.errors import ArgumentError, InputError
from calibrant.inference.simulation.simulate import temperature
from calibrant.monitoring.alternatives import Wagers
from calibrant.monitoring.changepoint import detect_changes
from calibrant.monitoring.trials import detector_threshold, simulate_watch

GRID = np.arange(1, 20) / 20
BETTING = Wagers(shifts=(), slopes=(), learner="mean")
BINNED = Wagers(learner=None, edges=tuple(np.arange(6) / 5))


def most_alarms(streams: int, alpha: float) -> int:
    """More are seen with probability below 0.1 % if the level holds."""
    return int(stats.binom.isf(0.001, streams, alpha))


@pytest.mark.parametrize("wagers", [None, BETTING, BINNED], ids=["default", "betting", "bins"])
def test_years_without_change_are_quiet(wagers: Wagers | None) -> None:
    found = simulate_watch(GRID, rows=5, windows=365, streams=200, wagers=wagers, rng=1)
    assert found.alarms <= most_alarms(200, 0.05)
    assert found.rate_at_most >= found.rate
    assert found.alarms > 0  # the bound is not idle


@pytest.mark.deep
@pytest.mark.parametrize("law", [(2, 2), (0.5, 0.5), (1, 30)])
@pytest.mark.parametrize("wagers", [None, BETTING, BINNED], ids=["default", "betting", "bins"])
def test_a_thousand_years_without_change_are_quiet(law: tuple[float, float], wagers: Wagers | None) -> None:
    scores = np.random.default_rng(0).beta(*law, 5000)
    found = simulate_watch(scores, rows=20, windows=365, streams=1000, wagers=wagers, rng=2)
    assert found.alarms <= most_alarms(1000, 0.05)


@pytest.mark.parametrize(
    ("law", "median", "most"), [((2, 2), 1500, 3500), ((1, 1), 1000, 2400), ((0.5, 0.5), 900, 2000)]
)
def test_temperature_is_found_within_so_many_rows(law: tuple[float, float], median: int, most: int) -> None:
    scores = np.random.default_rng(0).beta(*law, 5000)
    found = simulate_watch(scores, rows=100, windows=100, streams=100, truth=temperature(1.3), rng=3)
    assert found.rate == 1.0
    assert found.rows_to_alarm(0.5) <= median
    assert found.rows_to_alarm(0.9) <= most


def test_a_late_change_is_counted_from_where_it_began() -> None:
    found = simulate_watch(GRID, rows=100, windows=60, after=10, streams=60, truth=temperature(2.0), rng=4)
    later = found.first[found.first > 10]
    assert found.rows_to_alarm(0.5) == pytest.approx(100 * (np.sort(later)[math.ceil(len(later) / 2) - 1] - 10))
    assert found.rows_to_alarm(0.5) < 1500


def test_same_seed_same_streams() -> None:
    a, b = (simulate_watch(GRID, rows=10, windows=20, streams=50, truth=temperature(3), rng=5) for _ in range(2))
    np.testing.assert_array_equal(a.first, b.first)
    assert a.to_dict()["streams"] == 50
    assert "streams had an alarm" in repr(a)
    assert len(a.to_frame()) == 50


def test_simulated_threshold_meets_the_run_length() -> None:
    wagers = Wagers(shifts=(0.5,), slopes=(), learner=None)
    rng = np.random.default_rng(0)
    scores = rng.beta(2, 2, 4000)
    threshold = detector_threshold(scores, run_length=200, streams=150, wagers=wagers, rng=1)
    assert 5 < threshold < 10  # 7 was found elsewhere, by simulation
    p = rng.beta(2, 2, 60_000)
    y = (rng.random(60_000) < p).astype(int)
    gaps = np.diff([0, *detect_changes(y, p, run_length=threshold, kind="cusum", wagers=wagers).alarms])
    assert gaps.mean() == pytest.approx(200, rel=4 / math.sqrt(len(gaps)) + 0.1)


def test_refusals() -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        simulate_watch([0.5, 1.5])
    with pytest.raises(ArgumentError, match="rows"):
        simulate_watch(GRID, rows=0)
    with pytest.raises(ArgumentError, match="after"):
        simulate_watch(GRID, after=-1)
    with pytest.raises(ArgumentError, match="streams"):
        detector_threshold(GRID, run_length=10, streams=1)

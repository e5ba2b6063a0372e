"""Detectors: published recursions, their mean under no change, run lengths, and where a change is placed."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError, InputError, LensError
from calibrant.monitoring.alternatives import Wagers
from calibrant.monitoring.changepoint import detect_changes, locate_change
from calibrant.monitoring.detectors import EDetector, start_detector

B = np.array([0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95])
Y = np.array([0, 1, 0, 0, 1, 0, 1, 1, 1, 1])
HALF = Wagers(shifts=(0.5,), slopes=(), learner=None)
ONE = Wagers(shifts=(1.0,), slopes=(), learner=None)


def test_published_recursions() -> None:
    wanted = [
        0.9685829809, 2.9578241204, 3.4055163904, 3.5903244472, 5.8580552771,
        5.054593133, 7.0215624776, 8.8967079273, 10.5174521725, 11.7485876236,
    ]  # fmt: skip
    np.testing.assert_allclose(detect_changes(Y, B, run_length=1e6, wagers=HALF).path, wanted, atol=5e-10)
    cusum = detect_changes(Y, B, run_length=1e6, kind="cusum", wagers=HALF)
    assert cusum.path[-1] == pytest.approx(1.3943384335, abs=5e-11)
    assert detect_changes(Y, B, run_length=1e6, wagers=ONE).path[-1] == pytest.approx(11.4758287926, abs=5e-10)
    last = detect_changes(Y, B, run_length=1e6, kind="cusum", wagers=ONE).path[-1]
    assert last == pytest.approx(1.7398551623, abs=5e-11)


@pytest.mark.parametrize("kind", ["sr", "cusum"])
def test_path_equals_the_recursion_with_restarts(kind: str) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(9000)
    y = (rng.random(9000) < np.where(np.arange(9000) < 3000, p, 0.5 + p / 2)).astype(int)
    wagers = Wagers(shifts=(0.5, -0.5), slopes=(2.0,), learner=None)
    found = detect_changes(y, p, run_length=200, kind=kind, wagers=wagers)
    factors = np.exp(wagers.each_row(p, y.astype(float)))
    m, path, alarms = np.zeros(3), [], []
    for t, e in enumerate(factors, 1):
        m = (m + 1 if kind == "sr" else np.maximum(m, 1)) * e
        path.append(m.mean())
        if m.mean() >= 200:
            alarms.append(t)
            m = np.zeros(3)
    np.testing.assert_allclose(found.path, path, rtol=1e-9)
    assert found.alarms == tuple(alarms)
    assert len(alarms) > 3
    assert all(onset < alarm for onset, alarm in zip(found.onsets, alarms, strict=True))


def test_mean_under_no_change_is_the_number_of_steps() -> None:
    p = B[2:9]
    total = 0.0
    for labels in itertools.product((0, 1), repeat=7):
        chance = math.prod(q if y else 1 - q for q, y in zip(p.tolist(), labels, strict=True))
        total += chance * detect_changes(np.array(labels), p, run_length=1e9).path[-1]
    assert total == pytest.approx(7, abs=1e-10)


def test_windows_give_the_state_the_same_alarms() -> None:
    windows = []
    for day in range(30):
        warp = cal.simulate.bias(0.0 if day < 15 else 0.8)
        drawn = cal.make_miscalibrated(60, warp=warp, rng=day)
        windows.append(cal.Sketch.of(drawn.y_true, drawn.y_prob))
    windows.insert(3, cal.Sketch.empty("binary"))
    state = start_detector(run_length=1000, lens="binary")
    for window in windows:
        state = EDetector.of_dict(json.loads(json.dumps(state.to_dict(), allow_nan=False))).update(window)
    found = detect_changes(windows, run_length=1000)
    assert state.alarms == found.alarms
    assert state.windows == 31
    assert len(found.alarms) >= 1
    assert all(16 <= when <= 31 for when in found.alarms)
    assert abs(found.onsets[0] - 16) <= 2
    where = locate_change(windows)
    assert where.low <= 16 <= where.high
    assert where.unit == "window"
    assert "logit" in where.alternative


@pytest.mark.parametrize("kind", ["sr", "cusum"])
def test_run_length_is_at_least_the_promise(kind: str) -> None:
    rng = np.random.default_rng(1)
    p = rng.beta(2, 2, 60_000)
    y = (rng.random(60_000) < p).astype(int)
    alarms = detect_changes(y, p, run_length=100, kind=kind, wagers=HALF).alarms
    gaps = np.diff([0, *alarms])
    assert len(p) / max(1, len(gaps)) >= 100 * (1 - 3 / math.sqrt(max(1, len(gaps))))
    if kind == "sr":
        assert gaps.mean() < 130  # and not much more: the bound is nearly met


def test_place_of_the_change_is_covered() -> None:
    rng = np.random.default_rng(2)
    covered, off = 0, []
    for _ in range(60):
        p = rng.beta(2, 2, 1500)
        true = 1 / (1 + np.exp(-(np.log(p / (1 - p)) + 1.0)))
        y = (rng.random(1500) < np.where(np.arange(1500) < 1000, p, true)).astype(int)
        found = locate_change(y, p)
        covered += found.low <= 1000 <= found.high
        off.append(abs(found.index - 1000))
        assert found.log_evidence > 3
    assert covered >= 60 * 0.9 - 3 * math.sqrt(60 * 0.09)
    assert np.median(off) <= 40


def test_impossible_outcome_is_an_alarm() -> None:
    found = detect_changes([0, 1, 0, 1], [0.5, 0.0, 0.5, 0.5], run_length=1e6)
    assert found.alarms == (2,)
    assert found.path[1] == math.inf
    assert np.isfinite(found.path[2:]).all()
    state = start_detector(run_length=100, lens="binary").update(cal.Sketch.of([1], [0.0]))
    assert state.alarmed
    assert found.onsets == (1,)


def test_the_first_impossible_outcome_is_named() -> None:
    y, p = [0] * 30 + [1] + [0] * 9, [0.0] * 31 + [0.5] * 9
    found = locate_change(y, p)
    assert (found.index, found.log_evidence) == (30, math.inf)
    assert found.low <= found.high == 30
    assert found.alternative == "an outcome that a score of 0 or 1 rules out"
    windows = [cal.Sketch.of(y[k : k + 4], p[k : k + 4]) for k in range(0, 40, 4)]
    assert (locate_change(windows).index, locate_change(windows).alternative) == (7, found.alternative)
    # A second one, and bets won before, move nothing.
    again = locate_change([1] * 20 + [0, 1] * 2, [0.5] * 20 + [1.0, 0.0] * 2)
    assert (again.index, again.high) == (20, 20)


def test_one_row_and_no_alarm() -> None:
    found = detect_changes([1], [0.5], run_length=10)
    assert found.alarms == ()
    assert "No alarm" in repr(found)
    assert locate_change([1], [0.5]).index == 0
    assert len(found.to_frame()) == 0
    assert found.to_dict()["unit"] == "row"


def test_refusals() -> None:
    with pytest.raises(ArgumentError, match="run_length"):
        start_detector(run_length=1)
    with pytest.raises(ArgumentError, match="kind"):
        detect_changes(Y, B, run_length=10, kind="ewma")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="neither a learner nor bins"):
        start_detector(run_length=10, wagers=Wagers())
    with pytest.raises(ArgumentError, match="lost the order"):
        detect_changes(cal.Sketch.of(Y, B), run_length=10)
    with pytest.raises(LensError, match="different questions"):
        detect_changes([cal.Sketch.of(Y, B), cal.Sketch.of(Y, B, lens="top_label")], run_length=10)
    with pytest.raises(LensError, match="another question"):
        start_detector(run_length=10).update(cal.Sketch.of(Y, B))
    with pytest.raises(ArgumentError, match="weight"):
        detect_changes(Y, B, run_length=10, sample_weight=np.arange(1, 11))
    with pytest.raises(ArgumentError, match=r"^counts: .*; repeat the rows in order"):
        detect_changes([0, 1] * 20, [0.5] * 40, run_length=10, counts=[2] * 40)
    with pytest.raises(InputError, match="to_dict"):
        EDetector.of_dict({"format": 1})

"""Detectors: published recursions, their mean under no change, run lengths, and where a change is placed."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.monitoring.changepoint import EDetector, locate_change, start_detector
from calibrant.monitoring.sequential import Alternatives
from calibrant.views.view import View
from tests import checked

B, Y = np.array(checked.B[1]), np.array(checked.B[0])
HALF = Alternatives(shifts=(0.5,), slopes=(), learner=None)
ONE = Alternatives(shifts=(1.0,), slopes=(), learner=None)


def rows_of(y: Any, p: Any, size: int = 1) -> list[View]:
    """Windows of so many rows each."""
    y, p = np.asarray(y, np.uint8), np.asarray(p, float)
    return [View(p[k : k + size], y[k : k + size], lens="binary") for k in range(0, len(p), size)]


def detected(windows: Any, run_length: float, **options: Any) -> tuple[list[float], EDetector]:
    """Statistic after each window, nan where an alarm started it again, and the last state."""
    state, path = start_detector(run_length=run_length, lens="binary", **options), []
    for window in windows:
        state = state.update(window)
        path.append(math.nan if state.alarmed else math.exp(state.log_value))
    return path, state


def test_published_recursions() -> None:
    wanted = [
        0.9685829809, 2.9578241204, 3.4055163904, 3.5903244472, 5.8580552771,
        5.054593133, 7.0215624776, 8.8967079273, 10.5174521725, 11.7485876236,
    ]  # fmt: skip
    rows = rows_of(Y, B)
    np.testing.assert_allclose(detected(rows, 1e6, alternatives=HALF)[0], wanted, atol=5e-10)
    assert detected(rows, 1e6, kind="cusum", alternatives=HALF)[0][-1] == pytest.approx(1.3943384335, abs=5e-11)
    assert detected(rows, 1e6, alternatives=ONE)[0][-1] == pytest.approx(11.4758287926, abs=5e-10)
    assert detected(rows, 1e6, kind="cusum", alternatives=ONE)[0][-1] == pytest.approx(1.7398551623, abs=5e-11)


@pytest.mark.parametrize("kind", ["sr", "cusum"])
def test_path_equals_the_recursion_with_restarts(kind: Any) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    y = (rng.random(3000) < np.where(np.arange(3000) < 1000, p, 0.5 + p / 2)).astype(int)
    alternatives = Alternatives(shifts=(0.5, -0.5), slopes=(2.0,), learner=None)
    found, state = detected(rows_of(y, p), 200, kind=kind, alternatives=alternatives)
    z = np.log(p / (1 - p))[:, None]
    true = np.column_stack([z + 0.5, z - 0.5, 2 * z])
    true = 1 / (1 + np.exp(-true))
    factors = np.where(y[:, None] == 1, true / p[:, None], (1 - true) / (1 - p[:, None]))
    m, path, alarms = np.zeros(3), [], []
    for t, e in enumerate(factors, 1):
        m = (m + 1 if kind == "sr" else np.maximum(m, 1)) * e
        path.append(m.mean())
        if m.mean() >= 200:
            alarms.append(t)
            m, path[-1] = np.zeros(3), math.nan
    np.testing.assert_allclose(found, path, rtol=1e-9)
    assert state.alarms == tuple(alarms)
    assert len(alarms) > 3


def test_mean_under_no_change_is_the_number_of_steps() -> None:
    p = B[2:9]
    total = 0.0
    for labels in itertools.product((0, 1), repeat=7):
        chance = math.prod(q if y else 1 - q for q, y in zip(p.tolist(), labels, strict=True))
        total += chance * detected(rows_of(labels, p), 1e9)[0][-1]
    assert total == pytest.approx(7, abs=1e-10)


def test_a_stored_state_gives_the_same_alarms() -> None:
    windows = []
    for day in range(30):
        warp = cal.inference.simulation.bias(0.0 if day < 15 else 0.8)
        drawn = cal.inference.make_miscalibrated(60, warp=warp, rng=day)
        windows.append(cal.Sketch.of(drawn.y_true, drawn.y_prob))
    windows.insert(3, cal.Sketch.empty("binary"))
    state = start_detector(run_length=1000, lens="binary")
    for window in windows:
        state = EDetector.of_dict(json.loads(json.dumps(state.to_dict(), allow_nan=False))).update(window)
    assert state.alarms == detected(windows, 1000)[1].alarms
    assert state.windows == 31
    assert len(state.alarms) >= 1
    assert all(16 <= when <= 31 for when in state.alarms)
    where = locate_change(windows)
    assert abs(locate_change(windows[: state.alarms[0]]).index - 16) <= 2
    assert "logit" in where.alternative


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["sr", "cusum"])
def test_run_length_is_at_least_the_promise(kind: Any, deep: bool) -> None:
    rng = np.random.default_rng(1)
    rows = 20_000 if deep else 6_000
    p = rng.beta(2, 2, rows)
    y = (rng.random(rows) < p).astype(int)
    alarms = detected(rows_of(y, p), 100, kind=kind, alternatives=HALF)[1].alarms
    gaps = np.diff([0, *alarms])
    assert len(p) / max(1, len(gaps)) >= 100 * (1 - 3 / math.sqrt(max(1, len(gaps))))
    if kind == "sr":
        assert gaps.mean() < (130 if deep else 150)  # and not much more: the bound is nearly met


@pytest.mark.deep
def test_the_estimated_place_of_a_change_is_near() -> None:
    rng = np.random.default_rng(2)
    off = []
    for _ in range(60):
        p = rng.beta(2, 2, 1500)
        true = 1 / (1 + np.exp(-(np.log(p / (1 - p)) + 1.0)))
        y = (rng.random(1500) < np.where(np.arange(1500) < 1000, p, true)).astype(int)
        found = locate_change(rows_of(y, p, 10))
        off.append(abs(found.index - 100))
        assert found.log_evidence > 3
    assert np.median(off) <= 4


def test_impossible_outcome_is_an_alarm() -> None:
    windows = rows_of([0, 1, 0, 1], [0.5, 0.0, 0.5, 0.5])
    path, state = detected(windows, 1e6)
    assert state.alarms == (2,)
    assert np.isfinite(path[2:]).all()
    assert locate_change(windows[:2]).index == 1
    assert start_detector(run_length=100, lens="binary").update(cal.Sketch.of([1], [0.0])).alarmed


def test_the_first_impossible_outcome_is_named() -> None:
    y, p = [0] * 30 + [1] + [0] * 9, [0.0] * 31 + [0.5] * 9
    found = locate_change(rows_of(y, p))
    assert (found.index, found.log_evidence) == (30, math.inf)
    assert found.alternative == "an outcome with predicted probability 0"
    windows = [cal.Sketch.of(y[k : k + 4], p[k : k + 4]) for k in range(0, 40, 4)]
    assert (locate_change(windows).index, locate_change(windows).alternative) == (7, found.alternative)
    # A second one, and evidence before, move nothing.
    again = locate_change(rows_of([1] * 20 + [0, 1] * 2, [0.5] * 20 + [1.0, 0.0] * 2))
    assert again.index == 20


def test_one_row_and_no_alarm() -> None:
    _, state = detected(rows_of([1], [0.5]), 10)
    assert state.alarms == ()
    assert "0 alarms in 1 window" in repr(state)
    assert len(state.to_frame()) == 0
    found = locate_change(rows_of([1], [0.5]))
    assert found.index == 0
    assert found.to_dict()["n"] == 1

"""Confidence sequences: published widths and ends, and that they cover at all times at once."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError, LensError, WeightsNotSupportedError
from calibrant.monitoring.sequences import half_width, miscalibration_cs, offset_cs, tuned_rho

B = np.array([0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95])
Y = np.array([0, 1, 0, 0, 1, 0, 1, 1, 1, 1])


def test_published_widths() -> None:
    rho = tuned_rho(0.05, 100)
    assert rho == pytest.approx(3.044337217, abs=5e-10)
    found = half_width([10, 100, 1000, 10_000], 0.05, rho)
    np.testing.assert_allclose(found, [0.6045038962, 0.1517561207, 0.05132867989, 0.01783179307], atol=5e-11)


def test_published_offsets() -> None:
    found = offset_cs(Y, B, alpha=0.1)
    assert (found.low, found.high) == (pytest.approx(-1.2), pytest.approx(2.225))


def test_estimate_is_positive_for_overconfidence() -> None:
    found = miscalibration_cs(Y, B)
    np.testing.assert_allclose(found.estimate[-1], -0.1, atol=1e-12)
    sure = miscalibration_cs([0] * 200, [0.9] * 200)
    assert sure.estimate[-1] == pytest.approx(0.9)
    assert sure.excluded_at is not None
    assert sure.low[-1] > 0


def test_covers_at_all_times() -> None:
    rng = np.random.default_rng(0)
    p = rng.random((400, 1000))
    truth = np.clip(p + 0.1 * np.sin(8 * p), 0, 1)
    gap = p - (rng.random(p.shape) < truth)
    t = np.arange(1, 1001)
    off = np.abs(np.cumsum(gap, axis=1) / t - np.cumsum(p - truth, axis=1) / t)
    missed = (off > half_width(t, 0.05, tuned_rho(0.05, 100))).any(axis=1).mean()
    assert missed <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


def test_offsets_cover_the_truth() -> None:
    missed = 0
    for seed in range(40):
        drawn = cal.make_miscalibrated(300, warp=cal.simulate.bias(0.5), rng=seed)
        found = offset_cs(drawn.y_true, drawn.y_prob, step=0.1)
        missed += not found.low <= 0.5 <= found.high
    assert missed <= 40 * 0.05 + 3 * math.sqrt(40 * 0.05 * 0.95)


def test_no_constant_shift_may_fit() -> None:
    assert offset_cs([1, 0], [0.0, 0.5]).all_rejected
    never = offset_cs([1, 0], [0.0, 0.5])
    assert "No constant shift of the logit makes" in repr(never)
    assert json.loads(json.dumps(never.to_dict(), allow_nan=False))["low"] is None


def test_the_end_of_the_search_is_no_bound() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.002, 0.03, 800)
    y = (rng.random(800) < 1 / (1 + np.exp(-(np.log(p / (1 - p)) + 3.3)))).astype(int)
    near, far = offset_cs(y, p), offset_cs(y, p, farthest=8)
    assert (near.low, near.high) == (far.low, math.inf)
    assert 3.3 < far.high < 8
    assert f"A logit shift of {near.low:g} or more may" in repr(near)
    assert json.loads(json.dumps(near.to_dict(), allow_nan=False))["high"] == "inf"
    assert near.to_frame()["high"].tolist() == [math.inf]
    low = offset_cs([0] * 30, [0.5] * 30)
    assert low.low == -math.inf
    assert f"A logit shift of {low.high:g} or less may" in repr(low)
    none = offset_cs(y, p, farthest=0.5)
    assert none.all_rejected
    assert "No constant shift of the logit within ±0.5 makes" in repr(none)
    assert none.to_dict()["farthest"] == 0.5


def test_one_row() -> None:
    assert miscalibration_cs([1], [0.5]).excluded_at is None
    assert len(miscalibration_cs([1], [0.5]).to_frame()) == 1
    found = offset_cs([1], [0.5])
    assert (found.low, found.high) == (-math.inf, math.inf)
    assert "from -3 or less to 3 or more" in repr(found)


def test_refusals() -> None:
    with pytest.raises(ArgumentError, match="lost the order"):
        miscalibration_cs(cal.Sketch.of(Y, B))
    with pytest.raises(WeightsNotSupportedError, match="weight"):
        miscalibration_cs(Y, B, counts=np.arange(1, 11))
    with pytest.raises(LensError, match="one score"):
        offset_cs([0, 1, 2], np.eye(3), lens="canonical")
    with pytest.raises(ArgumentError, match="alpha"):
        offset_cs(Y, B, alpha=2)
    with pytest.raises(ArgumentError, match="best_at"):
        miscalibration_cs(Y, B, best_at=0)

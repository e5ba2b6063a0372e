"""Pictures of ranges of confidence: their data against counting, the pictures against their data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.figures.intervals import interval_error_diagram

from .pictures import assert_same

SIM = cal.inference.make_miscalibrated(
    800, warp=cal.inference.simulation.temperature(1.7), distribution=[0.3] * 6, rng=2
)
Y, P = SIM.y_true, SIM.y_prob
TEMPERED = P**0.6 / (P**0.6).sum(axis=1, keepdims=True)
MODELS = {"plain": P, "tempered": TEMPERED}
WEIGHT = np.random.default_rng(0).random(800) + 0.1


# Ranges of confidence


@pytest.mark.parametrize("intervals", ["three", "five", [0, 0.5, 0.9, 1], 4])
def test_interval_rows_are_what_counting_gives(intervals: Any) -> None:
    shown = interval_error_diagram(Y, P, intervals=intervals, sample_weight=WEIGHT)
    found = shown["model"]
    top, right = P.max(axis=1), P.argmax(axis=1) == Y
    assert found.rows.sum() == pytest.approx(800)
    for i, (low, high) in enumerate(zip(shown.low, shown.high, strict=True)):
        held = (top >= low) & ((top <= high) if high == 1 else (top < high))
        assert found.rows[i] == pytest.approx(800 * WEIGHT[held].sum() / WEIGHT.sum())
        if not held.any():
            assert math.isnan(found.error[i])
            continue
        assert found.rate[i] == pytest.approx(np.average(right[held], weights=WEIGHT[held]))
        assert found.error[i] == pytest.approx(cal.ece(Y, P, where=held, sample_weight=WEIGHT), abs=1e-12)
    assert found.overall == pytest.approx(cal.ece(Y, P, sample_weight=WEIGHT), abs=1e-12)


def test_an_interval_holds_its_lower_end_and_the_last_both() -> None:
    scores = [0.0, 0.2, 0.33, 0.33, 0.5, 0.66, 0.9, 1.0, 1.0]
    found = interval_error_diagram([0, 1] * 4 + [1], scores)["model"]
    assert found.rows.tolist() == [2, 3, 4]
    pairs = interval_error_diagram([0, 1] * 4 + [1], scores, intervals=[(0.33, 0.5), (0.9, 1)])["model"]
    assert pairs.rows.tolist() == [2, 3]


def test_intervals_need_not_cover_and_sketches_serve() -> None:
    shown = interval_error_diagram(Y, P, intervals=[(0, 0.5), (0.9, 1)], names=["unsure", "sure"], metric="smece")
    top = P.max(axis=1)
    assert shown["model"].rows.tolist() == [(top < 0.5).sum(), (top >= 0.9).sum()]
    assert shown["model"].error[1] == pytest.approx(cal.smece(Y, P, where=top >= 0.9))
    sketch = interval_error_diagram({"all": cal.Sketch.of(Y, P)})
    assert_same(sketch["all"].rows, interval_error_diagram(Y, P)["model"].rows)

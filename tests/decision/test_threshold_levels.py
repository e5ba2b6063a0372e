"""Thresholds of confidences with few levels are levels; coverage and risk of each; the guarantee holds."""

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.calling import call

LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0])
SHARE = np.array([0.03, 0.03, 0.06, 0.14, 0.12, 0.27, 0.25, 0.1])
RATE = np.array([0.4, 0.45, 0.5, 0.7, 0.96, 0.85, 0.9, 0.97])


def sample(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    place = rng.choice(len(LEVELS), n, p=SHARE)
    return (rng.random(n) < RATE[place]).astype(int), LEVELS[place]


@pytest.mark.parametrize(
    "target",
    [
        {"accuracy": 0.85},
        {"accuracy": 0.85, "method": "bonferroni"},
        {"accuracy": 0.85, "method": "conformal"},
        {"coverage": 0.5},
    ],
)
def test_a_threshold_is_a_level(target: dict[str, Any]) -> None:
    right, said = sample(np.random.default_rng(0), 2000)
    for kind in (np.float64, np.float32):
        found = call(cal.choose_threshold, right, said.astype(kind), input="confidence", **target)
        assert found.threshold in LEVELS.astype(kind).astype(float)
        assert found.coverage == (said.astype(kind) >= found.threshold).mean()

"""Windows of neighbouring rows, against their definition in fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import calibrant as cal


def in_order(labels: Any, scores: Any, weights: Any) -> list[list[Fraction]]:
    order = np.argsort(scores)
    return [[Fraction(float(value)) for value in np.asarray(part)[order]] for part in (labels, scores, weights)]


def windows(labels: Any, scores: Any, weights: Any, size: int, inner: str) -> float:
    y, s, w = in_order(labels, scores, weights)
    found = []
    for start in range(len(s) - size + 1):
        own = range(start, start + size)
        mass = sum(w[i] for i in own)
        rate = sum(w[i] * y[i] for i in own) / mass
        if inner == "mean_abs":
            found.append(sum(w[i] * abs(s[i] - rate) for i in own) / mass)
        else:
            found.append(abs(sum(w[i] * s[i] for i in own) / mass - rate))
    return float(sum(found) / len(found))


def neighbourhoods(labels: Any, scores: Any, weights: Any, k: int) -> float:
    y, s, w = in_order(labels, scores, weights)
    total = Fraction(0)
    for i in range(len(s)):
        runs = range(max(0, i - k), min(i, len(s) - 1 - k) + 1)
        start = min(runs, key=lambda j: max(abs(s[j] - s[i]), abs(s[j + k] - s[i])))
        own = range(start, start + k + 1)
        total += w[i] * abs(sum(w[j] * (s[j] - y[j]) for j in own)) / sum(w[j] for j in own)
    return float(total / sum(w))


@pytest.mark.parametrize("decades", [0, 2, 7, 16])
def test_weights_of_any_range(decades: int) -> None:
    rng = np.random.default_rng(decades)
    data = rng.integers(0, 2, 43), rng.random(43), 10 ** rng.uniform(-decades, decades, 43)
    given = {"y_true": data[0], "y_prob": data[1], "sample_weight": data[2]}
    for inner in ("mean_abs", "abs_mean"):
        found = cal.calbin(**given, lens="binary", size=6, inner=inner)
        assert found == pytest.approx(windows(*data, 6, inner), rel=1e-12)
    assert cal.ece_knn(**given, neighbours=4) == pytest.approx(neighbourhoods(*data, 4), rel=1e-12)


def test_a_weight_that_hides_all_others() -> None:
    """Each window is one row, so that weights cancel."""
    assert cal.calbin([0, 1, 0], [0.1, 0.5, 0.9], sample_weight=[1e17, 1, 1], size=1) == pytest.approx(0.5)

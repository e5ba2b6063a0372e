"""Inputs on which calibration packages are known to be wrong or to disagree: the right number here, or a clear error.

The numbers in the names are those of the list these were collected in; what is not listed has no counterpart here yet.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import calibrant as cal
from tests.calling import raises
from tests.in_turn import in_turn

Array = NDArray[Any]


def by_definition(y: Any, p: Any, bins: int) -> float:
    """Expected calibration error with right-closed bins, one bin at a time."""
    y, p = np.asarray(y, float), np.asarray(p).astype(float)
    total = 0.0
    for k in range(bins):
        inside = (p > k / bins) & (p <= (k + 1) / bins)
        if k == 0:
            inside |= p == 0
        if inside.any():
            total += inside.mean() * abs(p[inside].mean() - y[inside].mean())
    return total


def softmax_rows(n: int, k: int, dtype: type) -> tuple[Array, Array]:
    """Labels, and softmax outputs computed in a low precision throughout, as a model would."""
    rng = np.random.default_rng(5)
    z = rng.normal(0, 2, (n, k)).astype(dtype)
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return rng.integers(0, k, n), (e / e.sum(axis=1, keepdims=True)).astype(dtype)


def test_03_half_precision_is_summed_exactly() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(70_000).astype(np.float16)
    y = (rng.random(70_000) < p).astype(int)
    value = cal.ece(y, p)
    assert value == pytest.approx(by_definition(y, p, 15), abs=1e-12)
    assert 0.001 < value < 0.02


def test_04_counts_beyond_single_precision() -> None:
    value = cal.ece(cal.Predictions([1, 0], np.array([0.5, 0.5], np.float32), counts=[20_003_080, 19_996_920]), bins=1)
    assert value == pytest.approx(7.7e-5, rel=1e-10)


def test_04_rows_beyond_single_precision() -> None:
    n = 2**24 + 4096
    y = np.zeros(n, np.uint8)
    y[: n // 2 + 1000] = 1
    p = np.full(n, 0.5, np.float32)
    assert cal.ece(y, p) == pytest.approx(1000 / n, rel=1e-12)


def test_06_one_entry_above_1_makes_no_logits() -> None:
    y, p = [0, 1, 1, 0], np.array([0.2, 0.8, 0.99, 0.3])
    spoiled = np.where(p == 0.99, 1.0000001, p)
    with raises(cal.errors.ProbabilityError, "y_prob") as caught:
        cal.ece(y, spoiled)
    assert "clip=True" in caught.value.remedy
    assert cal.ece(cal.Predictions(y, spoiled, clip=True)) == pytest.approx(cal.ece(y, np.where(p == 0.99, 1.0, p)))


def test_06_one_entry_below_0_makes_no_logits() -> None:
    p = np.array([[0.7, 0.3 + 1e-9, -1e-9], [0.2, 0.3, 0.5]])
    with raises(cal.errors.ProbabilityError, "y_prob") as caught:
        cal.ece([0, 2], p)
    assert "clip=True" in caught.value.remedy
    assert cal.ece(cal.Predictions([0, 2], p, clip=True)) == pytest.approx(0.4)


def test_07_batches_are_never_judged_as_logits_on_their_own() -> None:
    y, p = [0, 2, 1, 0], np.array([[0.7, 0.3 + 1e-9, -1e-9], [0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.6, 0.2, 0.2]])
    for rows in (slice(0, 4), slice(0, 2), slice(0, 1)):
        with pytest.raises(cal.errors.ProbabilityError, match="row 0, column 2"):
            cal.brier(y[rows], p[rows])
    halves = [cal.brier(cal.Predictions(y[:2], p[:2], clip=True)), cal.brier(y[2:], p[2:])]
    assert cal.brier(cal.Predictions(y, p, clip=True)) == pytest.approx(np.mean(halves), abs=1e-15)


def test_07_logits_that_look_like_probabilities_stay_logits() -> None:
    y, z = [0, 1, 0, 1], np.array([0.2, 0.9, -3.0, 4.0])
    halves = [
        cal.brier(cal.Predictions(y[:2], z[:2], input="logit")),
        cal.brier(cal.Predictions(y[2:], z[2:], input="logit")),
    ]
    expected = np.square(1 / (1 + np.exp(-z)) - y).mean()
    assert np.mean(halves) == pytest.approx(expected)
    assert cal.brier(cal.Predictions(y, z, input="logit")) == pytest.approx(expected)


@in_turn("metric", list(cal.catalogue.values()), lambda metric: metric.id)
class TestEveryMetricRefuses:
    def test_15_nan(self, metric: cal.metrics.Metric) -> None:
        with raises(cal.errors.ProbabilityError, "y_prob"):
            metric([0, 1, 1], [0.2, math.nan, 0.7])

    def test_16_rows_that_sum_to_2(self, metric: cal.metrics.Metric) -> None:
        with raises(cal.errors.ProbabilityError, "y_prob"):
            metric([0, 1, 2], 2 * np.array([[0.4, 0.3, 0.3], [0.1, 0.5, 0.4], [0.2, 0.3, 0.5]]))

    def test_17_logits(self, metric: cal.metrics.Metric) -> None:
        with raises(cal.errors.ProbabilityError, "y_prob"):
            metric([0, 1, 2], [[2.0, -1.0, 0.5], [0.1, 3.0, -2.0], [-1.0, 0.3, 0.2]])

    @pytest.mark.parametrize("label", [3, -1])
    def test_18_a_label_beyond_the_classes(self, metric: cal.metrics.Metric, label: int) -> None:
        with pytest.raises(cal.errors.LabelError, match=f"got {label} in row 2"):
            metric([0, 1, label], [[0.4, 0.3, 0.3], [0.1, 0.5, 0.4], [0.2, 0.3, 0.5]])

    def test_19_labels_1_and_2(self, metric: cal.metrics.Metric) -> None:
        with raises(cal.errors.LabelError, "y_true"):
            metric([1, 2, 2], [0.2, 0.6, 0.7])

    @pytest.mark.parametrize("shape", [(0,), (0, 3)])
    def test_20_nothing(self, metric: cal.metrics.Metric, shape: tuple[int, ...]) -> None:
        with pytest.raises(cal.errors.ShapeError, match="empty"):
            metric([], np.empty(shape))


def test_23_half_precision_softmax_is_measured() -> None:
    y, p = softmax_rows(5000, 10, np.float16)
    wide = p.astype(np.float64)
    expected = by_definition(wide.argmax(axis=1) == y, wide.max(axis=1), 15)
    assert expected > 0.1
    assert cal.ece(y, p) == pytest.approx(expected, abs=1e-12)


def test_40_a_single_column_is_not_guessed_and_nothing_is_doubled() -> None:
    y, p = [0, 1, 1], np.array([0.2, 0.6, 0.7])
    with pytest.raises(cal.errors.ShapeError, match="single column"):
        cal.ece(y, p[:, None])
    two = np.column_stack([1 - p, p])
    for metric in (cal.ece, cal.gece, cal.brier):
        assert metric(y, two) == pytest.approx(metric(y, p), abs=1e-15)
    assert cal.gece(y, p, lens="binary") == pytest.approx(cal.ece(y, p), abs=1e-15)

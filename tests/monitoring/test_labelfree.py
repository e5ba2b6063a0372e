"""Scores without labels: summaries of confidence, and both readings of a change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cal
from calibrant.monitoring.drift import Sample
from calibrant.monitoring.labelfree import confidence_summary, read_change

D = [0.7, 0.6, 0.7, 0.5, 0.6, 0.6, 0.5, 0.8]


def test_published_summary() -> None:
    found = confidence_summary(D)
    np.testing.assert_allclose([found.mean, found.median, found.p90, found.p99], [0.625, 0.6, 0.73, 0.793], atol=1e-12)
    assert found.n == 8
    assert found.standard_error == pytest.approx(np.std(D, ddof=1) / np.sqrt(8))
    assert (found.lowest, found.highest, found.share_90) == (0.5, 0.8, 0.0)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 5)), min_size=1, max_size=12),
    st.floats(0, 1),
)
def test_counts_of_a_sample_are_repeated_rows(pairs: list[tuple[int, int]], share: float) -> None:
    values = np.array([v for v, _ in pairs]) / 20
    counts = np.array([c for _, c in pairs])
    written = np.repeat(values, counts)
    sample = Sample.of(values, counts)
    assert sample.quantile(share) == pytest.approx(np.quantile(written, share), abs=1e-12)
    assert sample.mean == pytest.approx(written.mean())
    assert sample.size == len(written)


def test_sketch_is_within_a_cell_and_binary_scores_are_folded() -> None:
    drawn = cal.inference.make_calibrated(3000, rng=0)
    sketch = cal.Sketch.of(drawn.y_true, drawn.y_prob)
    confidence = np.maximum(drawn.y_prob, 1 - drawn.y_prob)
    found = confidence_summary(sketch)
    assert found.mean == pytest.approx(confidence.mean(), abs=1e-12)
    for name, share in (("median", 0.5), ("p90", 0.9), ("p99", 0.99)):
        assert getattr(found, name) == pytest.approx(np.quantile(confidence, share), abs=1 / 19_200)
    assert found.share_90 == pytest.approx((confidence >= 0.9).mean(), abs=2e-3)


def test_one_row_and_equal_rows() -> None:
    one = confidence_summary([0.7])
    assert (one.mean, one.median, one.p99, one.standard_error) == (0.7, 0.7, 0.7, 0.0)
    same = confidence_summary([0.7] * 5)
    assert same.p90 == pytest.approx(0.7)
    assert same.standard_error == pytest.approx(0, abs=1e-12)


def test_both_readings_of_a_rise_and_of_a_fall() -> None:
    rng = np.random.default_rng(0)
    low, high = rng.uniform(0.5, 0.8, 200), rng.uniform(0.7, 1, 200)
    rise, fall = read_change(low, high), read_change(high, low)
    assert (rise.direction, fall.direction) == ("rise", "fall")
    assert "overconfident failure" in rise.words
    assert "easier inputs" in rise.words
    assert "unfamiliar" in fall.words
    assert "more cautious" in fall.words
    for reading in (rise, fall):
        assert "Either" in reading.words
        assert "labelled rows" in reading.words
        assert len(reading.readings) == 2
    assert rise.difference == pytest.approx(high.mean() - low.mean())
    assert rise.to_dict()["readings"] == list(rise.readings)


def test_no_change_is_said_with_its_limits() -> None:
    rng = np.random.default_rng(1)
    found = read_change(rng.uniform(0.5, 1, 300), rng.uniform(0.5, 1, 100))
    assert found.direction == "none"
    assert "labels can change while the scores stay the same" in found.words
    same = read_change([0.7] * 5, [0.7] * 3)
    assert (same.direction, same.pvalue) == ("none", 1.0)

"""Scores without labels: summaries of confidence, both readings of a change, estimates of accuracy, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cal
from calibrant.monitoring.drift import Sample
from calibrant.monitoring.labelfree import confidence_summary, estimate_accuracy, read_change

P = [
    [0.7, 0.2, 0.1],
    [0.6, 0.3, 0.1],
    [0.2, 0.7, 0.1],
    [0.3, 0.5, 0.2],
    [0.1, 0.3, 0.6],
    [0.2, 0.2, 0.6],
    [0.5, 0.1, 0.4],
    [0.1, 0.1, 0.8],
]
LABELS = [0, 1, 1, 0, 2, 1, 2, 2]
WINDOW = [0.9, 0.55, 0.65, 0.5, 0.45, 0.75]
REFERENCE = cal.Sketch.of(LABELS, P)


def test_published_values() -> None:
    mean = estimate_accuracy(WINDOW, method="average_confidence")
    np.testing.assert_allclose([mean.estimate, mean.standard_error], [0.6333333333, 0.1863389981], atol=5e-11)
    doc = estimate_accuracy(WINDOW, reference=REFERENCE)
    assert doc.estimate == pytest.approx(0.5083333333, abs=5e-11)
    assert doc.reference_accuracy == 0.5
    atc = estimate_accuracy(WINDOW, reference=REFERENCE, method="atc")
    assert (atc.threshold, atc.estimate) == (pytest.approx(0.6), 0.5)


def test_same_window_gives_the_reference_back() -> None:
    drawn = cal.inference.make_calibrated(500, rng=0)
    sketch = cal.Sketch.of(drawn.y_true, drawn.y_prob, lens="top_label")
    accuracy = np.mean((drawn.y_prob > 0.5) == drawn.y_true)
    confidence = np.maximum(drawn.y_prob, 1 - drawn.y_prob)
    assert estimate_accuracy(sketch, reference=sketch).estimate == pytest.approx(accuracy, abs=1e-12)
    rows = cal.Predictions(drawn.y_true, drawn.y_prob)
    view = cal.views.lenses.parse_lens("top_label", rows).views(rows)[0]
    assert estimate_accuracy(confidence, reference=view, method="atc").estimate == pytest.approx(accuracy, abs=1e-12)


def test_error_of_confidence_is_that_of_simulation() -> None:
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1, 400)
    found = estimate_accuracy(confidence, method="average_confidence")
    share = (rng.random((4000, 400)) < confidence).mean(axis=1)
    assert share.std() == pytest.approx(found.standard_error, rel=0.05)


def test_doc_and_atc_errors_are_those_of_simulation() -> None:
    rng = np.random.default_rng(1)
    doc, atc, errors = [], [], []
    for seed in range(80):
        reference = rng.uniform(0.5, 1, 300)
        sketch = cal.Sketch.of((rng.random(300) < reference).astype(int), reference, lens="binary")
        view = cal.views.View(
            sketch.view().raw_score, sketch.view().raw_outcome, sketch.view().weight, "counts", lens="top_label"
        )
        window = rng.uniform(0.5, 1, 200)
        doc.append(estimate_accuracy(window, reference=view).estimate)
        found = estimate_accuracy(window, reference=view, method="atc", n_resamples=30, rng=seed)
        atc.append(found.estimate)
        errors.append((estimate_accuracy(window, reference=view).standard_error, found.standard_error))
    mean = np.mean(errors, axis=0)
    assert np.std(doc) == pytest.approx(mean[0], rel=0.25)
    assert np.std(atc) == pytest.approx(mean[1], rel=0.3)


def test_counts_are_repeated_rows() -> None:
    wide = cal.Sketch.of(LABELS * 3, P * 3)
    counted = cal.Sketch.of(cal.Predictions(LABELS, P, counts=[3] * 8))
    for method in ("doc", "atc"):
        a, b = (estimate_accuracy(WINDOW, reference=r, method=method) for r in (wide, counted))
        assert a == b


def test_all_wrong_and_all_right() -> None:
    wrong = cal.Sketch.of([0, 0], [0.8, 0.9], lens="binary").view()
    wrong = cal.views.View(wrong.raw_score, wrong.raw_outcome, wrong.weight, "counts", lens="top_label")
    found = estimate_accuracy([0.9, 0.95], reference=wrong, method="atc")
    assert (found.estimate, found.threshold) == (0.0, math.inf)
    right = cal.Sketch.of([1, 1], [0.8, 0.9], lens="top_label")
    assert estimate_accuracy([0.95, 0.85], reference=right, method="atc").estimate == 1.0
    assert estimate_accuracy([0.99], reference=right).estimate == 1.0  # cut to 1


def test_rows_without_labels_can_be_estimated() -> None:
    unlabelled = cal.views.View(np.array([0.7, 0.8]), None, lens="top_label")
    assert estimate_accuracy(unlabelled, reference=REFERENCE).n == 2


def test_caveat_is_always_said() -> None:
    for method in ("average_confidence", "doc", "atc"):
        found = estimate_accuracy(WINDOW, reference=REFERENCE, method=method)
        assert "assuming that" in repr(found)
        assert "cannot detect a change of the labels that leaves the scores unchanged" in repr(found)
        assert found.to_dict()["caveat"] == found.caveat


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


def test_results_have_frames() -> None:
    assert list(confidence_summary(D).to_frame()["mean"]) == [pytest.approx(0.625)]
    assert list(read_change(D, D).to_frame()["sample"]) == ["reference", "window"]

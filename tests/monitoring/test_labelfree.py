"""Accuracy without labels: published values, identities, coverage where the assumption holds, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError, InputError, InputTypeError, LensError, UndefinedMetricError
from calibrant.monitoring.labelfree import doc_slope, estimate_accuracy, expected_confusion

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
    drawn = cal.make_calibrated(500, rng=0)
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
    counted = cal.Sketch.of(LABELS, P, counts=[3] * 8)
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


def test_slope_of_several_shifts() -> None:
    base = cal.Sketch.of([1, 1, 1, 0], [0.9] * 4, lens="top_label")
    others = [
        cal.Sketch.of([1, 0] * 2, [0.8] * 4, lens="top_label"),
        cal.Sketch.of([1, 0] * 4, [0.7] * 8, lens="top_label"),
    ]
    x, y = np.array([-0.1, -0.2]), np.array([-0.25, -0.25])
    assert doc_slope(base, others) == pytest.approx(x @ y / (x @ x))
    with pytest.raises(UndefinedMetricError, match="same in all windows"):
        doc_slope(base, [base])


def test_caveat_is_always_said() -> None:
    for method in ("average_confidence", "doc", "atc"):
        found = estimate_accuracy(WINDOW, reference=REFERENCE, method=method)
        assert "only if" in repr(found)
        assert "a change of the labels that leaves the scores alone is not seen" in repr(found)
        assert found.to_dict()["caveat"] == found.caveat
    assert "only if the probabilities are calibrated" in repr(expected_confusion([0.2, 0.9]))


def test_expected_confusion() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(50)
    found = expected_confusion(p, threshold=0.3)
    yes = p >= 0.3
    matrix = [[((1 - p) * ~yes).mean(), ((1 - p) * yes).mean()], [(p * ~yes).mean(), (p * yes).mean()]]
    np.testing.assert_allclose(found.matrix, matrix, atol=1e-14)
    assert found.precision[1] == pytest.approx(p[yes].mean())
    assert found.recall[1] == pytest.approx(p[yes].sum() / p.sum())
    sketch = cal.Sketch.of(np.zeros(50, int), p)
    np.testing.assert_allclose(expected_confusion(sketch, threshold=0.3).matrix, matrix, atol=1e-3)
    several = expected_confusion(P)
    probs = np.array(P)
    assert several.accuracy == pytest.approx(probs.max(axis=1).mean())
    np.testing.assert_allclose(several.matrix.sum(axis=1), probs.mean(axis=0))
    brute = np.zeros((3, 3))
    for row in probs:
        brute[:, row.argmax()] += row / 8
    np.testing.assert_allclose(several.matrix, brute)
    assert len(several.to_frame()) == 3


def test_refusals() -> None:
    with pytest.raises(ArgumentError, match="method"):
        estimate_accuracy(WINDOW, method="cbpe")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="reference: is needed"):
        estimate_accuracy(WINDOW, method="doc")
    with pytest.raises(LensError, match="top_label"):
        estimate_accuracy(WINDOW, reference=cal.Sketch.of([0, 1], [0.2, 0.9]))
    with pytest.raises(LensError, match="top_label"):
        estimate_accuracy(cal.Sketch.of([0, 1], [0.2, 0.9]), reference=REFERENCE)
    with pytest.raises(InputTypeError, match="labelled Sketch or View"):
        estimate_accuracy(WINDOW, reference=[0.5, 0.6])
    unlabelled = cal.views.View(np.array([0.7, 0.8]), None, lens="top_label")
    with pytest.raises(InputError, match="without labels"):
        estimate_accuracy(WINDOW, reference=unlabelled)
    assert estimate_accuracy(unlabelled, reference=REFERENCE).n == 2
    with pytest.raises(UndefinedMetricError, match="no rows"):
        estimate_accuracy(cal.Sketch.empty("top_label"), reference=REFERENCE)
    with pytest.raises(UndefinedMetricError, match="no rows"):
        estimate_accuracy(WINDOW, reference=cal.Sketch.empty("top_label"))
    with pytest.raises(InputTypeError, match="outside 0 to 1"):
        estimate_accuracy([1.5, 0.2], method="average_confidence")
    with pytest.raises(LensError, match="binary"):
        expected_confusion(REFERENCE)

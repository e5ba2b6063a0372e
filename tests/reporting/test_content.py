"""The content of a report: the numbers of the library, one conclusion, reasons for empty sections, and reproducible bytes."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import calibrant as cal
from calibrant import Predictions
from calibrant.errors import ArgumentError, InputTypeError
from calibrant.inference.gaps import gap_pvalues, sums_by
from calibrant.inference.intervals import interval
from calibrant.inference.multiplicity import adjust
from calibrant.inference.significance import assess
from calibrant.recalibration.choosing import recalibrate
from calibrant.recalibration.cross_validation import CrossValidation
from calibrant.recalibration.methods import METHODS
from calibrant.recalibration.scores import TrainingData, fold_of_rows
from calibrant.reporting import Report, measuring, recalibration
from calibrant.reporting.building import build, report
from calibrant.reporting.provenance import data_fingerprint
from calibrant.reporting.recalibration import sampled_rows
from calibrant.reporting.settings import Settings
from calibrant.reporting.tables import calibrator_table
from calibrant.reporting.thresholding import find_threshold
from calibrant.reporting.verdict import _detectable
from calibrant.reporting.wording import percents
from calibrant.views.view import View
from tests.calling import call

RNG = np.random.default_rng(7)
FEW = ["ece", "nll"]


def _problem(n: int, k: int, sharpness: float) -> tuple[Any, Any]:
    """Labels drawn from probabilities, which are then made sharper than they should be."""
    rng = np.random.default_rng([n, k])
    truth = np.exp(rng.normal(size=(n, k)) * 2)
    truth /= truth.sum(axis=1, keepdims=True)
    labels = (truth.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, k - 1)
    sharp = truth**sharpness
    return labels, sharp / sharp.sum(axis=1, keepdims=True)


LABELS, PROBS = _problem(1200, 4, 1.8)
GROUPS = np.array(["north", "south", "east"])[RNG.integers(3, size=1200)]
YES, SCORE = (LABELS == 1).astype(int), PROBS[:, 1]


@pytest.fixture(scope="module")
def multiclass() -> Report:
    p = cal.Predictions(LABELS, PROBS, groups=GROUPS)
    made = build(p, Settings(metrics=[*FEW, "ecce_mad", "cwce"]), {})
    return replace(made, threshold=find_threshold(p, 0.8, 0.9))


@pytest.fixture(scope="module")
def binary() -> Report:
    return report(YES, SCORE, metrics=FEW)


# The library's numbers.


@pytest.mark.parametrize("id", [*FEW, "ecce_mad", "cwce"])
def test_metrics_are_those_of_evaluate(id: str, multiclass: Report) -> None:
    found = cal.evaluate(LABELS, PROBS, metrics=[id], level=0.95, assess=True, n_resamples=200, rng=0).results[0]
    row = multiclass.metrics[id]
    assert (row.value, row.low, row.high, row.pvalue) == (found.value, found.low, found.high, found.pvalue)
    assert (row.lens, row.direction, row.note) == (found.lens, found.direction, found.note)
    assert row.low is not None
    assert row.pvalue is not None


def test_the_verdict_is_the_one_test_of_assess(multiclass: Report) -> None:
    found = cal.assess(LABELS, PROBS, metric="ecce_mad")
    verdict = multiclass.verdict
    assert (verdict.statistic, verdict.pvalue) == (found.statistic, found.pvalue)
    header = cal.evaluate(LABELS, PROBS, metrics=["ece"]).header
    assert (verdict.mean_score, verdict.rate) == (header.mean_confidence, header.accuracy)
    assert verdict.direction == "over"
    # The test's limit is 2.2414, not the 1.96 of a test of the mean alone.
    plain = cal.inference.detectable_shift(1200, scores=PROBS.max(axis=1)) * (2.2414 + 0.8416) / (1.96 + 0.8416)
    assert verdict.detectable is not None
    assert plain < verdict.detectable < 1.05 * plain  # rows that are off vary a little more


def test_two_classes_are_tested_by_event_and_by_top_label() -> None:
    """The mean that the headline shows cannot be far off while the test of the conclusion sees nothing, as for few rows that are underconfident."""
    y, p = np.tile([0, 1], 30), np.tile([0.2, 0.7], 30)
    verdict = report(y, p, metrics=["ece"], recalibration=False).verdict
    event, top = (cal.assess(y, p, metric="ecce_mad", lens=lens).pvalue for lens in ("binary", "top_label"))
    assert event > 0.05
    assert verdict.pvalue == 2 * top < 0.05
    assert verdict.headline == "Underconfident: mean confidence 75%, accuracy 100%."
    same = report(
        [0, 1] * 20, [0.2, 0.4] * 20, metrics=["ece"], recalibration=False
    ).verdict  # one class is always predicted
    assert same.pvalue == cal.assess([0, 1] * 20, [0.2, 0.4] * 20, metric="ecce_mad").pvalue


def test_the_smallest_p_value_of_simulated_values_is_a_bound() -> None:
    scores = np.linspace(0.05, 0.95, 60)
    verdict = report(scores > 0.85, scores, metrics=FEW).verdict
    assert verdict.pvalue == verdict.least_pvalue == pytest.approx(0.002)
    assert "(p ≤ 0.002, adjusted for 2 tests)" in verdict.sentence


def test_the_share_of_error_removed_is_that_of_held_out_data(multiclass: Report) -> None:
    found = multiclass.recalibration
    p = Predictions(LABELS, PROBS)
    fold = fold_of_rows(TrainingData(p), 5)
    calibrators = {name: METHODS[name]() for name in ("none", found.method)}
    held = CrossValidation(calibrators, p, fold, "nll").fits[found.method].probs
    before, after = cal.smece(LABELS, PROBS), cal.smece(LABELS, held)
    assert (found.before, found.after) == (before, after)
    assert found.pvalue_after == assess(LABELS, held).pvalue
    [chosen] = [e for e in found.entries if e.method == found.method]
    assert found.error_removed == 1 - after / before
    assert cal.ece(LABELS, held) == chosen.ece  # the very folds by which it was chosen


def test_the_threshold_is_that_of_choose_threshold(multiclass: Report) -> None:
    choice = cal.choose_threshold(LABELS, PROBS, accuracy=0.8, guarantee=0.9)
    found = multiclass.threshold
    assert (found.threshold, found.statement, found.coverage) == (choice.threshold, choice.statement, choice.coverage)
    assert (found.accuracy, found.coverage_bound) == (1 - choice.risk, choice.coverage_bound)


def test_weaknesses_are_the_gaps_of_those_rows(multiclass: Report) -> None:
    predicted = PROBS.argmax(axis=1)
    seen = set()
    for entry in multiclass.weaknesses.entries:
        if entry.kind == "predicted":
            rows = predicted == int(entry.name)
        elif entry.kind == "group":
            rows = entry.name == GROUPS
        else:
            continue
        seen.add(entry.kind)
        curve = cal.calibration_curve(LABELS[rows], PROBS[rows], bins=1)
        assert entry.rows == rows.sum()
        assert entry.mean_score == pytest.approx(curve.mean_score[0], rel=1e-12)
        assert entry.rate == pytest.approx(curve.rate[0], rel=1e-12)
        assert entry.low == pytest.approx(curve.mean_score[0] - curve.high[0], abs=1e-12)
        assert entry.high == pytest.approx(curve.mean_score[0] - curve.low[0], abs=1e-12)
        assert entry.weighted_gap == pytest.approx(rows.mean() * abs(entry.gap), rel=1e-12)
    assert seen == {"predicted", "group"}


def test_weaknesses_are_sorted_and_corrected_for_their_number(multiclass: Report) -> None:
    entries = multiclass.weaknesses.entries
    assert [e.weighted_gap for e in entries] == sorted((e.weighted_gap for e in entries), reverse=True)
    raw = np.array([e.pvalue for e in entries], dtype=float)
    np.testing.assert_allclose([e.adjusted for e in entries], adjust(raw, "holm"))  # type: ignore[arg-type]
    assert multiclass.weaknesses.looked_at == len(entries)
    assert multiclass.weaknesses.found == sum(e.adjusted is not None and e.adjusted <= 0.05 for e in entries) > 0


# P-values of gaps.


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=9), st.integers(0, 9))
def test_small_places_have_a_p_value_that_is_never_too_small(scores: list[float], events: int) -> None:
    """Against the exact distribution of the sum, found by going through every outcome."""
    n = len(scores)
    events = min(events, n)
    null_distribution = np.zeros(n + 1)
    for outcome in product((0, 1), repeat=n):
        null_distribution[sum(outcome)] += math.prod(s if y else 1 - s for s, y in zip(scores, outcome, strict=True))
    exact = min(1.0, 2 * min(null_distribution[: events + 1].sum(), null_distribution[events:].sum()))
    view = View(np.array(scores), np.array([1] * events + [0] * (n - events), np.uint8))
    mine = gap_pvalues(sums_by(view, None, 1), "unit")[0][0]
    # Hoeffding's bound is for more than one event away from the mean; nearer than that nothing is ever found.
    if abs(events - sum(scores)) >= 1:
        assert mine >= exact - 1e-12
    else:
        assert mine > 0.05 or mine >= exact - 1e-12


def test_counts_are_as_many_rows() -> None:
    rng = np.random.default_rng(102)
    score, counts = rng.random(80), rng.integers(1, 5, 80)
    outcome = (rng.random(80) < score).astype(int)
    short = gap_pvalues(sums_by(View(score, outcome, counts, "counts"), None, 1), "counts")[0]
    long = gap_pvalues(sums_by(View(np.repeat(score, counts), np.repeat(outcome, counts)), None, 1), "unit")[0]
    assert short[0] == pytest.approx(long[0], rel=1e-9)


def test_few_weighted_rows_have_no_p_value() -> None:
    view = View(np.full(20, 0.3), np.array([1, 0] * 10), np.linspace(0.1, 1, 20), "importance")
    pvalue, words = gap_pvalues(sums_by(view, None, 1), "importance")
    assert np.isnan(pvalue[0])
    assert words[0].startswith("none")


# The sentence.


def test_overconfidence_is_reported_with_the_effect_of_recalibration(multiclass: Report) -> None:
    verdict = multiclass.verdict
    means = percents(verdict.mean_score, verdict.rate)  # type: ignore[arg-type]
    assert verdict.headline == f"Overconfident: mean confidence {means[0]}, accuracy {means[1]}."
    assert verdict.sentence.startswith(f"{verdict.headline} Statistically significant (p < 0.001). ")
    assert re.search(
        r"Temperature scaling \(T = [\d.]+\) removes \d+% of the calibration error on held-out", verdict.sentence
    )


def test_what_is_not_found_is_not_called_calibrated() -> None:
    labels, probs = _problem(400, 3, 1.0)
    found = report(labels, probs, metrics=FEW).verdict
    assert found.direction == "none"
    assert found.rejected is False
    assert found.sentence.startswith("No statistically significant miscalibration: mean confidence ")
    assert "verconfident" not in found.sentence
    assert "percentage points" in found.sentence
    assert found.detectable is not None
    shown = re.search(
        r"The test detects a difference of ([0-9.]+) percentage points or more with at least 80% power", found.sentence
    )
    assert 100 * found.detectable <= float(shown[1]) < 105 * found.detectable
    assert not re.search(r"\bcalibrated\b", found.sentence)


@pytest.mark.deep
@pytest.mark.parametrize(("a", "b", "n"), [(1, 9, 80), (0.5, 40, 4000), (2, 2, 1000)])
@pytest.mark.parametrize("shape", ["flat", "proportional"])
def test_a_difference_as_large_as_the_report_names_is_noticed_as_often_as_it_says(
    a: float, b: float, n: int, shape: str, deep: bool
) -> None:
    runs = 400 if deep else 25
    rng = np.random.default_rng(106)
    score = rng.beta(a, b, n)
    reach = _detectable([View(score, np.zeros(n, np.uint8))])
    assert reach is not None
    truth = score + reach if shape == "flat" else score * (1 + reach / score.mean())
    truth += reach - (np.minimum(truth, 1) - score).mean()  # what is cut off at 1 is made up for
    labels = rng.random((runs, n)) < truth
    noticed = sum(cal.assess(label, score, metric="ecce_mad").rejected for label in labels.astype(int))
    assert noticed >= binom.ppf(0.001, runs, 0.8)


def test_what_the_test_asks_is_named_where_the_sentence_is_about_something_else() -> None:
    rng = np.random.default_rng(110)
    score = rng.beta(2, 2, 2000)
    verdicts = (
        report((rng.random(2000) < score).astype(int), score, metrics=["ece"], recalibration=False).verdict
        for _ in range(20)
    )
    found = next(each for each in verdicts if each.lens == "top_label" and not each.rejected)
    assert found.test_lens == "binary"
    assert "of the mean predicted probability and the observed rate of the positive class" in found.sentence


def test_a_rare_class_is_spoken_of_by_its_own_probability() -> None:
    rng = np.random.default_rng(103)
    score = rng.beta(1, 30, 4000)
    yes = (rng.random(4000) < 2.5 * score).astype(int)
    found = report(yes, score, metrics=FEW).verdict
    assert found.sentence.startswith("Underestimates the positive class: predicts ")
    assert found.lens == "binary"
    assert found.mean_score == pytest.approx(score.mean())
    assert found.rate == yes.mean()


def test_of_two_ways_to_look_at_two_classes_the_one_further_from_chance_comes_first() -> None:
    rng = np.random.default_rng(104)
    score = rng.uniform(0.2, 0.9, 3000)
    high = report((rng.random(3000) < score - 0.15).astype(int), score, metrics=FEW, recalibration=False).verdict
    assert high.lens == "binary"
    assert high.direction == "over"
    assert high.sentence.startswith("Overestimates the positive class: predicts ")
    sure = report(YES, SCORE, metrics=FEW, recalibration=False).verdict
    means = (SCORE.mean(), YES.mean(), np.maximum(SCORE, 1 - SCORE).mean(), ((SCORE > 0.5) == YES).mean())
    assert (sure.event_mean_score, sure.event_rate, sure.mean_score, sure.rate) == pytest.approx(means)
    assert sure.sentence.startswith("Overconfident: mean confidence ")


def test_a_place_that_stands_out_is_not_hidden_by_the_whole() -> None:
    rng = np.random.default_rng(105)
    score = np.full(3000, 0.5)
    groups = np.array(["a", "b"])[np.arange(3000) % 2]
    yes = np.where(groups == "a", rng.random(3000) < 0.6, rng.random(3000) < 0.4).astype(int)
    found = report(cal.Predictions(yes, score, groups=groups), metrics=FEW, recalibration=False)
    assert (found.verdict.direction, found.verdict.rejected) == ("mixed", False)
    assert found.verdict.headline.startswith("No statistically significant miscalibration")
    assert found.verdict.headline.endswith(", but in parts of the data.")
    worst = next(entry for entry in found.weaknesses.entries if entry.kind == "group")
    assert f"Significant in group {worst.name}: mean predicted probability 50%, observed rate" in found.verdict.sentence


def test_a_group_is_named_where_all_rows_are_wrong_too() -> None:
    rng = np.random.default_rng(3)
    score, groups = rng.beta(2, 4, 2000), np.array(["a", "b"])[np.arange(2000) % 2]
    yes = (rng.random(2000) < np.where(groups == "a", 1, 0.4) * score).astype(int)
    found = report(cal.Predictions(yes, score, groups=groups), metrics=FEW, recalibration=False)
    assert "Significant in group b: " in found.verdict.sentence
    assert all("| group b |" in text for text in (found.to_markdown(), found.to_model_card()))


@pytest.mark.parametrize(
    ("power", "shift", "says"),
    [
        (1, -1, "Risks are too low: mean predicted P(death) "),
        (1, 1, "Risks are too high: mean predicted P(death) "),
        (2.5, 0.2, "Risks are too extreme; on average they differ little: "),
        (6, 1.5, "Risks are too extreme and on average too high: "),
        (0.3, 0, "Risks are not extreme enough; on average they differ little: "),
    ],
)
@pytest.mark.parametrize("purpose", [None, "clinical"])
def test_a_headline_about_an_event_speaks_of_risks(power: float, shift: float, says: str, purpose: str | None) -> None:
    rng = np.random.default_rng(1)
    logit = rng.normal(0, 1, 1500)
    yes = (rng.random(1500) < 1 / (1 + np.exp(-logit))).astype(int)
    risk = 1 / (1 + np.exp(-power * logit - shift))
    found = report(
        yes, risk, purpose=purpose, outcome="death", metrics=["ece"], recalibration=False, level=0.5, n_resamples=20
    )
    assert found.verdict.headline.startswith(says)
    assert "onfiden" not in found.verdict.sentence
    assert found.verdict.lens == "binary"


@pytest.mark.filterwarnings("ignore::calibrant.errors.ReversedClassesWarning")
def test_reversed_classes_are_the_headline() -> None:
    rng = np.random.default_rng(0)
    risk = rng.beta(2, 2, 500)
    yes = (rng.random(500) < risk).astype(int)
    found = report(yes, 1 - risk, purpose="clinical", metrics=["ece"], recalibration=False, level=0.5, n_resamples=20)
    assert found.verdict.headline.startswith("Accuracy is ")
    assert found.verdict.headline.endswith(", so the classes look reversed.")
    assert "; calibration slope -1" in found.verdict.sentence
    assert ", risks reversed; C statistic 0.2" in found.verdict.sentence


@given(st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=60)
def test_percents_show_the_difference(first: float, second: float) -> None:
    one, other = (float(text.removesuffix("%")) for text in percents(first, second))
    assert abs(one - 100 * first) <= 0.5
    if abs(first - second) > 2e-6:
        assert abs((one - other) - 100 * (first - second)) <= max(0.3 * abs(100 * (first - second)), 1e-4)


# Every kind of data has a report, or a reason in its section.

YES_FEW = np.array([0, 1] * 20)
SHARES = RNG.dirichlet(np.ones(3), 40)
CASES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "one row": ([1], [0.9], {}),
    "one row of three": ([1], [[0.2, 0.5, 0.3]], {}),
    "one class": ([1] * 30, [0.9] * 30, {}),
    "sure and right": ([0, 1] * 20, [0.0, 1.0] * 20, {}),
    "sure and wrong": ([1, 0] * 20, [0.0, 1.0] * 20, {}),
    "one score": (YES_FEW, [0.4] * 40, {}),
    "classwise": (LABELS[:90], PROBS[:90], {"lens": "classwise"}),
    "canonical": (LABELS[:90], PROBS[:90], {"lens": "canonical"}),
    "one class of several": (LABELS[:90], PROBS[:90], {"lens": "class:2"}),
    "top two": (LABELS[:90], PROBS[:90], {"lens": "top_k:2"}),
    "weights": (LABELS[:90], PROBS[:90], {"sample_weight": np.linspace(0, 1, 90)}),
    "counts": (LABELS[:90], PROBS[:90], {"counts": np.arange(90) % 3}),
    "soft": (SHARES[:, 1], SHARES[:, 0], {"soft": True}),
    "soft of three": (SHARES, SHARES[::-1].copy(), {"soft": True}),
    "multilabel": ((RNG.random((60, 3)) < 0.5).astype(int), RNG.random((60, 3)), {"multilabel": True}),
    "confidence": (YES_FEW, np.linspace(0.5, 1, 40), {"input": "confidence"}),
    "logits": (YES_FEW, np.linspace(-2, 2, 40), {"input": "logit"}),
    "float32": (LABELS[:90], PROBS[:90].astype(np.float32), {}),
}


@pytest.mark.filterwarnings("ignore::calibrant.errors.HardPredictionsWarning")
@pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning")
@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_data_has_a_report(name: str) -> None:
    labels, probs, words = CASES[name]
    found = call(report, labels, probs, metrics=[*FEW, "cwce"], level=0.8, n_resamples=50, **words)
    assert json.loads(found.to_json()) == json.loads(json.dumps(found.to_dict()))
    assert found.to_markdown().count("\n## ") == 6
    assert found.verdict.sentence.endswith(".")
    assert not re.search(r"\bcalibrated\b", found.verdict.sentence, re.IGNORECASE)
    empty = [
        part for part in (found.diagram, found.weaknesses, found.recalibration, found.threshold) if not _filled(part)
    ]
    assert all(part.reason for part in empty)


def _filled(part: Any) -> bool:
    return bool(next(getattr(part, name) for name in ("bins", "entries", "statement") if hasattr(part, name)))


def test_reasons_say_what_is_missing() -> None:
    several = report(
        cal.Predictions(*CASES["multilabel"][:2], multilabel=True), metrics=["ece"], level=0.8, n_resamples=50
    )
    assert "3 diagrams" in several.diagram.reason
    assert "multilabel" in several.recalibration.reason
    assert "multilabel" in several.threshold.reason
    assert several.verdict.sentence.startswith(
        ("At least one of the 3 classes is miscalibrated", "No statistically significant miscalibration")
    )
    soft = report(cal.Predictions(*CASES["soft"][:2], soft=True), metrics=FEW)
    assert "soft" in soft.verdict.reason
    assert "Significance could not be tested" in soft.verdict.sentence
    assert soft.verdict.rejected is None
    weighted = report(LABELS[:90], PROBS[:90], sample_weight=np.linspace(0, 1, 90), metrics=FEW)
    assert "importance weights" in weighted.threshold.reason
    assert "one class occurs" in report([1] * 30, [0.9] * 30, metrics=FEW).recalibration.reason


def test_several_classes_are_tested_each_and_the_smallest_p_value_counts() -> None:
    rng = np.random.default_rng(107)
    truth = (rng.random((200, 3)) < 0.5).astype(int)
    probs = rng.random((200, 3))
    found = report(cal.Predictions(truth, probs, multilabel=True), metrics=["ecce_mad"])
    each = [assess(truth[:, j], probs[:, j], metric="ecce_mad").pvalue for j in range(3)]
    assert found.verdict.pvalue == pytest.approx(min(1, 3 * min(each)))


def test_scores_in_one_bin_are_cut_into_bins_of_equal_size() -> None:
    rng = np.random.default_rng(108)
    score = rng.beta(1, 200, 3000)
    found = report((rng.random(3000) < score).astype(int), score, metrics=FEW, recalibration=False).diagram
    assert found.binning == "equal_mass"
    assert sum(each.rows > 0 for each in found.bins) == 15
    assert "bins of equal mass" in found.notes[0]


# Bounded work.


def test_many_rows_are_recalibrated_on_a_subset_which_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recalibration, "MOST_ROWS", 500)
    found = report(LABELS, PROBS, metrics=FEW, rng=3)
    rows = sampled_rows(cal.Predictions(LABELS, PROBS), 500, 3)
    assert len(set(rows.tolist())) == 500
    theirs = recalibrate(LABELS[rows], PROBS[rows], rng=3)
    assert [e.loss for e in found.recalibration.entries] == [c.loss for c in theirs.candidates]
    assert (found.recalibration.rows, found.recalibration.of) == (500, 1200)
    assert "500 of 1,200 rows" in " ".join(found.recalibration.notes)
    assert "500 of 1,200 rows" in " ".join(found.provenance.notes)


def test_resampling_that_would_take_too_long_is_left_out_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "MOST_ENTRIES", 0)
    found = report(LABELS, PROBS, metrics=["cwce", "nll"], recalibration=False).metrics
    assert found["cwce"].value is not None
    assert found["cwce"].low is None
    assert "too long" in found["cwce"].note
    assert found["nll"].low == interval(LABELS, PROBS, metric="nll").low  # a mean over rows needs none


def test_metrics_that_would_take_too_long_are_left_out_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calibrant.metrics.properties.PAIRED_ROWS", 10)
    found = report(LABELS, PROBS, metrics=["dkde"], recalibration=False)
    assert found.metrics.rows == ()
    assert found.metrics.reason
    assert "kernel density calibration error" in found.metrics.notes[0]


@pytest.mark.deep
def test_a_million_rows_have_a_report_that_says_what_was_bounded() -> None:
    labels, probs = _problem(1_000_000, 10, 1.4)
    found = report(cal.Predictions(labels, probs.astype(np.float32), groups=np.arange(1_000_000) % 5))
    assert found.verdict.direction == "over"
    assert found.metrics["ece"].value == cal.ece(labels, probs.astype(np.float32))
    assert found.metrics["ece"].low is not None
    assert "too long" in found.metrics["cwce"].note
    assert found.recalibration.rows == 25_000
    assert "25,000 of 1,000,000 rows" in found.to_markdown()


# Provenance and determinism.


def test_the_same_input_gives_the_same_bytes(binary: Report) -> None:
    again = report(YES.tolist(), SCORE.tolist(), metrics=FEW)
    assert again.to_json() == binary.to_json()
    assert again.to_markdown() == binary.to_markdown()


def test_time_comes_from_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert report([0, 1], [0.1, 0.9], metrics=["ece"]).provenance.made is None
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert report([0, 1], [0.1, 0.9], metrics=["ece"]).provenance.made == "1970-01-02T00:00:00Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    assert report([0, 1], [0.1, 0.9], metrics=["ece"]).provenance.made is None


@pytest.mark.filterwarnings("ignore::calibrant.errors.ReversedClassesWarning")
def test_the_fingerprint_knows_labels_scores_and_weights_but_not_the_order() -> None:
    rng = np.random.default_rng(109)
    order = rng.permutation(1200)
    whole = data_fingerprint(Predictions(LABELS, PROBS))
    assert data_fingerprint(Predictions(LABELS[order], PROBS[order])) == whole
    others = [
        Predictions((LABELS + 1) % 4, PROBS),
        Predictions(LABELS, PROBS, sample_weight=np.arange(1200) + 1.0),
        Predictions(LABELS[1:], PROBS[1:]),
    ]
    assert len({whole, *map(data_fingerprint, others)}) == 4


# Input and output.


def test_the_suffix_decides_what_is_written(tmp_path: Path, binary: Report) -> None:
    assert binary.save(tmp_path / "a.json").read_text() == binary.to_json()
    assert binary.save(tmp_path / "a.md").read_text() == binary.to_markdown()
    report([0, 1], [0.1, 0.9], metrics=["ece"]).save(tmp_path / "b.json")
    assert json.loads((tmp_path / "b.json").read_text())["metrics"]["rows"][0]["id"] == "ece"


@pytest.mark.parametrize(
    ("words", "error", "says"),
    [
        ({"level": 2}, ArgumentError, "level"),
        ({"level": "x"}, ArgumentError, "level"),
        ({"n_resamples": 20}, ArgumentError, "n_resamples"),
        ({"recalibration": "yes"}, ArgumentError, "recalibration"),
        ({"title": 3}, ArgumentError, "title"),
        ({"outcome": 3}, ArgumentError, "outcome"),
        ({"outcome": " "}, ArgumentError, "outcome"),
        ({"metadata": "model"}, ArgumentError, "metadata"),
        ({"metadata": {3: "x"}}, ArgumentError, "metadata"),
        ({"metadata": {"a": ["x"]}}, ArgumentError, "metadata"),
        ({"metrics": []}, ArgumentError, "metrics"),
        ({"groups": "place"}, InputTypeError, "groups: .*name columns"),
        ({"groups": ["a"]}, ValueError, "groups"),
        ({"lens": "class:9"}, ArgumentError, "class"),
    ],
)
def test_bad_options_are_named(words: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call(report, YES[:30], SCORE[:30], **words)


def test_rows_that_sum_to_one_but_for_rounding_can_be_recalibrated() -> None:
    probs = np.round(PROBS, 4)
    assert np.abs(probs.sum(axis=1) - 1).max() > 5e-5
    found = report(cal.Predictions(LABELS, probs, normalize=3e-4), metrics=FEW, n_resamples=200)
    assert found.recalibration.method != "none"
    assert found.recalibration.after is not None
    assert found.recalibration.before is not None
    assert found.recalibration.after < found.recalibration.before


# The outcome, the metadata and the groups of metrics.


def test_the_outcome_is_named_in_every_form() -> None:
    named = np.where(YES == 1, "churn", "stay")
    found = report(named, SCORE, pos_label="churn", metrics=FEW, recalibration=False)
    assert found.outcome == json.loads(found.to_json())["outcome"] == "churn"
    assert "Evaluated on: P(churn)." in found.to_markdown()
    assert "observed rate (churn)" in found.to_markdown()
    page = found.to_html()
    assert "mean predicted P(churn)" in page
    assert "observed rate (churn)" in page
    assert '"outcome":"churn"' in page


@pytest.mark.parametrize(
    ("label", "classes", "outcome", "expected"),
    [
        ("churned", None, None, "churned"),
        ("churned", None, "churn", "churn"),
        ("y_true", None, None, ""),
        ("churned", ("no", "yes"), None, "churned"),
        ("kind", ("ham", "spam"), None, "spam"),
    ],
)
def test_the_outcome_comes_from_the_class_or_the_label_column(
    label: str, classes: tuple[str, str] | None, outcome: str | None, expected: str
) -> None:
    y = YES if classes is None else np.where(YES == 1, classes[1], classes[0])
    frame = pd.DataFrame({label: y, "p": SCORE})
    positive = None if classes is None else classes[1]
    words: dict[str, Any] = {"metrics": FEW, "recalibration": False, "outcome": outcome}
    predictions = cal.Predictions(frame, label=label, prob="p", pos_label=positive)
    assert report(predictions, **words).outcome == expected
    series = report(frame[label], frame["p"], pos_label=positive, **words)  # a series has a name
    assert series.outcome == expected
    found = cal.evaluate(predictions, metrics=FEW, outcome=outcome)
    assert found.header.outcome == expected
    name = f"P({expected})" if expected else "the positive class"
    assert f"estimates {name}: " in found.header.event or "not significant" in found.header.event


def test_metrics_stand_in_three_groups() -> None:
    found = report(YES, SCORE, recalibration=False, n_resamples=200)
    groups = [row.group for row in found.metrics.all_rows]
    assert groups == sorted(groups, key=["calibration", "proper score", "discrimination"].index)
    assert {row.id for row in found.metrics.rows if row.group == "proper score"} == {"brier", "nll"}
    assert found.metrics["auroc"].value == cal.evaluation.auroc(YES, SCORE)
    assert found.metrics["average_precision"].value == cal.evaluation.average_precision(YES, SCORE)
    page = found.to_html()
    _, table = page.split('<table class="metrics stack">')
    shown = re.findall(r'scope="row"><bdi>[^<]*\((\w+)\)</bdi>', table.split("</table>")[0])
    assert shown == [row.id for row in found.metrics.all_rows]


def test_calibrators_are_those_of_recalibrate(multiclass: Report) -> None:
    found = recalibrate(LABELS, PROBS, rng=0)
    entries = multiclass.recalibration.entries
    assert [(e.method, e.loss, e.gain, e.low, e.high, e.ece) for e in entries] == [
        (c.method, c.loss, c.gain, c.low, c.high, c.ece) for c in found.candidates
    ]
    assert multiclass.recalibration.method == found.method
    marked = calibrator_table(multiclass.recalibration)
    assert [cells[0] for cells, mark in zip(marked.cells, marked.marks, strict=True) if mark] == [found.method]
    assert marked.cells[[c.method for c in found.candidates].index(found.method)][-1] == "chosen"


def test_discrimination_that_is_undefined_has_a_reason() -> None:
    found = report([1] * 30, [0.9] * 30, metrics=["ece"], recalibration=False)
    assert found.metrics["auroc"].value is None
    assert "only one class" in found.metrics["auroc"].reason


def _share_noticed(score: Any, truth: Any, weight: Any, seed: int) -> float:
    """How often the largest cumulative difference is beyond 2.2414 of its standard deviations; scores rise."""
    labels = np.random.default_rng(seed).random((4000, len(score))) < truth
    path = np.cumsum(weight * (score - labels), axis=1)
    return float((np.abs(path).max(axis=1) > 2.2414 * np.sqrt((weight**2 * score * (1 - score)).sum())).mean())


@pytest.mark.parametrize(("n", "high", "heavy"), [(200, 0.97, 30.0), (100, 0.6, 10.0)])
def test_the_difference_that_the_report_names_counts_heavy_rows_as_they_are(n: int, high: float, heavy: float) -> None:
    score = np.r_[np.full(1000, 0.05), np.full(n, high)] + np.linspace(-1e-4, 1e-4, 1000 + n)
    weight = np.r_[np.ones(1000), np.full(n, heavy)]
    reach = _detectable([View(score, np.zeros(1000 + n, np.uint8), weight, "importance")])
    assert reach is not None
    assert reach < 0.1
    share = n * heavy / (1000 + n * heavy)
    truth = np.where(score > 0.5, score - reach / share, score)
    assert _share_noticed(score, truth, weight, 2) >= binom.ppf(0.001, 4000, 0.8) / 4000


def test_errors_that_cancel_are_called_mixed() -> None:
    score = np.repeat([0.6, 0.9], 500)
    right = np.repeat([1, 0, 1, 0], [350, 150, 400, 100])  # 70% where 60% is said, 80% where 90% is
    found = report(cal.Predictions(right, score, input="confidence"), metrics=FEW, recalibration=False).verdict
    assert found.direction == "mixed"
    assert "the mean difference is not significant: mean confidence 75%, accuracy 75%" in found.headline

"""Reports side by side: models on the same rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import Predictions
from calibrant.errors import ArgumentError, InputTypeError, ShapeError
from calibrant.inference.comparison import compare
from calibrant.inference.multiplicity import adjust
from calibrant.reporting import Report, comparing, report
from calibrant.reporting.recalibration import sampled_rows
from calibrant.reporting.tables import report_tables
from calibrant.util.results import number
from tests.calling import call, raises

RNG = np.random.default_rng(5)
SCORE = RNG.random(600)
LABELS = (RNG.random(600) < SCORE).astype(int)
SHARP = SCORE**3 / (SCORE**3 + (1 - SCORE) ** 3)
MODELS = {"plain": SCORE, "sharp": SHARP, "flat": np.full(600, 0.5)}
FEW = ["brier", "ece"]


@pytest.fixture(scope="module")
def models() -> Report:
    return report(LABELS, MODELS, metrics=FEW)


def test_differences_are_those_of_compare(models: Report) -> None:
    for metric in models.comparison.metrics:
        theirs = compare(LABELS, MODELS, metric=metric.id, n_resamples=200, rng=0)
        assert metric.values == theirs.values[metric.id]
        mine = [(d.first, d.second, d.difference, d.low, d.high, d.pvalue) for d in metric.differences]
        assert mine == [(d.first, d.second, d.difference, d.low, d.high, d.pvalue) for d in theirs.differences]
        corrected = adjust(np.array([d.pvalue for d in theirs.differences]), "holm")
        assert [d.adjusted for d in metric.differences] == corrected.tolist()
        assert [d.found for d in metric.differences] == (corrected <= 0.05).tolist()


def test_the_best_is_named_with_what_is_sure(models: Report) -> None:
    values = models.comparison.metrics[0].values
    assert min(values, key=lambda name: values[name]) == "plain"
    assert models.sentence == (
        f"plain has the lowest Brier score, {number(values['plain'])} (difference from sharp significant, from flat significant)."
    )


def test_a_difference_that_is_not_significant_is_called_so() -> None:
    rng = np.random.default_rng(101)
    near = {"one": SCORE, "other": np.clip(SCORE + rng.normal(0, 0.001, 600), 0, 1)}
    found = report(LABELS, near, metrics=["brier"])
    assert found.sentence.endswith("not significant).")


def test_many_pairs_have_draws_enough_to_be_found() -> None:
    many = {f"m{i}": np.clip(SCORE + 0.08 * i, 0, 1) for i in range(5)}
    found = report(LABELS, many, metrics=["brier"])
    assert found.comparison.metrics[0].n_resamples == 400
    assert any(d.found for d in found.comparison.metrics[0].differences)


def test_differences_from_an_infinite_value_are_not_judged() -> None:
    zero = np.where(np.arange(600) == np.flatnonzero(LABELS)[0], 0.0, SCORE)
    models = {"zero": zero, "plain": SCORE, "flat": np.full(600, 0.5)}
    found = report(LABELS, models, metrics=["nll"])
    first, second, third = found.comparison.metrics[0].differences
    for each in (first, second):
        assert (each.difference, each.low, each.pvalue, each.adjusted, each.found) == (np.inf, None, None, None, None)
    assert (third.adjusted, third.found) == (third.pvalue, True)  # adjusted for the one that is tested
    assert found.sentence.endswith("(difference from zero infinite, from flat significant).")
    assert "| Negative log likelihood | zero minus plain | inf | - | - | no test |" in found.to_markdown()
    assert "differences from an infinite value cannot be tested" in found.to_markdown()
    assert json.loads(found.to_json())["comparison"]["metrics"][0]["differences"][0]["found"] is None
    both = report(LABELS, {"a": zero, "b": zero}, metrics=["nll", "brier"])
    assert "has the lowest Brier score" in both.sentence


def test_predictions_by_name_do_too(models: Report) -> None:
    parts = {name: Predictions(LABELS, probs) for name, probs in MODELS.items()}
    assert report(parts, metrics=FEW).to_json() == models.to_json()


@pytest.mark.parametrize(
    "words",
    [
        {"sample_weight": np.linspace(0.1, 1, 600)},
        {"counts": np.arange(600) % 3 + 1},
        {"input": "confidence"},
    ],
)
def test_weights_and_confidences_are_passed_on(words: dict[str, Any]) -> None:
    two = {"one": SCORE, "other": SHARP}
    found = call(report, LABELS, two, metrics=["ece"], **words)
    theirs = call(compare, LABELS, two, metric="ece", n_resamples=200, rng=0, **words)
    assert found.comparison.metrics[0].values == theirs.values["ece"]
    assert found.comparison.metrics[0].differences[0].low == theirs.differences[0].low


def test_many_rows_are_compared_on_some_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "MOST_WORK", 1)
    monkeypatch.setattr(comparing, "LEAST_ROWS", 200)
    found = report(LABELS, {"one": SCORE, "other": SHARP}, metrics=["brier"], rng=2)
    rows = sampled_rows(cal.Predictions(LABELS, SCORE), 200, 2)
    assert found.comparison.metrics[0].values["one"] == cal.brier(LABELS[rows], SCORE[rows])
    assert "200 of 600 rows" in " ".join(found.comparison.notes)
    assert found.models[0].metrics["brier"].value == cal.brier(LABELS, SCORE)


@pytest.mark.filterwarnings("ignore::calibrant.errors.HardPredictionsWarning")
@pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning")
def test_a_metric_that_cannot_be_compared_says_why() -> None:
    found = report(LABELS, {"one": SCORE, "other": np.ones(600)}, metrics=["cox_slope", "brier"])
    assert found.comparison.metrics[0].reason
    assert "not compared" in found.to_markdown()
    assert found.sentence.startswith("one has the lowest Brier score")


def test_it_is_written_by_suffix(tmp_path: Path, models: Report) -> None:
    assert models.save(tmp_path / "c.md").read_text() == models.to_markdown()
    assert models.save(tmp_path / "c.json").read_text() == models.to_json()
    assert report(LABELS, MODELS, metrics=FEW).to_json() == models.to_json()
    assert models.save(tmp_path / "c.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("labels", "probs", "words", "argument"),
    [
        (LABELS, {"one": SCORE}, {}, "y_prob"),
        (LABELS, MODELS, {"purpose": "clinical"}, "purpose"),
        (LABELS, MODELS, {"features": {"age": SCORE}}, "features"),
        ({"a": SCORE}, None, {}, "y_true"),
    ],
)
def test_bad_calls_name_the_argument(labels: Any, probs: Any, words: Any, argument: str) -> None:
    with pytest.raises((ArgumentError, InputTypeError)) as error:
        report(labels, probs, **words)
    assert error.value.argument == argument


def test_models_that_dropped_other_rows_are_compared_on_those_of_both() -> None:
    missing = np.where(np.arange(len(SCORE)) < 20, np.nan, SCORE)
    models = {"a": Predictions(LABELS, SCORE), "b": Predictions(LABELS, missing, missing="drop")}
    assert [side.rows for side in report(models, metrics=["brier"]).comparison.sides] == [580, 580]


@pytest.mark.filterwarnings("ignore::calibrant.errors.ReversedClassesWarning")
def test_different_rows_are_no_models() -> None:
    one = Predictions(LABELS, SCORE)
    with raises(ShapeError, "y_prob"):
        report({"a": one, "b": Predictions(LABELS[1:], SCORE[1:])})
    with pytest.raises(ArgumentError, match="labels of 'a' and 'b' differ"):
        report({"a": one, "b": Predictions(1 - LABELS, SCORE)})
    with raises(ArgumentError, "y_true"):
        report({"a": one, "b": Predictions(LABELS, SCORE, sample_weight=np.ones(600))})


def test_outcome_and_metadata_stand_in_every_form() -> None:
    two = {"one": SCORE, "other": SHARP}
    found = report(LABELS, two, metrics=["brier"], outcome="churn <x>", metadata={"owner": "<i>Risk</i>"})
    read = json.loads(found.to_json())
    assert (read["outcome"], read["metadata"]) == ("churn <x>", {"owner": "<i>Risk</i>"})
    assert found.models[0].metadata == {}
    assert "- owner: \\<i>Risk\\</i>" in found.to_markdown()
    assert "| one | 600 |" in found.to_markdown()
    assert "observed rate (churn \\<x>)" in found.to_markdown()
    assert "owner: <i>Risk</i>" in repr(found)
    page = found.to_html()
    assert "&lt;i&gt;Risk&lt;/i&gt;" in page
    assert "<i>" not in page


def test_an_infinite_loss_names_the_rows_and_gives_way_to_the_brier_score() -> None:
    rng = np.random.default_rng(0)
    score = rng.integers(0, 21, 600) / 20
    label = (rng.random(600) < score**1.3).astype(int)
    rows = np.flatnonzero(score == 0)[:6]
    label[rows] = 1
    found = cal.report(label, score, metrics=["nll"], level=None, n_resamples=39)
    (note,) = (each for each in found.metrics.notes if "infinite" in each)
    assert f"6 rows ({', '.join(map(str, rows[:5]))}, ..., counted from 0) have a predicted probability of 0" in note
    assert found.recalibration.loss == "brier"
    models = {"forest": score, "clipped": score.clip(0.02, 0.98)}
    compared = report(label, models, metrics=["nll", "brier"], level=0.5, n_resamples=20)
    assert compared.sentence.startswith("clipped has the lowest Brier score, ")
    assert compared.sentence.endswith(" The negative log likelihood of forest is infinite.")


def test_rows_that_make_a_loss_infinite_are_named() -> None:
    y, p = [0, 1] * 50, [0.2, 0.8] * 50
    found = report(y, {"good": p, "sure": [*p[:-1], 0.0]}, metrics=["nll", "brier"])
    [note] = [note for note in found.comparison.notes if note.startswith("sure has an infinite loss")]
    assert "row 99 has a predicted probability of 0 for the observed outcome; recalibrate" in note
    assert not any(note.startswith("good") for note in found.comparison.notes)
    assert {
        column.heading for name in ("Side by side", "Metrics") for column in report_tables(found)[name].columns
    } >= {"model"}

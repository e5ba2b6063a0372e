"""Reports side by side: models on the same rows, before and after recalibration, and periods."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import Predictions
from calibrant.errors import ArgumentError, ShapeError
from calibrant.inference.comparison import compare
from calibrant.inference.multiplicity import adjust
from calibrant.reporting import comparing
from calibrant.reporting.building import report
from calibrant.reporting.comparing import ReportComparison, compare_reports
from calibrant.reporting.recalibration import sampled_rows
from calibrant.util.results import number
from tests.calling import call

RNG = np.random.default_rng(5)
SCORE = RNG.random(600)
LABELS = (RNG.random(600) < SCORE).astype(int)
SHARP = SCORE**3 / (SCORE**3 + (1 - SCORE) ** 3)
MODELS = {"plain": SCORE, "sharp": SHARP, "flat": np.full(600, 0.5)}
FEW = ["brier", "ece"]


class Structure(HTMLParser):
    """The elements and attributes of a page, in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, tuple[str, ...]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, tuple(name for name, _ in attrs)))


@pytest.fixture(scope="module")
def models() -> ReportComparison:
    return compare_reports(LABELS, MODELS, metrics=FEW)


def test_differences_are_those_of_compare(models: ReportComparison) -> None:
    for metric in models.metrics:
        theirs = compare(LABELS, MODELS, metric=metric.id, n_resamples=200, rng=0)
        assert metric.values == theirs.values
        mine = [(d.first, d.second, d.difference, d.low, d.high, d.pvalue) for d in metric.differences]
        assert mine == [(d.first, d.second, d.difference, d.low, d.high, d.pvalue) for d in theirs.differences]
        corrected = adjust(np.array([d.pvalue for d in theirs.differences]), "holm")
        assert [d.adjusted for d in metric.differences] == corrected.tolist()
        assert [d.found for d in metric.differences] == (corrected <= 0.05).tolist()


def test_each_side_has_its_own_report(models: ReportComparison) -> None:
    assert [each.title for each in models.reports] == list(MODELS)
    for each, probs in zip(models.reports, MODELS.values(), strict=True):
        alone = report(LABELS, probs, metrics=FEW, recalibration=False)
        assert each.metrics == alone.metrics
        assert each.verdict == alone.verdict


def test_the_best_is_named_with_what_is_sure(models: ReportComparison) -> None:
    values = models.metrics[0].values
    assert min(values, key=lambda name: values[name]) == "plain"
    assert models.sentence == (
        f"plain has the lowest brier, {number(values['plain'])} (difference from sharp significant, from flat significant)."
    )


def test_a_difference_that_is_not_significant_is_called_so() -> None:
    rng = np.random.default_rng(101)
    near = {"one": SCORE, "other": np.clip(SCORE + rng.normal(0, 0.001, 600), 0, 1)}
    found = compare_reports(LABELS, near, metrics=["brier"])
    assert found.sentence.endswith("not significant).")


def test_many_pairs_have_draws_enough_to_be_found() -> None:
    many = {f"m{i}": np.clip(SCORE + 0.08 * i, 0, 1) for i in range(5)}
    found = compare_reports(LABELS, many, metrics=["brier"])
    assert found.metrics[0].n_resamples == 400
    assert any(d.found for d in found.metrics[0].differences)


def test_before_and_after_recalibration() -> None:
    fitted = cal.TemperatureScaling().fit(SHARP[:300], LABELS[:300])
    found = compare_reports(LABELS[300:], SHARP[300:], kind="before-after", calibrator=fitted, metrics=["nll", "ece"])
    after = fitted.predict_proba(SHARP[300:])[:, 1]
    theirs = compare(LABELS[300:], {"before": SHARP[300:], "after": after}, metric="nll", n_resamples=200, rng=0)
    assert found.metrics[0].values == pytest.approx(theirs.values, rel=1e-12)
    assert found.sentence.startswith("nll fell from ")
    assert "the change is statistically significant (p " in found.sentence
    assert [side.name for side in found.sides] == ["before", "after"]
    (change,) = found.metrics[0].differences
    assert (change.first, change.second) == ("after", "before")
    assert change.difference == pytest.approx(theirs["after", "before"].difference, rel=1e-9)
    assert "after minus before" in found.to_markdown()


def test_differences_from_an_infinite_value_are_not_judged() -> None:
    zero = np.where(np.arange(600) == np.flatnonzero(LABELS)[0], 0.0, SCORE)
    models = {"zero": zero, "plain": SCORE, "flat": np.full(600, 0.5)}
    found = compare_reports(LABELS, models, metrics=["nll"])
    first, second, third = found.metrics[0].differences
    for each in (first, second):
        assert (each.difference, each.low, each.pvalue, each.adjusted, each.found) == (np.inf, None, None, None, None)
    assert (third.adjusted, third.found) == (third.pvalue, True)  # adjusted for the one that is tested
    assert found.sentence.endswith("(difference from zero infinite, from flat significant).")
    assert "| nll | zero minus plain | inf | - | - | no test |" in found.to_markdown()
    assert "differences from an infinite value cannot be tested" in found.to_markdown()
    assert json.loads(found.to_json())["metrics"][0]["differences"][0]["found"] is None
    two = compare_reports(LABELS, {"old": zero, "new": SCORE}, kind="before-after", metrics=["nll"])
    assert two.sentence.endswith("a change from or to an infinite value cannot be tested.")
    both = compare_reports(LABELS, {"a": zero, "b": zero}, metrics=["nll", "brier"])
    assert "has the lowest brier" in both.sentence


def test_periods_are_a_table_over_time() -> None:
    cuts = {"first": slice(0, 300), "second": slice(300, 500), "third": slice(500, 600)}
    scores = {"first": SCORE[:300], "second": SHARP[300:500], "third": SCORE[500:]}
    found = compare_reports({name: LABELS[cut] for name, cut in cuts.items()}, scores, kind="periods", metrics=FEW)
    assert [side.rows for side in found.sides] == [300, 200, 100]
    assert found.metrics == ()
    raw = [each.verdict.pvalue for each in found.reports]
    assert [side.pvalue for side in found.sides] == raw
    assert [side.adjusted for side in found.sides] == adjust(np.array(raw), "holm").tolist()
    assert "largest mean difference in second" in found.sentence
    text = found.to_markdown()
    assert f" | {number(cal.brier(LABELS[300:500], scores['second']))} (" in text


def test_predictions_by_name_do_too(models: ReportComparison) -> None:
    parts = {name: Predictions(LABELS, probs) for name, probs in MODELS.items()}
    assert compare_reports(parts, metrics=FEW).to_json() == models.to_json()


def test_numbers_of_the_forms_are_the_same(models: ReportComparison) -> None:
    read = json.loads(models.to_json())
    text = models.to_markdown()
    for metric, plain in zip(models.metrics, read["metrics"], strict=True):
        for mine, theirs in zip(metric.differences, plain["differences"], strict=True):
            assert theirs["difference"] == mine.difference
            row = f"| {metric.id} | {mine.first} minus {mine.second} | {number(mine.difference)} | "
            assert f"{row}{number(mine.low)} to {number(mine.high)} |" in text
    page = models.to_html()
    assert models.sentence in page
    for metric in models.metrics:
        for each in metric.differences:
            assert f"{number(each.difference)}</td>" in page
            assert f"{number(each.low)} to {number(each.high)}" in page
    assert len(models.to_frame()) == 12
    assert models.to_frame()["id"].tolist()[:4] == ["ece", "brier", "auroc", "average_precision"]


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
    found = call(compare_reports, LABELS, two, metrics=["ece"], **words)
    theirs = call(compare, LABELS, two, metric="ece", n_resamples=200, rng=0, **words)
    assert found.metrics[0].values == theirs.values
    assert found.metrics[0].differences[0].low == theirs.differences[0].low


def test_several_labels_and_soft_ones_are_compared() -> None:
    rng = np.random.default_rng(102)
    truth, probs = (rng.random((80, 3)) < 0.5).astype(int), rng.random((80, 3))
    words: dict[str, Any] = {"metrics": ["brier"], "level": 0.8, "n_resamples": 50}
    found = compare_reports(
        {"a": cal.Predictions(truth, probs, multilabel=True), "b": cal.Predictions(truth, 1 - probs, multilabel=True)},
        **words,
    )
    assert found.metrics[0].values["a"] == cal.brier(cal.Predictions(truth, probs, multilabel=True))
    shares = rng.dirichlet(np.ones(3), 80)
    soft = compare_reports(
        {"a": cal.Predictions(shares, shares[::-1].copy(), soft=True), "b": cal.Predictions(shares, shares, soft=True)},
        **words,
    )
    assert soft.metrics[0].values["b"] == pytest.approx(cal.brier(cal.Predictions(shares, shares, soft=True)))


def test_many_rows_are_compared_on_some_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "MOST_WORK", 1)
    monkeypatch.setattr(comparing, "LEAST_ROWS", 200)
    found = compare_reports(LABELS, {"one": SCORE, "other": SHARP}, metrics=["brier"], rng=2)
    rows = sampled_rows(600, 200, 2)
    assert found.metrics[0].values["one"] == cal.brier(LABELS[rows], SCORE[rows])
    assert "200 of 600 rows" in " ".join(found.notes)
    assert found.reports[0].metrics["brier"].value == cal.brier(LABELS, SCORE)


@pytest.mark.filterwarnings("ignore::calibrant.errors.HardPredictionsWarning")
@pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning")
def test_a_metric_that_cannot_be_compared_says_why() -> None:
    found = compare_reports(LABELS, {"one": SCORE, "other": np.ones(600)}, metrics=["cox_slope", "brier"])
    assert found.metrics[0].reason
    assert "not compared" in found.to_markdown()
    assert found.sentence.startswith("one has the lowest brier")


def test_hostile_names_change_no_structure() -> None:
    def shape(text: str) -> list[int]:
        return [len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in text.split("\n")]

    words: dict[str, Any] = {"metrics": ["brier"], "level": 0.8, "n_resamples": 50}

    def still(found: ReportComparison) -> ReportComparison:
        """Without scripts and pictures, which take time."""
        reports = (replace(r, cells=None, diagram=replace(r.diagram, bins=())) for r in found.reports)
        return replace(found, reports=tuple(reports))

    tame = compare_reports(LABELS, {"one": SCORE, "other": SHARP}, **words)
    structure = Structure(still(tame).to_html()).seen
    for name in ("<script>x</script>", "a|b\n# c", "\x00\u202ex", "**x**", '"><img src=x>'):
        found = compare_reports(LABELS, {name: SCORE, "other": SHARP}, title=name, **words)
        assert shape(found.to_markdown()) == shape(tame.to_markdown())
        page = still(found).to_html()
        assert Structure(page).seen == structure
        assert "\x00" not in page
        assert json.loads(found.to_json())["sides"][0]["name"] == name


def test_it_is_written_by_suffix(tmp_path: Path, models: ReportComparison) -> None:
    assert models.save(tmp_path / "c.md").read_text() == models.to_markdown()
    written = compare_reports(LABELS, MODELS, tmp_path / "c.json", metrics=FEW)
    assert (tmp_path / "c.json").read_text() == written.to_json() == models.to_json()
    assert models.save(tmp_path / "c.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("labels", "probs", "words", "argument"),
    [
        (LABELS, {"one": SCORE}, {}, "y_prob"),
        (LABELS, MODELS, {"kind": "before-after"}, "y_prob"),
        (LABELS, MODELS, {"kind": "weeks"}, "kind"),
        (LABELS, SCORE, {}, "y_prob"),
        (LABELS, MODELS, {"calibrator": "x"}, "calibrator"),
        (LABELS, MODELS, {"level": None}, "level"),
        (LABELS, MODELS, {"kind": "periods"}, "y_true"),
        ({"a": SCORE}, None, {}, "y_true"),
    ],
)
def test_bad_calls_name_the_argument(labels: Any, probs: Any, words: Any, argument: str) -> None:
    with pytest.raises(ArgumentError) as error:
        compare_reports(labels, probs, **words)
    assert error.value.argument == argument


@pytest.mark.filterwarnings("ignore::calibrant.errors.ReversedClassesWarning")
def test_different_rows_are_no_models() -> None:
    one = Predictions(LABELS, SCORE)
    with pytest.raises(ShapeError, match="periods"):
        compare_reports({"a": one, "b": Predictions(LABELS[1:], SCORE[1:])})
    with pytest.raises(ArgumentError, match="labels of 'a' and 'b' differ"):
        compare_reports({"a": one, "b": Predictions(1 - LABELS, SCORE)})
    with pytest.raises(ArgumentError, match="weights"):
        compare_reports({"a": one, "b": Predictions(LABELS, SCORE, sample_weight=np.ones(600))})


def test_outcome_and_metadata_stand_in_every_form() -> None:
    two = {"one": SCORE, "other": SHARP}
    found = compare_reports(LABELS, two, metrics=["brier"], outcome="churn <x>", metadata={"owner": "<i>Risk</i>"})
    read = json.loads(found.to_json())
    assert (read["outcome"], read["metadata"]) == ("churn <x>", {"owner": "<i>Risk</i>"})
    assert found.reports[0].metadata == {}
    assert "- owner: \\<i>Risk\\</i>" in found.to_markdown()
    assert "| one | P(churn \\<x>) | 600 |" in found.to_markdown()
    assert "owner: <i>Risk</i>" in repr(found)
    page = found.to_html()
    assert "&lt;i&gt;Risk&lt;/i&gt;" in page
    assert "<i>" not in page


def test_sides_with_different_lenses_name_them(models: ReportComparison) -> None:
    """The conclusions of the reports may be about the top label and about the positive class."""
    assert {side.lens for side in models.sides} == {"binary", "top_label"}
    text = models.to_markdown()
    assert "|  | evaluated on | rows | mean score | rate | gap |" in text
    assert "| sharp | top label | 600 |" in text

"""The summary of evaluate: six lines, with groups, sketches, weights and gates."""

import re
from typing import Any

import numpy as np
import pytest

import calibrant as cal

RNG = np.random.default_rng(3)
SCORE = RNG.random(2000)
EVENT = (RNG.random(2000) < SCORE**1.5).astype(int)
PROBS = RNG.dirichlet(np.ones(4), 600)
LABELS = np.array([RNG.choice(4, p=row) for row in PROBS])


def lines_of(result: cal.evaluation.Evaluation) -> dict[str, list[str]]:
    return {row[0].rpartition("(")[2].rstrip(")"): row[1:] for row in result.table()[1]}


def test_an_event_has_a_header_and_six_lines() -> None:
    result = cal.evaluate(EVENT, SCORE, outcome="churn")
    lines = repr(result).splitlines()
    assert lines[:2] == [f"2,000 rows, {EVENT.sum()} events, prevalence {EVENT.mean():.4g}", "evaluated on: P(churn)"]
    assert len(lines) == 4 + 6
    shown = lines_of(result)
    assert list(shown) == ["ece", "Direction", "cox_slope", "brier", "AUROC", "Test of calibration"]
    error = cal.interval(EVENT, SCORE, metric="ece", level=0.95, n_resamples=200, rng=0)
    chance = cal.assess(EVENT, SCORE, metric="ece", n_resamples=200, rng=0).by_chance
    ece = result.results[0]
    assert (ece.low, ece.high, ece.by_chance) == (error.low, error.high, chance)
    assert re.fullmatch(r"95% interval [\d.]+ to [\d.]+; [\d.]+ by chance", shown["ece"][1])
    assert shown["Direction"][1].startswith("overestimates P(churn): mean predicted probability ")
    slope = cal.interval(EVENT, SCORE, metric="cox_slope")
    assert (result.results[1].low, result.results[1].high) == (slope.low, slope.high)
    assert shown["AUROC"][0] == f"{cal.evaluation.auroc(EVENT, SCORE):.4f}"
    words = "calibration is rejected at 5%: p < 0.001 (maximum cumulative difference, ecce_mad)"
    assert shown["Test of calibration"] == ["", words]
    assert result["ecce_mad"] == cal.ecce_mad(EVENT, SCORE)
    assert [row["metric"] for row in result.to_dict()["metrics"]] == ["ece", "cox_slope", "brier", "ecce_mad"]
    assert "evaluated on" in result._repr_html_()


def test_several_classes_have_accuracy_and_no_slope() -> None:
    result = cal.evaluate(LABELS, PROBS)
    assert list(lines_of(result)) == ["ece", "Direction", "brier", "Accuracy", "Test of calibration"]
    assert "600 rows, 4 classes\nevaluated on: top label\n" in repr(result)
    assert lines_of(result)["brier"][1] == "of all classes"


@pytest.mark.parametrize("lens", ["class:2", cal.class_(2)])
@pytest.mark.parametrize("sketched", [False, True])
def test_the_summary_of_a_class_is_that_of_an_event(lens: Any, sketched: bool) -> None:
    rows = cal.Predictions(LABELS, PROBS, groups=np.arange(600) % 2)
    data = cal.Sketches.of(rows, lenses=["class:2", "top_label"]) if sketched else rows
    one = cal.evaluate(data, lens="class:2" if sketched else lens)
    assert "evaluated on: P(2)" in repr(one)
    assert one["cox_slope"] == pytest.approx(cal.cox_slope(rows, lens="class:2"), rel=1e-3)
    shown = ["ece", "Direction", "cox_slope", *([] if sketched else ["brier"]), "AUROC", "Test of calibration"]
    assert [name for name in lines_of(one) if name != "brier"] == [name for name in shown if name != "brier"]
    assert lines_of(one)["Direction"][1].startswith(f"P(2): mean predicted probability {PROBS[:, 2].mean():.1%}")
    assert (one.header.event_rate, one.header.auroc) == pytest.approx(
        (np.mean(LABELS == 2), cal.evaluation.auroc(LABELS == 2, PROBS[:, 2])), abs=1e-4
    )
    part = one.groups[0].header
    assert part.event_rate == pytest.approx(np.mean(LABELS[::2] == 2))
    assert one.group_tables()[0][1][-4:] == ["predicted", "observed", "AUROC", "p-value"]
    other = cal.evaluate(EVENT, SCORE, lens="class:0").header
    assert (other.events, other.event_rate) == (2000 - EVENT.sum(), pytest.approx(1 - EVENT.mean()))


def test_level_and_further_metrics() -> None:
    result = cal.evaluate(EVENT, SCORE, metrics=["summary", "mce"], level=0.9)
    assert "90% interval" in lines_of(result)["ece"][1]
    assert "90% interval" in lines_of(result)["mce"][1]
    assert cal.evaluate(EVENT, SCORE, metrics=["ece"]).results[0].low is None
    assert len(cal.evaluate(EVENT, SCORE, metrics="recommended").results) == sum(
        m.info.recommended for m in cal.catalogue.values()
    )


@pytest.mark.parametrize("sketched", [False, True])
def test_groups_have_a_row_each(sketched: bool) -> None:
    groups = np.array(["a", "b", "c", "few"])[np.minimum(np.arange(2000) % 1000 // 333, 3)]
    rows = cal.Predictions(EVENT, SCORE, groups=groups)
    result = cal.evaluate(cal.Sketches.of(rows) if sketched else rows)
    ((title, headings, cells),) = result.group_tables()
    assert title == "groups, worst first; p-values of ecce_mad, adjusted by Holm for the groups"
    expected = ["group", "rows", "ece", "cox_slope", "brier", "predicted", "observed", "AUROC", "p-value"]
    assert headings == expected
    assert [row[0] for row in cells][-1] == "few"
    part = result.groups["b"]
    alone = cal.evaluate(EVENT[groups == "b"], SCORE[groups == "b"])
    for metric in ("ece", "cox_slope", "brier", "ecce_mad"):
        assert part[metric] == pytest.approx(alone[metric], rel=2e-3)
    assert part.results[3].pvalue == pytest.approx(alone.results[3].pvalue, rel=1e-2)
    assert len(part.table()[1]) == 6
    assert part.results[0].low is None  # groups are not resampled, unless a level is given
    assert "ecce_mad of few: no p-value: the closed form is not accurate for these rows" in result.notes()
    with_intervals = cal.evaluate(cal.Sketches.of(rows) if sketched else rows, level=0.9)
    assert with_intervals.groups["b"].results[0].low is not None


def test_many_groups_take_time_in_proportion() -> None:
    """Only the worst groups are shown, and the values are those of each group alone."""
    groups = np.arange(2000) % 40
    result = cal.evaluate(cal.Sketches.of(cal.Predictions(EVENT, SCORE, groups=groups)))
    assert len(result.group_tables()[0][2]) == 10
    assert "10 of 40 groups are shown" in result.notes()
    for name, part in list(result.groups.items())[:5]:
        alone = cal.Sketches.of(EVENT[groups == name], SCORE[groups == name])
        assert part["cox_slope"] == pytest.approx(cal.cox_slope(alone), rel=1e-9)
        assert (part["ece"], part["brier"]) == (cal.ece(alone), cal.brier(alone))


@pytest.mark.parametrize(
    ("data", "keywords", "reason"),
    [
        (cal.Predictions(SCORE, SCORE**2, soft=True), {}, "is not defined for soft labels"),
        (cal.Predictions(EVENT, SCORE), {"where": cal.select.label(1)}, "selects rows by their labels"),
    ],
)
def test_what_cannot_be_tested_says_why(data: Any, keywords: dict[str, Any], reason: str) -> None:
    result = cal.evaluate(data, **keywords)
    line = lines_of(result)["Test of calibration"][1]
    assert line.startswith("not tested (maximum cumulative difference, ecce_mad): ")
    assert reason in line
    assert not any("no p-value" in note for note in result.notes())


def test_weights_and_confidences() -> None:
    weighted = cal.evaluate(EVENT, SCORE, sample_weight=RNG.random(2000))
    assert len(weighted.table()[1]) == 6
    stated = cal.evaluate(cal.Predictions(EVENT, SCORE, input="confidence"))
    assert list(lines_of(stated)) == ["ece", "Direction", "brier", "Accuracy", "Test of calibration"]


def test_the_worst_groups_are_shown_whatever_their_size() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat([f"g{i:02d}" for i in range(30)], 80)
    p = rng.random(2400)
    bad = groups == "g29"
    y = (rng.random(2400) < np.where(bad, np.clip(p - 0.45, 0, 1), p)).astype(int)
    lines = str(cal.evaluate(cal.Predictions(y, p, groups=groups))).split("\n")
    heading = next(place for place, line in enumerate(lines) if line.startswith("group "))
    assert lines[heading + 1].startswith("g29 ")
    assert "10 of 30 groups are shown" in "\n".join(lines)


def test_an_interval_does_not_change_the_tests_of_groups() -> None:
    """Few rows have no closed form; they are tested where p-values are requested."""
    rng = np.random.default_rng(5)
    p = rng.random(1060)
    data = cal.Predictions((rng.random(1060) < p).astype(int), p, groups=["many"] * 1000 + ["few"] * 60)

    def adjusted(**keywords: Any) -> list[float | None]:
        found = cal.evaluate(data, n_resamples=200, **keywords).groups
        return [next(r.adjusted for r in found[name].results if r.metric == "ecce_mad") for name in ("many", "few")]

    assert adjusted(level=0.95) == adjusted()
    assert adjusted()[1] is None
    assert adjusted(assess=True)[1] is not None

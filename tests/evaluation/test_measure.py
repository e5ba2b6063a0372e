"""evaluate, its header, groups and views; recommend."""

import json
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.evaluation import measure as evaluation
from calibrant.evaluation.evidence import Inference
from calibrant.metrics.use_cases import use_cases
from tests.calling import call, raises

RNG = np.random.default_rng(5)
PROBS = RNG.dirichlet(np.ones(4), 300)
LABELS = np.array([RNG.choice(4, p=row) for row in PROBS])
REGION = np.array(["north", "south", "west"])[np.arange(300) % 3]


def test_each_value_is_what_the_metric_gives_alone() -> None:
    result = cal.evaluate(LABELS, PROBS, metrics="all")
    assert len(result.results) == len(cal.catalogue)
    for found in result.results:
        metric = cal.catalogue[found.metric]
        if metric.needs and metric.needs != ("labels",):
            assert found.value is None
            assert f"required by {metric.id}" in found.reason
        else:
            assert found.value == metric(LABELS, PROBS), found.metric


def test_header_says_what_to_know_first() -> None:
    header = cal.evaluate(LABELS, PROBS, metrics="ece").header
    right = PROBS.argmax(axis=1) == LABELS
    order = np.argsort(-PROBS, axis=1, kind="stable")
    assert (header.n, header.classes, header.kind) == (300, 4, "multiclass")
    assert header.accuracy == pytest.approx(right.mean())
    assert header.mean_confidence == pytest.approx(PROBS.max(axis=1).mean())
    assert header.top_k_accuracy == {3: pytest.approx((order[:, :3] == LABELS[:, None]).any(axis=1).mean())}
    assert header.prevalence == pytest.approx(np.bincount(LABELS, minlength=4) / 300)


@pytest.mark.parametrize(
    ("y", "p", "words"),
    [
        (
            [0.0, 1.0] * 2,
            [0.9] * 4,
            "mean confidence 90.0%, accuracy 50.0% (difference not significant)",
        ),  # P(at most 2 of 4) is 0.052
        ([0.0, 1.0] * 3, [0.9] * 6, "overconfident: mean confidence 90.0%, accuracy 50.0%"),
        ([1] * 9, [0.6] * 9, "underconfident: mean confidence 60.0%, accuracy 100.0%"),
        ([0, 1], [0.5, 0.5], "mean confidence 50.0%, accuracy 50.0% (difference not significant)"),
        ([0], [0.7], "mean confidence 70.0%, accuracy 0.0% (difference not significant)"),
        ([0, 0], [1.0, 1.0], "overconfident: mean confidence 100.0%, accuracy 0.0%"),
        ([1, 0], [1.0, 0.0], "mean confidence 100.0%, accuracy 100.0% (difference not significant)"),
    ],
)
def test_header_says_the_direction_in_words(y: list[float], p: list[float], words: str) -> None:
    assert cal.evaluate(y, p, metrics="ece").header.direction == words


def test_of_two_classes_the_positive_one_is_spoken_of_too() -> None:
    rng = np.random.default_rng(0)
    q = rng.random(1000)
    y = (rng.random(1000) < q**1.5).astype(int)
    header = cal.evaluate(y, q, metrics="ece").header
    assert header.direction == "mean confidence 74.7%, accuracy 76.0% (difference not significant)"
    assert header.event == "overestimates the positive class: mean predicted probability 51.7%, observed rate 43.7%"
    assert header.lines()[-2:] == [header.event, header.direction]
    assert header.lines()[:2] == [
        "1,000 rows, 437 events, prevalence 0.437",
        f"mean predicted probability 0.5169, O/E 0.8454, AUROC {cal.evaluation.auroc(y, q):.4f}",
    ]
    assert " ".join(header.lines()).count("accuracy") == 1
    assert "accuracy" not in " ".join(header.lines(sentences=False))
    assert (header.events, header.auroc) == (437, pytest.approx(cal.evaluation.auroc(y, q), abs=1e-12))
    low = cal.evaluate(1 - y, 1 - q, metrics="ece").header
    assert low.event == "underestimates the positive class: mean predicted probability 48.3%, observed rate 56.3%"
    sketches = cal.Sketches.of(y, q)
    sketched = cal.evaluate(sketches, metrics="ece").header
    assert sketched.lines()[-2:] == header.lines()[-2:]
    assert (sketched.events, sketched.auroc) == (437, pytest.approx(header.auroc, abs=1e-3))
    assert cal.evaluate(LABELS, PROBS, metrics="ece").header.event == ""
    rare = cal.evaluate([0] * 999 + [1], [0.002] * 1000, metrics="ece").header.event
    assert rare == "mean predicted probability 0.20%, observed rate 0.10% (difference not significant)"


def test_a_p_value_of_one_side_says_so() -> None:
    found = cal.evaluate(LABELS, PROBS, metrics=["ecd", "nses", "ece"], assess=True, n_resamples=50)
    assert found.notes() == [
        "resampled intervals and simulated p-values use 50 resamples",
        "ecd, nses: one-sided test: the alternative is overconfidence",
    ]
    assert found.results[2].note == ""
    assert cal.evaluate(LABELS, PROBS, metrics=["ecd"]).notes() == []


def test_header_of_an_event_with_weights_and_one_outcome() -> None:
    y, q = np.array([0, 1, 1, 0]), np.array([0.2, 0.6, 0.3, 0.4])
    counted = cal.evaluate(cal.Predictions(y, q, counts=[1, 2, 3, 4]), metrics="brier").header
    repeated = cal.evaluate(np.repeat(y, [1, 2, 3, 4]), np.repeat(q, [1, 2, 3, 4]), metrics="brier").header
    assert (counted.events, counted.auroc) == (5, pytest.approx(repeated.auroc, abs=1e-15))
    dict_of = cal.evaluate(cal.Predictions(y, q, counts=[1, 2, 3, 4]), metrics="brier").to_dict()["header"]
    assert dict_of["observed_expected"] == counted.observed_expected
    assert counted.observed_expected == pytest.approx(
        cal.expected_observed_ratio(cal.Predictions(y, q, counts=[1, 2, 3, 4]), form="observed_expected")
    )
    weighted = cal.evaluate(y, q, sample_weight=[1, 2, 3, 4], metrics="brier").header
    assert (weighted.events, weighted.auroc) == (2, counted.auroc)
    none = cal.evaluate([0, 0], [0.2, 0.4], metrics="brier").header
    assert (none.events, none.auroc) == (0, None)
    assert none.lines()[:2] == ["2 rows, 0 events, prevalence 0", "mean predicted probability 0.3000, O/E 0"]
    nothing = cal.evaluate([0, 1], [0.0, 0.0], metrics="brier").header
    assert nothing.lines()[:2] == ["2 rows, 1 event, prevalence 0.5", "mean predicted probability 0, AUROC 0.5000"]
    soft = cal.evaluate(cal.Predictions([0.2, 0.6], [0.2, 0.4], soft=True), metrics="brier").header
    assert (soft.events, soft.lines()[0]) == (None, "2 rows, prevalence 0.4")
    many = cal.evaluate(LABELS, PROBS, metrics="ece").header.lines()
    assert " ".join(many).count(" accuracy") == 1 + len(
        cal.evaluate(LABELS, PROBS, metrics="ece").header.top_k_accuracy
    )


def test_header_of_other_kinds() -> None:
    soft = cal.evaluate(cal.Predictions(PROBS, PROBS, soft=True), metrics="ece").header
    assert soft.accuracy is None
    assert soft.prevalence == pytest.approx(PROBS.mean(axis=0))
    many = cal.evaluate(cal.Predictions((PROBS > 0.3).astype(int), PROBS, multilabel=True), metrics="ece").header
    assert many.prevalence == pytest.approx((PROBS > 0.3).mean(axis=0))
    assert many.accuracy is None
    known = cal.evaluate(cal.Predictions([1, 0, 1], [0.9, 0.8, 0.7], input="confidence"), metrics="ece").header
    assert known.accuracy == pytest.approx(2 / 3)
    assert known.prevalence == ()


def test_groups_are_measured_on_their_own_rows() -> None:
    result = cal.evaluate(cal.Predictions(LABELS, PROBS, groups=REGION), metrics=["ece", "brier"])
    assert list(result.groups) == ["north", "south", "west"]
    for name, part in result.groups.items():
        rows = name == REGION
        assert part["brier"] == cal.brier(LABELS[rows], PROBS[rows])
        assert part.header.n == rows.sum()


def test_undefined_is_a_reason_and_not_a_number() -> None:
    result = cal.evaluate(LABELS, PROBS, metrics=["ece", "vce"], lens="canonical")
    assert result.results[0].value is None
    assert "requires one score per row" in result.results[0].reason
    assert result.results[1].value is not None
    with raises(cal.CalibrantError, "ece"):
        result["ece"]


def test_bins_of_one_score_are_no_cells_of_several() -> None:
    ece, gece = cal.evaluate([0, 1, 2], np.eye(3), metrics=["ece", "gece"], options={"binning": "equal_mass"}).results
    assert ece.value == 0
    assert gece.value is None
    assert "EqualMass requires one score per row" in gece.reason


def test_sets_of_metrics_leave_out_pairs_of_many_rows_and_names_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out depends on the number of rows alone, not on the time that anything takes."""
    pairs = {m.id for m in cal.catalogue.values() if m.info.cost in ("N^2", "N^2 K", "N^2 K or a sort")}
    assert cal.evaluate(LABELS, PROBS, metrics="all").left_out == ()
    monkeypatch.setattr("calibrant.metrics.properties.PAIRED_ROWS", len(LABELS) - 1)
    result = cal.evaluate(LABELS, PROBS, metrics="all")
    assert {skipped.metric for skipped in result.left_out} == pairs
    assert {found.metric for found in result.results} == set(cal.catalogue) - pairs
    assert f"name them to compute them): {', '.join(s.metric for s in result.left_out)}" in repr(result)
    named = cal.evaluate(LABELS, PROBS, metrics=["dkde", "ece"])
    assert named.left_out == ()
    assert named["dkde"] == cal.dkde(LABELS, PROBS)


def test_slow_metrics_of_a_set_are_not_resampled_unless_they_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    some = [cal.catalogue[id] for id in ("dkde", "ece", "cox_slope")]
    monkeypatch.setattr(evaluation, "choose_metrics", lambda metrics: some)  # a small set
    monkeypatch.setattr("calibrant.metrics.properties.RESAMPLED_ROWS", 40)
    y = (RNG.random(50) < PROBS[:50, 0]).astype(int)
    words: dict[str, Any] = {"level": 0.8, "assess": True, "n_resamples": 50}
    slow, fast, closed = call(cal.evaluate, y, PROBS[:50, 0], metrics="all", **words).results
    assert (slow.low, slow.pvalue) == (None, None)
    assert (
        slow.note
        == "no interval: resampling it is slow (name the metric to do so); no p-value: resampling it is slow (name the metric to do so)"
    )
    assert None not in (fast.low, fast.pvalue, closed.low, closed.pvalue)
    named = call(cal.evaluate, y, PROBS[:50, 0], metrics=["all", "dkde"], **words).results[0]
    assert None not in (named.low, named.pvalue)


def test_where_keeps_rows_before_anything_is_measured() -> None:
    chosen = cal.evaluate(LABELS, PROBS, where=LABELS == 1, metrics=["brier"])
    assert chosen.header.n == (LABELS == 1).sum()
    assert chosen["brier"] == cal.brier(LABELS[LABELS == 1], PROBS[LABELS == 1])


def test_dict_is_valid_json_with_stable_keys() -> None:
    result = cal.evaluate(cal.Predictions([0, 1], [1.0, 0.5], groups=["a", "b"]), metrics=["nll", "ece"])
    content = result.to_dict()
    assert json.loads(json.dumps(content, allow_nan=False)) == json.loads(json.dumps(content))
    assert list(content) == ["header", "metrics", "groups", "left_out"]
    assert content["header"]["n_resamples"] == 0
    keys = [
        "metric",
        "name",
        "value",
        "lens",
        "ideal",
        "direction",
        "reason",
        "low",
        "high",
        "pvalue",
        "note",
        "by_chance",
        "adjusted",
    ]
    assert list(content["metrics"][0]) == keys
    assert list(content["groups"]["a"]) == ["grouping", "group", *content]
    assert content["metrics"][0]["value"] == "inf"
    assert list(content["groups"]) == ["a", "b"]


def test_views_escape_what_came_from_outside() -> None:
    result = cal.evaluate(cal.Predictions([0, 1], [0.2, 0.9], groups=["<b>x</b>", "y"]), metrics="ece")
    assert "<b>x</b>" not in result._repr_html_()
    assert "&lt;b&gt;x" in result._repr_html_()
    assert "<b>x</b>" in repr(result)


@pytest.mark.parametrize("words", [{}, {"assess": True}, {"level": 0.95}, {"assess": True, "level": 0.95}])
def test_no_direction_is_said_without_evidence(words: dict[str, Any], deep: bool) -> None:
    """Of calibrated rows no more than about one in twenty points anywhere; of few rows, none."""
    names = ["ecd", "esce", "calibration_in_the_large", "expected_observed_ratio", "spiegelhalter_z"]
    said = 0
    runs = 30 if deep else 10
    for seed in range(runs):
        calm = cal.inference.make_calibrated(300, rng=seed)
        found = call(cal.evaluate, calm.y_true, calm.y_prob, metrics=names, **words)
        said += sum(bool(result.direction) for result in found.results)
        for result in found.results:
            assert not (result.pvalue is not None and result.pvalue > 0.06 and result.direction.startswith("over"))
    assert said <= 2 * runs / 3
    few = cal.evaluate([0, 0, 1], [0.9, 0.8, 0.9], metrics=names)
    assert [result.direction for result in few.results] == [""] * len(names)


def test_directions_of_groups_and_sketches_need_evidence_too() -> None:
    rng = np.random.default_rng(4)
    p = rng.random(4000)
    shift = np.where(np.arange(4000) < 2000, 0.0, 0.15)
    y = (rng.random(4000) < np.clip(p - shift, 0, 1)).astype(int)
    found = cal.evaluate(cal.Predictions(y, p, groups=np.where(shift > 0, "off", "calm")), metrics=["esce"])
    assert found.groups["off"].results[0].direction == "overestimates"
    assert found.groups["calm"].results[0].direction == ""
    for rows, direction in ((shift > 0, "overestimates"), (shift == 0, "")):
        (result,) = cal.evaluate(cal.Sketches.of(y[rows], p[rows]), metrics=["esce"]).results
        assert result.direction == direction


def test_one_event_of_few_expected_is_no_direction() -> None:
    """One tenth of an event was expected and one was observed, 2.8 standard errors away, with probability 0.095."""
    header = cal.evaluate(np.arange(100) == 0, np.full(100, 0.001), metrics="ece").header
    assert header.event.endswith("(difference not significant)")


# The survey's recommendations, and ours where it has none: the best metric and the runner-up.
BEST = {
    "classwise": ("drmsce_bcs", "cwce"),
    "multiclass": ("skce_uq", "dkde"),
    "direction": ("esce", "abc_below"),
    "local": ("pce", "klce"),
    "analysis": ("ici", "emax"),
    "parameter-free": ("ecce_mad", "smece"),
    "safety": ("ecd", "abc_below"),
    "comparison": ("brier", "nll"),
    "familiar": ("ece", "mce"),
    "clinical": ("cox_slope", "fixed_slope_intercept"),
}


@pytest.mark.parametrize("use_case", BEST)
def test_recommend_names_the_best_metric_first_with_reasons(use_case: str) -> None:
    found = cal.recommend(use_case)
    assert (found.best, found.runner_up) == found.metrics[:2] == BEST[use_case]
    assert all(id in set(cal.catalogue) and cal.catalogue[id].certain for id in found.metrics)
    assert len(found.reasons) == len(found.metrics) == len(set(found.metrics)) == len(set(found.reasons))
    assert all(callable(attrgetter(name)(cal)) for name in found.functions)
    assert found.why
    lines = repr(found).splitlines()
    assert found.question in lines[0]
    column = lines[1].index("reason")
    for line, id, reason in zip(lines[2:], found.metrics, found.reasons, strict=False):
        assert line.split()[0] == id
        assert line[column:] == reason
    assert list(found.to_frame()["metric"]) == list(found.metrics)
    assert list(found.to_frame()["rank"])[:2] == ["recommended", "runner-up"]


def test_recommend_has_the_five_use_cases_of_the_survey_first() -> None:
    assert list(use_cases()) == list(BEST)
    assert list(use_cases())[:5] == ["classwise", "multiclass", "direction", "local", "analysis"]
    assert "brier" in cal.recommend("classwise").metrics  # a proper score beside every binned one
    assert cal.recommend("analysis").functions == (
        "reliability_diagram",
        "calibration_curve",
        "inference.calibration_band",
    )
    needed = {need for id in cal.recommend("local").metrics for need in cal.catalogue[id].needs}
    assert needed == {"groups", "features"}
    seen = [id for id in cal.recommend("multiclass").metrics if cal.catalogue[id].info.full_vector]
    assert seen[:4] == list(cal.recommend("multiclass").metrics[:4])
    assert all(cal.catalogue[id].properties["direction"] for id in cal.recommend("direction").metrics)


def test_a_use_case_has_a_number_and_none_gives_the_best_of_each() -> None:
    assert cal.recommend(5) == cal.recommend("analysis")
    every = cal.recommend()
    assert every.metrics[2] == cal.recommend("direction").best
    assert len(every.metrics) == len(every.reasons) == 10
    assert "esce        direction" in repr(every)


def test_many_groups_have_a_line_each() -> None:
    rng = np.random.default_rng(0)
    y, p, groups = rng.integers(0, 2, 120), rng.random(120), np.arange(120) % 12
    many = cal.evaluate(cal.Predictions(y, p, groups=groups), metrics="recommended")
    lines = repr(many).splitlines()
    assert max(map(len, lines)) < 160
    assert [line for line in lines if line.startswith("11 ")]
    assert f"8 of {len(many.results)} metrics are shown for each group" in lines
    assert many._repr_html_().count("<table>") == 2
    few = cal.evaluate(cal.Predictions(y, p, groups=groups % 3), metrics=["ece"])
    assert [row[0] for row in few.group_tables()[0][2]] == ["0", "1", "2"]


LOW = ([0, 0, 0, 1, 1] * 200, [0.01, 0.01, 0.01, 0.02, 0.6] * 200)  # given 13%, happens 40%, and sure of it


@pytest.mark.parametrize("lens", ["binary", "class:1", "classwise"])
def test_what_is_signed_in_confidence_says_so_of_one_class_too(lens: str) -> None:
    found = cal.evaluate(*LOW, metrics=["ecd", "nses", "spiegelhalter_z"], lens=lens, assess=True)
    assert [result.direction for result in found.results] == ["overconfident"] * 3
    if lens != "classwise":  # whose classes cancel
        levels = cal.evaluate(*LOW, metrics=["esce", "calibration_in_the_large", "expected_observed_ratio"], lens=lens)
        assert [result.direction for result in levels.results] == ["underestimates"] * 3


def test_a_group_without_a_value_says_why() -> None:
    y, p = np.repeat([[0, 1] * 10, [0] * 20, [1] * 20], 1, axis=0).ravel(), np.tile(np.linspace(0.05, 0.95, 20), 3)
    found = cal.evaluate(
        cal.Predictions(y, p, groups=np.repeat(["both", "no", "yes"], 20)),
        metrics=["cox_slope", "cox_intercept", "ece"],
    )
    (note,) = found.notes()
    assert note.startswith("cox_slope, cox_intercept of no, yes: is undefined: all outcomes are equal")
    assert note in repr(found)
    many = cal.evaluate(cal.Predictions(y, p, groups=np.arange(60) // 2), metrics=["cox_slope"])
    assert sum("and 12 more: " in line for line in many.notes()) == 1


def test_a_group_called_all_is_not_taken_for_all_rows() -> None:
    names = np.array(["all", "some"])[np.arange(300) % 2]
    found = cal.evaluate(cal.Predictions(LABELS, PROBS, groups=names), metrics=["brier"])
    frame = found.to_frame()
    assert list(frame["group"]) == ["(all)", "all", "some"]
    assert dict(zip(frame["group"], frame["value"], strict=True))["all"] == found.groups["all"]["brier"]
    twice = cal.evaluate(
        cal.Predictions(LABELS, PROBS, groups=np.array(["all", "(all)"])[np.arange(300) % 2]), metrics=["brier"]
    )
    assert sorted(twice.to_frame()["group"]) == ["((all))", "(all)", "all"]


def test_several_columns_of_groups_are_named() -> None:
    frame = pd.DataFrame({"y": [0, 1, 1], "p": [0.2, 0.6, 0.7], "site": list("abb"), "sex": list("fmf")})
    words = {"label": "y", "prob": "p", "metrics": ["brier"]}
    found = call(cal.evaluate, frame, groups=["site", "sex"], **words)  # type: ignore[arg-type]
    assert list(found.groups) == ["site: a", "site: b", "sex: f", "sex: m"]
    assert list(call(cal.evaluate, frame, groups=["site"], **words).groups) == ["a", "b"]  # type: ignore[arg-type]
    with pytest.raises(cal.errors.ColumnError, match=r"^groups: unknown column 'age'"):
        call(cal.evaluate, frame, groups=["site", "age"], **words)  # type: ignore[arg-type]
    # A list with one entry for each row holds the groups, unless all entries are columns.
    assert list(call(cal.evaluate, frame, groups=["a", "b", "a"], **words).groups) == ["a", "b"]  # type: ignore[arg-type]
    assert list(call(cal.evaluate, frame, groups=["site", "sex", "site"], **words).groups) == list(found.groups)  # type: ignore[arg-type]


def test_all_values_come_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is drawn for the first would leave no time for the value of the last."""
    done: list[tuple[str, str]] = []
    measure = cal.metrics.Metric.of

    def of(self: cal.metrics.Metric, *given: Any, **words: Any) -> tuple[float, str]:
        done.append(("value", self.id))
        return measure(self, *given, **words)

    def infer(self: Inference, what: str, result: Any, *rest: Any) -> tuple[dict[str, Any], str]:
        done.append(("drawn", result.metric))
        return {}, ""

    monkeypatch.setattr(cal.metrics.Metric, "of", of)
    monkeypatch.setattr(Inference, "infer", infer)
    metrics = ["smece", "mce", "brier", "ecce_mad"]
    found = cal.evaluate(LABELS, PROBS, metrics=metrics, level=0.95)
    assert done[:4] == [("value", id) for id in metrics]
    assert sorted(done[4:]) == sorted(("drawn", id) for id in metrics)
    assert [result.metric for result in found.results] == metrics  # in the order asked for, whichever is drawn first


@pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning")
def test_further_options_of_metrics() -> None:
    y, p = np.array([0, 1, 1, 0, 1, 1, 0, 1]), np.array([0.1, 1.0, 0.8, 0.3, 0.6, 0.4, 0.45, 0.7])
    for options in (
        {"penalty": "firth"},
        {"cox_slope.penalty": "firth"},
        {"penalty": None, "Cox calibration slope.penalty": "firth"},
    ):
        found = cal.evaluate(y, p, metrics=["cox_slope", "ece"], options=options)
        assert found["cox_slope"] == cal.cox_slope(y, p, penalty="firth")
        assert found["ece"] == cal.ece(y, p)
        assert (found["accuracy"], found["mean_confidence"]) == (0.875, pytest.approx(0.73125))
    both = cal.evaluate(y, p, metrics=["cox_slope", "cox_intercept"], options={"cox_slope.penalty": "firth"})
    assert both["cox_intercept"] == cal.cox_intercept(y, p)
    for options, message in (
        ({"penalt": "firth"}, "no metric evaluated here has 'penalt'; did you mean 'penalty'"),
        ({"brier.scale": 1}, "brier is not evaluated"),
        ({"bins": 3}, "'bins' is an argument of evaluate"),
        ([1], "must be a mapping"),
    ):
        with pytest.raises(cal.errors.ArgumentError, match=message):
            cal.evaluate(y, p, metrics=["cox_slope"], options=options)
    with raises(cal.errors.ArgumentError, "penalty"):
        cal.evaluate(y, p, metrics=["cox_slope"], options={"penalty": "x"})


def test_an_unknown_group_is_an_error_that_lists_the_groups() -> None:
    groups = cal.evaluate(cal.Predictions([0, 1] * 10, [0.3, 0.6] * 10, groups=["a", "b"] * 10)).groups
    with raises(cal.errors.ArgumentError, "groups"):
        groups["c"]
    assert groups.get("c") is None

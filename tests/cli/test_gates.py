"""Gates: the grammar of conditions, baselines, and their results for CI."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.cli.conditions import Gates, Place, check, metric_conditions, places_of
from calibrant.cli.gate_results import annotation
from calibrant.errors import ArgumentError
from tests.calling import Run, raises

RNG = np.random.default_rng(8)
SCORES = RNG.beta(2, 2, 400).round(5)
EVENTS = (RNG.random(400) < SCORES**1.5).astype(int)
GROUPS = np.array(["monthly", "two, year", ">65"])[RNG.integers(0, 3, 400)]
HOSTILE = 'a|b\x07<script>"&\n::error::%0A\ud800'


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"y": EVENTS, "p": SCORES, "q": SCORES**1.5, "g": GROUPS})
    frame.to_csv("rows.csv", index=False)
    return "rows.csv"


def conditions(*texts: str) -> list[str]:
    return [str(each) for each in metric_conditions(Gates(texts))]


def test_conditions_are_parsed() -> None:
    assert conditions("ece>0.05") == ["ece > 0.05"]
    assert conditions("ECE >= 5e-2", "Expected calibration error.high < .5") == ["ece >= 0.05", "ece.high < 0.5"]
    assert conditions("esce < -0.05", "ece.high > +1") == ["esce < -0.05", "ece.high > 1"]
    assert conditions("ece@two, year > 0.1", "ece.low@>65 > 0.1") == ["ece@two, year > 0.1", "ece.low@>65 > 0.1"]
    assert conditions("auroc < 0.8", "average precision<0.5") == ["auroc < 0.8", "average_precision < 0.5"]
    assert conditions("ece > 0.05", "ece>.05") == ["ece > 0.05"]  # the same twice
    assert conditions("AUC < 0.8", "c-statistic < 0.9") == ["auroc < 0.8", "auroc < 0.9"]


def test_options_may_widen_the_range() -> None:
    gates = Gates(("calibration_in_the_large > 2",))
    assert metric_conditions(gates, with_options=True)[0].limit == 2


def test_undefined_values_are_never_a_pass() -> None:
    found = metric_conditions(Gates(("ece != 0.1", "ece.high > 0.1")))
    for fields in ({"value": None, "reason": "why"}, {"value": float("nan")}, {"value": "x"}, {"value": True}, {}):
        checked = check(found, [Place("", {"ece": fields})])
        assert all(each.reason and not each.failed for each in checked)
        with raises(ArgumentError, "--fail-if"):
            Gates(()).finish(checked, "title")
    infinite = check(found[:1], [Place("", {"ece": {"value": "inf"}})])  # as JSON has it
    assert infinite[0].failed
    assert infinite[0].value == np.inf


def test_groups_are_found_by_their_names() -> None:
    def chosen(group: str, *groups: str, by: str | None = None) -> list[str]:
        places = [Place(each, {"ece": {"value": 0.1}}) for each in ("", *groups)]
        return [each.place.strip() for each in check(metric_conditions(Gates((f"ece@{group} > 1",))), places, by=by)]

    assert chosen("all", "all", "other", by="g") == [""]  # all rows, not the group of this name
    assert chosen("g=all", "all", "other", by="g") == ["(group all)"]
    assert chosen("a,b=1,0", "1,0", "2", by='"a,b"') == ["(group 1,0)"]
    assert chosen("monthly", "contract: monthly", "region: north") == ["(group contract: monthly)"]
    with pytest.raises(ArgumentError, match="names 2 groups; name its column, as in ece@a=yes"):
        chosen("yes", "a: yes", "b: yes")
    with raises(ArgumentError, "--fail-if"):
        chosen("u", "by: a, x: u")


def test_gates_apply_to_all_rows_and_groups(rows: str, run: Run) -> None:
    part = GROUPS == "two, year"
    code, out, err = run(
        *("evaluate", rows, "--by", "g", "--metrics", "brier", "--json"),
        *("--fail-if", "ece@g=two, year > 0", "--fail-if", "ece@>65 > 1", "--fail-if", "auroc@all < 0.99"),
        *("--fail-if", "average_precision < 0", "--fail-if", "brier.high@all > 0.01"),
    )
    assert code == 1, err
    found = json.loads(out)
    assert [each["metric"] for each in found["metrics"]] == ["brier", "ece"]
    value = cal.ece(EVENTS[part], SCORES[part])
    assert f"gate failed: ece@g=two, year > 0 holds (group two, year): the value is {value:.6g}\n" in err
    assert "gate passed: ece@>65 > 1 does not hold (group >65)" in err
    area = cal.evaluation.auroc(EVENTS, SCORES)
    assert f"gate failed: auroc@all < 0.99 holds: the value is {area:.6g}\n" in err
    assert "gate passed: average_precision < 0 does not hold in any of 4 places" in err
    assert found["header"]["average_precision"] == pytest.approx(cal.evaluation.average_precision(EVENTS, SCORES))
    assert [each["state"] for each in found["gates"]].count("failed") == len(found["failed"]) == 3
    expected = cal.interval(EVENTS, SCORES, metric="brier", n_resamples=200, rng=0)  # the interval was implied
    assert found["gates"][-1]["value"] == pytest.approx(expected.high)
    code, _, err = run("evaluate", rows, "--by", "g", "--fail-if", "ece@weekly > 0")
    assert code == 2
    assert "unknown group 'weekly'; use all, " in err
    assert "name the column of groups" in run("evaluate", rows, "--fail-if", "ece@weekly > 0")[2]


def test_gates_of_the_other_commands(rows: str, run: Run) -> None:
    code, _, err = run(
        *("compare", rows, "--models", "q,p", "--resamples", "200", "--fail-if", "brier > 0.19"),
        *("--fail-if", "difference.low > 0", "--fail-if", "difference.pvalue > 0.9", "--fail-if", "Brier score > 0.9"),
    )
    assert code == 1
    models = cal.compare(EVENTS, {"q": SCORES**1.5, "p": SCORES}, metric="brier", n_resamples=200, rng=0)
    assert f"(difference p - q): the value is {models['p', 'q'].low:.6g}\n" in err
    assert err.count("gate failed: brier > 0.19 holds (model ") == sum(
        value > 0.19 for value in models.values["brier"].values()
    )
    report = ["report", rows, "--no-recalibration", "--metrics", "brier", "--out", "r.md", "--by", "g"]
    code, _, err = run(
        *report, "--fail-if", "ece > 0", "--fail-if", "accuracy < 0.01", "--fail-if", "ece.adjusted == 1"
    )
    assert (code, err.count("gate failed: ece > 0")) == (1, 4)
    assert "gate passed: ece.adjusted == 1 does not hold in any of 3 places" in err  # only groups have it
    assert Path("r.md").exists()


def test_results_for_ci(rows: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    gates = ["--fail-if", "ece > 0", "--fail-if", "ece > 1"]
    evaluated = ["evaluate", rows, "--metrics", "ece", "--json", *gates]
    code, out, err = run(*evaluated)
    assert code == 1
    assert json.loads(out)["failed"]  # standard output is JSON alone
    assert "::error title=calibrant evaluate rows.csv%3A gate failed::ece > 0 holds: the value is" in err


def test_hostile_names_stay_text() -> None:
    assert "\n" not in annotation(HOSTILE, HOSTILE)
    assert annotation("a", "50%\n::x") == "::error title=a::50%25\ufffd::x"


def test_places_of_other_documents() -> None:
    assert places_of({"horizon": 1, "measures": {"brier": {"value": 2}}})[0].measures["brier"]
    assert places_of({"groups": 3, "metrics": [3, {"x": 1}]})[0].measures == {}


@pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning")
def test_options_of_metrics(rows: str, run: Run) -> None:
    frame = pd.read_csv(rows)
    frame.loc[:5, "p"] = 1.0
    frame.to_csv(rows, index=False)
    Path("calibrant.toml").write_text('[evaluate]\nmetrics = "cox_slope"\noption = { penalty = "firth" }\n')
    expected = cal.cox_slope(frame["y"], frame["p"], penalty="firth")
    assert json.loads(run("evaluate", rows, "--json")[1])["metrics"][0]["value"] == pytest.approx(expected)
    found = run(
        "evaluate", rows, "--json", "--no-config", "--metrics", "cox_slope", "--option", "cox_slope.penalty=firth"
    )
    assert json.loads(found[1])["metrics"][0]["value"] == pytest.approx(expected)
    assert json.loads(found[1])["options"] == {"cox_slope.penalty": "firth"}
    assert run("assess", rows, "--metric", "cox_slope", "--option", "penalty=firth")[1].startswith(
        f"Cox calibration slope (cox_slope) {expected:.4g}"
    )

"""`calibrant assess`, `compare` and `evaluate --level --assess`: the library's numbers, gates, and a bar for terminals alone."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from tests.calling import Run

RNG = np.random.default_rng(5)
SCORE = RNG.random(400)
YES = (RNG.random(400) < SCORE**1.5).astype(int)
OTHER = SCORE**1.5
PATIENT = np.arange(400) // 4
PROBS = RNG.dirichlet(np.ones(3), 300)
LABELS = np.array([RNG.choice(3, p=row) for row in PROBS])
SURE = PROBS**2 / (PROBS**2).sum(axis=1, keepdims=True)
NAMES = np.array(["cat", "dog", "eel"])


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    path = tmp_path / "binary.csv"
    pd.DataFrame({"y": YES, "p": SCORE, "q": OTHER, "patient": PATIENT}).to_csv(path, index=False)
    return path


@pytest.fixture
def animals(tmp_path: Path) -> Path:
    """Three classes by name; the second model has its columns in another order."""
    path = tmp_path / "animals.csv"
    old = {f"old_{name}": PROBS[:, k] for k, name in enumerate(NAMES)}
    new = {f"new_{NAMES[k]}": SURE[:, k] for k in (2, 0, 1)}
    pd.DataFrame({"label": NAMES[LABELS], **old, **new}).to_csv(path, index=False)
    return path


def read(answer: tuple[int, str, str]) -> Any:
    assert answer[0] == 0, answer[2]
    return json.loads(answer[1])


def test_assess_gives_the_library_s_result(binary: Path, run: Run) -> None:
    found = read(run("assess", binary, "--json"))
    expected = cal.assess(YES, SCORE).to_dict()
    assert found["pvalue"] == pytest.approx(expected["pvalue"], rel=1e-9)
    assert (found["metric"], found["method"], found["rejected"]) == ("ecce_mad", "series", True)
    options = ("--metric", "ECE", "--bins", "5", "--resamples", "99", "--seed", "3", "--alpha", "0.1")
    found = read(run("assess", binary, "--json", *options))
    expected = cal.assess(YES, SCORE, metric="ece", bins=5, n_resamples=99, rng=3, alpha=0.1).to_dict()
    assert found["critical_value"] == pytest.approx(expected["critical_value"], rel=1e-9)
    assert (found["pvalue"], found["alpha"], found["n_resamples"]) == (expected["pvalue"], 0.1, 99)


def test_assess_prints_the_verdict(binary: Path, run: Run) -> None:
    code, out, err = run("assess", binary, "--metric", "cox_slope", "--method", "wald")
    expected = cal.assess(YES, SCORE, metric="cox_slope", method="wald")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == expected.verdict


def test_assess_several_metrics(binary: Path, run: Run) -> None:
    names = ["ece", "ecce_r", "brier"]
    found = read(run("assess", binary, "--json", "--metrics", "ece, ecce_r,brier", "--correction", "min_p"))
    expected = cal.assess_many(YES, SCORE, metrics=names, correction="min_p", rng=0)
    assert [row["adjusted"] for row in found["results"]] == pytest.approx(expected.adjusted)
    assert tuple(found["rejected"]) == expected.rejected
    assert read(run("assess", binary, "--json", "--metrics", "ece,ecce_r"))["correction"] == "holm"
    code, out, _ = run("assess", binary, "--metrics", "ece,ecce_r")
    assert (code, out.splitlines()[0].split()[-1]) == (0, "holm")


def test_assess_fails_only_when_asked_and_rejected(binary: Path, run: Run) -> None:
    assert run("assess", binary)[0] == 0
    code, out, err = run("assess", binary, "--fail-if-rejected")
    assert code == 1
    assert ": statistically significant at 5%" in out
    assert err == "gate failed: ecce_mad rejected at 0.05\n"
    assert run("assess", binary, "--prob", "q", "--fail-if-rejected")[0] == 0
    code, _, err = run("assess", binary, "--metrics", "ece,ecce_r", "--fail-if-rejected")
    assert (code, err) == (1, "gate failed: ece rejected at 0.05\ngate failed: ecce_r rejected at 0.05\n")


def test_tests_as_gates_are_written_for_continuous_integration(
    binary: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results of --fail-if-rejected are in JSON and annotations as those of --fail-if are."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    one, several = ("assess", binary, "--fail-if-rejected"), ("--metrics", "ece,ecce_r", "--resamples", "99")
    cases: list[tuple[tuple[Any, ...], int, int, str]] = [
        ((*one,), 1, 1, "ecce_mad rejected at 0.05"),
        ((*one, "--prob", "q"), 1, 0, "ecce_mad rejected at 0.05"),
        ((*one, *several), 2, 2, "ecce_r rejected at 0.05"),
    ]
    for command, tests, failures, name in cases:
        code, out, err = run(*command, "--json")
        assert code == bool(failures), command
        gates = json.loads(out)["gates"]
        states = [gate["state"] for gate in gates]
        assert (len(states), states.count("failed")) == (tests, failures)
        assert name in [f"{gate['gate']} {gate['place']}".removesuffix(" all rows") for gate in gates]
        assert ("::error" in err) == bool(failures)


def test_assess_reads_groups(binary: Path, run: Run) -> None:
    found = read(run("assess", binary, "--json", "--metric", "pce", "--by", "patient", "--resamples", "19"))
    expected = cal.assess(cal.Predictions(YES, SCORE, groups=PATIENT), metric="pce", n_resamples=19, rng=0)
    assert found["pvalue"] == expected.pvalue


def test_groups_that_some_metric_reads_are_taken(binary: Path, run: Run) -> None:
    assert run("assess", binary, "--by", "patient", "--metrics", "ece,pce", "--resamples", "19")[0] == 0


def test_what_is_infinite_is_valid_json(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "sure.csv"
    pd.DataFrame({"y": [0, 1] * 20 + [1], "p": [0.0, 1.0] * 20 + [0.0]}).to_csv(path, index=False)
    ended = run("assess", path, "--json", "--metric", "hosmer_lemeshow")
    assert "every entry is exactly 0 or 1" in ended[2]
    assert ended[2].startswith("warning: ")
    found = json.loads(ended[1])
    assert found["statistic"] == "inf"


def test_compare_two_columns(binary: Path, run: Run) -> None:
    found = read(run("compare", binary, "--json", "--models", "p, q", "--resamples", "99", "--seed", "1"))
    expected = cal.compare(YES, {"p": SCORE, "q": OTHER}, n_resamples=99, rng=1)
    assert found["values"]["brier"] == pytest.approx(expected.values["brier"])
    assert found["differences"][0]["pvalue"] == expected["p", "q"].pvalue
    assert found["differences"][0]["low"] == pytest.approx(expected["p", "q"].low)
    code, out, _ = run("compare", binary, "--models", "p,q", "--metric", "ece", "--bins", "5", "--resamples", "19")
    assert (code, "p - q" in out, out.startswith("ece (lower is better) on 400 rows")) == (0, True, True)


def test_compare_draws_clusters(binary: Path, run: Run) -> None:
    found = read(run("compare", binary, "--json", "--models", "p,q", "--cluster", "patient", "--resamples", "50"))
    expected = cal.compare(
        {"p": cal.Predictions(YES, SCORE, groups=PATIENT), "q": cal.Predictions(YES, OTHER, groups=PATIENT)},
        cluster=True,
        n_resamples=50,
        rng=0,
    )
    assert found["differences"][0]["high"] == pytest.approx(expected["p", "q"].high)


def test_compare_by_patterns_puts_classes_in_the_same_order(animals: Path, run: Run) -> None:
    found = read(run("compare", animals, "--json", "--models", "old_*,new_*", "--resamples", "20"))
    assert found["values"]["brier"] == pytest.approx(
        {"old": cal.brier(LABELS, PROBS), "new": cal.brier(LABELS, SURE)}, abs=1e-9
    )


def test_a_pattern_names_the_classes(animals: Path, run: Run) -> None:
    found = read(run("evaluate", animals, "--json", "--probs", "new_*", "--metrics", "ece", "--lens", "class:dog"))
    assert found["metrics"][0]["value"] == pytest.approx(cal.ece(LABELS, SURE, lens="class:1"), abs=1e-9)


def test_compare_reads_logits_from_standard_input(
    tmp_path: Path, run: Run, standard_input: Callable[[bytes], None]
) -> None:
    path = tmp_path / "logits.npz"
    np.savez(path, y=YES, a=np.log(SCORE / (1 - SCORE)), b=np.log(OTHER / (1 - OTHER)))
    standard_input(path.read_bytes())
    _, out, err = run("compare", "-", "--json", "--models", "a,b", "--logits", "--resamples", "19")
    assert json.loads(out)["values"]["brier"] == pytest.approx(
        {"a": cal.brier(YES, SCORE), "b": cal.brier(YES, OTHER)}, abs=1e-9
    )
    assert err == ""


def test_evaluate_adds_intervals_and_chances(binary: Path, run: Run) -> None:
    options = ("--metrics", "ece,brier", "--level", "0.9", "--assess", "--resamples", "100", "--seed", "2")
    found = read(run("evaluate", binary, "--json", *options))["metrics"]
    words: dict[str, Any] = {"metrics": ["ece", "brier"], "level": 0.9, "assess": True}
    expected = cal.evaluate(YES, SCORE, n_resamples=100, rng=2, **words).results
    for row, result in zip(found, expected, strict=True):
        assert row["low"] < row["value"] < row["high"]
        assert (row["low"], row["high"], row["pvalue"]) == pytest.approx((result.low, result.high, result.pvalue))
    code, out, _ = run("evaluate", binary, *options)
    assert code == 0
    assert all(word in out for word in ("low", "high", "p-value"))


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_the_bar_is_on_terminals_alone(binary: Path, run: Run) -> None:
    at_once = "from calibrant.cli import main; from calibrant.util.progress import _display as bar; bar.wait = bar.show; main()"
    arguments = ["assess", str(binary), "--metric", "ece", "--json"]
    command = [sys.executable, "-c", at_once, *arguments]
    _, quiet, errors = run(*arguments)
    assert errors == ""
    outer, inner = os.openpty()
    environment = {**os.environ, "TERM": "xterm", "CI": "", "CALIBRANT_PROGRESS": ""}
    shown = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=inner, env=environment)
    os.close(inner)
    bar = b""
    with suppress(OSError):  # the terminal ends with the command
        while part := os.read(outer, 1 << 16):
            bar += part
    os.close(outer)
    assert b"working" in bar
    assert json.loads(shown.communicate()[0]) == json.loads(quiet)

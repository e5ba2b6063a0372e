"""Logs of language models on the command line: evaluate, fit, apply, select, report and run; what is not possible says so."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from tests.calling import Run, check_refusal


def write_log(path: Path, n: int, k: int, seed: int, **more: object) -> Path:
    """Samples of lm-evaluation-harness of an overconfident model."""
    rng = np.random.default_rng(seed)
    with path.open("w") as file:
        for number in range(n):
            truth = rng.gumbel(size=k) + 1.5 * rng.normal(size=k)
            scores = 2 * truth + rng.normal(0, 2, k)
            scores -= scores.max() + 0.1
            pairs = [[str(float(s)), str(bool(s == scores.max()))] for s in scores]
            record = {
                "doc_id": number,
                "doc": {"subject": ["law", "physics"][number % 2], "answer": int(truth.argmax())},
                "target": str(truth.argmax()),
                "arguments": {f"gen_args_{i}": {"arg_0": "Q", "arg_1": f" {'ABCDE'[i]}"} for i in range(k)},
                "resps": [[pair] for pair in pairs],
                "filtered_resps": pairs,
                "filter": "none",
                "acc": float(scores.argmax() == truth.argmax()),
                **more,
            }
            print(json.dumps(record), file=file)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("logs")
    write_log(place / "samples_four_2026-03-05T10-00-00.1.jsonl", 300, 4, 0)
    write_log(place / "samples_five_2026-03-05T10-00-00.1.jsonl", 200, 5, 1)
    return place


def test_every_command_reads_a_log(folder: Path, tmp_path: Path, run: Run) -> None:
    log, form = folder / "samples_four_2026-03-05T10-00-00.1.jsonl", ("--format", "lm-eval")
    code, out, err = run("evaluate", log, *form, "--by", "subject", "--metrics", "ece,nll", "--json")
    assert code == 0, err
    assert "note: read 300 answers with 4 choices" in err
    found = json.loads(out)
    p = cal.input.read_lm_harness(log, by="subject")
    values = {row["metric"]: row["value"] for row in found["metrics"]}
    assert values == {"ece": cal.ece(p), "nll": pytest.approx(cal.nll(p), rel=1e-12)}
    assert set(found["groups"]) == {"law", "physics"}
    calibrator = tmp_path / "c.json"
    assert run("fit", log, *form, "--method", "temperature", "--out", calibrator)[0] == 0
    assert run("apply", calibrator, log, *form, "--out", tmp_path / "out.parquet")[0] == 0
    code, out, err = run("select", log, *form, "--coverage", "0.5", "--calibrator", calibrator)
    assert (code, "threshold" in out) == (0, True)
    code, out, err = run("evaluate", log, *form, "--where", "subject = 'law'", "--metrics", "ece", "--json")
    assert json.loads(out)["header"]["n"] == 150
    assert run("evaluate", log, "--format", "lm-eval:characters", "--metrics", "ece")[0] == 0


def test_questions_of_different_kinds(folder: Path, tmp_path: Path, run: Run) -> None:
    every, form = folder / "samples_*.jsonl", ("--format", "lm-eval")
    code, out, err = run("evaluate", every, *form, "--by", "task", "--metrics", "ece", "--json")
    assert code == 0, err
    assert "confidence and correctness, since questions have between 4 and 5 choices" in err
    assert set(json.loads(out)["groups"]) == {"four", "five"}
    calibrator = tmp_path / "c.json"
    assert run("fit", every, *form, "--method", "platt", "--out", calibrator)[0] == 0
    code, out, err = run("evaluate", every, *form, "--calibrator", calibrator, "--metrics", "ece", "--json")
    assert json.loads(out)["metrics"][0]["value"] < 0.1
    code, out, err = run("run", "--validation", every, "--test", every, *form, "--out", tmp_path / "r")
    assert code == 2
    assert 'with --where "n_choices = 4"' in err


def test_messages(folder: Path, tmp_path: Path, run: Run) -> None:
    log = folder / "samples_four_2026-03-05T10-00-00.1.jsonl"
    assert "cannot be read as a stream" in run("evaluate", log, "--format", "lm-eval", "--stream")[2]
    assert "unknown normalization 'words'" in run("evaluate", log, "--format", "lm-eval:words")[2]
    assert (
        "is not supported by this command"
        in run("survival", log, "--format", "lm-eval", "--time", "t", "--event", "e", "--horizon", "1")[2]
    )
    cut = tmp_path / "samples_cut.jsonl"
    cut.write_text(log.read_text()[:-100])
    check_refusal(run("evaluate", cut, "--format", "lm-eval"), "line 300 is not valid JSON")


def test_responses_with_a_file_of_answers(tmp_path: Path, run: Run) -> None:
    key = ["custom_id,answer"]
    with (tmp_path / "batch.jsonl").open("w") as file:
        for number in range(40):
            top = [{"token": " B", "logprob": math.log(0.7)}, {"token": "A", "logprob": math.log(0.3)}]
            body = {"choices": [{"logprobs": {"content": [{**top[0], "top_logprobs": top}]}}]}
            record = {"custom_id": f"q{number}", "response": {"status_code": 200, "body": body}, "error": None}
            print(json.dumps(record), file=file)
            key.append(f"q{number},{'B' if number % 2 else 'A'}")
    (tmp_path / "key.csv").write_text("\n".join(key))
    code, out, err = run(
        "evaluate",
        tmp_path / "batch.jsonl",
        "--format",
        "openai:AB",
        "--label",
        tmp_path / "key.csv",
        "--metrics",
        "ece",
        "--json",
    )
    assert code == 0, err
    assert "the choices have 100.0% of the probability" in err
    assert json.loads(out)["metrics"][0]["value"] == pytest.approx(0.2)
    assert "no field has the correct answers" in run("evaluate", tmp_path / "batch.jsonl", "--format", "openai")[2]


def test_stated_confidences_and_judged_answers(tmp_path: Path, run: Run) -> None:
    rng = np.random.default_rng(5)
    said = rng.choice([50, 60, 80, 90, 95, 100], 300)
    right = rng.random(300) < 0.3 + 0.005 * said
    lines = ["stated,score,answer,truth,verdict,feel,product,exact"]
    for s, r in zip(said, right, strict=True):
        words = f"{'A ' if r else 'B'},{'right' if r else 'wrong'},{'high' if s > 80 else 'low'}"
        lines.append(f"{s}%,{s},A,{words},12345678901234567890,1234567890123456789{0 if r else 1}")
    path = tmp_path / "stated.csv"
    path.write_text("\n".join(lines))
    expected = cal.ece(cal.Predictions(right.astype(int), said / 100, input="confidence"), bins="levels")
    for confidence, label in (
        ("stated", "verdict"),
        ("score / 100", "answer = truth"),
        ("stated", "Answer == TRUTH"),  # names of columns in any case, as in SQL
        ("stated", "product = exact"),  # equal as doubles
        ("stated", "verdict = 'right'"),
    ):
        options = ("--confidence-column", confidence, "--label", label)
        code, out, err = run("evaluate", path, *options, "--metrics", "ece", "--bins", "levels", "--json")
        assert code == 0, err
        assert json.loads(out)["metrics"][0]["value"] == pytest.approx(expected, abs=1e-12)
    code, _, err = run("evaluate", path, "--confidence-column", "score", "--label", "verdict")
    assert code == 2
    assert "--confidence-column 'COLUMN / 100'" in err
    options = ("--confidence-column", "stated", "--label", "verdict")
    out = run("evaluate", path, *options, "--metrics", "ece")[1]
    assert "the scores have 6 distinct values, some of which share a bin; the bins 'levels' have one for each" in out
    out = run("select", path, *options, "--coverage", "0.5")[1]
    assert out.startswith("Threshold for a coverage of at least 0.5")
    calibrator = tmp_path / "c.json"
    fit = ("--prob", "stated", "--label", "verdict", "--method", "histogram_levels", "--out", calibrator)
    assert run("fit", path, *fit)[0] == 0
    code = run("apply", calibrator, path, "--prob", "stated", "--out", tmp_path / "c.csv")
    assert code[0] == 0, code
    new = np.loadtxt(tmp_path / "c.csv", delimiter=",", skiprows=1, usecols=-1)
    assert new[said == 100] == pytest.approx((right[said == 100].sum() + 0.5) / ((said == 100).sum() + 1))
    assert run("evaluate", path, *options, "--calibrator", calibrator, "--metrics", "ece")[0] == 0
    # An expression stands for a column wherever rows are read, and is not written as one.
    shown = ("--prob", "score / 100", "--label", "answer = truth")
    code, _, err = run("apply", calibrator, path, *shown, "--out", tmp_path / "e.csv")
    assert code == 0, err
    assert (tmp_path / "e.csv").read_text() == (tmp_path / "c.csv").read_text().replace(
        "stated_calibrated", "score / 100_calibrated"
    )
    assert run("apply", calibrator, path, *shown, "--out", tmp_path / "e.parquet")[0] == 0
    assert pd.read_parquet(tmp_path / "e.parquet")["score / 100_calibrated"].tolist() == pytest.approx(new, abs=1e-12)
    more = ("--method", "platt", "--metrics", "ece", "--resamples", "200", "--out", tmp_path / "run")
    code, _, err = run("run", "--validation", path, "--test", path, *shown, *more)
    assert code == 0, err
    assert "answer = truth" not in pd.read_parquet(tmp_path / "run" / "calibrated.parquet")
    for command in (("scan", path, "--out", tmp_path / "s.sketch"), ("evaluate", path, "--stream")):
        check_refusal(run(*command, *shown), "--label")
    code, _, err = run("fit", path, *options, "--out", calibrator)
    assert (code, "No such option '--confidence-column'" in err) == (2, True)
    for bad, words in (
        (("--confidence-column", "feel", "--label", "verdict"), "300 of 300 values are not confidences"),
        (("--confidence-column", "score / 10", "--label", "verdict"), "values are not confidences from 0 to 1"),
        (("--confidence-column", "scor / 100", "--label", "verdict"), "--confidence-column: unknown column 'scor'"),
        (("--confidence-column", "stated", "--label", "answer = trut"), "--label: unknown column 'trut'"),
    ):
        check_refusal(run("evaluate", path, *bad), words)

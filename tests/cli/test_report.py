"""`calibrant report`: one file, several files, every form, and errors in one line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.reporting.building import report
from tests.calling import Run, check_refusal

RNG = np.random.default_rng(3)
SCORE = RNG.random(300)
YES = (RNG.random(300) < SCORE).astype(int)
OTHER = SCORE**3 / (SCORE**3 + (1 - SCORE) ** 3)
LAND = np.array(["FR", "DE"])[np.arange(300) % 2]
FAST = ["--metrics", "ece,nll"]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.csv"
    pd.DataFrame({"y": YES, "p": SCORE, "country": LAND, "w": np.arange(300) % 4}).to_csv(path, index=False)
    return path


@pytest.fixture
def new(tmp_path: Path) -> Path:
    path = tmp_path / "new.csv"
    pd.DataFrame({"y": YES, "p": OTHER, "country": LAND}).to_csv(path, index=False)
    return path


def test_json_holds_the_library_s_numbers(run: Run, old: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    code, printed, errors = run("report", old, *FAST, "--by", "country", "--out", out)
    assert (code, errors) == (0, "")
    read = json.loads(out.read_text())
    theirs = report(cal.Predictions(YES, SCORE, groups=LAND), metrics=["ece", "nll"])
    assert read["verdict"] == theirs.to_dict()["verdict"]
    assert read["metrics"] == theirs.to_dict()["metrics"]
    assert read["weaknesses"] == theirs.to_dict()["weaknesses"]
    assert read["recalibration"] == theirs.to_dict()["recalibration"]
    assert read["provenance"]["parameters"]["by"] == "country"
    assert read["title"] == "Calibration report"
    assert theirs.verdict.sentence in printed
    assert printed.endswith(f"Wrote {out}.\n")


def test_a_page_is_what_is_written_unless_said(
    run: Run, old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, printed, _ = run("report", old, *FAST, "--no-recalibration")
    assert code == 0
    assert printed.endswith("Wrote report.html.\n")
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert run("report", old, *FAST, "--no-recalibration", "--as", "md")[0] == 0
    assert (tmp_path / "report.md").read_text().startswith("# Calibration report")


def test_options_reach_the_report(run: Run, old: Path) -> None:
    words = ["--weight", "w", "--where", "country = 'FR'", "--level", "0.8", "--resamples", "60", "--seed", "5"]
    code, printed, _ = run("report", old, *FAST, *words, "--accuracy", "0.7", "--as", "json", "--out", "-")
    assert code == 0
    rows = LAND == "FR"
    theirs = report(
        YES[rows],
        SCORE[rows],
        sample_weight=(np.arange(300) % 4)[rows],
        metrics=["ece", "nll"],
        level=0.8,
        n_resamples=60,
        rng=5,
    )
    read = json.loads(printed)
    assert read["metrics"] == theirs.to_dict()["metrics"]
    assert read["provenance"]["fingerprint"] == theirs.provenance.fingerprint
    assert read["provenance"]["weight_kind"] == "importance"


def test_hostile_file_names_are_shown_harmlessly(run: Run, old: Path, tmp_path: Path) -> None:
    strange = tmp_path / "a|b\x1b[31m<script>.csv"
    strange.write_bytes(old.read_bytes())
    out = tmp_path / "r.md"
    code, printed, _ = run("report", strange, *FAST, "--no-recalibration", "--out", out)
    assert code == 0
    text = out.read_text()
    assert "\x1b" not in text + printed
    assert "a\\|b␛\\[31m\\<script>.csv" in text


def test_a_clinical_report_and_its_tripod_file(run: Run, old: Path, tmp_path: Path) -> None:
    out, items = tmp_path / "r.json", tmp_path / "items.md"
    command = ("report", old, "--metrics", "brier", "--no-recalibration", "--for", "clinical", "--tripod", items)
    code, printed, errors = run(*command, "--level", "0.5", "--resamples", "20", "--out", out)
    assert (code, errors) == (0, "")
    assert printed.endswith(f"Wrote {out} and {items}.\n")
    assert json.loads(out.read_text())["clinical"]["summary"]["n"] == 300
    assert items.read_text().startswith("# TRIPOD+AI")
    check_refusal(run(*command, "--out", items), "names the file of --out")


def test_gates_and_options_of_the_clinical_table(run: Run, old: Path) -> None:
    table = ("clinical", old, "--prob", "p", "--resamples", "0")
    code, _, errors = run(*table, "--fail-if", "slope < 99", "--fail-if", "ici > 9")
    assert code == 1
    assert "gate failed: slope < 99 holds" in errors
    assert "gate passed: ici > 9 does not hold" in errors
    code, printed, _ = run(*table, "--fail-if", "c < 0.01", "--json")
    assert (code, json.loads(printed)["failed"]) == (0, [])


@pytest.mark.parametrize(
    ("more", "title"),
    [
        ((), "Clinical summary of died: 300"),
        (("--pos-label", "yes"), "Clinical summary of died: 300"),
        (("--pos-label", "no"), "Clinical summary of died = no: 300"),
        (("--lens", "top_label"), "Clinical summary of top_label: 300"),
        (("--lens", "class:no"), "Clinical summary of no: 300"),
    ],
)
def test_the_clinical_table_names_the_event_it_counts(
    run: Run, tmp_path: Path, more: tuple[str, ...], title: str
) -> None:
    path = tmp_path / "deaths.csv"
    pd.DataFrame({"died": np.where(np.array(YES) == 1, "yes", "no"), "p": SCORE}).to_csv(path, index=False)
    code, printed, _ = run("clinical", path, "--label", "died", "--prob", "p", "--resamples", "0", *more)
    assert code == 0
    assert printed.startswith(title)


def test_a_file_too_large_for_memory_is_reported_from_a_sketch(
    run: Run, old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calibrant.cli.streaming.LARGE", 1000)
    quick = (*FAST, "--no-recalibration", "--out", tmp_path / "r.md")
    code, printed, _ = run("report", old, *quick)
    assert (code, "sketch" in printed) == (0, True)
    code, printed, _ = run("report", old, "--weight", "w", *quick)
    assert (code, "sketch" in printed) == (0, False)

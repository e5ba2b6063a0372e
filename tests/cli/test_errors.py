"""Faults of the program and of the machine, help, the list of metrics, the demonstration, and lines of files in errors."""

import functools
import json
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest

import calibrant as cal
from tests.calling import Run


def test_a_fault_of_ours_is_no_failed_gate(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> bool:
        raise ZeroDivisionError

    monkeypatch.setattr("calibrant.cli.evaluating.metric_conditions", broken)
    code, out, err = run("evaluate", tmp_path / "none.csv")
    assert (code, out) == (70, "")
    assert err.startswith("Traceback")
    assert "ZeroDivisionError" in err


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        duckdb.OutOfMemoryException("Out of Memory Error: failed to allocate data of size 8.0 MiB"),
        cal.errors.FileError("a.csv", "cannot be read: Out of Memory Error: failed to pin block", "check the file"),
        RuntimeError("can't start new thread"),
    ],
)
def test_memory_that_runs_out_is_one_line(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(*_: object, **__: object) -> bool:
        raise error

    monkeypatch.setattr("calibrant.cli.evaluating.metric_conditions", broken)
    code, out, err = run("evaluate", tmp_path / "none.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: not enough memory; summarize the rows with `calibrant scan`")
    code, _, err = run("evaluate", tmp_path / "none.csv", "--debug")
    assert (code, err.startswith("Traceback")) == (2, True)


def test_help_and_version(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert all(word in out for word in ("evaluate", "assess", "compare", "metrics", "demo"))
    assert run("--version")[1] == f"calibrant {cal.__version__}\n"


def test_help_loads_nothing_heavy() -> None:
    probe = "import sys; from calibrant.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass\nprint(sorted({'numpy','scipy','duckdb','rich','jinja2','narwhals'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_metrics_tree_entry_and_use_case(run: Run) -> None:
    _, out, _ = run("metrics")
    assert all(f" {id} " in out for id in cal.catalogue)
    _, out, _ = run("metrics", "CWCE")
    assert out.startswith("cwce: Class-wise calibration error")
    assert "arXiv:1910.12656" in out
    _, out, _ = run("metrics", "--for", "safety")
    assert "overconfidence do harm" in out


def test_a_recommendation_has_ranks_and_reasons(run: Run) -> None:
    code, out, err = run("metrics", "--for", "analysis")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[2].split()[:2] == ["ici", "recommended"]
    assert lines[3].split()[:2] == ["emax", "runner-up"]
    assert lines[-1] == "Functions: reliability_diagram, calibration_curve, inference.calibration_band."


def test_metrics_as_json(run: Run) -> None:
    entries = json.loads(run("metrics", "--json")[1])
    assert [entry["id"] for entry in entries] == list(cal.catalogue)
    assert json.loads(run("metrics", "nll", "--json")[1])["range"] == [0, "inf"]


def test_demo_writes_a_page_and_says_where(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, deep: bool
) -> None:
    if not deep:
        quick = functools.partial(cal.report, metrics=["ece"], recalibration=False, level=None, n_resamples=19)
        monkeypatch.setattr("calibrant.cli.demonstration.build", lambda test, settings, more: quick(test))
    code, out, _ = run("demo", "--out", tmp_path / "demo.html", "--save-data", tmp_path / "new" / "data")
    assert code == 0
    assert str(tmp_path / "demo.html") in out
    assert "overconfident: mean confidence 94.8%, accuracy 87.7%" in out
    assert "<!doctype html>" in (tmp_path / "demo.html").read_text(encoding="utf-8")
    assert str(tmp_path / "new" / "data" / "digits_test.csv") in out
    assert run("evaluate", tmp_path / "new" / "data" / "digits_test.csv", "--metrics", "ece")[0] == 0


def test_rows_are_named_by_the_lines_of_the_file(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "notes.csv"
    good = "".join(f'{i % 2},0.{i % 9 + 1},"two\nlines"\r\n' for i in range(5))
    path.write_bytes(f"label,prob,note\r\n{good}\r\n1,1.5,x\r\n".encode())
    for more in ([], ["--stream"]):
        assert "line 13" in run("evaluate", path, *more)[2]  # five rows of two lines and an empty one after the header
    assert (
        "probabilities must be in [0, 1]; got 1.5 in row 3 (counted from 0 among those"
        in run("assess", path, "--where", "label = 1 OR prob < 0.2")[2]
    )
    frame = tmp_path / "p.parquet"
    pl.DataFrame({"label": [0, 1], "prob": [0.2, 1.5]}).write_parquet(frame)
    assert "probabilities must be in [0, 1]; got 1.5 in row 1 (counted from 0)" in run("evaluate", frame)[2]
    assert "row 1 (counted from 0)" in run("evaluate", frame, "--stream")[2]

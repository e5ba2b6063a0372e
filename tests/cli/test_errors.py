"""The command line on bad input: exit code 2 and one clear line; other commands."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest

import calibrant as cal
from tests.calling import Run, check_refusal

GOOD = "label,prob,region\n0,0.2,a\n1,0.9,b\n1,0.7,a\n"

MANY = "label,prob\n" + "0,0.2\n1,0.9\n" * 15

SUMS = "label,p_0,p_1,p_2\n0,0.2,0.2,0.2\n"

# Content, further arguments, and what the line says beside the message: the option, the column, the place, and remedies.
CASES: dict[str, tuple[str | bytes, list[str], list[str]]] = {
    "empty file": ("", [], ["is empty"]),
    "header only": ("label,prob\n", [], ["has no rows"]),
    "no label column": ("a,prob\n0,0.2\n", [], ["--label", "a, prob"]),
    "no score column": ("label,b\n0,0.2\n", [], ["--prob", "label, b"]),
    "named label absent": (GOOD, ["--label", "lable"], ["--label", "did you mean 'label'", "'region'"]),
    "named score absent": (GOOD, ["--prob", "q"], ["--prob", "unknown column 'q'", "'label'"]),
    "pattern without match": (GOOD, ["--probs", "z_*"], ["--probs", "no column matches 'z_*'"]),
    "two kinds of scores": (
        GOOD,
        ["--prob", "prob", "--logits", "prob"],
        ["--logits", "cannot be combined with --prob"],
    ),
    "weight absent": (GOOD, ["--weight", "w"], ["--weight", "unknown column 'w'"]),
    "group absent": (GOOD, ["--by", "city"], ["--by", "unknown column 'city'"]),
    "missing probability": ("label,prob\n0,0.2\n1,\n", [], ["--prob", "column 'prob' on line 3", "use --drop-missing"]),
    "probability above one": ("label,prob\n0,0.2\n1,1.5\n", [], ["--prob", "got 1.5 on line 3", "--logits"]),
    "rows that do not sum": (SUMS, [], ["--prob", "got a sum of 0.6 on line 2", "--normalize"]),
    "label out of range": (SUMS.replace("0,0.2,0.2,0.2", "3,0.2,0.2,0.6"), [], ["--label", "got 3 on line 2"]),
    "text label": ("label,prob\nspam,0.2\n", [], ["--label", "'spam' on line 2", "--classes", "--pos-label"]),
    "text": (f"{MANY}1,N/A\n", [], ["--prob", "column 'prob' on line 32", "use --drop-missing"]),
    "percents": (f"{MANY}1,70%\n", [], ["--prob", "'70%' on line 32", "0.7 for 70%"]),
    "decimal comma": (f'{MANY}1,"0,7"\n', [], ["--prob", "'0,7' on line 32", "with a point"]),
    "shares as labels": ("label,prob\n0.5,0.2\n", [], ["--label", "got 0.5 on line 2"]),
    "comment among rows": (f"{MANY}# pause\n{MANY[11:]}", [], ["cannot be split into columns", "such as comments"]),
    "table of no database": (GOOD, ["--table", "x"], ["--table: applies to DuckDB databases only"]),
    "interval": (GOOD, ["--level", "7"], ["error: --level: must"]),
    "no SQL": (GOOD, ["--where", "region ="], ["--where", "not a valid SQL expression"]),
    "two statements": (GOOD, ["--where", "1); DROP TABLE x; SELECT (1"], ["--where"]),
    "query inside": (GOOD, ["--where", "prob > (SELECT 0.5)"], ["--where", "without subqueries"]),
    "union": (GOOD, ["--where", "true) UNION ALL SELECT 1, 1 WHERE (true"], ["--where"]),
    "unknown column in SQL": (GOOD, ["--where", "regoin = 'a'"], ["--where", "the columns are"]),
    "another type in SQL": (
        GOOD,
        ["--where", "prob > 'x'"],
        ["--where", "cannot be evaluated", "empty fields are NULL"],
    ),
    "nothing fits": (GOOD, ["--where", "prob > 2"], ["has no rows that satisfy --where"]),
    "unknown metric": (GOOD, ["--metrics", "ecee"], ["--metrics", "unknown metric 'ecee'", "'ece'"]),
    "no gate": (GOOD, ["--fail-if", "ece"], ["--fail-if", "ece > 0.05"]),
    "gate that nothing can fail": (GOOD, ["--fail-if", "ece > nan"], ["--fail-if", "'nan' cannot be read"]),
    "gate on unknown metric": (GOOD, ["--fail-if", "foo > 1"], ["--fail-if", "unknown metric 'foo'"]),
    "gate on a field": (GOOD, ["--fail-if", "pvalue < 0.05"], ["--fail-if", "such as ece.pvalue or ece.high", "auroc"]),
    "gate without a value": (GOOD, ["--fail-if", "ece > 1", "--lens", "canonical"], ["ece > 1 cannot", "--lens: ece"]),
    "bins": (GOOD, ["--bins", "0"], ["--bins", "got 0"]),
    "lens": (GOOD, ["--lens", "toplabel"], ["--lens", "unknown lens 'toplabel'"]),
    "option that does not exist": (GOOD, ["--binz", "3"], ["--binz"]),
    "binary rubbish as Parquet": (b"PAR1 rubbish", ["--format", "parquet"], ["cannot be read as parquet"]),
    "rubbish as JSON": ("{not json", ["--format", "json"], ["cannot be read as json"]),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_one_clear_line(tmp_path: Path, run: Run, name: str) -> None:
    content, arguments, parts = CASES[name]
    path = tmp_path / "preds.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    check_refusal(run("evaluate", path, *arguments), *parts)


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
    check_refusal(run("metrics", "--for", "nothing"), "'safety'")
    check_refusal(run("metrics", "brierr"), "error: NAME: unknown metric 'brierr'", "'brier'")


def test_metrics_as_json(run: Run) -> None:
    entries = json.loads(run("metrics", "--json")[1])
    assert [entry["id"] for entry in entries] == list(cal.catalogue)
    assert json.loads(run("metrics", "nll", "--json")[1])["range"] == [0, "inf"]


def test_demo_writes_a_page_and_says_where(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, deep: bool
) -> None:
    if not deep:
        short = functools.partial(cal.report, metrics=["ece"], recalibration=False, level=None, n_resamples=19)
        monkeypatch.setattr("calibrant.cli.demonstration.report", short)
    code, out, _ = run("demo", "--out", tmp_path / "demo.html", "--save-data", tmp_path / "new" / "data")
    assert code == 0
    assert str(tmp_path / "demo.html") in out
    assert "overconfident: mean confidence 94.8%, accuracy 87.7%" in out
    assert "<!doctype html>" in (tmp_path / "demo.html").read_text(encoding="utf-8")
    assert str(tmp_path / "new" / "data" / "digits_test.csv") in out
    assert run("evaluate", tmp_path / "new" / "data" / "digits_test.csv", "--metrics", "ece")[0] == 0
    check_refusal(run("demo", "--out", tmp_path / "no" / "demo.html"), "cannot be written")


@pytest.mark.parametrize(
    ("header", "pattern"),
    [
        ("says: cat,says: dog", "says: *"),
        ("a_cat,a_dog", "a_cat,a_dog"),
        ("a_cat,a_dog", "a_*"),
        ("p_cat,p_dog", "p*"),
        ("cat prob,dog prob", "* prob"),
        ("cat,dog", "cat,dog"),
    ],
)
def test_columns_name_their_classes_whatever_their_order(tmp_path: Path, run: Run, header: str, pattern: str) -> None:
    first, second = header.split(",")
    rows = [("cat", 0.8), ("dog", 0.3), ("cat", 0.6), ("dog", 0.6)]
    forward, back = tmp_path / "a.csv", tmp_path / "b.csv"
    forward.write_text(f"truth,{first},{second}\n" + "".join(f"{y},{p},{round(1 - p, 1)}\n" for y, p in rows))
    back.write_text(f"truth,{second},{first}\n" + "".join(f"{y},{round(1 - p, 1)},{p}\n" for y, p in rows))
    found = [
        run("evaluate", path, "--label", "truth", "--probs", pattern, "--metrics", "brier") for path in (forward, back)
    ]
    assert [code for code, _, _ in found] == [0, 0], found
    assert "0.1625" in found[0][1]
    assert "0.1625" in found[1][1]


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

"""``--drop-missing``: rows with missing values are counted in one error, or dropped and counted."""

import json
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from tests.calling import Run, check_refusal, read_json


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    p = rng.random(300).round(4)
    y = (rng.random(300) < p).astype(int).astype(str)
    fields = [y, p.astype(str), rng.choice(["a", "b"], 300), np.ones(300, int).astype(str), np.arange(300).astype(str)]
    table = np.array(fields, dtype="<U12").T
    table[[5, 50], 0], table[7, 1], table[9, 1], table[11, 2], table[13, 3] = "", "", "nan", "", ""
    lines = ["churn,p,region,w,id", *(",".join(row) for row in table)]
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


COLUMNS = ("--label", "churn", "--prob", "p", "--weight", "w", "--by", "region")


def test_one_error_counts_all_missing_values(run: Run, rows: Path) -> None:
    code, _, error = run("evaluate", rows, *COLUMNS)
    told = "error: --label: 6 missing values (churn 2, p 2, w 1, region 1), the first on line 7; use --drop-missing to drop these rows"
    assert (code, error.strip()) == (2, told)
    code, _, error = run("evaluate", rows, "--label", "churn", "--by", "region", "--stream")
    assert code == 2
    assert "--label: 5 missing values (churn 2, p 2, region 1), the first on line 7" in error
    assert "use --drop-missing" in error


def test_dropped_rows_are_those_of_a_file_without_them(run: Run, rows: Path, tmp_path: Path) -> None:
    code, out, _ = run("evaluate", rows, *COLUMNS, "--metrics", "ece,brier", "--drop-missing", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["missing_values"] == {"rows": 300, "dropped": 6, "missing": {"churn": 2, "p": 2, "w": 1, "region": 1}}
    whole = [line for line in rows.read_text().splitlines() if all(line.split(",")) and "nan" not in line]
    clean = tmp_path / "clean.csv"
    clean.write_text("\n".join(whole) + "\n")
    expected = read_json(run("evaluate", clean, *COLUMNS, "--metrics", "ece,brier", "--json"))
    assert [m["value"] for m in found["metrics"]] == [m["value"] for m in expected["metrics"]]
    assert found["groups"] == expected["groups"]
    # A stream counts the same rows.
    _, out, _ = run("evaluate", rows, "--label", "churn", "--metrics", "brier", "--stream", "--drop-missing", "--json")
    streamed = json.loads(out)
    assert streamed["missing_values"] == {"rows": 300, "dropped": 4, "missing": {"churn": 2, "p": 2}}
    sketches = cal.scan(rows, label="churn", by="region", missing="drop")
    assert (sketches.n, sketches.dropped.columns) == (295, {"churn": 2, "p": 2, "region": 1})


def test_every_command_states_what_it_dropped(run: Run, rows: Path, tmp_path: Path) -> None:
    label = ("--label", "churn", "--drop-missing")
    four = "4 of 300 rows dropped because of missing values (churn 2, p 2)"
    calibrator, sketch, page = tmp_path / "c.json", tmp_path / "day.sketch", tmp_path / "r.md"
    for command in (
        ("evaluate", rows, *label, "--metrics", "ece"),
        ("assess", rows, *label),
        ("fit", rows, *label, "--method", "platt", "--out", calibrator),
        ("select", rows, *label, "--accuracy", "0.8"),
        ("scan", rows, *label, "--out", sketch),
        ("monitor", "init", tmp_path / "m.db", "--reference", rows, *label, "--rows", "100"),
    ):
        code, out, error = run(*command)
        assert (code, four in out) == (0, True), (command, out, error)
    code, out, _ = run("compare", rows, *label, "--models", "p,w", "--resamples", "50")
    assert "5 of 300 rows dropped because of missing values (churn 2, p 2, w 1)" in out
    assert code == 0
    code, _, _ = run("report", rows, *label, "--metrics", "brier", "--no-recalibration", "--out", page)
    assert (code, page.read_text().count(four)) == (0, 2)
    # A label may come later; a score may not.
    update = ("monitor", "update", tmp_path / "m.db", rows, "--label", "churn", "--prob", "p", "--id", "id")
    check_refusal(run(*update), "2 missing values in column 'p', the first on line 9; use --drop-missing")
    code, out, _ = run(*update, "--drop-missing", "--fail-on-alarm", "never")
    assert (code, "2 of 300 rows dropped because of missing values (p 2)" in out) == (0, True)
    code, out, _ = run("apply", calibrator, rows, "--prob", "p", "--out", tmp_path / "o.csv", "--drop-missing")
    assert "2 of 300 rows dropped because of missing values (p 2)" in out
    kept = [line for number, line in enumerate(rows.read_text().splitlines()) if number not in (8, 10)]
    assert [line.rpartition(",")[0] for line in (tmp_path / "o.csv").read_text().splitlines()] == kept


def test_text_that_stands_for_a_missing_value(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "na.csv"
    lines = [f"{int(i % 3 == 0)},{0.1 + 0.002 * i:.4f}" for i in range(300)]
    lines[4], lines[6] = "NA,0.5", "1,N/A"
    file.write_text("y,p\n" + "\n".join(lines) + "\n")
    code, _, error = run("evaluate", file, "--metrics", "ece")
    assert (code, "2 missing values (y 1, p 1), the first on line 6" in error) == (2, True)
    for more in ((), ("--stream",)):
        code, out, _ = run("evaluate", file, "--metrics", "ece", "--drop-missing", *more)
        assert (code, "2 of 300 rows dropped because of missing values (y 1, p 1)" in out) == (0, True)
    # Labels may be text beside empty fields.
    file.write_text("y,p\n" + "yes,0.7\nno,0.2\n" * 20 + ",0.3\nNA,0.3\n")
    check_refusal(run("evaluate", file), "--label: 2 missing values in column 'y', the first on line 42")
    # Lines of other errors are those of the file.
    lines[20] = "1,1.5"
    file.write_text("y,p\n" + "\n".join(lines) + "\n")
    code, _, error = run("evaluate", file, "--drop-missing")
    assert "got 1.5 on line 22" in error
    # The name of a class is not a missing value.
    file.write_text("y,p\n" + "none,0.1\nill,0.8\n" * 20)
    assert "dropped" not in run("evaluate", file, "--pos-label", "ill", "--metrics", "ece", "--drop-missing")[1]
    file.write_text("y,p\n" + "NA,NA\n" * 20)
    check_refusal(run("evaluate", file, "--drop-missing"), "all 20 rows have missing values")


@pytest.mark.parametrize("null", ["null", "NaN"])
def test_a_list_with_a_null_is_a_missing_value_read_as_a_whole_or_as_a_stream(
    run: Run, tmp_path: Path, null: str
) -> None:
    lists = ["[0.7, 0.2, 0.1]", "[0.2, 0.7, 0.1]", f"[0.2, {null}, 0.1]", "[0.1, 0.2, 0.7]", "null"]
    file = tmp_path / "lists.jsonl"
    file.write_text("".join(f'{{"y": {row % 3}, "p": "{text}"}}\n' for row, text in enumerate(lists)))
    for stream in ("--no-stream", "--stream"):
        check_refusal(run("evaluate", file, stream), "--prob: 2 missing values in column 'p', the first on line 3")
        found = read_json(run("evaluate", file, stream, "--drop-missing", "--metrics", "brier", "--json"))
        assert found["missing_values"] == {"rows": 5, "dropped": 2, "missing": {"p": 2}}
        assert found["metrics"][0]["value"] == pytest.approx((0.14 + 0.14 + 1.34) / 3)

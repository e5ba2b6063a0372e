"""Outputs that cannot be written, or would replace an input, are an error before the work begins."""

import os
from pathlib import Path

import pytest

import calibrant as cal
from tests.calling import Run, check_refusal

ROWS = "y,p\n" + "0,0.2\n1,0.7\n1,0.9\n0,0.4\n" * 10


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text(ROWS)
    Path("rows.json").write_text('{"y": 0, "p": 0.2}\n{"y": 1, "p": 0.7}\n')
    Path("folder").mkdir()
    os.link("rows.csv", "same.csv")

    def unexpected(*_: object, **__: object) -> None:
        raise AssertionError("the work began")

    for name in ("cli.source._load", "cli.reporting.build", "cli.tables.open_rows"):
        monkeypatch.setattr(f"calibrant.{name}", unexpected)
    monkeypatch.setattr("calibrant.cli.streaming.scan", unexpected)
    monkeypatch.setattr(
        "calibrant.cli.fitting.load_map", lambda *_, **__: cal.PlattScaling().fit([0.2, 0.7, 0.8], [0, 1, 1])
    )
    return tmp_path


CASES = [
    ("fit rows.csv --out none/c.json", "none/c.json: cannot be written (its folder does not exist)"),
    ("fit rows.csv --out folder", "folder: cannot be written (it is a folder)"),
    ("fit rows.csv --out rows.csv", "--out: would overwrite the input rows.csv; name another file"),
    ("fit rows.csv --out same.csv", "--out: would overwrite the input rows.csv; name another file"),
    ("apply c.json rows.csv --out rows.csv", "--out: would overwrite the input rows.csv"),
    ("apply c.json rows.csv --out o.xlsx", "--out: must end in .parquet"),
    ("report rows.csv --out none/r.html", "none/r.html: cannot be written (its folder does not exist)"),
    ("report rows.csv --out r.odt", "--out"),
    ("report rows.json --out rows.json", "--out: would overwrite the input rows.json"),
    ("report rows.csv --for clinical --out r.md --tripod r.md", "names the file of"),
    ("scan rows.csv --out day.csv", "--out: must end in .sketch"),
    ("scan rows.csv --out none/day.sketch", "its folder does not exist"),
    (
        "run --validation rows.csv --test rows.csv --out rows.csv",
        "rows.csv: cannot be written (rows.csv is not a folder)",
    ),
    ("apply c.json rows.csv --out none/o.csv", "its folder does not exist"),
    ("monitor report m.db --out none/t.html", "its folder does not exist"),
    ("monitor report m.db --out t.md", "--out: must end in .html, .htm"),
    ("run --validation rows.csv --test rows.csv --out rows.csv/results", "is not a folder"),
    ("demo --save-data rows.csv/data", "is not a folder"),
    ("demo --out none/d.html", "its folder does not exist"),
    ("demo --out d.odt", "--out"),
    ("fit rows.csv --out -", "--out: cannot be standard output (-); name a file"),
]


@pytest.mark.usefixtures("folder")
def test_outputs_are_checked_first(run: Run) -> None:
    for command, words in CASES:
        check_refusal(run(*command.split()), words)
    Path("report.html").mkdir()
    assert "report.html: cannot be written (it is a folder)" in run("report", "rows.csv")[2]
    assert Path("rows.csv").read_text() == ROWS


def test_a_file_is_replaced_only_by_one_of_its_kind(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text(ROWS)
    Path("data.csv").write_text("a,b\n1,2\n")
    Path("lines.json").write_text('{"a": 1}\n{"a": 2}\n')
    Path("page.html").write_text("<!doctype html>\n<title>Page</title>\n")
    Path("notes.md").write_text("# Notes\n")
    options = ("--label", "y", "--prob", "p")
    assert run("fit", "rows.csv", *options, "--method", "platt", "--out", "c.json")[0] == 0
    assert run("scan", "rows.csv", *options, "--out", "s.sketch")[0] == 0
    assert run("monitor", "init", "m.db", "--reference", "rows.csv", *options, "--every", "1d")[0] == 0
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    refused = [
        ("report", "c.json", "a calibrator"),
        ("report", "lines.json", "a table"),
        ("report --as md", "data.csv", "a table"),
        ("report --as html", "m.db", "a binary file"),
        ("report --as html", "s.sketch", "a sketch"),
        ("fit", "page.html", "a document"),
        ("fit", "data.csv", "a table"),
        ("fit", "m.db", "a binary file"),
    ]
    for command, target, present in refused:
        name, *more = command.split()
        code, _, error = run(name, "rows.csv", *options, *more, "--out", target)
        kind = "a calibrator" if name == "fit" else "a document"
        expected = f"error: --out: {target} is {present} and would be replaced by {kind}; name another file\n"
        assert (code, error) == (2, expected), (command, target)
    code, _, error = run("apply", "c.json", "rows.csv", *options, "--out", "page.html")
    assert code == 2
    Path("old.csv").symlink_to("c.json")
    code, _, error = run("apply", "c.json", "rows.csv", *options, "--out", "old.csv")
    assert code == 2
    Path("old.csv").unlink()
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before
    Path("empty").touch()
    for command, target in (
        ("fit --method platt", "c.json"), ("scan", "s.sketch"), ("report", "notes.md"), ("report --as html", "empty"),
        ("fit --method platt", "new.json"),
    ):  # fmt: skip
        quick = ("--metrics", "brier", "--no-recalibration") if command.startswith("report") else ()
        assert run(*command.split(), "rows.csv", *options, *quick, "--out", target)[0] == 0, (command, target)
    assert run("apply", "new.json", "rows.csv", *options, "--out", "data.csv")[0] == 0

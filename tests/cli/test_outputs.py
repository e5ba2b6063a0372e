"""Outputs that cannot be written, or would replace an input, are an error before the work begins."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import calibrant as cal

Run = Callable[..., tuple[int, str, str]]
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

    for name in ("cli.evaluating.load", "cli.fitting.rows_of", "cli.reporting.build", "cli.tables.connect"):
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
    ("report rows.csv --out r.pdf", "--out"),
    ("report rows.json --out rows.json", "--out: would overwrite the input rows.json"),
    ("report rows.csv --for clinical --out r.md --tripod r.md", "names the file of"),
    ("scan rows.csv --out day.csv", "--out: must end in .sketch"),
    ("scan rows.csv --out none/day.sketch", "its folder does not exist"),
    (
        "run --validation rows.csv --test rows.csv --out rows.csv",
        "rows.csv: cannot be written (rows.csv is not a folder)",
    ),
    ("evaluate rows.csv --junit none/j.xml", "its folder does not exist"),
    ("evaluate rows.csv --summary rows.csv", "--summary: would overwrite the input rows.csv"),
    ("evaluate rows.csv --summary s.md --junit s.md", "names the file of"),
    ("monitor report m.db --out t.md", "--out: must end in .html, .htm"),
    ("demo --out d.pdf", "--out"),
    ("fit rows.csv --out -", "--out: cannot be standard output (-); name a file"),
    ("evaluate rows.csv --fail-if ece>1 --junit -", "--junit: cannot be standard output (-)"),
]


@pytest.mark.usefixtures("folder")
def test_outputs_are_checked_first(run: Run) -> None:
    for command, words in CASES:
        code, _, error = run(*command.split())
        assert (code, words in error) == (2, True), (command, error)
    Path("report.html").mkdir()
    assert "report.html: cannot be written (it is a folder)" in run("report", "rows.csv")[2]
    assert Path("rows.csv").read_text() == ROWS


def test_reports_check_their_path_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calibrant.reporting.building.build", None)
    monkeypatch.setattr("calibrant.reporting.comparing.compare_parts", None)
    y, p = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    for call in (
        lambda path: cal.report(y, p, path=path),
        lambda path: cal.compare_reports(y, {"a": p, "b": p}, path=path),
    ):
        with pytest.raises(cal.FileError, match="its folder does not exist"):
            call(tmp_path / "none" / "r.html")
        (tmp_path / "r.html").mkdir(exist_ok=True)
        with pytest.raises(cal.FileError, match="it is a folder"):
            call(tmp_path / "r.html")
        with pytest.raises(cal.ArgumentError):
            call(tmp_path / "r.pdf")

"""Small archives that unpack to much: one line and exit code 2, before memory or the disk is full."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from calibrant.sketches.files import converting
from tests.calling import Run, check_refusal

ROW = '<row r="{0}"><c r="A{0}"><v>1</v></c><c r="B{0}"><v>0.5</v></c></row>'
HEADER = (
    '<row r="1"><c t="inlineStr" r="A1"><is><t>label</t></is></c><c t="inlineStr" r="B1"><is><t>prob</t></is></c></row>'
)


def write_sheet(path: Path, rows: list[str]) -> None:
    """A workbook whose only sheet has these rows, as XML."""
    openpyxl = pytest.importorskip("openpyxl")
    plain = path.with_suffix(".plain.xlsx")
    openpyxl.Workbook().save(plain)
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for member in source.infolist():
            content = source.read(member)
            if member.filename.endswith("sheet1.xml"):
                content = content.replace(b"<sheetData>", b"<sheetData>" + "".join(rows).encode())
                assert b"<row" in content
            target.writestr(member.filename, content)


@pytest.mark.parametrize("first", [True, False])
def test_a_row_that_no_sheet_can_have(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bool) -> None:
    """A few bytes state a row of any number, and the rows before it would be written as empty lines."""
    monkeypatch.setattr(converting, "MOST_ROWS", 1000)
    file = tmp_path / "rows.xlsx"
    write_sheet(file, [*([HEADER, ROW.format(2)] if first else []), ROW.format(4_000_000_000_000)])
    code, out, error = run("evaluate", file)
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert f"{file}: cannot be read as a spreadsheet: the sheet 'Sheet' has a row beyond 1,000" in error


@pytest.mark.parametrize("command", ["evaluate", "assess", "scan"])
@pytest.mark.parametrize("name", ["bomb.npz", "bomb.xlsx"])
def test_archives_beyond_the_memory_limit(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, command: str
) -> None:
    monkeypatch.setenv("CALIBRANT_MEMORY_LIMIT", "20MB")
    file = tmp_path / name
    if name.endswith(".npz"):
        np.savez_compressed(file, label=np.zeros(2_000_000), prob=np.full(2_000_000, 0.5))
    else:
        write_sheet(file, [HEADER, *(ROW.format(row) for row in range(2, 200_000))])
    assert file.stat().st_size < 2_000_000
    out = ("--out", tmp_path / "rows.sketch") if command == "scan" else ()
    check_refusal(run(command, file, *out), f"error: {file}: unpacks to")
    assert not (tmp_path / "rows.sketch").exists()

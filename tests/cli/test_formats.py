"""Files of other formats and columns of other names, as people have them."""

from __future__ import annotations

import io
import json
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import calibrant as cal
from tests.calling import Run, check_refusal

RNG = np.random.default_rng(0)
P = RNG.random(200)
Y = (RNG.random(200) < P).astype(int)
TABLE = pd.DataFrame({"churn": Y, "p": P, "region": np.where(P > 0.5, "a", "b"), "day": pd.Timestamp("2026-03-05")})


def value(run: Run, *arguments: object) -> float:
    code, out, error = run("evaluate", *arguments, "--metrics", "brier", "--json")
    assert code == 0, error
    return float(json.loads(out)["metrics"][0]["value"])


def test_feather_and_arrow(run: Run, tmp_path: Path) -> None:
    feather, stream = tmp_path / "t.feather", tmp_path / "t.arrow"
    TABLE.to_feather(feather)
    with pa.ipc.new_stream(stream, pa.Schema.from_pandas(TABLE)) as writer:
        writer.write_table(pa.Table.from_pandas(TABLE), max_chunksize=64)
    expected = cal.brier(Y, P)
    for file, more in ((feather, ()), (stream, ()), (feather, ("--stream",))):
        assert value(run, file, "--label", "churn", "--where", "day < '2027-01-01'", *more) == pytest.approx(expected)
    assert cal.scan(feather, label="churn").n == 200
    for day in range(10):  # more files than copies are kept
        (tmp_path / f"day{day}.feather").write_bytes(feather.read_bytes())
    assert cal.scan(tmp_path / "day*.feather", label="churn").n == 2000
    assert cal.scan([feather, tmp_path / "day*.feather"], label="churn").n == 2200
    (tmp_path / "bad.feather").write_bytes(b"ARROW1 and nothing else")
    check_refusal(run("evaluate", tmp_path / "bad.feather"), "cannot be read as an Arrow file")


def test_standard_input(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openpyxl")
    TABLE.to_excel(tmp_path / "t.xlsx", index=False)
    TABLE.to_feather(tmp_path / "t.feather")
    for name in ("t.xlsx", "t.feather"):
        content = (tmp_path / name).read_bytes()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert value(run, "-", "--label", "churn") == pytest.approx(cal.brier(Y, P))
        (tmp_path / "plain").write_bytes(content)
        check_refusal(run("evaluate", tmp_path / "plain"), "its name must end in")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"ARROW1 and nothing else")))
    assert run("evaluate", "-")[2].startswith("error: -: cannot be read as an Arrow file")


def test_a_spreadsheet(run: Run, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    file = tmp_path / "t.xlsx"
    TABLE.to_excel(file, index=False)
    assert value(run, file, "--label", "churn", "--by", "region") == pytest.approx(cal.brier(Y, P))
    book = openpyxl.load_workbook(file)
    book.active["B7"] = "NA"
    book.save(file)
    check_refusal(run("evaluate", file, "--label", "churn"), "--prob: missing value in column 'p' on line 7")
    book.create_sheet("notes")["A1"] = "made by hand"
    book.save(file)
    assert "has several sheets with content: 'Sheet1', 'notes'" in run("evaluate", file)[2]


def change_sheet(book: Path, *changes: tuple[str, str]) -> None:
    """Replace text in the XML of the only sheet of a workbook."""
    with zipfile.ZipFile(book) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    for old, new in changes:
        changed = members[sheet].decode().replace(old, new)
        assert changed != members[sheet].decode(), old
        members[sheet] = changed.encode()
    with zipfile.ZipFile(book, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize("dimension", ["A1:F51", "A1:A201", "A1", "A1:F100000"])
def test_rows_beyond_the_dimension_of_a_sheet_are_read(run: Run, tmp_path: Path, dimension: str) -> None:
    pytest.importorskip("openpyxl")
    file = tmp_path / "t.xlsx"
    TABLE.to_excel(file, index=False)
    with zipfile.ZipFile(file) as archive:
        (old,) = re.findall(r'<dimension ref="[^"]*"', archive.read("xl/worksheets/sheet1.xml").decode())
    change_sheet(file, (old, f'<dimension ref="{dimension}"'))
    assert value(run, file, "--label", "churn") == pytest.approx(cal.brier(Y, P))
    assert cal.scan(file, label="churn").n == len(Y)


def test_a_row_that_the_parser_drops_is_an_error(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    file = tmp_path / "t.xlsx"
    pd.DataFrame({"y": [0, 1, 1, 0], "p": [0.2, 0.7, 0.9, 0.4]}).to_excel(file, index=False)
    change_sheet(file, ('<row r="4"', '<row r="2"'))
    problem = "has 5 rows with values, of which 4 were read; rows may be out of order"
    check_refusal(run("evaluate", file, "--label", "y"), problem)


def test_a_broken_sheet_is_an_error(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    file = tmp_path / "t.xlsx"
    pd.DataFrame({"y": [0, 1, 1, 0], "p": [0.2, 0.7, 0.9, 0.4]}).to_excel(file, index=False)
    change_sheet(file, ("</sheetData>", "</sheet"))
    check_refusal(run("evaluate", file, "--label", "y"), "cannot be read as a spreadsheet")


def test_a_spreadsheet_without_the_reader(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "t.xlsx").write_bytes(b"PK\x03\x04")
    code, _, error = run("evaluate", tmp_path / "t.xlsx")
    assert (code, "requires openpyxl; run pip install openpyxl, or save it as CSV" in error) == (2, True)


@pytest.mark.parametrize("more", [(), ("--stream",)])
def test_names_of_columns(run: Run, tmp_path: Path, more: tuple[str, ...]) -> None:
    file = tmp_path / "t.csv"

    def told(**columns: object) -> str:
        pd.DataFrame(columns).to_csv(file, index=False)
        code, out, error = run("evaluate", file, "--metrics", "brier", "--json", *more)
        return error if code else f"{json.loads(out)['metrics'][0]['value']:.6f}"

    expected, hard = f"{cal.brier(Y, P):.6f}", (P > 0.5).astype(int)
    for label, prob in (("outcome", "y_pred_proba"), ("ground_truth", "predicted_probability")):
        assert told(**{label: Y, prob: P}) == expected
    assert told(y=Y, prediction=hard, proba=P) == expected  # classes beside probabilities
    assert (
        told(y=Y, target=Y, p=P) == "error: --label: could be any of the columns y, target; use --label y or another\n"
    )
    assert (
        told(y=Y, score=P, p=P) == "error: --prob: could be any of the columns score, p; use --prob score or another\n"
    )
    assert told(y=Y, prediction=hard).startswith("error: --prob: no column has a common name for probabilities")

"""What stands in a file comes back as it was written: other columns of `apply`, groups of `--by`, names of classes."""

import csv
import datetime
import decimal
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.calling import Run, read_json

RNG = np.random.default_rng(5)
SCORES = RNG.random(60).round(4)
EVENTS = RNG.random(60) < SCORES
HEADER = 'label,p_yes,p_no,flag,zip,price,"big, name",seen,note,hole,größe'
HOLES = ("", '""', "NULL", "na")
AWKWARD = [
    f"{'yes' if event else 'no'},{p},{1 - p:.4f},{'yes' if i % 2 else 'NO'},0{i:04d},{i}.10,3e5,"
    f'03/{i % 28 + 1:02d}/2026 02:05:00 PM,"say ""hi"", {i}\nnext line",{HOLES[i % 4]},é{i}'
    for i, (p, event) in enumerate(zip(SCORES, EVENTS, strict=True))
]


@pytest.fixture
def fitted(tmp_path: Path, run: Run) -> Path:
    """A calibrator of two named classes, fitted on other rows."""
    path, rows = tmp_path / "calibrator.json", tmp_path / "validation.csv"
    p = RNG.random(200)
    lines = [f"{'yes' if event else 'no'},{q},{1 - q}" for q, event in zip(p, RNG.random(200) < p**2, strict=True)]
    rows.write_text("label,p_yes,p_no\n" + "\n".join(lines))
    code, out, err = run("fit", rows, "--method", "platt", "--out", path)
    assert code == 0, err
    assert "positive class yes" in out
    return path


def without_last(text: str, fields: int, delimiter: str = ",") -> list[list[str]]:
    """The records of a text file without their last fields."""
    return [row[: len(row) - fields] for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)]


def test_apply_keeps_the_rows_that_fit_as_they_came(tmp_path: Path, fitted: Path, run: Run) -> None:
    file, out = tmp_path / "rows.csv.gz", tmp_path / "out.csv"
    file.write_bytes(gzip.compress("\n".join([HEADER, *AWKWARD]).encode()))
    assert run("apply", fitted, file, "--out", out, "--where", "flag AND price > 10")[0] == 0
    kept = [row for i, row in enumerate(AWKWARD) if i % 2 and i >= 10]
    assert without_last(out.read_text(encoding="utf-8"), 2) == without_last("\n".join([HEADER, *kept]), 0)


def test_apply_to_parquet_keeps_text_where_a_type_would_change_it(tmp_path: Path, fitted: Path, run: Run) -> None:
    file, out = tmp_path / "rows.csv", tmp_path / "out.parquet"
    extra = [f"{row},{i},2026-01-{i % 28 + 1:02d},{i / 4}" for i, row in enumerate(AWKWARD)]
    file.write_text("\n".join([f"{HEADER},count,day,quarter", *extra]), encoding="utf-8")
    assert run("apply", fitted, file, "--out", out)[0] == 0
    table = pq.read_table(out)
    first, second = table.slice(0, 2).to_pylist()
    assert (first["label"], second["flag"]) == ("yes" if EVENTS[0] else "no", "yes")
    assert (second["zip"], second["price"], second["big, name"]) == ("00001", "1.10", "3e5")
    assert second["seen"] == "03/02/2026 02:05:00 PM"
    assert table["hole"].to_pylist()[:4] == [None, "", "NULL", "na"]
    # What a type holds without loss has it, so that the file can be measured.
    assert (second["count"], second["day"], second["quarter"]) == (1, datetime.date(2026, 1, 2), 0.25)
    assert table["p_yes"].to_pylist() == SCORES.tolist()
    assert run("evaluate", out, "--metrics", "ece", "--probs", "p_*_calibrated")[0] == 0


def test_apply_to_parquet_keeps_the_types_of_parquet(tmp_path: Path, fitted: Path, run: Run) -> None:
    table = pa.table(
        {
            "label": ["yes", "no"],
            "p_yes": pa.array([0.25, 0.5], pa.float32()),
            "p_no": pa.array([0.75, 0.5], pa.float32()),
            "small": pa.array([1, 2], pa.int8()),
            "large": pa.array([1, 2**63], pa.uint64()),
            "money": pa.array([decimal.Decimal("1.10"), None], pa.decimal128(10, 2)),
            "moment": pa.array([datetime.datetime(2026, 1, 1), None], pa.timestamp("us", "UTC")),
            "day": [datetime.date(2026, 1, 1), None],
            "flag": [True, None],
            "bytes": [b"\x00\xff", None],
            "list": [[1], [2, 3]],
            "struct": [{"a": 1}, None],
            "text": ["", None],
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    assert run("apply", fitted, tmp_path / "in.parquet", "--out", tmp_path / "out.parquet")[0] == 0
    found = pq.read_table(tmp_path / "out.parquet")
    for name in table.column_names:
        assert found[name].to_pylist() == table[name].to_pylist(), name
        if name != "list":  # whose entries have another name
            assert found.schema.field(name).type == table.schema.field(name).type, name


def test_apply_to_text_of_another_kind_keeps_the_values(tmp_path: Path, fitted: Path, run: Run) -> None:
    (tmp_path / "a.csv").write_text('label,p,x\nyes,0.50,01\nno,0.25,"a"\n')
    (tmp_path / "b.csv").write_text("p,x,label\n0.750,1.10,yes\n")
    assert run("apply", fitted, tmp_path / "[ab].csv", "--out", tmp_path / "out.tsv")[0] == 0
    rows = [line.split("\t") for line in (tmp_path / "out.tsv").read_text().splitlines()]
    assert [row[:3] for row in rows] == [
        ["label", "p", "x"],
        ["yes", "0.50", "01"],
        ["no", "0.25", "a"],
        ["yes", "0.750", "1.10"],
    ]
    lines = [json.dumps({"label": "yes", "p": p, "code": "007", "at": "2026-01-05T10:00:00Z"}) for p in (0.2, 0.9)]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    assert run("apply", fitted, tmp_path / "rows.jsonl", "--out", tmp_path / "json.csv")[0] == 0
    assert (tmp_path / "json.csv").read_text().splitlines()[1].startswith("yes,0.2,007,2026-01-05T10:00:00Z,")


@pytest.mark.parametrize("stream", [[], ["--stream"]])
@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["yes", "no"], ["no", "yes"]),
        (["1.10", "1.2"], ["1.10", "1.2"]),
        (["3e5", "4e5"], ["3e5", "4e5"]),
        (["007", "08"], ["007", "08"]),
        (["10", "9"], None),
        (["1", "1.0"], ["1"]),
        (["TRUE", "FALSE"], ["FALSE", "TRUE"]),
        (["03/04/2026 02:05:00 PM", "03/14/2026 02:05:00 PM"], ["03/04/2026 02:05:00 PM", "03/14/2026 02:05:00 PM"]),
        (["2026-01-05T10:00:00Z", "2026-01-06T10:00:00Z"], ["2026-01-05T10:00:00Z", "2026-01-06T10:00:00Z"]),
    ],
)
def test_groups_are_called_as_they_are_written(
    tmp_path: Path, run: Run, stream: list[str], values: list[str], names: list[str] | None
) -> None:
    path = tmp_path / "rows.csv"
    rows = [f"{int(event)},{p},{values[i % 2]}" for i, (p, event) in enumerate(zip(SCORES, EVENTS, strict=True))]
    path.write_text("y,p,g\n" + "\n".join(rows))
    code, out, err = run("evaluate", path, "--metrics", "ece", "--by", "g", "--json", *stream)
    assert code == 0, err
    assert sorted(json.loads(out)["groups"]) == (names or sorted(values))
    code, out, _ = run("evaluate", path, "--metrics", "ece", "--by", "g", "--where", "p > 0.2", *stream)
    assert code == 0
    assert all(f"\n{name} " in out for name in names or values)


@pytest.mark.usefixtures("quick_windows")
@pytest.mark.parametrize(("values", "labels"), [(("no", "yes"), ("No", "YES")), (("0", "1"), ("false", "true"))])
def test_monitors_know_classes_and_groups_however_they_are_spelt(
    tmp_path: Path, run: Run, values: tuple[str, str], labels: tuple[str, str]
) -> None:
    def rows(words: tuple[str, str]) -> str:
        lines = [
            f"{words[event]},{p},{1 - p:.4f},{'yes' if i % 2 else 'no'},{i},2026-01-05"
            for i, (p, event) in enumerate(zip(SCORES, EVENTS.astype(int), strict=True))
        ]
        return "label,p_yes,p_no,flag,id,at\n" + "\n".join(lines)

    (tmp_path / "reference.csv").write_text(rows(values))
    (tmp_path / "new.csv").write_text(rows(labels))
    store = tmp_path / "store.db"
    asked = ("--every", "1d", "--by", "flag", "--resamples", "19")
    code, _, err = run("monitor", "init", store, "--reference", tmp_path / "reference.csv", *asked)
    assert code == 0, err
    code, _, err = run("monitor", "update", store, tmp_path / "new.csv", "--time", "at", "--id", "id", "--by", "flag")
    assert code in (0, 3), err
    found = read_json(run("monitor", "status", store, "--json"))
    assert found["labelled"] == 60
    assert sorted(str(group["group"]) for group in found["groups"]) == ["no", "yes"]
    assert found["windows"][0]["calibration"]["gap"] == pytest.approx(SCORES.mean() - EVENTS.mean(), abs=1e-3)


def test_numbers_with_a_space_or_a_sign_are_numbers(tmp_path: Path, run: Run) -> None:
    """They make a column of a CSV file text, and are read by every command that reads the rows."""
    (tmp_path / "p.csv").write_text("label,p\n1,0.5\n0, 0.4\n1,+0.75\n0,2e-1\n")
    code, out, err = run("evaluate", tmp_path / "p.csv", "--metrics", "brier", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["metrics"][0]["value"] == pytest.approx((0.25 + 0.16 + 0.0625 + 0.04) / 4)
    (tmp_path / "p.csv").write_text("label,p\n1,0.5\n0, 0.4\n1,O.75\n0,2e-1\n")
    assert "got the text 'O.75' on line 4" in run("evaluate", tmp_path / "p.csv")[2]

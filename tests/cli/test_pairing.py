"""Files of models are paired by the ids of their rows, and files of many rows are read as a stream for a report."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.reporting import summary
from tests.calling import Run

RNG = np.random.default_rng(1)
N = 400
OLD = RNG.random(N)
YES = (RNG.random(N) < OLD).astype(int)
NEW = np.clip(OLD + RNG.normal(0, 0.02, N), 0.001, 0.999)
QUICK = ("--metrics", "brier", "--no-recalibration")
IDS = np.array([f"{i:04d}" for i in range(N)])


def write(path: Path, order: Any, score: Any, label: Any = YES, ids: Any = IDS, name: str = "id") -> Path:
    frame = pd.DataFrame({name: np.asarray(ids)[order], "y": label[order], "p": score[order]})
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    return path


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return write(tmp_path / "old.csv", np.argsort(YES, kind="stable"), OLD)


def difference(run: Run, *arguments: Any) -> dict[str, Any]:
    code, printed, errors = run("report", *arguments, *QUICK, "--out", "-", "--as", "json")
    assert (code, errors) == (0, "")
    found: dict[str, Any] = json.loads(printed)["comparison"]["metrics"][0]["differences"][0]
    return found


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_rows_are_paired_by_their_ids(run: Run, old: Path, tmp_path: Path, suffix: str) -> None:
    mixed = RNG.permutation(N)
    within = mixed[np.argsort(YES[mixed], kind="stable")]  # the same labels as the first file, row by row
    found = [
        difference(run, old, write(tmp_path / f"new{place}.{suffix}", order, NEW))
        for place, order in enumerate((mixed, within, np.argsort(YES, kind="stable")))
    ]
    order = np.argsort(YES, kind="stable")
    models = {"old": OLD[order], "new": NEW[order]}
    theirs = cal.compare(YES[order], models, metric="brier", n_resamples=200, rng=0)["old", "new"]
    for each in found:
        assert (each["low"], each["high"]) == pytest.approx((theirs.low, theirs.high), rel=1e-9)


def test_the_column_of_ids_can_be_named(run: Run, old: Path, tmp_path: Path) -> None:
    order = RNG.permutation(N)
    other = write(tmp_path / "new.csv", order, NEW)
    for path in (old, other):
        path.write_text(path.read_text().replace("id,", "case,", 1))
    code, _, errors = run("report", old, other, *QUICK, "--out", "-")
    assert code == 2  # without ids the labels differ row by row
    assert "labels of 'old' and 'new' differ" in errors
    found = difference(run, old, other, "--id", "case")
    assert found["high"] - found["low"] < 0.01
    code, _, errors = run("report", old, other, "--id", "kase", "--out", "-")
    assert (code, "--id: unknown column 'kase'" in errors) == (2, True)


def twice(ids: Any) -> Any:
    changed = ids.copy()
    changed[1] = changed[0]
    return changed


def flipped(label: Any) -> Any:
    changed = label.copy()
    changed[7] = 1 - changed[7]
    return changed


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"label": flipped(YES)}, "id '0007' has different labels in"),
        ({"ids": twice(IDS)}, "id '0000' is in several rows of"),
        ({"ids": np.where(IDS == "0003", "x" * 100_000, IDS)}, f"id '{'x' * 40}...' is in"),
        ({"order": np.arange(1, N)}, "id '0000' is in"),
        ({"ids": np.where(IDS == "0003", "", IDS)}, "id is missing in a row of"),
    ],
)
def test_rows_that_do_not_match_are_refused(
    run: Run, old: Path, tmp_path: Path, changes: dict[str, Any], says: str
) -> None:
    other = write(tmp_path / "new.csv", **{"order": np.arange(N), "score": NEW, **changes})
    code, printed, errors = run("report", old, other, "--out", "-")
    assert (code, printed) == (2, "")
    assert errors.startswith("error: --id: ")
    assert says in errors
    assert errors.count("\n") == 1


def test_rows_with_missing_values_stay_paired(run: Run, tmp_path: Path) -> None:
    order = RNG.permutation(N)
    first = write(tmp_path / "old.csv", np.arange(N), np.where(np.arange(N) == 5, np.nan, OLD))
    other = write(tmp_path / "new.csv", order, np.where(np.arange(N) == 9, np.nan, NEW))
    found = difference(run, first, other, "--drop-missing")
    kept = ~np.isin(np.arange(N), (5, 9))
    models = {"old": OLD[kept], "new": NEW[kept]}
    theirs = cal.compare(YES[kept], models, metric="brier", n_resamples=200, rng=0)["old", "new"]
    assert (found["low"], found["high"]) == pytest.approx((theirs.low, theirs.high), rel=1e-9)


@pytest.mark.parametrize(
    ("suffix", "options"),
    [
        ("csv", []),
        ("parquet", ["--by", "region"]),
        ("csv", ["--by", "region, age/2"]),
        ("parquet", ["--pos-label", "1"]),
    ],
)
def test_many_rows_of_a_file_are_reported_from_a_sketch(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], suffix: str
) -> None:
    path = tmp_path / f"rows.{suffix}"
    frame = pd.DataFrame(
        {"churn": YES, "p": OLD, "region": np.array(["a", "b"])[np.arange(N) % 2], "age": np.arange(N)}
    )
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    arguments = ["report", path, "--label", "churn", "--metrics", "ece,nll", "--no-recalibration", *options]
    code, before, _ = run(*arguments, "--out", "-", "--as", "json")
    assert code == 0
    monkeypatch.setattr(summary, "MOST_ROWS", N - 1)
    code, printed, _ = run(*arguments, "--out", tmp_path / "r.json", "--fail-if", "ece > 0.9")
    assert code == 0
    rows, found = json.loads(before), json.loads((tmp_path / "r.json").read_text())
    sentence = (
        f"Computed from a sketch of {N} rows: scores are the means of its cells, which are at most 1/19,200 wide."
    )
    assert sentence in printed.splitlines()
    assert found["provenance"]["sketch"] == sentence
    assert rows["provenance"]["sketch"] == ""
    assert found["outcome"] == rows["outcome"] == "churn"
    assert [row["value"] for row in found["metrics"]["rows"]] == pytest.approx(
        [row["value"] for row in rows["metrics"]["rows"]], rel=1e-9
    )
    names = [[each["name"] for each in one["weaknesses"]["entries"]] for one in (rows, found)]
    assert sorted(names[0]) == sorted(names[1])


def test_percentages_of_many_rows_are_read_as_rows(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.csv"
    pd.DataFrame({"y": YES, "p": [f"{score:.1%}" for score in OLD]}).to_csv(path, index=False)
    monkeypatch.setattr(summary, "MOST_ROWS", N - 1)
    code, printed, _ = run("report", path, "--metrics", "ece", "--no-recalibration", "--out", "-")
    assert code == 0
    assert f"Computed from a sketch of {N} rows" in printed

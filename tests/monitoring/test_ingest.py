"""Deliveries to a monitor: every row and label is accounted for, and the same id and score are recognized however they are written."""

from __future__ import annotations

import json
import tracemalloc
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.errors import InputError
from calibrant.input.convert import as_entries
from calibrant.input.grouping import one_group_column
from calibrant.monitoring import monitor as monitoring
from calibrant.monitoring.ingest import read_ids, read_labels, reconcile
from calibrant.monitoring.monitor import Monitor
from calibrant.monitoring.windows import read_times
from tests.calling import Run, check_refusal, raises

RNG = np.random.default_rng(4)
SCORE = RNG.random(60)
YES = (RNG.random(60) < SCORE).astype(int)
UPPER = "A3BB189E-8BF9-3888-9912-ACE4E6543002"


@pytest.fixture
def monitor(tmp_path: Path) -> Monitor:
    return Monitor.create(tmp_path / "watch.db", reference=(YES, SCORE), every="1d", n_resamples=19, keep=1)


@pytest.fixture
def run(run: Run) -> Run:
    """A command of `monitor`."""
    return lambda *arguments: run("monitor", *arguments)


def test_every_row_is_added_repeated_or_pruned(monitor: Monitor) -> None:
    ids = [*range(20), *range(10), *range(20, 40)]
    first = monitor.update(None, SCORE[ids], when="2026-01-05", ids=ids)
    assert first.balance == {"rows": 50, "added": 40, "repeated": 10, "pruned": 0, "dropped_rows": 0}
    assert repr(first) == "50 rows: 40 added, 10 duplicates"
    # A known row may bring its label.
    labels = np.where(np.arange(40) < 30, YES[:40], np.nan)
    second = monitor.update(labels, SCORE[:40], when="2026-01-05", ids=range(40))
    assert (second.rows, second.added, second.repeated, second.labelled) == (40, 0, 40, 30)
    given = monitor.add_labels([*range(40), 0, 98, 99], [*YES[:39], None, YES[0], 1, None])
    assert given.balance == {
        "labels": 43,
        "labelled": 9,
        "revised": 0,
        "repeated": 31,
        "unknown": 1,
        "missing": 2,
        "pruned": 0,
    }
    monitor.add_labels([39], YES[39:40])
    monitor.update(YES[40:], SCORE[40:], when="2026-01-07", ids=range(40, 60))
    monitor.prune()
    third = monitor.update(YES, SCORE, when=np.repeat(["2026-01-05", "2026-01-07"], [40, 20]), ids=range(60))
    assert third.balance == {"rows": 60, "added": 0, "repeated": 20, "pruned": 40, "dropped_rows": 0}
    late = monitor.add_labels([0, 1, 59], [1, 1, YES[59]])
    assert (late.labels, late.pruned, late.repeated) == (3, 2, 1)
    assert json.loads(json.dumps(late.to_dict()))["labels"] == 3


def test_what_is_not_accounted_for_is_an_error_and_nothing_is_stored(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch, run: Run, tmp_path: Path
) -> None:
    plain = monitoring.take_in

    def lose_a_row(*arguments: Any) -> Any:
        taken = plain(*arguments)
        taken["added"] -= 1
        return taken

    monkeypatch.setattr(monitoring, "take_in", lose_a_row)
    with pytest.raises(InputError, match=r"rows: 60 were delivered, and 59 are accounted for \(59 added, 0 repeated"):
        monitor.update(YES, SCORE, when="2026-01-05", ids=range(60))
    pd.DataFrame({"p": SCORE, "at": "2026-01-05", "id": range(60)}).to_csv(tmp_path / "new.csv", index=False)
    code, _, err = run("update", monitor.path, tmp_path / "new.csv", "--time", "at", "--id", "id")
    assert (code, "60 were delivered, and 59 are accounted for" in err) == (2, True), err
    monkeypatch.undo()
    assert monitor.status().n == 0
    monkeypatch.setattr("calibrant.cli.arrivals._count", lambda table: 61)
    code, _, err = run("update", monitor.path, tmp_path / "new.csv", "--time", "at", "--id", "id")
    assert (code, "61 were delivered, and 60 are accounted for (60 read, 0 dropped)" in err) == (2, True), err
    with raises(InputError, "labels"):
        reconcile({"labels": 3, "labelled": 2})


def test_rows_of_a_file_are_balanced_with_those_that_are_dropped(run: Run, tmp_path: Path, monitor: Monitor) -> None:
    score = pd.Series(SCORE).mask(np.arange(60) % 20 == 0)
    table = pd.DataFrame({"p": score, "at": "2026-01-05", "id": np.arange(60) // 2 * 2})
    table["p"] = table.groupby("id")["p"].transform("last")
    table.loc[[0, 1, 20], "p"] = np.nan
    table.to_csv(tmp_path / "new.csv", index=False)
    command = ("update", monitor.path, tmp_path / "new.csv", "--time", "at", "--id", "id", "--drop-missing")
    code, out, _ = run(*command)
    assert (code, out.splitlines()[0]) == (0, "60 rows: 29 added, 28 duplicates, 3 dropped")
    assert out.splitlines()[1] == "3 of 60 rows dropped because of missing values (p 3)"
    found = json.loads(run(*command, "--json")[1])
    parts = [found[name] for name in ("rows", "added", "repeated", "pruned", "dropped_rows")]
    assert parts == [60, 0, 57, 0, 3]
    assert found["missing_values"]["dropped"] == 3


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ((7, "7", 7.0, "7.0", "7.000", " 7 ", Decimal("7.00"), np.int8(7)), True),
        ((UPPER, UPPER.lower(), UUID(UPPER)), True),
        (("01", "1"), False),
        (("1.10", "1.1"), False),
        (("a", "A"), False),
        (("12e5", "1200000"), False),
    ],
)
def test_spellings_of_an_id(written: tuple[Any, ...], same: bool) -> None:
    names = read_ids(list(written), None)
    assert names is not None
    assert len(set(names)) == (1 if same else len(written))


def test_ids_and_scores_that_come_again_in_another_format(run: Run, tmp_path: Path, monitor: Monitor) -> None:
    """float32 scores, DECIMAL ids and UUIDs from Parquet, then the same rows as text."""
    import duckdb

    score = SCORE.astype(np.float32)
    frame = pd.DataFrame({"p": score, "number": np.arange(60), "name": [f"{UPPER[:-2]}{row:02d}" for row in range(60)]})
    with duckdb.connect() as database:
        database.register("frame", frame)
        query = "SELECT p, CAST(number AS DECIMAL(12, 2)) AS number, name, DATE '2026-01-05' AS at FROM frame"
        database.execute(f"COPY ({query}) TO '{tmp_path / 'new.parquet'}'")
    for column in ("number", "name"):
        store = tmp_path / f"{column}.db"
        Monitor.create(store, reference=(YES, SCORE), every="1d", n_resamples=19)
        options = ("--prob", "p", "--time", "at", "--id", column)
        assert run("update", store, tmp_path / "new.parquet", *options)[1].startswith("60 rows: 60 added")
        text = frame.assign(name=frame["name"].str.lower(), at="2026-01-05")
        text.to_csv(tmp_path / "again.csv", index=False)  # as many digits as a float32 needs
        code, out, err = run("update", store, tmp_path / "again.csv", *options)
        assert (code, err) == (0, "")
        assert out.startswith("60 rows: 60 duplicates")
        text.assign(y=YES).to_csv(tmp_path / "labels.csv", index=False)
        assert run("labels", store, tmp_path / "labels.csv", "--id", column)[1].startswith("60 labels: 60 added")
        text.assign(p=score.astype(float) + 1e-6).to_csv(tmp_path / "other.csv", index=False)
        check_refusal(run("update", store, tmp_path / "other.csv", *options), "already stored with other values (score")


@pytest.mark.parametrize("id", ["7", " 7 ", "7.0", "+7.00", "07", " a ", "a\t", UPPER])
def test_an_id_has_one_spelling_in_python_and_in_files(run: Run, tmp_path: Path, monitor: Monitor, id: str) -> None:
    pd.DataFrame({"p": SCORE[:1], "at": ["2026-01-05"], "id": [id]}).to_csv(tmp_path / "rows.csv", index=False)
    run("update", monitor.path, tmp_path / "rows.csv", "--prob", "p", "--time", "at", "--id", "id")
    done = monitor.update(None, SCORE[:1], when="2026-01-05", ids=[id])
    assert (done.added, done.repeated) == (0, 1)
    assert monitor.add_labels([f" {id} "], [1]).labelled == 1


def test_one_long_text_does_not_make_all_of_them_long(tmp_path: Path) -> None:
    """An array of fixed-width text would take the length of the longest for each: 4 bytes x 100 000 x 6 000 = 2.4 GB."""
    n, long = 6_000, "x" * 100_000
    texts = [f"row {row}" for row in range(n - 1)] + [long]
    labels = ["no", "yes"] * (n // 2)
    tracemalloc.start()
    try:
        assert as_entries(texts).dtype == object
        assert read_ids(texts, n) == texts
        assert one_group_column(texts, n, "updates")[0] is not None
        assert read_labels(labels, n, k=2, classes=("no", "yes")).sum() == n // 2
        with pytest.raises(cal.errors.LabelError, match="labels must be among the classes"):
            read_labels([*labels[:-1], long], n, k=2, classes=("no", "yes"))
        with pytest.raises(InputError, match=f"in row {n - 1}"):
            read_times(["2026-01-05"] * (n - 1) + [long], n)
        monitor = Monitor.create(tmp_path / "long.db", reference=(YES, SCORE), every="1d", n_resamples=19)
        repeated = texts + texts[-2:]
        done = monitor.update(None, np.full(n + 2, 0.5), when="2026-01-05", ids=repeated)
        assert (done.added, done.repeated) == (n, 2)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6

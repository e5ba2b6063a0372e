"""Rows go, results stay: pruning changes no status, counts nothing twice, and takes nothing that waits for labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant.errors import ArgumentError
from calibrant.monitoring.monitor import Monitor
from calibrant.reporting.timeline import render_timeline
from tests.calling import Run
from tests.killing import each_connection, stopped_after
from tests.postgres import Server

RNG = np.random.default_rng(4)
DAYS, SIZE = 6, 40
SCORE = RNG.random((DAYS, SIZE)).round(3)
YES = (RNG.random((DAYS, SIZE)) < SCORE).astype(float)
QUICK: dict[str, Any] = {"n_resamples": 19, "drift_alpha": 0.4, "mature": 0.9}


def ids_of(day: int) -> list[str]:
    return [f"{day}-{row}-{'x' * 40}" for row in range(SIZE)]


def send(monitor: Monitor, day: int, labels: Any = None) -> Any:
    y = YES[day] if labels is None else labels
    ood = {"ood": SCORE[day] ** 2} if monitor.settings.ood else {}
    return monitor.update(y, SCORE[day], when=f"2026-01-{day + 1:02d}T12:00", ids=ids_of(day), **ood)


def filled(place: Any, **words: Any) -> Monitor:
    monitor = Monitor.create(place, reference=(YES.ravel(), SCORE.ravel()), **{"every": "1d", **QUICK, **words})
    for day in range(DAYS):
        send(monitor, day)
    return monitor


def stored(monitor: Monitor) -> dict[int, int]:
    with monitor._store.read() as db:
        return db.count_rows()


@pytest.mark.parametrize("where", ["file", "server"])
def test_results_stay_and_nothing_is_counted_twice(tmp_path: Path, where: str, request: pytest.FixtureRequest) -> None:
    server: Server | None = request.getfixturevalue("postgres") if where == "server" else None
    place = tmp_path / "watch.db" if server is None else server.store("pruned")
    monitor = filled(place, keep="2d", ood=SCORE.ravel() ** 2)
    before, page = monitor.status().to_json(), render_timeline(monitor.status())
    told = monitor.prune(dry_run=True)
    assert (told.rows, told.windows, told.kept, told.dry_run) == (
        120,
        ("2026-01-01", "2026-01-02", "2026-01-03"),
        120,
        True,
    )
    assert sum(stored(monitor).values()) == 240
    done = monitor.prune()
    assert (done.rows, done.windows, done.kept) == (told.rows, told.windows, told.kept)
    monitor = Monitor.open(place)
    monitor.check()
    assert monitor.status().to_json() == before
    assert render_timeline(monitor.status()) == page
    again = send(monitor, 0)
    assert (again.added, again.labelled, again.pruned) == (0, 0, 40)
    labels = monitor.add_labels([*ids_of(1)[:3], *ids_of(4)[:1], "new"], [0, 1, 0, 1 - YES[4, 0], 1])
    assert (labels.pruned, labels.unknown, labels.revised, labels.labelled) == (3, 1, 1, 0)
    assert "5 labels: 1 corrected, 1 with unknown ids, kept for their predictions, 3 of pruned rows, ignored" in repr(
        labels
    )
    status = monitor.status()
    assert "Labels of pruned predictions, ignored: 3." in status.notes
    assert (status.n, status.total_windows) == (240, 6)
    late = monitor.update([1], [0.5], when="2026-01-01", ids=["late"], ood=[0.5])  # a new row of a pruned window
    assert (late.added, late.late_rows, monitor.status().windows[0].n) == (1, 1, 41)
    assert (monitor.prune().rows, monitor.prune().rows) == (1, 0)


def test_the_file_shrinks(tmp_path: Path) -> None:
    monitor = Monitor.create(tmp_path / "watch.db", reference=(YES.ravel(), SCORE.ravel()), every="1d", **QUICK)
    for day in range(3):
        ids = [f"{day}-{row}-{'x' * 60}" for row in range(4000)]
        p = np.resize(SCORE, 4000)
        monitor.update(np.resize(YES, 4000), p, when=f"2026-01-0{day + 1}", ids=ids)
    done = monitor.prune(1)
    size = (tmp_path / "watch.db").stat().st_size
    assert (done.rows, done.size_after) == (8000, size)
    assert done.size_after < 0.6 * done.size_before


def test_what_waits_for_labels_is_kept(tmp_path: Path) -> None:
    monitor = filled(tmp_path / "a.db", horizon="4d")
    some = np.where(np.arange(SIZE) == 0, np.nan, YES[0])  # 39 of 40 labels: the window is tested, and one row waits
    monitor = Monitor.create(
        tmp_path / "b.db", reference=(YES.ravel(), SCORE.ravel()), every="1d", horizon="4d", **QUICK
    )
    for day in range(3):
        send(monitor, day, some if day == 0 else None)
    done = monitor.prune(0 + 1)
    assert (done.windows, done.waiting) == (("2026-01-02",), ("2026-01-01",))
    assert monitor.add_labels(ids_of(0)[:1], YES[0, :1]).labelled == 1
    assert monitor.prune(1).windows == ("2026-01-01",)
    # Without a horizon, a label is never too late.
    forever = Monitor.create(tmp_path / "d.db", reference=(YES.ravel(), SCORE.ravel()), every="1d", **QUICK)
    for day in range(3):
        send(forever, day, some if day == 0 else None)
    for told in (forever.prune(1, dry_run=True), forever.prune(1)):
        assert (told.rows, told.kept, told.waiting) == (79, 41, ("2026-01-01",))
        assert told.windows == ("2026-01-01", "2026-01-02")
    assert forever.add_labels(ids_of(0)[:2], YES[0, :2]).labelled == 1
    assert (forever.prune(1).rows, forever.status().windows[0].labelled) == (1, SIZE)
    # Without labels nothing is tested, and nothing is removed, however old.
    waiting = Monitor.create(tmp_path / "c.db", reference=(YES.ravel(), SCORE.ravel()), every="1d", **QUICK)
    for day in range(3):
        send(waiting, day, np.full(SIZE, np.nan))
    assert waiting.prune("1d").rows == 0
    assert waiting.prune(1).waiting == ("2026-01-01", "2026-01-02")


def test_windows_of_rows_and_rows_without_ids(tmp_path: Path) -> None:
    monitor = Monitor.create(tmp_path / "a.db", reference=(YES.ravel(), SCORE.ravel()), every=SIZE, keep=2, **QUICK)
    for day in range(DAYS):
        monitor.update(YES[day], SCORE[day], ids=ids_of(day))
    done = monitor.prune()
    assert (done.rows, done.windows[-1], done.kept) == (160, "rows 121-160", 80)
    assert monitor.update(YES[0], SCORE[0], ids=ids_of(0)).pruned == SIZE
    assert monitor.status().n == DAYS * SIZE
    plain = Monitor.create(tmp_path / "b.db", reference=(YES.ravel(), SCORE.ravel()), every=SIZE, **QUICK)
    for day in range(2):
        plain.update(YES[day], SCORE[day])
    assert repr(plain.prune(1)).startswith("No rows to remove; 0 remain; size ")
    for keep, message in (("90d", "must be a number of windows; got '90d'"), (0, "keep"), (None, "is required, since")):
        with pytest.raises(ArgumentError, match=message):
            plain.prune(keep)


@pytest.mark.parametrize("portion", [100_000, 33])
def test_interrupted_at_any_step_rows_are_there_or_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, portion: int
) -> None:
    """The database stops after more and more steps of pruning and of the shrinking after it."""
    monkeypatch.setattr("calibrant.monitoring.retention.PORTION", portion)
    monitor = filled(tmp_path / "watch.db", keep="2d")
    before, rows, failed = monitor.status().to_json(), set(), 0
    for turn in range(200):
        with each_connection(stopped_after(turn * (turn + 1) // 2 + 1, 20)):
            try:
                monitor.prune()
                break
            except OSError:
                failed += 1
        monitor.check()
        rows.add(sum(stored(monitor).values()))
        with monitor._store.read() as db:
            pruned = db.is_pruned([name for day in range(DAYS) for name in ids_of(day)]).sum()
        assert pruned == 240 - sum(stored(monitor).values())
    assert rows <= {240 - min(120, portion * part) for part in range(5)}
    assert failed > 3
    assert sum(stored(monitor).values()) == 120
    assert monitor.status().to_json() == before
    assert sum(send(monitor, day).pruned for day in range(DAYS)) == 120


def test_the_command(tmp_path: Path, run: Run) -> None:
    filled(tmp_path / "watch.db")

    def prune(*words: str) -> tuple[int, str, str]:
        return run("monitor", "prune", tmp_path / "watch.db", *words)

    assert prune()[0] == 2
    assert prune("--keep", "2 days")[0] == 2
    code, out, _ = prune("--keep", "2d", "--dry-run")
    assert (code, out) == (0, "120 rows of 3 windows (2026-01-01 to 2026-01-03) would be removed; 120 remain\n")
    assert json.loads(prune("--keep", "2d", "--json")[1])["rows"] == 120
    assert prune("--keep", "5")[1].startswith("No rows to remove; 120 remain; size 0.")


def test_a_dry_run_writes_nothing_and_rows_go_in_portions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = filled(tmp_path / "watch.db")
    with monitor._store.write() as db:  # as if the last update had been killed before the comparisons
        db.connection.execute("UPDATE windows SET examined = 0")

    def tables() -> list[Any]:
        with monitor._store.read() as db:
            return [db.connection.execute(f"SELECT * FROM {name}").fetchall() for name in ("windows", "parts", "rows")]

    before = tables()
    told = monitor.prune(1, dry_run=True)
    assert tables() == before
    monkeypatch.setattr("calibrant.monitoring.retention.PORTION", 2 * SIZE)
    done = monitor.prune(1)
    assert (
        (told.rows, told.windows) == (done.rows, done.windows) == (200, tuple(f"2026-01-0{day}" for day in range(1, 6)))
    )
    with monitor._store.read() as db:
        assert db.is_pruned([name for day in range(DAYS) for name in ids_of(day)]).sum() == 200

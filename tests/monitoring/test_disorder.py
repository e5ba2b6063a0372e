"""Weeks of deliveries with every disorder end with the state of the same rows in clean order, bit for bit, in both stores."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import InputError
from calibrant.monitoring.ingest import group_key
from calibrant.monitoring.monitor import Monitor
from tests.postgres import Server

ZONES = ("+00:00", "+05:30", "-08:00", "+14:00", "")
SETTINGS: dict[str, Any] = {
    "every": cal.monitoring.window_rule("1d", time_zone="Europe/Berlin"),
    "mature": 1.0,
    "n_resamples": 19,
    "drift_alpha": 0.4,
    "run_length": 20,
}


class Row(NamedTuple):
    id: str
    day: int
    time: datetime
    window: str
    group: str
    score: float
    label: int


def window_of(time: datetime) -> str:
    """The day of a moment in Berlin, by the calendar of the standard library."""
    return time.astimezone(ZoneInfo("Europe/Berlin")).date().isoformat()


def rows_of(rng: np.random.Generator, start: str, days: int, size: int) -> list[list[Row]]:
    """The true rows of each day; calibration is lost in the second half, and groups come and go."""
    first = datetime.fromisoformat(start).replace(tzinfo=UTC)
    found: list[list[Row]] = []
    for day in range(days):
        groups = ["a", "b"] + ["c"] * (2 <= day % 9 < 6) + ["d"] * (day >= 4) + ["é"] * (day == 7)
        moments = np.sort(rng.integers(0, 86_400_000_000, size)).tolist()
        score = rng.beta(2, 3, size).round(4)
        shown = score if day < days // 2 else score**0.4
        yes = (rng.random(size) < shown).astype(int)
        rows = []
        for i in range(size):
            time = first + timedelta(days=day, microseconds=moments[i])
            # The newest group of a day comes with its first row.
            group = groups[-1] if i == 0 else groups[int(rng.integers(len(groups)))]
            rows.append(Row(f"{day}-{i}", day, time, window_of(time), group, float(score[i]), int(yes[i])))
        found.append(rows)
    return found


def written(rng: np.random.Generator, time: datetime) -> str:
    """The same moment in one of several zones; without a zone it is in UTC."""
    zone = ZONES[int(rng.integers(len(ZONES)))]
    if not zone:
        return time.replace(tzinfo=None).isoformat()
    return time.astimezone(datetime.fromisoformat(f"2026-01-01T00:00{zone}").tzinfo).isoformat()


def send(monitor: Monitor, rows: list[Row], labels: list[float], when: list[str], **words: Any) -> Any:
    columns = {"ids": [row.id for row in rows], "groups": [row.group for row in rows]}
    return monitor.update(labels, [row.score for row in rows], when=when, **columns, **words)


def run_clean(monitor: Monitor, days: list[list[Row]]) -> None:
    for rows in days:
        send(monitor, rows, [row.label for row in rows], [row.time.isoformat() for row in rows], latest=None)


def run_disordered(monitor: Monitor, days: list[list[Row]], rng: np.random.Generator, prune: bool) -> Counter[str]:
    """Deliver the rows with every disorder; gives how often each occurred."""
    seen: Counter[str] = Counter()
    everything = [row for rows in days for row in rows]
    last = {row.window: row.id for row in everything}  # its label comes last, and only then is the window complete
    due: dict[int, list[Row]] = {}
    labels: dict[int, list[tuple[str, int]]] = {}
    known: dict[str, float] = {}
    for row in everything:
        late = int(rng.integers(1, 4)) if rng.random() < 0.1 and not row.id.endswith("-0") else 0
        due.setdefault(row.day + (0 if row.id == last[row.window] else late), []).append(row)
        kind = rng.random()
        if row.id == last[row.window]:
            labels.setdefault(row.day + 7, []).append((row.id, row.label))
        elif kind < 0.3:
            known[row.id] = row.label
        elif kind < 0.4:
            labels.setdefault(row.day - 1, []).append((row.id, row.label))  # before the prediction
        elif kind < 0.5:
            labels.setdefault(row.day + 2, []).append((row.id, 1 - row.label))  # wrong at first
            labels.setdefault(row.day + 4, []).append((row.id, row.label))
        else:
            labels.setdefault(row.day + int(rng.integers(0, 5)), []).append((row.id, row.label))
    sent: list[Row] = []
    for day in range(-1, len(days) + 8):
        rows = due.get(day, [])
        if rows:
            # New groups in the order of their days, the others in any order.
            rows = [
                rows[i] for i in sorted(range(len(rows)), key=lambda i: (not rows[i].id.endswith("-0"), rng.random()))
            ]
            again = [sent[i] for i in rng.integers(0, len(sent), 5).tolist()] if sent else []
            batch = rows + again + rows[:2]
            texts = [written(rng, row.time) for row in batch]
            values = [known.get(row.id, np.nan) for row in batch]
            ahead = timedelta(days=1 + max(0, day - len(days) + 1))
            latest = (days[min(day, len(days) - 1)][-1].time + ahead).isoformat()
            if day % 3 == 1:  # a row of next year comes with the others, and nothing of the delivery is added
                wrong = rows[0]._replace(id=f"future-{day}")
                next_year = (wrong.time + timedelta(days=365)).isoformat()
                with pytest.raises(InputError, match="is after the latest accepted time"):
                    send(monitor, [*batch, wrong], [*values, 1], [*texts, next_year], latest=latest)
                seen["refused"] += 1
            done = send(monitor, batch, values, texts, latest=latest)
            for name in ("late_rows", "repeated", "pruned"):
                seen[name] += getattr(done, name)
            sent += rows
        found = labels.get(day, [])
        order = rng.permutation(len(found)).tolist()
        for part in (order, order[:3]):  # some labels twice
            if part:
                done = monitor.add_labels([found[i][0] for i in part], [found[i][1] for i in part])
                seen["early"] += done.unknown
                seen["revised"] += done.revised
        if prune and day % 10 == 9:
            seen["rows pruned"] += monitor.prune("12d").rows
    return seen


def state(monitor: Monitor) -> dict[str, Any]:
    """All that does not depend on the order of arrival: no alarms of scores, which are raised when a window closes."""
    with monitor._store.read() as db:
        ask = db.connection.execute
        return {
            "parts": ask("SELECT place, stream, n, labelled, scores, outcomes FROM parts ORDER BY place, stream").fetchall(),
            "evidence": ask("SELECT place, stream, digest, labelled, log_value, log_detector FROM evidence ORDER BY sequence").fetchall(),
            "streams": ask("SELECT stream, number, declared, eprocess, detector FROM streams ORDER BY number").fetchall(),
            "alarms": ask("SELECT place, stream, kind, evidence, words, onset FROM events WHERE kind IN ('calibration', 'change') ORDER BY sequence").fetchall(),
            "windows": ask("SELECT place, closed, tested FROM windows ORDER BY place").fetchall(),
            "rows": ask("SELECT id, place, stream, score, target, label FROM rows ORDER BY id").fetchall(),
            "early": db.count_early(),
        }  # fmt: skip


def check(places: list[Any], start: str, days: int, size: int, seed: int, prune: bool = False) -> None:
    rng = np.random.default_rng(seed)
    truth = rows_of(rng, start, days, size)
    score = rng.beta(2, 3, 500)
    reference = cal.Predictions((rng.random(500) < score).astype(int), score, groups=np.resize(["a", "b"], 500))
    end = (truth[-1][-1].time + timedelta(days=8)).isoformat()
    found = []
    for number, place in enumerate(places):
        monitor = Monitor.create(place, reference=reference, **SETTINGS)
        if number == 0:
            run_clean(monitor, truth)
        else:
            seen = run_disordered(monitor, truth, np.random.default_rng(seed + 1), prune)
            for name in ("late_rows", "repeated", "refused", "early", "revised"):
                assert seen[name], name
            assert not prune or (seen["rows pruned"] and seen["pruned"])
        monitor.advance(end)
        monitor.check()
        found.append(state(monitor))
    everything = [row for rows in truth for row in rows]
    names = {row.window for row in everything}
    parts = {monitor.settings.rule.name(part[0]): part[2:4] for part in found[-1]["parts"] if part[1] == "null"}
    assert parts == {name: (n, n) for name, n in Counter(row.window for row in everything).items()}
    assert {(closed, tested) for _, closed, tested in found[-1]["windows"]} == {(1, 1)}
    for window in sorted(names)[:: max(1, len(names) // 6)]:
        for group in (None, "a", "c"):
            own = [row for row in everything if row.window == window and group in (None, row.group)]
            if own:
                sketch = monitor.sketch(window, group)
                assert sketch == cal.Sketch.of([row.label for row in own], [row.score for row in own])
    assert found[0]["alarms"]
    assert group_key("é") in [stream[0] for stream in found[0]["streams"]]
    for other in found[1:]:
        for name, content in found[0].items():
            if name == "rows" and prune:
                assert set(other[name]) < set(content)
            else:
                assert other[name] == content, name


def test_ten_days_with_every_disorder(tmp_path: Path) -> None:
    check([tmp_path / "clean.db", tmp_path / "disordered.db"], "2026-03-25", 10, 25, 1)


@pytest.mark.deep
@pytest.mark.parametrize("start", ["2025-02-25", "2025-09-20"])
@pytest.mark.parametrize("prune", [False, True])
def test_sixty_days_with_every_disorder_in_both_stores(
    tmp_path: Path, postgres: Server, start: str, prune: bool
) -> None:
    server = postgres.store(f"days_{start.replace('-', '_')}_{prune}")
    check([tmp_path / "clean.db", tmp_path / "disordered.db", server], start, 60, 1000, 2, prune)

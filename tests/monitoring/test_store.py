"""The store of a monitor: one file, whole transactions, and what is written comes back as it was."""

from __future__ import annotations

import math
import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import FileError, InputError
from calibrant.monitoring.alarms import complete_labels
from calibrant.monitoring.ingest import minus, read_ids, sketch_of
from calibrant.monitoring.labelfree import top_view
from calibrant.monitoring.queries import Part
from calibrant.monitoring.store import Store
from calibrant.monitoring.windows import WindowRule, read_time, read_times, window_rule

RNG = np.random.default_rng(2)
SCORE = RNG.random(200).round(2)
YES = (RNG.random(200) < SCORE).astype(int)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "watch.db", {"settings": {"a": 1}}, b"reference")


def test_what_is_written_comes_back(store: Store) -> None:
    scores, outcomes = sketch_of(SCORE, None, "binary"), sketch_of(SCORE[:150], YES[:150], "binary")
    part = Part(3, '"a"', 200, 150, scores, outcomes, None, {"x": 0.1})
    with store.write() as db:
        db.set_meta("clock", 7)
        db.save_part(part)
        db.add_rows([("id", 3, '"a"', 0.1 + 0.2, 1, -1)])
        assert db.add_event(3, '"a"', "scores", math.inf, "words")
        assert not db.add_event(3, '"a"', "scores", 1.0, "again")
    with Store.open(store.path).read() as db:
        assert db.meta("clock") == 7
        assert db.reference() == b"reference"
        assert db.part(3, '"a"', "binary") == part
        assert db.part(4, '"a"', "binary").n == 0
        known = db.find_rows(["other", "id"])
        assert [part.tolist() for part in known] == [[1], [3], ['"a"'], [0.1 + 0.2], [1], [-1], [[]]]
        assert db.events() == [(1, 3, '"a"', "scores", math.inf, "words", None, False)]


def test_an_error_inside_a_transaction_leaves_nothing(store: Store) -> None:
    def fail() -> None:
        with store.write() as db:
            db.set_meta("clock", 7)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with store.read() as db:
        assert db.meta("clock") is None


def test_ids_are_data(store: Store) -> None:
    hostile = ["'; DROP TABLE rows; --", '"', "\x00", "é", ""]
    with store.write() as db:
        db.add_rows((name, 0, "null", 0.5, 1, 0) for name in hostile)
    with store.read() as db:
        assert db.find_rows(hostile).row.tolist() == list(range(5))


def test_a_second_writer_waits(store: Store) -> None:
    order = []

    def second() -> None:
        with store.write() as db:
            order.append("second")
            db.set_meta("clock", 2)

    with store.write() as db:
        other = threading.Thread(target=second)
        other.start()
        other.join(0.2)
        order.append("first")
        db.set_meta("clock", 1)
    other.join()
    assert order == ["first", "second"]
    with store.read() as db:
        assert db.meta("clock") == 2


def test_create_refuses_a_file_and_takes_over_an_unfinished_one(store: Store, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"watch\.db: already exists; choose another name"):
        Store.create(store.path, {}, b"")
    (tmp_path / "begun.db").touch()
    assert Store.create(tmp_path / "begun.db", {"settings": 1}, b"").path.exists()
    with pytest.raises(FileError, match=r"none\.db: no such file; create it with `calibrant monitor init`"):
        Store.open(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


def test_sketches_add_and_take_away_to_the_same_bytes() -> None:
    whole = sketch_of(SCORE, YES, "binary")
    assert whole == cal.Sketch.of(YES, SCORE)
    for seed in range(20):
        rows = np.random.default_rng(seed).random(200) < 0.3
        left = minus(whole, sketch_of(SCORE[rows], YES[rows], "binary"))
        assert left.to_bytes() == cal.Sketch.of(YES[~rows], SCORE[~rows]).to_bytes()
    assert minus(whole, whole) == cal.Sketch.empty("binary")
    with pytest.raises(InputError, match="rows that are not in the sketch"):
        minus(sketch_of(SCORE[:1], YES[:1], "binary"), whole)
    with pytest.raises(InputError, match="rows that are not in the sketch"):
        minus(sketch_of(np.array([0.5]), np.array([0]), "binary"), sketch_of(np.array([0.5]), np.array([1]), "binary"))


def test_missing_labels_counted_as_negative() -> None:
    known = np.arange(200) < 120
    found = complete_labels(sketch_of(SCORE, None, "binary"), sketch_of(SCORE[known], YES[known], "binary"))
    assert found == cal.Sketch.of(np.where(known, YES, 0), SCORE)


def test_confidence_in_the_predicted_class() -> None:
    found = top_view(sketch_of(SCORE, YES, "binary"))
    top = cal.Sketch.of(YES, SCORE, lens="top_label").view()
    assert found.mean(found.score) == pytest.approx(top.mean(top.score), abs=1e-12)
    assert found.mean(found.outcome) == pytest.approx(top.mean(top.outcome), abs=1e-12)
    assert top_view(sketch_of(SCORE, YES, "class:cat")) is None


@pytest.mark.parametrize(
    ("every", "when", "window"),
    [
        ("1d", "2026-03-01T23:59:59.999999", "2026-03-01"),
        ("1d", "2026-03-02T00:00", "2026-03-02"),
        ("1d", "2026-03-02T00:30+01:00", "2026-03-01"),
        ("1h", "2026-03-01T23:59", "2026-03-01T23:00Z"),
        ("30s", "2026-03-01T23:59:31", "2026-03-01T23:59:30Z"),
        ("1w", "2026-03-01", "2026-02-23"),
        ("1w", "2026-03-02", "2026-03-02"),
        ("1d", "1969-12-31T23:59", "1969-12-31"),
    ],
)
def test_windows_are_half_open_spans_of_utc(every: str, when: str, window: str) -> None:
    rule = window_rule(every)
    place = int(rule.place_of(np.array([read_time(when)]))[0])
    assert rule.name(place) == window
    start, end = rule.span(place)
    assert start <= read_time(when) < end
    assert int(rule.place_of(np.array([end]))[0]) == place + 1
    assert WindowRule.of_dict(rule.to_dict()) == rule


@pytest.mark.parametrize(
    ("zone", "every", "when", "window", "hours"),
    [
        ("Europe/Berlin", "1d", "2026-03-28T22:59:59Z", "2026-03-28", 24),
        ("Europe/Berlin", "1d", "2026-03-28T23:00Z", "2026-03-29", 23),
        ("Europe/Berlin", "1d", "2026-03-29T21:59:59.999999Z", "2026-03-29", 23),
        ("Europe/Berlin", "1d", "2026-03-29T22:00Z", "2026-03-30", 24),
        ("Europe/Berlin", "1d", "2026-10-25T00:30Z", "2026-10-25", 25),  # the hour from 2 to 3 comes twice
        ("Europe/Berlin", "1d", "2026-10-25T01:30Z", "2026-10-25", 25),
        ("Europe/Berlin", "1d", "2026-10-25T23:00Z", "2026-10-26", 24),
        ("Europe/Berlin", "1w", "2026-03-29T21:59Z", "2026-03-23", 167),
        ("Europe/Berlin", "1w", "2026-03-29T22:00Z", "2026-03-30", 168),
        ("America/Santiago", "1d", "2026-09-06T04:00Z", "2026-09-06", 23),  # its midnight is skipped
        ("America/Havana", "1d", "2026-11-01T04:30Z", "2026-11-01", 25),  # its first hour comes twice
        ("Pacific/Apia", "1d", "2011-12-30T10:00Z", "2011-12-31", 24),  # 30 December 2011 was left out
        ("Pacific/Kiritimati", "1d", "2026-01-01T10:00Z", "2026-01-02", 24),
        ("UTC", "1d", "1969-12-31T23:59", "1969-12-31", 24),
    ],
)
def test_days_of_a_time_zone(zone: str | None, every: str, when: str, window: str, hours: int) -> None:
    rule = window_rule(every, time_zone=zone)
    times = np.array([read_time(when)])
    place = int(rule.place_of(times)[0])
    start, end = rule.span(place)
    assert (rule.name(place), (end - start) / 3.6e9) == (window, hours)
    assert start <= times[0] < end
    assert rule.place_of(np.array([start - 1, start, end - 1, end])).tolist()[1:3] == [place, place]
    before, after = rule.place_of(np.array([start - 1, end])).tolist()
    assert before < place < after
    assert (rule.span(before)[1], rule.span(after)[0]) == (start, end)
    assert WindowRule.of_dict(rule.to_dict()) == rule


def test_times_in_many_forms_agree() -> None:
    import datetime

    import pandas as pd

    wanted = [1_772_323_200_000_000, 1_772_326_800_000_000]
    texts = ["2026-03-01T00:00", "2026-03-01T01:00"]
    zoned = pd.Series(pd.to_datetime(texts)).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    forms = [
        texts,
        np.array(texts, "datetime64[s]"),
        np.array(texts, "datetime64[ns]"),
        [datetime.datetime(2026, 3, 1), datetime.datetime(2026, 3, 1, 1)],
        pd.to_datetime(pd.Series(texts)),
        zoned,
        list(zoned),
    ]
    for form in forms:
        assert read_times(form, 2).tolist() == wanted
    assert read_times(pd.Timestamp(texts[0]), 2).tolist() == [wanted[0]] * 2
    assert read_times(datetime.date(2026, 3, 1), 1).tolist() == wanted[:1]
    assert read_time("20260301") == wanted[0]


def test_ids_are_read_as_text() -> None:
    assert read_ids(np.array([7.0, 2.0**53 - 1]), 2) == ["7", "9007199254740991"]
    assert read_ids([2**64 - 1, 2**64 - 2], 2) == ["18446744073709551615", "18446744073709551614"]


def test_a_status_does_not_need_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = cal.Monitor.create(tmp_path / "watch.db", reference=(YES, SCORE), every="1d", n_resamples=19)
    for day in (1, 2):
        monitor.update(YES, SCORE, when=f"2026-01-0{day}", ids=[f"{day}-{row}" for row in range(200)])
    with monitor._store.write() as db:  # as if the last update had been killed before the comparisons
        db.connection.execute("UPDATE windows SET examined = 0")
        db.connection.execute("UPDATE parts SET drift = NULL, measured = NULL")
    monkeypatch.setattr("calibrant.monitoring.databases.PATIENCE", 0.05)
    other = sqlite3.connect(tmp_path / "watch.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    locked = monitor.status().to_json()
    with pytest.raises(FileError, match="another process was writing"):
        monitor.acknowledge()
    other.close()
    assert monitor.status().to_json() == locked

"""Messages about alarms, kept in the store until they are sent.

An alarm is committed with the update that raises it, and its message is derived from the stored alarm: a process that is killed between
the two loses nothing, since the next run derives the same message with the same id. A message is marked as sent after it was sent, so that a
kill between the two sends it twice, with the same id.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from ..util.results import plain_value
from .ingest import group_key
from .monitor import Monitor
from .queries import Transaction
from .sequential import EProcess
from .status import Alarm, alarms_of, stories_of
from .store import Store
from .windows import SECOND, time_text

__all__ = ["Channels", "count_waiting", "deliver", "queue_alarms"]

Channels = Mapping[str, Callable[[dict[str, Any]], str | None]]
"""A function for each channel that sends a message or raises `AlertError`; it may return a note about what is wrong nevertheless."""

# Made when they are first needed: older stores do not have them.
TABLES = (
    "CREATE TABLE IF NOT EXISTS alerted (story TEXT PRIMARY KEY, level REAL NOT NULL, times INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS outbox (id TEXT NOT NULL, channel TEXT NOT NULL, body TEXT NOT NULL, state INTEGER NOT NULL, "
    "attempts INTEGER NOT NULL, due INTEGER NOT NULL, problem TEXT, PRIMARY KEY (id, channel))",
)
WAITING, SENT, GIVEN_UP = 0, 1, 2
ATTEMPTS = 10
"""Attempts before a message is given up: at least five days, with the waits below."""
FIRST_WAIT, LONGEST_WAIT = 60 * SECOND, 24 * 3600 * SECOND
LEASE = 300 * SECOND
"""Time in which no other process sends a message that one has begun to send; longer than any channel takes."""
LARGEST = 1e6


class AlertError(Exception):
    """A message could not be sent; its text contains no address and no secret."""


def queue_alarms(monitor: Monitor, name: str, owner: str | None, channels: Channels, now: int) -> int:
    """Put one message about the open alarms that are new or worse into the outbox; returns the number of these alarms.

    Alarms of one kind, group, score and onset are one, as in the status. It is worse when its e-value (or one over its p-value) has been
    squared since the last message, so that a lasting loss of calibration is repeated ever more rarely.
    """
    with monitor._store.read() as db:
        if not _news(db, monitor):
            return 0
    with monitor._store.write() as db:
        for statement in TABLES:
            db.connection.execute(statement)
        news = _news(db, monitor)  # another process may have been faster
        if not news:
            return 0
        stories = [(story, times) for story, _, _, times in news]
        body = _message(name, owner, [(alarm, times) for _, _, alarm, times in news], stories, now)
        row = (body["id"], json.dumps(body, allow_nan=False), WAITING, 0, now)
        for channel in channels:
            db.connection.execute(
                "INSERT INTO outbox (id, channel, body, state, attempts, due) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (row[0], channel, *row[1:]),
            )
        for story, level, _, times in news:
            db.connection.execute(
                "INSERT INTO alerted (story, level, times) VALUES (?, ?, ?) "
                "ON CONFLICT (story) DO UPDATE SET level = excluded.level, times = excluded.times",
                (story, level, times + 1),
            )
    return len(news)


def _news(db: Transaction, monitor: Monitor) -> list[tuple[str, float, Alarm, int]]:
    """Open alarms to be sent: story, level, first alarm, and how often it was sent before."""
    stories = stories_of(alarm for alarm in alarms_of(db, monitor.settings) if not alarm.acknowledged)
    if not stories:
        return []
    sent = dict[str, tuple[float, int]]()
    if _has_tables(db):
        rows = db.connection.execute("SELECT story, level, times FROM alerted").fetchall()
        sent = {story: (level, times) for story, level, times in rows}
    streams = db.streams()
    found = []
    for alarms in stories:
        first = alarms[0]
        story = json.dumps([first.number, first.kind, first.score, group_key(first.group), first.window, first.onset])
        stream = streams.get(group_key(first.group))
        level = _level(alarms, None if stream is None else EProcess.of_dict(stream.eprocess).log_value)
        before, times = sent.get(story, (0.0, 0))
        if not times or (level >= 2 * before and level >= before + math.log(10)):
            found.append((story, level, first, times))
    return found


def _level(alarms: list[Alarm], log_value: float | None) -> float:
    """Logarithm of the evidence of an alarm; that of the sequential test grows after its alarm."""
    evidence = [alarm.evidence for alarm in alarms]
    if alarms[0].kind == "calibration":
        logs = [math.log(e) if e < math.inf else LARGEST for e in evidence] + [log_value or 0.0]
    elif alarms[0].kind == "change":
        logs = [math.log(e) for e in evidence]
    else:
        logs = [-math.log(p) if p > 0 else LARGEST for p in evidence]
    return min(max(logs), LARGEST)


def _message(
    name: str, owner: str | None, alarms: list[tuple[Alarm, int]], stories: list[tuple[str, int]], now: int
) -> dict[str, Any]:
    identity = hashlib.sha256(json.dumps([name, stories]).encode()).hexdigest()[:32]
    lines = [f"{'worse: ' if times else ''}{alarm!r}" for alarm, times in alarms]
    headed = name if owner is None else f"{name} ({owner})"
    count = "1 alarm" if len(lines) == 1 else f"{len(lines)} alarms"
    more = len(lines) - 10
    text = "\n".join([f"{headed}: {count}", *lines[:10], *([f"and {more} more"] if more > 0 else [])])
    listed = [{**plain_value(alarm.to_dict()), "worse": times > 0} for alarm, times in alarms]
    time = time_text(now // SECOND * SECOND)
    return {"id": identity, "text": text, "model": name, "owner": owner, "time": time, "alarms": listed}


def deliver(store: Store, channels: Channels, now: int, blocked: set[str]) -> list[str]:
    """Send the messages that are due; returns what went wrong, in one line each.

    Channels in `blocked` are left for the next run, and one that fails is added, so that a receiver that is down costs one timeout.
    """
    with store.read() as db:
        if not _has_tables(db):
            return []
        query = "SELECT id, channel, body, attempts FROM outbox WHERE state = 0 AND due <= ? ORDER BY due, id, channel"
        rows = db.connection.execute(query, (now,)).fetchall()
        waiting = {number for number, *_, acknowledged in db.events() if not acknowledged}
    problems = []
    for identity, channel, body, attempts in rows:
        if channel not in channels or channel in blocked:
            continue
        key = (identity, channel, attempts)
        if not any(alarm["number"] in waiting for alarm in json.loads(body)["alarms"]):
            _change(store, key, SENT, attempts, now, "acknowledged before it was sent")
            continue
        if not _change(store, key, WAITING, attempts + 1, now + LEASE, None):
            continue  # another process sends it
        key = (identity, channel, attempts + 1)
        try:
            note = channels[channel](json.loads(body))
        except AlertError as error:
            blocked.add(channel)
            last = attempts + 1 >= ATTEMPTS
            wait = min(FIRST_WAIT * 2 ** (2 * attempts), LONGEST_WAIT)
            _change(store, key, GIVEN_UP if last else WAITING, attempts + 1, now + wait, str(error))
            ending = "given up" if last else f"attempt {attempts + 1} of {ATTEMPTS}; repeated by a later run"
            problems.append(f"{channel}: {error} ({ending})")
        else:
            _change(store, key, SENT, attempts + 1, now, note)
            problems += [] if note is None else [f"{channel}: {note}"]
    return problems


def _change(store: Store, key: tuple[str, str, int], state: int, attempts: int, due: int, problem: str | None) -> bool:
    """Change a waiting message unless another process did; `key` is its id, channel and number of attempts so far."""
    with store.write() as db:
        done = db.connection.execute(
            "UPDATE outbox SET state = ?, attempts = ?, due = ?, problem = ? "
            "WHERE id = ? AND channel = ? AND attempts = ? AND state = 0",
            (state, attempts, due, problem, *key),
        )
        return done.rowcount > 0


def count_waiting(store: Store) -> int:
    """Number of messages that are not sent: waiting or given up."""
    with store.read() as db:
        if not _has_tables(db):
            return 0
        return int(db.connection.execute("SELECT count(*) FROM outbox WHERE state != 1").fetchone()[0])


def _has_tables(db: Transaction) -> bool:
    found = db.connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'outbox'")
    return found.fetchone() is not None

"""Queries of the store inside one transaction, with all values as bound parameters."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError
from ..sketches.sketch import Sketch
from ..util.results import several
from .databases import Connection

Whole = NDArray[np.int64]
Texts = NDArray[np.object_]
ALL = 2**62
"""A limit that no number of windows reaches."""
WINDOWS = "SELECT place, closed, tested, examined, late_rows, late_labels, revised FROM windows "
# Columns of the tables whose rows are replaced.
COLUMNS = {
    "meta": "name value",
    "streams": "stream number declared eprocess detector",
    "parts": "place stream n labelled scores outcomes drift measured",
    "ood": "place stream name content",
    "early": "id label",
    "pruned": "fingerprint place",
}


class Window(NamedTuple):
    """State of a window."""

    place: int
    closed: bool
    tested: int
    """0 not yet, 1 tested, 2 skipped: later windows were tested before its rows arrived."""
    examined: bool
    late_rows: int
    """Rows that arrived after the window was closed."""
    late_labels: int
    """Labels that arrived or were corrected after the window was tested."""
    revised: int
    """Labels that were corrected."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of its results must know."""
        notes = []
        if self.late_rows:
            notes.append(f"{several(self.late_rows, 'row')} arrived after the window was closed")
        if self.late_labels:
            notes.append(f"labels arrived or corrected after the test, counted but not tested: {self.late_labels:,}")
        if self.revised:
            notes.append(f"labels corrected: {self.revised:,}")
        if self.tested == 2:
            notes.append("skipped by the test, because its rows or labels arrived after later windows were tested")
        return tuple(notes)


class Part(NamedTuple):
    """The rows of one stream in one window."""

    place: int
    stream: str
    n: int
    labelled: int
    scores: Sketch
    """All rows; the outcomes are not meaningful."""
    outcomes: Sketch
    """The rows whose labels are known."""
    drift: dict[str, Any] | None
    measured: dict[str, Any] | None
    ood: Mapping[str, Sketch] = MappingProxyType({})
    """Out-of-distribution scores of all rows, by name, as numbers from 0 to 1."""


class Stream(NamedTuple):
    """State of the sequential tests of all rows or of one group."""

    stream: str
    number: int
    """Order in which groups were added, from 1; 0 for all rows."""
    declared: bool
    eprocess: dict[str, Any]
    detector: dict[str, Any]


class KnownRows(NamedTuple):
    """Rows that were delivered before."""

    row: Whole
    """Their indices in the new delivery, increasing."""
    place: Whole
    stream: Texts
    score: NDArray[np.float64]
    target: Whole
    label: Whole
    ood: NDArray[np.float64]
    """Out-of-distribution scores, one column each."""

    def take(self, selected: NDArray[np.bool_]) -> KnownRows:
        """A subset."""
        columns: tuple[Any, ...] = tuple(column[selected] for column in self)
        return KnownRows(*columns)


class Transaction:
    """The store inside one transaction."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def _row(self, query: str, *values: Any) -> Any:
        """The first row of a query; None if it has none."""
        return self.connection.execute(query, values).fetchone()

    def _upsert(self, table: str, key: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Insert rows, replacing those with the same key."""
        columns = COLUMNS[table].split()
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        updates = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in key.split(", "))
        query = f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT ({key}) DO UPDATE SET {updates}"  # noqa: S608
        self.connection.executemany(query, rows)

    def meta(self, name: str) -> Any:
        """A named value, or None."""
        row = self._row("SELECT value FROM meta WHERE name = ?", name)
        return None if row is None else json.loads(row[0])

    def set_meta(self, name: str, value: Any) -> None:
        self._upsert("meta", "name", [(name, json.dumps(value))])

    def reference(self) -> bytes:
        """The bytes of the reference."""
        row = self._row("SELECT content FROM reference")
        if row is None:
            raise FileError("store", "does not contain its reference", "restore it from a backup")
        return bytes(row[0])

    def ood_reference(self) -> dict[str, dict[str, Sketch]]:
        """Out-of-distribution scores of the reference, by stream and name."""
        sketches: dict[str, dict[str, Sketch]] = {}
        for stream, name, content in self.connection.execute("SELECT stream, name, content FROM ood_reference"):
            sketches.setdefault(stream, {})[name] = Sketch.from_bytes(content)
        return sketches

    def season_reference(self) -> dict[tuple[str, int], dict[str, Sketch]]:
        """Reference data by stream and phase of the season: the scores by the empty name, out-of-distribution scores by theirs."""
        sketches: dict[tuple[str, int], dict[str, Sketch]] = {}
        for stream, name, phase, content in self.connection.execute(
            "SELECT stream, name, phase, content FROM season_reference"
        ):
            sketches.setdefault((stream, phase), {})[name] = Sketch.from_bytes(content)
        return sketches

    # Streams

    def streams(self) -> dict[str, Stream]:
        """All streams in the order in which they were added."""
        query = "SELECT stream, number, declared, eprocess, detector FROM streams ORDER BY number"
        return {
            stream: Stream(stream, number, bool(declared), json.loads(eprocess), json.loads(detector))
            for stream, number, declared, eprocess, detector in self.connection.execute(query)
        }

    def save_stream(self, stream: Stream) -> None:
        texts = (json.dumps(stream.eprocess), json.dumps(stream.detector))
        row = (stream.stream, stream.number, int(stream.declared), *texts)
        self._upsert("streams", "stream", [row])

    # Windows

    def windows(self, stream: str, last: int | None = None) -> list[Window]:
        """Windows in which a stream has rows, in order; optionally only the last ones."""
        query = "WHERE place IN (SELECT place FROM parts WHERE stream = ? AND n > 0) ORDER BY place DESC LIMIT ?"
        return self._windows(query, stream, ALL if last is None else last)[::-1]

    def newest_over(self, stream: str, labelled: int) -> list[Window]:
        """The newest closed window with at least so many labels of a stream, as a list of at most one."""
        query = "JOIN parts USING (place) WHERE stream = ? AND closed = 1 AND n > 0 AND labelled >= ?"
        return self._windows(query + " ORDER BY place DESC LIMIT 1", stream, labelled)

    def waiting(self) -> list[Window]:
        """Windows that were neither tested nor skipped, in order."""
        return self._windows("WHERE tested = 0 ORDER BY place")

    def _windows(self, condition: str, *values: Any) -> list[Window]:
        rows = self.connection.execute(WINDOWS + condition, values)
        return [
            Window(place, bool(closed), tested, bool(examined), *late)
            for place, closed, tested, examined, *late in rows
        ]

    def unexamined(self) -> list[int]:
        """Closed windows whose scores have not been compared with the reference data."""
        query = "SELECT place FROM windows WHERE closed = 1 AND examined = 0 ORDER BY place"
        return [place for (place,) in self.connection.execute(query)]

    def window(self, place: int) -> Window:
        """A window, created if it is new."""
        self.connection.execute("INSERT INTO windows (place) VALUES (?) ON CONFLICT DO NOTHING", (place,))
        return self._windows("WHERE place = ?", place)[0]

    def save_window(self, window: Window) -> None:
        row = (int(window.closed), window.tested, int(window.examined), *window[4:], window.place)
        self.connection.execute(
            "UPDATE windows SET closed = ?, tested = ?, examined = ?, late_rows = ?, late_labels = ?, revised = ? WHERE place = ?",
            row,
        )

    def last_tested(self) -> int | None:
        """The last tested window."""
        place: int | None = self._row("SELECT max(place) FROM windows WHERE tested = 1")[0]
        return place

    def count_windows(self, stream: str) -> int:
        """Number of windows in which a stream has rows."""
        return int(self._row("SELECT count(*) FROM parts WHERE stream = ? AND n > 0", stream)[0])

    # Parts

    def part(self, place: int, stream: str, lens: str) -> Part:
        """The rows of one stream in one window, possibly none."""
        parts = self.parts(place, stream)
        return parts[0] if parts else Part(place, stream, 0, 0, Sketch.empty(lens), Sketch.empty(lens), None, None)

    def parts(self, place: int, stream: str | None = None) -> list[Part]:
        """The rows of all streams of one window."""
        query = "SELECT place, stream, n, labelled, scores, outcomes, drift, measured FROM parts WHERE place = ?"
        values: tuple[Any, ...] = (place,)
        if stream is not None:
            query, values = query + " AND stream = ?", (place, stream)
        parts = [_part(row) for row in self.connection.execute(query + " ORDER BY stream", values)]
        return [part._replace(ood=self._ood(*part[:2])) for part in parts]

    def _ood(self, place: int, stream: str) -> dict[str, Sketch]:
        query = "SELECT name, content FROM ood WHERE place = ? AND stream = ?"
        return {name: Sketch.from_bytes(content) for name, content in self.connection.execute(query, (place, stream))}

    def save_part(self, part: Part) -> None:
        """Replace the cached results of a part."""
        row = (*part[:4], part.scores.to_bytes(), part.outcomes.to_bytes(), _text(part.drift), _text(part.measured))
        self._upsert("parts", "place, stream", [row])
        if part.ood:
            ood = [(*part[:2], name, sketch.to_bytes()) for name, sketch in part.ood.items()]
            self._upsert("ood", "place, stream, name", ood)

    def counts(self, place: int, stream: str) -> tuple[int, int]:
        """Rows and labels of a stream in a window, without reading its sketches."""
        n, labelled = self._row("SELECT n, labelled FROM parts WHERE place = ? AND stream = ?", place, stream) or (0, 0)
        return n, labelled

    def totals(self) -> dict[str, tuple[int, int]]:
        """Rows and labels of each stream."""
        query = "SELECT stream, CAST(sum(n) AS INTEGER), CAST(sum(labelled) AS INTEGER) FROM parts GROUP BY stream"
        return {row[0]: (row[1], row[2]) for row in self.connection.execute(query)}

    def save_results(self, place: int, stream: str, column: str, content: dict[str, Any]) -> None:
        """Store results computed from the current rows."""
        query = {
            "drift": "UPDATE parts SET drift = ? WHERE place = ? AND stream = ?",
            "measured": "UPDATE parts SET measured = ? WHERE place = ? AND stream = ?",
        }[column]
        self.connection.execute(query, (json.dumps(content), place, stream))

    def last_drift(self, stream: str) -> float | None:
        """The smallest adjusted p-value of the newest closed window of a stream that was compared with the reference data."""
        query = (
            "SELECT drift FROM parts JOIN windows USING (place) "
            "WHERE stream = ? AND closed = 1 AND drift IS NOT NULL ORDER BY place DESC LIMIT 1"
        )
        row = self._row(query, stream)
        drift = None if row is None else json.loads(row[0])["drift"]
        return None if drift is None else float(min(drift["adjusted"]))

    # Rows and deliveries

    def find_rows(self, ids: Sequence[str], ood: Sequence[str] = ()) -> KnownRows:
        """The rows with these ids that were delivered before, with their scores named by `ood`."""
        self.connection.execute("CREATE TEMP TABLE IF NOT EXISTS incoming (id TEXT, number INTEGER)")
        self.connection.execute("DELETE FROM incoming")
        self.connection.executemany("INSERT INTO incoming VALUES (?, ?)", zip(ids, range(len(ids)), strict=True))
        rows = self.connection.execute(
            "SELECT i.number, r.place, r.stream, r.score, r.target, r.label FROM incoming i JOIN rows r ON r.id = i.id ORDER BY i.number"
        ).fetchall()
        dtypes: tuple[Any, ...] = (np.int64, np.int64, object, np.float64, np.int64, np.int64)
        columns = zip(*rows, strict=True) if rows else ((),) * len(dtypes)
        scores = np.zeros((len(rows), len(ood)))
        for place, name in enumerate(ood):
            query = "SELECT o.value FROM incoming i JOIN ood_rows o ON o.id = i.id WHERE o.name = ? ORDER BY i.number"
            scores[:, place] = [value for (value,) in self.connection.execute(query, (name,))]
        return KnownRows._make([*(np.array(each, kind) for each, kind in zip(columns, dtypes, strict=True)), scores])

    def add_rows(self, rows: Iterable[tuple[str, int, str, float, int, int]]) -> None:
        """New rows: id, place, stream, score, target, label."""
        self.connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)", ((*row, 1) for row in rows))

    def add_ood(self, rows: Iterable[tuple[str, str, float]]) -> None:
        """Out-of-distribution scores of new rows: id, name, value."""
        self.connection.executemany("INSERT INTO ood_rows VALUES (?, ?, ?)", rows)

    def add_features(self, rows: Iterable[tuple[str, str]]) -> None:
        """Features of new rows: id, content."""
        self.connection.executemany("INSERT INTO features VALUES (?, ?)", rows)

    def labelled_features(self, place: int) -> list[tuple[float, int, int, str]]:
        """Score, target, label and features of the labelled rows of a window, in the order of their ids."""
        query = (
            "SELECT score, target, label, content FROM rows JOIN features USING (id) WHERE place = ? AND label != -1"
        )
        return self.connection.execute(query + " ORDER BY id", (place,)).fetchall()

    def relabel(self, pairs: Iterable[tuple[int, str]]) -> None:
        """Change labels; the version of each row is incremented."""
        self.connection.executemany("UPDATE rows SET label = ?, version = version + 1 WHERE id = ?", pairs)

    def delete_rows(self, ids: Sequence[str]) -> None:
        """Delete rows, their out-of-distribution scores and their features."""
        for table in ("rows", "ood_rows", "features"):
            self.connection.executemany(f"DELETE FROM {table} WHERE id = ?", ((each,) for each in ids))  # noqa: S608

    def keep_early(self, labels: Iterable[tuple[str, int]]) -> None:
        """Keep labels whose predictions have not arrived: id, label; a later one replaces an earlier one."""
        self._upsert("early", "id", labels)

    def take_early(self) -> tuple[Whole, Whole]:
        """Row and label of the rows passed to `find_rows` whose label arrived before them; they are not kept any longer."""
        pairs = self.connection.execute(
            "SELECT i.number, e.label FROM incoming i JOIN early e ON e.id = i.id"
        ).fetchall()
        self.connection.execute("DELETE FROM early WHERE id IN (SELECT id FROM incoming)")
        return np.array([row for row, _ in pairs], np.int64), np.array([label for _, label in pairs], np.int64)

    def count_early(self) -> int:
        """Number of labels whose predictions have not arrived."""
        return int(self._row("SELECT count(*) FROM early")[0])

    # Retention

    def count_rows(self, *, unlabelled: bool = False) -> dict[int, int]:
        """Number of rows of each window that are stored with their ids, all or those without a label."""
        condition = "WHERE label = -1" if unlabelled else ""
        return dict(self.connection.execute(f"SELECT place, count(*) FROM rows {condition} GROUP BY place").fetchall())  # noqa: S608

    def forget_rows(self, places: Mapping[int, bool], begin: str, limit: int) -> list[str]:
        """Replace rows of windows by fingerprints of their ids, in the order of ids from `begin` on; returns the ids.

        `places` states for each window whether its rows without a label are kept.
        """
        self.connection.execute("CREATE TEMP TABLE forgotten (place INTEGER PRIMARY KEY, waits INTEGER)")
        pairs = [(place, int(waits)) for place, waits in places.items()]
        self.connection.executemany("INSERT INTO forgotten VALUES (?, ?)", pairs)
        # Rows have no index of their windows, and are read in the order of their table.
        rows = self.connection.execute(
            "SELECT id, place FROM rows WHERE id >= ? AND (place IN (SELECT place FROM forgotten WHERE waits = 0) "
            "OR (label != -1 AND place IN (SELECT place FROM forgotten))) ORDER BY id LIMIT ?",
            (begin, limit),
        ).fetchall()
        # In their order, which fills the table many times as fast.
        self._upsert("pruned", "fingerprint", sorted((id_fingerprint(name), place) for name, place in rows))
        names = [name for name, _ in rows]
        self.delete_rows(names)
        return names

    def is_pruned(self, ids: Sequence[str]) -> NDArray[np.bool_]:
        """Whether rows with these ids were pruned."""
        pruned = np.zeros(len(ids), bool)
        if len(ids):
            self.connection.execute("CREATE TEMP TABLE IF NOT EXISTS asked (fingerprint INTEGER, number INTEGER)")
            self.connection.execute("DELETE FROM asked")
            rows = ((id_fingerprint(each), number) for number, each in enumerate(ids))
            self.connection.executemany("INSERT INTO asked VALUES (?, ?)", rows)
            query = "SELECT a.number FROM asked a JOIN pruned p ON p.fingerprint = a.fingerprint"
            pruned[[number for (number,) in self.connection.execute(query)]] = True
        return pruned

    def count_ignored(self, labels: int) -> None:
        """Count labels of pruned rows, which are ignored."""
        if labels:
            self.set_meta("labels_of_pruned", (self.meta("labels_of_pruned") or 0) + labels)

    # Deliveries

    def delivery(self, name: str) -> tuple[str, int] | None:
        """Fingerprint and number of rows of an earlier delivery, or None."""
        row = self._row("SELECT digest, n FROM deliveries WHERE name = ?", name)
        return None if row is None else (row[0], row[1])

    def add_delivery(self, name: str, digest: str, n: int) -> None:
        self.connection.execute("INSERT INTO deliveries VALUES (?, ?, ?)", (name, digest, n))

    # Evidence and alarms

    def add_evidence(
        self, place: int, stream: str, digest: str, labelled: int, log_value: float | None, log_detector: float | None
    ) -> None:
        """Add the evidence after a tested window; it is never changed."""
        self.connection.execute(
            "INSERT INTO evidence (sequence, place, stream, digest, labelled, log_value, log_detector) "
            "SELECT coalesce(max(sequence), 0) + 1, ?, ?, ?, ?, ?, ? FROM evidence",
            (place, stream, digest, labelled, log_value, log_detector),
        )

    def evidence(self, stream: str) -> list[tuple[int, str, float | None, float | None]]:
        """Tested windows in order, with the fingerprint of their rows and the logarithms of the e-value and of the detector statistic."""
        query = "SELECT place, digest, log_value, log_detector FROM evidence WHERE stream = ? ORDER BY sequence"
        return self.connection.execute(query, (stream,)).fetchall()

    def add_event(
        self,
        place: int,
        stream: str,
        kind: str,
        evidence: float,
        sentence: str,
        onset: int | None = None,
        seen: bool = False,
    ) -> bool:
        """Add an alarm; returns False if it was raised before."""
        cursor = self.connection.execute(
            "INSERT INTO events (sequence, place, stream, kind, evidence, words, onset, seen) "
            "SELECT coalesce(max(sequence), 0) + 1, ?, ?, ?, ?, ?, ?, ? FROM events WHERE true ON CONFLICT DO NOTHING",
            (place, stream, kind, evidence, sentence, onset, int(seen)),
        )
        return cursor.rowcount > 0

    def last_event(self, stream: str, kind: str) -> tuple[int | None, bool]:
        """Onset of the last alarm of a kind in a stream, and whether it was acknowledged."""
        query = "SELECT onset, seen FROM events WHERE stream = ? AND kind = ? ORDER BY sequence DESC LIMIT 1"
        onset, is_acknowledged = self._row(query, stream, kind) or (None, False)
        return onset, bool(is_acknowledged)

    def events(self) -> list[tuple[int, int, str, str, float, str, int | None, bool]]:
        """All alarms in order: number, window, stream, kind, evidence, words, onset, whether it was acknowledged."""
        query = "SELECT sequence, place, stream, kind, evidence, words, onset, seen FROM events ORDER BY sequence"
        return [(*row[:7], bool(row[7])) for row in self.connection.execute(query)]

    def acknowledge(self, number: int | None = None) -> int:
        """Acknowledge all alarms, or one with its repetitions: those of the same stream, kind and onset; returns the number of new ones."""
        if number is None:
            return int(self.connection.execute("UPDATE events SET seen = 1 WHERE seen = 0").rowcount)
        cursor = self.connection.execute(
            "UPDATE events SET seen = 1 WHERE seen = 0 AND EXISTS (SELECT 1 FROM events e WHERE e.sequence = ? "
            "AND e.stream = events.stream AND e.kind = events.kind AND coalesce(e.onset, -999999999999) = coalesce(events.onset, -999999999999))",
            (number,),
        )
        return int(cursor.rowcount)


def id_fingerprint(name: str) -> int:
    """64 bits of an id; among a billion rows, one of 10 billion other ids is mistaken for one of them."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little", signed=True)


def _part(row: tuple[Any, ...]) -> Part:
    place, stream, n, labelled, scores, outcomes, *texts = row
    drift, measured = (None if text is None else json.loads(text) for text in texts)
    return Part(place, stream, n, labelled, Sketch.from_bytes(scores), Sketch.from_bytes(outcomes), drift, measured)


def _text(results: dict[str, Any] | None) -> str | None:
    return None if results is None else json.dumps(results)

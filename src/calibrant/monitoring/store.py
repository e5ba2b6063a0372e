"""Storage of the monitor: one SQLite database, written in transactions, so that a crash loses an update entirely or not at all.

It is the only file of calibrant that is not written through `util.files`: SQLite has its own journal and locks.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import FileError, InPython
from .queries import Stream, Transaction

__all__ = ["FORMAT", "Store"]

FORMAT = 2
"""Latest format; stores without out-of-distribution scores have the first."""
APPLICATION = 0x63616C69  # "cali", to recognize databases of other programs
PATIENCE = 30.0
"""Seconds that a writer waits for another."""
READER_PATIENCE = 2.0
"""Seconds that a reader of a store opened for reading waits; readers wait only where the file is locked as a whole."""
CHECKED_BYTES = 32 << 20
"""Files up to this size are checked as a whole when they are opened, which takes about 0.1 s; larger ones by `Store.check`."""
SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE reference (one INTEGER PRIMARY KEY CHECK (one = 1), content BLOB NOT NULL);
CREATE TABLE streams (
  stream TEXT PRIMARY KEY, number INTEGER NOT NULL, declared INTEGER NOT NULL, eprocess TEXT NOT NULL, detector TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE windows (
  place INTEGER PRIMARY KEY, closed INTEGER NOT NULL DEFAULT 0, tested INTEGER NOT NULL DEFAULT 0, examined INTEGER NOT NULL DEFAULT 0,
  late_rows INTEGER NOT NULL DEFAULT 0, late_labels INTEGER NOT NULL DEFAULT 0, revised INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX windows_untested ON windows (tested, place);
CREATE TABLE parts (
  place INTEGER NOT NULL, stream TEXT NOT NULL, n INTEGER NOT NULL, labelled INTEGER NOT NULL,
  scores BLOB NOT NULL, outcomes BLOB NOT NULL, drift TEXT, measured TEXT, PRIMARY KEY (place, stream)
);
CREATE TABLE rows (
  id TEXT PRIMARY KEY, place INTEGER NOT NULL, stream TEXT NOT NULL, score REAL NOT NULL, target INTEGER NOT NULL,
  label INTEGER NOT NULL, version INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE deliveries (name TEXT PRIMARY KEY, digest TEXT NOT NULL, n INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE evidence (
  sequence INTEGER PRIMARY KEY, place INTEGER NOT NULL, stream TEXT NOT NULL, digest TEXT NOT NULL, labelled INTEGER NOT NULL,
  log_value REAL, log_detector REAL, UNIQUE (place, stream)
);
CREATE TABLE events (
  sequence INTEGER PRIMARY KEY, place INTEGER NOT NULL, stream TEXT NOT NULL, kind TEXT NOT NULL, evidence REAL NOT NULL,
  words TEXT NOT NULL, onset INTEGER, seen INTEGER NOT NULL DEFAULT 0, UNIQUE (place, stream, kind)
);
"""


# Further tables of a store with out-of-distribution scores.
OOD_SCHEMA = """
CREATE TABLE ood_reference (stream TEXT NOT NULL, name TEXT NOT NULL, content BLOB NOT NULL, PRIMARY KEY (stream, name)) WITHOUT ROWID;
CREATE TABLE ood (
  place INTEGER NOT NULL, stream TEXT NOT NULL, name TEXT NOT NULL, content BLOB NOT NULL, PRIMARY KEY (place, stream, name)
);
CREATE TABLE ood_rows (id TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (id, name)) WITHOUT ROWID;
"""


class Store:
    """A database on disk; every use opens and closes it, so that no connection is kept between calls.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store.create(os.path.join(folder, "watch.db"), {"settings": {"alpha": 0.05}}, b"")
    ...     with store.read() as db:
    ...         found = db.meta("settings")
    >>> found
    {'alpha': 0.05}
    """

    def __init__(
        self, path: str | os.PathLike[str], *, read_only: bool = False, memory: dict[bytes, Any] | None = None
    ) -> None:
        self.path = Path(path)
        self.read_only = read_only
        """Whether nothing is written, not even results that a status computes."""
        self.memory: dict[bytes, Any] = {} if memory is None else memory
        """Results computed for the status of a store that is only read; they may be used again for another opening."""

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        meta: dict[str, Any],
        reference: bytes,
        streams: Sequence[Stream] = (),
        ood: Mapping[tuple[str, str], bytes] | None = None,
    ) -> Store:
        """Create a database; one whose creation was interrupted is completed. `ood` holds reference scores by stream and name."""
        store = cls(path)
        if store.path.is_dir():
            raise FileError(str(path), "is a folder", "name a file in it")
        with store._connected() as connection:
            store._require_empty(connection)
            connection.execute("PRAGMA journal_mode = WAL")  # readers do not wait for writers; a property of the file
            with store._transaction(connection, "IMMEDIATE"):
                store._require_empty(connection)
                for statement in (SCHEMA + (OOD_SCHEMA if ood else "")).split(";\n"):
                    if statement.strip():
                        connection.execute(statement)
                pairs = [(name, json.dumps(value)) for name, value in meta.items()]
                connection.executemany("INSERT INTO meta VALUES (?, ?)", pairs)
                connection.execute("INSERT INTO reference VALUES (1, ?)", (reference,))
                for each in streams:
                    Transaction(connection).save_stream(each)
                for (stream, name), content in (ood or {}).items():
                    connection.execute("INSERT INTO ood_reference VALUES (?, ?, ?)", (stream, name, content))
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {FORMAT if ood else 1}")
        return store

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, read_only: bool = False, memory: dict[bytes, Any] | None = None
    ) -> Store:
        """Open an existing database, after an integrity check unless it is large; one that is only read does not wait for long."""
        store = cls(path, read_only=read_only, memory=memory)
        if not store.path.exists():
            raise FileError(
                str(path), "no such file", ("create it with `calibrant monitor init`", InPython("Monitor.create"))
            )
        if store.path.is_dir():
            raise FileError(str(path), "is a folder", "name the file of the monitor")
        with store._connected(writing=False) as connection:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if application != APPLICATION:
                raise FileError(str(path), "is not a calibrant monitor", "check the path")
            if version > FORMAT:
                raise FileError(
                    str(path),
                    f"has format {version}; this version of calibrant reads up to {FORMAT}",
                    "update calibrant",
                )
            if store.path.stat().st_size <= CHECKED_BYTES:
                store._check(connection, "quick_check")
        return store

    def version(self) -> tuple[int, ...]:
        """Numbers that differ after every committed change: inode, size and time of the file and of its journal."""
        found: list[int] = []
        for path in (self.path, Path(f"{self.path}-wal")):
            try:
                at = path.stat()
            except OSError:
                at = None
            # A reader creates an empty journal where there is none.
            found += [0] * 3 if at is None or not at.st_size else [at.st_ino, at.st_size, at.st_mtime_ns]
        return tuple(found)

    def check(self) -> None:
        """Raise if the file is damaged: its pages, tables and indices are read as a whole."""
        with self._connected(writing=False) as connection:
            self._check(connection, "integrity_check")

    def _check(self, connection: sqlite3.Connection, pragma: str) -> None:
        (found,) = connection.execute(f"PRAGMA {pragma}(1)").fetchone()
        if found != "ok":
            raise FileError(str(self.path), f"is corrupt: {_short(found)}", "restore it from a backup")

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A consistent snapshot of the database."""
        with self._connected(writing=False) as connection, self._transaction(connection, "DEFERRED"):
            yield Transaction(connection)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """One transaction, committed as a whole or rolled back; other writers wait."""
        if self.read_only:
            raise self._said(sqlite3.OperationalError("attempt to write a readonly database"))
        with self._connected() as connection, self._transaction(connection, "IMMEDIATE"):
            yield Transaction(connection)

    @contextmanager
    def _connected(self, writing: bool = True) -> Iterator[sqlite3.Connection]:
        connection: sqlite3.Connection | None = None
        try:
            connection = self._connect(writing)
            self._configure(connection)
            yield connection
        except sqlite3.Error as error:
            raise self._said(error) from error
        except UnicodeDecodeError as error:  # text of SQLite about a damaged schema
            raise FileError(str(self.path), "is damaged", "restore it from a copy") from error
        except FileError as error:
            if error.argument != "content":
                raise
            raise FileError(
                str(self.path), f"is corrupt: the bytes of a window {error.problem}", "restore it from a backup"
            ) from error
        finally:
            if connection is not None:
                connection.close()

    def _connect(self, writing: bool) -> sqlite3.Connection:
        """Connect; a reader without write access to the folder, where SQLite keeps its journal, reads the file as it is."""
        journal = Path(f"{self.path}-wal")
        complete = not journal.exists() or journal.stat().st_size == 0
        if not writing and complete and not os.access(self.path.parent, os.W_OK):
            place = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
            return sqlite3.connect(place, uri=True, timeout=PATIENCE, isolation_level=None)
        if self.read_only:
            place = f"{self.path.absolute().as_uri()}?mode=ro"
            return sqlite3.connect(place, uri=True, timeout=READER_PATIENCE, isolation_level=None)
        return sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)

    def _configure(self, connection: sqlite3.Connection) -> None:
        """Committed data survive a power failure, and a malicious file cannot call functions."""
        for pragma in ("synchronous = FULL", "temp_store = MEMORY", "trusted_schema = OFF"):
            connection.execute(f"PRAGMA {pragma}")

    def _require_empty(self, connection: sqlite3.Connection) -> None:
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise FileError(str(self.path), "already exists", "choose another name")

    @contextmanager
    def _transaction(self, connection: sqlite3.Connection, kind: str) -> Iterator[None]:
        connection.execute(f"BEGIN {kind}")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _said(self, error: sqlite3.Error) -> FileError:
        text = str(error)
        for part, problem, remedy in MESSAGES:
            if part in text:
                return FileError(str(self.path), problem, remedy)
        return FileError(str(self.path), f"cannot be used ({_short(text)})", "check the path and its permissions")


MESSAGES: Sequence[tuple[str, str, str]] = (
    (
        "disk is full",
        "the disk is full; earlier data are intact",
        "free some space and repeat the call; no row is counted twice",
    ),
    ("disk I/O error", "the disk failed; earlier data are intact", "check the disk, then repeat the call"),
    ("locked", f"another process was writing for more than {PATIENCE:g} seconds", "repeat the update later"),
    (
        "readonly",
        "cannot be written: it or its folder is read-only",
        "check the permissions of the file and its folder",
    ),
    ("unable to open", "cannot be opened", "check that its folder exists and is writable"),
    ("not a database", "is not a calibrant monitor, or is corrupt", "check the path, or restore it from a backup"),
    ("malformed", "is corrupt", "restore it from a backup"),
    ("no such table", "is corrupt: a table is missing", "restore it from a backup"),
)


def _short(text: Any) -> str:
    return " ".join(str(text).split())[:200]

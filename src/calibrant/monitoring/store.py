"""Storage of the monitor: one database, written in transactions, so that a crash loses an update entirely or not at all.

A SQLite file is the only file of calibrant that is not written through `util.files`, since SQLite has its own journal and locks.
A store on a PostgreSQL server has the same tables; what differs is in `databases`.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, cast

from ..errors import FileError
from ..util.files import atomic_file
from .databases import Connection, Sqlite, database_of, is_full, short
from .queries import Stream, Transaction

FORMAT, BEFORE_FEATURES = 8, 7
"""Formats of the tables; stores of other formats are not read, and one without a table of features gets it when it is written."""
FEATURES = "CREATE TABLE features (id TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID"
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
CREATE TABLE early (id TEXT PRIMARY KEY, label INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE pruned (fingerprint INTEGER PRIMARY KEY, place INTEGER NOT NULL);
CREATE TABLE ood_reference (stream TEXT NOT NULL, name TEXT NOT NULL, content BLOB NOT NULL, PRIMARY KEY (stream, name)) WITHOUT ROWID;
CREATE TABLE season_reference (
  stream TEXT NOT NULL, name TEXT NOT NULL, phase INTEGER NOT NULL, content BLOB NOT NULL, PRIMARY KEY (stream, name, phase)
) WITHOUT ROWID;
CREATE TABLE ood (
  place INTEGER NOT NULL, stream TEXT NOT NULL, name TEXT NOT NULL, content BLOB NOT NULL, PRIMARY KEY (place, stream, name)
);
CREATE TABLE ood_rows (id TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (id, name)) WITHOUT ROWID;
"""


def is_unwritable(error: FileError) -> bool:
    """Whether a store can be read but not written, or not now: what a status computes need not be kept then.

    >>> is_unwritable(FileError("churn.db", "cannot be written: it or its folder is read-only"))
    True
    """
    reasons = ("read-only", "permission denied", "another process was writing")
    return is_full(error.problem) or any(reason in error.problem for reason in reasons)


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

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.database = database_of(path)
        self.path = self.database.path
        """File, or URL without password."""

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        meta: dict[str, Any],
        reference: bytes,
        streams: Sequence[Stream] = (),
        more: Mapping[tuple[Any, ...], bytes] | None = None,
    ) -> Store:
        """Create a database; one whose creation was interrupted is completed.

        `more` holds out-of-distribution scores of the reference data by stream and name, and what belongs to parts of a season by stream,
        name and phase.
        """
        store = cls(path)
        database = store.database
        if isinstance(database, Sqlite) and database.path.is_dir():
            raise FileError(str(path), "is a folder", "name a file in it")
        with store._connection() as connection:
            store._require_empty(connection)
            database.prepare(connection)
            with store._transaction(connection, writing=True):
                store._require_empty(connection)
                for statement in (*filter(str.strip, SCHEMA.split(";\n")), FEATURES):
                    connection.execute(statement)
                pairs = [(name, json.dumps(value)) for name, value in meta.items()]
                connection.executemany("INSERT INTO meta VALUES (?, ?)", pairs)
                connection.execute("INSERT INTO reference VALUES (1, ?)", (reference,))
                for each in streams:
                    Transaction(connection).save_stream(each)
                for key, content in (more or {}).items():
                    table, marks = ("ood_reference", "?, ?, ?") if len(key) == 2 else ("season_reference", "?, ?, ?, ?")
                    connection.execute(f"INSERT INTO {table} VALUES ({marks})", (*key, content))  # noqa: S608
                database.mark(connection, FORMAT)
        return store

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Store:
        """Open an existing database; a file after an integrity check unless it is large."""
        store = cls(path)
        database = store.database
        create = "create it with `calibrant monitor init` or Monitor.create"
        if isinstance(database, Sqlite) and not database.path.exists():
            raise FileError(str(path), "no such file", create)
        if isinstance(database, Sqlite) and database.path.is_dir():
            raise FileError(str(path), "is a folder", "name the file of the monitor")
        with store._connection(writing=False) as connection, store._transaction(connection, writing=False):
            version = database.format(connection)
            if version is None and not isinstance(database, Sqlite) and database.is_empty(connection):
                raise FileError(str(store.path), "no such monitor", create)
            if version is None:
                raise FileError(str(store.path), "is not a calibrant monitor", "check the path")
            if version not in (FORMAT, BEFORE_FEATURES):
                problem = f"has format {version}; this version of calibrant reads format {FORMAT}"
                raise FileError(str(store.path), problem, "use the version that wrote it, or create the monitor anew")
            if isinstance(database, Sqlite) and database.path.stat().st_size <= CHECKED_BYTES:
                store._check(connection, "quick_check")
        return store

    def check(self) -> None:
        """Raise if the store is damaged: a file is read as a whole, and the sketches of all windows."""
        with self._connection(writing=False) as connection, self._transaction(connection, writing=False):
            if isinstance(self.database, Sqlite):
                self._check(connection, "integrity_check")
            db = Transaction(connection)
            for (place,) in connection.execute("SELECT place FROM windows ORDER BY place").fetchall():
                db.parts(place)

    def compact(self) -> None:
        """Give the space of deleted rows back, where the disk has space for that; otherwise the rows to come use it."""
        try:
            with self._connection() as connection:
                self.database.compact(connection)
        except FileError as error:
            if not is_full(error.problem):
                raise

    def backup(self, copy: str | os.PathLike[str]) -> None:
        """Copy a file as it is at one moment; others may write meanwhile."""
        if not isinstance(self.database, Sqlite):
            raise FileError(str(self.path), "is on a server", "copy its schema with pg_dump")
        if os.path.exists(copy):
            raise FileError(str(copy), "already exists", "choose another name")
        with (
            self._connection(writing=False) as connection,
            atomic_file(copy) as stream,
            closing(sqlite3.connect(stream.name)) as target,
        ):
            try:
                cast(sqlite3.Connection, connection).backup(target)
            except sqlite3.Error as error:
                raise FileError(str(copy), f"cannot be written ({short(error)})", "choose another place") from error

    def size(self) -> int:
        """Bytes that the store takes."""
        with self._connection(writing=False) as connection, self._transaction(connection, writing=False):
            return self.database.size(connection)

    def _check(self, connection: Connection, pragma: str) -> None:
        (result,) = connection.execute(f"PRAGMA {pragma}(1)").fetchone()
        if result != "ok":
            raise FileError(str(self.path), f"is corrupt: {short(result)}", "restore it from a backup")

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A consistent snapshot of the database."""
        with self._connection(writing=False) as connection, self._transaction(connection, writing=False):
            yield Transaction(connection)

    @contextmanager
    def write(self, patient: bool = True) -> Iterator[Transaction]:
        """One transaction, committed as a whole or rolled back; other writers wait."""
        with self._connection() as connection, self._transaction(connection, writing=True, patient=patient):
            if self.database.format(connection) == BEFORE_FEATURES:
                connection.execute(FEATURES)
                self.database.mark(connection, FORMAT)
            yield Transaction(connection)

    @contextmanager
    def _connection(self, writing: bool = True) -> Iterator[Connection]:
        connection: Connection | None = None
        try:
            connection = self.database.connect(writing)
            self.database.configure(connection)
            try:
                yield connection
            finally:
                self.database.require_unchanged(connection)
        except self.database.errors as error:
            # The message of a server may quote its URL, so that it is not shown beside this one.
            raise self._file_error(error) from (error if isinstance(self.database, Sqlite) else None)
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

    def _require_empty(self, connection: Connection) -> None:
        if not self.database.is_empty(connection):
            raise FileError(str(self.path), "already exists", "choose another name")

    @contextmanager
    def _transaction(self, connection: Connection, *, writing: bool, patient: bool = True) -> Iterator[None]:
        self.database.begin(connection, writing, patient)
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _file_error(self, error: Exception) -> FileError:
        text = self.database.describe(error)
        for part, problem, remedy in self.database.messages:
            if re.search(part, text):
                return FileError(str(self.path), problem, remedy)
        return FileError(str(self.path), f"cannot be used ({text})", self.database.remedy)

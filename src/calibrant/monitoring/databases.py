"""What differs between the two databases of a store: a SQLite file, and a PostgreSQL server for several hosts.

Queries are written once, in the SQL that both understand; `POSTGRESQL` translates the few words that differ.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, cast
from urllib.parse import quote, unquote, urlencode

from ..errors import ArgumentError, FileError, MissingDependencyError

APPLICATION = 0x63616C69  # "cali", to recognize databases of other programs
PATIENCE = 300.0
"""Seconds that a writer waits while the others commit nothing."""
READER_PATIENCE = 2.0
"""Seconds that a reader waits to keep what it computed."""
RESERVE = 256 << 10
"""Bytes beside a file that `prune` gives up first: on a full disk, SQLite has no space for the journal of a deletion."""
VACUUM_PAGES = 64
"""Pages given back together, whose journal fits into the reserve."""
SCHEMA_NAME = "calibrant"
"""Schema of a monitor on a server whose URL names none."""
# Word by word, from SQLite to PostgreSQL. Text is compared byte by byte in both, so that both have the same order.
POSTGRESQL = (
    (r"\?", "%s"),
    (r"\bINTEGER\b", "BIGINT"),
    (r"\bREAL\b", "DOUBLE PRECISION"),
    (r"\bBLOB\b", "BYTEA"),
    (r"\bTEXT\b", 'TEXT COLLATE "C"'),
    (r"\) WITHOUT ROWID", ")"),
)
PLAIN_INSERT = re.compile(r"INSERT INTO (\w+) VALUES \(\?(?:, \?)*\)")
SECRET = re.compile("pass(?!file)|pwd|secret|token", re.IGNORECASE)
"""Parameters of a URL that are not shown, misspelled ones included."""
HOSTS = re.compile(r"(?:(?:\[[^]@]*\]|[^]:@,\[]*)(?::\d*)?(?:,|$))*")
ENCODE = "write special characters of its password as %40 for @, %2F for /, %3F for ? and %25 for %, or use PGPASSWORD"


class Rows(Protocol):
    """Rows of a query."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """What a store uses of a connection; `sqlite3.Connection` has it."""

    @property
    def in_transaction(self) -> bool: ...
    def execute(self, query: str, values: Sequence[Any] = ..., /) -> Rows: ...
    def executemany(self, query: str, rows: Iterable[Sequence[Any]], /) -> Any: ...
    def close(self) -> None: ...


def database_of(place: str | os.PathLike[str]) -> Sqlite | Postgres:
    """The database of a path or URL."""
    text = os.fspath(place)
    if str(text).startswith(("postgresql://", "postgres://")):
        return Postgres(text)
    # Not shown: it may contain a password. A path of one letter and a colon is a drive of Windows.
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):/(?:/|.*@)|.*\bpassword\s*=", str(text))
    if scheme is not None and not os.path.exists(text):
        is_known = not scheme[1] or scheme[1].startswith("postgres")  # with a single slash
        problem = "is neither a path nor a URL" if is_known else f"URLs of the form {scheme[1]}:// are not supported"
        raise ArgumentError("store", problem, "use the path of a file or postgresql://USER@HOST/DATABASE?schema=NAME")
    return Sqlite(place)


NOTHING = (0, 0, 0)


def _state(path: Path) -> tuple[int, ...]:
    """Inode, size and time of a file; an empty one, such as the journal that a reader creates, counts as none."""
    try:
        at = path.stat()
    except OSError:
        return NOTHING
    return (at.st_ino, at.st_size, at.st_mtime_ns) if at.st_size else NOTHING


def _has_journal_mode(path: Path) -> bool:
    """Whether writers of a file fill a journal before they change the file (WAL), as its head states."""
    with suppress(OSError), path.open("rb") as file:
        return file.read(20)[18:] == b"\2\2"
    return False


class _Reader(sqlite3.Connection):
    """A connection that does not write."""

    before: tuple[int, ...] | None
    """State of a file that is read as it is, without locks."""


class Sqlite:
    """A file."""

    errors = (sqlite3.Error,)
    remedy = "check the path and its permissions"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.name = self.path.stem

    def connect(self, writing: bool) -> Connection:
        """Connect; a reader that cannot write reads the file as it is while nobody writes.

        SQLite would otherwise create a journal and its index beside the file, which a reader cannot remove, which may then belong to
        another user than the one who writes, and for which a full disk has no space.
        """
        if writing or os.access(self.path.parent, os.W_OK):
            connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
            try:
                if not writing:
                    connection.execute("PRAGMA schema_version")  # creates the index of the journal
                return cast(Connection, connection)
            except sqlite3.Error as error:
                connection.close()
                if not is_full(self.describe(error)):
                    raise
        place = f"{self.path.absolute().as_uri()}?mode=ro"
        before = _state(self.path)  # before the journal, which a writer fills before it changes the file
        as_it_is = _has_journal_mode(self.path) and _state(Path(f"{self.path}-wal")) == NOTHING
        place += "&immutable=1" if as_it_is else ""
        reader = sqlite3.connect(place, uri=True, timeout=PATIENCE, isolation_level=None, factory=_Reader)
        reader.before = before if as_it_is else None
        return cast(Connection, reader)

    def require_unchanged(self, connection: Connection) -> None:
        """Raise if a file that is read as it is was changed meanwhile, since what was read may be mixed."""
        before = connection.before if isinstance(connection, _Reader) else None
        if before is not None and _state(self.path) != before:
            raise FileError(str(self.path), "another process was writing while it was read", "repeat the call")

    def configure(self, connection: Connection) -> None:
        """Committed data survive a power failure, and a malicious file cannot call functions."""
        for pragma in ("synchronous = FULL", "temp_store = MEMORY", "trusted_schema = OFF"):
            connection.execute(f"PRAGMA {pragma}")

    def begin(self, connection: Connection, writing: bool, patient: bool = True) -> None:
        """Begin a transaction; a patient writer waits as long as others commit theirs."""
        if not writing:
            connection.execute("BEGIN DEFERRED")
            return
        patience = PATIENCE if patient else min(PATIENCE, READER_PATIENCE)
        connection.execute(f"PRAGMA busy_timeout = {round(1000 * min(1, patience))}")
        version, since = self.version(), time.monotonic()
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() - since >= patience:
                    raise
            if patient and self.version() != version:
                version, since = self.version(), time.monotonic()

    def prepare(self, connection: Connection) -> None:
        """Before the tables are made."""
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # space can be given back without a copy of the file
        connection.execute("PRAGMA journal_mode = WAL")  # readers do not wait for writers; a property of the file
        self.keep_reserve()

    @property
    def _reserve(self) -> Path:
        return Path(f"{self.path}-reserve")

    def keep_reserve(self) -> None:
        """Hold some space on the disk for `prune`, where there is any."""
        try:
            if not self._reserve.exists():
                self._reserve.write_bytes(bytes(RESERVE))
        except OSError:
            self.release_reserve()

    def release_reserve(self) -> None:
        with suppress(OSError):
            self._reserve.unlink(missing_ok=True)

    def is_empty(self, connection: Connection) -> bool:
        return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]

    def mark(self, connection: Connection, format: int) -> None:
        """Mark the database as a monitor of this format."""
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {format}")

    def format(self, connection: Connection) -> int | None:
        """Format of the monitor; None if it is something else."""
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        return version if application == APPLICATION else None

    def compact(self, connection: Connection) -> None:
        """Shorten the file by its free pages, a few at a time."""
        before = None
        while (free := connection.execute("PRAGMA freelist_count").fetchone()[0]) and free != before:
            before = free
            connection.execute(f"PRAGMA incremental_vacuum({VACUUM_PAGES})").fetchall()
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def size(self, connection: Connection) -> int:
        journal = Path(f"{self.path}-wal")
        return self.path.stat().st_size + (journal.stat().st_size if journal.exists() else 0)

    def describe(self, error: Exception) -> str:
        # There is no space for the index of the journal.
        full = getattr(error, "sqlite_errorname", "") == "SQLITE_IOERR_SHMSIZE"
        return "database or disk is full" if full else short(error)

    def version(self) -> tuple[int, ...]:
        """Inode, size and time of the file and of its journal, one of which every commit changes."""
        return _state(self.path) + _state(Path(f"{self.path}-wal"))

    messages: Sequence[tuple[str, str, str]] = (
        (
            "disk is full",
            "the disk is full; earlier data are intact",
            "free some space and repeat the call; no row is counted twice",
        ),
        ("disk I/O error", "the disk failed; earlier data are intact", "check the disk, then repeat the call"),
        (
            "locked",
            f"another process was writing, and committed nothing for {PATIENCE:g} seconds",
            "repeat the update later",
        ),
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


class Postgres:
    """A schema of a server; its URL is that of libpq, with `schema=` in addition.

    >>> Postgres("postgresql://anna:secret@host/risk?schema=churn&sslmode=require").path
    'postgresql://anna@host/risk?sslmode=require&schema=churn'
    """

    remedy = "check the URL and the permissions of its user"

    def __init__(self, url: str) -> None:
        scheme, _, remainder = url.partition("://")
        # As libpq reads it: the first @ ends user and password unless a / precedes it.
        user, at, server = remainder.partition("@") if "@" in remainder.partition("/")[0] else ("", "", remainder)
        user, _, password = user.partition(":")
        server, _, query = server.partition("?")
        pairs = [pair.partition("=")[::2] for pair in query.split("&") if pair]
        # Otherwise a part of the password would be taken for a host, and shown in messages.
        if (
            "@" in server
            or not HOSTS.fullmatch(server.partition("/")[0])
            or not all(re.fullmatch(r"\w+", n) for n, _ in pairs)
        ):
            raise ArgumentError("store", "the URL of the server cannot be read", ENCODE)
        options = [(name, unquote(value)) for name, value in pairs]
        schemas = [value for name, value in options if name == "schema"]
        self.name = self.schema = schemas[-1] if schemas else SCHEMA_NAME
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,62}", self.schema) or self.schema.startswith("pg_"):
            problem = f"{self.schema[:80]!r} is not a name of a schema"
            remedy = "use up to 63 letters, digits and underscores, beginning with a letter"
            raise ArgumentError("schema", problem, remedy)
        options = [(name, value) for name, value in options if name != "schema"]
        place = f"{url[: len(url) - len(remainder)]}{user}{':' if password else ''}{password}{at}{server}"
        self._url = f"{place}?{urlencode(options, quote_via=quote)}" if options else place
        public = [(name, value) for name, value in options if not SECRET.search(name)] + [("schema", self.schema)]
        self.path = f"{scheme}://{user}{at}{server}?{urlencode(public, quote_via=quote)}"
        secrets = [password, *(value for name, value in options if SECRET.search(name))]
        self._secrets = sorted({form for each in secrets if each for form in (each, unquote(each))}, key=len)[::-1]

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        return (_psycopg().Error,)

    def connect(self, writing: bool) -> Connection:
        """Connect; the defaults of libpq apply to what the URL leaves out (PGPASSWORD, ~/.pgpass, PGHOST, ...)."""
        psycopg = _psycopg()
        try:
            parameters = psycopg.conninfo.conninfo_to_dict(self._url)
            options = {"connect_timeout": 10, "application_name": "calibrant", **parameters, "client_encoding": "utf8"}
            connection = psycopg.connect(**options, autocommit=True, prepare_threshold=None)
        except psycopg.Error as error:
            raise FileError(self.path, f"cannot be opened ({self.describe(error)})", self.remedy) from None
        return _Translated(connection)

    def configure(self, connection: Connection) -> None:
        """Settings belong to transactions; see `begin`."""

    def begin(self, connection: Connection, writing: bool, patient: bool = True) -> None:
        """Begin a transaction in the schema; all settings end with it, as a pool of connections requires."""
        connection.execute("BEGIN" if writing else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        connection.execute(f'SET LOCAL search_path TO "{self.schema}"')
        if not writing:
            return
        patience = PATIENCE if patient else min(PATIENCE, READER_PATIENCE)
        connection.execute(f"SET LOCAL lock_timeout = '{round(1000 * patience)}ms'")
        # A committed update survives the failure of the server.
        weak = "WHERE current_setting('synchronous_commit') = 'off'"
        connection.execute(f"SELECT set_config('synchronous_commit', 'on', true) {weak}")
        if self._has_tables(connection):
            # One writer at a time: the others wait for this row, and then read what was committed.
            connection.execute("SELECT value FROM meta WHERE name = 'format' FOR UPDATE")

    def _has_tables(self, connection: Connection) -> bool:
        # The current schema is none for a user without rights on it.
        query = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'meta'"
        return connection.execute(query).fetchone() is not None

    def prepare(self, connection: Connection) -> None:
        """Before the tables are made. A user without the right to create a schema uses an existing one."""
        schema = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = ?", (self.schema,)).fetchone()
        if schema is None:
            connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"')

    def is_empty(self, connection: Connection) -> bool:
        return not connection.execute("SELECT 1 FROM pg_tables WHERE schemaname = ?", (self.schema,)).fetchall()

    def mark(self, connection: Connection, format: int) -> None:
        """Mark the schema as a monitor of this format."""
        query = "INSERT INTO meta VALUES ('format', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        connection.execute(query, (str(format),))

    def format(self, connection: Connection) -> int | None:
        """Format of the monitor; None if the schema holds something else."""
        if not self._has_tables(connection):
            query = "SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = ?"
            if connection.execute(query, (self.schema,)).fetchone() == (False,):
                raise FileError(self.path, "permission denied", "grant its user the rights on the schema")
            return None
        row = connection.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
        return int(row[0]) if row is not None and str(row[0]).isdigit() else None

    def require_unchanged(self, connection: Connection) -> None:
        """A transaction of a server reads one state."""

    def keep_reserve(self) -> None:
        """The space of a server is its own matter."""

    release_reserve = keep_reserve

    def compact(self, connection: Connection) -> None:
        """Write the tables of rows anew; other hosts wait meanwhile."""
        connection.execute(f"SET lock_timeout = '{round(1000 * PATIENCE)}ms'")
        for table in ("rows", "ood_rows"):
            connection.execute(f'VACUUM FULL "{self.schema}"."{table}"')

    def size(self, connection: Connection) -> int:
        query = (
            "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace"
        )
        row = connection.execute(f"{query} WHERE s.nspname = ? AND c.relkind = 'r'", (self.schema,)).fetchone()
        return int(row[0] or 0)

    def describe(self, error: Exception) -> str:
        """The message of the server without passwords."""
        text = str(error)
        for secret in self._secrets:
            text = text.replace(secret, "...")
        return short(text)

    messages: Sequence[tuple[str, str, str]] = (
        (
            "closed the connection|terminating connection|connection (is|has been) (closed|lost)|data (from|to) server",
            "the connection to the server was lost",
            "repeat the command, which is safe: what was committed is not counted twice",
        ),
        ("No space left", *Sqlite.messages[0][1:]),
        ("could not extend file", *Sqlite.messages[0][1:]),
        ("lock timeout", *Sqlite.messages[2][1:]),
        ("already exists", "already exists", "choose another name"),
        ('constraint "pg_', "already exists", "choose another name"),
        (
            "read-only transaction",
            "cannot be written: the server or the transaction is read-only",
            "connect to the primary server",
        ),
        ("permission denied", "permission denied", "grant its user the rights on the schema"),
        (
            "cannot contain NUL",
            "PostgreSQL does not store text with the character NUL, and an id contains it",
            "remove it",
        ),
        (
            "has no equivalent in encoding",
            "the encoding of the database is not UTF8, and an id does not fit into it",
            "create the database with the encoding UTF8",
        ),
        ("does not exist", "is corrupt: a table is missing", "restore it from a backup"),
    )


def is_full(problem: str) -> bool:
    """Whether a problem is a full disk.

    >>> is_full("the disk is full; earlier data are intact")
    True
    """
    return "disk is full" in problem


def short(text: Any) -> str:
    """A message on one line."""
    return " ".join(str(text).split())[:200]


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise MissingDependencyError(
            "psycopg", "a store on a PostgreSQL server requires psycopg", "run pip install 'calibrant[postgres]'"
        ) from error
    return psycopg


class _Translated:
    """A connection to PostgreSQL that takes the queries of SQLite."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    @property
    def in_transaction(self) -> bool:
        return not self.connection.closed and self.connection.info.transaction_status != 0

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Rows:
        return cast(Rows, self.connection.execute(_translate(query), values or None))

    def executemany(self, query: str, rows: Iterable[Sequence[Any]], /) -> None:
        insert = PLAIN_INSERT.fullmatch(query)
        with self.connection.cursor() as cursor:
            if insert is None:
                cursor.executemany(_translate(query), list(rows))
                return
            with cursor.copy(f"COPY {insert[1]} FROM STDIN") as copy:  # many times as fast
                for row in rows:
                    copy.write_row(row)

    def close(self) -> None:
        self.connection.close()


def _translate(query: str) -> str:
    for sqlite_text, postgres_text in POSTGRESQL:
        query = re.sub(sqlite_text, postgres_text, query)
    return query

"""A store on a PostgreSQL server gives the same as a file, bit for bit, and never prints its password."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest

from calibrant.cli import main
from calibrant.errors import ArgumentError, FileError, MissingDependencyError
from calibrant.monitoring import monitor as monitoring
from calibrant.monitoring.databases import Postgres
from calibrant.monitoring.monitor import Monitor
from calibrant.monitoring.queries import Transaction
from tests.calling import raises
from tests.postgres import PASSWORD, Server

RNG = np.random.default_rng(8)
SCORE = RNG.random(240).round(3)
YES = (RNG.random(240) < SCORE).astype(float)
# The order of these names differs between languages; both stores compare bytes.
GROUPS = np.array(["a", "Z", "é", "_", "z", "A b"])[np.arange(240) % 6]
TABLES = ("meta", "streams", "windows", "parts", "rows", "early", "evidence", "events", "ood", "ood_rows", "deliveries")


def content(monitor: Monitor) -> dict[str, list[Any]]:
    """All tables of a store."""
    with monitor._store.read() as db:
        found = {name: sorted(map(repr, db.connection.execute(f"SELECT * FROM {name}").fetchall())) for name in TABLES}
    found["meta"] = [row for row in found["meta"] if not row.startswith("('format'")]
    return found


def filled(place: Any) -> Monitor:
    """A monitor with everything that can happen to it."""
    levels = {"n_resamples": 19, "drift_alpha": 0.4, "mature": 0.9, "run_length": 5}
    ood = SCORE**2
    monitor = Monitor.create(place, reference=(YES, SCORE), every="1d", ood={"distance": ood}, **levels)
    for day in range(4):
        rows = slice(60 * day, 60 * day + 60)
        labels = np.where(np.arange(60) % 7, YES[rows] if day < 2 else 1 - YES[rows], np.nan)
        ids = [f"'\"{day}-{row} é" for row in range(60)]
        words = {"when": f"2026-01-0{day + 1}T12:00", "groups": GROUPS[rows], "ood": ood[rows]}
        if day == 1:
            monitor.add_labels(["early", *ids[:3]], [1, 0, 1, 0])
        monitor.update(labels, SCORE[rows], ids=ids, **words)
        monitor.update(labels, SCORE[rows], ids=ids, **words)
        monitor.add_labels(ids, YES[rows] if day < 2 else 1 - YES[rows])
    monitor.update(None, SCORE[:5], when="2026-01-02", groups=GROUPS[:5], ood=ood[:5], delivery="late")
    return Monitor.open(place)


def test_a_server_gives_the_same_as_a_file(tmp_path: Path, postgres: Server) -> None:
    file, server = filled(tmp_path / "same.db"), filled(postgres.store("same"))
    for name, rows in content(file).items():
        assert content(server)[name] == rows, name
    statuses = [monitor.status(last=None, group=group) for group in (None, "é") for monitor in (file, server)]
    assert statuses[0].alarms
    for left, right in (statuses[:2], statuses[2:]):
        assert left.to_json() == right.to_json()
        assert left.to_prometheus() == right.to_prometheus()
    server.check()
    assert server.acknowledge() == file.acknowledge() > 0
    assert (server.name, str(server.path).split("?")[0]) == ("same", "postgresql://postgres@/postgres")


def test_an_error_rolls_back_and_messages_are_those_of_a_store(postgres: Server) -> None:
    monitor = Monitor.create(postgres.store("rolled"), reference=(YES, SCORE), every="1d")
    before = content_of(monitor)

    def fail() -> None:
        with monitor._store.write() as db:
            db.set_meta("clock", 7)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert content_of(monitor) == before
    with pytest.raises(FileError, match="already exists; choose another name"):
        Monitor.create(postgres.store("rolled"), reference=(YES, SCORE), every="1d")
    with pytest.raises(FileError, match="no such monitor; create it with `calibrant monitor init` or Monitor"):
        Monitor.open(postgres.store("none"))
    with monitor._store.write() as db:
        db.connection.execute("CREATE TABLE theirs (x INTEGER)")
        db.connection.execute("DELETE FROM meta WHERE name = 'format'")
    with pytest.raises(FileError, match="is not a calibrant monitor"):
        Monitor.open(postgres.store("rolled"))
    with monitor._store.write() as db:
        db.connection.execute("INSERT INTO meta VALUES ('format', '99')")
    with pytest.raises(FileError, match="has format 99"):
        Monitor.open(postgres.store("rolled"))
    with pytest.raises(ArgumentError, match=r"schema: .* is not a name of a schema"):
        Monitor.open(postgres.url + "&schema=a;b")


def test_a_lost_connection_is_explained_and_the_update_repeated(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., tuple[int, str, str]]
) -> None:
    """The server ends the connection after the rows of an update were written and before they are committed."""
    store = postgres.store("lost")
    monitor = Monitor.create(store, reference=(YES, SCORE), every="1d", n_resamples=19)
    plain = monitoring.settle

    def lose(db: Transaction, settings: Any) -> Any:
        monkeypatch.undo()
        (process,) = db.connection.execute("SELECT pg_backend_pid()").fetchone()
        with Monitor.open(store)._store._connection(writing=False) as other:
            other.execute("SELECT pg_terminate_backend(?)", (process,))
        return plain(db, settings)

    pd.DataFrame({"p": SCORE, "y": YES, "at": "2026-01-01", "id": range(240)}).to_csv(tmp_path / "new.csv", index=False)
    command = ("monitor", "update", store, tmp_path / "new.csv", "--time", "at", "--id", "id", "--json")
    monkeypatch.setattr(monitoring, "settle", lose)
    code, out, err = run(*command)
    message = "the connection to the server was lost; repeat the command, which is safe: what was committed is not counted twice"
    assert (code, out, err) == (2, "", f"error: {monitor.path}: {message}\n")
    assert monitor.status().n == 0
    for added, repeated in ((240, 0), (0, 240)):
        found = json.loads(run(*command, "--fail-on-alarm", "never")[1])
        assert (found["rows"], found["added"], found["repeated"]) == (240, added, repeated)
    assert (monitor.status().n, monitor.status().labelled) == (240, 240)
    with pytest.raises(FileError, match="is on a server; copy its schema with pg_dump"):
        monitor.backup("copy.db")


def test_a_user_who_may_only_read(postgres: Server) -> None:
    monitor = Monitor.create(postgres.store("shown"), reference=(YES, SCORE), every="1d", n_resamples=19)
    monitor.update(YES[:60], SCORE[:60], when="2026-01-01", ids=range(60))
    monitor.update(YES[60:], SCORE[60:], when="2026-01-02", ids=range(60, 240))
    with monitor._store.write() as db:  # as if the update had been killed before the comparisons
        db.connection.execute("UPDATE windows SET examined = 0")
        db.connection.execute("CREATE ROLE reader LOGIN PASSWORD 'reader'")
    url = postgres.store("shown").replace(f"postgres:{quote(PASSWORD, safe='')}", "reader:reader")
    with pytest.raises(FileError, match="permission denied; grant its user the rights on the schema"):
        Monitor.open(url)
    with monitor._store.write() as db:
        db.connection.execute("GRANT USAGE ON SCHEMA shown TO reader")
        db.connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA shown TO reader")
    reader = Monitor.open(url)
    shown = reader.status().to_json()
    assert reader.prune(1, dry_run=True).rows == 60
    with pytest.raises(FileError, match="permission denied"):
        reader.update([1], [0.5], when="2026-01-02", ids=["new"])
    assert monitor.status().to_json() == shown


def content_of(monitor: Monitor) -> list[Any]:
    with monitor._store.read() as db:
        return sorted(db.connection.execute("SELECT * FROM meta").fetchall())


def test_no_password_is_printed(
    tmp_path: Path, postgres: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"y": YES, "p": SCORE}).to_csv("old.csv", index=False)
    pd.DataFrame({"y": YES, "p": SCORE, "t": "2026-01-02", "i": range(240)}).to_csv("new.csv", index=False)
    url = postgres.store("churn")
    wrong = url.replace(quote(PASSWORD, safe=""), "wr0ng-%2F-pass")
    for words in (
        ("init", url, "--reference", "old.csv", "--every", "1d", "--time", "t", "--id", "i"),
        ("update", url, "new.csv"),
        ("update", url, "none.csv"),
        ("status", url),
        ("status", url, "--json", "--out", "status.json"),
        ("status", url, "--prometheus", "--out", "status.prom"),
        ("report", url, "--out", "page.html"),
        ("check", url),
        ("acknowledge", url),
        ("status", wrong),
        ("status", "postgresql://u:wr0ng%zz@/x"),
        ("status", "postgresql://u:wr0ng/unencoded@nowhere.invalid/x"),
        ("status", "postgresql://nowhere.invalid/x?password=wr0ng"),
        ("status", postgres.store("none"), "--debug"),
    ):
        with pytest.raises(SystemExit):
            main(["monitor", *words])
    output = capsys.readouterr()
    written = [path.read_text() for path in tmp_path.iterdir()]
    assert "No damage found." in output.out
    assert 'calibrant_rows{model="churn"} 240' in (tmp_path / "status.prom").read_text()
    assert "<title>churn" in (tmp_path / "page.html").read_text()
    for text in (output.out, output.err, *written):
        for secret in (PASSWORD, quote(PASSWORD, safe=""), "s3cret", "wr0ng"):
            assert secret not in text
    assert output.err.count("password authentication failed") == 1


def test_the_url_without_psycopg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingDependencyError, match=r"requires psycopg; run pip install 'calibrant\[postgres\]'"):
        Monitor.open("postgresql://host/risk")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://host/db", "postgresql://host/db?schema=calibrant"),
        ("postgres://anna@host:1/db?schema=x", "postgres://anna@host:1/db?schema=x"),
        ("postgresql://anna:p?s:s@[::1]:5432,other/db", "postgresql://anna@[::1]:5432,other/db?schema=calibrant"),
        ("postgresql://host/db?passwd=x&Token=y&passfile=z", "postgresql://host/db?passfile=z&schema=calibrant"),
        (
            "postgresql://host/db?password=x&sslpassword=y&sslmode=require",
            "postgresql://host/db?sslmode=require&schema=calibrant",
        ),
        ("postgresql:///db", "postgresql:///db?schema=calibrant"),
    ],
)
def test_urls_are_shown_without_passwords(url: str, shown: str) -> None:
    assert Postgres(url).path == shown


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://anna:wr0ng@host/db",
        "PostgreSQL://anna:wr0ng@host/db",
        "postgresql:/anna:wr0ng@host/db",
        "mysql://anna:wr0ng@host/db",
        "host=h password=wr0ng",
        "postgresql://anna:p@wr0ng@host/db",
        "postgresql://anna:wr0ng/p@host/db",
        "postgresql://anna:12/wr0ng@host/db",
        "postgresql://anna:12?wr0ng/p@host/db",
    ],
)
def test_an_unreadable_url_is_refused_without_showing_it(url: str) -> None:
    for call in (Monitor.open, lambda place: Monitor.create(place, reference=(YES, SCORE), every="1d")):
        with raises(ArgumentError, "store") as raised:
            call(url)
        assert "wr0ng" not in str(raised.value)

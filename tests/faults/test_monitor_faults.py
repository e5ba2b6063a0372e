"""What a monitor's store survives: kill -9, a full disk, a read-only folder, a clock that goes back, two writers, a damaged file."""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant.errors import FileError
from calibrant.monitoring import databases, store
from calibrant.monitoring.monitor import Monitor
from calibrant.reporting.timeline import write_timeline
from tests.calling import AS_OWNER, IN_TURN, Run, check_refusal, needs_permissions
from tests.killing import each_connection, stopped_after
from tests.postgres import Server

pytestmark = pytest.mark.usefixtures("quick_windows")
RNG = np.random.default_rng(5)
SCORE = RNG.random(300)
YES = (RNG.random(300) < SCORE).astype(int)

# Imports once and forks, so that a kill costs milliseconds and not the start of Python.
SETUP = """
import itertools, json, os, random, resource, signal, sqlite3, sys, time
import numpy as np
from calibrant.monitoring import databases
from calibrant.monitoring.databases import Postgres, Sqlite
from calibrant.monitoring.store import Store
from calibrant.monitoring.monitor import Monitor

rng = np.random.default_rng(0)
COUNT, SIZE = 300, 12
score = rng.random((COUNT, SIZE))
yes = (rng.random((COUNT, SIZE)) < score).astype(float)
yes[rng.random((COUNT, SIZE)) < 0.02] = np.nan
when = np.datetime64("2026-01-01") + (np.arange(COUNT * SIZE) * 7200).astype("timedelta64[s]").reshape(COUNT, SIZE)

OOD = "ood" in sys.argv

def ood_of(i):
    return {"ood": {"energy": 8 * score[i] - 5, "distance": score[i] ** 2}} if OOD else {}

def make(name):
    levels = {"n_resamples": 19, "drift_alpha": 0.4, "mature": 0.9}
    return Monitor.create(place(name), reference=(yes[0] == 1, score[0]), every="5d", **levels, **ood_of(0))

def send(monitor, i):
    ids = np.arange(SIZE) + i * SIZE
    return monitor.update(yes[i], score[i], when=when[i], ids=ids, groups=np.where(ids % 3, "a", "b"), **ood_of(i))

def place(name):
    # The place of a store: a file in the folder, or a schema of the server.
    return f"{sys.argv[1]}&schema={name}" if sys.argv[1].startswith("postgresql:") else f"{sys.argv[1]}/{name}.db"

def content(name):
    store = Store.open(place(name))
    store.check()
    with store.read() as db:
        def asked(query):
            found = db.connection.execute(query).fetchall()
            return [tuple(each.hex() if isinstance(each, bytes) else each for each in row) for row in found]

        parts = asked("SELECT place, stream, n, labelled, scores, outcomes FROM parts ORDER BY 1, 2")
        bets = asked("SELECT sequence, place, stream, digest, log_value, log_detector FROM evidence ORDER BY sequence")
        states = asked("SELECT stream, eprocess, detector FROM streams ORDER BY 1")
        states += asked("SELECT place, stream, kind, evidence, words, onset FROM events ORDER BY 1, 2, 3")
        rows = asked("SELECT * FROM rows ORDER BY id")
        ok = "ok"
        if OOD:
            states += asked("SELECT place, stream, name, content FROM ood ORDER BY 1, 2, 3")
            kept = asked("SELECT id, name, value FROM ood_rows ORDER BY 1, 2")
            states += kept
            ok = ok if len(kept) == 2 * len(rows) else "rows and out-of-distribution scores disagree"
    return ok, parts, bets, states, rows
"""
KILLS = (
    SETUP
    + """
folder, kills, seed, server = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
random.seed(seed)
name = f"killed{seed}"
make(name)
database = Postgres if server else Sqlite
plain = database.configure


class Counted:
    # A connection to a server that calls a function before and after every statement.
    def __init__(self, inner, each):
        self.inner, self.each = inner, each

    def __getattr__(self, what):
        found = getattr(self.inner, what)
        if what not in ("execute", "executemany"):
            return found

        def call(*values):
            self.each()
            answer = found(*values)
            self.each()
            return answer

        return call


def count(kind, each):
    # Call a function at every statement, or at every few steps within statements, of all connections to come.
    def configure(self, connection):
        plain(self, connection)
        if server:
            connection.connection = Counted(connection.connection, each)
        elif kind == "statement":
            connection.set_trace_callback(lambda text: each())
        else:
            connection.set_progress_handler(each, 10)

    database.configure = configure


def steps_of_an_update(kind):
    # How many such moments one update has.
    seen = itertools.count()
    calm = make(f"{kind}{seed}")
    send(calm, 0)
    count(kind, lambda: next(seen) and None)
    send(calm, 1)
    database.configure = plain
    return next(seen)


def die_after(kind, steps):
    # End this process, as by kill -9, at one of these moments; or the server, without a last checkpoint.
    left = itertools.count(steps, -1)
    end = end_server if kind == "server" else lambda: os.kill(os.getpid(), signal.SIGKILL)
    count(kind, lambda: end() if next(left) == 0 else None)


def end_server():
    with open(f"{server}/data/postmaster.pid") as file:
        os.kill(int(file.readline()), signal.SIGQUIT)


def restart():
    from pathlib import Path
    from tests.postgres import Server

    while os.path.exists(f"{server}/data/postmaster.pid"):
        time.sleep(0.01)
    Server(Path(server)).start()


def bytes_of_an_update():
    # How large the journal of one update becomes; while somebody reads, SQLite does not take it away.
    calm = make("bytes")
    send(calm, 0)
    reader = sqlite3.connect(folder + "/bytes.db")
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM meta").fetchall()
    send(calm, 1)
    found = os.path.getsize(folder + "/bytes.db-wal")
    reader.close()
    return found


def die_at_byte(count):
    # The kernel ends this process when a file would become larger. The index of the journal always has as many bytes as INDEX.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, count))


INDEX = 32768
kinds = ("statement", "server") if server else ("statement", "step", "byte")
totals = {kind: steps_of_an_update(kind) for kind in kinds if kind != "byte"}
if not server:
    totals["byte"] = bytes_of_an_update()
done, died, problems = 0, 0, []
for kill in range(kills):
    # Where a kill falls is chosen by progress, never by time: after some confirmed updates, at a statement, at a step within one, or
    # at a byte of the journal or of the database; at the latest after an update, before it is confirmed.
    how, confirmed = random.choice(kinds), random.randrange(4)
    moment = random.randint(1, totals[how])
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        monitor = Monitor.open(place(name))
        for i in range(done, done + confirmed):
            send(monitor, i)
            os.write(writer, b".")
        die_at_byte(INDEX + moment) if how == "byte" else die_after(how, moment)
        try:
            send(monitor, done + confirmed)
            if how == "server":  # this update had fewer moments
                end_server()
        except OSError:
            assert how == "server"
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(writer)
    told = 0
    while chunk := os.read(reader, 4096):
        told += len(chunk)
    died += os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    os.close(reader)
    done += told
    if how == "server":
        restart()
    ok, parts, _, _, rows = content(name)
    if ok != "ok":
        problems.append(f"kill {kill}: {ok}")
    if len(rows) % SIZE or not done * SIZE <= len(rows) <= (done + 1) * SIZE:
        problems.append(f"kill {kill}: {len(rows)} rows after {done} updates that were confirmed")
    if sum(part[2] for part in parts if part[1] == "null") != len(rows):
        problems.append(f"kill {kill}: sketches and rows disagree")
last = min(done + 3, COUNT)
monitor = Monitor.open(place(name))
for i in range(last):  # everything again, most of it for the second time
    send(monitor, i)
calm = make(f"calm{seed}")
for i in range(last):
    send(calm, i)
same = [a == b for a, b in zip(content(name), content(f"calm{seed}"))]
print(json.dumps({"problems": problems, "same": same, "done": done, "died": died}))
"""
)
WRITERS = (
    SETUP
    + """
databases.PATIENCE = 600  # a writer that has to wait for long does not fail
writers, updates, backups = map(int, sys.argv[2:5])
make("shared")
children = []
for writer in range(writers):
    pid = os.fork()
    if not pid:
        monitor = Monitor.open(place("shared"))
        for i in range(writer, updates, writers):
            send(monitor, i)
        os._exit(0)
    children.append(pid)
copies = []
for number in range(backups):  # while they write
    Monitor.open(place("shared")).backup(place(f"copy{number}"))
    ok, parts, _, _, rows = content(f"copy{number}")
    whole = sum(part[2] for part in parts if part[1] == "null") == len(rows)
    copies.append(ok == "ok" and whole and len(rows) % SIZE == 0)
codes = [os.waitpid(pid, 0)[1] for pid in children]
calm = make("calm")
for i in range(updates):
    send(calm, i)
found, wanted = content("shared"), content("calm")
if backups:
    Monitor.open(place("shared")).backup(place("last"))
    copies.append(content("last") == found)
same = [found[part] == wanted[part] for part in (1, 4)]
print(json.dumps({"codes": codes, "ok": found[0], "same": same, "n": len(found[4]), "copies": copies}))
"""
)


def run_script(script: str, *arguments: object) -> dict[str, object]:
    command = [sys.executable, "-W", "error", "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def check_kills(folder: Path | Server, kills: int, seed: int, *more: str) -> None:
    place = (folder.url, kills, seed, folder.folder) if isinstance(folder, Server) else (folder, kills, seed, "")
    found = run_script(KILLS, *place, *more)
    assert found["problems"] == []
    assert found["same"] == [True] * 5
    assert found["died"] == kills
    assert int(str(found["done"])) > 0


def test_kill_9_loses_at_most_the_update_being_written(tmp_path: Path) -> None:
    """Rows are kept together with their out-of-distribution scores."""
    check_kills(tmp_path, 10, 1, "ood")


def test_kill_9_of_a_client_or_of_the_server_loses_at_most_the_update_being_written(postgres: Server) -> None:
    check_kills(postgres, 2, 3)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(10))
def test_kill_9_two_hundred_times_on_a_server(postgres: Server, seed: int) -> None:
    check_kills(postgres, 20, 100 + seed, *["ood"] * (seed % 2))


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(10))
def test_kill_9_two_hundred_times(tmp_path: Path, seed: int) -> None:
    check_kills(tmp_path, 20, 100 + seed, *["ood"] * (seed % 2))


def check_writers(place: object, writers: int, updates: int, backups: int = 0) -> None:
    found = run_script(WRITERS, place, writers, updates, backups)
    copies = [True] * (backups + 1) if backups else []
    assert found == {"codes": [0] * writers, "ok": "ok", "same": [True] * 2, "n": 12 * updates, "copies": copies}


def test_two_hosts_at_once_lose_nothing(postgres: Server) -> None:
    check_writers(postgres.url, 2, 10)


def test_ten_writers_lose_nothing_and_the_store_is_copied_meanwhile(tmp_path: Path) -> None:
    check_writers(tmp_path, 10, 12, 3)
    assert not list(tmp_path.glob(".calibrant-*"))


@pytest.mark.parametrize("commits", [True, False])
def test_a_writer_waits_as_long_as_others_commit(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch, commits: bool
) -> None:
    """Its clock goes five minutes further at each look, and the store is locked for the first forty attempts."""
    clock, attempts, states = itertools.count(0, 300), itertools.count(), itertools.count()

    class Locked(sqlite3.Connection):
        def execute(self, query: str, *values: Any) -> Any:
            if query == "BEGIN IMMEDIATE" and next(attempts) < 40:
                raise sqlite3.OperationalError("database is locked")
            return super().execute(query, *values)

    database = monitor._store.database
    monkeypatch.setattr(databases.time, "monotonic", lambda: next(clock) / 2)
    monkeypatch.setattr(database, "version", lambda: (next(states) if commits else 0,))
    monkeypatch.setattr(
        database, "connect", lambda writing: sqlite3.connect(monitor.path, isolation_level=None, factory=Locked)
    )
    if commits:
        with monitor._store.write() as db:
            db.set_meta("clock", 1)
        assert next(attempts) == 41
        return
    with pytest.raises(FileError, match="another process was writing, and committed nothing for 300 seconds"):
        monitor._store.write().__enter__()


def test_copies(monitor: Monitor, tmp_path: Path, run: Run) -> None:
    code, out, _ = run("monitor", "backup", monitor.path, tmp_path / "copy.db")
    assert (code, "copy.db" in out) == (0, True)
    copy = Monitor.open(tmp_path / "copy.db")
    assert copy.status().to_json() == monitor.status().to_json()
    assert copy.update(YES[50:60], SCORE[50:60], when="2026-01-05", ids=range(50, 60)).added == 10
    assert monitor.status().n == 50
    for place, problem in (("copy.db", "already exists; choose another name"), ("none/x.db", "folder does not exist")):
        with pytest.raises(FileError, match=problem):
            monitor.backup(tmp_path / place)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system can be mounted by the superuser only")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill_disk(folder: Path) -> None:
    with open(folder / "filler", "wb", buffering=0) as file:
        for size in (1 << 16, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))


def test_a_full_disk_is_read_and_pruned(small_disk: Path, tmp_path: Path) -> None:
    """Not a byte is free: what needs no space works, and pruning gives space back."""
    path = small_disk / "watch.db"
    monitor = Monitor.create(path, reference=(YES, SCORE), every="1d", n_resamples=19, keep=1)
    for day in range(1, 7):
        ids = [f"{1000 * row + day}" for row in range(1000)]  # of all windows on every page
        monitor.update(np.resize(YES, 1000), np.resize(SCORE, 1000), when=f"2026-01-0{day}", ids=ids)
    with monitor._store.write() as db:  # results that a status would like to keep
        db.connection.execute("UPDATE parts SET drift = NULL, measured = NULL")
    told = monitor.status().to_json()
    with monitor._store.write() as db:
        db.connection.execute("UPDATE parts SET drift = NULL, measured = NULL")
    size = path.stat().st_size
    fill_disk(small_disk)
    opened = Monitor.open(path)
    assert opened.status().to_json() == told
    write_timeline(tmp_path / "report.html", opened.status())
    with pytest.raises(FileError, match="the disk is full; earlier data are intact"):
        opened.update(YES, SCORE, when="2026-01-07", ids=range(300))
    opened.backup(tmp_path / "copy.db")
    assert opened.prune(dry_run=True).rows == 5000
    done = opened.prune()
    assert (done.rows, done.kept, len(done.windows)) == (5000, 1000, 5)
    assert done.size_after == path.stat().st_size < size
    monitor.check()
    assert json.loads(Monitor.open(path).status().to_json())["n"] == 6000
    again = opened.update(
        np.resize(YES, 1000), np.resize(SCORE, 1000), when="2026-01-01", ids=[1000 * r + 1 for r in range(1000)]
    )
    assert (again.pruned, again.added) == (1000, 0)
    (small_disk / "filler").unlink()
    assert opened.update(YES, SCORE, when="2026-01-07", ids=[f"new {row}" for row in range(300)]).added == 300


@pytest.fixture
def monitor(tmp_path: Path) -> Monitor:
    made = Monitor.create(tmp_path / "watch.db", reference=(YES, SCORE), every="1d", n_resamples=19, drift_alpha=0.4)
    made.update(YES[:50], SCORE[:50], when="2026-01-05", ids=range(50))
    return made


def test_full_disk_says_so_and_keeps_what_was_there(monitor: Monitor) -> None:
    def limit_size(connection: sqlite3.Connection) -> None:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")

    problem = r"watch\.db: the disk is full; earlier data are intact; free some space and repeat the call; no row is counted twice"
    with each_connection(limit_size), pytest.raises(FileError, match=problem):
        monitor.update(YES, SCORE, when="2026-01-06", ids=range(1000, 1300))
    assert monitor.status().n == 50
    assert monitor.update(YES, SCORE, when="2026-01-06", ids=range(1000, 1300)).added == 300


@pytest.mark.parametrize("text", ["disk I/O error", "database is locked", "attempt to write a readonly database"])
def test_other_failures_of_the_disk(monitor: Monitor, text: str) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError(text)

    with each_connection(fail), pytest.raises(FileError, match=r"watch\.db: .*; (check|repeat)"):
        monitor.update(YES, SCORE, when="2026-01-06")
    assert monitor.status().n == 50


def test_stopped_at_any_step_nothing_is_half_done(monitor: Monitor) -> None:
    """The database stops after more and more steps of an update, until there are none left to stop at."""
    before = monitor.status().to_dict()
    failed = 0
    for round in range(40):
        with each_connection(stopped_after(round * (round + 1) // 2 + 1, 3)):
            try:
                monitor.update(YES[50:60], SCORE[50:60], when="2026-01-05T12:00", ids=range(50, 60))
            except FileError:
                failed += 1
        if monitor.status().n == 60:
            break
        assert monitor.status().to_dict() == before
    assert monitor.status().n == 60
    assert failed >= 3


def test_read_only_store_is_still_read(monitor: Monitor) -> None:
    """What status computes is kept for the next time, where that is possible."""
    with each_connection(lambda connection: connection.execute("PRAGMA query_only = ON")):
        assert monitor.status().n == 50
        with pytest.raises(FileError, match="read-only"):
            monitor.update(YES, SCORE, when="2026-01-06")


@needs_permissions
def test_read_only_folder(tmp_path: Path) -> None:
    """Nothing is created in it, and a monitor that is there is read."""
    Monitor.create(tmp_path / "watch.db", reference=(YES, SCORE), every="1d").update(YES, SCORE, when="2026-01-05")
    (tmp_path / "reference.csv").write_text("y,p,t\n0,0.2,2026-01-06\n1,0.8,2026-01-06\n")
    files = sorted(tmp_path.iterdir())
    commands = [
        ["monitor", "init", "new.db", "--reference", "reference.csv", "--every", "1d"],
        ["monitor", "update", "watch.db", "reference.csv", "--time", "t"],
        ["monitor", "status", "watch.db", "--fail-on-alarm", "never"],
    ]
    tmp_path.chmod(0o500)
    try:
        process = [*AS_OWNER, sys.executable, "-c", IN_TURN, json.dumps(commands)]
        done = subprocess.run(process, cwd=tmp_path, capture_output=True, text=True, check=True)
    finally:
        tmp_path.chmod(0o700)
    made, updated, (code, _, error) = json.loads(done.stdout)
    check_refusal(made, "new.db: cannot be opened")
    check_refusal(updated, "error: watch.db:")
    assert (code, error) == (0, "")
    assert sorted(tmp_path.iterdir()) == files


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be opened; check that its folder exists"):
        Monitor.create(tmp_path / "none" / "watch.db", reference=(YES, SCORE), every="1d")
    with pytest.raises(FileError, match="is a folder"):
        Monitor.create(tmp_path, reference=(YES, SCORE), every="1d")
    with pytest.raises(FileError, match="is a folder"):
        Monitor.open(tmp_path)


def test_clock_going_back_puts_rows_into_their_own_window(monitor: Monitor) -> None:
    monitor.update(YES[50:100], SCORE[50:100], when="2026-01-09", ids=range(50, 100))
    done = monitor.update(YES[100:130], SCORE[100:130], when="2026-01-02T23:59:59.999999", ids=range(100, 130))
    again = monitor.update(YES[130:140], SCORE[130:140], when="2026-01-05T06:00", ids=range(130, 140))
    status = monitor.status()
    assert [(w.window, w.n) for w in status.windows] == [("2026-01-02", 30), ("2026-01-05", 60), ("2026-01-09", 50)]
    assert (done.late_rows, again.late_rows) == (0, 10)
    assert [w.state for w in status.windows] == ["skipped", "tested", "open"]
    assert status.clock == "2026-01-09T00:00Z"
    assert any("2026-01-05: 10 rows arrived after the window was closed" in note for note in status.notes)
    assert any("2026-01-02: skipped by the test" in note for note in status.notes)


def flipped(path: Path, at: int, count: int = 64) -> None:
    content = bytearray(path.read_bytes())
    content[at : at + count] = bytes(255 - byte for byte in content[at : at + count])
    path.write_bytes(content)


def test_damaged_files_are_refused_by_name(monitor: Monitor) -> None:
    path = monitor.path
    good = path.read_bytes()
    for content, said in (
        (
            b"not a database at all, but long enough to be looked at" * 40,
            r"watch\.db: is not a calibrant monitor, or is corrupt; check the path, or restore it from a backup",
        ),
        (b"", "is not a calibrant monitor"),
        (good[: len(good) // 2], "damaged"),
    ):
        path.write_bytes(content)
        with pytest.raises(FileError, match=said):
            Monitor.open(path)


def test_flipped_bytes_never_give_a_number(monitor: Monitor) -> None:
    """Wherever bytes are changed, opening the store raises or its status is unchanged."""
    path = monitor.path
    good, told = path.read_bytes(), monitor.status().to_dict()
    rejected = 0
    for at in np.random.default_rng(0).integers(0, len(good) - 64, 60).tolist():
        path.write_bytes(good)
        flipped(path, at)
        try:
            assert Monitor.open(path).status().to_dict() == told
        except FileError:
            rejected += 1
    assert rejected >= 5


def test_damage_of_a_large_file_is_found_on_demand(monitor: Monitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "CHECKED_BYTES", 0)
    monitor.check()
    good = monitor.path.read_bytes()
    found = 0
    for at in np.random.default_rng(1).integers(4096, len(good) - 64, 20).tolist():
        monitor.path.write_bytes(good)
        flipped(monitor.path, at)
        try:
            Monitor.open(monitor.path).check()
        except FileError:
            found += 1
    assert found >= 1


def test_status_of_a_store_in_a_folder_that_cannot_be_written(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = monitor.status().to_dict()
    before = sorted(monitor.path.parent.iterdir())
    monkeypatch.setattr(store.os, "access", lambda path, mode: False)
    opened = Monitor.open(monitor.path)
    assert opened.status().to_dict() == told
    assert sorted(monitor.path.parent.iterdir()) == before
    with opened._store._connection(writing=False) as connection, pytest.raises(sqlite3.OperationalError):
        connection.execute("DELETE FROM meta")


def test_another_program_s_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (x)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(FileError, match=r"other\.db: is not a calibrant monitor; check the path"):
        Monitor.open(path)
    with pytest.raises(FileError, match=r"other\.db: already exists; choose another name"):
        Monitor.create(path, reference=(YES, SCORE), every="1d")
    assert path.read_bytes() == before


def test_store_of_a_later_format_is_refused(monitor: Monitor) -> None:
    connection = sqlite3.connect(monitor.path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    problem = r"watch\.db: has format 99; this version of calibrant reads format 8; use the version that wrote it"
    with pytest.raises(FileError, match=problem):
        Monitor.open(monitor.path)

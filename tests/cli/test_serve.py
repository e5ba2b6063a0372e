"""`calibrant monitor serve`: routes, stores that cannot be read, hostile requests, limits, and an orderly end."""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant.cli import http_service, serving
from calibrant.cli.http_service import Service, names_loopback
from calibrant.cli.model_documents import Document, Models, UnreadableError
from calibrant.cli.serving import models_of
from calibrant.errors import ArgumentError
from calibrant.monitoring.monitor import Monitor
from calibrant.monitoring.store import Store
from calibrant.reporting.timeline import render_timeline
from tests.postgres import Server

Run = Callable[..., tuple[int, str, str]]
RNG = np.random.default_rng(5)
AWFUL = 'a/b "<script>" é'


def make(path: Path, shift: float = 0.0) -> Path:
    """A monitor of three windows of 40 rows."""
    old, p = RNG.beta(2, 2, 300), RNG.beta(2, 2, 121)
    made = Monitor.create(path, reference=(RNG.random(300) < old, old), rows=40, n_resamples=19, drift_alpha=0.1)
    made.update(RNG.random(121) < np.clip(p + shift, 0, 1), p, ids=np.arange(121))
    made.status()  # keeps its results in the store
    return path


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("stores")
    return {"calm": make(folder / "calm.db"), AWFUL: make(folder / "lost.db", 0.45)}


@contextmanager
def serving_models(models: Models, log: Callable[[str], None] | None = None) -> Iterator[Service]:
    started = threading.Event()
    service = Service(models, "127.0.0.1", 0, log)
    thread = threading.Thread(target=service.run, args=(lambda _: started.set(),))
    thread.start()
    try:
        assert started.wait(30)
        yield service
    finally:
        service.stop()
        thread.join(30)
    assert not thread.is_alive()


@pytest.fixture(scope="module")
def service(stores: dict[str, Path]) -> Iterator[Service]:
    with serving_models(Models(stores)) as running, pytest.MonkeyPatch.context() as patch:
        # Drawing takes seconds; the pictures are those of `monitor report`, and tests/browser opens a page with them.
        patch.setattr("calibrant.reporting.timeline.image_of", lambda spec: "data:,")
        yield running


def get(service: Service, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    with closing(HTTPConnection("127.0.0.1", service.port, timeout=60)) as line:
        line.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        found = line.getresponse()
        return found.status, {name.lower(): value for name, value in found.getheaders()}, found.read()


def raw(service: Service, sent: bytes) -> bytes:
    """Everything that is answered to these bytes."""
    with closing(socket.create_connection(("127.0.0.1", service.port), timeout=60)) as line:
        line.sendall(sent)
        parts = []
        while part := line.recv(65536):
            parts.append(part)
        return b"".join(parts)


def test_routes(service: Service, stores: dict[str, Path]) -> None:
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in stores.values()}
    expected = {name: Monitor(Store.open(path, read_only=True)).status(last=90) for name, path in stores.items()}
    quoted = "a%2Fb%20%22%3Cscript%3E%22%20%C3%A9"
    code, headers, body = get(service, "/status.json")
    read = json.loads(body)["models"]
    assert (code, headers["content-type"]) == (200, "application/json")
    assert [each["model"] for each in read] == [AWFUL, "calm"]  # the worst first
    assert read[0]["status"] == f"/models/{quoted}/status.json"
    assert read[0]["verdict"].startswith("Alarm: calibration lost")
    for each in read:
        assert get(service, each["status"])[2].decode() == expected[each["model"]].to_json()
    code, headers, body = get(service, f"/models/{quoted}/?x=1")
    assert (code, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert body.decode() == render_timeline(expected[AWFUL], title=AWFUL)
    assert get(service, "/models/calm")[1]["location"] == "/models/calm/"
    code, headers, body = get(service, "/")
    assert code == 200
    assert f'<a href="/models/{quoted}/"><bdi>a/b &#34;&lt;script&gt;&#34; é</bdi></a>' in body.decode()
    assert b"<script>" not in body
    assert get(service, "/healthz")[2] == b"ok\n"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-cache"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "server" not in headers
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in stores.values()} == before


def test_gauges_of_all_models_stand_together(service: Service, stores: dict[str, Path]) -> None:
    code, headers, body = get(service, "/metrics")
    lines = body.decode().splitlines()
    assert (code, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    for name, path in stores.items():
        alone = Monitor(Store.open(path, read_only=True)).status(last=90).to_prometheus({"model": name})
        assert set(alone.splitlines()) <= set(lines)
    families = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(families) == len(set(families))
    order = [re.split("[{ ]", line)[0] for line in lines if not line.startswith("#")]
    assert list(dict.fromkeys(order)) == families
    assert all(
        order.index(name) + order.count(name) - 1 == len(order) - 1 - order[::-1].index(name) for name in families
    )
    assert 'calibrant_readable{model="calm"} 1' in lines


def test_head_and_unchanged_pages(service: Service) -> None:
    code, headers, body = get(service, "/models/calm/status.json")
    again = get(service, "/models/calm/status.json", "HEAD")
    assert (again[0], again[1]["content-length"], again[2]) == (200, str(len(body)), b"")
    for tag in (headers["etag"], f'"x", W/{headers["etag"]}', "*"):
        code, found, body = get(service, "/models/calm/status.json", If_None_Match=tag)
        assert (code, body, found["etag"]) == (304, b"", headers["etag"])
    assert get(service, "/models/calm/status.json", If_None_Match='"x"')[0] == 200


def test_a_store_is_read_again_only_after_a_change(
    stores: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Models({"m": Path(shutil.copy(stores["calm"], tmp_path / "m.db"))})
    opened: list[str] = []
    real = Monitor.status
    monkeypatch.setattr(Monitor, "status", lambda self, **options: opened.append("") or real(self, **options))
    first = models.status("m")
    assert (models.status("m"), models.gauges().body.count(b"readable")) == (first, 3)
    models.index()
    models.all_statuses()
    assert len(opened) == 2  # one for the model, one for its line among all
    Monitor.open(tmp_path / "m.db").update([1], [0.5], ids=["new"])
    second = models.status("m")
    assert len(models._memory["m", 90]) == 1  # the results of the window that has changed, which are not written
    assert json.loads(second.body)["n"] == 122
    assert second.tag != first.tag
    assert b'calibrant_rows{model="m"} 122' in models.gauges().body
    assert len(opened) == 4
    monkeypatch.setattr("calibrant.cli.model_documents.KEPT_BYTES", 100)
    models._keep("m", "page", (0,), None, 99)
    assert set(models._kept) == {("m", "entry"), ("m", "page")}  # documents are bounded
    assert models._size == 99


def test_reading_leaves_nothing_beside_the_store(
    stores: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(shutil.copy(stores["calm"], tmp_path / "m.db"))
    models = Models({"m": path})
    assert json.loads(models.status("m").body)["n"] == 121
    assert [each.name for each in tmp_path.iterdir()] == ["m.db"]
    # A file that is read without locks may change meanwhile: what was read is not used.
    real, times = Monitor.status, 0

    def status(self: Monitor, **options: Any) -> Any:
        nonlocal times
        with self._store.read():
            times += 1
            if times == 1:
                Monitor.open(path).update([1], [0.5], ids=["new"])
        return real(self, **options)

    monkeypatch.setattr(Monitor, "status", status)
    assert b'calibrant_rows{model="m"} 122' in models.gauges().body
    assert times == 2
    assert [each.name for each in tmp_path.iterdir()] == ["m.db"]


def test_a_journal_of_a_killed_writer_is_read(stores: dict[str, Path], tmp_path: Path) -> None:
    """Rows that were committed to the journal only, without the index beside it."""
    path = Path(shutil.copy(stores["calm"], tmp_path / "m.db"))
    holder = sqlite3.connect(path)  # an open connection keeps the journal from being moved into the file
    holder.execute("SELECT count(*) FROM meta").fetchone()
    Monitor.open(path).update([1], [0.5], ids=["new"])
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{tmp_path / 'copy.db'}{suffix}")
    holder.close()
    kept = Path(f"{tmp_path / 'copy.db'}-wal").read_bytes()
    assert json.loads(Models({"m": tmp_path / "copy.db"}).status("m").body)["n"] == 122
    assert Path(f"{tmp_path / 'copy.db'}-wal").read_bytes() == kept


def test_a_store_that_cannot_be_read_concerns_its_model_only(
    stores: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calibrant.monitoring.databases.READER_PATIENCE", 0.05)
    good, bad = Path(shutil.copy(stores["calm"], tmp_path / "good.db")), tmp_path / "bad.db"
    content = bytearray(good.read_bytes())
    content[4096:] = RNG.bytes(len(content) - 4096)
    bad.write_bytes(content)
    shutil.copy(good, tmp_path / "locked.db")
    (tmp_path / "text.db").write_text("p,y\n")
    shutil.copy(good, tmp_path / "odd.db")
    with closing(sqlite3.connect(tmp_path / "odd.db")) as changed:
        changed.execute("UPDATE parts SET outcomes = x'00'")
        changed.commit()
    shutil.copy(good, tmp_path / "mixed.db")
    with closing(sqlite3.connect(tmp_path / "mixed.db")) as changed:
        changed.execute("UPDATE reference SET content = x'00'")
        changed.commit()
    names = ("good", "bad", "locked", "text", "odd", "mixed", "later", "folder")
    (tmp_path / "folder.db").mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(UnreadableError, match="is a folder"):  # the word is not the path
        Models({"x": "folder"}).page("x")
    holder = sqlite3.connect(tmp_path / "locked.db", isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("PRAGMA journal_mode = DELETE")
    holder.execute("BEGIN EXCLUSIVE")
    with closing(holder), serving_models(Models({name: tmp_path / f"{name}.db" for name in names})) as service:
        for name in names[1:]:
            for place in ("", "status.json"):
                code, headers, body = get(service, f"/models/{name}/{place}")
                assert (code, headers["retry-after"]) == (503, "30"), name
                assert body.startswith(b"the store of this model: ")
                assert str(tmp_path).encode() not in body
        assert b"no such file" in get(service, "/models/later/")[2]
        assert b"another process" in get(service, "/models/locked/")[2]
        read = {each["model"]: each for each in json.loads(get(service, "/status.json")[2])["models"]}
        assert [name for name, each in read.items() if each["error"] is None] == ["good"]
        assert 'calibrant_readable{model="bad"} 0' in get(service, "/metrics")[2].decode()
        code, _, body = get(service, "/")
        assert (code, body.count(b"<b>Failed:</b>")) == (200, 7)
        assert get(service, "/models/good/status.json")[0] == 200
        shutil.copy(good, tmp_path / "later.db")
        assert get(service, "/models/later/status.json")[0] == 200


HOST = b"Host: localhost\r\n\r\n"
HOSTILE = [
    (b"GET /models/../calm/ HTTP/1.1\r\n" + HOST, 404),
    (b"GET /models/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + HOST, 404),
    (b"GET /models/..%2fcalm.db/ HTTP/1.1\r\n" + HOST, 404),
    (b"GET /models/calm.db/ HTTP/1.1\r\n" + HOST, 404),
    (b"GET //etc/passwd HTTP/1.1\r\n" + HOST, 404),
    (b"GET /models/calm//status.json HTTP/1.1\r\n" + HOST, 404),
    (b"GET /models/calm/status.json/ HTTP/1.1\r\n" + HOST, 404),
    (b"GET /models/calm%00/ HTTP/1.1\r\n" + HOST, 404),
    (b"GET /models/calm%0d%0aX:1 HTTP/1.1\r\n" + HOST, 404),
    (b"GET /models/calm\0/ HTTP/1.1\r\n" + HOST, 400),
    (b"GET /models/%zz/ HTTP/1.1\r\n" + HOST, 400),
    (b"GET /models/%ff/ HTTP/1.1\r\n" + HOST, 400),
    ("GET /models/é/ HTTP/1.1\r\n".encode() + HOST, 400),
    (b"GET http://localhost/status.json HTTP/1.1\r\n" + HOST, 400),
    (b"GET * HTTP/1.1\r\n" + HOST, 400),
    (b"GET /\r\n" + HOST, 400),
    (b"GET / HTTP/2.0\r\n" + HOST, 400),
    (b"GET  / HTTP/1.1\r\n" + HOST, 400),
    (b"\r\n\r\n", 400),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n", 400),
    (b"GET / HTTP/1.1\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\n" + HOST, 400),
    (b"GET / HTTP/1.1\r\nNo colon\r\n" + HOST, 400),
    (b"GET / HTTP/1.1\r\n folded\r\n" + HOST, 400),
    (b"GET / HTTP/1.1\r\nA: \x01\r\n" + HOST, 400),
    (b"GET /" + b"a" * 3000 + b" HTTP/1.1\r\n" + HOST, 414),
    (b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n" + HOST, 414),
    (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 65 + HOST, 431),
    (b"GET / HTTP/1.1\r\nA: " + b"b" * 200_000 + b"\r\n" + HOST, 431),
    (b"GET / HTTP/1.1\r\n" + (b"A: " + b"b" * 1000 + b"\r\n") * 20 + HOST, 431),
    (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403),
    (b"GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n", 403),
    (b"GET / HTTP/1.1\r\nHost: localhost@evil.example\r\n\r\n", 403),
    (b"POST / HTTP/1.1\r\nContent-Length: 100000\r\n" + HOST + b"x" * 100_000, 405),
    (b"DELETE /models/calm/ HTTP/1.1\r\n" + HOST, 405),
    (b"OPTIONS / HTTP/1.1\r\n" + HOST, 405),
    (b"TRACE / HTTP/1.1\r\n" + HOST, 405),
    (b"GET /healthz HTTP/1.0\r\n\r\n", 200),
    (b"GET /healthz HTTP/1.1\nHost: [::1]:9\n\nGET /healthz HTTP/1.1\r\n" + HOST, 200),  # one answer
]


def test_hostile_requests(service: Service) -> None:
    for sent, expected in HOSTILE:
        found = raw(service, sent)
        assert found.startswith(b"HTTP/1.1 %d " % expected), (sent[:60], found[:60])
        assert found.count(b"HTTP/1.1") == 1
        assert (b"\r\nAllow: GET, HEAD\r\n" in found) == (expected == 405)
        assert b"X: 1" not in found
        assert b"Traceback" not in found
    assert get(service, "/healthz")[0] == 200


def test_hosts() -> None:
    for host in ("localhost", "LOCALHOST:80", "127.0.0.1:8765", "127.1.2.3", "[::1]", "[::1]:8765", None):
        assert names_loopback(host), host
    for host in (
        "",
        "example.org",
        "localhost.example.org",
        "10.0.0.1",
        "[fe80::1]",
        "localhost:x",
        "::1",
        "127.0.0.1 ",
    ):
        assert not names_loopback(host), host


def test_slow_and_many_clients(stores: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_service, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(http_service, "MAX_CONNECTIONS", 20)
    with serving_models(Models(stores)) as service:
        lines = [socket.create_connection(("127.0.0.1", service.port), timeout=30) for _ in range(20)]
        for line in lines:
            line.sendall(b"GET / HTTP/1.1\r\nX: ")
        time.sleep(0.05)
        code, headers, _ = get(service, "/healthz")
        assert (code, headers["retry-after"]) == (503, "1")
        for line in lines:
            with closing(line):
                assert line.recv(100).startswith(b"HTTP/1.1 408 ")
        deadline = time.monotonic() + 30
        while get(service, "/healthz")[0] != 200:  # the places are free again
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_a_client_that_does_not_read_is_dropped(stores: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_service, "WRITE_SECONDS", 0.2)
    models, size = Models(stores), 20 << 20
    large = Document(b"x" * size, "text/plain", "tag")
    monkeypatch.setattr(models, "index", lambda: large)
    with serving_models(models) as service:
        with closing(socket.socket()) as line:
            line.settimeout(30)
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # else the system may take all of it
            line.connect(("127.0.0.1", service.port))
            line.sendall(b"GET / HTTP/1.1\r\n" + HOST)
            deadline, begun = time.monotonic() + 30, False
            while not begun or service._open:
                begun = begun or service._open > 0
                assert time.monotonic() < deadline
                time.sleep(0.02)
            found = 0
            with suppress(ConnectionResetError):
                while part := line.recv(1 << 20):
                    found += len(part)
            assert found < size
        assert get(service, "/healthz")[0] == 200


def test_a_server_that_does_not_answer_is_not_described() -> None:
    with pytest.raises(UnreadableError, match=r"^cannot be read from its server$"):
        Models({"m": "postgresql://anna:secret@127.0.0.1:1/risk"}).status("m")


def test_too_much_work(stores: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_service, "MAX_WORK", 1)
    models, go = Models(stores), threading.Event()
    real = models.status
    monkeypatch.setattr(models, "status", lambda name: go.wait(30) and real(name))
    codes: list[int] = []
    with serving_models(models) as service:
        ask = lambda: codes.append(get(service, "/models/calm/status.json")[0])  # noqa: E731
        waiting = [
            threading.Thread(target=ask) for _ in range(3)
        ]  # three requests for one document are one piece of work
        for thread in waiting:
            thread.start()
        deadline = time.monotonic() + 30
        while service._open < 3 or not service._work:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        code, headers, _ = get(service, "/status.json")
        assert (code, headers["retry-after"]) == (503, "2")
        go.set()
        for thread in waiting:
            thread.join(30)
    assert codes == [200] * 3


def test_internal_errors_and_the_log(stores: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    models, log = Models(stores), []
    monkeypatch.setattr(models, "index", lambda: 1 / 0)
    with serving_models(models, log.append) as service:
        code, _, body = get(service, "/")
        assert (code, body) == (500, b"internal error\n")
        raw(service, b'GET /\x1b[31m"\\ HTTP/1.1\r\n' + HOST)
    assert "ZeroDivisionError" in log[0]
    assert re.fullmatch(r'127\.0\.0\.1 "GET / HTTP/1\.1" 500 15 [\d.]+', log[1])
    assert re.fullmatch(r'127\.0\.0\.1 "GET /\\x1b\[31m\\"\\\\ HTTP/1\.1" 400 \d+ [\d.]+', log[2])


def test_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "configuration_file", lambda: None)
    url = "postgresql://anna@host/risk?schema=churn"
    stores = ("a/late.db", "fraud=b/late.db", url, f"other={url}")
    assert models_of(stores)[0] == {"late": "a/late.db", "fraud": "b/late.db", "churn": url, "other": url}
    (tmp_path / "calibrant.toml").write_text(
        '[models]\nstore = "{model}.db"\n[models.x]\nowner = "Risk"\nstale = "2d"\n[models.y]\n'
    )
    for place in (tmp_path, tmp_path / "calibrant.toml"):
        paths, owners, stale = models_of((str(place), "z=q.db"))
        assert paths == {"x": str(tmp_path / "x.db"), "y": str(tmp_path / "y.db"), "z": "q.db"}
        assert (owners, stale) == ({"x": "Risk"}, {"x": 172_800_000_000})
    for bad in (("a/x.db", "b/x.db"), ("=x.db",), ("x=",), ("..=x.db",), ("a\nb=x.db",), (f"{tmp_path}", "x.db"), ()):
        with pytest.raises(ArgumentError, match=r"^STORE: "):
            models_of(bad)


def test_nothing_is_made_after_the_end(stores: dict[str, Path]) -> None:
    models = Models({"m": stores["calm"]})
    with serving_models(models) as service:
        assert get(service, "/models/m/status.json")[0] == 200
    assert models.stopped
    assert models.status("m").body  # is kept
    with pytest.raises(UnreadableError):
        models.page("m")


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signals_end_it(
    run: Run, stores: dict[str, Path], monkeypatch: pytest.MonkeyPatch, number: int, expected: int
) -> None:
    found: list[int] = []

    def ask(service: Service) -> None:
        found.append(get(service, "/healthz")[0])
        os.kill(os.getpid(), number)

    announce = serving._announce

    def announced(service: Service) -> None:
        announce(service)
        threading.Thread(target=ask, args=(service,)).start()

    monkeypatch.setattr(serving, "_announce", announced)
    code, out, err = run("monitor", "serve", *stores.values(), "none=none.db", "--port", 0)
    assert (code, found) == (expected, [200])
    assert re.fullmatch(r"Serving 3 models at http://127\.0\.0\.1:\d+/ \(read only; Ctrl-C stops it\)\n", out)
    assert err.splitlines() == [
        "warning: none: none.db does not exist; the model is shown as unreadable until it does",
        *(["interrupted"] if expected else []),
    ]


def test_errors_of_the_command(
    run: Run, stores: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = stores["calm"]
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        for words, message in (
            ((store, "--port", port), f"error: --port: {port} is in use; choose another, or 0 for any free one\n"),
            ((store, "--port", 70_000), "error: --port: must be between 0 and 65535; got 70000\n"),
            ((store, store), "error: STORE: two models have the name 'calm'; write NAME=STORE for one of them\n"),
            ((store, "--host", "host.invalid"), "error: --host: cannot listen on 'host.invalid'"),
            ((), "error: STORE: is required, since no configuration names models; name a store\n"),
        ):
            code, out, err = run("monitor", "serve", *words)
            assert (code, out) == (2, "")
            assert err.startswith(message)
    Path("calibrant.toml").write_text(f'[monitor.serve]\nhost = "0.0.0.0"\n[models.m]\nstore = "{store}"\n')
    assert "opens the service to other machines; give it here" in run("monitor", "serve", store)[2]
    monkeypatch.setattr(Service, "run", lambda self, ready: ready(self))
    assert run("monitor", "serve", "--host", "::1", "--port", 9)[1].startswith("Serving 1 model at http://[::1]:9/")
    code, _, err = run("monitor", "serve", store, "--host", "0.0.0.0")
    assert code == 0
    assert err.startswith("warning: --host 0.0.0.0: there is no authentication")


@pytest.mark.deep
def test_a_store_on_a_server(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    url = postgres.store("served")
    made = Monitor.create(url, reference=([0, 1, 1, 0] * 30, [0.1, 0.4, 0.8, 0.2] * 30), rows=40, n_resamples=19)
    made.update([0, 1] * 30, [0.3, 0.6] * 30, ids=np.arange(60))
    models = Models({"m": url})
    assert json.loads(models.status("m").body)["n"] == 60
    assert b'calibrant_readable{model="m"} 1' in models.gauges().body
    assert b"postgres" not in models.index().body
    made.update([1], [0.5], ids=["new"])
    monkeypatch.setattr("calibrant.monitoring.databases.SERVER_SECONDS", 1e-3)
    assert json.loads(models.status("m").body)["n"] == 61


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def resident() -> int:
    return int(re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())[1])  # type: ignore[index]


@pytest.mark.deep
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="NO /proc: open files and memory are read there")
def test_load(stores: dict[str, Path]) -> None:
    """Thousands of requests from sixteen threads are all answered; open files and memory do not grow."""
    paths = ["/", "/status.json", "/metrics", "/healthz", "/models/calm/", "/models/calm/status.json", "/models/x/"]
    codes: list[int] = []

    def ask(count: int) -> None:
        for number in range(count):
            codes.append(get(service, paths[number % len(paths)])[0])

    def wave(count: int) -> tuple[int, int]:
        threads = [threading.Thread(target=ask, args=(count,)) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.collect()
        return open_files(), resident()

    with serving_models(Models(stores)) as service:
        first = wave(70)
        codes.clear()
        last = wave(350)
        assert len(codes) == 16 * 350
        assert set(codes) == {200, 404}
        assert codes.count(404) == 16 * 50
        assert last[0] <= first[0] + 2
        assert last[1] <= first[1] + 50_000  # kB

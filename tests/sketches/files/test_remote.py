"""Addresses are read only where this is allowed, with the bits of the local file; errors are one line without credentials."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from email.utils import formatdate
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import duckdb
import pytest

import calibrant as cal
from calibrant.cli.main import main
from calibrant.sketches.files import remote

SECRET = "do-not-print-me"


class Store(BaseHTTPRequestHandler):
    """Files of a folder as a web server and as the two requests of S3 that are used: get an object, list a bucket."""

    def __init__(self, folder: Path, seen: list[str], *rest: object) -> None:
        self.folder, self.seen = folder, seen
        super().__init__(*rest)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        path, query = unquote(urlsplit(self.path).path), parse_qs(urlsplit(self.path).query)
        self.seen.append(f"{self.command} {path}")
        if "/private/" in path:
            return self.answer(403, self.error("AccessDenied"))
        if "list-type" in query:
            return self.answer(200, self.listing(path.strip("/"), query.get("prefix", [""])[0]))
        if not path.startswith("/bucket/") or not (self.folder / path[8:]).is_file():
            return self.answer(404, self.error("NoSuchKey" if path.startswith("/bucket/") else "NoSuchBucket"))
        content = (self.folder / path[8:]).read_bytes()
        span = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if span is None:
            return self.answer(200, content)
        first, last = int(span[1]), int(span[2] or len(content) - 1)
        more = {"Content-Range": f"bytes {first}-{min(last, len(content) - 1)}/{len(content)}"}
        return self.answer(206, content[first : last + 1], more)

    do_HEAD = do_GET

    def answer(self, code: int, body: bytes, more: dict[str, str] | None = None) -> None:
        self.send_response(code)
        headers = {
            "Content-Length": str(len(body)),
            "ETag": f'"{hash(body)}"',
            "Last-Modified": formatdate(0, usegmt=True),
        }
        for name, value in {**headers, **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def error(self, code: str) -> bytes:
        return f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>no {SECRET}</Message></Error>".encode()

    def listing(self, bucket: str, prefix: str) -> bytes:
        names = [
            n
            for p in sorted(self.folder.rglob("*"))
            if p.is_file() and (n := str(p.relative_to(self.folder))).startswith(prefix)
        ]
        keys = "".join(
            f"<Contents><Key>{n}</Key><Size>{(self.folder / n).stat().st_size}</Size>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for n in names
        )
        return f"<?xml version='1.0'?><ListBucketResult><Name>{bucket}</Name><IsTruncated>false</IsTruncated>{keys}</ListBucketResult>".encode()

    def log_message(self, *parts: object) -> None:
        pass


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bucket")
    (folder / "days").mkdir()
    for name, n in (("days/a.parquet", 900), ("days/b.parquet", 500), ("c.csv", 300)):
        query = f"SELECT i % 2 AS y, (i * 37 % 1001) / 1001 AS p, 'g' || i % 3 AS g FROM range({n}) t(i)"
        with duckdb.connect() as connection:
            connection.execute(f"COPY ({query}) TO '{folder / name}'")
    return folder


@pytest.fixture
def server(data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[str]]]:
    seen: list[str] = []
    made = ThreadingHTTPServer(("127.0.0.1", 0), partial(Store, data, seen))
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    address = f"http://127.0.0.1:{made.server_port}"
    settings = {
        remote.ALLOW: "1",
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }
    for name, value in {**settings, "AWS_EC2_METADATA_DISABLED": "true", "no_proxy": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    try:
        yield address, seen
    finally:
        remote._copies.clear()
        made.shutdown()
        made.server_close()


def test_web_addresses_have_the_bits_of_the_file(
    server: tuple[str, list[str]], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, _ = server
    for name in ("days/a.parquet", "c.csv"):
        assert cal.scan(f"{address}/bucket/{name}", by="g") == cal.scan(data / name, by="g")
    with pytest.raises(cal.errors.FileError):
        cal.scan(f"{address}/bucket/none.csv")
    with pytest.raises(cal.errors.FileError):
        cal.scan(f"{address}/private/a.csv")
    (data / "plain").write_bytes((data / "c.csv").read_bytes())
    with pytest.raises(cal.errors.FileError, match=f"^{re.escape(address)}/bucket/plain: unknown format"):
        cal.scan(f"{address}/bucket/plain")
    monkeypatch.setattr(remote, "_pour", lambda source, file: file.write(source.read(5)))
    (data / "plain").rename(data / "plain.csv")
    with pytest.raises(cal.errors.FileError):
        cal.scan(f"{address}/bucket/plain.csv")


def test_buckets_have_the_bits_of_the_files(
    server: tuple[str, list[str]], data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    _, seen = server
    whole = cal.scan(data / "days" / "*.parquet", by="g")
    assert cal.scan("s3://bucket/days/*.parquet", by="g") == whole
    copied = sum(line.startswith("GET /bucket/days/") for line in seen)
    assert cal.scan(["s3://bucket/days/b.parquet", "s3://bucket/days/a.parquet"], by="g") == whole
    assert sum(line.startswith("GET /bucket/days/") for line in seen) == copied  # not copied again
    for name, words in (
        ("s3://bucket/none.parquet", "there is no such object; check the bucket and the key"),
        ("s3://nowhere/a.parquet", "there is no such object; check the bucket and the key"),
        ("s3://bucket/days/*.csv", "no object matches; check the pattern"),
        ("s3://bucket/private/a.csv", "cannot be read (ACCESS_DENIED)"),
    ):
        for command in (["scan", name, "--out", "x.sketch"], ["evaluate", name]):
            with pytest.raises(SystemExit):
                main(command)
            said = capsys.readouterr()
            assert said.out == ""
            assert said.err.startswith(f"error: {name}: {words}")
            assert said.err.count("\n") == 1
            assert SECRET not in said.err
    with pytest.raises(SystemExit):
        main(["evaluate", "s3://bucket/c.csv", "--json"])
    found = capsys.readouterr().out
    assert SECRET not in found
    assert "calibrant-" not in found


def test_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setenv(remote.ALLOW, "1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(cal.errors.FileError):
        cal.scan("http://127.0.0.1:9/a.csv")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(cal.errors.FileError):
        cal.scan("s3://bucket/a.csv")


def test_nothing_is_read_unless_it_is_allowed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(remote.ALLOW, raising=False)
    monkeypatch.setattr("urllib.request.urlopen", None)
    monkeypatch.setattr(remote, "_s3", None)
    off = "is not on this machine, and calibrant does not use the network unless this is allowed; set .*CALIBRANT_ALLOW_REMOTE=1"
    for name in ("s3://bucket/a.parquet", "https://example.org/a.csv", "s3://bucket/*.parquet"):
        with pytest.raises(cal.errors.FileError, match=re.escape(name) + ": " + off):
            cal.scan(name)
    for name, words in (
        ("gs://bucket/a.parquet", "addresses with gs:// are not supported; copy the file"),
        ("file:///tmp/a.csv", "addresses with file:// are not supported"),
        (f"https://me:{SECRET}@example.org/a.csv", "https://example.org/a.csv: the address contains credentials"),
        (f"https://example.org/a.csv?sig={SECRET}", "https://example.org/a.csv: the address contains a query"),
        (f"s3://bucket/a.csv?X-Amz-Signature={SECRET}", "s3://bucket/a.csv: the address contains a query"),
        (f"https://me:{SECRET}@example.org:port/a.csv", "address: is not a valid address; check its host and port"),
        ("http://[::1/a.csv", "address: is not a valid address"),
        ("-", "-: standard input cannot be read here; write it to a file first"),
    ):
        with pytest.raises(cal.errors.FileError, match=re.escape(words)) as raised:
            cal.scan(name)
        assert SECRET not in str(raised.value)


def test_pipes_are_named(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "rows.csv")
    with pytest.raises(cal.errors.FileError):
        cal.scan(tmp_path / "rows.csv")


@pytest.mark.parametrize("error", [RuntimeError("Query interrupted"), duckdb.InterruptException("INTERRUPT Error")])
def test_an_interrupted_query_ends_in_one_line(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text("y,p\n0,0.1\n1,0.9\n")

    def stopped(*_: object) -> None:
        raise error

    monkeypatch.setattr("calibrant.sketches.files.scanning._add_batches", stopped)
    with pytest.raises(SystemExit):
        main(["scan", str(tmp_path / "a.csv"), "--out", str(tmp_path / "a.sketch")])
    assert capsys.readouterr().err.strip() == "interrupted"
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]

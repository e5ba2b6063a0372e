"""A read-only HTTP service on the streams of asyncio, with a limit for everything that a client decides.

A request is read within a few seconds and a few kilobytes, answered once, and the connection is closed: there is no state between two requests, no
body is read, and no part of a request becomes a path. Connections that send nothing take no thread.
"""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from email.utils import formatdate
from functools import partial
from http import HTTPStatus
from ipaddress import ip_address
from time import perf_counter
from traceback import format_exc
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from .model_documents import Document, Models, UnreadableError

__all__ = ["Service", "is_loopback"]

MAX_TARGET, MAX_HEAD, MAX_FIELDS = 2048, 16 << 10, 64
"""Characters of the target, bytes of the request head, and number of its header fields."""
HEAD_SECONDS, WRITE_SECONDS, LINGER_SECONDS, STOP_SECONDS = 5.0, 20.0, 1.0, 3.0
MAX_CONNECTIONS, MAX_WORK, THREADS = 128, 64, 4
WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
TEXT = "text/plain; charset=utf-8"
HEADERS = {
    # The pages carry their style and pictures with them, and have no script.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class RequestError(Exception):
    """A request that is answered with an error."""

    def __init__(self, code: int, text: str, **headers: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class Request(NamedTuple):
    """The head of a request."""

    method: str
    path: str
    """Without the query, still quoted."""
    fields: Mapping[str, str]
    """Header fields by name in lower case; the first of several with one name."""


class Reply(NamedTuple):
    """An answer."""

    code: int
    body: bytes = b""
    type: str = TEXT
    headers: Mapping[str, str] = {}


class Service:
    """Documents of models over HTTP.

    Parameters
    ----------
    models : Models
        The models.
    host : str
        Address to listen on. On a loopback address, requests whose Host header names another machine get an error.
    port : int
        Port; 0 for any free one.
    log : callable, optional
        Called with one line for each request.
    """

    def __init__(self, models: Models, host: str, port: int, log: Callable[[str], None] | None = None) -> None:
        self.models, self.host, self.port, self.log = models, host, port, log
        self._pool = ThreadPoolExecutor(THREADS, "document")
        self._work: dict[tuple[str, str], asyncio.Future[Document]] = {}
        self._open = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._interrupted = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Event | None = None

    def run(self, ready: Callable[[Service], None]) -> None:
        """Serve until SIGTERM or `stop`; SIGINT raises KeyboardInterrupt after the same orderly end."""
        try:
            asyncio.run(self._serve(ready))
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)
        if self._interrupted:
            raise KeyboardInterrupt

    def stop(self, interrupted: bool = False) -> None:
        """End the service; may be called from another thread."""
        self._interrupted = interrupted
        if self._loop is not None and self._over is not None:
            self._loop.call_soon_threadsafe(self._over.set)

    async def _serve(self, ready: Callable[[Service], None]) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        # Such as too many open files; asyncio would print a traceback for each.
        self._loop.set_exception_handler(lambda _, found: self.log and self.log(f"error: {found['message']}"))
        # Not on Windows, nor in a thread other than the main one.
        with suppress(NotImplementedError, RuntimeError, ValueError):
            self._loop.add_signal_handler(signal.SIGTERM, self.stop)
            self._loop.add_signal_handler(signal.SIGINT, partial(self.stop, True))
        server = await asyncio.start_server(self._accept, self.host, self.port, limit=MAX_HEAD)
        async with server:
            self.port = int(server.sockets[0].getsockname()[1])
            ready(self)
            await self._over.wait()
        if self._tasks:  # requests in progress are answered
            _, late = await asyncio.wait(self._tasks, timeout=STOP_SECONDS)
            for task in late:
                task.cancel()
        self.models.stopped = True  # the process waits for the threads that still work

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._open += 1
        began, line = perf_counter(), "-"
        writer.transport.set_write_buffer_limits(0)  # `drain` waits until everything is written
        try:
            request = None
            try:
                if self._open > MAX_CONNECTIONS:
                    raise RequestError(503, "too many connections", Retry_After="1")
                async with asyncio.timeout(HEAD_SECONDS):
                    first = await read_first(reader)
                    line = escaped(first.rstrip(b"\r\n"))
                    request = await read_head(first, reader)
                reply = await self._answer(request)
            except TimeoutError:
                reply = Reply(408, b"the request was not complete in time\n")
            except RequestError as error:
                reply = Reply(error.code, f"{error.text}\n".encode(), TEXT, error.headers)
            if self.log is not None:
                peer = (writer.get_extra_info("peername") or ("-",))[0]
                self.log(f'{peer} "{line}" {reply.code} {len(reply.body)} {perf_counter() - began:.3f}')
            async with asyncio.timeout(WRITE_SECONDS):
                writer.write(encoded(reply, request is not None and request.method == "HEAD"))
                await writer.drain()
                if request is None or "content-length" in request.fields or "transfer-encoding" in request.fields:
                    await _linger(reader, writer)
        except TimeoutError:
            writer.transport.abort()  # the client does not read its answer, which closing would wait for
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client is gone
        finally:
            self._open -= 1
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, request: Request) -> Reply:
        if is_loopback(self.host) and not names_loopback(request.fields.get("host")):
            # A page of another site whose name was pointed at this machine (DNS rebinding) sends its own name.
            raise RequestError(
                403, "the Host header does not name this machine; open the address that the service printed"
            )
        if request.method not in ("GET", "HEAD"):
            raise RequestError(405, "only GET and HEAD are supported", Allow="GET, HEAD")
        if request.path == "/healthz":
            return Reply(200, b"ok\n", TEXT, {"Cache-Control": "no-store"})
        work = self._route(request.path)
        if isinstance(work, Reply):
            return work
        document = await self._shared(*work)
        headers = {"ETag": f'"{document.tag}"', "Cache-Control": "no-cache"}
        known = re.findall(r'"([^"]*)"', request.fields.get("if-none-match", ""))
        if document.tag in known or request.fields.get("if-none-match", "").strip() == "*":
            return Reply(304, b"", document.type, headers)
        return Reply(200, document.body, document.type, headers)

    def _route(self, path: str) -> Reply | tuple[tuple[str, str], Callable[[], Document]]:
        """What makes the document of a path; a name is looked up, and is never part of a path on disk."""
        whole = {"/": self.models.index, "/status.json": self.models.all_statuses, "/metrics": self.models.gauges}
        if path in whole:
            return (path, ""), whole[path]
        found = re.fullmatch(r"/models/([^/]+)(/(?:status\.json)?)?", path)
        if found is None:
            raise RequestError(404, "no such page")
        name = unquoted(found[1])
        if name not in self.models.paths:
            raise RequestError(404, "no such model")
        if found[2] is None:
            return Reply(308, b"", TEXT, {"Location": f"/models/{found[1]}/"})
        return (found[2], name), partial(self.models.page if found[2] == "/" else self.models.status, name)

    async def _shared(self, key: tuple[str, str], make: Callable[[], Document]) -> Document:
        """Make a document in a thread; requests for one that is being made wait for the same."""
        running = self._work.get(key)
        if running is None:
            if len(self._work) >= MAX_WORK:
                raise RequestError(503, "too many requests", Retry_After="2")
            assert self._loop is not None
            running = self._work[key] = self._loop.run_in_executor(self._pool, make)
            running.add_done_callback(lambda _: self._work.pop(key, None))
        try:
            return await asyncio.shield(running)
        except UnreadableError as error:
            raise RequestError(503, f"the store of this model: {error}", Retry_After="30") from None
        except Exception:
            if self.log is not None:
                self.log(format_exc())
            raise RequestError(500, "internal error") from None


async def read_first(reader: asyncio.StreamReader) -> bytes:
    """The first line of a request."""
    try:
        return await reader.readuntil(b"\n")
    except asyncio.LimitOverrunError:
        raise RequestError(414, "the request line is too long") from None


async def read_head(first: bytes, reader: asyncio.StreamReader) -> Request:
    """The head of a request, whose first line has been read."""
    found = re.fullmatch(rf"({WORD}) ([!-~]+) HTTP/1\.([01])\r?\n".encode(), first)
    if found is None:
        raise RequestError(400, "the request line is malformed")
    method, target, version = (part.decode() for part in found.groups())
    if len(target) > MAX_TARGET:
        raise RequestError(414, "the address is too long")
    if not target.startswith("/"):
        raise RequestError(400, "the address must begin with /")
    fields: dict[str, str] = {}
    count, size = 0, len(first)
    while True:
        try:
            each = await reader.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            raise RequestError(431, "a header field is too long") from None
        if each in (b"\r\n", b"\n"):
            break
        count, size = count + 1, size + len(each)
        if count > MAX_FIELDS or size > MAX_HEAD:
            raise RequestError(431, "too many header fields")
        pair = re.fullmatch(rf"({WORD}):[ \t]*([\t -~\x80-\xff]*)\r?\n".encode("latin-1"), each)
        if pair is None:
            raise RequestError(400, "a header field is malformed")
        name, value = pair[1].decode().lower(), pair[2].decode("latin-1").strip()
        if name == "host" and name in fields:
            raise RequestError(400, "there are two Host headers")
        fields.setdefault(name, value)
    if version == "1" and "host" not in fields:
        raise RequestError(400, "the Host header is missing")
    return Request(method, target.partition("?")[0], fields)


def unquoted(part: str) -> str:
    """A part of a path without its percent signs."""
    if re.search(r"%(?![0-9A-Fa-f]{2})", part):
        raise RequestError(400, "the address is malformed")
    try:
        return unquote_to_bytes(part).decode()
    except UnicodeDecodeError:
        raise RequestError(400, "the address is not UTF-8") from None


def encoded(reply: Reply, head_only: bool) -> bytes:
    """An answer as bytes."""
    headers = {
        "Date": formatdate(usegmt=True),
        "Content-Type": reply.type,
        "Content-Length": str(len(reply.body)),
        "Cache-Control": "no-store",
        "Connection": "close",
        **HEADERS,
        **reply.headers,
    }
    if reply.code == 304:
        del headers["Content-Length"], headers["Content-Type"]
    lines = [f"HTTP/1.1 {reply.code} {HTTPStatus(reply.code).phrase}", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (b"" if head_only else reply.body)


async def _linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read what the client still sends, up to a limit: closing earlier would discard the answer on its way."""
    if writer.can_write_eof():
        writer.write_eof()
    left = 16 * MAX_HEAD
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_SECONDS):
            while left > 0 and (part := await reader.read(MAX_HEAD)):
                left -= len(part)


def escaped(line: bytes) -> str:
    """A line for the log, at most 200 characters, without control characters."""
    text = line[:200].decode("latin-1").replace("\\", "\\\\").replace('"', '\\"')
    return "".join(sign if " " <= sign <= "~" else f"\\x{ord(sign):02x}" for sign in text)


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def names_loopback(value: str | None) -> bool:
    """Whether a Host header names this machine; requests of HTTP/1.0 without one are not those of a browser."""
    if value is None:
        return True
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]+))(?::[0-9]{1,5})?", value)
    return found is not None and is_loopback((found[1] or found[2]).lower())


def print_log(line: str) -> None:
    """Write a line of the log to standard error."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

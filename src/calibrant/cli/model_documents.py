"""Documents of monitors: what ``calibrant monitor serve`` shows of each model and of all, from stores that are only read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from ..errors import CalibrantError
from ..monitoring.databases import is_url
from ..monitoring.monitor import Monitor
from ..monitoring.prometheus import Family, families, family, joined
from ..monitoring.store import Store
from ..util.results import number, plain_value

if TYPE_CHECKING:
    from ..monitoring.status import MonitorStatus

__all__ = ["Document", "Models", "UnreadableError"]

LAST = 90
"""Windows of the page and of the status of a model, as `monitor report` shows by default."""
KEPT_BYTES = 64 << 20
"""Size of all documents that are kept; the one that was not asked for longest is made anew."""
JSON, HTML = "application/json", "text/html; charset=utf-8"
GAUGES = "text/plain; version=0.0.4; charset=utf-8"


class UnreadableError(Exception):
    """The store of a model cannot be read at present."""


class Document(NamedTuple):
    """The body of an answer."""

    body: bytes
    type: str
    tag: str
    """Fingerprint of the body, for ``ETag``."""

    @classmethod
    def of(cls, text: str, type: str) -> Document:
        body = text.encode("utf-8", "replace")
        return cls(body, type, blake2b(body, digest_size=16).hexdigest())


class Entry(NamedTuple):
    """One model among all: the line of the index, the gauges, and its place."""

    summary: dict[str, Any]
    gauges: list[Family]
    rank: tuple[Any, ...]
    """The worst model has the lowest."""


class Models:
    """Models by name, each with the store of its monitor. Nothing is written, and a store is read anew only after it has changed."""

    def __init__(self, paths: Mapping[str, str | Path], owners: Mapping[str, str] | None = None) -> None:
        self.paths = dict(paths)
        self.owners = dict(owners or {})
        self._reading = {name: Lock() for name in self.paths}
        self._drawing = Lock()  # a chart takes a second of a processor; several at once would take as long
        self._memory: dict[str, dict[bytes, Any]] = {name: {} for name in self.paths}
        self._kept: OrderedDict[tuple[str, str], tuple[tuple[int, ...], Any, int]] = OrderedDict()
        self._keeping = Lock()
        self._size = 0

    def status(self, name: str) -> Document:
        """The status of a model as JSON."""
        found: Document = self._found(name, "status")
        return found

    def page(self, name: str) -> Document:
        """The page of a model."""
        found: Document = self._found(name, "page")
        return found

    def index(self) -> Document:
        """The page with all models, the worst first."""
        from ..reporting.html import environment

        template = environment(number=number).get_template("monitors.html")
        return Document.of(template.render(models=[each.summary for each in self._entries()]), HTML)

    def all_statuses(self) -> Document:
        """A summary of all models as JSON, the worst first."""
        import json

        found = {"models": [plain_value(each.summary) for each in self._entries()]}
        return Document.of(json.dumps(found, indent=2, allow_nan=False) + "\n", JSON)

    def gauges(self) -> Document:
        """The gauges of all models; those of a model whose store cannot be read are absent, except ``calibrant_readable``."""
        entries = sorted(self._entries(), key=lambda each: str(each.summary["model"]))
        readable = family(
            "readable",
            "Whether the store of the monitor can be read.",
            [({"model": each.summary["model"]}, int(each.summary["error"] is None)) for each in entries],
        )
        return Document.of(joined([[readable], *(each.gauges for each in entries)]), GAUGES)

    def _links(self, name: str) -> dict[str, Any]:
        place = f"/models/{quote(name, safe='')}/"
        return {"model": name, "owner": self.owners.get(name), "page": place, "status": f"{place}status.json"}

    def _entries(self) -> list[Entry]:
        return sorted(map(self._entry, self.paths), key=lambda each: each.rank)

    def _entry(self, name: str) -> Entry:
        try:
            found: Entry = self._found(name, "entry")
        except UnreadableError as error:
            empty = dict.fromkeys(("rows", "labelled", "clock", "open_alarms", "e_value", "window", "gap", "ece"))
            return Entry({**self._links(name), "verdict": None, "error": str(error), **empty}, [], (1, 0.0, name))
        return found

    def _found(self, name: str, kind: str) -> Any:
        """Something of a model, made anew if its store has changed since it was made."""
        store = Store(self.paths[name], read_only=True)
        kept = self._recall(name, kind, store.version())
        if kept is not None:
            return kept
        with self._reading[name]:
            version = store.version()  # before the store is read: a later change is found by the next request
            kept = self._recall(name, kind, version)
            if kept is not None:
                return kept
            try:
                return self._make(name, kind, version)
            except Exception as error:  # a damaged store may raise anything, and concerns its own model only
                problem = f"cannot be read ({type(error).__name__})"
                if isinstance(error, CalibrantError):
                    problem = f"{error.problem}"
                # Without the path of the store, and what a server says, which are not for every reader.
                if is_url(self.paths[name]):
                    problem = "cannot be read from its server"
                raise UnreadableError(problem.replace(str(self.paths[name]), name)) from error

    def _make(self, name: str, kind: str, version: tuple[int, ...]) -> Any:
        opened = Monitor(Store.open(self.paths[name], read_only=True, memory=self._memory[name]))
        status = opened.status(last=LAST)
        entry = _entry_of(self._links(name), status)
        document = Document.of(status.to_json() + "\n", JSON)
        self._keep(name, "entry", version, entry, 10_000)
        self._keep(name, "status", version, document, len(document.body))
        if kind != "page":
            return entry if kind == "entry" else document
        from ..reporting.timeline import render_timeline

        with self._drawing:
            page = Document.of(render_timeline(status, title=name), HTML)
        self._keep(name, "page", version, page, len(page.body))
        return page

    def _recall(self, name: str, kind: str, version: tuple[int, ...]) -> Any:
        with self._keeping:
            kept = self._kept.get((name, kind))
            if kept is None or kept[0] != version:
                return None
            self._kept.move_to_end((name, kind))
            return kept[1]

    def _keep(self, name: str, kind: str, version: tuple[int, ...], value: Any, size: int) -> None:
        with self._keeping:
            before = self._kept.pop((name, kind), None)
            self._kept[name, kind] = version, value, size
            self._size += size - (0 if before is None else before[2])
            while self._size > KEPT_BYTES and len(self._kept) > 1:
                _, (_, _, freed) = self._kept.popitem(last=False)
                self._size -= freed


def _entry_of(links: Mapping[str, Any], status: MonitorStatus) -> Entry:
    newest = status.last_labelled
    measured = None if newest is None else newest.calibration
    name = str(links["model"])
    summary = {
        **links,
        "verdict": status.verdict,
        "error": None,
        "rows": status.n,
        "labelled": status.labelled,
        "clock": status.clock,
        "open_alarms": len(status.open_alarms),
        "e_value": status.process.value,
        "window": None if newest is None else newest.window,
        "gap": None if measured is None else measured.gap,
        "ece": None if measured is None else measured.ece,
    }
    kinds = {alarm.kind for alarm in status.open_alarms}
    severity = 0 if kinds & {"calibration", "change"} else 2 if kinds else 3
    return Entry(summary, families(status, {"model": name}), (severity, -status.process.value, name))

"""Documents of monitors: what ``calibrant monitor serve`` shows of each model and of all, from stores that are only read."""

from __future__ import annotations

import json
import os
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import quote

from ..errors import CalibrantError
from ..monitoring.databases import ChangedError, is_url
from ..monitoring.fleet import FleetStatus, ModelStatus, Reading, gather, read_model
from ..monitoring.monitor import Monitor
from ..monitoring.prometheus import Family, Rows, families, family, joined
from ..monitoring.store import Store
from ..monitoring.windows import SECOND

__all__ = ["Document", "Models", "UnreadableError"]

LAST = 90
"""Windows of the page and of the status of a model, as `monitor report` shows by default."""
KEPT_BYTES = 64 << 20
"""Size of all documents that are kept; the one that was not asked for longest is made anew."""
ATTEMPTS = 5
"""How often a store is read that is written meanwhile."""
ALPHA = 0.05
"""False discovery rate of the selection among all models, as in `fleet_status`."""
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
    """One model among all."""

    reading: Reading
    gauges: list[Family]
    readable: bool


class Models:
    """Models by name, each with the store of its monitor. Nothing is written, and a store is read anew only after it has changed."""

    def __init__(
        self,
        paths: Mapping[str, str | Path],
        owners: Mapping[str, str] | None = None,
        stale: Mapping[str, int] | None = None,
    ) -> None:
        self.paths = dict(paths)
        self.owners = dict(owners or {})
        self.stale = dict(stale or {})
        self.stopped = False
        """Set when the service ends, so that documents nobody waits for are not made."""
        self._reading = {name: Lock() for name in self.paths}
        self._drawing = Lock()  # a chart takes a second of a processor; several at once would take as long
        self._memory: dict[tuple[str, int], dict[bytes, Any]] = {}
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
        from ..reporting.fleet import render_fleet

        status = self._fleet()
        links = {each.model: _page_of(each.model) for each in status.models if each.state != "failed"}
        return Document.of(render_fleet(status, title="Monitors", links=links), HTML)

    def all_statuses(self) -> Document:
        """The status of all models as JSON, the worst first, with the addresses of the models."""
        found = self._fleet().to_dict()
        for each in found["models"]:
            place = _page_of(each["model"])
            each |= {"page": place, "status": f"{place}status.json"}
        return Document.of(json.dumps(found, indent=2, allow_nan=False) + "\n", JSON)

    def gauges(self) -> Document:
        """The gauges of all models; those of a model whose store cannot be read are absent, except ``calibrant_readable``."""
        entries = {name: self._entry(name) for name in sorted(self.paths)}
        rows: Rows = [({"model": name}, int(entry.readable)) for name, entry in entries.items()]
        readable = family("readable", "Whether the store of the monitor can be read.", rows)
        return Document.of(joined([[readable], *(entry.gauges for entry in entries.values())]), GAUGES)

    def _fleet(self) -> FleetStatus:
        # To the minute, so that unchanged pages keep their fingerprint for a while.
        return gather([self._entry(name).reading for name in self.paths], ALPHA, int(time.time() // 60) * 60 * SECOND)

    def _entry(self, name: str) -> Entry:
        try:
            found: Entry = self._found(name, "entry")
        except UnreadableError as error:
            failed = ModelStatus(name, self.owners.get(name), "failed", False, "", f"its store: {error}")
            return Entry(Reading(failed), [], False)
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
                for _ in range(ATTEMPTS - 1):
                    with suppress(ChangedError):
                        return self._make(name, kind, version)
                    version = store.version()
                return self._make(name, kind, version)
            except Exception as error:  # a damaged store may raise anything, and concerns its own model only
                problem = f"cannot be read ({type(error).__name__})"
                if isinstance(error, CalibrantError):
                    problem = f"{error.problem}"
                # Without the path of the store, and what a server says, which are not for every reader.
                if is_url(self.paths[name]):
                    problem = "cannot be read from its server"
                path = str(self.paths[name])
                raise UnreadableError(problem.replace(path, name) if os.sep in path else problem) from error

    def _make(self, name: str, kind: str, version: tuple[int, ...]) -> Any:
        self._require_running()
        last = 1 if kind == "entry" else LAST
        # Results of windows that are not in the store yet, which a later status uses again.
        memory = self._memory.setdefault((name, last), {})
        opened = Monitor(Store.open(self.paths[name], read_only=True, memory=memory))
        status = opened.status(last=last)
        if kind == "entry":
            reading = read_model(name, self.owners.get(name), opened, status, patience=self.stale.get(name))
            made: Any = Entry(reading, families(status, {"model": name}), True)
        elif kind == "status":
            made = Document.of(status.to_json(), JSON)
        else:
            from ..reporting.timeline import render_timeline

            with self._drawing:
                self._require_running()
                made = Document.of(render_timeline(status, title=name), HTML)
        self._keep(name, kind, version, made, 0 if kind == "entry" else len(made.body))
        return made

    def _require_running(self) -> None:
        if self.stopped:
            raise UnreadableError("the service ends")

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
            # What is needed of every model for the index and the gauges stays, else each of them would read all stores again.
            oldest = [key for key, (_, _, each) in self._kept.items() if each and key != (name, kind)]
            for key in oldest:
                if self._size <= KEPT_BYTES:
                    break
                self._size -= self._kept.pop(key)[2]


def _page_of(name: str) -> str:
    return f"/models/{quote(name, safe='')}/"

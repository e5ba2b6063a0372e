"""Monitor: predictions watched window by window, in a store that survives crashes; labels may come later."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from ..errors import (
    ArgumentError,
    Drop,
    FileError,
    GroupError,
    InputError,
    InputTypeError,
    InPython,
    LensError,
)
from ..input.predictions import Predictions
from ..sketches.collection import ALL, Sketches
from ..views.resolve import as_predictions
from .alarms import drift_alarms, settle, start_stream
from .ingest import (
    ALL_ROWS,
    Arrivals,
    Taken,
    group_key,
    group_name,
    put_labels,
    read_arrivals,
    read_ids,
    read_labels,
    some_names,
    take_in,
)
from .labelfree import ScoreFindings
from .queries import Part, Transaction
from .settings import Settings, check_watched, read_horizon
from .status import MonitorStatus, Update, alarms_of, build_status, examine
from .store import Store
from .windows import WindowRule, read_time

__all__ = ["Monitor", "some_names"]

# Windows that are compared with the reference before they are written down.
TOGETHER = 16


class Monitor:
    """Watches predictions over time: drift, calibration as labels come, sequential tests that are valid after every window.

    Everything lies in one SQLite file. Each update is one transaction, so a crash loses at most the update being written, and
    repeating an update changes nothing. No clock of the machine is read: time is the newest time among the rows.

    >>> import os, tempfile
    >>> import calibrant as cal
    >>> from calibrant.monitoring.monitor import Monitor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     monitor = Monitor.create(os.path.join(folder, "watch.db"), reference=([0, 1, 1, 1] * 9, [0.1, 0.4, 0.8, 0.9] * 9), every="1d")
    ...     first = monitor.update(None, [0.2, 0.9], when="2026-01-05T10:00", ids=["a", "b"])
    ...     again = monitor.update(None, [0.2, 0.9], when="2026-01-05T10:00", ids=["a", "b"])
    ...     later = monitor.add_labels(["a", "b"], [0, 1])
    ...     status = monitor.status()
    >>> first.added, again.added, later.labelled, status.windows[0].labelled
    (2, 0, 2, 2)
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        with store.read() as db:
            stored, content = db.meta("settings"), db.reference()
        try:
            self.settings = Settings.of_dict(stored)
            """Fixed when it was created."""
            self.reference = Sketches.from_bytes(content, str(store.path))
            """What windows are compared with."""
        except (KeyError, TypeError, ValueError) as error:
            raise FileError(str(store.path), f"is corrupt: {error}", "restore it from a backup") from error

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        reference: Any,
        every: str | None = None,
        rows: int | None = None,
        lens: str = "auto",
        classes: Any = None,
        groups: Iterable[Any] | None = None,
        alpha: float = 0.05,
        run_length: float = 1000,
        drift_alpha: float = 0.01,
        mature: float = 0.95,
        horizon: Any = None,
        missing: Literal["ignore", "negative"] = "ignore",
        n_resamples: int = 999,
        by: str | None = None,
    ) -> Monitor:
        """Begin a monitor in a new file.

        Parameters
        ----------
        path
            The file, which must not exist.
        reference
            Labelled rows from when all was well: a pair ``(y_true, y_prob)``, Predictions or Sketches. With groups, each group is
            compared with its own.
        every, rows
            How long a window is: ``"1h"``, ``"1d"``, ``"1w"``; or so many rows in order of arrival. Days and weeks are those of UTC.
        lens
            The question: ``"binary"``, ``"top_label"`` or ``"class:NAME"``.
        classes
            Names of the classes in the order of the columns, where labels come by name.
        groups
            Groups that will be watched; by default those of the reference. Others may join later, for a smaller part of the level.
        alpha
            Probability that the bets on all rows ever raise a false alarm, and the same for all groups together.
        run_length
            Windows between false alarms of the detector of changes, on average, at least.
        drift_alpha
            Probability of a false drift alarm in each window, on average over references: all windows are compared with the same
            reference, and one that happens to lie off alarms more often. A reference much larger than the windows keeps close to it.
        mature
            Share of labels at which a window is judged.
        horizon
            How long labels are waited for: a duration, or a number of rows where windows are counted. None waits for ever.
        missing
            What a label that never came means: ``"ignore"`` the row, or it is ``"negative"``.
        n_resamples
            Exchanges of rows for the p-values of drift.
        by
            Name of the column of groups in files, which the command line then reads unless told otherwise.
        """
        if lens != "auto":
            check_watched(lens)
        sketches, named = _read_reference(reference, lens, classes)
        chosen = sketches.main if lens == "auto" else lens
        if chosen not in sketches.lenses:
            raise LensError(
                "lens", f"the reference has no sketch of {chosen!r}", f"choose one of {', '.join(sketches.lenses)}"
            )
        names = list(dict.fromkeys(group_key(name) for name in (sketches.groups if groups is None else groups)))
        rule = WindowRule.of(every, rows)
        levels = (alpha, run_length, drift_alpha, mature, read_horizon(horizon, rule), missing, n_resamples)
        settings = Settings(sketches.kind, sketches.classes, named, chosen, rule, *levels, len(names), by)
        store = Store.create(
            path,
            {"settings": settings.to_dict()},
            sketches.to_bytes(),
            [start_stream(settings, name, place, place > 0) for place, name in enumerate([ALL_ROWS, *names])],
        )
        return cls(store)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Monitor:
        """The monitor in a file; the file is looked over first, and a damaged one is refused."""
        return cls(Store.open(path))

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self._store.path

    @property
    def groups(self) -> tuple[Any, ...]:
        """Groups that are watched, in the order in which they joined."""
        with self._store.read() as db:
            return _groups_of(db)

    def update(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        when: Any = None,
        ids: Any = None,
        groups: Any = None,
        delivery: str | None = None,
        **options: Any,
    ) -> Update:
        """Add predictions, with labels where they are known.

        Parameters
        ----------
        y_true
            Labels; None or NaN for rows whose label has not come, None for all.
        y_prob
            Probabilities, as for `Predictions`; ``input=``, ``normalize=`` and ``clip=`` are taken too.
        when
            Time of each prediction, or of all; needed where windows are spans of time. Without a zone it is UTC.
        ids
            Id of each row. A row that comes twice counts once, and a label that differs replaces the old one.
        groups
            Group of each row; needed once the monitor watches groups.
        delivery
            Name of this delivery, for rows without ids: the same name comes once. Without ids and name, the content is the name.
        """
        extra = sorted(set(options) - {"input", "normalize", "clip", "sum_tolerance"})
        if extra:
            raise InputTypeError(
                extra[0], "unexpected keyword of update", "it accepts input, normalize, clip and sum_tolerance"
            )
        rows = read_arrivals(y_true, y_prob, settings=self.settings, when=when, ids=ids, groups=groups, options=options)
        if when is not None:
            self._require_time()
        with self._store.write() as db:
            begun = len(db.events())
            _require_groups(db, rows)
            if _came_before(db, rows, delivery):
                taken = Taken(repeated=rows.n)
            else:
                taken = take_in(db, self.settings, rows, lambda *w: start_stream(self.settings, *w))
                if rows.time is not None and rows.n:
                    _advance(db, int(rows.time.max()))
            moved = settle(db, self.settings)
        return self._answer(taken, moved, begun)

    def add_labels(self, ids: Any, y_true: Any, *, when: Any = None) -> Update:
        """Add labels to predictions that came before, or correct them; each goes to the window of its prediction.

        Parameters
        ----------
        ids, y_true
            Ids as they were given to `update`, and the label of each.
        when
            The time it is now, by which windows are closed and horizons pass; by default the newest time among the rows.
        """
        names = read_ids(ids, None)
        if names is None:
            raise InputError("ids", "are required to find the rows", "give the same ids as to update")
        labels = read_labels(y_true, len(names), k=self.settings.k, classes=self.settings.names)
        with self._store.write() as db:
            begun = len(db.events())
            if when is not None:
                self._pass_time(db, when)
            taken = put_labels(db, self.settings, names, labels)
            moved = settle(db, self.settings)
        return self._answer(taken, moved, begun)

    def advance(self, when: Any) -> Update:
        """Say what time it is: windows that are over by then are closed, and horizons pass."""
        with self._store.write() as db:
            begun = len(db.events())
            self._pass_time(db, when)
            moved = settle(db, self.settings)
        return self._answer(Taken(), moved, begun)

    def _require_time(self) -> None:
        if not self.settings.rule.by_time:
            raise ArgumentError("when", "applies to windows of time, and these are counted in rows", Drop("when"))

    def _pass_time(self, db: Transaction, when: Any) -> None:
        self._require_time()
        _advance(db, read_time(when))

    def status(self, *, last: int | None = 60, group: Any = None) -> MonitorStatus:
        """How things stand.

        Parameters
        ----------
        last
            How many windows to show; None for all.
        group
            Whose windows to show; None for all rows.
        """
        self._examine()
        return build_status(self._store, self.settings, self._reference_of, last, group)

    def acknowledge(self) -> int:
        """Mark all alarms as seen, so that only new ones count; gives how many there were.

        A change of calibration that goes on keeps its onset and its acknowledgement; after a recovery, or in another direction, it
        is a new one. Scores are compared with the reference in every window anew, and each window that differs raises an alarm.
        """
        with self._store.write() as db:
            return db.acknowledge()

    def sketch(self, window: str, group: Any = None, *, labelled: bool = True) -> Any:
        """The sketch of a window: of its labelled rows, or of all of them, whose outcomes then mean nothing.

        Parameters
        ----------
        window
            Its name, as the status shows it.
        group
            A group; None for all rows.
        labelled
            Which rows.
        """
        with self._store.read() as db:
            for found in db.windows(ALL_ROWS):
                if self.settings.rule.name(found.place) == window:
                    part = db.part(found.place, group_key(group), self.settings.lens)
                    return part.outcomes if labelled else part.scores
        raise ArgumentError("window", f"unknown window {window!r}", InPython("see status().windows"))

    def _reference_of(self, stream: str) -> Any:
        """What a stream is compared with; None where the reference has no such group."""
        part = self.reference.parts.get(ALL if stream == ALL_ROWS else group_name(stream))
        return None if part is None else part.lenses[self.settings.lens]

    def _answer(self, taken: Taken, moved: tuple[list[int], list[int]], begun: int) -> Update:
        self._examine()
        with self._store.read() as db:
            raised = alarms_of(db, self.settings)[begun:]
        fresh, known = (tuple(a for a in raised if a.acknowledged == seen) for seen in (False, True))
        closed, tested = (tuple(self.settings.rule.name(place) for place in places) for places in moved)
        counts = (taken.added, taken.repeated, taken.labelled, taken.revised, taken.unknown)
        return Update(*counts, taken.late_rows, taken.late_labels, closed, tested, fresh, known)

    def _examine(self) -> None:
        """Compare the scores of closed windows with the reference; a few at a time, written when all is computed."""
        with self._store.read() as db:
            places = db.unexamined()
        for begin in range(0, len(places), TOGETHER):
            some = places[begin : begin + TOGETHER]
            with self._store.read() as db:
                parts = {place: db.parts(place) for place in some}
                streams = len(db.streams())
            found = {
                place: {
                    p.stream: examine(p, self.settings, self._reference_of(p.stream), streams) for p in parts[place]
                }
                for place in some
            }
            with self._store.write() as db:
                for place in some:
                    self._note(db, place, parts[place], found[place])

    def _note(self, db: Transaction, place: int, parts: list[Part], found: dict[str, ScoreFindings]) -> None:
        """Write down what was found of a window, and its alarms."""
        window = db.window(place)
        now = {part.stream: part.scores for part in db.parts(place)}
        if window.examined or now != {part.stream: part.scores for part in parts}:
            return  # another process was faster, or rows came meanwhile: the next call looks again
        for stream, findings in found.items():
            db.save_found(place, stream, "drift", findings.to_dict())
        for stream, pvalue, words in drift_alarms(found, self.settings.drift_alpha):
            db.add_event(place, stream, "scores", pvalue, words)
        db.save_window(window._replace(examined=True))

    def __repr__(self) -> str:
        watched = f"{self.settings.lens}, windows of {self.settings.rule.words}"
        return f"Monitor({str(self.path)!r}: {watched}, reference of {self.reference.n:,} rows)"


def _read_reference(reference: Any, lens: str, classes: Any) -> tuple[Sketches, bool]:
    """The reference as sketches, and whether its classes have names."""
    if isinstance(reference, Sketches):
        if classes is not None and tuple(classes) != tuple(reference.classes):
            raise ArgumentError(
                "classes", f"the reference has the classes {list(reference.classes)}; got {list(classes)}"
            )
        found = reference
    else:
        if isinstance(reference, tuple) and len(reference) == 2:
            p = as_predictions(*reference, {} if classes is None else {"classes": classes})
        elif isinstance(reference, Predictions):
            p = reference
        else:
            raise InputTypeError(
                "reference", f"must be (y_true, y_prob), Predictions or Sketches; got {type(reference).__name__}"
            )
        found = Sketches.of(p, lenses=None if lens == "auto" else [lens])
    if not found.n:
        raise InputError("reference", "has no rows", "pass labelled reference data")
    return found, found.kind != "confidence" and tuple(found.classes) != tuple(range(len(found.classes)))


def _require_groups(db: Transaction, rows: Arrivals) -> None:
    """Rows of no group would be missing from what is watched, and nobody would notice."""
    known = _groups_of(db)
    if rows.n and rows.group is None and known:
        problem = f"are required: this monitor has the groups {some_names(known)}"
        raise GroupError("groups", problem, "give the group of each row")


def _groups_of(db: Transaction) -> tuple[Any, ...]:
    return tuple(group_name(stream) for stream in db.streams() if stream != ALL_ROWS)


def _came_before(db: Transaction, rows: Arrivals, delivery: str | None) -> bool:
    """Whether this delivery was taken in already; a new one is noted."""
    if delivery is None and rows.ids is not None:
        return False
    digest = rows.digest()
    name = f"content {digest}" if delivery is None else f"name {delivery}"
    before = db.delivery(name)
    if before is None:
        db.add_delivery(name, digest, rows.n)
        return False
    if before[0] != digest:
        raise InputError(
            "delivery",
            f"{delivery!r} was already added with other rows ({before[1]:,} then, {rows.n:,} now)",
            "give it a new name",
        )
    return True


def _advance(db: Transaction, clock: int) -> None:
    """Time goes forward only; rows from before are late, not a new time."""
    before = db.meta("clock")
    if before is None or clock > before:
        db.set_meta("clock", clock)

"""How things stand: each window in numbers, each group, the evidence and the alarms, put together from the store.

What has to be computed for a status is kept in the store for the next time.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..errors import FileError, GroupError
from ..sketches.sketch import Sketch
from ..util.results import Record, number, plain_value
from .alarms import fingerprint, judged
from .calibration import WindowCalibration, find_calibration
from .changepoint import EDetector
from .ingest import ALL_ROWS, group_key, group_name, some_names
from .labelfree import ScoreFindings, find_scores
from .prometheus import exposed
from .queries import Part, Stream, Transaction, Window
from .sequential import EProcess, e_bh
from .settings import Settings
from .store import Store
from .windows import time_text

__all__ = ["GroupStatus", "MonitorStatus", "Update", "WatchAlarm", "WindowStatus", "build_status"]

SHOWN_ALARMS = 8


@dataclass(frozen=True, repr=False)
class WatchAlarm(Record):
    """A reason to look, as it was raised."""

    number: int
    kind: str
    """``"calibration"``, ``"change"`` or ``"scores"``."""
    group: Any
    """None for all rows."""
    window: str
    evidence: float
    """An e-value for calibration, the threshold reached for a change, a p-value for scores."""
    words: str
    onset: str | None
    """The window in which the change began, by estimate."""
    acknowledged: bool

    def _title(self) -> str:
        named = "" if self.group is None else f" in group {self.group}"
        return f"{self.kind}{named}, window {self.window}: {self.words}"


@dataclass(frozen=True, repr=False)
class WindowStatus(Record):
    """One window of one stream."""

    _hidden = ("scores",)

    window: str
    start: int
    """Microseconds since 1970, or the number of the first row."""
    end: int
    state: str
    """``"open"``, ``"waiting"`` for labels, ``"judged"`` or ``"passed over"``."""
    n: int
    labelled: int
    scores: ScoreFindings
    calibration: WindowCalibration | None
    """None where no label has come."""
    e_value: float | None
    """E-value of the sequential test after this window; None where it was not tested."""
    detector: float | None
    """Statistic of the detector after this window; None where it was not tested or started again."""
    late_rows: int = 0
    late_labels: int = 0
    revised: int = 0
    changed_since_bet: bool = False
    notes: tuple[str, ...] = ()

    @property
    def share_labelled(self) -> float:
        return self.labelled / self.n if self.n else 0.0

    @property
    def accuracy_words(self) -> str:
        """Accuracy by the labels where there are any, and by estimate where some are missing; empty where neither is known."""
        c = self.calibration
        found = []
        if c is not None and c.accuracy is not None:
            rows = "labelled rows" if c.n == self.labelled else "rows, those without a label counted as negative"
            found.append(f"Accuracy is {number(c.accuracy)} on {c.n:,} {rows}.")
        if self.scores.accuracy and (c is None or c.n < self.n):
            found.append(("By estimate from the scores: " if found else "") + self.scores.accuracy[0].words)
        return " ".join(found)

    @property
    def drifted(self) -> bool:
        """Whether scores differ from the reference's at the level of the comparison."""
        return self.scores.drift is not None and self.scores.drift.rejected

    def _fields(self) -> dict[str, Any]:
        s = self.scores
        parts = {"confidence": s.confidence, "reading": s.reading, "drift": s.drift, "accuracy_estimates": s.accuracy}
        return {**super()._fields(), "share_labelled": self.share_labelled, **parts}

    def _columns(self) -> dict[str, list[Any]]:
        return {name: [value] for name, value in self.flat().items()}

    def flat(self) -> dict[str, Any]:
        """One row of numbers."""
        s, c = self.scores, self.calibration
        row: dict[str, Any] = {
            name: getattr(self, name) for name in ("window", "state", "n", "labelled", "share_labelled")
        }
        row |= {name: getattr(s.confidence, name) for name in ("mean", "median", "p90", "p99")}
        row["drift_pvalue"] = s.drift_pvalue
        if s.drift is not None:
            row |= {result.statistic: result.value for result in s.drift.results}
        row["estimated_accuracy"] = s.accuracy[0].estimate if s.accuracy else None
        for name in ("accuracy", "gap", "gap_low", "gap_high", "ece", "ece_low", "ece_high", "smece"):
            row[name] = None if c is None else getattr(c, name)
        return {**row, "e_value": self.e_value, "late_rows": self.late_rows, "late_labels": self.late_labels}

    def _title(self) -> str:
        c = self.calibration
        found = "no labels yet" if c is None else f"gap {number(c.gap)}, ece {number(c.ece)}"
        counts = f"{self.n:,} rows, {100 * self.share_labelled:.0f} % labelled"
        return f"{self.window}: {counts}, confidence {number(self.scores.confidence.mean)}, {found} ({self.state})"


@dataclass(frozen=True, repr=False)
class GroupStatus(Record):
    """How one group stands."""

    group: Any
    n: int
    labelled: int
    e_value: float
    needed: float
    """The e-value at which this group is named: chance names any group with probability at most alpha."""
    rejected: bool
    flagged: bool
    """Whether e-BH names it now: on average at most a share alpha of those named is wrong."""
    changes: int
    """Changes of calibration that its detector found; one that goes on counts once."""
    drift_pvalue: float | None
    """Of the last closed window in which it had rows."""
    declared: bool

    def _title(self) -> str:
        found = "named" if self.rejected else "not named"
        return f"{self.group}: {self.n:,} rows, {self.labelled:,} labelled, e-value {number(self.e_value)} of {number(self.needed)} needed ({found})"


@dataclass(frozen=True, repr=False)
class Update(Record):
    """What one delivery did."""

    added: int
    repeated: int
    """Rows that had come before and brought nothing new."""
    labelled: int
    revised: int
    unknown: int
    """Labels of ids that were never delivered: nothing was done with them."""
    late_rows: int
    """Rows whose window was over already."""
    late_labels: int
    """Labels of windows that were tested already: counted in their window, not tested again."""
    closed: tuple[str, ...]
    bet: tuple[str, ...]
    """Windows that were tested."""
    alarms: tuple[WatchAlarm, ...]
    """Raised by this delivery."""
    ongoing: tuple[WatchAlarm, ...] = ()
    """Changes that were acknowledged before and that go on in a window of this delivery."""

    def _title(self) -> str:
        parts = [f"{self.added:,} rows added"]
        for name, text in (
            ("repeated", "had come before"),
            ("labelled", "labels came"),
            ("revised", "labels corrected"),
            ("unknown", "labels of unknown ids, left out"),
            ("late_rows", "rows of windows that were over"),
            ("late_labels", "labels of windows already bet on, which are not bet on again"),
        ):
            if getattr(self, name):
                parts.append(f"{getattr(self, name):,} {text}")
        for name, text in (("closed", "windows closed"), ("bet", "bet on"), ("alarms", "alarms")):
            if getattr(self, name):
                parts.append(f"{len(getattr(self, name)):,} {text}")
        return re.sub(r"\b1 (row|label|window|alarm)s\b", r"1 \1", ", ".join(parts))


@dataclass(frozen=True, repr=False)
class MonitorStatus(Record):
    """Everything a monitor knows, for reading."""

    settings: Settings
    """Fixed when the monitor was created."""
    reference_n: int
    group: Any
    """Whose windows are shown; None for all rows."""
    n: int
    labelled: int
    clock: str | None
    """Newest time, or row, that was seen."""
    total_windows: int
    windows: tuple[WindowStatus, ...]
    """Those that are shown."""
    all_read: tuple[WindowStatus, ...]
    """Those, and the newest ones that are over and that have labels, in order."""
    groups: tuple[GroupStatus, ...]
    together: float | None
    """Mean e-value of the groups declared at the start: evidence that not all of them are right."""
    alarms: tuple[WatchAlarm, ...]
    process: EProcess
    detector: EDetector
    waiting: str = ""
    """Why the next window is not tested yet."""
    notes: tuple[str, ...] = ()

    @property
    def lens(self) -> str:
        """The question asked."""
        return self.settings.lens

    @property
    def every(self) -> str:
        """How long a window is."""
        return self.settings.rule.words

    @property
    def alpha(self) -> float:
        return self.settings.alpha

    @property
    def run_length(self) -> float:
        return self.settings.run_length

    @property
    def drift_alpha(self) -> float:
        return self.settings.drift_alpha

    @property
    def open_alarms(self) -> tuple[WatchAlarm, ...]:
        """Those that nobody has acknowledged."""
        return tuple(alarm for alarm in self.alarms if not alarm.acknowledged)

    @property
    def open_lines(self) -> list[str]:
        """What nobody has acknowledged, in words: each kind, group and onset once, and how often it came again."""
        stories: dict[tuple[Any, ...], list[WatchAlarm]] = {}
        for alarm in self.open_alarms:
            stories.setdefault((alarm.kind, alarm.group, alarm.onset), []).append(alarm)
        more = len(stories) - SHOWN_ALARMS
        lines = [repr(found[0]) + _again(found) for found in list(stories.values())[:SHOWN_ALARMS]]
        return [*lines, f"and {more:,} more that nobody acknowledged"] if more > 0 else lines

    @property
    def last_closed(self) -> WindowStatus | None:
        """The newest window that is over."""
        return next((w for w in reversed(self.all_read) if w.state != "open"), None)

    @property
    def last_labelled(self) -> WindowStatus | None:
        """The newest window with labels; one that is over, if any is."""
        known = [w for w in self.all_read if w.calibration is not None]
        return next((w for w in reversed(known) if w.state != "open"), known[-1] if known else None)

    @property
    def verdict(self) -> str:
        """One sentence; it never claims that predictions are calibrated."""
        if not self.n:
            return "No rows have come yet."
        kinds = {alarm.kind for alarm in self.open_alarms}
        wrong = dict.fromkeys(alarm.group for alarm in self.open_alarms if alarm.kind != "scores")
        if wrong and None not in wrong:
            return f"Alarm in groups ({some_names(list(wrong))}): their labels are no longer drawn from the scores."
        if wrong:
            return "Alarm: the labels are no longer drawn from the scores."
        if "scores" in kinds:
            return "The scores have changed. That is a reason to look, not proof of miscalibration."
        if not self.process.rows:
            return "No alarm. No window has been bet on yet, so nothing is known of calibration."
        if self.process.rejected:
            return "No new alarm. The bets had shown before that the labels are not drawn from the scores."
        rows = f"{self.process.windows:,} windows with {self.process.rows:,} labelled rows"
        known = [alarm for alarm in self.alarms if alarm.group == self.group and alarm.kind == "change"]
        if known:
            first = next(alarm for alarm in known if alarm.onset == known[-1].onset)
            return f"No new alarm in {rows}. The change found in window {first.window} was acknowledged."
        return f"No alarm in {rows}."

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON knows them: an infinite number is text."""
        settings = ("lens", "every", "alpha", "run_length", "drift_alpha")
        own = ("reference_n", "group", "n", "labelled", "clock", "total_windows", "together", "waiting")
        process = self.process
        evidence = {
            "e_value": process.value,
            "pvalue": process.pvalue,
            **{name: getattr(process, name) for name in ("reached_window", "windows", "rows")},
            "strongest": process.strongest if process.rows else None,
            "detector_alarms": len(self.detector.alarms),
        }
        values = {name: getattr(self, name) for name in (*settings, *own)}
        lists = {name: getattr(self, name) for name in ("alarms", "groups", "windows", "notes")}
        found: dict[str, Any] = plain_value({"verdict": self.verdict, **values, "bets": evidence, **lists})
        return found

    def to_json(self) -> str:
        """JSON text; what is infinite stands as text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_prometheus(self) -> str:
        """Gauges in the text form that Prometheus reads."""
        return exposed(self)

    def _columns(self) -> dict[str, list[Any]]:
        """One row for each window."""
        rows = [window.flat() for window in self.windows]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return {name: [row.get(name) for row in rows] for name in names}

    def _title(self) -> str:
        counts = f"{self.n:,} rows in {self.total_windows:,} windows of {self.every}, {self.labelled:,} labelled"
        lines = [self.verdict, f"  {counts}", *(f"  {line}" for line in self.open_lines)]
        lines += [f"  {window!r}" for window in self.windows[-5:]]
        lines += [f"  {note}" for note in (self.waiting, *self.notes) if note]
        return "\n".join(lines)


def _again(found: list[WatchAlarm]) -> str:
    if len(found) == 1:
        return ""
    times = "once more" if len(found) == 2 else f"{len(found) - 1} more times"
    return f" It came {times}, last in window {found[-1].window}."


# A status from the store


def build_status(
    store: Store, settings: Settings, reference_of: Callable[[str], Sketch | None], last: int | None, group: Any
) -> MonitorStatus:
    """How a monitor stands; see `Monitor.status`."""
    with store.read() as db:
        streams = db.streams()
        key = _known_key(group, streams)
        windows = db.windows(key, last)
        # Labels may be so late that no window shown has any; their newest numbers are shown all the same.
        newest = [w for labels in (0, 1) for w in db.newest_over(key, labels)]
        read = sorted({w.place: w for w in [*newest, *windows]}.values())
        parts = [db.part(w.place, key, settings.lens) for w in read]
        clock = db.meta("clock") if settings.rule.by_time else db.meta("rows_seen")
        evidence = {place: row for place, *row in db.evidence(key)}
        alarms, counts, total = tuple(alarms_of(db, settings)), db.totals(), db.count_windows(key)
        groups = _groups(db, settings, streams, counts, alarms)
        waiting = _waiting(db, settings)
    reference = reference_of(key)
    found = [_found(part, settings, reference, clock, len(streams)) for part in parts]
    _keep(store, parts, found)
    each = {
        w.place: _window(settings, w, p, f, evidence.get(w.place), clock)
        for w, p, f in zip(read, parts, found, strict=True)
    }
    shown = [each[w.place] for w in windows]
    n, labelled = counts.get(key, (0, 0))
    declared = [EProcess.of_dict(s.eprocess).value for s in streams.values() if s.declared]
    return MonitorStatus(
        settings=settings,
        reference_n=0 if reference is None else reference.n,
        group=group,
        n=n,
        labelled=labelled,
        clock=_clock_text(clock, settings),
        total_windows=total,
        windows=tuple(shown),
        all_read=tuple(each.values()),
        groups=groups,
        together=float(np.mean(declared)) if declared else None,
        alarms=alarms,
        process=EProcess.of_dict(streams[key].eprocess),
        detector=EDetector.of_dict(streams[key].detector),
        waiting=waiting,
        notes=_notes(shown, reference),
    )


def _clock_text(clock: int | None, settings: Settings) -> str | None:
    return None if clock is None else time_text(clock) if settings.rule.by_time else f"row {clock:,}"


def _known_key(group: Any, streams: dict[str, Stream]) -> str:
    key = group_key(group)
    if key not in streams:
        names = ", ".join(str(group_name(name)) for name in list(streams)[1:11])
        raise GroupError(
            "group", f"unknown group {group!r}", f"the groups are {names}" if names else "there are no groups"
        )
    return key


def alarms_of(db: Transaction, settings: Settings) -> list[WatchAlarm]:
    """All alarms, in the order in which they were raised."""
    name = settings.rule.name
    return [
        WatchAlarm(
            number, kind, group_name(stream), name(place), evidence, words, None if onset is None else name(onset), seen
        )
        for number, place, stream, kind, evidence, words, onset, seen in db.events()
    ]


def _groups(
    db: Transaction,
    settings: Settings,
    streams: dict[str, Stream],
    counts: dict[str, tuple[int, int]],
    alarms: tuple[WatchAlarm, ...],
) -> tuple[GroupStatus, ...]:
    rows = [stream for stream in streams.values() if stream.stream != ALL_ROWS]
    if not rows:
        return ()
    states = [EProcess.of_dict(stream.eprocess) for stream in rows]
    flagged = e_bh([state.value for state in states], alpha=settings.alpha).tolist()
    changes = Counter(group for group, _ in {(group_key(a.group), a.onset) for a in alarms if a.kind == "change"})
    return tuple(
        GroupStatus(
            group_name(stream.stream),
            *counts.get(stream.stream, (0, 0)),
            state.value,
            1 / state.alpha,
            state.rejected,
            flag,
            changes[stream.stream],
            db.last_drift(stream.stream),
            stream.declared,
        )
        for stream, state, flag in zip(rows, states, flagged, strict=True)
    )


def _waiting(db: Transaction, settings: Settings) -> str:
    """Why the next window that is over is not tested."""
    window = next((w for w in db.waiting() if w.closed), None)
    if window is None:
        return ""
    n, labelled = db.counts(window.place, ALL_ROWS)
    told = f"Window {settings.rule.name(window.place)} waits for labels: {labelled:,} of {n:,} came, and {settings.mature:.0%} are needed."
    return told + (
        "" if settings.horizon is not None else " No horizon is set, so it and all later windows wait until they do."
    )


def _found(
    part: Part, settings: Settings, reference: Sketch | None, clock: int | None, streams: int
) -> tuple[ScoreFindings, WindowCalibration | None]:
    """What was found before, if the rows are still the same; else it is found now."""
    if part.drift is not None:
        scores = ScoreFindings.of_dict(part.drift)
    else:
        scores = examine(part, settings, reference, streams)
    rows = judged(part, settings, clock)
    kept = part.measured
    if kept is not None and kept["n"] == rows.n:
        return scores, WindowCalibration(**kept)
    return scores, find_calibration(rows, part.scores, part.outcomes)


def examine(part: Part, settings: Settings, reference: Sketch | None, streams: int) -> ScoreFindings:
    """Compare the scores of one of so many streams in a window with the reference."""
    levels: dict[str, Any] = {"alpha": settings.drift_alpha, "n_resamples": settings.n_resamples}
    return find_scores(part.scores, reference, streams=streams, **levels)


def _keep(store: Store, parts: list[Part], found: list[tuple[ScoreFindings, WindowCalibration | None]]) -> None:
    """Write down what was computed, where the rows have not changed meanwhile; a store that cannot be written is read all the same."""
    new: list[tuple[Part, str, dict[str, Any]]] = []
    for part, (scores, calibration) in zip(parts, found, strict=True):
        if part.drift is None:
            new.append((part, "drift", scores.to_dict()))
        if calibration is not None and (part.measured is None or part.measured["n"] != calibration.n):
            new.append((part, "measured", asdict(calibration)))
    if not new:
        return
    try:
        with store.write() as db:
            for part, column, content in new:
                now = db.part(part.place, part.stream, part.scores.lens)
                if now.scores == part.scores and now.outcomes == part.outcomes:
                    db.save_found(part.place, part.stream, column, content)
    except FileError as error:
        if "read-only" not in error.problem:
            raise


def _window(
    settings: Settings,
    window: Window,
    part: Part,
    found: tuple[ScoreFindings, WindowCalibration | None],
    evidence: list[Any] | None,
    clock: int | None,
) -> WindowStatus:
    state = ("waiting" if window.closed else "open", "judged", "passed over")[window.tested]
    changed = evidence is not None and evidence[0] != fingerprint(judged(part, settings, clock))
    notes = []
    if window.late_rows:
        notes.append(f"{window.late_rows:,} rows came after the window was over")
    if window.late_labels:
        notes.append(
            f"{window.late_labels:,} labels came or were corrected after the bet; they count here and were not bet on"
        )
    if window.revised:
        notes.append(f"{window.revised:,} labels were corrected")
    if window.tested == 2:
        notes.append("its rows came after later windows were bet on, so it is never bet on")
    e_value, detector = (None, None) if evidence is None else (_power(evidence[1]), _power(evidence[2]))
    counts = (window.late_rows, window.late_labels, window.revised)
    name, span = settings.rule.name(window.place), settings.rule.span(window.place)
    return WindowStatus(
        name, *span, state, part.n, part.labelled, *found, e_value, detector, *counts, changed, tuple(notes)
    )


def _power(log: float | None) -> float | None:
    return None if log is None else math.inf if log >= 1e6 else math.exp(min(log, 709.0))


def _notes(shown: list[WindowStatus], reference: Sketch | None) -> tuple[str, ...]:
    notes = [f"Window {w.window}: {note}." for w in shown for note in w.notes]
    if reference is None:
        notes.append("The reference has no such group, so its drift is not known.")
    return tuple(notes)

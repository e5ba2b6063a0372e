"""How things stand: each window in numbers, each group, the bets, the alarms; as text, JSON, a frame, or lines for Prometheus."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..util.results import frame_of, html_lines, html_table, number
from .detectors import EDetector
from .eprocess import EProcess
from .findings import ScoreFindings, WindowCalibration
from .settings import Settings

__all__ = ["GroupStatus", "MonitorStatus", "Update", "WatchAlarm", "WindowStatus"]

SHOWN_ALARMS = 8
STATES = {
    "open": "still filling",
    "waiting": "over, labels awaited",
    "judged": "bet on",
    "passed over": "came after later windows were bet on, so it is shown and never bet on",
}


@dataclass(frozen=True)
class WatchAlarm:
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

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def to_frame(self) -> Any:
        """One row, as a frame of the library at hand."""
        return frame_of({name: [value] for name, value in self.to_dict().items()})

    def __repr__(self) -> str:
        named = "" if self.group is None else f" in group {self.group}"
        return f"{self.kind}{named}, window {self.window}: {self.words}"

    def _repr_html_(self) -> str:
        return html_table(list(self.to_dict()), [[str(v) for v in self.to_dict().values()]], repr(self))


@dataclass(frozen=True)
class WindowStatus:
    """One window of one stream."""

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
    """Capital of the bets after this window; None where it was not bet on."""
    detector: float | None
    """Statistic of the detector after this window; None where it was not bet on or started again."""
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

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        plain = ("window", "start", "end", "state", "n", "labelled", "share_labelled")
        more = ("e_value", "detector", "late_rows", "late_labels", "revised", "changed_since_bet")
        s = self.scores
        parts = {
            "confidence": s.confidence.to_dict(),
            "reading": None if s.reading is None else s.reading.to_dict(),
            "drift": None if s.drift is None else s.drift.to_dict(),
            "accuracy_estimates": [found.to_dict() for found in s.accuracy],
            "calibration": None if self.calibration is None else self.calibration.to_dict(),
        }
        values = {name: getattr(self, name) for name in (*plain, *more)}
        return {**values, **parts, "notes": list(self.notes)}

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

    def to_frame(self) -> Any:
        """One row, as a frame of the library at hand."""
        return frame_of({name: [value] for name, value in self.flat().items()})

    def __repr__(self) -> str:
        c = self.calibration
        found = "no labels yet" if c is None else f"gap {number(c.gap)}, ece {number(c.ece)}"
        counts = f"{self.n:,} rows, {100 * self.share_labelled:.0f} % labelled"
        return f"{self.window}: {counts}, confidence {number(self.scores.confidence.mean)}, {found} ({self.state})"

    def _repr_html_(self) -> str:
        flat = self.flat()
        return html_table(list(flat), [[_cell(value) for value in flat.values()]], repr(self))


@dataclass(frozen=True)
class GroupStatus:
    """How one group stands."""

    group: Any
    n: int
    labelled: int
    e_value: float
    needed: float
    """The capital at which this group is named: chance names any group with probability at most alpha."""
    rejected: bool
    flagged: bool
    """Whether e-BH names it now: on average at most a share alpha of those named is wrong."""
    changes: int
    """Changes of calibration that its detector found; one that goes on counts once."""
    drift_pvalue: float | None
    """Of the last closed window in which it had rows."""
    declared: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def to_frame(self) -> Any:
        """One row, as a frame of the library at hand."""
        return frame_of({name: [value] for name, value in self.to_dict().items()})

    def __repr__(self) -> str:
        found = "named" if self.rejected else "not named"
        return f"{self.group}: {self.n:,} rows, {self.labelled:,} labelled, e-value {number(self.e_value)} of {number(self.needed)} needed ({found})"

    def _repr_html_(self) -> str:
        return html_table(list(self.to_dict()), [[_cell(v) for v in self.to_dict().values()]], repr(self))


@dataclass(frozen=True)
class Update:
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
    """Labels of windows that were bet on already: counted in their window, not bet on again."""
    closed: tuple[str, ...]
    bet: tuple[str, ...]
    alarms: tuple[WatchAlarm, ...]
    """Raised by this delivery."""
    ongoing: tuple[WatchAlarm, ...] = ()
    """Changes that were acknowledged before and that go on in a window of this delivery."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        lists = {"closed": list(self.closed), "bet": list(self.bet)}
        raised = {name: [alarm.to_dict() for alarm in getattr(self, name)] for name in ("alarms", "ongoing")}
        return {**values, **lists, **raised}

    def to_frame(self) -> Any:
        """One row of counts, as a frame of the library at hand."""
        names = ("added", "repeated", "labelled", "revised", "unknown", "late_rows", "late_labels")
        return frame_of({name: [getattr(self, name)] for name in names})

    def __repr__(self) -> str:
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

    def _repr_html_(self) -> str:
        return html_table(["what"], [[part] for part in repr(self).split(", ")])


@dataclass(frozen=True)
class MonitorStatus:
    """Everything a monitor knows, for reading."""

    settings: Settings = field(repr=False)
    """What the monitor was told when it was made."""
    reference_n: int
    group: Any
    """Whose windows are shown; None for all rows."""
    n: int
    labelled: int
    clock: str | None
    """Newest time, or row, that was seen."""
    total_windows: int
    windows: tuple[WindowStatus, ...] = field(repr=False)
    """Those that are shown."""
    all_read: tuple[WindowStatus, ...] = field(repr=False)
    """Those, and the newest ones that are over and that have labels, in order."""
    groups: tuple[GroupStatus, ...] = field(repr=False)
    together: float | None
    """Mean e-value of the groups declared at the start: evidence that not all of them are right."""
    alarms: tuple[WatchAlarm, ...] = field(repr=False)
    process: EProcess = field(repr=False)
    detector: EDetector = field(repr=False)
    waiting: str = ""
    """Why the next window is not bet on yet."""
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
            named = ", ".join(map(str, list(wrong)[:5])) + (" and others" if len(wrong) > 5 else "")
            return f"Alarm in groups ({named}): their labels are no longer drawn from the scores."
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
        """Plain values."""
        names = (
            "lens",
            "every",
            "alpha",
            "run_length",
            "drift_alpha",
            "reference_n",
            "group",
            "n",
            "labelled",
            "clock",
        )
        bets = {
            "e_value": self.process.value,
            "p_value": self.process.pvalue,
            "reached_window": self.process.reached_window,
            "windows": self.process.windows,
            "rows": self.process.rows,
            "strongest": self.process.strongest if self.process.rows else None,
            "detector_alarms": len(self.detector.alarms),
        }
        lists = {name: [item.to_dict() for item in getattr(self, name)] for name in ("alarms", "groups", "windows")}
        more = {"total_windows": self.total_windows, "together": self.together, "waiting": self.waiting}
        return {
            "verdict": self.verdict,
            **{name: getattr(self, name) for name in names},
            **more,
            "bets": bets,
            **lists,
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """JSON text; what is infinite stands as text."""
        return json.dumps(_finite(self.to_dict()), indent=2, allow_nan=False)

    def to_frame(self) -> Any:
        """One row for each window, as a frame of the library at hand."""
        rows = [window.flat() for window in self.windows]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return frame_of({name: [row.get(name) for row in rows] for name in names})

    def to_prometheus(self) -> str:
        """Gauges in the text form that Prometheus reads."""
        from .prometheus import exposed

        return exposed(self)

    def __repr__(self) -> str:
        counts = f"{self.n:,} rows in {self.total_windows:,} windows of {self.every}, {self.labelled:,} labelled"
        lines = [self.verdict, f"  {counts}", *(f"  {line}" for line in self.open_lines)]
        lines += [f"  {window!r}" for window in self.windows[-5:]]
        lines += [f"  {note}" for note in (self.waiting, *self.notes) if note]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [window.flat() for window in self.windows]
        said = html_lines(repr(self))
        if not rows:
            return said
        return said + html_table(list(rows[0]), [[_cell(value) for value in row.values()] for row in rows])


def _again(found: list[WatchAlarm]) -> str:
    if len(found) == 1:
        return ""
    times = "once more" if len(found) == 2 else f"{len(found) - 1} more times"
    return f" It came {times}, last in window {found[-1].window}."


def _cell(value: Any) -> str:
    return number(value) if isinstance(value, float) or value is None else str(value)


def _finite(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {str(key): _finite(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_finite(value) for value in content]
    return str(content) if isinstance(content, float) and not math.isfinite(content) else content

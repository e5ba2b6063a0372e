"""Status of a monitor: windows, groups, evidence and alarms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..util.results import Record, number, percent, plain_value, several
from .calibration import WindowCalibration
from .changepoint import EDetector
from .drift import INVESTIGATE
from .ingest import balance, balance_text, group_key, some_names
from .labelfree import ScoreFindings
from .online import OnlineRecalibration
from .prometheus import expose
from .sequential import EProcess
from .settings import Settings

if TYPE_CHECKING:
    from ..evaluation.subgroups import Subgroups

SHOWN_ALARMS = 8


@dataclass(frozen=True, repr=False)
class Alarm(Record):
    """An alarm of the monitor.

    Parameters
    ----------
    number : int
        Number of the alarm.
    kind : {"calibration", "change", "scores", "ood"}
        Sequential test since the start, change detector, score drift, or drift of an out-of-distribution score.
    group : object
        Group; None for all rows.
    window : str
        Window in which it was raised.
    evidence : float
        E-value of the sequential test, run length of the detector, or adjusted p-value of the drift.
    words : str
        Description.
    onset : str or None
        Window of the estimated onset of the change.
    acknowledged : bool
        Whether it was acknowledged.
    score : str or None
        Name of the out-of-distribution score; None for the other kinds.
    """

    number: int
    kind: str
    group: Any
    window: str
    evidence: float
    words: str
    onset: str | None
    acknowledged: bool
    score: str | None = None

    def _title(self) -> str:
        score = "" if self.score is None else f" {self.score}"
        group = "" if self.group is None else f" in group {self.group}"
        return f"{self.kind}{score}{group}, window {self.window}: {self.words}"


@dataclass(frozen=True, repr=False)
class WindowStatus(Record):
    """Results of one window, for all rows or a group.

    Parameters
    ----------
    window : str
        Name of the window.
    start : int
        Start in microseconds since 1970, or index of the first row.
    end : int
        End, exclusive.
    state : {"open", "waiting", "tested", "skipped"}
        Open; closed and waiting for labels; tested; or skipped, because later windows were tested first.
    n : int
        Number of rows.
    labelled : int
        Number of labelled rows.
    scores : ScoreFindings
        Confidence, score drift and estimated performance.
    calibration : WindowCalibration or None
        Calibration of the labelled rows; None without labels.
    e_value : float or None
        E-value of the sequential test after this window; None if it was not tested.
    detector : float or None
        Statistic of the change detector after this window; None if not tested or restarted.
    late_rows : int
        Rows that arrived after the window was closed.
    late_labels : int
        Labels that arrived after the window was tested.
    revised : int
        Labels that were corrected.
    changed_since_test : bool
        Whether the labelled rows have changed since the test.
    notes : tuple of str
        Notes.
    """

    _hidden = ("scores",)

    window: str
    start: int
    end: int
    state: str
    n: int
    labelled: int
    scores: ScoreFindings
    calibration: WindowCalibration | None
    e_value: float | None
    detector: float | None
    late_rows: int = 0
    late_labels: int = 0
    revised: int = 0
    changed_since_test: bool = False
    notes: tuple[str, ...] = ()

    @property
    def share_labelled(self) -> float:
        return self.labelled / self.n if self.n else 0.0

    @property
    def accuracy_words(self) -> str:
        """Accuracy of the labelled rows, and estimated performance if labels are missing; empty if neither is available."""
        c = self.calibration
        sentences = []
        if c is not None and c.accuracy is not None:
            rows = "labelled rows" if c.n == self.labelled else "rows, unlabelled ones counted as negative"
            sentences.append(f"Accuracy {number(c.accuracy)} on {c.n:,} {rows}.")
        if self.scores.performance is not None and (c is None or c.n < self.n):
            sentences.append(self.scores.performance.words)
        return " ".join(sentences)

    @property
    def drifted(self) -> bool:
        """Whether the scores differ significantly from the reference data."""
        return self.scores.drift is not None and self.scores.drift.rejected

    def _fields(self) -> dict[str, Any]:
        names = ["confidence", "reading", "drift", "performance", *(["ood"] if self.scores.ood else [])]
        findings = {name: getattr(self.scores, name) for name in names}
        return {**super()._fields(), "share_labelled": self.share_labelled, **findings}

    def _columns(self) -> dict[str, list[Any]]:
        return {name: [value] for name, value in self.flat().items()}

    def flat(self) -> dict[str, Any]:
        """Return the numbers of the window as one row.

        Returns
        -------
        dict
            Values by column.
        """
        s, c = self.scores, self.calibration
        row: dict[str, Any] = {
            name: getattr(self, name) for name in ("window", "state", "n", "labelled", "share_labelled")
        }
        row |= {name: getattr(s.confidence, name) for name in ("mean", "median", "p90", "p99")}
        row["drift_pvalue"] = s.drift_pvalue
        if s.drift is not None:
            row |= {result.statistic: result.value for result in s.drift.results}
        for score in s.ood:
            numbers = {"median": score.median, "p90": score.p90, "p99": score.p99, "beyond": score.beyond}
            row |= {f"ood_{score.name}_{name}": value for name, value in {**numbers, "pvalue": score.pvalue}.items()}
        for each in () if s.performance is None else s.performance.estimates:
            row |= {f"estimated_{each.metric}": each.estimate}
            row |= {f"estimated_{each.metric}_low": each.low, f"estimated_{each.metric}_high": each.high}
        for name in ("accuracy", "gap", "gap_low", "gap_high", "ece", "ece_low", "ece_high", "smece"):
            row[name] = None if c is None else getattr(c, name)
        return {**row, "e_value": self.e_value, "late_rows": self.late_rows, "late_labels": self.late_labels}

    def _title(self) -> str:
        c, estimated = self.calibration, self.scores.performance
        calibration = "no labels yet" if c is None else f"gap {number(c.gap)}, ece {number(c.ece)}"
        counts = f"{self.n:,} rows, {100 * self.share_labelled:.0f}% labelled"
        ood = "".join(f", {score.name} {number(score.median)}" for score in self.scores.ood)
        if estimated is not None and self.labelled < self.n:
            first = estimated.estimates[0]
            ood += f", estimated {first.metric} {number(first.estimate)} ({number(first.low)} to {number(first.high)})"
        return f"{self.window}: {counts}, confidence {number(self.scores.confidence.mean)}{ood}, {calibration} ({self.state})"


@dataclass(frozen=True, repr=False)
class GroupStatus(Record):
    """Status of one group.

    Parameters
    ----------
    group : object
        Name of the group.
    n : int
        Number of rows.
    labelled : int
        Number of labelled rows.
    e_value : float
        E-value of the sequential test.
    needed : float
        Critical value; all groups together are ever rejected falsely with probability at most alpha.
    rejected : bool
        Whether the sequential test rejects calibration of the group.
    flagged : bool
        Whether the e-BH procedure selects the group; the false discovery rate is at most alpha.
    changes : int
        Changes found by the change detector; a continuing one counts once.
    drift_pvalue : float or None
        Adjusted p-value of the score drift in the last closed window in which the group had rows.
    declared : bool
        Whether the group was declared when the monitor was created.
    """

    group: Any
    n: int
    labelled: int
    e_value: float
    needed: float
    rejected: bool
    flagged: bool
    changes: int
    drift_pvalue: float | None
    declared: bool

    def _title(self) -> str:
        result = "rejected" if self.rejected else "not rejected"
        return f"{self.group}: {self.n:,} rows, {self.labelled:,} labelled, e-value {number(self.e_value)}, critical value {number(self.needed)} ({result})"


@dataclass(frozen=True, repr=False)
class Update(Record):
    """Result of an update of a monitor.

    Parameters
    ----------
    added : int
        Rows added.
    repeated : int
        Rows delivered before or twice, or labels that are known already.
    labelled : int
        Labels added.
    revised : int
        Labels corrected.
    unknown : int
        Labels whose predictions have not arrived; kept, and added with them.
    late_rows : int
        Rows whose window was closed already.
    late_labels : int
        Labels of windows tested already; counted in their window, not tested again.
    closed : tuple of str
        Windows closed.
    tested : tuple of str
        Windows tested.
    alarms : tuple of Alarm
        Alarms raised.
    ongoing : tuple of Alarm
        Acknowledged changes that continue.
    pruned : int
        Rows and labels of predictions that were pruned; ignored.
    missing : int
        Ids given to `add_labels` without a label; ignored.
    rows : int or None
        Rows delivered by `update`: each is added, repeated, pruned or dropped (`dropped_rows`).
    labels : int or None
        Labels delivered by `add_labels`: each is labelled, revised, repeated, unknown, missing or pruned.
    dropped_rows : int
        Rows of the file that the command line did not add because of missing values.
    """

    added: int = 0
    repeated: int = 0
    labelled: int = 0
    revised: int = 0
    unknown: int = 0
    late_rows: int = 0
    late_labels: int = 0
    closed: tuple[str, ...] = ()
    tested: tuple[str, ...] = ()
    alarms: tuple[Alarm, ...] = ()
    ongoing: tuple[Alarm, ...] = ()
    pruned: int = 0
    missing: int = 0
    rows: int | None = None
    labels: int | None = None
    dropped_rows: int = 0

    @property
    def balance(self) -> dict[str, int]:
        """What became of each row or label delivered: their number, and its parts."""
        return balance(vars(self))

    def _title(self) -> str:
        sentences = [balance_text(self.balance)] if self.rows or self.labels else []
        effects = {} if self.labels is not None else {"labelled": "labels added", "revised": "labels corrected"}
        effects |= {"late_rows": "rows late, their windows were closed"}
        effects |= {"late_labels": "labels late, their windows were tested"}
        changes = [f"{getattr(self, name):,} {text}" for name, text in effects.items() if getattr(self, name)]
        for name, text in (("closed", "windows closed"), ("tested", "windows tested"), ("alarms", "alarms")):
            if getattr(self, name):
                changes.append(f"{len(getattr(self, name)):,} {text}")
        sentences += [", ".join(changes)] if changes else []
        text = "; ".join(sentences) or "no changes"
        return re.sub(r"\b1 (row|label|window|alarm)s\b", r"1 \1", text)


@dataclass(frozen=True, repr=False)
class MonitorStatus(Record):
    """Status of a monitor, or of one of its groups.

    Printed, it shows the verdict, open alarms and the last windows; `to_frame` has one row per window.

    Parameters
    ----------
    settings : Settings
        Settings, fixed at creation.
    reference_n : int
        Rows of the reference data.
    group : object
        Group whose windows are shown; None for all rows.
    n : int
        Number of rows.
    labelled : int
        Number of labelled rows.
    clock : str or None
        Newest time, or number of rows.
    total_windows : int
        Number of windows.
    windows : tuple of WindowStatus
        The windows shown.
    all_read : tuple of WindowStatus
        The windows shown, and the newest closed and labelled ones, in order.
    groups : tuple of GroupStatus
        Status of each group.
    together : float or None
        Mean e-value of the groups declared at creation: evidence that at least one is miscalibrated.
    alarms : tuple of Alarm
        All alarms.
    process : EProcess
        Sequential test since the start.
    detector : EDetector
        Change detector.
    waiting : str
        Why the next window is not tested yet.
    notes : tuple of str
        Notes.
    subgroups : Subgroups or None
        Subgroups of the newest tested window, for a monitor that stores features.
    online : OnlineRecalibration or None
        Comparison of the online recalibration with the scores, for a monitor that keeps one.
    """

    settings: Settings
    reference_n: int
    group: Any
    n: int
    labelled: int
    clock: str | None
    total_windows: int
    windows: tuple[WindowStatus, ...]
    all_read: tuple[WindowStatus, ...]
    groups: tuple[GroupStatus, ...]
    together: float | None
    alarms: tuple[Alarm, ...]
    process: EProcess
    detector: EDetector
    waiting: str = ""
    notes: tuple[str, ...] = ()
    subgroups: Subgroups | None = None
    online: OnlineRecalibration | None = None

    @property
    def lens(self) -> str:
        """The lens, such as ``"binary"``."""
        return self.settings.lens

    @property
    def every(self) -> str:
        """Length of a window as text."""
        return self.settings.rule.words

    @property
    def open_alarms(self) -> tuple[Alarm, ...]:
        """Alarms that are not acknowledged."""
        return tuple(alarm for alarm in self.alarms if not alarm.acknowledged)

    @property
    def open_lines(self) -> list[str]:
        """Open alarms as text: each kind, group and onset once, with the number of repetitions and that of the first alarm."""
        stories = stories_of(self.open_alarms)
        unlisted = len(stories) - SHOWN_ALARMS
        lines = [f"{story_text(story)} [alarm {story[0].number}]" for story in stories[:SHOWN_ALARMS]]
        return [*lines, f"and {unlisted:,} more open alarms"] if unlisted > 0 else lines

    @property
    def last_closed(self) -> WindowStatus | None:
        """The newest closed window."""
        return next((w for w in reversed(self.all_read) if w.state != "open"), None)

    @property
    def last_labelled(self) -> WindowStatus | None:
        """The newest window with labels, closed if possible."""
        labelled = [w for w in self.all_read if w.calibration is not None]
        return next((w for w in reversed(labelled) if w.state != "open"), labelled[-1] if labelled else None)

    @property
    def counts(self) -> str:
        """Numbers of rows, windows and labels, and of rows in windows that are still open, which are tested later."""
        text = f"{several(self.n, 'row')} in {several(self.total_windows, 'window')} of {self.every}, {self.labelled:,} labelled"
        open_windows = [w for w in self.all_read if w.state == "open"]
        if not open_windows:
            return text
        windows = f"{several(len(open_windows), 'open window')} ({some_names([w.window for w in open_windows])})"
        return f"{text}; {several(sum(w.n for w in open_windows), 'row')} in {windows}, tested when newer rows arrive or the current time is advanced"

    @property
    def verdict(self) -> str:
        """One sentence; it never claims that predictions are calibrated."""
        if not self.n:
            return "No rows yet."
        alarm_kinds = {alarm.kind for alarm in self.open_alarms}
        groups = dict.fromkeys(alarm.group for alarm in self.open_alarms if alarm.kind in ("calibration", "change"))
        if groups and None not in groups:
            return f"Alarm: calibration lost in groups ({some_names(list(groups))})."
        if groups:
            return f"Alarm: calibration lost{self._since_onset()}."
        if "scores" in alarm_kinds:
            return f"Score drift: the score distribution has changed. {INVESTIGATE}"
        if "ood" in alarm_kinds:
            names = some_names(list(dict.fromkeys(a.score for a in self.open_alarms if a.kind == "ood")))
            return f"Drift of out-of-distribution scores ({names}): the inputs may differ from the reference data. {INVESTIGATE}"
        if not self.process.rows:
            return "No alarm. No window has been tested yet, so calibration cannot be assessed."
        if self.process.rejected:
            return "No new alarm. The sequential test rejected calibration earlier."
        rows = f"{several(self.process.windows, 'window')} with {several(self.process.rows, 'labelled row')}"
        changes = [alarm for alarm in self.alarms if alarm.group == self.group and alarm.kind == "change"]
        if changes:
            first = next(alarm for alarm in changes if alarm.onset == changes[-1].onset)
            return f"No new alarm in {rows}. The change detected in window {first.window} was acknowledged."
        return f"No alarm in {rows}."

    def _since_onset(self) -> str:
        """Onset of the newest open alarm of all rows, and predicted and observed rates since then, if they are shown."""
        alarm = [a for a in self.open_alarms if a.group is None and a.kind in ("calibration", "change")][-1]
        if alarm.onset is None:
            return ""
        names = [w.window for w in self.all_read]
        since = self.all_read[names.index(alarm.onset) :] if self.group is None and alarm.onset in names else ()
        calibrations = [w.calibration for w in since if w.calibration is not None]
        if not calibrations:
            return f" since {alarm.onset}"
        rows = sum(c.n for c in calibrations)
        predicted, observed = (
            sum(getattr(c, name) * c.n for c in calibrations) / rows for name in ("mean_score", "rate")
        )
        mean, rate = ("mean confidence", "accuracy") if self.lens == "top_label" else ("predicted", "observed")
        return f" since {alarm.onset}; {mean} {percent(predicted)}, {rate} {percent(observed)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the status as plain values.

        Returns
        -------
        dict
            JSON values; infinite numbers are text.
        """
        levels = {name: getattr(self.settings, name) for name in ("alpha", "run_length", "drift_alpha")}
        header = ("reference_n", "group", "n", "labelled", "clock", "total_windows", "together", "waiting")
        process = self.process
        evidence = {
            "e_value": process.value,
            "pvalue": process.pvalue,
            **{name: getattr(process, name) for name in ("reached_window", "windows", "rows")},
            "strongest": process.strongest if process.rows else None,
            "detector_alarms": len(self.detector.alarms),
        }
        values = {"lens": self.lens, "every": self.every, **levels, **{name: getattr(self, name) for name in header}}
        values |= {"ood": [score.name for score in self.settings.ood]} if self.settings.ood else {}
        values |= {} if self.subgroups is None else {"subgroups": self.subgroups.to_dict()["subgroups"]}
        values |= {} if self.online is None else {"online": self.online.to_dict()}
        lists = {name: getattr(self, name) for name in ("alarms", "groups", "windows", "notes")}
        plain: dict[str, Any] = plain_value({"verdict": self.verdict, **values, "evidence": evidence, **lists})
        return plain

    def to_prometheus(self, labels: Mapping[str, str] | None = None) -> str:
        """Return gauges in the text format of Prometheus.

        Parameters
        ----------
        labels : mapping of str to str, optional
            Labels of every gauge, such as ``{"model": "churn"}``; they distinguish the series of several monitors.

        Returns
        -------
        str
            The lines.
        """
        return expose(self, labels)

    def _columns(self) -> dict[str, list[Any]]:
        """One row per window."""
        rows = [window.flat() for window in self.windows]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return {name: [row.get(name) for row in rows] for name in names}

    def _title(self) -> str:
        lines = [self.verdict, f"  {self.counts}", *(f"  {line}" for line in self.open_lines)]
        lines += [f"  {window!r}" for window in self.windows[-5:]]
        lines += [f"  {note}" for note in (self.waiting, *self.notes) if note]
        return "\n".join(lines)


def stories_of(alarms: Iterable[Alarm]) -> list[list[Alarm]]:
    """Alarms with their repetitions: those of one kind, score, group and onset, acknowledged or not, are one."""
    stories: dict[tuple[Any, ...], list[Alarm]] = {}
    for alarm in alarms:
        key = (alarm.acknowledged, alarm.kind, alarm.score, group_key(alarm.group), alarm.onset)
        stories.setdefault(key, []).append(alarm)
    return list(stories.values())


def story_text(story: list[Alarm]) -> str:
    """An alarm, and how often it was repeated."""
    if len(story) == 1:
        return repr(story[0])
    times = "once" if len(story) == 2 else f"{len(story) - 1} times"
    return f"{story[0]!r} Repeated {times}, last in window {story[-1].window}."

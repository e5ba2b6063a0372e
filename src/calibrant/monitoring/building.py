"""Build the status of a monitor from its store, in which computed results are cached."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import FileError, GroupError
from ..inference.multiplicity import e_bh
from ..sketches.sketch import Sketch
from .alarms import OOD, fingerprint, judged_rows
from .calibration import WindowCalibration, find_calibration
from .changepoint import EDetector
from .ingest import ALL_ROWS, group_key, group_name, known_keys
from .labelfree import ScoreFindings, find_ood, find_scores
from .queries import Part, Stream, Transaction, Window
from .sequential import EProcess
from .set_aside import describe, files_set_aside
from .settings import Settings
from .status import Alarm, GroupStatus, MonitorStatus, WindowStatus
from .store import Store, is_unwritable
from .windows import time_text

WindowFindings = tuple[ScoreFindings, WindowCalibration | None]
"""Findings on the scores of a window, and the calibration of its labelled rows."""


class Baseline(NamedTuple):
    """Reference data of a stream."""

    scores: Sketch | None
    """None if they do not contain the group."""
    ood: Mapping[str, Sketch]
    """Out-of-distribution scores by name."""


def build_status(
    store: Store, settings: Settings, reference_of: Callable[..., Baseline], last: int | None, group: Any
) -> MonitorStatus:
    """Build the status of a monitor; see `Monitor.status`."""
    with store.read() as db:
        streams = db.streams()
        key = next(iter(known_keys([group_key(group)], streams).values()))
        if key not in streams:
            names = ", ".join(str(group_name(name)) for name in list(streams)[1:11])
            remedy = f"the groups are {names}" if names else "there are no groups"
            raise GroupError("group", f"unknown group {group!r}", remedy)
        windows = db.windows(key, last)
        # Labels may be so late that no window shown has any; the newest labelled window is read in addition.
        newest = [w for labels in (0, 1) for w in db.newest_over(key, labels)]
        all_read = sorted({w.place: w for w in [*newest, *windows]}.values())
        parts = [db.part(w.place, key, settings.lens) for w in all_read]
        clock = db.meta("clock") if settings.rule.by_time else db.meta("rows_seen")
        evidence = {place: row for place, *row in db.evidence(key)}
        alarms, counts, total = tuple(alarms_of(db, settings)), db.totals(), db.count_windows(key)
        groups = _group_statuses(db, settings, streams, counts, alarms)
        waiting, early = _why_waiting(db, settings, clock), db.count_early()
        ignored = db.meta("labels_of_pruned") or 0
        files = [f"Set aside: {describe(file)}" for file in files_set_aside(db).values()]
    reference = reference_of(key)
    findings = [_find_results(part, settings, reference_of(key, part.place), clock, len(streams)) for part in parts]
    _cache_findings(store, parts, findings)
    statuses = {
        window.place: _window_status(settings, window, part, results, evidence.get(window.place), clock)
        for window, part, results in zip(all_read, parts, findings, strict=True)
    }
    listed_statuses = [statuses[window.place] for window in windows]
    n, labelled = counts.get(key, (0, 0))
    declared = [EProcess.of_dict(s.eprocess).value for s in streams.values() if s.declared]
    return MonitorStatus(
        settings=settings,
        reference_n=0 if reference.scores is None else reference.scores.n,
        group=group,
        n=n,
        labelled=labelled,
        clock=None if clock is None else time_text(clock) if settings.rule.by_time else f"row {clock:,}",
        total_windows=total,
        windows=tuple(listed_statuses),
        all_read=tuple(statuses.values()),
        groups=groups,
        together=float(np.mean(declared)) if declared else None,
        alarms=alarms,
        process=EProcess.of_dict(streams[key].eprocess),
        detector=EDetector.of_dict(streams[key].detector),
        waiting=waiting,
        notes=(*_notes(listed_statuses, reference.scores, early, ignored), *files),
    )


def alarms_of(db: Transaction, settings: Settings) -> list[Alarm]:
    """All alarms in order."""
    name = settings.rule.name
    return [
        Alarm(
            number=number,
            kind="ood" if kind.startswith(OOD) else kind,
            group=group_name(stream),
            window=name(place),
            evidence=evidence,
            words=sentence,
            onset=None if onset is None else name(onset),
            acknowledged=acknowledged,
            score=kind.removeprefix(OOD) if kind.startswith(OOD) else None,
        )
        for number, place, stream, kind, evidence, sentence, onset, acknowledged in db.events()
    ]


def _group_statuses(
    db: Transaction,
    settings: Settings,
    streams: dict[str, Stream],
    counts: dict[str, tuple[int, int]],
    alarms: tuple[Alarm, ...],
) -> tuple[GroupStatus, ...]:
    processes = {key: EProcess.of_dict(stream.eprocess) for key, stream in streams.items() if key != ALL_ROWS}
    if not processes:
        return ()
    flags = e_bh([process.value for process in processes.values()], alpha=settings.alpha).tolist()
    changes = Counter(group for group, _ in {(group_key(a.group), a.onset) for a in alarms if a.kind == "change"})
    statuses = []
    for (key, process), flagged in zip(processes.items(), flags, strict=True):
        n, labelled = counts.get(key, (0, 0))
        status = GroupStatus(
            group=group_name(key),
            n=n,
            labelled=labelled,
            e_value=process.value,
            needed=1 / process.alpha,
            rejected=process.rejected,
            flagged=flagged,
            changes=changes[key],
            drift_pvalue=db.last_drift(key),
            declared=streams[key].declared,
        )
        statuses.append(status)
    return tuple(statuses)


def _why_waiting(db: Transaction, settings: Settings, clock: int | None) -> str:
    """Why the next closed window is not tested."""
    window = next((w for w in db.waiting() if w.closed), None)
    if window is None:
        return ""
    n, labelled = db.counts(window.place, ALL_ROWS)
    name = settings.rule.name(window.place)
    if settings.is_past_horizon(window.place, clock):
        return f"Window {name} has no labels, though its horizon has passed; it is tested if labels arrive before those of later windows."
    text = f"Window {name} is waiting for labels: {labelled:,} of {n:,} available, {settings.mature:.0%} needed."
    return text + ("" if settings.horizon is not None else " Without a horizon, this and all later windows wait.")


def _find_results(
    part: Part, settings: Settings, reference: Baseline, clock: int | None, streams: int
) -> WindowFindings:
    """Results of a part, cached if its rows have not changed."""
    scores = examine(part, settings, reference, streams) if part.drift is None else ScoreFindings.of_dict(part.drift)
    rows = judged_rows(part, settings, clock)
    if part.measured is not None and part.measured["n"] == rows.n:
        return scores, WindowCalibration(**part.measured)
    return scores, find_calibration(rows, part.scores, part.outcomes)


def examine(part: Part, settings: Settings, reference: Baseline, streams: int) -> ScoreFindings:
    """Compare the scores of one of `streams` streams in a window with the reference data."""
    # Each score has an equal share of the level (Bonferroni); alarms adjust all of them together (Holm), which is never stricter.
    alpha = settings.drift_alpha / (1 + len(settings.ood))
    levels: dict[str, Any] = {"alpha": alpha, "n_resamples": settings.n_resamples, "streams": streams}
    scores = find_scores(part.scores, reference.scores, **levels)
    if not settings.ood:
        return scores
    ood = (find_ood(each, part.ood[each.name], reference.ood.get(each.name), **levels) for each in settings.ood)
    return replace(scores, ood=tuple(ood))


def _cache_findings(store: Store, parts: list[Part], findings: list[WindowFindings]) -> None:
    """Cache computed results unless the rows have changed meanwhile; stores that cannot be written are left unchanged."""
    computed: list[tuple[Part, str, dict[str, Any]]] = []
    for part, (scores, calibration) in zip(parts, findings, strict=True):
        if part.drift is None:
            computed.append((part, "drift", scores.to_dict()))
        if calibration is not None and (part.measured is None or part.measured["n"] != calibration.n):
            computed.append((part, "measured", asdict(calibration)))
    if not computed:
        return
    try:
        with store.write(patient=False) as db:
            for part, column, content in computed:
                stored = db.part(part.place, part.stream, part.scores.lens)
                if (stored.scores, stored.ood, stored.outcomes) == (part.scores, part.ood, part.outcomes):
                    db.save_results(part.place, part.stream, column, content)
    except FileError as error:
        if not is_unwritable(error):
            raise


def _window_status(
    settings: Settings,
    window: Window,
    part: Part,
    findings: WindowFindings,
    evidence: list[Any] | None,
    clock: int | None,
) -> WindowStatus:
    digest, log_e_value, log_detector = (None, None, None) if evidence is None else evidence
    start, end = settings.rule.span(window.place)
    scores, calibration = findings
    return WindowStatus(
        window=settings.rule.name(window.place),
        start=start,
        end=end,
        state=("waiting" if window.closed else "open", "tested", "skipped")[window.tested],
        n=part.n,
        labelled=part.labelled,
        scores=scores,
        calibration=calibration,
        e_value=_exponential(log_e_value),
        detector=_exponential(log_detector),
        late_rows=window.late_rows,
        late_labels=window.late_labels,
        revised=window.revised,
        changed_since_test=evidence is not None and digest != fingerprint(judged_rows(part, settings, clock)),
        notes=window.notes,
    )


def _exponential(log: float | None) -> float | None:
    """An e-value from its logarithm, which is at least 1e6 for an infinite one."""
    return None if log is None else math.inf if log >= 1e6 else math.exp(min(log, 709.0))


def _notes(statuses: list[WindowStatus], reference: Sketch | None, early: int, ignored: int) -> tuple[str, ...]:
    notes = [f"Window {w.window}: {note}." for w in statuses for note in w.notes]
    if early:
        notes.append(f"Labels waiting for their predictions: {early:,}.")
    if ignored:
        notes.append(f"Labels of pruned predictions, ignored: {ignored:,}.")
    if reference is None:
        notes.append("The reference data do not contain this group, so its drift is unknown.")
    return tuple(notes)

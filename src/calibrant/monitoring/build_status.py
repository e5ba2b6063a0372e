"""A status put together from the store; what has to be computed for it is kept there for the next time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

from ..errors import FileError, GroupError
from ..sketches.sketch import Sketch
from .arrivals import ALL_ROWS, group_key, group_name
from .betting import fingerprint, judged
from .combining import combine_evalues, e_bh
from .detectors import EDetector
from .eprocess import EProcess
from .findings import ScoreFindings, WindowCalibration, find_calibration, find_scores
from .queries import Book, Part, Stream, Window
from .settings import Settings
from .status import GroupStatus, MonitorStatus, WatchAlarm, WindowStatus
from .store import Store
from .windows import time_text

__all__ = ["alarms_of", "stand"]


def stand(
    store: Store, settings: Settings, reference_of: Callable[[str], Sketch | None], last: int | None, group: Any
) -> MonitorStatus:
    """How a monitor stands; see `Monitor.status`."""
    with store.read() as book:
        streams = book.streams()
        key = _known_key(group, streams)
        windows = book.windows(key, last)
        # Labels may be so late that no window shown has any; their newest numbers are shown all the same.
        newest = [w for labels in (0, 1) for w in book.newest_over(key, labels)]
        read = sorted({w.place: w for w in [*newest, *windows]}.values())
        parts = [book.part(w.place, key, settings.lens) for w in read]
        clock = book.meta("clock") if settings.rule.by_time else book.meta("rows_seen")
        bets = {place: row for place, *row in book.bets(key)}
        alarms, counts, total = tuple(alarms_of(book, settings)), book.totals(), book.count_windows(key)
        groups = _groups(book, settings, streams, counts, alarms)
        waiting = _waiting(book, settings)
    reference = reference_of(key)
    found = [_found(part, settings, reference, clock, len(streams)) for part in parts]
    _keep(store, parts, found)
    each = {
        w.place: _window(settings, w, p, f, bets.get(w.place), clock)
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
        together=combine_evalues(declared) if declared else None,
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
            "group", f"{group!r} was never seen", f"the groups are {names}" if names else "there are no groups"
        )
    return key


def alarms_of(book: Book, settings: Settings) -> list[WatchAlarm]:
    """All alarms, in the order in which they were raised."""
    name = settings.rule.name
    return [
        WatchAlarm(
            number, kind, group_name(stream), name(place), evidence, words, None if onset is None else name(onset), seen
        )
        for number, place, stream, kind, evidence, words, onset, seen in book.events()
    ]


def _groups(
    book: Book,
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
            book.last_drift(stream.stream),
            stream.declared,
        )
        for stream, state, flag in zip(rows, states, flagged, strict=True)
    )


def _waiting(book: Book, settings: Settings) -> str:
    """Why the next window that is over is not bet on."""
    window = next((w for w in book.waiting() if w.closed), None)
    if window is None:
        return ""
    n, labelled = book.counts(window.place, ALL_ROWS)
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
        words: dict[str, Any] = {"alpha": settings.drift_alpha, "n_resamples": settings.n_resamples, "streams": streams}
        scores = find_scores(part.scores, reference, **words)
    rows = judged(part, settings, clock)
    kept = part.measured
    if kept is not None and kept["n"] == rows.n:
        return scores, WindowCalibration(**kept)
    return scores, find_calibration(rows, part.scores, part.outcomes)


def _keep(store: Store, parts: list[Part], found: list[tuple[ScoreFindings, WindowCalibration | None]]) -> None:
    """Write down what was computed, where the rows have not changed meanwhile; a store that cannot be written is read all the same."""
    new = [
        (part, "drift" if which == 0 else "measured", value.to_dict())
        for part, pair in zip(parts, found, strict=True)
        for which, value in enumerate(pair)
        if value is not None and (part.drift, part.measured)[which] != value.to_dict()
    ]
    if not new:
        return
    try:
        with store.write() as book:
            for part, column, content in new:
                now = book.part(part.place, part.stream, part.scores.lens)
                if now.scores == part.scores and now.outcomes == part.outcomes:
                    book.save_found(part.place, part.stream, column, content)
    except FileError as error:
        if "read-only" not in error.problem:
            raise


def _window(
    settings: Settings,
    window: Window,
    part: Part,
    found: tuple[ScoreFindings, WindowCalibration | None],
    bet: list[Any] | None,
    clock: int | None,
) -> WindowStatus:
    state = (
        "judged" if window.bet == 1 else "passed over" if window.bet == 2 else "waiting" if window.closed else "open"
    )
    changed = bet is not None and bet[0] != fingerprint(judged(part, settings, clock))
    notes = []
    if window.late_rows:
        notes.append(f"{window.late_rows:,} rows came after the window was over")
    if window.late_labels:
        notes.append(
            f"{window.late_labels:,} labels came or were corrected after the bet; they count here and were not bet on"
        )
    if window.revised:
        notes.append(f"{window.revised:,} labels were corrected")
    if window.bet == 2:
        notes.append("its rows came after later windows were bet on, so it is never bet on")
    e_value, detector = (None, None) if bet is None else (_power(bet[1]), _power(bet[2]))
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

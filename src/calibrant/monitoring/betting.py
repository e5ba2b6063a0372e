"""Windows are closed, and bet on once, in order, when enough labels have come; what comes later is recorded and not bet on again."""

from __future__ import annotations

import hashlib
import math
from typing import Any

from .._results import number
from ..sketch import Sketch
from .arrivals import ALL_ROWS
from .book import Book, Part, Stream, Window
from .changepoint import locate_change
from .counting import completed
from .detectors import EDetector, start_detector
from .eprocess import EProcess, start_eprocess
from .settings import Settings
from .wagers import RULED_OUT

__all__ = ["fingerprint", "judged", "settle", "start_stream"]


def start_stream(settings: Settings, name: str, group_number: int, declared: bool) -> Stream:
    """Bets that have not begun, for all rows or for a group with its part of the level."""
    share = 1.0 if name == ALL_ROWS else settings.share(group_number, declared)
    process = start_eprocess(alpha=settings.alpha * share, lens=settings.lens)
    detector = start_detector(run_length=settings.run_length / share, lens=settings.lens)
    return Stream(name, group_number, declared, process.to_dict(), detector.to_dict())


def fingerprint(sketch: Sketch) -> str:
    """A short name of what a sketch holds."""
    return hashlib.sha256(sketch.to_bytes()).hexdigest()[:32]


def judged(part: Part, settings: Settings, clock: int | None) -> Sketch:
    """The labelled rows; after the horizon all rows, where a missing label means no event."""
    if settings.missing == "negative" and settings.is_past_horizon(part.place, clock):
        return completed(part.scores, part.outcomes)
    return part.outcomes


def settle(book: Book, settings: Settings) -> tuple[list[int], list[int]]:
    """Close the windows that are over and bet on those that are ready; gives both."""
    clock = book.meta("clock") if settings.rule.by_time else book.meta("rows_seen")
    closed = []
    for window in book.waiting():
        if not window.closed and clock is not None and clock >= settings.rule.span(window.place)[1]:
            book.save_window(window._replace(closed=True))
            closed.append(window.place)
    bet = []
    last = book.last_bet()
    for window in book.waiting():
        if last is not None and window.place < last:
            if window.closed:
                book.save_window(window._replace(bet=2))
            continue
        if not window.closed or not _is_ready(book, settings, window, clock):
            break
        _bet_on(book, settings, window, clock)
        bet.append(window.place)
        last = window.place
    return closed, bet


def _is_ready(book: Book, settings: Settings, window: Window, clock: int | None) -> bool:
    n, labelled = book.counts(window.place, ALL_ROWS)
    return (n > 0 and labelled >= settings.mature * n) or settings.is_past_horizon(window.place, clock)


def _bet_on(book: Book, settings: Settings, window: Window, clock: int | None) -> None:
    streams = book.streams()
    for part in book.parts(window.place):
        stream = streams.get(part.stream)
        if stream is None:
            continue
        rows = judged(part, settings, clock)
        before = EProcess.of_dict(stream.eprocess)
        process, detector = before.update(rows), EDetector.of_dict(stream.detector).update(rows)
        logs = (_finite(process.log_value), _finite(detector.log_value))
        book.add_bet(window.place, part.stream, fingerprint(rows), rows.n, *logs)
        book.save_stream(stream._replace(eprocess=process.to_dict(), detector=detector.to_dict()))
        if process.rejected and not before.rejected:
            _alarm(book, settings, part, "calibration", process.value, process.verdict, clock, since=None)
        if detector.alarmed:
            words = (
                f"The labels stopped being drawn from the scores: bets that could begin at any window reached "
                f"{number(detector.run_length)}, as chance does at most every {number(detector.run_length)} windows on average."
            )
            since = detector.alarms[-2] if len(detector.alarms) > 1 else 0
            _alarm(book, settings, part, "change", detector.run_length, words, clock, since=since)
    book.save_window(book.window(window.place)._replace(bet=1))


def _finite(value: float) -> float | None:
    """A logarithm for the store; of nothing there is none, and of certainty the largest that a picture can show."""
    return None if value == -math.inf else min(value, 1e6)


def _alarm(
    book: Book,
    settings: Settings,
    part: Part,
    kind: str,
    evidence: float,
    words: str,
    clock: int | None,
    *,
    since: int | None,
) -> None:
    """Record an alarm with an estimate of when the change began, from the windows bet on since the last start."""
    places = [place for place, *_ in book.bets(part.stream)][since or 0 :]
    parts = (book.part(place, part.stream, settings.lens) for place in places)
    rows = ((past.place, judged(past, settings, clock)) for past in parts)
    found = [(place, sketch) for place, sketch in rows if sketch.n]
    onset = None
    if found:
        change: Any = locate_change([sketch for _, sketch in found])
        onset = found[change.index][0]
        words += f" By estimate it began at {settings.rule.name(onset)}: {_plainly(change.alternative)}."
    book.add_event(part.place, part.stream, kind, evidence, words, onset)


def _plainly(alternative: str) -> str:
    """What a bet on a shift or slope of the logit means for the scores; what was impossible stands as it is."""
    if alternative == RULED_OUT:
        return alternative
    size = float(alternative.rsplit(" ", 1)[1])
    if "shift" in alternative:
        return f"scores too {'high' if size < 0 else 'low'} ({alternative})"
    return f"scores {'too extreme' if size < 1 else 'not extreme enough'} ({alternative})"

"""Windows are closed, and bet on once, in order, when enough labels have come; what comes later is recorded and not bet on again."""

from __future__ import annotations

import hashlib
import math

from ..sketches.sketch import Sketch
from ..util.results import number
from .alternatives import RULED_OUT
from .arrivals import ALL_ROWS
from .changepoint import goes_on, locate_change
from .counting import completed
from .detectors import EDetector, start_detector
from .eprocess import EProcess, start_eprocess
from .queries import Book, Part, Stream, Window
from .settings import Settings

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
            past = _labelled(book, settings, part.stream, clock, 0)
            words, onset = _dated(process.verdict, past, settings)
            book.add_event(part.place, part.stream, "calibration", process.value, words, onset)
        if detector.alarmed:
            _note_change(book, settings, part, detector, clock)
    book.save_window(book.window(window.place)._replace(bet=1))


def _note_change(book: Book, settings: Settings, part: Part, detector: EDetector, clock: int | None) -> None:
    """Record an alarm of the detector: a new change, or the last one that goes on, with its onset and acknowledgement."""
    *earlier, started = (0, *detector.alarms[:-1])
    past = _labelled(book, settings, part.stream, clock, started)
    onset, seen = book.last_event(part.stream, "change")
    if onset is not None and earlier:
        before = _labelled(book, settings, part.stream, clock, earlier[-1], started)
        if before and past and goes_on([s for _, s in before], [s for _, s in past], detector.run_length):
            change = locate_change([sketch for _, sketch in past])
            words = f"The change that began at {settings.rule.name(onset)} by estimate goes on: {_plainly(change.alternative)}."
            book.add_event(part.place, part.stream, "change", detector.run_length, words, onset, seen)
            return
    words = (
        f"The labels stopped being drawn from the scores: bets that could begin at any window reached "
        f"{number(detector.run_length)}, as chance does at most every {number(detector.run_length)} windows on average."
    )
    words, onset = _dated(words, past, settings)
    book.add_event(part.place, part.stream, "change", detector.run_length, words, onset)


def _finite(value: float) -> float | None:
    """A logarithm for the store; of nothing there is none, and of certainty the largest that a picture can show."""
    return None if value == -math.inf else min(value, 1e6)


def _labelled(
    book: Book, settings: Settings, stream: str, clock: int | None, start: int, stop: int | None = None
) -> list[tuple[int, Sketch]]:
    """Windows of a stream that were bet on, from one number to another in the order of the bets, where they have labels."""
    places = [place for place, *_ in book.bets(stream)][start:stop]
    parts = (book.part(place, stream, settings.lens) for place in places)
    rows = ((past.place, judged(past, settings, clock)) for past in parts)
    return [(place, sketch) for place, sketch in rows if sketch.n]


def _dated(words: str, past: list[tuple[int, Sketch]], settings: Settings) -> tuple[str, int | None]:
    """Words of an alarm with an estimate of when the change began, and that window."""
    if not past:
        return words, None
    change = locate_change([sketch for _, sketch in past])
    onset = past[change.index][0]
    return words + f" By estimate it began at {settings.rule.name(onset)}: {_plainly(change.alternative)}.", onset


def _plainly(alternative: str) -> str:
    """What a bet on a shift or slope of the logit means for the scores; what was impossible stands as it is."""
    if alternative == RULED_OUT:
        return alternative
    size = float(alternative.rsplit(" ", 1)[1])
    if "shift" in alternative:
        return f"scores too {'high' if size < 0 else 'low'} ({alternative})"
    return f"scores {'too extreme' if size < 1 else 'not extreme enough'} ({alternative})"

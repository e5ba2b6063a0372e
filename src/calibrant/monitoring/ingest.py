"""Rows and labels put into their windows: what is new counts, what came before does not, what was corrected replaces the old."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .arrivals import ALL_ROWS, UNKNOWN, Arrivals, group_name
from .counting import minus, sketch_of
from .queries import Book, Known, Part, Stream, Texts
from .settings import Settings

__all__ = ["Taken", "put_labels", "take_in"]

Whole = NDArray[np.int64]
Start = Callable[[str, int, bool], Stream]
SCORES, OUTCOMES, REMOVED = 0, 1, 2


@dataclass
class Taken:
    """What a delivery changed."""

    added: int = 0
    repeated: int = 0
    """Rows that had been delivered before and brought nothing new."""
    labelled: int = 0
    """Labels that came."""
    revised: int = 0
    """Labels that replaced others."""
    unknown: int = 0
    """Labels of ids that were never delivered."""
    late_rows: int = 0
    late_labels: int = 0
    places: set[int] = field(default_factory=set)


class _Change(NamedTuple):
    """Rows that move: into the scores, into the outcomes, or out of them."""

    kind: int
    place: Whole
    stream: Texts
    score: NDArray[np.float64]
    outcome: NDArray[np.bool_]


def take_in(book: Book, settings: Settings, rows: Arrivals, start: Start) -> Taken:
    """Put a delivery into its windows.

    Parameters
    ----------
    book
        The store inside a transaction.
    settings
        Those of the monitor.
    rows
        What came.
    start
        Makes the stream of a group that was never seen.
    """
    rows, repeated = _distinct(rows)
    known = book.known(rows.ids or [])
    fresh = np.ones(rows.n, bool)
    fresh[known.row] = False
    stream = np.full(rows.n, ALL_ROWS, object) if rows.group is None else np.array(rows.group, object)
    place = _places(book, settings, rows, fresh, known)
    _refuse_other_values(rows, known, place, stream, settings)
    right = rows.label == rows.target
    seen = fresh & (rows.label != UNKNOWN)
    changes = [
        _Change(kind, place[which], stream[which], rows.score[which], right[which])
        for kind, which in ((SCORES, fresh), (OUTCOMES, seen))
    ]
    taken = Taken(added=int(fresh.sum()), labelled=int(seen.sum()), repeated=repeated)
    if rows.ids is not None:
        ids = np.array(rows.ids, object)
        columns = (ids, place, stream, rows.score, rows.target, rows.label)
        book.add_rows(zip(*(column[fresh].tolist() for column in columns), strict=True))
        changes += _relabel(book, ids, rows.label, known, taken)
    _join(book, stream, start)
    taken.late_rows = _count_late(book, place[fresh], "late_rows")
    _apply(book, settings, changes, taken)
    return taken


def put_labels(book: Book, settings: Settings, ids: list[str], label: Whole) -> Taken:
    """Labels for rows that were delivered before; ids that were not are counted.

    Parameters
    ----------
    book, settings
        As for `take_in`.
    ids, label
        Ids as text, and the class number of each, -1 where it is not known.
    """
    names = np.array(ids, object)
    first = _first_of(ids)
    other = np.flatnonzero(label != label[first])
    if len(other):
        row = int(other[0])
        told = f"row {row} has the id {ids[row]!r} of row {first[row]}, and another label"
        raise InputError("ids", told, "one id, one label", row=row)
    once = first == np.arange(len(ids))
    names, label = names[once], label[once]
    known = book.known(names.tolist())
    taken = Taken(unknown=len(names) - len(known.row), repeated=int((~once).sum()))
    changes = _relabel(book, names, label, known, taken)
    _apply(book, settings, changes, taken)
    return taken


def _first_of(ids: list[str]) -> Whole:
    """The first row with the id of each row."""
    if len(set(ids)) == len(ids):
        return np.arange(len(ids))
    _, first, inverse = np.unique(np.array(ids, str), return_index=True, return_inverse=True)
    return np.asarray(first[inverse], np.int64)


def _distinct(rows: Arrivals) -> tuple[Arrivals, int]:
    """Each id once; two rows with one id must be the same row."""
    if rows.ids is None:
        return rows, 0
    first = _first_of(rows.ids)
    once = first == np.arange(rows.n)
    if once.all():
        return rows, 0
    columns: list[NDArray[Any]] = [rows.score, rows.target, rows.label]
    columns += [] if rows.time is None else [rows.time]
    columns += [] if rows.group is None else [np.array(rows.group, object)]
    other = np.flatnonzero(np.any([column != column[first] for column in columns], axis=0))
    if len(other):
        row = int(other[0])
        told = f"row {row} has the id {rows.ids[row]!r} of row {first[row]}, and differs from it"
        raise InputError("ids", told, "one id, one row", row=row)
    time = None if rows.time is None else rows.time[once]
    group = None if rows.group is None else np.array(rows.group, object)[once].tolist()
    ids = np.array(rows.ids, object)[once].tolist()
    return Arrivals(rows.score[once], rows.target[once], rows.label[once], time, ids, group), int((~once).sum())


def _places(book: Book, settings: Settings, rows: Arrivals, fresh: NDArray[np.bool_], known: Known) -> Whole:
    """The window of each row; counted windows take new rows in the order in which they come."""
    if settings.rule.by_time:
        assert rows.time is not None
        return settings.rule.place_of(rows.time)
    place = np.zeros(rows.n, np.int64)
    begun, more = int(book.meta("rows_seen") or 0), int(fresh.sum())
    place[fresh] = settings.rule.place_of(begun + np.arange(more))
    place[known.row] = known.place
    book.set_meta("rows_seen", begun + more)
    return place


def _refuse_other_values(rows: Arrivals, known: Known, place: Whole, stream: Texts, settings: Settings) -> None:
    """A prediction that was made cannot change; only its label can."""
    at = known.row
    score = (known.score != rows.score[at]) | (known.target != rows.target[at])
    moved, group = known.place != place[at], known.stream != stream[at]
    bad = np.flatnonzero(score | moved | group)
    if not len(bad) or rows.ids is None:
        return
    k = int(bad[0])
    row = int(at[k])
    if score[k]:
        told = f"was predicted {rows.score[row]:.6g}, and {known.score[k]:.6g} before"
    elif moved[k]:
        name = settings.rule.name
        told = f"lies in window {name(int(place[row]))}, and in {name(int(known.place[k]))} before"
    else:
        told = f"belongs to group {group_name(stream[row])!r}, and to {group_name(known.stream[k])!r} before"
    raise InputError("ids", f"row {row}, id {rows.ids[row]!r}, {told}", "a new prediction needs a new id", row=row)


def _relabel(book: Book, ids: Texts, label: Whole, known: Known, taken: Taken) -> list[_Change]:
    """Labels that came for rows that were there; the same label again changes nothing."""
    new = label[known.row]
    moved = (new != UNKNOWN) & (new != known.label)
    taken.repeated += int((~moved).sum())
    rows, new = known.take(moved), new[moved]
    had = rows.label != UNKNOWN
    old = rows.take(had)
    taken.labelled += int((~had).sum())
    taken.revised += int(had.sum())
    book.relabel(zip(new.tolist(), ids[rows.row].tolist(), strict=True))
    _count(book, old.place, "revised")
    taken.late_labels += _count_late(book, rows.place, "late_labels")
    return [
        _Change(REMOVED, old.place, old.stream, old.score, old.label == old.target),
        _Change(OUTCOMES, rows.place, rows.stream, rows.score, new == rows.target),
    ]


def _join(book: Book, stream: Texts, start: Start) -> None:
    """Groups that are seen for the first time begin their bets, in the order in which they came."""
    there = book.streams()
    count = len(there) - 1
    for name in dict.fromkeys(stream.tolist()):
        if name not in there:
            count += 1
            book.save_stream(start(name, count, False))


def _count(book: Book, place: Whole, what: str) -> None:
    for where, count in zip(*(part.tolist() for part in np.unique(place, return_counts=True)), strict=True):
        window = book.window(where)
        book.save_window(window._replace(**{what: getattr(window, what) + count}))


def _count_late(book: Book, place: Whole, what: str) -> int:
    """Rows of windows that are over, or labels of windows that were bet on: counted in their window and in the answer."""
    places = {where: book.window(where) for where in np.unique(place).tolist()}
    late = [where for where, window in places.items() if (window.closed if what == "late_rows" else window.bet == 1)]
    behind = place[np.isin(place, late)]
    _count(book, behind, what)
    return len(behind)


def _apply(book: Book, settings: Settings, changes: list[_Change], taken: Taken) -> None:
    """Add and take away, window by window and stream by stream."""
    kind = np.concatenate([np.full(len(c.place), c.kind) for c in changes])
    place, stream, score, outcome = (np.concatenate([c[i] for c in changes]) for i in range(1, 5))
    if not len(place):
        return
    order = np.argsort(place, kind="stable")
    where, starts = np.unique(place[order], return_index=True)
    for there, rows in zip(where.tolist(), np.split(order, starts[1:]), strict=True):
        for name in [ALL_ROWS, *sorted(set(stream[rows].tolist()) - {ALL_ROWS})]:
            own = rows if name == ALL_ROWS else rows[stream[rows] == name]
            _change_part(book, settings, (there, name), kind[own], score[own], outcome[own])
        taken.places.add(there)


def _change_part(
    book: Book, settings: Settings, key: tuple[int, str], kind: Whole, score: Any, outcome: NDArray[np.bool_]
) -> None:
    part = book.part(*key, settings.lens)
    more, come, gone = (kind == which for which in (SCORES, OUTCOMES, REMOVED))
    scores = part.scores.merge(sketch_of(score[more], None, settings.lens))
    outcomes = part.outcomes.merge(sketch_of(score[come], outcome[come], settings.lens))
    if gone.any():
        outcomes = minus(outcomes, sketch_of(score[gone], outcome[gone], settings.lens))
    kept = None if more.any() else part.drift
    book.save_part(Part(*key, scores.n, outcomes.n, scores, outcomes, kept, None))

"""Retention: rows of windows that were judged are removed after some time; sketches, results and alarms stay.

Of a removed row a fingerprint of its id remains, so that a row or label that comes again is recognized and not counted twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..util.results import Record, several
from .queries import Transaction, Window
from .settings import Settings
from .windows import read_duration

__all__ = ["Pruned", "prunable", "prune_rows"]

PORTION = 1_000_000
"""Rows that are removed together."""


@dataclass(frozen=True, repr=False)
class Pruned(Record):
    """Result of `Monitor.prune`.

    Parameters
    ----------
    rows : int
        Rows removed.
    windows : tuple of str
        Their windows.
    waiting : tuple of str
        Older windows whose rows are kept, because they wait for labels.
    kept : int
        Rows that remain.
    size_before : int
        Size of the store in bytes.
    size_after : int
        Size afterwards.
    dry_run : bool
        Whether nothing was removed.
    """

    rows: int
    windows: tuple[str, ...]
    waiting: tuple[str, ...]
    """Older windows whose rows are kept, because they wait for labels."""
    kept: int
    size_before: int
    size_after: int
    dry_run: bool = False

    def _title(self) -> str:
        if not self.rows:
            lines = ["No rows to remove"]
        else:
            verb = "would be removed" if self.dry_run else "removed"
            span = " to ".join(dict.fromkeys((self.windows[0], self.windows[-1])))
            lines = [f"{several(self.rows, 'row')} of {several(len(self.windows), 'window')} ({span}) {verb}"]
        lines.append(f"{self.kept:,} {'remain' if self.kept != 1 else 'remains'}")
        if self.waiting:
            lines.append(f"{several(len(self.waiting), 'older window')} waiting for labels")
        if not self.dry_run:
            lines.append(f"size {_megabytes(self.size_before)}, now {_megabytes(self.size_after)}")
        return "; ".join(lines)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def prunable(db: Transaction, settings: Settings, keep: int | str) -> tuple[list[int], list[int]]:
    """Windows whose rows are no longer needed, and windows as old that wait for labels.

    A window is done when it is closed, which `Monitor.prune` has compared with the reference data by then, and tested or
    skipped, and when its labels are complete or their horizon has passed. Without a horizon, its unlabelled rows stay.
    """
    clock = db.meta("clock") if settings.rule.by_time else db.meta("rows_seen")
    windows = db.windows_with_rows()
    if isinstance(keep, str):
        length = read_duration(keep, "keep")
        old = [w for w in windows if clock is not None and settings.rule.span(w.place)[1] + length <= clock]
    else:
        old = windows[: max(0, len(windows) - keep)]
    unlabelled = {} if settings.horizon is None else db.count_unlabelled()

    def is_done(window: Window) -> bool:
        waits = window.place in unlabelled and not settings.is_past_horizon(window.place, clock)
        return bool(window.closed and window.tested and not waits)

    return [w.place for w in old if is_done(w)], [w.place for w in old if not is_done(w)]


def prune_rows(db: Transaction, settings: Settings, keep: int | str, dry_run: bool) -> dict[str, Any]:
    """Remove the rows of windows that are done; gives the fields of `Pruned` but the sizes."""
    done, waiting = prunable(db, settings, keep)
    unexamined = set() if dry_run else set(db.unexamined())  # rows arrived since the comparison
    every = db.count_rows()
    # Without a horizon there is no time after which a label is not expected any longer.
    waits = db.count_unlabelled() if settings.horizon is None else {}
    counts = {place: n - waits.get(place, 0) for place, n in every.items()}
    found = [place for place in done if counts.get(place) and place not in unexamined]
    if not dry_run:
        for some in _portions(found, counts):
            db.forget_rows(some, labelled=settings.horizon is None)
    rows = sum(counts[place] for place in found)
    name = settings.rule.name
    waiting = sorted(place for place in {*waiting, *(waits.keys() & set(done))} if every.get(place))
    return {
        "rows": rows,
        "windows": tuple(map(name, found)),
        "waiting": tuple(map(name, waiting)),
        "kept": sum(every.values()) - rows,
    }


def _portions(places: list[int], counts: dict[int, int]) -> Iterator[list[int]]:
    """Windows in portions of about a million rows, whose ids fit into memory."""
    some: list[int] = []
    for place in places:
        some.append(place)
        if sum(counts[each] for each in some) >= PORTION:
            yield some
            some = []
    if some:
        yield some

"""Retention: rows of windows that were judged are removed after some time; sketches, results and alarms stay.

Of a removed row a fingerprint of its id remains, so that a row or label that comes again is recognized and not counted twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..util.results import Record, several
from .queries import Transaction, Window
from .settings import Settings
from .windows import read_duration

__all__ = ["Pruned", "prunable", "prune_rows"]


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

    A window is done when it was compared with the reference data and tested or skipped, and when its labels are complete
    or their horizon has passed.
    """
    clock = db.meta("clock") if settings.rule.by_time else db.meta("rows_seen")
    windows = db.windows_with_rows()
    if isinstance(keep, str):
        length = read_duration(keep, "keep")
        old = [w for w in windows if clock is not None and settings.rule.span(w.place)[1] + length <= clock]
    else:
        old = windows[: max(0, len(windows) - keep)]
    done = [w.place for w in old if _is_done(db, settings, w, clock)]
    return done, [w.place for w in old if w.place not in set(done)]


def _is_done(db: Transaction, settings: Settings, window: Window, clock: int | None) -> bool:
    if not (window.closed and window.tested and window.examined):
        return False
    waits = settings.horizon is not None and not settings.is_past_horizon(window.place, clock)
    return not (waits and db.count_unlabelled(window.place))


def prune_rows(db: Transaction, settings: Settings, keep: int | str, dry_run: bool) -> dict[str, Any]:
    """Remove the rows of windows that are done; gives the fields of `Pruned` but the sizes."""
    done, waiting = prunable(db, settings, keep)
    counts = db.count_rows()
    if not dry_run:
        for place in done:
            db.forget_rows(place)
    found = [place for place in done if counts.get(place)]
    rows = sum(counts[place] for place in found)
    name = settings.rule.name
    return {
        "rows": rows,
        "windows": tuple(map(name, found)),
        "waiting": tuple(name(place) for place in waiting if counts.get(place)),
        "kept": sum(counts.values()) - rows,
    }

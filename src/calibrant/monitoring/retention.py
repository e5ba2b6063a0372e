"""Retention: rows of windows that were judged are removed after some time; sketches, results and alarms stay.

Of a removed row a fingerprint of its id remains, so that a row or label that comes again is recognized and not counted twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import FileError
from ..util.results import Record, several
from .databases import is_full
from .ingest import ALL_ROWS
from .queries import Transaction
from .settings import Settings
from .store import Store
from .windows import read_duration

PORTION, LEAST = 100_000, 10
"""Rows that are removed together: at first, and on a full disk, where their journal fits into the reserve."""


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


class Plan(NamedTuple):
    """What a retention removes."""

    places: dict[int, bool]
    """Windows whose rows are no longer needed, and whether their rows without a label are kept."""
    waiting: list[int]
    """Windows as old that wait for labels."""
    rows: int
    kept: int


def plan_retention(db: Transaction, settings: Settings, keep: int | str) -> Plan:
    """The rows that are no longer needed.

    A window is done when it is closed, which `Monitor.prune` has compared with the reference data by then, and tested or
    skipped, and when its labels are complete or their horizon has passed. Without a horizon, its unlabelled rows stay.
    """
    clock = db.meta("clock") if settings.rule.by_time else db.meta("rows_seen")
    windows = db.windows(ALL_ROWS)
    if isinstance(keep, str):
        length = read_duration(keep, "keep")
        old = [w for w in windows if clock is not None and settings.rule.span(w.place)[1] + length <= clock]
    else:
        old = windows[: max(0, len(windows) - keep)]
    counts, unlabelled = db.count_rows(), db.count_rows(unlabelled=True)
    places, waiting, rows = {}, [], 0
    for window in old:
        place = window.place
        # Without a horizon there is no time after which a label is not expected any longer.
        waits = settings.horizon is None or not settings.is_past_horizon(place, clock)
        n_unlabelled = unlabelled.get(place, 0) if waits else 0
        is_done = window.closed and window.tested and (settings.horizon is None or not n_unlabelled)
        removed = counts.get(place, 0) - n_unlabelled if is_done else 0
        if removed:
            places[place] = waits
            rows += removed
        if counts.get(place) and (not is_done or n_unlabelled):
            waiting.append(place)
    return Plan(places, waiting, rows, sum(counts.values()) - rows)


def prune_rows(store: Store, places: Mapping[int, bool]) -> int:
    """Remove the rows of windows, in transactions of many rows, on a full disk of ever fewer; returns their number."""
    limit, begin, count = PORTION, "", 0
    while True:
        try:
            with store.write() as db:
                late = set(db.unexamined())  # rows arrived since the comparison
                names = db.forget_rows({p: waits for p, waits in places.items() if p not in late}, begin, limit)
        except FileError as error:
            if not is_full(error.problem) or limit == LEAST:
                raise
            store.compact()
            limit = max(LEAST, limit // 10)
            continue
        count += len(names)
        if len(names) < limit:
            return count
        begin, limit = names[-1], min(PORTION, 2 * limit)

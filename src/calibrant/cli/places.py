"""Where a row that an error speaks of is in the file that was read: the library counts rows from 0, an editor lines from 1."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

__all__ = ["forget_read", "in_file", "remember_read"]

# Lines of further rows are not counted: an error should not take minutes.
MOST_ROWS = 5_000_000
# As in "row 1,234" or "row 7"; not in what is quoted from the file.
_ROW = re.compile(r"(?<!['\"\w])row (\d{1,3}(?:,\d{3})+|\d+)(?!\w)")


class _Read(NamedTuple):
    paths: tuple[str, ...]
    kind: str
    where: str | None


_last: ContextVar[_Read | None] = ContextVar("last", default=None)


def remember_read(paths: Sequence[str], kind: str, where: str | None) -> None:
    """Note what is read now; errors that follow speak of its rows."""
    _last.set(_Read(tuple(paths), kind, where))


def forget_read() -> None:
    """Begin anew."""
    _last.set(None)


def in_file(text: str) -> str:
    """An error that names rows, with the lines of the file instead where they are known; else it says how rows are counted."""
    read = _last.get()
    numbers = [int(found[1].replace(",", "")) for found in _ROW.finditer(text)]
    if read is None or not numbers:
        return text
    lines = _lines(read, set(numbers))
    if lines is not None:
        return _ROW.sub(lambda found: f"line {lines[int(found[1].replace(',', ''))]:,}", text)
    counted = "counted from 0" if read.where is None else "counted from 0 among those that fit --where"
    return _ROW.sub(lambda found: f"{found[0]} ({counted})", text, count=1)


def _lines(read: _Read, rows: set[int]) -> dict[int, int] | None:
    """The line on which each row begins; None where that cannot be told."""
    if len(read.paths) != 1 or read.kind not in ("csv", "tsv") or read.where is not None or max(rows) > MOST_ROWS:
        return None
    path = Path(read.paths[0])
    if not path.is_file() or path.suffix == ".zst":
        return None
    import duckdb

    from ..engines.reading import dialect_of

    with duckdb.connect(":memory:") as connection:
        written = dialect_of(connection, str(path), read.kind)
    if written is None:
        return None
    found: dict[int, int] = {}
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="latin-1", newline="") as stream:
            records = csv.reader(stream, **written)
            number, begin = -1, 1  # the header comes first
            for fields in records:
                if fields:  # an empty line is no row
                    if number in rows:
                        found[number] = begin
                    number += 1
                begin = records.line_num + 1
                if len(found) == len(rows):
                    return found
    except (csv.Error, OSError):
        pass
    return None

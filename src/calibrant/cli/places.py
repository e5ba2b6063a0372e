"""Where a row that an error speaks of is in the file that was read: the library counts rows from 0, an editor lines from 1."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from itertools import islice
from pathlib import Path
from typing import NamedTuple

__all__ = ["forget_read", "in_file", "label_column", "remember_label", "remember_read"]

# Lines of further rows are not counted: an error should not take minutes.
MOST_ROWS = 5_000_000
# Kinds of files that have lines.
PRINTED = ("csv", "tsv", "json")
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
    if len(read.paths) != 1 or read.kind not in PRINTED or read.where is not None or max(rows) > MOST_ROWS:
        return None
    path = Path(read.paths[0])
    if not path.is_file() or path.suffix == ".zst":
        return None
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="latin-1", newline="") as stream:
            begins = _of_objects(stream) if read.kind == "json" else _of_records(stream, path, read.kind)
            found = {number: line for number, line in islice(enumerate(begins), max(rows) + 1) if number in rows}
    except (csv.Error, OSError):
        return None
    return found if len(found) == len(rows) else None


def _of_objects(stream: Iterable[str]) -> Iterator[int]:
    """The lines of a file with one JSON object on each; none of any other file."""
    for line, text in enumerate(stream, 1):
        if not (text.startswith("{") and text.rstrip().endswith("}")):
            return
        yield line


def _of_records(stream: Iterable[str], path: Path, kind: str) -> Iterator[int]:
    """The first line of each row behind the header, which a quoted field may spread over several; none where the form is not known."""
    import duckdb

    from ..sketches.files.reading import dialect_of

    with duckdb.connect(":memory:") as connection:
        written = dialect_of(connection, str(path), kind)
    if written is None:
        return
    records = csv.reader(stream, **written)
    begin, header = 1, True
    for fields in records:
        if fields:  # an empty line is no row
            if not header:
                yield begin
            header = False
        begin = records.line_num + 1


_label: ContextVar[str] = ContextVar("label", default="")


def remember_label(name: str) -> None:
    """Store the name of the label column that was read last."""
    _label.set(name)


def label_column() -> str:
    """Return the name of the label column that was read last."""
    return _label.get()

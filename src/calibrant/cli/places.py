"""Lines of a file for the rows in errors: the library counts rows from 0, an editor counts lines from 1."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from .invocation import FilesRead, running

# Lines of later rows are not counted, so that an error does not take minutes.
MOST_ROWS = 5_000_000
# File formats that have lines.
PRINTED = ("csv", "tsv", "json")
# The byte order mark of UTF-8, as Latin-1.
MARK = "\xef\xbb\xbf"


def remember_read(paths: Sequence[str], kind: str, where: str | None) -> None:
    """Note which files are read; errors that follow are about their rows."""
    running.files = FilesRead(tuple(paths), kind, where)


def place_of(row: int) -> str:
    """The line of a row, or its number and how rows are counted where the line is unknown."""
    files_read = running.files
    if files_read is None:
        return f"in row {row:,}"
    line = _line(files_read, row)
    if line is not None:
        return f"on line {line:,}"
    counted = "counted from 0" if files_read.where is None else "counted from 0 among those selected by --where"
    return f"in row {row:,} ({counted})"


def _line(read: FilesRead, row: int) -> int | None:
    """The line on which a row begins; None where it cannot be determined."""
    if len(read.paths) != 1 or read.kind not in PRINTED or read.where is not None or row > MOST_ROWS:
        return None
    path = Path(read.paths[0])
    if not path.is_file() or path.suffix == ".zst":
        return None
    begins = _lines_of_objects(path) if read.kind == "json" else _lines_of_records(path, read.kind)
    try:
        return next(islice(begins, row, None), None)
    except (csv.Error, OSError):
        return None


def _lines_of_objects(path: Path) -> Iterator[int]:
    """Line numbers of a file with one JSON object per line; ends at the first line of another form."""
    with _open_text(path) as stream:
        for line, text in enumerate(stream, 1):
            if not (text.startswith("{") and text.rstrip().endswith("}")):
                return
            yield line


def _lines_of_records(path: Path, kind: str) -> Iterator[int]:
    """The first line of each row after the header; empty where the dialect is unknown. A quoted field may span several lines."""
    from ..sketches.files.reading import dialect_of
    from ..util.database import connect

    with connect() as connection:
        dialect = dialect_of(connection, str(path), kind)
    if dialect is None:
        return
    sample, above = dialect
    with _open_text(path) as stream:
        line = 1 + sum(1 for _ in islice(stream, above))
        # A quoted field is recognised at the beginning of a line.
        reader = csv.reader((text.removeprefix(MARK) for text in stream), **sample)
        begins, header = line, True
        for fields in reader:
            if fields and not header:  # empty lines are not rows
                yield begins
            header = header and not fields
            begins = line + reader.line_num


def _open_text(path: Path) -> Any:
    """Open a text file that may be packed; every byte is a character of Latin-1, so that none is an error, whatever the encoding."""
    opened = gzip.open if path.suffix == ".gz" else open
    return opened(path, "rt", encoding="latin-1", newline="")

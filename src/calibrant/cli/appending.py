"""Columns appended to a text file whose own bytes are unchanged, including quotes, separators, line ends and encoding."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

# Number of cells that are converted to text at once.
BLOCK = 1 << 16
# The byte order mark of UTF-8, as Latin-1.
MARK = "\xef\xbb\xbf"


class Inseparable(Exception):
    """The records of a text file cannot be separated reliably."""


def appended(
    connection: Any, path: str, kind: str, width: int, rows: Any, names: Sequence[str], columns: Sequence[Any]
) -> Iterator[bytes]:
    """The records of a file with columns appended, one after the other; raises `Inseparable` where that is not possible.

    Parameters
    ----------
    connection
        A DuckDB connection, which detects the separator and the quotes of the file.
    path, kind
        The file, and whether it is ``"csv"`` or ``"tsv"``.
    width
        How many columns it has.
    rows
        Array of the numbers of the rows to keep, counted from 0 and ascending; `columns` have one entry for each.
    names, columns
        The new columns, as arrays.
    """
    from ..sketches.files.reading import dialect_of  # imports NumPy, which is slow for --help

    found = None if Path(path).suffix == ".zst" else dialect_of(connection, path, kind)
    if found is None:
        raise Inseparable
    written, above = found
    wanted = zip(_entries(rows), map(written["delimiter"].join, _cells(columns)), strict=True)
    new = io.StringIO()
    csv.writer(new, **written, lineterminator="").writerow([name.encode().decode("latin-1") for name in names])
    number, (place, more) = -1, (-1, new.getvalue())
    try:
        for record, fields, _ in read_records(path, written, above):
            if not fields:  # empty lines and those above the header are not rows
                yield record.encode("latin-1")
                continue
            if fields != width:
                raise Inseparable
            if number == place:
                body = record.rstrip("\r\n")
                yield f"{body}{written['delimiter']}{more}{record[len(body) :]}".encode("latin-1")
                place, more = next(wanted, (-2, ""))
            number += 1
    except (csv.Error, OSError) as error:
        raise Inseparable from error
    if place != -2:
        raise Inseparable


def _entries(values: Any) -> Iterator[Any]:
    """The entries of an array, of which only a part is converted at a time."""
    for start in range(0, len(values), BLOCK):
        yield from values[start : start + BLOCK].tolist()


def _cells(columns: Sequence[Any]) -> Iterator[tuple[str, ...]]:
    return zip(*(map(repr, _entries(column)) for column in columns), strict=True)


def open_text(path: str) -> Any:
    """Open a text file that may be packed; every byte is a character of Latin-1, so that all are preserved whatever the encoding."""
    opened = gzip.open if Path(path).suffix == ".gz" else open
    return opened(path, "rt", encoding="latin-1", newline="")


def read_records(path: str, written: dict[str, Any], above: int) -> Iterator[tuple[str, int, int]]:
    """Each record with its line end, its number of fields, 0 for lines above the header, and the number of its first line."""
    taken: list[str] = []
    with open_text(path) as stream:
        for line in range(1, above + 1):
            yield next(stream), 0, line
        line = above + 1

        def lines() -> Iterator[str]:
            for line in stream:
                taken.append(line)
                yield line.removeprefix(MARK)  # a quoted field is recognised at the beginning of a line

        for fields in csv.reader(lines(), **written):
            yield "".join(taken), len(fields), line
            line += len(taken)
            taken.clear()

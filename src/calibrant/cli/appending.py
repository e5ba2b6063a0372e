"""Columns appended to a text file whose own bytes are unchanged, including quotes, separators, line ends and encoding."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..sketches.files.reading import dialect_of
from ..util.files import read_limited

__all__ = ["appended"]


def appended(
    connection: Any, path: str, kind: str, width: int, rows: Sequence[int], names: Sequence[str], columns: Sequence[Any]
) -> bytes | None:
    """The text of a file with columns appended; None if its records cannot be separated reliably.

    Parameters
    ----------
    connection
        A DuckDB connection, which detects the separator and the quotes of the file.
    path, kind
        The file, and whether it is ``"csv"`` or ``"tsv"``.
    width
        How many columns it has.
    rows
        Numbers of the rows to keep, counted from 0 and ascending; `columns` have one entry for each.
    names, columns
        The new columns.
    """
    if Path(path).suffix == ".zst":
        return None
    written = dialect_of(connection, path, kind)
    if written is None:
        return None
    cells = zip(*(map(repr, column.tolist()) for column in columns), strict=True)
    wanted = zip(rows, (written["delimiter"].join(row) for row in cells), strict=True)
    new = io.StringIO()
    csv.writer(new, **written, lineterminator="").writerow([name.encode().decode("latin-1") for name in names])
    parts: list[str] = []
    number, (place, more) = -1, (-1, new.getvalue())
    try:
        for record, fields in _records(path, written):
            if not fields:  # empty lines are not rows
                parts.append(record)
                continue
            if fields != width:
                return None
            if number == place:
                body = record.rstrip("\r\n")
                parts.append(f"{body}{written['delimiter']}{more}{record[len(body) :]}")
                place, more = next(wanted, (-2, ""))
            number += 1
    except (csv.Error, OSError):
        return None
    return "".join(parts).encode("latin-1") if place == -2 else None


def _records(path: str, written: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Each record with its line end, and its number of fields."""
    raw = read_limited(path, Path(path).stat().st_size)
    # Every byte is a character of Latin-1, so that all bytes are preserved whatever the encoding.
    text = (gzip.decompress(raw) if Path(path).suffix == ".gz" else raw).decode("latin-1")
    taken: list[str] = []

    def lines() -> Iterator[str]:
        for line in io.StringIO(text, newline=""):
            taken.append(line)
            yield line

    for fields in csv.reader(lines(), **written):
        yield "".join(taken), len(fields)
        taken.clear()

"""Spreadsheets and Arrow files as tables that DuckDB reads: converted once to a temporary file."""

from __future__ import annotations

import atexit
import csv
import datetime
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ...errors import FileError, MissingDependencyError
from .remote import address_of

__all__ = ["as_tables", "original_of"]

EXCEL = (".xlsx", ".xlsm")
ARROW = (".feather", ".arrow", ".ipc")
# Converted files by path and time of change; the folder of each is removed with its entry, and at the end of the process.
_converted: dict[tuple[str, int], str] = {}
MOST_KEPT = 8


def as_tables(paths: Sequence[str]) -> list[str]:
    """Files that DuckDB reads: each path itself, or a converted copy of a spreadsheet or an Arrow file."""
    keys = {path: _key(path) for path in paths if Path(path).suffix.lower() in EXCEL + ARROW}
    for key in keys.values():
        if key in _converted:  # the newest are removed last
            _converted[key] = _converted.pop(key)
    for path, key in keys.items():
        if key not in _converted:
            _remove(max(MOST_KEPT, len(keys)) - 1)
            _converted[key] = _convert(path)
    return [_converted[keys[path]] if path in keys else path for path in paths]


def _key(path: str) -> tuple[str, int]:
    return os.path.abspath(path), os.stat(path).st_mtime_ns


def _convert(path: str) -> str:
    if not _converted:
        atexit.register(_remove, 0)
    suffix = Path(path).suffix.lower()
    folder = Path(tempfile.mkdtemp(prefix="calibrant-"))
    target = folder / f"{Path(path).name}.{'csv' if suffix in EXCEL else 'parquet'}"
    try:
        (_from_excel if suffix in EXCEL else _from_arrow)(path, target)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return str(target)


def _remove(kept: int) -> None:
    """Remove the oldest copies until `kept` are left."""
    while len(_converted) > kept:
        shutil.rmtree(Path(_converted.pop(next(iter(_converted)))).parent, ignore_errors=True)


def original_of(path: str) -> str:
    """The file or address that a copy was made from; other paths unchanged."""
    path = next((key[0] for key, copy in _converted.items() if copy == path), path)
    return address_of(path) or path


def _from_excel(path: str, target: Path) -> None:
    """Write the only sheet of a workbook as CSV, one line for each of its rows."""
    try:
        import openpyxl
    except ImportError:
        remedy = "run pip install openpyxl, or save it as CSV"
        raise MissingDependencyError(path, "reading a spreadsheet requires openpyxl", remedy) from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # openpyxl raises errors of zipfile, XML and its own
        raise FileError(path, f"cannot be read as a spreadsheet: {error}", "save it again, or as CSV") from error
    try:
        sheets = [sheet for sheet in book.worksheets if any(True for row in sheet.iter_rows() if _filled(row))]
        if not sheets:
            raise FileError(path, "has no rows", "check the program that wrote it")
        if len(sheets) > 1:
            names = ", ".join(repr(sheet.title) for sheet in sheets)
            raise FileError(
                path, f"has several sheets with content: {names}", "save the one to read as a file of its own"
            )
        with target.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            for row in _rows(sheets[0].iter_rows(values_only=True)):
                writer.writerow(row)
    finally:
        book.close()


def _filled(row: Iterable[Any]) -> bool:
    return any(cell.value is not None for cell in row)


def _rows(rows: Iterator[tuple[Any, ...]]) -> Iterator[list[str]]:
    """Rows as text; a line number is the number of the row in the sheet. Columns without a header are left out."""
    header: list[int] | None = None
    for row in rows:
        if header is None and any(value is not None for value in row):
            header = [place for place, value in enumerate(row) if value is not None]
        cells = [_text(row[place]) if place < len(row) else "" for place in header or ()]
        yield cells if any(cells) else []


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(sep=" ")
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(str(value).split("\n"))


def _from_arrow(path: str, target: Path) -> None:
    """Write an Arrow IPC file (Feather) or stream as Parquet, batch by batch."""
    try:
        import pyarrow as pa
        import pyarrow.feather as feather
        import pyarrow.parquet as parquet
    except ImportError:
        remedy = "run pip install 'calibrant[files]', or write it as Parquet"
        raise MissingDependencyError(path, "reading an Arrow file requires pyarrow", remedy) from None
    try:
        with open(path, "rb") as stream:
            start = stream.read(6)
        if start.startswith(b"FEA1"):  # the first version of Feather
            parquet.write_table(feather.read_table(path), target)
            return
        with pa.memory_map(path) as source:
            opened = pa.ipc.open_file(source) if start == b"ARROW1" else pa.ipc.open_stream(source)
            count = opened.num_record_batches if start == b"ARROW1" else None
            batches = (opened.get_batch(place) for place in range(count)) if count is not None else iter(opened)
            with parquet.ParquetWriter(target, opened.schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
    except (pa.ArrowException, OSError) as error:
        problem = f"cannot be read as an Arrow file: {str(error).splitlines()[0]}"
        raise FileError(path, problem, "write it again, or as Parquet") from error

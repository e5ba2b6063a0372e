"""Spreadsheets, Arrow files and archives of arrays as tables that DuckDB reads: converted once to a temporary file."""

from __future__ import annotations

import csv
import datetime
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

from ...errors import FileError, MissingDependencyError
from ...plugins import READERS, load
from ...util.database import is_interrupt
from ...util.files import check_unpacked, read_npz
from ...util.temporary import process_folder

KINDS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".duckdb": "duckdb",
    ".db": "duckdb",
}
PACKED = (".gz", ".zst")
EXCEL = (".xlsx", ".xlsm")
ARROW = (".feather", ".arrow", ".ipc")
ARRAYS = (".npz",)
MOST_ROWS = 1 << 20
"""Rows that a sheet can have; openpyxl fills the gap before a row of any number, which a few bytes state."""
# Converted files by path and time of change; the folder of the process, and they with it, is removed at its end.
_converted: dict[tuple[str, int], str] = {}


def as_tables(paths: Sequence[str]) -> list[str]:
    """Files that DuckDB reads: each path itself, or a converted copy of a spreadsheet, an Arrow file or an archive of arrays."""
    return [_convert(path) if is_converted(path) else path for path in paths]


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """The format of a file by its name; compression is ignored."""
    name = Path(path)
    inside = name.with_suffix("") if name.suffix.lower() in PACKED else name
    return KINDS.get(inside.suffix.lower())


def is_converted(path: str) -> bool:
    """Whether a file is read from a converted copy; what no suffix of calibrant's own formats tells may be read by a plug-in."""
    suffix = Path(path).suffix.lower()
    if suffix in EXCEL + ARROW + ARRAYS:
        return True
    return kind_of(path) is None and (suffix in READERS or (load("readers") and suffix in READERS))


def _convert(path: str) -> str:
    key = os.path.abspath(path), os.stat(path).st_mtime_ns
    if key not in _converted:
        suffix = Path(path).suffix.lower()
        is_excel = suffix in EXCEL
        folder = Path(tempfile.mkdtemp(dir=process_folder()))
        target = folder / f"{Path(path).name}.{'csv' if is_excel else 'parquet'}"
        try:
            convert = _from_excel if is_excel else _from_arrays if suffix in ARRAYS else _from_arrow
            (convert if suffix in EXCEL + ARROW + ARRAYS else _from_reader)(path, target)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        _converted[key] = str(target)
    return _converted[key]


def original_of(path: str) -> str:
    """The file that a copy was made from; other paths unchanged."""
    return next((key[0] for key, copy in _converted.items() if copy == path), path)


def _from_excel(path: str, target: Path) -> None:
    """Write the only sheet of a workbook as CSV, one line for each of its rows."""
    try:
        import openpyxl
    except ImportError:
        remedy = "run pip install openpyxl, or save it as CSV"
        raise MissingDependencyError(path, "reading a spreadsheet requires openpyxl", remedy) from None
    try:
        check_unpacked(path)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            for sheet in book.worksheets:
                sheet.reset_dimensions()  # a program that adds rows may leave the old dimension, at which openpyxl stops
            sheets = [sheet.title for sheet in book.worksheets if any(map(any_value, _rows_of(sheet)))]
            if not sheets:
                raise FileError(path, "has no rows", "check the program that wrote it")
            if len(sheets) > 1:
                problem = f"has several sheets with content: {', '.join(map(repr, sheets))}"
                raise FileError(path, problem, "save the one to read as a file of its own")
            with ZipFile(path) as archive:  # the other sheets have no rows with values
                documents = map(archive.read, (name for name in archive.namelist() if name.endswith(".xml")))
                n_stated = sum(count_rows(xml) for xml in documents if b"sheetData" in xml)
            n_read = _write_rows(book[sheets[0]], target)
            if n_read != n_stated:
                problem = f"has {n_stated:,} rows with values, of which {n_read:,} were read; rows may be out of order"
                raise FileError(path, problem, "save it again, or as CSV")
        finally:
            book.close()
    except FileError:
        raise
    except Exception as error:  # openpyxl raises errors of zipfile, XML and its own
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        raise FileError(path, f"cannot be read as a spreadsheet: {error}", "save it again, or as CSV") from error


def count_rows(xml: bytes) -> int:
    """The number of rows with values in the XML of a sheet, counted without its parser, which drops rows that are out of order.

    >>> count_rows(b'<sheetData><row r="1"><c><v>3</v></c></row><row r="2"><c s="1"/></row><x:row><is><t>a</t></is></x:row></sheetData>')
    2
    """
    rows = re.split(rb"<(?:\w+:)?row\b", re.split(rb"</(?:\w+:)?sheetData>", xml)[0])[1:]
    return sum(re.search(rb"<(?:\w+:)?[vt](?:\s[^>]*)?>[^<]", row) is not None for row in rows)


def _rows_of(sheet: Any) -> Iterator[Sequence[Any]]:
    """The rows of a sheet; raises at one that no sheet can have."""
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        if number > MOST_ROWS:
            raise ValueError(f"the sheet {sheet.title!r} has a row beyond {MOST_ROWS:,}")
        yield row


def any_value(row: Sequence[Any]) -> bool:
    """Whether a row of a sheet has a value."""
    return any(value is not None for value in row)


def _write_rows(sheet: Any, target: Path) -> int:
    """Write a sheet as CSV and return the number of rows with values; columns without a header are left out.

    Each row is one line, so that the number of a line is that of the row in the sheet.
    """
    header: list[int] = []
    rows = 0
    with target.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        for row in _rows_of(sheet):
            rows += any_value(row)
            header = header or [place for place, value in enumerate(row) if value is not None]
            cells = [_text(row[place]) if place < len(row) else "" for place in header]
            writer.writerow(cells if any(cells) else [])
    return rows


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
    import pyarrow as pa
    import pyarrow.feather as feather
    import pyarrow.parquet as parquet

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


def _from_arrays(path: str, target: Path) -> None:
    """Write the arrays of a NumPy archive as the columns of a Parquet file, the rows of a matrix as lists.

    Arrays that have not as many rows as the longest, such as the names of the classes, are left out.
    """
    arrays = {name: array for name, array in read_npz(path).items() if array.ndim in (1, 2)}
    rows = max(map(len, arrays.values()), default=0)
    if not rows:
        raise FileError(path, "has no arrays of rows", "write labels and probabilities with numpy.savez")
    _write_arrays({name: array for name, array in arrays.items() if len(array) == rows}, target)


def _from_reader(path: str, target: Path) -> None:
    """Write what the reader of a plug-in returns, a frame or a mapping of columns, as Parquet."""
    import narwhals as nw
    import pyarrow.parquet as parquet

    reader = READERS[Path(path).suffix.lower()]
    try:
        table = reader(path)
        if not isinstance(table, Mapping):
            parquet.write_table(nw.from_native(table, eager_only=True).to_arrow(), target)
            return
        arrays = {str(name): np.asarray(values) for name, values in table.items()}
        _write_arrays(arrays, target)
    except FileError:
        raise
    except Exception as error:
        problem = f"cannot be read by {reader.__module__}.{reader.__qualname__} ({type(error).__name__}: {error})"
        raise FileError(path, problem, "check the file and the plug-in") from error


def _write_arrays(arrays: Mapping[str, np.ndarray], target: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    columns = {}
    for name, array in arrays.items():
        values = array.reshape(-1)
        if values.dtype.kind in "US":
            values = values.astype(str).astype(object)
        elif values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
            values = values.astype("float32" if values.dtype.itemsize == 2 else "float64")
        column = pa.array(values)
        columns[name] = column if array.ndim == 1 else pa.FixedSizeListArray.from_arrays(column, array.shape[1])
    parquet.write_table(pa.table(columns), target)

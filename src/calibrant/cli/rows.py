"""Rows of files as one SQL table: a file of any format, a pattern of files, a table of a database, or standard input."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, FileError
from ..input.expressions import quoted
from ..sketches.files import reading
from ..sketches.files.converting import as_tables, kind_of
from ..sketches.files.reading import Rows, common_kind, not_utf8, paths_of
from ..util.temporary import temporary_folder
from .places import remember_read

SKETCH = ".sketch"
# Formats that are logs of language models.
LOGS = ("lm-eval", "openai", "inspect", "helm")


def is_sketch(file: str) -> bool:
    """Whether a file contains a sketch, by its name."""
    return Path(file).suffix == SKETCH


def is_log(format: str | None) -> bool:
    """Whether ``--format`` names a log of a language model."""
    return format is not None and format.partition(":")[0] in LOGS


@contextmanager
def on_disk(file: str) -> Iterator[list[str]]:
    """The files of a name or pattern; standard input is copied to a file."""
    if file != "-":
        yield paths_of(file)
        return
    head = sys.stdin.buffer.read(1 << 20)
    if not head:
        raise FileError(file, "is empty (0 bytes)", "check the program that wrote it")
    suffix = ".arrow" if head.startswith(b"ARROW1") else ".input"
    if head.startswith(b"PK\x03\x04"):
        suffix = ".xlsx" if _is_spreadsheet(head) else ".npz"
    with temporary_folder() as folder:
        copy = Path(folder, f"input{suffix}")
        with copy.open("wb") as stream:  # closed before it is read: Windows opens a file once
            stream.write(head)
            shutil.copyfileobj(sys.stdin.buffer, stream, 1 << 20)
        try:
            yield as_tables([str(copy)])
        except FileError as error:
            if error.argument != str(copy):
                raise
            raise error.replaced(argument=file) from None


def _is_spreadsheet(head: bytes) -> bool:
    """Whether a file begins as those of Excel, LibreOffice and openpyxl do."""
    return head.startswith(b"PK\x03\x04") and any(
        marker in head[:4096] for marker in (b"[Content_Types].xml", b"docProps/", b"_rels/.rels")
    )


def kind_of_all(paths: list[str], format: str | None) -> str:
    """The common format of some files."""
    if is_log(format):
        raise ArgumentError(
            "--format", f"{format} is not supported by this command", "use calibrant evaluate or report"
        )
    return common_kind(paths, format, _find_kind)


def _find_kind(name: str) -> str:
    """The format of a file by its name, or else by its content."""
    path = Path(name)
    if path.suffix == SKETCH:
        readers = "evaluate, assess, report, scan and monitor init --reference"
        raise FileError(str(path), "is a sketch; expected rows", f"sketches are read by {readers}")
    return kind_of(path) or _sniff(path)


def _sniff(path: Path) -> str:
    with path.open("rb") as stream:
        head = stream.read(4096)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"PK\x03\x04"):
        if _is_spreadsheet(head) or b"mimetypeapplication/vnd" in head:
            raise FileError(str(path), "is a spreadsheet; its name must end in .xlsx", "rename it, or save it as CSV")
        raise FileError(str(path), "is a zipped file; that of numpy.savez must end in .npz", "rename it, or unpack it")
    if head.startswith(b"ARROW1"):
        raise FileError(str(path), "is an Arrow file; its name must end in .feather or .arrow", "rename it")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise not_utf8(str(path))
    if b"\0" in head:
        remedy = "give a CSV, TSV, Parquet, JSON lines, Excel, Feather, NPZ or DuckDB file, if necessary with --format"
        raise FileError(str(path), "is not a text file", remedy)
    if head.lstrip().startswith((b"{", b"[")):
        return "json"
    first = head.split(b"\n", 1)[0]
    return "tsv" if first.count(b"\t") > first.count(b",") else "csv"


@contextmanager
def open_rows(
    paths: list[str],
    name: str,
    kind: str,
    *,
    where: str | None = None,
    table: str | None = None,
    numbered: str | None = None,
) -> Iterator[Rows]:
    """Open files as `reading.open_rows` does, and note them, so that later errors name their lines."""
    remember_read(paths, kind, where)
    with reading.open_rows(paths, kind, name, where=where, table=table, argument="--where", numbered=numbered) as rows:
        yield rows


def read_features(rows: Rows, names: list[str]) -> dict[str, Any]:
    """Columns of features, in which missing values are masked; dates are returned as they are stored."""
    dates = [name for name in names if rows.types[name].startswith(("DATE", "TIMESTAMP"))]
    columns: dict[str, Any] = rows.fetch([name for name in names if name not in dates])
    for name in dates:
        query = f"SELECT {quoted(name)} AS value FROM {rows.sql}"  # noqa: S608 - a quoted name
        columns[name] = rows.connection.execute(query).fetchnumpy()["value"]
    return {name: columns[name] for name in names}

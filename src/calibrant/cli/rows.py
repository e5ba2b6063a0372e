"""Rows of files as one SQL table: a file of any format, a pattern of files, a table of a database, or standard input."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, FileError
from ..input.convert import match_columns
from ..sketches.files.columns import check_expression, condition_error, first_line, quoted
from ..sketches.files.converting import as_tables
from ..sketches.files.reading import (
    PRINTED,
    attached,
    check_cut,
    check_kind,
    kind_of,
    listed,
    mixed_line_ends,
    named_types,
    not_read_as_utf8,
    not_utf8,
    paths_of,
    reader,
    with_texts,
)
from ..util.temporary import process_folder
from .places import remember_read

__all__ = ["NUMBER", "Rows", "all_as_text", "kind_of_all", "on_disk", "open_rows"]

SKETCH = ".sketch"
# Formats that are logs of language models.
LOGS = ("lm-eval", "openai")
# A column with row numbers, under a name that no file uses.
NUMBER = "row that calibrant reads"


@dataclass(frozen=True)
class Rows:
    """Rows of some files, as SQL, on a connection."""

    connection: Any
    shown: str
    kind: str
    sql: str
    """A table of the selected rows."""
    types: dict[str, str]
    where: str | None

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self.types)

    @property
    def printed(self) -> bool:
        """Whether numbers were printed, so that rows of probabilities sum to 1 only roughly."""
        return self.kind in PRINTED

    def execute(self, query: str) -> Any:
        """Run a query over `sql`; an error names the condition or the file."""
        import duckdb

        try:
            return self.connection.execute(query)
        except duckdb.BinderException as error:
            raise condition_error(error, self.names) from error
        except duckdb.Error as error:
            if self.where is not None and isinstance(error, duckdb.ConversionException):
                problem = f"cannot be evaluated: {first_line(error)}"
                remedy = "compare with values of the type of the column; empty fields are NULL: COLUMN IS NOT NULL"
                raise ArgumentError("--where", problem, remedy) from error
            raise FileError(self.shown, f"cannot be read: {first_line(error)}", "check the file") from error


@contextmanager
def on_disk(file: str) -> Iterator[list[str]]:
    """The files of a name or pattern; standard input is copied to a file."""
    if file != "-":
        yield paths_of(file)
        return
    head = sys.stdin.buffer.read(1 << 20)
    if not head:
        raise FileError(file, "is empty (0 bytes)", "check the program that wrote it")
    suffix = ".xlsx" if _is_spreadsheet(head) else ".arrow" if head.startswith(b"ARROW1") else ".input"
    with tempfile.NamedTemporaryFile(suffix=suffix, dir=process_folder()) as copy:
        copy.write(head)
        while chunk := sys.stdin.buffer.read(1 << 20):
            copy.write(chunk)
        copy.flush()
        try:
            yield as_tables([copy.name])
        except FileError as error:
            if error.argument != copy.name:
                raise
            raise error.replaced(argument=file) from None


def _is_spreadsheet(head: bytes) -> bool:
    """Whether a file begins as those of Excel, LibreOffice and openpyxl do."""
    return head.startswith(b"PK\x03\x04") and any(
        part in head[:4096] for part in (b"[Content_Types].xml", b"docProps/", b"_rels/.rels")
    )


def kind_of_all(paths: list[str], format: str | None) -> str:
    """The common format of some files."""
    if format is not None and format.partition(":")[0] in LOGS:
        raise ArgumentError(
            "--format", f"{format} is not supported by this command", "use calibrant evaluate or report"
        )
    kinds = [format or _kind(Path(path)) for path in paths]
    for path, kind in zip(paths, kinds, strict=True):
        if kind != kinds[0]:
            raise FileError(path, f"is {kind}, and {paths[0]} is {kinds[0]}", "name files of one format")
    if kinds[0] == "npz" and len(paths) > 1:
        raise FileError(paths[1], "only one .npz or .npy file can be read", "name one, or write tables")
    return kinds[0]


def _kind(path: Path) -> str:
    if path.suffix == SKETCH:
        readers = "evaluate, assess, report, scan and monitor init --reference"
        raise FileError(str(path), "is a sketch; expected rows", f"sketches are read by {readers}")
    return "npz" if path.suffix.lower() in (".npz", ".npy") else kind_of(path) or _sniff(path)


def _sniff(path: Path) -> str:
    check_kind(path)
    with path.open("rb") as stream:
        head = stream.read(4096)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"PK\x03\x04"):
        if _is_spreadsheet(head) or b"mimetypeapplication/vnd" in head:
            raise FileError(str(path), "is a spreadsheet; its name must end in .xlsx", "rename it, or save it as CSV")
        return "npz"
    if head.startswith(b"ARROW1"):
        raise FileError(str(path), "is an Arrow file; its name must end in .feather or .arrow", "rename it")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise not_utf8(str(path))
    if b"\0" in head:
        remedy = (
            "give a CSV, TSV, Parquet, JSON lines, Excel, Feather, NPZ, NPY or DuckDB file, if necessary with --format"
        )
        raise FileError(str(path), "is not a text file", remedy)
    if head.lstrip().startswith((b"{", b"[")):
        return "json"
    first = head.split(b"\n", 1)[0]
    return "tsv" if first.count(b"\t") > first.count(b",") else "csv"


def open_rows(
    connection: Any,
    paths: list[str],
    shown: str,
    kind: str,
    *,
    where: str | None = None,
    table: str | None = None,
    as_text: Sequence[tuple[str, str]] = (),
    numbered: bool = False,
) -> Rows:
    """Files as one table.

    Parameters
    ----------
    connection
        From `connect`.
    paths, shown, kind
        The files, their name in messages, and their format.
    where
        Condition on the rows, as one SQL expression.
    table
        Table of a database.
    as_text
        Options and the columns they name that are read as text; otherwise DuckDB infers types of dates and numbers for each file.
    numbered
        Whether to add the number of each row before filtering, as a column `NUMBER` that is not among the names.
    """
    remember_read(paths, kind, where)
    if where is not None:
        check_expression(connection, where)
    if table is not None and kind != "duckdb":
        raise ArgumentError("--table", "applies to DuckDB databases only", "drop it")
    source = attached(connection, paths, table) if kind == "duckdb" else _read(kind, paths)
    types = _described(connection, source, shown, kind)
    named = {match_columns(list(types), [name], option)[0]: option for option, name in as_text}
    written = {name: types[name] for name in named if kind in PRINTED and types[name] != "VARCHAR"}
    if written:
        changed = dict.fromkeys(written, "VARCHAR")
        types = {**types, **changed}
        # For JSON, the types of all columns have to be given, or none.
        kept = named_types("columns", types) if kind == "json" else named_types("types", changed)
        ids = {name for name in written if named[name] == "--id"}
        source = with_texts(_read(kind, paths, kept), written, where, ids)
    else:
        if numbered:
            source = with_numbers(source)
        if where is not None:
            source = f"(SELECT * FROM {source} WHERE (\n{where}\n))"  # noqa: S608 - one expression
    return Rows(connection, shown, kind, source, types, where)


def with_numbers(source: str) -> str:
    """A table with the number of each row."""
    return f"(SELECT *, row_number() OVER () - 1 AS {quoted(NUMBER)} FROM {source})"  # noqa: S608 - quoted


def all_as_text(kind: str, paths: list[str], types: dict[str, str]) -> str:
    """Text files as SQL with row numbers and all columns as text; nested columns of JSON keep their types."""
    if kind == "json":
        kept = {name: type if re.search(r"[\](]", type) else "VARCHAR" for name, type in types.items()}
        return with_numbers(_read(kind, paths, named_types("columns", kept)))
    # An empty field is missing, two quotes are an empty text.
    return with_numbers(_read(kind, paths, "all_varchar = true", "allow_quoted_nulls = false"))


def _described(connection: Any, source: str, shown: str, kind: str) -> dict[str, str]:
    """The columns of a table and their types."""
    import duckdb

    try:
        found = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()  # noqa: S608 - quoted
    except duckdb.Error as error:
        if not_read_as_utf8(error, shown):
            raise not_utf8(shown) from error
        if kind in ("csv", "tsv") and (mixed := mixed_line_ends(shown)):
            raise mixed from error
        problem = f"cannot be read as {kind}: {first_line(error)}"
        raise FileError(shown, problem, "check the file, or give its format with --format") from error
    types = {row[0]: row[1] for row in found}
    check_cut(shown, types)
    return types


def _read(kind: str, paths: list[str], *more: str) -> str:
    """Some files as SQL."""
    together = ("union_by_name = true",) if len(paths) > 1 else ()
    return reader(kind, listed(paths), *together, *more)

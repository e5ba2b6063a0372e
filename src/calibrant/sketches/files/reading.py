"""Open files of any size as one table: CSV, TSV, Parquet, JSON lines, globs of them, and tables of DuckDB databases."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import ArgumentError, Drop, FileError, InputTypeError, InPython, Use
from ...input.convert import is_frame
from ...util.database import connect
from ...util.files import read_start
from .columns import check_expression, condition_error, first_line, quoted
from .converting import as_tables, original_of
from .remote import fetched, is_remote

__all__ = [
    "FILE",
    "PRINTED",
    "ROW",
    "Source",
    "attached",
    "check_cut",
    "check_kind",
    "dialect_of",
    "kind_of",
    "listed",
    "mixed_line_ends",
    "named_types",
    "not_read_as_utf8",
    "not_utf8",
    "open_source",
    "paths_of",
    "reader",
    "text",
    "with_texts",
]

# Bytes of a text file in which line ends are compared.
MOST_COMPARED = 8 << 20
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
# Columns added while reading: the file of a row, under a name that no file uses, and its row number.
FILE, ROW = "file that calibrant reads", "file_row_number"
# Text formats, whose probabilities are rounded to their last printed digit.
PRINTED = ("csv", "tsv", "json")
# By default DuckDB would treat rows that begin with # as comments and guess the format of dates file by file.
_ISO = "dateformat = '%Y-%m-%d'"
READERS: dict[str, tuple[str, ...]] = {
    "csv": ("read_csv", "header = true", "comment = ''", _ISO),
    "tsv": ("read_csv", "header = true", "comment = ''", _ISO, "delim = '\t'"),
    "parquet": ("read_parquet",),
    "json": ("read_json", "format = 'auto'", _ISO),
}


def reader(kind: str, paths: str, *more: str) -> str:
    """A call of the DuckDB reader of a file format."""
    function, *options = READERS[kind]
    return f"{function}({', '.join((paths, *options, *more))})"


READ = {kind: reader(kind, "{paths}", "union_by_name = true", f"filename = '{FILE}'") for kind in READERS}
NUMBERED = READ["parquet"].replace("filename", f"{ROW} = true, filename")
PACKED = (".gz", ".zst")


@dataclass(frozen=True)
class Source:
    """Rows of files as an SQL table, on a connection of its own."""

    connection: Any
    kind: str
    paths: tuple[str, ...]
    table: str
    names: tuple[str, ...]
    types: dict[str, str]
    where: str | None
    numbered: bool = False
    """Whether each row has its row number."""
    filtered: bool = False
    """Whether `table` contains the selected rows only."""

    def with_text(self, *names: str) -> Source:
        """The same rows with columns of a text file as text, without type inference by DuckDB."""
        guessed = {name: self.types[name] for name in names if self.types[name] != "VARCHAR"}
        if self.kind not in PRINTED or not guessed:
            return self
        changed = dict.fromkeys(guessed, "VARCHAR")
        types = {**self.types, **changed}
        # For JSON, types must be given for all columns or for none.
        told = named_types("columns", types) if self.kind == "json" else named_types("types", changed)
        function, last = READ[self.kind].format(paths=listed(list(self.paths))), ")"
        table = with_texts(f"{function.removesuffix(last)}, {told})", guessed, self.where)
        return replace(self, table=table, types=types, filtered=self.where is not None)

    @property
    def rows(self) -> str:
        """The selected rows, as SQL."""
        if self.filtered:
            return self.table
        return self.table if self.where is None else f"(SELECT * FROM {self.table} WHERE (\n{self.where}\n))"  # noqa: S608

    def failure(self, error: Exception) -> FileError | ArgumentError:
        """The error that names the unreadable file and the part of it, or the condition if all files are readable."""
        place = next((found for path in self.paths if (found := self._broken(path))), None)
        if place is None and self.where is not None:
            return condition_error(error, self.names)
        name, part = place if place is not None else (", ".join(map(original_of, self.paths[:3])), "")
        if not_read_as_utf8(error, name):
            return not_utf8(name)
        if self.kind in ("csv", "tsv") and (mixed := mixed_line_ends(name)):
            return mixed
        return FileError(
            original_of(name), f"cannot be read{part}: {first_line(error)}", "write the file again, or leave it out"
        )

    def _broken(self, path: str) -> tuple[str, str] | None:
        import duckdb

        if self.kind not in READ:
            return None
        table = (NUMBERED if self.numbered else READ[self.kind]).format(paths=_literal(path))
        if self._reads(f"SELECT * FROM {table}"):  # noqa: S608 - a constant and a quoted path
            return None
        if self.kind != "parquet":
            return path, ""
        try:
            groups = self.connection.execute(
                f"SELECT DISTINCT row_group_id, row_group_num_rows FROM parquet_metadata({_literal(path)}) ORDER BY 1"  # noqa: S608
            ).fetchall()
        except duckdb.Error:
            return path, " (its footer is damaged)"
        if not self.numbered:
            return path, ""
        start = 0
        for group, rows in groups:
            span = f"{ROW} >= {start} AND {ROW} < {start + rows}"
            if not self._reads(f"SELECT * FROM {table} WHERE {span}"):  # noqa: S608 - numbers
                return path, f" in row group {group} (rows {start:,} to {start + rows - 1:,})"
            start += rows
        return path, ""

    def _reads(self, query: str) -> bool:
        import duckdb

        try:
            self.connection.execute(f"SELECT bit_xor(hash(COLUMNS(*))) FROM ({query})")  # noqa: S608 - made here
        except duckdb.Error:
            return False
        return True


def paths_of(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """The files of a path, a pattern or a list of these, in order; an existing file takes precedence over a pattern.

    A file counts once, whatever paths, links and patterns name it.
    """
    found: list[str] = []
    for name in _names_of(source):
        if name == "-":
            raise FileError(name, "standard input cannot be read here", "write it to a file first")
        if is_remote(name):
            found += fetched(name)
            continue
        pattern = any(sign in name for sign in "*?[") and not Path(name).exists()
        matched = sorted(glob.glob(name, recursive=True)) if pattern else [name]
        if not matched:
            raise FileError(name, "no file matches", "check the pattern")
        found += matched
    for name in found:
        path = Path(name)
        if not path.exists():
            raise FileError(name, "no such file", "check the path")
        if path.is_dir():
            raise FileError(name, "is a folder; expected files", f"for example {name}/*.parquet")
        if not path.is_file():
            raise FileError(name, "is a pipe or a device; expected a file", "write its content to a file first")
        if path.stat().st_size == 0:
            raise FileError(original_of(name), "is empty (0 bytes)", "check the program that wrote it")
    if not found:
        raise FileError("source", "is empty", "give a path, a pattern or a list of them")
    once: dict[tuple[int, int], str] = {}
    for name in found:
        status = Path(name).stat()
        once.setdefault((status.st_dev, status.st_ino), name)
    return as_tables(list(once.values()))


def _names_of(source: Any) -> list[str]:
    try:
        if is_frame(source):
            raise TypeError
        return [os.fspath(item) for item in ([source] if isinstance(source, (str, os.PathLike)) else source)]
    except TypeError:
        problem = f"must be a path, a pattern or a list of them; got {type(source).__name__}"
        raise InputTypeError("source", problem, InPython("use Sketches.of for rows in memory")) from None


@contextmanager
def open_source(
    source: Any, *, where: str | None = None, format: str | None = None, table: str | None = None
) -> Iterator[Source]:
    """Open files as one table; the connection is closed at the end."""
    import duckdb

    paths = paths_of(source)
    kind = _one_kind(paths, format)
    connection = connect()
    try:
        if kind == "duckdb":
            sql = attached(connection, paths, table)
        else:
            if table is not None:
                raise ArgumentError("table", "applies to DuckDB databases only", Drop("table"))
            sql = READ[kind].format(paths=listed(paths))
        if where is not None:
            check_expression(connection, where, "where")
        opened = Source(connection, kind, tuple(paths), sql, (), {}, where)
        try:
            described = connection.execute(f"DESCRIBE SELECT * FROM {sql}").fetchall()  # noqa: S608 - quoted
        except duckdb.Error as error:
            raise opened.failure(error) from error
        types = {row[0]: row[1] for row in described if row[0] != FILE}
        check_cut(paths[0], types)
        numbered = kind == "parquet" and ROW not in types
        sql = NUMBERED.format(paths=listed(paths)) if numbered else sql
        yield Source(connection, kind, tuple(paths), sql, tuple(types), types, where, numbered)
    finally:
        connection.close()


def _is_utf16(path: str) -> bool:
    return Path(path).is_file() and read_start(path, 2) in (b"\xff\xfe", b"\xfe\xff")


def mixed_line_ends(path: str) -> FileError | None:
    """The error for a text file that could not be read because its lines end in different ways; None if they do not."""
    if not Path(path).is_file():
        return None
    lines = read_start(path, MOST_COMPARED).split(b"\n")[:-1]
    ends = [line.endswith(b"\r") for line in lines]
    if len(set(ends)) < 2:
        return None
    first = ends.index(not ends[0])
    shown = ("CRLF", "LF") if ends[0] else ("LF", "CRLF")
    problem = f"has different line ends: {shown[0]} above line {first + 1:,}, {shown[1]} there"
    return FileError(path, problem, "convert them, for example with dos2unix")


def not_read_as_utf8(error: Exception, path: str) -> bool:
    """Whether a file could not be read because of its encoding."""
    return "not utf-8" in str(error) or _is_utf16(path)


def not_utf8(shown: str) -> FileError:
    """The error for text in another encoding."""
    wide = _is_utf16(shown)
    likely, name = ("UTF-16", "utf-16") if wide else ("Latin-1", "latin1")
    remedy = f"save it as UTF-8, for example with iconv -f {name} -t utf-8"
    return FileError(shown, f"is not UTF-8 text (it may be {likely})", remedy)


# Common formats that are not supported, and the remedy.
OTHERS = {
    **dict.fromkeys(
        (".xls", ".xlsb", ".ods"), ("a spreadsheet in another format than .xlsx", "save it as .xlsx or CSV")
    ),
    **dict.fromkeys((".zip", ".tar", ".7z", ".bz2", ".xz"), ("an archive", "unpack it; .gz and .zst are supported")),
    **dict.fromkeys(
        (".pkl", ".pickle", ".joblib", ".pt", ".pth"), ("a pickle", "write the predictions as CSV or Parquet")
    ),
    **dict.fromkeys(
        (".orc", ".avro", ".h5", ".hdf5", ".sqlite"),
        ("in an unsupported format", "write it as Parquet"),
    ),
    ".npy": ("an array without columns", "save labels and probabilities as columns of a table"),
}


def check_kind(path: str | os.PathLike[str]) -> None:
    """Raise for file formats that are not supported, by their names."""
    what, remedy = OTHERS.get(Path(path).suffix.lower(), ("", ""))
    if what:
        raise FileError(str(path), f"is {what}, which is not supported", remedy)


def check_cut(shown: str, columns: Iterable[str]) -> None:
    """Raise for a text file that was read as one column because its rows do not match its header."""
    only = list(columns)
    if len(only) == 1 and any(sign in only[0] for sign in ",;\t|"):
        raise FileError(
            shown,
            f"cannot be split into columns: a row does not match the header {only[0][:80]!r}",
            "look for rows with more or fewer fields, such as comments",
        )


def attached(connection: Any, paths: list[str], table: str | None) -> str:
    """A table of a database, opened for reading, as SQL; a view raises an error, since it can read any other file."""
    import duckdb

    if len(paths) > 1:
        raise FileError(paths[1], "only one database can be read", "name one")
    try:
        connection.execute(f"ATTACH {text(paths[0])} AS data (READ_ONLY)")
        connection.execute("SET enable_external_access = false")
        query = "SELECT table_name, table_type FROM information_schema.tables WHERE table_catalog = 'data' ORDER BY 1"
        kinds = dict(connection.execute(query).fetchall())
        held = [name for name, kind in kinds.items() if kind != "VIEW"]
    except duckdb.Error as error:
        raise FileError(paths[0], f"cannot be opened as a DuckDB database: {first_line(error)}") from error
    if table is None and len(held) == 1:
        table = held[0]
    if kinds.get(table) == "VIEW":
        problem = f"{table!r} is a view, which may read other files"
        raise FileError(paths[0], problem, f"store its rows as a table, with CREATE TABLE ... AS FROM {table}")
    if table is None or table not in held:
        problem = ("has several tables" if held else "has no table") if table is None else f"has no table {table!r}"
        tables = f"; the tables are {', '.join(held[:20])}" if held else ""
        raise FileError(paths[0], problem + tables, Use("table") if held else "")
    return f"data.{quoted(table)}"


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """The format of a file by its name; compression is ignored."""
    name = Path(path)
    inside = name.with_suffix("") if name.suffix.lower() in PACKED else name
    return KINDS.get(inside.suffix.lower())


def _one_kind(paths: list[str], format: str | None) -> str:
    """The common format of all files."""
    kinds = [format or kind_of(name) for name in paths]
    for name, kind in zip(paths, kinds, strict=True):
        if kind is None:
            check_kind(name)
        if kind not in {*READ, "duckdb"}:
            raise FileError(
                original_of(name), f"unknown format; known extensions are {', '.join(KINDS)}", Use("format")
            )
        if kind != kinds[0]:
            problem = f"is {kind}, and {original_of(paths[0])} is {kinds[0]}"
            raise FileError(original_of(name), problem, "scan each format and merge the sketches")
    return str(kinds[0])


def text(value: str) -> str:
    """A string as an SQL literal."""
    try:
        value.encode()
    except UnicodeEncodeError:
        shown = value.encode(errors="backslashreplace").decode()
        raise FileError(
            shown, "the file name is not valid UTF-8, and DuckDB cannot open it", "rename the file"
        ) from None
    return "'" + value.replace("'", "''") + "'"


def _literal(path: str) -> str:
    """A path as an SQL literal, with pattern characters escaped."""
    return text(re.sub(r"[*?\[]", r"[\g<0>]", path))


def listed(paths: list[str]) -> str:
    """Paths as an SQL list."""
    return "[" + ", ".join(map(_literal, paths)) + "]"


def dialect_of(connection: Any, path: str, kind: str) -> tuple[dict[str, Any], int] | None:
    """The dialect of a text file, with the names of Python's csv module, and the number of lines above its header; None if undetermined."""
    import csv

    import duckdb

    options = READERS[kind][1:]
    try:
        found = connection.execute(
            f"SELECT Delimiter, Quote, Escape, SkipRows FROM sniff_csv({', '.join((_literal(path), *options))})"  # noqa: S608
        ).fetchone()
    except duckdb.Error:
        return None
    delimiter, quote, escape, skipped = found
    if len(delimiter) != 1:
        return None
    quote, escape = (sign if len(sign) == 1 and sign != "\0" else None for sign in (quote, escape))
    if quote is None:
        return {"delimiter": delimiter, "quoting": csv.QUOTE_NONE, "escapechar": "\\"}, int(skipped)
    doubled = escape in (None, quote)
    return {
        "delimiter": delimiter,
        "quotechar": quote,
        "doublequote": doubled,
        "escapechar": None if doubled else escape,
    }, int(skipped)


def named_types(option: str, types: dict[str, str]) -> str:
    """The reader option that sets the types of columns."""
    pairs = ", ".join(f"{text(name)}: {text(type)}" for name, type in types.items())
    return f"{option} = {{{pairs}}}"


def with_texts(source: str, written: dict[str, str], where: str | None, ids: Collection[str] = ()) -> str:
    """Columns as text, while a condition uses their typed values. For `ids`, numbers are distinguished by their values."""
    texts = {name: _id_text(quoted(name), type) if name in ids else quoted(name) for name, type in written.items()}
    if where is None:
        changed = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in texts.items())
        return f"(SELECT * REPLACE ({changed}) FROM {source})"  # noqa: S608 - quoted names
    kept = {name: quoted(f"{name} as it was written") for name in written}
    values = ", ".join(f"CAST({quoted(name)} AS {type}) AS {quoted(name)}" for name, type in written.items())
    more = ", ".join(f"{texts[name]} AS {kept[name]}" for name in written)
    back = ", ".join(f"{kept[name]} AS {quoted(name)}" for name in written)
    inner = f"(SELECT * REPLACE ({values}), {more} FROM {source})"  # noqa: S608 - quoted names
    return f"(SELECT * EXCLUDE ({', '.join(kept.values())}) REPLACE ({back}) FROM {inner} WHERE (\n{where}\n))"  # noqa: S608


def _id_text(name: str, type: str) -> str:
    """Text without differences that are irrelevant for numbers: blanks, and the .0 of integers."""
    if not re.fullmatch(r"U?[A-Z]*INT(EGER)?|BIGNUM|DOUBLE|FLOAT|DECIMAL.*", type):
        return name
    return rf"regexp_replace(trim({name}), '^([+-]?\d+)\.0*$', '\1')"

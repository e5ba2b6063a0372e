"""Open files of any size as one table: CSV, TSV, Parquet, JSON lines, globs of them, and tables of DuckDB databases."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import (
    ArgumentError,
    CalibrantError,
    ColumnError,
    FileError,
    InputTypeError,
)
from ...input.convert import is_frame, is_missing_text
from ...input.expressions import check_expression, condition_error, first_line, lossless, quoted
from ...util.database import connect, is_interrupt
from ...util.files import read_start
from .columns import EXACT
from .converting import KINDS, as_tables, kind_of, original_of

# Columns added while reading: the file of a row, under a name that no file uses, and its row number.
FILE, ROW = "file that calibrant reads", "file_row_number"
# Text formats, whose probabilities are rounded to their last printed digit.
PRINTED = ("csv", "tsv", "json")
# Text files have no types. By default DuckDB would infer them from the first 20 480 rows, and treat rows that begin with # as comments.
_TEXT = ("header = true", "comment = ''", "all_varchar = true", "max_line_size = 20000000")
READERS: dict[str, tuple[str, ...]] = {
    "csv": ("read_csv", *_TEXT),
    "tsv": ("read_csv", *_TEXT, "delim = '\t'"),
    "parquet": ("read_parquet",),
    "json": ("read_json", "format = 'auto'", "records = true"),
}
# Quotes as in RFC 4180. Only where the first rows contradict them does DuckDB detect others, so that the first quoted field may be far below.
QUOTES = ("quote = '\"'", "escape = '\"'")

# The SQL condition for digits that are not a number: a code such as 01123, or an id with more digits than an integer has.
_CODE = "regexp_matches({0}, '^\\s*[+-]?(0\\d|\\d{{19}})')"
# The SQL condition for a time of a stated zone.
_ZONED = "regexp_matches({0}, '\\d(Z|[+-]\\d\\d(:?\\d\\d)?)\\s*$')"
# Types of the values of a text column, with the SQL condition that each of them meets; the first that fits is the type of the column.
VALUE_TYPES = {
    "BOOLEAN": "regexp_full_match({}, 'true|false', 'i')",
    "BIGINT": f"NOT {_CODE} AND regexp_full_match({{0}}, '\\s*[+-]?\\d+\\s*') AND TRY_CAST({{0}} AS BIGINT) IS NOT NULL",
    "DOUBLE": f"NOT {_CODE} AND TRY_CAST({{0}} AS DOUBLE) IS NOT NULL",
    "DATE": "regexp_full_match({0}, '\\d{{4}}-\\d\\d-\\d\\d') AND TRY_CAST({0} AS DATE) IS NOT NULL",
    "TIMESTAMPTZ": f"{_ZONED} AND TRY_CAST({{0}} AS TIMESTAMPTZ) IS NOT NULL",
    "TIMESTAMP": f"NOT {_ZONED} AND TRY_CAST({{0}} AS TIMESTAMP) IS NOT NULL",
    "DOUBLE[]": "starts_with({0}, '[') AND TRY_CAST({0} AS DOUBLE[]) IS NOT NULL",
}
# The SQL condition for text that stands for a missing value; see `input.missing`.
NO_VALUE = "regexp_full_match({}, '\\s*(n/?a|#n/a|nan|null|<na>|nat)?\\s*', 'i')"
NUMBERS = r"BOOLEAN|FLOAT|DOUBLE|DECIMAL.*|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|BIGNUM"


@dataclass(frozen=True)
class Rows:
    """Rows of files as an SQL table, on a connection of their own.

    Every column of a text file is text, which is read by its role: scores and weights as numbers, names as they are written, and what an
    SQL expression uses by the type of all its values. Other formats have types.
    """

    connection: Any
    shown: str
    kind: str
    paths: tuple[str, ...]
    sql: str
    """A table of the selected rows."""
    types: dict[str, str]
    where: str | None = None
    argument: str = "where"
    """The name of the condition in errors."""

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self.types)

    @property
    def printed(self) -> bool:
        """Whether numbers were printed, so that rows of probabilities sum to 1 only roughly."""
        return self.kind in PRINTED

    def typed_table(self, names: Iterable[str]) -> tuple[str, str]:
        """A table in which the text columns `names` have the type of all their values, and what to select from it for their text."""
        lower = {name.lower() for name in names}
        texts = [name for name, type in self.types.items() if type == "VARCHAR" and name.lower() in lower]
        types = self.value_types(texts) if self.printed else {}
        if not types:
            return self.sql, "*"
        text_columns = {name: quoted(f"{name} as it was written") for name in types}
        values = ", ".join(f"{text_value(name, type)} AS {quoted(name)}" for name, type in types.items())
        texts = [f"{quoted(name)} AS {column}" for name, column in text_columns.items()]
        table = f"(SELECT * REPLACE ({values}), {', '.join(texts)} FROM {self.sql})"  # noqa: S608 - quoted names
        back = ", ".join(f"{column} AS {quoted(name)}" for name, column in text_columns.items())
        return table, f"* EXCLUDE ({', '.join(text_columns.values())}) REPLACE ({back})"

    def value_types(self, names: Sequence[str], rows: int | None = None) -> dict[str, str]:
        """The types of all values of text columns, or of the first `rows`, without those that remain text.

        A text such as NA is missing beside values of another type.
        """
        if not names:
            return {}
        fits = [
            f"bool_and({condition.format(quoted(name))}) FILTER (NOT {NO_VALUE.format(quoted(name))})"
            for name in names
            for condition in VALUE_TYPES.values()
        ]
        some = self.sql if rows is None else f"(SELECT * FROM {self.sql} LIMIT {rows})"  # noqa: S608 - a number
        row = iter(self.connection.execute(f"SELECT {', '.join(fits)} FROM {some}").fetchone())  # noqa: S608 - quoted
        fitting = {name: [type for type in VALUE_TYPES if next(row)] for name in names}
        return {name: types[0] for name, types in fitting.items() if types}

    def select(self, condition: str) -> Rows:
        """The rows that satisfy an SQL expression."""
        table, columns = self.typed_table(check_expression(self.connection, condition, self.argument))
        sql = f"(SELECT {columns} FROM {table} WHERE (\n{condition}\n))"  # noqa: S608 - one expression
        return replace(self, sql=sql, where=condition)

    def add_column(self, name: str, expression: str, type: str, argument: str, *, of_texts: bool = False) -> Rows:
        """The rows with a further column, the value of an SQL expression of values or, with `of_texts`, of the text of text files."""
        import duckdb

        columns_used = check_expression(self.connection, expression, argument)
        table, columns = self.typed_table([] if of_texts else columns_used)
        sql = f"(SELECT {columns}, (\n{expression}\n) AS {quoted(name)} FROM {table})"  # noqa: S608 - one expression
        try:
            self.connection.execute(f"DESCRIBE SELECT * FROM {sql}")  # noqa: S608 - one expression
        except duckdb.Error as error:
            raise condition_error(error, self.names, argument) from error
        return replace(self, sql=sql, types={**self.types, name: type})

    def fetch(self, numbers: Sequence[str], texts: Sequence[str] = ()) -> dict[str, Any]:
        """Columns as arrays.

        Parameters
        ----------
        numbers
            Columns of numbers. One with a text that is not a number is returned as text, one whose first text is a list as lists.
        texts
            Columns whose values are names: as they are written, or in a type that NumPy represents without loss.
        """
        names = {name: lossless(name, self.types[name]) for name in texts}
        arrays = self._arrays({name: self._number(name) for name in numbers} | names)
        casts = [name for name in numbers if self.types[name] == "VARCHAR"]
        unread = [name for name in casts if np.ma.is_masked(arrays[name]) or not _are_exact(arrays[name])]
        written = self._arrays({name: quoted(name) for name in unread})
        for name in casts:
            missing = np.ma.getmaskarray(arrays[name])
            # Each text was read as a number, without loss.
            is_read = name not in written or np.array_equal(np.ma.getmaskarray(written[name]), missing)
            if is_read and _are_exact(np.ma.compressed(arrays[name])):
                arrays[name] = _integers_if_whole(arrays[name])
            elif self.begins_with_list(name):
                lists = self._arrays({name: text_value(name, "DOUBLE[]")})[name]
                arrays[name] = lists if _are_lists(written[name], lists) else written[name]
            else:
                arrays[name] = written[name]
        return {name: _as_matrix(name, values) for name, values in arrays.items()}

    def _number(self, name: str) -> str:
        """A column as a number, as SQL."""
        type = self.types[name]
        if type == "VARCHAR":
            return text_value(name, "DOUBLE")
        if not re.fullmatch(rf"({NUMBERS})(\[\d*\])*|ENUM.*|VARCHAR\[\d*\]", type):
            problem = f"has values of type {type}; expected numbers, text or truth values"
            raise ColumnError(name, problem, "name another column, or convert it first")
        return quoted(name)

    def _arrays(self, cells: Mapping[str, str]) -> dict[str, Any]:
        """The values of SQL expressions by name."""
        if not cells:
            return {}
        selected = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in cells.items())
        return dict(self.connection.execute(f"SELECT {selected} FROM {self.sql}").fetchnumpy())  # noqa: S608 - quoted names

    def begins_with_list(self, name: str) -> bool:
        """Whether the first text of a column is a list."""
        if self.types[name] != "VARCHAR":
            return False
        column = quoted(name)
        query = f"SELECT {column} FROM {self.sql} WHERE NOT {NO_VALUE.format(column)} LIMIT 1"  # noqa: S608 - quoted
        first = self.connection.execute(query).fetchall()
        return bool(first) and first[0][0].lstrip().startswith("[")

    def no_rows(self) -> FileError:
        """The error for files without rows, or without selected ones."""
        name = self.shown or original_of(self.paths[0])
        if self.where is not None:
            return FileError(name, f"has no rows that satisfy {self.argument}", "relax the condition")
        return FileError(name, "has no rows", "check the program that wrote it")

    def failure(self, error: Exception) -> FileError | ArgumentError:
        """The error that names the condition, or the file that cannot be read and the part of it."""
        import duckdb

        if isinstance(error, duckdb.BinderException):
            return condition_error(error, self.names, self.argument)
        if self.where is not None and isinstance(error, duckdb.ConversionException):
            remedy = "compare with values of the type of the column; empty fields are NULL: COLUMN IS NOT NULL"
            return ArgumentError(self.argument, f"cannot be evaluated: {first_line(error)}", remedy)
        broken = next(filter(self._is_broken, self.paths), None) if self.kind in READERS else None
        if broken is None and self.where is not None:
            return condition_error(error, self.names, self.argument)
        name = broken or self.paths[0]
        if broken is None and isinstance(error, duckdb.ConversionException):
            problem = f"an SQL expression cannot be evaluated: {first_line(error)}"
            return ArgumentError(name, problem, "use TRY_CAST, which is NULL for other text")
        file = original_of(name) if len(self.paths) > 1 or self.shown == "" else self.shown
        if "not utf-8" in str(error) or _is_utf16(name):
            return not_utf8(file)
        reason = first_line(error)
        line = re.search(r"CSV Error on Line: (\d+)", str(error))
        if line is not None:
            reasons = (
                r"^(Expected Number of Columns: .*|Maximum line size .*|.*unterminated quote.*|Invalid unicode .*)$"
            )
            stated = re.search(reasons, str(error), re.MULTILINE)
            reason = f"line {int(line[1]):,}" + (f": {stated[1].rstrip('.')}" if stated else "")
        return FileError(file, f"cannot be read as {self.kind}: {reason}", "write the file again, or leave it out")

    def _is_broken(self, path: str) -> bool:
        """Whether a file cannot be read."""
        import duckdb

        try:
            table = read_call(self.connection, self.kind, [path])
            self.connection.execute(f"SELECT bit_xor(hash(COLUMNS(*))) FROM (SELECT * FROM {table})")  # noqa: S608
        except duckdb.Error:
            return True
        return False

    @property
    def row_number(self) -> str:
        """The row number within the file as SQL; NULL for a selection of rows, and for several text files."""
        if self.kind == "parquet" and ROW not in self.types:
            return ROW
        alone = self.printed and len(self.paths) == 1 and self.where is None
        return "row_number() OVER () - 1" if alone else "NULL"


def paths_of(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """The files of a path, a pattern or a list of these, in order; an existing file takes precedence over a pattern.

    A file counts once, whatever paths, links and patterns name it.
    """
    paths: list[str] = []
    try:
        if is_frame(source):
            raise TypeError
        names = [os.fspath(item) for item in ([source] if isinstance(source, (str, os.PathLike)) else source)]
    except TypeError:
        problem = f"must be a path, a pattern or a list of them; got {type(source).__name__}"
        raise InputTypeError("source", problem, "use Sketches.of for rows in memory") from None
    for name in names:
        if name == "-":
            raise FileError(name, "standard input cannot be read here", "write it to a file first")
        if address := re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", name):  # shown without what may be a password
            raise FileError(address[0], "addresses are not read: no request leaves this machine", "copy the file first")
        pattern = any(sign in name for sign in "*?[") and not Path(name).exists()
        matched = sorted(glob.glob(name, recursive=True)) if pattern else [name]
        if not matched:
            raise FileError(name, "no file matches", "check the pattern")
        paths += matched
    for name in paths:
        path = Path(name)
        if not path.exists():
            raise FileError(name, "no such file", "check the path")
        if path.is_dir():
            raise FileError(name, "is a folder; expected files", f"for example {name}/*.parquet")
        if not path.is_file():
            raise FileError(name, "is a pipe or a device; expected a file", "write its content to a file first")
        if path.stat().st_size == 0:
            raise FileError(original_of(name), "is empty (0 bytes)", "check the program that wrote it")
    if not paths:
        raise FileError("source", "is empty", "give a path, a pattern or a list of them")
    first_path: dict[tuple[int, int | str], str] = {}
    for name in paths:
        status = Path(name).stat()
        first_path.setdefault(
            (status.st_dev, status.st_ino or os.path.realpath(name)), name
        )  # 0 where a file system has no numbers, as on Windows
    return as_tables(list(first_path.values()))


@contextmanager
def open_rows(
    paths: Sequence[str],
    kind: str,
    shown: str = "",
    *,
    where: str | None = None,
    table: str | None = None,
    argument: str = "where",
    numbered: str | None = None,
) -> Iterator[Rows]:
    """Open files as one table; the connection is closed at the end, and errors of DuckDB until then name the condition or the file.

    Parameters
    ----------
    paths, kind
        The files, and their common format.
    shown
        The name of a single file in messages.
    where, argument
        Condition on the rows, as one SQL expression, and its name in errors.
    table
        Table of a database.
    numbered
        Name of a column to add, with the number of each row before the condition is applied.
    """
    import duckdb

    connection = connect()
    try:
        if table is not None and kind != "duckdb":
            raise ArgumentError("table", "applies to DuckDB databases only", "drop table")
        rows = Rows(connection, shown, kind, tuple(paths), "", {}, None, argument)
        for path in paths:
            if Path(path).suffix.lower() == ".zst":
                check_complete(path)
        try:
            sql = (
                _attach_table(connection, list(paths), table)
                if kind == "duckdb"
                else read_call(connection, kind, paths)
            )
            described = connection.execute(f"DESCRIBE SELECT * FROM {sql}").fetchall()  # noqa: S608 - quoted
            types = {row[0]: row[1] for row in described if row[0] != FILE}
            if kind in ("csv", "tsv", "parquet"):
                _check_named_once(connection, kind, paths, list(types))
            if kind == "parquet" and ROW not in types:
                sql = read_call(connection, kind, paths, f"{ROW} = true")
            if len(types) == 1 and re.search(r"[,;\t|]", next(iter(types))):
                problem = f"cannot be split into columns: a row does not match the header {next(iter(types))[:80]!r}"
                remedy = "look for rows with more or fewer fields, such as comments"
                raise FileError(shown or original_of(paths[0]), problem, remedy)
            sql = sql if numbered is None else number_rows(sql, numbered)
            rows = replace(rows, sql=sql, types=types)
            rows = rows if where is None else rows.select(where)
            yield rows
        except CalibrantError:
            raise
        except (duckdb.Error, OSError, RuntimeError) as error:
            if is_interrupt(error):
                raise KeyboardInterrupt from None
            if not isinstance(error, (duckdb.Error, OSError)):
                raise
            raise replace(rows, where=where).failure(error) from error
    finally:
        connection.close()


def text_value(name: str, type: str) -> str:
    """A column of text as a value of another type, as SQL; NULL where it is not one.

    A cast of the column itself would be made by the reader of text files, which takes what it cannot convert for an error.
    """
    return f"TRY_CAST(nullif({quoted(name)}, '') AS {type})"


def number_rows(table: str, name: str) -> str:
    """A table with the number of each row as a further column."""
    return f"(SELECT *, row_number() OVER () - 1 AS {quoted(name)} FROM {table})"  # noqa: S608 - quoted names


def read_call(connection: Any, kind: str, paths: Sequence[str], *more: str) -> str:
    """The call of the DuckDB reader of some files; `more` are further options of it."""
    function, *options = READERS[kind]
    options += [*more, f"filename = {text(FILE)}"]
    if kind == "json":
        names = ", ".join(f"{text(name)}: 'VARCHAR'" for name in _keys(connection, paths))
        options.append(f"columns = {{{names}}}")
    elif len(paths) > 1:
        options.append("union_by_name = true")
    if kind in ("csv", "tsv"):
        options += _quotes(connection, kind, paths[0])
    return f"{function}({', '.join((_path_list(paths), *options))})"


def _keys(connection: Any, paths: Sequence[str]) -> list[str]:
    """The keys of all records of JSON files, in the order of the first records."""
    keys = f"SELECT unnest(json_keys(json)) AS key FROM read_json_objects({_path_list(paths)}, format = 'auto')"  # noqa: S608
    first = connection.execute(f"{keys} LIMIT 1000").fetchall()
    rows = connection.execute(f"SELECT DISTINCT key FROM ({keys})").fetchall()  # noqa: S608 - quoted
    names = list(dict.fromkeys(row[0] for row in [*first, *sorted(rows)]))
    if not names:
        raise FileError(original_of(paths[0]), "has no records with keys", "write one JSON object for each row")
    lower = [name.lower() for name in names]
    repeated = next((name for place, name in enumerate(names) if name.lower() in lower[:place]), None)
    if repeated is not None:
        problem = f"has keys that differ in capitals only: {names[lower.index(repeated.lower())]!r} and {repeated!r}"
        raise FileError(original_of(paths[0]), problem, "rename one of them")
    return names


def _check_named_once(connection: Any, kind: str, paths: Sequence[str], names: list[str]) -> None:
    """Raise if two columns have the same name, in whatever capitals; DuckDB calls the second ``p`` of a file ``p_1``."""
    lower = {name.lower() for name in names}
    renamed = {name.lower().rpartition("_")[0] for name in names if re.fullmatch(r".+_\d+", name)} & lower
    for path in paths if renamed else ():
        if kind == "parquet":
            header = connection.execute(f"SELECT list(name) FROM parquet_schema({_literal(path)})").fetchone()[0]  # noqa: S608
        else:
            options = ["header = false", *READERS[kind][2:], *_quotes(connection, kind, path)]
            header = connection.execute(f"SELECT * FROM read_csv({_literal(path)}, {', '.join(options)})").fetchone()  # noqa: S608
        header_names = [str(name).strip().lower() for name in header]
        repeated = next((name for name in renamed if header_names.count(name) > 1), None)
        if repeated is not None:
            problem = f"has two columns named {repeated!r} (capitals do not distinguish columns)"
            raise FileError(original_of(path), problem, "rename one of them")


def _quotes(connection: Any, kind: str, path: str) -> tuple[str, ...]:
    """The options that set the quotes of a text file; empty where DuckDB has to detect them."""
    detected, ours = _sniff(connection, kind, path), _sniff(connection, kind, path, *QUOTES)
    has_other_quotes = detected is not None and detected[0] in "'\\"
    is_same = ours is not None and (detected is None or detected[1:] == ours[1:])
    return QUOTES if is_same and not has_other_quotes else ()


def _sniff(connection: Any, kind: str, path: str, *options: str) -> tuple[str, list[str]] | None:
    """The quote and the columns that DuckDB detects in the first rows of a text file; None if it cannot."""
    import duckdb

    call = f"sniff_csv({', '.join((_literal(path), *READERS[kind][1:], *options))})"
    try:
        quote, columns = connection.execute(f"SELECT Quote, Columns FROM {call}").fetchone()  # noqa: S608 - quoted
    except duckdb.Error:
        return None
    # Behind a byte order mark, DuckDB takes quotes for a part of the first name.
    return quote, [column["name"].strip('"') for column in columns]


def _are_exact(numbers: Any) -> bool:
    """Whether floats are the numbers that were written, also where those are integers."""
    return not bool((np.abs(numbers) >= EXACT).any())


def _are_lists(texts: Any, lists: Any) -> bool:
    """Whether each text of a column is a list of numbers, or missing."""
    missing, unread = np.ma.getmaskarray(texts), np.ma.getmaskarray(lists)
    if unread.all() or not all(map(is_missing_text, np.ma.getdata(texts)[unread & ~missing].tolist())):
        return False
    # An entry that is not a number is null, too.
    pairs = zip(np.ma.getdata(texts)[~unread].tolist(), np.ma.getdata(lists)[~unread].tolist(), strict=True)
    return not any(np.ma.is_masked(row) and "n" not in text.lower() for text, row in pairs)


def _as_matrix(name: str, values: Any) -> Any:
    """A column of lists as an array with a row for each, NaN where an entry or the list is missing; other values unchanged."""
    if values.dtype.kind != "O":
        return values
    missing = np.ma.getmaskarray(values)
    lists = [row for row in np.ma.getdata(values)[~missing].tolist() if row is not None]
    if not lists or not all(isinstance(row, (list, np.ndarray)) for row in lists):
        return values
    lengths = sorted({len(row) for row in lists})
    if len(lengths) > 1:
        problem = f"has lists of {lengths[0]} to {lengths[-1]} entries"
        raise ColumnError(name, problem, "give every row one entry per class")
    single = all(isinstance(row, np.ndarray) and row.dtype == np.float32 for row in lists)
    matrix = np.full((len(values), lengths[0]), np.nan, np.float32 if single else np.float64)
    matrix[~missing] = [np.ma.filled(np.ma.asarray(row, matrix.dtype), np.nan) for row in lists]
    return matrix


def _integers_if_whole(numbers: Any) -> Any:
    """Numbers as integers if all are whole."""
    entries = np.ma.filled(numbers, 0)
    if not bool((entries == np.rint(entries)).all()):
        return numbers
    mask = np.ma.getmask(numbers)
    integers = entries.astype(np.int64)
    return integers if mask is np.ma.nomask else np.ma.masked_array(integers, mask)


def _is_utf16(path: str) -> bool:
    return Path(path).is_file() and read_start(path, 2) in (b"\xff\xfe", b"\xfe\xff")


def check_complete(path: str) -> None:
    """Raise for a .zst file that ends too early: DuckDB reads the rows before the end without an error."""
    import pyarrow as pa

    try:
        with pa.input_stream(path, compression="zstd") as stream:
            while stream.read(1 << 22):
                pass
    except OSError as error:
        raise FileError(original_of(path), f"cannot be unpacked: {error}", "write the file again") from error


def not_utf8(shown: str) -> FileError:
    """The error for text in another encoding."""
    is_utf16 = _is_utf16(shown)
    likely, name = ("UTF-16", "utf-16") if is_utf16 else ("Latin-1", "latin1")
    remedy = f"save it as UTF-8, for example with iconv -f {name} -t utf-8"
    return FileError(shown, f"is not UTF-8 text (it may be {likely})", remedy)


def _attach_table(connection: Any, paths: list[str], table: str | None) -> str:
    """A table of a database, opened for reading, as SQL; a view raises an error, since it can read any other file."""
    import duckdb

    if len(paths) > 1:
        raise FileError(paths[1], "only one database can be read", "name one")
    try:
        connection.execute(f"ATTACH {text(paths[0])} AS data (READ_ONLY)")
        connection.execute("SET enable_external_access = false")
        query = "SELECT table_name, table_type FROM information_schema.tables WHERE table_catalog = 'data' ORDER BY 1"
        kind_of = dict(connection.execute(query).fetchall())
        stored = [name for name, kind in kind_of.items() if kind != "VIEW"]
    except duckdb.Error as error:
        raise FileError(paths[0], f"cannot be opened as a DuckDB database: {first_line(error)}") from error
    if table is None and len(stored) == 1:
        table = stored[0]
    if kind_of.get(table) == "VIEW":
        problem = f"{table!r} is a view, which may read other files"
        raise FileError(paths[0], problem, f"store its rows as a table, with CREATE TABLE ... AS FROM {table}")
    if table is None or table not in stored:
        problem = ("has several tables" if stored else "has no table") if table is None else f"has no table {table!r}"
        tables = f"; the tables are {', '.join(stored[:20])}" if stored else ""
        raise FileError(paths[0], problem + tables, "pass table" if stored else "")
    return f"data.{quoted(table)}"


def common_kind(paths: list[str], format: str | None, find: Callable[[str], str | None] | None = None) -> str:
    """The common format of all files: that which is stated, or which `find` finds, by default by the name."""
    formats = [format or (find or kind_of)(path) for path in paths]
    for path, kind in zip(map(original_of, paths), formats, strict=True):
        if kind not in {*READERS, "duckdb", "npz"}:
            problem = f"unknown format; known extensions are {', '.join(KINDS)}"
            raise FileError(path, problem, "pass format")
        if kind != formats[0]:
            problem = f"is {kind}, and {original_of(paths[0])} is {formats[0]}"
            raise FileError(path, problem, "name files of one format")
    return str(formats[0])


def text(value: str) -> str:
    """A string as an SQL literal."""
    try:
        value.encode()
    except UnicodeEncodeError:
        readable = value.encode(errors="backslashreplace").decode()
        raise FileError(
            readable, "the file name is not valid UTF-8, and DuckDB cannot open it", "rename the file"
        ) from None
    return "'" + value.replace("'", "''") + "'"


def _literal(path: str) -> str:
    """A path as an SQL literal, with pattern characters escaped."""
    return text(re.sub(r"[*?\[]", r"[\g<0>]", path))


def _path_list(paths: Sequence[str]) -> str:
    """Paths as an SQL list."""
    return "[" + ", ".join(map(_literal, paths)) + "]"


def dialect_of(connection: Any, path: str, kind: str) -> tuple[dict[str, Any], int] | None:
    """The dialect of a text file, with the names of Python's csv module, and the number of lines above its header; None if undetermined."""
    import csv

    import duckdb

    options = (*READERS[kind][1:], *_quotes(connection, kind, path))
    try:
        dialect = connection.execute(
            f"SELECT Delimiter, Quote, Escape, SkipRows FROM sniff_csv({', '.join((_literal(path), *options))})"  # noqa: S608
        ).fetchone()
    except duckdb.Error:
        return None
    delimiter, quote, escape, skipped = dialect
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

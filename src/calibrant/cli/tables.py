"""A table read from a file of any format, and written with further columns as CSV, TSV or Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, CalibrantError, ColumnError, FileError
from ..input.missing import Dropped, all_missing, missing_error, missing_rows
from ..sketches.files.columns import (
    CALIBRATED,
    Columns,
    class_names,
    find_columns,
    first_line,
    is_guessed,
    no_probabilities,
    quoted,
)
from ..sketches.files.reading import PRINTED, text
from ..util.database import connect
from ..util.files import atomic_file, read_arrays
from .appending import Inseparable, appended
from .derived import is_expression, with_expressions
from .language_models import open_source
from .places import remember_read
from .rows import NUMBER, Rows, all_as_text, open_rows
from .source import are_classes, npz_logits, numbers_of_text, percentages, stacked

__all__ = ["Table", "check_target", "open_table"]

TARGETS = {
    ".parquet": "FORMAT parquet",
    ".pq": "FORMAT parquet",
    ".csv": "FORMAT csv, HEADER",
    ".tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
}


def check_target(out: str) -> str:
    """The DuckDB options to write a file of this name."""
    target = TARGETS.get(Path(out).suffix.lower())
    if target is None:
        raise ArgumentError("--out", f"must end in {', '.join(TARGETS)}; got {out!r}", "for example calibrated.parquet")
    return target


@dataclass(frozen=True)
class Table:
    """Rows of a file with all their columns."""

    connection: Any
    types: dict[str, str]
    scores: list[str]
    logits: bool
    text: bool
    """Whether numbers were printed, so that rows sum to 1 only approximately."""
    pattern: str
    paths: tuple[str, ...] = ()
    """The text files of these rows if their text is to be preserved; their rows are numbered."""
    kind: str = ""
    all: str = "rows_read"
    """The relation with all columns; in `rows_read` may be those of the scores only."""
    guessed: bool = False
    """Whether the scores are a column such as ``prediction`` that no option names."""

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self.types)

    def keywords(self) -> dict[str, Any]:
        """Scores as arguments for `Predictions`, without labels."""

        listed = ", ".join(quoted(name) for name in self.scores)
        arrays = self.connection.execute(f"SELECT {listed} FROM rows_read").fetchnumpy()  # noqa: S608 - quoted names
        scores = percentages(stacked([numbers_of_text(arrays[name]) for name in self.scores]))
        if self.guessed and are_classes(scores):
            raise no_probabilities(self.scores[0])
        keywords: dict[str, Any] = {"y_prob": scores, "input": "logit" if self.logits else "prob"}
        classes = class_names(self.scores, self.pattern) if len(self.scores) > 1 else None
        return keywords if classes is None else {**keywords, "classes": classes}

    def drop_missing(self, more: Mapping[str, str] | None = None, *, drop: bool = True) -> Dropped | None:
        """Drop the rows in which a score, or a column of `more` by argument, is missing; returns what was dropped, None if nothing.

        Without `drop`, an error counts them.
        """
        columns = {**dict.fromkeys(self.scores, "y_prob"), **(more or {})}
        listed = ", ".join(quoted(name) for name in columns)
        arrays = self.connection.execute(f"SELECT {listed} FROM rows_read").fetchnumpy()  # noqa: S608 - quoted names
        masks = {name: missing_rows(arrays[name], texts=columns[name] != "groups") for name in columns}
        dropped = Dropped.of(masks, applied=True)
        if not dropped.n:
            return None
        if not drop:
            raise missing_error({name: (columns[name], mask) for name, mask in masks.items() if mask.any()})
        if dropped.n == dropped.rows:
            raise all_missing(dropped, columns[next(iter(dropped.columns))])
        self.connection.register("rows_absent", {"absent": ~dropped.kept})
        query = "SELECT rows_read.* FROM rows_read POSITIONAL JOIN rows_absent WHERE NOT absent"
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE rows_read AS {query}")
        if self.all != "rows_read":
            query = "SELECT rows_all.* FROM rows_all POSITIONAL JOIN rows_absent WHERE NOT absent"
            self.connection.execute(f"CREATE OR REPLACE TEMP VIEW {self.all} AS {query}")
        return dropped

    def write(self, out: str, probs: Any) -> Path:
        """Write all columns and the calibrated columns atomically."""
        import duckdb

        target = check_target(out)
        columns = [probs] if probs.ndim == 1 else list(probs.T)
        scores = self.scores
        if len(scores) == len(columns) > 1:  # the order of the file may differ from that of the classes
            scores = sorted(scores, key=self.names.index)
            columns = [columns[self.scores.index(name)] for name in scores]
        names = [name + CALIBRATED for name in scores]
        taken = {name.lower() for name in self.names}
        for name in names:
            if name.lower() in taken:
                raise ColumnError(name, "the file already has this column", "remove it, or name other columns")
        try:
            with atomic_file(out) as stream:
                stream.writelines(self._appended(out, names, columns))
            return Path(out)
        except Inseparable:
            pass
        added = {f"c{place}": _plain(column) for place, column in enumerate(columns)}
        if len(names) == len(columns):
            new = ", ".join(f"{c} AS {quoted(name)}" for c, name in zip(added, names, strict=True))
        else:  # one column holds a list
            new = f"[{', '.join(added)}] AS {quoted(names[0])}"
        query = self._joined(added, new, typed="parquet" in target)
        with atomic_file(out) as stream:  # its name is that of the temporary file
            try:
                self.connection.execute(f"COPY ({query}) TO {text(str(stream.name))} ({target}, USE_TMP_FILE false)")
            except duckdb.Error as error:
                raise FileError(out, f"cannot be written: {first_line(error)}", "choose another format") from error
        return Path(out)

    def _appended(self, out: str, names: list[str], columns: list[Any]) -> Iterator[bytes]:
        """The records of the file with the new columns if the output has the same text format."""
        if len(self.paths) != 1 or Path(out).suffix.lower() != f".{self.kind}" or len(names) != len(columns):
            raise Inseparable
        kept = self.connection.execute(f"SELECT {quoted(NUMBER)} FROM rows_read").fetchnumpy()[NUMBER]  # noqa: S608
        return appended(self.connection, self.paths[0], self.kind, len(self.types), kept, names, columns)

    def _joined(self, added: dict[str, Any], new: str, *, typed: bool) -> str:
        """A query for all columns and the new ones; columns of text files keep their text, unless `typed` and a type is lossless."""
        if not self.paths:
            self.connection.register("rows_added", added)
            return f"SELECT {self.all}.*, {new} FROM {self.all} POSITIONAL JOIN rows_added"  # noqa: S608 - quoted names
        number = quoted(NUMBER)
        whole = f"SELECT * FROM {self.all} SEMI JOIN rows_read USING ({number})"  # noqa: S608 - quoted names
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE rows_read AS {whole}")
        kept = self.connection.execute(f"SELECT {number} FROM rows_read").fetchnumpy()[NUMBER]  # noqa: S608
        self.connection.register("rows_added", {NUMBER: _plain(kept, "int64"), **added})
        source = all_as_text(self.kind, list(self.paths), self.types)
        self.connection.execute(f"CREATE TEMP TABLE rows_text AS SELECT * FROM {source}")  # noqa: S608 - quoted names
        both = f"rows_read JOIN rows_text USING ({number})"
        same = {
            name: f"coalesce(bool_and(CAST(rows_read.{quoted(name)} AS VARCHAR) IS NOT DISTINCT FROM rows_text.{quoted(name)}), true)"
            for name, type in self.types.items()
            if type != "VARCHAR" and name not in self.scores and not type.endswith((")", "]"))
        }
        told: tuple[bool, ...] = ()
        if same:
            told = self.connection.execute(f"SELECT {', '.join(same.values())} FROM {both}").fetchone()  # noqa: S608
        changed = {name for name, equal in zip(same, told, strict=True) if not equal}
        plain = {name for name, type in self.types.items() if not type.endswith((")", "]"))}
        written = {name for name in plain if self.types[name] == "VARCHAR"} | changed if typed else plain
        table = {name: "rows_text" if name in written else "rows_read" for name in self.names}
        listed = ", ".join(f"{table[name]}.{quoted(name)}" for name in self.names)
        return f"SELECT {listed}, {new} FROM {both} JOIN rows_added USING ({number}) ORDER BY {number}"  # noqa: S608


def _plain(column: Any, dtype: str = "float64") -> Any:
    """A copy of an array."""
    import numpy as np

    return np.array(column, dtype=dtype)


@contextmanager
def open_table(
    file: str,
    columns: Columns,
    where: str | None,
    format: str | None,
    table: str | None = None,
    as_text: Sequence[tuple[str, str]] = (),
    *,
    to_write: bool = False,
    label_required: bool = True,
) -> Iterator[Table]:
    """Files as a table, with or without labels; `as_text` as for `open_rows`, ``-`` is standard input.

    With `to_write`, the text of text files is preserved. A label that is not required need not be a column.
    """
    connection = connect()
    try:
        with open_source(file, [columns], format, event=True) as (paths, (columns,), kind):
            if kind == "npz":
                found = _from_npz(connection, Path(paths[0]), columns, where, label_required)
            else:
                numbered = to_write and kind in PRINTED
                rows = open_rows(
                    connection, paths, file, kind, where=where, table=table, as_text=as_text, numbered=numbered
                )
                whole = rows
                rows = _computed(rows, columns, with_label=not to_write, label_required=label_required)
                scores = _scores(rows.names, columns, label_required)
                used = "*"
                if to_write:  # all columns are read once more, for writing, and are not held in memory
                    rows.execute(f"CREATE TEMP VIEW rows_all AS SELECT * FROM {whole.sql}")  # noqa: S608 - quoted names
                    rows.execute("CREATE TEMP VIEW rows_kept AS SELECT * FROM rows_all")
                    used = ", ".join(map(quoted, [*([NUMBER] if numbered else []), *scores]))
                rows.execute(f"CREATE TEMP TABLE rows_read AS SELECT {used} FROM {rows.sql}")  # noqa: S608 - quoted names
                found = _table(connection, scores, columns, printed=rows.printed)
                if to_write:
                    found = replace(found, types=whole.types, all="rows_kept")
                if numbered:
                    found = replace(found, paths=tuple(paths), kind=kind)
            ((count,),) = connection.execute("SELECT count(*) FROM rows_read").fetchall()
            if count == 0:
                remedy = "relax --where" if where is not None else "check the program that wrote it"
                raise FileError(file, "has no rows" + (" that satisfy --where" if where is not None else ""), remedy)
            yield found
    finally:
        connection.close()


def _from_npz(connection: Any, path: Path, columns: Columns, where: str | None, label_required: bool) -> Table:
    """Arrays as columns; those of a matrix are numbered."""
    if where is not None:
        raise ArgumentError("--where", "does not apply to the arrays of an .npz file", "filter before saving")
    remember_read([str(path)], "npz", where)
    arrays = read_arrays(path, (columns.label,))
    logits = npz_logits(arrays, columns)
    scores = ["logits"] if logits else _scores(list(arrays), columns, label_required)
    rows = len(arrays[scores[0]])
    flat: dict[str, Any] = {}
    for name, array in arrays.items():
        if array.ndim in (1, 2) and len(array) == rows:
            flat |= _numbered(name, array)
    names = [inner for name in scores for inner in _numbered(name, arrays[name])]
    connection.register("arrays", flat)
    connection.execute("CREATE TEMP TABLE rows_read AS SELECT * FROM arrays")
    table = _table(connection, names, columns, printed=False)
    return replace(table, logits=table.logits or logits)


def _numbered(name: str, array: Any) -> Mapping[str, Any]:
    if array.ndim == 1:
        return {name: array.astype(object) if array.dtype.kind in "US" else array}
    return {f"{name}_{place}": array[:, place].copy() for place in range(array.shape[1])}


def _computed(rows: Rows, columns: Columns, *, with_label: bool, label_required: bool) -> Rows:
    """The rows with the columns of expressions; a label that is not required may refer to columns that are not there yet."""
    without = replace(columns, label=None)
    if not with_label:
        return with_expressions(rows, without)
    try:
        return with_expressions(rows, columns)
    except CalibrantError as error:
        if label_required or error.argument != "--label":
            raise
        return with_expressions(rows, without)


def _scores(names: list[str], columns: Columns, label_required: bool) -> list[str]:
    """The score columns without the label, which may be an expression, and is then not one of them."""
    if columns.label not in names and (not label_required or is_expression(columns.label)):
        columns = replace(columns, label=None)
    return find_columns(names, columns, labelled=False)[1]


def _table(connection: Any, scores: list[str], columns: Columns, *, printed: bool) -> Table:
    types = {row[0]: row[1] for row in connection.execute("DESCRIBE rows_read").fetchall() if row[0] != NUMBER}
    pattern, guessed = columns.probs or columns.logits or "", is_guessed(columns, scores)
    return Table(connection, types, scores, columns.logits is not None, printed, pattern, guessed=guessed)

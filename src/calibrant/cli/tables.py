"""A table read from a file of any format, and written with further columns as CSV, TSV or Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ArgumentError, CalibrantError, ColumnError, FileError
from ..input.expressions import first_line, quoted
from ..input.frames import CALIBRATED, class_names
from ..input.missing import Dropped, drop_rows, missing_error, missing_rows
from ..sketches.files.columns import Columns, find_columns
from ..sketches.files.reading import PRINTED, Rows, number_rows, read_call, text, text_value
from ..util.files import atomic_file
from .language_models import open_source
from .rows import open_rows
from .source import (
    Source,
    is_expression,
    numbers_of_text,
    percentages,
    stack_columns,
    with_expressions,
    with_logits,
)

# A column with row numbers, under a name that no file uses.
NUMBER = "row that calibrant reads"
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
    """Rows of a file that are held as the table ``rows_read`` of a connection."""

    rows: Rows
    scores: list[str]
    logits: bool
    pattern: str
    source: Rows | None = None
    """All columns, where they are to be written; `rows` then has those of the scores only, and of text files the row numbers."""

    @property
    def names(self) -> list[str]:
        """The columns."""
        return (self.source or self.rows).names

    def keywords(self) -> dict[str, Any]:
        """Scores as arguments for `Predictions`, without labels."""
        arrays = self.rows.fetch(self.scores)
        scores = percentages(stack_columns([numbers_of_text(arrays[name]) for name in self.scores]))
        keywords: dict[str, Any] = {"y_prob": scores, "input": "logit" if self.logits else "prob"}
        classes = class_names(self.scores, self.pattern) if len(self.scores) > 1 else None
        return keywords if classes is None else {**keywords, "classes": classes}

    def drop_missing(self, groups: Sequence[str] = (), *, drop: bool = True) -> Dropped | None:
        """Drop the rows in which a score or a group is missing; returns what was dropped, None if nothing.

        Without `drop`, an error counts them.
        """
        columns = {**dict.fromkeys(self.scores, "y_prob"), **dict.fromkeys(groups, "groups")}
        arrays = self.rows.fetch([name for name in self.scores if name not in groups], groups)
        masks = {
            name: (argument, missing_rows(arrays[name], texts=argument != "groups"))
            for name, argument in columns.items()
        }
        missing = {name: pair for name, pair in masks.items() if pair[1].any()}
        if not missing:
            return None
        if not drop:
            raise missing_error(missing)
        dropped = drop_rows(missing, applied=True)
        connection = self.rows.connection
        connection.register("rows_absent", {"absent": ~dropped.kept})
        query = "SELECT rows_read.* FROM rows_read POSITIONAL JOIN rows_absent WHERE NOT absent"
        connection.execute(f"CREATE OR REPLACE TEMP TABLE rows_read AS {query}")
        if self.source is not None:
            query = "SELECT rows_all.* FROM rows_all POSITIONAL JOIN rows_absent WHERE NOT absent"
            connection.execute(f"CREATE OR REPLACE TEMP VIEW rows_kept AS {query}")
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
        existing = {name.lower() for name in self.names}
        for name in names:
            if name.lower() in existing:
                raise ColumnError(name, "the file already has this column", "remove it, or name other columns")
        added = {f"c{index}": np.array(column, np.float64) for index, column in enumerate(columns)}
        if len(names) == len(columns):
            new = ", ".join(f"{c} AS {quoted(name)}" for c, name in zip(added, names, strict=True))
        else:  # one column holds a list
            new = f"[{', '.join(added)}] AS {quoted(names[0])}"
        query = self._query_with_columns(added, new, typed="parquet" in target)
        with atomic_file(out) as stream:  # its name is that of the temporary file
            try:
                self.rows.connection.execute(
                    f"COPY ({query}) TO {text(str(stream.name))} ({target}, USE_TMP_FILE false)"
                )
            except duckdb.Error as error:
                raise FileError(out, f"cannot be written: {first_line(error)}", "choose another format") from error
        return Path(out)

    def _query_with_columns(self, added: dict[str, Any], new: str, *, typed: bool) -> str:
        """A query for all columns and the new ones; columns of text files keep their text, unless `typed` and a type is lossless."""
        rows, connection = self.rows, self.rows.connection
        if not rows.printed or self.source is None:
            connection.register("rows_added", added)
            return f"SELECT rows_kept.*, {new} FROM rows_kept POSITIONAL JOIN rows_added"  # noqa: S608 - quoted names
        number = quoted(NUMBER)
        numbers = connection.execute(f"SELECT {number} FROM rows_read").fetchnumpy()[NUMBER]  # noqa: S608 - a constant
        connection.register("rows_added", {NUMBER: np.array(numbers, np.int64), **added})
        # An empty field is missing, two quotes are an empty text.
        options = () if rows.kind == "json" else ("allow_quoted_nulls = false",)
        file_rows = number_rows(read_call(connection, rows.kind, rows.paths, *options), NUMBER)
        connection.execute(f"CREATE TEMP TABLE rows_text AS FROM {file_rows} SEMI JOIN rows_read USING ({number})")
        source = replace(self.source, sql="rows_text")
        types = source.value_types(source.names) if typed else {}
        values = {name: text_value(name, type) for name, type in types.items()}
        if types:
            texts = {
                name: f"to_json({value})" if types[name].endswith("]") else f"CAST({value} AS VARCHAR)"
                for name, value in values.items()
            }
            equalities = [f"bool_and({sql} IS NOT DISTINCT FROM {quoted(name)})" for name, sql in texts.items()]
            equal = connection.execute(f"SELECT {', '.join(equalities)} FROM rows_text").fetchone()  # noqa: S608 - quoted
            lossless = {name for name, each in zip(types, equal, strict=True) if each or name in self.scores}
            values = {name: value for name, value in values.items() if name in lossless}
        columns = ", ".join(f"{values.get(name, quoted(name))} AS {quoted(name)}" for name in source.names)
        return f"SELECT {columns}, {new} FROM rows_text JOIN rows_added USING ({number}) ORDER BY {number}"  # noqa: S608


@contextmanager
def open_table(source: Source, *, to_write: bool = False, label_required: bool = True) -> Iterator[Table]:
    """Files as a table, with or without labels; ``-`` is standard input.

    With `to_write`, the text of text files is preserved. A label that is not required need not be a column.
    """
    file, where = source.file, source.where
    with open_source(file, [source.columns], source.format, event=True) as (paths, (columns,), kind):
        numbered = NUMBER if to_write and kind in PRINTED else None
        with open_rows(paths, file, kind, where=where, table=source.table, numbered=numbered) as file_rows:
            columns = with_logits(columns, file_rows.names)
            rows = _with_expressions(file_rows, columns, with_label=not to_write, label_required=label_required)
            scores = _scores(rows.names, columns, label_required)
            columns_used = [*scores, *([] if numbered is None else [NUMBER])] if to_write else rows.names
            connection = rows.connection
            if to_write:  # all columns are read once more, for writing, and are not held in memory
                select_list = ", ".join(map(quoted, file_rows.names))
                connection.execute(f"CREATE TEMP VIEW rows_all AS SELECT {select_list} FROM {file_rows.sql}")  # noqa: S608
                connection.execute("CREATE TEMP VIEW rows_kept AS SELECT * FROM rows_all")
            select_list = ", ".join(map(quoted, columns_used))
            connection.execute(f"CREATE TEMP TABLE rows_read AS SELECT {select_list} FROM {rows.sql}")  # noqa: S608
            if connection.execute("SELECT count(*) FROM rows_read").fetchall() == [(0,)]:
                raise rows.no_rows()
            pattern, source_rows = columns.probs or columns.logits or "", file_rows if to_write else None
            yield Table(replace(rows, sql="rows_read"), scores, columns.logits is not None, pattern, source_rows)


def _with_expressions(rows: Rows, columns: Columns, *, with_label: bool, label_required: bool) -> Rows:
    """The rows with the columns of expressions; a label that is not required may refer to columns that are not there yet."""
    unlabelled = replace(columns, label=None)
    if not with_label:
        return with_expressions(rows, unlabelled)
    try:
        return with_expressions(rows, columns)
    except CalibrantError as error:
        if label_required or error.argument != "--label":
            raise
        return with_expressions(rows, unlabelled)


def _scores(names: list[str], columns: Columns, label_required: bool) -> list[str]:
    """The score columns without the label, which may be an expression, and is then not one of them."""
    if columns.label not in names and (not label_required or is_expression(columns.label)):
        columns = replace(columns, label=None)
    return find_columns(names, columns, labelled=False)[1]

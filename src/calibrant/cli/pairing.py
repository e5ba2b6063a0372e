"""Rows of several files that are about the same observations, paired by their ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..input.convert import match_columns
from ..input.expressions import lossless
from ..input.missing import on_same_rows
from ..input.predictions import Predictions
from .rows import is_log, is_sketch, kind_of_all, on_disk, open_rows
from .source import Source

ID_NAMES = (
    *("id", "row_id", "uuid", "sample_id", "example_id", "record_id", "prediction_id", "request_id", "event_id"),
    *("custom_id", "question_id", "doc_id"),
)
"""Usual names of a column with the id of each row, in small letters."""


def pair_rows(
    parts: Mapping[str, Predictions], sources: Sequence[Source], id_column: str | None
) -> dict[str, Predictions]:
    """Predictions of several files on the same rows, in the order of the first.

    Parameters
    ----------
    parts
        Predictions of the rows of each file.
    sources
        The files, in the order of `parts`.
    id_column
        Column with the id of each row; by default one that all files have and that is called so. Without one, rows are paired by order.
    """
    files = [source.file for source in sources]
    readable = not is_log(sources[0].format) and not any(map(is_sketch, files))
    ids = _ids(sources, id_column) if readable else None
    if ids is None:
        return on_same_rows(parts)
    name, values = ids
    first_rows = _rows_by_id(files[0], name, values[0])
    rows_of = {}
    for model, file, ids_of_file in zip(parts, files, values, strict=True):
        row_of_id = _rows_by_id(file, name, ids_of_file)
        alone = next((id for id in ids_of_file if id not in first_rows), None)
        if alone is not None:
            raise _pairing_error(f"{name} {_short_id(alone)} is in {file} and not in {files[0]}")
        if len(row_of_id) < len(first_rows):
            alone = next(id for id in first_rows if id not in row_of_id)
            raise _pairing_error(f"{name} {_short_id(alone)} is in {files[0]} and not in {file}")
        rows_of[model] = np.array([first_rows[id] for id in ids_of_file], np.int64)
    together = on_same_rows(parts, rows_of)
    first_model, *further = together.values()
    for other, file in zip(further, files[1:], strict=True):
        if first_model.labels is None or other.labels is None or first_model.classes != other.classes:
            continue  # which the comparison reports
        differ = np.flatnonzero(first_model.labels != other.labels)
        if len(differ):
            rows_kept = first_model.kept if first_model.dropped is None else first_model.dropped.kept
            row = differ[0] if rows_kept is None else np.flatnonzero(rows_kept)[differ[0]]
            raise _pairing_error(f"{name} {_short_id(values[0][row])} has different labels in {files[0]} and {file}")
    return together


def _rows_by_id(file: str, name: str, ids: Sequence[Any]) -> dict[Any, int]:
    """The row of each id."""
    rows: dict[Any, int] = {}
    for row, id in enumerate(ids):
        if id is None:
            raise _pairing_error(f"{name} is missing in a row of {file}")
        if rows.setdefault(id, row) != row:
            raise _pairing_error(f"{name} {_short_id(id)} is in several rows of {file}")
    return rows


def _pairing_error(problem: str) -> ArgumentError:
    remedy = "name a column that has one id for each row, the same in every file"
    return ArgumentError("--id", problem, remedy)


def _short_id(id: Any) -> str:
    return repr(id if len(id) <= 40 else f"{id[:40]}...")


def _ids(sources: Sequence[Source], column: str | None) -> tuple[str, list[list[Any]]] | None:
    """The column of ids and its values in each file, as text; None if no column of all files is called so."""
    with ExitStack() as stack:
        opened = []
        for source in sources:
            paths = stack.enter_context(on_disk(source.file))
            kind = kind_of_all(paths, source.format)
            opened.append(
                stack.enter_context(open_rows(paths, source.file, kind, where=source.where, table=source.table))
            )
        if column is None:
            names_of_files = [{name.lower() for name in rows.names} for rows in opened]
            column = next((name for name in ID_NAMES if all(name in names for names in names_of_files)), None)
            if column is None:
                return None
            columns = [next(name for name in rows.names if name.lower() == column) for rows in opened]
        else:
            columns = [match_columns(rows.names, [column], "--id")[0] for rows in opened]
        from ..monitoring.ingest import id_text  # a report on one file needs none of what it imports

        values = []
        for rows, name in zip(opened, columns, strict=True):
            sql = f"nullif(CAST({lossless(name, rows.types[name])} AS VARCHAR), '')"
            query = f"SELECT {sql} AS id FROM {rows.sql}"  # noqa: S608 - a quoted name
            ids = rows.connection.execute(query).fetchnumpy()["id"].tolist()
            values.append([None if id is None else id_text(id) for id in ids])
        return column, values

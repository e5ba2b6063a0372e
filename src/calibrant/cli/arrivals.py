"""Input of a monitor from the columns of a file: predictions with times and ids, and labels that arrive later."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ..errors import ArgumentError, ColumnError, InputTypeError, LabelError
from ..input.convert import is_missing_text, match_columns
from ..input.expressions import quoted
from ..input.missing import Dropped
from ..monitoring.ingest import reconcile
from ..sketches.files.columns import LABEL_NAMES, Columns, find_columns, like_classes
from .rows import read_features
from .source import Source, named_as_written
from .tables import Table, open_table


def read_rows(
    source: Source,
    *,
    time: str | None,
    id_column: str | None,
    ood: Sequence[str],
    features: Sequence[str],
    watched: str | None,
    label_required: bool,
) -> tuple[dict[str, Any], int, Dropped | None]:
    """Arguments of `Monitor.update` from the columns of a file, with the classes that the columns are named after, its number of rows, and what was dropped.

    With ``--drop-missing``, rows with a missing score or group are dropped; a missing label may arrive later, and a label that is not required
    need not be a column.
    `watched` is the column of groups that the monitor was created with; another column of the same file has other groups.
    """
    label, by = source.columns.label, source.columns.by
    with open_table(source, label_required=label_required) as opened:
        # Where the label is named, a column with a common name is something else.
        absent = not label_required and label is not None and label not in opened.names
        for option, name in (("--time", time), ("--id", id_column)):
            if name in opened.scores:
                raise ArgumentError(option, f"{name!r} is a column of scores", "name another column")
        if by not in (None, watched) and watched in opened.names:
            problem = f"this monitor was created with --by {watched}, which {source.file} also has; got {by}"
            raise ArgumentError("--by", problem, "drop --by")
        count = _count(opened)
        dropped = opened.drop_missing([] if by is None else [by], drop=source.drop_missing)
        keywords = opened.keywords()
        label_columns = [name for name in opened.names if name.lower() in LABEL_NAMES and name not in opened.scores]
        options_of = {"when": ("--time", time), "ids": ("--id", id_column), "groups": ("--by", by)}
        options_of["y_true"] = ("--label", None if absent else label or (label_columns[0] if label_columns else None))
        for argument, (option, column) in options_of.items():
            keywords[argument] = None if column is None else _column(opened, column, option)
        if ood:
            keywords["ood"] = {name: _column(opened, name, "--ood") for name in ood}
        if features:
            keywords["features"] = read_features(opened.rows, match_columns(opened.names, list(features), "--features"))
        if by is not None and opened.rows.printed:
            keywords["groups"] = named_as_written(keywords["groups"])
    if keywords["when"] is not None and keywords["when"].dtype.kind in "biuf":
        problem = f"expected times in column {time!r}, got numbers ({keywords['when'].dtype})"
        raise InputTypeError("--time", problem, "write timestamps, or text such as 2026-01-31T12:00:00Z")
    reconcile({"rows": count, "read": len(keywords["y_prob"]), "dropped": 0 if dropped is None else dropped.n})
    return keywords, count, dropped


def _count(table: Table) -> int:
    """Number of rows of a file that satisfy its condition, as the database counts them."""
    return int(table.rows.connection.execute("SELECT count(*) FROM rows_read").fetchone()[0])


def read_ood(source: Source, ood: Sequence[str]) -> dict[str, Any]:
    """Out-of-distribution scores of the rows of a file, by the names of their columns."""
    if source.file == "-":
        raise ArgumentError("--ood", "cannot be combined with standard input", "give the name of a file")
    with open_table(source) as opened:
        label = find_columns(opened.names, source.columns, labelled=False)[0]
        conflict = next((name for name in ood if name in (label, *opened.scores, source.columns.by)), None)
        if conflict is not None:
            problem = f"the column {conflict!r} holds the labels, scores or groups"
            raise ArgumentError("--ood", problem, "name another column")
        return {name: _column(opened, name, "--ood") for name in ood}


def read_reference_times(source: Source, time: str | None) -> Any:
    """Times of the rows of the reference data."""
    if time is None:
        raise ArgumentError("--time", "is required by --season", "name the column of times")
    if source.file == "-":
        raise ArgumentError("--season", "cannot be combined with standard input", "give the name of a file")
    with open_table(source) as opened:
        return _column(opened, time, "--time")


def in_class_order(keywords: dict[str, Any], classes: tuple[Any, ...]) -> dict[str, Any]:
    """The scores in the order of the reference classes if their columns are named after them; otherwise by position."""
    file_classes = like_classes(list(keywords.pop("classes", ())), classes)
    if keywords.get("y_true") is not None:
        keywords["y_true"] = labels_like(keywords["y_true"], classes)
    names, expected = [str(name) for name in file_classes], [str(name) for name in classes]
    if set(names) == set(expected):
        keywords["y_prob"] = keywords["y_prob"][:, [names.index(name) for name in expected]]
    elif set(names) & set(expected) and not all(name.isdigit() for name in names):
        problem = (
            f"the columns are {', '.join(names[:10])}, and the classes of the reference {', '.join(expected[:10])}"
        )
        raise ColumnError("--probs", problem, "name one column for each class of the reference")
    return keywords


def labels_like(labels: Any, classes: tuple[Any, ...]) -> Any:
    """Labels in the spelling of the reference if both are words for true and false; missing ones, also ``NA``, are masked."""
    if labels.dtype.kind not in "bOU":
        return labels
    names = {str(name) for name in classes}
    absent = [isinstance(each, str) and each not in names and is_missing_text(each) for each in labels.tolist()]
    if any(absent):
        # Beside such a text, numbers are read as text.
        mask = np.ma.getmaskarray(labels) | np.array(absent)
        data = [None if hidden else each for hidden, each in zip(mask, np.ma.getdata(labels).tolist(), strict=True)]
        with suppress(ValueError):
            data = [None if each is None else float(each) for each in data]
        labels = np.ma.masked_array(np.array(data, object), mask)
    mask = np.ma.getmaskarray(labels)
    values = list(dict.fromkeys(np.asarray(labels)[~mask].tolist()))
    class_of = dict(zip(values, like_classes(values, classes), strict=True))
    if all(class_of[label] is label for label in values):
        _check_numbers(labels, classes)
        return labels
    converted = np.array([class_of.get(label) for label in np.ma.getdata(labels).tolist()], dtype=object)
    return np.ma.masked_array(converted, mask) if mask.any() else converted


def _check_numbers(labels: Any, classes: tuple[Any, ...]) -> None:
    """Raise for the first text among the labels of classes that are numbers; beside it, numbers were read as text."""
    if any(isinstance(name, str) for name in classes):
        return
    for row, label in enumerate(labels.tolist()):
        if isinstance(label, str):
            try:
                float(label)
            except ValueError:
                raise LabelError("y_true", f"expected a number; got {label!r}", row=row) from None


def _column(table: Table, name: str, option: str) -> Any:
    """One column by its role, including missing values: times as they were read, names without loss, and numbers."""
    column = match_columns(table.names, [name], option)[0]
    rows = table.rows
    if option in ("--id", "--by"):
        return rows.fetch([], [column])[column]
    if option == "--time":
        return rows.connection.execute(f"SELECT {quoted(column)} AS time FROM rows_read").fetchnumpy()["time"]  # noqa: S608
    return rows.fetch([column])[column]


def read_label_file(
    file: str, id_column: str, label: str | None, where: str | None, format: str | None
) -> tuple[Any, Any]:
    """The ids and labels of a file without scores; the column of ids is passed as that of the scores."""
    try:
        with open_table(Source(file, Columns(label=label, prob=id_column), where, format)) as table:
            label_columns = [name for name in table.names if name.lower() in LABEL_NAMES and name != id_column]
            if label is None and not label_columns:
                columns_text = ", ".join(table.names[:20])
                raise ColumnError(
                    "--label", "no column has a common name for labels", f"the columns are {columns_text}"
                )
            ids, labels = _column(table, id_column, "--id"), _column(table, label or label_columns[0], "--label")
            reconcile({"labels": _count(table), "read": len(ids)})
            return ids, labels
    except ColumnError as error:
        raise error.replaced({"--prob": "--id"}) from None

"""Predictions from files: CSV, TSV, Parquet, JSON lines, NPZ, DuckDB databases or standard input, through DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._convert import match_columns, rounding_of
from ..engines.columns import (
    PROB_NAMES,
    Columns,
    as_booleans,
    class_names,
    find_columns,
    lossless,
    quoted,
    score_options,
)
from ..errors import ArgumentError, FileError
from ..files import read_npz
from .rows import connect, kind_of_all, on_disk, open_rows

__all__ = ["Columns", "load", "load_each"]


def load(
    file: str, columns: Columns, where: str | None = None, format: str | None = None, table: str | None = None
) -> dict[str, Any]:
    """Arguments for `Predictions`, read from a file or a pattern of files; ``-`` is standard input."""
    return load_each(file, [columns], where, format, table)[0]


def load_each(
    file: str, several: list[Columns], where: str | None = None, format: str | None = None, table: str | None = None
) -> list[dict[str, Any]]:
    """Arguments for `Predictions` for each choice of columns of the same rows."""
    with on_disk(file) as paths:
        kind = kind_of_all(paths, format)
        if kind != "npz":
            return [_from_table(paths, file, kind, columns, where, table) for columns in several]
        if where is not None:
            raise ArgumentError("--where", "needs a table, and an .npz file holds arrays", "filter before saving")
        return [_from_arrays(read_npz(Path(paths[0])), columns, text=False) for columns in several]


def _from_table(
    paths: list[str], shown: str, kind: str, columns: Columns, where: str | None, table: str | None
) -> dict[str, Any]:
    connection = connect()
    try:
        rows = open_rows(connection, paths, shown, kind, where=where, table=table)
        wanted = dict.fromkeys(_wanted(rows.names, columns))
        listed = [
            f"{lossless(name, rows.types[name])} AS {quoted(name)}" if name == columns.by else quoted(name)
            for name in wanted
        ]
        arrays = rows.execute(f"SELECT {', '.join(listed)} FROM {rows.sql}").fetchnumpy()  # noqa: S608 - quoted names
    finally:
        connection.close()
    if len(next(iter(arrays.values()))) == 0:
        remedy = "loosen --where" if where is not None else "check what wrote it"
        raise FileError(shown, "has no rows" + (" that fit --where" if where is not None else ""), remedy)
    return _from_arrays(arrays, columns, text=rows.printed)


def _wanted(existing: list[str], columns: Columns) -> list[str]:
    label, scores = find_columns(existing, columns)
    extra = [
        name
        for option, name in (("--weight", columns.weight), ("--counts", columns.counts), ("--by", columns.by))
        if name
    ]
    for option, name in (("--weight", columns.weight), ("--counts", columns.counts), ("--by", columns.by)):
        if name:
            match_columns(existing, [name], option)
    return [label, *scores, *extra]


def _from_arrays(arrays: dict[str, Any], columns: Columns, text: bool) -> dict[str, Any]:
    import numpy as np

    label, names = (
        find_columns(list(arrays), columns) if not _npz_logits(arrays, columns) else (_find_label(arrays), ["logits"])
    )
    scores = _stack([arrays[name] for name in names])
    words: dict[str, Any] = {"y_true": arrays[label], "y_prob": scores}
    if columns.logits or names == ["logits"]:
        words["input"] = "logit"
    if columns.confidence:
        words["input"] = "confidence"
    if text and scores.ndim == 2 and scores.dtype.kind == "f" and not np.ma.is_masked(scores):
        words["sum_tolerance"] = printed_tolerance(np.asarray(scores))
    if scores.ndim == 2 and len(names) > 1:
        classes = class_names(names, columns.probs or columns.logits or "")
        if classes is not None and arrays[label].dtype.kind == "b" and any(isinstance(name, str) for name in classes):
            classes = as_booleans(classes)
        if classes is not None and (arrays[label].dtype.kind in "OU" or all(isinstance(name, int) for name in classes)):
            words["classes"] = classes
    for word, option, name in (
        ("sample_weight", "--weight", columns.weight),
        ("counts", "--counts", columns.counts),
        ("groups", "--by", columns.by),
    ):
        if name:
            words[word] = arrays[match_columns(list(arrays), [name], option)[0]]
    return words


def _npz_logits(arrays: dict[str, Any], columns: Columns) -> bool:
    return (
        not any(name for _, name in score_options(columns))
        and "logits" in arrays
        and not any(n in arrays for n in PROB_NAMES)
    )


def _find_label(arrays: dict[str, Any]) -> str:
    return find_columns([*arrays, "prob"], Columns())[0]


def _stack(parts: list[Any]) -> Any:
    import numpy as np

    if len(parts) > 1:
        return (
            np.ma.column_stack(parts)
            if any(np.ma.is_masked(part) for part in parts)
            else np.column_stack([np.asarray(part) for part in parts])
        )
    only = parts[0]
    if only.dtype.kind == "O" and len(only) and isinstance(only[0], (list, np.ndarray)):
        return (
            [list(row) for row in only]
            if len({len(row) for row in only}) > 1
            else np.stack([np.asarray(row) for row in only])
        )
    return only


def printed_tolerance(scores: Any) -> float:
    """How far printed rows may be from 1: what rounding to the last decimal printed can do, three at the coarsest, six at the finest."""
    import numpy as np

    sample = scores[:10_000]
    for digits in (3, 4, 5):
        if np.allclose(np.round(sample, digits), sample, rtol=0, atol=1e-9):
            return rounding_of(scores.shape[1]) * 10.0**-digits * (1 + 1e-9)  # sums of decimals miss it by rounding
    return 1e-6

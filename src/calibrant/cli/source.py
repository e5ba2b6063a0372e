"""Predictions from a file: CSV, TSV, Parquet, JSON lines, NPZ or standard input, through DuckDB."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from .._convert import match_columns, rounding_of
from ..engines.columns import (
    PROB_NAMES,
    Columns,
    check_expression,
    class_names,
    find_columns,
    first_line,
    quoted,
    score_options,
)
from ..engines.reading import KINDS
from ..errors import ArgumentError, FileError
from ..files import read_npz

__all__ = ["Columns", "load", "load_each"]

# Databases are read as a stream only.
READERS = {**{suffix: kind for suffix, kind in KINDS.items() if kind != "duckdb"}, ".npz": "npz"}
SOURCES = {
    "csv": "read_csv(?, header = true)",
    "tsv": "read_csv(?, header = true, delim = '\t')",
    "parquet": "read_parquet(?)",
    "json": "read_json(?, format = 'auto')",
}


def load(file: str, columns: Columns, where: str | None = None, format: str | None = None) -> dict[str, Any]:
    """Arguments for `Predictions`, read from a file; ``-`` is standard input."""
    return load_each(file, [columns], where, format)[0]


def load_each(
    file: str, several: list[Columns], where: str | None = None, format: str | None = None
) -> list[dict[str, Any]]:
    """Arguments for `Predictions` for each choice of columns of the same rows."""
    if file != "-":
        return [_load(Path(file), file, columns, where, format) for columns in several]
    with tempfile.NamedTemporaryFile(suffix=".input") as copy:
        while chunk := sys.stdin.buffer.read(1 << 20):
            copy.write(chunk)
        copy.flush()
        path = Path(copy.name)
        return [_load(path, "-", columns, where, format or _sniff(path)) for columns in several]


def _load(path: Path, shown: str, columns: Columns, where: str | None, format: str | None) -> dict[str, Any]:
    if not path.exists():
        raise FileError(shown, "there is no such file", "check the path")
    if path.is_dir():
        raise FileError(shown, "is a folder, and a file is needed", "name one file in it")
    if path.stat().st_size == 0:
        raise FileError(shown, "is empty (0 bytes)", "check what wrote it")
    kind = format or READERS.get(path.suffix.lower()) or _sniff(path)
    if kind == "npz":
        if where is not None:
            raise ArgumentError("--where", "needs a table, and an .npz file holds arrays", "filter before saving")
        return _from_arrays(read_npz(path), columns, text=False)
    return _from_table(path, shown, kind, columns, where)


def _sniff(path: Path) -> str:
    with path.open("rb") as stream:
        head = stream.read(4096)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"PK\x03\x04"):
        return "npz"
    text = head.lstrip()
    if text.startswith((b"{", b"[")):
        return "json"
    first = head.split(b"\n", 1)[0]
    return "tsv" if first.count(b"\t") > first.count(b",") else "csv"


def _from_table(path: Path, shown: str, kind: str, columns: Columns, where: str | None) -> dict[str, Any]:
    import duckdb

    connection = duckdb.connect(
        ":memory:", config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    )
    try:
        source = SOURCES[kind]
        try:
            described = connection.execute(f"DESCRIBE SELECT * FROM {source}", [str(path)])  # noqa: S608 - a constant
            existing = [row[0] for row in described.fetchall()]
        except duckdb.Error as error:
            raise FileError(
                shown,
                f"cannot be read as {kind}: {first_line(error)}",
                "check the file, or say its kind with --format",
            ) from error
        wanted = _wanted(existing, columns)
        names = ", ".join(quoted(name) for name in dict.fromkeys(wanted))
        query = f"SELECT {names} FROM {source}"  # noqa: S608 - quoted names
        if where is not None:
            check_expression(connection, where)
            query += f" WHERE (\n{where}\n)"
        try:
            arrays = connection.execute(query, [str(path)]).fetchnumpy()
        except duckdb.BinderException as error:
            raise ArgumentError("--where", first_line(error), f"the columns are {', '.join(existing[:20])}") from error
        except duckdb.Error as error:
            at_fault = "--where" if where is not None and isinstance(error, duckdb.ConversionException) else shown
            raise FileError(at_fault, f"cannot be read: {first_line(error)}", "check the file") from error
    finally:
        connection.close()
    rows = len(next(iter(arrays.values())))
    if rows == 0:
        remedy = "loosen --where" if where is not None else "check what wrote it"
        raise FileError(shown, "has no rows" + (" that fit --where" if where is not None else ""), remedy)
    return _from_arrays(arrays, columns, text=kind != "parquet")


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

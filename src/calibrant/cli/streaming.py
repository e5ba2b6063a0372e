"""``calibrant scan``, and files that other commands read as a stream because they are too large for memory."""

from __future__ import annotations

import glob
import gzip
import time
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from ..errors import ArgumentError, CalibrantError, ColumnError, FileError, GroupError, LensError
from ..input.grouping import parse_by
from ..sketches.collection import Sketches
from ..sketches.files.columns import Columns, find_columns
from ..sketches.files.reading import common_kind, kind_of, open_rows, paths_of
from ..sketches.files.remote import is_remote
from ..sketches.files.scanning import scan
from .config import is_configured
from .derived import is_expression
from .places import remember_label, remember_read
from .rows import SKETCH, is_log, is_sketch
from .screen import clean, note_positive, print_lines, say
from .source import split

# Larger files are read as a stream unless --no-stream is given: bytes of text, unpacked, and rows of Parquet files.
LARGE = 512 << 20
MANY_ROWS = 10_000_000
# Rows that show whether a column of text holds numbers.
FIRST_ROWS = 1000
# Options that a stream does not support, and what replaces them.
NOT_STREAMED = {
    "logits": ", or name probabilities",
    "confidence": ", or name probabilities",
    "weight": "",
    "counts": "",
    "normalize": "",
    "clip": "",
    "pos_label": ", or --prob COLUMN --classes NEGATIVE,POSITIVE",
}
# Packed text is at least 1/1100 (gzip) of its size; zstd has no such limit, and text rarely shrinks to less than a fiftieth.
DENSEST = {".gz": 1100, ".zst": 50}


def is_streamed(file: str, stream: bool | None) -> bool:
    """Whether a file is read as a stream: with ``--stream``, and by default sketches, patterns, databases and large files."""
    path = Path(file)
    if is_sketch(file):
        return True
    if stream is not None or file == "-":
        return bool(stream)
    if is_remote(file) and not any(sign in file for sign in "*?["):
        path = Path(paths_of(file)[0])  # the copy on this machine
    if not path.exists():
        return any(sign in file for sign in "*?[") or kind_of(path) == "duckdb"
    return kind_of(path) == "duckdb" or (path.is_file() and kind_of(path) is not None and is_large(path))


def is_large(path: Path) -> bool:
    """Whether the content of a file may not fit into memory, however small the file is."""
    size = path.stat().st_size
    if size > LARGE:
        return True
    if kind_of(path) == "parquet":
        return _parquet_rows(path) > MANY_ROWS
    packed = path.suffix.lower()
    if size * DENSEST.get(packed, 1) <= LARGE:
        return False
    return packed == ".zst" or _unpacks_beyond(path, LARGE)


def _parquet_rows(path: Path) -> int:
    """Number of rows as stated at the end of the file; 0 where it cannot be read, which the reader reports."""
    import duckdb

    from ..util.database import connect

    try:
        with connect() as connection:
            query = "SELECT sum(num_rows) FROM parquet_file_metadata(?)"
            return int(connection.execute(query, [glob.escape(str(path))]).fetchall()[0][0] or 0)
    except duckdb.Error:
        return 0


def _unpacks_beyond(path: Path, limit: int) -> bool:
    """Whether a gzip file has more than `limit` bytes of content; reads no further."""
    read = 0
    try:
        with gzip.open(path) as stream:
            while read <= limit and (part := stream.read(1 << 20)):
                read += len(part)
    except (OSError, EOFError, zlib.error):
        return False
    return read > limit


def has_many_rows(file: str, most: int, columns: Columns, keywords: dict[str, Any]) -> bool:
    """Whether a file has more than `most` rows of two classes, all of whose columns and options a stream supports."""
    if file == "-" or is_sketch(file) or is_log(keywords.get("format")) or _not_streamed(columns, keywords):
        return False
    if is_expression(columns.label) or is_expression(columns.prob):
        return False
    try:
        paths = paths_of(file)
        kind = common_kind(paths, keywords.get("format"))
        with open_rows(paths, kind, where=keywords.get("where"), table=keywords.get("table")) as rows:
            label, scores = find_columns(rows.names, columns)
            groupings = parse_by(columns.by, rows.names, "--by") if columns.by else ()
            one_grouping = len(groupings) < 2 and not any(f.kind == "quantiles" for each in groupings for f in each)
            # A text may be a percentage, and a list has any number of classes.
            types = {name: rows.types[name] for name in scores} | rows.value_types(
                scores if rows.printed else (), FIRST_ROWS
            )
            numbers = not any(type.endswith(("VARCHAR", "]")) for type in types.values())
            if len(scores) > 2 or not numbers or not one_grouping:
                return False
            remember_label(label)
            query = f"SELECT count(*) FROM (SELECT 1 FROM {rows.sql} LIMIT {most + 1})"  # noqa: S608 - quoted
            return bool(rows.connection.execute(query).fetchall()[0][0] > most)
    except CalibrantError:  # which reading the rows reports
        return False


def read_stream(file: str, stream: bool | None, columns: Columns, keywords: dict[str, Any]) -> Sketches | None:
    """The sketches of a file that is read as a stream; None for a file that is read as a whole."""
    if is_log(keywords.get("format")):
        if stream:
            raise ArgumentError("--stream", "a log of a language model cannot be read as a stream", "drop it")
        return None
    if not is_streamed(file, stream):
        return None
    if file == "-":
        raise ArgumentError("--stream", "standard input cannot be read as a stream", "write it to a file first")
    try:
        return read((file,), columns, keywords)
    except GroupError as error:
        if error.row is not None or is_sketch(file):
            raise
        raise error.replaced(
            remedy=f"use --no-stream, or {error.remedy}" if error.remedy else "use --no-stream"
        ) from None


def read(files: tuple[str, ...], columns: Columns, keywords: dict[str, Any]) -> Sketches:
    """Merge sketches, or scan files with the columns and options of the command line."""
    if any(map(is_sketch, files)):
        return _merge_sketches(files, {**asdict(columns), **keywords})
    option = _not_streamed(columns, keywords)
    if option is not None:
        raise ArgumentError(_option(option), "cannot be used with a stream", f"use --no-stream{NOT_STREAMED[option]}")
    if columns.prob and columns.probs:
        raise ArgumentError("--probs", "cannot be combined with --prob", "give one of them")
    classes = keywords.get("classes")
    paths, kind = paths_of(files), keywords.get("format")
    remember_read(paths, kind or kind_of(paths[0]) or "", keywords.get("where"))
    try:
        sketches = scan(
            list(files),
            label=columns.label,
            prob=columns.probs or columns.prob,
            by=columns.by,
            where=keywords.get("where"),
            classes=None if classes is None else class_list(classes),
            format=keywords.get("format"),
            table=keywords.get("table"),
            missing="drop" if keywords.get("drop_missing") else "raise",
        )
    except ColumnError as error:
        option = f"--{error.argument.strip('-')}"
        text = {"--label": columns.label, "--prob": columns.prob}.get(option)
        if not is_expression(text):
            raise
        problem = f"an expression such as {text!r} cannot be used with a stream"
        raise ArgumentError(option, problem, "use --no-stream, or write it as a column first") from None
    if classes is None and columns.prob is None and "," not in (columns.probs or ""):
        note_positive(sketches.classes)
    return sketches


def _not_streamed(columns: Columns, keywords: dict[str, Any]) -> str | None:
    """The first option that a stream does not support."""
    options = {**asdict(columns), **keywords}
    return next((option for option in NOT_STREAMED if options.get(option)), None)


def _merge_sketches(files: tuple[str, ...], options: dict[str, Any]) -> Sketches:
    """Merge files of sketches, which have neither columns nor rows to select."""
    other = next((file for file in files if not is_sketch(file)), None)
    if other is not None:
        raise FileError(
            other, f"cannot be combined with {SKETCH} files", f"scan it separately, then merge the {SKETCH} files"
        )
    given = next((name for name, value in options.items() if value and not is_configured(name)), None)
    if given is not None:
        raise ArgumentError(_option(given), f"applies to rows, and {files[0]} is a sketch", "give it to scan")
    first, *others = paths_of(files)
    total = Sketches.read(first)
    for file in others:
        try:
            total = total.merge(Sketches.read(file))
        except LensError as error:
            raise FileError(file, f"cannot be merged with {first}: {error.problem}", error.remedy) from None
    return total


def _option(name: str) -> str:
    return "--confidence-column" if name == "confidence" else f"--{name.replace('_', '-')}"


def class_list(names: str) -> list[Any]:
    """Comma-separated names of classes; numbers if all of them are."""
    parts = [name.strip() for name in names.split(",")]
    return [int(name) for name in parts] if all(name.lstrip("-").isdigit() for name in parts) else parts


def _merge_cells(files: tuple[str, ...], options: dict[str, Any]) -> Sketches:
    """Merge the results of queries that `calibrant sql` printed."""
    dropped: Literal["raise", "drop"] = "drop" if options.pop("drop_missing") else "raise"
    given = next((name for name, value in options.items() if value and not is_configured(name)), None)
    if given is not None:
        raise ArgumentError(_option(given), "applies to rows, and --cells reads sums", "give it to `calibrant sql`")
    total: Sketches | None = None
    for file in paths_of(files):
        try:
            found = Sketches.from_cells(file, missing=dropped)
            total = found if total is None else total.merge(found)
        except CalibrantError as error:
            changes: dict[str, Any] = {"argument": file} if error.argument in ("table", "other") else {"source": file}
            raise error.replaced(**changes) from None
    assert total is not None
    return total


def run(files: tuple[str, ...], *, out: str, cells: bool = False, **options: Any) -> None:
    """Scan files and write a sketch."""
    columns, others = split(options)
    if not is_sketch(out):
        raise ArgumentError("--out", f"must end in {SKETCH}; got {out!r}", f"for example day{SKETCH}")
    start = time.perf_counter()
    sketches = _merge_cells(files, {**asdict(columns), **others}) if cells else read(files, columns, others)
    seconds = time.perf_counter() - start
    path = sketches.write(out)
    size = path.stat().st_size
    notes = [] if sketches.dropped is None else [str(sketches.dropped)]
    print_lines([repr(sketches), *notes, f"{sketches.n:,} rows read in {seconds:.1f} s, summarized in {size:,} bytes"])
    say(clean(f"Wrote {path}; evaluate it with: calibrant evaluate {path}"))

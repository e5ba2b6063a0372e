"""``calibrant scan``, and files that other commands read as a stream because they are too large for memory."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

import click

from ..errors import ArgumentError, CalibrantError, FileError, GroupError, LensError
from ..sketches.collection import Sketches
from ..sketches.files.converting import PACKED, kind_of
from ..sketches.files.reading import paths_of
from ..sketches.files.scanning import scan
from . import options
from .config import is_configured
from .places import remember_read
from .rows import SKETCH, is_log, is_sketch
from .screen import clean, note_positive, print_lines, say
from .source import Source

# Larger files are read as a stream unless --no-stream is given: bytes of text, unpacked, and rows of Parquet files.
LARGE = 512 << 20
MANY_ROWS = 10_000_000
# Reading the footer of a Parquet file takes time; smaller files fit into memory, whatever they hold.
SMALL_PARQUET = 1 << 20
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
# Packed text counts as many times its size; predictions rarely shrink to less.
PACKED_SIZE = 10


def is_streamed(file: str, stream: bool | None) -> bool:
    """Whether a file is read as a stream: with ``--stream``, and by default sketches, patterns, databases and large files."""
    path = Path(file)
    if is_sketch(file):
        return True
    if stream is not None or file == "-":
        return bool(stream)
    if not path.exists():
        return any(sign in file for sign in "*?[") or kind_of(path) == "duckdb"
    return kind_of(path) == "duckdb" or (path.is_file() and kind_of(path) is not None and is_large(path))


def is_large(path: Path) -> bool:
    """Whether the content of a file may not fit into memory, however small the file is."""
    size = path.stat().st_size
    if size > LARGE:
        return True
    if kind_of(path) == "parquet":
        return size > SMALL_PARQUET and _parquet_rows(path) > MANY_ROWS
    return path.suffix.lower() in PACKED and size * PACKED_SIZE > LARGE


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


def read_stream(source: Source, stream: bool | None) -> Sketches | None:
    """The sketches of a file that is read as a stream; None for a file that is read as a whole."""
    if is_log(source.format):
        if stream:
            raise ArgumentError("--stream", "a log of a language model cannot be read as a stream", "drop it")
        return None
    if not is_streamed(source.file, stream):
        return None
    if source.file == "-":
        raise ArgumentError("--stream", "standard input cannot be read as a stream", "write it to a file first")
    try:
        return read((source.file,), source)
    except GroupError as error:
        if error.row is not None or is_sketch(source.file):
            raise
        raise error.replaced(
            remedy=f"use --no-stream, or {error.remedy}" if error.remedy else "use --no-stream"
        ) from None


def read(files: tuple[str, ...], source: Source) -> Sketches:
    """Merge sketches, or scan files as the options of a source say."""
    if any(map(is_sketch, files)):
        return _merge_sketches(files, source)
    if option := not_streamed(source):
        raise ArgumentError(_option(option), "cannot be used with a stream", f"use --no-stream{NOT_STREAMED[option]}")
    columns = source.columns
    if columns.prob and columns.probs:
        raise ArgumentError("--probs", "cannot be combined with --prob", "give one of them")
    paths = paths_of(files)
    remember_read(paths, source.format or kind_of(paths[0]) or "", source.where)
    sketches = scan(
        list(files),
        label=columns.label,
        prob=columns.probs or columns.prob,
        by=columns.by,
        where=source.where,
        classes=None if source.classes is None else class_list(source.classes),
        format=source.format,
        table=source.table,
        missing="drop" if source.drop_missing else "raise",
    )
    if source.classes is None and columns.prob is None and "," not in (columns.probs or ""):
        note_positive(sketches.classes)
    return sketches


def not_streamed(source: Source) -> str | None:
    """The first option that a stream does not support."""
    return next((option for option in NOT_STREAMED if option in source.given), None)


def _merge_sketches(files: tuple[str, ...], source: Source) -> Sketches:
    """Merge files of sketches, which have neither columns nor rows to select."""
    unsketched = next((file for file in files if not is_sketch(file)), None)
    if unsketched is not None:
        raise FileError(
            unsketched, f"cannot be combined with {SKETCH} files", f"scan it separately, then merge the {SKETCH} files"
        )
    option = next((name for name in source.given if not is_configured(name)), None)
    if option is not None:
        raise ArgumentError(_option(option), f"applies to rows, and {files[0]} is a sketch", "give it to scan")
    first, *further_files = paths_of(files)
    total = Sketches.read(first)
    for file in further_files:
        try:
            total = total.merge(Sketches.read(file))
        except LensError as error:
            raise FileError(file, f"cannot be merged with {first}: {error.problem}", error.remedy) from None
    return total


def _option(name: str) -> str:
    return "--confidence-column" if name == "confidence" else f"--{name.replace('_', '-')}"


def class_list(names: str) -> list[Any]:
    """Comma-separated names of classes; numbers if all of them are."""
    items = [name.strip() for name in names.split(",")]
    return [int(name) for name in items] if all(name.lstrip("-").isdigit() for name in items) else items


def _merge_cells(files: tuple[str, ...], source: Source) -> Sketches:
    """Merge the results of queries that `calibrant sql` printed."""
    option = next((name for name in source.given if name != "drop_missing" and not is_configured(name)), None)
    if option is not None:
        raise ArgumentError(_option(option), "applies to rows, and --cells reads sums", "give it to `calibrant sql`")
    total: Sketches | None = None
    for file in paths_of(files):
        try:
            sketches = Sketches.from_cells(file, missing="drop" if source.drop_missing else "raise")
            total = sketches if total is None else total.merge(sketches)
        except CalibrantError as error:
            changes: dict[str, Any] = {"argument": file} if error.argument in ("table", "other") else {"source": file}
            raise error.replaced(**changes) from None
    assert total is not None
    return total


@options.command("scan")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.label_option
@options.prob_option
@click.option(
    "--probs",
    metavar="COLUMNS",
    help="Columns with one probability per class: a comma-separated list or a pattern such as 'p_*'.",
)
@options.by_option(
    "Column with the group of each row, or an SQL expression; each group is also summarized separately. 'a x b' are combinations."
)
@options.where_option
@options.classes_option
@click.option("--format", type=click.Choice(["csv", "tsv", "parquet", "json", "duckdb"]), help="Format of the files.")
@options.table_option
@options.drop_missing_option
@click.option("--cells", is_flag=True, help="FILE holds the result of a query that `calibrant sql` printed.")
@options.written_option(
    "--out", kind="a sketch", required=True, help="Where to write the sketch; the name ends in .sketch."
)
@options.debug_option
def run(files: tuple[str, ...], *, out: str, cells: bool = False, **options: Any) -> None:
    """Read FILES of any size once and write a sketch from which metrics can be computed, or merge .sketch FILES.

    Patterns such as 'preds/*.parquet' name many files. The sketch is read by evaluate, assess and report.
    """
    source = Source.take(files[0], options)
    if not is_sketch(out):
        raise ArgumentError("--out", f"must end in {SKETCH}; got {out!r}", f"for example day{SKETCH}")
    sketches = _merge_cells(files, source) if cells else read(files, source)
    path = sketches.write(out)
    size = path.stat().st_size
    notes = [] if sketches.dropped is None else [str(sketches.dropped)]
    print_lines([repr(sketches), *notes, f"{sketches.n:,} rows summarized in {size:,} bytes"])
    say(clean(f"Wrote {path}."))

"""Files too large for memory, on the command line: what is read as a stream, and ``calibrant scan``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, CalibrantError, FileError, LensError
from ..sketches.collection import Sketches
from ..sketches.files.columns import Columns
from ..sketches.files.reading import kind_of, paths_of
from ..sketches.files.scanning import scan
from .places import remember_read
from .screen import clean, is_terminal, note_positive, print_lines, say
from .source import split

__all__ = ["is_sketch", "run", "streamed"]

SUFFIX = ".sketch"
# Rows of files above this are not all held in memory unless that is asked for.
LARGE = 512 << 20


def is_sketch(file: str) -> bool:
    """Whether a file holds what scan wrote, by its name."""
    return Path(file).suffix == SUFFIX


def is_streamed(file: str, stream: bool | None) -> bool:
    """Whether a file is read as a stream: where asked for, and else sketches, patterns, databases and large files."""
    path = Path(file)
    if is_sketch(file):
        return True
    if stream is not None or file == "-":
        return bool(stream)
    if not path.exists():
        return any(sign in file for sign in "*?[") or kind_of(path) == "duckdb"
    large = path.is_file() and kind_of(path) is not None and path.stat().st_size > LARGE
    return kind_of(path) == "duckdb" or large


def streamed(file: str, stream: bool | None, columns: Columns, keywords: dict[str, Any]) -> Sketches | None:
    """The sketches of a file that is read as a stream; None where it is to be read as a whole."""
    if not is_streamed(file, stream):
        return None
    if file == "-":
        raise ArgumentError("--stream", "needs a file, and standard input was given", "write it to a file first")
    return read((file,), columns, keywords)


def read(files: tuple[str, ...], columns: Columns, keywords: dict[str, Any]) -> Sketches:
    """Add sketches, or scan files with the columns and options of the command line."""
    if any(map(is_sketch, files)):
        return _added(files, {**asdict(columns), **keywords})
    for option in ("logits", "confidence", "weight", "counts"):
        if getattr(columns, option):
            raise ArgumentError(f"--{option}", "cannot be read as a stream", "pass --no-stream, or probabilities")
    for option in ("normalize", "clip", "pos_label"):
        if keywords.get(option):
            more = ", or --prob COLUMN --classes NEGATIVE,POSITIVE" if option == "pos_label" else ""
            raise ArgumentError(_option(option), "cannot be used with a stream", f"pass --no-stream{more}")
    if columns.prob and columns.probs:
        raise ArgumentError("--probs", "was given beside --prob", "pass one of them")
    classes = keywords.get("classes")
    paths, kind = paths_of(files), keywords.get("format")
    remember_read(paths, kind or kind_of(paths[0]) or "", keywords.get("where"))
    with rows_bar() as tell, _as_options("--probs" if columns.probs else "--prob"):
        found = scan(
            list(files),
            label=columns.label,
            prob=columns.probs or columns.prob,
            by=columns.by,
            where=keywords.get("where"),
            classes=None if classes is None else _classes(classes),
            format=keywords.get("format"),
            table=keywords.get("table"),
            progress=tell,
        )
    if classes is None and columns.prob is None and "," not in (columns.probs or ""):
        note_positive(found.classes)
    return found


def _added(files: tuple[str, ...], options: dict[str, Any]) -> Sketches:
    """The sum of files of sketches, which hold no columns to choose or rows to leave out."""
    other = next((file for file in files if not is_sketch(file)), None)
    if other is not None:
        raise FileError(
            other, f"is no {SUFFIX} file, and others are", f"scan it by itself, then add the {SUFFIX} files"
        )
    given = next((name for name, value in options.items() if value), None)
    if given is not None:
        raise ArgumentError(_option(given), f"is for rows, and {files[0]} holds a sketch of them", "pass it to scan")
    total = Sketches.read(files[0])
    for file in files[1:]:
        try:
            total = total.merge(Sketches.read(file))
        except LensError as error:
            raise FileError(file, f"cannot be added to {files[0]}: {error.problem}", error.remedy) from None
    return total


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@contextmanager
def _as_options(prob: str) -> Iterator[None]:
    """Errors speak of arguments; here those are options, and `prob` is the one that names scores."""
    options = {name: _option(name) for name in ("label", "by", "where", "classes", "format", "table")} | {"prob": prob}

    try:
        yield
    except CalibrantError as error:
        argument = options.get(error.argument, error.argument)
        problem, remedy = (text.replace("prob='", "--probs '") for text in (error.problem, error.remedy))
        raise type(error)(argument, problem, remedy, row=error.row) from error


def _classes(names: str) -> list[Any]:
    parts = [name.strip() for name in names.split(",")]
    return [int(name) for name in parts] if all(name.lstrip("-").isdigit() for name in parts) else parts


@contextmanager
def rows_bar() -> Iterator[Callable[[int], None] | None]:
    """How many rows were read, and how many each second, on standard error where that is a terminal."""
    if not is_terminal(sys.stderr):
        yield None
        return
    from rich.console import Console

    console = Console(stderr=True)
    start = time.perf_counter()
    with console.status("reading") as status:

        def tell(rows: int) -> None:
            status.update(f"{rows:,} rows, {rows / max(time.perf_counter() - start, 1e-9) / 1e6:.1f} million a second")

        yield tell


def run(files: tuple[str, ...], *, out: str, **options: Any) -> None:
    """Scan files and write what every score metric needs of them."""
    columns, others = split(options)
    if Path(out).suffix != SUFFIX:
        raise ArgumentError("--out", f"must end in {SUFFIX}; got {out!r}", f"for example day{SUFFIX}")
    start = time.perf_counter()
    sketches = read(files, columns, others)
    seconds = time.perf_counter() - start
    path = sketches.write(out)
    size = path.stat().st_size
    print_lines([repr(sketches), f"{sketches.n:,} rows in {seconds:.1f} s, kept in {size:,} bytes"])
    say(clean(f"wrote {path}: calibrant evaluate {path}"))

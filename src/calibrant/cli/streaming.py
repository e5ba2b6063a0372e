"""Files too large for memory, on the command line: what is read as a stream, and ``calibrant scan``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ..engines.columns import Columns
from ..engines.reading import KINDS
from ..engines.scanning import scan
from ..errors import ArgumentError
from ..sketches import Sketches
from .screen import clean, print_lines

__all__ = ["run", "streamed"]

SUFFIX = ".sketch"
# Rows of files above this are not all held in memory unless that is asked for.
LARGE = 512 << 20


def is_streamed(file: str, stream: bool | None) -> bool:
    """Whether a file is read as a stream: where asked for, and else sketches, patterns, databases and large files."""
    if stream is not None or file == "-":
        return bool(stream)
    path = Path(file)
    if path.suffix == SUFFIX or any(sign in file for sign in "*?[") or KINDS.get(path.suffix.lower()) == "duckdb":
        return not path.exists() or path.suffix == SUFFIX or KINDS.get(path.suffix.lower()) == "duckdb"
    return path.is_file() and path.suffix.lower() in KINDS and path.stat().st_size > LARGE


def streamed(file: str, stream: bool | None, columns: Columns, words: dict[str, Any]) -> Sketches | None:
    """The sketches of a file that is read as a stream; None where it is to be read as a whole."""
    if not is_streamed(file, stream):
        return None
    if file == "-":
        raise ArgumentError("--stream", "needs a file, and standard input was given", "write it to a file first")
    if Path(file).suffix == SUFFIX:
        return Sketches.read(file)
    return read((file,), columns, words)


def read(files: tuple[str, ...], columns: Columns, words: dict[str, Any]) -> Sketches:
    """Scan files with the columns and options of the command line."""
    for option in ("logits", "confidence", "weight", "counts"):
        if getattr(columns, option):
            raise ArgumentError(f"--{option}", "cannot be read as a stream", "pass --no-stream, or probabilities")
    for option in ("normalize", "clip", "pos_label"):
        if words.get(option):
            name = f"--{option.replace('_', '-')}"
            raise ArgumentError(
                name, "cannot be used with a stream", "pass --no-stream, or --classes NEGATIVE,POSITIVE"
            )
    classes = words.get("classes")
    with rows_bar() as tell:
        return scan(
            list(files),
            label=columns.label,
            prob=columns.probs or columns.prob,
            by=columns.by,
            where=words.get("where"),
            classes=None if classes is None else _classes(classes),
            format=words.get("format"),
            table=words.get("table"),
            progress=tell,
        )


def _classes(names: str) -> list[Any]:
    parts = [name.strip() for name in names.split(",")]
    return [int(name) for name in parts] if all(name.lstrip("-").isdigit() for name in parts) else parts


@contextmanager
def rows_bar() -> Iterator[Callable[[int], None] | None]:
    """How many rows were read, and how many each second, on standard error where that is a terminal."""
    if not sys.stderr.isatty():
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
    names = Columns.__dataclass_fields__
    columns = Columns(**{name: options.pop(name, None) for name in names})
    if Path(out).suffix != SUFFIX:
        raise ArgumentError("--out", f"must end in {SUFFIX}; got {out!r}", f"for example day{SUFFIX}")
    start = time.perf_counter()
    if all(Path(file).suffix == SUFFIX for file in files):
        parts = [Sketches.read(file) for file in files]
        sketches = parts[0]
        for part in parts[1:]:
            sketches = sketches.merge(part)
    else:
        sketches = read(files, columns, options)
    seconds = time.perf_counter() - start
    path = sketches.write(out)
    size = path.stat().st_size
    print_lines([repr(sketches), f"{sketches.n:,} rows in {seconds:.1f} s, kept in {size:,} bytes"])
    click.echo(clean(f"wrote {path}: calibrant evaluate {path}"))

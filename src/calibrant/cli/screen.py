"""Output of commands: lines, tables and JSON, and warnings as lines."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

import click

from ..errors import CalibrantWarning, FileError
from ..util.progress import hide
from .wording import in_options


def say(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Write to standard output or error; a closed pipe (``| head``) is ignored."""
    hide()
    try:
        click.echo(text, nl=nl, err=err)
    except OSError as error:
        forget(sys.stderr if err else sys.stdout)
        if not err and not isinstance(error, BrokenPipeError):
            problem = f"cannot be written ({error.strerror or error})"
            raise FileError("standard output", problem, "check the disk") from None


def forget(stream: TextIO | None) -> None:
    """Discard buffered output, so that Python does not raise at exit."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def note_positive(classes: Sequence[Any]) -> None:
    """Print which of two classes is taken as the positive one if their names do not decide it, as yes and no do."""
    from ..input.frames import positive_of

    if len(classes) == 2 and positive_of(classes) is None:
        note = f"note: the second column, {classes[1]}, is taken as the positive class"
        say(clean(f"{note}; use --classes {classes[1]},{classes[0]} for the other"), err=True)


def clean(text: str) -> str:
    """Replace control characters, which names in files may contain."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)


def print_lines(lines: Sequence[str]) -> None:
    """Print lines without control characters."""
    for line in lines:
        say(clean(line))


def print_json(content: Any) -> None:
    """Print valid JSON; infinite numbers become text."""
    from ..util.results import json_text  # imports NumPy, which is slow for --help

    say(json_text(content), nl=False)


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], numeric: range) -> None:
    """Print a table; the columns in `numeric` are right-aligned."""
    from ..util.results import text_table  # imports NumPy, which is slow for --help

    text = [[clean(cell) for cell in row] for row in [headings, *rows]]
    for line in text_table(text[0], text[1:], numeric):
        say(line)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print each warning of calibrant as one line on standard error."""
    seen: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        text = in_options(message) if isinstance(message, CalibrantWarning) else " ".join(str(message).split())
        if text not in seen:
            seen.add(text)
            say(clean(f"warning: {text}"), err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", CalibrantWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield

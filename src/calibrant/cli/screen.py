"""Tables on the screen: rich on a terminal, plain text in pipes and files."""

from __future__ import annotations

import json
import math
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from .._results import text_table
from ..errors import CalibrantWarning

__all__ = ["in_options", "print_json", "print_lines", "print_table", "resampling_bar", "warnings_as_lines"]


def clean(text: str) -> str:
    """Names from files may hold control characters, which a terminal would obey."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)


# What errors of the library call by the names of Python, and a user of the command line by those of options.
_SUBJECTS = {"y_true": "--label", "y_prob": "--prob"}
_OPTIONS = {
    "classes": "--classes",
    "pos_label": "--pos-label",
    "normalize": "--normalize",
    "clip": "--clip",
    "input": "--logits",
    "sample_weight": "--weight",
    "counts": "--counts",
    "groups": "--by",
    "by": "--by",
    "where": "--where",
    "n_resamples": "--resamples",
    "rng": "--seed",
    "lens": "--lens",
}


def in_options(text: str) -> str:
    """An error of the library in the words of the command line: ``--classes`` for ``classes=[...]``."""
    subject, colon, rest = text.partition(": ")
    known = _SUBJECTS.get(subject) or _OPTIONS.get(subject)
    text = f"{known}{colon}{rest}" if known and colon else text
    names = "|".join(_OPTIONS)
    given = rf"(?<![\w-])({names})=(\[\.\.\.\]|True|[\"'][\w ]+[\"'])?"
    return re.sub(given, lambda found: _OPTIONS[found[1]], text)


def print_lines(lines: Sequence[str]) -> None:
    """Plain lines."""
    for line in lines:
        click.echo(clean(line))


def print_json(content: Mapping[str, Any]) -> None:
    """Valid JSON: what is infinite becomes text."""
    click.echo(json.dumps(_finite(content), indent=2, allow_nan=False, default=str))


def _finite(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {str(key): _finite(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_finite(value) for value in content]
    plain = content.item() if hasattr(content, "item") else content  # a NumPy number
    return str(plain) if isinstance(plain, float) and not math.isfinite(plain) else plain


@contextmanager
def resampling_bar() -> Iterator[None]:
    """A bar on standard error while samples are drawn, where that is a terminal; it leaves nothing behind."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from ..inference.draws import progress

    columns = TextColumn("resampling"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("")

    def tell(done: int, count: int) -> None:
        bar.start()  # what draws nothing shows nothing
        bar.update(task, completed=done, total=count)

    token = progress.set(tell)
    try:
        yield
    finally:
        progress.reset(token)
        bar.stop()


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], numeric: range) -> None:
    """A table whose columns in `numeric` are set to the right."""
    if sys.stdout.isatty():
        _print_rich(headings, rows, numeric)
        return
    text = [[clean(cell) for cell in row] for row in [headings, *rows]]
    for line in text_table(text[0], text[1:], numeric):
        click.echo(line)


def _print_rich(headings: Sequence[str], rows: Sequence[Sequence[str]], numeric: range) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for i, heading in enumerate(headings):
        table.add_column(
            Text(clean(heading)), justify="right" if i in numeric else "left", style="bold cyan" if i == 0 else None
        )
    for row in rows:
        table.add_row(*(Text(clean(cell)) for cell in row))
    Console().print(table)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """What calibrant warns about as one line each on standard error."""
    seen: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        text = " ".join(str(message).split())
        if text not in seen:
            seen.add(text)
            click.echo(clean(f"warning: {text}"), err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", CalibrantWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield

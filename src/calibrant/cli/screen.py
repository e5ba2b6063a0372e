"""Tables on the screen: rich on a terminal, plain text in pipes and files."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

__all__ = ["print_lines", "print_table"]


def clean(text: str) -> str:
    """Names from files may hold control characters, which a terminal would obey."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)


def print_lines(lines: Sequence[str]) -> None:
    """Plain lines."""
    for line in lines:
        click.echo(clean(line))


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], numeric: range) -> None:
    """A table whose columns in `numeric` are set to the right."""
    if sys.stdout.isatty():
        _print_rich(headings, rows, numeric)
        return
    text = [[clean(cell) for cell in row] for row in [headings, *rows]]
    widths = [max(len(row[i]) for row in text) for i in range(len(headings))]
    for row in text:
        cells = [
            cell.rjust(width) if i in numeric else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        click.echo("  ".join(cells).rstrip())


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

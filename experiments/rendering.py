"""The one renderer of pages: a template of pages/, filled with numbers and tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

ROOT = Path(__file__).parents[1]
Cell = str | float | int | None


def render(name: str, values: dict[str, Any]) -> str:
    """The page of a template."""
    folder = jinja2.FileSystemLoader(Path(__file__).parent / "pages")
    templates = jinja2.Environment(
        loader=folder,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.ChainableUndefined,
    )
    return templates.get_template(f"{name}.md").render(values)


def number(value: Cell, digits: int = 4) -> str:
    """A value as a cell of a table shows it."""
    if value is None:
        return ""
    if isinstance(value, (str, bool, int)):
        return str(value)
    return f"{value:.{digits}g}" if abs(value) < 1e-3 else f"{value:.{digits}f}".rstrip("0").rstrip(".")


def markdown_table(columns: Sequence[str], lines: Sequence[Sequence[Cell]], numbers: int = 0) -> str:
    """A table in Markdown, whose last `numbers` columns are right-aligned."""
    ruler = ["---"] * (len(columns) - numbers) + ["---:"] * numbers
    rows = [columns, ruler, *([number(cell) for cell in line] for line in lines)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)

"""The one renderer of pages: a template of pages/, filled with numbers and tables."""

import csv
import io
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

ROOT = Path(__file__).parents[1]
# Tables that are too long for a page, as files beside the pages.
TABLES = ROOT / "docs" / "tables"
WIDTH = 120
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
    return wrapped(templates.get_template(f"{name}.md").render(values))


def wrapped(page: str) -> str:
    """A page whose lines of text are broken at 120 letters; tables, headings, pictures and code stay as they are."""
    lines: list[str] = []
    in_code = False
    for line in page.split("\n"):
        in_code ^= line.startswith("```")
        if len(line) <= WIDTH or in_code or line.lstrip().startswith(("|", "#", "!")):
            lines.append(line)
            continue
        start = re.match(r" *(- |\d+\. )?", line)
        hanging = " " * (start.end() if start else 0)
        lines += textwrap.wrap(line, WIDTH, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


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


def csv_table(columns: Sequence[str], lines: Sequence[Sequence[Cell]]) -> str:
    """A table as CSV, without the marks of Markdown."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([number(cell).strip("`*") for cell in line] for line in lines)
    return stream.getvalue()

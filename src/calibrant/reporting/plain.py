"""Markdown of the pages, from templates; text from the data cannot change its structure."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from .interactive import shown
from .tables import Table
from .templates import environment

# Characters that begin an element, an entity, emphasis, code, a link or a cell; "p < 0.001" is not affected.
SPECIAL = re.compile(
    r"[\\`*|\[\]~{}$]|<(?=[A-Za-z/!?])|&(?=[#\w])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=//)|(?<=www)\.|@|(?<=\w):(?=\S)",
    re.IGNORECASE,
)
# Characters that begin a heading, a list, a quotation or a rule at the beginning of a line.
LEADING = re.compile(r"([#>+=-]|\d+(?=[.)]))")
CELL_LENGTH = 80


def escaped(text: object, limit: int | None = None) -> str:
    """Escape text inside a line of Markdown.

    >>> print(escaped("a|b\\n<script>*x*"))
    a\\|b␊\\<script>\\*x\\*
    """
    return SPECIAL.sub(lambda found: "\\" + found[0], shown(text, limit)).strip()


def line(text: object) -> str:
    """Escape text at the beginning of a line, a heading or an item, where more characters are special.

    >>> print(line("# 1"), line("1. x"))
    \\# 1 1\\. x
    """
    plain = escaped(text)
    first = LEADING.match(plain)
    if first is None:
        return plain
    mark, rest = first[1], plain[first.end() :]
    return f"{mark}\\{rest}" if mark.isdigit() else f"\\{mark}{rest}"


def table_lines(table: Table) -> list[str]:
    """Return a table; names in it are cut, sentences are not."""
    rule = ["---:" if column.is_numeric else "---" for column in table.columns]
    headings = [escaped(heading, CELL_LENGTH) for heading in table.headings]
    rows = [[escaped(cell) for cell in row] for row in table.cells]
    return [f"| {' | '.join(cells)} |" for cells in [headings, rule, *rows]]


def render_markdown(template: str, **content: Any) -> str:
    """Render a template; the same content gives the same text."""
    page: str = _environment().get_template(template).render(**content)
    return re.sub(r"\n{3,}", "\n\n", page).strip() + "\n"


@cache
def _environment() -> Any:
    from markupsafe import Markup

    def visible(value: Any) -> Any:
        return value if hasattr(value, "__html__") else escaped(value)

    # What is escaped already is marked, so that it is not escaped again.
    return environment(
        finalize=visible,
        autoescape=False,
        line=lambda text: Markup(line(text)),  # noqa: S704
        table=lambda table: Markup("\n".join(table_lines(table))),  # noqa: S704
    )

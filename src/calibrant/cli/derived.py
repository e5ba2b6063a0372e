"""Columns computed by SQL expressions on the command line: ``--label "answer = truth"``, ``--prob "confidence / 100"``."""

from __future__ import annotations

import re

from ..input.expressions import quoted
from ..sketches.files.columns import Columns
from ..sketches.files.reading import Rows


def is_expression(text: str | None) -> bool:
    """Whether a text that is not the name of a column may be an expression."""
    return text is not None and re.search(r"[=<>/(]", text) is not None


def with_expressions(rows: Rows, columns: Columns) -> Rows:
    """The rows with a further column for each option that is an expression instead of the name of a column."""
    options = (("--label", columns.label), ("--prob", columns.prob), ("--confidence-column", columns.confidence))
    for option, text in options:
        if text is not None and text not in rows.names and is_expression(text):
            type = "BOOLEAN" if option == "--label" else "DOUBLE"
            equality = _equality(text, rows.names)
            rows = rows.add_column(text, equality or text, type, option, of_texts=equality is not None)
    return rows


def _equality(text: str, names: list[str]) -> str | None:
    """Whether two columns are equal as numbers, or else as texts without surrounding space; None for other expressions."""
    known = {name.lower(): name for name in names} | {name: name for name in names}  # SQL ignores case, too
    sides = [side.strip().strip('"') for side in re.split(r"==?", text)]
    sides = [known.get(side, known.get(side.lower(), "")) for side in sides]
    if len(sides) != 2 or not all(sides):
        return None
    one, other = map(quoted, sides)
    numbers = f"TRY_CAST({one} AS DOUBLE) = TRY_CAST({other} AS DOUBLE)"
    # Doubles do not distinguish integers of more than 15 digits.
    integers = f"TRY_CAST({one} AS HUGEINT) = TRY_CAST({other} AS HUGEINT)"
    numbers = f"CASE WHEN abs(TRY_CAST({one} AS DOUBLE)) < 1e15 THEN {numbers} ELSE coalesce({integers}, {numbers}) END"
    return f"coalesce({numbers}, trim(CAST({one} AS VARCHAR)) = trim(CAST({other} AS VARCHAR)))"

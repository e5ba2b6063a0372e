"""Columns computed by SQL expressions on the command line: ``--label "answer = truth"``, ``--prob "confidence / 100"``."""

from __future__ import annotations

import re
from dataclasses import replace

from ..sketches.files.columns import Columns, check_expression, condition_error, quoted
from .rows import Rows

__all__ = ["is_expression", "with_expressions"]


def is_expression(text: str | None) -> bool:
    """Whether a text that is not the name of a column may be an expression."""
    return text is not None and re.search(r"[=<>/(]", text) is not None


def with_expressions(rows: Rows, columns: Columns) -> Rows:
    """The rows with a further column for each option that is an expression instead of the name of a column."""
    import duckdb

    given = (("--label", columns.label), ("--prob", columns.prob), ("--confidence-column", columns.confidence))
    for option, text in given:
        if text is None or text in rows.names or not is_expression(text):
            continue
        check_expression(rows.connection, text, option)
        sql = _equality(text, rows.names) or text
        try:
            rows.connection.execute(f"DESCRIBE SELECT (\n{sql}\n) FROM {rows.sql}")  # noqa: S608 - one expression
        except duckdb.Error as error:
            raise condition_error(error, rows.names).replaced(argument=option) from None
        source = f"(SELECT *, (\n{sql}\n) AS {quoted(text)} FROM {rows.sql})"  # noqa: S608 - one expression
        rows = replace(rows, sql=source, types={**rows.types, text: "BOOLEAN" if option == "--label" else "DOUBLE"})
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

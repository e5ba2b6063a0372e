"""``calibrant sql``: print the query that fills a sketch in a warehouse."""

from __future__ import annotations

import re
from typing import Any

import click

from ..errors import ArgumentError
from ..sketches.warehouse import cells_query
from . import options
from .screen import say
from .streaming import class_list


@options.command("sql")
@click.argument("table", metavar="TABLE")
@click.option(
    "--dialect",
    required=True,
    type=click.Choice(["duckdb", "postgres", "spark"]),
    help="Dialect of the engine.",
)
@click.option("--label", required=True, metavar="COLUMN", help="Column with the true class.")
@options.prob_option
@click.option(
    "--probs",
    metavar="COLUMNS",
    help="Comma-separated columns with one probability per class, for three classes or more; the sketch is of the top label.",
)
@options.confidence_option
@options.by_option("Column with the group of each row; each group is also summarized separately.")
@click.option("--where", metavar="SQL", help="Use only the rows that satisfy a condition in the dialect of the engine.")
@options.classes_option
@options.debug_option
def run(table: str, *, classes: str | None, **options: Any) -> None:
    """Print the SQL query that summarizes the predictions in TABLE, a table of a database or warehouse.

    The query returns a few integers for each cell, outcome and group. `calibrant scan RESULT --cells --out NAME.sketch` reads its
    result, exported as CSV, Parquet or JSON; in Python Sketches.from_cells does. The sketch is the same, bit for bit, as that of the rows.
    """
    prob, probs, confidence, by = (options.pop(name) for name in ("prob", "probs", "confidence", "by"))
    options_of = {"--prob": prob, "--probs": probs, "--confidence-column": confidence}
    used = [option for option, value in options_of.items() if value]
    if len(used) != 1:
        problem = "is required" if not used else f"cannot be combined with {used[0]}"
        raise ArgumentError(used[1] if used else "--prob", problem, f"give one of {', '.join(options_of)}")
    if by is not None and not by.startswith('"') and re.search(r"\sx\s|,", by):
        problem = f"{by!r} names several columns, and the query reads one"
        raise ArgumentError(
            "--by",
            problem,
            f"query a view with a column of the combinations; a column of that name is written as '\"{by}\"'",
        )
    columns: str | list[str] = prob or confidence or [name.strip() for name in (probs or "").split(",")]
    query = cells_query(
        table,
        prob=columns[0] if isinstance(columns, list) and len(columns) == 1 else columns,
        by=by,
        classes=None if classes is None else class_list(classes),
        input="confidence" if confidence else "prob",
        **options,
    )
    say(query.removesuffix("\n"))

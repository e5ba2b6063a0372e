"""``calibrant sql``: print the query that fills a sketch in a warehouse."""

from __future__ import annotations

import re
from typing import Any

from ..errors import ArgumentError
from ..sketches.warehouse import cells_query
from .screen import say
from .streaming import class_list


def run(table: str, *, classes: str | None, **options: Any) -> None:
    """Print the query."""
    prob, probs, confidence, by = (options.pop(name) for name in ("prob", "probs", "confidence", "by"))
    given = {"--prob": prob, "--probs": probs, "--confidence-column": confidence}
    named = [option for option, value in given.items() if value]
    if len(named) != 1:
        problem = "is required" if not named else f"cannot be combined with {named[0]}"
        raise ArgumentError(named[1] if named else "--prob", problem, f"give one of {', '.join(given)}")
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

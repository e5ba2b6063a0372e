"""Sketches by a GROUP BY of Spark itself, without Python on the executors."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ..sketches.collection import Sketches
from ..sketches.warehouse import DIALECTS, KEYS, Plan, quoted, row_steps, sums_of
from .executors import Columns

OWN = DIALECTS["spark"]
NUMBERS = ("byte", "short", "integer", "long", "float", "double", "decimal")


def not_in_sql(df: Any, columns: Columns, plan: dict[str, Any]) -> str | None:
    """Why the sums cannot be computed in SQL; None if they can."""
    keywords, kinds = plan["keywords"], {name: df.schema[name].dataType.typeName() for _, name in columns.roles}
    if columns.spread or kinds[columns.prob[0]] not in NUMBERS:
        return "reads one column of probabilities"
    if keywords["input"] == "logit" or keywords["normalize"] or keywords["clip"]:
        return "reads probabilities as they are, without input='logit', normalize or clip"
    lens = "binary" if keywords["input"] == "prob" else "top_label"
    if plan["lenses"] not in (None, (lens,)):
        return f"keeps the lens {lens!r} only"
    return None


def grouped(df: Any, columns: Columns, plan: dict[str, Any]) -> Sketches:
    """Compute the sums of each cell in Spark, and read them."""
    assert columns.label is not None
    kind = "confidence" if plan["keywords"]["input"] == "confidence" else "binary"
    classes = plan["classes"] or (0, 1)
    asked = Plan(columns.prob, columns.label, columns.by, columns.counts, tuple(classes), kind, plan["scores"])
    label, known = quoted(columns.label, OWN, "label"), df.schema[columns.label].dataType.typeName()
    # Without names, the labels are numbers or booleans, and need no comparison as text.
    code = None
    if plan["classes"] is None:
        code = (
            f"CAST({label} AS INT)"
            if known == "boolean"
            else f"CASE WHEN {label} IN (0, 1) THEN CAST({label} AS INT) END"
        )
    found = df
    for number, step in enumerate(row_steps(asked, OWN, code)):
        found = found.selectExpr(*(["*"] if number else []), *(f"{sql} AS {name}" for name, sql in step.items()))
    functions = import_module("pyspark.sql.functions")
    keys = [*KEYS, *(["group_name"] if columns.by is not None else [])]
    sums = [functions.expr(sql).alias(name) for name, sql in sums_of(asked, OWN).items()]
    table = found.groupBy(*keys).agg(*sums)
    rows = _columns(table.toArrow()) if hasattr(table, "toArrow") else _listed(table)
    count = len(rows["cell"])
    return Sketches.from_cells({**rows, "calibrant": [asked.spec] * count, "result_rows": np.full(count, count)})


def _columns(table: Any) -> dict[str, Any]:
    """The columns of an Arrow table: integers as an array, others as a list."""
    return {
        name: column.to_numpy() if column.null_count == 0 and str(column.type) == "int64" else column.to_pylist()
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def _listed(table: Any) -> dict[str, list[Any]]:
    """The columns of a small DataFrame, for versions of Spark that do not return Arrow tables."""
    rows = table.collect()
    return {name: [row[place] for row in rows] for place, name in enumerate(table.columns)}

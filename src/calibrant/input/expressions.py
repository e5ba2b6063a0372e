"""SQL expressions of users: names, types and checks, for conditions on rows and for groups."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import ArgumentError, ColumnError


def first_line(error: Exception) -> str:
    """The message of an error, without the lines that point into the query."""
    return str(error).strip().split("\n")[0]


def condition_error(error: Exception, names: Sequence[str], argument: str = "where") -> ArgumentError:
    """The error for an expression that DuckDB cannot evaluate."""
    text = first_line(error)
    if "GROUP BY" in text:
        return ArgumentError(argument, "has an aggregate", "use an expression of each row, such as 'age >= 65'")
    unknown = re.search(r'column "(.*)" not found', text)
    remedy = f"the columns are {', '.join(names[:20])}"
    if unknown is None:
        return ArgumentError(argument, text, remedy)
    name = unknown[1]
    return ArgumentError(
        argument, f"unknown column {name!r}", f"{remedy}; text is written in single quotes, as '{name}'"
    )


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def lossless(name: str, type: str) -> str:
    """A column of names as SQL, in a type that NumPy represents without loss; dates and very large numbers as text."""
    if re.match(r"STRUCT|MAP|UNION|BLOB|.*\]$", type, re.DOTALL):
        problem = f"has values of type {type}; expected numbers, text, truth values or dates"
        raise ColumnError(name, problem, "name another column, or convert it first")
    is_native = re.fullmatch(r"BOOLEAN|FLOAT|DOUBLE|VARCHAR|U?(TINY|SMALL|BIG)?INT(EGER)?", type)
    return quoted(name) if is_native else f"CAST({quoted(name)} AS VARCHAR)"


def check_expression(connection: Any, where: str, argument: str = "--where") -> list[str]:
    """Return the columns that an SQL expression names; raise if it is not a single one, without a second statement or a subquery."""
    tree = json.loads(
        connection.execute(
            "SELECT json_serialize_sql(CAST(? AS VARCHAR))", [f"SELECT 1 WHERE (\n{where}\n)"]
        ).fetchall()[0][0]
    )
    if tree.get("error"):
        problem = f"not a valid SQL expression: {tree.get('error_message', where)}"
        raise ArgumentError(argument, problem, "for example \"country = 'FR' AND age > 60\"")
    statements = tree["statements"]
    if len(statements) != 1 or not _is_condition(statements[0]["node"]):
        raise ArgumentError(argument, "must be one SQL expression without subqueries", "for example \"country = 'FR'\"")
    nodes = _parts_of(statements[0]["node"]["where_clause"])
    return list(dict.fromkeys(node["column_names"][-1] for node in nodes if node.get("class") == "COLUMN_REF"))


# Clauses that may follow a condition; an unbalanced parenthesis in the condition would admit them.
_CLAUSES = ("modifiers", "group_expressions", "having", "sample", "qualify")


def _is_condition(node: dict[str, Any]) -> bool:
    """Whether a parsed query consists of a single condition."""
    if node["type"] != "SELECT_NODE" or any(node.get(clause) for clause in _CLAUSES):
        return False
    condition = node["where_clause"]
    blank = condition.get("function_name") == "row" and not condition.get("arguments")
    return not blank and not {"SUBQUERY", "PARAMETER"} & {child.get("class") for child in _parts_of(condition)}


def _parts_of(tree: Any) -> Iterator[dict[str, Any]]:
    """Every part of a parsed expression."""
    if isinstance(tree, dict):
        yield tree
    for branch in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _parts_of(branch)

"""The query that fills a sketch in a warehouse: one GROUP BY in the dialect of its engine.

Every number of the query is an integer, or a double made by additions, products, quotients and floors, which IEEE 754 determines to the
last bit. Logarithms and powers only guess a position, which a comparison corrects. So an engine with IEEE doubles returns the integers
that `Sketches.of` computes, in any order of the rows. Only engines that the tests run have a dialect.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple
from urllib.parse import urlencode

from ..errors import ArgumentError, ColumnError, InputTypeError, ShapeError
from ..input.convert import SUM_TOLERANCE
from ..util.checks import check_choice
from .grid import EQUAL, FINEST, PER_OCTAVE, PLACES, grid
from .row_sums import LN2

# Version of the columns that a query returns.
VERSION = 1
HALF = 1 << 31
"""Sums of scores have a high and a low part of 31 bits."""

# What may be wrong with a row, as a sum of these numbers, which is the negative cell of the row.
FAULTS = {
    1: "missing probability",
    2: "probability outside of [0, 1]",
    4: "missing label",
    8: "unknown label",
    16: "missing group",
    32: "probabilities that do not sum to 1",
}
KEYS, SUMMED = ("cell", "outcome"), ("score_high", "score_low")

Steps = list[dict[str, str]]


class Dialect(NamedTuple):
    """What differs between engines."""

    double: str = "DOUBLE"
    text: str = "VARCHAR"
    nan: str = "isnan({})"
    """The condition that a double is not a number."""
    quote: str = '"'
    """The sign around names."""
    escaped: bool = False
    """Whether a backslash escapes the next character in text."""


DIALECTS = {
    "duckdb": Dialect(),
    "postgres": Dialect("DOUBLE PRECISION", nan="{} = CAST('NaN' AS DOUBLE PRECISION)"),
    "spark": Dialect(text="STRING", quote="`", escaped=True),
}


class Plan(NamedTuple):
    """What a query reads: names of columns, and names of classes."""

    prob: tuple[str, ...]
    label: str
    by: str | None
    classes: tuple[Any, ...]
    """The classes in order."""
    kind: str

    @property
    def spec(self) -> str:
        """The plan as text, made of letters, digits and signs that no dialect changes."""
        pairs: list[tuple[str, Any]] = [("calibrant", VERSION), ("kind", self.kind), ("label", self.label)]
        pairs += [("prob", name) for name in self.prob]
        pairs += [("by", self.by)] if self.by is not None else []
        pairs += [("text" if isinstance(name, str) else "number", name) for name in self.classes]
        return urlencode(pairs)


def cells_query(
    table: str,
    *,
    dialect: str,
    prob: str | Sequence[str],
    label: str,
    by: str | None = None,
    classes: Sequence[Any] | None = None,
    where: str | None = None,
    input: Literal["prob", "confidence"] = "prob",
) -> str:
    """Write the SQL query that fills a sketch in a database or warehouse.

    The query reads the table once and returns a few integers for each cell, outcome and group, at most about 39,000 rows for each group. No row
    of the table leaves the warehouse. `Sketches.from_cells` reads the result; it has the same bits as the sketches of the rows, without the
    sums over whole rows that `brier`, `nll` and `ecd` need.

    Parameters
    ----------
    table : str
        Name of the table, such as ``"analytics.predictions"``. A part that contains a dot is written in double quotes.
    dialect : {"duckdb", "postgres", "spark"}
        Dialect of the engine.
    prob : str or sequence of str
        Column of the probability of the positive class; or columns of one probability per class, of at least three classes, for the lens
        ``"top_label"``.
    label : str
        Column of the labels: numbers from 0 or booleans; other labels require `classes`.
    by : str, optional
        Column of groups; each group has sketches of its own.
    classes : sequence, optional
        Labels of the classes in the order of the columns, for two classes the negative one first.
    where : str, optional
        SQL condition that selects rows, in the dialect of the engine. It is inserted as it is.
    input : {"prob", "confidence"}, default "prob"
        Whether `prob` is a probability, or the confidence in a predicted class. In the latter case the label is whether the prediction
        is correct.

    Returns
    -------
    str
        One SELECT statement.

    Raises
    ------
    ArgumentError
        If the dialect is unknown, or classes and columns do not match.
    ColumnError
        If a name cannot be the name of a column.

    See Also
    --------
    Sketches.from_cells : Read the result of the query.
    scan : Sketches of files.

    Notes
    -----
    Rows with a missing or invalid value are counted separately, and `Sketches.from_cells` raises an error for them. Names are quoted, so that
    they cannot change the query.

    Examples
    --------
    >>> import calibrant as cal, duckdb
    >>> connection = duckdb.connect()
    >>> _ = connection.execute("CREATE TABLE preds AS SELECT * FROM (VALUES (0, 0.1), (1, 0.4), (1, 0.8), (1, 0.9)) AS t(y, p)")
    >>> query = cal.sketches.cells_query("preds", dialect="duckdb", prob="p", label="y")
    >>> found = cal.Sketches.from_cells(connection.sql(query))
    >>> found == cal.Sketches.of([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], scores=False)
    True
    """
    check_choice(dialect, "dialect", tuple(DIALECTS))
    check_choice(input, "input", ("prob", "confidence"))
    sql = DIALECTS[dialect]
    plan = _plan(prob, label, by, classes, input)
    steps = row_steps(plan, sql)
    source = ".".join(quoted(identifier, sql, "table") for identifier in _parts(table))
    if where is not None and not where.strip():
        raise ArgumentError("where", "is empty", "leave it out")
    if where is not None and not _is_name(where):
        raise ArgumentError("where", "has an invalid character", "write it in UTF-8")
    # The closing parenthesis stands on a line of its own, since the condition may end in a comment.
    condition = "" if where is None else f"\n  WHERE (\n{where}\n  )"
    # Nested, since DuckDB copies the expressions of a WITH into every place that names them.
    text = f"{source}{condition}"
    for number, step in enumerate(steps):
        select_list = ",\n  ".join(f"{expression} AS {name}" for name, expression in step.items())
        text = f"(\nSELECT{' *,' if number else ''}\n  {select_list}\nFROM {text}\n) step{number}"
    keys = [*KEYS, *(["group_name"] if by is not None else [])]
    sums = [f"CAST(SUM({name}) AS BIGINT) AS {name}_sum" for name in SUMMED]
    outputs = [f"'{plan.spec}' AS calibrant", "COUNT(*) OVER () AS result_rows", *keys, "COUNT(*) AS row_count", *sums]
    return (
        "-- Read the result with calibrant.Sketches.from_cells, or: calibrant scan RESULT --cells --out NAME.sketch\n"
        "SELECT\n  " + ",\n  ".join(outputs) + f"\nFROM {text}\nGROUP BY {', '.join(keys)}\n"
    )


def _plan(prob: Any, label: Any, by: Any, classes: Any, input: str) -> Plan:
    """The checked arguments of a query."""
    probs = (prob,) if isinstance(prob, str) else tuple(prob) if isinstance(prob, (list, tuple)) else ()
    for argument, name in (("label", label), *(("prob", name) for name in probs or (prob,)), ("by", by)):
        if not _is_name(name) and not (argument == "by" and name is None):
            raise ColumnError(argument, f"must be the name of a column; got {name!r}")
    if len(set(probs)) < len(probs):
        raise ColumnError("prob", f"names a column twice: {', '.join(probs)}", "give one column for each class")
    patterns = [name for name in probs if "*" in name]
    if patterns and len(probs) == 1:
        raise ColumnError("prob", f"the pattern {patterns[0]!r} requires the table", "list the columns")
    if len(probs) == 2:
        problem = f"names the columns {probs[0]!r} and {probs[1]!r} of two classes"
        raise ShapeError("prob", problem, "name the column of the positive class only")
    k = max(2, len(probs))
    if len(probs) > 1 and input == "confidence":
        raise ShapeError("prob", "a confidence has one column", "use input='prob'")
    names = None if classes is None else tuple(classes)
    if names is not None and (len(names) != k or len({str(name) for name in names}) != k):
        raise ArgumentError("classes", f"must be {k} different labels; got {list(names)}")
    kind = "confidence" if input == "confidence" else "binary" if k == 2 else "multiclass"
    return Plan(probs, label, by, tuple(range(k)) if names is None else names, kind)


def row_steps(plan: Plan, sql: Dialect) -> Steps:
    """The columns that each SELECT adds to those of the one before, up to the cell and the integers that are summed."""
    several = len(plan.prob) > 1
    xs = [f"x{place}" for place in range(len(plan.prob))]
    inputs = {x: f"CAST({quoted(name, sql, 'prob')} AS {sql.double})" for x, name in zip(xs, plan.prob, strict=True)}
    label = quoted(plan.label, sql, "label")
    inputs["label_text"] = f"CAST({label} AS {sql.text})"
    if plan.by is not None:
        inputs["group_name"] = quoted(plan.by, sql, "by")
    steps = [inputs, {"class_index": _code(plan.classes, sql)}, {"fault": _faults(plan, sql, xs)}]
    # Optimizers may copy an expression into each place that names it, so this one is short; NaN is replaced as well. COALESCE tells
    # the engine that there are no missing values from here on, which saves Spark a check in every operation.
    steps.append({f"v{x}": f"COALESCE(CASE WHEN {x} >= 0 AND {x} <= 1 THEN {x} END, 0)" for x in xs})
    if several:
        values = [f"v{x}" for x in xs]
        steps.append({"p": f"GREATEST({', '.join(values)})"})
        first = " ".join(f"WHEN {value} = p THEN {place}" for place, value in enumerate(values))
        steps.append({"outcome": f"CASE WHEN fault = 0 AND class_index = CASE {first} END THEN 1 ELSE 0 END"})
    else:
        steps.append({"p": "vx0", "outcome": "CASE WHEN fault = 0 AND class_index = 1 THEN 1 ELSE 0 END"})
    return [*steps, *_cell_steps()]


def _faults(plan: Plan, sql: Dialect, xs: list[str]) -> str:
    """The sum of the faults of a row as SQL. Comparisons with NaN differ between engines, so it is looked for first."""
    absent = " OR ".join(f"{x} IS NULL OR {sql.nan.format(x)}" for x in xs)
    inside = " AND ".join(f"{x} >= 0 AND {x} <= 1" for x in xs)
    cases = [f"CASE WHEN {absent} THEN 1 WHEN {inside} THEN 0 ELSE 2 END"]
    cases.append("CASE WHEN label_text IS NULL THEN 4 WHEN class_index IS NULL THEN 8 ELSE 0 END")
    if plan.by is not None:
        cases.append("CASE WHEN group_name IS NULL THEN 16 ELSE 0 END")
    if len(xs) > 1:
        # The columns may have single precision, which the query cannot know.
        limit = round(1 / SUM_TOLERANCE["float32"])
        gap = f"({' + '.join(xs)} - 1) * {limit}"
        sums = f"WHEN {gap} > 1 OR {gap} < -1 THEN 32 ELSE 0 END"
        cases.append(f"CASE WHEN {absent} THEN 0 WHEN NOT ({inside}) THEN 0 {sums}")
    return " + ".join(cases)


def _code(classes: tuple[Any, ...], sql: Dialect) -> str:
    """The index of a label, which is compared as text; NULL if it is unknown."""
    pairs = []
    for place, name in enumerate(classes):
        spellings = ", ".join(literal(text, sql) for text in _spellings(name, classes == (0, 1)))
        pairs.append(f"WHEN label_text IN ({spellings}) THEN {place}")
    return f"CASE {' '.join(pairs)} END"


def _spellings(name: Any, booleans: bool) -> list[str]:
    """The texts that engines make of a label: whole numbers with and without decimals, booleans in full and as a letter.

    >>> found = _spellings(1, True)
    >>> found[:4], found[-4:], _spellings("no", False)
    (['1', '1.0', '1.00', '1.000'], ['1E0', '1.0E0', 'true', 't'], ['no'])
    """
    text = str(name)
    spellings = [text]
    if re.fullmatch(r"-?\d+", text):
        spellings += [f"{text}.{'0' * digits}" for digits in range(1, 13)]
        spellings += [f"{text}E0", f"{text}.0E0"] if len(text.lstrip("-")) == 1 else []
    if booleans:
        spellings += ["true", "t"] if name else ["false", "f"]
    elif text.lower() in ("true", "false"):
        spellings += [text.lower(), text.lower()[0]]
    return list(dict.fromkeys(spellings))


def _cell_steps() -> Steps:
    """The cell of the score p, the number of edges of the grid below it, at least 1; and the two parts of the score.

    Edges of equal width are guessed by rounding, and so are the narrow ones near 0 and 1 by the logarithm of the distance from there, in
    units of 2^-48: all of these edges are such integers. Then the nearest edge is compared with the score. From the other side the
    comparison includes the edge itself, hence the addition of half of the smallest difference of two distances there.
    """
    least, most, count = (int(grid().near[0] * PLACES), int(grid().near[-1] * PLACES), len(grid().near))
    units, finest = int(PLACES), f"{FINEST * PLACES:.6f}"
    guess = f"FLOOR(LN(s / {finest}) * {PER_OCTAVE / LN2:.12f} + 0.5)"
    edge = f"FLOOR(POWER(2, nearest / {PER_OCTAVE}) * {finest} + 0.5)"
    corrected = f"nearest + CASE WHEN nearest < {count} AND s > {edge} THEN 1 ELSE 0 END"
    equal = f"(equal_cell + CASE WHEN p > equal_cell / {EQUAL} THEN 1 ELSE 0 END)"
    cell = f"CASE WHEN p <= 0.5 THEN narrow ELSE {2 * count} - narrow END"
    high = f"FLOOR(p * {HALF})"
    return [
        {
            "equal_cell": f"FLOOR(p * {EQUAL} + 0.5)",
            "s": f"CASE WHEN p <= 0.5 THEN p * {units} ELSE (1 - p) * {units} + 0.015625 END",
        },
        {"nearest": f"CASE WHEN s <= {least} THEN 0 WHEN s > {most} THEN {count} ELSE {guess} END"},
        {"narrow": corrected},
        {
            "cell": f"CAST(CASE WHEN fault > 0 THEN -fault ELSE GREATEST(1, {equal} + {cell}) END AS BIGINT)",
            "score_high": f"CAST({high} AS BIGINT)",
            "score_low": f"CAST(FLOOR((p * {HALF} - {high}) * {HALF}) AS BIGINT)",
        },
    ]


def quoted(name: str, sql: Dialect, argument: str) -> str:
    """A name as an identifier of the dialect."""
    if "\0" in name or not name:
        raise InputTypeError(argument, f"must be a name; got {name!r}")
    match = re.fullmatch(r'"((?:[^"]|"")+)"', name, re.S)
    if match is not None:
        name = match[1].replace('""', '"')
    return sql.quote + name.replace(sql.quote, sql.quote * 2) + sql.quote


def literal(text: str, sql: Dialect) -> str:
    """Text as a constant of the dialect."""
    if not _is_name(f"{text}."):
        raise ArgumentError("classes", f"a label has an invalid character; got {text!r}")
    if not sql.escaped:
        return "'" + text.replace("'", "''") + "'"
    for sign, replaced in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(sign, replaced)
    return f"'{text}'"


def _is_name(name: Any) -> bool:
    """Whether a value is text of valid characters."""
    return isinstance(name, str) and bool(name) and not re.search("[\0\ud800-\udfff]", name)


def _parts(table: Any) -> list[str]:
    """The parts of the name of a table: ``a.b`` has two, ``"a.b"`` one."""
    if not _is_name(table):
        raise InputTypeError("table", f"must be the name of a table; got {table!r}")
    names = re.findall(r'("(?:[^"]|"")+"|[^."]+)(?:\.|$)', table, re.S)
    if ".".join(names) != table:
        raise ArgumentError("table", f"{table!r} is not a name", 'write schema.table, and a part with a dot as "a.b"')
    return list(names)

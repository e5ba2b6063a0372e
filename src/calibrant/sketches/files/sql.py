"""Sketches computed in SQL: integer counts and sums by cell, identical to those of NumPy.

DuckDB's casts round and its logarithm is the C library's, so cells are found by comparisons and logarithms by constants, products
and sums. Text that goes into a query is quoted by `columns.quoted`, or is a number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...binning.exact_sums import BinSums
from ...input.frames import as_booleans
from ...util.kernels import LOW_BITS, LOW_MASK
from ..collection import ALL, GroupSketch
from ..grid import CELLS, EQUAL, FINEST, NEAR, PER_OCTAVE, grid
from ..row_sums import LN2, TERMS, RowSums, log_table
from ..sketch import Sketch

FIXED = 2.0**62
# A key of 16 bits lets DuckDB count in an array instead of a hash table.
SETTINGS = "SET perfect_ht_threshold = 20"
# Subnormal numbers: below this bound one multiplication does not remove the exponent.
TINY = 2.0**-600


class Group(NamedTuple):
    """The group of a row as SQL, and what the rows are grouped by."""

    sql: str
    name: str


class Scores(NamedTuple):
    """SQL expressions of a row: the index of its label, its probabilities, its group."""

    table: str
    label: str
    probs: tuple[str, ...]
    """One expression for the positive class, or one per class."""
    group: Group | None
    classes: tuple[Any, ...]
    tolerance: float
    """Tolerance for the sum of a row."""
    number: str = "DOUBLE"
    """FLOAT if all probabilities have single precision, which avoids a conversion."""
    name: str = "label"
    """The column of the labels."""
    columns_read: tuple[str, ...] = ()
    """The columns of the probabilities, or the one that holds lists of them."""

    @property
    def k(self) -> int:
        """Number of classes."""
        return max(2, len(self.probs))

    @property
    def entries(self) -> list[tuple[str, str, str]]:
        """Each probability: what it is called in messages, its column, and its SQL expression."""
        if len(self.columns_read) == len(self.probs):
            return list(zip(self.columns_read, self.columns_read, self.probs, strict=True))
        (only,) = self.columns_read
        return [(f"{only}[{place}]", only, value) for place, value in enumerate(self.probs, 1)]

    def columns(self, number: str = "DOUBLE", more: str = "") -> str:
        """The table with the columns `more`, label, p0, p1, ... and group."""
        probs = ", ".join(f"CAST({name} AS {number}) AS p{place}" for place, name in enumerate(self.probs))
        group = "" if self.group is None else f', {self.group.sql} AS "group"'
        return f"(SELECT {more}{self.label} AS label, {probs}{group} FROM {self.table})"  # noqa: S608 - quoted names


def bad_rows(scores: Scores) -> str:
    """The SQL condition for invalid rows."""
    names = [f"p{place}" for place in range(len(scores.probs))]
    # A missing value compares as NULL and NaN as larger than any number, so the condition is the negation of a valid row.
    parts = [f"NOT coalesce({name} BETWEEN 0 AND 1, false)" for name in names]
    parts.append(f"NOT coalesce(label BETWEEN 0 AND {scores.k - 1}, false)")
    if len(names) > 1:
        parts.append(f"abs({' + '.join(names)} - 1) > {scores.tolerance!r}")
    if scores.group is not None:
        parts.append('"group" IS NULL')
    return " OR ".join(parts)


def group_sketches(
    connection: Any, scores: Scores, lenses: tuple[str, ...], row_scores: bool
) -> dict[Any, GroupSketch]:
    """The summary of every group, and of all rows under None."""
    connection.execute(SETTINGS)
    found: dict[Any, dict[str, Sketch]] = {}
    for lens, (score, outcome) in _questions(scores, lenses).items():
        for group, sketch in _cells(connection, scores, lens, score, outcome).items():
            found.setdefault(group, {})[lens] = sketch
    sums = _row_sums(connection, scores) if row_scores else dict.fromkeys(found)
    return {group: GroupSketch(parts, sums[group]) for group, parts in found.items()}


def _questions(scores: Scores, lenses: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    """Score and outcome of each lens, as SQL."""
    found: dict[str, tuple[str, str]] = {}
    names = [f"p{place}" for place in range(len(scores.probs))]
    for lens in lenses:
        if lens == "binary":
            found[lens] = (names[-1], "label")  # the second of two columns belongs to the positive class
        elif lens == "top_label" and len(names) == 1:
            found[lens] = ("CASE WHEN p0 > 0.5 THEN p0 ELSE 1 - p0 END", "CAST((p0 > 0.5) = (label = 1) AS TINYINT)")
        elif lens == "top_label":
            listed = ", ".join(names)
            first = f"list_position([{listed}], greatest({listed})) - 1"
            found[lens] = (f"greatest({listed})", f"CAST({first} = label AS TINYINT)")
        else:
            place = [f"class:{name}" for name in scores.classes].index(lens)
            score = names[place] if len(names) > 1 else "p0" if place else "1 - p0"
            found[lens] = (score, f"CAST(label = {place} AS TINYINT)")
    return found


def _slot(score: str) -> str:
    """The number of grid edges below a score: by one division for equal cells, by a corrected guess for narrow ones."""
    near = grid().near
    low, high = _listed(near), _listed(np.sort(1 - near))
    count = len(near)
    guess = "greatest(least(CAST(ceil(log2({distance} * {scale!r}) * {per}) AS INTEGER), {count}) - 1, 0)"
    below = guess.format(distance=score, scale=1 / FINEST, per=PER_OCTAVE, count=count)
    above = guess.format(distance=f"(1 - {score})", scale=1 / FINEST, per=PER_OCTAVE, count=count)
    near_0 = (
        f"CASE WHEN {score} >= {NEAR!r} THEN {count} WHEN {score} <= 0 THEN 0 ELSE {_counted(score, below, low)} END"
    )
    start = f"greatest({count} - ({above}) - 2, 0)"
    near_1 = f"CASE WHEN {score} <= {1 - NEAR!r} THEN 0 WHEN {score} >= 1 THEN {count} ELSE {_counted(score, start, high)} END"
    equal = f"round({score} * {EQUAL})"
    place = f"(CAST({equal} AS INTEGER) + CAST({score} > {equal} / {float(EQUAL)!r} AS INTEGER))"
    return f"greatest({place} + {near_0} + {near_1}, 1)"


def _listed(values: Any) -> str:
    # A sentinel above any score at the end, so that the count may look past the last edge.
    return "[" + ", ".join(_double(value) for value in [*values, 2.0, 2.0, 2.0]) + "]"


def _double(value: float) -> str:
    """A number as SQL; without an exponent it would be a decimal, which earlier versions of DuckDB convert with a rounding error."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def _counted(score: str, start: str, edges: str) -> str:
    """The number of edges below, given that it is `start` or up to three more."""
    steps = " + ".join(f"CAST({edges}[({start}) + {step}] < {score} AS INTEGER)" for step in (1, 2, 3))
    return f"({start}) + {steps}"


def _cells(connection: Any, scores: Scores, lens: str, score: str, outcome: str) -> dict[Any, Sketch]:
    group = ', "group"' if scores.group is not None else ""
    query = f"""
        SELECT CAST(2 * {_slot("score")} + outcome AS USMALLINT) AS cell, count(*) AS n,
               sum(CAST(floor(score * {FIXED!r}) AS BIGINT)) AS fixed{group}
        FROM (SELECT {score} AS score, {outcome} AS outcome{group} FROM {scores.columns()})
        GROUP BY cell{group}
    """  # noqa: S608 - made of constants and quoted names
    rows = connection.execute(query).fetchall()
    parts: dict[Any, list[Any]] = {ALL: rows}
    if group:
        for row in rows:
            parts.setdefault(row[3], []).append(row)
    return {name: Sketch.of_sums(_bin_sums(part), lens) for name, part in parts.items()}


def _bin_sums(rows: list[Any]) -> BinSums:
    count, positives, high, low = (np.zeros(CELLS, np.int64) for _ in range(4))
    for key, n, fixed, *_ in rows:
        place = key // 2 - 1
        count[place] += n
        positives[place] += n * (key % 2)
        high[place] += int(fixed) >> LOW_BITS
        low[place] += int(fixed) & LOW_MASK
        high[place] += low[place] >> LOW_BITS
        low[place] &= LOW_MASK
    return BinSums(count, positives, high, low)


def _row_sums(connection: Any, scores: Scores) -> dict[Any, RowSums]:
    group = ', "group"' if scores.group is not None else ""
    names = ["1 - p0", "p0"] if len(scores.probs) == 1 else [f"p{place}" for place in range(len(scores.probs))]
    entries = f"""
        SELECT unnest([{", ".join(names)}]) AS v, unnest(range({len(names)})) = label AS own{group}
        FROM {scores.columns()}
    """  # noqa: S608 - made of constants and quoted names
    query = f"""
        SELECT sum(CAST(floor(v * v * {FIXED!r}) AS BIGINT)),
               sum(CAST(floor(v * {FIXED!r}) AS BIGINT)) FILTER (own),
               sum(CAST(floor(surprise * {2.0**40!r} + 0.5) AS BIGINT)) FILTER (own),
               sum(CAST(floor(v * surprise * {2.0**40!r} + 0.5) AS BIGINT)),
               count(*) FILTER (own AND v = 0), count(*) FILTER (own){group}
        FROM ({_surprise(entries, group)})
        {"GROUP BY ALL" if group else ""}
    """  # noqa: S608 - made of constants and quoted names
    found: dict[Any, RowSums] = {ALL: RowSums()}
    for square, own, surprise, entropy, impossible, rows, *name in connection.execute(query).fetchall():
        if not rows:  # without rows the sums are NULL
            continue
        part = RowSums(rows, int(square), int(own), int(surprise), int(entropy), impossible)
        found[ALL] = found[ALL].plus(part)
        if name:
            found[name[0]] = part
    return found


def _surprise(entries: str, group: str) -> str:
    """Each entry with its negative logarithm, by the same steps as `row_sums.minus_log`."""
    inverse, logs = (_listed(values) for values in log_table())
    scaled = f"CASE WHEN v > 0 AND v < {TINY!r} THEN v * {1 / TINY!r} ELSE v END"
    near = f"""
        SELECT v, own{group}, x, CASE WHEN v < {TINY!r} THEN -600 ELSE 0 END AS moved,
               CASE WHEN v > 0 THEN floor(log2(x)) + 1 ELSE 0 END AS guess
        FROM (SELECT *, {scaled} AS x FROM ({entries}))
    """  # noqa: S608 - made of constants
    halves = f"""
        SELECT v, own{group}, guess + moved + CASE WHEN m >= 1 THEN 1 WHEN m < 0.5 THEN -1 ELSE 0 END AS exponent,
               CASE WHEN m >= 1 THEN m / 2 WHEN m < 0.5 THEN m * 2 ELSE m END AS part
        FROM (SELECT *, x * pow(2.0, -guess) AS m FROM ({near}))
    """  # noqa: S608 - made of constants
    places = f"""
        SELECT v, own{group}, exponent, part,
               greatest(least(CAST(floor(part * 256) AS INTEGER) - 128, 127), 0) + 1 AS place
        FROM ({halves})
    """  # noqa: S608 - made of constants
    rests = f"SELECT v, own{group}, exponent, place, part * {inverse}[place] - 1 AS r FROM ({places})"  # noqa: S608
    series = f"r * {_double(TERMS[0])}"
    for factor in TERMS[1:]:
        series = f"({series} + {_double(factor)}) * r"
    series = f"({series} + 1) * r"
    found = f"({logs}[place] - {series}) - exponent * {_double(LN2)}"
    return f"SELECT v, own{group}, CASE WHEN v > 0 THEN {found} ELSE 0 END AS surprise FROM ({rests})"  # noqa: S608


def label_code(name: str, kind: str, classes: tuple[Any, ...]) -> str:
    """The index of a label, given as SQL, among the classes; NULL if it is unknown."""
    if kind == "BOOLEAN":
        places = {value: place for place, value in enumerate(as_booleans(classes) or classes)}
        truth, untruth = (places.get(value, "NULL") for value in (True, False))
        return f"CASE WHEN {name} THEN {truth} WHEN NOT {name} THEN {untruth} END"
    if any(isinstance(value, str) for value in classes):
        quote = "'"
        named = [f"'{str(value).replace(quote, quote * 2)}'" for value in classes]
        name = f"CAST({name} AS VARCHAR)"
    elif list(classes) == list(range(len(classes))):
        # A cast rounds, but 0.7 is not a class.
        whole = "true" if "INT" in kind else f"{name} = round({name})"
        number = "UTINYINT" if len(classes) <= 256 else "INTEGER"
        return f"CASE WHEN {whole} THEN TRY_CAST({name} AS {number}) END"
    else:
        named = [repr(float(value)) for value in classes]
    pairs = " ".join(f"WHEN {name} = {value} THEN {place}" for place, value in enumerate(named))
    return f"CASE {pairs} END"

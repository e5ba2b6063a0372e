"""SQL expressions of the rows of a table: the index of a label, probabilities and groups, and the condition for invalid rows."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...input.frames import as_booleans


class Group(NamedTuple):
    """The group of a row as SQL, and what the rows are grouped by."""

    sql: str
    name: str


class Entry(NamedTuple):
    """A probability of a row: what it is called in messages, its column, and its SQL expression."""

    name: str
    column: str
    sql: str

    @property
    def is_in_list(self) -> bool:
        """Whether the column holds lists, of which this is one entry."""
        return self.name != self.column


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
    def entries(self) -> list[Entry]:
        """The probabilities of a row."""
        if len(self.columns_read) == len(self.probs):
            return list(map(Entry, self.columns_read, self.columns_read, self.probs))
        (column,) = self.columns_read
        return [Entry(f"{column}[{place}]", column, sql) for place, sql in enumerate(self.probs, 1)]

    def columns(self, number: str = "DOUBLE", more: str = "") -> str:
        """The table with the columns `more`, label, p0, p1, ... and group."""
        probs = ", ".join(f"CAST({name} AS {number}) AS p{place}" for place, name in enumerate(self.probs))
        group = "" if self.group is None else f', {self.group.sql} AS "group"'
        return f"(SELECT {more}{self.label} AS label, {probs}{group} FROM {self.table})"  # noqa: S608 - quoted names


def bad_rows(scores: Scores) -> str:
    """The SQL condition for invalid rows."""
    names = [f"p{place}" for place in range(len(scores.probs))]
    # A missing value compares as NULL and NaN as larger than any number, so the condition is the negation of a valid row.
    conditions = [f"NOT coalesce({name} BETWEEN 0 AND 1, false)" for name in names]
    conditions.append(f"NOT coalesce(label BETWEEN 0 AND {scores.k - 1}, false)")
    if len(names) > 1:
        conditions.append(f"abs({' + '.join(names)} - 1) > {scores.tolerance!r}")
    if scores.group is not None:
        conditions.append('"group" IS NULL')
    return " OR ".join(conditions)


def label_code(name: str, kind: str, classes: tuple[Any, ...]) -> str:
    """The index of a label, given as SQL, among the classes; NULL if it is unknown."""
    if kind == "BOOLEAN":
        code_of = {value: place for place, value in enumerate(as_booleans(classes) or classes)}
        truth, untruth = (code_of.get(value, "NULL") for value in (True, False))
        return f"CASE WHEN {name} THEN {truth} WHEN NOT {name} THEN {untruth} END"
    if any(isinstance(value, str) for value in classes):
        quote = "'"
        literals = [f"'{str(value).replace(quote, quote * 2)}'" for value in classes]
        name = f"CAST({name} AS VARCHAR)"
    elif list(classes) == list(range(len(classes))):
        # A cast rounds, but 0.7 is not a class.
        is_whole = "true" if "INT" in kind else f"{name} = round({name})"
        number = "UTINYINT" if len(classes) <= 256 else "INTEGER"
        return f"CASE WHEN {is_whole} THEN TRY_CAST({name} AS {number}) END"
    else:
        literals = [repr(float(value)) for value in classes]
    pairs = " ".join(f"WHEN {name} = {value} THEN {place}" for place, value in enumerate(literals))
    return f"CASE {pairs} END"

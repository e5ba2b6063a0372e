"""Groups of rows: by columns, quantiles of a column and SQL expressions, several of them and their combinations.

``contract, tenure/4`` are two groupings: the values of the column `contract`, and four groups of the column `tenure` at its quartiles. ``contract x tenure/4``
is one grouping, by their combinations. Anything else that is not a column is an SQL expression, such as ``age >= 65``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from ..errors import ArgumentError, ColumnError, GroupError, ShapeError
from ..util.arrays import Array
from .convert import column, is_frame, is_missing, is_missing_text, match_columns, pick_columns
from .expressions import check_expression, condition_error, first_line, quoted
from .frames import column_names
from .weights import group_values, read_groups

Kind = Literal["column", "quantiles", "expression"]
# A column between double quotes, as in SQL, or the text before the slash; then the number of groups.
_QUANTILES = re.compile(r'(?P<name>"(?:[^"]|"")+"|[^"]*?)\s*/\s*(?P<count>\d+)', re.DOTALL)
_QUOTED = re.compile(r'"((?:[^"]|"")+)"', re.DOTALL)
# Text that can only be meant as the name of a column, and is not given to SQL.
_NAME = re.compile(r"[^\W\d][\w.-]*")
EXAMPLE = 'for example "contract, tenure/4, age >= 65"'


class Factor(NamedTuple):
    """One division of the rows, as it was written."""

    name: str
    """The text."""
    kind: Kind
    column: str
    """Name of the column; the expression itself, for an expression."""
    number: int = 0
    """Number of quantile groups."""


@dataclass(frozen=True)
class GroupColumns:
    """Groupings of rows that have not been checked yet: the factors of each, and the values of each factor."""

    factors: tuple[tuple[Factor, ...], ...]
    values: Mapping[Factor, Any]

    @property
    def plain(self) -> bool:
        """Whether these are the values of a single column."""
        return len(self.factors) == 1 and len(self.factors[0]) == 1 and self.factors[0][0].kind == "column"


@dataclass(frozen=True)
class Grouping:
    """One division of the rows into groups."""

    name: str
    """What divides them: a column, ``tenure/4``, an expression, or several of these with ``x`` between them."""
    groups: tuple[Any, ...]
    """Names of the groups within this grouping."""
    labels: tuple[Any, ...]
    """Names of the groups among those of all groupings."""
    place: Array = field(repr=False)
    """For each index of `Predictions.groups`, the index of its group."""
    note: str = ""
    """Remark, such as fewer quantile groups than requested."""


def split_items(text: str, argument: str = "groups") -> list[str]:
    """Split a text at commas outside of quotes and brackets.

    >>> split_items('contract, round(tenure, -1), "a, b"/4')
    ['contract', 'round(tenure, -1)', '"a, b"/4']
    """
    return _split(text, re.compile(","), argument)


def _split(text: str, separator: re.Pattern[str], argument: str) -> list[str]:
    """Split a text at a separator outside of quotes and brackets."""
    items, start, depth, at = [], 0, 0, 0
    while at < len(text):
        sign = text[at]
        if sign in "'\"":
            end = text.find(sign, at + 1)
            if end < 0:
                raise ArgumentError(argument, f"has a quotation mark without its counterpart: {text}", EXAMPLE)
            at = end + 1
            continue
        depth += (sign in "([{") - (sign in ")]}")
        matched = separator.match(text, at) if depth == 0 else None
        if matched:
            items.append(text[start:at])
            start = at = matched.end()
        else:
            at += 1
    return [item.strip() for item in (*items, text[start:])]


def parse_by(
    by: str | Sequence[str], existing: Sequence[Any], argument: str = "groups"
) -> tuple[tuple[Factor, ...], ...]:
    """Return the factors of each grouping that a text, or a list of texts, describes; `existing` are the columns.

    >>> parse_by("contract x tenure/4, age >= 65", ["contract", "tenure", "age"])[1]
    (Factor(name='age >= 65', kind='expression', column='age >= 65', number=0),)
    """
    texts = [by] if isinstance(by, str) else list(by)
    items: list[str] = []
    for text in texts:
        items += [text] if text in existing else split_items(text, argument)
    if not all(items):
        raise ArgumentError(argument, f"has an empty item: {', '.join(texts)!r}", EXAMPLE)
    groupings = []
    for item in items:
        factors = [item] if item in existing else _split(item, re.compile(r"\s+x\s+"), argument)
        groupings.append(tuple(_factor(part, existing, argument) for part in factors))
    return tuple(dict.fromkeys(groupings))


def _factor(text: str, existing: Sequence[Any], argument: str) -> Factor:
    """Return what one item means: a column, quantile groups of one, or an expression."""
    if text in existing:
        return Factor(text, "column", text)
    quoted = _QUOTED.fullmatch(text)
    if quoted and (name := quoted[1].replace('""', '"')) in existing:
        return Factor(name, "column", name)
    quantiles = _QUANTILES.fullmatch(text)
    if quantiles:
        inner = _QUOTED.fullmatch(quantiles["name"])
        name = inner[1].replace('""', '"') if inner else quantiles["name"]
        if name in existing or inner or _NAME.fullmatch(name):
            match_columns(_texts(existing), [_literally(name, existing)], argument)
            if int(quantiles["count"]) < 2:
                problem = f"{text}: at least 2 quantile groups are required"
                raise ArgumentError(argument, problem, f"({text}) divides, {name}/4 has 4 groups")
            return Factor(f"{name}/{int(quantiles['count'])}", "quantiles", name, int(quantiles["count"]))
    if quoted or _NAME.fullmatch(text) or (any(sign in text for sign in "*?[") and not re.search(r"[\s(<>=]", text)):
        match_columns(_texts(existing), [_literally(text, existing)], argument)  # raises, with columns of similar names
    return Factor(text, "expression", text)


def _texts(existing: Sequence[Any]) -> list[str]:
    return [name for name in existing if isinstance(name, str)]


def _literally(name: str, existing: Sequence[Any]) -> str:
    """Return a name; a pattern that matches columns would group by the first of them, so its signs are taken literally."""
    return name if name in existing else re.sub(r"[*?\[]", "", name) or name


def plain_columns(by: Any, existing: Sequence[Any], argument: str) -> list[str]:
    """Return the columns that groups are read from by name, without those of expressions."""
    groupings = parse_by(by, existing, argument) if by else ()
    return list(dict.fromkeys(f.column for factors in groupings for f in factors if f.kind != "expression"))


def group_columns(
    by: str | Sequence[str], existing: Sequence[Any], get: Callable[[str], Any], argument: str = "groups"
) -> GroupColumns:
    """Return the groupings by columns, quantiles and expressions; `get` returns a column by its name, with None for missing values."""
    factors = parse_by(by, existing, argument)
    all_factors = list(dict.fromkeys(factor for each in factors for factor in each))
    values = {factor: get(factor.column) for factor in all_factors if factor.kind != "expression"}
    values |= _evaluate_expressions(
        [factor for factor in all_factors if factor.kind == "expression"], existing, get, argument
    )
    return GroupColumns(factors, values)


def from_frame(frame: Any, by: str | Sequence[str], argument: str = "groups") -> Any:
    """Return the groupings by columns of a frame; a list with one text for each row holds the groups themselves."""
    import narwhals.stable.v2 as nw

    names = column_names(frame) or ()
    if not isinstance(by, str) and not all(name in names for name in by) and len(by) == _rows(frame):
        return by

    def read_column(name: str) -> Any:
        """Return a column as an array; None in place of missing values, where there are any."""
        series = nw.from_native(pick_columns(frame, name, argument), series_only=True, allow_series=True)
        if series.is_null().any():
            return np.array([None if is_missing(value) else value for value in series.to_list()], dtype=object)
        return column(series.to_native(), argument).array

    return group_columns(by, names, read_column, argument)


def _rows(frame: Any) -> int | None:
    try:
        return len(frame)
    except TypeError:  # a lazy frame
        return None


def _evaluate_expressions(
    factors: list[Factor], existing: Sequence[Any], get: Callable[[str], Any], argument: str
) -> dict[Factor, Array]:
    """Evaluate expressions in DuckDB over the columns that they name."""
    if not factors:
        return {}
    from ..util.database import connect

    connection = connect()
    try:
        lower = {name.lower(): name for name in reversed(_texts(existing))}
        columns_used: dict[str, str] = {}
        for factor in factors:
            names = check_expression(connection, factor.column, argument)
            columns_used |= {lower[name.lower()]: "" for name in names if name.lower() in lower}
        if not columns_used:
            unknown = next((name for f in factors for name in check_expression(connection, f.column, argument)), None)
            if unknown is not None:
                match_columns(_texts(existing), [_literally(unknown, ())], argument)
            raise ArgumentError(argument, f"{factors[0].name} names no column", f"name one; {EXAMPLE}")
        table = {name: np.asarray(get(name)) for name in columns_used}
        for name, array in table.items():  # in a type that DuckDB reads
            dtypes = {"U": "object", "S": "object", "M": "datetime64[us]"}
            table[name] = array.astype(dtypes.get(array.dtype.kind, array.dtype), copy=False)
        connection.register("rows that calibrant groups", table)
        columns = values_of_expressions(connection, '"rows that calibrant groups"', factors, _texts(existing), argument)
        n = len(next(iter(table.values())))
        for factor, values in columns.items():
            check_length(factor, len(values), n, argument)
        return columns
    finally:
        connection.close()


def check_length(factor: Factor, rows: int, n: int, argument: str) -> None:
    """Raise if an expression does not have one value for each row, as an aggregate does not."""
    if rows != n:
        problem = f"{factor.name} has {rows:,} values for {n:,} rows"
        raise ArgumentError(argument, problem, f"use an expression of each row, without aggregates; {EXAMPLE}")


def values_of_expressions(
    connection: Any, table: str, factors: Sequence[Factor], existing: Sequence[str], argument: str
) -> dict[Factor, Array]:
    """Evaluate expressions, and columns of quantiles in their own types, over a table of SQL."""
    import duckdb

    def select(cells: Sequence[str]) -> str:
        select_list = ", ".join(f"{cell} AS g{index}" for index, cell in enumerate(cells))
        return f"SELECT {select_list} FROM {table}"  # noqa: S608 - quoted names, and expressions that were checked

    written = []
    for factor in factors:
        if factor.kind == "expression":
            check_expression(connection, factor.column, argument)
            written.append(f"(\n{factor.column}\n)")
        else:
            written.append(quoted(factor.column))
    try:
        types = [row[1] for row in connection.execute(f"DESCRIBE {select(written)}").fetchall()]
        cells = [_cell(*each) for each in zip(factors, written, types, strict=True)]
        columns = connection.execute(select(cells)).fetchnumpy()
        for index, (factor, type) in enumerate(zip(factors, types, strict=True)):
            if factor.kind == "quantiles" and type == "VARCHAR":
                columns[f"g{index}"] = _numbers(columns[f"g{index}"])
    except duckdb.BinderException as error:
        raise condition_error(error, existing, argument) from error
    except duckdb.Error as error:
        raise ArgumentError(argument, f"cannot be evaluated: {first_line(error)}", "check the expression") from error
    for name, values in columns.items():
        # Real numbers that are all whole become integers, so that a decade is 60 and not 60.0.
        is_whole = values.dtype.kind == "f" and not np.ma.is_masked(values) and bool((values == np.rint(values)).all())
        if is_whole and bool((np.abs(values) < 2**53).all()):
            columns[name] = values.astype(np.int64)
    return {factor: columns[f"g{index}"] for index, factor in enumerate(factors)}


def _numbers(values: Array) -> Array:
    """Return text as numbers if it is numbers beside missing ones, such as ``NA``; else unchanged."""
    texts = np.ma.filled(values, None).tolist()
    present = [text for text in texts if text is not None]
    if any("_" in text for text in present) or not any(map(is_missing_text, present)):  # Python takes 1_0 for a number
        return values
    try:
        return np.array([math.nan if text is None or is_missing_text(text) else float(text) for text in texts])
    except ValueError:
        return values


def _cell(factor: Factor, cell: str, type: str) -> str:
    """An expression as SQL, in a type that NumPy represents: values of groups as numbers or text, those of quantiles as numbers or dates."""
    if re.fullmatch(r"DECIMAL.*|U?HUGEINT", type):
        return f"CAST({cell} AS DOUBLE)"
    if factor.kind == "quantiles" or re.fullmatch(r"FLOAT|DOUBLE|VARCHAR|U?(TINY|SMALL|BIG)?INT(EGER)?", type):
        return cell
    return f"CAST({cell} AS VARCHAR)"


def read_groupings(
    groups: Any, n: int, counts: Array | None = None
) -> tuple[Array | None, tuple[Any, ...], tuple[Grouping, ...]]:
    """Check groups: the index of the group of each row, the names of these groups, and the groupings that they are combinations of.

    `counts` are the numbers of rows that each row represents, for quantiles.
    """
    if groups is None:
        return None, (), ()
    groups = as_group_columns(groups)
    if not isinstance(groups, GroupColumns):
        name = getattr(groups, "name", None)
        code, names = read_groups(groups, n)
        return code, names, (Grouping(name if isinstance(name, str) else "group", names, names, np.arange(len(names))),)
    coded = [_grouping(factors, groups, n, counts) for factors in groups.factors]
    if groups.plain:
        code, grouping = coded[0]
        return code, grouping.groups, (replace(grouping, labels=grouping.groups),)
    labels_used: set[Any] = set()
    groupings = []
    for code, grouping in coded:
        clash = len(coded) > 1 and bool(labels_used & set(grouping.labels))
        labels = tuple(f"{grouping.name}: {label}" for label in grouping.labels) if clash else grouping.labels
        labels_used |= set(labels)
        groupings.append((code, replace(grouping, labels=labels)))
    if len(groupings) == 1:
        code, grouping = groupings[0]
        return code, grouping.labels, (grouping,)
    cells, code = np.unique(np.column_stack([code for code, _ in groupings]), axis=0, return_inverse=True)
    named = [grouping for _, grouping in groupings]
    names = tuple(", ".join(str(g.labels[c]) for g, c in zip(named, cell, strict=True)) for cell in cells.tolist())
    placed = tuple(replace(grouping, place=cells[:, at]) for at, grouping in enumerate(named))
    return code.reshape(-1).astype(np.intp), names, placed


def combined_groups(groups: Any, n: int) -> tuple[Array | None, tuple[Any, ...]]:
    """Check groups that must be one partition of the rows: the index of the group of each row and the names; several columns are combined."""
    return read_groupings(groups, n)[:2]


def one_group_column(groups: Any, n: int, purpose: str) -> tuple[Array | None, tuple[Any, ...]]:
    """Check groups where the combinations of several columns are not meant; these raise."""
    code, names, groupings = read_groupings(groups, n)
    _refuse_several(groupings, purpose)
    return code, names


def _refuse_several(groupings: Sequence[Grouping], purpose: str) -> None:
    if len(groupings) > 1:
        names = ", ".join(grouping.name for grouping in groupings)
        raise GroupError("groups", f"{purpose} require one grouping; got {len(groupings)}: {names}", "name one of them")


def check_one_grouping(p: Any, purpose: str) -> None:
    """Raise if predictions have several groupings, whose combinations are not meant where one is needed."""
    _refuse_several(p.groupings, purpose)


def groupings_of(p: Any) -> tuple[Grouping, ...]:
    """Return the groupings of predictions; groups that were not read from columns are one."""
    if p.groups is None:
        return ()
    return p.groupings or (Grouping("group", p.group_names, p.group_names, np.arange(len(p.group_names))),)


def as_group_columns(groups: Any) -> Any:
    """Return groups that are passed as several columns as such; one group for each row, and None, unchanged.

    Of columns that are passed by name, NAME/INTEGER has quantile groups.
    """
    if isinstance(groups, Mapping):
        if not groups:
            raise ArgumentError("groups", "is an empty mapping", 'for example {"region": region}')
        values = {}
        for name, entries in groups.items():
            if entries is None:
                raise ArgumentError("groups", f"{name!r} is None", "pass one value for each row")
            quantiles = _QUANTILES.fullmatch(name) if isinstance(name, str) else None
            factor = Factor(str(name), "column", str(name))
            if quantiles and int(quantiles["count"]) >= 2:
                factor = Factor(name, "quantiles", quantiles["name"].strip('"'), int(quantiles["count"]))
            values[factor] = entries
        return GroupColumns(tuple((factor,) for factor in values), values)
    several = not isinstance(groups, GroupColumns) and (getattr(groups, "ndim", 1) == 2 or is_frame(groups))
    if not several:
        return groups
    if not is_frame(groups):
        problem = f"expected one group for each row, got shape {tuple(getattr(groups, 'shape', ()))}"
        raise ShapeError("groups", problem, 'pass a dict of columns, {"region": region, ...}')
    factors = [Factor(str(name), "column", str(name)) for name in column_names(groups) or ()]
    return GroupColumns(
        tuple((factor,) for factor in factors),
        {factor: pick_columns(groups, factor.column, "groups") for factor in factors},
    )


def groups_of(p: Any) -> Iterator[tuple[Grouping, int, Array]]:
    """Iterate over the groups of predictions with at least one row: the grouping, the index of the group in it, and its rows."""
    for grouping in groupings_of(p):
        code = grouping.place[p.groups]
        order = np.argsort(code, kind="stable")
        ends = np.cumsum(np.bincount(code, minlength=len(grouping.groups)))
        for group, rows in enumerate(np.split(order, ends[:-1])):
            if len(rows):
                yield grouping, group, rows


def note_unweighted(groupings: Sequence[Grouping], groups: Array, kept: Array) -> tuple[Grouping, ...]:
    """Name, in the note of each grouping, the groups of which all rows have weight 0: they are left out."""
    notes = []
    for grouping in groupings:
        before, after = (set(np.unique(grouping.place[code]).tolist()) for code in (groups, groups[kept]))
        lost = [repr(str(grouping.groups[label])) for label in sorted(before - after)]
        further = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
        remark = f"{grouping.name}: all rows of {', '.join(lost[:5])}{further} have weight 0, so that there are no results for them"
        note = "; ".join(filter(None, [grouping.note, remark if lost else ""]))
        notes.append(replace(grouping, note=note))
    return tuple(notes)


def _grouping(
    factors: tuple[Factor, ...], columns: GroupColumns, n: int, counts: Array | None
) -> tuple[Array, Grouping]:
    """Return the group of each row of one grouping, and its groups."""
    coded = [_divide_rows(factor, columns.values[factor], n, counts) for factor in factors]
    note = "; ".join(note for *_, note in coded if note)
    name = " x ".join(factor.name for factor in factors)
    if len(factors) == 1:
        code, groups, _ = coded[0]
        labels = tuple(_label(factors[0], group) for group in groups)
        if len(set(labels)) < len(labels):  # the number 1 beside the text 1
            labels = tuple(f"{name}: {group!r}" for group in groups)
        return code, Grouping(name, groups, labels, np.arange(len(groups)), note)
    cells, code = np.unique(np.column_stack([code for code, *_ in coded]), axis=0, return_inverse=True)
    picked = [[groups[place] for (_, groups, _), place in zip(coded, cell, strict=True)] for cell in cells.tolist()]
    groups = tuple(", ".join(map(str, names)) for names in picked)
    labels = tuple(", ".join(_label(f, group) for f, group in zip(factors, names, strict=True)) for names in picked)
    return code.reshape(-1).astype(np.intp), Grouping(name, groups, labels, np.arange(len(cells)), note)


def _label(factor: Factor, group: Any) -> str:
    return str(group) if factor.kind == "quantiles" else f"{factor.name}: {group}"


def _divide_rows(factor: Factor, values: Any, n: int, counts: Array | None) -> tuple[Array, tuple[Any, ...], str]:
    """Return the index of the group of each row, the names of the groups, and a remark."""
    try:
        if factor.kind == "quantiles":
            return _quantile_groups(factor, values, n, counts)
        code, names = read_groups(values, n)
        assert code is not None
        return code, names, ""
    except GroupError as error:
        if error.row is None or factor.kind == "column" or not error.problem.startswith("missing"):
            raise
        raise error.replaced(problem=f"missing value in {factor.name}") from None


def _quantile_groups(
    factor: Factor, raw_values: Any, n: int, counts: Array | None
) -> tuple[Array, tuple[str, ...], str]:
    """Divide the rows at quantiles; equal values stay together, in the lower group.

    The edge k of q is the smallest value that at least k/q of the rows do not exceed.
    """
    values = group_values(raw_values, n)
    if values.dtype.kind == "O":
        values = _as_numbers_or_dates(values)
    if values.dtype.kind not in "iufmM":
        raise ColumnError(
            "groups",
            f"{factor.name}: quantile groups require numbers or dates, and the column holds {'text' if values.dtype.kind in 'OUS' else values.dtype.name}",
            f"{factor.column} alone has one group for each value",
        )
    order = np.argsort(values, kind="stable")
    reach = np.cumsum(np.ones(n, np.int64) if counts is None else counts[order])
    total = int(reach[-1])
    ranks = [-(-total * k // factor.number) for k in range(1, factor.number)]  # rounded up
    edges = np.unique(values[order][np.searchsorted(reach, ranks, side="left")])
    code = np.searchsorted(edges, values, side="left")
    present, code = np.unique(code, return_inverse=True)
    low = np.array([values[code == group].min() for group in range(len(present))])
    high = np.array([values[code == group].max() for group in range(len(present))])
    names = tuple(
        f"{factor.column} {a}" if a == b else f"{factor.column} {a} to {b}" for a, b in _interval_texts(low, high)
    )
    note = ""
    if len(names) < factor.number:
        groups = "1 group" if len(names) == 1 else f"{len(names)} groups"
        note = f"{factor.name}: {groups} instead of {factor.number}, since rows with equal values stay together"
    return code.reshape(-1).astype(np.intp), names, note


def _as_numbers_or_dates(values: Array) -> Array:
    """Return objects that are all numbers, or all dates, as an array of these; others unchanged."""
    import datetime
    import decimal

    types = {type(value) for value in values.tolist()}
    if types and types <= {int, float, decimal.Decimal} and bool not in types:
        return values.astype(np.float64)
    if types and types <= {datetime.date, datetime.datetime}:
        return values.astype("datetime64[us]")
    return values


def _interval_texts(low: Array, high: Array) -> Iterator[tuple[str, str]]:
    """Return the ends of the groups as text, with as many digits as distinguish neighbouring groups."""
    if low.dtype.kind in "iu":
        return zip(map(str, low.tolist()), map(str, high.tolist()), strict=True)
    if low.dtype.kind in "mM":
        unit = (
            "D" if low.dtype.kind == "M" and all((e == e.astype("datetime64[D]")).all() for e in (low, high)) else "s"
        )
        if low.dtype.kind == "m":
            return zip(map(str, low), map(str, high), strict=True)
        texts = (e.astype(f"datetime64[{unit}]").astype(str) for e in (low, high))
        return zip(*(text.tolist() for text in texts), strict=True)
    for digits in range(3, 18):
        a, b = ([f"{value:.{digits}g}" for value in ends.tolist()] for ends in (low, high))
        are_distinct = all(float(end) < float(start) for end, start in zip(b, a[1:], strict=False))
        keep_equality = all((x == y) == (p == q) for x, y, p, q in zip(a, b, low.tolist(), high.tolist(), strict=True))
        if are_distinct and keep_equality:
            break
    return zip(a, b, strict=True)

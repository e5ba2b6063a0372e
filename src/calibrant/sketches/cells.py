"""Reading the result of the query of `warehouse`: integers of cells, checked and added."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import numpy as np
from numpy.typing import NDArray

from ..binning.exact_sums import CellSums
from ..errors import (
    CalibrantError,
    GroupError,
    InputTypeError,
    LabelError,
    ProbabilityError,
    ShapeError,
    WeightError,
)
from ..input.convert import _native, is_frame, missing_values
from ..input.expressions import quoted
from ..input.missing import DROP, Dropped, all_missing
from ..util.checks import check_choice
from .files.columns import EXACT, names_as_written
from .files.reading import common_kind, open_rows, paths_of
from .grid import CELLS, grid
from .group_names import plain_name
from .sketch import MOST_ROWS, Sketch
from .warehouse import FAULTS, HALF, VERSION

Counts = NDArray[np.int64]
QUERY = "run the query again, and keep its columns as they are"
# The fields of the plan that a missing value belongs to, and the error for each.
MISSING: dict[int, tuple[str, type[CalibrantError]]] = {
    4: ("label", LabelError),
    1: ("prob", ProbabilityError),
    16: ("by", GroupError),
}
INVALID: dict[int, tuple[str, type[CalibrantError]]] = {
    2: ("prob", ProbabilityError),
    8: ("label", LabelError),
    32: ("prob", ProbabilityError),
}


class Cells(NamedTuple):
    """The sketch of each group, and of all rows under None."""

    kind: str
    classes: tuple[Any, ...]
    parts: dict[Any, Sketch]
    dropped: Dropped | None


class _Spec(NamedTuple):
    """What the query stated about itself."""

    names: dict[str, str]
    """The column of each role."""
    kind: str
    classes: tuple[Any, ...]


def read_cells(table: Any, missing: str = "raise") -> Cells:
    """Read, check and add the integers of a result."""
    check_choice(missing, "missing", ("raise", "drop"))
    table_columns = _columns(table)
    columns = {str(name).lower(): values for name, values in table_columns.items()}  # some engines return capitals
    if len(columns) < len(table_columns):
        raise InputTypeError("table", "has two columns whose names differ in capitals only", QUERY)
    sized = [hasattr(values, "__len__") and not isinstance(values, str) for values in columns.values()]
    if not all(sized) or len({len(values) for values in columns.values()}) > 1:
        raise ShapeError("table", "has columns of different lengths", QUERY)
    spec = _spec(columns)
    cell, outcome, rows = (_integer_column(columns, name) for name in ("cell", "outcome", "row_count"))
    stated = set(_integer_column(columns, "result_rows").tolist())
    if stated != {len(cell)}:  # cut off or repeated, as the downloads of many consoles are
        problem = f"has {len(cell):,} rows; the query returned {', '.join(f'{number:,}' for number in sorted(stated))}"
        raise ShapeError("table", problem, "export the whole result, without a limit")
    if (rows < 1).any():
        raise InputTypeError("table", "has a cell without rows, which the query does not return", QUERY)
    if ("by" in spec.names) != ("group_name" in columns):
        problem = "lacks the column 'group_name'" if "by" in spec.names else "has groups that the query did not ask for"
        raise InputTypeError("table", problem, QUERY)
    groups, group_names = _groups(columns, cell > 0) if "by" in spec.names else (np.zeros(len(cell), np.int64), [])
    dropped = _faults(cell, rows, spec, missing)
    good = cell > 0
    if not good.any():
        raise ShapeError("table", "has no rows", "check the table that was queried, and the condition")
    cell, outcome, rows, groups = (values[good] for values in (cell, outcome, rows, groups))
    if (cell > CELLS).any() or not np.isin(outcome, (0, 1)).all():
        raise InputTypeError("table", "has cells or outcomes that the query does not return", QUERY)
    if len(np.unique((groups * (CELLS + 1) + cell) * 2 + outcome)) < len(cell):
        raise ShapeError("table", "has a cell twice", "read each result, and merge the sketches")
    if float(rows.sum(dtype=np.float64)) > MOST_ROWS:
        raise WeightError("table", f"has more than {MOST_ROWS:,} rows")
    sums = _cell_sums(
        cell, outcome, rows, *(_integer_column(columns, f"score_{part}_sum")[good] for part in ("high", "low"))
    )
    lens = "binary" if spec.kind == "binary" else "top_label"

    def part(rows: Any) -> Sketch:
        merged = CellSums(*(values[rows] for values in sums)).sum_by_cell(cell[rows] - 1, CELLS)
        cells = np.flatnonzero(merged.rows)
        return Sketch(cells, CellSums(*(values[cells] for values in merged)), lens)

    parts: dict[Any, Sketch] = {None: part(slice(None))}
    if group_names:
        order = np.argsort(groups, kind="stable")
        ends = np.cumsum(np.bincount(groups, minlength=len(group_names)))
        for name, rows_of_group in zip(group_names, np.split(order, ends[:-1]), strict=True):
            if len(rows_of_group):
                parts[name] = part(rows_of_group)
    return Cells(spec.kind, spec.classes, parts, dropped)


def _columns(table: Any) -> Mapping[str, Any]:
    """The columns of a table of any kind, by name."""
    if isinstance(table, (str, os.PathLike)):
        paths = paths_of(table)
        with open_rows(paths, common_kind(paths, None)) as rows:
            group = next((name for name in rows.names if name.lower() == "group_name"), None)
            typed, _ = rows.typed_table(name for name in rows.names if name.lower() != "group_name")
            select_list = ", ".join(map(quoted, rows.names))
            columns = dict(rows.connection.execute(f"SELECT {select_list} FROM {typed}").fetchnumpy())  # noqa: S608
            if group is not None and rows.printed:
                texts = ["" if text is None else text for text in _entries(columns[group])]
                names = names_as_written(texts)
                if len(set(names.values())) < len(names):  # the engine has told them apart
                    names = {text: text for text in texts}
                columns[group] = [names[text] for text in texts]
            return columns
    if hasattr(table, "fetchnumpy"):  # a result of DuckDB, which needs no other package
        return dict(table.fetchnumpy())
    if isinstance(table, Mapping):
        return table
    if is_frame(table):
        frame = _native(table, "table")
        frame = frame.collect() if hasattr(frame, "collect") else frame
        return {name: frame[name].to_list() for name in frame.columns}
    if isinstance(table, Sequence) and all(isinstance(row, Mapping) for row in table):
        if not table:
            raise ShapeError("table", "has no rows", "check the table that was queried, and the condition")
        return {name: [row.get(name) for row in table] for name in table[0]}
    raise InputTypeError("table", f"must be a table, a dict of columns or a path; got {type(table).__name__}")


def _entries(values: Any) -> list[Any]:
    """The values of a column, None for those that are missing."""
    return list(values.tolist()) if hasattr(values, "tolist") else list(values)


def _spec(columns: Mapping[str, Any]) -> _Spec:
    if "cell" not in columns or "calibrant" not in columns:
        first_columns = ", ".join(map(str, list(columns)[:10]))
        problem = f"is not the result of a query of calibrant; its columns are {first_columns}"
        raise InputTypeError("table", problem, "write the query with `calibrant sql` or cells_query")
    texts = set(_entries(columns["calibrant"]))
    if not texts:
        raise ShapeError("table", "has no rows", "check the table that was queried, and the condition")
    if len(texts) > 1:
        raise InputTypeError("table", "has the results of several queries", "read each of them, and merge the sketches")
    pairs = parse_qsl(str(texts.pop()), keep_blank_values=True)
    version = dict(pairs).get("calibrant", "?")
    if version != str(VERSION):
        raise InputTypeError("table", f"has version {version}; this version of calibrant reads {VERSION}", QUERY)
    try:
        classes = tuple(text if key == "text" else _number(text) for key, text in pairs if key in ("text", "number"))
    except ValueError:
        classes = ()
    kind = dict(pairs).get("kind")
    if kind not in ("binary", "confidence", "multiclass") or len(classes) < 2:
        raise InputTypeError("table", "the column 'calibrant' was changed", QUERY)
    names = {role: [text for key, text in pairs if key == role] for role in ("label", "prob", "by")}
    columns_text = {role: ", ".join(texts) for role, texts in names.items() if texts}
    return _Spec(columns_text, kind, classes)


def _number(text: str) -> Any:
    booleans = {"True": True, "False": False}
    if text in booleans:
        return booleans[text]
    try:
        return int(text)
    except ValueError:
        return float(text)


def _integer_column(columns: Mapping[str, Any], name: str) -> Counts:
    """A column of integers. Doubles are accepted as long as they represent every integer."""
    if name not in columns:
        raise InputTypeError("table", f"lacks the column {name!r}", QUERY)
    values = columns[name]
    array = np.ma.asarray(values) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    if np.ma.getmaskarray(array).any():
        raise InputTypeError("table", f"has a missing value in the column {name!r}", QUERY)
    array = np.asarray(array)
    if array.ndim != 1:
        raise InputTypeError("table", f"the column {name!r} does not hold one number in each row", QUERY)
    if array.dtype.kind == "i":
        return array.astype(np.int64)
    try:
        if array.dtype.kind == "f":
            if not (np.abs(array) < EXACT).all() or (array != np.floor(array)).any():
                raise OverflowError
            return array.astype(np.int64)
        numbers = [int(value) for value in array.tolist()]
        for value, number in zip(array.tolist(), numbers, strict=True):
            if not isinstance(value, str) and (value != number or (isinstance(value, float) and abs(value) >= EXACT)):
                raise OverflowError
        return np.array(numbers, np.int64)
    except (ValueError, TypeError, OverflowError):
        problem = f"the column {name!r} does not hold exact integers of 64 bits (its type is {array.dtype})"
        raise InputTypeError("table", problem, "read the result without conversion to floating point") from None


def _groups(columns: Mapping[str, Any], valid: Any) -> tuple[Counts, list[Any]]:
    """The index of the group of each row, and the names."""
    entries = _entries(columns["group_name"])
    valid_only = [value for value, is_valid in zip(entries, valid.tolist(), strict=True) if is_valid]
    # A column of integers with missing values, those of invalid rows, becomes one of doubles in pandas.
    widened = len(valid_only) < len(entries) and all(
        isinstance(value, float) and value.is_integer() for value in valid_only
    )
    code_of: dict[Any, int] = {}
    codes = np.zeros(len(entries), np.int64)
    for place, (value, is_valid) in enumerate(zip(entries, valid.tolist(), strict=True)):
        if not is_valid:
            continue
        if value != value:
            raise GroupError("by", "a group is not a number (NaN)", "select the other rows")
        # Empty text, which many formats write as missing, is a name.
        name = "" if value is None else plain_name(int(value) if widened else value)
        codes[place] = code_of.setdefault(name, len(code_of))
    return codes, list(code_of)


def _faults(cell: Counts, rows: Counts, spec: _Spec, missing: str) -> Dropped | None:
    """Raise for invalid rows; return how many rows with missing values are dropped, or None."""
    fault, count = -cell[cell <= 0], rows[cell <= 0]
    if not len(fault):
        return None
    if (fault <= 0).any() or (fault >= 2 * max(FAULTS)).any():
        raise InputTypeError("table", "has cells that the query does not return", QUERY)

    def number(bits: int) -> int:
        return int(count[(fault & bits) > 0].sum())

    absent = {spec.names[role]: number(bit) for bit, (role, _) in MISSING.items() if role in spec.names and number(bit)}
    if absent and missing == "raise":
        bit = next(bit for bit in MISSING if number(bit))
        role, kind = MISSING[bit]
        total = sum(absent.values())
        listed = ", ".join(f"{name} {n:,}" for name, n in absent.items())
        problem = missing_values(total) + (f" ({listed})" if len(absent) > 1 else f" in column {next(iter(absent))!r}")
        raise kind(role, problem, DROP, count=total)
    every_missing = sum(MISSING)
    for bit, (role, kind) in INVALID.items():
        # Rows that are dropped because of a missing value need not be valid otherwise.
        faulty_rows = int(count[((fault & bit) > 0) & ((fault & every_missing) == 0)].sum())
        if faulty_rows:
            columns = spec.names.get(role, role)
            problem = f"{faulty_rows:,} {'row has' if faulty_rows == 1 else 'rows have'} {FAULTS[bit]} in {columns!r}"
            if bit == 8:
                problem += f"; the classes are {', '.join(map(str, spec.classes))}"
            remedy: Any = "pass classes" if bit == 8 else "correct the rows, or exclude them by a condition"
            raise kind(role, problem, remedy)
    n = int(count[(fault & every_missing) > 0].sum())
    dropped = Dropped(int(rows.sum()), n, absent)
    if dropped.n == dropped.rows:
        raise all_missing(dropped, "prob")
    return dropped


def _cell_sums(cell: Counts, outcome: Counts, rows: Counts, high: Counts, low: Counts) -> CellSums:
    """The sums of each row of the result; the mean score must lie in the cell, so that an overflow in the engine is noticed."""
    edges = grid().edges
    mean = (high / HALF + low / HALF / HALF) / rows
    slack = 1e-12
    inside = (mean >= edges[cell - 1] - slack) & (mean <= edges[cell] + slack)
    # The low part is a sum of numbers below HALF; that of more rows may have overflowed to another valid number.
    if not (inside & (low >= 0) & (low / HALF <= rows) & (rows <= 1 << 32)).all():
        problem = (
            "has sums that do not belong to their cells: the engine rounded or overflowed, or the result was changed"
        )
        raise InputTypeError("table", problem, "query fewer than 4e9 rows at a time, and merge the sketches")
    high = high + (low >> 31)
    low = low & (HALF - 1)
    return CellSums(rows, rows * outcome, high >> 31, ((high & (HALF - 1)) << 31) + low)

"""Sketches from files of any size, in bounded memory."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from ...errors import (
    ArgumentError,
    CalibrantError,
    FileError,
    GroupError,
    LabelError,
    ProbabilityError,
    Use,
)
from ...input.convert import SUM_TOLERANCE, missing_values, rounding_of
from ...input.frames import opposite_of, positive_of
from ...input.grouping import Factor, parse_by
from ...input.missing import DROP, Dropped, all_missing, is_missing_text
from ...input.predictions import Predictions
from ...util.database import is_interrupt
from ...util.progress import loop, switched
from ..collection import ALL, GroupSums, Sketches, default_lenses
from .arrow import batches
from .columns import (
    WHOLE,
    Columns,
    as_booleans,
    check_class_order,
    check_expression,
    class_names,
    condition_error,
    find_columns,
    is_guessed,
    lossless,
    names_as_written,
    no_probabilities,
    quoted,
)
from .converting import original_of
from .reading import FILE, PRINTED, ROW, Source, open_source, text
from .sql import Scores, bad_rows, group_sketches, label_code

__all__ = ["scan"]

BATCH_ROWS = 1 << 20
Engine = Literal["auto", "arrow", "sql"]


def scan(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    label: str | None = None,
    prob: str | Sequence[str] | None = None,
    by: str | None = None,
    where: str | None = None,
    classes: Sequence[Any] | None = None,
    lenses: Iterable[str] | None = None,
    scores: bool = True,
    format: str | None = None,
    table: str | None = None,
    engine: Engine = "auto",
    progress: bool = True,
    missing: Literal["raise", "drop"] = "raise",
) -> Sketches:
    """Summarize prediction files of any size in one pass.

    The files are read once in bounded memory; the result replaces labels and probabilities in the metrics of scores, `evaluate`,
    `assess`, `interval`, the figures and the report.

    Parameters
    ----------
    source : path-like, str or sequence of these
        Path, pattern such as ``"preds/*.parquet"``, or a list of them: CSV, TSV, Parquet, JSON lines, or a DuckDB database. A file that
        matches twice is read once.
    label : str, optional
        Column of the labels; by default recognized by its name.
    prob : str or sequence of str, optional
        Column of the probability of the positive class, columns of one probability per class, a pattern such as ``"p_*"``, or a column
        of lists; by default recognized by name. Of two columns the second belongs to the positive class, unless the names indicate
        otherwise, as in ``p_yes, p_no`` and ``p_1, p_0``.
    by : str, optional
        Column of groups; each group has sketches of its own. An SQL expression such as ``"age >= 65"``, or combinations such as
        ``"contract x age >= 65"``, are groups as well.
    where : str, optional
        SQL expression that selects rows.
    classes : sequence, optional
        Class names in the order of the columns, for two classes the negative one first. By default taken from the names of the columns
        if labels are text (``p_cat, p_dog``), else 0, 1, ...
    lenses : iterable of str, optional
        Lenses to keep a sketch of; see `Sketches.of`.
    scores : bool, default True
        Whether to keep the sums over whole rows that `brier`, `nll` and `ecd` need.
    format : str, optional
        Format of the files, if their names do not indicate it.
    table : str, optional
        Table of a database.
    engine : {"auto", "arrow", "sql"}, default "auto"
        ``"arrow"`` streams batches of Arrow memory into NumPy or compiled loops; pyarrow is not needed. ``"sql"`` computes the sums in
        DuckDB, which takes several times as long and gives identical results. ``"auto"`` is ``"arrow"``.
    progress : bool, default True
        Whether to show the number of rows read so far, on a terminal or in a notebook, if reading takes more than two seconds; the
        environment variable ``CALIBRANT_PROGRESS=0`` switches it off.
    missing : {"raise", "drop"}, default "raise"
        What to do about rows with a missing label, probability or group: raise an error, or drop them; the attribute ``dropped`` of
        the result states how many.

    Returns
    -------
    Sketches
        Sketches of all rows, and of each group.

    Raises
    ------
    FileError
        If a file cannot be read or holds no rows.
    ArgumentError
        If a column, class or option is invalid; invalid values are reported with their file and row.
    MissingDependencyError
        If DuckDB is not installed, or pyarrow or openpyxl for the files that need them.

    See Also
    --------
    Sketches.of : Sketches of data in memory.
    calibrant.spark.sketch : Sketches of a Spark DataFrame.

    Examples
    --------
    >>> import calibrant as cal, tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("y,p\\n0,0.1\\n1,0.4\\n")
    >>> _ = (folder / "b.csv").write_text("y,p\\n1,0.8\\n1,0.9\\n")
    >>> sketches = cal.scan(folder / "*.csv")
    >>> cal.ece(sketches) == cal.ece([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    True
    """
    if engine not in ("auto", "arrow", "sql"):
        raise ArgumentError("engine", f"must be 'auto', 'arrow' or 'sql'; got {engine!r}")
    if missing not in ("raise", "drop"):
        raise ArgumentError("missing", f"must be 'raise' or 'drop'; got {missing!r}")
    with open_source(source, where=where, format=format, table=table) as opened, _named_failures(opened):
        factors = _factors(opened, by)
        opened = opened.with_text(*_kept_as_text(opened, factors))
        drop = missing == "drop"
        found = _scores(opened, label, prob, by, factors, classes, drop)
        dropped = None
        if drop:
            found, dropped = _without_missing(opened, found)
        kind = "binary" if found.k == 2 else "multiclass"
        asked = default_lenses(kind, found.k) if lenses is None else tuple(lenses)
        chosen = _named(asked, found.classes)
        with switched(progress), loop("rows read") as read:
            sketches = _filled(opened, found, kind, chosen, scores, engine, read)
        if sketches is None or not sketches.n:
            raise _no_rows(opened)
        if len(factors) == 1 and factors[0].kind == "column" and opened.kind in PRINTED:
            sketches = _with_names_as_written(sketches)
        sketches.dropped = dropped
        return sketches


def _factors(opened: Source, by: str | None) -> tuple[Factor, ...]:
    """What the groups are divided by; a sketch has one grouping, whose groups do not overlap."""
    if by is None:
        return ()
    groupings = parse_by(by, opened.names, "by")
    if len(groupings) > 1:
        names = " x ".join(factor.name for grouping in groupings for factor in grouping)
        raise GroupError(
            "by", f"a sketch has one grouping; got {len(groupings)}", f"scan the files for each, or use {names!r}"
        )
    for factor in groupings[0]:
        if factor.kind == "quantiles":
            problem = f"{factor.name}: quantile groups require all rows at once"
            raise GroupError(
                "by", problem, f"use an expression with limits of your own, such as '{factor.column} >= 10'"
            )
    return groupings[0]


def _kept_as_text(opened: Source, factors: tuple[Factor, ...]) -> list[str]:
    """The columns whose values are names as they are written; a column that an expression reads keeps its type."""
    read: set[str] = set()
    for factor in factors:
        if factor.kind == "expression":
            read |= {name.lower() for name in check_expression(opened.connection, factor.column, "by")}
    return [f.column for f in factors if f.kind == "column" and f.column.lower() not in read]


def _group_sql(opened: Source, factors: tuple[Factor, ...]) -> str | None:
    """The group of each row as SQL; NULL where a value is missing."""
    if len(factors) <= 1 and all(factor.kind == "column" for factor in factors):
        return lossless(factors[0].column, opened.types[factors[0].column]) if factors else None
    parts = []
    for factor in factors:
        value = f"(\n{factor.column}\n)" if factor.kind == "expression" else _name_sql(opened, factor.column)
        parts.append(f"{text(f'{factor.name}: ')} || CAST({value} AS VARCHAR)")
    comma = text(", ")
    group = f"({f' || {comma} || '.join(parts)})"
    import duckdb

    try:
        opened.connection.execute(f"SELECT *, {group} FROM {opened.rows} LIMIT 0").fetchall()  # noqa: S608 - checked
    except duckdb.BinderException as error:
        if "GROUP BY" in str(error):
            raise ArgumentError(
                "by", "has an aggregate", "use an expression of each row, such as 'age >= 65'"
            ) from error
        raise condition_error(error, opened.names, "by") from error
    return group


def _name_sql(opened: Source, column: str) -> str:
    """The name of a group of one column within a combination; as in `names_as_written`, two spellings of a whole number are one name."""
    value = quoted(column)
    if opened.kind not in PRINTED or opened.types[column] != "VARCHAR":
        return value
    whole = f"regexp_replace({value}, {text(f'^{WHOLE}$')}, '\\1')"
    query = f"SELECT count(DISTINCT {whole}) < count(DISTINCT {value}) FROM {opened.rows}"  # noqa: S608 - quoted names
    (merges,) = opened.connection.execute(query).fetchall()[0]
    return whole if merges else value


# The SQL condition for text that stands for a missing value; see `input.missing`.
NO_VALUE = "regexp_full_match({}, '\\s*(n/?a|#n/a|nan|null|<na>|nat)?\\s*', 'i')"


def _absent(found: Scores) -> dict[str, str]:
    """The SQL condition for a missing value of each column."""
    label = f"coalesce({_is_no_label(found)}, true)"
    probs = {_bare(name): f"coalesce(isnan(TRY_CAST({name} AS DOUBLE)), true)" for name in found.probs}
    return {
        found.name: label,
        **probs,
        **({} if found.group is None else {found.grouping or _bare(found.group): f"{found.group} IS NULL"}),
    }


def _bare(sql: str) -> str:
    """The name of a column, or of a column and an entry of its lists, within an SQL expression."""
    named = re.search(r'"((?:[^"]|"")*)"(\[\d+\])?', sql)
    return sql if named is None else named[1].replace('""', '"') + (named[2] or "")


def _missing(opened: Source, found: Scores) -> Dropped | None:
    """The number of rows with missing values, of each column and in all; None if there are none. The rows are read once more."""
    absent = _absent(found)
    counts = ", ".join(f"count(*) FILTER ({condition})" for condition in absent.values())
    query = f"SELECT count(*), count(*) FILTER ({_any(absent)}), {counts} FROM {found.table}"  # noqa: S608 - quoted names
    rows, n, *each = opened.connection.execute(query).fetchone()
    return Dropped(rows, n, {name: count for name, count in zip(absent, each, strict=True) if count}) if n else None


def _any(conditions: dict[str, str]) -> str:
    return " OR ".join(f"({condition})" for condition in conditions.values())


def _without_missing(opened: Source, found: Scores) -> tuple[Scores, Dropped | None]:
    """The rows without missing values, and how many were dropped; None if none were."""
    dropped = _missing(opened, found)
    if dropped is None:
        return found, None
    if dropped.n == dropped.rows:
        raise all_missing(dropped, "prob")
    return found._replace(table=f"(SELECT * FROM {found.table} WHERE NOT ({_any(_absent(found))}))"), dropped  # noqa: S608


def _is_no_label(found: Scores) -> str:
    """The SQL condition for a text such as NA in place of a label; it is not one if it is the name of a class."""
    named = ", ".join(text(str(name)) for name in found.classes)
    return f"({NO_VALUE.format(found.written)} AND {found.written} NOT IN ({named}))"


def _with_names_as_written(sketches: Sketches) -> Sketches:
    """Groups read as text, renamed to numbers where the text is just their printed form."""
    groups = [name for name in sketches.parts if name is not ALL]
    if not all(isinstance(name, str) for name in groups):
        return sketches
    names = names_as_written(groups)
    parts: dict[Any, Any] = {}
    for name, part in sketches.parts.items():
        called = ALL if name is ALL else names[name]
        parts[called] = part if called not in parts else parts[called].merge(part)
    return Sketches(sketches.kind, sketches.classes, parts)


def _no_rows(opened: Source) -> FileError:
    if opened.where is not None:
        return FileError(opened.paths[0], "no row satisfies the condition", "relax the condition")
    return FileError(opened.paths[0], "has no rows", "check the program that wrote it")


def _filled(
    opened: Source,
    found: Scores,
    kind: str,
    lenses: tuple[str, ...],
    scores: bool,
    engine: Engine,
    read: Callable[[int], None],
) -> Sketches | None:
    """The sketches, computed by either engine; errors name the invalid row."""
    try:
        if engine != "sql":
            return _streamed(opened, found, kind, lenses, scores, read)
        return _summed(opened, found, kind, lenses, scores)
    except FileError:
        raise
    except CalibrantError as error:
        raise _located(opened, found) or error from None


@contextmanager
def _named_failures(opened: Source) -> Iterator[None]:
    """Translate errors of DuckDB so that they name the condition or the part of a file."""
    import duckdb

    try:
        yield
    except CalibrantError:
        raise
    except duckdb.BinderException as error:
        raise condition_error(error, opened.names) from error
    except (duckdb.Error, OSError, RuntimeError) as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        if not isinstance(error, (duckdb.Error, OSError)):
            raise
        raise opened.failure(error) from error


def _scores(
    opened: Source,
    label: str | None,
    prob: str | Sequence[str] | None,
    by: str | None,
    factors: tuple[Factor, ...],
    classes: Sequence[Any] | None,
    drop: bool = False,
) -> Scores:
    """Labels and probabilities as SQL expressions."""
    known = list(opened.names)
    named = prob if prob is None or isinstance(prob, str) else ",".join(prob)
    found, names = find_columns(known, Columns(label=label, prob=named, by=by), dashes="")
    group = _group_sql(opened, factors)
    plain = len(factors) == 1 and factors[0].kind == "column"
    grouping = "" if plain else " x ".join(factor.name for factor in factors)
    pattern = prob if isinstance(prob, str) else ""
    of_columns = class_names(names, pattern) if len(names) > 1 else None
    if classes is not None and of_columns is not None:
        if len(names) == 2 and [str(name) for name in classes] == [str(name) for name in reversed(of_columns)]:
            names, of_columns = names[::-1], of_columns[::-1]
        check_class_order(classes, of_columns)
    if is_guessed(Columns(prob=named), names):
        _refuse_classes(opened, names[0])
    probs, types = _numbers(opened, names, drop)
    k = max(2, len(probs))
    if classes is None and len(probs) == 1:
        classes = _as_labelled(opened, found, drop)
    coded = _classes(opened.types[found], classes, of_columns, k)
    if len(coded) != k:
        raise ArgumentError("classes", f"has {len(coded)} names for {k} classes")
    single = "FLOAT" in types
    exact = SUM_TOLERANCE["float32" if single else "float64"]
    tolerance = 1e-3 * rounding_of(k) if opened.kind in PRINTED else exact
    code = label_code(found, opened.types[found], coded)
    number = "FLOAT" if types == {"FLOAT"} else "DOUBLE"
    written = f"CAST({quoted(found)} AS VARCHAR)"
    return Scores(opened.rows, code, probs, group, coded, tolerance, number, written, found, grouping)


def _refuse_classes(opened: Source, name: str) -> None:
    """Raise if a column such as ``prediction`` holds predicted classes."""
    hard = f"coalesce(bool_and(TRY_CAST({quoted(name)} AS DOUBLE) IN (0, 1)), true)"
    known = opened.types[name] in ("VARCHAR", "BOOLEAN")
    if known or opened.connection.execute(f"SELECT {hard} FROM {opened.rows}").fetchone()[0]:  # noqa: S608 - quoted
        raise no_probabilities(name, "")


def _as_labelled(opened: Source, label: str, drop: bool = False) -> list[str] | None:
    """The names of two classes, the positive one last, if the first labels indicate it; otherwise None."""
    written = opened.with_text(label)
    if opened.types[label] not in ("BOOLEAN", "VARCHAR") or written.types[label] != "VARCHAR":
        return None
    first = f"SELECT {quoted(label)} AS label FROM {written.rows} LIMIT {BATCH_ROWS}"  # noqa: S608 - quoted
    query = f"SELECT DISTINCT label FROM ({first}) WHERE label IS NOT NULL"  # noqa: S608 - quoted
    named = f"{query} AND NOT {NO_VALUE.format('label')}" if drop else query
    seen = [row[0] for row in opened.connection.execute(f"{named} LIMIT 3").fetchall()]
    if drop and len(seen) < 2:  # then such a text is the name of a class
        seen = [row[0] for row in opened.connection.execute(f"{query} LIMIT 3").fetchall()]
    if opened.types[label] == "BOOLEAN" and {name.lower() for name in seen} <= {"true", "false"}:
        return None  # booleans, as in a typed file
    if len(seen) == 1:  # the same names on a day without positives, so that days can be merged
        seen += filter(None, [opposite_of(seen[0])])
    place = positive_of(seen)
    return None if place is None else [seen[1 - place], seen[place]]


def _classes(label: str, given: Sequence[Any] | None, of_columns: list[Any] | None, k: int) -> tuple[Any, ...]:
    """The classes as given, or as named by the columns; 0, 1, ... if the labels are of a type that cannot match those names."""
    text = label == "VARCHAR" or label.startswith("ENUM")
    if label.endswith(("]", ")")) and not label.startswith(("DECIMAL", "ENUM")):
        raise LabelError("label", f"expected one value for each row, got a column of type {label}")
    named: list[Any] = list(range(k)) if given is None and of_columns is None else list(given or of_columns or ())
    if label == "BOOLEAN" and as_booleans(named) is not None:
        return tuple(named)  # which label_code reads as booleans
    if given is None and not text and any(isinstance(name, str) for name in named):
        named = list(range(k))
    return tuple(str(name) for name in named) if text else tuple(named)


def _numbers(opened: Source, names: list[str], drop: bool = False) -> tuple[tuple[str, ...], set[str]]:
    """The probabilities of a row as SQL, and the types of their columns; with `drop`, a text such as NA is missing."""
    types = {opened.types[name] for name in names}
    listed = len(names) == 1 and opened.types[names[0]].endswith("]")
    if listed:
        types = {re.sub(r"\[\d*\]$", "", opened.types[names[0]])}
    casts: dict[str, str] = {}
    for name in names:
        own = types if listed else {opened.types[name]}
        if not all(re.fullmatch(r"FLOAT|DOUBLE|DECIMAL.*|U?[A-Z]*INT(EGER)?", kind) for kind in own):
            value, row = _first_text(opened, name, drop) if own == {"VARCHAR"} else (None, None)
            if drop and own == {"VARCHAR"} and value is None:
                casts[name] = f"TRY_CAST({quoted(name)} AS DOUBLE)"
                continue
            got = f"type {opened.types[name]}" if value is None else f"the text {value!r}"
            remedy = DROP if value is not None and is_missing_text(value) else ""
            raise ProbabilityError("prob", f"expected numbers in {quoted(name)}, got {got}", remedy, row=row)
    if casts:
        types = (types - {"VARCHAR"}) | {"DOUBLE"}
    return _from_list(opened, names[0]) if listed else tuple(casts.get(name, quoted(name)) for name in names), types


def _first_text(opened: Source, name: str, drop: bool = False) -> tuple[str | None, int | None]:
    """The first entry of a column of text that is not a number, and its row; in a file without rows all columns are text."""
    column = quoted(name)
    if opened.connection.execute(f"SELECT 1 FROM {opened.rows} LIMIT 1").fetchone() is None:  # noqa: S608 - quoted
        raise _no_rows(opened)
    numbered = f"(SELECT {column} AS value, {_row_number(opened)} AS number FROM {opened.rows})"  # noqa: S608 - quoted
    bad = "value IS NOT NULL AND TRY_CAST(value AS DOUBLE) IS NULL"
    bad += f" AND NOT ({NO_VALUE.format('value')} OR lower(trim(value)) = 'none')" if drop else ""
    found = opened.connection.execute(f"SELECT * FROM {numbered} WHERE {bad} LIMIT 1").fetchone()  # noqa: S608
    return (None, None) if found is None else (found[0][:40], found[1])


def _from_list(opened: Source, name: str) -> tuple[str, ...]:
    """The entries of a column of lists, which must have equal length."""
    least, most = opened.connection.execute(
        f"SELECT min(len({quoted(name)})), max(len({quoted(name)})) FROM {opened.rows}"  # noqa: S608 - quoted
    ).fetchone()
    if least is None:
        raise _no_rows(opened)
    if least != most:
        raise ProbabilityError(
            "prob", f"the lists in {quoted(name)} have {least} to {most} entries", "give every row one entry per class"
        )
    if least < 2:
        raise ProbabilityError(
            "prob", f"the lists in {quoted(name)} have {least} entries", "give every row one entry per class"
        )
    return tuple(f"{quoted(name)}[{place + 1}]" for place in range(least))


def _named(lenses: tuple[str, ...], classes: tuple[Any, ...]) -> tuple[str, ...]:
    """The names of the lenses, with one lens per class."""
    found: list[str] = []
    for lens in lenses:
        found += [f"class:{name}" for name in classes] if lens == "classwise" else [lens]
    known = {"binary", "top_label", *(f"class:{name}" for name in classes)}
    for lens in found:
        if lens not in known and not lens.startswith("rank:"):
            raise ArgumentError("lenses", f"{lens!r} is not supported for files", f"choose one of {sorted(known)}")
    return tuple(dict.fromkeys(found))


def _streamed(
    opened: Source,
    found: Scores,
    kind: str,
    lenses: tuple[str, ...],
    scores: bool,
    read: Callable[[int], None],
) -> Sketches | None:
    """Add up successive batches of rows."""
    opened.connection.execute("SET preserve_insertion_order = false")
    names, group = (None, None) if found.group is None else _group_names(opened, found)
    coded = _coded(lenses, found.classes)
    total: Sketches | None = None
    sums = None if names is None else GroupSums(len(names), coded, scores)
    own = opened.connection.cursor()  # after an error the connection stays free to look for its cause
    try:
        for batch in _read_ahead(batches(own.sql(_numbers_query(found, group)), BATCH_ROWS)):
            predictions = _batch(batch, found)
            if sums is None:
                part = Sketches.of(predictions, lenses=coded, scores=scores)
                total = part if total is None else total.merge(part)
            else:
                sums.add(predictions, batch[-1])
            read(sums.n if sums is not None else total.n if total is not None else 0)
    finally:
        own.close()
    if sums is not None and names is not None and sums.n:
        total = Sketches(kind, (), sums.parts(names))
    return None if total is None else total.renamed(found.classes, dict(zip(coded, lenses, strict=True)))


# Groups by their number, so that rows carry numbers only.
GROUPS = "groups_of_rows"


def _group_names(opened: Source, found: Scores) -> tuple[list[Any], str | None]:
    """The groups in the order of their numbers, and the number as SQL; None if it is that of the table `GROUPS`."""
    values = f'SELECT DISTINCT "group" AS name FROM (SELECT {found.group} AS "group" FROM {found.table})'  # noqa: S608
    coded = f"SELECT name, CAST(row_number() OVER () - 1 AS INTEGER) AS code FROM ({values}) WHERE name IS NOT NULL"  # noqa: S608
    opened.connection.execute(f"CREATE OR REPLACE TABLE {GROUPS} AS {coded}")  # a temporary one is hidden from a cursor
    query = f"SELECT name FROM {GROUPS} ORDER BY code"  # noqa: S608 - a constant
    names = [row[0] for row in opened.connection.execute(query).fetchall()]
    if not 0 < len(names) <= 1 << 16:
        return names, None
    if opened.kind == "parquet" and str(found.group).startswith('"') and isinstance(names[0], str):
        # Parquet stores a column of few texts as a dictionary, each of which is then looked up once.
        opened.connection.execute(f"CREATE TYPE {GROUPS}_names AS ENUM ({query})")
        return names, f'enum_code(TRY_CAST("group" AS {GROUPS}_names))'
    opened.connection.execute(f"ALTER TABLE {GROUPS} ALTER code TYPE USMALLINT")  # as `GroupSums` numbers them
    return names, None


def _numbers_query(found: Scores, group: str | None) -> str:
    """A query for label, probabilities and the number of the group."""
    rows = found.columns(found.number)
    if found.group is None:
        return f"SELECT * FROM {rows}"  # noqa: S608 - quoted names
    if group is not None:
        return f'SELECT * EXCLUDE ("group"), {group} FROM {rows}'  # noqa: S608 - quoted names
    return f'SELECT rows_read.* EXCLUDE ("group"), code FROM {rows} AS rows_read LEFT JOIN {GROUPS} ON "group" = name'  # noqa: S608


END = object()


def _read_ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """Iterate over batches, reading the next one while the last is processed."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as ahead:
        waiting = ahead.submit(next, batches, END)
        while (batch := waiting.result()) is not END:
            waiting = ahead.submit(next, batches, END)
            yield batch


def _batch(batch: list[Any] | None, found: Scores) -> Predictions:
    if batch is None:
        raise ProbabilityError("prob", "a probability, label or group is missing")
    label, *probs = batch[: 1 + len(found.probs)]
    label = label if label.dtype == np.uint8 else label.astype(np.int64)
    if len(probs) == 1:
        return Predictions(label, probs[0])
    return Predictions(label, np.column_stack(probs), sum_tolerance=found.tolerance)


def _coded(lenses: tuple[str, ...], classes: tuple[Any, ...]) -> tuple[str, ...]:
    places = {f"class:{name}": f"class:{place}" for place, name in enumerate(classes)}
    return tuple(places.get(lens, lens) for lens in lenses)


def _summed(opened: Source, found: Scores, kind: str, lenses: tuple[str, ...], scores: bool) -> Sketches:
    """Compute the sketches in SQL: a check for invalid rows, and one query per lens."""
    for lens in lenses:
        if lens.startswith("rank:"):
            raise ArgumentError("lenses", f"{lens!r} requires whole rows", Use("engine", "arrow"))
    bad = opened.connection.execute(f"SELECT count(*) FROM {found.columns()} WHERE {bad_rows(found)}").fetchone()[0]  # noqa: S608
    if bad:
        raise ProbabilityError("prob", f"{bad:,} rows have an invalid probability, label or group")
    sketches = Sketches(kind, found.classes, group_sketches(opened.connection, found, lenses, scores))
    sizes = {sketch.n for sketch in sketches.parts[ALL].lenses.values()}
    sizes |= set() if sketches.scores is None else {sketches.scores.rows}
    if len(sizes) > 1:
        raise ArgumentError(
            "where", "selects other rows each time it is evaluated", Use("engine", "arrow", "to evaluate it once")
        )
    return sketches


def _row_number(opened: Source) -> str:
    """The row number within the file as SQL; not available for a selection of rows or for several text files."""
    if opened.numbered:
        return ROW
    alone = opened.kind in PRINTED and len(opened.paths) == 1 and opened.where is None
    return "row_number() OVER () - 1" if alone else "NULL"


SKIP = Use("where", None, "to select the other rows")


def _located(opened: Source, found: Scores) -> CalibrantError | None:
    """The error for the first invalid row, with its location."""
    file = "''" if opened.kind == "duckdb" else quoted(FILE)
    table = found.columns(more=f"{file} AS place, {_row_number(opened)} AS number, {found.written} AS written, ")
    query = f"SELECT * FROM {table} WHERE {bad_rows(found)} LIMIT 1"  # noqa: S608 - quoted names
    opened.connection.execute("SET preserve_insertion_order = true")  # the first is the first in the file
    first = opened.connection.execute(query).fetchone()
    if first is None:
        return None
    place, number, written, label, *rest = first
    values = rest[: len(found.probs)]
    where: dict[str, Any] = {"row": number, "source": original_of(place) if place else ""}
    absent = [value is None or math.isnan(value) for value in values]
    no_group = found.group is not None and rest[-1] is None
    if any(absent) or written is None or no_group:
        return _missing_error(opened, found, where)
    for name, value in zip(found.probs, values, strict=True):
        if not 0 <= value <= 1:
            problem = f"probabilities must be in [0, 1]; got {value:g} in {name}"
            return ProbabilityError("prob", problem, SKIP, **where)
    if label is None or not 0 <= label < found.k:
        known = ", ".join(map(str, found.classes[:10]))
        problem = f"labels must be among the classes {known}; got {written[:40]!r}"
        return LabelError("label", problem, Use("classes"), **where)
    problem = f"each row must sum to 1; got a sum of {sum(values):g}"
    return ProbabilityError("prob", problem, "rescale the rows first", **where)


def _missing_error(opened: Source, found: Scores, where: dict[str, Any]) -> CalibrantError:
    """The error for all missing values, with the location of the first."""
    missing = _missing(opened, found)
    assert missing is not None
    group = "" if found.group is None else found.grouping or _bare(found.group)
    kinds: dict[str, Any] = {found.name: (LabelError, "label"), group: (GroupError, "by")}
    first = next(iter(missing.columns))
    kind, argument = kinds.get(first, (ProbabilityError, "prob"))
    count = sum(missing.columns.values())
    listed = ", ".join(f"{name} {number:,}" for name, number in list(missing.columns.items())[:8])
    problem = missing_values(count) + (f" ({listed})" if len(missing.columns) > 1 else f" in column {first!r}")
    made: CalibrantError = kind(argument, problem, DROP, count=count, **where)
    return made

"""Labels, probabilities and groups of rows as SQL expressions, their missing values, and the error for the first invalid row."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from ...errors import ArgumentError, CalibrantError, GroupError, LabelError, ProbabilityError
from ...input.convert import SUM_TOLERANCE, is_missing_text, missing_values, rounding_of
from ...input.expressions import lossless, quoted
from ...input.frames import as_booleans, class_names, opposite_of, positive_of
from ...input.grouping import Factor, parse_by
from ...input.missing import DROP, Dropped, all_missing
from .columns import WHOLE, Columns, check_class_order, find_columns
from .converting import original_of
from .reading import FILE, NO_VALUE, NUMBERS, Rows, text, text_value
from .sql import Group, Scores, bad_rows, label_code


def read_factors(rows: Rows, by: str | None) -> tuple[Factor, ...]:
    """What the groups are divided by; a sketch has one grouping, whose groups do not overlap."""
    if by is None:
        return ()
    groupings = parse_by(by, rows.names, "by")
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


def add_groups(rows: Rows, factors: tuple[Factor, ...]) -> tuple[Rows, Group | None]:
    """The rows with the values of expressions, and the group of each row; NULL where a value is missing."""
    if not factors:
        return rows, None
    if len(factors) == 1 and factors[0].kind == "column":
        column = factors[0].column
        return rows, Group(lossless(column, rows.types[column]), column)
    parts = []
    for place, factor in enumerate(factors):
        if factor.kind == "expression":
            name = f"group {place} that calibrant reads"
            rows = rows.add_column(name, factor.column, "VARCHAR", "by")
            value = quoted(name)
        else:
            value = lossless(factor.column, rows.types[factor.column])
            # As in `names_as_written`, two spellings of a whole number are one name.
            if rows.printed and rows.types[factor.column] == "VARCHAR":
                whole = f"regexp_replace({value}, {text(f'^{WHOLE}$')}, '\\1')"
                query = f"SELECT count(DISTINCT {whole}) < count(DISTINCT {value}) FROM {rows.sql}"  # noqa: S608 - quoted names
                (merges,) = rows.connection.execute(query).fetchall()[0]
                value = whole if merges else value
        parts.append(f"{text(f'{factor.name}: ')} || CAST({value} AS VARCHAR)")
    comma = text(", ")
    return rows, Group(f"({f' || {comma} || '.join(parts)})", " x ".join(factor.name for factor in factors))


def read_scores(
    rows: Rows,
    label: str | None,
    prob: str | Sequence[str] | None,
    by: str | None,
    group: Group | None,
    classes: Sequence[Any] | None,
    sampled: int | None,
) -> Scores:
    """Labels and probabilities as SQL expressions; the first labels of a text file, `sampled` of them or all, show what they are."""
    pattern = prob if prob is None or isinstance(prob, str) else ",".join(prob)
    label, names = find_columns(rows.names, Columns(label=label, prob=pattern, by=by), dashes="")
    column_classes = class_names(names, prob if isinstance(prob, str) else "") if len(names) > 1 else None
    if classes is not None and column_classes is not None:
        if len(names) == 2 and [str(name) for name in classes] == [str(name) for name in reversed(column_classes)]:
            names, column_classes = names[::-1], column_classes[::-1]
        check_class_order(classes, column_classes)
    probs, types = _probabilities(rows, names)
    k = max(2, len(probs))
    label_sql, label_type = _label(rows, label, sampled)
    if classes is None and len(probs) == 1 and label_type == "VARCHAR":
        classes = _two_classes(rows, label, sampled)
    labels = _class_labels(label_type, classes, column_classes, k)
    if len(labels) != k:
        raise ArgumentError("classes", f"has {len(labels)} names for {k} classes")
    rounding = SUM_TOLERANCE["float32" if "FLOAT" in types else "float64"]
    tolerance = 1e-3 * rounding_of(k) if rows.printed else rounding
    code = label_code(label_sql, label_type, labels)
    number = "FLOAT" if types == {"FLOAT"} else "DOUBLE"
    return Scores(rows.sql, code, probs, group, labels, tolerance, number, label, tuple(names))


def _label(rows: Rows, name: str, sampled: int | None) -> tuple[str, str]:
    """The label as SQL, and its type, which for text is that of its values."""
    column, type = quoted(name), rows.types[name]
    if type.endswith(("]", ")")) and not type.startswith(("DECIMAL", "ENUM")):
        raise LabelError("label", f"expected one value for each row, got a column of type {type}")
    if not re.fullmatch(rf"{NUMBERS}|VARCHAR|ENUM.*", type):
        raise LabelError("label", f"expected numbers, text or truth values, got a column of type {type}")
    of_values = rows.value_types([name], sampled).get(name) if rows.printed and type == "VARCHAR" else None
    if of_values == "BOOLEAN":
        return f"CASE lower({column}) WHEN 'true' THEN true WHEN 'false' THEN false END", "BOOLEAN"
    if of_values in ("BIGINT", "DOUBLE"):
        return text_value(name, "DOUBLE"), "DOUBLE"
    return column, type


def _two_classes(rows: Rows, label: str, sampled: int | None) -> list[str] | None:
    """The names of two classes, the positive one last, if the labels indicate it; otherwise None."""
    limit = "" if sampled is None else f"LIMIT {sampled}"
    some = f"SELECT {quoted(label)} AS label FROM {rows.sql} {limit}"  # noqa: S608 - quoted
    query = f"SELECT DISTINCT label FROM ({some}) WHERE label IS NOT NULL"  # noqa: S608 - quoted
    named_labels = f"{query} AND NOT {NO_VALUE.format('label')} LIMIT 3"
    labels = [row[0] for row in rows.connection.execute(named_labels).fetchall()]
    if len(labels) < 2:  # then such a text is the name of a class
        labels = [row[0] for row in rows.connection.execute(f"{query} LIMIT 3").fetchall()]
    if len(labels) == 1:  # the same names on a day without positives, so that days can be merged
        labels += filter(None, [opposite_of(labels[0])])
    place = positive_of(labels)
    return None if place is None else [labels[1 - place], labels[place]]


def _class_labels(
    label_type: str, classes: Sequence[Any] | None, column_classes: list[Any] | None, k: int
) -> tuple[Any, ...]:
    """The classes of the option, or those that the columns are named after; 0, 1, ... if the labels are of a type that cannot match those names."""
    is_text = label_type == "VARCHAR" or label_type.startswith("ENUM")
    names: list[Any] = (
        list(range(k)) if classes is None and column_classes is None else list(classes or column_classes or ())
    )
    if label_type == "BOOLEAN" and as_booleans(names) is not None:
        return tuple(names)  # which label_code reads as booleans
    if classes is None and not is_text and any(isinstance(name, str) for name in names):
        names = list(range(k))
    return tuple(str(name) for name in names) if is_text else tuple(names)


def _probabilities(rows: Rows, names: list[str]) -> tuple[tuple[str, ...], set[str]]:
    """The probabilities of a row as SQL, and the types of their columns; text that is not a number is NULL."""
    if len(names) == 1 and (rows.types[names[0]].endswith("]") or rows.begins_with_list(names[0])):
        return _entries(rows, names[0])
    types = set()
    for name in names:
        type = rows.types[name]
        if not re.fullmatch(rf"{NUMBERS}|VARCHAR", type) or type == "BOOLEAN":
            raise ProbabilityError("prob", f"expected numbers in {quoted(name)}, got type {type}")
        types.add("DOUBLE" if type == "VARCHAR" else type)
    return tuple(text_value(name, "DOUBLE") if rows.types[name] == "VARCHAR" else quoted(name) for name in names), types


def _entries(rows: Rows, name: str) -> tuple[tuple[str, ...], set[str]]:
    """The entries of a column of lists, which must have equal length, and their type."""
    type = re.sub(r"\[\d*\]$", "", rows.types[name])
    column = quoted(name)
    if type == "VARCHAR" and rows.types[name] == type:
        column, type = text_value(name, "DOUBLE[]"), "DOUBLE"
    if not re.fullmatch(NUMBERS, type):
        raise ProbabilityError("prob", f"expected numbers in {quoted(name)}, got type {rows.types[name]}")
    least, most = rows.connection.execute(f"SELECT min(len({column})), max(len({column})) FROM {rows.sql}").fetchone()  # noqa: S608
    if least is None:
        raise rows.no_rows()
    if least != most or least < 2:
        several = f"{least} to {most}" if least != most else least
        problem = f"the lists in {quoted(name)} have {several} entries"
        raise ProbabilityError("prob", problem, "give every row one entry per class")
    return tuple(f"({column})[{place + 1}]" for place in range(least)), {type}


def _is_absent(rows: Rows, scores: Scores) -> dict[str, str]:
    """The SQL condition for a missing value of each column."""
    printed = f"CAST({quoted(scores.name)} AS VARCHAR)"
    quoted_classes = ", ".join(text(str(name)) for name in scores.classes)
    conditions = {
        # A text such as NA is not missing if it is the name of a class.
        scores.name: f"coalesce({NO_VALUE.format(printed)} AND {printed} NOT IN ({quoted_classes}), true)"
    }
    for entry in scores.entries:
        column, number = quoted(entry.column), f"CAST({entry.sql} AS DOUBLE)"
        absent = f"coalesce(isnan({number}), true)"
        if rows.types[entry.column] == "VARCHAR":  # text that is neither a number nor missing is invalid
            none = f"{NO_VALUE.format(column)} OR lower(trim({column})) = 'none'"
            none += f" OR ({number} IS NULL AND contains(lower({column}), 'n'))" if entry.is_in_list else ""
            absent = f"coalesce({none} OR coalesce(isnan({number}), false), true)"
        condition = conditions.get(entry.column)
        conditions[entry.column] = absent if condition is None else f"{condition} OR {absent}"
    if scores.group is not None:
        conditions[scores.group.name] = f"{scores.group.sql} IS NULL"
    return conditions


def count_missing(rows: Rows, scores: Scores) -> Dropped | None:
    """The number of rows with missing values, of each column and in all; None if there are none. The rows are read once more."""
    absent = _is_absent(rows, scores)
    counts = ", ".join(f"count(*) FILTER ({condition})" for condition in absent.values())
    query = f"SELECT count(*), count(*) FILTER ({_any(absent)}), {counts} FROM {scores.table}"  # noqa: S608 - quoted names
    total, n, *each = rows.connection.execute(query).fetchone()
    return Dropped(total, n, {name: count for name, count in zip(absent, each, strict=True) if count}) if n else None


def _any(conditions: dict[str, str]) -> str:
    return " OR ".join(f"({condition})" for condition in conditions.values())


def drop_missing(rows: Rows, scores: Scores) -> tuple[Scores, Dropped | None]:
    """The rows without missing values, and how many were dropped; None if none were."""
    dropped = count_missing(rows, scores)
    if dropped is None:
        return scores, None
    if dropped.n == dropped.rows:
        raise all_missing(dropped, "prob")
    table = f"(SELECT * FROM {scores.table} WHERE NOT ({_any(_is_absent(rows, scores))}))"  # noqa: S608 - quoted names
    return scores._replace(table=table), dropped


SKIP = "pass where to select the other rows"


def locate_error(rows: Rows, scores: Scores) -> CalibrantError | None:
    """The error for the first invalid row, with its location."""
    file = "''" if rows.kind == "duckdb" else quoted(FILE)
    printed = [f"CAST({quoted(name)} AS VARCHAR)" for name in (scores.name, *scores.columns_read)]
    location = f"{file} AS file, {rows.row_number} AS number, [{', '.join(printed)}] AS written, "
    probs = ", ".join(f"p{place}" for place in range(len(scores.probs)))
    has_group = "true" if scores.group is None else '"group" IS NOT NULL'
    columns = f"file, number, written, label, [{probs}], {has_group}"
    query = f"SELECT {columns} FROM {scores.columns(more=location)} WHERE {bad_rows(scores)} LIMIT 1"  # noqa: S608 - quoted names
    rows.connection.execute("SET preserve_insertion_order = true")  # the first is the first in the file
    row = rows.connection.execute(query).fetchone()
    if row is None:
        return None
    file, number, (label_text, *texts), label, values, is_grouped = row
    where: dict[str, Any] = {"row": number, "source": original_of(file) if file else ""}
    text_of = dict(zip(scores.columns_read, texts, strict=True))
    for entry, value in zip(scores.entries, values, strict=True):
        written_as = text_of[entry.column] or ""
        is_text = value is None and rows.types[entry.column] == "VARCHAR" and not is_missing_text(written_as)
        if is_text and not (entry.is_in_list and "n" in written_as.lower()):  # a list may have a null
            problem = f"expected numbers in {quoted(entry.column)}, got the text {written_as[:40]!r}"
            return ProbabilityError("prob", problem, **where)
    if label_text is None or not is_grouped or any(value is None or math.isnan(value) for value in values):
        return _missing_error(rows, scores, where)
    for entry, value in zip(scores.entries, values, strict=True):
        if not 0 <= value <= 1:
            problem = f"probabilities must be in [0, 1]; got {value:g} in {quoted(entry.name)}"
            return ProbabilityError("prob", problem, SKIP, **where)
    if label is None or not 0 <= label < scores.k:
        is_name = label_text in map(str, scores.classes) or label_text.strip().lower() == "none"
        if is_missing_text(label_text) and not is_name:
            return _missing_error(rows, scores, where)
        classes_text = ", ".join(map(str, scores.classes[:10]))
        problem = f"labels must be among the classes {classes_text}; got {label_text[:40]!r}"
        return LabelError("label", problem, "pass classes", **where)
    problem = f"each row must sum to 1; got a sum of {sum(values):g}"
    return ProbabilityError("prob", problem, "rescale the rows first", **where)


def _missing_error(rows: Rows, scores: Scores, where: dict[str, Any]) -> CalibrantError:
    """The error for all missing values, with the location of the first."""
    missing = count_missing(rows, scores)
    assert missing is not None
    group = "" if scores.group is None else scores.group.name
    error_of: dict[str, Any] = {scores.name: (LabelError, "label"), group: (GroupError, "by")}
    first = next(iter(missing.columns))
    kind, argument = error_of.get(first, (ProbabilityError, "prob"))
    count = sum(missing.columns.values())
    counts = ", ".join(f"{name} {number:,}" for name, number in list(missing.columns.items())[:8])
    problem = missing_values(count) + (f" ({counts})" if len(missing.columns) > 1 else f" in column {first!r}")
    error: CalibrantError = kind(argument, problem, DROP, count=count, **where)
    return error

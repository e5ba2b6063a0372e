"""Predictions from files: CSV, TSV, Parquet, JSON lines, NPZ, DuckDB databases or standard input, through DuckDB."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ..errors import ArgumentError, InputError
from ..input.convert import match_columns
from ..input.expressions import check_expression, quoted
from ..input.frames import ColumnNames, as_booleans, class_names, opposite_of, positive_of
from ..input.grouping import Factor, GroupColumns, check_length, group_columns, parse_by, values_of_expressions
from ..input.missing import Dropped, all_missing, missing_error, missing_labels, missing_rows
from ..input.stated_confidence import are_percentages, read_confidences
from ..sketches.files.columns import (
    PROB_NAMES,
    Columns,
    find_columns,
    is_guessed,
    names_as_written,
    no_probabilities,
    score_options,
)
from ..sketches.files.reading import PRINTED, Rows
from ..util.files import read_arrays
from .language_models import check_not_log, open_source
from .places import remember_label, remember_read
from .rows import open_rows
from .screen import clean, say


def split(source: Mapping[str, Any]) -> tuple[Columns, dict[str, Any]]:
    """Split the options of a command into those for columns and the others."""
    names = Columns.__dataclass_fields__
    columns = {name: value for name, value in source.items() if name in names}
    return Columns(**columns), {name: value for name, value in source.items() if name not in names}


def load(file: str, columns: Columns, **options: Any) -> dict[str, Any]:
    """Arguments for `Predictions` from a file or a pattern of files; ``-`` is standard input, `options` as for `load_each`."""
    return load_each(file, [columns], **options)[0]


def load_each(
    file: str,
    several: list[Columns],
    where: str | None = None,
    format: str | None = None,
    table: str | None = None,
    *,
    drop_missing: bool = False,
    classes: str | None = None,
    pos_label: str | None = None,
    event: bool = False,
) -> list[dict[str, Any]]:
    """Arguments for `Predictions` for each choice of columns of the same rows; `event` as for `open_source`.

    Rows with missing values raise an error or, with `drop_missing`, are dropped for all choices; `classes` and `pos_label` are names
    of classes, which are not missing labels even if one is called NA.
    """
    with open_source(file, several, format, event) as (paths, several, kind):
        if kind == "npz" and where is not None:
            raise ArgumentError("--where", "does not apply to the arrays of an .npz file", "filter before saving")
        read = []
        for columns in several:
            if kind == "npz":
                remember_read(paths, kind, where)
                read.append(_from_npz(paths[0], columns))
            else:
                read.append(_from_table(paths, file, kind, columns, where, table))
    roles = [_roles(own, columns) for own, columns in zip(read, several, strict=True)]
    known = {name.strip() for name in [*(classes or "").split(","), pos_label or ""]}
    for columns, parts in zip(several, roles, strict=True):
        scores = [name for name, argument in parts.items() if argument == "y_prob"]
        known |= {str(name) for name in class_names(scores, columns.probs or columns.logits or "") or ()}
    together = {name: values for own in read for name, values in own.arrays.items()}
    used = {name: argument for parts in roles for name, argument in parts.items()}
    together, dropped = complete(together, used, drop=drop_missing, known=known)
    results = []
    for own, columns in zip(read, several, strict=True):
        arrays = {name: together[name] for name in own.arrays}
        for factor in (factor for each in own.by for factor in each):
            if factor.kind == "column" and kind in PRINTED:
                arrays[factor.column] = named_as_written(arrays[factor.column])
        keywords = _from_arrays(own._replace(arrays=arrays), columns)
        results.append(keywords if dropped is None else {**keywords, "missing": dropped})
    return results


Factors = tuple[tuple[Factor, ...], ...]


class _Read(NamedTuple):
    """What was read for one choice of columns."""

    arrays: dict[str, Any]
    """The columns that are used, and the values of groupings that are not columns; missing values are masked."""
    existing: list[str]
    """All columns of the file."""
    by: Factors
    """The groupings of ``--by``."""


def factor_key(factor: Factor) -> str:
    """The name of the array of a factor."""
    return factor.column if factor.kind == "column" else factor.name


def complete(
    arrays: dict[str, Any], roles: Mapping[str, str], *, drop: bool, known: Collection[str] = ()
) -> tuple[dict[str, Any], Dropped | None]:
    """Arrays without the rows in which one of them is missing, and what was dropped; without `drop`, an error that counts them.

    `roles` are the arguments that the arrays are read for, and `known` the names of classes.
    """
    import numpy as np

    missing: dict[str, tuple[str, Any]] = {}
    for name, argument in roles.items():
        mask = missing_rows(arrays[name], texts=argument not in ("y_true", "groups", "by"))
        if argument == "y_true":
            absent = missing_labels(arrays[name], mask, known)
            # Without the option, a text such as NA may be a class, unless the other labels are numbers or yes and no.
            mask = absent if drop or _plain_labels(arrays[name][~absent]) else mask
        if mask.any():
            missing[name] = (argument, mask)
    masks = [mask for _, mask in missing.values()]
    if len({len(mask) for mask in masks}) != 1:  # none, or arrays of different lengths, which are compared later
        return arrays, None
    if not drop:
        raise missing_error(missing)
    dropped = Dropped.of({name: mask for name, (_, mask) in missing.items()}, applied=True)
    if dropped.n == dropped.rows:
        raise all_missing(dropped, next(iter(missing.values()))[0])
    kept = {name: values[dropped.kept] if len(values) == dropped.rows else values for name, values in arrays.items()}
    for name, (argument, _) in missing.items():
        read_as: Any = {"groups": np.asarray, "by": np.asarray, "y_true": named_as_written}.get(
            argument, numbers_of_text
        )
        kept[name] = read_as(np.ma.getdata(kept[name]))
    return kept, dropped


def _plain_labels(labels: Any) -> bool:
    """Whether labels are numbers or words for true and false, as text."""
    seen = _distinct_texts(labels)
    return bool(seen) and (as_booleans(seen) is not None or not any(map(_is_text, names_as_written(seen).values())))


def _is_text(name: Any) -> bool:
    return isinstance(name, str)


def _roles(read: _Read, columns: Columns) -> dict[str, str]:
    """The arguments that the columns are read for."""
    logits = npz_logits(read.arrays, columns)
    label, *others = _wanted(read.existing, replace(columns, logits="logits") if logits else columns)
    special = {columns.weight: "sample_weight", columns.counts: "counts"}
    own = {label: "y_true"} | {name: special.get(name, "y_prob") for name in others}
    return own | {factor_key(factor): "groups" for each in read.by for factor in each if factor_key(factor) not in own}


def _from_npz(path: str, columns: Columns) -> _Read:
    arrays = read_arrays(path, (columns.label, columns.weight, columns.counts, columns.by))
    existing = list(arrays)
    if len(arrays) == 1 and path.lower().endswith(".npy"):
        raise ArgumentError(
            "--label", f"{path} holds one array, without labels", "name their file, as --label labels.npy"
        )
    groups = group_columns(columns.by, existing, arrays.__getitem__, "--by") if columns.by else None
    values = {} if groups is None else {factor_key(factor): array for factor, array in groups.values.items()}
    return _Read(arrays | values, existing, () if groups is None else groups.factors)


def _from_table(
    paths: list[str], shown: str, kind: str, columns: Columns, where: str | None, table: str | None
) -> _Read:
    with open_rows(paths, shown, kind, where=where, table=table) as rows:
        check_not_log(rows.names, columns)
        rows = with_expressions(rows, columns)
        by = parse_by(columns.by, rows.names, "--by") if columns.by else ()
        named = list(dict.fromkeys(factor.column for each in by for factor in each if factor.kind == "column"))
        wanted = dict.fromkeys(_wanted(rows.names, columns))
        label = next(iter(wanted))
        arrays = rows.fetch([name for name in wanted if name not in named], named)
        groups = typed_groups(by, rows)
    if len(arrays[label]) == 0:
        raise rows.no_rows()
    for factor, values in groups.items():
        check_length(factor, len(values), len(arrays[label]), "--by")
    return _Read(arrays | {factor_key(factor): values for factor, values in groups.items()}, rows.names, by)


def typed_groups(by: Factors, rows: Rows) -> dict[Factor, Any]:
    """The values of expressions, and of columns with quantile groups, by their types; the rows have the order of other queries."""
    factors = list(dict.fromkeys(factor for each in by for factor in each if factor.kind != "column"))
    if not factors:
        return {}
    used = [name for factor in factors for name in expression_columns(rows, factor)]
    return values_of_expressions(rows.connection, rows.typed_table(used)[0], factors, rows.names, "--by")


def expression_columns(rows: Rows, factor: Factor) -> list[str]:
    """The columns that the values of a factor are computed from."""
    return check_expression(rows.connection, factor.column, "--by") if factor.kind == "expression" else [factor.column]


def _wanted(existing: list[str], columns: Columns) -> list[str]:
    label, scores = find_columns(existing, columns)
    extra = [name for name in (columns.weight, columns.counts) if name]
    for option, name in (("--weight", columns.weight), ("--counts", columns.counts)):
        if name:
            match_columns(existing, [name], option)
    return [label, *scores, *extra]


def _from_arrays(read: _Read, columns: Columns) -> dict[str, Any]:
    """Arguments for `Predictions` from the arrays of one choice of columns."""
    arrays, by = read.arrays, read.by
    chosen = replace(columns, logits="logits") if npz_logits(arrays, columns) else columns
    label, names = find_columns(read.existing, chosen)
    remember_label(label.removesuffix(".npy"))
    # A space or a plus sign makes a column of numbers one of text.
    scores = stack_columns([arrays[name] if columns.confidence else numbers_of_text(arrays[name]) for name in names])
    if is_guessed(columns, names) and are_classes(scores):
        raise no_probabilities(names[0])
    keywords: dict[str, Any] = {"y_true": arrays[label], "y_prob": scores}
    if columns.logits or names == ["logits"]:
        keywords["input"] = "logit"
    if columns.confidence:
        keywords["input"] = "confidence"
    keywords["y_prob"] = scores = (
        _confidences(scores, "--confidence-column") if columns.confidence and scores.ndim == 1 else percentages(scores)
    )
    several = scores.ndim == 2 and len(names) > 1
    of_columns = class_names(names, columns.probs or columns.logits or "") if several else None
    if several or (scores.ndim == 1 and not columns.confidence):
        keywords["y_true"], classes = label_classes(arrays[label], of_columns)
        if classes is not None and (keywords["y_true"].dtype.kind in "OU" or all(isinstance(n, int) for n in classes)):
            keywords["classes"] = classes
            # A list of columns is in the intended order.
            if several and "," not in (columns.probs or columns.logits or ""):
                keywords["classes"] = ColumnNames(classes)
                if len(classes) == 2:
                    keywords["by_place"] = True
    elif columns.confidence:
        keywords["y_true"] = _truth_values(arrays[label])
    for keyword, option, name in (
        ("sample_weight", "--weight", columns.weight),
        ("counts", "--counts", columns.counts),
    ):
        if name:
            keywords[keyword] = numbers_of_text(arrays[match_columns(list(arrays), [name], option)[0]])
    if by:
        keywords["groups"] = GroupColumns(by, {factor: arrays[factor_key(factor)] for each in by for factor in each})
    return keywords


def are_classes(scores: Any) -> bool:
    """Whether scores are text, truth values, or 0 and 1 only."""
    import numpy as np

    values = np.ma.compressed(np.ma.masked_array(numbers_of_text(scores)))
    return bool(values.dtype.kind not in "iuf" or np.isin(values, (0, 1)).all())


def percentages(scores: Any) -> Any:
    """Scores as probabilities if all are percentages or fractions, such as "85%"; others are unchanged."""
    return _confidences(scores, "--prob") if are_percentages(_distinct_texts(scores)) else scores


def _confidences(values: Any, option: str) -> Any:
    """Stated confidences as probabilities; a note states how they were read. Probabilities are unchanged."""
    import numpy as np

    if values.dtype.kind == "f" and not (np.ma.filled(values, 0) > 1).any():
        return values
    try:
        probs, note = read_confidences(values, argument=option)
    except InputError as error:
        if "scale is ambiguous" in str(error.problem):
            column = f"{option} 'COLUMN / 100'"
            raise error.replaced(remedy=f"divide them, for example with {column}") from None
        raise
    if note:
        say(clean(f"note: confidences were read as {note}"), err=True)
    return probs


def numbers_of_text(values: Any) -> Any:
    """Convert numbers stored as text; return other values unchanged."""
    import numpy as np

    if not _distinct_texts(values):
        return values
    try:
        numbers = np.asarray(values).astype(np.float64)
    except ValueError:
        return values
    return numbers.astype(np.int64) if (numbers == np.floor(numbers)).all() and np.isfinite(numbers).all() else numbers


def label_classes(labels: Any, of_columns: list[Any] | None) -> tuple[Any, list[Any] | None]:
    """Labels, and the classes in the order of the columns, the positive one of two last; None if they have no names.

    Words for true and false are matched between labels and column names; the spelling of the labels is kept.
    """
    import numpy as np

    if labels.dtype.kind == "b" and of_columns is not None and any(isinstance(name, str) for name in of_columns):
        return labels, as_booleans(of_columns)
    seen = _distinct_texts(labels)
    if not seen or (of_columns is not None and set(seen) <= set(of_columns)):
        return labels, of_columns
    truth = as_booleans(seen)
    if truth is None:
        place = positive_of(seen) if of_columns is None else None
        return labels, of_columns if place is None else [seen[1 - place], seen[place]]
    turned = [False, True] if of_columns is None else as_booleans(of_columns)
    numbered = of_columns is not None and all(isinstance(name, int) for name in of_columns)
    if numbered or len(set(truth)) < len(seen):  # the columns have other names, or the labels several spellings
        meant = dict(zip(seen, truth, strict=True))
        return np.array([meant[label] for label in labels]), of_columns if numbered else turned
    spelled = dict(zip(truth, seen, strict=True))
    names = of_columns or [opposite_of(seen[0]) or f"not {seen[0]}"] * 2
    return labels, of_columns if turned is None else [
        spelled.get(v, str(n)) for v, n in zip(turned, names, strict=True)
    ]


def _distinct_texts(labels: Any) -> list[str]:
    """The distinct labels if all are text; otherwise an empty list."""
    import numpy as np

    if labels.dtype.kind not in "OU" or labels.ndim != 1 or np.ma.is_masked(labels):
        return []
    labels = np.asarray(labels)  # .flat of a masked array without masked entries fails for text
    if len(labels) and isinstance(labels.flat[0], (list, np.ndarray)):  # a column of lists
        return []
    seen = set(labels.tolist())
    return sorted(seen) if all(isinstance(label, str) for label in seen) else []


def _truth_values(labels: Any) -> Any:
    """Convert words for correct and incorrect to Booleans; return other labels unchanged."""
    import numpy as np

    truth = {seen: value for seen in _distinct_texts(labels) for value in as_booleans([seen]) or ()}
    truth |= {seen: seen.lower() == "right" for seen in _distinct_texts(labels) if seen.lower() in ("right", "wrong")}
    known = truth and len(truth) == len(_distinct_texts(labels))
    return np.array([truth[label] for label in labels]) if known else labels


def named_as_written(values: Any) -> Any:
    """Groups by their text in the file, converted to numbers where that is lossless, so that they sort numerically."""
    import numpy as np

    if not _distinct_texts(values):
        return values
    names = names_as_written(_distinct_texts(values))
    return np.array([names[value] for value in values], dtype=None if _are_numbers(names.values()) else object)


def _are_numbers(names: Any) -> bool:
    return not any(isinstance(name, str) for name in names)


def npz_logits(arrays: dict[str, Any], columns: Columns) -> bool:
    """Whether the scores of an archive are its logits: no option names others, and there are no probabilities."""
    return (
        not any(name for _, name in score_options(columns))
        and "logits" in arrays
        and not any(n in arrays for n in PROB_NAMES)
    )


def stack_columns(parts: list[Any]) -> Any:
    """Columns as one array."""
    import numpy as np

    if len(parts) == 1:
        return parts[0]
    if any(np.ma.is_masked(part) for part in parts):
        return np.ma.column_stack(parts)
    return np.column_stack([np.asarray(part) for part in parts])


def is_expression(text: str | None) -> bool:
    """Whether a text that is not the name of a column may be an expression."""
    return text is not None and re.search(r"[=<>/(]", text) is not None


def with_expressions(rows: Rows, columns: Columns) -> Rows:
    """The rows with a further column for each option that is an expression instead of the name of a column."""
    options = (("--label", columns.label), ("--prob", columns.prob), ("--confidence-column", columns.confidence))
    for option, text in options:
        if text is not None and text not in rows.names and is_expression(text):
            type = "BOOLEAN" if option == "--label" else "DOUBLE"
            equality = _equality(text, rows.names)
            rows = rows.add_column(text, equality or text, type, option, of_texts=equality is not None)
    return rows


def _equality(text: str, names: list[str]) -> str | None:
    """Whether two columns are equal as numbers, or else as texts without surrounding space; None for other expressions."""
    known = {name.lower(): name for name in names} | {name: name for name in names}  # SQL ignores case, too
    sides = [side.strip().strip('"') for side in re.split(r"==?", text)]
    sides = [known.get(side, known.get(side.lower(), "")) for side in sides]
    if len(sides) != 2 or not all(sides):
        return None
    one, other = map(quoted, sides)
    numbers = f"TRY_CAST({one} AS DOUBLE) = TRY_CAST({other} AS DOUBLE)"
    # Doubles do not distinguish integers of more than 15 digits.
    integers = f"TRY_CAST({one} AS HUGEINT) = TRY_CAST({other} AS HUGEINT)"
    numbers = f"CASE WHEN abs(TRY_CAST({one} AS DOUBLE)) < 1e15 THEN {numbers} ELSE coalesce({integers}, {numbers}) END"
    return f"coalesce({numbers}, trim(CAST({one} AS VARCHAR)) = trim(CAST({other} AS VARCHAR)))"

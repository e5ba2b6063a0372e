"""Predictions from files of any format or standard input, through DuckDB."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..input.convert import match_columns
from ..input.expressions import check_expression, quoted
from ..input.frames import PROB_PREFIXES, ColumnNames, as_booleans, class_names, opposite_of, positive_of
from ..input.grouping import Factor, GroupColumns, check_length, parse_by, values_of_expressions
from ..input.missing import Dropped, drop_rows, missing_error, missing_labels, missing_rows
from ..input.predictions import Predictions
from ..input.stated_confidence import are_percentages, read_confidences
from ..sketches.files.columns import (
    PROB_NAMES,
    Columns,
    check_class_order,
    find_columns,
    names_as_written,
    score_options,
)
from ..sketches.files.reading import PRINTED, Rows
from .language_models import open_source
from .rows import open_rows, read_features
from .screen import note_positive


@dataclass(frozen=True)
class Source:
    """A file, a pattern of files or ``-`` for standard input, and the options of a command that say how it is read."""

    file: str
    columns: Columns = field(default_factory=Columns)
    where: str | None = None
    format: str | None = None
    table: str | None = None
    classes: str | None = None
    pos_label: str | None = None
    normalize: bool = False
    clip: bool = False
    drop_missing: bool = False
    event: bool = True
    """Whether the command has no confidences, as for `open_source`."""

    @classmethod
    def take(cls, file: str, options: dict[str, Any]) -> Source:
        """Take the options of a source from those of a command."""
        event = "confidence" not in options
        columns = {name: options.pop(name) for name in Columns.__dataclass_fields__ if name in options}
        settings = {name: options.pop(name) for name in cls.__dataclass_fields__ if name in options}
        return cls(file, Columns(**columns), event=event, **settings)

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given, by parameter."""
        settings = {
            name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("file", "columns", "event")
        }
        return {name: value for name, value in {**vars(self.columns), **settings}.items() if value}

    def read(self) -> Predictions:
        """The predictions in the file."""
        return self.read_each([self.columns])[0]

    def read_each(self, choices: list[Columns]) -> list[Predictions]:
        """The predictions of each choice of columns of the same rows, with the classes in the order of the first."""
        arguments = _load(self, choices)
        _order_classes(arguments, is_named=self.classes is not None)
        results = []
        for index, keywords in enumerate(arguments):
            by_place, label = keywords.pop("by_place"), keywords.pop("label_name")
            if by_place and not index and self.classes is None and self.pos_label is None:
                note_positive(keywords["classes"])
            keywords |= {"normalize": self.normalize, "clip": self.clip}
            predictions = Predictions(**named_classes(keywords, self.classes, self.pos_label))
            predictions.label_name = label
            results.append(predictions)
        return results

    def read_features(self, names: str, data: Predictions) -> dict[str, Any]:
        """Columns of features of the rows of predictions from this source; missing values are masked."""
        if self.file == "-":
            raise ArgumentError(
                "--features", "requires a file; standard input is read once", "write it to a file first"
            )
        with (
            open_source(self.file, [self.columns], self.format, self.event) as (paths, _, kind),
            open_rows(paths, self.file, kind, where=self.where, table=self.table) as rows,
        ):
            columns = match_columns(rows.names, [name.strip() for name in names.split(",")], "--features")
            arrays = read_features(rows, list(dict.fromkeys(columns)))
        rows_kept = slice(None) if data.dropped is None else data.dropped.kept
        return {name: values[rows_kept] for name, values in arrays.items()}


def _load(source: Source, choices: list[Columns]) -> list[dict[str, Any]]:
    """Arguments for `Predictions` for each choice of columns.

    Rows with missing values raise an error or, with ``--drop-missing``, are dropped for all choices; names of classes are not missing
    labels even if one is called NA.
    """
    with open_source(source.file, choices, source.format, source.event) as (paths, choices, kind):
        reads = [
            read_columns(replace(source, columns=columns), paths, kind, partial(_wanted_columns, columns))
            for columns in choices
        ]
    roles: list[dict[str, str]] = []  # the arguments that columns are read for
    for read, columns in zip(reads, choices, strict=True):
        label, *others = _wanted_columns(columns, read.existing)
        special = {columns.weight: "sample_weight", columns.counts: "counts"}
        arguments = {label: "y_true"} | {name: special.get(name, "y_prob") for name in others}
        factors = [factor_key(factor) for each in read.by for factor in each]
        roles.append(arguments | {factor: "groups" for factor in factors if factor not in arguments})
    class_texts = {name.strip() for name in [*(source.classes or "").split(","), source.pos_label or ""]}
    for columns, arguments in zip(choices, roles, strict=True):
        scores = [name for name, argument in arguments.items() if argument == "y_prob"]
        class_texts |= {str(name) for name in class_names(scores, columns.probs or columns.logits or "") or ()}
    arrays_of_all = {name: values for read in reads for name, values in read.arrays.items()}
    role_of = {name: argument for arguments in roles for name, argument in arguments.items()}
    arrays_of_all, dropped = complete(arrays_of_all, role_of, drop=source.drop_missing, known=class_texts)
    results = []
    for read, columns in zip(reads, choices, strict=True):
        arrays = {name: arrays_of_all[name] for name in read.arrays}
        if kind in PRINTED:
            name_groups(arrays, read.by)
        keywords = _from_arrays(read._replace(arrays=arrays), columns)
        results.append(keywords if dropped is None else {**keywords, "missing": dropped})
    return results


Factors = tuple[tuple[Factor, ...], ...]


def name_groups(arrays: dict[str, Any], by: Factors) -> None:
    """Replace columns of groups in a text file by their names as they are written."""
    for factor in (factor for each in by for factor in each):
        if factor.kind == "column":
            arrays[factor.column] = named_as_written(arrays[factor.column])


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
    missing: dict[str, tuple[str, Any]] = {}
    for name, argument in roles.items():
        mask = missing_rows(arrays[name], texts=argument not in ("y_true", "groups", "by"))
        if argument == "y_true":
            is_missing = missing_labels(arrays[name], mask, known)
            texts = _distinct_texts(arrays[name][~is_missing])
            has_values = texts and (as_booleans(texts) is not None or _are_numbers(names_as_written(texts).values()))
            # Without the option, a text such as NA may be a class, unless the other labels are numbers or yes and no.
            mask = is_missing if drop or has_values else mask
        if mask.any():
            missing[name] = (argument, mask)
    masks = [mask for _, mask in missing.values()]
    if len({len(mask) for mask in masks}) != 1:  # none, or arrays of different lengths, which are compared later
        return arrays, None
    if not drop:
        raise missing_error(missing)
    dropped = drop_rows(missing, applied=True)
    complete_rows = {
        name: values[dropped.kept] if len(values) == dropped.rows else values for name, values in arrays.items()
    }
    for name, (argument, _) in missing.items():
        read_as: Any = {"groups": np.asarray, "by": np.asarray, "y_true": named_as_written}.get(
            argument, numbers_of_text
        )
        complete_rows[name] = read_as(np.ma.getdata(complete_rows[name]))
    return complete_rows, dropped


def read_columns(source: Source, paths: list[str], kind: str, choose: Callable[[list[str]], list[str]]) -> _Read:
    """The columns that `choose` takes from those that exist, and the groups of ``--by``."""
    columns = source.columns
    with open_rows(paths, source.file, kind, where=source.where, table=source.table) as rows:
        rows = with_expressions(rows, columns)
        by = parse_by(columns.by, rows.names, "--by") if columns.by else ()
        group_columns = list(dict.fromkeys(factor.column for each in by for factor in each if factor.kind == "column"))
        columns_read = dict.fromkeys(choose(rows.names))
        label = next(iter(columns_read))
        arrays = rows.fetch([name for name in columns_read if name not in group_columns], group_columns)
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
    columns = [factor.column for factor in factors if factor.kind != "expression"]
    for factor in factors:
        if factor.kind == "expression":
            columns += check_expression(rows.connection, factor.column, "--by")
    return values_of_expressions(rows.connection, rows.typed_table(columns)[0], factors, rows.names, "--by")


def _wanted_columns(columns: Columns, existing: list[str]) -> list[str]:
    label, scores = find_columns(existing, with_logits(columns, existing))
    extra = [name for name in (columns.weight, columns.counts) if name]
    for option, name in (("--weight", columns.weight), ("--counts", columns.counts)):
        if name:
            match_columns(existing, [name], option)
    return [label, *scores, *extra]


def _from_arrays(read: _Read, columns: Columns) -> dict[str, Any]:
    """Arguments for `Predictions` from the arrays of one choice of columns."""
    arrays, by = read.arrays, read.by
    columns = with_logits(columns, read.existing)
    label, names = find_columns(read.existing, columns)
    # A space or a plus sign makes a column of numbers one of text.
    scores = stack_columns([arrays[name] if columns.confidence else numbers_of_text(arrays[name]) for name in names])
    keywords: dict[str, Any] = {"y_true": arrays[label], "y_prob": scores, "by_place": False}
    keywords["label_name"] = label
    if columns.logits:
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
                keywords["by_place"] = len(classes) == 2
    elif columns.confidence:
        # Words for correct and incorrect.
        texts = _distinct_texts(arrays[label])
        truth = {text: value for text in texts for value in as_booleans([text]) or ()}
        truth |= {text: text.lower() == "right" for text in texts if text.lower() in ("right", "wrong")}
        if truth and len(truth) == len(texts):
            keywords["y_true"] = np.array([truth[value] for value in arrays[label]])
    for keyword, option, name in (
        ("sample_weight", "--weight", columns.weight),
        ("counts", "--counts", columns.counts),
    ):
        if name:
            keywords[keyword] = numbers_of_text(arrays[match_columns(list(arrays), [name], option)[0]])
    if by:
        keywords["groups"] = GroupColumns(by, {factor: arrays[factor_key(factor)] for each in by for factor in each})
    return keywords


def named_classes(keywords: dict[str, Any], classes: str | None, pos_label: str | None) -> dict[str, Any]:
    """Apply ``--classes`` and ``--pos-label`` to what was read from a file; of two columns, that of the positive class is last."""
    several = getattr(keywords["y_prob"], "ndim", 2) == 2
    file_classes = list(keywords.get("classes", ())) if several else []
    if classes is not None:
        names = like_labels([name.strip() for name in classes.split(",")], keywords["y_true"])
        if len(file_classes) == 2 and [str(name) for name in names] == [str(name) for name in reversed(file_classes)]:
            keywords["y_prob"] = keywords["y_prob"][:, ::-1]
            file_classes = names
        check_class_order(names, file_classes, "--classes")
        keywords["classes"] = file_classes = names
    if pos_label is not None:
        positive = like_labels([pos_label], keywords["y_true"])[0]
        if len(file_classes) != 2:
            return {**keywords, "pos_label": positive}
        if positive not in file_classes:
            raise ArgumentError(
                "--pos-label", f"must be one of the classes {file_classes[0]}, {file_classes[1]}; got {positive!r}"
            )
        if positive == file_classes[0]:
            keywords |= {"y_prob": keywords["y_prob"][:, ::-1], "classes": file_classes[::-1]}
    return keywords


def _order_classes(arguments: list[dict[str, Any]], *, is_named: bool) -> None:
    """Bring the columns of all models into the order of the classes of the first; `is_named` if an option names the classes."""
    first = arguments[0].get("classes")
    for model in arguments[1:]:
        own_classes = model.get("classes")
        if own_classes == first:
            continue
        if own_classes is not None and first is not None and set(own_classes) == set(first):
            model |= {"y_prob": model["y_prob"][:, [own_classes.index(name) for name in first]], "classes": first}
        elif not is_named:
            raise ArgumentError(
                "--models", f"the models have different classes: {first} and {own_classes}", "use --classes"
            )


def like_labels(names: list[str], labels: Any) -> list[Any]:
    """Names from the command line or from columns, converted to numbers or Booleans if the labels are."""
    if labels.dtype.kind == "b":
        return as_booleans(names) or list(names)
    if labels.dtype.kind not in "iuf":
        return list(names)
    try:
        return [int(name) if float(name).is_integer() else float(name) for name in names]
    except ValueError:
        return list(names)


def percentages(scores: Any) -> Any:
    """Scores as probabilities if all are percentages or fractions, such as "85%"; others are unchanged."""
    return _confidences(scores, "--prob") if are_percentages(_distinct_texts(scores)) else scores


def _confidences(values: Any, option: str) -> Any:
    """Stated confidences as probabilities; numbers of other forms, and missing values, are left to the checks of all scores."""
    if values.dtype.kind == "f" and not (np.ma.filled(values, 0) > 1).any():
        return values
    return read_confidences(
        values, option, f"divide them, for example with {option} 'COLUMN / 100', or drop these rows"
    )


def numbers_of_text(values: Any) -> Any:
    """Convert numbers stored as text; return other values unchanged."""
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
    if labels.dtype.kind == "b" and of_columns is not None and any(isinstance(name, str) for name in of_columns):
        return labels, as_booleans(of_columns)
    texts = _distinct_texts(labels)
    if not texts or (of_columns is not None and set(texts) <= set(of_columns)):
        return labels, of_columns
    truth = as_booleans(texts)
    if truth is None:
        positive = positive_of(texts) if of_columns is None else None
        return labels, of_columns if positive is None else [texts[1 - positive], texts[positive]]
    column_truth = [False, True] if of_columns is None else as_booleans(of_columns)
    numbered = of_columns is not None and all(isinstance(name, int) for name in of_columns)
    several = len(set(truth)) < len(texts)
    if several and not {name.lower() for name in texts} <= {"true", "false"}:  # such as 0, 1 and true
        return labels, of_columns
    if numbered or several:  # the columns have other names, or the labels differ in capitals
        truth_of = dict(zip(texts, truth, strict=True))
        return np.array([truth_of[label] for label in labels]), of_columns if numbered else column_truth
    text_of = dict(zip(truth, texts, strict=True))
    names = of_columns or [opposite_of(texts[0]) or f"not {texts[0]}"] * 2
    return labels, of_columns if column_truth is None else [
        text_of.get(v, str(n)) for v, n in zip(column_truth, names, strict=True)
    ]


def _distinct_texts(labels: Any) -> list[str]:
    """The distinct labels if all are text; otherwise an empty list."""
    if labels.dtype.kind not in "OU" or labels.ndim != 1 or np.ma.is_masked(labels):
        return []
    labels = np.asarray(labels)  # .flat of a masked array without masked entries fails for text
    if len(labels) and isinstance(labels.flat[0], (list, np.ndarray)):  # a column of lists
        return []
    distinct = set(labels.tolist())
    return sorted(distinct) if all(isinstance(label, str) for label in distinct) else []


def named_as_written(values: Any) -> Any:
    """Groups by their text in the file, converted to numbers where that is lossless, so that they sort numerically."""
    if not _distinct_texts(values):
        return values
    names = names_as_written(_distinct_texts(values))
    return np.array([names[value] for value in values], dtype=None if _are_numbers(names.values()) else object)


def _are_numbers(names: Any) -> bool:
    return not any(isinstance(name, str) for name in names)


def with_logits(columns: Columns, existing: Sequence[str]) -> Columns:
    """The scores are a column called logits where no option names others and there are no probabilities."""
    is_named = any(name for _, name in score_options(columns))
    has_probs = any(name.lower() in PROB_NAMES or name.lower().startswith(PROB_PREFIXES[:-1]) for name in existing)
    return columns if is_named or has_probs or "logits" not in existing else replace(columns, logits="logits")


def stack_columns(columns: list[Any]) -> Any:
    """Columns as one array."""
    if len(columns) == 1:
        return columns[0]
    if any(np.ma.is_masked(column) for column in columns):
        return np.ma.column_stack(columns)
    return np.column_stack([np.asarray(column) for column in columns])


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
    column_of = {name.lower(): name for name in names} | {name: name for name in names}  # SQL ignores case, too
    operands = [operand.strip().strip('"') for operand in re.split(r"==?", text)]
    operands = [column_of.get(operand, column_of.get(operand.lower(), "")) for operand in operands]
    if len(operands) != 2 or not all(operands):
        return None
    left, right = map(quoted, operands)
    numbers = f"TRY_CAST({left} AS DOUBLE) = TRY_CAST({right} AS DOUBLE)"
    # Doubles do not distinguish integers of more than 15 digits.
    integers = f"TRY_CAST({left} AS HUGEINT) = TRY_CAST({right} AS HUGEINT)"
    numbers = (
        f"CASE WHEN abs(TRY_CAST({left} AS DOUBLE)) < 1e15 THEN {numbers} ELSE coalesce({integers}, {numbers}) END"
    )
    return f"coalesce({numbers}, trim(CAST({left} AS VARCHAR)) = trim(CAST({right} AS VARCHAR)))"

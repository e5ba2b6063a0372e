"""Columns of a table by given or usual names, and the SQL expressions that read them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import ArgumentError, ColumnError
from ...input.convert import match_columns
from ...input.frames import CALIBRATED, PROB_PREFIXES, as_booleans, positive_last
from ...input.grouping import plain_columns

LABEL_NAMES = (
    *("label", "labels", "y_true", "y", "target", "targets", "truth", "ground_truth", "true_label", "true_class"),
    *("class", "outcome", "actual", "y_actual", "y_test", "observed"),
)
PROB_NAMES = (
    *("prob", "probs", "probability", "probabilities", "y_prob", "y_probs", "y_proba", "y_score", "y_scores"),
    *("y_pred_prob", "y_pred_proba", "y_hat_prob", "score", "scores", "p", "p_hat", "phat", "proba", "pred_prob"),
    *("pred_proba", "predict_proba", "predicted_prob", "predicted_proba", "predicted_probability", "predicted_risk"),
    *("risk", "p_1", "prob_1"),
)


@dataclass(frozen=True)
class Columns:
    """Names of the columns; None for those to be recognized by their usual names."""

    label: str | None = None
    prob: str | None = None
    probs: str | None = None
    logits: str | None = None
    confidence: str | None = None
    weight: str | None = None
    counts: str | None = None
    by: str | None = None


# An integer, which programs write as 7 or, next to fractions and missing values, as 7.0.
# In the syntax of Python and of DuckDB.
WHOLE = r"\s*([+-]?\d+)(?:\.0*)?\s*"
# From this on, floats do not distinguish neighbouring integers.
EXACT = 2.0**53


def names_as_written(texts: Iterable[str]) -> dict[str, Any]:
    """The name of each text of a column: a number if the text is just its printed form, else the text itself.

    Two spellings of one whole number are one name.

    >>> names_as_written(["10", "9"]), names_as_written(["07", "9"]), names_as_written(["1.10", "x"]), names_as_written(["1", "1.0"])
    ({'10': 10, '9': 9}, {'07': '07', '9': '9'}, {'1.10': '1.10', 'x': 'x'}, {'1': 1, '1.0': 1})
    """
    names = {text: text for text in texts}
    shorter = {text: number_match[1] if (number_match := re.fullmatch(WHOLE, text)) else text for text in names}
    if len(set(shorter.values())) < len(names):
        names = shorter
    for number in (int, float):
        if all(_is_spelled(number, name) for name in names.values()):
            return {text: number(name) for text, name in names.items()}
    return dict(names)


def _is_spelled(number: type[int] | type[float], text: str) -> bool:
    """Whether a text is the printed form of a number."""
    try:
        value = number(text)
    except ValueError:
        return False
    return str(value) == text and (-(2**63) <= value < 2**63 if number is int else math.isfinite(value))


def find_columns(
    existing: list[str], columns: Columns, dashes: str = "--", *, labelled: bool = True
) -> tuple[str, list[str]]:
    """The label column and the score columns, by given or usual names; `dashes` precede the names of options in messages.

    Of two score columns whose names tell it, as p_yes and p_no do, that of the positive class comes last. Without `labelled` there need
    not be a label, whose name is then empty.
    """
    label = match_columns(existing, [columns.label], f"{dashes}label")[0] if columns.label else None
    stated = [(option, name) for option, name in score_options(columns, dashes) if name]
    if len(stated) > 1:
        raise ArgumentError(stated[1][0], f"cannot be combined with {stated[0][0]}", "give one of them")
    if label is None:
        candidates = usual_labels(existing, columns)
        if len(candidates) > 1 and labelled:
            problem = f"could be any of the columns {', '.join(candidates)}"
            option = f"--label {candidates[0]}" if dashes else f"label={candidates[0]!r}"
            raise ColumnError(f"{dashes}label", problem, f"use {option} or another")
        label = candidates[0] if candidates else None if labelled else ""
        if label is None:
            problem = "no column has a common name for labels"
            raise ColumnError(f"{dashes}label", problem, f"name the column; the columns are {', '.join(existing[:20])}")
    grouping = plain_columns(columns.by, existing, f"{dashes}by")
    scores = [name for name in existing if name not in (label, columns.weight, columns.counts)]
    others = [name for name in scores if name not in grouping]
    if stated:
        option, name = stated[0]
        spec = _expressions(name)
        if not any("*" in pattern for pattern in spec):
            return label, positive_last(match_columns(existing, spec, option), name)
        # A pattern refers to scores, so the label is excluded even if its name matches.
        return label, positive_last(_without_twins(match_columns(others, spec, option)), name)
    # Groups by the score itself, such as p/4, where no other column is a score.
    return label, positive_last(_usual_scores(others, existing, dashes, scores), "")


def _expressions(names: str) -> list[str]:
    """Comma-separated columns and expressions; a comma inside parentheses is part of its expression."""
    items: list[str] = []
    for item in names.split(","):
        if items and items[-1].count("(") > items[-1].count(")"):
            items[-1] += f",{item}"
        else:
            items.append(item)
    return [item.strip() for item in items]


def usual_labels(existing: list[str], columns: Columns) -> list[str]:
    """Columns with a common name for labels, if no other option names them."""
    lower = {name.lower(): name for name in reversed(existing)}
    common = [lower[name] for name in LABEL_NAMES if name in lower]
    candidates = [name for name in common if not _has_other_use(name, columns)]
    # Groups by the label itself, or with the name of the label in theirs.
    return candidates or [name for name in common if not _has_other_use(name, replace(columns, by=None))]


def _has_other_use(name: str, columns: Columns) -> bool:
    """Whether another option names a column, on its own or in an expression."""
    other_texts = [text for role, text in vars(columns).items() if role != "label" and text]
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for text in other_texts)


def _without_twins(names: list[str]) -> list[str]:
    """The columns without calibrated copies written by `apply`."""
    return [name for name in names if not (name.endswith(CALIBRATED) and name.removesuffix(CALIBRATED) in names)]


def _usual_scores(others: list[str], existing: list[str], dashes: str, otherwise: Sequence[str] = ()) -> list[str]:
    """The columns with usual names for probabilities, else those among `otherwise`; an error if there is a second, calibrated set of them."""
    scores = _several(others)
    if not scores:
        lower = {name.lower(): name for name in reversed(others)}
        scores = [lower[name] for name in PROB_NAMES if name in lower]
        if len(scores) > 1:
            problem = f"could be any of the columns {', '.join(scores)}"
            option = f"--prob {scores[0]}" if dashes else f"prob={scores[0]!r}"
            raise ColumnError(f"{dashes}prob", problem, f"use {option} or another")
    if not scores and len(otherwise) > len(others):
        return _usual_scores(list(otherwise), existing, dashes)
    several = f"{dashes}probs " if dashes else ""
    if not scores:
        problem = "no column has a common name for probabilities"
        remedy = f"name one column, or several with {several}'p_*'; the columns are {', '.join(existing[:20])}"
        raise ColumnError(f"{dashes}prob", problem, remedy)
    uncalibrated = next((name for name in scores if name + CALIBRATED in others), None)
    if uncalibrated is None:
        return scores
    option, spec = f"{dashes}prob " if dashes else "", uncalibrated
    if len(scores) > 1:
        option = several
        prefix = next(prefix for prefix in PROB_PREFIXES if uncalibrated.lower().startswith(prefix))
        spec = f"{uncalibrated[: len(prefix)]}*"
    problem = f"could be {uncalibrated} or its calibrated form {uncalibrated}{CALIBRATED}"
    raise ColumnError(f"{dashes}prob", problem, f"name one set: {option}'{spec}' or {option}'{spec}{CALIBRATED}'")


def _several(others: list[str]) -> list[str]:
    """Columns that share a usual prefix, one per class; empty if there are none."""
    for prefix in PROB_PREFIXES:
        columns = [name for name in others if re.fullmatch(re.escape(prefix) + r"\d+", name.lower())] or (
            [name for name in others if name.lower().startswith(prefix)] if prefix.endswith("_") else []
        )
        if len(_without_twins(columns)) >= 2:
            return columns
    return []


def score_options(columns: Columns, dashes: str = "--") -> list[tuple[str, str | None]]:
    """The options that name scores, with their values."""
    confidence = "confidence-column" if dashes else "confidence"
    names = {"prob": "prob", "probs": "probs", "logits": "logits", confidence: "confidence"}
    return [(dashes + option, getattr(columns, name)) for option, name in names.items()]


def like_classes(names: Sequence[Any], known: Sequence[Any]) -> list[Any]:
    """Names as the known class names if both are words for true and false; otherwise unchanged.

    >>> like_classes(["yes", "no"], ["False", "True"]), like_classes([True, False], ["cat", "dog"])
    (['True', 'False'], [True, False])
    """
    truth, class_truth = as_booleans(names), as_booleans(known)
    if truth is None or class_truth is None or set(class_truth) != {True, False} or set(names) <= set(known):
        return list(names)
    spelled = dict(zip(class_truth, known, strict=True))
    return [spelled[value] for value in truth]


def check_class_order(classes: Sequence[Any], of_columns: Sequence[Any], argument: str = "classes") -> None:
    """Raise if class names contradict the names of the columns, so that probabilities would be assigned to the wrong classes.

    Numbers may be shifted, as where ``p_0, p_1`` are of classes that are counted from 1.
    """
    given_names, own_names = [str(name) for name in classes], [str(name) for name in of_columns]
    is_reordered = any(name != here and name in own_names for name, here in zip(given_names, own_names, strict=False))
    if is_reordered and (set(given_names) == set(own_names) or not all(name.isdigit() for name in own_names)):
        columns_text = ", ".join(own_names[:10]) + (", ..." if len(own_names) > 10 else "")
        problem = f"the columns are in another order: {columns_text}"
        raise ArgumentError(argument, problem, "drop it, or name the columns in the intended order")

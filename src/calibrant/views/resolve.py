"""Resolve the arguments of a user to views, and combine the values of several classes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import ArgumentError, CalibrantError, InputTypeError, LensError, ShapeError
from ..input.convert import is_frame
from ..input.frames import check_same_rows
from ..input.missing import on_same_rows
from ..input.predictions import Predictions
from ..util.checks import weight_per_class
from .lenses import FLATTENED, AnyView, Combine, Lens, parse_lens, text_of_lens
from .selections import parse_selection
from .view import Summary, VectorView, View

Source = Predictions | View | VectorView | Summary

# Views of several classes are cached for the next metric up to this many entries.
KEPT_ENTRIES = 4_000_000


def resolve(
    y_true: Any, y_prob: Any = None, sample_weight: Any = None, pos_label: Any = None, where: Any = None
) -> Source:
    """Return a source of views: checked predictions of the rows that `where` selects, or the view or sketch that was passed."""
    if not isinstance(y_true, (View, VectorView, Summary)):
        return as_predictions(y_true, y_prob, sample_weight, pos_label, where)
    if not (y_prob is None and sample_weight is None and pos_label is None and where is None):
        kind = _kind(y_true)
        raise InputTypeError("y_true", f"a {kind} cannot be combined with other arguments", f"pass the {kind} alone")
    return y_true


def as_predictions(
    y_true: Any, y_prob: Any = None, sample_weight: Any = None, pos_label: Any = None, where: Any = None
) -> Predictions:
    """Return checked predictions of the rows that `where` selects, for functions that need the rows."""
    if isinstance(y_true, (View, VectorView, Summary)):
        raise InputTypeError("y_true", f"expected rows, got a {_kind(y_true)}", "pass labels and probabilities")
    if isinstance(y_true, Predictions):
        beside = {"y_prob": y_prob, "sample_weight": sample_weight, "pos_label": pos_label}
        for argument, value in beside.items():
            if value is not None:
                problem = "cannot be combined with Predictions"
                raise InputTypeError(argument, problem, "pass it to Predictions(...) instead")
        predictions = y_true
    elif (y_prob is None or isinstance(y_prob, str)) and is_frame(y_true):
        label = repr(y_prob) if isinstance(y_prob, str) else "..."
        line = f"Predictions(frame, label={label}, prob=...)"
        raise InputTypeError("y_true", "is a frame, whose columns are not named", f"pass {line} alone")
    else:
        predictions = Predictions(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    if where is None:
        return predictions
    check_same_rows(y_true, {"where": where})
    return parse_selection(where, predictions)


def paired_models(
    y_true: Any, y_prob: Any = None, sample_weight: Any = None, pos_label: Any = None
) -> dict[str, Predictions]:
    """Checked predictions of models by name, on the rows that none of them dropped; errors name the model.

    The models are probabilities by name beside common labels, or `Predictions` by name in place of the labels.
    """
    if isinstance(y_true, Mapping):
        for keyword, value in {"y_prob": y_prob, "sample_weight": sample_weight, "pos_label": pos_label}.items():
            if value is not None:
                problem = "cannot be combined with Predictions"
                raise InputTypeError(keyword, problem, "pass it to Predictions(...) instead")
        for name, model in y_true.items():
            if not isinstance(model, Predictions):
                problem = f"{name!r} must be Predictions; got {type(model).__name__}"
                raise InputTypeError("y_true", problem, "pass (y_true, {name: y_prob})")
        return on_same_rows({str(name): model for name, model in y_true.items()})
    parts: dict[str, Predictions] = {}
    for name, probs in y_prob.items():
        try:
            parts[str(name)] = as_predictions(y_true, probs, sample_weight, pos_label)
        except ShapeError as error:
            problem = f"{name!r} {error.problem}"
            raise (error.replaced(problem=problem) if error.argument == "y_prob" else error) from None
        except CalibrantError as error:
            raise (error.replaced(source=f"model {name!r}") if error.argument == "y_prob" else error) from None
    return on_same_rows(parts)


def check_paired(parts: Mapping[str, Predictions]) -> None:
    """Raise where the rows, labels or weights of two models differ, which could not be compared row by row."""
    (first, one), *others = parts.items()
    for name, other in others:
        if (other.n, other.k, other.kind) != (one.n, one.k, one.kind):
            raise ShapeError(
                "y_prob",
                f"{first!r} has {one.n} rows of {one.k} classes ({one.kind}) and {name!r} has {other.n} of {other.k} ({other.kind})",
                "models are compared on the same rows",
            )
        for what in ("labels", "soft", "weight"):
            mine, theirs = getattr(one, what), getattr(other, what)
            if (mine is None) != (theirs is None) or (mine is not None and not np.array_equal(mine, theirs)):
                raise ArgumentError(
                    "y_true",
                    f"the {'weights' if what == 'weight' else 'labels'} of {first!r} and {name!r} differ; models are compared on "
                    "the same rows in the same order",
                )


def _kind(source: Any) -> str:
    return "sketch" if isinstance(source, Summary) else "view"


def views_of(source: Source, lens: str | Lens, usual: str = "auto", *, flattened: bool = False) -> list[AnyView]:
    """Return the views of a lens; views of a named lens are cached with the predictions, including their sorted order and sums.

    The lens of an existing view is fixed: only this lens, ``"auto"`` and the default `usual` of the caller are accepted. `flattened` states that
    the caller does not assume independent outcomes, of which the flattened lens has K dependent ones per row.
    """
    if not flattened and FLATTENED in (lens, getattr(lens, "name", ""), getattr(source, "lens", "")):
        problem = "'flattened' has one outcome per class and row, which are not independent; it is for values of metrics, assess and interval, and for calibration_curve with level=None"
        raise LensError("lens", problem, "use 'classwise' or 'class:NAME'")
    if isinstance(source, Summary):
        return source.views(text_of_lens(lens) or lens)
    if not isinstance(source, Predictions):
        if lens not in (usual, "auto", source.lens):
            raise LensError("lens", "is determined by the view", "drop lens")
        return [source]
    parsed = parse_lens(lens, source)
    if text_of_lens(lens) is None:
        return parsed.make(source)
    views: list[AnyView] | None = source.views.get(parsed.name)
    if views is None:
        views = parsed.make(source)
        if len(views) == 1 or are_kept(views):
            source.views[parsed.name] = views
    return views


def are_kept(views: list[AnyView]) -> bool:
    """Whether views are cached for the next metric; for many classes their sorted order and sums would need too much memory."""
    return len(views) == 1 or len(views) * views[0].n <= KEPT_ENTRIES


def combine_values(values: list[float], views: list[AnyView], how: Combine, class_weight: Any) -> float:
    """Combine the values of several classes into one."""
    if len(values) == 1:
        if class_weight is not None:
            raise ArgumentError("class_weight", "requires several classes; this lens has one event", "use classwise()")
        return values[0]
    weight = np.ones(len(values))
    if class_weight is not None:
        weight = weight_per_class(class_weight, len(values))
        if how not in ("mean", "sum"):
            raise ArgumentError("class_weight", f"requires the combination 'mean' or 'sum'; got {how!r}")
    if how == "max":
        return max(values)
    if how == "prevalence":
        weight = np.array([view.mean(view.raw_outcome) for view in views if isinstance(view, View)])
    weighted_values = [(w, value) for w, value in zip(weight.tolist(), values, strict=True) if w > 0]
    if math.inf in [value for _, value in weighted_values]:  # one infinite value makes the result infinite
        return math.inf
    total = math.fsum([w * value for w, value in weighted_values])
    return total if how == "sum" else total / math.fsum(weight.tolist())

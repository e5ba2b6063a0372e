"""From what a user passes to the views a metric reads, and from one value per class to one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import ArgumentError, InputTypeError
from ..input.predictions import Predictions
from ..util.checks import weight_per_class
from .lenses import AnyView, Lens, parse_lens
from .view import View

__all__ = ["are_kept", "as_predictions", "combine_values", "views_of"]

# Views of several classes are kept for the next metric up to this many entries.
KEPT_ENTRIES = 4_000_000


def as_predictions(y_true: Any, y_prob: Any, words: Mapping[str, Any]) -> Predictions:
    """Checked predictions from arrays or a frame, or as they are."""
    if isinstance(y_true, Predictions):
        if y_prob is not None or words:
            given = "y_prob" if y_prob is not None else next(iter(words))
            raise InputTypeError(
                given,
                "was given beside Predictions, which already hold everything",
                "pass it to Predictions(...) instead",
            )
        return y_true
    return Predictions(y_true, y_prob, **words)


def views_of(predictions: Predictions, lens: str | Lens) -> list[AnyView]:
    """The views of a lens; those of a named lens are kept with the predictions, with all they have sorted and summed."""
    parsed = parse_lens(lens, predictions)
    if isinstance(lens, Lens):
        return parsed.views(predictions)
    known: list[AnyView] | None = predictions.views.get(parsed.name)
    if known is None:
        known = parsed.make(predictions)
        if len(known) == 1 or are_kept(known):
            predictions.views[parsed.name] = known
    return known


def are_kept(views: list[AnyView]) -> bool:
    """Whether views stay for the next metric; what they have sorted and summed is too much to keep for many classes."""
    return len(views) == 1 or len(views) * views[0].n <= KEPT_ENTRIES


def combine_values(values: list[float], views: list[AnyView], how: Any, class_weight: Any) -> float:
    """One number from one per class."""
    if how not in ("mean", "sum", "max", "prevalence"):
        raise ArgumentError("combine", f"must be 'mean', 'sum', 'max' or 'prevalence'; got {how!r}")
    if len(values) == 1:
        if class_weight is not None:
            raise ArgumentError("class_weight", "weighs classes, and this lens has one view", "use lens='classwise'")
        return values[0]
    weight = np.ones(len(values))
    if class_weight is not None:
        weight = weight_per_class(class_weight, len(values))
        if how not in ("mean", "sum"):
            raise ArgumentError("class_weight", f"goes with combine='mean' or 'sum', not {how!r}")
    if how == "max":
        return max(values)
    if how == "prevalence":
        weight = np.array([view.mean(view.raw_outcome) for view in views if isinstance(view, View)])
    used = [(w, value) for w, value in zip(weight.tolist(), values, strict=True) if w > 0]
    if any(value == math.inf for _, value in used):  # one class that is infinitely bad decides, whatever the others are
        return math.inf
    total = math.fsum(w * value for w, value in used)
    return total if how == "sum" else total / math.fsum(weight.tolist())

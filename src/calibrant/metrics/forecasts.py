"""The same labels with another forecast: the base rate, a number, a row of numbers, or what another model says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InputError, ShapeError
from ..input.convert import column, is_frame, is_number, numbers, pick_columns
from ..input.predictions import Predictions
from ..views.resolve import as_predictions
from ..views.selections import Selection, parse_selection, select
from ..views.view import VectorView, View

__all__ = ["constant_forecast", "proportions", "reference_of", "with_forecast"]

Array = NDArray[Any]
Floats = NDArray[np.float64]
SomeView = TypeVar("SomeView", View, VectorView, View | VectorView)


def with_forecast(view: SomeView, forecast: Floats) -> SomeView:
    """The same rows, labels and weights with another forecast."""
    if isinstance(view, View):
        made: Any = View(forecast, view.raw_outcome, view.weight, view.weight_kind, rows=view.rows, lens=view.lens)
    else:
        made = VectorView(
            forecast, view.labels, view.soft, view.weight, view.weight_kind, rows=view.rows, lens=view.lens
        )
    return cast(SomeView, made)


def proportions(view: View | VectorView) -> Floats:
    """How often yes is right, or how often each class occurs; exactly 0 or 1 where it is never or always."""
    if isinstance(view, View):
        return np.asarray((view.weights * view.outcome).sum() / view.weights.sum())
    sums = np.sum([view.weights[span] @ block.targets for span, block in view.blocks()], axis=0)
    return np.asarray(sums / sums.sum())


def constant_forecast(share: Floats, n: int) -> Floats:
    """The same forecast for every row."""
    return np.tile(share, (n, 1)) if share.ndim else np.full(n, float(share))


def reference_of(
    y_true: Any, y_prob: Any, reference: Any, where: Any, words: Mapping[str, Any]
) -> tuple[Predictions, Predictions]:
    """The predictions that `where` keeps, and the same rows with the forecast of the reference."""
    if isinstance(reference, str) and is_frame(y_true):
        reference = pick_columns(y_true, reference, "reference")
    given = as_predictions(y_true, y_prob, words)
    kept = parse_selection(where, given)
    mend = {word: words[word] for word in ("clip", "normalize", "sum_tolerance") if word in words}
    if reference is None:
        return kept, _with_probs(kept, constant_forecast(_class_proportions(kept), kept.n))
    if is_number(reference):
        return kept, _with_probs(kept, constant_forecast(_constant_of(float(reference), kept), kept.n))
    values = numbers(column(reference, "reference").array, "reference")
    rows = given.n if given.kept is None else len(given.kept)
    if values.shape == (rows, *given.probs.shape[1:]):
        values = values if given.kept is None else values[given.kept]
        if where is not None:
            values = values[(where if isinstance(where, Selection) else select.mask(where)).mask(given)]
        return kept, _with_probs(kept, values, "logit" if given.logits is not None else "prob", **mend)
    if values.shape == (given.k,) and given.kind != "confidence":
        share = values[1] if kept.probs.ndim == 1 else values
        return kept, _with_probs(kept, constant_forecast(np.asarray(share, np.float64), kept.n), **mend)
    raise ShapeError(
        "reference",
        f"has shape {values.shape}",
        f"pass a forecast of shape {(rows, *given.probs.shape[1:])}, or {given.k} numbers",
    )


def _constant_of(share: float, p: Predictions) -> Floats:
    if p.kind not in ("binary", "confidence"):
        raise ArgumentError("reference", f"is one number, and there are {p.k} classes", f"pass {p.k} numbers")
    if not 0 <= share <= 1:
        raise ArgumentError("reference", f"must lie in [0, 1]; got {share!r}", "for example 0.3")
    return np.asarray(share if p.probs.ndim == 1 else [1 - share, share])


def _class_proportions(p: Predictions) -> Floats:
    """One number for one-dimensional forecasts, else one for each class."""
    weight = np.ones(p.n) if p.weight is None else p.weight.astype(np.float64)
    targets = p.labels if p.labels is not None else p.soft
    assert targets is not None
    if p.labels is not None and p.probs.ndim == 2 and p.kind != "multilabel":
        sums = np.bincount(p.labels, weight, p.k)
        return np.asarray(sums / sums.sum())
    return np.clip((weight * targets.T).sum(axis=-1) / weight.sum(), 0, 1)


def _with_probs(p: Predictions, probs: Array, input: Any = "prob", **mend: Any) -> Predictions:
    """The same rows with other probabilities, which are checked; what was checked before is taken over as it is."""
    weight: dict[str, Any] = {}
    if p.weight is not None:
        weight["counts" if p.weight_kind == "counts" else "sample_weight"] = p.weight
    multilabel = p.kind == "multilabel"
    try:
        other = Predictions.derived(
            p.labels if p.labels is not None else np.zeros((p.n, p.k) if multilabel else p.n, np.int64),
            probs,
            input="confidence" if p.kind == "confidence" else input,
            multilabel=multilabel,
            **weight,
            **mend,
        )
    except InputError as error:  # it speaks of y_prob, which is in order
        raise type(error)("reference", error.problem, error.remedy, row=error.row) from None
    if p.soft is not None:
        other.labels, other.soft, other.top_correct = None, p.soft, None
    other.classes, other.groups, other.group_names = p.classes, p.groups, p.group_names
    other.features = p.features
    return other

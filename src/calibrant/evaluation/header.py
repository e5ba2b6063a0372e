"""The header of an evaluation: shares of classes, how often right, how sure, and how far chance alone moves that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..input.predictions import Predictions
from ..sketches.collection import Sketches
from ..util.blocks import map_blocks, rows_per_block
from ..views.resolve import views_of
from ..views.view import View
from .result import Header

__all__ = ["header_of", "sketched_header"]


def header_of(p: Predictions) -> Header:
    """The header of checked predictions."""
    accuracy = confidence = event = error = None
    if p.kind != "multilabel":
        view = views_of(p, "top_label")[0]
        assert isinstance(view, View)
        confidence = view.mean(view.score)
        accuracy = None if view.is_soft else view.mean(view.raw_outcome)
        error = None if view.is_soft else _standard_error(view)
    if p.kind == "binary":
        view = views_of(p, "binary")[0]
        assert isinstance(view, View)
        event = view.mean(view.score)
    if p.kind == "confidence":
        shares: tuple[float, ...] = ()
    elif p.kind == "multilabel":
        shares = tuple(v.mean(v.raw_outcome) for v in views_of(p, "classwise") if isinstance(v, View))
    else:
        shares = _class_shares(p)
    weight = float(p.n if p.weight is None else p.weight.sum())
    top = _top_k_accuracy(p)
    positive = _positive(p.kind, p.classes)
    return Header(p.n, weight, p.kind, p.k, shares, accuracy, top, confidence, event, error, positive)


def _positive(kind: str, classes: Sequence[Any] | None) -> str:
    """The name of the positive class of two; those that are called 0 and 1 have none."""
    named = kind == "binary" and classes is not None and [str(name) for name in classes] != ["0", "1"]
    return str(classes[1]) if named and classes is not None else ""


def _standard_error(view: View) -> float:
    """Of the mean outcome, if the scores are right; the same for both classes of two."""
    square = view.weights**2 if view.weight_kind == "importance" else view.weights
    return math.sqrt(float((square * view.score * (1 - view.score)).sum())) / view.total


def _class_shares(p: Predictions) -> tuple[float, ...]:
    weight = None if p.weight is None else p.weight.astype(np.float64)
    if p.labels is not None:
        share = np.bincount(p.labels, weight, p.k)
        return tuple((share / share.sum()).tolist())
    assert p.soft is not None
    soft = p.soft if p.soft.ndim == 2 else np.column_stack([1 - p.soft, p.soft])
    return tuple(np.average(soft, axis=0, weights=weight).tolist())


def _top_k_accuracy(p: Predictions) -> dict[int, float]:
    """How often the true class is among the k largest; ties in favour of the lower class, as for the first."""
    wanted = [k for k in (3, 5) if k < p.k] or ([2] if p.k == 3 else [])
    if p.kind != "multiclass" or p.labels is None or not wanted:
        return {}
    labels = p.labels

    def work(start: int, stop: int) -> Any:
        probs, label = p.probs[start:stop], labels[start:stop, None]
        own = np.take_along_axis(probs, label, 1)
        ahead = (probs > own) | ((probs == own) & (np.arange(p.k) < label))
        return ahead.sum(axis=1)

    ahead = np.concatenate(map_blocks(work, p.n, rows_per_block(p.k), columns=p.k))
    return {k: float(np.average(ahead < k, weights=p.weight)) for k in wanted}


def sketched_header(sketches: Sketches) -> Header:
    """The same of sketches, as far as their lenses tell."""
    shares: tuple[float, ...] = ()
    event = error = None
    if sketches.kind == "binary":
        told = [lens for lens in ("binary", f"class:{sketches.classes[-1]}") if sketches.n and lens in sketches.lenses]
        rate = sketches.sketch(told[0]).positives / sketches.n if told else math.nan
        shares = (1 - rate, rate)
        event = sketches.sketch(told[0]).mean_score if told else None
    elif all(f"class:{name}" in sketches.lenses for name in sketches.classes):
        shares = tuple(sketches.sketch(f"class:{name}").positives / sketches.n for name in sketches.classes)
    confidence, accuracy = sketches.confidence_and_accuracy()
    known = next((lens for lens in ("top_label", "binary") if sketches.n and lens in sketches.lenses), None)
    if known is not None:
        error = _standard_error(sketches.sketch(known).view())
    n, kind, k = sketches.n, sketches.kind, sketches.k
    named = _positive(kind, sketches.classes)
    return Header(n, float(n), kind, k, shares, accuracy, {}, confidence, event, error, named)

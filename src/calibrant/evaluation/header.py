"""The header of an evaluation: events and class shares, mean prediction, AUROC, accuracy and mean confidence; the name of the outcome."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..curves.local_regression import weighted_quantile
from ..errors import ArgumentError
from ..input.frames import as_booleans
from ..input.predictions import Predictions
from ..sketches.collection import Sketches
from ..sketches.files.columns import LABEL_NAMES
from ..util.blocks import map_blocks, rows_per_block
from ..views.lenses import Lens
from ..views.resolve import views_of
from ..views.view import View
from .confidence import SHARES, ConfidenceDistribution, ScoreQuantiles, confidence_of, score_quantiles
from .discrimination import areas_of
from .result import Header


def headers_of(
    parts: Sequence[Any], outcome: str | None = None, quantiles: bool = True, lens: Any = None
) -> list[Header]:
    """Return the headers of predictions or of sketches of the same classes, as far as their lenses allow; `outcome` names the event of two classes.

    Sketches are described in one pass over the cells of all. `quantiles` of the scores require a sort. The event is the positive class of
    two, or that of a `lens` of one class.
    """
    first = parts[0]
    if isinstance(first, Sketches):
        described = _describe_sketches(parts, quantiles)
    else:
        described = [_describe_rows(p, quantiles) for p in parts]
    name, positive = outcome_of(first, outcome), positive_class(first)
    if str(lens.name if isinstance(lens, Lens) else lens).startswith("class:"):
        views = [view for p in parts for view in views_of(p, lens) if isinstance(view, View)]
        for own, event, error in zip(described, _describe_events(views), _standard_errors(views), strict=True):
            own |= {**event, "standard_error": error}
        positive = name = views[0].lens.removeprefix("class:")
    return [
        Header(n=p.n, kind=p.kind, classes=p.k, positive=positive, outcome=name, **own)
        for p, own in zip(parts, described, strict=True)
    ]


def _describe_rows(p: Predictions, quantiles: bool) -> dict[str, Any]:
    """Return the fields of the header that rows determine."""
    described: dict[str, Any] = {"weight": float(p.n if p.weight is None else p.weight.sum())}
    described["top_k_accuracy"] = _top_k_accuracy(p)
    if p.kind == "multilabel":
        shares = tuple(v.mean(v.raw_outcome) for v in views_of(p, "classwise") if isinstance(v, View))
        return described | {"prevalence": shares}
    described["prevalence"] = () if p.kind == "confidence" else class_shares(p)
    described["confidence"] = confidence_of(p) if quantiles else None
    view = views_of(p, "top_label")[0]
    assert isinstance(view, View)
    described["mean_confidence"] = view.mean(view.score)
    if not view.is_soft:
        described |= {"accuracy": view.mean(view.raw_outcome), "standard_error": _standard_errors([view])[0]}
    if p.kind == "binary":
        view = views_of(p, "binary")[0]
        assert isinstance(view, View)
        described |= _describe_events([view])[0] | {"event_rate": described["prevalence"][1]}
    return described


def _describe_events(views: Sequence[View]) -> list[dict[str, Any]]:
    """Return the fields of the header that describe the event of each view."""
    described = []
    for view, auroc, precision in zip(views, *areas_of(views), strict=True):
        own: dict[str, Any] = {"event_mean_score": view.mean(view.score), "event_rate": view.mean(view.raw_outcome)}
        if not view.is_soft:
            counts = view.weight if view.weight is not None and view.weight_kind == "counts" else np.ones(view.n)
            own["events"] = round(float(np.dot(view.raw_outcome, counts)))
        if not math.isnan(auroc):
            own |= {"auroc": float(auroc), "average_precision": float(precision)}
        described.append(own)
    return described


def check_outcome(outcome: Any) -> str | None:
    """Check the keyword `outcome`."""
    if outcome is not None and not (isinstance(outcome, str) and outcome.strip()):
        raise ArgumentError("outcome", f"must be text that names the event; got {outcome!r}", 'for example "churn"')
    return outcome


def outcome_of(p: Predictions | Sketches, outcome: str | None = None) -> str:
    """Return the name of the event that the positive class of two represents; empty where nothing names it.

    A given `outcome` comes first, then the name of the positive class. Where the classes are 0 and 1, or yes and no, the name of the
    label column is used, unless it is a generic one such as ``y_true``.

    >>> outcome_of(Predictions(["no churn", "churn"], [0.1, 0.8], pos_label="churn")), outcome_of(Predictions([0, 1], [0.1, 0.8]))
    ('churn', '')
    """
    if p.kind != "binary":
        return ""
    if outcome is not None:
        return outcome
    return event_name(p.classes, "" if isinstance(p, Sketches) else p.label_name)


def event_name(classes: Sequence[Any] | None, label: str = "") -> str:
    """Return the positive class or, where the classes only mean yes and no, the name of the label column; empty for a generic one.

    >>> event_name(["stay", "churn"]), event_name(["no", "yes"], "churn"), event_name([0, 1], "y_true")
    ('churn', 'churn', '')
    >>> event_name(["yes", "no"], "churn")
    'churn = no'
    """
    label = label if label.strip().lower() not in LABEL_NAMES else ""
    names = [] if classes is None else [str(name) for name in classes]
    if not names or names[1] == "1" or as_booleans(names[1:]) == [True]:
        return label
    no = names[1] in ("0", "-1") or as_booleans(names[1:]) == [False]
    return f"{label} = {names[1]}" if no and label else names[1]


def positive_class(p: Predictions | Sketches) -> str:
    """Return the name of the positive class of two; empty for several classes, and for the classes 0 and 1."""
    named = p.kind == "binary" and p.classes is not None and [str(name) for name in p.classes] != ["0", "1"]
    return str(p.classes[1]) if named and p.classes is not None else ""


def _standard_errors(views: Sequence[View]) -> list[float]:
    """Return the standard error of the mean outcome of each view under calibration; it is the same for both classes of two."""
    weight, score = (np.concatenate([getattr(view, name) for view in views]) for name in ("weights", "score"))
    starts = np.cumsum([0, *(view.n for view in views[:-1])])
    square = weight**2 if views[0].weight_kind == "importance" else weight
    variance = np.add.reduceat(square * score * (1 - score), starts)
    errors: list[float] = (np.sqrt(variance) / np.add.reduceat(weight, starts)).tolist()
    return errors


def class_shares(p: Predictions) -> tuple[float, ...]:
    """Return the share of each class in the weighted labels."""
    weight = None if p.weight is None else p.weight.astype(np.float64)
    if p.labels is not None and p.labels.ndim == 1:
        share = np.bincount(p.labels, weight, p.k)
        return tuple((share / share.sum()).tolist())
    labels = p.soft if p.labels is None else p.labels
    assert labels is not None
    columns = labels if labels.ndim == 2 else np.column_stack([1 - labels, labels])
    return tuple(np.average(columns, axis=0, weights=weight).tolist())


def _top_k_accuracy(p: Predictions) -> dict[int, float]:
    """Return the top-k accuracies; ties are resolved in favour of the lower class, as for the top label."""
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


def _describe_sketches(parts: Sequence[Sketches], quantiles: bool) -> list[dict[str, Any]]:
    """Return the fields of the headers that sketches of the same lenses determine."""
    lenses = parts[0].lenses if parts[0].n else ()
    names = [f"class:{name}" for name in parts[0].classes]
    is_binary = parts[0].kind == "binary"
    event = next((lens for lens in ("binary", *names[-1:]) if is_binary and lens in lenses), None)
    known = next((lens for lens in ("top_label", "binary") if lens in lenses), None)
    described: list[dict[str, Any]] = []
    for part in parts:
        confidence, accuracy = part.confidence_and_accuracy()
        described.append({"weight": float(part.n), "mean_confidence": confidence, "accuracy": accuracy})
        if is_binary:
            described[-1]["prevalence"] = (math.nan, math.nan)
        elif all(name in lenses for name in names):
            described[-1]["prevalence"] = tuple(part.sketch(name).positives / part.n for name in names)
    if event is not None:
        events = _describe_events([part.sketch(event).view() for part in parts])
        for own, fields in zip(described, events, strict=True):
            own |= {**fields, "prevalence": (1 - fields["event_rate"], fields["event_rate"])}
    if known is not None:
        errors = _standard_errors([part.sketch(known).view() for part in parts])
        for own, part, error in zip(described, parts, errors, strict=True):
            own |= {"standard_error": error, "confidence": _sketched_confidence(part) if quantiles else None}
    return described


def _sketched_confidence(sketches: Sketches) -> ConfidenceDistribution:
    """Return the quantiles of sketches, which are exact up to one cell."""
    top = positive = None
    if "binary" in sketches.lenses:
        view = sketches.sketch("binary").view()
        positive = score_quantiles(view)
        # No cell extends across one half.
        confidence = np.maximum(view.score, 1 - view.score)
        top = ScoreQuantiles(view.mean(confidence), *weighted_quantile(confidence, view.weights, SHARES).tolist())
    if "top_label" in sketches.lenses:
        top = score_quantiles(sketches.sketch("top_label").view())
    assert top is not None
    return ConfidenceDistribution(sketches.n, float(sketches.n), top, positive)

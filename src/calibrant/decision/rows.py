"""Confidence, loss and weight of each row for decisions, and exact binomial bounds."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    ArgumentError,
    InputError,
    InputTypeError,
    LensError,
    ShapeError,
    UnknownArgumentError,
    WeightsNotSupportedError,
)
from ..input.convert import column, numbers
from ..input.predictions import Predictions
from ..input.weights import WeightKind
from ..sketches.sketch import Sketch
from ..util.arrays import Floats
from ..util.cached import cached_property
from ..util.checks import is_number
from ..views.keywords import documents_keywords
from ..views.resolve import Source, resolve, views_of
from ..views.view import VectorView, View

T = TypeVar("T")
# Functions of probabilities without labels read them themselves.
INPUT = {
    "input": (
        '{"prob", "logit"}, default "prob"',
        "What `y_prob` holds: probabilities or logits. It is never inferred.",
    )
}

JUDGED = {
    "confidence": (
        "array-like of shape (N,), optional",
        "Confidence of each row, larger is more confident; by default the predicted probability of the predicted class.",
    ),
    "loss": (
        "array-like of shape (N,), optional",
        "Non-negative loss of each row; by default 1 for an error and 0 otherwise.",
    ),
    "lens": ("str or Lens, optional", 'The event that defines a correct prediction; by default ``"top_label"``.'),
}


@dataclass(frozen=True)
class Steps:
    """All distinct confidences in decreasing order, with sums over the rows at least as confident."""

    threshold: Floats
    accepted: Floats
    """Sum of weights."""
    lost: Floats
    """Sum of weights times losses."""
    square: Floats
    """Sum of squared importance weights, or of rows: accepted^2 / square is how many rows those accepted are worth."""

    def at(self, thresholds: Floats) -> tuple[Floats, Floats, Floats]:
        """`accepted`, `lost` and `square` at any thresholds."""
        place = np.searchsorted(-self.threshold, -np.asarray(thresholds, dtype=np.float64), side="right")
        padded = (np.concatenate([[0.0], sums]) for sums in (self.accepted, self.lost, self.square))
        accepted, lost, square = (sums[place] for sums in padded)
        return accepted, lost, square


class Order:
    """Rows in decreasing order of a score, whose losses are summed under one or many weights."""

    def __init__(self, score: Floats, loss: Floats) -> None:
        self.rows = np.argsort(-score, kind="stable")
        falling = score[self.rows]
        self.ends = np.flatnonzero(np.append(falling[1:] != falling[:-1], True))
        self.threshold, self.loss = falling[self.ends], loss[self.rows]

    def steps(self, weight: Floats, square: Floats) -> Steps:
        """The sums at each distinct score that has weight."""
        weight, square = weight[self.rows], square[self.rows]
        accepted, lost, squares = (np.cumsum(values)[self.ends] for values in (weight, weight * self.loss, square))
        held = np.diff(accepted, prepend=0.0) > 0
        return Steps(self.threshold[held], accepted[held], lost[held], squares[held])


@dataclass(frozen=True)
class Judged:
    """Confidence and loss of each row; the loss is 1 for an error and 0 otherwise unless losses were given."""

    confidence: Floats
    loss: Floats
    weight: Floats
    weight_kind: WeightKind
    lens: str

    @cached_property
    def total(self) -> float:
        return float(self.weight.sum())

    @cached_property
    def counts_errors(self) -> bool:
        """Whether every loss is 0 or 1, so that binomial distributions apply."""
        return bool(((self.loss == 0) | (self.loss == 1)).all())

    @cached_property
    def steps(self) -> Steps:
        return self.steps_by(self.confidence)

    def steps_by(self, confidence: Floats) -> Steps:
        """Sums over the rows at least as confident as each distinct value; ties enter together."""
        square = self.weight**2 if self.weight_kind == "importance" else self.weight
        return Order(confidence, self.loss).steps(self.weight, square)

    def refuse_importance(self, who: str) -> None:
        """Raise for importance weights, for which exact binomial bounds are not valid."""
        if self.weight_kind == "importance":
            raise WeightsNotSupportedError(
                "sample_weight",
                f"{who} does not support real weights",
                "drop sample_weight or pass counts for integers",
            )


def judging(*, takes_loss: bool = True) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Turn a function of confidences and losses into one of labels and probabilities, which stand first; its options stay."""

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        @wraps(function)
        def call(
            y_true: Any,
            y_prob: Any = None,
            *,
            confidence: Any = None,
            loss: Any = None,
            lens: Any = None,
            where: Any = None,
            sample_weight: Any = None,
            pos_label: Any = None,
            **options: Any,
        ) -> T:
            if loss is not None and not takes_loss:
                raise UnknownArgumentError("loss", f"unexpected keyword of {function.__name__}")
            source = resolve(y_true, y_prob, sample_weight, pos_label, where)
            if where is not None and (confidence is not None or loss is not None):
                problem = "cannot be combined with confidence or loss"
                raise ArgumentError("where", problem, "select the rows of all first")
            return function(_read_judged(function.__name__, source, confidence, loss, lens), **options)

        shared = list(inspect.signature(call, follow_wrapped=False).parameters.values())[:-1]
        shared = [each for each in shared if takes_loss or each.name != "loss"]
        own = inspect.signature(function)
        call.__signature__ = own.replace(parameters=[*shared[:2], *list(own.parameters.values())[1:], *shared[2:]])  # type: ignore[attr-defined]
        del call.__wrapped__
        return documents_keywords(table=JUDGED)(call)

    return decorate


def _read_judged(who: str, source: Source, confidence: Any, loss: Any, lens: Any) -> Judged:
    """Confidences and losses from labels and probabilities, or as they were passed; `who` is the public function that was called."""
    view = one_view(who, source, "top_label" if lens is None else lens)
    if lens is None and isinstance(source, (Sketch, View)) and view.lens == "binary":
        raise LensError(
            "lens",
            "the view has the lens of the positive class instead of the top label",
            "use lens='top_label'",
        )
    kept = None if view.rows is None else view.rows.kept
    sure = view.score if confidence is None else finite_column(confidence, "confidence", view.n, kept)
    lost = 1 - view.outcome.astype(np.float64) if loss is None else finite_column(loss, "loss", view.n, kept)
    if (lost < 0).any():
        raise InputError("loss", "must not be negative", "shift it", row=int(np.argmax(lost < 0)))
    return Judged(sure.astype(np.float64), lost, view.weights, view.weight_kind, view.lens)


def one_view(who: str, source: Source, lens: Any) -> View:
    """The single binary event of a decision; `who` is the public function that was called."""
    views = views_of(source, lens if isinstance(source, Predictions) else "auto")
    view = views[0]
    if len(views) > 1 or isinstance(view, VectorView):
        raise LensError("lens", f"{who} requires one event per row", "use 'top_label' or 'class:NAME'")
    return view


def read_distributions(who: str, y_prob: Any, input: str) -> Predictions:
    """Validated probabilities of several classes, without labels."""
    if isinstance(y_prob, Predictions):
        if input != "prob":
            raise InputTypeError("input", "cannot be combined with Predictions", "pass it to Predictions(...) instead")
        return several_classes(who, y_prob)
    return several_classes(who, Predictions.unlabelled(column(y_prob, "y_prob").array, input=input))


def several_classes(who: str, source: Predictions) -> Predictions:
    """The predictions, if they hold one distribution per row."""
    if source.kind not in ("binary", "multiclass"):
        raise InputTypeError("y_prob", f"{who} requires a probability for each class; got {source.kind} predictions")
    return source


def finite_column(values: Any, argument: str, n: int | None = None, kept: NDArray[Any] | None = None) -> Floats:
    """One finite number per row; rows of weight 0 are dropped as in the predictions."""
    array = numbers(column(values, argument).array, argument).astype(np.float64)
    if array.ndim != 1:
        raise ShapeError(argument, f"expected one number for each row, got {array.ndim} dimensions")
    if kept is not None and len(array) == len(kept):
        array = array[kept]
    if n is not None and len(array) != n:
        raise ShapeError(argument, f"expected {n} numbers, one for each row; got {len(array)}")
    if len(array) == 0:
        raise ShapeError(argument, "is empty", "pass at least one row")
    bad = ~np.isfinite(array)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(argument, f"values must be finite; got {array[row]}", "drop or fill the row", row=row)
    return array


def as_threshold(value: Any, argument: str) -> float:
    """Return a number other than NaN."""
    if not is_number(value) or math.isnan(value):
        raise ArgumentError(argument, f"must be a number; got {value!r}")
    return float(value)


def records(kind: Callable[..., T], *columns: NDArray[Any]) -> list[T]:
    """One record for each row of these columns."""
    return [kind(*row) for row in zip(*(values.tolist() for values in columns), strict=True)]


def upper_bound(events: Any, rows: Any, delta: float) -> Floats:
    """One-sided Clopper-Pearson upper bound: the rate exceeds it with probability at most `delta`."""
    from scipy.special import betaincinv

    k, n = np.broadcast_arrays(np.asarray(events, dtype=np.float64), np.asarray(rows, dtype=np.float64))
    found = betaincinv(k + 1, np.maximum(n - k, 0.5), 1 - delta)
    return np.asarray(np.where(k >= n, 1.0, found), dtype=np.float64)


def lower_bound(events: Any, rows: Any, delta: float) -> Floats:
    """One-sided Clopper-Pearson lower bound: the rate is below it with probability at most `delta`."""
    return np.asarray(1 - upper_bound(np.asarray(rows) - np.asarray(events), rows, delta), dtype=np.float64)

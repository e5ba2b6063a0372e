"""Lenses: which binary event of the predictions is evaluated.

A lens turns predictions into one view, or into one view per class to be combined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..errors import ArgumentError, LensError
from ..input.predictions import Predictions
from ..util.arrays import Array, Floats
from ..util.blocks import map_blocks, rows_per_block
from ..util.sums import cumulative_sums
from .view import ClassColumns, FixedRest, RestOfColumns, VectorView, View, rounding_of, sigmoid

AnyView = View | VectorView
Combine = Literal["mean", "sum", "max", "prevalence"]
COMBINATIONS: tuple[Combine, ...] = ("mean", "sum", "max", "prevalence")

# All classes as one event.
FLATTENED = "flattened"
# Cumulative probabilities are cached for simulated labels up to this many entries.
KEPT_SUMS = 4_000_000


@dataclass(frozen=True)
class Lens:
    """A binary event, or a vector of class probabilities, that predictions are evaluated on.

    Lenses are passed as ``lens=`` to metrics and other functions, by name (``"top_label"``, ``"class:cat"``) or as objects made by
    the functions of this module. A user may define further lenses from a function of `Predictions`.

    Parameters
    ----------
    name : str
        Name, shown in results.
    make : callable
        Function that returns the views of checked `Predictions`: one, or one per class.
    groups : mapping, optional
        Classes of each group, for `class_groups`; `recalibrate` reads them.
    combine : {"mean", "sum", "max", "prevalence"}, optional
        How the values of several classes are combined; by default as the metric does.
    class_weight : array-like of shape (K,), optional
        Weight of each class, for ``combine="mean"`` or ``"sum"``.

    See Also
    --------
    class_ : One class against the rest.
    top_k : The largest probabilities and the remainder.

    Examples
    --------
    >>> import calibrant as cal
    >>> lens = cal.class_("cat")
    >>> lens
    Lens('class:cat')
    >>> y_prob = [[0.9, 0.1], [0.4, 0.6]]
    >>> lens.views(cal.Predictions(["cat", "dog"], y_prob, classes=["cat", "dog"]))[0].score.tolist()
    [0.9, 0.4]
    """

    name: str
    make: Callable[[Predictions], list[AnyView]]
    groups: Mapping[Any, Sequence[Any]] | None = field(default=None, repr=False, compare=False)
    combine: Combine | None = None
    class_weight: Any = None

    def __post_init__(self) -> None:
        if self.combine not in (None, *COMBINATIONS):
            raise ArgumentError("combine", f"must be 'mean', 'sum', 'max' or 'prevalence'; got {self.combine!r}")
        if self.class_weight is not None:
            if self.combine in ("max", "prevalence"):
                problem = f"requires the combination 'mean' or 'sum'; got {self.combine!r}"
                raise ArgumentError("class_weight", problem)
            try:
                weights = tuple(np.asarray(self.class_weight, dtype=np.float64).ravel().tolist())
            except (TypeError, ValueError):
                problem = f"must be one number per class; got {self.class_weight!r}"
                raise ArgumentError("class_weight", problem, "for example [1, 1, 2]") from None
            object.__setattr__(self, "class_weight", weights)

    def views(self, predictions: Predictions) -> list[AnyView]:
        """Return the views of the predictions through this lens.

        Parameters
        ----------
        predictions : Predictions
            Checked labels and probabilities.

        Returns
        -------
        list of View or VectorView
            One view, or one view per class.
        """
        return self.make(predictions)

    def __repr__(self) -> str:
        return f"Lens({self.name!r})"


def text_of_lens(lens: Any) -> str | None:
    """Return the name of a lens that text names as well, such as ``classwise(combine="max")``; None for other lenses."""
    if isinstance(lens, Lens):
        return lens.name if _PLAIN.get(lens.name) is lens.make else None
    return lens if isinstance(lens, str) else None


def combination(lens: Any) -> dict[str, Any]:
    """Return how a lens combines the values of several classes, as keywords; empty where the metric decides."""
    if not isinstance(lens, Lens):
        return {}
    stated = {"combine": lens.combine, "class_weight": lens.class_weight}
    return {keyword: value for keyword, value in stated.items() if value is not None}


def value_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for the value of given views: those of the metric, and the lens if it states how classes are combined."""
    stated = bool(combination(options.get("lens")))
    return {
        keyword: value for keyword, value in options.items() if keyword != "where" and (keyword != "lens" or stated)
    }


def parse_lens(lens: str | Lens, predictions: Predictions) -> Lens:
    """Return the lens of a name; a lens is returned unchanged.

    Parameters
    ----------
    lens : str or Lens
        Name such as ``"top_label"``, ``"class:cat"`` or ``"rank:2"``, or a lens. ``"auto"`` depends on the predictions: the
        positive class for two classes, the top label for more, ``"classwise"`` for multilabel predictions.
    predictions : Predictions
        Predictions that the lens is meant for.

    Returns
    -------
    Lens
        The lens.

    Raises
    ------
    LensError
        If the name is unknown.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.views.lenses import parse_lens
    >>> parse_lens("auto", cal.Predictions([0, 1], [0.2, 0.7]))
    Lens('binary')
    """
    if isinstance(lens, Lens):
        return lens
    if not isinstance(lens, str):
        raise LensError(
            "lens", f"must be a name or a Lens; got {type(lens).__name__}", f"choose one of {', '.join(_NAMES)}"
        )
    name, _, detail = lens.partition(":")
    if name == "auto":
        name = {"binary": "binary", "multiclass": "top_label", "multilabel": "classwise", "confidence": "top_label"}[
            predictions.kind
        ]
    if name in _PLAIN and not detail:
        return Lens(name, _PLAIN[name])
    if name in _MADE and detail:
        return _MADE[name](detail)
    hint = f"choose one of {', '.join(_NAMES)}"
    if name in _MADE:
        raise LensError("lens", f"{name!r} is incomplete", f"for example {_EXAMPLES[name]!r}")
    from difflib import get_close_matches

    if name in ("class_groups", "class_hierarchy"):
        raise LensError("lens", f"{name!r} requires a mapping", f"pass the lens itself: calibrant.{name}({{...}})")
    near = get_close_matches(lens, [*_PLAIN, *_MADE], 1)
    raise LensError("lens", f"unknown lens {lens!r}", f"did you mean {near[0]!r}?" if near else hint)


def shared_name(views: Sequence[AnyView]) -> str:
    """Return the name of the lens that made one or several views."""
    first = views[0].lens
    return first if len(views) == 1 else "ordinal" if first.startswith("ordinal:") else "classwise"


def single_event(views: Sequence[AnyView]) -> str:
    """Return the form of a lens with one of the events of several views, for a remedy."""
    return "ordinal:NAME" if shared_name(views) == "ordinal" else "class:NAME"


def _view(p: Predictions, score: Array, outcome: Array | None, lens: str, **options: Any) -> View:
    return View(score, outcome, p.weight, p.weight_kind, rows=p, lens=lens, **options)


def _vector(
    p: Predictions, probs: Array, labels: Array | None, soft: Array | None, lens: str, **options: Any
) -> VectorView:
    return VectorView(probs, labels, soft, p.weight, p.weight_kind, rows=p, lens=lens, **options)


def _binary(p: Predictions) -> list[AnyView]:
    if p.kind != "binary":
        raise LensError(
            "lens",
            f"'binary' requires two classes; got {p.kind} predictions",
            {"multilabel": "use 'classwise' or 'class:NAME'", "confidence": "use 'top_label'"}.get(
                p.kind, "use 'top_label', 'classwise' or 'class:NAME'"
            ),
        )
    score = p.probs if p.probs.ndim == 1 else p.probs[:, 1]
    outcome = p.labels if p.labels is not None else _positive_share(p)
    log_odds = p.logits if p.probs.ndim == 1 else None
    return [_view(p, score, outcome, "binary", log_odds=log_odds, rest=_rest(p, 1))]


def _rest(p: Predictions, column: int | None) -> RestOfColumns | None:
    """Return 1 - score from the other columns (of the largest probability if no column is given), or None if there are none."""
    return None if p.probs.ndim == 1 or p.kind == "multilabel" else RestOfColumns(p, column)


def _first_of_two(p: Predictions) -> Array:
    """Return the probability of class 0 given that of class 1, from the logits if possible, which keeps digits near 0."""
    if p.logits is not None:
        return sigmoid(-p.logits.astype(np.float64))
    return np.asarray(1 - p.probs.astype(np.float64))


def _positive_share(p: Predictions) -> Array:
    assert p.soft is not None
    return p.soft if p.soft.ndim == 1 else p.soft[:, 1]


def _top_label(p: Predictions) -> list[AnyView]:
    if p.kind == "confidence":
        outcome = p.labels if p.labels is not None else p.soft
        assert outcome is not None
        return [_view(p, p.probs, outcome, "top_label")]
    _refuse_multilabel(p, "top_label")
    if p.probs.ndim == 1:
        above = p.probs > 0.5
        first = _first_of_two(p)
        score = np.where(above, p.probs, first)
        outcome = (
            above == p.labels if p.labels is not None else np.where(above, _positive_share(p), 1 - _positive_share(p))
        )
        outcome = outcome.astype(np.uint8) if p.labels is not None else outcome
        return [_view(p, score, outcome, "top_label", rest=FixedRest(np.where(above, first, p.probs)))]
    assert p.top_score is not None
    rest = _rest(p, None)
    if p.top_correct is not None:
        return [_view(p, p.top_score, p.top_correct, "top_label", rest=rest)]
    assert p.soft is not None
    return [_view(p, p.top_score, p.soft[np.arange(p.n), p.predicted], "top_label", rest=rest)]


def _classwise(p: Predictions) -> list[AnyView]:
    _refuse_confidence(p, "classwise")
    hard = p.probs.ndim == 2 and p.labels is not None and p.labels.ndim == 1
    classes = ClassColumns(p.probs, p.labels) if hard and p.labels is not None else None
    return [_one_class(p, index, classes) for index in range(p.k)]


def _one_class(p: Predictions, index: int, classes: ClassColumns | None = None) -> View:
    name = f"class:{index if p.classes is None else p.classes[index]}"
    rest: Any = _rest(p, index)
    log_odds = None
    if p.probs.ndim == 1:
        if p.logits is not None:
            log_odds = p.logits if index == 1 else -p.logits
        score, complement = (p.probs, _first_of_two(p))[:: 1 if index == 1 else -1]
        share = _positive_share(p) if p.labels is None else p.labels
        outcome = share if index == 1 else 1 - share
        rest = FixedRest(complement)
    else:
        if p.kind == "multilabel" and p.logits is not None:
            log_odds = p.logits[:, index]
        score = p.probs[:, index]
        if classes is not None:
            return _view(p, score, None, name, column=(classes, index), rest=rest)
        if p.labels is None:
            assert p.soft is not None
            outcome = p.soft[:, index]
        else:
            outcome = p.labels[:, index] if p.labels.ndim == 2 else (p.labels == index).view(np.uint8)
    return _view(p, score, outcome, name, log_odds=log_odds, rest=rest)


def _flattened(p: Predictions) -> list[AnyView]:
    """The probabilities of all classes as one event: N K scores, each with whether its class is the true one."""
    _refuse_confidence(p, FLATTENED)
    class_views = [_one_class(p, index) for index in range(p.k)]
    weight = None if p.weight is None else np.repeat(p.weight, p.k)
    score = np.column_stack([class_view.raw_score for class_view in class_views]).ravel()
    outcome = np.column_stack([class_view.raw_outcome for class_view in class_views]).ravel()
    view = View(score, outcome, weight, p.weight_kind, lens=FLATTENED)
    view.events = p.k
    return [view]


def has_one_event(views: Sequence[AnyView]) -> bool:
    """Whether there is one event per row, so that outcomes are independent; the K events of a row are not.

    Parameters
    ----------
    views : sequence of View or VectorView
        Views of one metric.

    Returns
    -------
    bool
        True for one view that is not flattened.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> p = Predictions([0, 1], [[0.6, 0.4], [0.3, 0.7]])
    >>> [has_one_event(parse_lens(lens, p).views(p)) for lens in ("binary", "flattened")]
    [True, False]
    """
    return len(views) == 1 and views[0].lens != FLATTENED


def _canonical(p: Predictions) -> list[AnyView]:
    _refuse_partial(p, "canonical")
    return [_vector(p, p.probs, p.labels, p.soft, "canonical", logits=p.logits)]


def _refuse_multilabel(p: Predictions, lens: str) -> None:
    if p.kind == "multilabel":
        raise LensError(
            "lens",
            f"{lens!r} requires exclusive classes; got multilabel predictions",
            "use 'classwise' or 'class:NAME'",
        )


def _refuse_confidence(p: Predictions, lens: str) -> None:
    if p.kind == "confidence":
        raise LensError(
            "lens",
            f"{lens!r} requires a probability for every class; got confidences only",
            "use 'top_label'",
        )


def _refuse_partial(p: Predictions, lens: str) -> None:
    _refuse_multilabel(p, lens)
    _refuse_confidence(p, lens)


def class_(name: Any) -> Lens:
    """Evaluate the probability of one class against the rest.

    Parameters
    ----------
    name : object
        Name of the class, or its index if the classes have no names.

    Returns
    -------
    Lens
        Lens whose score is the probability of the class, and whose outcome is whether it is the true class. Its name is
        ``"class:NAME"``.

    Examples
    --------
    >>> import calibrant as cal
    >>> y_true, y_prob = [0, 2, 1], [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3]]
    >>> round(cal.calibration_in_the_large(y_true, y_prob, lens=cal.class_(2)), 4)
    -0.0667
    """

    def make(p: Predictions) -> list[AnyView]:
        _refuse_confidence(p, f"class:{name}")
        return [_one_class(p, p.class_index(name))]

    return Lens(f"class:{name}", make)


def classwise(*, combine: Combine | None = None, class_weight: Any = None) -> Lens:
    """Evaluate each class against the rest, and combine the values of the classes.

    The text ``"classwise"`` is the same lens with the combination that the metric has by default.

    Parameters
    ----------
    combine : {"mean", "sum", "max", "prevalence"}, optional
        How the values of the classes are combined; by default as the metric does. ``"prevalence"`` weights them by their frequencies.
    class_weight : array-like of shape (K,), optional
        Weight of each class, for ``combine="mean"`` or ``"sum"``.

    Returns
    -------
    Lens
        Lens with one view per class.

    See Also
    --------
    class_ : One class against the rest.
    ordinal : Ordered classes.

    Examples
    --------
    >>> import calibrant as cal
    >>> y_true, y_prob = [0, 2, 1], [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3]]
    >>> round(cal.ece(y_true, y_prob, lens=cal.classwise(combine="max")), 4)
    0.3333
    """
    return Lens("classwise", _classwise, combine=combine, class_weight=class_weight)


def ordinal(name: Any = None, *, combine: Combine | None = None, class_weight: Any = None) -> Lens:
    r"""Evaluate the probability that an ordered class is at most a given one.

    Without a name there is such a view for every class except the last, for which the probability is 1, as with the text ``"ordinal"``;
    metrics are combined over these K - 1 cuts as over the classes of `classwise`. It is to be used where classes are ordered, such as
    grades or stages.

    Parameters
    ----------
    name : object, optional
        Name of the class at which the order is cut, or its index if the classes have no names; not the last class. By default all cuts.
    combine : {"mean", "sum", "max", "prevalence"}, optional
        How the values of the cuts are combined; by default as the metric does.
    class_weight : array-like of shape (K - 1,), optional
        Weight of each cut, for ``combine="mean"`` or ``"sum"``.

    Returns
    -------
    Lens
        Lens whose score is the probability of the class and all lower ones, and whose outcome is whether the true class is among
        them. Its name is ``"ordinal:NAME"``.

    See Also
    --------
    class_ : One class against the rest.
    ranked_probability : The Brier score, averaged over the cuts.

    Notes
    -----
    With the classes in increasing order, the score of cut :math:`k` is

    .. math:: P(Y \le k) = \sum_{j \le k} p_j.

    The order is that of ordered categories (of pandas or polars) if the labels have this type; else that of the class names if they are
    numbers; else that of `classes` and of the columns. Text names that were read from the columns state no order, and raise an error.

    Sums are computed in double precision, from the first class up, and are at most 1. A sum that differs from a
    number of 15 decimals by a relative rounding error of 2^-52 at most is that number: probabilities of 0.1 and 0.2 are tied with one of
    0.3 and lie in the same bin. Near 1 the
    complement is the sum of the other columns, which keeps its digits. Deviations of a row sum from 1 (within the accepted one) are
    left to the last class.

    Examples
    --------
    >>> import calibrant as cal
    >>> y_true, y_prob = [0, 2, 1], [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [0.2, 0.5, 0.3]]
    >>> round(cal.calibration_in_the_large(y_true, y_prob, lens=cal.ordinal(1)), 4)
    -0.0333
    >>> round(cal.brier(y_true, y_prob, lens="ordinal"), 4)
    0.055
    >>> round(cal.ranked_probability(y_true, y_prob), 4)
    0.055
    """

    if name is None:
        return Lens("ordinal", _ordinal, combine=combine, class_weight=class_weight)

    def make(p: Predictions) -> list[AnyView]:
        _refuse_partial(p, "ordinal")
        ordered = p.in_order("ordinal")
        cut = ordered.class_index(name)
        if cut == p.k - 1:
            raise LensError(
                "lens",
                f"the probability of at most {name!r}, the last class, is always 1",
                f"choose one of 'ordinal:{_name(ordered, 0)}' to 'ordinal:{_name(ordered, p.k - 2)}'",
            )
        return [_cumulative_view(p, ordered, cut)]

    return Lens(f"ordinal:{name}", make, combine=combine, class_weight=class_weight)


def _ordinal(p: Predictions) -> list[AnyView]:
    _refuse_partial(p, "ordinal")
    ordered = p.in_order("ordinal")
    return [_cumulative_view(p, ordered, cut) for cut in range(p.k - 1)]


def _cumulative_view(p: Predictions, ordered: Predictions, position: int) -> View:
    """Return the view of the probability that the class is at most that at a position of the order."""
    sums = _cumulative(ordered)
    if p.labels is not None:
        assert ordered.labels is not None
        outcome = (ordered.labels <= position).view(np.uint8)
    elif p.probs.ndim == 1:
        outcome = 1 - _positive_share(p)
    else:
        assert ordered.soft is not None
        outcome = np.minimum(ordered.soft[:, : position + 1].sum(axis=1), 1)
    return _view(p, sums[position], outcome, f"ordinal:{_name(ordered, position)}", rest=RestOfCut(ordered, position))


def _name(p: Predictions, index: int) -> Any:
    return index if p.classes is None else p.classes[index]


def _cumulative(p: Predictions) -> Array:
    """Return the probabilities that the class is at most the first, the second, ..., one row for each class except the last."""
    if p.cumulative is not None:
        return p.cumulative
    if p.probs.ndim == 1:
        return _first_of_two(p)[None]
    cumulative = np.empty((p.k - 1, p.n))

    def work(start: int, stop: int) -> None:
        sums = cumulative_sums(p.probs[start:stop, :-1])
        near = np.round(sums, 15)
        decimal = np.abs(near - sums) <= 2.0**-52 * sums
        decimal[:, 0] = False  # a single probability, not a sum
        cumulative[:, start:stop] = np.minimum(np.where(decimal, near, sums), 1).T

    map_blocks(work, p.n, rows_per_block(p.k), columns=p.k)
    if cumulative.size <= KEPT_SUMS:
        p.cumulative = cumulative
    return cumulative


@dataclass(frozen=True)
class RestOfCut:
    """1 minus a cumulative probability, on request; near 1 as the sum of the other columns."""

    predictions: Predictions
    cut: int

    def __call__(self) -> Floats:
        p = self.predictions
        if p.probs.ndim == 1:
            return p.probs.astype(np.float64)
        score, rounding = _cumulative(p)[self.cut], rounding_of(p.probs, p.logits)
        rest = np.asarray(1 - score)
        near = np.flatnonzero(score > rounding.near)
        others = p.probs[near, self.cut + 1 :].sum(axis=1, dtype=np.float64)
        rest[near] = np.where(np.abs(rest[near] - others) <= rounding.slack, others, rest[near])
        return rest


def pair(first: Any, second: Any) -> Lens:
    """Evaluate one class against one other class, on the rows labelled with either of them.

    Parameters
    ----------
    first : object
        Name or index of the class with outcome 0.
    second : object
        Name or index of the class with outcome 1.

    Returns
    -------
    Lens
        Lens whose score is the probability of `second`, rescaled so that the two classes sum to 1. Its name is
        ``"pair:FIRST,SECOND"``.

    Examples
    --------
    >>> import calibrant as cal
    >>> y_true, y_prob = [0, 2, 1], [[0.6, 0.2, 0.2], [0.3, 0.3, 0.4], [0.2, 0.6, 0.2]]
    >>> round(cal.brier(y_true, y_prob, lens=cal.views.pair(0, 1)), 4)
    0.0625
    """

    def make(p: Predictions) -> list[AnyView]:
        _refuse_partial(p, "pair")
        a, b = p.class_index(first), p.class_index(second)
        if a == b:
            raise LensError("lens", f"'pair' requires two different classes; got {first!r} twice")
        if p.labels is None:
            raise LensError(
                "lens", "'pair' selects rows by label, which is not defined for soft labels", "use 'class:NAME'"
            )
        matrix = p.probs if p.probs.ndim == 2 else np.column_stack([_first_of_two(p), p.probs])
        pair_sum = matrix[:, a].astype(np.float64) + matrix[:, b]
        keep = ((p.labels == a) | (p.labels == b)) & (pair_sum > 0)
        if not keep.any():
            raise LensError(
                "lens", f"no row has the label {first!r} or {second!r} and a positive probability for either"
            )
        pair_rows = p.take(keep)
        assert pair_rows.labels is not None
        score, complement = matrix[keep, b] / pair_sum[keep], matrix[keep, a] / pair_sum[keep]
        outcome = (pair_rows.labels == b).view(np.uint8)
        return [_view(pair_rows, score, outcome, f"pair:{first},{second}", rest=FixedRest(complement))]

    return Lens(f"pair:{first},{second}", make)


def _largest_entries(p: Predictions, k: int, lens: str) -> tuple[Array, Array, Array]:
    """Return the `k` largest probabilities of each row in decreasing order, the label shares of their classes, and 1 minus their sum."""
    _refuse_partial(p, lens)
    if not 1 <= k <= p.k:
        raise LensError("lens", f"{lens!r} requires a number from 1 to {p.k}, the number of classes; got {k}")

    view = _vector(p, p.probs, p.labels, p.soft, lens, logits=p.logits)

    def work(start: int, stop: int) -> tuple[Array, Array, Array]:
        block = view.block(start, stop)
        order = np.argsort(-block.probs, axis=1, kind="stable")
        probs = np.take_along_axis(block.probs, order, 1)
        # The other columns keep the digits that 1 minus a sum near 1 loses.
        covered, others = probs[:, :k].sum(axis=1), probs[:, k:].sum(axis=1)
        left = np.maximum(1 - covered, 0)
        near = (covered > block.rounding.near) & (np.abs(left - others) <= block.rounding.slack)
        left = np.where(near, others, left)
        return probs[:, :k], np.take_along_axis(block.targets, order[:, :k], 1), left

    blocks = map_blocks(work, p.n, rows_per_block(p.k), columns=p.k)
    probs, shares, left = (np.concatenate(columns) for columns in zip(*blocks, strict=True))
    return probs, shares, left


def _outcome(p: Predictions, share: Array) -> Array:
    return share.astype(np.uint8) if p.labels is not None else share


def rank(r: int) -> Lens:
    """Evaluate the r-th largest probability of each row.

    Parameters
    ----------
    r : int
        Rank, from 1 (the predicted class) to the number of classes.

    Returns
    -------
    Lens
        Lens whose outcome is whether the true class has rank `r`. Its name is ``"rank:R"``.

    See Also
    --------
    within_top : The sum of the k largest probabilities.

    Examples
    --------
    >>> import calibrant as cal
    >>> y_true, y_prob = [0, 2, 1], [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3]]
    >>> round(cal.calibration_in_the_large(y_true, y_prob, lens=cal.views.rank(2)), 4)
    0.2667
    """
    r = _parse_number(r, "rank")

    def make(p: Predictions) -> list[AnyView]:
        probs, shares, left = _largest_entries(p, r, f"rank:{r}")
        rest = FixedRest(left) if r == 1 else None  # no other is above one half
        return [_view(p, probs[:, r - 1], _outcome(p, shares[:, r - 1]), f"rank:{r}", rest=rest)]

    return Lens(f"rank:{r}", make)


def within_top(k: int) -> Lens:
    """Evaluate the sum of the k largest probabilities of each row.

    Parameters
    ----------
    k : int
        Number of classes, from 1 up.

    Returns
    -------
    Lens
        Lens whose outcome is whether the true class is among the `k` most probable ones. Its name is ``"within_top:K"``.

    See Also
    --------
    rank : A single rank.
    top_k : The k largest probabilities as a vector.

    Examples
    --------
    >>> import calibrant as cal
    >>> y_true, y_prob = [0, 2, 1], [[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.2, 0.5, 0.3]]
    >>> round(cal.calibration_in_the_large(y_true, y_prob, lens=cal.within_top(2)), 4)
    0.1667
    """
    k = _parse_number(k, "within_top")

    def make(p: Predictions) -> list[AnyView]:
        probs, shares, left = _largest_entries(p, k, f"within_top:{k}")
        outcome = _outcome(p, np.minimum(shares.sum(axis=1), 1))
        return [_view(p, np.minimum(probs.sum(axis=1), 1), outcome, f"within_top:{k}", rest=FixedRest(left))]

    return Lens(f"within_top:{k}", make)


def top_k(k: int) -> Lens:
    """Evaluate the k largest probabilities of each row and the remainder as a vector of k + 1 entries.

    Parameters
    ----------
    k : int
        Number of classes, from 1 up.

    Returns
    -------
    Lens
        Lens with a `VectorView`, for metrics of whole distributions such as `gece`. Its name is ``"top_k:K"``.

    See Also
    --------
    within_top : The sum of the k largest probabilities.

    Examples
    --------
    >>> import calibrant as cal
    >>> y_true, y_prob = [0, 2, 1], [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3]]
    >>> round(cal.gece(y_true, y_prob, lens=cal.top_k(2)), 4)
    0.4667
    """
    k = _parse_number(k, "top_k")

    def make(p: Predictions) -> list[AnyView]:
        probs, shares, left = _largest_entries(p, k, f"top_k:{k}")
        probs = np.column_stack([probs, left])
        rest = np.maximum(1 - shares.sum(axis=1), 0)
        shares = np.column_stack([shares, rest])
        labels = shares.argmax(axis=1) if p.labels is not None else None
        score_column = 0 if k == 1 else None
        return [
            _vector(
                p,
                probs,
                labels,
                None if labels is not None else shares,
                f"top_k:{k}",
                score_column=score_column,
                tree_columns=k,
            )
        ]

    return Lens(f"top_k:{k}", make)


def class_groups(mapping: Mapping[Any, Sequence[Any]]) -> Lens:
    """Evaluate groups of classes by summing the probabilities of their members.

    Parameters
    ----------
    mapping : mapping of object to sequence
        Classes of each group, by name or index; every class must occur exactly once.

    Returns
    -------
    Lens
        Lens with a `VectorView` of one column per group.

    Raises
    ------
    LensError
        If the mapping is nested or empty, or a class is missing or occurs twice.

    See Also
    --------
    class_hierarchy : One lens per level of a nested mapping.

    Examples
    --------
    >>> import calibrant as cal
    >>> y_true, y_prob = [0, 2, 1], [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3]]
    >>> lens = cal.class_groups({"animal": [0, 1], "vehicle": [2]})
    >>> round(cal.brier(y_true, y_prob, lens=lens), 4)
    0.1533
    """
    if not isinstance(mapping, Mapping) or not mapping:
        raise LensError(
            "lens",
            "'class_groups' requires a mapping from groups to classes",
            "for example class_groups({'animal': ['cat', 'dog'], 'other': ['car']})",
        )
    if any(isinstance(members, Mapping) for members in mapping.values()):
        raise LensError(
            "lens",
            "'class_groups' requires one level; this mapping is nested",
            "use class_hierarchy(mapping), which gives one lens per level",
        )
    name = "class_groups:" + ",".join(map(str, mapping))

    def make(p: Predictions) -> list[AnyView]:
        _refuse_partial(p, "class_groups")
        owner = np.full(p.k, -1)
        for group, members in enumerate(mapping.values()):
            for member in _leaves(members):
                index = p.class_index(member)
                if owner[index] >= 0:
                    raise LensError("lens", f"class {member!r} is in two groups", "assign every class to one group")
                owner[index] = group
        if (owner < 0).any():
            missing = int(np.argmin(owner))
            raise LensError(
                "lens",
                f"class {missing if p.classes is None else p.classes[missing]!r} is not in any group",
                "assign every class to one group",
            )
        add = np.zeros((p.k, len(mapping)))
        add[np.arange(p.k), owner] = 1
        view = _vector(p, p.probs, p.labels, p.soft, name, logits=p.logits)
        probs = np.concatenate([np.minimum(block.probs @ add, 1) for _, block in view.blocks()])
        if p.labels is not None:
            return [_vector(p, probs, owner[p.labels], None, name)]
        return [_vector(p, probs, None, np.concatenate([block.targets @ add for _, block in view.blocks()]), name)]

    return Lens(name, make, mapping)


def class_hierarchy(mapping: Mapping[Any, Any]) -> dict[int, Lens]:
    """Build one lens for each level of a hierarchy of classes.

    Parameters
    ----------
    mapping : mapping
        Nested mapping from groups to groups or classes, such as ``{'living': {'animal': ['cat'], 'plant': ['oak']}, ...}``.

    Returns
    -------
    dict of int to Lens
        Lenses by level; 1 is the coarsest.

    See Also
    --------
    class_groups : One level of groups.

    Examples
    --------
    >>> import calibrant as cal
    >>> levels = cal.class_hierarchy({"animal": {"pet": [0, 1], "wild": [2]}, "other": [3]})
    >>> {level: lens.name for level, lens in levels.items()}
    {1: 'class_groups:animal,other', 2: 'class_groups:pet,wild,other'}
    """
    if not isinstance(mapping, Mapping) or not mapping:
        raise LensError(
            "lens",
            "'class_hierarchy' requires a nested mapping from groups to classes",
            "for example class_hierarchy({'animal': {'pet': ['cat', 'dog'], 'wild': ['fox']}, 'other': ['car']})",
        )

    levels: dict[int, Lens] = {}
    nodes: dict[Any, Any] = dict(mapping)
    while nodes:
        levels[len(levels) + 1] = class_groups({name: _leaves(node) for name, node in nodes.items()})
        if not any(isinstance(node, Mapping) for node in nodes.values()):
            break
        deeper: dict[Any, Any] = {}
        for name, node in nodes.items():
            deeper.update(node if isinstance(node, Mapping) else {name: node})
        nodes = deeper
    return levels


def _leaves(node: Any) -> list[Any]:
    """The classes below a node of a hierarchy."""
    if isinstance(node, Mapping):
        return [leaf for child in node.values() for leaf in _leaves(child)]
    return list(node) if isinstance(node, (list, tuple, set, frozenset, range)) else [node]


def _parse_number(value: Any, lens: str) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if isinstance(value, bool) or number < 1 or number != float(value):
        raise LensError(
            "lens", f"{lens!r} requires an integer of at least 1; got {value!r}", f"for example {_EXAMPLES[lens]!r}"
        )
    return number


def _parse_pair(detail: str) -> Lens:
    first, comma, second = detail.partition(",")
    if not comma:
        raise LensError("lens", f"'pair' requires two classes; got {detail!r}", "for example 'pair:cat,dog'")
    return pair(first.strip(), second.strip())


_PLAIN: dict[str, Callable[[Predictions], list[AnyView]]] = {
    "binary": _binary,
    "top_label": _top_label,
    "classwise": _classwise,
    "ordinal": _ordinal,
    "canonical": _canonical,
    FLATTENED: _flattened,
}
_MADE: dict[str, Callable[[Any], Lens]] = {
    "class": class_,
    "ordinal": ordinal,
    "pair": _parse_pair,
    "rank": rank,
    "within_top": within_top,
    "top_k": top_k,
}
_EXAMPLES = {
    "class": "class:0",
    "ordinal": "ordinal:0",
    "pair": "pair:0,1",
    "rank": "rank:2",
    "within_top": "within_top:3",
    "top_k": "top_k:5",
}
_NAMES = ["'auto'", *(repr(name) for name in _PLAIN), *(repr(example) for example in _EXAMPLES.values())]

"""Maps of one score, and how they serve several classes: one against the rest, one against one, the top class, all together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from ..curves import curves
from ..curves.logistic_regression import CLIP, SeparatedError
from ..errors import ArgumentError, InPython, Remedy, Use, warn_caller
from ..input.weights import WeightKind
from ..views.view import View
from .base import CountingCalibrator, Input, Method
from .scores import Array, Floats, Scores, TrainingData, normalised, on_scale, scale_of

__all__ = [
    "BetaCalibration",
    "CenteredIsotonicCalibration",
    "IsotonicCalibration",
    "KernelCalibration",
    "PlattScaling",
    "QuadraticLogit",
    "ScoreCalibrator",
    "SplineCalibration",
]

Curve = Callable[[Any], Floats]
Found = TypeVar("Found")
Multiclass = Literal["one_vs_rest", "one_vs_one", "top_versus_all", "pooled"]
# The predicted class stays ahead of the others by this share, so that no tie can turn it.
AHEAD = 1e-12
TIE_BREAK = 1e-9


class ScoreCalibrator(CountingCalibrator):
    """A map from one score to one probability. Several classes are taken apart as `multiclass` says:

    ``"one_vs_rest"`` fits every class against the others and divides each row by its sum; ``"one_vs_one"`` fits every pair on the rows
    of its two classes and couples them; ``"top_versus_all"`` maps the largest probability to how often it is right and scales the
    others, so that the predicted class stays; ``"pooled"`` fits one curve to the probabilities of all classes together.
    """

    takes_any_score = True

    fitted: ClassVar[tuple[str, ...]] = ("curves_",)
    multiclass: Multiclass
    curves_: tuple[Curve, ...]

    def _curve(self, view: View) -> Curve:
        """The curve of one yes-or-no question; its fields must be plain values, so that it can be saved."""
        raise NotImplementedError

    def _fit(self, data: TrainingData) -> None:
        self.curves_ = tuple(self._answered(data, self._curve))

    def _answered(self, data: TrainingData, fit: Callable[[View], Found]) -> list[Found]:
        """What is fitted to each yes-or-no question; where one has one answer only, a warning or an error says why."""
        self.scale_ = scale_of(data)
        views = self._questions(on_scale(data, self.scale_))
        why = next(
            (self._one_answer(data, view) for view in views if view.raw_outcome.min() == view.raw_outcome.max()), ""
        )
        try:
            found = [fit(view) for view in views]
        except SeparatedError as error:
            if not why:
                raise
            remedy: Remedy = ("fit on rows of both outcomes", *error.remedies)
            if data.k > 2 and self.multiclass != "top_versus_all":
                remedy = "drop the class", Use("multiclass", "pooled"), InPython("TemperatureScaling")
            problem = f"{why}, so all outcomes are equal and the coefficients are infinite"
            raise SeparatedError("y", problem, remedy) from None
        if why:
            warn_caller(
                f"all outcomes of a class are equal ({why}), so its calibrator is nearly constant; fit on rows of every class"
            )
        return found

    def _one_answer(self, data: TrainingData, view: View) -> str:
        if data.k > 2 and self.multiclass == "top_versus_all":
            return "every prediction is right" if view.raw_outcome.max() > 0 else "no prediction is right"
        return self._absent(data)

    def _questions(self, data: TrainingData) -> list[View]:
        labels, (weight, kind) = data.labels, data.given_weight
        if data.k == 2:
            return [_view(data.score, labels, weight, kind)]
        probs = data.probs
        if self.multiclass == "one_vs_rest":
            return [_view(probs[:, c], labels == c, weight, kind) for c in range(data.k)]
        if self.multiclass == "pooled":
            target = (labels[:, None] == np.arange(data.k)).ravel()
            return [_view(probs.ravel(), target, None if weight is None else np.repeat(weight, data.k), kind)]
        if self.multiclass == "top_versus_all":
            return [_view(probs.max(axis=1), probs.argmax(axis=1) == labels, weight, kind)]
        return [
            _view(_against(probs[rows], a, b), labels[rows] == a, None if weight is None else weight[rows], kind)
            for a, b in _pairs(data.k)
            for rows in [self._rows_of(labels, a, b)]
        ]

    @staticmethod
    def _rows_of(labels: Array, a: int, b: int) -> Array:
        rows = np.flatnonzero((labels == a) | (labels == b))
        if not len(rows):
            raise ArgumentError(
                "y", f"has no row of class {a} or {b}", (Use("multiclass", "one_vs_rest"), Use("multiclass", "pooled"))
            )
        return rows

    def _predict(self, data: Scores) -> Floats:
        if data.k == 2:
            rate = self.curves_[0](on_scale(data, self.scale_).score)
            return np.column_stack([1 - rate, rate])
        probs = data.probs
        if self.multiclass == "one_vs_rest":
            return normalised(
                np.column_stack([curve(p) for curve, p in zip(self.curves_, probs.T, strict=True)]), probs
            )
        if self.multiclass == "pooled":
            rates = self.curves_[0](probs.ravel()).reshape(probs.shape)
            # A little of the score keeps pooled classes in their order (Zhang et al. 2020).
            return normalised(rates + TIE_BREAK * probs if self.keeps_order else rates, probs)
        if self.multiclass == "top_versus_all":
            return with_top(probs, self.curves_[0](probs.max(axis=1)))
        return self._coupled(probs)

    def _coupled(self, probs: Floats) -> Floats:
        """From the probability of each class against each other to one of each: 1 / (sum_j 1/r_kj - (K - 2)) (Price et al. 1995)."""
        k = probs.shape[1]
        total = np.zeros(probs.shape)
        for (a, b), curve in zip(_pairs(k), self.curves_, strict=True):
            rate = np.clip(curve(_against(probs, a, b)), 1e-12, 1 - 1e-12)
            total[:, a] += 1 / rate
            total[:, b] += 1 / (1 - rate)
        return normalised(1 / (total - (k - 2)), probs)


def _view(score: Any, outcome: Any, weight: Array | None, kind: WeightKind) -> View:
    return View(np.ascontiguousarray(score), np.asarray(outcome).astype(np.uint8), weight, kind)


def _pairs(k: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(k) for b in range(a + 1, k)]


def _against(probs: Floats, a: int, b: int) -> Floats:
    """The share of class a in the probability of both; one half where neither has any."""
    both = probs[:, a] + probs[:, b]
    return np.divide(probs[:, a], both, out=np.full(len(probs), 0.5), where=both > 0)


def with_top(probs: Floats, confidence: Floats) -> Floats:
    """Rows whose largest entry is replaced and whose others share the rest as before; the largest stays the largest.

    The confidence is at least 1/K. What would exceed it elsewhere is shared by the classes that have room.
    """
    k = probs.shape[1]
    rows, top = np.arange(len(probs)), probs.argmax(axis=1)
    confidence = np.clip(confidence, (1 + AHEAD) / k, 1.0)
    others = probs.astype(np.float64)
    others[rows, top] = 0
    out = _shared(others, np.ones(others.shape, bool), top, 1 - confidence)
    limit = confidence * (1 - AHEAD / 8)
    crowded = np.flatnonzero((out > limit[:, None]).any(axis=1))
    if len(crowded):
        out[crowded] = _filled(out[crowded], others[crowded], top[crowded], 1 - confidence[crowded], limit[crowded])
    out[rows, top] = confidence
    return out


def _shared(weight: Floats, free: Array, top: Array, amount: Floats) -> Floats:
    """An amount for each row, shared by the free classes in proportion to their weight, evenly where they have none."""
    free[np.arange(len(top)), top] = False
    weight = np.where(free, weight, 0)
    total = weight.sum(axis=1)
    weight = np.where((total > 0)[:, None], weight, free)
    total = np.maximum(weight.sum(axis=1), np.finfo(float).tiny)
    return np.asarray(weight * (amount / total)[:, None])


def _filled(out: Floats, others: Floats, top: Array, amount: Floats, limit: Floats) -> Floats:
    """Water filling: classes above the limit keep the limit, and the rest goes to those below, until all fit."""
    full = np.zeros(out.shape, bool)
    for _ in range(out.shape[1]):
        over = (out > limit[:, None]) & ~full
        if not over.any():
            break
        full |= over
        left = np.maximum(amount - full.sum(axis=1) * limit, 0)
        out = np.where(full, limit[:, None], _shared(others, ~full, top, left))
    return out


@dataclass(eq=False, repr=False)
class PlattScaling(ScoreCalibrator):
    """sigmoid(A logit(p) + B), by greatest likelihood (Platt 1999).

    A is negative where higher scores go with fewer events: the map then turns the order round, as the rows ask for. Where `scale_` is not
    1, as with margins in the hundreds, the slope of the curve is that of the log-odds divided by it.

    Parameters
    ----------
    input
        What the scores are.
    targets
        ``"smoothed"`` labels as in the paper, which never separate, or ``"plain"`` ones.
    multiclass
        How several classes are taken apart; see `ScoreCalibrator`.
    """

    methods = (Method("platt", "Platt scaling", {"binary": (0, 1)}),)
    keeps_order = False

    least_probability = CLIP

    input: Input = "prob"
    targets: Literal["smoothed", "plain"] = "smoothed"
    multiclass: Multiclass = "one_vs_rest"

    def _curve(self, view: View) -> Curve:
        if self.targets == "plain":
            return plain_logistic(view)
        size = view.effective_size
        events = view.mean(view.outcome) * size
        high, low = (events + 1) / (events + 2), 1 / (size - events + 2)
        smoothed = np.where(view.raw_outcome > 0, high, low)
        return curves.smoothed_logistic(View(view.raw_score, smoothed, view.weight, view.weight_kind))


def likeliest(curve: Callable[[View], Found], view: View) -> Found:
    """The curve of greatest likelihood, or an error that says what else to do."""
    try:
        return curve(view)
    except SeparatedError as error:
        remedy = InPython('use PlattScaling(targets="smoothed"), which is always finite, or IsotonicCalibration')
        raise SeparatedError("y", error.problem, remedy) from None


def plain_logistic(view: View) -> curves.Logistic:
    """The logistic curve of the labels as they are."""
    return likeliest(curves.logistic, view)


@dataclass(eq=False, repr=False)
class QuadraticLogit(ScoreCalibrator):
    """sigmoid(b0 + b1 l + b2 l^2) of the log-odds l, by greatest likelihood."""

    methods = (Method("quadratic_logit", "a quadratic of the log-odds", {"binary": (200, 0)}),)
    least_probability = CLIP

    input: Input = "prob"
    multiclass: Multiclass = "one_vs_rest"

    def _curve(self, view: View) -> Curve:
        return likeliest(curves.quadratic, view)


@dataclass(eq=False, repr=False)
class BetaCalibration(ScoreCalibrator):
    """sigmoid(a ln p - b ln(1 - p) + c) with a, b not negative (Kull et al. 2017)."""

    methods = (Method("beta", "beta calibration", {"binary": (200, 0)}),)
    keeps_order = True

    least_probability = CLIP

    input: Input = "prob"
    multiclass: Multiclass = "one_vs_rest"

    def _curve(self, view: View) -> Curve:
        return likeliest(curves.beta, view)


@dataclass(eq=False, repr=False)
class IsotonicCalibration(ScoreCalibrator):
    """The rising curve of least squares, straight lines between pooled neighbours (Zadrozny and Elkan 2002)."""

    methods: ClassVar[tuple[Method, ...]] = (
        Method("isotonic", "isotonic regression", {"binary": (2000, 0)}),
        Method("isotonic_pooled", "pooled isotonic regression", {"multiclass": (2000, 0)}, {"multiclass": "pooled"}),
    )
    keeps_order = True

    input: Input = "prob"
    multiclass: Multiclass = "one_vs_rest"

    def _curve(self, view: View) -> Curve:
        return curves.isotonic(view)


class CenteredIsotonicCalibration(IsotonicCalibration):
    """Isotonic blocks placed at their mean score, with straight lines between (Oron and Flournoy 2017)."""

    methods = (Method("centered_isotonic", "centered isotonic regression", {"binary": (2000, 0)}),)

    def _curve(self, view: View) -> Curve:
        return curves.centered_isotonic(view)


@dataclass(eq=False, repr=False)
class SplineCalibration(ScoreCalibrator):
    """The score plus the slope of a spline through the cumulative differences (Gupta et al. 2021)."""

    methods = (Method("spline", "a spline", {"binary": (2000, 0)}),)
    input: Input = "prob"
    knots: int = 6
    multiclass: Multiclass = "one_vs_rest"

    def _curve(self, view: View) -> Curve:
        return curves.spline(view, self.knots)


@dataclass(eq=False, repr=False)
class KernelCalibration(ScoreCalibrator):
    """The mean outcome around each score, weighed by a Gaussian."""

    methods = (Method("kernel"),)
    input: Input = "prob"
    bandwidth: float = 0.05
    adaptive: bool = False
    multiclass: Multiclass = "one_vs_rest"

    def _curve(self, view: View) -> Curve:
        return curves.kernel(view, self.bandwidth, self.adaptive)

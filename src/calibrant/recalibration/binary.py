"""Calibrators of one score, and the reductions of several classes to binary problems: one-vs-rest, one-vs-one, top label, pooled."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from ..curves import curves
from ..curves.logistic_regression import CLIP, SeparatedError
from ..errors import ArgumentError, warn_caller
from ..input.weights import WeightKind
from ..views.view import View
from . import formulas
from .base import CountingCalibrator, Input, Method
from .coefficients import KnotCurves, LinearCurves
from .formulas import Formula, ScoreFormulas
from .intervals import limits_of_increasing
from .scores import Array, Floats, Scores, TrainingData, normalised, on_scale, scale_of

Curve = Callable[[Any], Floats]
Found = TypeVar("Found")
Multiclass = Literal["one_vs_rest", "one_vs_one", "top_versus_all", "pooled"]
# Relative margin by which the predicted class stays ahead of the others, so that ties cannot change it.
AHEAD = 1e-12
TIE_BREAK = 1e-9
SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)


class ScoreCalibrator(CountingCalibrator):
    """Base class of calibrators that fit a curve from one score to one probability.

    More than two classes are reduced to binary problems according to `multiclass`: ``"one_vs_rest"`` fits each class against the others
    and divides each row by its sum; ``"one_vs_one"`` fits each pair on the rows of its two classes and couples the results;
    ``"top_versus_all"`` calibrates the largest probability to the accuracy and rescales the others, so that the predicted class does not
    change; ``"pooled"`` fits one curve to the probabilities of all classes.

    Attributes
    ----------
    curves_
    scale_
    classes_
    fit_record_
    """

    takes_any_score = True
    _curve_limits: ClassVar[Any] = None
    """Limits of the curve of one binary problem by a formula, from the curve, its rows, scores and a level."""

    fitted: ClassVar[tuple[str, ...]] = ("curves_",)
    multiclass: Multiclass
    curves_: tuple[Curve, ...]

    def _curve(self, view: View) -> Curve:
        """Fit the curve of one binary problem; its fields must be plain values, so that it can be saved."""
        raise NotImplementedError

    def _fit(self, data: TrainingData) -> None:
        self.curves_ = tuple(self._answered(data, self._curve))

    def _answered(self, data: TrainingData, fit: Callable[[View], Found]) -> list[Found]:
        """Apply `fit` to each binary problem; warn or raise if one of them has a single outcome."""
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
            remedy = f"fit on rows of both outcomes, or {error.remedy}"
            if data.k > 2 and self.multiclass != "top_versus_all":
                remedy = "drop the class, use multiclass='pooled', or TemperatureScaling"
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

    def _questions(self, data: TrainingData, partial: bool = False) -> list[View]:
        """The binary problems; of `partial` data, a pair of classes may have no rows."""
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
        views = []
        for a, b in _pairs(data.k):
            rows = np.flatnonzero((labels == a) | (labels == b))
            if not (len(rows) or partial):
                remedy = "use multiclass='one_vs_rest' or multiclass='pooled'"
                raise ArgumentError("y", f"has no row of class {a} or {b}", remedy)
            own = None if weight is None else weight[rows]
            views.append(_view(_against(probs[rows], a, b), labels[rows] == a, own, kind))
        return views

    def _limits(self, rows: TrainingData, at: Scores, level: float) -> tuple[Floats, Floats] | None:
        if self._curve_limits is None or not (at.k == 2 or self.multiclass == "one_vs_rest"):
            return super()._limits(rows, at, level)
        views, new = self._questions(on_scale(rows, self.scale_)), on_scale(at, self.scale_)
        columns = [new.score] if at.k == 2 else new.probs.T
        ends = [
            self._curve_limits(curve, view, column, level)
            for curve, view, column in zip(self.curves_, views, columns, strict=True)
        ]
        low, high = (np.column_stack(each) for each in zip(*ends, strict=True))
        return low, high

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
            # A small multiple of the score preserves the order of classes in the same block (Zhang et al. 2020).
            return normalised(rates + TIE_BREAK * probs if self.keeps_order else rates, probs)
        if self.multiclass == "top_versus_all":
            return with_top(probs, self.curves_[0](probs.max(axis=1)))
        return self._coupled(probs)

    def _is_increasing(self) -> bool:
        return self.keeps_order or all(map(curves.is_increasing, self.curves_))

    def _formula(self, x: ScoreFormulas) -> Formula:
        if x.k == 2:
            rate = self._curve_formula(0, x.score)
            return formulas.join(1 - rate, rate)
        if self.multiclass == "one_vs_rest":
            rates = formulas.join(*(self._curve_formula(c, x.probs.column(c)) for c in range(x.k)))
            return formulas.normalised(rates, x.probs)
        if self.multiclass == "pooled":
            rates = self._curve_formula(0, x.probs)
            return formulas.normalised(rates + x.probs * TIE_BREAK if self.keeps_order else rates, x.probs)
        if self.multiclass == "one_vs_one":
            return self._coupled_formula(x.probs)
        return super()._formula(x)

    def _curve_formula(self, number: int, score: Formula) -> Formula:
        """The curve of one binary problem."""
        curve = formulas.curve_formula(self.curves_[number], score)
        return super()._formula(ScoreFormulas(score, False)) if curve is None else curve

    def _coupled_formula(self, probs: Formula) -> Formula:
        k = probs.width
        total = formulas.constant(np.full(k, 2.0 - k))
        for number, (a, b) in enumerate(_pairs(k)):
            own, unit = probs.column(a), np.eye(k)
            both = own + probs.column(b)
            share = formulas.choose(both, own / formulas.choose(both, both, 1.0), 0.5)
            rate = self._curve_formula(number, share).clip(1e-12, 1 - 1e-12)
            total = total + (1 / rate) * unit[a] + (1 / (1 - rate)) * unit[b]
        return formulas.normalised(1 / total, probs)

    def _coupled(self, probs: Floats) -> Floats:
        """Couple pairwise probabilities: p_k proportional to 1 / (sum_j 1/r_kj - (K - 2)) (Price et al. 1995)."""
        k = probs.shape[1]
        total = np.zeros(probs.shape)
        for (a, b), curve in zip(_pairs(k), self.curves_, strict=True):
            rate = np.clip(curve(_against(probs, a, b)), 1e-12, 1 - 1e-12)
            total[:, a] += 1 / rate
            total[:, b] += 1 / (1 - rate)
        return normalised(1 / (total - (k - 2)), probs)


def _view(score: Any, outcome: Any, weight: Array | None, kind: WeightKind) -> View:
    # Between subnormal numbers the slope of a curve would overflow.
    score = np.where((score > 0) & (score < SMALLEST_NORMAL), 0.0, score)
    return View(score, np.asarray(outcome).astype(np.uint8), weight, kind)


def _pairs(k: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(k) for b in range(a + 1, k)]


def _against(probs: Floats, a: int, b: int) -> Floats:
    """p_a / (p_a + p_b); one half where both are 0."""
    both = probs[:, a] + probs[:, b]
    return np.divide(probs[:, a], both, out=np.full(len(probs), 0.5), where=both > 0)


def with_top(probs: Floats, confidence: Floats) -> Floats:
    """Replace the largest entry of each row by `confidence` and rescale the others; the largest entry remains the largest.

    The confidence is at least 1/K. Entries that would exceed it are capped, and the excess is distributed over the other classes.
    """
    rows, top = np.arange(len(probs)), probs.argmax(axis=1)
    confidence = np.clip(confidence, (1 + AHEAD) / probs.shape[1], 1.0)
    others = np.ones(probs.shape, bool)
    others[rows, top] = False
    out = fill_classes(probs, others, 1 - confidence, cap=confidence * (1 - AHEAD / 8))
    out[rows, top] = confidence
    return out


def fill_classes(
    probs: Floats, side: Array, amount: Floats, floor: Floats | None = None, cap: Floats | None = None
) -> Floats:
    """Scale the classes of one side of each row to sum to an amount, none below the floor or above the cap; 0 elsewhere."""
    limit = floor if floor is not None else cap
    held = np.zeros(side.shape, bool)
    while True:
        free = side & ~held
        weight = np.where(free, probs, 0)
        total = weight.sum(axis=1)
        weight = np.where((total > 0)[:, None], weight, free)
        total = np.maximum(weight.sum(axis=1), np.finfo(float).tiny)
        left = amount if limit is None else np.maximum(amount - held.sum(axis=1) * limit, 0)
        out = weight * (left / total)[:, None]
        if limit is None:
            return np.asarray(out)
        out = np.where(held, limit[:, None], out)
        beyond = free & ((out < limit[:, None]) if floor is not None else (out > limit[:, None]))
        if not beyond.any():
            return np.asarray(out)
        held |= beyond


@dataclass(eq=False, repr=False)
class PlattScaling(LinearCurves, ScoreCalibrator):
    r"""Platt scaling: logistic regression of the outcome on the log-odds of the score.

    With two parameters it needs few rows. It corrects over- or underconfidence (the slope) together with a wrong mean (the
    intercept), and is the usual choice for the decision function of a margin classifier (``input="logit"``).

    Parameters
    ----------
    input
    targets : {"smoothed", "plain"}, default "smoothed"
        Targets of the regression: ``"smoothed"`` as in [1]_, for which the fit is always finite, or the ``"plain"`` labels, which is
        what clinical publications call logistic recalibration (``method="logistic_recalibration"`` of `recalibrate`).
    multiclass

    Attributes
    ----------
    curves_ : tuple of curves
        Fitted logistic curves, one per binary problem, with attributes ``slope`` and ``intercept``.
    coef_ : ndarray of shape (P, 1)
        Slope :math:`A` of each of P binary problems.
    intercept_ : ndarray of shape (P,)
        Intercept :math:`B` of each binary problem.
    scale_
    classes_
    fit_record_

    See Also
    --------
    BetaCalibration : Three parameters, for different miscalibration at the two ends.
    TemperatureScaling : The slope alone.
    calibrant.cox_slope : The same regression as a measure of calibration.

    Notes
    -----
    With :math:`\ell = \ln(p / (1 - p))`,

    .. math:: q = \frac{1}{1 + e^{-(A \ell + B)}},

    where :math:`A` and :math:`B` are estimated by maximum likelihood. Smoothed targets are :math:`(n_1 + 1) / (n_1 + 2)` for events and
    :math:`1 / (n_0 + 2)` for non-events. With plain targets :math:`A` and :math:`B` are `cox_slope` and `cox_intercept` of the same rows, and
    the mean predicted probability of these rows becomes their observed rate. :math:`A` is negative if higher scores have fewer events; the order is then reversed. If `scale_`
    is not 1, the slope of ``curves_`` refers to log-odds divided by it; `coef_` refers to the log-odds themselves.

    References
    ----------
    .. [1] Platt, J. (1999). Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods.
       Advances in Large Margin Classifiers.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), rng=0)
    >>> calibrator = cal.PlattScaling().fit(data.y_prob, data.y_true)
    >>> calibrator.coef_.round(2)
    array([[0.54]])
    >>> calibrator.predict_proba([0.9]).round(3)
    array([[0.233, 0.767]])

    Logistic recalibration, and the coefficients that it corrects:

    >>> plain = cal.PlattScaling(targets="plain").fit(data.y_prob, data.y_true)
    >>> round(float(plain.coef_[0, 0]) - cal.cox_slope(data.y_true, data.y_prob), 6)
    0.0
    """

    methods = (
        Method("platt", "Platt scaling", {"binary": (0, 1)}),
        Method("logistic_recalibration", options={"targets": "plain"}),
    )
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
        return curves.logistic(View(view.raw_score, smoothed, view.weight, view.weight_kind))


def likeliest(curve: Callable[[View], Found], view: View) -> Found:
    """Fit a curve by maximum likelihood; the error for separated data names alternatives."""
    try:
        return curve(view)
    except SeparatedError as error:
        remedy = 'use PlattScaling(targets="smoothed"), which is always finite, or IsotonicCalibration'
        raise SeparatedError("y", error.problem, remedy) from None


def plain_logistic(view: View) -> curves.Logistic:
    """Logistic regression on the plain labels."""
    return likeliest(curves.logistic, view)


@dataclass(eq=False, repr=False)
class QuadraticLogit(LinearCurves, ScoreCalibrator):
    r"""Logistic regression on a quadratic polynomial of the log-odds.

    It corrects asymmetric miscalibration, such as overestimation at both ends, that a slope and an intercept cannot. The
    curve need not be monotone.

    Parameters
    ----------
    input
    multiclass

    Attributes
    ----------
    curves_
    coef_ : ndarray of shape (P, 2)
        Coefficients :math:`b_1` and :math:`b_2` of each of P binary problems.
    intercept_ : ndarray of shape (P,)
        Constant :math:`b_0` of each binary problem.
    scale_
    classes_
    fit_record_

    See Also
    --------
    PlattScaling : The same without the quadratic term.
    BetaCalibration : Three parameters, monotone.

    Notes
    -----
    With :math:`\ell = \ln(p / (1 - p))`,

    .. math:: q = \frac{1}{1 + e^{-(b_0 + b_1 \ell + b_2 \ell^2)}},

    where the coefficients are estimated by maximum likelihood.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), rng=0)
    >>> calibrator = cal.QuadraticLogit().fit(data.y_prob, data.y_true)
    >>> calibrator.predict_proba([0.1, 0.9])[:, 1].round(3)
    array([0.228, 0.765])
    """

    methods = (Method("quadratic_logit", "a quadratic of the log-odds", {"binary": (200, 0)}),)
    least_probability = CLIP

    input: Input = "prob"
    multiclass: Multiclass = "one_vs_rest"

    def _curve(self, view: View) -> Curve:
        return likeliest(curves.quadratic, view)


@dataclass(eq=False, repr=False)
class BetaCalibration(LinearCurves, ScoreCalibrator):
    r"""Beta calibration: logistic regression on the logarithms of the probability and of its complement.

    A monotone family with three parameters that contains the identity. It is exact if the scores of each class follow a
    beta distribution, and suits probabilities; for the decision function of a margin classifier use `PlattScaling`.

    Parameters
    ----------
    input
    multiclass
    parameters : {"abm", "ab", "am", "a"}, default "abm"
        Parameters that are estimated: all three (``"abm"``); :math:`a` and :math:`b` with the midpoint :math:`m = 1/2`, for predictions whose
        predicted class is to stay the same (``"ab"``, the method ``beta_ab``); :math:`a = b` and the midpoint, which is logistic recalibration
        with a non-negative slope (``"am"``); :math:`a = b` alone, which is a temperature (``"a"``).

    Attributes
    ----------
    curves_ : tuple of curves
        Fitted curves, one per binary problem, with attributes ``a``, ``b`` and ``c``.
    coef_ : ndarray of shape (P, 2)
        Coefficients :math:`a` and :math:`b` of each of P binary problems.
    intercept_ : ndarray of shape (P,)
        Constant :math:`c` of each binary problem.
    scale_
    classes_
    fit_record_

    See Also
    --------
    PlattScaling : Two parameters.
    DirichletCalibration : The counterpart for several classes.

    Notes
    -----
    .. math:: q = \frac{1}{1 + e^{-(a \ln p - b \ln(1 - p) + c)}}, \qquad a, b \ge 0,

    of maximum likelihood; the identity is :math:`a = b = 1`, :math:`c = 0`. If the estimate of :math:`a` or :math:`b` is negative, that term
    is dropped. The midpoint :math:`m` has :math:`q(m) = 1/2`, so that :math:`c = b \ln(1 - m) - a \ln m`; with :math:`m = 1/2` it is
    :math:`c = (a - b) \ln 2`.

    References
    ----------
    .. [1] Kull, M., Silva Filho, T., Flach, P. (2017). Beta calibration: a well-founded and easily implemented improvement on logistic
       calibration for binary classifiers. AISTATS.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), rng=0)
    >>> calibrator = cal.BetaCalibration().fit(data.y_prob, data.y_true)
    >>> calibrator.coef_.round(2), calibrator.intercept_.round(2)
    (array([[0.59, 0.5 ]]), array([0.08]))
    """

    methods = (
        Method("beta", "beta calibration", {"binary": (200, 0)}),
        Method("beta_ab", "beta calibration with midpoint 1/2", options={"parameters": "ab"}),
    )
    keeps_order = True

    least_probability = CLIP

    input: Input = "prob"
    multiclass: Multiclass = "one_vs_rest"
    parameters: curves.BetaParameters = "abm"

    def _curve(self, view: View) -> Curve:
        return likeliest(partial(curves.beta, parameters=self.parameters), view)

    def _terms(self, score: Floats) -> Floats:
        low, high = curves.beta_features(score)
        if self.parameters in ("am", "a"):  # a constant, unless the midpoint is fixed
            return np.column_stack([low + high, np.ones_like(low)])[:, : len(self.parameters)]
        middle = math.log(2)
        terms = [low, high, np.ones_like(low)] if self.parameters == "abm" else [low + middle, high - middle]
        return np.column_stack(terms)


@dataclass(eq=False, repr=False)
class IsotonicCalibration(KnotCurves, ScoreCalibrator):
    r"""Isotonic regression: the non-decreasing curve of least squares.

    It assumes no more than monotonicity and therefore needs many rows, about 2,000 or more; with fewer it overfits. Blocks at the ends
    may give probabilities of exactly 0 or 1.

    Parameters
    ----------
    input
    multiclass

    Attributes
    ----------
    curves_
    knots_
    values_
    scale_
    classes_
    fit_record_

    See Also
    --------
    CenteredIsotonicCalibration : Strictly increasing between the blocks.
    VennAbers : Isotonic regression with a validity guarantee.
    NearIsotonicEnsemble : Average over almost monotone curves.

    Notes
    -----
    The pool-adjacent-violators algorithm minimizes

    .. math:: \sum_i w_i (y_i - f(p_i))^2 \quad \text{over non-decreasing } f.

    Between blocks the curve is interpolated linearly, and it is constant beyond the first and last score. With ``multiclass="pooled"``,
    :math:`10^{-9} p` is added, so that classes in the same block keep their order [2]_.

    References
    ----------
    .. [1] Zadrozny, B., Elkan, C. (2002). Transforming classifier scores into accurate multiclass probability estimates. KDD.
    .. [2] Zhang, J., Kailkhura, B., Han, T. Y.-J. (2020). Mix-n-Match: ensemble and compositional methods for uncertainty calibration
       in deep learning. ICML.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), rng=0)
    >>> calibrator = cal.IsotonicCalibration().fit(data.y_prob, data.y_true)
    >>> calibrator.predict_proba([0.1, 0.5, 0.9])[:, 1].round(3)
    array([0.168, 0.447, 0.761])
    """

    methods: ClassVar[tuple[Method, ...]] = (
        Method("isotonic", "isotonic regression", {"binary": (2000, 0)}),
        Method("isotonic_pooled", "pooled isotonic regression", {"multiclass": (2000, 0)}, {"multiclass": "pooled"}),
    )
    keeps_order = True
    _curve_limits = staticmethod(limits_of_increasing)

    input: Input = "prob"
    multiclass: Multiclass = "one_vs_rest"

    def _curve(self, view: View) -> Curve:
        return curves.isotonic(view)


class CenteredIsotonicCalibration(IsotonicCalibration):
    """Centered isotonic regression: isotonic blocks placed at their mean score, with linear interpolation between them.

    Strictly increasing between the blocks, so that distinct scores keep distinct probabilities, and with less bias than isotonic
    regression where the true curve is smooth.

    Parameters
    ----------
    input
    multiclass

    Attributes
    ----------
    curves_
    knots_
    values_
    scale_
    classes_
    fit_record_

    See Also
    --------
    IsotonicCalibration : Constant on each block.

    Notes
    -----
    Blocks are those of the pool-adjacent-violators algorithm. Each block becomes one point, at the weighted mean of its scores and at
    its observed rate.

    References
    ----------
    .. [1] Oron, A. P., Flournoy, N. (2017). Centered isotonic regression: point and interval estimation for dose-response studies.
       Statistics in Biopharmaceutical Research 9(3).

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), rng=0)
    >>> calibrator = cal.CenteredIsotonicCalibration().fit(data.y_prob, data.y_true)
    >>> calibrator.predict_proba([0.1, 0.5, 0.9])[:, 1].round(3)
    array([0.203, 0.462, 0.761])
    """

    methods = (Method("centered_isotonic", "centered isotonic regression", {"binary": (2000, 0)}),)

    def _curve(self, view: View) -> Curve:
        return curves.centered_isotonic(view)


@dataclass(eq=False, repr=False)
class SplineCalibration(KnotCurves, ScoreCalibrator):
    r"""Spline calibration: the derivative of a natural cubic spline fitted to the cumulative differences.

    Smooth and free of bins; it follows miscalibration of any shape and needs many rows.

    Parameters
    ----------
    input
    knots : int, default 6
        Number of knots of the spline.
    multiclass

    Attributes
    ----------
    curves_
    knots_
    values_
    scale_
    classes_
    fit_record_

    See Also
    --------
    IsotonicCalibration : Monotone and piecewise constant.
    KernelCalibration : Local averages.

    Notes
    -----
    With :math:`h(t)` the sum of :math:`y - p`, divided by the number of rows, over the share :math:`t` of rows with the lowest scores, and
    :math:`S` the least-squares spline through :math:`h`,

    .. math:: q = p + S'(t(p)).

    References
    ----------
    .. [1] Gupta, K., Rahimi, A., Ajanthan, T., Mensink, T., Sminchisescu, C., Hartley, R. (2021). Calibration of neural networks using
       splines. ICLR.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), rng=0)
    >>> calibrator = cal.SplineCalibration().fit(data.y_prob, data.y_true)
    >>> calibrator.predict_proba([0.1, 0.5, 0.9])[:, 1].round(3)
    array([0.221, 0.478, 0.755])
    """

    methods = (Method("spline", "a spline", {"binary": (2000, 0)}),)
    input: Input = "prob"
    knots: int = 6
    multiclass: Multiclass = "one_vs_rest"

    def _curve(self, view: View) -> Curve:
        return curves.spline(view, self.knots)


@dataclass(eq=False, repr=False)
class KernelCalibration(ScoreCalibrator):
    r"""Kernel calibration: Nadaraya-Watson regression of the outcome on the score with a Gaussian kernel.

    Parameters
    ----------
    input
    bandwidth : float, default 0.05
        Standard deviation of the kernel.
    adaptive : bool, default False
        Whether the bandwidth is wider where scores are sparse.
    multiclass

    Attributes
    ----------
    curves_
    scale_
    classes_
    fit_record_

    See Also
    --------
    SplineCalibration : A smooth curve without a bandwidth.

    Notes
    -----
    .. math:: q(p) = \frac{\sum_i w_i K_h(p - p_i) y_i}{\sum_i w_i K_h(p - p_i)}.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), rng=0)
    >>> calibrator = cal.KernelCalibration().fit(data.y_prob, data.y_true)
    >>> calibrator.predict_proba([0.1, 0.5, 0.9])[:, 1].round(3)
    array([0.226, 0.447, 0.768])
    """

    methods = (Method("kernel"),)
    input: Input = "prob"
    bandwidth: float = 0.05
    adaptive: bool = False
    multiclass: Multiclass = "one_vs_rest"

    def _curve(self, view: View) -> Curve:
        return curves.kernel(view, self.bandwidth, self.adaptive)

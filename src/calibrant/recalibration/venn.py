"""Inductive and cross Venn-Abers predictors: two isotonic fits per score, as an interval and as one probability."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ..curves import curves
from ..curves.logistic_regression import groups_of
from ..errors import ArgumentError, UndefinedMetricError
from ..input.convert import codes_of, column
from ..util.checks import check_whole
from ..views.view import View
from . import formulas
from .base import Input, Method
from .binary import Curve, Multiclass, ScoreCalibrator
from .formulas import Formula
from .intervals import limits_of_increasing
from .scores import Floats, TrainingData, dealt, on_scale, order_of_content, with_weight

Rule = Literal["log", "brier"]
Points = tuple[list[float], list[float]]


@dataclass(eq=False, repr=False)
class VennAbers(ScoreCalibrator):
    r"""Inductive Venn-Abers predictor: isotonic regression with the new row added as a non-event and as an event.

    One of the two resulting probabilities is perfectly calibrated if the rows are exchangeable, whatever their distribution;
    `predict_p0_p1` returns both. `predict_proba` merges them into one probability, which regularizes isotonic regression.

    Parameters
    ----------
    input
    rule : {"log", "brier"}, default "log"
        Loss whose maximum regret the merged probability minimizes.
    multiclass

    Attributes
    ----------
    low_ : tuple of curves
        Probability if the new row is a non-event, one curve per binary problem.
    high_ : tuple of curves
        Probability if the new row is an event, one curve per binary problem.
    scale_
    classes_
    fit_record_

    See Also
    --------
    CrossVennAbers : Several of them, one per fold, merged.
    IsotonicCalibration : One isotonic fit.

    Notes
    -----
    With :math:`p_0` and :math:`p_1` the isotonic rates at the score of the new row, added as a non-event and as an event, the merged
    probability is

    .. math:: q = \frac{p_1}{1 - p_0 + p_1} \quad \text{(log loss)}, \qquad
              q = p_1 + \frac{p_0^2 - p_1^2}{2} \quad \text{(Brier score)}.

    With ``multiclass="one_vs_one"`` (the method ``venn_abers_one_vs_one``) each pair of classes has a predictor of its own, fitted on its rows, and
    the merged probabilities :math:`q_{kj}` of class :math:`k` against class :math:`j` are coupled [2]_ [3]_:

    .. math:: q_k \propto \Bigl(\sum_{j \ne k} \frac{1}{q_{kj}} - (K - 2)\Bigr)^{-1}.

    References
    ----------
    .. [1] Vovk, V., Petej, I., Fedorova, V. (2015). Large-scale probabilistic predictors with and without guarantees of validity. NeurIPS.
    .. [2] Manokhin, V. (2017). Multi-class probabilistic classification using inductive and cross Venn-Abers predictors. COPA.
    .. [3] Price, D., Knerr, S., Personnaz, L., Dreyfus, G. (1995). Pairwise neural network classifiers with probabilistic outputs. NIPS 7.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), rng=0)
    >>> calibrator = cal.VennAbers().fit(data.y_prob, data.y_true)
    >>> calibrator.predict_proba([0.9])[:, 1].round(3)
    array([0.759])
    >>> low, high = calibrator.predict_p0_p1([0.9])
    >>> low.round(3), high.round(3)
    (array([0.758]), array([0.762]))
    """

    methods: ClassVar[tuple[Method, ...]] = (
        Method("venn_abers", candidate={"multiclass": (2000, 100)}),
        Method("venn_abers_one_vs_one", "pairwise Venn-Abers calibration", options={"multiclass": "one_vs_one"}),
    )
    keeps_order = True
    _curve_limits = staticmethod(limits_of_increasing)
    fitted = ("low_", "high_")

    input: Input = "prob"
    rule: Rule = "log"
    multiclass: Multiclass = "one_vs_rest"

    def _fit(self, data: TrainingData) -> None:
        fits = self._answered(data, both_ends)
        self.low_: tuple[Any, ...] = tuple(low for low, _ in fits)
        self.high_: tuple[Any, ...] = tuple(high for _, high in fits)

    @property
    def curves_(self) -> tuple[Curve, ...]:  # type: ignore[override]
        """Merged probability of each binary problem."""
        return tuple(self._merged_curve(low, high) for low, high in zip(self.low_, self.high_, strict=True))

    def _merged_curve(self, low: Any, high: Any) -> Curve:
        def curve(scores: Any) -> Floats:
            return np.asarray(self._merge(low(scores), high(scores)))

        return curve

    def _merge(self, no: Any, yes: Any) -> Any:
        return yes / (1 - no + yes) if self.rule == "log" else yes + no * no / 2 - yes * yes / 2

    def _curve_formula(self, number: int, score: Formula) -> Formula:
        return self._merge(
            *(score.interpolate(end[number].scores, end[number].rates) for end in (self.low_, self.high_))
        )

    def predict_p0_p1(self, scores: Any) -> tuple[Floats, Floats]:
        """Predict the probabilities under both outcomes of the new row.

        Parameters
        ----------
        scores

        Returns
        -------
        low : ndarray of shape (N,) or (N, K)
            Probability if the row is a non-event: of the second of two classes, or of each class against the rest.
        high : ndarray of shape (N,) or (N, K)
            Probability if the row is an event.

        Raises
        ------
        ArgumentError
            If there are more than two classes and `multiclass` is not ``"one_vs_rest"``.
        """
        data = self._read(scores)
        if data.k == 2:
            score = on_scale(data, self.scale_).score
            return _values(self.low_[0], score).min(axis=0), _values(self.high_[0], score).max(axis=0)
        if self.multiclass != "one_vs_rest":
            raise ArgumentError("multiclass", "must be 'one_vs_rest' for intervals of several classes")
        low = [_values(end, p).min(axis=0) for end, p in zip(self.low_, data.probs.T, strict=True)]
        high = [_values(end, p).max(axis=0) for end, p in zip(self.high_, data.probs.T, strict=True)]
        return np.column_stack(low), np.column_stack(high)


def _values(ends: Any, score: Floats) -> Floats:
    """The values of a curve, or of the curves of all folds, as rows."""
    return np.array([curve(score) for curve in (ends if isinstance(ends, tuple) else (ends,))])


@dataclass(eq=False, repr=False)
class CrossVennAbers(VennAbers):
    r"""Cross Venn-Abers predictor: inductive Venn-Abers predictors of several folds, merged into one probability.

    It averages over the isotonic fits of the folds, which smooths their steps. Use it in place of `VennAbers` where the scores come from
    cross-validation, with the fold of each row passed to `fit`, or for a smoother curve. Unlike an inductive predictor it has no proven
    validity, and with few rows per fold its probabilities are drawn towards 1/2.

    Parameters
    ----------
    input
    rule : {"log", "brier"}, default "log"
        Loss whose maximum regret the merged probability minimizes.
    multiclass
    folds : int, default 5
        Number of folds, in which each class is divided equally at random. They depend on the content of the rows, not on their order.
    calibrate_on : {"fold", "others"}, default "fold"
        Whether each predictor is fitted on the rows of its fold, as in [1]_, or on those of the other folds.

    Attributes
    ----------
    low_ : tuple of tuples of curves
        Probability if the new row is a non-event: for each binary problem, one curve per fold.
    high_ : tuple of tuples of curves
        Probability if the new row is an event: for each binary problem, one curve per fold.
    scale_
    classes_
    fit_record_

    See Also
    --------
    VennAbers : One predictor, with a validity guarantee.

    Notes
    -----
    With :math:`p_0` and :math:`p_1` of `VennAbers` in each of :math:`F` folds and GM the geometric mean over the folds, the merged probability is

    .. math:: q = \frac{\operatorname{GM}(p_1)}{\operatorname{GM}(1 - p_0) + \operatorname{GM}(p_1)} \quad \text{(log loss)}, \qquad
              q = \frac{1}{F} \sum \Bigl(p_1 + \frac{p_0^2 - p_1^2}{2}\Bigr) \quad \text{(Brier score)}.

    `predict_p0_p1` returns the smallest :math:`p_0` and the largest :math:`p_1` of the folds. A fold without rows of a binary problem is left
    out of it. The classifier itself is not fitted again: for the predictor of [1]_, pass the scores that each row received from the classifier
    trained without its fold, and the fold.

    References
    ----------
    .. [1] Vovk, V., Petej, I., Fedorova, V. (2015). Large-scale probabilistic predictors with and without guarantees of validity. NeurIPS.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), rng=0)
    >>> calibrator = cal.CrossVennAbers().fit(data.y_prob, data.y_true)
    >>> calibrator.predict_proba([0.1, 0.5, 0.9])[:, 1].round(3)
    array([0.217, 0.454, 0.759])
    >>> folds = [row % 4 for row in range(2000)]
    >>> calibrator = cal.CrossVennAbers().fit(data.y_prob, data.y_true, fold=folds)
    >>> calibrator.predict_proba([0.1, 0.5, 0.9])[:, 1].round(3)
    array([0.223, 0.459, 0.759])
    """

    methods = (Method("cross_venn_abers", "cross Venn-Abers calibration"),)
    checks = {"folds": partial(check_whole, low=2)}

    folds: int = 5
    calibrate_on: Literal["fold", "others"] = "fold"

    def fit(self, scores: Any, y: Any, sample_weight: Any = None, fold: Any = None, *, counts: Any = None) -> Self:
        """Fit one inductive predictor per fold.

        Parameters
        ----------
        scores : array-like of shape (N,) or (N, K), or frame
            Probabilities or logits, according to the parameter `input`.
        y
        sample_weight
        fold : array-like of shape (N,), optional
            Fold of each row, in place of `folds` random ones: any two or more values.
        counts

        Returns
        -------
        Calibrator
            The fitted calibrator itself.

        Raises
        ------
        ArgumentError
            If `fold` does not have one value per row.
        InputError
            If `fold` has missing values.
        UndefinedMetricError
            If fewer than two folds have rows.
        """
        codes = None if fold is None else fold_codes(fold, len(column(scores, "scores").array))
        return self._fit_beside(codes, scores, y, sample_weight, counts)

    def _fit(self, data: TrainingData) -> None:
        self._answered(data, lambda view: None)  # the scale, and a warning for problems of one outcome
        scaled = on_scale(data, self.scale_)
        fits_of_folds = [
            [both_ends(view) if view.n else None for view in self._questions(with_weight(scaled, weight), partial=True)]
            for weight in self._fold_weights(data)
        ]
        # For each binary problem the fits of the folds that have rows of it.
        fits = [[fit for fit in of_folds if fit is not None] for of_folds in zip(*fits_of_folds, strict=True)]
        self.low_ = tuple(tuple(low for low, _ in folds) for folds in fits)
        self.high_ = tuple(tuple(high for _, high in folds) for folds in fits)

    def _fold_weights(self, data: TrainingData) -> list[Floats]:
        """For the predictor of each fold that has rows, the weights of the rows that it is fitted on."""
        if data.beside is None:
            weights = self._random_folds(data)
        else:
            fold = data.kept(data.beside)
            weights = np.array([np.where(fold == code, data.weight, 0) for code in np.unique(fold)])
        weights = weights[(weights > 0).any(axis=1)]
        if len(weights) < 2:
            raise UndefinedMetricError("scores", "two or more folds must have rows", "use VennAbers, or more rows")
        return list(weights if self.calibrate_on == "fold" else data.weight - weights)

    def _random_folds(self, data: TrainingData) -> Floats:
        """The weights of the rows in each of `folds` random folds, in which the classes are divided equally."""
        order, shares = order_of_content(data), np.full(self.folds, 1 / self.folds)
        # Each class begins with another fold, so that few rows of many classes are not all in the same ones.
        of_classes = [
            np.roll(dealt(data, order[data.labels[order] == c], shares, c), c, axis=0)
            for c in np.unique(data.labels).tolist()
        ]
        return np.asarray(np.sum(of_classes, axis=0))

    def _merged_curve(self, low: Any, high: Any) -> Curve:
        def curve(scores: Any) -> Floats:
            no, yes = _values(low, scores), _values(high, scores)
            if self.rule == "brier":
                return np.asarray(self._merge(no, yes).mean(axis=0))
            event, non_event = (np.exp(np.log(rate).mean(axis=0)) for rate in (yes, 1 - no))
            return np.asarray(event / (non_event + event))

        return curve

    def _curve_formula(self, number: int, score: Formula) -> Formula:
        no, yes = ([score.interpolate(f.scores, f.rates) for f in ends[number]] for ends in (self.low_, self.high_))
        folds, zero = len(no), formulas.constant(0.0)
        if self.rule == "brier":
            return sum(map(self._merge, no, yes), zero) / folds
        event = formulas.exp(sum((formulas.log(rate) for rate in yes), zero) / folds)
        non_event = formulas.exp(sum((formulas.log(1 - rate) for rate in no), zero) / folds)
        return event / (non_event + event)


def fold_codes(fold: Any, rows: int) -> NDArray[np.intp]:
    """The number of the fold of each row."""
    values = column(fold, "fold").array
    if values.shape != (rows,):
        raise ArgumentError("fold", f"must have one value for each of {rows} rows; got shape {values.shape}")
    return codes_of(values, "fold")


def both_ends(view: View) -> tuple[curves.Interpolated, curves.Interpolated]:
    """The isotonic rate at a score with a non-event, and with an event, added there; exact for every score."""
    groups = groups_of(view)
    score = groups.score
    yes = rates_with_event(groups.weight, groups.events)
    no = 1 - rates_with_event(groups.weight[::-1], groups.others[::-1])[::-1]
    # An event between two scores joins the score above, whose rate is not higher; a non-event joins the score below.
    above = _steps("venn_abers_high", score, np.nextafter(score, np.inf), yes, np.append(yes[1:], 1.0))
    below = _steps("venn_abers_low", np.nextafter(score, -np.inf), score, np.append(0.0, no[:-1]), no)
    return below, above


def _steps(kind: str, left: Floats, right: Floats, before: Floats, after: Floats) -> curves.Interpolated:
    """Jumps from `before` to `after` between neighbouring numbers `left` and `right`."""
    scores, rates = np.column_stack([left, right]).ravel(), np.column_stack([before, after]).ravel()
    distinct = np.append(True, np.diff(scores) > 0)  # neighbours in floating point share an end
    return curves.Interpolated(kind, tuple(scores[distinct].tolist()), tuple(np.clip(rates[distinct], 0, 1).tolist()))


def rates_with_event(weight: Floats, events: Floats) -> Floats:
    """The isotonic rate at each score with one event added there.

    The corner algorithm of Vovk et al. (2015) on the cumulative sum diagram: one pass builds the lower hull, a second moves the added row
    up through the scores. Each corner is pushed and popped at most once; the loop cannot be vectorized.
    """
    x, y = np.append(0.0, np.cumsum(weight)), np.append(0.0, np.cumsum(events))
    step_x, step_y = x.tolist(), y.tolist()
    hull_x, hull_y = _lower_hull([-1.0, *step_x], [-1.0, *step_y])
    hull_x.reverse()
    hull_y.reverse()
    rates = np.empty(len(weight))
    for i in range(len(weight)):
        left_x, left_y, right_x, right_y = hull_x[-1], hull_y[-1], hull_x[-2], hull_y[-2]
        rates[i] = (right_y - left_y) / (right_x - left_x)
        # The row moves above this score: the points below it shift back by one event.
        new_x, new_y = step_x[i + 1] - 1.0, step_y[i + 1] - 1.0
        if (new_y - left_y) * (right_x - new_x) >= (right_y - new_y) * (new_x - left_x):
            continue
        hull_x.pop()
        hull_y.pop()
        while len(hull_x) > 1 and (hull_y[-1] - new_y) * (hull_x[-2] - hull_x[-1]) >= (hull_y[-2] - hull_y[-1]) * (
            hull_x[-1] - new_x
        ):
            hull_x.pop()
            hull_y.pop()
        hull_x.append(new_x)
        hull_y.append(new_y)
    return rates


def _lower_hull(x: list[float], y: list[float]) -> Points:
    """Corners of the greatest convex minorant, from left to right."""
    hull_x, hull_y = x[:2], y[:2]
    for new_x, new_y in zip(x[2:], y[2:], strict=True):
        # Slopes of neighbouring segments: beside a score of 1e9 rows the slope of their sum would not show a score of one row.
        while len(hull_x) > 1 and (hull_y[-1] - hull_y[-2]) * (new_x - hull_x[-1]) >= (new_y - hull_y[-1]) * (
            hull_x[-1] - hull_x[-2]
        ):
            hull_x.pop()
            hull_y.pop()
        hull_x.append(new_x)
        hull_y.append(new_y)
    return hull_x, hull_y

"""Inductive Venn-Abers predictors: two isotonic fits per score, as an interval and as one probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..curves import curves
from ..curves.logistic_regression import groups_of
from ..errors import ArgumentError
from ..views.view import View
from .base import Input, Method
from .binary import Curve, Multiclass, ScoreCalibrator
from .scores import Floats, TrainingData, on_scale

__all__ = ["VennAbers"]

Rule = Literal["log", "brier"]
Points = tuple[list[float], list[float]]


@dataclass(eq=False, repr=False)
class VennAbers(ScoreCalibrator):
    r"""Inductive Venn-Abers predictor: isotonic regression with the new row added as a non-event and as an event.

    One of the two resulting probabilities is perfectly calibrated if the rows are exchangeable, whatever their distribution;
    `predict_interval` returns both. `predict_proba` merges them into one probability, which regularizes isotonic regression.

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
    IsotonicCalibration : One isotonic fit.

    Notes
    -----
    With :math:`p_0` and :math:`p_1` the isotonic rates at the score of the new row, added as a non-event and as an event, the merged
    probability is

    .. math:: q = \frac{p_1}{1 - p_0 + p_1} \quad \text{(log loss)}, \qquad
              q = p_1 + \frac{p_0^2 - p_1^2}{2} \quad \text{(Brier score)}.

    References
    ----------
    .. [1] Vovk, V., Petej, I., Fedorova, V. (2015). Large-scale probabilistic predictors with and without guarantees of validity. NeurIPS.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.make_miscalibrated(2000, warp=temperature(2.0), rng=0)
    >>> calibrator = cal.VennAbers().fit(data.y_prob, data.y_true)
    >>> calibrator.predict_proba([0.9])[:, 1].round(3)
    array([0.759])
    >>> low, high = calibrator.predict_interval([0.9])
    >>> low.round(3), high.round(3)
    (array([0.758]), array([0.762]))
    """

    methods = (Method("venn_abers"),)
    keeps_order = True
    fitted = ("low_", "high_")

    input: Input = "prob"
    rule: Rule = "log"
    multiclass: Multiclass = "one_vs_rest"

    def _fit(self, data: TrainingData) -> None:
        fits = self._answered(data, both_ends)
        self.low_, self.high_ = tuple(low for low, _ in fits), tuple(high for _, high in fits)

    @property
    def curves_(self) -> tuple[Curve, ...]:  # type: ignore[override]
        """Merged probability of each binary problem."""
        return tuple(self._merged(low, high) for low, high in zip(self.low_, self.high_, strict=True))

    def _merged(self, low: Curve, high: Curve) -> Curve:
        def curve(scores: Any) -> Floats:
            no, yes = low(scores), high(scores)
            if self.rule == "log":
                return np.asarray(yes / (1 - no + yes))
            return np.asarray(yes + no * no / 2 - yes * yes / 2)

        return curve

    def predict_interval(self, scores: Any) -> tuple[Floats, Floats]:
        """Predict the probabilities under both outcomes of the new row.

        Parameters
        ----------
        scores : array-like of shape (N,) or (N, K), or frame
            Scores of the same kind as those passed to `fit`.

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
            return self.low_[0](score), self.high_[0](score)
        if self.multiclass != "one_vs_rest":
            raise ArgumentError("multiclass", "must be 'one_vs_rest' for intervals of several classes")
        low, high = (
            np.column_stack([end(p) for end, p in zip(ends, data.probs.T, strict=True)])
            for ends in (self.low_, self.high_)
        )
        return low, high


def both_ends(view: View) -> tuple[curves.Interpolated, curves.Interpolated]:
    """The isotonic rate at a score with a non-event, and with an event, added there; exact for every score."""
    groups = groups_of(view)
    score = groups.score
    yes = added_yes(groups.weight, groups.events)
    no = 1 - added_yes(groups.weight[::-1], groups.others[::-1])[::-1]
    # An event between two scores joins the score above, whose rate is not higher; a non-event joins the score below.
    above = _steps("venn_abers_high", score, np.nextafter(score, np.inf), yes, np.append(yes[1:], 1.0))
    below = _steps("venn_abers_low", np.nextafter(score, -np.inf), score, np.append(0.0, no[:-1]), no)
    return below, above


def _steps(kind: str, left: Floats, right: Floats, before: Floats, after: Floats) -> curves.Interpolated:
    """Jumps from `before` to `after` between neighbouring numbers `left` and `right`."""
    at, rates = np.column_stack([left, right]).ravel(), np.column_stack([before, after]).ravel()
    kept = np.append(True, np.diff(at) > 0)  # neighbours in floating point share an end
    return curves.Interpolated(kind, tuple(at[kept].tolist()), tuple(np.clip(rates[kept], 0, 1).tolist()))


def added_yes(weight: Floats, events: Floats) -> Floats:
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
        if (new_y - left_y) * (right_x - left_x) >= (right_y - left_y) * (new_x - left_x):
            continue
        hull_x.pop()
        hull_y.pop()
        while len(hull_x) > 1 and (hull_y[-1] - new_y) * (hull_x[-2] - new_x) >= (hull_y[-2] - new_y) * (
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
        while len(hull_x) > 1 and (hull_y[-1] - hull_y[-2]) * (new_x - hull_x[-2]) >= (new_y - hull_y[-2]) * (
            hull_x[-1] - hull_x[-2]
        ):
            hull_x.pop()
            hull_y.pop()
        hull_x.append(new_x)
        hull_y.append(new_y)
    return hull_x, hull_y

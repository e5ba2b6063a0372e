"""Sigmoid and isotonic calibration of scores as they are, one curve per class: the convention of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..curves.curves import Interpolated, isotonic_of_groups
from ..curves.logistic_regression import Groups, fit_logistic
from ..errors import InputError

Array = NDArray[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sigmoid:
    """Logistic curve of a score as it is: 1 / (1 + exp(-(intercept + slope * score)))."""

    intercept: float
    slope: float

    def __call__(self, scores: Any) -> Floats:
        from scipy.special import expit

        return np.asarray(expit(self.intercept + self.slope * np.asarray(scores, dtype=np.float64)))


@dataclass(frozen=True)
class ScoreCurves:
    """Calibrator with one curve per class on the scores as they are: decision values, or probabilities without a logarithm.

    Parameters
    ----------
    kind : {"sigmoid", "isotonic"}
        Form of the curves.
    curves_ : tuple
        One curve per class, or one for two classes.
    """

    _how_to_save: ClassVar[str] = (
        "pickle the model, for example joblib.dump(model, path), or fit it with convention='calibrant'"
    )

    kind: str
    curves_: tuple[Sigmoid | Interpolated, ...]

    @classmethod
    def fit(cls, kind: str, scores: Array, codes: Array, weight: Floats | None) -> ScoreCurves:
        """Fit the curves; rows whose code is not the index of a column belong to none of the classes."""
        if not np.isfinite(scores).all():
            raise InputError("X", "the scores of the classifier must be finite", "drop or correct these rows")
        columns = scores[:, None] if scores.ndim == 1 else scores
        first = 1 if columns.shape[1] == 1 else 0
        fit = fit_sigmoid if kind == "sigmoid" else _fit_isotonic
        return cls(kind, tuple(fit(values, codes == first + place, weight) for place, values in enumerate(columns.T)))

    def __repr__(self) -> str:
        return f"ScoreCurves({self.kind!r}, {len(self.curves_)} curve{'s' if len(self.curves_) > 1 else ''})"

    def predict_proba(self, scores: Array, known: Array | None = None, classes: int | None = None) -> Floats:
        """Calibrated probabilities, one column per class; a row of zeros becomes uniform.

        The curves belong to the classes `known` of a number of `classes`; by default all.
        """
        if scores.ndim == 1:
            rate = self.curves_[0](scores)
            rates = np.column_stack([1.0 - rate, rate])
        else:
            rates = np.column_stack([curve(values) for curve, values in zip(self.curves_, scores.T, strict=True)])
        if known is not None and classes is not None and len(known) < classes:
            full = np.zeros((len(rates), classes))
            full[:, known] = rates
            rates = full
        if scores.ndim == 1:
            return rates
        total = rates.sum(axis=1, keepdims=True)
        return np.divide(rates, total, out=np.full_like(rates, 1 / rates.shape[1]), where=total != 0)


def fit_sigmoid(scores: Array, event: Array, weight: Floats | None) -> Sigmoid:
    """Fit a logistic curve to Platt's targets, in which weights count rows: the sums of the weights, not their ratios, matter."""
    x = scores.astype(np.float64)
    w = np.ones(len(x)) if weight is None else weight
    events, others = float(w[event].sum()), float(w[~event].sum())
    target = np.where(event, (events + 1) / (events + 2), 1 / (others + 2))
    used = x[w > 0]
    centre, spread = float(used.mean()), float(np.ptp(used))
    total = events + others
    if spread == 0:
        rate = float(w @ target) / total
        return Sigmoid(float(np.log(rate) - np.log1p(-rate)), 0.0)
    # Centred and scaled, so that large scores cost no digits; the maximum of the likelihood does not depend on it.
    feature = (x - centre) / spread
    groups = Groups(x, w, w, w * target, w * (1 - target), (w, w * target, w * target**2))
    fit = fit_logistic(groups, np.array([np.ones(len(x)), feature]).T)
    intercept, slope = map(float, fit.coefficients)
    return Sigmoid(intercept - slope * centre / spread, slope / spread)


def _fit_isotonic(scores: Array, event: Array, weight: Floats | None) -> Interpolated:
    """Fit isotonic regression; scores that differ by less than the resolution of their type are one score, as in scikit-learn."""
    w = np.ones(len(scores)) if weight is None else weight
    used = w > 0
    order = np.flatnonzero(used)[np.argsort(scores[used], kind="stable")]
    x, w, y = scores[order], w[order], event[order]
    starts = _distinct(x, float(np.finfo(x.dtype).resolution))
    mass, ones = np.add.reduceat(w, starts), np.add.reduceat(w * y, starts)
    others = np.add.reduceat(w * ~y, starts)
    return isotonic_of_groups(Groups(x[starts].astype(np.float64), mass, mass, ones, others, (mass, ones, ones)))


def _distinct(x: Array, resolution: float) -> NDArray[np.intp]:
    """The first row of each group of sorted scores; a group ends where a score exceeds its first one by the resolution."""
    gap = np.append(True, np.diff(x) >= resolution)
    begins = np.flatnonzero(gap)
    ends = np.append(begins[1:], len(x))
    for chain in np.flatnonzero(x[ends - 1] - x[begins] >= resolution):  # each score is close to the next
        first = x[begins[chain]]
        for place in range(begins[chain] + 1, ends[chain]):
            if x[place] - first >= resolution:
                gap[place], first = True, x[place]
    return np.flatnonzero(gap)

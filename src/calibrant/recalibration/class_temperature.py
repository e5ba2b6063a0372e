"""Class-dependent temperatures that follow the overconfidence of each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from . import formulas
from .base import Calibrator, Input, Method
from .formulas import Formula, ScoreFormulas
from .scores import Floats, Scores, TrainingData
from .softmax_regression import softmax

# The grids of the authors' code: temperatures, and the factor of the class miscalibration.
TEMPERATURES = np.arange(50, 200) / 100
FACTORS = np.arange(-2000, 2000) / 1000
BINS = 15


@dataclass(eq=False, repr=False)
class MiscalibrationAwareTemperature(Calibrator):
    r"""Miscalibration-aware temperature scaling: one temperature per class, from the overconfidence of its rows.

    For classifiers that are overconfident on some classes and underconfident on others, as after training on imbalanced data. The
    predicted class may change.

    Parameters
    ----------
    input
    normalise : {"none", "max", "min_max"}, default "none"
        Normalization of the miscalibrations of the classes: none, division by the largest absolute value, or scaling to [0, 1].
    centre : bool, default True
        Whether the logits of each row are centred to mean 0. Without centring, a constant added to a row changes the result.

    Attributes
    ----------
    temperature_ : ndarray of shape (K,)
        Fitted temperature of each class.
    factor_ : float
        Fitted factor :math:`\gamma`.
    miscalibration_ : ndarray of shape (K,)
        Miscalibration of each class: mean confidence minus accuracy of its rows, winsorized and normalized.
    classes_
    fit_record_

    See Also
    --------
    TemperatureScaling : One temperature for all classes.
    VectorScaling : One factor and one bias per class, by maximum likelihood.

    Notes
    -----
    .. math:: q = \operatorname{softmax}(z_k / T_k), \qquad T_k = T (1 + \gamma m_k).

    First :math:`T`, then :math:`\gamma` minimize the top-label expected calibration error in 15 bins over the grids of the authors' code
    (0.5 to 2 and -2 to 2). Miscalibrations beyond 1.5 interquartile ranges are winsorized.

    References
    ----------
    .. [1] Ao, S., Rueger, S., Siddharthan, A. (2023). Two sides of miscalibration: identifying over and under-confidence prediction
       for network calibration. UAI.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), distribution=(1, 1, 1), rng=0)
    >>> calibrator = cal.MiscalibrationAwareTemperature().fit(data.y_prob, data.y_true)
    >>> calibrator.temperature_.round(2)
    array([2.01, 2.03, 1.97])
    """

    methods = (Method("miscalibration_aware_temperature"),)
    treats_classes_alike = True
    fitted = ("temperature_", "factor_", "miscalibration_")

    input: Input = "prob"
    normalise: Literal["none", "max", "min_max"] = "none"
    centre: bool = True

    def _features(self, data: Scores) -> Floats:
        z = data.logits
        if not self.centre:
            return z
        return z - z.mean(axis=1, keepdims=True)

    def _fit(self, data: TrainingData) -> None:
        z, labels, weight = self._features(data), data.labels.astype(np.intp), data.weight
        errors = _top_label_errors(z, labels, weight, np.tile(TEMPERATURES[:, None], data.k))
        start = float(TEMPERATURES[_first_least(errors)])
        probs = softmax(z / start)
        excess = weight * (probs.max(axis=1) - (probs.argmax(axis=1) == labels))
        mass = np.bincount(labels, weight, data.k)
        excess_by_class = np.bincount(labels, excess, data.k)
        gap = self._normalised(np.divide(excess_by_class, mass, out=np.zeros(data.k), where=mass > 0))
        columns = start * (1 + FACTORS[:, None] * gap)
        usable = np.flatnonzero((columns > 0).all(axis=1))
        best = usable[_first_least(_top_label_errors(z, labels, weight, columns[usable]))]
        self.factor_, self.miscalibration_ = float(FACTORS[best]), gap
        self.temperature_ = columns[best]

    def _normalised(self, gap: Floats) -> Floats:
        """The gaps, with outliers drawn in to the fences of a box plot, on the scale of the option `normalise`."""
        low, high = np.quantile(gap, [0.25, 0.75], method="midpoint")
        gap = np.clip(gap, low - 1.5 * (high - low), high + 1.5 * (high - low))
        if self.normalise == "max" and gap.any():
            return np.asarray(gap / np.abs(gap).max())
        if self.normalise == "min_max" and np.ptp(gap) > 0:
            return np.asarray((gap - gap.min()) / np.ptp(gap))
        return gap

    def _predict(self, data: Scores) -> Floats:
        return softmax(self._features(data) / self.temperature_)

    def _formula(self, x: ScoreFormulas) -> Formula:
        z = x.logits - x.logits.sum() / x.k if self.centre else x.logits
        return formulas.softmax(z / self.temperature_)


def _first_least(values: Floats) -> int:
    """Index of the first minimum, up to rounding."""
    return int(np.argmax(values <= values.min() + 1e-12))


def _top_label_errors(z: Floats, labels: Any, weight: Floats, temperatures: Floats) -> Floats:
    """Top-label calibration error in bins of equal width, for each row of class temperatures."""
    edges, errors = np.arange(1, BINS) / BINS, np.empty(len(temperatures))
    by_class = np.ascontiguousarray(z.T)
    for number, each in enumerate(temperatures):
        scaled = by_class / each[:, None]
        right = scaled.argmax(axis=0) == labels
        with np.errstate(under="ignore"):
            confidence = 1 / np.exp(scaled - scaled.max(axis=0)).sum(axis=0)
        sums = np.bincount(np.searchsorted(edges, confidence), weight * (confidence - right), BINS)
        errors[number] = np.abs(sums).sum()
    return errors / weight.sum()

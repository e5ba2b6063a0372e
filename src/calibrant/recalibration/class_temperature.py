"""A temperature for each class, by how overconfident its rows are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..util.blocks import rows_per_block
from .base import Calibrator, Input, Method
from .scores import Floats, Scores, TrainingData
from .softmax_regression import softmax

__all__ = ["MiscalibrationAwareTemperature"]

# The grids of the paper's code: temperatures, and how far they follow the miscalibration of each class.
TEMPERATURES = np.arange(50, 200) / 100
FACTORS = np.arange(-2000, 2000) / 1000
BINS = 15


@dataclass(eq=False, repr=False)
class MiscalibrationAwareTemperature(Calibrator):
    """softmax(z_k / T_k), T_k = T (1 + gamma m_k), where m_k is how overconfident the rows of class k are (Ao et al. 2023).

    T and gamma give the least top-label calibration error in fifteen bins, over the grids of the paper. Classes with different temperatures
    may change places, so the predicted class may change.

    Parameters
    ----------
    input
        What the scores are.
    normalise
        What the miscalibrations are divided by: ``"none"``, their largest size (``"max"``), or their range (``"min_max"``, from 0 to 1).
    centre
        Whether the logits of each row are first moved to mean 0; without that, a constant added to a row changes the result.
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
        gap = _normalised(_winsorised(_class_gaps(z / start, labels, weight)), self.normalise)
        columns = start * (1 + FACTORS[:, None] * gap)
        usable = np.flatnonzero((columns > 0).all(axis=1))
        best = usable[_first_least(_top_label_errors(z, labels, weight, columns[usable]))]
        self.factor_, self.miscalibration_ = float(FACTORS[best]), gap
        self.temperature_ = columns[best]

    def _predict(self, data: Scores) -> Floats:
        return softmax(self._features(data) / self.temperature_)


def _first_least(values: Floats) -> int:
    """The first of the least values, rounding aside."""
    return int(np.argmax(values <= values.min() + 1e-12))


def _top_label_errors(z: Floats, labels: Any, weight: Floats, temperatures: Floats) -> Floats:
    """Top-label calibration error in bins of equal width, for each row of temperatures of the classes."""
    edges = np.arange(1, BINS) / BINS
    by_class = np.ascontiguousarray(z.T)
    together = rows_per_block(len(z))
    errors = []
    for first in range(0, len(temperatures), together):
        some = temperatures[first : first + together]
        confidence, top = _surest(by_class, some)
        gap = weight * (confidence - (top == labels))
        place = np.searchsorted(edges, confidence) + np.arange(len(some))[:, None] * BINS
        sums = np.bincount(place.ravel(), gap.ravel(), len(some) * BINS)
        errors.append(np.abs(sums).reshape(-1, BINS).sum(axis=1) / weight.sum())
    return np.concatenate(errors)


def _surest(by_class: Floats, temperatures: Floats) -> tuple[Floats, Any]:
    """The largest probability of each row and its class, for each choice of temperatures; class by class, where rows lie side by side."""
    best = by_class[0] / temperatures[:, :1]
    top = np.zeros(best.shape, np.intp)
    for c in range(1, len(by_class)):
        scaled = by_class[c] / temperatures[:, c : c + 1]
        np.putmask(top, scaled > best, c)
        np.maximum(best, scaled, out=best)
    total = np.zeros(best.shape)
    with np.errstate(under="ignore"):
        for c in range(len(by_class)):
            total += np.exp(by_class[c] / temperatures[:, c : c + 1] - best)
    return 1 / total, top


def _class_gaps(z: Floats, labels: Any, weight: Floats) -> Floats:
    """Mean confidence minus accuracy over the rows of each class; 0 for a class without rows."""
    probs = softmax(z)
    gap = weight * (probs.max(axis=1) - (probs.argmax(axis=1) == labels))
    mass = np.bincount(labels, weight, z.shape[1])
    return np.divide(np.bincount(labels, gap, z.shape[1]), mass, out=np.zeros(z.shape[1]), where=mass > 0)


def _winsorised(values: Floats) -> Floats:
    low, high = np.quantile(values, [0.25, 0.75], method="midpoint")
    return np.clip(values, low - 1.5 * (high - low), high + 1.5 * (high - low))


def _normalised(values: Floats, how: str) -> Floats:
    if how == "max" and values.any():
        return np.asarray(values / np.abs(values).max())
    if how == "min_max" and np.ptp(values) > 0:
        return np.asarray((values - values.min()) / np.ptp(values))
    return values

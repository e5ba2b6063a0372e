"""CountingMap: maps that count rows, and hold the log-odds of two classes however large these are."""

from __future__ import annotations

import copy
import math
from typing import TypeVar

import numpy as np

from ..curves.logistic_regression import LARGEST_LOGIT
from .base import SMALLEST, Array, CalibrationMap, Floats, Scores

__all__ = ["CountingMap", "on_scale", "scale_of", "scale_of_odds"]

Rows = TypeVar("Rows", bound=Scores)
# Log-odds that a probability cannot hold are divided until they lie within this, where it still tells them apart to nine digits.
WELL_HELD = 16.0
FAR_BEYOND = 2.0


class CountingMap(CalibrationMap):
    """A calibrator whose fit depends on how many rows there are: counts add up, importance weights to their effective size."""

    scale_: float = 1.0
    """What the log-odds of two classes are divided by before anything else: a power of two, above 1 only where some of the logits
    fitted on are too large for a probability to hold."""


def scale_of(data: Scores) -> float:
    """1, or the power of two that brings log-odds too large for a probability within reach of one."""
    if data.k != 2 or data._p.logits is None:
        return 1.0
    return scale_of_odds(_given_odds(data._p.logits))


def scale_of_odds(odds: Floats) -> float:
    """The same for log-odds."""
    size = np.abs(odds)
    size = size[np.isfinite(size)]
    if not len(size):
        return 1.0
    # A few that are far beyond all others, such as -1e9 for a class ruled out, must not squeeze the others together: they are clipped.
    largest = float(min(size.max(), FAR_BEYOND * np.quantile(size, 0.99)))
    return 1.0 if largest <= LARGEST_LOGIT else 2.0 ** math.ceil(math.log2(largest / WELL_HELD))


def on_scale(data: Rows, scale: float) -> Rows:
    """The same rows of two classes with their log-odds divided by the scale."""
    if scale == 1 or data._p.logits is None:
        return data
    from scipy.special import expit

    odds = np.clip(_given_odds(data._p.logits) / scale, math.log(SMALLEST), -math.log(SMALLEST))
    other = copy.copy(data)
    rate = expit(odds)
    vars(other).update(
        score=rate,
        probs=np.column_stack([expit(-odds), rate]),
        log_odds=odds,
        logits=np.column_stack([np.zeros(data.n), odds]),
    )
    return other


def _given_odds(logits: Array) -> Floats:
    """The log-odds of the second of two classes, infinite where a class is ruled out."""
    given = logits.astype(np.float64, copy=False)
    return given if given.ndim == 1 else np.asarray(given[:, 1] - given[:, 0])

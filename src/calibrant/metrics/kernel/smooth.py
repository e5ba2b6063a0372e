"""Smooth calibration errors without bins, and the distance to calibration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ...errors import ArgumentError
from ...util.arrays import Floats
from ...util.checks import check_positive, check_whole
from ...views.view import View
from ..forms import Path
from ..registry import metric
from .lipschitz import largest_lipschitz_sum
from .spectral import NARROWEST, self_consistent_widths, smoothed_errors

# The logit kernel uses log-odds between those of 0.001 and 0.999, with a bandwidth in units of 4.
LARGEST_LOG_ODDS = math.log(999)
# The distance to calibration is computed for distinct scores up to this many, and for cells of scores beyond.
MOST_SCORES, CELLS = 2000, 1000


def _residual_masses(view: View, kernel: str) -> tuple[Floats, Floats, float]:
    """Return places on [0, 1], the residual of each row as a fraction of the total weight, and the unit of a bandwidth."""
    mass = view.score - view.outcome
    if view.weight is not None:
        mass *= view.weights
    mass /= view.total
    position, scale = _places(view.score, kernel)
    return position, mass, scale


def _places(score: Floats, kernel: str) -> tuple[Floats, float]:
    """Return places of scores on [0, 1], and the unit of a bandwidth."""
    if kernel != "logit":
        return score, 1.0
    with np.errstate(divide="ignore"):
        log_odds = np.log(score) - np.log1p(-score)
    log_odds = np.clip(log_odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    return log_odds / (2 * LARGEST_LOG_ODDS) + 0.5, 2 / LARGEST_LOG_ODDS


@metric("Smooth expected calibration error", range=(0, 1), ideal=0, cite="blasiok2024")
def smece(
    view: View, *, bandwidth: float | None = None, kernel: Literal["probability", "logit"] = "probability"
) -> Path:
    """Integral of the absolute mean residual, smoothed by a Gaussian kernel whose bandwidth equals the resulting error."""

    def errors(position: Floats, mass: Floats, scale: float) -> Floats:
        """Compute the error of each line of masses at the same positions."""
        if bandwidth is None:
            return self_consistent_widths([(position, mass)], scale)
        if check_positive(bandwidth, "bandwidth") * scale < NARROWEST:
            raise ArgumentError("bandwidth", f"must be at least {NARROWEST / scale:.4g}; got {bandwidth!r}")
        return smoothed_errors(position, mass, bandwidth * scale)

    def fill(views: Sequence[View]) -> None:
        """Compute the bandwidths that equal their own error, of several views together; each view keeps its own."""
        masses = [_residual_masses(view, kernel) for view in views]
        widths = self_consistent_widths([(position, mass[None]) for position, mass, _ in masses], masses[0][2])
        for view, width in zip(views, widths.tolist(), strict=True):
            view.tables["smece", kernel] = width

    def value() -> float:
        if bandwidth is None and ("smece", kernel) in view.tables:
            return float(view.tables["smece", kernel])
        position, mass, scale = _residual_masses(view, kernel)
        return float(errors(position, mass[None], scale)[0])

    def values(score: Floats, mass: Floats) -> Floats:
        position, scale = _places(score, kernel)
        return errors(position, mass, scale)

    return Path(value, values, None if bandwidth is not None else fill)


@metric("Smooth calibration error", range=(0, 1), ideal=0, cite="blasiok2023")
def smce(view: View) -> float:
    """Largest mean of the residuals times a weight function with values in [-1, 1] and Lipschitz constant 1."""
    ties = view.ties
    return largest_lipschitz_sum(ties.score, ties.excess / view.total)


@metric("Lower distance to calibration", range=(0, 1), ideal=0, cite="blasiok2023")
def dce_lower(view: View, *, grid: int = 100) -> float:
    """Smallest mean distance that scores must be moved, in parts of rows if necessary, to become calibrated."""
    steps = check_whole(grid, "grid")
    score, weight, outcome = _few(view)
    places = np.union1d(np.arange(steps + 1) / steps, score)
    events, others = np.zeros(len(places)), np.zeros(len(places))
    at = np.searchsorted(places, score)
    events[at], others[at] = outcome / view.total, (weight - outcome) / view.total
    return _least_transport(places, events, others)


def _few(view: View) -> tuple[Floats, Floats, Floats]:
    ties = view.ties
    if len(ties.score) <= MOST_SCORES:
        return ties.score, ties.weight, ties.outcome
    cell = np.minimum((ties.score * CELLS).astype(np.int64), CELLS - 1)
    parts = (ties.weight, ties.outcome, ties.weight * ties.score)
    weight, outcome, total = np.array([np.bincount(cell, values, CELLS) for values in parts], dtype=np.float64)
    full = weight > 0
    return total[full] / weight[full], weight[full], outcome[full]


def _least_transport(places: Floats, events: Floats, others: Floats) -> float:
    """Minimise sum m |from - to| over moves m of events and non-events such that every place has the outcome rate that it states.

    By duality this is the largest mean of f over non-events plus g over events, where f and g are Lipschitz in the place v
    and (1 - v) f(v) + v g(v) is never positive.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, diags_array, hstack, vstack

    count = len(places)
    step = diags_array([-np.ones(count - 1), np.ones(count - 1)], offsets=[0, 1], shape=(count - 1, count))
    none = csr_array((count - 1, count))
    rise = vstack([hstack([step, none]), hstack([none, step])])
    honest = hstack([diags_array(1 - places), diags_array(places)])
    found = linprog(
        -np.concatenate([others, events]),
        A_ub=vstack([rise, -rise, honest]).tocsr(),
        b_ub=np.concatenate([np.tile(np.diff(places), 4), np.zeros(count)]),
        bounds=(None, None),
        method="highs-ds",
    )
    return max(0.0, -float(found.fun))

"""Smooth calibration errors without bins, and the distance to calibration."""

from __future__ import annotations

import math
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import ArgumentError
from ...util.checks import check_positive, check_whole
from ...views.view import View
from ..registry import metric
from ..sum_forms import Path
from .lipschitz import largest_lipschitz_sum
from .spectral import NARROWEST, self_consistent_widths, smoothed_errors

Floats = NDArray[np.float64]

# The logit kernel uses log-odds between those of 0.001 and 0.999, with a bandwidth in units of 4.
LARGEST_LOG_ODDS = math.log(999)
# The distance to calibration is computed for distinct scores up to this many, and for cells of scores beyond.
MOST_SCORES, CELLS = 2000, 1000


def _smoothed_errors(score: Floats, mass: Floats, bandwidth: float | None, kernel: str) -> Floats:
    """Compute the error of each line of masses, which are shares of rows times score minus outcome."""
    position, scale = score, 1.0
    if kernel == "logit":
        log_odds = np.clip(_log_odds(score), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
        position, scale = log_odds / (2 * LARGEST_LOG_ODDS) + 0.5, 2 / LARGEST_LOG_ODDS
    if bandwidth is None:
        return self_consistent_widths(position, mass, scale)
    if check_positive(bandwidth, "bandwidth") * scale < NARROWEST:
        raise ArgumentError("bandwidth", f"must be at least {NARROWEST / scale:.4g}; got {bandwidth!r}")
    return smoothed_errors(position, mass, bandwidth * scale)


@metric(
    "Smooth expected calibration error",
    family="kernel",
    subfamily="kernel smoothing",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    cost="N log N",
    recommended=True,
    aliases=("SMECE", "smECE", "SmoothECE", "convolved ECE", "smooth ECE"),
    cite="blasiok2024",
    sum_form=lambda view, **options: Path(partial(_smoothed_errors, **options)),
    pros="no bins and no parameter; continuous in the scores; at least half of the lower distance to calibration and at most twice its square "
    "root (Blasiok and Nakkiran)",
    cons="not within constant factors of the distance to calibration; of the order N^(-1/3) for calibrated forecasts, not 0",
    notes="The bandwidth s is the fixed point at which the smoothed error equals s, as in the paper, found to 1e-12; the smoothed error of given "
    "scores is exact to about 1e-9 for any number of rows. Bandwidths below 1e-4 are not considered: a smaller value is reported as the "
    "error smoothed with 1e-4. relplot resolves ten bits of the bandwidth and truncates its kernel; it differs by about 1e-4, and by much "
    "more where scores are concentrated at 1.",
    explain={
        "bandwidth": "Standard deviation of the Gaussian kernel; by default the fixed point that equals its own error.",
        "kernel": "Scale of the kernel: ``'probability'``, or ``'logit'`` for log-odds between those of 0.001 and 0.999, with a bandwidth of 4 s.",
    },
)
def smece(
    view: View, *, bandwidth: float | None = None, kernel: Literal["probability", "logit"] = "probability"
) -> float:
    """Integral of the absolute mean residual, smoothed by a Gaussian kernel whose bandwidth equals the resulting error."""
    mass = view.score - view.outcome
    if view.weight is not None:
        mass *= view.weights
    mass /= view.total
    return float(_smoothed_errors(view.score, mass[None], bandwidth, kernel)[0])


def _log_odds(score: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(score) - np.log1p(-score))


@metric(
    "Smooth calibration error",
    family="kernel",
    subfamily="function class",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    cost="N log N",
    aliases=("SCE", "smCE", "smooth calibration error", "weak calibration error"),
    cite="blasiok2023",
    pros="no bins and no parameter; between half of the lower distance to calibration and twice that distance (Blasiok et al.); exact in the time of a sort",
    cons="errors of opposite sign at nearby scores cancel, since the weight functions are Lipschitz; not 0 for calibrated forecasts in finite samples",
    notes="The value has no sign. It is computed by dynamic programming over the sorted scores; a linear program with as many variables as rows "
    "gives the same value.",
)
def smce(view: View) -> float:
    """Largest mean of the residuals times a weight function with values in [-1, 1] and Lipschitz constant 1."""
    ties = view.ties
    return largest_lipschitz_sum(ties.score, ties.excess / view.total)


@metric(
    "Lower distance to calibration",
    family="kernel",
    subfamily="function class",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    cost="a linear program",
    aliases=("dCE", "DCE", "lower distance from calibration", "distance from calibration", "distance to calibration"),
    cite="blasiok2023",
    pros="the mean distance that scores must be moved to be calibrated: the reference for other errors",
    cons="a linear program on a grid; above 2000 distinct scores these are first rounded to cells",
    certainty="certain; the grid is chosen here",
    notes="Scores may move to multiples of ``1 / grid`` and to other scores. The dual problem is solved, which has two unknowns for each place. "
    "With more than 2000 distinct scores, rows are merged into 1000 cells at their mean score, which changes the value by less than the "
    "width of a cell.",
    explain={"grid": "Number of steps of the grid that scores may move to."},
)
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

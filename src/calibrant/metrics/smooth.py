"""Errors without bins: smoothed just enough, or seen by the smoothest possible weights."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .._checks import check_positive, check_whole
from .._lipschitz import largest_lipschitz_sum
from .._spectral import NARROWEST, self_consistent_width, smoothed_error
from ..errors import ArgumentError
from ..registry import metric
from ..view import View

Floats = NDArray[np.float64]

# The logit kernel looks at log odds between those of 0.001 and 0.999, and its width counts in units of 4.
LARGEST_LOG_ODDS = math.log(999)


@metric(
    "Smooth expected calibration error",
    family="kernel",
    subfamily="smoothed residuals",
    range=(0, 1),
    ideal=0,
    cost="N log N",
    recommended=True,
    use_cases=("parameter-free",),
    aliases=("SMECE", "smECE", "SmoothECE", "convolved ECE", "smooth ECE"),
    cite="blasiok2024",
    pros="no bins and no parameter; changes smoothly with the scores; near the distance to the nearest calibrated predictor",
    cons="chance alone gives about N^(-1/3)",
    notes="The width s is where the smoothed error equals s, as in the paper, found to 1e-12; the smoothed error of given scores is exact to about "
    "1e-9 at any number of rows, so no coarser form is needed for many. Widths below 1e-4 are not tried: a smaller value is reported as "
    "the error smoothed with 1e-4. relplot keeps ten bits of the width and cuts its kernel; it differs by some 1e-4, and by far more where "
    "scores pile up at 1.",
    explain={
        "bandwidth": "Width of the Gaussian kernel; None finds the one that equals its own error.",
        "kernel": "``'probability'``, or ``'logit'``: on log odds between those of 0.001 and 0.999, with a width of 4 s.",
    },
)
def smece(
    view: View, *, bandwidth: float | None = None, kernel: Literal["probability", "logit"] = "probability"
) -> float:
    """Integral of the absolute mean residual, smoothed by a Gaussian whose width equals the error it finds."""
    mass = view.weights * (view.score - view.outcome) / view.total
    position, scale = view.score, 1.0
    if kernel == "logit":
        log_odds = np.clip(_log_odds(view.score), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
        position, scale = log_odds / (2 * LARGEST_LOG_ODDS) + 0.5, 2 / LARGEST_LOG_ODDS
    if bandwidth is None:
        return self_consistent_width(position, mass, scale)
    if check_positive(bandwidth, "bandwidth") * scale < NARROWEST:
        raise ArgumentError("bandwidth", f"must be at least {NARROWEST / scale:.4g}; got {bandwidth!r}")
    return smoothed_error(position, mass, bandwidth * scale)


def _log_odds(score: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(score) - np.log1p(-score))


@metric(
    "Smooth calibration error",
    family="kernel",
    subfamily="function class",
    range=(0, 1),
    ideal=0,
    cost="N log N",
    aliases=("SCE", "smCE", "smooth calibration error", "weak calibration error"),
    cite="blasiok2023",
    pros="no bins and no parameter; within constant factors of the distance to the nearest calibrated predictor; exact in the time of a sort",
    cons="small by construction: weights between -1 and 1 that change slowly see little of what is local",
    notes="Found by dynamic programming over the sorted scores; a linear program of as many variables as rows gives the same.",
)
def smce(view: View) -> float:
    """Largest mean of residuals against weights between -1 and 1 that change no faster than the score."""
    ties = view.ties
    return largest_lipschitz_sum(ties.score, ties.excess / view.total)


@metric(
    "Lower distance to calibration",
    family="kernel",
    subfamily="function class",
    range=(0, 1),
    ideal=0,
    cost="N log N",
    aliases=("dCE", "DCE", "lower distance from calibration"),
    cite="blasiok2023",
    pros="says how far scores must be moved to be calibrated: the yardstick of the other errors",
    cons="a linear program on a grid; above 100 distinct scores they are first rounded to cells",
    certainty="definition certain, grid ours",
    notes="Scores may move to multiples of ``1 / grid`` and to each other's places. With more than 100 distinct scores, rows are taken together in "
    "`grid` cells at their mean score, which changes the value by at most half a cell's width in the mean.",
    explain={"grid": "Number of steps of the places that scores may move to."},
)
def dce_lower(view: View, *, grid: int = 100) -> float:
    """Smallest mean distance that scores must be moved, row by row and in parts, to become calibrated."""
    steps = check_whole(grid, "grid")
    score, weight, outcome = _few(view, steps)
    places = np.union1d(np.arange(steps + 1) / steps, score)
    return _least_transport(score, weight / view.total, outcome / view.total, places)


def _few(view: View, steps: int) -> tuple[Floats, Floats, Floats]:
    ties = view.ties
    if len(ties.score) <= max(steps, 100):
        return ties.score, ties.weight, ties.outcome
    cell = np.minimum((ties.score * steps).astype(np.int64), steps - 1)
    parts = (ties.weight, ties.outcome, ties.weight * ties.score)
    weight, outcome, total = np.array([np.bincount(cell, values, steps) for values in parts], dtype=np.float64)
    full = weight > 0
    return total[full] / weight[full], weight[full], outcome[full]


def _least_transport(score: Floats, weight: Floats, outcome: Floats, places: Floats) -> float:
    """min sum m |score - place| over masses m of events and of others, so that every place has the rate it names."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    start, mass = np.repeat(score, 2), np.column_stack([weight - outcome, outcome]).ravel()
    event = np.tile([0.0, 1.0], len(score))[mass > 0]
    start, mass = start[mass > 0], mass[mass > 0]
    rows, columns = np.divmod(np.arange(len(start) * len(places)), len(places))
    shape = len(start), len(rows)
    all_moved = coo_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape)
    # What a place says times its mass, minus its events: 0.
    off = coo_array((places[columns] - event[rows], (columns, np.arange(len(rows)))), (len(places), len(rows)))
    found = linprog(
        np.abs(start[rows] - places[columns]),
        A_eq=vstack([all_moved, off]).tocsr(),
        b_eq=np.concatenate([mass, np.zeros(len(places))]),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return max(0.0, float(found.fun))

"""Products of residuals of pairs of rows, weighted by a kernel of their scores."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...util.checks import check_positive
from ...views.view import View
from ..registry import metric, preset
from .laplace import laplace_pair_sum

Floats = NDArray[np.float64]

WIDTH = "Bandwidth: the distance between scores at which the kernel has fallen to 1/e."


@metric(
    "Maximum mean calibration error",
    family="kernel",
    subfamily="pairs of scores",
    range=(0, 1),
    ideal=0,
    ideal_for="calibrated",
    cost="N log N",
    aliases=("MMCE", "kernel calibration error"),
    cite="kumar2018",
    pros="no bins; exact in the time of a sort instead of N^2",
    cons="its size depends on the bandwidth; not 0 for calibrated forecasts: the expected value of its square is then mean p(1-p) / N",
    notes="The root is taken as in the paper, for each class separately; the authors' training code omits it.",
    explain={"bandwidth": WIDTH},
)
def mmce(view: View, *, bandwidth: float = 0.4) -> float:
    """Square root of the mean over all pairs of rows of the product of their residuals weighted by exp(-distance / width)."""
    width = check_positive(bandwidth, "bandwidth")
    ties = view.ties
    return math.sqrt(max(laplace_pair_sum(ties.score, ties.excess, width), 0.0)) / view.total


lkce = preset(
    mmce,
    "lkce",
    "Laplace kernel calibration error",
    summary="Square root of the mean over all pairs of rows of the product of their residuals weighted by exp(-distance).",
    bandwidth=1.0,
    aliases=("LKCE", "kCE-Lap", "Laplace kernel calibration error"),
    cite="blasiok2023",
    pros="no bins and no parameter; bounds the smooth calibration error: `smce` is at least its square and at most sqrt(2) times it",
    cons="not within constant factors of the distance to calibration: for small distances it can grow like the square root; not 0 for calibrated "
    "forecasts: the expected value of its square is then mean p(1-p) / N",
    notes="Computed exactly, where published code uses random pairs.",
)


@metric(
    "Weighted maximum mean calibration error",
    family="kernel",
    subfamily="pairs of scores",
    range=(0, math.sqrt(2)),
    ideal=0,
    ideal_for="nothing",
    alternative="two-sided",
    cost="N log N",
    soft=False,
    aliases=("MMCE-W", "weighted MMCE"),
    cite="kumar2018",
    pros="events and non-events have the same total weight, however rare one of them is",
    cons="in general not 0 for calibrated forecasts: the residuals of the two outcomes are balanced only where both are equally frequent",
    notes="0 if only one outcome occurs. Published code divides by the number of rows of each outcome twice: ``normalisation='code'``.",
    explain={
        "bandwidth": WIDTH,
        "normalisation": "``'paper'``, or ``'code'`` for the doubly divided form of the authors' code, in which `sample_weight` is scaled to mean 1.",
    },
)
def mmce_w(view: View, *, bandwidth: float = 0.4, normalisation: Literal["paper", "code"] = "paper") -> float:
    """Square root of the kernel mean over pairs, with the residuals of events and non-events each divided by their number."""
    width = check_positive(bandwidth, "bandwidth")
    ties = view.ties
    events = float(ties.outcome.sum())
    others = view.total - events
    if events <= 0 or others <= 0:
        return 0.0
    positive, negative = (1 - ties.score) * ties.outcome, ties.score * (ties.weight - ties.outcome)
    if normalisation == "paper":
        residual = positive / events - negative / others
    else:
        # Importance weights of mean 1, so that only their ratios matter to the second division too.
        unit = view.total / np.count_nonzero(view.weights) if view.weight_kind == "importance" else 1.0
        residual = unit * (positive / events**2 - negative / others**2)
    return math.sqrt(max(laplace_pair_sum(ties.score, residual, width), 0.0))

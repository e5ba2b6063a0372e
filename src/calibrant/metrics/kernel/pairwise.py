"""Products of residuals of pairs of rows, weighted by a kernel of their scores."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ...util.checks import check_positive
from ...views.view import View
from ..registry import metric, preset
from .laplace import laplace_pair_sum


@metric("Maximum mean calibration error", range=(0, 1), ideal=0, cite="kumar2018")
def mmce(view: View, *, bandwidth: float = 0.4) -> float:
    """Square root of the mean over all pairs of rows of the product of their residuals weighted by exp(-distance / width)."""
    width = check_positive(bandwidth, "bandwidth")
    ties = view.ties
    return math.sqrt(max(laplace_pair_sum(ties.score, ties.excess, width), 0.0)) / view.total


lkce = preset(mmce, "lkce", "Laplace kernel calibration error", bandwidth=1.0, cite="blasiok2023")


@metric(
    "Weighted maximum mean calibration error",
    range=(0, math.sqrt(2)),
    ideal=0,
    alternative="two-sided",
    soft=False,
    cite="kumar2018",
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

"""Further signed metrics: by true class, and relative to the largest possible error."""

from __future__ import annotations

import math

import numpy as np

from ...binning.parse import Binning, Bins, bin_table
from ...errors import UndefinedMetricError
from ...views.view import View
from ..registry import metric


@metric(
    "Weighted sum of class-wise miscalibration scores",
    family="bin",
    subfamily="signed",
    range=(-math.inf, math.inf),
    ideal=0,
    ideal_for="sure",
    signed=True,
    sign_of="nothing",
    alternative="two-sided",
    lens="top_label",
    needs=("labels",),
    soft=False,
    sketch=False,
    aliases=("WSMCS",),
    cite="ao2023",
    pros="evaluates each true class separately, so that errors of two classes cancel only in part",
    cons="given the true class, a calibrated model is underconfident on correctly classified rows and overconfident on the others, so that 0 is "
    "not what calibration gives",
    certainty="fairly sure: from the authors' code",
    notes="Over- and underconfident classes are summed separately, each sum is multiplied by its number of classes, and the total is divided by "
    "the number of classes that occur. The authors' code rounds each class to three decimals; this implementation does not.",
)
def wsmcs(view: View) -> float:
    """Confidence minus accuracy on the rows of each true class, summed by sign and weighted by the number of classes of each sign."""
    assert view.rows is not None
    labels = view.rows.labels
    assert labels is not None
    weight = np.bincount(labels, view.weights)
    gap = np.bincount(labels, view.weights * (view.score - view.outcome))
    scores = gap[weight > 0] / weight[weight > 0]
    scores[np.abs(scores) < 1e-12] = 0  # rounding must not decide the sign of a calibrated class
    over, under = scores[scores >= 0], scores[scores < 0]
    return (len(over) * math.fsum(over) + len(under) * math.fsum(under)) / len(scores)


@metric(
    "Directional calibration index",
    family="bin",
    subfamily="signed",
    range=(-1, 1),
    ideal=0,
    robust=False,
    signed=True,
    sign_of="nothing",
    alternative="two-sided",
    cost="N log N",
    aliases=("DICI", "directional interpretable calibration index"),
    cite="cabitza2022",
    pros="relative to the largest possible difference at each score; the sign indicates which direction has the larger mean relative difference",
    cons="each direction is averaged separately, so that one bin can determine it, and the sign can differ from that of mean score minus mean outcome",
    certainty="reconstructed from the authors' later package; the original formulas were not available",
)
def dici(view: View, *, bins: Bins = 15, binning: Binning = "equal_mass") -> float:
    """Mean relative difference of bins with overestimation minus that of bins with underestimation."""
    table = bin_table(view, binning, bins)
    full = ~table.empty
    gap, weight, score = table.gap[full], table.weight[full], table.mean_score[full]
    gap = np.where(np.abs(gap) < 1e-12, 0.0, gap)  # rounding must not decide the sign of a calibrated bin
    relative = np.abs(gap) / np.maximum(score, 1 - score)

    def side(chosen: np.ndarray) -> float:
        total = math.fsum(weight[chosen])
        return math.fsum(weight[chosen] * relative[chosen]) / total if total > 0 else 0.0

    if not full.any():
        raise UndefinedMetricError("dici", "all bins are empty")
    return side(gap > 0) - side(gap < 0)

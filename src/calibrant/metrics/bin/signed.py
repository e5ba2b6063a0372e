"""Further signed metrics: by true class, and relative to the largest possible error."""

from __future__ import annotations

import math

import numpy as np

from ...binning.table import BinTable
from ...errors import UndefinedMetricError
from ...views.view import View
from ..registry import metric


@metric(
    "Weighted sum of class-wise miscalibration scores",
    range=(-math.inf, math.inf),
    ideal=0,
    alternative="two-sided",
    lens="top_label",
    needs=("labels",),
    soft=False,
    sketch=False,
    cite="ao2023",
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
    range=(-1, 1),
    ideal=0,
    alternative="two-sided",
    cite="cabitza2022",
    binning="equal_mass",
)
def dici(table: BinTable) -> float:
    """Mean relative difference of bins with overestimation minus that of bins with underestimation."""
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

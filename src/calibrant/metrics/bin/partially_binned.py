"""Metrics that bin one side only (scores or labels), or weigh bins in another way than by their rows."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...binning.parse import Binning, Bins, as_default, bin_cells, bin_table
from ...util.sums import accurate_sum
from ...views.view import View
from ..registry import metric, norm_root
from .bins import gaps_of_full_bins

Floats = NDArray[np.float64]


@metric(
    "Region-balanced expected calibration error",
    family="bin",
    subfamily="plug-in",
    range=(0, 1),
    ideal=0,
    aliases=("RBECE", "average calibration error", "ACE"),
    cite="dawkins2022",
    pros="every region of confidence counts the same, however few rows it has",
    cons="nearly empty bins weigh as much as full ones, so that sampling noise can dominate",
    certainty="fairly sure: the number of bins and the smallest region were not seen",
    explain={"min_count": "Bins with fewer rows than this are left out; a row counts as many times as `counts` says."},
)
def rbece(view: View, *, bins: Bins = 15, binning: Binning = "equal_width", min_count: float = 0) -> float:
    """Plain mean over bins of the gap between confidence and accuracy."""
    return float(gaps_of_full_bins(bin_table(view, binning, bins), min_count).mean())


@metric(
    "Sanders-modified Brier score",
    family="bin",
    subfamily="partly binned",
    range=(0, 1),
    ideal=0,
    ideal_for="sure",
    alternative="two-sided",
    soft=False,
    aliases=("SMBS", "Murphy's Brier score"),
    cite="sanders1963",
    pros="the Brier score of binned forecasts: reliability minus resolution plus uncertainty, exactly",
    cons="mixes calibration with discrimination; depends on the bins",
)
def smbs(view: View, *, bins: Bins = 15, binning: Binning = "equal_width") -> float:
    """Mean squared distance between each label and the mean score of its bin."""
    table = bin_table(view, binning, bins)
    full = ~table.empty
    score, positives, weight = table.mean_score[full], table.positives[full], table.weight[full]
    return math.fsum(positives * (1 - score) ** 2 + (weight - positives) * score**2) / table.total


@metric(
    "Distance from calibration, binned estimate",
    family="bin",
    subfamily="partly binned",
    range=(0, 1),
    ideal=0,
    aliases=("DCE", "distance-from-calibration estimate"),
    cite="survey",
    ideal_for="nothing",
    alternative="two-sided",
    pros="with ``bound=True`` an upper bound of `dce_lower`, the lower distance to calibration",
    cons="without ``bound=True`` not a bound; above 0 for calibrated forecasts, since the largest score stands for its bin; depends on the bins",
    certainty="reconstructed from the survey's words; the paper was not found",
    explain={
        "bins": "Number of bins; None is the cube root of the number of rows, rounded up.",
        "aggregate": "What stands for the scores of a bin: ``'max'``, ``'upper_edge'`` or ``'mean'`` (then it is `ece`).",
        "variant": "``'sum'`` compares the bin's labels together, ``'pointwise'`` one by one.",
        "bound": "Add the distance moved within bins, which makes it an upper bound of the distance to calibration.",
    },
)
def dce(
    view: View,
    *,
    bins: Bins | None = None,
    binning: Binning = "equal_width",
    aggregate: Literal["max", "upper_edge", "mean"] = "max",
    variant: Literal["sum", "pointwise"] = "sum",
    bound: bool = False,
) -> float:
    """Gap over bins between the labels and the largest score of the bin."""
    bins = as_default(math.ceil(round(view.effective_size ** (1 / 3), 9))) if bins is None else bins
    cell, count = bin_cells(view, binning, bins)
    table = bin_table(view, binning, bins)
    if aggregate == "mean":
        stand = np.where(table.empty, 0.0, table.mean_score)
    elif aggregate == "upper_edge":
        stand = table.high
    else:
        stand = np.zeros(count)
        np.maximum.at(stand, cell, view.score)
    moved = accurate_sum(view.weights * np.abs(view.score - stand[cell])) / view.total if bound else 0.0
    if variant == "pointwise":
        return view.mean(np.abs(view.outcome - stand[cell])) + moved
    return math.fsum(np.abs(table.positives - stand * table.weight)) / table.total + moved


@metric(
    "Label-binned expected calibration error",
    family="bin",
    subfamily="partly binned",
    range=(0, 1),
    ideal=0,
    ideal_for="sure",
    cost="N log N",
    aliases=("ECE-LB", "probability deviation error", "PDE", "label-binned ECE"),
    cite="roelofs2022",
    finish=norm_root,
    pros="scores are not averaged, so errors within a bin do not cancel",
    cons="counts the spread of scores within a bin as error, so it is not 0 for calibrated forecasts",
)
def ece_lb(view: View, *, bins: Bins = 15, binning: Binning = "equal_mass", norm: float = 1) -> float:
    """Mean distance between each score and the outcome rate of its bin."""
    cell, _ = bin_cells(view, binning, bins)
    distance = np.abs(view.score - bin_table(view, binning, bins).rate[cell])
    return float(distance.max()) if norm == math.inf else view.mean(distance**norm)

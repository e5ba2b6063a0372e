"""Metrics that bin the scores or the labels only, or weight bins other than by their rows."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ...binning.parse import bin_table
from ...binning.rules import BinningRule
from ...binning.table import BinTable
from ...util.sums import accurate_sum
from ...views.view import View
from ..registry import metric, norm_root
from .bins import full_bins


@metric("Region-balanced expected calibration error", range=(0, 1), ideal=0, cite="dawkins2022")
def rbece(table: BinTable, *, min_count: float = 0) -> float:
    """Unweighted mean over non-empty bins of the absolute difference between mean score and outcome rate."""
    return float(np.abs(table.gap[full_bins(table, min_count)]).mean())


@metric("Sanders-modified Brier score", range=(0, 1), ideal=0, alternative="two-sided", soft=False, cite="sanders1963")
def smbs(table: BinTable) -> float:
    """Mean squared difference between each outcome and the mean score of its bin."""
    full = ~table.empty
    score, positives, weight = table.mean_score[full], table.positives[full], table.weight[full]
    return math.fsum(positives * (1 - score) ** 2 + (weight - positives) * score**2) / table.total


@metric(
    "Distance from calibration, binned estimate",
    range=(0, 1),
    ideal=0,
    cite="survey",
    alternative="two-sided",
    bins=None,
)
def dce(
    view: View,
    *,
    rule: BinningRule,
    aggregate: Literal["max", "upper_edge", "mean"] = "max",
    variant: Literal["sum", "pointwise"] = "sum",
    bound: bool = False,
) -> float:
    """Mean absolute difference over bins between the outcome rate and the largest score of the bin."""
    rule = rule.with_bins(math.ceil(round(view.effective_size ** (1 / 3), 9)))
    cell, count = rule.cells(view)
    table = bin_table(view, rule)
    if aggregate == "mean":
        stand = np.where(table.empty, 0.0, table.mean_score)
    elif aggregate == "upper_edge":
        stand = table.right
    else:
        stand = np.zeros(count)
        np.maximum.at(stand, cell, view.score)
    moved = accurate_sum(view.weights * np.abs(view.score - stand[cell])) / view.total if bound else 0.0
    if variant == "pointwise":
        return view.mean(np.abs(view.outcome - stand[cell])) + moved
    return math.fsum(np.abs(table.positives - stand * table.weight)) / table.total + moved


@metric(
    "Label-binned expected calibration error",
    range=(0, 1),
    ideal=0,
    cite="roelofs2022",
    finish=norm_root,
    binning="equal_mass",
)
def ece_lb(view: View, *, rule: BinningRule, norm: float = 1) -> float:
    """Mean absolute difference between each score and the outcome rate of its bin."""
    cell, _ = rule.cells(view)
    distance = np.abs(view.score - bin_table(view, rule).rate[cell])
    return float(distance.max()) if norm == math.inf else view.mean(distance**norm)

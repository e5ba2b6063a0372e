"""Binned metrics of one score per row, all computed from the same BinTable."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...binning.table import BinTable, sum_over_bins, weighted_power
from ...errors import ArgumentError, UndefinedMetricError
from ...util.arrays import Floats
from ...util.checks import is_number
from ..forms import OfTables
from ..registry import metric, norm_root, preset


def mean_absolute(sums: Floats, total: Any) -> Any:
    """Compute the sum of the absolute values of sums over bins, divided by the total weight."""
    size = np.abs(sums)
    return (math.fsum(size) if size.ndim == 1 else size.sum(axis=-1)) / total


@metric("Expected calibration error", range=(0, 1), ideal=0, cite="naeini2015", finish=norm_root)
def ece(table: BinTable, *, norm: float = 1) -> OfTables:
    """Mean absolute difference between mean score and outcome rate over bins, weighted by the number of rows."""
    if norm == 1:
        return mean_absolute(table.excess, table.total)
    return weighted_power(table.gap, table.share, norm)


rmsce = preset(ece, "rmsce", "Root mean squared calibration error", norm=2, cite="kumar2019")
ece_em = preset(ece, "ece_em", "Expected calibration error, equal mass", binning="equal_mass", cite="roelofs2022")
cwce = preset(ece, "cwce", "Class-wise calibration error", lens="classwise", cite="kull2019")
ace = preset(ece, "ace", "Adaptive calibration error", lens="classwise", binning="equal_mass", cite="nixon2019")


@metric("Proportional expected calibration error", range=(0, math.inf), ideal=0, cite="tax2026")
def proportional_ece(table: BinTable) -> float:
    """Mean over bins of the absolute difference between mean score and outcome rate divided by the mean score."""
    excess = np.abs(table.excess)
    # The share of a bin times its gap over its mean score; scores of 0 alone have no error if no event occurred.
    infinite = np.where(excess > 0, np.inf, 0.0)
    with np.errstate(over="ignore"):
        terms = np.divide(table.weight * excess, table.score_sum, out=infinite, where=table.score_sum > 0)
    return math.fsum(terms) / table.total


@metric("Maximum calibration error", range=(0, 1), ideal=0, combine="max", cite="naeini2015")
def mce(table: BinTable, *, min_count: float = 0) -> OfTables:
    """Largest absolute difference between mean score and outcome rate over non-empty bins."""
    return np.max(np.abs(table.gap), axis=-1, initial=0.0, where=full_bins(table, min_count))


def full_bins(table: BinTable, min_count: float) -> NDArray[np.bool_]:
    """Return whether each bin is not empty and has at least `min_count` rows; some bin must."""
    if not (is_number(min_count) and min_count >= 0):
        raise ArgumentError("min_count", f"must be a non-negative number; got {min_count!r}")
    kept = ~table.empty & (table.size >= min_count)
    if not kept.any(axis=-1).all():
        raise UndefinedMetricError(
            "min_count", f"no bin contains {min_count:g} rows", "lower min_count, or use fewer bins"
        )
    return kept


@metric("Expected signed calibration error", range=(-1, 1), ideal=0, alternative="two-sided", cite="ao2023")
def esce(table: BinTable, *, representative: Literal["mean", "midpoint"] = "mean") -> OfTables:
    """Mean over bins of mean score minus outcome rate: positive for overestimation on average, negative for underestimation."""
    if representative == "midpoint":
        middle = (table.left + table.right) / 2
        return sum_over_bins(table.weight * middle - table.positives) / table.total
    return sum_over_bins(table.excess) / table.total


@metric("Area between curves, above the diagonal", range=(0, 1), ideal=0, cite="hagopian2023")
def abc_above(table: BinTable, *, measure: Literal["density", "lebesgue"] = "density") -> OfTables:
    """Part of the expected calibration error from bins whose outcome rate is above their mean score (top label: underconfident)."""
    return _area(table, -1, measure)


@metric("Area between curves, below the diagonal", range=(0, 1), ideal=0, cite="hagopian2023")
def abc_below(table: BinTable, *, measure: Literal["density", "lebesgue"] = "density") -> OfTables:
    """Part of the expected calibration error from bins whose outcome rate is below their mean score (top label: overconfident)."""
    return _area(table, 1, measure)


def _area(table: BinTable, side: int, measure: str) -> OfTables:
    if measure == "density":
        return sum_over_bins(np.maximum(side * table.excess, 0)) / table.total
    if table.weight.ndim > 1:
        return np.array([_area(one, side, measure) for one in table.each()])
    kept = ~table.empty
    # The area of the positive part of the piecewise linear gap, whose pieces are split at zero crossings.
    gap, area = side * table.gap[kept], 0.0
    for width, left, right in zip(
        np.diff(table.mean_score[kept]).tolist(), gap[:-1].tolist(), gap[1:].tolist(), strict=True
    ):
        if left >= 0 and right >= 0:
            area += width * (left + right) / 2
        elif left > 0 or right > 0:
            peak = max(left, right)
            area += width * peak * peak / (2 * abs(right - left))
    return area

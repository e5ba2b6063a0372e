"""Binned metrics of one score per row: every one reads the same BinTable."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .._convert import is_number
from ..binning import Binning, Bins, bin_table
from ..bintable import BinTable
from ..errors import ArgumentError, UndefinedMetricError
from ..registry import metric, preset
from ..view import View
from .norms import norm_root, weighted_power

Floats = NDArray[np.float64]


@metric(
    "Expected calibration error",
    family="bin",
    subfamily="plug-in",
    range=(0, 1),
    ideal=0,
    recommended=True,
    use_cases=("classwise", "familiar"),
    aliases=(
        "ECE",
        "ECE-EW",
        "confidence ECE",
        "estimated calibration error",
        "empirical calibration error",
        "mean absolute calibration error",
        "top-label calibration error",
    ),
    cite="naeini2015",
    finish=norm_root,
    pros="simple; familiar",
    cons="biased upwards for small N; depends on the bins; 0 for a constant forecast at the base rate",
)
def ece(view: View, *, bins: Bins = 15, binning: Binning = "equal_width", norm: float = 1) -> float:
    """Mean gap between confidence and accuracy over bins, weighted by how full each bin is."""
    table = bin_table(view, binning, bins)
    if norm == 1:
        return math.fsum(np.abs(table.excess)) / table.total
    return weighted_power(table.gap, table.share, norm)


ce_p = preset(
    ece,
    "ce_p",
    "l_p calibration error",
    summary="The l_p norm over bins of the gap between confidence and accuracy; norm=2 unless told otherwise.",
    norm=2,
    recommended=False,
    use_cases=(),
    aliases=("mean calibration error", "lp calibration error", "CE_p", "MCE"),
    cite="kumar2019",
    pros="one family from the mean to the maximum",
    cons="biased upwards for small N; depends on the bins",
)
rmsce = preset(
    ece,
    "rmsce",
    "Root mean squared calibration error",
    summary="Root of the mean squared gap between confidence and accuracy over bins.",
    norm=2,
    recommended=False,
    use_cases=(),
    aliases=("RMSCE", "l2 calibration error", "plug-in estimator", "RMS calibration error"),
    cite="kumar2019",
    pros="its square is the reliability term of the Brier score",
    cons="biased upwards for small N; depends on the bins",
)
ece_em = preset(
    ece,
    "ece_em",
    "Expected calibration error, equal mass",
    summary="Expected calibration error over bins that hold equally many rows.",
    binning="equal_mass",
    cost="N log N",
    recommended=False,
    use_cases=(),
    aliases=("ECE-EM", "adaptive ECE", "equal-mass ECE"),
    cite="roelofs2022",
    pros="no bin is nearly empty; less biased than equal width",
    cons="bins move with the data, so two models are compared on different bins",
)
cwce = preset(
    ece,
    "cwce",
    "Class-wise calibration error",
    summary="Expected calibration error of every class against the rest, averaged over classes.",
    lens="classwise",
    cost="N K",
    recommended=True,
    use_cases=("classwise",),
    aliases=(
        "SCE",
        "static calibration error",
        "marginal calibration error",
        "classwise ECE",
        "CWCE",
        "binned multiclass CE",
    ),
    cite="kull2019",
    pros="looks at every class, not only the predicted one",
    cons="many classes that are nearly always near 0 wash it out",
)
ace = preset(
    ece,
    "ace",
    "Adaptive calibration error",
    summary="Class-wise calibration error over bins that hold equally many rows.",
    lens="classwise",
    binning="equal_mass",
    cost="N K log N",
    recommended=False,
    use_cases=("classwise",),
    aliases=("ACE",),
    cite="nixon2019",
    pros="looks at every class; no bin is nearly empty",
    cons="bins move with the data; classes that are nearly always near 0 wash it out",
)


@metric(
    "Maximum calibration error",
    family="bin",
    subfamily="plug-in",
    range=(0, 1),
    ideal=0,
    combine="max",
    recommended=True,
    use_cases=("safety", "familiar"),
    aliases=("MCE", "l_inf calibration error"),
    cite="naeini2015",
    pros="the worst case, where one bad region matters",
    cons="decided by one bin, often the emptiest",
    explain={"min_count": "Bins with fewer rows than this are left out; a row counts as many times as `counts` says."},
)
def mce(view: View, *, bins: Bins = 15, binning: Binning = "equal_width", min_count: float = 0) -> float:
    """Largest gap between confidence and accuracy over bins that hold any rows."""
    return float(gaps_of_full_bins(bin_table(view, binning, bins), min_count).max())


def gaps_of_full_bins(table: BinTable, min_count: float) -> Floats:
    """Distances between confidence and accuracy of the bins that hold at least `min_count` rows, and any at all."""
    if not (is_number(min_count) and min_count >= 0):
        raise ArgumentError("min_count", f"must be a number from 0 up; got {min_count!r}")
    # Importance has no unit (scaling it changes nothing), so only counts can say that a row stands for several.
    size = table.rows if table.weight_kind == "importance" else table.weight
    kept = ~table.empty & (size >= min_count)
    if not kept.any():
        raise UndefinedMetricError("min_count", f"no bin holds {min_count:g} rows", "lower min_count or use fewer bins")
    return np.abs(table.gap[kept])


@metric(
    "Expected signed calibration error",
    family="bin",
    subfamily="signed",
    range=(-1, 1),
    ideal=0,
    signed=True,
    alternative="two-sided",
    recommended=True,
    use_cases=("direction",),
    aliases=("ESCE", "miscalibration score", "MCS"),
    cite="ao2023",
    pros="says whether the model is over- or underconfident",
    cons="over- and underconfidence cancel",
    notes="With the mean score of each bin (the default) the value is mean score minus mean outcome whatever the bins are, so averaging "
    "over bin widths changes nothing; only ``representative='midpoint'`` depends on them.",
    explain={
        "representative": "What stands for a bin's confidence: its mean score, or the ``'midpoint'`` of its edges."
    },
)
def esce(
    view: View,
    *,
    bins: Bins = 15,
    binning: Binning = "equal_width",
    representative: Literal["mean", "midpoint"] = "mean",
) -> float:
    """Mean of confidence minus accuracy over bins: positive for overconfidence, negative for underconfidence."""
    table = bin_table(view, binning, bins)
    if representative == "midpoint":
        middle = (table.low + table.high) / 2
        return math.fsum(table.weight * middle - table.positives) / table.total
    return math.fsum(table.excess) / table.total


@metric(
    "Area between curves, above the diagonal",
    family="bin",
    subfamily="signed",
    range=(0, 1),
    ideal=0,
    recommended=True,
    use_cases=("direction",),
    aliases=("ABC above", "ABC", "integrated calibration error", "underconfidence error"),
    cite="hagopian2023",
    pros="the underconfident part of the expected calibration error on its own",
    cons="biased upwards for small N; depends on the bins",
    certainty="fairly sure: the survey's words, with the density weights that make above + below the expected calibration error",
    explain={"measure": "``'density'`` weighs bins by their rows; ``'lebesgue'`` is the area in the plotted diagram."},
)
def abc_above(
    view: View,
    *,
    bins: Bins = 15,
    binning: Binning = "equal_width",
    measure: Literal["density", "lebesgue"] = "density",
) -> float:
    """The part of the expected calibration error that comes from underconfident bins."""
    return _area(bin_table(view, binning, bins), -1, measure)


@metric(
    "Area between curves, below the diagonal",
    family="bin",
    subfamily="signed",
    range=(0, 1),
    ideal=0,
    recommended=True,
    use_cases=("direction", "safety"),
    aliases=("ABC below", "ABC", "integrated calibration error", "overconfidence error"),
    cite="hagopian2023",
    pros="the overconfident part of the expected calibration error on its own",
    cons="biased upwards for small N; depends on the bins",
    certainty="fairly sure: the survey's words, with the density weights that make above + below the expected calibration error",
    explain={"measure": "``'density'`` weighs bins by their rows; ``'lebesgue'`` is the area in the plotted diagram."},
)
def abc_below(
    view: View,
    *,
    bins: Bins = 15,
    binning: Binning = "equal_width",
    measure: Literal["density", "lebesgue"] = "density",
) -> float:
    """The part of the expected calibration error that comes from overconfident bins."""
    return _area(bin_table(view, binning, bins), 1, measure)


def _area(table: BinTable, side: int, measure: str) -> float:
    if measure == "density":
        return math.fsum(np.maximum(side * table.excess, 0)) / table.total
    kept = ~table.empty
    return _polyline_area(table.mean_score[kept], side * table.gap[kept])


def _polyline_area(x: Floats, gap: Floats) -> float:
    """Area of the positive part of the piecewise linear `gap` over `x`, pieces split where they cross zero."""
    area = 0.0
    for width, left, right in zip(np.diff(x).tolist(), gap[:-1].tolist(), gap[1:].tolist(), strict=True):
        if left >= 0 and right >= 0:
            area += width * (left + right) / 2
        elif left > 0 or right > 0:
            peak = max(left, right)
            area += width * peak * peak / (2 * abs(right - left))
    return area

"""Binned metrics of one score per row, all computed from the same BinTable."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...binning.parse import Binning, Bins, bin_table
from ...binning.table import BinTable, weighted_power
from ...errors import ArgumentError, UndefinedMetricError
from ...input.convert import is_number
from ...views.view import View
from ..registry import metric, norm_root, preset

Floats = NDArray[np.float64]

# The mean of |x| is at least |mean of x|: for noise this inflates the value, for the rows of a bin it reduces it.
PLUG_IN = "inflated by sampling noise, most where bins contain few rows; depends on the bins; errors of opposite sign inside a bin cancel"


def mean_absolute(sums: Iterable[float], total: float) -> float:
    """Compute the sum of the absolute values of sums over bins, divided by the total weight."""
    return math.fsum(map(abs, sums)) / total


@metric(
    "Expected calibration error",
    family="bin",
    subfamily="plug-in",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    recommended=True,
    aliases=(
        "ECE",
        "ECE-EW",
        "confidence ECE",
        "estimated calibration error",
        "empirical calibration error",
        "mean absolute calibration error",
        "binary ECE",
        "equal-width ECE",
        "standard ECE",
        "top-label ECE",
        "top-label classification error",
        "ABC",
        "area between curves",
        "integrated calibration error",
    ),
    cite="naeini2015",
    finish=norm_root,
    pros="simple and widely reported",
    cons=f"{PLUG_IN}; 0 for a constant forecast at the base rate",
)
def ece(view: View, *, bins: Bins = 15, binning: Binning = "equal_width", norm: float = 1) -> float:
    """Mean absolute difference between mean score and outcome rate over bins, weighted by the number of rows."""
    table = bin_table(view, binning, bins)
    if norm == 1:
        return mean_absolute(table.excess, table.total)
    return weighted_power(table.gap, table.share, norm)


rmsce = preset(
    ece,
    "rmsce",
    "Root mean squared calibration error",
    summary="Root mean squared difference between mean score and outcome rate over bins, weighted by the number of rows.",
    norm=2,
    recommended=False,
    aliases=(
        "RMSCE",
        "l2 calibration error",
        "plug-in estimator",
        "RMS calibration error",
        "ce_p",
        "l_p calibration error",
        "lp calibration error",
        "mean calibration error",
        "CE_p",
        "MCE",
        "PE",
    ),
    cite="kumar2019",
    pros="for one score its square is the reliability term of the binned Brier score, `smbs`; with other norms it ranges from the mean over bins "
    "(norm 1, `ece`) to the largest difference (norm inf, `mce`)",
    cons=PLUG_IN,
)
ece_em = preset(
    ece,
    "ece_em",
    "Expected calibration error, equal mass",
    summary="Expected calibration error over bins with equal numbers of rows.",
    binning="equal_mass",
    cost="N log N",
    recommended=False,
    aliases=(
        "ECE-EM",
        "adaptive ECE",
        "equal-mass ECE",
        "ece_fott",
        "ECE-FOTT",
        "tilted-roof ECE",
        "equal-mass EM ECE",
    ),
    cite="roelofs2022",
    pros="without ties all bins contain the same number of rows (up to one), so that none has much more sampling noise than another",
    cons="bins depend on the data, so that two models are compared on different bins; ties make bins unequal or reduce their number; where "
    "scores are sparse a bin is wide, and errors of opposite sign inside it cancel; not less biased than equal width in general",
)
cwce = preset(
    ece,
    "cwce",
    "Class-wise calibration error",
    summary="Expected calibration error of every class against the rest, averaged over classes.",
    lens="classwise",
    cost="N K",
    recommended=True,
    aliases=(
        "SCE",
        "static calibration error",
        "classwise ECE",
        "CWCE",
        "binned multiclass CE",
        "binned multiclass calibration error",
    ),
    cite="kull2019",
    pros="evaluates every class, not only the predicted one",
    cons="at most 2 / K by arithmetic, hence small for many classes; inflated by sampling noise; depends on the bins",
)
ace = preset(
    ece,
    "ace",
    "Adaptive calibration error",
    summary="Class-wise calibration error over bins with equal numbers of rows.",
    lens="classwise",
    binning="equal_mass",
    cost="N K log N",
    recommended=False,
    aliases=("ACE",),
    cite="nixon2019",
    pros="evaluates every class; without ties all bins contain the same number of rows",
    cons="at most 2 / K by arithmetic, hence small for many classes; bins depend on the data; inflated by sampling noise",
)


@metric(
    "Proportional expected calibration error",
    family="bin",
    subfamily="plug-in",
    range=(0, math.inf),
    ideal=0,
    robust=False,
    aliases=(
        "proportional ECE",
        "relative ECE",
        "relative expected calibration error",
        "proportional adaptive calibration error",
    ),
    cite="tax2026",
    pros="an error of 0.01 counts more at a predicted rate of 0.02 than at 0.5, as for rare events",
    cons="dominated by the bins with the smallest scores, where rates are noisy; depends on the bins; inflated by sampling noise; not symmetric in the "
    "two classes",
    notes="MCGrad uses 40 bins, closed on the left. Its adaptive form has bins of equal mass (``binning='equal_mass'``).",
)
def proportional_ece(view: View, *, bins: Bins = 15, binning: Binning = "equal_width") -> float:
    """Mean over bins of the absolute difference between mean score and outcome rate divided by the mean score."""
    table = bin_table(view, binning, bins)
    excess = np.abs(table.excess)
    # The share of a bin times its gap over its mean score; scores of 0 alone have no error if no event occurred.
    terms = np.divide(
        table.weight * excess, table.score_sum, out=np.where(excess > 0, np.inf, 0.0), where=table.score_sum > 0
    )
    return math.fsum(terms) / table.total


@metric(
    "Maximum calibration error",
    family="bin",
    subfamily="plug-in",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    robust=False,
    combine="max",
    recommended=True,
    aliases=("MCE", "l_inf calibration error"),
    cite="naeini2015",
    pros="reports the worst bin, where a single region with a large error matters",
    cons="determined by one bin, which may contain only a few rows, so that sampling noise alone can make it large",
    explain={"min_count": "Bins with fewer rows are left out; under `counts` every copy of a row counts."},
)
def mce(view: View, *, bins: Bins = 15, binning: Binning = "equal_width", min_count: float = 0) -> float:
    """Largest absolute difference between mean score and outcome rate over non-empty bins."""
    return float(gaps_of_full_bins(bin_table(view, binning, bins), min_count).max())


def gaps_of_full_bins(table: BinTable, min_count: float) -> Floats:
    """Return the absolute gaps of the non-empty bins with at least `min_count` rows."""
    if not (is_number(min_count) and min_count >= 0):
        raise ArgumentError("min_count", f"must be a non-negative number; got {min_count!r}")
    # Importance weights have no unit, so that only counts can state that a row represents several.
    size = table.rows if table.weight_kind == "importance" else table.weight
    kept = ~table.empty & (size >= min_count)
    if not kept.any():
        raise UndefinedMetricError(
            "min_count", f"no bin contains {min_count:g} rows", "lower min_count, or use fewer bins"
        )
    return np.abs(table.gap[kept])


@metric(
    "Expected signed calibration error",
    family="bin",
    subfamily="signed",
    range=(-1, 1),
    ideal=0,
    probability_scale=True,
    signed=True,
    alternative="two-sided",
    recommended=True,
    aliases=("ESCE", "miscalibration score", "MCS"),
    cite="ao2023",
    pros="a single signed number: for the top label over- or underconfidence, for one class over- or underestimation",
    cons="errors of opposite sign cancel",
    notes="With the mean score of each bin (the default) the value is mean score minus mean outcome for any bins, so that averaging over bin "
    "widths changes nothing; only ``representative='midpoint'`` depends on them.",
    explain={"representative": "Representative score of a bin: its mean score, or the ``'midpoint'`` of its edges."},
)
def esce(
    view: View,
    *,
    bins: Bins = 15,
    binning: Binning = "equal_width",
    representative: Literal["mean", "midpoint"] = "mean",
) -> float:
    """Mean over bins of mean score minus outcome rate: positive for overestimation on average, negative for underestimation."""
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
    probability_scale=True,
    one_sided=True,
    above="under",
    recommended=True,
    aliases=("ABC above", "ABC", "integrated calibration error", "underconfidence error", "area between curves"),
    cite="hagopian2023",
    pros="the part of `ece` from bins whose outcome rate is above their mean score; `abc_above` and `abc_below` add up to `ece`",
    cons=PLUG_IN,
    certainty="certain; the survey states that both areas add up to the expected calibration error, which determines the weights",
    explain={"measure": "``'density'`` weights bins by their rows; ``'lebesgue'`` is the area in the plotted diagram."},
)
def abc_above(
    view: View,
    *,
    bins: Bins = 15,
    binning: Binning = "equal_width",
    measure: Literal["density", "lebesgue"] = "density",
) -> float:
    """Part of the expected calibration error from bins whose outcome rate is above their mean score (top label: underconfident)."""
    return _area(bin_table(view, binning, bins), -1, measure)


@metric(
    "Area between curves, below the diagonal",
    family="bin",
    subfamily="signed",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    one_sided=True,
    recommended=True,
    aliases=("ABC below", "ABC", "integrated calibration error", "overconfidence error", "area between curves"),
    cite="hagopian2023",
    pros="the part of `ece` from bins whose outcome rate is below their mean score; `abc_above` and `abc_below` add up to `ece`",
    cons=PLUG_IN,
    certainty="certain; the survey states that both areas add up to the expected calibration error, which determines the weights",
    explain={"measure": "``'density'`` weights bins by their rows; ``'lebesgue'`` is the area in the plotted diagram."},
)
def abc_below(
    view: View,
    *,
    bins: Bins = 15,
    binning: Binning = "equal_width",
    measure: Literal["density", "lebesgue"] = "density",
) -> float:
    """Part of the expected calibration error from bins whose outcome rate is below their mean score (top label: overconfident)."""
    return _area(bin_table(view, binning, bins), 1, measure)


def _area(table: BinTable, side: int, measure: str) -> float:
    if measure == "density":
        return math.fsum(np.maximum(side * table.excess, 0)) / table.total
    kept = ~table.empty
    return _polyline_area(table.mean_score[kept], side * table.gap[kept])


def _polyline_area(x: Floats, gap: Floats) -> float:
    """Compute the area of the positive part of the piecewise linear `gap` over `x`, splitting pieces at zero crossings."""
    area = 0.0
    for width, left, right in zip(np.diff(x).tolist(), gap[:-1].tolist(), gap[1:].tolist(), strict=True):
        if left >= 0 and right >= 0:
            area += width * (left + right) / 2
        elif left > 0 or right > 0:
            peak = max(left, right)
            area += width * peak * peak / (2 * abs(right - left))
    return area

"""Metrics over many partitions into intervals: several widths, all shifts of bins of one width, or all intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...binning.parse import bin_table
from ...errors import ArgumentError
from ...util.checks import check_positive, check_whole
from ...util.sums import accurate_sum
from ...views.view import View
from ..registry import metric

Floats = NDArray[np.float64]


def shifted_error(view: View, width: float) -> float:
    """Compute the expected calibration error averaged over all shifts of bins of one width, exactly.

    Every interval (x - width, x] is a bin of one shift, so the average is the integral over x of the window's |sum of
    residuals|, which is constant between the places where a score enters (x = p) or leaves (x = p + width).
    """
    prefix = view.prefix
    excess = np.diff(prefix.excess)
    places = np.concatenate([prefix.score, prefix.score + width])
    order = np.argsort(places, kind="stable")  # two rising runs: merged in one pass
    held = np.cumsum(np.concatenate([excess, -excess])[order])
    return accurate_sum(np.abs(held[:-1]) * np.diff(places[order])) / (width * view.total)


@metric(
    "Random interval calibration error",
    family="bin",
    subfamily="many partitions",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    cost="N log N",
    aliases=("RICE",),
    cite="blasiok2023",
    pros="does not depend on the position of bin edges; computed exactly, where the reference implementation uses 100 random shifts",
    cons="depends on the width; inflated by sampling noise",
    explain={"width": "Width of the bins."},
)
def rice(view: View, *, width: float = 1 / 15) -> float:
    """Expected calibration error averaged over all shifts of bins of one width."""
    if check_positive(width, "width") > 1:
        raise ArgumentError("width", f"must be at most 1; got {width!r}")
    return shifted_error(view, width)


@metric(
    "Surrogate interval calibration error",
    family="bin",
    subfamily="many partitions",
    range=(0, 1 + 2**-9),
    ideal=None,
    probability_scale=True,
    cost="N log N",
    aliases=("SICE", "interval calibration error", "ICE"),
    cite="blasiok2023",
    pros="no choice of a width, over which it is minimised; an upper bound of `dce_lower`, the lower distance to calibration",
    cons="never below the smallest width, 2^-9 by default",
    notes="The exact average over shifts replaces the random shifts of the reference implementation, whose minimum is biased downwards.",
    explain={"levels": "Number of widths: 1, 1/2, ..., 2^-(levels - 1)."},
)
def sice(view: View, *, levels: int = 10) -> float:
    """Minimum over bin widths of the width plus the error averaged over all shifts of bins of that width."""
    widths = [2.0**-level for level in range(check_whole(levels, "levels"))]
    return min(shifted_error(view, width) + width for width in widths)


# Ten widths, evenly spaced.
WIDTHS = (0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.045, 0.05)


@metric(
    "Expected calibration error averaged over bin widths",
    family="bin",
    subfamily="many partitions",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    aliases=("ECE averaged over bin widths", "mean ECE over bin sizes", "width-averaged ECE"),
    cite="verhaeghe2023",
    pros="depends less on one choice of the width than `ece`",
    cons="20 to 200 bins contain few rows each, so that it is inflated by sampling noise more than `ece` over 15; errors of opposite sign "
    "inside a bin cancel",
    certainty="fairly sure: the range of the widths is that of the survey; their number, and rounding 1 / width to a whole number of bins, are "
    "chosen here",
    notes="The same average of `esce` with bin means equals `esce` for any bins.",
    explain={"widths": "Widths of the bins, each from 1e-7 to 1; there are 1 / width bins, rounded, of equal width."},
)
def ece_widths(view: View, *, widths: Sequence[float] = WIDTHS) -> float:
    """Expected calibration error averaged over several widths of equal-width bins, by default ten from 0.005 to 0.05."""
    if isinstance(widths, str) or np.ndim(widths) != 1 or len(widths) == 0:
        raise ArgumentError("widths", f"must be a list of numbers; got {widths!r}", "for example [0.05, 0.1]")
    for width in widths:
        if not 1e-7 <= check_positive(width, "widths") <= 1:
            raise ArgumentError("widths", f"must be from 1e-7 to 1; got {width!r}")
    tables = [bin_table(view, "equal_width", max(1, round(1 / width))) for width in widths]
    return math.fsum(math.fsum(np.abs(table.excess)) / table.total for table in tables) / len(tables)


@metric(
    "Cutoff calibration error",
    family="bin",
    subfamily="many partitions",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    cost="N log N",
    aliases=("CCE",),
    cite="rossellini2025",
    pros="no bins: the worst interval of scores, weighted by its rows",
    cons="determined by the worst interval alone; errors of alternating sign inside it cancel",
    notes="Equal to the range of the cumulative differences (ECCE-R, Kuiper).",
)
def cce(view: View) -> float:
    """Largest absolute difference between the sums of scores and of outcomes over any interval of scores, divided by the number of rows."""
    return float(np.ptp(view.prefix.excess)) / view.total

"""Metrics over many partitions into intervals: all shifts of bins of one width, or all intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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

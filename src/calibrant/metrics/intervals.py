"""Metrics over many partitions into intervals at once: all shifts of a width, or every interval there is."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._checks import check_positive, check_whole
from ..errors import ArgumentError
from ..registry import metric
from ..view import View

Floats = NDArray[np.float64]


def shifted_error(view: View, width: float) -> float:
    """Expected calibration error averaged over all shifts of bins of one width, exactly.

    As the shift u grows from 0 to `width`, each score moves up one bin once. The sum of residuals of a bin is therefore
    piecewise constant in u, with a step at each score of this bin (leaving) and of the one below (arriving).
    """
    prefix = view.prefix
    excess = np.diff(prefix.excess)
    home = np.floor(prefix.score / width)
    leaves = width * (home + 1) - prefix.score
    first = home.astype(np.int64)
    bins = np.concatenate([first, first + 1])
    when = np.clip(np.concatenate([leaves, leaves]), 0, width)
    step = np.concatenate([-excess, excess])
    order = np.lexsort((when, bins))
    bins, when, step = bins[order], when[order], step[order]
    start = np.flatnonzero(np.append(True, bins[1:] != bins[:-1]))
    begin = np.zeros(len(start))
    np.add.at(begin, np.searchsorted(bins[start], first), excess)
    # The sum in a bin after each of its steps: what it held at u = 0, and the steps so far.
    held = np.cumsum(step)
    before = np.append(0.0, held)[start]
    lengths = np.diff(np.append(start, len(bins)))
    held += np.repeat(begin - before, lengths)
    until = np.append(when[1:], width)
    until[np.append(start[1:], len(bins)) - 1] = width
    area = math.fsum(np.abs(held) * (until - when)) + math.fsum(np.abs(begin) * when[start])
    return area / (width * view.total)


@metric(
    "Random interval calibration error",
    family="bin",
    subfamily="many partitions",
    range=(0, 1),
    ideal=0,
    cost="N log N",
    aliases=("RICE",),
    cite="blasiok2023",
    pros="no place of the bin edges is favoured; computed exactly, where the reference draws 100 random shifts",
    cons="still depends on the width",
    explain={"width": "Width of the bins."},
)
def rice(view: View, *, width: float = 1 / 15) -> float:
    """Expected calibration error averaged over every shift of bins of one width."""
    if check_positive(width, "width") > 1:
        raise ArgumentError("width", f"must be at most 1; got {width!r}")
    return shifted_error(view, width)


@metric(
    "Surrogate interval calibration error",
    family="bin",
    subfamily="many partitions",
    range=(0, 1 + 2**-9),
    ideal=None,
    cost="N log N",
    aliases=("SICE", "interval calibration error"),
    cite="blasiok2023",
    pros="chooses the width itself and pays for it; bounds the distance to calibration",
    cons="never below the smallest width, 2^-9 by default",
    notes="The exact average over shifts replaces the reference's random shifts, whose minimum is biased downwards.",
    explain={"levels": "Widths 1, 1/2, ... 2^-(levels - 1) are tried."},
)
def sice(view: View, *, levels: int = 10) -> float:
    """Least sum of a bin width and the error averaged over all shifts of bins of that width."""
    widths = [2.0**-level for level in range(check_whole(levels, "levels"))]
    return min(shifted_error(view, width) + width for width in widths)


@metric(
    "Cutoff calibration error",
    family="bin",
    subfamily="many partitions",
    range=(0, 1),
    ideal=0,
    cost="N log N",
    aliases=("CCE",),
    cite="rossellini2025",
    pros="no bins at all: the worst interval is found, weighed by its rows",
    cons="small errors everywhere can hide below one large interval",
    notes="Equal to the range of the cumulative differences (ECCE-R, Kuiper).",
)
def cce(view: View) -> float:
    """Largest gap between scores and outcomes over any interval of scores, weighed by how many rows it holds."""
    return float(np.ptp(view.prefix.excess)) / view.total

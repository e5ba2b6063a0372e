"""Metrics over many partitions into intervals: several widths, all shifts of bins of one width, or all intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...binning.parse import bin_table
from ...binning.rules import EqualWidth
from ...errors import ArgumentError
from ...util.checks import check_positive, check_whole
from ...util.sums import accurate_sum
from ...views.view import View
from ..forms import Path, paths_of
from ..registry import metric


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


@metric("Random interval calibration error", range=(0, 1), ideal=0, cite="blasiok2023")
def rice(view: View, *, width: float = 1 / 15) -> float:
    """Expected calibration error averaged over all shifts of bins of one width."""
    if check_positive(width, "width") > 1:
        raise ArgumentError("width", f"must be at most 1; got {width!r}")
    return shifted_error(view, width)


@metric("Surrogate interval calibration error", range=(0, 1 + 2**-9), ideal=None, cite="blasiok2023")
def sice(view: View, *, levels: int = 10) -> float:
    """Minimum over bin widths of the width plus the error averaged over all shifts of bins of that width."""
    widths = [2.0**-level for level in range(check_whole(levels, "levels"))]
    return min(shifted_error(view, width) + width for width in widths)


# Ten widths, evenly spaced.
WIDTHS = (0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.045, 0.05)


@metric("Expected calibration error averaged over bin widths", range=(0, 1), ideal=0, cite="verhaeghe2023")
def ece_widths(view: View, *, widths: Sequence[float] = WIDTHS) -> float:
    """Expected calibration error averaged over several widths of equal-width bins, by default ten from 0.005 to 0.05."""
    if isinstance(widths, str) or np.ndim(widths) != 1 or len(widths) == 0:
        raise ArgumentError("widths", f"must be a list of numbers; got {widths!r}", "for example [0.05, 0.1]")
    for width in widths:
        if not 1e-7 <= check_positive(width, "widths") <= 1:
            raise ArgumentError("widths", f"must be from 1e-7 to 1; got {width!r}")
    tables = [bin_table(view, EqualWidth(max(1, round(1 / width)))) for width in widths]
    return math.fsum(math.fsum(np.abs(table.excess)) / table.total for table in tables) / len(tables)


@metric("Cutoff calibration error", range=(0, 1), ideal=0, cite="rossellini2025")
def cce(view: View) -> Path:
    """Largest absolute difference between the sums of scores and of outcomes over any interval of scores, divided by the number of rows."""
    return Path(
        lambda: float(np.ptp(view.prefix.excess)) / view.total,
        lambda score, mass: np.ptp(paths_of(score, mass), axis=1),
    )

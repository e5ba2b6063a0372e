"""Measures over all thresholds of the score: what the rows below and above each one sum to, and what deciding by it costs."""

from __future__ import annotations

import numpy as np

from ...util.arrays import Floats
from ...util.sums import accurate_sum
from ...views.view import View
from ..forms import Path, paths_of
from ..registry import metric
from .cumulative import path_of


def _squares_of_sides(score: Floats, paths: Floats) -> Floats:
    """Return, for thresholds between neighbouring scores, squared sums below plus above each, times the length of the interval."""
    length = np.diff(np.concatenate([[0.0], score, [1.0]]))
    return np.asarray((paths**2 + (paths[..., -1:] - paths) ** 2) * length)


@metric("Averaged two-bin calibration error", range=(0, 1), ideal=0, cite="hartline2026")
def atb(view: View) -> Path:
    """Mean over all thresholds of the squared cumulative differences of the rows below plus those above."""

    def values(score: Floats, mass: Floats) -> Floats:
        distinct = score[np.append(True, score[1:] != score[:-1])]
        return np.asarray(_squares_of_sides(distinct, paths_of(score, mass)).sum(axis=1))

    return Path(lambda: accurate_sum(_squares_of_sides(view.prefix.score, path_of(view))), values)


def threshold_regrets(view: View) -> tuple[Floats, Floats]:
    """Return thresholds, in pairs that enclose each interval without a score, and the regrets just inside.

    The regret is convex between neighbouring scores, so that its largest values lie at the ends.
    """
    prefix = view.prefix
    ends = np.concatenate([[0.0], prefix.score, [1.0]])
    threshold = np.column_stack([ends[:-1], ends[1:]])
    rows, events = prefix.weight[:, None] / view.total, prefix.outcome[:, None] / view.total
    below, every = events - threshold * rows, events[-1] - threshold
    return threshold.ravel(), (2 * (below + np.maximum(0.0, -every))).ravel()


@metric("U-calibration error", range=(0, 2), ideal=0, cite="kleinberg2023")
def u_cal(view: View) -> float:
    """Largest regret, over thresholds, of decisions by the score against the same decision for all rows."""
    return max(0.0, float(threshold_regrets(view)[1].max()))

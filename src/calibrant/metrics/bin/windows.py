"""Overlapping bins: windows of neighbouring rows."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import WeightsNotSupportedError
from ...util.checks import check_whole
from ...util.sums import accurate_sum
from ...views.view import View
from ..registry import metric

Floats = NDArray[np.float64]

# Counts are expanded to rows; beyond this many the expansion would be too large.
MAX_ROWS = 50_000_000


def _sorted_rows(view: View, id: str) -> tuple[Floats, Floats, Floats]:
    """Return scores, outcomes and weights in increasing order, with counts expanded to rows; tied rows share their mean outcome.

    Without that, the order of rows inside a tie would move the value.
    """
    prefix = view.prefix
    weight = np.diff(prefix.weight)
    rate = np.diff(prefix.outcome) / weight
    if view.weight_kind == "counts" and view.weight is not None:
        if view.total > MAX_ROWS:
            raise WeightsNotSupportedError(
                "counts", f"{id} expands counts to rows, and {view.total:.3g} are too many", "use fewer rows"
            )
        sizes = weight.astype(np.int64)
        return np.repeat(prefix.score, sizes), np.repeat(rate, sizes), np.ones(int(view.total))
    sizes = np.diff(prefix.end)
    rows = np.ones(view.n)
    if view.weight is None and len(sizes) == view.n:
        return prefix.score, rate, rows
    if view.weight is not None:
        _, _, ordered = view.sorted_rows
        assert ordered is not None
        # Equal weights inside a tie, for the same reason.
        rows = np.repeat(weight / sizes, sizes)
    return np.repeat(prefix.score, sizes), np.repeat(rate, sizes), rows


def _sums(values: Floats) -> Floats:
    return np.append(0.0, np.cumsum(values))


@metric(
    "CalBin",
    family="bin",
    subfamily="windows",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    ideal_for="nothing",
    lens="classwise",
    cost="N K log N",
    aliases=("CalB", "CAL", "calibration by overlapping bins"),
    cite="bella2013",
    pros="no bin edges: every run of `size` neighbouring rows is a window",
    cons="rows at the ends are in fewer windows; depends on the window size; in general above 0 for calibrated forecasts, since scores differ "
    "inside a window",
    certainty="fairly sure of the normalisation: 1/s inside the sum, and all windows",
    explain={
        "size": "Number of rows in a window; by default a tenth of the rows.",
        "inner": "``'mean_abs'`` (Bella, Ferri): mean distance of the scores from the outcome rate of the window; ``'abs_mean'`` (Caruana): distance "
        "of their mean.",
    },
)
def calbin(view: View, *, size: int | None = None, inner: Literal["mean_abs", "abs_mean"] = "mean_abs") -> float:
    """Mean absolute difference between scores and outcome rate over all windows of neighbouring rows."""
    score, outcome, weight = _sorted_rows(view, "calbin")
    n = len(score)
    length = max(1, round(round(view.effective_size, 9) / 10)) if size is None else check_whole(size, "size")
    length = min(length, n)
    start = np.arange(n - length + 1)
    stop = start + length
    mass, scores, ones = _sums(weight), _sums(weight * score), _sums(weight * outcome)
    inside = mass[stop] - mass[start]
    rate = (ones[stop] - ones[start]) / inside
    if inner == "abs_mean":
        return float(np.abs((scores[stop] - scores[start]) / inside - rate).mean())
    # Scores are sorted, so that the window splits at its rate: below it p has a negative sign, above it a positive one.
    turn = np.clip(np.searchsorted(score, rate), start, stop)
    below = rate * (mass[turn] - mass[start]) - (scores[turn] - scores[start])
    above = (scores[stop] - scores[turn]) - rate * (mass[stop] - mass[turn])
    return max(0.0, float(((below + above) / inside).mean()))


@metric(
    "Nearest-neighbour expected calibration error",
    family="bin",
    subfamily="windows",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    cost="N log N",
    aliases=("ECE-KNN", "KNN-ECE", "k-nearest neighbours KNN ECE"),
    cite="peng2023",
    pros="no bin edges: each row has its own neighbourhood",
    cons="depends on the number of neighbours; inflated by sampling noise",
    certainty="fairly sure: including the row itself besides its k neighbours is a choice made here",
    explain={
        "neighbours": "Number of nearest scores besides the row's own; by default the square root of the number of rows."
    },
)
def ece_knn(view: View, *, neighbours: int | None = None) -> float:
    """Mean over rows of the absolute difference between mean score and mean outcome in a neighbourhood of the score."""
    score, outcome, weight = _sorted_rows(view, "ece_knn")
    n = len(score)
    k = (
        round(math.sqrt(round(view.effective_size, 9)))
        if neighbours is None
        else check_whole(neighbours, "neighbours", 0)
    )
    k = min(k, n - 1)
    known = (
        {} if view.sorted_like is None else view.sorted_like.tables
    )  # other outcomes of the same scores have the same neighbours
    if ("neighbours", k) not in known:
        known["neighbours", k] = _runs(view, score, k)
    start = known["neighbours", k]
    stop = start + k + 1
    if view.weight is None or view.weight_kind == "counts":  # rows of weight 1
        excess = _sums(score - outcome)
        return accurate_sum(np.abs(excess[stop] - excess[start]) / (k + 1.0)) / n
    mass, excess = _sums(weight), _sums(weight * (score - outcome))
    gap = np.abs(excess[stop] - excess[start]) / (mass[stop] - mass[start])
    return accurate_sum(gap * weight) / accurate_sum(weight)


def _runs(view: View, score: Floats, k: int) -> NDArray[np.intp]:
    """Return where the run of the `k` nearest neighbours of each row and of itself begins, in increasing order of the score."""
    n = len(score)
    if k >= n - 1:
        return np.zeros(n, np.intp)
    row = np.arange(n)
    # Neighbours are a run [s, s + k]; it moves up while its lowest score is farther away than the next one above it.
    both = score[: n - k - 1] + score[k + 1 :]
    first = np.searchsorted(both, 2 * view.prefix.score - 1e-12)
    if len(first) < n:
        sizes = np.diff(view.prefix.weight if view.weight_kind == "counts" else view.prefix.end)
        first = np.repeat(first, sizes.astype(np.int64))
    return np.clip(first, np.maximum(0, row - k), np.minimum(row, n - 1 - k))

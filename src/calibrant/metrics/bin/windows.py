"""Overlapping bins: windows of neighbouring rows."""

from __future__ import annotations

import math
from typing import Any, Literal

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
# With fewer rows for each distinct score, expanding counts is as fast as adding them up.
ROWS_PER_SCORE = 4


def _sorted_rows(view: View, id: str) -> tuple[Floats, Floats, Floats]:
    """Return scores, outcomes and weights in increasing order, with counts expanded to rows; tied rows share their mean outcome.

    Without that, the order of rows inside a tie would move the value.
    """
    prefix = view.prefix
    weight = np.diff(prefix.weight)
    rate = np.diff(prefix.outcome) / weight
    if view.weight_kind == "counts" and view.weight is not None:
        rows = np.ones(_expanded(view, id))
        sizes = weight.astype(np.int64)
        return np.repeat(prefix.score, sizes), np.repeat(rate, sizes), rows
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


def _expanded(view: View, id: str) -> int:
    """Return the number of rows that counts stand for, unless these are too many."""
    if view.total > MAX_ROWS:
        raise WeightsNotSupportedError(
            "counts", f"{id} expands counts to rows, and {view.total:.3g} are too many", "use fewer rows"
        )
    return int(view.total)


def _sums(values: Floats) -> Floats:
    path = np.zeros(len(values) + 1)
    np.cumsum(values, out=path[1:])
    return path


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
    counts = view.weight_kind == "counts" and view.weight is not None
    n = _expanded(view, "ece_knn") if counts else view.n
    k = (
        round(math.sqrt(round(view.effective_size, 9)))
        if neighbours is None
        else check_whole(neighbours, "neighbours", 0)
    )
    k = min(k, n - 1)
    if counts and ROWS_PER_SCORE * len(view.prefix.score) <= n and k < n - 1:
        found = _mean_of_counts(view, n, k)
        if found is not None:
            return found
    known = (
        {} if view.sorted_like is None else view.sorted_like.tables
    )  # other outcomes of the same scores have the same neighbours
    if ("neighbours", k) not in known:
        known["neighbours", k] = _runs(view, n, k)
    start = known["neighbours", k]
    if view.weight is None or counts:  # rows of weight 1
        prefix = view.prefix
        excess = prefix.excess
        if len(prefix.score) < n:
            gap = prefix.score - np.diff(prefix.outcome) / np.diff(prefix.weight)
            excess = _sums(_repeated(gap, view, n))
        change = np.subtract(excess[k + 1 :].take(start), excess.take(start))
        np.abs(change, out=change)
        change /= k + 1.0
        return accurate_sum(change) / n
    score, outcome, weight = _sorted_rows(view, "ece_knn")
    stop = start + k + 1
    mass, excess = _sums(weight), _sums(weight * (score - outcome))
    gap = np.abs(excess[stop] - excess[start]) / (mass[stop] - mass[start])
    return accurate_sum(gap * weight) / accurate_sum(weight)


def _runs(view: View, n: int, k: int) -> NDArray[np.intp]:
    """Return where the run of the `k` nearest neighbours of each row and of itself begins, in increasing order of the score."""
    if k >= n - 1:
        return np.zeros(n, np.intp)
    row = np.arange(n)
    score = _repeated(view.prefix.score, view, n)
    # Neighbours are a run [s, s + k]; it moves up while its lowest score is farther away than the next one above it.
    both = score[: n - k - 1] + score[k + 1 :]
    first: NDArray[np.intp] = _repeated(np.searchsorted(both, 2 * view.prefix.score - 1e-12), view, n)
    first = np.minimum(first, row)
    np.minimum(first, n - 1 - k, out=first)
    row -= k
    return np.maximum(first, row, out=first)


def _mean_of_counts(view: View, n: int, k: int) -> float | None:
    """Compute `ece_knn` from the rows of each distinct score, most of which have the same neighbours; None where most do not.

    The value is the same up to rounding.
    """
    prefix = view.prefix
    place = prefix.weight.astype(np.int64)
    begin, end = place[:-1], place[1:]
    # The sum of the scores at both sides of a run, which increases, changes only where one of them does.
    left, right = begin[begin < n - k - 1], begin[begin > k] - (k + 1)
    turn = np.append(left, right)
    order = np.argsort(turn, kind="stable")
    turn = turn[order]
    # Of a turn of both sides, the left one comes first.
    number = np.arange(len(turn))
    lower = np.where(order < len(left), order, number - order + (len(left) - 1))
    upper = number - lower + (len(begin) - len(right) - 1)
    upper[:-1] += turn[1:] == turn[:-1]
    score = prefix.score
    both = score.take(lower) + score.take(upper)
    first = np.append(turn, n - k - 1)[np.searchsorted(both, 2 * score - 1e-12)]
    same = (first >= end - 1 - k) & (first <= begin)
    size = np.diff(place)
    other = ~same
    if 8 * int(size[other].sum()) > n:
        return None
    start, times = first, size
    if other.any():
        row = np.arange(int(size[other].sum())) + np.repeat(
            begin[other] - np.cumsum(size[other]) + size[other], size[other]
        )
        moved = np.maximum(np.minimum(np.minimum(np.repeat(first[other], size[other]), row), n - 1 - k), row - k)
        start = np.concatenate([first[same], moved])
        times = np.concatenate([size[same], np.ones(len(row), np.int64)])
    change = np.interp(start + (k + 1), place, prefix.excess) - np.interp(start, place, prefix.excess)
    change = np.abs(change) * times
    return accurate_sum(change / (k + 1.0)) / n


def _repeated(values: NDArray[Any], view: View, n: int) -> NDArray[Any]:
    """Return a value of each distinct score once for each of its rows, `n` in total."""
    if len(values) == n:
        return values
    sizes = np.diff(view.prefix.weight if view.weight_kind == "counts" else view.prefix.end)
    return np.repeat(values, sizes.astype(np.int64, copy=False))

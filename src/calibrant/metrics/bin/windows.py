"""Overlapping bins: windows of neighbouring rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ...errors import WeightsNotSupportedError
from ...util.arrays import Floats
from ...util.blocks import map_blocks, rows_per_block
from ...util.checks import check_whole
from ...util.sums import accurate_sum
from ...views.view import View
from ..registry import metric

# Counts are expanded to rows; beyond this many the expansion would be too large.
MAX_ROWS = 50_000_000
# With fewer rows for each distinct score, expanding counts is as fast as adding them up.
ROWS_PER_SCORE = 4
# Beyond this ratio of weights, differences of cumulative sums lose digits of the small ones, and windows are added up one by one.
WIDE = 1e6


def _sorted_rows(view: View, id: str) -> tuple[Floats, Floats, Floats | None]:
    """Return scores, outcomes and weights in increasing order, with counts expanded to rows; tied rows share their mean outcome.

    Without that, the order of rows inside a tie would move the value. Rows without weights, and expanded ones, have none.
    """
    if view.weight is None and not view.has_ties:
        score, outcome, _ = view.sorted_rows
        return score, outcome, None
    if view.weight_kind == "importance":
        ties, sizes = view.ties, np.diff(view.ends)
        # Equal weights inside a tie, for the same reason.
        weights = np.repeat(ties.weight / sizes, sizes)
        return np.repeat(ties.score, sizes), np.repeat(ties.outcome / ties.weight, sizes), weights
    prefix = view.prefix
    weight = np.diff(prefix.weight)
    rate = np.diff(prefix.outcome) / weight
    if view.weight_kind == "counts":
        _row_count(view, id)
        sizes = weight.astype(np.int64)
    else:
        sizes = np.diff(prefix.end)
    return np.repeat(prefix.score, sizes), np.repeat(rate, sizes), None


def _row_count(view: View, id: str) -> int:
    """Return the number of rows that counts stand for, unless these are too many."""
    if view.total > MAX_ROWS:
        raise WeightsNotSupportedError(
            "counts", f"{id} expands counts to rows, and {view.total:.3g} are too many", "use fewer rows"
        )
    return int(view.total)


def _over_windows(work: Callable[..., Floats], length: int, *values: Floats) -> Floats:
    """Compute a number of each run of `length` rows from their values, of shape (windows, length)."""

    def some(start: int, stop: int) -> Floats:
        return work(*(sliding_window_view(each[start : stop + length - 1], length) for each in values))

    return np.concatenate(map_blocks(some, len(values[0]) - length + 1, rows_per_block(length), columns=length))


def _sums(values: Floats) -> Floats:
    path = np.zeros(len(values) + 1)
    np.cumsum(values, out=path[1:])
    return path


@metric("CalBin", range=(0, 1), ideal=0, lens="classwise", cite="bella2013")
def calbin(view: View, *, size: int | None = None, inner: Literal["mean_abs", "abs_mean"] = "mean_abs") -> float:
    """Mean absolute difference between scores and outcome rate over all windows of neighbouring rows."""
    score, outcome, weight = _sorted_rows(view, "calbin")
    n = len(score)
    length = max(1, round(round(view.effective_size, 9) / 10)) if size is None else check_whole(size, "size")
    length = min(length, n)
    if weight is not None and weight.max() > WIDE * weight.min():

        def error(w: Floats, s: Floats, y: Floats) -> Floats:
            inside = w.sum(axis=1)
            rate = (w * y).sum(axis=1) / inside
            if inner == "abs_mean":
                return np.abs((w * s).sum(axis=1) / inside - rate)
            return np.asarray((w * np.abs(s - rate[:, None])).sum(axis=1) / inside)

        return float(_over_windows(error, length, weight, score, outcome).mean())
    begin, end = slice(0, n - length + 1), slice(length, None)
    mass, scores, ones = np.arange(n + 1.0), _sums(score), _sums(outcome)
    if weight is not None:
        mass, scores, ones = _sums(weight), _sums(weight * score), _sums(weight * outcome)
    inside = mass[end] - mass[begin]
    rate = (ones[end] - ones[begin]) / inside
    if inner == "abs_mean":
        return float(np.abs((scores[end] - scores[begin]) / inside - rate).mean())
    # Scores are sorted, so that the window splits at its rate: below it p has a negative sign, above it a positive one.
    turn = view.rows_up_to(rate)
    start = np.arange(n - length + 1)
    np.maximum(turn, start, out=turn)
    start += length
    np.minimum(turn, start, out=turn)
    rate *= 2 * mass.take(turn) - (mass[begin] + mass[end])
    rate += (scores[begin] + scores[end]) - 2 * scores.take(turn)
    rate /= inside
    mean_rate = float(rate.mean())
    return 0.0 if mean_rate < 0 else mean_rate  # after rounding


@metric("Nearest-neighbour expected calibration error", range=(0, 1), ideal=0, cite="peng2023")
def ece_knn(view: View, *, neighbours: int | None = None) -> float:
    """Mean over rows of the absolute difference between mean score and mean outcome in a neighbourhood of the score."""
    counts = view.weight_kind == "counts" and view.weight is not None
    n = _row_count(view, "ece_knn") if counts else view.n
    k = (
        round(math.sqrt(round(view.effective_size, 9)))
        if neighbours is None
        else check_whole(neighbours, "neighbours", 0)
    )
    k = min(k, n - 1)
    if counts and ROWS_PER_SCORE * len(view.prefix.score) <= n and k < n - 1:
        mean_error = _mean_of_counts(view, n, k)
        if mean_error is not None:
            return mean_error
    score, outcome, weight = _sorted_rows(view, "ece_knn")
    # For how many of the sorted rows the nearest neighbours and the row itself begin at or before each; the first entry is 0. Neighbours are
    # a run [s, s + k]; it moves up while its lowest score is farther away than the next one above it.
    reached = np.empty(n - k + 1, np.intp)
    reached[0], reached[-1] = 0, n
    middle = score[: n - k - 1] + score[k + 1 :]
    middle += 1e-12
    middle *= 0.5
    # The run contains the row itself, also among more than k tied ones.
    np.minimum(view.rows_up_to(middle), np.arange(k + 1, n), out=reached[1:-1])
    if weight is not None and weight.max() > WIDE * weight.min():
        error = _over_windows(
            lambda w, gap: np.abs((w * gap).sum(axis=1)) / w.sum(axis=1), k + 1, weight, score - outcome
        )
        return accurate_sum(np.repeat(error, np.diff(reached)) * weight) / accurate_sum(weight)
    excess = _sums(score - outcome if weight is None else weight * (score - outcome))
    error = excess[k + 1 :] - excess[: n - k]
    np.abs(error, out=error)
    if weight is None:
        error *= np.diff(reached)
        return accurate_sum(error) / ((k + 1) * n)
    mass = _sums(weight)
    error /= mass[k + 1 :] - mass[: n - k]
    return accurate_sum(error * np.diff(mass[reached])) / accurate_sum(weight)


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

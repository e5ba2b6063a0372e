"""Cumulative differences: the path of partial sums of scores minus outcomes in order of the score."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ...errors import ArgumentError, UndefinedMetricError
from ...util.arrays import Floats
from ...util.checks import check_whole
from ...util.sums import accurate_sum
from ...views.view import Block, VectorView, View
from ..bin.intervals import cce
from ..bin.variation import rank_probs
from ..forms import Path, paths_of
from ..registry import metric, preset
from .distributions import bridge_survival


def path_of(view: View) -> Floats:
    """Return the cumulative differences divided by the total weight at the end of each tie group, beginning with 0; positive for overestimation."""
    return view.prefix.excess / view.total


def null_scale(view: View) -> float:
    """Compute the standard deviation of the end of the path under calibration, the unit of its limit distributions."""
    variance = view.variance
    if view.weight is not None:
        variance = (view.weights if view.weight_kind != "importance" else view.weights**2) * variance
    return math.sqrt(accurate_sum(variance)) / view.total


def _largest(path: Floats) -> Floats:
    """Return the largest absolute value along each path."""
    return np.asarray(np.abs(path).max(axis=-1))


@metric("Maximum cumulative difference", range=(0, 1), ideal=0, cite="arrieta2022")
def ecce_mad(view: View) -> Path:
    """Largest absolute cumulative difference between scores and outcomes in order of the score."""
    return Path(lambda: float(_largest(path_of(view))), lambda score, mass: _largest(paths_of(score, mass)))


ecce_r = preset(cce, "ecce_r", "Range of cumulative differences", cite="arrieta2022")


def _mean_along(view: View, power: int) -> float:
    """Compute the mean over rows of |path|^power; tied rows share their residual, so that the path is linear inside a tie."""
    path = path_of(view)
    start, end = path[:-1], path[1:]
    rows = np.diff(view.prefix.weight if view.weight_kind == "counts" else view.prefix.end).astype(np.float64)
    step = (end - start) / rows
    if power == 2:
        total = rows * start**2 + start * step * rows * (rows + 1) + step**2 * rows * (rows + 1) * (2 * rows + 1) / 6
    else:
        # The path crosses zero after `before` rows; the sums on both sides have constant sign.
        crossing = np.divide(-start, step, out=np.zeros(len(step)), where=step != 0)
        before = np.clip(np.floor(crossing), 0, rows)
        first = before * start + step * before * (before + 1) / 2
        total = np.abs(first) + np.abs(rows * start + step * rows * (rows + 1) / 2 - first)
    share = np.diff(view.prefix.weight) / view.total
    return accurate_sum(total / rows * share)


@metric("Mean absolute cumulative difference", range=(0, 1), ideal=0, cite="arrieta2022")
def ecce_mean_abs(view: View) -> float:
    """Mean over rows of the absolute cumulative difference."""
    return _mean_along(view, 1)


@metric("Mean squared cumulative difference", range=(0, 1), ideal=0, cite="arrieta2022")
def ecce_l2(view: View) -> float:
    """Mean over rows of the squared cumulative difference."""
    return max(0.0, _mean_along(view, 2))


def rank_view(view: VectorView, first: int, last: int) -> View:
    """Return the view of the sum of the probabilities of ranks `first` to `last`, with the event that the true class is among them."""

    def both(block: Block) -> Floats:
        probs, shares = rank_probs(block)
        return np.column_stack([probs[:, first:last].sum(axis=1), shares[:, first:last].sum(axis=1)])

    score, share = np.vstack([both(block) for _, block in view.blocks()]).T
    score = np.where(score > 1 - 1e-12, 1.0, score)  # the sum over all classes is 1 up to rounding
    outcome = np.clip(share, 0, 1) if view.is_soft else share.astype(np.uint8)
    return View(np.ascontiguousarray(score), outcome, view.weight, view.weight_kind)


def _check_rank(r: int, view: VectorView) -> int:
    if check_whole(r, "r") > view.k:
        raise ArgumentError("r", f"must be at most {view.k}, the number of classes; got {r}")
    return int(r)


@metric(
    "Kolmogorov-Smirnov error of the r-th class",
    range=(0, 1),
    ideal=0,
    lens="canonical",
    sketch=False,
    cite="gupta2021",
)
def ks_top_r(view: VectorView, *, r: int = 1) -> float:
    """Largest absolute cumulative difference between the r-th largest probability and the event that the true class has this rank."""
    rank = _check_rank(r, view)
    return float(np.abs(path_of(rank_view(view, rank - 1, rank))).max())


@metric(
    "Kolmogorov-Smirnov error within the first r classes",
    range=(0, 1),
    ideal=0,
    lens="canonical",
    sketch=False,
    cite="gupta2021",
)
def ks_within_top_r(view: VectorView, *, r: int = 1) -> float:
    """Largest absolute cumulative difference between the sum of the r largest probabilities and the event that the true class is among them."""
    return float(np.abs(path_of(rank_view(view, 0, _check_rank(r, view)))).max())


@metric("Brownian bridge test", range=(0, math.inf), ideal=0, soft=False, cite="sadatsafavi2024")
def bbt(view: View, *, form: Literal["fisher", "bridge", "mean"] = "fisher") -> float:
    """Fisher's combination of tests of the mean difference and of the shape of the cumulative path."""
    own = view.weights if view.weight_kind != "importance" else view.weights**2
    score, _, _ = view.sorted_rows
    weight = np.ones(view.n) if view.weight is None else own[view.order]
    time = np.append(0.0, np.cumsum(weight * score * (1 - score)))[view.prefix.end]
    if time[-1] <= 0:
        raise UndefinedMetricError("bbt", "every score is 0 or 1, so the statistic has no variance")
    return float(bridge_statistic(view.prefix.excess[None, :], time, form)[0])


def bridge_statistic(paths: Floats, time: Floats, form: str) -> Floats:
    """Compute the statistic of each row of `paths`, cumulative differences whose variances under calibration are `time`."""
    paths = paths / math.sqrt(time[-1])
    last = np.abs(paths[:, -1])
    if form == "mean":
        return last
    largest = np.abs(paths - time / time[-1] * paths[:, -1:]).max(axis=1)
    if form == "bridge":
        return np.asarray(largest)
    ends = zip(last.tolist(), largest.tolist(), strict=True)
    chances = [math.erfc(end / math.sqrt(2)) * bridge_survival(most) for end, most in ends]
    return np.array([-2 * math.log(chance) + 0.0 if chance > 0 else math.inf for chance in chances])

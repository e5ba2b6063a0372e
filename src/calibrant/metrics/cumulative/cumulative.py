"""Cumulative differences: scores minus outcomes added up in order of score, and how far that path strays."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import ArgumentError, UndefinedMetricError
from ...util.checks import check_whole
from ...util.sums import accurate_sum
from ...views.view import Block, VectorView, View
from ..bin.intervals import cce
from ..bin.joint import ranked
from ..registry import metric, preset
from .distributions import bridge_survival

Floats = NDArray[np.float64]


def path_of(view: View) -> Floats:
    """Cumulative differences over all weight at the end of each tie group, 0 first; positive where scores are too high."""
    return view.prefix.excess / view.total


def null_scale(view: View) -> float:
    """Standard deviation of the end of the path under calibration: the unit of its limit distributions."""
    own = view.weights if view.weight_kind != "importance" else view.weights**2
    return math.sqrt(accurate_sum(own * view.variance)) / view.total


@metric(
    "Maximum cumulative difference",
    family="cumulative",
    subfamily="path",
    range=(0, 1),
    ideal=0,
    cost="N log N",
    recommended=True,
    use_cases=("parameter-free",),
    aliases=("ECCE-MAD", "ECCE", "KS", "KS calibration error", "Kolmogorov-Smirnov calibration error"),
    cite="arrieta2022",
    pros="no bins and no parameters; a test whose large-sample distribution does not depend on the scores",
    cons="the path starts at the lowest score, so the value for the other class differs (see `ecce_r`); errors of alternating sign at "
    "neighbouring scores cancel",
)
def ecce_mad(view: View) -> float:
    """Largest distance from zero of the cumulative differences between scores and outcomes."""
    return float(np.abs(path_of(view)).max())


ecce_r = preset(
    cce,
    "ecce_r",
    "Range of cumulative differences",
    summary="Distance between the highest and the lowest point of the cumulative differences between scores and outcomes.",
    family="cumulative",
    subfamily="path",
    aliases=("ECCE-R", "Kuiper", "Kuiper calibration error", "ECCE"),
    cite="arrieta2022",
    pros="no bins and no parameters; the same for either of two classes; a test whose large-sample distribution does not depend on the scores",
    cons="errors of alternating sign at neighbouring scores cancel; the worst interval alone decides",
)


def _mean_along(view: View, power: int) -> float:
    """Mean over rows of |path|^power; rows of a tie share its residual, so the path is a line inside it."""
    path = path_of(view)
    start, end = path[:-1], path[1:]
    rows = np.diff(view.prefix.weight if view.weight_kind == "counts" else view.prefix.end).astype(np.float64)
    step = (end - start) / rows
    if power == 2:
        total = rows * start**2 + start * step * rows * (rows + 1) + step**2 * rows * (rows + 1) * (2 * rows + 1) / 6
    else:
        # The line crosses zero after `before` rows; the sums on both sides keep their sign.
        crossing = np.divide(-start, step, out=np.zeros(len(step)), where=step != 0)
        before = np.clip(np.floor(crossing), 0, rows)
        first = before * start + step * before * (before + 1) / 2
        total = np.abs(first) + np.abs(rows * start + step * rows * (rows + 1) / 2 - first)
    share = np.diff(view.prefix.weight) / view.total
    return accurate_sum(total / rows * share)


@metric(
    "Mean absolute cumulative difference",
    family="cumulative",
    subfamily="path",
    range=(0, 1),
    ideal=0,
    cost="N log N",
    aliases=("area under the cumulative difference",),
    cite="arrieta2022",
    pros="looks at the whole path, not only its peak",
    cons="its null distribution depends on the scores, so that a test simulates; errors of alternating sign cancel",
)
def ecce_mean_abs(view: View) -> float:
    """Mean over rows of the absolute cumulative difference."""
    return _mean_along(view, 1)


@metric(
    "Mean squared cumulative difference",
    family="cumulative",
    subfamily="path",
    range=(0, 1),
    ideal=0,
    cost="N log N",
    aliases=("Cramer-von Mises calibration error",),
    cite="arrieta2022",
    pros="looks at the whole path, not only its peak",
    cons="on a squared scale; its null distribution depends on the scores, so that a test simulates",
)
def ecce_l2(view: View) -> float:
    """Mean over rows of the squared cumulative difference."""
    return max(0.0, _mean_along(view, 2))


def rank_view(view: VectorView, first: int, last: int) -> View:
    """The sum of the probabilities of ranks `first` to `last`, against the true class being one of them."""

    def both(block: Block) -> Floats:
        probs, shares = ranked(block)
        return np.column_stack([probs[:, first:last].sum(axis=1), shares[:, first:last].sum(axis=1)])

    score, share = np.vstack([both(block) for _, block in view.blocks()]).T
    score = np.where(score > 1 - 1e-12, 1.0, score)  # all classes together are certain, up to rounding
    outcome = np.clip(share, 0, 1) if view.is_soft else share.astype(np.uint8)
    return View(np.ascontiguousarray(score), outcome, view.weight, view.weight_kind)


def _check_rank(r: int, view: VectorView) -> int:
    if check_whole(r, "r") > view.k:
        raise ArgumentError("r", f"must be at most {view.k}, the number of classes; got {r}")
    return int(r)


@metric(
    "Kolmogorov-Smirnov error of the r-th class",
    family="cumulative",
    subfamily="path",
    range=(0, 1),
    ideal=0,
    lens="canonical",
    sketch=False,
    cost="N K log N",
    aliases=("KS top-r", "KS", "KS calibration error", "Kolmogorov-Smirnov calibration error"),
    cite="gupta2021",
    pros="no bins; looks at any choice of the model, not only its first",
    cons="one rank at a time; errors of alternating sign at neighbouring scores cancel",
    explain={"r": "Which choice of the model: 1 is the predicted class."},
)
def ks_top_r(view: VectorView, *, r: int = 1) -> float:
    """Largest cumulative difference between the r-th largest probability and the true class having that rank."""
    rank = _check_rank(r, view)
    return float(np.abs(path_of(rank_view(view, rank - 1, rank))).max())


@metric(
    "Kolmogorov-Smirnov error within the first r classes",
    family="cumulative",
    subfamily="path",
    range=(0, 1),
    ideal=0,
    lens="canonical",
    sketch=False,
    cost="N K log N",
    aliases=("KS within-top-r",),
    cite="gupta2021",
    pros="no bins; judges the probability that the true class is in a short list",
    cons="0 by construction where r is the number of classes; errors of alternating sign at neighbouring scores cancel",
    explain={"r": "How many choices of the model are taken together."},
)
def ks_within_top_r(view: VectorView, *, r: int = 1) -> float:
    """Largest cumulative difference between the sum of the r largest probabilities and the true class being among them."""
    return float(np.abs(path_of(rank_view(view, 0, _check_rank(r, view)))).max())


@metric(
    "Brownian bridge test",
    family="cumulative",
    subfamily="test statistic",
    range=(0, math.inf),
    ideal=0,
    ideal_for="nothing",
    soft=False,
    cost="N log N",
    aliases=("BBT", "BB"),
    cite="sadatsafavi2024",
    pros="combines two tests, of the mean and of the shape of the path; asymptotically chi-square with 4 degrees of freedom under calibration",
    cons="a test statistic, not a size of error: for miscalibrated forecasts it grows with the number of rows; far from chi-square with few "
    "events",
    certainty="certain; that the survey means this combination is fairly sure",
    explain={
        "form": "``'fisher'`` combines the tests of mean and bridge, ``'bridge'`` is the largest bridge value alone, ``'mean'`` the "
        "standardised mean difference."
    },
)
def bbt(view: View, *, form: Literal["fisher", "bridge", "mean"] = "fisher") -> float:
    """Evidence against calibration from the mean difference and from the shape of the cumulative path, combined."""
    own = view.weights if view.weight_kind != "importance" else view.weights**2
    score, _, _ = view.sorted_rows
    weight = np.ones(view.n) if view.weight is None else own[view.order]
    time = np.append(0.0, np.cumsum(weight * score * (1 - score)))[view.prefix.end]
    if time[-1] <= 0:
        raise UndefinedMetricError("bbt", "every score is 0 or 1, so the statistic has no variance")
    path = view.prefix.excess / math.sqrt(time[-1])
    largest = float(np.abs(path - time / time[-1] * path[-1]).max())
    if form != "fisher":
        return largest if form == "bridge" else abs(float(path[-1]))
    chances = math.erfc(abs(path[-1]) / math.sqrt(2)) * bridge_survival(largest)
    return -2 * math.log(chances) + 0.0 if chances > 0 else math.inf

"""Kernel bandwidths by named rules, with the tie groups, weighted deviations and quantiles that they need."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ArgumentError
from ...util.arrays import Floats as Floats
from ...util.checks import check_positive
from ...util.sums import accurate_sum
from ...views.view import View

Indices = NDArray[np.intp]

RULES = ("default", "silverman", "scott")
# Bandwidths whose criteria differ by less than this fraction are ties: rounding must not decide between them.
SAME_SCORE = 1e-9


class Ties(NamedTuple):
    """Rows in increasing order of the forecast, and the groups of equal forecasts, which a kernel does not distinguish."""

    start: Indices
    """First row of each group, and the number of rows at the end."""
    weight: Floats
    """Weight of each group, of shape (G,)."""
    outcome: Floats
    """Sum of weight times outcome, of shape (G, C)."""
    row_weight: Floats
    row_outcome: Floats
    """Outcome of each row, of shape (N, C)."""
    own: Floats
    """Weight that leaving a row out removes: one copy under counts, its weight under importance."""

    @property
    def group(self) -> Indices:
        """Group of each row."""
        return np.repeat(np.arange(len(self.weight)), np.diff(self.start))

    @property
    def alone(self) -> NDArray[np.bool_]:
        """Whether a group consists of a single row or copy, so that leaving it out makes the group empty."""
        return (np.diff(self.start) == 1) & (self.weight == self.own[self.start[:-1]])

    def take(self, groups: Indices) -> Ties:
        """Return some of the groups with their rows."""
        size = np.diff(self.start)[groups]
        start = np.append(0, np.cumsum(size))
        rows = np.arange(start[-1]) + np.repeat(self.start[groups] - start[:-1], size)
        return Ties(
            start,
            self.weight[groups],
            self.outcome[groups],
            self.row_weight[rows],
            self.row_outcome[rows],
            self.own[rows],
        )


def group_rows(start: Indices, weight: Floats, outcome: Floats, importance: bool) -> Ties:
    """Build the ties of sorted rows; sums are computed inside each group, which preserves digits."""
    sums = np.add.reduceat(weight[:, None] * outcome, start[:-1], axis=0)
    own = weight if importance else np.ones(len(weight))
    return Ties(start, np.add.reduceat(weight, start[:-1]), sums, weight, outcome, own)


def tie_groups(view: View) -> tuple[Floats, Ties]:
    """Return the distinct scores in increasing order, and the rows of each."""
    _, outcome, weight = view.sorted_rows
    weights = np.ones(view.n) if weight is None else weight.astype(np.float64)
    prefix = view.prefix
    return prefix.score, group_rows(prefix.end, weights, outcome[:, None], view.weight_kind == "importance")


def spread(score: Floats, weight: Floats, lost: float = 0.0) -> float:
    """Compute the standard deviation of distinct scores; `lost` is the weight lost for the mean, 1 for unweighted rows."""
    left = accurate_sum(weight) - lost
    if len(score) < 2 or left <= 0:
        return 0.0
    away = score - score[0]  # exact for scores that differ by little, unlike their mean
    away = away - accurate_sum(weight * away) / accurate_sum(weight)
    with np.errstate(under="ignore"):
        return math.sqrt(accurate_sum(weight * away**2) / left)


def window_mean(score: Floats, weight: Floats, share: float, size: float) -> float:
    """Compute a weighted quantile: the mean of the scores over a window of 1/size of the weight that begins at share (size - 1) / size.

    With unit weights, or counts, and as many rows as `size` this is the quantile of type 7 of the repeated rows; with other
    weights it is the generalisation of it by Akinshin (2023), where `size` is the effective one.
    """
    upper = np.cumsum(weight)
    unit = upper[-1] / size
    low = share * (size - 1) * unit
    inside = np.minimum(upper, low + unit) - np.maximum(upper - weight, low)
    inside = np.where(inside > 1e-9 * unit, inside, 0.0)  # ignore scores that the window touches within rounding
    first = score[np.argmax(inside > 0)]
    return float(first + accurate_sum(inside * (score - first)) / accurate_sum(inside))


def rule_width(view: View, score: Floats, ties: Ties, rule: str) -> float:
    """Compute a bandwidth by a rule of thumb: a factor times a spread times n^(-1/5); 0 if all scores are equal."""
    lost = accurate_sum(ties.row_weight * ties.own) / view.total
    size = view.effective_size
    scale = spread(score, ties.weight, lost)
    if rule != "scott":
        low, high = (window_mean(score, ties.weight, share, size) for share in (0.25, 0.75))
        scale = min(scale, (high - low) / 1.34) if high > low else scale
    return (0.9 if rule == "silverman" else 1.06) * scale * float(size) ** -0.2


def width_of(rule: Any, rules: Sequence[str], choose: Callable[[str], float]) -> float:
    """Return a bandwidth that is given as a number or chosen by a named rule."""
    if not isinstance(rule, str):
        return check_positive(rule, "bandwidth")
    if rule not in rules:
        raise ArgumentError(
            "bandwidth", f"must be a positive number or one of {', '.join(map(repr, rules))}; got {rule!r}"
        )
    return choose(rule)


def first_best(widths: Floats, score: Callable[[float], float]) -> float:
    """Return the first of the widths, in increasing order, with the largest criterion."""
    scores = np.array([score(width) for width in widths.tolist()])
    best = scores.max()
    return float(widths[np.argmax(scores >= best - SAME_SCORE * max(abs(best), 1e-300))])

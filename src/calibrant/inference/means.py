"""Confidence limits of a mean over rows, from its first three moments.

Normal limits of a skewed mean miss the true value on one side: a few rows with a large loss dominate the mean, and samples with too few of
them also have too small a variance. The limits here are quantiles of a gamma distribution with the skewness of the studentised mean, after
adding one such row on the side on which it would lie; for counts of events they are the exact Poisson limits (Fay and Feuer 1997).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..metrics.registry import Metric
from ..util.arrays import Floats
from ..views.lenses import AnyView
from ..views.view import VectorView, View

# With more unexpected outcomes than this one more has no influence.
MANY_SURPRISES = 1000
# Below this skewness the gamma distribution agrees with the normal to five digits.
STRAIGHT = 1e-6


def two_sided_quantile(level: float) -> float:
    """Half the width of a normal confidence interval at this level, in standard errors: 1.96 for 0.95."""
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


@dataclass(frozen=True)
class Moments:
    """A weighted mean, the variance and third cumulant of its estimate, and its effective sample size."""

    mean: float
    variance: float
    third: float
    n: float


def moments_of(view: AnyView, rows: Floats, mean: float) -> Moments:
    """The moments of the mean of one value per row."""
    n = view.effective_size
    off = (rows - mean) * (view.weights if view.weight_kind == "importance" else 1) / view.total
    times = np.ones(len(off)) if view.weight_kind != "counts" else view.weights
    correct = n / (n - 1) if n > 1 else math.inf
    return Moments(mean, correct * float(times @ off**2), correct**1.5 * float(times @ off**3), n)


def surprise_of(metric: Metric, view: AnyView, options: dict[str, Any]) -> float:
    """The change of the mean by one more row with an unexpected outcome; 0 where there are many such rows.

    The unexpected outcome is the second most probable one of a row. Rows are weighted by the predicted probability that their most probable outcome
    does not occur, so that rows with certain predictions have no influence.
    """
    other, chance = _surprised(view)
    weight = chance * view.weights
    if other is None or not weight.any() or float(weight.sum()) / view.total * view.effective_size > MANY_SURPRISES:
        return 0.0
    rows = metric.rows_of(other, options)
    own = metric.rows_of(view, options)
    assert rows is not None
    assert own is not None
    at = weight > 0
    more = float(weight[at] @ rows[at]) / float(weight.sum()) - float(view.weights @ own) / view.total
    heavy = float(weight @ view.weights) / float(weight.sum()) if view.weight_kind == "importance" else 1.0
    return more * heavy / view.total


def _surprised(view: AnyView) -> tuple[AnyView | None, Floats]:
    """The rows with their second most probable outcome, and the probability that the most probable one does not occur."""
    keywords: dict[str, Any] = {"rows": view.rows, "lens": view.lens}
    if view.is_soft:
        return None, np.zeros(view.n)
    if isinstance(view, View):
        outcome = (view.score < 0.5).astype(np.uint8)
        other: AnyView = View(view.raw_score, outcome, view.weight, view.weight_kind, **keywords)
        return other, np.minimum(view.score, 1 - view.score)
    probs = view.raw_probs
    probs = np.column_stack([1 - probs, probs]) if probs.ndim == 1 else probs
    top = probs.argmax(axis=1)
    rest = np.array(probs, dtype=np.float64)
    rest[np.arange(len(rest)), top] = -1
    second = rest.argmax(axis=1)
    rest[np.arange(len(rest)), top] = 0
    other = VectorView(
        view.raw_probs,
        second,
        None,
        view.weight,
        view.weight_kind,
        logits=view.logits,
        score_column=view.score_column,
        tree_columns=view.tree_columns,
        **keywords,
    )
    return other, rest.sum(axis=1)


def gamma_limits(found: Moments, level: float, surprise: float = 0.0) -> tuple[float, float]:
    """Both confidence limits; `surprise` is the contribution of one more unexpected outcome to the mean."""
    typical = found.third / found.variance if found.variance > 0 else 0.0
    add = max(surprise, typical, 0.0), max(-surprise, -typical, 0.0)
    high = _limit(found, add[0], (1 + level) / 2)
    low = -_limit(Moments(-found.mean, found.variance, -found.third, found.n), add[1], (1 + level) / 2)
    return low, high


def _limit(found: Moments, add: float, level: float) -> float:
    """The upper limit after adding a row with this contribution."""
    from scipy.special import gammaincinv, ndtri, stdtrit

    mean, variance, third = found.mean + add, found.variance + add**2, found.third + add**3
    if variance <= 0:
        return mean
    z = float(ndtri(level))
    skewness = third / variance**1.5  # of the estimate; that of the studentised mean is twice as large
    steps = z
    if abs(skewness) > STRAIGHT:
        shape = 1 / skewness**2
        tail = level if skewness > 0 else 1 - level
        steps = math.copysign(1.0, skewness) * (float(gammaincinv(shape, tail)) - shape) / math.sqrt(shape)
    # The variance is estimated, hence the t distribution.
    wider = float(stdtrit(found.n - 1, level)) / z if found.n > 1 else math.inf
    return mean + steps * wider * math.sqrt(variance)

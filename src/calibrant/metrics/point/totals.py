"""Comparisons of sums over all rows: calibration in the large, and scores relative to their expectation."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import UndefinedMetricError
from ...util.arrays import Floats
from ...util.sums import accurate_sum, partial_sums
from ...views.view import Block, VectorView, View
from ..forms import Linear
from ..registry import metric, preset
from .points import Scale, scale_total

# Rows of a block whose intermediate results fit into the processor cache.
PAIRS = 1 << 15


@metric("Global squared bias", range=(0, 2), ideal=0, lens="canonical", sketch=False, cite="galbraith2011")
def global_squared_bias(view: VectorView, *, scale: Scale = "auto") -> float:
    """Squared difference between mean predicted probabilities and observed class frequencies."""
    return float(scale_total(np.square(view.mean_gap).sum(), view.k, scale))


@metric("Expected over observed", range=(0, math.inf), ideal=1, alternative="two-sided", cite="survey")
def expected_observed_ratio(
    view: View, *, form: Literal["expected_observed", "observed_expected"] = "expected_observed"
) -> float:
    """Ratio of the expected number of events, the sum of the scores, to the observed number."""
    expected, observed = accurate_sum(view.score * view.weights), accurate_sum(view.outcome * view.weights)
    above, below = (expected, observed) if form == "expected_observed" else (observed, expected)
    if below == 0:
        if above == 0:
            raise UndefinedMetricError("expected_observed_ratio", "no event was observed or expected")
        return math.inf
    return above / below


@metric(
    "Calibration in the large",
    range=(-1, 1),
    ideal=0,
    alternative="two-sided",
    # A shift in log-odds is not a mean over rows.
    row_form=lambda view, form="mean": view.score - view.outcome if form == "mean" else None,
    cite="cox1958",
    # Scores near 0 and 1 are shifted exactly, by their complement; only 0 and 1 themselves are not.
    reads_log_odds=lambda view, options: (
        options["form"] == "logit"
        and bool((view.score * view.rest == 0).any())
        and "a shift of log-odds does not change scores of 0 and 1"
    ),
)
def calibration_in_the_large(view: View, *, form: Literal["mean", "logit"] = "mean") -> float:
    """Mean predicted probability minus observed rate."""
    if form == "mean":
        return view.mean(view.score - view.outcome)
    return logit_shift(view.score, view.weights, accurate_sum(view.weights * view.outcome), view.rest)


fixed_slope_intercept = preset(
    calibration_in_the_large,
    "fixed_slope_intercept",
    "Calibration intercept at slope 1",
    form="logit",
    range=(-math.inf, math.inf),
    row_form=None,
)


def logit_shift(score: Floats, weight: Floats, wanted: float, rest: Floats | None = None) -> float:
    """Find the shift a for which the weighted sum of sigmoid(a + logit score) is `wanted`; scores of 0 and 1 are not affected.

    `rest` is 1 - score, where it is known to more digits.
    """
    rest = 1 - score if rest is None else rest
    free = (score > 0) & (rest > 0)
    fixed = accurate_sum(weight[rest <= 0])
    room = accurate_sum(weight[free])
    if wanted <= fixed or wanted >= fixed + room:
        if room == 0 and wanted == fixed:
            raise UndefinedMetricError(
                "calibration_in_the_large", "every score is 0 or 1, so the intercept is not identified"
            )
        return -math.inf if wanted <= fixed else math.inf
    logit, w = np.log(score[free]) - np.log(rest[free]), weight[free]

    def excess(shift: float) -> float:
        with np.errstate(over="ignore"):
            return accurate_sum(w / (1 + np.exp(-(shift + logit)))) - (wanted - fixed)

    from scipy.optimize import brentq

    low, high = -1.0, 1.0
    while excess(low) > 0:
        low *= 2
    while excess(high) < 0:
        high *= 2
    return brentq(excess, low, high, xtol=1e-14, rtol=1e-14)


def _standardize(sums: Iterable[float], total: float) -> float:
    numerator, spread = sums
    if spread > 0:
        return numerator / math.sqrt(spread)
    if abs(numerator) <= 1e-12 * total:
        raise UndefinedMetricError(
            "spiegelhalter_z", "every forecast is 0, 1/2 or 1 (or uniform), so the statistic has no variance"
        )
    return math.inf if numerator > 0 else -math.inf


@metric(
    "Spiegelhalter's z",
    range=(-math.inf, math.inf),
    ideal=0,
    alternative="two-sided",
    lens="canonical",
    soft=False,
    sketch=False,
    cite="spiegelhalter1986",
)
def spiegelhalter_z(view: VectorView) -> Linear | float:
    """Standardised difference between the Brier score and its expected value under calibration."""

    def of_vectors() -> float:
        surprise, variance = view.each_row(_surprise_and_variance).T
        weights = view.weights
        numerator = accurate_sum(weights * surprise)
        spread = accurate_sum((weights if view.weight_kind != "importance" else weights**2) * variance)
        return _standardize((numerator, spread), view.total)

    if view.raw_probs.ndim == 2:
        return Linear(of_vectors, _surprise_and_variance, lambda block: np.ones((len(block.probs), 1)), _standardize)
    # Resamples of one score per row are as fast one by one.
    numerator, spread = (0.0, 0.0) if view.labels is None else _sums_of_pairs(view, view.labels)
    if spread <= 1e-28 * view.total:  # rows that may be uniform up to rounding
        return of_vectors()
    return _standardize((numerator, spread), view.total)


def _sums_of_pairs(view: VectorView, labels: NDArray[Any]) -> tuple[float, float]:
    """Sum `_surprise_and_variance` of an event and its complement, (p - y)(2p - 1) and p(1 - p)(2p - 1)^2, block by block without cancellation."""
    surprises: list[float] = []
    variances: list[float] = []
    for start in range(0, view.n, PAIRS):
        rows = slice(start, start + PAIRS)
        rest, score = view.pair(start, start + PAIRS)
        surprise = score - labels[rows]
        lead = 2 * score  # less 1 is exact near 1/2, where score - rest keeps the rounding of the rest
        lead -= 1
        if view.logits is not None or view.complement is not None:  # the rest may have more digits than the score
            near = np.flatnonzero(score > view.rounding.near)
            surprise[near] = np.where(labels[rows][near] == 0, score[near], -rest[near])
            np.subtract(score, rest, out=lead)
        surprise *= lead
        variance = score * rest
        variance *= lead
        variance *= lead
        if view.weight is not None:
            weight = view.weight[rows]
            surprise *= weight
            variance *= weight if view.weight_kind != "importance" else np.square(weight)
        surprises += partial_sums(surprise)
        variances += partial_sums(variance)
    return math.fsum(surprises), math.fsum(variances)


def _surprise_and_variance(block: Block) -> Floats:
    """Return the deviation of the label's probability from its mean under the forecast, and its variance as a sum of squares, hence never negative."""
    mean = np.einsum("ij,ij->i", block.probs, block.probs)  # faster than a sum along short rows
    away = block.probs - mean[:, None]
    away[np.abs(away) < 1e-14] = 0  # a uniform row, up to rounding
    variance = np.einsum("ij,ij->i", block.probs, np.square(away, out=away))
    own = block.expect(block.probs)
    surprise = mean - own
    near = np.flatnonzero(own > block.rounding.near)
    if len(near):  # avoids cancellation by omitting the entry of the label
        others = np.where(block.targets[near] > 0, 0.0, block.probs[near])
        rest = block.expect(block.rest())[near]
        surprise[near] = np.einsum("ij,ij->i", others, others) - own[near] * rest
    return np.column_stack([surprise, variance])


@metric(
    "Accuracy",
    range=(0, 1),
    ideal=None,
    lens="top_label",
    sketch=False,
    alternative="two-sided",
    cite="guo2017",
    row_form=lambda view: view.outcome,
)
def accuracy(view: View) -> float:
    """Fraction of rows whose predicted class, the one with the largest probability, is the true one."""
    return float(view.mean(view.outcome))


@metric(
    "Mean confidence",
    range=(0, 1),
    ideal=None,
    lens="top_label",
    sketch=False,
    alternative="two-sided",
    cite="guo2017",
    row_form=lambda view: view.score,
)
def mean_confidence(view: View) -> float:
    """Mean of the largest predicted probability of each row."""
    return float(view.mean(view.score))

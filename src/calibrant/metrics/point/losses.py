"""Pointwise losses other than the Brier score and the log loss: one number per row, averaged."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from ...errors import ArgumentError
from ...util.arrays import Floats
from ...util.checks import check_positive, is_number, weight_per_class
from ...views.view import Block, VectorView
from ..registry import metric, norm_root


@metric(
    "Focal loss", range=(0, math.inf), ideal=0, alternative="two-sided", lens="canonical", sketch=False, cite="lin2017"
)
def focal_loss(block: Block, *, gamma: float = 2, class_weight: Any = None) -> Floats:
    """Mean negative log likelihood with rows weighted by (1 - probability of the true class) to the power gamma."""
    if not (isinstance(gamma, (int, float)) and gamma >= 0 and math.isfinite(gamma)):
        raise ArgumentError("gamma", f"must be a non-negative number; got {gamma!r}", "for example 2")
    rest = block.rest()
    with np.errstate(invalid="ignore", under="ignore"):
        loss = np.where(rest <= 0, 0.0, -(rest**gamma) * block.log_probs())
    if class_weight is not None:
        factor = weight_per_class(class_weight, block.k)
        loss = np.where(factor > 0, loss, 0.0) * factor  # a class of weight 0 contributes nothing, even if infinite
    return block.expect(loss) + 0.0


@metric(
    "Spherical score", range=(-1, 0), ideal=-1, proper="strictly", lens="canonical", sketch=False, cite="gneiting2007"
)
def spherical(block: Block) -> Floats:
    """Mean of minus the probability of the true class divided by the Euclidean norm of the probability vector."""
    length = np.sqrt(np.square(block.probs).sum(axis=1, keepdims=True))
    return -block.expect(block.probs / length)


@metric(
    "Ranked probability score",
    range=(0, 1),
    ideal=0,
    proper="strictly",
    lens="canonical",
    soft=False,
    sketch=False,
    ordinal=True,
    cite="epstein1969",
)
def ranked_probability(block: Block) -> Floats:
    """Mean squared distance between the cumulative probabilities and the cumulative label, for ordered classes."""
    gap = np.cumsum(block.probs - block.targets, axis=1)[:, :-1]
    return np.square(gap).sum(axis=1) / (block.k - 1)


@metric(
    "Ranked logarithmic score",
    range=(0, math.inf),
    ideal=0,
    proper="strictly",
    lens="canonical",
    soft=False,
    sketch=False,
    ordinal=True,
    cite="todter2012",
)
def ranked_log(block: Block, *, floor: float | None = None, base: float | None = None) -> Floats:
    """Mean over the cuts between ordered classes of minus the logarithm of the probability of the observed side."""
    if floor is not None and not (is_number(floor) and 0 < floor < 1):
        raise ArgumentError("floor", f"must lie between 0 and 1; got {floor!r}", "for example 1e-15")
    if base is not None and not (is_number(base) and 0 < base < math.inf and base != 1):
        raise ArgumentError("base", f"must be positive, finite and not 1; got {base!r}", "for example 2")
    below = np.cumsum(block.probs, axis=1)[:, :-1]
    # Small probabilities of the upper side are sums from the top, where the complement of the lower side has no digits.
    above = np.cumsum(block.probs[:, ::-1], axis=1)[:, -2::-1]
    is_below = np.cumsum(block.targets, axis=1)[:, :-1] > 0
    chance = np.minimum(np.where(is_below, below, above), 1)
    with np.errstate(divide="ignore"):
        loss = -np.log(chance if floor is None else np.maximum(chance, floor)).sum(axis=1) / (block.k - 1)
    return (loss if base is None else loss / math.log(base)) + 0.0


@metric(
    "Normalised squared error score",
    range=(0, math.inf),
    ideal=1,
    alternative="greater",
    lens="canonical",
    soft=False,
    sketch=False,
    cite="moore2022",
)
def nses(block: Block, *, floor: float | None = None) -> Floats:
    """Mean of the squared error divided by the variance that the forecast implies; above 1 for overconfidence."""
    probs, rest = _clip_probs(block, floor)
    return _normalised_squares(probs, rest, block.targets).mean(axis=1)


@metric(
    "Dawid-Sebastiani score",
    range=(-math.inf, math.inf),
    ideal=-math.inf,
    proper="strictly",
    lens="canonical",
    soft=False,
    sketch=False,
    cite="dawid1999",
)
def dawid_sebastiani(block: Block, *, floor: float | None = None) -> Floats:
    """Mean of the squared error divided by the variance that the forecast implies, plus the logarithm of that variance."""
    probs, rest = _clip_probs(block, floor)
    spread = block.log_probs() + block.log_rest() if floor is None else np.log(probs) + np.log(rest)
    wrong = _normalised_squares(probs, rest, block.targets)
    # A wrong forecast with certainty gives infinity, whatever the other entries.
    total = np.where(np.isinf(wrong), 0, wrong) + np.where(np.isinf(wrong), 0, spread)
    return np.where(np.isinf(wrong).any(axis=1), math.inf, total.mean(axis=1))


def _clip_probs(block: Block, floor: float | None) -> tuple[Floats, Floats]:
    """Return the probabilities, clipped if requested, and 1 minus them."""
    probs, rest = block.probs, block.rest()
    if floor is None:
        return probs, rest
    if not 0 < floor < 0.5:
        raise ArgumentError("floor", f"must lie between 0 and 0.5; got {floor!r}", "for example 1e-6")
    # Not 1 - floor, which is rounded: both of two classes must be treated alike.
    return np.where(rest < floor, 1 - floor, np.maximum(probs, floor)), np.where(
        probs < floor, 1 - floor, np.maximum(rest, floor)
    )


def _normalised_squares(probs: Floats, rest: Floats, targets: Floats) -> Floats:
    """Compute (y - p)^2 / (p (1 - p)): 0 for a certain and correct entry, infinite for a certain and wrong one."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(targets > 0.5, rest / probs, probs / rest)


@metric(
    "Pointwise norm error",
    range=(0, 1),
    ideal=0,
    alternative="two-sided",
    lens="canonical",
    soft=False,
    sketch=False,
    cite="survey",
    finish=norm_root,
)
def lp_error(view: VectorView, *, norm: float = 1) -> float:
    """Norm of the difference between probabilities and labels over all entries."""
    if norm == math.inf:
        return float(max(np.abs(block.probs - block.targets).max() for _, block in view.blocks()))
    return view.mean_of(lambda block: (np.abs(block.probs - block.targets) ** norm).mean(axis=1))


@metric(
    "Smoothed absolute error",
    range=(0, math.sqrt(2)),
    ideal=None,
    alternative="two-sided",
    lens="canonical",
    soft=False,
    sketch=False,
    cite="deleeuw2009",
)
def l1_eps(block: Block, *, eps: float = 0.01) -> Floats:
    """Mean over entries of sqrt((p - y)^2 + eps)."""
    if not 0 <= eps <= 1:
        raise ArgumentError("eps", f"must lie in [0, 1]; got {eps!r}", "for example 0.01")
    return np.sqrt(np.square(block.probs - block.targets) + eps).mean(axis=1)


@metric(
    "Huber loss",
    range=(0, 1),
    ideal=0,
    alternative="two-sided",
    lens="canonical",
    soft=False,
    sketch=False,
    cite="huber1964",
)
def huber(block: Block, *, delta: float = 0.5, form: Literal["standard", "isotone"] = "standard") -> Floats:
    """Half the squared error for errors up to delta, linear beyond, averaged over entries."""
    check_positive(delta, "delta")
    error = np.abs(block.probs - block.targets)
    loss = np.where(error <= delta, np.square(error) / 2, delta * (error - delta / 2))
    return (loss if form == "standard" else loss / delta).mean(axis=1)

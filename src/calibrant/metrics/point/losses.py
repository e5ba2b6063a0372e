"""Pointwise losses other than the Brier score and the log loss: one number per row, averaged."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import ArgumentError
from ...input.convert import is_number
from ...util.checks import check_positive, weight_per_class
from ...views.view import Block, VectorView
from ..registry import metric, norm_root

Floats = NDArray[np.float64]

FLOOR = "Probabilities are clipped to [floor, 1 - floor] first; None leaves 0 and 1 unchanged."


@metric(
    "Focal loss",
    family="point",
    subfamily="loss",
    range=(0, math.inf),
    ideal=0,
    robust=False,
    ideal_for="sure",
    alternative="two-sided",
    lens="canonical",
    sketch=False,
    cost="N K",
    aliases=("FL",),
    cite="lin2017",
    pros="rows whose true class has a high probability receive less weight",
    cons="not proper for gamma above 0: for two classes the optimal forecast is less confident than the true probability, for many it can be more confident",
    explain={
        "gamma": "Exponent that reduces the weight of confident correct rows; 0 gives the negative log likelihood.",
        "class_weight": "Factor of the rows of each class.",
    },
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
    "Spherical score",
    family="point",
    subfamily="proper score",
    range=(-1, 0),
    ideal=-1,
    proper="strictly",
    lens="canonical",
    sketch=False,
    cost="N K",
    aliases=("spherical loss",),
    cite="gneiting2007",
    pros="strictly proper; bounded",
    cons="measures calibration and discrimination together; smaller is better, and the best value is -1",
)
def spherical(block: Block) -> Floats:
    """Mean of minus the probability of the true class divided by the Euclidean norm of the probability vector."""
    length = np.sqrt(np.square(block.probs).sum(axis=1, keepdims=True))
    return -block.expect(block.probs / length)


@metric(
    "Ranked probability score",
    family="point",
    subfamily="proper score",
    range=(0, 1),
    ideal=0,
    proper="strictly",
    lens="canonical",
    cost="N K",
    soft=False,
    sketch=False,
    ordinal=True,
    aliases=("RPS",),
    cite="epstein1969",
    pros="strictly proper; for ordered classes, an adjacent class is penalised less than a distant one",
    cons="not meaningful for unordered classes",
    notes="The sum is divided by K - 1, so that the score lies in [0, 1] and equals the Brier score for two classes; some packages omit the divisor. "
    "The order of the classes is that of ordered categories, of numbers as class names, or of ``classes``; text names that were read from columns raise.",
)
def ranked_probability(block: Block) -> Floats:
    """Mean squared distance between the cumulative probabilities and the cumulative label, for ordered classes."""
    gap = np.cumsum(block.probs - block.targets, axis=1)[:, :-1]
    return np.square(gap).sum(axis=1) / (block.k - 1)


@metric(
    "Ranked logarithmic score",
    family="point",
    subfamily="proper score",
    range=(0, math.inf),
    ideal=0,
    robust=False,
    proper="strictly",
    lens="canonical",
    cost="N K",
    soft=False,
    sketch=False,
    ordinal=True,
    aliases=("RLS", "ranked log score", "ranked log loss", "ranked ignorance score"),
    cite="todter2012",
    pros="strictly proper; for ordered classes, an adjacent class is penalised less than a distant one, and confident mistakes as in the log loss",
    cons="infinite where all probability lies on the wrong side of a cut between two classes; not meaningful for unordered classes",
    notes="The sum over cuts is divided by K - 1, as for `ranked_probability`, so that the score equals `nll` for two classes; the paper sums over the cuts. It is "
    "`nll` with ``lens='ordinal'``. The ranked ignorance score is in bits, ``base=2``.",
    explain={
        "floor": "Lower bound at which the probability of the observed side of a cut is truncated; by default none, so that a probability of 0 gives infinity.",
        "base": "Base of the logarithm; by default natural logarithms, 2 gives bits.",
    },
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
    family="point",
    subfamily="score against its expectation",
    range=(0, math.inf),
    ideal=1,
    robust=False,
    signed=True,
    sign_of="confidence",
    alternative="greater",
    lens="canonical",
    cost="N K",
    soft=False,
    sketch=False,
    aliases=("NSES",),
    cite="moore2022",
    pros="the expected value is 1 for calibrated forecasts strictly between 0 and 1; a value above 1 indicates overconfidence",
    cons="a correct forecast of exactly 0 or 1 contributes 0, which lowers the expected value; one wrong forecast near 0 or 1 dominates the mean "
    "or makes it infinite",
    notes="N times the value is the ungrouped Pearson chi-square statistic. For more than two classes the mean over all entries is taken (reconstructed).",
    explain={"floor": FLOOR},
)
def nses(block: Block, *, floor: float | None = None) -> Floats:
    """Mean of the squared error divided by the variance that the forecast implies; above 1 for overconfidence."""
    probs, rest = _floored(block, floor)
    return _normalised(probs, rest, block.targets).mean(axis=1)


@metric(
    "Dawid-Sebastiani score",
    family="point",
    subfamily="proper score",
    range=(-math.inf, math.inf),
    ideal=-math.inf,
    robust=False,
    proper="strictly",
    lens="canonical",
    cost="N K",
    soft=False,
    sketch=False,
    aliases=("DSS",),
    cite="dawid1999",
    pros="strictly proper; depends on the mean and the variance of the forecast only",
    cons="unbounded on both sides; a forecast of exactly 0 or 1 makes it infinite",
    notes="For more than two classes the mean over all entries is taken, since the covariance of a one-hot label is singular (reconstructed).",
    certainty="certain for two classes; the form for more is reconstructed",
    explain={"floor": FLOOR},
)
def dawid_sebastiani(block: Block, *, floor: float | None = None) -> Floats:
    """Mean of the squared error divided by the variance that the forecast implies, plus the logarithm of that variance."""
    probs, rest = _floored(block, floor)
    spread = block.log_probs() + block.log_rest() if floor is None else np.log(probs) + np.log(rest)
    wrong = _normalised(probs, rest, block.targets)
    # A wrong forecast with certainty gives infinity, whatever the other entries.
    total = np.where(np.isinf(wrong), 0, wrong) + np.where(np.isinf(wrong), 0, spread)
    return np.where(np.isinf(wrong).any(axis=1), math.inf, total.mean(axis=1))


def _floored(block: Block, floor: float | None) -> tuple[Floats, Floats]:
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


def _normalised(probs: Floats, rest: Floats, targets: Floats) -> Floats:
    """Compute (y - p)^2 / (p (1 - p)): 0 for a certain and correct entry, infinite for a certain and wrong one."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(targets > 0.5, rest / probs, probs / rest)


@metric(
    "Pointwise norm error",
    family="point",
    subfamily="loss",
    range=(0, 1),
    ideal=0,
    ideal_for="sure",
    alternative="two-sided",
    lens="canonical",
    cost="N K",
    soft=False,
    sketch=False,
    aliases=("Lp error", "mean absolute error", "MAE", "pointwise p-norm", "p-norm error"),
    cite="survey",
    finish=norm_root,
    pros="no bins; for two classes an upper bound of `ece` with the same norm for any bins",
    cons="measures calibration and discrimination together; not proper except for the square of norm 2; norm 1 rewards rounding to 0 and 1",
    notes="For more than two classes the norm is over all entries (reconstructed). The default norm is 1, since norm 2 is the root Brier score; "
    "``norm=inf`` is the Chebyshev error.",
    certainty="certain for two classes; the form for more is reconstructed",
    explain={"norm": "Exponent of the norm over entries: 1, 2, any number of at least 1, or ``inf``."},
)
def lp_error(view: VectorView, *, norm: float = 1) -> float:
    """Norm of the difference between probabilities and labels over all entries."""
    if norm == math.inf:
        return float(max(np.abs(block.probs - block.targets).max() for _, block in view.blocks()))
    return view.mean_of(lambda block: (np.abs(block.probs - block.targets) ** norm).mean(axis=1))


@metric(
    "Smoothed absolute error",
    family="point",
    subfamily="loss",
    range=(0, math.sqrt(2)),
    ideal=None,
    alternative="two-sided",
    lens="canonical",
    cost="N K",
    soft=False,
    sketch=False,
    aliases=("L1eps", "L1-eps"),
    cite="deleeuw2009",
    pros="differentiable everywhere for eps above 0",
    cons="the smallest value is sqrt(eps) instead of 0; not proper",
    notes="As in the R package isotone, eps itself is added under the root, not its square; the mean replaces the sum of that package.",
    explain={"eps": "Added under the root; 0 gives the mean absolute error."},
)
def l1_eps(block: Block, *, eps: float = 0.01) -> Floats:
    """Mean over entries of sqrt((p - y)^2 + eps)."""
    if not 0 <= eps <= 1:
        raise ArgumentError("eps", f"must lie in [0, 1]; got {eps!r}", "for example 0.01")
    return np.sqrt(np.square(block.probs - block.targets) + eps).mean(axis=1)


@metric(
    "Huber loss",
    family="point",
    subfamily="loss",
    range=(0, 1),
    ideal=0,
    ideal_for="sure",
    alternative="two-sided",
    lens="canonical",
    cost="N K",
    soft=False,
    sketch=False,
    aliases=("Huber", "standard Huber loss"),
    cite="huber1964",
    pros="quadratic for small errors and linear for large ones, hence less sensitive to gross errors",
    cons="not proper unless delta is at least 1, where it equals half of ``brier(scale='per_class')``",
    notes="The survey does not state delta; the default of 0.5 is chosen here, since 1 would give half of ``brier(scale='per_class')``, for two "
    "classes half the Brier score.",
    certainty="certain formula; the survey's scaling is unknown",
    explain={
        "delta": "Error at which the loss changes from quadratic to linear.",
        "form": "``'standard'``, or ``'isotone'``: e^2 / (4 eps) below 2 eps, |e| - eps above, with eps = delta / 2.",
    },
)
def huber(block: Block, *, delta: float = 0.5, form: Literal["standard", "isotone"] = "standard") -> Floats:
    """Half the squared error for errors up to delta, linear beyond, averaged over entries."""
    check_positive(delta, "delta")
    error = np.abs(block.probs - block.targets)
    loss = np.where(error <= delta, np.square(error) / 2, delta * (error - delta / 2))
    return (loss if form == "standard" else loss / delta).mean(axis=1)

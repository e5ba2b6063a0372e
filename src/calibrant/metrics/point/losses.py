"""Pointwise losses beside the Brier score and the log likelihood: one number for each row, averaged."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import ArgumentError
from ...util.checks import check_positive, weight_per_class
from ...views.view import Block, VectorView
from ..registry import metric, norm_root

Floats = NDArray[np.float64]

FLOOR = "Probabilities are moved into [floor, 1 - floor] first; None leaves 0 and 1 where they are."


@metric(
    "Focal loss",
    family="point",
    subfamily="loss",
    range=(0, math.inf),
    ideal=0,
    ideal_for="sure",
    alternative="two-sided",
    lens="canonical",
    cost="N K",
    aliases=("FL",),
    cite="lin2017",
    pros="rows whose true class has a high probability weigh less",
    cons="not proper for gamma above 0: for two classes the best forecast is less confident than the truth, for many it can be more confident",
    explain={
        "gamma": "How much less confident and correct rows weigh; 0 gives the negative log likelihood.",
        "class_weight": "One factor per class for the rows of that class; None for none.",
    },
)
def focal_loss(block: Block, *, gamma: float = 2, class_weight: Any = None) -> Floats:
    """Negative log likelihood, each row multiplied by (1 - probability of the true class) to the power gamma."""
    if not (isinstance(gamma, (int, float)) and gamma >= 0 and math.isfinite(gamma)):
        raise ArgumentError("gamma", f"must be a non-negative number; got {gamma!r}", "for example 2")
    rest = block.rest()
    with np.errstate(invalid="ignore", under="ignore"):
        loss = np.where(rest <= 0, 0.0, -(rest**gamma) * block.log_probs())
    if class_weight is not None:
        factor = weight_per_class(class_weight, block.k)
        loss = np.where(factor > 0, loss, 0.0) * factor  # a class without weight adds nothing, however bad
    return block.expect(loss) + 0.0


@metric(
    "Spherical score",
    family="point",
    subfamily="proper score",
    range=(-1, 0),
    ideal=-1,
    proper="strictly",
    lens="canonical",
    cost="N K",
    aliases=("spherical loss",),
    cite="gneiting2007",
    pros="strictly proper; bounded",
    cons="mixes calibration with discrimination; smaller is better and the best value is -1",
)
def spherical(block: Block) -> Floats:
    """Minus the probability of the true class, divided by the length of the probability vector."""
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
    ordinal=True,
    aliases=("RPS",),
    cite="epstein1969",
    pros="strictly proper; for classes with an order, a near miss costs less than a far one",
    cons="means nothing for classes without an order",
    notes="Divided by K - 1, so that it lies in [0, 1] and two classes give the Brier score; some packages leave that out.",
)
def ranked_probability(block: Block) -> Floats:
    """Squared distance between the cumulated probabilities and the cumulated label, for classes in their order."""
    gap = np.cumsum(block.probs - block.targets, axis=1)[:, :-1]
    return np.square(gap).sum(axis=1) / (block.k - 1)


@metric(
    "Normalised squared error score",
    family="point",
    subfamily="score against its expectation",
    range=(0, math.inf),
    ideal=1,
    signed=True,
    sign_of="confidence",
    alternative="greater",
    lens="canonical",
    cost="N K",
    soft=False,
    use_cases=("direction",),
    aliases=("NSES",),
    cite="moore2022",
    pros="its expected value is 1 for calibrated forecasts strictly between 0 and 1; above 1 is overconfident",
    cons="a forecast of exactly 0 or 1 that is right counts 0, which lowers the expected value; one wrong forecast near 0 or 1 dominates it, "
    "or makes it infinite",
    notes="N times the value is the ungrouped Pearson chi-square. More than two classes: mean over all entries (reconstructed).",
    explain={"floor": FLOOR},
)
def nses(block: Block, *, floor: float | None = None) -> Floats:
    """Squared error over the variance that the forecast implies: above 1 for overconfidence."""
    probs, rest = _floored(block, floor)
    return _normalised(probs, rest, block.targets).mean(axis=1)


@metric(
    "Dawid-Sebastiani score",
    family="point",
    subfamily="proper score",
    range=(-math.inf, math.inf),
    ideal=-math.inf,
    proper="strictly",
    lens="canonical",
    cost="N K",
    soft=False,
    aliases=("DSS",),
    cite="dawid1999",
    pros="strictly proper; needs only mean and variance",
    cons="unbounded on both sides; a forecast of exactly 0 or 1 makes it infinite",
    notes="More than two classes: mean over all entries, since the covariance of a one-hot label is singular (reconstructed).",
    certainty="certain for two classes; the form for more is reconstructed",
    explain={"floor": FLOOR},
)
def dawid_sebastiani(block: Block, *, floor: float | None = None) -> Floats:
    """Squared error over the variance that the forecast implies, plus the logarithm of that variance."""
    probs, rest = _floored(block, floor)
    spread = block.log_probs() + block.log_rest() if floor is None else np.log(probs) + np.log(rest)
    wrong = _normalised(probs, rest, block.targets)
    # A sure mistake is infinitely bad however good the rest of the row is.
    total = np.where(np.isinf(wrong), 0, wrong) + np.where(np.isinf(wrong), 0, spread)
    return np.where(np.isinf(wrong).any(axis=1), math.inf, total.mean(axis=1))


def _floored(block: Block, floor: float | None) -> tuple[Floats, Floats]:
    """The probabilities, moved inside where asked, and what is missing to 1."""
    probs, rest = block.probs, block.rest()
    if floor is None:
        return probs, rest
    if not 0 < floor < 0.5:
        raise ArgumentError("floor", f"must lie between 0 and 0.5; got {floor!r}", "for example 1e-6")
    # Not 1 - floor, which rounds: both classes of two are to be moved alike.
    return np.where(rest < floor, 1 - floor, np.maximum(probs, floor)), np.where(
        probs < floor, 1 - floor, np.maximum(rest, floor)
    )


def _normalised(probs: Floats, rest: Floats, targets: Floats) -> Floats:
    """(y - p)^2 / (p (1 - p)): 0 for a sure and right entry, infinite for a sure and wrong one."""
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
    aliases=("Lp error", "mean absolute error", "MAE"),
    cite="survey",
    finish=norm_root,
    pros="no bins; for two classes `ece` with the same norm is at most this, whatever the bins",
    cons="mixes calibration with discrimination; not proper except the square of norm 2; norm 1 rewards rounding to 0 and 1",
    notes="More than two classes: over all entries (reconstructed). The default norm is 1, since 2 is the root Brier score; ``norm=inf`` is the "
    "Chebyshev error.",
    certainty="certain for two classes; the form for more is reconstructed",
    explain={"norm": "Exponent over entries: 1, 2, any number from 1 up, or ``inf``."},
)
def lp_error(view: VectorView, *, norm: float = 1) -> float:
    """The l_p norm of the distance between probabilities and labels, entry by entry."""
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
    aliases=("L1eps", "L1-eps"),
    cite="deleeuw2009",
    pros="differentiable everywhere for eps above 0",
    cons="its smallest value is sqrt(eps), not 0; not proper",
    notes="As in the package isotone, eps itself is added under the root, not its square; the mean replaces that package's sum.",
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
    aliases=("Huber",),
    cite="huber1964",
    pros="squared near the label, linear far from it",
    cons="not proper unless delta is at least 1, where it is half of ``brier(scale='per_class')``",
    notes="The survey does not print delta; 0.5 is ours, since 1 would turn it into half of ``brier(scale='per_class')``, for two classes half the Brier score.",
    certainty="certain formula; the survey's scaling is unknown",
    explain={
        "delta": "Where the square turns into a line.",
        "form": "``'standard'``, or ``'isotone'``: e^2 / (4 eps) below 2 eps, |e| - eps above, with eps = delta / 2.",
    },
)
def huber(block: Block, *, delta: float = 0.5, form: Literal["standard", "isotone"] = "standard") -> Floats:
    """Half the squared error for errors up to delta, linear beyond, averaged over entries."""
    check_positive(delta, "delta")
    error = np.abs(block.probs - block.targets)
    loss = np.where(error <= delta, np.square(error) / 2, delta * (error - delta / 2))
    return (loss if form == "standard" else loss / delta).mean(axis=1)

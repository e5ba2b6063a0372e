"""Pointwise scores and comparisons of means over all rows."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import ArgumentError
from ...input.convert import is_number
from ...views.view import Block, VectorView
from ..registry import metric, preset

Floats = NDArray[np.float64]
Scale = Literal["auto", "half", "sum", "per_class"]


def scaled(total: Floats, k: int, scale: str) -> Floats:
    """Scale the sum over classes: by default half of it for two classes, and the sum for more."""
    divisor = {"auto": 2 if k == 2 else 1, "half": 2, "sum": 1, "per_class": k}[scale]
    return total / divisor


@metric(
    "Brier score",
    family="point",
    subfamily="proper score",
    range=(0, 2),
    ideal=0,
    proper="strictly",
    lens="canonical",
    cost="N K",
    recommended=True,
    aliases=(
        "BS",
        "MSE",
        "quadratic score",
        "mean squared error",
        "mean square error",
        "Brier score loss",
        "Brier loss",
    ),
    cite="brier1950",
    pros="strictly proper; finite for every forecast",
    cons="measures calibration and discrimination together, so that a calibrated model can have a worse score than a miscalibrated one",
    explain={
        "scale": "Divisor of the sum over classes: ``'half'`` (2), ``'sum'`` (1) or ``'per_class'`` (K); ``'auto'`` is ``'half'`` for two classes "
        "and ``'sum'`` for more."
    },
)
def brier(block: Block, *, scale: Scale = "auto") -> Floats:
    """Mean squared difference between predicted probabilities and labels."""
    gap = block.probs - block.targets
    return scaled(np.einsum("ij,ij->i", gap, gap), block.k, scale)  # faster than a sum along short rows


root_brier = preset(
    brier,
    "root_brier",
    "Root Brier score",
    summary="Square root of the Brier score; with scale='sum' an upper bound of the canonical calibration error.",
    finish=lambda value, options: math.sqrt(value),
    range=(0, math.sqrt(2)),
    proper="no",
    ideal_for="sure",
    alternative="two-sided",
    recommended=False,
    aliases=("RBS", "RMSE", "square root Brier score"),
    cite="gruber2022",
    pros="for two classes an upper bound of `rmsce` for any bins; its square is unbiased for any sample size",
    cons="measures calibration and discrimination together, so that the bound is loose",
)


@metric(
    "Negative log likelihood",
    family="point",
    subfamily="proper score",
    range=(0, math.inf),
    ideal=0,
    robust=False,
    proper="strictly",
    lens="canonical",
    cost="N K",
    recommended=True,
    aliases=(
        "log loss",
        "cross-entropy",
        "binary cross-entropy",
        "ignorance",
        "logarithmic score",
        "predictive deviance",
        "logistic loss",
        "NLL",
        "multinomial logistic loss",
    ),
    cite="good1952",
    pros="strictly proper; local; the training loss of most models",
    cons="dominated by single confident mistakes; infinite where the true class has probability 0",
    notes="The ignorance score is in bits, ``base=2``; the deviance is twice the sum over rows.",
    explain={
        "floor": "Lower bound at which the probability of the true class is truncated; by default none, so that a probability of 0 gives infinity.",
        "base": "Base of the logarithm; by default natural logarithms, 2 gives bits.",
    },
)
def nll(block: Block, *, floor: float | None = None, base: float | None = None) -> Floats:
    """Mean of minus the logarithm of the predicted probability of the true class."""
    log_probs = block.log_probs()
    if floor is not None:
        if not (is_number(floor) and 0 < floor < 1):
            raise ArgumentError("floor", f"must lie between 0 and 1; got {floor!r}", "for example 1e-15")
        log_probs = np.maximum(log_probs, math.log(floor))
    loss = -block.expect(log_probs)
    if base is None:
        return loss + 0.0  # no minus zero
    if not (is_number(base) and 0 < base < math.inf and base != 1):
        raise ArgumentError("base", f"must be positive, finite and not 1; got {base!r}", "for example 2")
    return loss / math.log(base)


@metric(
    "Entropic calibration difference",
    family="point",
    subfamily="score against its expectation",
    range=(-math.inf, math.inf),
    ideal=0,
    robust=False,
    signed=True,
    sign_of="confidence",
    alternative="greater",
    lens="canonical",
    cost="N K",
    recommended=True,
    aliases=("ECD",),
    cite="sumler2025",
    pros="distinguishes over- from underconfidence; no bins; its expected value is 0 for calibrated forecasts of any number of classes",
    cons="infinite where the true class has probability 0; also 0 for a forecast that is always uniform; over- and underconfident rows cancel",
    notes="The default is equation 11 of the paper. ``multiclass='true_vs_rest'`` is equation 15, used in its tables; for more than two classes "
    "it is not centred at 0 for calibrated forecasts, so that its sign alone is not informative.",
    explain={
        "multiclass": "``'full'`` evaluates the whole distribution, ``'true_vs_rest'`` the true class against all others."
    },
)
def ecd(block: Block, *, multiclass: Literal["full", "true_vs_rest"] = "full") -> Floats:
    """Mean of the log loss minus its expectation under the forecast: positive for overconfidence, negative for underconfidence."""
    log_probs = block.log_probs()
    if multiclass == "true_vs_rest":
        with np.errstate(divide="ignore", invalid="ignore"):
            term = -block.rest() * (log_probs - block.log_rest())
        return block.expect(np.where(block.rest() <= 0, 0.0, term))
    entropy = -(block.probs * np.where(block.probs > 0, log_probs, 0)).sum(axis=1)
    return -block.expect(log_probs) - entropy


@metric(
    "Multi-class difference of confidence and accuracy",
    family="point",
    subfamily="mean difference",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    lens="canonical",
    sketch=False,
    cost="N K",
    aliases=("MDCA",),
    cite="hebbalaguppe2022",
    pros="evaluates every class; differentiable almost everywhere; no bins",
    cons="errors of opposite sign within a class cancel; at most 2 / K by arithmetic, hence small for many classes",
)
def mdca(view: VectorView) -> float:
    """Mean over classes of the absolute difference between mean predicted probability and observed frequency."""
    return float(np.abs(view.mean_gap).mean())

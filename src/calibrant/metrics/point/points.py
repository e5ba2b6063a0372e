"""Point metrics: one number for each row, averaged, or one comparison of means over all rows."""

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
    """Half the sum for two classes and the sum for more, by default."""
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
    use_cases=("classwise", "comparison"),
    aliases=("BS", "MSE", "quadratic score", "mean squared error"),
    cite="brier1950",
    pros="strictly proper; finite for every forecast",
    cons="mixes calibration with discrimination, so a calibrated model can score worse than another",
    explain={
        "scale": "Divisor of the sum over classes: ``'half'`` (2), ``'sum'`` (1), ``'per_class'`` (K); ``'auto'`` is half for two classes, sum for more."
    },
)
def brier(block: Block, *, scale: Scale = "auto") -> Floats:
    """Mean squared distance between the probabilities and the label."""
    gap = block.probs - block.targets
    return scaled(np.einsum("ij,ij->i", gap, gap), block.k, scale)  # rows are short, and a sum along them slow


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
    use_cases=(),
    aliases=("RBS", "RMSE"),
    cite="gruber2022",
    pros="for two classes `rmsce` is at most this, whatever the bins; its square is unbiased for any number of rows",
    cons="mixes calibration with discrimination, so that the bound is loose",
)


@metric(
    "Negative log likelihood",
    family="point",
    subfamily="proper score",
    range=(0, math.inf),
    ideal=0,
    proper="strictly",
    lens="canonical",
    cost="N K",
    recommended=True,
    use_cases=("comparison",),
    aliases=(
        "log loss",
        "cross-entropy",
        "binary cross-entropy",
        "ignorance",
        "logarithmic score",
        "predictive deviance",
        "logistic loss",
        "NLL",
    ),
    cite="good1952",
    pros="strictly proper; local; what most models are trained on",
    cons="one confident mistake can dominate; infinite where the true class has probability 0",
    notes="The ignorance is given in bits, ``base=2``; a deviance is twice the sum over rows.",
    explain={
        "floor": "Smallest probability that counts for the true class; None leaves 0 at infinity, as the definition does.",
        "base": "Base of the logarithm; None is the natural one, 2 gives bits.",
    },
)
def nll(block: Block, *, floor: float | None = None, base: float | None = None) -> Floats:
    """Mean of minus the logarithm of the probability given to the true class."""
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
    signed=True,
    sign_of="confidence",
    alternative="greater",
    lens="canonical",
    cost="N K",
    recommended=True,
    use_cases=("direction", "safety"),
    aliases=("ECD",),
    cite="sumler2025",
    pros="distinguishes over- from underconfidence; no bins; its mean is 0 for calibrated forecasts of any number of classes",
    cons="infinite where the true class has probability 0; also 0 for a forecast that is always uniform; over- and underconfident rows cancel",
    notes="The default is equation 11 of the paper. ``multiclass='true_vs_rest'`` is equation 15, used in its tables; for more than two "
    "classes that form is not centred at 0 for calibrated forecasts, so its sign alone means nothing.",
    explain={
        "multiclass": "``'full'`` compares the whole distribution, ``'true_vs_rest'`` the true class with all others."
    },
)
def ecd(block: Block, *, multiclass: Literal["full", "true_vs_rest"] = "full") -> Floats:
    """Mean of -log probability of the true class minus its expectation: positive for overconfidence, negative for underconfidence."""
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
    lens="canonical",
    cost="N K",
    aliases=("MDCA",),
    cite="hebbalaguppe2022",
    pros="looks at every class; differentiable almost everywhere; no bins",
    cons="errors of opposite sign within a class cancel; at most 2 / K by arithmetic",
)
def mdca(view: VectorView) -> float:
    """Mean over classes of the gap between the mean probability and the frequency of the class."""
    return float(np.abs(view.mean_gap).mean())

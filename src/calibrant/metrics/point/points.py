"""Pointwise scores and comparisons of means over all rows."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ...errors import ArgumentError
from ...util.arrays import Floats
from ...util.checks import is_number
from ...views.view import Block, VectorView
from ..registry import metric, preset

Scale = Literal["auto", "half", "sum", "per_class"]


def scale_total(total: Floats, k: int, scale: str) -> Floats:
    """Scale the sum over classes: by default half of it for two classes, and the sum for more."""
    divisor = {"auto": 2 if k == 2 else 1, "half": 2, "sum": 1, "per_class": k}[scale]
    return total / divisor


@metric("Brier score", range=(0, 2), ideal=0, proper="strictly", lens="canonical", cite="brier1950")
def brier(block: Block, *, scale: Scale = "auto") -> Floats:
    """Mean squared difference between predicted probabilities and labels."""
    gap = block.probs - block.targets
    return scale_total(np.einsum("ij,ij->i", gap, gap), block.k, scale)  # faster than a sum along short rows


root_brier = preset(
    brier,
    "root_brier",
    "Root Brier score",
    finish=lambda value, options: math.sqrt(value),
    range=(0, math.sqrt(2)),
    proper="no",
    alternative="two-sided",
    cite="gruber2022",
)


@metric("Negative log likelihood", range=(0, math.inf), ideal=0, proper="strictly", lens="canonical", cite="good1952")
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
    range=(-math.inf, math.inf),
    ideal=0,
    alternative="greater",
    lens="canonical",
    cite="sumler2025",
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
    range=(0, 1),
    ideal=0,
    lens="canonical",
    sketch=False,
    cite="hebbalaguppe2022",
)
def mdca(view: VectorView) -> float:
    """Mean over classes of the absolute difference between mean predicted probability and observed frequency."""
    return float(np.abs(view.mean_gap).mean())

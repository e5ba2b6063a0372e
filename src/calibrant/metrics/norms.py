"""Norms over bins or entries: the power is averaged, classes are combined, and the root is taken last."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["norm_root", "weighted_power"]

Floats = NDArray[np.float64]


def weighted_power(gap: Floats, share: Floats, norm: float) -> float:
    """Sum of share times |gap|^norm; the largest |gap| for the infinite norm."""
    if norm == math.inf:
        return float(np.abs(gap).max())
    return math.fsum(share * np.abs(gap) ** norm)


def norm_root(value: float, options: Mapping[str, Any]) -> float:
    """The root that ends a norm, applied once over all classes."""
    norm = options["norm"]
    return value if norm in (1, math.inf) else float(value ** (1 / norm))

"""Edges of equal-width bins in the floating-point arithmetic of other packages."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from ..errors import ArgumentError
from ..util.arrays import Floats

# Up to this the upper edges are exact in float64 before they are rounded to float32.
MOST_TORCH_BINS = 4096


@lru_cache(maxsize=64)
def torch_edges(count: int, single: bool) -> Floats:
    """Return ``torch.linspace(0, 1, count + 1)`` in float64, or the smallest scores that reach its edges after rounding to float32.

    The step is rounded. The lower half counts upwards from 0, the upper half downwards from 1 with one rounding (a fused multiply-add).
    """
    if count > MOST_TORCH_BINS:
        raise ArgumentError("bins", f"must be at most {MOST_TORCH_BINS:,} with the edges of torch; got {count:,}")
    scalar = np.float32 if single else np.float64
    step = scalar(1) / scalar(count)
    exact = Fraction(float(step))
    half = (count + 1) // 2
    lower = [step * scalar(k) for k in range(half)]
    upper = [scalar(float(1 - exact * (count - k))) for k in range(half, count + 1)]
    if not single:
        return np.array([*lower, *upper], np.float64)
    # The smallest float64 that rounds to each edge or more: midway to the float32 below, which rounds to the even one.
    edges = np.array([*lower, *upper], np.float32)
    middle = (edges.astype(np.float64) + np.nextafter(edges, np.float32(-1)).astype(np.float64)) / 2
    is_odd = (edges.view(np.uint32) & np.uint32(1)).astype(bool)
    lowest = np.where(is_odd, np.nextafter(middle, 2), middle)
    lowest[0] = 0
    return lowest


@lru_cache(maxsize=64)
def quotient_edges(count: int) -> Floats:
    """Return the smallest scores whose quotient by the rounded width 1/`count` reaches 0, 1, ..., `count`."""
    width = 1 / count
    number = np.arange(count + 1).astype(np.float64)
    edges = number * width
    # The quotient increases with the score, so that the edge is within a few units in the last place of the product.
    for _ in range(4):
        edges = np.where(edges / width >= number, np.nextafter(edges, -1), edges)
    for _ in range(8):
        edges = np.where(edges / width < number, np.nextafter(edges, 2), edges)
    edges[0] = 0
    return edges

"""Sums over all pairs of positions with an exponential kernel, in the time of a sort."""

from __future__ import annotations

import numpy as np

from ...util.arrays import Floats

# exp(range / width) must not overflow, with room for sums of many.
LONGEST = 600.0


def _growth(position: Floats, width: float) -> Floats | None:
    """Compute exp((x_i - x_0) / width) for each i; None where that overflows."""
    reach = position - position[0]
    reach /= width
    return np.exp(reach, out=reach) if reach[-1] <= LONGEST else None


def _from_the_left(position: Floats, value: Floats, width: float, grow: Floats | None) -> Floats:
    """Compute sum_{j <= i} value_j exp(-(x_i - x_j) / width) for each i; positions must be increasing."""
    if grow is not None:
        path = value * grow
        np.cumsum(path, axis=-1, out=path)
        path /= grow
        return path
    # Otherwise by doubling: after a step with shift s, entry i holds the sum over the 2 s entries that end with it.
    path = value.astype(np.float64)
    shift = 1
    while shift < len(position):
        with np.errstate(under="ignore"):
            decay = np.exp((position[:-shift] - position[shift:]) / width)
            if not decay.any():
                break
            path[..., shift:] += decay * path[..., :-shift]  # the right-hand side is evaluated before the assignment
        shift *= 2
    return path


def laplace_sums(position: Floats, value: Floats, width: float) -> Floats:
    """Compute sum_j value_j exp(-|x_i - x_j| / width) for each i; positions must be sorted, ties are allowed."""
    left = _from_the_left(position, value, width, _growth(position, width))
    back = -position[::-1]
    right = _from_the_left(back, value[::-1], width, _growth(back, width))[::-1]
    return left + right - value


def laplace_pair_sum(position: Floats, value: Floats, width: float) -> float:
    """Compute sum_ij value_i value_j exp(-|x_i - x_j| / width), self-pairs included; positions must be sorted."""
    path = _from_the_left(position, value, width, _growth(position, width))
    return 2 * float(np.dot(value, path)) - float(np.dot(value, value))


def laplace_pair_sums(position: Floats, values: Floats, width: float) -> Floats:
    """Compute the sums over pairs of several lines of values of the same positions."""
    path = _from_the_left(position, values, width, _growth(position, width))
    return np.asarray(2 * np.einsum("ij,ij->i", values, path) - np.einsum("ij,ij->i", values, values))

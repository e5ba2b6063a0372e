"""The mean norm of gaps whose outcome rates are resampled from normal distributions, without simulation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...errors import ArgumentError

Floats = NDArray[np.float64]
# Beyond this many standard deviations a normal variable has no weight in double precision.
REACH = 9.0
# Step and half width of the outer sum. Its integrand is analytic in a strip of half width pi / 2, so that the error is exp(-pi^2 / step).
STEP, WIDTH = 0.3, 24.0
NODES = 10
# Powers of errors down to 1e-9 do not underflow up to this norm; the number of terms of the outer sum grows with it.
LARGEST_NORM = 32


def mean_norm(gap: Floats, deviation: Floats, share: Floats, norm: float) -> float:
    """Compute the mean of ``(sum share |X|^norm)^(1/norm)`` for independent normal X with these means and standard deviations.

    For an infinite norm the largest \\|X\\| of the bins with rows.
    """
    if LARGEST_NORM < norm < math.inf:
        raise ArgumentError("norm", f"must be at most {LARGEST_NORM} or infinite; got {norm:g}", "use math.inf")
    kept = share > 0
    gap, deviation, share = gap[kept], deviation[kept], share[kept]
    if not (deviation > 0).any():
        return float(gap.max()) if norm == math.inf else float((share @ gap**norm) ** (1 / norm))
    if norm == math.inf:
        return _mean_maximum(gap, deviation)
    # E[S^s] = s / Gamma(1 - s) * integral of (1 - E exp(-t S)) t^(-1 - s) dt, with s = 1 / norm and t = exp(u). In units of the largest
    # possible |X|, S is at most 1, so that u begins at -WIDTH; usual values of S are smaller by a power of REACH.
    unit = float((gap + REACH * deviation).max())
    gap, deviation = gap / unit, deviation / unit
    power = 1 / norm
    usual = -norm * math.log(float((gap + deviation).max()))
    u = np.arange(-WIDTH, WIDTH * max(1.0, norm / (1 + len(gap))) + usual + STEP, STEP)
    if norm == 2:
        rate = np.exp(u)[:, None] * share
        spread = 1 + 2 * rate * deviation**2
        exponent = (0.5 * np.log(spread) + rate * gap**2 / spread).sum(axis=1)
        moment = float(share @ (gap**2 + deviation**2))
    else:
        exponent = np.zeros(len(u))
        moment = 0.0
        for mean, spread, own in zip(gap, deviation, share, strict=True):
            node, weight = _nodes(mean, spread)
            with np.errstate(
                divide="ignore", over="ignore", under="ignore"
            ):  # powers of small numbers, and exp(-infinity)
                reached = np.exp(u[:, None] + math.log(own) + norm * np.log(node))
                kept_share = -np.expm1(-reached) @ weight
                moment += own * float(node**norm @ weight)
            exponent -= np.log1p(-np.minimum(kept_share, 1 - 1e-16))
    inner = -np.expm1(-exponent) * np.exp(-power * u)
    # Beyond both ends 1 - E exp(-t S) is t times the mean of S, and 1, so that the terms form geometric series.
    below = moment * math.exp((1 - power) * u[0]) / math.expm1((1 - power) * STEP)
    above = math.exp(-power * u[-1]) / math.expm1(power * STEP)
    return float(power / math.gamma(1 - power) * STEP * (math.fsum(inner) + below + above) * unit)


def _nodes(mean: float, spread: float) -> tuple[Floats, Floats]:
    """Return nodes and weights for means of functions of |X|, X normal: panels that become finer towards 0 and around the mean."""
    if spread == 0:
        return np.array([mean]), np.ones(1)
    top = mean + REACH * spread
    breaks = np.concatenate([[0.0], top * 0.35 ** np.arange(24), mean + spread * np.arange(-REACH, REACH + 1)])
    breaks = np.unique(np.clip(breaks, 0, top))
    base, share = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(breaks) / 2
    node = (breaks[:-1] + half)[:, None] + half[:, None] * base
    density = np.exp(-np.square((node - mean) / spread) / 2) + np.exp(-np.square((node + mean) / spread) / 2)
    weight = (half[:, None] * share * density).ravel()
    return node.ravel(), weight / weight.sum()


def _mean_maximum(gap: Floats, deviation: Floats) -> float:
    """Compute the mean of the largest |X|: the integral of the probability that it exceeds x."""
    from scipy.special import ndtr

    fixed = float(gap[deviation == 0].max(initial=0.0))
    mean, spread = gap[deviation > 0], deviation[deviation > 0]
    top = float((mean + REACH * spread).max())
    if top <= fixed:
        return fixed
    breaks = (mean[:, None] + spread[:, None] * np.arange(-REACH, REACH + 1)).ravel()
    breaks = np.unique(np.clip(np.append(breaks, [fixed, top]), fixed, top))
    base, share = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(breaks) / 2
    node = ((breaks[:-1] + half)[:, None] + half[:, None] * base).ravel()
    below = (ndtr((node[:, None] - mean) / spread) - ndtr((-node[:, None] - mean) / spread)).prod(axis=1)
    return fixed + float((half[:, None] * share).ravel() @ (1 - below))

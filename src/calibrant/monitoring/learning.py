"""Bets learnt from past windows: a shift and slope of the logit, or a stake that follows the mean gap; their memory is a few sums.

Arrays may have leading axes for many streams at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Memory", "cox_gains", "learn", "stake_gains", "stakes"]

Floats = NDArray[np.float64]
# Nothing is bet until this many rows and both outcomes were seen.
LEAST_ROWS = 20
# How surely shift 0 and slope 1 are believed at first: as after rows that tell each to about a third.
PRIOR = 10.0
NEWTON_STEPS, LONGEST_STEP, FARTHEST, ENOUGH = 8, 1.0, 5.0, 1e-6


class Memory(NamedTuple):
    """What is remembered of past windows; all have an axis of bins, and `theta` and `precision` one more."""

    rows: Floats
    positives: Floats
    gap: Floats
    """Sum of outcome minus score."""
    square: Floats
    """Sum of their squares."""
    theta: Floats
    """Shift, and slope minus 1."""
    precision: Floats
    """How surely they are known: entries (0, 0), (0, 1), (1, 1) of the matrix."""

    @classmethod
    def fresh(cls, *shape: int) -> Memory:
        """Nothing seen; the last axis of `shape` is bins."""
        none = np.zeros(shape)
        precision = np.broadcast_to(np.array([PRIOR, 0.0, PRIOR]), (*shape, 3)).copy()
        return cls(none, none, none, none, np.zeros((*shape, 2)), precision)

    def of(self, which: int) -> Memory:
        """One bin."""
        axis = self.rows.ndim - 1
        return Memory(*(np.take(part, which, axis=axis) for part in self))

    def replaced(self, which: int, new: Memory) -> Memory:
        """The same with one bin exchanged."""
        axis = self.rows.ndim - 1
        parts = [part.copy() for part in self]
        for part, other in zip(parts, new, strict=True):
            np.moveaxis(part, axis, 0)[which] = other
        return Memory(*parts)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists."""
        return {name: getattr(self, name).tolist() for name in self._fields}


def _ready(memory: Memory) -> NDArray[np.bool_]:
    seen = (memory.rows >= LEAST_ROWS) & (memory.positives > 0) & (memory.positives < memory.rows)
    return np.asarray(seen)


def cox_gains(p: Floats, yes: Floats, no: Floats, memory: Memory) -> Floats:
    """Logarithm of the likelihood ratio of the learnt shift and slope against the scores."""
    theta = np.where(_ready(memory)[..., None], memory.theta, 0.0)
    z = np.log(p) - np.log1p(-p)
    eta = theta[..., :1] + (1 + theta[..., 1:]) * z
    if_yes, if_no = np.logaddexp(0, -z) - np.logaddexp(0, -eta), np.logaddexp(0, z) - np.logaddexp(0, eta)
    return np.asarray((yes * if_yes + no * if_no).sum(axis=-1))


def stakes(memory: Memory) -> Floats:
    """The stake of the next window: mean gap over mean square, one pseudo-row of 1/4 included (Waudby-Smith and Ramdas 2024)."""
    count = memory.rows + 1
    mean = memory.gap / count
    spread = (0.25 + memory.square - 2 * mean * memory.gap + memory.rows * mean**2) / count
    return np.asarray(mean / (spread + mean**2))


def stake_gains(p: Floats, yes: Floats, no: Floats, memory: Memory) -> Floats:
    """Logarithm of what the stake pays, cut to half of what could lose everything."""
    stake = np.clip(stakes(memory)[..., None], -0.5 / (1 - p), 0.5 / p)
    return np.asarray((yes * np.log1p(stake * (1 - p)) + no * np.log1p(-stake * p)).sum(axis=-1))


def learn(p: Floats, rows: Floats, positives: Floats, memory: Memory) -> Memory:
    """The memory after a window: sums go on, and shift and slope move to where the window and what was known agree best."""
    theta, precision = _moved(p, rows, positives, memory)
    negatives = rows - positives
    return Memory(
        memory.rows + rows.sum(axis=-1),
        memory.positives + positives.sum(axis=-1),
        memory.gap + (positives - rows * p).sum(axis=-1),
        memory.square + (positives * (1 - p) ** 2 + negatives * p**2).sum(axis=-1),
        theta,
        precision,
    )


def _moved(p: Floats, rows: Floats, positives: Floats, memory: Memory) -> tuple[Floats, Floats]:
    """The likeliest shift and slope given the window and a normal law around those known; Newton steps of bounded length."""
    kept = (p > 0) & (p < 1)
    p, rows, positives = p[kept], rows[..., kept], positives[..., kept]
    z = np.log(p) - np.log1p(-p)
    known, theta = memory.precision, memory.theta
    for _ in range(NEWTON_STEPS):
        information, slope = _derivatives(theta, z, rows, positives, memory)
        step = _solved(information, slope)
        theta = np.clip(theta + step, -FARTHEST, FARTHEST)
        if np.abs(step).max(initial=0.0) < ENOUGH:
            break
    rate = 0.5 * (1 + np.tanh((theta[..., :1] + (1 + theta[..., 1:]) * z) / 2))
    return theta, _information(z, rows * rate * (1 - rate)) + known


def _information(z: Floats, weight: Floats) -> Floats:
    return np.stack([weight.sum(-1), weight @ z, weight @ z**2], axis=-1)


def _derivatives(theta: Floats, z: Floats, rows: Floats, positives: Floats, memory: Memory) -> tuple[Floats, Floats]:
    """Curvature and slope of what is climbed: the window's likelihood and the law around what was known."""
    rate = 0.5 * (1 + np.tanh((theta[..., :1] + (1 + theta[..., 1:]) * z) / 2))
    gap = positives - rows * rate
    known, back = memory.precision, theta - memory.theta
    pull = known[..., :2] * back[..., :1] + known[..., 1:] * back[..., 1:]
    slope = np.stack([gap.sum(-1), gap @ z], axis=-1) - pull
    return _information(z, rows * rate * (1 - rate)) + known, slope


def _solved(matrix: Floats, vector: Floats) -> Floats:
    """The step of symmetric 2 by 2 systems, cut to a bounded length."""
    a, b, c = matrix[..., 0], matrix[..., 1], matrix[..., 2]
    det = a * c - b * b
    step = np.stack([c * vector[..., 0] - b * vector[..., 1], a * vector[..., 1] - b * vector[..., 0]], axis=-1)
    step = step / det[..., None]
    longest = np.maximum(np.abs(step).max(axis=-1, keepdims=True), LONGEST_STEP)
    return np.asarray(step * (LONGEST_STEP / longest))

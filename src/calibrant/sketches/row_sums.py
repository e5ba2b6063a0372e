"""Sums over rows that need all class probabilities (for brier, nll and ecd), as integers: identical in any order and engine."""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple

import numpy as np

from ..util.arrays import Array, Floats
from ..util.blocks import map_blocks, rows_per_block
from ..util.kernels import ROW_UNIT, add_rows, compiled

# Squares are integers in units of 2^-62, logarithms in units of 2^-40 (rounded, each by at most half a unit).
LOG_UNIT = 2.0**40
TERMS = (1 / 5, -1 / 4, 1 / 3, -1 / 2)
"""Coefficients of r^5 to r^2 in the expansion of log(1 + r)."""
LN2 = 0.6931471805599453
_HALF = 31
_MASK = (1 << _HALF) - 1
# Rows whose sums of halves are exact in double precision.
MOST_AT_ONCE = 1 << 21


class RowSums(NamedTuple):
    """Integer sums over rows."""

    rows: int = 0
    square: int = 0
    """Sum of the squares of all entries, each truncated to units of 2^-62."""
    own: int = 0
    """Sum of the probabilities of the true class, truncated likewise."""
    surprise: int = 0
    """Sum of their negative logarithms, each rounded to units of 2^-40."""
    entropy: int = 0
    """Sum of -p log p over all entries, rounded likewise."""
    impossible: int = 0
    """Rows whose true class had probability 0; they are not included in `surprise`."""

    def plus(self, other: RowSums) -> RowSums:
        """Return the sums over the rows of both."""
        return RowSums(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def brier(self) -> float:
        """Brier score summed over all classes."""
        return float((self.square - 2 * self.own) / (self.rows << 62) + 1)

    @property
    def nll(self) -> float:
        """Mean negative log-likelihood."""
        return float("inf") if self.impossible else self.surprise / (self.rows << 40)

    @property
    def ecd(self) -> float:
        """Mean negative log-likelihood minus mean entropy."""
        return float("inf") if self.impossible else (self.surprise - self.entropy) / (self.rows << 40)


def log_table() -> tuple[Floats, Floats]:
    """For each of 128 parts of [1/2, 1): a rounded reciprocal of its midpoint, and the logarithm of that number.

    Logarithms of the C library differ in their last digit from one machine and one engine to the next. These are constants
    and a few products and sums, which are the same wherever numbers are IEEE doubles.
    """
    inverse = np.round(256 / (np.arange(128) + 128.5) * 1024) / 1024
    return inverse, np.round(np.log(inverse) * 2.0**50) / 2.0**50


_INVERSE, _LOG_INVERSE = log_table()


def minus_log(value: Floats) -> Floats:
    """-log of numbers in (0, 1] to a few units in the last place, by multiplication and addition only; 0 gives 0."""
    mantissa, exponent = np.frexp(value)
    place = np.clip(np.floor(mantissa * 256) - 128, 0, 127).astype(np.intp)
    excess = mantissa * _INVERSE[place]
    excess -= 1
    series = excess * TERMS[0]
    for factor in TERMS[1:]:
        series += factor
        series *= excess
    series += 1
    series *= excess
    minus_logs = _LOG_INVERSE[place] - series
    minus_logs -= exponent * LN2
    return np.where(value > 0, minus_logs, 0.0)


def row_sums(probs: Array, labels: Array) -> RowSums:
    """Sums over the rows of an (N, K) array, or of the probabilities of the second of two classes."""
    sums = GroupRows(1)
    sums.add(probs, labels)
    return sums.sums()[0]


class GroupRows:
    """Sums over the rows of each group."""

    def __init__(self, groups: int) -> None:
        self.rows, self.impossible = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
        # The square, the own probability, the surprise and the entropy, each in parts of 31 bits.
        self.parts = np.zeros((groups, 4, 3), np.int64)
        self.lock = Lock()

    def add(self, probs: Array, labels: Array, groups: Array | None = None) -> None:
        """Add rows, given the number of the group of each; without, all belong to the first."""
        columns = 1 if probs.ndim == 1 else probs.shape[1]
        fits = probs.dtype in (np.float32, np.float64) and labels.dtype in (np.uint8, np.int64)
        kernel = compiled(add_rows, probs.size) if fits and probs.flags.c_contiguous else None
        flat, count = probs.reshape(-1), len(self.rows)
        groups = np.zeros(0, np.uint16) if groups is None else groups

        def work(start: int, stop: int) -> None:
            group = groups[start:stop]
            if kernel is None:
                self._add(_plain_sums(probs[start:stop], labels[start:stop], group, count))
                return
            sums = np.zeros((count, 9), np.int64)
            block = flat[start * columns : stop * columns]
            kernel(block, labels[start:stop], group, columns, _INVERSE, _LOG_INVERSE, sums)
            self._add(sums)

        entries = (1 << 16) * (1 if kernel is None else 4)
        step = min(max(rows_per_block(max(columns, 2), entries), count // 2), MOST_AT_ONCE)
        map_blocks(work, len(labels), step, columns=max(columns, 2))

    def _add(self, sums: Array) -> None:
        with self.lock:
            self.rows += sums[:, 8] // ROW_UNIT
            self.impossible += sums[:, 8] % ROW_UNIT
            high, low = self.parts[:, :, 1], self.parts[:, :, 2]
            low += sums[:, 1:8:2]
            high += sums[:, 0:8:2] + (low >> _HALF)
            low &= _MASK
            self.parts[:, :, 0] += high >> _HALF
            high &= _MASK

    def sums(self) -> list[RowSums]:
        """The sums of each group."""
        return [
            RowSums._make([rows, *((top << 2 * _HALF) + (high << _HALF) + low for top, high, low in parts), impossible])
            for rows, parts, impossible in zip(
                self.rows.tolist(), self.parts.tolist(), self.impossible.tolist(), strict=True
            )
        ]


def _plain_sums(probs: Array, labels: Array, group: Array, count: int) -> Array:
    """The sums of `add_rows`, for at most 2^21 rows."""
    probs64 = probs.astype(np.float64)
    if probs64.ndim == 1:
        probs64 = np.stack([1 - probs64, probs64], axis=1)
    label_probs = probs64[np.arange(len(probs64)), labels]
    negative_log = minus_log(probs64)
    terms = [
        np.floor(probs64 * probs64 * 2.0**62).astype(np.int64).sum(axis=1),
        np.floor(label_probs * 2.0**62).astype(np.int64),
        np.floor(negative_log[np.arange(len(probs64)), labels] * LOG_UNIT + 0.5).astype(np.int64),
        np.floor(probs64 * negative_log * LOG_UNIT + 0.5).astype(np.int64).sum(axis=1),
    ]
    halves = [half for term in terms for half in (term >> _HALF, term & _MASK)] + [ROW_UNIT + (label_probs == 0)]
    group = group if len(group) else np.zeros(len(probs64), np.uint8)
    # Double precision represents sums of halves.
    return np.stack([np.bincount(group, half, count) for half in halves], axis=1).astype(np.int64)

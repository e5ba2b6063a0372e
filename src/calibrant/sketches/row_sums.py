"""Sums over rows that need all class probabilities (for brier, nll and ecd), as integers: identical in any order and engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..util.blocks import map_blocks, rows_per_block
from ..util.kernels import add_rows, compiled

__all__ = ["LOG_UNIT", "TERMS", "RowSums", "log_table", "minus_log", "row_sums"]

Array = NDArray[Any]
Floats = NDArray[np.float64]

# Squares are integers in units of 2^-62, logarithms in units of 2^-40 (rounded, so that a row is off by at most half a unit).
LOG_UNIT = 2.0**40
TERMS = (1 / 5, -1 / 4, 1 / 3, -1 / 2)
"""Coefficients of r^5 to r^2 in the expansion of log(1 + r)."""
LN2 = 0.6931471805599453
_HALF = 31
# Number of rows whose sums cannot overflow: a negative logarithm is below 2^10, which is 2^50 units.
COMPILED_ROWS = 1 << 13


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
    """-log of numbers in (0, 1] to 2e-15, by multiplication and addition only; 0 gives 0."""
    part, exponent = np.frexp(value)
    place = np.clip(np.floor(part * 256) - 128, 0, 127).astype(np.intp)
    rest = part * _INVERSE[place]
    rest -= 1
    series = rest * TERMS[0]
    for factor in TERMS[1:]:
        series += factor
        series *= rest
    series += 1
    series *= rest
    found = _LOG_INVERSE[place] - series
    found -= exponent * LN2
    return np.where(value > 0, found, 0.0)


def row_sums(probs: Array, labels: Array) -> RowSums:
    """Sums over the rows of an (N, K) array, or of the probabilities of the second of two classes."""
    columns = 2 if probs.ndim == 1 else probs.shape[1]
    fits = probs.dtype in (np.float32, np.float64) and labels.dtype in (np.uint8, np.int64) and probs.flags.c_contiguous
    kernel = compiled(add_rows, probs.size) if fits else None
    if kernel is not None:
        return _compiled_sums(kernel, probs, labels)

    def work(start: int, stop: int) -> RowSums:
        part = probs[start:stop].astype(np.float64)
        if part.ndim == 1:
            part = np.stack([1 - part, part], axis=1)
        own = part[np.arange(len(part)), labels[start:stop]]
        square = np.floor(part * part * 2.0**62)
        surprise = np.floor(minus_log(own) * LOG_UNIT + 0.5)
        entropy = np.floor(part * minus_log(part) * LOG_UNIT + 0.5)
        return RowSums(
            len(part),
            _whole_sum(square),
            _whole_sum(np.floor(own * 2.0**62)),
            _whole_sum(surprise),
            _whole_sum(entropy),
            int((own == 0).sum()),
        )

    total = RowSums()
    for part in map_blocks(work, len(probs), rows_per_block(columns, 1 << 16), columns=columns):
        total = total.plus(part)
    return total


def _compiled_sums(kernel: Callable[..., None], probs: Array, labels: Array) -> RowSums:
    columns = 1 if probs.ndim == 1 else probs.shape[1]
    flat = probs.reshape(-1)

    def work(start: int, stop: int) -> Array:
        sums = np.zeros(7, np.int64)
        kernel(flat[start * columns : stop * columns], labels[start:stop], columns, _INVERSE, _LOG_INVERSE, sums)
        return sums

    total = RowSums()
    for sums in map_blocks(work, len(labels), COMPILED_ROWS, columns=columns):
        high, low, own_high, own_low, surprise, entropy, impossible = (int(value) for value in sums)
        square, own = (high << _HALF) + low, (own_high << _HALF) + own_low
        rows = min(len(labels) - total.rows, COMPILED_ROWS)
        total = total.plus(RowSums(rows, square, own, surprise, entropy, impossible))
    return total


def _whole_sum(values: Floats) -> int:
    """The exact sum of integers below 2^63."""
    whole = values.astype(np.int64)
    return (int((whole >> _HALF).sum()) << _HALF) + int((whole & ((1 << _HALF) - 1)).sum())

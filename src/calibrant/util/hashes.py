"""Hashes of rows of numbers, and an order of rows by their content alone."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import Array
from .blocks import map_blocks, rows_per_block


def content_order(*columns: Array | None) -> NDArray[np.intp]:
    """The rows sorted by the first of these columns, and by the next where it ties; of several entries a row, by the last and by their hash.

    The content of the sorted rows does not depend on their order, since rows that tie are identical.

    >>> import numpy as np
    >>> content_order(np.array([0.7, 0.2, 0.2]), None, np.array([[1, 0], [1, 5], [1, 3]])).shape
    (3,)
    """
    keys: list[Array] = []
    for column in columns:
        if column is not None:
            keys += [column] if column.ndim == 1 else [column[:, -1], row_hashes(column, 0)]
    return np.lexsort(keys[::-1])


def row_hashes(values: Array, seed: Any) -> NDArray[np.uint64]:
    """A hash of each row; the sign of 0 is ignored."""
    rows = values.reshape(len(values), -1)
    seeds = _odd_numbers(rows.shape[1], seed)
    parts = map_blocks(
        lambda start, stop: _mixed(_bits(rows[start:stop]), seeds),
        len(rows),
        rows_per_block(rows.shape[1]),
        columns=rows.shape[1],
    )
    return np.concatenate(parts) if parts else np.empty(0, np.uint64)


def fingerprint(scores: Array) -> str:
    """A hash of the rows that does not depend on their order; the sign of 0 is ignored."""
    rows = _bits(scores)
    seeds = _odd_numbers(rows.shape[1], 20_240_501)

    def added(start: int, stop: int) -> tuple[int, int]:
        row = _mixed(rows[start:stop], seeds)
        return int(row.sum(dtype=np.uint64)), int(np.square(row).sum(dtype=np.uint64))

    parts = map_blocks(added, len(rows), rows_per_block(rows.shape[1]), columns=rows.shape[1])
    total = [sum(column) % 2**64 for column in zip(*parts, strict=True)]
    return hashlib.sha256(repr((rows.shape, total)).encode()).hexdigest()[:32]


def _bits(values: Array) -> NDArray[np.uint64]:
    values = np.ascontiguousarray(values, dtype=np.float64) + 0.0
    return values.reshape(len(values), -1).view(np.uint64)


def _odd_numbers(count: int, seed: Any) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(1, 2**63, count, dtype=np.uint64) | np.uint64(1)


def _mixed(rows: NDArray[np.uint64], seeds: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Multiply each column by its own odd number, combine the columns and mix the result."""
    row = np.bitwise_xor.reduce(rows * seeds, axis=1)
    for _ in range(2):
        row = (row ^ (row >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(row)

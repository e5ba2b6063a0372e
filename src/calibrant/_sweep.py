"""One blocked pass over the probabilities: are they probabilities, what is the largest in each row, and is it the label's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._blocks import map_blocks, rows_per_block
from ._kernels import compiled, scan_pairs, top_rows, top_rows_narrow
from .errors import ProbabilityError

__all__ = ["check_matrix", "check_vector", "is_binary"]

Array = NDArray[Any]

NARROW = 24


def check_vector(probs: Array) -> None:
    """Raise unless every entry lies in [0, 1]; rows need not sum to anything."""

    def fine(start: int, stop: int) -> bool:
        block = probs[start:stop]
        return bool(block.min() >= 0 and block.max() <= 1)  # NaN fails both

    step = rows_per_block(probs.size // len(probs))
    for number, good in enumerate(map_blocks(fine, len(probs), step)):
        if not good:
            block = probs[number * step : (number + 1) * step]
            first = np.argwhere(~((block >= 0) & (block <= 1)))[0]
            raise _outside(probs, number * step + int(first[0]), int(first[1]) if probs.ndim == 2 else None)


def is_binary(probs: Array, labels: Array) -> Array | None:
    """Labels as bytes, when they are all 0 or 1 and all scores lie in [0, 1]; None where a closer look is needed."""
    outcome = np.empty(len(labels), np.uint8)
    if (
        labels.dtype != np.int64
        or probs.dtype.itemsize not in (4, 8)
        or not (probs.flags.c_contiguous and labels.flags.c_contiguous)
    ):
        return None
    kernel = compiled(scan_pairs, len(labels))
    if kernel is None:
        return None
    bits, one = _bits(probs)

    def fine(start: int, stop: int) -> bool:
        worst, union = kernel(bits[start:stop], labels[start:stop], outcome[start:stop])
        return bool(worst <= one and 0 <= union <= 1)

    return outcome if all(map_blocks(fine, len(labels), rows_per_block(1))) else None


def check_matrix(probs: Array, labels: Array | None, tolerance: float) -> tuple[Array, Array | None]:
    """Check an (N, K) array and return the largest entry of each row, and (given labels) whether it is the label's.

    A tie of the maximum belongs to the lowest class, so a label that ties with a lower class is wrong.
    """
    done = None if labels is None else _check_matrix_compiled(probs, labels, tolerance)
    return done if done is not None else _check_matrix_numpy(probs, labels, tolerance)


def _check_matrix_compiled(probs: Array, labels: Array, tolerance: float) -> tuple[Array, Array] | None:
    if probs.dtype.itemsize not in (4, 8) or not probs.flags.c_contiguous:
        return None
    rows, columns = probs.shape
    kernel = compiled(top_rows_narrow if columns <= NARROW else top_rows, probs.size)
    if kernel is None:
        return None
    bits, one = _bits(probs)
    top = np.empty(rows, probs.dtype)
    top_bits = top.view(bits.dtype)
    correct = np.empty(rows, np.uint8)

    def work(start: int, stop: int) -> int:
        span = slice(start, stop)
        return int(kernel(probs[span], bits[span], one, labels[span], tolerance, top_bits[span], correct[span]))

    found = map_blocks(work, rows, rows_per_block(columns, 1 << 20), columns=columns)
    # A suspicious row may still be fine (minus zero, or float16 that came as float32): the slow path is the judge.
    return (top, correct) if max(found) < 0 else None


def _check_matrix_numpy(probs: Array, labels: Array | None, tolerance: float) -> tuple[Array, Array | None]:
    rows, columns = probs.shape
    top = np.empty(rows, probs.dtype)
    correct = None if labels is None else np.empty(rows, np.uint8)
    lane = np.arange(rows_per_block(columns))

    def work(start: int, stop: int) -> int:
        # Classes first: NumPy then reduces over long contiguous runs instead of many short ones.
        block = np.ascontiguousarray(probs[start:stop].T)
        best = block.max(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):  # infinities are named below, not warned about
            total = block.sum(axis=0, dtype=np.float64)
        if not (block.min() >= 0 and best.max() <= 1 and np.abs(total - 1).max() <= tolerance):
            good = ((block >= 0) & (block <= 1)).all(axis=0) & (np.abs(total - 1) <= tolerance)
            return start + int(np.argmin(good))
        top[start:stop] = best
        if labels is not None and correct is not None:
            label = labels[start:stop]
            hit = block[label, lane[: stop - start]] == best
            if int((block == best).sum()) > stop - start:  # a tie somewhere
                hit &= block.argmax(axis=0) == label
            correct[start:stop] = hit
        return -1

    found = [row for row in map_blocks(work, rows, len(lane), columns=columns) if row >= 0]
    if found:
        _raise_for_row(probs, found[0], tolerance)
    return top, correct


def _bits(probs: Array) -> tuple[Array, Any]:
    kind = np.uint32 if probs.dtype.itemsize == 4 else np.uint64
    return probs.view(kind), np.ones(1, probs.dtype).view(kind)[0]


def _raise_for_row(probs: Array, row: int, tolerance: float) -> None:
    entries = probs[row].astype(np.float64)
    bad = ~((entries >= 0) & (entries <= 1))
    if bad.any():
        raise _outside(probs, row, int(np.argmax(bad)))
    total = entries.sum()
    # A sum that only just misses must not be printed as 1.
    shown = f"{total:.6g}" if abs(total - 1) > 1e-4 else f"{total:.10g}"
    raise ProbabilityError(
        "y_prob",
        f"row {row} sums to {shown}, and each row must sum to 1 within {tolerance:g}",
        'pass normalize=True to rescale, multilabel=True if the columns are independent, or input="logit" if these are logits',
        row=row,
    )


def _outside(probs: Array, row: int, column: int | None) -> ProbabilityError:
    value = float(probs[row] if column is None else probs[row, column])
    place = f"row {row}" + ("" if column is None else f", column {column},")
    if np.isnan(value):
        return ProbabilityError(
            "y_prob",
            f"{place} is nan, and every entry must be a number in [0, 1]",
            "drop or fill the missing rows",
            row=row,
        )
    if -1e-3 <= value <= 1 + 1e-3:
        remedy = "pass clip=True if this is rounding"
    elif np.isinf(value):
        remedy = 'drop or repair the row, or pass input="logit" if these are logits'
    elif np.isfinite(probs).all() and probs.min() >= 0 and 1 < probs.max() <= 100 and probs.max() > 20:
        remedy = "divide by 100 if these are percentages"
    else:
        remedy = 'pass input="logit" if these are logits'
    return ProbabilityError("y_prob", f"{place} is {value!r}, and every entry must lie in [0, 1]", remedy, row=row)

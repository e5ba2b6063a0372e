"""Validation of probabilities in one blocked pass, with the largest entry of each row and whether it belongs to the label."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ProbabilityError
from ..util import kernels
from ..util.arrays import Array
from ..util.blocks import map_blocks, rows_per_block
from ..util.kernels import compiled, scan_pairs, top_rows
from .convert import frozen, missing_values, rounding_of

# Numbers of decimals of printed probabilities; those with fewer are as likely to miss 1 for another reason.
PRINTED = range(3, 9)
# Up to this many classes a plain loop over a row is faster than vectorised code.
NARROW = 24
# Work of one call of a compiled loop: enough to amortise the call, little enough for several threads.
COMPILED_ENTRIES = 1 << 19
# The same for NumPy, where a block is processed several times and should fit into cache.
NUMPY_ENTRIES = 1 << 19
TRANSPOSED_ENTRIES = 1 << 14


def check_vector(probs: Array) -> None:
    """Raise unless every entry lies in [0, 1], without a condition on row sums."""

    def fine(start: int, stop: int) -> bool:
        block = probs[start:stop]
        return bool(block.min() >= 0 and block.max() <= 1)  # NaN fails both

    step = rows_per_block(probs.size // len(probs), NUMPY_ENTRIES)
    for number, good in enumerate(map_blocks(fine, len(probs), step)):
        if not good:
            block = probs[number * step : (number + 1) * step]
            first = np.argwhere(~((block >= 0) & (block <= 1)))[0]
            raise _entry_error(probs, number * step + int(first[0]), int(first[1]) if probs.ndim == 2 else None)


def quick_vector(probs: Array, labels: Array) -> bool:
    """Whether all labels are 0 or 1 and all scores in [0, 1], in one pass; False if further checks are needed."""
    if not _has_plain_layout(probs, labels):
        return False
    few = len(labels) <= kernels.FEW_ROWS
    kernel = kernels.loaded.get("scan_pairs") if few else compiled(scan_pairs, len(labels))
    if few and kernel is None:
        return bool(probs.min() >= 0 and probs.max() <= 1 and labels.min() >= 0 and labels.max() <= 1)  # NaN fails
    if kernel is None:
        return False
    bits, bits_of_one = _bits(probs)
    labels = frozen(labels)  # numba would compile again for a writeable array

    def fine(start: int, stop: int) -> bool:
        worst, union = kernel(bits[start:stop], labels[start:stop])
        return bool(worst <= bits_of_one and 0 <= union <= 1)

    return all(map_blocks(fine, len(labels), COMPILED_ENTRIES))


def quick_matrix(probs: Array, labels: Array, tolerance: float) -> tuple[Array, Array] | None:
    """Return the result of `check_matrix` if rows and labels are valid; None if further checks are needed."""
    if not _has_plain_layout(probs, labels):
        return None
    rows, columns = probs.shape
    kernel = compiled(top_rows, probs.size)
    if kernel is None:
        return None
    flat, labels = frozen(probs.reshape(-1)), frozen(labels)  # numba would compile again for writeable arrays
    bits, bits_of_one = _bits(flat)
    # Sums in single precision are fast, and accurate enough unless rows are very long. Undecided rows are left to the slow path,
    # and so are rows that may still be valid (minus zero).
    single = probs.dtype == np.float32 and _rounding(columns, np.float32) < 0.75 * tolerance
    zero: Any = np.float32(0) if single else np.float64(0)
    surely = tolerance - _rounding(columns, zero.dtype)
    top = np.empty(rows, probs.dtype)
    top_bits = top.view(bits.dtype)
    correct = np.empty(rows, np.uint8)

    def work(start: int, stop: int) -> int:
        rows, entries = slice(start, stop), slice(start * columns, stop * columns)
        valid = kernel(
            flat[entries], bits[entries], labels[rows], bits_of_one, zero, surely, top_bits[rows], correct[rows]
        )
        return int(valid)

    valid = map_blocks(work, rows, rows_per_block(columns, COMPILED_ENTRIES), columns=columns)
    return (top, correct) if max(valid) < 0 else None


def _rounding(terms: int, dtype: Any) -> float:
    """Return the possible rounding error of a sum of `terms` numbers near 1 in this dtype."""
    return terms * (2.0**-24 if dtype == np.float32 else 2.0**-53)


def _has_plain_layout(probs: Array, labels: Array) -> bool:
    return (
        labels.dtype in (np.int64, np.uint8)
        and probs.dtype in (np.float32, np.float64)
        and probs.flags.c_contiguous
        and labels.flags.c_contiguous
    )


def check_matrix(
    probs: Array, labels: Array | None, tolerance: float, printed: bool = False
) -> tuple[Array, Array | None]:
    """Check an (N, K) array and return the largest entry of each row, and (given labels) whether it belongs to the label.

    A tie of the maximum belongs to the lowest class, so a label that ties with a lower class is wrong. With `printed`, sums may be off by the
    rounding of numbers that were printed with three decimals or more.
    """
    result = None if labels is None else quick_matrix(probs, labels, tolerance)
    return result if result is not None else _check_matrix_numpy(probs, labels, tolerance, printed)


def printed_tolerance(probs: Array) -> float:
    """How far the sum of a row can be off if all numbers are rounded to the same decimals, as printed ones are; 0 if they are not.

    >>> round(printed_tolerance(np.array([[0.333333, 0.333333, 0.333333]])), 12)
    1.000001e-06
    >>> printed_tolerance(np.array([[1 / 3, 1 / 3, 1 / 3]]))
    0.0
    """
    if not ((probs >= 0) & (probs <= 1)).all():  # rounding large numbers can overflow
        return 0.0
    exact = 4 * float(np.finfo(probs.dtype).eps)
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # numbers near the largest float are reported as no probabilities
        decimals = next((d for d in PRINTED if np.abs(probs - np.round(probs, d)).max() <= exact), None)
    return 0.0 if decimals is None else rounding_of(probs.shape[1]) * 10.0**-decimals * (1 + 1e-6)


def _check_matrix_numpy(
    probs: Array, labels: Array | None, tolerance: float, printed: bool = False
) -> tuple[Array, Array | None]:
    rows, columns = probs.shape
    top = np.empty(rows, probs.dtype)
    correct = None if labels is None else np.empty(rows, np.bool_)
    lane = np.arange(min(rows, rows_per_block(columns, NUMPY_ENTRIES)))
    is_narrow = columns <= NARROW
    first = lane * columns if is_narrow and probs.flags.c_contiguous else None
    _, bits_of_one = _bits(top)
    top_bits = top.view(bits_of_one.dtype)
    # Sums in the input dtype are fast; those within rounding error of the tolerance are recomputed in float64.
    rounding = _rounding(min(columns, 64), probs.dtype)  # NumPy uses pairwise summation for long rows

    def work(start: int, stop: int) -> int:
        indices, best = lane[: stop - start], top[start:stop]
        if is_narrow:
            # With few classes first, NumPy reduces over long contiguous runs instead of many short ones.
            block, axis = _class_first(probs[start:stop]), 0
            # As integers, numbers in [0, 1] have the same order, and all others and minus zero are larger than 1.
            inside = bool(block.view(bits_of_one.dtype).max(axis=0, out=top_bits[start:stop]).max() <= bits_of_one)
            if not inside:
                block.max(axis=0, out=best)
        else:
            block, axis = np.ascontiguousarray(probs[start:stop]), 1
            where = block.argmax(axis=1)
            best[:] = block[indices, where]
            inside = False
        inside = inside or bool(block.min() >= 0 and best.max() <= 1)  # NaN fails
        if not (inside and _sum_to_one(block.sum(axis=axis), tolerance - rounding)):
            with np.errstate(over="ignore", invalid="ignore"):  # infinities are reported below, not warned about
                off = np.abs(block.sum(axis=axis, dtype=np.float64) - 1)
            if not (inside and off.max() <= tolerance):
                good = ((block >= 0) & (block <= 1)).all(axis=axis) & (off <= tolerance)
                return start + int(np.argmin(good))
        if labels is not None and correct is not None:
            label, is_correct = labels[start:stop], correct[start:stop]
            if is_narrow:
                if first is None:
                    label_probs = block.ravel().take(np.multiply(label, stop - start, dtype=np.intp) + indices)
                else:
                    label_probs = probs[start:stop].reshape(-1).take(first[: stop - start] + label)
                np.equal(label_probs, best, out=is_correct)
                if (
                    np.count_nonzero(block == best) > stop - start
                ):  # a tie somewhere, of entries that are not above half
                    tied = np.flatnonzero(is_correct & (best <= 0.5 * (1 + tolerance)))
                    is_correct[tied] = block[:, tied].argmax(axis=0) == label[tied]
            else:
                np.equal(where, label, out=is_correct)
        return -1

    bad_rows = [row for row in map_blocks(work, rows, len(lane), columns=columns) if row >= 0]
    if bad_rows:
        if printed and printed_tolerance(probs) > tolerance:
            return _check_matrix_numpy(probs, labels, printed_tolerance(probs))
        _raise_for_row(probs, bad_rows[0], tolerance)
    return top, None if correct is None else correct.view(np.uint8)


def _class_first(rows: Array) -> Array:
    """A transposed copy, made in parts whose rows stay in the fastest cache while their columns are read."""
    block = np.empty(rows.shape[::-1], rows.dtype)
    step = rows_per_block(rows.shape[1], TRANSPOSED_ENTRIES)
    for first in range(0, len(rows), step):
        block[:, first : first + step] = rows[first : first + step].T
    return block


def _sum_to_one(totals: Array, tolerance: float) -> bool:
    return float(totals.max()) - 1 <= tolerance and 1 - float(totals.min()) <= tolerance  # NaN fails


def _bits(probs: Array) -> tuple[Array, Any]:
    kind = np.uint32 if probs.dtype.itemsize == 4 else np.uint64
    return frozen(probs).view(kind), np.ones(1, probs.dtype).view(kind)[0]


def _raise_for_row(probs: Array, row: int, tolerance: float) -> None:
    entries = probs[row].astype(np.float64)
    bad = ~((entries >= 0) & (entries <= 1))
    if bad.any():
        raise _entry_error(probs, row, int(np.argmax(bad)))
    total = entries.sum()
    # A sum that barely violates the tolerance must not be printed as 1.
    printed = f"{total:.6g}" if abs(total - 1) > 1e-4 else f"{total:.10g}"
    raise ProbabilityError(
        "y_prob",
        f"each row must sum to 1 within {tolerance:.4g}; got a sum of {printed}",
        "use Predictions(..., normalize=True) to rescale, Predictions(..., multilabel=True) if the columns are independent, "
        "or Predictions(..., input='logit') if these are logits",
        row=row,
    )


def _entry_error(probs: Array, row: int, column: int | None) -> ProbabilityError:
    value = float(probs[row] if column is None else probs[row, column])
    if np.isnan(value):
        missing = np.isnan(probs) if probs.ndim == 1 else np.isnan(probs).any(axis=1)
        count = int(missing.sum())
        return ProbabilityError(
            "y_prob", missing_values(count), "drop or fill these rows", row=row, column=column, count=count
        )
    if -1e-3 <= value <= 1 + 1e-3:
        remedy = "use Predictions(..., clip=True) if this is rounding error"
    elif np.isinf(value):
        remedy = "drop or correct the row, or use Predictions(..., input='logit') if these are logits"
    else:
        remedy = "use Predictions(..., input='logit') if these are logits"
        if np.isfinite(probs).all() and probs.min() >= 0 and probs.max() <= 100:
            remedy = f"divide by 100 if these are percentages, or {remedy}"
    return ProbabilityError("y_prob", f"probabilities must be in [0, 1]; got {value!r}", remedy, row=row, column=column)

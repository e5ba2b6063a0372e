"""The few hot loops that numba compiles where it is installed (extra ``fast``); each has a NumPy twin that gives the same bits.

The functions below are plain Python and are never run as such outside the tests. `compiled` turns one into machine code at
its first use on data large enough to repay the import of numba, and gives None otherwise: the caller then takes its twin.
Sums are integers, so the order of rows, blocks and threads cannot change a bit of the result.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import CalibrantWarning

__all__ = ["COUNT_UNIT", "LOW_BITS", "LOW_MASK", "compiled"]

# Importing numba and loading the compiled loops takes about a second. Like a skier who buys skis once the rent paid comes near
# their price, a process does it once it has gone over this many entries without.
MIN_ENTRIES = 30_000_000

# A score in [0, 1] is the integer floor(score * 2^62), kept as 20 high and 42 low bits. The count of rows rides above the
# high part, so that one row costs two additions; 2^19 rows fit before either sum can overflow.
LOW_BITS = 42
LOW_MASK = (1 << LOW_BITS) - 1
COUNT_UNIT = 1 << 40
SCALE = float(1 << 62)

_cache: dict[str, Any] = {}
_entries_seen = 0


def compiled(function: Callable[..., Any], entries: int) -> Callable[..., Any] | None:
    """The machine code of `function`, or None where numba is absent, broken, or does not pay yet."""
    global _entries_seen
    name = function.__name__
    if name not in _cache:
        _entries_seen += entries
        if _entries_seen < MIN_ENTRIES:
            return None
        _cache[name] = _compile(function)
    result: Callable[..., Any] | None = _cache[name]
    return result


def _compile(function: Callable[..., Any]) -> Callable[..., Any] | None:
    try:
        import numba
    except ImportError:
        return None
    except Exception as error:  # a numba that does not fit this NumPy fails in many ways
        warnings.warn(
            f"numba is installed but cannot be used ({error}); the slower NumPy path is taken",
            CalibrantWarning,
            stacklevel=4,
        )
        return None
    # Only the check of row sums may be reordered; it is compared with a tolerance and never shown.
    fast = {"reassoc", "nsz"} if function is top_rows else False
    result: Callable[..., Any] = numba.njit(nogil=True, cache=True, fastmath=fast)(function)
    return result


def top_rows(probs: Any, bits: Any, one: Any, labels: Any, tolerance: float, top: Any, correct: Any) -> int:
    """Check rows of probabilities and labels, and find the largest entry of each row and whether it is the label's.

    `bits` is `probs` seen as unsigned integers: for numbers in [0, 1] they order alike, and everything else (negative,
    above 1, infinite, NaN) is larger than the bits of 1.0. Returns the first row that needs a closer look, or -1.
    """
    rows, columns = bits.shape
    half = 0.5 * (1.0 + tolerance)
    for i in range(rows):
        best = bits[i, 0]
        total = 0.0
        for k in range(columns):
            best = max(best, bits[i, k])
        for k in range(columns):
            total += probs[i, k]
        label = labels[i]
        if best > one or not abs(total - 1.0) <= tolerance or label < 0 or label >= columns:
            return i
        hit = bits[i, label] == best
        if hit and probs[i, label] <= half:  # two entries above half cannot tie
            earlier = 0
            for k in range(label):
                earlier += bits[i, k] == best
            hit = earlier == 0
        top[i] = best
        correct[i] = hit
    return -1


def top_rows_narrow(probs: Any, bits: Any, one: Any, labels: Any, tolerance: float, top: Any, correct: Any) -> int:
    """`top_rows` for few classes: no branch depends on the data, and two rows at a time keep the adders busy."""
    rows, columns = bits.shape
    for i in range(0, rows, 2):
        j = min(i + 1, rows - 1)  # an odd last row is its own neighbour
        best_i, best_j = bits[i, 0], bits[j, 0]
        where_i, where_j = 0, 0
        total_i, total_j = np.float64(probs[i, 0]), np.float64(probs[j, 0])
        for k in range(1, columns):
            entry_i, entry_j = bits[i, k], bits[j, k]
            where_i = k if entry_i > best_i else where_i
            where_j = k if entry_j > best_j else where_j
            best_i = entry_i if entry_i > best_i else best_i
            best_j = entry_j if entry_j > best_j else best_j
            total_i += probs[i, k]
            total_j += probs[j, k]
        low, high = min(labels[i], labels[j]), max(labels[i], labels[j])
        off = max(abs(total_i - 1.0), abs(total_j - 1.0))
        if max(best_i, best_j) > one or not off <= tolerance or low < 0 or high >= columns:
            return i
        top[i] = best_i
        top[j] = best_j
        correct[i] = where_i == labels[i]
        correct[j] = where_j == labels[j]
    return -1


def scan_pairs(bits: Any, labels: Any, outcome: Any) -> tuple[Any, Any]:
    """The largest bit pattern of the scores, and all labels or-ed together; copies the labels into bytes."""
    worst = bits[0]
    union = labels[0]
    for i in range(bits.size):
        worst = max(worst, bits[i])
    for i in range(labels.size):
        union |= labels[i]
        outcome[i] = labels[i]
    return worst, union


def fill_bins(score: Any, outcome: Any, bins: int, edges: Any, sums: Any) -> None:
    """Add rows to right-closed equal-width bins; ``sums[r, 2 * slot + outcome]`` holds (count and high part, low part).

    The first axis has four interleaved copies, so that neighbouring rows of one bin do not wait for each other.
    Slot 0 is the score 0 alone, slot k the bin that ends at edge k. The product of a single and a bin number is exact in
    double, so it finds the slot; for doubles it is made a little too small, and one comparison decides between two slots.
    """
    double = score.itemsize == 8
    scale = bins * (1.0 - 1e-12) if double else np.float64(bins)
    whole = score.size // 4 * 4
    for start in range(0, whole, 4):
        for lane in range(4):
            value = np.float64(score[start + lane])
            slot = np.uint64(np.ceil(value * scale))
            if double:
                slot += np.uint64(value > edges[slot])
            cell = np.uint64(2) * slot + np.uint64(outcome[start + lane])
            fixed = np.int64(value * SCALE)
            sums[lane, cell, 0] += (fixed >> LOW_BITS) + COUNT_UNIT
            sums[lane, cell, 1] += fixed & LOW_MASK
    for last in range(whole, score.size):
        value = np.float64(score[last])
        slot = np.uint64(np.ceil(value * scale))
        if double:
            slot += np.uint64(value > edges[slot])
        cell = np.uint64(2) * slot + np.uint64(outcome[last])
        fixed = np.int64(value * SCALE)
        sums[0, cell, 0] += (fixed >> LOW_BITS) + COUNT_UNIT
        sums[0, cell, 1] += fixed & LOW_MASK

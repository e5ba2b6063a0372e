"""The few hot loops that numba compiles where it is installed (extra ``fast``); each has a NumPy twin that gives the same bits.

The functions below are plain Python and are never run as such outside the tests. `compiled` turns one into machine code at
its first use on data large enough to repay the import of numba, and gives None otherwise: the caller then takes its twin.
Sums are integers, so the order of rows, blocks and threads cannot change a bit of the result.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import CalibrantWarning

__all__ = ["COUNT_UNIT", "LOW_BITS", "LOW_MASK", "compiled"]

# Importing numba takes about half a second: not worth it for less than this many entries.
MIN_ENTRIES = 2_000_000

# A score in [0, 1] is the integer floor(score * 2^62), kept as 20 high and 42 low bits. The count of rows rides above the
# high part, so that one row costs two additions; 2^19 rows fit before either sum can overflow.
LOW_BITS = 42
LOW_MASK = (1 << LOW_BITS) - 1
COUNT_UNIT = 1 << 40
SCALE = float(1 << 62)

_cache: dict[str, Any] = {}


def compiled(function: Callable[..., Any], entries: int) -> Callable[..., Any] | None:
    """The machine code of `function`, or None where numba is absent, broken, or would not pay for `entries` entries."""
    name = function.__name__
    if name not in _cache:
        if entries < MIN_ENTRIES and "numba" not in sys.modules:
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
    """Check rows of probabilities and find the largest entry of each and whether it is the label's.

    `bits` is `probs` seen as unsigned integers: for numbers in [0, 1] they order alike, and everything else (negative,
    above 1, infinite, NaN) is larger than the bits of 1.0. Returns the first row that needs a closer look, or -1.
    """
    rows, columns = bits.shape
    for i in range(rows):
        best = bits[i, 0]
        total = 0.0
        for k in range(columns):
            best = max(best, bits[i, k])
        for k in range(columns):
            total += probs[i, k]
        if best > one or not abs(total - 1.0) <= tolerance:
            return i
        top[i] = best
        label = labels[i]
        hit = 0
        if bits[i, label] == best:
            earlier = 0
            for k in range(label):
                earlier += bits[i, k] == best
            hit = 1 if earlier == 0 else 0
        correct[i] = hit
    return -1


def top_rows_narrow(probs: Any, bits: Any, one: Any, labels: Any, tolerance: float, top: Any, correct: Any) -> int:
    """`top_rows` for few classes, where one plain loop beats three vector loops."""
    rows, columns = bits.shape
    for i in range(rows):
        best = bits[i, 0]
        where = 0
        total = np.float64(probs[i, 0])
        for k in range(1, columns):
            value = bits[i, k]
            total += probs[i, k]
            if value > best:
                best = value
                where = k
        if best > one or not abs(total - 1.0) <= tolerance:
            return i
        top[i] = best
        correct[i] = where == labels[i]
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
    Slot 0 is the score 0 alone, slot k the bin that ends at edge k.
    """
    whole = score.size // 4 * 4
    for start in range(0, score.size, 4):
        for lane in range(4 if start < whole else score.size - whole):
            value = np.float64(score[start + lane])
            position = value * bins
            slot = int(np.ceil(position))
            nearest = np.rint(position)
            if abs(position - nearest) < 1e-9:
                slot = int(nearest)
                if value > edges[slot]:
                    slot += 1
            cell = 2 * slot + outcome[start + lane]
            fixed = np.int64(value * SCALE)
            sums[lane, cell, 0] += (fixed >> LOW_BITS) + COUNT_UNIT
            sums[lane, cell, 1] += fixed & LOW_MASK

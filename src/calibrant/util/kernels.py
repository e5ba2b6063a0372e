"""Hot loops that numba compiles if it is installed (extra ``fast``); each has a NumPy counterpart with bitwise equal results.

The functions below are plain Python and are executed as such only in the tests. `compiled` returns machine code at the first
use on data large enough to amortise the import of numba, and None otherwise: the caller then uses the NumPy counterpart.
Sums are integers, so that the order of rows, blocks and threads does not affect the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import warn_caller

# Importing numba and loading the compiled loops takes about a second. As in the ski rental problem, a process does so once it
# has processed this many entries without.
MIN_ENTRIES = 40_000_000

# A score in [0, 1] is the integer floor(score * 2^62), split into 20 high and 42 low bits. The count of rows is stored above the
# high part, so that one row takes two additions; 2^19 rows fit before either sum can overflow.
LOW_BITS = 42
LOW_MASK = (1 << LOW_BITS) - 1
COUNT_UNIT = 1 << 40
SCALE = float(1 << 62)
# Logarithms are added in units of 2^-40.
LOG_SCALE = float(1 << 40)
# `add_rows` counts rows in these units, above the number of those that have probability 0.
ROW_UNIT = 1 << 24
# Entries that pass through short loops together: few enough that their buffers stay in the fastest cache.
BUFFER_ENTRIES = 1024

# Fewer rows than these do not count towards the import of numba; they use a compiled loop if it is already loaded.
FEW_ROWS = 1 << 11
# The compiled loops by name; None if numba is not installed.
loaded: dict[str, Any] = {}
_entries_seen = 0


def compiled(function: Callable[..., Any], entries: int) -> Callable[..., Any] | None:
    """Return the compiled `function`, or None if numba is not installed, fails, or is not worthwhile yet."""
    global _entries_seen
    name = function.__name__
    if name not in loaded:
        _entries_seen += entries
        if _entries_seen < MIN_ENTRIES:
            return None
        loaded[name] = _compile(function)
    result: Callable[..., Any] | None = loaded[name]
    return result


def _compile(function: Callable[..., Any]) -> Callable[..., Any] | None:
    try:
        import numba.extending
    except ImportError:
        return None
    except Exception as error:  # a numba that is incompatible with this NumPy fails in many ways
        warn_caller(f"numba is installed but cannot be used ({error}); the slower NumPy code is used")
        return None
    # Only the check of row sums may be reordered; it is compared with a tolerance and never reported.
    fast = {"reassoc", "nsz"} if function is top_rows else False
    for called in (minus_logs, row_terms, add_terms, fill_cells, precedes, push, pop):  # by other loops
        numba.extending.register_jitable(called)
    result: Callable[..., Any] = numba.njit(nogil=True, cache=True, fastmath=fast)(function)
    return result


def top_rows(probs: Any, bits: Any, labels: Any, one: Any, zero: Any, tolerance: float, top: Any, correct: Any) -> int:
    """Check rows of probabilities and labels, and find the largest entry of each row and whether it belongs to the label.

    `probs` is flat. `bits` is the same memory as unsigned integers: for numbers in [0, 1] they have the same order, and everything
    else (negative, above 1, infinite, NaN) is larger than `one`, the bits of 1.0. Rows are summed in the type of `zero`.
    Returns the first row that needs further checks, or -1.
    """
    half = 0.5 * (1.0 + tolerance)
    columns = probs.size // labels.size
    width = np.uint64(columns)  # unsigned indices avoid the check for negative ones
    for i in range(labels.size):
        first = np.uint64(i) * width
        best = bits[first]
        total = zero
        for k in range(width):
            best = max(best, bits[first + k])
        for k in range(width):
            total += probs[first + k]
        label = labels[i]
        if best > one or not abs(total - 1.0) <= tolerance or label < 0 or label >= columns:
            return i
        own = first + np.uint64(label)
        hit = bits[own] == best
        if hit and probs[own] <= half:  # two entries above half cannot tie
            earlier = 0
            for k in range(np.uint64(label)):
                earlier += bits[first + k] == best
            hit = earlier == 0
        top[i] = best
        correct[i] = hit
    return -1


def scan_pairs(bits: Any, labels: Any) -> tuple[Any, Any]:
    """Return the largest bit pattern of the scores, and the bitwise or of all labels."""
    worst = bits[0]
    union = labels[0]
    for i in range(bits.size):
        worst = max(worst, bits[i])
    for i in range(labels.size):
        union |= labels[i]
    return worst, union


# The loops below write to positions that scores and labels determine. They
# were checked, but the arrays belong to the caller and may have been changed since. A slot or class out of range is clamped or
# masked, so that nothing outside the sums is written.


def fill_bins(score: Any, outcome: Any, bins: int, edges: Any, sums: Any) -> None:
    """Add rows to right-closed equal-width bins; ``sums[r, 2 * slot + outcome]`` holds (count and high part, low part).

    The first axis has four interleaved copies, so that neighbouring rows of one bin do not depend on each other; the second is a
    power of two. Slot 0 is the score 0 alone, slot k the bin that ends at edge k. Two products, a little too small and too large,
    find the slot; where they differ, a comparison with the edge decides.
    """
    below, above = bins * (1.0 - 1e-12), bins * (1.0 + 1e-12)
    most, last_cell = np.uint64(bins), np.uint64(sums.shape[1] - 1)
    whole = score.size // 4 * 4
    for start in range(0, whole, 4):
        for lane in range(4):
            value = np.float64(score[start + lane])
            slot = np.uint64(np.int64(np.ceil(value * below)))
            if slot != np.uint64(np.int64(np.ceil(value * above))):
                slot = min(slot, most)
                slot += np.uint64(value > edges[slot])
            cell = (np.uint64(2) * slot + np.uint64(outcome[start + lane])) & last_cell
            fixed = np.int64(value * SCALE)
            sums[lane, cell, 0] += (fixed >> LOW_BITS) + COUNT_UNIT
            sums[lane, cell, 1] += fixed & LOW_MASK
    for last in range(whole, score.size):
        value = np.float64(score[last])
        slot = min(np.uint64(np.int64(np.ceil(value * below))), most)
        slot += np.uint64(value > edges[slot])
        cell = (np.uint64(2) * slot + np.uint64(outcome[last])) & last_cell
        fixed = np.int64(value * SCALE)
        sums[0, cell, 0] += (fixed >> LOW_BITS) + COUNT_UNIT
        sums[0, cell, 1] += fixed & LOW_MASK


def fill_cells(score: Any, outcome: Any, tables: Any, cells: Any) -> None:
    """Add rows to the cells of a sketch, given the tables `guide`, `edges` and `starts` of its grid.

    A product finds the cell among those of the same width, unless it comes so near an edge that rounding may have carried it
    over; then a comparison decides. Towards 0 and 1, where cells are narrower, the leading bits of the distance give a cell
    from which at most three edges are passed.

    A cell is two words. One is the sum of scores as whole numbers, which wraps around. The other holds rows in 20 bits,
    positives in 20, and in 24 the sum of the leading parts, which wraps around too. `read_cells` tells the sums from them as
    long as there are fewer than 2^20 rows.
    """
    guide, edges, starts = tables
    scale, passed, near, beyond = guide[0], np.uint64(guide[1]), guide[2], guide[3]
    one, last = np.uint64(1), np.uint64(edges.size - 1)
    lowest, last_key = np.uint64(guide[4]), np.uint64(starts.shape[1] - 1)
    distance = np.empty(1, np.float64)
    bits = distance.view(np.uint64)
    for i in range(score.size):
        value = np.float64(score[i])
        position = value * scale
        nearest = np.floor(position + 0.5)
        cell = np.uint64(np.int64(np.ceil(position))) + passed
        is_close = abs(position - nearest) < 1e-9
        is_above = value > beyond
        if is_close or is_above or value <= near:
            if is_above or value <= near:
                distance[0] = 1.0 - value if is_above else abs(value)  # -0.0 would have the highest bit
                key = min(max(bits[0] >> np.uint64(46), lowest) - lowest, last_key)
                cell = starts[np.uint64(is_above), key]
                second, third = min(cell + one, last), min(cell + one + one, last)
                cell += np.uint64(value > edges[cell]) + np.uint64(value > edges[second])
                cell += np.uint64(value > edges[third])
            else:
                cell = min(np.uint64(np.int64(nearest)) + passed, last)
                cell += np.uint64(value > edges[cell])
        cell = min(cell, last)
        fixed = np.uint64(np.int64(value * SCALE))
        cells[cell, 0] += fixed
        cells[cell, 1] += one + (np.uint64(outcome[i]) << np.uint64(20)) + ((fixed >> np.uint64(44)) << np.uint64(40))


def fill_groups(
    score: Any, outcome: Any, group: Any, tables: Any, scores: Any, outcomes: Any, rows: Any, cells: Any
) -> Any:
    """`fill_cells` for the cells of each group, ``cells[group]``, which do not fit into cache together.

    Rows wait in ``scores[group]`` and ``outcomes[group]`` until there is no room for another, and are then added to the cells, so
    that many find theirs in cache. The cells are first read in their order, which takes less time than to fetch each when a row
    needs it; the number that is returned is what this made of them, and has no other use. ``rows[group]`` is how many wait, and how
    many are in the cells.
    """
    last, room, one = np.uint64(rows.shape[0] - 1), np.uint64(scores.shape[1]), np.uint64(1)
    fetched = np.uint64(0)
    for i in range(score.size):
        own = min(np.uint64(group[i]), last)
        place = rows[own, 0]
        scores[own, place] = score[i]
        outcomes[own, place] = outcome[i]
        place += one
        if place == room:
            for cell in range(0, cells.shape[1], 4):  # those of a line of cache
                fetched += cells[own, cell, 1]
            fill_cells(scores[own], outcomes[own], tables, cells[own])
            rows[own, 1] += room
            place = np.uint64(0)
        rows[own, 0] = place
    return fetched


def read_cells(cells: Any, floors: Any, sums: Any, held: Any) -> int:
    """Add the cells of one group, of fewer than 2^20 rows, to ``sums``: rows, positives, and the high and low parts of the scores.

    No score lies below the lower end of its cell, one of `floors`, so that the sum of the leading parts is known although only its
    last 24 bits are. What remains of the scores is less than 2^44 for each row, and its sum less than 2^64.

    The cells that have rows are also written to `held`, unless it is empty: the number of each, counted from 0, and the fields of
    `CellSums`. Returns how many there are.
    """
    count = 0
    for place in range(floors.size):
        word, floor = cells[place, 1], floors[place] >> np.uint64(44)
        rows = word & np.uint64((1 << 20) - 1)
        if rows == np.uint64(0):
            continue
        leading = rows * floor + (((word >> np.uint64(40)) - rows * floor) & np.uint64((1 << 24) - 1))
        rest = cells[place, 0] - (leading << np.uint64(44))
        positives = np.int64((word >> np.uint64(20)) & np.uint64((1 << 20) - 1))
        high = np.int64(leading << np.uint64(44 - LOW_BITS)) + np.int64(rest >> np.uint64(LOW_BITS))
        low = np.int64(rest & np.uint64(LOW_MASK))
        sums[0, place] += np.int64(rows)
        sums[1, place] += positives
        sums[2, place] += high
        sums[3, place] += low
        if held.size:
            held[0, count] = place - 1
            held[1, count] = np.int64(rows)
            held[2, count] = positives
            held[3, count] = high >> (62 - LOW_BITS)
            held[4, count] = ((high & ((1 << (62 - LOW_BITS)) - 1)) << LOW_BITS) + low
        count += 1
    return count


def minus_logs(value: Any, buffers: Any, inverse: Any, logs: Any) -> None:
    """`sketches.row_sums.minus_log` of the values, the first row of `buffers`, into the last: the same steps, so that the bits are the same.

    Each of the short loops is vectorised, except the one that looks up the table.
    """
    integers = buffers.view(np.int64)
    size = value.size
    word, part, parts, exponent = integers[0, :size], buffers[1, :size], integers[1, :size], buffers[2, :size]
    factor, offset, surprises = buffers[3, :size], buffers[4, :size], buffers[5, :size]
    lowest = np.int64(0)
    for i in range(size):
        exponent[i] = np.float64((word[i] >> 52) - 1022)  # as frexp, without a function call for each entry
        parts[i] = (word[i] & 4503599627370495) | 4602678819172646912
        lowest |= word[i] - 4503599627370496
    for i in range(size):
        place = np.uint64((word[i] >> 45) & 127)
        factor[i] = inverse[place]
        offset[i] = logs[place]
    if lowest < 0:  # subnormal numbers, and 0, whose logarithm is not used
        for i in range(size):
            if value[i] < 2.2250738585072014e-308:
                part[i] = value[i] * 18014398509481984.0
                place = np.uint64((parts[i] >> 45) & 127)
                exponent[i] = np.float64((parts[i] >> 52) - 1076)
                parts[i] = (parts[i] & 4503599627370495) | 4602678819172646912
                factor[i] = inverse[place]
                offset[i] = logs[place]
    for i in range(size):
        rest = part[i] * factor[i]
        rest = rest - 1.0
        series = rest * (1 / 5)
        series = series + (-1 / 4)
        series = series * rest
        series = series + (1 / 3)
        series = series * rest
        series = series + (-1 / 2)
        series = series * rest
        series = series + 1.0
        series = series * rest
        surprise = offset[i] - series
        surprise = surprise - exponent[i] * 0.6931471805599453
        surprises[i] = surprise if value[i] > 0.0 else 0.0


def add_rows(probs: Any, labels: Any, groups: Any, columns: int, inverse: Any, logs: Any, sums: Any) -> None:
    """Add the contributions of rows of probabilities to brier, nll and ecd; `probs` is flat, and a single column is class 1 of two.

    ``sums`` holds, for each group, the high and low parts of the square, the own probability, the surprise and the entropy, and in
    one number the rows, in units of `ROW_UNIT`, and how many own probabilities are 0; without `groups` (an empty array) there is one.
    A few rows at a time pass through short loops, which the compiler vectorises. Logarithms are rounded by truncation, because none is
    below -1e-14.
    """
    width = max(columns, 2)
    step = max(BUFFER_ENTRIES // width, 1)
    buffers = np.empty((6, step * width), np.float64)
    terms = np.empty((5, step), np.int64)
    for start in range(0, labels.size, step):
        rows = min(step, labels.size - start)
        block = probs[start * columns : (start + rows) * columns]
        value = buffers[0, : rows * width]
        scores = value[value.size - block.size :]
        for k in range(block.size):
            scores[k] = block[k]
        if columns == 1:
            for i in range(rows):
                value[i] = 1.0 - scores[i]
        minus_logs(value, buffers, inverse, logs)
        row_terms(buffers, labels[start : start + rows], columns, terms)
        add_terms(terms, rows, groups[start : start + rows], sums)


def row_terms(buffers: Any, label: Any, columns: int, terms: Any) -> None:
    """The terms of rows as integers: square, own probability, surprise, entropy, and whether the own probability is 0.

    The values are in the first row of `buffers`, their logarithms in the last; a single column comes after its complement.
    """
    rows, integers = label.size, buffers.view(np.int64)
    squares, owns, surprises, entropies, zeros = terms[0], terms[1], terms[2], terms[3], terms[4]
    if columns == 1:
        value, positive = buffers[0, :rows], buffers[0, rows : 2 * rows]
        surprise, surprise_1 = buffers[5, :rows], buffers[5, rows : 2 * rows]
        for i in range(rows):
            zero, one, log_zero, log_one = value[i], positive[i], surprise[i], surprise_1[i]
            squares[i] = np.int64(zero * zero * SCALE) + np.int64(one * one * SCALE)
            entropies[i] = np.int64(zero * log_zero * LOG_SCALE + 0.5) + np.int64(one * log_one * LOG_SCALE + 0.5)
            own = one if label[i] != 0 else zero
            own_log = log_one if label[i] != 0 else log_zero
            owns[i] = np.int64(own * SCALE)
            surprises[i] = np.int64(own_log * LOG_SCALE + 0.5)
            zeros[i] = np.int64(own == 0.0)
        return
    entries, last_class = rows * columns, np.uint64(columns - 1)
    value, surprise = buffers[0, :entries], buffers[5, :entries]
    square, entropy = integers[1, :entries], integers[2, :entries]
    for k in range(entries):
        square[k] = np.int64(value[k] * value[k] * SCALE)
        entropy[k] = np.int64(value[k] * surprise[k] * LOG_SCALE + 0.5)
    for i in range(rows):
        first = np.uint64(i) * np.uint64(columns)
        row_square = row_entropy = np.int64(0)
        for k in range(np.uint64(columns)):
            row_square += square[first + k]
            row_entropy += entropy[first + k]
        squares[i], entropies[i] = row_square, row_entropy
        place = first + min(np.uint64(label[i]), last_class)
        owns[i] = np.int64(value[place] * SCALE)
        surprises[i] = np.int64(surprise[place] * LOG_SCALE + 0.5)
        zeros[i] = np.int64(value[place] == 0.0)


def add_terms(terms: Any, rows: int, groups: Any, sums: Any) -> None:
    """Add the terms of rows to the sums of their groups; without groups, to the first."""
    if groups.size == 0:  # these loops are vectorised
        for term in range(4):
            high = low = np.int64(0)
            for i in range(rows):
                high += terms[term, i] >> 31
                low += terms[term, i] & 2147483647
            sums[0, 2 * term] += high
            sums[0, 2 * term + 1] += low
        for i in range(rows):
            sums[0, 8] += ROW_UNIT + terms[4, i]
        return
    last_group = np.uint64(sums.shape[0] - 1)
    for i in range(rows):
        group = min(np.uint64(groups[i]), last_group)
        for term in range(4):
            sums[group, 2 * term] += terms[term, i] >> 31
            sums[group, 2 * term + 1] += terms[term, i] & 2147483647
        sums[group, 8] += ROW_UNIT + terms[4, i]


def fill_class_bins(probs: Any, labels: Any, bins: int, edges: Any, sums: Any, positives: Any) -> None:
    """`fill_bins` for every class against the rest: cell ``k * (bins + 1) + slot`` of class k, one pass over all columns.

    Neighbouring entries belong to different classes, so that they do not depend on each other.
    """
    rows, columns = probs.shape
    double = probs.itemsize == 8
    scale = bins * (1.0 - 1e-12) if double else np.float64(bins)
    most = np.uint64(bins)
    for i in range(rows):
        first = np.uint64(0)
        for k in range(columns):
            value = np.float64(probs[i, k])
            slot = min(np.uint64(np.int64(np.ceil(value * scale))), most)
            if double:
                slot = min(slot + np.uint64(value > edges[slot]), most)
            cell = first + slot
            first += most + np.uint64(1)
            fixed = np.int64(value * SCALE)
            sums[cell, 0] += (fixed >> LOW_BITS) + COUNT_UNIT
            sums[cell, 1] += fixed & LOW_MASK
        label = min(np.uint64(labels[i]), np.uint64(columns - 1))
        value = np.float64(probs[i, label])
        slot = min(np.uint64(np.int64(np.ceil(value * scale))), most)
        if double:
            slot = min(slot + np.uint64(value > edges[slot]), most)
        positives[label * (most + np.uint64(1)) + slot] += 1


def pool_blocks(rows: Any, ones: Any, low: int, high: int, groups: Any, sizes: Any, sums: Any) -> int:
    """Pool neighbouring groups of rows while their block has at most `low` rows, or at most `high` and non-increasing rates.

    `groups`, `sizes` and `sums` are filled with the groups, rows and ones of each block; returns how many there are.
    """
    count = 0
    for i in range(rows.size):
        groups[count] = 1
        sizes[count] = rows[i]
        sums[count] = ones[i]
        count += 1
        while count > 1:
            joint = sizes[count - 2] + sizes[count - 1]
            falls = sums[count - 2] * sizes[count - 1] >= sums[count - 1] * sizes[count - 2]
            if not (joint <= low or (joint <= high and falls)):
                break
            count -= 1
            groups[count - 1] += groups[count]
            sizes[count - 1] = joint
            sums[count - 1] += sums[count]
    return count


def lipschitz_loop(gap: Any, path: Any) -> float:
    """Dynamic program of `largest_lipschitz_sum`; breakpoint 0 is stored at 0, breakpoint k at ``path[k - 1]``.

    Side 0 is a heap of breakpoints with the lowest on top, side 1 one with the highest; outdated entries are removed lazily.
    """
    count = gap.size + 1
    place = np.empty(count)
    weight = np.zeros(count)
    heap = np.zeros((2, count), np.int64)
    size = np.ones(2, np.int64)
    place[0] = 0.0
    weight[0] = 2.0
    value = 0.0
    for i in range(gap.size):
        new = i + 1
        zero = path[i]
        place[new] = zero
        weight[new] = 2.0 * gap[i]
        for side in range(2):
            own = heap[side]
            push(own, size[side], new, place, 1 - 2 * side)
            size[side] += 1
            left = gap[i]
            while left > 0.0:
                top = own[0]
                taken = min(left, weight[top])
                if side == 0:
                    value -= taken * (place[top] - zero)
                weight[top] -= taken
                left -= taken
                if weight[top] <= 0.0:
                    size[side] -= 1
                    pop(own, size[side], place, 1 - 2 * side)
    end = path[gap.size]
    value -= end
    for k in range(count):
        value += weight[k] * max(0.0, end - place[k])
    return value


def precedes(first: int, second: int, place: Any, sign: int) -> bool:
    """Whether a breakpoint comes before another: the lower place, for the sign -1 the higher one, and of equal places the first or last."""
    low, high = sign * place[first], sign * place[second]
    return low < high or (low == high and sign * first < sign * second)


def push(heap: Any, size: int, new: int, place: Any, sign: int) -> None:
    """Add a breakpoint to a heap of `size` entries."""
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if not precedes(new, heap[parent], place, sign):
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = new


def pop(heap: Any, size: int, place: Any, sign: int) -> None:
    """Remove the top of a heap, of which `size` entries are left."""
    last, at = heap[size], 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and precedes(heap[child + 1], heap[child], place, sign):
            child += 1
        if not precedes(heap[child], last, place, sign):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = last

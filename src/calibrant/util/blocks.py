"""Process rows in blocks that fit into cache, on several threads; results do not depend on their number."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

BLOCK_ENTRIES = 1 << 17
# With less work than this, starting a thread costs more than it saves.
THREAD_ENTRIES = 1 << 18
# Beyond this many threads memory bandwidth is the bottleneck.
MAX_THREADS = 16
# Threads that process small blocks with NumPy spend most of their time waiting for the interpreter lock.
MAX_THREADS_OF_SMALL_BLOCKS = 2
LARGE_BLOCK = 1 << 18
# Fewer numbers are sorted faster with their indices than packed with them.
PACKED_ENTRIES = 1 << 11
# Size of an array after whose release the C library keeps smaller ones.
FREED_BYTES = 1 << 24
_chosen_cores: int | None = None


def rows_per_block(columns: int, entries: int = BLOCK_ENTRIES) -> int:
    """Return the number of rows of `columns` entries in one block."""
    return max(1, entries // max(1, columns))


def map_blocks(work: Callable[[int, int], T], rows: int, step: int, *, columns: int = 1) -> list[T]:
    """Call ``work(start, stop)`` for each block of `step` rows and return the results in row order."""
    if rows <= step:
        return [work(0, rows)] if rows else []
    spans = [(start, min(start + step, rows)) for start in range(0, rows, step)]
    most = MAX_THREADS if step * columns >= LARGE_BLOCK else MAX_THREADS_OF_SMALL_BLOCKS
    workers = min(len(spans), rows * columns // THREAD_ENTRIES, most)
    if workers > 1:
        workers = min(workers, cores())
    if workers < 2:
        return [work(start, stop) for start, stop in spans]
    from concurrent.futures import ThreadPoolExecutor

    # Threads of this call only: a persistent pool would not survive a fork.
    with ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(work, *span) for span in spans]
        try:
            return [result.result() for result in waiting]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def cores() -> int:
    """Return the number of cores that this process may use."""
    if _chosen_cores is not None:
        return _chosen_cores
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        return os.cpu_count() or 1


@contextmanager
def using_cores(count: int) -> Iterator[None]:
    """Work as if this process had so many cores."""
    global _chosen_cores
    before, _chosen_cores = _chosen_cores, count
    try:
        yield
    finally:
        _chosen_cores = before


def keep_freed_memory() -> None:
    """Let arrays of resamples reuse the memory of earlier ones.

    The C library of Linux returns freed arrays to the system unless a larger one, of up to 32 MB, was freed before; every new array then
    costs a page fault for each 4 KB of it. Freeing one that is never written to avoids them for the rest of the process.
    """
    import numpy as np

    np.empty(FREED_BYTES, np.uint8)


def sort_in_place(values: Any) -> None:
    """Sort an array in place, long ones in parts on several threads; a stable sort then merges the sorted runs in one pass."""
    parts = min(len(values) // THREAD_ENTRIES, cores(), 4)
    if parts < 2:
        values.sort()
        return
    map_blocks(lambda start, stop: values[start:stop].sort(), len(values), -(-len(values) // parts))
    values.sort(kind="stable")


def stable_order(values: Any) -> Any:
    """Return the indices that sort an array, equal numbers in the order of their indices; fast for numbers between 0 and 1.

    The bit patterns of these have the same order as the numbers and leave the top two bits free. With the index in the lowest bits, one
    sort of integers replaces an argsort and takes half of its time. Numbers that differ only in bits that the index took are sorted afterwards.
    """
    import numpy as np

    count = len(values)
    if count < PACKED_ENTRIES or values.dtype not in (np.float32, np.float64) or count >> 34:
        return np.argsort(values, kind="stable")
    bits = np.uint64((count - 1).bit_length())
    if values.dtype == np.float64:
        keys = np.abs(values).view(np.uint64)
        keys <<= np.uint64(2)
        keys >>= bits
        keys <<= bits
    else:
        keys = np.abs(values).view(np.uint32).astype(np.uint64)
        keys <<= np.uint64(34)
    keys |= np.arange(count, dtype=np.uint64)
    sort_in_place(keys)
    order = (keys & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.intp)
    ordered = values[order]
    falls = np.flatnonzero(ordered[1:] < ordered[:-1])
    if not len(falls):
        return order
    if len(falls) <= count >> 10:
        keys >>= bits
        starts, ends = np.searchsorted(keys, keys[falls]), np.searchsorted(keys, keys[falls], "right")
        for start, stop in sorted(set(zip(starts.tolist(), ends.tolist(), strict=True))):
            order[start:stop] = order[start:stop][np.argsort(ordered[start:stop], kind="stable")]
        ordered = values[order]
        if (ordered[1:] >= ordered[:-1]).all():
            return order
    return np.argsort(values, kind="stable")  # numbers that are negative or too close to each other

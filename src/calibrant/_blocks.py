"""Work over rows in blocks that stay in cache, on as many threads as the machine has; the result never depends on how many."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

__all__ = ["map_blocks", "rows_per_block"]

T = TypeVar("T")

BLOCK_ENTRIES = 1 << 16
# Below this many entries starting threads costs more than it saves.
THREAD_ENTRIES = 1 << 19


def rows_per_block(columns: int, entries: int = BLOCK_ENTRIES) -> int:
    """How many rows of `columns` entries make one block."""
    return max(1, entries // max(1, columns))


def map_blocks(work: Callable[[int, int], T], rows: int, step: int, *, columns: int = 1) -> list[T]:
    """Call ``work(start, stop)`` for each block of `step` rows and return the results in row order."""
    spans = [(start, min(start + step, rows)) for start in range(0, rows, step)]
    workers = min(len(spans), _cores())
    if workers < 2 or rows * columns < THREAD_ENTRIES:
        return [work(start, stop) for start, stop in spans]
    # Imported here: most calls are small, and the import costs more than they do.
    from concurrent.futures import ThreadPoolExecutor

    # Each thread takes a run of neighbouring blocks, so that a block costs a function call and not a task.
    share = -(-len(spans) // workers)
    runs = [spans[first : first + share] for first in range(0, len(spans), share)]
    with ThreadPoolExecutor(len(runs) - 1) as pool:
        waiting = [pool.submit(_run, work, run) for run in runs[1:]]
        results = _run(work, runs[0])
        for task in waiting:
            results.extend(task.result())
    return results


def _run(work: Callable[[int, int], T], spans: list[tuple[int, int]]) -> list[T]:
    return [work(start, stop) for start, stop in spans]


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        return os.cpu_count() or 1

"""Independent pieces of work in several processes, where the program that runs allows it; results do not depend on their number."""

from __future__ import annotations

import ctypes
import gc
import math
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from .blocks import cores, using_cores
from .progress import show_nothing, track

T = TypeVar("T")

# Each process needs memory for what it computes; what was computed before is shared.
MOST_PROCESSES = 2
# With fewer, starting a process takes longer than it saves.
FEWEST_ENTRIES = 3_000
# PR_SET_PDEATHSIG of Linux: a copy ends with the process that started it, however that ends.
END_WITH_PARENT = 1

_allowed = False
"""Whether `run_all` may start processes."""
_tasks: Sequence[Callable[[], Any]] = ()
"""The tasks of `run_all`, which a copy of the process calls by their number: functions inside of others cannot be sent."""


@contextmanager
def in_processes() -> Iterator[None]:
    """Allow `run_all` to start processes: for a program that is not embedded in another one, such as the command line."""
    global _allowed
    before, _allowed = _allowed, True
    try:
        yield
    finally:
        _allowed = before


def run_all(tasks: Sequence[Callable[[], T]], entries: float = math.inf) -> list[T]:
    """Call independent tasks and return their results in order; long tasks should come first.

    Inside `in_processes`, and if each task reads enough `entries`, the tasks are distributed over copies of this process (fork), each of which takes the
    next task when it is free. Warnings are given in the order of the tasks. What a copy could not do, or could not return, is done here.

    >>> run_all([lambda: 1, lambda: 2])
    [1, 2]
    """
    global _allowed
    processes = min(MOST_PROCESSES, len(tasks), cores()) if _allowed and entries >= FEWEST_ENTRIES else 1
    # A fork is not safe with the libraries of macOS, and Windows has none.
    if processes < 2 or sys.platform != "linux":
        return [task() for task in (track(tasks, "parts") if len(tasks) > 1 else tasks)]
    _allowed = False
    try:
        done = _distribute(tasks, processes)
    finally:
        _allowed = True
    for _, caught in done:
        for warning in caught:
            warnings.warn_explicit(*warning)
    return [result for result, _ in done]


def _distribute(tasks: Sequence[Callable[[], T]], processes: int) -> list[tuple[T, list[Any]]]:
    global _tasks
    import multiprocessing  # the commands that start no process need not wait for it
    from concurrent.futures import ProcessPoolExecutor

    _tasks = tasks
    share = cores() // processes
    others = set(multiprocessing.active_children())
    done = []
    with ProcessPoolExecutor(processes, multiprocessing.get_context("fork"), _start) as pool:
        try:
            with warnings.catch_warnings():
                # Python warns of forks with several threads; those of the database and of the progress bar are idle, and are not used in the copy.
                warnings.simplefilter("ignore", DeprecationWarning)
                waiting = [pool.submit(_call, number, share) for number in range(len(tasks))]
            for number, result in enumerate(track(waiting, "parts")):
                try:
                    done.append(result.result())
                except Exception:
                    done.append(_call(number, share))
        except BaseException:
            for process in set(multiprocessing.active_children()) - others:
                process.kill()
            raise
        finally:
            _tasks = ()
    return done


def _start() -> None:
    """Prepare a copy of this process."""
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.SIG_DFL)
    with suppress(Exception):
        ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGKILL)
    gc.freeze()  # collecting garbage would copy the memory that both processes share
    show_nothing()


def _call(number: int, share: int) -> tuple[Any, list[Any]]:
    """The result of a task in its share of the cores, and the warnings that it gave."""
    with warnings.catch_warnings(record=True) as caught, using_cores(share):
        result = _tasks[number]()
    return result, [(each.message, each.category, each.filename, each.lineno) for each in caught]

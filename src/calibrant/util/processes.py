"""Independent pieces of work in several processes, where the program that runs allows it; results do not depend on their number."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

from .blocks import cores
from .progress import loop, show_nothing, track

T = TypeVar("T")

# Each process needs memory for what it computes; what was computed before is shared.
MOST_PROCESSES = 2
# With fewer, starting a process takes longer than it saves.
FEWEST_ENTRIES = 5_000
# PR_SET_PDEATHSIG of Linux: a copy ends with the process that started it, however that ends.
END_WITH_PARENT = 1
# Bytes of the number of a task; all numbers fit into the buffer of a pipe.
WIDTH = 2

_allowed: ContextVar[bool] = ContextVar("processes", default=False)


class Waiting:
    """Tasks that the next `run_all` does after its own, and their results or errors once they are done."""

    def __init__(self, tasks: Sequence[Callable[[], Any]]) -> None:
        self.tasks = [partial(_try, task) for task in tasks]
        self.done: list[tuple[Any, Exception | None]] | None = None


_waiting: ContextVar[Waiting | None] = ContextVar("waiting", default=None)


@contextmanager
def beside(tasks: Sequence[Callable[[], Any]], entries: float = math.inf) -> Iterator[Callable[[], list[Any]]]:
    """Let the first `run_all` inside do these tasks after its own, so that no process waits for the others.

    Yields a function that returns the results, to be called afterwards; it does the tasks that no process has done.

    >>> with beside([lambda: 1, lambda: 2]) as results:
    ...     run_all([lambda: 3])
    [3]
    >>> results()
    [1, 2]
    """
    waiting = Waiting(tasks)

    def results() -> list[Any]:
        done = run_all(waiting.tasks, entries) if waiting.done is None else waiting.done
        for _, error in done:
            if error is not None:
                raise error
        return [result for result, _ in done]

    token = _waiting.set(waiting)
    try:
        yield results
    finally:
        _waiting.reset(token)


def _try(task: Callable[[], T]) -> tuple[T | None, Exception | None]:
    """The result of a task, or its error, which does not concern the other tasks."""
    try:
        return task(), None
    except Exception as error:
        return None, error


@contextmanager
def in_processes() -> Iterator[None]:
    """Allow `run_all` to start processes: for a program that is not embedded in another one, such as the command line."""
    token = _allowed.set(True)
    try:
        yield
    finally:
        _allowed.reset(token)


def run_all(tasks: Sequence[Callable[[], T]], entries: float = math.inf) -> list[T]:
    """Call independent tasks and return their results in order; long tasks should come first.

    Inside `in_processes`, and if each task reads enough `entries`, the tasks are distributed over copies of this process (fork), each of which takes the
    next task when it is free. Warnings are given in the order of the tasks. What a copy could not do, or could not return, is done here.

    >>> run_all([lambda: 1, lambda: 2])
    [1, 2]
    """
    allowed, waiting = _allowed.get(), _waiting.get()
    others = [] if waiting is None or waiting.done is not None else waiting.tasks
    every: list[Callable[[], Any]] = [*tasks, *others]
    processes = min(MOST_PROCESSES, len(every), cores()) if allowed and entries >= FEWEST_ENTRIES else 1
    # A fork is not safe with the libraries of macOS, and Windows has none.
    if processes < 2 or sys.platform != "linux":
        return [task() for task in (track(tasks, "parts") if len(tasks) > 1 else tasks)]
    token = _allowed.set(False)
    try:
        results: list[Any] = _distribute(every, processes)
    finally:
        _allowed.reset(token)
    if waiting is not None and others:
        waiting.done = results[len(tasks) :]
    return results[: len(tasks)]


def _distribute(tasks: Sequence[Callable[[], T]], processes: int) -> list[T]:
    # Each process reads the number of its next task from the same pipe.
    waiting, tickets = os.pipe()
    os.write(tickets, b"".join(number.to_bytes(WIDTH, "big") for number in range(len(tasks))))
    os.close(tickets)
    children: list[tuple[int, int]] = []
    done: dict[int, tuple[T, list[Any]]] = {}
    try:
        for _ in range(processes - 1):
            children.append(_start(tasks, waiting, [results for _, results in children]))
        with loop("parts", len(tasks)) as update:
            for number in _task_numbers(waiting):
                update(number)  # those before it are done, or are being done by another process
                done[number] = _with_warnings(tasks[number])
        for _, results in children:
            with open(results, "rb", closefd=False) as stream:
                content = stream.read()
            if content:
                done.update(pickle.loads(content))  # noqa: S301 (written by our own copy)
        for number in set(range(len(tasks))) - set(done):
            done[number] = _with_warnings(tasks[number])
    finally:
        os.close(waiting)
        for process, results in children:
            os.close(results)
            os.kill(process, signal.SIGKILL)  # it has ended already, unless this process is interrupted
            os.waitpid(process, 0)
    for number in range(len(tasks)):
        for warning in done[number][1]:
            warnings.warn_explicit(*warning)
    return [done[number][0] for number in range(len(tasks))]


def _task_numbers(waiting: int) -> Iterator[int]:
    while taken := os.read(waiting, WIDTH):
        yield int.from_bytes(taken, "big")


def _start(tasks: Sequence[Callable[[], T]], waiting: int, others: list[int]) -> tuple[int, int]:
    """Start a copy of this process; return its number and the end of the pipe with its results."""
    results, out = os.pipe()
    with warnings.catch_warnings():
        # Python warns of forks with several threads; those of the database and of the progress bar are idle, and are not used in the copy.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process:
        os.close(out)
        return process, results
    try:
        for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(ending, signal.SIG_DFL)
        with suppress(Exception):
            ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGKILL)
        gc.freeze()  # collecting garbage would copy the memory that both processes share
        for other in (results, *others):
            os.close(other)
        done: dict[int, Any] = {}
        with suppress(BaseException):  # the process that waits does the task again, and raises
            show_nothing()
            for number in _task_numbers(waiting):
                done[number] = _with_warnings(tasks[number])
        content = pickle.dumps(done, protocol=pickle.HIGHEST_PROTOCOL)
        with open(out, "wb") as stream:
            stream.write(content)
    finally:
        os._exit(0)  # nothing of the copied process is closed or printed twice


def _with_warnings(task: Callable[[], T]) -> tuple[T, list[Any]]:
    """The result of a task, and the warnings that it gave."""
    with warnings.catch_warnings(record=True) as caught:
        result = task()
    return result, [(each.message, each.category, each.filename, each.lineno) for each in caught]

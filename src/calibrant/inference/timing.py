"""The time that resampling takes: its progress, announcements of long computations, and a time limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from time import perf_counter, process_time
from typing import Any

from ..errors import LONG, ROUGHLY, Remedy, announce, one_call
from ..util import kernels

__all__ = [
    "FEWER",
    "SOON",
    "OutOfTimeError",
    "Pace",
    "announce_resamples",
    "progress",
    "reported",
    "together",
    "within",
]

# Number of resamples, or seconds of them, after which the total time is extrapolated.
ENOUGH, SOON = 10, 1.0
FEWER = "use fewer", "use a random sample of the rows"

Report = Callable[[int, int], None]

progress: ContextVar[Report | None] = ContextVar("progress", default=None)
"""Callback with the numbers of finished and of all resamples; None without one."""


class Pace:
    """Extrapolates the time of the resamples that remain from that of the first ones."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock, self.began, self.first, self.loaded = clock, 0.0, 1, 0

    def remaining(self, done: int, count: int) -> float:
        """Seconds; 0 before there are enough resamples.

        The first one, which prepares what all use, does not count, nor one that loads compiled loops and those before it.
        """
        loaded = len(kernels.loaded)
        if done == 1 or loaded != self.loaded:
            self.began, self.first, self.loaded = self.clock(), done, loaded
        taken, timed = self.clock() - self.began, done - self.first
        return taken / timed * (count - done) if timed >= ENOUGH or (timed and taken > SOON) else 0.0


def _announcing(argument: str = "n_resamples", remedy: Remedy = FEWER, what: str = "resamples") -> Report:
    """Report of resamples that nobody else watches: it warns if many seconds remain; `argument` sets their number."""
    # Other processes on the machine lengthen the one, several threads the other.
    wall, cpu = Pace(perf_counter), Pace(process_time)
    announced = False

    def tell(done: int, count: int) -> None:
        nonlocal announced
        if announced:
            return
        seconds = wall.remaining(done, count)
        if done == 1 or seconds > LONG:  # reading the processor's clock takes longer
            seconds = min(seconds, cpu.remaining(done, count))
        if seconds > LONG:
            announced = True
            announce(argument, f"the remaining {count - done:,} {what}", seconds, remedy)

    return tell


class _Together:
    """Resamples that are evaluated in several parts."""

    def __init__(self, count: int, report: Report) -> None:
        self.count, self.done, self.report = count, 0, report

    def __call__(self, done: int, count: int) -> None:
        self.done = min(self.done + 1, self.count)
        self.report(self.done, self.count)


_together: ContextVar[_Together | None] = ContextVar("together", default=None)


@contextmanager
def together(
    count: int, argument: str = "n_resamples", remedy: Remedy = FEWER, what: str = "resamples"
) -> Iterator[None]:
    """Take the resamples of all calls of `many` inside for parts of `count` resamples, whose pace includes what lies between the calls."""
    token = _together.set(_Together(count, progress.get() or _announcing(argument, remedy, what)))
    try:
        yield
    finally:
        _together.reset(token)


def reported(results: Iterable[Any], count: int) -> Iterator[Any]:
    """Yield the results, and report each to whoever watches."""
    report = _together.get() or progress.get() or _announcing()
    token = _together.set(None)  # a resample may resample itself
    try:
        for done, result in enumerate(results, 1):
            yield result
            report(done, count)
    finally:
        _together.reset(token)


def announce_resamples(
    what: str, each: float, count: int, argument: str = "n_resamples", remedy: Remedy = FEWER
) -> None:
    """Warn before resamples that certainly take long, if a single one takes so long that their pace would be known too late.

    Parameters
    ----------
    what : str
        What is resampled, such as a metric.
    each : float
        Expected seconds of a resample.
    count : int
        Number of resamples.
    argument : str, default "n_resamples"
        The argument that sets their number.
    remedy : str, Use, Drop, InPython, or tuple of these
        What takes less time.
    """
    if each > SOON and each * count > ROUGHLY * LONG:
        announce(argument, f"{count:,} resamples of {what}", each * count, remedy)


class OutOfTimeError(Exception):
    """The resamples would not be finished in time; caught by the function that set the limit."""


@contextmanager
def within(deadline: float) -> Iterator[None]:
    """Stop resampling as soon as it is clear that it will not be finished by `deadline`, a time of `perf_counter`; nothing is announced.

    >>> from calibrant.inference.resampling import many
    >>> with within(perf_counter() + 60):
    ...     many(abs, 3)
    [0, 1, 2]
    """
    outer = progress.get()
    pace = Pace(perf_counter)

    def tell(done: int, count: int) -> None:
        if outer is not None:
            outer(done, count)
        remaining = pace.remaining(done, count)
        if done < count and perf_counter() + remaining > deadline:
            raise OutOfTimeError

    token = progress.set(tell)
    try:
        with one_call(inf):
            yield
    finally:
        progress.reset(token)

"""A time limit for resampling."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from .resampling import Pace, progress

__all__ = ["OutOfTimeError", "within"]


class OutOfTimeError(Exception):
    """The resamples would not be finished in time; caught by the function that set the limit."""


@contextmanager
def within(deadline: float) -> Iterator[None]:
    """Stop resampling as soon as it is clear that it will not be finished by `deadline`, a time of `perf_counter`.

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
        yield
    finally:
        progress.reset(token)

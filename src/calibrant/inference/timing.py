"""A time limit for resampling."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from .resampling import progress

__all__ = ["OutOfTimeError", "within"]

# Number of resamples after which the total time is extrapolated.
ENOUGH = 10


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
    began = perf_counter()

    def tell(done: int, count: int) -> None:
        nonlocal began
        if outer is not None:
            outer(done, count)
        now = perf_counter()
        if done == 1:  # a new series of resamples; earlier work and the first preparations do not count
            began = now
        pace = (now - began) / (done - 1) if done > ENOUGH else 0.0
        if done < count and now + pace * (count - done) > deadline:
            raise OutOfTimeError

    token = progress.set(tell)
    try:
        yield
    finally:
        progress.reset(token)

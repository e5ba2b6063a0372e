"""A limit on the time that draws may take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from .resampling import progress

__all__ = ["OutOfTimeError", "within"]

# After so many draws it is clear how long all of them take.
ENOUGH = 10


class OutOfTimeError(Exception):
    """The draws would not be done in time; whoever set the limit catches it."""


@contextmanager
def within(deadline: float) -> Iterator[None]:
    """Stop drawing as soon as it shows that the draws will not be done by `deadline`, a time of `perf_counter`.

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
        if (
            done == 1
        ):  # a new round of draws; what came before it, and the first one's preparations, say nothing about its pace
            began = now
        pace = (now - began) / (done - 1) if done > ENOUGH else 0.0
        if done < count and now + pace * (count - done) > deadline:
            raise OutOfTimeError

    token = progress.set(tell)
    try:
        yield
    finally:
        progress.reset(token)

"""Draws stop as soon as it shows that they will not be done in time."""

from __future__ import annotations

from time import perf_counter, sleep

import pytest

from calibrant.inference.draws import many, progress
from calibrant.inference.timing import OutOfTimeError, within


def test_draws_stop_long_before_the_time_is_up() -> None:
    done: list[int] = []

    def draw(number: int) -> None:
        done.append(number)
        sleep(0.002)

    began = perf_counter()
    with pytest.raises(OutOfTimeError), within(perf_counter() + 2):
        many(draw, 100_000)
    assert perf_counter() - began < 1
    assert 10 <= len(done) < 100


def test_draws_that_take_too_long_stop_at_the_first() -> None:
    done: list[int] = []
    with pytest.raises(OutOfTimeError), within(perf_counter() - 1):
        many(done.append, 5)
    assert done == [0]


def test_draws_that_are_in_time_are_all_there() -> None:
    with within(perf_counter() + 600):
        assert many(abs, 50) == list(range(50))
        sleep(0.01)  # what lies between two rounds is not taken for their pace
        assert many(abs, 50) == list(range(50))


def test_the_last_draw_is_kept_though_it_is_late() -> None:
    with within(perf_counter() - 1):
        assert many(abs, 1) == [0]


def test_whoever_wanted_to_know_is_still_told() -> None:
    told: list[tuple[int, int]] = []
    token = progress.set(lambda done, count: told.append((done, count)))
    try:
        with within(perf_counter() + 600):
            many(abs, 3)
        many(abs, 1)
    finally:
        progress.reset(token)
    assert told == [(1, 3), (2, 3), (3, 3), (1, 1)]
    assert progress.get() is None

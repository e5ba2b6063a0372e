"""Draws stop as soon as it shows that they will not be done in time."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import calibrant as cal
from calibrant.inference import timing
from calibrant.inference.resampling import many, progress
from calibrant.inference.timing import OutOfTimeError, announce_resamples, together, within


class Clock:
    """A clock that advances on request, so that the speed of the machine has no influence."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(timing, "perf_counter", made)
    return made


def test_draws_stop_long_before_the_time_is_up(clock: Clock) -> None:
    done: list[int] = []

    def draw(number: int) -> None:
        done.append(number)
        clock.now += 0.002

    with pytest.raises(OutOfTimeError), within(clock() + 2):
        many(draw, 100_000)
    assert 10 <= len(done) < 100


def test_draws_that_take_too_long_stop_at_the_first(clock: Clock) -> None:
    done: list[int] = []
    with pytest.raises(OutOfTimeError), within(clock() - 1):
        many(done.append, 5)
    assert done == [0]


def test_draws_that_are_in_time_are_all_there(clock: Clock) -> None:
    def draw(number: int) -> int:
        clock.now += 0.001
        return number

    with within(clock() + 1.2):
        assert many(draw, 50) == list(range(50))
        clock.now += 1  # what lies between two rounds is not taken for their pace
        assert many(draw, 50) == list(range(50))


def test_the_last_draw_is_kept_though_it_is_late(clock: Clock) -> None:
    with within(clock() - 1):
        assert many(abs, 1) == [0]


@pytest.mark.usefixtures("clock")
def test_whoever_wanted_to_know_is_still_told() -> None:
    told: list[tuple[int, int]] = []
    token = progress.set(lambda done, count: told.append((done, count)))
    try:
        with within(timing.perf_counter() + 600):
            many(abs, 3)
        many(abs, 1)
    finally:
        progress.reset(token)
    assert told == [(1, 3), (2, 3), (3, 3), (1, 1)]
    assert progress.get() is None


def test_long_resampling_is_announced_once_and_only_where_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    for each, wall, text in (
        (
            0.2,
            0.2,
            "n_resamples: the remaining 94 resamples will take about 19 s; use fewer or use a random sample of the rows",
        ),
        (0.15, 0.15, "the remaining 92 resamples will take about 14 s"),
        (0.1, 1.0, ""),  # another process delays this one
        (1.0, 0.1, ""),  # ten threads
        (100.0, 100.0, "the remaining 98 resamples will take about 3 h"),
    ):
        cpu = Clock()

        def work(number: int, cpu: Clock = cpu, each: float = each) -> int:
            cpu.now += each
            return number

        monkeypatch.setattr(timing, "process_time", cpu)
        monkeypatch.setattr(timing, "perf_counter", lambda cpu=cpu, ratio=wall / each: cpu.now * ratio)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert many(work, 100) == list(range(100))
            token = progress.set(lambda done, count: None)
            try:
                many(work, 100)
            finally:
                progress.reset(token)
        said = [str(warning.message) for warning in caught]
        assert len(said) == bool(text), said
        assert all(text in each_text for each_text in said)
        assert all(warning.category is cal.LongComputationWarning for warning in caught)


def said(call: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in caught if each.category is cal.LongComputationWarning]


@pytest.fixture
def both(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(timing, "process_time", clock)
    return clock


def test_the_pace_of_parts_includes_what_lies_between_them(both: Clock) -> None:
    def in_parts() -> None:
        with together(1000, "repeats", "use another", "data sets"):
            for _ in range(10):
                many(abs, 100)  # labels are drawn in no time,
                both.now += 2  # and evaluated together

    assert said(in_parts) == ["repeats: the remaining 899 data sets will take about 18 s; use another"]
    told: list[tuple[int, int]] = []
    token = progress.set(lambda done, count: told.append((done, count)))
    try:
        assert not said(in_parts)
    finally:
        progress.reset(token)
    assert told[0] == (1, 1000)
    assert told[-1] == (1000, 1000)


def test_parts_stop_in_time_too(both: Clock) -> None:
    def in_parts() -> None:
        for _ in range(3):
            many(abs, 100)
            both.now += 9

    with pytest.raises(OutOfTimeError), within(both() + 10), together(300):
        in_parts()


def test_resampling_inside_a_resample_is_not_a_part(both: Clock) -> None:
    told: list[tuple[int, int]] = []
    token = progress.set(lambda done, count: told.append((done, count)))
    try:
        with together(2):
            many(lambda number: many(abs, 3), 2)
    finally:
        progress.reset(token)
    assert told == [(1, 3), (2, 3), (3, 3), (1, 2), (1, 3), (2, 3), (3, 3), (2, 2)]


def test_slow_resamples_are_announced_before_the_first() -> None:
    assert said(lambda: announce_resamples("x", 5.0, 200)) == [
        "n_resamples: 200 resamples of x will take about 17 min; use fewer or use a random sample of the rows"
    ]
    assert not said(lambda: announce_resamples("x", 0.9, 200))  # the first of them show it soon
    assert not said(lambda: announce_resamples("x", 2.9, 10))  # an estimate may be three times too high


@pytest.mark.usefixtures("clock")
def test_nothing_is_announced_within_a_time_limit() -> None:
    with within(timing.perf_counter() + 600):
        assert not said(lambda: announce_resamples("x", 5.0, 200))

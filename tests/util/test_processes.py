"""Tasks in several processes: the same results, warnings and errors as one after the other, and no process is left."""

import os
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.util import processes
from calibrant.util.processes import in_processes, run_all

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are started on Linux only")


@pytest.fixture(autouse=True)
def three_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "cores", lambda: 3)
    monkeypatch.setattr(processes, "MOST_PROCESSES", 3)


def children() -> set[str]:
    """The processes started by this one, among them a server of other tests."""
    found: set[str] = set()
    for thread in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has ended since
            found |= set((thread / "children").read_text(encoding="ascii").split())
    return found


def test_results_and_warnings_are_in_the_order_of_the_tasks() -> None:
    def task(number: int) -> tuple[int, int]:
        warnings.warn(f"task {number}", stacklevel=1)
        return number, os.getpid()

    tasks: list[Callable[[], Any]] = [lambda number=number: task(number) for number in range(40)]
    before = children()
    with warnings.catch_warnings(record=True) as caught, in_processes():
        warnings.simplefilter("always")
        found = run_all(tasks)
    assert [number for number, _ in found] == list(range(40))
    assert [str(one.message) for one in caught] == [f"task {number}" for number in range(40)]
    assert children() == before  # all have ended and been waited for


def test_processes_are_started_only_where_they_are_allowed_and_not_inside_each_other() -> None:
    here = os.getpid()
    assert set(run_all([os.getpid] * 4)) == {here}
    with in_processes():
        assert set(run_all([os.getpid] * 4, entries=10)) == {here}
        for inside, outside in run_all([lambda: (set(run_all([os.getpid] * 3)), os.getpid())] * 3):
            assert inside == {outside}
    assert set(run_all([os.getpid] * 4)) == {here}


def test_what_a_process_cannot_do_or_return_is_done_here() -> None:
    here = os.getpid()

    def killed() -> int:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return 1

    def unsendable() -> Callable[[], int]:
        return lambda: 2

    with in_processes():
        assert run_all([killed] * 6) == [1] * 6
        assert [found() for found in run_all([unsendable] * 6)] == [2] * 6


@pytest.mark.parametrize("error", [cal.errors.ArgumentError("bins", "is wrong"), KeyboardInterrupt()])
def test_errors_are_raised_and_no_process_is_left(error: BaseException) -> None:
    def fails() -> None:
        raise error

    before = children()
    with in_processes(), pytest.raises(type(error)):
        run_all([fails] * 5)
    assert children() == before


def test_evaluation_and_recalibration_do_not_depend_on_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "FEWEST_ENTRIES", 0)
    rng = np.random.default_rng(0)
    p = cal.Predictions(rng.integers(0, 3, 60), rng.dirichlet(np.ones(3), 60))
    given: dict[str, Any] = {"level": 0.9, "assess": True, "n_resamples": 100}
    for work in (lambda: cal.evaluate(p, **given), lambda: cal.recalibrate(p, folds=3)):
        alone = work()
        with in_processes():
            together = work()
        assert together.to_dict() == alone.to_dict()

"""Progress of long loops: one bar on a terminal or in a notebook, shown once they have run for two seconds; silent elsewhere.

Loops inside a loop move its bar by parts of a pass. Only the main thread of the process that was started by the user shows anything.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from operator import length_hint
from threading import RLock, Timer, current_thread, main_thread
from typing import Any, TypeVar

T = TypeVar("T")

DELAY = 2.0
"""Seconds after which a bar is shown, and returns after something else was printed."""


class _Loop:
    """A loop that runs: its title, and the numbers of finished and of all passes; 0 if it is not known how many there are."""

    def __init__(self, title: str, total: int) -> None:
        self.title, self.total, self.done, self.fraction = title, total, 0, 0.0


class _Display:
    """The bar of the loops that run, the outermost first."""

    def __init__(self) -> None:
        self.loops: list[_Loop] = []
        self.is_on = True
        self.bar: Any = None
        self.timer: Timer | None = None
        self.lock = RLock()  # the timer has a thread of its own

    def is_watched(self) -> bool:
        """Whether somebody sees a bar of this thread."""
        if not self.is_on or current_thread() is not main_thread():
            return False
        if os.environ.get("CALIBRANT_PROGRESS") == "0" or os.environ.get("CI"):
            return False
        if "ipykernel" in sys.modules:
            return find_spec("ipywidgets") is not None
        return sys.stderr is not None and sys.stderr.isatty()

    def wait(self) -> None:
        """Show the bar after some seconds."""
        self.timer = Timer(DELAY, self.show)
        self.timer.daemon = True
        self.timer.start()

    def show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        with self.lock:
            if self.bar is not None or not self.loops:
                return
            # Standard output may be a file, so that rich must not redirect it to the terminal.
            columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
            self.bar = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)
            self.bar.add_task("", total=None)
            self.update()
            self.bar.start()

    def update(self) -> None:
        """Let the bar show where the loops are."""
        with self.lock:
            if self.bar is None or not self.loops:
                return
            task, counted = self.bar.tasks[0], [each for each in self.loops if each.total]
            outer = counted[0] if counted else self.loops[-1]
            part = 0.0
            for each in reversed(counted):
                part = min((each.done + part) / each.total, 1.0)
            # It does not return where a pass has several loops one after the other.
            outer.fraction = max(outer.fraction, part)
            count = f"{outer.done:,}/{outer.total:,} " if outer.total else f"{outer.done:,} " if outer.done else ""
            task.description = count + outer.title
            task.total, task.completed = (1.0 if counted else None), outer.fraction

    def stop(self) -> None:
        with self.lock:
            if self.timer is not None:
                self.timer.cancel()
            if self.bar is not None:
                self.bar.stop()
            self.timer = self.bar = None


_display = _Display()


@contextmanager
def loop(title: str, total: int = 0) -> Iterator[Callable[[int], None]]:
    """Show the progress of a loop inside, if somebody watches.

    Parameters
    ----------
    title : str
        What is counted, such as ``"resamples"``.
    total : int, default 0
        Number of passes; where it is not known, the bar shows that something happens.

    Yields
    ------
    callable
        Function of the number of finished passes, to be called after each.

    Examples
    --------
    >>> with loop("files", 2) as done:
    ...     done(1)
    """
    if not _display.is_watched():
        yield lambda done: None
        return
    this = _Loop(title, total)

    def update(done: int) -> None:
        this.done = done
        if _display.is_on:  # a copy of the process shows nothing
            _display.update()

    _display.loops.append(this)
    if len(_display.loops) == 1:
        _display.wait()
    _display.update()
    try:
        yield update
    finally:
        _display.loops.remove(this)
        if not _display.loops:
            _display.stop()


def track(items: Iterable[T], title: str, total: int = 0) -> Iterator[T]:
    """Yield the items and show the progress; `total` is their number, where they do not know it.

    >>> list(track("ab", "letters"))
    ['a', 'b']
    """
    with loop(title, total or length_hint(items)) as update:
        for done, item in enumerate(items, 1):
            yield item
            update(done)


def show_nothing() -> None:
    """Show no bars from now on: for a copy of the process, whose threads were not copied."""
    _display.is_on = False


def hide() -> None:
    """Remove the bar before something is printed."""
    if _display.bar is not None and _display.is_on:
        _display.stop()
        _display.wait()


@contextmanager
def allow_bars(on: bool) -> Iterator[None]:
    """Show no bars of loops inside unless `on`; of a thread other than the main one, none are shown anyway."""
    if on or current_thread() is not main_thread():
        yield
        return
    before, _display.is_on = _display.is_on, False
    try:
        yield
    finally:
        _display.is_on = before

"""A command that shows nothing for a while says on a terminal that it is working."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable

import pytest

from calibrant.cli import screen


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def wait_for(there: Callable[[], bool]) -> bool:
    end = time.monotonic() + 20
    while not there() and time.monotonic() < end:
        time.sleep(0.005)
    return there()


def test_seconds_are_counted_in_silence_and_removed_before_output(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(screen, "SILENCE", 0.02)
    monkeypatch.setattr(screen, "TICK", 0.005)
    with screen.counting_seconds():
        assert wait_for(lambda: "working, 0 s" in terminal.getvalue())
        screen.say("note", err=True)
        # Removed before the line, which stands alone.
        assert "\rworking, 0 s\r            \rnote\n" in terminal.getvalue()
        assert wait_for(lambda: terminal.getvalue().count("working") == 2)  # it comes back after further silence
        screen.hide_seconds(bar=True)
        shown = terminal.getvalue()
        time.sleep(0.1)
        screen.hide_seconds()  # output beside a bar does not end it
        time.sleep(0.1)
        assert terminal.getvalue() == shown
        screen.hide_seconds(bar=False)
        assert wait_for(lambda: terminal.getvalue().count("working") == 3)
    assert terminal.getvalue().endswith("\r            \r")


def test_nothing_is_counted_in_pipes_and_files(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    monkeypatch.setattr(screen, "SILENCE", 0.0)
    monkeypatch.setattr(screen, "TICK", 0.001)
    with screen.counting_seconds():
        time.sleep(0.05)
    assert pipe.getvalue() == ""

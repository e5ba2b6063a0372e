"""A process, or a database, that ends while it writes: at a chosen number of bytes, or at a chosen step, never after a chosen time."""

import itertools
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from calibrant.monitoring.databases import Sqlite

__all__ = ["each_connection", "kill_while_writing", "stopped_after"]

# Steps of a write that the interpreter reports: files opened, renamed, removed, their rights changed.
STEPS = 12
DIE = """
import os, resource, signal, sys

def die_after_bytes(count):
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it, and the kernel then ends the process at that byte
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, count))

def die_after_steps(count):
    def hook(event, arguments):
        nonlocal count
        if event == "open" or (event.startswith("os.") and event != "os.kill"):
            count -= 1
            if count <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
"""


def kill_while_writing(setup: str, write: str, path: str, size: int, seed: int) -> None:
    """Run a program that writes a file again and again, and end it within one of the writes.

    Parameters
    ----------
    setup, write
        Python that prepares, and that writes to ``path`` for the time ``turn``.
    path
        The file.
    size
        Its bytes; the kill falls after fewer of them, or at one of the steps around.
    seed
        Of the choice.
    """
    rng = np.random.default_rng(seed)
    turn, how = int(rng.integers(3)), "steps" if rng.random() < 0.5 else "bytes"
    count = int(rng.integers(1, STEPS if how == "steps" else size))
    program = f"""
import itertools, sys
path = sys.argv[1]
{DIE}
{setup}
for turn in itertools.count():
    if turn == {turn}:
        die_after_{how}({count})
    {write}
"""
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, check=False)
    assert done.returncode == -(signal.SIGKILL if how == "steps" else signal.SIGXFSZ), done.stderr


@contextmanager
def each_connection(do: Callable[[sqlite3.Connection], object]) -> Iterator[None]:
    """Every connection to the store of a monitor goes through a function when it is made."""
    plain = Sqlite.configure

    def configure(self: Sqlite, connection: sqlite3.Connection) -> None:
        plain(self, connection)
        do(connection)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sqlite, "configure", configure)
        yield


def stopped_after(count: int, steps: int) -> Callable[[sqlite3.Connection], object]:
    """For `each_connection`: the database stops after so many times so many of its steps."""
    left = itertools.count(count - 1, -1)
    return lambda connection: connection.set_progress_handler(lambda: int(next(left) == 0), steps)

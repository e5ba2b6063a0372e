"""Temporary files, which end with their process: it removes them at its end, and the next process those of one that was killed."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from secrets import token_hex

from ..errors import FileError

if sys.platform != "win32":
    import fcntl

# The folder of this process in each folder for temporary files that it has used.
_folders: dict[str, Path] = {}


def process_folder() -> Path:
    """Return the folder of this process for all its temporary files, which only its user can read."""
    try:
        place = tempfile.gettempdir()
        if not (place in _folders and _folders[place].exists()):
            remove_leftovers(Path(place), "calibrant-[0-9]*-*")
            folder = Path(place, f"calibrant-{os.getpid()}-{token_hex(4)}")
            process = os.getpid()

            def remove() -> None:
                if os.getpid() == process:  # a copy of the process uses the same folder
                    shutil.rmtree(folder, ignore_errors=True)

            atexit.register(remove)  # before the folder exists, so that no signal comes between
            claim(folder, lambda path: os.mkdir(path, 0o700))
            _folders[place] = folder
    except OSError as error:
        named = os.environ.get("TMPDIR", "the temporary folder")
        problem = f"cannot be written ({error.strerror or error})"
        raise FileError(named, problem, "set TMPDIR to another folder") from error
    return _folders[place]


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a new folder within that of this process, removed at the end of its ``with`` statement."""
    return tempfile.TemporaryDirectory(dir=process_folder())


def claim(path: Path, make: Callable[[Path], None]) -> Callable[[], None]:
    """Make a file or folder that is locked until this process and its copies end; return a function that releases it before.

    A lock tells in containers and on other machines, too, whether the process still runs; its number does not.
    """
    make(path)
    if sys.platform == "win32":  # has no such locks: leftovers stay
        return lambda: None
    handle = os.open(path, os.O_RDONLY)
    with suppress(OSError):  # not every file system has locks
        fcntl.flock(handle, fcntl.LOCK_EX)
    if os.path.exists(path):
        return partial(os.close, handle)
    os.close(handle)  # before it was locked, another process removed it as a leftover
    return claim(path, make)


def remove_leftovers(place: Path, pattern: str) -> None:
    """Remove files and folders that no process has claimed any more."""
    if sys.platform == "win32":
        return
    for path in place.glob(pattern):
        with suppress(OSError):  # in use, or of another user
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                if os.fstat(handle).st_uid == os.getuid():
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            finally:
                os.close(handle)

"""File access: atomic writes, reads with size limits, and the user's cache."""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO

from ..errors import FileError
from .temporary import claim, remove_leftovers

# The share of the memory of queries that an archive may unpack to; a small one can expand to a thousand times its size.
UNPACKED_SHARE = 0.5


def write_atomic(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write a file atomically: a crash leaves the old file or the new one, never a part."""
    with atomic_file(path) as stream:
        stream.write(content)
    return Path(path)


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its place at the end; an error leaves the old one."""
    target = _target_of(path)
    try:
        remove_leftovers(target.parent, ".calibrant-[0-9]*-*")
        new = target.parent / f".calibrant-{os.getpid()}-{token_hex(4)}"
        try:
            release = claim(new, lambda path: path.touch(0o600, exist_ok=False))
            try:
                with open(new, "wb") as stream:
                    yield stream
                    stream.flush()
                    os.fsync(stream.fileno())
                umask = os.umask(0)
                os.umask(umask)
                os.chmod(new, target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~umask)
                os.replace(new, target)
            finally:
                release()
        except BaseException:
            new.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)
    except FileError:
        raise
    except FileNotFoundError as error:
        raise FileError(
            str(path), "cannot be written (its folder does not exist)", "create the folder first"
        ) from error
    except OSError as error:
        raise FileError(str(path), f"cannot be written ({error.strerror or error})", "choose another place") from error


def _target_of(path: str | os.PathLike[str]) -> Path:
    """The file that a path names, through links; raise if it exists and is not a file that the user may write."""
    target = Path(os.path.realpath(path))
    problem = ""
    if target.is_dir():
        problem = "it is a folder"
    elif target.exists() and not target.is_file():
        problem = "it is not a regular file"
    elif target.exists() and not os.access(target, os.W_OK):
        problem = "it is write-protected"
    if problem:
        raise FileError(str(path), f"cannot be written ({problem})", "name another file")
    return target


def check_writable(path: str | os.PathLike[str], *, folder: bool = False) -> None:
    """Raise if a file cannot be written, before the work whose result it will hold.

    Parameters
    ----------
    path
        The file; it may exist, and then is replaced.
    folder
        Whether `path` is a folder instead, which is made with those above it where it does not exist.
    """
    try:
        place = Path(path) if folder else _target_of(path).parent
        while folder and not place.exists() and place != place.parent:
            place = place.parent
        if not place.exists():
            raise FileError(str(path), "cannot be written (its folder does not exist)", "create the folder first")
        if not place.is_dir():
            raise FileError(str(path), f"cannot be written ({place} is not a folder)", "choose another place")
        with tempfile.TemporaryFile(dir=place, prefix=".calibrant-"):  # permissions alone are not sufficient
            pass
    except FileError:
        raise
    except OSError as error:
        raise FileError(str(path), f"cannot be written ({error.strerror or error})", "choose another place") from error


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Return a folder, created with its parents if necessary."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"the folder cannot be created ({error.strerror or error})"
        raise FileError(str(path), problem, "choose another place") from error
    return folder


def _sync_folder(folder: Path) -> None:
    if not hasattr(os, "O_DIRECTORY"):  # Windows has no handle on a folder
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_limited(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """Read the bytes of a file through one handle, at most `max_bytes`."""
    try:
        with open(path, "rb") as stream:
            content = stream.read(max_bytes + 1)
    except OSError as error:
        raise FileError(str(path), f"cannot be read ({error.strerror or error})", "check the path") from error
    if len(content) > max_bytes:
        raise FileError(str(path), f"is larger than {max_bytes:,} bytes")
    return content


def read_start(path: str | os.PathLike[str], size: int) -> bytes:
    """Read the first bytes of a file; empty if it cannot be read."""
    try:
        with open(path, "rb") as stream:
            return stream.read(size)
    except OSError:
        return b""


def read_npz(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the arrays of an ``.npz`` file; no code is executed, and no more is unpacked than memory can hold."""
    import numpy as np

    try:
        check_unpacked(path)
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        for name, array in arrays.items():
            if not isinstance(array, np.ndarray):  # NumPy returns the raw bytes of other members
                raise ValueError(f"{name!r} is not an array")
        return arrays
    except (zipfile.BadZipFile, ValueError, EOFError, KeyError, NotImplementedError, MemoryError) as error:
        raise FileError(str(path), f"is not a readable .npz file ({error})", "write it with numpy.savez") from error
    except FileError:
        raise
    except OSError as error:
        raise FileError(str(path), f"cannot be read ({error.strerror or error})", "check the path") from error


def check_unpacked(path: str | os.PathLike[str]) -> None:
    """Raise if an archive unpacks to more than half of the memory that a query may take."""
    from .database import MEMORY, memory_limit

    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    limit = int(memory_limit() * UNPACKED_SHARE)
    if size > limit:
        problem = f"unpacks to {size:,} bytes, more than half of the memory limit ({limit:,} bytes)"
        raise FileError(str(path), problem, f"read it as Parquet or CSV, or raise {MEMORY}")


def cache_folder() -> Path | None:
    """Return the user's folder for what can be made again, which is made if necessary; None where it cannot be made.

    ``CALIBRANT_CACHE`` names another folder; empty, nothing is kept.
    """
    named = os.environ.get("CALIBRANT_CACHE")
    if named == "":
        return None
    try:
        if named is not None:
            folder = Path(named).expanduser()
        elif sys.platform == "win32":
            folder = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "calibrant" / "cache"
        elif sys.platform == "darwin":
            folder = Path.home() / "Library" / "Caches" / "calibrant"
        else:
            shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
            folder = (shared if shared.is_absolute() else Path.home() / ".cache") / "calibrant"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no such place, or no home
        return None
    return folder if os.access(folder, os.W_OK) else None


def cached_text(name: str, sum_: str | None, make: Callable[[], str]) -> str:
    """Return a text from the cache, or make and keep it.

    Only a text with the expected SHA-256, in hexadecimal, is kept and taken from the cache: who can write to the folder cannot change the result.
    """
    from hashlib import sha256

    folder = cache_folder() if sum_ is not None else None
    if folder is None:
        return make()
    with suppress(OSError):
        kept = (folder / name).read_bytes()
        if sha256(kept).hexdigest() == sum_:
            return kept.decode()
    text = make()
    if sha256(text.encode()).hexdigest() == sum_:
        with suppress(FileError):  # the cache saves time only
            write_atomic(folder / name, text.encode())
    return text

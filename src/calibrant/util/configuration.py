"""Configuration files: finding and reading ``calibrant.toml`` or ``[tool.calibrant]`` in ``pyproject.toml``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import FileError
from .files import read_limited

OWN, PROJECT = "calibrant.toml", "pyproject.toml"
# A configuration has a few hundred bytes; other tools fill pyproject.toml.
MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Configuration:
    """The content of a configuration file."""

    path: Path
    tables: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the file, without its folder."""
        return self.path.name

    def error(self, problem: str, remedy: str = "", table: str = "", key: str | None = None) -> FileError:
        """An error about a key of the file."""
        place = f"[{table}] " if table else ""
        return FileError(self.name, problem if key is None else f"{place}{key:.60}: {problem}", remedy)


def find_configuration() -> Configuration | None:
    """The configuration of the nearest folder that has one, up to the root of the git repository or of the file system."""
    try:
        start = Path.cwd()
    except OSError:  # the working folder was deleted
        return None
    for place in (start, *start.parents):
        if place != start and _is_open(place):
            continue
        for name in (OWN, PROJECT):
            if os.path.isfile(place / name):  # unlike Path.is_file, False in a folder that cannot be read
                found = read_configuration(place / name)
                if found is not None:
                    return found
        if os.path.exists(place / ".git"):
            return None
    return None


def _is_open(folder: Path) -> bool:
    """Whether everyone can write to a folder, as to /tmp, so that a configuration in it may be anybody's."""
    try:
        return os.name == "posix" and bool(os.stat(folder).st_mode & 0o002)
    except OSError:
        return True


def read_configuration(path: Path, *, named: bool = False) -> Configuration | None:
    """The configuration in a file; None for a pyproject.toml without ``[tool.calibrant]``, which is an error if it was `named`."""
    project = path.name == PROJECT
    if project and not named:  # a file of other tools may be broken or large without concerning this one
        try:
            content = read_limited(path, MAX_BYTES)
        except FileError:
            return None
        if b"calibrant" not in content:
            return None
    else:
        content = read_limited(path, MAX_BYTES)
    import tomllib  # most commands find no such file

    try:
        tables = tomllib.loads(content.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise FileError(path.name, f"is not valid TOML: {reason}", f"correct {path}, or use --no-config") from None
    except (RecursionError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise FileError(path.name, f"cannot be read: {reason}", f"correct {path}, or use --no-config") from None
    if project:
        tool = tables.get("tool", {})
        own = tool.get("calibrant") if isinstance(tool, dict) else None
        if own is None and named:
            raise FileError(path.name, "has no table [tool.calibrant]", "add it, or name another file")
        if not isinstance(own, dict):
            return None
        tables = own
    return Configuration(path, tables)

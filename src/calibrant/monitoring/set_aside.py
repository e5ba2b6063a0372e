"""Files that could not be added: known by name and content, until a file of that name is added or is gone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from .queries import Transaction


@dataclass(frozen=True)
class SetAside:
    """A file that could not be added."""

    file: str
    sha256: str | None
    """Hash of the content; None if the file cannot be read, and nothing is remembered of it."""
    problem: str
    unchanged: bool
    """Whether the same content was set aside before."""

    def __str__(self) -> str:
        since = ", unchanged since it was set aside" if self.unchanged else ""
        content = "" if self.sha256 is None else f" (sha256 {self.sha256[:12]}{since})"
        return f"{self.file}{content}: {self.problem}"


def files_set_aside(db: Transaction) -> dict[str, Any]:
    """The fields of each remembered file, by its path."""
    return db.meta("set_aside") or {}


def remember(db: Transaction, problems: Mapping[str, str], added: Iterable[str]) -> dict[str, SetAside]:
    """Remember the files that could not be added, and forget those of which others were added or that are gone; returns the former."""
    known = files_set_aside(db)
    contents = {each["sha256"] for each in known.values()}
    aside = {}
    for file, problem in problems.items():
        content = None
        with suppress(OSError), open(file, "rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        aside[file] = SetAside(file, content, problem, content in contents)
    taken = {os.path.abspath(file) for file in added}
    kept = {path: each for path, each in known.items() if path not in taken and os.path.exists(path)}
    kept |= {os.path.abspath(file): asdict(each) for file, each in aside.items() if each.sha256 is not None}
    if kept != known:
        db.set_meta("set_aside", kept)
    return aside

"""Files that could not be added: known by name and content, until a file of that name is added or is gone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from .queries import Transaction


def files_set_aside(db: Transaction) -> dict[str, dict[str, Any]]:
    """Of each remembered file, by its path: its name, the hash of its content, the problem, and whether it is unchanged since an earlier time."""
    return db.meta("set_aside") or {}


def describe(record: Mapping[str, Any]) -> str:
    """A file that was set aside as text; one that cannot be read has no hash."""
    since = ", unchanged since it was set aside" if record["unchanged"] else ""
    content = f" (sha256 {record['sha256'][:12]}{since})" if record["sha256"] else ""
    return f"{record['file']}{content}: {record['problem']}"


def remember(db: Transaction, problems: Mapping[str, str], added: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Remember the files that could not be added, and forget those of which others were added or that are gone; returns the former."""
    recorded = files_set_aside(db)
    contents = {each["sha256"] for each in recorded.values()}
    aside = {}
    for file, problem in problems.items():
        content = None
        with suppress(OSError), open(file, "rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        aside[file] = {"file": file, "sha256": content, "problem": problem, "unchanged": content in contents}
    added_paths = {os.path.abspath(file) for file in added}
    remaining = {path: each for path, each in recorded.items() if path not in added_paths and os.path.exists(path)}
    remaining |= {os.path.abspath(file): each for file, each in aside.items() if each["sha256"]}
    if remaining != recorded:
        db.set_meta("set_aside", remaining)
    return aside

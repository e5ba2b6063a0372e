"""Texts for docstrings that are kept as data beside the code."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def parameter_texts(package: str) -> dict[str, dict[str, Any]]:
    """The tables of ``parameters.toml`` of a package: type and text of shared parameters, or the text of whole sections, by name."""
    tables = tomllib.loads((files(package) / "parameters.toml").read_text(encoding="utf-8"))
    for table in tables.values():
        for name, entry in table.items():
            if isinstance(entry, dict):
                table[name] = (entry["type"], entry["text"])
    return tables

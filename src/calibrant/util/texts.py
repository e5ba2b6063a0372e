"""Texts for docstrings that are kept as data beside the code."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

Table = Mapping[str, tuple[str, str]]


@cache
def parameter_texts(package: str) -> Mapping[str, Table]:
    """Type and text of shared parameters by name, in the tables of ``parameters.toml`` of a package."""
    tables = tomllib.loads((files(package) / "parameters.toml").read_text(encoding="utf-8"))
    return {
        kind: {name: (entry["type"], entry["text"]) for name, entry in table.items()} for kind, table in tables.items()
    }

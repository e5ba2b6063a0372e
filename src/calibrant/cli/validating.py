"""``calibrant validate``: compare this installation with stored reference values, and write the dossier."""

from __future__ import annotations

from ..validation.dossier import validate
from .screen import print_json, print_lines, say

__all__ = ["run"]


def run(out: str | None, deep: bool, timings: bool, only: str | None, as_json: bool) -> bool:
    """Write and print the dossier; true if a check failed."""
    found = validate(deep=deep, timing=timings, only=only)
    if out is not None:
        found.save(out)
    if as_json:
        print_json(found.to_dict())
    else:
        print_lines(repr(found).split("\n"))
    if out is not None:
        say(f"Wrote {out}", err=as_json)
    return not found.passed

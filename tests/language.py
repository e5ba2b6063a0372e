"""The phrases that docs/language.md rejects, and a search for them."""

from __future__ import annotations

import re
from pathlib import Path

RULES = Path(__file__).parents[1] / "docs" / "language.md"
QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`")


def phrases() -> list[str]:
    """The regular expressions of the last block of the rules."""
    block = RULES.read_text(encoding="utf-8").rpartition("```text\n")[2].partition("```")[0]
    return block.split("\n")[:-1]


REJECTED = re.compile("|".join(f"(?:{phrase})" for phrase in phrases()), re.IGNORECASE)


def rejected(text: str) -> str:
    """The first rejected phrase of a message, whose quoted values are the user's own; empty if there is none."""
    found = REJECTED.search(QUOTED.sub("''", text))
    return found[0] if found else ""

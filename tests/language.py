"""The phrases that docs/language.md rejects, and a search for them."""

import re
from pathlib import Path

RULES = Path(__file__).parents[1] / "docs" / "language.md"
QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`")


def phrases() -> list[str]:
    """The regular expressions of the last block of the rules."""
    block = RULES.read_text(encoding="utf-8").rpartition("```text\n")[2].partition("```")[0]
    return block.split("\n")[:-1]


# Every phrase begins a word. Said once before all of them, and in lower case, the search is twenty times faster.
assert all(phrase.startswith(r"\b") for phrase in phrases())
REJECTED = re.compile(r"\b(?:" + "|".join(phrase.removeprefix(r"\b") for phrase in phrases()) + ")")


def rejected(text: str) -> str:
    """The first rejected phrase of a message, whose quoted values are the user's own; empty if there is none."""
    found = REJECTED.search(QUOTED.sub("''", text).lower())
    return found[0] if found else ""

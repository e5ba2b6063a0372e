"""Text that must fit: names wrapped to lines or shortened in the middle, by their number of letters."""

from __future__ import annotations

import textwrap

from .canvas import small_size

ELLIPSIS = "\u2026"
# A dollar sign that matplotlib does not typeset.
ESCAPED = r"\$"


def plain(name: str) -> str:
    """A name escaped for matplotlib, which typesets text between dollar signs and hides labels that begin with an underscore.

    >>> print(plain("a$b"), plain("_old"))
    a\\$b  _old
    """
    text = name.replace("$", ESCAPED)
    return f" {text}" if text.startswith("_") else text


def shorten(text: str, letters: int) -> str:
    """A text of at most so many letters, with an ellipsis in the middle of a longer one."""
    if len(text) <= letters:
        return text
    bare, tail = text.replace(ESCAPED, "$"), (letters - 1) // 2
    cut = bare if len(bare) <= letters else f"{bare[: letters - 1 - tail]}{ELLIPSIS}{bare[-tail:]}"
    return cut.replace("$", ESCAPED)


def letters_in(inches: float) -> int:
    """Number of small letters in so many inches."""
    return max(8, int(72 * inches / (0.58 * small_size())))


def fit(text: str, inches: float, lines: int = 4) -> str:
    """A text wrapped to this width; one that needs more lines is shortened in the middle."""
    letters = letters_in(inches)
    parts = [shorten(line, letters * lines) for line in text.split("\n")]
    return "\n".join("\n".join(textwrap.wrap(part, letters, break_on_hyphens=False)) for part in parts)

"""How pages and sentences write a share, a level, a difference, a question and a phrase that stands alone: one form for all of them."""

from __future__ import annotations

from ..evaluation.result import NOTHING
from ..util.results import decimals, percent

__all__ = ["TOO_HIGH", "TOO_LOW", "in_words", "level_text", "percent", "percents", "sentence", "signed"]

# Beside the diagonal: true of a score below one half too, where "too sure" would say the opposite.
TOO_HIGH, TOO_LOW = "score too high", "score too low"
QUESTIONS = {
    "binary": "the probability of the positive class",
    "top_label": "the confidence in the predicted class",
    "classwise": "each class against the rest",
    "canonical": "all probabilities of a row",
}


def percents(first: float, second: float) -> tuple[str, str]:
    """Two shares as per cent, with as many digits as it takes to tell them apart.

    >>> percents(0.92, 0.8512), percents(0.0301, 0.0312)
    (('92%', '85%'), ('3.0%', '3.1%'))
    """
    # Of a few per cent the first digit alone says little.
    digits = 1 if any(0 < value < 0.095 or 0.995 < value < 1 for value in (first, second)) else 0
    gap = abs(100 * (first - second))
    while digits < 4 and gap > 0 and abs(_shown_gap(first, second, digits) - gap) > gap / 4:
        digits += 1
    return percent(first, digits), percent(second, digits)


def _shown_gap(first: float, second: float, digits: int) -> float:
    return abs(round(100 * first, digits) - round(100 * second, digits))


def level_text(value: float) -> str:
    """The level of an interval, with all its digits.

    >>> level_text(0.95), level_text(0.975)
    ('95%', '97.5%')
    """
    return f"{100 * value:g}%"


def signed(value: float | None, digits: int = 3) -> str:
    """A difference with its sign, and with more digits where it would seem to be none.

    >>> signed(0.25), signed(-0.00012), signed(0.0)
    ('+0.250', '\u22120.00012', '+0.000')
    """
    if value is None:
        return "-"
    value = 0.0 if abs(value) < NOTHING else value
    return f"{value:+.{decimals(abs(value), digits, 1)}f}".replace("-", "\u2212")


def in_words(id: str) -> str:
    """A lens as the question it asks, or another id without its underscores.

    >>> in_words("binary"), in_words("class:cat"), in_words("equal_mass")
    ('the probability of the positive class', 'class:cat', 'equal mass')
    """
    return QUESTIONS.get(id, id.replace("_", " "))


def sentence(text: str) -> str:
    """A phrase that stands alone.

    >>> sentence("within chance"), sentence("")
    ('Within chance.', '')
    """
    return text and text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")

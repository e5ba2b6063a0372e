"""Text that must fit: labels wrapped to lines or shortened, by their width in print."""

from __future__ import annotations

import textwrap
import warnings
from typing import TYPE_CHECKING, Any

from .canvas import grow, ink_on, small_size, text_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# An escaped dollar sign is one letter and must not be split.
ESCAPED, DOLLAR = r"\$", "\ue000"
ELLIPSIS = "\u2026"
# Least number of letters per line, and largest number of lines of an entry.
LEAST_LETTERS, MOST_LINES = 6, 4
# Factors by which letters are wider on screen than as outlines, and axis labels may be wider than the axes.
HINTED, OVERHANG = 1.06, 1.1
# Factor by which axes grow in a constrained layout, and width of tick labels in inches.
GROWTH, NUMBERS = 1.04, 0.3


def width_of(text: str, size: float) -> float:
    """Width in inches of the longest line of a text in this font size."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size)
    lines = text.replace(ESCAPED, "$").replace(DOLLAR, "$").split("\n")
    with warnings.catch_warnings():  # missing letters are warned of when drawn
        warnings.simplefilter("ignore", UserWarning)
        wide = max(text_to_path.get_text_width_height_descent(line, font, ismath=False)[0] for line in lines)
    return float(wide) * HINTED / 72


def wrapped(text: str, inches: float, size: float, most: int = MOST_LINES) -> str:
    """Wrap a text to a width in inches; a text with more lines than `most` is shortened in the middle."""
    return "\n".join(_wrapped_line(line, inches, size, most) for line in text.split("\n"))


def _wrapped_line(line: str, inches: float, size: float, most: int) -> str:
    wide = width_of(line, size)
    if wide <= inches:
        return line
    bare = line.replace(ESCAPED, DOLLAR)
    letters = max(LEAST_LETTERS, int(len(bare) * inches / wide) + 1)
    lines = _lines(bare, letters, most)
    while letters > LEAST_LETTERS and width_of("\n".join(lines), size) > inches:
        letters -= 1
        lines = _lines(bare, letters, most)
    while letters > LEAST_LETTERS and len(even := _lines(bare, letters - 1, most)) == len(lines) < most:
        letters, lines = letters - 1, even  # avoid a last line of one word
    return "\n".join(lines).replace(DOLLAR, ESCAPED)


def _lines(text: str, letters: int, most: int) -> list[str]:
    """Lines of at most so many letters, split between words; a text with too many lines is shortened."""
    lines = textwrap.wrap(text, letters)
    kept = letters * most
    while len(lines) > most:
        lines = textwrap.wrap(_middle_out(text, kept), letters)
        kept -= 1
    return lines


def _middle_out(text: str, letters: int) -> str:
    tail = (letters - 1) // 2
    return text if len(text) <= letters else f"{text[: letters - 1 - tail]}{ELLIPSIS}{text[len(text) - tail :]}"


def shortened(text: str, inches: float, size: float) -> str:
    """The text in one line of at most this width, with an ellipsis in the middle if it is too long."""
    bare, letters = text.replace(ESCAPED, DOLLAR), len(text)
    shown = bare
    while letters > LEAST_LETTERS and width_of(shown, size) > inches:
        letters -= 1
        shown = _middle_out(bare, letters)
    return shown.replace(DOLLAR, ESCAPED)


def taken_by_ticks(ax: Axes, size: float) -> float:
    """Width in inches of names beside axes, beyond that of numbers."""
    from matplotlib.ticker import FixedLocator

    if not isinstance(ax.yaxis.get_major_locator(), FixedLocator):
        return 0.0
    names = [label.get_text() for label in ax.get_yticklabels()]
    return max([0.0, *(width_of(name, size) - NUMBERS for name in names)])


def room_of(ax: Axes, size: float) -> tuple[float, float]:
    """Approximate width and height of axes in inches, without the names at their ticks."""
    wide, high = (side / ax.figure.dpi * GROWTH for side in (ax.bbox.width, ax.bbox.height))
    return max(wide - taken_by_ticks(ax, size), wide / 3), high


def label_room(ax: Axes, size: float) -> tuple[float, float]:
    """Largest width of the two axis labels in inches."""
    wide, high = room_of(ax, size)
    return wide * OVERHANG, high * OVERHANG


def name_room(ax: Axes, places: int = 0) -> float:
    """Width per name in inches: for `places` names below the axes, or beside them, up to two fifths of the width."""
    wide = float(ax.bbox.width / ax.figure.dpi)
    return GROWTH * wide / places if places else 0.42 * wide


def relabel(ax: Axes, xlabel: str = "", ylabel: str = "") -> None:
    """Set labels of axes, wrapped; a new figure grows with the lines below its only axes."""
    size, (wide, high) = text_size(), label_room(ax, small_size())
    look: dict[str, Any] = {"fontsize": size, "color": ink_on(ax.figure.get_facecolor(), "axes.labelcolor")}
    if xlabel:
        label = wrapped(xlabel, wide, size)
        if len(ax.figure.axes) == 1:
            grow(ax.figure, label.count("\n") - xlabel.count("\n"))
        ax.set_xlabel(label, **look)
    if ylabel:
        ax.set_ylabel(wrapped(ylabel, high, size), **look)

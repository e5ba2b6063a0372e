"""Names of groups: which names are one group, and what it is called where names of several types meet.

One column is read as integers from one file, as floats from another in which a value is missing, and as text from a third. Its groups
are the same: 7, 7.0 and "7" are one group, as are True and "true", or a day and its text. Two texts are two groups.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..input.convert import is_missing
from .files.columns import WHOLE


def plain_name(name: Any) -> Any:
    """A name as text, a number or a truth value, which can be serialized; dates and other objects as text."""
    value = name.item() if isinstance(name, np.generic) else name
    return value if isinstance(value, (str, int, float)) else str(value)


def _name_text(name: Any) -> str:
    """A name as text; whole numbers without decimals."""
    return str(int(name) if isinstance(name, float) and name.is_integer() else name)


def common_names(names: Sequence[Any]) -> list[Any]:
    """Names of one type for groups whose names were read from several sources.

    Names of one type are kept. Integers and floats become integers if all are whole, else floats, unless an integer is too large for a
    float. Otherwise all become text, truth values as the texts write them. Which source comes first does not matter, unless truth values
    meet other texts before their own spelling.

    >>> common_names([1, 2.0]), common_names([1, 0.5]), common_names([1, "1", 2.0, "b"]), common_names([True, "false"])
    ([1, 2], [1.0, 0.5], ['1', '1', '2', 'b'], ['true', 'false'])
    """
    types = {next(each for each in (str, bool, int, float) if isinstance(name, each)) for name in names}
    if len(types) < 2:
        return list(names)
    if types == {int, float} and all(abs(name) <= 2**53 for name in names if isinstance(name, int)):
        are_whole = all(name == name // 1 for name in names)
        return [int(name) if are_whole else float(name) for name in names]
    texts = {name for name in names if isinstance(name, str)}
    forms: tuple[Callable[[str], str], ...] = (str, str.lower, str.upper)
    spelling = next((form for form in forms if {form("True"), form("False")} & texts), str)
    return [spelling(str(name)) if isinstance(name, bool) else _name_text(name) for name in names]


def finder(known: Sequence[Any]) -> Callable[[Any], int | None]:
    """A function that returns the place of the group of a name among known ones, or None.

    A group is known by the same text or value, and a text as the value that it spells: "7.0" is 7, and "TRUE" is True.

    >>> find = finder([7, "8", True])
    >>> [find(name) for name in (7.0, "7.0", 8, "8", "8.0", "TRUE", "07", None)]
    [0, 0, 1, 1, None, 2, None, None]
    """
    values: dict[str, int] = {}
    texts: dict[str, int] = {}
    spelled: dict[str, int] = {}
    for place, name in enumerate(map(plain_name, known)):
        if isinstance(name, str):
            texts[name] = place
            spelled.setdefault(_value_of(name), place)
        else:
            values[_value_of(name)] = place

    def find(name: Any) -> int | None:
        if is_missing(name):  # which is not the text "None" or "nan"
            return None
        sought = plain_name(name)
        value = _value_of(sought)
        if isinstance(sought, str):
            return texts.get(sought, values.get(value))
        return values.get(value, spelled.get(value))

    return find


def _value_of(name: Any) -> str:
    """A text that a value and its spellings share."""
    if not isinstance(name, str):
        return _name_text(name)
    match = re.fullmatch(WHOLE, name)
    return match[1] if match else name.capitalize() if name.lower() in ("true", "false") else name

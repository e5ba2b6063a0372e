"""Conditions such as ``ece > 0.05``, by which a command fails."""

from __future__ import annotations

import math
import operator
import re

from ..errors import ArgumentError

__all__ = ["COMPARE", "parse_condition"]

COMPARE = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}


def parse_condition(text: str, example: str) -> tuple[str, str, float]:
    """The name, the sign and the limit of a condition."""
    match = re.fullmatch(r"\s*([^<>=!]+?)\s*(>=|<=|==|!=|>|<)\s*(\S+)\s*", text)
    try:
        if match is None:
            raise ValueError
        limit = float(match[3])
        if math.isnan(limit):  # no value is above or below it
            raise ValueError
    except ValueError:
        raise ArgumentError("--fail-if", f"{text!r} is not a condition", f'write it as "{example}"') from None
    return match[1], match[2], limit

"""Stated confidences: percentages, fractions and numbers become probabilities."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ShapeError
from ..util.checks import check_positive, is_number

NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
PERCENT = re.compile(rf"({NUMBER})\s*(?:%|percent|per cent)")
FRACTION = re.compile(rf"({NUMBER})\s*(?:/|out of)\s*({NUMBER})")


def parse_confidence(values: Any, *, scale: float = 1.0) -> NDArray[np.float64]:
    """Convert stated confidences, such as "85%", "8/10" or 0.85, to probabilities.

    Language models and people state confidences in several forms. What does not become a number from 0 to 1 is an error, because a wrong
    scale would not be visible in the result.

    Parameters
    ----------
    values : array-like of shape (N,)
        Numbers or texts: ``"85%"``, ``"8/10"``, ``"0.85"`` or 0.85.
    scale : float, default 1.0
        Largest value of plain numbers, such as 100 or 10.

    Returns
    -------
    numpy.ndarray of shape (N,)
        Probabilities.

    Raises
    ------
    InputError
        If values are missing, or not confidences; the message states how many, and the first.
    ShapeError
        If `values` have several dimensions.

    See Also
    --------
    Levels : One bin per distinct score, for few levels.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.input.parse_confidence(["85%", "9/10", "100 %"]).tolist()
    [0.85, 0.9, 1.0]
    >>> cal.input.parse_confidence([70, 85, 100], scale=100).tolist()
    [0.7, 0.85, 1.0]
    """
    return read_confidences(values, "values", "state the scale, such as scale=100, or drop these rows", scale)


def read_confidences(values: Any, argument: str, remedy: str, scale: float = 1.0) -> NDArray[np.float64]:
    """The confidences as probabilities."""
    check_positive(scale, "scale")
    entries = np.ma.filled(values.astype(object), None) if np.ma.isMaskedArray(values) else values
    array = np.asarray(entries, dtype=object)
    if array.ndim > 1:
        raise ShapeError(argument, f"must have one dimension; got shape {array.shape}", "pass one column")
    confidences = np.array([_confidence_of(value, scale) for value in array.tolist()], dtype=np.float64)
    bad = ~((confidences >= 0) & (confidences <= 1))
    if bad.any():
        row = int(np.argmax(bad))
        problem = f"{int(bad.sum()):,} of {len(confidences):,} values are not confidences from 0 to 1; the first is {array.item(row)!r}"
        raise InputError(argument, problem, remedy, row=row)
    return confidences


def are_percentages(texts: list[str]) -> bool:
    """Whether all of one or more texts are percentages or fractions, so that their meaning is clear."""
    return bool(texts) and all(PERCENT.fullmatch(text.strip()) or FRACTION.fullmatch(text.strip()) for text in texts)


def _confidence_of(value: Any, scale: float) -> float:
    """The confidence; NaN for what is missing or not a confidence."""
    text = value.strip().lower() if isinstance(value, str) else ""
    if percent := PERCENT.fullmatch(text):
        return float(percent[1]) / 100
    if (fraction := FRACTION.fullmatch(text)) and float(fraction[2]) > 0:
        return float(fraction[1]) / float(fraction[2])
    if is_number(value) or re.fullmatch(NUMBER, text):
        return float(value) / scale
    return math.nan

"""Stated confidences: percentages, fractions and numbers on other scales become probabilities, if their meaning is clear."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InputError, ShapeError
from ..util.checks import is_number

NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"


def parse_confidence(
    values: Any, *, scale: float | None = None, words: Mapping[str, float] | None = None
) -> NDArray[np.float64]:
    """Convert stated confidences, such as "85%", "8/10" or 0.85, to probabilities.

    Language models and people state confidences in several forms. Those whose meaning is clear are converted; others raise an error that names
    them, because a wrong scale would not be visible in the result.

    Parameters
    ----------
    values : array-like of shape (N,)
        Numbers or texts: ``"85%"``, ``"8/10"``, ``"0.85"``, 0.85, or 85.
    scale : float, optional
        Largest value of plain numbers, such as 100 or 10. By default they are probabilities if all lie in [0, 1], and percentages if none
        lies in (0, 1], the largest is above 10 and none is above 100; everything else is ambiguous.
    words : mapping of str to float, optional
        Probability of each word, such as ``{"high": 0.9, "low": 0.6}``; case is ignored.

    Returns
    -------
    numpy.ndarray of shape (N,)
        Probabilities.

    Raises
    ------
    InputError
        If values are missing, ambiguous, or not confidences; the message states how many, and the first.
    ShapeError
        If `values` have several dimensions.
    ArgumentError
        If `scale` or `words` is invalid.

    See Also
    --------
    Levels : One bin per distinct score, for few levels.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.input.parse_confidence(["85%", "9/10", "100 %"]).tolist()
    [0.85, 0.9, 1.0]
    >>> cal.input.parse_confidence([70, 85, 100]).tolist()
    [0.7, 0.85, 1.0]
    >>> cal.input.parse_confidence([7, 9, 10], scale=10).tolist()
    [0.7, 0.9, 1.0]
    >>> cal.input.parse_confidence(["high", "low"], words={"high": 0.9, "low": 0.6}).tolist()
    [0.9, 0.6]
    """
    return read_confidences(values, scale, words, "values")[0]


def read_confidences(
    values: Any, scale: float | None = None, words: Mapping[str, float] | None = None, argument: str = "confidence"
) -> tuple[NDArray[np.float64], str]:
    """The confidences as probabilities, and how they were read, if they were not probabilities."""
    if scale is not None and not (is_number(scale) and 0 < scale < np.inf):
        raise ArgumentError("scale", f"must be a positive number; got {scale!r}", "for example 100")
    known = {str(word).strip().lower(): value for word, value in (words or {}).items()}
    for word, value in known.items():
        if not (is_number(value) and 0 <= value <= 1):
            raise ArgumentError("words", f"must be probabilities; got {value!r} for {word!r}")
    hidden = np.ma.getmaskarray(values) if np.ma.isMaskedArray(values) else None
    array = np.ma.getdata(values) if hidden is not None else np.asarray(values, dtype=object)
    if array.ndim > 1:
        raise ShapeError(argument, f"must have one dimension; got shape {array.shape}", "pass one column")
    listed = array.reshape(-1).tolist()
    read = [
        _read(value, known) if hidden is None or not hidden[row] else (None, "") for row, value in enumerate(listed)
    ]
    bad = [row for row, (value, _) in enumerate(read) if value is None or np.isnan(value)]
    if bad:
        texts = Counter(read[row][1] for row in bad if read[row][0] is None and read[row][1])
        common = ", ".join(f"{text[:30]!r} ({count:,})" for text, count in texts.most_common(5))
        what = f"are not numbers: {common}" if common else "are missing"
        remedy = "assign a number to each word, or drop these rows" if common else "drop these rows"
        if argument == "values" and common:
            remedy = "pass words with a probability for each, or drop these rows"
        raise InputError(argument, f"{len(bad):,} of {len(listed):,} confidences {what}", remedy, row=bad[0])
    plain = np.array([kind == "plain" for _, kind in read], dtype=bool)
    found = np.array([value for value, _ in read], dtype=np.float64)
    found, note = _on_scale(found, plain, scale, argument)
    forms = {kind for _, kind in read}
    said = [note, "percentages" if "percent" in forms else "", "fractions" if "of" in forms else ""]
    outside = (found < 0) | (found > 1) | np.isnan(found)
    if outside.any():
        row = int(np.argmax(outside))
        raise InputError(
            argument,
            f"{int(outside.sum()):,} of {len(found):,} confidences lie outside of [0, 1] or its scale; the first is {listed[row]!r}",
            "check the scale",
            row=row,
        )
    return found, ", ".join(filter(None, said))


def are_percentages(texts: list[str]) -> bool:
    """Whether all of one or more texts are percentages or fractions, so that their meaning is clear."""
    return bool(texts) and all(_read(text, {})[1] in ("percent", "of") for text in texts)


def _read(value: Any, words: Mapping[str, float]) -> tuple[float | None, str]:
    """The number and its form; None for what is missing or not a confidence."""
    if is_number(value):
        return float(value), "plain"
    if not isinstance(value, str):
        return None, "" if value is None or type(value).__name__ in ("NAType", "NaTType") else repr(value)
    text = value.strip().lower()
    if text in words:
        return float(words[text]), "word"
    if one := re.fullmatch(rf"({NUMBER})\s*(?:%|percent|per cent)", text):
        return float(one[1]) / 100, "percent"
    if (two := re.fullmatch(rf"({NUMBER})\s*(?:/|out of)\s*({NUMBER})", text)) and float(two[2]) > 0:
        return float(two[1]) / float(two[2]), "of"
    if re.fullmatch(NUMBER, text):
        return float(text), "plain"
    return None, text


def _on_scale(
    found: NDArray[np.float64], plain: NDArray[np.bool_], scale: float | None, argument: str
) -> tuple[NDArray[np.float64], str]:
    """Plain numbers as probabilities, and the scale if it is another one."""
    own = found[plain]
    if not len(own):
        return found, ""
    if scale is not None:
        return np.where(plain, found / scale, found), f"numbers from 0 to {scale:g}"
    low, high = own.min(), own.max()
    mixed = not plain.all()
    if high <= 1 and not (mixed and (own == 1).any()):
        return found, ""
    fractions = int(((own > 0) & (own <= 1)).sum())
    if 10 < high <= 100 and low >= 0 and not fractions and not mixed:
        return found / 100, "numbers from 0 to 100"
    if high > 100 or low < 0:
        problem = f"confidences range from {low:g} to {high:g}"
    elif high <= 1:
        problem = "1 beside percentages may mean 1% or 100%"
    elif mixed:
        problem = f"numbers up to {high:g} are mixed with percentages or fractions"
    elif fractions:
        problem = f"confidences range from {low:g} to {high:g}, and {fractions:,} in (0, 1] may be probabilities or percentages"
    else:
        problem = f"confidences range from {low:g} to {high:g}, on a scale of 10 or of 100"
    remedy = "divide them by the largest value of the scale"
    if argument == "values":
        remedy = "use scale=100 or scale=10" if high > 1 else "use scale=1"
    raise InputError(argument, f"the scale is ambiguous: {problem}", remedy)

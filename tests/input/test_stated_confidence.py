"""Stated confidences: what is clear is converted, and everything else is an error that names it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import CalibrantError
from calibrant.input.stated_confidence import read_confidences


@pytest.mark.parametrize(
    ("values", "expected", "note"),
    [
        (["85%", "9 %", "100percent"], [0.85, 0.09, 1.0], "percentages"),
        ([0.0, 0.5, 1.0], [0.0, 0.5, 1.0], ""),
        (["0.5", ".25", "1"], [0.5, 0.25, 1.0], ""),
        ([0, 70, 100], [0.0, 0.7, 1.0], "numbers from 0 to 100"),
        (["70", "85.5"], [0.7, 0.855], "numbers from 0 to 100"),
        (["8/10", "9 out of 10"], [0.8, 0.9], "fractions"),
        (["90%", 0.5], [0.9, 0.5], "percentages"),
        ([0, 1, 1], [0.0, 1.0, 1.0], ""),
        (np.array([0.5, 0.75], np.float32), [0.5, 0.75], ""),
    ],
)
def test_what_is_clear_is_converted(values: Any, expected: list[float], note: str) -> None:
    found, said = read_confidences(values)
    assert found == pytest.approx(expected, abs=1e-15)
    assert said == note
    assert cal.input.parse_confidence(values) == pytest.approx(expected, abs=1e-15)


def test_scale_and_words() -> None:
    assert cal.input.parse_confidence([]).tolist() == []
    assert cal.input.parse_confidence([7, 10], scale=10).tolist() == [0.7, 1.0]
    assert cal.input.parse_confidence([1, 85], scale=100).tolist() == [0.01, 0.85]
    assert cal.input.parse_confidence(["High", "low", "70%"], words={"high": 0.9, "LOW": 0.6}).tolist() == [
        0.9,
        0.6,
        0.7,
    ]


@pytest.mark.parametrize(
    ("values", "keywords", "words"),
    [
        (
            [7, 9, 10],
            {},
            "scale is ambiguous: confidences range from 7 to 10, on a scale of 10 or of 100; use scale=100",
        ),
        ([0.9, 85], {}, r"1 in \(0, 1\] may be probabilities or percentages"),
        ([1, 85], {}, "may be probabilities or percentages"),
        (["85%", 85], {}, "mixed with percentages"),
        (["85%", 1], {}, "1 beside percentages may mean 1% or 100%"),
        ([85, 120], {}, "range from 85 to 120"),
        ([-1, 50], {}, "range from -1 to 50"),
        (["120%"], {}, "1 of 1 confidences lie outside"),
        (["11/10"], {}, "lie outside"),
        (["high", "high", "low", "90%"], {}, r"3 of 4 confidences are not numbers: 'high' \(2\), 'low' \(1\)"),
        ([0.5, None], {}, "1 of 2 confidences are missing"),
        ([0.5, float("nan")], {}, "are missing"),
        (["", "0.5"], {}, "are missing"),
        ([True, False], {}, r"2 of 2 confidences are not numbers: 'True' \(1\)"),
        ([[0.5, 0.6]], {}, r"must have one dimension; got shape \(1, 2\)"),
        ([0.5], {"scale": 0}, "scale: must be a positive number"),
        ([0.5], {"words": {"high": 90}}, "words: must be probabilities; got 90"),
    ],
)
def test_what_is_not_clear_is_an_error(values: Any, keywords: dict[str, Any], words: str) -> None:
    with pytest.raises(CalibrantError, match=words):
        cal.input.parse_confidence(values, **keywords)

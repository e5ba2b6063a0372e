"""Stated confidences: what is clear is converted, and everything else is an error that names it."""

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import CalibrantError
from tests.calling import raises


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["85%", "9 %", "100percent"], [0.85, 0.09, 1.0]),
        ([0.0, 0.5, 1.0], [0.0, 0.5, 1.0]),
        (["0.5", ".25", "1"], [0.5, 0.25, 1.0]),
        (["8/10", "9 out of 10"], [0.8, 0.9]),
        (["90%", 0.5], [0.9, 0.5]),
        ([0, 1, 1], [0.0, 1.0, 1.0]),
        (np.array([0.5, 0.75], np.float32), [0.5, 0.75]),
        ([], []),
    ],
)
def test_what_is_clear_is_converted(values: Any, expected: list[float]) -> None:
    assert cal.input.parse_confidence(values) == pytest.approx(expected, abs=1e-15)


def test_plain_numbers_have_a_scale() -> None:
    assert cal.input.parse_confidence([7, 10], scale=10).tolist() == [0.7, 1.0]
    assert cal.input.parse_confidence([1, "85", "70%"], scale=100).tolist() == [0.01, 0.85, 0.7]


@pytest.mark.parametrize(
    ("values", "scale", "argument"),
    [
        ([7, 9, 10], 1, "values"),
        ([0.9, 85], 1, "values"),
        (["85%", 85], 1, "values"),
        ([85, 120], 100, "values"),
        ([-1, 50], 100, "values"),
        (["120%"], 1, "values"),
        (["11/10"], 1, "values"),
        (["1/0"], 1, "values"),
        (["high", "90%"], 1, "values"),
        ([0.5, None], 1, "values"),
        ([0.5, float("nan")], 1, "values"),
        (["", "0.5"], 1, "values"),
        ([True, False], 1, "values"),
        ([[0.5, 0.6]], 1, "values"),
        (np.ma.masked_array([0.5, 0.6], [False, True]), 1, "values"),
        ([0.5], 0, "scale"),
    ],
)
def test_what_is_not_clear_is_an_error(values: Any, scale: float, argument: str) -> None:
    with raises(CalibrantError, argument):
        cal.input.parse_confidence(values, scale=scale)

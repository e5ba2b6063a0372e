"""Checks of option values."""

import numpy as np
import pytest

from calibrant.errors import ArgumentError
from calibrant.util.checks import check_fraction, least_resamples


@pytest.mark.parametrize("value", [0, 1, -0.1, 2, True, "0.5", None, float("nan")])
def test_what_is_not_a_fraction_is_named(value):
    with pytest.raises(ArgumentError) as caught:
        check_fraction(value, "alpha", 0.05)
    assert str(caught.value) == f"alpha: must lie between 0 and 1; got {value!r}; for example 0.05"


def test_fractions():
    assert check_fraction(np.float32(0.5), "level") == 0.5


@pytest.mark.parametrize(("level", "least"), [(0.9, 100), (0.95, 200), (0.99, 1000)])
def test_five_resamples_lie_beyond_each_end(level, least):
    assert least_resamples(level) == least

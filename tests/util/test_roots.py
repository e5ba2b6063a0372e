"""Brent's method has the bits of scipy's, and the means of the null distributions those of an integral."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar

from calibrant.inference.asymptotic import MEANS
from calibrant.util.roots import bounded_minimum, brent_root

FUNCTIONS = (
    lambda x, a: x**3 - a,
    lambda x, a: math.tanh(50 * (x - a)),
    lambda x, a: (x - a) ** 3 + 0.1 * (x - a),
    lambda x, a: math.exp(-abs(x) * (2 + a)) - 0.9 if x > 0 else 0.1,
    lambda x, a: x - a,
)


@pytest.mark.parametrize("own", [{}, {"xtol": 1e-12}, {"xtol": 1e-14, "rtol": 1e-14}])
def test_the_root_has_the_bits_of_scipy(own: dict[str, float]) -> None:
    for function, a in product(FUNCTIONS, np.linspace(-0.9, 0.9, 13)):
        at = partial(function, a=a)
        assert brent_root(at, -1.5, 2.0, **own) == brentq(at, -1.5, 2.0, **own)


def test_an_end_may_be_the_root_and_equal_signs_are_refused() -> None:
    assert brent_root(lambda x: x, 0, 1) == 0
    assert brent_root(lambda x: x - 1, 0, 1) == 1
    with pytest.raises(ValueError, match="opposite signs"):
        brent_root(lambda x: x * x + 1, 0, 1)


@pytest.mark.parametrize("survival", MEANS)
def test_the_means_are_integrals(survival: object) -> None:
    assert MEANS[survival] == pytest.approx(quad(survival, 0, 40)[0], rel=1e-12)  # type: ignore[index, call-overload]


@pytest.mark.parametrize("function", [
    lambda x: (x - 1.3) ** 2, lambda x: abs(x - 0.2), math.cos, lambda x: -x, lambda x: 1.0, lambda x: math.exp(x) - 3 * x + math.sin(9 * x),
    lambda x: round(x, 1), lambda x: (x - 2) ** 4,
])  # fmt: skip
@pytest.mark.parametrize("ends", [(0.0, 3.0), (-2.0, 2.5), (1.0, 1.0)])
@pytest.mark.parametrize("xatol", [1e-3, 1e-10])
def test_bounded_minima_have_the_bits_of_scipy(
    function: Callable[[float], float], ends: tuple[float, float], xatol: float
) -> None:
    known = minimize_scalar(function, bounds=ends, method="bounded", options={"xatol": xatol})
    assert bounded_minimum(function, *ends, xatol=xatol) == known.x

"""Distribution functions of cumulative differences, against their series in fifty digits and simulated paths."""

import math
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.integrate import quad

import calibrant as cal
from calibrant.errors import ArgumentError
from calibrant.inference.asymptotic import MEANS


def slow_maximum(x: float) -> Any:
    """P(max |B| <= x) by the theta series."""
    terms = (
        (-1) ** k / mpf(2 * k + 1) * mp.exp(-((2 * k + 1) ** 2) * mp.pi**2 / (8 * mpf(x) ** 2)) for k in range(400)
    )
    return 4 / mp.pi * sum(terms)


def slow_range(x: float) -> Any:
    """P(max B - min B <= x) by Feller's series."""
    halves = [((k + mpf(0.5)) * mp.pi) ** 2 for k in range(400)]
    return sum((8 / mpf(x) ** 2 + 2 / half) * mp.exp(-2 * half / mpf(x) ** 2) for half in halves)


@pytest.mark.parametrize(
    ("cdf", "slow"), [(cal.inference.kolmogorov_smirnov_cdf, slow_maximum), (cal.inference.kuiper_cdf, slow_range)]
)
def test_both_tails_have_all_their_digits(cdf: Any, slow: Any) -> None:
    x = [0.1, 0.3, 0.7, 0.999, 1.0, 1.4, 1.5, 2, 3, 5, 9]
    with mp.workdps(60):
        below = [slow(value) for value in x]
        assert cdf(x).tolist() == pytest.approx([float(value) for value in below], rel=1e-13)
        assert cdf(x, upper_tail=True).tolist() == pytest.approx([float(1 - value) for value in below], rel=1e-11)
    assert cdf([[0, -1], [math.inf, 1e-200]]).tolist() == [[0, 0], [1, 0]]
    assert cdf(0.0, upper_tail=True) == 1
    assert isinstance(cdf(1), float)
    for wrong, message in ((["a"], "x: "), ([math.nan], "x: ")):
        with pytest.raises(ArgumentError, match=message):
            cdf(wrong)


def test_they_are_the_distributions_that_assess_uses() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    y = (rng.random(3000) < p).astype(int)
    scale = math.sqrt((p * (1 - p)).sum()) / len(p)
    for metric, cdf in (("ecce_mad", cal.inference.kolmogorov_smirnov_cdf), ("ecce_r", cal.inference.kuiper_cdf)):
        found = cal.assess(y, p, metric=metric, method="series")
        statistic = getattr(cal, metric)(y, p)
        assert found.pvalue == pytest.approx(cdf(statistic / scale, upper_tail=True), rel=1e-9)


@pytest.mark.parametrize("survival", MEANS)
def test_the_means_are_integrals(survival: Any) -> None:
    assert MEANS[survival] == pytest.approx(quad(survival, 0, 40)[0], rel=1e-12)

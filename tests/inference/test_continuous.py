"""Tests of continuous forecasts: closed-form tails, slow loops, simulated levels, and every error."""

import json
import math
from collections.abc import Callable

import numpy as np
import pytest

import calibrant as cal

NEES_OF_ONE = ([1, 2, 0, -1], [0, 1, 1, 1], [1, 4, 0.25, 2.0])


def tail(x: float, degrees: int) -> float:
    """P(chi-square > x) for an even number of degrees of freedom: a Poisson sum, written out."""
    return sum(math.exp(-x / 2) * (x / 2) ** k / math.factorial(k) for k in range(degrees // 2))


def test_the_tail_is_a_poisson_sum() -> None:
    """1 + 1/4 + 4 + 2 = 7.25 with 4 degrees of freedom."""
    above = tail(7.25, 4)
    greater, less, both = (
        cal.inference.assess_gaussian(*NEES_OF_ONE, alternative=s) for s in ("greater", "less", "two-sided")
    )
    assert greater.statistic == 7.25 / 4
    assert greater.pvalue == pytest.approx(above, rel=1e-12)
    assert less.pvalue == pytest.approx(1 - above, rel=1e-12)
    assert both.pvalue == pytest.approx(2 * min(above, 1 - above), rel=1e-12)
    assert (both.method, both.detail["degrees_of_freedom"], both.n) == ("chi_square", 4, 4)
    for result, share in ((greater, 0.05), (both, 0.025)):
        assert result.critical_value is not None
        assert tail(4 * result.critical_value, 4) == pytest.approx(share, rel=1e-10)
    assert both.lower_critical_value is not None
    assert tail(4 * both.lower_critical_value, 4) == pytest.approx(0.975, rel=1e-10)
    assert less.critical_value is not None
    assert tail(4 * less.critical_value, 4) == pytest.approx(0.95, rel=1e-10)


def test_ecd_is_nees_on_another_scale() -> None:
    rng = np.random.default_rng(0)
    x, cov = rng.normal(size=(37, 3)), np.diag([1.0, 2.0, 0.5]) + 0.1
    for side in ("greater", "less", "two-sided"):
        one, other = (
            cal.inference.assess_gaussian(x, np.zeros_like(x), cov, metric=m, alternative=side) for m in ("nees", "ecd")
        )
        assert other.pvalue == one.pvalue
        assert other.statistic == pytest.approx((one.statistic - 3) / 2, abs=1e-14)
        assert other.statistic == pytest.approx(cal.metrics.ecd_gaussian(x, np.zeros_like(x), cov), abs=1e-14)
        assert other.critical_value == pytest.approx((one.critical_value - 3) / 2, abs=1e-14)
    assert cal.inference.assess_gaussian(x, x, cov).alternative == "two-sided"
    safe = cal.inference.assess_gaussian(x, x, cov, metric="ecd")
    assert (safe.alternative, safe.pvalue, safe.rejected) == ("greater", 1.0, False)
    assert safe.null_hypothesis == "the forecasts are safe (not overconfident)"


def test_critical_values_decide_as_the_pvalue_does() -> None:
    rng = np.random.default_rng(1)
    for trial in range(60):
        n, scale = int(rng.integers(2, 50)), float(np.exp(rng.normal() / 3))
        error = scale * rng.normal(size=n)
        for result in (
            cal.inference.assess_gaussian(error, 0 * error, 1.0),
            cal.inference.assess_gaussian(error, 0 * error, 1.0, alternative="less", alpha=0.2),
            cal.inference.assess_density(-(error**2) / 2, 0.5, alternative=("greater", "less", "two-sided")[trial % 3]),
        ):
            high = result.critical_value
            assert high is not None
            outside = result.statistic < high if result.alternative == "less" else result.statistic > high
            if result.lower_critical_value is not None:
                outside = outside or result.statistic < result.lower_critical_value
            assert outside == result.rejected


def hall(values: list[float]) -> float:
    """Hall's transformed statistic by loops (Hall 1992, JRSS B 54, p. 224), for a mean of 0."""
    n = len(values)
    mean = sum(values) / n
    spread = math.sqrt(sum((v - mean) ** 2 for v in values) / n)
    skew = sum((v - mean) ** 3 for v in values) / n / spread**3
    t = mean / spread
    return math.sqrt(n) * (t + skew * t**2 / 3 + skew**2 * t**3 / 27 + skew / (6 * n))


def test_density_against_loops() -> None:
    from scipy.stats import t as student

    rng = np.random.default_rng(2)
    for n in (2, 3, 19, 20, 101):
        density, entropy = rng.normal(size=n), rng.normal(size=n)
        statistic = hall([-a - b for a, b in zip(density.tolist(), entropy.tolist(), strict=True)])
        result = cal.inference.assess_density(density, entropy)
        assert result.statistic == pytest.approx(cal.metrics.ecd_density(density, entropy), abs=1e-14)
        assert result.pvalue == pytest.approx(student.sf(statistic, n - 1), rel=1e-8)
        assert result.detail["t"] == pytest.approx(statistic, rel=1e-10)
        assert ("approximate" in result.null_distribution) == (n < 20)
    symmetric = cal.inference.assess_density([-1.0, -2, -3], 1.5)
    assert symmetric.pvalue == pytest.approx(student.sf(math.sqrt(3) * 0.5 / math.sqrt(2 / 3), 2))


def test_an_impossible_value_is_overconfidence() -> None:
    for side, pvalue in (("greater", 0), ("two-sided", 0), ("less", 1)):
        result = cal.inference.assess_density([-1, -math.inf, 0], 1, alternative=side)
        assert (result.statistic, result.pvalue, result.critical_value) == (math.inf, pvalue, None)
    assert json.loads(json.dumps(result.to_dict()))["statistic"] == "inf"
    assert cal.inference.assess_gaussian([1e200], [0], [1e-300]).pvalue == 0


FORECASTS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "gaussian": lambda rng, shape: (rng.chisquare(1, shape) - 1) / 2,
    "laplace": lambda rng, shape: rng.exponential(size=shape) - 1,
}


def rate(test: Callable[[np.ndarray], cal.inference.SignificanceResult], draws: np.ndarray) -> float:
    return float(np.mean([test(each).rejected for each in draws]))


@pytest.mark.parametrize("name", ["gaussian", "laplace"])
def test_level_of_the_density_test(name: str, deep: bool) -> None:
    """The level of 5% with 50 rows; the uncorrected t test rejects about 2% of overconfident and 10% of underconfident ones."""
    runs = 20_000 if deep else 800
    draws = FORECASTS[name](np.random.default_rng(3), (runs, 50))
    sizes = {
        side: rate(lambda v, s=side: cal.inference.assess_density(-v, 0.0, alternative=s), draws)
        for side in ("greater", "less")
    }
    noise = 4 * math.sqrt(0.05 * 0.95 / runs)
    assert abs(sizes["greater"] - 0.047) < 0.006 + noise, sizes
    assert abs(sizes["less"] - 0.06) < 0.012 + noise, sizes
    overconfident = draws[:300] * 1.5 + (draws[:300] * 0 + (0.25 if name == "gaussian" else 0.5))
    assert rate(lambda v: cal.inference.assess_density(-v, 0.0), overconfident) > 0.4


def test_rows_that_a_smaller_level_requires() -> None:
    """20 (ln level / ln 0.05)^2: 20 at 5%, 48 at 1%; larger levels require no fewer."""
    values = np.random.default_rng(8).exponential(size=6000)
    for n, alpha, marked in ((20, 0.05, False), (19, 0.05, True), (47, 0.01, True), (48, 0.01, False), (19, 0.5, True)):
        alone = cal.inference.assess_density(-values[:n], 1.0, alpha=alpha)
        assert ("approximate" in alone.null_distribution) == marked

"""Sample sizes by precision: formulas against plain integrals, widths against simulated validation studies."""

import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal

Z = 1.959963984540054


def rows_for_slope(risk: Any, width: float) -> int:
    """The formula of Riley et al. (2021) as a mean over given risks."""
    i00 = i01 = i11 = 0.0
    for p in risk:
        x = math.log(p / (1 - p))
        i00, i01, i11 = i00 + p * (1 - p), i01 + x * p * (1 - p), i11 + x * x * p * (1 - p)
    n = len(risk)
    se = width / (2 * Z)
    return math.ceil(i00 / n / (se * se * (i00 * i11 - i01 * i01) / n**2))


def rows_for_auroc(c: float, rate: float, width: float) -> int:
    n = 2
    while True:
        inner = 1 + (n / 2 - 1) * (1 - c) / (2 - c) + (n / 2 - 1) * c / (1 + c)
        if 2 * Z * math.sqrt(c * (1 - c) * inner / (n * n * rate * (1 - rate))) <= width:
            return n
        n += 1


def test_recorded_risks_with_ties() -> None:
    risk = np.repeat([0.05, 0.1, 0.1, 0.3, 0.8], 40)
    found = cal.inference.precision_sample_size(
        risk, threshold=0.2, widths={"calibration slope": 0.3, "C statistic": 0.1, "standardised net benefit": 0.2}
    )
    assert found["calibration slope"].n == rows_for_slope(risk, 0.3)
    rate = float(risk.mean())
    assert found.prevalence == pytest.approx(rate)
    assert found["C statistic"].n == rows_for_auroc(found["C statistic"].value, rate, 0.1)
    pairs = [(a, b) for a in set(risk) for b in set(risk)]
    share = {p: float(np.mean(risk == p)) for p in set(risk)}
    won = math.fsum(share[a] * a * share[b] * (1 - b) * ((a > b) + (a == b) / 2) for a, b in pairs)
    assert found["C statistic"].value == pytest.approx(won / (rate * (1 - rate)))
    sensitivity = risk[risk >= 0.2].sum() / risk.sum()
    specificity = (1 - risk[risk < 0.2]).sum() / (1 - risk).sum()
    benefit = sensitivity - (1 - specificity) * (1 - rate) / rate * 0.25
    assert found["standardised net benefit"].value == pytest.approx(benefit)


@pytest.mark.parametrize(
    ("given", "draw"),
    [
        ({"scores": (2, 8)}, lambda g, n: g.beta(2, 8, n)),
        ({"scores": (0.4, 0.7)}, lambda g, n: g.beta(0.4, 0.7, n)),
    ],
    ids=["beta", "u-shaped"],
)
def test_integrals_are_limits_of_recorded_risks(given: dict[str, Any], draw: Any) -> None:
    risk = np.clip(draw(np.random.default_rng(3), 200_000), 1e-12, 1 - 1e-12)
    exact, recorded = (cal.inference.expected_precision(1000, threshold=0.3, **g) for g in (given, {"scores": risk}))
    for one, other in zip(exact.criteria, recorded.criteria, strict=True):
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=0.01, abs=0.01)


def test_threshold_is_a_node_of_the_integral() -> None:
    from scipy.special import betainc
    from scipy.stats import norm

    found = cal.inference.expected_precision(1000, (2, 8), threshold=0.1)["standardised net benefit"]
    sensitivity, false = 1 - betainc(3, 8, 0.1), 1 - betainc(2, 9, 0.1)
    assert found.value == pytest.approx(sensitivity - 4 / 9 * false, abs=1e-12)
    binormal = cal.inference.expected_precision(1000, prevalence=0.2, auroc=0.8, threshold=0.3)
    v = 2 * norm.ppf(0.8) ** 2
    ends = [norm.sf(math.log(3 / 7), math.log(0.25) + sign * v / 2, math.sqrt(v)) for sign in (1, -1)]
    value = binormal["standardised net benefit"].value
    assert value == pytest.approx(ends[0] - 4 * 3 / 7 * ends[1], abs=1e-10)
    assert binormal["C statistic"].value == 0.8
    assert "check the distribution" not in binormal.note
    from_distribution = cal.inference.expected_precision(1000, (2, 8))["C statistic"].value
    a, b = np.random.default_rng(0).beta(3, 8, 400_000), np.random.default_rng(1).beta(2, 9, 400_000)
    assert from_distribution == pytest.approx(float(np.mean(a > b)), abs=0.003)


@pytest.mark.parametrize(
    "given", [{"scores": (2, 8), "threshold": 0.2}, {"prevalence": 0.1, "auroc": 0.75, "threshold": 0.1}], ids=str
)
def test_rows_are_the_smallest_that_meet_the_width(given: dict[str, Any]) -> None:
    found = cal.inference.precision_sample_size(**given)
    for criterion in found.criteria:
        assert cal.inference.expected_precision(criterion.n, **given)[criterion.name].width <= criterion.target + 1e-12
        assert cal.inference.expected_precision(criterion.n - 1, **given)[criterion.name].width > criterion.target
    assert found.n == max(c.n for c in found.criteria) == found[found.decisive].n
    assert found.events == math.ceil(found.n * found.prevalence)


def test_equal_risks_leave_the_slope_open() -> None:
    found = cal.inference.precision_sample_size(np.full(50, 0.2), widths={"O/E": 0.2, "C statistic": 0.1})
    assert [c.name for c in found.criteria] == ["O/E", "C statistic"]
    assert math.isinf(cal.inference.expected_precision(100, np.full(50, 0.2))["calibration slope"].width)

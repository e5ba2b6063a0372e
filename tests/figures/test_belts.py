"""The GiViTI belt: bounds against a search over the likelihood, ranges against the diagonal, the picture against its data."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import calibrant as cal
from calibrant.errors import UndefinedMetricError
from calibrant.figures.belts import _ranges
from tests.calling import call, raises

SIM = cal.inference.make_miscalibrated(150, warp=cal.inference.simulation.temperature(2.0), distribution=(2, 4), rng=1)
Y, P = np.asarray(SIM.y_true), np.asarray(SIM.y_prob)
FAST: dict[str, Any] = {"method": "likelihood_ratio", "points": 8}


def test_bounds_by_a_search_over_the_likelihood() -> None:
    """The lowest and highest value of the curve at a risk among lines whose likelihood ratio is at most the quantile."""
    belt = call(cal.figures.calibration_belt, Y, P, levels=(0.9,), **FAST)
    assert belt.degree == 1
    x = np.log(P / (1 - P))

    def loss(beta: Any) -> float:
        eta = beta[0] + beta[1] * x
        return float(np.sum(np.logaddexp(0, eta) - Y * eta))

    best = minimize(loss, [0.0, 1.0], tol=1e-12)
    allowed = -2 * np.log(0.1)  # the quantile of chi-square with 2 degrees of freedom
    for i in (0, 3, 7):
        v = np.log(belt.risk[i] / (1 - belt.risk[i]))
        for side, bound in ((1, belt.low[0][i]), (-1, belt.high[0][i])):
            inside = {"type": "ineq", "fun": lambda beta: allowed / 2 - (loss(beta) - best.fun)}
            found = minimize(
                lambda beta, side=side, v=v: side * (beta[0] + beta[1] * v),
                best.x,
                constraints=[inside],
                method="SLSQP",
                options={"ftol": 1e-12, "maxiter": 300},
            )
            assert bound == pytest.approx(1 / (1 + np.exp(-side * found.fun)), abs=1e-5)


def test_the_belt_and_the_test_agree() -> None:
    """The belt contains the diagonal everywhere if and only if the test does not reject at its level."""
    for seed in range(6):
        data = cal.inference.make_miscalibrated(
            200, warp=cal.inference.simulation.temperature(1.25), distribution=(2, 4), rng=seed
        )
        belt = cal.figures.calibration_belt(data.y_true, data.y_prob, levels=(0.9,), method="likelihood_ratio")
        assert belt.pvalue == cal.inference.giviti_test(data.y_true, data.y_prob, method="likelihood_ratio").pvalue
        if belt.pvalue > 0.1:
            assert belt.over == belt.under == ((),)
        leaves = bool(belt.over[0] or belt.under[0])
        assert not leaves or belt.pvalue < 0.1


def test_wider_levels_contain_narrower_ones() -> None:
    belt = cal.figures.calibration_belt(Y, P, levels=[0.95, 0.5, 0.8], method="likelihood_ratio")
    assert belt.levels == (0.5, 0.8, 0.95)
    for inner, outer in ((0, 1), (1, 2)):
        assert (belt.low[outer] <= belt.low[inner]).all()
        assert (belt.high[outer] >= belt.high[inner]).all()
    assert ((belt.low[0] <= belt.observed) & (belt.observed <= belt.high[0])).all()
    assert belt.risk[0] == pytest.approx(P.min())
    assert belt.risk[-1] == pytest.approx(P.max())
    assert len(belt.to_frame()) == 3 * len(belt.risk)
    assert belt.to_dict()["test"]["pvalue"] == belt.pvalue


def test_ranges() -> None:
    risk = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    assert _ranges(risk, np.array([1.0, 1, 1, 1, 1])) == ((0.1, 0.5),)
    assert _ranges(risk, -np.ones(5)) == ()
    found = _ranges(risk, np.array([1.0, -1, -1, 3, -1]))
    assert np.ravel(found) == pytest.approx([0.1, 0.15, 0.325, 0.475])
    over = cal.figures.calibration_belt(Y, P / 2, method="likelihood_ratio")
    assert over.over[1]
    assert not over.under[1]
    assert over.over[1][0][0] >= over.over[0][0][0] - 1e-12


def test_unfriendly_data() -> None:
    with raises(UndefinedMetricError, "giviti_test"):
        call(cal.figures.calibration_belt, np.arange(40) % 2, np.full(40, 0.3), **FAST)
    separated = np.sort(P) > 0.4
    with raises(UndefinedMetricError, "calibration_belt"):
        call(cal.figures.calibration_belt, separated.astype(int), np.sort(P), **FAST)
    tied = call(cal.figures.calibration_belt, Y, np.clip(np.round(P, 1), 0.05, 0.95), **FAST)
    assert (tied.low[1] < tied.high[1]).all()

"""The pooled calibration curve of centres: each curve and each pooled point by their parts, the bands, and the figure."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logit

import calibrant as cal
from calibrant.errors import GroupError
from tests.calling import raises

pooled_curve = cal.clinical.pooled_curve


def centres(k: int, n: int, spread: float, seed: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    centre = np.repeat(np.arange(k), n)
    line = rng.normal(-1, 1, k * n)
    y = rng.random(k * n) < expit(line + rng.normal(0, spread, k)[centre])
    return y.astype(int), expit(line), centre


Y, RISK, CENTRE = centres(6, 300, 0.5, 0)
PREDS = cal.Predictions(Y, RISK, groups=CENTRE)


def test_points_are_pooled_log_odds_of_the_flexible_curves_of_the_centres() -> None:
    found = pooled_curve(PREDS, points=9)
    rates = []
    for code in range(6):
        rows = code == CENTRE
        curve = cal.figures.flexible_calibration_curve(Y[rows], RISK[rows], smoother="rcs", knots=3)
        rates.append(curve.at(found.score))
    for place in (2, 4, 6):
        inside = [
            rate
            for code, rate in enumerate(rates)
            if RISK[code == CENTRE].min() <= found.score[place] <= RISK[code == CENTRE].max()
        ]
        values = [logit(rate[0][place]) for rate in inside]
        errors = [(logit(rate[2][place]) - logit(rate[1][place])) / (2 * 1.959963984540054) for rate in inside]
        pooled = cal.inference.pool_estimates(values, errors, transform="expit")
        assert found.k[place] == len(inside)
        assert found.estimate[place] == pytest.approx(pooled.estimate, abs=1e-6)
        assert [found.low[place], found.high[place]] == pytest.approx([pooled.low, pooled.high], abs=1e-6)
        ends = [found.prediction_low[place], found.prediction_high[place]]
        assert ends == pytest.approx([pooled.prediction_low, pooled.prediction_high], abs=1e-6)
    middle = slice(2, 7)
    assert (found.prediction_low[middle] < found.low[middle]).all()
    assert (found.low < found.estimate).all()


def test_centres_without_a_curve_are_left_out_with_the_reason() -> None:
    y = Y.copy()
    y[CENTRE == 2] = 0
    found = pooled_curve(cal.Predictions(y, RISK, groups=CENTRE), points=5)
    assert found.left_out == {"2": "fewer than 10 rows with or without the event"}
    assert "left out: 2, fewer than 10" in repr(found)
    assert len(found.curves) == 5


def test_a_risk_of_fewer_than_three_centres_has_no_point() -> None:
    risk = np.where(CENTRE < 4, 0.5 * RISK, RISK)
    found = pooled_curve(cal.Predictions(Y, risk, groups=CENTRE), points=20)
    assert (found.k >= 2).all()
    assert np.isnan(found.estimate[found.k < 3]).all()
    assert np.isfinite(found.estimate[found.k >= 3]).all()
    assert (found.k < 3).any()


def test_the_figure_shows_every_centre_the_mean_and_both_bands() -> None:
    found = pooled_curve(PREDS, points=12)
    diagram = cal.figures.curves_diagram(found)
    ax = diagram.plot()
    lines = {gid: [line for line in ax.get_lines() if line.get_gid() == gid] for gid in ("groups", "curve")}
    assert [len(each) for each in lines.values()] == [6, 1]
    assert lines["curve"][0].get_linewidth() > 2 * lines["groups"][0].get_linewidth()
    assert (lines["curve"][0].get_ydata() == found.estimate).all()
    assert [band.get_label() for band in ax.collections] == ["prediction band", "confidence band"]
    assert "6 groups" in repr(diagram)
    assert {"prediction_low", "0", "5"} <= set(diagram.to_frame().columns)


def test_the_figure_of_predictions_has_the_curve_of_all_rows() -> None:
    diagram = cal.figures.curves_diagram(PREDS, points=10)
    whole = cal.figures.flexible_calibration_curve(Y, RISK, smoother="rcs", knots=3)
    assert diagram.pooled == pytest.approx(whole.at(diagram.score)[0], abs=1e-9)
    assert diagram.low is None
    assert [band.get_gid() for band in diagram.plot().collections if band.get_gid()] == []
    with raises(GroupError, "groups"):
        cal.figures.curves_diagram(Y, RISK)


def test_counts_are_repeated_rows() -> None:
    counts = np.arange(len(Y)) % 4
    names = np.array([f"Centre {code}" for code in CENTRE])
    counted = pooled_curve(cal.Predictions(Y, RISK, groups=names, counts=counts))
    rows = np.repeat(np.arange(len(Y)), counts)
    repeated = pooled_curve(cal.Predictions(Y[rows], RISK[rows], groups=names[rows]))
    assert list(counted.curves) == [f"Centre {code}" for code in range(6)]
    assert counted.n == repeated.n == counts.sum()
    np.testing.assert_allclose(counted.score, repeated.score, rtol=0, atol=1e-12)
    np.testing.assert_allclose(counted.estimate, repeated.estimate, rtol=0, atol=1e-6)

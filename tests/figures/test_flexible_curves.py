"""The flexible calibration curve: the curve behind `ici`, its variance against the whole smoothing matrix, coverage, pictures."""

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.curves.local_regression import Groups, loess
from calibrant.errors import BoundaryScoresWarning, UndefinedMetricError
from tests.calling import call, raises

from .pictures import assert_readable

SIM = cal.inference.make_miscalibrated(120, warp=cal.inference.simulation.temperature(1.5), distribution=(2, 6), rng=5)
Y, P = np.asarray(SIM.y_true), np.asarray(SIM.y_prob)
CALIBRATED = cal.inference.simulation.temperature(1.0)
TIED = np.clip(np.round(P, 1), 0.05, 0.95)
Z = 1.959963984540054


def expit(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("risk", [P, TIED], ids=["distinct", "tied"])
@pytest.mark.parametrize("weighted", ["none", "counts", "sample_weight"])
@pytest.mark.parametrize("smoother", ["loess", "rcs"])
def test_mean_distance_is_the_ici(risk: Any, weighted: str, smoother: str) -> None:
    rng = np.random.default_rng(0)
    weight = {
        "none": np.ones(len(Y)),
        "counts": rng.integers(1, 4, len(Y)),
        "sample_weight": rng.exponential(size=len(Y)),
    }
    keywords = {} if weighted == "none" else {weighted: weight[weighted]}
    curve = call(cal.figures.flexible_calibration_curve, Y, risk, smoother=smoother, **keywords)
    distance = np.abs(curve.at(risk)[0] - risk)
    ici = call(cal.ici, Y, risk, smoother=smoother, surface="interpolate", **keywords)
    assert np.average(distance, weights=weight[weighted]) == pytest.approx(ici, abs=1e-12)


def matrix_of(risk: Any) -> Any:
    """The smoothing matrix L of LOESS: its column j is the curve of an outcome that is 1 in row j and 0 elsewhere."""
    order = np.argsort(risk, kind="stable")
    score, n = risk[order], len(risk)
    assert len(np.unique(score)) == n
    columns = [loess(Groups(score, row, np.ones(n), np.arange(1, n + 1)), 0.75, 2, "interpolate") for row in np.eye(n)]
    return order, np.column_stack(columns)


def test_intervals_of_loess_by_the_whole_matrix() -> None:
    order, matrix = matrix_of(P)
    y, x = Y[order], P[order]
    fitted = matrix @ y
    kept = np.clip(fitted, 0, 1)
    assert cal.figures.flexible_calibration_curve(Y, P).observed == pytest.approx(kept, abs=1e-12)
    rest = np.eye(len(y)) - matrix
    sigma = np.sum((y - fitted) ** 2) / np.trace(rest @ rest.T)
    unit = (matrix**2).sum(axis=1)
    known = cal.figures.flexible_calibration_curve(Y, P, uncertainty="residual")
    assert known.low == pytest.approx(np.clip(fitted - Z * np.sqrt(sigma * unit), 0, 1), abs=1e-10)
    assert known.high == pytest.approx(np.clip(fitted + Z * np.sqrt(sigma * unit), 0, 1), abs=1e-10)
    for i, (low, high) in enumerate(zip(*cal.figures.flexible_calibration_curve(Y, P).at(x)[1:], strict=True)):
        variance = sum(matrix[i, j] ** 2 * kept[j] * (1 - kept[j]) for j in range(len(y)))
        # Wilson: the p with (p_hat - p)^2 = z^2 variance, for 1 / unit rows of the local variance.
        rows = 1 / unit[i]
        centre = (kept[i] + Z**2 / (2 * rows)) / (1 + Z**2 / rows)
        half = Z / (1 + Z**2 / rows) * np.sqrt(variance + Z**2 / (4 * rows**2))
        assert (low, high) == pytest.approx((max(centre - half, 0), min(centre + half, 1)), abs=1e-10)


def test_wald_intervals_of_the_spline_by_their_likelihood() -> None:
    curve = cal.figures.flexible_calibration_curve(Y, P, smoother="rcs", knots=3)
    x = np.log(P / (1 - P))
    k1, k2, k3 = np.quantile(x, [0.1, 0.5, 0.9])

    def design(v: Any) -> Any:
        cube = lambda k: np.maximum(v - k, 0) ** 3  # noqa: E731
        bend = cube(k1) - cube(k2) * (k3 - k1) / (k3 - k2) + cube(k3) * (k2 - k1) / (k3 - k2)
        return np.column_stack([np.ones(len(v)), v, bend / (k3 - k1) ** 2])

    beta, columns = np.zeros(3), design(x)
    for _ in range(30):
        mu = expit(columns @ beta)
        information = columns.T @ (columns * (mu * (1 - mu))[:, None])
        beta = beta + np.linalg.solve(information, columns.T @ (Y - mu))
    at = np.array([0.1, 0.25, 0.4])
    new = design(np.log(at / (1 - at)))
    error = np.sqrt(np.diag(new @ np.linalg.inv(information) @ new.T))
    found = curve.at(at)
    for sign, values in zip((0, -Z, Z), found, strict=True):
        assert values == pytest.approx(expit(new @ beta + sign * error), abs=1e-9)


@pytest.mark.usefixtures("quick_intervals")
def test_regression_and_c_statistic() -> None:
    curve = cal.figures.flexible_calibration_curve(Y, P, level=0.9)
    assert curve.slope.value == pytest.approx(cal.cox_slope(Y, P), abs=1e-9)
    assert curve.intercept.value == pytest.approx(cal.calibration_in_the_large(Y, P, form="logit"), abs=1e-9)
    assert curve.c_statistic.value == pytest.approx(cal.evaluation.auroc(Y, P), abs=1e-12)
    assert curve.slope.low < curve.slope.value < curve.slope.high
    known = cal.clinical.summary(Y, P, level=0.9, n_resamples=100, rng=0)
    for found, name in ((curve.intercept, "intercept"), (curve.slope, "slope")):
        assert found == pytest.approx((known[name].value, known[name].low, known[name].high), abs=1e-12)


def test_unfriendly_data() -> None:
    one = cal.figures.flexible_calibration_curve(np.arange(50) % 4 == 0, np.full(50, 0.3))
    assert one.observed == pytest.approx([0.26])
    assert np.isnan(one.slope.value)
    assert_readable(one.plot())
    same = cal.figures.flexible_calibration_curve(np.zeros(40), np.linspace(0.1, 0.5, 40))
    assert same.observed == pytest.approx(np.zeros(40), abs=1e-12)
    assert (same.high > 0).all()
    assert same.intercept.value == -np.inf
    assert np.isnan([same.slope.value, same.c_statistic.value]).all()
    assert_readable(same.plot())
    with raises(UndefinedMetricError, "smoother"):
        cal.figures.flexible_calibration_curve(np.zeros(40), np.linspace(0.1, 0.5, 40), smoother="rcs")
    with pytest.warns(BoundaryScoresWarning):
        cal.figures.flexible_calibration_curve(Y, np.round(P, 1), smoother="rcs", knots=3)
    curve = cal.figures.flexible_calibration_curve([0, 0, 1, 0, 1, 1], [0.0, 0.2, 0.3, 0.5, 0.7, 1.0])
    assert np.isfinite(curve.observed).all()
    tiny = cal.figures.flexible_calibration_curve([0, 1, 1], [0.2, 0.4, 0.6])
    assert len(tiny.risk) == 3
    assert np.isfinite(tiny.low).all()
    named = cal.figures.flexible_calibration_curve(np.where(Y == 1, "ill", "well"), P, pos_label="ill")
    assert named.observed == pytest.approx(cal.figures.flexible_calibration_curve(Y, P).observed)
    four = np.random.default_rng(0).dirichlet(np.ones(4), 60)
    labels = np.arange(60) % 4
    assert len(cal.figures.flexible_calibration_curve(labels, four, lens="class:2").risk) == 60


def test_outside_the_data_there_is_no_curve() -> None:
    curve = cal.figures.flexible_calibration_curve(Y, P)
    for values in curve.at([0.0, 0.999]):
        assert np.isnan(values).all()
    assert curve.at(0.3)[0].shape == (1,)
    free = cal.figures.flexible_calibration_curve(Y, P, level=None)
    assert free.how is None
    assert np.isnan(free.low).all()
    assert list(curve.to_frame().columns) == ["risk", "observed", "low", "high"]
    assert curve.to_dict()["slope"]["value"] == curve.slope.value
    rows = curve.distribution
    assert (rows.events.sum(), rows.others.sum()) == (Y.sum(), len(Y) - Y.sum())


def test_equal_weights_give_the_band_without_weights() -> None:
    p = np.linspace(0.05, 0.9, 60)
    y = (np.random.default_rng(0).random(60) < p).astype(int)
    for smoother in ("loess", "rcs"):
        one, two = (
            call(cal.figures.flexible_calibration_curve, y, p, smoother=smoother, **w)
            for w in ({}, {"sample_weight": [2.0] * 60})
        )
        np.testing.assert_array_equal(one.low, two.low)

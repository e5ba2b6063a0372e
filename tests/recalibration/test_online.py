"""Online calibration: the steps of its paper by a general solver, one pass in parts, files, drift and errors."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

import calibrant as cal
from calibrant.inference.simulation import temperature
from calibrant.recalibration.online import GAMMA, LARGEST, RHO, _project


def stream(n, seed=0):
    """Overconfident probabilities whose bias drifts, and labels."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 1, n)
    truth = expit(logit(p) / 2 + np.linspace(0, 3, n))
    return p, truth, (rng.random(n) < truth).astype(int)


def slow_updates(features, y, theta, bins):
    """Predictions before each label: each step is the minimum of a quadratic model, found by a general optimizer."""
    curvature, counts, events = RHO * np.eye(len(theta)), np.zeros(max(bins, 1)), np.zeros(max(bins, 1))
    rates = []
    for x, label in zip(features, y, strict=True):
        p = 1 / (1 + np.exp(-x @ theta))
        place = min(int(p * bins), bins - 1) if bins else 0
        rates.append((events[place] + p) / (counts[place] + 1) if bins else p)
        counts[place] += 1
        events[place] += label
        slope = (p - label) * x
        curvature = curvature + np.outer(slope, slope)

        def model(step, slope=slope, curvature=curvature):
            return slope @ step + GAMMA / 2 * step @ curvature @ step, slope + GAMMA * curvature @ step

        theta = theta + minimize(model, np.zeros(len(theta)), jac=True, method="BFGS", options={"gtol": 1e-11}).x
    return np.array(rates), theta


@pytest.mark.parametrize(("form", "bins"), [("platt", 10), ("beta", 0), ("beta", 4)])
def test_steps_of_the_paper(form, bins):
    p, _, y = stream(120)
    ones = np.ones(len(p))
    features = np.column_stack([logit(p), ones] if form == "platt" else [np.log(p), -np.log1p(-p), ones])
    start = np.append(np.ones(features.shape[1] - 1), 0.0)
    rates, theta = slow_updates(features, y, start, bins)
    calibrator = cal.OnlineCalibration(form=form, bins=bins)
    assert calibrator.update(p, y)[:, 1] == pytest.approx(rates, abs=1e-7)
    assert calibrator.weight_[0] == pytest.approx(theta, abs=1e-6)


def test_parts_of_a_stream_and_files_are_the_whole(tmp_path: Path):
    p, _, y = stream(300)
    whole = cal.OnlineCalibration()
    expected = whole.update(p, y)
    first = cal.OnlineCalibration()
    before = [first.update(p[:100], y[:100])]
    resumed = cal.load(cal.save(first, tmp_path / "calibrator.json"))
    before += [resumed.update(p[row : row + 50], y[row : row + 50]) for row in range(100, 300, 50)]
    assert (np.vstack(before) == expected).all()
    assert resumed.updates_ == 300
    assert (resumed.predict_proba([0.2, 0.7]) == whole.predict_proba([0.2, 0.7])).all()
    assert resumed.weight_.size + resumed.curvature_.size + resumed.rows_.size + resumed.events_.size == 26


def test_drift_is_followed():
    p, truth, y = stream(6000)
    fixed = cal.PlattScaling().fit(p[:1000], y[:1000]).predict_proba(p[1000:])
    online = cal.OnlineCalibration(bins=0).fit(p[:1000], y[:1000])
    followed = online.update(p[1000:], y[1000:])
    losses = [cal.nll(y[1000:], q) for q in (truth[1000:], followed, fixed)]
    assert losses[0] < losses[1] < losses[0] + 0.5 * (losses[2] - losses[0])


def test_classes_names_and_errors():
    data = cal.inference.make_miscalibrated(400, warp=temperature(2.0), distribution=(1, 1, 1), rng=0)
    names = np.array(["ash", "birch", "cedar"])
    calibrator = cal.OnlineCalibration().fit(data.y_prob[:200], names[data.y_true[:200]])
    rows = calibrator.update(data.y_prob[200:], names[data.y_true[200:]])
    assert np.abs(rows.sum(axis=1) - 1).max() < 1e-12
    assert cal.nll(data.y_true[200:], rows) < cal.nll(data.y_true[200:], data.y_prob[200:])


def test_large_coefficients_are_projected():
    rng = np.random.default_rng(0)
    for _ in range(5):
        root = rng.normal(size=(2, 2))
        curvature, theta = root @ root.T + 0.1 * np.eye(2), rng.normal(size=2) * 400
        if np.linalg.norm(theta) <= LARGEST:
            continue
        angles = np.linspace(0, 2 * np.pi, 100_001)
        circle = LARGEST * np.array([np.cos(angles), np.sin(angles)])
        apart = circle - theta[:, None]
        nearest = circle[:, np.einsum("in,ij,jn->n", apart, curvature, apart).argmin()]
        assert _project(theta, curvature) == pytest.approx(nearest, abs=0.02)

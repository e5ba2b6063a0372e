"""recalibrate: what helps is found, what does not is left alone, and gains are those of rows not seen."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.recalibration import METHODS


def test_overconfidence_is_repaired_and_calibration_left_alone() -> None:
    for law in ((1, 1), (1, 1, 1)):
        sure = cal.make_miscalibrated(2000, law=law, warp=cal.simulate.temperature(2.0), rng=0)
        found = cal.recalibrate(sure.y_true, sure.y_prob)
        assert found.method != "none"
        assert found.gain > 0.01
        best = next(c for c in found.candidates if c.method == found.method)
        assert best.low > 0
        assert best.loss == min(c.loss for c in found.candidates)
        new = cal.make_miscalibrated(2000, law=law, warp=cal.simulate.temperature(2.0), rng=1)
        assert cal.nll(new.y_true, found.predict_proba(new.y_prob)) < cal.nll(new.y_true, new.y_prob) - 0.01
        assert found.method in repr(found)
        assert len(found.to_frame()) == len(found.candidates)
        assert found.to_dict()["method"] == found.method
    kept = 0
    for seed in range(12):
        calm = cal.make_calibrated(300, rng=seed)
        result = cal.recalibrate(calm.y_true, calm.y_prob)
        kept += result.method == "none"
        assert abs(result.gain) < 0.02
    assert kept >= 4


def test_the_loss_is_that_of_rows_not_seen() -> None:
    data = cal.make_miscalibrated(300, warp=cal.simulate.temperature(1.5), rng=3)
    found = cal.recalibrate(data.y_true, data.y_prob, method="temperature", folds=4, rng=7)
    fold = np.random.default_rng(7).permutation(300) % 4
    held = np.empty((300, 2))
    for number in range(4):
        rows = fold == number
        held[rows] = (
            cal.TemperatureScaling().fit(data.y_prob[~rows], data.y_true[~rows]).predict_proba(data.y_prob[rows])
        )
    losses = -np.log(held[np.arange(300), data.y_true])
    plain = -np.log(np.where(data.y_true == 1, data.y_prob, 1 - data.y_prob))
    candidate = found.candidates[1]
    assert candidate.loss == pytest.approx(losses.mean(), abs=1e-12)
    gain = plain - losses
    assert candidate.gain == pytest.approx(gain.mean(), abs=1e-12)
    half = 1.959963984540054 * gain.std() / np.sqrt(300)
    assert (candidate.low, candidate.high) == pytest.approx((gain.mean() - half, gain.mean() + half), abs=1e-12)
    assert candidate.ece == cal.ece(data.y_true, held)
    again = cal.recalibrate(data.y_true, data.y_prob, method="temperature", folds=4, rng=7)
    assert again.candidates == found.candidates


def test_a_rising_ece_is_explained() -> None:
    from calibrant.recalibration.choosing import Candidate, _note

    plain = Candidate("none", 0.5, 0, 0, 0, 0.02)
    assert "ece rose from 0.02" in _note(Candidate("temperature", 0.4, 0.1, 0.05, 0.15, 0.03), plain)
    assert _note(Candidate("temperature", 0.4, 0.1, 0.05, 0.15, 0.01), plain) == ""
    assert "may be chance" in _note(Candidate("temperature", 0.49, 0.01, -0.05, 0.15, 0.01), plain)


def test_maps_that_cannot_be_fitted_say_why() -> None:
    y, p = np.array([0, 1] * 30), np.array([0.2, 0.8] * 30)
    found = cal.recalibrate(y, p, method=["platt", "beta", "spline"])
    reasons = {c.method: c.reason for c in found.candidates}
    assert reasons["beta"]
    assert reasons["platt"] == ""
    assert found.method != "beta"
    assert "beta" in repr(found)


@pytest.mark.parametrize("loss", ["nll", "brier"])
def test_logits_weights_and_losses(loss: str) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(500, 4)) * 3
    probs = np.exp(z / 2) / np.exp(z / 2).sum(axis=1, keepdims=True)
    y = (rng.random((500, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    weight = rng.integers(1, 4, 500)
    found = cal.recalibrate(y, z, input="logit", loss=loss, sample_weight=weight, method=["temperature", "vector"])  # type: ignore[arg-type]
    assert found.method != "none"
    assert found.map.predict_proba(z[:5] + 1).shape == (5, 4)
    assert found.loss == loss


def test_bad_arguments_are_named() -> None:
    y, p = [0, 1] * 20, [0.3, 0.6] * 20
    with pytest.raises(cal.ArgumentError, match=r"'magic' is no map.*temperature"):
        cal.recalibrate(y, p, method="magic")
    with pytest.raises(cal.ArgumentError, match="loss"):
        cal.recalibrate(y, p, loss="ece")  # type: ignore[arg-type]
    with pytest.raises(cal.UndefinedMetricError, match="at least 10 rows"):
        cal.recalibrate(y[:6], p[:6])


def test_every_name_makes_a_map() -> None:
    for name, make in METHODS.items():
        assert make(input="logit").input == "logit", name


def test_one_class_alone_teaches_nothing() -> None:
    with pytest.raises(cal.UndefinedMetricError, match="all labels are the same"):
        cal.recalibrate(np.ones(50, int), np.linspace(0.1, 0.9, 50))

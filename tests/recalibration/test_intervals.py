"""Intervals of calibrated probabilities, against resamples written out and the Wald interval."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import NotFittedError, UndefinedMetricError
from calibrant.inference.replicates import Replicates
from calibrant.recalibration import calibration_interval

DATA = cal.inference.make_miscalibrated(800, warp=cal.inference.simulation.temperature(1.7), rng=0)
THREE = cal.inference.make_miscalibrated(
    300, distribution=(1, 1, 1), warp=cal.inference.simulation.temperature(1.7), rng=0
)
AT = np.array([0.02, 0.3, 0.5, 0.9])


def test_the_ends_are_quantiles_of_refits() -> None:
    y, p = DATA.y_true[:100], DATA.y_prob[:100]
    calibrator = cal.IsotonicCalibration().fit(p, y)
    found = calibration_interval(calibrator, y, p, at=AT, n_resamples=20, level=0.8, rng=3)
    draws = Replicates(100, 20, 3)
    refits = [copy.deepcopy(calibrator).fit(p[rows], y[rows]) for rows in map(draws.rows, range(20))]
    values = np.array([refit.predict_proba(AT)[:, 1] for refit in refits])
    low, high = np.quantile(values, [0.1, 0.9], axis=0)
    assert found.low == pytest.approx(low, abs=1e-9)
    assert found.high == pytest.approx(high, abs=1e-9)
    assert found.probability == pytest.approx(calibrator.predict_proba(AT)[:, 1])


def test_a_logistic_curve_has_nearly_its_wald_interval() -> None:
    y, p = DATA.y_true, DATA.y_prob
    calibrator = cal.PlattScaling(targets="plain").fit(p, y)
    found = calibration_interval(calibrator, y, p, at=AT, n_resamples=400)
    odds = np.log(p / (1 - p))
    x, new = np.column_stack([np.ones(len(p)), odds]), np.column_stack([np.ones(4), np.log(AT / (1 - AT))])
    rate = calibrator.apply(calibrator._read(p))[:, 1]
    covariance = np.linalg.inv((x * (rate * (1 - rate))[:, None]).T @ x)
    center = new @ [calibrator.intercept_[0], calibrator.coef_[0, 0]]
    spread = 1.96 * np.sqrt(np.einsum("ij,jk,ik->i", new, covariance, new))
    wald = [1 / (1 + np.exp(-(center + sign * spread))) for sign in (-1, 1)]
    assert found.low == pytest.approx(wald[0], abs=0.015)
    assert found.high == pytest.approx(wald[1], abs=0.015)


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
@pytest.mark.parametrize("words", [{}, {"counts": np.arange(300) % 3}, {"sample_weight": 0.5 + np.arange(300) % 2}])
def test_several_classes_and_weights(words: dict[str, Any]) -> None:
    calibrator = cal.StructuredScaling().fit(THREE.y_prob, THREE.y_true, **words)
    rows = cal.Predictions(THREE.y_true, THREE.y_prob, **words)
    found = calibration_interval(calibrator, rows, at=THREE.y_prob[:5], n_resamples=20)
    assert found.probability == pytest.approx(calibrator.apply(calibrator._read(THREE.y_prob[:5])), abs=1e-12)
    assert found.low.shape == (5, 3)
    assert (found.low < found.probability + 0.05).all()
    assert (found.probability < found.high + 0.05).all()
    assert found.n_resamples == 20
    assert list(found.to_dict())[:3] == ["probability", "low", "high"]


def test_scores_of_the_rows_are_the_default_and_order_does_not_matter_to_counts() -> None:
    calibrator = cal.TemperatureScaling().fit(DATA.y_prob[:50], DATA.y_true[:50])
    found = calibration_interval(calibrator, DATA.y_true[:50], DATA.y_prob[:50], n_resamples=10)
    assert found.probability.shape == (50,)
    assert (
        calibration_interval(calibrator, DATA.y_true[:50], DATA.y_prob[:50], n_resamples=10).low.tolist()
        == found.low.tolist()
    )


def test_too_few_rows_of_a_class() -> None:
    p, y = np.linspace(0.1, 0.9, 12), np.arange(12) == 3
    calibrator = cal.OffsetAdjustment().fit(p, y)
    with pytest.raises(UndefinedMetricError, match="could be fitted to"):
        calibration_interval(calibrator, y, p)
    with pytest.raises(NotFittedError):
        calibration_interval(cal.PlattScaling(), y, p)

"""The curve of a calibrator: its probabilities with the intervals of `predict_interval`."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import ShapeError

pytest.importorskip("matplotlib")

DATA = cal.inference.make_miscalibrated(200, warp=cal.inference.simulation.temperature(2.0), rng=0)


@pytest.mark.parametrize("calibrator", [cal.PlattScaling(), cal.IsotonicCalibration(), cal.KernelCalibration()])
def test_the_band_is_that_of_predict_interval(calibrator: cal.recalibration.Calibrator) -> None:
    fitted = calibrator.fit(DATA.y_prob, DATA.y_true)
    found = cal.figures.calibrator_curve(fitted, level=0.8, n_resamples=20, rng=1)
    expected = fitted.predict_interval(np.linspace(0, 1, 201), level=0.8, n_resamples=20, rng=1)
    ax = found.plot()
    (line,) = [each for each in ax.lines if each.get_gid() == "curve"]
    (band,) = [each for each in ax.collections if each.get_gid() == "band"]
    assert line.get_ydata() == pytest.approx(expected.probability)
    corners = band.get_paths()[0].vertices[1:202]
    assert corners[:, 1] == pytest.approx(expected.low)
    assert found.high.tolist() == expected.high.tolist()
    assert "80% intervals" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert ax.get_xlabel() == "predicted probability"


def test_logits_have_no_diagonal() -> None:
    odds = np.log(DATA.y_prob / (1 - DATA.y_prob))
    ax = cal.figures.calibrator_curve(cal.PlattScaling(input="logit").fit(odds, DATA.y_true)).plot()
    assert not [line for line in ax.lines if line.get_gid() == "diagonal"]
    assert ax.get_xlabel() == "logit"


def test_several_classes_have_no_curve() -> None:
    scores = [[0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.5, 0.3, 0.2]]
    with pytest.raises(ShapeError, match="2 classes; the calibrator was fitted on 3"):
        cal.figures.calibrator_curve(cal.TemperatureScaling().fit(scores, [0, 1, 2, 1]))

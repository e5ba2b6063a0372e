"""Log-odds too large for a probability: margins in the hundreds, of which no map may lose any."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss, roc_auc_score

import calibrant as cal
from calibrant.recalibration.methods import METHODS
from calibrant.recalibration.persistence import load, save

RNG = np.random.default_rng(0)
MARGIN, NEW = RNG.normal(0, 300, (2, 3000))
Y, NEW_Y = (RNG.random((2, 3000)) < expit(np.array([MARGIN, NEW]) / 100)).astype(int)
# The grid of temperatures of one, from 0.5 to 2, is that of its paper; another is for scores with few levels; adjustments of the mean keep the
# confidence.
SCALED = [
    name
    for name in METHODS
    if name not in ("none", "miscalibration_aware_temperature", "histogram_levels") and "adjustment" not in name
]


@pytest.mark.filterwarnings("ignore::calibrant.CalibrantWarning")
@pytest.mark.parametrize("name", SCALED)
def test_large_margins_are_told_apart(name: str) -> None:
    calibrator = METHODS[name](input="logit").fit(MARGIN, Y)
    rate = calibrator.predict_proba(NEW)[:, 1]
    assert roc_auc_score(NEW_Y, rate) > roc_auc_score(NEW_Y, NEW) - 0.006
    assert log_loss(NEW_Y, rate) < 0.42
    two = METHODS[name](input="logit").fit(np.column_stack([-MARGIN / 2, MARGIN / 2]), Y)
    assert two.predict_proba(np.column_stack([-NEW / 2, NEW / 2]))[:, 1] == pytest.approx(rate, abs=1e-9)


@pytest.mark.parametrize("factor", [1.0, 7.0, 1e5])
def test_platt_is_the_likeliest_line_on_any_scale(factor: float) -> None:
    calibrator = cal.PlattScaling(input="logit", targets="plain").fit(factor * MARGIN, Y)
    unit = cal.PlattScaling(input="logit", targets="plain").fit(MARGIN / 100, Y)
    assert unit.scale_ == 1
    assert calibrator.scale_ > 1
    assert np.log2(calibrator.scale_) % 1 == 0
    assert calibrator.coef_[0, 0] == calibrator.curves_[0].slope / calibrator.scale_
    assert f"scale_={calibrator.scale_:g}" in repr(calibrator)
    assert calibrator.curves_[0].slope / calibrator.scale_ == pytest.approx(
        unit.curves_[0].slope / 100 / factor, rel=1e-6
    )
    assert calibrator.predict_proba(factor * NEW) == pytest.approx(unit.predict_proba(NEW / 100), abs=1e-6)


@pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")
def test_ordinary_logits_are_not_scaled() -> None:
    for margin in (MARGIN / 50, np.append(MARGIN[:-1] / 100, -1e9), np.append(MARGIN[:-1] / 50, np.inf)):
        calibrator = cal.PlattScaling(input="logit").fit(margin, Y)
        assert calibrator.scale_ == 1
    as_given = cal.PlattScaling().fit(expit(MARGIN / 50), Y)
    calibrator = cal.PlattScaling(input="logit").fit(MARGIN / 50, Y)
    assert calibrator.curves_[0].slope == pytest.approx(as_given.curves_[0].slope, rel=1e-6)


def test_classes_ruled_out_stay_at_the_ends() -> None:
    margin = MARGIN.copy()
    margin[np.argmax(Y)], margin[np.argmin(Y)] = np.inf, -np.inf
    calibrator = cal.IsotonicCalibration(input="logit").fit(margin, Y)
    assert calibrator.scale_ > 1
    ends = calibrator.predict_proba([-np.inf, margin[np.isfinite(margin)].min(), 2000.0, np.inf])[:, 1]
    assert (np.diff(ends) >= 0).all()
    assert ends[0] < 0.05 < 0.95 < ends[-1]


@pytest.mark.parametrize("name", ["platt", "isotonic", "venn_abers", "intra_order_preserving", "top_label_histogram"])
def test_the_scale_is_saved(name: str, tmp_path: Path) -> None:
    calibrator = METHODS[name](input="logit").fit(MARGIN, Y)
    path = save(calibrator, tmp_path / "map.json")
    again = load(path)
    assert getattr(again, "scale_", 0) == calibrator.scale_ > 1  # type: ignore[attr-defined]
    assert again.predict_proba(NEW).tobytes() == calibrator.predict_proba(NEW).tobytes()
    assert save(again, tmp_path / "again.json").read_bytes() == path.read_bytes()
    usual = METHODS[name](input="logit").fit(MARGIN / 50, Y)
    assert "scale_" not in save(usual, tmp_path / "usual.json").read_text()
    assert load(tmp_path / "usual.json").scale_ == 1  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore::calibrant.errors.InSampleWarning")
def test_offsets_reach_large_logits() -> None:
    calibrator = cal.OffsetAdjustment(target=0.2, input="logit").fit(MARGIN)
    assert calibrator.predict_proba(MARGIN)[:, 1].mean() == pytest.approx(0.2, abs=1e-9)
    assert calibrator.offset_[1] < -40


@pytest.mark.filterwarnings("ignore::calibrant.errors.InSampleWarning")
def test_multicalibration_reaches_large_logits() -> None:
    groups = np.where(np.arange(3000) % 2, "a", "b")
    margin = MARGIN + np.where(groups == "a", 400.0, 0.0)
    calibrator = cal.MultiCalibration(input="logit", levels=1, held_out=0).fit(margin, Y, groups=groups)
    rate = calibrator.predict_proba(margin, groups)[:, 1]
    assert np.abs(calibrator.shifts_).max() > 60
    assert rate[groups == "a"].mean() == pytest.approx(Y[groups == "a"].mean(), abs=0.01)

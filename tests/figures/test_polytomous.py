"""The polytomous calibration plot: each curve is that of one class against the rest, as panels or in one."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal

pytest.importorskip("matplotlib")

from .pictures import assert_readable, assert_same

DATA = cal.inference.make_miscalibrated(
    400, warp=cal.inference.simulation.temperature(1.5), distribution=(1, 2, 3, 2), rng=0
)
NAMES = ["benign", "borderline", "early", "late"]
Y, P = np.array(NAMES)[DATA.y_true], DATA.y_prob
FOUND = cal.figures.classwise_curves(cal.Predictions(Y, P, classes=NAMES))


def test_each_curve_is_that_of_one_class() -> None:
    assert list(FOUND.curves) == NAMES
    for k, name in enumerate(NAMES):
        alone = cal.figures.flexible_calibration_curve(name == Y, P[:, k])
        np.testing.assert_allclose(FOUND[name].observed, alone.observed)
        np.testing.assert_allclose(FOUND[name].high, alone.high)
        assert FOUND[name].slope.value == pytest.approx(alone.slope.value)
    spline = cal.figures.classwise_curves(
        cal.Predictions(Y, P, classes=NAMES), smoother="rcs", level=None, show=["late"]
    )
    assert list(spline.curves) == ["late"]
    assert spline["late"].smoother == "rcs"
    assert list(cal.figures.classwise_curves(cal.Predictions(Y, P, classes=NAMES), show=2).curves) == [
        "borderline",
        "early",
    ]


def test_panels_and_overlay_show_the_curves() -> None:
    axes = FOUND.plot()
    assert_readable(axes)
    assert [ax.get_title() for ax in axes] == NAMES
    for ax, curve in zip(axes, FOUND.curves.values(), strict=True):
        line = next(one for one in ax.lines if one.get_gid() == "curve")
        assert_same(line.get_ydata(), curve.observed[curve.risk <= curve.end])
    (ax,) = FOUND.plot(layout="overlay")
    assert sum(one.get_gid() == "curve" for one in ax.lines) == 4
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert set(NAMES) <= set(words)
    assert_readable(ax)


def test_forms() -> None:
    assert set(FOUND.to_frame()["class"]) == set(NAMES)
    assert repr(FOUND).startswith("Flexible calibration curves of 4 classes")

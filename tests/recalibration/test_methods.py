"""Calibrators register themselves: one class is known to recalibrate, to save and load, and to reports."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.recalibration import Calibrator, Method
from calibrant.recalibration.base import METHODS
from calibrant.recalibration.methods import TYPES, find_method
from tests.calling import raises

DATA = cal.inference.make_miscalibrated(400, warp=cal.inference.simulation.temperature(2.0), rng=0)


@pytest.fixture
def halved() -> Iterator[type[Calibrator]]:
    @dataclass(eq=False, repr=False)
    class Halved(Calibrator):
        methods = (Method("halved", "half of the way", {"binary": (100, 0)}), Method("kept", options={"share": 1.0}))
        fitted = ("mean_",)
        share: float = 0.5
        input: str = "prob"  # type: ignore[assignment]

        def _fit(self, data: Any) -> None:
            self.mean_ = np.bincount(data.labels, data.weight, data.k) / data.weight.sum()

        def _predict(self, data: Any) -> Any:
            return self.share * data.probs + (1 - self.share) * self.mean_

    yield Halved
    del TYPES["Halved"], METHODS["halved"], METHODS["kept"]


def test_a_class_is_known_everywhere(halved: type[Calibrator], tmp_path: Path) -> None:
    assert TYPES["Halved"] is halved
    assert find_method("kept")().share == 1  # type: ignore[attr-defined]
    assert "halved" in [c.method for c in cal.recalibrate(DATA.y_true, DATA.y_prob).candidates]
    found = cal.recalibrate(DATA.y_true, DATA.y_prob, method="halved")
    assert [c.method for c in found.candidates] == ["none", "halved"]
    fitted = halved().fit(DATA.y_prob, DATA.y_true)
    loaded = cal.load(cal.save(fitted, tmp_path / "map.json"))
    assert type(loaded) is halved
    assert (loaded.predict_proba([0.1, 0.7]) == fitted.predict_proba([0.1, 0.7])).all()


def test_a_name_is_given_once() -> None:
    for name, method in (("TemperatureScaling", "another"), ("Another", "temperature")):
        with raises(cal.errors.ArgumentError, "methods"):
            type(name, (Calibrator,), {"methods": (Method(method),)})
    assert "another" not in METHODS
    assert "Another" not in TYPES


def test_the_order_does_not_depend_on_what_was_imported_first() -> None:
    first = "import calibrant.recalibration.venn, calibrant.recalibration.binary; "
    rest = "from calibrant.recalibration.methods import METHODS; print(*METHODS)"
    one, other = (subprocess.check_output([sys.executable, "-c", code]) for code in (rest, first + rest))
    assert one == other
    assert one.startswith(b"none temperature ")


@pytest.mark.parametrize(
    ("name", "method", "calibrator"),
    [
        ("sigmoid", "platt", "PlattScaling"),
        ("LogisticCalibration", "platt", "PlattScaling"),
        ("PlattBinnerCalibrator", "scaling_binning", "ScalingBinning"),
        ("BBQCalibrator", "bayesian_binning", "BayesianBinning"),
        ("ENIR", "near_isotonic", "NearIsotonicEnsemble"),
        ("IsotonicRegression", "isotonic", "IsotonicCalibration"),
        ("beta-calibration", "beta", "BetaCalibration"),
        ("VennAbersCalibrator", "venn_abers", "VennAbers"),
    ],
)
def test_names_in_other_packages_are_answered(name: str, method: str, calibrator: str) -> None:
    with pytest.raises(cal.errors.ArgumentError, match=f"unknown method '{name}'; did you mean '{method}'"):
        find_method(name)
    with pytest.raises(AttributeError, match=f"has no '{name}'; did you mean '{calibrator}'"):
        getattr(cal, name)


def test_own_initializers_keep_their_keywords() -> None:
    @dataclass(eq=False, repr=False, init=False)
    class Loose(Calibrator):
        input: str = "prob"  # type: ignore[assignment]

        def __init__(self, **keywords: Any) -> None:
            self.input = keywords["kind"]

    assert Loose(kind="logit").input == "logit"

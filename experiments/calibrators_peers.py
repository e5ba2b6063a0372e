"""Calibrators of other packages, by the name of the same method in calibrant. Those for one score are fitted one-vs-rest."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
# Functions from the scores and outcomes of a fit to rates at new scores, and the same for rows of probabilities.
Curve = Callable[[Floats, Labels, Floats], Floats]
Predict = Callable[[tuple[Floats, Labels], Floats], Floats]

MODULES = {
    "scikit-learn": "sklearn",
    "netcal": "netcal",
    "probmetrics": "probmetrics",
    "betacal": "betacal",
    "venn-abers": "venn_abers",
    "uncertainty-calibration": "calibration",
}
BINS, SCALING_BINS, CLIP = 15, 10, 1e-12


def one_by_one(curve: Curve, fit: tuple[Floats, Labels], new: Floats) -> Floats:
    """One curve per class against the rest, with rows divided by their sum; rows with a sum of 0 are not changed."""
    probs, labels = fit
    if probs.shape[1] == 2:
        rate = np.clip(curve(probs[:, 1], labels, new[:, 1]), 0, 1)  # a spline may leave the unit interval
        return np.column_stack([1 - rate, rate])
    rates = [curve(probs[:, c], (labels == c).astype(np.int64), new[:, c]) for c in range(probs.shape[1])]
    rows = np.clip(np.column_stack(rates), 0, 1)
    total = rows.sum(axis=1, keepdims=True)
    return np.where(total > 0, rows / np.where(total > 0, total, 1), new)


def log_odds(p: Floats) -> Floats:
    """Log-odds of probabilities clipped to [1e-12, 1 - 1e-12]."""
    p = np.clip(p, CLIP, 1 - CLIP)
    return np.log(p) - np.log1p(-p)


def sklearn_platt(p: Floats, y: Labels, new: Floats) -> Floats:
    """The fit of CalibratedClassifierCV(method="sigmoid"), on log-odds."""
    from sklearn.calibration import _SigmoidCalibration

    return _SigmoidCalibration().fit(log_odds(p), y).predict(log_odds(new))


def sklearn_isotonic(p: Floats, y: Labels, new: Floats) -> Floats:
    """The fit of CalibratedClassifierCV(method="isotonic")."""
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(p, y).predict(new)


def netcal_curve(make: Callable[[], Any], p: Floats, y: Labels, new: Floats) -> Floats:
    """A calibrator of netcal for two classes."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return np.asarray(make().fit(p, y).transform(new)).reshape(len(new))


def netcal_rows(make: Callable[[], Any], fit: tuple[Floats, Labels], new: Floats) -> Floats:
    """A calibrator of netcal for rows of probabilities."""
    if new.shape[1] == 2:
        return one_by_one(partial(netcal_curve, make), fit, new)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return np.asarray(make().fit(*fit).transform(new))


def netcal_map(folder: str, name: str, **options: Any) -> Callable[[], Any]:
    """A factory of a netcal calibrator, which is imported on first use."""

    def make() -> Any:
        return getattr(importlib.import_module(f"netcal.{folder}"), name)(**options)

    return make


def probmetrics_rows(name: str, options: dict[str, Any], fit: tuple[Floats, Labels], new: Floats) -> Floats:
    """A calibrator of probmetrics for rows of probabilities."""
    from probmetrics import calibrators

    with contextlib.redirect_stdout(io.StringIO()):
        return np.asarray(getattr(calibrators, name)(**options).fit(*fit).predict_proba(new))


def probmetrics_curve(name: str, options: dict[str, Any], p: Floats, y: Labels, new: Floats) -> Floats:
    """A calibrator of probmetrics for two classes."""
    rows = probmetrics_rows(name, options, (np.column_stack([1 - p, p]), y), np.column_stack([1 - new, new]))
    return rows[:, 1]


def betacal_beta(p: Floats, y: Labels, new: Floats) -> Floats:
    """Beta calibration with all three parameters."""
    from betacal import BetaCalibration

    return BetaCalibration(parameters="abm").fit(p, y).predict(new)


def venn_abers(p: Floats, y: Labels, new: Floats) -> Floats:
    """The merged probability."""
    from venn_abers import VennAbers

    model = VennAbers()
    model.fit(np.column_stack([1 - p, p]), y)
    return model.predict_proba(np.column_stack([1 - new, new]))[0][:, 1]


def uncertainty(name: str, bins: int, p: Floats, y: Labels, new: Floats) -> Floats:
    """A calibrator of uncertainty-calibration."""
    import calibration

    model = getattr(calibration.calibrators, name)(len(p), bins)
    model.train_calibration(p, y)
    return np.asarray(model.calibrate(new))


def one(curve: Callable[..., Floats], *options: Any) -> Predict:
    """A curve, fitted one-vs-rest."""
    return partial(one_by_one, partial(curve, *options))


SCALING, BINNING = partial(netcal_map, "scaling"), partial(netcal_map, "binning")
# Method, package, prediction function, and the largest number of classes for which it is used.
PEERS: list[tuple[str, str, Predict, int]] = [
    ("temperature", "netcal", partial(netcal_rows, SCALING("TemperatureScaling")), 1000),
    ("temperature", "probmetrics", partial(probmetrics_rows, "TemperatureScalingCalibrator", {}), 1000),
    ("ensemble_temperature", "probmetrics", partial(probmetrics_rows, "ETSCalibrator", {"loss": "mse"}), 20),
    ("vector", "probmetrics", partial(probmetrics_rows, "VectorScalingCalibrator", {}), 20),
    ("matrix", "probmetrics", partial(probmetrics_rows, "MatrixScalingCalibrator", {}), 20),
    ("platt", "scikit-learn", one(sklearn_platt), 1000),
    ("platt of plain labels", "netcal", one(netcal_curve, SCALING("LogisticCalibration")), 20),
    ("platt of plain labels", "uncertainty-calibration", one(uncertainty, "PlattCalibrator", SCALING_BINS), 1000),
    (
        "platt of plain labels",
        "probmetrics",
        one(probmetrics_curve, "BinaryLogisticCalibrator", {"type": "affine"}),
        20,
    ),
    ("quadratic_logit", "probmetrics", one(probmetrics_curve, "BinaryLogisticCalibrator", {"type": "quadratic"}), 20),
    ("beta", "betacal", one(betacal_beta), 1000),
    ("beta", "netcal", one(netcal_curve, SCALING("BetaCalibration")), 20),
    ("isotonic", "scikit-learn", one(sklearn_isotonic), 1000),
    ("isotonic", "netcal", one(netcal_curve, BINNING("IsotonicRegression")), 20),
    ("spline", "probmetrics", one(probmetrics_curve, "CDFSplineCalibrator", {}), 20),
    ("histogram", "uncertainty-calibration", one(uncertainty, "HistogramCalibrator", BINS), 20),
    ("histogram of equal width", "netcal", one(netcal_curve, BINNING("HistogramBinning", bins=BINS)), 20),
    ("near_isotonic", "netcal", one(netcal_curve, BINNING("ENIR")), 2),
    ("scaling_binning", "uncertainty-calibration", one(uncertainty, "PlattBinnerCalibrator", SCALING_BINS), 20),
    ("venn_abers", "venn-abers", one(venn_abers), 20),
]


def versions() -> dict[str, str]:
    """The packages that are installed."""
    return {name: metadata.version(name) for name, module in MODULES.items() if importlib.util.find_spec(module)}


def available(classes: int) -> Iterator[tuple[str, str, Predict]]:
    """The calibrators whose package is installed and that are fast enough for the number of classes."""
    for name, package, predict, most in PEERS:
        if classes <= most and importlib.util.find_spec(MODULES[package]):
            yield name, package, predict

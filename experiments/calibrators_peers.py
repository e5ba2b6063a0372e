"""Calibrators of other packages, by the name of the same method in calibrant. Those for one score are fitted one-vs-rest."""

import contextlib
import importlib
import importlib.util
import io
import tomllib
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.util.arrays import Floats

Labels = NDArray[np.int64]
# Functions from the scores and outcomes of a fit to rates at new scores.
Curve = Callable[[Floats, Labels, Floats], Floats]

CLIP = 1e-12
MOST_ROWS = 20_000
# Methods that are compared in a short run.
FAST = {"structured", "structured_vector", "quadratic_logit"}


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


def sklearn_platt(_name: str, _options: dict[str, Any], p: Floats, y: Labels, new: Floats) -> Floats:
    """The fit of CalibratedClassifierCV(method="sigmoid"), on log-odds."""
    from sklearn.calibration import _SigmoidCalibration

    return _SigmoidCalibration().fit(log_odds(p), y).predict(log_odds(new))


def sklearn_isotonic(_name: str, _options: dict[str, Any], p: Floats, y: Labels, new: Floats) -> Floats:
    """The fit of CalibratedClassifierCV(method="isotonic")."""
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(p, y).predict(new)


def netcal_curve(path: str, options: dict[str, Any], p: Floats, y: Labels, new: Floats) -> Floats:
    """A calibrator of netcal for two classes, by its place in netcal."""
    return netcal_fit(path, options, (p, y), new).reshape(len(new))


def netcal_rows(path: str, options: dict[str, Any], fit: tuple[Floats, Labels], new: Floats) -> Floats:
    """A calibrator of netcal for rows of probabilities."""
    if new.shape[1] == 2:
        return one_by_one(partial(netcal_curve, path, options), fit, new)
    return netcal_fit(path, options, fit, new)


def netcal_fit(path: str, options: dict[str, Any], fit: tuple[Floats, Labels], new: Floats) -> Floats:
    """Fit and apply a calibrator of netcal, without its output."""
    folder, name = path.split(".")
    calibrator = getattr(importlib.import_module(f"netcal.{folder}"), name)(**options)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return np.asarray(calibrator.fit(*fit).transform(new))


def probmetrics_rows(name: str, options: dict[str, Any], fit: tuple[Floats, Labels], new: Floats) -> Floats:
    """A calibrator of probmetrics for rows of probabilities."""
    from probmetrics import calibrators

    with contextlib.redirect_stdout(io.StringIO()):
        return np.asarray(getattr(calibrators, name)(**options).fit(*fit).predict_proba(new))


def probmetrics_curve(name: str, options: dict[str, Any], p: Floats, y: Labels, new: Floats) -> Floats:
    """A calibrator of probmetrics for two classes."""
    rows = probmetrics_rows(name, options, (np.column_stack([1 - p, p]), y), np.column_stack([1 - new, new]))
    return rows[:, 1]


def betacal_beta(_name: str, _options: dict[str, Any], p: Floats, y: Labels, new: Floats) -> Floats:
    """Beta calibration with all three parameters."""
    from betacal import BetaCalibration

    return BetaCalibration(parameters="abm").fit(p, y).predict(new)


def venn_abers(_name: str, _options: dict[str, Any], p: Floats, y: Labels, new: Floats) -> Floats:
    """The merged probability."""
    from venn_abers import VennAbers

    model = VennAbers()
    model.fit(np.column_stack([1 - p, p]), y)
    return model.predict_proba(np.column_stack([1 - new, new]))[0][:, 1]


def uncertainty(name: str, options: dict[str, Any], p: Floats, y: Labels, new: Floats) -> Floats:
    """A calibrator of uncertainty-calibration."""
    import calibration

    model = getattr(calibration.calibrators, name)(len(p), options["bins"])
    model.train_calibration(p, y)
    return np.asarray(model.calibrate(new))


class Peer(NamedTuple):
    """A calibrator of another package, by a function of this file for curves or rows, and the most classes for which it is used."""

    method: str
    package: str
    function: str
    name: str
    options: dict[str, Any]
    most: int

    def predict(self, fit: tuple[Floats, Labels], new: Floats) -> Floats:
        """Probabilities of new rows; curves are fitted one-vs-rest."""
        function = partial(globals()[self.function], self.name, self.options)
        return function(fit, new) if self.function.endswith("_rows") else one_by_one(function, fit, new)


FACTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
PEERS, MODULES = [Peer(*row) for row in FACTS["peers"]], FACTS["modules"]


def versions() -> dict[str, str]:
    """The packages that are installed."""
    return {name: metadata.version(name) for name, module in MODULES.items() if importlib.util.find_spec(module)}


def available(classes: int, rows: int, fast: bool = False) -> list[Peer]:
    """The calibrators whose package is installed and that are fast enough for the number of classes and rows."""
    return [
        peer
        for peer in PEERS
        if classes <= peer.most
        and rows <= MOST_ROWS
        and importlib.util.find_spec(MODULES[peer.package])
        and (not fast or peer.method in FAST)
    ]

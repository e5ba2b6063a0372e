"""Calibrators of calibrant and the same methods of other packages: fitted on the first half of the rows, applied to the second.

What is compared is every prediction: the verdict tells the largest difference.
"""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from adapters import let_torchvision_be_imported
from cases import Call, Case, Contender, Prepare
from environments import MAIN, NEWER_PYTHON, TORCH_UNCERTAINTY

# Labels and scores of the fit, and new scores, to predictions.
Fit = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
STOPS = "stops its optimization earlier"


def _halves(fit: Fit) -> Prepare:
    def prepare(y: np.ndarray, p: np.ndarray) -> Call:
        half = len(y) // 2
        return lambda: np.asarray(fit(y[:half], p[:half], p[half:]))

    return prepare


def _calibrant(name: str, **options: Any) -> list[Contender]:
    def fit(y: np.ndarray, p: np.ndarray, new: np.ndarray) -> np.ndarray:
        import calibrant

        rows = getattr(calibrant, name)(**options).fit(p, y).predict_proba(new)
        return rows if new.ndim == 2 else rows[:, 1]

    prepare = _halves(fit)
    return [Contender("calibrant", "numba", prepare), Contender("calibrant without numba", "calibrant", prepare)]


def _other(name: str, module: str, fit: Fit, why: str = "") -> Contender:
    return Contender(name, module, _halves(fit), why)


def _both(p: np.ndarray) -> np.ndarray:
    return np.column_stack([1 - p, p])


def _sklearn_isotonic(y: np.ndarray, p: np.ndarray, new: np.ndarray) -> np.ndarray:
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(p, y).predict(new)


def _sklearn_calibrated(method: str) -> Fit:
    """Its wrapper around a model whose decision function is the logarithm of what it is given."""

    def fit(y: np.ndarray, p: np.ndarray, new: np.ndarray) -> np.ndarray:
        from sklearn.base import BaseEstimator, ClassifierMixin
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.frozen import FrozenEstimator

        class Given(ClassifierMixin, BaseEstimator):
            def fit(self, given: np.ndarray, labels: np.ndarray) -> Given:
                self.classes_ = np.arange(given.shape[1])
                return self

            def decision_function(self, given: np.ndarray) -> np.ndarray:
                return np.log(given[:, 1] / given[:, 0]) if given.shape[1] == 2 else np.log(given)

            def predict(self, given: np.ndarray) -> np.ndarray:
                return given.argmax(axis=1)

        rows, others = (p, new) if p.ndim == 2 else (_both(p), _both(new))
        model = CalibratedClassifierCV(FrozenEstimator(Given().fit(rows, y)), method=method)
        found = model.fit(rows, y).predict_proba(others)
        return found if p.ndim == 2 else found[:, 1]

    return fit


def _netcal(folder: str, name: str) -> Fit:
    def fit(y: np.ndarray, p: np.ndarray, new: np.ndarray) -> np.ndarray:
        import importlib

        make = getattr(importlib.import_module(f"netcal.{folder}"), name)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return np.asarray(make().fit(p, y).transform(new)).reshape(new.shape)

    return fit


def _mcgrad(name: str) -> Fit:
    def fit(y: np.ndarray, p: np.ndarray, new: np.ndarray) -> np.ndarray:
        import mcgrad.methods
        import pandas as pd

        model = getattr(mcgrad.methods, name)().fit(pd.DataFrame({"y": y, "p": p}), "p", "y")
        return model.predict(pd.DataFrame({"p": new}), "p")

    return fit


def _probcal(name: str, **options: Any) -> Fit:
    def fit(y: np.ndarray, p: np.ndarray, new: np.ndarray) -> np.ndarray:
        import probcal

        found = np.asarray(getattr(probcal, name)(**options).fit(p, y).predict_proba(new))
        return found if found.ndim == 1 else found[:, 1]

    return fit


def _uncertainty(y: np.ndarray, p: np.ndarray, new: np.ndarray) -> np.ndarray:
    import calibration

    model = calibration.calibrators.PlattCalibrator(len(p), 10)
    model.train_calibration(p, y)
    return np.asarray(model.calibrate(new))


def _betacal(y: np.ndarray, p: np.ndarray, new: np.ndarray) -> np.ndarray:
    from betacal import BetaCalibration

    return BetaCalibration(parameters="abm").fit(p, y).predict(new)


def _venn_abers(y: np.ndarray, p: np.ndarray, new: np.ndarray) -> np.ndarray:
    from venn_abers import VennAbers

    model = VennAbers()
    model.fit(_both(p), y)
    return model.predict_proba(_both(new))[0][:, 1]


def _mapie_venn_abers(y: np.ndarray, p: np.ndarray, new: np.ndarray) -> np.ndarray:
    from mapie.calibration import VennAbersCalibrator
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Given(ClassifierMixin, BaseEstimator):
        def fit(self, given: np.ndarray, labels: np.ndarray) -> Given:
            self.classes_ = np.array([0, 1])
            return self

        def predict_proba(self, given: np.ndarray) -> np.ndarray:
            return _both(given[:, 0])

    model = VennAbersCalibrator(estimator=Given().fit(p, y), cv="prefit").fit(p[:, None], y)
    return model.predict_proba(new[:, None])[:, 1]


def _probmetrics(name: str, **options: Any) -> Fit:
    def fit(y: np.ndarray, p: np.ndarray, new: np.ndarray) -> np.ndarray:
        from probmetrics import calibrators

        with contextlib.redirect_stdout(io.StringIO()):
            return np.asarray(getattr(calibrators, name)(**options).fit(p, y).predict_proba(new))

    return fit


def _torch_uncertainty(name: str, sized: bool = False) -> Fit:
    def fit(y: np.ndarray, p: np.ndarray, new: np.ndarray) -> np.ndarray:
        import torch

        let_torchvision_be_imported()
        from torch.utils.data import DataLoader, TensorDataset
        from torch_uncertainty import post_processing

        logging.getLogger().setLevel(logging.ERROR)
        logits, labels, others = (torch.from_numpy(array) for array in (np.log(p), y, np.log(new)))
        options = {"num_classes": p.shape[1]} if sized else {}
        model = getattr(post_processing, name)(model=None, **options).double()
        model.fit(DataLoader(TensorDataset(logits, labels), batch_size=len(labels)), progress=False)
        return torch.softmax(model(others), dim=1).detach().numpy()

    return fit


def _dirichletcal(module: str, name: str, **options: Any) -> Fit:
    def fit(y: np.ndarray, p: np.ndarray, new: np.ndarray) -> np.ndarray:
        import importlib

        model = getattr(importlib.import_module(f"dirichletcal.calib.{module}"), name)(**options)
        with contextlib.redirect_stdout(io.StringIO()):
            return np.asarray(model.fit(p, y).predict_proba(new))

    return fit


def _calibre(name: str) -> Fit:
    def fit(y: np.ndarray, p: np.ndarray, new: np.ndarray) -> np.ndarray:
        import calibre

        return np.asarray(getattr(calibre, name)().fit(p, y).transform(new))

    return fit


# Rows by the number of classes: fitting a matrix takes dirichletcal long.
ROWS = {1: 200_000, 5: 10_000, 10: 20_000}
CLASSES = 10


def _map(id: str, title: str, contenders: list[Contender], classes: int = 1, environment: str = MAIN) -> Case:
    rows = ROWS[classes]
    return Case(id, f"{title}: fit and apply", rows, classes, contenders, environment=environment, dtype="float64")


SMOOTHED = "smooths its targets, as in the paper of Platt"
SKLEARN, UNCERTAINTY = "scikit-learn", "uncertainty-calibration"
OF_ONE_SCORE = [
    _map(
        "map_isotonic",
        "Isotonic regression",
        [
            *_calibrant("IsotonicCalibration"),
            _other(SKLEARN, "sklearn", _sklearn_isotonic),
            _other("netcal", "netcal", _netcal("binning", "IsotonicRegression")),
            _other("MCGrad", "mcgrad", _mcgrad("IsotonicRegression")),
            _other(
                "probcal",
                "probcal",
                _probcal("IsotonicCalibrator"),
                "steps between the fitted scores instead of linear interpolation",
            ),
        ],
    ),
    _map(
        "map_platt",
        "Platt scaling with plain targets",
        [
            *_calibrant("PlattScaling", targets="plain"),
            _other(SKLEARN, "sklearn", _sklearn_calibrated("sigmoid"), SMOOTHED),
            _other("netcal", "netcal", _netcal("scaling", "LogisticCalibration"), STOPS),
            _other(UNCERTAINTY, "calibration", _uncertainty, STOPS),
            _other("MCGrad", "mcgrad", _mcgrad("PlattScaling"), STOPS),
            _other("probcal", "probcal", _probcal("PlattCalibrator"), SMOOTHED),
        ],
    ),
    _map(
        "map_beta",
        "Beta calibration",
        [
            *_calibrant("BetaCalibration"),
            _other("betacal", "betacal", _betacal, STOPS),
            _other("netcal", "netcal", _netcal("scaling", "BetaCalibration"), STOPS),
            _other("probcal", "probcal", _probcal("BetaCalibrator"), STOPS),
        ],
    ),
    _map(
        "map_venn_abers",
        "Venn-Abers",
        [
            *_calibrant("VennAbers"),
            _other("venn-abers", "venn_abers", _venn_abers),
            _other("MAPIE", "mapie", _mapie_venn_abers),
            _other("probcal", "probcal", _probcal("VennAbersCalibrator")),
        ],
    ),
]
OF_ROWS = [
    _map(
        "map_temperature",
        "Temperature scaling",
        [
            *_calibrant("TemperatureScaling"),
            _other(SKLEARN, "sklearn", _sklearn_calibrated("temperature"), STOPS),
            _other("netcal", "netcal", _netcal("scaling", "TemperatureScaling"), STOPS),
            _other("probmetrics", "probmetrics", _probmetrics("TemperatureScalingCalibrator"), STOPS),
        ],
        CLASSES,
    ),
    _map(
        "map_temperature_tu",
        "Temperature scaling",
        [
            *_calibrant("TemperatureScaling"),
            _other("torch-uncertainty", "torch_uncertainty", _torch_uncertainty("TemperatureScaler"), STOPS),
        ],
        CLASSES,
        TORCH_UNCERTAINTY,
    ),
    _map(
        "map_temperature_312",
        "Temperature scaling",
        [
            *_calibrant("TemperatureScaling"),
            _other("calibre", "calibre", _calibre("TemperatureScaler"), STOPS),
            _other("dirichletcal", "dirichletcal", _dirichletcal("tempscaling", "TemperatureScaling"), STOPS),
        ],
        CLASSES,
        NEWER_PYTHON,
    ),
    _map(
        "map_vector",
        "Vector scaling",
        [
            *_calibrant("VectorScaling"),
            _other("dirichletcal", "dirichletcal", _dirichletcal("vectorscaling", "VectorScaling", logit_constant=0.0)),
        ],
        CLASSES,
        NEWER_PYTHON,
    ),
    _map(
        "map_dirichlet_tu",
        "Dirichlet calibration without a penalty",
        [
            *_calibrant("DirichletCalibration", off_diagonal=0.0, intercept=0.0),
            _other("torch-uncertainty", "torch_uncertainty", _torch_uncertainty("DirichletScaler", sized=True), STOPS),
        ],
        5,
        TORCH_UNCERTAINTY,
    ),
    _map(
        "map_dirichlet",
        "Dirichlet calibration without a penalty",
        [
            *_calibrant("DirichletCalibration", off_diagonal=0.0, intercept=0.0),
            _other("dirichletcal", "dirichletcal", _dirichletcal("fulldirichlet", "FullDirichletCalibrator"), STOPS),
        ],
        5,
        NEWER_PYTHON,
    ),
    _map(
        "map_isotonic_312",
        "Isotonic regression",
        [*_calibrant("IsotonicCalibration"), _other("calibre", "calibre", _calibre("IsotonicCalibrator"))],
        environment=NEWER_PYTHON,
    ),
    _map(
        "map_centered_312",
        "Centered isotonic regression",
        [
            *_calibrant("CenteredIsotonicCalibration"),
            _other("calibre", "calibre", _calibre("CenteredIsotonicCalibrator")),
        ],
        environment=NEWER_PYTHON,
    ),
]
MAP_CASES = [*OF_ONE_SCORE, *OF_ROWS]

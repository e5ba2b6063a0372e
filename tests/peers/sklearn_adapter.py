"""A pytest plugin under which the tests of the installed scikit-learn run against calibrant, by thin adapters.

Only names that the tests use for calibration are replaced in their modules; private calibrators of scikit-learn stay, so that where a
test compares with them, calibrant is compared with scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.recalibration import Calibrator
from calibrant.sklearn import CalibratedModel, ReliabilityDisplay
from calibrant.sklearn.score_curves import fit_sigmoid


class CalibratedClassifierCV(CalibratedModel):  # type: ignore[misc]
    """The parameters and the default values of scikit-learn."""

    convention = "scikit-learn"

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "sigmoid",
        cv: Any = None,
        n_jobs: Any = None,
        ensemble: Any = "auto",
    ) -> None:
        self.estimator, self.method, self.cv, self.n_jobs, self.ensemble = estimator, method, cv, n_jobs, ensemble

    @property
    def calibrated_classifiers_(self) -> list[Any]:
        return [
            SimpleNamespace(estimator=pair.estimator, calibrators=_calibrators(pair), predict_proba=pair.predict_proba)
            for pair in self._pairs
        ]

    @calibrated_classifiers_.setter
    def calibrated_classifiers_(self, pairs: list[Any]) -> None:
        self._pairs = pairs

    def predict_proba(self, X: Any) -> Any:
        return (
            np.mean([pair.predict_proba(X) for pair in self._pairs], axis=0)
            if hasattr(self, "_pairs")
            else super().predict_proba(X)
        )


def _calibrators(pair: Any) -> list[Any]:
    found = pair.calibrator
    if isinstance(found, Calibrator):
        found.beta_ = 1 / (found.temperature_ * (2 if len(pair.classes) == 2 else 1))
        return [found]
    return list(found.curves_)


def sigmoid_calibration(
    predictions: Any, y: Any, sample_weight: Any = None, max_abs_prediction_threshold: float = 30
) -> Any:
    found = fit_sigmoid(np.asarray(predictions, float), np.asarray(y) > 0, sample_weight)
    return -found.slope, -found.intercept


# The bins of scikit-learn; another strategy is passed on.
BINNINGS = {"uniform": cal.EqualWidth(edges="linspace"), "quantile": "quantile"}


def calibration_curve(
    y_true: Any, y_prob: Any, *, pos_label: Any = None, n_bins: int = 5, strategy: str = "uniform"
) -> Any:
    given = {} if pos_label is None else {"pos_label": pos_label}
    curve = cal.calibration_curve(y_true, y_prob, bins=n_bins, binning=BINNINGS.get(strategy, strategy), **given)
    return curve.rate[~curve.table.empty], curve.mean_score[~curve.table.empty]


class CalibrationDisplay(ReliabilityDisplay):
    """The keywords and the attributes of scikit-learn."""

    @property
    def prob_true(self) -> Any:
        return self.curve.rate[~self.curve.table.empty]

    @property
    def prob_pred(self) -> Any:
        return self.curve.mean_score[~self.curve.table.empty]

    @property
    def estimator_name(self) -> Any:
        return self.name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_bins: int = 5,
        strategy: str = "uniform",
        pos_label: Any = None,
        **keywords: Any,
    ) -> Any:
        place = 1 if pos_label is None else list(estimator.classes_).index(pos_label)
        y_prob = estimator.predict_proba(X)[:, place]
        keywords |= {"bins": n_bins, "binning": BINNINGS.get(strategy, strategy)}
        found = super().from_estimator(estimator, X, y, pos_label=pos_label, **keywords)
        found.y_prob = y_prob
        return found

    @classmethod
    def from_predictions(cls, y_true: Any, y_prob: Any, **keywords: Any) -> Any:
        if "binning" not in keywords:
            strategy = keywords.pop("strategy", "uniform")
            keywords |= {"bins": keywords.pop("n_bins", 5), "binning": BINNINGS.get(strategy, strategy)}
        return super().from_predictions(y_true, y_prob, **keywords)


REPLACED = {
    "CalibratedClassifierCV": CalibratedClassifierCV,
    "CalibrationDisplay": CalibrationDisplay,
    "calibration_curve": calibration_curve,
    "brier_score_loss": cal.brier,
    "_sigmoid_calibration": sigmoid_calibration,
}


def pytest_configure() -> None:
    tests = import_module("sklearn.tests.test_calibration")
    for name, adapter in REPLACED.items():
        assert hasattr(tests, name), name
        setattr(tests, name, adapter)
    routing = import_module("sklearn.tests.test_metaestimators_metadata_routing")
    for entry in routing.METAESTIMATORS:
        if entry["metaestimator"].__name__ == "CalibratedClassifierCV":
            entry["metaestimator"] = CalibratedClassifierCV

"""For scikit-learn: a calibrated model around any classifier, a scorer for every metric, and a display. Imported only when asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ._convert import column
from ._labels import class_names, encode_labels
from ._signature import VIEW_WORDS, unknown_word
from .calibration import CalibrationCurve, calibration_curve
from .errors import ArgumentError, LabelError, MissingDependencyError, warn_caller
from .figures.reliability import ReliabilityDiagram
from .recalibration import METHODS
from .recalibration.base import CalibrationMap
from .recalibration.choosing import recalibrate
from .registry import Metric, catalogue

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.model_selection import cross_val_predict
    from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter
except ImportError as error:
    raise MissingDependencyError("scikit-learn", "is not installed", "pip install 'calibrant[sklearn]'") from error

__all__ = ["CalibratedModel", "ReliabilityDisplay", "Scorer", "scorer", "scorers"]

# How probabilities are read; everything else that `Predictions` takes belongs to rows, which a scorer meets later.
READING_WORDS = ("normalize", "clip", "sum_tolerance")


class CalibratedModel(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose probabilities go through a map fitted on rows that the classifier had not seen.

    Parameters
    ----------
    estimator
        Any classifier with ``predict_proba`` or ``decision_function``.
    method
        ``"auto"``, the name of a map, or a map.
    cv
        Folds for held-out scores (a number or a splitter), after which the classifier is fitted on all rows; ``"prefit"`` takes the
        classifier as it is, and the rows given must then be new to it.
    """

    def __init__(self, estimator: Any, method: str | CalibrationMap = "auto", cv: Any = 5) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier (unless it comes fitted) and the map."""
        if y is None:
            raise ArgumentError("y", "is missing; this estimator requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        if self.cv == "prefit":
            check_is_fitted(self.estimator)
            self.estimator_ = self.estimator
            scores = _scores(self.estimator_, X)
        else:
            weighted = sample_weight is not None and has_fit_parameter(self.estimator, "sample_weight")
            words = {"sample_weight": sample_weight} if weighted else {}
            scores = _held_out(self.estimator, X, y, self.cv, words)
            self.estimator_ = clone(self.estimator).fit(X, y, **words)
        self.classes_ = self.estimator_.classes_
        if hasattr(self.estimator_, "n_features_in_"):
            self.n_features_in_ = self.estimator_.n_features_in_
        codes = _codes(self.classes_, y)
        values, kind = scores
        if isinstance(self.method, CalibrationMap):
            words = {**self.method.get_params(deep=False), "input": kind}
            self.map_ = type(self.method)(**words).fit(values, codes, sample_weight)
        elif self.method == "auto":
            found = recalibrate(codes, values, input=kind, sample_weight=sample_weight)
            if found.warned:
                warn_caller(found.note)
            self.map_ = found.map
        elif self.method in METHODS:
            self.map_ = METHODS[self.method](input=kind).fit(values, codes, sample_weight)
        else:
            raise ArgumentError("method", f"{self.method!r} is no map", f"known: auto, {', '.join(METHODS)}")
        return self

    def predict_proba(self, X: Any) -> Any:
        """Calibrated probabilities, one column for each class."""
        check_is_fitted(self)
        return self.map_.predict_proba(_scores(self.estimator_, X)[0])

    def predict(self, X: Any) -> Any:
        """The class of the largest calibrated probability."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]


def _scores(model: Any, X: Any) -> tuple[Any, Any]:
    """What a classifier says of rows, and whether that is probabilities or logits; for two classes, of the second."""
    method = _method(model, len(model.classes_))
    return _read(getattr(model, method)(X), method, len(model.classes_))


def _held_out(model: Any, X: Any, y: Any, cv: Any, words: dict[str, Any]) -> tuple[Any, Any]:
    """The same for rows that each fold had not seen."""
    classes = len(np.unique(y))
    method = _method(model, classes)
    return _read(cross_val_predict(model, X, y, cv=cv, method=method, params=words or None), method, classes)


def _method(model: Any, classes: int) -> str:
    """How a classifier is asked; its scores must be one for each class."""
    if hasattr(model, "predict_proba"):
        return "predict_proba"
    inner = getattr(model, "best_estimator_", model)
    parts = inner.get_params() if hasattr(inner, "get_params") else {}
    # Scores of pairs of three classes are three too, so that their number does not give them away.
    if classes > 2 and any(
        name.endswith("decision_function_shape") and value == "ovo" for name, value in parts.items()
    ):
        raise _pairs(f"scores pairs of the {classes} classes")
    return "decision_function"


def _read(values: Any, method: str, classes: int) -> tuple[Any, Any]:
    scores = np.asarray(values, dtype=np.float64)
    if classes < 2:
        raise LabelError(
            "y", "holds a single class, and there is nothing to calibrate", "give rows of two or more classes"
        )
    if method == "predict_proba":
        return (scores[:, 1] if scores.shape[1] == 2 else scores), "prob"
    if scores.ndim == 2 and scores.shape[1] != classes:
        raise _pairs(f"gives {scores.shape[1]} scores for {classes} classes")
    return scores, "logit"


def _pairs(problem: str) -> ArgumentError:
    return ArgumentError(
        "estimator", f"{problem}, and one score for each class is needed", 'use decision_function_shape="ovr"'
    )


def _codes(classes: Any, y: Any) -> Any:
    """The number of the class of each row; a label that the classifier does not know is an error."""
    known = len(classes)
    try:
        return encode_labels(column(y, "y"), known, class_names(classes, known), None, np.empty(0))
    except LabelError as error:
        remedy = "drop the rows of classes that the classifier was not fitted on, or fit it on them"
        raise LabelError("y", error.problem, remedy, row=error.row) from None


@dataclass(frozen=True)
class Scorer:
    """A metric as scikit-learn wants it: called with a fitted model and data, larger is better."""

    metric: str
    options: tuple[tuple[str, Any], ...] = ()

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        found = catalogue[self.metric]
        values, kind = _scores(estimator, X)
        words = {"input": kind, "sample_weight": sample_weight, **dict(self.options)}
        value = found(_names(estimator, y), values, classes=estimator.classes_, **words)
        return -_badness(found, value)

    def __repr__(self) -> str:
        return f"scorer({self.metric!r})"


def _badness(metric: Metric, value: float) -> float:
    """How far a value is from the best, whatever its scale and sign."""
    if metric.proper == "strictly" or metric.ideal is None:
        return value
    return abs(value - metric.ideal)


def scorer(metric: str | Metric, **options: Any) -> Scorer:
    """The scorer of a metric, for ``cross_val_score``, ``GridSearchCV`` and the like.

    >>> from calibrant.sklearn import scorer
    >>> scorer("ece", bins=10)
    scorer('ece')
    """
    found = metric if isinstance(metric, Metric) else catalogue[metric]
    if found.needs:
        raise ArgumentError("metric", f"{found.id} needs {' and '.join(found.needs)}, which a scorer does not get")
    known = (*found.options, *VIEW_WORDS, *READING_WORDS)
    for word, value in options.items():
        if word not in known:
            raise unknown_word(f"scorer({found.id!r})", word, value, known)
    found._split(options)  # values of options are looked at now, not after the first fold
    return Scorer(found.id, tuple(sorted(options.items())))


def _names(estimator: Any, y: Any) -> Any:
    """The class of each row by its name, so that lenses such as ``"class:dog"`` find theirs."""
    return np.asarray(estimator.classes_)[_codes(estimator.classes_, y)]


def scorers(metrics: str | Metric | Iterable[str | Metric] | None = None) -> dict[str, Scorer]:
    """Scorers by id, of all metrics that need nothing but labels and probabilities, or of those listed.

    >>> from calibrant.sklearn import scorers
    >>> scorers("ece"), list(scorers(["ece", "Brier score"]))
    ({'ece': scorer('ece')}, ['ece', 'brier'])
    """
    if metrics is None:
        metrics = [metric for metric in catalogue.values() if not metric.needs]
    made = [scorer(metric) for metric in ([metrics] if isinstance(metrics, (str, Metric)) else metrics)]
    return {each.metric: each for each in made}


class ReliabilityDisplay:
    """A reliability diagram, with the two ways scikit-learn's displays are made."""

    def __init__(self, curve: CalibrationCurve, name: str | None = None) -> None:
        self.curve = curve
        self.name = name

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_prob: Any, *, name: str | None = None, ax: Any = None, **words: Any
    ) -> ReliabilityDisplay:
        """From labels and probabilities; further keywords are those of `calibration_curve`."""
        return cls(calibration_curve(y_true, y_prob, **words), name).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, ax: Any = None, **words: Any
    ) -> ReliabilityDisplay:
        """From a fitted classifier and data."""
        values, kind = _scores(estimator, X)
        words = {"input": kind, "classes": estimator.classes_, "name": name or type(estimator).__name__, **words}
        return cls.from_predictions(_names(estimator, y), values, ax=ax, **words)

    def plot(self, ax: Any = None, **options: Any) -> ReliabilityDisplay:
        """Draw on `ax`, or on a new one; options are those of the plot of a `ReliabilityDiagram`."""
        self.ax_ = ReliabilityDiagram.of_curve(self.curve).plot(ax, name=self.name, **options)
        self.figure_ = self.ax_.figure
        self.line_ = next(line for line in self.ax_.lines if line.get_gid() == "curve")
        return self

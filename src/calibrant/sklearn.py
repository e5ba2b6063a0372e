"""For scikit-learn: a calibrated model around any classifier, a scorer for every metric, and a display. Imported only when asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .errors import ArgumentError, Drop, LabelError, MissingDependencyError, Use, warn_caller
from .figures.reliability_diagrams import ReliabilityDiagram
from .input.convert import column
from .input.labels import class_names, encode_labels
from .metrics.registry import Metric, catalogue
from .metrics.reliability_curve import CalibrationCurve, calibration_curve
from .recalibration.base import Calibrator
from .recalibration.choosing import recalibrate
from .recalibration.methods import find_method
from .views.keywords import VIEW_KEYWORDS, unknown_keyword

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.model_selection import cross_val_predict
    from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter
except ImportError as error:
    raise MissingDependencyError("scikit-learn", "is not installed", "run pip install 'calibrant[sklearn]'") from error

__all__ = ["CalibratedModel", "ReliabilityDisplay", "Scorer", "scorer", "scorers"]

# How probabilities are read; everything else that `Predictions` takes belongs to rows, which a scorer meets later.
READING_KEYWORDS = ("normalize", "clip", "sum_tolerance")


class CalibratedModel(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose probabilities go through a map fitted on rows that the classifier had not seen.

    Parameters
    ----------
    estimator
        Any classifier with ``predict_proba`` or ``decision_function``.
    method
        ``"auto"``, the name of a calibrator, or a calibrator, of which a clone with all its parameters is fitted. Its ``input`` says what
        it reads of the classifier: ``"prob"`` the probabilities, ``"logit"`` the decision function, or the logarithms of the
        probabilities of a classifier that has none. Named ones read probabilities where there are any.
    cv
        Folds for held-out scores (a number or a splitter), after which the classifier is fitted on all rows; ``"prefit"`` takes the
        classifier as it is, and the rows given must then be new to it.
    """

    def __init__(self, estimator: Any, method: str | Calibrator = "auto", cv: Any = 5) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier (unless it comes fitted) and the calibrator.

        Parameters
        ----------
        X, y
            Rows and the class of each.
        sample_weight : array-like of shape (N,), optional
            Importance of each row; only ratios matter to the calibrator. A classifier that takes no weights, or a pipeline whose last step
            takes none, is fitted without them, and a warning says so.
        """
        if y is None:
            raise ArgumentError("y", "is missing; this estimator requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        wanted = self.method.input if isinstance(self.method, Calibrator) else None
        if self.cv == "prefit":
            check_is_fitted(self.estimator)
            self.estimator_ = self.estimator
            scores = _scores(self.estimator_, X, wanted)
        else:
            words = _weight_words(self.estimator, sample_weight)
            scores = _held_out(self.estimator, X, y, self.cv, words, wanted)
            self.estimator_ = clone(self.estimator).fit(X, y, **words)
        self.classes_ = self.estimator_.classes_
        if hasattr(self.estimator_, "n_features_in_"):
            self.n_features_in_ = self.estimator_.n_features_in_
        codes = _codes(self.classes_, y)
        values, kind = scores
        if isinstance(self.method, Calibrator):
            self.map_ = clone(self.method).fit(values, codes, sample_weight)
        elif self.method == "auto":
            found = recalibrate(codes, values, input=kind, sample_weight=sample_weight)
            if found.warned:
                warn_caller(found.note)
            self.map_ = found.calibrator
        else:
            self.map_ = find_method(self.method)(input=kind).fit(values, codes, sample_weight)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Calibrated probabilities, one column for each class."""
        check_is_fitted(self)
        return self.map_.predict_proba(_scores(self.estimator_, X, self.map_.input)[0])

    def predict(self, X: Any) -> Any:
        """The class of the largest calibrated probability."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]


def _weight_words(estimator: Any, weight: Any) -> dict[str, Any]:
    """The keyword by which an estimator, or the last step of a pipeline, takes weights; a warning where neither does."""
    if weight is None:
        return {}
    if has_fit_parameter(estimator, "sample_weight"):
        return {"sample_weight": weight}
    name, last = estimator.steps[-1] if getattr(estimator, "steps", None) else ("", None)
    if has_fit_parameter(last, "sample_weight") and not get_config()["enable_metadata_routing"]:
        return {f"{name}__sample_weight": weight}
    warn_caller(
        f"{type(estimator).__name__}.fit does not accept sample_weight, so the classifier is fitted without weights and only the "
        'calibrator uses them; fit the classifier with weights beforehand and pass cv="prefit"'
    )
    return {}


def _scores(model: Any, X: Any, wanted: str | None = None, positive: int = 1) -> tuple[Any, Any]:
    """What a classifier predicts for rows, and whether that is probabilities or logits; of two classes, for the `positive` one."""
    classes = len(model.classes_)
    method = _method(model, classes, wanted)
    return _read(getattr(model, method)(X), method, classes, wanted, positive)


def _held_out(model: Any, X: Any, y: Any, cv: Any, words: dict[str, Any], wanted: str | None = None) -> tuple[Any, Any]:
    """The same for rows that each fold had not seen."""
    classes = len(np.unique(y))
    method = _method(model, classes, wanted)
    return _read(cross_val_predict(model, X, y, cv=cv, method=method, params=words or None), method, classes, wanted)


def _method(model: Any, classes: int, wanted: str | None = None) -> str:
    """How a classifier is asked for the scores `wanted`, or for probabilities where it has them; one for each class."""
    probabilities, margins = hasattr(model, "predict_proba"), hasattr(model, "decision_function")
    if wanted == "prob" and not probabilities:
        raise ArgumentError(
            "method",
            f"requires probabilities, and {type(model).__name__} has only a decision function",
            Use("input", "logit", "for the calibrator"),
        )
    if probabilities and not (wanted == "logit" and margins):
        return "predict_proba"
    inner = getattr(model, "best_estimator_", model)
    parts = inner.get_params() if hasattr(inner, "get_params") else {}
    # Scores of pairs of three classes are three too, so that their number does not give them away.
    if classes > 2 and any(
        name.endswith("decision_function_shape") and value == "ovo" for name, value in parts.items()
    ):
        raise _pairs(f"scores pairs of the {classes} classes")
    return "decision_function"


def _read(values: Any, method: str, classes: int, wanted: str | None = None, positive: int = 1) -> tuple[Any, Any]:
    scores = np.asarray(values, dtype=np.float64)
    if classes < 2:
        raise LabelError("y", "at least two classes are required; all labels are equal")
    if method == "predict_proba":
        if wanted != "logit":
            return (scores[:, positive] if classes == 2 else scores), "prob"
        with np.errstate(divide="ignore"):
            logs = np.log(scores)
        return (logs[:, positive] - logs[:, 1 - positive] if classes == 2 else logs), "logit"
    if scores.ndim == 2 and scores.shape[1] != classes:
        raise _pairs(f"gives {scores.shape[1]} scores for {classes} classes")
    return (-scores if scores.ndim == 1 and positive == 0 else scores), "logit"


def _pairs(problem: str) -> ArgumentError:
    return ArgumentError(
        "estimator", f"{problem}; one score for each class is required", Use("decision_function_shape", "ovr")
    )


def _codes(classes: Any, y: Any) -> Any:
    """The number of the class of each row; a label that the classifier does not know is an error."""
    known = len(classes)
    try:
        return encode_labels(column(y, "y"), known, class_names(classes, known), None, np.empty(0))
    except LabelError as error:
        remedy = "drop the rows of classes that the classifier was not fitted on, or fit it on them"
        raise error.replaced(argument="y", remedy=remedy) from None


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
        raise ArgumentError("metric", f"{found.id} requires {' and '.join(found.needs)}, which scorers do not receive")
    known = (*found.options, *VIEW_KEYWORDS, *READING_KEYWORDS)
    for word, value in options.items():
        if word not in known:
            raise unknown_keyword(f"scorer({found.id!r})", word, value, known)
    found._split(options)  # values of options are looked at now, not after the first fold
    return Scorer(found.id, tuple(sorted(options.items())))


def _names(estimator: Any, y: Any) -> Any:
    """The class of each row by its name, so that lenses such as ``"class:dog"`` find theirs."""
    return np.asarray(estimator.classes_)[_codes(estimator.classes_, y)]


def _place_of(pos_label: Any, classes: Any) -> int:
    """The column of the positive class, the second where none is named."""
    if pos_label is None:
        return 1
    if len(classes) != 2:
        raise ArgumentError(
            "pos_label", f"requires two classes; the estimator has {len(classes)}", Use("lens", f"class:{pos_label}")
        )
    names = classes.tolist()
    if pos_label not in names:
        raise LabelError("pos_label", f"must be one of the classes {names}; got {pos_label!r}")
    return names.index(pos_label)


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
        """Draw labels and probabilities.

        Parameters
        ----------
        y_true, y_prob
            Labels and probabilities; one-dimensional ones are those of `pos_label`, which text labels need.
        name
            What the legend calls them.
        ax
            Where to draw; a new figure unless given.
        **words
            Keywords of `calibration_curve`.
        """
        return cls(calibration_curve(y_true, y_prob, **words), name).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **words: Any,
    ) -> ReliabilityDisplay:
        """Draw the predictions of a fitted classifier.

        Parameters
        ----------
        estimator, X, y
            The classifier, and rows with their class.
        pos_label
            Of two classes the one whose probability is drawn; the second of ``estimator.classes_`` unless given.
        name
            What the legend calls it; the name of its type unless given.
        ax
            Where to draw; a new figure unless given.
        **words
            Keywords of `calibration_curve`; what the classifier says itself (``classes``, ``input``) is not among them.
        """
        for word in ("classes", "input"):
            if word in words:
                raise ArgumentError(word, "is determined by the estimator", Drop(word))
        classes = np.asarray(estimator.classes_)
        positive = _place_of(pos_label, classes)
        values, kind = _scores(estimator, X, positive=positive)
        if len(classes) == 2:
            words["pos_label"] = classes.tolist()[positive]
            if words.get("lens", "auto") == "auto":
                words["lens"] = f"class:{words['pos_label']}"  # the axes name the class
        words |= {"input": kind, "classes": classes.tolist(), "name": name or type(estimator).__name__}
        return cls.from_predictions(_names(estimator, y), values, ax=ax, **words)

    def plot(self, ax: Any = None, **options: Any) -> ReliabilityDisplay:
        """Draw on `ax`, or on a new one; options are those of the plot of a `ReliabilityDiagram`."""
        self.ax_ = ReliabilityDiagram.of_curve(self.curve).plot(ax, name=self.name, **options)
        self.figure_ = self.ax_.figure
        self.line_ = next(line for line in self.ax_.lines if line.get_gid() == "curve")
        return self

"""Integration with scikit-learn: a meta-estimator that calibrates any classifier, a scorer for every metric, and a display."""

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
from .views.keywords import checks_keywords, documents_keywords

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.model_selection import cross_val_predict
    from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter
except ImportError as error:
    raise MissingDependencyError("scikit-learn", "is not installed", "run pip install 'calibrant[sklearn]'") from error

__all__ = ["CalibratedModel", "ReliabilityDisplay", "Scorer", "scorer", "scorers"]


def __dir__() -> list[str]:
    return __all__


class CalibratedModel(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier with calibrated probabilities: a meta-estimator around any scikit-learn classifier.

    The calibrator is fitted on cross-validated predictions of the classifier, or, with ``cv="prefit"``, on data that the fitted
    classifier was not trained on. Compared with scikit-learn's ``CalibratedClassifierCV`` it offers all methods of calibrant, selects
    among them, and keeps one classifier in place of an ensemble.

    Parameters
    ----------
    estimator : estimator object
        Classifier with ``predict_proba`` or ``decision_function``.
    method : str or Calibrator, default "auto"
        Name of a calibration method, ``"auto"`` to select one by cross-validation, or an unfitted calibrator, which is cloned.
        The parameter ``input`` of a calibrator determines what it is fitted on: ``"prob"`` the predicted probabilities, ``"logit"`` the
        decision function or, if there is none, the logarithms of the probabilities. Methods given by name use probabilities if the
        classifier has them.
    cv : int, cross-validation splitter or "prefit", default 5
        Folds for the cross-validated predictions, after which the classifier is fitted on all rows. ``"prefit"``: the classifier is
        already fitted, and `fit` must receive data that it was not trained on.

    Attributes
    ----------
    estimator_ : estimator object
        Fitted classifier.
    calibrator_ : Calibrator
        Fitted calibrator.
    classes_ : ndarray of shape (K,)
        Class labels.
    n_features_in_ : int
        Number of features seen in `fit`, if the classifier reports it.

    See Also
    --------
    calibrant.recalibrate : Selection of a calibrator from predictions.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from calibrant.sklearn import CalibratedModel
    >>> X, y = make_classification(2000, n_informative=4, random_state=0)
    >>> model = CalibratedModel(GaussianNB(), method="platt").fit(X, y)
    >>> round(model.calibrator_.curves_[0].slope, 2)
    0.62
    >>> model.predict_proba(X[:1]).shape
    (1, 2)
    """

    def __init__(self, estimator: Any, method: str | Calibrator = "auto", cv: Any = 5) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier, unless it is already fitted, and the calibrator.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Features.
        y : array-like of shape (N,)
            Observed classes.
        sample_weight : array-like of shape (N,), optional
            Importance weights; for the calibrator only ratios matter.

        Returns
        -------
        CalibratedModel
            The fitted meta-estimator itself.

        Raises
        ------
        ArgumentError
            If the classifier does not provide the scores that the calibrator needs.
        LabelError
            If `y` has a class that the classifier does not know, or a single class.

        Warns
        -----
        CalibrantWarning
            If the classifier, or the last step of a pipeline, does not accept `sample_weight`: only the calibrator then uses the weights.
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
            keywords = _weight_keywords(self.estimator, sample_weight)
            scores = _held_out(self.estimator, X, y, self.cv, keywords, wanted)
            self.estimator_ = clone(self.estimator).fit(X, y, **keywords)
        self.classes_ = self.estimator_.classes_
        if hasattr(self.estimator_, "n_features_in_"):
            self.n_features_in_ = self.estimator_.n_features_in_
        codes = _codes(self.classes_, y)
        values, kind = scores
        if isinstance(self.method, Calibrator):
            self.calibrator_ = clone(self.method).fit(values, codes, sample_weight)
        elif self.method == "auto":
            found = recalibrate(codes, values, input=kind, sample_weight=sample_weight)
            if found.warned:
                warn_caller(found.note)
            self.calibrator_ = found.calibrator
        else:
            self.calibrator_ = find_method(self.method)(input=kind).fit(values, codes, sample_weight)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Predict calibrated probabilities.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Features.

        Returns
        -------
        ndarray of shape (N, K)
            Calibrated probabilities, one column per class of `classes_`.
        """
        check_is_fitted(self)
        return self.calibrator_.predict_proba(_scores(self.estimator_, X, self.calibrator_.input)[0])

    def predict(self, X: Any) -> Any:
        """Predict the class with the largest calibrated probability.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Features.

        Returns
        -------
        ndarray of shape (N,)
            Predicted classes.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]


def _weight_keywords(estimator: Any, weight: Any) -> dict[str, Any]:
    """The keyword by which an estimator, or the last step of a pipeline, accepts weights; a warning if neither does."""
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
    """The scores of a classifier, and whether they are probabilities or logits; for two classes, those of the `positive` one."""
    classes = len(model.classes_)
    method = _method(model, classes, wanted)
    return _read(getattr(model, method)(X), method, classes, wanted, positive)


def _held_out(
    model: Any, X: Any, y: Any, cv: Any, keywords: dict[str, Any], wanted: str | None = None
) -> tuple[Any, Any]:
    """The cross-validated scores of a classifier."""
    classes = len(np.unique(y))
    method = _method(model, classes, wanted)
    return _read(cross_val_predict(model, X, y, cv=cv, method=method, params=keywords or None), method, classes, wanted)


def _method(model: Any, classes: int, wanted: str | None = None) -> str:
    """The method that returns the scores `wanted`, or probabilities if the classifier has them; one score per class."""
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
    # Three classes have three pairs, so the number of scores does not reveal one-vs-one scores.
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
    """The class index of each row; a label unknown to the classifier raises an error."""
    known = len(classes)
    try:
        return encode_labels(column(y, "y"), known, class_names(classes, known), None, np.empty(0))
    except LabelError as error:
        remedy = "drop the rows of classes that the classifier was not fitted on, or fit it on them"
        raise error.replaced(argument="y", remedy=remedy) from None


@dataclass(frozen=True)
class Scorer:
    """Metric as a scikit-learn scorer: called with a fitted classifier and data, larger is better.

    Use `scorer` to create one.

    Parameters
    ----------
    metric : str
        Identifier of the metric.
    options : tuple of (str, object), default ()
        Options of the metric and of the reading of probabilities.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from calibrant.sklearn import Scorer
    >>> X, y = make_classification(500, random_state=0)
    >>> round(Scorer("brier")(LogisticRegression().fit(X, y), X, y), 4)
    -0.1168
    """

    metric: str
    options: tuple[tuple[str, Any], ...] = ()

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        found = catalogue[self.metric]
        values, kind = _scores(estimator, X)
        keywords = {"input": kind, "sample_weight": sample_weight, **dict(self.options)}
        value = found(_names(estimator, y), values, classes=estimator.classes_, **keywords)
        return -_badness(found, value)

    def __repr__(self) -> str:
        return f"scorer({self.metric!r})"


def _badness(metric: Metric, value: float) -> float:
    """The distance of a value from its ideal, or the value of a proper score."""
    if metric.proper == "strictly" or metric.ideal is None:
        return value
    return abs(value - metric.ideal)


# The keywords taken are those of `Predictions` that do not refer to individual rows.
@checks_keywords("metric", catalogue, taken=("normalize", "clip", "sum_tolerance"))
def scorer(metric: str | Metric, **options: Any) -> Scorer:
    """Create the scorer of a metric, for ``cross_val_score``, ``GridSearchCV`` and similar functions.

    Scorers follow the convention that larger is better: the score is the negative distance of the metric from its ideal value, or the
    negative value of a proper score.

    Parameters
    ----------
    metric : str or Metric
        Identifier or alias of a metric that needs labels and probabilities only.
    **options
        Options of the metric, such as ``bins``.

    Returns
    -------
    Scorer
        Callable with the signature ``(estimator, X, y, sample_weight=None)``.

    Raises
    ------
    ArgumentError
        If the metric needs more than labels and probabilities.
    UnknownArgumentError
        If a keyword is not an option of the metric.

    See Also
    --------
    scorers : Scorers of several metrics.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from calibrant.sklearn import scorer
    >>> X, y = make_classification(500, random_state=0)
    >>> cross_val_score(LogisticRegression(), X, y, scoring=scorer("ece", bins=10)).round(2)
    array([-0.15, -0.11, -0.08, -0.09, -0.08])
    """
    found = metric if isinstance(metric, Metric) else catalogue[metric]
    if found.needs:
        raise ArgumentError("metric", f"{found.id} requires {' and '.join(found.needs)}, which scorers do not receive")
    found._split(options)  # the values of options are checked now, not after the first fold
    return Scorer(found.id, tuple(sorted(options.items())))


def _names(estimator: Any, y: Any) -> Any:
    """The class of each row by name, for lenses such as ``"class:dog"``."""
    return np.asarray(estimator.classes_)[_codes(estimator.classes_, y)]


def _place_of(pos_label: Any, classes: Any) -> int:
    """The column of the positive class; by default the second."""
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
    """Create scorers of several metrics, as ``cross_validate`` expects them.

    Parameters
    ----------
    metrics : str, Metric or iterable of these, optional
        Metrics; by default all that need labels and probabilities only.

    Returns
    -------
    dict of str to Scorer
        Scorers by identifier of the metric.

    See Also
    --------
    scorer : The scorer of one metric, with options.

    Examples
    --------
    >>> from calibrant.sklearn import scorers
    >>> scorers(["ece", "Brier score"])
    {'ece': scorer('ece'), 'brier': scorer('brier')}
    """
    if metrics is None:
        metrics = [metric for metric in catalogue.values() if not metric.needs]
    made = [scorer(metric) for metric in ([metrics] if isinstance(metrics, (str, Metric)) else metrics)]
    return {each.metric: each for each in made}


class ReliabilityDisplay:
    """Reliability diagram with the interface of scikit-learn's displays.

    Create one with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    curve : CalibrationCurve
        Calibration curve, as returned by `calibration_curve`.
    name : str, optional
        Name in the legend.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Axes of the diagram.
    figure_ : matplotlib.figure.Figure
        Figure of the diagram.
    line_ : matplotlib.lines.Line2D
        Calibration curve.

    See Also
    --------
    calibrant.reliability_diagram : The diagram without scikit-learn.

    Examples
    --------
    >>> from calibrant.sklearn import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], bins=2)
    >>> type(display.ax_).__name__
    'Axes'
    """

    def __init__(self, curve: CalibrationCurve, name: str | None = None) -> None:
        self.curve = curve
        self.name = name

    @classmethod
    @documents_keywords(taken=())
    def from_predictions(
        cls, y_true: Any, y_prob: Any, *, name: str | None = None, ax: Any = None, **keywords: Any
    ) -> ReliabilityDisplay:
        """Plot the reliability diagram of labels and probabilities.

        Parameters
        ----------
        y_true : array-like of shape (N,)
            Observed labels.
        y_prob : array-like of shape (N,) or (N, K)
            Predicted probabilities; one-dimensional ones are those of `pos_label`, which is required for text labels.
        name : str, optional
            Name in the legend.
        ax
        **keywords
            Keywords of `calibration_curve`, such as ``bins`` and ``pos_label``.

        Returns
        -------
        ReliabilityDisplay
            The display, with attributes `ax_`, `figure_` and `line_`.
        """
        return cls(calibration_curve(y_true, y_prob, **keywords), name).plot(ax)

    @classmethod
    @documents_keywords(taken=())
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **keywords: Any,
    ) -> ReliabilityDisplay:
        """Plot the reliability diagram of a fitted classifier.

        Parameters
        ----------
        estimator : estimator object
            Fitted classifier with ``predict_proba`` or ``decision_function``.
        X : array-like of shape (N, D)
            Features.
        y : array-like of shape (N,)
            Observed classes.
        pos_label : object, optional
            Class whose probability is evaluated, for two classes; by default the second of ``estimator.classes_``.
        name : str, optional
            Name in the legend; by default the name of the class of the estimator.
        ax
        **keywords
            Keywords of `calibration_curve`, such as ``bins``; ``classes`` and ``input`` are taken from the estimator.

        Returns
        -------
        ReliabilityDisplay
            The display, with attributes `ax_`, `figure_` and `line_`.

        Raises
        ------
        ArgumentError
            If `classes` or `input` is passed, or `pos_label` for more than two classes.
        """
        for word in ("classes", "input"):
            if word in keywords:
                raise ArgumentError(word, "is determined by the estimator", Drop(word))
        classes = np.asarray(estimator.classes_)
        positive = _place_of(pos_label, classes)
        values, kind = _scores(estimator, X, positive=positive)
        if len(classes) == 2:
            keywords["pos_label"] = classes.tolist()[positive]
            if keywords.get("lens", "auto") == "auto":
                keywords["lens"] = f"class:{keywords['pos_label']}"  # the axes name the class
        keywords |= {"input": kind, "classes": classes.tolist(), "name": name or type(estimator).__name__}
        return cls.from_predictions(_names(estimator, y), values, ax=ax, **keywords)

    def plot(self, ax: Any = None, **options: Any) -> ReliabilityDisplay:
        """Plot the diagram.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; by default a new figure.
        **options
            Options of the method `plot` of a `ReliabilityDiagram`.

        Returns
        -------
        ReliabilityDisplay
            The display itself.
        """
        self.ax_ = ReliabilityDiagram.of_curve(self.curve).plot(ax, name=self.name, **options)
        self.figure_ = self.ax_.figure
        self.line_ = next(line for line in self.ax_.lines if line.get_gid() == "curve")
        return self

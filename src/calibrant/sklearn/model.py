"""A meta-estimator that calibrates any classifier: on cross-validated predictions, as an ensemble of folds, or already fitted."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter

from ..errors import ArgumentError, LabelError, UndefinedMetricError, warn_caller
from ..input.convert import column
from ..input.predictions import Predictions
from ..input.weights import read_weights
from ..recalibration.base import Calibrator
from ..recalibration.choosing import recalibrate
from ..recalibration.methods import find_method
from ..recalibration.scaling import TemperatureScaling
from ..recalibration.scores import names_array
from ..recalibration.venn import CrossVennAbers
from ..util.checks import check_choice
from .responses import Kind, check_classifier, class_codes, scores_of
from .score_curves import ScoreCurves

try:
    from sklearn.frozen import FrozenEstimator
except ImportError:  # scikit-learn before 1.6
    FrozenEstimator = ()

_Made = TypeVar("_Made", bound=Calibrator)
Array = NDArray[Any]
Floats = NDArray[np.float64]
# Methods under the convention of scikit-learn: its default, its names, and the name here.
THEIRS = {
    "auto": "sigmoid",
    "sigmoid": "sigmoid",
    "platt": "sigmoid",
    "isotonic": "isotonic",
    "temperature": "temperature",
}
# Added by scikit-learn to probabilities before their logarithm is taken.
THEIR_FLOOR = 1e-12
# Decision values above this are divided by a power of two before a temperature is fitted, whose range is limited.
LARGE = 100.0


@dataclass(frozen=True, eq=False)
class CalibratedPair:
    """A fitted classifier and the calibrator of its scores: an element of `CalibratedModel.calibrated_classifiers_`.

    Parameters
    ----------
    estimator : estimator object
        Fitted classifier.
    calibrator : object
        Fitted calibrator.
    classes : ndarray of shape (K,)
        Class labels of the whole model; classes that the classifier does not know have probability 0.
    wanted : str
        Scores that the calibrator reads: ``"prob"``, ``"logit"``, or ``"raw"`` as in scikit-learn.

    See Also
    --------
    CalibratedModel : The meta-estimator.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from calibrant.sklearn import CalibratedModel
    >>> X, y = make_classification(500, random_state=0)
    >>> model = CalibratedModel(GaussianNB(), method="platt", ensemble=True).fit(X, y)
    >>> [round(pair.calibrator.curves_[0].slope, 2) for pair in model.calibrated_classifiers_]
    [0.26, 0.32, 0.32, 0.29, 0.28]
    """

    estimator: Any
    calibrator: Any
    classes: Array = field(repr=False)
    wanted: str = field(repr=False)

    def predict_proba(self, X: Any) -> Floats:
        """Predict calibrated probabilities.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Features.

        Returns
        -------
        ndarray of shape (N, K)
            Calibrated probabilities, one column per class.
        """
        values, kind = scores_of(self.estimator, X, self.wanted)
        if self.wanted == "raw" and isinstance(self.calibrator, Calibrator):
            values = _their_logits(values, kind)
        known = class_codes(self.classes, self.estimator.classes_)
        if isinstance(self.calibrator, ScoreCurves):
            return self.calibrator.predict_proba(values, known, len(self.classes))
        probs = self.calibrator.predict_proba(values)
        if len(known) == len(self.classes):
            return np.asarray(probs)
        full = np.zeros((len(probs), len(self.classes)))
        full[:, known] = probs
        return full


class CalibratedModel(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier with calibrated probabilities: a meta-estimator around any scikit-learn classifier.

    The calibrator is fitted on cross-validated predictions of the classifier, or on data that the classifier was not trained on if it is
    already fitted. Compared with scikit-learn's ``CalibratedClassifierCV`` it offers all methods of calibrant, selects
    among them, and by default keeps one classifier in place of an ensemble; ``convention="scikit-learn"`` gives the probabilities of
    ``CalibratedClassifierCV``.

    Parameters
    ----------
    estimator : estimator object, optional
        Classifier with ``predict_proba`` or ``decision_function``; by default ``LinearSVC(random_state=0)``. A classifier in a
        ``FrozenEstimator`` is already fitted, as with ``cv="prefit"``.
    method : str or Calibrator, default "auto"
        Name of a calibration method, ``"auto"`` to select one by cross-validation, or an unfitted calibrator, which is cloned.
        The parameter ``input`` of a calibrator determines what it is fitted on: ``"prob"`` the predicted probabilities, ``"logit"`` the
        decision function or, if there is none, the logarithms of the probabilities. Methods given by name use probabilities if the
        classifier has them.
    cv : int, cross-validation splitter, iterable, None or "prefit", default 5
        Folds for the cross-validated predictions, after which the classifier is fitted on all rows. ``"prefit"``: the classifier is
        already fitted, and `fit` must receive data that it was not trained on. None: five folds; as in scikit-learn, an ensemble then does not require
        five rows of each class.
    ensemble : bool or "auto", default "auto"
        Whether to keep the classifier of each fold, with a calibrator fitted on the other rows, and to average their probabilities. ``"auto"`` does so
        under the convention of scikit-learn, unless the classifier is already fitted.
    n_jobs : int, optional
        Number of folds fitted in parallel; by default one, -1 for all processors.
    convention : {"calibrant", "scikit-learn"}, default "calibrant"
        ``"scikit-learn"`` fits what ``CalibratedClassifierCV`` does, for ``method="sigmoid"`` (its default), ``"isotonic"`` and
        ``"temperature"``: one curve per class on the decision function, or on the probabilities as they are if there is none.

    Attributes
    ----------
    calibrated_classifiers_ : list of CalibratedPair
        Fitted classifiers with their calibrators: one per fold with ``ensemble=True``, else one.
    estimator_ : estimator object
        Fitted classifier, if there is one.
    calibrator_ : Calibrator
        Fitted calibrator, if there is one.
    classes_ : ndarray of shape (K,)
        Class labels.
    n_features_in_ : int
        Number of features seen in `fit`, if the classifier reports it.
    feature_names_in_ : ndarray of shape (D,)
        Names of the features seen in `fit`, if the classifier reports them.

    See Also
    --------
    calibrant.recalibrate : Selection of a calibrator from predictions.

    Notes
    -----
    The conventions differ in what a curve is fitted on. `PlattScaling` and `IsotonicCalibration` read log-odds and probabilities;
    scikit-learn fits both to the scores as they are, so that the sigmoid of a naive Bayes classifier is a logistic function of a
    probability, and the decision values of several classes are calibrated one by one and divided by their sum; a row whose curves are all 0 becomes
    uniform. Platt's targets count weights as rows in scikit-learn; in calibrant only their ratios matter.

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

    The probabilities of scikit-learn:

    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> ours = CalibratedModel(GaussianNB(), method="isotonic", convention="scikit-learn").fit(X, y)
    >>> theirs = CalibratedClassifierCV(GaussianNB(), method="isotonic").fit(X, y)
    >>> bool(abs(ours.predict_proba(X) - theirs.predict_proba(X)).max() < 1e-12)
    True
    """

    _how_to_save = (
        "pickle the model, for example joblib.dump(model, path); "
        "a model without an ensemble has a calibrator that cal.save can write, calibrator_"
    )

    def __init__(
        self,
        estimator: Any = None,
        method: str | Calibrator = "auto",
        cv: Any = 5,
        *,
        ensemble: bool | Literal["auto"] = "auto",
        n_jobs: int | None = None,
        convention: Literal["calibrant", "scikit-learn"] = "calibrant",
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.ensemble = ensemble
        self.n_jobs = n_jobs
        self.convention = convention

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit the classifier, unless it is already fitted, and the calibrator.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, D)
            Features.
        y : array-like of shape (N,)
            Observed classes.
        sample_weight : array-like of shape (N,), optional
            Importance weights, passed to the classifier and to the calibrator; for the calibrator only ratios matter, except under the convention of
            scikit-learn.
        **fit_params
            Parameters for the method ``fit`` of the classifier; those with one value per row are divided like the rows. ``groups`` are passed to the
            splitter. With ``enable_metadata_routing`` of scikit-learn, each parameter goes where it is requested.

        Returns
        -------
        CalibratedModel
            The fitted meta-estimator itself.

        Raises
        ------
        ArgumentError
            If the classifier does not provide the scores that the calibrator needs, or the folds do not suit the classes.
        LabelError
            If `y` has a class that the classifier does not know, or a single class.

        Warns
        -----
        CalibrantWarning
            If the classifier, or the last step of a pipeline, does not accept `sample_weight`: only the calibrator then uses the weights. If a
            class is missing from the training rows of a fold.
        """
        if y is None:
            raise ArgumentError("y", "is missing; this estimator requires y to be passed, but the target y is None")
        plan, estimator = self._plan(), self._estimator()
        X, y = indexable(X, _labels(y))
        try:
            check_classification_targets(y)
        except TypeError as error:
            if missing := sum(label is None or label != label for label in y):
                raise LabelError("y", f"{missing} missing labels", "drop or fill these rows") from error
            raise
        weight = None if sample_weight is None else _weights(sample_weight, len(y))
        fixed = self.cv == "prefit" if isinstance(self.cv, str) else isinstance(estimator, FrozenEstimator)
        given, splitting = self._routed(estimator, sample_weight, fit_params, fixed)
        ensemble = (self.convention == "scikit-learn" and not fixed) if self.ensemble == "auto" else self.ensemble
        if fixed:
            check_is_fitted(estimator)
            check_classifier(estimator)
        classes = np.asarray(estimator.classes_) if fixed else np.unique(y)
        codes = class_codes(classes, y)
        if len(classes) < 2:
            found = "all labels are equal" if len(y) > 1 else "got 1 sample"
            raise LabelError("y", f"at least two classes are required; {found}")
        if fixed and not ensemble:
            pairs = [_pair(estimator, classes, *scores_of(estimator, X, plan.wanted), codes, weight, plan)]
        else:
            splits = list(check_cv(self.cv, y, classifier=True).split(X, y, **splitting))
            # As in scikit-learn, the default folds may have fewer rows of a class than there are folds.
            _check_splits(splits, codes, classes, ensemble, fixed, counted=self.cv is not None)
            fitted = Parallel(n_jobs=self.n_jobs)(
                delayed(_fit_fold)(clone(estimator), X, y, *split, given, plan.wanted, ensemble) for split in splits
            )
            known = [class_codes(classes, found.classes) for found in fitted]
            _warn_of_missing(known, classes)
            if ensemble:
                pairs = [
                    _pair_of_fold(number, found, classes, codes[test], None if weight is None else weight[test], plan)
                    for number, (found, (_, test)) in enumerate(zip(fitted, splits, strict=True), 1)
                ]
            else:
                held_out = _joined(fitted, known, splits, classes)
                estimator = clone(estimator).fit(X, y, **given)
                fold = np.empty(len(y), np.intp)
                for number, (_, test) in enumerate(splits):
                    fold[test] = number
                pairs = [_pair(estimator, classes, *held_out, codes, weight, plan._replace(fold=fold))]
        self._take(pairs, classes, ensemble)
        return self

    def _plan(self) -> _Plan:
        """What is fitted to the scores, with the parameters checked."""
        check_choice(self.convention, "convention", ("calibrant", "scikit-learn"))
        check_choice(self.ensemble, "ensemble", (True, False, "auto"))
        if isinstance(self.cv, str) and self.cv != "prefit":
            raise ArgumentError("cv", f"must be a number of folds, a splitter or 'prefit'; got {self.cv!r}")
        if isinstance(self.cv, str) and self.ensemble is True:
            raise ArgumentError("ensemble", "requires folds, and cv='prefit' has none", "use ensemble=False or cv=5")
        if self.convention == "calibrant":
            if isinstance(self.method, Calibrator):
                self.method._check_params()
            elif not isinstance(self.method, str):
                shown = self.method.__name__ if isinstance(self.method, type) else type(self.method).__name__
                remedy = f"pass an instance, {shown}()" if isinstance(self.method, type) else "for example 'platt'"
                raise ArgumentError("method", f"must be the name of a method or a calibrator; got {shown}", remedy)
            elif self.method != "auto":
                find_method(self.method)
            return _Plan(self.method, self.method.input if isinstance(self.method, Calibrator) else None)
        if not (isinstance(self.method, str) and self.method in THEIRS):
            shown = self.method if isinstance(self.method, str) else type(self.method).__name__
            raise ArgumentError(
                "method",
                f"{shown!r} is not a method of scikit-learn",
                "choose one of sigmoid, isotonic, temperature, or use convention='calibrant'",
            )
        return _Plan(THEIRS[self.method], "raw")

    def _estimator(self) -> Any:
        if isinstance(self.estimator, type):
            name = self.estimator.__name__
            raise ArgumentError(
                "estimator", f"must be an estimator; got the class {name}", f"pass an instance, {name}()"
            )
        if self.estimator is not None:
            return self.estimator
        from sklearn.svm import LinearSVC

        default = LinearSVC(random_state=0)
        if get_config()["enable_metadata_routing"]:
            default.set_fit_request(sample_weight=True)
        return default

    def _routed(
        self, estimator: Any, sample_weight: Any, fit_params: dict[str, Any], fixed: bool
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The parameters for the classifier and for the splitter."""
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight, **fit_params)
            return dict(routed.estimator.fit), dict(routed.splitter.split)
        given = {word: value for word, value in fit_params.items() if word != "groups"}
        splitting = {"groups": fit_params["groups"]} if "groups" in fit_params else {}
        return given if fixed else given | _weight_keywords(estimator, sample_weight), splitting

    def _take(self, pairs: list[CalibratedPair], classes: Array, ensemble: bool) -> None:
        """Set the fitted attributes; those of an earlier fit are removed."""
        for name in ("estimator_", "calibrator_", "n_features_in_", "feature_names_in_"):
            if name in vars(self):
                delattr(self, name)
        self.calibrated_classifiers_, self.classes_ = pairs, classes
        first = pairs[0]
        if not ensemble:
            self.estimator_, self.calibrator_ = first.estimator, first.calibrator
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(first.estimator, name):
                setattr(self, name, getattr(first.estimator, name))

    def predict_proba(self, X: Any) -> Any:
        """Predict calibrated probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, D)
            Features.

        Returns
        -------
        ndarray of shape (N, K)
            Calibrated probabilities, one column per class of `classes_`.
        """
        check_is_fitted(self)
        total = self.calibrated_classifiers_[0].predict_proba(X)
        for pair in self.calibrated_classifiers_[1:]:
            total = total + pair.predict_proba(X)
        return total / len(self.calibrated_classifiers_)

    def predict(self, X: Any) -> Any:
        """Predict the class with the largest calibrated probability.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, D)
            Features.

        Returns
        -------
        ndarray of shape (N,)
            Predicted classes.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def get_metadata_routing(self) -> Any:
        """Return which metadata are requested: by the model itself, by the classifier and by the splitter.

        Returns
        -------
        MetadataRouter
            The requests.
        """
        fitting = MethodMapping().add(caller="fit", callee="fit")
        splitting = MethodMapping().add(caller="fit", callee="split")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self._estimator(), method_mapping=fitting)
            .add(splitter=self.cv, method_mapping=splitting)
        )

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._estimator()).input_tags.sparse
        return tags


class _Plan(NamedTuple):
    """What is fitted to the scores of a classifier."""

    method: str | Calibrator
    wanted: str | None
    """Scores: ``"prob"``, ``"logit"``, ``"raw"`` under the convention of scikit-learn, or None for probabilities if there are any."""
    fold: Array | None = None
    """Fold in which each row was held out."""


def _labels(y: Any) -> Any:
    """The labels as one column; several columns raise an error."""
    shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    if len(shape) == 2 and shape[1] > 1:
        raise LabelError(
            "y",
            f"multilabel and one-hot labels are not supported: y should be a 1d array, got an array of shape {shape} instead",
            "pass the class of each row, or fit one model per label, as sklearn.multioutput.MultiOutputClassifier does",
        )
    return column_or_1d(y, warn=True)


def _weights(sample_weight: Any, n: int) -> Floats:
    """The weights as given; their scale matters under the convention of scikit-learn."""
    weight = column(sample_weight, "sample_weight").array
    read_weights(weight, None, n)
    return np.asarray(weight, dtype=np.float64)


def _weight_keywords(estimator: Any, weight: Any) -> dict[str, Any]:
    """The keyword by which an estimator, or the last step of a pipeline, accepts weights; a warning if neither does."""
    if weight is None:
        return {}
    if has_fit_parameter(estimator, "sample_weight"):
        return {"sample_weight": weight}
    name, last = estimator.steps[-1] if getattr(estimator, "steps", None) else ("", None)
    if last is not None and has_fit_parameter(last, "sample_weight"):
        return {f"{name}__sample_weight": weight}
    warn_caller(
        f"{type(estimator).__name__}.fit does not accept sample_weight, so the classifier is fitted without weights and only the "
        'calibrator uses them; fit the classifier with weights beforehand and pass cv="prefit"'
    )
    return {}


def _check_splits(
    splits: list[tuple[Array, Array]], codes: Array, classes: Array, ensemble: bool, fixed: bool, counted: bool
) -> None:
    """Raise where a classifier or a calibrator could not be fitted, or a row would have no held-out score."""
    tested = np.bincount(np.concatenate([test for _, test in splits]), minlength=len(codes))
    once = bool((tested == 1).all())
    if not (once or ensemble):
        raise ArgumentError(
            "cv", "each row must be a test row of exactly one fold", "pass ensemble=True or use another splitter"
        )
    present, counts = np.unique(codes, return_counts=True)
    if counted and ensemble and once and counts.min() < len(splits):
        name = classes[present].tolist()[counts.argmin()]
        raise ArgumentError(
            "cv",
            f"{len(splits)} folds require {len(splits)} rows of each class; class {name!r} has {counts.min()}",
            "use fewer folds, use ensemble=False, or pass cv=None, the default of scikit-learn, which does not require them",
        )
    for number, (train, _) in enumerate(splits, 1):
        if not fixed and len(np.unique(codes[train])) < 2:
            raise ArgumentError(
                "cv",
                f"the training rows of fold {number} have a single class",
                "use a splitter that mixes the classes, such as StratifiedKFold(shuffle=True)",
            )


class _Fold(NamedTuple):
    """A classifier fitted on the training rows of a fold, if it is kept, its classes, and its scores of the test rows."""

    estimator: Any
    classes: Array
    values: Array
    kind: Kind


def _fit_fold(
    estimator: Any,
    X: Any,
    y: Any,
    train: Array,
    test: Array,
    given: dict[str, Any],
    wanted: str | None,
    keep: bool,
) -> _Fold:
    rows, labels = _safe_split(estimator, X, y, train)
    estimator.fit(rows, labels, **{word: _part(value, len(y), train) for word, value in given.items()})
    scores = scores_of(estimator, _safe_split(estimator, X, None, test, train)[0], wanted)
    return _Fold(estimator if keep else None, estimator.classes_, *scores)


def _part(value: Any, n: int, rows: Array) -> Any:
    """The part of a parameter that belongs to some rows; the whole if it does not have one value per row."""
    if isinstance(value, (str, bytes, dict)):
        return value
    if hasattr(value, "__array__") and not hasattr(value, "shape"):
        value = np.asarray(value)
    shape = getattr(value, "shape", None)
    size = shape[0] if shape else len(value) if shape is None and hasattr(value, "__len__") else None
    return _safe_indexing(value, rows) if size == n else value


def _warn_of_missing(known: list[Array], classes: Array) -> None:
    """Warn of the first fold whose classifier does not know all classes."""
    for number, found in enumerate(known, 1):
        if len(found) < len(classes):
            names = np.delete(classes, found).tolist()
            shown = f"class {names[0]!r} is" if len(names) == 1 else f"classes {names} are"
            warn_caller(
                f"{shown} missing from the training rows of fold {number}, so that the classifier of this fold gives probability 0; "
                "use a splitter that mixes the classes, such as StratifiedKFold(shuffle=True)"
            )
            return


def _joined(
    fitted: list[_Fold], known: list[Array], splits: list[tuple[Array, Array]], classes: Array
) -> tuple[Array, Kind]:
    """The held-out scores of all rows; a class that a fold does not know has probability 0."""
    kind, k = fitted[0].kind, len(classes)
    whole = all(len(found) == k for found in known)
    if not whole and kind == "logit":
        raise ArgumentError(
            "cv",
            "a class is missing from the training rows of a fold, so that its decision values are missing",
            "use a splitter that mixes the classes or pass ensemble=True",
        )
    first, rows = fitted[0].values, sum(len(test) for _, test in splits)
    out = np.zeros((rows, *first.shape[1:]) if whole else (rows, k), first.dtype)
    for fold, found, (_, test) in zip(fitted, known, splits, strict=True):
        values = fold.values
        if whole:
            out[test] = values
        else:
            out[np.ix_(test, found)] = np.column_stack([1 - values, values]) if values.ndim == 1 else values
    return out, kind


def _pair_of_fold(
    number: int, found: _Fold, classes: Array, codes: Array, weight: Floats | None, plan: _Plan
) -> CalibratedPair:
    try:
        return _pair(found.estimator, classes, found.values, found.kind, codes, weight, plan)
    except UndefinedMetricError as error:
        raise ArgumentError(
            "cv",
            f"the test rows of fold {number} do not suffice for a calibrator ({error.problem})",
            "use fewer folds, use a splitter that mixes the classes, or use ensemble=False",
        ) from error


def _pair(
    estimator: Any,
    classes: Array,
    values: Array,
    kind: Kind,
    codes: Array,
    weight: Floats | None,
    plan: _Plan,
) -> CalibratedPair:
    """Fit the calibrator of a fitted classifier on its scores of held-out rows."""
    place = np.full(len(classes), -1)
    known = class_codes(classes, estimator.classes_)
    place[known] = np.arange(len(known))
    codes = place[codes]
    if plan.wanted == "raw" and plan.method != "temperature":
        # As in scikit-learn, rows of a class that the classifier does not know are rows of none of its classes.
        return CalibratedPair(estimator, ScoreCurves.fit(str(plan.method), values, codes, weight), classes, "raw")
    if codes.min(initial=0) < 0:
        kept = codes >= 0
        if not kept.any():
            raise ArgumentError(
                "cv", "no test row of a fold has a class of its training rows", "use a splitter that mixes the classes"
            )
        values, codes, weight = values[kept], codes[kept], None if weight is None else weight[kept]
    if plan.wanted == "raw":
        logits = _their_logits(values, kind)
        divisor = _divisor(logits, codes, weight, pair=kind == "logit" and logits.ndim == 1)
        calibrator = _fitted(TemperatureScaling(input="logit"), logits / divisor, codes, weight, classes[known])
        calibrator.temperature_ *= divisor  # so that it applies to the decision values as they are
        return CalibratedPair(estimator, calibrator, classes, "raw")
    if isinstance(plan.method, Calibrator) or plan.method != "auto":
        made: Calibrator = (
            clone(plan.method) if isinstance(plan.method, Calibrator) else find_method(plan.method)(input=kind)
        )
        fold = plan.fold if isinstance(made, CrossVennAbers) else None  # as in Vovk et al. (2015)
        fitted = _fitted(made, values, codes, weight, classes[known], fold)
        return CalibratedPair(estimator, fitted, classes, fitted.input)
    found = recalibrate(Predictions(codes, values, input=kind, sample_weight=weight))
    if found.warned:
        warn_caller(found.note)
    found.calibrator.classes_ = names_array(classes[known].tolist())
    return CalibratedPair(estimator, found.calibrator, classes, found.calibrator.input)


def _fitted(made: _Made, values: Array, codes: Array, weight: Floats | None, names: Array, fold: Any = None) -> _Made:
    """Fit a calibrator, which has the names of the classes in its messages, predictions and files."""
    made._check_params()
    data, _, columns = made._read_training(values, codes, weight, None)
    data.beside = fold
    return made._fit_read(data, names_array(names.tolist()), columns)


def _divisor(logits: Floats, codes: Array, weight: Floats | None, pair: bool) -> float:
    """The number by which logits are divided so that the range of temperatures here contains that of scikit-learn where it matters.

    Its inverse temperature lies between exp(-10) and exp(10), for two classes with a decision value x that of the `pair` -x and x.
    """
    divisor = 2.0 ** np.ceil(np.log2(max(np.abs(logits).max() / LARGE, 1.0)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit that follows warns
        found = TemperatureScaling(input="logit").fit(logits / divisor, codes, weight).temperature_
    least, most = np.exp(-10) / (1 + pair), np.exp(10) / (1 + pair)
    if found > 999 or found * divisor > most:
        divisor = most / 1000
    elif found < 0.001001 or found * divisor < least:
        divisor = least / 0.001
    return float(divisor)


def _their_logits(values: Array, kind: Kind) -> Floats:
    """Logits as scikit-learn computes them from probabilities: with 1e-12 added."""
    values = values.astype(np.float64, copy=False)
    if kind == "logit":
        return values
    logs = np.log(values + THEIR_FLOOR)
    return np.asarray(logs if values.ndim == 2 else logs - np.log(1 - values + THEIR_FLOOR))

"""CalibratedModel: a scikit-learn meta-estimator whose probabilities are calibrated on predictions of held-out rows.

The selection, fitting and saving of calibrators stay in `calibrant.recalibration`.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, check_is_fitted, column_or_1d, has_fit_parameter

from ..errors import ArgumentError, LabelError, warn_caller
from ..input.convert import column
from ..input.predictions import Predictions
from ..input.weights import read_weights
from ..recalibration.base import Calibrator
from ..recalibration.choosing import recalibrate
from ..recalibration.intervals import CalibrationInterval
from ..recalibration.methods import find_method
from ..recalibration.scores import names_array
from ..recalibration.venn import CrossVennAbers
from ..util.arrays import Array, Floats
from .responses import Kind, check_classifier, class_codes, read_scores, scores_of


class CalibratedModel(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier with calibrated probabilities: a meta-estimator around any scikit-learn classifier.

    The calibrator is fitted on cross-validated predictions of the classifier, which is then fitted on all rows; or, if the
    classifier is already fitted, on data that it was not trained on. Compared with scikit-learn's ``CalibratedClassifierCV``
    it offers all methods of calibrant, selects among them, and keeps one classifier, as ``ensemble=False`` does there.

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
    cv : int, cross-validation splitter, iterable, None, "oob" or "prefit", default 5
        Folds for the cross-validated predictions; no row may be a test row of several folds. The calibrator is fitted on the test rows of
        all folds together: with ``TimeSeriesSplit`` the first rows only train the classifier. None: five folds. ``"oob"``: the
        out-of-bag predictions of a bagged classifier with ``oob_score=True``, which is then fitted only once. ``"prefit"``: the classifier
        is already fitted, and `fit` must receive data that it was not trained on.
    n_jobs : int, optional
        Number of folds fitted in parallel; by default one, -1 for all processors.

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
    feature_names_in_ : ndarray of shape (D,)
        Names of the features seen in `fit`, if the classifier reports them.

    See Also
    --------
    calibrant.recalibrate : Selection of a calibrator from predictions.

    Notes
    -----
    `PlattScaling` and `IsotonicCalibration` read log-odds and probabilities; scikit-learn fits both to the scores as they are, so
    that its sigmoid of a naive Bayes classifier is a logistic function of a probability. Of a decision function the two agree.

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

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str | Calibrator = "auto",
        cv: Any = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit the classifier, unless it is already fitted, and the calibrator.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, D)
            Features.
        y : array-like of shape (N,)
            Observed classes.
        sample_weight : array-like of shape (N,), optional
            Importance weights, passed to the classifier and to the calibrator, for which only ratios matter.
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
            If the classifier, or the last step of a pipeline, does not accept `sample_weight`: only the calibrator then uses the weights.
        """
        if y is None:
            raise ArgumentError("y", "is missing; this estimator requires y to be passed, but the target y is None")
        wanted, estimator = self._wanted_scores(), self._estimator()
        X, y = indexable(X, _read_labels(y))
        weight = None
        if sample_weight is not None:
            written = column(sample_weight, "sample_weight").array
            read_weights(written, None, len(y))
            weight = np.asarray(written, dtype=np.float64)
        fixed = self.cv == "prefit" if isinstance(self.cv, str) else isinstance(estimator, FrozenEstimator)
        params, splitting = self._route(estimator, sample_weight, fit_params, fixed)
        if fixed:
            check_is_fitted(estimator)
            check_classifier(estimator)
        classes = np.asarray(estimator.classes_) if fixed else np.unique(y)
        codes = class_codes(classes, y)
        if len(classes) < 2:
            problem = "all labels are equal" if len(y) > 1 else "got 1 sample"
            raise LabelError("y", f"at least two classes are required; {problem}")
        fold, tested = None, np.ones(len(y), bool)
        if fixed:
            values, kind = scores_of(estimator, X, wanted)
        elif isinstance(self.cv, str):
            estimator = clone(estimator).fit(X, y, **params)
            if not hasattr(estimator, "oob_decision_function_"):
                problem = (
                    f"'oob' requires a classifier with out-of-bag predictions; {type(estimator).__name__} has none"
                )
                raise ArgumentError("cv", problem, "pass RandomForestClassifier(oob_score=True), or a number of folds")
            # NaN or 0 where every member of the ensemble was fitted with the row.
            probs = np.array(estimator.oob_decision_function_, dtype=np.float64)
            tested = probs.sum(axis=1) > 0
            probs[~tested] = 1 / len(classes)  # not used
            values, kind = read_scores(probs, "predict_proba", len(classes), wanted)
        else:
            splits = list(check_cv(self.cv, y, classifier=True).split(X, y, **splitting))
            fold = fold_of_rows(splits, codes, classes)
            tested = fold >= 0
            scored = Parallel(n_jobs=self.n_jobs)(
                delayed(score_fold)(clone(estimator), X, y, *split, params, wanted) for split in splits
            )
            kind = scored[0][1]
            values = np.empty((len(y), *scored[0][0].shape[1:]), scored[0][0].dtype)
            for (part, _), (_, test) in zip(scored, splits, strict=True):
                values[test] = part
            estimator = clone(estimator).fit(X, y, **params)
        self.estimator_, self.classes_ = estimator, classes
        weight, fold = (None if part is None else part[tested] for part in (weight, fold))
        self.calibrator_ = self._fit_calibrator(values[tested], kind, codes[tested], weight, fold)
        for name in ("n_features_in_", "feature_names_in_"):
            if name in vars(self):  # of an earlier fit
                delattr(self, name)
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        return self

    def _wanted_scores(self) -> Kind | None:
        """The scores that the method needs, with the parameters checked; None for either kind."""
        if isinstance(self.cv, str) and self.cv not in ("prefit", "oob"):
            raise ArgumentError("cv", f"must be a number of folds, a splitter, 'oob' or 'prefit'; got {self.cv!r}")
        if isinstance(self.method, Calibrator):
            self.method._check_params()
            return self.method.input
        if not isinstance(self.method, str):
            shown = self.method.__name__ if isinstance(self.method, type) else type(self.method).__name__
            raise ArgumentError(
                "method", f"must be the name of a method or a calibrator; got {shown}", "for example PlattScaling()"
            )
        if self.method != "auto":
            find_method(self.method)
        return None

    def _fit_calibrator(
        self, values: Array, kind: Kind, codes: Array, weight: Floats | None, fold: Array | None
    ) -> Calibrator:
        names = names_array(self.classes_.tolist())
        if isinstance(self.method, str) and self.method == "auto":
            chosen = recalibrate(Predictions(codes, values, input=kind, sample_weight=weight))
            if chosen.warned:
                warn_caller(chosen.note)
            chosen.calibrator.classes_ = names
            return chosen.calibrator
        calibrator = clone(self.method) if isinstance(self.method, Calibrator) else find_method(self.method)(input=kind)
        data, _, columns = calibrator._read_training(values, codes, weight, None)
        data.beside = fold if isinstance(calibrator, CrossVennAbers) else None  # as in Vovk et al. (2015)
        return calibrator._fit_read(data, names, columns)

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

    def _route(
        self, estimator: Any, sample_weight: Any, fit_params: dict[str, Any], fixed: bool
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The parameters for the classifier and for the splitter."""
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight, **fit_params)
            return dict(routed.estimator.fit), dict(routed.splitter.split)
        params = {name: value for name, value in fit_params.items() if name != "groups"}
        splitting = {"groups": fit_params["groups"]} if "groups" in fit_params else {}
        return params if fixed else params | _weight_keywords(estimator, sample_weight), splitting

    def predict_proba(self, X: Any) -> Any:
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
        check_is_fitted(self)
        return self.calibrator_.predict_proba(self._scores(X))

    def predict_interval(self, X: Any, **options: Any) -> CalibrationInterval:
        """Compute confidence intervals of calibrated probabilities, for the classifier as it is.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Features.
        **options
            ``rows``, ``level``, ``n_resamples`` and ``rng`` of `Calibrator.predict_interval`.

        Returns
        -------
        CalibrationInterval
            Result with attributes `probability`, `low` and `high`.
        """
        check_is_fitted(self)
        return self.calibrator_.predict_interval(self._scores(X), **options)

    def _scores(self, X: Any) -> Any:
        return scores_of(self.estimator_, X, self.calibrator_.input)[0]

    def predict(self, X: Any) -> Any:
        """Predict the class with the largest calibrated probability.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Features.

        Returns
        -------
        ndarray of shape (N,)
            Class labels.
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


def _read_labels(y: Any) -> Any:
    shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    if len(shape) == 2 and shape[1] > 1:
        raise LabelError(
            "y",
            f"multilabel and one-hot labels are not supported: y should be a 1d array, got an array of shape {shape} instead",
            "pass the class of each row, or fit one model per label, as sklearn.multioutput.MultiOutputClassifier does",
        )
    labels = column_or_1d(y, warn=True)
    try:
        check_classification_targets(labels)
    except TypeError as error:
        if missing := sum(label is None or label != label for label in labels):
            raise LabelError("y", f"{missing} missing labels", "drop or fill these rows") from error
        raise
    return labels


def _weight_keywords(estimator: Any, weight: Any) -> dict[str, Any]:
    """The weights under the keyword of the classifier, or of the last step of a pipeline."""
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


def fold_of_rows(splits: list[tuple[Array, Array]], codes: Array, classes: Array) -> Array:
    """The fold in which each row is a test row, -1 in none; every class must be among the training rows of each fold."""
    fold = np.full(len(codes), -1, np.intp)
    for number, (train, test) in enumerate(splits):
        fold[test] = number
        missing = np.setdiff1d(codes, codes[train])
        if len(missing):
            raise ArgumentError(
                "cv",
                f"class {classes.tolist()[missing[0]]!r} is missing from the training rows of fold {number + 1}",
                "use a splitter that mixes the classes, such as StratifiedKFold(shuffle=True), or drop the class",
            )
    tested = np.bincount(np.concatenate([test for _, test in splits]), minlength=len(codes))
    if (tested > 1).any():
        raise ArgumentError("cv", "no row may be a test row of several folds", "use another splitter")
    return fold


def score_fold(
    estimator: Any, X: Any, y: Any, train: Array, test: Array, params: dict[str, Any], wanted: Kind | None
) -> tuple[Array, Kind]:
    """Scores of the test rows by a classifier fitted on the training rows."""
    rows, labels = _safe_split(estimator, X, y, train)
    estimator.fit(rows, labels, **_check_method_params(X, params, train))
    return scores_of(estimator, _safe_split(estimator, X, None, test, train)[0], wanted)

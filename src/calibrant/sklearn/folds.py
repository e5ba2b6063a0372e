"""Cross-validation folds: the predictions of each fold's model for the rows it was not fitted on, and metrics over the folds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable

from ..errors import ArgumentError, GroupError
from ..evaluation.measure import evaluate
from ..input.convert import column
from ..input.grouping import check_one_grouping
from ..input.predictions import Predictions
from ..util.progress import track
from ..util.results import Result, number
from .model import fold_of_rows, score_fold
from .responses import scores_of


@dataclass(frozen=True)
class FoldValues:
    """A metric over cross-validation folds.

    Parameters
    ----------
    metric : str
        Identifier of the metric.
    pooled : float or None
        Value on the rows of all folds; None where it is undefined.
    mean : float or None
        Mean over the folds in which it is defined.
    sd : float or None
        Standard deviation between these folds; None for fewer than two.
    folds : dict of str to (float or None)
        Value of each fold.

    Examples
    --------
    >>> from calibrant.sklearn import FoldValues
    >>> FoldValues("brier", 0.2, 0.2, 0.02, {"fold 1": 0.19, "fold 2": 0.21}).mean
    0.2
    """

    metric: str
    pooled: float | None
    mean: float | None
    sd: float | None
    folds: dict[str, float | None]


@dataclass(frozen=True, repr=False)
class FoldEvaluation(Result):
    """Metrics over cross-validation folds, as returned by `evaluate_folds`.

    Parameters
    ----------
    rows : tuple of FoldValues
        One row per metric; ``result["ece"]`` is one of them.
    n : int
        Number of rows.
    """

    _numeric = range(1, 100)

    rows: tuple[FoldValues, ...]
    n: int

    def __getitem__(self, metric: str) -> FoldValues:
        names = [row.metric for row in self.rows]
        if metric not in names:
            raise ArgumentError("metric", f"{metric!r} was not evaluated", f"choose one of {names}")
        return self.rows[names.index(metric)]

    def _columns(self) -> dict[str, list[Any]]:
        plain = {name: [getattr(row, name) for row in self.rows] for name in ("metric", "pooled", "mean", "sd")}
        return plain | {fold: [row.folds[fold] for row in self.rows] for fold in self.rows[0].folds}

    def _title(self) -> str:
        return f"{len(self.rows[0].folds)} folds, {self.n:,} rows"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        columns = self._columns()
        names = columns.pop("metric")
        rows = [[name, *map(number, values)] for name, *values in zip(names, *columns.values(), strict=True)]
        return ["metric", *columns], rows


def cross_val_predictions(
    estimator: Any, X: Any, y: Any, *, cv: Any = 5, groups: Any = None, sample_weight: Any = None
) -> Predictions:
    """Predict each row by a model that was fitted without it, and keep the fold of each row as its group.

    The result is accepted wherever predictions are: `calibrant.evaluate` gives every fold a row, `calibrant.figures.curves_diagram` a curve.

    Parameters
    ----------
    estimator : estimator object or dict
        Classifier with ``predict_proba`` or ``decision_function``; it is cloned and not changed. Or the result of scikit-learn's
        ``cross_validate`` with ``return_estimator=True`` and ``return_indices=True``, whose fitted models and folds are used.
    X : array-like or frame of shape (N, D)
        Predictors.
    y : array-like of shape (N,)
        Observed classes.
    cv : int, splitter or iterable, default 5
        Folds, as for ``cross_val_predict`` of scikit-learn; a number keeps the share of each class.
    groups : array-like of shape (N,), optional
        Groups of rows that a splitter such as ``GroupKFold`` keeps together.
    sample_weight : array-like of shape (N,), optional
        Weight of each row, in the fit and in the evaluation.

    Returns
    -------
    Predictions
        Predictions of the rows that are in a test fold, in the order of `X`, with groups ``"fold 1"``, ``"fold 2"``, ...

    Raises
    ------
    ArgumentError
        If a row is in several test folds, a class is missing in the training rows of a fold, or a result of ``cross_validate`` has no
        models or indices.

    See Also
    --------
    evaluate_folds : Metrics over the folds.
    CalibratedModel : A model calibrated on such predictions.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> import calibrant as cal
    >>> X, y = make_classification(500, random_state=0)
    >>> preds = cal.sklearn.cross_val_predictions(LogisticRegression(), X, y, cv=3)
    >>> preds.group_names
    ('fold 1', 'fold 2', 'fold 3')

    The models of a cross-validation that was run already:

    >>> from sklearn.model_selection import cross_validate
    >>> found = cross_validate(LogisticRegression(), X, y, cv=3, return_estimator=True, return_indices=True)
    >>> bool((cal.sklearn.cross_val_predictions(found, X, y).probs == preds.probs).all())
    True
    """
    X, y, groups, sample_weight = indexable(X, y, groups, sample_weight)
    labels = column(y, "y").array
    classes, codes = np.unique(labels, return_inverse=True)
    if isinstance(estimator, Mapping):
        if not {"estimator", "indices"} <= set(estimator):
            remedy = "call cross_validate with return_estimator=True and return_indices=True"
            raise ArgumentError("estimator", "has no models, or no indices of their rows", remedy)
        splits = list(zip(*estimator["indices"].values(), strict=True))
        fold = fold_of_rows(splits, codes, classes)
        models = zip(estimator["estimator"], splits, strict=True)
        scored = [scores_of(model, _safe_indexing(X, test)) for model, (_, test) in models]
    else:
        splits = list(check_cv(cv, labels, classifier=True).split(X, labels, groups))
        fold = fold_of_rows(splits, codes, classes)
        params = {} if sample_weight is None else {"sample_weight": sample_weight}
        scored = [
            score_fold(clone(estimator), X, y, train, test, params, None) for train, test in track(splits, "folds")
        ]
    scores = np.zeros((len(labels), *scored[0][0].shape[1:]))
    for (part, _), (_, test) in zip(scored, splits, strict=True):
        scores[test] = part
    rows = np.flatnonzero(fold >= 0)
    weight = None if sample_weight is None else np.asarray(sample_weight)[rows]
    return Predictions(
        labels[rows],
        scores[rows],
        input=scored[0][1],
        classes=classes,
        sample_weight=weight,
        groups=np.array([f"fold {place:0{len(str(len(splits)))}}" for place in fold[rows] + 1]),
    )


def evaluate_folds(predictions: Predictions, *, metrics: Any = ("brier", "nll", "ece", "smece")) -> FoldEvaluation:
    """Evaluate metrics in each cross-validation fold: their mean, their standard deviation between folds, and the value on all rows.

    Parameters
    ----------
    predictions : Predictions
        Predictions with a fold for each row as group, such as those of `cross_val_predictions`.
    metrics : str, Metric or iterable of these, default ("brier", "nll", "ece", "smece")
        Metrics to compute.

    Returns
    -------
    FoldEvaluation
        Result with ``rows``; ``result["ece"].mean`` is one number.

    Raises
    ------
    GroupError
        If the predictions have no groups.

    See Also
    --------
    cross_val_predictions : Predictions of the folds.
    calibrant.evaluate : With intervals, on all rows and in every fold.

    Notes
    -----
    Errors that are 0 at best, such as ``ece``, are larger in few rows: their mean over folds exceeds the value on all rows, which is the better estimate.
    The standard deviation describes how much the folds differ; since the models share most of their training rows, it does not give a standard error of the mean.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=900)  # calibrated
    >>> fold = np.repeat(["fold 1", "fold 2", "fold 3"], 300)
    >>> preds = cal.Predictions(rng.random(900) < p, p, groups=fold)
    >>> cal.sklearn.evaluate_folds(preds, metrics=["brier", "ece"])
    3 folds, 900 rows
    metric   pooled     mean        sd   fold 1   fold 2   fold 3
    brier    0.1677   0.1677   0.01161   0.1610   0.1811   0.1611
    ece     0.03850  0.07191  0.005444  0.07558  0.06565  0.07448
    """
    if not isinstance(predictions, Predictions) or predictions.groups is None:
        raise GroupError("predictions", "must have a fold for each row", "pass Predictions(..., groups=fold)")
    check_one_grouping(predictions, "an evaluation of folds")
    evaluation = evaluate(predictions, metrics=metrics)
    rows = []
    for result in evaluation.results:
        values = {str(name): _value(part, result.metric) for name, part in evaluation.groups.items()}
        known = [value for value in values.values() if value is not None]
        mean = float(np.mean(known)) if known else None
        sd = float(np.std(known, ddof=1)) if len(known) > 1 else None
        rows.append(FoldValues(result.metric, _value(evaluation, result.metric), mean, sd, values))
    return FoldEvaluation(tuple(rows), predictions.n)


def _value(part: Any, metric: str) -> float | None:
    value = next(result.value for result in part.results if result.metric == metric)
    return None if value is None or not math.isfinite(value) else float(value)

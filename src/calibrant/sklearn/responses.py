"""Scores of a fitted classifier, as probabilities or logits, and the class index of each label."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..errors import ArgumentError, LabelError
from ..input.convert import column
from ..input.labels import class_names, encode_labels

Kind = Literal["prob", "logit"]
# Remedy for keywords that describe the data.
FROM_ESTIMATOR = "the estimator and its data determine how predictions are read"


def scores_of(model: Any, X: Any, wanted: str | None = None, positive: int = 1) -> tuple[Any, Kind]:
    """The scores of a classifier, and whether they are probabilities or logits; for two classes, those of the `positive` one."""
    check_classifier(model)
    classes = len(model.classes_)
    method = _method(model, classes, wanted)
    return read_scores(getattr(model, method)(X), method, classes, wanted, positive)


def check_classifier(model: Any) -> None:
    """Raise if a fitted estimator is not a classifier of one label."""
    kind = type(getattr(model, "estimator", model) if type(model).__name__ == "FrozenEstimator" else model).__name__
    if not hasattr(model, "classes_"):
        if hasattr(model, "fit"):
            check_is_fitted(model)
        raise ArgumentError("estimator", f"{kind} is not a classifier: it has no classes_")
    if isinstance(model.classes_, list):
        raise ArgumentError(
            "estimator",
            f"{kind} predicts {len(model.classes_)} labels",
            "calibrate one label at a time, as MultiOutputClassifier(CalibratedModel(...)) does",
        )


def _method(model: Any, classes: int, wanted: str | None) -> str:
    """The method that returns the scores `wanted`, or probabilities if the classifier has them; one score per class."""
    probabilities, margins = hasattr(model, "predict_proba"), hasattr(model, "decision_function")
    if not (probabilities or margins):
        raise ArgumentError(
            "estimator",
            f"{type(model).__name__} has neither predict_proba nor decision_function",
            "pass a classifier that predicts scores",
        )
    if wanted == "prob" and not probabilities:
        raise ArgumentError(
            "method",
            f"requires probabilities, and {type(model).__name__} has only a decision function",
            "use input='logit' for the calibrator",
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


def read_scores(values: Any, method: str, classes: int, wanted: str | None, positive: int = 1) -> tuple[Any, Kind]:
    """What a method of a classifier returned, as probabilities or logits."""
    scores = np.asarray(values).astype(np.float64, copy=False)
    if classes < 2:
        raise LabelError("y", "at least two classes are required; all labels are equal")
    if method == "predict_proba":
        if wanted != "logit":
            return (scores[:, positive] if classes == 2 else scores), "prob"
        with np.errstate(divide="ignore"):
            logs = np.log(scores)
        return (logs[:, positive] - logs[:, 1 - positive] if classes == 2 else logs), "logit"
    if scores.ndim == 2 and scores.shape[1] != classes:
        if scores.shape[1] == 1 and classes == 2:
            scores = scores[:, 0]
        else:
            raise _pairs(f"gives {scores.shape[1]} scores for {classes} classes")
    return (-scores if scores.ndim == 1 and positive == 0 else scores), "logit"


def _pairs(problem: str) -> ArgumentError:
    return ArgumentError(
        "estimator", f"{problem}; one score for each class is required", "use decision_function_shape='ovr'"
    )


def class_codes(classes: Any, y: Any) -> Any:
    """The class index of each row; a label unknown to the classifier raises an error."""
    known = len(classes)
    try:
        return encode_labels(column(y, "y"), known, class_names(classes, known), None, np.empty(0))
    except LabelError as error:
        remedy = "drop the rows of classes that the classifier was not fitted on, or fit it on them"
        raise error.replaced(argument="y", remedy=remedy) from None


def label_names(estimator: Any, y: Any) -> Any:
    """The class of each row by name, for lenses such as ``"class:dog"``."""
    return np.asarray(estimator.classes_)[class_codes(estimator.classes_, y)]

"""Calibration of labels that do not exclude each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import CalibrantError, UndefinedMetricError
from ..input.frames import check_same_rows, column_names
from ..input.predictions import Predictions
from .base import Calibrator, Input, fit_copy
from .formulas import Formula, ScoreFormulas, join
from .scores import Array, Floats, Scores, TrainingData, in_order, names_array


@dataclass(eq=False, repr=False)
class MultilabelCalibration(Calibrator):
    """One calibrator for each of several labels that do not exclude each other.

    Labels and scores have a column for each label; columns of two frames are matched by their names. The calibrated probabilities of a row do not sum to 1, and `predict` returns 1 for each
    label whose probability is above 1/2.

    Parameters
    ----------
    calibrator : Calibrator
        Unfitted calibrator of two classes, copied for each label; its parameter `input` applies.

    Attributes
    ----------
    calibrators_ : tuple of Calibrator
        Fitted calibrator of each label.
    classes_
    fit_record_

    See Also
    --------
    GroupCalibration : One calibrator for each group of rows.

    Examples
    --------
    >>> import calibrant as cal
    >>> scores = [[0.9, 0.6], [0.8, 0.1], [0.3, 0.8], [0.2, 0.4]]
    >>> calibrator = cal.MultilabelCalibration(cal.PlattScaling()).fit(scores, [[1, 1], [1, 0], [1, 0], [0, 0]])
    >>> calibrator.predict_proba([[0.7, 0.7]]).round(3)
    array([[0.746, 0.36 ]])
    >>> calibrator.predict([[0.7, 0.7]])
    array([[1, 0]])
    """

    methods = ()
    exclusive = False
    fitted = ("calibrators_",)

    calibrator: Calibrator

    @property
    def input(self) -> Input:  # type: ignore[override]
        """Whether the scores are probabilities or logits, according to `calibrator`."""
        return self.calibrator.input

    @property
    def takes_any_score(self) -> bool:  # type: ignore[override]
        """Whether ``input="logit"`` accepts any real score."""
        return self.calibrator.takes_any_score

    def _check_params(self) -> None:
        self._check_inner(self.calibrator)
        super()._check_params()

    def _read_training(
        self, scores: Any, y: Any, sample_weight: Any, counts: Any
    ) -> tuple[TrainingData, Array | None, int]:
        names = column_names(y) or column_names(scores)
        if names is not None:
            check_same_rows(y, {"scores": scores}, "y")
            scores = in_order(scores, list(names))
        data, _, columns = super()._read_training(scores, y, sample_weight, counts)
        return data, None if names is None else names_array(names), columns

    def _fit(self, data: TrainingData) -> None:
        kind = "counts" if data.counted else "sample_weight"
        weight: dict[str, Any] = {kind: data._p.weight}
        calibrators = []
        for name, scores, labels in zip(self.classes_.tolist(), self._columns(data), data.labels.T, strict=True):
            rows = Predictions.derived(labels, scores, input=self.input, **weight)
            try:
                calibrators.append(fit_copy(self.calibrator, rows))
            except CalibrantError as error:
                problem = f"the calibrator of label {name!r} cannot be fitted: {error.problem}"
                raise UndefinedMetricError("y", problem, "leave the label out") from error
        self.calibrators_ = tuple(calibrators)

    @staticmethod
    def _columns(data: Scores) -> Array:
        """The scores of each label."""
        return (data._p.probs if data._p.logits is None else data._p.logits).T

    def _predict(self, data: Scores) -> Floats:
        pairs = zip(self.calibrators_, self._columns(data), strict=True)
        return np.column_stack([each.apply(Scores.read(scores, self.input))[:, 1] for each, scores in pairs])

    def _top_classes(self, scores: Any, beside: Any = None) -> Array:
        return (self.apply(self._read(scores, beside)) > 0.5).astype(np.int64)

    def _formula(self, x: ScoreFormulas) -> Formula:
        each = (fitted.formula(x.columns.column(k)) for k, fitted in enumerate(self.calibrators_))
        return join(*(rows.column(1) for rows in each))

"""One calibrator of the confidence per predicted class: the top-label reduction of several classes to binary problems."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, CalibrantError, CalibrantWarning, warn_caller
from .base import Calibrator, CountingCalibrator, Input, Method
from .binary import IsotonicCalibration, PlattScaling, with_top
from .scores import Floats, Scores, TrainingData, on_scale, scale_of


@dataclass(eq=False, repr=False)
class TopLabelCalibration(CountingCalibrator):
    r"""Top-label calibration: one calibrator of the confidence for each predicted class.

    Calibrates the confidence given the predicted class, which calibration of the confidence alone (``multiclass="top_versus_all"``) does
    not: a model can be overconfident when it predicts one class and underconfident when it predicts another. The probabilities of
    the other classes are rescaled in proportion, and the predicted class does not change.

    Parameters
    ----------
    calibrator : Calibrator, optional
        Unfitted calibrator of two classes, copied for each predicted class; by default `PlattScaling` (the method ``top_label_platt``). It receives the
        confidence as score and whether the prediction is right as label. With ``PlattScaling(input="logit")`` the regression is on the
        confidence itself and not on its log-odds, as in scikit-learn and MAPIE.
    input

    Attributes
    ----------
    calibrators_ : tuple of Calibrator
        Fitted calibrator of each predicted class. A class that was never predicted has the calibrator of all rows.
    scale_
    classes_
    fit_record_

    See Also
    --------
    TopLabelHistogramBinning : The same with bins of a minimum number of rows.
    LensCalibration : Calibration of another event.

    Notes
    -----
    With :math:`\hat{c}` the predicted class and :math:`\hat{p}` its probability, the calibrator of class :math:`c` estimates

    .. math:: P(Y = \hat{c} \mid \hat{p}, \hat{c} = c)

    from the rows in which :math:`c` is predicted. A confidence below :math:`1/K` is raised to it, so that the predicted class stays the most
    probable one.

    References
    ----------
    .. [1] Gupta, C., Ramdas, A. (2022). Top-label calibration and multiclass-to-binary reductions. ICLR.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), distribution=(1, 1, 1), rng=0)
    >>> calibrator = cal.TopLabelCalibration(cal.IsotonicCalibration()).fit(data.y_prob, data.y_true)
    >>> calibrator.predict_proba([[0.9, 0.06, 0.04]]).round(2)
    array([[0.75, 0.15, 0.1 ]])
    """

    methods = (
        Method("top_label_platt", "Platt scaling for each predicted class"),
        Method(
            "top_label_isotonic",
            "isotonic regression for each predicted class",
            options={"calibrator": IsotonicCalibration()},
        ),
    )
    keeps_argmax = True
    treats_classes_alike = True
    fitted = ("calibrators_",)

    calibrator: Calibrator | None = None
    input: Input = "prob"

    def _check_params(self) -> None:
        super()._check_params()
        if self.calibrator is None:
            return
        self._check_inner(self.calibrator, "use GroupCalibration(TopLabelCalibration(...))")
        if self.calibrator.input == "logit" and not self.calibrator.takes_any_score:
            problem = f"{self.calibrator!r} expects logits, and receives the confidence"
            raise ArgumentError("calibrator", problem, 'use input="prob" for it')
        self.calibrator._check_params()

    def _fit(self, data: TrainingData) -> None:
        self.scale_ = scale_of(data)
        probs = on_scale(data, self.scale_).probs
        top, confidence = probs.argmax(axis=1), probs.max(axis=1)
        right = (top == data.labels).astype(np.int64)
        whole = self._fitted_to(data, np.arange(data.n), confidence, right, "")
        calibrators, alike = [], []
        for c, name in enumerate(self.classes_.tolist()):
            rows = np.flatnonzero(top == c)
            calibrators.append(
                self._fitted_to(data, rows, confidence, right, f" of class {name!r}") if len(rows) else whole
            )
            if len(rows) and (right[rows] == right[rows[0]]).all():
                alike.append(repr(name))
        self.calibrators_ = tuple(calibrators)
        if alike:
            warn_caller(
                f"the predictions of class {', '.join(alike[:5])} are all right, or all wrong, so that their calibrators are nearly constant; fit on "
                "more rows, or use a method with parameters common to all classes, such as TemperatureScaling"
            )

    def _fitted_to(
        self, data: TrainingData, rows: NDArray[np.intp], confidence: Floats, right: Any, which: str
    ) -> Calibrator:
        calibrator = PlattScaling() if self.calibrator is None else copy.deepcopy(self.calibrator)
        weight, kind = data.given_weight
        given = {} if weight is None else {"counts" if kind == "counts" else "sample_weight": weight[rows]}
        with warnings.catch_warnings():
            if (right[rows] == right[rows[0]]).all():  # reported once, by the name of the class
                warnings.simplefilter("ignore", CalibrantWarning)
            try:
                return calibrator.fit(confidence[rows], right[rows], **given)
            except CalibrantError as error:
                problem = f"the predictions{which} cannot be calibrated by {calibrator!r}: {error.problem}"
                raise ArgumentError("y", problem, "use another calibrator, such as PlattScaling()") from None

    def _predict(self, data: Scores) -> Floats:
        probs = on_scale(data, self.scale_).probs
        top, best = probs.argmax(axis=1), probs.max(axis=1)
        confidence = np.empty(data.n)
        for c, calibrator in enumerate(self.calibrators_):
            rows = top == c
            if rows.any():
                confidence[rows] = calibrator.apply(calibrator._read(best[rows]))[:, 1]
        return with_top(probs, confidence)

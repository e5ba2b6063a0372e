"""A chain of calibrators, each applied to the probabilities of the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentError
from ..input.predictions import Predictions
from .base import Calibrator, Input, as_fitted, fit_copy
from .formulas import Formula, ScoreFormulas
from .scores import Array, Floats, Scores, TrainingData


@dataclass(eq=False, repr=False)
class ChainedCalibration(Calibrator):
    r"""A chain of calibrators: each is applied to the probabilities of the one before.

    For corrections that follow one another, such as a temperature and then the prevalence of another population. `fit` fits all of them on
    the same rows, each to the probabilities of the one before; `of` joins calibrators that were fitted on different rows.

    Parameters
    ----------
    calibrators : sequence of Calibrator
        Unfitted calibrators, in the order in which they are applied; from the second on with ``input="prob"``.

    Attributes
    ----------
    calibrators_ : tuple of Calibrator
        Fitted calibrators.
    classes_
    fit_record_

    See Also
    --------
    PriorShift : Correction for changed prevalences.

    Notes
    -----
    With calibrators :math:`g_1, \dots, g_m` the calibrated probabilities are :math:`q = g_m(\dots g_1(z))`. A second calibrator that is fitted
    on the rows of the first sees probabilities that fit these rows better than others, so that chains of flexible methods overfit.

    Examples
    --------
    >>> import calibrant as cal
    >>> temperature = cal.TemperatureScaling().fit([0.1, 0.3, 0.8, 0.9], [0, 1, 1, 0])
    >>> shift = cal.PriorShift(before=0.5, after=0.1).fit([0.2, 0.5, 0.9])
    >>> chain = cal.recalibration.ChainedCalibration.of(temperature, shift)
    >>> chain.predict_proba([0.5])[:, 1].round(3)
    array([0.1])
    """

    methods = ()
    fitted = ("calibrators_",)

    calibrators: Sequence[Calibrator]

    @classmethod
    def of(cls, *calibrators: Calibrator) -> ChainedCalibration:
        """Join fitted calibrators.

        Parameters
        ----------
        *calibrators : Calibrator
            Fitted calibrators of the same classes in the same order, in the order in which they are applied. Those that were fitted without
            class names, whose classes are 0 to K - 1, take the names of the others.

        Returns
        -------
        ChainedCalibration
            Fitted chain.

        Raises
        ------
        ArgumentError
            If the calibrators have different classes, or one after the first reads logits.
        NotFittedError
            If one is not fitted.
        """
        fitted = tuple(map(as_fitted, calibrators))
        chain = cls(tuple(type(each)(**each.get_params(deep=False)) for each in fitted))
        chain._check_params()
        sizes = [len(each.classes_) for each in fitted]
        if len(set(sizes)) > 1:
            raise ArgumentError("calibrators", f"have different numbers of classes: {sizes}")
        chain.calibrators_, first = fitted, fitted[0]
        chain.classes_ = _common_classes(fitted)
        chain.n_features_in_, chain.fit_record_ = first.n_features_in_, first.fit_record_
        return chain

    @property
    def input(self) -> Input:  # type: ignore[override]
        """Whether the scores are probabilities or logits, according to the first calibrator."""
        return self.calibrators[0].input

    @property
    def keeps_order(self) -> bool:  # type: ignore[override]
        """Whether the calibrated probability is a non-decreasing function of the score, for two classes."""
        return all(each.keeps_order for each in self.calibrators)

    @property
    def keeps_argmax(self) -> bool:  # type: ignore[override]
        """Whether the predicted class never changes."""
        return all(each.keeps_argmax for each in self.calibrators)

    @property
    def takes_any_score(self) -> bool:  # type: ignore[override]
        """Whether ``input="logit"`` accepts any real score."""
        return self.calibrators[0].takes_any_score

    def _check_params(self) -> None:
        if not isinstance(self.calibrators, (list, tuple)) or not self.calibrators:
            problem = f"must be a sequence of one or more calibrators; got {self.calibrators!r}"
            raise ArgumentError("calibrators", problem, "for example (TemperatureScaling(), PriorShift(0.5, 0.1))")
        for each in self.calibrators:
            self._check_inner(each)
            each._check_params()
        if any(each.input == "logit" for each in self.calibrators[1:]):
            problem = "have input='logit' after the first, and receive probabilities"
            raise ArgumentError("calibrators", problem, "use input='prob' from the second on")
        super()._check_params()

    def _fit(self, data: TrainingData) -> None:
        rows, fitted = data._p, []
        for each in self.calibrators:
            fitted.append(fit_copy(each, rows))
            rows = self._as_predictions(fitted[-1].apply(Scores(rows)), data)
        self.calibrators_ = tuple(fitted)

    @staticmethod
    def _as_predictions(probs: Floats, data: TrainingData) -> Predictions:
        kind = "counts" if data.counted else "sample_weight"
        weight: dict[str, Any] = {kind: data._p.weight}
        return Predictions.derived(data.labels, probs, **weight)

    def _predict(self, data: Scores) -> Floats:
        probs = self.calibrators_[0].apply(data)
        for each in self.calibrators_[1:]:
            probs = each.apply(Scores.read(probs))
        return probs

    def _formula(self, x: ScoreFormulas) -> Formula:
        rows = x.columns
        for each in self.calibrators_:
            rows = each.formula(rows)
        return rows


def _common_classes(calibrators: Sequence[Calibrator]) -> Array:
    """The class names of the calibrators that have any, which must be the same; otherwise 0 to K - 1."""
    named = [each.classes_ for each in calibrators if _has_names(each.classes_)]
    for other in named[1:]:
        if other.tolist() != named[0].tolist():
            problem = f"have different classes: {named[0].tolist()} and {other.tolist()}"
            raise ArgumentError("calibrators", problem, "fit them with the same class names in the same order")
    return named[0] if named else calibrators[0].classes_


def _has_names(classes: Array) -> bool:
    """Whether classes are not just 0 to K - 1; False and True are names."""
    names = classes.tolist()
    return names != list(range(len(names))) or any(isinstance(name, bool) for name in names)

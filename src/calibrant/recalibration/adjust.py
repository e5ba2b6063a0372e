"""Calibrators for a known kind of change: a shift of the class prevalences, an offset of the log-odds, or a wrong mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from ..errors import ArgumentError
from ..input.convert import column
from ..input.predictions import Predictions
from ..util.results import Result
from . import formulas
from .base import Calibrator, Input, Method
from .coefficients import LinearLogits
from .formulas import Formula, ScoreFormulas
from .scores import Floats, Scores, TrainingData, as_rows, named_as, normalised
from .softmax_regression import minimised, softmax

Prior = float | Sequence[float]
STEPS, TOLERANCE = 10_000, 1e-10


class UnlabelledCalibrator(Calibrator):
    """Base class of calibrators that can be fitted without labels, if their parameters supply what is missing."""

    def fit(self, scores: Any, y: Any = None, sample_weight: Any = None, *, counts: Any = None) -> Self:
        """Fit the calibrator on data of the population to which it will be applied.

        Parameters
        ----------
        scores : array-like of shape (N,) or (N, K), or frame
            Probabilities or logits, according to the parameter `input`.
        y : array-like of shape (N,), optional
            Observed class of each row; may be omitted if the parameters make labels unnecessary.
        sample_weight
        counts

        Returns
        -------
        Calibrator
            The fitted calibrator itself.

        Raises
        ------
        ArgumentError
            If labels are needed and `y` is None.
        """
        if y is None:
            self._check_params()
            if self._needs_labels():
                raise ArgumentError("y", "is required for fitting", "pass labels, or give the parameters")
            # Placeholder labels: they are not used, and must not be names of columns.
            with named_as():
                scores = as_rows(scores)
                length = len(column(scores, "y_prob").array)
            y = np.zeros(length, np.int64)
        return super().fit(scores, y, sample_weight, counts=counts)

    def _needs_labels(self) -> bool:
        raise NotImplementedError


def _as_floats(values: Any) -> Floats:
    """Numbers as an array; empty for what cannot be read as numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.empty(0)


def as_prior(prior: Any, classes: int, argument: str) -> Floats:
    """Prevalence of each class; a single number is that of the second of two classes."""
    values = _as_floats(prior)
    if values.ndim == 0 and classes == 2:
        values = np.array([1 - values, values])
    fine = values.shape == (classes,) and bool((values >= 0).all()) and abs(float(values.sum()) - 1) <= 1e-6
    if not fine:
        rule = f"must be {classes} proportions with sum 1" + (", or that of the second class" if classes == 2 else "")
        raise ArgumentError(argument, f"{rule}; got {prior!r}")
    return values / values.sum()


@dataclass(frozen=True, repr=False)
class PriorEstimate(Result):
    """Maximum likelihood estimate of class prevalences, with a test of no shift.

    Attributes
    ----------
    prior : tuple of float
        Estimated prevalence of each class.
    likelihood_ratio : float
        Likelihood ratio statistic of the null hypothesis that the prevalences have not changed.
    pvalue : float
        p-value from the chi-squared distribution with K - 1 degrees of freedom; not valid if an estimated prevalence is 0.
    steps : int
        Number of iterations.
    """

    prior: tuple[float, ...]
    likelihood_ratio: float
    pvalue: float
    steps: int

    def _columns(self) -> dict[str, list[Any]]:
        return {"class": list(range(len(self.prior))), "prior": list(self.prior)}

    def _title(self) -> str:
        shares = ", ".join(f"{share:.4g}" for share in self.prior)
        return (
            f"prior [{shares}]; test of no shift: likelihood ratio {self.likelihood_ratio:.4g}, p = {self.pvalue:.3g}"
        )


def prior_shift_em(probs: Any, before: Prior, *, sample_weight: Any = None, counts: Any = None) -> PriorEstimate:
    r"""Estimate the class prevalences of unlabelled data by the EM algorithm.

    Assumes a prior probability shift: the prevalences have changed, while the distribution of the inputs within each class has not.
    The predicted probabilities must be calibrated for the prevalences `before`.

    Parameters
    ----------
    probs : array-like of shape (N,) or (N, K)
        Predicted probabilities of the unlabelled rows.
    before : float or sequence of float
        Prevalences for which the probabilities are calibrated; for two classes, that of the second suffices.
    sample_weight : array-like of shape (N,), optional
        Importance weight of each row; the test uses the effective sample size :math:`(\sum w)^2 / \sum w^2`.
    counts : array-like of shape (N,), optional
        Number of identical rows that each row represents; excludes `sample_weight`.

    Returns
    -------
    PriorEstimate
        Estimate with attributes `prior`, `likelihood_ratio`, `pvalue` and `steps`.

    Raises
    ------
    ArgumentError
        If `before` does not hold prevalences that sum to 1, or is 0 for a class with positive probability.

    See Also
    --------
    PriorShift : Calibrator that applies the estimate.

    Notes
    -----
    The estimate maximizes the likelihood

    .. math:: \sum_i w_i \ln \sum_k \frac{\pi_k}{\pi^{\text{before}}_k} p_{ik}

    over the simplex, by EM with squared extrapolation [2]_, which has the same fixed point.

    References
    ----------
    .. [1] Saerens, M., Latinne, P., Decaestecker, C. (2002). Adjusting the outputs of a classifier to new a priori probabilities: a simple
       procedure. Neural Computation 14(1).
    .. [2] Varadhan, R., Roland, C. (2008). Simple and globally convergent methods for accelerating the convergence of any EM algorithm.
       Scandinavian Journal of Statistics 35(2).

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.recalibration.prior_shift_em([0.9, 0.8, 0.3, 0.7, 0.05, 0.1], before=0.3)
    >>> [round(share, 3) for share in found.prior]
    [0.315, 0.685]
    >>> round(found.pvalue, 2)
    0.19
    """
    with named_as("probs", "probs"):
        rows = as_rows(probs)
        length = len(column(rows, "probs").array)
        given = Predictions(np.zeros(length, np.int64), rows, sample_weight=sample_weight, counts=counts)
        data = TrainingData(given)
    weight = np.ones(data.n) if given.weight is None else given.weight.astype(np.float64)
    total = float(weight.sum())
    size = total if given.weight_kind == "counts" else total**2 / float(weight @ weight)
    return _likeliest_prior(data.probs, as_prior(before, data.k, "before"), data.weight, size)


def _likeliest_prior(probs: Floats, before: Floats, weight: Floats, rows: float) -> PriorEstimate:
    """The prevalences of maximum likelihood, by EM with squared extrapolation (Varadhan and Roland 2008)."""
    from scipy.special import chdtrc

    ratio = _over(probs, before)
    share = weight / weight.sum()

    def step(q: Floats) -> Floats:
        return q * (share / np.maximum(ratio @ q, np.finfo(float).tiny) @ ratio)

    def value(q: Floats) -> float:
        return float(share @ np.log(np.maximum(ratio @ q, np.finfo(float).tiny)))

    q, used = before, 0
    while used < STEPS:
        used += 1
        first = step(q)
        second = step(first)
        moved = np.abs(second - first).max()
        change, bend = first - q, second - 2 * first + q
        ahead = second
        if moved > TOLERANCE and np.abs(bend).max() > 0:
            length = -math.sqrt(float(change @ change) / float(bend @ bend))
            jump = np.maximum(q - 2 * length * change + length * length * bend, 0)
            jump = step(jump / jump.sum()) if jump.sum() > 0 else second
            ahead = jump if value(jump) >= value(second) else second
        q = ahead / ahead.sum()
        if moved <= TOLERANCE * 1e-2:
            break
    lr = 2 * rows * (value(q) - value(before))
    return PriorEstimate(tuple(q.tolist()), lr, float(chdtrc(len(before) - 1, max(lr, 0.0))), used)


def _over(probs: Floats, prior: Floats) -> Floats:
    """Probabilities divided by the prior of their class."""
    if (probs[:, prior == 0] > 0).any():
        raise ArgumentError("before", "is 0 for a class with positive probability", "give every class a positive prior")
    return np.divide(probs, prior, out=np.zeros(probs.shape), where=prior > 0)


@dataclass(eq=False, repr=False)
class PriorShift(UnlabelledCalibrator):
    r"""Correction for a prior probability shift: from the prevalences of the training data to those of the target population.

    Use it if the prevalences have changed while the distribution of the inputs within each class has not. With ``after="em"`` it needs
    no labels.

    Parameters
    ----------
    before : float or sequence of float
        Prevalences for which the classifier is calibrated; for two classes, that of the second suffices.
    after : float, sequence of float or {"labels", "em"}, default "em"
        Prevalences of the target population; ``"labels"`` takes those of the labels passed to `fit`, ``"em"`` estimates them from the
        scores alone.
    input

    Attributes
    ----------
    before_ : ndarray of shape (K,)
        Prevalences for which the classifier is calibrated.
    after_ : ndarray of shape (K,)
        Prevalences of the target population.
    classes_
    fit_record_

    See Also
    --------
    prior_shift_em : The estimate alone, with a test.
    OffsetAdjustment : Offsets of the log-odds that match a target mean.

    Notes
    -----
    .. math:: q_k \propto p_k \, \frac{\pi^{\text{after}}_k}{\pi^{\text{before}}_k}.

    For two classes the odds are multiplied by the ratio of the prior odds: from a prevalence of 0.5 to 0.01, by 1 / 99.

    References
    ----------
    .. [1] Saerens, M., Latinne, P., Decaestecker, C. (2002). Adjusting the outputs of a classifier to new a priori probabilities: a simple
       procedure. Neural Computation 14(1).

    Examples
    --------
    >>> import calibrant as cal
    >>> calibrator = cal.PriorShift(before=0.5, after=0.1).fit([0.2, 0.5, 0.9])
    >>> calibrator.predict_proba([0.5, 0.75])[:, 1].round(3)
    array([0.1 , 0.25])
    """

    methods = ()
    keeps_order = True
    fitted = ("before_", "after_")

    before: Prior
    after: Prior | Literal["labels", "em"] = "em"
    input: Input = "prob"

    def _needs_labels(self) -> bool:
        return isinstance(self.after, str) and self.after == "labels"

    def _check_params(self) -> None:
        super()._check_params()
        if isinstance(self.after, str) and self.after not in ("labels", "em"):
            raise ArgumentError("after", f"must be class proportions, 'labels' or 'em'; got {self.after!r}")

    def _fit(self, data: TrainingData) -> None:
        self.before_ = as_prior(self.before, data.k, "before")
        if not isinstance(self.after, str):
            self.after_ = as_prior(self.after, data.k, "after")
        elif self.after == "em":
            found = _likeliest_prior(data.probs, self.before_, data.weight, float(data.n))
            self.after_ = np.array(found.prior)
        else:
            self._warn_of_absent(data)
            seen = np.bincount(data.labels, data.weight, data.k)
            self.after_ = np.asarray(seen / seen.sum(), dtype=np.float64)
        _over(data.probs, self.before_)

    def _predict(self, data: Scores) -> Floats:
        return normalised(_over(data.probs, self.before_) * self.after_, data.probs)

    def _formula(self, x: ScoreFormulas) -> Formula:
        ratio = np.divide(self.after_, self.before_, out=np.zeros(x.k), where=self.before_ > 0)
        return formulas.normalised(x.probs * ratio, x.probs)


@dataclass(eq=False, repr=False)
class OffsetAdjustment(LinearLogits, UnlabelledCalibrator):
    r"""Offset of the log-odds: given, or chosen so that the mean predicted probability matches a target.

    Recalibration in the large: it corrects the mean of the predictions and leaves their ranking unchanged.

    Parameters
    ----------
    offset : float or sequence of float, optional
        Number added to the log-odds of the second class, or one number per class.
    target : float or sequence of float, optional
        Desired mean probability of the second class, or of each class, in the data passed to `fit`. Without `offset` and `target`: the
        observed rate of each class.
    input

    Attributes
    ----------
    offset_ : ndarray of shape (K,)
        Offset of each class; that of the first class is 0 if fitted.
    coef_
    intercept_
    classes_
    fit_record_

    See Also
    --------
    PriorShift : Correction for changed prevalences.
    calibrant.calibration_in_the_large : Measure of what it corrects.

    Notes
    -----
    .. math:: q = \operatorname{softmax}(z + \delta), \qquad \frac{\sum_i w_i q_{ik}}{\sum_i w_i} = \text{target}_k.

    Examples
    --------
    >>> import calibrant as cal
    >>> calibrator = cal.OffsetAdjustment().fit([0.3, 0.6, 0.8, 0.9], [0, 0, 1, 1])
    >>> calibrator.offset_.round(3)
    array([ 0.   , -0.811])
    """

    methods = (Method("offset_adjustment", "an offset of the log-odds"),)
    keeps_order = True
    fitted = ("offset_",)

    offset: float | Sequence[float] | None = None
    target: Prior | None = None
    input: Input = "prob"

    def _needs_labels(self) -> bool:
        return self.offset is None and self.target is None

    def _check_params(self) -> None:
        super()._check_params()
        if self.offset is not None and self.target is not None:
            raise ArgumentError("offset", "cannot be combined with target", "give one of them")

    def _fit(self, data: TrainingData) -> None:
        if self.offset is not None:
            values = _as_floats(self.offset)
            self.offset_ = np.array([0.0, float(values)]) if values.ndim == 0 and data.k == 2 else values
            if self.offset_.shape != (data.k,) or not np.isfinite(self.offset_).all():
                problem = f"must be {data.k} finite numbers, or one for two classes; got {self.offset!r}"
                raise ArgumentError("offset", problem)
            return
        seen = np.bincount(data.labels, data.weight, data.k)
        target = seen / seen.sum() if self.target is None else as_prior(self.target, data.k, "target")
        if self.target is None and (absent := self._absent(data)):
            problem = f"{absent}, and no finite offset gives a mean probability of 0"
            raise ArgumentError("y", problem, "pass target with a positive proportion for every class")
        if (target <= 0).any():
            raise ArgumentError(
                "target", "is 0 for a class, which no finite offset achieves", "give every class a positive proportion"
            )
        self.offset_ = _solved_offset(self._features(data), data.weight / data.weight.sum(), target)

    def _linear_part(self) -> tuple[Any, Any]:
        return 1.0, self.offset_

    def _features(self, data: Scores) -> Floats:
        return np.column_stack([np.zeros(data.n), data.log_odds]) if data.k == 2 else data.logits

    def _predict(self, data: Scores) -> Floats:
        return softmax(self._features(data) + self.offset_)

    def _formula(self, x: ScoreFormulas) -> Formula:
        logits = formulas.join(formulas.constant(0.0), x.log_odds) if x.k == 2 else x.logits
        return formulas.softmax(logits + self.offset_)


def _solved_offset(logits: Floats, weight: Floats, target: Floats) -> Floats:
    """The offsets for which the mean probabilities equal the target: the minimum of a convex function."""
    if len(target) == 2:
        from scipy.optimize import brentq
        from scipy.special import expit

        odds = logits[:, 1] - logits[:, 0]

        def excess(d: float) -> float:
            return float(weight @ expit(odds + d) - target[1])

        reach = float(np.abs(odds).max()) + 40
        if not excess(-reach) < 0 < excess(reach):
            raise ArgumentError(
                "target", f"{target[1]:g} cannot be achieved by any offset", "check for scores of 0 or 1"
            )
        return np.array([0.0, brentq(excess, -reach, reach, xtol=1e-14, rtol=1e-15)])

    def loss(x: Floats) -> tuple[float, Floats]:
        z = logits + np.append(0.0, x)
        top = z.max(axis=1)
        value = weight @ (top + np.log(np.exp(z - top[:, None]).sum(axis=1))) - target[1:] @ x
        return float(value), (weight @ softmax(z) - target)[1:]

    return np.append(0.0, minimised(loss, np.zeros(len(target) - 1)))

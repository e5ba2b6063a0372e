"""Safe recalibration: a fitted calibrator is shrunk until an upper confidence bound of its overconfidence meets a tolerance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, UndefinedMetricError, warn_caller
from ..util.checks import check_choice, check_fraction, check_number, check_whole
from ..util.sums import accurate_sum
from . import formulas
from .base import Calibrator, Input, Method, fit_copy
from .formulas import Formula, ScoreFormulas
from .scaling import TemperatureScaling
from .scores import SMALLEST, Floats, Scores, TrainingData, random_parts, with_weight
from .softmax_regression import softmax

# Shrunk completely, probabilities would be tied and the predicted class arbitrary.
MOST_SHRUNK = 1 - 1e-6
# Bisections of the strength and of the bound: a resolution of about 1e-7.
STEPS = 24
# With measure="ecd": strengths that are tried, and the largest difference of the logarithms of two probabilities of a row.
STRENGTHS = np.arange(99, -1, -1) / 100
LOG_RANGE = 12.0
# Largest parameter eta of the e-value; at 1 a single confident error would make it 0.
LARGEST_ETA = 0.9
# Lower bound of the probability of a held-out label in the negative log-likelihood.
FLOOR = 1e-12


@dataclass(eq=False, repr=False)
class SafeCalibration(Calibrator):
    r"""Safe recalibration: a calibrator whose mean confidence exceeds its accuracy with small probability only.

    A calibrator that minimizes a proper score treats over- and underconfidence alike, so that half of the time it is somewhat
    overconfident. This one is fitted to a part of the rows; its probabilities are then shrunk towards equal ones until an upper confidence
    bound of its overconfidence on the other rows is at most `tolerance`. Use it where overconfidence is dangerous and
    underconfidence is merely inefficient. The cost in proper scores is estimated.

    Parameters
    ----------
    calibrator : Calibrator, optional
        Unfitted calibrator to be made safe; by default temperature scaling.
    input
    alpha : float, default 0.05
        Probability with which the overconfidence may exceed `tolerance`.
    tolerance : float, default 0.0
        Largest admissible overconfidence: mean confidence minus accuracy, or the entropic calibration difference in nats.
    bins : int, default 1
        Number of ranges of confidence, with equal numbers of rows, in each of which the overconfidence is bounded. With 1 it is bounded on
        average over all rows, where over- and underconfidence of different ranges cancel.
    shrinkage : {"temperature", "uniform"}, default "temperature"
        How probabilities are shrunk: by a temperature above 1, or by mixing with equal probabilities.
    held_out : float, default 0.5
        Share of the rows on which the overconfidence is bounded; the others fit the calibrator.
    measure : {"confidence", "ecd"}, default "confidence"
        What is bounded: mean confidence minus accuracy, or the entropic calibration difference in nats, mean log loss minus mean entropy of
        all probabilities. The latter requires ``shrinkage="temperature"``, takes all classes into account rather than the predicted one
        alone, and counts an error by its log loss.

    Attributes
    ----------
    calibrator_ : Calibrator
        Calibrator fitted on the first part of the rows, before shrinkage.
    strength_ : float
        Strength :math:`s` of the shrinkage, from 0 (none) to 1 (equal probabilities), with ``measure="ecd"`` a multiple of 0.01.
    overconfidence_ : float
        Mean confidence minus accuracy on the held-out rows, after shrinkage; their entropic calibration difference with ``measure="ecd"``.
    bound_ : float
        Upper confidence bound of the overconfidence, at the level 1 - `alpha`; with several bins the largest bound of a bin.
    cost_nll_ : float
        Increase of the negative log-likelihood on the held-out rows due to shrinkage.
    cost_brier_ : float
        Increase of the Brier score on the held-out rows due to shrinkage.
    classes_
    fit_record_

    Warns
    -----
    CalibrantWarning
        If the bound exceeds the tolerance even for nearly equal probabilities, because there are too few rows or the predicted class is
        wrong too often.

    See Also
    --------
    TemperatureScaling : Without a bound.

    Notes
    -----
    Let :math:`p` be the output of the calibrator. The shrunk probabilities are

    .. math:: q_k \propto p_k^{1 - s} \quad \text{or} \quad q_k = (1 - s) p_k + s / K,

    the first being temperature scaling with :math:`T = 1 / (1 - s)`. The predicted class remains, so that the accuracy does not depend on
    :math:`s` and the overconfidence :math:`R(s) = E[\max_k q_k] - P(\text{correct})` decreases. The hypothesis :math:`R(s) > t` is rejected if
    the e-value

    .. math:: \prod_i \left(1 - \eta \, (\max_k q_{ik} - 1_{\text{correct}, i} - t)\right)

    reaches ``bins / alpha``, where :math:`\eta` is chosen on the other part of the rows. The strength is the smallest one that
    rejects it for :math:`t` = `tolerance`, the bound the smallest :math:`t` that is rejected. Because :math:`R(s)` decreases, no correction for
    the search is needed [1]_: for any number of rows, the overconfidence exceeds the tolerance with probability at most `alpha`, if the held-out
    rows are independent of each other and come from the distribution to which the calibrator is applied. A bound by a normal
    approximation would be about a third smaller, but invalid for rare errors.

    With ``measure="ecd"`` probabilities below :math:`e^{-12}` times the largest of their row are raised to it, which bounds the entropic
    calibration difference (ECD) of a row. For :math:`\beta = 1 - s` and logarithms :math:`l_k` of the probabilities it is
    :math:`\beta \, (\sum_k q_k l_k - l_y)`, whose mean is at most 0 for :math:`\beta` up to that of maximum likelihood and increases beyond [3]_. Strengths 0.99, 0.98, ...,
    0 are therefore tested one after another by the same e-value, up to the first that is not rejected: the ECD of the calibrator exceeds
    the tolerance with probability at most `alpha`, without a correction for the number of tests.

    Importance weights count relative to the largest one; as that is taken from the data, the guarantee is approximate with them. The objective ``"ecd"`` of `TemperatureScaling` is not such a
    criterion: an entropic calibration difference of 0 defines the temperature of maximum likelihood, which treats both directions alike.

    References
    ----------
    .. [1] Bates, S., Angelopoulos, A., Lei, L., Malik, J., Jordan, M. I. (2021). Distribution-free, risk-controlling prediction sets.
       Journal of the ACM 68.
    .. [2] Waudby-Smith, I., Ramdas, A. (2024). JRSS B 86, 1-27: e-values for the mean of bounded random variables.
    .. [3] Sumler, D. J., Devlin, L., Maskell, S., Lane, R. O. (2025). An entropic metric for measuring calibration of machine learning
       models. TRUST-AI, ECAI.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(4000, warp=temperature(2.0), rng=1)
    >>> calibrator = cal.SafeCalibration().fit(data.y_prob, data.y_true)
    >>> round(calibrator.strength_, 2), round(calibrator.overconfidence_, 3), round(calibrator.bound_, 3)
    (0.19, -0.026, 0.0)
    >>> round(calibrator.cost_nll_, 4), round(calibrator.cost_brier_, 4)
    (0.0021, 0.0009)

    A bound of the entropic calibration difference:

    >>> calibrator = cal.SafeCalibration(measure="ecd").fit(data.y_prob, data.y_true)
    >>> calibrator.strength_, round(calibrator.overconfidence_, 3), calibrator.bound_ <= 0
    (0.22, -0.02, True)
    """

    methods = (Method("safe_temperature", "safe temperature scaling"),)
    fitted = ("calibrator_", "strength_", "overconfidence_", "bound_", "cost_nll_", "cost_brier_")
    checks = {
        "bins": check_whole,
        "alpha": check_fraction,
        "held_out": check_fraction,
        "tolerance": partial(check_number, high=1),
    }

    calibrator: Calibrator | None = None
    input: Input = "prob"
    alpha: float = 0.05
    tolerance: float = 0.0
    bins: int = 1
    shrinkage: Literal["temperature", "uniform"] = "temperature"
    held_out: float = 0.5
    measure: Literal["confidence", "ecd"] = "confidence"

    @property
    def _inner(self) -> Calibrator:
        return TemperatureScaling(input=self.input) if self.calibrator is None else self.calibrator

    @property
    def keeps_order(self) -> bool:  # type: ignore[override]
        """Whether the calibrated probability is a non-decreasing function of the score, for two classes."""
        return self._inner.keeps_order

    @property
    def keeps_argmax(self) -> bool:  # type: ignore[override]
        """Whether the predicted class never changes."""
        return self._inner.keeps_argmax

    @property
    def takes_any_score(self) -> bool:  # type: ignore[override]
        """Whether ``input="logit"`` accepts any real score."""
        return self._inner.takes_any_score

    @property
    def treats_classes_alike(self) -> bool:  # type: ignore[override]
        """Whether all classes share the same parameters."""
        return self._inner.treats_classes_alike

    def _check_params(self) -> None:
        self._check_inner(self._inner, "use GroupCalibration(SafeCalibration(...)), safe in each group")
        super()._check_params()
        if self._inner.input != self.input:
            problem = f"{self.calibrator!r} has input={self._inner.input!r}, and SafeCalibration has {self.input!r}"
            raise ArgumentError("calibrator", problem, "use the same input for both")
        self._inner._check_params()
        check_choice(self.measure, "measure", ("confidence", "ecd"))
        if self.measure == "ecd" and self.shrinkage != "temperature":
            raise ArgumentError("shrinkage", "must be 'temperature' with measure='ecd'", "drop shrinkage")

    def _fit(self, data: TrainingData) -> None:
        shares = np.array([1 - self.held_out, self.held_out])
        first, second = random_parts(data, shares)
        if not (first.any() and second.any()):
            raise UndefinedMetricError(
                "scores", "safe recalibration requires rows to fit and rows to hold out", "use more rows"
            )
        self.calibrator_ = fit_copy(self._inner, with_weight(data, first)._p)
        probs = self.calibrator_.apply(data)
        bounds = self._bounds(data, probs, first, second)
        held = np.flatnonzero(second)
        own, weight, labels = probs[held], second[held], data.labels[held]

        def safe(strength: float) -> bool:
            excess, unit = self._excess(own, labels, strength)
            return all(bound.rejects(excess, self.tolerance / unit) for bound in bounds)

        if self.measure == "ecd":
            unsafe = next((place for place, strength in enumerate(STRENGTHS) if not safe(strength)), len(STRENGTHS))
            self.strength_ = float(STRENGTHS[max(unsafe - 1, 0)])
        else:
            self.strength_ = 0.0 if safe(0.0) else _smallest(safe, 0.0, MOST_SHRUNK)
        final, unit = self._excess(own, labels, self.strength_)
        reached = safe(self.strength_)
        self.bound_ = unit * max(bound.upper(final) for bound in bounds)
        if reached:  # the bound is rounded upwards
            self.bound_ = min(self.bound_, float(self.tolerance))
        self.overconfidence_ = unit * float(weight @ final / weight.sum())
        after = self._shrunk(own, self.strength_)
        self.cost_nll_, self.cost_brier_ = (
            float(weight @ (row_losses(after, labels, loss) - row_losses(own, labels, loss)) / weight.sum())
            for loss in ("nll", "brier")
        )
        if not reached:
            warn_caller(
                f"the upper bound of the overconfidence is {self.bound_:.3g}, above the tolerance of {self.tolerance:g}, although the "
                f"probabilities are shrunk to nearly equal ones; too few held-out rows ({len(held):,}), or the predicted class is "
                "wrong too often"
            )

    def _excess(self, probs: Floats, labels: NDArray[Any], strength: float) -> tuple[Floats, float]:
        """Overconfidence of each row after shrinkage, as a share of the largest possible one, and that."""
        shrunk = self._shrunk(probs, strength)
        if self.measure == "confidence":
            return np.asarray(shrunk.max(axis=1) - (probs.argmax(axis=1) == labels)), 1.0
        logs = _limited_logs(probs)
        excess = np.einsum("ij,ij->i", shrunk, logs) - logs[np.arange(len(logs)), labels]
        return excess / LOG_RANGE, (1 - strength) * LOG_RANGE

    def _bounds(self, data: TrainingData, probs: Floats, first: Floats, second: Floats) -> list[_Bound]:
        """One bound for each range of confidence; ranges and eta depend on the rows of the fit only."""
        confidence = probs.max(axis=1)
        fitted, held = first > 0, second > 0
        level = np.arange(1, self.bins) / self.bins
        edges = np.quantile(confidence[fitted], level, weights=first[fitted], method="inverted_cdf")
        place = np.searchsorted(edges, confidence, side="right")
        top = 1.0 if data.counted else float(data.weight.max())
        excess, _ = self._excess(probs, data.labels, 0.0)
        more = float(second.sum() / first.sum())
        found = []
        for number in range(self.bins):
            rows, mine = fitted & (place == number), held & (place == number)
            if not (rows.any() or mine.any()):
                continue  # tied confidences leave this range empty
            eta = _eta(excess[rows], first[rows] / top, data.counted, more, self.bins / self.alpha)
            found.append(_Bound(mine[held], second[mine] / top, data.counted, eta, math.log(self.bins / self.alpha)))
        return found

    def _shrunk(self, probs: Floats, strength: float) -> Floats:
        if self.measure == "ecd":
            return softmax((1 - strength) * _limited_logs(probs))
        if strength == 0:
            return probs
        if self.shrinkage == "uniform":
            return (1 - strength) * probs + strength / probs.shape[1]
        return softmax((1 - strength) * np.log(np.maximum(probs, SMALLEST)))

    def _predict(self, data: Scores) -> Floats:
        return self._shrunk(self.calibrator_.apply(data), self.strength_)

    def _formula(self, x: ScoreFormulas) -> Formula:
        probs, strength = self.calibrator_.formula(x.columns), self.strength_
        if self.measure == "ecd":
            logs = formulas.log((probs / probs.largest()).clip(math.exp(-LOG_RANGE), 1.0))
        elif strength == 0:
            return probs
        elif self.shrinkage == "uniform":
            return probs * (1 - strength) + strength / x.k
        else:
            logs = formulas.log(probs.clip(SMALLEST, 1.0))
        return formulas.softmax(logs * (1 - strength))


def _limited_logs(probs: Floats) -> Floats:
    """Logarithms of the probabilities relative to the largest of their row, at least -LOG_RANGE."""
    return np.asarray(np.log(np.maximum(probs / probs.max(axis=1, keepdims=True), math.exp(-LOG_RANGE))))


@dataclass(frozen=True)
class _Bound:
    """Upper confidence bound of the mean excess of confidence over correctness in some of the held-out rows."""

    rows: NDArray[np.bool_]
    weight: Floats
    """Counts, or weights relative to the largest one."""
    counted: bool
    eta: float
    threshold: float
    """Logarithm of the e-value that rejects."""

    def rejects(self, excess: Floats, limit: float) -> bool:
        """Whether the hypothesis that the mean excess is above `limit` is rejected."""
        value = excess[self.rows] - limit
        if self.counted:
            return accurate_sum(self.weight * np.log1p(-self.eta * value)) >= self.threshold
        return accurate_sum(np.log1p(-self.eta * self.weight * value)) >= self.threshold

    def upper(self, excess: Floats) -> float:
        """The smallest limit that is rejected; 1, which holds always, if none is."""
        low = max(-1.0, 1 - 0.99 / self.eta)  # the e-value stays positive
        return 1.0 if not self.rejects(excess, 1.0) else _smallest(lambda limit: self.rejects(excess, limit), low, 1.0)


def _smallest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest value for which an increasing condition holds, rounded upwards; `high` where it does not hold at all."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _eta(excess: Floats, weight: Floats, counted: bool, more: float, ratio: float) -> float:
    """The parameter with which the e-value grows fastest near the bound, by a normal approximation on the rows of the fit.

    It need not be optimal: the e-value is valid with any value that does not depend on the held-out rows.
    """
    copies = weight if counted else np.ones(len(excess))
    terms = excess if counted else weight * excess
    size = float(copies.sum())
    if size == 0:
        return LARGEST_ETA
    mean = float(copies @ terms) / size
    # One more error than observed, so that a sample without errors does not appear free of variance.
    variance = float(copies @ np.square(terms - mean)) / size + 1 / (size + 2)
    return min(LARGEST_ETA, math.sqrt(2 * math.log(ratio) / (more * size * variance)))


def row_losses(probs: Floats, labels: NDArray[Any], loss: str) -> Floats:
    """Negative log-likelihood or Brier score of each row."""
    own = probs[np.arange(len(labels)), labels]
    if loss == "nll":
        return -np.log(np.maximum(own, FLOOR))
    scale = 0.5 if probs.shape[1] == 2 else 1.0  # as in the metric `brier`
    return np.asarray(scale * (np.square(probs).sum(axis=1) - 2 * own + 1))

"""Maps for a known kind of change: another mix of the classes, or an offset."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from ..errors import Argument, ArgumentError, Use
from ..input.convert import column
from ..input.predictions import Predictions
from ..util.results import Result
from .base import Calibrator, Input
from .scores import Floats, Scores, TrainingData, as_rows, named_as, normalised
from .softmax_regression import minimised, softmax

__all__ = [
    "OffsetAdjustment",
    "PriorEstimate",
    "PriorShift",
    "prior_shift_em",
]

Prior = float | Sequence[float]
STEPS, TOLERANCE = 10_000, 1e-10


class UnlabelledCalibrator(Calibrator):
    """A map that may need no labels: ``fit(scores)`` is enough where its parameters say the rest."""

    _labelled: bool = False

    def fit(self, scores: Any, y: Any = None, sample_weight: Any = None, *, counts: Any = None) -> Self:
        """Fit to rows of the population that the calibrator is for; `y` may be None where nothing is learnt from it.

        Parameters are those of `Calibrator.fit`.
        """
        self._labelled = y is not None
        if y is None:
            self._check_params()
            if self._needs_labels():
                raise ArgumentError("y", "is required for fitting", "pass labels, or give the parameters")
            # The labels are not looked at; they only have to be some, and no names of columns.
            with named_as():
                scores = as_rows(scores)
                length = len(column(scores, "y_prob").array)
            y = np.zeros(length, np.int64)
        return super().fit(scores, y, sample_weight, counts=counts)

    def _needs_labels(self) -> bool:
        raise NotImplementedError


def as_prior(prior: Any, classes: int, argument: str) -> Floats:
    """One share for each class; a single number is that of the second of two."""
    try:
        values = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim == 0 and classes == 2:
        values = np.array([1 - values, values])
    fine = values.shape == (classes,) and bool((values >= 0).all()) and abs(float(values.sum()) - 1) <= 1e-6
    if not fine:
        rule = f"must be {classes} proportions with sum 1" + (", or that of the second class" if classes == 2 else "")
        raise ArgumentError(argument, f"{rule}; got {prior!r}")
    return values / values.sum()


@dataclass(frozen=True, repr=False)
class PriorEstimate(Result):
    """Shares of the classes under which unlabelled rows are likeliest, and the test that they did not change.

    The p-value is that of a chi-squared distribution, which does not hold where a share is 0.
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
            f"prior [{shares}]; against no shift: likelihood ratio {self.likelihood_ratio:.4g}, p = {self.pvalue:.3g}"
        )


def prior_shift_em(probs: Any, before: Prior, sample_weight: Any = None, *, counts: Any = None) -> PriorEstimate:
    """Shares of the classes in unlabelled rows, from probabilities calibrated under the shares `before` (Saerens et al. 2002).

    Parameters
    ----------
    probs
        Probabilities of the unlabelled rows.
    before
        Shares of the classes where they are calibrated; for two classes that of the second is enough.
    sample_weight
        Importance of each row, of any scale: the test takes them for (sum w)^2 / sum w^2 rows.
    counts
        How many equal rows each one stands for.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.prior_shift_em([0.9, 0.8, 0.3, 0.7], 0.5).prior[1] > 0.5
    True
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
    """By EM with squared extrapolation (Varadhan and Roland 2008), which has the same fixed point."""
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
    """Moves probabilities from one mix of the classes to another: p_k after_k / before_k, divided by the sum (Saerens et al. 2002).

    Parameters
    ----------
    before
        Shares of the classes where the model was trained or calibrated; for two classes that of the second is enough.
    after
        Shares where it is used, or ``"labels"``: those of the rows fitted on, or ``"em"``: those under which these rows are likeliest,
        without looking at labels.
    input
        What the scores are.
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


@dataclass(eq=False, repr=False)
class OffsetAdjustment(UnlabelledCalibrator):
    """Adds a number to the log-odds, one for each class: given, or such that the mean probability comes out right.

    Parameters
    ----------
    offset
        The number added to the log-odds of the second class, or one number for each class.
    target
        The mean probability of the second class, or of each class, that is wanted in the rows fitted on. Without `offset` and `target` it
        is the share of each class among the labels.
    input
        What the scores are.
    """

    methods = ()
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
            raise ArgumentError("offset", ("cannot be combined with ", Argument("target")), "give one of them")

    def _fit(self, data: TrainingData) -> None:
        if self.offset is not None:
            self.offset_ = _given_offset(self.offset, data.k)
            return
        seen = np.bincount(data.labels, data.weight, data.k)
        target = seen / seen.sum() if self.target is None else as_prior(self.target, data.k, "target")
        if self.target is None and (absent := self._absent(data)):
            problem = f"{absent}, and no finite offset gives a mean probability of 0"
            raise ArgumentError("y", problem, Use("target", None, "with a positive proportion for every class"))
        if (target <= 0).any():
            raise ArgumentError(
                "target", "is 0 for a class, which no finite offset achieves", "give every class a positive proportion"
            )
        self.offset_ = _solved_offset(self._features(data), data.weight / data.weight.sum(), target)

    def _features(self, data: Scores) -> Floats:
        return np.column_stack([np.zeros(data.n), data.log_odds]) if data.k == 2 else data.logits

    def _predict(self, data: Scores) -> Floats:
        return softmax(self._features(data) + self.offset_)


def _given_offset(offset: Any, classes: int) -> Floats:
    try:
        values = np.asarray(offset, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim == 0 and classes == 2:
        values = np.array([0.0, float(values)])
    if values.shape != (classes,) or not np.isfinite(values).all():
        raise ArgumentError("offset", f"must be {classes} finite numbers, or one for two classes; got {offset!r}")
    return values


def _solved_offset(logits: Floats, weight: Floats, target: Floats) -> Floats:
    """The offsets under which the mean probabilities are the target: where a convex function is least."""
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

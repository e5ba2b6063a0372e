"""Warps: forms of miscalibration whose calibration curve is known in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ArgumentError
from ...util.arrays import Floats
from ...util.checks import check_positive, is_number

Beta = tuple[float, float, float]
"""A component of a mixture of scores: its share, and the a and b of Beta(a, b)."""


class Warp:
    """Base class of forms of miscalibration.

    A warp defines the calibration curve: `curve` is the true probability of the event given the predicted score. Subclasses for more than two
    classes also implement `rows`.

    Examples
    --------
    >>> from calibrant.inference.simulation import Warp, bias
    >>> isinstance(bias(0.5), Warp)
    True
    """

    def curve(self, score: Any) -> Floats:
        """Evaluate the calibration curve.

        Parameters
        ----------
        score : array-like
            Predicted scores.

        Returns
        -------
        ndarray
            True probability of the event given each score.
        """
        raise NotImplementedError

    def marks(self) -> tuple[float, ...]:
        """List the scores at which the curve is not smooth or changes rapidly.

        Returns
        -------
        tuple of float
            Scores at which integrals are split.
        """
        return ()

    def distributions(self, a: float, b: float) -> list[Beta]:
        """Give the distribution of the predicted scores as a mixture of Beta distributions.

        Parameters
        ----------
        a, b : float
            Parameters of the Beta distribution that was requested.

        Returns
        -------
        list of tuple
            Share, a and b of each component.
        """
        return [(1.0, a, b)]

    def rows(self, drawn: Floats) -> tuple[Floats, Floats]:
        """Give predicted and true probabilities for more than two classes.

        Parameters
        ----------
        drawn : ndarray of shape (N, K)
            Rows sampled from a Dirichlet distribution.

        Returns
        -------
        predicted : ndarray of shape (N, K)
            Predicted probabilities.
        truth : ndarray of shape (N, K)
            True probabilities given the prediction.
        """
        raise ArgumentError(
            "warp", f"{self!r} is defined for two classes only", "use temperature, softmax_map, label_noise, confusion"
        )


@dataclass(frozen=True)
class temperature(Warp):
    r"""Over- or underconfidence by a temperature.

    The true probability is :math:`\sigma(\operatorname{logit}(s) / k)`: predictions are overconfident for k above 1 and underconfident below. For
    more classes the truth q follows the distribution, and the prediction is :math:`\operatorname{softmax}(k \ln q)`.

    Parameters
    ----------
    k : float
        The temperature that would recalibrate the predictions.

    Examples
    --------
    >>> from calibrant.inference.simulation import temperature
    >>> temperature(2.0).curve([0.5, 0.9]).round(4).tolist()
    [0.5, 0.75]
    """

    k: float

    def __post_init__(self) -> None:
        check_positive(self.k, "k")

    def curve(self, score: Any) -> Floats:
        return _sigmoid(_logit(score) / self.k)

    def rows(self, drawn: Floats) -> tuple[Floats, Floats]:
        return softmax_map(self.k).rows(drawn)


@dataclass(frozen=True)
class bias(Warp):
    r"""Constant shift in log-odds.

    The true probability is :math:`\sigma(\operatorname{logit}(s) + d)`: for d above 0 predictions underestimate the risk.

    Parameters
    ----------
    d : float
        Shift in log-odds.

    Examples
    --------
    >>> from calibrant.inference.simulation import bias
    >>> bias(1.0).curve([0.5]).round(4).tolist()
    [0.7311]
    """

    d: float

    def __post_init__(self) -> None:
        _check(is_number(self.d) and math.isfinite(self.d), "d", "must be a number", self.d)

    def curve(self, score: Any) -> Floats:
        return _sigmoid(_logit(score) + self.d)


@dataclass(frozen=True)
class bump(Warp):
    r"""Local deviation around one score.

    The true probability is :math:`s + h \exp(-(s - c)^2 / (2 w^2))`, clipped to [0, 1].

    Parameters
    ----------
    h : float, default 0.1
        Height, in [-1, 1].
    c : float, default 0.7
        Centre.
    w : float, default 0.1
        Width (standard deviation).

    Examples
    --------
    >>> from calibrant.inference.simulation import bump
    >>> bump().curve([0.1, 0.7]).round(4).tolist()
    [0.1, 0.8]
    """

    h: float = 0.1
    c: float = 0.7
    w: float = 0.1

    def __post_init__(self) -> None:
        _check(is_number(self.h) and -1 <= self.h <= 1, "h", "must lie in [-1, 1]", self.h)
        _check(is_number(self.c) and 0 <= self.c <= 1, "c", "must lie in [0, 1]", self.c)
        check_positive(self.w, "w")

    def _free(self, score: Any) -> Floats:
        score = np.asarray(score, dtype=np.float64)
        return np.asarray(score + self.h * np.exp(-np.square((score - self.c) / self.w) / 2))

    def curve(self, score: Any) -> Floats:
        return np.clip(self._free(score), 0, 1)

    def marks(self) -> tuple[float, ...]:
        around = [self.c + step * self.w for step in (-8, -4, -2, -1, 0, 1, 2, 4, 8)]
        clipped = [*sign_changes(lambda s: self._free(s) - 1), *sign_changes(self._free)]
        return tuple(mark for mark in [*around, *clipped] if 0 < mark < 1)


@dataclass(frozen=True)
class label_noise(Warp):
    """Noisy labels of calibrated predictions.

    For two classes the label is flipped with probability e: the true probability is :math:`s + e (1 - 2 s)`. For K classes it is
    replaced by a uniformly random class with probability e: the truth is :math:`(1 - e) q + e / K`.

    Parameters
    ----------
    e : float
        Probability of a noisy label, in [0, 1].

    Examples
    --------
    >>> from calibrant.inference.simulation import label_noise
    >>> label_noise(0.1).curve([0.0, 0.5, 1.0]).tolist()
    [0.1, 0.5, 0.9]
    """

    e: float

    def __post_init__(self) -> None:
        _check(is_number(self.e) and 0 <= self.e <= 1, "e", "must lie in [0, 1]", self.e)

    def curve(self, score: Any) -> Floats:
        score = np.asarray(score, dtype=np.float64)
        return np.asarray(score + self.e * (1 - 2 * score))

    def rows(self, drawn: Floats) -> tuple[Floats, Floats]:
        return drawn, (1 - self.e) * drawn + self.e / drawn.shape[1]


@dataclass(frozen=True)
class prior_shift(Warp):
    """Change of prevalence.

    Predictions calibrated at one prevalence are used at another (label shift): the log-odds of the truth change by the difference of the log-odds
    of the two prevalences.

    Parameters
    ----------
    before : float
        Prevalence for which the predictions are calibrated.
    after : float
        Prevalence of the simulated data.
    shift_scores : bool, default False
        Whether the distribution of the scores shifts accordingly, as it does if only the class proportions change. `before` must
        then equal the mean of the distribution of the scores.

    Examples
    --------
    >>> from calibrant.inference.simulation import prior_shift
    >>> prior_shift(0.5, 0.2).curve([0.5]).round(4).tolist()
    [0.2]
    """

    before: float
    after: float
    shift_scores: bool = False

    def __post_init__(self) -> None:
        for name, value in (("before", self.before), ("after", self.after)):
            _check(is_number(value) and 0 < value < 1, name, "must lie between 0 and 1", value)

    def curve(self, score: Any) -> Floats:
        return _sigmoid(_logit(score) + math.log(self.after / (1 - self.after) * (1 - self.before) / self.before))

    def distributions(self, a: float, b: float) -> list[Beta]:
        if not self.shift_scores:
            return [(1.0, a, b)]
        mean = a / (a + b)
        if abs(mean - self.before) > 1e-9:
            problem = f"must be the mean of the scores, {mean:.6g}; got {self.before:g}"
            raise ArgumentError("before", problem)
        # f(s) [s after / before + (1 - s) (1 - after) / (1 - before)] is the mix of the scores of the two classes.
        return [(self.after, a + 1, b), (1 - self.after, a, b + 1)]


@dataclass(frozen=True)
class softmax_map(Warp):
    r"""Temperature and class-specific shifts for several classes.

    The truth q follows the distribution, and the prediction is :math:`\operatorname{softmax}(k \ln q + b)`. The prediction determines q, so the
    truth given the prediction is known.

    Parameters
    ----------
    k : float, default 1.0
        Scale of the log-probabilities.
    b : sequence of float, default ()
        Shift of each class; no shifts by default.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.inference.simulation import softmax_map
    >>> softmax_map(2.0).rows(np.array([[0.5, 0.3, 0.2]]))[0].round(4).tolist()
    [[0.6579, 0.2368, 0.1053]]
    """

    k: float = 1.0
    b: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_positive(self.k, "k")
        fine = isinstance(self.b, Sequence) and all(is_number(shift) and math.isfinite(shift) for shift in self.b)
        _check(fine, "b", "must be one number for each class", self.b)
        object.__setattr__(self, "b", tuple(self.b))

    def _shift(self, classes: int) -> Floats:
        _check(len(self.b) in (0, classes), "b", f"must be {classes} numbers", self.b)
        return np.asarray(self.b or [0.0] * classes, dtype=np.float64)

    def curve(self, score: Any) -> Floats:
        no, yes = self._shift(2)
        return _sigmoid((_logit(score) - (yes - no)) / self.k)

    def rows(self, drawn: Floats) -> tuple[Floats, Floats]:
        with np.errstate(divide="ignore"):
            z = self.k * np.log(drawn) + self._shift(drawn.shape[1])
        report = np.exp(z - z.max(axis=1, keepdims=True))
        return report / report.sum(axis=1, keepdims=True), drawn


@dataclass(frozen=True)
class confusion(Warp):
    """Class-dependent label errors of calibrated predictions.

    Parameters
    ----------
    matrix : sequence of sequence of float
        Entry (i, j) is the probability that class i is labelled as class j; rows sum to 1.

    Examples
    --------
    >>> from calibrant.inference.simulation import confusion
    >>> confusion([[0.9, 0.1], [0.2, 0.8]]).curve([0.0, 1.0]).tolist()
    [0.1, 0.8]
    """

    matrix: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        try:
            values = np.asarray(self.matrix, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.empty(0)
        fine = values.ndim == 2 and values.shape[0] == values.shape[1] >= 2 and bool((values >= 0).all())
        fine = fine and bool((np.abs(values.sum(axis=1) - 1) <= 1e-9).all())
        _check(fine, "matrix", "must be square with rows of probabilities that sum to 1", self.matrix)
        object.__setattr__(self, "matrix", tuple(tuple(row) for row in values.tolist()))

    def _values(self, classes: int) -> Floats:
        _check(len(self.matrix) == classes, "matrix", f"must have {classes} rows", self.matrix)
        return np.asarray(self.matrix)

    def curve(self, score: Any) -> Floats:
        values, score = self._values(2), np.asarray(score, dtype=np.float64)
        return np.asarray((1 - score) * values[0, 1] + score * values[1, 1])

    def rows(self, drawn: Floats) -> tuple[Floats, Floats]:
        return drawn, drawn @ self._values(drawn.shape[1])


@dataclass(frozen=True)
class by_group(Warp):
    """A separate warp for each of several equally likely groups.

    The curve given the score alone is the mean over the groups: the groups may be miscalibrated although the whole is calibrated.

    Parameters
    ----------
    warps : mapping of object to Warp
        Warp of each group, by name.

    Examples
    --------
    >>> from calibrant.inference.simulation import bias, by_group
    >>> by_group({"a": bias(1.0), "b": bias(-1.0)}).curve([0.5]).round(4).tolist()
    [0.5]
    """

    warps: Mapping[Any, Warp]

    def __post_init__(self) -> None:
        _check(isinstance(self.warps, Mapping) and len(self.warps) > 0, "warps", "must map groups to warps", self.warps)
        made = {name: as_warp(warp) for name, warp in self.warps.items()}
        for name, warp in made.items():
            moves = isinstance(warp, by_group) or (isinstance(warp, prior_shift) and warp.shift_scores)
            _check(
                not moves,
                "warps",
                f"the warp of group {name!r} must not change groups or the distribution of the scores",
                warp,
            )
        object.__setattr__(self, "warps", made)

    def curve(self, score: Any) -> Floats:
        return np.mean([warp.curve(score) for warp in self.warps.values()], axis=0)

    def marks(self) -> tuple[float, ...]:
        return tuple(mark for warp in self.warps.values() for mark in warp.marks())


@dataclass(frozen=True)
class function(Warp):
    """An arbitrary calibration curve.

    Parameters
    ----------
    of : callable
        True probabilities as a function of an array of scores.
    bends : tuple of float, default ()
        Scores at which the curve has a jump or a kink; integrals are split there.

    Examples
    --------
    >>> from calibrant.inference.simulation import function
    >>> function(lambda s: s**2).curve([0.5]).tolist()
    [0.25]
    """

    of: Callable[[Floats], Any]
    bends: tuple[float, ...] = ()

    def curve(self, score: Any) -> Floats:
        score = np.asarray(score, dtype=np.float64)
        values = np.asarray(self.of(score), dtype=np.float64)
        _check(
            values.shape == score.shape, "warp", f"must give one number per score, shape {score.shape}", values.shape
        )
        if not ((values >= 0) & (values <= 1)).all():
            raise ArgumentError("warp", "must give probabilities; got numbers outside [0, 1]")
        return values

    def marks(self) -> tuple[float, ...]:
        return tuple(self.bends)


def as_warp(warp: Any, argument: str = "warp") -> Warp:
    """A warp, also from a function of the scores."""
    if isinstance(warp, Warp):
        return warp
    if isinstance(warp, type) or not callable(warp):
        shown = warp.__name__ if isinstance(warp, type) else repr(warp)
        raise ArgumentError(
            argument, f"must be a warp or a function of the score; got {shown}", "for example temperature(1.5)"
        )
    return function(warp)


def sign_changes(curve: Callable[[Floats], Floats]) -> list[float]:
    """Scores at which a function changes sign."""
    from scipy.optimize import brentq

    fine = np.power(10.0, -np.arange(16, 3, -1))
    grid = np.concatenate([fine, np.arange(1, 4000) / 4000, 1 - fine[::-1]])
    values = curve(grid)
    told = np.flatnonzero(np.abs(values) > 1e-14)  # below that the sign is noise
    sides = np.sign(values[told])
    return [
        float(brentq(lambda s: float(curve(np.asarray(s))), grid[told[i]], grid[told[i + 1]], xtol=1e-16))
        for i in np.flatnonzero(sides[1:] != sides[:-1])
    ]


def _check(fine: bool, argument: str, rule: str, value: Any) -> None:
    if not fine:
        raise ArgumentError(argument, f"{rule}; got {value!r}")


def _logit(score: Any) -> Floats:
    score = np.asarray(score, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(score) - np.log1p(-score))


def _sigmoid(value: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-value)))

"""Warps: ways in which a reported probability can be wrong, each with the truth known in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ArgumentError
from ...input.convert import is_number
from ...util.checks import check_positive

__all__ = [
    "Warp",
    "as_warp",
    "bias",
    "bump",
    "by_group",
    "confusion",
    "function",
    "label_noise",
    "prior_shift",
    "sign_changes",
    "softmax_map",
    "temperature",
]

Floats = NDArray[np.float64]
Beta = tuple[float, float, float]
"""A part of a distribution of scores: its share, and the a and b of Beta(a, b)."""


class Warp:
    """What the reported score means: `curve` is the true probability of yes given the score, the calibration curve itself."""

    def curve(self, score: Any) -> Floats:
        """P(yes | reported score)."""
        raise NotImplementedError

    def marks(self) -> tuple[float, ...]:
        """Scores at which the curve is not smooth, or changes fast."""
        return ()

    def distributions(self, a: float, b: float) -> list[Beta]:
        """The distribution of the reported scores as a mixture, where the distribution asked for is Beta(a, b)."""
        return [(1.0, a, b)]

    def rows(self, drawn: Floats) -> tuple[Floats, Floats]:
        """For many classes: the report and the true probabilities, from rows drawn from a Dirichlet distribution."""
        raise ArgumentError(
            "warp", f"{self!r} is defined for two classes only", "use temperature, softmax_map, label_noise, confusion"
        )


@dataclass(frozen=True)
class temperature(Warp):
    """The truth is sigmoid(logit(s) / k): for k above 1 the report is overconfident, below 1 underconfident.

    For many classes the distribution is that of the truth q, and the report is softmax(k ln q).
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
    """The truth is sigmoid(logit(s) + d): for d above 0 the report is too low."""

    d: float

    def __post_init__(self) -> None:
        _check(is_number(self.d) and math.isfinite(self.d), "d", "must be a number", self.d)

    def curve(self, score: Any) -> Floats:
        return _sigmoid(_logit(score) + self.d)


@dataclass(frozen=True)
class bump(Warp):
    """The truth is the score plus a hill of height h and width w around c, kept in [0, 1]: an error in one place only."""

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
    """Labels of calibrated forecasts go wrong: of two classes the label is flipped with probability e.

    Of many classes it is drawn anew, all alike, with probability e: the truth is (1 - e) q + e / K.
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
    """Forecasts calibrated at one prevalence are used at another: the truth moves by the difference of the two in log-odds.

    With ``change_law=True`` the scores follow the shift too, as they do when only the mix of the classes changes; `before` is
    then the mean of the distribution, or the forecasts would not have been calibrated.
    """

    before: float
    after: float
    change_law: bool = False

    def __post_init__(self) -> None:
        for name, value in (("before", self.before), ("after", self.after)):
            _check(is_number(value) and 0 < value < 1, name, "must lie between 0 and 1", value)

    def curve(self, score: Any) -> Floats:
        return _sigmoid(_logit(score) + math.log(self.after / (1 - self.after) * (1 - self.before) / self.before))

    def distributions(self, a: float, b: float) -> list[Beta]:
        if not self.change_law:
            return [(1.0, a, b)]
        mean = a / (a + b)
        if abs(mean - self.before) > 1e-9:
            raise ArgumentError(
                "before",
                f"must be the mean of the scores, {mean:.6g}; got {self.before:g}",
            )
        # f(s) [s after / before + (1 - s) (1 - after) / (1 - before)] is the mix of the scores of the two classes.
        return [(self.after, a + 1, b), (1 - self.after, a, b + 1)]


@dataclass(frozen=True)
class softmax_map(Warp):
    """For many classes: the truth q follows the distribution and the report is softmax(k ln q + b), one shift `b` for each class.

    The report determines q, so the truth given the report is known. Two classes: as `temperature`, with a shift.
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
    """Labels of calibrated forecasts are mistaken class by class: row i of `matrix` says how often class i is labelled as each."""

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
    """Every row belongs to one of several groups, all equally likely, and each group has its own warp.

    The curve is that of the score alone, the mean over the groups: groups may be far off and the whole look calibrated.
    """

    warps: Mapping[Any, Warp]

    def __post_init__(self) -> None:
        _check(isinstance(self.warps, Mapping) and len(self.warps) > 0, "warps", "must map groups to warps", self.warps)
        made = {name: as_warp(warp) for name, warp in self.warps.items()}
        for name, warp in made.items():
            moves = isinstance(warp, by_group) or (isinstance(warp, prior_shift) and warp.change_law)
            _check(
                not moves,
                "warps",
                f"of group {name!r} must leave groups and the distribution of the scores alone",
                warp,
            )
        object.__setattr__(self, "warps", made)

    def curve(self, score: Any) -> Floats:
        return np.mean([warp.curve(score) for warp in self.warps.values()], axis=0)

    def marks(self) -> tuple[float, ...]:
        return tuple(mark for warp in self.warps.values() for mark in warp.marks())


@dataclass(frozen=True)
class function(Warp):
    """A calibration curve of one's own: `of` gives the true probability for an array of scores.

    `bends` names the scores at which it jumps or has a corner, so that integrals can be split there.
    """

    of: Callable[[Floats], Any]
    bends: tuple[float, ...] = ()

    def curve(self, score: Any) -> Floats:
        score = np.asarray(score, dtype=np.float64)
        values = np.asarray(self.of(score), dtype=np.float64)
        _check(
            values.shape == score.shape, "warp", f"must give one number per score, shape {score.shape}", values.shape
        )
        _check(bool(((values >= 0) & (values <= 1)).all()), "warp", "must give probabilities", "numbers outside [0, 1]")
        return values

    def marks(self) -> tuple[float, ...]:
        return tuple(self.bends)


def as_warp(warp: Any) -> Warp:
    """A warp as it is, or from a function of the scores."""
    if isinstance(warp, Warp):
        return warp
    if isinstance(warp, type) or not callable(warp):
        shown = warp.__name__ if isinstance(warp, type) else repr(warp)
        raise ArgumentError(
            "warp", f"must be a warp or a function of the score; got {shown}", "for example temperature(1.5)"
        )
    return function(warp)


def sign_changes(curve: Callable[[Floats], Floats]) -> list[float]:
    """Scores at which a function changes its sign."""
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

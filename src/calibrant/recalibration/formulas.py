"""A fitted calibrator as a formula of the columns of one row: a graph of a few operations, from which every export is written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..curves import curves
from ..curves.logistic_regression import CLIP, LARGEST_LOGIT
from .scores import SMALLEST

# Exponents are limited to this: some databases raise an error where a double underflows.
LARGEST_EXPONENT = 700.0
LARGEST_DOUBLE = float(np.finfo(np.float64).max)
# Logarithms are taken of at least this.
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Formula:
    """Some columns computed from those of other formulas.

    Operations: ``input``, ``constant``; ``add``, ``subtract``, ``multiply``, ``divide``, ``least``, ``greatest`` of two, where one column is
    combined with each of several; ``log``, ``exp`` (of an exponent within 700); ``choose``, the second where the first is above 0, else the third;
    ``interpolate`` between knots; ``linear``, the columns times a matrix; ``largest``, the maximum of all columns; ``join``.
    """

    op: str
    args: tuple[Formula, ...] = ()
    data: Any = None
    """Values of a constant, the matrix of ``linear``, or knots and values of ``interpolate``."""
    width: int = 1

    def __add__(self, other: Any) -> Formula:
        return _combined("add", self, other)

    def __sub__(self, other: Any) -> Formula:
        return _combined("subtract", self, other)

    def __rsub__(self, other: Any) -> Formula:
        return _combined("subtract", other, self)

    def __mul__(self, other: Any) -> Formula:
        return _combined("multiply", self, other)

    def __truediv__(self, other: Any) -> Formula:
        return _combined("divide", self, other)

    def __rtruediv__(self, other: Any) -> Formula:
        return _combined("divide", other, self)

    def clip(self, low: Any, high: Any) -> Formula:
        return _combined("least", _combined("greatest", self, low), high)

    def linear(self, matrix: Any) -> Formula:
        matrix = np.asarray(matrix, dtype=np.float64)
        return Formula("linear", (self,), matrix, len(matrix))

    def column(self, number: int) -> Formula:
        return self.linear(np.eye(self.width)[[number]])

    def sum(self) -> Formula:
        return self.linear(np.ones((1, self.width)))

    def largest(self) -> Formula:
        return Formula("largest", (self,))

    def interpolate(self, knots: Sequence[float], values: Sequence[float]) -> Formula:
        return Formula("interpolate", (self,), (tuple(knots), tuple(values)), self.width)


def given(width: int) -> Formula:
    """The columns that the calibrator reads."""
    return Formula("input", width=width)


def constant(values: Any) -> Formula:
    """The same numbers in every row."""
    numbers = np.atleast_1d(np.asarray(values, dtype=np.float64))
    return Formula("constant", data=numbers, width=len(numbers))


def _combined(op: str, *args: Any) -> Formula:
    parts = tuple(each if isinstance(each, Formula) else constant(each) for each in args)
    return Formula(op, parts, width=max(part.width for part in parts))


def log(x: Formula) -> Formula:
    """Logarithm, of at least 1e-300."""
    return Formula("log", (_combined("greatest", x, TINY),), width=x.width)


def exp(x: Formula) -> Formula:
    """Exponential function of an exponent within 700."""
    return Formula("exp", (x.clip(-LARGEST_EXPONENT, LARGEST_EXPONENT),), width=x.width)


def choose(condition: Formula, yes: Any, no: Any) -> Formula:
    """One of two formulas, by whether the condition is above 0."""
    return _combined("choose", condition, yes, no)


def join(*parts: Formula) -> Formula:
    """The columns of all parts."""
    return Formula("join", parts, width=sum(part.width for part in parts))


def expit(x: Formula) -> Formula:
    """The logistic function, without overflow."""
    decay = exp(_combined("least", x, 0 - x))
    return choose(0 - x, decay, 1.0) / (decay + 1)


def logit(p: Formula) -> Formula:
    """Log-odds, limited as those of `calibrant.curves`."""
    return (log(p) - log(1 - p)).clip(-LARGEST_LOGIT, LARGEST_LOGIT)


def softmax(z: Formula) -> Formula:
    """Softmax of the columns, without overflow."""
    powers = exp(z - z.largest())
    return powers / powers.sum()


def normalised(rows: Formula, otherwise: Formula) -> Formula:
    """Columns divided by their sum; those of `otherwise` where the sum is 0."""
    total = rows.sum()
    return choose(total, rows / choose(total, total, 1.0), otherwise)


def curve_formula(curve: Any, score: Formula) -> Formula | None:
    """A fitted curve as a formula of the score; None for a curve without one."""
    if isinstance(curve, curves.Logistic):
        return expit(logit(score) * curve.slope + curve.intercept)
    if isinstance(curve, curves.Quadratic):
        odds = logit(score)
        return expit(odds * (odds * curve.bend + curve.slope) + curve.constant)
    if isinstance(curve, curves.Beta):
        small, large = math.log(CLIP), math.log1p(-CLIP)
        low, high = log(score).clip(small, large), (0 - log(1 - score)).clip(-large, -small)
        return expit(low * curve.a + high * curve.b + curve.c)
    if isinstance(curve, curves.Interpolated):
        return score.interpolate(curve.scores, curve.rates)
    return None


def nodes_of(formula: Formula) -> list[Formula]:
    """All parts of a formula, each after its arguments and once."""
    found: dict[int, Formula] = {}
    waiting = [(formula, False)]
    while waiting:
        node, ready = waiting.pop()
        if id(node) in found:
            continue
        if ready:
            found[id(node)] = node
        else:
            waiting += [(node, True), *((part, False) for part in node.args)]
    return list(found.values())


class Pieces(NamedTuple):
    """Linear pieces: of `n` starts and `n + 1` pieces, value + slope * (x - knot) from each start on, and before the first."""

    starts: tuple[float, ...]
    knots: tuple[float, ...]
    values: tuple[float, ...]
    slopes: tuple[float, ...]


def pieces_of(knots: Sequence[float], values: Sequence[float]) -> Pieces:
    """The pieces of a linear interpolation; constant ones of the same value are joined."""
    x, y = np.array(knots), np.array(values)
    with np.errstate(over="ignore"):
        slope = np.diff(y) / np.diff(x)
    slope[np.nextafter(x[:-1], np.inf) == x[1:]] = 0.0  # nothing lies between neighbouring numbers
    slope, level, start = np.concatenate([[0.0], slope, [0.0]]), np.append(y[0], y), np.append(-np.inf, x)
    kept = np.append(True, (slope[1:] != 0) | (slope[:-1] != 0) | (level[1:] != level[:-1]))
    knot = np.where(slope == 0, 0.0, start)
    return Pieces(*(tuple(part[kept].tolist()) for part in (start, knot, level, slope)))._replace(
        starts=tuple(start[kept][1:].tolist())
    )


class ScoreFormulas:
    """The properties of `Scores` as formulas of the columns that a calibrator reads.

    Parameters
    ----------
    columns : Formula
        One score of two classes, or one column per class.
    is_logit : bool
        Whether the columns are logits.
    boundary : float
        What replaces probabilities nearer to 0 or 1, as in `FitRecord`.
    scale : float
        What log-odds of two classes are divided by.
    """

    def __init__(self, columns: Formula, is_logit: bool, boundary: float = 0.0, scale: float = 1.0) -> None:
        self.columns, self.is_logit, self.boundary, self.scale = columns, is_logit, boundary, scale
        self.k = max(columns.width, 2)

    @property
    def scaled(self) -> bool:
        return self.is_logit and self.scale != 1

    @cached_property
    def probs(self) -> Formula:
        if self.scaled:
            return join(expit(0 - self.log_odds), expit(self.log_odds))
        probs = (
            self.columns
            if not self.is_logit
            else expit(self.columns)
            if self.columns.width == 1
            else softmax(self.columns)
        )
        probs = join(1 - probs, probs) if probs.width == 1 else probs
        return probs.clip(self.boundary, 1 - self.boundary) if self.boundary else probs

    @cached_property
    def score(self) -> Formula:
        return self.probs.column(1)

    @cached_property
    def logits(self) -> Formula:
        if not self.is_logit:
            return log(self.probs if self.boundary else self.probs.clip(SMALLEST, 1.0))
        if self.columns.width == 1 or self.scaled:
            return join(constant(0.0), self.log_odds)
        z = self.columns
        return choose(-LARGEST_DOUBLE - z, z.largest() + math.log(SMALLEST), z)

    @cached_property
    def log_odds(self) -> Formula:
        if not self.is_logit:
            return logit(self.score)
        z, limit = self.columns, -math.log(SMALLEST)
        if self.scaled:
            odds = z if z.width == 1 else z.column(1) - z.column(0)
            return (odds / self.scale).clip(-limit, limit)
        if z.width > 1:
            return self.logits.column(1) - self.logits.column(0)
        return choose(z - LARGEST_DOUBLE, limit, choose(-LARGEST_DOUBLE - z, -limit, z))

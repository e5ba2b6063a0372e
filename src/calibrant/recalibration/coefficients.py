"""Coefficients, edges and knots of fitted calibrators under the same names for every method, read from their curves.

The first index of each is the binary problem: 0 for two classes. Of calibrators that are linear in the logits of all classes, `coef_` and
`intercept_` are those of softmax(coef_ @ z + intercept_).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..curves import curves
from ..curves.logistic_regression import logit
from .formulas import Formula, ScoreFormulas, softmax
from .scores import Floats, Scores, on_scale


class LinearCurves:
    """Mixin of calibrators whose curves are linear in features of the score."""

    derived: ClassVar[tuple[str, ...]] = ("coef_", "intercept_")
    curves_: tuple[Any, ...]
    scale_: float

    @property
    def coef_(self) -> Floats:
        """Coefficients, of shape (number of binary problems, number of features); of the log-odds as they were given."""
        return np.array([_coefficients(curve, self.scale_)[0] for curve in self.curves_])

    @property
    def intercept_(self) -> Floats:
        """Intercept of each binary problem."""
        return np.array([_coefficients(curve, self.scale_)[1] for curve in self.curves_])

    def _terms(self, score: Floats) -> Floats:
        """Derivatives of the log-odds by the parameters of a curve: the powers of those of the score."""
        return np.vander(logit(score), 1 + self.coef_.shape[1], increasing=True)

    def _slopes(self, data: Scores) -> Floats | None:
        if data.k > 2:  # their curves are divided by their sum
            return None
        terms = self._terms(on_scale(data, self.scale_).score)
        return np.stack([np.zeros_like(terms), terms], axis=1)


def _coefficients(curve: Any, scale: float) -> tuple[list[float], float]:
    """Coefficients and intercept of a curve that was fitted to log-odds divided by the scale."""
    if isinstance(curve, curves.Quadratic):
        return [curve.slope / scale, curve.bend / scale**2], curve.constant
    if isinstance(curve, curves.Beta):
        return [curve.a, curve.b], curve.c
    return [curve.slope / scale], curve.intercept


class StepCurves:
    """Mixin of calibrators whose curves are constant on bins."""

    derived: ClassVar[tuple[str, ...]] = ("edges_", "values_")
    curves_: tuple[Any, ...]

    @property
    def edges_(self) -> tuple[Floats, ...]:
        """Edges of the bins of each binary problem, from 0 to 1."""
        return tuple(steps(curve)[0] for curve in self.curves_)

    @property
    def values_(self) -> tuple[Floats, ...]:
        """Calibrated probability in each bin of each binary problem."""
        return tuple(steps(curve)[1] for curve in self.curves_)


def steps(curve: curves.Interpolated) -> tuple[Floats, Floats]:
    """The edges and values of a step function, which jumps between neighbouring floating-point numbers."""
    at, rates = np.array(curve.scores), np.array(curve.rates)
    jumps = np.flatnonzero(np.nextafter(at[:-1], np.inf) == at[1:])
    inner = at[jumps + 1] if curve.kind.endswith("_left") else at[jumps]
    return np.concatenate([[0.0], inner, [1.0]]), np.append(rates[0], rates[jumps + 1])


class KnotCurves:
    """Mixin of calibrators whose curves are linear between knots."""

    derived: ClassVar[tuple[str, ...]] = ("knots_", "values_")
    curves_: tuple[Any, ...]

    @property
    def knots_(self) -> tuple[Floats, ...]:
        """Scores of the knots of each binary problem."""
        return tuple(np.array(curve.scores) for curve in self.curves_)

    @property
    def values_(self) -> tuple[Floats, ...]:
        """Calibrated probability at each knot of each binary problem."""
        return tuple(np.array(curve.rates) for curve in self.curves_)


class LinearLogits:
    """Mixin of calibrators of the form softmax(W z + b)."""

    derived: ClassVar[tuple[str, ...]] = ("coef_", "intercept_")
    classes_: Any

    def _linear_part(self) -> tuple[Any, Any]:
        """W as a number, a vector of factors or a matrix, and b."""
        raise NotImplementedError

    @property
    def coef_(self) -> Floats:
        """Matrix by which the logits are multiplied, of shape (K, K)."""
        factor = np.asarray(self._linear_part()[0], dtype=np.float64)
        return factor if factor.ndim == 2 else factor * np.eye(len(self.classes_))

    @property
    def intercept_(self) -> Floats:
        """Constant added to the logit of each class."""
        return np.zeros(len(self.classes_)) + self._linear_part()[1]

    def _formula(self, x: ScoreFormulas) -> Formula:
        return softmax(x.logits.linear(self.coef_) + self.intercept_)

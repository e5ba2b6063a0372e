"""Flexible calibration curves that can be evaluated at any risk, with pointwise standard errors: LOESS and splines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..util.arrays import Floats
from ..util.cached import cached_property
from ..views.view import View
from .local_regression import (
    CELLS,
    Groups,
    SplineFit,
    fit_spline,
    hermite_basis,
    local_fits,
    loess_operator,
    loess_vertices,
    merged_cells,
    tie_groups,
)
from .logistic_regression import groups_of


@dataclass(frozen=True, eq=False)
class LoessCurve:
    """LOESS between the vertices of a k-d tree, as in R."""

    at: Floats
    value: Floats
    slope: Floats
    groups: Groups
    bandwidth: Floats
    degree: int
    spread: Floats
    """Sum of squared weights of the rows of each group, with weights that sum to the number of rows; their number for counts."""

    def __call__(self, risk: Floats) -> Floats:
        return hermite_basis(self.at, risk) @ np.concatenate([self.value, self.slope])

    def variances(self, risk: Floats) -> tuple[Floats, Floats, float]:
        r"""Return :math:`\sum_i l_i(x)^2 p_i (1 - p_i)` with p from the curve, :math:`\sum_i l_i(x)^2`, and the variance of residuals.

        The first is the variance of the curve for binary outcomes; the second times the third is that of R, which assumes the same
        variance for all outcomes.
        """
        *products, residual = self._products
        basis = hermite_basis(self.at, risk)
        binomial, unit = (np.maximum(((basis @ product) * basis).sum(axis=1), 0.0) for product in products)
        return binomial, unit, residual

    @cached_property
    def _products(self) -> tuple[Floats, Floats, float]:
        """The same for the values and slopes at the vertices, as matrices."""
        cells, start = merged_cells(self.groups, CELLS)
        spread = np.add.reduceat(self.spread, start) / cells.weight**2  # of the mean outcome of a cell
        operator = np.concatenate(loess_operator(cells, self.at, self.bandwidth, self.degree))
        fitted = np.clip(self(cells.score), 0, 1)
        binomial, unit = ((operator * each) @ operator.T for each in (spread * fitted * (1 - fitted), spread))
        return binomial, unit, self._residual_variance(cells, spread, operator)

    def _residual_variance(self, cells: Groups, spread: Floats, operator: Floats) -> float:
        """Return the residual sum of squares over tr (I - L)(I - L)', which makes it unbiased (Cleveland and Devlin 1988).

        L is the product of the interpolation and the operator, whose rank is that of the vertices, so the trace needs no matrix of
        all rows.
        """
        basis = hermite_basis(self.at, cells.score)
        rows = 1 / spread  # effective number of rows
        trace = float((basis * operator.T).sum())
        square = float((((basis.T * rows) @ basis) * ((operator * spread) @ operator.T)).sum())
        fitted, groups = self(self.groups.score), self.groups
        residual = groups.weight * (np.square(groups.rate - fitted) + groups.rate * (1 - groups.rate))
        freedom = groups.rows - 2 * trace + square
        return float(residual.sum()) / freedom if freedom > 0 else math.nan


@dataclass(frozen=True, eq=False)
class SplineCurve:
    """Logistic regression on a restricted cubic spline of the log-odds of the risk."""

    fit: SplineFit
    covariance: Floats

    def __call__(self, risk: Floats) -> Floats:
        return np.asarray(np.exp(-np.logaddexp(0, -self.log_odds(risk))))

    def log_odds(self, risk: Floats) -> Floats:
        """Return the log-odds of the curve."""
        return np.asarray(self.fit.design(risk) @ self.fit.coefficients)

    def error(self, risk: Floats) -> Floats:
        """Return the standard error of the log-odds."""
        design = self.fit.design(risk)
        return np.sqrt(np.maximum(np.einsum("ni,ij,nj->n", design, self.covariance, design), 0.0))


FlexibleCurve = LoessCurve | SplineCurve


def fit_flexible(view: View, smoother: str, *, span: float, degree: int, knots: int) -> FlexibleCurve:
    """Fit a flexible calibration curve to a view."""
    groups = tie_groups(view)
    # The same sums under weights that sum to the number of rows.
    scaled = groups_of(view)
    scale = float(groups.weight[0] / scaled.weight[0])
    if view.weight_kind != "importance":
        scale = 1.0
    total, ones, _ = (scale**2 * each for each in scaled.squares)
    if smoother == "loess":
        at, bandwidth = loess_vertices(groups, span)
        value, slope = local_fits(groups, at, bandwidth, degree)
        return LoessCurve(at, value, slope, groups, bandwidth, degree, total)
    fit = fit_spline(groups, knots)
    covariance = fit.covariance
    if view.has_real_weights:
        covariance = _sandwich(fit, groups, total, ones)
    return SplineCurve(fit, covariance)


def _sandwich(fit: SplineFit, groups: Groups, total: Floats, ones: Floats) -> Floats:
    """Return the sandwich covariance, since the information counts an importance weight as so many rows."""
    design = fit.design(groups.score)
    noise = ones * (1 - 2 * fit.fitted) + fit.fitted**2 * total
    middle: Any = design.T @ (noise[:, None] * design)
    return np.asarray(fit.covariance @ middle @ fit.covariance)

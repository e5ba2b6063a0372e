"""Generalised linear models with a random intercept for each centre, fitted by adaptive Gauss-Hermite quadrature."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UndefinedMetricError
from ..util.arrays import Floats

Family = Literal["binomial", "poisson"]

NODES = 15
NEWTON_STEPS, ENOUGH = 50, 1e-12
# Smaller standard deviations between centres are 0, where the likelihood has no slope.
LEAST_SPREAD = 0.01
# Step of the differences from which the information is computed, relative to the parameters.
STEP = 1e-3


class MixedFit(NamedTuple):
    """Coefficients, their covariance, and the variance between centres."""

    coefficients: Floats
    covariance: Floats
    tau2: float


class RandomIntercept:
    """The model :math:`g(E[y]) = X b + offset + u_j` with normal `u_j` of centre j.

    Parameters
    ----------
    centre : ndarray of int
        Centre of each row, from 0 without gaps.
    events : ndarray
        Events of each row.
    size : ndarray
        Number of trials for the binomial distribution with a logit link; number of expected events for the Poisson distribution with a log link.
    columns : ndarray of shape (N, p)
        Predictors X.
    offset : ndarray
        Part of the linear predictor without a coefficient.
    family : {"binomial", "poisson"}
        Distribution of the events.
    """

    def __init__(
        self, centre: NDArray[np.intp], events: Floats, size: Floats, columns: Floats, offset: Floats, family: Family
    ) -> None:
        self.centre, self.events, self.size = centre, events, size
        self.columns, self.offset, self.family = columns, offset, family
        self.count = int(centre.max()) + 1
        self.modes = np.zeros(self.count)
        self.nodes, self.weights = np.polynomial.hermite.hermgauss(NODES)

    def _sums(self, rows: Floats) -> Floats:
        return np.bincount(self.centre, rows, self.count).astype(np.float64)

    def _log_density(self, eta: Floats) -> Floats:
        cumulant = np.logaddexp(0, eta) if self.family == "binomial" else np.exp(eta)
        return self._sums(self.events * eta - self.size * cumulant)

    def _mean_and_variance(self, eta: Floats) -> tuple[Floats, Floats]:
        if self.family == "poisson":
            return self.size * np.exp(eta), self.size * np.exp(eta)
        rate = 1 / (1 + np.exp(-eta))
        return self.size * rate, self.size * rate * (1 - rate)

    def log_likelihood(self, parameters: Floats) -> float:
        """Marginal log-likelihood of coefficients and standard deviation between centres."""
        *line, spread = parameters
        fixed = self.columns @ np.array(line) + self.offset
        if spread == 0:
            return float(self._log_density(fixed).sum())
        modes = self.modes
        for _ in range(NEWTON_STEPS):
            mean, variance = self._mean_and_variance(fixed + modes[self.centre])
            step = (self._sums(self.events - mean) - modes / spread**2) / (self._sums(variance) + 1 / spread**2)
            modes = modes + np.clip(step, -2, 2)
            if np.abs(step).max() < ENOUGH:
                break
        self.modes = modes
        _, variance = self._mean_and_variance(fixed + modes[self.centre])
        width = np.sqrt(2 / (self._sums(variance) + 1 / spread**2))
        logs = np.empty((NODES, self.count))
        for place, node in enumerate(self.nodes):
            effect = modes + width * node
            logs[place] = self._log_density(fixed + effect[self.centre]) - effect**2 / (2 * spread**2) + node**2
        top = logs.max(axis=0)
        integral = top + np.log(self.weights @ np.exp(logs - top)) + np.log(width / spread)
        return float(integral.sum()) - self.count * math.log(2 * math.pi) / 2

    def centre_effects(self, line: Floats) -> tuple[Floats, Floats]:
        """Estimates of the random intercepts of centres with events to expect, linear about the coefficients, so that few events bias none; their variances."""
        mean, variance = self._mean_and_variance(self.columns @ line + self.offset)
        information = self._sums(variance)
        informs = information > 0
        return self._sums(self.events - mean)[informs] / information[informs], 1 / information[informs]

    def fit(self) -> MixedFit:
        """Maximise the likelihood; the covariance is the inverse of the observed information of all parameters."""
        from scipy.optimize import minimize

        p = self.columns.shape[1]
        start = np.append(np.zeros(p), 0.3)
        if p > 1:
            start[1] = 1.0  # of a slope

        def loss(parameters: Floats) -> float:
            return -self.log_likelihood(np.append(parameters, np.zeros(p + 1 - len(parameters))))

        bounds = [(None, None)] * p + [(LEAST_SPREAD, None)]
        options: Any = {"method": "L-BFGS-B", "options": {"ftol": 1e-14, "gtol": 1e-7}}
        best = minimize(loss, start, bounds=bounds, **options).x
        if best[-1] <= LEAST_SPREAD:
            best = minimize(loss, best[:p], **options).x
        information = _curvature(loss, best)
        try:
            covariance = np.asarray(np.linalg.inv(information)[:p, :p], np.float64)
        except np.linalg.LinAlgError:
            covariance = np.full((p, p), math.nan)
        if not (np.diag(covariance) > 0).all():
            raise UndefinedMetricError("y_prob", "the one-stage model could not be fitted", "use method='reml'")
        return MixedFit(best[:p], covariance, float(best[-1]) ** 2 if len(best) > p else 0.0)


def _curvature(function: Any, at: Floats) -> Floats:
    """Matrix of second derivatives, by central differences."""
    steps = np.diag(STEP * np.maximum(np.abs(at), 0.1))
    matrix = np.empty((len(at), len(at)))
    for i, first in enumerate(steps):
        for j, second in enumerate(steps):
            corners = [a * b * function(at + a * first + b * second) for a in (1, -1) for b in (1, -1)]
            matrix[i, j] = sum(corners) / (4 * first[i] * second[j])
    return matrix

"""What the scaling maps are solved with: a linear model under a softmax, and the least of a convex loss."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..errors import warn_caller
from ..util.blocks import map_blocks, rows_per_block
from .base import TrainingData

__all__ = ["LinearSoftmax", "by_newton", "minimised", "softmax", "some_rows"]

Floats = NDArray[np.float64]

# Parameters beyond this are taken to grow without bound.
FARTHEST = 1e6
# A loss below this is none.
NO_LOSS = 1e-10


def softmax(logits: Floats) -> Floats:
    """Row by row, without overflow."""
    with np.errstate(under="ignore"):
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


class LinearSoftmax:
    """Mean negative log likelihood of softmax(W z + b) and its gradient, block by block."""

    def __init__(self, data: TrainingData) -> None:
        self.z, self.labels = data.logits, data.labels
        self.weight = data.weight / data.weight.sum()
        self.n, self.k = self.z.shape

    def __call__(self, matrix: Floats, bias: Floats) -> tuple[float, Floats, Floats]:
        """The loss, its gradient in the whole matrix, and in the bias; a vector is a diagonal matrix."""
        full = matrix.ndim == 2

        def work(start: int, stop: int) -> tuple[float, Floats, Floats]:
            z, weight, labels = self.z[start:stop], self.weight[start:stop], self.labels[start:stop]
            logits = (z @ matrix.T if full else z * matrix) + bias
            logits -= logits.max(axis=1, keepdims=True)
            rows = np.arange(len(z))
            own = logits[rows, labels]
            with np.errstate(under="ignore"):
                np.exp(logits, out=logits)
            total = logits.sum(axis=1)
            loss = float(weight @ (np.log(total) - own))
            logits *= (weight / total)[:, None]
            logits[rows, labels] -= weight
            slope = logits.T @ z if full else np.einsum("ij,ij->j", logits, z)
            return loss, slope, logits.sum(axis=0)

        parts = map_blocks(work, self.n, rows_per_block(self.k), columns=self.k)
        return (
            math.fsum(part[0] for part in parts),
            np.sum([part[1] for part in parts], axis=0),
            np.sum([part[2] for part in parts], axis=0),
        )

    def probs(self, matrix: Floats, bias: Floats) -> Floats:
        """softmax(W z + b) of all rows."""
        return softmax((self.z @ matrix.T if matrix.ndim == 2 else self.z * matrix) + bias)

    def diagonal_curvature(self, matrix: Floats, bias: Floats) -> Floats:
        """(2K, 2K) second derivatives of the loss in the factors and biases of a diagonal matrix."""
        probs = self.probs(matrix, bias)
        weighed = probs * self.weight[:, None]
        scaled = probs * self.z
        own = [weighed.sum(axis=0), (weighed * self.z).sum(axis=0), (weighed * self.z * self.z).sum(axis=0)]
        both = (scaled * self.weight[:, None]).T @ scaled
        one = (scaled * self.weight[:, None]).T @ probs
        none = weighed.T @ probs
        top = np.hstack([np.diag(own[2]) - both, np.diag(own[1]) - one])
        return np.vstack([top, np.hstack([(np.diag(own[1]) - one).T, np.diag(own[0]) - none])])

    def full_curvature(self, matrix: Floats, bias: Floats) -> Floats:
        """(K (K + 1), K (K + 1)) second derivatives; the parameters of a class are its row of the matrix, then its bias."""
        probs = self.probs(matrix, bias)
        features = np.column_stack([self.z, np.ones(self.n)])
        k, size = self.k, self.k + 1
        each = (probs[:, :, None] * features[:, None, :]).reshape(self.n, k * size)
        weighed = each * self.weight[:, None]
        out = -(weighed.T @ each)
        for a in range(k):
            own = slice(a * size, (a + 1) * size)
            out[own, own] += weighed[:, own].T @ features
        return out


def by_newton(
    loss: Callable[[Floats], tuple[float, Floats, Floats]], start: Floats, tolerance: float = 1e-12
) -> Floats:
    """Newton steps, halved while they do not help, on a convex loss with its gradient and curvature.

    Directions in which the loss is flat are left where they are; parameters that run away are stopped at a million.
    """
    x = start
    value, slope, curvature = loss(x)
    for _ in range(200):
        ridge = 1e-12 * max(float(np.abs(np.diag(curvature)).max()), 1e-300)
        step = np.linalg.solve(curvature + ridge * np.eye(len(x)), slope)
        gain = float(step @ slope)
        if gain <= tolerance * max(1.0, abs(value)):
            return np.asarray(x - step)  # what is then left is the square of nothing
        length = 1.0
        while length > 1e-10:
            new = loss(x - length * step)
            if new[0] <= value - 1e-4 * length * gain:
                break
            length /= 2
        else:
            break
        x, (value, slope, curvature) = x - length * step, new
        if np.abs(x).max() > FARTHEST or value < NO_LOSS:
            _warn_of_separation()
            break
    return x


def _warn_of_separation() -> None:
    warn_caller(
        "the labels can be told apart without error, so the parameters grow without bound; they are stopped on the way",
    )


def minimised(loss: Callable[[Floats], tuple[float, Floats]], start: Floats, gradient: float = 1e-10) -> Floats:
    """L-BFGS, for more parameters than a matrix of curvatures should have, or where none is at hand."""
    from scipy.optimize import minimize

    options = {"maxiter": 2000, "maxfun": 5000, "ftol": 1e-14, "gtol": gradient, "maxcor": 20}
    limits = [(-FARTHEST, FARTHEST)] * len(start)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits, options=options)
    if np.abs(found.x).max() >= FARTHEST:
        _warn_of_separation()
    return np.asarray(found.x)


def some_rows(linear: LinearSoftmax, rows: NDArray[np.intp], weight: Floats) -> LinearSoftmax:
    """The same model on rows in the order given, with other weights; rows without weight are left out."""
    rows = rows[weight[rows] > 0]
    part = object.__new__(LinearSoftmax)
    part.z, part.labels, part.weight = linear.z[rows], linear.labels[rows], weight[rows]
    part.weight = part.weight / part.weight.sum()
    part.n, part.k = part.z.shape
    return part

"""The least of a loss whose rows stay on their device: only parameters, sums and small matrices travel to the solvers of the library."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..recalibration.scaling import MatrixScaling
from ..recalibration.softmax_regression import LEAST, MOST, LinearSoftmax, bias_corrected, bounded, by_newton, newton
from .rows import TrainingRows, blocks, host

__all__ = ["DeviceSoftmax", "best_bias_corrected", "best_matrix", "best_scale", "best_vector"]

Floats = NDArray[np.float64]
FOLDS = 5


class Moments:
    """Loss, slope and curvature of the mean negative log likelihood of softmax(u z), summed on the device."""

    def __init__(self, logits: Tensor, labels: Tensor, weight: Tensor) -> None:
        self.z = logits - logits.max(dim=1, keepdim=True).values
        self.own = self.z.gather(1, labels[:, None])[:, 0]
        self.weight = weight

    def __call__(self, u: float) -> tuple[float, float, float]:
        found = self.z.new_zeros(3)
        for part in blocks(*self.z.shape):
            z, own, weight = self.z[part], self.own[part], self.weight[part]
            power = torch.exp(u * z)
            total = power.sum(dim=1)
            first = (power * z).sum(dim=1) / total
            second = (power * z * z).sum(dim=1) / total
            each = torch.stack([torch.log(total) - u * own, first - own, second - first * first])
            found += each @ weight
        loss, slope, curvature = found.tolist()
        return loss, slope, curvature


def _likeliest_scale(logits: Tensor, labels: Tensor, weight: Tensor) -> float:
    moments = Moments(logits, labels, weight)
    if not bool(moments.own.any()) and bool(moments.z.any()):
        return MOST
    # The same Newton steps inside a bracket as for arrays; what they ask of the loss is only its value at u.
    return newton(moments, 1.0, 1e-6)  # type: ignore[arg-type]


def best_scale(rows: TrainingRows) -> float:
    """u = 1/T of least negative log likelihood, within [0.001, 1000], with a warning where it lies at a bound."""
    given = rows.logits, rows.labels, rows.weight
    return bounded(_likeliest_scale(*given), lambda: Moments(*given))  # type: ignore[arg-type,return-value]


class DeviceSoftmax(LinearSoftmax):
    """Mean negative log likelihood of softmax(W z + b) with its derivatives; arrays in and out, rows on their device."""

    z: Any
    labels: Any
    weight: Any

    def __init__(self, logits: Tensor, labels: Tensor, weight: Tensor) -> None:
        self.z, self.labels, self.weight = logits, labels, weight / weight.sum()
        self.n, self.k = logits.shape

    def part(self, kept: Tensor) -> DeviceSoftmax:
        """The same model on some of its rows."""
        return DeviceSoftmax(self.z[kept], self.labels[kept], self.weight[kept])

    def start(self) -> float:
        """A scale at which no row is all but certain of another class than its label: there a loss has no curvature."""
        return min(1.0, max(_likeliest_scale(self.z, self.labels, self.weight), LEAST))

    def _moved(self, matrix: Floats, bias: Floats) -> tuple[Tensor, Tensor]:
        def moved(values: Floats) -> Tensor:
            return torch.as_tensor(values).to(self.z)

        return moved(matrix), moved(bias)

    @staticmethod
    def _logits(z: Tensor, matrix: Tensor, bias: Tensor) -> Tensor:
        return (z @ matrix.T if matrix.ndim == 2 else z * matrix) + bias

    def __call__(self, matrix: Floats, bias: Floats) -> tuple[float, Floats, Floats]:
        """The loss, its gradient in the whole matrix, and in the bias; a vector is a diagonal matrix."""
        w, b = self._moved(matrix, bias)
        loss, slope, shift = self.z.new_zeros(()), torch.zeros_like(w), torch.zeros_like(b)
        for part in blocks(self.n, self.k):
            z, labels, weight = self.z[part], self.labels[part, None], self.weight[part]
            logs = torch.log_softmax(self._logits(z, w, b), dim=1)
            loss -= logs.gather(1, labels)[:, 0] @ weight
            surplus = torch.exp(logs) * weight[:, None]
            surplus.scatter_add_(1, labels, -weight[:, None])
            slope += surplus.T @ z if w.ndim == 2 else (surplus * z).sum(dim=0)
            shift += surplus.sum(dim=0)
        return float(loss), host(slope), host(shift)

    def diagonal_curvature(self, matrix: Floats, bias: Floats) -> Floats:
        """(2K, 2K) second derivatives of the loss in the factors and biases of a diagonal matrix."""
        w, b = self._moved(matrix, bias)
        k = self.k
        out = self.z.new_zeros((2 * k, 2 * k))
        for part in blocks(self.n, 4 * k):
            z, weight = self.z[part], self.weight[part, None]
            probs = torch.softmax(self._logits(z, w, b), dim=1)
            each = torch.cat([probs * z, probs], dim=1)
            out -= (each * weight).T @ each
            squares = (probs * weight * z * z).sum(dim=0), (probs * weight * z).sum(dim=0), (probs * weight).sum(dim=0)
            own = torch.arange(k, device=z.device)
            out[own, own] += squares[0]
            out[own, own + k] += squares[1]
            out[own + k, own] += squares[1]
            out[own + k, own + k] += squares[2]
        return host(out)

    def full_curvature(self, matrix: Floats, bias: Floats) -> Floats:
        """(K (K + 1), K (K + 1)) second derivatives; the parameters of a class are its row of the matrix, then its bias."""
        w, b = self._moved(matrix, bias)
        k, size = self.k, self.k + 1
        out = self.z.new_zeros((k * size, k * size))
        for part in blocks(self.n, 2 * k * size):
            z, weight = self.z[part], self.weight[part, None]
            probs = torch.softmax(self._logits(z, w, b), dim=1)
            features = torch.cat([z, torch.ones_like(weight)], dim=1)
            each = (probs[:, :, None] * features[:, None, :]).flatten(1)
            weighed = each * weight
            out -= weighed.T @ each
            for a in range(k):
                own = slice(a * size, (a + 1) * size)
                out[own, own] += weighed[:, own].T @ features
        return host(out)


def best_bias_corrected(rows: TrainingRows) -> tuple[float, Floats]:
    """The scale and the bias of softmax(u z + b); the bias of the first class is 0."""
    linear = DeviceSoftmax(rows.logits, rows.labels, rows.weight)
    return bias_corrected(linear, linear.start())


def best_vector(rows: TrainingRows) -> tuple[Floats, Floats]:
    """The factors and the bias of softmax(w * z + b); the bias of the first class is 0."""
    linear = DeviceSoftmax(rows.logits, rows.labels, rows.weight)
    k = linear.k
    kept = np.arange(2 * k) != k

    def loss(x: Floats) -> tuple[float, Floats, Floats]:
        bias = np.append(0.0, x[k:])
        value, slope, shift = linear(x[:k], bias)
        return value, np.append(slope, shift[1:]), linear.diagonal_curvature(x[:k], bias)[np.ix_(kept, kept)]

    x = by_newton(loss, np.append(np.full(k, linear.start()), np.zeros(k - 1)))
    return x[:k], np.append(0.0, x[k:])


def best_matrix(
    linear: DeviceSoftmax, off_diagonal: float | None, intercept: float | None
) -> tuple[Floats, Floats, float]:
    """The matrix and the bias of softmax(W z + b) under the penalty, and the penalty."""
    strength = _chosen_penalty(linear) if off_diagonal is None else float(off_diagonal)
    price = strength if intercept is None else float(intercept)
    matrix, bias = _solved(linear, strength, price)
    return matrix, bias, strength


def _solved(
    linear: DeviceSoftmax, strength: float, intercept: float, start: Floats | None = None, gradient: float = 1e-9
) -> tuple[Floats, Floats]:
    k = linear.k
    at = np.column_stack([linear.start() * np.eye(k), np.zeros(k)]) if start is None else start
    return MatrixScaling()._solved(linear, strength, intercept, at, gradient)


def _chosen_penalty(linear: DeviceSoftmax) -> float:
    """The penalty of least held-out loss, in the same folds as the map for arrays."""
    if linear.n < 2 * FOLDS:
        return 1.0
    fold = torch.as_tensor(np.random.default_rng(0).permutation(linear.n) % FOLDS, device=linear.z.device)
    strengths = 10.0 ** np.arange(2, -4, -1)  # from the stiffest on, each fit starts from the last
    losses = np.zeros(len(strengths))
    for held in range(FOLDS):
        train, test = linear.part(fold != held), linear.part(fold == held)
        share = float(linear.weight[fold == held].sum())
        start = None
        for place, strength in enumerate(strengths):
            matrix, bias = _solved(train, float(strength), float(strength), start, 1e-5)
            losses[place] += share * test(matrix, bias)[0]
            start = np.column_stack([matrix, bias])
    best = np.flatnonzero(losses == losses.min())[-1]  # of equal ones the smallest penalty
    return float(strengths[best])

"""Minimization of losses whose rows stay on their device: only parameters, sums and small matrices are copied to the solvers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..recalibration.softmax_regression import MOST, LinearSoftmax, best_penalty, bounded, newton
from .rows import TrainingRows, blocks, host

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
    # The same bracketed Newton method as for arrays; it needs only the value and derivatives at u.
    return newton(moments, 1.0, 1e-6)  # type: ignore[arg-type]


def best_scale(rows: TrainingRows) -> float:
    """u = 1/T of least negative log-likelihood in [0.001, 1000], with a warning at a bound."""
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

    def likeliest_scale(self) -> float:
        """u of least negative log-likelihood of softmax(u z)."""
        return _likeliest_scale(self.z, self.labels, self.weight)

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

    def diagonal(self, factor: Floats, bias: Floats) -> tuple[float, Floats, Floats, Floats]:
        """The loss, its gradients and its second derivatives in the factors and biases of a diagonal matrix."""
        return *self(factor, bias), self.diagonal_curvature(factor, bias)

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


def chosen_penalty(linear: DeviceSoftmax) -> float:
    """The penalty of a matrix with the least loss in five-fold cross-validation."""
    if linear.n < 2 * FOLDS:
        return 1.0
    fold = torch.as_tensor(np.random.default_rng(0).permutation(linear.n) % FOLDS, device=linear.z.device)
    return best_penalty(
        (linear.part(fold != held), linear.part(fold == held), float(linear.weight[fold == held].sum()))
        for held in range(FOLDS)
    )

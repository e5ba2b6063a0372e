"""Maps that scale logits: temperature, bias-corrected temperature, vector, matrix, Dirichlet, and an ensemble of temperatures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError
from ..input.convert import is_number
from .base import Calibrator, Input, Method
from .scores import SMALLEST, Scores, TrainingData, dealt, order_of_content
from .softmax_regression import (
    LinearSoftmax,
    best_matrix,
    best_penalty,
    best_scale,
    best_vector,
    bias_corrected,
    searched_scale,
    softmax,
    some_rows,
)

__all__ = [
    "BiasCorrectedTemperature",
    "DirichletCalibration",
    "EnsembleTemperature",
    "MatrixScaling",
    "TemperatureScaling",
    "VectorScaling",
]

Floats = NDArray[np.float64]

# What an ensemble leaves at least to parts that tell the classes apart.
LEAST_SHARE = 1e-9


@dataclass(eq=False, repr=False)
class TemperatureScaling(Calibrator):
    """softmax(logits / T): one number for how sure to be (Guo et al. 2017).

    Parameters
    ----------
    input
        What the scores are; logits of probabilities are their logarithms.
    objective
        What the temperature minimises: ``"nll"`` or ``"brier"``. ``"ecd"`` makes the entropic calibration difference 0, which is where
        the negative log likelihood is least: the one is the slope of the other.
    """

    methods = (Method("temperature", candidate={"binary": (0, 0), "multiclass": (0, 0)}),)
    keeps_order = True
    keeps_argmax = True
    treats_classes_alike = True
    fitted = ("temperature_",)

    least_probability = SMALLEST

    input: Input = "prob"
    objective: Literal["nll", "brier", "ecd"] = "nll"

    def _fit(self, data: TrainingData) -> None:
        scale = searched_scale(data) if self.objective == "brier" else best_scale(data)
        self.temperature_ = 1 / scale

    def _predict(self, data: Scores) -> Floats:
        return softmax(data.logits / self.temperature_)


@dataclass(eq=False, repr=False)
class BiasCorrectedTemperature(Calibrator):
    """softmax(logits / T + b): a temperature and one bias for each class (Alexandari et al. 2020)."""

    methods = (Method("bias_corrected_temperature", "bias-corrected temperature", {"multiclass": (0, 20)}),)
    fitted = ("temperature_", "bias_")

    least_probability = SMALLEST

    input: Input = "prob"

    def _fit(self, data: TrainingData) -> None:
        self._warn_of_absent(data)
        scale, self.bias_ = bias_corrected(LinearSoftmax(data))
        self.temperature_ = 1 / scale

    def _predict(self, data: Scores) -> Floats:
        return softmax(data.logits / self.temperature_ + self.bias_)


@dataclass(eq=False, repr=False)
class VectorScaling(Calibrator):
    """softmax(w * logits + b): one factor and one bias for each class (Guo et al. 2017)."""

    methods = (Method("vector", "vector scaling", {"multiclass": (0, 100)}),)
    fitted = ("weight_", "bias_")

    least_probability = SMALLEST

    input: Input = "prob"

    def _fit(self, data: TrainingData) -> None:
        self._warn_of_absent(data)
        self.weight_, self.bias_ = best_vector(LinearSoftmax(data))

    def _predict(self, data: Scores) -> Floats:
        return softmax(data.logits * self.weight_ + self.bias_)


@dataclass(eq=False, repr=False)
class MatrixScaling(Calibrator):
    """softmax(W logits + b), with a penalty on what is off the diagonal and on the bias (Guo et al. 2017; Kull et al. 2019).

    Parameters
    ----------
    input
        What the scores are.
    off_diagonal, intercept
        Weights of the penalties on squared entries off the diagonal and on squared biases; None chooses one number for both by
        five-fold cross-validation of the negative log likelihood from 0.001, 0.01, ..., 100.
    """

    methods = (Method("matrix"),)
    fitted = ("matrix_", "bias_", "penalty_")

    least_probability = SMALLEST

    input: Input = "prob"
    off_diagonal: float | None = None
    intercept: float | None = None

    def _check_params(self) -> None:
        super()._check_params()
        for name in ("off_diagonal", "intercept"):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and 0 <= value < math.inf):
                raise ArgumentError(name, f"must be None or a non-negative number; got {value!r}")

    def _features(self, data: Scores) -> Floats:
        return data.logits

    def _fit(self, data: TrainingData) -> None:
        self._warn_of_absent(data)
        strength = self.off_diagonal
        if strength is None:
            strength = self._chosen_penalty(data)
        intercept = strength if self.intercept is None else self.intercept
        self.penalty_ = float(strength)
        self.matrix_, self.bias_ = best_matrix(self._linear(data), float(strength), float(intercept))

    def _linear(self, data: TrainingData) -> LinearSoftmax:
        linear = LinearSoftmax(data)
        linear.z = self._features(data)
        return linear

    def _chosen_penalty(self, data: TrainingData, folds: int = 5) -> float:
        """The penalty of least held-out loss; the folds, and the order of the rows in them, come from what the rows hold."""
        if (data.weight.sum() if data.counted else data.n) < 2 * folds:
            return 1.0
        order, whole = order_of_content(data), self._linear(data)
        return best_penalty(
            (
                some_rows(whole, order, data.weight - left_out),
                some_rows(whole, order, left_out),
                float(left_out.sum() / data.weight.sum()),
            )
            for left_out in dealt(data, order, np.full(folds, 1 / folds))
        )

    def _predict(self, data: Scores) -> Floats:
        return softmax(self._features(data) @ self.matrix_.T + self.bias_)


class DirichletCalibration(MatrixScaling):
    """softmax(W ln p + b) with the off-diagonal and intercept penalty (Kull et al. 2019)."""

    methods = (Method("dirichlet"),)

    def _features(self, data: Scores) -> Floats:
        if data._p.logits is None:
            return data.logits
        shifted = data.logits - data.logits.max(axis=1, keepdims=True)
        return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


@dataclass(eq=False, repr=False)
class EnsembleTemperature(Calibrator):
    """A mixture of the tempered, the given and the uniform distribution, weighed by Brier score (Zhang et al. 2020)."""

    methods = (Method("ensemble_temperature", candidate={"multiclass": (0, 20)}),)
    keeps_order = True
    keeps_argmax = True
    treats_classes_alike = True
    fitted = ("temperature_", "mixture_")

    input: Input = "prob"

    def _fit(self, data: TrainingData) -> None:
        self.temperature_ = 1 / searched_scale(data)
        parts = self._parts(data)
        target = np.zeros((data.n, data.k))
        target[np.arange(data.n), data.labels] = 1
        weight = data.weight / data.weight.sum()
        # The Brier score is a quadratic form in the mixture.
        gram = np.einsum("aik,bik,i->ab", parts, parts, weight)
        linear = np.einsum("aik,ik,i->a", parts, target, weight)
        self.mixture_ = _on_simplex(gram, linear)

    def _parts(self, data: Scores) -> Floats:
        return np.array([softmax(data.logits / self.temperature_), data.probs, np.full(data.probs.shape, 1 / data.k)])

    def _predict(self, data: Scores) -> Floats:
        return np.asarray(np.einsum("a,aik->ik", self.mixture_, self._parts(data)))


def _on_simplex(gram: Floats, linear: Floats) -> Floats:
    """min x'Gx/2 - l'x over the simplex, by trying every set of positive entries."""
    best, best_loss = np.array([1.0, 0.0, 0.0]), math.inf
    for keep in ([0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]):
        size = len(keep)
        system = np.zeros((size + 1, size + 1))
        system[:size, :size] = gram[np.ix_(keep, keep)]
        system[size, :size] = system[:size, size] = 1
        found = np.linalg.lstsq(system, np.append(linear[keep], 1.0), rcond=None)[0][:size]
        x = np.zeros(3)
        x[keep] = found
        loss = float(x @ gram @ x / 2 - linear @ x)
        if (found >= -1e-12).all() and loss < best_loss - 1e-13:
            best, best_loss = np.maximum(x, 0), loss
    best = best / best.sum()
    # The uniform distribution alone would make a tie of every row.
    best[1] += max(LEAST_SHARE - best[0] - best[1], 0.0)
    return np.asarray(best / best.sum())

"""Maps that scale logits: temperature, bias-corrected temperature, vector, matrix, Dirichlet, and an ensemble of temperatures."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._blocks import map_blocks, rows_per_block
from ..errors import ArgumentError, warn_caller
from .base import CalibrationMap, Input, Scores, TrainingData
from .solving import LinearSoftmax, by_newton, minimised, softmax, some_rows

__all__ = [
    "BiasCorrectedTemperature",
    "DirichletCalibration",
    "EnsembleTemperature",
    "MatrixScaling",
    "TemperatureScaling",
    "VectorScaling",
]

Floats = NDArray[np.float64]

# 1/T is kept within these bounds: beyond them nothing changes that a double could show.
LEAST, MOST = 1e-3, 1e3
# Up to this many classes a matrix is found by Newton steps, whose curvature has K^4 entries.
NEWTON_CLASSES = 20
# What an ensemble leaves at least to parts that tell the classes apart.
LEAST_SHARE = 1e-9
# Enough rows to start near the optimum of all of them.
WARM_ROWS = 10_000


class TemperatureScaling(CalibrationMap):
    """softmax(logits / T): one number for how sure to be (Guo et al. 2017).

    Parameters
    ----------
    input
        What the scores are; logits of probabilities are their logarithms.
    objective
        What the temperature minimises: ``"nll"`` or ``"brier"``. ``"ecd"`` makes the entropic calibration difference 0, which is where
        the negative log likelihood is least: the one is the slope of the other.
    """

    keeps_order = True
    keeps_argmax = True
    fitted = ("temperature_",)

    def __init__(self, input: Input = "prob", objective: Literal["nll", "brier", "ecd"] = "nll") -> None:
        self.input = input
        self.objective = objective

    def _check_params(self) -> None:
        super()._check_params()
        if self.objective not in ("nll", "brier", "ecd"):
            raise ArgumentError("objective", f"must be 'nll', 'brier' or 'ecd'; got {self.objective!r}")

    def _fit(self, data: TrainingData) -> None:
        scale = _searched_scale(data) if self.objective == "brier" else best_scale(data)
        self.temperature_ = 1 / scale

    def _predict(self, data: Scores) -> Floats:
        return softmax(data.logits / self.temperature_)


class _Moments:
    """Loss, slope and curvature of the mean negative log likelihood of softmax(u z)."""

    def __init__(self, logits: Floats, labels: NDArray[Any], weight: Floats) -> None:
        self.z = logits - logits.max(axis=1, keepdims=True)
        self.own = self.z[np.arange(len(labels)), labels]
        self.weight = weight / weight.sum()

    def __call__(self, u: float) -> tuple[float, float, float]:
        def work(start: int, stop: int) -> tuple[float, float, float]:
            z, weight = self.z[start:stop], self.weight[start:stop]
            with np.errstate(under="ignore"):
                power = np.exp(u * z)
            total = power.sum(axis=1)
            first = np.einsum("ij,ij->i", power, z) / total
            power *= z
            second = np.einsum("ij,ij->i", power, z) / total
            own = self.own[start:stop]
            # Not `@`: the threads that the linear algebra library starts for a product this short wait longer than they work.
            return (
                float(np.einsum("i,i->", weight, np.log(total) - u * own)),
                float(np.einsum("i,i->", weight, first - own)),
                float(np.einsum("i,i->", weight, second - first * first)),
            )

        parts = map_blocks(work, len(self.z), rows_per_block(self.z.shape[1]), columns=self.z.shape[1])
        return tuple(math.fsum(column) for column in zip(*parts, strict=True))  # type: ignore[return-value]


def best_scale(data: TrainingData) -> float:
    """u = 1/T of least negative log likelihood, with a warning where it lies at a bound."""
    return _bounded(_likeliest_scale(data.logits, data.labels, data.weight))


def safe_start(linear: LinearSoftmax) -> float:
    """A scale to start from at which no row is all but certain of another class than its label: there a loss has no curvature."""
    return min(1.0, max(_likeliest_scale(linear.z, linear.labels, linear.weight), LEAST))


def _likeliest_scale(logits: Floats, labels: NDArray[Any], weight: Floats) -> float:
    """The loss is convex in u: Newton steps kept inside a bracket."""
    moments = _Moments(logits, labels, weight)
    if not moments.own.any() and moments.z.any():
        return MOST
    start = 1.0
    if len(labels) > 4 * WARM_ROWS:
        step = len(labels) // WARM_ROWS
        start = _newton(_Moments(logits[::step], labels[::step], weight[::step]), 1.0, 1e-3)
    return _newton(moments, start, 1e-6)


def _newton(moments: _Moments, start: float, tolerance: float) -> float:
    """The last step is shorter than `tolerance`, so what is left is of the order of its square."""
    low, high, u = LEAST, MOST, start
    for _ in range(100):
        _, slope, curvature = moments(u)
        if slope == 0 and curvature == 0:  # logits that differ nowhere: any temperature is as good
            return 1.0
        low, high = (u, high) if slope < 0 else (low, u)
        # In ln u, where the step is as safe for small u as for large.
        bend = u * u * curvature + u * slope
        step = math.exp(min(max(-u * slope / bend, -2.0), 2.0)) if bend > 0 else (2.0 if slope < 0 else 0.5)
        new = u * step
        if not low < new < high:
            new = math.sqrt(low * high)
        if abs(new / u - 1) < tolerance:
            return new
        u = new
    return u


def _bounded(u: float) -> float:
    if u > MOST * 0.999:
        _warn("every label has the largest logit of its row, so the best temperature is 0", 1 / MOST)
    elif u < LEAST * 1.001:
        _warn("the logits say less than nothing about the labels, so the best temperature is infinite", 1 / LEAST)
    return min(max(u, LEAST), MOST)


def _warn(why: str, used: float) -> None:
    warn_caller(f"{why}; {used:g} is used")


def _searched_scale(data: TrainingData) -> float:
    """The scale of least Brier score, by Brent's search in ln u."""
    from scipy.optimize import minimize_scalar

    logits, labels = data.logits, data.labels
    weight = data.weight / data.weight.sum()
    rows = np.arange(data.n)

    def loss(t: float) -> float:
        probs = softmax(math.exp(t) * logits)
        return float(weight @ (np.square(probs).sum(axis=1) - 2 * probs[rows, labels] + 1))

    grid = np.linspace(math.log(LEAST), math.log(MOST), 41)
    tried = [loss(t) for t in grid]
    if min(tried) < 1e-12:  # nothing is left to gain, and more of the same would still help
        return _bounded(MOST)
    best = int(np.argmin(tried))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, 40)]
    found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-10})
    return _bounded(math.exp(float(found.x)))


class BiasCorrectedTemperature(CalibrationMap):
    """softmax(logits / T + b): a temperature and one bias for each class (Alexandari et al. 2020)."""

    fitted = ("temperature_", "bias_")

    def __init__(self, input: Input = "prob") -> None:
        self.input = input

    def _fit(self, data: TrainingData) -> None:
        self._warn_of_absent(data)
        linear = LinearSoftmax(data)
        k = linear.k
        # The factors of all classes are one, and the bias of the first class is 0.
        lift = np.zeros((2 * k, k))
        lift[:k, 0] = 1
        lift[k + 1 :, 1:] = np.eye(k - 1)

        def loss(x: Floats) -> tuple[float, Floats, Floats]:
            whole = lift @ x
            value, slope, shift = linear(whole[:k], whole[k:])
            curvature = linear.diagonal_curvature(whole[:k], whole[k:])
            return value, np.concatenate([slope, shift]) @ lift, lift.T @ curvature @ lift

        x = by_newton(loss, np.append(safe_start(linear), np.zeros(k - 1)))
        if x[0] < LEAST or x[0] > MOST:
            _bounded(float(x[0]))
        self.temperature_, self.bias_ = 1 / min(max(float(x[0]), LEAST), MOST), np.append(0.0, x[1:])

    def _predict(self, data: Scores) -> Floats:
        return softmax(data.logits / self.temperature_ + self.bias_)


class VectorScaling(CalibrationMap):
    """softmax(w * logits + b): one factor and one bias for each class (Guo et al. 2017)."""

    fitted = ("weight_", "bias_")

    def __init__(self, input: Input = "prob") -> None:
        self.input = input

    def _fit(self, data: TrainingData) -> None:
        self._warn_of_absent(data)
        linear = LinearSoftmax(data)
        k = linear.k

        kept = np.arange(2 * k) != k  # the bias of the first class is 0

        def loss(x: Floats) -> tuple[float, Floats, Floats]:
            bias = np.append(0.0, x[k:])
            value, slope, shift = linear(x[:k], bias)
            return value, np.append(slope, shift[1:]), linear.diagonal_curvature(x[:k], bias)[np.ix_(kept, kept)]

        x = by_newton(loss, np.append(np.full(k, safe_start(linear)), np.zeros(k - 1)))
        self.weight_, self.bias_ = x[:k], np.append(0.0, x[k:])

    def _predict(self, data: Scores) -> Floats:
        return softmax(data.logits * self.weight_ + self.bias_)


class MatrixScaling(CalibrationMap):
    """softmax(W logits + b), with a penalty on what is off the diagonal and on the bias (Guo et al. 2017; Kull et al. 2019).

    Parameters
    ----------
    input
        What the scores are.
    off_diagonal, intercept
        Weights of the penalties on squared entries off the diagonal and on squared biases; None chooses one number for both by
        five-fold cross-validation of the negative log likelihood from 0.001, 0.01, ..., 100.
    """

    fitted = ("matrix_", "bias_", "penalty_")

    def __init__(
        self, input: Input = "prob", off_diagonal: float | None = None, intercept: float | None = None
    ) -> None:
        self.input = input
        self.off_diagonal = off_diagonal
        self.intercept = intercept

    def _check_params(self) -> None:
        super()._check_params()
        for name in ("off_diagonal", "intercept"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, (int, float)) and 0 <= value < math.inf):
                raise ArgumentError(name, f"must be None or a number from 0 up; got {value!r}")

    def _features(self, data: Scores) -> Floats:
        return data.logits

    def _fit(self, data: TrainingData) -> None:
        self._warn_of_absent(data)
        strength = self.off_diagonal
        if strength is None:
            strength = self._chosen_penalty(data)
        intercept = strength if self.intercept is None else self.intercept
        self.penalty_ = float(strength)
        self.matrix_, self.bias_ = self._solved(self._linear(data), float(strength), float(intercept))

    def _linear(self, data: TrainingData) -> LinearSoftmax:
        linear = LinearSoftmax(data)
        linear.z = self._features(data)
        return linear

    def _solved(
        self,
        linear: LinearSoftmax,
        strength: float,
        intercept: float,
        start: Floats | None = None,
        gradient: float = 1e-9,
    ) -> tuple[Floats, Floats]:
        """The matrix and the bias; `start` is (K, K + 1), the bias in its last column."""
        k = linear.k
        # Half the price of each parameter, squared.
        price = np.full((k, k + 1), strength / (k * (k - 1)))
        price[np.arange(k), np.arange(k)] = 0
        price[:, k] = intercept / k
        at = np.column_stack([safe_start(linear) * np.eye(k), np.zeros(k)]) if start is None else start

        def first(x: Floats) -> tuple[float, Floats]:
            theta = x.reshape(k, k + 1)
            value, slope, shift = linear(theta[:, :k], theta[:, k])
            whole = np.column_stack([slope, shift]) + 2 * price * theta
            return value + float((price * theta**2).sum()), whole.ravel()

        def second(x: Floats) -> tuple[float, Floats, Floats]:
            theta = x.reshape(k, k + 1)
            curvature = linear.full_curvature(theta[:, :k], theta[:, k])
            return *first(x), curvature + np.diag(2 * price.ravel())

        newton = k <= NEWTON_CLASSES
        x = by_newton(second, at.ravel(), gradient**1.5) if newton else minimised(first, at.ravel(), gradient)
        theta = x.reshape(k, k + 1)
        return np.ascontiguousarray(theta[:, :k]), theta[:, k].copy()

    def _chosen_penalty(self, data: TrainingData, folds: int = 5) -> float:
        """The penalty of least held-out loss; folds take every fifth row in a fixed shuffle."""
        if data.n < 2 * folds:
            return 1.0
        fold = np.random.default_rng(0).permutation(data.n) % folds
        whole = self._linear(data)
        strengths = 10.0 ** np.arange(2, -4, -1)  # from the stiffest on, each fit starts from the last
        losses = np.zeros(len(strengths))
        for held in range(folds):
            train, test = some_rows(whole, fold != held), some_rows(whole, fold == held)
            share = float(whole.weight[fold == held].sum())
            start = None
            for place, strength in enumerate(strengths):
                matrix, bias = self._solved(train, strength, strength, start, 1e-5)
                losses[place] += share * test(matrix, bias)[0]
                start = np.column_stack([matrix, bias])
        best = np.flatnonzero(losses == losses.min())[-1]  # of equal ones the smallest penalty
        return float(strengths[best])

    def _predict(self, data: Scores) -> Floats:
        return softmax(self._features(data) @ self.matrix_.T + self.bias_)


class DirichletCalibration(MatrixScaling):
    """softmax(W ln p + b) with the off-diagonal and intercept penalty (Kull et al. 2019)."""

    def _features(self, data: Scores) -> Floats:
        if data._p.logits is None:
            return data.logits
        shifted = data.logits - data.logits.max(axis=1, keepdims=True)
        return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


class EnsembleTemperature(CalibrationMap):
    """A mixture of the tempered, the given and the uniform distribution, weighed by Brier score (Zhang et al. 2020)."""

    keeps_order = True
    keeps_argmax = True
    fitted = ("temperature_", "mixture_")

    def __init__(self, input: Input = "prob") -> None:
        self.input = input

    def _fit(self, data: TrainingData) -> None:
        self.temperature_ = 1 / _searched_scale(data)
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

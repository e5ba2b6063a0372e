"""Calibrators that scale logits: temperature, bias-corrected temperature, vector, matrix and Dirichlet, and ensemble temperature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..util.arrays import Floats
from ..util.checks import check_number
from . import formulas
from .base import Calibrator, Input, Method
from .coefficients import LinearLogits
from .formulas import Formula, ScoreFormulas
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
)

# Smallest total share of the two components of an ensemble that distinguish the classes.
LEAST_SHARE = 1e-9


@dataclass(eq=False, repr=False)
class TemperatureScaling(LinearLogits, Calibrator):
    r"""Temperature scaling: all logits are divided by one positive number.

    The temperature corrects overconfidence (:math:`T > 1`) or underconfidence (:math:`T < 1`) and leaves the predicted class and the
    ranking of the classes unchanged. With its single parameter it needs few rows and is the first method to try for a neural network.

    Parameters
    ----------
    input
    objective : {"nll", "brier", "ecd"}, default "nll"
        Criterion of the fit: least negative log-likelihood, least Brier score, or an entropic calibration difference of 0. The latter
        is the derivative of the negative log-likelihood, so ``"nll"`` and ``"ecd"`` give the same temperature.

    Attributes
    ----------
    temperature_ : float
        Fitted temperature, between 0.001 and 1000.
    coef_
    intercept_
    classes_
    fit_record_

    See Also
    --------
    BiasCorrectedTemperature : Temperature and one bias per class.
    VectorScaling : One factor and one bias per class.
    EnsembleTemperature : Mixture of tempered, original and uniform probabilities.

    Notes
    -----
    For logits :math:`z`, or :math:`z = \ln p` for probabilities, the calibrated probabilities are

    .. math:: q = \operatorname{softmax}(z / T).

    The negative log-likelihood is convex in :math:`1/T` and is minimized by Newton's method.

    References
    ----------
    .. [1] Guo, C., Pleiss, G., Sun, Y., Weinberger, K. Q. (2017). On calibration of modern neural networks. ICML.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), rng=0)
    >>> calibrator = cal.TemperatureScaling().fit(data.y_prob, data.y_true)
    >>> round(calibrator.temperature_, 2)
    1.83
    >>> calibrator.predict_proba([0.9]).round(3)
    array([[0.232, 0.768]])
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
        scale = searched_scale(data) if self.objective == "brier" else best_scale(*data.arrays)
        self.temperature_ = 1 / scale

    def _linear_part(self) -> tuple[Any, Any]:
        return 1 / self.temperature_, 0.0

    def _predict(self, data: Scores) -> Floats:
        return softmax(data.logits / self.temperature_)

    def _slopes(self, data: Scores) -> Floats | None:
        return data.logits[:, :, None] if self.objective == "nll" else None


@dataclass(eq=False, repr=False)
class BiasCorrectedTemperature(LinearLogits, Calibrator):
    r"""Bias-corrected temperature scaling: one temperature and one bias per class.

    The biases correct the mean predicted probability of each class, as needed under a shift of the class prevalences.

    Parameters
    ----------
    input

    Attributes
    ----------
    temperature_ : float
        Fitted temperature, between 0.001 and 1000.
    bias_ : ndarray of shape (K,)
        Fitted bias of each class; that of the first class is 0.
    coef_
    intercept_
    classes_
    fit_record_

    See Also
    --------
    TemperatureScaling : One temperature, without biases.
    VectorScaling : One factor and one bias per class.

    Notes
    -----
    For logits :math:`z`, or :math:`z = \ln p` for probabilities,

    .. math:: q = \operatorname{softmax}(z / T + b),

    where :math:`T` and :math:`b` are estimated by maximum likelihood.

    References
    ----------
    .. [1] Alexandari, A., Kundaje, A., Shrikumar, A. (2020). Maximum likelihood with bias-corrected calibration is hard-to-beat at
       label shift adaptation. ICML.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), distribution=(1, 1, 1), rng=0)
    >>> calibrator = cal.BiasCorrectedTemperature().fit(data.y_prob, data.y_true)
    >>> round(calibrator.temperature_, 2), calibrator.bias_.round(2)
    (2.02, array([ 0.  ,  0.01, -0.07]))
    """

    methods = (Method("bias_corrected_temperature", "bias-corrected temperature", {"multiclass": (0, 20)}),)
    fitted = ("temperature_", "bias_")

    least_probability = SMALLEST

    input: Input = "prob"

    def _fit(self, data: TrainingData) -> None:
        self._warn_of_absent(data)
        scale, self.bias_ = bias_corrected(LinearSoftmax(*data.arrays))
        self.temperature_ = 1 / scale

    def _linear_part(self) -> tuple[Any, Any]:
        return 1 / self.temperature_, self.bias_

    def _predict(self, data: Scores) -> Floats:
        return softmax(data.logits / self.temperature_ + self.bias_)


@dataclass(eq=False, repr=False)
class VectorScaling(LinearLogits, Calibrator):
    r"""Vector scaling: one factor and one bias for the logit of each class.

    It corrects classes separately and may change the predicted class. It has 2K - 1 parameters, so it needs about a hundred rows per
    class.

    Parameters
    ----------
    input

    Attributes
    ----------
    weight_ : ndarray of shape (K,)
        Fitted factor of each class.
    bias_ : ndarray of shape (K,)
        Fitted bias of each class; that of the first class is 0.
    coef_
    intercept_
    classes_
    fit_record_

    See Also
    --------
    BiasCorrectedTemperature : One factor for all classes.
    MatrixScaling : A full matrix in place of the factors.

    Notes
    -----
    For logits :math:`z`, or :math:`z = \ln p` for probabilities,

    .. math:: q = \operatorname{softmax}(w \odot z + b),

    where :math:`w` and :math:`b` are estimated by maximum likelihood.

    References
    ----------
    .. [1] Guo, C., Pleiss, G., Sun, Y., Weinberger, K. Q. (2017). On calibration of modern neural networks. ICML.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), distribution=(1, 1, 1), rng=0)
    >>> calibrator = cal.VectorScaling().fit(data.y_prob, data.y_true)
    >>> calibrator.weight_.round(2), calibrator.bias_.round(2)
    (array([0.49, 0.45, 0.56]), array([ 0.  , -0.06,  0.02]))
    """

    methods = (Method("vector", "vector scaling", {"multiclass": (0, 100)}),)
    fitted = ("weight_", "bias_")

    least_probability = SMALLEST

    input: Input = "prob"

    def _fit(self, data: TrainingData) -> None:
        self._warn_of_absent(data)
        self.weight_, self.bias_ = best_vector(LinearSoftmax(*data.arrays))

    def _linear_part(self) -> tuple[Any, Any]:
        return self.weight_, self.bias_

    def _predict(self, data: Scores) -> Floats:
        return softmax(data.logits * self.weight_ + self.bias_)


@dataclass(eq=False, repr=False)
class MatrixScaling(LinearLogits, Calibrator):
    r"""Matrix scaling: a linear transformation of the logits, with off-diagonal and intercept regularization (ODIR).

    It also corrects confusions between classes. The number of parameters grows with the square of the number of classes, hence the
    penalties.

    Parameters
    ----------
    input
    off_diagonal : float, optional
        Weight of the penalty on the squared off-diagonal entries. None: chosen from 0.001, 0.01, ..., 100 by five-fold
        cross-validation of the negative log-likelihood; 1 with fewer than ten rows.
    intercept : float, optional
        Weight of the penalty on the squared biases. None: the weight of the off-diagonal penalty.

    Attributes
    ----------
    matrix_ : ndarray of shape (K, K)
        Fitted matrix.
    bias_ : ndarray of shape (K,)
        Fitted bias of each class.
    coef_
    intercept_
    penalty_ : float
        Weight of the off-diagonal penalty, given or chosen.
    classes_
    fit_record_

    See Also
    --------
    VectorScaling : A diagonal matrix.
    DirichletCalibration : The same on log-probabilities.

    Notes
    -----
    For logits :math:`z`, or :math:`z = \ln p` for probabilities,

    .. math:: q = \operatorname{softmax}(W z + b),

    where :math:`W` and :math:`b` minimize the mean negative log-likelihood plus

    .. math:: \frac{\lambda}{K (K - 1)} \sum_{j \ne k} W_{jk}^2 + \frac{\mu}{K} \sum_k b_k^2.

    References
    ----------
    .. [1] Guo, C., Pleiss, G., Sun, Y., Weinberger, K. Q. (2017). On calibration of modern neural networks. ICML.
    .. [2] Kull, M., Perello Nieto, M., Kängsepp, M., Silva Filho, T., Song, H., Flach, P. (2019). Beyond temperature scaling:
       obtaining well-calibrated multi-class probabilities with Dirichlet calibration. NeurIPS.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), distribution=(1, 1, 1), rng=0)
    >>> calibrator = cal.MatrixScaling().fit(data.y_prob, data.y_true)
    >>> calibrator.penalty_
    100.0
    >>> calibrator.matrix_.diagonal().round(2)
    array([0.49, 0.47, 0.54])
    """

    methods = (Method("matrix"),)
    fitted = ("matrix_", "bias_", "penalty_")
    checks = {"off_diagonal": check_number, "intercept": check_number}

    least_probability = SMALLEST

    input: Input = "prob"
    off_diagonal: float | None = None
    intercept: float | None = None

    def _features(self, logits: Any) -> Any:
        """What the matrix is applied to."""
        return logits

    def _fit(self, data: TrainingData) -> None:
        self._warn_of_absent(data)
        strength = self.off_diagonal
        if strength is None:
            strength = self._chosen_penalty(data)
        intercept = strength if self.intercept is None else self.intercept
        self.penalty_ = float(strength)
        self.matrix_, self.bias_ = best_matrix(self._linear(data), float(strength), float(intercept))

    def _linear(self, data: TrainingData) -> LinearSoftmax:
        logits, labels, weight = data.arrays
        return LinearSoftmax(self._features(logits), labels, weight)

    def _chosen_penalty(self, data: TrainingData, folds: int = 5) -> float:
        """The penalty of least cross-validated loss; folds depend on the content of the rows, not on their order."""
        if (data.weight.sum() if data.counted else data.n) < 2 * folds:
            return 1.0
        order, whole = order_of_content(data), self._linear(data)
        return best_penalty(
            (
                whole.part(order, data.weight - left_out),
                whole.part(order, left_out),
                float(left_out.sum() / data.weight.sum()),
            )
            for left_out in dealt(data, order, np.full(folds, 1 / folds))
        )

    def _linear_part(self) -> tuple[Any, Any]:
        return self.matrix_, self.bias_

    def _predict(self, data: Scores) -> Floats:
        return softmax(self._features(data.logits) @ self.matrix_.T + self.bias_)


class DirichletCalibration(MatrixScaling):
    r"""Dirichlet calibration: a linear transformation of the log-probabilities, with off-diagonal and intercept regularization.

    The multiclass generalization of beta calibration: it is exact if the probability vectors of each class follow a Dirichlet
    distribution.

    Parameters
    ----------
    input
    off_diagonal : float, optional
        Weight of the penalty on the squared off-diagonal entries. None: chosen from 0.001, 0.01, ..., 100 by five-fold
        cross-validation of the negative log-likelihood; 1 with fewer than ten rows.
    intercept : float, optional
        Weight of the penalty on the squared biases. None: the weight of the off-diagonal penalty.

    Attributes
    ----------
    matrix_ : ndarray of shape (K, K)
        Fitted matrix.
    bias_ : ndarray of shape (K,)
        Fitted bias of each class.
    coef_
    intercept_
    penalty_ : float
        Weight of the off-diagonal penalty, given or chosen.
    classes_
    fit_record_

    See Also
    --------
    MatrixScaling : The same on logits.
    BetaCalibration : The counterpart for two classes.

    Notes
    -----
    For probabilities :math:`p`, which are the softmax of the scores if these are logits,

    .. math:: q = \operatorname{softmax}(W \ln p + b),

    where :math:`W` and :math:`b` minimize the mean negative log-likelihood plus

    .. math:: \frac{\lambda}{K (K - 1)} \sum_{j \ne k} W_{jk}^2 + \frac{\mu}{K} \sum_k b_k^2.

    References
    ----------
    .. [1] Kull, M., Perello Nieto, M., Kängsepp, M., Silva Filho, T., Song, H., Flach, P. (2019). Beyond temperature scaling:
       obtaining well-calibrated multi-class probabilities with Dirichlet calibration. NeurIPS.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), distribution=(1, 1, 1), rng=0)
    >>> calibrator = cal.DirichletCalibration().fit(data.y_prob, data.y_true)
    >>> calibrator.predict_proba([[0.8, 0.1, 0.1]]).round(2)
    array([[0.59, 0.22, 0.19]])
    """

    methods = (Method("dirichlet"),)

    def _features(self, logits: Any) -> Any:
        if self.input == "prob":  # logarithms of probabilities
            return logits
        shifted = logits - logits.max(axis=1, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))

    def _formula(self, x: ScoreFormulas) -> Formula:
        z = x.logits if self.input == "prob" else x.logits - x.logits.largest()
        z = z if self.input == "prob" else z - formulas.log(formulas.exp(z).sum())
        return formulas.softmax(z.linear(self.matrix_) + self.bias_)


@dataclass(eq=False, repr=False)
class EnsembleTemperature(Calibrator):
    r"""Ensemble temperature scaling: a mixture of the tempered, the original and the uniform probabilities.

    More flexible than a temperature alone, and still order-preserving: the predicted class never changes.

    Parameters
    ----------
    input

    Attributes
    ----------
    temperature_ : float
        Fitted temperature, between 0.001 and 1000.
    mixture_ : ndarray of shape (3,)
        Weights of the tempered, the original and the uniform probabilities; they sum to 1.
    classes_
    fit_record_

    See Also
    --------
    TemperatureScaling : The first component alone.

    Notes
    -----
    For logits :math:`z`, or :math:`z = \ln p` for probabilities :math:`p`,

    .. math:: q = w_1 \operatorname{softmax}(z / T) + w_2 \, p + w_3 / K.

    :math:`T` minimizes the Brier score of the first component, then :math:`w` that of the mixture over the simplex.

    References
    ----------
    .. [1] Zhang, J., Kailkhura, B., Han, T. Y.-J. (2020). Mix-n-Match: ensemble and compositional methods for uncertainty calibration
       in deep learning. ICML.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), distribution=(1, 1, 1), rng=0)
    >>> calibrator = cal.EnsembleTemperature().fit(data.y_prob, data.y_true)
    >>> round(calibrator.temperature_, 2), calibrator.mixture_.round(2)
    (2.09, array([1., 0., 0.]))
    """

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

    def _formula(self, x: ScoreFormulas) -> Formula:
        tempered, own, uniform = self.mixture_
        return formulas.softmax(x.logits / self.temperature_) * tempered + x.probs * own + uniform / x.k


def _on_simplex(gram: Floats, linear: Floats) -> Floats:
    """Minimize x'Gx/2 - l'x over the simplex by enumerating the sets of positive entries."""
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
    # The uniform distribution alone would make all classes of a row equal.
    best[1] += max(LEAST_SHARE - best[0] - best[1], 0.0)
    return np.asarray(best / best.sum())

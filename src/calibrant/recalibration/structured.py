"""Structured scaling: matrix or vector scaling of tempered logits, with penalties that fall with the number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..util.arrays import Floats
from ..util.checks import check_number
from . import formulas
from .base import Calibrator, Input, Method
from .formulas import Formula, ScoreFormulas
from .scores import SMALLEST, Scores, TrainingData
from .softmax_regression import LinearSoftmax, best_scale, ridge_matrix, ridge_vector, softmax


@dataclass(eq=False, repr=False)
class StructuredScaling(Calibrator):
    r"""Structured scaling: temperature scaling, then a matrix close to the identity with penalties that fall with the number of rows.

    With few rows per class it is close to temperature scaling, with many to matrix scaling without penalties, so that nothing has to
    be chosen by cross-validation. A good first choice for three or more classes and any number of rows.

    Parameters
    ----------
    input
    form : {"matrix", "vector"}, default "matrix"
        Whether all entries of the matrix are fitted, or its diagonal alone: faster, for hundreds of classes.
    diagonal : float, default 1
        Factor of the penalty on the squared differences of the diagonal entries from 1.
    off_diagonal : float, default 1
        Factor of the penalty on the squared off-diagonal entries.
    intercept : float, default 1
        Factor of the penalty on the squared biases.

    Attributes
    ----------
    temperature_ : float
        Fitted temperature, between 0.001 and 1000.
    uniform_ : float
        Share of the uniform distribution that is mixed with the tempered probabilities.
    matrix_ : ndarray of shape (K, K), or (K,) for the form "vector"
        Fitted matrix, or its diagonal.
    bias_ : ndarray of shape (K,)
        Fitted bias of each class.
    classes_
    fit_record_

    See Also
    --------
    TemperatureScaling : The first step alone.
    MatrixScaling : A matrix whose penalty is chosen by cross-validation.

    Notes
    -----
    For logits :math:`z`, or :math:`z = \ln p` for probabilities, and n rows of K classes,

    .. math:: x = \ln\left(\tfrac{n}{n + 1} \operatorname{softmax}(z / T) + \tfrac{1}{(n + 1) K}\right), \quad q = \operatorname{softmax}(W x + b).

    :math:`T` is estimated by maximum likelihood, then :math:`W` and :math:`b` minimize the mean negative log-likelihood plus

    .. math:: \frac{K}{n} \sum_k (\lambda_d (W_{kk} - 1)^2 + \lambda_b b_k^2) + \frac{K (K - 1)}{n} \lambda_o \sum_{j \ne k} W_{jk}^2 .

    With importance weights, n is the effective sample size. The definition is that of version 2 of [1]_ and of the package probmetrics, where it is computed
    in single precision.

    References
    ----------
    .. [1] Berta, E., Holzmüller, D., Jordan, M. I., Bach, F. (2025). Structured matrix scaling for multi-class calibration.
       arXiv 2511.03685.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), distribution=(1, 1, 1), rng=0)
    >>> calibrator = cal.StructuredScaling().fit(data.y_prob, data.y_true)
    >>> round(calibrator.temperature_, 2), calibrator.matrix_.diagonal().round(2)
    (2.02, array([1.  , 0.93, 1.09]))
    """

    methods = (
        Method("structured", "structured matrix scaling", {"multiclass": (0, 5)}),
        Method("structured_vector", "structured vector scaling", {"multiclass": (0, 5)}, {"form": "vector"}),
    )
    fitted = ("temperature_", "uniform_", "matrix_", "bias_")
    checks = {"diagonal": check_number, "off_diagonal": check_number, "intercept": check_number}

    least_probability = SMALLEST

    input: Input = "prob"
    form: Literal["matrix", "vector"] = "matrix"
    diagonal: float = 1.0
    off_diagonal: float = 1.0
    intercept: float = 1.0

    def _fit(self, data: TrainingData) -> None:
        self._warn_of_absent(data)
        rows, k = float(data.effective_weight.sum()), data.k
        self.temperature_ = 1 / best_scale(*data.arrays)
        self.uniform_ = 1 / (rows + 1)
        linear = LinearSoftmax(self._tempered(data), data.labels, data.weight)
        diagonal, bias = np.full(k, self.diagonal * k / rows), np.full(k, self.intercept * k / rows)
        if self.form == "vector":
            self.matrix_, self.bias_ = ridge_vector(linear, diagonal, bias)
            return
        matrix = np.full((k, k), self.off_diagonal * k * (k - 1) / rows)
        np.fill_diagonal(matrix, diagonal)
        identity = np.eye(k, k + 1)
        self.matrix_, self.bias_ = ridge_matrix(linear, np.column_stack([matrix, bias]), identity, identity)

    def _tempered(self, data: Scores) -> Floats:
        """Logarithms of the tempered probabilities, of which none is close to 0."""
        tempered = softmax(data.logits / self.temperature_)
        return np.log((1 - self.uniform_) * tempered + self.uniform_ / data.k)

    def _predict(self, data: Scores) -> Floats:
        x = self._tempered(data)
        linear = x * self.matrix_ if self.form == "vector" else x @ self.matrix_.T
        return softmax(linear + self.bias_)

    def _formula(self, x: ScoreFormulas) -> Formula:
        tempered = formulas.softmax(x.logits / self.temperature_)
        logs = formulas.log(tempered * (1 - self.uniform_) + self.uniform_ / x.k)
        matrix = np.diag(self.matrix_) if self.form == "vector" else self.matrix_
        return formulas.softmax(logs.linear(matrix) + self.bias_)

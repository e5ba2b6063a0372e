"""Calibration of continuous estimates: whether errors agree with the stated covariance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ShapeError
from ..input.convert import numbers
from ..input.weights import read_weights
from ..util.arrays import Floats
from ..util.sums import accurate_sum
from ..views.keywords import documents_keywords

# A smaller eigenvalue of correlations, relative to the largest and the dimension, is a rounding error.
LEAST_EIGENVALUE = 10 * float(np.finfo(np.float64).eps)
# Parameters that the functions of continuous forecasts share, for their docstrings.
FORECASTS = {
    "x": ("array-like of shape (N,) or (N, d)", "True values."),
    "mean": ("array-like of shape (N,) or (N, d)", "Estimates."),
    "cov": (
        "array-like of shape (N,), (N, d), (N, d, d) or (d, d)",
        """Variance of each estimate in one dimension, its variances in d dimensions if errors are uncorrelated, or its covariance matrix;
one matrix of shape (d, d) applies to all rows, also if N = d.""",
    ),
    "log_density": (
        "array-like of shape (N,), or DensityForecast",
        "Natural logarithm of the density of each forecast at the observed value; or what `mixture_forecast` or `particle_forecast` returns.",
    ),
    "entropy": (
        "float or array-like of shape (N,), optional",
        "Differential entropy of each forecast in nats; one number applies to all rows. A DensityForecast has its own.",
    ),
    "sample_weight": ("array-like of shape (N,), optional", "Importance weight of each row; only ratios matter."),
    "counts": (
        "array-like of shape (N,), optional",
        "Number of identical rows that each row represents; excludes `sample_weight`.",
    ),
}
documents_forecasts = documents_keywords(table=FORECASTS)


@documents_forecasts
def nees(x: Any, mean: Any, cov: Any, *, sample_weight: Any = None, counts: Any = None) -> float:
    r"""Compute the normalised estimation error squared (NEES).

    Its expected value is the dimension if the covariances are correct; a larger value indicates overconfidence, a smaller one
    underconfidence. Use it to check the covariances of a filter or a regression model.

    Parameters
    ----------
    x
    mean
    cov
    sample_weight
    counts

    Returns
    -------
    float
        Mean of the normalised squared errors; the ideal value is the dimension `d`.

    Raises
    ------
    ShapeError
        If the shapes do not match.
    InputError
        If a value is not finite, or a covariance is not symmetric and positive definite.

    See Also
    --------
    ecd_gaussian : The same on the scale of the log score.

    Notes
    -----
    The value is [1]_

    .. math::

        \frac{1}{N} \sum_{i=1}^{N} (x_i - \mu_i)^{\top} C_i^{-1} (x_i - \mu_i)

    References
    ----------
    .. [1] Bar-Shalom, Li and Kirubarajan (2001): Estimation with applications to tracking and navigation.

    Examples
    --------
    >>> from calibrant.metrics import nees
    >>> nees([1, 2, 0], [0, 1, 1], [1, 4, 0.25])
    1.75
    """
    squared, _ = squared_errors(x, mean, cov)
    return _mean(squared, sample_weight, counts)


@documents_forecasts
def ecd_gaussian(x: Any, mean: Any, cov: Any, *, sample_weight: Any = None, counts: Any = None) -> float:
    r"""Compute the entropic calibration difference of Gaussian estimates.

    It is positive for overconfidence and negative for underconfidence.

    Parameters
    ----------
    x
    mean
    cov
    sample_weight
    counts

    Returns
    -------
    float
        Entropic calibration difference in nats; the ideal value is 0.

    Raises
    ------
    ShapeError
        If the shapes do not match.
    InputError
        If a value is not finite, or a covariance is not symmetric and positive definite.

    See Also
    --------
    nees : Normalised estimation error squared.
    ecd_density : Any density forecast.
    ecd : Classifiers.

    Notes
    -----
    The value is half of ``nees - d`` [1]_:

    .. math::

        \frac{1}{2 N} \sum_{i=1}^{N} \left[ (x_i - \mu_i)^{\top} C_i^{-1} (x_i - \mu_i) - d \right]

    References
    ----------
    .. [1] Sumler, Devlin, Maskell and Lane (2025): An entropic metric for measuring calibration of machine learning models,
       equations 7 to 10.

    Examples
    --------
    >>> from calibrant.metrics import ecd_gaussian
    >>> ecd_gaussian([1, 2, 0], [0, 1, 1], [1, 4, 0.25])
    0.375
    """
    squared, dimensions = squared_errors(x, mean, cov)
    return _mean((squared - dimensions) / 2, sample_weight, counts)


@documents_forecasts
def ecd_density(log_density: Any, entropy: Any = None, *, sample_weight: Any = None, counts: Any = None) -> float:
    r"""Compute the entropic calibration difference of density forecasts.

    It is positive for overconfidence and negative for underconfidence.

    Parameters
    ----------
    log_density
    entropy
    sample_weight
    counts

    Returns
    -------
    float
        Entropic calibration difference in nats; the ideal value is 0.

    Raises
    ------
    ShapeError
        If the shapes do not match.
    InputError
        If a value is not finite.

    See Also
    --------
    ecd_gaussian : Gaussian estimates.
    mixture_forecast : Entropy of mixtures of Gaussian distributions.
    particle_forecast : Entropy of sets of particles.
    ecd : Classifiers.

    Notes
    -----
    The value is the mean of the negative log density minus the entropy [1]_:

    .. math::

        \frac{1}{N} \sum_{i=1}^{N} \left[ -\ln f_i(x_i) - H(f_i) \right]

    References
    ----------
    .. [1] Sumler, Devlin, Maskell and Lane (2025): An entropic metric for measuring calibration of machine learning models,
       equation 7.

    Examples
    --------
    >>> from calibrant.metrics import ecd_density
    >>> ecd_density([-1.5, -2.5], 1.5)
    0.5
    """
    return _mean(excess_log_loss(log_density, entropy), sample_weight, counts)


def excess_log_loss(log_density: Any, entropy: Any) -> Floats:
    """Compute the negative log density minus the entropy of each row; infinite where the observed value has density 0."""
    if hasattr(log_density, "log_density") and entropy is None:
        log_density, entropy = log_density.log_density, log_density.entropy
    if entropy is None:
        raise ShapeError("entropy", "is required", "pass it, or the result of mixture_forecast or particle_forecast")
    density = floats(log_density, "log_density", finite=False)
    own = floats(entropy, "entropy")
    if density.ndim != 1:
        raise ShapeError("log_density", f"expected one number per row, got shape {density.shape}")
    if own.ndim and own.shape != density.shape:
        raise ShapeError("entropy", f"expected shape {density.shape} or one number, got shape {own.shape}")
    return np.asarray(-density - own)


def floats(value: Any, argument: str, finite: bool = True) -> Floats:
    """Return numbers as an array, each finite, or also minus infinity."""
    try:
        array = numbers(np.asarray(value), argument).astype(np.float64)
    except ValueError:
        raise ShapeError(argument, "rows differ in length", "give every row the same number of entries") from None
    if array.size == 0:
        raise ShapeError(argument, "is empty; at least one row is required")
    bad = ~np.isfinite(array) if finite else np.isnan(array) | (array == np.inf)
    if bad.any():
        row = int(np.argwhere(np.atleast_1d(bad))[0][0])
        value = np.atleast_1d(array)[np.atleast_1d(bad)][0]
        raise InputError(argument, f"values must be finite; got {value}", "drop or correct the row", row=row)
    return array


def squared_errors(x: Any, mean: Any, cov: Any) -> tuple[Floats, int]:
    """Compute the normalised squared error of each row by Cholesky factorisation, and return it with the dimension."""
    truth, estimate, spread = floats(x, "x"), floats(mean, "mean"), floats(cov, "cov")
    if truth.ndim not in (1, 2) or truth.shape != estimate.shape:
        raise ShapeError("mean", f"must have the shape of x, (N,) or (N, d); got {estimate.shape} and {truth.shape}")
    if truth.ndim == 1:
        truth, estimate = truth[:, None], estimate[:, None]
        spread = spread.reshape(-1, 1, 1) if spread.ndim <= 1 else spread
    n, d = truth.shape
    if spread.shape == (n, d) != (d, d):
        if (spread <= 0).any():
            bad, column = map(int, np.argwhere(spread <= 0)[0])
            problem = f"variances must be positive; got {spread[bad, column]:g}"
            raise InputError("cov", problem, "drop or correct the row", row=bad)
        with np.errstate(over="ignore"):
            return np.asarray((np.square((truth - estimate) / np.sqrt(spread))).sum(axis=1)), d
    if spread.ndim == 2:
        spread = spread[None]
    if spread.shape not in ((n, d, d), (1, d, d)):
        raise ShapeError(
            "cov",
            f"expected shape ({n}, {d}, {d}), one covariance per row, ({n}, {d}), variances, or ({d}, {d}); got {np.shape(cov)}",
        )
    # Rounding makes a covariance asymmetric by a fraction of the variances, however small the entry itself is.
    size = np.sqrt(np.abs(np.einsum("nii->ni", spread)))
    off = np.abs(spread - np.swapaxes(spread, 1, 2)) > 1e-8 * size[:, :, None] * size[:, None, :]
    remedy = "drop or correct the row"
    if np.ndim(cov) == 2 and n == d > 1:
        remedy = (
            f"the array of shape ({d}, {d}) was read as one covariance matrix for all rows; give variances of {d} rows of {d} dimensions as "
            f"diagonal matrices of shape ({d}, {d}, {d})"
        )
    if off.any():
        raise InputError("cov", "covariances must be symmetric", remedy, row=int(np.argwhere(off)[0][0]))
    root, definite = factor(spread)
    if not definite.all():
        raise InputError("cov", "covariances must be positive definite", remedy, row=int(definite.argmin()))
    with np.errstate(over="ignore"):
        whitened = np.linalg.solve(root, (truth - estimate)[..., None])[..., 0]
        return np.square(whitened).sum(axis=1), d


def factor(spread: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Compute the Cholesky factor of each covariance, and whether it is positive definite beyond rounding errors.

    The least eigenvalue of the correlations is compared with the largest, so that units have no effect; that of a singular matrix is rounded to
    either side of 0.
    """
    size = np.sqrt(np.maximum(np.einsum("nii->ni", spread), 0.0))
    scale = np.where(size > 0, size, 1.0)
    correlation = spread / scale[:, :, None] / scale[:, None, :]
    values = np.linalg.eigvalsh((correlation + np.swapaxes(correlation, 1, 2)) / 2)
    definite = (size > 0).all(axis=1) & (values[:, 0] > LEAST_EIGENVALUE * spread.shape[1] * values[:, -1])
    if not definite.all():
        return spread, np.asarray(definite)
    return scale[:, :, None] * np.linalg.cholesky(correlation), np.asarray(definite)


def _mean(values: Floats, sample_weight: Any, counts: Any) -> float:
    weight, _ = read_weights(sample_weight, counts, len(values))
    if weight is None:
        return accurate_sum(values) / len(values)
    kept = weight > 0  # a row of weight 0 contributes nothing, even if its value is infinite
    return accurate_sum(values[kept] * weight[kept]) / accurate_sum(weight[kept])

"""Calibration of continuous estimates: is the error as large as the stated covariance says?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ShapeError
from ..input.convert import numbers
from ..input.weights import read_weights
from ..util.sums import accurate_sum

__all__ = ["ecd_density", "ecd_gaussian", "nees"]

Floats = NDArray[np.float64]


def nees(x: Any, mean: Any, cov: Any, *, sample_weight: Any = None, counts: Any = None) -> float:
    """Normalised estimation error squared: mean of e' C^-1 e, the number of dimensions when the covariance is right.

    Larger is overconfident, smaller underconfident.

    Parameters
    ----------
    x, mean : array-like
        Truth and estimate: ``(N,)``, or ``(N, d)``.
    cov : array-like
        Variance of each estimate ``(N,)`` for one dimension, or covariance ``(N, d, d)``; ``(d, d)`` serves all rows.
    sample_weight, counts : array-like
        Importance of each row, or how many rows it stands for.

    References
    ----------
    Bar-Shalom, Li and Kirubarajan (2001): Estimation with applications to tracking and navigation.

    Examples
    --------
    >>> from calibrant import nees
    >>> nees([1, 2, 0], [0, 1, 1], [1, 4, 0.25])
    1.75
    """
    squared, _ = _squared_errors(x, mean, cov)
    return _mean(squared, sample_weight, counts)


def ecd_gaussian(x: Any, mean: Any, cov: Any, *, sample_weight: Any = None, counts: Any = None) -> float:
    """Entropic calibration difference of Gaussian estimates: half of (nees - d), positive for overconfidence.

    Parameters and weights as in `nees`.

    References
    ----------
    Sumler, Devlin, Maskell and Lane (2025): An entropic metric for measuring calibration of machine learning models, eq. 7-10.

    Examples
    --------
    >>> from calibrant import ecd_gaussian
    >>> ecd_gaussian([1, 2, 0], [0, 1, 1], [1, 4, 0.25])
    0.375
    """
    squared, dimensions = _squared_errors(x, mean, cov)
    return _mean((squared - dimensions) / 2, sample_weight, counts)


def ecd_density(log_density: Any, entropy: Any, *, sample_weight: Any = None, counts: Any = None) -> float:
    """Entropic calibration difference of any density forecast: mean of minus the log density of the truth, minus the entropy.

    Parameters
    ----------
    log_density : array-like
        Natural logarithm of each forecast's density at what happened.
    entropy : array-like
        Differential entropy of each forecast, in nats; one number serves all rows.

    References
    ----------
    Sumler, Devlin, Maskell and Lane (2025): An entropic metric for measuring calibration of machine learning models, eq. 7.

    Examples
    --------
    >>> from calibrant import ecd_density
    >>> ecd_density([-1.5, -2.5], 1.5)
    0.5
    """
    density = _floats(log_density, "log_density", finite=False)
    own = _floats(entropy, "entropy")
    if density.ndim != 1:
        raise ShapeError("log_density", f"expected one number per row, got shape {density.shape}")
    if own.ndim and own.shape != density.shape:
        raise ShapeError("entropy", f"expected shape {density.shape} or one number, got shape {own.shape}")
    return _mean(-density - own, sample_weight, counts)


def _floats(value: Any, argument: str, finite: bool = True) -> Floats:
    try:
        array = numbers(np.asarray(value), argument).astype(np.float64)
    except ValueError:
        raise ShapeError(argument, "rows differ in length", "give every row the same number of entries") from None
    if array.size == 0:
        raise ShapeError(argument, "is empty; at least one row is required")
    bad = ~np.isfinite(array) if finite else np.isnan(array) | (array == np.inf)
    if bad.any():
        row = int(np.argwhere(np.atleast_1d(bad))[0][0])
        raise InputError(argument, "values must be finite", "drop or correct the row", row=row)
    return array


def _squared_errors(x: Any, mean: Any, cov: Any) -> tuple[Floats, int]:
    """e' C^-1 e for each row by Cholesky, and the number of dimensions."""
    truth, estimate, spread = _floats(x, "x"), _floats(mean, "mean"), _floats(cov, "cov")
    if truth.ndim not in (1, 2) or truth.shape != estimate.shape:
        raise ShapeError(
            "mean", f"expected the shape of x, {truth.shape}; got {estimate.shape}", "both must be (N,) or (N, d)"
        )
    if truth.ndim == 1:
        truth, estimate = truth[:, None], estimate[:, None]
        spread = spread.reshape(-1, 1, 1) if spread.ndim <= 1 else spread
    n, d = truth.shape
    if spread.ndim == 2:
        spread = spread[None]
    if spread.shape not in ((n, d, d), (1, d, d)):
        raise ShapeError(
            "cov",
            f"expected shape ({n}, {d}, {d}), one covariance per row, or ({d}, {d}); got {np.shape(cov)}",
        )
    # Rounding leaves the two halves of a covariance apart by a part of the variances, however small the entry itself is.
    size = np.sqrt(np.abs(np.einsum("nii->ni", spread)))
    off = np.abs(spread - np.swapaxes(spread, 1, 2)) > 1e-8 * size[:, :, None] * size[:, None, :]
    if off.any():
        bad = int(np.argwhere(off)[0][0])
        raise InputError("cov", "covariances must be symmetric", row=bad)
    try:
        root = np.linalg.cholesky(spread)
    except np.linalg.LinAlgError:
        bad = next(row for row, matrix in enumerate(spread) if not _is_positive_definite(matrix))
        raise InputError("cov", "covariances must be positive definite", "drop or correct the row", row=bad) from None
    with np.errstate(over="ignore"):
        whitened = np.linalg.solve(root, (truth - estimate)[..., None])[..., 0]
        return np.square(whitened).sum(axis=1), d


def _is_positive_definite(matrix: Floats) -> bool:
    # The factorisation itself decides: the eigenvalues of a singular matrix may round to the other side of 0.
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def _mean(values: Floats, sample_weight: Any, counts: Any) -> float:
    weight, _ = read_weights(sample_weight, counts, len(values))
    if weight is None:
        return accurate_sum(values) / len(values)
    kept = weight > 0  # a row without weight counts nothing, even where its value is infinite
    return accurate_sum(values[kept] * weight[kept]) / accurate_sum(weight[kept])

"""Distribution functions of cumulative differences under calibration, for statistics that were computed elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..metrics.cumulative.distributions import TERMS, maximum_survival, range_survival
from ..util.arrays import Floats

# Below these the series of the distribution function converges fast and keeps the digits of small probabilities.
SMALL_MAXIMUM, SMALL_RANGE = 1.0, 1.5
# Up to here the distribution functions are 0 in double precision.
NEVER = 0.01


def kolmogorov_smirnov_cdf(x: Any, *, upper_tail: bool = False) -> float | Floats:
    """Compute the distribution function of the largest cumulative difference under calibration.

    It is the distribution of the maximum of |B(t)| for Brownian motion B on [0, 1], to which `ecce_mad` converges in units of its
    standard deviation. Use it for the p-value of a statistic that was computed elsewhere; `assess` computes statistic and p-value.

    Parameters
    ----------
    x : array-like of float
        Values in units of the scale, ``sqrt(sum(p * (1 - p))) / N``.
    upper_tail : bool, default False
        Whether to return the probability of a larger value, the p-value, which keeps its digits where the distribution function
        rounds to 1.

    Returns
    -------
    float or numpy.ndarray
        Probabilities, in the shape of `x`.

    Raises
    ------
    ArgumentError
        If `x` is not numeric or contains NaN.

    See Also
    --------
    kuiper_cdf : The distribution of the range, for `ecce_r`.
    assess : Test of calibration.

    Notes
    -----
    Differences are those of scores in increasing order, so that the path is Brownian motion, not the bridge of the two-sample test of
    Kolmogorov and Smirnov; `scipy.special.kolmogorov` is the distribution of the latter and does not apply. [1]_

    References
    ----------
    .. [1] Arrieta-Ibarra, Gujral, Tannen, Tygert and Xu (2022): Metrics of calibration for probabilistic predictions. JMLR 23.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.inference.kolmogorov_smirnov_cdf(2.2414), 4)
    0.95
    >>> cal.inference.kolmogorov_smirnov_cdf([1.0, 10.0], upper_tail=True).round(4).tolist()
    [0.6292, 0.0]
    """
    return _each(x, upper_tail, _maximum_cdf, maximum_survival)


def kuiper_cdf(x: Any, *, upper_tail: bool = False) -> float | Floats:
    """Compute the distribution function of the range of cumulative differences under calibration.

    It is the distribution of the range, maximum minus minimum, of Brownian motion on [0, 1], to which `ecce_r` converges in units of
    its standard deviation. Use it for the p-value of a statistic that was computed elsewhere; `assess` computes statistic and p-value.

    Parameters
    ----------
    x : array-like of float
        Values in units of the scale, ``sqrt(sum(p * (1 - p))) / N``.
    upper_tail : bool, default False
        Whether to return the probability of a larger value, the p-value, which keeps its digits where the distribution function
        rounds to 1.

    Returns
    -------
    float or numpy.ndarray
        Probabilities, in the shape of `x`.

    Raises
    ------
    ArgumentError
        If `x` is not numeric or contains NaN.

    See Also
    --------
    kolmogorov_smirnov_cdf : The distribution of the largest difference, for `ecce_mad`.
    assess : Test of calibration.

    Notes
    -----
    The density of the range is due to Feller. [1]_

    References
    ----------
    .. [1] Feller (1951): The asymptotic distribution of the range of sums of independent random variables. Annals of Mathematical
       Statistics 22.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.inference.kuiper_cdf(2.4977), 4)
    0.95
    >>> f"{cal.inference.kuiper_cdf(9.0, upper_tail=True):.3g}"
    '9.03e-19'
    """
    return _each(x, upper_tail, _range_cdf, range_survival)


def _each(
    x: Any, upper_tail: bool, below: Callable[[float], float | None], above: Callable[[float], float]
) -> float | Floats:
    """Evaluate a distribution function, or its complement, for one value or for each of several."""
    try:
        values = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError("x", f"must be numbers; got {x!r}") from None
    if np.isnan(values).any():
        raise ArgumentError("x", "contains NaN")

    def one(value: float) -> float:
        if value <= NEVER:
            return 1.0 if upper_tail else 0.0
        if value == math.inf:
            return 0.0 if upper_tail else 1.0
        if upper_tail:
            return max(0.0, above(value))
        small = below(value)
        return 1 - above(value) if small is None else small

    found = np.array([one(value) for value in values.ravel().tolist()]).reshape(values.shape)
    return float(found) if values.ndim == 0 else found


def _maximum_cdf(x: float) -> float | None:
    if x >= SMALL_MAXIMUM:
        return None
    odd = range(1, 2 * TERMS, 2)
    terms = ((-1) ** (k // 2) / k * math.exp(-((k * math.pi / x) ** 2) / 8) for k in odd)
    return 4 / math.pi * math.fsum(terms)


def _range_cdf(x: float) -> float | None:
    if x >= SMALL_RANGE:
        return None
    halves = [((k + 0.5) * math.pi / x) ** 2 for k in range(TERMS)]
    return math.fsum((8 / x**2 + 2 / (h * x**2)) * math.exp(-2 * h) for h in halves)

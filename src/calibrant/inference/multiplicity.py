"""Several p-values or e-values: adjusted for their number, combined into one, or selected with few false discoveries."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InputError, InputTypeError
from ..util.arrays import Floats
from ..util.checks import check_choice, check_fraction

Combination = Literal["bonferroni", "fisher", "cauchy"]


def adjust(pvalues: Floats, correction: str) -> Floats:
    """P-values adjusted for multiplicity."""
    count = len(pvalues)
    order = np.argsort(pvalues)
    ranked = pvalues[order]
    if correction == "holm":
        ranked = np.maximum.accumulate(ranked * (count - np.arange(count)))
    elif correction == "benjamini_hochberg":
        ranked = np.minimum.accumulate((ranked * count / (1 + np.arange(count)))[::-1])[::-1]
    out = np.empty(count)
    out[order] = np.minimum(ranked, 1)
    return out


def combine_pvalues(pvalues: Any, method: Combination = "bonferroni") -> float:
    """Combine p-values into one for the global null hypothesis.

    Parameters
    ----------
    pvalues : array-like
        P-values of the individual tests.
    method : {"bonferroni", "fisher", "cauchy"}, default "bonferroni"
        ``"bonferroni"``, the smallest p-value times their number, is valid under any dependence. ``"fisher"`` compares minus twice the
        sum of logarithms with a chi-square distribution and requires independent tests. ``"cauchy"`` [1]_ is approximately valid
        for small p-values under dependence.

    Returns
    -------
    float
        The combined p-value.

    References
    ----------
    .. [1] Liu, Y. and Xie, J. (2020). Cauchy combination test. JASA 115.

    Examples
    --------
    >>> from calibrant.inference.multiplicity import combine_pvalues
    >>> combine_pvalues([0.01, 0.2, 0.6])
    0.03
    >>> round(combine_pvalues([0.01, 0.2, 0.6], "fisher"), 4)
    0.0364
    """
    values = _checked(pvalues)
    check_choice(method, "method", ("bonferroni", "fisher", "cauchy"))
    if min(values) == 0:
        return 0.0
    if method == "bonferroni":
        return min(1.0, len(values) * min(values))
    if method == "fisher":
        from scipy.special import chdtrc

        return float(chdtrc(2 * len(values), -2 * math.fsum(map(math.log, values))))
    if max(values) == 1:
        return 1.0
    # The mean of Cauchy quantiles is again Cauchy distributed; tangents near both ends avoid the cancellation of a difference from one half.
    points = [1 / math.tan(math.pi * p) if p <= 0.5 else -1 / math.tan(math.pi * (1 - p)) for p in values]
    return math.atan2(1, math.fsum(points) / len(points)) / math.pi


def e_bh(evalues: Any, *, alpha: float = 0.05) -> NDArray[np.bool_]:
    r"""Select hypotheses by the e-BH procedure, which controls the false discovery rate.

    An e-value is a non-negative statistic with expectation at most 1 under its null hypothesis, such as the current value of the
    sequential test of a `Monitor`. The expected share of true null hypotheses among the selected ones is at most `alpha`, whatever the
    dependence of the e-values.

    Parameters
    ----------
    evalues : array-like of shape (K,)
        E-value of each hypothesis; 1 where there is no evidence. For an e-process, the current value, not its running maximum,
        which is not an e-value.
    alpha : float, default 0.05
        False discovery rate.

    Returns
    -------
    ndarray of bool, shape (K,)
        Whether each hypothesis is selected, that is, rejected.

    Raises
    ------
    InputError
        If an e-value is negative or missing, or there is none.

    See Also
    --------
    calibrant.inference.p_to_e : Turn p-values into e-values.
    calibrant.monitoring.fleet_status : Selection among the models of a fleet.

    Notes
    -----
    With the e-values in decreasing order, :math:`e_{(1)} \ge \dots \ge e_{(K)}`, the first :math:`k^*` are selected [1]_, where

    .. math:: k^* = \max \{k : k\, e_{(k)} \ge K / \alpha\}.

    The values of e-processes at a stopping time are e-values, so that the list of one examination may also be taken at a time that was
    chosen by looking at the data; if that time depends on all streams, each must be an e-process given the past of all of them. The
    union of the lists of several examinations has no such guarantee.

    References
    ----------
    .. [1] Wang, R. and Ramdas, A. (2022). False discovery rate control with e-values. Journal of the Royal Statistical Society B 84,
       822-852.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.inference.e_bh([200, 45, 60, 3, 0.5], alpha=0.1).tolist()
    [True, True, True, False, False]
    """
    try:
        values = np.asarray(evalues, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputTypeError("evalues", f"must be numbers; got {evalues!r}") from None
    if values.ndim != 1 or len(values) == 0 or not (values >= 0).all():
        raise InputError("evalues", f"must be one or more non-negative numbers; got {evalues!r}")
    check_fraction(alpha, "alpha", 0.05)
    count = len(values)
    order = np.argsort(-values, kind="stable")
    enough = values[order] * alpha * np.arange(1, count + 1) >= count * (1 - 1e-12)
    chosen = np.zeros(count, bool)
    if enough.any():
        chosen[order[: int(np.flatnonzero(enough)[-1]) + 1]] = True
    return chosen


def p_to_e(pvalues: Any) -> Floats:
    r"""Turn p-values into e-values.

    Parameters
    ----------
    pvalues : array-like of shape (K,)
        Valid p-values: under the null hypothesis, the probability of at most p is at most p.

    Returns
    -------
    ndarray of shape (K,)
        E-values: non-negative, with expectation at most 1 under the null hypothesis; infinite for a p-value of 0.

    See Also
    --------
    calibrant.inference.e_bh : Select hypotheses by their e-values.

    Notes
    -----
    A calibrator is a decreasing function with integral 1 over [0, 1]. This one is the mixture over :math:`\kappa \in (0, 1)` of
    :math:`\kappa p^{\kappa - 1}` [1]_,

    .. math:: e(p) = \int_0^1 \kappa p^{\kappa - 1} d\kappa = \frac{1 - p + p \ln p}{p (\ln p)^2}.

    It loses power: a p-value of 0.05 becomes 1.8, one of 0.001 becomes 21 and not 1000.

    References
    ----------
    .. [1] Vovk, V. and Wang, R. (2021). E-values: calibration, combination and applications. Annals of Statistics 49, 1736-1754.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.inference.p_to_e([1, 0.05, 0.001]).round(2).tolist()
    [0.5, 1.78, 20.79]
    """
    values = np.array(_checked(pvalues))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        x = -np.log(values)
        exact = (np.expm1(x) - x) / x**2
    # The series avoids the cancellation near p = 1.
    small = 1 / 2 + x * (1 / 6 + x * (1 / 24 + x * (1 / 120 + x / 720)))
    return np.where(x < 1e-2, small, np.where(x > 700, np.inf, exact))


def _checked(pvalues: Any) -> list[float]:
    try:
        values = np.asarray(pvalues, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or len(values) == 0 or not ((values >= 0) & (values <= 1)).all():
        raise ArgumentError("pvalues", f"must be one or more numbers in [0, 1]; got {pvalues!r}")
    return values.tolist()

"""Several p-values: adjusted for their number, or combined into one."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InPython

__all__ = ["adjust", "combine_pvalues"]

Floats = NDArray[np.float64]
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
    if method in ("holm", "benjamini_hochberg"):
        raise ArgumentError(
            "method",
            f"{method!r} corrects each p-value and does not combine them",
            InPython(f"use assess_many(correction={method!r})"),
        )
    if method not in ("bonferroni", "fisher", "cauchy"):
        raise ArgumentError("method", f"must be 'bonferroni', 'fisher' or 'cauchy'; got {method!r}")
    if min(values) == 0:
        return 0.0
    if method == "bonferroni":
        return min(1.0, len(values) * min(values))
    if method == "fisher":
        from scipy.special import chdtrc

        return float(chdtrc(2 * len(values), -2 * math.fsum(map(math.log, values))))
    return _cauchy(values)


def _cauchy(values: list[float]) -> float:
    """Mean of the Cauchy quantiles of the p-values, which is again Cauchy distributed."""
    if max(values) == 1:
        return 1.0
    # Tangents near both ends avoid the cancellation of a difference from one half.
    points = [1 / math.tan(math.pi * p) if p <= 0.5 else -1 / math.tan(math.pi * (1 - p)) for p in values]
    mean = math.fsum(points) / len(points)
    return math.atan2(1, mean) / math.pi


def _checked(pvalues: Any) -> list[float]:
    try:
        values = np.asarray(pvalues, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or len(values) == 0 or not ((values >= 0) & (values <= 1)).all():
        raise ArgumentError("pvalues", f"must be one or more numbers in [0, 1]; got {pvalues!r}")
    return values.tolist()

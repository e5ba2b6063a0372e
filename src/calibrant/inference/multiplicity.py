"""Several p-values for one question, put together into one."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from ..errors import ArgumentError, InPython

__all__ = ["combine_pvalues"]

Combination = Literal["bonferroni", "fisher", "cauchy"]


def combine_pvalues(pvalues: Any, method: Combination = "bonferroni") -> float:
    """One p-value for the hypothesis that all of several hold.

    Parameters
    ----------
    pvalues
        Numbers in [0, 1].
    method
        ``"bonferroni"``, the smallest times their number, holds whatever the tests have in common. ``"fisher"``, minus twice the
        sum of logarithms against chi-square, needs independent tests. ``"cauchy"`` (Liu and Xie 2020) is nearly exact for small
        values of dependent tests.

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
    """Each p-value as the point of the Cauchy distribution that it cuts off; the mean of such points has that distribution again."""
    if max(values) == 1:
        return 1.0
    # Tangents of both ends keep what a difference from one half would lose.
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

"""Upper bounds of default rates of low-default portfolios."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError, ShapeError
from ..util.arrays import Floats
from ..util.checks import check_fraction, is_number
from ..util.results import Result, number
from .rows import finite_column, upper_bound

NODES = 200
"""Quadrature nodes over the common factor."""


@dataclass(frozen=True, repr=False)
class DefaultRateBounds(Result):
    """Upper confidence bound of the default rate of each grade, from the best grade to the worst.

    Parameters
    ----------
    grades : tuple
        Names of the grades.
    rows : ndarray
        Number of obligors of each grade.
    events : ndarray
        Number of defaults.
    bound : ndarray
        Upper confidence bound of the default rate.
    level : float
        Confidence level.
    correlation : float
        Asset correlation.
    """

    grades: tuple[Any, ...]
    rows: Floats
    events: Floats
    bound: Floats
    level: float
    correlation: float

    _numeric, _width = range(4), 9

    def _fields(self) -> dict[str, Any]:
        return {"grade": self.grades, "rows": self.rows, "events": self.events, "bound": self.bound}

    _columns = _fields

    def _title(self) -> str:
        return f"Most prudent upper bounds of default rates (level {self.level:g}, correlation {self.correlation:g})"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        columns = zip(*self._fields().values(), strict=True)
        rows = [[str(grade), f"{n:.6g}", f"{k:.6g}", number(float(p))] for grade, n, k, p in columns]
        return ["grade", "rows", "events", "bound"], rows


def pluto_tasche(
    rows: Any, events: Any = None, *, level: float = 0.9, correlation: float = 0.0, grades: Any = None
) -> DefaultRateBounds:
    r"""Compute most prudent upper bounds of default rates for low-default portfolios.

    Under the assumption that default rates do not decrease from the best grade to the worst, the bound of a grade is the upper confidence
    bound of the pooled rate of this grade and all worse ones.

    Parameters
    ----------
    rows : array-like of int
        Number of obligors of each grade, from the best to the worst.
    events : array-like of int, optional
        Number of defaults of each grade; by default none.
    level : float, default 0.9
        Confidence level: with at least this probability the rate does not exceed the bound.
    correlation : float, default 0.0
        Asset correlation of the one-factor model, from 0 (independent defaults) to below 1.
    grades : sequence, optional
        Names of the grades.

    Returns
    -------
    DefaultRateBounds
        Result with the attributes ``grades``, ``rows``, ``events`` and ``bound``.

    Raises
    ------
    ArgumentError
        If numbers are not whole, or there are more defaults than obligors.

    See Also
    --------
    grade_tests : Tests of rating grades.

    Notes
    -----
    With n obligors and k defaults in the pooled grades and independent defaults, the bound is the Clopper-Pearson bound, the rate p at which
    :math:`P(\mathrm{Bin}(n, p) \le k) = 1 - \text{level}`. A bound below that of a better grade is raised to it. With correlation
    :math:`\varrho` the probability is averaged over a standard normal factor Z with conditional rate
    :math:`\Phi\left((\Phi^{-1}(p) - \sqrt{\varrho} Z) / \sqrt{1 - \varrho}\right)`.

    References
    ----------
    .. [1] Pluto, K. and Tasche, D. (2005). Thinking positively. Risk, August.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decision.pluto_tasche([100, 400, 300]).bound.round(4).tolist()
    [0.0029, 0.0033, 0.0076]
    """
    n = finite_column(rows, "rows")
    k = np.zeros(len(n)) if events is None else finite_column(events, "events")
    if len(k) != len(n):
        raise ShapeError(
            "events", f"has {len(k)} entries, and there are {len(n)} grades", "pass one number for each grade"
        )
    whole = (n == np.floor(n)) & (k == np.floor(k)) & (n >= k) & (k >= 0)
    if not whole.all() or n[-1] <= 0:
        raise ArgumentError(
            "rows", "rows and events must be integers, with events <= rows and at least one row in the worst grade"
        )
    check_fraction(level, "level")
    if not (is_number(correlation) and 0 <= correlation < 1):
        raise ArgumentError("correlation", f"must be in [0, 1); got {correlation!r}")
    names = tuple(range(1, len(n) + 1)) if grades is None else tuple(grades)
    if len(names) != len(n):
        raise ShapeError("grades", f"has {len(names)} names for {len(n)} grades", "pass one name for each grade")
    pooled_n, pooled_k = (np.cumsum(values[::-1])[::-1] for values in (n, k))
    if correlation == 0:
        bound = upper_bound(pooled_k, pooled_n, 1 - level)
    else:
        bound = np.array([_correlated_bound(a, b, level, correlation) for a, b in zip(pooled_n, pooled_k, strict=True)])
    return DefaultRateBounds(names, n, k, np.maximum.accumulate(bound), float(level), float(correlation))


def _correlated_bound(n: float, k: float, level: float, correlation: float) -> float:
    """The rate at which k defaults or fewer have probability 1 - level, averaged over the common factor."""
    from scipy.optimize import brentq
    from scipy.special import bdtr, ndtr

    if k == n:
        return 1.0
    node, weight = np.polynomial.legendre.leggauss(NODES)
    factor = 9 * node
    weight = 9 * weight * np.exp(-(factor**2) / 2) / math.sqrt(2 * math.pi)

    def excess(z: float) -> float:
        rate = ndtr((z - math.sqrt(correlation) * factor) / math.sqrt(1 - correlation))
        return float(weight @ bdtr(k, int(n), rate)) - (1 - level)

    return float(ndtr(brentq(excess, -38.0, 38.0, xtol=1e-14)))

"""Thresholds tested one after the other: the p-value of each, where to begin, and how far the tests are passed."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._rows import Judged, upper_bound

__all__ = ["Walk", "fewest", "pvalues", "risk_bound", "starts_of", "walk"]

Floats = NDArray[np.float64]
# Simulations over shapes and sizes of data chose these: many rows forgive the one error that ends a test of a few.
MANY, LARGEST_SHARE = 6, 4


class Walk(NamedTuple):
    """How far tests were passed."""

    last: int | None
    """The last place passed, which accepts most rows."""
    looked: NDArray[np.intp]
    passed: NDArray[np.bool_]
    """For each place looked at."""


def pvalues(judged: Judged, rows: Floats, lost: Floats, risk: float) -> Floats:
    """P-values of "the risk is above `risk`": binomial for errors, Hoeffding and Bentkus for losses between 0 and 1."""
    from scipy.special import bdtr, rel_entr

    if judged.counts_errors:
        return np.asarray(np.where(rows > 0, bdtr(lost, rows.astype(np.int64), risk), 1.0))
    mean = np.minimum(np.divide(lost, rows, out=np.ones_like(lost), where=rows > 0), 1.0)
    below = np.minimum(mean, risk)
    hoeffding = np.exp(-rows * (rel_entr(below, risk) + rel_entr(1 - below, 1 - risk)))
    # Sums of losses carry rounding: what is a whole number up to 1e-9 must not be raised to the next.
    bentkus = math.e * bdtr(np.minimum(np.ceil(lost - 1e-9), rows), rows.astype(np.int64), risk)
    return np.asarray(np.where(rows > 0, np.minimum(1.0, np.minimum(hoeffding, bentkus)), 1.0))


def risk_bound(judged: Judged, rows: float, lost: float, delta: float) -> float:
    """The largest risk that is not rejected at level `delta`."""
    if judged.counts_errors or rows == 0:
        return float(upper_bound(lost, rows, delta)) if rows else 1.0
    from scipy.optimize import brentq

    def excess(risk: float) -> float:
        return float(pvalues(judged, np.array([rows]), np.array([lost]), risk)[0]) - delta

    low = min(lost / rows, 1 - 1e-12)
    return 1.0 if excess(1 - 1e-12) > 0 else float(brentq(excess, max(low, 1e-300), 1 - 1e-12))


def fewest(risk: float, delta: float) -> int:
    """How many rows without an error a test needs to be passed."""
    return math.ceil(math.log(delta) / math.log1p(-risk) - 1e-9)


def starts_of(rows: Floats, total: float, risk: float, delta: float) -> list[int]:
    """Where to begin on the usual grid; labels have no say in it.

    With just enough rows for a test one error ends the walk, so a second one begins with many rows. Where there is no room for
    both, the second is the only one. Places that accept too few rows for any test are left out.
    """
    few = fewest(risk, delta / 2)
    many = max(fewest(risk, delta), min(MANY * fewest(risk, delta), math.floor(total / LARGEST_SHARE)))
    wanted = [many] if many < 2 * few else [few, many]
    return sorted({int(np.argmax(rows >= least)) for least in wanted if (rows >= least).any()})


def walk(pvalue: Floats, starts: list[int], delta: float) -> Walk:
    """Test from each start on until a test fails; what is passed holds with probability 1 - `delta`, all together.

    Each start has an equal share of `delta`. A walk that reaches the next start hands its share on (the fallback procedure of
    Wiens 2003); if it fails before, the next one has its own share alone.
    """
    looked: list[int] = []
    passed: list[Any] = []
    last, level = None, 0.0
    for begin, end in zip(starts, [*starts, len(pvalue)][1:], strict=True):
        level += delta / len(starts)
        fits = pvalue[begin:end] <= level
        count = len(fits) if fits.all() else int(np.argmin(fits))
        last = begin + count - 1 if count else last
        looked += range(begin, min(begin + count + 1, end))
        passed += fits[: count + 1].tolist()
        level = level if count == len(fits) else 0.0
    return Walk(last, np.array(looked, dtype=np.intp), np.array(passed, dtype=np.bool_))

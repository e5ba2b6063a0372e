"""Gaps between scores and outcomes in subsets of the rows: their sums, and the test of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..util.arrays import Array, Floats
from ..views.view import View

# The smallest variance of the number of events for which the normal approximation is used.
LEAST_VARIANCE = 50.0
NORMAL = "normal approximation of the sum, with the variance implied by the scores"
BINOMIAL = "binomial test at the mean score, conservative where scores differ"
FEW = "none: importance weights, and too few rows for the normal approximation"


@dataclass(frozen=True)
class Sums:
    """Sums over the rows of each subset.

    ``square`` are sums of squared weights or, for counts, of the counts themselves, which are numbers of rows; ``variance`` is that of the sum of
    outcomes under calibration.
    """

    rows: Array
    weight: Floats
    score: Floats
    outcome: Floats
    excess: Floats
    square: Floats
    variance: Floats

    @property
    def size(self) -> Floats:
        """Effective number of rows of each subset."""
        return np.divide(self.weight**2, self.square, out=np.zeros(len(self.weight)), where=self.square > 0)


def sums_by(view: View, codes: Array | None, count: int) -> Sums:
    """Return the sums of a view over the rows with each code; without codes, over all rows."""
    place = np.zeros(view.n, np.intp) if codes is None else codes
    weight = view.weights
    square = weight**2 if view.weight_kind == "importance" else weight

    def added(values: Floats) -> Floats:
        return np.asarray(np.bincount(place, values, count), dtype=np.float64)

    score, outcome = view.score, view.outcome
    values = (
        weight,
        weight * score,
        weight * outcome,
        weight * (score - outcome),
        square,
        square * score * (1 - score),
    )
    return Sums(np.bincount(place, minlength=count), *map(added, values))


def gap_pvalues(sums: Sums, weight_kind: str) -> tuple[Floats, list[str]]:
    """Return p-values of the difference of scores and outcomes under calibration, NaN where undefined, and the tests used.

    Where the number of events has a small variance the normal approximation is too liberal. The binomial distribution at the mean
    score has heavier tails than the sum of unequal Bernoulli trials (Hoeffding 1956), so its p-value is conservative.
    """
    from scipy.special import bdtr, bdtrc, ndtr

    unit = np.divide(sums.square, sums.weight, out=np.ones(len(sums.weight)), where=sums.weight > 0)
    unit = unit if weight_kind == "importance" else np.ones_like(unit)
    normal = sums.variance / unit**2 >= LEAST_VARIANCE
    z = np.divide(sums.excess, np.sqrt(sums.variance), out=np.zeros(len(unit)), where=sums.variance > 0)
    pvalue = np.where(normal, 2 * ndtr(-np.abs(z)), np.nan)
    if weight_kind == "importance":
        return pvalue, [NORMAL if fits else FEW for fits in normal]
    n, k = np.rint(sums.weight), np.rint(sums.outcome)
    mean = np.clip(np.divide(sums.score, sums.weight, out=np.zeros(len(n)), where=n > 0), 0, 1)
    below = bdtr(k, n.astype(np.int64), mean)
    above = np.where(k > 0, bdtrc(np.maximum(k - 1, 0), n.astype(np.int64), mean), 1.0)
    exact = np.minimum(1.0, 2 * np.minimum(below, above))
    return np.where(normal, pvalue, exact), [NORMAL if fits else BINOMIAL for fits in normal]

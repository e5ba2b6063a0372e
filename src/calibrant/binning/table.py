"""BinTable: counts and sums over bins of the scores, from which every binned metric is computed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, UndefinedMetricError
from ..input.weights import WeightKind
from ..util.arrays import Array, Floats
from ..util.cached import cached_property
from ..util.checks import check_fraction
from ..util.results import Result, number

Closed = Literal["right", "left"]
# Errors above the second number whose power is below the first are not rounding errors: a large norm has made them 0.
UNDERFLOW, ROUNDED = 1e-300, 1e-9


@dataclass(frozen=True, repr=False)
class BinTable(Result):
    """Bins of the scores, with the number of rows and the sums over each bin; empty bins are kept.

    The sums of several data sets in the same number of bins have the shape (R, M), and their `total` the shape (R,).

    Tables are returned by binning rules and as part of calibration curves. A table can be passed as ``binning=`` to evaluate
    other rows or models on the same bins.

    Parameters
    ----------
    left : numpy.ndarray of shape (M,)
        Lower edge of each bin.
    right : numpy.ndarray of shape (M,)
        Upper edge of each bin.
    rows : numpy.ndarray of shape (M,)
        Number of rows in each bin.
    weight : numpy.ndarray of shape (M,)
        Sum of the weights; the number of rows without weights.
    positives : numpy.ndarray of shape (M,)
        Sum of weight times outcome.
    score_sum : numpy.ndarray of shape (M,)
        Sum of weight times score.
    excess : numpy.ndarray of shape (M,)
        Sum of weight times (score - outcome), exact for unweighted rows; positive where the scores are too high.
    square : numpy.ndarray of shape (M,)
        Sum of squared weights.
    total : float
        Sum of all weights.
    weight_kind : {"unit", "counts", "importance"}, default "unit"
        Kind of the weights.
    closed : {"right", "left"}, default "right"
        Which edge belongs to a bin.
    is_soft : bool, default False
        Whether the outcomes are soft labels.

    Attributes
    ----------
    mean_score : numpy.ndarray of shape (M,)
        Mean score of each bin; NaN if it is empty.
    rate : numpy.ndarray of shape (M,)
        Observed outcome rate of each bin; NaN if it is empty.
    gap : numpy.ndarray of shape (M,)
        Mean score minus outcome rate; 0 for an empty bin.
    share : numpy.ndarray of shape (M,)
        Fraction of the total weight.
    """

    SUMS: ClassVar = ("rows", "weight", "positives", "score_sum", "excess", "square")
    _numeric = range(6)
    _width = 9

    left: Floats
    right: Floats
    rows: Array
    weight: Floats
    positives: Floats
    score_sum: Floats
    excess: Floats
    square: Floats
    total: float
    weight_kind: WeightKind = "unit"
    closed: Closed = "right"
    is_soft: bool = field(default=False, repr=False)

    def __len__(self) -> int:
        return len(self.left)

    def each(self) -> list[BinTable]:
        """Return the tables of several data sets, one by one.

        Returns
        -------
        list of BinTable
            A table for each row of the sums.
        """
        sums = (getattr(self, name) for name in self.SUMS)
        edges = (np.broadcast_to(edge, self.weight.shape) for edge in (self.left, self.right))
        return [
            replace(self, **dict(zip(("left", "right", *self.SUMS, "total"), own, strict=True)))
            for own in zip(*edges, *sums, np.asarray(self.total).tolist(), strict=True)
        ]

    @property
    def empty(self) -> Array:
        return self.rows == 0

    @property
    def size(self) -> Array:
        """Number of rows that each bin represents; importance weights have no unit, so that only counts can state it."""
        return self.rows if self.weight_kind == "importance" else self.weight

    @cached_property
    def share(self) -> Floats:
        """Fraction of the total weight in each bin."""
        return self.weight / np.expand_dims(self.total, -1)

    @cached_property
    def gap(self) -> Floats:
        """Mean score minus outcome rate; 0 for an empty bin, whose share is 0."""
        return np.divide(self.excess, self.weight, out=np.zeros(self.weight.shape), where=self.weight > 0)

    @cached_property
    def mean_score(self) -> Floats:
        """Mean score of each bin; NaN if it is empty."""
        return np.divide(self.score_sum, self.weight, out=np.full(self.weight.shape, np.nan), where=self.weight > 0)

    @cached_property
    def rate(self) -> Floats:
        """Observed outcome rate of each bin; NaN if it is empty."""
        rate = np.divide(self.positives, self.weight, out=np.full(self.weight.shape, np.nan), where=self.weight > 0)
        return np.clip(rate, 0, 1)  # differences of prefix sums can exceed the bounds by rounding

    @property
    def edges(self) -> Floats:
        """Increasing edges from 0 to 1. The table itself can be passed as ``binning=`` for other rows, selections or models."""
        # A first bin with the score 0 alone still needs a width, and bins of a narrower range extend to 1.
        return np.concatenate([[0.0], np.maximum(self.right[:-1], 5e-324), [1.0]])

    def interval(self, level: float = 0.95, method: str = "clopper_pearson") -> tuple[Floats, Floats]:
        """Compute a binomial confidence interval of the outcome rate of each bin.

        Importance weights enter through the effective sample size of the bin.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level.
        method : {"clopper_pearson", "jeffreys", "wilson"}, default "clopper_pearson"
            Kind of the interval.

        Returns
        -------
        low : numpy.ndarray of shape (M,)
            Lower bounds; NaN for empty bins.
        high : numpy.ndarray of shape (M,)
            Upper bounds; NaN for empty bins.

        Raises
        ------
        ArgumentError
            If `level` is not between 0 and 1, or `method` is unknown.
        UndefinedMetricError
            If the labels are soft.
        """
        check_interval(level, method)
        if self.is_soft:
            raise UndefinedMetricError("interval", "binomial intervals are not defined for soft labels", "use None")
        n = (
            self.weight
            if self.weight_kind != "importance"
            else np.divide(self.weight**2, self.square, out=np.zeros(len(self)), where=self.square > 0)
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            return binomial_interval(n * self.rate, n, 1 - level, method)

    def _fields(self) -> dict[str, Any]:
        """Return the columns, with NaN for the means of empty bins."""
        fields = {name: getattr(self, name) for name in ("left", "right", "rows", "weight", "mean_score", "rate")}
        return {**fields, "gap": np.where(self.empty, np.nan, self.gap)}

    def _columns(self) -> dict[str, list[Any]]:
        return self.to_dict()

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return self._headings(), self._lines()

    @staticmethod
    def _headings() -> list[str]:
        return ["left", "right", "weight", "score", "rate", "gap"]

    def _lines(self) -> list[list[str]]:
        columns = zip(self.left, self.right, self.weight, self.mean_score, self.rate, self.gap, self.empty, strict=True)
        return [
            [
                number(left),
                number(right),
                f"{weight:.6g}",
                number(score),
                number(rate),
                "empty" if is_empty else number(gap),
            ]
            for left, right, weight, score, rate, gap, is_empty in columns
        ]


def sum_over_bins(values: NDArray[Any]) -> Any:
    """Compute the sum over the last axis: exactly for one line, by NumPy for several."""
    return math.fsum(values) if values.ndim == 1 else values.sum(axis=-1)


def weighted_power(gap: Floats, share: Floats, norm: float) -> Any:
    """Compute the sum of share times |gap|^norm over bins, or the largest |gap| for an infinite norm."""
    if norm == math.inf:
        return np.abs(gap).max(axis=-1)
    with np.errstate(under="ignore"):
        total = sum_over_bins(share * np.abs(gap) ** norm)
    if norm > 2 and np.any((total < UNDERFLOW) & (np.abs(gap).max(axis=-1, initial=0) > ROUNDED)):
        raise ArgumentError("norm", f"{norm:g} is too large: powers of the errors round to 0", "use math.inf")
    return total


def check_interval(level: Any, method: Any, argument: str = "level") -> None:
    """Raise unless `level` is between 0 and 1 and `method` is known."""
    check_fraction(level, argument)
    if method not in ("clopper_pearson", "jeffreys", "wilson"):
        raise ArgumentError("method", f"must be 'clopper_pearson', 'jeffreys' or 'wilson'; got {method!r}")


def binomial_interval(k: Floats, n: Floats, alpha: float, method: str) -> tuple[Floats, Floats]:
    """Compute the limits of proportions with `k` events in `n` rows; NaN where there is no row."""
    from scipy.special import betaincinv, ndtri

    if method == "wilson":
        z = -ndtri(alpha / 2)
        rate = k / n
        centre = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
        # At the ends centre and half are equal but for rounding.
        low = np.where((k == 0) & (n > 0), 0.0, np.maximum(centre - half, 0))
        return low, np.where((k == n) & (n > 0), 1.0, np.minimum(centre + half, 1))
    add = 0.5 if method == "jeffreys" else 0.0
    low = np.where(k > 0, betaincinv(np.where(k > 0, k + add, 1), n - k + (add or 1), alpha / 2), 0.0)
    high = np.where(k < n, betaincinv(k + (add or 1), np.where(k < n, n - k + add, 1), 1 - alpha / 2), 1.0)
    return np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan)

"""`calibration_band`: simultaneous confidence bands of a monotone calibration curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError
from ..util.arrays import Floats
from ..util.checks import check_choice, check_fraction, check_whole
from ..util.results import Record, number
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from ..views.resolve import resolve
from ..views.view import Ties
from .significance import view_to_test

Method = Literal["clopper_pearson", "yang_barber"]

# More distinct scores than this are rounded to this many decimals, which leaves at most one more.
MOST_SCORES, DIGITS = 1000, 3
# The computing time is quadratic in the number of scores: beyond this it would be minutes.
TOO_MANY = 20_000
# Starting scores handled at once.
TILE = 64


@dataclass(frozen=True, repr=False)
class CalibrationBand(Record):
    """Simultaneous confidence band of the calibration curve.

    With probability at least ``1 - alpha`` all bounds hold jointly. Where scores were rounded, `low` and `high` bound the mean of the curve
    over the scores that were merged; `at` bounds the curve itself at any score.

    Parameters
    ----------
    score : ndarray
        Distinct scores in increasing order.
    low, high : ndarray
        Lower and upper bounds of the curve at `score`.
    rows : ndarray
        Number of rows with each score.
    alpha : float
        One minus the coverage probability.
    method : str
        How the band was computed.
    n : int
        Number of rows.
    lens : str
        The event that was evaluated.
    digits : int, optional
        Number of decimals to which scores were rounded; `score` then holds means of merged scores.
    """

    score: Floats
    low: Floats
    high: Floats
    rows: Floats = field(repr=False)
    alpha: float
    method: str
    n: int
    lens: str
    digits: int | None = None

    @property
    def outside(self) -> Floats:
        """The scores at which the diagonal lies outside the band."""
        slack = 1e-12
        return self.score[(self.score < self.low - slack) | (self.score > self.high + slack)]

    @property
    def covers_diagonal(self) -> bool:
        """Whether the diagonal lies within the band; otherwise calibration is rejected at `alpha`."""
        return len(self.outside) == 0

    @property
    def is_empty(self) -> bool:
        """Whether the bounds cross: no increasing curve is then compatible with the data."""
        return bool((self.low > self.high + 1e-12).any())

    def at(self, score: Any) -> tuple[Floats, Floats]:
        """Evaluate the band at any scores.

        The lower bound at a score is that of the largest observed score up to it, the upper bound that of the smallest observed score from
        it on. Where scores were rounded, the neighbouring bounds are used, since merged scores lie on both sides of their mean.

        Parameters
        ----------
        score : array-like
            Scores at which to evaluate the band.

        Returns
        -------
        low : ndarray
            Lower bounds of the calibration curve at these scores.
        high : ndarray
            Upper bounds.
        """
        wanted = np.asarray(score, dtype=np.float64)
        below = np.searchsorted(self.score, wanted, side="right")
        above = np.searchsorted(self.score, wanted, side="left")
        low, high = np.append(0.0, self.low), np.append(self.high, 1.0)
        if self.digits is not None:
            low, high = np.append(0.0, low), np.append(high, 1.0)[1:]
        return low[below], high[above]

    @property
    def verdict(self) -> str:
        """The conclusion in one sentence; it never states that predictions are calibrated."""
        band = f"{100 * (1 - self.alpha):.4g}% band"
        size = f"{100 * self.alpha:.4g}%"
        if self.is_empty:
            return f"No increasing calibration curve is compatible with the data: the bounds of the {band} cross."
        if self.covers_diagonal:
            width = float(np.average(self.high - self.low, weights=self.rows))
            return f"Miscalibration is not significant at {size}: the {band} contains the diagonal (mean width {number(width)})."
        first, last = self.outside[0], self.outside[-1]
        return (
            f"Miscalibration is statistically significant at {size}: the diagonal leaves the {band} at scores from "
            f"{number(first)} to {number(last)}."
        )

    def _fields(self) -> dict[str, Any]:
        further = ("covers_diagonal", "is_empty", "verdict")
        return {**super()._fields(), **{name: getattr(self, name) for name in further}}

    def _columns(self) -> dict[str, Sequence[Any]]:
        return {name: getattr(self, name).tolist() for name in ("score", "low", "high", "rows")}

    def _title(self) -> str:
        rounded = "" if self.digits is None else f", scores rounded to {self.digits} decimals"
        return f"{self.verdict}\n  {self.n:,} rows, {len(self.score):,} scores{rounded}, method {self.method}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        shown = np.unique(np.linspace(0, len(self.score) - 1, 21).astype(np.intp))
        rows = [[number(self.score[i]), number(self.low[i]), number(self.high[i])] for i in shown]
        return ["score", "low", "high"], rows


@documents_keywords()
def calibration_band(
    y_true: Any,
    y_prob: Any = None,
    *,
    alpha: float = 0.05,
    digits: int | None = None,
    method: Method = "clopper_pearson",
    lens: str | Lens = "auto",
    sample_weight: Any = None,
    pos_label: Any = None,
) -> CalibrationBand:
    r"""Compute a simultaneous confidence band of the calibration curve.

    The band contains the whole calibration curve with probability at least ``1 - alpha`` for any sample size. The only assumption is that
    the curve is non-decreasing. Calibration is rejected where the diagonal leaves the band.

    Parameters
    ----------
    y_true
    y_prob
    alpha : float, default 0.05
        One minus the coverage probability of the band.
    digits : int, optional
        Number of decimals to which scores are rounded first. By default 3, and only if there are more than 1000 distinct scores. The
        bounds then refer to the mean of the curve over merged scores; ``band.at(scores)`` bounds the curve itself.
    method : {"clopper_pearson", "yang_barber"}, default "clopper_pearson"
        ``"clopper_pearson"`` uses exact binomial bounds [1]_; ``"yang_barber"`` a wider margin around the isotonic curve [2]_.
    lens
    sample_weight
    pos_label

    Returns
    -------
    CalibrationBand
        Result with the attributes ``score``, ``low``, ``high``, ``covers_diagonal``, ``outside``, ``verdict`` and the method ``at``.

    Raises
    ------
    ArgumentError
        If an argument is out of range or there are too many distinct scores.
    LensError
        If the lens does not yield one score per row.
    WeightsNotSupportedError
        If rows have importance weights; counts are supported.

    See Also
    --------
    assess : Tests of calibration by a metric.
    giviti_test : Likelihood-ratio test of the calibration belt.

    Notes
    -----
    For a non-decreasing curve c and distinct scores :math:`s_1 < \dots < s_m`, the upper bound at :math:`s_j` is the minimum over all
    runs :math:`s_k, \dots, s_l` with :math:`k \ge j` of the Clopper-Pearson upper bound of the pooled event rate at level
    :math:`\alpha / (m (m + 1))`; lower bounds are analogous.

    References
    ----------
    .. [1] Dimitriadis, T., Duembgen, L., Henzi, A., Puke, M. and Ziegel, J. (2023). Honest calibration assessment for binary outcome
       predictions. Biometrika 110.
    .. [2] Yang, F. and Barber, R. F. (2019). Contraction and uniform convergence of isotonic regression. Electronic Journal of
       Statistics 13.

    Examples
    --------
    >>> import calibrant as cal
    >>> data = cal.inference.make_calibrated(2000, rng=0)
    >>> cal.inference.calibration_band(data.y_true, data.y_prob).covers_diagonal
    True
    """
    check_fraction(alpha, "alpha", 0.05)
    check_choice(method, "method", ("clopper_pearson", "yang_barber"))
    if digits is not None and check_whole(digits, "digits") > 15:
        raise ArgumentError("digits", f"must be at most 15; got {digits}")
    view = view_to_test("calibration_band", resolve(y_true, y_prob, sample_weight, pos_label), lens)
    ties = view.ties
    if digits is None and len(ties.score) > MOST_SCORES:
        digits = DIGITS
    if digits is not None:
        ties = _merge_rounded(ties, digits)
    rows, events = ties.weight, ties.outcome
    if method == "clopper_pearson":
        high = _upper(rows, events, alpha)
        # The lower bound of the event rate is one minus the upper bound of its complement.
        low = 1 - _upper(rows[::-1], (rows - events)[::-1], alpha)[::-1]
    else:
        low, high = _margins(rows, events, alpha)
    return CalibrationBand(ties.score, low, high, rows, alpha, method, int(view.total), view.lens, digits)


def _merge_rounded(ties: Ties, digits: int) -> Ties:
    """Merge the scores that are equal after rounding into their mean."""
    rounded = np.round(ties.score, digits)
    starts = np.flatnonzero(np.append(True, rounded[1:] != rounded[:-1]))
    weight, outcome, excess = (np.add.reduceat(sums, starts) for sums in (ties.weight, ties.outcome, ties.excess))
    mean = np.add.reduceat(ties.weight * ties.score, starts) / weight
    # Floating-point rounding must not move a mean out of the range of its scores.
    mean = np.clip(mean, ties.score[starts], ties.score[np.append(starts[1:], len(ties.score)) - 1])
    if len(mean) > TOO_MANY:
        raise ArgumentError(
            "digits", f"leaves {len(mean):,} distinct scores; at most {TOO_MANY:,} are supported", "use fewer digits"
        )
    return Ties(mean, weight, outcome, excess)


def _upper(rows: Floats, events: Floats, alpha: float) -> Floats:
    """The least Clopper-Pearson upper bound over runs of scores that start at each score or later.

    A non-decreasing curve is at most its mean over any run to the right. The exact bound is computed only for runs that a cheap bound of
    the binomial distribution does not exclude.
    """
    count = len(rows)
    level = alpha / (count * (count + 1))
    n, ones = np.append(0, np.cumsum(rows)), np.append(0, np.cumsum(events))
    best = np.ones(count)
    step = 1
    while step <= count:  # runs of 1, 2, 4, ... scores are close to the minimum
        start = np.arange(count - step + 1)
        bound = _clopper_pearson(n[start + step] - n[start], ones[start + step] - ones[start], level)
        best[start] = np.minimum(best[start], bound)
        step *= 2
    best = np.minimum.accumulate(best[::-1])[::-1].copy()
    for first in range(0, count, TILE):
        start = np.arange(first, min(first + TILE, count))
        length, seen = n[None, first + 1 :] - n[start, None], ones[None, first + 1 :] - ones[start, None]
        row, column = np.nonzero((length > 0) & _may_win(length, seen, best[start, None], level))
        bound = _clopper_pearson(length[row, column], seen[row, column], level)
        np.minimum.at(best, start[row], bound)
    return np.minimum.accumulate(best[::-1])[::-1]


def _may_win(n: Floats, ones: Floats, rate: Floats, level: float) -> NDArray[np.bool_]:
    """Whether P(at most `ones` of `n`) could be below the level at this rate, by a lower bound of that probability.

    It is at least exp(-n KL) / sqrt(8 k (n - k) / n), and (1 - rate)^n for k = 0 (Ash 1990, lemma 4.7.2).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(ones / n, 0, 1)
        yes = np.where(share > 0, share * np.log(share / rate), 0.0)
        no = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - rate)), 0.0)
        spread = np.where((share > 0) & (share < 1), 0.5 * np.log(8 * n * share * (1 - share)), 0.0)
        chance = -n * (yes + no) - spread
    return np.asarray((share < rate) & ~(chance > math.log(level) + 1e-9))


def _clopper_pearson(n: Floats, ones: Floats, level: float) -> Floats:
    """The rate at which `ones` or fewer of `n` have probability `level`; 1 where all are events."""
    from scipy.special import betainccinv

    bound = np.ones(len(n))
    some = ones < n
    bound[some] = betainccinv(ones[some] + 1, n[some] - ones[some], level)
    return bound


def _margins(rows: Floats, events: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Mean of the isotonic curve over a run plus and minus a margin that shrinks with its rows; the tightest bounds over all runs."""
    from scipy.optimize import isotonic_regression

    count = len(rows)
    fit = isotonic_regression(events / rows, weights=rows).x
    n, total = np.append(0, np.cumsum(rows)), np.append(0, np.cumsum(rows * fit))
    scale = math.log(count * (count + 1) / alpha) / 2
    high, low = np.ones(count), np.zeros(count)
    for first in range(count):
        length = n[first + 1 :] - n[first]
        mean, margin = (total[first + 1 :] - total[first]) / length, np.sqrt(scale / length)
        high[first] = min(1.0, float((mean + margin).min()))
        low[first:] = np.maximum(low[first:], mean - margin)
    return np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]

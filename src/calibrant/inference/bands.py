"""calibration_band: where the calibration curve can lie, for all scores at once, if it rises with the score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, LensError, Use, WeightsNotSupportedError
from ..util.checks import check_whole
from ..util.results import Record, number
from ..views.keywords import checks_keywords
from ..views.lenses import Lens
from ..views.view import View
from .sequential import check_level, one_view

__all__ = ["CalibrationBand", "calibration_band"]

Floats = NDArray[np.float64]
Method = Literal["clopper_pearson", "yang_barber"]

# More distinct scores than this are rounded to so many digits, which leaves one more at most.
MOST_SCORES, DIGITS = 1000, 3
# The work grows with the square of the number of scores: beyond this it would take minutes.
TOO_MANY = 20_000
# Starting scores handled at once.
TILE = 64


@dataclass(frozen=True, repr=False)
class CalibrationBand(Record):
    """Bounds of the calibration curve at the scores that occur: all hold together with probability ``1 - alpha`` at least.

    Where scores were rounded, `low` and `high` bound the mean of the curve over the scores that fell together, which a steep
    curve leaves behind at single scores; `at` bounds the curve itself, at every score.
    """

    score: Floats
    low: Floats
    high: Floats
    rows: Floats = field(repr=False)
    """How many rows have each score."""
    alpha: float
    method: str
    n: int
    lens: str
    digits: int | None = None
    """To how many digits scores were rounded; each is then the mean of those that fell together."""

    @property
    def outside(self) -> Floats:
        """The scores at which the diagonal lies outside the band."""
        slack = 1e-12
        return self.score[(self.score < self.low - slack) | (self.score > self.high + slack)]

    @property
    def covers_diagonal(self) -> bool:
        """Whether the curve of calibrated scores lies in the band; else calibration is rejected at `alpha`."""
        return len(self.outside) == 0

    @property
    def is_empty(self) -> bool:
        """Whether the bounds cross: then no rising curve agrees with the rows."""
        return bool((self.low > self.high + 1e-12).any())

    def at(self, score: Any) -> tuple[Floats, Floats]:
        """Bounds of the curve at any scores: the lower bound of a score up to there and the upper bound of one from there on hold.

        Where scores were rounded, those that fell together lie on both sides of their mean, and the ones before and after hold.
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
        """One sentence; it never claims that predictions are calibrated."""
        sure = f"{1 - self.alpha:.4g}"
        if self.is_empty:
            return f"No rising calibration curve agrees with these rows at level {sure}."
        if self.covers_diagonal:
            width = float(np.average(self.high - self.low, weights=self.rows))
            return (
                f"The band ({sure}) holds the diagonal, being {number(width)} wide on average; no deviation was found."
            )
        first, last = self.outside[0], self.outside[-1]
        return f"The diagonal leaves the band ({sure}) at scores from {number(first)} to {number(last)}: calibration is rejected."

    def _fields(self) -> dict[str, Any]:
        further = ("covers_diagonal", "is_empty", "verdict")
        return {**super()._fields(), **{name: getattr(self, name) for name in further}}

    def _columns(self) -> dict[str, Sequence[Any]]:
        return {name: getattr(self, name).tolist() for name in ("score", "low", "high", "rows")}

    def _title(self) -> str:
        rounded = "" if self.digits is None else f", scores rounded to {self.digits} digits"
        return f"{self.verdict}\n  {self.n:,} rows, {len(self.score):,} scores{rounded}, method {self.method}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        shown = np.unique(np.linspace(0, len(self.score) - 1, 21).astype(np.intp))
        rows = [[number(self.score[i]), number(self.low[i]), number(self.high[i])] for i in shown]
        return ["score", "low", "high"], rows


@checks_keywords()
def calibration_band(
    y_true: Any,
    y_prob: Any = None,
    *,
    alpha: float = 0.05,
    digits: int | None = None,
    method: Method = "clopper_pearson",
    lens: str | Lens = "auto",
    where: Any = None,
    **keywords: Any,
) -> CalibrationBand:
    """A band that holds the whole calibration curve with probability ``1 - alpha``, whatever the number of rows.

    Nothing is assumed but that the curve rises. Every run of neighbouring scores gets its bounds, and the tightest hold. Where
    scores are rounded (`digits`), the bounds at a score are those of the mean of the curve over the scores that fell together;
    ``band.at(scores)`` gives bounds of the curve itself.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities, or Predictions, a View or a Sketch; keywords of `Predictions` are taken too. Counts are repeated
        rows; other weights are refused.
    alpha
        The band fails anywhere with at most this probability.
    digits
        Round scores to so many digits first. None rounds to 3, and only where more than 1000 scores are distinct.
    method
        ``"clopper_pearson"`` takes exact binomial bounds (Dimitriadis and others 2023); ``"yang_barber"`` a wider margin around the
        isotonic curve (Yang and Barber 2019).
    lens
        Which question is asked; one with one score for each row.
    where
        Which rows: a mask or a Selection.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.bands import calibration_band
    >>> drawn = cal.make_calibrated(2000, rng=0)
    >>> calibration_band(drawn.y_true, drawn.y_prob).covers_diagonal
    True
    """
    check_level(alpha)
    if method not in ("clopper_pearson", "yang_barber"):
        raise ArgumentError("method", f"must be 'clopper_pearson' or 'yang_barber'; got {method!r}")
    if digits is not None and check_whole(digits, "digits") > 15:
        raise ArgumentError("digits", f"must be at most 15; got {digits}")
    view = one_view(y_true, y_prob, lens, where, keywords, "calibration_band")
    if not isinstance(view, View):
        raise LensError("lens", "requires one score per row", "use 'top_label'")
    if view.weight_kind == "importance":
        raise WeightsNotSupportedError("calibration_band", "does not support real weights", Use("counts"))
    score, rows, events, digits = _grouped(view, digits)
    if method == "clopper_pearson":
        high = _upper(rows, events, alpha)
        low = (
            1 - _upper(rows[::-1], (rows - events)[::-1], alpha)[::-1]
        )  # the lower bound of events is one for no events
    else:
        low, high = _margins(rows, events, alpha)
    return CalibrationBand(score, low, high, rows, alpha, method, int(view.total), view.lens, digits)


def _grouped(view: View, digits: int | None) -> tuple[Floats, Floats, Floats, int | None]:
    """Distinct scores with their rows and events, after rounding where there are too many."""
    ties = view.ties
    if digits is None and len(ties.score) > MOST_SCORES:
        digits = DIGITS
    if digits is None:
        return ties.score, ties.weight, ties.outcome, None
    rounded = np.round(ties.score, digits)
    starts = np.flatnonzero(np.append(True, rounded[1:] != rounded[:-1]))
    rows = np.add.reduceat(ties.weight, starts)
    mean = np.add.reduceat(ties.weight * ties.score, starts) / rows
    # Rounding must not move a mean out of the scores it stands for.
    mean = np.clip(mean, ties.score[starts], ties.score[np.append(starts[1:], len(ties.score)) - 1])
    if len(mean) > TOO_MANY:
        raise ArgumentError(
            "digits", f"leaves {len(mean):,} distinct scores; at most {TOO_MANY:,} are supported", "use fewer digits"
        )
    return mean, rows, np.add.reduceat(ties.outcome, starts), digits


def _upper(rows: Floats, events: Floats, alpha: float) -> Floats:
    """The least Clopper-Pearson upper bound over runs of scores that start at each score or later.

    A rising curve is at most its mean over any run to the right. Most runs cannot win: their bound is found only where a cheap
    bound of the binomial distribution leaves it open.
    """
    count = len(rows)
    level = alpha / (count * (count + 1))
    n, ones = np.append(0, np.cumsum(rows)), np.append(0, np.cumsum(events))
    best = np.ones(count)
    step = 1
    while step <= count:  # runs of 1, 2, 4, ... scores come close to the best
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
    """The mean of the isotonic curve over a run, give or take a margin that shrinks with its rows; the tightest hold."""
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

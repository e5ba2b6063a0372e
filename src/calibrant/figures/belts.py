"""The GiViTI calibration belt: confidence regions of a logistic polynomial, and where they leave the diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..inference.belt import Belt, giviti_belt
from ..inference.significance import view_to_test
from ..inference.verdicts import SignificanceResult
from ..util.checks import check_fraction, check_whole
from ..util.results import number, pvalue_clause, pvalue_text
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from ..views.resolve import resolve
from .base import Diagram, Floats, axis_names, finish, none_for_nan, round_end, rows_of, series_on, square
from .canvas import Axes, new_ax
from .styling import plots, series_of

Ranges = tuple[tuple[float, float], ...]


@dataclass(frozen=True, repr=False)
class CalibrationBelt(Diagram):
    """Data of a GiViTI calibration belt; `plot` draws it.

    Parameters
    ----------
    risk : ndarray
        Predicted risks, increasing.
    observed : ndarray
        The fitted polynomial at each risk.
    levels : tuple of float
        Confidence levels, increasing.
    low : tuple of ndarray
        Lower bound at each risk, for each level.
    high : tuple of ndarray
        Upper bound at each risk, for each level.
    over : tuple
        For each level the ranges of risk in which the belt lies over the diagonal: the risk is underestimated there.
    under : tuple
        For each level the ranges in which the belt lies under the diagonal: the risk is overestimated there.
    test : SignificanceResult
        The test of calibration, with ``statistic`` and ``pvalue``.
    degree : int
        Degree of the polynomial that was selected.
    n : int
        Number of rows; counts are added up.
    external : bool
        Whether the model was fitted to other data.
    lens : str
        The event.

    See Also
    --------
    calibration_belt : The function that returns it.
    """

    risk: Floats
    observed: Floats
    levels: tuple[float, ...]
    low: tuple[Floats, ...]
    high: tuple[Floats, ...]
    over: tuple[Ranges, ...]
    under: tuple[Ranges, ...]
    test: SignificanceResult = field(repr=False)
    degree: int
    n: int
    external: bool
    lens: str

    @property
    def pvalue(self) -> float:
        """P-value of the test of calibration."""
        return self.test.pvalue

    def _columns(self) -> dict[str, list[Any]]:
        count = len(self.levels)
        return {
            "level": [level for level in self.levels for _ in self.risk],
            "risk": none_for_nan(np.tile(self.risk, count)),
            "observed": none_for_nan(np.tile(self.observed, count)),
            "low": none_for_nan(np.concatenate(self.low)),
            "high": none_for_nan(np.concatenate(self.high)),
        }

    def _title(self) -> str:
        kind = "external" if self.external else "internal"
        head = f"Calibration belt ({kind} validation, polynomial of degree {self.degree}, {rows_of(self.n, self.lens)})"
        return f"{head}\n  p-value of calibration {pvalue_text(self.pvalue, self.test.least_pvalue)}"

    _numeric = range(0)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [
            [f"{100 * level:g}%", _text(over), _text(under)]
            for level, over, under in zip(self.levels, self.over, self.under, strict=True)
        ]
        return ["level", "over the bisector", "under the bisector"], rows

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot the belt with its p-value, number of rows, degree, and the ranges where it leaves the diagonal."""
        ax = new_ax(ax)
        later = series_on(ax) > 0
        (look,) = series_of(ax, style, width=0.9)
        highest = max(float(self.risk[-1]), *(float(each.max()) for each in self.high))
        square(ax, round_end(highest))
        facts = f"{pvalue_clause(self.pvalue, self.test.least_pvalue)}, n = {self.n:,}, degree {self.degree}"
        label = facts if look.label is None else f"{look.label}\n{facts}"
        ax.plot(self.risk, self.observed, zorder=3, gid="curve", label=label, **look.line)
        for place in reversed(range(len(self.levels))):  # the widest first, and lightest
            over, under = _text(self.over[place]), _text(self.under[place])
            band = f"{100 * self.levels[place]:g}% belt"
            band += "" if later else f"\nover: {over}\nunder: {under}"  # of the first only
            look.shade(ax, self.risk, self.low[place], self.high[place], band, alpha=0.4 / (place + 1))
        label, rate = axis_names(self.lens)
        finish(ax, label.removeprefix("mean "), rate)
        return ax


def _text(ranges: Ranges) -> str:
    return ", ".join(f"{_short(low)} to {_short(high)}" for low, high in ranges) or "never"


def _short(risk: float) -> str:
    return "0" if risk < 1e-4 else number(risk, 2)


def _ranges(risk: Floats, away: Floats) -> Ranges:
    """Ranges in which `away` is positive, with linear interpolation between the risks."""
    inside = away > 0
    change = np.flatnonzero(inside[1:] != inside[:-1])
    cross = risk[change] + np.diff(risk)[change] * away[change] / (away[change] - away[change + 1])
    ends = [*([risk[0]] if inside[0] else []), *cross, *([risk[-1]] if inside[-1] else [])]
    return tuple((float(low), float(high)) for low, high in zip(ends[::2], ends[1::2], strict=True))


@documents_keywords()
def calibration_belt(
    y_true: Any,
    y_prob: Any = None,
    *,
    levels: Sequence[float] = (0.8, 0.95),
    external: bool = True,
    points: int = 100,
    lens: str | Lens = "auto",
    sample_weight: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> CalibrationBelt:
    r"""Compute the GiViTI calibration belt: simultaneous confidence regions of the calibration curve, and its test.

    The curve is a polynomial in the log-odds of the risk, whose degree is selected by the data. At level 95% the belt leaves the
    diagonal if the test of calibration rejects at 5%; the ranges of risk where it does show for which patients the risk is
    underestimated (over the bisector) or overestimated (under the bisector).

    Parameters
    ----------
    y_true
    y_prob
    levels : sequence of float, default (0.8, 0.95)
        Confidence levels of the regions.
    external : bool, default True
        Whether this is an external validation: the model was fitted to other data. False is for the development data.
    points : int, default 100
        Number of risks at which the belt is computed, half of them equally spaced and half equally spaced in log-odds.
    lens
    sample_weight
    pos_label
    **options
        Keywords of `giviti_test`: `method`, `n_resamples` and `rng`. `method` is the null distribution of the p-value; the belt itself always follows from the asymptotic one.

    Returns
    -------
    CalibrationBelt
        ``risk``, ``low`` and ``high`` for each level, ``over`` and ``under`` (ranges of risk), ``pvalue``, ``degree`` and ``n``.
        ``plot()`` draws the belt, and ``to_frame()`` returns its bounds.

    Raises
    ------
    ArgumentError
        If an argument is out of range.
    UndefinedMetricError
        If labels are soft, there are too few distinct scores, or the outcomes are separated.
    WeightsNotSupportedError
        If rows have importance weights; counts are supported.

    See Also
    --------
    giviti_test : The test alone.
    flexible_calibration_curve : LOESS or spline with a pointwise band.
    calibration_band : Simultaneous band of a non-decreasing curve.

    Notes
    -----
    The belt at risk p spans the values at p of all polynomials of the selected degree with

    .. math:: 2\,(\ell(\hat\beta) - \ell(\beta)) \le q_{level},

    where q is the quantile of the null distribution of `giviti_test`, which accounts for the selection of the degree [1]_. The bounds
    agree with those of givitiR to the tolerance of its optimiser.

    References
    ----------
    .. [1] Nattino, G., Finazzi, S. and Bertolini, G. (2014). A new calibration test and a reappraisal of the calibration belt for the
       assessment of prediction models based on dichotomous outcomes. Statistics in Medicine 33, 2390-2407.

    Examples
    --------
    >>> import calibrant as cal
    >>> data = cal.inference.make_miscalibrated(500, warp=cal.inference.simulation.temperature(1.5), distribution=(2, 8), rng=0)
    >>> cal.figures.calibration_belt(data.y_true, data.y_prob)
    Calibration belt (external validation, polynomial of degree 1, 500 rows)
      p-value of calibration 1.455e-06
    level  over the bisector  under the bisector
    80%    0.0015 to 0.31     never
    95%    0.0015 to 0.28     never
    """
    chosen = sorted(
        check_fraction(level, "levels") for level in np.atleast_1d(np.asarray(levels, dtype=object)).tolist()
    )
    if not chosen or len(set(chosen)) < len(chosen):
        raise ArgumentError(
            "levels", f"must be one or more different levels; got {levels!r}", "for example (0.8, 0.95)"
        )
    check_whole(points, "points", 4)
    view = view_to_test("calibration_belt", resolve(y_true, y_prob, sample_weight, pos_label), lens)
    belt: Belt = giviti_belt(view, chosen, points, external=external, **options)
    return CalibrationBelt(
        belt.risk,
        belt.observed,
        tuple(chosen),
        belt.low,
        belt.high,
        tuple(_ranges(belt.risk, low - belt.risk) for low in belt.low),
        tuple(_ranges(belt.risk, belt.risk - high) for high in belt.high),
        belt.test,
        int(belt.test.detail["degree"]),
        round(view.total),
        external,
        view.lens,
    )

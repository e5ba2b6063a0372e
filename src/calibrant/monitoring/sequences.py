"""Confidence sequences: intervals that cover at all times at once, for the mean miscalibration and for a constant logit shift."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, LensError, WeightsNotSupportedError
from ..inference.bets import impossible_rows, log_mean
from ..inference.sequential import check_level, one_view
from ..sketches.sketch import Sketch
from ..util.checks import check_positive
from ..util.results import frame_of, html_table, number
from ..views.lenses import Lens
from ..views.view import VectorView, View
from .alternatives import SHIFTS

__all__ = ["ConfidenceSequence", "OffsetSequence", "half_width", "miscalibration_cs", "offset_cs", "tuned_rho"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ConfidenceSequence:
    """After each row, an interval for the mean so far of score minus true rate; all cover at once with probability 1 - alpha."""

    estimate: Floats = field(repr=False, compare=False)
    """Mean of score minus outcome; above 0 where scores are too high."""
    half: Floats = field(repr=False, compare=False)
    alpha: float
    n: int
    lens: str

    @property
    def low(self) -> Floats:
        return np.asarray(np.maximum(self.estimate - self.half, -1))

    @property
    def high(self) -> Floats:
        return np.asarray(np.minimum(self.estimate + self.half, 1))

    @property
    def excluded_at(self) -> int | None:
        """After how many rows the interval first left out 0; None if it never did."""
        out = np.abs(self.estimate) > self.half
        return int(np.argmax(out)) + 1 if out.any() else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        lists = {name: getattr(self, name).tolist() for name in ("estimate", "low", "high")}
        return {"alpha": self.alpha, "n": self.n, "lens": self.lens, "excluded_at": self.excluded_at, **lists}

    def to_frame(self) -> Any:
        """One row for each row, as a frame of the library at hand."""
        lists = {name: getattr(self, name).tolist() for name in ("estimate", "low", "high")}
        return frame_of({"row": list(range(1, self.n + 1)), **lists})

    def __repr__(self) -> str:
        now = f"{number(float(self.estimate[-1]))}, between {number(float(self.low[-1]))} and {number(float(self.high[-1]))}"
        return f"Mean of score minus outcome after {self.n:,} rows: {now} ({100 * (1 - self.alpha):g} %, at all times at once)"

    def _repr_html_(self) -> str:
        row = [number(float(values[-1])) for values in (self.estimate, self.low, self.high)]
        return html_table(["estimate", "low", "high"], [row], repr(self))


def tuned_rho(alpha: float, rows: float) -> float:
    """The constant that makes the interval narrowest after so many rows.

    >>> round(tuned_rho(0.05, 100), 9)
    3.044337217
    """
    from scipy.special import lambertw

    return float(rows / 4 / (-lambertw(-(alpha**2) / math.e, -1).real - 1))


def half_width(rows: Any, alpha: float, rho: float) -> Floats:
    """Half the interval after so many rows (Howard, Ramdas, McAuliffe and Sekhon 2021, normal mixture)."""
    t = np.asarray(rows, dtype=np.float64)
    spread = t / 4 + rho
    return np.asarray(np.sqrt(spread * np.log(spread / (rho * alpha**2))) / t)


def miscalibration_cs(
    y_true: Any,
    y_prob: Any = None,
    *,
    alpha: float = 0.05,
    best_at: float = 100,
    lens: str | Lens = "auto",
    where: Any = None,
    **keywords: Any,
) -> ConfidenceSequence:
    """The mean so far of score minus true rate, with an interval after each row that one may look at whenever one likes.

    Nothing is assumed of the scores, nor that miscalibration is constant.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities in order of time. No weights.
    alpha
        Probability that any of the intervals misses.
    best_at
        After how many rows the interval should be narrowest, compared with others of its kind.
    lens, where
        Which question is asked, and of which rows.

    Examples
    --------
    >>> from calibrant.monitoring.sequences import miscalibration_cs
    >>> miscalibration_cs([0] * 100, [0.5] * 100).excluded_at
    14
    """
    check_level(alpha)
    rho = tuned_rho(alpha, check_positive(best_at, "best_at"))
    view = _ordered(y_true, y_prob, lens, where, keywords, "miscalibration_cs")
    rows = np.arange(1, view.n + 1)
    estimate = np.cumsum(view.score - view.outcome) / rows
    return ConfidenceSequence(estimate, half_width(rows, alpha, rho), float(alpha), view.n, view.lens)


@dataclass(frozen=True)
class OffsetSequence:
    """Which constant shifts of the logit would make the scores right, looked at after every row."""

    low: float
    high: float
    """The smallest and largest shift that was never ruled out, infinite where the farthest one tried was not; nan where all were."""
    alpha: float
    n: int
    lens: str
    farthest: float
    """Shifts up to this far were tried; infinite where an impossible outcome rules out all there are."""

    @property
    def all_rejected(self) -> bool:
        """Whether no shift as far as `farthest` can be right."""
        return math.isnan(self.low)

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON holds: what is infinite stands as text, and None where all shifts are ruled out."""
        return {name: _plain(value) for name, value in self._values().items()}

    def _values(self) -> dict[str, Any]:
        names = ("low", "high", "alpha", "n", "lens", "farthest", "all_rejected")
        return {name: getattr(self, name) for name in names}

    def to_frame(self) -> Any:
        """One row, as a frame of the library at hand."""
        return frame_of({name: [value] for name, value in self._values().items()})

    @property
    def _range(self) -> str:
        if self.low == -math.inf and self.high == math.inf:
            return f"from {-self.farthest:g} or less to {self.farthest:g} or more"
        if self.low == -math.inf:
            return f"of {self.high:g} or less"
        return f"of {self.low:g} or more" if self.high == math.inf else f"from {self.low:g} to {self.high:g}"

    def __repr__(self) -> str:
        if self.all_rejected:
            tried = "" if math.isinf(self.farthest) else f" within ±{self.farthest:g}"
            return (
                f"No constant shift of the logit{tried} makes the scores right (level {self.alpha:g}, {self.n:,} rows)"
            )
        return f"A logit shift {self._range} may make the scores right ({100 * (1 - self.alpha):g} %, {self.n:,} rows)"

    def _repr_html_(self) -> str:
        return html_table(["low", "high"], [[number(self.low), number(self.high)]], repr(self))


def offset_cs(
    y_true: Any,
    y_prob: Any = None,
    *,
    alpha: float = 0.05,
    shifts: tuple[float, ...] = SHIFTS,
    farthest: float = 3.0,
    step: float = 0.025,
    lens: str | Lens = "auto",
    where: Any = None,
    **keywords: Any,
) -> OffsetSequence:
    """An interval for the one shift of the logit that makes the scores right, if there is one; it covers at all times at once.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities in order of time. No weights.
    alpha
        Probability that the right shift is ever ruled out.
    shifts
        Alternatives: the mean of their likelihoods is held against that of each shift put to the test.
    farthest, step
        Shifts from -farthest to farthest in steps are tried; of those beyond nothing is known.
    lens, where
        Which question is asked, and of which rows.

    Examples
    --------
    >>> from calibrant.monitoring.sequences import offset_cs
    >>> offset_cs([0, 1, 0, 0, 0] * 60, [0.5] * 300)
    A logit shift from -2 to -0.825 may make the scores right (95 %, 300 rows)
    """
    check_level(alpha)
    count = round(check_positive(farthest, "farthest") / check_positive(step, "step"))
    if not isinstance(shifts, tuple) or not shifts or count > 100_000:
        raise ArgumentError("shifts", f"must be a tuple of numbers, and steps not too fine; got {shifts!r}")
    view = _ordered(y_true, y_prob, lens, where, keywords, "offset_cs")
    tried = np.arange(-count, count + 1, dtype=np.float64) * step
    inside = (view.score > 0) & (view.score < 1)
    if impossible_rows(view.outcome, view.score).any():
        return OffsetSequence(math.nan, math.nan, float(alpha), view.n, view.lens, math.inf)
    score, outcome = view.score[inside], view.outcome[inside]
    mixture = log_mean(np.array([_likelihood(score, outcome, d) for d in shifts]))
    largest = [float((mixture - _likelihood(score, outcome, d)).max(initial=0.0)) for d in tried.tolist()]
    kept = np.array(largest) < -math.log(alpha)
    return OffsetSequence(*_ends(tried, kept), float(alpha), view.n, view.lens, float(tried[-1]))


def _ends(tried: Floats, kept: NDArray[np.bool_]) -> tuple[float, float]:
    """The outermost shifts that are kept; one at the end of those tried tells nothing of what lies beyond."""
    if not kept.any():
        return math.nan, math.nan
    low, high = float(tried[kept][0]), float(tried[kept][-1])
    return -math.inf if kept[0] else low, math.inf if kept[-1] else high


def _plain(value: Any) -> Any:
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(value)


def _likelihood(score: Floats, outcome: Floats, shift: float) -> Floats:
    """Logarithm of how much likelier scores moved by `shift` make the outcomes than the scores do, after each row."""
    return np.cumsum(shift * outcome - np.log1p(score * math.expm1(shift)))


def _ordered(y_true: Any, y_prob: Any, lens: Any, where: Any, keywords: dict[str, Any], who: str) -> View:
    if isinstance(y_true, Sketch):
        raise ArgumentError("y_true", f"is a Sketch, which has lost the order of rows that {who} needs", "pass rows")
    view = one_view(y_true, y_prob, lens, where, keywords, who)
    if isinstance(view, VectorView):
        raise LensError("lens", "gives whole rows of probabilities, and one score is needed", "use 'top_label'")
    if view.weight is not None and (view.weight != 1).any():
        raise WeightsNotSupportedError(who, "goes row by row, and a weight is no row", "drop the weights")
    return view

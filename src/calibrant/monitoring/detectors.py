"""Detectors of a change from right to wrong scores, window by window; each starts again after an alarm."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InputError, LensError
from ..input.convert import is_number
from ..util.results import frame_of, html_table, number
from .alternatives import SHIFTS, SLOPES, Wagers, as_counted
from .learning import Memory

__all__ = ["EDetector", "Kind", "check_bets", "check_detector", "fixed_bets", "start_detector"]

Floats = NDArray[np.float64]
Kind = Literal["sr", "cusum"]
# Stands for infinity in sums, so that no difference of two infinities arises.
HUGE = 1e9
FORMAT = 1


def fixed_bets(shifts: tuple[float, ...] = SHIFTS, slopes: tuple[float, ...] = SLOPES) -> Wagers:
    """Bets that learn nothing, as a detector needs that starts again after every step."""
    return Wagers(shifts=shifts, slopes=slopes, learner=None)


@dataclass(frozen=True)
class EDetector:
    """A detector of a change from right to wrong scores; `update` gives the next state.

    The time to a false alarm is at least `run_length` windows on average, whatever the scores, and a false alarm within n
    windows has a probability of at most n / run_length.
    """

    wagers: Wagers
    run_length: float
    kind: Kind
    lens: str
    logs: Floats = field(repr=False, compare=False)
    """Logarithm of the statistic of each member; minus infinity at the start."""
    windows: int = 0
    rows: int = 0
    alarms: tuple[int, ...] = ()
    """After how many windows each alarm came; the detector then started again."""

    @property
    def log_value(self) -> float:
        """Logarithm of the statistic now; minus infinity right after a start."""
        with np.errstate(divide="ignore"):
            return float(np.logaddexp.reduce(self.logs + np.log(self.wagers.weights)))

    @property
    def alarmed(self) -> bool:
        """Whether the last window raised an alarm."""
        return bool(self.alarms) and self.alarms[-1] == self.windows

    def update(self, window: Any) -> EDetector:
        """The state after one more window of labelled rows, a Sketch or View; one without rows only counts."""
        data = as_counted(window)
        if not data.total:
            return replace(self, windows=self.windows + 1)
        if window.lens != self.lens:
            raise LensError("window", f"{window.lens!r} asks another question than {self.lens!r}", "keep to one lens")
        gains = np.minimum(self.wagers.gains(data, Memory.fresh(1))[0], HUGE)
        before = np.logaddexp(self.logs, 0) if self.kind == "sr" else np.maximum(self.logs, 0)
        logs = before + gains
        state = replace(self, logs=logs, windows=self.windows + 1, rows=self.rows + data.total)
        if state.log_value < math.log(self.run_length):
            return state
        return replace(state, logs=np.full(len(logs), -np.inf), alarms=(*self.alarms, state.windows))

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON holds, from which `of_dict` makes the same state again."""
        names = ("run_length", "kind", "lens", "windows", "rows")
        logs = [v if math.isfinite(v) else repr(v) for v in self.logs.tolist()]
        plain = {name: getattr(self, name) for name in names}
        return {"format": FORMAT, "wagers": self.wagers.to_dict(), **plain, "logs": logs, "alarms": list(self.alarms)}

    @classmethod
    def of_dict(cls, plain: Mapping[str, Any]) -> EDetector:
        """The state that `to_dict` wrote down."""
        if not isinstance(plain, Mapping) or plain.get("format") != FORMAT:
            raise InputError("plain", f"is no state of format {FORMAT}", "pass what to_dict gave")
        try:
            wagers = Wagers.of_dict(plain["wagers"])
            logs = np.array([float(v) for v in plain["logs"]])
            alarms = tuple(int(v) for v in plain["alarms"])
            words = (float(plain["run_length"]), plain["kind"], str(plain["lens"]))
            state = cls(wagers, *words, logs, int(plain["windows"]), int(plain["rows"]), alarms)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError("plain", f"holds no whole state ({error})", "pass what to_dict gave") from None
        if logs.shape != (len(wagers.names),) or np.isnan(logs).any():
            raise InputError("plain", "its statistic does not fit its bets", "pass what to_dict gave")
        return state

    def to_frame(self) -> Any:
        """One row for each alarm, as a frame of the library at hand."""
        return frame_of({"window": list(self.alarms)})

    def __repr__(self) -> str:
        found = f"{len(self.alarms)} alarms" if len(self.alarms) != 1 else "1 alarm"
        return f"{self.kind} detector: {found} in {self.windows:,} windows; a false one every {number(self.run_length)} windows at most"

    def _repr_html_(self) -> str:
        return html_table(["alarm after window"], [[when] for when in self.alarms], repr(self))


def start_detector(
    *, run_length: float, kind: Kind = "sr", lens: str = "top_label", wagers: Wagers | None = None
) -> EDetector:
    """A detector that has seen nothing.

    Parameters
    ----------
    run_length
        Windows between false alarms that you accept, on average; for 365 windows and a chance of 5 % of any false alarm: 7300.
    kind
        ``"sr"`` (Shiryaev and Roberts), or ``"cusum"``, which is slower at the same guarantee.
    lens
        The lens of the windows to come.
    wagers
        What is bet on, without a learner, a tolerance or bins.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.monitoring.detectors import start_detector
    >>> state = start_detector(run_length=1000, lens="binary")
    >>> for day in range(12):
    ...     warp = cal.simulate.bias(0.0 if day < 6 else 1.0)
    ...     drawn = cal.make_miscalibrated(100, warp=warp, rng=day)
    ...     state = state.update(cal.Sketch.of(drawn.y_true, drawn.y_prob))
    >>> state.alarms
    (8, 9, 11)
    """
    chosen = check_bets(wagers)
    check_detector(run_length, kind)
    return EDetector(chosen, float(run_length), kind, lens, np.full(len(chosen.names), -np.inf))


def check_bets(wagers: Wagers | None) -> Wagers:
    """Bets that learn nothing and have one capital."""
    chosen = fixed_bets() if wagers is None else wagers
    if chosen.learner is not None or chosen.edges is not None:
        raise ArgumentError("wagers", "must have neither a learner nor bins here", "use fixed shifts and slopes")
    return chosen


def check_detector(run_length: Any, kind: Any) -> None:
    """The words of a detector."""
    if not (is_number(run_length) and 1 < run_length < math.inf):
        raise ArgumentError("run_length", f"must be a finite number above 1; got {run_length!r}", "for example 1000")
    if kind not in ("sr", "cusum"):
        raise ArgumentError("kind", f"must be 'sr' or 'cusum'; got {kind!r}")

"""Change detectors: sequential detection of a loss of calibration, and an estimate of its onset."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ..errors import ArgumentError, LensError, ShapeError
from ..sketches.sketch import Sketch
from ..util.arrays import Floats
from ..util.checks import is_number
from ..util.results import Record, number, several
from ..views.view import View
from .sequential import RULED_OUT, Alternatives, Memory, as_counted, json_floats, well_formed, window_of

Kind = Literal["sr", "cusum"]
# Used for infinity in sums, to avoid differences of two infinities.
HUGE = 1e9


@dataclass(frozen=True, repr=False)
class EDetector(Record):
    """A detector of a loss of calibration; `update` returns the next state.

    The expected time to a false alarm is at least `run_length` windows, whatever the scores, and the probability of a false
    alarm within n windows is at most n / run_length.

    Parameters
    ----------
    alternatives : Alternatives
        Shifts and slopes of the logit that are detected.
    run_length : float
        Least expected number of windows between false alarms.
    kind : {"sr", "cusum"}
        Shiryaev-Roberts or CUSUM statistic.
    lens : str
        Lens of the windows.
    logs : ndarray
        Logarithm of the statistic of each alternative.
    windows : int
        Number of windows.
    rows : int
        Number of labelled rows.
    alarms : tuple of int
        Number of windows at each alarm, after which the detector was restarted.
    """

    alternatives: Alternatives
    run_length: float
    kind: Kind
    lens: str
    logs: Floats = field(compare=False)
    windows: int = 0
    rows: int = 0
    alarms: tuple[int, ...] = ()

    @property
    def log_value(self) -> float:
        """Logarithm of the current statistic; -inf right after a start."""
        return float(self.alternatives.mixture(self.logs))

    @property
    def alarmed(self) -> bool:
        """Whether the last window raised an alarm."""
        return bool(self.alarms) and self.alarms[-1] == self.windows

    def update(self, window: Any) -> EDetector:
        """Return the state after one more window.

        Parameters
        ----------
        window : Sketch or View
            Labelled rows; a window without rows is only counted.

        Returns
        -------
        EDetector
            The next state.
        """
        data = window_of(window, self.lens)
        if not data.total:
            return replace(self, windows=self.windows + 1)
        before = np.logaddexp(self.logs, 0) if self.kind == "sr" else np.maximum(self.logs, 0)
        logs = before + np.minimum(self.alternatives.log_evalues(data, Memory.fresh()), HUGE)
        state = replace(self, logs=logs, windows=self.windows + 1, rows=self.rows + data.total)
        if state.log_value < math.log(self.run_length):
            return state
        return replace(state, logs=np.full(len(logs), -np.inf), alarms=(*self.alarms, state.windows))

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON values.

        Returns
        -------
        dict
            Input of `of_dict`.
        """
        plain = {name: getattr(self, name) for name in ("run_length", "kind", "lens", "windows", "rows")}
        state = {"logs": json_floats(self.logs), "alarms": list(self.alarms)}
        return {"alternatives": self.alternatives.to_dict(), **plain, **state}

    @classmethod
    def of_dict(cls, plain: Mapping[str, Any]) -> EDetector:
        """Restore a state from the result of `to_dict`.

        Parameters
        ----------
        plain : mapping
            Result of `to_dict`.

        Returns
        -------
        EDetector
            The state.
        """
        with well_formed(plain):
            alternatives = Alternatives.of_dict(plain["alternatives"])
            logs = np.array([float(v) for v in plain["logs"]])
            alarms = tuple(int(v) for v in plain["alarms"])
            fixed = (float(plain["run_length"]), plain["kind"], str(plain["lens"]))
            if logs.shape != (len(alternatives.names),) or np.isnan(logs).any():
                raise ValueError("the statistic does not match the alternatives")
            return cls(alternatives, *fixed, logs, int(plain["windows"]), int(plain["rows"]), alarms)

    def _columns(self) -> dict[str, list[Any]]:
        """One row per alarm."""
        return {"window": list(self.alarms)}

    def _title(self) -> str:
        alarms = f"{len(self.alarms)} alarms" if len(self.alarms) != 1 else "1 alarm"
        return f"{self.kind} detector: {alarms} in {several(self.windows, 'window')}; at most one false alarm per {number(self.run_length)} windows on average"


def start_detector(
    *, run_length: float, kind: Kind = "sr", lens: str = "top_label", alternatives: Alternatives | None = None
) -> EDetector:
    """Return a change detector before its first window.

    Parameters
    ----------
    run_length : float
        Least expected number of windows between false alarms; 7300 for a probability of at most 5% in 365 windows.
    kind : {"sr", "cusum"}, default "sr"
        Shiryaev-Roberts, or CUSUM, which is slower at the same guarantee.
    lens : str, default "top_label"
        Lens of the windows.
    alternatives : Alternatives, optional
        Alternatives to detect, without a learner.

    Returns
    -------
    EDetector
        The initial state.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.monitoring.changepoint import start_detector
    >>> state = start_detector(run_length=1000, lens="binary")
    >>> for day in range(12):
    ...     warp = cal.inference.simulation.bias(0.0 if day < 6 else 1.0)
    ...     drawn = cal.inference.make_miscalibrated(100, warp=warp, rng=day)
    ...     state = state.update(cal.Sketch.of(drawn.y_true, drawn.y_prob))
    >>> state.alarms
    (8, 9, 11)
    """
    without_learner = _without_learner(alternatives)
    check_detector(run_length, kind)
    return EDetector(without_learner, float(run_length), kind, lens, np.full(len(without_learner.names), -np.inf))


def _without_learner(alternatives: Alternatives | None) -> Alternatives:
    """Alternatives without a learner, as detectors need them."""
    given_or_default = Alternatives(learner=None) if alternatives is None else alternatives
    if given_or_default.learner is not None:
        raise ArgumentError("alternatives", "a learner is not supported here", "use fixed shifts and slopes")
    return given_or_default


def check_detector(run_length: Any, kind: Any) -> None:
    """The arguments of a detector."""
    if not (is_number(run_length) and 1 < run_length < math.inf):
        raise ArgumentError("run_length", f"must be a finite number above 1; got {run_length!r}", "for example 1000")
    if kind not in ("sr", "cusum"):
        raise ArgumentError("kind", f"must be 'sr' or 'cusum'; got {kind!r}")


# Onset of a change


def _log_evalues(windows: Sequence[Sketch | View], alternatives: Alternatives) -> Floats:
    """Logarithm of the e-value of each window and alternative, (windows, members)."""
    counted = [as_counted(window) for window in windows]
    nothing = np.zeros(len(alternatives.names))
    values = [alternatives.log_evalues(data, Memory.fresh()) if data.total else nothing for data in counted]
    return np.minimum(np.array(values), HUGE)


def _onset(logs: Floats) -> tuple[int, int | None]:
    """Window and alternative with the largest e-value from there on; after an impossible outcome, its window and None."""
    impossible = (logs >= HUGE).any(axis=1)
    if impossible.any():
        return int(np.argmax(impossible)), None
    tail = np.cumsum(logs[::-1], axis=0)[::-1]
    step, member = np.unravel_index(int(np.argmax(tail)), tail.shape)
    return int(step), int(member)


def goes_on(before: Sequence[Sketch], since: Sequence[Sketch], run_length: float) -> bool:
    """Whether an alarm continues the change of the previous alarm.

    The alternatives supported by the previous alarm must still be supported by all windows since, and no later onset may be
    supported better by a factor of `run_length`. This fails after a recovery or a change of direction.

    Parameters
    ----------
    before : sequence of Sketch
        Labelled windows from the start of the detector to the previous alarm.
    since : sequence of Sketch
        Labelled windows from there to the new alarm.
    run_length : float
        Run length of the detector.

    Examples
    --------
    >>> import calibrant as cal
    >>> low, right, high = (cal.Sketch.of(y, [0.5] * 40) for y in ([0] * 40, [0, 1] * 20, [1] * 40))
    >>> goes_on([right, low], [low], 1000), goes_on([low], [right, right, right, low], 1000), goes_on([low], [high], 1000)
    (True, False, False)
    """
    old, new = (_log_evalues(windows, _without_learner(None)) for windows in (before, since))
    impossible = [bool((logs >= HUGE).any()) for logs in (old, new)]
    if any(impossible):
        return all(impossible)
    for_it = old[_onset(old)[0] :].sum(axis=0) > 0
    tail = np.cumsum(new[::-1], axis=0)[::-1]
    still = float(tail[0, for_it].max(initial=-math.inf))
    return still > 0 and float(tail.max()) - still < math.log(run_length)


@dataclass(frozen=True, repr=False)
class ChangePoint(Record):
    """Maximum likelihood estimate of the onset of a change; it does not establish that there was one."""

    index: int
    """First window after the change, counted from 0."""
    log_evidence: float
    """Logarithm of the largest e-value from there on; below about 3 there is little evidence of a change, infinite after an impossible outcome."""
    alternative: str
    """The alternative with that e-value; or, after an outcome with predicted probability 0, that outcome, and `index` is its window."""
    n: int

    def _title(self) -> str:
        where = f"window {self.index} of {self.n:,}"
        return f"Estimated onset, if there was a change: {where}; {self.alternative}, log evidence {number(self.log_evidence)}"


def locate_change(windows: Sequence[Sketch | View], *, alternatives: Alternatives | None = None) -> ChangePoint:
    """Estimate the onset of a loss of calibration; intended for use after an alarm.

    Parameters
    ----------
    windows : sequence of Sketch or View
        Labelled windows in order of time.
    alternatives : Alternatives, optional
        Shifts and slopes of the logit; by default those of detectors.

    Returns
    -------
    ChangePoint
        The estimate ``index``.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.monitoring.changepoint import locate_change
    >>> right, wrong = cal.Sketch.of([0, 1] * 20, [0.5] * 40), cal.Sketch.of([1] * 40, [0.5] * 40)
    >>> locate_change([right, right, right, wrong, wrong]).index
    3
    """
    without_learner = _without_learner(alternatives)
    if not windows:
        raise ShapeError("windows", "is empty", "pass a list of windows")
    if len({window.lens for window in windows}) > 1:
        raise LensError("windows", "have different lenses", "use one lens")
    logs = _log_evalues(windows, without_learner)
    step, member = _onset(logs)
    if member is None:
        return ChangePoint(step, math.inf, RULED_OUT, len(logs))
    evidence = float(np.cumsum(logs[step:, member][::-1])[-1])
    return ChangePoint(step, evidence, without_learner.names[member], len(logs))

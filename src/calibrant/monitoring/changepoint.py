"""When did the scores go wrong? A detector run along a stream, and an estimate of when the change began."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, LensError, ShapeError
from ..inference.sequential import check_level, one_view
from ..sketches.sketch import Sketch
from ..util.results import frame_of, html_table, number
from ..views.lenses import Lens
from ..views.view import VectorView, View
from .alternatives import RULED_OUT, Wagers, as_counted
from .detectors import HUGE, EDetector, Kind, check_bets, check_detector, start_detector
from .learning import Memory

__all__ = ["ChangePoint", "Detections", "EDetector", "detect_changes", "goes_on", "locate_change", "start_detector"]

Floats = NDArray[np.float64]
# Steps whose paths are found together.
BLOCK = 4096


@dataclass(frozen=True)
class Detections:
    """Alarms of a detector along a stream, each with an estimate of when the change began."""

    alarms: tuple[int, ...]
    """After how many steps each alarm came."""
    onsets: tuple[int, ...]
    """Index of the first step that had changed, by estimate."""
    log_path: Floats = field(repr=False, compare=False)
    """Logarithm of the statistic after each step, before any new start."""
    run_length: float
    kind: Kind
    unit: str
    """What a step is: ``"row"`` or ``"window"``."""

    @property
    def path(self) -> Floats:
        with np.errstate(over="ignore"):
            return np.exp(np.where(self.log_path > HUGE / 2, np.inf, self.log_path))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        names = ("run_length", "kind", "unit")
        lists = {"alarms": list(self.alarms), "onsets": list(self.onsets), "path": self.path.tolist()}
        return {**{name: getattr(self, name) for name in names}, **lists}

    def to_frame(self) -> Any:
        """One row for each alarm, as a frame of the library at hand."""
        return frame_of({"alarm": list(self.alarms), "onset": list(self.onsets)})

    def __repr__(self) -> str:
        sure = f"a false alarm at most every {number(self.run_length)} {self.unit}s on average"
        if not self.alarms:
            return f"No alarm in {len(self.log_path):,} {self.unit}s ({sure})"
        pairs = ", ".join(f"{a} (onset about {o})" for a, o in zip(self.alarms[:5], self.onsets, strict=False))
        return f"{len(self.alarms)} alarms in {len(self.log_path):,} {self.unit}s, after {pairs} ({sure})"

    def _repr_html_(self) -> str:
        return html_table(["alarm", "onset"], list(zip(self.alarms, self.onsets, strict=True)), repr(self))


def detect_changes(
    y_true: Any,
    y_prob: Any = None,
    *,
    run_length: float,
    kind: Kind = "sr",
    wagers: Wagers | None = None,
    lens: str | Lens = "auto",
    where: Any = None,
    **keywords: Any,
) -> Detections:
    """Run a detector along rows in order of time, or along windows.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities in order of time; or in place of both a list of windows, each a labelled Sketch or View.
    run_length, kind, wagers
        As for `start_detector`; `run_length` counts rows or windows, whichever were given.
    lens, where
        Which question is asked, and of which rows.

    Examples
    --------
    >>> from calibrant.monitoring.changepoint import detect_changes
    >>> found = detect_changes([0, 1] * 50 + [1] * 8, [0.5] * 108, run_length=100)
    >>> found.alarms, found.onsets
    ((107,), (99,))
    """
    chosen = check_bets(wagers)
    check_detector(run_length, kind)
    gains, unit = _gains_of(y_true, y_prob, chosen, lens, where, keywords)
    return _run(gains, chosen, float(run_length), kind, unit)


def _gains_of(
    y_true: Any, y_prob: Any, wagers: Wagers, lens: Any, where: Any, keywords: Mapping[str, Any]
) -> tuple[Floats, str]:
    """Logarithm of the factor of each step, (steps, members), and what a step is."""
    if isinstance(y_true, (list, tuple)) and y_true and all(isinstance(w, (Sketch, View)) for w in y_true):
        lenses = {window.lens for window in y_true}
        if len(lenses) > 1:
            raise LensError("y_true", f"the windows ask different questions: {sorted(lenses)}", "keep to one lens")
        return np.array([_step(window, wagers) for window in y_true]), "window"
    if isinstance(y_true, Sketch):
        raise ArgumentError("y_true", "is one Sketch, which has lost the order of rows", "pass a list of windows")
    view = one_view(y_true, y_prob, lens, where, dict(keywords), "detect_changes")
    if isinstance(view, VectorView):
        raise LensError("lens", "gives whole rows of probabilities, and one score is needed", "use 'top_label'")
    if view.weight is not None and (view.weight != 1).any():
        if view.weight_kind == "counts":
            raise ArgumentError(
                "counts", "rows have an order here, which counts do not tell", "repeat the rows in order"
            )
        raise ArgumentError("sample_weight", "a weight is no row, and rows have an order here", "drop the weights")
    return np.minimum(wagers.each_row(view.score, view.outcome), HUGE), "row"


def _step(window: Sketch | View, wagers: Wagers) -> Floats:
    data = as_counted(window)
    return np.minimum(wagers.gains(data, Memory.fresh(1))[0], HUGE) if data.total else np.zeros(len(wagers.names))


def _path(gains: Floats, start: Floats, kind: Kind) -> Floats:
    """Logarithm of each member's statistic after each step, from where it stood."""
    total = np.cumsum(gains, axis=0)
    before = np.vstack([np.zeros(gains.shape[1]), total[:-1]])
    if kind == "sr":
        before = -before
        before[0] = np.logaddexp(start, 0)
        return total + np.logaddexp.accumulate(before, axis=0)
    before = -before
    before[0] = np.maximum(start, 0)
    return np.asarray(total + np.maximum.accumulate(before, axis=0))


def _run(gains: Floats, wagers: Wagers, run_length: float, kind: Kind, unit: str) -> Detections:
    """Blocks of steps at once, each up to its first alarm."""
    log_weight, level = np.log(wagers.weights), math.log(run_length)
    nothing = np.full(gains.shape[1], -np.inf)
    path, alarms, onsets = np.empty(len(gains)), [], []
    logs, at, begun = nothing, 0, 0
    while at < len(gains):
        members = _path(gains[at : at + BLOCK], logs, kind)
        value = np.logaddexp.reduce(members + log_weight, axis=1)
        over = np.flatnonzero(value >= level)
        stop = at + (int(over[0]) + 1 if len(over) else len(value))
        path[at:stop], logs = value[: stop - at], members[stop - at - 1]
        at = stop
        if len(over):
            alarms.append(at)
            onsets.append(begun + _onset(gains[begun:at])[0])
            logs, begun = nothing, at
    return Detections(tuple(alarms), tuple(onsets), path, run_length, kind, unit)


def _onset(gains: Floats) -> tuple[int, int | None]:
    """The step and member from which on the bets won most; the first impossible step and no member where there is one."""
    impossible = (gains >= HUGE).any(axis=1)
    if impossible.any():
        return int(np.argmax(impossible)), None
    tail = np.cumsum(gains[::-1], axis=0)[::-1]
    step, member = np.unravel_index(int(np.argmax(tail)), tail.shape)
    return int(step), int(member)


def goes_on(before: Sequence[Sketch], since: Sequence[Sketch], run_length: float) -> bool:
    """Whether an alarm reports the change of the alarm before it, and not another one.

    The alternatives that explained the last alarm must still explain the windows since, from the first of them on, and no change
    that began later may explain these better by a factor of `run_length`. After a recovery, or a change of direction, that fails.

    Parameters
    ----------
    before, since
        Labelled windows up to the last alarm since the detector started, and those from there to the new alarm.
    run_length
        That of the detector.

    Examples
    --------
    >>> import calibrant as cal
    >>> low, right, high = (cal.Sketch.of(y, [0.5] * 40) for y in ([0] * 40, [0, 1] * 20, [1] * 40))
    >>> goes_on([right, low], [low], 1000), goes_on([low], [right, right, right, low], 1000), goes_on([low], [high], 1000)
    (True, False, False)
    """
    chosen = check_bets(None)
    old, new = (np.array([_step(window, chosen) for window in windows]) for windows in (before, since))
    impossible = [bool((gains >= HUGE).any()) for gains in (old, new)]
    if any(impossible):
        return all(impossible)
    won = old[_onset(old)[0] :].sum(axis=0) > 0
    tail = np.cumsum(new[::-1], axis=0)[::-1]
    still = float(tail[0, won].max(initial=-math.inf))
    return still > 0 and float(tail.max()) - still < math.log(run_length)


@dataclass(frozen=True)
class ChangePoint:
    """The likeliest beginning of a change, by estimate: there is no guarantee, and there may have been none."""

    index: int
    """First step that had changed, counted from 0."""
    low: int
    high: int
    """Between these it began with probability `level`, if one change happened, to one of the alternatives, any step being as likely."""
    level: float
    log_evidence: float
    """What the best bet won from there on; below about 3 there is hardly a change, and infinite after an impossible outcome."""
    alternative: str
    """What that bet was on, or that an outcome was impossible: a score of 0 or 1 ruled it out, and `index` is the first such step."""
    unit: str
    n: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        names = ("index", "low", "high", "level", "log_evidence", "alternative", "unit", "n")
        return {name: getattr(self, name) for name in names}

    def to_frame(self) -> Any:
        """One row, as a frame of the library at hand."""
        return frame_of({name: [value] for name, value in self.to_dict().items()})

    def __repr__(self) -> str:
        where = f"{self.unit} {self.index} (between {self.low} and {self.high} with {100 * self.level:g} %)"
        return f"If there was a change, it began about {where}, of {self.n:,}: {self.alternative}, log evidence {number(self.log_evidence)}"

    def _repr_html_(self) -> str:
        return html_table(list(self.to_dict()), [[str(v) for v in self.to_dict().values()]], repr(self))


def locate_change(
    y_true: Any,
    y_prob: Any = None,
    *,
    wagers: Wagers | None = None,
    level: float = 0.9,
    lens: str | Lens = "auto",
    where: Any = None,
    **keywords: Any,
) -> ChangePoint:
    """Estimate from which step on the scores were wrong; best asked after an alarm.

    Parameters
    ----------
    y_true, y_prob, lens, where
        As for `detect_changes`.
    wagers
        The alternatives: shifts and slopes of the logit, by default those of detectors.
    level
        Probability of the interval.

    Examples
    --------
    >>> from calibrant.monitoring.changepoint import locate_change
    >>> locate_change([0, 1] * 50 + [1] * 50, [0.5] * 150).index
    99
    """
    chosen = check_bets(wagers)
    check_level(level)
    gains, unit = _gains_of(y_true, y_prob, chosen, lens, where, keywords)
    if not len(gains):
        raise ShapeError("y_true", "holds no steps", "pass rows or windows")
    step, member = _onset(gains)
    tail = np.cumsum(gains[::-1], axis=0)[::-1]
    log_mass = np.logaddexp.reduce(tail + np.log(chosen.weights), axis=1)
    mass = np.cumsum(np.exp(log_mass - log_mass.max()))
    mass /= mass[-1]
    low, high = (int(np.searchsorted(mass, share)) for share in ((1 - level) / 2, (1 + level) / 2))
    evidence, name = (math.inf, RULED_OUT) if member is None else (float(tail[step, member]), chosen.names[member])
    low, high = min(low, step), max(min(high, len(gains) - 1), step)
    return ChangePoint(step, low, high, float(level), evidence, name, unit, len(gains))

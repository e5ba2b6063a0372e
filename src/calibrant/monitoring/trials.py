"""How often bets raise a false alarm, and how soon they find a change: many simulated streams at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..decision.rows import upper_bound
from ..errors import ArgumentError, InputError
from ..inference.resampling import generator, seed_of
from ..inference.sequential import check_level
from ..inference.simulation.warps import as_warp
from ..util.checks import check_whole
from ..util.results import frame_of, html_table, number
from .alternatives import Counted, Wagers
from .detectors import HUGE, Kind, check_bets, check_detector
from .learning import Memory
from .samples import as_sample

__all__ = ["WatchTrials", "detector_threshold", "simulate_watch"]

Floats = NDArray[np.float64]
# Recorded scores are drawn from at most this many cells.
MOST_CELLS = 60


@dataclass(frozen=True)
class WatchTrials:
    """Simulated streams, each watched for the same number of windows."""

    first: Floats = field(repr=False, compare=False)
    """After how many windows each stream first reached 1/alpha; infinite where it never did."""
    windows: int
    rows: int
    """Labelled rows in each window."""
    alpha: float
    truth: str
    after: int = 0
    """Windows before the truth changed."""

    @property
    def streams(self) -> int:
        return len(self.first)

    @property
    def alarms(self) -> int:
        """Streams with an alarm."""
        return int(np.isfinite(self.first).sum())

    @property
    def rate(self) -> float:
        """Share of streams with an alarm."""
        return self.alarms / self.streams

    @property
    def rate_at_most(self) -> float:
        """The true share is above this with probability at most 2.5 %."""
        return float(upper_bound(self.alarms, self.streams, 0.025))

    def rows_to_alarm(self, share: float) -> float:
        """How many rows after the change this share of the streams had an alarm; those that had one before it are left out."""
        check_level(share)
        later = np.sort(self.first[self.first > self.after])
        if not len(later):
            return math.nan
        return float((later[math.ceil(share * len(later)) - 1] - self.after) * self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; an alarm that never came is None."""
        names = ("windows", "rows", "alpha", "truth", "after", "streams", "alarms", "rate", "rate_at_most")
        first = [v if math.isfinite(v) else None for v in self.first.tolist()]
        return {**{name: getattr(self, name) for name in names}, "first": first}

    def to_frame(self) -> Any:
        """One row for each stream, as a frame of the library at hand."""
        return frame_of({"stream": list(range(self.streams)), "first_window": self.first.tolist()})

    def __repr__(self) -> str:
        seen = f"{self.alarms:,} of {self.streams:,} streams had an alarm within {self.windows:,} windows of {self.rows:,} rows"
        half = f"half of them within {number(self.rows_to_alarm(0.5))} rows, " if self.rate >= 0.5 else ""
        return f"{seen} ({half}level {self.alpha:g}, truth: {self.truth})"

    def _repr_html_(self) -> str:
        row = [self.alarms, self.streams, number(self.rate), number(self.rows_to_alarm(0.5))]
        return html_table(["alarms", "streams", "rate", "rows to half"], [row], repr(self))


def simulate_watch(
    scores: Any,
    *,
    truth: Any = None,
    rows: int = 100,
    windows: int = 365,
    streams: int = 1000,
    after: int = 0,
    alpha: float = 0.05,
    wagers: Wagers | None = None,
    rng: Any = 0,
) -> WatchTrials:
    """Watch simulated streams whose scores are drawn from recorded ones and whose labels are drawn from the truth.

    Parameters
    ----------
    scores
        Recorded scores: a Sketch, a View, a Sample or numbers from 0 to 1.
    truth
        None draws labels from the scores themselves, so that every alarm is false; else a warp such as
        ``simulate.temperature(1.3)``, or a function, gives the true rate of each score.
    rows, windows, streams
        Labelled rows in a window, windows in a stream, and streams.
    after
        Windows that are drawn from the scores themselves before `truth` holds.
    alpha, wagers
        As for `start_eprocess`.
    rng
        None, a seed or a Generator.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.monitoring.trials import simulate_watch
    >>> simulate_watch(np.linspace(0.05, 0.95, 19), rows=20, windows=30, streams=200).rate <= 0.05
    True
    """
    check_level(alpha)
    for value, argument in ((rows, "rows"), (windows, "windows"), (streams, "streams")):
        check_whole(value, argument)
    check_whole(after, "after", 0)
    chosen = Wagers() if wagers is None else wagers
    score, share = _law(scores)
    rate = _true_rates(score, truth)
    draw = generator(seed_of(rng), 0)
    logs, memory = np.zeros((streams, chosen.bins, len(chosen.names))), Memory.fresh(streams, chosen.bins)
    first = np.full(streams, np.inf)
    active = np.arange(streams)
    for window in range(1, windows + 1):
        counted = draw.multinomial(rows, share, size=len(active)).astype(np.int64)
        positives = draw.binomial(counted, rate if window > after else score)
        data = Counted(score, counted.astype(np.float64), positives.astype(np.float64))
        logs = logs + chosen.gains(data, memory)
        memory = chosen.learn(data, memory)
        over = chosen.value(logs) >= -math.log(alpha)
        first[active[over]] = window
        # A stream that had its alarm is done.
        active, logs, memory = active[~over], logs[~over], Memory(*(part[~over] for part in memory))
        if not len(active):
            break
    return WatchTrials(first, windows, rows, float(alpha), "the scores" if truth is None else repr(truth), after)


def _law(scores: Any) -> tuple[Floats, Floats]:
    """Scores and their shares, neighbours put together where there are many."""
    sample = as_sample(scores, "scores", "simulate_watch")
    if sample.value[0] < 0 or sample.value[-1] > 1:
        raise InputError("scores", "must lie between 0 and 1", "pass probabilities")
    group = np.floor((np.cumsum(sample.share) - sample.share) * MOST_CELLS + 1e-9).astype(np.int64)
    _, group = np.unique(group, return_inverse=True)
    share = np.bincount(group, sample.share)
    value = np.bincount(group, sample.share * sample.value) / share
    return np.clip(value, 0.0, 1.0), np.asarray(share / share.sum())


def _true_rates(score: Floats, truth: Any) -> Floats:
    if truth is None:
        return score
    curve: Callable[[Floats], Any] = as_warp(truth).curve
    rate = np.asarray(curve(score), dtype=np.float64)
    if rate.shape != score.shape or not ((rate >= 0) & (rate <= 1)).all():
        raise ArgumentError("truth", "must turn each score into a rate from 0 to 1")
    return rate


def detector_threshold(
    scores: Any,
    *,
    run_length: float,
    kind: Kind = "cusum",
    rows: int = 1,
    streams: int = 400,
    wagers: Wagers | None = None,
    rng: Any = 0,
) -> float:
    """The threshold at which a detector's time to a false alarm is `run_length` windows on average, by simulation.

    It is lower than `run_length`, which holds for any scores; it holds for streams whose scores are like those recorded.

    Parameters
    ----------
    scores
        Recorded scores, as for `simulate_watch`.
    run_length
        Windows between false alarms.
    kind, wagers
        As for `start_detector`, to which the result can be given as `run_length`.
    rows, streams
        Labelled rows in a window, and simulated streams.
    rng
        None, a seed or a Generator.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.monitoring.trials import detector_threshold
    >>> found = detector_threshold(np.linspace(0.05, 0.95, 19), run_length=50, rows=5, rng=0)
    >>> 1 < found < 50
    True
    """
    chosen = check_bets(wagers)
    check_detector(run_length, kind)
    check_whole(rows, "rows")
    check_whole(streams, "streams", 10)
    score, share = _law(scores)
    draw = generator(seed_of(rng), 0)
    logs = np.full((streams, len(chosen.names)), -np.inf)
    # The running maximum of each stream tells at which threshold it would have stopped when.
    top, steps = np.full(streams, -np.inf), max(10, math.ceil(5 * run_length))
    history = np.empty((steps, streams))
    for step in range(steps):
        counted = draw.multinomial(rows, share, size=streams).astype(np.int64)
        data = Counted(score, counted.astype(np.float64), draw.binomial(counted, score).astype(np.float64))
        gains = np.minimum(chosen.gains(data, Memory.fresh(streams, 1))[:, 0], HUGE)
        logs = (np.logaddexp(logs, 0) if kind == "sr" else np.maximum(logs, 0)) + gains
        top = np.maximum(top, np.logaddexp.reduce(logs + np.log(chosen.weights), axis=1))
        history[step] = top
    return math.exp(_level(history, run_length))


def _level(history: Floats, run_length: float) -> float:
    """The level whose mean time to be reached is `run_length`: times are nearly geometric, so those cut off count by their rate."""
    low, high = 0.0, math.log(run_length)
    for _ in range(40):
        middle = (low + high) / 2
        reached = history >= middle
        times = np.where(reached.any(axis=0), reached.argmax(axis=0) + 1, len(history))
        mean = times.sum() / max(1, int(reached.any(axis=0).sum()))
        low, high = (low, middle) if mean >= run_length else (middle, high)
    return high

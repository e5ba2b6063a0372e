"""Which alternatives are bet on, and what a window of labelled rows pays; every bet is fixed by the windows before it.

Arrays may have leading axes for many streams at once, which then share the scores of their cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InputError, InputTypeError, UndefinedMetricError, WeightsNotSupportedError
from ..inference.bets import impossible_rows
from ..input.convert import is_number
from ..sketches.sketch import Sketch
from ..util.cached import cached_property
from ..views.view import View
from .learning import Memory, cox_gains, learn, stake_gains

__all__ = ["Counted", "Wagers", "as_counted", "require_labels"]

Floats = NDArray[np.float64]
SHIFTS = (-1.0, -0.5, -0.25, -0.1, 0.1, 0.25, 0.5, 1.0)
SLOPES = (0.5, 0.7, 1.4, 2.0)
STAKES = (0.05, 0.1, 0.2, 0.4, 0.6)
# What speaks against the scores where every bet has won without bound.
RULED_OUT = "an outcome that a score of 0 or 1 rules out"


class Counted(NamedTuple):
    """Labelled rows of one window (or of many streams), counted by score."""

    score: Floats
    """(C,)."""
    rows: Floats
    """(..., C)."""
    positives: Floats

    @property
    def total(self) -> int:
        return int(self.rows.sum())


def require_labels(view: View, argument: str) -> None:
    """Refuse a view of scores whose labels have not come."""
    if view._outcome is None and view.column is None:
        raise InputError(argument, "holds scores without labels", "wait for the labels, or compare the scores alone")


def as_counted(window: Any, argument: str = "window") -> Counted:
    """The labelled rows of a Sketch or View; none at all is fine."""
    view = window.view() if isinstance(window, Sketch) else window
    if not isinstance(view, View):
        raise InputTypeError(
            argument, f"must be a labelled Sketch or View; got {type(window).__name__}", "use Sketch.of"
        )
    require_labels(view, argument)
    if view.is_soft:
        raise UndefinedMetricError("eprocess", "bets on outcomes, and these labels are soft")
    if view.weight_kind == "importance" and not (view.weights == 1).all():
        raise WeightsNotSupportedError("sample_weight", "a bet is on rows, and a weight is no row", "pass counts=")
    if view.n == 0:
        return Counted(np.empty(0), np.empty(0), np.empty(0))
    ties = view.ties
    return Counted(ties.score, ties.weight, ties.outcome)


@dataclass(frozen=True)
class Wagers:
    """What is bet on: the scores are wrong by a shift or a slope of their logit, or in a way learnt from past windows.

    With `tolerance` the hypothesis is that each score is off by no more than that, and stakes on more or fewer events replace
    shifts and slopes.
    """

    shifts: tuple[float, ...] = SHIFTS
    """The truth is sigmoid(logit p + d)."""
    slopes: tuple[float, ...] = SLOPES
    """The truth is sigmoid(k logit p): below 1 for overconfidence."""
    learner: Literal["cox", "mean"] | None = "cox"
    """A shift and a slope fitted to past windows, or a stake that follows the mean gap; None for neither."""
    learnt_share: float = 0.5
    """The part of the capital that the learner has."""
    tolerance: float = 0.0
    stakes: tuple[float, ...] = STAKES
    """For `tolerance`: what is staked on more, and on fewer, events."""
    edges: tuple[float, ...] | None = None
    """Rising edges from 0 to 1 of bins that each have a capital of their own; None for one capital."""

    def __post_init__(self) -> None:
        _check_numbers(self.shifts, "shifts", lambda d: d != 0, "must differ from 0")
        _check_numbers(self.slopes, "slopes", lambda k: k > 0 and k != 1, "must be above 0 and differ from 1")
        if self.learner not in ("cox", "mean", None):
            raise ArgumentError("learner", f"must be 'cox', 'mean' or None; got {self.learner!r}")
        if not (is_number(self.learnt_share) and 0 < self.learnt_share <= 1):
            raise ArgumentError("learnt_share", f"must lie above 0 and not above 1; got {self.learnt_share!r}")
        if not (is_number(self.tolerance) and 0 <= self.tolerance < 0.5):
            raise ArgumentError("tolerance", f"must be a number from 0 to below 0.5; got {self.tolerance!r}")
        most = 1 / (1 + self.tolerance)
        _check_numbers(self.stakes, "stakes", lambda s: 0 < s < most, f"must lie between 0 and {most:g}")
        if self.tolerance and self.learner is not None:
            raise ArgumentError("learner", "bets on exact scores, not on a tolerance", "pass learner=None")
        if not self.names:
            raise ArgumentError("shifts", "nothing is bet on", "give shifts, slopes or a learner")
        edges = (0.0, 1.0) if self.edges is None else self.edges
        if len(edges) < 2 or edges[0] != 0 or edges[-1] != 1 or not (np.diff(edges) > 0).all():
            raise ArgumentError("edges", f"must rise strictly from 0 to 1; got {list(edges)[:12]}")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each member bets on, in words."""
        if self.tolerance:
            sides = [f"{word} events, stake {s:g}" for s in self.stakes for word in ("more", "fewer")]
            return tuple(sides)
        fixed = [f"logit shift {d:+g}" for d in self.shifts] + [f"logit slope {k:g}" for k in self.slopes]
        return (*fixed, *(() if self.learner is None else (f"learnt ({self.learner})",)))

    @cached_property
    def weights(self) -> Floats:
        """The part of the capital that each member starts with."""
        count = len(self.names)
        if self.learner is None or count == 1:
            return np.full(count, 1 / count)
        return np.append(np.full(count - 1, (1 - self.learnt_share) / (count - 1)), self.learnt_share)

    @property
    def bins(self) -> int:
        return 1 if self.edges is None else len(self.edges) - 1

    def gains(self, data: Counted, memory: Memory) -> Floats:
        """Logarithm of what each member's capital is multiplied by, (..., bins, members); infinite after an impossible outcome."""
        out = np.zeros((*data.rows.shape[:-1], self.bins, len(self.names)))
        for which, part in self._parts(data):
            out[..., which, :] = self._bin_gains(part, memory.of(which))
        return out

    def _parts(self, data: Counted) -> list[tuple[int, Counted]]:
        """The rows of each bin that has any; a bin is closed on the right."""
        if self.edges is None:
            return [(0, data)]
        place = np.maximum(np.searchsorted(self.edges, data.score, side="left"), 1) - 1
        parts = ((which, place == which) for which in np.unique(place).tolist())
        return [(which, Counted(data.score[on], data.rows[..., on], data.positives[..., on])) for which, on in parts]

    def _bin_gains(self, data: Counted, memory: Memory) -> Floats:
        p, yes, no = data.score, data.positives, data.rows - data.positives
        impossible = yes[..., p == 0].sum(axis=-1) + no[..., p == 1].sum(axis=-1) > 0
        kept = (p > 0) & (p < 1)
        if not self.tolerance:
            p, yes, no = p[kept], yes[..., kept], no[..., kept]
        if_yes, if_no = self._tables(p)
        gains = yes @ if_yes.T + no @ if_no.T
        if self.learner == "cox":
            gains = np.concatenate([gains, cox_gains(p, yes, no, memory)[..., None]], axis=-1)
        elif self.learner == "mean":
            gains = np.concatenate([gains, stake_gains(p, yes, no, memory)[..., None]], axis=-1)
        if self.tolerance:
            return gains
        return np.where(impossible[..., None], np.inf, gains)

    def each_row(self, score: Floats, outcome: Floats) -> Floats:
        """Logarithm of the factor of every single row, (rows, members), of the members that learn nothing."""
        inside = (score > 0) & (score < 1) if not self.tolerance else np.ones(len(score), bool)
        if_yes, if_no = self._tables(score[inside])
        out = np.zeros((len(score), len(if_yes)))
        out[inside] = np.where(outcome[inside, None] > 0, if_yes.T, if_no.T)
        if not self.tolerance:
            out[impossible_rows(outcome, score)] = np.inf
        return out

    def _tables(self, p: Floats) -> tuple[Floats, Floats]:
        """Logarithm of the factor of a positive and of a negative row, (members, C), of the members that learn nothing."""
        if self.tolerance:
            return self._tolerant(p)
        shift = np.array(self.shifts)[:, None]
        both = -np.log1p(p * np.expm1(shift))
        slope = np.array(self.slopes)[:, None]
        low, high = np.log(p), np.log1p(-p)
        total = np.logaddexp(slope * low, slope * high)
        if_yes = np.concatenate([shift + both, slope * low - total - low])
        return if_yes, np.concatenate([both, slope * high - total - high])

    def _tolerant(self, p: Floats) -> tuple[Floats, Floats]:
        """1 + stake (r - eps) and 1 + stake (-r - eps), where r is outcome minus score."""
        eps, stake = self.tolerance, np.array(self.stakes)[:, None]
        more = (np.log1p(stake * (1 - p - eps)), np.log1p(stake * (-p - eps)))
        fewer = (np.log1p(stake * (p - 1 - eps)), np.log1p(stake * (p - eps)))
        if_yes, if_no = (np.stack(pair, axis=1).reshape(-1, len(p)) for pair in zip(more, fewer, strict=True))
        return if_yes, if_no

    def learn(self, data: Counted, memory: Memory) -> Memory:
        """What is known after a window."""
        if self.learner is None:
            return memory
        for which, part in self._parts(data):
            memory = memory.replaced(which, learn(part.score, part.rows, part.positives, memory.of(which)))
        return memory

    def value(self, logs: Floats) -> Floats:
        """Logarithm of the whole capital: over bins, half of it is their mean and half their product."""
        with np.errstate(divide="ignore"):
            own = self.bin_values(logs)
        if self.bins == 1:
            return np.asarray(own[..., 0])
        infinite = np.isposinf(own).any(axis=-1)
        together = np.where(infinite, np.inf, np.where(np.isposinf(own), 0.0, own).sum(axis=-1))
        mean = np.logaddexp.reduce(own, axis=-1) - math.log(self.bins)
        return np.asarray(np.logaddexp(mean, together) - math.log(2))

    def bin_values(self, logs: Floats) -> Floats:
        """Logarithm of the capital of each bin."""
        return np.asarray(np.logaddexp.reduce(logs + np.log(self.weights), axis=-1))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, from which `of_dict` makes the same again."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def of_dict(cls, plain: Mapping[str, Any]) -> Wagers:
        known = {f.name for f in fields(cls)}
        if not isinstance(plain, Mapping) or set(plain) != known:
            raise InputError("wagers", f"must have the entries {sorted(known)}", "read what to_dict gave")
        words: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in plain.items()}
        return cls(**words)


def _check_numbers(values: Any, argument: str, fine: Any, rule: str) -> None:
    if not isinstance(values, tuple) or not all(is_number(v) and math.isfinite(v) for v in values):
        raise ArgumentError(argument, f"must be a tuple of numbers; got {values!r}")
    for value in values:
        if not fine(value):
            raise ArgumentError(argument, f"{rule}; got {value!r}")

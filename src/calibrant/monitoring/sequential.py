"""Sequential tests of calibration, window by window, valid however often they are examined.

If every label follows its score, independently within a window given the past, the e-process ever reaches 1/alpha with
probability at most alpha (Ville's inequality). The same holds for the cells of a Sketch: the rows of a cell are tested at their mean
score, which can only lower the expected e-value. The state depends on the order of windows and cannot be merged; sketches of one
window are merged before the test. Arrays may have leading axes for many streams that share the scores of their cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from ..errors import (
    ArgumentError,
    InputError,
    InputTypeError,
    LensError,
    UndefinedMetricError,
    WeightsNotSupportedError,
)
from ..sketches.sketch import Sketch
from ..util.arrays import Floats
from ..util.cached import cached_property
from ..util.checks import check_fraction, is_number
from ..util.results import Record, number, pvalue_text, several
from ..views.view import View

SHIFTS = (-1.0, -0.5, -0.25, -0.1, 0.1, 0.25, 0.5, 1.0)
SLOPES = (0.5, 0.7, 1.4, 2.0)
# Weight of the alternative fitted to past windows.
LEARNT_SHARE = 0.5
# Reported where the e-values of all alternatives are infinite.
RULED_OUT = "an outcome with predicted probability 0"
# Before this many rows, or with one outcome only, the fitted alternative equals the null hypothesis.
LEAST_ROWS = 20
# Prior precision of shift 0 and slope 1: standard deviations of about a third.
PRIOR = 10.0
NEWTON_STEPS, LONGEST_STEP, FARTHEST, ENOUGH = 8, 1.0, 5.0, 1e-6


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


def as_counted(window: Any) -> Counted:
    """The labelled rows of a Sketch or View, possibly none."""
    view = window.view() if isinstance(window, Sketch) else window
    if not isinstance(view, View):
        raise InputTypeError(
            "window", f"must be a labelled Sketch or View; got {type(window).__name__}", "use Sketch.of"
        )
    if view._outcome is None and view.column is None:
        raise InputError("window", "has scores without labels", "wait for the labels, or test the scores alone")
    if view.is_soft:
        raise UndefinedMetricError("eprocess", "is not defined for soft labels")
    if view.weight_kind == "importance" and not (view.weights == 1).all():
        raise WeightsNotSupportedError("sample_weight", "sequential tests do not support real weights", "pass counts")
    if view.n == 0:
        return Counted(np.empty(0), np.empty(0), np.empty(0))
    ties = view.ties
    return Counted(ties.score, ties.weight, ties.outcome)


def window_of(window: Any, lens: str) -> Counted:
    """The labelled rows of a window; its lens must be that of the state."""
    data = as_counted(window)
    if data.total and window.lens != lens:
        raise LensError("window", f"has the lens {window.lens!r}; expected {lens!r}", "use one lens")
    return data


class Memory(NamedTuple):
    """Summary of past windows for the fitted alternative."""

    rows: Floats
    positives: Floats
    gap: Floats
    """Sum of outcome minus score."""
    square: Floats
    """Sum of their squares."""
    theta: Floats
    """Shift, and slope minus 1."""
    precision: Floats
    """Precision of both: entries (0, 0), (0, 1), (1, 1) of the matrix."""

    @classmethod
    def fresh(cls, *shape: int) -> Memory:
        """Initial state, for streams of this shape."""
        none = np.zeros(shape)
        precision = np.broadcast_to(np.array([PRIOR, 0.0, PRIOR]), (*shape, 3)).copy()
        return cls(none, none, none, none, np.zeros((*shape, 2)), precision)

    def after(self, data: Counted) -> Memory:
        """The state after a window: updated sums, and the posterior mode of shift and slope."""
        p, rows, positives = data
        theta, precision = _update_memory(p, rows, positives, self)
        negatives = rows - positives
        return Memory(
            self.rows + rows.sum(axis=-1),
            self.positives + positives.sum(axis=-1),
            self.gap + (positives - rows * p).sum(axis=-1),
            self.square + (positives * (1 - p) ** 2 + negatives * p**2).sum(axis=-1),
            theta,
            precision,
        )


def _cox_evidence(p: Floats, yes: Floats, no: Floats, memory: Memory) -> Floats:
    """Logarithm of the likelihood ratio of the fitted shift and slope against the scores."""
    ready = (memory.rows >= LEAST_ROWS) & (memory.positives > 0) & (memory.positives < memory.rows)
    theta = np.where(np.asarray(ready)[..., None], memory.theta, 0.0)
    z = np.log(p) - np.log1p(-p)
    eta = theta[..., :1] + (1 + theta[..., 1:]) * z
    if_yes, if_no = np.logaddexp(0, -z) - np.logaddexp(0, -eta), np.logaddexp(0, z) - np.logaddexp(0, eta)
    return np.asarray((yes * if_yes + no * if_no).sum(axis=-1))


def _update_memory(p: Floats, rows: Floats, positives: Floats, memory: Memory) -> tuple[Floats, Floats]:
    """Posterior mode of shift and slope given the window and a normal prior at the previous mode, by bounded Newton steps."""
    is_inside = (p > 0) & (p < 1)
    p, rows, positives = p[is_inside], rows[..., is_inside], positives[..., is_inside]
    z = np.log(p) - np.log1p(-p)
    precision, theta = memory.precision, memory.theta
    for _ in range(NEWTON_STEPS):
        rate = _rates(theta, z)
        gap, back = positives - rows * rate, theta - memory.theta
        pull = precision[..., :2] * back[..., :1] + precision[..., 1:] * back[..., 1:]
        slope = np.stack([gap.sum(-1), gap @ z], axis=-1) - pull
        # A symmetric 2 by 2 system; the step is bounded in length.
        a, b, c = np.moveaxis(_information(z, rows * rate * (1 - rate)) + precision, -1, 0)
        step = np.stack([c * slope[..., 0] - b * slope[..., 1], a * slope[..., 1] - b * slope[..., 0]], axis=-1)
        step = step / (a * c - b * b)[..., None]
        step *= LONGEST_STEP / np.maximum(np.abs(step).max(axis=-1, keepdims=True), LONGEST_STEP)
        theta = np.clip(theta + step, -FARTHEST, FARTHEST)
        if np.abs(step).max(initial=0.0) < ENOUGH:
            break
    rate = _rates(theta, z)
    return theta, _information(z, rows * rate * (1 - rate)) + precision


def _rates(theta: Floats, z: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh((theta[..., :1] + (1 + theta[..., 1:]) * z) / 2)))


def _information(z: Floats, weight: Floats) -> Floats:
    return np.stack([weight.sum(-1), weight @ z, weight @ z**2], axis=-1)


@dataclass(frozen=True)
class Alternatives:
    """Alternatives of a sequential test: a shift or slope of the logit of the scores, fixed or fitted to past windows."""

    shifts: tuple[float, ...] = SHIFTS
    """The true probability is sigmoid(logit p + d)."""
    slopes: tuple[float, ...] = SLOPES
    """The true probability is sigmoid(k logit p); below 1 for overconfidence."""
    learner: Literal["cox"] | None = "cox"
    """Whether to include a shift and slope fitted to past windows, with half of the weight."""

    def __post_init__(self) -> None:
        _check_numbers(self.shifts, "shifts", lambda d: d != 0, "must differ from 0")
        _check_numbers(self.slopes, "slopes", lambda k: k > 0 and k != 1, "must be above 0 and differ from 1")
        if self.learner not in ("cox", None):
            raise ArgumentError("learner", f"must be 'cox' or None; got {self.learner!r}")
        if not self.names:
            raise ArgumentError("shifts", "at least one alternative is required", "give shifts, slopes or a learner")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the alternatives."""
        fixed = [f"logit shift {d:+g}" for d in self.shifts] + [f"logit slope {k:g}" for k in self.slopes]
        return (*fixed, *(() if self.learner is None else (f"fitted ({self.learner})",)))

    @cached_property
    def weights(self) -> Floats:
        """Weights of the alternatives in the mixture."""
        count = len(self.names)
        if self.learner is None or count == 1:
            return np.full(count, 1 / count)
        return np.append(np.full(count - 1, (1 - LEARNT_SHARE) / (count - 1)), LEARNT_SHARE)

    def log_evalues(self, data: Counted, memory: Memory) -> Floats:
        """Logarithm of the e-value of each alternative for a window, (..., members); infinite after an impossible outcome."""
        p, yes, no = data.score, data.positives, data.rows - data.positives
        impossible = yes[..., p == 0].sum(axis=-1) + no[..., p == 1].sum(axis=-1) > 0
        is_inside = (p > 0) & (p < 1)
        p, yes, no = p[is_inside], yes[..., is_inside], no[..., is_inside]
        if_yes, if_no = self._tables(p)
        logs = yes @ if_yes.T + no @ if_no.T
        if self.learner is not None:
            logs = np.concatenate([logs, _cox_evidence(p, yes, no, memory)[..., None]], axis=-1)
        return np.where(np.asarray(impossible)[..., None], np.inf, logs)

    def _tables(self, p: Floats) -> tuple[Floats, Floats]:
        """Logarithm of the likelihood ratio of a positive and of a negative row, (members, C), of the fixed alternatives."""
        shift = np.array(self.shifts)[:, None]
        log_normalizer = -np.log1p(p * np.expm1(shift))
        slope = np.array(self.slopes)[:, None]
        low, high = np.log(p), np.log1p(-p)
        total = np.logaddexp(slope * low, slope * high)
        if_yes = np.concatenate([shift + log_normalizer, slope * low - total - low])
        return if_yes, np.concatenate([log_normalizer, slope * high - total - high])

    def learn(self, data: Counted, memory: Memory) -> Memory:
        """Summary of past windows after another one."""
        return memory if self.learner is None else memory.after(data)

    def mixture(self, logs: Floats) -> Floats:
        """Logarithm of the weighted mean over alternatives."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.logaddexp.reduce(logs + np.log(self.weights), axis=-1))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, the input of `of_dict`."""
        return {"shifts": list(self.shifts), "slopes": list(self.slopes), "learner": self.learner}

    @classmethod
    def of_dict(cls, plain: Mapping[str, Any]) -> Alternatives:
        fields = {"shifts", "slopes", "learner"}
        if not isinstance(plain, Mapping) or set(plain) != fields:
            raise InputError("plain", f"must have the entries {sorted(fields)}", "pass the output of to_dict")
        return cls(tuple(plain["shifts"]), tuple(plain["slopes"]), plain["learner"])


def _check_numbers(values: Any, argument: str, fine: Any, rule: str) -> None:
    if not isinstance(values, tuple) or not all(is_number(v) and math.isfinite(v) for v in values):
        raise ArgumentError(argument, f"must be a tuple of numbers; got {values!r}")
    for value in values:
        if not fine(value):
            raise ArgumentError(argument, f"{rule}; got {value!r}")


@dataclass(frozen=True, repr=False)
class EProcess(Record):
    """State of a sequential test of calibration: the e-process after some windows.

    Under the null hypothesis that labels follow the scores, the e-process ever reaches 1/alpha with probability at most alpha
    (Ville's inequality), whenever and however often it is examined. `update` returns the next state.

    Parameters
    ----------
    alternatives : Alternatives
        Alternatives of the test.
    alpha : float
        Significance level.
    lens : str
        Lens of the windows.
    logs : ndarray
        Logarithm of the e-value of each alternative.
    memory : Memory
        Summary of past windows for the fitted alternative.
    windows : int
        Number of windows.
    rows : int
        Number of labelled rows.
    log_best : float
        Largest logarithm of the e-process so far.
    reached_window : int or None
        Number of windows when 1/alpha was first reached.
    reached_rows : int or None
        Number of rows then.
    """

    alternatives: Alternatives
    alpha: float
    lens: str
    logs: Floats = field(compare=False)
    memory: Memory = field(compare=False)
    windows: int = 0
    rows: int = 0
    log_best: float = 0.0
    reached_window: int | None = None
    reached_rows: int | None = None

    @cached_property
    def log_value(self) -> float:
        """Logarithm of the current e-value."""
        return float(self.alternatives.mixture(self.logs))

    @property
    def value(self) -> float:
        """The current e-value, which may be averaged with those of other streams."""
        return _exp(self.log_value)

    @property
    def pvalue(self) -> float:
        """Anytime-valid p-value: one over the largest e-value so far."""
        return math.exp(-self.log_best) if self.log_best > 0 else 1.0

    @property
    def rejected(self) -> bool:
        """Whether the e-process has reached 1/alpha."""
        return self.reached_window is not None

    @property
    def strongest(self) -> str:
        """The alternative with the largest e-value; after an outcome with predicted probability 0, that outcome."""
        return RULED_OUT if np.isposinf(self.logs).any() else self.alternatives.names[int(np.argmax(self.logs))]

    def update(self, window: Any) -> EProcess:
        """Return the state after one more window.

        Parameters
        ----------
        window : Sketch or View
            Labelled rows, tested with what was known before the window. A window without rows is only counted.

        Returns
        -------
        EProcess
            The next state.
        """
        data = window_of(window, self.lens)
        if not data.total:
            return replace(self, windows=self.windows + 1)
        logs = self.logs + self.alternatives.log_evalues(data, self.memory)
        memory = self.alternatives.learn(data, self.memory)
        value = float(self.alternatives.mixture(logs))
        windows, rows = self.windows + 1, self.rows + data.total
        first = self.reached_window is None and value >= -math.log(self.alpha)
        when = (windows, rows) if first else (self.reached_window, self.reached_rows)
        best = max(self.log_best, value)
        return EProcess(self.alternatives, self.alpha, self.lens, logs, memory, windows, rows, best, *when)

    @property
    def verdict(self) -> str:
        """Result of the test as text; it never claims that predictions are calibrated."""
        best = f"largest e-value {number(_exp(self.log_best))} in {self.rows:,} labelled rows"
        if self.rejected:
            when = f"at window {self.reached_window:,} (row {self.reached_rows:,})"
            return f"Calibration rejected {when}: {best}, critical value {number(1 / self.alpha)}. Strongest alternative: {self.strongest}."
        return f"No significant evidence against calibration: {best}, critical value {number(1 / self.alpha)}."

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON values.

        Returns
        -------
        dict
            Input of `of_dict`.
        """
        names = ("alpha", "lens", "windows", "rows", "reached_window", "reached_rows")
        return {
            "alternatives": self.alternatives.to_dict(),
            **{name: getattr(self, name) for name in names},
            "logs": json_floats(self.logs),
            "memory": {name: part.tolist() for name, part in self.memory._asdict().items()},
            "log_best": json_floats(np.array([self.log_best]))[0],
        }

    @classmethod
    def of_dict(cls, plain: Mapping[str, Any]) -> EProcess:
        """Restore a state from the result of `to_dict`.

        Parameters
        ----------
        plain : mapping
            Result of `to_dict`.

        Returns
        -------
        EProcess
            The state.
        """
        with well_formed(plain):
            alternatives = Alternatives.of_dict(plain["alternatives"])
            logs = np.array([float(v) for v in plain["logs"]])
            memory = Memory(*(np.array(plain["memory"][name], np.float64) for name in Memory._fields))
            counts = (plain["windows"], plain["rows"], float(plain["log_best"]))
            when = (plain["reached_window"], plain["reached_rows"])
            fits = all(a.shape == b.shape for a, b in zip(memory, Memory.fresh(), strict=True))
            if logs.shape != (len(alternatives.names),) or not fits or np.isnan(logs).any():
                raise ValueError("the e-values do not match the alternatives")
            return cls(alternatives, float(plain["alpha"]), str(plain["lens"]), logs, memory, *counts, *when)

    def _columns(self) -> dict[str, list[Any]]:
        """One row per alternative."""
        with np.errstate(over="ignore"):
            return {"alternative": list(self.alternatives.names), "e_value": np.exp(self.logs).tolist()}

    def _title(self) -> str:
        return f"{self.verdict}\n  current e-value {number(self.value)}, p-value {pvalue_text(self.pvalue)}, {several(self.windows, 'window')}, lens {self.lens}"


@contextmanager
def well_formed(plain: Any) -> Iterator[None]:
    """Report plain values that are not those of a state."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError("plain", f"is not a complete state ({error})", "pass the output of to_dict") from None


def _exp(log: float) -> float:
    """An e-value from its logarithm, finite if the logarithm is."""
    return math.exp(min(log, 709.0)) if log < math.inf else math.inf


def json_floats(values: Floats) -> list[float | str]:
    """Numbers for JSON; infinite ones as text that `float` accepts."""
    return [v if math.isfinite(v) else repr(v) for v in values.tolist()]


def start_eprocess(
    *, alpha: float = 0.05, lens: str = "top_label", alternatives: Alternatives | None = None
) -> EProcess:
    """Return a sequential test of calibration before its first window.

    Parameters
    ----------
    alpha : float, default 0.05
        Probability of ever reaching 1/alpha under calibration.
    lens : str, default "top_label"
        Lens of the windows.
    alternatives : Alternatives, optional
        By default fixed shifts and slopes of the logit with half of the weight, and a shift and slope fitted to past windows
        with the other half.

    Returns
    -------
    EProcess
        The initial state, with e-value 1.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.monitoring.sequential import start_eprocess
    >>> state = start_eprocess(lens="binary")
    >>> for day in range(20):
    ...     drawn = cal.inference.make_miscalibrated(100, warp=cal.inference.simulation.bias(0.5), rng=day)
    ...     state = state.update(cal.Sketch.of(drawn.y_true, drawn.y_prob))
    >>> state.rejected, state.reached_rows
    (True, 400)
    """
    check_fraction(alpha, "alpha", 0.05)
    resolved = Alternatives() if alternatives is None else alternatives
    return EProcess(resolved, float(alpha), lens, np.zeros(len(resolved.names)), Memory.fresh())

"""Bets against the scores, window by window, that stay valid however often one looks.

If every label is drawn from its score, independently within a window given the past, the capital reaches 1/alpha with
probability at most alpha, ever (Ville). On the cells of a Sketch that still holds: a cell's rows are bet on at their mean score,
which can only lower the expected capital. The state is not mergeable and depends on the order of windows; sketches of one
window are merged before they are bet on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, LensError
from ..inference.sequential import check_level
from ..util.cached import cached_property
from ..util.results import frame_of, html_lines, html_table, number, pvalue_text
from .alternatives import RULED_OUT, Wagers, as_counted
from .learning import Memory

__all__ = ["EProcess", "start_eprocess"]

Floats = NDArray[np.float64]
FORMAT = 1


@dataclass(frozen=True)
class EProcess:
    """The capital of bets against the scores after some windows; `update` gives the next state and leaves this one as it is."""

    wagers: Wagers
    alpha: float
    lens: str
    logs: Floats = field(repr=False, compare=False)
    """Logarithm of the capital of each member, (bins, members)."""
    memory: Memory = field(repr=False, compare=False)
    windows: int = 0
    rows: int = 0
    log_best: float = 0.0
    """Largest logarithm of the whole capital so far."""
    reached_window: int | None = None
    """After how many windows 1/alpha was first reached."""
    reached_rows: int | None = None

    @cached_property
    def log_value(self) -> float:
        """Logarithm of the capital now."""
        return float(self.wagers.value(self.logs))

    @property
    def value(self) -> float:
        """The capital now, an e-value: what the groups of `combining` take."""
        return math.exp(min(self.log_value, 709.0)) if self.log_value < math.inf else math.inf

    @property
    def pvalue(self) -> float:
        """1 over the largest capital so far: at most alpha with probability at most alpha, whenever one looks."""
        return math.exp(-self.log_best) if self.log_best > 0 else 1.0

    @property
    def rejected(self) -> bool:
        """Whether 1/alpha was ever reached."""
        return self.reached_window is not None

    @property
    def bin_values(self) -> Floats:
        """The capital of each bin; a bin is off where it is at least the number of bins over alpha."""
        with np.errstate(over="ignore"):
            return np.exp(self.wagers.bin_values(self.logs))

    @property
    def strongest(self) -> str:
        """What the member with the largest capital bets on; after an impossible outcome all have won, and it is named instead."""
        if np.isposinf(self.logs).any():
            return RULED_OUT
        return self.wagers.names[int(np.argmax(self.logs.max(axis=0)))]

    def update(self, window: Any) -> EProcess:
        """The state after one more window.

        Parameters
        ----------
        window
            The labelled rows as a Sketch or View. All rows of a window are bet on with what was known before it. A window without
            rows changes nothing but the number of windows.
        """
        data = as_counted(window)
        if data.total and window.lens != self.lens:
            raise LensError("window", f"{window.lens!r} asks another question than {self.lens!r}", "keep to one lens")
        if not data.total:
            return replace(self, windows=self.windows + 1)
        logs = self.logs + self.wagers.gains(data, self.memory)
        memory = self.wagers.learn(data, self.memory)
        value = float(self.wagers.value(logs))
        windows, rows = self.windows + 1, self.rows + data.total
        first = self.reached_window is None and value >= -math.log(self.alpha)
        when = (windows, rows) if first else (self.reached_window, self.reached_rows)
        best = max(self.log_best, value)
        return EProcess(self.wagers, self.alpha, self.lens, logs, memory, windows, rows, best, *when)

    @property
    def verdict(self) -> str:
        """One sentence; it never claims that predictions are calibrated."""
        best = math.exp(min(self.log_best, 709.0)) if self.log_best < math.inf else math.inf
        made = f"Bets against the scores turned 1 into {number(best)} at best, within {self.rows:,} labelled rows"
        if self.rejected:
            when = f"{number(1 / self.alpha)} was reached at window {self.reached_window:,} (row {self.reached_rows:,})"
            return (
                f"{made}; {when}: the labels are not drawn from the scores. The strongest bet was on {self.strongest}."
            )
        return f"{made}; {number(1 / self.alpha)} would have been needed. No deviation was found."

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON holds, from which `of_dict` makes the same state again."""
        names = ("alpha", "lens", "windows", "rows", "reached_window", "reached_rows")
        logs = [[_plain(v) for v in row] for row in self.logs.tolist()]
        state = {"logs": logs, "memory": self.memory.to_dict(), "log_best": _plain(self.log_best)}
        plain = {name: getattr(self, name) for name in names}
        return {"format": FORMAT, "wagers": self.wagers.to_dict(), **plain, **state}

    @classmethod
    def of_dict(cls, plain: Mapping[str, Any]) -> EProcess:
        """The state that `to_dict` wrote down."""
        if not isinstance(plain, Mapping) or plain.get("format") != FORMAT:
            raise InputError("plain", f"is no state of format {FORMAT}", "pass what to_dict gave")
        try:
            wagers = Wagers.of_dict(plain["wagers"])
            logs = np.array([[float(v) for v in row] for row in plain["logs"]])
            memory = Memory(**{name: np.array(plain["memory"][name], np.float64) for name in Memory._fields})
            whole = (plain["windows"], plain["rows"], float(plain["log_best"]))
            when = (plain["reached_window"], plain["reached_rows"])
            state = cls(wagers, float(plain["alpha"]), str(plain["lens"]), logs, memory, *whole, *when)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError("plain", f"holds no whole state ({error})", "pass what to_dict gave") from None
        fresh = Memory.fresh(wagers.bins)
        fits = all(a.shape == b.shape for a, b in zip(memory, fresh, strict=True))
        if logs.shape != (wagers.bins, len(wagers.names)) or not fits or np.isnan(logs).any():
            raise InputError("plain", "its capital does not fit its bets", "pass what to_dict gave")
        return state

    def to_frame(self) -> Any:
        """One row for each member, with its capital summed over bins, as a frame of the library at hand."""
        with np.errstate(over="ignore"):
            capital = np.exp(self.logs).mean(axis=0)
        return frame_of({"bets_on": list(self.wagers.names), "e_value": capital.tolist()})

    def __repr__(self) -> str:
        return f"{self.verdict}\n  e-value now {number(self.value)}, p-value {pvalue_text(self.pvalue)}, {self.windows:,} windows, lens {self.lens}"

    def _repr_html_(self) -> str:
        row = [number(self.value), pvalue_text(self.pvalue), f"{self.windows:,}", f"{self.rows:,}", self.lens]
        return html_lines(repr(self)) + html_table(["e-value", "p-value", "windows", "rows", "lens"], [row])


def _plain(value: float) -> float | str:
    return value if math.isfinite(value) else repr(value)


def start_eprocess(*, alpha: float = 0.05, lens: str = "top_label", wagers: Wagers | None = None) -> EProcess:
    """Bets that have not begun: a capital of 1.

    Parameters
    ----------
    alpha
        Probability of ever reaching 1/alpha if the labels are drawn from the scores.
    lens
        The lens of the windows to come.
    wagers
        What is bet on: by default shifts and slopes of the logit with half of the capital, and with the other half a shift and
        slope learnt from past windows.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.monitoring.eprocess import start_eprocess
    >>> state = start_eprocess(lens="binary")
    >>> for day in range(20):
    ...     drawn = cal.make_miscalibrated(100, warp=cal.simulate.bias(0.5), rng=day)
    ...     state = state.update(cal.Sketch.of(drawn.y_true, drawn.y_prob))
    >>> state.rejected, state.reached_rows
    (True, 400)
    """
    check_level(alpha)
    chosen = Wagers() if wagers is None else wagers
    logs = np.zeros((chosen.bins, len(chosen.names)))
    return EProcess(chosen, float(alpha), lens, logs, Memory.fresh(chosen.bins))

"""Many groups or models watched at once: e-values and p-values put together, and alarms with their reasons."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InputError, InputTypeError
from ..inference.sequential import check_level
from ..inference.significance import adjust
from ..input.convert import is_number
from ..util.results import frame_of, html_table, number
from .drifted import DriftResult
from .eprocess import EProcess
from .summaries import ChangeReading

__all__ = ["Alarm", "combine_evalues", "drift_alarms", "e_bh", "evalue_of_pvalue", "group_alarms", "reserved_threshold"]

Floats = NDArray[np.float64]
Rule = Literal["e_bh", "bonferroni", "holm", "benjamini_hochberg", "reserved"]
RULES = {
    "e_bh": "at most a share alpha of the groups named is wrong, on average",
    "benjamini_hochberg": "at most a share alpha of the groups named is wrong, on average, if groups are independent",
    "bonferroni": "any group is named wrongly with probability at most alpha",
    "holm": "any group is named wrongly with probability at most alpha",
    "reserved": "any group is named wrongly with probability at most alpha, also those that joined later",
}


@dataclass(frozen=True)
class Alarm:
    """One reason to look."""

    kind: str
    """What was found: ``"calibration"``, ``"scores"`` or ``"confidence"``."""
    group: Any
    when: Any
    """The window or time that raised it, as the caller counts."""
    evidence: float
    """An e-value for calibration, a p-value for the others."""
    words: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {name: getattr(self, name) for name in ("kind", "group", "when", "evidence", "words")}

    def to_frame(self) -> Any:
        """One row, as a frame of the library at hand."""
        return frame_of({name: [value] for name, value in self.to_dict().items()})

    def __repr__(self) -> str:
        named = "" if self.group is None else f" in {self.group}"
        return f"{self.kind}{named} at {self.when}: {self.words}"

    def _repr_html_(self) -> str:
        names = ["kind", "group", "when", "evidence", "words"]
        return html_table(names, [[self.kind, self.group, self.when, number(self.evidence), self.words]], repr(self))


def combine_evalues(evalues: Any, *, method: Literal["mean", "product"] = "mean") -> float:
    """One e-value for the hypothesis that all groups are right.

    Parameters
    ----------
    evalues
        Numbers from 0 up, one for each group; infinity is allowed.
    method
        ``"mean"`` holds whatever the groups have in common; ``"product"`` only for independent groups.

    Examples
    --------
    >>> from calibrant.monitoring.combining import combine_evalues
    >>> combine_evalues([4.0, 0.5, 1.5]), combine_evalues([4.0, 0.5, 1.5], method="product")
    (2.0, 3.0)
    """
    values = _checked(evalues)
    if method == "mean":
        return float(values.mean())
    if method != "product":
        raise ArgumentError("method", f"must be 'mean' or 'product'; got {method!r}")
    if np.isposinf(values).any():
        return math.inf  # a group that was found impossible decides, whatever the others lost
    if (values == 0).any():
        return 0.0
    with np.errstate(over="ignore"):
        return float(np.prod(values)) if np.abs(np.log(values)).sum() < 700 else float(np.exp(np.log(values).sum()))


def e_bh(evalues: Any, *, alpha: float = 0.05) -> NDArray[np.bool_]:
    """Which hypotheses to reject so that the share of wrong ones is at most alpha on average (Wang and Ramdas 2022).

    Parameters
    ----------
    evalues
        One current e-value for each; not running maxima, which are no e-values. They may depend on one another.
    alpha
        Rate of false discoveries.

    Examples
    --------
    >>> from calibrant.monitoring.combining import e_bh
    >>> e_bh([200, 45, 60, 3, 0.5], alpha=0.1).tolist()
    [True, True, True, False, False]
    """
    values = _checked(evalues)
    check_level(alpha)
    count = len(values)
    order = np.argsort(-values, kind="stable")
    enough = values[order] * alpha * np.arange(1, count + 1) >= count * (1 - 1e-12)
    chosen = np.zeros(count, bool)
    if enough.any():
        chosen[order[: int(np.flatnonzero(enough)[-1]) + 1]] = True
    return chosen


def evalue_of_pvalue(pvalue: float, *, power: float = 0.5) -> float:
    """An e-value from a p-value, k p^(k-1); those of independent windows may be multiplied and looked at after each.

    Parameters
    ----------
    pvalue
        A number in [0, 1].
    power
        k, between 0 and 1.

    Examples
    --------
    >>> from calibrant.monitoring.combining import evalue_of_pvalue
    >>> evalue_of_pvalue(0.01)
    5.0
    """
    if not (is_number(pvalue) and 0 <= pvalue <= 1):
        raise ArgumentError("pvalue", f"must be a number from 0 to 1; got {pvalue!r}")
    if not (is_number(power) and 0 < power < 1):
        raise ArgumentError("power", f"must lie between 0 and 1; got {power!r}")
    return math.inf if pvalue == 0 else float(power * pvalue ** (power - 1))


def reserved_threshold(number_of_group: int, *, alpha: float = 0.05) -> float:
    """What the e-value of the g-th group to join must reach: g (g + 1) / alpha, so that all together err with probability alpha.

    >>> reserved_threshold(1), reserved_threshold(3)
    (40.0, 240.0)
    """
    check_level(alpha)
    if isinstance(number_of_group, bool) or not isinstance(number_of_group, int) or number_of_group < 1:
        raise ArgumentError("number_of_group", f"must be a whole number from 1 up; got {number_of_group!r}")
    return number_of_group * (number_of_group + 1) / alpha


def group_alarms(
    processes: Mapping[Any, EProcess], *, alpha: float = 0.05, rule: Rule = "e_bh", when: Any = None
) -> tuple[Alarm, ...]:
    """Alarms for the groups whose labels were not drawn from their scores, corrected for how many groups are watched.

    Parameters
    ----------
    processes
        One state for each group, in the order in which groups joined. Groups must be declared before their labels are seen.
    alpha
        Level for all groups together.
    rule
        ``"e_bh"`` bounds the share of false alarms among alarms, whatever groups have in common and whenever one asks, as long as a
        right score is right given the past of all groups; it reads the capital now. ``"bonferroni"`` and ``"holm"`` bound the chance of any; they read the largest
        capital so far. ``"reserved"`` lets groups join later. ``"benjamini_hochberg"`` needs independent groups.
    when
        What to call this time; by default the number of windows of each group.

    Examples
    --------
    >>> from calibrant.monitoring.combining import group_alarms
    >>> from calibrant.monitoring.eprocess import start_eprocess
    >>> group_alarms({"north": start_eprocess(), "south": start_eprocess()})
    ()
    """
    check_level(alpha)
    if rule not in RULES:
        raise ArgumentError("rule", f"must be one of {sorted(RULES)}; got {rule!r}")
    if not isinstance(processes, Mapping) or not all(isinstance(p, EProcess) for p in processes.values()):
        raise InputTypeError("processes", "must be a mapping from groups to states of start_eprocess")
    if not processes:
        return ()
    states = list(processes.values())
    rejected = _rejected(states, alpha, rule)
    return tuple(
        Alarm("calibration", group, state.windows if when is None else when, *_reason(state, rule))
        for group, state, alarmed in zip(processes, states, rejected.tolist(), strict=True)
        if alarmed
    )


def _rejected(states: list[EProcess], alpha: float, rule: str) -> NDArray[np.bool_]:
    if rule == "e_bh":
        return e_bh([state.value for state in states], alpha=alpha)
    best = np.array([state.log_best for state in states])
    if rule == "reserved":
        levels = [math.log(reserved_threshold(g, alpha=alpha)) for g in range(1, len(states) + 1)]
        return np.asarray(best >= np.array(levels))
    if rule == "bonferroni":
        return np.asarray(best >= math.log(len(states) / alpha))
    return np.asarray(adjust(np.array([state.pvalue for state in states]), rule) <= alpha)


def _reason(state: EProcess, rule: str) -> tuple[float, str]:
    evidence = state.value if rule == "e_bh" else math.exp(min(state.log_best, 709.0))
    evidence = math.inf if (state.log_value if rule == "e_bh" else state.log_best) == math.inf else evidence
    bet = f"a bet on {state.strongest} turned 1 into {number(evidence)} over {state.rows:,} labelled rows"
    return evidence, f"the labels are not drawn from the scores: {bet} ({rule}: {RULES[rule]})"


def drift_alarms(
    results: Mapping[Any, DriftResult | ChangeReading],
    *,
    alpha: float = 0.05,
    rule: Literal["holm", "benjamini_hochberg"] = "holm",
    when: Any = None,
) -> tuple[Alarm, ...]:
    """Alarms for the groups whose scores or confidence have changed in one window, corrected for how many groups are watched.

    Each window tested adds its own false alarms: over w windows, w times alpha of them are expected on average over references. Windows
    that share one reference do not err independently, so a given reference can see several times more, or fewer.

    Parameters
    ----------
    results
        One result of `drift` or reading of `read_change` for each group.
    alpha
        Level for all groups of this window together.
    rule
        ``"holm"`` bounds the chance of any false alarm, ``"benjamini_hochberg"`` their share if groups are independent.
    when
        What to call this window.

    Examples
    --------
    >>> from calibrant.monitoring.combining import drift_alarms
    >>> from calibrant.monitoring.drift import ks_2samp
    >>> old, new = [i / 100 for i in range(50)], [i / 100 + 0.3 for i in range(50)]
    >>> [alarm.group for alarm in drift_alarms({"a": ks_2samp(old, new), "b": ks_2samp(old, old)}, when="today")]
    ['a']
    """
    check_level(alpha)
    if rule not in ("holm", "benjamini_hochberg"):
        raise ArgumentError("rule", f"must be 'holm' or 'benjamini_hochberg'; got {rule!r}")
    wanted = (DriftResult, ChangeReading)
    if not isinstance(results, Mapping) or not all(isinstance(r, wanted) for r in results.values()):
        raise InputTypeError("results", "must be a mapping from groups to results of drift or of read_change")
    if not results:
        return ()
    adjusted = adjust(np.array([r.pvalue for r in results.values()]), rule)
    found = zip(results.items(), adjusted.tolist(), strict=True)
    return tuple(
        Alarm("scores", group, when, p, f"{r.statistic} {number(r.value)}: {r.effect} (p = {p:.3g} after {rule})")
        if isinstance(r, DriftResult)
        else Alarm("confidence", group, when, p, r.words)
        for (group, r), p in found
        if p <= alpha
    )


def _checked(evalues: Any) -> Floats:
    try:
        values = np.asarray(evalues, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputTypeError("evalues", f"must be numbers; got {evalues!r}") from None
    if values.ndim != 1 or len(values) == 0 or not (values >= 0).all():
        raise InputError("evalues", f"must be one or more numbers from 0 up; got {evalues!r}")
    return values

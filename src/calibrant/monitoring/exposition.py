"""A status as lines that Prometheus reads: gauges with a help line each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .status import MonitorStatus

__all__ = ["exposed"]

Rows = list[tuple[dict[str, Any], float | int | None]]


def exposed(status: MonitorStatus) -> str:
    """All gauges of a status.

    Parameters
    ----------
    status
        What `Monitor.status` gave. Gauges of a window are those of the newest one that is over, and of calibration those of the
        newest one with labels. A number that is not known yet has no line.
    """
    lines: list[str] = []
    for name, help, rows in [*_totals(status), *_newest(status), *_labelled(status)]:
        known = [(labels, value) for labels, value in rows if value is not None]
        if known:
            lines += [f"# HELP calibrant_{name} {help}", f"# TYPE calibrant_{name} gauge"]
            lines += [f"calibrant_{name}{_labels(labels)} {_value(value)}" for labels, value in known]
    return "\n".join(lines) + "\n"


def _totals(s: MonitorStatus) -> list[tuple[str, str, Rows]]:
    kinds = ("calibration", "change", "scores")
    open_: Rows = [({"kind": kind}, sum(a.kind == kind for a in s.open_alarms)) for kind in kinds]
    groups: Rows = [({"group": g.group}, g.e_value) for g in s.groups]
    return [
        ("rows", "Predictions seen.", [({}, s.n)]),
        ("labels", "Labels seen.", [({}, s.labelled)]),
        ("windows", "Windows begun.", [({}, s.total_windows)]),
        ("alarms_open", "Alarms that nobody acknowledged.", open_),
        ("e_value", "Capital of the bets against the scores.", [({}, s.process.value)]),
        ("p_value", "One over the largest capital so far.", [({}, s.process.pvalue)]),
        ("group_e_value", "Capital of the bets against the scores of a group.", groups),
        ("group_named", "Whether the bets named the group.", [({"group": g.group}, int(g.rejected)) for g in s.groups]),
    ]


def _newest(s: MonitorStatus) -> list[tuple[str, str, Rows]]:
    w = s.last_closed
    if w is None:
        return []
    c, drift = w.scores.confidence, w.scores.drift
    mean: Rows = [({"statistic": name}, getattr(c, name)) for name in ("mean", "median", "p90", "p99")]
    results = [] if drift is None else list(zip(drift.results, drift.adjusted, strict=True))
    return [
        ("window_end", "End of the newest window that is over: seconds since 1970, or rows.", [({}, _end(s, w.end))]),
        ("window_rows", "Predictions in it.", [({}, w.n)]),
        ("window_labelled_share", "Share of its labels that came.", [({}, w.share_labelled)]),
        ("window_confidence", "Confidence in it.", mean),
        (
            "window_drift",
            "Distance of its scores from the reference.",
            [({"statistic": r.statistic}, r.value) for r, _ in results],
        ),
        ("window_drift_p_value", "Corrected p-value of that.", [({"statistic": r.statistic}, p) for r, p in results]),
        (
            "window_accuracy_estimate",
            "Accuracy by estimate, without labels.",
            [({"method": found.method}, found.estimate) for found in w.scores.accuracy],
        ),
    ]


def _labelled(s: MonitorStatus) -> list[tuple[str, str, Rows]]:
    w = s.last_labelled
    if w is None or w.calibration is None:
        return []
    c = w.calibration
    return [
        ("labelled_window_end", "End of the newest window with labels.", [({}, _end(s, w.end))]),
        ("labelled_window_rows", "Labelled predictions in it.", [({}, c.n)]),
        ("window_ece", "Expected calibration error in it.", [({}, c.ece)]),
        ("window_smece", "Smooth calibration error in it.", [({}, c.smece)]),
        ("window_gap", "Mean score minus rate in it: above 0 the scores are too high.", [({}, c.gap)]),
        ("window_accuracy", "Accuracy in it.", [({}, c.accuracy)]),
    ]


def _end(s: MonitorStatus, end: int) -> float | int:
    return end if not s.settings.rule.by_time else end / 1_000_000


def _labels(labels: dict[str, Any]) -> str:
    pairs = [f'{name}="{_escaped(str(value))}"' for name, value in labels.items()]
    return "{" + ",".join(pairs) + "}" if pairs else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _value(value: float | int) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    return repr(value)

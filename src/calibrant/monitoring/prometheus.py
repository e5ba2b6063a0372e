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
        What `Monitor.status` gave; of a group, every gauge of rows, windows and evidence bears its name as a label. Gauges of a
        window are those of the newest one that is over, and of calibration those of the newest one with labels, which is over too
        where any is. A number that is not known yet has no line.
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
    own = _own(s)
    return [
        ("rows", "Predictions seen.", [(own, s.n)]),
        ("labels", "Labels seen.", [(own, s.labelled)]),
        ("windows", "Windows begun.", [(own, s.total_windows)]),
        ("alarms_open", "Alarms that nobody acknowledged.", open_),
        ("e_value", "Capital of the bets against the scores.", [(own, s.process.value)]),
        ("pvalue", "One over the largest capital so far.", [(own, s.process.pvalue)]),
        ("group_e_value", "Capital of the bets against the scores of a group.", groups),
        ("group_named", "Whether the bets named the group.", [({"group": g.group}, int(g.rejected)) for g in s.groups]),
    ]


def _own(s: MonitorStatus) -> dict[str, Any]:
    """Labels that tell the gauges of a group from those of all rows."""
    return {} if s.group is None else {"group": s.group}


def _newest(s: MonitorStatus) -> list[tuple[str, str, Rows]]:
    w = s.last_closed
    if w is None:
        return []
    c, drift, own = w.scores.confidence, w.scores.drift, _own(s)
    mean: Rows = [({**own, "statistic": name}, getattr(c, name)) for name in ("mean", "median", "p90", "p99")]
    results = [] if drift is None else list(zip(drift.results, drift.adjusted, strict=True))
    distances: Rows = [({**own, "statistic": r.statistic}, r.value) for r, _ in results]
    pvalues: Rows = [({**own, "statistic": r.statistic}, p) for r, p in results]
    estimates: Rows = [({**own, "method": found.method}, found.estimate) for found in w.scores.accuracy]
    where = "the newest window that is over"
    return [
        ("window_end", f"End of {where}: seconds since 1970, or rows.", [(own, _end(s, w.end))]),
        ("window_rows", f"Predictions in {where}.", [(own, w.n)]),
        ("window_labelled_share", f"Share of labels known in {where}.", [(own, w.share_labelled)]),
        ("window_confidence", f"Confidence in {where}.", mean),
        ("window_drift", f"Distance of the scores of {where} from the reference.", distances),
        ("window_drift_p_value", f"Corrected p-value of the drift of {where}.", pvalues),
        ("window_accuracy_estimate", f"Accuracy in {where}, estimated without labels.", estimates),
    ]


def _labelled(s: MonitorStatus) -> list[tuple[str, str, Rows]]:
    w = s.last_labelled
    if w is None or w.calibration is None:
        return []
    c, own = w.calibration, _own(s)
    where = "the newest window with labels"
    return [
        ("labelled_window_end", f"End of {where}.", [(own, _end(s, w.end))]),
        ("labelled_window_rows", f"Labelled predictions in {where}.", [(own, c.n)]),
        ("window_ece", f"Expected calibration error in {where}.", [(own, c.ece)]),
        ("window_smece", f"Smooth calibration error in {where}.", [(own, c.smece)]),
        ("window_gap", f"Mean score minus observed rate in {where}: above 0 the scores are too high.", [(own, c.gap)]),
        ("window_accuracy", f"Accuracy in {where}, by its labels.", [(own, c.accuracy)]),
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

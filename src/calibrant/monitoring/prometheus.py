"""A status in the text format of Prometheus."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError

if TYPE_CHECKING:
    from .status import MonitorStatus

Rows = list[tuple[dict[str, Any], float | int | None]]
OWN_LABELS = ("group", "kind", "metric", "score", "statistic")


def expose(status: MonitorStatus, labels: Mapping[str, str] | None = None) -> str:
    """Return all gauges of a status.

    Parameters
    ----------
    status : MonitorStatus
        Result of `Monitor.status`. For a group, gauges of rows, windows and evidence have its name as a label. Gauges of a
        window refer to the newest closed window, those of calibration to the newest one with labels, closed if possible.
        Unknown values are left out.
    labels : mapping of str to str, optional
        Labels of every gauge, such as the name of the model; two monitors with the same labels have the same series.

    Returns
    -------
    str
        The lines.

    Raises
    ------
    ArgumentError
        If the name of a label is invalid, or a gauge has it already.
    """
    common_labels = dict(labels or {})
    for name in common_labels:
        if not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", name) or name.startswith("__"):
            raise ArgumentError("labels", f"{name!r} is not the name of a label", "use letters, digits and underscores")
        if name in OWN_LABELS:
            raise ArgumentError("labels", f"{name!r} is a label of the gauges themselves", "use another name")
    text: list[str] = []
    for name, help, rows in [*_totals(status), *_newest(status), *_labelled_gauges(status)]:
        lines = [
            f"calibrant_{name}{_labels({**common_labels, **own})} {_value(value)}"
            for own, value in rows
            if value is not None
        ]
        if lines:
            text += [f"# HELP calibrant_{name} {help}", f"# TYPE calibrant_{name} gauge", *lines]
    return "\n".join(text) + "\n"


def _totals(s: MonitorStatus) -> list[tuple[str, str, Rows]]:
    kinds = ("calibration", "change", "scores", *(["ood"] if s.settings.ood else []))
    open_: Rows = [({"kind": kind}, sum(a.kind == kind for a in s.open_alarms)) for kind in kinds]
    groups: Rows = [({"group": g.group}, g.e_value) for g in s.groups]
    labels = _own(s)
    return [
        ("rows", "Number of predictions.", [(labels, s.n)]),
        ("labels", "Number of labels.", [(labels, s.labelled)]),
        ("windows", "Number of windows.", [(labels, s.total_windows)]),
        ("alarms_open", "Alarms that are not acknowledged.", open_),
        ("e_value", "E-value of the sequential test of calibration.", [(labels, s.process.value)]),
        ("pvalue", "Anytime-valid p-value: one over the largest e-value so far.", [(labels, s.process.pvalue)]),
        ("group_e_value", "E-value of the sequential test of calibration of a group.", groups),
        (
            "group_rejected",
            "Whether the sequential test rejects calibration of the group.",
            [({"group": g.group}, int(g.rejected)) for g in s.groups],
        ),
    ]


def _own(s: MonitorStatus) -> dict[str, Any]:
    """Labels that distinguish the gauges of a group from those of all rows."""
    return {} if s.group is None else {"group": s.group}


def _newest(s: MonitorStatus) -> list[tuple[str, str, Rows]]:
    w = s.last_closed
    if w is None:
        return []
    c, drift, group_labels = w.scores.confidence, w.scores.drift, _own(s)
    mean: Rows = [({**group_labels, "statistic": name}, getattr(c, name)) for name in ("mean", "median", "p90", "p99")]
    results = [] if drift is None else list(zip(drift.results, drift.adjusted, strict=True))
    distances: Rows = [({**group_labels, "statistic": r.statistic}, r.value) for r, _ in results]
    pvalues: Rows = [({**group_labels, "statistic": r.statistic}, p) for r, p in results]
    ood = [({**group_labels, "score": score.name}, score) for score in w.scores.ood]
    values: Rows = [
        ({**labels, "statistic": name}, getattr(score, name))
        for labels, score in ood
        for name in ("median", "p90", "p99")
    ]
    shifts: Rows = [
        ({**labels, "statistic": r.statistic}, r.value)
        for labels, score in ood
        if score.drift is not None
        for r in score.drift.results
    ]
    estimated = () if w.scores.performance is None else w.scores.performance.estimates
    estimates: Rows = [({**group_labels, "metric": each.metric}, each.estimate) for each in estimated]
    where = "the newest closed window"
    return [
        ("window_end", f"End of {where}: seconds since 1970, or rows.", [(group_labels, _end(s, w.end))]),
        ("window_rows", f"Predictions in {where}.", [(group_labels, w.n)]),
        ("window_labelled_share", f"Share of labelled rows in {where}.", [(group_labels, w.share_labelled)]),
        ("window_confidence", f"Confidence in {where}.", mean),
        ("window_drift", f"Distance of the scores of {where} from the reference data.", distances),
        ("window_drift_p_value", f"Adjusted p-value of the score drift in {where}.", pvalues),
        ("window_ood", f"Out-of-distribution score in {where}.", values),
        (
            "window_ood_beyond",
            f"Share of rows of {where} above the 99th percentile of the reference data.",
            [(labels, score.beyond) for labels, score in ood],
        ),
        ("window_ood_drift", f"Distance of an out-of-distribution score of {where} from the reference data.", shifts),
        (
            "window_ood_drift_p_value",
            f"Adjusted p-value of the drift of an out-of-distribution score in {where}.",
            [(labels, score.pvalue) for labels, score in ood],
        ),
        ("window_estimate", f"Performance in {where} estimated without labels.", estimates),
    ]


def _labelled_gauges(s: MonitorStatus) -> list[tuple[str, str, Rows]]:
    w = s.last_labelled
    if w is None or w.calibration is None:
        return []
    c, group_labels = w.calibration, _own(s)
    where = "the newest window with labels"
    return [
        ("labelled_window_end", f"End of {where}.", [(group_labels, _end(s, w.end))]),
        ("labelled_window_rows", f"Labelled predictions in {where}.", [(group_labels, c.n)]),
        ("window_ece", f"Expected calibration error in {where}.", [(group_labels, c.ece)]),
        ("window_smece", f"Smooth calibration error in {where}.", [(group_labels, c.smece)]),
        ("window_gap", f"Mean score minus observed rate in {where}.", [(group_labels, c.gap)]),
        ("window_accuracy", f"Accuracy of the labelled rows in {where}.", [(group_labels, c.accuracy)]),
    ]


def _end(s: MonitorStatus, end: int) -> float | int:
    return end if not s.settings.rule.by_time else end / 1_000_000


def _labels(labels: dict[str, Any]) -> str:
    escaped = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
    pairs = [f'{name}="{str(value).translate(escaped)}"' for name, value in labels.items()]
    return "{" + ",".join(pairs) + "}" if pairs else ""


def _value(value: float | int) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    return repr(value)

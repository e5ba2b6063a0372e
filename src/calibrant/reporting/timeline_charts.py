"""Charts of a monitor's timeline as one Vega-Lite specification: confidence, drift, calibration gap, evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..monitoring.status import MonitorStatus, WindowStatus
from .specs import Spec, Values, chart_parts, with_data
from .wording import ABOVE, BELOW

WIDE, NARROW = 820, 300
SINCE_START, SINCE_ANY = "sequential test", "change detector"
# E-values beyond the limits are drawn at the limit with a triangle; a longer axis would hide values near the alarm threshold.
EXACT, MORE, LESS = "exact", "triangle: at least this value", "triangle down: at most this value"
LARGEST, SMALLEST = 1e12, 1e-6
LINES = ("mean", "median", "p90", "p99")
DAY = 86_400_000


def timeline_spec(status: MonitorStatus, width: int = WIDE) -> Spec:
    """Return charts over the same windows as a Vega-Lite specification: confidence, drift, calibration gap and evidence.

    A monitor of out-of-distribution scores has a chart for each of them, after that of the drift.

    Parameters
    ----------
    status : MonitorStatus
        Status with at least one window.
    width : int
        Width in pixels.

    Returns
    -------
    dict
        The specification.
    """
    confidence = _confidence(status)
    ood = [_ood(status, place) for place in range(len(status.settings.ood))]
    parts = [_part(status, "confidence", confidence), *_drift(status), *ood, *_gap(status), *_evidence(status)]
    least = min(point.get("value", point.get("y")) for values in confidence.values() for point in values)
    x = _x(status, width)
    return {
        **chart_parts()["timeline"],
        "params": [{"name": "leastConfidence", "value": max(0, least - 0.05)}],
        "vconcat": [
            {**part, "width": width, "height": 130, "encoding": {**part.get("encoding", {}), "x": x}} for part in parts
        ],
    }


def _at(status: MonitorStatus, window: WindowStatus) -> Any:
    """Return the start of a window, in milliseconds or rows."""
    return window.start if not status.settings.rule.by_time else window.start // 1000


def _x(status: MonitorStatus, width: int) -> Spec:
    """Return the horizontal axis, the same for all charts."""
    places = [_at(status, window) for window in status.windows]
    margin = (places[-1] - places[0]) * 0.02 or 1
    domain = [places[0] - margin, places[-1] + margin]
    axis: Spec = {"title": None, "tickCount": max(3, width // 110), "labelOverlap": True}
    if not status.settings.rule.by_time:
        scale: Spec = {"domain": domain, "nice": False}
        return {"field": "at", "type": "quantitative", "scale": scale, "axis": axis}
    if len(places) == 1:
        domain = [places[0] - DAY, places[0] + DAY]
    days = (domain[1] - domain[0]) / DAY
    axis["format"] = "%b %d %H:%M" if days < 2 else "%b %d" if days < 700 else "%b %Y"
    return {
        "field": "at",
        "type": "temporal",
        "scale": {"type": "utc", "domain": domain, "nice": False},
        "axis": axis,
    }


def _part(
    status: MonitorStatus, name: str, data: dict[str, Values], kinds: tuple[str, ...] = (), score: str | None = None
) -> Spec:
    """Return a chart with a vertical line at each alarm of its kinds and, for out-of-distribution scores, of its score."""
    at = {window.window: _at(status, window) for window in status.windows}
    own = [a for a in status.alarms if a.kind in kinds and a.score == score and a.group == status.group]
    raised = sorted({a.window for a in own if a.window in at})
    part = with_data(chart_parts()[f"timeline {name}"], data)
    # Charts of one specification must not share names of data.
    part["layer"] = [{**layer, "data": {"values": layer["data"]["values"]}} for layer in part["layer"]]
    if raised:
        line = {"type": "rule", "color": "var(--over)", "strokeDash": [3, 3], "opacity": 0.6}
        alarms = {
            "data": {"values": [{"at": at[window]} for window in raised]},
            "mark": line,
            "encoding": {"color": None},
        }
        part["layer"] = [alarms, *part["layer"]]
    return part


def _confidence(status: MonitorStatus) -> dict[str, Values]:
    lines = _lines(status, [w.scores.confidence for w in status.windows], LINES)
    first = next((w.scores.reading for w in status.windows if w.scores.reading is not None), None)
    return {"lines": lines, "levels": [] if first is None else [{"y": first.reference.mean}]}


def _lines(status: MonitorStatus, findings: Sequence[Any], names: Sequence[str]) -> Values:
    """Return the points of one line for each quantity of what was found in the windows."""
    return [
        {"at": _at(status, w), "value": getattr(found, name), "what": name}
        for w, found in zip(status.windows, findings, strict=True)
        for name in names
    ]


def _drift(status: MonitorStatus) -> list[Spec]:
    values = []
    for w in status.windows:
        if w.scores.drift is not None:
            psi = w.scores.drift["psi"]
            what = "significant" if w.drifted else "not significant"
            # With few resamples a small level has no finite critical value; then it is not drawn.
            threshold = psi.threshold if math.isfinite(psi.threshold) else None
            values.append({"at": _at(status, w), "psi": psi.value, "threshold": threshold, "what": what})
    return [_part(status, "drift", {"drift": values}, ("scores",))] if values else []


def _ood(status: MonitorStatus, place: int) -> Spec:
    """Return the chart of one out-of-distribution score: median and upper quantiles, and those of the reference data."""
    scores = [w.scores.ood[place] for w in status.windows]
    lines, first = _lines(status, scores, LINES[1:]), scores[0]
    levels = [{"y": value} for value in (first.reference_median, first.reference_p99) if value is not None]
    part = _part(status, "ood", {"lines": lines, "levels": levels}, ("ood",), first.name)
    return {**part, "title": {**part["title"], "text": f"{part['title']['text']} {first.name}"}}


def _gap(status: MonitorStatus) -> list[Spec]:
    values = []
    for w in status.windows:
        c = w.calibration
        if c is not None:
            side = ABOVE if c.gap > 0 else BELOW
            values.append({"at": _at(status, w), "gap": c.gap, "low": c.gap_low, "high": c.gap_high, "what": side})
    return [_part(status, "gap", {"gaps": values}, ("calibration", "change"))] if values else []


def _drawn(at: Any, value: float, what: str, run: int, most: float) -> dict[str, Any]:
    """Return an e-value at the end of a window; beyond the limits of the chart it is drawn at the limit with another mark.

    Lines do not connect different runs of the detector.
    """
    mark = MORE if value > most else LESS if value < SMALLEST else EXACT
    return {"at": at, "value": min(max(value, SMALLEST), most), "what": what, "run": run, "mark": mark}


def _evidence(status: MonitorStatus) -> list[Spec]:
    """Return the chart of the e-values of the sequential test and of the change detector after each window.

    In the window of its alarm the detector restarts; its value is then known only to have reached the alarm threshold.
    """
    level = status.detector.run_length
    most = max(LARGEST, 1000 * level, 1000 / status.process.alpha)
    reached = {a.window for a in status.alarms if a.kind == "change" and a.group == status.group}
    evidence, run = [], 0
    for w in status.windows:
        if w.e_value is not None:
            evidence.append(_drawn(_at(status, w), w.e_value, SINCE_START, 0, most))
        if w.detector is not None:
            evidence.append(_drawn(_at(status, w), w.detector, SINCE_ANY, run, most))
        elif w.e_value is not None and w.window in reached:
            evidence.append(_drawn(_at(status, w), level, SINCE_ANY, run, most) | {"mark": MORE})
            run += 1
    if not evidence:
        return []
    levels = [{"y": value} for value in (1 / status.process.alpha, status.detector.run_length)]
    part = _part(status, "evidence", {"evidence": evidence, "levels": levels}, ("calibration", "change"))
    marks = [mark for mark in (MORE, LESS) if any(each["mark"] == mark for each in evidence)]
    return [{**part, "title": {**part["title"], "subtitle": "; ".join(["dashed: alarm threshold", *marks])}}]

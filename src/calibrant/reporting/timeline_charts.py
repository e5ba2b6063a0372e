"""Charts of a monitor's timeline as one Vega-Lite specification: confidence, drift, calibration gap, evidence."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..monitoring.status import MonitorStatus, WindowStatus
from .specs import COLUMN_ROOM, ON_PAPER
from .wording import ABOVE, BELOW

WIDE, NARROW = 820, 300
OVER, UNDER, PAPER, INK = ON_PAPER.over, ON_PAPER.under, ON_PAPER.paper, "#333333"
QUIET, MARK = "#7a7a80", "#b2560d"
SINCE_START, SINCE_ANY = "sequential test", "change detector"
# E-values beyond the limits are drawn at the limit with a triangle; a longer axis would hide values near the alarm threshold.
EXACT, MORE, LESS = "exact", "triangle: at least this value", "triangle down: at most this value"
LARGEST, SMALLEST = 1e12, 1e-6
LINES = ("mean", "median", "p90", "p99")
COLOURS = ("#333333", "#2166ac", "#1b7837", "#8c6d9e")


def timeline_spec(status: MonitorStatus, width: int = WIDE) -> dict[str, Any]:
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
    ood = [_ood(status, width, place) for place in range(len(status.settings.ood))]
    parts = [_confidence(status, width), _drift(status, width), *ood, _gap(status, width), _evidence(status, width)]
    config = {
        "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "gridColor": "#ececf0"},
        "legend": {"labelFontSize": 12, "columnPadding": COLUMN_ROOM},
        "view": {"stroke": "#cccccc"},
        "title": {
            "anchor": "start",
            "fontSize": 14,
            "fontWeight": "bold",
            "color": INK,
            "offset": 6,
            "frame": "group",
            "subtitleFontSize": 12,
        },
    }
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": PAPER,
        "vconcat": [part for part in parts if part is not None],
        "spacing": 26,
        "resolve": {"scale": {"color": "independent", "shape": "independent", "y": "independent"}},
        "config": config,
    }


def _at(status: MonitorStatus, window: WindowStatus) -> Any:
    """Return the start of a window, in milliseconds or rows."""
    return window.start if not status.settings.rule.by_time else window.start // 1000


def _x(status: MonitorStatus, width: int) -> dict[str, Any]:
    """Return the horizontal axis, the same for all charts."""
    places = [_at(status, window) for window in status.windows]
    margin = (places[-1] - places[0]) * 0.02 or 1
    domain = [places[0] - margin, places[-1] + margin]
    axis: dict[str, Any] = {"title": None, "tickCount": max(3, width // 110), "labelOverlap": True}
    if not status.settings.rule.by_time:
        return {"field": "at", "type": "quantitative", "scale": {"domain": domain, "nice": False}, "axis": axis}
    if len(places) == 1:
        domain = [places[0] - 86_400_000, places[0] + 86_400_000]
    days = (domain[1] - domain[0]) / 86_400_000
    axis["format"] = "%b %d %H:%M" if days < 2 else "%b %d" if days < 700 else "%b %Y"
    scale = {"type": "utc", "domain": domain, "nice": False}
    return {"field": "at", "type": "temporal", "scale": scale, "axis": axis}


def _layered(
    status: MonitorStatus,
    width: int,
    title: str,
    layers: list[dict[str, Any]],
    kinds: tuple[str, ...],
    score: str | None = None,
) -> dict[str, Any]:
    """Return a chart with a vertical line at each alarm of its kind and, for out-of-distribution scores, of its score."""
    at = {window.window: _at(status, window) for window in status.windows}
    own = [a for a in status.alarms if a.kind in kinds and a.score == score and a.group == status.group]
    raised = {a.window for a in own if a.window in at}
    if raised:
        rule = {
            "data": {"values": [{"at": at[name]} for name in sorted(raised)]},
            "mark": {"type": "rule", "color": MARK, "strokeDash": [3, 3], "opacity": 0.6},
            "encoding": {"x": _x(status, width)},
        }
        layers = [rule, *layers]
    return {
        "width": width,
        "height": 130,
        "title": _title(title),
        "layer": layers,
        "resolve": {"scale": {"color": "independent"}},
    }


def _title(text: str) -> dict[str, str]:
    """Return a title; the part in brackets becomes the subtitle."""
    main, _, rest = text.partition(" (")
    return {"text": main, "subtitle": rest.removesuffix(")")}


def _level(value: float, scale: dict[str, Any] | None = None) -> dict[str, Any]:
    y: dict[str, Any] = {"field": "y", "type": "quantitative"}
    return {
        "data": {"values": [{"y": value}]},
        "mark": {"type": "rule", "color": QUIET, "strokeDash": [5, 4]},
        "encoding": {"y": {**y, "scale": scale} if scale else y},
    }


def _confidence(status: MonitorStatus, width: int) -> dict[str, Any]:
    values = [
        {"at": _at(status, w), "value": getattr(w.scores.confidence, name), "what": name}
        for w in status.windows
        for name in LINES
    ]
    first = next((w.scores.reading for w in status.windows if w.scores.reading is not None), None)
    floor = min([value["value"] for value in values] + ([] if first is None else [first.reference.mean]))
    scale = {"domain": [max(0, floor - 0.05), 1], "zero": False}
    y = {"field": "value", "type": "quantitative", "title": "confidence", "scale": scale}
    colour = {
        "field": "what",
        "type": "nominal",
        "scale": {"domain": list(LINES), "range": list(COLOURS)},
        "legend": {"title": None, "orient": "top", "direction": "horizontal", "offset": 2},
    }
    line = {
        "data": {"values": values},
        "mark": {"type": "line", "point": {"size": 28}, "strokeWidth": 1.6},
        "encoding": {"x": _x(status, width), "y": y, "color": colour},
    }
    layers = [line] if first is None else [_level(first.reference.mean, scale), line]
    return _layered(status, width, "Confidence (dashed: mean of the reference)", layers, ())


def _drift(status: MonitorStatus, width: int) -> dict[str, Any] | None:
    values = []
    for w in status.windows:
        if w.scores.drift is not None:
            found = w.scores.drift["psi"]
            words = "significant" if w.drifted else "not significant"
            # With few resamples a small level has no finite critical value; then it is not drawn.
            threshold = found.threshold if math.isfinite(found.threshold) else None
            values.append({"at": _at(status, w), "psi": found.value, "threshold": threshold, "what": words})
    if not values:
        return None
    scale = {"domain": ["not significant", "significant"], "range": [UNDER, OVER]}
    top = {"title": None, "orient": "top", "direction": "horizontal", "offset": 2}
    point = {
        "data": {"values": values},
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
        "encoding": {
            "x": _x(status, width),
            "y": {"field": "psi", "type": "quantitative", "title": "PSI"},
            "color": {"field": "what", "type": "nominal", "scale": scale, "legend": top},
            "shape": {
                "field": "what",
                "type": "nominal",
                "scale": {"domain": scale["domain"], "range": ["circle", "diamond"]},
                "legend": None,
            },
        },
    }
    bound = {
        "data": {"values": values},
        "mark": {"type": "tick", "color": QUIET, "thickness": 1.5, "orient": "horizontal", "width": 12},
        "encoding": {"x": _x(status, width), "y": {"field": "threshold", "type": "quantitative"}},
    }
    title = "Score drift (tick: critical value)"
    return _layered(status, width, title, [bound, point], ("scores",))


def _ood(status: MonitorStatus, width: int, place: int) -> dict[str, Any]:
    """Return the chart of one out-of-distribution score: median and upper quantiles, and those of the reference data."""
    found = [(w, w.scores.ood[place]) for w in status.windows]
    names = ("median", "p90", "p99")
    values = [
        {"at": _at(status, w), "value": getattr(score, name), "what": name} for w, score in found for name in names
    ]
    y = {"field": "value", "type": "quantitative", "title": found[0][1].name, "scale": {"zero": False}}
    colour = {
        "field": "what",
        "type": "nominal",
        "scale": {"domain": list(names), "range": list(COLOURS[1:])},
        "legend": {"title": None, "orient": "top", "direction": "horizontal", "offset": 2},
    }
    line = {
        "data": {"values": values},
        "mark": {"type": "line", "point": {"size": 28}, "strokeWidth": 1.6},
        "encoding": {"x": _x(status, width), "y": y, "color": colour},
    }
    first = found[0][1]
    known = (first.reference_median, first.reference_p99)
    levels = [_level(value, {"zero": False}) for value in known if value is not None]
    title = f"Out-of-distribution score {first.name} (dashed: median and p99 of the reference)"
    return _layered(status, width, title, [*levels, line], ("ood",), first.name)


def _gap(status: MonitorStatus, width: int) -> dict[str, Any] | None:
    values = []
    for w in status.windows:
        c = w.calibration
        if c is not None:
            side = ABOVE if c.gap > 0 else BELOW
            values.append({"at": _at(status, w), "gap": c.gap, "low": c.gap_low, "high": c.gap_high, "what": side})
    if not values:
        return None
    x = _x(status, width)
    colour = {
        "field": "what",
        "type": "nominal",
        "scale": {"domain": [ABOVE, BELOW], "range": [OVER, UNDER]},
        "legend": {"title": None, "orient": "top", "direction": "horizontal", "offset": 2},
    }
    y = {"field": "low", "type": "quantitative", "title": "mean score minus rate"}
    rule = {
        "data": {"values": values},
        "mark": {"type": "rule", "strokeWidth": 2},
        "encoding": {"x": x, "y": y, "y2": {"field": "high"}, "color": {**colour, "legend": None}},
    }
    point = {
        "data": {"values": values},
        "mark": {"type": "point", "filled": True, "size": 50, "opacity": 1},
        "encoding": {"x": x, "y": {"field": "gap", "type": "quantitative"}, "color": colour},
    }
    title = "Calibration gap (labelled rows, 95% intervals)"
    return _layered(status, width, title, [_level(0.0), rule, point], ("calibration", "change"))


class Evidence(NamedTuple):
    """An e-value at the end of a window, limited to the range of the chart."""

    at: Any
    value: float
    what: str
    run: int
    """Increases with every restart of the detector; lines do not connect different runs."""
    mark: str


def _drawn(at: Any, value: float, what: str, run: int, most: float) -> Evidence:
    """Return an e-value for the chart; beyond its limits it is drawn at the limit with another mark."""
    mark = MORE if value > most else LESS if value < SMALLEST else EXACT
    return Evidence(at, min(max(value, SMALLEST), most), what, run, mark)


def _evidence_values(status: MonitorStatus) -> list[Evidence]:
    """Return the e-values of the sequential test and of the change detector after each window.

    In the window of its alarm the detector restarts; its value is then known only to have reached the alarm threshold.
    """
    level = status.detector.run_length
    most = max(LARGEST, 1000 * level, 1000 / status.process.alpha)
    reached = {a.window for a in status.alarms if a.kind == "change" and a.group == status.group}
    found, run = [], 0
    for w in status.windows:
        if w.e_value is not None:
            found.append(_drawn(_at(status, w), w.e_value, SINCE_START, 0, most))
        if w.detector is not None:
            found.append(_drawn(_at(status, w), w.detector, SINCE_ANY, run, most))
        elif w.e_value is not None and w.window in reached:
            found.append(Evidence(_at(status, w), level, SINCE_ANY, run, MORE))
            run += 1
    return found


def _evidence(status: MonitorStatus, width: int) -> dict[str, Any] | None:
    found = _evidence_values(status)
    if not found:
        return None
    scale = {"type": "log"}
    axis = {"format": ".0e", "tickCount": 4}
    y = {"field": "value", "type": "quantitative", "scale": scale, "title": "e-value", "axis": axis}
    colours = {"domain": [SINCE_START, SINCE_ANY], "range": [INK, UNDER]}
    colour = {"field": "what", "type": "nominal", "scale": colours, "legend": None}
    legend = {"title": None, "orient": "top", "direction": "horizontal", "offset": 2, "symbolType": "circle"}
    data = {"values": [each._asdict() for each in found]}
    line = {
        "data": data,
        "mark": {"type": "line", "strokeWidth": 1.6},
        "encoding": {"x": _x(status, width), "y": y, "color": colour, "detail": {"field": "run"}},
    }
    point = {
        "data": data,
        "mark": {"type": "point", "filled": True, "opacity": 1},
        "encoding": {
            "x": _x(status, width),
            "y": y,
            "color": {**colour, "legend": legend},
            "shape": _by_mark(["circle", "triangle-up", "triangle-down"]),
            "size": _by_mark([28, 90, 90]),
        },
    }
    layers = [_level(1 / status.process.alpha, scale), _level(status.detector.run_length, scale), line, point]
    marks = [mark for mark in (MORE, LESS) if any(each.mark == mark for each in found)]
    legend_text = "".join(f"; {mark}" for mark in marks)
    title = f"Evidence against calibration (dashed: alarm threshold{legend_text})"
    return _layered(status, width, title, layers, ("calibration", "change"))


def _by_mark(values: list[Any]) -> dict[str, Any]:
    return {
        "field": "mark",
        "type": "nominal",
        "scale": {"domain": [EXACT, MORE, LESS], "range": values},
        "legend": None,
    }

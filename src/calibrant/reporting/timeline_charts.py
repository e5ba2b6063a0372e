"""Charts of a monitor's timeline as one Vega-Lite specification: confidence, drift, calibration gap, evidence."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..monitoring.status import MonitorStatus, WindowStatus
from .specs import INK, OVER, SOFT, UNDER, Spec, category, layer, quantity, top_legend
from .wording import ABOVE, BELOW

WIDE, NARROW = 820, 300
SINCE_START, SINCE_ANY = "sequential test", "change detector"
# E-values beyond the limits are drawn at the limit with a triangle; a longer axis would hide values near the alarm threshold.
EXACT, MORE, LESS = "exact", "triangle: at least this value", "triangle down: at most this value"
LARGEST, SMALLEST = 1e12, 1e-6
LINES = ("mean", "median", "p90", "p99")
COLOURS = (INK, UNDER, "var(--c2)", "var(--c3)")
DAY = 86_400_000


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
    ood = [_ood(status, place) for place in range(len(status.settings.ood))]
    parts = [_confidence(status), _drift(status), *ood, _gap(status), _evidence(status)]
    title = {"anchor": "start", "fontSize": 14, "fontWeight": "bold", "color": INK, "offset": 6, "frame": "group"}
    x = _x(status, width)
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": "transparent",
        "vconcat": [
            {"width": width, "height": 130, "title": part.title, "encoding": {"x": x}, "layer": part.layers}
            for part in parts
            if part is not None
        ],
        "spacing": 26,
        "resolve": {"scale": {"color": "independent", "shape": "independent", "y": "independent"}},
        "config": {
            "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "gridColor": "#ececf0"},
            "legend": {"labelFontSize": 12},
            "view": {"stroke": "#cccccc"},
            "title": {**title, "subtitleFontSize": 12},
        },
    }


class Part(NamedTuple):
    """A chart of the timeline."""

    title: Spec
    layers: list[Spec]


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
        return quantity("at", scale={"domain": domain, "nice": False}, axis=axis)
    if len(places) == 1:
        domain = [places[0] - DAY, places[0] + DAY]
    days = (domain[1] - domain[0]) / DAY
    axis["format"] = "%b %d %H:%M" if days < 2 else "%b %d" if days < 700 else "%b %Y"
    scale = {"type": "utc", "domain": domain, "nice": False}
    return {"field": "at", "type": "temporal", "scale": scale, "axis": axis}


def _part(
    status: MonitorStatus,
    title: str,
    subtitle: str,
    layers: list[Spec],
    kinds: tuple[str, ...] = (),
    score: str | None = None,
) -> Part:
    """Return a chart with a vertical line at each alarm of its kind and, for out-of-distribution scores, of its score."""
    at = {window.window: _at(status, window) for window in status.windows}
    own = [a for a in status.alarms if a.kind in kinds and a.score == score and a.group == status.group]
    raised = sorted({a.window for a in own if a.window in at})
    rule = layer(
        "rule", {"color": OVER, "strokeDash": [3, 3], "opacity": 0.6}, {}, [{"at": at[name]} for name in raised]
    )
    return Part({"text": title, "subtitle": subtitle}, [rule, *layers] if raised else layers)


def _level(value: float, **scale: Any) -> Spec:
    y = quantity("y", scale=scale) if scale else quantity("y")
    # The line runs across the whole chart, not at a window.
    return layer("rule", {"color": SOFT, "strokeDash": [5, 4]}, {"x": None, "y": y}, [{"y": value}])


def _quantile_lines(values: list[Spec], names: tuple[str, ...], y: Spec) -> Spec:
    colour = category("what", names, COLOURS[-len(names) :], top_legend())
    return layer("line", {"point": {"size": 28}, "strokeWidth": 1.6}, {"y": y, "color": colour}, values)


def _confidence(status: MonitorStatus) -> Part:
    values = [
        {"at": _at(status, w), "value": getattr(w.scores.confidence, name), "what": name}
        for w in status.windows
        for name in LINES
    ]
    first = next((w.scores.reading for w in status.windows if w.scores.reading is not None), None)
    levels = [] if first is None else [first.reference.mean]
    floor = min([value["value"] for value in values] + levels)
    scale = {"domain": [max(0, floor - 0.05), 1], "zero": False}
    lines = _quantile_lines(values, LINES, quantity("value", title="confidence", scale=scale))
    layers = [*(_level(value, **scale) for value in levels), lines]
    return _part(status, "Confidence", "dashed: mean of the reference", layers)


def _drift(status: MonitorStatus) -> Part | None:
    values = []
    for w in status.windows:
        if w.scores.drift is not None:
            psi = w.scores.drift["psi"]
            what = "significant" if w.drifted else "not significant"
            # With few resamples a small level has no finite critical value; then it is not drawn.
            threshold = psi.threshold if math.isfinite(psi.threshold) else None
            values.append({"at": _at(status, w), "psi": psi.value, "threshold": threshold, "what": what})
    if not values:
        return None
    names = ("not significant", "significant")
    encoding = {
        "y": quantity("psi", title="PSI"),
        "color": category("what", names, (UNDER, OVER), top_legend()),
        "shape": category("what", names, ("circle", "diamond")),
    }
    tick = {"color": SOFT, "thickness": 1.5, "orient": "horizontal", "width": 12}
    layers = [
        layer("tick", tick, {"y": quantity("threshold")}, values),
        layer("point", {"filled": True, "size": 60, "opacity": 1}, encoding, values),
    ]
    return _part(status, "Score drift", "tick: critical value", layers, ("scores",))


def _ood(status: MonitorStatus, place: int) -> Part:
    """Return the chart of one out-of-distribution score: median and upper quantiles, and those of the reference data."""
    scores = [(w, w.scores.ood[place]) for w in status.windows]
    names = LINES[1:]
    values = [
        {"at": _at(status, w), "value": getattr(score, name), "what": name} for w, score in scores for name in names
    ]
    first = scores[0][1]
    lines = _quantile_lines(values, names, quantity("value", title=first.name, scale={"zero": False}))
    levels = [_level(value, zero=False) for value in (first.reference_median, first.reference_p99) if value is not None]
    title, subtitle = f"Out-of-distribution score {first.name}", "dashed: median and p99 of the reference"
    return _part(status, title, subtitle, [*levels, lines], ("ood",), first.name)


def _gap(status: MonitorStatus) -> Part | None:
    values = []
    for w in status.windows:
        c = w.calibration
        if c is not None:
            side = ABOVE if c.gap > 0 else BELOW
            values.append({"at": _at(status, w), "gap": c.gap, "low": c.gap_low, "high": c.gap_high, "what": side})
    if not values:
        return None
    colour = category("what", (ABOVE, BELOW), (OVER, UNDER), top_legend())
    interval = {"y": quantity("low", title="mean score minus rate"), "y2": {"field": "high"}}
    layers = [
        _level(0.0),
        layer("rule", {"strokeWidth": 2}, {**interval, "color": colour}, values),
        layer("point", {"filled": True, "size": 50, "opacity": 1}, {"y": quantity("gap"), "color": colour}, values),
    ]
    return _part(status, "Calibration gap", "labelled rows, 95% intervals", layers, ("calibration", "change"))


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
    evidence, run = [], 0
    for w in status.windows:
        if w.e_value is not None:
            evidence.append(_drawn(_at(status, w), w.e_value, SINCE_START, 0, most))
        if w.detector is not None:
            evidence.append(_drawn(_at(status, w), w.detector, SINCE_ANY, run, most))
        elif w.e_value is not None and w.window in reached:
            evidence.append(Evidence(_at(status, w), level, SINCE_ANY, run, MORE))
            run += 1
    return evidence


def _evidence(status: MonitorStatus) -> Part | None:
    evidence = _evidence_values(status)
    if not evidence:
        return None
    values = [each._asdict() for each in evidence]
    y = quantity("value", scale={"type": "log"}, title="e-value", axis={"format": ".0e", "tickCount": 4})
    marks = (EXACT, MORE, LESS)
    colour = category("what", (SINCE_START, SINCE_ANY), (INK, UNDER), top_legend(symbolType="circle"))
    line = {"y": y, "color": colour, "detail": {"field": "run"}}
    point = {
        "y": y,
        "color": colour,
        "shape": category("mark", marks, ("circle", "triangle-up", "triangle-down")),
        "size": category("mark", marks, (28, 90, 90)),
    }
    layers = [
        *(_level(value, type="log") for value in (1 / status.process.alpha, status.detector.run_length)),
        layer("line", {"strokeWidth": 1.6}, line, values),
        layer("point", {"filled": True, "opacity": 1}, point, values),
    ]
    shown = {each.mark for each in evidence}
    subtitle = "; ".join(["dashed: alarm threshold", *(mark for mark in (MORE, LESS) if mark in shown)])
    return _part(status, "Evidence against calibration", subtitle, layers, ("calibration", "change"))

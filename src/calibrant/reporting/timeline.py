"""The timeline of a monitor as one page: what changed when, what was found, and what to make of it; nothing on it can run."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any, NamedTuple

from .. import __version__
from .._results import number
from ..files import write_atomic
from ..monitoring.status import MonitorStatus, WatchAlarm, WindowStatus
from .diagram import INK, OVER, PAPER, UNDER, svg_of

__all__ = ["render_timeline", "timeline_spec", "write_timeline"]

WIDE, NARROW = 820, 300
QUIET, MARK = "#7a7a80", "#b2560d"
LINES = ("mean", "median", "p90", "p99")
COLOURS = ("#333333", "#2166ac", "#1b7837", "#8c6d9e")
HEADINGS = (
    "window", "state", "rows", "labels", "mean", "median", "p90", "p99", "drift p", "PSI", "KS", "Wasserstein", "JS",
    "gap", "ece", "smece", "accuracy", "estimated", "e-value",
)  # fmt: skip


def write_timeline(path: str | os.PathLike[str], status: MonitorStatus, *, title: str = "Monitor") -> Path:
    """Write the page and return where it is; the same status gives the same bytes.

    Parameters
    ----------
    path
        Where to write.
    status
        What `Monitor.status` gave.
    title
        Heading of the page.

    Examples
    --------
    >>> import os, tempfile
    >>> import calibrant as cal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     monitor = cal.Monitor.create(os.path.join(folder, "watch.db"), reference=([0, 1, 1], [0.1, 0.4, 0.8]), every="1d")
    ...     page = cal.write_timeline(os.path.join(folder, "page.html"), monitor.status(), title="Churn").read_text()
    >>> "No rows have come yet." in page
    True
    """
    return write_atomic(path, render_timeline(status, title=title).encode())


def render_timeline(status: MonitorStatus, *, title: str = "Monitor") -> str:
    """The page as text: it opens from disk without a network.

    Parameters
    ----------
    status, title
        As for `write_timeline`.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("calibrant", "reporting/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=number, percent=lambda share: f"{100 * share:.0f} %")
    newest = status.last_closed or (status.windows[-1] if status.windows else None)
    return environment.get_template("timeline.html").render(
        title=title,
        version=__version__,
        status=status,
        newest=newest,
        labelled=status.last_labelled,
        pictures=[_picture(timeline_spec(status, width)) for width in (WIDE, NARROW)] if status.windows else [],
        headings=HEADINGS,
        rows=[_row(window) for window in reversed(status.windows)],
        alarms=_alarm_stories(status),
    )


KINDS = {
    "calibration": "labels not drawn from scores",
    "change": "change of calibration",
    "scores": "drift of scores",
}


class AlarmStory(NamedTuple):
    """Alarms of one kind and group: the first one, and how often it came again."""

    heading: str
    words: str
    again: str
    seen: bool


def _alarm_stories(status: MonitorStatus) -> list[AlarmStory]:
    """One entry for each kind and group: those that nobody acknowledged first, all rows before groups, labels before scores."""
    stories: dict[tuple[Any, ...], list[WatchAlarm]] = {}
    for alarm in status.alarms:
        stories.setdefault((alarm.acknowledged, alarm.kind, str(alarm.group)), []).append(alarm)
    kinds = list(KINDS)

    def rank(found: list[WatchAlarm]) -> tuple[Any, ...]:
        first = found[0]
        return first.acknowledged, first.group is not None, str(first.group), kinds.index(first.kind)

    return [_story(found) for found in sorted(stories.values(), key=rank)]


def _story(found: list[WatchAlarm]) -> AlarmStory:
    first, last = found[0], found[-1]
    named = "all rows" if first.group is None else f"group {first.group}"
    again = ""
    if len(found) > 1:
        times = "once more" if len(found) == 2 else f"{len(found) - 1} more times"
        again = f"It came {times}, last in window {last.window}."
    words = first.words if first.words.endswith(".") else first.words + "."
    return AlarmStory(f"{first.window}: {KINDS[first.kind]}, {named}", words, again, first.acknowledged)


def _picture(spec: dict[str, Any]) -> str:
    drawn = base64.b64encode(svg_of(spec).encode()).decode("ascii")
    return f"data:image/svg+xml;base64,{drawn}"


def _row(w: WindowStatus) -> list[str]:
    s, c = w.scores, w.calibration
    drift = ["-"] * 4 if s.drift is None else [number(result.value) for result in s.drift.results]
    labelled = ["-"] * 4
    if c is not None:
        interval = "" if c.ece_low is None else f" ({number(c.ece_low, 2)} to {number(c.ece_high, 2)})"
        labelled = [
            f"{number(c.gap)} ({number(c.gap_low, 2)} to {number(c.gap_high, 2)})",
            number(c.ece) + interval,
            number(c.smece),
            number(c.accuracy),
        ]
    return [
        w.window,
        w.state,
        f"{w.n:,}",
        f"{100 * w.share_labelled:.0f} %",
        *(number(getattr(s.confidence, name)) for name in LINES),
        "-" if s.drift_pvalue is None else f"{s.drift_pvalue:.3g}",
        *drift,
        *labelled,
        number(s.accuracy[0].estimate) if s.accuracy else "-",
        number(w.e_value),
    ]


def timeline_spec(status: MonitorStatus, width: int = WIDE) -> dict[str, Any]:
    """Four pictures over the same windows, as a Vega-Lite specification: confidence, drift, calibration, and the bets.

    Parameters
    ----------
    status
        With at least one window.
    width
        Pixels.
    """
    parts = [_confidence(status, width), _drift(status, width), _gap(status, width), _bets(status, width)]
    config = {
        "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "gridColor": "#ececf0"},
        "legend": {"labelFontSize": 12},
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
    """Where a window stands: its beginning, in milliseconds or rows."""
    return window.start if not status.settings.rule.by_time else window.start // 1000


def _x(status: MonitorStatus, width: int) -> dict[str, Any]:
    """One axis for all pictures."""
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
    status: MonitorStatus, width: int, title: str, layers: list[dict[str, Any]], kinds: tuple[str, ...]
) -> dict[str, Any]:
    """A picture with a line where an alarm of its kind was raised."""
    at = {window.window: _at(status, window) for window in status.windows}
    raised = {a.window for a in status.alarms if a.kind in kinds and a.group == status.group and a.window in at}
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
    """What stands in brackets goes below, so that narrow pictures stay narrow."""
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
    return _layered(status, width, "How sure it was (dashed: mean of the reference)", layers, ())


def _drift(status: MonitorStatus, width: int) -> dict[str, Any] | None:
    values = []
    for w in status.windows:
        if w.scores.drift is not None:
            found = w.scores.drift["psi"]
            words = "changed" if w.drifted else "as chance does"
            values.append({"at": _at(status, w), "psi": found.value, "threshold": found.threshold, "what": words})
    if not values:
        return None
    scale = {"domain": ["as chance does", "changed"], "range": [UNDER, OVER]}
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
    title = "Have the scores changed? (tick: what chance reaches)"
    return _layered(status, width, title, [bound, point], ("scores",))


def _gap(status: MonitorStatus, width: int) -> dict[str, Any] | None:
    values = []
    for w in status.windows:
        c = w.calibration
        if c is not None:
            side = "too sure" if c.gap > 0 else "not sure enough"
            values.append({"at": _at(status, w), "gap": c.gap, "low": c.gap_low, "high": c.gap_high, "what": side})
    if not values:
        return None
    x = _x(status, width)
    colour = {
        "field": "what",
        "type": "nominal",
        "scale": {"domain": ["too sure", "not sure enough"], "range": [OVER, UNDER]},
        "legend": {"title": None, "orient": "top", "direction": "horizontal", "offset": 2},
    }
    y = {"field": "low", "type": "quantitative", "title": "score minus rate"}
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
    title = "Does it mean what it says? (labelled rows, 95 % intervals)"
    return _layered(status, width, title, [_level(0.0), rule, point], ("calibration", "change"))


def _bets(status: MonitorStatus, width: int) -> dict[str, Any] | None:
    values = [
        {"at": _at(status, w), "value": min(max(w.e_value, 1e-6), 1e12), "what": "since the start"}
        for w in status.windows
        if w.e_value is not None
    ]
    if not values:
        return None
    values += [
        {"at": _at(status, w), "value": min(max(w.detector, 1e-6), 1e12), "what": "since any window"}
        for w in status.windows
        if w.detector is not None
    ]
    scale = {"type": "log"}
    line = {
        "data": {"values": values},
        "mark": {"type": "line", "point": {"size": 28}, "strokeWidth": 1.6},
        "encoding": {
            "x": _x(status, width),
            "y": {"field": "value", "type": "quantitative", "scale": scale, "title": "capital", "axis": {"format": ".0e", "tickCount": 4}},
            "color": {
                "field": "what",
                "type": "nominal",
                "scale": {"domain": ["since the start", "since any window"], "range": [INK, UNDER]},
                "legend": {"title": None, "orient": "top", "direction": "horizontal", "offset": 2},
            },
        },
    }  # fmt: skip
    layers = [_level(1 / status.process.alpha, scale), _level(status.detector.run_length, scale), line]
    title = "What bets against the scores made of 1 (dashed: alarm)"
    return _layered(status, width, title, layers, ("calibration", "change"))

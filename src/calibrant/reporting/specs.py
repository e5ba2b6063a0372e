"""Charts of the pages as Vega-Lite specifications; the interactive chart and its image are the same specification."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from .wording import ABOVE, BELOW

Spec = dict[str, Any]
Values = Sequence[Mapping[str, Any]]

ACCURACY, COVERAGE = "accuracy of the answers", "coverage"
# The height of the bars is a number of rows or, for several sides, a share of the rows of each.
ROWS, SHARE = "rows", "share of rows"
# Axes of the same width align charts that stand above each other.
AXIS_ROOM = 46
# Entries of a legend do not overlap even where the browser's font is wider than the one that was measured.
COLUMN_ROOM = 34
# Width of an image, and side of the calibration curve, whose axes have one unit; narrow screens have less room.
WIDTH = 420
# Colours are variables of the style sheet, so that dark mode and print follow; an image has their values on paper.
OVER, UNDER, INK, SOFT, LINE = "var(--over)", "var(--under)", "var(--ink)", "var(--soft)", "var(--line)"
TIP = {"tooltip": {"content": "data"}}
IDEAL, FLEXIBLE, LOGISTIC = "ideal", "flexible (loess)", "logistic"
WITH_EVENT, WITHOUT_EVENT = "with the event", "without the event"
MODEL, TREAT_ALL, TREAT_NONE = "model", "treat all", "treat none"


def layer(kind: str, mark: Spec, encoding: Spec, values: Values | None = None, name: str | None = None) -> Spec:
    """Return a layer of a chart; its data are `values`, those that the page calls `name`, or those of the chart."""
    data: Spec = {} if values is None else {"values": list(values)}
    data |= {} if name is None else {"name": name}
    return {**({"data": data} if data else {}), "mark": {"type": kind, **mark}, "encoding": encoding}


def quantity(field: str, **more: Any) -> Spec:
    """Return the encoding of a number."""
    return {"field": field, "type": "quantitative", **more}


def category(field: str, domain: Sequence[str], shown_as: Sequence[Any], legend: Spec | None = None) -> Spec:
    """Return the encoding of a name by a colour, a symbol or dashes."""
    scale = {"domain": list(domain), "range": list(shown_as)}
    return {"field": field, "type": "nominal", "scale": scale, "legend": legend}


def top_legend(**more: Any) -> Spec:
    """Return a legend above a chart."""
    return {"title": None, "orient": "top", "symbolOpacity": 1, "columnPadding": COLUMN_ROOM, **more}


def reliability_spec(points: Mapping[str, Values], titles: tuple[str, str]) -> Spec:
    """Return the reliability diagram: of one side a point per bin, the interval of its rate, and its distance from the diagonal.

    Of several sides, lines over each other. The page replaces the `points` and the titles; names from the data are never fields.

    Parameters
    ----------
    points : mapping
        ``bins`` of one side, ``lines`` of several, with ``mean_score``, ``rate``, ``low``, ``high``, ``side``, ``share``, ``place``,
        ``colour``, ``dash`` and ``shape``, and ``spans``, those of the lines whose intervals are shown.
    titles : tuple of str
        Titles of the axes.
    """
    x, rate = _unit("mean_score", {"expr": "meanTitle"}, grid=True), _unit("rate", {"expr": "rateTitle"}, grid=True)
    colour = category("side", (ABOVE, BELOW), (OVER, UNDER), top_legend(symbolType="circle"))
    size = quantity("share", scale={"domain": [0, 0.5], "range": [28, 170], "clamp": True}, legend=None)
    interval = {"x": x, "y": quantity("low"), "y2": {"field": "high"}}
    distance = {"x": x, "y": quantity("mean_score"), "y2": {"field": "rate"}}
    # Colours, dashes and shapes of sides are values, not scales: the legend is the list of sides beside the chart.
    stroke, dash, shape = (_value_of(field) for field in ("colour", "dash", "shape"))
    side = {"field": "place", "type": "nominal"}
    diagonal = [{"mean_score": at, "rate": at} for at in (0, 1)]
    return {
        **_frame(400),
        "usermeta": {"overlaid": bool(points["lines"])},
        "params": [{"name": "meanTitle", "value": titles[0]}, {"name": "rateTitle", "value": titles[1]}],
        "data": {"name": "bins", "values": list(points["bins"])},
        "layer": [
            layer("line", {"strokeDash": [5, 4], "strokeWidth": 1.5, "color": SOFT}, {"x": x, "y": rate}, diagonal),
            layer("rule", {"strokeWidth": 7, "opacity": 0.3, **TIP}, {**distance, "color": colour}),
            layer("rule", {"strokeWidth": 1.5, **TIP}, {**interval, "color": colour}),
            layer("point", {"filled": True, "opacity": 1, **TIP}, {"x": x, "y": rate, "color": colour, "size": size}),
            layer("rule", {"strokeWidth": 1.2, "opacity": 0.6, **TIP}, {**interval, "stroke": stroke}, points["spans"], "spans"),
            layer("line", {"strokeWidth": 2}, {"x": x, "y": rate, "detail": side, "stroke": stroke, "strokeDash": dash}, points["lines"], "lines"),
            layer("point", {"filled": True, "opacity": 1, "size": 55, **TIP}, {"x": x, "y": rate, "fill": stroke, "shape": shape}, points["lines"], "lines"),
        ],
    }  # fmt: skip


def histogram_spec(bars: Mapping[str, Values]) -> Spec:
    """Return the histogram of the scores of one side, or the outlines of those of several; the page replaces the `bars`.

    ``bins`` have ``left``, ``right`` and ``rows``; ``steps`` have ``at``, ``share``, ``place``, ``colour`` and ``dash``.
    """
    several = bool(bars["steps"])
    tallest = max((bar["share" if several else "rows"] for bar in bars["steps" if several else "bins"]), default=1)
    height = {
        "stack": None,
        "scale": {"domain": [0, {"expr": "heightMax"}], "nice": True},
        "axis": {
            "title": {"expr": "heightTitle"},
            "tickCount": 3,
            "labelExpr": f"heightTitle == '{SHARE}' ? format(datum.value, '~%') : format(datum.value, '~s')",
        },
    }
    bar = {
        "x": {"bin": {"binned": True}, **_unit("left", "score")},
        "x2": {"field": "right"},
        "y": quantity("rows", **height),
    }
    step = {
        "x": _unit("at", "score"),
        "y": quantity("share", **height),
        "detail": {"field": "place", "type": "nominal"},
        "color": _value_of("colour"),
        "strokeDash": _value_of("dash"),
    }
    return {
        **_frame(80),
        "params": [{"name": "heightTitle", "value": SHARE if several else ROWS}, {"name": "heightMax", "value": tallest or 1}],
        "data": {"name": "bins", "values": list(bars["bins"])},
        "layer": [
            layer("bar", {"color": SOFT, "opacity": 0.75, "binSpacing": 1, **TIP}, bar),
            layer("line", {"strokeWidth": 1.6, "interpolate": "step-after"}, step, bars["steps"], "steps"),
        ],
    }  # fmt: skip


def threshold_spec() -> Spec:
    """Return coverage and accuracy against the threshold, which the page fills in; `now` is the selected threshold."""
    x, share = _unit("threshold", "confidence threshold", grid=True), _unit("value", "share", grid=True)
    kind = category("what", (ACCURACY, COVERAGE), (UNDER, OVER), top_legend(symbolType="circle"))
    band = {"x": x, "y": {**share, "field": "low"}, "y2": {"field": "high"}}
    strip = {"x": quantity("from"), "x2": {"field": "to"}, "y": {"datum": 0}, "y2": {"datum": 1}}
    step = {"interpolate": "step-before"}
    return {
        **_frame(260),
        "layer": [
            layer("area", {"opacity": 0.15, "color": UNDER, **step}, band, [], "band"),
            layer("line", {"strokeWidth": 2.5, **step}, {"x": x, "y": share, "color": kind}, [], "lines"),
            layer("rule", {"strokeWidth": 1.5, "color": INK}, {"x": x}, [], "now"),
            layer("point", {"filled": True, "size": 70, "opacity": 1}, {"x": x, "y": share, "color": kind}, [], "now"),
            layer("rect", {"opacity": 0, **TIP}, strip, [], "steps"),
        ],
    }


def trend_spec(values: Values, names: tuple[str, str]) -> Spec:
    """Return mean score and rate by period; `values` have `place`, `name`, `value`, `what` and `tip`."""
    axis = {"title": None, "labelOverlap": "greedy", "labelLimit": 90, "labelAngle": -35}
    x = {"field": "name", "type": "nominal", "sort": {"field": "place"}, "axis": axis}
    percents = {"title": None, "tickCount": 5, "grid": True, "format": "~%"}
    y = quantity("value", scale={"zero": False}, axis=percents)
    colour = category("what", names, (UNDER, OVER), top_legend(symbolType="circle"))
    return {
        **_frame(220),
        "usermeta": {"width": 2 * WIDTH},
        "data": {"values": list(values)},
        "encoding": {"x": x, "y": y, "color": colour},
        "layer": [
            layer("line", {"strokeWidth": 2}, {}),
            layer("point", {"filled": True, "opacity": 1, "size": 50, **TIP}, {}),
        ],
    }


def curve_spec(points: Values, end: float, titles: tuple[str, str]) -> Spec:
    """Return the flexible calibration curve with its band, the logistic curve and the diagonal, up to `end` on both axes.

    `points` have `risk`, `observed`, `low`, `high`, `logistic`, `from`, `to` and `tip`.
    """
    x = _unit("risk", titles[0], grid=True, end=end)
    y = _unit("value", titles[1], grid=True, end=end)
    lines = [{"risk": at, "value": at, "what": IDEAL} for at in (0, end)]
    for what, name in ((FLEXIBLE, "observed"), (LOGISTIC, "logistic")):
        lines += [{"risk": v["risk"], "value": v[name], "what": what} for v in points if v[name] is not None]
    return {
        **_frame(WIDTH),
        "usermeta": {"square": True},
        "layer": [
            _band(points, x, y),
            _lines(lines, (IDEAL, FLEXIBLE, LOGISTIC), x, y),
            _strips(points, {"y": {"datum": 0}, "y2": {"datum": end}}),
        ],
    }


def risks_spec(values: Values, end: float, title: str) -> Spec:
    """Return the distribution of the risks, rows with the event above 0 and rows without it below, as shares of each.

    `values` have `left`, `right`, `share` (negative below 0), `what` and `tip`.
    """
    axis = {"tickCount": 4, "labelExpr": "format(abs(datum.value), '.0%')"}
    encoding = {
        "x": {"bin": {"binned": True}, **_unit("left", title, end=end)},
        "x2": {"field": "right"},
        "y": quantity("share", title="share of each", stack=None, axis=axis),
        "color": category("what", (WITH_EVENT, WITHOUT_EVENT), (OVER, UNDER), top_legend()),
    }
    bars = layer("bar", {"opacity": 0.8, "binSpacing": 1, **TIP}, encoding, values)
    return {**_frame(120), "usermeta": {"narrow": True}, **bars}


def benefit_spec(points: Values, end: float) -> Spec:
    """Return the decision curve; `points` have `threshold`, `model`, `low`, `high`, `treat_all`, `from`, `to` and `tip`."""
    top = max(*(v["model"] if v["high"] is None else v["high"] for v in points), 0.02)
    x = _unit("threshold", "threshold probability", grid=True, end=end)
    scale = {"domain": [-0.25 * top, 1.05 * top], "nice": False}
    y = quantity("value", scale=scale, axis={"title": "net benefit", "grid": True, "tickCount": 5})
    lines = [{"threshold": at, "value": 0, "what": TREAT_NONE} for at in (0, end)]
    for what, name in ((MODEL, "model"), (TREAT_ALL, "treat_all")):
        lines += [{"threshold": v["threshold"], "value": v[name], "what": what} for v in points]
    return {
        **_frame(300),
        "layer": [_band(points, x, y), _lines(lines, (TREAT_NONE, MODEL, TREAT_ALL), x, y), _strips(points, {})],
    }


def _lines(values: Values, names: tuple[str, str, str], x: Spec, y: Spec) -> Spec:
    """Return a reference, the main curve and another one, with one legend for colours and dashes."""
    colour = category("what", names, (SOFT, UNDER, OVER), top_legend(symbolType="stroke"))
    dash = {"field": "what", "type": "nominal", "scale": {"domain": list(names), "range": [[5, 4], [1, 0], [2, 3]]}}
    encoding = {"x": x, "y": y, "color": colour, "strokeDash": dash}
    return layer("line", {"strokeWidth": 2.2, "clip": True}, encoding, values)


def _band(points: Values, x: Spec, y: Spec) -> Spec:
    fields = (x["field"], "low", "high")
    band = [{name: point[name] for name in fields} for point in points if point["low"] is not None]
    encoding = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    return layer("area", {"opacity": 0.18, "color": UNDER, "clip": True}, encoding, band)


def _strips(points: Values, height: Spec) -> Spec:
    """Return invisible strips that show the numbers of a point under the pointer."""
    strips = [{name: point[name] for name in ("from", "to", "tip")} for point in points]
    return layer("rect", {"opacity": 0, **TIP}, {"x": quantity("from"), "x2": {"field": "to"}, **height}, strips)


def _value_of(field: str) -> Spec:
    """Return the encoding of a field that holds the colour, dashes or symbol itself."""
    return {"field": field, "type": "nominal", "scale": None}


def _unit(field: str, title: Any, grid: bool = False, end: float = 1) -> Spec:
    """Return the encoding of a quantity from 0 to `end`."""
    axis = {"title": title, "grid": grid, "tickCount": 5, "format": ".1f" if end == 1 else "~g"}
    return quantity(field, scale={"domain": [0, end], "nice": False}, axis=axis)


def _frame(height: int) -> Spec:
    axis = {"labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": 500, "labelColor": SOFT, "titleColor": INK}
    return {
        "width": "container",
        "height": height,
        "background": "transparent",
        "padding": {"left": 2, "right": 12, "top": 4, "bottom": 2},
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": {
            "font": "system-ui, sans-serif",
            "axis": {**axis, "gridColor": LINE, "domainColor": LINE, "tickColor": LINE},
            "axisY": {"minExtent": AXIS_ROOM, "maxExtent": AXIS_ROOM},
            "legend": {"labelFontSize": 12, "labelColor": INK, "labelLimit": 260},
            "view": {"stroke": LINE},
        },
    }


def still(spec: Spec) -> str:
    """Return a chart of the page as an image of a fixed width; several sides have their legend beside it."""
    more = spec.get("usermeta", {})
    if more.get("overlaid"):
        spec = {**spec, "layer": [_without_legend(part) for part in spec["layer"]]}
    return image_of({**spec, "width": more.get("width", WIDTH)})


def _without_legend(part: Spec) -> Spec:
    encoding = part["encoding"]
    if "color" not in encoding:
        return part
    return {**part, "encoding": {**encoding, "color": {**encoding["color"], "legend": None}}}


def image_of(spec: Spec) -> str:
    """Return a chart as the data address of an SVG image in the colours of paper; it is rendered without network access.

    The first image of a process takes most of a second, to start the interpreter of Vega-Lite.
    """
    import vl_convert

    text = re.sub(r"var\((--\w+)\)", lambda name: paper_colours().get(name[1], name[0]), json.dumps(spec))
    image = str(vl_convert.vegalite_to_svg(text, allowed_base_urls=[]))
    return f"data:image/svg+xml;base64,{base64.b64encode(image.encode()).decode('ascii')}"


@cache
def paper_colours() -> dict[str, str]:
    """Return the colours of the style sheet on paper by their names."""
    style = (files(__package__) / "static" / "report.css").read_text(encoding="utf-8")
    return dict(re.findall(r"(--\w+): (#\w+)", style.partition("}")[0]))

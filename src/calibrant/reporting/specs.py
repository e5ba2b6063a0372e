"""Charts of the report as Vega-Lite specifications, for the interactive page and for static images."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .wording import ABOVE, BELOW

Spec = dict[str, Any]
Values = Sequence[Mapping[str, Any]]

# Those of the page follow the lens that the reader selects.
TITLES = ({"expr": "meanTitle"}, {"expr": "rateTitle"})

ACCURACY, COVERAGE = "accuracy of the answers", "coverage"
# Axes of the same width align charts that stand above each other.
AXIS_ROOM = 46
# Entries of a legend do not overlap even where the browser's font is wider than the one that was measured.
COLUMN_ROOM = 34


class Palette(NamedTuple):
    """Colours of a chart: fixed for images, CSS variables on the page, so that dark mode and print follow."""

    over: str
    under: str
    ink: str
    soft: str
    line: str
    paper: str


# The two signal colours differ in lightness as well as in hue, for colour blindness and greyscale print.
ON_PAPER = Palette("#b2560d", "#2166ac", "#1d1d1f", "#5b5b60", "#d9d9de", "#ffffff")
ON_PAGE = Palette("var(--over)", "var(--under)", "var(--ink)", "var(--soft)", "var(--line)", "var(--paper)")


def reliability_spec(palette: Palette = ON_PAGE) -> Spec:
    """Return the reliability diagram: a point per bin, the interval of its rate, and its distance from the diagonal.

    The page fills in `bins`, which have `mean_score`, `rate`, `lower`, `upper`, `side` and `share`; names from the data are never fields.
    """
    x = {"field": "mean_score", **_unit(TITLES[0], grid=True)}
    rate = {"field": "rate", **_unit(TITLES[1], grid=True)}
    colour = {
        "field": "side",
        "type": "nominal",
        "scale": {"domain": [ABOVE, BELOW], "range": [palette.over, palette.under]},
        "legend": {
            "title": None,
            "orient": "top",
            "symbolType": "circle",
            "symbolOpacity": 1,
            "columnPadding": COLUMN_ROOM,
        },
    }
    marks: list[Spec] = [
        {
            "data": {"values": [{"mean_score": 0, "rate": 0}, {"mean_score": 1, "rate": 1}]},
            "mark": {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1.5, "color": palette.soft},
            "encoding": {"x": x, "y": rate},
        },
        {
            "mark": {"type": "rule", "strokeWidth": 7, "opacity": 0.3, "tooltip": {"content": "data"}},
            "encoding": {"x": x, "y": {"field": "mean_score", "type": "quantitative"}, "y2": {"field": "rate"}, "color": colour},
        },
        {
            "mark": {"type": "rule", "strokeWidth": 1.5, "tooltip": {"content": "data"}},
            "encoding": {"x": x, "y": {"field": "lower", "type": "quantitative"}, "y2": {"field": "upper"}, "color": colour},
        },
        {
            "mark": {"type": "point", "filled": True, "opacity": 1, "tooltip": {"content": "data"}},
            "encoding": {
                "x": x,
                "y": rate,
                "color": colour,
                "size": {"field": "share", "type": "quantitative", "scale": {"domain": [0, 0.5], "range": [28, 170], "clamp": True}, "legend": None},
            },
        },
    ]  # fmt: skip
    return {
        **_frame(palette, None, 400),
        "params": [{"name": title["expr"], "value": ""} for title in TITLES],
        "data": {"name": "bins", "values": []},
        "layer": [*marks, *_overlaid(x, rate)],
    }


def _overlaid(x: Spec, rate: Spec) -> list[Spec]:
    """Return the layers of several sides: `lines` have `place`, `colour`, `dash` and `shape`; `spans` are those with intervals.

    Colours, dashes and shapes are values, not scales: the legend is the list of sides beside the chart.
    """
    own = {name: {"field": field, "scale": None, "type": "nominal"} for name, field in
           (("stroke", "colour"), ("fill", "colour"), ("strokeDash", "dash"), ("shape", "shape"))}  # fmt: skip
    side = {"field": "place", "type": "nominal"}
    tip = {"tooltip": {"content": "data"}}
    return [
        {
            "data": {"name": "spans", "values": []},
            "mark": {"type": "rule", "strokeWidth": 1.2, "opacity": 0.6, **tip},
            "encoding": {"x": x, "y": {"field": "lower", "type": "quantitative"}, "y2": {"field": "upper"}, "stroke": own["stroke"]},
        },
        {
            "data": {"name": "lines", "values": []},
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {"x": x, "y": rate, "detail": side, "stroke": own["stroke"], "strokeDash": own["strokeDash"]},
        },
        {
            "data": {"name": "lines", "values": []},
            "mark": {"type": "point", "filled": True, "opacity": 1, "size": 55, **tip},
            "encoding": {"x": x, "y": rate, "fill": own["fill"], "shape": own["shape"]},
        },
    ]  # fmt: skip


# The height of the bars is a number of rows or, for several sides, a share of the rows of each.
ROWS, SHARE = "rows", "share of rows"
HEIGHTS = {"stack": None, "scale": {"domain": [0, {"expr": "heightMax"}], "nice": True}, "axis": {"title": {"expr": "heightTitle"}, "tickCount": 3, "labelExpr": f"heightTitle == '{SHARE}' ? format(datum.value, '~%') : format(datum.value, '~s')"}}  # fmt: skip


def _steps_layer() -> Spec:
    """Return the outline of the distribution of each side; `steps` have `at`, `share`, `place`, `colour` and `dash`."""
    return {
        "data": {"name": "steps", "values": []},
        "mark": {"type": "line", "strokeWidth": 1.6, "interpolate": "step-after"},
        "encoding": {
            "x": {"field": "at", **_unit("score")},
            "y": {"field": "share", "type": "quantitative", **HEIGHTS},
            "detail": {"field": "place", "type": "nominal"},
            "color": {"field": "colour", "type": "nominal", "scale": None},
            "strokeDash": {"field": "dash", "type": "nominal", "scale": None},
        },
    }


def trend_spec(values: Values, names: tuple[str, str], palette: Palette = ON_PAGE, *, width: int | None = None) -> Spec:
    """Return mean score and rate by period; `values` have `place`, `name`, `value`, `what` and `tip`."""
    x = {
        "field": "name",
        "type": "nominal",
        "sort": {"field": "place"},
        "axis": {"title": None, "labelOverlap": "greedy", "labelLimit": 90, "labelAngle": -35},
    }
    y = {"field": "value", "type": "quantitative", "scale": {"zero": False}, "axis": {"title": None, "tickCount": 5, "grid": True, "format": "~%"}}  # fmt: skip
    colour = {
        "field": "what",
        "type": "nominal",
        "scale": {"domain": list(names), "range": [palette.under, palette.over]},
        "legend": {**_legend(), "symbolType": "circle"},
    }
    return {
        **_frame(palette, width, 220),
        "data": {"values": list(values)},
        "encoding": {"x": x, "y": y, "color": colour},
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 2}},
            {"mark": {"type": "point", "filled": True, "opacity": 1, "size": 50, "tooltip": {"content": "data"}}},
        ],
    }


def histogram_spec(palette: Palette = ON_PAGE) -> Spec:
    """Return the histogram of the scores; the page fills in `bins`, which have `low`, `high` and `rows`."""
    bars: Spec = {
        "mark": {
            "type": "bar",
            "color": palette.soft,
            "opacity": 0.75,
            "tooltip": {"content": "data"},
            "binSpacing": 1,
        },
        "encoding": {
            "x": {"field": "low", "bin": {"binned": True}, **_unit("score")},
            "x2": {"field": "high"},
            "y": {"field": "rows", "type": "quantitative", **HEIGHTS},
        },
    }
    return {
        **_frame(palette, None, 80),
        "params": [{"name": "heightTitle", "value": ROWS}, {"name": "heightMax", "value": 1}],
        "data": {"name": "bins", "values": []},
        "layer": [bars, _steps_layer()],
    }


def threshold_spec(palette: Palette = ON_PAGE, *, width: int | None = None) -> Spec:
    """Return coverage and accuracy against the threshold; `now` is the selected threshold."""
    x = {"field": "threshold", **_unit("confidence threshold", grid=True)}
    kind = {
        "field": "what",
        "type": "nominal",
        "scale": {"domain": [ACCURACY, COVERAGE], "range": [palette.under, palette.over]},
        "legend": {
            "title": None,
            "orient": "top",
            "symbolType": "circle",
            "symbolOpacity": 1,
            "columnPadding": COLUMN_ROOM,
        },
    }
    share = {"field": "value", **_unit("share", grid=True)}
    return {
        **_frame(palette, width, 260),
        "layer": [
            {
                "data": {"name": "band", "values": []},
                "mark": {"type": "area", "opacity": 0.15, "color": palette.under, "interpolate": "step-before"},
                "encoding": {"x": x, "y": {**share, "field": "lower"}, "y2": {"field": "upper"}},
            },
            {
                "data": {"name": "lines", "values": []},
                "mark": {"type": "line", "strokeWidth": 2.5, "interpolate": "step-before"},
                "encoding": {"x": x, "y": share, "color": kind},
            },
            {
                "data": {"name": "now", "values": []},
                "mark": {"type": "rule", "strokeWidth": 1.5, "color": palette.ink},
                "encoding": {"x": x},
            },
            {
                "data": {"name": "now", "values": []},
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
                "encoding": {"x": x, "y": share, "color": kind},
            },
            {
                "data": {"name": "steps", "values": []},
                "mark": {"type": "rect", "opacity": 0, "tooltip": {"content": "data"}},
                "encoding": {"x": {"field": "from", "type": "quantitative"}, "x2": {"field": "to"}, "y": {"datum": 0}, "y2": {"datum": 1}},
            },
        ],
    }  # fmt: skip


# Side of the calibration curve, whose axes have one unit; narrow screens have less room.
SQUARE = 420
IDEAL, FLEXIBLE, LOGISTIC = "ideal", "flexible (loess)", "logistic"
WITH_EVENT, WITHOUT_EVENT = "with the event", "without the event"
MODEL, TREAT_ALL, TREAT_NONE = "model", "treat all", "treat none"


def curve_spec(
    points: Values, end: float, palette: Palette = ON_PAGE, *, width: int | None = None, titles: tuple[str, str]
) -> Spec:
    """Return the flexible calibration curve with its band, the logistic curve and the diagonal, up to `end` on both axes.

    `points` have `risk`, `observed`, `lower`, `upper`, `logistic`, `from`, `to` and `tip`.
    """
    x = {"field": "risk", **_unit(titles[0], grid=True, end=end)}
    y = _unit(titles[1], grid=True, end=end)
    lines = [{"risk": at, "value": at, "what": IDEAL} for at in (0, end)]
    for what, name in ((FLEXIBLE, "observed"), (LOGISTIC, "logistic")):
        lines += [{"risk": v["risk"], "value": v[name], "what": what} for v in points if v[name] is not None]
    line = {
        "data": {"values": lines},
        "mark": {"type": "line", "strokeWidth": 2.2, "clip": True},
        "encoding": {"x": x, "y": {"field": "value", **y}, **_series((IDEAL, FLEXIBLE, LOGISTIC), palette)},
    }
    return {
        **_frame(palette, width, width or SQUARE),
        "usermeta": {"square": True},
        "layer": [_band(points, x, y, palette, "risk"), line, _steps(points, end)],
    }


def risks_spec(values: Values, end: float, palette: Palette = ON_PAGE, *, width: int | None = None, title: str) -> Spec:
    """Return the distribution of the risks, rows with the event above 0 and rows without it below, as shares of each.

    `values` have `low`, `high`, `share` (negative below 0), `what` and `tip`.
    """
    scale = {"domain": [WITH_EVENT, WITHOUT_EVENT], "range": [palette.over, palette.under]}
    return {
        **_frame(palette, width, 120),
        "usermeta": {"narrow": True},
        "data": {"values": list(values)},
        "mark": {"type": "bar", "opacity": 0.8, "binSpacing": 1, "tooltip": {"content": "data"}},
        "encoding": {
            "x": {"field": "low", "bin": {"binned": True}, **_unit(title, end=end)},
            "x2": {"field": "high"},
            "y": {
                "field": "share",
                "type": "quantitative",
                "title": "share of each",
                "stack": None,
                "axis": {"tickCount": 4, "labelExpr": "format(abs(datum.value), '.0%')"},
            },
            "color": {"field": "what", "type": "nominal", "scale": scale, "legend": _legend()},
        },
    }


def benefit_spec(points: Values, end: float, palette: Palette = ON_PAGE, *, width: int | None = None) -> Spec:
    """Return the decision curve; `points` have `threshold`, `model`, `lower`, `upper`, `treat_all`, `from`, `to` and `tip`."""
    top = max((v["upper"] if v["upper"] is not None else v["model"] for v in points), default=0.1)
    low = -0.25 * max(top, 0.02)
    x = {"field": "threshold", **_unit("threshold probability", grid=True, end=end)}
    scale = {"domain": [low, 1.05 * max(top, 0.02)], "nice": False}
    y = {"type": "quantitative", "scale": scale, "axis": {"title": "net benefit", "grid": True, "tickCount": 5}}
    lines = [{"threshold": at, "value": 0, "what": TREAT_NONE} for at in (0, end)]
    for what, name in ((MODEL, "model"), (TREAT_ALL, "treat_all")):
        lines += [{"threshold": v["threshold"], "value": v[name], "what": what} for v in points]
    line = {
        "data": {"values": lines},
        "mark": {"type": "line", "strokeWidth": 2.2, "clip": True},
        "encoding": {"x": x, "y": {"field": "value", **y}, **_series((TREAT_NONE, MODEL, TREAT_ALL), palette)},
    }
    return {
        **_frame(palette, width, 300),
        "layer": [_band(points, x, y, palette, "threshold"), line, _steps(points, None)],
    }


def _series(names: tuple[str, str, str], palette: Palette) -> Spec:
    """Return colours and dashes of a reference, the main curve and another one, with one legend for both."""
    colours = {"domain": list(names), "range": [palette.soft, palette.under, palette.over]}
    dashes = {"domain": list(names), "range": [[5, 4], [1, 0], [2, 3]]}
    shown = {"field": "what", "type": "nominal"}
    return {
        "color": {**shown, "scale": colours, "legend": {**_legend(), "symbolType": "stroke"}},
        "strokeDash": {**shown, "scale": dashes},
    }


def _band(points: Values, x: Spec, y: Spec, palette: Palette, name: str) -> Spec:
    band = [{name: v[name], "lower": v["lower"], "upper": v["upper"]} for v in points if v["lower"] is not None]
    return {
        "data": {"values": band},
        "mark": {"type": "area", "opacity": 0.18, "color": palette.under, "clip": True},
        "encoding": {"x": x, "y": {"field": "lower", **y}, "y2": {"field": "upper"}},
    }


def _steps(points: Values, end: float | None) -> Spec:
    """Return invisible strips that show the numbers of a point under the pointer."""
    steps = [{"from": v["from"], "to": v["to"], "tip": v["tip"]} for v in points]
    rest: Spec = {} if end is None else {"y": {"datum": 0}, "y2": {"datum": end}}
    return {
        "data": {"values": steps},
        "mark": {"type": "rect", "opacity": 0, "tooltip": {"content": "data"}},
        "encoding": {"x": {"field": "from", "type": "quantitative"}, "x2": {"field": "to"}, **rest},
    }


def _legend() -> Spec:
    return {
        "title": None,
        "orient": "top",
        "symbolOpacity": 1,
        "columnPadding": COLUMN_ROOM,
    }


def _unit(title: Any, grid: bool = False, end: float = 1) -> Spec:
    """Return the encoding of a quantity from 0 to `end`."""
    return {
        "type": "quantitative",
        "scale": {"domain": [0, end], "nice": False},
        "axis": {"title": title, "grid": grid, "tickCount": 5, "format": ".1f" if end == 1 else "~g"},
    }


def _frame(palette: Palette, width: int | None, height: int) -> Spec:
    return {
        "width": "container" if width is None else width,
        "height": height,
        "background": "transparent",
        "padding": {"left": 2, "right": 12, "top": 4, "bottom": 2},
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": {
            "font": "system-ui, sans-serif",
            "axis": {
                "labelFontSize": 12,
                "titleFontSize": 13,
                "titleFontWeight": 500,
                "labelColor": palette.soft,
                "titleColor": palette.ink,
                "gridColor": palette.line,
                "domainColor": palette.line,
                "tickColor": palette.line,
            },
            "axisY": {"minExtent": AXIS_ROOM, "maxExtent": AXIS_ROOM},
            "legend": {"labelFontSize": 12, "labelColor": palette.ink, "labelLimit": 260},
            "view": {"stroke": palette.line},
        },
    }


def image_of(spec: Spec) -> str:
    """Return the chart as a data address of an SVG image; it is rendered without network access."""
    import vl_convert

    return data_address(str(vl_convert.vegalite_to_svg(json.dumps(spec), allowed_base_urls=[])))


def data_address(image: str) -> str:
    """Return the data address of an SVG image."""
    return f"data:image/svg+xml;base64,{base64.b64encode(image.encode()).decode('ascii')}"

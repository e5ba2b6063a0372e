"""Charts of the pages as Vega-Lite specifications."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

Spec = dict[str, Any]
Values = Sequence[Mapping[str, Any]]

WITH_EVENT, WITHOUT_EVENT = "with the event", "without the event"


@cache
def chart_parts() -> dict[str, Spec]:
    """Return the charts without their data, by name. Colours are variables of the style sheet, so that dark mode and print follow."""
    parts: dict[str, Spec] = json.loads((files(__package__) / "static" / "charts.json").read_text(encoding="utf-8"))
    return parts


def chart(name: str, data: Mapping[str, Values], **params: Any) -> Spec:
    """Return a chart with its data and parameters by their names; the page may replace both."""
    parts = chart_parts()
    spec = with_data({**parts["frame"], **parts[name]}, data)
    spec["params"] = [{"name": key, "value": value} for key, value in params.items()]
    return spec


def with_data(part: Spec, data: Mapping[str, Values]) -> Spec:
    """Return a chart with the values of the data that it and its layers name."""
    filled = dict(part)
    name = part.get("data", {}).get("name")
    if name is not None:
        filled["data"] = {"name": name, "values": list(data[name])}
    if "layer" in part:
        filled["layer"] = [with_data(layer, data) for layer in part["layer"]]
    return filled


def reliability_spec(titles: tuple[str, str]) -> Spec:
    """Return the reliability diagram: of one side a point per bin, the interval of its rate, and its distance from the diagonal.

    Of several sides, lines over each other. The page fills in the data and the titles; names from the data are never fields.
    """
    return chart("reliability", {"bins": (), "lines": (), "spans": ()}, meanTitle=titles[0], rateTitle=titles[1])


def histogram_spec() -> Spec:
    """Return the histogram of the scores of one side, or the outlines of those of several, which the page fills in."""
    return chart("histogram", {"bins": (), "steps": ()}, heightTitle="rows", heightMax=1)


def threshold_spec() -> Spec:
    """Return coverage and accuracy against the threshold, which the page fills in; `now` is the selected threshold."""
    return chart("threshold", {"band": (), "lines": (), "now": (), "steps": ()})


def curve_spec(points: Values, end: float, titles: tuple[str, str]) -> Spec:
    """Return the flexible calibration curve with its band, the logistic curve and the diagonal, up to `end` on both axes.

    `points` have `risk`, `observed`, `low`, `high`, `logistic`, `from`, `to` and `tip`.
    """
    lines = [{"risk": at, "value": at, "what": "ideal"} for at in (0, end)]
    lines += _lines(points, "risk", {"flexible (loess)": "observed", "logistic": "logistic"})
    return chart("curve", _curve_data(points, lines, "risk"), end=end, riskTitle=titles[0], rateTitle=titles[1])


def risks_spec(bars: Values, end: float, title: str) -> Spec:
    """Return the distribution of the risks, rows with the event above 0 and rows without it below, as shares of each.

    `bars` have `left`, `right`, `share` (negative below 0), `what` and `tip`.
    """
    return chart("risks", {"bars": bars}, end=end, riskTitle=title)


def benefit_spec(points: Values, end: float) -> Spec:
    """Return the decision curve; `points` have `threshold`, `model`, `low`, `high`, `treat_all`, `from`, `to` and `tip`."""
    top = max(*(v["model"] if v["high"] is None else v["high"] for v in points), 0.02)
    lines = [{"threshold": at, "value": 0, "what": "treat none"} for at in (0, end)]
    lines += _lines(points, "threshold", {"model": "model", "treat all": "treat_all"})
    return chart("benefit", _curve_data(points, lines, "threshold"), end=end, top=top)


def _lines(points: Values, at: str, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the points of each curve under its name."""
    return [
        {at: point[at], "value": point[field], "what": what}
        for what, field in names.items()
        for point in points
        if point[field] is not None
    ]


def _curve_data(points: Values, lines: Values, at: str) -> dict[str, Values]:
    """Return the band, the lines, and invisible strips that show the numbers of a point under the pointer."""
    band = [{name: point[name] for name in (at, "low", "high")} for point in points if point["low"] is not None]
    strips = [{name: point[name] for name in ("from", "to", "tip")} for point in points]
    return {"band": band, "lines": lines, "strips": strips}


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

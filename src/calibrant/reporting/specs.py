"""Charts of the pages as Vega-Lite specifications."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from .wording import static_text, static_texts

Spec = dict[str, Any]
Values = Sequence[Mapping[str, Any]]


@cache
def chart_parts() -> dict[str, Spec]:
    """Return the charts without their data, by name. Colours are variables of the style sheet, so that dark mode and print follow."""
    parts: dict[str, Spec] = json.loads(static_text("charts.json"))
    return parts


def chart(name: str, data: Mapping[str, Values], **params: Any) -> Spec:
    """Return a chart with its data and parameters by their names, of which the page may replace both; names from the data are never fields."""
    parts = chart_parts()
    spec = with_data({**parts["frame"], **parts[name]}, data)
    spec["params"] = [{"name": key, "value": value} for key, value in params.items()]
    return spec


def with_data(part: Spec, data: Mapping[str, Values]) -> Spec:
    """Return a chart with the values of the data that it and its layers name."""
    filled = dict(part)
    name = part.get("data", {}).get("name")
    if name is not None:
        filled["data"] = {"name": name, "values": list(data.get(name, ()))}
    if "layer" in part:
        filled["layer"] = [with_data(layer, data) for layer in part["layer"]]
    return filled


def with_titles(name: str, texts: Mapping[str, str]) -> dict[str, str]:
    """Return what is written beside a chart; `texts` are the names of both axes of the reliability diagram, and facts of the report."""
    return {key: text.format_map(texts) for key, text in static_texts("texts.toml")["charts"][name].items()}


def svg_of(spec: Spec) -> str:
    """Return a chart as SVG in the colours of paper; it is rendered without network access.

    The first image of a process takes most of a second, to start the interpreter of Vega-Lite.
    """
    import vl_convert

    text = re.sub(r"var\((--\w+)\)", lambda name: paper_colours().get(name[1], name[0]), json.dumps(spec))
    return str(vl_convert.vegalite_to_svg(text, allowed_base_urls=[]))


def png_of(svg: str) -> bytes:
    """Return an SVG image as PNG, at twice its size on a white ground."""
    import vl_convert

    return bytes(vl_convert.svg_to_png(svg, scale=2))


def image_of(spec: Spec) -> str:
    """Return a chart as the data address of an SVG image."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg_of(spec).encode()).decode('ascii')}"


@cache
def paper_colours() -> dict[str, str]:
    """Return the colours of the style sheet on paper by their names."""
    return dict(re.findall(r"(--\w+): (#\w+)", static_text("report.css").partition("}")[0]))

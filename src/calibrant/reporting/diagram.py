"""The reliability diagram as a Vega-Lite specification, which is data that tests can read, and as SVG."""

from __future__ import annotations

import json
from typing import Any

from ..metrics.reliability_curve import CalibrationCurve
from .words import TOO_HIGH, TOO_LOW

__all__ = ["reliability_spec", "svg_of"]

# Two colours that differ in lightness as well as in hue, so that they survive colour blindness and a black-and-white print.
OVER, UNDER, INK, PAPER = "#b2560d", "#2166ac", "#333333", "#ffffff"


def reliability_spec(curve: CalibrationCurve) -> dict[str, Any]:
    """Outcome rate against mean score with intervals, the diagonal, and how many rows each bin holds."""
    entries = curve.to_dict()
    bins = [dict(zip(entries, values, strict=True)) for values in zip(*entries.values(), strict=True)]
    for entry in bins:
        entry["side"] = None if entry["gap"] is None else TOO_HIGH if entry["gap"] > 0 else TOO_LOW
    axis = {"domain": [0, 1], "nice": False}
    score = "mean score of the bin" if curve.lens != "top_label" else "confidence"
    rate = "how often it happened" if curve.lens != "top_label" else "how often it was right"
    points = [entry for entry in bins if entry["rate"] is not None]
    x = {"field": "mean_score", "type": "quantitative", "scale": axis, "title": score}
    colour = {
        "field": "side",
        "type": "nominal",
        "scale": {"domain": [TOO_HIGH, TOO_LOW], "range": [OVER, UNDER]},
        "legend": {"title": None, "orient": "top"},
    }
    layers: list[dict[str, Any]] = [
        {
            "data": {"values": [{"x": 0, "y": 0}, {"x": 1, "y": 1}]},
            "mark": {"type": "line", "strokeDash": [4, 4], "color": INK},
            "encoding": {"x": {"field": "x", "type": "quantitative"}, "y": {"field": "y", "type": "quantitative"}},
        },
        {
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {
                "x": x,
                "y": {"field": "lower", "type": "quantitative", "scale": axis, "title": rate},
                "y2": {"field": "upper"},
                "color": colour,
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
            "encoding": {"x": x, "y": {"field": "rate", "type": "quantitative", "scale": axis}, "color": colour},
        },
    ]
    if curve.level is None:
        del layers[1]
    histogram = {
        "width": 380,
        "height": 70,
        "data": {"values": bins},
        "mark": {"type": "bar", "color": "#8a8a8a", "stroke": PAPER},
        "encoding": {
            "x": {"field": "low", "type": "quantitative", "scale": axis, "title": score, "bin": {"binned": True}},
            "x2": {"field": "high"},
            "y": {"field": "weight", "type": "quantitative", "title": "rows"},
        },
    }
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": PAPER,
        "vconcat": [{"width": 380, "height": 380, "data": {"values": points}, "layer": layers}, histogram],
        "config": {
            "axis": {"labelFontSize": 12, "titleFontSize": 13},
            "legend": {"labelFontSize": 12},
            "view": {"stroke": "#cccccc"},
        },
    }


def svg_of(spec: dict[str, Any]) -> str:
    """The picture as SVG text, drawn without a network."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(json.dumps(spec), allowed_base_urls=[]))

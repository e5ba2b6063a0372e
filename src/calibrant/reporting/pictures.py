"""Still pictures of the charts of a report: the same data and specifications as on its page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..figures.base import round_end
from ..util.files import make_folder, write_atomic
from ..util.results import percent
from .interactive import Columns, Series, isoline_rows, logits
from .overlay import Overlay, PageSide
from .settings import DIAGRAMS
from .specs import Spec, Values, chart, png_of, svg_of, with_titles

WIDTH, STRIP = 420, 70
# Charts that the page opens, beside those of the reliability diagram.
FURTHER = ("roc", "pr", "murphy", "benefit", "plane", "coverage")


def write_figures(
    overlay: Overlay,
    texts: Mapping[str, str],
    folder: str | os.PathLike[str],
    more: Mapping[str, Spec],
    *,
    logit: bool = False,
) -> list[Path]:
    """Write each chart of the sides that are shown at the start, and `more`, as SVG and PNG, and return the files."""
    target = make_folder(folder)
    charts: dict[str, Spec] = {}
    for name in (*DIAGRAMS, *FURTHER):
        sides = [side for side in overlay.sides if side.on and side.series and name in side.series[0].charts]
        if sides:
            charts[name] = still(name, sides, overlay.sides[overlay.focus], texts, logit=logit)
    written = []
    for name, spec in {**charts, **more}.items():
        svg = svg_of(spec)
        written.append(write_atomic(target / f"{name}.svg", svg.encode()))
        written.append(write_atomic(target / f"{name}.png", png_of(svg)))
    return written


def still(
    name: str, sides: Sequence[PageSide], focus: PageSide, texts: Mapping[str, str], *, logit: bool = False
) -> Spec:
    """Return one chart with its data; the reliability diagram has the distribution of the scores beneath."""
    titles = with_titles(name, texts)
    over = name in DIAGRAMS and name != "cumulative"
    logit = logit and over
    data = chart_data(name, titles["reference"], sides, focus, logit=logit)
    spec = {
        **chart("lines", data, xTitle=titles["x"], yTitle=titles["y"], logit=logit),
        "width": WIDTH,
        "height": WIDTH if titles["reference"] == "diagonal" else 300,
    }
    if not over:
        return {**spec, "autosize": "pad"}
    ends = [{"x": row["x"], "share": 0} for row in data["reference"]]
    strip = {**chart("scores", {**score_data(sides, logit=logit), "ends": ends}), "width": WIDTH, "height": STRIP}
    shared = {key: spec.pop(key) for key in ("config", "background", "padding", "params")}
    for part in (spec, strip):
        for key in ("autosize", *shared):
            part.pop(key, None)
    return {**shared, "vconcat": [spec, strip]}


def chart_data(
    name: str, reference: str, sides: Sequence[PageSide], focus: PageSide, *, logit: bool = False
) -> dict[str, Values]:
    """Return the curves and points of the sides, and what they are drawn against; bands are those of the focus."""
    data: dict[str, list[dict[str, Any]]] = {key: [] for key in ("band", "lines", "spans", "points")}
    charts = [side.series[0].charts[name] for side in sides]
    # Logit axes begin at half of the smallest score, so that an observed rate of 0 lies at their edge.
    floor = logits(min([1.0, *(value for columns in charts for value in columns["x"] if value)]) / 2)

    def place(values: Any) -> Any:
        return np.maximum(logits(values), floor) if logit else np.asarray(values)

    for side in sides:
        columns = side.series[0].charts[name]
        look = {**_look(side), "opacity": 1 if name in ("bins", "plane") else 0}
        plotted = {
            key: [None if value is None else float(place(value)) for value in columns[key]]
            for key in ("x", "y", "low", "high")
            if key in columns
        }
        rows = [
            {**look, "number": number, **dict(zip(plotted, row, strict=True))}
            for number, row in enumerate(zip(*plotted.values(), strict=True))
        ]
        data["points"] += rows
        if name != "plane" and (name != "bins" or len(sides) > 1):
            data["lines"] += rows
        if "low" in plotted and side is focus:
            data["spans" if name == "bins" else "band"] += rows
    return {**data, "reference": _references(reference, charts, place)}


def _references(kind: str, charts: Sequence[Columns], place: Any) -> Values:
    """Return the lines that a chart is read against."""
    if kind == "diagonal":
        shown = [value for columns in charts for key in ("x", "y", "high") for value in columns.get(key, ()) if value]
        end = round_end(max(shown, default=1.0))
        return [{"x": float(place(at)), "y": float(place(at)), "what": ""} for at in (0.0, end)]
    if kind == "isolines":
        return isoline_rows(charts)
    points = (0.0, max(charts[0]["x"])) if kind == "zero" else ()  # type: ignore[type-var]
    rows = [{"x": at, "y": 0.0, "what": ""} for at in points]
    beside = charts[0].get("reference", ())
    floor = min((value for columns in charts for value in columns["y"] if value is not None), default=0.0)
    rows += [
        {"x": x, "y": y, "what": "all"}
        for x, y in zip(charts[0]["x"], beside, strict=False)
        if y is not None and y >= floor
    ]
    return rows


def score_data(sides: Sequence[PageSide], *, logit: bool = False) -> dict[str, Values]:
    """Return bars with the event above and without it below, or the outlines of several sides."""
    name = "logits" if logit else "scores"
    if len(sides) > 1:
        return {"steps": [row for side in sides for row in _outline(side, side.series[0].charts[name])]}
    (side,) = sides
    columns = side.series[0].charts[name]
    signs = (("events", 1, "var(--under)"), ("others", -1, "var(--soft)"))
    return {
        "bars": [
            {"left": left, "right": right, "share": sign * float(share or 0), "colour": colour}
            for key, sign, colour in signs
            for left, right, share in zip(columns["left"], columns["right"], columns[key], strict=True)
        ]
    }


def _outline(side: PageSide, columns: Columns) -> Values:
    """Return the steps of a histogram, which falls to 0 after the last bar and before a gap."""
    steps: list[tuple[Any, Any]] = []
    last = None
    for left, right, events, others in zip(
        *(columns[key] for key in ("left", "right", "events", "others")), strict=True
    ):
        if last is not None and left > last:
            steps.append((last, 0))
        steps.append((left, events + others))
        last = right
    return [{**_look(side), "x": x, "share": share} for x, share in [*steps, (last, 0)]]


def _look(side: PageSide) -> dict[str, Any]:
    colour, dash, shape = side.look
    dashes = [float(part) for part in dash.split()]
    return {"colour": f"var(--c{colour})", "dash": dashes, "shape": shape, "place": side.place}


def describe_diagram(series: Series, mean: str, rate: str) -> str:
    """Return the reliability diagram in words, for readers who do not see it."""
    curve = series.charts["isotonic"]
    at = np.linspace(0, len(curve["x"]) - 1, 5).round().astype(int)
    points = [f"{percent(curve['x'][k])} predicted, {percent(curve['y'][k])} observed" for k in np.unique(at).tolist()]
    text = f"Isotonic calibration curve from {mean} to {rate}: {'; '.join(points)}."
    if "low" not in curve:
        return text
    outside: dict[str, list[float]] = {"below": [], "above": []}
    for x, y, low, high in zip(*(curve[key] for key in ("x", "y", "low", "high")), strict=True):
        if y < low - 1e-9:
            outside["below"].append(x)
        elif y > high + 1e-9:
            outside["above"].append(x)
    parts = [
        f"{side} it at predictions from {percent(min(found))} to {percent(max(found))}"
        for side, found in outside.items()
        if found
    ]
    band = f"lies {' and '.join(parts)}" if parts else "stays inside it"
    return f"{text} Relative to the consistency band, the curve {band}."

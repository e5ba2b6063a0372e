"""The picture for readers without scripts shows the numbers of the bins."""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree

import pytest

from calibrant.reporting.stills import _nice, compared_image, diagram_image
from calibrant.reporting.wording import ABOVE, BELOW

SVG = "{http://www.w3.org/2000/svg}"


def bin_of(low: float, rows: float, mean: float | None, rate: float | None, **more: Any) -> dict[str, Any]:
    side = ABOVE if mean is not None and rate is not None and mean > rate else BELOW
    named = {"lower": None, "upper": None, "share": rows / 10, "place": 0, "colour": "#123456", "dash": [1.0, 0.0]}
    return {"low": low, "high": low + 0.5, "rows": rows, "mean_score": mean, "rate": rate, "side": side,
            "shape": "circle"} | named | more  # fmt: skip


def test_points_bars_and_intervals_are_where_the_numbers_are() -> None:
    values = [bin_of(0, 8, 0.25, 0.75, lower=0.5, upper=1.0), bin_of(0.5, 2, 0.9, 0.5), bin_of(0.5, 0, None, None)]
    root = ElementTree.fromstring(diagram_image(values, ("<p> & 'q'", "rate")))
    upper, lower = root.findall(f"{SVG}g")
    dots = [(float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in upper.findall(f"{SVG}circle")][2:]
    assert dots == [(105.0, 100.0), (378.0, 200.0)]
    # The area of a point grows with its share of the rows, up to one half.
    radii = [float(dot.attrib["r"]) for dot in upper.findall(f"{SVG}circle")][2:]
    assert radii == pytest.approx([math.sqrt(170 / math.pi), math.sqrt((28 + 142 * 0.4) / math.pi)], abs=0.005)
    assert [path.attrib["d"] for path in upper.findall(f"{SVG}path") if path.attrib.get("stroke-width") == "1.5"] == [
        "M0,400L420,0",
        "M105,200L105,0",
    ]
    bars = [(float(bar.attrib["y"]), float(bar.attrib["height"])) for bar in lower.findall(f"{SVG}rect")[1:]]
    assert bars == [(0.0, 80.0), (60.0, 20.0), (80.0, 0.0)]
    assert "<p> & 'q'" in [text.text for text in upper.findall(f"{SVG}text")]


def test_several_sides_lie_over_each_other() -> None:
    sides: list[dict[str, Any]] = [
        {"place": 0},
        {"place": 1, "dash": [7.0, 3.0], "shape": "square", "colour": "#abcdef"},
    ]
    lines = [bin_of(0, 5, mean, mean / 2, **side) for side in sides for mean in (0.8, 0.4)]
    steps = [bin_of(0, 5, 0.5, 0.5, at=at, **side) for side in sides for at in (0, 0.5, 1)]
    root = ElementTree.fromstring(compared_image(lines, lines[:0], steps, ("x", "y")))
    paths = [path.attrib for path in root[1].findall(f"{SVG}path") if path.attrib.get("stroke-width") == "2"]
    assert [path["d"] for path in paths] == ["M168,320L336,240"] * 2  # in the order of the scores
    assert [path.get("stroke-dasharray") for path in paths] == [None, "7 3"]
    assert [path.attrib["stroke"] for path in root[2].findall(f"{SVG}path")][1:] == ["#123456", "#abcdef"]
    assert compared_image([], [], [], ("x", "y")).startswith("<svg")


@pytest.mark.parametrize(
    ("largest", "end", "ticks"),
    [(188, 200, 5), (1, 1, 3), (0.173, 0.18, 4), (7, 7, 4), (12_345, 13_000, 3), (3e-7, 3e-7, 4)],
)
def test_axes_end_at_round_numbers(largest: float, end: float, ticks: int) -> None:
    found, places = _nice(largest)
    assert found == pytest.approx(end)
    assert len(places) == ticks
    assert places[-1] <= found * (1 + 1e-9)

"""What the pictures share: the one data set that all of them show, and a square with its diagonal."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import calibrant as cal
from calibrant.figures.base import COLORS, diagonal, finish, legend
from calibrant.figures.canvas import PAPER_WIDTH, new_ax

__all__ = ["COLORS", "OVER", "SETUP", "UNDER", "Rows", "legend", "rows", "shade", "square", "wide", "words_of"]

# Vermilion where scores are too high, blue where they are too low.
OVER, UNDER = COLORS[5], COLORS[0]

Floats = NDArray[np.float64]

# The data as shown on the index of the pages; run exactly as printed there.
SETUP = """\
import numpy as np
import calibrant as cal

too_sure = cal.simulate.by_group({"a": cal.simulate.temperature(1.2), "b": cal.simulate.temperature(2.5)})
drawn = cal.make_miscalibrated(600, warp=too_sure, distribution=(1, 1, 1), rng=0)
y_true, y_prob, groups = drawn.y_true, drawn.y_prob, drawn.groups
draw = np.random.default_rng(1)
features = np.column_stack([draw.uniform(0, 0.5, 600) + 0.5 * (groups == "b"), draw.normal(size=600)])
"""


class Rows(NamedTuple):
    """The data set, and its top-label reading in rising order of score."""

    y_true: NDArray[Any]
    y_prob: Floats
    groups: NDArray[Any]
    features: Floats
    score: Floats
    outcome: Floats
    order: NDArray[np.intp]


@cache
def rows() -> Rows:
    """600 rows of three classes; the model is too sure everywhere, and more so in group b."""
    names: dict[str, Any] = {}
    exec(SETUP, names)
    y, p = names["y_true"], names["y_prob"]
    score, right = p.max(axis=1), (p.argmax(axis=1) == y).astype(float)
    order = np.argsort(score, kind="stable")
    return Rows(y, p, names["groups"], names["features"], score[order], right[order], order)


def words_of(metric: cal.metrics.Metric) -> dict[str, Any]:
    """What a metric asks for beside labels and probabilities."""
    return {need: getattr(rows(), need) for need in metric.needs if need in ("groups", "features")}


def square(low: float = 0.3, said: str = "confidence", happened: str = "how often it was right") -> Any:
    """An ax with the diagonal; confidence over three classes is never below a third."""
    ax = new_ax(None, width=PAPER_WIDTH * 1.15, height=PAPER_WIDTH)
    finish(ax, said, happened)
    ax.set(xlim=(low, 1), ylim=(0, 1))
    diagonal(ax)
    return ax


def wide(xlabel: str, ylabel: str, height: float = 0.85) -> Any:
    """An ax without a diagonal."""
    return finish(new_ax(None, width=PAPER_WIDTH * 1.3, height=PAPER_WIDTH * height), xlabel, ylabel)


def shade(ax: Any, x: Floats, curve: Floats, line: Floats | float, **more: Any) -> None:
    """The area between two curves: one colour where too much was said, another where too little."""
    line = np.broadcast_to(line, np.shape(x))
    over = curve <= line
    for side, colour in ((over, OVER), (~over, UNDER)):
        if side.any():
            ax.fill_between(x, curve, line, where=side, color=colour, alpha=0.25, linewidth=0, interpolate=True, **more)

"""Shared parts of the figures: the data set, and axes with a diagonal."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import calibrant as cal
from calibrant.figures.base import diagonal, finish
from calibrant.figures.canvas import COLORS, PAPER_WIDTH, new_ax

__all__ = ["COLORS", "OVER", "SETUP", "UNDER", "Rows", "extras_of", "legend", "rows", "shade", "square", "wide"]

# Vermilion where scores are too high, blue where they are too low.
OVER, UNDER = COLORS[5], COLORS[0]

Floats = NDArray[np.float64]


def legend(ax: Any, loc: str, **more: Any) -> None:
    """A legend with each label once."""
    handles, labels = ax.get_legend_handles_labels()
    once = dict(zip(reversed(labels), reversed(handles), strict=True))
    names = list(dict.fromkeys(labels))
    ax.legend([once[name] for name in names], names, loc=loc, **more)


# The data as shown on the index of the pages; run exactly as printed there.
SETUP = """\
import numpy as np
import calibrant as cal

simulation = cal.inference.simulation
overconfident = simulation.by_group({"a": simulation.temperature(1.2), "b": simulation.temperature(2.5)})
sample = cal.inference.make_miscalibrated(600, warp=overconfident, distribution=(1, 1, 1), rng=0)
y_true, y_prob, groups = sample.y_true, sample.y_prob, sample.groups
rng = np.random.default_rng(1)
features = np.column_stack([rng.uniform(0, 0.5, 600) + 0.5 * (groups == "b"), rng.normal(size=600)])
"""


class Rows(NamedTuple):
    """The data set, and its top-label scores and outcomes in increasing order of the score."""

    y_true: NDArray[Any]
    y_prob: Floats
    groups: NDArray[Any]
    features: Floats
    score: Floats
    outcome: Floats
    order: NDArray[np.intp]


@cache
def rows() -> Rows:
    """Return 600 rows of three classes; the model is overconfident, more so in group b."""
    names: dict[str, Any] = {}
    exec(SETUP, names)
    y, p = names["y_true"], names["y_prob"]
    score, right = p.max(axis=1), (p.argmax(axis=1) == y).astype(float)
    order = np.argsort(score, kind="stable")
    return Rows(y, p, names["groups"], names["features"], score[order], right[order], order)


def extras_of(metric: cal.metrics.Metric) -> dict[str, Any]:
    """Return the data that a metric needs besides labels and probabilities."""
    return {need: getattr(rows(), need) for need in metric.needs if need in ("groups", "features")}


def square(low: float = 0.3, xlabel: str = "confidence", ylabel: str = "accuracy") -> Any:
    """Create axes with the diagonal; the confidence of three classes is at least a third."""
    ax = new_ax(None, width=PAPER_WIDTH * 1.15, height=PAPER_WIDTH)
    finish(ax, xlabel, ylabel)
    ax.set(xlim=(low, 1), ylim=(0, 1))
    diagonal(ax)
    return ax


def wide(xlabel: str, ylabel: str, height: float = 0.85) -> Any:
    """Create axes without a diagonal."""
    return finish(new_ax(None, width=PAPER_WIDTH * 1.3, height=PAPER_WIDTH * height), xlabel, ylabel)


def shade(ax: Any, x: Floats, curve: Floats, line: Floats | float, **more: Any) -> None:
    """Shade the area between two curves in one colour for overestimation and another for underestimation."""
    line = np.broadcast_to(line, np.shape(x))
    over = curve <= line
    for side, colour in ((over, OVER), (~over, UNDER)):
        if side.any():
            ax.fill_between(x, curve, line, where=side, color=colour, alpha=0.25, linewidth=0, interpolate=True, **more)

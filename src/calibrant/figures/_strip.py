"""The strip above a reliability diagram: how many rows each bin holds, or where the scores lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._results import number
from .base import MUTED, SMALL

if TYPE_CHECKING:
    from .reliability import ReliabilityDiagram

__all__ = ["clip", "draw_strip"]

# Left, bottom, width and height of the strip in parts of the ax: it fits into the margin that pyplot leaves above.
STRIP = (0.0, 1.025, 1.0, 0.115)


def clip(values: Any, limits: tuple[float, float]) -> NDArray[np.float64]:
    """Numbers, those beyond the limits moved to them."""
    return np.clip(np.asarray(values, dtype=np.float64), *limits)


def draw_strip(diagram: ReliabilityDiagram, ax: Any, limits: tuple[float, float], paint: str) -> Any:
    """How many rows each bin holds, or the density of scores of a smooth curve, in a strip above."""
    strip = ax.inset_axes(STRIP, sharex=ax, facecolor="none")
    curve = diagram.curve
    if curve is not None and diagram.kind == "smooth":
        strip.fill_between(clip(curve.x, limits), curve.density, color=paint, alpha=0.4, linewidth=0, gid="density")
        word = "density"
    else:
        low, high = clip(diagram.table.low, limits), clip(diagram.table.high, limits)
        strip.bar(
            low,
            diagram.table.weight,
            high - low,
            align="edge",
            color=paint,
            alpha=0.4,
            edgecolor="white",
            linewidth=0.4,
            gid="counts",
        )
        word = "weight" if diagram.table.weight_kind == "importance" else "rows"
    strip.spines[["top", "right", "left"]].set_visible(False)
    strip.spines["bottom"].set_color(MUTED)
    strip.tick_params(axis="x", bottom=False, labelbottom=False, which="both")
    top = strip.get_ylim()[1]
    strip.set_ylim(0, top)
    most = float(np.nanmax(curve.density if word == "density" and curve is not None else diagram.table.weight))
    strip.set_yticks([most], [f"{most:,.0f}" if word == "rows" else number(most, 2)])
    strip.tick_params(axis="y", labelsize=SMALL, labelcolor=MUTED, length=0, pad=2)
    strip.set_ylabel(word, fontsize=SMALL, color=MUTED)
    return strip

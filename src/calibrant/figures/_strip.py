"""The strip above a reliability diagram: how many rows each bin holds, or where the scores lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..util.results import number
from .base import SMALL, keep_room, tones_of

if TYPE_CHECKING:
    from .reliability_diagrams import ReliabilityDiagram

__all__ = ["clip", "draw_strip"]

# Left, bottom, width and height of the strip in parts of the ax, and the room that it takes with the number at its top.
STRIP, TAKEN = (0.0, 1.025, 1.0, 0.115), 0.155


def clip(values: Any, limits: tuple[float, float]) -> NDArray[np.float64]:
    """Numbers, those beyond the limits moved to them."""
    return np.clip(np.asarray(values, dtype=np.float64), *limits)


def draw_strip(diagram: ReliabilityDiagram, ax: Any, limits: tuple[float, float], paint: str) -> Any:
    """How many rows each bin holds, or the density of scores of a smooth curve, in a strip above, which diagrams on one ax share."""
    tones = tones_of(ax)
    strip = next((one for one in ax.child_axes if one.get_gid() == "strip"), None)
    first = strip is None
    if strip is None:
        strip = ax.inset_axes(STRIP, sharex=ax, facecolor="none", gid="strip")
        keep_room(ax, TAKEN)
    look: dict[str, Any] = {"color": paint, "alpha": 0.4, "linewidth": 0.4, "edgecolor": tones.paper}
    if not first:  # an outline leaves what is behind it in sight
        look = {"facecolor": "none", "edgecolor": paint, "linewidth": 0.9}
    curve = diagram.curve
    if curve is not None and diagram.kind == "smooth":
        heights, word = curve.density, "density"
        strip.fill_between(clip(curve.x, limits), heights, gid="density", **{**look, "linewidth": 0.9 * (not first)})
    else:
        heights, word = diagram.table.weight, "weight" if diagram.table.weight_kind == "importance" else "rows"
        low, high = clip(diagram.table.low, limits), clip(diagram.table.high, limits)
        strip.bar(low, heights, high - low, align="edge", gid="counts", **look)
    strip.spines[["top", "right", "left"]].set_visible(False)
    strip.spines["bottom"].set_color(tones.muted)
    strip.tick_params(axis="x", bottom=False, labelbottom=False, which="both")
    most = float(np.nanmax(heights)) if first else max(float(np.nanmax(heights)), strip.get_yticks()[0])
    strip.set_ylim(0, 1.05 * most)
    strip.set_yticks([most], [f"{most:,.0f}" if word == "rows" else number(most, 2)])
    strip.tick_params(axis="y", labelsize=SMALL, labelcolor=tones.muted, length=0, pad=2)
    strip.set_ylabel(word, fontsize=SMALL, color=tones.muted)
    return strip

"""Plots of reliability diagrams: axes, intervals, points, bars and curves, the strip of counts and the legend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError
from ..util.checks import check_choice
from ..util.results import number
from .base import Floats, axis_names, diagonal, finish, mark_sides
from .canvas import OVER, PAPER_WIDTH, UNDER, ink, muted, new_ax, small_size
from .labels import plain
from .models import metric_label, model_series, single_point
from .styling import Series

if TYPE_CHECKING:
    from .reliability_diagrams import ModelReliability

Limits = tuple[float, float]

# Left, bottom, width and height of the strip of counts in axes coordinates.
STRIP = (0.0, 1.025, 1.0, 0.115)


@dataclass(frozen=True)
class DrawOptions:
    """What a plot of a reliability diagram shows beside the curve.

    A `small` one has no room for the meaning of both sides of the diagonal; a `named` one has a legend for the curve and the intervals.
    """

    counts: str | None = "strip"
    scale: str = "probability"
    small: bool = False
    named: bool = True

    def __post_init__(self) -> None:
        check_choice(self.counts, "counts", ("strip", None))
        check_choice(self.scale, "scale", ("probability", "logit"))

    def limits(self, diagrams: Iterable[ModelReliability]) -> Limits:
        """Limits of both axes; logit axes show all points between 0 and 1."""
        if self.scale == "probability":
            return 0.0, 1.0
        shown = np.concatenate([values for diagram in diagrams for values in _curve_points(diagram)])
        inner = shown[(shown > 0) & (shown < 1)]
        if len(inner) == 0:
            return 0.01, 0.99
        return max(float(inner.min()) / 2, 1e-6), 1 - max((1 - float(inner.max())) / 2, 1e-6)

    def prepare(self, ax: Any, lens: str, limits: Limits) -> None:
        """Labels, limits, ticks and diagonal of the axes."""
        from matplotlib.ticker import FuncFormatter, LogitLocator, NullLocator

        if self.scale == "logit":
            ax.set(xscale="logit", yscale="logit")
        finish(ax, *axis_names(lens))
        ax.set(xlim=limits, ylim=limits, aspect="equal")
        if self.scale == "probability":
            ax.set(xticks=np.arange(6) / 5, yticks=np.arange(6) / 5)
            diagonal(ax)
            return
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_minor_locator(NullLocator())
            axis.set_major_locator(LogitLocator(nbins=5))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.7f}".rstrip("0").rstrip(".")))
        diagonal(ax, points=clip(1 / (1 + np.exp(-np.linspace(-14, 14, 400))), limits))


def draw_reliability(
    kind: str,
    models: Sequence[ModelReliability],
    ax: Any,
    options: DrawOptions,
    style: Mapping[str, Any],
    beside: Iterable[ModelReliability] = (),
) -> Any:
    """Plot models into `ax` or a new figure, over each other; those `beside` them share their limits."""
    if options.scale == "logit" and kind in ("bars", "roof"):
        raise ArgumentError("scale", f"'logit' has no baseline for {kind!r}", "use kind='bins'")
    several, lens = len(models) > 1, models[0].lens
    if several and kind in ("bars", "roof"):
        raise ArgumentError("kind", f"{kind!r} of several models would hide each other", "use kind='bins'")
    strip = options.counts == "strip" and not several
    ax = new_ax(ax, height=PAPER_WIDTH * (1.12 if strip else 1.0))
    limits = options.limits([*models, *beside])
    looks = model_series(ax, style, models, width=1.2 if kind == "bins" else 1.5, marker=kind == "bins")
    options.prepare(ax, lens, limits)
    if not options.small:
        mark_sides(ax, lens)
    for model, look in zip(models, looks, strict=True):
        # Bands of several curves would hide each other.
        shown = replace(model, how=None, band=None) if several and model.curve is not None else model
        _PAINTERS[kind](shown, ax, limits, look)
        table = model.table
        if strip and kind == "smooth" and model.curve is not None:
            draw_density(ax, look.color, clip(model.curve.x, limits), model.curve.density)
        elif strip:
            unit = "weight" if table.weight_kind == "importance" else "rows"
            edges = clip(table.left, limits), clip(table.right, limits)
            draw_histogram(ax, look.color, edges, table.weight, unit)
        if several:
            facts = ", ".join(_metric_lines(model))
            label = look.named(facts) if facts else look.label
        else:
            label = "\n".join(filter(None, [look.label, *legend_lines(model)]))
        newest = next(line for line in ax.lines[::-1] if line.get_gid() == "curve")
        newest.set_label(label or "_curve")
    if not options.named:
        for artist in ax.get_legend_handles_labels()[0]:
            artist.set_label("")
    if several:  # square axes leave room at the top for a legend of several lines
        ax.set_anchor("S")
    return ax


def _curve_points(diagram: ModelReliability) -> tuple[Floats, Floats]:
    """Scores and rates of the curve, or of the non-empty bins."""
    if diagram.curve is not None:
        return diagram.curve.x, diagram.curve.y
    full = ~diagram.table.empty
    return diagram.mean_score[full], diagram.rate[full]


def _draw_bounds(diagram: ModelReliability, ax: Any, limits: Limits, look: Series) -> None:
    """Intervals of the bins as lines, a band as an area."""
    if diagram.band is not None:
        _draw_band(diagram, ax, limits, look)
        return
    shown = ~np.isnan(diagram.low)
    x = clip(diagram.mean_score[shown], limits)
    low, high = clip(diagram.low[shown], limits), clip(diagram.high[shown], limits)
    lines: dict[str, Any] = {"color": look.color, "alpha": look.line.get("alpha"), "linewidth": 1, "zorder": 2.8}
    if diagram.how == "consistency":
        lines = {"color": muted(), "alpha": 0.35, "linewidth": 5, "zorder": 1.3}
    drawn = ax.vlines(x, low, high, gid="interval", **lines)
    if shown.any():
        drawn.set_label(bound_label(diagram))


def bound_label(diagram: ModelReliability) -> str:
    """What the intervals are."""
    if diagram.level is None:
        return "one standard error"
    kind = {"consistency": "range if calibrated", "band": "simultaneous band"}.get(diagram.how or "", "intervals")
    return f"{100 * diagram.level:g}% {kind}"


def _draw_band(diagram: ModelReliability, ax: Any, limits: Limits, look: Series) -> None:
    assert diagram.band is not None
    x = np.union1d(np.linspace(0, 1, 501), diagram.band.score)
    low, high = diagram.band.at(x)
    look.shade(ax, clip(x, limits), clip(low, limits), clip(high, limits), bound_label(diagram))


def _draw_line(diagram: ModelReliability, ax: Any, limits: Limits, look: Series) -> None:
    """A marker for each bin, connected; markers beyond the axis are hollow."""
    x, y = _curve_points(diagram)
    _draw_bounds(diagram, ax, limits, look)
    shown = (clip(x, limits), clip(y, limits))
    beyond = np.any([(values < limits[0]) | (values > limits[1]) for values in (x, y)], axis=0)
    ax.plot(*shown, zorder=3, gid="curve", clip_on=False, **{**look.line, "markersize": 3.5})
    if beyond.any():
        hollow: dict[str, Any] = {"marker": "o", "markersize": 4, "linestyle": "none", "color": look.color}
        hollow |= {"markerfacecolor": ax.get_facecolor(), "label": "hollow: beyond the axis", "clip_on": False}
        ax.plot(*(values[beyond] for values in shown), zorder=3.2, gid="beyond", **hollow)


def _draw_bars(diagram: ModelReliability, ax: Any, limits: Limits, look: Series, *, roof: bool = False) -> None:
    """Bars up to the rate, with the gap to the mean score hatched; roofs are parallel to the diagonal, with the gap to it hatched."""
    from matplotlib.collections import PolyCollection

    table, full = diagram.table, ~diagram.table.empty
    left, right = table.left, table.right
    # Heights at the left and the right end.
    tops, ideals = (diagram.rate, diagram.rate), (diagram.mean_score, diagram.mean_score)
    if roof:
        tops, ideals = diagram.roof, (left, right)

    def areas(below: Sequence[Floats], above: Sequence[Floats]) -> Any:
        corners = (left, below[0]), (right, below[1]), (right, above[1]), (left, above[0])
        return np.stack([np.column_stack(corner) for corner in corners], axis=1)[full]

    wall: dict[str, Any] = {"facecolor": look.color, "edgecolor": ax.get_facecolor(), "linewidth": 0.6}
    wall["alpha"] = 0.35 * look.line.get("alpha", 1.0)
    zeros = np.zeros(len(table))
    ax.add_collection(PolyCollection(areas((zeros, zeros), tops), zorder=2, gid="bars", **wall))
    gap = table.gap[full]
    for side, hue in ((gap > 0, OVER), (gap < 0, UNDER)):
        hatched: dict[str, Any] = {"facecolor": "none", "edgecolor": hue, "hatch": "////", "linewidth": 0.6}
        ax.add_collection(PolyCollection(areas(ideals, tops)[side], zorder=2.2, gid="gap", **hatched))
    # Intervals and a marker at the rate of each bin, in the color of text.
    _draw_bounds(diagram, ax, limits, look._replace(color=ink()))
    style: dict[str, Any] = {"marker": look.line.get("marker", "o"), "linestyle": "none", "markersize": 3}
    ax.plot(*_curve_points(diagram), color=ink(), zorder=3, gid="curve", clip_on=False, **style)


def _draw_curve(diagram: ModelReliability, ax: Any, limits: Limits, look: Series) -> None:
    curve = diagram.curve
    assert curve is not None
    x, y = clip(curve.x, limits), clip(curve.y, limits)
    if diagram.band is not None:
        _draw_band(diagram, ax, limits, look)
    elif diagram.how is not None:
        shaded = look._replace(color=muted()) if diagram.how == "consistency" else look
        shaded.shade(ax, x, clip(curve.low, limits), clip(curve.high, limits), bound_label(diagram), 0.2)
    ax.plot(x, y, zorder=3, gid="curve", **{**single_point(x), **look.line})


_PAINTERS: dict[str, Callable[..., None]] = {
    "bins": _draw_line,
    "bars": _draw_bars,
    "roof": partial(_draw_bars, roof=True),
    "smooth": _draw_curve,
    "isotonic": _draw_curve,
}


def clip(values: Any, limits: Limits) -> Floats:
    """Values moved to the nearest limit."""
    return np.clip(np.asarray(values, dtype=np.float64), *limits)


def draw_histogram(ax: Any, color: Any, edges: tuple[Floats, Floats], weight: Any, label: str) -> None:
    """Bars between left and right edges in a strip above the axes."""
    strip, look = _strip(ax, color)
    strip.bar(edges[0], weight, edges[1] - edges[0], align="edge", gid="counts", **look)
    _scale_strip(strip, weight, label)


def draw_density(ax: Any, color: Any, x: Floats, density: Floats) -> None:
    """Density of scores in a strip above the axes."""
    strip, look = _strip(ax, color)
    strip.fill_between(x, density, gid="density", **look)
    _scale_strip(strip, density, "density")


def _strip(ax: Any, color: Any) -> tuple[Any, dict[str, Any]]:
    """The strip above the axes, which figures on the same axes share; outlines do not hide earlier bars."""
    for strip in ax.child_axes:
        if strip.get_gid() == "strip":
            return strip, {"facecolor": "none", "edgecolor": color, "linewidth": 0.9}
    strip = ax.inset_axes(STRIP, sharex=ax, facecolor="none", gid="strip")
    strip.spines[["top", "right", "left"]].set_visible(False)
    strip.tick_params(axis="x", bottom=False, labelbottom=False, which="both")
    strip.tick_params(axis="y", labelsize=small_size(), labelcolor=muted(), length=0, pad=2)
    strip.grid(False)
    strip.set_yticks([0])
    return strip, {"color": color, "alpha": 0.4, "linewidth": 0.4, "edgecolor": ax.get_facecolor()}


def _scale_strip(strip: Any, heights: Any, label: str) -> None:
    """One tick at the largest height of all figures on the axes."""
    most = max(float(np.nanmax(heights)), strip.get_yticks()[0]) or 1.0
    strip.set_ylim(0, 1.05 * most)
    strip.set_yticks([most], [f"{most:,.0f}" if label == "rows" else number(most, 2)])
    strip.set_ylabel(label, fontsize="small", color=muted())


def legend_lines(diagram: ModelReliability) -> list[str]:
    """Metrics by name and value, and the decomposition of the Brier score if available."""
    parts = [] if diagram.decomposition is None else diagram.decomposition._parts()
    return [
        *_metric_lines(diagram),
        *(f"{part} {number(value, 3)}" for part, value in parts),
        *filter(None, [diagram.merged]),
    ]


def _metric_lines(diagram: ModelReliability) -> list[str]:
    return [plain(f"{metric_label(id, diagram.lens)} {number(value, 3)}") for id, value in diagram.metrics.items()]

"""Plot of reliability diagrams: bars, roofs, points and curves with their intervals, counts, and axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, UndefinedMetricError
from ..metrics.registry import Metric, catalogue
from ..util.checks import check_choice
from ..util.results import number
from .base import (
    axis_words,
    diagonal,
    finish,
    logit_places,
    mark_sides,
    plain,
    plain_number,
    whole_markers,
)
from .canvas import COLORS, PAPER_WIDTH, keep_room, new_ax, small_size, tones_of
from .labels import room_of, shortened, wrapped
from .models import STRIP_ABOVE, legend_above, legend_inside, single_point
from .styling import Series, each_of, series_of

if TYPE_CHECKING:
    from .reliability_diagrams import ReliabilityDiagram

Floats = NDArray[np.float64]

# Largest number of single outcomes shown, and their jitter.
MOST_LABELS, JITTER = 2000, 0.025
LARGEST_MARKER = 45.0
# Largest width of the text of a legend inside the axes, as a fraction of them.
LEGEND_PART = 0.7
# Distance of the corner texts from the edge, without and with single outcomes.
INSET, LABEL_INSET = 0.02, 0.1
# Left, bottom, width and height of the strip of counts in axes coordinates.
STRIP = (0.0, 1.025, 1.0, 0.115)


def draw_reliability(
    diagram: ReliabilityDiagram,
    ax: Any,
    *,
    counts: str | None,
    labels: bool,
    scale: str,
    legend: Sequence[str] | None,
    sides: bool,
    style: Mapping[str, Any],
    beside: Iterable[ReliabilityDiagram] = (),
) -> Any:
    """Plot one diagram into `ax` or a new figure; diagrams `beside` it share its limits."""
    check_choice(counts, "counts", ("strip", "area", None))
    check_choice(scale, "scale", ("probability", "logit"))
    if scale == "logit" and diagram.kind in ("bars", "roof"):
        raise ArgumentError("scale", f"'logit' has no baseline for {diagram.kind!r}", "use kind='line'")
    ax = new_ax(ax, height=PAPER_WIDTH * (1.12 if counts == "strip" else 1.0))
    limits = (0.0, 1.0) if scale == "probability" else logit_limits(diagram, *beside)
    look = _look(ax, diagram, style, None, counts == "area")
    prepare(ax, diagram.lens, scale, limits, (LABEL_INSET if labels else INSET) if sides else None)
    if labels:
        draw_labels(diagram, ax, scale, limits)
    _PAINTERS[diagram.kind](diagram, ax, limits, look, counts == "area")
    _name(ax, look.label, _legend_lines(diagram, legend))
    if counts == "strip":
        draw_strip(diagram, ax, limits, look.color)
    inset = 0.05 + (LABEL_INSET if labels else INSET)
    legend_inside(ax, inset, inset)
    return ax


def draw_overlay(
    diagrams: Mapping[str, ReliabilityDiagram],
    ax: Any,
    *,
    scale: str,
    legend: Sequence[str] | None,
    style: Mapping[str, Any],
) -> Any:
    """Several diagrams in one plot, distinguished by color, marker and dashes."""
    flat = [diagram.kind for diagram in diagrams.values() if diagram.kind in ("bars", "roof")]
    if flat:
        raise ArgumentError("layout", f"'overlay' would hide {flat[0]!r}", "use kind='line'")
    if len(diagrams) > len(COLORS):
        raise ArgumentError(
            "layout", f"'overlay' shows at most {len(COLORS)} diagrams; got {len(diagrams)}", "use 'side_by_side'"
        )
    limits = logit_limits(*diagrams.values()) if scale == "logit" else (0.0, 1.0)
    first = next(iter(diagrams.values()))
    check_choice(scale, "scale", ("probability", "logit"))
    prepare(ax, first.lens, scale, limits, INSET)
    given = {word: each_of(word, value, list(diagrams)) for word, value in style.items()}
    for place, (name, diagram) in enumerate(diagrams.items()):
        look = _look(ax, diagram, {word: values[place] for word, values in given.items()}, name, False)
        _PAINTERS[diagram.kind](diagram, ax, limits, look, False)
        lines = _legend_lines(diagram, legend if legend is not None else tuple(diagram.metrics))
        _newest(ax).set_label(f"{look.label}" + (f" ({', '.join(lines)})" if lines else ""))
    legend_above(ax, lines=0)
    # The constrained layout misjudges artists above centred square axes.
    ax.set_anchor("S")
    return ax


def _look(ax: Any, diagram: ReliabilityDiagram, style: Mapping[str, Any], name: str | None, area: bool) -> Series:
    """Look of the line of a diagram."""
    binned = diagram.kind == "line"
    return series_of(ax, style, [name], width=1.2 if binned else 1.5, marker=binned and not area)[0]


def _newest(ax: Any) -> Any:
    return next(line for line in ax.lines[::-1] if line.get_gid() == "curve")


def prepare(ax: Any, lens: str, scale: str, limits: tuple[float, float], inset: float | None) -> None:
    """Set up the square axes, the diagonal and the labels."""
    predicted, observed = axis_words(lens)
    if scale == "logit":
        ax.set_xscale("logit")
        ax.set_yscale("logit")
    finish(ax, predicted, observed)
    ax.set(xlim=limits, ylim=limits, aspect="equal")
    if scale == "logit":
        _name_logit_ticks(ax, limits)
        diagonal(ax, points=clip(1 / (1 + np.exp(-np.linspace(-14, 14, 400))), limits))
    else:
        ax.set_xticks(np.arange(6) / 5)
        ax.set_yticks(np.arange(6) / 5)
        diagonal(ax)
    if inset is not None:
        mark_sides(ax, lens, inset=inset)


def logit_limits(*diagrams: ReliabilityDiagram) -> tuple[float, float]:
    """Limits of a logit axis: half the distance of the extreme interior values from 0 and 1."""
    shown = np.concatenate([v for d in diagrams for v in _shown(d)])
    inner = shown[(shown > 0) & (shown < 1)]
    if len(inner) == 0:
        return 0.01, 0.99
    return max(float(inner.min()) / 2, 1e-6), 1 - max((1 - float(inner.max())) / 2, 1e-6)


def _shown(diagram: ReliabilityDiagram) -> tuple[Floats, Floats]:
    """Points of the curve, or of the non-empty bins."""
    if diagram.curve is not None:
        return diagram.curve.x, diagram.curve.y
    full = ~diagram.table.empty
    return diagram.mean_score[full], diagram.rate[full]


def _name_logit_ticks(ax: Any, limits: tuple[float, float]) -> None:
    from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

    places = logit_places(limits, ax.bbox.width / ax.figure.dpi)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())
        axis.set_major_locator(FixedLocator(places))
        axis.set_major_formatter(lambda value, _: plain_number(value))


def draw_labels(diagram: ReliabilityDiagram, ax: Any, scale: str, limits: tuple[float, float]) -> None:
    """Single outcomes as faint jittered points, with a fixed seed."""
    if diagram.view is None:
        raise UndefinedMetricError(
            "labels", "cannot be computed from bins alone", "make the diagram with reliability_diagram()"
        )
    view, rng = diagram.view, np.random.default_rng(0)
    chosen = np.arange(view.n)
    if view.n > MOST_LABELS:
        chosen = np.sort(rng.choice(view.n, MOST_LABELS, replace=False, p=view.weights / view.weights.sum()))
    height = view.outcome[chosen] + rng.uniform(-JITTER, JITTER, len(chosen))
    if scale == "logit":
        ax.plot(
            clip(view.score[chosen], limits),
            np.where(view.outcome[chosen] > 0.5, 0.97, 0.03) + rng.uniform(-JITTER, JITTER, len(chosen)),
            transform=ax.get_xaxis_transform(),
            color=tones_of(ax).muted,
            **_DOTS,
        )
    else:
        ax.plot(view.score[chosen], height, color=tones_of(ax).muted, **_DOTS)
        ax.set_ylim(-2 * JITTER, 1 + 2 * JITTER)
        ax.set_xlim(-2 * JITTER, 1 + 2 * JITTER)


_DOTS: dict[str, Any] = {"marker": ".", "markersize": 2.5, "linestyle": "none", "markeredgewidth": 0}
_DOTS |= {"alpha": 0.35, "zorder": 1.2, "gid": "labels"}


def _bounds(diagram: ReliabilityDiagram, ax: Any, limits: tuple[float, float], look: Series) -> None:
    """Intervals at the mean score of each bin: about the diagonal for consistency, else about the rate."""
    if diagram.band is not None:
        _band(diagram, ax, limits, look)
        return
    shown = ~np.isnan(diagram.low)
    x = clip(diagram.mean_score[shown], limits)
    low, high = clip(diagram.low[shown], limits), clip(diagram.high[shown], limits)
    if diagram.how == "consistency":
        drawn = ax.vlines(x, low, high, color=tones_of(ax).faint, linewidth=5, zorder=1.3, gid="interval")
    else:
        drawn = ax.vlines(x, low, high, color=look.color, alpha=look.line.get("alpha"), linewidth=1, zorder=2.8)
        drawn.set_gid("interval")
    if shown.any():
        drawn.set_label(bound_words(diagram))


def bound_words(diagram: ReliabilityDiagram) -> str:
    """Legend text of the intervals."""
    if diagram.level is None:
        return "one standard error"
    kind = {"consistency": "range if calibrated", "band": "simultaneous band"}.get(diagram.how or "", "intervals")
    return f"{100 * diagram.level:g}% {kind}"


def _band(diagram: ReliabilityDiagram, ax: Any, limits: tuple[float, float], look: Series) -> None:
    assert diagram.band is not None
    x = np.union1d(np.linspace(0, 1, 501), diagram.band.score)
    low, high = diagram.band.at(x)
    look.shade(ax, clip(x, limits), clip(low, limits), clip(high, limits), bound_words(diagram))


def _points(diagram: ReliabilityDiagram, ax: Any, limits: tuple[float, float], look: Series, area: bool) -> None:
    """Connected markers at the mean scores of the bins; hollow where a score or rate of 0 or 1 is beyond a logit axis."""
    x, y = _shown(diagram)
    _bounds(diagram, ax, limits, look)
    shown = (clip(x, limits), clip(y, limits))
    beyond = np.any([(values < limits[0]) | (values > limits[1]) for values in (x, y)], axis=0)
    paint, opaque = look.color, look.line.get("alpha", 1.0)
    marker = {"marker": "none"} if area else {"markersize": 3.5}
    drawn: list[Any] = ax.plot(*shown, zorder=3, gid="curve", **{**look.line, **marker})
    if area:
        from matplotlib.colors import to_hex

        weight = diagram.table.weight[~diagram.table.empty]
        size = np.maximum(LARGEST_MARKER * weight / weight.max(), 2)
        dots: dict[str, Any] = {
            "facecolors": np.where(beyond, to_hex(tones_of(ax).paper), to_hex(paint)),
            "marker": look.line.get("marker", "o"),
            "edgecolors": paint,
            "linewidths": np.where(beyond, 1, 0),
        }
        drawn.append(ax.scatter(*shown, s=size, alpha=0.75 * opaque, zorder=3.1, gid="markers", **dots))
    if beyond.any():
        hollow: dict[str, Any] = {
            "marker": "o",
            "markersize": 4,
            "linestyle": "none",
            "markerfacecolor": tones_of(ax).paper,
        }
        drawn += ax.plot(*(values[beyond] for values in shown), color=paint, zorder=3.2, gid="beyond", **hollow)
        drawn[-1].set_label("hollow: beyond the axis")
    whole_markers(ax, *drawn)


def _bars(diagram: ReliabilityDiagram, ax: Any, limits: tuple[float, float], look: Series, area: bool) -> None:
    """Bars over the bins, with the gap to the mean score hatched."""
    table = diagram.table
    full = ~table.empty
    low, width = table.left[full], (table.right - table.left)[full]
    rate, score = table.rate[full], table.mean_score[full]
    style: dict[str, Any] = {"align": "edge", "linewidth": 0.6}
    ax.bar(
        low,
        rate,
        width,
        color=look.color,
        alpha=0.35 * look.line.get("alpha", 1.0),
        edgecolor=tones_of(ax).paper,
        zorder=2,
        gid="bars",
        **style,
    )
    for over, hue in ((True, tones_of(ax).over), (False, tones_of(ax).under)):
        side = (score > rate) == over
        bottom, height = np.minimum(rate, score)[side], np.abs(score - rate)[side]
        ax.bar(
            low[side],
            height,
            width[side],
            bottom=bottom,
            fill=False,
            edgecolor=hue,
            hatch="////",
            zorder=2.2,
            gid="gap",
            **style,
        )
    _marks(diagram, score, rate, ax, limits, look)


def _marks(
    diagram: ReliabilityDiagram, score: Floats, rate: Floats, ax: Any, limits: tuple[float, float], look: Series
) -> None:
    """Rates over bars, with their intervals, in the color of text."""
    ink = tones_of(ax).ink
    _bounds(diagram, ax, limits, look._replace(color=ink))
    style: dict[str, Any] = {"marker": look.line.get("marker", "o"), "linestyle": "none", "markersize": 3}
    whole_markers(ax, *ax.plot(score, rate, color=ink, zorder=3, gid="curve", **style))


def _roofs(diagram: ReliabilityDiagram, ax: Any, limits: tuple[float, float], look: Series, area: bool) -> None:
    """Bars with tops parallel to the diagonal: the hatched strip between them has the height of the gap."""
    from matplotlib.collections import PolyCollection

    table, full, tones = diagram.table, ~diagram.table.empty, tones_of(ax)
    paper = tones.paper
    low, high, gap = table.left[full], table.right[full], table.gap[full]
    left, right = (end[full] for end in diagram.roof)
    zero = np.zeros(len(low))

    def shapes(*corners: tuple[Floats, Floats]) -> Any:
        return np.stack([np.column_stack(corner) for corner in corners], axis=1)

    walls = shapes((low, zero), (high, zero), (high, right), (low, left))
    ax.add_collection(
        PolyCollection(
            walls,
            facecolor=look.color,
            alpha=0.35 * look.line.get("alpha", 1.0),
            edgecolor=paper,
            linewidth=0.6,
            zorder=2,
            gid="bars",
        )
    )
    strips = shapes((low, low), (high, high), (high, right), (low, left))
    for side, hue in ((gap > 0, tones.over), (gap < 0, tones.under)):
        style: dict[str, Any] = {"facecolor": "none", "edgecolor": hue, "hatch": "////", "linewidth": 0.6}
        ax.add_collection(PolyCollection(strips[side], zorder=2.2, gid="gap", **style))
    _marks(diagram, table.mean_score[full], table.rate[full], ax, limits, look)


def _curve(diagram: ReliabilityDiagram, ax: Any, limits: tuple[float, float], look: Series, area: bool) -> None:
    curve = diagram.curve
    assert curve is not None
    if diagram.band is not None:
        _band(diagram, ax, limits, look)
    elif diagram.how is not None:
        shaded, alpha = (look._replace(color=tones_of(ax).muted), 0.25) if diagram.how == "consistency" else (look, 0.2)
        low, high = clip(curve.low, limits), clip(curve.high, limits)
        shaded.shade(ax, clip(curve.x, limits), low, high, bound_words(diagram), alpha, half=0.01)
    x, y = clip(curve.x, limits), clip(curve.y, limits)
    ax.plot(x, y, zorder=3, gid="curve", **{**single_point(x), **look.line})


_PAINTERS = {"line": _points, "bars": _bars, "roof": _roofs, "smooth": _curve, "corp": _curve}


def clip(values: Any, limits: tuple[float, float]) -> Floats:
    """Numbers clipped to the limits."""
    return np.clip(np.asarray(values, dtype=np.float64), *limits)


def draw_strip(diagram: ReliabilityDiagram, ax: Any, limits: tuple[float, float], paint: Any) -> None:
    """Number of rows per bin, or density of the scores, in a strip above the axes."""
    if diagram.curve is not None and diagram.kind == "smooth":
        counts_above(ax, paint, diagram.curve.density, clip(diagram.curve.x, limits), "density")
        return
    table = diagram.table
    word = "weight" if table.weight_kind == "importance" else "rows"
    counts_above(ax, paint, table.weight, (clip(table.left, limits), clip(table.right, limits)), word)


def counts_above(ax: Any, paint: Any, heights: Floats, places: Any, word: str) -> None:
    """Bars between two ends, or a density at places, in a strip above the axes that figures on the same axes share."""
    tones = tones_of(ax)
    strip = next((one for one in ax.child_axes if one.get_gid() == "strip"), None)
    first = strip is None
    if strip is None:
        strip = ax.inset_axes(STRIP, sharex=ax, facecolor="none", gid="strip")
        keep_room(ax, STRIP_ABOVE)
    look: dict[str, Any] = {"color": paint, "alpha": 0.4, "linewidth": 0.4, "edgecolor": tones.paper}
    if not first:  # outlines do not hide earlier bars
        look = {"facecolor": "none", "edgecolor": paint, "linewidth": 0.9}
    if word == "density":
        strip.fill_between(places, heights, gid="density", **{**look, "linewidth": 0.9 * (not first)})
    else:
        low, high = places
        strip.bar(low, heights, high - low, align="edge", gid="counts", **look)
    strip.spines[["top", "right", "left"]].set_visible(False)
    strip.spines["bottom"].set_color(tones.muted)
    strip.tick_params(axis="x", bottom=False, labelbottom=False, which="both")
    strip.grid(False)
    most = max(float(np.nanmax(heights)), 0.0 if first else strip.get_yticks()[0]) or 1.0
    strip.set_ylim(0, 1.05 * most)
    strip.set_yticks([most], [f"{most:,.0f}" if word == "rows" else number(most, 2)])
    strip.tick_params(axis="y", labelsize=small_size(), labelcolor=tones.muted, length=0, pad=2)
    strip.set_ylabel(word, fontsize=small_size(), color=tones.muted)


def _legend_lines(diagram: ReliabilityDiagram, legend: Sequence[str] | None) -> list[str]:
    """Metrics by name and value, and the decomposition of the Brier score if available."""
    if isinstance(legend, (str, Metric)):
        legend = (legend,)
    ids = list(diagram.metrics) if legend is None else [catalogue[id].id for id in legend]
    lines = [f"{diagram.label_of(id)} {number(diagram.value_of(id), 3)}" for id in ids]
    if diagram.decomposition is not None and legend is None:
        parts = diagram.decomposition._parts()
        lines += [f"{part} {number(value, 3)}" for part, value in parts]
    return lines


def _name(ax: Any, name: str | None, lines: list[str]) -> None:
    """Set the legend entry of the newest curve: a name with values below it."""
    if name or lines:
        room = LEGEND_PART * room_of(ax, small_size())[0]
        names = [wrapped(name, room, small_size(), most=2)] if name else []
        _newest(ax).set_label("\n".join([*names, *(shortened(plain(line), room, small_size()) for line in lines)]))

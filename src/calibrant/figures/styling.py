"""How series look: the keywords of matplotlib that every plot takes, colors, dashes and markers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from ..views.keywords import check_keywords, parameter_lines, shared_entry
from .base import series_on, width_of
from .canvas import LINE, Axes, figure_style, grow, keep_title_above
from .labels import fit, letters_in, plain

# Keywords of the lines, bars or points of a series.
KEYWORDS = ("color", "label", "linestyle", "linewidth", "marker", "alpha")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (6, 1.5, 1.5, 1.5)), (0, (3, 1)), (0, (1, 2.5)), "-")
# Height of a strip of counts above axes, relative to them, and letters of a legend handle with its gaps.
STRIP_ABOVE, HANDLE_LETTERS = 0.155, 7
PARAMETERS = {
    "ax": ("matplotlib.axes.Axes, optional", "Axes to plot into; by default a new figure."),
    "**style": (
        "keywords of matplotlib",
        "``color``, ``label``, ``linestyle``, ``linewidth``, ``marker`` or ``alpha`` of the main lines, bars or points; the same for all series. A label is that of a single series.",
    ),
}

P = ParamSpec("P")
T = TypeVar("T")


def plots(method: Callable[P, T]) -> Callable[P, T]:
    """Make a method draw with our settings and add a legend of what has labels, and document the keywords that every plot takes."""

    @wraps(method)
    def call(*args: P.args, **keywords: P.kwargs) -> T:
        with figure_style():
            axes = method(*args, **keywords)
            first: Any = axes[0] if isinstance(axes, list) else axes
            legend_above(first)
            return axes

    lines, start, end = parameter_lines(method.__doc__ or "")
    own = lines[start:end]
    while own and not own[-1]:
        own.pop()
    own = own or (["ax"] if "ax" in method.__annotations__ else [])
    entries = [
        text
        for line in (*own, "**style")
        for text in (shared_entry(line, PARAMETERS) if line in PARAMETERS else [line])
    ]
    several = "list" in str(method.__annotations__["return"])
    returned = "list of matplotlib.axes.Axes" if several else "matplotlib.axes.Axes"
    head = lines[: start - 2] if end else [*lines, ""]
    sections = ["Parameters", "----------", *entries, "", "Returns", "-------", returned, "    The axes.", ""]
    call.__doc__ = "\n".join([*head, *sections])
    return call


def legend_above(ax: Axes) -> None:
    """A legend above the axes, no wider than these, in up to three columns; a figure of ours grows by its lines.

    Lines come first, and each label once.
    """
    from matplotlib.lines import Line2D

    handles, labels = ax.get_legend_handles_labels()
    if not labels:
        return
    wide = width_of(ax)
    room = letters_in(wide)
    entries = [fit(label, wide * (1 - HANDLE_LETTERS / room)) for label in labels]
    for handle, text in zip(handles, entries, strict=True):
        handle.set_label(text)
    lines = [line for text in dict.fromkeys(entries) for line in text.split("\n")]
    columns = max(1, min(3, len(set(entries)), room // (max(map(len, lines)) + HANDLE_LETTERS)))
    rows = -(-len(lines) // columns)
    start = STRIP_ABOVE if any(one.get_gid() in ("strip", "scores") for one in ax.child_axes) else 0.0
    earlier = ax.get_legend()
    known = (
        0 if earlier is None else -(-sum(text.get_text().count("\n") + 1 for text in earlier.get_texts()) // columns)
    )
    keep_title_above(ax, rows * LINE + 0.06, start)
    grow(ax.figure, rows - known)
    pairs = sorted(zip(handles, entries, strict=True), key=lambda pair: not isinstance(pair[0], Line2D))
    first = {text: handle for handle, text in reversed(pairs)}
    names = list(dict.fromkeys(text for _, text in pairs))
    shown = [first[name] for name in names]
    ax.legend(shown, names, loc="lower left", bbox_to_anchor=(-0.02, 1.0 + start), ncols=columns)


class Series(NamedTuple):
    """Look of one series of a figure: its name in the legend, its color and the keywords of its line."""

    label: str | None
    color: Any
    line: dict[str, Any]

    def named(self, facts: str) -> str:
        """The name with facts in parentheses, or the facts alone."""
        return facts if self.label is None else f"{self.label} ({facts})"

    def shade(self, ax: Any, x: Any, low: Any, high: Any, label: str = "", alpha: float = 0.15) -> None:
        """Shade a band around the series; that of a single point has a small width."""
        if np.isnan(low).all():
            return
        if len(x) == 1:
            x, low, high = np.array([x[0] - 0.005, x[0] + 0.005]), np.repeat(low, 2), np.repeat(high, 2)
        faint = alpha * self.line.get("alpha", 1.0)
        band = ax.fill_between(x, low, high, color=self.color, alpha=faint, linewidth=0, gid="band")
        band.set_label(label or "_band")


def series_of(
    ax: Any,
    style: Mapping[str, Any],
    names: Sequence[str | None] = (None,),
    *,
    width: float = 1.2,
    marker: bool = False,
) -> list[Series]:
    """Look of each series: the keywords given for all, else the next color of the axes, and the dashes of its number.

    A label is that of a single series; several have the names of their models.
    """
    check_keywords("plot", style, KEYWORDS)
    shared = {keyword: value for keyword, value in style.items() if keyword != "label"}
    series = []
    for number, name in enumerate(names, series_on(ax)):
        label = None if name is None else plain(name)
        if len(names) == 1:
            label = style.get("label", label)
        line: dict[str, Any] = {"linestyle": DASHES[number % len(DASHES)], "linewidth": width}
        if marker or "marker" in shared:
            line |= {"marker": MARKERS[number % len(MARKERS)], "markersize": 3}
        line |= shared
        if "color" not in line:
            (sample,) = ax.plot([], [])  # takes the next color of the axes, as any line does
            line["color"] = sample.get_color()
            sample.remove()
        series.append(Series(label, line["color"], line))
    return series

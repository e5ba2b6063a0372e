"""New figures and axes, and the look that all figures share; it gives way to settings of matplotlib that were changed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import InputTypeError, MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:  # matplotlib is imported when something is drawn
    Axes = Figure = Any

# From the palette of Okabe and Ito. The first four differ by 12 and more in lightness (46, 71, 0, 58), so they survive print too.
COLORS = ("#0072B2", "#E69F00", "#000000", "#009E73", "#56B4E9", "#D55E00", "#CC79A7")
# Colors of overestimated and of underestimated probabilities, readable on light and on dark ground.
OVER, UNDER = "#D55E00", "#2E86C1"
# Settings of matplotlib for our figures: text of 8 and 7 points, which is readable in one column of a paper.
STYLE: dict[str, Any] = {
    "font.size": 8.5,
    "axes.titlesize": "medium",
    "xtick.labelsize": "small",
    "ytick.labelsize": "small",
    "legend.fontsize": "small",
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "legend.borderaxespad": 0.3,
    "legend.labelspacing": 0.3,
    "legend.columnspacing": 1.2,
    "axes.edgecolor": "#666666",
}
# Of figures in a notebook, whose ground may be light or dark: no ground of their own, and grey text.
GREY = "#767676"
NOTEBOOK: dict[str, Any] = {
    **dict.fromkeys(("figure.facecolor", "axes.facecolor"), "none"),
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), GREY),
}
# Width of one column of a paper, and height of a line of small text, in inches.
PAPER_WIDTH, LINE = 3.3, 0.14
# Identifier of figures that were created here, whose size may be changed.
OURS = "calibrant"


def load_matplotlib() -> Any:
    """The package matplotlib; raises with instructions if it is missing."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingDependencyError("matplotlib", "is not installed", "run pip install 'calibrant[plot]'") from error
    return matplotlib


@contextmanager
def figure_style(*, notebook: bool = False) -> Iterator[None]:
    """Draw with our settings, apart from those that the user or a style has changed."""
    matplotlib = load_matplotlib()
    ours = {**STYLE, "axes.prop_cycle": matplotlib.cycler(color=COLORS)}
    if notebook:
        colors = [GREY if color == "#000000" else color for color in COLORS]
        ours |= {**NOTEBOOK, "axes.prop_cycle": matplotlib.cycler(color=colors)}
    usual = matplotlib.rcParamsDefault
    with matplotlib.rc_context({key: ours[key] for key in ours if matplotlib.rcParams[key] == usual[key]}):
        yield


def muted() -> Any:
    """Color of reference lines and notes."""
    return load_matplotlib().rcParams["axes.edgecolor"]


def ink() -> Any:
    """Color of text."""
    return load_matplotlib().rcParams["text.color"]


def small_size() -> float:
    """Size of small text in points, for ticks, which are created after the settings were reset."""
    from matplotlib.font_manager import FontProperties

    return float(FontProperties(size="small").get_size_in_points())


def _new_figure(width: float, height: float) -> Figure:
    """A new figure: of pyplot if pyplot or a notebook is in use, else a plain figure that needs no closing; larger for larger text."""
    larger = max(1.0, load_matplotlib().rcParams["font.size"] / STYLE["font.size"])
    size: dict[str, Any] = {"figsize": (width * larger, height * larger), "layout": "constrained"}
    if "matplotlib.pyplot" in sys.modules or "ipykernel" in sys.modules:
        import matplotlib.pyplot as plt

        figure = plt.figure(**size)
    else:
        from matplotlib.figure import Figure

        figure = Figure(**size)
    figure.set_gid(OURS)
    return figure


def new_ax(ax: Axes | None = None, *, width: float = PAPER_WIDTH, height: float = PAPER_WIDTH) -> Axes:
    """The given axes, or those of a new figure of this size in inches."""
    if ax is None:
        return _new_figure(width, height).add_subplot()
    if not hasattr(ax, "add_patch"):
        raise InputTypeError(
            "ax", f"must be a matplotlib Axes; got {type(ax).__name__}", "for example plt.subplots()[1]"
        )
    return ax


def grid_of_axes(
    figure: Figure | None, count: int, *, columns: int = 3, width: float = 2.2, height: float = 2.4, share: bool = True
) -> list[Axes]:
    """`count` axes in rows of `columns`, in the given figure or a new one with this size per axes in inches."""
    columns = min(columns, count)
    rows = -(-count // columns)
    if figure is None:
        figure = _new_figure(columns * width, rows * height)
    elif not hasattr(figure, "add_subplot"):
        raise InputTypeError("figure", f"must be a matplotlib Figure; got {type(figure).__name__}")
    cells = figure.subplots(rows, columns, sharex=share, sharey=share, squeeze=False).ravel()
    for cell in cells[count:]:
        cell.remove()
    if share:  # the lowest of each column keeps its tick labels, also above an empty place
        for cell in cells[max(0, count - columns) : count]:
            cell.xaxis.set_tick_params(labelbottom=True)
    return list(cells[:count])


def grow(figure: Any, lines: int) -> None:
    """Increase the height of a figure created here by so many lines of text; given figures keep their size."""
    if lines > 0 and figure.get_gid() == OURS:
        wide, high = figure.get_size_inches()
        figure.set_size_inches(wide, high + LINE * small_size() / 7 * lines)


def picture(draw: Callable[[], Any], format: str) -> tuple[bytes, float]:
    """The figure that is drawn as bytes, the same for the same figure, and its width in inches; pyplot does not keep it."""
    import io

    matplotlib = load_matplotlib()
    drawn = draw()
    figure = (drawn[0] if isinstance(drawn, list) else drawn).figure
    stream, dated = io.BytesIO(), {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[format]
    with matplotlib.rc_context({"svg.hashsalt": "calibrant"}):
        figure.savefig(stream, format=format, metadata=dated, dpi=200)
    if figure.get_gid() == OURS and "matplotlib.pyplot" in sys.modules:  # which would show it once more
        sys.modules["matplotlib.pyplot"].close(figure)
    return stream.getvalue(), float(figure.get_size_inches()[0])


class _Above:
    """Locator of axes above others: their height in inches, and their distance relative to the height of the others."""

    def __init__(self, below: Axes, inches: float, start: float) -> None:
        self.below, self.inches, self.start = below, inches, start

    def __call__(self, ax: Any, renderer: Any) -> Any:
        from matplotlib.transforms import Bbox

        box, figure = self.below.bbox, self.below.figure
        low = box.y1 + self.start * box.height
        place = Bbox.from_extents(box.x0, low, box.x1, low + self.inches * figure.dpi)
        return place.transformed(figure.transSubfigure.inverted())


def keep_title_above(ax: Axes, inches: float, start: float) -> None:
    """Reserve the place of a legend above axes by empty axes: matplotlib moves titles above child axes, but ignores legends."""
    for other in [one for one in ax.child_axes if one.get_gid() == "legend"]:
        other.remove()
    behind = ax.inset_axes((0, 1, 1, 0.1), gid="legend")
    behind.set_axes_locator(_Above(ax, inches, start))
    behind.set_axis_off()

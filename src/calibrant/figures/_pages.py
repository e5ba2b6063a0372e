"""Where pictures are drawn: figures and axes on a white ground whatever the style, and the ink that can be read on a given one."""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any

from ..errors import InputTypeError, MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["INK", "PAPER_WIDTH", "grid_of_axes", "grow", "ink_on", "is_ours", "load_matplotlib", "new_ax"]

# Words, and words on a dark ground, which only an ax that was given can have.
INK, CHALK = "#222222", "#EEEEEE"
# One column of a paper, in inches.
PAPER_WIDTH = 3.3
# How high a line of small text is, in inches.
LINE = 0.14


def load_matplotlib() -> Any:
    """The package matplotlib, or the error that says how to get it."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingDependencyError("matplotlib", "is not installed", "pip install 'calibrant[plot]'") from error
    return matplotlib


def _new_figure(width: float, height: float) -> Figure:
    """A figure that shows where figures are shown: under pyplot or in a notebook it is pyplot's, elsewhere nobody would close it."""
    load_matplotlib()
    size: dict[str, Any] = {"figsize": (width, height), "layout": "constrained", "facecolor": "white"}
    if "matplotlib.pyplot" in sys.modules or "ipykernel" in sys.modules:
        import matplotlib.pyplot as plt

        figure = plt.figure(**size)
    else:
        from matplotlib.figure import Figure

        figure = Figure(**size)
    _keep_white(figure)
    _OURS.add(figure)
    return figure


_OURS: weakref.WeakSet[Any] = weakref.WeakSet()


def is_ours(figure: Any) -> bool:
    """Whether the figure was made here, so that its size may be changed."""
    return figure in _OURS


def grow(figure: Any, lines: int) -> None:
    """A figure of ours becomes higher by so many lines of text; one that was given keeps its size."""
    if lines > 0 and is_ours(figure):
        wide, high = figure.get_size_inches()
        figure.set_size_inches(wide, high + LINE * lines)


def _keep_white(figure: Figure) -> None:
    """Styles may paint another ground when a figure is saved; words in dark ink need a white one there too."""
    import matplotlib
    from matplotlib.patches import Rectangle

    if ink_on(matplotlib.rcParams["savefig.facecolor"]) != INK:
        paper = Rectangle((0, 0), 1, 1, transform=figure.transFigure, facecolor="white", edgecolor="none", zorder=-10)
        figure.add_artist(paper)


def ink_on(colour: Any) -> str:
    """The colour of words that can be read on this one; a ground that is not painted is taken for white."""
    from matplotlib.colors import to_rgba

    red, green, blue, opaque = (1.0, 1.0, 1.0, 1.0) if colour == "auto" else to_rgba(colour)
    light = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return CHALK if opaque > 0.5 and light < 0.4 else INK


def new_ax(ax: Axes | None = None, *, width: float = PAPER_WIDTH, height: float = PAPER_WIDTH) -> Axes:
    """The ax given, or the only one of a new figure of this size in inches."""
    load_matplotlib()
    if ax is None:
        return _new_figure(width, height).add_subplot(facecolor="white")
    if not hasattr(ax, "add_patch"):
        raise InputTypeError(
            "ax", f"must be a matplotlib Axes; got {type(ax).__name__}", "for example plt.subplots()[1]"
        )
    return ax


def grid_of_axes(
    figure: Figure | None, count: int, *, columns: int = 3, width: float = 2.2, height: float = 2.4, share: bool = True
) -> list[Axes]:
    """`count` axes in rows of `columns`, on the figure given or on a new one where each has this size in inches."""
    load_matplotlib()
    columns = min(columns, count)
    rows = -(-count // columns)
    if figure is None:
        figure = _new_figure(columns * width, rows * height)
    elif not hasattr(figure, "add_subplot"):
        raise InputTypeError("figure", f"must be a matplotlib Figure; got {type(figure).__name__}")
    cells = figure.subplots(rows, columns, sharex=share, sharey=share, squeeze=False).ravel()
    if is_ours(figure):
        for cell in cells:
            cell.set_facecolor("white")
    for cell in cells[count:]:
        cell.remove()
    if share:  # the lowest of each column keeps its numbers, also above a place left empty
        for cell in cells[max(0, count - columns) : count]:
            cell.xaxis.set_tick_params(labelbottom=True)
    return list(cells[:count])

"""Figures and axes: colors and sizes of text that follow the settings of matplotlib and are readable on any background."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputTypeError, MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Color of text on a light and on a dark background, where the settings of matplotlib do not decide.
INK, CHALK = "#222222", "#EEEEEE"
# From the palette of Okabe and Ito. The first four differ by 12 and more in lightness (46, 71, 0, 58), so they survive print too.
COLORS = ("#0072B2", "#E69F00", "#000000", "#009E73", "#56B4E9", "#D55E00", "#CC79A7")
# Font sizes in points that are readable in one column of a paper, of labels and of notes.
TEXT, SMALL = 8.0, 7.0
# Least difference in lightness of a line and of text from the background.
SEEN, READ = 0.12, 0.35
# Width of one column of a paper in inches.
PAPER_WIDTH = 3.3
# Height of a line of small text in inches.
LINE = 0.14
# Distance of labels from the edge of the figure in inches.
MARGIN = 0.02


def load_matplotlib() -> Any:
    """The package matplotlib; raises with instructions if it is missing."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingDependencyError("matplotlib", "is not installed", "run pip install 'calibrant[plot]'") from error
    return matplotlib


def setting(key: str) -> Any:
    """A setting of matplotlib that differs from its default, such as one of a style; else None."""
    matplotlib = load_matplotlib()
    chosen = matplotlib.rcParams[key]
    return None if chosen == matplotlib.rcParamsDefault[key] else chosen


def _points(key: str, ours: float) -> float:
    """Font size in points: that of the setting, or `ours`, scaled with the size of the font."""
    import matplotlib
    from matplotlib.font_manager import FontProperties

    chosen = setting(key)
    if chosen is not None:
        return float(FontProperties(size=chosen).get_size_in_points())
    return float(ours * matplotlib.rcParams["font.size"] / matplotlib.rcParamsDefault["font.size"])


def text_size() -> float:
    """Font size of the labels of axes in points."""
    return _points("axes.labelsize", TEXT)


def title_size() -> float:
    """Font size of titles in points."""
    return _points("axes.titlesize", TEXT)


def small_size() -> float:
    """Font size of tick labels, legends and notes in points."""
    return _points("legend.fontsize" if setting("legend.fontsize") else "xtick.labelsize", SMALL)


def text_scale() -> float:
    """Factor by which small text is larger than by default."""
    return small_size() / SMALL


def _new_figure(width: float, height: float) -> Figure:
    """A new figure: of pyplot if pyplot or a notebook is in use, else a plain figure that needs no closing; larger for larger text."""
    load_matplotlib()
    larger = max(1.0, text_scale(), text_size() / TEXT)
    size: dict[str, Any] = {"figsize": (width * larger, height * larger), "layout": "constrained"}
    if "matplotlib.pyplot" in sys.modules or "ipykernel" in sys.modules:
        import matplotlib.pyplot as plt

        figure = plt.figure(**size)
    else:
        from matplotlib.figure import Figure

        figure = Figure(**size)
    _OURS.add(figure)
    return figure


def _with_palette(ax: Axes) -> Axes:
    """Axes of a new figure; they take our colors unless a style has its own."""
    if setting("axes.prop_cycle") is None:
        ax.set_prop_cycle(color=[color if color != "#000000" else tones_of(ax).black for color in COLORS])
    return ax


def picture(
    draw: Callable[[], Any], format: str, dpi: float, figsize: Sequence[float] | None = None
) -> tuple[bytes, float]:
    """The figure that is drawn as bytes, the same for the same figure, and its width in inches; pyplot does not know it."""
    import io

    matplotlib = load_matplotlib()
    earlier = set(_OURS)
    drawn = draw()
    figure = (drawn[0] if isinstance(drawn, list) else drawn).figure
    if figsize is not None:
        figure.set_size_inches(*figsize)
    stream, dated = io.BytesIO(), {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[format]
    with matplotlib.rc_context({"svg.hashsalt": "calibrant"}):
        figure.savefig(stream, format=format, metadata=dated, dpi=dpi)
    if (
        figure not in earlier and is_ours(figure) and "matplotlib.pyplot" in sys.modules
    ):  # which would show it once more
        sys.modules["matplotlib.pyplot"].close(figure)
    return stream.getvalue(), float(figure.get_size_inches()[0])


_OURS: weakref.WeakSet[Any] = weakref.WeakSet()


def is_ours(figure: Any) -> bool:
    """Whether the figure was created here, so that its size may be changed."""
    return figure in _OURS


def grow(figure: Any, lines: int) -> None:
    """Increase the height of a figure created here by so many lines of text; given figures keep their size."""
    if lines > 0 and is_ours(figure):
        wide, high = figure.get_size_inches()
        figure.set_size_inches(wide, high + LINE * text_scale() * lines)


def _lightness(color: Any) -> float:
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def is_dark(color: Any) -> bool:
    """Whether a background is dark; a transparent one counts as white."""
    from matplotlib.colors import to_rgba

    return to_rgba(color)[3] > 0.5 and _lightness(color) < 0.4


def _readable(color: Any, ground: Any, least: float = READ) -> bool:
    from matplotlib.colors import to_rgba

    below = _lightness(ground) if to_rgba(ground)[3] > 0.5 else 1.0
    return abs(_lightness(color) - below) >= least


def chosen_color(key: str, ours: str, ground: Any, least: float = READ) -> str:
    """The color of a setting of matplotlib that differs from its default and is visible on the background; else `ours`."""
    from matplotlib.colors import to_hex

    color = setting(key)
    return to_hex(color) if color is not None and _readable(color, ground, least) else ours


def ink_on(color: Any, key: str = "text.color") -> str:
    """Color of text that is readable on this background: that of the settings, if it is."""
    return chosen_color(key, CHALK if is_dark(color) else INK, color)


class Tones(NamedTuple):
    """Colors that match the background of axes."""

    paper: Any
    """The background, for boxes behind text, halos and the inside of open markers."""
    ink: str
    muted: str
    """Reference lines and notes."""
    faint: str
    grid: str
    over: str
    under: str
    black: str
    """Replacement of black in the palette."""


def ground_of(ax: Axes) -> Any:
    """Background color of axes: their own, or that of the figure if transparent; white if both are."""
    from matplotlib.colors import to_rgba

    for color in (ax.get_facecolor(), ax.figure.get_facecolor()):
        if to_rgba(color)[3] > 0.5:
            return to_rgba(color)
    return to_rgba("white")


def tones_of(ax: Axes) -> Tones:
    """Colors that are visible on the background of these axes; text, reference lines and grid follow the settings."""
    paper = ground_of(ax)
    if is_dark(paper):
        ours = Tones(paper, CHALK, "#A0A0A0", "#707070", "#3C3C3C", "#F0843C", "#56B4E9", CHALK)
    else:
        ours = Tones(paper, INK, "#666666", "#BBBBBB", "#E6E6E6", "#D55E00", "#0072B2", "#000000")
    return ours._replace(
        ink=ink_on(paper),
        muted=chosen_color("axes.edgecolor", ours.muted, paper),
        # A style without a grid has a color of it nevertheless, often a strong one.
        grid=chosen_color("grid.color", ours.grid, paper, 0.0) if setting("axes.grid") else ours.grid,
    )


def next_color(ax: Axes) -> Any:
    """The next color of the property cycle of the axes that is visible on their background."""
    for _ in range(len(COLORS)):
        line = ax.plot([], [])[0]  # takes its color as any line does
        color = line.get_color()
        line.remove()
        if _readable(color, ground_of(ax), SEEN):
            return color
    return tones_of(ax).ink


class _Room:
    """Locator of axes within their place: below artists above them, and with their labels inside the figure.

    matplotlib asks for this whenever it draws, so that layouts, titles and sizes that come later are heeded.
    """

    def __init__(self, ax: Axes) -> None:
        self.ax = ax
        self.above = 0.0
        """Height of artists above the axes, relative to them."""
        self.inches = 0.0
        """Height of text above the axes in inches."""

    def get_subplotspec(self) -> Any:
        """The position in a grid, which ``tight_layout`` needs."""
        return self.ax.get_subplotspec()

    def __call__(self, ax: Any, renderer: Any) -> Any:
        from matplotlib.transforms import Bbox

        place = ax.get_position(original=True)
        left, bottom = place.x0, place.y0
        if renderer is not None and ax.figure.get_layout_engine() is None:
            for axis, start in ((ax.yaxis, "x0"), (ax.xaxis, "y0")):
                shown = axis.get_tightbbox(renderer)
                if shown is None or not axis.label.get_text():
                    continue
                size = ax.figure.bbox.width if start == "x0" else ax.figure.bbox.height
                depth = (getattr(ax.bbox, start) - getattr(shown, start) + MARGIN * ax.figure.dpi) / size
                if start == "x0":
                    left = max(left, min(depth, place.x0 + place.width / 2))
                else:
                    bottom = max(bottom, min(depth, place.y0 + place.height / 2))
        high = place.y1 - bottom
        text_height = self.inches * ax.figure.dpi / ax.figure.bbox.height
        high = max(high - text_height, high / 2) / (1 + self.above)
        return Bbox.from_extents(left, bottom, place.x1, bottom + high)


class _Over:
    """Locator of axes above others, with a height in inches; `start` is the height of artists between them, relative to the others."""

    def __init__(self, below: Axes, inches: float, start: float) -> None:
        self.below, self.inches, self.start = below, inches, start

    def __call__(self, ax: Any, renderer: Any) -> Any:
        from matplotlib.transforms import Bbox

        box = self.below.bbox
        low, high = box.y1 + self.start * box.height, self.inches * self.below.figure.dpi
        return Bbox.from_extents(box.x0, low, box.x1, low + high).transformed(
            self.below.figure.transSubfigure.inverted()
        )


def part_from_title(ax: Axes, inches: float, start: float = 0.0) -> float:
    """Empty axes behind the text above axes: matplotlib moves titles above child axes, but ignores legends. Returns the height of earlier ones."""
    earlier = 0.0
    for other in [one for one in ax.child_axes if one.get_gid() == "words"]:
        over: Any = other.get_axes_locator()
        earlier = over.inches
        other.remove()
    behind = ax.inset_axes((0, 1, 1, 0.1), gid="words")
    behind.set_axes_locator(_Over(ax, inches, start))
    behind.set_axis_off()
    if not is_ours(ax.figure):
        keep_room(ax, inches=inches)
    return earlier


def keep_room(ax: Axes, above: float = 0.0, inches: float = 0.0) -> None:
    """Keep the labels of axes inside the figure, and space above them (relative, or in inches) free."""
    room = ax.get_axes_locator()
    if room is None:
        room = _Room(ax)
        ax.set_axes_locator(room)
    if isinstance(room, _Room):  # a locator set by the user is kept
        room.above, room.inches = max(room.above, above), max(room.inches, inches)


def new_ax(ax: Axes | None = None, *, width: float = PAPER_WIDTH, height: float = PAPER_WIDTH) -> Axes:
    """The given axes, or those of a new figure of this size in inches."""
    load_matplotlib()
    if ax is None:
        return _with_palette(_new_figure(width, height).add_subplot())
    if not hasattr(ax, "add_patch"):
        raise InputTypeError(
            "ax", f"must be a matplotlib Axes; got {type(ax).__name__}", "for example plt.subplots()[1]"
        )
    return ax


def grid_of_axes(
    figure: Figure | None, count: int, *, columns: int = 3, width: float = 2.2, height: float = 2.4, share: bool = True
) -> list[Axes]:
    """`count` axes in rows of `columns`, in the given figure or a new one with this size per axes in inches."""
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
            _with_palette(cell)
    for cell in cells[count:]:
        cell.remove()
    if share:  # the lowest of each column keeps its tick labels, also above an empty place
        for cell in cells[max(0, count - columns) : count]:
            cell.xaxis.set_tick_params(labelbottom=True)
    return list(cells[:count])

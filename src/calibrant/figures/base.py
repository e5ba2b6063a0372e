"""What the figures share: axes and their labels, legends, tables, and the view that a figure shows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from ..errors import CalibrantError, LensError, ShapeError
from ..input.predictions import Predictions
from ..metrics.reliability_curve import one_question
from ..sketches.collection import Sketches
from ..util.arrays import Floats as Floats
from ..util.results import Result, html_table, number
from ..views.lenses import Lens, shared_name
from ..views.resolve import Source, views_of
from ..views.view import Summary, VectorView, View
from .canvas import OVER, UNDER, Axes, figure_style, muted, picture, small_size
from .labels import fit, plain

# Identifiers of the lines that represent a model.
SERIES = ("curve", "path", "series")
# Ends of axes of probabilities.
ENDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
# Dashes of reference lines.
DASHED = (0, (4, 3))

# Parameters of figures of several models, for their docstrings.
MODELS_PARAMETERS = {
    "y_true": (
        "array-like of shape (N,), frame, Predictions, View, Sketch or mapping",
        """Observed labels: class indices, booleans, -1 and 1, class names, or one-hot rows; or an object that already holds labels
and probabilities. For several models a mapping from names to such objects.""",
    ),
    "y_prob": (
        "array-like of shape (N,) or (N, K), or mapping, optional",
        "Predicted probabilities, or for several models a mapping from names to probabilities.",
    ),
}


def finish(ax: Axes, xlabel: str = "", ylabel: str = "") -> Axes:
    """Style axes: two spines, a faint grid, and labels unless they have some."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=small_size(), color=muted(), length=2.5, pad=2)
    ax.grid(True, color=muted(), alpha=0.2, linewidth=0.5)
    ax.set_axisbelow(True)
    if xlabel and not ax.get_xlabel():
        ax.set_xlabel(fit(xlabel, width_of(ax)))
    if ylabel and not ax.get_ylabel():
        ax.set_ylabel(fit(ylabel, ax.bbox.height / ax.figure.dpi))
    return ax


def width_of(ax: Axes) -> float:
    """Width of axes in inches."""
    return float(ax.bbox.width / ax.figure.dpi)


def drawn(ax: Axes, gid: str) -> list[Any]:
    """Artists of this identifier on the axes, such as the reference line of an earlier figure."""
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def reference(ax: Axes, value: float = 0.0, **style: Any) -> None:
    """A horizontal reference line, once for all figures on the axes."""
    if not drawn(ax, "reference"):
        look = {"color": muted(), "linewidth": 0.9, "linestyle": DASHED, "zorder": 1.5}
        ax.axhline(value, gid="reference", **{**look, **style})


def diagonal(ax: Axes, low: float = 0.0, high: float = 1.0, points: Floats | None = None) -> Any:
    """The diagonal, on which predicted and observed rates agree; it replaces that of an earlier figure."""
    for old in drawn(ax, "diagonal"):
        high = max(high, float(old.get_xdata()[-1]))
        old.remove()
    along = np.array([low, high]) if points is None else points
    return ax.plot(along, along, gid="diagonal", color=muted(), linestyle=DASHED, linewidth=0.9, zorder=1.5)[0]


def square(ax: Axes, end: float = 1.0, below: float = 0.0) -> float:
    """Square axes from 0 to `end`, or to that of an earlier figure, with their diagonal; `below` is room under 0. Returns the end."""
    end = max([end, *(float(line.get_xdata()[-1]) for line in drawn(ax, "diagonal"))])
    diagonal(ax, 0.0, end)
    ax.set(
        xlim=(0, end), ylim=(min([-below * end, *([ax.get_ylim()[0]] if series_on(ax) else [])]), end), aspect="equal"
    )
    ticks = np.arange(6) / 5 if end == 1 else [tick for tick in ax.get_xticks() if 0 <= tick <= 1.0001 * end]
    ax.set_xticks(ticks)
    ax.set_yticks(ticks)
    return end


def round_end(highest: float) -> float:
    """Return a round end of an axis of probabilities up to `highest`."""
    return next((end for end in ENDS if highest <= end), 1.0)


def series_on(ax: Axes) -> int:
    """Number of series of calibrant on the axes, so that the next one looks different."""
    return sum(line.get_gid() in SERIES for line in ax.lines)


def axis_names(lens: str) -> tuple[str, str]:
    """Labels of the two axes: the mean score of a lens, and its observed rate."""
    name, _, detail = plain(lens).partition(":")
    if name == "top_label":
        return "confidence", "accuracy"
    if name == "class":
        return f"mean predicted probability of {detail}", f"observed rate of {detail}"
    if name == "ordinal":
        return f"mean predicted probability of at most {detail}", f"observed rate of at most {detail}"
    if name == "rank":
        return f"mean probability of rank {detail}", "accuracy"
    if name == "within_top":
        return f"mean probability of the top {detail}", f"top-{detail} accuracy"
    return "mean predicted probability", "observed rate"


def least_rows(view: View) -> int:
    """Return the least number of rows of a bin of a diagram: half the square root of all, from 5 to 50."""
    rows = view.total if view.weight_kind == "counts" else view.n
    return min(50, max(5, math.isqrt(round(rows)) // 2))


def score_label(lens: str) -> str:
    """Label of an axis of single scores of a lens."""
    return axis_names(lens)[0].removeprefix("mean ")


def side_names(lens: str) -> tuple[str, str]:
    """Meaning of points below and above the diagonal."""
    if lens.partition(":")[0] in ("top_label", "rank", "within_top"):
        return "overconfident", "underconfident"
    return "overestimated", "underestimated"


def outcome_names(lens: str) -> tuple[str, str]:
    """Names of the two outcomes of a lens."""
    name, _, detail = plain(lens).partition(":")
    if name in ("top_label", "rank", "within_top"):
        return "correct", "wrong"
    if name == "ordinal":
        return f"at most {detail}", f"above {detail}"
    return (f"{detail}", f"not {detail}") if name == "class" else ("event", "no event")


def halo(ax: Axes) -> list[Any]:
    """Path effect that keeps text readable over lines."""
    from matplotlib.patheffects import withStroke

    ground: Any = ax.get_facecolor()
    return [withStroke(linewidth=2, foreground=ground, alpha=0.9 * ground[3])]


def mark_sides(ax: Axes, lens: str) -> None:
    """Text in the two corners beside the diagonal that states their meaning."""
    below, above = side_names(lens)
    corner_texts(ax, (above, UNDER), (below, OVER))


def corner_texts(ax: Axes, above: tuple[str, str], below: tuple[str, str]) -> None:
    """Text and color in the upper left and the lower right corner, once."""
    if drawn(ax, "side"):
        return
    style: dict[str, Any] = {"transform": ax.transAxes, "fontsize": "small", "style": "italic", "zorder": 4}
    style |= {"path_effects": halo(ax), "gid": "side"}
    ax.text(0.02, 0.98, above[0], ha="left", va="top", color=above[1], **style)
    ax.text(0.98, 0.02, below[0], ha="right", va="bottom", color=below[1], **style)


def none_for_nan(values: Any) -> list[float | None]:
    """Numbers as a list, with None for NaN."""
    return [None if np.isnan(value) else float(value) for value in np.asarray(values, dtype=np.float64)]


class Diagram(Result):
    """Base class of the data of a figure: its fields are exported, and its arrays are the columns of its table; a subclass defines `plot`."""

    _numeric = range(100)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        arrays = {name: value for name, value in self._fields().items() if isinstance(value, np.ndarray)}
        return {name: none_for_nan(value) for name, value in arrays.items()}

    def _listed(self, *names: str) -> dict[str, list[Any]]:
        return {name: none_for_nan(getattr(self, name)) for name in names}

    def _table(self) -> tuple[list[str], list[list[str]]]:
        columns = self._columns()
        return list(columns), short_rows(columns)

    def _repr_html_(self) -> str:
        """Return the figure with its table folded below; without matplotlib the table."""
        table = html_table(*self._table(), self._title())
        try:
            with figure_style(notebook=True):
                content, wide = picture(self.plot, "png")  # type: ignore[attr-defined]
        except (CalibrantError, ImportError):  # no matplotlib, or nothing to draw
            return table
        from base64 import b64encode

        source = f"data:image/png;base64,{b64encode(content).decode()}"
        shown = f'<img alt="{escape(self._title(), quote=True)}" width="{100 * wide:.0f}" src="{source}">'
        return f"{shown}<details><summary>Table</summary>{table}</details>"

    def _picture(self, format: str) -> bytes:
        return picture(self.plot, format)[0]  # type: ignore[attr-defined]


# Most rows of a table with the same text in the first column, and columns that count rows.
MOST_ROWS = 20
COUNTED = ("weight", "rows", "positive", "negative")


def number_of(value: float) -> str:
    """A count as text; with weights it need not be an integer."""
    return f"{value:,.0f}" if value == round(value) else number(float(value), 3)


def rows_of(n: int, lens: str) -> str:
    """Number of rows as text, after the lens unless it is the event of two classes.

    >>> rows_of(1200, "binary"), rows_of(1, "class:a")
    ('1,200 rows', 'class:a, 1 row')
    """
    return f"{'' if lens == 'binary' else f'{lens}, '}{n:,} row{'' if n == 1 else 's'}"


def short_rows(columns: Mapping[str, Sequence[Any]]) -> list[list[str]]:
    """Rows of text of a table; of more than twenty with the same text in the first column, ten that are evenly spread."""
    texts = [[_cell(name, value) for value in values] for name, values in columns.items()]
    rows = [list(row) for row in zip(*texts, strict=True)]
    first = next(iter(columns.values()))
    parts = [value if isinstance(value, str) else "" for value in first]
    shown: list[list[str]] = []
    for part in dict.fromkeys(parts):
        own = [row for row, name in zip(rows, parts, strict=True) if name == part]
        places = np.linspace(0, len(own) - 1, 10 if len(own) > MOST_ROWS else len(own))
        shown += [own[int(place)] for place in places]
    return shown


def _cell(name: str, value: Any) -> str:
    if isinstance(value, (str, int)):
        return str(value)
    return number_of(value) if name in COUNTED and value is not None else number(value)


def rows_or_view(source: Source) -> Predictions | View | VectorView:
    """Predictions or a view as they are, and the view of a Sketch, or the main one of Sketches."""
    if not isinstance(source, Summary):
        return source
    if not source.n:
        raise ShapeError("y_true", "the sketch is empty; at least one row is required", "update it first")
    return source.view()


def one_view(source: Source, lens: str | Lens) -> View:
    """The view of the single binary event that a figure shows."""
    if isinstance(source, Sketches) and isinstance(lens, str) and lens not in ("classwise", "ordinal"):
        source, lens = source.sketch(lens), "auto"
    source = rows_or_view(source)
    return only_view(source, views_of(source, lens), lens)


def only_view(source: Predictions | View | VectorView, views: Sequence[Any], lens: str | Lens) -> View:
    """The only one of the views of a lens; raises if there are others, or if it is of whole vectors."""
    view = views[0]
    if len(views) > 1 or not isinstance(view, View):
        named = repr(shared_name(views) if lens == "auto" else lens)
        raise LensError("lens", f"{named} has more than one event per row", one_question(source, lens))
    return view


def vector_view(source: Source, lens: str | Lens) -> VectorView:
    """The view of whole probability vectors, for figures that need them."""
    view = views_of(rows_or_view(source), lens, "canonical")[0]
    return view.as_vector() if isinstance(view, View) else view

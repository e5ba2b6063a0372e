"""What the figures share: axes and their labels, legends, tables, and the view that a figure shows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, CalibrantError, LensError, ShapeError
from ..input.predictions import Predictions
from ..metrics.reliability_curve import one_question
from ..sketches.collection import Sketches
from ..util.checks import check_positive
from ..util.files import write_atomic
from ..util.results import PICTURES, TABLES, TEXTS, Result, format_of, html_table, number
from ..views.lenses import Lens, shared_name
from ..views.resolve import Source, views_of
from ..views.view import Summary, VectorView, View
from .canvas import OVER, UNDER, muted, picture, small_size
from .labels import fit, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

# Identifiers of the lines that represent a model.
SERIES = ("curve", "path", "series")
# Ends of axes for rare events.
ENDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0)
# Dashes of reference lines.
DASHED = (0, (4, 3))

# Parameters that the functions of figures share, for their docstrings.
FIGURE_PARAMETERS = {
    "bins": (
        "int, sequence of float, str or fitted bins, default 15",
        'Number of bins, their edges, ``"levels"`` for one bin per distinct score, or fitted bins.',
    ),
    "binning": (
        'str or bin rule, default "equal_width"',
        """Rule of the bins: ``"equal_width"``, ``"equal_width:1/K"`` for confidences on [1/K, 1], ``"equal_mass"``, ``"quantile"`` or a rule of `calibrant.binning`.""",
    ),
    "kind": (
        '{"line", "bars", "roof", "smooth", "corp"}, default "line"',
        """Form of the diagram. ``"line"``: a marker at the mean score of each bin. ``"bars"``: bars with the gap hatched. ``"roof"``:
bars whose tops are parallel to the diagonal, so that the gap is visible at any score. ``"smooth"``: kernel regression with
the density of the scores. ``"corp"``: isotonic regression, with the decomposition of the Brier score.""",
    ),
    "interval": ("float or None, default 0.95", "Level of the intervals; None for no intervals."),
    "uncertainty": (
        'str or None, default "auto"',
        """Kind of the intervals. ``"clopper_pearson"``, ``"jeffreys"``, ``"wilson"``: binomial intervals of the rate of each bin.
``"standard_error"``: plus and minus one standard error. ``"bootstrap"``: resampled rows. ``"consistency"``: range of the
rates under calibration [1]_. ``"band"``: simultaneous band of a non-decreasing curve. ``"auto"``: a band for
``kind="corp"``, else Clopper-Pearson, for ``kind="smooth"`` with the effective number of rows at each score.""",
    ),
    "metrics": ("sequence of str, optional", "Identifiers of metrics to compute and to show in the legend."),
    "bandwidth": (
        "float, optional",
        'Bandwidth of ``kind="smooth"``; by default the smooth calibration error itself.',
    ),
    "n_resamples": ("int, default 1000", 'Number of resamples of ``"bootstrap"`` and ``"consistency"``.'),
    "ax": ("matplotlib.axes.Axes, optional", "Axes to plot into; by default a new figure."),
}
# The same for functions that accept several models.
MODELS_PARAMETERS = {
    **FIGURE_PARAMETERS,
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


def legend(ax: Axes, loc: Any = "best", **more: Any) -> Any:
    """A legend, lines first and each label once; None without labels."""
    from matplotlib.lines import Line2D

    entries = sorted(
        zip(*ax.get_legend_handles_labels(), strict=True), key=lambda pair: not isinstance(pair[0], Line2D)
    )
    first = {label: handle for handle, label in reversed(entries)}
    labels = list(dict.fromkeys(label for _, label in entries))
    return ax.legend([first[label] for label in labels], labels, loc=loc, **more) if labels else None


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


def score_label(lens: str) -> str:
    """Label of an axis of single scores of a lens."""
    return axis_names(lens)[0].removeprefix("mean ")


def side_names(lens: str) -> tuple[str, str]:
    """Meaning of points below and above the diagonal."""
    if lens.partition(":")[0] in ("top_label", "rank", "within_top"):
        return "overconfident", "underconfident"
    return "overestimated", "underestimated"


def halo(ax: Axes) -> list[Any]:
    """Path effect that keeps text readable over lines."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=2, foreground=ax.get_facecolor(), alpha=0.9)]


def mark_sides(ax: Axes, lens: str, inset: float = 0.02) -> None:
    """Text in the two corners beside the diagonal, `inset` from the edges, that states their meaning."""
    below, above = side_names(lens)
    corner_texts(ax, (above, UNDER), (below, OVER), inset)


def corner_texts(ax: Axes, above: tuple[str, str], below: tuple[str, str], inset: float = 0.02) -> None:
    """Text and color in the upper left and the lower right corner, once."""
    if drawn(ax, "side"):
        return
    style: dict[str, Any] = {"transform": ax.transAxes, "fontsize": "small", "style": "italic", "zorder": 4}
    style |= {"path_effects": halo(ax), "gid": "side"}
    ax.text(0.02, 1 - inset, above[0], ha="left", va="top", color=above[1], **style)
    ax.text(0.98, inset, below[0], ha="right", va="bottom", color=below[1], **style)


def none_for_nan(values: Any) -> list[float | None]:
    """Numbers as a list, with None for NaN."""
    return [None if np.isnan(value) else float(value) for value in np.asarray(values, dtype=np.float64)]


class Diagram(Result):
    """Base class of the data of a figure; a subclass defines `_columns` and `plot`."""

    _numeric = range(100)
    _stated: ClassVar[tuple[str, ...]] = ()
    """Scalar fields that `to_dict` has before the columns."""

    def to_dict(self) -> dict[str, Any]:
        """Return scalar values and one list per column.

        Returns
        -------
        dict
            Values by name; missing numbers are None.
        """
        return {**{name: getattr(self, name) for name in self._stated}, **self._columns(), **self._dropped_values()}

    def _listed(self, *names: str) -> dict[str, list[Any]]:
        return {name: none_for_nan(getattr(self, name)) for name in names}

    def _table(self) -> tuple[list[str], list[list[str]]]:
        columns = self._columns()
        return list(columns), cells_of(columns)

    def _repr_html_(self) -> str:
        """Return the figure with its table folded below; without matplotlib the table."""
        table = html_table(*self._table(), self._title())
        try:
            content, wide = picture(self.plot, "png", 200)  # type: ignore[attr-defined]
        except (CalibrantError, ImportError):  # no matplotlib, or nothing to draw
            return table
        from base64 import b64encode

        source = f"data:image/png;base64,{b64encode(content).decode()}"
        shown = f'<img alt="{escape(self._title(), quote=True)}" width="{100 * wide:.0f}" src="{source}">'
        return f"{shown}<details><summary>Table</summary>{table}</details>"

    def _picture(self, format: str) -> bytes:
        return picture(self.plot, format, 200)[0]  # type: ignore[attr-defined]

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        dpi: float = 200,
        figsize: Sequence[float] | None = None,
        **options: Any,
    ) -> Path:
        """Write the figure, or its values, to a file, atomically; the suffix determines the format.

        Parameters
        ----------
        path : str or path-like
            File to write: ``.png``, ``.svg`` or ``.pdf`` is the figure; ``.html`` the figure with its table; ``.md`` the table; ``.json`` has the
            values of `to_dict`; ``.csv`` and ``.parquet`` the table of `to_frame`.
        format : {"png", "svg", "pdf", "html", "md", "json", "csv", "parquet"}, optional
            Format, where the suffix does not determine it.
        dpi : float, default 200
            Dots per inch of ``.png``.
        figsize : tuple of float, optional
            Width and height of the figure in inches.
        **options
            Keywords of ``plot``, such as ``title`` and ``color``.

        Returns
        -------
        pathlib.Path
            The file written.

        Examples
        --------
        >>> import calibrant as cal
        >>> diagram = cal.reliability_diagram([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], bins=2)
        >>> path = diagram.save("diagram.svg", title="Four patients")  # doctest: +SKIP
        """
        kind = format_of(path, format, (*TEXTS, *TABLES, *PICTURES))
        if kind not in PICTURES:
            return super().save(path, format=format)
        if figsize is not None and (len(figsize) != 2 or not all(0 < side < 100 for side in figsize)):
            raise ArgumentError("figsize", f"must be width and height in inches; got {figsize!r}")
        check_positive(dpi, "dpi")
        return write_atomic(path, picture(lambda: self.plot(**options), kind, dpi, figsize)[0])  # type: ignore[attr-defined]


# Columns that count rows.
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


def cells_of(columns: Mapping[str, Sequence[Any]]) -> list[list[str]]:
    """Rows of text of a table: numbers of rows in full, other numbers with four digits."""
    texts = [[_cell(name, value) for value in values] for name, values in columns.items()]
    return [list(row) for row in zip(*texts, strict=True)]


def _cell(name: str, value: Any) -> str:
    if isinstance(value, (str, int)):
        return str(value)
    return number_of(value) if name in COUNTED and value is not None else number(value)


def thinned_table(columns: Mapping[str, Sequence[Any]], by: str = "") -> tuple[list[str], list[list[str]]]:
    """A table of at most ten evenly spread rows, of each value of the column `by` if there is one."""
    parts = list(columns[by]) if by else [""] * len(next(iter(columns.values())))
    shown: list[int] = []
    for part in dict.fromkeys(parts):
        rows = np.flatnonzero([own == part for own in parts])
        shown += rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), 10)).astype(np.int64))].tolist()
    cells = cells_of(columns)
    return list(columns), [cells[place] for place in shown]


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

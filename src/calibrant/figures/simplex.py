"""The simplex picture: distributions over three classes in a triangle, and which way the outcomes lie from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.partition import SimplexGrid
from ..errors import ArgumentError, InputTypeError, LensError, UndefinedMetricError, Use
from ..input.predictions import Predictions
from ..util.checks import check_whole
from ..util.results import number
from ..views.resolve import views_of
from ..views.view import VectorView
from .base import COLOURS, MARKERS, SMALL, TEXT, Diagram, check_choice, colour_on, plain, source_of
from .canvas import PAPER_WIDTH, grow, ink_on, new_ax, tones_of
from .labels import shortened, width_of, wrapped
from .models import row_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SimplexDiagram", "simplex_diagram"]

Array = NDArray[Any]
Floats = NDArray[np.float64]
Kind = Literal["arrows", "points"]
# How high a line of a name is, in sides of the triangle.
LINE = 0.08
# Where each class lies: left, right and top.
TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(3) / 2]])


@dataclass(frozen=True, repr=False)
class SimplexDiagram(Diagram):
    """Distributions over three classes: cells of a grid with what happened in each, or single rows with their labels."""

    corners: tuple[str, str, str]
    kind: Kind
    probs: Floats
    """One distribution a row: the mean of a cell, or that of a single row."""
    outcome: Floats
    """How often each class was the true one; for single rows 1 for the label."""
    weight: Floats
    """Rows; importance weights are scaled to sum to the number of rows."""
    renormalised: bool
    """Whether other classes were left out: then only rows of the three count, their probabilities scaled to sum to 1."""
    left_out: float
    """Share of all rows that is not shown: rows of other classes, cells with too few rows, or rows beyond those drawn."""

    def __len__(self) -> int:
        return len(self.probs)

    @property
    def gap(self) -> Floats:
        """Mean probability less how often it happened, for each class; each row sums to 0."""
        return self.probs - self.outcome

    def _columns(self) -> dict[str, list[float]]:
        columns = {f"prob_{name}": self.probs[:, i].tolist() for i, name in enumerate(self.corners)}
        columns |= {f"outcome_{name}": self.outcome[:, i].tolist() for i, name in enumerate(self.corners)}
        return {**columns, "weight": self.weight.tolist()}

    def _table(self) -> tuple[list[str], list[list[str]]]:
        mean = [self.weight @ values / self.weight.sum() for values in (self.probs, self.outcome)]
        rows = [
            [name, number(float(mean[0][i])), number(float(mean[1][i])), number(float(mean[0][i] - mean[1][i]))]
            for i, name in enumerate(self.corners)
        ]
        return ["class", "prob", "rate", "gap"], rows

    def _title(self) -> str:
        scaled = ", other classes left out" if self.renormalised else ""
        what = "cells" if self.kind == "arrows" else "rows"
        return f"Simplex diagram ({len(self)} {what}{scaled}; {self.left_out:.1%} of the rows not shown)"

    def plot(self, ax: Axes | None = None, *, grid: bool = True) -> Axes:
        """Draw the triangle with arrows from what was said to what happened, or with the rows as points.

        Parameters
        ----------
        ax
            Where to draw; a new one unless given.
        grid
            Whether to draw lines at fifths, with their numbers.
        """
        ax = new_ax(ax, width=PAPER_WIDTH, height=2.9)
        lines = _frame(ax, self.corners, grid)
        grow(ax.figure, lines - 1)
        if self.kind == "arrows":
            self._draw_arrows(ax)
        else:
            self._draw_points(ax)
        if self.renormalised:
            below = -0.17 - LINE * (lines - 1)
            ax.set_ylim(bottom=below - 0.03)
            ax.text(
                0.5,
                below,
                "other classes left out, rest scaled to 1",
                ha="center",
                fontsize=SMALL,
                color=tones_of(ax).muted,
            )
        return ax

    def _draw_arrows(self, ax: Axes) -> None:
        from matplotlib.colors import to_rgb

        start, end = self.probs @ TRIANGLE, self.outcome @ TRIANGLE
        part = self.weight / self.weight.max()
        # Cells with few rows wander by chance, so they are drawn fainter.
        shade = np.column_stack([np.tile(to_rgb(COLOURS[0]), (len(part), 1)), 0.25 + 0.75 * np.sqrt(part)])
        ax.scatter(start[:, 0], start[:, 1], 4 + 30 * part, color=COLOURS[3], linewidths=0, zorder=3)
        style: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.006, "headwidth": 4}
        ax.quiver(*start.T, *(end - start).T, color=shade, zorder=4, **style)

    def _draw_points(self, ax: Axes) -> None:
        label = self.outcome.argmax(axis=1)
        for i, name in enumerate(self.corners):
            place = self.probs[label == i] @ TRIANGLE
            style = {"marker": MARKERS[i], "color": colour_on(ax, i), "linewidths": 0, "alpha": 0.5, "zorder": 3}
            ax.scatter(place[:, 0], place[:, 1], 7, label=f"true {plain(name)}", **style)  # type: ignore[arg-type]
        self._name_points(ax)

    def _name_points(self, ax: Axes) -> None:
        """What the marks are, below the triangle: in one row where their names leave room, else one below the other."""
        wide = ax.bbox.width / ax.figure.dpi
        texts = [f"true {plain(name)}" for name in self.corners]
        beside = sum(width_of(text, SMALL) + 0.3 for text in texts) <= wide
        style: dict[str, Any] = {"fontsize": SMALL, "frameon": False, "handletextpad": 0.1, "borderaxespad": 0}
        style |= {"labelspacing": 0.3, "columnspacing": 0.8, "labelcolor": ink_on(ax.figure.get_facecolor())}
        grow(ax.figure, 0 if beside else 2)
        marks = ax.legend(
            ax.get_legend_handles_labels()[0],
            texts if beside else [shortened(text, wide, SMALL) for text in texts],
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            ncols=3 if beside else 1,
            **style,
        )
        for handle in marks.legend_handles:
            assert handle is not None
            handle.set_alpha(1)


def _frame(ax: Axes, corners: Sequence[str], grid: bool) -> int:
    """The triangle, its corners by name, and lines of equal probability with their numbers; gives the lines of names below it."""
    ax.plot(*TRIANGLE[[0, 1, 2, 0]].T, color=tones_of(ax).muted, linewidth=0.9, zorder=2, clip_on=False)
    if grid:
        for step in (0.2, 0.4, 0.6, 0.8):
            for i in range(3):
                # From the side before class i to the side after it, at this probability of class i.
                ends = np.zeros((2, 3))
                ends[:, i] = step
                ends[0, i - 1] = ends[1, i - 2] = 1 - step
                ax.plot(*(ends @ TRIANGLE).T, color=tones_of(ax).faint, linewidth=0.5, zorder=1)
                side = ends[0] @ TRIANGLE
                away = (TRIANGLE[[2, 0, 1][i]] + TRIANGLE[i]) / 2 - TRIANGLE.mean(axis=0)
                x, y = (side + 0.14 * away).tolist()
                ax.text(x, y, f"{step:g}", ha="center", va="center", fontsize=SMALL, color=tones_of(ax).muted)
    lines = _name_corners(ax, corners)
    ax.set_aspect("equal")
    ax.set_xlim(-0.12, 1.12)
    ax.set_ylim(-0.12 - LINE * (lines - 1), 0.97)
    ax.set_axis_off()
    return lines


def _name_corners(ax: Axes, corners: Sequence[str]) -> int:
    """The classes at their corners; long names below start at the edges, and are cut into lines, whose number is returned."""
    lines = 1
    wide = ax.bbox.width / ax.figure.dpi
    ink = ink_on(ax.figure.get_facecolor())
    for i, (x, y) in enumerate([(-0.02, -0.05), (1.02, -0.05), (0.5, 0.9)]):
        name = wrapped(plain(corners[i]), (0.42 if i < 2 else 0.9) * wide, TEXT, most=2)
        align = "center"
        if i < 2 and width_of(name, TEXT) > 0.15 * wide:
            # Below the numbers, which such a name would reach.
            x, y, align = ((-0.12, y - LINE, "left"), (1.12, y - LINE, "right"))[i]
            lines = max(lines, name.count("\n") + 2)
        ax.text(x, y, name, ha=align, va="top" if i < 2 else "bottom", fontsize=TEXT, color=ink)
    return lines


def simplex_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    corners: Sequence[Any] | None = None,
    kind: Kind = "arrows",
    bins: int = 6,
    least: float = 10,
    points: int = 2000,
    where: Any = None,
    **keywords: Any,
) -> SimplexDiagram:
    """Three classes in a triangle: an arrow for each cell of a grid leads from the mean probabilities to what happened.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities of three classes or more, or a VectorView; keywords of `Predictions` are taken.
    corners
        Which three classes, in the order left, right, top. They are needed for more than three: only rows with one of these labels
        are then shown, their probabilities scaled to sum to 1, which keeps calibrated predictions calibrated.
    kind
        ``"arrows"``, or ``"points"`` for single rows coloured by their label.
    bins
        The grid: the probability of each class is cut into this many bins of equal width.
    least
        Cells with less weight than this are left out.
    points
        At most so many single rows are drawn, evenly chosen.
    where
        Which rows: a mask or a Selection.

    Examples
    --------
    >>> from calibrant.figures.simplex import simplex_diagram
    >>> shown = simplex_diagram([0, 1, 2], [[0.6, 0.3, 0.1], [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], bins=1, least=1)
    >>> shown.probs.round(3).tolist(), shown.outcome.round(3).tolist()
    ([[0.433, 0.3, 0.267]], [[0.333, 0.333, 0.333]])
    """
    check_choice(kind, ("arrows", "points"), "kind")
    source = source_of(simplex_diagram, y_true, y_prob, where, keywords)
    whole = _whole(source)
    view, names = _three(source, whole, corners)
    if kind == "points":
        probs, outcome, weight = _single(view, check_whole(points, "points"))
    else:
        probs, outcome, weight = _cells(view, check_whole(bins, "bins"), least)
    shown = float(weight.sum()) / float(row_weights(view).sum()) * view.total / whole.total
    return SimplexDiagram(
        corners=(names[0], names[1], names[2]),
        kind=kind,
        probs=probs,
        outcome=outcome,
        weight=weight,
        renormalised=whole.k > 3,
        left_out=max(0.0, 1 - shown),
    )


def _whole(source: Any) -> VectorView:
    """The distributions over all classes."""
    if isinstance(source, Predictions):
        source = views_of(source, "canonical")[0]
    if not isinstance(source, VectorView):
        raise InputTypeError(
            "y_true", "expected probabilities of three classes, got a view of one score", "pass probabilities"
        )
    if source.k < 3:
        raise ArgumentError("y_prob", f"must have at least three classes; got {source.k}", "use a reliability diagram")
    return source


def _three(source: Any, view: VectorView, corners: Any) -> tuple[VectorView, list[str]]:
    """Probabilities and labels of three classes, and their names."""
    if corners is None:
        if view.k > 3:
            raise ArgumentError("corners", f"are required for {view.k} classes", "name three classes")
        places = [0, 1, 2]
    else:
        places = _places(source, view.k, list(corners))
    known = source.classes if isinstance(source, Predictions) else None
    names = [str(place if known is None else known[place]) for place in places]
    return _chosen(view, places), names


def _places(source: Any, k: int, corners: list[Any]) -> list[int]:
    if isinstance(source, Predictions):
        places = [source.class_index(name, "corners") for name in corners]
    else:
        places = [check_whole(name, "corners", 0) for name in corners]
    if len(set(places)) != 3 or len(places) != 3 or max(places) >= k:
        raise ArgumentError("corners", f"must be three different classes; got {corners!r}")
    return places


def _chosen(view: VectorView, places: list[int]) -> VectorView:
    """The view of three classes: of all rows where there are no others, else of the rows that have one of their labels."""
    probs = view.raw_probs[:, places].astype(np.float64)
    if view.k == 3:
        soft = None if view.soft is None else view.soft[:, places]
        labels = None if view.labels is None else np.argsort(places)[view.labels]
        return VectorView(probs, labels, soft, view.weight, view.weight_kind, lens=view.lens)
    if view.labels is None:
        raise LensError(
            "corners", "selecting rows by label is not defined for soft labels", "merge the other classes first"
        )
    total = probs.sum(axis=1)
    kept = np.isin(view.labels, places) & (total > 0)
    if not kept.any():
        raise LensError("corners", "no row has one of these labels and a positive probability for it")
    rank = np.full(view.k, -1)
    rank[places] = [0, 1, 2]
    weight = None if view.weight is None else view.weight[kept]
    return VectorView(
        probs[kept] / total[kept, None], rank[view.labels[kept]], None, weight, view.weight_kind, lens=view.lens
    )


def _single(view: VectorView, most: int) -> tuple[Floats, Floats, Floats]:
    if view.labels is None:
        raise LensError("kind", "'points' are coloured by label, which is not defined for soft labels", "use 'arrows'")
    rows = np.linspace(0, view.n - 1, min(view.n, most)).astype(np.intp)
    return view.raw_probs[rows], np.eye(3)[view.labels[rows]], row_weights(view)[rows]


def _cells(view: VectorView, bins: int, least: Any) -> tuple[Floats, Floats, Floats]:
    """Mean probabilities, outcome rates and weight of each cell that has enough rows."""
    if isinstance(least, bool) or not isinstance(least, (int, float, np.integer, np.floating)) or not least >= 0:
        raise ArgumentError("least", f"must be a non-negative number; got {least!r}")
    cell, count = SimplexGrid(bins).cells(view)
    block = view.block(0, view.n)
    each = row_weights(view)
    weight = np.bincount(cell, each, count).astype(np.float64)
    sums = [
        np.column_stack([np.bincount(cell, each * values[:, i], count) for i in range(3)])
        for values in (block.probs, block.targets)
    ]
    kept = weight >= least
    if not kept.any():
        raise UndefinedMetricError(
            "simplex_diagram",
            f"no cell has a weight of at least {least:g}",
            ("lower least or bins", Use("kind", "points")),
        )
    probs, outcome = (values[kept] / weight[kept, None] for values in sums)
    return probs, outcome, weight[kept]

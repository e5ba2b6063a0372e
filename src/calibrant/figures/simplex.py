"""The simplex diagram: predicted distributions over three classes in a triangle, with the observed frequencies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.partition import SimplexGrid
from ..errors import ArgumentError, InputTypeError, LensError, UndefinedMetricError
from ..input.predictions import Predictions
from ..util.checks import check_choice, check_whole
from ..util.results import number
from ..views.keywords import documents_keywords
from ..views.resolve import resolve, views_of
from ..views.view import VectorView
from .base import FIGURE_PARAMETERS, Diagram, rows_or_view
from .canvas import PAPER_WIDTH, muted, new_ax
from .labels import fit, plain
from .models import legend_above, row_weights
from .styling import plots, series_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]
Floats = NDArray[np.float64]
Kind = Literal["arrows", "points"]
# Rows that are drawn as points, at most.
MOST_POINTS = 2000
# Corners of the classes: left, right and top.
TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(3) / 2]])


@dataclass(frozen=True, repr=False)
class SimplexDiagram(Diagram):
    """Data of a simplex diagram of three classes.

    Parameters
    ----------
    corners : tuple of str
        Names of the classes at the left, right and top.
    kind : {"arrows", "points"}
        Cells of a grid, or single rows.
    probs : ndarray of shape (M, 3)
        Predicted distribution, one per row: the mean of a cell, or that of a single row.
    outcome : ndarray of shape (M, 3)
        Observed frequency of each class; for single rows 1 for the label.
    weight : ndarray of shape (M,)
        Number of rows; importance weights are scaled to sum to it.
    renormalised : bool
        Whether other classes were left out; then only rows of the three are used, with their probabilities scaled to
        sum to 1.
    left_out : float
        Share of rows not shown: rows of other classes, of cells with few rows, or beyond the largest number of points.
    """

    corners: tuple[str, str, str]
    kind: Kind
    probs: Floats
    outcome: Floats
    weight: Floats
    renormalised: bool
    left_out: float

    def __len__(self) -> int:
        return len(self.probs)

    @property
    def gap(self) -> Floats:
        """Mean predicted probability minus observed frequency of each class; each row sums to 0."""
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

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot the triangle with arrows from predicted to observed frequencies, or with the rows as points."""
        ax = new_ax(ax, width=PAPER_WIDTH, height=3.1)
        _frame(ax, self.corners)
        if self.kind == "arrows":
            self._draw_arrows(ax, style)
        else:
            self._draw_points(ax, style)
        if self.renormalised:
            note: dict[str, Any] = {"ha": "center", "fontsize": "small", "color": muted()}
            ax.text(0.5, -0.34, "other classes left out, rest scaled to 1", **note)
            ax.set_ylim(bottom=-0.36)
        return ax

    def _draw_arrows(self, ax: Axes, style: Mapping[str, Any]) -> None:
        from matplotlib.colors import to_rgb

        start, end = self.probs @ TRIANGLE, self.outcome @ TRIANGLE
        part = self.weight / self.weight.max()
        # Cells with few rows have large sampling errors and are drawn fainter.
        look, other = (*series_of(ax, style), *series_of(ax, {}))
        opaque = look.line.get("alpha", 1.0)
        shade = np.column_stack([np.tile(to_rgb(look.color), (len(part), 1)), opaque * (0.25 + 0.75 * np.sqrt(part))])
        ax.scatter(start[:, 0], start[:, 1], 4 + 30 * part, color=other.color, linewidths=0, zorder=3)
        arrow: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.006, "headwidth": 4}
        ax.quiver(*start.T, *(end - start).T, color=shade, zorder=4, **arrow)

    def _draw_points(self, ax: Axes, style: Mapping[str, Any]) -> None:
        label = self.outcome.argmax(axis=1)
        looks = series_of(ax, style, [f"true {name}" for name in self.corners], marker=True)
        for i, look in enumerate(looks):
            place = self.probs[label == i] @ TRIANGLE
            dots: dict[str, Any] = {"marker": look.line["marker"], "color": look.color, "linewidths": 0, "zorder": 3}
            ax.scatter(place[:, 0], place[:, 1], 7, alpha=look.line.get("alpha", 0.5), label=look.label, **dots)
        legend_above(ax)


def _frame(ax: Axes, corners: Sequence[str]) -> None:
    """Draw the triangle with lines of equal probability and the names of its corners."""
    ax.plot(*TRIANGLE[[0, 1, 2, 0]].T, color=muted(), linewidth=0.9, zorder=2, clip_on=False)
    for step in (0.2, 0.4, 0.6, 0.8):
        for i in range(3):
            # Between the two sides adjacent to class i, at this probability of class i.
            ends = np.zeros((2, 3))
            ends[:, i] = step
            ends[0, i - 1] = ends[1, i - 2] = 1 - step
            ax.plot(*(ends @ TRIANGLE).T, color=muted(), alpha=0.4, linewidth=0.5, zorder=1)
            away = (TRIANGLE[[2, 0, 1][i]] + TRIANGLE[i]) / 2 - TRIANGLE.mean(axis=0)
            x, y = (ends[0] @ TRIANGLE + 0.14 * away).tolist()
            ax.text(x, y, f"{step:g}", ha="center", va="center", fontsize="small", color=muted())
    places = ((-0.12, -0.08, "left", "top"), (1.12, -0.08, "right", "top"), (0.5, 0.9, "center", "bottom"))
    for name, (x, y, across, up) in zip(corners, places, strict=True):
        ax.text(x, y, fit(plain(name), PAPER_WIDTH / (3 if up == "top" else 1.5), 2), ha=across, va=up)
    ax.set(xlim=(-0.12, 1.12), ylim=(-0.26, 1.08), aspect="equal")
    ax.set_axis_off()


@documents_keywords(table=FIGURE_PARAMETERS)
def simplex_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    corners: Sequence[Any] | None = None,
    kind: Kind = "arrows",
    bins: int = 6,
    least: float = 10,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> SimplexDiagram:
    """Compute the simplex diagram of three classes: arrows from mean predicted probabilities to observed frequencies.

    Parameters
    ----------
    y_true
    y_prob
    corners : sequence, optional
        Three classes, in the order left, right, top; required for more than three classes. Then only rows with one of
        these labels are shown, with their probabilities scaled to sum to 1, which preserves calibration.
    kind : {"arrows", "points"}, default "arrows"
        Arrows per cell of a grid, or single rows colored by their label.
    bins : int, default 6
        Number of bins of equal width of each probability.
    least : float, default 10
        Least weight of a cell that is shown.
    sample_weight
    pos_label

    Returns
    -------
    SimplexDiagram
        Distributions ``probs`` and frequencies ``outcome``. ``plot()`` draws them.

    See Also
    --------
    classwise_panels : One panel per class.

    Examples
    --------
    >>> from calibrant.figures.simplex import simplex_diagram
    >>> shown = simplex_diagram([0, 1, 2], [[0.6, 0.3, 0.1], [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], bins=1, least=1)
    >>> shown.probs.round(3).tolist(), shown.outcome.round(3).tolist()
    ([[0.433, 0.3, 0.267]], [[0.333, 0.333, 0.333]])
    """
    check_choice(kind, "kind", ("arrows", "points"))
    source = rows_or_view(resolve(y_true, y_prob, sample_weight, pos_label))
    whole = _whole(source)
    places = _places(source, whole.k, corners)
    known = source.classes if isinstance(source, Predictions) else None
    view = _chosen(whole, places)
    if kind == "points":
        if view.labels is None:
            problem = "'points' are coloured by label, which is not defined for soft labels"
            raise LensError("kind", problem, "use 'arrows'")
        rows = np.linspace(0, view.n - 1, min(view.n, MOST_POINTS)).astype(np.intp)
        probs, outcome, weight = view.raw_probs[rows], np.eye(3)[view.labels[rows]], row_weights(view)[rows]
    else:
        probs, outcome, weight = _cells(view, check_whole(bins, "bins"), least)
    shown = float(weight.sum()) / float(row_weights(view).sum()) * view.total / whole.total
    first, second, third = (str(place if known is None else known[place]) for place in places)
    return SimplexDiagram(
        corners=(first, second, third),
        kind=kind,
        probs=probs,
        outcome=outcome,
        weight=weight,
        renormalised=whole.k > 3,
        left_out=max(0.0, 1 - shown),
    )


def _whole(source: Any) -> VectorView:
    """The view of all classes."""
    if isinstance(source, Predictions):
        source = views_of(source, "canonical")[0]
    if not isinstance(source, VectorView):
        raise InputTypeError(
            "y_true", "expected probabilities of three classes, got a view of one score", "pass probabilities"
        )
    if source.k < 3:
        raise ArgumentError("y_prob", f"must have at least three classes; got {source.k}", "use a reliability diagram")
    return source


def _places(source: Any, k: int, corners: Any) -> list[int]:
    """Indices of the three classes."""
    if corners is None:
        if k > 3:
            raise ArgumentError("corners", f"are required for {k} classes", "name three classes")
        return [0, 1, 2]
    if isinstance(source, Predictions):
        places = [source.class_index(name, "corners") for name in corners]
    else:
        places = [check_whole(name, "corners", 0) for name in corners]
    if len(set(places)) != 3 or len(places) != 3 or max(places) >= k:
        raise ArgumentError("corners", f"must be three different classes; got {list(corners)!r}")
    return places


def _chosen(view: VectorView, places: list[int]) -> VectorView:
    """The view of three classes: of all rows if there are no others, else of the rows labelled with one of them."""
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


def _cells(view: VectorView, bins: int, least: Any) -> tuple[Floats, Floats, Floats]:
    """Mean probabilities, observed frequencies and weight of each cell with enough rows."""
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
            "lower least or bins or use kind='points'",
        )
    probs, outcome = (values[kept] / weight[kept, None] for values in sums)
    return probs, outcome, weight[kept]

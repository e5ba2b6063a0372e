"""The picture of where confidence goes: the mean probability of each group of classes, for rows of a true group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, UndefinedMetricError
from ..util.checks import check_whole
from ..util.results import number
from ..views.view import VectorView
from .base import SMALL, Diagram, check_choice, finish, none_for_nan, plain
from .canvas import INK, PAPER_WIDTH, new_ax
from .classgroups import grouped_view, levels_of, share_in
from .labels import name_room, room_of, shortened, width_of
from .models import grouped_bars, legend_above, read_predictions, row_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["GroupConfidenceDiagram", "group_confidence_diagram"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class GroupConfidenceDiagram(Diagram):
    """Mean confidence in each group of classes: of each model for one true group, or of one model for each true group."""

    groups: tuple[str, ...]
    rows: tuple[str, ...]
    """What each row of `confidence` is of: a model, or a true group."""
    confidence: Floats
    """One row for each of `rows`, one column for each of `groups`; NaN where no row has the label."""
    weight: Floats
    """How many rows each is the mean of; importance weights are scaled to sum to the number of rows."""
    given: str | None
    """The true group of all rows; None where each row of `confidence` has its own."""

    def _columns(self) -> dict[str, list[Any]]:
        first = "true group" if self.given is None else "model"
        return {
            first: [name for name in self.rows for _ in self.groups],
            "group": list(self.groups) * len(self.rows),
            "confidence": none_for_nan(self.confidence.ravel()),
            "weight": np.repeat(self.weight, len(self.groups)).tolist(),
        }

    def _table(self) -> tuple[list[str], list[list[str]]]:
        first = "true group" if self.given is None else "model"
        rows = [
            [name, *(number(float(value)) for value in line)]
            for name, line in zip(self.rows, self.confidence, strict=True)
        ]
        return [first, *self.groups], rows

    def _title(self) -> str:
        return "Mean confidence by group" + ("" if self.given is None else f", true group {self.given!r}")

    def plot(self, ax: Axes | None = None, *, kind: Literal["auto", "bars", "heat"] = "auto") -> Axes:
        """Draw bars (the default for one true group) or a heat map.

        Parameters
        ----------
        ax
            Where to draw; a new one unless given.
        kind
            ``"bars"``, ``"heat"``, or ``"auto"``.
        """
        check_choice(kind, ("auto", "bars", "heat"), "kind")
        bars = kind == "bars" or (kind == "auto" and self.given is not None)
        if bars:
            height = 0.7 + 0.17 * len(self.groups) * max(1.0, 0.55 * len(self.rows))
            ax = new_ax(ax, width=PAPER_WIDTH, height=height)
            names = dict(zip(self.rows, self.confidence, strict=True))
            grouped_bars(ax, self.groups, names, across=True)
            finish(
                ax, "mean confidence" + ("" if self.given is None else f" where the true group is {plain(self.given)}")
            )
            ax.yaxis.grid(False)
            ax.set_xlim(0, 1)
            legend_above(ax, lines=1)
            return ax
        return self._heat(new_ax(ax, width=PAPER_WIDTH, height=0.9 + 0.27 * len(self.rows)))

    def _heat(self, ax: Axes) -> Axes:
        ax.imshow(self.confidence, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        across, down = (
            [shortened(plain(name), name_room(ax), SMALL) for name in names] for names in (self.groups, self.rows)
        )
        ax.set_xticks(range(len(across)), across, rotation=35, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(len(down)), down)
        finish(ax, "mean confidence in", "true group" if self.given is None else "")
        ax.grid(False)
        if room_of(ax, SMALL)[0] / len(self.groups) > width_of("0.000", SMALL):
            for row, column in np.argwhere(np.isfinite(self.confidence)):
                value = float(self.confidence[row, column])
                shade = "white" if value > 0.55 else INK
                ax.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=SMALL, color=shade)
        return ax


def group_confidence_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    hierarchy: Mapping[Any, Any],
    given: Any = None,
    level: int = 1,
    where: Any = None,
    **keywords: Any,
) -> GroupConfidenceDiagram:
    """Where confidence goes: the mean probability of each group of classes, for rows whose label lies in a given one.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities; several models, where `given` names a group, as ``(y_true, {name: y_prob})`` or
        ``{name: Predictions}``. Keywords of `Predictions` are taken.
    hierarchy, level
        Which classes make up each group, and which level of nested groups is shown, 1 for the coarsest.
    given
        The true group; None shows all of them, for one model.
    where
        Which rows: a mask or a Selection.

    Examples
    --------
    >>> from calibrant.figures.groupconfidence import group_confidence_diagram
    >>> p = [[0.5, 0.3, 0.2], [0.2, 0.4, 0.4], [0.1, 0.1, 0.8]]
    >>> group_confidence_diagram([0, 1, 2], p, hierarchy={"pet": [0, 1], "car": [2]}).confidence.round(2).tolist()
    [[0.7, 0.3], [0.2, 0.8]]
    """
    steps = levels_of(hierarchy)
    if check_whole(level, "level") > len(steps):
        raise ArgumentError("level", f"must be at most {len(steps)}, the levels of the hierarchy; got {level}")
    names, lens = steps[level - 1]
    models = read_predictions(group_confidence_diagram, y_true, y_prob, where, keywords)
    if given is not None and str(given) not in names:
        raise ArgumentError("given", f"unknown group {given!r} on level {level}", f"choose one of {names}")
    if given is None and len(models) > 1:
        raise ArgumentError("given", "is required to compare several models", f"choose one of {names}")
    places = range(len(names)) if given is None else [names.index(str(given))]
    found = [_mean_by_group(grouped_view(p, lens), place) for p in models.values() for place in places]
    if given is not None and not any(weight for weight, _ in found):
        raise UndefinedMetricError(
            "group_confidence_diagram", f"no row has a label of group {given!r}", "choose another group"
        )
    return GroupConfidenceDiagram(
        groups=tuple(names),
        rows=tuple(names) if given is None else tuple(models),
        confidence=np.array([mean for _, mean in found]),
        weight=np.array([weight for weight, _ in found]),
        given=None if given is None else str(given),
    )


def _mean_by_group(view: VectorView, place: int) -> tuple[float, Floats]:
    """The weight of the rows of a group, and their mean probability of each group."""
    held = share_in(view, place) * row_weights(view)
    weight = float(held.sum())
    if weight == 0:
        return 0.0, np.full(view.k, np.nan)
    return weight, held @ view.raw_probs / weight

"""Mean predicted probability of each group of classes, by true group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError, UndefinedMetricError
from ..views.keywords import documents_keywords
from ..views.view import VectorView
from .base import MODELS_PARAMETERS, Diagram, Floats, finish, none_for_nan, width_of
from .canvas import PAPER_WIDTH, Axes, new_ax
from .classgroups import check_depth, grouped_view, levels_of, share_in
from .labels import letters_in, plain, shorten
from .models import NAME_LETTERS, ONE, grouped_bars, read_models, read_predictions, row_weights
from .styling import plots, series_of


@dataclass(frozen=True, repr=False)
class GroupConfidenceDiagram(Diagram):
    """Data of mean probabilities of class groups: of each model for one true group, or of one model for each true group.

    Parameters
    ----------
    groups : tuple of str
        Names of the groups.
    rows : tuple of str
        Rows of `confidence`: models, or true groups.
    confidence : ndarray of shape (rows, groups)
        Mean probability by `rows` and `groups`; NaN without rows of the true group.
    weight : ndarray of shape (rows,)
        Number of rows of each mean; importance weights are scaled to sum to the number of rows.
    given : str or None
        True group of all rows; None if each row of `confidence` has its own.
    """

    groups: tuple[str, ...]
    rows: tuple[str, ...]
    confidence: Floats
    weight: Floats
    given: str | None

    @property
    def _heading(self) -> str:
        return "true group" if self.given is None else "model"

    def _columns(self) -> dict[str, list[Any]]:
        return {
            self._heading: [name for name in self.rows for _ in self.groups],
            "group": list(self.groups) * len(self.rows),
            "confidence": none_for_nan(self.confidence.ravel()),
            "weight": np.repeat(self.weight, len(self.groups)).tolist(),
        }

    def _title(self) -> str:
        return "Mean confidence by group" + ("" if self.given is None else f", true group {self.given!r}")

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot bars for one true group, else a heat map."""
        if self.given is None:
            return self._heat(new_ax(ax, width=PAPER_WIDTH, height=0.9 + 0.27 * len(self.rows)))
        height = 0.7 + 0.17 * len(self.groups) * max(1.0, 0.55 * len(self.rows))
        ax = new_ax(ax, width=PAPER_WIDTH, height=height)
        looks = series_of(ax, style, [None if name == ONE else name for name in self.rows])
        grouped_bars(ax, self.groups, dict(zip(self.rows, self.confidence, strict=True)), looks, across=True)
        finish(ax, f"mean confidence, true group {plain(self.given)}")
        ax.yaxis.grid(False)
        ax.set_xlim(0, 1)
        return ax

    def _heat(self, ax: Axes) -> Axes:
        ax.imshow(self.confidence, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        across, down = ([shorten(plain(name), NAME_LETTERS) for name in names] for names in (self.groups, self.rows))
        letters = letters_in(width_of(ax)) // len(across)
        turned: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
        ax.set_xticks(range(len(across)), across, **(turned if max(map(len, across)) > letters else {}))
        ax.set_yticks(range(len(down)), down)
        finish(ax, "mean confidence in", "true group")
        ax.grid(False)
        if letters >= 5:
            for row, column in np.argwhere(np.isfinite(self.confidence)):
                value = float(self.confidence[row, column])
                shade = "white" if value > 0.55 else "#222222"
                ax.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize="small", color=shade)
        return ax


@documents_keywords(table=MODELS_PARAMETERS)
def group_confidence_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    hierarchy: Mapping[Any, Any],
    given: Any = None,
    depth: int = 1,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> GroupConfidenceDiagram:
    """Compute the mean probability of each class group for rows of a true group.

    It shows to which groups a model assigns its probability when the true class is in a given one.

    Parameters
    ----------
    y_true
    y_prob
    hierarchy : mapping
        Classes of each group, nested for several levels, as in `class_hierarchy`.
    given : object, optional
        True group; required for several models. By default all of them, for one model.
    depth : int, default 1
        Level of the hierarchy, 1 for the coarsest.
    sample_weight
    pos_label

    Returns
    -------
    GroupConfidenceDiagram
        ``confidence`` by row and group. ``plot()`` draws it.

    See Also
    --------
    group_error_diagram : Calibration errors of the groups.

    Examples
    --------
    >>> from calibrant.figures.groupconfidence import group_confidence_diagram
    >>> p = [[0.5, 0.3, 0.2], [0.2, 0.4, 0.4], [0.1, 0.1, 0.8]]
    >>> group_confidence_diagram([0, 1, 2], p, hierarchy={"pet": [0, 1], "car": [2]}).confidence.round(2).tolist()
    [[0.7, 0.3], [0.2, 0.8]]
    """
    steps = levels_of(hierarchy)
    check_depth(depth, steps)
    names, lens = steps[depth - 1]
    models = read_predictions("group_confidence_diagram", read_models(y_true, y_prob, sample_weight, pos_label))
    if given is not None and str(given) not in names:
        raise ArgumentError("given", f"unknown group {given!r} on level {depth}", f"choose one of {names}")
    if given is None and len(models) > 1:
        raise ArgumentError("given", "is required to compare several models", f"choose one of {names}")
    places = range(len(names)) if given is None else [names.index(str(given))]
    means = [_mean_by_group(grouped_view(p, lens), place) for p in models.values() for place in places]
    if given is not None and not any(weight for weight, _ in means):
        raise UndefinedMetricError(
            "group_confidence_diagram", f"no row has a label of group {given!r}", "choose another group"
        )
    return GroupConfidenceDiagram(
        groups=tuple(names),
        rows=tuple(names) if given is None else tuple(models),
        confidence=np.array([mean for _, mean in means]),
        weight=np.array([weight for weight, _ in means]),
        given=None if given is None else str(given),
    )


def _mean_by_group(view: VectorView, place: int) -> tuple[float, Floats]:
    """Weight of the rows of a group, and their mean probability of each group."""
    held = share_in(view, place) * row_weights(view)
    weight = float(held.sum())
    if weight == 0:
        return 0.0, np.full(view.k, np.nan)
    return weight, held @ view.raw_probs / weight

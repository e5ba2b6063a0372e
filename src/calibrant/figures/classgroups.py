"""Calibration error by groups of classes: at each level of a hierarchy, and of each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ..errors import ArgumentError, LensError
from ..input.predictions import Predictions
from ..metrics.registry import Metric, catalogue
from ..util.checks import check_choice, check_whole
from ..views.keywords import check_options, documents_keywords
from ..views.lenses import AnyView, Lens, class_hierarchy
from ..views.resolve import views_of
from ..views.view import VectorView, View
from .base import MODELS_PARAMETERS, Diagram, Floats, finish, none_for_nan
from .canvas import PAPER_WIDTH, Axes
from .labels import fit
from .models import (
    ONE,
    grouped_bars,
    panels,
    read_models,
    read_predictions,
    row_weights,
    value_or_nan,
)
from .styling import plots, series_of

Rows = Literal["all", "label"]
COLUMNS = ("model", "level", "group", "weight", "error")
MOST_GROUPS = 12


@dataclass(frozen=True, repr=False)
class GroupErrorDiagram(Diagram):
    """Data of calibration errors at each level of a class hierarchy, and of the groups of one level.

    Parameters
    ----------
    metric : str
        Identifier of the error.
    levels : tuple of str
        Names of the levels, from the coarsest to single classes.
    sizes : tuple of int
        Number of groups of each level.
    level_errors : dict of str to ndarray
        Errors of each model by level.
    depth : int
        Level whose groups are shown, 1 for the coarsest.
    groups : tuple of str
        Names of these groups.
    weight : dict of str to ndarray
        Number of rows of each group, by model; importance weights are scaled to sum to the number of rows.
    group_errors : dict of str to ndarray
        Errors of each model by group; NaN where undefined.
    rows : {"all", "label"}
        Rows used for the error of a group.
    """

    metric: str
    levels: tuple[str, ...]
    sizes: tuple[int, ...]
    level_errors: dict[str, Floats]
    depth: int
    groups: tuple[str, ...]
    weight: dict[str, Floats]
    group_errors: dict[str, Floats]
    rows: Rows

    def _columns(self) -> dict[str, list[Any]]:
        shown = self.levels[self.depth - 1]
        rows: list[tuple[Any, ...]] = []
        for model, errors in self.level_errors.items():
            rows += [(model, level, "", None, error) for level, error in zip(self.levels, errors, strict=True)]
        for model, errors in self.group_errors.items():
            groups = zip(self.groups, self.weight[model], errors, strict=True)
            rows += [(model, shown, group, float(weight), error) for group, weight, error in groups]
        columns = {name: list(values) for name, values in zip(COLUMNS, zip(*rows, strict=True), strict=True)}
        return {**columns, "error": none_for_nan(columns["error"])}

    def _title(self) -> str:
        return f"Group errors ({self.metric}; groups of level {self.levels[self.depth - 1]!r}, {_rows_text(self.rows)})"

    @plots
    def plot(self, ax: Any = None, **style: Any) -> list[Axes]:
        """Plot two panels: the error at each level, and that of each group; of more than twelve, those with the largest errors.

        Parameters
        ----------
        ax : sequence of matplotlib.axes.Axes, optional
            Two axes; by default a new figure.
        """
        worst = np.nan_to_num(np.array(list(self.group_errors.values())), nan=-1.0).max(axis=0)
        kept = np.sort(np.argsort(-worst, kind="stable")[:MOST_GROUPS])
        deep = 0.35 + 0.16 * len(kept) * max(1.0, 0.55 * len(self.level_errors))
        axes = panels(ax, 2, columns=1, width=PAPER_WIDTH, height=max(1.6, (1.6 + deep) / 2 + 0.3))
        room = PAPER_WIDTH / len(self.levels)
        labels = [f"{fit(name, room, 2)}\n({size})" for name, size in zip(self.levels, self.sizes, strict=True)]
        looks = series_of(axes[0], style, [None if name == ONE else name for name in self.level_errors])
        grouped_bars(axes[0], labels, self.level_errors, looks)
        finish(axes[0], "", "calibration error")
        axes[0].xaxis.grid(False)
        errors = {name: values[kept] for name, values in self.group_errors.items()}
        grouped_bars(axes[1], [self.groups[i] for i in kept], errors, looks, across=True)
        label = f"calibration error, {_rows_text(self.rows)}"
        if len(kept) < len(self.groups):
            label += f"\n({len(kept)} of {len(self.groups)} groups, the largest errors)"
        finish(axes[1], label)
        axes[1].yaxis.grid(False)
        axes[1].locator_params(axis="x", nbins=5)
        return axes


def _rows_text(rows: Rows) -> str:
    return "each group against the rest" if rows == "all" else "rows of each group"


@documents_keywords(table=MODELS_PARAMETERS)
def group_error_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    hierarchy: Mapping[Any, Any],
    depth: int = 1,
    rows: Rows = "all",
    metric: str | Metric = "gece",
    sample_weight: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> GroupErrorDiagram:
    """Compute the calibration error of class groups at each level of a hierarchy.

    The probabilities of the classes of a group are summed; a model may confuse classes within a group and still be
    calibrated between groups.

    Parameters
    ----------
    y_true
    y_prob
    hierarchy : mapping
        Classes of each group, nested for several levels, as in `class_hierarchy`.
    depth : int, default 1
        Level whose groups are shown individually, 1 for the coarsest.
    rows : {"all", "label"}, default "all"
        Error of a group: the group against the rest on all rows, or all groups on the rows labelled with the group. The
        latter shows which rows are predicted badly, and is not 0 under calibration.
    metric : str or Metric, default "gece"
        Error; its options are accepted as keywords. One for a single score, such as ``"ece"``, is averaged over the
        groups.
    sample_weight
    pos_label
    **options
        Options of the metric.

    Returns
    -------
    GroupErrorDiagram
        ``level_errors`` and ``group_errors`` by model. ``plot()`` draws them.

    See Also
    --------
    group_confidence_diagram : Mean probabilities by true group.

    Examples
    --------
    >>> from calibrant.figures.classgroups import group_error_diagram
    >>> p = [[0.5, 0.3, 0.2], [0.2, 0.4, 0.4], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]]
    >>> shown = group_error_diagram([0, 1, 2, 2], p, hierarchy={"pet": [0, 1], "car": [2]}, metric="ece", bins=1)
    >>> shown.levels, shown.level_errors["model"].round(3).tolist()
    (('level 1', 'classes'), [0.05, 0.033])
    """
    check_choice(rows, "rows", ("all", "label"))
    chosen = catalogue[metric]
    check_options(group_error_diagram, options, chosen)
    steps = levels_of(hierarchy)
    check_depth(depth, steps)
    titles = [f"level {place}" for place in range(1, len(steps) + 1)]
    models = read_predictions("group_error_diagram", read_models(y_true, y_prob, sample_weight, pos_label))
    level_errors, weights, group_errors = {}, {}, {}
    for name, p in models.items():
        views = [grouped_view(p, step.lens) for step in steps]
        whole = views_of(p, "canonical")[0]
        assert isinstance(whole, VectorView)
        shown = views[depth - 1]
        places = range(shown.k)
        level_errors[name] = np.array([_error(chosen, view, options) for view in [*views, whole]])
        weights[name] = np.array([share_in(shown, place) @ row_weights(shown) for place in places])
        group_errors[name] = np.array([_group_error(chosen, shown, place, options, rows) for place in places])
    classes = next(iter(models.values())).k
    return GroupErrorDiagram(
        metric=chosen.id,
        levels=(*titles, "classes"),
        sizes=(*(len(step.groups) for step in steps), classes),
        level_errors=level_errors,
        depth=depth,
        groups=tuple(steps[depth - 1].groups),
        weight=weights,
        group_errors=group_errors,
        rows=rows,
    )


def check_depth(depth: Any, steps: Sequence[_Level]) -> None:
    """Check that the hierarchy has the level."""
    if check_whole(depth, "depth") > len(steps):
        raise ArgumentError("depth", f"must be at most {len(steps)}, the levels of the hierarchy; got {depth}")


class _Level(NamedTuple):
    groups: list[str]
    lens: Lens


def levels_of(hierarchy: Any) -> list[_Level]:
    """Names of the groups of each level, with the lens that sums their classes."""
    nodes: dict[Any, Any] = dict(hierarchy)
    levels = []
    for lens in class_hierarchy(hierarchy).values():
        levels.append(_Level([str(name) for name in nodes], lens))
        deeper: dict[Any, Any] = {}
        for name, node in nodes.items():
            deeper.update(node if isinstance(node, Mapping) else {name: node})
        nodes = deeper
    return levels


def grouped_view(p: Predictions, lens: Lens) -> VectorView:
    """The probabilities of each group."""
    view = lens.views(p)[0]
    assert isinstance(view, VectorView)
    return view


def share_in(view: VectorView, place: int) -> Floats:
    """Probability that the label of each row is in a group; 0 or 1 for hard labels."""
    if view.labels is not None:
        return (view.labels == place).astype(np.float64)
    assert view.soft is not None
    if view.soft.ndim == 1:
        return np.asarray(view.soft if place == 1 else 1 - view.soft, dtype=np.float64)
    return view.soft[:, place].astype(np.float64)


def _against_rest(view: VectorView, place: int) -> View:
    probs = view.raw_probs.astype(np.float64, copy=False)
    score = probs[:, place] if probs.ndim == 2 else probs if place == 1 else 1 - probs
    held = share_in(view, place)
    outcome = held if view.is_soft else held.astype(np.uint8)
    return View(score, outcome, view.weight, view.weight_kind, rows=view.rows, lens=f"class:{place}")


def _error(metric: Metric, view: VectorView, options: dict[str, Any]) -> float:
    """Error over all groups; NaN where undefined."""
    views: list[AnyView] = [view]
    if metric.takes == "View":
        views = [_against_rest(view, place) for place in range(view.k)]
    return value_or_nan(metric.of_views, [metric.views(one)[0] for one in views], **options)


def _group_error(metric: Metric, view: VectorView, place: int, options: dict[str, Any], rows: Rows) -> float:
    """Error of a group against the rest, or of its own rows; NaN without rows, and where undefined."""
    if rows == "label":
        if view.labels is None:
            raise LensError("rows", "'label' is not defined for soft labels", "use 'all'")
        held = view.labels == place
        weight = None if view.weight is None else view.weight[held]
        view = VectorView(view.raw_probs[held], view.labels[held], None, weight, view.weight_kind, lens=view.lens)
    if not share_in(view, place).any():
        return np.nan
    whole = rows == "label" and metric.takes != "View"
    part: AnyView = view if whole else _against_rest(view, place)
    return value_or_nan(metric, part, **options)

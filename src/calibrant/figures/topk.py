"""The top-k diagram: calibration error, accuracy and confidence of the k most likely classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError
from ..input.predictions import Predictions
from ..metrics.registry import Metric, catalogue
from ..util.arrays import Array
from ..util.checks import check_choice, check_whole
from ..views.keywords import check_options, documents_keywords
from ..views.lenses import AnyView, top_k
from ..views.view import VectorView, View
from .base import MODELS_PARAMETERS, Diagram, Floats, drawn, finish, none_for_nan, reference
from .canvas import PAPER_WIDTH, Axes, muted
from .labels import plain
from .models import (
    by_model,
    in_octaves,
    model_named,
    model_series,
    panels,
    read_models,
    read_predictions,
    value_or_nan,
)
from .styling import Series, plots

Asked = Literal["top_k", "within_top", "rank"]
COLUMNS = ("error", "accuracy", "confidence", "rank_confidence", "rank_rate")


@dataclass(frozen=True)
class TopkLine:
    """Results of one model, one entry per k; NaN where undefined.

    ``error`` is the calibration error, ``accuracy`` the top-k accuracy, ``confidence`` the mean sum of the k largest probabilities,
    ``rank_confidence`` the mean of the k-th largest probability, and ``rank_rate`` the observed rate of the class of rank k.
    """

    name: str
    error: Floats
    accuracy: Floats
    confidence: Floats
    rank_confidence: Floats
    rank_rate: Floats


@dataclass(frozen=True, repr=False)
class TopkDiagram(Diagram):
    """Data of a top-k diagram.

    Parameters
    ----------
    k : ndarray
        Values of k.
    lines : tuple of TopkLine
        Results of each model; ``diagram[name]`` returns one.
    metric : str
        Identifier of the error.
    lens : {"top_k", "within_top", "rank"}
        Lens of the error.
    baseline : str or None
        The model whose mean confidence is the baseline; None for the observed rate.
    """

    k: NDArray[np.intp]
    lines: tuple[TopkLine, ...]
    metric: str
    lens: Asked
    baseline: str | None

    def __getitem__(self, name: str) -> TopkLine:
        return model_named(self.lines, name)

    def relative(self, name: str) -> Floats:
        """Return the mean rank-k confidence of a model minus that of the baseline, or minus the observed rate.

        Parameters
        ----------
        name : str
            Name of the model.

        Returns
        -------
        ndarray
            The difference for each k.
        """
        line = self[name]
        return line.rank_confidence - (line.rank_rate if self.baseline is None else self[self.baseline].rank_confidence)

    def _columns(self) -> dict[str, list[Any]]:
        columns = by_model(self.lines, COLUMNS, {"k": self.k.tolist()})
        columns["relative"] = [value for line in self.lines for value in none_for_nan(self.relative(line.name))]
        return columns

    _numeric = range(1, 100)

    def _title(self) -> str:
        return f"Top-k diagram ({self.metric} of {self.lens})"

    @plots
    def plot(self, ax: Any = None, **style: Any) -> list[Axes]:
        """Plot three panels: calibration error, observed and predicted top-k accuracy, and confidence of rank k against the baseline.

        Parameters
        ----------
        ax : sequence of matplotlib.axes.Axes, optional
            Three axes; by default a new figure.
        """
        axes = panels(ax, 3, columns=1, width=PAPER_WIDTH, height=1.5)
        looks = model_series(axes[0], style, self.lines, marker=True)
        for one, draw in zip(axes, (self._draw_error, self._draw_accuracy, self._draw_confidence), strict=True):
            draw(one, looks)
            if self.k[-1] > 20 * self.k[0]:
                in_octaves(one, self.k.tolist())
            else:
                one.locator_params(axis="x", integer=True)
        axes[-1].set_xlabel("k (number of most likely classes)")
        return axes

    def _draw_error(self, ax: Axes, looks: Sequence[Series]) -> None:
        for line, look in zip(self.lines, looks, strict=True):
            ax.plot(self.k, line.error, gid="series", **look.line, label=look.label)
        ax.set_ylim(bottom=0)
        finish(ax, "", "calibration error")

    def _draw_accuracy(self, ax: Axes, looks: Sequence[Series]) -> None:
        for line, look in zip(self.lines, looks, strict=True):
            style = {**look.line, "linestyle": "-"}
            ax.plot(self.k, line.accuracy, gid="series", **style)
            dashed = {**style, "linestyle": (0, (2, 1.5)), "markerfacecolor": ax.get_facecolor()}
            ax.plot(self.k, line.confidence, **dashed)
        finish(ax, "", "top-k accuracy")
        if not drawn(ax, "side"):
            note: dict[str, Any] = {"ha": "right", "va": "bottom", "fontsize": "small", "color": muted()}
            ax.text(0.98, 0.04, "solid: observed\ndashed: predicted", transform=ax.transAxes, gid="side", **note)

    def _draw_confidence(self, ax: Axes, looks: Sequence[Series]) -> None:
        for line, look in zip(self.lines, looks, strict=True):
            if line.name != self.baseline:
                ax.plot(self.k, self.relative(line.name), gid="series", **look.line, label=look.label)
        reference(ax)
        minus = "observed rate" if self.baseline is None else f"that of {plain(self.baseline)}"
        finish(ax, "", f"mean rank-k confidence\nminus {minus}")


@documents_keywords(table=MODELS_PARAMETERS)
def topk_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    k: int | Sequence[int] | None = None,
    metric: str | Metric = "gece",
    lens: Asked = "top_k",
    baseline: str | None = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> TopkDiagram:
    """Compute calibration error, accuracy and confidence of the k most likely classes.

    Parameters
    ----------
    y_true
    y_prob
    k : int or sequence of int, optional
        Largest k, or the values of k; by default up to 10 or the number of classes.
    metric : str or Metric, default "gece"
        Calibration error; its options are accepted as keywords.
    lens : {"top_k", "within_top", "rank"}, default "top_k"
        Event of the error: the k largest probabilities as a vector, their sum, or the class of rank k.
    baseline : str, optional
        Model whose mean confidence of rank k is the baseline; by default the first of several models, and for a single
        model the observed rate.
    sample_weight
    pos_label
    **options
        Options of the metric.

    Returns
    -------
    TopkDiagram
        Results ``lines`` by model: ``error``, ``accuracy``, ``confidence``. ``plot()`` draws them.

    See Also
    --------
    reliability_diagram : With ``lens="within_top:3"`` for one k.

    Examples
    --------
    >>> from calibrant.figures.topk import topk_diagram
    >>> shown = topk_diagram([0, 1, 2], [[0.6, 0.3, 0.1], [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], k=2)
    >>> shown["model"].accuracy.round(3).tolist(), shown["model"].confidence.round(3).tolist()
    ([0.667, 1.0], [0.533, 0.833])
    """
    check_choice(lens, "lens", ("top_k", "within_top", "rank"))
    chosen = catalogue[metric]
    check_options(topk_diagram, options, chosen)
    models = read_predictions("topk_diagram", read_models(y_true, y_prob, sample_weight, pos_label))
    numbers = _numbers(k, min(p.k for p in models.values()))
    if baseline is None and len(models) > 1:
        baseline = next(iter(models))
    if baseline is not None and (baseline not in models or len(models) == 1):
        raise ArgumentError("baseline", f"must be one of several models {list(models)}; got {baseline!r}")
    lines = tuple(_line(name, p, numbers, chosen, lens, options) for name, p in models.items())
    return TopkDiagram(np.array(numbers, np.intp), lines, chosen.id, lens, baseline)


def _numbers(k: Any, classes: int) -> list[int]:
    """Values of k in increasing order."""
    if k is None:
        k = min(classes, 10)
    if isinstance(k, (int, np.integer)) or np.ndim(k) == 0:
        numbers = list(range(1, check_whole(k, "k") + 1))
    else:
        numbers = sorted({check_whole(value, "k") for value in k})
    if not numbers or numbers[-1] > classes:
        raise ArgumentError("k", f"must lie between 1 and {classes}, the number of classes; got {k!r}")
    return numbers


def _line(
    name: str, p: Predictions, numbers: list[int], metric: Metric, lens: Asked, options: dict[str, Any]
) -> TopkLine:
    view = top_k(numbers[-1]).views(p)[0]
    assert isinstance(view, VectorView)
    columns: dict[str, list[float]] = {name: [] for name in COLUMNS}
    for k in numbers:
        score, rank_score = view.raw_probs[:, :k].sum(axis=1), view.raw_probs[:, k - 1]
        held, rank_held = _shares(view, k)
        columns["accuracy"].append(view.mean(held))
        columns["confidence"].append(view.mean(np.minimum(score, 1)))
        columns["rank_confidence"].append(view.mean(rank_score))
        columns["rank_rate"].append(view.mean(rank_held))
        columns["error"].append(value_or_nan(metric, _part(view, k, lens), **options))
    return TopkLine(name, **{column: np.array(values) for column, values in columns.items()})


def _shares(view: VectorView, k: int) -> tuple[Array, Array]:
    """Whether the true class is among the first k, and whether it has rank k; probabilities for soft labels."""
    if view.labels is not None:
        return (view.labels < k).view(np.uint8), (view.labels == k - 1).view(np.uint8)
    assert view.soft is not None
    return np.minimum(view.soft[:, :k].sum(axis=1), 1), view.soft[:, k - 1]


def _part(view: VectorView, k: int, lens: Asked) -> AnyView:
    """The view of the lens for this k, without sorting again."""
    more: dict[str, Any] = {"rows": view.rows, "lens": f"{lens}:{k}"}
    if lens != "top_k":
        held, rank_held = _shares(view, k)
        score = np.minimum(view.raw_probs[:, :k].sum(axis=1), 1) if lens == "within_top" else view.raw_probs[:, k - 1]
        return View(score, held if lens == "within_top" else rank_held, view.weight, view.weight_kind, **more)
    first = view.raw_probs[:, :k]
    probs = np.column_stack([first, np.maximum(1 - first.sum(axis=1), 0)])
    labels = None if view.labels is None else np.minimum(view.labels, k)
    soft = None
    if view.soft is not None:
        soft = np.column_stack([view.soft[:, :k], np.maximum(1 - view.soft[:, :k].sum(axis=1), 0)])
    columns = 0 if k == 1 else None
    return VectorView(probs, labels, soft, view.weight, view.weight_kind, score_column=columns, tree_columns=k, **more)

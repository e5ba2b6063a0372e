"""The entropy picture: how spread the distributions are that models give out, beside accuracy and confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import LensError
from ..input.predictions import Predictions
from ..util.checks import check_choice
from ..util.results import number
from ..views.keywords import documents_keywords
from ..views.resolve import views_of
from ..views.view import Block, VectorView, View
from .base import MODELS_PARAMETERS, Diagram, finish
from .canvas import PAPER_WIDTH, muted, new_ax
from .intervals import inside, spans_of
from .labels import plain, shorten
from .models import (
    NAME_LETTERS,
    by_model,
    legend_above,
    model_named,
    model_series,
    read_models,
    read_predictions,
    row_weights,
)
from .styling import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class EntropyParts:
    """Results of one model by part of the rows; NaN for parts without rows.

    ``rows`` are numbers of rows, to whose sum importance weights are scaled; ``entropy`` is the mean entropy of the predicted distributions,
    ``confidence`` the mean probability of the predicted class, and ``overall`` the mean entropy of all rows.
    """

    name: str
    rows: Floats
    entropy: Floats
    accuracy: Floats
    confidence: Floats
    overall: float


@dataclass(frozen=True, repr=False)
class EntropyDiagram(Diagram):
    """Data of mean entropies of predicted distributions, over all rows or by parts.

    Parameters
    ----------
    parts : tuple of str
        Names of the parts.
    by : str or None
        What the parts are.
    models : tuple of EntropyParts
        Results of each model; ``diagram[name]`` returns one.
    """

    parts: tuple[str, ...]
    by: str | None
    models: tuple[EntropyParts, ...]

    def __getitem__(self, name: str) -> EntropyParts:
        return model_named(self.models, name)

    def _columns(self) -> dict[str, list[Any]]:
        return by_model(self.models, ("rows", "entropy", "accuracy", "confidence"), {"part": self.parts})

    _numeric = range(2, 100)

    def _title(self) -> str:
        overall = ", ".join(f"{m.name} {number(m.overall)}" for m in self.models)
        return f"Mean entropy in nats (all rows: {overall})"

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot one bar per model, or for parts the accuracy (filled) and the confidence (open) against the entropy."""
        label = "mean entropy (nats)"
        if self.by is None:
            ax = new_ax(ax, width=PAPER_WIDTH, height=0.7 + 0.25 * len(self.models))
            heights = [float(model.entropy[0]) for model in self.models]
            looks = model_series(ax, style, self.models)
            for place, (height, look) in enumerate(zip(heights, looks, strict=True)):
                ax.barh(place, height, 0.7, color=look.color, alpha=look.line.get("alpha"))
            names = [shorten(look.label or "", NAME_LETTERS) for look in looks]
            ax.set_yticks(range(len(heights)), names)
            ax.set_ylim(len(heights) - 0.5, -0.5)
            finish(ax, label).yaxis.grid(False)
            return ax
        ax = new_ax(ax, width=PAPER_WIDTH, height=2.8)
        for model, look in zip(self.models, model_series(ax, style, self.models, marker=True), strict=True):
            dots = {**look.line, "markersize": 4, "linestyle": "none"}
            ax.vlines(model.entropy, model.accuracy, model.confidence, color=look.color, linewidth=0.7, zorder=1.8)
            ax.plot(model.entropy, model.confidence, **dots, markerfacecolor=ax.get_facecolor())
            ax.plot(model.entropy, model.accuracy, gid="series", **dots, label=look.label)
        if len(self.models) == 1 and len(self.parts) <= 12:
            (model,) = self.models
            ax.margins(0.1, 0.12)
            for part, x, y in zip(self.parts, model.entropy, np.fmax(model.accuracy, model.confidence), strict=True):
                if np.isfinite(x):
                    note: dict[str, Any] = {"ha": "center", "fontsize": "small", "color": muted()}
                    ax.annotate(plain(part), (x, y), (0, 4), textcoords="offset points", **note)
        finish(ax, label, "accuracy (filled), confidence (open)")
        legend_above(ax)
        return ax


@documents_keywords(table=MODELS_PARAMETERS)
def entropy_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    by: Literal["interval", "class", "predicted"] | None = None,
    intervals: Any = 5,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> EntropyDiagram:
    r"""Compute the mean entropy of the predicted distributions, overall or by parts of the rows.

    The entropy is larger where a model spreads its probability over more classes.

    Parameters
    ----------
    y_true
    y_prob
    by : {"interval", "class", "predicted"}, optional
        Parts of the rows, each with entropy, accuracy and confidence: intervals of the confidence, true classes, or
        predicted classes. By default all rows together.
    intervals : int, str or sequence, default 5
        The intervals, as in `interval_error_diagram`.
    sample_weight
    pos_label

    Returns
    -------
    EntropyDiagram
        Results ``models`` by name: ``entropy``, ``accuracy``, ``confidence``, ``overall``. ``plot()`` draws them.

    See Also
    --------
    uce_diagram : Error rate against entropy.

    Notes
    -----
    .. math:: H = -\sum_k p_k \ln p_k

    Examples
    --------
    >>> from calibrant.figures.entropy import entropy_diagram
    >>> shown = entropy_diagram([0, 1], {"flat": [[0.5, 0.5], [0.5, 0.5]], "sure": [[1.0, 0.0], [0.0, 1.0]]})
    >>> round(shown["flat"].overall, 3), shown["sure"].overall
    (0.693, 0.0)
    """
    check_choice(by, "by", ("interval", "class", "predicted", None))
    low, high, spans = spans_of(intervals, None)
    models = read_predictions("entropy_diagram", read_models(y_true, y_prob, sample_weight, pos_label))
    first = next(iter(models.values()))
    if by in ("class", "predicted"):
        parts = [str(name) for name in (first.classes if first.classes is not None else range(first.k))]
    else:
        parts = ["all rows"] if by is None else spans
    measured = tuple(_entropy_parts(name, p, by, low, high, len(parts)) for name, p in models.items())
    return EntropyDiagram(tuple(parts), by, measured)


def _entropy_of(block: Block) -> Floats:
    return -np.where(block.probs > 0, block.probs * np.log(np.where(block.probs > 0, block.probs, 1)), 0).sum(axis=1)


def _entropy_parts(name: str, p: Predictions, by: str | None, low: Floats, high: Floats, count: int) -> EntropyParts:
    vector, top = views_of(p, "canonical")[0], views_of(p, "top_label")[0]
    assert isinstance(vector, VectorView)
    assert isinstance(top, View)
    entropy = np.maximum(vector.each_row(_entropy_of), 0.0)
    if by is None:
        part = np.zeros(p.n, np.intp)
    elif by == "predicted":
        part = p.predicted.astype(np.intp)
    elif by == "class":
        if p.labels is None:
            raise LensError("by", "'class' is not defined for soft labels", "use 'predicted'")
        part = p.labels.astype(np.intp)
    else:
        part = np.full(p.n, -1, np.intp)
        for place, (start, end) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
            part[inside(top.score, start, end)] = place
    kept = part >= 0  # -1 for rows outside every part
    each = row_weights(top)
    weight = np.bincount(part[kept], each[kept], count).astype(np.float64)

    def mean(values: Floats) -> Floats:
        sums = np.bincount(part[kept], (each * values)[kept], count)
        return np.divide(sums, weight, out=np.full(count, np.nan), where=weight > 0)

    return EntropyParts(name, weight, mean(entropy), mean(top.outcome), mean(top.score), vector.mean(entropy))

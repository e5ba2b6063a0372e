"""The entropy picture: how spread the distributions are that models predict, beside accuracy and confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..views.keywords import documents_keywords
from ..views.resolve import views_of
from ..views.view import VectorView, View
from .base import MODELS_PARAMETERS, Diagram, finish
from .canvas import PAPER_WIDTH, Axes, new_ax
from .labels import shorten
from .models import NAME_LETTERS, model_named, model_series, read_models, read_predictions
from .styling import plots

COLUMNS = ("entropy", "accuracy", "confidence")


@dataclass(frozen=True)
class ModelEntropy:
    """Results of one model: mean entropy of the predicted distributions in nats, accuracy, and mean probability of the predicted class."""

    name: str
    entropy: float
    accuracy: float
    confidence: float


@dataclass(frozen=True, repr=False)
class EntropyDiagram(Diagram):
    """Data of mean entropies of predicted distributions.

    Parameters
    ----------
    models : tuple of ModelEntropy
        Results of each model; ``diagram[name]`` returns one.
    """

    models: tuple[ModelEntropy, ...]

    def __getitem__(self, name: str) -> ModelEntropy:
        return model_named(self.models, name)

    def _columns(self) -> dict[str, list[Any]]:
        return {name: [getattr(model, name) for model in self.models] for name in ("name", *COLUMNS)}

    _numeric = range(1, 100)

    def _title(self) -> str:
        return "Mean entropy in nats"

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot one bar per model."""
        ax = new_ax(ax, width=PAPER_WIDTH, height=0.7 + 0.25 * len(self.models))
        looks = model_series(ax, style, self.models)
        for place, (model, look) in enumerate(zip(self.models, looks, strict=True)):
            ax.barh(place, model.entropy, 0.7, color=look.color, alpha=look.line.get("alpha"))
        ax.set_yticks(range(len(looks)), [shorten(look.label or "", NAME_LETTERS) for look in looks])
        ax.set_ylim(len(looks) - 0.5, -0.5)
        finish(ax, "mean entropy (nats)").yaxis.grid(False)
        return ax


@documents_keywords(table=MODELS_PARAMETERS)
def entropy_diagram(
    y_true: Any, y_prob: Any = None, *, sample_weight: Any = None, pos_label: Any = None
) -> EntropyDiagram:
    r"""Compute the mean entropy of the predicted distributions, beside accuracy and confidence.

    The entropy is larger where a model spreads its probability over more classes.

    Parameters
    ----------
    y_true
    y_prob
    sample_weight
    pos_label

    Returns
    -------
    EntropyDiagram
        Results ``models`` by name: ``entropy``, ``accuracy``, ``confidence``. ``plot()`` draws the entropies.

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
    >>> round(shown["flat"].entropy, 3), shown["sure"].entropy
    (0.693, 0.0)
    """
    from scipy.special import entr

    models = []
    for name, p in read_predictions("entropy_diagram", read_models(y_true, y_prob, sample_weight, pos_label)).items():
        vector, top = views_of(p, "canonical")[0], views_of(p, "top_label")[0]
        assert isinstance(vector, VectorView)
        assert isinstance(top, View)
        entropy = vector.each_row(lambda block: entr(block.probs).sum(axis=1))
        models.append(ModelEntropy(name, vector.mean(entropy), top.mean(top.raw_outcome), top.mean(top.score)))
    return EntropyDiagram(tuple(models))

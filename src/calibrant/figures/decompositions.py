"""The plane of miscalibration and discrimination: a point for each model, and lines of equal score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentError, UndefinedMetricError
from ..metrics.decomposition import Decomposition, decompose
from ..metrics.registry import Metric
from ..util.results import number
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from .base import MODELS_PARAMETERS, Diagram, finish
from .canvas import PAPER_WIDTH, Axes, muted, new_ax
from .models import ONE, metric_label, model_views, read_models
from .styling import plots, series_of

# About so many lines of equal score, the room of the axes beyond the points, and the least length of an axis.
LINES, ROOM, LEAST = 10, 1.2, 1e-3


@dataclass(frozen=True, repr=False)
class DecompositionDiagram(Diagram):
    """Data of the plane of miscalibration and discrimination.

    Parameters
    ----------
    models : dict of str to Decomposition
        CORP decomposition of the score of each model: ``miscalibration``, ``discrimination``, ``uncertainty`` and ``value``.
    """

    models: dict[str, Decomposition]

    def __getitem__(self, name: str) -> Decomposition:
        return self.models[name]

    def _columns(self) -> dict[str, list[Any]]:
        terms = ("value", "miscalibration", "discrimination", "uncertainty")
        columns = {term: [getattr(each, term) for each in self.models.values()] for term in terms}
        return {"model": list(self.models), **columns}

    def _title(self) -> str:
        first = next(iter(self.models.values()))
        return f"Miscalibration and discrimination ({first.score}, {first.lens})"

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot each model as a point; the better ones are to the upper left, and those on a dashed line have the same score."""
        ax = new_ax(ax, width=PAPER_WIDTH, height=2.8)
        parts = list(self.models.values())
        x, y = ([getattr(each, term) for each in parts] for term in ("miscalibration", "discrimination"))
        lines = isolines(x, y, parts[0].uncertainty)
        width = max(across[1] for _, across, _ in lines)
        for score, across, up in lines:
            ax.plot(across, up, color=muted(), linestyle="--", linewidth=0.7, gid="isoline")
            if across[1] > width / 5:  # else its label would lie on those of the axis
                ax.text(across[1], up[1], f"{score:g}", color=muted(), fontsize=7, ha="right", va="bottom")
        looks = series_of(ax, style, [None if name == ONE else name for name in self.models], marker=True)
        for each, look in zip(parts, looks, strict=True):
            label = look.named(f"{metric_label(each.score, each.lens)} {number(each.value, 3)}")
            point = {**look.line, "linestyle": "none", "markersize": 5}
            ax.plot(each.miscalibration, each.discrimination, gid="series", **point, label=label)
        ax.set(xlim=(0, None), ylim=(0, None))
        ax.locator_params(axis="x", nbins=5)
        finish(ax, "miscalibration (lower is better)", "discrimination (higher is better)")
        return ax


def isolines(
    x: Sequence[float], y: Sequence[float], uncertainty: float
) -> list[tuple[float, list[float], list[float]]]:
    """Return scores at even steps, and both ends of the line of each: miscalibration minus discrimination plus uncertainty.

    >>> [score for score, _, _ in isolines([0.01], [0.09], 0.25)]
    [0.16, 0.18, 0.2, 0.22, 0.24, 0.26]
    """
    right, top = ROOM * max(*x, LEAST), ROOM * max(*y, LEAST)
    least = (right + top) / LINES
    step = next(each for k in (1, 2, 5, 10) if (each := k * 10.0 ** math.floor(math.log10(least))) >= least)
    lines = []
    for place in range(math.ceil((uncertainty - top) / step), math.floor((uncertainty + right) / step) + 1):
        start = uncertainty - place * step  # discrimination without miscalibration
        ends = [max(0.0, -start), min(right, top - start)]
        lines.append((round(place * step, 12), ends, [start + end for end in ends]))
    return lines


@documents_keywords(table=MODELS_PARAMETERS)
def decomposition_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    score: str | Metric = "brier",
    lens: str | Lens = "auto",
    sample_weight: Any = None,
    pos_label: Any = None,
) -> DecompositionDiagram:
    r"""Compute the plane of miscalibration and discrimination of one or more models on the same rows.

    Use it to see whether a model has the better score because it is better calibrated, which recalibration can provide to the
    others, or because it discriminates better, which it cannot.

    Parameters
    ----------
    y_true
    y_prob
    score : str or Metric, default "brier"
        Strictly proper score of the catalogue, such as ``"brier"`` or ``"nll"``.
    lens
    sample_weight
    pos_label

    Returns
    -------
    DecompositionDiagram
        The terms of each of ``models``. ``plot()`` draws them with lines of equal score.

    Raises
    ------
    ArgumentError
        If the models have different outcomes, so that they share no lines of equal score.
    UndefinedMetricError
        If a term is infinite.

    See Also
    --------
    calibrant.decompose : The decomposition of one model.
    murphy_diagram : Elementary scores over all thresholds.

    Notes
    -----
    With the CORP decomposition :math:`S = \mathrm{MCB} - \mathrm{DSC} + \mathrm{UNC}` [1]_, models on the same rows have the same
    uncertainty, so that those of equal score lie on a line of slope 1 [2]_.

    References
    ----------
    .. [1] Dimitriadis, Gneiting and Jordan (2021): Stable reliability diagrams for probabilistic classifiers. PNAS 118.
    .. [2] Dimitriadis, Gneiting, Jordan and Vogel (2024): Evaluating probabilistic classifiers: The triptych. International Journal
       of Forecasting 40.

    Examples
    --------
    >>> import calibrant as cal
    >>> models = {"bold": [0.0, 0.2, 1.0, 0.9], "shy": [0.4, 0.4, 0.6, 0.6]}
    >>> shown = cal.figures.decomposition_diagram([0, 1, 1, 1], models)
    >>> round(shown["bold"].miscalibration, 4), round(shown["bold"].discrimination, 4)
    (0.1625, 0.1875)
    """
    views = model_views("decomposition_diagram", read_models(y_true, y_prob, sample_weight, pos_label), lens)
    models = {name: decompose(view, score=score, method="corp") for name, view in views.items()}
    for name, each in models.items():
        if not math.isfinite(each.value):
            raise UndefinedMetricError(
                "decomposition_diagram", f"the score of {name!r} is infinite", "use score='brier'"
            )
    (first, part), *others = models.items()
    for name, other in others:
        if abs(other.uncertainty - part.uncertainty) > 1e-9:
            problem = f"{first!r} and {name!r} have different outcomes or weights"
            raise ArgumentError("y_true", problem, "compare models on the same rows")
    return DecompositionDiagram(models)

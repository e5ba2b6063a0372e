"""Diagrams of whole distributions by bins: predicted and observed variation, and error rate against entropy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..binning.parse import EQUAL_WIDTH, Binning, Bins, as_default, bin_table, binning_rule
from ..binning.partition import bin_of_each
from ..binning.rules import BinningRule
from ..binning.table import BinTable
from ..metrics.bin.variation import (
    Variation,
    bins_of_variation,
    decreasing,
    entropy,
    measure_of,
    name_of,
    ranked,
    uce,
    vce,
)
from ..metrics.forms import sums_by_bin
from ..util.checks import check_fraction
from ..util.results import number
from ..views.keywords import documents_keywords
from ..views.resolve import resolve
from ..views.view import VectorView, View
from .base import Diagram, Floats, corner_texts, finish, square, vector_view
from .canvas import OVER, UNDER, Axes, ink, new_ax
from .models import by_model, model_named, model_series, read_models
from .styling import Series, plots, series_of

TEN: Bins = as_default(10)
VARIATION_WORDS = {
    "entropy": "entropy",
    "confidence": "confidence",
    "freeman_variation_ratio": "variation ratio (Freeman)",
    "wilcox_variation_ratio": "variation ratio (Wilcox)",
    "iqv": "index of qualitative variation",
    "gini": "Gini index",
    "avdev": "average deviation",
    "mndif": "mean difference",
    "varnc": "variance analog",
    "stdev": "standard deviation analog",
    "hrel": "relative entropy",
}


@dataclass(frozen=True)
class ModelVariation:
    """Predicted and observed variation of one model by bins; NaN for empty bins.

    Parameters
    ----------
    name : str
        Name of the model.
    left : ndarray
        Lower edges of the bins.
    right : ndarray
        Upper edges.
    weight : ndarray
        Weight of each bin.
    stated : ndarray
        Predicted variation.
    observed : ndarray
        Observed variation.
    vce : float
        Variation calibration error: the mean gap over all rows.
    """

    name: str
    left: Floats
    right: Floats
    weight: Floats
    stated: Floats
    observed: Floats
    vce: float


@dataclass(frozen=True, repr=False)
class VariationDiagram(Diagram):
    """Data of a variation diagram.

    Parameters
    ----------
    variation : str
        Measure of variation, or the name of the function that was given.
    models : tuple of ModelVariation
        Variation of each model; ``diagram[name]`` returns one.
    """

    variation: str
    models: tuple[ModelVariation, ...]

    def __getitem__(self, name: str) -> ModelVariation:
        return model_named(self.models, name)

    def _columns(self) -> dict[str, list[Any]]:
        return by_model(self.models, ("left", "right", "weight", "stated", "observed"), {})

    _numeric = range(1, 100)

    def _title(self) -> str:
        errors = ", ".join(f"{one.name} {number(one.vce)}" for one in self.models)
        return f"Variation diagram ({self.variation}, vce: {errors})"

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot observed against predicted variation, with the area of the markers proportional to the weight."""
        ax = new_ax(ax)
        measure = VARIATION_WORDS.get(self.variation, self.variation)
        square(ax)
        finish(ax, f"predicted {measure}", f"observed {measure}")
        sides = [("more varied than predicted", OVER), ("less varied than predicted", UNDER)]
        above, below = sides[::-1] if self.variation == "confidence" else sides
        corner_texts(ax, above, below)
        for one, look in zip(self.models, model_series(ax, style, self.models), strict=True):
            _weighted_points(ax, look, one.stated, one.observed, one.weight, f"vce {number(one.vce, 3)}")
        return ax


def _weighted_points(ax: Any, look: Series, x: Floats, y: Floats, weight: Floats, facts: str) -> None:
    full = ~np.isnan(x)
    size = np.maximum(45 * weight[full] / weight.max(), 6)
    line = {key: value for key, value in look.line.items() if key not in ("marker", "markersize")}
    ax.plot(x[full], y[full], zorder=3, gid="curve", label=look.named(facts), **line)
    dots: dict[str, Any] = {"marker": look.line.get("marker"), "alpha": look.line.get("alpha"), "linewidths": 0}
    ax.scatter(x[full], y[full], s=size, color=look.color, zorder=3.1, gid="markers", clip_on=False, **dots)


@documents_keywords()
def variation_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    variation: Variation | Callable[..., float] = "entropy",
    bins: Bins = TEN,
    binning: Binning = EQUAL_WIDTH,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> VariationDiagram:
    """Compute the observed against the predicted variation of whole probability vectors, by bins.

    Rows are binned by the variation of their own probabilities. In each bin the mean of the sorted probabilities gives
    the predicted variation, and the frequencies with which the true class had rank 1, 2, ... give the observed one.
    Calibrated predictions lie on the diagonal.

    Parameters
    ----------
    y_true
    y_prob
    variation : str or callable, default "entropy"
        Measure of variation, by name as in `vce`, or a function of one probability vector that returns a number from 0 to 1.
    bins : int or sequence of float, default 10
        Number of bins of the variation on [0, 1], or their edges.
    binning : str or bin rule, default "equal_width"
        Rule of the bins: ``"equal_width"``, ``"equal_mass"``, ``"quantile"`` or a rule of `calibrant.binning`.
    sample_weight
    pos_label

    Returns
    -------
    VariationDiagram
        ``models`` with the ``stated`` and ``observed`` variation by bin, and the error ``vce``; ``diagram[name]`` is that of one model. ``plot()``
        draws them.

    See Also
    --------
    uce_diagram : Error rate against entropy.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.figures.variations import variation_diagram
    >>> drawn = cal.inference.make_calibrated(20_000, classes=3, rng=0)
    >>> diagram = variation_diagram(drawn.y_true, drawn.y_prob, bins=5)
    >>> error = diagram["model"].vce
    >>> error == cal.vce(drawn.y_true, drawn.y_prob, bins=5), error < 0.01
    (True, True)
    """
    models = read_models(y_true, y_prob, sample_weight, pos_label)
    rule = binning_rule(bins, binning)
    measured = (_variation_of(name, source, variation, rule) for name, source in models.items())
    return VariationDiagram(name_of(variation), tuple(measured))


def _variation_of(name: str, source: Any, variation: Any, rule: BinningRule) -> ModelVariation:
    """The variation of one model."""
    measure = measure_of(variation)
    view = vector_view(source, "canonical")
    key, cell, count = bins_of_variation(view, measure, rule)
    weight, sums = sums_by_bin(view, cell, count, lambda block: np.hstack(ranked(block)))
    table = _table(view, key, np.zeros(view.n, np.uint8), rule, variation == "confidence")
    both = np.full((2, count), np.nan)
    full = weight > 0
    for place, part in enumerate(np.hsplit(sums, 2)):
        both[place, full] = measure(part[full] / weight[full, None])
    value = float(vce(view, variation=variation, binning=rule))
    return ModelVariation(name, table.left, table.right, weight, both[0], both[1], value)


def _table(view: VectorView, key: Floats, outcome: Any, rule: BinningRule, confidences: bool = False) -> BinTable:
    """Bins of one number per row of a vector view."""
    classes = view.rows.exclusive_classes if confidences and view.rows is not None else None
    scalar = View(key, outcome, view.weight, view.weight_kind, lens=view.lens, classes=classes)
    return bin_table(scalar, rule)


@dataclass(frozen=True, repr=False)
class UceDiagram(Diagram):
    """Data of an uncertainty diagram: error rate against mean entropy by bins; NaN for empty bins.

    Parameters
    ----------
    table : BinTable
        The bins; ``mean_score`` is the mean normalized entropy, ``rate`` the error rate.
    expected : ndarray
        Error rate under calibration: one minus the mean of the largest probability.
    low : ndarray
        Lower end of the interval of the error rate.
    high : ndarray
        Upper end.
    level : float or None
        Level of the intervals.
    uce : float
        Uncertainty calibration error: the mean gap over all rows.
    """

    table: BinTable = field(repr=False)
    expected: Floats
    low: Floats
    high: Floats
    level: float | None
    uce: float

    def _columns(self) -> dict[str, list[Any]]:
        columns = self.table.to_dict()
        more = self._listed("expected", "low", "high")
        kept = {name: columns[name] for name in ("left", "right", "rows", "weight")}
        return {**kept, "entropy": columns["mean_score"], "error_rate": columns["rate"], **more}

    def _title(self) -> str:
        return f"Uncertainty diagram (uce {number(self.uce)})"

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot the error rate against the entropy, with the error rate expected under calibration."""
        ax = new_ax(ax)
        (look,) = series_of(ax, style)
        square(ax)
        finish(ax, "mean normalized entropy", "error rate")
        table, full = self.table, ~self.table.empty
        if self.level is not None:
            bars: dict[str, Any] = {"color": look.color, "alpha": look.line.get("alpha"), "linewidth": 1}
            ax.vlines(
                table.mean_score[full], self.low[full], self.high[full], zorder=2.8, gid="interval", **bars
            ).set_label(f"{100 * self.level:g}% intervals")
        calibrated: dict[str, Any] = {"color": ink(), "linestyle": (0, (1, 1.5)), "linewidth": 1.2}
        ax.plot(table.mean_score[full], self.expected[full], label="if calibrated", gid="expected", **calibrated)
        _weighted_points(ax, look, table.mean_score, table.rate, table.weight, f"uce {number(self.uce, 3)}")
        return ax


@documents_keywords()
def uce_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    bins: Bins = TEN,
    binning: Binning = EQUAL_WIDTH,
    level: float | None = 0.95,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> UceDiagram:
    """Compute the error rate against the mean normalized entropy, by bins.

    Calibrated predictions do not lie on the diagonal of this diagram, because an entropy is not an error rate; the
    dotted line shows where they would lie. Prefer `variation_diagram`.

    Parameters
    ----------
    y_true
    y_prob
    bins : int or sequence of float, default 10
        Number of bins of the entropy on [0, 1], or their edges.
    binning : str or bin rule, default "equal_width"
        Rule of the bins: ``"equal_width"``, ``"equal_mass"``, ``"quantile"`` or a rule of `calibrant.binning`.
    level : float or None, default 0.95
        Level of the Clopper-Pearson interval of each error rate; None for no intervals.
    sample_weight
    pos_label

    Returns
    -------
    UceDiagram
        The bins ``table``, the error rate ``expected`` under calibration, and the error ``uce``. ``plot()`` draws them.

    See Also
    --------
    variation_diagram : On whose diagonal calibrated predictions lie.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.figures.variations import uce_diagram
    >>> drawn = cal.inference.make_calibrated(20_000, classes=3, rng=0)
    >>> uce_diagram(drawn.y_true, drawn.y_prob).uce > 0.1
    True
    """
    if level is not None:
        check_fraction(level, "level")
    view = vector_view(resolve(y_true, y_prob, sample_weight, pos_label), "canonical")
    key = view.each_row(lambda block: entropy(decreasing(block.probs)))
    wrong = view.each_row(lambda block: 1 - ranked(block)[1][:, 0])
    rule = binning_rule(bins, binning)
    table = _table(view, key, wrong if view.is_soft else wrong.astype(np.uint8), rule)
    cell, count = bin_of_each(view, key, rule)
    weight, sums = sums_by_bin(view, cell, count, lambda block: 1 - block.probs.max(axis=1, keepdims=True))
    expected = np.divide(sums[:, 0], weight, out=np.full(count, np.nan), where=weight > 0)
    level = None if view.is_soft else level
    none = np.full(count, np.nan)
    low, high = (none, none) if level is None else table.interval(level)
    return UceDiagram(table, expected, low, high, level, float(uce(view, binning=rule)))

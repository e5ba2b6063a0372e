"""The feature diagram: mean prediction and observed rate by bins or categories of a feature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..binning.table import binomial_interval
from ..errors import InputTypeError
from ..evaluation.features import Feature, encode_features
from ..inference.gaps import sums_by
from ..input.frames import check_same_rows
from ..input.predictions import Predictions
from ..util.checks import check_fraction, check_whole
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from .base import MODELS_PARAMETERS, Diagram, Floats, axis_names, finish
from .canvas import PAPER_WIDTH, Axes, muted, new_ax
from .drawing import draw_histogram
from .labels import plain, shorten
from .models import ONE, by_model, model_named, model_series, model_views, read_models
from .styling import plots

# Letters of the name of a bin.
BIN_LETTERS = 24


@dataclass(frozen=True)
class FeatureCurve:
    """Rows, mean prediction and observed rate with its interval in each bin of a feature, for one model."""

    name: str
    rows: Floats
    mean_score: Floats
    rate: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, repr=False)
class FeatureDiagram(Diagram):
    """Data of a feature diagram.

    Parameters
    ----------
    feature : str
        Name of the feature.
    bins : tuple of str
        Bins or categories with at least one row.
    curves : tuple of FeatureCurve
        Values of each model; ``diagram[name]`` returns one.
    level : float
        Level of the intervals of the observed rate.
    lens : str
        Lens of the scores.
    """

    feature: str
    bins: tuple[str, ...]
    curves: tuple[FeatureCurve, ...]
    level: float
    lens: str

    def __getitem__(self, name: str) -> FeatureCurve:
        return model_named(self.curves, name)

    def _columns(self) -> dict[str, list[Any]]:
        return by_model(self.curves, ("rows", "mean_score", "rate", "low", "high"), {"bin": self.bins})

    def _title(self) -> str:
        return f"Mean prediction and observed rate by {self.feature} ({self.lens})"

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot lines of the mean prediction, points with intervals of the observed rate, and the distribution of the feature above."""
        ax = new_ax(ax, width=PAPER_WIDTH, height=2.8)
        at = np.arange(len(self.bins), dtype=np.float64)
        looks = model_series(ax, style, self.curves)
        # The same labels of one event are the same rates for all models.
        is_shared = all(np.array_equal(curve.rate, self.curves[0].rate) for curve in self.curves)
        for curve, look in zip(self.curves, looks, strict=True):
            known = "mean prediction" if curve.name == ONE else f"{plain(curve.name)}: mean prediction"
            ax.plot(at, curve.mean_score, gid="series", **{**look.line, "marker": "o", "markersize": 3}, label=known)
            if curve is self.curves[0] or not is_shared:
                color = muted() if is_shared and len(self.curves) > 1 else look.color
                rates = f"observed rate, {100 * self.level:g}% interval"
                label = rates if is_shared else f"{plain(curve.name)}: {rates}"
                ends = np.clip([curve.rate - curve.low, curve.high - curve.rate], 0, None)
                bars: dict[str, Any] = {"fmt": "D", "markersize": 3.5, "capsize": 2, "linewidth": 0.9}
                ax.errorbar(at, curve.rate, ends, color=color, label=label, **bars)
        draw_histogram(ax, muted(), (at - 0.5, at + 0.5), self.curves[0].rows, "rows")
        ax.set_xlim(-0.5, len(at) - 0.5)
        names = [shorten(plain(name), BIN_LETTERS) for name in self.bins]
        ax.set_xticks(at, names, rotation=35, ha="right", rotation_mode="anchor")
        finish(ax, plain(self.feature), axis_names(self.lens)[1])
        ax.xaxis.grid(False)
        return ax


@documents_keywords(table=MODELS_PARAMETERS)
def feature_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    feature: Any,
    bins: int = 10,
    level: float = 0.95,
    lens: str | Lens = "auto",
    sample_weight: Any = None,
    pos_label: Any = None,
) -> FeatureDiagram:
    """Compute mean prediction and observed rate by bins or categories of a feature.

    It shows where along a feature a model over- or underestimates, with the interval of the observed rate and the distribution of the
    feature. Use `find_subgroups` to search many features, and their combinations.

    Parameters
    ----------
    y_true
    y_prob
    feature : array-like of shape (N,) or mapping of str to array-like
        Value of the feature in each row: numbers, dates, Booleans or text, with missing values. It is named by its Series or by the one
        key of a mapping.
    bins : int, default 10
        Number of quantile bins of numbers and dates.
    level
    lens : str or Lens, default "auto"
        The event, with one score per row.
    sample_weight
    pos_label

    Returns
    -------
    FeatureDiagram
        ``bins`` and, for each model, ``curves`` with ``rows``, ``mean_score``, ``rate``, ``low`` and ``high``. ``plot()`` draws them.

    Raises
    ------
    InputTypeError
        If there is not exactly one feature, or no rows.
    LensError
        If the lens does not yield one score per row.
    UndefinedMetricError
        If the labels are soft.

    See Also
    --------
    calibrant.find_subgroups : Search for the subgroups with a gap.

    Notes
    -----
    Intervals are binomial limits of Clopper and Pearson, with the effective number of rows for importance weights; each holds by itself. Missing
    values and rare categories have bins of their own.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 1, 0, 1], [0.1, 0.4, 0.8, 0.9, 0.3, 0.2]
    >>> shown = cal.figures.feature_diagram(y, p, feature={"plan": ["basic", "pro", "pro", "pro", "basic", None]})
    >>> shown.bins, shown["model"].mean_score.round(2).tolist(), shown["model"].rate.tolist()
    (('basic', 'pro', 'missing'), [0.2, 0.7, 0.2], [0.0, 1.0, 1.0])
    """
    check_fraction(level, "level")
    check_whole(bins, "bins", 2)
    check_same_rows(y_true, {"feature": feature})
    models = read_models(y_true, y_prob, sample_weight, pos_label)
    first = next(iter(models.values()))
    if not isinstance(first, Predictions):
        raise InputTypeError("y_true", "a feature diagram requires rows", "pass labels and probabilities")
    coded = encode_features(feature, first, bins)
    if len(coded) > 1:
        raise InputTypeError("feature", f"expected one feature, got {len(coded)}", "pass one column")
    return diagram_along(coded[0], models, lens, level)


def diagram_along(feature: Feature, models: Mapping[str, Any], lens: Any, level: float) -> FeatureDiagram:
    """Return the diagram of models along a feature that was read."""
    code, labels = feature.code, feature.labels()
    present = np.flatnonzero(np.bincount(code, minlength=len(labels)))
    curves = []
    for name, view in model_views("feature_diagram", models, lens).items():
        sums = sums_by(view, np.searchsorted(present, code), len(present))
        rate = np.clip(sums.outcome / sums.weight, 0, 1)
        low, high = binomial_interval(sums.size * rate, sums.size, 1 - level, "clopper_pearson")
        rows = sums.weight if view.weight_kind == "counts" else sums.rows.astype(np.float64)
        curves.append(FeatureCurve(name, rows, sums.score / sums.weight, rate, low, high))
    return FeatureDiagram(feature.name, tuple(labels[place] for place in present), tuple(curves), level, view.lens)

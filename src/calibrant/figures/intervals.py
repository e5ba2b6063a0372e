"""Calibration error and number of rows by intervals of the score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..decision.likert import read_bands
from ..errors import ArgumentError
from ..metrics.registry import Metric, catalogue
from ..util.results import number
from ..views.keywords import check_options, documents_keywords
from ..views.lenses import Lens
from ..views.view import View
from .base import MODELS_PARAMETERS, Diagram, Floats, finish, one_view, score_label
from .canvas import PAPER_WIDTH, Axes
from .labels import fit
from .models import (
    by_model,
    grouped_bars,
    model_named,
    model_series,
    panels,
    read_models,
    row_weights,
    value_or_nan,
)
from .styling import plots

COLUMNS = ("rows", "mean_score", "rate", "error")


@dataclass(frozen=True)
class IntervalErrors:
    """Results of one model by interval; NaN for intervals without rows.

    ``rows`` are numbers of rows, to whose sum importance weights are scaled; ``rate`` is the observed rate,
    ``error`` the calibration error of the rows in the interval, and ``overall`` that of all rows.
    """

    name: str
    rows: Floats
    mean_score: Floats
    rate: Floats
    error: Floats
    overall: float


@dataclass(frozen=True, repr=False)
class IntervalDiagram(Diagram):
    """Data of calibration errors by intervals of the score.

    Parameters
    ----------
    names : tuple of str
        Names of the intervals.
    low : ndarray
        Lower ends.
    high : ndarray
        Upper ends.
    models : tuple of IntervalErrors
        Results of each model; ``diagram[name]`` returns one.
    metric : str
        Identifier of the error.
    lens : str
        Lens of the scores.
    """

    names: tuple[str, ...]
    low: Floats
    high: Floats
    models: tuple[IntervalErrors, ...]
    metric: str
    lens: str

    def __getitem__(self, name: str) -> IntervalErrors:
        return model_named(self.models, name)

    def _columns(self) -> dict[str, list[Any]]:
        ends = {"low": self.low.tolist(), "high": self.high.tolist()}
        return by_model(self.models, COLUMNS, {"interval": self.names, **ends})

    _numeric = range(2, 100)

    def _title(self) -> str:
        overall = ", ".join(f"{m.name} {number(m.overall)}" for m in self.models)
        return f"Interval errors ({self.metric}, {self.lens}; all rows: {overall})"

    @plots
    def plot(self, ax: Any = None, **style: Any) -> list[Axes]:
        """Plot two panels: the error in each interval, and its number of rows.

        Parameters
        ----------
        ax : sequence of matplotlib.axes.Axes, optional
            Two axes; by default a new figure.
        """
        axes = panels(ax, 2, columns=1, width=PAPER_WIDTH, height=1.6)
        spans = [f"{low:.3g}\u2013{high:.3g}" for low, high in zip(self.low, self.high, strict=True)]
        usual = [_span(low, high) for low, high in zip(self.low, self.high, strict=True)]
        room = PAPER_WIDTH / min(len(spans), 6)
        plain = [
            span if name == default else f"{fit(name, room, 2)}\n{span}"
            for name, default, span in zip(self.names, usual, spans, strict=True)
        ]
        looks = model_series(axes[0], style, self.models)
        grouped_bars(axes[0], plain, {m.name: m.error for m in self.models}, looks)
        finish(axes[0], "", "calibration error")
        grouped_bars(axes[1], plain, {m.name: m.rows for m in self.models}, looks)
        finish(axes[1], score_label(self.lens), "rows")
        for one in axes:
            one.xaxis.grid(False)
            if len(plain) > 6:
                one.tick_params(axis="x", labelrotation=90)
        return axes


@documents_keywords(table=MODELS_PARAMETERS)
def interval_error_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    intervals: Any = "three",
    names: Sequence[str] | None = None,
    metric: str | Metric = "ece",
    lens: str | Lens = "auto",
    sample_weight: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> IntervalDiagram:
    """Compute the calibration error and the number of rows in intervals of the score.

    Use it where probabilities are communicated as ranges or words such as low, medium and high.

    Parameters
    ----------
    y_true
    y_prob
    intervals : str, int or sequence, default "three"
        ``"three"`` (low, medium, high), ``"five"``, a number of intervals of equal width, increasing edges from 0 to
        1, or pairs such as ``[(0, 0.8), (0.9, 1)]``. Intervals are closed on the left, and on the right at 1.
    names : sequence of str, optional
        Names of the intervals.
    metric : str or Metric, default "ece"
        Error, which must be defined for one score per row; its options are accepted as keywords.
    lens
    sample_weight
    pos_label
    **options
        Options of the metric.

    Returns
    -------
    IntervalDiagram
        Results ``models`` by name: ``rows``, ``mean_score``, ``rate`` and ``error``. ``plot()`` draws
        them.

    See Also
    --------
    reliability_diagram : Finer bins.
    calibrant.decision.likert_error : Distance of the rate from the interval, if it is communicated as a word.

    Examples
    --------
    >>> from calibrant.figures.intervals import interval_error_diagram
    >>> shown = interval_error_diagram([0, 1, 1, 1], [0.1, 0.2, 0.8, 0.9])
    >>> shown["model"].rows.tolist(), shown["model"].rate.tolist()
    ([2.0, 0.0, 2.0], [0.5, nan, 1.0])
    """
    low, high, titles = spans_of(intervals, names)
    chosen = catalogue[metric]
    check_options(interval_error_diagram, options, chosen)
    models = read_models(y_true, y_prob, sample_weight, pos_label)
    errors = []
    for name, source in models.items():
        view = one_view(source, lens)
        errors.append(_interval_errors(name, view, low, high, chosen, options))
    return IntervalDiagram(tuple(titles), low, high, tuple(errors), chosen.id, view.lens)


def _span(low: float, high: float) -> str:
    return f"{low:g} to {high:g}"


def spans_of(intervals: Any, names: Any) -> tuple[Floats, Floats, list[str]]:
    """Lower and upper ends, and names of the intervals."""
    if isinstance(intervals, (int, np.integer)) and not isinstance(intervals, bool) and intervals > 0:
        intervals = (np.arange(intervals + 1) / intervals).tolist()
    if isinstance(intervals, str) or np.ndim(intervals) != 2:
        cuts, titles = read_bands(intervals, names)
        ends = np.array(list(pairwise(cuts)), dtype=np.float64)
        return ends[:, 0], ends[:, 1], titles
    ends = np.asarray(intervals, dtype=np.float64)
    pairs = ends.shape[1] == 2 and len(ends) > 0
    if not pairs or ends.min() < 0 or ends.max() > 1 or (ends[:, 0] >= ends[:, 1]).any():
        problem = f"must be increasing pairs of numbers in [0, 1]; got {intervals!r}"
        raise ArgumentError("intervals", problem, "for example [(0, 0.8), (0.9, 1)]")
    titles = [_span(low, high) for low, high in ends.tolist()] if names is None else [str(name) for name in names]
    if len(titles) != len(ends):
        raise ArgumentError("names", f"expected {len(ends)} names, one for each interval; got {len(titles)}")
    return ends[:, 0], ends[:, 1], titles


def inside(score: Floats, low: float, high: float) -> NDArray[np.bool_]:
    """Mask of the scores in an interval, closed on the left, and on the right at 1."""
    return (score >= low) & ((score < high) | (high == 1))


def _interval_errors(
    name: str, view: View, low: Floats, high: Floats, metric: Metric, options: dict[str, Any]
) -> IntervalErrors:
    lines: list[tuple[float, ...]] = []
    rows = row_weights(view)
    for start, end in zip(low.tolist(), high.tolist(), strict=True):
        held = inside(view.score, start, end)
        if not held.any():
            lines.append((0.0, math.nan, math.nan, math.nan))
            continue
        weight = None if view.weight is None else view.weight[held]
        part = View(
            view.raw_score[held], view.raw_outcome[held], weight, view.weight_kind, lens=view.lens, classes=view.classes
        )
        means = part.mean(part.score), part.mean(part.raw_outcome)
        lines.append((float(rows[held].sum()), *means, value_or_nan(metric, part, **options)))
    rows_in, mean_score, rate, error = np.array(lines).T
    return IntervalErrors(name, rows_in, mean_score, rate, error, value_or_nan(metric, view, **options))

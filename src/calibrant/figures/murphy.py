"""The Murphy diagram: the mean elementary score of each model at every threshold, whose area is half the Brier score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..decision.rows import check_level
from ..errors import ArgumentError, InputTypeError, InPython, LensError, UndefinedMetricError
from ..inference.resampling import generator, seed_of
from ..input.predictions import Predictions
from ..util.checks import check_whole
from ..util.results import number
from ..views.lenses import Lens
from ..views.resolve import views_of
from ..views.view import VectorView, View
from .base import COLOURS, Diagram, finish, plain, series_on
from .canvas import PAPER_WIDTH, new_ax, tones_of
from .models import ONE, Source, legend_above, line_style, metric_label, model_named, read_models, same_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MurphyCurve", "MurphyDiagram", "MurphyDifference", "murphy_diagram"]

Array = NDArray[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MurphyCurve:
    """The mean elementary score of one model at each threshold."""

    name: str
    score: Floats
    area: float
    """The integral over all thresholds, exact: half the Brier score of the view."""

    @property
    def brier(self) -> float:
        """The Brier score, (score - outcome)^2 on average: twice the area."""
        return 2 * self.area


@dataclass(frozen=True)
class MurphyDifference:
    """The curve of one model less that of another on the same rows, with a bootstrap band that holds at each threshold by itself."""

    first: str
    second: str
    value: Floats
    lower: Floats
    upper: Floats
    level: float
    n_resamples: int


@dataclass(frozen=True, repr=False)
class MurphyDiagram(Diagram):
    """Mean elementary scores: a model whose curve is nowhere above another's is better for every proper score."""

    theta: Floats
    """Thresholds; where curves jump a threshold stands twice, once for the value before the jump."""
    curves: tuple[MurphyCurve, ...]
    exact: bool
    """Whether straight lines between the thresholds are the curves themselves."""
    difference: MurphyDifference | None
    lens: str

    def __getitem__(self, name: str) -> MurphyCurve:
        return model_named(self.curves, name)

    def dominates(self, first: str, second: str) -> bool:
        """Whether the first model's curve is nowhere above the second's, and somewhere below, at these thresholds."""
        gap = self[first].score - self[second].score
        return bool((gap <= 1e-12).all() and (gap < -1e-12).any())

    def _columns(self) -> dict[str, list[Any]]:
        found = self.difference
        lines = [(curve.name, curve.score) for curve in self.curves]
        band: list[list[Any]] = [[None] * len(lines) * len(self.theta) for _ in range(2)]
        if found is not None:
            lines.append((f"{found.first} - {found.second}", found.value))
            band = [band[0] + found.lower.tolist(), band[1] + found.upper.tolist()]
        return {
            "model": [name for name, _ in lines for _ in self.theta],
            "theta": self.theta.tolist() * len(lines),
            "score": [value for _, score in lines for value in score.tolist()],
            "lower": band[0],
            "upper": band[1],
        }

    def _table(self) -> tuple[list[str], list[list[str]]]:
        at = [int(np.argmax(curve.score)) for curve in self.curves]
        rows = [
            [curve.name, number(curve.brier), number(float(curve.score[i])), number(float(self.theta[i]))]
            for curve, i in zip(self.curves, at, strict=True)
        ]
        return ["model", metric_label("brier", self.lens), "largest", "at"], rows

    def _title(self) -> str:
        return f"Murphy diagram ({self.lens})"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve of each model on the ax given, or on a new one."""
        ax = new_ax(ax, width=PAPER_WIDTH, height=2.6)
        for place, curve in enumerate(self.curves, series_on(ax)):
            facts = f"{plain(metric_label('brier', self.lens))} {number(curve.brier, 3)}"
            label = facts if curve.name == ONE else f"{plain(curve.name)} ({facts})"
            ax.plot(self.theta, curve.score, gid="series", **line_style(ax, place), label=label)
        ax.set_xlim(0, 1)
        ax.set_ylim(bottom=0)
        finish(ax, "threshold of the decision", "mean elementary score")
        legend_above(ax)
        return ax

    def plot_difference(self, ax: Axes | None = None) -> Axes:
        """Draw the difference of two models with its band on the ax given, or on a new one."""
        found = self.difference
        if found is None:
            raise ArgumentError(
                "difference", "was not computed", InPython("call murphy_diagram(..., difference=(first, second))")
            )
        ax = new_ax(ax, width=PAPER_WIDTH, height=2.2)
        label = f"{found.level:.0%} band at each threshold"
        ax.fill_between(self.theta, found.lower, found.upper, color=COLOURS[0], alpha=0.2, linewidth=0, label=label)
        ax.plot(self.theta, found.value, color=COLOURS[0], linewidth=1.2)
        ax.axhline(0, color=tones_of(ax).muted, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1.5)
        ax.set_xlim(0, 1)
        finish(ax, "threshold of the decision", f"score of {plain(found.first)}\nless {plain(found.second)}")
        legend_above(ax)
        return ax


def murphy_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    difference: tuple[str, str] | None = None,
    level: float = 0.95,
    n_resamples: int = 500,
    points: int = 500,
    lens: str | Lens = "auto",
    where: Any = None,
    rng: Any = None,
    **keywords: Any,
) -> MurphyDiagram:
    """The mean elementary score at each threshold (Ehm et al. 2016): what a decision at this threshold costs.

    At threshold t, a row costs t where its score is above t and the outcome is 0, and 1 - t where its score is not above t and the
    outcome is 1. Every proper score is a weighted mean over t; the Brier score is twice the area under the curve.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities, a View or a Sketch; several models as ``(y_true, {name: y_prob})`` or ``{name: Predictions}``. Keywords
        of `Predictions` are taken.
    difference
        Two models, by name: the difference of their curves gets a bootstrap band, from the same rows drawn for both.
    level, n_resamples, rng
        Coverage of the band, how many samples are drawn, and the seed or Generator.
    points
        Where there are at most so many distinct scores the curves are exact; else they are shown at this many even steps.
    lens, where
        Which yes-or-no question, and which rows.

    Examples
    --------
    >>> from calibrant.figures.murphy import murphy_diagram
    >>> shown = murphy_diagram([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    >>> round(shown["model"].brier, 6), shown.exact
    (0.105, True)
    """
    check_level(level, "level")
    check_whole(n_resamples, "n_resamples")
    check_whole(points, "points", 2)
    models = read_models(murphy_diagram, y_true, y_prob, where, keywords)
    orders = {name: _Order(_view(source, lens)) for name, source in models.items()}
    theta, left, exact = _thresholds(list(orders.values()), points)
    curves = []
    for name, order in orders.items():
        order.look_at(theta, left)
        curves.append(MurphyCurve(name, order.curve(order.weight), order.area()))
    found = None
    if difference is not None:
        first, second = _pair(difference, models)
        found = _difference(first, second, orders, level, n_resamples, seed_of(rng))
    return MurphyDiagram(theta, tuple(curves), exact, found, next(iter(orders.values())).lens)


def _view(source: Source, lens: str | Lens) -> View:
    views = views_of(source, lens) if isinstance(source, Predictions) else [source]
    view = views[0]
    if len(views) > 1 or isinstance(view, VectorView):
        raise LensError("lens", f"{view.lens!r} has more than one event per row", "use 'top_label' or 'class:NAME'")
    if view.is_soft:
        raise UndefinedMetricError("murphy_diagram", "is not defined for soft labels")
    return view


class _Order:
    """The rows of a view in rising order of score, to be summed under many weights at fixed thresholds."""

    def __init__(self, view: View) -> None:
        order = view.order
        self.lens = view.lens
        self.kind = view.weight_kind
        self.rows = order
        self.score = view.score[order]
        self.happened = view.raw_outcome[order].astype(np.bool_)
        self.weight = view.weights
        self.theta: Floats = np.empty(0)
        self.below: Array = np.empty(0, np.intp)

    def look_at(self, theta: Floats, left: Array) -> None:
        """Fix the thresholds; `left` says where the value just before is meant."""
        self.theta = theta
        after, before = (np.searchsorted(self.score, theta, side=side) for side in ("right", "left"))
        self.below = np.where(left, before, after)

    def curve(self, weight: Floats) -> Floats:
        """The mean elementary score at each threshold, for any weights of the rows as they came."""
        sorted_weight = weight[self.rows]
        missed, spared = (
            np.concatenate([[0.0], np.cumsum(sorted_weight * held)]) for held in (self.happened, ~self.happened)
        )
        cost = (1 - self.theta) * missed[self.below] + self.theta * (spared[-1] - spared[self.below])
        return np.asarray(cost / (missed[-1] + spared[-1]))

    def area(self) -> float:
        """The integral over [0, 1]: between neighbouring scores the curve is a straight line."""
        weight = self.weight[self.rows]
        missed, spared = (np.concatenate([[0.0], np.cumsum(weight * held)]) for held in (self.happened, ~self.happened))
        ends = np.concatenate([[0.0], self.score, [1.0]])
        width, square = np.diff(ends), np.diff(ends**2) / 2
        pieces = missed * (width - square) + (spared[-1] - spared) * square
        return math.fsum(pieces.tolist()) / float(weight.sum())


def _thresholds(orders: list[_Order], points: int) -> tuple[Floats, Array, bool]:
    """Where to look: at every score, before and after it, or at even steps where there are too many."""
    knots = np.unique(np.concatenate([[0.0, 1.0], *(np.unique(order.score) for order in orders)]))
    if len(knots) > points + 2:
        theta = np.arange(points + 1) / points
        return theta, np.zeros(len(theta), np.bool_), False
    theta = np.repeat(knots, 2)[1:]  # nothing lies before 0
    left = np.arange(len(theta)) % 2 == 1
    return theta, left, True


def _pair(difference: Any, models: dict[str, Source]) -> tuple[str, str]:
    names = [str(name) for name in difference] if isinstance(difference, (list, tuple)) else []
    if len(names) != 2 or names[0] == names[1] or not set(names) <= set(models):
        raise ArgumentError("difference", f"must be two of the models {list(models)}; got {difference!r}")
    chosen = {name: models[name] for name in names}
    if not all(isinstance(source, Predictions) for source in chosen.values()):
        raise InputTypeError(
            "difference", "resamples the same rows of both models", "pass labels and probabilities instead of a view"
        )
    same_rows(chosen)
    return names[0], names[1]


def _difference(
    first: str, second: str, orders: dict[str, _Order], level: float, n_resamples: int, seed: int
) -> MurphyDifference:
    """The same rows are drawn for both; counts say how many rows there are to draw from."""
    one, other = orders[first], orders[second]
    if not np.array_equal(one.weight, other.weight):
        raise ArgumentError("difference", "the models have different weights")
    rows = one.weight if one.kind == "counts" else np.ones(len(one.weight))
    total = int(rows.sum())
    sample = np.empty((n_resamples, len(one.theta)))
    for b in range(n_resamples):
        drawn = generator(seed, b).multinomial(total, rows / total).astype(np.float64)
        weight = drawn if one.kind == "counts" else drawn * one.weight
        sample[b] = one.curve(weight) - other.curve(weight)
    lower, upper = np.quantile(sample, [(1 - level) / 2, (1 + level) / 2], axis=0)
    value = one.curve(one.weight) - other.curve(one.weight)
    return MurphyDifference(first, second, value, lower, upper, level, n_resamples)

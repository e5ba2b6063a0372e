"""The Murphy diagram: mean elementary score at every threshold; its area is half the Brier score."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InputTypeError, ShapeError
from ..inference.replicates import Replicates
from ..input.predictions import Predictions
from ..util.checks import check_fraction, check_whole
from ..util.results import number
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from ..views.view import View
from .base import MODELS_PARAMETERS, Diagram, finish
from .canvas import PAPER_WIDTH, new_ax
from .labels import plain
from .models import (
    CurveDifference,
    by_model,
    legend_above,
    metric_label,
    model_named,
    model_series,
    model_view,
    read_models,
)
from .styling import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MurphyCurve:
    """Murphy curve of one model; ``area`` is its exact integral over all thresholds, half the Brier score."""

    name: str
    score: Floats
    area: float

    @property
    def brier(self) -> float:
        """The Brier score, twice the area."""
        return 2 * self.area


@dataclass(frozen=True, repr=False)
class MurphyDiagram(Diagram):
    """Data of a Murphy diagram.

    A model whose curve is nowhere above that of another is at least as good under every proper score.

    Parameters
    ----------
    theta : ndarray
        Thresholds; at jumps a threshold occurs twice, first for the left limit.
    curves : tuple of MurphyCurve
        Curve of each model; ``diagram[name]`` returns one.
    exact : bool
        Whether linear interpolation between the thresholds is exact.
    lens : str
        Lens of the scores.
    orders : dict
        Sorted rows of each model.
    """

    _hidden = ("orders",)

    theta: Floats
    curves: tuple[MurphyCurve, ...]
    exact: bool
    lens: str
    orders: dict[str, _Order] = field(repr=False, compare=False)

    def __getitem__(self, name: str) -> MurphyCurve:
        return model_named(self.curves, name)

    def dominates(self, first: str, second: str) -> bool:
        """Test whether one curve is nowhere above another, and somewhere below, at these thresholds.

        Parameters
        ----------
        first : str
            Name of the model.
        second : str
            Name of the model it is compared with.

        Returns
        -------
        bool
            Whether the first dominates the second.
        """
        gap = self[first].score - self[second].score
        return bool((gap <= 1e-12).all() and (gap < -1e-12).any())

    def difference(
        self, first: str, second: str, *, level: float = 0.95, n_resamples: int = 500, rng: Any = 0
    ) -> CurveDifference:
        """Compute the difference of two curves with a pointwise band, from the same resamples of both.

        Parameters
        ----------
        first : str
            Name of the model.
        second : str
            Name of the model that is subtracted.
        level : float, default 0.95
            Confidence level of the band.
        n_resamples : int, default 500
            Number of resamples; counts give the number of rows to resample from.
        rng : None, int or numpy.random.Generator, default 0
            Seed or random generator.

        Returns
        -------
        CurveDifference
            Result with the attributes ``difference``, ``low`` and ``high`` at each threshold.
        """
        check_fraction(level, "level")
        check_whole(n_resamples, "n_resamples")
        one, other = (self.orders[self[name].name] for name in (first, second))
        if not (one.has_rows and other.has_rows):
            raise InputTypeError(
                "y_true", "a difference requires rows, which are resampled for both models alike", "pass probabilities"
            )
        if len(one.weight) != len(other.weight):
            raise ShapeError("y_prob", f"{first!r} has {len(one.weight)} rows and {second!r} has {len(other.weight)}")
        if not np.array_equal(one.weight, other.weight):
            raise ArgumentError("y_true", f"{first!r} and {second!r} have different weights")
        counted = one.kind == "counts"

        def difference(counts: Floats) -> Floats:
            weight = counts if counted else counts * one.weight
            return one.curve(weight) - other.curve(weight)

        low, high = Replicates(one.weight if counted else len(one.weight), n_resamples, rng).band(difference, level)
        value = self[first].score - self[second].score
        return CurveDifference("elementary score", first, second, self.theta, value, low, high, level)

    def _columns(self) -> dict[str, list[Any]]:
        return by_model(self.curves, ("score",), {"theta": self.theta.tolist()})

    def _table(self) -> tuple[list[str], list[list[str]]]:
        at = [int(np.argmax(curve.score)) for curve in self.curves]
        rows = [
            [curve.name, number(curve.brier), number(float(curve.score[i])), number(float(self.theta[i]))]
            for curve, i in zip(self.curves, at, strict=True)
        ]
        return ["model", metric_label("brier", self.lens), "largest", "at"], rows

    def _title(self) -> str:
        return f"Murphy diagram ({self.lens})"

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot the curve of each model."""
        ax = new_ax(ax, width=PAPER_WIDTH, height=2.6)
        for curve, look in zip(self.curves, model_series(ax, style, self.curves), strict=True):
            facts = f"{plain(metric_label('brier', self.lens))} {number(curve.brier, 3)}"
            ax.plot(self.theta, curve.score, gid="series", **look.line, label=look.named(facts))
        ax.set_xlim(0, 1)
        ax.set_ylim(bottom=0)
        finish(ax, "decision threshold", "mean elementary score")
        legend_above(ax)
        return ax


@documents_keywords(table=MODELS_PARAMETERS)
def murphy_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    points: int = 500,
    lens: str | Lens = "auto",
    sample_weight: Any = None,
    pos_label: Any = None,
) -> MurphyDiagram:
    r"""Compute the Murphy diagram: the mean elementary score at every decision threshold.

    It compares models under all proper scores at once: every proper score is a weighted mean of the curve over
    thresholds.

    Parameters
    ----------
    y_true
    y_prob
    points : int, default 500
        Up to this many distinct scores the curves are exact; with more they are evaluated on an even grid of this size.
    lens
    sample_weight
    pos_label

    Returns
    -------
    MurphyDiagram
        Thresholds ``theta`` and ``curves`` by model, with the ``brier`` score of each. ``plot()`` draws them, and
        ``difference(first, second)`` compares two models with a band.

    See Also
    --------
    calibrant.brier : Twice the area under the curve.

    Notes
    -----
    With score :math:`s_i` and outcome :math:`o_i`, the elementary score at threshold :math:`\theta` is

    .. math:: S_\theta(s, o) = \theta\,1[s > \theta, o = 0] + (1 - \theta)\,1[s \le \theta, o = 1],

    the cost of deciding at the threshold. The Brier score is twice its integral over :math:`\theta`.

    References
    ----------
    .. [1] Ehm, Gneiting, Jordan and Krueger (2016): Of quantiles and expectiles: consistent scoring functions, Choquet
       representations and forecast rankings. JRSS B 78, 505-562.

    Examples
    --------
    >>> from calibrant.figures.murphy import murphy_diagram
    >>> shown = murphy_diagram([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    >>> round(shown["model"].brier, 6), shown.exact
    (0.105, True)
    """
    check_whole(points, "points", 2)
    models = read_models(y_true, y_prob, sample_weight, pos_label)
    orders = {
        name: _Order(model_view("murphy_diagram", source, lens), isinstance(source, Predictions))
        for name, source in models.items()
    }
    # Both limits at every score, or an even grid if there are too many.
    knots = np.unique(np.concatenate([[0.0, 1.0], *(np.unique(order.score) for order in orders.values())]))
    exact = len(knots) <= points + 2
    if exact:
        theta = np.repeat(knots, 2)[1:]  # 0 has no left limit
        left = np.arange(len(theta)) % 2 == 1
    else:
        theta = np.arange(points + 1) / points
        left = np.zeros(len(theta), np.bool_)
    curves = []
    for name, order in orders.items():
        order.look_at(theta, left)
        curves.append(MurphyCurve(name, order.curve(order.weight), order.area()))
    return MurphyDiagram(theta, tuple(curves), exact, next(iter(orders.values())).lens, orders)


class _Order:
    """Rows of a view sorted by score, for sums at fixed thresholds under many weights."""

    def __init__(self, view: View, has_rows: bool) -> None:
        order = view.order
        self.has_rows = has_rows
        self.lens = view.lens
        self.kind = view.weight_kind
        self.rows = order
        self.score = view.score[order]
        self.positive = view.raw_outcome[order].astype(np.bool_)
        self.weight = view.weights
        self.theta: Floats = np.empty(0)
        self.below: Array = np.empty(0, np.intp)

    def look_at(self, theta: Floats, left: Array) -> None:
        """Set the thresholds; `left` marks left limits."""
        self.theta = theta
        after, before = (np.searchsorted(self.score, theta, side=side) for side in ("right", "left"))
        self.below = np.where(left, before, after)

    def curve(self, weight: Floats) -> Floats:
        """Mean elementary score at each threshold, for weights in the original order of the rows."""
        sorted_weight = weight[self.rows]
        missed, spared = (
            np.concatenate([[0.0], np.cumsum(sorted_weight * held)]) for held in (self.positive, ~self.positive)
        )
        cost = (1 - self.theta) * missed[self.below] + self.theta * (spared[-1] - spared[self.below])
        return np.asarray(cost / (missed[-1] + spared[-1]))

    def area(self) -> float:
        """Integral over [0, 1]; the curve is linear between adjacent scores."""
        weight = self.weight[self.rows]
        missed, spared = (np.concatenate([[0.0], np.cumsum(weight * held)]) for held in (self.positive, ~self.positive))
        ends = np.concatenate([[0.0], self.score, [1.0]])
        width, square = np.diff(ends), np.diff(ends**2) / 2
        pieces = missed * (width - square) + (spared[-1] - spared) * square
        return math.fsum(pieces.tolist()) / float(weight.sum())

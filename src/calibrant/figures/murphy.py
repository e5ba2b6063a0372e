"""The Murphy diagram: mean elementary score at every threshold; its area is half the Brier score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics.point.points import brier
from ..util.checks import check_whole
from ..util.results import number
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from ..views.view import View
from .base import MODELS_PARAMETERS, Diagram, Floats, finish
from .canvas import PAPER_WIDTH, Axes, new_ax
from .labels import plain
from .models import by_model, metric_label, model_named, model_series, model_views, read_models
from .styling import plots


@dataclass(frozen=True)
class MurphyCurve:
    """Murphy curve of one model; ``area`` is its integral over all thresholds, half the Brier score."""

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
    """

    theta: Floats
    curves: tuple[MurphyCurve, ...]
    exact: bool
    lens: str

    def __getitem__(self, name: str) -> MurphyCurve:
        return model_named(self.curves, name)

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
        Thresholds ``theta`` and ``curves`` by model, with the ``brier`` score of each. ``plot()`` draws them.

    See Also
    --------
    calibrant.brier : Twice the area under the curve.
    calibrant.compare : Difference of two models with an interval.

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
    views = model_views("murphy_diagram", read_models(y_true, y_prob, sample_weight, pos_label), lens)
    # Both limits at every score, or an even grid if there are too many.
    knots = np.unique(np.concatenate([[0.0, 1.0], *(view.score for view in views.values())]))
    exact = len(knots) <= points + 2
    if exact:
        theta = np.repeat(knots, 2)[1:]  # 0 has no left limit
        is_left_limit = np.arange(len(theta)) % 2 == 1
    else:
        theta = np.arange(points + 1) / points
        is_left_limit = np.zeros(len(theta), np.bool_)
    curves = tuple(_curve(name, view, theta, is_left_limit) for name, view in views.items())
    return MurphyDiagram(theta, curves, exact, next(iter(views.values())).lens)


def _curve(name: str, view: View, theta: Floats, is_left_limit: NDArray[np.bool_]) -> MurphyCurve:
    """Mean elementary score at each threshold, and its integral over [0, 1], half the Brier score."""
    score, weight = view.score[view.order], view.weights[view.order]
    positive = view.raw_outcome[view.order].astype(np.bool_)
    # Weight of the rows up to each place in the order, with the event and without it.
    missed, spared = (np.concatenate([[0.0], np.cumsum(weight * rows)]) for rows in (positive, ~positive))
    after, before = (np.searchsorted(score, theta, side=side) for side in ("right", "left"))
    below = np.where(is_left_limit, before, after)
    cost = (1 - theta) * missed[below] + theta * (spared[-1] - spared[below])
    return MurphyCurve(name, np.asarray(cost / (missed[-1] + spared[-1])), float(brier(view)) / 2)

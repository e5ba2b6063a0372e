"""Histograms of scores by outcome."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import Bins, bin_table, binning_rule
from ..binning.table import BinTable
from ..util.checks import check_choice
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from ..views.resolve import resolve
from .base import (
    Diagram,
    drawn,
    finish,
    none_for_nan,
    number_of,
    one_view,
    score_label,
)
from .canvas import PAPER_WIDTH, new_ax
from .labels import plain
from .models import legend_above
from .styling import plots, series_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class ScoreHistogram(Diagram):
    """Data of a histogram of scores by outcome.

    Parameters
    ----------
    table : BinTable
        The bins.
    positive : ndarray of shape (bins,)
        Rows (or weight) with outcome 1: the event, or a correct prediction.
    negative : ndarray of shape (bins,)
        Rows (or weight) with outcome 0.
    lens : str
        Lens of the scores.
    """

    table: BinTable = field(repr=False)
    positive: Floats
    negative: Floats
    lens: str

    @property
    def positive_share(self) -> Floats:
        """Share of the rows with outcome 1 in each bin; NaN without such rows."""
        return _shares(self.positive)

    @property
    def negative_share(self) -> Floats:
        """Share of the rows with outcome 0 in each bin; NaN without such rows."""
        return _shares(self.negative)

    def _columns(self) -> dict[str, list[float | None]]:
        edges = {"left": none_for_nan(self.table.left), "right": none_for_nan(self.table.right)}
        return {**edges, **self._listed("positive", "negative", "positive_share", "negative_share")}

    def _title(self) -> str:
        return f"Score histogram ({self.lens})"

    @plots
    def plot(
        self,
        ax: Axes | None = None,
        *,
        show: Literal["counts", "shares"] = "counts",
        **style: Any,
    ) -> Axes:
        """Plot the histogram; keywords such as ``color`` and ``label`` are lists of two, for the two outcomes.

        Parameters
        ----------
        ax
        show : {"counts", "shares"}, default "counts"
            Heights: rows in each bin, or the share of the rows of each outcome, which makes rare outcomes visible.
        """
        check_choice(show, "show", ("counts", "shares"))
        ax = new_ax(ax, height=PAPER_WIDTH * 0.7)
        edges = np.append(self.table.left, self.table.right[-1:])
        counted = (self.positive, self.negative)
        heights = (self.positive_share, self.negative_share) if show == "shares" else counted
        later = bool(drawn(ax, "outline"))
        looks = series_of(ax, {"linestyle": "-", **style}, outcome_names(self.lens))
        for look, counts, shown, hatch in zip(looks, counted, heights, ("", "////"), strict=True):
            if not counts.any():
                continue
            outline = ax.stairs(shown, edges, gid="outline", **look.line)
            outline.set_label(f"{look.label} ({number_of(counts.sum())})")
            filled: dict[str, Any] = {"facecolor": "none", "hatch": hatch} if hatch else {"facecolor": look.color}
            filled |= {"edgecolor": look.color, "alpha": 0.3 * look.line.get("alpha", 1.0), "linewidth": 0}
            if not later:  # areas would hide each other
                ax.stairs(shown, edges, fill=True, gid="fill", **filled)
        kind = "weight" if self.table.weight_kind == "importance" else "rows"
        finish(ax, score_label(self.lens), f"share of {kind} by outcome" if show == "shares" else kind)
        ax.set_xlim(0, 1)
        legend_above(ax)
        return ax


def _shares(values: Floats) -> Floats:
    total = values.sum()
    return values / total if total > 0 else np.full(len(values), np.nan)


def outcome_names(lens: str) -> tuple[str, str]:
    """Names of the two outcomes of a lens."""
    name, _, detail = plain(lens).partition(":")
    if name in ("top_label", "rank", "within_top"):
        return "correct", "wrong"
    if name == "ordinal":
        return f"at most {detail}", f"above {detail}"
    return (f"{detail}", f"not {detail}") if name == "class" else ("event", "no event")


@documents_keywords()
def score_histogram(
    y_true: Any,
    y_prob: Any = None,
    *,
    bins: Bins = 20,
    lens: str | Lens = "auto",
    sample_weight: Any = None,
    pos_label: Any = None,
) -> ScoreHistogram:
    """Compute histograms of the scores by outcome: events and non-events, or correct and wrong predictions.

    Parameters
    ----------
    y_true
    y_prob
    bins : int or sequence of float, default 20
        Number of bins of equal width, or their edges.
    lens
    sample_weight
    pos_label

    Returns
    -------
    ScoreHistogram
        The counts ``positive`` and ``negative`` of each bin; soft labels count partly for both. ``plot()`` draws them.

    See Also
    --------
    reliability_diagram : Observed rates by score.

    Examples
    --------
    >>> from calibrant.figures.histograms import score_histogram
    >>> histogram = score_histogram([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], bins=2)
    >>> histogram.positive.tolist(), histogram.negative.tolist()
    ([1.0, 2.0], [1.0, 0.0])
    """
    view = one_view(resolve(y_true, y_prob, sample_weight, pos_label), lens)
    table = bin_table(view, binning_rule(bins))
    return ScoreHistogram(table, table.positives, np.maximum(table.weight - table.positives, 0), view.lens)

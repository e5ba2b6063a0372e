"""Histograms of scores, one for each outcome: where the model puts the rows that it gets right, and those it gets wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import EQUAL_WIDTH, Bins, bin_table
from ..binning.table import BinTable
from ..errors import ArgumentError
from ..views.lenses import Lens
from .base import (
    COLOURS,
    SMALL,
    Diagram,
    axis_words,
    cells_of,
    check_choice,
    finish,
    legend,
    none_for_nan,
    number_of,
    one_view,
    plain,
)
from .canvas import PAPER_WIDTH, new_ax
from .labels import width_of
from .models import legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ScoreHistogram", "score_histogram"]

Floats = NDArray[np.float64]
# Inches from which on the name of an outcome stands above the ax rather than in a corner of it.
LONG_NAME = 1.2


@dataclass(frozen=True, repr=False)
class ScoreHistogram(Diagram):
    """Weight (rows, where there are no weights) in each bin of score, by outcome."""

    table: BinTable = field(repr=False)
    positive: Floats
    """Rows with outcome 1: right, or happened."""
    negative: Floats
    lens: str

    _stated = ("lens",)

    @property
    def positive_share(self) -> Floats:
        """The part of all rows with outcome 1 that lies in each bin; NaN where there is no such row."""
        return _shares(self.positive)

    @property
    def negative_share(self) -> Floats:
        """The part of all rows with outcome 0 that lies in each bin; NaN where there is no such row."""
        return _shares(self.negative)

    def _columns(self) -> dict[str, list[float | None]]:
        edges = {"low": none_for_nan(self.table.low), "high": none_for_nan(self.table.high)}
        return {**edges, **self._listed("positive", "negative", "positive_share", "negative_share")}

    def _title(self) -> str:
        return f"Score histogram ({self.lens})"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        columns = self._columns()
        kept = {name: columns[name] for name in ("low", "high", "positive", "negative")}
        return list(kept), cells_of(kept)

    def plot(self, ax: Axes | None = None, *, show: Literal["counts", "shares"] = "counts", log: bool = False) -> Axes:
        """Draw on `ax`, or on a new one, which is returned.

        Parameters
        ----------
        show
            ``"counts"``: rows in each bin. ``"shares"``: the part of each outcome's rows, so that rare outcomes are seen.
        log
            Heights on a logarithmic axis.
        """
        check_choice(show, ("counts", "shares"), "show")
        if not isinstance(log, bool):
            raise ArgumentError("log", f"must be True or False; got {log!r}")
        ax = new_ax(ax, height=PAPER_WIDTH * 0.7)
        right, wrong = outcome_words(self.lens)
        pairs = (
            (self.positive, self.positive_share, right, COLOURS[0], ""),
            (self.negative, self.negative_share, wrong, COLOURS[1], "////"),
        )
        edges = np.append(self.table.low, self.table.high[-1:])
        for counts, shares, word, hue, hatch in pairs:
            if not counts.any():
                continue
            drawn = ax.stairs(shares if show == "shares" else counts, edges, color=hue, linewidth=1.2, gid="outline")
            drawn.set_label(f"{word} ({number_of(counts.sum())})")
            filled: dict[str, Any] = {"facecolor": hue} if not hatch else {"facecolor": "none", "hatch": hatch}
            ax.stairs(
                shares if show == "shares" else counts,
                edges,
                fill=True,
                edgecolor=hue,
                alpha=0.3,
                linewidth=0,
                gid="fill",
                **filled,
            )
        if log:
            ax.set_yscale("log")
        kind = "weight" if self.table.weight_kind == "importance" else "rows"
        finish(ax, axis_words(self.lens)[0], f"part of each outcome's {kind}" if show == "shares" else kind)
        ax.set_xlim(0, 1)
        if max((width_of(label, SMALL) for label in ax.get_legend_handles_labels()[1]), default=0) > LONG_NAME:
            legend_above(ax)
        else:
            legend(ax, "upper left" if np.average(edges[:-1], weights=self.table.weight) > 0.5 else "upper right")
        return ax


def _shares(values: Floats) -> Floats:
    total = values.sum()
    return values / total if total > 0 else np.full(len(values), np.nan)


def outcome_words(lens: str) -> tuple[str, str]:
    """What the two outcomes of a lens are called."""
    name, _, detail = plain(lens).partition(":")
    if name in ("top_label", "rank", "within_top"):
        return "right", "wrong"
    return (f"{detail}", f"not {detail}") if name == "class" else ("happened", "did not happen")


def score_histogram(
    y_true: Any, y_prob: Any = None, *, bins: Bins = 20, lens: str | Lens = "auto", where: Any = None, **keywords: Any
) -> ScoreHistogram:
    """How scores are spread, for each outcome: right and wrong, or happened and not.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities, or Predictions, a View or a Sketch; keywords of `Predictions` are taken too. Soft labels count
        in part for either outcome.
    bins
        Number of bins of equal width, or edges.
    lens
        Which question is asked; one with one score for each row.
    where
        Which rows: a boolean mask or a Selection.

    Examples
    --------
    >>> from calibrant.figures.histograms import score_histogram
    >>> histogram = score_histogram([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], bins=2)
    >>> histogram.positive.tolist(), histogram.negative.tolist()
    ([1.0, 2.0], [1.0, 0.0])
    """
    view = one_view(score_histogram, y_true, y_prob, lens, where, keywords)
    table = bin_table(view, EQUAL_WIDTH, bins)
    return ScoreHistogram(table, table.positives, np.maximum(table.weight - table.positives, 0), view.lens)

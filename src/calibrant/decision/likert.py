"""Words for probabilities: how far outcome rates lie outside the bands that words such as "low" and "high" stand for."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import BINS, bin_table, is_default
from ..errors import Argument, ArgumentError, Drop
from ..util.results import Result, number, pvalue_text
from ..views.view import View
from .rows import finite_column, one_view

__all__ = ["LikertBand", "LikertResult", "likert_error"]

Floats = NDArray[np.float64]

WORDS: dict[str, tuple[tuple[float, ...], tuple[str, ...]]] = {
    "three": ((0, 0.33, 0.66, 1), ("low", "medium", "high")),
    "five": ((0, 0.2, 0.4, 0.6, 0.8, 1), ("very low", "low", "medium", "high", "very high")),
}
# A rate that equals an edge up to rounding is inside.
SLACK = 1e-12


@dataclass(frozen=True)
class LikertBand:
    """One word for probabilities from `low` up to `high`, and what was seen of it; NaN where no row has it."""

    name: str
    low: float
    high: float
    rows: float
    mean_score: float
    rate: float
    error: float
    """How far the outcome rate lies outside the band."""
    direction: str
    """Whether the rate lies ``"below"``, ``"inside"`` or ``"above"`` the band; empty where no row has the word."""
    pvalue: float
    """Exact binomial p-value of a rate beyond the near edge; NaN under importance weights and soft labels."""


@dataclass(frozen=True, repr=False)
class LikertResult(Result):
    """The error of words for probabilities, overall and word by word."""

    error: float
    bands: tuple[LikertBand, ...]
    _numeric, _width = range(9), 9

    def __getitem__(self, name: str) -> LikertBand:
        for band in self.bands:
            if band.name == name:
                return band
        raise ArgumentError("name", f"unknown band {name!r}", f"choose one of {[band.name for band in self.bands]}")

    def _columns(self) -> dict[str, list[Any]]:
        return {field.name: [getattr(band, field.name) for band in self.bands] for field in fields(LikertBand)}

    def _title(self) -> str:
        return f"Likert error {number(self.error)}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return ["name", "low", "high", "rows", "score", "rate", "error", "direction", "p-value"], [
            [b.name, number(b.low), number(b.high), f"{b.rows:.6g}", number(b.mean_score), number(b.rate), number(b.error), b.direction, pvalue_text(b.pvalue)]
            for b in self.bands
        ]  # fmt: skip


def likert_error(
    y_true: Any,
    y_prob: Any = None,
    *,
    edges: Any = "three",
    names: Any = None,
    within: Any = "one",
    bins: Any = BINS,
    lens: Any = "auto",
    where: Any = None,
    **keywords: Any,
) -> LikertResult:
    """How far outcome rates lie outside the bands of probability that words such as "low" and "high" stand for.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities, Predictions or a Sketch; keywords of `Predictions` are taken too.
    edges
        ``"three"`` (low, medium, high, cut at 0.33 and 0.66), ``"five"`` (very low to very high, cut at fifths), or rising
        edges from 0 to 1. A band holds its lower edge, the last one both.
    names
        The words, one for each band.
    within, bins
        ``"one"`` looks at each band as a whole; a binning (``"equal_mass"``) cuts it into `bins` and averages their errors.
    lens, where
        Which yes-or-no question, and which rows.

    Examples
    --------
    >>> from calibrant.decision.likert import likert_error
    >>> likert_error([0, 1, 1, 1], [0.1, 0.2, 0.8, 0.9])["low"].direction
    'above'
    """
    view = one_view(likert_error, y_true, y_prob, lens, where, keywords)
    cuts, words = _words(edges, names)
    if not is_default(bins) and isinstance(within, str) and within == "one":
        raise ArgumentError(
            "bins", ("has no effect unless ", Argument("within"), f" is a binning; got {bins!r}"), Drop("bins")
        )
    place = np.clip(np.searchsorted(cuts, view.score, side="right") - 1, 0, len(words) - 1)
    exact = view.weight_kind != "importance" and not view.is_soft
    bands = tuple(
        _band(view, place == i, words[i], low, high, within, bins, exact)
        for i, (low, high) in enumerate(pairwise(cuts))
    )
    return LikertResult(math.fsum(b.rows * b.error for b in bands if b.rows > 0) / view.total, bands)


def _words(edges: Any, names: Any) -> tuple[list[float], list[str]]:
    known = WORDS.get(edges) if isinstance(edges, str) else None
    if known is not None:
        cuts, words = list(known[0]), list(known[1])
    elif isinstance(edges, str):
        raise ArgumentError("edges", f"must be 'three', 'five' or numbers; got {edges!r}")
    else:
        cuts = finite_column(edges, "edges").tolist()
        words = [f"{low:g} to {high:g}" for low, high in pairwise(cuts)]
    if len(cuts) < 2 or cuts[0] != 0 or cuts[-1] != 1 or any(b <= a for a, b in pairwise(cuts)):
        raise ArgumentError("edges", f"must increase from 0 to 1; got {edges!r}", "for example [0, 0.5, 1]")
    if names is not None:
        words = [str(name) for name in names]
        if len(words) != len(cuts) - 1:
            raise ArgumentError("names", f"expected {len(cuts) - 1} names, one for each band; got {len(words)}")
    return [float(cut) for cut in cuts], words


def _outside(rate: Floats, low: float, high: float) -> Floats:
    away = np.maximum(low - rate, rate - high)
    return np.where(away > SLACK, away, 0.0)


def _band(
    view: View, held: NDArray[np.bool_], name: str, low: float, high: float, within: Any, bins: Any, exact: bool
) -> LikertBand:
    if not held.any():
        return LikertBand(name, low, high, 0.0, math.nan, math.nan, math.nan, "", math.nan)
    weight = None if view.weight is None else view.weight[held]
    part = View(view.score[held], view.raw_outcome[held], weight, view.weight_kind, lens=view.lens)
    rows, rate = part.total, part.mean(part.raw_outcome)
    error = float(_outside(np.array([rate]), low, high)[0])
    direction = "inside" if error == 0 else "above" if rate > high else "below"
    if within != "one":
        table = bin_table(part, within, bins)
        full = table.weight > 0
        error = float((table.weight[full] * _outside(table.rate[full], low, high)).sum()) / rows
    pvalue = _edge_pvalue(rows, rows * rate, low, high, direction) if exact else math.nan
    return LikertBand(name, low, high, rows, part.mean(part.score), rate, error, direction, pvalue)


def _edge_pvalue(rows: float, events: float, low: float, high: float, direction: str) -> float:
    """P(Bin(n, high) >= k) above the band, P(Bin(n, low) <= k) below it, 1 inside."""
    from scipy.special import betainc

    k = round(events)
    if direction == "inside":
        return 1.0
    if direction == "above":
        return float(betainc(k, rows - k + 1, high))
    return float(betainc(rows - k, k + 1, 1 - low))

"""Verbal probabilities: distance of observed rates from the bands that terms such as "low" and "high" denote."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import BINS, NAMED, binning_rule
from ..binning.partition import KDTree, cells_of
from ..binning.rules import LEVELS, BinningRule
from ..errors import ArgumentError
from ..util.arrays import Floats
from ..util.results import Result, number, pvalue_text
from ..views.keywords import documents_keywords
from ..views.resolve import resolve
from ..views.view import View
from .rows import finite_column, one_view

TERMS: dict[str, tuple[tuple[float, ...], tuple[str, ...]]] = {
    "three": ((0, 0.33, 0.66, 1), ("low", "medium", "high")),
    "five": ((0, 0.2, 0.4, 0.6, 0.8, 1), ("very low", "low", "medium", "high", "very high")),
}
# A rate within rounding error of an edge is inside.
SLACK = 1e-12


@dataclass(frozen=True)
class LikertBand:
    """One verbal probability term, its band and the observed rate; NaN where no row has the term.

    Parameters
    ----------
    name : str
        The term.
    low, high : float
        Edges of its band of probabilities.
    rows : float
        Number of rows, or their weight.
    mean_score : float
        Mean predicted probability.
    rate : float
        Observed rate.
    error : float
        Mean distance of the observed rates of its cells from the band; 0 if all lie inside.
    direction : {"below", "inside", "above", ""}
        Position of the observed rate of the band as a whole; empty without rows.
    pvalue : float
        Exact binomial p-value of the null hypothesis that the true rate lies in the band, edges included: two-sided, and one-sided for a
        band that begins at 0 or ends at 1. NaN with importance weights or soft labels.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decision.likert_error([0, 1, 1, 1], [0.1, 0.2, 0.8, 0.9])["low"].rate
    0.5
    """

    name: str
    low: float
    high: float
    rows: float
    mean_score: float
    rate: float
    error: float
    direction: str
    pvalue: float


@dataclass(frozen=True, repr=False)
class LikertResult(Result):
    """Error of verbal probabilities, in total and by term.

    ``result["low"]`` is the `LikertBand` of one term.

    Parameters
    ----------
    error : float
        Mean error of the bands, weighted by rows.
    bands : tuple of LikertBand
        One entry per term.
    """

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


@documents_keywords()
def likert_error(
    y_true: Any,
    y_prob: Any = None,
    *,
    edges: Any = "three",
    within: Any = "kd_tree",
    lens: Any = "auto",
    where: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> LikertResult:
    r"""Compute the calibration error of verbal probabilities.

    Predicted probabilities are grouped into bands that terms such as "low" and "high" denote. Each band is divided into cells, and its error is
    the mean distance of the observed rates of its cells from the band; a rate inside the band has distance 0.

    Parameters
    ----------
    y_true
    y_prob
    edges : {"three", "five"} or array-like, default "three"
        ``"three"`` (low, medium, high, with edges 0.33 and 0.66), ``"five"`` (very low to very high, edges at fifths), or increasing
        edges from 0 to 1. Bands include their lower edge, the last one both.
    within : {"kd_tree", "one"}, KDTree, or binning, default "kd_tree"
        Cells of a band: ``"kd_tree"`` splits its rows at the median until a cell contains at most a tenth of them, as in [1]_, or
        fewer than 20; equal scores stay together. ``KDTree(gamma=...)`` sets another fraction. ``"one"`` evaluates each band as a whole, and a binning such as
        ``EqualMass(15)`` divides it into bins; ``"levels"`` has one cell per distinct score.
    lens
    where
    sample_weight
    pos_label

    Returns
    -------
    LikertResult
        Result with the attributes ``error`` and ``bands``.

    Raises
    ------
    ArgumentError
        If the edges do not increase from 0 to 1.

    See Also
    --------
    grade_tests : Tests of rating grades against their predicted probability.
    gece : The same error of one band, with ``distance="interval"`` and a selection of its rows.

    Notes
    -----
    With the cells :math:`B` of a band :math:`[l, h)`, their numbers of rows :math:`n_B` and observed rates :math:`\bar y_B` its error is

    .. math:: \sum_B \frac{n_B}{\sum_C n_C} \max(0,\; l - \bar y_B,\; \bar y_B - h),

    and the total is the mean over the bands, weighted by their rows. Cells reveal deviations that cancel in the band as a whole, so that the
    error can be positive where ``direction`` is ``"inside"``; sampling noise of the rates adds to it near the edges of a band. ``rate``,
    ``direction`` and ``pvalue`` refer to the band as a whole. With :math:`k` events in :math:`n` rows the p-value is

    .. math:: \min\{1,\; 2 \min(P(\mathrm{Bin}(n, h) \ge k),\; P(\mathrm{Bin}(n, l) \le k))\},

    which rejects a true rate anywhere in the band with probability at most the level; it is not doubled for :math:`l = 0` or :math:`h = 1`, where a
    rate can lie outside on one side only, and 1 for an observed rate inside the band. The p-values are not corrected for the number of bands.

    References
    ----------
    .. [1] Kirchenbauer, J., Oaks, J. and Heim, E. (2022). What is your metric telling you? Evaluating classifier calibration under
       context-specific definitions of reliability. ICLR Workshop on ML Evaluation Standards.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decision.likert_error([0, 1, 1, 1], [0.1, 0.2, 0.8, 0.9])["low"].direction
    'above'
    """
    view = one_view("likert_error", resolve(y_true, y_prob, sample_weight, pos_label, where), lens)
    cuts, terms = read_bands(edges)
    rule = _read_rule(within)
    place = np.clip(np.searchsorted(cuts, view.score, side="right") - 1, 0, len(terms) - 1)
    exact = view.weight_kind != "importance" and not view.is_soft
    bands = tuple(
        _band(view, place == i, terms[i], low, high, rule, exact) for i, (low, high) in enumerate(pairwise(cuts))
    )
    return LikertResult(math.fsum(b.rows * b.error for b in bands if b.rows > 0) / view.total, bands)


def _read_rule(within: Any) -> KDTree | BinningRule | None:
    """The rule that divides a band into cells; None for one cell."""
    known = ("kd_tree", "one", *NAMED, LEVELS)
    if isinstance(within, type) or (isinstance(within, str) and within not in known):
        listed = ", ".join(map(repr, known))
        problem = f"must be {listed}, a KDTree or a rule; got {within!r}"
        raise ArgumentError("within", problem, "for example KDTree(gamma=0.1)")
    if isinstance(within, str) and within in ("one", "kd_tree"):
        return KDTree() if within == "kd_tree" else None
    return within if isinstance(within, KDTree) else binning_rule(BINS, within)


def read_bands(edges: Any, names: Any = None) -> tuple[list[float], list[str]]:
    """The edges of the bands, and the term of each."""
    known = TERMS.get(edges) if isinstance(edges, str) else None
    if known is not None:
        cuts, terms = list(known[0]), list(known[1])
    elif isinstance(edges, str):
        raise ArgumentError("edges", f"must be 'three', 'five' or numbers; got {edges!r}")
    else:
        cuts = finite_column(edges, "edges").tolist()
        terms = [f"{low:g} to {high:g}" for low, high in pairwise(cuts)]
    if len(cuts) < 2 or cuts[0] != 0 or cuts[-1] != 1 or any(b <= a for a, b in pairwise(cuts)):
        raise ArgumentError("edges", f"must increase from 0 to 1; got {edges!r}", "for example [0, 0.5, 1]")
    if names is not None:
        terms = [str(name) for name in names]
        if len(terms) != len(cuts) - 1:
            raise ArgumentError("names", f"expected {len(cuts) - 1} names, one for each band; got {len(terms)}")
    return [float(cut) for cut in cuts], terms


def _outside(rate: Floats, low: float, high: float) -> Floats:
    away = np.maximum(low - rate, rate - high)
    return np.where(away > SLACK, away, 0.0)


def _band(
    view: View, held: NDArray[np.bool_], name: str, low: float, high: float, rule: Any, exact: bool
) -> LikertBand:
    from scipy.special import betainc

    if not held.any():
        return LikertBand(name, low, high, 0.0, math.nan, math.nan, math.nan, "", math.nan)
    weight = None if view.weight is None else view.weight[held]
    part = View(
        view.score[held], view.raw_outcome[held], weight, view.weight_kind, lens=view.lens, classes=view.classes
    )
    rows, rate = part.total, part.mean(part.raw_outcome)
    error = float(_outside(np.array([rate]), low, high)[0])
    direction = "inside" if error == 0 else "above" if rate > high else "below"
    if rule is not None:
        weight, rates = _rates(part, rule)
        error = float((weight * _outside(rates, low, high)).sum()) / rows
    pvalue = math.nan
    if exact and direction == "inside":
        pvalue = 1.0
    elif exact:
        # Twice the smaller of P(Bin(n, high) >= k) and P(Bin(n, low) <= k); not doubled where an edge is 0 or 1, beyond which no rate lies.
        k = round(rows * rate)
        above = float(betainc(k, rows - k + 1, high)) if k > 0 and high < 1 else 1.0
        below = float(betainc(rows - k, k + 1, 1 - low)) if k < rows and low > 0 else 1.0
        pvalue = min(1.0, ((high < 1) + (low > 0)) * min(above, below))
    return LikertBand(name, low, high, rows, part.mean(part.score), rate, error, direction, pvalue)


def _rates(part: View, rule: KDTree | BinningRule) -> tuple[Floats, Floats]:
    """Weight and observed rate of each cell of a band."""
    if isinstance(rule, KDTree):
        cell, count = cells_of(part.as_vector(), rule)
        weight = np.bincount(cell, part.weights, count).astype(np.float64)
        events = np.bincount(cell, part.weights * part.outcome, count).astype(np.float64)
    else:
        table = rule.table(part)
        weight, events = table.weight, table.weight * np.where(table.weight > 0, table.rate, 0.0)
    full = weight > 0
    return weight[full], events[full] / weight[full]

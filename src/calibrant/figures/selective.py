"""The risk-coverage diagram: risk of the accepted rows against the share of rows accepted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..binning.table import check_interval
from ..decision.selective import OperatingPoint, RiskCoverage, _points, risk_coverage
from ..util.checks import check_choice
from ..util.results import number
from ..views.keywords import documents_keywords
from .base import DASHED, MODELS_PARAMETERS, Diagram, Floats, finish, series_on
from .canvas import PAPER_WIDTH, Axes, ink, new_ax
from .models import by_model, model_named, model_series, read_models, single_point
from .styling import Series, plots

Risk = Literal["selective", "generalised"]
# Points of a curve, evenly spaced in coverage.
POINTS = 400
HEADINGS = ["model", "area", "risk at full coverage", "threshold", "coverage", "risk"]


@dataclass(frozen=True)
class RiskCurve:
    """Risk-coverage curve of one model, with those of the oracle and of random acceptance.

    ``low`` and ``high`` are the ends of the interval of the risk (NaN without), ``area`` is AURC, or AUGRC for generalised risks. The oracle
    ranks every correct prediction above every wrong one; ``random_risk`` is the risk at each coverage for random acceptance; ``mark`` is
    the operating point at the threshold that is marked, None without one.
    """

    name: str
    threshold: Floats
    coverage: Floats
    risk: Floats
    low: Floats
    high: Floats
    area: float
    oracle_coverage: Floats
    oracle_risk: Floats
    random_risk: Floats
    mark: OperatingPoint | None


@dataclass(frozen=True, repr=False)
class RiskCoverageDiagram(Diagram):
    """Data of risk-coverage curves.

    Parameters
    ----------
    curves : tuple of RiskCurve
        Curve of each model; ``diagram[name]`` returns one.
    risk : {"selective", "generalised"}
        Kind of the risk.
    level : float or None
        Level of the interval of each risk.
    lens : str
        Lens of the scores.
    """

    curves: tuple[RiskCurve, ...]
    risk: Risk
    level: float | None
    lens: str

    def __getitem__(self, name: str) -> RiskCurve:
        return model_named(self.curves, name)

    def _columns(self) -> dict[str, list[Any]]:
        return by_model(self.curves, ("threshold", "coverage", "risk", "low", "high", "random_risk"), {})

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = []
        for curve in self.curves:
            mark = curve.mark
            point = (
                (None, None, None)
                if mark is None
                else (mark.threshold, mark.coverage, getattr(mark, f"{self.risk}_risk"))
            )
            rows.append([curve.name, *map(number, (curve.area, float(curve.risk[-1]), *point))])
        return HEADINGS, rows

    def _title(self) -> str:
        return f"Risk-coverage diagram ({self.risk} risk, {self.lens})"

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot the curves, dashed for random acceptance and dotted for the oracle, with intervals for up to two models."""
        ax = new_ax(ax, width=PAPER_WIDTH, height=2.6)
        earlier = ax.get_ylim()[1] if series_on(ax) else 0.0
        for curve, look in zip(self.curves, model_series(ax, style, self.curves), strict=True):
            self._draw(ax, look, curve)
        top = max(float(c.risk[c.coverage >= 0.1].max(initial=float(c.risk[-1]))) for c in self.curves)
        ax.set_xlim(0, 1.005)
        ax.set_ylim(0, max(earlier, min(1.0, 1.1 * top) if top > 0 else 1.0))
        what = "error rate of accepted rows" if self.risk == "selective" else "generalized risk"
        finish(ax, "coverage (share of rows accepted)", what)
        return ax

    def _draw(self, ax: Axes, look: Series, curve: RiskCurve) -> None:
        if len(self.curves) <= 2:
            look.shade(ax, curve.coverage, curve.low, curve.high)
        facts = f"area {number(curve.area, 3)}"
        if curve.mark is not None:
            facts += f", confidence \u2265 {number(curve.mark.threshold, 3)}"
        alone = single_point(curve.coverage)
        ax.plot(curve.coverage, curve.risk, gid="series", **{**alone, **look.line}, label=look.named(facts))
        thin: dict[str, Any] = {"linewidth": 0.8, "color": look.color, "zorder": 1.6}
        random, oracle = ("random acceptance", "oracle") if curve is self.curves[-1] else (None, None)
        around = {**alone, "markersize": 7} if alone else {}
        ax.plot(curve.coverage, curve.random_risk, linestyle=DASHED, label=random, gid="random", **thin, **around)
        ax.plot(curve.oracle_coverage, curve.oracle_risk, linestyle=(0, (1, 1.5)), label=oracle, gid="oracle", **thin)
        if curve.mark is not None:
            x, y = curve.mark.coverage, getattr(curve.mark, f"{self.risk}_risk")
            ax.axvline(x, color=look.color, linewidth=0.6, linestyle=(0, (1, 2)), zorder=1.4)
            ax.plot([x], [y], "o", color=look.color, markeredgecolor=ink(), markersize=4.5, zorder=5, gid="mark")


@documents_keywords(table=MODELS_PARAMETERS)
def risk_coverage_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    risk: Risk = "selective",
    threshold: Any = None,
    level: float | None = 0.95,
    lens: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> RiskCoverageDiagram:
    r"""Compute risk-coverage curves: the risk of the accepted rows against the share of rows accepted.

    Parameters
    ----------
    y_true
    y_prob
    risk : {"selective", "generalised"}, default "selective"
        Mean loss of the accepted rows, or over all rows with rejected rows counted as 0.
    threshold : float or mapping, optional
        Confidence threshold to mark, such as that of `choose_threshold`; a mapping by name for several models.
    level
    lens : str or Lens, optional
        Lens, as in `risk_coverage`.
    sample_weight
    pos_label

    Returns
    -------
    RiskCoverageDiagram
        ``curves`` by model, with ``coverage``, ``risk``, ``area`` and the marked operating point ``mark``. ``plot()``
        draws them.

    See Also
    --------
    calibrant.decision.risk_coverage : The curve of one model.
    calibrant.choose_threshold : A threshold with a guarantee.

    Notes
    -----
    At threshold :math:`t` the coverage is :math:`P(c \ge t)`, the selective risk :math:`E[\ell \mid c \ge t]` and the
    generalized risk :math:`E[\ell\,1(c \ge t)]`.

    References
    ----------
    .. [1] El-Yaniv and Wiener (2010): On the foundations of noise-free selective classification. JMLR 11, 1605-1641.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> from calibrant.figures.selective import risk_coverage_diagram
    >>> shown = risk_coverage_diagram(Predictions([1, 1, 0, 1], [0.9, 0.8, 0.7, 0.6], input="confidence"), threshold=0.8)
    >>> shown["model"].risk.round(3).tolist(), shown["model"].mark.threshold
    ([0.0, 0.0, 0.333, 0.25], 0.8)
    """
    check_choice(risk, "risk", ("selective", "generalised"))
    check_interval(0.95 if level is None else level, "clopper_pearson")
    models = read_models(y_true, y_prob, sample_weight, pos_label)
    curves = []
    for name, source in models.items():
        path = risk_coverage(source, level=None, lens=lens)
        marked = threshold.get(name) if isinstance(threshold, Mapping) else threshold
        curves.append(_curve(name, path, risk, level, None if marked is None else path.at(marked)))
    return RiskCoverageDiagram(tuple(curves), risk, level, path.lens)


def _curve(name: str, path: RiskCoverage, risk: Risk, level: float | None, mark: OperatingPoint | None) -> RiskCurve:
    kept = np.unique(np.searchsorted(path.coverage, np.linspace(0, 1, POINTS) * (1 - 1e-12)))
    shown = _points(path.judged, path.threshold[kept], level if risk == "selective" else None, "clopper_pearson")
    share, seen = path.coverage[kept], getattr(path, f"{risk}_risk")[kept]
    whole = float(path.selective_risk[-1])
    # The best order accepts rows by increasing loss; rows with equal losses may be accepted in part.
    steps = path.judged.steps_by(-path.judged.loss)
    reached, lost = (np.concatenate([[0.0], sums]) / path.judged.total for sums in (steps.accepted, steps.lost))
    best_share = np.unique(np.concatenate([np.arange(1, 201) / 200, reached[1:] if len(reached) <= 201 else []]))
    best_share = best_share[best_share <= 1.0]
    best_total = np.interp(best_share, reached, lost)
    best_risk = best_total / best_share if risk == "selective" else best_total
    return RiskCurve(
        name=name,
        threshold=path.threshold[kept],
        coverage=share,
        risk=seen,
        low=np.array([point.low for point in shown]),
        high=np.array([point.high for point in shown]),
        area=path.aurc if risk == "selective" else path.augrc,
        oracle_coverage=best_share,
        oracle_risk=best_risk,
        random_risk=np.full(len(kept), whole) if risk == "selective" else whole * share,
        mark=mark,
    )

"""The risk-coverage diagram: risk of the accepted rows against the share of rows accepted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.table import check_interval
from ..decision.rows import Judged
from ..decision.selective import OperatingPoint, RiskCoverage, _points, risk_coverage
from ..decision.thresholds import choose_threshold
from ..errors import ArgumentError
from ..util.checks import check_choice, check_fraction, check_whole
from ..util.results import number
from ..views.keywords import documents_keywords
from .base import MODELS_PARAMETERS, Diagram, finish, series_on
from .canvas import PAPER_WIDTH, new_ax, tones_of
from .models import by_model, legend_above, model_named, model_series, read_models, single_point
from .styling import LINES, Series, plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Risk = Literal["selective", "generalised"]
HEADINGS = ["model", "area", "risk at full coverage", "threshold", "coverage", "risk"]


@dataclass(frozen=True)
class RiskCurve:
    """Risk-coverage curve of one model, with those of the oracle and of random acceptance."""

    name: str
    threshold: Floats
    coverage: Floats
    risk: Floats
    low: Floats
    """Lower end of the interval of the risk; NaN without interval."""
    high: Floats
    area: float
    """AURC, or AUGRC for generalised risks."""
    oracle_coverage: Floats
    oracle_risk: Floats
    """Risk of the oracle, which ranks every correct prediction above every wrong one."""
    random_risk: Floats
    """Risk at each coverage for random acceptance."""
    mark: OperatingPoint | None
    """Operating point that meets the target; None without target, or if it is not met."""


@dataclass(frozen=True, repr=False)
class RiskCoverageDiagram(Diagram):
    """Data of risk-coverage curves.

    Parameters
    ----------
    curves : tuple of RiskCurve
        Curve of each model; ``diagram[name]`` returns one.
    risk : {"selective", "generalised"}
        Kind of the risk.
    target : str
        Target of the marked threshold as text; empty without target.
    level : float or None
        Level of the interval of each risk.
    lens : str
        Lens of the scores.
    """

    curves: tuple[RiskCurve, ...]
    risk: Risk
    target: str
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
            point = (None, None, None) if mark is None else (mark.threshold, mark.coverage, _risk_at(mark, self.risk))
            rows.append([curve.name, *map(number, (curve.area, float(curve.risk[-1]), *point))])
        return HEADINGS, rows

    def _title(self) -> str:
        target = f"; threshold for {self.target}" if self.target else ""
        return f"Risk-coverage diagram ({self.risk} risk, {self.lens}{target})"

    @plots(*LINES)
    def plot(
        self,
        ax: Axes | None = None,
        *,
        oracle: bool = True,
        random: bool = True,
        band: bool | None = None,
        **style: Any,
    ) -> Axes:
        """Plot the curves.

        Parameters
        ----------
        ax
        oracle : bool, default True
            Whether to plot the curve of the oracle, which ranks every correct prediction above every wrong one.
        random : bool, default True
            Whether to plot the curve of random acceptance.
        band : bool, optional
            Whether to plot the interval of each risk; by default for up to two models.
        """
        ax = new_ax(ax, width=PAPER_WIDTH, height=2.9)
        shaded = len(self.curves) <= 2 if band is None else band
        others = series_on(ax)
        earlier = ax.get_ylim()[1] if others else 0.0
        for curve, look in zip(self.curves, model_series(ax, style, self.curves), strict=True):
            self._draw(ax, look, curve, shaded, oracle, random)
        if others or len(self.curves) > 1:  # several models are distinguished by their colors
            for line in ax.lines:
                kind, _, color = str(line.get_gid()).partition(" ")
                if kind == "bound":
                    line.set_color(color)
        top = max(float(c.risk[c.coverage >= 0.1].max(initial=float(c.risk[-1]))) for c in self.curves)
        ax.set_xlim(0, 1.005)
        ax.set_ylim(0, max(earlier, min(1.0, 1.1 * top) if top > 0 else 1.0))
        what = "error rate of accepted rows" if self.risk == "selective" else "generalized risk"
        finish(ax, "coverage (share of rows accepted)", what)
        legend_above(ax)
        return ax

    def _draw(self, ax: Axes, look: Series, curve: RiskCurve, shaded: bool, oracle: bool, random: bool) -> None:
        from matplotlib.colors import to_hex

        if shaded:
            look.shade(ax, curve.coverage, curve.low, curve.high)
        facts = f"area {number(curve.area, 3)}"
        if curve.mark is not None:
            facts += f", confidence \u2265 {number(curve.mark.threshold, 3)}"
        label: str | None = facts if look.label is None else f"{look.label} ({facts})"
        alone = single_point(curve.coverage)
        around = {**alone, "markersize": 7} if alone else {}
        ax.plot(curve.coverage, curve.risk, gid="series", **{**alone, **look.line}, label=label)
        last = curve is self.curves[-1]
        thin: dict[str, Any] = {"linewidth": 0.8, "color": tones_of(ax).muted, "zorder": 1.6}
        thin["gid"] = f"bound {to_hex(look.color)}"
        if random:
            label = "random acceptance" if last else None
            ax.plot(curve.coverage, curve.random_risk, linestyle=(0, (4, 3)), label=label, **thin, **around)
        if oracle:
            label = "oracle" if last else None
            ax.plot(curve.oracle_coverage, curve.oracle_risk, linestyle=(0, (1, 1.5)), label=label, **thin)
        if curve.mark is not None:
            x, y = curve.mark.coverage, _risk_at(curve.mark, self.risk)
            ax.axvline(x, color=look.color, linewidth=0.6, linestyle=(0, (1, 2)), zorder=1.4)
            marked = [other.name for other in self.curves if other.mark is not None]
            label = self.target if curve.name == marked[-1] else None
            ring: dict[str, Any] = {"markeredgecolor": tones_of(ax).ink, "markersize": 4.5, "zorder": 5}
            ax.plot([x], [y], "o", color=look.color, label=label, **ring)


@documents_keywords(table=MODELS_PARAMETERS)
def risk_coverage_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    confidence: Any = None,
    loss: Any = None,
    risk: Risk = "selective",
    accuracy: float | None = None,
    coverage: float | None = None,
    guarantee: float | None = None,
    level: float | None = 0.95,
    points: int = 400,
    lens: Any = None,
    where: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> RiskCoverageDiagram:
    r"""Compute risk-coverage curves: the risk of the accepted rows against the share of rows accepted.

    Parameters
    ----------
    y_true
    y_prob
    confidence : array-like of shape (N,) or mapping, optional
        Confidence of each row, as in `risk_coverage`; a mapping by name for several models. By default the largest
        probability.
    loss : array-like of shape (N,) or mapping, optional
        Loss of each row, as in `risk_coverage`; by default 1 for a wrong prediction.
    risk : {"selective", "generalised"}, default "selective"
        Mean loss of the accepted rows, or over all rows with rejected rows counted as 0.
    accuracy : float, optional
        Target to mark: the lowest threshold whose accepted rows have this accuracy.
    coverage : float, optional
        Target to mark: the highest threshold that accepts this share of rows.
    guarantee : float, optional
        Probability with which the target holds for new rows; the threshold is then that of `choose_threshold`. By
        default the threshold is the best on these rows, which is optimistic for new ones.
    level
    points : int, default 400
        Largest number of points per curve, evenly spaced in coverage.
    lens : str or Lens, optional
        Lens, as in `risk_coverage`.
    where
    sample_weight
    pos_label

    Returns
    -------
    RiskCoverageDiagram
        ``curves`` by model, with ``coverage``, ``risk``, ``area`` and the marked operating point ``mark``. ``plot()``
        draws them.

    Raises
    ------
    ArgumentError
        If both `accuracy` and `coverage` are given, or `guarantee` without a target.

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
    >>> shown = risk_coverage_diagram(Predictions([1, 1, 0, 1], [0.9, 0.8, 0.7, 0.6], input="confidence"), accuracy=0.9)
    >>> shown["model"].risk.round(3).tolist(), shown["model"].mark.threshold
    ([0.0, 0.0, 0.333, 0.25], 0.8)
    """
    check_choice(risk, "risk", ("selective", "generalised"))
    check_interval(0.95 if level is None else level, "clopper_pearson")
    points = check_whole(points, "points", 2)
    if where is not None and (confidence is not None or loss is not None):
        raise ArgumentError(
            "where",
            "cannot be combined with confidence or loss",
            "select the rows of all first",
        )
    target = _target(accuracy, coverage, guarantee)
    models = read_models(y_true, y_prob, sample_weight, pos_label, where)
    curves = []
    for name, source in models.items():
        options = {"confidence": _each(confidence, name, "confidence"), "loss": _each(loss, name, "loss"), "lens": lens}
        path = risk_coverage(source, level=None, **options)
        if guarantee is None:
            threshold = _threshold(path, accuracy, coverage)
        else:
            goal: dict[str, Any] = {"accuracy": accuracy, "coverage": coverage, "guarantee": guarantee}
            threshold = choose_threshold(source, **goal, **options).threshold
        mark = None if threshold is None else path.at(threshold)
        curves.append(_curve(name, path, risk, level, points, mark))
    return RiskCoverageDiagram(tuple(curves), risk, target, level, path.lens)


def _target(accuracy: Any, coverage: Any, guarantee: Any) -> str:
    if accuracy is not None and coverage is not None:
        raise ArgumentError("accuracy", "cannot be combined with coverage", "give one of them")
    if guarantee is not None:
        check_fraction(guarantee, "guarantee")
        if accuracy is None and coverage is None:
            raise ArgumentError("guarantee", "requires a target", "pass accuracy or coverage")
    for name, value in (("accuracy", accuracy), ("coverage", coverage)):
        if value is not None:
            check_fraction(value, name, 0.9)
            return f"{name} {value:g}" + ("" if guarantee is None else " guaranteed")
    return ""


def _each(values: Any, name: str, argument: str) -> Any:
    if not isinstance(values, Mapping):
        return values
    if name not in values:
        raise ArgumentError(argument, f"has no entry for model {name!r}", f"its entries are {list(values)}")
    return values[name]


def _risk_at(point: OperatingPoint, risk: Risk) -> float:
    return point.selective_risk if risk == "selective" else point.generalised_risk


def _threshold(path: RiskCoverage, accuracy: float | None, coverage: float | None) -> float | None:
    """The threshold with the largest coverage that has the accuracy, or with the least that has the coverage, on these rows."""
    if accuracy is not None:
        fits = np.flatnonzero(path.selective_risk <= (1 - accuracy) * (1 + 1e-12))
        return float(path.threshold[fits[-1]]) if len(fits) else None
    if coverage is not None:
        return float(path.threshold[int(np.argmax(path.coverage >= coverage * (1 - 1e-12)))])
    return None


def _curve(
    name: str, path: RiskCoverage, risk: Risk, level: float | None, points: int, mark: OperatingPoint | None
) -> RiskCurve:
    kept = np.unique(np.searchsorted(path.coverage, np.linspace(0, 1, points) * (1 - 1e-12)))
    shown = _points(path.judged, path.threshold[kept], level if risk == "selective" else None, "clopper_pearson")
    share, seen = path.coverage[kept], (path.selective_risk if risk == "selective" else path.generalised_risk)[kept]
    whole = float(path.selective_risk[-1])
    best_share, best_risk = _perfect(path.judged, risk)
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


def _perfect(judged: Judged, risk: Risk) -> tuple[Floats, Floats]:
    """Accept rows in order of increasing loss; rows with equal losses may be accepted in part."""
    steps = judged.steps_by(-judged.loss)
    reached, lost = (np.concatenate([[0.0], sums]) / judged.total for sums in (steps.accepted, steps.lost))
    share = np.unique(np.concatenate([np.arange(1, 201) / 200, reached[1:] if len(reached) <= 201 else []]))
    share = share[share <= 1.0]
    total = np.interp(share, reached, lost)
    return share, total / share if risk == "selective" else total

"""The risk-coverage picture: how the error rate of the answers given falls as fewer rows are answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.table import check_interval
from ..decision.rows import Judged, check_level
from ..decision.selective import OperatingPoint, RiskCoverage, _points, risk_coverage
from ..decision.thresholds import choose_threshold
from ..errors import Argument, ArgumentError, Use
from ..util.checks import check_whole
from ..util.results import number
from .base import Diagram, check_choice, finish, plain, series_on
from .canvas import PAPER_WIDTH, new_ax, tones_of
from .models import ONE, Source, by_model, legend_above, line_style, model_named, read_models, single_point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RiskCoverageDiagram", "RiskCurve", "risk_coverage_diagram"]

Floats = NDArray[np.float64]
Risk = Literal["selective", "generalised"]
HEADINGS = ["model", "area", "risk of all", "threshold", "coverage", "risk"]


@dataclass(frozen=True)
class RiskCurve:
    """The curve of one model, with what a perfect order of its rows and a random one would give."""

    name: str
    threshold: Floats
    coverage: Floats
    risk: Floats
    lower: Floats
    """Lower end of the interval of the risk; NaN where there is none."""
    upper: Floats
    area: float
    """AURC, or AUGRC for generalised risks."""
    oracle_coverage: Floats
    oracle_risk: Floats
    """Risk if every right answer were surer than every wrong one."""
    random_risk: Floats
    """Risk at each coverage if rows were accepted at random."""
    mark: OperatingPoint | None
    """The point where the target is reached; None without one, or where it is not reached."""


@dataclass(frozen=True, repr=False)
class RiskCoverageDiagram(Diagram):
    """Risk-coverage curves of one model or several."""

    curves: tuple[RiskCurve, ...]
    risk: Risk
    target: str
    """What the marked threshold is to reach, in words; empty where nothing is marked."""
    level: float | None
    """Level of the interval of each risk."""
    lens: str

    def __getitem__(self, name: str) -> RiskCurve:
        return model_named(self.curves, name)

    def _columns(self) -> dict[str, list[Any]]:
        return by_model(self.curves, ("threshold", "coverage", "risk", "lower", "upper", "random_risk"), {})

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = []
        for curve in self.curves:
            mark = curve.mark
            seen = (
                ["-"] * 3
                if mark is None
                else [number(v) for v in (mark.threshold, mark.coverage, _of(mark, self.risk))]
            )
            rows.append([curve.name, number(curve.area), number(float(curve.risk[-1])), *seen])
        return HEADINGS, rows

    def _title(self) -> str:
        target = f"; threshold for {self.target}" if self.target else ""
        return f"Risk-coverage diagram ({self.risk} risk, {self.lens}{target})"

    def plot(
        self, ax: Axes | None = None, *, oracle: bool = True, random: bool = True, band: bool | None = None
    ) -> Axes:
        """Draw the curves.

        Parameters
        ----------
        ax
            Where to draw; a new one unless given.
        oracle, random
            Whether to draw what a perfect and a random order of the rows would give.
        band
            Whether to draw the interval of each risk; left out, for up to two models.
        """
        ax = new_ax(ax, width=PAPER_WIDTH, height=2.9)
        shaded = len(self.curves) <= 2 if band is None else band
        for place, curve in enumerate(self.curves, series_on(ax)):
            self._draw(ax, place, curve, shaded, oracle, random)
        top = max(float(c.risk[c.coverage >= 0.1].max(initial=float(c.risk[-1]))) for c in self.curves)
        ax.set_xlim(0, 1.005)
        ax.set_ylim(0, min(1.0, 1.1 * top) if top > 0 else 1.0)
        what = "error rate of the rows answered" if self.risk == "selective" else "share of rows answered wrongly"
        finish(ax, "coverage (share of rows answered)", what)
        legend_above(ax)
        return ax

    def _draw(self, ax: Axes, place: int, curve: RiskCurve, shaded: bool, oracle: bool, random: bool) -> None:
        style = line_style(ax, place)
        if shaded and np.isfinite(curve.lower).any():
            ax.fill_between(curve.coverage, curve.lower, curve.upper, color=style["color"], alpha=0.15, linewidth=0)
        facts = f"area {number(curve.area, 3)}"
        if curve.mark is not None:
            facts += f", answers from {number(curve.mark.threshold, 3)}"
        label: str | None = facts if curve.name == ONE else f"{plain(curve.name)} ({facts})"
        alone = single_point(curve.coverage)
        around = {**alone, "markersize": 7} if alone else {}
        ax.plot(curve.coverage, curve.risk, gid="series", **style, **alone, label=label)
        last = curve is self.curves[-1]
        thin: dict[str, Any] = {
            "linewidth": 0.8,
            "color": tones_of(ax).muted if len(self.curves) == 1 else style["color"],
            "zorder": 1.6,
        }
        if random:
            label = "random order" if last else None
            ax.plot(curve.coverage, curve.random_risk, linestyle=(0, (4, 3)), label=label, **thin, **around)
        if oracle:
            label = "perfect order" if last else None
            ax.plot(curve.oracle_coverage, curve.oracle_risk, linestyle=(0, (1, 1.5)), label=label, **thin)
        if curve.mark is not None:
            x, y = curve.mark.coverage, _of(curve.mark, self.risk)
            ax.axvline(x, color=style["color"], linewidth=0.6, linestyle=(0, (1, 2)), zorder=1.4)
            marked = [other.name for other in self.curves if other.mark is not None]
            label = self.target if curve.name == marked[-1] else None
            ax.plot(
                [x],
                [y],
                "o",
                color=style["color"],
                markeredgecolor=tones_of(ax).ink,
                markersize=4.5,
                zorder=5,
                label=label,
            )


def risk_coverage_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    confidence: Any = None,
    loss: Any = None,
    risk: Risk = "selective",
    accuracy: float | None = None,
    coverage: float | None = None,
    promise: float | None = None,
    interval: float | None = 0.95,
    points: int = 400,
    lens: Any = None,
    where: Any = None,
    **keywords: Any,
) -> RiskCoverageDiagram:
    """How the error rate of the answers given changes with the share of rows answered, for one model or several.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities; several models as ``(y_true, {name: y_prob})`` or ``{name: Predictions}``. A View or Sketch of
        the top label serves too. Keywords of `Predictions` are taken.
    confidence, loss
        How sure the model is of each row and what each row loses, as in `risk_coverage`; a mapping by name for several models.
    risk
        ``"selective"``: the mean loss of the rows answered. ``"generalised"``: of all rows, counting those not answered as 0.
    accuracy, coverage
        A target to mark: the lowest threshold whose answers are this accurate, or the highest that still answers this share.
    promise
        Probability with which the target is to hold for new rows; `choose_threshold` then picks the threshold. None marks what was
        seen on these rows, which is too hopeful for others.
    interval
        Level of the interval of each selective risk; None for none.
    points
        At most so many points for each curve, even in coverage.
    lens, where
        As in `risk_coverage`.

    Examples
    --------
    >>> from calibrant.figures.selective import risk_coverage_diagram
    >>> shown = risk_coverage_diagram([1, 1, 0, 1], [0.9, 0.8, 0.7, 0.6], input="confidence", accuracy=0.9)
    >>> shown["model"].risk.round(3).tolist(), shown["model"].mark.threshold
    ([0.0, 0.0, 0.333, 0.25], 0.8)
    """
    check_choice(risk, ("selective", "generalised"), "risk")
    check_interval(0.95 if interval is None else interval, "clopper_pearson", "interval")
    points = check_whole(points, "points", 2)
    if where is not None and (confidence is not None or loss is not None):
        raise ArgumentError(
            "where",
            ("cannot be combined with ", Argument("confidence"), " or ", Argument("loss")),
            "select the rows of all first",
        )
    target = _target(accuracy, coverage, promise)
    models = read_models(risk_coverage_diagram, y_true, y_prob, where, keywords)
    curves = []
    for name, source in models.items():
        sure, lost = _each(confidence, name, "confidence"), _each(loss, name, "loss")
        found = risk_coverage(source, confidence=sure, loss=lost, interval=None, lens=lens)
        mark = _mark(source, found, accuracy, coverage, promise, sure, lost, lens)
        curves.append(_curve(name, found, risk, interval, points, mark))
    return RiskCoverageDiagram(tuple(curves), risk, target, interval, found.lens)


def _target(accuracy: Any, coverage: Any, promise: Any) -> str:
    if accuracy is not None and coverage is not None:
        raise ArgumentError("accuracy", ("cannot be combined with ", Argument("coverage")), "give one of them")
    given = accuracy if accuracy is not None else coverage
    if promise is not None:
        check_level(promise, "promise")
        if given is None:
            raise ArgumentError("promise", "requires a target", (Use("accuracy"), Use("coverage")))
    if given is None:
        return ""
    word = "accuracy" if accuracy is not None else "coverage"
    check_level(given, word)
    return f"{word} {given:g}" + ("" if promise is None else " promised")


def _each(values: Any, name: str, argument: str) -> Any:
    if not isinstance(values, Mapping):
        return values
    if name not in values:
        raise ArgumentError(argument, f"has no entry for model {name!r}", f"its entries are {list(values)}")
    return values[name]


def _of(point: OperatingPoint, risk: Risk) -> float:
    return point.selective_risk if risk == "selective" else point.generalised_risk


def _mark(
    source: Source, found: RiskCoverage, accuracy: Any, coverage: Any, promise: Any, sure: Any, lost: Any, lens: Any
) -> OperatingPoint | None:
    """The threshold of the target: promised for new rows, or the best that was seen."""
    if accuracy is None and coverage is None:
        return None
    if promise is not None:
        options = {"accuracy": accuracy, "coverage": coverage, "confidence": sure, "loss": lost, "lens": lens}
        chosen = choose_threshold(source, confidence_level=promise, **options).threshold
        return None if chosen is None else found.at(chosen)
    # Sums of weights carry rounding.
    if accuracy is not None:
        fits = np.flatnonzero(found.selective_risk <= (1 - accuracy) * (1 + 1e-12))
        return found.at(float(found.threshold[fits[-1]])) if len(fits) else None
    first = int(np.argmax(found.coverage >= coverage * (1 - 1e-12)))
    return found.at(float(found.threshold[first]))


def _curve(
    name: str, found: RiskCoverage, risk: Risk, level: float | None, points: int, mark: OperatingPoint | None
) -> RiskCurve:
    kept = np.unique(np.searchsorted(found.coverage, np.linspace(0, 1, points) * (1 - 1e-12)))
    shown = _points(found.judged, found.threshold[kept], level if risk == "selective" else None, "clopper_pearson")
    share, seen = found.coverage[kept], (found.selective_risk if risk == "selective" else found.generalised_risk)[kept]
    whole = float(found.selective_risk[-1])
    best_share, best_risk = _perfect(found.judged, risk)
    return RiskCurve(
        name=name,
        threshold=found.threshold[kept],
        coverage=share,
        risk=seen,
        lower=np.array([point.lower for point in shown]),
        upper=np.array([point.upper for point in shown]),
        area=found.aurc if risk == "selective" else found.augrc,
        oracle_coverage=best_share,
        oracle_risk=best_risk,
        random_risk=np.full(len(kept), whole) if risk == "selective" else whole * share,
        mark=mark,
    )


def _perfect(judged: Judged, risk: Risk) -> tuple[Floats, Floats]:
    """Accept the rows that lose least first; among rows that lose the same, any part of them."""
    steps = judged.steps_by(-judged.loss)
    reached, lost = (np.concatenate([[0.0], sums]) / judged.total for sums in (steps.accepted, steps.lost))
    share = np.unique(np.concatenate([np.arange(1, 201) / 200, reached[1:] if len(reached) <= 201 else []]))
    share = share[share <= 1.0]
    total = np.interp(share, reached, lost)
    return share, total / share if risk == "selective" else total

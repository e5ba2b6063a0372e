"""The reliability diagram: what was said against what happened, as bars, a line, tilted roofs, a smooth or an isotonic curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import BINS, EQUAL_WIDTH, Binning, Bins, bin_table
from ..binning.table import BinTable, check_interval
from ..errors import InPython, UndefinedMetricError
from ..inference.bands import CalibrationBand, calibration_band
from ..metrics.decomposition import Decomposition, decompose
from ..metrics.hints import hint_at_edges
from ..metrics.registry import Metric, catalogue
from ..metrics.reliability_curve import CalibrationCurve
from ..util.results import number
from ..views.lenses import Lens
from ..views.view import View
from .base import Diagram, check_choice, one_view
from .drawing import draw_reliability
from .fits import FittedCurve, corp_curve, smooth_curve
from .models import metric_label
from .uncertainty import BINOMIAL, Bounds, band_bounds, bin_bounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ReliabilityDiagram", "reliability"]

Floats = NDArray[np.float64]
Kind = Literal["line", "bars", "roof", "smooth", "corp"]
Uncertainty = Literal[
    "auto", "clopper_pearson", "jeffreys", "wilson", "standard_error", "bootstrap", "consistency", "band"
]

KINDS = ("line", "bars", "roof", "smooth", "corp")
WAYS = ("auto", *BINOMIAL, "standard_error", "bootstrap", "consistency", "band", None)
HOW_WORDS = {
    "clopper_pearson": "Clopper-Pearson intervals",
    "jeffreys": "Jeffreys intervals",
    "wilson": "Wilson intervals",
    "bootstrap": "bootstrap intervals",
    "consistency": "consistency bars",
    "band": "simultaneous band",
}


@dataclass(frozen=True, repr=False)
class ReliabilityDiagram(Diagram):
    """The data of a reliability diagram; `plot` draws it."""

    kind: str
    lens: str
    table: BinTable = field(repr=False)
    """The bins: ``low``, ``high``, ``rows``, ``weight``, ``mean_score``, ``rate``; empty ones are kept."""
    lower: Floats
    """Lower bound for each bin: of its rate, or under ``how="consistency"`` of the rates that calibrated scores would give."""
    upper: Floats
    level: float | None
    how: str | None
    """Where the bounds come from; None where there are none."""
    curve: FittedCurve | None = None
    """The curve of ``kind="smooth"`` and ``"corp"``."""
    band: CalibrationBand | None = None
    decomposition: Decomposition | None = None
    """The Brier score of ``kind="corp"`` in its parts."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Values asked for, by id."""
    view: View | None = field(default=None, repr=False, compare=False)
    cut: tuple[Binning, Bins] = field(default=("equal_width", 15), repr=False, compare=False)
    """How the bins were asked for."""

    @property
    def mean_score(self) -> Floats:
        """Mean score of each bin, NaN where it is empty."""
        return self.table.mean_score

    @property
    def rate(self) -> Floats:
        """Mean outcome of each bin, NaN where it is empty."""
        return self.table.rate

    @property
    def roof(self) -> tuple[Floats, Floats]:
        """Height of each bin's tilted roof at its two edges: the score there less the bin's gap, so that it runs along the diagonal."""
        gap = np.where(self.table.empty, np.nan, self.table.gap)
        return self.table.low - gap, self.table.high - gap

    @classmethod
    def of_curve(cls, curve: CalibrationCurve) -> ReliabilityDiagram:
        """The same bins and intervals as a diagram."""
        how = None if curve.level is None else curve.method
        return cls("line", curve.lens, curve.table, curve.lower, curve.upper, curve.level, how)

    def value_of(self, metric: str | Metric) -> float:
        """The value of a metric on these very scores, with the diagram's bins where it has the same default as the diagram."""
        found = metric if isinstance(metric, Metric) else catalogue[metric]
        if found.id in self.metrics:
            return self.metrics[found.id]
        if self.view is None:
            raise UndefinedMetricError(
                found.id, "cannot be computed from bins alone", InPython("make the diagram with reliability()")
            )
        return metric_value(found, self.view, *self.cut)

    def to_dict(self) -> dict[str, Any]:
        """Plain values and lists, with None where there is no value."""
        bins = {**self.table.to_dict(), **self._listed("lower", "upper")}
        return {
            "kind": self.kind,
            "lens": self.lens,
            "level": self.level,
            "how": self.how,
            "metrics": dict(self.metrics),
            "bins": bins,
            "curve": None if self.curve is None else self.curve.to_dict(),
            "band": None if self.band is None else self.band.to_dict(),
            "decomposition": None if self.decomposition is None else self.decomposition.to_dict(),
        }

    def _columns(self) -> dict[str, list[Any]]:
        """One row for each bin, or for each point of the curve where there is one."""
        if self.curve is None:
            return {**self.table.to_dict(), **self._listed("lower", "upper")}
        return {name: values for name, values in self.curve.to_dict().items() if name != "bandwidth"}

    def label_of(self, metric: str) -> str:
        """The metric's id; with the question, where it is known for a value of whole rows and this is that of one question."""
        return metric_label(metric, self.lens)

    def _title(self) -> str:
        sure = "" if self.how is None else f", {how_words(self.how, self.level)}"
        values = "".join(f", {self.label_of(id)} {number(value)}" for id, value in self.metrics.items())
        return f"Reliability diagram ({self.kind}, {self.lens}{sure}{values})"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        headings, lines = self.table._headings(), self.table._lines()
        if np.isnan(self.lower).all():  # those of a smooth curve belong to its own points
            return headings, lines
        bounds = zip(lines, self.lower, self.upper, strict=True)
        return [*headings, "lower", "upper"], [[*line, number(low), number(high)] for line, low, high in bounds]

    def plot(
        self,
        ax: Axes | None = None,
        *,
        counts: Literal["strip", "area"] | None = "strip",
        labels: bool = False,
        scale: Literal["probability", "logit"] = "probability",
        legend: Sequence[str] | None = None,
        sides: bool = True,
        name: str | None = None,
        colour: str | None = None,
    ) -> Axes:
        """Draw on `ax`, or on a new one, which is returned.

        Parameters
        ----------
        counts
            How full the bins are: a ``"strip"`` of bars above, the ``"area"`` of the markers, or None.
        labels
            Show single outcomes too, jittered around 0 and 1; of many rows, 2000 of them.
        scale
            ``"logit"`` spreads both ends, for rare events.
        legend
            Metrics whose values the legend shows; by default those the diagram holds.
        sides
            Say in words what it means to lie beside the diagonal.
        name, colour
            What the legend calls these predictions, and how they are painted.
        """
        return draw_reliability(
            self,
            ax,
            counts=counts,
            labels=labels,
            scale=scale,
            legend=legend,
            sides=sides,
            name=name,
            colour=colour,
        )


def how_words(how: str, level: float | None) -> str:
    """The kind of the bounds in words."""
    if how == "standard_error" or level is None:
        return "one standard error"
    return f"{100 * level:g}% {HOW_WORDS[how]}"


def metric_value(metric: Metric, view: View, binning: Binning, bins: Bins) -> float:
    """The metric of a view; on these bins where its own default is the diagram's."""
    options = metric.options
    same = options.get("bins") == 15 and options.get("binning") == "equal_width"
    return float(metric(view, binning=binning, bins=bins) if same else metric(view))


def reliability(
    y_true: Any,
    y_prob: Any = None,
    *,
    bins: Bins = BINS,
    binning: Binning = EQUAL_WIDTH,
    lens: str | Lens = "auto",
    where: Any = None,
    kind: Kind = "line",
    interval: float | None = 0.95,
    uncertainty: Uncertainty | None = "auto",
    metrics: Sequence[str] = (),
    bandwidth: float | None = None,
    n_resamples: int = 1000,
    rng: Any = None,
    **keywords: Any,
) -> ReliabilityDiagram:
    """The reliability diagram of predictions: how often what was said came true, against what was said.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities, or Predictions, a View or a Sketch; keywords of `Predictions` are taken too.
    bins, binning
        Number of bins or edges, and how to cut: ``"equal_width"``, ``"equal_mass"``, a rule, or fitted bins.
    lens
        Which question is asked; one with one score for each row.
    where
        Which rows: a boolean mask or a Selection.
    kind
        ``"line"``: markers at each bin's mean score. ``"bars"``: the gap of each bin hatched. ``"roof"``: bars whose tops run along
        the diagonal, so that heights compare with it anywhere in the bin. ``"smooth"``: kernel regression, with the density of
        scores. ``"corp"``: the isotonic curve, with the Brier score's miscalibration, discrimination and uncertainty.
    interval
        Level of the bounds; None for none.
    uncertainty
        Whose bounds. ``"clopper_pearson"``, ``"jeffreys"`` and ``"wilson"`` hold the rate of each bin. ``"standard_error"`` is one
        standard error to either side, whatever the level. ``"bootstrap"`` draws rows again. ``"consistency"`` says where the rate of
        a bin would lie if the scores were right (Broecker and Smith 2007). ``"band"`` holds the whole rising curve at once.
        ``"auto"``: a band for ``"corp"``, Clopper-Pearson for the others; for ``"smooth"`` with the rows near each score.
    metrics
        Ids of metrics to keep with the diagram and to show in its legend.
    bandwidth
        Width of the kernel of ``"smooth"``; by default the smooth calibration error itself.
    n_resamples, rng
        For ``"bootstrap"`` and ``"consistency"``: how many samples, and None, a seed or a Generator.

    References
    ----------
    Broecker and Smith (2007): Increasing the reliability of reliability diagrams. Weather and Forecasting 22.

    Dimitriadis, Gneiting and Jordan (2021): Stable reliability diagrams for probabilistic classifiers. PNAS 118.

    Kaengsepp, Valk and Kull (2025): On the usefulness of the fit-on-the-test view on evaluating calibration of classifiers.

    Blasiok and Nakkiran (2024): Smooth ECE: principled reliability diagrams via kernel smoothing.

    Examples
    --------
    >>> from calibrant.figures.reliability_diagrams import reliability
    >>> diagram = reliability([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], bins=2, metrics=("ece",))
    >>> diagram.rate.tolist(), round(diagram.metrics["ece"], 3)
    ([0.5, 1.0], 0.2)
    """
    check_choice(kind, KINDS, "kind")
    check_choice(uncertainty, WAYS, "uncertainty")
    if interval is not None:
        check_interval(interval, "wilson", "interval")
    view = one_view(reliability, y_true, y_prob, lens, where, keywords)
    how = _way(view, kind, uncertainty) if interval is not None else None
    return _diagram(view, kind, how, interval or 0.95, bins, binning, metrics, bandwidth, n_resamples, rng)


OWN_KEYWORDS = tuple(reliability.__kwdefaults__ or ())


def _way(view: View, kind: str, uncertainty: str | None) -> str | None:
    """Where bounds come from; under ``"auto"`` none where none is defined."""
    if uncertainty != "auto":
        if kind == "corp" and uncertainty in (*BINOMIAL, "standard_error"):
            raise UndefinedMetricError(
                "uncertainty",
                f"{uncertainty!r} requires fixed bins, and the blocks of 'corp' depend on the outcomes",
                "use 'band', 'consistency' or 'bootstrap'",
            )
        return uncertainty
    if view.is_soft:
        return None
    if kind == "corp":
        return None if view.weight_kind == "importance" else "band"
    return "clopper_pearson"


def _diagram(
    view: View,
    kind: str,
    how: str | None,
    level: float,
    bins: Bins,
    binning: Binning,
    metrics: Sequence[str],
    bandwidth: float | None,
    n_resamples: int,
    rng: Any,
) -> ReliabilityDiagram:
    hint_at_edges(view, binning, bins)
    table = bin_table(view, binning, bins)
    band = calibration_band(view, alpha=1 - level) if how == "band" else None
    empty = np.full(len(table), np.nan)
    bounds, curve, parts = Bounds(empty, empty), None, None
    draws: dict[str, Any] = {"level": level, "n_resamples": n_resamples, "rng": rng}
    if kind == "smooth":
        curve = smooth_curve(view, how, bandwidth=bandwidth, **draws)
    elif kind == "corp":
        curve = corp_curve(view, how, **draws)
        parts = decompose(view, method="corp")
    elif how is not None and band is None:
        bounds = bin_bounds(view, table, binning, bins, how, **draws)
    if band is not None:
        bounds = band_bounds(band, table.mean_score)
    values = {found.id: metric_value(found, view, binning, bins) for found in map(_metric, metrics)}
    shown = None if how in (None, "standard_error") else level
    return ReliabilityDiagram(
        kind, view.lens, table, *bounds, shown, how, curve, band, parts, values, view, (binning, bins)
    )


def _metric(name: str | Metric) -> Metric:
    return name if isinstance(name, Metric) else catalogue[name]

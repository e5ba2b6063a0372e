"""The reliability diagram: observed rate against predicted probability, as line, bars, roofs, smooth or isotonic curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..binning.parse import BINS, EQUAL_WIDTH, Binning, Bins, bin_table, binning_rule, is_default
from ..binning.rules import BinningRule, EqualWidth
from ..binning.table import BinTable
from ..errors import UndefinedMetricError
from ..inference.bands import CalibrationBand, calibration_band
from ..metrics.decomposition import Decomposition, decompose
from ..metrics.registry import Metric, catalogue
from ..metrics.reliability_curve import CalibrationCurve
from ..util.checks import check_choice, check_fraction
from ..util.results import number
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from ..views.view import View
from .base import MODELS_PARAMETERS, Diagram, Floats, least_rows, none_for_nan, one_view
from .canvas import Axes
from .drawing import DrawOptions, bound_label, draw_reliability
from .fits import FittedCurve, corp_curve, no_bounds, smooth_curve
from .models import ONE, metric_label, model_named, read_models
from .styling import plots
from .uncertainty import BINOMIAL, band_bounds, bin_bounds

Kind = Literal["auto", "bins", "bars", "roof", "smooth", "isotonic"]
Uncertainty = Literal[
    "auto", "clopper_pearson", "jeffreys", "wilson", "standard_error", "bootstrap", "consistency", "band"
]

KINDS = ("auto", "bins", "bars", "roof", "smooth", "isotonic")
WAYS = ("auto", *BINOMIAL, "standard_error", "bootstrap", "consistency", "band", None)


@dataclass(frozen=True)
class ModelReliability:
    """Mean scores and observed rates of one model.

    Parameters
    ----------
    name : str
        Name of the model, or of the class of a panel.
    lens : str
        Lens of the scores.
    table : BinTable
        The bins, with ``left``, ``right``, ``rows``, ``weight``, ``mean_score`` and ``rate``; empty bins are included.
    low : ndarray of shape (bins,)
        Lower end for each bin: of its rate, or with ``how="consistency"`` of the rates under calibration.
    high : ndarray of shape (bins,)
        Upper end.
    level : float or None
        Level of the intervals.
    how : str or None
        Kind of the intervals; None without intervals.
    curve : FittedCurve, optional
        The curve of ``kind="smooth"`` and ``"isotonic"``.
    band : CalibrationBand, optional
        Simultaneous band.
    decomposition : Decomposition, optional
        Decomposition of the Brier score, for ``kind="isotonic"``.
    metrics : dict
        Values of the requested metrics by identifier.
    rule : binning rule, default EqualWidth(15)
        Rule of the bins.
    """

    name: str
    lens: str
    table: BinTable = field(repr=False)
    low: Floats
    high: Floats
    level: float | None
    how: str | None
    curve: FittedCurve | None = None
    band: CalibrationBand | None = None
    decomposition: Decomposition | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    rule: BinningRule = field(default=EqualWidth(15), repr=False, compare=False)

    @property
    def mean_score(self) -> Floats:
        """Mean score of each bin, NaN for empty bins."""
        return self.table.mean_score

    @property
    def rate(self) -> Floats:
        """Observed rate of each bin, NaN for empty bins."""
        return self.table.rate

    @property
    def roof(self) -> tuple[Floats, Floats]:
        """Height of the roof of each bin at its two edges: the score there minus the gap of the bin."""
        gap = np.where(self.table.empty, np.nan, self.table.gap)
        return self.table.left - gap, self.table.right - gap

    @property
    def merged(self) -> str:
        """Which bins are merged, as text; empty where none is or the diagram has no bins."""
        least = getattr(self.rule, "min_rows", None) if self.curve is None else None
        return "" if least is None else f"bins with fewer than {least} rows merged"

    def columns(self) -> dict[str, list[Any]]:
        """One row per bin, or per point of the curve."""
        if self.curve is None:
            return {**self.table.to_dict(), "low": none_for_nan(self.low), "high": none_for_nan(self.high)}
        return {name: values for name, values in self.curve.to_dict().items() if name != "bandwidth"}


@dataclass(frozen=True, repr=False)
class Reliabilities(Diagram):
    """Data of reliability diagrams of several models, or of several classes of one."""

    _numeric = range(1, 100)

    kind: str
    models: tuple[ModelReliability, ...]

    def __getitem__(self, name: str) -> ModelReliability:
        return model_named(self.models, name)

    def _columns(self) -> dict[str, list[Any]]:
        parts = [(model.name, model.columns()) for model in self.models]
        names = [name for name, columns in parts for _ in next(iter(columns.values()))]
        stacked = {key: [value for _, columns in parts for value in columns[key]] for key in parts[0][1]}
        return {"model": names, **stacked}


@dataclass(frozen=True, repr=False)
class ReliabilityDiagram(Reliabilities):
    """Data of a reliability diagram; `plot` draws it.

    Parameters
    ----------
    kind : str
        Form of the diagram.
    models : tuple of ModelReliability
        Bins, intervals and curve of each model; ``diagram[name]`` returns one.

    See Also
    --------
    reliability_diagram : The function that returns it.
    """

    @classmethod
    def of_curve(cls, curve: CalibrationCurve) -> ReliabilityDiagram:
        """Convert a calibration curve, with its bins and intervals, to a diagram.

        Parameters
        ----------
        curve : CalibrationCurve
            Result of `calibrant.calibration_curve`.

        Returns
        -------
        ReliabilityDiagram
            The diagram.
        """
        how = None if curve.level is None else "clopper_pearson"
        one = ModelReliability(ONE, curve.lens, curve.table, curve.low, curve.high, curve.level, how)
        return cls("bins", (one,))

    def _title(self) -> str:
        first = self.models[0]
        bounds = "" if first.how is None else bound_label(first)
        values = [
            f"{'' if model.name == ONE else f'{model.name} '}{metric_label(id, model.lens)} {number(value)}"
            for model in self.models
            for id, value in model.metrics.items()
        ]
        return (
            f"Reliability diagram ({', '.join(filter(None, [self.kind, first.lens, bounds, *values, first.merged]))})"
        )

    @plots
    def plot(
        self,
        ax: Axes | None = None,
        *,
        counts: Literal["strip"] | None = "strip",
        scale: Literal["probability", "logit"] = "probability",
        **style: Any,
    ) -> Axes:
        """Plot the diagram, several models over each other.

        Parameters
        ----------
        ax
        counts : {"strip"} or None, default "strip"
            Whether to show a strip with the number of rows per bin above the diagram; not of several models.
        scale : {"probability", "logit"}, default "probability"
            Scale of both axes; ``"logit"`` for rare events.
        """
        return draw_reliability(self.kind, self.models, ax, DrawOptions(counts=counts, scale=scale), style)


def metric_value(metric: Metric, view: View, rule: BinningRule) -> float:
    """The metric of a view, with the bins of the diagram if the metric has the same defaults."""
    options = metric.options
    same = options.get("bins") == 15 and options.get("binning") == "equal_width"
    return float(metric(view, binning=rule) if same else metric(view))


@documents_keywords(table=MODELS_PARAMETERS)
def reliability_diagram(
    y_true: Any,
    y_prob: Any = None,
    *,
    bins: Bins = BINS,
    binning: Binning = EQUAL_WIDTH,
    lens: str | Lens = "auto",
    kind: Kind = "auto",
    level: float | None = 0.95,
    uncertainty: Uncertainty | None = "auto",
    metrics: Sequence[str] = (),
    bandwidth: float | None = None,
    n_resamples: int = 1000,
    rng: Any = 0,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> ReliabilityDiagram:
    r"""Compute the reliability diagram of one or more models: observed rate against predicted probability.

    Points below the diagonal are overconfident, or overestimate the event; an interval that does not reach the
    diagonal is evidence of miscalibration in that bin.

    Parameters
    ----------
    y_true
    y_prob
    bins : int, sequence of float, str or fitted bins, default 15
        Number of bins, their edges, ``"levels"`` for one bin per distinct score, or fitted bins. Of the default bins
        those with few rows are merged: fewer than half the square root of all rows, at least 5 and at most 50.
    binning : str or bin rule, default "equal_width"
        Rule of the bins: ``"equal_width"``, ``"equal_width:1/K"`` for confidences on [1/K, 1], ``"equal_mass"``, ``"quantile"`` or a rule of
        `calibrant.binning`.
    lens
    kind : {"auto", "bins", "bars", "roof", "smooth", "isotonic"}, default "auto"
        Form of the diagram. ``"auto"``: ``"isotonic"``, or ``"bins"`` where bins or their intervals are given. ``"bins"``: a marker at the
        mean score of each bin. ``"bars"``: bars with the gap hatched. ``"roof"``:
        bars whose tops are parallel to the diagonal, so that the gap is visible at any score. ``"smooth"``: kernel regression with
        the density of the scores. ``"isotonic"``: isotonic regression, with the decomposition of the Brier score.
    level : float or None, default 0.95
        Level of the intervals; None for no intervals.
    uncertainty : str or None, default "auto"
        Kind of the intervals. ``"clopper_pearson"``, ``"jeffreys"``, ``"wilson"``: binomial intervals of the rate of each bin.
        ``"standard_error"``: plus and minus one standard error. ``"bootstrap"``: resampled rows. ``"consistency"``: range of the
        rates under calibration [1]_. ``"band"``: simultaneous band of a non-decreasing curve. ``"auto"``: consistency for
        ``kind="isotonic"``, else Clopper-Pearson, for ``kind="smooth"`` with the effective number of rows at each score.
    metrics : sequence of str, optional
        Identifiers of metrics to compute and to show in the legend.
    bandwidth : float, optional
        Bandwidth of ``kind="smooth"``; by default the smooth calibration error itself.
    n_resamples : int, default 1000
        Number of resamples of ``"bootstrap"`` and ``"consistency"``.
    rng
    sample_weight
    pos_label

    Returns
    -------
    ReliabilityDiagram
        ``models`` with the ``table`` of the bins, ``mean_score``, ``rate``, ``low``, ``high`` and ``metrics``; ``diagram[name]`` is that of
        one model. ``plot()`` draws them and ``to_frame()`` returns them as a table.

    Raises
    ------
    LensError
        If the lens has more than one score per row.

    See Also
    --------
    calibration_curve : The bins without a figure.
    classwise_panels : One panel per class.
    ordinal_panels : One panel per cut of ordered classes.
    cumulative_diagram : Without bins.

    Notes
    -----
    In each bin the mean score :math:`\bar{s}_m` is plotted against the observed rate :math:`\bar{o}_m`; the gap is
    :math:`\bar{s}_m - \bar{o}_m`. ``kind="roof"`` follows [3]_, ``kind="isotonic"`` [2]_ and ``kind="smooth"`` [4]_.

    References
    ----------
    .. [1] Broecker and Smith (2007): Increasing the reliability of reliability diagrams. Weather and Forecasting 22.
    .. [2] Dimitriadis, Gneiting and Jordan (2021): Stable reliability diagrams for probabilistic classifiers. PNAS 118.
    .. [3] Kaengsepp, Valk and Kull (2025): On the usefulness of the fit-on-the-test view on evaluating calibration of
       classifiers.
    .. [4] Blasiok and Nakkiran (2024): Smooth ECE: principled reliability diagrams via kernel smoothing.

    Examples
    --------
    >>> from calibrant.figures import reliability_diagram
    >>> diagram = reliability_diagram([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], bins=2, metrics=("ece",))
    >>> diagram["model"].rate.tolist(), round(diagram["model"].metrics["ece"], 3)
    ([0.5, 1.0], 0.2)

    Two models:

    >>> models = {"bold": [0.1, 0.2, 0.9, 0.9], "shy": [0.4, 0.4, 0.6, 0.6]}
    >>> diagram = reliability_diagram([0, 1, 1, 1], models, bins=2, metrics=("ece",))
    >>> {model.name: round(model.metrics["ece"], 2) for model in diagram.models}
    {'bold': 0.22, 'shy': 0.25}
    """
    check_choice(kind, "kind", KINDS)
    check_choice(uncertainty, "uncertainty", WAYS)
    if level is not None:
        check_fraction(level, "level")
    sources = read_models(y_true, y_prob, sample_weight, pos_label)
    by_default = is_default(bins) and is_default(binning)
    if kind == "auto":
        needs_bins = not by_default or uncertainty in (*BINOMIAL, "standard_error")
        kind = "bins" if needs_bins else "isotonic"
    draws: dict[str, Any] = {"level": level or 0.95, "n_resamples": n_resamples, "rng": rng}
    rule, chosen = binning_rule(bins, binning), [catalogue[name] for name in metrics]
    models = []
    for name, source in sources.items():
        view = one_view(source, lens)
        how = None if level is None else _uncertainty_of(view, kind, uncertainty)
        shown = EqualWidth(BINS, min_rows=least_rows(view)) if by_default else rule
        table = bin_table(view, shown)
        curve = parts = band = None
        bounds = no_bounds(len(table))
        if how == "band":
            band = calibration_band(view, alpha=1 - draws["level"])
            bounds = band_bounds(band, table.mean_score)
        if kind == "smooth":
            curve = smooth_curve(view, how, bandwidth=bandwidth, **draws)
        elif kind == "isotonic":
            curve, parts = corp_curve(view, how, **draws), decompose(view, method="corp")
        elif how is not None and band is None:
            bounds = bin_bounds(view, table, shown, how, **draws)
        own = None if how in (None, "standard_error") else draws["level"]
        values = {metric.id: metric_value(metric, view, rule) for metric in chosen}
        models.append(ModelReliability(name, view.lens, table, *bounds, own, how, curve, band, parts, values, shown))
    return ReliabilityDiagram(kind, tuple(models))


def _uncertainty_of(view: View, kind: str, uncertainty: str | None) -> str | None:
    """Kind of the intervals; ``"auto"`` gives None where they are not defined."""
    if uncertainty != "auto":
        if kind == "isotonic" and uncertainty in (*BINOMIAL, "standard_error"):
            raise UndefinedMetricError(
                "uncertainty",
                f"{uncertainty!r} requires fixed bins, and the blocks of 'isotonic' depend on the outcomes",
                "use 'band', 'consistency' or 'bootstrap'",
            )
        return uncertainty
    if view.is_soft:
        return None
    return "consistency" if kind == "isotonic" else "clopper_pearson"

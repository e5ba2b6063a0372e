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
from ..views.resolve import resolve
from ..views.view import View
from .base import Diagram, Floats, least_rows, one_view
from .canvas import Axes
from .drawing import DrawOptions, bound_label, draw_reliability
from .fits import FittedCurve, corp_curve, no_bounds, smooth_curve
from .models import metric_label
from .styling import plots
from .uncertainty import BINOMIAL, band_bounds, bin_bounds

Kind = Literal["auto", "bins", "bars", "roof", "smooth", "isotonic"]
Uncertainty = Literal[
    "auto", "clopper_pearson", "jeffreys", "wilson", "standard_error", "bootstrap", "consistency", "band"
]

KINDS = ("auto", "bins", "bars", "roof", "smooth", "isotonic")
WAYS = ("auto", *BINOMIAL, "standard_error", "bootstrap", "consistency", "band", None)


@dataclass(frozen=True, repr=False)
class ReliabilityDiagram(Diagram):
    """Data of a reliability diagram; `plot` draws it.

    Parameters
    ----------
    kind : str
        Form of the diagram.
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

    See Also
    --------
    reliability_diagram : The function that returns it.
    """

    _hidden = ("rule",)

    kind: str
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
        return cls("bins", curve.lens, curve.table, curve.low, curve.high, curve.level, how)

    def _columns(self) -> dict[str, list[Any]]:
        """One row per bin, or per point of the curve."""
        if self.curve is None:
            return {**self.table.to_dict(), **self._listed("low", "high")}
        return {name: values for name, values in self.curve.to_dict().items() if name != "bandwidth"}

    def _title(self) -> str:
        bounds = "" if self.how is None else f", {bound_label(self)}"
        values = "".join(f", {metric_label(id, self.lens)} {number(value)}" for id, value in self.metrics.items())
        merged = self.merged
        return f"Reliability diagram ({self.kind}, {self.lens}{bounds}{values}{', ' if merged else ''}{merged})"

    @property
    def merged(self) -> str:
        """Which bins are merged, as text; empty where none is or the diagram has no bins."""
        least = getattr(self.rule, "min_rows", None) if self.curve is None else None
        return "" if least is None else f"bins with fewer than {least} rows merged"

    @plots
    def plot(
        self,
        ax: Axes | None = None,
        *,
        counts: Literal["strip"] | None = "strip",
        scale: Literal["probability", "logit"] = "probability",
        **style: Any,
    ) -> Axes:
        """Plot the diagram.

        Parameters
        ----------
        ax
        counts : {"strip"} or None, default "strip"
            Whether to show a strip with the number of rows per bin above the diagram.
        scale : {"probability", "logit"}, default "probability"
            Scale of both axes; ``"logit"`` for rare events.
        """
        return draw_reliability(self, ax, DrawOptions(counts=counts, scale=scale), style)


def metric_value(metric: Metric, view: View, rule: BinningRule) -> float:
    """The metric of a view, with the bins of the diagram if the metric has the same defaults."""
    options = metric.options
    same = options.get("bins") == 15 and options.get("binning") == "equal_width"
    return float(metric(view, binning=rule) if same else metric(view))


@documents_keywords()
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
    r"""Compute the reliability diagram of predictions: observed rate against predicted probability.

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
        The data: ``table`` with the bins, ``mean_score``, ``rate``, ``low``, ``high`` and ``metrics``; ``plot()``
        draws it and ``to_frame()`` returns it as a table.

    Raises
    ------
    LensError
        If the lens has more than one score per row.

    See Also
    --------
    calibration_curve : The bins without a figure.
    reliability_panels : Several models.
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
    >>> diagram.rate.tolist(), round(diagram.metrics["ece"], 3)
    ([0.5, 1.0], 0.2)
    """
    check_choice(kind, "kind", KINDS)
    check_choice(uncertainty, "uncertainty", WAYS)
    if level is not None:
        check_fraction(level, "level")
    view = one_view(resolve(y_true, y_prob, sample_weight, pos_label), lens)
    by_default = is_default(bins) and is_default(binning)
    if kind == "auto":
        needs_bins = not by_default or uncertainty in (*BINOMIAL, "standard_error")
        kind = "bins" if needs_bins else "isotonic"
    how = None if level is None else _uncertainty_of(view, kind, uncertainty)
    level = level or 0.95
    rule = binning_rule(bins, binning)
    shown_rule = EqualWidth(BINS, min_rows=least_rows(view)) if by_default else rule
    table = bin_table(view, shown_rule)
    band = calibration_band(view, alpha=1 - level) if how == "band" else None
    draws: dict[str, Any] = {"level": level, "n_resamples": n_resamples, "rng": rng}
    curve = parts = None
    bounds = no_bounds(len(table))
    if kind == "smooth":
        curve = smooth_curve(view, how, bandwidth=bandwidth, **draws)
    elif kind == "isotonic":
        curve = corp_curve(view, how, **draws)
        parts = decompose(view, method="corp")
    elif how is not None and band is None:
        bounds = bin_bounds(view, table, shown_rule, how, **draws)
    if band is not None:
        bounds = band_bounds(band, table.mean_score)
    return ReliabilityDiagram(
        kind,
        view.lens,
        table,
        *bounds,
        None if how in (None, "standard_error") else level,
        how,
        curve,
        band,
        parts,
        {metric.id: metric_value(metric, view, rule) for metric in (catalogue[name] for name in metrics)},
        shown_rule,
    )


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

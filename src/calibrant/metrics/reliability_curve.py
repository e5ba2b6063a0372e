"""The calibration curve: mean predicted probability against observed rate in bins, with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..binning.parse import BINS, EQUAL_WIDTH, Binning, Bins, bin_table, binning_rule
from ..binning.table import BinTable
from ..errors import LensError
from ..input.predictions import Predictions
from ..util.arrays import Floats
from ..util.checks import check_fraction
from ..util.results import Result, number
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from ..views.resolve import Source, resolve, views_of
from ..views.view import VectorView


@dataclass(frozen=True, repr=False)
class CalibrationCurve(Result):
    """Calibration curve: one entry per bin, empty bins included, with an interval of the outcome rate.

    Parameters
    ----------
    table : BinTable
        Bins with counts and sums.
    lens : str
        Lens through which the predictions were evaluated.
    level : float or None
        Confidence level of the intervals.
    low : numpy.ndarray of shape (M,)
        Lower bounds of the outcome rate.
    high : numpy.ndarray of shape (M,)
        Upper bounds of the outcome rate.

    Attributes
    ----------
    mean_score : numpy.ndarray of shape (M,)
        Mean score of each bin; NaN if it is empty.
    rate : numpy.ndarray of shape (M,)
        Observed outcome rate of each bin; NaN if it is empty.
    weight : numpy.ndarray of shape (M,)
        Weight of each bin.
    """

    _numeric = range(8)
    _width = 9

    table: BinTable
    lens: str
    level: float | None
    low: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.table)

    @property
    def mean_score(self) -> Floats:
        """Mean score of each bin; NaN if it is empty."""
        return self.table.mean_score

    @property
    def rate(self) -> Floats:
        """Observed outcome rate of each bin; NaN if it is empty."""
        return self.table.rate

    @property
    def weight(self) -> Floats:
        """Weight of each bin; the number of rows without weights."""
        return self.table.weight

    def _fields(self) -> dict[str, Any]:
        return {**self.table._fields(), "low": self.low, "high": self.high}

    def _columns(self) -> dict[str, list[Any]]:
        return self.to_dict()

    def _table(self) -> tuple[list[str], list[list[str]]]:
        headings, lines = self.table._table()
        bounds = zip(lines, self.low, self.high, strict=True)
        return [*headings, "low", "high"], [[*line, number(low), number(high)] for line, low, high in bounds]

    def _title(self) -> str:
        interval = f", {100 * self.level:g}% Clopper-Pearson intervals" if self.level else ""
        return f"Calibration curve ({self.lens}{interval})"


@documents_keywords()
def calibration_curve(
    y_true: Any,
    y_prob: Any = None,
    *,
    bins: Bins = BINS,
    binning: Binning = EQUAL_WIDTH,
    lens: str | Lens = "auto",
    level: float | None = 0.95,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> CalibrationCurve:
    """Compute the calibration curve of one binary event.

    The curve relates the mean predicted probability of each bin to the observed rate, with the binomial confidence interval
    of Clopper and Pearson. Use it to see where predictions deviate; `reliability_diagram` plots it, also with other intervals.

    Parameters
    ----------
    y_true
    y_prob
    bins : int or sequence of float, default 15
        Number of bins, or increasing edges, between which all scores must lie.
    binning : str, binning rule or BinTable, default "equal_width"
        Binning rule: ``"equal_width"``, ``"equal_width:1/K"`` for confidences, ``"equal_mass"``, ``"quantile"`` (as in scikit-learn), a rule such as ``EqualWidth(closed="left")``, or fitted bins.
    lens : str or Lens, default "auto"
        Which binary event of the predictions is evaluated: ``"binary"``, ``"top_label"``, ``"class:NAME"``, ``"rank:2"``, or a lens
        with one view. ``"classwise"`` has one curve per class, of which one must be chosen.
    level : float or None, default 0.95
        Confidence level of the intervals; None for no intervals.
    sample_weight
    pos_label

    Returns
    -------
    CalibrationCurve
        Curve with the attributes `mean_score`, `rate`, `low`, `high` and `weight`, one entry per bin; empty bins are kept.

    Raises
    ------
    LensError
        If the lens has several views or evaluates whole vectors.
    InputError
        If labels, probabilities or weights are invalid.

    See Also
    --------
    reliability_diagram : Plot a reliability diagram.
    ece : Expected calibration error over the same bins.

    Examples
    --------
    >>> import calibrant as cal
    >>> curve = cal.calibration_curve([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], bins=2)
    >>> curve.rate.tolist()
    [0.5, 1.0]
    """
    if level is not None:
        check_fraction(level, "level")
    source = resolve(y_true, y_prob, sample_weight, pos_label)
    views = views_of(source, lens, flattened=level is None)
    view = views[0]
    if len(views) > 1 or isinstance(view, VectorView):
        named = repr("classwise" if lens == "auto" and len(views) > 1 else lens)
        raise LensError("lens", f"{named} has more than one event per row", one_question(source, lens))
    table = bin_table(view, binning_rule(bins, binning))
    if level is None:
        low = high = np.full(len(table), np.nan)
    else:
        low, high = table.interval(level)
    return CalibrationCurve(table, view.lens, level, low, high)


def one_question(source: Source, lens: Any = "auto") -> str:
    """Suggest lenses with a single binary event for these predictions, for an error message."""
    if isinstance(source, Predictions) and source.kind == "multilabel":
        first = 0 if source.classes is None else source.classes[0]
        return f"name one class, for example lens='class:{first}'"
    return "use 'ordinal:NAME'" if lens == "ordinal" else "use 'top_label' or 'class:NAME'"

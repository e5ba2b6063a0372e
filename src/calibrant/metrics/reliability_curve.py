"""The calibration curve: what was said against what happened, bin by bin, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import BINS, EQUAL_WIDTH, Binning, Bins, bin_table
from ..binning.table import BinTable, check_interval
from ..errors import LensError
from ..input.predictions import Predictions
from ..util.results import Result, number
from ..views.keywords import checks_keywords
from ..views.lenses import Lens
from ..views.resolve import Source, resolve, views_of
from ..views.view import VectorView
from .hints import hint_at_edges

__all__ = ["CalibrationCurve", "calibration_curve", "one_question"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class CalibrationCurve(Result):
    """A reliability curve: one entry for each bin, empty ones included, with an interval for the outcome rate."""

    _numeric = range(8)
    _width = 9

    table: BinTable
    lens: str
    level: float | None
    method: str
    lower: Floats
    upper: Floats

    def __len__(self) -> int:
        return len(self.table)

    @property
    def mean_score(self) -> Floats:
        """Mean score of each bin, NaN where it is empty."""
        return self.table.mean_score

    @property
    def rate(self) -> Floats:
        """Mean outcome of each bin, NaN where it is empty."""
        return self.table.rate

    @property
    def weight(self) -> Floats:
        """Weight (number of rows, where there are no weights) in each bin."""
        return self.table.weight

    def _fields(self) -> dict[str, Any]:
        return {**self.table._fields(), "lower": self.lower, "upper": self.upper}

    def _columns(self) -> dict[str, list[Any]]:
        return self.to_dict()

    def _table(self) -> tuple[list[str], list[list[str]]]:
        headings, lines = self.table._table()
        bounds = zip(lines, self.lower, self.upper, strict=True)
        return [*headings, "lower", "upper"], [[*line, number(low), number(high)] for line, low, high in bounds]

    def _title(self) -> str:
        interval = f", {self.level:.0%} {self.method} intervals" if self.level else ""
        return f"Calibration curve ({self.lens}{interval})"


@checks_keywords()
def calibration_curve(
    y_true: Any,
    y_prob: Any = None,
    *,
    bins: Bins = BINS,
    binning: Binning = EQUAL_WIDTH,
    lens: str | Lens = "auto",
    where: Any = None,
    interval: float | None = 0.95,
    method: Literal["clopper_pearson", "jeffreys", "wilson"] = "clopper_pearson",
    **words: Any,
) -> CalibrationCurve:
    """Mean score and outcome rate of each bin, with an interval for the rate; empty bins are kept.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities; see `Predictions`, whose keywords are taken too. Or a view, a `Sketch` or `Sketches`.
    bins, binning
        Number of bins or edges, and how to cut: ``"equal_width"``, ``"equal_mass"``, a rule, or fitted bins.
    lens
        Which question is asked; ``"classwise"`` has a curve for each class, so name one: ``"class:NAME"``.
    where
        Which rows: a boolean mask or a Selection.
    interval, method
        Level and kind of the interval of each bin's outcome rate; None for no interval.

    Examples
    --------
    >>> import calibrant as cal
    >>> curve = cal.calibration_curve([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], bins=2)
    >>> curve.rate.tolist()
    [0.5, 1.0]
    """
    check_interval(0.95 if interval is None else interval, method, "interval")
    source = resolve(y_true, y_prob, words, where)
    views = views_of(source, lens)
    view = views[0]
    if len(views) > 1 or isinstance(view, VectorView):
        named = repr("classwise" if lens == "auto" and len(views) > 1 else lens)
        raise LensError("lens", f"{named} has more than one event per row", one_question(source))
    hint_at_edges(view, binning, bins)
    table = bin_table(view, binning, bins)
    if interval is None:
        lower = upper = np.full(len(table), np.nan)
    else:
        lower, upper = table.interval(interval, method)
    return CalibrationCurve(table, view.lens, interval, method, lower, upper)


def one_question(source: Source) -> str:
    """Which lenses ask one yes-or-no question of these predictions: the remedy where another one was given."""
    if isinstance(source, Predictions) and source.kind == "multilabel":
        first = 0 if source.classes is None else source.classes[0]
        return f"name one class, for example lens='class:{first}'"
    return "use 'top_label' or 'class:NAME'"

"""How sure the model was in a window: a short summary, and both readings of a rise and of a fall."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..inference.sequential import check_level
from ..util.checks import check_whole
from ..util.results import frame_of, html_table, number
from .distances import bin_rule, statistic_of
from .samples import Sample, as_sample, lay_on_cells
from .shuffles import coarsened, draw_null

__all__ = ["ChangeReading", "ConfidenceSummary", "confidence_summary", "read_change"]

FIELDS = ("n", "mean", "standard_error", "median", "p90", "p99", "lowest", "highest", "share_90", "share_99")
READINGS = {
    "rise": (
        "the model meets easier inputs, or was made better or sharper, and is rightly surer",
        "it fails and does not know it: unfamiliar inputs far from what it learnt can look certain, which is overconfident failure",
    ),
    "fall": (
        "inputs are unfamiliar or harder, so that predictions are worse as well",
        "the same inputs are answered with more caution, as after a new temperature or a change of preprocessing, and accuracy is as before",
    ),
    "none": (
        "nothing has changed",
        "what changed does not show in confidence: labels can change while the scores stay the same",
    ),
}
ADVICE = "Either deserves a look at labelled rows of this window; confidence alone cannot tell the two apart."


@dataclass(frozen=True)
class ConfidenceSummary:
    """Confidence of a window in a few numbers."""

    n: float
    """Rows; for importance weights how many rows they are worth."""
    mean: float
    standard_error: float
    """Of the mean."""
    median: float
    p90: float
    p99: float
    lowest: float
    highest: float
    share_90: float
    """Rows with a confidence of at least 0.9."""
    share_99: float
    lens: str = "score"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {name: getattr(self, name) for name in (*FIELDS, "lens")}

    def to_frame(self) -> Any:
        """One row, as a frame of the library at hand."""
        return frame_of({name: [value] for name, value in self.to_dict().items()})

    def __repr__(self) -> str:
        parts = [f"{name} {number(getattr(self, name))}" for name in ("mean", "median", "p90", "p99")]
        return f"Confidence of {self.n:,.6g} rows: " + ", ".join(parts)

    def _repr_html_(self) -> str:
        return html_table(FIELDS, [[number(float(getattr(self, name))) for name in FIELDS]], repr(self))


@dataclass(frozen=True)
class ChangeReading:
    """What a change of confidence can mean; there are always two readings."""

    direction: str
    """``"rise"``, ``"fall"`` or ``"none"``."""
    difference: float
    """Mean of the window minus mean of the reference."""
    pvalue: float
    alpha: float
    reference: ConfidenceSummary
    window: ConfidenceSummary
    readings: tuple[str, str]

    @property
    def words(self) -> str:
        """Both readings in full."""
        first, second = self.readings
        chance = f"p = {self.pvalue:.3g}" if self.pvalue >= 0.001 else "p < 0.001"
        means = f"from {number(self.reference.mean)} to {number(self.window.mean)}"
        if self.direction == "none":
            return f"Mean confidence went {means}, as chance does ({chance}). Either {first}, or {second}."
        verb = "rose" if self.direction == "rise" else "fell"
        return f"Mean confidence {verb} {means} ({chance}). Either {first}; or {second}. {ADVICE}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        names = ("direction", "difference", "pvalue", "alpha", "words")
        sides = {"reference": self.reference.to_dict(), "window": self.window.to_dict()}
        return {**{name: getattr(self, name) for name in names}, "readings": list(self.readings), **sides}

    def to_frame(self) -> Any:
        """A row for the reference and one for the window, as a frame of the library at hand."""
        sides = {"reference": self.reference, "window": self.window}
        return frame_of({"sample": list(sides), **{f: [getattr(s, f) for s in sides.values()] for f in FIELDS}})

    def __repr__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        sides = (("reference", self.reference), ("window", self.window))
        rows = [[name, *(number(float(getattr(side, f))) for f in FIELDS)] for name, side in sides]
        return html_table(["", *FIELDS], rows, self.words)


def confidence_summary(window: Any) -> ConfidenceSummary:
    """Mean, median and high quantiles of the confidence of a window.

    Parameters
    ----------
    window
        A Sketch, a View, a Sample or plain confidences. Scores of a positive class (lens ``"binary"``) are turned into confidences
        in the class predicted. Quantiles are linear between rows; those of a Sketch are off by one cell at most.

    Examples
    --------
    >>> from calibrant.monitoring.summaries import confidence_summary
    >>> confidence_summary([0.7, 0.6, 0.7, 0.5, 0.6, 0.6, 0.5, 0.8])
    Confidence of 8 rows: mean 0.6250, median 0.6000, p90 0.7300, p99 0.7930
    """
    sample = _confidence(window, "window")
    median, p90, p99 = (sample.quantile(share) for share in (0.5, 0.9, 0.99))
    error = math.sqrt(sample.variance / sample.size)
    above = (sample.part_above(0.9), sample.part_above(0.99))
    ends = (float(sample.value[0]), float(sample.value[-1]))
    return ConfidenceSummary(sample.size, sample.mean, error, median, p90, p99, *ends, *above, sample.lens)


def read_change(
    reference: Any, window: Any, *, alpha: float = 0.05, n_resamples: int = 999, rng: Any = 0
) -> ChangeReading:
    """Has mean confidence risen or fallen, and what are the two things that can mean?

    Parameters
    ----------
    reference, window
        As for `confidence_summary`.
    alpha
        A difference of means that chance reaches with a larger probability is called none.
    n_resamples, rng
        Exchanges of rows for the p-value; None, a seed or a Generator.

    Examples
    --------
    >>> from calibrant.monitoring.summaries import read_change
    >>> read_change([0.6, 0.62, 0.65, 0.6, 0.7] * 4, [0.9, 0.95, 0.92, 0.97] * 5).direction
    'rise'
    """
    check_level(alpha)
    before, after = _confidence(reference, "reference"), _confidence(window, "window")
    cells = coarsened(lay_on_cells(before, after, "read_change"))
    formula = statistic_of("mean_shift", bin_rule(10, 0.0))
    null = draw_null(cells, [formula], check_whole(n_resamples, "n_resamples"), rng, False)
    own = float(formula(cells.value, cells.reference[None], cells.window[None])[0])
    pvalue, difference = null.pvalue(own, 0), after.mean - before.mean
    direction = "none" if pvalue > alpha or difference == 0 else "rise" if difference > 0 else "fall"
    sides = (confidence_summary(before), confidence_summary(after))
    return ChangeReading(direction, float(np.float64(difference)), pvalue, alpha, *sides, READINGS[direction])


def _confidence(source: Any, argument: str) -> Sample:
    sample = as_sample(source, argument, "confidence_summary")
    return sample.folded() if sample.lens == "binary" else sample

"""Label-free monitoring: confidence, score drift and estimated performance of a window, each with its assumption.

None of them can detect a change of the labels that leaves the scores unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..sketches.sketch import Sketch
from ..util.checks import check_fraction
from ..util.results import Record, number, pvalue_clause
from ..views.view import View
from .drift import DriftReport, Sample, as_sample, mean_shift_pvalue, restored_report, score_drift
from .ood import OodFindings, OodScale, restore_findings, summarize
from .performance import PerformanceEstimate, estimate_performance, restored_performance

STATISTICS = ("psi", "ks_2samp", "wasserstein", "jensen_shannon")
MOST_PERMUTATIONS = 50_000
READINGS = {
    "rise": (
        "the model receives easier inputs, or was improved, and the higher confidence is justified",
        "the model fails with high confidence: unfamiliar inputs can receive confident predictions (overconfident failure)",
    ),
    "fall": (
        "inputs are unfamiliar or harder, and accuracy has fallen as well",
        "the same inputs receive more cautious predictions, as after a new temperature or changed preprocessing, and accuracy is unchanged",
    ),
    "none": (
        "neither scores nor labels have changed",
        "labels have changed while the scores stayed the same",
    ),
}
ADVICE = "Check labelled rows of this window; confidence alone cannot distinguish the two."
PERFORMANCE_RESAMPLES = 200


@dataclass(frozen=True, repr=False)
class ConfidenceSummary(Record):
    """Summary of the confidence in a window.

    Parameters
    ----------
    n : float
        Number of rows.
    mean : float
        Mean confidence.
    standard_error : float
        Standard error of the mean.
    median : float
        Median.
    p90 : float
        90th percentile.
    p99 : float
        99th percentile.
    lowest : float
        Minimum.
    highest : float
        Maximum.
    share_90 : float
        Share of rows with a confidence of at least 0.9.
    share_99 : float
        Share of rows with a confidence of at least 0.99.
    lens : str
        Lens of the scores.
    """

    n: float
    mean: float
    standard_error: float
    median: float
    p90: float
    p99: float
    lowest: float
    highest: float
    share_90: float
    share_99: float
    lens: str = "score"

    def _title(self) -> str:
        parts = [f"{name} {number(getattr(self, name))}" for name in ("mean", "median", "p90", "p99")]
        return f"Confidence of {self.n:,.6g} rows: " + ", ".join(parts)


@dataclass(frozen=True, repr=False)
class ChangeReading(Record):
    """Change of mean confidence against the reference data, with its two possible interpretations.

    Parameters
    ----------
    direction : {"rise", "fall", "none"}
        Direction of a significant change.
    difference : float
        Mean confidence of the window minus that of the reference data.
    pvalue : float
        Permutation p-value.
    alpha : float
        Significance level.
    reference : ConfidenceSummary
        Confidence in the reference data.
    window : ConfidenceSummary
        Confidence in the window.
    readings : tuple of str
        The two interpretations.
    least_pvalue : float, default 0.0
        The smallest p-value that the permutations can have; 0 where all were enumerated.
    """

    direction: str
    difference: float
    pvalue: float
    alpha: float
    reference: ConfidenceSummary
    window: ConfidenceSummary
    readings: tuple[str, str]
    least_pvalue: float = field(default=0.0, repr=False, compare=False)

    @property
    def words(self) -> str:
        """The change and both interpretations as text."""
        first, second = self.readings
        chance = pvalue_clause(self.pvalue, self.least_pvalue)
        means = f"from {number(self.reference.mean)} to {number(self.window.mean)}"
        if self.direction == "none":
            return f"Mean confidence changed {means}, not significantly ({chance}); labels can change while the scores stay the same."
        verb = "rose" if self.direction == "rise" else "fell"
        return f"Mean confidence {verb} {means} ({chance}). Either {first}; or {second}. {ADVICE}"

    def _fields(self) -> dict[str, Any]:
        return {**super()._fields(), "words": self.words}

    def _columns(self) -> dict[str, list[Any]]:
        """One row for the reference data and one for the window."""
        sides = {"reference": self.reference._columns(), "window": self.window._columns()}
        columns = {name: [side[name][0] for side in sides.values()] for name in sides["window"] if name != "lens"}
        return {"sample": list(sides), **columns}

    def _title(self) -> str:
        return self.words


@dataclass(frozen=True)
class ScoreFindings:
    """Label-free results for the scores of a window.

    Parameters
    ----------
    confidence : ConfidenceSummary
        Summary of the confidence.
    reading : ChangeReading or None
        Change of mean confidence; None without reference data.
    drift : DriftReport or None
        Score drift; None without reference data.
    performance : PerformanceEstimate or None
        Performance of these rows estimated without their labels; None without reference data.
    ood : tuple of OodFindings
        Out-of-distribution scores; empty if the monitor watches none.

    Examples
    --------
    >>> from calibrant.monitoring import ScoreFindings
    >>> from calibrant.monitoring.labelfree import confidence_summary
    >>> ScoreFindings(confidence_summary([0.6, 0.8]), None, None, None).confidence
    Confidence of 2 rows: mean 0.7000, median 0.7000, p90 0.7800, p99 0.7980
    """

    confidence: ConfidenceSummary
    reading: ChangeReading | None
    drift: DriftReport | None
    performance: PerformanceEstimate | None
    ood: tuple[OodFindings, ...] = ()

    @property
    def drift_pvalue(self) -> float | None:
        """The smallest adjusted p-value of the distances."""
        return None if self.drift is None else self.drift.pvalue

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain values.

        Returns
        -------
        dict
            Input of `of_dict`.
        """
        return asdict(self)

    @classmethod
    def of_dict(cls, plain: Mapping[str, Any]) -> ScoreFindings:
        """Restore the results of `to_dict`.

        Parameters
        ----------
        plain : mapping
            Result of `to_dict`.

        Returns
        -------
        ScoreFindings
            The results.
        """
        reading, drift = plain["reading"], plain["drift"]
        if reading is not None:
            sides = {side: ConfidenceSummary(**reading[side]) for side in ("reference", "window")}
            reading = ChangeReading(**{**reading, **sides, "readings": tuple(reading["readings"])})
        # Windows that version 0.2 compared have none.
        performance = restored_performance(plain.get("performance"))
        ood = tuple(restore_findings(each) for each in plain["ood"])
        return cls(ConfidenceSummary(**plain["confidence"]), reading, restored_report(drift), performance, ood)


def confidence_summary(window: Any) -> ConfidenceSummary:
    """Summarize the confidence in a window by mean, median and upper quantiles.

    Parameters
    ----------
    window : Sketch, View, Sample or array-like
        Confidences. Scores of a positive class (lens ``"binary"``) are converted to confidences of the predicted class.
        Quantiles are interpolated linearly; those of a Sketch are exact up to one cell.

    Returns
    -------
    ConfidenceSummary
        The summary.

    Examples
    --------
    >>> from calibrant.monitoring.labelfree import confidence_summary
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
    """Test whether mean confidence has changed, and state the two possible interpretations.

    Parameters
    ----------
    reference : Sketch, View, Sample or array-like
        Reference data, as for `confidence_summary`.
    window : Sketch, View, Sample or array-like
        The window.
    alpha : float, default 0.05
        Significance level.
    n_resamples : int, default 999
        Number of permutations.
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator.

    Returns
    -------
    ChangeReading
        The change.

    Examples
    --------
    >>> from calibrant.monitoring.labelfree import read_change
    >>> read_change([0.6, 0.62, 0.65, 0.6, 0.7] * 4, [0.9, 0.95, 0.92, 0.97] * 5).direction
    'rise'
    """
    check_fraction(alpha, "alpha", 0.05)
    before, after = _confidence(reference, "reference"), _confidence(window, "window")
    difference = after.mean - before.mean
    pvalue, least = mean_shift_pvalue(before, after, n_resamples, rng)
    direction = "none" if pvalue > alpha or difference == 0 else "rise" if difference > 0 else "fall"
    sides = (confidence_summary(before), confidence_summary(after))
    return ChangeReading(direction, float(np.float64(difference)), pvalue, alpha, *sides, READINGS[direction], least)


def _confidence(source: Any, argument: str) -> Sample:
    sample = as_sample(source, argument, "confidence_summary")
    return sample.folded() if sample.lens == "binary" else sample


def find_scores(
    scores: Sketch, reference: Sketch | None, *, alpha: float = 0.05, n_resamples: int = 999, streams: int = 1
) -> ScoreFindings:
    """Compute confidence, drift and estimated performance of a window; its outcomes are not used.

    Parameters
    ----------
    scores : Sketch
        All rows of the window.
    reference : Sketch or None
        Labelled reference data.
    alpha : float, default 0.05
        Significance level.
    n_resamples : int, default 999
        Number of permutations.
    streams : int, default 1
        Number of streams compared in the window. A small p-value is computed again with enough permutations to remain
        significant after adjustment for all of them.

    Returns
    -------
    ScoreFindings
        The results.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.monitoring.labelfree import find_scores
    >>> old = cal.Sketch.of([0, 1, 1, 1] * 50, [0.1, 0.4, 0.8, 0.9] * 50)
    >>> find_scores(cal.Sketch.of([0] * 100, [0.5, 0.6] * 50), old).drift.rejected
    True
    """
    confidence = confidence_summary(scores)
    if reference is None or not reference.n:
        return ScoreFindings(confidence, None, None, None)
    drift = _drift(reference, scores, alpha, n_resamples, streams)
    reading = read_change(reference, scores, alpha=alpha, n_resamples=max(n_resamples, math.ceil(2 / alpha)), rng=0)
    metrics = ["auroc", "brier"] if scores.lens.startswith("class:") else None
    performance = estimate_performance(reference, scores, metrics=metrics, n_resamples=PERFORMANCE_RESAMPLES)
    return ScoreFindings(confidence, reading, drift, performance)


def find_ood(
    scale: OodScale, scores: Sketch, reference: Sketch | None, *, alpha: float, n_resamples: int, streams: int
) -> OodFindings:
    """Compare an out-of-distribution score of a window with the reference data, by the distances and tests of score drift."""
    drift = _drift(reference, scores, alpha, n_resamples, streams) if reference is not None and reference.n else None
    return summarize(scale, scores, reference, drift)


def _drift(reference: Sketch, scores: Sketch, alpha: float, n_resamples: int, streams: int) -> DriftReport:
    options: dict[str, Any] = {"statistics": STATISTICS, "alpha": alpha}
    drift = score_drift(reference, scores, n_resamples=n_resamples, rng=0, **options)
    finer = min(MOST_PERMUTATIONS, math.ceil(10 * streams / alpha))
    if min(drift.adjusted) > max(alpha, 10 / (n_resamples + 1)) or finer <= n_resamples:
        return drift
    # The second p-value is independent of the first, which only decides whether to compute it, so the level holds.
    return score_drift(reference, scores, n_resamples=finer, rng=1, **options)


def top_view(sketch: Sketch) -> View | None:
    """Confidence of the predicted class and whether it was correct; None if the lens is one class of several."""
    view = sketch.view()
    if view.lens == "top_label":
        return view
    if view.lens != "binary":
        return None
    # A score of one half predicts the first class; no cell extends across it.
    yes = view.score > 0.5
    score = np.where(yes, view.score, 1 - view.score)
    outcome = np.where(yes, view.outcome, 1 - view.outcome).astype(np.uint8)
    return View(score, outcome, view.weight, "counts", lens="top_label")

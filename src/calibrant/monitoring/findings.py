"""What is found of one window: its confidence, its drift from the reference, its accuracy by estimate, and its calibration once labels came."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..binning.table import _binomial_interval
from ..errors import CalibrantError
from ..inference.intervals import interval
from ..metrics.registry import catalogue
from ..sketches.sketch import Sketch
from ..util.results import frame_of, html_table, number
from .combining import Alarm, drift_alarms
from .counting import top_view
from .drift import score_drift
from .drifted import DriftReport, DriftResult
from .labelfree import AccuracyEstimate, estimate_accuracy
from .summaries import ChangeReading, ConfidenceSummary, confidence_summary, read_change

__all__ = [
    "ScoreFindings",
    "WindowCalibration",
    "find_calibration",
    "find_scores",
    "gap_interval",
    "group_drift_alarms",
]

STATISTICS = ("psi", "ks_2samp", "wasserstein", "jensen_shannon")
LEVEL = 0.95
RESAMPLES = 200
MOST_DRAWS = 50_000


@dataclass(frozen=True)
class ScoreFindings:
    """What the scores of a window tell without any label."""

    confidence: ConfidenceSummary
    reading: ChangeReading | None
    """None where there is no reference to compare with."""
    drift: DriftReport | None
    accuracy: tuple[AccuracyEstimate, ...]
    """By the difference of confidences and by mean confidence; empty where the question is about one class of several."""

    @property
    def drift_pvalue(self) -> float | None:
        """The smallest p-value, corrected for looking at all distances."""
        return None if self.drift is None else min(self.drift.adjusted)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, from which `of_dict` makes the same again."""
        drift = None
        if self.drift is not None:
            results = [{**asdict(result), "details": dict(result.details)} for result in self.drift.results]
            drift = {"results": results, "adjusted": list(self.drift.adjusted), "alpha": self.drift.alpha}
        reading = None if self.reading is None else asdict(self.reading)
        estimates = [asdict(found) for found in self.accuracy]
        return {"confidence": asdict(self.confidence), "reading": reading, "drift": drift, "accuracy": estimates}

    @classmethod
    def of_dict(cls, plain: Mapping[str, Any]) -> ScoreFindings:
        reading, drift = plain["reading"], plain["drift"]
        if reading is not None:
            sides = {side: ConfidenceSummary(**reading[side]) for side in ("reference", "window")}
            reading = ChangeReading(**{**reading, **sides, "readings": tuple(reading["readings"])})
        if drift is not None:
            results = tuple(DriftResult(**result) for result in drift["results"])
            drift = DriftReport(results, tuple(drift["adjusted"]), drift["alpha"])
        estimates = tuple(AccuracyEstimate(**found) for found in plain["accuracy"])
        return cls(ConfidenceSummary(**plain["confidence"]), reading, drift, estimates)


@dataclass(frozen=True)
class WindowCalibration:
    """Calibration of the rows of a window whose labels have come."""

    n: int
    mean_score: float
    rate: float
    """How often it happened, or was right."""
    gap: float
    """Mean score minus rate: above 0 where scores are too high."""
    gap_low: float
    gap_high: float
    """95 % interval of the gap: of mean score minus true rate, given the scores."""
    ece: float | None
    ece_low: float | None
    ece_high: float | None
    """95 % interval by the bootstrap, corrected for its bias; it contains the estimate."""
    smece: float | None
    accuracy: float | None
    """None where the question is about one class of several."""
    bound_low: float
    bound_high: float
    """Where the gap of all rows lies, whatever the labels are that have not come."""
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def to_frame(self) -> Any:
        """One row, as a frame of the library at hand."""
        return frame_of({name: [value] for name, value in self.to_dict().items()})

    def __repr__(self) -> str:
        said = f"says {number(self.mean_score)}, happens {number(self.rate)}"
        return f"Calibration of {self.n:,} labelled rows: {said}, gap {number(self.gap)}, ece {number(self.ece)}"

    def _repr_html_(self) -> str:
        names = ("n", "mean_score", "rate", "gap", "ece", "smece")
        return html_table(names, [[number(getattr(self, name)) for name in names]], repr(self))


def find_scores(
    scores: Sketch, reference: Sketch | None, *, alpha: float = 0.05, n_resamples: int = 999, streams: int = 1
) -> ScoreFindings:
    """Confidence, drift and estimated accuracy of a window; its outcomes are not read.

    Parameters
    ----------
    scores
        All rows of the window.
    reference
        Labelled rows from when all was well; None where there are none.
    alpha, n_resamples
        Level of the comparison, and exchanges of rows for its p-values.
    streams
        How many streams are compared in the window. Where the p-value is small, it is found anew from so many exchanges that it
        can pass a correction for all of them.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.monitoring.findings import find_scores
    >>> old = cal.Sketch.of([0, 1, 1, 1] * 50, [0.1, 0.4, 0.8, 0.9] * 50)
    >>> find_scores(cal.Sketch.of([0] * 100, [0.5, 0.6] * 50), old).drift.rejected
    True
    """
    confidence = confidence_summary(scores)
    if reference is None or not reference.n:
        return ScoreFindings(confidence, None, None, ())
    drift = _drift(reference, scores, alpha, n_resamples, streams)
    draws = max(n_resamples, math.ceil(2 / alpha))
    reading = read_change(reference, scores, alpha=alpha, n_resamples=draws, rng=0)
    known, new = top_view(reference), top_view(scores)
    estimates: tuple[AccuracyEstimate, ...] = ()
    if known is not None and new is not None:
        methods: tuple[Any, ...] = ("doc", "average_confidence")
        estimates = tuple(estimate_accuracy(new, reference=known, method=method) for method in methods)
    return ScoreFindings(confidence, reading, drift, estimates)


def _drift(reference: Sketch, scores: Sketch, alpha: float, n_resamples: int, streams: int) -> DriftReport:
    words: dict[str, Any] = {"statistics": STATISTICS, "alpha": alpha}
    found = score_drift(reference, scores, n_resamples=n_resamples, rng=0, **words)
    finer = min(MOST_DRAWS, math.ceil(10 * streams / alpha))
    if min(found.adjusted) > max(alpha, 10 / (n_resamples + 1)) or finer <= n_resamples:
        return found
    # The second p-value stands alone, so its level holds; the first only decided that it is worth while.
    return score_drift(reference, scores, n_resamples=finer, rng=1, **words)


def find_calibration(judged: Sketch, scores: Sketch, outcomes: Sketch) -> WindowCalibration | None:
    """How well the scores of a window fit the labels that came; None where none has.

    Parameters
    ----------
    judged
        The rows to judge.
    scores, outcomes
        All rows, and those whose labels have come.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.monitoring.findings import find_calibration
    >>> rows = cal.Sketch.of([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
    >>> find_calibration(rows, rows, rows)
    Calibration of 4 labelled rows: says 0.5500, happens 0.7500, gap -0.2000, ece 0.2500
    """
    if not judged.n:
        return None
    mean, rate = judged.mean_score, judged.positives / judged.n
    ece, low, high, note = _ece(judged)
    smece = _or_none(lambda: float(catalogue["smece"](judged)))
    top = top_view(judged)
    accuracy = None if top is None else float(top.mean(top.outcome))
    missing, sure = scores.n - outcomes.n, scores.mean_score - outcomes.positives / scores.n
    bounds = (sure - missing / scores.n, sure)
    gap = (mean - rate, *gap_interval(judged))
    return WindowCalibration(judged.n, mean, rate, *gap, ece, low, high, smece, accuracy, *bounds, note)


def gap_interval(judged: Sketch) -> tuple[float, float]:
    """The ends of a 95 % interval of mean score minus true rate, given the scores, for rare events and few rows too.

    Surprises, events below one half and their absence above, have a Clopper-Pearson interval on each side; the distances to their
    ends add as squares (Zou and Donner 2008). So scores near 0 and 1 give a narrow one, and no surprise at all gives no certainty.
    """
    view = judged.view()
    sides = (view.score <= 0.5, view.outcome == 1), (view.score > 0.5, view.outcome == 0)
    rows = np.array([view.weights[side].sum() for side, _ in sides])
    surprises = np.array([view.weights[side & wrong].sum() for side, wrong in sides])
    low, high = _binomial_interval(surprises, rows, 1 - LEVEL, "clopper_pearson")
    below_fewer, above_fewer = np.where(rows > 0, surprises - low * rows, 0.0) / judged.n
    below_more, above_more = np.where(rows > 0, high * rows - surprises, 0.0) / judged.n
    mean, rate = judged.mean_score, judged.positives / judged.n
    least = max(rate - math.hypot(below_fewer, above_more), 0.0)
    most = min(rate + math.hypot(below_more, above_fewer), 1.0)
    return mean - most, mean - least


def _ece(judged: Sketch) -> tuple[float | None, float | None, float | None, str]:
    found = _or_none(lambda: interval(judged, metric="ece", level=LEVEL, n_resamples=RESAMPLES, rng=0))
    if found is None:
        return _or_none(lambda: float(catalogue["ece"](judged))), None, None, ""
    return found.value, found.low, found.high, found.note


def _or_none(compute: Callable[[], Any]) -> Any:
    """A number, or None where too few rows have none."""
    try:
        return compute()
    except CalibrantError:
        return None


def group_drift_alarms(found: Mapping[Any, ScoreFindings], *, alpha: float, when: Any) -> tuple[Alarm, ...]:
    """Alarms for the streams whose scores have changed in one window, corrected for distances and for streams.

    Parameters
    ----------
    found
        What was found of each stream.
    alpha
        Level for the window.
    when
        What to call the window.
    """
    results = {}
    for name, findings in found.items():
        if findings.drift is not None:
            adjusted = findings.drift.adjusted
            best = min(range(len(adjusted)), key=adjusted.__getitem__)
            results[name] = replace(findings.drift.results[best], pvalue=adjusted[best])
    return drift_alarms(results, alpha=alpha, when=when)

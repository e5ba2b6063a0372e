"""Label-free monitoring: confidence, score drift and estimates of accuracy of a window, each with its assumption.

None of them can detect a change of the labels that leaves the scores unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InputTypeError, LensError, UndefinedMetricError
from ..inference.replicates import Replicates
from ..sketches.sketch import Sketch
from ..util.checks import check_fraction, check_whole
from ..util.results import Record, number, pvalue_clause
from ..views.view import View
from .drift import DriftReport, Sample, as_sample, mean_shift_pvalue, restored_report, score_drift
from .ood import OodFindings, OodScale, restored, summarize
from .sequential import require_labels

Floats = NDArray[np.float64]
Method = Literal["average_confidence", "doc", "atc"]
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
        "nothing has changed",
        "the change does not affect confidence: labels can change while the scores stay the same",
    ),
}
ADVICE = "Check labelled rows of this window; confidence alone cannot distinguish the two."
ASSUMPTIONS = {
    "average_confidence": "confidence is calibrated on average in this window",
    "doc": "the gap between confidence and accuracy is the same as in the reference data",
    "atc": "the same share of rows below the threshold is wrong as in the reference data",
}
CAVEAT = "The estimate uses no labels of the window and cannot detect a change of the labels that leaves the scores unchanged."


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
            return f"Mean confidence changed {means}, not significantly ({chance}). Either {first}, or {second}."
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


@dataclass(frozen=True, repr=False)
class AccuracyEstimate(Record):
    """Accuracy of a window estimated without its labels; valid only under `assumption`.

    Parameters
    ----------
    method : {"average_confidence", "doc", "atc"}
        Estimator.
    estimate : float
        Estimated accuracy.
    standard_error : float
        Its standard error.
    reference_accuracy : float or None
        Accuracy in the labelled reference data.
    n : float
        Number of rows.
    threshold : float or None
        Confidence above which ``"atc"`` counts rows as correct.
    """

    method: str
    estimate: float
    standard_error: float
    reference_accuracy: float | None
    n: float
    threshold: float | None = None

    @property
    def assumption(self) -> str:
        return ASSUMPTIONS[self.method]

    @property
    def caveat(self) -> str:
        return CAVEAT

    @property
    def words(self) -> str:
        """The estimate with its assumption as text."""
        was = "" if self.reference_accuracy is None else f" ({number(self.reference_accuracy)} in the reference data)"
        value = f"{number(self.estimate)} ± {number(1.96 * self.standard_error)}"
        return f"Estimated accuracy {value}{was}, assuming that {self.assumption}. {self.caveat}"

    def _fields(self) -> dict[str, Any]:
        return {**super()._fields(), "assumption": self.assumption, "caveat": self.caveat}

    def _title(self) -> str:
        return f"{self.words}\n  method {self.method}, {self.n:,.6g} rows"


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
    accuracy : tuple of AccuracyEstimate
        Estimates of accuracy; empty if the lens is one class of several.
    ood : tuple of OodFindings
        Out-of-distribution scores; empty if the monitor watches none.

    Examples
    --------
    >>> from calibrant.monitoring import ScoreFindings
    >>> from calibrant.monitoring.labelfree import confidence_summary
    >>> ScoreFindings(confidence_summary([0.6, 0.8]), None, None, ()).confidence
    Confidence of 2 rows: mean 0.7000, median 0.7000, p90 0.7800, p99 0.7980
    """

    confidence: ConfidenceSummary
    reading: ChangeReading | None
    drift: DriftReport | None
    accuracy: tuple[AccuracyEstimate, ...]
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
        estimates = tuple(AccuracyEstimate(**found) for found in plain["accuracy"])
        ood = tuple(restored(found) for found in plain["ood"])
        return cls(ConfidenceSummary(**plain["confidence"]), reading, restored_report(drift), estimates, ood)


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


def estimate_accuracy(
    window: Any,
    *,
    reference: Any = None,
    method: Method = "doc",
    n_resamples: int = 200,
    rng: Any = 0,
) -> AccuracyEstimate:
    """Estimate the accuracy in a window without its labels.

    Parameters
    ----------
    window : Sketch, View, Sample or array-like
        Confidences, with the lens ``"top_label"``; labels are not used.
    reference : Sketch or View, optional
        Labelled reference data; needed by all methods but ``"average_confidence"``.
    method : {"doc", "average_confidence", "atc"}, default "doc"
        Difference of confidences (Guillory et al. 2021), mean confidence, or average thresholded confidence (Garg et al.
        2022): the share of rows above a threshold, below which lies the error rate of the reference data.
    n_resamples : int, default 200
        Number of resamples for the standard error of ``"atc"``.
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator.

    Returns
    -------
    AccuracyEstimate
        The estimate with its assumption.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.monitoring.labelfree import estimate_accuracy
    >>> reference = cal.Sketch.of([1, 0, 1, 1], [0.9, 0.8, 0.9, 0.8], lens="top_label")
    >>> round(estimate_accuracy([0.7, 0.75], reference=reference).estimate, 4)
    0.625
    """
    if method not in ASSUMPTIONS:
        raise ArgumentError("method", f"must be one of {sorted(ASSUMPTIONS)}; got {method!r}")
    check_whole(n_resamples, "n_resamples")
    sample = _confidences(window, "window")
    labelled = None if reference is None else _labelled(reference, "reference")
    accuracy = None if labelled is None else labelled.mean(labelled.outcome)
    if method == "average_confidence":
        error = math.sqrt(float(sample.share @ (sample.value * (1 - sample.value))) / sample.size)
        return AccuracyEstimate(method, sample.mean, error, accuracy, sample.size)
    if labelled is None or accuracy is None:
        raise ArgumentError(
            "reference", f"is required by {method!r}", "pass labelled rows or use method='average_confidence'"
        )
    if method == "doc":
        estimate = accuracy - (labelled.mean(labelled.score) - sample.mean)
        gap = labelled.outcome - labelled.score
        spread = labelled.mean((gap - labelled.mean(gap)) ** 2) / labelled.effective_size
        error = math.sqrt(spread + sample.variance / sample.size)
        return AccuracyEstimate(method, min(1.0, max(0.0, estimate)), error, accuracy, sample.size)
    ties = labelled.ties
    threshold = _threshold(ties.score, ties.weight, float(ties.weight.sum() - ties.outcome.sum()))
    error = _atc_error(labelled, sample, n_resamples, rng)
    return AccuracyEstimate("atc", sample.part_above(threshold), error, accuracy, sample.size, threshold)


def _confidences(source: Any, argument: str) -> Sample:
    sample = as_sample(source, argument, "estimate_accuracy")
    if sample.lens == "binary":
        _raise_binary(argument)
    low, high = sample.value[0], sample.value[-1]
    if low < 0 or high > 1:
        raise InputTypeError(argument, f"confidences must be in [0, 1]; got {low if low < 0 else high:g}")
    return sample


def _labelled(source: Any, argument: str) -> View:
    view = source.view() if isinstance(source, Sketch) else source
    if not isinstance(view, View):
        raise InputTypeError(
            argument, f"must be a labelled Sketch or View; got {type(source).__name__}", "use Sketch.of"
        )
    if view.lens == "binary":
        _raise_binary(argument)
    if view.n == 0:
        raise UndefinedMetricError("estimate_accuracy", f"{argument} has no rows", "pass labelled rows")
    require_labels(view, argument)
    if view.is_soft:
        raise UndefinedMetricError("estimate_accuracy", "is not defined for soft labels")
    return view


def _raise_binary(argument: str) -> None:
    raise LensError(argument, "has the lens of the positive class instead of the top label", "use lens='top_label'")


def _threshold(score: Floats, weight: Floats, errors: float) -> float:
    """Score with as many rows below it as there are wrong rows; infinite if all rows are wrong."""
    ends = np.cumsum(weight)
    place = int(np.searchsorted(ends, errors * (1 + 1e-12), side="right"))
    return float(score[place]) if place < len(score) else math.inf


def _atc_error(view: View, sample: Sample, n_resamples: int, rng: Any) -> float:
    """Standard error over resamples of the reference data, so that the threshold varies too."""
    order = view.order
    score, wrong = view.score[order], 1 - view.outcome[order]

    def share_above(counts: Floats) -> float:
        threshold = _threshold(score, counts, float(counts @ wrong))
        return float(sample.share[sample.value >= threshold].sum())

    size = round(view.effective_size)
    shares = Replicates(view.weights[order], n_resamples, rng, size=size).values(share_above)
    # Given the threshold, the sampling error of the window is binomial.
    inner = float(np.mean(shares * (1 - shares))) / max(1, round(sample.size))
    return math.sqrt(float(shares.var()) + inner)


def find_scores(
    scores: Sketch, reference: Sketch | None, *, alpha: float = 0.05, n_resamples: int = 999, streams: int = 1
) -> ScoreFindings:
    """Compute confidence, drift and estimated accuracy of a window; its outcomes are not used.

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


def find_ood(
    scale: OodScale, scores: Sketch, reference: Sketch | None, *, alpha: float, n_resamples: int, streams: int
) -> OodFindings:
    """Compare an out-of-distribution score of a window with the reference data, by the distances and tests of score drift."""
    drift = None
    if reference is not None and reference.n:
        drift = _drift(reference, scores, alpha, n_resamples, streams)
    return summarize(scale, scores, reference, drift)


def _drift(reference: Sketch, scores: Sketch, alpha: float, n_resamples: int, streams: int) -> DriftReport:
    options: dict[str, Any] = {"statistics": STATISTICS, "alpha": alpha}
    found = score_drift(reference, scores, n_resamples=n_resamples, rng=0, **options)
    finer = min(MOST_PERMUTATIONS, math.ceil(10 * streams / alpha))
    if min(found.adjusted) > max(alpha, 10 / (n_resamples + 1)) or finer <= n_resamples:
        return found
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

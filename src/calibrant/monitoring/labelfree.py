"""What the scores of a window tell before its labels come: confidence, drift, and estimates of accuracy, each with its assumption.

None of them sees a change of the labels that leaves the scores alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InputTypeError, LensError, UndefinedMetricError, Use
from ..inference.resampling import generator, seed_of
from ..inference.sequential import check_level
from ..sketches.sketch import Sketch
from ..util.checks import check_whole
from ..util.results import Record, number
from ..views.view import View
from .drift import DriftReport, DriftResult, Sample, as_sample, mean_shift_pvalue, score_drift
from .sequential import require_labels

__all__ = ["ScoreFindings", "confidence_summary", "estimate_accuracy", "find_scores", "read_change", "top_view"]

Floats = NDArray[np.float64]
Method = Literal["average_confidence", "doc", "atc"]
STATISTICS = ("psi", "ks_2samp", "wasserstein", "jensen_shannon")
MOST_PERMUTATIONS = 50_000
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
ASSUMPTIONS = {
    "average_confidence": "confidence still means what it says: on this window it is calibrated on average",
    "doc": "confidence still errs by as much as on the reference: the gap between confidence and accuracy has not changed",
    "atc": "the same share of rows below the threshold is wrong as on the reference",
}
CAVEAT = (
    "The estimate uses no labels of the window, so a change of the labels that leaves the scores alone is not seen."
)


@dataclass(frozen=True, repr=False)
class ConfidenceSummary(Record):
    """Confidence of a window in a few numbers."""

    n: float
    """Number of rows."""
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

    def _title(self) -> str:
        parts = [f"{name} {number(getattr(self, name))}" for name in ("mean", "median", "p90", "p99")]
        return f"Confidence of {self.n:,.6g} rows: " + ", ".join(parts)


@dataclass(frozen=True, repr=False)
class ChangeReading(Record):
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

    def _fields(self) -> dict[str, Any]:
        return {**super()._fields(), "words": self.words}

    def _columns(self) -> dict[str, list[Any]]:
        """A row for the reference and one for the window."""
        sides = {"reference": self.reference._columns(), "window": self.window._columns()}
        columns = {name: [side[name][0] for side in sides.values()] for name in sides["window"] if name != "lens"}
        return {"sample": list(sides), **columns}

    def _title(self) -> str:
        return self.words


@dataclass(frozen=True, repr=False)
class AccuracyEstimate(Record):
    """Accuracy of a window as far as confidence tells; it stands or falls with `assumption`."""

    method: str
    estimate: float
    standard_error: float
    reference_accuracy: float | None
    """Accuracy of the labelled reference; None where none was given."""
    n: float
    threshold: float | None = None
    """The confidence above which ``"atc"`` counts rows as right."""

    @property
    def assumption(self) -> str:
        return ASSUMPTIONS[self.method]

    @property
    def caveat(self) -> str:
        return CAVEAT

    @property
    def words(self) -> str:
        """The estimate with what it takes for granted."""
        was = "" if self.reference_accuracy is None else f" (it was {number(self.reference_accuracy)} on the reference)"
        value = f"{number(self.estimate)} ± {number(1.96 * self.standard_error)}"
        return f"Accuracy is about {value}{was}, but only if {self.assumption}. {self.caveat}"

    def _fields(self) -> dict[str, Any]:
        return {**super()._fields(), "assumption": self.assumption, "caveat": self.caveat}

    def _title(self) -> str:
        return f"{self.words}\n  method {self.method}, {self.n:,.6g} rows"


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
        return asdict(self)

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


def confidence_summary(window: Any) -> ConfidenceSummary:
    """Mean, median and high quantiles of the confidence of a window.

    Parameters
    ----------
    window
        A Sketch, a View, a Sample or plain confidences. Scores of a positive class (lens ``"binary"``) are turned into confidences
        in the class predicted. Quantiles are linear between rows; those of a Sketch are off by one cell at most.

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
    """Has mean confidence risen or fallen, and what are the two things that can mean?

    Parameters
    ----------
    reference, window
        As for `confidence_summary`.
    alpha
        A difference of means that chance reaches with a larger probability is called none.
    n_resamples, rng
        Permutations for the p-value; None, a seed or a Generator.

    Examples
    --------
    >>> from calibrant.monitoring.labelfree import read_change
    >>> read_change([0.6, 0.62, 0.65, 0.6, 0.7] * 4, [0.9, 0.95, 0.92, 0.97] * 5).direction
    'rise'
    """
    check_level(alpha)
    before, after = _confidence(reference, "reference"), _confidence(window, "window")
    pvalue, difference = mean_shift_pvalue(before, after, n_resamples, rng), after.mean - before.mean
    direction = "none" if pvalue > alpha or difference == 0 else "rise" if difference > 0 else "fall"
    sides = (confidence_summary(before), confidence_summary(after))
    return ChangeReading(direction, float(np.float64(difference)), pvalue, alpha, *sides, READINGS[direction])


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
    """Accuracy of a window without its labels.

    Parameters
    ----------
    window
        Confidences: a Sketch or View of the lens ``"top_label"``, a Sample or plain numbers. Labels are not read.
    reference
        A labelled Sketch or View of the same kind; needed by all but ``"average_confidence"``.
    method
        ``"average_confidence"``; ``"doc"``, the difference of confidences (Guillory et al. 2021); ``"atc"``, the share of rows above
        the confidence that as many reference rows fall below as are wrong (Garg et al. 2022).
    n_resamples, rng
        Resamples for the standard error of ``"atc"``; None, a seed or a Generator.

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
            "reference", f"is required by {method!r}", ("pass labelled rows", Use("method", "average_confidence"))
        )
    if method == "doc":
        estimate = accuracy - (labelled.mean(labelled.score) - sample.mean)
        gap = labelled.outcome - labelled.score
        spread = labelled.mean((gap - labelled.mean(gap)) ** 2) / labelled.effective_size
        error = math.sqrt(spread + sample.variance / sample.size)
        return AccuracyEstimate(method, min(1.0, max(0.0, estimate)), error, accuracy, sample.size)
    threshold = _threshold(*_table(labelled))
    error = _atc_error(labelled, sample, n_resamples, rng)
    return AccuracyEstimate("atc", sample.part_above(threshold), error, accuracy, sample.size, threshold)


def _confidences(source: Any, argument: str) -> Sample:
    sample = as_sample(source, argument, "estimate_accuracy")
    if sample.lens == "binary":
        _refuse_binary(argument)
    if sample.value[0] < 0 or sample.value[-1] > 1:
        raise InputTypeError(argument, "confidences must be in [0, 1]")
    return sample


def _labelled(source: Any, argument: str) -> View:
    view = source.view() if isinstance(source, Sketch) else source
    if not isinstance(view, View):
        raise InputTypeError(
            argument, f"must be a labelled Sketch or View; got {type(source).__name__}", "use Sketch.of"
        )
    if view.lens == "binary":
        _refuse_binary(argument)
    if view.n == 0:
        raise UndefinedMetricError("estimate_accuracy", f"{argument} has no rows", "pass labelled rows")
    require_labels(view, argument)
    if view.is_soft:
        raise UndefinedMetricError("estimate_accuracy", "is not defined for soft labels")
    return view


def _refuse_binary(argument: str) -> None:
    raise LensError(argument, "has the lens of the positive class instead of the top label", Use("lens", "top_label"))


def _table(view: View) -> tuple[Floats, Floats, float]:
    """Distinct scores, their weight, and the weight of wrong rows."""
    ties = view.ties
    return ties.score, ties.weight, float(ties.weight.sum() - ties.outcome.sum())


def _threshold(score: Floats, weight: Floats, errors: float) -> float:
    """The score of the row that has as many rows below it as rows are wrong; above all where every row is wrong."""
    ends = np.cumsum(weight)
    place = int(np.searchsorted(ends, errors * (1 + 1e-12), side="right"))
    return float(score[place]) if place < len(score) else math.inf


def _atc_error(view: View, sample: Sample, n_resamples: int, rng: Any) -> float:
    """Standard deviation over resamples of both, so that the threshold varies too."""
    draw = generator(seed_of(rng), 0)
    size, count = round(view.effective_size), max(1, round(sample.size))
    found = np.empty(n_resamples)
    weight = view.weights / view.weights.sum()
    order = view.order
    score, wrong = view.score[order], 1 - view.outcome[order]
    for row in range(n_resamples):
        times = draw.multinomial(size, weight[order]).astype(np.float64)
        threshold = _threshold(score, times, float(times @ wrong))
        found[row] = sample.share[sample.value >= threshold].sum()
    # The window's own sampling given the threshold is binomial.
    inner = float(np.mean(found * (1 - found))) / count
    return math.sqrt(float(found.var()) + inner)


def find_scores(
    scores: Sketch, reference: Sketch | None, *, alpha: float = 0.05, n_resamples: int = 999, streams: int = 1
) -> ScoreFindings:
    """Confidence, drift and estimated accuracy of a window; its outcomes are not read.

    Parameters
    ----------
    scores
        All rows of the window.
    reference
        Labelled reference data; None where there are none.
    alpha, n_resamples
        Level of the comparison, and permutations for its p-values.
    streams
        How many streams are compared in the window. Where the p-value is small, it is found anew from so many permutations that it
        can pass a correction for all of them.

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


def _drift(reference: Sketch, scores: Sketch, alpha: float, n_resamples: int, streams: int) -> DriftReport:
    options: dict[str, Any] = {"statistics": STATISTICS, "alpha": alpha}
    found = score_drift(reference, scores, n_resamples=n_resamples, rng=0, **options)
    finer = min(MOST_PERMUTATIONS, math.ceil(10 * streams / alpha))
    if min(found.adjusted) > max(alpha, 10 / (n_resamples + 1)) or finer <= n_resamples:
        return found
    # The second p-value stands alone, so its level holds; the first only decided that it is worth while.
    return score_drift(reference, scores, n_resamples=finer, rng=1, **options)


def top_view(sketch: Sketch) -> View | None:
    """Confidence in the predicted class, and whether it was right; None where the question is about one class of several."""
    view = sketch.view()
    if view.lens == "top_label":
        return view
    if view.lens != "binary":
        return None
    # A score of one half predicts the first class, and no cell reaches across it.
    yes = view.score > 0.5
    score = np.where(yes, view.score, 1 - view.score)
    outcome = np.where(yes, view.outcome, 1 - view.outcome).astype(np.uint8)
    return View(score, outcome, view.weight, "counts", lens="top_label")

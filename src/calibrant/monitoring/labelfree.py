"""How accurate is a window whose labels have not come? Estimates from confidence alone, each with what it takes for granted.

None of them sees a change of the labels that leaves the scores alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..decision.rows import check_share, read_distributions
from ..errors import ArgumentError, InputTypeError, LensError, UndefinedMetricError
from ..inference.resampling import generator, seed_of
from ..input.convert import is_number
from ..sketches.sketch import Sketch
from ..util.checks import check_whole
from ..util.results import frame_of, html_lines, html_table, number
from ..views.view import View
from .alternatives import require_labels
from .samples import Sample, as_sample

__all__ = ["AccuracyEstimate", "ExpectedConfusion", "doc_slope", "estimate_accuracy", "expected_confusion"]

Floats = NDArray[np.float64]
Method = Literal["average_confidence", "doc", "atc"]
ASSUMPTIONS = {
    "average_confidence": "confidence still means what it says: on this window it is calibrated on average",
    "doc": "confidence still errs by as much as on the reference: the gap between confidence and accuracy has not changed",
    "atc": "the same share of rows below the threshold is wrong as on the reference",
}
CAVEAT = (
    "The estimate uses no labels of the window, so a change of the labels that leaves the scores alone is not seen."
)


@dataclass(frozen=True)
class AccuracyEstimate:
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

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        names = ("method", "estimate", "standard_error", "reference_accuracy", "n", "threshold", "assumption", "caveat")
        return {name: getattr(self, name) for name in names}

    def to_frame(self) -> Any:
        """One row, as a frame of the library at hand."""
        return frame_of({name: [value] for name, value in self.to_dict().items()})

    def __repr__(self) -> str:
        return f"{self.words}\n  method {self.method}, {self.n:,.6g} rows"

    def _repr_html_(self) -> str:
        row = [self.method, number(self.estimate), number(self.standard_error), number(self.reference_accuracy)]
        return html_lines(repr(self)) + html_table(["method", "accuracy", "standard error", "reference"], [row])


def estimate_accuracy(
    window: Any,
    *,
    reference: Any = None,
    method: Method = "doc",
    slope: float = 1.0,
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
    slope
        For ``"doc"``: how much accuracy falls for each unit of confidence; see `doc_slope`.
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
    if not is_number(slope) or not math.isfinite(slope):
        raise ArgumentError("slope", f"must be a finite number; got {slope!r}")
    check_whole(n_resamples, "n_resamples")
    sample = _confidences(window, "window")
    labelled = None if reference is None else _labelled(reference, "reference")
    accuracy = None if labelled is None else labelled.mean(labelled.outcome)
    if method == "average_confidence":
        error = math.sqrt(float(sample.share @ (sample.value * (1 - sample.value))) / sample.size)
        return AccuracyEstimate(method, sample.mean, error, accuracy, sample.size)
    if labelled is None or accuracy is None:
        raise ArgumentError("reference", f"is needed by {method!r}", "pass labelled rows, or use 'average_confidence'")
    if method == "doc":
        estimate = accuracy - slope * (labelled.mean(labelled.score) - sample.mean)
        gap = labelled.outcome - slope * labelled.score
        spread = labelled.mean((gap - labelled.mean(gap)) ** 2) / labelled.effective_size
        error = math.sqrt(spread + slope**2 * sample.variance / sample.size)
        return AccuracyEstimate(method, min(1.0, max(0.0, estimate)), error, accuracy, sample.size)
    threshold = _threshold(*_table(labelled))
    error = _atc_error(labelled, sample, n_resamples, rng)
    return AccuracyEstimate("atc", sample.part_above(threshold), error, accuracy, sample.size, threshold)


def doc_slope(reference: Any, shifted: Sequence[Any]) -> float:
    """How much accuracy changes for each unit that mean confidence does, from several labelled windows.

    Parameters
    ----------
    reference
        A labelled Sketch or View of the lens ``"top_label"``.
    shifted
        Labelled windows of the same kind; the line through the reference that fits their changes best has this slope.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.monitoring.labelfree import doc_slope
    >>> a = cal.Sketch.of([1, 1, 1, 0], [0.9] * 4, lens="top_label")
    >>> b = cal.Sketch.of([1, 0, 1, 0], [0.8] * 4, lens="top_label")
    >>> round(doc_slope(a, [b]), 6)
    2.5
    """
    base = _labelled(reference, "reference")
    views = [_labelled(window, "shifted") for window in shifted]
    sure = np.array([view.mean(view.score) for view in views]) - base.mean(base.score)
    right = np.array([view.mean(view.outcome) for view in views]) - base.mean(base.outcome)
    if not len(views) or not (np.abs(sure) > 1e-12).any():
        raise UndefinedMetricError(
            "doc_slope", "mean confidence is the same in all windows", "pass windows that differ"
        )
    return float(sure @ right / (sure @ sure))


def _confidences(source: Any, argument: str) -> Sample:
    sample = as_sample(source, argument, "estimate_accuracy")
    if sample.lens == "binary":
        _refuse_binary(argument)
    if sample.value[0] < 0 or sample.value[-1] > 1:
        raise InputTypeError(argument, "holds numbers outside 0 to 1, which are no confidences")
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
        raise UndefinedMetricError("estimate_accuracy", f"{argument} holds no rows", "pass labelled rows")
    require_labels(view, argument)
    if view.is_soft:
        raise UndefinedMetricError("estimate_accuracy", "needs hard labels, and these are soft")
    return view


def _refuse_binary(argument: str) -> None:
    raise LensError(
        argument, "asks for the positive class, not whether the prediction is right", "make it with lens='top_label'"
    )


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


@dataclass(frozen=True)
class ExpectedConfusion:
    """The confusion matrix to expect if the probabilities are right: rows are true classes, columns predicted ones."""

    matrix: Floats
    """Shares of all rows; they add up to 1."""
    n: float

    @property
    def accuracy(self) -> float:
        return float(np.trace(self.matrix))

    @property
    def precision(self) -> Floats:
        """Of each class; nan where it is never predicted."""
        return _ratio(np.diag(self.matrix), self.matrix.sum(axis=0))

    @property
    def recall(self) -> Floats:
        """Of each class; nan where it is not expected."""
        return _ratio(np.diag(self.matrix), self.matrix.sum(axis=1))

    @property
    def f1(self) -> Floats:
        """Of each class."""
        return _ratio(2 * np.diag(self.matrix), self.matrix.sum(axis=0) + self.matrix.sum(axis=1))

    @property
    def caveat(self) -> str:
        return f"It holds only if the probabilities are calibrated on this window. {CAVEAT}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        lists = {name: getattr(self, name).tolist() for name in ("matrix", "precision", "recall", "f1")}
        return {"n": self.n, "accuracy": self.accuracy, **lists, "caveat": self.caveat}

    def to_frame(self) -> Any:
        """One row for each class, as a frame of the library at hand."""
        columns = {name: getattr(self, name).tolist() for name in ("precision", "recall", "f1")}
        return frame_of({"class": list(range(len(self.matrix))), **columns})

    def __repr__(self) -> str:
        return f"Expected accuracy {number(self.accuracy)} of {self.n:,.6g} rows. {self.caveat}"

    def _repr_html_(self) -> str:
        rows = [[k, *(number(float(v)) for v in row)] for k, row in enumerate(self.matrix)]
        return html_table(["true \\ predicted", *range(len(self.matrix))], rows, repr(self))


def _ratio(top: Floats, bottom: Floats) -> Floats:
    return np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 0)


def expected_confusion(y_prob: Any, *, threshold: float = 0.5) -> ExpectedConfusion:
    """What the probabilities promise: the confusion matrix expected if they are right ("confidence-based performance").

    Parameters
    ----------
    y_prob
        Scores of a positive class as a Sketch or View of the lens ``"binary"``, a Sample or numbers; or a row of probabilities for
        each row. Labels are not read.
    threshold
        For scores: from here on the positive class is predicted. Rows of several classes go to the largest.

    Examples
    --------
    >>> from calibrant.monitoring.labelfree import expected_confusion
    >>> expected_confusion([0.2, 0.9]).matrix.round(3).tolist()
    [[0.4, 0.05], [0.1, 0.45]]
    """
    check_share(threshold, "threshold")
    if isinstance(y_prob, (Sketch, View, Sample)) or np.ndim(y_prob) == 1:
        sample = as_sample(y_prob, "y_prob", "expected_confusion")
        if sample.lens not in ("binary", "score"):
            raise LensError("y_prob", f"holds scores of the lens {sample.lens!r}", "make it with lens='binary'")
        if sample.value[0] < 0 or sample.value[-1] > 1:
            raise InputTypeError("y_prob", "holds numbers outside 0 to 1, which are no probabilities")
        yes = sample.value >= threshold
        called, event = sample.share * yes, sample.value
        hit, alarm = float(called @ event), float(called @ (1 - event))
        miss, rest = float(sample.share[~yes] @ event[~yes]), float(sample.share[~yes] @ (1 - event[~yes]))
        return ExpectedConfusion(np.array([[rest, alarm], [miss, hit]]), sample.size)
    source = read_distributions("expected_confusion", y_prob, {})
    probs = np.asarray(source.probs, dtype=np.float64)
    probs = np.column_stack([1 - probs, probs]) if probs.ndim == 1 else probs
    predicted = probs.argmax(axis=1)
    matrix = np.zeros((probs.shape[1], probs.shape[1]))
    np.add.at(matrix.T, predicted, probs)
    return ExpectedConfusion(matrix / len(probs), float(len(probs)))

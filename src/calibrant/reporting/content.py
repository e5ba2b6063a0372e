"""The sections of a report as plain values, in reading order; every form of the report is rendered from these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ..clinical.performance import ClinicalRow, ClinicalSummary
from ..errors import ArgumentError

if TYPE_CHECKING:
    from ..evaluation.subgroups import Subgroups
    from ..figures.decision_curves import DecisionCurve
    from ..figures.features import FeatureDiagram
    from ..figures.flexible_curves import FlexibleCalibrationCurve
    from ..recalibration.choosing import Candidate
    from .building import Report
    from .interactive import Interactive

Direction = Literal["over", "under", "mixed", "none", "unknown"]
MetricGroup = Literal["calibration", "proper score", "discrimination"]


@dataclass(frozen=True)
class Verdict:
    """The conclusion in a few sentences, and the numbers behind it.

    Parameters
    ----------
    sentence : str
        All sentences: `headline`, significance, recalibration, minimum detectable effect.
    headline : str
        The first sentence: means, and a direction only where it is statistically significant.
    direction : Direction
        ``over`` or ``under`` where the mean deviates significantly, ``mixed`` where only parts do, ``none`` where the test does
        not reject, ``unknown`` where there is no test.
    mean_score : float or None
        Mean score under `lens`: the mean confidence for ``top_label``, else the mean predicted probability.
    rate : float or None
        Observed rate under `lens`: the accuracy for ``top_label``, the share of the class for ``binary`` and ``class:...``.
    lens : str
        Lens of `mean_score` and `rate`.
    event_mean_score : float or None
        Mean predicted probability of the positive class of two; None otherwise.
    event_rate : float or None
        Observed rate of the positive class of two; None otherwise.
    test : str
        Id of the metric whose test gave `pvalue`.
    test_lens : str
        Lens of the test.
    statistic : float or None
        Statistic of the test.
    pvalue : float or None
        P-value.
    least_pvalue : float
        The smallest p-value that the test can have, with the number of its simulated values; 0 where it is not simulated.
    alpha : float
        Significance level.
    rejected : bool or None
        None where there is no test.
    null_distribution : str
        Null hypothesis, and how the p-value was computed.
    detectable : float or None
        Minimum detectable effect: a difference of mean score and rate, under `test_lens`, that the test detects with a power of
        0.8.
    reason : str
        Why there is no test; empty where there is one.
    """

    sentence: str
    headline: str
    direction: Direction
    mean_score: float | None
    rate: float | None
    lens: str
    event_mean_score: float | None
    event_rate: float | None
    test: str
    test_lens: str
    statistic: float | None
    pvalue: float | None
    least_pvalue: float
    alpha: float
    rejected: bool | None
    null_distribution: str
    detectable: float | None
    reason: str = ""


@dataclass(frozen=True)
class DiagramBin:
    """One bin of the reliability diagram; means are None where it is empty.

    Parameters
    ----------
    left : float
        Lower end.
    right : float
        Upper end.
    rows : int
        Number of rows, or the rows of the table.
    weight : float
        Sum of the weights.
    mean_score : float or None
        Mean score.
    rate : float or None
        Observed rate.
    gap : float or None
        Mean score minus rate; positive where the predicted probabilities exceed the observed rate.
    low : float or None
        Lower end of the interval.
    high : float or None
        Ends of the interval of `rate`.
    """

    left: float
    right: float
    rows: int
    weight: float
    mean_score: float | None
    rate: float | None
    gap: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Diagram:
    """The reliability diagram as data.

    Parameters
    ----------
    bins : tuple of DiagramBin
        The bins.
    lens : str
        Lens.
    binning : str
        ``equal_width``, or ``equal_mass`` where nearly all scores lie in one bin of equal width.
    level : float or None
        Confidence level of the Clopper-Pearson interval of each bin; None where there is none.
    notes : tuple of str
        Remarks.
    reason : str
        Why there is no diagram; empty where there is one.
    kind : {"isotonic", "bins", "smooth", "cumulative"}
        What the page shows first.
    scale : {"probability", "logit"}
        Scale of both axes at first; ``"logit"`` for rare events.
    min_rows : int
        Bins with fewer rows are merged with a neighbour.
    """

    bins: tuple[DiagramBin, ...]
    lens: str
    binning: str
    level: float | None
    notes: tuple[str, ...] = ()
    reason: str = ""
    kind: str = "isotonic"
    scale: str = "probability"
    min_rows: int = 1


@dataclass(frozen=True)
class MetricRow:
    """One metric: value, interval, p-value and meaning.

    Parameters
    ----------
    id : str
        Identifier.
    name : str
        Name.
    value : float or None
        Value.
    low : float or None
        Lower end.
    high : float or None
        Upper end.
    pvalue : float or None
        P-value.
    ideal : float or None
        Ideal value.
    direction : str
        Direction of the deviation.
    lens : str
        Lens.
    meaning : str
        What the metric measures.
    caution : str
        Its limits.
    reference : str
        The paper that defines it.
    link : str
        Where to read that paper; empty where unknown.
    reason : str
        Why it has no value; empty where it has one.
    note : str
        Remark on its interval or p-value.
    group : MetricGroup
        Group of the table.
    by_chance : float or None
        Expected value if the predictions were calibrated.
    """

    id: str
    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    pvalue: float | None = None
    ideal: float | None = None
    direction: str = ""
    lens: str = ""
    meaning: str = ""
    caution: str = ""
    reference: str = ""
    link: str = ""
    reason: str = ""
    note: str = ""
    group: MetricGroup = "calibration"
    by_chance: float | None = None


@dataclass(frozen=True)
class Metrics:
    """The table of metrics.

    Parameters
    ----------
    rows : tuple of MetricRow
        Number of rows, or the rows of the table.
    level : float or None
        Confidence level of the intervals.
    n_resamples : int
        Number of resamples.
    notes : tuple of str
        Remarks.
    reason : str
        Why there is no value; empty where there is one.
    discrimination : tuple of MetricRow
        AUROC and average precision.
    """

    rows: tuple[MetricRow, ...]
    level: float | None
    n_resamples: int
    notes: tuple[str, ...] = ()
    reason: str = ""
    discrimination: tuple[MetricRow, ...] = ()

    @property
    def all_rows(self) -> tuple[MetricRow, ...]:
        """The requested metrics by group, calibration first, and discrimination."""
        groups = ("calibration", "proper score", "discrimination")
        return tuple(sorted((*self.rows, *self.discrimination), key=lambda row: groups.index(row.group)))

    def __getitem__(self, id: str) -> MetricRow:
        for row in self.all_rows:
            if row.id == id:
                return row
        raise ArgumentError(
            "metric", f"{id!r} is not in the report", f"choose one of {[row.id for row in self.all_rows]}"
        )


@dataclass(frozen=True)
class Weakness:
    """A subset of the rows: mean score, observed rate, and the test of their difference.

    Parameters
    ----------
    kind : {"class", "at most", "predicted", "group", "range"}
        A class against the rest, a class and all lower ones, the rows with one predicted class, a group, or a range of scores.
    name : str
        Name.
    lens : str
        Lens of `mean_score` and `rate`: ``top_label``, ``binary`` (the positive class) or ``class:...`` (that class).
    rows : int
        Number of rows, or the rows of the table.
    share : float
        Share of the total weight.
    mean_score : float
        Mean score.
    rate : float
        Observed rate.
    gap : float
        `mean_score` minus `rate`; positive where the model is overconfident or overestimates.
    low : float or None
        Lower end.
    high : float or None
        Ends of the interval of `gap`.
    weighted_gap : float
        Share times absolute gap; the entries are sorted by it.
    pvalue : float or None
        P-value.
    adjusted : float or None
        P-value adjusted for the number of subsets examined.
    found : bool or None
        Whether the gap is statistically significant after the adjustment; None where there is no test.
    test : str
        How the p-value was computed, or why there is none.
    """

    kind: Literal["class", "at most", "predicted", "group", "range"]
    name: str
    lens: str
    rows: int
    share: float
    mean_score: float
    rate: float
    gap: float
    low: float | None
    high: float | None
    weighted_gap: float
    pvalue: float | None
    adjusted: float | None
    found: bool | None
    test: str


@dataclass(frozen=True)
class Weaknesses:
    """Where the model fails: classes, groups and ranges of scores, the largest weighted gap first.

    Parameters
    ----------
    entries : tuple of Weakness
        The rows of the table.
    looked_at : int
        Number of subsets examined; `entries` may hold fewer.
    tested : int
        Number of subsets with a test; there is none for soft labels, and for few rows with importance weights.
    found : int
        Number of subsets with a statistically significant gap after the adjustment.
    correction : str
        Method of the adjustment for multiple testing.
    alpha : float
        Significance level.
    level : float
        Confidence level of the intervals.
    notes : tuple of str
        Remarks.
    reason : str
        Why there is no value; empty where there is one.
    about : str
        What `mean_score` and `rate` of all entries refer to, as text.
    """

    entries: tuple[Weakness, ...]
    looked_at: int
    tested: int
    found: int
    correction: str
    alpha: float
    level: float
    notes: tuple[str, ...] = ()
    reason: str = ""
    about: str = ""


@dataclass(frozen=True)
class FeatureGaps:
    """Subgroups of features with a significant gap, and mean prediction and observed rate along their features.

    Parameters
    ----------
    subgroups : Subgroups or None
        Result of `find_subgroups`; None where it is undefined.
    diagrams : tuple of FeatureDiagram
        One for each of the first features that define subgroups.
    reason : str
        Why there are no subgroups; empty where they were searched.
    """

    subgroups: Subgroups | None = None
    diagrams: tuple[FeatureDiagram, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class CalibratorTable:
    """Recalibration: calibration methods compared by cross-validation.

    Parameters
    ----------
    method : str
        The method with the lowest held-out loss; ``none`` where the original scores are best.
    description : str
        Its name with its parameter, such as ``temperature scaling (T = 1.6)``.
    entries : tuple of Candidate
        The candidates of `recalibrate`.
    loss : str
        Held-out loss.
    folds : int
        Number of folds.
    level : float
        Confidence level of the intervals.
    rows : int
        Number of rows used.
    of : int
        Number of rows available.
    before : float or None
        The `smece` of these rows without recalibration.
    after : float or None
        The held-out `smece` with the chosen method.
    pvalue_after : float or None
        P-value of the verdict's test after recalibration, on held-out data; None where there is no test.
    notes : tuple of str
        Remarks.
    reason : str
        Why there is no value; empty where there is one.
    """

    method: str
    description: str
    entries: tuple[Candidate, ...]
    loss: str
    folds: int
    level: float
    rows: int
    of: int
    before: float | None = None
    after: float | None = None
    pvalue_after: float | None = None
    notes: tuple[str, ...] = ()
    reason: str = ""

    @property
    def error_removed(self) -> float | None:
        """Share of the held-out `smece` that the chosen method removes."""
        return 1 - self.after / self.before if self.before and self.after is not None else None


@dataclass(frozen=True)
class Threshold:
    """The confidence threshold and its guarantee.

    Parameters
    ----------
    threshold : float or None
        Answer automatically at this confidence or above; None where no threshold has the guarantee.
    statement : str
        Guarantee.
    guarantee : float
        Probability with which the guarantee holds.
    accuracy : float or None
        Accuracy of the accepted rows.
    coverage : float or None
        Share of the rows that are accepted.
    coverage_bound : float or None
        Lower confidence bound of the coverage.
    accepted : float or None
        Rows that are accepted.
    errors : float or None
        Errors among them.
    notes : tuple of str
        Remarks.
    reason : str
        Why there is no value; empty where there is one.
    """

    threshold: float | None
    statement: str
    guarantee: float
    accuracy: float | None = None
    coverage: float | None = None
    coverage_bound: float | None = None
    accepted: float | None = None
    errors: float | None = None
    notes: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Section:
    """A section of a plug-in: text, or a table.

    Parameters
    ----------
    title : str
        Heading.
    text : str
        Text, or what stands above the table.
    columns : mapping of str to tuple
        Columns of the table by their headings; empty for text.
    reason : str
        Why it is empty; empty where it is not.
    """

    title: str
    text: str = ""
    columns: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True)
class Provenance:
    """Methods and provenance: what is needed to reproduce the report.

    Parameters
    ----------
    calibrant : str
        Version of calibrant.
    numpy : str
        Version of NumPy.
    python : str
        Version of Python.
    kind : str
        Kind.
    rows : int
        Number of rows given; with counts, `weight` is the number of rows they represent.
    weight : float
        Sum of the weights.
    weight_kind : str
        Weight kind.
    classes : int
        Number of classes.
    class_names : tuple of str
        Names of the classes.
    group_names : tuple of str
        Names of the groups.
    fingerprint : str
        Hash of labels, probabilities and weights, independent of the order of the rows.
    seed : int
        Seed of the random numbers.
    parameters : mapping of str to Any
        Options of the report.
    made : str or None
        Time from SOURCE_DATE_EPOCH; None without it, so that the same input gives the same bytes.
    notes : tuple of str
        Steps that used a subset of the rows or were left out.
    dropped : str
        How many rows were dropped because of missing values; empty if none were.
    sketch : str
        That the report is computed from a sketch, in one sentence; empty if it is computed from the rows.
    """

    calibrant: str
    numpy: str
    python: str
    kind: str
    rows: int
    weight: float
    weight_kind: str
    classes: int
    class_names: tuple[str, ...]
    group_names: tuple[str, ...]
    fingerprint: str
    seed: int
    parameters: Mapping[str, Any]
    made: str | None
    notes: tuple[str, ...] = ()
    dropped: str = ""
    sketch: str = ""

    @property
    def size(self) -> str:
        """Number of rows as text, with the kind of weights."""
        said = f"; {self.dropped}" if self.dropped else ""
        if self.sketch:
            return f"{self.weight:,.0f} rows in {self.rows:,} cells of a sketch{said}"
        if self.weight_kind == "counts":
            return f"{self.weight:,.0f} rows, given as {self.rows:,} rows with counts{said}"
        weighed = "" if self.weight_kind == "unit" else f", importance weights with sum {self.weight:,.6g}"
        return f"{self.rows:,} rows{weighed}{said}"

    @property
    def row_count(self) -> int:
        """Number of rows, with counts expanded."""
        return round(self.weight) if self.weight_kind == "counts" else self.rows


@dataclass(frozen=True)
class Change:
    """A metric before and after recalibration, with its intervals where available."""

    name: str
    before: float | None
    before_low: float | None
    before_high: float | None
    after: float | None
    after_low: float | None
    after_high: float | None


@dataclass(frozen=True)
class ComparedDifference:
    """Difference of a metric between two models, the first minus the second, on the same rows; after minus before recalibration.

    Parameters
    ----------
    first : str
        First model.
    second : str
        Second model.
    difference : float
        Difference of the metric.
    low : float or None
        Lower end of the interval; like the next four None where the difference is not finite and cannot be tested.
    high : float or None
        Upper end.
    pvalue : float or None
        P-value.
    adjusted : float or None
        P-value adjusted for the number of differences of the metric.
    found : bool or None
        Whether the difference is significant.
    """

    first: str
    second: str
    difference: float
    low: float | None
    high: float | None
    pvalue: float | None
    adjusted: float | None
    found: bool | None


@dataclass(frozen=True)
class ComparedMetric:
    """One metric of all models, and all pairwise differences.

    Parameters
    ----------
    id : str
        Identifier.
    name : str
        Name.
    ideal : float or None
        Ideal value.
    lower_is_better : bool
        Lower is better.
    values : mapping of str to float
        Values of the metrics.
    differences : tuple of ComparedDifference
        Differences between the two.
    rows : int
        Number of rows, or the rows of the table.
    n_resamples : int
        Number of resamples.
    reason : str
        Why it could not be compared.
    note : str
        Caveats, such as an infinite value.
    """

    id: str
    name: str
    ideal: float | None
    lower_is_better: bool
    values: Mapping[str, float]
    differences: tuple[ComparedDifference, ...]
    rows: int
    n_resamples: int = 0
    reason: str = ""
    note: str = ""


@dataclass(frozen=True)
class Side:
    """One model of a comparison.

    ``lens`` is that of the mean score and the rate, ``pvalue`` the p-value of the test of the report, ``adjusted`` the same adjusted for the
    number of sides, ``found`` whether miscalibration is then statistically significant, and ``detectable`` the minimum detectable effect: the
    difference of mean score and rate that the test detects with a power of 0.8.
    """

    name: str
    rows: int
    mean_score: float | None
    rate: float | None
    lens: str
    pvalue: float | None
    adjusted: float | None
    found: bool | None
    detectable: float | None

    @property
    def gap(self) -> float | None:
        """Mean score minus rate."""
        return None if self.mean_score is None or self.rate is None else self.mean_score - self.rate


@dataclass(frozen=True)
class ComparedModels:
    """Several models on the same rows.

    Parameters
    ----------
    sentence : str
        Conclusion.
    sides : tuple of Side
        Mean score, rate and adjusted p-value of each model.
    metrics : tuple of ComparedMetric
        Differences on the same rows.
    reports : tuple of Report
        Report of each model, with its name as the title.
    alpha : float
        Significance level.
    level : float
        Confidence level of the intervals.
    notes : tuple of str
        Remarks.
    """

    sentence: str
    sides: tuple[Side, ...]
    metrics: tuple[ComparedMetric, ...]
    reports: tuple[Report, ...]
    alpha: float
    level: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class BeforeAfter:
    """Effect of a calibrator fitted on other data; the rest of the report describes the calibrated probabilities.

    Parameters
    ----------
    summary : tuple of str
        Calibration method, changes and threshold, as sentences.
    values : tuple of Change
        Values of the metrics.
    differences : tuple of ComparedMetric
        Metrics after minus before recalibration, with intervals and p-values.
    level : float
        Confidence level of the intervals of the differences.
    charts : Interactive or None
        Curves of the charts before recalibration; None where the scores were not changed.
    """

    summary: tuple[str, ...]
    values: tuple[Change, ...]
    differences: tuple[ComparedMetric, ...] = ()
    level: float = 0.95
    charts: Interactive | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Subgroup:
    """Performance in one group, with intervals in closed form."""

    name: str
    n: int
    events: float
    rows: tuple[ClinicalRow, ...]


@dataclass(frozen=True)
class Clinical:
    """Validation of a risk model: performance, flexible calibration curve with the distribution of risks, decision curve, subgroups."""

    summary: ClinicalSummary
    curve: FlexibleCalibrationCurve
    benefit: DecisionCurve | None
    subgroups: tuple[Subgroup, ...]
    notes: tuple[str, ...] = ()

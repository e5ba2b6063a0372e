"""The sections of a report as plain values, in reading order; every form of the report is rendered from these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ..errors import ArgumentError
from ..evaluation.clinical import ClinicalRow, ClinicalSummary

if TYPE_CHECKING:
    from .interactive import Interactive
    from .tripod_items import Tripod

Direction = Literal["over", "under", "mixed", "none", "unknown"]
MetricGroup = Literal["calibration", "proper score", "discrimination"]


@dataclass(frozen=True)
class Verdict:
    """The conclusion in a few sentences, and the numbers behind it."""

    sentence: str
    """All sentences: `headline`, significance, recalibration, minimum detectable effect."""
    headline: str
    """The first sentence: means, and a direction only where it is statistically significant."""
    direction: Direction
    """``over`` or ``under`` where the mean deviates significantly, ``mixed`` where only parts do, ``none`` where the test does not
    reject, ``unknown`` where there is no test."""
    mean_score: float | None
    """Mean score under `lens`: the mean confidence for ``top_label``, else the mean predicted probability."""
    rate: float | None
    """Observed rate under `lens`: the accuracy for ``top_label``, the share of the class for ``binary`` and ``class:...``."""
    lens: str
    """Lens of `mean_score` and `rate`."""
    event_mean_score: float | None
    """Mean predicted probability of the positive class of two; None otherwise."""
    event_rate: float | None
    """Observed rate of the positive class of two; None otherwise."""
    test: str
    """Id of the metric whose test gave `pvalue`."""
    test_lens: str
    statistic: float | None
    pvalue: float | None
    alpha: float
    rejected: bool | None
    """None where there is no test."""
    null_distribution: str
    """Null hypothesis, and how the p-value was computed."""
    detectable: float | None
    """Minimum detectable effect: a difference of mean score and rate, under `test_lens`, that the test detects with a power of 0.8."""
    recalibration: str = ""
    """Best calibration method, with its parameter; empty where none improves the loss or none was tried."""
    error_removed: float | None = None
    """Share of the held-out `smece` that it removes: 1 - after / before."""
    reason: str = ""
    """Why there is no test; empty where there is one."""


@dataclass(frozen=True)
class DiagramBin:
    """One bin of the reliability diagram; means are None where it is empty."""

    low: float
    high: float
    rows: int
    weight: float
    mean_score: float | None
    rate: float | None
    gap: float | None
    """Mean score minus rate; positive where the predicted probabilities exceed the observed rate."""
    lower: float | None
    upper: float | None
    """Ends of the interval of `rate`."""


@dataclass(frozen=True)
class Diagram:
    """The reliability diagram as data."""

    bins: tuple[DiagramBin, ...]
    lens: str
    binning: str
    """``equal_width``, or ``equal_mass`` where nearly all scores lie in one bin of equal width."""
    level: float | None
    """Confidence level of the interval of each bin; None where there is none."""
    method: str
    notes: tuple[str, ...] = ()
    reason: str = ""
    """Why there is no diagram; empty where there is one."""


@dataclass(frozen=True)
class MetricRow:
    """One metric: value, interval, p-value and meaning."""

    id: str
    name: str
    value: float | None
    low: float | None
    high: float | None
    pvalue: float | None
    ideal: float | None
    direction: str
    lens: str
    meaning: str
    caution: str
    reference: str
    """The paper that defines it."""
    link: str
    """Where to read that paper; empty where unknown."""
    reason: str = ""
    """Why it has no value; empty where it has one."""
    note: str = ""
    """Remark on its interval or p-value."""
    group: MetricGroup = "calibration"
    by_chance: float | None = None
    """Expected value if the predictions were calibrated."""


@dataclass(frozen=True)
class Metrics:
    """The table of metrics."""

    rows: tuple[MetricRow, ...]
    level: float | None
    n_resamples: int
    notes: tuple[str, ...] = ()
    reason: str = ""
    discrimination: tuple[MetricRow, ...] = ()
    """AUROC and average precision."""

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
    """A subset of the rows: mean score, observed rate, and the test of their difference."""

    kind: Literal["class", "at most", "predicted", "group", "range"]
    """A class against the rest, a class and all lower ones, the rows with one predicted class, a group, or a range of scores."""
    name: str
    lens: str
    """Lens of `mean_score` and `rate`: ``top_label``, ``binary`` (the positive class) or ``class:...`` (that class)."""
    rows: int
    share: float
    """Share of the total weight."""
    mean_score: float
    rate: float
    gap: float
    """`mean_score` minus `rate`; positive where the model is overconfident or overestimates."""
    low: float | None
    high: float | None
    """Ends of the interval of `gap`."""
    weighted_gap: float
    """Share times absolute gap; the entries are sorted by it."""
    pvalue: float | None
    adjusted: float | None
    """P-value adjusted for the number of subsets examined."""
    found: bool | None
    """Whether the gap is statistically significant after the adjustment; None where there is no test."""
    test: str
    """How the p-value was computed, or why there is none."""


@dataclass(frozen=True)
class Weaknesses:
    """Where the model fails: classes, groups and ranges of scores, the largest weighted gap first."""

    entries: tuple[Weakness, ...]
    looked_at: int
    """Number of subsets examined; `entries` may hold fewer."""
    tested: int
    """Number of subsets with a test; there is none for soft labels, and for few rows with importance weights."""
    found: int
    """Number of subsets with a statistically significant gap after the adjustment."""
    correction: str
    alpha: float
    level: float
    notes: tuple[str, ...] = ()
    reason: str = ""
    about: str = ""
    """What `mean_score` and `rate` of all entries refer to, as text."""


@dataclass(frozen=True)
class CalibratorRow:
    """One calibration method: its held-out loss, and the gain over the original scores."""

    method: str
    chosen: bool
    loss: float | None
    gain: float | None
    low: float | None
    high: float | None
    ece: float | None
    """Held-out, 15 bins of equal width."""
    error_removed: float | None
    """Share of the held-out `smece` that the chosen method removes; None for the others."""
    reason: str = ""
    """Why it could not be fitted."""


@dataclass(frozen=True)
class CalibratorTable:
    """Recalibration: calibration methods compared by cross-validation."""

    method: str
    """The method with the lowest held-out loss; ``none`` where the original scores are best."""
    description: str
    """Its name with its parameter, such as ``temperature scaling (T = 1.6)``."""
    entries: tuple[CalibratorRow, ...]
    loss: str
    folds: int
    level: float
    rows: int
    """Number of rows used."""
    of: int
    """Number of rows available."""
    before: float | None = None
    """The `smece` of these rows without recalibration."""
    after: float | None = None
    """The held-out `smece` with the chosen method."""
    pvalue_after: float | None = None
    """P-value of the verdict's test after recalibration, on held-out data; None where there is no test."""
    notes: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Point:
    """Operating point: only rows with a confidence of at least `threshold` are answered."""

    threshold: float
    coverage: float
    accuracy: float
    low: float | None
    high: float | None
    """Ends of the interval of the accuracy, for a threshold fixed in advance."""
    accepted: float
    errors: float


@dataclass(frozen=True)
class Threshold:
    """The confidence threshold, its guarantee, and other operating points."""

    threshold: float | None
    """Answer automatically at this confidence or above; None where no threshold has the guarantee."""
    target: str
    guarantee: str
    method: str
    confidence_level: float
    accuracy: float | None
    """Accuracy of the accepted rows."""
    coverage: float | None
    coverage_bound: float | None
    """Lower confidence bound of the coverage."""
    accepted: float | None
    errors: float | None
    points: tuple[Point, ...]
    aurc: float | None
    augrc: float | None
    lens: str
    level: float | None = None
    """Confidence level of the intervals at the points."""
    always: bool = False
    """Whether no confidence can be below `threshold`, so that every row is answered."""
    notes: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Provenance:
    """Methods and provenance: what is needed to reproduce the report."""

    calibrant: str
    numpy: str
    python: str
    kind: str
    rows: int
    """Number of rows given; with counts, `weight` is the number of rows they represent."""
    weight: float
    weight_kind: str
    classes: int
    class_names: tuple[str, ...]
    group_names: tuple[str, ...]
    fingerprint: str
    """Hash of labels, probabilities and weights, independent of the order of the rows."""
    seed: int
    parameters: Mapping[str, Any]
    made: str | None
    """Time from SOURCE_DATE_EPOCH; None without it, so that the same input gives the same bytes."""
    notes: tuple[str, ...] = ()
    """Steps that used a subset of the rows or were left out."""
    dropped: str = ""
    """How many rows were dropped because of missing values; empty if none were."""
    sketch: str = ""
    """That the report is computed from a sketch, in one sentence; empty if it is computed from the rows."""

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
    """Difference of a metric between two models, the first minus the second, on the same rows; after minus before recalibration."""

    first: str
    second: str
    difference: float
    low: float | None
    """Lower end of the interval; like the next four None where the difference is not finite and cannot be tested."""
    high: float | None
    pvalue: float | None
    adjusted: float | None
    """P-value adjusted for the number of differences of the metric."""
    found: bool | None


@dataclass(frozen=True)
class ComparedMetric:
    """One metric of all models, and all pairwise differences."""

    id: str
    name: str
    ideal: float | None
    lower_is_better: bool
    values: Mapping[str, float]
    differences: tuple[ComparedDifference, ...]
    rows: int
    n_resamples: int = 0
    reason: str = ""
    """Why it could not be compared."""
    note: str = ""
    """Caveats, such as an infinite value."""


@dataclass(frozen=True)
class BeforeAfter:
    """Effect of a calibrator fitted on other data; the rest of the report describes the calibrated probabilities."""

    summary: tuple[str, ...]
    """Calibration method, changes and threshold, as sentences."""
    values: tuple[Change, ...]
    diagram: Diagram | None
    """The reliability diagram before recalibration; None where the scores were not changed."""
    differences: tuple[ComparedMetric, ...] = ()
    """Metrics after minus before recalibration, with intervals and p-values."""
    level: float = 0.95
    """Confidence level of the intervals of the differences."""
    cells: Interactive | None = field(default=None, repr=False, compare=False)
    """Data of the interactive page before recalibration; in no other form."""


@dataclass(frozen=True)
class CurvePoint:
    """The flexible calibration curve at one predicted risk."""

    risk: float
    observed: float
    lower: float | None
    upper: float | None
    logistic: float | None
    """The logistic calibration curve, from joint intercept and slope; None where they are undefined."""


@dataclass(frozen=True)
class RiskBin:
    """Number of rows with and without the event in a range of predicted risks."""

    low: float
    high: float
    events: float
    others: float


@dataclass(frozen=True)
class BenefitPoint:
    """Net benefit at one threshold probability; treating none has net benefit 0."""

    threshold: float
    model: float
    lower: float | None
    upper: float | None
    treat_all: float


@dataclass(frozen=True)
class Subgroup:
    """Performance in one group, with intervals in closed form."""

    name: str
    n: int
    events: float
    rows: tuple[ClinicalRow, ...]


@dataclass(frozen=True)
class Clinical:
    """Validation of a risk model: performance, flexible calibration curve, distribution of risks, decision curve, TRIPOD+AI."""

    summary: ClinicalSummary
    curve: tuple[CurvePoint, ...]
    risks: tuple[RiskBin, ...]
    benefit: tuple[BenefitPoint, ...]
    subgroups: tuple[Subgroup, ...]
    tripod: Tripod
    notes: tuple[str, ...] = ()

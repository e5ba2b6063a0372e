"""The sections of a report as plain values, in the order in which they are read; every form of it is made from these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import ArgumentError

__all__ = [
    "BeforeAfter",
    "Change",
    "Diagram",
    "DiagramBin",
    "MetricRow",
    "Metrics",
    "Point",
    "Provenance",
    "Repair",
    "Repairs",
    "Threshold",
    "Verdict",
    "Weakness",
    "Weaknesses",
]

Direction = Literal["over", "under", "mixed", "none", "unknown"]


@dataclass(frozen=True)
class Verdict:
    """One sentence, and the numbers it was made of."""

    sentence: str
    direction: Direction
    """``over`` or ``under`` where the mean deviates, ``mixed`` where only parts do, ``none`` where nothing was found, ``unknown``
    where nothing could be tested."""
    says: float | None
    """How sure the model is on average: the mean score of what `lens` asks."""
    happens: float | None
    """How often that is so: the accuracy for ``top_label``, the share of the class for ``binary`` and ``class:...``."""
    lens: str
    """What `says` and `happens` are about."""
    event_says: float | None
    """For two classes: the mean probability of the positive one; None otherwise."""
    event_happens: float | None
    """For two classes: how often the positive one happens."""
    test: str
    """Id of the metric whose test gave `pvalue`."""
    test_lens: str
    statistic: float | None
    pvalue: float | None
    alpha: float
    rejected: bool | None
    """None where there is no test."""
    null_distribution: str
    """How the p-value was found."""
    detectable: float | None
    """A difference of mean score and rate, under `test_lens`, that the test notices with a probability of 0.8 or more."""
    repair: str = ""
    """The map that helps most, with its parameter; empty where none helps or none was tried."""
    repaired: float | None = None
    """Share of the held-out `smece` that the map removes: 1 - after / before."""
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
    """Positive where the scores are too high."""
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
    """Of the interval of each bin; None where there is none."""
    method: str
    notes: tuple[str, ...] = ()
    reason: str = ""
    """Why there is no diagram; empty where there is one."""


@dataclass(frozen=True)
class MetricRow:
    """One metric: its value, what chance has to do with it, and what it means."""

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
    """What to know about its interval or p-value."""


@dataclass(frozen=True)
class Metrics:
    """The table of metrics."""

    rows: tuple[MetricRow, ...]
    level: float | None
    n_resamples: int
    notes: tuple[str, ...] = ()
    reason: str = ""

    def __getitem__(self, id: str) -> MetricRow:
        for row in self.rows:
            if row.id == id:
                return row
        raise ArgumentError("metric", f"{id!r} is not in the report", f"choose one of {[row.id for row in self.rows]}")


@dataclass(frozen=True)
class Weakness:
    """Some of the rows: how sure the model is there, how often it is right, and whether the gap could be chance."""

    kind: Literal["class", "predicted", "group", "range"]
    """A class as a question of its own, or the rows in which a class was predicted, a group, a range of scores."""
    name: str
    lens: str
    """What `says` and `happens` are about: ``top_label`` is being right, ``binary`` the positive class, ``class:...`` that class."""
    rows: int
    share: float
    """Of the weight of all rows."""
    says: float
    happens: float
    gap: float
    """`says` minus `happens`: positive where the model is too sure (its scores too high)."""
    low: float | None
    high: float | None
    """Ends of the interval of `gap`."""
    weighted_gap: float
    """Share times the size of the gap; what the list is sorted by."""
    pvalue: float | None
    adjusted: float | None
    """The p-value corrected for how many places were looked at."""
    found: bool | None
    """Whether the gap is unlikely to be chance, after the correction; None where there is no test."""
    test: str
    """How the p-value was found, or why there is none."""


@dataclass(frozen=True)
class Weaknesses:
    """Where it fails: classes, groups and ranges of scores, the largest weighted gap first."""

    entries: tuple[Weakness, ...]
    looked_at: int
    """How many places were looked at; the list may hold fewer."""
    tested: int
    """In how many of them there is a test; soft labels and a few rows with importance weights have none."""
    found: int
    """In how many of them the gap is unlikely to be chance, after the correction."""
    correction: str
    alpha: float
    level: float
    notes: tuple[str, ...] = ()
    reason: str = ""
    about: str = ""
    """What `says` and `happens` of all entries are about, in words."""


@dataclass(frozen=True)
class Repair:
    """One map tried: its loss on rows it had not seen, and what it gained against leaving the scores alone."""

    method: str
    chosen: bool
    loss: float | None
    gain: float | None
    low: float | None
    high: float | None
    ece: float | None
    """Held-out, 15 bins of equal width."""
    repaired: float | None
    """Share of the held-out `smece` that it removes, for the chosen one; None for the others."""
    reason: str = ""
    """Why it could not be fitted."""


@dataclass(frozen=True)
class Repairs:
    """What repairs it: maps compared on held-out folds."""

    method: str
    """The map of the lowest held-out loss; ``none`` where leaving the scores alone is best."""
    description: str
    """The same with its parameter, such as ``temperature 1.6``."""
    entries: tuple[Repair, ...]
    loss: str
    folds: int
    level: float
    rows: int
    """How many rows were used."""
    of: int
    """How many there are."""
    before: float | None = None
    """The `smece` of these rows without any map."""
    after: float | None = None
    """The same with the chosen map, each row by a map that had not seen it."""
    pvalue_after: float | None = None
    """Of the verdict's test on the same; None where it could not be made."""
    notes: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Point:
    """What happens if only rows at least as sure as `threshold` are answered."""

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
    """Which threshold to use, what is promised of it, and what others would do."""

    threshold: float | None
    """Answer from this confidence on; None where none was found that can be promised."""
    target: str
    guarantee: str
    method: str
    confidence_level: float
    accuracy: float | None
    """Of the rows accepted."""
    coverage: float | None
    coverage_bound: float | None
    """Lower bound of the coverage."""
    accepted: float | None
    errors: float | None
    points: tuple[Point, ...]
    aurc: float | None
    augrc: float | None
    lens: str
    level: float | None = None
    """Of the intervals at the points."""
    always: bool = False
    """Whether no row can be less sure than `threshold`, so that every one is answered."""
    notes: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Provenance:
    """Method and origin: enough to make the same report again."""

    calibrant: str
    numpy: str
    python: str
    kind: str
    rows: int
    """How many were given; where each has a count, `weight` is how many they stand for."""
    weight: float
    weight_kind: str
    classes: int
    class_names: tuple[str, ...]
    group_names: tuple[str, ...]
    fingerprint: str
    """Of labels, probabilities and weights; it does not depend on the order of rows."""
    seed: int
    parameters: Mapping[str, Any]
    made: str | None
    """When, by SOURCE_DATE_EPOCH; None without it, so that the same input gives the same bytes."""
    notes: tuple[str, ...] = ()
    """What was done on fewer rows, or left out."""

    @property
    def size(self) -> str:
        """How many rows, in words: those that the given ones stand for, and how they were given."""
        if self.weight_kind == "counts":
            return f"{self.weight:,.0f} rows, given as {self.rows:,} with counts"
        weighed = "" if self.weight_kind == "unit" else f", importance weights with the sum {self.weight:,.6g}"
        return f"{self.rows:,} rows{weighed}"

    @property
    def rows_stood_for(self) -> int:
        """How many rows there are; one given with a count is so many."""
        return round(self.weight) if self.weight_kind == "counts" else self.rows


@dataclass(frozen=True)
class Change:
    """A number before and after recalibration, each with its interval where there is one."""

    name: str
    before: float | None
    before_low: float | None
    before_high: float | None
    after: float | None
    after_low: float | None
    after_high: float | None


@dataclass(frozen=True)
class BeforeAfter:
    """What a calibrator that was fitted on other data changed; the report itself is of the probabilities after it."""

    summary: tuple[str, ...]
    """The calibration method, what changed, and the threshold, as sentences."""
    values: tuple[Change, ...]
    diagram: Diagram | None
    """The reliability diagram before; None where nothing was changed."""

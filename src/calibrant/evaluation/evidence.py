"""Intervals, p-values and directions that `evaluate` adds to the values of metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, CalibrantError
from ..inference.cells import first_cells
from ..inference.intervals import OWN_INTERVALS, interval
from ..inference.metric_tests import DEFAULT_TESTS, TestInput
from ..inference.multiplicity import adjust
from ..inference.resampling import remember
from ..inference.seeds import seed_of
from ..inference.significance import assess, closed_form_test, points_somewhere, refuse_rows_by_label
from ..input.predictions import Predictions
from ..metrics.properties import is_slow_to_resample
from ..metrics.registry import Metric
from ..sketches.collection import Sketches
from ..sketches.grid import CELLS
from ..util.checks import check_fraction, check_whole, least_resamples
from .result import ALPHA, MetricResult

# The metrics of the summary, and what is added to the value of each; the value by chance comes with a p-value.
SUMMARY: dict[str, tuple[str, ...]] = {
    "ece": ("interval", "p-value"),
    "cox_slope": ("interval",),
    "brier": (),
    "ecce_mad": ("p-value",),
}
TEST = "ecce_mad"
"""The metric that the summary tests by."""
# Level of the intervals of the summary, unless another one is given.
LEVEL = 0.95
SLOW = "resampling it is slow (name the metric to do so)"


class Inference(NamedTuple):
    """Intervals and p-values to add to the values."""

    level: float
    n_resamples: int
    seed: int
    intervals: bool = False
    """Whether every metric has an interval; those of the summary have what it states."""
    assess: bool = False
    """Whether every metric has a p-value."""
    named: frozenset[str] = frozenset()
    """Metrics that were named; others are not resampled if they are slow."""
    summary: bool = False
    where: Any = None
    """The selection of rows; those selected by their labels cannot be tested."""
    simulations: int = 0
    """Number of simulated data sets of a p-value, where it exceeds the number of resamples."""
    resamples: bool = True
    """False for groups of a summary without intervals, which have nothing but the p-value of its test."""
    simulates: bool = True
    """False for groups of a summary: unless p-values are requested, those of its test are in closed form only."""

    @classmethod
    def read(
        cls,
        level: Any,
        assess: Any,
        n_resamples: Any,
        rng: Any,
        named: frozenset[str] = frozenset(),
        summary: bool = False,
    ) -> Inference | None:
        """Check the options; None where neither intervals nor p-values are requested."""
        if level is not None:
            check_fraction(level, "level")
        if not isinstance(assess, bool):
            raise ArgumentError("assess", f"must be True or False; got {assess!r}")
        has_intervals = level is not None
        if not (has_intervals or assess or summary):
            return None
        level = LEVEL if level is None else level
        least = least_resamples(level) if has_intervals or summary else 19
        if check_whole(n_resamples, "n_resamples") < least:
            raise ArgumentError("n_resamples", f"must be at least {least} for this level; got {n_resamples}")
        return cls(level, int(n_resamples), seed_of(rng), has_intervals, assess, named, summary)

    def of_rows(self, where: Any) -> Inference:
        """Return the settings for selected rows; raise if a test of rows selected by their labels was requested."""
        if self.assess:
            refuse_rows_by_label(where)
        return self._replace(where=where)

    def for_groups(self, groups: int) -> Inference:
        """Return the settings for a group of several.

        A simulated p-value cannot fall below 1 / (1 + simulations), and Holm multiplies the smallest by the number of groups. P-values of at
        most 0.05 are simulated again, with so many simulations that the adjusted one can fall to a quarter of that.
        """
        resamples = self.intervals or self.assess
        simulates = self.assess or not self.summary
        return self._replace(simulations=math.ceil(4 * groups / ALPHA), resamples=resamples, simulates=simulates)

    def asked(self, metric: Metric) -> list[str]:
        """What is added to the value of a metric: an interval, a p-value, or both."""
        if not self.resamples:
            return ["p-value"] if metric.id == TEST else []
        wanted = list(SUMMARY[metric.id]) if self.summary and metric.id in SUMMARY else ["interval"] * self.intervals
        return [*wanted, "p-value"] if self.assess and "p-value" not in wanted else wanted

    def infer(
        self, what: str, result: MetricResult, m: Metric, p: Predictions | Sketches, options: dict[str, Any]
    ) -> tuple[dict[str, Any], str]:
        """Return the fields that an interval or a p-value sets, and a note on it, or why there is none."""
        if isinstance(p, Sketches) and result.lens not in p.lenses:
            return {}, "resampling requires the rows"
        if what == "p-value":
            has_formula = m.id in DEFAULT_TESTS
        else:
            has_formula = (m.is_row_mean or m.id in OWN_INTERVALS) and result.lens not in ("classwise", "ordinal")
        rows = min(p.n, CELLS) if isinstance(p, Sketches) else p.n
        if not has_formula and m.id not in self.named and is_slow_to_resample(m, rows, p.k):
            return {}, f"no {what}: {SLOW}"
        source: Any = p
        if isinstance(p, Sketches):
            source = p.sketch(result.lens)
            options = {name: value for name, value in options.items() if name != "lens"}
        elif result.value is not None:
            remember(m, p, options, result.value)
        try:
            if what == "p-value":
                return self._test(source, result, m, options)
            settings: dict[str, Any] = {"n_resamples": self.n_resamples, "rng": self.seed, **options}
            estimate = interval(source, metric=m, level=self.level, **settings)
        except CalibrantError as error:
            return {}, f"no {what}: {error.problem}"
        return {"low": estimate.low, "high": estimate.high}, estimate.note

    def _test(
        self, source: Any, result: MetricResult, m: Metric, options: dict[str, Any]
    ) -> tuple[dict[str, Any], str]:
        """Test by simulation or the metric's own test; without resamples by the latter, where it is accurate for these rows."""
        refuse_rows_by_label(self.where)
        if self.simulates or m.id != TEST:
            tested = assess(source, metric=m, n_resamples=self.n_resamples, rng=self.seed, **options)
            # Taken only where the first p-value is at most alpha, the second one is still valid: P(p1 <= alpha, p2 <= a) <= a.
            if 0 < tested.n_resamples < self.simulations and tested.pvalue <= ALPHA:
                tested = assess(source, metric=m, n_resamples=self.simulations, rng=self.seed, **options)
            fields = {"pvalue": tested.pvalue, "by_chance": tested.by_chance, "least_pvalue": tested.least_pvalue}
            return fields, side_note(m, result.lens, tested.alternative)
        views = m.views(source, **options)
        if any(view.is_soft for view in views):
            return {}, "no p-value: is not defined for soft labels"
        assert result.value is not None
        asked = TestInput(m, m.arguments(options), views, result.value, ALPHA, m.alternative, 0, 0)
        outcome = closed_form_test(asked)
        if outcome is None:
            return {}, "no p-value: the closed form is not accurate for these rows"
        return {"pvalue": outcome.pvalue, "by_chance": outcome.by_chance}, ""


def with_additions(result: MetricResult, additions: Iterable[tuple[dict[str, Any], str]]) -> MetricResult:
    """Return the result with its interval and p-value, and their notes, each once."""
    changes: dict[str, Any] = {}
    notes: dict[str, None] = {}
    for fields, note in additions:
        changes |= fields
        notes |= {note: None} if note else {}
    return replace(result, **changes, note="; ".join(notes))


def resampled_alike(metrics: Sequence[tuple[Metric, str]]) -> list[list[int]]:
    """Return the positions of metrics, given with their lens, that are resampled in the same way: as whole rows, or in as many cells."""
    alike: dict[int, list[int]] = {}
    for position, (metric, lens) in enumerate(metrics):
        one_score = metric.takes == "View" and lens != "classwise"
        alike.setdefault(first_cells([(metric, {})]) if one_score else 0, []).append(position)
    return list(alike.values())


def adjust_for_groups(rows: list[list[MetricResult]], place: int) -> None:
    """Add the p-values of a metric adjusted for the groups; a direction is stated where the adjusted one is significant."""
    tested = [results for results in rows if results[place].pvalue is not None]
    pvalues = np.array([results[place].pvalue for results in tested], dtype=np.float64)
    for results, adjusted in zip(tested, adjust(pvalues, "holm").tolist(), strict=True):
        direction = results[place].direction if adjusted <= ALPHA else ""
        results[place] = replace(results[place], adjusted=adjusted, direction=direction)


def with_direction(result: MetricResult, m: Metric, p: Predictions | Sketches, options: dict[str, Any]) -> MetricResult:
    """Return the result with the direction of its deviation, where that is statistically significant."""
    if not m.info.signed or result.value is None or not m.direction(result.value, result.lens):
        return replace(result, direction="") if result.direction else result
    evidence = None
    is_known = not isinstance(p, Sketches) or (result.lens in p.lenses and m.takes == "View")
    if is_known and (result.pvalue is None or m.alternative != "two-sided"):
        if isinstance(p, Sketches):
            others = {name: value for name, value in options.items() if name != "lens"}
            evidence = points_somewhere(m, p.sketch(result.lens).view(), others, ALPHA)
        else:
            evidence = points_somewhere(m, p, options, ALPHA)
    return replace(result, direction=shown_direction(m, result, evidence))


def shown_direction(metric: Metric, result: MetricResult, evidence: bool | None) -> str:
    """Return the direction in which a value deviates, where it is statistically significant.

    A p-value decides where there is one; a one-sided p-value gives no evidence about the other side. Otherwise `evidence` decides,
    whether a two-sided test rejects, and then whether the interval excludes the ideal value.
    """
    value, ideal = result.value, metric.ideal
    if value is None or ideal is None:
        return ""
    sides = {"two-sided": True, "greater": value > ideal, "less": value < ideal}
    if result.pvalue is not None and sides[metric.alternative]:
        known = result.pvalue <= ALPHA
    elif evidence is not None:
        known = evidence
    else:
        known = result.low is not None and result.high is not None and not result.low <= ideal <= result.high
    return metric.direction(value, result.lens) if known else ""


def side_note(metric: Metric, lens: str, alternative: str) -> str:
    """Describe the alternative of a one-sided test of a signed metric; empty for a two-sided test."""
    if not metric.info.signed or metric.ideal is None or alternative == "two-sided":
        return ""
    over = metric.direction(metric.ideal + (1 if alternative == "greater" else -1), lens)
    if not over:
        return ""
    tested = {"overconfident": "overconfidence", "underconfident": "underconfidence"}.get(over)
    if tested is None and over.startswith("too"):
        tested = f"forecasts that are {over}"
    tested = tested or f"scores that are too {'high' if over.startswith('over') else 'low'}"
    return f"one-sided test: the alternative is {tested}"

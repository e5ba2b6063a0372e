"""The conclusion of a report, from one test that was chosen in advance; it never claims that a model is calibrated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist

import numpy as np

from ..clinical.performance import ClinicalSummary
from ..errors import CalibrantError
from ..evaluation.subgroups import Subgroup
from ..inference.gaps import gap_pvalues, sums_by
from ..inference.metric_tests import DEFAULT_TESTS
from ..inference.multiplicity import combine_pvalues
from ..inference.significance import assess
from ..input.hints import describe_reversal
from ..input.predictions import Predictions
from ..metrics.cumulative.cumulative import null_scale
from ..util.results import number, percent, pvalue_clause
from ..views.lenses import shared_name
from ..views.resolve import views_of
from ..views.view import View
from .content import CalibratorTable, Direction, FeatureGaps, Verdict, Weakness, Weaknesses
from .interactive import shown
from .weaknesses import place_name
from .wording import event_of, lens_text, level_text, metric_name, percents, remark, sentence

ALPHA, POWER = 0.05, 0.8
# Below this variance of the number of events the normal approximation of the minimum detectable effect is not used.
LEAST_VARIANCE = 5.0
# Risks are too extreme where the gap of the top label is so many times that of the event.
EXTREME = 2.0
# Up to this many rows the mean difference has an exact test.
MOST_EXACT = 500
# Consistent against any form of miscalibration, without bins, and with a known null distribution.
TEST = "ecce_mad"


@dataclass(frozen=True)
class Mean:
    """Mean score and observed rate under one lens, and the p-value of their difference."""

    lens: str
    mean_score: float
    rate: float
    pvalue: float | None
    event: str = ""

    @property
    def off(self) -> bool:
        return self.pvalue is not None and self.pvalue <= ALPHA

    @property
    def gap(self) -> float:
        return self.mean_score - self.rate

    @property
    def direction(self) -> Direction:
        return "over" if self.gap > 0 else "under"

    def means(self) -> str:
        """Return both means as text."""
        mean, rate = percents(self.mean_score, self.rate)
        if self.lens == "top_label":
            return f"mean confidence {mean}, accuracy {rate}"
        name = f"P({self.event})" if self.event else "probability"
        return f"mean predicted {name} {mean}, observed rate {rate}"

    def deviation(self) -> str:
        """Return the direction and both means as text; for a significant difference only."""
        if self.lens == "top_label":
            return f"{self.direction}confident: {self.means()}"
        mean, rate = percents(self.mean_score, self.rate)
        name = "the positive class" if self.lens == "binary" else "the event"
        name = f"P({self.event})" if self.event else name
        return f"{self.direction}estimates {name}: predicts {mean} on average, observed rate {rate}"


@dataclass(frozen=True)
class Tested:
    """Result of the test over all views."""

    lens: str
    statistic: float | None = None
    pvalue: float | None = None
    least_pvalue: float = 0.0
    null_distribution: str = ""
    reason: str = ""
    count: int = 1
    """Number of tests for which the p-value is adjusted."""

    @property
    def chance(self) -> str:
        assert self.pvalue is not None
        adjusted = f", adjusted for {self.count} tests" if self.count > 1 else ""
        return pvalue_clause(self.pvalue, self.least_pvalue) + adjusted


def judge(
    p: Predictions,
    views: list[View],
    recalibration: CalibratorTable,
    seed: int,
    weaknesses: Weaknesses,
    outcome: str = "",
    study: ClinicalSummary | None = None,
    features: FeatureGaps | None = None,
) -> Verdict:
    """Draw the conclusion on the views of the main lens.

    Parameters
    ----------
    p : Predictions
        The predictions.
    views : list of View
        The views of the main lens.
    recalibration : CalibratorTable
        Calibration methods compared on held-out data.
    seed : int
        Seed of the test, where it simulates.
    weaknesses : Weaknesses
        Classes, groups and ranges, of which those with a significant gap are named.
    outcome : str
        Name of the positive class of two.
    study : ClinicalSummary, optional
        Measures of a validation study. With these, or with a named outcome, the headline is about the risks of the event, without
        confidence and accuracy.
    features : FeatureGaps, optional
        Subgroups of features, of which the first is named.

    Returns
    -------
    Verdict
        The section of the report.
    """
    both = views
    if p.kind == "binary" and views[0].lens == "binary" and p.predicted.any() and not p.predicted.all():
        top = views_of(p, "top_label")[0]
        assert isinstance(top, View)
        both = [*views, top]
    speak_of_risks = views[0].lens == "binary" and (study is not None or bool(outcome))
    tested = _tested(both, shared_name(views), seed)
    mean, other = (None, None) if len(views) > 1 else _means(both, outcome, speak_of_risks)
    event = next((each for each in (mean, other) if each is not None and each.lens == "binary"), None)
    rejected = None if tested.pvalue is None else tested.pvalue <= ALPHA
    direction: Direction = "unknown" if rejected is None else "none"
    if rejected:
        direction = mean.direction if mean is not None and mean.off else "mixed"
    reach = _detectable(views, len(both))
    if speak_of_risks and mean is not None and rejected:
        sentences = [_risk_headline(mean, other), f"Statistically significant ({tested.chance})."]
    else:
        sentences = _sentences(direction, mean, other, tested, len(views))
    if study is not None:
        sentences.insert(1, _study_sentence(study))
    if direction == "none" and weaknesses.found:
        direction = "mixed"
        sentences[0] = f"{sentences[0][:-1]}, but in parts of the data."
    sentences = [sentence(describe_reversal(p)), *sentences, _worst_place(weaknesses, features, outcome)]
    if rejected is False:
        sentences += _reach(reach, mean, tested)
    sentences.append(_next_step(recalibration, rejected))
    return Verdict(
        sentence=" ".join(filter(None, sentences)),
        headline=sentences[0] or sentences[1],
        direction=direction,
        mean_score=None if mean is None else mean.mean_score,
        rate=None if mean is None else mean.rate,
        lens="" if mean is None else mean.lens,
        event_mean_score=None if event is None else event.mean_score,
        event_rate=None if event is None else event.rate,
        test=TEST,
        test_lens=tested.lens,
        statistic=tested.statistic,
        pvalue=tested.pvalue,
        least_pvalue=tested.least_pvalue,
        alpha=ALPHA,
        rejected=rejected,
        null_distribution=tested.null_distribution,
        detectable=reach,
        reason=tested.reason,
    )


def _tested(views: list[View], lens: str, seed: int) -> Tested:
    """Return the test of one view; of several, the smallest p-value times their number (Bonferroni)."""
    try:
        # Simulated p-values are too coarse for a correction by many classes.
        method = "auto" if len(views) <= 2 else DEFAULT_TESTS[TEST]
        results = [assess(view, metric=TEST, method=method, alpha=ALPHA, rng=seed) for view in views]
    except CalibrantError as error:
        return Tested(lens, reason=error.problem)
    best = min(results, key=lambda each: each.pvalue)
    if len(results) == 1:
        known = {"top_label": "for the top label only", "binary": "for the positive class"}
        which = known.get(lens, f"for {lens_text(lens)}")
    elif lens == "binary":
        which = "for the positive class and for the top label, with Bonferroni correction"
    else:
        which = f"for each of {len(results)} {'cuts' if lens == 'ordinal' else 'classes'}, with Bonferroni correction"
    pvalue = combine_pvalues([each.pvalue for each in results], "bonferroni")
    least = len(results) * best.least_pvalue
    return Tested(
        lens, best.statistic, pvalue, least, f"{remark('test')}, {which}; {best.null_distribution}", count=len(results)
    )


def _mean(view: View, outcome: str) -> Mean:
    pvalue = None
    if not view.is_soft:
        approximate = float(gap_pvalues(sums_by(view, None, 1), view.weight_kind)[0][0])
        few = view.weight is None and view.n <= MOST_EXACT
        pvalue = _exact_pvalue(view) if few else None if math.isnan(approximate) else approximate
    return Mean(view.lens, view.mean(view.score), view.mean(view.raw_outcome), pvalue, event_of(view.lens, outcome))


def _exact_pvalue(view: View) -> float:
    """Return the chance under calibration of as large a difference of the number of events (Poisson-binomial distribution)."""
    chances = np.ones(1)
    for score in view.score.tolist():
        chances = np.convolve(chances, [1 - score, score])
    expected = float(view.score.sum())
    away = abs(float(view.outcome.sum()) - expected)
    return min(1.0, float(chances[np.abs(np.arange(view.n + 1) - expected) >= away - 1e-9].sum()))


def _means(views: list[View], outcome: str, event_first: bool) -> tuple[Mean, Mean | None]:
    """Return the means that the headline reports and, for two classes, the others: of the top label and of the positive class.

    The pair with the smaller p-value comes first, unless the headline is about the event.
    """
    mean, *others = (_mean(view, outcome) for view in views)
    if not others:
        return mean, None
    (sure,) = others
    if event_first:
        return mean, sure
    if mean.pvalue is not None and sure.pvalue is not None and mean.pvalue < sure.pvalue:
        return mean, sure
    return sure, mean


def _detectable(views: list[View], tests: int = 1) -> float | None:
    """Return the mean difference that the test detects with a power of at least `POWER`, whatever its form.

    The maximum cumulative difference is at least the last one, which is the mean difference, so it suffices that the mean difference
    exceeds the critical value. The variance under the alternative is bounded by placing the whole difference in the rows where it
    increases the variance most.
    """
    view = views[0]
    if len(views) > 1 or view.is_soft:
        return None
    mean, unit = view.mean(view.score), null_scale(view)
    if (view.effective_size * unit) ** 2 < LEAST_VARIANCE:
        return None
    # The largest increase of the variance of the mean per unit of difference: s (1 - s) has the slope 1 - 2 s.
    shares = view.weights if view.weight_kind == "importance" else 1.0
    steepest = float(np.max(shares * np.abs(1 - 2 * view.score))) / view.total
    # The maximum of |W(t)| of a Brownian motion exceeds x with probability about 4 (1 - Phi(x)); the level is divided by the tests.
    limit = NormalDist().inv_cdf(1 - ALPHA / tests / 4)
    effect = 0.0
    for _ in range(20):
        effect = limit * unit + NormalDist().inv_cdf(POWER) * math.sqrt(unit**2 + effect * steepest)
    return effect if 0 < effect < max(mean, 1 - mean) else None


def _sentences(
    direction: Direction,
    mean: Mean | None,
    other: Mean | None,
    tested: Tested,
    views: int,
) -> list[str]:
    """Return the headline and the sentences that follow it."""
    means = "" if mean is None else f": {mean.means()}"
    if direction == "unknown":
        reason = f"Significance could not be tested: {tested.reason}."
        return [reason] if mean is None else [sentence(mean.means()), reason]
    if direction == "none":
        return [f"No statistically significant miscalibration{means} ({tested.chance})."]
    if mean is None:
        start = f"At least one of the {views} classes is miscalibrated"
    elif direction == "mixed":
        known = "the mean difference is not significant" if mean.pvalue is not None else "the mean could not be tested"
        start = f"Miscalibrated in parts of the score range, although {known}{means}"
        if mean.pvalue is None:
            start = f"Miscalibrated; {known}{means}"
    else:
        start = mean.deviation()
    sentences = [sentence(start), f"Statistically significant ({tested.chance})."]
    if other is not None and other.off:
        sentences.append(f"Also {other.deviation()}.")
    return sentences


def _risk_headline(mean: Mean, top: Mean | None) -> str:
    """State whether the risks of an event are too high, too low or too extreme."""
    average = f"too {'high' if mean.direction == 'over' else 'low'}"
    if top is not None and top.off and abs(top.gap) > EXTREME * abs(mean.gap):
        extreme = "too extreme" if top.direction == "over" else "not extreme enough"
        rest = f" and on average {average}" if mean.off else "; on average they differ little"
        return f"Risks are {extreme}{rest}: {mean.means()}."
    if mean.off:
        return f"Risks are {average}: {mean.means()}."
    return f"Risks are wrong in parts of their range; on average they differ little: {mean.means()}."


def _study_sentence(study: ClinicalSummary) -> str:
    """State the three measures of a validation study, and whether its slope differs from 1."""
    measures = []
    for id, name in (("oe", "O/E"), ("slope", "calibration slope"), ("c", "C statistic")):
        row, digits = study[id], partial(number, digits=3)
        bounds = (
            "" if row.low is None else f" ({level_text(study.level)} interval {digits(row.low)} to {digits(row.high)})"
        )
        measures.append(f"{name} {digits(row.value)}{bounds}")
    slope = study["slope"]
    if slope.high is not None and slope.high < 1:
        is_negative = slope.value is not None and slope.value < 0
        measures[1] += ", risks reversed" if is_negative else ", risks too extreme"
    elif slope.low is not None and slope.low > 1:
        measures[1] += ", risks not extreme enough"
    return f"{'; '.join(measures)}."


def _worst_place(weaknesses: Weaknesses, features: FeatureGaps | None, outcome: str) -> str:
    """Name the first significant subgroup of features, else the group or other subset with the largest significant gap."""
    found: list[tuple[str, Weakness | Subgroup, float]] = [
        (place_name(entry.kind, entry.name, entry.lens), entry, entry.adjusted or 0.0)
        for entry in sorted(weaknesses.entries, key=lambda entry: entry.kind != "group")
        if entry.found
    ]
    if features is not None and features.subgroups:
        found = [(shown(each.name), each, each.pvalue) for each in features.subgroups]
    if not found:
        return remark("nowhere", tested=weaknesses.tested) if weaknesses.tested else ""
    place, worst, pvalue = found[0]
    means = Mean(worst.lens, worst.mean_score, worst.rate, None, event_of(worst.lens, outcome)).means()
    return f"Significant in {place}: {means} ({pvalue_clause(pvalue)}, adjusted)."


def _reach(reach: float | None, mean: Mean | None, tested: Tested) -> list[str]:
    """State the minimum detectable effect; it refers to the lens of the test."""
    if reach is None:
        few = mean is not None and 0 < mean.mean_score < 1
        return ["With so few rows or events only large differences are detectable."] if few else []
    same = mean is not None and mean.lens == tested.lens
    which = "" if same else " of the mean predicted probability and the observed rate of the positive class"
    return [remark("detectable", which=which, reach=rounded_up(100 * reach))]


def rounded_up(value: float) -> str:
    """Format a positive number with two digits, rounded up.

    >>> rounded_up(0.1275), rounded_up(2.0), rounded_up(13.1)
    ('0.13', '2.0', '14')
    """
    digits = 1 - math.floor(math.log10(value))
    up = math.ceil(value * 10.0**digits - 1e-9) / 10.0**digits
    return f"{up:.{max(0, 1 - math.floor(math.log10(up)))}f}"


def _next_step(calibrators: CalibratorTable, rejected: bool | None) -> str:
    """State what to do now: the effect of recalibration or, where nothing was compared, whether to recalibrate."""
    best = recalibration_sentence(calibrators)
    if best or rejected is None:
        return best or sentence(calibrators.reason)
    return remark("recalibrate" if rejected else "keep")


def recalibration_sentence(calibrators: CalibratorTable) -> str:
    """State the effect of recalibration on held-out data; empty where nothing was tried."""
    tried = [entry for entry in calibrators.entries if not entry.reason]
    if calibrators.reason or len(tried) < 2:
        return ""
    if calibrators.method == "none":
        return f"No calibration method of the {len(tried) - 1} tried reliably improves the held-out {metric_name(calibrators.loss)}."
    name = calibrators.description[:1].upper() + calibrators.description[1:]
    chosen = next(entry for entry in tried if entry.method == calibrators.method)
    removed = calibrators.error_removed
    if removed is None or removed <= 0:
        return f"{name} lowers the held-out {metric_name(calibrators.loss)}, but not the smECE."
    sure = chosen.low > 0
    change = f"smECE {number(calibrators.before, 2)} to {number(calibrators.after, 2)}"
    if calibrators.pvalue_after is not None:
        change += f"; the remaining error is {'' if calibrators.pvalue_after <= ALPHA else 'not '}significant"
    improved = "" if sure else "; the improvement is not significant"
    return (
        f"{name} {'removes' if sure else 'may remove'} {percent(removed, 0)} of the calibration error on held-out data "
        f"({change}{improved})."
    )

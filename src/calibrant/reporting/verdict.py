"""The verdict: one plain sentence, from one test that was chosen in advance, and never the claim that a model is calibrated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ..errors import CalibrantError
from ..inference.metric_tests import DEFAULT_TESTS
from ..inference.multiplicity import combine_pvalues
from ..inference.significance import assess
from ..input.predictions import Predictions
from ..metrics.cumulative.cumulative import null_scale
from ..util.results import number
from ..views.resolve import views_of
from ..views.view import View
from .content import Direction, Repairs, Verdict
from .weaknesses import gap_pvalues, sums_by
from .words import percent, percents

__all__ = ["ALPHA", "TEST", "chance", "judge"]

ALPHA, POWER = 0.05, 0.8
# Below this variance of the number of events the normal distribution says nothing about how small a difference would be noticed.
LEAST_VARIANCE = 5.0
# Sees any shape of deviation, has no bins to choose and a known distribution.
TEST = "ecce_mad"
# Its 5 % point, 2.2414: that of the largest distance of a Brownian path from 0, which is beyond x with probability 4 (1 - Phi(x)).
LIMIT = NormalDist().inv_cdf(1 - ALPHA / 4)
TEST_NAME = (
    "largest cumulative difference of scores and outcomes (ecce_mad), if labels are drawn from the probabilities given"
)


@dataclass(frozen=True)
class Mean:
    """What is said and what happens on average under one lens, and whether the difference could be chance."""

    lens: str
    says: float
    happens: float
    pvalue: float | None

    @property
    def off(self) -> bool:
        return self.pvalue is not None and self.pvalue <= ALPHA

    @property
    def direction(self) -> Direction:
        return "over" if self.says > self.happens else "under"

    def words(self) -> str:
        says, happens = percents(self.says, self.happens)
        if self.lens == "binary":
            return f"the positive class is given {says} on average and happens {happens} of the time"
        return f"says {says}, {'is right' if self.lens == 'top_label' else 'happens'} {happens}"


@dataclass(frozen=True)
class Tested:
    """The p-value of the one test, over all views."""

    lens: str
    statistic: float | None = None
    pvalue: float | None = None
    null_distribution: str = ""
    reason: str = ""


def judge(p: Predictions, views: list[View], repairs: Repairs, seed: int, places: int = 0) -> Verdict:
    """The verdict on the views of the main lens.

    Parameters
    ----------
    p, views
        The predictions, and what the main lens makes of them.
    repairs
        What was tried to make it better.
    seed
        Of the test, where it draws.
    places
        In how many places a gap is unlikely to be chance.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> from calibrant.reporting.repairs import no_repairs
    >>> p = Predictions([0, 1] * 50, [0.3, 0.6] * 50)
    >>> judge(p, views_of(p, "binary"), no_repairs(p, 0.95, "not asked for"), 0).sentence
    'Underconfident: says 65%, is right 100%; unlikely to be chance, p = 0.004.'
    """
    tested = _tested(views, seed)
    mean, other = _means(p, views)
    event = next((each for each in (mean, other) if each is not None and each.lens == "binary"), None)
    rejected = None if tested.pvalue is None else tested.pvalue <= ALPHA
    direction: Direction = "unknown" if rejected is None else "none"
    if rejected:
        direction = mean.direction if mean is not None and mean.off else "mixed"
    share = next((entry.repaired for entry in repairs.entries if entry.chosen), None)
    reach = _detectable(views)
    return Verdict(
        sentence=_sentence(direction, mean, other, tested, reach, repairs, len(views), places),
        direction=direction,
        says=None if mean is None else mean.says,
        happens=None if mean is None else mean.happens,
        lens="" if mean is None else mean.lens,
        event_says=None if event is None else event.says,
        event_happens=None if event is None else event.happens,
        test=TEST,
        test_lens=tested.lens,
        statistic=tested.statistic,
        pvalue=tested.pvalue,
        alpha=ALPHA,
        rejected=rejected,
        null_distribution=tested.null_distribution,
        detectable=reach,
        repair=repairs.description if repairs.method != "none" else "",
        repaired=share,
        reason=tested.reason,
    )


def _tested(views: list[View], seed: int) -> Tested:
    """The test of one view; of several, the smallest p-value times their number."""
    lens = views[0].lens if len(views) == 1 else "classwise"
    try:
        # Simulated p-values are too coarse to be multiplied by the number of classes.
        method = "auto" if len(views) == 1 else DEFAULT_TESTS[TEST]
        found = [assess(view, metric=TEST, method=method, alpha=ALPHA, rng=seed) for view in views]
    except CalibrantError as error:
        return Tested(lens, reason=error.problem)
    if len(found) == 1:
        return Tested(
            lens, found[0].statistic, found[0].pvalue, f"{TEST_NAME}, {_asked(lens)}: {found[0].null_distribution}"
        )
    pvalue = combine_pvalues([each.pvalue for each in found], "bonferroni")
    null_distribution = f"{TEST_NAME}, for each of {len(found)} classes; the smallest p-value times their number"
    return Tested(lens, max(each.statistic for each in found), pvalue, null_distribution)


def _asked(lens: str) -> str:
    known = {"top_label": "for the predicted class only", "binary": "for the positive class"}
    return known.get(lens, f"for the question {lens}")


def _mean(view: View) -> Mean:
    pvalue = None
    if not view.is_soft:
        known = float(gap_pvalues(sums_by(view, None, 1), view.weight_kind)[0][0])
        pvalue = None if math.isnan(known) else known
    return Mean(view.lens, view.mean(view.score), view.mean(view.raw_outcome), pvalue)


def _means(p: Predictions, views: list[View]) -> tuple[Mean | None, Mean | None]:
    """What the sentence is about, and for two classes the other way to look at it: being right, and the positive class.

    The one that is further from chance comes first. Where one class is always predicted both are the same, and the class is
    easier to grasp.
    """
    if len(views) > 1:
        return None, None
    mean = _mean(views[0])
    if p.kind != "binary" or mean.lens != "binary":
        return mean, None
    if not p.predicted.any() or bool(p.predicted.all()):
        return mean, None
    top = views_of(p, "top_label")[0]
    assert isinstance(top, View)
    sure = _mean(top)
    if mean.pvalue is not None and sure.pvalue is not None and mean.pvalue < sure.pvalue:
        return mean, sure
    return sure, mean


def _detectable(views: list[View]) -> float | None:
    """The mean difference that the test notices with the probability `POWER` or more, whatever its shape.

    The largest cumulative difference is at least the last one, which is the mean difference, so it is enough for that to be
    beyond the limit of the test. Events nearer to one half vary more; that is counted as if the whole difference lay in the rows
    where it adds most.
    """
    view = views[0]
    if len(views) > 1 or view.is_soft:
        return None
    says, unit = view.mean(view.score), null_scale(view)
    if (view.effective_size * unit) ** 2 < LEAST_VARIANCE:
        return None
    # What the variance of the mean gains at most where the rate moves by 1 there: s (1 - s) has the slope 1 - 2 s.
    shares = view.weights if view.weight_kind == "importance" else 1.0
    steepest = float(np.max(shares * np.abs(1 - 2 * view.score))) / view.total
    found = 0.0
    for _ in range(20):
        found = LIMIT * unit + NormalDist().inv_cdf(POWER) * math.sqrt(unit**2 + found * steepest)
    return found if 0 < found < max(says, 1 - says) else None


def _sentence(
    direction: Direction,
    mean: Mean | None,
    other: Mean | None,
    tested: Tested,
    reach: float | None,
    repairs: Repairs,
    views: int,
    places: int,
) -> str:
    said = "" if mean is None else f": {mean.words()}"
    if direction == "unknown":
        start = f"{said[2:3].upper()}{said[3:]}; whether" if said else "Whether"
        return f"{start} that could be chance cannot be said: {tested.reason}."
    assert tested.pvalue is not None
    if direction == "none":
        text = f"No deviation found{said}; compatible with chance, {chance(tested.pvalue)}."
        if places:
            where = "1 place stands out by itself" if places == 1 else f"{places:,} places stand out by themselves"
            text = text.replace("No deviation found", "No deviation found over all rows", 1)
            text = f"{text[:-1]}; but {where}, see where it fails."
        return text + _reach(reach, mean, tested)
    if mean is None:
        start = f"At least one of the {views} classes is off"
    elif direction == "mixed":
        known = (
            "though on average the difference could be chance"
            if mean.pvalue is not None
            else "whether on average too is not known"
        )
        start = f"Off in places, {known}{said}"
    elif mean.lens == "top_label":
        start = f"{'Over' if direction == 'over' else 'Under'}confident{said}"
    else:
        start = f"Probabilities too {'high' if direction == 'over' else 'low'}{said}"
    parts = [start, f"unlikely to be chance, {chance(tested.pvalue)}"]
    if other is not None and other.off:
        parts.append(f"{other.direction}confident too: {other.words()}" if other.lens == "top_label" else other.words())
    return "; ".join([*parts, *_repaired(repairs)]) + "."


def _reach(reach: float | None, mean: Mean | None, tested: Tested) -> str:
    """How small a difference would have been noticed; it is about what the test looks at."""
    if reach is None:
        few = mean is not None and 0 < mean.says < 1
        return " So few rows or events could have shown large differences between the two only." if few else ""
    same = mean is not None and mean.lens == tested.lens
    which = "between the two" if same else "between the mean probability of the positive class and how often it happens"
    return (
        f" A difference of {rounded_up(100 * reach)} percentage points {which} would have been noticed with a probability of "
        "80% or more; smaller ones can hide in this many rows."
    )


def rounded_up(value: float) -> str:
    """A number above 0 with two digits, never below it.

    >>> rounded_up(0.1275), rounded_up(2.0), rounded_up(13.1)
    ('0.13', '2.0', '14')
    """
    digits = 1 - math.floor(math.log10(value))
    up = math.ceil(value * 10.0**digits - 1e-9) / 10.0**digits
    return f"{up:.{max(0, 1 - math.floor(math.log10(up)))}f}"


def _repaired(repairs: Repairs) -> list[str]:
    """What a map would do about it."""
    if repairs.reason or not repairs.entries:
        return []
    tried = sum(not entry.reason for entry in repairs.entries) - 1
    if repairs.method == "none":
        return [f"none of the {tried} maps tried makes it better on rows it has not seen"] if tried else []
    chosen = next(entry for entry in repairs.entries if entry.chosen)
    if chosen.repaired is None or chosen.repaired <= 0:
        return [f"{repairs.description} lowers the {repairs.loss} of rows it has not seen, but not their smece"]
    seen = f"smece {number(repairs.before, 2)} to {number(repairs.after, 2)} on rows it has not seen"
    sure = "repairs" if chosen.low is not None and chosen.low > 0 else "may repair"
    left = ""
    if repairs.pvalue_after is not None:
        left = ", and what is left is " + ("unlikely to be" if repairs.pvalue_after <= ALPHA else "compatible with")
        left += " chance"
    return [f"{repairs.description} {sure} {percent(chosen.repaired, 0)} of it ({seen}){left}"]


def chance(pvalue: float) -> str:
    """A p-value in words.

    >>> chance(0.03214), chance(1e-9)
    ('p = 0.0321', 'p < 0.001')
    """
    return "p < 0.001" if pvalue < 0.001 else f"p = {pvalue:.3g}"

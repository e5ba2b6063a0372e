"""`find_subgroups`: the subgroups of the rows, by intervals and categories of features, in which predictions and outcomes disagree."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..binning.table import binomial_interval
from ..errors import ArgumentError, LensError, UndefinedMetricError
from ..inference.gaps import NORMAL, gap_pvalues, sums_by
from ..inference.replicates import draw_events, many
from ..inference.seeds import generator, seed_of
from ..input.frames import check_same_rows
from ..util.arrays import Array, Bools, Floats
from ..util.checks import check_choice, check_fraction, check_whole, least_simulations
from ..util.hashes import content_order
from ..util.results import Result, number, pvalue_text, several
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from ..views.resolve import as_predictions, views_of
from ..views.view import View
from .features import encode_features
from .subgroup_search import LEAST_VARIANCE, Candidate, Rows, Space, evidence

Limits = tuple[float, float]
# A p-value that is adjusted for the search, and the interval of the gap.
Test = tuple[float, Callable[[], Limits]]
Method = Literal["split", "simulation"]

# Number of subgroups that the search extends by a further condition.
BEAM = 100
# Scores of 0 and 1 are moved by this, so that shifts of the log-odds, up to the largest, move them too.
LEAST_SCORE, MOST_SHIFT = 1e-12, 60.0


@dataclass(frozen=True, repr=False)
class Subgroup(Result):
    """A subgroup of the rows and its gap.

    Parameters
    ----------
    name : str
        Conditions that define it, such as ``"age ≥ 65 and plan = basic"``.
    features : tuple of str
        Names of the features of these conditions.
    lens : str
        Event that was evaluated.
    rows : int
        Number of rows on which it was tested; counts are added up.
    share : float
        Share of these rows among all rows that were tested.
    mean_score : float
        Mean predicted probability.
    rate : float
        Observed rate.
    gap : float
        Mean predicted probability minus observed rate.
    low, high : float
        Ends of the interval of the gap; the intervals of all subgroups of the list hold jointly.
    pvalue : float
        P-value adjusted for the search.
    mask : ndarray of bool, shape (N,)
        Which of the rows that were passed belong to it; for `where`.
    """

    _hidden = ("mask",)

    name: str
    features: tuple[str, ...]
    lens: str
    rows: int
    share: float
    mean_score: float
    rate: float
    gap: float
    low: float
    high: float
    pvalue: float
    mask: Bools = field(repr=False, compare=False)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        headings = ["subgroup", "rows", "mean predicted", "observed rate", "gap", "low", "high", "p-value"]
        values = map(number, (self.mean_score, self.rate, self.gap, self.low, self.high))
        return headings, [[self.name, f"{self.rows:,}", *values, pvalue_text(self.pvalue)]]


@dataclass(frozen=True, repr=False)
class Subgroups(Result):
    """Subgroups with a statistically significant gap.

    Parameters
    ----------
    subgroups : tuple of Subgroup
        The significant subgroups, those with the strongest evidence in the search first; ``result[0]`` is the first.
    candidates : int
        Number of subgroups that were tested.
    searched : int
        Number of conjunctions of conditions among which the search looked.
    n : int
        Number of rows of the search.
    n_tested : int
        Number of rows of the test.
    method : {"split", "simulation"}
        How the search is accounted for.
    alpha : float
        Significance level for all subgroups together.
    n_resamples : int
        Number of simulated data sets; 0 for ``"split"``.
    notes : tuple of str
        What was not searched.
    """

    _numeric = range(1, 8)

    subgroups: tuple[Subgroup, ...]
    candidates: int
    searched: int
    n: int
    n_tested: int
    method: str
    alpha: float
    n_resamples: int = 0
    notes: tuple[str, ...] = ()

    def __getitem__(self, place: int) -> Subgroup:
        return self.subgroups[place]

    def __len__(self) -> int:
        return len(self.subgroups)

    def __iter__(self) -> Iterator[Subgroup]:
        return iter(self.subgroups)

    def _columns(self) -> dict[str, list[Any]]:
        rows = [each._fields() for each in self.subgroups]
        names = [name for name in Subgroup.__dataclass_fields__ if name != "mask"]
        return {name: [row[name] for row in rows] for name in names}

    def _title(self) -> str:
        count = len(self.subgroups)
        result = f"{several(count, 'subgroup') if count else 'No subgroup'} with a statistically significant gap"
        others = f"{several(self.candidates - count, 'other')} tested"
        if self.method == "split":
            how = f"found on {several(self.n, 'row')}, tested on the other {self.n_tested:,}, p-values adjusted by Bonferroni's method"
        else:
            how = f"found and tested on {several(self.n, 'row')}, p-values from {self.n_resamples:,} searches with simulated labels"
        searched = f"{several(self.searched, 'conjunction')} searched"
        return f"{result} at {100 * self.alpha:g}%; {others}\n  {searched}: {how}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        if not self.subgroups:
            return [], []
        rows = [each._table()[1][0] for each in self.subgroups]
        headings = self.subgroups[0]._table()[0]
        lenses = [each.lens for each in self.subgroups]
        if len(set(lenses)) > 1:
            headings, rows = [*headings, "lens"], [[*row, lens] for row, lens in zip(rows, lenses, strict=True)]
        return headings, rows

    def _notes(self) -> list[str]:
        return [f"  note: {note}" for note in self.notes]


@documents_keywords()
def find_subgroups(
    y_true: Any,
    y_prob: Any = None,
    *,
    features: Any = None,
    method: Method = "split",
    max_features: int = 3,
    max_subgroups: int = 10,
    bins: int = 10,
    min_rows: int = 20,
    alpha: float = 0.05,
    n_resamples: int = 199,
    rng: Any = 0,
    lens: str | Lens = "auto",
    sample_weight: Any = None,
    pos_label: Any = None,
) -> Subgroups:
    r"""Find the subgroups in which predicted probabilities and outcomes disagree, and test them.

    Searches intervals of numbers and dates, categories, and missing values of up to three features for the subgroups with the strongest
    evidence of a gap between mean prediction and observed rate. The search itself finds gaps by chance, so that each subgroup is tested on
    held-out rows, or against searches on simulated labels. Use it to answer for whom a model is wrong; groups that are
    known beforehand belong in ``Predictions(..., groups=...)``.

    Parameters
    ----------
    y_true
    y_prob
    features : frame, mapping of str to array-like, or array-like of shape (N, d), optional
        Features of each row: numbers, dates, Booleans or text, with missing values. By default those of ``Predictions(..., features=...)``.
    method : {"split", "simulation"}, default "split"
        ``"split"`` searches a random half of the rows and tests on the other. ``"simulation"`` searches and tests all rows, and repeats the
        whole search on `n_resamples` sets of labels simulated from the scores; it has more power and takes as many times as long.
    max_features : int, default 3
        Largest number of features that a subgroup combines, up to 3.
    max_subgroups : int, default 10
        Largest number of subgroups that are tested; those that are significant are listed.
    bins : int, default 10
        Number of quantile bins of numbers and dates, at whose edges intervals begin and end.
    min_rows : int, default 20
        Least number of rows of a subgroup in the search.
    alpha : float, default 0.05
        Significance level of all tests together. The intervals of the gaps hold jointly at level ``1 - alpha``.
    n_resamples : int, default 199
        Number of sets of simulated labels, for ``"simulation"``.
    rng
    lens : str or Lens, default "auto"
        Events that are evaluated. With several, such as ``"classwise"``, the search is for subgroups of each of them.
    sample_weight
    pos_label

    Returns
    -------
    Subgroups
        Those with a statistically significant gap, each with ``name``, ``rows``, ``mean_score``, ``rate``, ``gap``, ``low``, ``high``,
        ``pvalue`` (adjusted) and ``mask``; ``candidates`` is the number that was tested, and ``to_frame()`` is a table.

    Raises
    ------
    InputTypeError
        If there are no features.
    ShapeError
        If features do not have one value for each row.
    UndefinedMetricError
        If labels are soft, or there are fewer rows than ``2 * min_rows``.
    ArgumentError
        If an option is out of range, or `n_resamples` is so small that no p-value could be significant.

    See Also
    --------
    calibrant.figures.feature_diagram : Mean prediction and observed rate along a feature.
    calibrant.mcm : Largest deviation over given subpopulations.

    Notes
    -----
    With scores :math:`s_i`, outcomes :math:`y_i`, the difference :math:`D = |\sum_i (y_i - s_i)|` and its variance under calibration
    :math:`V = \sum_i s_i (1 - s_i)` over the rows of a subgroup, the evidence is that of Bennett's inequality [1]_,

    .. math:: P(\textstyle\sum_i (y_i - s_i) \ge D) \le e^{-E}, \qquad E = V h(D / V), \quad h(u) = (1 + u) \ln(1 + u) - u,

    about :math:`D^2 / 2V`, and less where few events were expected. Subgroups of different numbers of conditions are ranked by
    :math:`E - \ln N`, with the number N of conjunctions of so many conditions. The search extends the 100 best subgroups
    by every condition on a further feature. A subgroup whose gap is explained by a better one is left out: once the gaps
    of those above it are removed from their rows, it must keep half of its evidence.

    ``"split"`` tests the null hypothesis that the outcomes of a subgroup follow its scores, with Bonferroni's correction for the subgroups
    that are tested, so that the search cannot raise the probability of a false subgroup above `alpha`: exactly where the variance of the tested rows
    is below 50, asymptotically (normal) above. ``"simulation"``, which is exact for any number of rows, compares :math:`E - \ln N` with its
    largest value in each search on simulated labels, :math:`p = (1 + \#\{b : \max_b \ge e\}) / (1 + B)`. The null hypothesis is that of
    calibration: a model that is wrong everywhere is wrong in every subgroup.

    An interval has the gaps that the same test does not reject, so that it excludes 0 exactly where the adjusted p-value is at most `alpha`: it
    shifts the log-odds of the scores of the subgroup until the test no longer rejects them (after ``"split"`` with a variance V below 50, it has the
    limits of Clopper and Pearson). Rows must be independent. Weights enter as effective numbers of rows; counts are divided as the rows they
    represent.

    References
    ----------
    .. [1] Bennett, G. (1962). Probability inequalities for the sum of independent random variables. JASA 57.
    .. [2] Zhang, Z. and Neill, D. B. (2016). Identifying significant predictive bias in classifiers. arXiv:1611.08292.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(1)
    >>> age, plan = rng.integers(18, 90, 4000), rng.choice(["basic", "pro"], 4000)
    >>> score = rng.uniform(0.1, 0.6, 4000)
    >>> wrong = (age >= 65) & (plan == "basic")
    >>> y = rng.random(4000) < score + 0.3 * wrong
    >>> found = cal.find_subgroups(y, score, features={"age": age, "plan": plan}, rng=1)
    >>> len(found), found[0].name
    (1, 'age ≥ 62 and plan = basic')
    """
    check_choice(method, "method", ("split", "simulation"))
    check_fraction(alpha, "alpha", 0.05)
    check_whole(bins, "bins", 2)
    check_whole(n_resamples, "n_resamples", least_simulations(alpha) if method == "simulation" else 1)
    for value, argument in ((min_rows, "min_rows"), (max_subgroups, "max_subgroups")):
        check_whole(value, argument)
    if check_whole(max_features, "max_features") > 3:
        raise ArgumentError("max_features", f"must be at most 3; got {max_features}")
    check_same_rows(y_true, {"features": features})
    p = as_predictions(y_true, y_prob, sample_weight, pos_label)
    views = [view for view in views_of(p, lens) if isinstance(view, View)]
    if not views:
        raise LensError("lens", "find_subgroups requires one score per row", "use 'top_label' or 'classwise'")
    if views[0].is_soft:
        raise UndefinedMetricError("find_subgroups", "is not defined for soft labels")
    coded = encode_features(features, p, bins)
    if views[0].row_count < 2 * min_rows:
        raise UndefinedMetricError("find_subgroups", f"requires at least {2 * min_rows} rows", "use a smaller min_rows")
    space = Space(coded, max_features, BEAM, min_rows, len(views))
    seed = seed_of(rng)
    whole = [np.arange(p.n)] * 2, [views[0].weights] * 2
    (index, tested), (weight, tested_weight) = _halves(views[0], space.codes, seed) if method == "split" else whole
    searched = [space.rows(view, index, weight) for view in views]
    candidates = space.distinct(space.search(searched), searched, max_subgroups)
    held_out = [space.rows(view, tested, tested_weight) for view in views] if method == "split" else searched
    members = [_members(space, views[each.view], each, tested, held_out[each.view]) for each in candidates]
    if method == "split":
        tests = _held_out_tests(members, alpha)
    else:
        tests = _simulated_tests(space, views, searched, candidates, members, alpha, n_resamples, seed)
    listed = []
    for candidate, part, (pvalue, limits) in zip(candidates, members, tests, strict=True):
        if pvalue <= alpha:
            mask = p.in_all_rows(space.mask(candidate.conditions, space.codes.T))
            share = part.total / float(held_out[candidate.view].weight.sum())
            names = tuple(coded[space.feature[place]].name for place in sorted(candidate.conditions))
            where = space.name(candidate.conditions), names, views[candidate.view].lens, int(part.row_count)
            mean, rate = (float(part.weights @ each) / part.total for each in (part.score, part.outcome))
            listed.append(Subgroup(*where, share, mean, rate, mean - rate, *limits(), pvalue, mask))
    n, n_tested = (int(w.sum()) if p.weight_kind == "counts" else len(w) for w in (weight, tested_weight))
    notes = tuple(f"{f.name}: {f.rare} rare categories were not searched" for f in coded if f.rare)
    resamples = n_resamples if method == "simulation" else 0
    return Subgroups(tuple(listed), len(candidates), space.size, n, n_tested, method, alpha, resamples, notes)


def _halves(view: View, codes: Array, seed: int) -> tuple[list[Array], list[Floats]]:
    """The rows of two random halves, and their weights; counts are divided as the rows they represent.

    The halves depend on the content of the rows, not on their order. The outcomes are a part of the seed: with a constant one, the same ranks
    would be searched in all data, and a test of the others would not have its level.
    """
    weight = view.weights
    order = content_order(view.raw_score, view.raw_outcome, weight, codes)
    rng = np.random.default_rng([seed, zlib.crc32(view.raw_outcome[order].astype(np.uint8).tobytes())])
    if view.weight_kind == "counts":
        first = np.empty(view.n)
        first[order] = rng.binomial(weight[order].astype(np.int64), 0.5)
    else:
        first = weight.copy()
        first[order[rng.permutation(view.n)[view.n // 2 :]]] = 0
    index = [np.flatnonzero(each > 0) for each in (first, weight - first)]
    return index, [first[index[0]], (weight - first)[index[1]]]


def _members(space: Space, view: View, candidate: Candidate, index: Array, rows: Rows) -> View:
    """The rows of a subgroup on which it is tested."""
    inside = space.mask(candidate.conditions, rows.columns)
    own = None if view.weight_kind == "unit" else rows.weight[inside]
    at = index[inside]
    return View(view.score[at], view.raw_outcome[at], own, view.weight_kind)


def _held_out_tests(members: Sequence[View], alpha: float) -> list[Test]:
    """Tests on held-out rows with Bonferroni's correction, and the gaps that each does not reject at its share of the level."""
    from scipy.special import ndtri

    tail = alpha / max(len(members), 1)

    def test_of(part: View) -> Test:
        sums = sums_by(part, None, 1)
        (pvalue,), (kind,) = gap_pvalues(sums, part.weight_kind)

        def limits() -> Limits:
            if kind == NORMAL:
                return _unrejected_gaps(
                    part, lambda excess, variance: excess**2 / (2 * variance), ndtri(tail / 2) ** 2 / 2
                )
            mean, rate = (each / sums.weight for each in (sums.score, sums.outcome))
            least, most = binomial_interval(sums.size * np.clip(rate, 0, 1), sums.size, tail, "clopper_pearson")
            return float(mean[0] - most[0]), float(mean[0] - least[0])

        is_tested = sums.rows[0] > 0 and not math.isnan(pvalue)
        return min(1.0, len(members) * float(pvalue)) if is_tested else 1.0, limits

    return [test_of(part) for part in members]


def _simulated_tests(
    space: Space,
    views: Sequence[View],
    searched: Sequence[Rows],
    candidates: Sequence[Candidate],
    members: Sequence[View],
    alpha: float,
    n_resamples: int,
    seed: int,
) -> list[Test]:
    """Tests against the best evidence of each search on simulated labels, and the gaps whose evidence would be below its critical value."""

    def best(number: int) -> float:
        rng = generator(seed, number + 1)
        parts = []
        for view, rows in zip(views, searched, strict=True):
            events = draw_events(view.score, rng, None if rows.units is None else rows.units.astype(np.int64))
            share = events if rows.units is None else events / rows.units
            parts.append(rows._replace(excess=rows.weight * (share - view.score)))
        return max((each.evidence for each in space.search(parts)), default=-math.inf)

    null = np.array(many(best, n_resamples))
    # The smallest value that is significant, or the largest of all if none would be.
    critical = np.sort(null)[::-1][max(math.floor(alpha * (1 + n_resamples)) - 1, 0)]

    def test_of(candidate: Candidate, part: View) -> Test:
        limit = max(critical + space.penalty(len(candidate.conditions)), 0)
        pvalue = (1 + int((null >= candidate.evidence).sum())) / (1 + n_resamples)
        return pvalue, lambda: _unrejected_gaps(part, evidence, limit)

    return [test_of(*each) for each in zip(candidates, members, strict=True)]


def _unrejected_gaps(part: View, statistic: Callable[[Any, Any], Any], critical: float) -> Limits:
    """The gaps that a test does not reject: those at shifts of the log-odds of all scores after which the statistic is at most `critical`."""
    from scipy.optimize import brentq
    from scipy.special import expit, logit

    score = np.clip(part.score, LEAST_SCORE, 1 - LEAST_SCORE)
    square = part.weights**2 if part.weight_kind == "importance" else part.weights
    events = float(part.weights @ part.outcome)

    def end(side: int) -> float:
        def beyond(shift: float) -> float:
            shifted = expit(logit(score) + shift)
            excess = events - float(part.weights @ shifted)
            variance = max(float(square @ (shifted * (1 - shifted))), LEAST_VARIANCE)
            return math.copysign(float(statistic(excess, variance)), excess) - side * critical

        # The test of the scores themselves is that without a shift, so that zero is on the right side of each end.
        start, stop = (0.0, MOST_SHIFT) if beyond(0.0) > 0 else (-MOST_SHIFT, 0.0)
        root = brentq(beyond, start, stop) if beyond(start) > 0 > beyond(stop) else (stop if start == 0 else start)
        return float(part.weights @ (part.score - expit(logit(score) + root)) / part.total)

    return end(-1), end(1)

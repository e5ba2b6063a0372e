"""`find_subgroups`: the subgroups of the rows, by intervals and categories of features, in which predictions and outcomes disagree."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.table import binomial_interval
from ..errors import ArgumentError, LensError, UndefinedMetricError
from ..inference.gaps import Sums, gap_pvalues, sums_by
from ..inference.multiplicity import adjust
from ..inference.replicates import draw_events, many
from ..inference.seeds import generator, seed_of
from ..input.predictions import Predictions
from ..util.checks import check_choice, check_fraction, check_whole
from ..util.results import Result, number, pvalue_text, several
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from ..views.resolve import as_predictions, views_of
from ..views.view import View
from .features import read_features
from .subgroup_search import Candidate, Rows, Space

Array = NDArray[Any]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Method = Literal["split", "simulation"]


@dataclass(frozen=True, repr=False)
class Subgroup(Result):
    """A subgroup of the rows and its gap.

    Parameters
    ----------
    name : str
        Conditions that define it, such as ``"age ≥ 65 and plan = basic"``.
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
    pvalue : float or None
        P-value adjusted for the search; None where the rows do not suffice for a test.
    significant : bool
        Whether the p-value is at most `alpha`.
    mask : ndarray of bool, shape (N,)
        Which rows of the predictions belong to it.
    """

    _hidden = ("mask",)

    name: str
    lens: str
    rows: int
    share: float
    mean_score: float
    rate: float
    gap: float
    low: float
    high: float
    pvalue: float | None
    significant: bool
    mask: Bools = field(repr=False, compare=False)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        headings = ["subgroup", "rows", "mean predicted", "observed rate", "gap", "low", "high", "p-value"]
        values = map(number, (self.mean_score, self.rate, self.gap, self.low, self.high))
        return headings, [
            [self.name, f"{self.rows:,}", *values, pvalue_text(math.nan if self.pvalue is None else self.pvalue)]
        ]


@dataclass(frozen=True, repr=False)
class Subgroups(Result):
    """Subgroups with the strongest evidence of a gap.

    Parameters
    ----------
    subgroups : tuple of Subgroup
        The subgroups, those with the strongest evidence in the search first; ``result[0]`` is the first.
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

    @property
    def significant(self) -> tuple[Subgroup, ...]:
        """The subgroups with a statistically significant gap."""
        return tuple(each for each in self.subgroups if each.significant)

    def _columns(self) -> dict[str, list[Any]]:
        rows = [each._fields() for each in self.subgroups]
        names = [name for name in Subgroup.__dataclass_fields__ if name != "mask"]
        return {name: [row[name] for row in rows] for name in names}

    def _title(self) -> str:
        count = len(self.significant)
        found = f"{several(count, 'subgroup') if count else 'No subgroup'} with a statistically significant gap"
        if self.method == "split":
            how = f"found on {several(self.n, 'row')}, tested on the other {self.n_tested:,}, p-values adjusted by Holm's method"
        else:
            how = f"found and tested on {several(self.n, 'row')}, p-values from {self.n_resamples:,} searches with simulated labels"
        return f"{found} at {100 * self.alpha:g}%\n  {several(self.searched, 'conjunction')} searched: {how}"

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
    beam: int = 100,
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
        Largest number of subgroups that are tested and listed.
    bins : int, default 10
        Number of quantile bins of numbers and dates, at whose edges intervals begin and end.
    beam : int, default 100
        Number of subgroups that the search extends by a further condition.
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
        Up to `max_subgroups` of them, each with ``name``, ``rows``, ``mean_score``, ``rate``, ``gap``, ``low``, ``high``, ``pvalue``
        (adjusted), ``significant`` and ``mask``; ``significant`` are those with a statistically significant gap, and ``to_frame()``
        is a table.

    Raises
    ------
    InputTypeError
        If there are no features.
    ShapeError
        If features do not have one value for each row.
    UndefinedMetricError
        If labels are soft, or there are fewer rows than ``2 * min_rows``.
    ArgumentError
        If an option is out of range.

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
    :math:`E - \ln N`, with the number N of conjunctions of so many conditions. The search extends the `beam` best subgroups
    by every condition on a further feature; with a large enough `beam` it is exhaustive. A subgroup whose gap is explained by a better one is left out: once the gaps
    of those above it are removed from their rows, it must keep half of its evidence.

    ``"split"`` tests the null hypothesis that the outcomes of a subgroup follow its scores, with Holm's correction for the subgroups of the list:
    the probability of any false subgroup is at most `alpha` whatever the search. ``"simulation"`` compares :math:`E - \ln N` with its largest value in
    each search on simulated labels, :math:`p = (1 + \#\{b : \max_b \ge e\}) / (1 + B)`. The null hypothesis is that of calibration: a
    model that is wrong everywhere is wrong in every subgroup. Intervals are binomial limits of Clopper and Pearson; after
    ``"simulation"`` at the level of the critical value, which makes them approximate. Rows must be independent. Weights enter as effective
    numbers of rows; counts are divided as the rows they represent.

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
    >>> found = cal.find_subgroups(y, score, features={"age": age, "plan": plan})
    >>> found[0].name, found[0].significant
    ('age ≥ 62 and plan = basic', True)
    """
    check_choice(method, "method", ("split", "simulation"))
    check_fraction(alpha, "alpha", 0.05)
    check_whole(n_resamples, "n_resamples")
    check_whole(bins, "bins", 2)
    for value, argument in ((beam, "beam"), (min_rows, "min_rows"), (max_subgroups, "max_subgroups")):
        check_whole(value, argument)
    if check_whole(max_features, "max_features") > 3:
        raise ArgumentError("max_features", f"must be at most 3; got {max_features}")
    p = as_predictions(y_true, y_prob, sample_weight, pos_label)
    views = _single_scores(p, lens)
    coded = read_features(features, p, bins)
    if (views[0].total if p.weight_kind == "counts" else p.n) < 2 * min_rows:
        raise UndefinedMetricError("find_subgroups", f"requires at least {2 * min_rows} rows", "use a smaller min_rows")
    space = Space(coded, max_features, beam, min_rows, len(views))
    seed = seed_of(rng)
    parts = [np.arange(p.n)] * 2, [views[0].weights] * 2
    if method == "split":
        parts = _halves(views[0], generator(seed, 0))
    (index, tested), (weight, tested_weight) = parts
    searched = [space.rows(view, index, weight) for view in views]
    candidates = space.distinct(space.search(searched), searched, max_subgroups)
    sums = [_sums(space, views[each.view], each, tested, tested_weight) for each in candidates]
    if method == "split":
        pvalues = _holm([gap_pvalues(each, p.weight_kind)[0][0] for each in sums])
        tails = [alpha / max(len(sums), 1)] * len(sums)
    else:
        pvalues, tails = _simulated(space, views, searched, candidates, alpha, n_resamples, seed)
    total = float(tested_weight.sum())
    listed = tuple(
        _subgroup(space, views, total, alpha, *each) for each in zip(candidates, sums, pvalues, tails, strict=True)
    )
    sizes = [int(w.sum()) if p.weight_kind == "counts" else len(w) for w in (weight, tested_weight)]
    resamples = n_resamples if method == "simulation" else 0
    notes = tuple(f"{f.name}: {f.rare} rare categories were not searched" for f in coded if f.rare)
    return Subgroups(listed, space.size, sizes[0], sizes[1], method, alpha, resamples, notes)


def _single_scores(p: Predictions, lens: str | Lens) -> list[View]:
    """The views of a lens; they must have hard labels and one score per row."""
    views = views_of(p, lens)
    if not all(isinstance(view, View) for view in views):
        raise LensError("lens", "find_subgroups requires one score per row", "use 'top_label' or 'classwise'")
    if views[0].is_soft:
        raise UndefinedMetricError("find_subgroups", "is not defined for soft labels")
    return [view for view in views if isinstance(view, View)]


def _halves(view: View, rng: np.random.Generator) -> tuple[list[Array], list[Floats]]:
    """The rows of two random halves, and their weights; counts are divided as the rows they represent."""
    weight = view.weights
    if view.weight_kind == "counts":
        first = rng.binomial(weight.astype(np.int64), 0.5).astype(np.float64)
    else:
        first = weight.copy()
        first[rng.permutation(view.n)[view.n // 2 :]] = 0
    index = [np.flatnonzero(each > 0) for each in (first, weight - first)]
    return index, [first[index[0]], (weight - first)[index[1]]]


def _sums(space: Space, view: View, candidate: Candidate, index: Array, weight: Floats) -> Sums:
    """The sums of a subgroup over the rows on which it is tested."""
    inside = space.mask(candidate.conditions, space.codes[index].T)
    rows = index[inside]
    own = None if view.weight_kind == "unit" else weight[inside]
    return sums_by(View(view.score[rows], view.raw_outcome[rows], own, view.weight_kind), None, 1)


def _holm(pvalues: list[float]) -> list[float]:
    """P-values adjusted for their number; NaN stays NaN and does not count."""
    values = np.array(pvalues)
    known = ~np.isnan(values)
    values[known] = adjust(values[known], "holm")
    return values.tolist()


def _simulated(
    space: Space,
    views: Sequence[View],
    searched: Sequence[Rows],
    candidates: Sequence[Candidate],
    alpha: float,
    n_resamples: int,
    seed: int,
) -> tuple[list[float], list[float]]:
    """P-values from the best evidence of each search on simulated labels, and the level of each interval at its critical value."""
    from scipy.special import ndtr

    def best(number: int) -> float:
        rng = generator(seed, number + 1)
        parts = []
        for view, rows in zip(views, searched, strict=True):
            events = draw_events(view.score, rng, None if rows.units is None else rows.units.astype(np.int64))
            share = events if rows.units is None else events / rows.units
            parts.append(rows._replace(excess=rows.weight * (share - view.score)))
        return max((each.evidence for each in space.search(parts)), default=-math.inf)

    null = np.array(many(best, n_resamples))
    pvalues = [(1 + int((null >= each.evidence).sum())) / (1 + n_resamples) for each in candidates]
    # The smallest value that is significant, or the largest of all if none would be.
    critical = np.sort(null)[::-1][max(math.floor(alpha * (1 + n_resamples)) - 1, 0)]
    limits = [math.sqrt(2 * max(critical + space.penalty(len(each.conditions)), 0)) for each in candidates]
    return pvalues, [2 * float(ndtr(-limit)) for limit in limits]


def _subgroup(
    space: Space,
    views: Sequence[View],
    total: float,
    alpha: float,
    candidate: Candidate,
    sums: Sums,
    pvalue: float,
    tail: float,
) -> Subgroup:
    """The row of the list for a candidate: gap, interval and test on the rows of the test."""
    view = views[candidate.view]
    mask = space.mask(candidate.conditions, space.codes.T)
    counted = view.weight_kind == "counts"
    rows = int(sums.weight[0]) if counted else int(sums.rows[0])
    if not rows:
        nan = math.nan
        name = space.name(candidate.conditions)
        return Subgroup(name, view.lens, 0, 0.0, nan, nan, nan, nan, nan, None, False, mask)
    mean, rate = float(sums.score[0] / sums.weight[0]), float(sums.outcome[0] / sums.weight[0])
    least, most = binomial_interval(sums.size * min(max(rate, 0), 1), sums.size, tail, "clopper_pearson")
    return Subgroup(
        name=space.name(candidate.conditions),
        lens=view.lens,
        rows=rows,
        share=float(sums.weight[0]) / total,
        mean_score=mean,
        rate=rate,
        gap=mean - rate,
        low=mean - float(most[0]),
        high=mean - float(least[0]),
        pvalue=None if math.isnan(pvalue) else pvalue,
        significant=pvalue <= alpha,
        mask=mask,
    )

"""Decomposition of the Brier score into calibration, grouping and irreducible loss, with features."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import BINS, Binning, Bins, rule_of
from ..errors import (
    ArgumentError,
    InputTypeError,
    LensError,
    UndefinedMetricError,
    WeightsNotSupportedError,
)
from ..input.predictions import Predictions
from ..util.arrays import Floats
from ..util.checks import check_fraction, check_rng, check_whole, least_resamples
from ..util.progress import track
from ..util.results import Record, number, pvalue_clause
from ..views.keywords import documents_keywords
from ..views.lenses import Lens, single_event
from ..views.resolve import as_predictions, views_of
from ..views.view import View

Cells = NDArray[np.intp]

# Rows of a fold and a bin per region, and the least in each region on which the partition is fitted.
ROWS_PER_REGION, LEAST_ROWS = 20, 10
MOST_REGIONS = 8
# In fewer bins, a line in the score would not describe the observed rate.
LEAST_BINS = 5
# Labels are permuted among this many rows of neighbouring scores. With ten, features that determine the score were taken for a grouping
# loss in 9% of samples (27% where the rate is steep); with four in 2% and 1%, at a power of 60% instead of 64%.
NEIGHBOURS = 4
# Largest number of rows to which counts are expanded.
MOST_ROWS = 10_000_000


@dataclass(frozen=True, repr=False)
class GroupingLoss(Record):
    """Decomposition of the Brier score: calibration + grouping + irreducible loss.

    Parameters
    ----------
    score : str
        Identifier of the score, ``"brier"``.
    lens : str
        Lens through which the predictions were evaluated.
    value : float
        Brier score of the event, the sum of the three terms.
    calibration : float
        Estimated calibration loss, without the part within bins; unbiased, so that it may be negative.
    grouping : float
        Estimated lower bound of the grouping loss, `explained` minus `induced`; it may be negative, if nothing was
        found.
    irreducible : float
        Remainder: an upper bound of the irreducible loss, as the other terms are lower bounds.
    explained : float
        Variance between regions of the observed rate within bins of the score, without bias.
    induced : float
        Part of the variance within bins that is due to their width; at least 0.
    pvalue : float
        P-value of the null hypothesis that there is no grouping loss; NaN without resamples.
    low : float
        Lower end of the interval of `grouping`, which is also a lower confidence limit of the grouping loss; NaN with few resamples or if no
        bin could be divided into regions.
    high : float
        Upper end of the interval of `grouping`; not a limit of the grouping loss itself.
    level : float
        Confidence level of the interval.
    bins : int
        Number of bins, or of distinct scores.
    regions : int
        Number of regions in all bins and folds.
    n : int
        Number of rows.
    note : str, default ""
        Remark on the interpretation of the terms.
    least_pvalue : float, default 0.0
        Smallest p-value that the permutations can have.

    Attributes
    ----------
    lower_bound : float
        Lower bound of the grouping loss, `grouping` or 0 if it is negative.
    """

    score: str
    lens: str
    value: float
    calibration: float
    grouping: float
    irreducible: float
    explained: float
    induced: float
    pvalue: float
    low: float
    high: float
    level: float
    bins: int
    regions: int
    n: int
    note: str = ""
    least_pvalue: float = 0.0

    @property
    def lower_bound(self) -> float:
        """Lower bound of the grouping loss, `grouping` or 0 if it is negative."""
        return max(self.grouping, 0.0)

    def _title(self) -> str:
        first, second = (
            f"{'-' if term < 0 else '+'} {number(abs(term))}" for term in (self.grouping, self.irreducible)
        )
        terms = (
            f"{number(self.calibration)} calibration {first} grouping (lower bound) {second} irreducible (upper bound)"
        )
        return f"{self.score} ({self.lens}): {number(self.value)} = {terms}"

    def _notes(self) -> list[str]:
        parts = f"grouping: {number(self.explained)} between {self.regions} regions - {number(self.induced)} due to the bins"
        notes = [parts]
        ends = (
            []
            if math.isnan(self.low)
            else [f"{100 * self.level:g}% interval [{number(self.low)}, {number(self.high)}]"]
        )
        if not math.isnan(self.pvalue):
            notes.append("; ".join([*ends, f"{pvalue_clause(self.pvalue, self.least_pvalue)} for no grouping loss"]))
        return [*notes, self.note] if self.note else notes

    def _table(self) -> tuple[list[str], list[list[str]]]:
        parts = {
            self.score: self.value,
            "calibration": self.calibration,
            "grouping (lower bound)": self.grouping,
            "irreducible (upper bound)": self.irreducible,
        }
        return ["part", "value"], [[name, number(value)] for name, value in parts.items()]


class Sample(NamedTuple):
    """Scores, outcomes, weights and features of one binary event."""

    score: Floats
    outcome: Floats
    weight: Floats
    features: Floats


class Partition(NamedTuple):
    """Bins of the score, and regions of the features within each fold and bin."""

    bin: Cells
    bins: int
    part: Cells
    """Fold and bin of each row."""
    parts: int
    region: Cells
    """Region of each row, numbered over all folds and bins."""
    regions: int
    owner: Cells
    """Fold and bin of each region."""


class Terms(NamedTuple):
    """Estimated terms of the decomposition."""

    calibration: float
    explained: float
    induced: float


def estimate(sample: Sample, partition: Partition, weight: Floats | None = None) -> Terms:
    """Estimate the terms; `weight` replaces the weights of the rows, as in a bootstrap replicate."""
    w = sample.weight if weight is None else weight
    total = w.sum()
    gap = squared_mean(w, sample.score - sample.outcome, partition.bin, partition.bins)
    calibration = float(np.bincount(partition.bin, w, partition.bins) @ np.nan_to_num(gap) / total)
    # The variance of the observed rate within bins that a line in the score explains, without the bias of its slope.
    line = _Line(sample, w, partition.bin, partition.bins)
    noise = np.bincount(partition.bin, np.square(w * line.distance * line.residual), partition.bins)
    bias = np.divide(noise, line.spread, out=np.zeros(partition.bins), where=line.spread > 0)
    induced = max(float((line.slope * line.covariance - bias).sum() / w.sum()), 0.0)
    return Terms(calibration, explained_variance(w, sample.outcome, partition), induced)


def explained_variance(w: Floats, outcome: Floats, partition: Partition) -> float:
    """Estimate the variance of the observed rate between regions, within folds and bins, without bias."""
    whole = squared_mean(w, outcome, partition.part, partition.parts)
    each = squared_mean(w, outcome, partition.region, partition.regions)
    excess = np.nan_to_num(each - whole[partition.owner])  # a region with one row has no estimate
    return float(np.bincount(partition.region, w, partition.regions) @ excess / w.sum())


def squared_mean(w: Floats, values: Floats, cell: Cells, count: int) -> Floats:
    """Estimate the squared mean of each cell without bias: the mean product of two different rows; NaN for one row."""
    mass, square = np.bincount(cell, w, count), np.bincount(cell, w * w, count)
    total, own = np.bincount(cell, w * values, count), np.bincount(cell, np.square(w * values), count)
    pairs = mass * mass - square
    several = pairs > 1e-9 * mass * mass
    return np.divide(total * total - own, pairs, out=np.full(count, np.nan), where=several)


class _Line:
    """Regression of the outcome on the score within each cell."""

    def __init__(self, sample: Sample, w: Floats, cell: Cells, count: int) -> None:
        mass = np.bincount(cell, w, count)
        mass[mass == 0] = 1
        self.distance = sample.score - (np.bincount(cell, w * sample.score, count) / mass)[cell]
        above = sample.outcome - (np.bincount(cell, w * sample.outcome, count) / mass)[cell]
        self.spread = np.bincount(cell, w * self.distance**2, count)
        # Equal scores differ from their mean by rounding.
        self.spread[self.spread <= 1e-20 * mass] = 0
        self.covariance = np.bincount(cell, w * self.distance * above, count)
        self.slope = np.divide(self.covariance, self.spread, out=np.zeros(count), where=self.spread > 0)
        self.residual = above - self.slope[cell] * self.distance


def split_features(sample: Sample, cell: Cells, count: int, folds: int, regions: int | None, rng: Any) -> Partition:
    """Fit regions of the features within each bin on the rows of the other folds."""
    n = len(cell)
    fold = np.empty(n, np.intp)
    order = np.lexsort((rng.permutation(n), cell))  # folds are balanced within each bin
    fold[order] = np.arange(n) % folds
    part, part_region = fold * count + cell, np.empty(n, np.intp)
    owner: list[int] = []
    rows_of = [np.flatnonzero(cell == place) for place in range(count)]
    for held in range(folds):
        for place, rows in enumerate(rows_of):
            inside = fold[rows] == held
            train, test = rows[~inside], rows[inside]
            most = regions if regions is not None else min(max(2, len(train) // ROWS_PER_REGION), MOST_REGIONS)
            seen = Sample(*(values[train] for values in sample))
            # Regions are fitted to what the score does not explain; a line through all rows would make them depend on the held-out labels.
            residual = _Line(seen, seen.weight, np.zeros(len(train), np.intp), 1).residual
            tree = Tree(seen.features, residual, seen.weight, most)
            leaf = _merge_single_rows(tree.leaves(sample.features[test]))
            part_region[test] = len(owner) + leaf
            owner += [held * count + place] * (int(leaf.max(initial=-1)) + 1)
    return Partition(cell, count, part, folds * count, part_region, len(owner), np.array(owner, np.intp))


def _merge_single_rows(leaf: Cells) -> Cells:
    """Number regions from 0, with regions of a single row merged into the largest."""
    names, place, rows = np.unique(leaf, return_inverse=True, return_counts=True)
    if len(names) == 0:
        return leaf
    names = np.where(rows > 1, names, names[rows.argmax()])
    return np.unique(names[place], return_inverse=True)[1]


class Tree:
    """Regression tree of at most `most` leaves, each split of which reduces the squared error most."""

    def __init__(self, x: Floats, y: Floats, w: Floats, most: int) -> None:
        self.splits: list[tuple[int, int, float]] = []
        """Leaf that is split, feature, and threshold; rows above it are in a new leaf."""
        members = [np.arange(len(x))]
        best = [_best_split(x, y, w)]
        while len(members) < most:
            leaf = max(range(len(best)), key=lambda each: best[each][0])
            gain, feature, threshold = best[leaf]
            if gain <= 0:
                break
            rows = members[leaf]
            above = x[rows, feature] > threshold
            self.splits.append((leaf, feature, threshold))
            members[leaf] = rows[~above]
            members.append(rows[above])
            best[leaf] = _best_split(x[members[leaf]], y[members[leaf]], w[members[leaf]])
            best.append(_best_split(x[members[-1]], y[members[-1]], w[members[-1]]))

    def leaves(self, x: Floats) -> Cells:
        """Return the leaf of each row."""
        leaf = np.zeros(len(x), np.intp)
        for new, (old, feature, threshold) in enumerate(self.splits, 1):
            leaf[(leaf == old) & (x[:, feature] > threshold)] = new
        return leaf


def _best_split(x: Floats, y: Floats, w: Floats) -> tuple[float, int, float]:
    """Return the largest reduction of the squared error by one split, its feature and its threshold."""
    n, none = len(x), (0.0, 0, 0.0)
    if n < 2 * LEAST_ROWS or x.shape[1] == 0:
        return none
    order = np.argsort(x, axis=0, kind="stable")
    values = np.take_along_axis(x, order, 0)
    mass, total = np.cumsum(w[order], axis=0), np.cumsum((w * y)[order], axis=0)
    left, low = mass[LEAST_ROWS - 1 : n - LEAST_ROWS], total[LEAST_ROWS - 1 : n - LEAST_ROWS]
    gain = low**2 / left + (total[-1] - low) ** 2 / (mass[-1] - left) - total[-1] ** 2 / mass[-1]
    first, second = values[LEAST_ROWS - 1 : n - LEAST_ROWS], values[LEAST_ROWS : n - LEAST_ROWS + 1]
    gain[first >= second] = 0
    place, feature = np.unravel_index(int(gain.argmax()), gain.shape)
    below, above = float(first[place, feature]), float(second[place, feature])
    middle = below / 2 + above / 2
    return float(gain[place, feature]), int(feature), middle if middle < above else below


def permute_outcomes(sample: Sample, fold: Cells, rng: Any) -> Iterator[Floats]:
    """Iterate over outcomes that are permuted among rows of neighbouring scores in the same fold."""
    order = np.lexsort((rng.random(len(fold)), sample.score, fold))  # ties in random order
    start = np.searchsorted(fold[order], fold[order])
    block = fold[order] * (len(fold) // NEIGHBOURS + 1) + (np.arange(len(fold)) - start) // NEIGHBOURS
    while True:
        outcome = np.empty(len(fold))
        outcome[order] = sample.outcome[order[np.argsort(block + rng.random(len(fold)))]]
        yield outcome


@documents_keywords()
def grouping_loss(
    predictions: Predictions,
    *,
    bins: Bins | Binning | None = None,
    regions: int | None = None,
    folds: int = 2,
    level: float = 0.95,
    n_resamples: int = 499,
    rng: Any = 0,
    lens: str | Lens = "auto",
) -> GroupingLoss:
    r"""Decompose the Brier score into calibration, grouping and irreducible loss, with the help of features.

    A calibrated score can be far from the probability of single rows, if rows with the same score have different probabilities: this is
    the grouping loss. No recalibration of the score removes it, but a better model, or the use of further features, can. It is
    estimated as the variance of the observed rate between regions of the features, among rows of similar score, and is a *lower
    bound*: features or regions that are not considered can only add to it. Use `decompose` without features.

    Parameters
    ----------
    predictions : Predictions
        Predictions with features: ``Predictions(y_true, y_prob, features=x)``.
    bins : int, sequence of float, binning rule or BinTable, optional
        Number of bins of equal mass of the score, increasing edges, or a rule such as ``EqualWidth(10)``; by default one for each 100 rows, from 5 to 15. If at most 15 scores are
        distinct, each is a bin by default.
    regions : int, optional
        Largest number of regions in each bin; by default one for each 20 rows on which they are fitted, from 2 to 8.
    folds : int, default 2
        Number of folds. The regions of a fold are fitted on the rows of the others.
    level
    n_resamples : int, default 499
        Number of permutations of the test and of bootstrap replicates of the interval; 0 for neither. An interval requires
        10 / (1 - level) of them.
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator of the folds and resamples. With a seed the result does not depend on the order of the rows.
    lens

    Returns
    -------
    GroupingLoss
        Result with the attributes `value`, `calibration`, `grouping`, `irreducible`, `explained`, `induced`, `low`, `high` and `pvalue`.

    Raises
    ------
    InputTypeError
        If there are no features.
    LensError
        If the lens has several views.
    ArgumentError
        If an option is out of range.
    UndefinedMetricError
        If the labels are soft, or there are too few rows to divide (40 with two folds).

    See Also
    --------
    decompose : Decomposition into miscalibration, discrimination and uncertainty, without features.
    vece : Calibration error along a feature.
    mcm : Calibration of subpopulations.

    Notes
    -----
    With the score :math:`S`, its calibrated form :math:`C = P(Y = 1 \mid S)` and the probability :math:`Q = P(Y = 1 \mid X)` of a row
    with features :math:`X` (of which the score is a function), the Brier score has the parts [1]_

    .. math::

        E(S - Y)^2 = \underbrace{E(S - C)^2}_{\text{calibration}} + \underbrace{E(C - Q)^2}_{\text{grouping}}
            + \underbrace{E(Q - Y)^2}_{\text{irreducible}}.

    The estimate follows [2]_. Scores are divided into bins :math:`b`, and each bin into regions :math:`r` of the features by a regression
    tree that is fitted on the rows of the other folds (to the residuals of a line in the score). With the rates :math:`c_{br}` and
    :math:`c_b` and the share :math:`p_{br}` of the rows,

    .. math::

        \text{grouping} \ge \underbrace{\sum_{b, r} p_{br} c_{br}^2 - \sum_b p_b c_b^2}_{\text{explained}}
            - \underbrace{E \, \mathrm{Var}(C \mid b)}_{\text{induced}}.

    Squared rates are estimated without bias, by the mean product of two different rows; with weights that depend on the label, such as
    class weights, they are too small, and so is `grouping`. The induced loss of finite bins is that of a line
    through each bin, without the bias of its slope, and 0 if negative; [2]_ use a smoother of all rows instead. The calibration loss is that of the bins,
    likewise without bias. The irreducible loss is the remainder: the three terms add up to the score exactly, and since the first two
    are lower bounds, the third is an upper bound. Estimates may be negative, which means that nothing was found; `lower_bound` is then 0.

    The test of no grouping loss (:math:`Y` independent of :math:`X` given :math:`S`) permutes the outcomes among four rows of
    neighbouring scores with the regions held fixed [3]_, and compares the explained variance. In simulations without grouping loss
    it rejected in 1 to 5% of samples at a level of 5%, also where the features determine the score. The interval is that of bootstrap replicates with the regions held fixed: it
    accounts for the rows, not for the choice of regions, so its lower end is a lower confidence limit of the grouping loss, and its upper
    end is not a limit. Rows on which the model was fitted are not suitable. With counts, each row is expanded.

    References
    ----------
    .. [1] Kull and Flach (2015): Novel decompositions of proper scoring rules for classification: score adjustment as precursor to
       calibration. ECML PKDD.
    .. [2] Perez-Lebel, Le Morvan and Varoquaux (2023): Beyond calibration: estimating the grouping loss of modern neural networks. ICLR.
       arXiv:2210.16315
    .. [3] Kim, Neykov, Balakrishnan and Wasserman (2022): Local permutation tests for conditional independence. Annals of Statistics 50.

    Examples
    --------
    Scores of 0.5 for two groups with rates of 0.3 and 0.7 are calibrated, and have a grouping loss of 0.04.

    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(0, 2, 2000)
    >>> y_true = rng.random(2000) < np.where(group, 0.7, 0.3)
    >>> cal.metrics.grouping_loss(cal.Predictions(y_true, np.full(2000, 0.5), features=group))
    brier (binary): 0.2500 = 0.0001153 calibration + 0.04203 grouping (lower bound) + 0.2079 irreducible (upper bound)
    grouping: 0.04203 between 4 regions - 0 due to the bins
    95% interval [0.03401, 0.05010]; p ≤ 0.002 for no grouping loss
    """
    if regions is not None:
        check_whole(regions, "regions", 2)
    check_whole(folds, "folds", 2)
    check_whole(n_resamples, "n_resamples", 0)
    check_fraction(level, "level")
    sample, view = _sample(as_predictions(predictions), lens)
    _check_rows(len(sample.score), folds)
    levels, cell = np.unique(sample.score, return_inverse=True)
    count = len(levels)
    if bins is not None or count > BINS:
        number = max(LEAST_BINS, min(BINS, len(sample.score) // 100))
        cell, count = rule_of(number if bins is None else bins, "equal_mass").cells(view)
    # An order that depends on the content of the rows only: those that tie are identical.
    order = np.argsort(sample.score)
    if (np.diff(sample.score[order]) == 0).any():
        order = np.lexsort((sample.weight, sample.outcome, *sample.features.T[::-1], sample.score))
    sample, cell = Sample(*(values[order] for values in sample)), cell[order]
    generator = _generator(rng, sample)
    partition = split_features(sample, cell, count, folds, regions, generator)
    terms = estimate(sample, partition)
    value = float(sample.weight @ np.square(sample.score - sample.outcome) / sample.weight.sum())
    grouping = terms.explained - terms.induced
    divided = partition.regions > len(np.unique(partition.owner))
    pvalue = low = high = math.nan
    if n_resamples:
        outcomes = islice(permute_outcomes(sample, partition.part // count, generator), n_resamples)
        null = [explained_variance(sample.weight, y, partition) for y in track(outcomes, "permutations", n_resamples)]
        # Permutations with the same value differ from it by rounding.
        pvalue = (1 + sum(one >= terms.explained - 1e-12 for one in null)) / (1 + n_resamples)
        if divided and n_resamples >= least_resamples(level):
            low, high = _interval(sample, partition, level, n_resamples, generator)
    return GroupingLoss(
        "brier",
        view.lens,
        value,
        terms.calibration,
        grouping,
        value - terms.calibration - grouping,
        terms.explained,
        terms.induced,
        pvalue,
        low,
        high,
        float(level),
        count,
        partition.regions,
        len(sample.score),
        "" if divided else f"no bin could be divided into regions: {_why_undivided(sample)}",
        1 / (1 + n_resamples),
    )


def _check_rows(n: int, folds: int) -> None:
    """Raise if there are too few rows to divide the features in each fold."""
    if n < folds * 2:
        raise ArgumentError("folds", f"{folds} folds require at least {2 * folds} rows; got {n}")
    least = -(-2 * LEAST_ROWS * folds // (folds - 1))
    if n < least:
        problem = f"requires at least {least} rows with {folds} folds, since features are divided among {2 * LEAST_ROWS} rows or more; got {n}"
        raise UndefinedMetricError("grouping_loss", problem, "use more rows")


def _generator(rng: Any, sample: Sample) -> np.random.Generator:
    """Return a generator that depends on a seed and on the outcomes: else rows of equal rank would be in the same fold for all samples of a size."""
    rng = check_rng(rng)
    if not isinstance(rng, int):
        return np.random.default_rng(rng)
    return np.random.default_rng([rng, zlib.crc32(sample.outcome.astype(np.uint8).tobytes())])


def _why_undivided(sample: Sample) -> str:
    if np.ptp(sample.outcome) == 0:
        return "all outcomes are equal"
    if not np.ptp(sample.features, axis=0).any():
        return "the features are constant"
    return "too few rows per bin, or features that are constant within bins"


def _sample(predictions: Predictions, lens: str | Lens) -> tuple[Sample, View]:
    """Return the rows of one binary event with their features; rows with counts are expanded."""
    if predictions.features is None:
        raise InputTypeError("features", "required by grouping_loss", "pass Predictions(..., features=...)")
    views = views_of(predictions, lens)
    view = views[0]
    if len(views) > 1 or not isinstance(view, View):
        problem = "one event is decomposed at a time"
        raise LensError("lens", problem, f"use 'top_label' or {single_event(views)!r}")
    if view.is_soft:
        raise UndefinedMetricError("grouping_loss", "is not defined for soft labels")
    assert view.rows is not None
    assert view.rows.features is not None
    values = view.score, view.outcome, view.weights, view.rows.features
    if view.weight_kind != "counts":
        return Sample(*values), view
    if view.total > MOST_ROWS:
        raise WeightsNotSupportedError("counts", f"represent more than {MOST_ROWS:,} rows, too many for grouping_loss")
    rows = np.repeat(np.arange(view.n), view.weights.astype(np.intp))
    score, outcome, _, features = (each[rows] for each in values)
    return Sample(score, outcome, np.ones(len(rows)), features), View(score, outcome.astype(np.uint8), lens=view.lens)


def _interval(sample: Sample, partition: Partition, level: float, n_resamples: int, rng: Any) -> tuple[float, float]:
    """Return the quantiles of bootstrap replicates of the lower bound, with the regions held fixed.

    They are drawn here, with the generator of the folds, because the sampler is in a package above.
    """
    n = len(sample.score)
    values = []
    for _ in track(range(n_resamples), "resamples"):
        # Two copies of a row are not a pair of different rows: as weights they are not counted as one.
        drawn = sample.weight * np.bincount(rng.integers(n, size=n), minlength=n)
        terms = estimate(sample, partition, drawn)
        values.append(terms.explained - terms.induced)
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)

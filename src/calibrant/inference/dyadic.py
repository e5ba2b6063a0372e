"""Tests of T-Cal's debiased error: by its exact variance, and over 2, 4, 8, ... bins simultaneously, of one score or of whole vectors."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, UndefinedMetricError
from ..metrics.bin.debiased import debiased_cells
from ..metrics.registry import Metric
from ..util.arrays import Floats
from ..util.blocks import map_blocks, rows_per_block
from ..util.checks import least_simulations
from ..util.results import several
from ..views.view import VectorView
from .asymptotic import in_units_of, normal_found, vector_view
from .metric_tests import ANY_SIDE, TestInput, TestOutcome, own_test
from .replicates import draw_events
from .seeds import generator
from .simplex import SimplexBins

Places = NDArray[np.intp]

# Values that differ by rounding errors only count as ties.
SAME = 1e-12


def _scores(view: VectorView, metric: Metric) -> Floats:
    """The score of each row, of views that have one and its outcome."""
    if view.score_column is None or view.labels is None:
        problem = "this test requires one score per row"
        raise UndefinedMetricError(metric.id, problem, "use lens='top_label' or method='consistency'")
    column = view.raw_probs if view.raw_probs.ndim == 1 else view.raw_probs[:, view.score_column]
    return column.astype(np.float64)


def null_deviation(view: VectorView, score: Floats, cell: Places, count: int, unbiased: bool) -> float:
    """Exact standard deviation of the debiased error under calibration: twice the products of variances over pairs."""
    weights, variance = view.weights, score * (1 - score)
    importance = view.weight_kind == "importance"
    own = weights**2 if importance else weights
    mass = np.bincount(cell, weights, count)
    alone = np.bincount(cell, (weights**4 if importance else weights) * variance**2, count)
    pairs = np.square(np.bincount(cell, own * variance, count)) - alone
    divisor = mass
    if unbiased:
        divisor = mass - np.divide(np.bincount(cell, own, count), mass, out=np.zeros(count), where=mass > 0)
    full = divisor > SAME * mass
    return math.sqrt(max(2 * math.fsum(pairs[full] / divisor[full] ** 2), 0.0)) / view.total


@own_test("t_cal", "l2ce_interval", method="normal", default=False, sides=ANY_SIDE)
def _normal(asked: TestInput) -> TestOutcome:
    """For screening: the null distribution is a sum of chi-squares, whose upper tail is heavier than the normal one."""
    view = vector_view(asked)
    score = _scores(view, asked.metric)
    cell, count = debiased_cells(view, asked.options["bins"], asked.options["smoothness"])
    unit = null_deviation(view, score, cell, count, asked.options["unbiased"])
    if unit <= 0:
        raise UndefinedMetricError(asked.metric.id, "no bin has two rows with positive variance", "use fewer bins")
    null_distribution = "normal with the exact variance, for screening only"
    outcome = normal_found(asked, asked.statistic / unit, in_units_of(unit), null_distribution)
    return replace(outcome, detail={**outcome.detail, "deviation": unit})


def dyadic_levels(size: float) -> int:
    """Number of widths 1/2, 1/4, ... (Lee et al. 2023)."""
    return max(1, math.floor(2 * math.log2(size / math.sqrt(math.log(size))))) if size >= 3 else 1


class Level(NamedTuple):
    """The bins of one width with at least two rows, as runs of the sorted rows."""

    first: Places
    end: Places
    divisor: Floats


class Dyadic:
    """The debiased error in bins of all widths, for any outcomes of the same sorted scores."""

    def __init__(self, view: VectorView, score: Floats, outcome: NDArray[Any], unbiased: bool) -> None:
        self.order = np.argsort(score, kind="stable")
        self.score, self.weight = score[self.order], view.weights[self.order]
        self.importance = view.weight_kind == "importance"
        self.single = bool((self.weight == 1).all())
        self.total = view.total
        self.events = self.weight * outcome[self.order]
        own = self.weight**2 if self.importance else self.weight
        mass, own = (np.append(0.0, np.cumsum(values)) for values in (self.weight, own))
        self.levels = []
        for level in range(1, dyadic_levels(view.effective_size) + 1):
            # Bins are closed on the right, 0 is in the first; a power of two scales without rounding.
            cell = np.maximum(np.ceil(np.ldexp(self.score, level)) - 1, 0)
            first = np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))
            end = np.append(first[1:], len(cell))
            weight = mass[end] - mass[first]
            divisor = weight - (own[end] - own[first]) / weight if unbiased else weight
            has_pairs = end - first > 1 if self.importance else weight > 1
            self.levels.append(Level(first[has_pairs], end[has_pairs], divisor[has_pairs]))

    def draw(self, rng: np.random.Generator) -> Floats:
        """Weighted outcomes simulated from the scores."""
        if self.importance or self.single:
            return draw_events(self.score, rng) * self.weight
        return draw_events(self.score, rng, self.weight.astype(np.int64)).astype(np.float64)

    def observed(self) -> Floats:
        """The error of the data at each level."""
        return self.values(self.events)

    def simulated(self, seed: int, start: int, stop: int) -> Floats:
        """The errors of labels simulated from the scores, one line for each number of a data set."""
        return self.values(np.array([self.draw(generator(seed, number)) for number in range(start, stop)]))

    def values(self, events: Floats) -> Floats:
        """The error at each level (the last axis), where `events` is the weight of the events of each sorted row."""
        excess = self.weight * self.score - events
        if self.importance:
            own = excess**2
        else:
            own = events * (1 - self.score) ** 2 + (self.weight - events) * self.score**2
        path, square = _path(excess), _path(own)
        values = np.empty((len(self.levels), *events.shape[:-1]))
        for number, bins in enumerate(self.levels):
            pairs = np.square(path[..., bins.end] - path[..., bins.first])
            pairs -= square[..., bins.end] - square[..., bins.first]
            values[number] = pairs @ (1 / bins.divisor)
        return values.T / self.total


def _path(values: Floats) -> Floats:
    path = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    np.cumsum(values, axis=-1, out=path[..., 1:])
    return path


class Simulated(NamedTuple):
    """The error of the data and of simulated data sets in bins of all widths, and their p-values among each other."""

    observed: Floats
    pvalue: Floats
    null: Floats
    """Error of each simulated data set (rows) at each level."""
    pvalues: Floats
    """P-values of each simulated data set among all of them and the data, so that all are exchangeable."""


def _simulate(asked: TestInput) -> Simulated:
    view, unbiased = vector_view(asked), asked.options["unbiased"]
    bins: Dyadic | SimplexBins
    if view.score_column is None and view.labels is not None:
        bins = SimplexBins(view, dyadic_levels(view.effective_size), unbiased)
    else:
        bins = Dyadic(view, _scores(view, asked.metric), np.asarray(view.labels == view.score_column), unbiased)
    observed = bins.observed()

    def work(start: int, stop: int) -> Floats:
        return bins.simulated(asked.seed, start, stop)

    null = np.concatenate(map_blocks(work, asked.n_resamples, rows_per_block(view.n), columns=4 * view.n))
    slack = SAME * np.maximum(1.0, np.abs(observed))
    pvalue = (1 + (null >= observed - slack).sum(axis=0)) / (1 + len(null))
    ranked = np.sort(null, axis=0)
    rank = len(null) - np.column_stack(
        [np.searchsorted(column, values - SAME) for column, values in zip(ranked.T, null.T, strict=True)]
    )
    rank += observed >= null - SAME
    return Simulated(observed, pvalue, null, rank / (1 + len(null)))


def _outcome(errors: Simulated, pvalue: float, allowed: int, null_distribution: str) -> TestOutcome:
    """The outcome at the level with the smallest p-value, which is significant if at most `allowed` of the data sets reach its error."""
    level = int(errors.pvalue.argmin())
    bins = 2 ** (level + 1)
    ranked = np.sort(errors.null[:, level])[::-1]
    levels = {f"p_{2 ** (place + 1)}_bins": float(p) for place, p in enumerate(errors.pvalue)}
    return TestOutcome(
        pvalue,
        float(ranked[min(allowed, len(ranked)) - 1]) if allowed > 0 else math.inf,
        f"{null_distribution}; the value and the critical value are those of {bins} bins, whose p-value is smallest",
        {"levels": float(len(errors.pvalue)), "bins": float(bins), **levels},
        statistic=float(errors.observed[level]),
    )


def _check_resamples(asked: TestInput, tests: int) -> None:
    """Raise unless the smallest attainable p-value, times the number of tests, is significant."""
    least = least_simulations(asked.alpha, tests)
    if asked.n_resamples < least:
        raise ArgumentError(
            "n_resamples",
            f"{asked.n_resamples} can never reject at alpha = {asked.alpha:g}: the smallest p-value of {tests} numbers of bins, corrected "
            f"for their number, is {min(1.0, tests / (1 + asked.n_resamples)):.3g}",
            f"use at least {least} or use method='adaptive_joint'" if tests > 1 else f"use at least {least}",
        )


@own_test("t_cal", "l2ce_interval", method="adaptive", default=False, exact=True)
def _adaptive_bonferroni(asked: TestInput) -> TestOutcome:
    """The smallest p-value over all levels, times their number (the published rule)."""
    _check_resamples(asked, dyadic_levels(vector_view(asked).effective_size))
    errors = _simulate(asked)
    tests, sets = len(errors.pvalue), 1 + asked.n_resamples
    allowed = max((m for m in range(sets + 1) if tests * (m / sets) <= asked.alpha), default=0)
    null_distribution = f"labels simulated {asked.n_resamples} times, for each of {several(tests, 'number')} of bins, corrected for multiplicity"
    return _outcome(errors, min(1.0, tests * float(errors.pvalue.min())), allowed, null_distribution)


@own_test("t_cal", "l2ce_interval", method="adaptive_joint", default=False, exact=True)
def _adaptive_joint(asked: TestInput) -> TestOutcome:
    """The smallest p-value against its joint null distribution, so that dependent levels cost no power.

    The smallest p-values of many simulated data sets are tied; ties are resolved by the next smallest ones, and so on. Any order that treats
    the data like the simulated data sets maintains the level.
    """
    _check_resamples(asked, 1)
    errors = _simulate(asked)
    sets = 1 + asked.n_resamples
    observed = tuple(np.sort(errors.pvalue).tolist())
    simulated = sorted(map(tuple, np.sort(errors.pvalues, axis=1).tolist()))
    as_small = 1 + bisect_right(simulated, observed)
    # The data are significant if their p-values come before those of this simulated data set.
    critical = simulated[max(m for m in range(sets + 1) if m / sets <= asked.alpha) - 1]
    allowed = round(critical[0] * sets)
    if observed[1:] >= critical[1:]:  # a tie of the smallest p-value is then not significant
        allowed -= 1
    null_distribution = f"labels simulated {asked.n_resamples} times, for all {len(observed)} numbers of bins jointly"
    return _outcome(errors, as_small / sets, allowed, null_distribution)

"""Tests of kernel calibration errors: bootstrap of U-statistics, normal distributions, bounds, mean embeddings."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UndefinedMetricError
from ..metrics.kernel.embeddings import _given_locations
from ..metrics.kernel.laplace import LONGEST, laplace_pair_sum, laplace_sums
from ..metrics.kernel.pairs import Cloud, Kernel, as_points, choose_kernel, cloud_of, evenly_spaced, one_column
from ..util.arrays import Floats
from ..util.blocks import map_blocks
from ..util.sums import accurate_sum
from ..views.view import VectorView
from . import dyadic, neighbour_tests  # noqa: F401  (they register their tests)
from .asymptotic import chi_square_found, vector_view
from .fitted import NO_VARIANCE, quadratic_form, refuse_importance
from .metric_tests import (
    ANY_SIDE,
    TestInput,
    TestOutcome,
    counts_rows,
    effective_terms,
    few_events,
    own_test,
    too_few_terms,
)
from .replicates import Replicates
from .verdicts import degrees_of_freedom

# Rows of a tile of pairs: 8 MB, large enough for efficient matrix products.
TILE = 1024
# Entries of the bootstrap multiplicities held at a time.
COUNT_ENTRIES = 1 << 23
# Pairs times replicates; a few minutes on one core.
MOST_BOOTSTRAP_WORK = 1e12
# The largest value of a kernel is 1, and of the product of two residuals 2.
LARGEST_TERM = 2.0
# Largest dimension of a covariance matrix that is decomposed.
MOST_LOCATIONS = 2000
# Least effective number of products: these have heavier tails than residuals.
LEAST_PRODUCTS = 30.0
# Least variance of the labels per degree of freedom, and least effective number of terms at each location.
LEAST_PER_DEGREE, LEAST_AT_LOCATION = 5.0, 5.0


class Terms(NamedTuple):
    """Distinct pairs of prediction and label, sorted by prediction, with the number of rows of each."""

    points: Floats
    residual: Floats
    rows: Floats
    own: Floats
    """Squared length of the residual: the contribution of a row paired with itself."""


def _terms(view: VectorView) -> Terms:
    """Rows with equal prediction and label are merged."""
    assert view.labels is not None
    block = view.block(0, view.n)
    points = as_points(block.probs)
    order = np.lexsort([view.labels, *points.T[::-1]])
    points, labels = points[order], view.labels[order]
    new = np.append(True, (points[1:] != points[:-1]).any(axis=1) | (labels[1:] != labels[:-1]))
    starts = np.flatnonzero(new)
    residual = (block.targets - block.probs)[order][starts]
    rows = np.add.reduceat(view.weights[order], starts)
    return Terms(np.ascontiguousarray(points[starts]), residual, rows, np.einsum("ij,ij->i", residual, residual))


def bootstrap_sums(terms: Terms, kernel: Kernel, counts: Floats) -> tuple[Floats, Floats]:
    """c'Hc and c'H1 for each row c of `counts`, with H_ij = k(p_i, p_j) <r_i, r_j> and 1 the original rows.

    Two classes with an exponential kernel use a cumulative sum; otherwise tiles of H are computed, used for all replicates, and discarded.
    """
    if kernel.shape == "exponential" and terms.points.shape[1] == 1:
        return _sums_on_a_line(terms, kernel.width / kernel.scale, counts)
    everyone = np.vstack([counts, terms.rows]).T
    spans = [slice(start, start + TILE) for start in range(0, len(terms.points), TILE)]
    square, cross = np.zeros(len(counts)), np.zeros(len(counts))
    for place, a in enumerate(spans):
        for b in spans[place:]:  # each pair of tiles once; BLAS is multithreaded
            tile = kernel.between(terms.points[a], terms.points[b])
            tile *= terms.residual[a] @ terms.residual[b].T
            product = tile @ everyone[b]
            square += (1 if a == b else 2) * np.einsum("ij,ij->j", everyone[a, :-1], product[:, :-1])
            cross += product[:, -1] @ everyone[a, :-1]
            if a != b:
                cross += (terms.rows[a] @ tile) @ everyone[b, :-1]
    return square, cross


def _sums_on_a_line(terms: Terms, width: float, counts: Floats) -> tuple[Floats, Floats]:
    place, residual = terms.points[:, 0], terms.residual[:, 1]  # the other column has the opposite sign
    with np.errstate(over="ignore", under="ignore"):
        push = 2 * residual * laplace_sums(place, terms.rows * residual, width)
        reach = (place - place[0]) / width
        grow = np.exp(reach) if reach[-1] <= LONGEST else None

        def work(start: int, stop: int) -> Floats:
            values = counts[start:stop] * residual
            if grow is None:
                return np.array([laplace_pair_sum(place, value, width) for value in values])
            # The left-to-right sum of laplace_pair_sum, whose exponentials are common to all replicates.
            path = np.cumsum(values * grow, axis=1)
            path /= grow
            path *= 2
            path -= values
            return np.einsum("ij,ij->i", values, path)

        squares = np.concatenate(map_blocks(work, len(counts), 8, columns=len(place)))
    return 2 * squares, counts @ push


@own_test("skce_uq", method="bootstrap", form=counts_rows)
def _bootstrap(asked: TestInput) -> TestOutcome:
    """Bootstrap of a degenerate U-statistic (Arcones and Gine 1992), as in Widmann, Lindsten and Zachariah 2019.

    The value is compared with T* = (n / (n - 1) (c'Hc - c'diag(H)) - 2 c'H1) / n^2 for bootstrap multiplicities c.
    """
    view = one_column(vector_view(asked))
    refuse_importance(view, "skce_uq", "use method='consistency'")
    terms, kernel = _terms(view), _kernel_of(asked, view)
    size, n = len(terms.rows), view.total
    quick = kernel.shape == "exponential" and terms.points.shape[1] == 1
    if not quick and size**2 * asked.n_resamples > MOST_BOOTSTRAP_WORK:
        raise UndefinedMetricError(
            "skce_uq",
            f"the bootstrap of all pairs of {size:,} predictions would take too long",
            "use skce_ul or fewer resamples or use method='distribution_free'",
        )
    every, _ = bootstrap_sums(terms, kernel, terms.rows[None, :])
    all_pairs, own = float(every[0]), float(terms.rows @ terms.own)
    observed = (all_pairs - own) / (n - 1) ** 2 - all_pairs / n**2
    null = []
    for counts in Replicates(terms.rows, asked.n_resamples, asked.seed).batches(COUNT_ENTRIES):
        square, cross = bootstrap_sums(terms, kernel, counts)
        null.append((n / (n - 1) * (square - counts @ terms.own) - 2 * cross) / n**2)
    drawn = np.concatenate(null)
    above = int((drawn >= observed - 1e-12 * max(1.0, abs(observed))).sum())
    null_distribution = f"{asked.n_resamples} bootstrap replicates of the degenerate U-statistic"
    pvalue = (1 + above) / (1 + asked.n_resamples)
    return TestOutcome(pvalue, None, null_distribution, {"observed": observed}, by_chance=0.0)


def _kernel_of(asked: TestInput, view: VectorView) -> Kernel:
    options = asked.options
    return choose_kernel(cloud_of(view), options["kernel"], options["distance"], options["bandwidth"])


def _few_products(asked: TestInput) -> str:
    """Condition that a few products of residuals do not dominate, by their moments under calibration."""
    at = _pairs_in_blocks(asked)
    variance, fourth = np.zeros(0), np.zeros(0)
    for first, second, kernel in at.pairs:
        p, q = at.probs[first], at.probs[second]
        both = np.einsum("ij,ij->i", p, q)
        # The trace of the product of two covariances diag(p) - pp'.
        trace = both - np.einsum("ij,ij->i", p, q**2) - np.einsum("ij,ij->i", p**2, q) + both**2
        variance = np.append(variance, kernel**2 * trace)
        fourth = np.append(fourth, kernel**4 * at.fourth[first] * at.fourth[second])
    return too_few_terms(effective_terms(np.maximum(variance, 0.0), fourth), LEAST_PRODUCTS)


@own_test("skce_ul", method="asymptotic", sides=ANY_SIDE, off=_few_products)
def _blocks_of_rows(asked: TestInput) -> TestOutcome:
    """The mean over independent blocks of rows is normal, with the standard error between blocks."""
    from .asymptotic import in_units_of, normal_found

    at = _pairs_in_blocks(asked)
    values = np.zeros(len(at.probs) // at.size)
    for number, (first, second, kernel) in enumerate(at.pairs, 1):
        product = kernel * np.einsum("ij,ij->i", at.residual[first], at.residual[second])
        values += product.reshape(len(values), at.size - number).sum(axis=1)
    values /= at.size * (at.size - 1) / 2
    if len(values) < 2:
        raise UndefinedMetricError("skce_ul", "requires at least two blocks of rows", "use a smaller block")
    mean = accurate_sum(values) / len(values)
    error = math.sqrt(accurate_sum(np.square(values - mean)) / (len(values) - 1) / len(values))
    if error <= 1e-15:
        raise UndefinedMetricError("skce_ul", "all blocks of rows are equal, so the variance cannot be estimated")
    found = normal_found(
        asked, mean / error, in_units_of(error), "normal with the standard error between blocks of rows"
    )
    return replace(found, detail={**found.detail, "error": error, "blocks": len(values)})


class PairsInBlocks(NamedTuple):
    """Rows in the order of `skce_ul`, truncated to complete blocks, and the pairs within blocks by lag."""

    probs: Floats
    residual: Floats
    fourth: Floats
    """Expected fourth power of the length of a residual under calibration."""
    size: int
    pairs: list[tuple[NDArray[np.intp], NDArray[np.intp], Floats]]
    """First rows, second rows and the kernel between them."""


def _pairs_in_blocks(asked: TestInput) -> PairsInBlocks:
    view, options = one_column(vector_view(asked)), asked.options
    size = options["block"]
    order = np.arange(view.n) if options["rng"] is None else np.random.default_rng(options["rng"]).permutation(view.n)
    order = order[: view.n // size * size]
    near_by = _kernel_of(asked, view)
    block = view.block(0, view.n)
    points, probs = as_points(block.probs)[order], block.probs[order]
    square = np.einsum("ij,ij->i", probs, probs)[:, None]
    fourth = np.einsum("ij,ij->i", probs, np.square(1 - 2 * probs + square))
    place = np.arange(len(order)) % size
    pairs = []
    for lag in range(1, size):
        first = np.flatnonzero(place < size - lag)
        pairs.append((first, first + lag, near_by.beside(points[first], points[first + lag])))
    return PairsInBlocks(probs, (block.targets - block.probs)[order], fourth, size, pairs)


def _bound(asked: TestInput, pairs: int) -> TestOutcome:
    """Hoeffding's inequality for the mean of `pairs` independent terms in [-2, 2]."""
    share = max(0.0, asked.statistic / LARGEST_TERM)
    limit = LARGEST_TERM * math.sqrt(-2 * math.log(asked.alpha) / pairs)
    return TestOutcome(math.exp(-pairs * share**2 / 2), limit, BOUND, {"pairs": pairs}, by_chance=0.0)


BOUND = "distribution-free bound for any number of rows (Hoeffding)"


@own_test("skce_uq", method="distribution_free", exact=True)
def _unbiased_bound(asked: TestInput) -> TestOutcome:
    view = vector_view(asked)
    refuse_importance(view, "skce_uq", "use method='consistency'")
    return _bound(asked, int(view.total) // 2)


@own_test("skce_ul", method="distribution_free", exact=True)
def _linear_bound(asked: TestInput) -> TestOutcome:
    size = asked.options["block"]
    return _bound(asked, vector_view(asked).n // size * (size // 2))


@own_test("skce_b", method="distribution_free", default=False, exact=True)
def _biased_bound(asked: TestInput) -> TestOutcome:
    """McDiarmid's inequality, after subtracting the contribution of each row with itself."""
    view = vector_view(asked)
    refuse_importance(view, "skce_b", "use method='consistency'")
    beyond = max(0.0, math.sqrt(view.total * asked.statistic / LARGEST_TERM) - 1)
    limit = LARGEST_TERM * (1 + math.sqrt(-2 * math.log(asked.alpha))) ** 2 / view.total
    return TestOutcome(math.exp(-(beyond**2) / 2), limit, BOUND.replace("Hoeffding", "McDiarmid"))


class Locations(NamedTuple):
    """Test locations of the mean embedding with their classes, and the kernel."""

    places: Floats
    classes: NDArray[np.intp]
    kernel: Kernel
    cloud: Cloud


def _locations(asked: TestInput, view: VectorView) -> Locations:
    cloud, given = cloud_of(view), asked.options["locations"]
    if isinstance(given, (tuple, list)):
        places, classes = _given_locations(given, vector_view(asked))
    else:
        chosen = np.unique(evenly_spaced(cloud.share, given))
        places = np.repeat(cloud.points[chosen], view.k, axis=0)
        classes = np.tile(np.arange(view.k), len(chosen))
    if len(places) > MOST_LOCATIONS:
        raise UndefinedMetricError(
            "ucme", f"has {len(places):,} locations, too many for a joint test", "use fewer locations"
        )
    return Locations(places, classes, _kernel_of(asked, view), cloud)


def _weighed_columns(at: Locations, points: Floats) -> tuple[Floats, Floats]:
    """For each prediction and location the kernel, and the probability of the location's class."""
    unique, back = np.unique(at.places, axis=0, return_inverse=True)
    probs = np.column_stack([1 - points, points]) if points.shape[1] == 1 else points
    return at.kernel.between(points, unique)[:, back.ravel()], probs[:, at.classes]


class Embedding(NamedTuple):
    """Deviations at all locations, their covariance under calibration, and the effective number of terms of each."""

    drift: Floats
    spread: Floats
    terms: Floats


def _embedding(asked: TestInput) -> Embedding:
    view = one_column(vector_view(asked))
    at = _locations(asked, view)
    count, step = len(at.places), max(1, COUNT_ENTRIES // 4 // len(at.places))
    drift, spread, fourth = np.zeros(count), np.zeros((count, count)), np.zeros(count)
    same = at.classes[:, None] == at.classes
    rows = at.cloud.share**2 / at.cloud.own  # number of rows at each point
    for start in range(0, len(at.cloud.points), step):
        part = slice(start, start + step)
        near_by, probs = _weighed_columns(at, at.cloud.points[part])
        drift += (near_by * at.cloud.residual[part][:, at.classes]).sum(axis=0)
        weighed = near_by * np.sqrt(at.cloud.own[part])[:, None]
        variance = probs * (1 - probs)
        fourth += (weighed**4 / rows[part, None] * variance * (1 - 3 * variance)).sum(axis=0)
        root = weighed * np.sqrt(probs)
        spread += np.where(same, root.T @ root, 0.0)
        weighed *= probs
        spread -= weighed.T @ weighed
    terms = np.divide(np.diag(spread) ** 2, fourth, out=np.full(count, np.inf), where=fourth > 0)
    return Embedding(drift, spread, terms)


def _few_at_locations(asked: TestInput) -> str:
    """Condition that there are enough outcomes for the degrees of freedom, and at each location."""
    found = _embedding(asked)
    if why := too_few_terms(float(found.terms.min()), LEAST_AT_LOCATION):
        return why
    _, rank = quadratic_form(found.drift, found.spread)
    if few_events(asked.view, LEAST_PER_DEGREE * rank):
        return f"there are too few varying outcomes for {degrees_of_freedom(rank)}"
    return ""


@own_test("ucme", method="chi_square", off=_few_at_locations)
def _mean_embedding(asked: TestInput) -> TestOutcome:
    """Joint test of the deviations at all locations with the covariance implied by the predictions."""
    view = one_column(vector_view(asked))
    assert view.labels is not None
    chance = view.each_row(lambda block: block.expect(block.probs))
    if (chance == 0).any():  # an outcome of probability 0 occurred
        return TestOutcome(0.0, None, "a label of probability 0 occurred", {"chi_square": math.inf})
    found = _embedding(asked)
    return _embedding_found(asked, found.drift, found.spread)


@own_test("ucme", method="chi_square_sample")
def _mean_embedding_sample(asked: TestInput) -> TestOutcome:
    """The same with the sample covariance, as published; it rejects far too often unless there are many rows."""
    view = one_column(vector_view(asked))
    refuse_importance(view, "ucme", "use method='chi_square'")
    at = _locations(asked, view)
    if view.total < 2:
        raise UndefinedMetricError("ucme", "requires at least two rows", "use method='chi_square'")
    count, step = len(at.places), max(1, COUNT_ENTRIES // 4 // len(at.places))
    drift, square = np.zeros(count), np.zeros((count, count))
    for start in range(0, view.n, step):
        block = view.block(start, min(start + step, view.n))
        near_by, probs = _weighed_columns(at, as_points(block.probs))
        deviation = near_by * (block.targets[:, at.classes] - probs)
        weight = view.weights[start : start + step]
        drift += weight @ deviation
        square += deviation.T @ (weight[:, None] * deviation)
    drift /= view.total
    spread = (square / view.total - np.outer(drift, drift)) / (view.total - 1)
    outside = drift - spread @ (np.linalg.pinv(spread, rcond=NO_VARIANCE, hermitian=True) @ drift)
    if (np.diag(square) <= 0).all() or np.linalg.norm(outside) > 1e-6 * np.linalg.norm(drift):
        raise UndefinedMetricError("ucme", "too few rows differ to estimate the variance", "use method='chi_square'")
    return _embedding_found(asked, drift, spread)


def _embedding_found(asked: TestInput, drift: Floats, spread: Floats) -> TestOutcome:
    statistic, rank = quadratic_form(drift, spread)
    if rank == 0 or not np.diag(spread).max() > 0:
        raise UndefinedMetricError("ucme", "every prediction is 0 or 1, so the statistic has no variance")
    return chi_square_found(asked, statistic, rank, is_the_metric=False)

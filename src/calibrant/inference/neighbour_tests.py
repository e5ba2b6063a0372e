"""Tests of local errors: nearest neighbours in predictions or features, and kernels of both."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UndefinedMetricError
from ..metrics.kernel.local import TILE, _drawn_labels, _vectors
from ..metrics.kernel.neighbours import (
    MAX_TREE_COLUMNS,
    SAME_DISTANCE,
    Search,
    _plain_search,
    _tree_search,
    distinct_rows,
    median_distance,
    neighbour_products,
    standardised,
)
from ..util.arrays import Floats
from ..util.blocks import map_blocks, rows_per_block
from ..util.progress import track
from ..views.view import VectorView
from .asymptotic import in_units_of, normal_found, vector_view
from .fitted import refuse_importance
from .metric_tests import ANY_SIDE, TestInput, TestOutcome, own_test, row_variance
from .pvalues import compared_with_draws
from .seeds import generator

Places = NDArray[np.intp]

# Largest neighbour graph that is kept between resamples.
MOST_EDGES = 30_000_000
# Entries processed at a time.
ENTRIES = 1 << 20
# Pairs times permutations; a few minutes on one core.
MOST_PAIR_WORK = 1e12
# The least number of disjoint neighbourhoods for which a sum over them is treated as normal.
LEAST_NEIGHBOURHOODS = 10.0


class Question(NamedTuple):
    """Input of `ecmmd`: positions, predictions, residuals and weights of the rows, and the number of neighbours."""

    position: Floats
    probs: Floats
    gaps: Floats
    weights: Floats
    k: int


def _question(asked: TestInput) -> Question:
    view, options = vector_view(asked), asked.options
    if not options["derandomised"]:
        problem = "this test requires the derandomised form"
        raise UndefinedMetricError("ecmmd", problem, "pass derandomised=True or use method='consistency'")
    size = int(view.total)
    wanted = max(5, round(math.sqrt(size))) if options["neighbours"] is None else options["neighbours"]
    probs, gaps = _vectors(view)
    position = probs
    if options["space"] == "features":
        assert view.rows is not None
        assert view.rows.features is not None
        position = view.rows.features
    if not position.shape[1]:
        position = np.zeros((view.n, 1))
    return Question(position, probs, gaps, view.weights, min(wanted, size - 1))


class Line:
    """Nearest neighbours on a line of sorted points: runs of points nearer than the k-th neighbour, and those tied with it.

    Ties share the remaining places equally, with the fraction `share`.
    """

    def __init__(self, point: Floats, size: Floats, k: int) -> None:
        self.size, self.k = size, k
        radius = _distance_of_last(point, size, k)
        outer, inner = radius * (1 + SAME_DISTANCE), radius * (1 - SAME_DISTANCE)
        self.alone = radius == 0
        self.outer_from, self.outer_to = (
            np.searchsorted(point, point - outer),
            np.searchsorted(point, point + outer, "right"),
        )
        self.inner_from, inner_to = (
            np.searchsorted(point, point - inner, "right"),
            np.searchsorted(point, point + inner),
        )
        self.inner_to = np.where(self.alone, self.inner_from, inner_to)
        mass = np.append(0.0, np.cumsum(size))
        inside = mass[self.inner_to] - mass[self.inner_from]
        edge = mass[self.outer_to] - mass[self.outer_from] - inside
        # A row is not its own neighbour: it is removed from the inside, or from the edge where all are at distance 0.
        self.share = (k - (inside - ~self.alone)) / (edge - self.alone)

    def products(self, total: Floats, square: Floats) -> float:
        """Mean product of the residual of a row with those of its neighbours; `total` and `square` are sums over the rows at each point."""
        path = np.append(0.0, np.cumsum(total))
        inside = path[self.inner_to] - path[self.inner_from]
        edge = path[self.outer_to] - path[self.outer_from] - inside
        own = np.where(self.alone, self.share, 1.0) * square
        return float((total * (inside + self.share * edge) - own).sum()) / (self.k * float(self.size.sum()))

    def variance(self, square: Floats) -> float:
        """sum (a_ij + a_ji)^2 q_i q_j over pairs of rows, over N k; a_ij is the neighbour weight of j for i.

        `square` is q of one row at each point. The points to the right of a point that have it as a neighbour form a run again, because the reach of
        a point to either side is non-decreasing.
        """
        count = len(square)
        at, share = np.arange(count), self.share
        mass = self.size * square
        sums = [np.append(0.0, np.cumsum(mass * share**power)) for power in range(3)]

        def run(power: int, low: Any, high: Any) -> Floats:
            return sums[power][np.maximum(low, high)] - sums[power][low]

        near = np.maximum(np.where(self.alone, 0, self.inner_to), at + 1)
        far = np.maximum(self.outer_to, near)
        left = np.maximum.accumulate(np.where(self.alone, at, np.minimum(self.inner_from, at)))
        seen = np.maximum(np.searchsorted(left, at, "right"), at + 1)
        edge_seen = np.maximum(np.searchsorted(np.maximum.accumulate(self.outer_from), at, "right"), seen)
        one_way = run(0, at + 1, near) + share**2 * run(0, near, far) + run(0, at + 1, seen) + run(2, seen, edge_seen)
        both = run(0, at + 1, np.minimum(near, seen)) + share * run(0, near, np.minimum(far, seen))
        both += run(1, seen, np.minimum(near, edge_seen))
        both += share * run(1, np.maximum(near, seen), np.minimum(far, edge_seen))
        copies = 2 * self.size * (self.size - 1) * np.where(self.alone, share, 1.0) ** 2 * square**2
        return float((mass * (one_way + 2 * both) + copies).sum()) / (self.k * float(self.size.sum()))


def _distance_of_last(point: Floats, size: Floats, k: int) -> Floats:
    """Distance from each point to its k-th nearest other row, by bisection over runs of k + 1 rows."""
    every = np.repeat(point, size.astype(np.int64))
    first = np.append(0, np.cumsum(size)[:-1]).astype(np.intp)
    low, high = np.maximum(first - k, 0), np.minimum(first, len(every) - 1 - k)
    while (low < high).any():
        middle = (low + high) // 2
        unsettled = low < high
        above = every[np.minimum(middle + k + 1, len(every) - 1)]
        up = unsettled & (point - every[middle] > above - point)
        low, high = np.where(up, middle + 1, low), np.where(unsettled & ~up, middle, high)
    return np.maximum(point - every[low], every[low + k] - point)


class Near(NamedTuple):
    """A block of points, the points around them, their distances and neighbour weights."""

    span: slice
    found: Places
    distance: Floats
    radius: Floats
    part: Floats
    """Neighbour weight of each point: 1, the share of ties with the last neighbour, or 0."""
    share: Floats


def _lists(place: Floats, size: Floats, k: int, columns: int) -> Iterator[Near]:
    search = _plain_search(place) if place.shape[1] > MAX_TREE_COLUMNS else _tree_search(place)
    step = rows_per_block(
        max(min(len(place), k + 2) * columns, len(place) if place.shape[1] > MAX_TREE_COLUMNS else 1), ENTRIES
    )
    for start in range(0, len(place), step):
        yield _list(place, search, size, k, slice(start, min(start + step, len(place))))


def _list(place: Floats, search: Search, size: Floats, k: int, span: slice) -> Near:
    reach = min(k + 2, len(size))
    while True:
        distance, found = search(place[span], reach)
        units = size[found]
        last = np.argmax(np.cumsum(units, axis=1) >= k + 1, axis=1)
        radius = distance[np.arange(len(found)), last]
        inner = distance < (radius * (1 - SAME_DISTANCE))[:, None]
        edge = ~inner & (distance <= (radius * (1 + SAME_DISTANCE))[:, None])
        if reach == len(size) or not edge[:, -1].any():
            break
        reach = min(2 * reach, len(size))
    alone = radius == 0
    share = (k - ((units * inner).sum(axis=1) - ~alone)) / ((units * edge).sum(axis=1) - alone)
    return Near(span, found, distance, radius, np.where(inner, 1.0, edge * share[:, None]), share)


def graph_variance(place: Floats, gaps: Floats, size: Floats, k: int) -> float:
    """sum (a_ij^2 + a_ij a_ji) <g_i, g_j>^2 over ordered pairs of rows, over N k, where point i represents `size` identical rows."""
    if place.shape[1] == 1 and gaps.shape[1] == 1:
        return Line(place[:, 0], size, k).variance(gaps[:, 0] ** 2)
    radius, share = np.empty(len(place)), np.empty(len(place))
    kept = []
    for near in _lists(place, size, k, gaps.shape[1]):
        radius[near.span], share[near.span] = near.radius, near.share
        if len(place) * (k + 2) <= MOST_EDGES:
            kept.append(near)
    sums = []
    for near in kept or _lists(place, size, k, gaps.shape[1]):
        back = _part(near.distance, radius[near.found], share[near.found])
        product = np.square(np.einsum("ic,ijc->ij", gaps[near.span], gaps[near.found]))
        self_ = near.found == np.arange(near.span.start, near.span.stop)[:, None]
        rows = size[near.found] - self_  # without the row itself, but with its copies
        sums.append(float((size[near.span, None] * rows * near.part * (near.part + back) * product).sum()))
    return math.fsum(sums) / (k * float(size.sum()))


def _part(distance: Floats, radius: Floats, share: Floats) -> Floats:
    """Neighbour weight of something at this distance for a point with this radius."""
    inner = distance < radius * (1 - SAME_DISTANCE)
    return np.where(inner, 1.0, np.where(distance <= radius * (1 + SAME_DISTANCE), share, 0.0))


def _few_places(asked: TestInput) -> str:
    """Condition that the sum extends over enough neighbourhoods: rows may be few, share their position, or be mostly certain."""
    q, view = _question(asked), vector_view(asked)
    place, code = distinct_rows(q.position)
    share = np.bincount(code, q.weights * row_variance(view), len(place))
    if not share.any():
        return ""
    worth = float(share.sum() ** 2 / np.square(share).sum()) / q.k
    if worth >= LEAST_NEIGHBOURHOODS:
        return ""
    return f"the effective number of neighbourhoods of {q.k} rows is {worth:.3g}, below {LEAST_NEIGHBOURHOODS:g}"


@own_test(
    "ecmmd",
    method="normal",
    sides=ANY_SIDE,
    form=lambda asked: "" if asked.options["derandomised"] else "it is for derandomised residuals",
    off=_few_places,
)
def _normal(asked: TestInput) -> TestOutcome:
    """z = sqrt(N k) ECMMD^2 / sigma with sigma^2 from the observed products (Chatterjee, Niu and Bhattacharya 2024)."""
    q = _question(asked)
    whole, code = distinct_rows(np.column_stack([q.position, q.gaps]))
    size: Floats = np.bincount(code, q.weights).astype(np.float64)
    columns = q.position.shape[1]
    variance = graph_variance(np.ascontiguousarray(whole[:, :columns]), whole[:, columns:], size, q.k)
    if variance <= 0:
        raise UndefinedMetricError("ecmmd", "neighbouring residuals are all zero, so the variance cannot be estimated")
    unit = math.sqrt(variance / (q.k * float(size.sum())))
    null_distribution = "normal with the variance estimated from neighbours"
    outcome = normal_found(asked, asked.statistic / unit, in_units_of(unit), null_distribution)
    return replace(outcome, detail={**outcome.detail, "variance": variance})


@own_test("ecmmd", method="pseudo_labels", sides=ANY_SIDE, exact=True)
def _pseudo_labels(asked: TestInput) -> TestOutcome:
    """The statistic of simulated labels, with the neighbours fixed."""
    q = _question(asked)
    rows = np.repeat(np.arange(len(q.weights)), q.weights.astype(np.int64))
    probs = q.probs[rows]
    place, code = distinct_rows(q.position)
    statistic = _Statistic(q, place, code[rows])

    def work(start: int, stop: int) -> list[float]:
        generators = (generator(asked.seed, number) for number in range(start, stop))
        return [statistic(probs - _drawn_labels(probs, rng)) for rng in generators]

    parts = map_blocks(work, asked.n_resamples, 8, columns=4 * len(rows))
    null = np.array([value for part in parts for value in part])
    what = f"labels simulated {asked.n_resamples} times, neighbours fixed"
    return replace(compared_with_draws(asked, null), null_distribution=what, by_chance=None)


class _Statistic:
    """`ecmmd` as a function of the residuals of single rows."""

    def __init__(self, question: Question, place: Floats, code: Places) -> None:
        self.question, self.place, self.code = question, place, code
        self.size: Floats = np.bincount(code).astype(np.float64)
        self.line = Line(place[:, 0], self.size, question.k) if place.shape[1] == 1 else None
        small = len(place) * (question.k + 2) <= MOST_EDGES
        self.graph = _graph(place, self.size, question.k) if self.line is None and small else None

    def __call__(self, gaps: Floats) -> float:
        k, rows = self.question.k, len(self.code)
        if self.line is None and self.graph is None:
            return neighbour_products(self.place[self.code], gaps, np.ones(rows), k)
        count = len(self.place)
        total = np.column_stack([np.bincount(self.code, column, count) for column in gaps.T])
        square: Floats = np.bincount(self.code, np.square(gaps).sum(axis=1), count).astype(np.float64)
        if self.line is not None:
            own = self.line.products(np.zeros(count), square)
            return own + sum(self.line.products(column, np.zeros(count)) for column in total.T)
        assert self.graph is not None
        return float((total * (self.graph @ total)).sum() - self.graph.diagonal() @ square) / (k * rows)


def _graph(place: Floats, size: Floats, k: int) -> Any:
    from scipy.sparse import coo_array

    row, column, part = [], [], []
    for near in _lists(place, size, k, 1):
        at, where = np.nonzero(near.part)
        row.append(at + near.span.start)
        column.append(near.found[at, where])
        part.append(near.part[at, where])
    entries = (np.concatenate(part), (np.concatenate(row), np.concatenate(column)))
    return coo_array(entries, shape=(len(place), len(place))).tocsr()


@own_test("klce", method="permutation", default=False, sides=ANY_SIDE)
def _permutation(asked: TestInput) -> TestOutcome:
    """Permutation of residuals between rows (Vashistha and Farahi 2025); it has no power against a constant error.

    The test is not exact, because residuals of different probabilities are not exchangeable; simulated labels are.
    """
    view = vector_view(asked)
    refuse_importance(view, "klce", "use method='consistency'")
    place, gaps = _kernel_places(asked, view)
    rows = np.repeat(np.arange(view.n), view.weights.astype(np.int64))
    place, gaps = place[rows], gaps[rows]
    if len(rows) ** 2 * gaps.shape[1] * asked.n_resamples > MOST_PAIR_WORK:
        problem = f"permuting all pairs of {len(rows):,} rows would take too long"
        raise UndefinedMetricError("klce", problem, "use fewer resamples")
    step = max(1, (1 << 24) // gaps.size)
    null = []
    for start in track(range(0, asked.n_resamples, step), "batches of permutations"):
        numbers = range(start, min(start + step, asked.n_resamples))
        permuted = [gaps[generator(asked.seed, number).permutation(len(rows))] for number in numbers]
        null.append(_pair_sums(place, np.hstack(permuted)).reshape(len(permuted), -1).sum(axis=1))
    own = float(_pair_sums(place, gaps).sum())
    pairs = len(rows) * (len(rows) - 1)
    unit = asked.statistic / (own / pairs) if asked.options["normalised"] and own else 1.0
    outcome = compared_with_draws(replace(asked, statistic=own / pairs * unit), np.concatenate(null) / pairs * unit)
    return replace(outcome, null_distribution=f"{asked.n_resamples} permutations of the residuals", by_chance=None)


def _kernel_places(asked: TestInput, view: VectorView) -> tuple[Floats, Floats]:
    """Points whose distance d gives the kernel exp(-d^2) of `klce`, and the residuals."""
    options = asked.options
    assert view.rows is not None
    assert view.rows.features is not None
    features, width, score_width = view.rows.features, options["bandwidth"], options["score_bandwidth"]
    if options["standardise"] or (options["standardise"] is None and width == "median"):
        features = standardised(features, view.weights)
    if width == "kite":
        width = score_width = 0.1
    elif width == "median":
        width = median_distance(features, view.weights, False)
    probs, gaps = _vectors(view)
    return np.column_stack([probs / score_width, features / width]), gaps


def _pair_sums(place: Floats, values: Floats) -> Floats:
    """For each column the sum over pairs of different rows of kernel times product."""
    from scipy.spatial.distance import cdist

    sums = np.zeros(values.shape[1])
    for start in range(0, len(place), TILE):
        part = slice(start, start + TILE)
        for other in range(start, len(place), TILE):
            kernel = cdist(place[part], place[other : other + TILE], "sqeuclidean")
            np.negative(kernel, out=kernel)
            np.exp(kernel, out=kernel)
            if other == start:
                np.fill_diagonal(kernel, 0)
            in_tile = np.einsum("ij,ij->j", values[part], kernel @ values[other : other + TILE])
            sums += in_tile if other == start else 2 * in_tile
    return sums

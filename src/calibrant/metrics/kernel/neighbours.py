"""Nearest neighbours with shared ties: rows tied with the last neighbour share the remaining places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...util.arrays import Floats
from ...util.blocks import map_blocks, rows_per_block

Places = NDArray[np.intp]

# Distances this close, in relative terms, are treated as equal.
SAME_DISTANCE = 1e-12
# Weights this close to one half are treated as one half.
SAME_WEIGHT = 1e-9
# All pairs up to this many rows; above, as many evenly spaced rows of the sorted ones.
MAX_PAIRED = 1000
# With more columns than this a tree visits nearly every row, slower than a plain search.
MAX_TREE_COLUMNS = 8
NEIGHBOUR_ENTRIES = 1 << 19

Search = Callable[[Floats, int], tuple[Floats, Places]]


def distinct_rows(matrix: Floats) -> tuple[Floats, Places]:
    """Return the distinct rows in lexicographic order, and the index of each row among them."""
    order = np.lexsort(matrix.T[::-1])
    ordered = matrix[order]
    starts = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    code = np.empty(len(matrix), np.intp)
    code[order] = np.cumsum(starts) - 1
    return ordered[starts], code


def standardised(features: Floats, weights: Floats) -> Floats:
    """Standardise columns to mean 0 and standard deviation 1; constant ones are dropped."""
    varied = features[:, np.ptp(features, axis=0) > 0]
    share = weights / weights.sum()
    centred = varied - share @ varied
    return np.asarray(centred / np.sqrt(share @ np.square(centred)))


def median_distance(features: Floats, weights: Floats, importance: bool) -> float:
    """Compute the median Euclidean distance of two different rows; the mean if that is 0, and 1 if all rows are equal.

    Under counts the copies of a row are different rows.
    """
    from scipy.spatial.distance import pdist

    if not features.shape[1]:
        return 1.0
    place, code = distinct_rows(features)
    mass = np.bincount(code, weights)
    own = np.bincount(code, weights**2 if importance else weights)
    if (len(features) if importance else mass.sum()) > MAX_PAIRED:
        steps = (np.arange(MAX_PAIRED) + 0.5) / MAX_PAIRED * mass.sum()
        chosen = np.minimum(np.searchsorted(np.cumsum(mass), steps, side="right"), len(mass) - 1)
        own = mass = np.bincount(chosen, minlength=len(mass)).astype(np.float64)
    used = mass > 0
    place, mass, own = place[used], mass[used], own[used]
    alike = float((mass**2 - own).sum()) / 2
    first, second = np.triu_indices(len(place), 1)
    distance = np.append(0.0, pdist(place))
    weight = np.append(max(alike, 0.0), mass[first] * mass[second])
    total = float(weight.sum())
    if total <= 0 or not distance.any():
        return 1.0
    return weighted_median(distance, weight) or float(weight @ distance) / total


def weighted_median(values: Floats, weight: Floats) -> float:
    """Compute the weighted median: the mean of two values if the weight divides evenly between them."""
    order = np.argsort(values, kind="stable")
    order = order[weight[order] > 0]
    reached = np.cumsum(weight[order])
    half = reached[-1] / 2
    middle = int(np.searchsorted(reached, half * (1 - SAME_WEIGHT)))
    even = reached[middle] <= half * (1 + SAME_WEIGHT) and middle + 1 < len(order)
    return float(values[order[middle : middle + 1 + even]].mean())


class _Near(NamedTuple):
    """Counts and residual sums of the rows nearer than the last neighbour of each place, and of those tied with it."""

    inside: Floats
    inside_sum: Floats
    edge: Floats
    edge_sum: Floats
    alone: NDArray[np.bool_]
    """Whether the last neighbour is at distance 0, so that the row itself is among the tied ones."""


def neighbour_products(position: Floats, residual: Floats, counts: Floats, k: int) -> float:
    """Compute the mean inner product of the residual of each row with the mean residual of its `k` nearest other rows.

    Rows tied with the k-th neighbour share the remaining places, so that the order of the rows does not matter.
    """
    place, code = distinct_rows(position)
    size: Floats = np.bincount(code, counts).astype(np.float64)
    total: Floats = np.column_stack([np.bincount(code, counts * column) for column in residual.T])
    square = np.bincount(code, counts * np.square(residual).sum(axis=1))
    find = _near_on_a_line if place.shape[1] == 1 else _near_in_space
    value = 0.0
    for span, near in find(place, size, total, k):
        # A row is not its own neighbour: it is removed from the nearer rows, or from the tied ones if all are at distance 0.
        left = k - (near.inside - ~near.alone)
        share = left / (near.edge - near.alone)
        products = (total[span] * (near.inside_sum + share[:, None] * near.edge_sum)).sum(axis=1)
        value += float((products - np.where(near.alone, share, 1.0) * square[span]).sum())
    return value / (k * float(size.sum()))


def _near_on_a_line(place: Floats, size: Floats, total: Floats, k: int) -> list[tuple[slice, _Near]]:
    """Find neighbours in one dimension, which are runs of sorted rows, by bisection, and sum them by prefix sums."""
    point = place[:, 0]
    every = np.repeat(point, size.astype(np.int64))
    ends = np.append(0.0, np.cumsum(size))
    first = ends[:-1].astype(np.intp)
    low, high = np.maximum(first - k, 0), np.minimum(first, len(every) - 1 - k)
    while (low < high).any():
        # The run [s, s + k] moves up while its lowest row is farther away than the next one above it.
        middle = (low + high) // 2
        open_ = low < high
        next_above = every[np.minimum(middle + k + 1, len(every) - 1)]
        up = open_ & (point - every[middle] > next_above - point)
        low = np.where(up, middle + 1, low)
        high = np.where(open_ & ~up, middle, high)
    radius = np.maximum(point - every[low], every[low + k] - point)
    alone = radius == 0
    outer, inner = radius * (1 + SAME_DISTANCE), radius * (1 - SAME_DISTANCE)
    outer_from, outer_to = np.searchsorted(point, point - outer), np.searchsorted(point, point + outer, "right")
    inner_from, inner_to = np.searchsorted(point, point - inner, "right"), np.searchsorted(point, point + inner)
    inner_to = np.where(alone, inner_from, inner_to)
    path = np.vstack([np.zeros(total.shape[1]), np.cumsum(total, axis=0)])
    inside, inside_sum = ends[inner_to] - ends[inner_from], path[inner_to] - path[inner_from]
    edge, edge_sum = ends[outer_to] - ends[outer_from] - inside, path[outer_to] - path[outer_from] - inside_sum
    return [(slice(0, len(point)), _Near(inside, inside_sum, edge, edge_sum, alone))]


def _near_in_space(place: Floats, size: Floats, total: Floats, k: int) -> list[tuple[slice, _Near]]:
    columns = min(len(place), k + 2) * total.shape[1]
    search = _tree_search(place)
    if place.shape[1] > MAX_TREE_COLUMNS:
        search, columns = _plain_search(place), max(columns, len(place))
    step = rows_per_block(columns, NEIGHBOUR_ENTRIES)

    def work(start: int, stop: int) -> tuple[slice, _Near]:
        return slice(start, stop), _near_of(place[start:stop], search, size, total, k, k + 2)

    return map_blocks(work, len(place), step, columns=columns)


def _near_of(points: Floats, search: Search, size: Floats, total: Floats, k: int, reach: int) -> _Near:
    """Find neighbours among the `reach` nearest places, and twice as many for points whose last neighbour has further ties."""
    reach = min(reach, len(size))
    distance, found = search(points, reach)
    units = size[found]
    last = np.argmax(np.cumsum(units, axis=1) >= k + 1, axis=1)
    radius = distance[np.arange(len(points)), last]
    inner = distance < (radius * (1 - SAME_DISTANCE))[:, None]
    edge = ~inner & (distance <= (radius * (1 + SAME_DISTANCE))[:, None])
    residual = total[found]
    near = _Near(
        (units * inner).sum(axis=1),
        (inner[:, None] @ residual)[:, 0],
        (units * edge).sum(axis=1),
        (edge[:, None] @ residual)[:, 0],
        radius == 0,
    )
    more = edge[:, -1]
    if reach < len(size) and more.any():
        for kept, better in zip(near, _near_of(points[more], search, size, total, k, 2 * reach), strict=True):
            kept[more] = better
    return near


def _tree_search(place: Floats) -> Search:
    from scipy.spatial import cKDTree

    tree: Any = cKDTree(place)

    def search(points: Floats, reach: int) -> tuple[Floats, Places]:
        distance, found = tree.query(points, reach)
        return distance.reshape(len(points), reach), found.reshape(len(points), reach)

    return search


def _plain_search(place: Floats) -> Search:
    from scipy.spatial.distance import cdist

    def search(points: Floats, reach: int) -> tuple[Floats, Places]:
        distance = cdist(points, place)
        found = np.argpartition(distance, reach - 1, axis=1)[:, :reach]
        near = np.take_along_axis(distance, found, axis=1)
        order = np.argsort(near, axis=1, kind="stable")
        return np.take_along_axis(near, order, axis=1), np.take_along_axis(found, order, axis=1)

    return search

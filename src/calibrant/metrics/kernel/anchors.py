"""Anchors on the simplex: centres of the forecasts, and a test of the labels around each."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...errors import ArgumentError
from ...util.arrays import Floats
from ...util.checks import check_positive, check_whole
from ...views.view import VectorView
from .neighbours import SAME_DISTANCE, distinct_rows

SAME = 1e-12
MAX_ROUNDS = 100
# Centres that move less than this have converged.
STILL = 1e-4
DRAWS = 256
# Beyond this noncentrality any test rejects.
CERTAIN = 2000.0
# Probabilities below this are treated as 0.
SMALLEST = 1e-200


class AnchorTest(NamedTuple):
    """Result of a chi-square test of the labels of the rows nearest to one anchor."""

    anchor: Floats
    neighbours: int
    statistic: float
    degrees: int
    pvalue: float


def anchor_tests(
    view: VectorView,
    anchors: Any = 6,
    neighbours: int | None = None,
    eps: float = 0.1,
    power: float = 0.8,
    alpha: float = 0.05,
    min_expected: float = 5,
) -> list[AnchorTest]:
    """Run the test at each anchor; without two classes to compare it has no degrees of freedom and a p-value of 1."""
    for value, name in ((power, "power"), (alpha, "alpha")):
        if not 0 < check_positive(value, name) < 1:
            raise ArgumentError(name, f"must lie between 0 and 1; got {value!r}")
    check_positive(eps, "eps")
    if not 0 <= min_expected < math.inf:
        raise ArgumentError("min_expected", f"must be a finite non-negative number; got {min_expected!r}")
    assert view.labels is not None
    place, code = distinct_rows(np.concatenate([block.probs for _, block in view.blocks()]))
    size: Floats = np.bincount(code, view.weights).astype(np.float64)
    cell = code * view.k + view.labels
    labels: Floats = np.bincount(cell, view.weights, len(place) * view.k).astype(np.float64).reshape(-1, view.k)
    if isinstance(anchors, (int, np.integer)):
        chosen = centres_of(place, size, check_whole(anchors, "anchors"))
    else:
        chosen = _given(anchors, view.k)
    most = int(view.total)
    tests = []
    for anchor in chosen:
        if neighbours is None:
            k = neighbours_for_power(anchor, eps, power, alpha, most)
        else:
            k = min(check_whole(neighbours, "neighbours"), most)
        observed = _labels_near(anchor, place, size, labels, k)
        tests.append(AnchorTest(anchor, k, *_chi_square(observed, k * anchor, min_expected)))
    return tests


def _given(anchors: Any, k: int) -> Floats:
    """Return one distribution over the classes for each anchor."""
    try:
        values = np.atleast_2d(np.asarray(anchors, dtype=np.float64))
    except (TypeError, ValueError):
        values = np.empty((0, 0))
    if values.ndim != 2 or values.shape[1] != k or not len(values):
        raise ArgumentError("anchors", f"must be a number of centres or vectors of {k} probabilities; got {anchors!r}")
    if not ((values >= 0).all() and (np.abs(values.sum(axis=1) - 1) <= 1e-6).all()):
        raise ArgumentError("anchors", "each vector must be a distribution: non-negative with sum 1")
    return values


def centres_of(place: Floats, size: Floats, count: int) -> Floats:
    """Compute the centres of k-means over distinct sorted rows of weight `size`, started at rows far from each other.

    The algorithm is deterministic and the rows are sorted, so that neither a seed nor the order of rows matters.
    """
    if len(place) <= count:
        return place
    centre = _far_apart(place, size, count)
    for _ in range(MAX_ROUNDS):
        # |x - c|^2 minus |x|^2, which is the same for every centre; ties by the first.
        distance = np.square(centre).sum(axis=1)[:, None] - 2 * centre @ place.T
        nearest = np.argmax(distance <= distance.min(axis=0) + SAME, axis=0)
        member = (nearest == np.arange(len(centre))[:, None]) * size
        mass = member.sum(axis=1)
        used = mass > 0
        moved = member[used] @ place / mass[used, None]
        still = float(np.abs(moved - centre[used]).max()) <= STILL
        centre = moved
        if still:
            break
    return centre


def _far_apart(place: Floats, size: Floats, count: int) -> Floats:
    """Return rows each of which is the farthest from the previous ones, the first from the mean; ties by the first."""
    chosen = [size @ place / size.sum()]
    nearest = np.full(len(place), np.inf)
    for number in range(count):
        nearest = np.minimum(nearest, np.square(place - chosen[-1]).sum(axis=1))
        far = nearest >= nearest.max() * (1 - SAME)
        chosen.append(place[int(np.argmax(far))])
        if number == 0:
            nearest[:] = np.inf  # the mean itself is not a centre
    return np.array(chosen[1:])


def neighbours_for_power(anchor: Floats, eps: float, power: float, alpha: float, most: int) -> int:
    """Compute the number of rows that a chi-square test needs to detect a deviation of size `eps` with the expected power; at most `most`.

    Deviations point from the anchor to points spread evenly over the simplex, and end at its boundary.
    """
    from scipy.special import chdtri, chndtr

    if len(anchor) < 2:
        return most
    # In order of size, so that the order of the classes does not matter.
    truth = np.sort(anchor)[::-1]
    # The noncentrality per row of each deviation: the sum over classes of (change)^2 / probability.
    way = np.random.default_rng(0).dirichlet(np.ones(len(truth)), DRAWS) - truth
    way /= np.sqrt(np.square(way).sum(axis=1, keepdims=True))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = np.where(way < 0, -truth / way, np.inf).min(axis=1)
    change = np.square(way * np.minimum(eps, room)[:, None])
    strength = np.minimum((change / np.maximum(truth, SMALLEST)).sum(axis=1), CERTAIN)
    threshold = chdtri(len(truth) - 1, alpha)

    def expected_power(k: int) -> float:
        reach = np.minimum(k * strength, CERTAIN)
        return float((1 - chndtr(threshold, len(truth) - 1, reach)).mean())

    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if expected_power(middle) >= power else (middle + 1, high)
    return low


def _labels_near(anchor: Floats, place: Floats, size: Floats, labels: Floats, k: int) -> Floats:
    """Count each class among the k rows nearest to the anchor, with ties for the last place shared."""
    distance = np.sqrt(np.square(place - anchor).sum(axis=1))
    order = np.argsort(distance, kind="stable")
    last = min(int(np.searchsorted(np.cumsum(size[order]), k)), len(order) - 1)
    radius = distance[order[last]]
    inner = distance < radius * (1 - SAME_DISTANCE)
    edge = ~inner & (distance <= radius * (1 + SAME_DISTANCE))
    share = (k - size[inner].sum()) / size[edge].sum()
    return np.asarray(labels[inner].sum(axis=0) + share * labels[edge].sum(axis=0))


def _chi_square(observed: Floats, expected: Floats, least: float) -> tuple[float, int, float]:
    """Compute statistic, degrees of freedom and p-value, with rare classes pooled until they are expected often enough."""
    from scipy.special import chdtrc

    possible = expected > 0
    if observed[~possible].sum() > SAME_DISTANCE:  # an impossible class was observed
        return math.inf, max(1, int(possible.sum())), 0.0
    order = np.argsort(expected[possible], kind="stable")
    wanted, seen = expected[possible][order], observed[possible][order]
    reached = np.cumsum(wanted)
    # The rarest classes are pooled: all that are too rare, and as many more as the pooled cell needs.
    rare = int((wanted < least * (1 - SAME_DISTANCE)).sum())
    pooled = max(rare, int(np.searchsorted(reached, least * (1 - SAME_DISTANCE))) + 1) if rare else 0
    if pooled > 0:  # classes tied with the last one are pooled too, so that the order of classes does not matter
        pooled = int(np.searchsorted(wanted, wanted[min(pooled, len(wanted)) - 1] * (1 + SAME_DISTANCE), side="right"))
    if pooled > 1:
        wanted = np.append(wanted[:pooled].sum(), wanted[pooled:])
        seen = np.append(seen[:pooled].sum(), seen[pooled:])
    if len(wanted) < 2:
        return 0.0, 0, 1.0
    with np.errstate(over="ignore"):
        statistic = float((np.square(seen - wanted) / wanted).sum())
    return statistic, len(wanted) - 1, float(chdtrc(len(wanted) - 1, statistic))

"""Sums of Gaussian kernels over all pairs of points on a line, in time proportional to their number (fast Gauss transform)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...util.arrays import Floats

# A Gaussian is below 1e-31 of its peak at this many bandwidths, and boxes are one bandwidth wide.
REACH = 12
# For points within half a bandwidth of the centres of their boxes, further terms are below 1e-17 of the kernel.
TERMS = 13
# With fewer points in a box, sums over the pairs are as fast.
PER_BOX = 8
# Points of a box that are processed together, so that memory does not grow with their number.
BLOCK = 1 << 14


def is_dense(low: float, high: float, count: int, width: float) -> bool:
    """Whether there are enough points between `low` and `high` for boxes of one bandwidth to be worthwhile."""
    return bool((high - low) / width < count / PER_BOX)


def gauss_transform(targets: Floats, sources: Floats, parts: Floats, width: float) -> Floats:
    """Compute sum_j parts[j] exp(-(t - sources[j])^2 / (2 width^2)) for every target t, up to rounding; points increase, parts have shape (G, C).

    With a target at distance a from the centre of its box, a source at distance b from that of its own, and D between the centres, all in
    bandwidths, the kernel is exp(-(D + a)^2 / 2) exp(D b - b^2 / 2) exp(a b), and the last factor is a short power series. All factors are
    positive and exact up to rounding, hence also small sums far from most sources.
    """
    columns = parts.shape[1]
    start = min(float(targets[0]), float(sources[0]))
    box_of_target = np.floor((targets - start) / width).astype(np.intp)
    box_of_source = np.floor((sources - start) / width).astype(np.intp)
    boxes = int(max(box_of_target[-1], box_of_source[-1])) + 1
    centre = start + (np.arange(boxes) + 0.5) * width
    factorial = np.array([math.factorial(p) for p in range(TERMS)], np.float64)
    # Of a box of sources and the distance to a box of targets, what these need.
    moments = np.zeros((boxes, 2 * REACH + 1, TERMS * columns))
    for first, last, box in _blocks(box_of_source):
        b = (sources[first:last] - centre[box]) / width
        to = np.arange(max(box - REACH, 0), min(box + REACH + 1, boxes))
        between = (centre[to] - centre[box]) / width
        terms = (np.vander(b, TERMS, increasing=True) / factorial)[:, :, None] * parts[first:last, None, :]
        moments[box, to - box + REACH] += np.exp(between[:, None] * b - 0.5 * b**2) @ terms.reshape(len(b), -1)
    sums = np.empty((len(targets), columns))
    for first, last, box in _blocks(box_of_target):
        a = (targets[first:last] - centre[box]) / width
        of = np.arange(max(box - REACH, 0), min(box + REACH + 1, boxes))
        near = moments[of, box - of + REACH].reshape(-1, TERMS, columns).transpose(1, 0, 2).reshape(TERMS, -1)
        series = (np.vander(a, TERMS, increasing=True) @ near).reshape(len(a), -1, columns)
        between = (centre[box] - centre[of]) / width
        sums[first:last] = np.einsum("ijk,ij->ik", series, np.exp(-0.5 * np.square(between + a[:, None])))
    return sums


def _blocks(box: NDArray[np.intp]) -> list[tuple[int, int, int]]:
    """Return runs of points in the same box: the first, the one after the last, and the box."""
    starts = np.flatnonzero(np.append(True, box[1:] != box[:-1]))
    found = []
    for first, last in zip(starts.tolist(), [*starts[1:].tolist(), len(box)], strict=True):
        found += [(at, min(at + BLOCK, last), int(box[first])) for at in range(first, last, BLOCK)]
    return found

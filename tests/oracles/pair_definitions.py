"""Slow forms of the metrics over pairs of scores and of those without bins: double sums, pieces between zeros, linear programs."""

import math
from itertools import pairwise

import numpy as np
from mpmath import mp, mpf
from scipy.optimize import brentq, linprog
from scipy.special import ndtr

from .cases import LENS, ONE_SCORE, option, together, turns
from .definitions import DIGITS, digits
from .parts import each_question


def pair_mean(question, width, factor):
    """Root of sum_ij f_i f_j exp(-|p_i - p_j| / width)."""
    with mp.workdps(DIGITS):
        rows = [(digits(p), digits(factor(p, y, w))) for p, y, w in question]
        total = mpf(0)
        for p, f in rows:
            for q, g in rows:
                total += f * g * mp.exp(-abs(p - q) / mpf(width))
        return mp.sqrt(max(total, mpf(0)))


def mmce(labels, probs, *, bandwidth=0.4, **options):
    def formula(question, importance):
        weight = sum(w for _, _, w in question)
        return pair_mean(question, bandwidth, lambda p, y, w: w * (y - p) / weight)

    return each_question(formula, labels, probs, **options)


def lkce(labels, probs, **options):
    return mmce(labels, probs, bandwidth=1.0, **options)


def mmce_w(labels, probs, *, bandwidth=0.4, normalisation="paper", **options):
    def formula(question, importance):
        if importance:
            # Only ratios of importance matter: weights of mean 1.
            mean = sum(w for _, _, w in question) / sum(1 for _, _, w in question if w)
            question = [(p, y, w / mean) for p, y, w in question]
        events = sum(w for _, y, w in question if y)
        others = sum(w for _, y, w in question if not y)
        if not events or not others:
            return mpf(0)
        if normalisation == "code":
            events, others = events**2, others**2
        return pair_mean(question, bandwidth, lambda p, y, w: w * (1 - p) / events if y else -w * p / others)

    return each_question(formula, labels, probs, **options)


def masses(question):
    weight = sum(w for _, _, w in question)
    return np.array([float(p) for p, _, _ in question]), np.array([float(w * (y - p) / weight) for p, y, w in question])


def smoothed(position, mass, width):
    """Integral of |sum of mass times reflected Gaussian|, piece by piece between its zeros."""
    if width >= 2.8:
        return abs(mass.sum())
    images = range(-math.ceil(9 * width / 2) - 2, math.ceil(9 * width / 2) + 3)
    centres = np.concatenate([sign * position + 2 * m for m in images for sign in (1, -1)])
    heights = np.tile(mass, 2 * len(images))

    def curve(t):
        return float(heights @ np.exp(-(((t - centres) / width) ** 2) / 2)) / width

    def area(t):
        return float(heights @ ndtr((t - centres) / width))

    grid = np.linspace(0, 1, 200 + int(16 / width))
    # One matrix for all grid points, in parts.
    values = np.concatenate(
        [
            np.exp(-(((part[:, None] - centres) / width) ** 2) / 2) @ heights
            for part in np.array_split(grid, 1 + len(grid) // 200)
        ]
    )
    # Far from all rows a narrow kernel, and so a product of two values, is 0 in double precision.
    seen = grid[np.flatnonzero(values)]
    turns = [brentq(curve, a, b) for a, b in pairwise(seen) if curve(a) * curve(b) < 0]
    return sum(abs(area(b) - area(a)) for a, b in pairwise([0.0, *turns, 1.0]))


def smece(labels, probs, *, bandwidth=None, kernel="probability", **options):
    def formula(question, importance):
        position, mass = masses(question)
        scale = 1.0
        if kernel == "logit":
            position = (
                np.log(np.clip(position, 0.001, 0.999) / (1 - np.clip(position, 0.001, 0.999))) / math.log(999) + 1
            ) / 2
            scale = 4 / (2 * math.log(999))
        if bandwidth is not None:
            return mpf(smoothed(position, mass, bandwidth * scale))
        # The error is at least the mean residual, at any width.
        low = max(abs(mass.sum()) * (1 - 1e-9), 1e-4 / scale)
        if low == 1e-4 / scale and smoothed(position, mass, 1e-4) < low:
            return mpf(smoothed(position, mass, 1e-4))
        return mpf(brentq(lambda s: smoothed(position, mass, s * scale) - s, low, 1.0 + 1e-9, xtol=1e-11))

    return each_question(formula, labels, probs, **options)


def smce(labels, probs, **options):
    """The linear program over all pairs of rows."""

    def formula(question, importance):
        position, mass = masses(question)
        n = len(position)
        first, second = (a.ravel() for a in np.meshgrid(range(n), range(n)))
        apart = first != second
        first, second = first[apart], second[apart]
        rows = np.zeros((len(first), n))
        rows[np.arange(len(first)), first] += 1
        rows[np.arange(len(first)), second] -= 1
        limits = np.abs(position[first] - position[second])
        bound = {"A_ub": rows, "b_ub": limits} if n > 1 else {}
        return mpf(max(0.0, -linprog(-mass, bounds=(-1, 1), **bound).fun))

    return each_question(formula, labels, probs, **options)


def dce_lower(labels, probs, *, grid=100, **options):
    """Masses of every row to every place, dense and without joining rows."""

    def formula(question, importance):
        position = np.array([float(p) for p, _, _ in question])
        outcome = np.array([float(y) for _, y, _ in question])
        weight = np.array([float(w) for _, _, w in question])
        weight /= weight.sum()
        places = np.unique(np.concatenate([[k / grid for k in range(grid + 1)], position]))
        n, m = len(position), len(places)
        moved, honest = np.zeros((n, n * m)), np.zeros((m, n * m))
        for i in range(n):
            moved[i, i * m : (i + 1) * m] = 1
            honest[range(m), range(i * m, (i + 1) * m)] = outcome[i] - places
        cost = np.abs(position[:, None] - places).ravel()
        found = linprog(cost, A_eq=np.vstack([moved, honest]), b_eq=np.concatenate([weight, np.zeros(m)]))
        return mpf(max(0.0, found.fun))

    return each_question(formula, labels, probs, **options)


BANDWIDTH = option("bandwidth", 0.4, 1.0, 0.05, 1e-4, 3.0)
OPTIONS = {
    "mmce": together(LENS, BANDWIDTH),
    "lkce": LENS,
    "mmce_w": together(LENS, BANDWIDTH, option("normalisation", "paper", "code", "code")),
    "smece": together(
        turns(ONE_SCORE),
        option("bandwidth", None, 0.05, None, 0.2, 1.0),
        option("kernel", "probability", "probability", "logit"),
        option("style", "smooth", "ties", "dyadic", "certain", "edges"),
    ),
    "smce": LENS,
    "dce_lower": together(turns(ONE_SCORE), option("grid", 10, 20, 7)),
}
# Quadrature and linear programs are solved in doubles.
TOLERANCES = {"smece": 1e-8, "smce": 1e-9, "dce_lower": 1e-7}

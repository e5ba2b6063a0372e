"""Slow, exact forms of the metrics over groups, features, cells of the simplex, and blocks of pooled neighbours."""

import math
from fractions import Fraction
from functools import cache
from itertools import groupby

import numpy as np
from mpmath import mp
from scipy.stats import binomtest

from .bin_definitions import simplex_cells
from .counts_of_bins import effective_size, partition
from .definitions import DIGITS, Undefined, cut_equal_mass, digits, nearest_double, questions, rows_of, vectors
from .parts import averaged, combined, each_question
from .vector_definitions import distance_of

# Distances that agree to twelve digits of the largest are equal.
SAME_DISTANCE = Fraction(1, 10**12)


def kept_rows(count, counts, sample_weight):
    """Numbers of the rows that weigh something."""
    weights = counts if counts is not None else sample_weight
    return [i for i in range(count) if weights is None or weights[i] > 0]


def error_of(question, cells):
    """Sum over cells of |sum of residuals|, over all weight."""
    gaps = [abs(sum(question[i][2] * (question[i][0] - question[i][1]) for i in members)) for members in cells]
    return sum(gaps) / sum(weight for _, _, weight in question)


def by_value(values):
    found = {}
    for i, value in enumerate(values):
        found.setdefault(value, []).append(i)
    return list(found.values())


def crossed(first, second):
    return [common for a in first for b in second if (common := [i for i in a if i in b])]


def over_rows(formula, labels, probs, *, counts=None, sample_weight=None, lens="auto"):
    rows = rows_of(labels, probs, counts, sample_weight)
    return combined([formula(question, sample_weight is not None) for question in questions(rows, lens)])


@averaged
def pce(labels, probs, *, groups, bins=15, binning="equal_width", partitions=None, partition_weight=None, **rest):
    kept = kept_rows(len(labels), rest.get("counts"), rest.get("sample_weight"))
    every = [[values[i] for i in kept] for values in [groups, *(partitions or [])]]
    weight = [Fraction(w) for w in partition_weight or [1] * len(every)]

    def partitioned(question, importance):
        errors = []
        for values in every:
            cells = by_value(values)
            if bins is not None:
                cells = crossed(cells, [members for members, _, _ in partition(question, importance, bins, binning)])
            errors.append(error_of(question, cells))
        return sum(w * error for w, error in zip(weight, errors, strict=True)) / sum(weight)

    return over_rows(partitioned, labels, probs, **rest)


def fece(labels, probs, *, groups, relative=False, eps=0.0, **rest):
    kept = kept_rows(len(labels), rest.get("counts"), rest.get("sample_weight"))
    cells = by_value([groups[i] for i in kept])

    def of_field(question, importance):
        if not relative:
            return error_of(question, cells)
        total, weights = Fraction(0), [weight for _, _, weight in question]
        unit = sum(weights) / effective_size(weights, importance)  # what a row weighs
        for members in cells:
            excess = abs(sum(question[i][2] * (question[i][0] - question[i][1]) for i in members))
            events = sum(question[i][2] * question[i][1] for i in members) + Fraction(eps) * unit
            if events == 0 and excess > 0:
                return math.inf
            total += sum(question[i][2] for i in members) * excess / events if events else 0
        return total / sum(weight for _, _, weight in question)

    return over_rows(of_field, labels, probs, **rest)


def equal_mass_cells(values, question, bins):
    return [members for members, _, _ in cut_equal_mass(values, [weight for _, _, weight in question], bins)]


def columns_of(features, kept):
    rows = [features[i] if isinstance(features[i], list) else [features[i]] for i in kept]
    return [[Fraction(row[j]) for row in rows] for j in range(len(rows[0]))]


@averaged
def vece(labels, probs, *, features, feature=0, bins=10, **rest):
    kept = kept_rows(len(labels), rest.get("counts"), rest.get("sample_weight"))
    values = columns_of(features, kept)[feature]
    return over_rows(lambda q, _: error_of(q, equal_mass_cells(values, q, bins)), labels, probs, **rest)


@averaged
def mvce(labels, probs, *, features, views=None, bins=10, rng=None, **rest):
    kept = kept_rows(len(labels), rest.get("counts"), rest.get("sample_weight"))
    columns = columns_of(features, kept)
    chosen = range(len(columns))
    if views is not None:  # the draw itself is part of what is promised
        chosen = np.random.default_rng(rng).integers(0, len(columns), views).tolist()

    def of_views(question, importance):
        errors = [error_of(question, equal_mass_cells(columns[c], question, bins)) for c in chosen]
        return sum(errors) / len(errors)

    return over_rows(of_views, labels, probs, **rest)


@averaged
def piece(
    labels,
    probs,
    *,
    features=None,
    bins=10,
    binning="equal_mass",
    proximity_bins=10,
    neighbours=10,
    proximity=None,
    **rest,
):
    kept = kept_rows(len(labels), rest.get("counts"), rest.get("sample_weight"))
    near = proximities(features, kept, neighbours) if proximity is None else [Fraction(proximity[i]) for i in kept]

    def informed(question, importance):
        score_cells = [members for members, _, _ in partition(question, importance, bins, binning)]
        return error_of(question, crossed(equal_mass_cells(near, question, proximity_bins), score_cells))

    return over_rows(informed, labels, probs, **rest)


def proximities(features, kept, neighbours):
    """A number for each row that falls with the mean distance to its nearest other rows; only its order matters."""
    rows = list(zip(*columns_of(features, kept), strict=True))
    k = min(neighbours, len(rows) - 1)
    if k == 0:
        return [Fraction(0)] * len(rows)
    far = []
    with mp.workdps(DIGITS):
        for i, row in enumerate(rows):
            squares = sorted(
                sum((a - b) ** 2 for a, b in zip(row, other, strict=True)) for j, other in enumerate(rows) if j != i
            )
            far.append(sum(mp.sqrt(digits(square)) for square in squares[:k]) / k)
        largest = max(far)
        if largest == 0:
            return [Fraction(0)] * len(rows)
        return [-Fraction(int(mp.nint(value / largest / digits(SAME_DISTANCE)))) for value in far]


@averaged
def multiclass_ce(
    labels, probs, *, bins=10, distance="tv", class_weight=None, counts=None, sample_weight=None, lens="canonical"
):
    values = []
    for seen, columns in vectors(rows_of(labels, probs, counts, sample_weight), lens):
        if columns is None:  # a remainder that completes the row to 1 is no coordinate
            columns = 1 if lens == "top_k:1" else 2
        rows = [(label, [nearest_double(p) for p in row], weight) for label, row, weight in seen]
        with mp.workdps(DIGITS):
            cells = simplex_cells([row[:columns] for _, row, _ in rows], bins)
            values.append(distance_of(rows, cells, distance, class_weight))
    return combined(values)


# Blocks of pooled neighbours.


@cache
def two_sided(successes, trials, chance):
    return binomtest(int(successes), int(trials), float(chance)).pvalue


@averaged
def tce(labels, probs, *, alpha=0.05, binning="pava", bins=10, min_block=10, max_block=1000, **rest):
    def rejected(question, importance):
        rows = [(score, outcome) for score, outcome, weight in sorted(question) for _ in range(int(weight))]
        if binning == "pava":
            blocks = pooled(rows, min_block, max_block)
        else:
            singles = [(score, outcome, Fraction(1)) for score, outcome in rows]
            cells = partition(singles, importance, bins, binning)
            blocks = [[rows[i] for i in members] for members, _, _ in cells]
        count = 0
        for block in blocks:
            ones = sum(outcome for _, outcome in block)
            count += sum(int(two_sided(ones, len(block), score) <= alpha) for score, _ in block)
        return Fraction(100 * count, len(rows))

    return each_question(rejected, labels, probs, **rest)


def pooled(rows, low, high):
    """Blocks of rows: pooled while small, or while rates do not rise and the size allows; the last rows are one block.

    Rows of one score are never parted.
    """
    if len(rows) <= low:
        raise Undefined("too few rows")
    blocks = []

    def rate(block):
        return Fraction(sum(outcome for _, outcome in block), len(block))

    ties = [list(tied) for _, tied in groupby(rows, key=lambda row: row[0])]
    last = []
    many = len(ties[-1]) > low
    while len(last) < low and not many:
        last = ties.pop() + last
    for tied in ties:
        blocks.append(tied)
        while len(blocks) > 1:
            size = len(blocks[-2]) + len(blocks[-1])
            if not (size <= low or (size <= high and rate(blocks[-2]) >= rate(blocks[-1]))):
                break
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    if last:
        blocks.append(last)
        if len(blocks) > 1 and 2 * low <= high:
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return blocks

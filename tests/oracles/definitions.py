"""Rows, lenses and bins of the metrics once more, slowly and exactly: Fractions of the given doubles, fifty digits where logarithms and roots enter.

Nothing here is shared with the package. Input is plain lists; `counts` and `sample_weight` are lists or None. Scores are
doubles: where one has to be made (1 - p for the other class of two, a sum of two probabilities) it is the double nearest to
the exact value, because that is the number which is compared with an edge.
"""

import struct
from fractions import Fraction
from itertools import pairwise

from mpmath import mpf

DIGITS = 50


class Undefined(Exception):
    """The definition gives no value here."""


def nearest_double(exact):
    return Fraction(float(exact))


def rows_of(labels, probs, counts=None, sample_weight=None):
    """Rows that weigh something, as (label, exact probabilities, exact weight)."""
    weights = counts if counts is not None else sample_weight
    rows = []
    for i in range(len(labels)):
        weight = Fraction(1) if weights is None else Fraction(weights[i])
        if isinstance(probs[i], list):
            row = [Fraction(value) for value in probs[i]]
        else:
            row = [nearest_double(1 - Fraction(probs[i])), Fraction(probs[i])]
        if weight > 0:
            rows.append((labels[i], row, weight))
    return rows


def complement(row, chosen):
    """1 minus the chosen entries. Near 1 it is the sum of the others, which hold the digits that are lost there, unless the row
    misses 1 by more than rounding. Singles are near 1 from 1 - 2^-20 on, doubles from 1 - 2^-10 on.
    """
    held, others = sum(row[k] for k in chosen), sum(row[k] for k in range(len(row)) if k not in chosen)
    rest = max(1 - held, Fraction(0))
    single = all(Fraction(struct.unpack("f", struct.pack("f", float(value)))[0]) == value for value in row)
    near, slack = (
        (1 - Fraction(1, 2**20), Fraction(1, 2**23)) if single else (1 - Fraction(1, 2**10), Fraction(1, 2**52))
    )
    return others if held > near and abs(rest - others) <= len(row) * slack else rest


def falling(row):
    """Classes from the most to the least probable; of equal ones the lowest first."""
    return sorted(range(len(row)), key=lambda k: (-row[k], k))


# Lenses: rows of whole vectors, or yes-or-no questions as lists of (score, outcome, weight).


def questions(rows, lens):
    classes = len(rows[0][1])
    if lens == "auto":
        lens = "binary" if classes == 2 else "top_label"
    name, _, detail = lens.partition(":")
    if name == "binary":
        return [[(row[1], label, weight) for label, row, weight in rows]]
    if name == "top_label":
        return questions(rows, "rank:1")
    if name == "classwise":
        return [question for k in range(classes) for question in questions(rows, f"class:{k}")]
    if name == "class":
        return [[(row[int(detail)], int(label == int(detail)), weight) for label, row, weight in rows]]
    if name == "ordinal":
        cuts = range(classes - 1) if not detail else [int(detail)]
        return [[(at_most(row, cut), int(label <= cut), weight) for label, row, weight in rows] for cut in cuts]
    if name == "rank":
        place = int(detail) - 1
        return [[(row[falling(row)[place]], int(falling(row)[place] == label), weight) for label, row, weight in rows]]
    if name == "within_top":
        first = int(detail)
        question = []
        for label, row, weight in rows:
            chosen = falling(row)[:first]
            score = min(nearest_double(sum(row[k] for k in chosen)), Fraction(1))
            question.append((score, int(label in chosen), weight))
        return [question]
    raise ValueError(lens)


def at_most(row, cut):
    """The probability of the classes up to `cut`: a sum of decimals is a decimal, though its terms were rounded to doubles."""
    exact = sum(row[: cut + 1])
    near = Fraction(round(exact * 10**15), 10**15)
    rounded = cut > 0 and abs(near - exact) <= Fraction(1, 2**52) * exact
    return min(nearest_double(near if rounded else exact), Fraction(1))


def vectors(rows, lens):
    """Whole vectors seen through a lens, and how many leading columns a k-d tree looks at; None where there is one score."""
    classes = len(rows[0][1])
    if lens == "canonical":
        return [(rows, classes)]
    if isinstance(lens, list):  # groups of classes
        merged = []
        for label, row, weight in rows:
            sums = [min(nearest_double(sum(row[k] for k in group)), Fraction(1)) for group in lens]
            merged.append((next(g for g in range(len(lens)) if label in lens[g]), sums, weight))
        return [(merged, len(lens))]
    if lens.startswith("top_k:"):
        first = int(lens.partition(":")[2])
        cut = []
        for label, row, weight in rows:
            order = falling(row)
            largest = [row[k] for k in order[:first]]
            rest = complement(row, order[:first])
            cut.append((min(order.index(label), first), [*largest, rest], weight))
        return [(cut, first if first > 1 else None)]
    return [
        (
            [
                (outcome, [complement(row, chosen(row)), score], weight)
                for (score, outcome, weight), (_, row, _) in zip(question, rows, strict=True)
            ],
            None,
        )
        for question, chosen in zip(questions(rows, lens), choices(classes, lens), strict=True)
    ]


def choices(classes, lens):
    """For each yes-or-no question of a lens, which classes of a row it speaks of."""
    name, _, detail = lens.partition(":")
    if lens in ("auto", "binary"):
        return [lambda row: [1]] if classes == 2 else choices(classes, "rank:1")
    if name == "class":
        return [lambda row: [int(detail)]]
    if name == "classwise":
        return [lambda row, k=k: [k] for k in range(classes)]
    if name == "ordinal":
        cuts = range(classes - 1) if not detail else [int(detail)]
        return [lambda row, cut=cut: list(range(cut + 1)) for cut in cuts]
    if name == "within_top":
        return [lambda row: falling(row)[: int(detail)]]
    place = 0 if name == "top_label" else int(detail) - 1
    return [lambda row: [falling(row)[place]]]


# Bins: lists of row numbers, empty bins left out, with the edges of each.


def cut(scores, weights, bins=15, binning="equal_width", closed="right"):
    """The non-empty bins in rising order, as (row numbers, low edge, high edge)."""
    if "levels" in (bins, binning):
        return cut_levels(scores)
    if binning == "equal_mass":
        return cut_equal_mass(scores, weights, bins)
    edges = [Fraction(m / bins) for m in range(bins + 1)] if isinstance(bins, int) else [Fraction(e) for e in bins]
    members = {}
    for i in range(len(scores)):
        if closed == "right":
            place = next(m for m in range(1, len(edges)) if scores[i] <= edges[m])
        else:
            place = max(m for m in range(1, len(edges)) if scores[i] >= edges[m - 1])
        members.setdefault(place, []).append(i)
    return [(members[m], edges[m - 1], edges[m]) for m in sorted(members)]


def cut_levels(scores):
    """One bin for each distinct score, with edges midway between neighbours."""
    levels = sorted(set(scores))
    edges = [Fraction(0), *((a + b) / 2 for a, b in pairwise(levels)), Fraction(1)]
    return [
        ([i for i in range(len(scores)) if scores[i] == level], edges[m], edges[m + 1])
        for m, level in enumerate(levels)
    ]


def cut_equal_mass(scores, weights, bins):
    """A tie group with weight C before it goes to bin floor(M C / W); a bin ends at its largest score, the last at 1."""
    total, before = sum(weights), Fraction(0)
    members = {}
    for value in sorted(set(scores)):
        group = [i for i in range(len(scores)) if scores[i] == value]
        members.setdefault(bins * before // total, []).extend(group)
        before += sum(weights[i] for i in group)
    result, low = [], Fraction(0)
    for place in sorted(members):
        high = max(scores[i] for i in members[place])
        result.append([members[place], low, high])
        low = high
    result[-1][2] = Fraction(1)
    return [tuple(entry) for entry in result]


def digits(value):
    return mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else mpf(value)

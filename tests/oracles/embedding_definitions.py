"""Slow forms of the kernel errors of whole distributions: double loops over rows, every weight and every pair written out."""

import math
from fractions import Fraction

import numpy as np

from .cases import option, together
from .definitions import Undefined, rows_of, vectors
from .parts import combined

MIDDLE = Fraction(1, 2) - Fraction(1, 10**6)


class Row:
    """A prediction in doubles, the residual of its label, and the exact weight."""

    def __init__(self, label, probs, weight, column):
        if len(probs) == 2:
            # Of two classes one column says it all, and the other is what is missing to 1.
            yes = float(probs[column])
            probs, label = [1 - yes, yes], int(label == column)
            self.point = [yes]
        else:
            probs = [float(value) for value in probs]
            self.point = probs
        self.residual = [(1.0 if k == label else 0.0) - probs[k] for k in range(len(probs))]
        self.weight = weight


def each_view(formula, labels, probs, *, lens="canonical", combine="mean", counts=None, sample_weight=None):
    """`formula` of the rows of each view and of how their weights are meant."""
    kind = "counts" if counts is not None else "importance" if sample_weight is not None else "unit"
    rows = rows_of(labels, probs, counts, sample_weight)
    values, prevalence = [], []
    for seen, _ in vectors(rows, lens):
        made = [Row(*row, column=0 if lens == "top_k:1" else 1) for row in seen]
        values.append(formula(made, kind))
        prevalence.append(sum(weight for label, _, weight in seen if label == 1))
    return combined(values, combine, None, prevalence)


def laid_out(rows, kind):
    """Counts as repeated rows of weight 1."""
    if kind != "counts":
        return rows
    return [row for row in rows for _ in range(int(row.weight))]


def length(a, b, distance):
    gaps = [abs(x - y) for x, y in zip(a.point, b.point, strict=True)]
    two = len(gaps) == 1
    if distance == "tv":
        return gaps[0] if two else math.fsum(gaps) / 2
    return math.sqrt(2) * gaps[0] if two else math.sqrt(math.fsum(gap * gap for gap in gaps))


def median_of(pairs):
    """The value with half of the weight on either side, the mean of two where the weight splits exactly between them."""
    pairs = sorted(pairs)
    total, path = sum(weight for _, weight in pairs), Fraction(0)
    for place, (value, weight) in enumerate(pairs):
        path += weight
        if 2 * path == total:
            return (value + pairs[place + 1][0]) / 2
        if 2 * path > total:
            return value
    raise AssertionError("no weight")


def kernel_of(rows, kind, kernel, distance, bandwidth):
    distance = {"auto": "tv" if kernel == "exponential" else "l2"}.get(distance, distance)
    width = bandwidth
    if bandwidth == "median":
        every = laid_out(rows, kind)
        weight = [row.weight if kind == "importance" else Fraction(1) for row in every]
        pairs = [
            (length(every[i], every[j], distance), weight[i] * weight[j])
            for i in range(len(every))
            for j in range(i + 1, len(every))
        ]
        if all(value == 0 for value, _ in pairs):
            return lambda a, b: 1.0
        width = median_of(pairs)
        if width == 0:
            total = float(sum(weight for _, weight in pairs))
            width = math.fsum(value * float(weight) for value, weight in pairs) / total

    def near(a, b):
        apart = length(a, b, distance) / width
        return math.exp(-apart if kernel == "exponential" else -apart * apart / 2)

    return near


def product(a, b):
    return math.fsum(x * y for x, y in zip(a.residual, b.residual, strict=True))


def how_of(options):
    defaults = {"kernel": "exponential", "distance": "auto", "bandwidth": "median"}
    how = {word: options.pop(word, default) for word, default in defaults.items()}
    return how, options


def skce_b(labels, probs, **options):
    how, rest = how_of(options)

    def biased(rows, kind):
        near = kernel_of(rows, kind, **how)
        total = sum(row.weight for row in rows)
        return math.fsum(float(a.weight * b.weight / total**2) * near(a, b) * product(a, b) for a in rows for b in rows)

    return each_view(biased, labels, probs, **rest)


def skce_uq(labels, probs, **options):
    how, rest = how_of(options)

    def unbiased(rows, kind):
        near = kernel_of(rows, kind, **how)
        every = laid_out(rows, kind)
        weight = [row.weight if kind == "importance" else Fraction(1) for row in every]
        pairs = [(i, j) for i in range(len(every)) for j in range(len(every)) if i != j]
        if not pairs:
            raise Undefined("one row")
        left = sum(weight[i] * weight[j] for i, j in pairs)
        terms = [
            float(weight[i] * weight[j] / left) * near(every[i], every[j]) * product(every[i], every[j])
            for i, j in pairs
        ]
        return math.fsum(terms)

    return each_view(unbiased, labels, probs, **rest)


def skce_ul(labels, probs, *, block=2, **options):
    how, rest = how_of(options)

    def linear(rows, kind):
        near = kernel_of(rows, kind, **how)
        blocks = [rows[start : start + block] for start in range(0, len(rows) - block + 1, block)]
        if not blocks:
            raise Undefined("too few rows")
        means = []
        for members in blocks:
            terms = [near(a, b) * product(a, b) for a in members for b in members if a is not b]
            means.append(math.fsum(terms) / len(terms))
        return math.fsum(means) / len(means)

    return each_view(linear, labels, probs, **rest)


def evenly_spaced(rows, count):
    """The rows in the middle of `count` equal parts of the weight, by largest probability, the next, ..., then the vector."""

    def key(row):
        return ([] if len(row.point) == 1 else sorted(row.point, reverse=True)), row.point

    ranked = sorted(rows, key=key)
    total, found = sum(row.weight for row in rows), []
    for part in range(count):
        wanted, path = (part + MIDDLE) / count * total, Fraction(0)
        for row in ranked:
            path += row.weight
            if path >= wanted:
                found.append(row)
                break
    return found


def ucme(labels, probs, *, locations=10, **options):
    how, rest = how_of(options)

    def embedding(rows, kind):
        near = kernel_of(rows, kind, **how)
        total = sum(row.weight for row in rows)
        classes = range(len(rows[0].residual))
        places = [(place, c) for place in evenly_spaced(rows, locations) for c in classes]
        sums = [
            math.fsum(float(row.weight / total) * near(place, row) * row.residual[c] for row in rows)
            for place, c in places
        ]
        return math.fsum(value * value for value in sums) / len(sums)

    return each_view(embedding, labels, probs, **rest)


def ckce(labels, probs, *, ridge=0.1, **options):
    """tr((G + N l)^-1 G (G + N l)^-1 H); real weights by a weighted ridge regression, in which G becomes sqrt(w) G sqrt(w)."""
    how, rest = how_of(options)

    def conditional(rows, kind):
        near = kernel_of(rows, kind, **how)
        every = laid_out(rows, kind)
        gram = np.array([[near(a, b) for b in every] for a in every])
        residuals = np.array([[product(a, b) for b in every] for a in every])
        n = len(every)
        if kind == "importance":
            total = sum(row.weight for row in every)
            root = np.sqrt([float(row.weight / total * n) for row in every])
            gram, residuals = gram * np.outer(root, root), residuals * np.outer(root, root)
        inverse = np.linalg.inv(gram + n * ridge * np.eye(n))
        return float(np.trace(inverse @ gram @ inverse @ residuals))

    return each_view(conditional, labels, probs, **rest)


KERNELS = (
    {},
    {"bandwidth": 0.3},
    {"kernel": "gaussian"},
    {"distance": "l2"},
    {"kernel": "gaussian", "distance": "l2", "bandwidth": 0.5},
    {"distance": "tv", "bandwidth": 2},
    {"distance": "l2", "bandwidth": 0.05},
)
LENSES = (
    {},
    {"lens": "binary"},
    {"lens": "top_label"},
    {},
    {"lens": "top_k:1"},
    {"lens": "classwise", "combine": "max"},
    {"lens": ["groups"]},
    {"lens": "class:1"},
    {"lens": "top_k:2"},
    {"lens": "classwise", "combine": "prevalence"},
    {"lens": "rank:2"},
)


def _options(number, rng):
    chosen = {**KERNELS[number % len(KERNELS)], **LENSES[number % len(LENSES)]}
    if chosen.get("lens") in ("top_k:2", "top_k:1") or isinstance(chosen.get("lens"), list):
        # A rest that is 0 up to rounding is another prediction than 0, and the median may be such a distance.
        chosen["style"] = ("smooth", "dyadic")[number % 2]
    return chosen


OPTIONS = {
    "skce_b": _options,
    "skce_uq": _options,
    "skce_ul": together(_options, option("block", 2, 2, 3, 5), option("weight_kinds", ("none",))),
    "ucme": together(_options, option("locations", 10, 1, 3, 25)),
    "ckce": together(_options, option("ridge", 0.01, 0.1, 1.0, 0.03)),
}
# The condition number of the ridge regression is the inverse of the ridge.
TOLERANCES = {"ckce": 1e-11}

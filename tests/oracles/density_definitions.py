"""Slow forms of the kernel density metrics: double loops over rows in fifty digits, and plain sums on the grid."""

import itertools
from fractions import Fraction

import numpy as np
from mpmath import mp

from .cases import LENS, option, together, turns
from .definitions import DIGITS, Undefined, digits, rows_of, vectors
from .kernel_definitions import size_of, width_by_rule
from .parts import combined, each_question

LOW = Fraction(1e-12)
WIDTHS = sorted([float(h) for h in np.logspace(-5, -1, 15)] + [float(h) for h in np.linspace(0.2, 1, 5)])


def inside(p):
    return min(max(p, LOW), 1 - LOW)


def kernel_table(rows, width):
    """Dirichlet densities: entry [i][j] is the one around row j at row i."""
    h = digits(Fraction(width))
    logs = [[mp.log(digits(inside(p))) for p in row] for _, row, _ in rows]
    shapes = [[digits(inside(p)) / h for p in row] for _, row, _ in rows]
    constants = [mp.loggamma(sum(s + 1 for s in row)) - sum(mp.loggamma(s + 1) for s in row) for row in shapes]
    return [
        [
            mp.exp(sum(a * s for a, s in zip(here, shape, strict=True)) + c)
            for shape, c in zip(shapes, constants, strict=True)
        ]
        for here in logs
    ]


def staying(rows, i, importance):
    """Weights of all rows when row i, or one copy of it, is left out."""
    weights = [weight for _, _, weight in rows]
    weights[i] = Fraction(0) if importance else weights[i] - 1
    return [digits(w) for w in weights]


def likeliest(rows, importance):
    best, chosen = None, None
    for width in WIDTHS:
        table = kernel_table(rows, width)
        score = mp.mpf(0)
        for i, (_, _, weight) in enumerate(rows):
            left = staying(rows, i, importance)
            score += digits(weight) * mp.log(sum(w * k for w, k in zip(left, table[i], strict=True)))
        if best is None or score > best + mp.mpf("1e-9") * abs(best):
            best, chosen = score, width
    return chosen


def check_company(rows, importance, least=2):
    if (len(rows) if importance else sum(weight for _, _, weight in rows)) < least:
        raise Undefined("nothing is left")


def left_out_means(rows, bandwidth, importance):
    """For each row the kernel mean of the labels of the others, as one number per class."""
    width = likeliest(rows, importance) if bandwidth == "likelihood" else bandwidth
    table = kernel_table(rows, width)
    classes = len(rows[0][1])
    for i in range(len(rows)):
        left = [w * k for w, k in zip(staying(rows, i, importance), table[i], strict=True)]
        yield [sum(v for v, row in zip(left, rows, strict=True) if row[0] == c) / sum(left) for c in range(classes)]


def bkde(labels, probs, *, bandwidth="likelihood", norm=1, scale=1.0, debiased=None, **rest):
    def of_question(question, importance):
        rows = [(y, [1 - p, p], w) for p, y, w in question]
        with mp.workdps(DIGITS):
            if debiased:
                return scale * ratio_debiased(rows, bandwidth, importance)
            check_company(rows, importance)
            total = sum(digits(w) for _, _, w in rows)
            means = left_out_means(rows, bandwidth, importance)
            parts = [digits(w) * abs(m[1] - digits(row[1])) ** norm for (_, row, w), m in zip(rows, means, strict=True)]
            return scale * sum(parts) / total

    return each_question(of_question, labels, probs, **rest)


def ratio_debiased(rows, bandwidth, importance):
    """Over pairs of different other rows or copies, one after the other."""
    check_company(rows, importance, 3)
    width = likeliest(rows, importance) if bandwidth == "likelihood" else bandwidth
    table = kernel_table(rows, width)
    value = mp.mpf(0)
    for i, (_, here, weight) in enumerate(rows):
        left = staying(rows, i, importance)
        pairs = event_pairs = mp.mpf(0)
        for a in range(len(rows)):
            for b in range(len(rows)):
                same = (mp.mpf(0) if importance else left[a] - 1) if a == b else left[b]
                term = left[a] * same * table[i][a] * table[i][b]
                pairs += term
                event_pairs += term * rows[a][0] * rows[b][0]
        plain = sum(w * k for w, k in zip(left, table[i], strict=True))
        events = sum(w * k * row[0] for w, k, row in zip(left, table[i], rows, strict=True))
        if pairs <= mp.mpf("1e-9") * plain**2:
            raise Undefined("one neighbour only")
        p = digits(here[1])
        value += digits(weight) * (event_pairs / pairs - 2 * p * events / plain + p * p)
    return value / sum(digits(w) for _, _, w in rows)


def dkde(labels, probs, *, bandwidth="likelihood", norm=1, counts=None, sample_weight=None, lens="canonical"):
    importance = sample_weight is not None
    values = []
    for rows, _ in vectors(rows_of(labels, probs, counts, sample_weight), lens):
        check_company(rows, importance)
        with mp.workdps(DIGITS):
            value = mp.mpf(0)
            for (_, row, w), mean in zip(rows, left_out_means(rows, bandwidth, importance), strict=True):
                value += digits(w) * sum(abs(m - digits(p)) ** norm for m, p in zip(mean, row, strict=True))
            values.append(value / sum(digits(w) for _, _, w in rows))
    return combined(values)


# Densities on the grid.

GRID = np.linspace(-0.6, 1.6, 16384)


def plain_spread(pairs):
    """ddof = 0."""
    total = sum(w for _, w in pairs)
    mean = sum(w * p for p, w in pairs) / total
    return mp.sqrt(digits(sum(w * (p - mean) ** 2 for p, w in pairs) / total))


def grid_density(pairs, width, binned=True):
    """Triweight kernels around the scores and their images, each moved to its two neighbours on the grid."""
    total = float(sum(w for _, w in pairs))
    step = GRID[1] - GRID[0]
    density = np.zeros(len(GRID))
    for p, w in pairs:
        for place in (float(p), -float(p) if p < Fraction(1, 2) else 2 - float(p)):
            node = int((place - GRID[0]) // step)
            part = (place - GRID[0]) / step - node
            for at, share in [(GRID[node], 1 - part), (GRID[node + 1], part)] if binned else [(place, 1.0)]:
                u = (GRID - at) / (3 * width)
                density += (
                    share * float(w) / total * np.where(np.abs(u) <= 1, (35 / 32) * (1 - u * u) ** 3, 0) / (3 * width)
                )
    return density


def skde(labels, probs, *, bandwidth="reference", norm=1, binned=True, **rest):
    def of_question(question, importance):
        total = sum(w for _, _, w in question)
        events = [(p, w) for p, y, w in question if y]
        with mp.workdps(DIGITS):
            width = bandwidth
            if bandwidth == "normal_rule":
                width = float(width_by_rule(question, "scott", importance))
            elif bandwidth == "reference":
                spread = plain_spread(events) if events else 0
                spread = spread or plain_spread([(p, w) for p, _, w in question])
                width = float(spread / mp.root(2 * digits(size_of(question, importance)), 5))
        share = sum(w for _, w in events) / total
        if width == 0:
            return abs(share - question[0][0]) ** norm
        every = grid_density([(p, w) for p, _, w in question], width, binned)
        some = grid_density(events, width, binned) if events else np.zeros(len(GRID))
        above = below = 0.0
        terms = []
        for t, f, f1 in zip(GRID.tolist(), every.tolist(), some.tolist(), strict=True):
            if 0 <= t <= 1:
                far = abs(t - min(float(share) * f1 / f, 1)) ** norm * f if max(f, f1) > 1e-6 else 0.0
                terms.append((far, f))
        for (a, f), (b, g) in itertools.pairwise(terms):
            above, below = above + (a + b) / 2, below + (f + g) / 2
        return above / below

    return each_question(of_question, labels, probs, **rest)


WIDTH = option("bandwidth", 0.1, "likelihood", 0.5, 0.03, 1, 0.1, 0.005)


def _beta(number, rng):
    options = together(LENS, WIDTH, option("norm", 1, 2))(number, rng)
    if number % 6 == 1:
        options |= {"debiased": "ratio", "scale": 2.0, "style": "smooth", "bandwidth": 0.2}
    return options


OPTIONS = {
    "bkde": _beta,
    "dkde": together(
        turns([{}, {}, {"lens": "top_label"}, {}, {"lens": "top_k:2"}]), WIDTH, option("norm", 1, 2, every=2)
    ),
    "skde": together(
        LENS,
        option("norm", 1, 2),
        option("style", "smooth", "ties", "dyadic"),
        option("bandwidth", "reference", "normal_rule", 0.1, 0.02, 0.5),
    ),
}
# A bandwidth of 1e-5 makes logarithms of kernels of a million, and each loses six digits.
TOLERANCES = {"bkde": 1e-8, "dkde": 1e-8, "skde": 1e-9}

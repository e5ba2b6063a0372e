"""Slow, exact forms of the metrics that read the whole vector: point metrics, variation calibration, the generalised error."""

import zlib
from fractions import Fraction

import numpy as np
from mpmath import mp, mpf

from .definitions import DIGITS, cut, digits, falling, nearest_double, rows_of, vectors
from .parts import rooted

# Entropies reach an edge such as 1/2 only up to the last of the fifty digits.
SAME_ENTROPY = Fraction(1, 10**40)
# Variances this close are a tie of the k-d tree's coordinates: (p, 1 - p) are two equally spread columns, up to rounding.
SAME_VARIANCE = Fraction(1, 10**9)


def mean_over_rows(formula, labels, probs, *, counts=None, sample_weight=None, lens="canonical"):
    """Weighted mean of one number per row; infinite where a row with weight is."""
    every = []
    for rows, _ in vectors(rows_of(labels, probs, counts, sample_weight), lens):
        with mp.workdps(DIGITS):
            terms = [(formula(label, row), weight) for label, row, weight in rows]
            if any(term == mp.inf for term, _ in terms):
                every.append(mp.inf)
            else:
                every.append(sum(digits(weight) * digits(term) for term, weight in terms))
                every[-1] /= digits(sum(weight for _, _, weight in rows))
    return sum(every) / len(every)


def log(value):
    return mp.log(digits(value)) if value > 0 else -mp.inf


def brier(labels, probs, *, scale="auto", **rest):
    def squares(label, row):
        total = sum((row[k] - (1 if k == label else 0)) ** 2 for k in range(len(row)))
        halves = {"auto": len(row) == 2, "half": True}.get(scale, False)
        return total / 2 if halves else total / len(row) if scale == "per_class" else total

    return mean_over_rows(squares, labels, probs, **rest)


def root_brier(labels, probs, **options):
    with mp.workdps(DIGITS):
        return mp.sqrt(brier(labels, probs, **options))


def nll(labels, probs, *, floor=None, base=None, **rest):
    def loss(label, row):
        value = row[label] if floor is None else max(row[label], Fraction(floor))
        return -log(value) / (1 if base is None else log(Fraction(base)))

    return mean_over_rows(loss, labels, probs, **rest)


def ecd(labels, probs, *, multiclass="full", **rest):
    def full(label, row):
        return sum(digits(p) * log(p) for p in row if p > 0) - log(row[label])

    def true_vs_rest(label, row):
        p = row[label]
        return mpf(0) if p == 1 else digits(p - 1) * (log(p) - log(1 - p))

    return mean_over_rows(full if multiclass == "full" else true_vs_rest, labels, probs, **rest)


def mdca(labels, probs, *, counts=None, sample_weight=None):
    rows = rows_of(labels, probs, counts, sample_weight)
    total, classes = sum(weight for _, _, weight in rows), len(rows[0][1])
    gaps = [sum(w * (row[k] - int(label == k)) for label, row, w in rows) / total for k in range(classes)]
    return sum(abs(gap) for gap in gaps) / classes


# Binned metrics of the whole vector.


def entropy(q):
    with mp.workdps(DIGITS):
        return -sum((digits(p) * log(p) for p in q if p > 0), mpf(0)) / mp.log(len(q))


# Wilcox's indices from the frequencies f of K categories with sum N, as he writes them.


def wilcox_ratio(f):
    return 1 - sum(max(f) - each for each in f) / (sum(f) * Fraction(len(f) - 1))


def average_deviation(f):
    mean = sum(f) / Fraction(len(f))
    return 1 - sum(abs(each - mean) for each in f) / (2 * mean * (len(f) - 1))


def mean_difference(f):
    pairs = [(i, j) for i in range(len(f)) for j in range(i + 1, len(f))]
    return 1 - sum(abs(f[i] - f[j]) for i, j in pairs) / (sum(f) * Fraction(len(f) - 1))


def variance_analog(f):
    total, k = sum(f), len(f)
    return 1 - sum((each - total / Fraction(k)) ** 2 for each in f) / (total**2 * Fraction(k - 1, k))


def standard_deviation(f):
    total, k = sum(f), Fraction(len(f))
    most = (total - total / k) ** 2 + (k - 1) * (total / k) ** 2
    with mp.workdps(DIGITS):
        return 1 - mp.sqrt(digits(sum((each - total / k) ** 2 for each in f) / most))


VARIATIONS = {
    "entropy": entropy,
    "hrel": entropy,
    "wilcox_variation_ratio": wilcox_ratio,
    "avdev": average_deviation,
    "mndif": mean_difference,
    "varnc": variance_analog,
    "stdev": standard_deviation,
    "confidence": lambda q: q[0],
    "freeman_variation_ratio": lambda q: 1 - max(q),
    "gini": lambda q: 1 - sum(p * p for p in q),
    "iqv": lambda q: Fraction(len(q), len(q) - 1) * (1 - sum(p * p for p in q)),
}


def as_score(value, bins):
    """A number in [0, 1] as a Fraction; an entropy within its last digits of an edge is on the edge."""
    if isinstance(value, Fraction):
        return nearest_double(value)
    digits_of, exponent = value.man_exp
    exact = Fraction(int(digits_of)) * Fraction(2) ** exponent
    edges = [Fraction(m / bins) for m in range(bins + 1)] if isinstance(bins, int) else [Fraction(e) for e in bins]
    return next((edge for edge in edges if abs(exact - edge) < SAME_ENTROPY * edge), exact)


def ranked_rows(labels, probs, counts, sample_weight):
    """Rows as (probabilities in falling order, one-hot of the true class's rank, weight)."""
    result = []
    for label, row, weight in rows_of(labels, probs, counts, sample_weight):
        order = falling(row)
        result.append(([row[k] for k in order], [Fraction(int(k == label)) for k in order], weight))
    return result


def mean_vector(rows, members, part):
    weight = sum(rows[i][2] for i in members)
    return [sum(rows[i][2] * rows[i][part][k] for i in members) / weight for k in range(len(rows[0][part]))]


def vce(labels, probs, *, counts=None, sample_weight=None, variation="entropy", bins=10, binning="equal_width", norm=1):
    rows = ranked_rows(labels, probs, counts, sample_weight)
    measure, weights = VARIATIONS[variation], [weight for _, _, weight in rows]
    keys = [as_score(measure(stated), bins) for stated, _, _ in rows]
    with mp.workdps(DIGITS):
        terms = []
        for members, _, _ in cut(keys, weights, bins, binning):
            gap = abs(digits(measure(mean_vector(rows, members, 1))) - digits(measure(mean_vector(rows, members, 0))))
            terms.append((digits(sum(weights[i] for i in members) / sum(weights)), gap))
        if norm == "inf":
            return max(gap for _, gap in terms)
        return rooted(sum(share * gap**norm for share, gap in terms), norm)


def vce_db(
    labels,
    probs,
    *,
    counts=None,
    sample_weight=None,
    variation="entropy",
    bins=10,
    binning="equal_width",
    n_draws=100,
    rng=0,
):
    rows = ranked_rows(labels, probs, counts, sample_weight)
    if counts is not None:
        rows = [(stated, seen, Fraction(1)) for stated, seen, weight in rows for _ in range(int(weight))]
    heavy = sorted({weight for _, _, weight in rows})
    place = [float(heavy.index(weight)) if sample_weight is not None else 0.0 for _, _, weight in rows]
    order = sorted(range(len(rows)), key=lambda i: [*(round(float(v), 12) for v in rows[i][0]), place[i]])
    rows = [rows[i] for i in order]
    measure, weights = VARIATIONS[variation], [weight for _, _, weight in rows]
    # The seed depends on the probabilities, so that the error of the simulation differs between data sets.
    cumulative = np.cumsum([[float(value) for value in row[0]] for row in rows], axis=1)[:, :-1]
    marks = (np.minimum(cumulative, 1) + np.arange(len(rows))[:, None]).ravel()
    generator = np.random.default_rng([rng, zlib.crc32(np.round(marks, 6).tobytes())])
    draws = []
    for _ in range(n_draws):
        ranks = [rank_of(u, row[0]) for u, row in zip(generator.random(len(rows)), rows, strict=True)]
        draws.append(
            [
                (None, [Fraction(int(k == r)) for k in range(len(rows[0][0]))], row[2])
                for r, row in zip(ranks, rows, strict=True)
            ]
        )
    total = mpf(0)
    with mp.workdps(DIGITS):
        for members, _, _ in cut([as_score(measure(row[0]), bins) for row in rows], weights, bins, binning):
            observed = digits(measure(mean_vector(rows, members, 1)))
            null = [digits(measure(mean_vector(drawn, members, 1))) for drawn in draws]
            mean = sum(null) / n_draws
            variance = sum((value - mean) ** 2 for value in null) / (n_draws - 1)
            share = digits(sum(weights[i] for i in members) / sum(weights))
            total += share * ((observed - mean) ** 2 - variance - variance / n_draws)
    return total


def rank_of(u, probs):
    """The first rank whose cumulative probability exceeds u, the last one if none does."""
    reached = Fraction(0)
    for rank, p in enumerate(probs):
        reached += p
        if Fraction(float(u)) < reached:
            return rank
    return len(probs) - 1


def uce(labels, probs, *, counts=None, sample_weight=None, bins=10, binning="equal_width"):
    rows = ranked_rows(labels, probs, counts, sample_weight)
    weights = [weight for _, _, weight in rows]
    entropies = [entropy(stated) for stated, _, _ in rows]
    with mp.workdps(DIGITS):
        total = mpf(0)
        for members, _, _ in cut([as_score(value, bins) for value in entropies], weights, bins, binning):
            total += abs(sum(digits(weights[i]) * (digits(1 - rows[i][1][0]) - entropies[i]) for i in members))
        return total / digits(sum(weights))


def tree_cells(rows, columns, gamma, min_size, counted):
    """Cells of the k-d tree: split the most spread coordinate at its weighted median while a cell holds more than gamma.

    Where too few rows are below the median, the rows up to and including it are one part; where that fails too, the next coordinate is tried.
    Which cell is split first does not matter: whether one is split depends on nothing outside it.
    """
    total = sum(weight for _, _, weight in rows)
    limit = Fraction(str(gamma)) * total

    def size(members):
        return sum(rows[i][2] for i in members) if counted else len(members)

    def split(members):
        weight = sum(rows[i][2] for i in members)
        if weight <= limit:
            return [members]
        variances = []
        for k in range(columns):
            mean = sum(rows[i][2] * rows[i][1][k] for i in members) / weight
            variances.append(sum(rows[i][2] * (rows[i][1][k] - mean) ** 2 for i in members) / weight)
        untried = list(range(columns))
        while untried:
            widest = max(variances[k] for k in untried)
            axis = next(k for k in untried if variances[k] >= widest * (1 - SAME_VARIANCE))
            untried.remove(axis)
            median = weighted_median([(rows[i][1][axis], rows[i][2]) for i in members])
            under = [i for i in members if rows[i][1][axis] < median]
            upper = min(rows[i][1][axis] for i in members if rows[i][1][axis] >= median)
            up_to = [i for i in members if rows[i][1][axis] <= upper]
            for left in (under, up_to):
                right = [i for i in members if i not in set(left)]
                if size(left) >= min_size and size(right) >= min_size:
                    return split(left) + split(right)
        return [members]

    return split(list(range(len(rows))))


def weighted_median(pairs):
    """The middle value, or the mean of the two middle ones where the weight divides evenly between them."""
    half, reached = sum(weight for _, weight in pairs) / 2, Fraction(0)
    ordered = sorted(pairs)
    for i in range(len(ordered)):
        reached += ordered[i][1]
        if reached == half:
            return (ordered[i][0] + ordered[i + 1][0]) / 2
        if reached > half:
            return ordered[i][0]
    raise AssertionError("a median is always reached")


def mean_absolute_deviation(chances):
    """E|S - E S| of a sum S of independent Bernoulli variables, from its distribution."""
    with mp.workdps(DIGITS):
        reached = [mpf(1)]
        for p in chances:
            p = digits(p)
            reached = [
                (reached[s] * (1 - p) if s < len(reached) else 0) + (reached[s - 1] * p if s else 0)
                for s in range(len(reached) + 1)
            ]
        mean = sum(map(digits, chances), mpf(0))
        return sum(abs(s - mean) * chance for s, chance in enumerate(reached))


def cells_of(seen, columns, lens, bins, gamma, min_size, counted):
    """Rows of each cell: of bins of the one score of a lens, or of the tree."""
    if columns is not None:
        return tree_cells(seen, columns, gamma, min_size, counted)
    column = 0 if isinstance(lens, str) and lens.startswith("top_k") else 1
    return [members for members, _, _ in cut([row[column] for _, row, _ in seen], [w for _, _, w in seen], bins)]


def distance_of(seen, cells, distance, class_weight):
    """Sum over cells of the distance between the mean vectors of probabilities and labels, by their share of the weight."""
    total, value = sum(weight for _, _, weight in seen), mpf(0)
    for members in cells:
        gaps = [
            sum(seen[i][2] * (seen[i][1][k] - int(seen[i][0] == k)) for i in members) / total
            for k in range(len(seen[0][1]))
        ]
        if distance == "l2":
            scales = [Fraction(w) for w in class_weight or [1] * len(gaps)]
            value += mp.sqrt(digits(sum(w * gap * gap for w, gap in zip(scales, gaps, strict=True))))
        else:
            value += digits(sum(abs(gap) for gap in gaps)) / (2 if distance == "tv" else 1)
    return value


def gece(labels, probs, *, counts=None, sample_weight=None, lens="canonical", distance="tv", bins=15, gamma=0.1,
         min_size=10, class_weight=None, debiased=False):  # fmt: skip
    values, chances = [], []
    for seen, columns in vectors(rows_of(labels, probs, counts, sample_weight), lens):
        cells = cells_of(seen, columns, lens, bins, gamma, min_size, counts is not None)
        with mp.workdps(DIGITS):
            values.append(distance_of(seen, cells, distance, class_weight))
        if debiased:
            total = mpf(0)
            for members in cells:
                for k in range(len(seen[0][1])):
                    total += mean_absolute_deviation([seen[i][1][k] for i in members for _ in range(int(seen[i][2]))])
            rows = digits(sum(weight for _, _, weight in seen))
            with mp.workdps(DIGITS):
                chances.append(total / rows / (2 if distance == "tv" else 1))
    error = sum(values) / len(values)
    return error - sum(chances) / len(chances) if debiased else error


def gece_db(labels, probs, **options):
    return gece(labels, probs, debiased=True, **options)

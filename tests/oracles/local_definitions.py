"""Slow forms of the metrics that look at rows near each other: double loops over rows, counts written out as rows."""

import math

import numpy as np
from scipy.stats import chi2, ncx2

from .cases import GROUP_LENSES, ROWS_OR_COUNTS, draw_features, draw_numbers, option, together, turns
from .counts_of_bins import partition
from .definitions import Undefined, rows_of, vectors
from .group_definitions import kept_rows
from .parts import averaged, combined, each_question

SAME_DISTANCE = 1e-12
HALF = 1e-9


def feature_rows(features, counts, sample_weight):
    """Features of the rows that weigh something, as lists."""
    kept = kept_rows(len(features), counts, sample_weight)
    return [features[i] if isinstance(features[i], list) else [features[i]] for i in kept]


def seen_vectors(labels, probs, counts, sample_weight, lens):
    """For each question the rows as (label, probabilities, weight) in doubles."""
    every = vectors(rows_of(labels, probs, counts, sample_weight), lens)
    return [[(label, [float(p) for p in row], float(w)) for label, row, w in rows] for rows, _ in every]


def residuals(label, row):
    """Label minus probability of each class; of the second alone where there are two."""
    found = [int(label == k) - p for k, p in enumerate(row)]
    return found[1:] if len(row) == 2 else found


def forecast(row):
    return row[1:] if len(row) == 2 else row


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def repeated(rows, extra):
    """Rows of whole weight w as w rows of weight 1."""
    return [(r, x) for r, x in zip(rows, extra, strict=True) for _ in range(int(r[2]))]


def scaled_columns(features, weights):
    """Each column less its mean over its standard deviation; constant columns left out."""
    total = math.fsum(weights)
    columns = []
    for column in zip(*features, strict=True):
        if max(column) > min(column):
            mean = math.fsum(w * x for w, x in zip(weights, column, strict=True)) / total
            spread = math.sqrt(math.fsum(w * (x - mean) ** 2 for w, x in zip(weights, column, strict=True)) / total)
            columns.append([(x - mean) / spread for x in column])
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in features]


def median_width(features, weights):
    pairs = sorted(
        (math.dist(features[i], features[j]), weights[i] * weights[j]) for j in range(len(features)) for i in range(j)
    )
    total, reached = math.fsum(w for _, w in pairs), 0.0
    for number, (distance, weight) in enumerate(pairs):
        reached += weight
        if reached >= total / 2 * (1 - HALF):
            even = reached <= total / 2 * (1 + HALF) and number + 1 < len(pairs)
            middle = (distance + pairs[number + 1][0]) / 2 if even else distance
            break
    return middle or math.fsum(d * w for d, w in pairs) / total or 1.0


def klce(
    labels,
    probs,
    *,
    features,
    bandwidth="median",
    score_bandwidth=0.1,
    standardise=None,
    normalised=False,
    counts=None,
    sample_weight=None,
    lens="canonical",
):
    beside = feature_rows(features, counts, sample_weight)
    values = []
    for rows in seen_vectors(labels, probs, counts, sample_weight, lens):
        joint = list(zip(rows, beside, strict=True)) if sample_weight is not None else repeated(rows, beside)
        if len(joint) < 2:
            raise Undefined("one row")
        weights = [row[2] if sample_weight is not None else 1.0 for row, _ in joint]
        places = [x for _, x in joint]
        if standardise or (standardise is None and bandwidth == "median"):
            places = scaled_columns(places, weights)
        width = bandwidth
        if isinstance(bandwidth, str):
            width = median_width(places, weights) if bandwidth == "median" else 0.1
        score_width = 0.1 if bandwidth == "kite" else score_bandwidth
        terms, kernels = [], []
        for i, (one, _) in enumerate(joint):
            for j, (other, _) in enumerate(joint):
                near = math.exp(-((math.dist(forecast(one[1]), forecast(other[1])) / score_width) ** 2))
                near *= math.exp(-((math.dist(places[i], places[j]) / width) ** 2))
                kernels.append(weights[i] * weights[j] * near)
                if i != j:
                    terms.append(kernels[-1] * dot(residuals(*one[:2]), residuals(*other[:2])))
        pairs = math.fsum(weights) ** 2 - math.fsum(w * w for w in weights)
        scale = math.fsum(weights) ** 2 / math.fsum(kernels) if normalised else 1.0
        values.append(math.fsum(terms) / pairs * scale)
    return combined(values)


def places_shared(distances, k):
    """How much of a place each has among the k nearest: ties for the last places share them."""
    last = sorted(distances)[k - 1]
    inside = [d < last * (1 - SAME_DISTANCE) for d in distances]
    edge = [not near and d <= last * (1 + SAME_DISTANCE) for d, near in zip(distances, inside, strict=True)]
    share = (k - sum(inside)) / sum(edge)
    return [1.0 if near else share if tied else 0.0 for near, tied in zip(inside, edge, strict=True)]


def ecmmd(
    labels,
    probs,
    *,
    neighbours=None,
    space="prediction",
    features=None,
    counts=None,
    sample_weight=None,
    lens="canonical",
):
    kept = kept_rows(len(labels), counts, sample_weight)
    beside = feature_rows(features, counts, sample_weight) if features is not None else [None] * len(kept)
    values = []
    for rows in seen_vectors(labels, probs, counts, sample_weight, lens):
        joint = repeated(rows, beside)
        n = len(joint)
        if n < 2:
            raise Undefined("one row")
        k = min(max(5, round(math.sqrt(n))) if neighbours is None else neighbours, n - 1)
        places = [x if space == "features" else forecast(row[1]) for row, x in joint]
        errors = [residuals(*row[:2]) for row, _ in joint]
        terms = []
        for i in range(n):
            others = [j for j in range(n) if j != i]
            shares = places_shared([math.dist(places[i], places[j]) for j in others], k)
            terms += [share * dot(errors[i], errors[j]) / k for j, share in zip(others, shares, strict=True) if share]
        values.append(math.fsum(terms) / n)
    return combined(values)


def local_errors(question, importance, features, bins, binning, bandwidth, standardise):
    weights = [float(w) for _, _, w in question]
    places = scaled_columns(features, weights) if standardise else features
    errors = [0.0] * len(question)
    for members, _, _ in partition(question, importance, bins, binning):
        for i in members:
            near = [
                weights[j] * math.exp(-sum(abs(a - b) for a, b in zip(places[i], places[j], strict=True)) / bandwidth)
                for j in members
            ]
            gaps = [float(question[j][0] - question[j][1]) for j in members]
            errors[i] = abs(dot(near, gaps)) / math.fsum(near)
    return errors, weights


@averaged
def lce(
    labels, probs, *, features, bins=15, binning="equal_width", bandwidth=1.0, standardise=True, largest=False, **rest
):
    beside = feature_rows(features, rest.get("counts"), rest.get("sample_weight"))

    def local(question, importance):
        errors, weights = local_errors(question, importance, beside, bins, binning, bandwidth, standardise)
        return max(errors) if largest else dot(errors, weights) / math.fsum(weights)

    return each_question(local, labels, probs, **rest)


def mlce(labels, probs, **options):
    return lce(labels, probs, largest=True, **options)


# Tests around anchors.


def centres(rows, count):
    """k-means from rows far apart: the first farthest from the mean, each other farthest from those before it."""
    distinct = sorted(set(map(tuple, rows)))
    if len(distinct) <= count:
        return distinct
    size = {row: rows.count(list(row)) for row in distinct}

    def mean(members):
        total = sum(size[row] for row in members)
        return tuple(math.fsum(size[row] * row[c] for row in members) / total for c in range(len(rows[0])))

    def farthest(chosen):
        far = [min(math.dist(row, other) for other in chosen) ** 2 for row in distinct]
        return next(row for row, d in zip(distinct, far, strict=True) if d >= max(far) * (1 - 1e-12))

    found = [farthest([mean(distinct)])]
    while len(found) < count:
        found.append(farthest(found))
    for _ in range(100):
        members = [[] for _ in found]
        for row in distinct:
            squares = [math.dist(row, centre) ** 2 for centre in found]
            members[next(c for c, d in enumerate(squares) if d <= min(squares) + 1e-12)].append(row)
        pairs = [(mean(near), centre) for near, centre in zip(members, found, strict=True) if near]
        found = [moved for moved, _ in pairs]
        if max(abs(a - b) for moved, centre in pairs for a, b in zip(moved, centre, strict=True)) <= 1e-4:
            break
    return found


def enough_neighbours(anchor, eps, power, alpha, most):
    truth = sorted(anchor, reverse=True)
    strengths = []
    for goal in (
        np.random.default_rng(0).dirichlet(np.ones(len(truth)), 256).tolist()
    ):  # the draw is part of the promise
        length = math.dist(goal, truth)
        way = [(g - t) / length for g, t in zip(goal, truth, strict=True)]
        step = min([eps, *(-t / w for t, w in zip(truth, way, strict=True) if w < 0)])
        strengths.append(sum((step * w) ** 2 / max(t, 1e-200) if w else 0.0 for t, w in zip(truth, way, strict=True)))
    df = len(truth) - 1
    for k in range(1, most):
        reach = np.minimum(k * np.minimum(strengths, 2000.0), 2000.0)
        if ncx2.sf(chi2.isf(alpha, df), df, reach).mean() >= power:
            return k
    return most


def chi_square(observed, expected, least):
    if any(o > 1e-12 and e == 0 for o, e in zip(observed, expected, strict=True)):
        return math.inf, 1
    cells = sorted((e, o) for o, e in zip(observed, expected, strict=True) if e > 0)
    rest = [0.0, 0.0]
    while cells and (cells[0][0] < least * (1 - 1e-12) or 0 < rest[0] < least * (1 - 1e-12)):
        rarest = cells[0][0]
        while cells and cells[0][0] <= rarest * (1 + 1e-12):
            e, o = cells.pop(0)
            rest = [rest[0] + e, rest[1] + o]
    cells += [tuple(rest)] if rest[0] > 0 else []
    return math.fsum((o - e) ** 2 / e for e, o in cells), len(cells) - 1


def knn_chi2(
    labels,
    probs,
    *,
    anchors=6,
    neighbours=None,
    eps=0.1,
    power=0.8,
    alpha=0.05,
    min_expected=5,
    counts=None,
    sample_weight=None,
    lens="canonical",
):
    values = []
    for rows in seen_vectors(labels, probs, counts, sample_weight, lens):
        every = [row for row in rows for _ in range(int(row[2]))]
        classes = len(every[0][1])
        chosen = centres([row for _, row, _ in every], anchors) if isinstance(anchors, int) else anchors
        found = []
        for anchor in chosen:
            k = enough_neighbours(anchor, eps, power, alpha, len(every)) if neighbours is None else neighbours
            k = min(k, len(every))
            shares = places_shared([math.dist(anchor, row) for _, row, _ in every], k)
            observed = [
                math.fsum(s for s, (label, _, _) in zip(shares, every, strict=True) if label == c)
                for c in range(classes)
            ]
            statistic, df = chi_square(observed, [k * q for q in anchor], min_expected)
            if df > 0:
                found.append((0.0 if statistic == math.inf else chi2.sf(statistic, df), -statistic))
        if not found:
            raise Undefined("no anchor has two classes")
        values.append(-min(found)[1])
    return combined(values)


FEATURES = (draw_features, draw_numbers)
VECTORS = turns([{}, {}, {"lens": "top_label"}, {}, {"lens": "class:1"}, {"lens": "classwise"}], 2)


def _ecmmd(number, rng):
    options = together(VECTORS, option("neighbours", None, 1, 2, 7, None, 30), turns([ROWS_OR_COUNTS]))(number, rng)
    if number % 3 == 1:
        options |= {"space": "features", "features": FEATURES[number // 3 % 2]}
    return options


LOCAL = together(
    turns(GROUP_LENSES, 2),
    turns(
        [
            {},
            {"bins": 1, "bandwidth": 0.3},
            {"bins": 4, "binning": "equal_mass"},
            {"standardise": False, "bandwidth": 5},
            {"bins": [2, 5], "standardise": False},
        ]
    ),
    option("features", *FEATURES, every=3),
)
OPTIONS = {
    "klce": together(
        VECTORS,
        turns(
            [
                {},
                {"bandwidth": 0.7},
                {"score_bandwidth": 0.4},
                {"bandwidth": "kite"},
                {"bandwidth": 2.0, "standardise": True},
                {"bandwidth": "median", "standardise": False},
                {"normalised": True},
            ]
        ),
        option("features", *FEATURES),
    ),
    "ecmmd": _ecmmd,
    "lce": LOCAL,
    "mlce": LOCAL,
    "knn_chi2": together(
        VECTORS,
        turns(
            [
                {"neighbours": 6, "min_expected": 1},
                {"anchors": 3, "eps": 0.5},
                {"min_expected": 0, "neighbours": 4},
                {"anchors": 2, "eps": 0.9, "min_expected": 0.5},
                {"eps": 0.7, "power": 0.5, "alpha": 0.2, "min_expected": 2},
            ]
        ),
        option("style", "smooth", "ties", "dyadic", "inner", every=2),
        turns([ROWS_OR_COUNTS]),
    ),
}
TOLERANCES = {"knn_chi2": 1e-9}

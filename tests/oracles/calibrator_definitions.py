"""Calibrators by their definitions, with plain loops in Fractions and with thirty digits: reference values of `calibrant validate`.

Each function takes labels, the probabilities of each row (of the second class alone where there are two), groups and features, and returns the calibrated
probabilities of each row, or of the first eight. They follow the docstrings of the calibrators; nothing of the package is imported.
"""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from mpmath import mp, mpf
from scipy.optimize import brentq, minimize, root
from scipy.special import log_softmax

from .curve_definitions import DIGITS, clipped_logs
from .definitions import cut_equal_mass, digits
from .fitted_definitions import RIDGE, laid_out, spline_rates

CLIP = Fraction(1, 10**12)
# The default of TopLabelHistogramBinning would give two classes of few rows one bin each.
POINTS, FOLDS, STRENGTH = 10, 4, 1.5
# Of MultiCalibration: few rows need small cells and a lenient test.
LEVELS, ALPHA, LEAST_ROWS = 3, 0.9, 5
# Of BoostedCalibration, without cross-validation.
ROUNDS = 3


def vectors(probs):
    """The probabilities of all classes of each row, as the doubles that they are."""
    return [[Fraction(q) for q in p] if isinstance(p, list) else [1 - Fraction(p), Fraction(p)] for p in probs]


def off_boundary(probs):
    """Probabilities of 0 and 1 replaced by half of the smallest distance of the others from 0 or 1, for logarithms."""
    rows = vectors(probs)
    distances = [min(q, 1 - q) for row in rows for q in row]
    if min(distances) >= CLIP:
        return rows
    half = min(distance for distance in distances if distance >= CLIP) / 2
    return [[min(max(q, half), 1 - half) for q in row] for row in rows]


def one_vs_rest(labels, probs, rates_of):
    """`rates_of` gives the rates of one binary problem, of (score, outcome, 1); several classes are divided by their sum."""
    rows = vectors(probs)
    if len(rows[0]) == 2:
        rates = rates_of([(row[1], label, Fraction(1)) for row, label in zip(rows, labels, strict=True)])
        return [[1 - digits(rate), digits(rate)] for rate in rates]
    columns = [
        rates_of([(row[c], int(label == c), Fraction(1)) for row, label in zip(rows, labels, strict=True)])
        for c in range(len(rows[0]))
    ]
    return [[digits(q) / digits(sum(map(digits, row))) for q in row] for row in zip(*columns, strict=True)]


# ---- logistic regression ---------------------------------------------------------------------------------------------


def regression(columns, targets, penalty):
    """Coefficients of least penalized log loss: Newton steps, halved where the loss would rise, until thirty digits hold."""
    size = len(columns[0])

    def loss(found):
        total = sum(price * c * c / 2 for price, c in zip(penalty, found, strict=True))
        for x, t in zip(columns, targets, strict=True):
            eta = mp.fdot(found, x)
            total += mp.log(1 + mp.exp(eta)) - t * eta
        return total

    found = [mpf(0)] * size
    for _ in range(100):
        slope, bend = mp.matrix(size, 1), mp.matrix(size, size)
        for i in range(size):
            slope[i], bend[i, i] = penalty[i] * found[i], mpf(penalty[i])
        for x, t in zip(columns, targets, strict=True):
            rate = 1 / (1 + mp.exp(-mp.fdot(found, x)))
            for i in range(size):
                slope[i] += (rate - t) * x[i]
                for j in range(size):
                    bend[i, j] += rate * (1 - rate) * x[i] * x[j]
        step, before = mp.lu_solve(bend, slope), loss(found)
        while max(map(abs, step)) > mpf(10) ** -22 and loss([c - s for c, s in zip(found, step, strict=True)]) > before:
            step /= 2
        found = [c - s for c, s in zip(found, step, strict=True)]
        if max(map(abs, step)) < mpf(10) ** -18:
            return found
    raise AssertionError("no minimum found")


def sigmoid(eta):
    return 1 / (1 + mp.exp(-eta))


def line(question, smoothed):
    """The logistic curve of the log-odds, as a function of the score; targets are smoothed as by Platt, or plain."""
    with mp.workdps(DIGITS):
        events = sum(outcome for _, outcome, _ in question)
        high, low = mpf(events + 1) / (events + 2), mpf(1) / (len(question) - events + 2)
        targets = [(high if y else low) if smoothed else mpf(y) for _, y, _ in question]
        columns = [[mpf(1), sum(clipped_logs(score))] for score, _, _ in question]
        intercept, slope = regression(columns, targets, [0, 0])
        return lambda score: sigmoid(intercept + slope * sum(clipped_logs(score)))


def platt_rates(question):
    curve = line(question, smoothed=True)
    return [curve(score) for score, _, _ in question]


def GroupCalibration(labels, probs, groups, **rest):
    """Platt scaling of the rows of each group alone."""
    found = [None] * len(labels)
    for group in set(groups):
        rows = [i for i, g in enumerate(groups) if g == group]
        part = one_vs_rest([labels[i] for i in rows], off_boundary([probs[i] for i in rows]), platt_rates)
        for i, row in zip(rows, part, strict=True):
            found[i] = row
    return found


def ChainedCalibration(labels, probs, **rest):
    """Platt scaling of the probabilities that Platt scaling gives."""
    first = one_vs_rest(labels, off_boundary(probs), platt_rates)
    return one_vs_rest(labels, [list(map(float, row)) for row in first], platt_rates)


def MultilabelCalibration(labels, probs, **rest):
    """Platt scaling of the probability of each class, as a label of its own."""
    rows = vectors(probs)
    columns = []
    for k in range(len(rows[0])):
        scores = off_boundary([float(row[k]) for row in rows])
        columns.append(
            platt_rates([(score, int(label == k), 1) for (_, score), label in zip(scores, labels, strict=True)])
        )
    return [list(row) for row in zip(*columns, strict=True)]


def LensCalibration(labels, probs, **rest):
    """Platt scaling of the event that the class is 1; the other classes share the rest in proportion."""
    rows = vectors(probs)
    rates = platt_rates([(row[1], int(label == 1), Fraction(1)) for row, label in zip(rows, labels, strict=True)])
    return [
        [rate if c == 1 else (1 - rate) * digits(p / (sum(row) - row[1])) for c, p in enumerate(row)]
        for row, rate in zip(rows, rates, strict=True)
    ]


def predicted(row):
    """The class of largest probability, the first of several."""
    return row.index(max(row))


def with_confidence(row, confidence):
    """The predicted class has this probability, at least 1 / K, and the others share the rest in proportion, none of them more than it has."""
    top, confidence = predicted(row), max(digits(confidence), mpf(1) / len(row))
    full = {top}
    while True:
        rest = 1 - len(full) * confidence
        free = sum(p for c, p in enumerate(row) if c not in full)
        even = Fraction(1, max(1, len(row) - len(full)))
        found = [confidence if c in full else rest * digits(p / free if free else even) for c, p in enumerate(row)]
        beyond = {c for c, q in enumerate(found) if q > confidence * (1 + mpf(10) ** -11)}
        if not beyond:
            return found
        full |= beyond


def by_predicted_class(labels, probs, rates_of):
    """`rates_of` gives the calibrated confidence of the rows in which a class is predicted."""
    rows = vectors(probs)
    found = [None] * len(rows)
    for c in range(len(rows[0])):
        own = [i for i, row in enumerate(rows) if predicted(row) == c]
        if own:
            rates = rates_of([(rows[i][c], int(labels[i] == c), Fraction(1)) for i in own])
            for i, rate in zip(own, rates, strict=True):
                found[i] = with_confidence(rows[i], rate)
    return found


# ---- bins ------------------------------------------------------------------------------------------------------------


def equal_mass(question, count):
    """Rows of each bin in rising order, and the edges midway between neighbouring scores of two bins, 0 and 1 at the ends."""
    scores = [score for score, _, _ in question]
    bins = [members for members, _, _ in cut_equal_mass(scores, [weight for _, _, weight in question], count)]
    inner = [(max(scores[i] for i in low) + min(scores[i] for i in high)) / 2 for low, high in pairwise(bins)]
    return bins, [Fraction(0), *inner, Fraction(1)]


def events_of(question, members):
    return sum(question[i][1] for i in members)


def TopLabelHistogramBinning(labels, probs, **rest):
    """The accuracy in bins of ten or more rows of each predicted class."""

    def rates(question):
        found = [None] * len(question)
        for members in equal_mass(question, max(1, len(question) // POINTS))[0]:
            for i in members:
                found[i] = Fraction(events_of(question, members), len(members))
        return found

    return by_predicted_class(labels, probs, rates)


def ScalingBinning(labels, probs, **rest):
    """The mean of a logistic curve in ten bins."""

    def rates(question):
        curve, found = line(question, smoothed=False), [None] * len(question)
        for members in equal_mass(question, 10)[0]:
            mean = sum(curve(question[i][0]) for i in members) / len(members)
            for i in members:
                found[i] = mean
        return found

    return one_vs_rest(labels, off_boundary(probs), rates)


def BayesianBinning(labels, probs, **rest):
    """Posterior means of all different histograms, weighted by their marginal likelihoods."""

    def rates(question):
        root = len(question) ** (1 / 3)
        models = {}
        for count in range(max(1, int(root / 10)), min(math.ceil(len(question) / 5), math.ceil(10 * root)) + 1):
            bins, edges = equal_mass(question, count)
            models[tuple(map(tuple, bins))] = edges
        total, sums = mpf(0), [mpf(0)] * len(question)
        for bins, edges in models.items():
            likelihood, means, each = mpf(1), [mpf(0)] * len(question), mpf(2) / len(bins)
            for members, low, high in zip(bins, edges[:-1], edges[1:], strict=True):
                k, n, middle = events_of(question, members), len(members), digits((low + high) / 2)
                yes, no = each * middle, each * (1 - middle)
                # Ratios of gamma functions whose arguments differ by whole numbers.
                likelihood *= mp.rf(yes, k) * mp.rf(no, n - k) / mp.rf(each, n)
                for i in members:
                    means[i] = (k + yes) / (n + each)
            total += likelihood
            sums = [s + likelihood * m for s, m in zip(sums, means, strict=True)]
        return [s / total for s in sums]

    return one_vs_rest(labels, probs, rates)


# ---- isotonic --------------------------------------------------------------------------------------------------------


def is_least(rates, weight, fit, penalty):
    """Whether a fit minimizes sum w (rate - fit)^2 / 2 + penalty * sum of its falls: the subgradient of each fall lies where it must."""
    force = Fraction(0)
    for i in range(len(fit) - 1):
        force += weight[i] * (rates[i] - fit[i])
        held = force == penalty if fit[i] > fit[i + 1] else force == 0 if fit[i] < fit[i + 1] else 0 <= force <= penalty
        if not held:
            return False
    return force + weight[-1] * (rates[-1] - fit[-1]) == 0


def near_isotonic_rates(question):
    """All fits at which blocks of the path join, each shown to be the minimum, weighted by their BIC."""
    scores = sorted({score for score, _, _ in question})
    weight = [Fraction(sum(s == score for s, _, _ in question)) for score in scores]
    events = [Fraction(sum(y for s, y, _ in question if s == score)) for score in scores]
    rates = [k / n for k, n in zip(events, weight, strict=True)]
    blocks, penalty, fits = [[i] for i in range(len(scores))], Fraction(0), []
    value = list(rates)
    while True:
        merged, heights = [blocks[0]], [value[0]]
        for block, height in zip(blocks[1:], value[1:], strict=True):
            if height == heights[-1]:
                merged[-1] = merged[-1] + block
            else:
                merged.append(block)
                heights.append(height)
        blocks, value = merged, heights
        fit = [height for block, height in zip(blocks, value, strict=True) for _ in block]
        assert is_least(rates, weight, fit, penalty)
        fits.append((fit, len(blocks)))
        falls = [False, *(a > b for a, b in pairwise(value)), False]
        if not any(falls):
            break
        speed = [
            Fraction(int(falls[b]) - int(falls[b + 1])) / sum(weight[i] for i in block)
            for b, block in enumerate(blocks)
        ]
        waits = [
            (value[b + 1] - value[b]) / (speed[b] - speed[b + 1])
            for b in range(len(blocks) - 1)
            if speed[b] != speed[b + 1] and (value[b + 1] - value[b]) / (speed[b] - speed[b + 1]) > 0
        ]
        penalty += min(waits)
        value = [height + s * min(waits) for height, s in zip(value, speed, strict=True)]
    shares = []
    for fit, count in fits:
        share = mpf(len(question)) ** (-mpf(count) / 2)
        for rate, k, n in zip(fit, events, weight, strict=True):
            p = digits(min(max(rate, CLIP), 1 - CLIP))
            share *= p ** int(k) * (1 - p) ** int(n - k)
        shares.append(share)
    mean = [
        sum(share * digits(fit[i]) for share, (fit, _) in zip(shares, fits, strict=True)) / sum(shares)
        for i in range(len(scores))
    ]
    return [mean[scores.index(score)] for score, _, _ in question]


def NearIsotonicEnsemble(labels, probs, **rest):
    return one_vs_rest(labels, probs, near_isotonic_rates)


def isotonic_rate(rows, score):
    """The largest over starts of the smallest over ends of the event rate in between, at one of the scores."""
    below, above = (sorted({s for s, _ in rows if (s <= score if up else s >= score)}) for up in (True, False))

    def mean(start, end):
        own = [y for s, y in rows if start <= s <= end]
        return Fraction(sum(own), len(own))

    return max(min(mean(start, end) for end in above) for start in below)


def CrossVennAbers(labels, probs, **rest):
    """Row i is in fold i mod 4; each fold answers with the isotonic rates with the row added as a non-event and as an event."""

    def rates(question):
        found = []
        for score, _, _ in question[:8]:
            logs = [mpf(0), mpf(0)]
            for fold in range(FOLDS):
                ends = [
                    digits(isotonic_rate([*((s, y) for s, y, _ in question[fold::FOLDS]), (score, outcome)], score))
                    for outcome in (0, 1)
                ]
                logs = [logs[0] + mp.log(1 - ends[0]), logs[1] + mp.log(ends[1])]
            other, event = (mp.exp(value / FOLDS) for value in logs)
            found.append(event / (other + event))
        return found

    return one_vs_rest(labels, probs, rates)


def SplineCalibration(labels, probs, **rest):
    return one_vs_rest(labels, probs, lambda question: spline_rates(6)(question, False))


# ---- logits ----------------------------------------------------------------------------------------------------------


def logs_of(probs):
    return [[mp.log(max(digits(p), mpf(10) ** -16)) for p in row] for row in vectors(probs)]


def softmax(z):
    top = max(z)
    total = sum(mp.exp(x - top) for x in z)
    return [mp.exp(x - top) / total for x in z]


def MiscalibrationAwareTemperature(labels, probs, **rest):
    """Both searches of the authors, over every value of their grids."""
    rows = [[float(x - sum(row) / len(row)) for x in row] for row in logs_of(probs)]
    classes = range(len(rows[0]))

    def top(row, temperatures):
        z = [x / t for x, t in zip(row, temperatures, strict=True)]
        return z.index(max(z)), 1 / math.fsum(math.exp(x - max(z)) for x in z)

    def error(temperatures):
        gaps = [[] for _ in range(15)]
        for row, label in zip(rows, labels, strict=True):
            best, confidence = top(row, temperatures)
            gaps[sum(confidence > m / 15 for m in range(1, 15))].append(confidence - (best == label))
        return math.fsum(abs(math.fsum(gap)) for gap in gaps) / len(rows)

    def first_least(values):
        return next(i for i, value in enumerate(values) if value <= min(values) + 1e-12)

    grid = [k / 100 for k in range(50, 200)]
    start = grid[first_least([error([t] * len(classes)) for t in grid])]
    gaps = [[] for _ in classes]
    for row, label in zip(rows, labels, strict=True):
        best, confidence = top(row, [start] * len(classes))
        gaps[label].append(confidence - (best == label))
    means = [math.fsum(gap) / len(gap) if gap else 0.0 for gap in gaps]
    ordered, last = sorted(means), len(means) - 1
    low, high = ((ordered[math.floor(q * last)] + ordered[math.ceil(q * last)]) / 2 for q in (0.25, 0.75))
    means = [min(max(m, low - 1.5 * (high - low)), high + 1.5 * (high - low)) for m in means]
    every = [[start * (1 + k / 1000 * m) for m in means] for k in range(-2000, 2000)]
    usable = [temperatures for temperatures in every if min(temperatures) > 0]
    chosen = usable[first_least([error(temperatures) for temperatures in usable])]
    return [softmax([mpf(x) / mpf(t) for x, t in zip(row, chosen, strict=True)]) for row in rows]


def ConsistencyCalibration(labels, probs, **rest):
    """Two classes: the strength of greatest likelihood. More: a given strength, and an integral over the largest noisy logit."""
    rows = logs_of(probs)
    if len(rows[0]) == 2:

        def slope(t):
            return sum(
                mp.diff(lambda s, gap=gap: mp.log(mp.ncdf(gap * mp.exp(-s))), t)
                for gap in ((row[label] - row[1 - label]) / mp.sqrt(2) for row, label in zip(rows, labels, strict=True))
            )

        strength = mp.exp(mp.findroot(slope, (mpf(0), mpf(1)), tol=mpf(10) ** -14))
        return [
            [mp.ncdf((row[0] - row[1]) / strength / mp.sqrt(2)), mp.ncdf((row[1] - row[0]) / strength / mp.sqrt(2))]
            for row in rows
        ]

    def share(row, c):
        z = [(x - max(row)) / mpf(STRENGTH) for x in row]

        def density(v):
            return mp.npdf(v - z[c]) * mp.fprod(mp.ncdf(v - z[j]) for j in range(len(z)) if j != c)

        return mp.quad(density, [-12, -4, -2, 0, 2, 4, 12])

    return [[share(row, c) for c in range(len(row))] for row in rows[:8]]


def IntraOrderPreserving(labels, probs, **rest):
    """The slopes of greatest likelihood of five pieces, with a small price on slopes other than 1, by a general optimizer and Newton steps."""
    z = np.log(np.clip(np.array(vectors(probs), dtype=float), 1e-12, 1))
    spread, places = laid_out([(value, 0, Fraction(1)) for value in z.ravel().tolist()], False)
    knots = np.unique(np.interp(np.arange(6) / 5, [float(x) for x in places], [row[0] for row in spread]))
    below = np.clip(z[:, :, None] - knots[:-1], 0, np.diff(knots))
    rows = np.arange(len(z))

    def chances(slopes):
        return np.exp(log_softmax(below @ slopes, axis=1))

    def loss(slopes):
        return -log_softmax(below @ slopes, axis=1)[rows, labels].sum() + RIDGE / 2 * ((slopes - 1) ** 2).sum()

    def gradient(slopes):
        return np.einsum("nk,nkj->j", chances(slopes), below) - below[rows, labels].sum(axis=0) + RIDGE * (slopes - 1)

    found = np.ones(len(knots) - 1)
    for _ in range(3):
        found = minimize(loss, found, jac=gradient, bounds=[(0, None)] * len(found), method="L-BFGS-B").x
    free = found > 0
    for _ in range(20):
        q = chances(found)
        mean = np.einsum("nk,nkj->nj", q, below)
        bend = np.einsum("nk,nki,nkj->ij", q, below, below) - mean.T @ mean + RIDGE * np.eye(len(found))
        found[free] -= np.linalg.solve(bend[np.ix_(free, free)], gradient(found)[free])
    assert (found[free] > 0).all()
    assert (gradient(found)[~free] > 0).all()
    return chances(np.maximum(found, 1e-3)).tolist()


# ---- groups that may overlap -----------------------------------------------------------------------------------------


def MultiCalibration(labels, probs, groups, **rest):
    """All rows are used, and the rounds stop where no cell deviates significantly."""
    rows, places = vectors(probs), [range(len(labels))]
    places += [[i for i, g in enumerate(groups) if g == name] for name in sorted(set(groups))]

    def level(odds):
        return min(int(sigmoid(odds) * LEVELS), LEVELS - 1)

    def corrected(odds, outcome):
        odds = list(odds)
        for _ in range(100):
            cells = []
            for members in places:
                for wanted in (*range(LEVELS), None):
                    own = [i for i in members if wanted is None or level(odds[i]) == wanted]
                    if len(own) >= LEAST_ROWS:
                        rates = [sigmoid(odds[i]) for i in own]
                        apart = abs(sum(outcome[i] for i in own) - sum(rates))
                        cells.append((apart / mp.sqrt(sum(q * (1 - q) for q in rates)), own))
            most = max(z for z, _ in cells)
            if mp.erfc(most / mp.sqrt(2)) >= mpf(ALPHA) / len(cells):
                return odds
            own = next(own for z, own in cells if z == most)
            rates = [sigmoid(odds[i]) for i in own]
            # One more row, at the mean prediction.
            rate = (sum(outcome[i] for i in own) + sum(rates) / len(own)) / (len(own) + 1)
            shift = mp.findroot(
                lambda d, own=own, rate=rate: sum(sigmoid(odds[i] + d) for i in own) / len(own) - rate, mpf(0)
            )
            for i in own:
                odds[i] += shift
        raise AssertionError("the rounds do not end")

    with mp.workdps(DIGITS):
        if len(rows[0]) == 2:
            found = corrected([sum(clipped_logs(row[1])) for row in rows], labels)
            return [[sigmoid(-x), sigmoid(x)] for x in found]
        columns = [
            corrected([sum(clipped_logs(row[c])) for row in rows], [int(label == c) for label in labels])
            for c in range(len(rows[0]))
        ]
        return [[sigmoid(x) / sum(map(sigmoid, row)) for x in row] for row in zip(*columns, strict=True)]


def StructuredScaling(labels, probs, **rest):
    """The temperature and then the penalized matrix and bias at which the gradients are 0, by general root finders in double precision."""
    z = np.array([[math.log(q) for q in row] for row in off_boundary(probs)])
    n, k = z.shape
    hot = np.eye(k)[labels]

    def chosen(logits):
        return np.exp(log_softmax(logits, axis=1))

    scale = brentq(lambda u: ((chosen(u * z) - hot) * z).sum(), 1e-3, 1e3, xtol=1e-15)
    x = np.log(n / (n + 1) * chosen(scale * z) + 1 / (n + 1) / k)
    price = np.full((k, k + 1), k * (k - 1) / n)
    price[range(k), range(k)] = price[:, k] = k / n

    def gradient(theta):
        theta = theta.reshape(k, k + 1)
        excess = (chosen(x @ theta[:, :k].T + theta[:, k]) - hot).T / n
        return (np.column_stack([excess @ x, excess.sum(axis=1)]) + 2 * price * (theta - np.eye(k, k + 1))).ravel()

    theta = root(gradient, np.eye(k, k + 1).ravel(), tol=1e-13).x.reshape(k, k + 1)
    return chosen(x @ theta[:, :k].T + theta[:, k]).tolist()


def BoostedCalibration(labels, probs, features, **rest):
    """Trees by trying every end of a range of every column at every node; all rounds are used."""
    z = np.array([[math.log(q) for q in row] for row in off_boundary(probs)])
    k, hot = z.shape[1], np.eye(z.shape[1])[labels]
    odds = z - np.log1p(-np.exp(z))
    shared = [np.round(np.array(column)).tolist() for column in zip(*features, strict=True)]
    added = np.zeros_like(z)

    def ends(column):
        """All values but the largest, or those at 61 equal steps of the sorted rows."""
        if len(set(column)) <= 62:
            return sorted(set(column))[:-1]
        return sorted({sorted(column)[-(-len(column) * step // 62) - 1] for step in range(1, 62)})

    def parts(rows, columns, gradient, hessian, depth):
        """Leaves of the best tree of the rows, with their values."""
        whole = sum(gradient[i] for i in rows) ** 2 / (sum(hessian[i] for i in rows) + 1)
        best, sides = 0, (rows, [])
        for column in columns if depth else []:
            for end in ends(column):
                halves = [i for i in rows if column[i] <= end], [i for i in rows if column[i] > end]
                gain = sum(sum(gradient[i] for i in half) ** 2 / (sum(hessian[i] for i in half) + 1) for half in halves)
                if min(map(len, halves)) >= LEAST_ROWS and gain - whole > best * (1 + 1e-9) + 1e-9:
                    best, sides = gain - whole, halves
        if not best:
            return [(rows, -sum(gradient[i] for i in rows) / (sum(hessian[i] for i in rows) + 1))]
        return [leaf for side in sides for leaf in parts(side, columns, gradient, hessian, depth - 1)]

    for _ in range(ROUNDS):
        q = np.exp(log_softmax(z + added, axis=1))
        for c in [1] if k == 2 else range(k):
            leaves = parts(
                list(range(len(z))), [*shared, odds[:, c].tolist()], q[:, c] - hot[:, c], q[:, c] * (1 - q[:, c]), 2
            )
            for rows, value in leaves:
                added[rows, c] += 0.1 * value
    return np.exp(log_softmax(z + added, axis=1)).tolist()


def OnlineCalibration(labels, probs, **rest):
    """The penalized coefficients at which the gradient is 0, and the observed rates of ten bins with one pseudo-observation."""

    def rates_of(question):
        x = np.array([[float(sum(clipped_logs(score))), 1.0] for score, *_ in question])
        y = np.array([outcome for _, outcome, _ in question], float)
        start = np.array([1.0, 0.0])

        def rates(theta):
            return 1 / (1 + np.exp(-x @ theta))

        p = rates(root(lambda theta: x.T @ (rates(theta) - y) + 10 * (theta - start), start, tol=1e-14).x)
        bins = [min(int(10 * q), 9) for q in p]
        return [
            (sum(y[j] for j in range(len(y)) if bins[j] == b) + q) / (bins.count(b) + 1)
            for q, b in zip(p, bins, strict=True)
        ]

    return one_vs_rest(labels, off_boundary(probs), rates_of)


# How each is made, and what it needs to be fitted and to be applied.
CALLS = {
    "BayesianBinning": ("", "", ""),
    "BoostedCalibration": (
        f"folds=0, max_rounds={ROUNDS}, depth=2, min_rows={LEAST_ROWS}",
        ", features=np.round(x)",
        ", features=np.round(x[:8])",
    ),
    "ChainedCalibration": ("[cal.PlattScaling(), cal.PlattScaling()]", "", ""),
    "ConsistencyCalibration": (f"strength=None if p.ndim == 1 else {STRENGTH}", "", ""),
    "CrossVennAbers": ("", f", fold=np.arange(len(y)) % {FOLDS}", ""),
    "GroupCalibration": ("cal.PlattScaling()", ", groups=g", ", groups=g[:8]"),
    "IntraOrderPreserving": ("", "", ""),
    "LensCalibration": ("cal.PlattScaling(), 'class:1'", "", ""),
    "MiscalibrationAwareTemperature": ("", "", ""),
    "MultilabelCalibration": ("cal.PlattScaling()", "[:, None] == np.arange(p.shape[1])", ""),
    "MultiCalibration": (
        f"levels={LEVELS}, alpha={ALPHA}, min_size={LEAST_ROWS}, held_out=0",
        ", groups=g",
        ", groups=g[:8]",
    ),
    "NearIsotonicEnsemble": ("", "", ""),
    "OnlineCalibration": ("", "", ""),
    "ScalingBinning": ("", "", ""),
    "SplineCalibration": ("", "", ""),
    "StructuredScaling": ("", "", ""),
    "TopLabelHistogramBinning": (f"points_per_bin={POINTS}", "", ""),
}
